/* From a batch to its messages.
 *
 *   slab of the IPC shape, no codec: header into the room in front of the body, nothing is copied
 *   anything else: measure -> one buffer -> for each dictionary that changed, then for the batch
 *                  | head, padded to its bound | body, buffer by buffer |
 *
 * The first is in encoder_slab.c, a single message in encoder_message.c; here are the encoder itself,
 * dictionaries, and memory.
 *
 * Heads. The size of a header depends on the numbers of its parts alone (message_build.c), so it is
 * known before the body is laid out; the header is built once the body is there, and stretched with
 * zeros to the room that was left.
 *
 * Buffers. encoder_buffers.c says what the buffers of each column and its children are. Without a
 * codec each is made at its place. With one it is compressed from where it lies to its place
 * (encoder_pack.c); only what has to be moved first (bits, rebased offsets, views) is made in the
 * scratch room at the end of the buffer.
 *
 * Where the codec may change from batch to batch, heads and bounds are those of the codec that takes
 * most, so that what was left in front of a slab or set aside holds for all.
 *
 * Dictionaries may be at any depth and in the values of others. They are listed with those inside
 * before those around them, which is the order of their messages; a dictionary is sent again also
 * when one inside of it is. Ids count from the outside in, as in the schema message.
 *
 * Memory. The buffer is as large as the bound of the largest batch so far and is kept. It comes
 * from the account, or from the reservation that the caller gives so that encoding cannot be
 * refused when memory is short.
 *
 * Lists with an entry per column or buffer, and the schema message, come from malloc: they grow
 * with the schema. */
#include "ipc/encoder_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/gather.h"
#include "base/bits.h"
#include "ipc/encoder_buffers.h"

/* The largest bitmap that a gathered batch can have. */
#define GATHER_BITMAP_BYTES (OCI_GATHER_ROWS_MAX / 8 + OCI_BODY_ALIGN)

static const uint8_t end_marker[8] = {0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0};

const uint8_t *oci_ipc_end_marker(void)
{
    return end_marker;
}

/* ---- life ------------------------------------------------------------------------------------ */

static oc_status fail_memory(oc_error *err)
{
    OC_FAIL(err, OC_ENOMEM, "out of memory while making an encoder");
}

/* Room for the lists of the largest message, before view buffers. */
static oc_status make_lists(oci_ipc_encoder *encoder, const oci_tree_shape *largest, oc_error *err)
{
    encoder->buffers_max = largest->n_buffers;
    encoder->nodes = calloc((size_t)largest->n_nodes + 1, sizeof *encoder->nodes);
    encoder->variadic = calloc((size_t)largest->n_variadic + 1, sizeof *encoder->variadic);
    encoder->buffers = calloc((size_t)largest->n_buffers + 1, sizeof *encoder->buffers);
    encoder->extents = calloc((size_t)encoder->shape.n_dictionaries + 1, sizeof *encoder->extents);
    if (encoder->nodes == NULL || encoder->variadic == NULL || encoder->buffers == NULL ||
        encoder->extents == NULL) {
        return fail_memory(err);
    }
    return OC_OK;
}

/* Builds a header with nothing but zeros in its lists, which are all zero still, to see its
 * size. A codec makes it longer. */
static oc_status find_head_bytes(const oci_ipc_encoder *encoder, oci_message_kind kind,
                                 const oci_tree_shape *shape, int64_t *out, oc_error *err)
{
    bool may_compress = oci_body_packer_may_compress(&encoder->packer);
    oci_message fields = {.kind = kind,
                          .n_nodes = shape->n_nodes,
                          .n_buffers = shape->n_buffers,
                          .n_variadic = shape->n_variadic,
                          .codec = may_compress ? OCI_CODEC_ZSTD : OCI_CODEC_NONE,
                          .checksum = oci_encoder_checksum_slot(encoder)};
    oci_bytes bytes = {0};
    OC_TRY(oci_message_build_batch(&fields, encoder->nodes, encoder->buffers, encoder->variadic,
                                   &bytes, err));
    *out = oci_round_up(bytes.size, OCI_HEAD_ALIGN);
    free(bytes.data);
    return OC_OK;
}

