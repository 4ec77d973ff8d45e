/* See block_encoder.h.
 *
 * There are two layouts per operator, made when it starts: everything plain, and the dense one of the
 * setting. Each has an IPC encoder, whose codec contexts are made when first used. Messages are made
 * in the encoder's buffer (or in the batch's slab, when it goes to disk as it lies), and stamped
 * there; sealed ones go to a buffer of their own, since each frame is longer than its message.
 *
 * Places. Every framed message of a run has a number: schema messages, dictionaries, batches and end
 * markers count, across streams. Checksum and nonce depend on it.
 *
 * Memory: a dense block takes its physical slab, scratch while it is packed, and then the encoder's
 * buffer; all of that from the reservation. The struct, and the bytes of schema messages, come from
 * malloc: they grow with the schema. */
#include "spill/block_encoder.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "ipc/encoder.h"
#include "ipc/encoder_buffers.h"
#include "ipc/layout_walk.h"
#include "spill/checksum.h"
#include "spill/layout.h"
#include "spill/stream_metadata.h"

/* Below this the messages of a dense layout, which have more buffers, take what it saves. */
#define DENSE_ROWS_MIN 128
/* When packing did not pay, it is tried again after this many blocks. */
#define PLAIN_BLOCKS 64
/* Node and buffer in a message header. */
#define NODE_BYTES   16
#define BUFFER_BYTES 16
/* What an unpacked column can take more than a gathered one: room behind strings, padding. */
#define UNPACKED_EXTRA 32

typedef enum stream_kind { STREAM_NONE = -1, STREAM_PLAIN, STREAM_DENSE, STREAM_KINDS } stream_kind;

struct oci_block_encoder {
    oci_spill_manager *manager;
    oci_schema *schema;
    oci_spill_encoding encoding;
    bool with_checksum;
    oci_codec_setting codec; /* of the block at hand */
    oci_spill_layout *layouts[STREAM_KINDS];
    oci_ipc_encoder *encoders[STREAM_KINDS];
    oci_packer *packer;    /* AUTO only */
    int64_t opening_bytes; /* of a schema message: what beginning another stream costs */
    int64_t n_nodes;       /* of the logical schema, dictionaries included */

    /* of the run */
    stream_kind stream; /* that is open */
    bool is_first;      /* no block yet */
    int64_t place;      /* of the next message */
    uint8_t run_id[OCI_SEAL_RUN_ID_BYTES];

    int32_t plain_left; /* AUTO: blocks to come before packing is tried again */

    /* of the block at hand */
    oci_batch *physical;
    uint8_t *sealed;
    int64_t sealed_capacity;
    oci_bytes opening; /* malloc'ed */
};

/* ---- life ------------------------------------------------------------------------------------ */

static bool codec_is_off(const oci_block_encoder *encoder)
{
    const oci_spill_settings *settings = &encoder->manager->settings;
    return !settings->is_codec_auto && settings->codec == OCI_CODEC_NONE;
}

static oc_status create_stream(oci_block_encoder *encoder, stream_kind kind,
                               const oci_column_layout *choices, oci_mem *mem, oc_error *err)
{
    const oci_spill_settings *settings = &encoder->manager->settings;
    OC_TRY(oci_spill_layout_create(encoder->schema, choices, &encoder->layouts[kind], err));
    oci_schema *physical = oci_spill_layout_physical(encoder->layouts[kind]);
    oci_codec_id codec = settings->is_codec_auto ? OCI_CODEC_NONE : settings->codec;
    OC_TRY(oci_ipc_encoder_create(physical, codec, settings->level, mem, &encoder->encoders[kind],
                                  err));
    OC_TRY(oci_ipc_encoder_for_spill(encoder->encoders[kind], encoder->with_checksum,
                                     settings->is_codec_auto, err));
    uint8_t *schema;
    return oci_ipc_encode_schema(encoder->encoders[kind], &schema, &encoder->opening_bytes, err);
}

