/* The writer: batches to a stream or a file, one write per message.
 *
 *      batch ── working form? build views ── wasteful views? copy what is used ──┐
 *                                                                                v
 *      stream: encoder (dictionaries are sent again when they change) ────────> write
 *      file:   dictionary columns translated to one dictionary for the file,
 *              new values sent as a delta, indices as plain integers ─> write, note the place
 *
 * The file format is the stream format between "ARROW1" and a footer that lists the messages.
 * Its batches may be read in any order, so a dictionary cannot be replaced between them: see
 * dictionary_unify.h. To the encoder such a column is its indices: the bytes of a record batch
 * are the same.
 *
 * Memory: the encoder's buffer (bounded by the batch), views while a batch is converted, and
 * with the file format the unified dictionaries and 24 bytes a message. Lists of one entry a
 * column come from malloc. */
#include "ipc/writer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/gather.h"
#include "base/bits.h"
#include "ipc/dictionary_unify.h"
#include "ipc/encoder.h"
#include "ipc/message.h"

static const uint8_t head[8] = {'A', 'R', 'R', 'O', 'W', '1', 0, 0};

enum {
    TAIL_BYTES = 4 + 6, /* size of the footer, "ARROW1" */
    MARKER_BYTES = 8,   /* end of the stream */
    BLOCKS_FIRST = 64,  /* of the list for the footer */
    VALUES_BUFFERS_MAX =
        4 /* of a dictionary message: validity, offsets or views, bytes; one to spare */
};

/* Views may refer to a small part of what their buffers hold (slices, filters). Written as they
 * are, every slice would take the whole buffers along; above this share of waste the used bytes
 * are copied first. */
#define VIEW_WASTE_MAX   2
#define VIEW_WASTE_FLOOR (16 * 1024)

/* A batch that was made elsewhere may be larger than what the budget can encode at once: it is
 * cut so that a message takes no more than an eighth of it, which leaves room for the encoder's
 * buffer and the operators. */
#define MESSAGE_SHARE     8
#define MESSAGE_BYTES_MIN (64 * 1024)

/* A growing list of places of messages. */
typedef struct block_list {
    oci_ipc_file_block *blocks;
    int64_t n;
    int64_t capacity;
} block_list;

struct oci_ipc_writer {
    const oci_env *env;
    oci_mem *mem;
    oci_file *file;
    oci_schema *schema;  /* as announced */
    oci_schema *working; /* of batches that are copied */
    oci_schema
        *physical; /* what the encoder sees: in a file, dictionary columns are their indices */
    oci_ipc_encoder *encoder;
    bool is_file;
    oci_codec_id codec;
    int level;
    int64_t position; /* bytes written */
    /* the file format only */
    oci_unify **unify;                /* per column, NULL where it is no dictionary */
    oci_ipc_encoder **value_encoders; /* per column, the values as a batch of one column */
    block_list dictionaries;
    block_list batches;
    oc_error failure; /* status OC_OK = none so far */
};

/* ---- bytes ----------------------------------------------------------------------------------- */

static oc_status put(oci_ipc_writer *writer, const void *bytes, int64_t size, oc_error *err)
{
    OC_TRY(oci_write(writer->file, bytes, size, err));
    writer->position += size;
    return OC_OK;
}

static oc_status note_block(oci_ipc_writer *writer, block_list *list, oci_ipc_file_block block,
                            oc_error *err)
{
    assert(block.offset % 8 == 0 && block.metadata_bytes % 8 == 0 && block.body_bytes % 8 == 0);
    if (list->n == list->capacity) {
        int64_t capacity = list->capacity > 0 ? 2 * list->capacity : BLOCKS_FIRST;
        void *grown = NULL;
        OC_TRY(oci_mem_realloc(writer->mem, list->blocks, list->capacity * (int64_t)sizeof block,
                               capacity * (int64_t)sizeof block, &grown, err));
        list->blocks = grown;
        list->capacity = capacity;
    }
    list->blocks[list->n++] = block;
    return OC_OK;
}

/* ---- views ----------------------------------------------------------------------------------- */

/* Does the batch have the types that are announced, or is it the working form of them? */
static bool is_announced_form(const oci_batch *batch, const oci_schema *schema)
{
    for (int32_t i = 0; i < schema->n_fields; i++) {
        if (!oci_field_same_type(batch->columns[i].field, &schema->fields[i])) {
            return false;
        }
    }
    return true;
}