static oc_status find_all_head_bytes(oci_ipc_encoder *encoder, oc_error *err)
{
    for (int32_t i = 0; i < encoder->n_dictionaries; i++) {
        oci_sent_dictionary *dictionary = &encoder->dictionaries[i];
        OC_TRY(find_head_bytes(encoder, OCI_MESSAGE_DICTIONARY, &dictionary->shape,
                               &dictionary->head_bytes, err));
    }
    return find_head_bytes(encoder, OCI_MESSAGE_BATCH, &encoder->shape, &encoder->head_bytes, err);
}

static void widen_shape(oci_tree_shape *largest, const oci_tree_shape *shape)
{
    largest->n_nodes = oci_max64(largest->n_nodes, shape->n_nodes);
    largest->n_buffers = oci_max64(largest->n_buffers, shape->n_buffers);
    largest->n_variadic = oci_max64(largest->n_variadic, shape->n_variadic);
}

/* The largest of the messages of a field's dictionaries and *largest. */
static void measure_dictionaries(const oci_field *field, oci_tree_shape *largest)
{
    for (int32_t i = 0; i < field->n_children; i++) {
        measure_dictionaries(&field->children[i], largest);
    }
    if (field->dictionary != NULL) {
        oci_tree_shape values = {0};
        oci_field_add_shape(field->dictionary, OCI_IPC_V5, &values);
        widen_shape(largest, &values);
        measure_dictionaries(field->dictionary, largest);
    }
}

/* Lists the dictionaries of a tree. */
static void add_dictionaries(oci_ipc_encoder *encoder, const oci_field *field, int64_t *next_id)
{
    for (int32_t i = 0; i < field->n_children; i++) {
        add_dictionaries(encoder, &field->children[i], next_id);
    }
    if (field->dictionary == NULL) {
        return;
    }
    int64_t id = (*next_id)++;
    int32_t first_inside = encoder->n_dictionaries;
    add_dictionaries(encoder, field->dictionary, next_id);
    oci_sent_dictionary *dictionary = &encoder->dictionaries[encoder->n_dictionaries++];
    *dictionary = (oci_sent_dictionary){
        .id = id, .first_inside = first_inside, .first_buffer = encoder->n_plain_buffers};
    oci_field_add_shape(field->dictionary, OCI_IPC_V5, &dictionary->shape);
    encoder->n_plain_buffers += dictionary->shape.n_buffers;
}

static oc_status describe_schema(oci_ipc_encoder *encoder, oc_error *err)
{
    const oci_schema *schema = encoder->schema;
    encoder->shape = oci_schema_shape(schema, OCI_IPC_V5);
    oci_tree_shape largest = encoder->shape;
    for (int32_t i = 0; i < schema->n_fields; i++) {
        measure_dictionaries(&schema->fields[i], &largest);
    }
    OC_TRY(make_lists(encoder, &largest, err));
    encoder->dictionaries =
        calloc((size_t)encoder->shape.n_dictionaries + 1, sizeof *encoder->dictionaries);
    if (encoder->dictionaries == NULL) {
        return fail_memory(err);
    }
    int64_t next_id = 0;
    encoder->n_plain_buffers = encoder->shape.n_buffers;
    for (int32_t i = 0; i < schema->n_fields; i++) {
        add_dictionaries(encoder, &schema->fields[i], &next_id);
    }
    return find_all_head_bytes(encoder, err);
}

oc_status oci_ipc_encoder_create(oci_schema *schema, oci_codec_id codec, int level, oci_mem *mem,
                                 oci_ipc_encoder **out, oc_error *err)
{
    *out = NULL;
    oci_ipc_encoder *encoder = calloc(1, sizeof *encoder);
    if (encoder == NULL) {
        return fail_memory(err);
    }
    encoder->schema = oci_schema_retain(schema);
    encoder->mem = mem;
    oc_status status = OC_OK;
    OC_GOTO(oci_body_packer_set(&encoder->packer, codec, level, err));
    OC_GOTO(describe_schema(encoder, err));
    *out = encoder;
done:
    if (status != OC_OK) {
        oci_ipc_encoder_destroy(encoder);
    }
    return status;
}