static bool choose_dense(const oci_block_encoder *encoder, oci_column_layout *choices)
{
    bool is_dense = false;
    for (int32_t i = 0; i < encoder->schema->n_fields; i++) {
        oci_type type = encoder->schema->fields[i].type;
        bool has_lengths = type == OCI_TYPE_UTF8 || type == OCI_TYPE_LARGE_UTF8 ||
                           type == OCI_TYPE_BINARY || type == OCI_TYPE_LARGE_BINARY;
        if (encoder->encoding == OCI_SPILL_ENCODING_AUTO) {
            choices[i] = OCI_COLUMN_PACKED;
        } else if (encoder->encoding == OCI_SPILL_ENCODING_LENGTHS && has_lengths &&
                   !codec_is_off(encoder)) {
            choices[i] = OCI_COLUMN_LENGTHS;
        }
        is_dense = is_dense || choices[i] != OCI_COLUMN_PLAIN;
    }
    return is_dense;
}

static oc_status create_streams(oci_block_encoder *encoder, oci_mem *mem, oc_error *err)
{
    /* All 0, which is plain. */
    oci_column_layout *choices = calloc((size_t)encoder->schema->n_fields + 1, sizeof *choices);
    if (choices == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up a spill writer: out of memory");
    }
    oc_status status = create_stream(encoder, STREAM_PLAIN, choices, mem, err);
    if (status == OC_OK && choose_dense(encoder, choices)) {
        status = create_stream(encoder, STREAM_DENSE, choices, mem, err);
        if (status == OC_OK && encoder->encoding == OCI_SPILL_ENCODING_AUTO) {
            status = oci_packer_create(encoder->schema, &encoder->packer, err);
        }
    }
    free(choices);
    return status;
}

oc_status oci_block_encoder_create(oci_spill_manager *manager, oci_schema *schema, oci_mem *mem,
                                   oci_block_encoder **out, oc_error *err)
{
    *out = NULL;
    oci_block_encoder *encoder = calloc(1, sizeof *encoder);
    if (encoder == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up a spill writer: out of memory");
    }
    const oci_spill_settings *settings = &manager->settings;
    oci_tree_shape shape = oci_schema_shape(schema, OCI_IPC_V5);
    encoder->manager = oci_spill_manager_retain(manager);
    encoder->schema = oci_schema_retain(schema);
    encoder->encoding = settings->encoding;
    encoder->with_checksum = !settings->no_checksums && !settings->is_sealed;
    encoder->codec = (oci_codec_setting){.id = settings->codec, .level = settings->level};
    encoder->n_nodes = shape.n_nodes + shape.n_dictionaries;
    oc_status status = create_streams(encoder, mem, err);
    if (status != OC_OK) {
        oci_block_encoder_destroy(encoder);
        return status;
    }
    *out = encoder;
    return OC_OK;
}

void oci_block_encoder_destroy(oci_block_encoder *encoder)
{
    if (encoder == NULL) {
        return;
    }
    assert(encoder->physical == NULL && encoder->sealed == NULL);
    for (int kind = 0; kind < STREAM_KINDS; kind++) {
        oci_ipc_encoder_destroy(encoder->encoders[kind]);
        oci_spill_layout_release(encoder->layouts[kind]);
    }
    oci_packer_destroy(encoder->packer);
    free(encoder->opening.data);
    oci_schema_release(encoder->schema);
    oci_spill_manager_release(encoder->manager);
    free(encoder);
}

int64_t oci_block_encoder_head_bytes(const oci_block_encoder *encoder)
{
    return oci_ipc_encoder_head_bytes(encoder->encoders[STREAM_PLAIN]);
}

/* ---- space ----------------------------------------------------------------------------------- */

static int64_t buffers_of(const oci_schema *schema)
{
    return oci_schema_shape(schema, OCI_IPC_V5).n_buffers;
}

/* Bytes of the messages of a batch of this stream, and of its encoder's buffer. `physical_bytes` are
 * in columns that do not lie in a slab of IPC shape. */