/* Builds views where they are announced and the batch has strings: out of the library and in
 * again, which shares all other memory. The cast is harmless: of the batch only the count of
 * references changes. */
static oc_status build_views(const oci_batch *batch, oci_schema *schema, oci_mem *mem,
                             oci_batch **out, oc_error *err)
{
    struct ArrowArray array;
    OC_TRY(oci_batch_export(oci_batch_retain((oci_batch *)batch), schema, mem, &array, err));
    return oci_batch_import(&array, schema, out, err);
}

static bool has_wasteful_views(const oci_column *column)
{
    int64_t held = 0;
    int64_t used = 0;
    for (int32_t i = 0; i < column->n_view_buffers; i++) {
        held += column->view_sizes[i];
    }
    if (held <= VIEW_WASTE_FLOOR) {
        return false;
    }
    for (int64_t row = 0; row < column->length; row++) {
        if (!oci_column_is_null(column, row)) {
            int64_t length = 0;
            (void)oci_column_bytes_at(column, row, &length);
            used += length;
        }
    }
    return held > VIEW_WASTE_MAX * used + VIEW_WASTE_FLOOR;
}

static bool is_wasteful(const oci_batch *batch)
{
    for (int32_t i = 0; i < batch->schema->n_fields; i++) {
        const oci_column *column = &batch->columns[i];
        if (oci_field_layout(column->field) == OCI_LAYOUT_VIEWS && has_wasteful_views(column)) {
            return true;
        }
    }
    return false;
}

/* ---- the stream part of both formats --------------------------------------------------------- */

/* Encodes and writes a batch of the physical schema. */
static oc_status write_physical(oci_ipc_writer *writer, const oci_batch *batch, oc_error *err)
{
    const uint8_t *data = NULL;
    int64_t size = 0;
    OC_TRY(oci_ipc_encode_batch(writer->encoder, batch, NULL, &data, &size, err));
    int64_t start = writer->position;
    OC_TRY(put(writer, data, size, err));
    const oci_ipc_extent *extents = NULL;
    int32_t n = writer->is_file ? oci_ipc_encoder_extents(writer->encoder, &extents) : 0;
    for (int32_t i = 0; i < n; i++) {
        assert(!extents[i].dictionary);
        oci_ipc_file_block block = {.offset = start + extents[i].offset,
                                    .metadata_bytes = extents[i].metadata_bytes,
                                    .body_bytes = extents[i].body_bytes};
        OC_TRY(note_block(writer, &writer->batches, block, err));
    }
    return OC_OK;
}

/* ---- dictionaries of a file ------------------------------------------------------------------ */

/* Dictionary ids are counted over the dictionary columns, as in the schema message. */
static int64_t dictionary_id(const oci_ipc_writer *writer, int32_t column)
{
    int64_t id = 0;
    for (int32_t i = 0; i < column; i++) {
        id += writer->unify[i] != NULL;
    }
    return id;
}

/* The header of a dictionary message, made from that of a record batch with the same body. */
static oc_status build_dictionary_header(const uint8_t *framed, int64_t size, int64_t id,
                                         bool is_delta, oci_bytes *out, oc_error *err)
{
    oci_message message;
    OC_TRY(oci_message_parse(framed + OCI_IPC_PREFIX_BYTES, size - OCI_IPC_PREFIX_BYTES, &message,
                             err));
    assert(message.n_nodes == 1 && message.n_buffers <= VALUES_BUFFERS_MAX &&
           message.n_variadic <= 1);
    oci_ipc_node node = oci_message_node(&message, 0);
    oci_ipc_buffer buffers[VALUES_BUFFERS_MAX] = {{0}};
    int64_t variadic = message.n_variadic > 0 ? oci_message_variadic(&message, 0) : 0;
    for (int64_t i = 0; i < message.n_buffers; i++) {
        buffers[i] = oci_message_buffer(&message, i);
    }
    message.kind = OCI_MESSAGE_DICTIONARY;
    message.dictionary_id = id;
    message.dictionary_delta = is_delta;
    return oci_message_build_batch(&message, &node, buffers, &variadic, out, err);
}