oc_status oci_ipc_encoder_for_spill(oci_ipc_encoder *encoder, bool with_checksum,
                                    bool codec_changes, oc_error *err)
{
    encoder->with_checksum = with_checksum;
    encoder->packer.changes = codec_changes;
    OC_TRY(oci_body_packer_rest(&encoder->packer, encoder->n_plain_buffers, err));
    return find_all_head_bytes(encoder, err);
}

oc_status oci_ipc_encoder_set_codec(oci_ipc_encoder *encoder, oci_codec_id codec, int level,
                                    oc_error *err)
{
    assert(encoder->packer.changes);
    return oci_body_packer_set(&encoder->packer, codec, level, err);
}

void oci_ipc_encoder_destroy(oci_ipc_encoder *encoder)
{
    if (encoder == NULL) {
        return;
    }
    oci_ipc_encoder_trim(encoder, NULL);
    oci_body_packer_deinit(&encoder->packer);
    free(encoder->schema_message.data);
    free(encoder->nodes);
    free(encoder->variadic);
    free(encoder->buffers);
    free(encoder->dictionaries);
    free(encoder->extents);
    oci_schema_release(encoder->schema);
    free(encoder);
}

void oci_ipc_encoder_restart(oci_ipc_encoder *encoder)
{
    for (int32_t i = 0; i < encoder->n_dictionaries; i++) {
        encoder->dictionaries[i].is_sent = false;
    }
}

int64_t oci_ipc_encoder_head_bytes(const oci_ipc_encoder *encoder)
{
    return encoder->head_bytes;
}

int32_t oci_ipc_encoder_extents(const oci_ipc_encoder *encoder, const oci_ipc_extent **out)
{
    *out = encoder->extents;
    return encoder->n_extents;
}

/* ---- measuring ------------------------------------------------------------------------------- */

static int64_t dictionary_head(const oci_sent_dictionary *dictionary, const oci_message_measure *m)
{
    return oci_head_with_views(dictionary->head_bytes, m->n_view_buffers);
}

/* Notes the dictionaries of a column, in the order of the list. */
static void note_values(oci_ipc_encoder *encoder, const oci_column *column, int32_t *next)
{
    for (int32_t i = 0; i < column->field->n_children; i++) {
        note_values(encoder, &column->children[i], next);
    }
    if (column->field->dictionary != NULL) {
        assert(column->dictionary != NULL);
        note_values(encoder, column->dictionary, next);
        encoder->dictionaries[(*next)++].values = column->dictionary;
    }
}

static void note_dictionaries(oci_ipc_encoder *encoder, const oci_batch *batch)
{
    int32_t next = 0;
    for (int32_t i = 0; i < encoder->schema->n_fields && encoder->n_dictionaries > 0; i++) {
        note_values(encoder, &batch->columns[i], &next);
    }
    assert(next == encoder->n_dictionaries);
}

/* What the messages of a batch need: their sum, the scratch room, the longest list of buffers. With
 * `due_only` the dictionaries that are to be sent, else all. The dictionaries are noted. */
static oci_message_measure measure_batch(const oci_ipc_encoder *encoder, const oci_batch *batch,
                                         bool due_only)
{
    oci_message_measure total = {.packer = &encoder->packer};
    oci_message_measure rows = {.packer = &encoder->packer};
    for (int32_t i = 0; i < encoder->n_dictionaries; i++) {
        const oci_sent_dictionary *dictionary = &encoder->dictionaries[i];
        if (dictionary->is_due || !due_only) {
            oci_message_measure values = {.packer = &encoder->packer};
            oci_measure_column(&values, dictionary->values);
            total.bytes += dictionary_head(dictionary, &values) + values.bytes;
            total.scratch = oci_max64(total.scratch, values.scratch);
            total.n_buffers = oci_max64(total.n_buffers, values.n_buffers);
        }
    }
    for (int32_t i = 0; i < encoder->schema->n_fields; i++) {
        oci_measure_column(&rows, &batch->columns[i]);
    }
    total.bytes += oci_head_with_views(encoder->head_bytes, rows.n_view_buffers) + rows.bytes;
    total.scratch = oci_max64(total.scratch, rows.scratch);
    total.n_buffers = oci_max64(total.n_buffers, rows.n_buffers);
    total.n_view_buffers = rows.n_view_buffers;
    return total;
}

