/* From a batch to its messages.
 *
 *   slab of the IPC shape, no codec: header into the room in front of the body, nothing is copied
 *   anything else: measure -> one buffer -> for each dictionary that changed, then for the batch
 *                  | head, padded to its bound | body, buffer by buffer |
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
#include "ipc/encoder.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/gather.h"
#include "base/bits.h"
#include "ipc/encoder_buffers.h"
#include "ipc/encoder_pack.h"
#include "ipc/layout_walk.h"
#include "ipc/message.h"

#define HEAD_ALIGN 64 /* bodies of slabs begin at a multiple of this, for the CPU's sake */
#define BODY_ALIGN 8  /* buffers in a body */

/* The largest bitmap that a gathered batch can have. */
#define GATHER_BITMAP_BYTES (OCI_GATHER_ROWS_MAX / 8 + BODY_ALIGN)

typedef struct sent_dictionary {
    int64_t id;
    int32_t first_inside;     /* those in its values are listed from here on up to itself */
    int64_t head_bytes;       /* of a dictionary message, without view buffers */
    oci_tree_shape shape;     /* of one, the same */
    int64_t first_buffer;     /* as the packer numbers them */
    const oci_column *values; /* of the batch at hand */
    bool is_sent;
    bool is_due;             /* in this batch */
    uint64_t fingerprint[2]; /* of the one sent last, when is_sent */
    uint64_t due_fingerprint[2];
} sent_dictionary;

struct oci_ipc_encoder {
    oci_schema *schema;
    oci_body_packer packer;
    bool with_checksum; /* messages have a slot for one */
    oci_mem *mem;
    int64_t head_bytes;
    oci_tree_shape shape;    /* of a record batch */
    int64_t n_plain_buffers; /* of a batch and all its dictionaries, without view buffers */
    int32_t n_dictionaries;
    sent_dictionary *dictionaries;
    oci_bytes schema_message;
    /* the buffer: messages from the front, scratch room at the end */
    oci_mem *buffer_mem;
    uint8_t *buffer;
    int64_t capacity;
    /* lists for the message that is being written */
    oci_ipc_node *nodes;
    int64_t *variadic;
    oci_ipc_buffer *buffers;
    int64_t buffers_max;
    oci_ipc_extent *extents;
    int32_t n_extents;
};

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

static const uint8_t *checksum_slot(const oci_ipc_encoder *encoder)
{
    return encoder->with_checksum ? end_marker : NULL; /* any address asks for a slot */
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
                          .checksum = checksum_slot(encoder)};
    oci_bytes bytes = {0};
    OC_TRY(oci_message_build_batch(&fields, encoder->nodes, encoder->buffers, encoder->variadic,
                                   &bytes, err));
    *out = oci_round_up(bytes.size, HEAD_ALIGN);
    free(bytes.data);
    return OC_OK;
}