static int64_t dense_buffer_bound(const oci_block_encoder *encoder, int64_t physical_bytes)
{
    const oci_ipc_encoder *ipc = encoder->encoders[STREAM_DENSE];
    const oci_schema *schema = oci_spill_layout_physical(encoder->layouts[STREAM_DENSE]);
    /* Without a codec and dictionaries the encoder takes it that nothing has to be copied. */
    int64_t copied = oci_ipc_encoder_head_bytes(ipc) + physical_bytes + 8 * buffers_of(schema);
    return oci_max64(oci_ipc_encoder_bound_bytes(ipc, physical_bytes), copied);
}

/* A buffer for frames of a block of `bytes`, when they are sealed. */
static int64_t sealed_space(const oci_block_encoder *encoder, int64_t bytes)
{
    if (!encoder->manager->settings.is_sealed) {
        return 0;
    }
    return oci_mem_charge_of(bytes + (encoder->n_nodes + 1) * OCI_SEAL_EXTRA);
}

int64_t oci_block_encoder_space_least(const oci_block_encoder *encoder, int64_t slab_bytes)
{
    int64_t buffer = oci_ipc_encoder_bound_bytes(encoder->encoders[STREAM_PLAIN], slab_bytes);
    int64_t block = oci_max64(buffer, slab_bytes + oci_block_encoder_head_bytes(encoder));
    return oci_mem_charge_of(buffer) + sealed_space(encoder, block);
}

static int64_t dense_space(const oci_block_encoder *encoder, int64_t slab_bytes, int64_t rows)
{
    oci_layout_bound bound =
        oci_spill_layout_bound(encoder->layouts[STREAM_DENSE], encoder->packer, slab_bytes, rows);
    int64_t physical = bound.slab_bytes;
    if (encoder->encoding == OCI_SPILL_ENCODING_LENGTHS) {
        physical += slab_bytes; /* columns that stay where they are */
    }
    int64_t buffer = dense_buffer_bound(encoder, physical);
    return oci_mem_charge_of(bound.slab_bytes) +
           oci_max64(bound.scratch, oci_mem_charge_of(buffer) + sealed_space(encoder, buffer));
}

int64_t oci_block_encoder_space_for(const oci_block_encoder *encoder, int64_t slab_bytes,
                                    int64_t rows)
{
    int64_t least = oci_block_encoder_space_least(encoder, slab_bytes);
    if (encoder->layouts[STREAM_DENSE] == NULL) {
        return least;
    }
    return oci_max64(least, dense_space(encoder, slab_bytes, rows));
}

/* ---- sizes of batches ------------------------------------------------------------------------ */

typedef struct message_size {
    int64_t bytes; /* of buffers */
    int64_t n_buffers;
} message_size;

static oc_status add_buffer(void *arg, const oci_buffer_source *source, oc_error *err)
{
    (void)err;
    message_size *size = arg;
    size->bytes += oci_round_up(source->size, 8);
    size->n_buffers++;
    return OC_OK;
}

static void add_dictionaries(message_size *size, const oci_column *column);

static void add_column(message_size *size, const oci_column *column)
{
    oci_column_visitor visitor = {.arg = size, .buffer = add_buffer};
    oc_status status = oci_column_visit(column, &visitor, NULL);
    assert(status == OC_OK);
    (void)status;
    add_dictionaries(size, column);
}

static void add_dictionaries(message_size *size, const oci_column *column)
{
    if (column->dictionary != NULL) {
        add_column(size, column->dictionary);
    }
    for (int32_t i = 0; i < column->field->n_children; i++) {
        add_dictionaries(size, &column->children[i]);
    }
}

/* What the messages of a batch have in them, dictionaries included. */
static message_size measure_messages(const oci_batch *batch)
{
    message_size size = {0};
    for (int32_t i = 0; i < batch->schema->n_fields; i++) {
        add_column(&size, &batch->columns[i]);
    }
    return size;
}

/* With their headers, and what a codec puts in front of each buffer. */
static int64_t total_size(const oci_block_encoder *encoder, const oci_schema *schema,
                          const message_size *size)
{
    int64_t per_buffer = BUFFER_BYTES + (codec_is_off(encoder) ? 0 : 8);
    return size->bytes + size->n_buffers * per_buffer +
           oci_schema_shape(schema, OCI_IPC_V5).n_nodes * NODE_BYTES;
}