int64_t oci_ipc_encoder_bound(oci_ipc_encoder *encoder, const oci_batch *batch)
{
    if (!encoder->packer.changes && oci_encoder_find_in_slab(encoder, batch)) {
        return 0;
    }
    note_dictionaries(encoder, batch);
    oci_message_measure total = measure_batch(encoder, batch, false);
    return total.bytes + total.scratch;
}

int64_t oci_ipc_encoder_bound_bytes(const oci_ipc_encoder *encoder, int64_t slab_bytes)
{
    const oci_body_packer *packer = &encoder->packer;
    bool may_compress = oci_body_packer_may_compress(packer);
    if (!may_compress && encoder->n_dictionaries == 0) {
        return 0;
    }
    int64_t n_buffers = encoder->n_plain_buffers;
    int64_t bytes = encoder->head_bytes;
    for (int32_t i = 0; i < encoder->n_dictionaries; i++) {
        bytes += encoder->dictionaries[i].head_bytes;
    }
    if (!may_compress) {
        return bytes + slab_bytes + n_buffers * OCI_BODY_ALIGN;
    }
    return bytes + oci_body_packer_bound(packer, slab_bytes) +
           n_buffers * (oci_body_packer_bound(packer, 1) + OCI_BODY_ALIGN) + GATHER_BITMAP_BYTES;
}

void oci_ipc_encoder_trim(oci_ipc_encoder *encoder, oci_reservation *from)
{
    if (encoder->buffer != NULL && from != NULL && from->mem == encoder->buffer_mem) {
        oci_mem_free_reserved(from, encoder->buffer, encoder->capacity);
    } else if (encoder->buffer != NULL) {
        oci_mem_free(encoder->buffer_mem, encoder->buffer, encoder->capacity);
    }
    encoder->buffer = NULL;
    encoder->capacity = 0;
}

/* Makes the buffer at least this large. What was in it is lost. */
static oc_status reserve_buffer(oci_ipc_encoder *encoder, int64_t bytes, oci_reservation *from,
                                oc_error *err)
{
    if (bytes <= encoder->capacity) {
        return OC_OK;
    }
    oci_ipc_encoder_trim(encoder, from);
    void *block = NULL;
    OC_TRY(from != NULL ? oci_mem_alloc_reserved(from, bytes, &block, err)
                        : oci_mem_alloc(encoder->mem, bytes, &block, err));
    encoder->buffer_mem = from != NULL ? from->mem : encoder->mem;
    encoder->buffer = block;
    encoder->capacity = bytes;
    return OC_OK;
}

static oc_status reserve_lists(oci_ipc_encoder *encoder, int64_t n_buffers, oc_error *err)
{
    if (n_buffers == 0 || n_buffers <= encoder->buffers_max) {
        return OC_OK;
    }
    oci_ipc_buffer *buffers = calloc((size_t)n_buffers, sizeof *buffers);
    if (buffers == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while encoding a batch of %" PRId64 " buffers",
                n_buffers);
    }
    free(encoder->buffers);
    encoder->buffers = buffers;
    encoder->buffers_max = n_buffers;
    return OC_OK;
}

/* ---- dictionaries ---------------------------------------------------------------------------- */

static void find_due_dictionaries(oci_ipc_encoder *encoder, const oci_batch *batch)
{
    note_dictionaries(encoder, batch);
    for (int32_t i = 0; i < encoder->n_dictionaries; i++) {
        oci_sent_dictionary *dictionary = &encoder->dictionaries[i];
        oci_column_fingerprint(dictionary->values, dictionary->due_fingerprint);
        dictionary->is_due = !dictionary->is_sent ||
                             memcmp(dictionary->fingerprint, dictionary->due_fingerprint,
                                    sizeof dictionary->fingerprint) != 0;
        for (int32_t k = dictionary->first_inside; k < i && !dictionary->is_due; k++) {
            dictionary->is_due = encoder->dictionaries[k].is_due;
        }
    }
}