/* Writes values, a batch of one column in announced form, as a dictionary message. */
static oc_status write_values(oci_ipc_writer *writer, int32_t column, const oci_batch *values,
                              bool is_delta, oc_error *err)
{
    oci_ipc_encoder *encoder = writer->value_encoders[column];
    const uint8_t *data = NULL;
    int64_t size = 0;
    OC_TRY(oci_ipc_encode_batch(encoder, values, NULL, &data, &size, err));
    const oci_ipc_extent *extent = NULL;
    int32_t n = oci_ipc_encoder_extents(encoder, &extent);
    assert(n == 1 && extent->offset == 0);
    (void)n;
    oci_bytes header = {0};
    OC_TRY(build_dictionary_header(data, extent->metadata_bytes, dictionary_id(writer, column),
                                   is_delta, &header, err));
    oci_ipc_file_block block = {.offset = writer->position,
                                .metadata_bytes = (int32_t)header.size,
                                .body_bytes = extent->body_bytes};
    oc_status status = put(writer, header.data, header.size, err);
    free(header.data);
    OC_TRY(status);
    OC_TRY(put(writer, data + extent->metadata_bytes, extent->body_bytes, err));
    return note_block(writer, &writer->dictionaries, block, err);
}

/* Writes the values that the last batch brought. */
static oc_status write_fresh_values(oci_ipc_writer *writer, int32_t column, bool is_first,
                                    oc_error *err)
{
    oci_unify *unify = writer->unify[column];
    oci_batch *const *chunks = NULL;
    int64_t n = oci_unify_fresh(unify, &chunks);
    for (int64_t i = 0; i < n; i++) {
        oci_batch *values = NULL;
        OC_TRY(build_views(chunks[i], oci_unify_schema(unify), writer->mem, &values, err));
        oc_status status = write_values(writer, column, values, !(is_first && i == 0), err);
        oci_batch_release(values);
        OC_TRY(status);
    }
    return OC_OK;
}

/* Rows in front of the translated indices: validity and indices have one offset, and the bitmap
 * is shared from the byte on in which the column starts. */
static int64_t lead_rows(const oci_column *column)
{
    return column->validity != NULL ? column->offset & 7 : 0;
}

static int64_t indices_bytes(const oci_column *column)
{
    return oci_round_up((lead_rows(column) + column->length) * column->field->byte_width, 8);
}

/* Makes the physical column of a dictionary column: the indices into the dictionary of the file,
 * in memory from `mem`. */
static oc_status translate_column(oci_ipc_writer *writer, int32_t i, const oci_column *column,
                                  uint8_t *indices, oci_column *out, oc_error *err)
{
    bool is_first = writer->batches.n == 0;
    int64_t lead_bytes = lead_rows(column) * column->field->byte_width;
    memset(indices, 0, (size_t)lead_bytes);
    oc_status status = oci_unify_add(writer->unify[i], column, indices + lead_bytes, err);
    if (status == OC_EBUDGET) {
        oci_error_prefix(
            err,
            "the file format keeps the dictionary of column \"%.80s\" in memory as a whole (the"
            " stream format does not)",
            column->field->name);
    }
    OC_TRY(status);
    OC_TRY(write_fresh_values(writer, i, is_first, err));
    *out = *column;
    out->field = &writer->physical->fields[i];
    out->dictionary = NULL;
    out->values = indices;
    out->offset = lead_rows(column);
    out->validity = column->validity != NULL ? column->validity + column->offset / 8 : NULL;
    return OC_OK;
}

static oc_status translate_columns(oci_ipc_writer *writer, const oci_batch *batch,
                                   oci_column *columns, uint8_t *indices, oc_error *err)
{
    for (int32_t i = 0; i < batch->schema->n_fields; i++) {
        const oci_column *column = &batch->columns[i];
        if (writer->unify[i] == NULL) {
            columns[i] = *column;
            columns[i].field = &writer->physical->fields[i];
            continue;
        }
        OC_TRY(translate_column(writer, i, column, indices, &columns[i], err));
        indices += indices_bytes(column);
    }
    return OC_OK;
}