/* ---- which layout ---------------------------------------------------------------------------- */

static oc_status make_physical(oci_block_encoder *encoder, oci_batch *batch, oci_reservation *from,
                               oc_error *err)
{
    assert(encoder->physical == NULL);
    return oci_spill_layout_encode(encoder->layouts[STREAM_DENSE], encoder->packer, batch, from,
                                   &encoder->physical, err);
}

/* Packs the block, unless that is known not to pay, and keeps what comes of it when it pays. */
static oc_status choose_packed(oci_block_encoder *encoder, oci_batch *batch,
                               const message_size *plain, oci_reservation *from, stream_kind *out,
                               oc_error *err)
{
    *out = STREAM_PLAIN;
    if (encoder->stream != STREAM_DENSE && batch->length < DENSE_ROWS_MIN) {
        return OC_OK;
    }
    if (encoder->plain_left > 0) {
        encoder->plain_left--;
        return OC_OK;
    }
    OC_TRY(make_physical(encoder, batch, from, err));
    message_size packed = measure_messages(encoder->physical);
    int64_t packed_bytes = total_size(encoder, encoder->physical->schema, &packed);
    int64_t plain_bytes = total_size(encoder, encoder->schema, plain);
    int64_t opening = encoder->stream == STREAM_PLAIN ? encoder->opening_bytes : 0;
    bool pays = packed_bytes + opening < plain_bytes - plain_bytes / 100;
    /* A stream that is packed stays so unless leaving it pays for the schema of the next. */
    bool stays = encoder->stream == STREAM_DENSE &&
                 packed_bytes <= plain_bytes + encoder->opening_bytes;
    encoder->plain_left = pays || stays ? 0 : PLAIN_BLOCKS - 1;
    if (pays || stays) {
        *out = STREAM_DENSE;
        return OC_OK;
    }
    oci_spill_layout_give_back(encoder->physical, from);
    encoder->physical = NULL;
    return OC_OK;
}

static oc_status choose_lengths(oci_block_encoder *encoder, oci_batch *batch, oci_reservation *from,
                                stream_kind *out, oc_error *err)
{
    *out = encoder->stream;
    if (encoder->is_first) {
        *out = batch->length >= DENSE_ROWS_MIN ? STREAM_DENSE : STREAM_PLAIN;
    }
    return *out == STREAM_DENSE ? make_physical(encoder, batch, from, err) : OC_OK;
}

static oc_status choose_stream(oci_block_encoder *encoder, oci_batch *batch,
                               const message_size *plain, int64_t room, oci_reservation *from,
                               stream_kind *out, oc_error *err)
{
    const oci_spill_layout *dense = encoder->layouts[STREAM_DENSE];
    *out = STREAM_PLAIN;
    if (dense == NULL || dense_space(encoder, plain->bytes, batch->length) > room ||
        !oci_spill_layout_can_hold(dense, encoder->packer, batch)) {
        return OC_OK;
    }
    return encoder->encoding == OCI_SPILL_ENCODING_AUTO
               ? choose_packed(encoder, batch, plain, from, out, err)
               : choose_lengths(encoder, batch, from, out, err);
}

/* ---- stamps and seals ------------------------------------------------------------------------ */

/* Puts one framed message to `to`, sealed or as it is; returns the bytes written. */
static int64_t put_message(oci_block_encoder *encoder, const uint8_t *data, int64_t size,
                           uint8_t *to)
{
    int64_t place = encoder->place++;
    if (encoder->manager->seal == NULL) {
        memcpy(to, data, (size_t)size);
        return size;
    }
    oci_seal_close(encoder->manager->seal, encoder->run_id, place, data, size, to);
    return size + OCI_SEAL_EXTRA;
}