static oc_status write_dictionaries(oci_ipc_encoder *encoder, int64_t scratch_bytes, int64_t *at,
                                    oc_error *err)
{
    for (int32_t i = 0; i < encoder->n_dictionaries; i++) {
        oci_sent_dictionary *dictionary = &encoder->dictionaries[i];
        if (!dictionary->is_due) {
            continue;
        }
        const oci_column *values = dictionary->values;
        oci_message_measure m = {.packer = &encoder->packer};
        oci_measure_column(&m, values);
        oci_message fields = {.kind = OCI_MESSAGE_DICTIONARY,
                              .length = values->length,
                              .dictionary_id = dictionary->id};
        oci_message_plan plan = {.columns = values,
                                 .n_columns = 1,
                                 .head_bytes = dictionary_head(dictionary, &m),
                                 .scratch_bytes = scratch_bytes,
                                 .first_buffer = dictionary->first_buffer};
        OC_TRY(oci_encoder_write_message(encoder, &fields, &plan, at, err));
    }
    return OC_OK;
}

static void mark_sent(oci_ipc_encoder *encoder)
{
    for (int32_t i = 0; i < encoder->n_dictionaries; i++) {
        oci_sent_dictionary *dictionary = &encoder->dictionaries[i];
        memcpy(dictionary->fingerprint, dictionary->due_fingerprint,
               sizeof dictionary->fingerprint);
        dictionary->is_sent = true;
    }
}

/* ---- encoding -------------------------------------------------------------------------------- */

oc_status oci_ipc_encode_schema(oci_ipc_encoder *encoder, uint8_t **data, int64_t *size,
                                oc_error *err)
{
    encoder->n_extents = 0;
    if (encoder->schema_message.data == NULL) {
        OC_TRY(oci_message_build_schema(encoder->schema, encoder->with_checksum,
                                        &encoder->schema_message, err));
    }
    oci_encoder_add_extent(encoder, 0, encoder->schema_message.size, 0, false);
    *data = encoder->schema_message.data;
    *size = encoder->schema_message.size;
    return OC_OK;
}

static oc_status encode_in_buffer(oci_ipc_encoder *encoder, const oci_batch *batch,
                                  oci_reservation *from, uint8_t **data, int64_t *size,
                                  oc_error *err)
{
    find_due_dictionaries(encoder, batch);
    oci_message_measure total = measure_batch(encoder, batch, true);
    OC_TRY(reserve_lists(encoder, total.n_buffers, err));
    OC_TRY(reserve_buffer(encoder, total.bytes + total.scratch, from, err));
    int64_t at = 0;
    OC_TRY(write_dictionaries(encoder, total.scratch, &at, err));
    oci_message fields = {.kind = OCI_MESSAGE_BATCH, .length = batch->length};
    oci_message_plan plan = {
        .columns = batch->columns,
        .n_columns = encoder->schema->n_fields,
        .head_bytes = oci_head_with_views(encoder->head_bytes, total.n_view_buffers),
        .scratch_bytes = total.scratch};
    OC_TRY(oci_encoder_write_message(encoder, &fields, &plan, &at, err));
    mark_sent(encoder);
    *data = encoder->buffer;
    *size = at;
    return OC_OK;
}

oc_status oci_ipc_encode_batch(oci_ipc_encoder *encoder, const oci_batch *batch,
                               oci_reservation *from, uint8_t **data, int64_t *size, oc_error *err)
{
    assert(batch->schema->n_fields == encoder->schema->n_fields);
    encoder->n_extents = 0;
    if (oci_encoder_find_in_slab(encoder, batch)) {
        return oci_encoder_encode_in_slab(encoder, batch, data, size, err);
    }
    return encode_in_buffer(encoder, batch, from, data, size, err);
}