static oc_status find_all_head_bytes(oci_ipc_encoder *encoder, oc_error *err)
{
    for (int32_t i = 0; i < encoder->n_dictionaries; i++) {
        sent_dictionary *dictionary = &encoder->dictionaries[i];
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
    sent_dictionary *dictionary = &encoder->dictionaries[encoder->n_dictionaries++];
    *dictionary = (sent_dictionary){
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

typedef struct measure {
    const oci_body_packer *packer;
    int64_t n_buffers;
    int64_t n_view_buffers;
    int64_t bytes;   /* bound of the body */
    int64_t scratch; /* largest buffer that has to be made before it is compressed */
} measure;

static oc_status measure_buffer(void *arg, const oci_buffer_source *source, oc_error *err)
{
    (void)err;
    measure *m = arg;
    m->n_buffers++;
    int64_t size = source->size;
    if (oci_body_packer_may_compress(m->packer) && size > 0) {
        if (source->kind != OCI_SOURCE_BYTES) {
            m->scratch = oci_max64(m->scratch, oci_round_up(size, BODY_ALIGN));
        }
        size = oci_body_packer_bound(m->packer, size);
    }
    m->bytes += oci_round_up(size, BODY_ALIGN);
    return OC_OK;
}

static void measure_views(void *arg, int64_t n_view_buffers)
{
    measure *m = arg;
    m->n_view_buffers += n_view_buffers;
}

static void measure_column(measure *m, const oci_column *column)
{
    oci_column_visitor visitor = {.arg = m, .buffer = measure_buffer, .views = measure_views};
    oc_status status = oci_column_visit(column, &visitor, NULL);
    assert(status == OC_OK);
    (void)status;
}

/* View buffers come on top of what the head was measured with. */
static int64_t head_with_views(int64_t head_bytes, int64_t n_view_buffers)
{
    return oci_round_up(head_bytes + (int64_t)sizeof(oci_ipc_buffer) * n_view_buffers, HEAD_ALIGN);
}

static int64_t dictionary_head(const sent_dictionary *dictionary, const measure *m)
{
    return head_with_views(dictionary->head_bytes, m->n_view_buffers);
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
static measure measure_batch(const oci_ipc_encoder *encoder, const oci_batch *batch, bool due_only)
{
    measure total = {.packer = &encoder->packer};
    measure rows = {.packer = &encoder->packer};
    for (int32_t i = 0; i < encoder->n_dictionaries; i++) {
        const sent_dictionary *dictionary = &encoder->dictionaries[i];
        if (dictionary->is_due || !due_only) {
            measure values = {.packer = &encoder->packer};
            measure_column(&values, dictionary->values);
            total.bytes += dictionary_head(dictionary, &values) + values.bytes;
            total.scratch = oci_max64(total.scratch, values.scratch);
            total.n_buffers = oci_max64(total.n_buffers, values.n_buffers);
        }
    }
    for (int32_t i = 0; i < encoder->schema->n_fields; i++) {
        measure_column(&rows, &batch->columns[i]);
    }
    total.bytes += head_with_views(encoder->head_bytes, rows.n_view_buffers) + rows.bytes;
    total.scratch = oci_max64(total.scratch, rows.scratch);
    total.n_buffers = oci_max64(total.n_buffers, rows.n_buffers);
    total.n_view_buffers = rows.n_view_buffers;
    return total;
}

/* ---- straight from the slab ------------------------------------------------------------------ */

/* Are the batch's buffers where a message body has them? */
typedef struct slab_walk {
    const uint8_t *body;
    int64_t body_bytes;
    oci_ipc_node *nodes;
    int64_t n_nodes;
    oci_ipc_buffer *buffers;
    int64_t n_buffers;
    int64_t end; /* of the last buffer that is not empty */
} slab_walk;

static void take_node(void *arg, int64_t length, int64_t null_count)
{
    slab_walk *walk = arg;
    walk->nodes[walk->n_nodes++] = (oci_ipc_node){length, null_count};
}

static oc_status take_from_slab(void *arg, const oci_buffer_source *source, oc_error *err)
{
    (void)err;
    slab_walk *walk = arg;
    oci_ipc_buffer *buffer = &walk->buffers[walk->n_buffers++];
    *buffer = (oci_ipc_buffer){.offset = oci_round_up(walk->end, BODY_ALIGN)};
    if (source->size == 0 || source->is_spare) {
        return OC_OK;
    }
    /* Compared as numbers: the pointer may belong to another block. */
    uintptr_t distance = (uintptr_t)source->data - (uintptr_t)walk->body;
    bool is_inside = source->size <= walk->body_bytes &&
                     distance <= (uintptr_t)(walk->body_bytes - source->size) &&
                     distance % BODY_ALIGN == 0;
    if (source->kind != OCI_SOURCE_BYTES || !is_inside) {
        return OC_EINVAL; /* seen only by encode_in_slab */
    }
    *buffer = (oci_ipc_buffer){.offset = (int64_t)distance, .length = source->size};
    walk->end = (int64_t)distance + source->size;
    return OC_OK;
}

static bool may_lie_in_slab(const oci_ipc_encoder *encoder, const oci_batch *batch)
{
    return encoder->packer.id == OCI_CODEC_NONE && encoder->n_dictionaries == 0 &&
           encoder->shape.n_variadic == 0 && batch->slab != NULL &&
           batch->head_bytes >= encoder->head_bytes && batch->body_bytes >= 0 &&
           batch->body_bytes % BODY_ALIGN == 0;
}

/* Fills the encoder's lists from the slab; false when the batch has to be laid out anew. */
static bool find_in_slab(const oci_ipc_encoder *encoder, const oci_batch *batch)
{
    slab_walk walk = {.body = (const uint8_t *)batch->slab + batch->head_bytes,
                      .body_bytes = batch->body_bytes,
                      .nodes = encoder->nodes,
                      .buffers = encoder->buffers};
    oci_column_visitor visitor = {.arg = &walk, .node = take_node, .buffer = take_from_slab};
    for (int32_t i = 0; i < encoder->schema->n_fields; i++) {
        const oci_column *column = &batch->columns[i];
        if (column->offset != 0 || oci_column_visit(column, &visitor, NULL) != OC_OK) {
            return false;
        }
    }
    return true;
}

int64_t oci_ipc_encoder_bound(oci_ipc_encoder *encoder, const oci_batch *batch)
{
    if (!encoder->packer.changes && may_lie_in_slab(encoder, batch) &&
        find_in_slab(encoder, batch)) {
        return 0;
    }
    note_dictionaries(encoder, batch);
    measure total = measure_batch(encoder, batch, false);
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
        return bytes + slab_bytes + n_buffers * BODY_ALIGN;
    }
    return bytes + oci_body_packer_bound(packer, slab_bytes) +
           n_buffers * (oci_body_packer_bound(packer, 1) + BODY_ALIGN) + GATHER_BITMAP_BYTES;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Where a body is being laid out, and how much of the encoder's lists it has filled. */
typedef struct body_writer {
    oci_ipc_encoder *encoder;
    uint8_t *body;
    uint8_t *scratch;
    int64_t first_buffer; /* as the packer numbers them */
    int64_t end;
    int64_t n_nodes;
    int64_t n_buffers;
    int64_t n_variadic;
} body_writer;

static void write_node(void *arg, int64_t length, int64_t null_count)
{
    body_writer *writer = arg;
    writer->encoder->nodes[writer->n_nodes++] = (oci_ipc_node){length, null_count};
}

static void write_views(void *arg, int64_t n_view_buffers)
{
    body_writer *writer = arg;
    writer->encoder->variadic[writer->n_variadic++] = n_view_buffers;
}

static oc_status write_buffer(void *arg, const oci_buffer_source *source, oc_error *err)
{
    body_writer *writer = arg;
    oci_ipc_encoder *encoder = writer->encoder;
    uint8_t *to = writer->body + writer->end;
    int64_t size = source->size;
    if (size > 0 && encoder->packer.id != OCI_CODEC_NONE) {
        OC_TRY(oci_body_packer_pack(&encoder->packer, source,
                                    writer->first_buffer + writer->n_buffers, writer->scratch, to,
                                    &size, err));
    } else {
        oci_buffer_source_copy(source, to);
    }
    int64_t padded = oci_round_up(size, BODY_ALIGN);
    memset(to + size, 0, (size_t)(padded - size));
    encoder->buffers[writer->n_buffers++] = (oci_ipc_buffer){.offset = writer->end, .length = size};
    writer->end += padded;
    return OC_OK;
}

/* Builds the header from the encoder's lists and puts it at `to`, stretched to head_bytes. */
static oc_status write_head(oci_ipc_encoder *encoder, const oci_message *fields, uint8_t *to,
                            int64_t head_bytes, oc_error *err)
{
    oci_bytes head = {0};
    OC_TRY(oci_message_build_batch(fields, encoder->nodes, encoder->buffers, encoder->variadic,
                                   &head, err));
    assert(head.size <= head_bytes);
    memcpy(to, head.data, (size_t)head.size);
    oci_frame_pad(to, head.size, head_bytes);
    free(head.data);
    return OC_OK;
}

static void add_extent(oci_ipc_encoder *encoder, int64_t offset, int64_t head_bytes,
                       int64_t body_bytes, bool is_dictionary)
{
    encoder->extents[encoder->n_extents++] = (oci_ipc_extent){.offset = offset,
                                                              .metadata_bytes = (int32_t)head_bytes,
                                                              .body_bytes = body_bytes,
                                                              .dictionary = is_dictionary};
}

/* What a message is made of, beside its fields. */
typedef struct message_plan {
    const oci_column *columns;
    int32_t n_columns;
    int64_t head_bytes;
    int64_t scratch_bytes; /* kept free at the end of the buffer */
    int64_t first_buffer;  /* as the packer numbers them */
} message_plan;

/* Writes one message at *at of the buffer and moves *at behind it. `fields` has kind, length and
 * id. */
static oc_status write_message(oci_ipc_encoder *encoder, oci_message *fields,
                               const message_plan *plan, int64_t *at, oc_error *err)
{
    int64_t head_bytes = plan->head_bytes;
    body_writer writer = {.encoder = encoder,
                          .body = encoder->buffer + *at + head_bytes,
                          .scratch = encoder->buffer + encoder->capacity - plan->scratch_bytes,
                          .first_buffer = plan->first_buffer};
    oci_column_visitor visitor = {
        .arg = &writer, .node = write_node, .buffer = write_buffer, .views = write_views};
    for (int32_t i = 0; i < plan->n_columns; i++) {
        OC_TRY(oci_column_visit(&plan->columns[i], &visitor, err));
    }
    fields->codec = encoder->packer.id;
    fields->n_nodes = writer.n_nodes;
    fields->n_buffers = writer.n_buffers;
    fields->n_variadic = writer.n_variadic;
    fields->body_bytes = writer.end;
    fields->checksum = checksum_slot(encoder);
    OC_TRY(write_head(encoder, fields, encoder->buffer + *at, head_bytes, err));
    add_extent(encoder, *at, head_bytes, writer.end, fields->kind == OCI_MESSAGE_DICTIONARY);
    *at += head_bytes + writer.end;
    assert(*at <= encoder->capacity - plan->scratch_bytes);
    return OC_OK;
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
        sent_dictionary *dictionary = &encoder->dictionaries[i];
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
        sent_dictionary *dictionary = &encoder->dictionaries[i];
        if (!dictionary->is_due) {
            continue;
        }
        const oci_column *values = dictionary->values;
        measure m = {.packer = &encoder->packer};
        measure_column(&m, values);
        oci_message fields = {.kind = OCI_MESSAGE_DICTIONARY,
                              .length = values->length,
                              .dictionary_id = dictionary->id};
        message_plan plan = {.columns = values,
                             .n_columns = 1,
                             .head_bytes = dictionary_head(dictionary, &m),
                             .scratch_bytes = scratch_bytes,
                             .first_buffer = dictionary->first_buffer};
        OC_TRY(write_message(encoder, &fields, &plan, at, err));
    }
    return OC_OK;
}

static void mark_sent(oci_ipc_encoder *encoder)
{
    for (int32_t i = 0; i < encoder->n_dictionaries; i++) {
        sent_dictionary *dictionary = &encoder->dictionaries[i];
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
    add_extent(encoder, 0, encoder->schema_message.size, 0, false);
    *data = encoder->schema_message.data;
    *size = encoder->schema_message.size;
    return OC_OK;
}

/* The lists are filled. */
static oc_status encode_in_slab(oci_ipc_encoder *encoder, const oci_batch *batch, uint8_t **data,
                                int64_t *size, oc_error *err)
{
    oci_message fields = {.kind = OCI_MESSAGE_BATCH,
                          .body_bytes = batch->body_bytes,
                          .length = batch->length,
                          .n_nodes = encoder->shape.n_nodes,
                          .n_buffers = encoder->shape.n_buffers,
                          .checksum = checksum_slot(encoder)};
    uint8_t *head = (uint8_t *)batch->slab + batch->head_bytes - encoder->head_bytes;
    OC_TRY(write_head(encoder, &fields, head, encoder->head_bytes, err));
    add_extent(encoder, 0, encoder->head_bytes, batch->body_bytes, false);
    *data = head;
    *size = encoder->head_bytes + batch->body_bytes;
    return OC_OK;
}

static oc_status encode_in_buffer(oci_ipc_encoder *encoder, const oci_batch *batch,
                                  oci_reservation *from, uint8_t **data, int64_t *size,
                                  oc_error *err)
{
    find_due_dictionaries(encoder, batch);
    measure total = measure_batch(encoder, batch, true);
    OC_TRY(reserve_lists(encoder, total.n_buffers, err));
    OC_TRY(reserve_buffer(encoder, total.bytes + total.scratch, from, err));
    int64_t at = 0;
    OC_TRY(write_dictionaries(encoder, total.scratch, &at, err));
    oci_message fields = {.kind = OCI_MESSAGE_BATCH, .length = batch->length};
    message_plan plan = {.columns = batch->columns,
                         .n_columns = encoder->schema->n_fields,
                         .head_bytes = head_with_views(encoder->head_bytes, total.n_view_buffers),
                         .scratch_bytes = total.scratch};
    OC_TRY(write_message(encoder, &fields, &plan, &at, err));
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
    if (may_lie_in_slab(encoder, batch) && find_in_slab(encoder, batch)) {
        return encode_in_slab(encoder, batch, data, size, err);
    }
    return encode_in_buffer(encoder, batch, from, data, size, err);
}
