/* See block_encoder.h.
 *
 * There are two layouts per operator, made when it starts: everything plain, and the dense one of the
 * setting. Each has an IPC encoder, whose codec contexts are made when first used. Messages are made
 * in the encoder's buffer, or in the batch's slab when it goes to disk as it lies; block_messages.c
 * stamps or seals them, block_memory.c knows what all of it takes. That comes from the reservation; the
 * struct and lists of columns come from malloc: they grow with the schema. */
#include "spill/block_encoder.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/layout_walk.h"
#include "spill/block_encoder_internal.h"
#include "spill/stream_metadata.h"

/* Below this the messages of a dense layout, which have more buffers, take what it saves. */
#define LENGTHS_ROWS_MIN 128
#define PACKED_ROWS_MIN  32
/* When packing did not pay, it is tried again after this many blocks. */
#define PLAIN_BLOCKS 64
/* Node and buffer in a message header. */
#define NODE_BYTES   16
#define BUFFER_BYTES 16

/* ---- life ------------------------------------------------------------------------------------ */

static bool codec_is_off(const oci_block_encoder *encoder)
{
    const oci_spill_settings *settings = &encoder->manager->settings;
    return !settings->is_codec_auto && settings->codec == OCI_CODEC_NONE;
}

static oc_status create_stream(oci_block_encoder *encoder, oci_stream_kind kind,
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
        if (encoder->encoding == OCI_SPILL_ENCODING_AUTO) {
            choices[i] = OCI_COLUMN_PACKED;
        } else if (encoder->encoding == OCI_SPILL_ENCODING_LENGTHS && oci_lengths_is_for(type) &&
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
    oc_status status = create_stream(encoder, OCI_STREAM_PLAIN, choices, mem, err);
    if (status == OC_OK && choose_dense(encoder, choices)) {
        status = create_stream(encoder, OCI_STREAM_DENSE, choices, mem, err);
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
    for (int kind = 0; kind < OCI_STREAM_KINDS; kind++) {
        oci_ipc_encoder_destroy(encoder->encoders[kind]);
        oci_spill_layout_destroy(encoder->layouts[kind]);
    }
    oci_packer_destroy(encoder->packer);
    free(encoder->opening.data);
    oci_schema_release(encoder->schema);
    oci_spill_manager_release(encoder->manager);
    free(encoder);
}

int64_t oci_block_encoder_head_bytes(const oci_block_encoder *encoder)
{
    return oci_ipc_encoder_head_bytes(encoder->encoders[OCI_STREAM_PLAIN]);
}

/* ---- which layout ---------------------------------------------------------------------------- */

/* With their headers, and what a codec puts in front of each buffer. */
static int64_t total_size(const oci_block_encoder *encoder, const oci_schema *schema,
                          const oci_message_sizes *size)
{
    int64_t per_buffer = BUFFER_BYTES + (codec_is_off(encoder) ? 0 : 8);
    return size->bytes + size->n_buffers * per_buffer +
           oci_schema_shape(schema, OCI_IPC_V5).n_nodes * NODE_BYTES;
}

static oc_status make_physical(oci_block_encoder *encoder, oci_batch *batch, oci_reservation *from,
                               oc_error *err)
{
    assert(encoder->physical == NULL);
    return oci_spill_layout_encode(encoder->layouts[OCI_STREAM_DENSE], encoder->packer, batch, from,
                                   &encoder->physical, err);
}

/* Packs the block, unless that is known not to pay, and keeps what comes of it when it pays. */
static oc_status choose_packed(oci_block_encoder *encoder, oci_batch *batch,
                               const oci_message_sizes *plain, oci_reservation *from,
                               oci_stream_kind *out, oc_error *err)
{
    *out = OCI_STREAM_PLAIN;
    if (encoder->stream != OCI_STREAM_DENSE && batch->length < PACKED_ROWS_MIN) {
        return OC_OK;
    }
    if (encoder->plain_left > 0) {
        encoder->plain_left--;
        return OC_OK;
    }
    OC_TRY(make_physical(encoder, batch, from, err));
    oci_message_sizes packed = oci_measure_messages(encoder->physical);
    int64_t packed_bytes = total_size(encoder, encoder->physical->schema, &packed);
    int64_t plain_bytes = total_size(encoder, encoder->schema, plain);
    int64_t opening = encoder->stream == OCI_STREAM_PLAIN ? encoder->opening_bytes : 0;
    bool pays = packed_bytes + opening < plain_bytes - plain_bytes / 100;
    /* A stream that is packed stays so unless leaving it pays for the schema of the next. */
    bool stays = encoder->stream == OCI_STREAM_DENSE &&
                 packed_bytes <= plain_bytes + encoder->opening_bytes;
    encoder->plain_left = pays || stays ? 0 : PLAIN_BLOCKS - 1;
    if (pays || stays) {
        *out = OCI_STREAM_DENSE;
        return OC_OK;
    }
    oci_spill_layout_give_back(encoder->physical, from);
    encoder->physical = NULL;
    return OC_OK;
}

static oc_status choose_lengths(oci_block_encoder *encoder, oci_batch *batch, oci_reservation *from,
                                oci_stream_kind *out, oc_error *err)
{
    *out = encoder->stream;
    if (encoder->is_first) {
        *out = batch->length >= LENGTHS_ROWS_MIN ? OCI_STREAM_DENSE : OCI_STREAM_PLAIN;
    }
    return *out == OCI_STREAM_DENSE ? make_physical(encoder, batch, from, err) : OC_OK;
}

static oc_status choose_stream(oci_block_encoder *encoder, oci_batch *batch,
                               const oci_message_sizes *plain, int64_t room, oci_reservation *from,
                               oci_stream_kind *out, oc_error *err)
{
    const oci_spill_layout *dense = encoder->layouts[OCI_STREAM_DENSE];
    *out = OCI_STREAM_PLAIN;
    if (dense == NULL ||
        oci_block_encoder_dense_space(encoder, plain->bytes, batch->length) > room ||
        !oci_spill_layout_can_hold(dense, encoder->packer, batch)) {
        return OC_OK;
    }
    return encoder->encoding == OCI_SPILL_ENCODING_AUTO
               ? choose_packed(encoder, batch, plain, from, out, err)
               : choose_lengths(encoder, batch, from, out, err);
}

static oc_status open_stream(oci_block_encoder *encoder, oci_stream_kind kind, oc_error *err)
{
    uint8_t *schema;
    int64_t size;
    OC_TRY(oci_ipc_encode_schema(encoder->encoders[kind], &schema, &size, err));
    OC_TRY(oci_block_encoder_append_schema(encoder, schema, size, err));
    encoder->stream = kind;
    return OC_OK;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

oc_status oci_block_encoder_begin(oci_block_encoder *encoder, uint8_t run_id[OCI_SEAL_RUN_ID_BYTES],
                                  oc_error *err)
{
    encoder->stream = OCI_STREAM_NONE;
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

oc_status oci_block_encoder_encode(oci_block_encoder *encoder, oci_batch *batch, int64_t room,
                                   oci_reservation *from, oci_block *out, oc_error *err)
{
    *out = (oci_block){0};
    oci_block_encoder_clear_opening(encoder);
    oci_message_sizes plain = oci_measure_messages(batch);
    oci_stream_kind kind;
    OC_TRY(choose_stream(encoder, batch, &plain, room, from, &kind, err));
    if (kind != encoder->stream) {
        OC_TRY(open_stream(encoder, kind, err));
    }
    out->opening = encoder->opening.data;
    out->opening_bytes = encoder->opening.size;
    encoder->is_first = false;
    oci_batch *columns = kind == OCI_STREAM_DENSE ? encoder->physical : batch;
    oci_message_sizes body = kind == OCI_STREAM_DENSE ? oci_measure_messages(columns) : plain;
    out->plain_bytes = plain.bytes;
    out->body_bytes = body.bytes;
    uint8_t *data;
    OC_TRY(compress(encoder, columns, from, &data, out, err));
    OC_TRY(oci_block_encoder_secure(encoder, from, data, out->bytes, out, err));
    oci_block_encoder_note_memory(encoder, batch, &body, out);
    return OC_OK;
}

void oci_block_encoder_trim(oci_block_encoder *encoder, oci_reservation *from)
{
    oci_spill_layout_give_back(encoder->physical, from);
    encoder->physical = NULL;
    for (int kind = 0; kind < OCI_STREAM_KINDS; kind++) {
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
    if (encoder->stream == OCI_STREAM_NONE) {
        OC_TRY(open_stream(encoder, OCI_STREAM_PLAIN, err));
    }
    OC_TRY(oci_block_encoder_append_schema(encoder, closing->data, closing->size, err));
    return oci_block_encoder_append_end(encoder, err);
}

oc_status oci_block_encoder_finish(oci_block_encoder *encoder, int64_t batches, int64_t rows,
                                   const uint8_t **data, int64_t *bytes, oc_error *err)
{
    oci_bytes closing = {0};
    oci_block_encoder_clear_opening(encoder);
    OC_TRY(oci_closing_build(batches, rows, encoder->with_checksum, &closing, err));
    oc_status status = close_run(encoder, &closing, err);
    free(closing.data);
    *data = encoder->opening.data;
    *bytes = encoder->opening.size;
    return status;
}