/* Writes a batch with dictionary columns to a file. */
static oc_status write_translated(oci_ipc_writer *writer, const oci_batch *batch, oc_error *err)
{
    int64_t slab_bytes = 0;
    for (int32_t i = 0; i < batch->schema->n_fields; i++) {
        slab_bytes += writer->unify[i] != NULL ? indices_bytes(&batch->columns[i]) : 0;
    }
    void *slab = NULL;
    OC_TRY(oci_mem_alloc(writer->mem, slab_bytes, &slab, err));
    oci_column *columns = calloc((size_t)batch->schema->n_fields + 1, sizeof *columns);
    oc_status status = columns != NULL
                           ? translate_columns(writer, batch, columns, slab, err)
                           : OC_SET(err, OC_ENOMEM, "out of memory while writing a batch");
    if (status != OC_OK) {
        free(columns);
        oci_mem_free(writer->mem, slab, slab_bytes);
        return status;
    }
    oci_batch *physical = NULL;
    OC_TRY(oci_batch_adopt(writer->physical, batch->length, columns, writer->mem, slab, slab_bytes,
                           NULL, 0, &physical, err));
    status = write_physical(writer, physical, err);
    oci_batch_release(physical);
    return status;
}

/* ---- adding ---------------------------------------------------------------------------------- */

/* Writes a batch whose types are the announced ones. */
static oc_status write_announced(oci_ipc_writer *writer, const oci_batch *batch, oc_error *err)
{
    return writer->unify != NULL ? write_translated(writer, batch, err)
                                 : write_physical(writer, batch, err);
}

static oc_status write_viewed(oci_ipc_writer *writer, const oci_batch *batch, oc_error *err)
{
    if (is_announced_form(batch, writer->schema)) {
        return write_announced(writer, batch, err);
    }
    oci_batch *viewed = NULL;
    OC_TRY(build_views(batch, writer->schema, writer->mem, &viewed, err));
    oc_status status = write_announced(writer, viewed, err);
    oci_batch_release(viewed);
    return status;
}

/* What a message may take: an eighth of the budget. */
static int64_t message_bytes_max(const oci_ipc_writer *writer)
{
    return oci_max64(oci_budget_limit(writer->env->budget) / MESSAGE_SHARE, MESSAGE_BYTES_MIN);
}

/* How many rows from `row` on go into one message: all of them, unless that would take too much of
 * the budget. */
static oc_status fit_rows(const oci_ipc_writer *writer, const oci_batch *batch, int64_t row,
                          int64_t *n, oc_error *err)
{
    int64_t bytes_max = message_bytes_max(writer);
    *n = batch->length - row;
    if (*n == 0 || (batch->bytes > 0 && batch->bytes <= bytes_max)) {
        return OC_OK;
    }
    return oci_gather_range_fit(writer->working, batch, row, *n, bytes_max, writer->mem, n, NULL,
                                err);
}

/* Copies a batch, so that its views refer to no more than they use. Views that share bytes get
 * bytes of their own by that: the copy may be larger than the batch, and is made in parts then. */
static oc_status write_compacted(oci_ipc_writer *writer, const oci_batch *batch, oc_error *err)
{
    int64_t row = 0;
    do {
        int64_t n = 0;
        OC_TRY(oci_gather_range_fit(writer->working, batch, row, batch->length - row,
                                    message_bytes_max(writer), writer->mem, &n, NULL, err));
        oci_batch *compact = NULL;
        OC_TRY(
            oci_gather_range(writer->working, batch, row, n, 0, writer->mem, NULL, &compact, err));
        oc_status status = write_viewed(writer, compact, err);
        oci_batch_release(compact);
        OC_TRY(status);
        row += n;
    } while (row < batch->length);
    return OC_OK;
}

static oc_status write_piece(oci_ipc_writer *writer, const oci_batch *piece, oc_error *err)
{
    return is_wasteful(piece) ? write_compacted(writer, piece, err)
                              : write_viewed(writer, piece, err);
}

/* Each column has the announced type or its working form. */
static oc_status check_types(const oci_ipc_writer *writer, const oci_batch *batch, oc_error *err)
{
    const oci_schema *schema = writer->schema;
    if (batch->schema->n_fields != schema->n_fields) {
        OC_FAIL(err, OC_EINVAL,
                "a batch of %" PRId32 " columns cannot be written to file \"%s\" of %" PRId32,
                batch->schema->n_fields, writer->file->name, schema->n_fields);
    }
    for (int32_t i = 0; i < schema->n_fields; i++) {
        const oci_field *field = batch->columns[i].field;
        if (!oci_field_same_type(field, &schema->fields[i]) &&
            !oci_field_same_type(field, &writer->working->fields[i])) {
            char have[96];
            char want[96];
            oci_field_type_text(field, have, sizeof have);
            oci_field_type_text(&schema->fields[i], want, sizeof want);
            OC_FAIL(err, OC_EINVAL, "column \"%.80s\" of file \"%s\" is %s, a batch has %s",
                    schema->fields[i].name, writer->file->name, want, have);
        }
    }
    return OC_OK;
}