/* A block's messages get their checksums, or are sealed into a buffer of their own. */
static oc_status secure_block(oci_block_encoder *encoder, oci_reservation *from, uint8_t *data,
                              int64_t size, oci_block *out, oc_error *err)
{
    const oci_ipc_extent *extents;
    int32_t n = oci_ipc_encoder_extents(encoder->encoders[encoder->stream], &extents);
    out->data = data;
    out->bytes = size;
    if (encoder->manager->seal == NULL) {
        for (int32_t i = 0; i < n; i++) {
            if (encoder->with_checksum) {
                oci_checksum_stamp(data + extents[i].offset, extents[i].metadata_bytes,
                                   extents[i].body_bytes, encoder->place);
            }
            encoder->place++;
        }
        return OC_OK;
    }
    void *block;
    int64_t capacity = size + n * (int64_t)OCI_SEAL_EXTRA;
    OC_TRY(oci_mem_alloc_reserved(from, capacity, &block, err));
    encoder->sealed = block;
    encoder->sealed_capacity = capacity;
    int64_t at = 0;
    for (int32_t i = 0; i < n; i++) {
        at += put_message(encoder, data + extents[i].offset,
                          extents[i].metadata_bytes + extents[i].body_bytes, encoder->sealed + at);
    }
    assert(at == capacity);
    out->data = encoder->sealed;
    out->bytes = capacity;
    return OC_OK;
}

/* ---- between blocks -------------------------------------------------------------------------- */

static void clear_opening(oci_block_encoder *encoder)
{
    free(encoder->opening.data);
    encoder->opening = (oci_bytes){0};
}

static oc_status append_message(oci_block_encoder *encoder, const uint8_t *data, int64_t size,
                                oc_error *err)
{
    oci_bytes *opening = &encoder->opening;
    uint8_t *longer = malloc((size_t)(opening->size + size + OCI_SEAL_EXTRA));
    if (longer == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not write a spill file: out of memory");
    }
    if (opening->size > 0) {
        memcpy(longer, opening->data, (size_t)opening->size);
    }
    free(opening->data);
    opening->data = longer;
    opening->size += put_message(encoder, data, size, longer + opening->size);
    return OC_OK;
}

/* A schema message, which gets its checksum, behind the end of the stream before. */
static oc_status append_schema(oci_block_encoder *encoder, uint8_t *schema, int64_t size,
                               oc_error *err)
{
    if (encoder->stream != STREAM_NONE) {
        OC_TRY(append_message(encoder, oci_ipc_end_marker(), OCI_IPC_PREFIX_BYTES, err));
    }
    if (encoder->with_checksum) {
        oci_checksum_stamp(schema, size, 0, encoder->place);
    }
    return append_message(encoder, schema, size, err);
}