static oc_status add_batch(oci_ipc_writer *writer, const oci_batch *batch, oc_error *err)
{
    OC_TRY(check_types(writer, batch, err));
    int64_t row = 0;
    do {
        int64_t n = 0;
        OC_TRY(oci_env_check_cancel(writer->env, err));
        OC_TRY(fit_rows(writer, batch, row, &n, err));
        if (n == batch->length) {
            return write_piece(writer, batch, err);
        }
        oci_batch *piece = NULL;
        OC_TRY(oci_batch_slice((oci_batch *)batch, row, n, &piece, err));
        oc_status status = write_piece(writer, piece, err);
        oci_batch_release(piece);
        OC_TRY(status);
        row += n;
    } while (row < batch->length);
    return OC_OK;
}

/* Runs once what has not failed before, and keeps its failure. */
static oc_status keep_failure(oci_ipc_writer *writer, oc_status status, const oc_error *failure,
                              oc_error *err)
{
    if (status != OC_OK) {
        writer->failure = *failure;
        writer->failure.status = status;
        if (err != NULL) {
            *err = writer->failure;
        }
    }
    return status;
}

static oc_status earlier_failure(const oci_ipc_writer *writer, oc_error *err)
{
    if (writer->failure.status != OC_OK && err != NULL) {
        *err = writer->failure;
    }
    return writer->failure.status;
}

oc_status oci_ipc_writer_add(oci_ipc_writer *writer, const oci_batch *batch, oc_error *err)
{
    OC_TRY(earlier_failure(writer, err));
    oc_error failure = {0};
    return keep_failure(writer, add_batch(writer, batch, &failure), &failure, err);
}

/* ---- finishing ------------------------------------------------------------------------------- */

static oc_status write_footer(oci_ipc_writer *writer, oc_error *err)
{
    oci_ipc_footer footer = {.schema = writer->schema,
                             .dictionaries = writer->dictionaries.blocks,
                             .n_dictionaries = writer->dictionaries.n,
                             .batches = writer->batches.blocks,
                             .n_batches = writer->batches.n};
    oci_bytes bytes = {0};
    OC_TRY(oci_footer_build(&footer, &bytes, err));
    uint8_t tail[TAIL_BYTES];
    oci_store_le32(tail, (uint32_t)bytes.size);
    memcpy(tail + 4, head, sizeof tail - 4);
    oc_status status = put(writer, bytes.data, bytes.size, err);
    free(bytes.data);
    OC_TRY(status);
    return put(writer, tail, sizeof tail, err);
}

static oc_status finish(oci_ipc_writer *writer, oc_error *err)
{
    OC_TRY(put(writer, oci_ipc_end_marker(), MARKER_BYTES, err));
    return writer->is_file ? write_footer(writer, err) : OC_OK;
}

oc_status oci_ipc_writer_finish(oci_ipc_writer *writer, oc_error *err)
{
    OC_TRY(earlier_failure(writer, err));
    oc_error failure = {0};
    return keep_failure(writer, finish(writer, &failure), &failure, err);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* The field as the encoder of a file sees it. */
static oc_status copy_physical(const oci_field *field, oci_field *out, oc_error *err)
{
    if (field->type == OCI_TYPE_DICTIONARY) {
        return oci_field_init(out, field->name, field->index_type, field->nullable, err);
    }
    return oci_field_copy(field, out, err);
}

static oc_status make_physical(const oci_schema *schema, oci_schema **out, oc_error *err)
{
    oci_field *fields = calloc((size_t)schema->n_fields + 1, sizeof *fields);
    if (fields == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while making a schema");
    }
    for (int32_t i = 0; i < schema->n_fields; i++) {
        oc_status status = copy_physical(&schema->fields[i], &fields[i], err);
        if (status != OC_OK) {
            while (i-- > 0) {
                oci_field_deinit(&fields[i]);
            }
            free(fields);
            return status;
        }
    }
    return oci_schema_create(fields, schema->n_fields, NULL, 0, out, err);
}

static bool has_dictionaries(const oci_schema *schema)
{
    for (int32_t i = 0; i < schema->n_fields; i++) {
        if (schema->fields[i].type == OCI_TYPE_DICTIONARY) {
            return true;
        }
    }
    return false;
}

static oc_status prepare_dictionaries(oci_ipc_writer *writer, oc_error *err)
{
    const oci_schema *schema = writer->schema;
    writer->unify = calloc((size_t)schema->n_fields, sizeof(oci_unify *));
    writer->value_encoders = calloc((size_t)schema->n_fields, sizeof(oci_ipc_encoder *));
    if (writer->unify == NULL || writer->value_encoders == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while opening file \"%s\" for writing",
                writer->file->name);
    }
    for (int32_t i = 0; i < schema->n_fields; i++) {
        if (schema->fields[i].type == OCI_TYPE_DICTIONARY) {
            OC_TRY(oci_unify_create(&schema->fields[i], writer->mem, &writer->unify[i], err));
            OC_TRY(oci_ipc_encoder_create(oci_unify_schema(writer->unify[i]), writer->codec,
                                          writer->level, writer->mem, &writer->value_encoders[i],
                                          err));
        }
    }
    return OC_OK;
}

/* The schema message is written as announced, whatever the encoder sees. */
static oc_status write_start(oci_ipc_writer *writer, oc_error *err)
{
    if (writer->is_file) {
        OC_TRY(put(writer, head, sizeof head, err));
    }
    oci_bytes schema = {0};
    OC_TRY(oci_message_build_schema(writer->schema, &schema, err));
    oc_status status = put(writer, schema.data, schema.size, err);
    free(schema.data);
    return status;
}

static oc_status open_writer(oci_ipc_writer *writer, oc_error *err)
{
    OC_TRY(oci_schema_working(writer->schema, &writer->working, err));
    if (writer->is_file && has_dictionaries(writer->schema)) {
        OC_TRY(make_physical(writer->schema, &writer->physical, err));
        OC_TRY(prepare_dictionaries(writer, err));
    } else {
        writer->physical = oci_schema_retain(writer->schema);
    }
    OC_TRY(oci_ipc_encoder_create(writer->physical, writer->codec, writer->level, writer->mem,
                                  &writer->encoder, err));
    return write_start(writer, err);
}

oc_status oci_ipc_writer_open(const oci_env *env, oci_file *file, oci_schema *schema,
                              bool file_format, oci_codec_id codec, int level, oci_mem *mem,
                              oci_ipc_writer **out, oc_error *err)
{
    void *made = NULL;
    OC_TRY(oci_mem_alloc(mem, (int64_t)sizeof(oci_ipc_writer), &made, err));
    oci_ipc_writer *writer = made;
    *writer = (oci_ipc_writer){.env = env,
                               .mem = mem,
                               .file = file,
                               .schema = oci_schema_retain(schema),
                               .is_file = file_format,
                               .codec = codec,
                               .level = level};
    oc_status status = open_writer(writer, err);
    if (status != OC_OK) {
        oci_ipc_writer_destroy(writer);
        return status;
    }
    *out = writer;
    return OC_OK;
}

static void destroy_dictionaries(oci_ipc_writer *writer)
{
    for (int32_t i = 0; i < writer->schema->n_fields; i++) {
        if (writer->value_encoders != NULL) {
            oci_ipc_encoder_destroy(writer->value_encoders[i]);
        }
        if (writer->unify != NULL) {
            oci_unify_destroy(writer->unify[i]);
        }
    }
    free(writer->value_encoders);
    free(writer->unify);
}

static void free_blocks(oci_ipc_writer *writer, block_list *list)
{
    oci_mem_free(writer->mem, list->blocks, list->capacity * (int64_t)sizeof *list->blocks);
}

void oci_ipc_writer_destroy(oci_ipc_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    oci_mem *mem = writer->mem;
    oci_ipc_encoder_destroy(writer->encoder);
    destroy_dictionaries(writer);
    free_blocks(writer, &writer->dictionaries);
    free_blocks(writer, &writer->batches);
    oci_schema_release(writer->physical);
    oci_schema_release(writer->working);
    oci_schema_release(writer->schema);
    oci_mem_free(mem, writer, (int64_t)sizeof *writer);
}