static oc_status open_stream(oci_block_encoder *encoder, stream_kind kind, oc_error *err)
{
    uint8_t *schema;
    int64_t size;
    OC_TRY(oci_ipc_encode_schema(encoder->encoders[kind], &schema, &size, err));
    OC_TRY(append_schema(encoder, schema, size, err));
    encoder->stream = kind;
    return OC_OK;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

oc_status oci_block_encoder_begin(oci_block_encoder *encoder, uint8_t run_id[OCI_SEAL_RUN_ID_BYTES],
                                  oc_error *err)
{
    encoder->stream = STREAM_NONE;
    encoder->is_first = true;
    encoder->place = 0;
    memset(encoder->run_id, 0, sizeof encoder->run_id);
    if (encoder->manager->seal != NULL) {
        OC_TRY(oci_seal_run_id(encoder->manager->seal, encoder->run_id, err));
    }
    memcpy(run_id, encoder->run_id, sizeof encoder->run_id);
    return OC_OK;
}

/* What the codec did to the messages at hand. */
static oc_status compress(oci_block_encoder *encoder, oci_batch *batch, oci_reservation *from,
                          uint8_t **data, oci_block *out, oc_error *err)
{
    oci_spill_manager *manager = encoder->manager;
    oci_ipc_encoder *ipc = encoder->encoders[encoder->stream];
    if (manager->choice != NULL) {
        encoder->codec = oci_codec_choice_next(manager->choice);
        OC_TRY(oci_ipc_encoder_set_codec(ipc, encoder->codec.id, encoder->codec.level, err));
    }
    /* Every block stands alone: dictionaries are sent with each. */
    oci_ipc_encoder_restart(ipc);
    int64_t start = oci_spill_now(manager);
    OC_TRY(oci_ipc_encode_batch(ipc, batch, from, data, &out->bytes, err));
    out->codec_ns = oci_spill_now(manager) - start;
    out->codec = encoder->codec;
    return OC_OK;
}

/* Reading holds the block beside its decompressed columns, then these beside the batch. */
static void note_memory(const oci_block_encoder *encoder, const oci_batch *batch, oci_block *out)
{
    int64_t unpacked = encoder->stream == STREAM_DENSE ? encoder->n_nodes * UNPACKED_EXTRA : 0;
    int64_t block = oci_mem_charge_of(out->bytes);
    int64_t body = oci_mem_charge_of(out->body_bytes);
    out->slab_bytes = oci_max64(oci_mem_charge_of(out->plain_bytes + unpacked),
                                oci_mem_charge_of(batch->slab_bytes));
    bool is_compressed = out->codec.id != OCI_CODEC_NONE;
    if (encoder->stream == STREAM_PLAIN) {
        out->read_bytes = is_compressed ? block : 0;
    } else {
        int64_t both = is_compressed ? oci_max64(0, block + body - out->slab_bytes) : 0;
        out->read_bytes = oci_max64(is_compressed ? body : block, both);
    }
    /* The message stays in front of a body that was sealed. */
    if (encoder->manager->settings.is_sealed && out->read_bytes == 0) {
        out->slab_bytes = oci_max64(out->slab_bytes, block);
    }
}

oc_status oci_block_encoder_encode(oci_block_encoder *encoder, oci_batch *batch, int64_t room,
                                   oci_reservation *from, oci_block *out, oc_error *err)
{
    *out = (oci_block){0};
    clear_opening(encoder);
    message_size plain = measure_messages(batch);
    stream_kind kind;
    OC_TRY(choose_stream(encoder, batch, &plain, room, from, &kind, err));
    if (kind != encoder->stream) {
        OC_TRY(open_stream(encoder, kind, err));
    }
    out->opening = encoder->opening.data;
    out->opening_bytes = encoder->opening.size;
    encoder->is_first = false;
    oci_batch *columns = kind == STREAM_DENSE ? encoder->physical : batch;
    message_size body = kind == STREAM_DENSE ? measure_messages(columns) : plain;
    out->plain_bytes = plain.bytes;
    out->body_bytes = body.bytes;
    uint8_t *data;
    OC_TRY(compress(encoder, columns, from, &data, out, err));
    OC_TRY(secure_block(encoder, from, data, out->bytes, out, err));
    note_memory(encoder, batch, out);
    return OC_OK;
}

void oci_block_encoder_trim(oci_block_encoder *encoder, oci_reservation *from)
{
    oci_spill_layout_give_back(encoder->physical, from);
    encoder->physical = NULL;
    for (int kind = 0; kind < STREAM_KINDS; kind++) {
        if (encoder->encoders[kind] != NULL) {
            oci_ipc_encoder_trim(encoder->encoders[kind], from);
        }
    }
    if (encoder->sealed != NULL) {
        oci_mem_free_reserved(from, encoder->sealed, encoder->sealed_capacity);
        encoder->sealed = NULL;
    }
}

static oc_status close_run(oci_block_encoder *encoder, const oci_bytes *closing, oc_error *err)
{
    /* A run without blocks has a schema all the same. */
    if (encoder->stream == STREAM_NONE) {
        OC_TRY(open_stream(encoder, STREAM_PLAIN, err));
    }
    OC_TRY(append_schema(encoder, closing->data, closing->size, err));
    return append_message(encoder, oci_ipc_end_marker(), OCI_IPC_PREFIX_BYTES, err);
}

oc_status oci_block_encoder_finish(oci_block_encoder *encoder, int64_t batches, int64_t rows,
                                   const uint8_t **data, int64_t *bytes, oc_error *err)
{
    oci_bytes closing = {0};
    clear_opening(encoder);
    OC_TRY(oci_closing_build(batches, rows, encoder->with_checksum, &closing, err));
    oc_status status = close_run(encoder, &closing, err);
    free(closing.data);
    *data = encoder->opening.data;
    *bytes = encoder->opening.size;
    return status;
}
