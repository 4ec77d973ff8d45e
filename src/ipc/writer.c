/* The writer: batches to a stream or a file, one write per message.
 *
 *      batch ── too large? in parts ── wasteful? copy what is used ── working form? announced form ──┐
 *                                                                                                v
 *      stream: encoder (dictionaries are sent again when they change) ────────────────────────> write
 *      file:   dictionary columns translated to one dictionary for the file, indices as plain
 *              integers ── encoder ── held, then written, places noted; dictionaries when held ──> write
 *
 * The file format is the stream format between "ARROW1" and a footer that lists the messages.
 * Its batches may be read in any order, so a dictionary cannot be replaced between them: see
 * writer_dictionaries.h. The dictionaries are complete when the last batch is translated. The format
 * lets them stand behind the batches, but there are readers (flechette) that want them in front: as
 * long as the encoded batches are few bytes they are held back, and the dictionaries written first.
 *
 * Memory: the encoder's buffer (bounded by the batch), the announced form while a batch is
 * converted, and with the file format the unified dictionaries, the batches held back and 24 bytes
 * a message. */
#include "ipc/writer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/column_range.h"
#include "arrow/gather.h"
#include "base/bits.h"
#include "ipc/encoder.h"
#include "ipc/message.h"
#include "ipc/writer_dictionaries.h"

static const uint8_t head[OCI_IPC_FILE_HEAD_BYTES] = OCI_IPC_MAGIC;

enum {
    MARKER_BYTES = 8, /* end of the stream */
    BLOCKS_FIRST = 64 /* of the list for the footer */
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

/* Batches of a file with dictionaries that are held back take no more than this. */
#define HELD_SHARE     32
#define HELD_BYTES_MAX (INT64_C(4) << 20)

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
    oci_ipc_encoder *encoder;
    bool is_file;
    int64_t position; /* bytes written */
    /* the file format only */
    oci_file_dictionaries *unified; /* NULL without dictionaries */
    block_list dictionaries;
    block_list batches;
    bool is_holding;
    uint8_t *held; /* encoded batches; their places count from its start */
    int64_t held_bytes;
    int64_t held_capacity;
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

static oc_status write_dictionary(void *arg, const uint8_t *head_of, int64_t head_bytes,
                                  const uint8_t *body, int64_t body_bytes, oc_error *err)
{
    oci_ipc_writer *writer = arg;
    oci_ipc_file_block block = {.offset = writer->position,
                                .metadata_bytes = (int32_t)head_bytes,
                                .body_bytes = body_bytes};
    OC_TRY(put(writer, head_of, head_bytes, err));
    OC_TRY(put(writer, body, body_bytes, err));
    return note_block(writer, &writer->dictionaries, block, err);
}

/* ---- the stream part of both formats --------------------------------------------------------- */

static oc_status note_batches(oci_ipc_writer *writer, int64_t start, oc_error *err)
{
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

/* Keeps what was encoded for later; false when there is no room for it. */
static bool hold(oci_ipc_writer *writer, const uint8_t *data, int64_t size)
{
    int64_t max = oci_min64(oci_budget_limit(writer->env->budget) / HELD_SHARE, HELD_BYTES_MAX);
    int64_t need = writer->held_bytes + size;
    if (need > max) {
        return false;
    }
    if (need > writer->held_capacity) {
        int64_t capacity = oci_min64(max, oci_max64(2 * writer->held_capacity, need));
        void *grown = NULL;
        if (oci_mem_realloc(writer->mem, writer->held, writer->held_capacity, capacity, &grown,
                            NULL) != OC_OK) {
            return false;
        }
        writer->held = grown;
        writer->held_capacity = capacity;
    }
    memcpy(writer->held + writer->held_bytes, data, (size_t)size);
    writer->held_bytes += size;
    return true;
}

/* Writes what was held back; nothing is from now on. */
static oc_status write_held(oci_ipc_writer *writer, oc_error *err)
{
    for (int64_t i = 0; i < writer->batches.n; i++) {
        writer->batches.blocks[i].offset += writer->position;
    }
    writer->is_holding = false;
    oc_status status = writer->held_bytes > 0 ? put(writer, writer->held, writer->held_bytes, err)
                                              : OC_OK;
    oci_mem_free(writer->mem, writer->held, writer->held_capacity);
    writer->held = NULL;
    writer->held_bytes = writer->held_capacity = 0;
    return status;
}

/* Encodes and writes a batch of the physical schema. */
static oc_status write_physical(oci_ipc_writer *writer, const oci_batch *batch, oc_error *err)
{
    uint8_t *data = NULL;
    int64_t size = 0;
    OC_TRY(oci_ipc_encode_batch(writer->encoder, batch, NULL, &data, &size, err));
    if (writer->is_holding) {
        int64_t start = writer->held_bytes;
        if (hold(writer, data, size)) {
            return note_batches(writer, start, err);
        }
        OC_TRY(write_held(writer, err));
    }
    int64_t start = writer->position;
    OC_TRY(put(writer, data, size, err));
    return note_batches(writer, start, err);
}

/* Writes a batch whose types are the announced ones. */
static oc_status write_announced(oci_ipc_writer *writer, const oci_batch *batch, oc_error *err)
{
    if (writer->unified == NULL) {
        return write_physical(writer, batch, err);
    }
    oci_batch *physical = NULL;
    OC_TRY(oci_file_dictionaries_translate(writer->unified, batch, &physical, err));
    oc_status status = write_physical(writer, physical, err);
    oci_batch_release(physical);
    return status;
}

/* ---- forms ----------------------------------------------------------------------------------- */

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

/* Rows [row, row + n) in the announced form. */
static oc_status write_output(oci_ipc_writer *writer, oci_batch *batch, int64_t row, int64_t n,
                              oc_error *err)
{
    oci_batch *part = NULL;
    oci_batch *announced = NULL;
    OC_TRY(oci_batch_slice(batch, row, n, &part, err));
    oc_status status = oci_batch_output(part, writer->schema, writer->mem, &announced, err);
    if (status == OC_OK) {
        status = write_announced(writer, announced, err);
    }
    oci_batch_release(announced);
    oci_batch_release(part);
    return status;
}

/* Writes a batch in either form, in as many messages as run ends can count. The cast is harmless: of
 * the batch only the count of references changes. */
static oc_status write_any_form(oci_ipc_writer *writer, const oci_batch *batch, oc_error *err)
{
    if (is_announced_form(batch, writer->schema)) {
        return write_announced(writer, batch, err);
    }
    int64_t row = 0;
    do {
        int64_t n = oci_batch_output_rows(batch, writer->schema, row, batch->length - row);
        OC_TRY(write_output(writer, (oci_batch *)batch, row, n, err));
        row += n;
    } while (row < batch->length);
    return OC_OK;
}

/* ---- waste ----------------------------------------------------------------------------------- */

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

static bool is_wasteful_column(const oci_column *column)
{
    if (oci_field_layout(column->field) == OCI_LAYOUT_VIEWS) {
        return has_wasteful_views(column);
    }
    for (int32_t i = 0; i < column->field->n_children; i++) {
        oci_column child = oci_column_child_view(column, i, oci_column_child_range(column, i));
        if (is_wasteful_column(&child)) {
            return true;
        }
    }
    return false;
}

static bool is_wasteful(const oci_ipc_writer *writer, const oci_batch *batch)
{
    for (int32_t i = 0; i < batch->schema->n_fields; i++) {
        if (is_wasteful_column(&batch->columns[i])) {
            return true;
        }
    }
    return writer->unified != NULL && oci_file_dictionaries_is_wasteful(batch);
}

/* ---- adding ---------------------------------------------------------------------------------- */

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

/* Copies a batch, so that it refers to no more than it uses. Views that share bytes get bytes of
 * their own by that: the copy may be larger than the batch, and is made in parts then. */
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
        oc_status status = write_any_form(writer, compact, err);
        oci_batch_release(compact);
        OC_TRY(status);
        row += n;
    } while (row < batch->length);
    return OC_OK;
}

static oc_status write_piece(oci_ipc_writer *writer, const oci_batch *piece, oc_error *err)
{
    return is_wasteful(writer, piece) ? write_compacted(writer, piece, err)
                                      : write_any_form(writer, piece, err);
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

/* Says what to do when memory ran out: most often it is the dictionaries that took it. */
static oc_status explain(const oci_ipc_writer *writer, oc_status status, oc_error *err)
{
    if (status == OC_EBUDGET && writer->unified != NULL) {
        oci_error_prefix(err, "the file format keeps dictionaries in memory as a whole (the stream "
                              "format does not)");
    }
    return status;
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
    oc_status status = explain(writer, add_batch(writer, batch, &failure), &failure);
    return keep_failure(writer, status, &failure, err);
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
    uint8_t tail[OCI_IPC_FILE_TAIL_BYTES];
    oci_store_le32(tail, (uint32_t)bytes.size);
    memcpy(tail + 4, OCI_IPC_MAGIC, OCI_IPC_MAGIC_BYTES);
    oc_status status = put(writer, bytes.data, bytes.size, err);
    free(bytes.data);
    OC_TRY(status);
    return put(writer, tail, sizeof tail, err);
}

static oc_status finish(oci_ipc_writer *writer, oc_error *err)
{
    if (writer->unified != NULL) {
        OC_TRY(oci_file_dictionaries_finish(writer->unified, err));
    }
    if (writer->is_holding) {
        OC_TRY(write_held(writer, err));
    }
    OC_TRY(put(writer, oci_ipc_end_marker(), MARKER_BYTES, err));
    return writer->is_file ? write_footer(writer, err) : OC_OK;
}

oc_status oci_ipc_writer_finish(oci_ipc_writer *writer, oc_error *err)
{
    OC_TRY(earlier_failure(writer, err));
    oc_error failure = {0};
    oc_status status = explain(writer, finish(writer, &failure), &failure);
    return keep_failure(writer, status, &failure, err);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* The schema message is written as announced, whatever the encoder sees. */
static oc_status write_start(oci_ipc_writer *writer, oc_error *err)
{
    if (writer->is_file) {
        OC_TRY(put(writer, head, sizeof head, err));
    }
    oci_bytes schema = {0};
    OC_TRY(oci_message_build_schema(writer->schema, false, &schema, err));
    oc_status status = put(writer, schema.data, schema.size, err);
    free(schema.data);
    return status;
}

static oc_status open_writer(oci_ipc_writer *writer, oci_codec_id codec, int level, oc_error *err)
{
    OC_TRY(oci_schema_working(writer->schema, &writer->working, err));
    oci_schema *physical = writer->schema;
    if (writer->is_file) {
        oci_message_sink sink = {.arg = writer, .write = write_dictionary};
        OC_TRY(oci_file_dictionaries_create(writer->schema, codec, level, sink, writer->mem,
                                            &writer->unified, err));
    }
    if (writer->unified != NULL) {
        physical = oci_file_dictionaries_physical(writer->unified);
        writer->is_holding = true;
    }
    OC_TRY(oci_ipc_encoder_create(physical, codec, level, writer->mem, &writer->encoder, err));
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
                               .is_file = file_format};
    oc_status status = open_writer(writer, codec, level, err);
    if (status != OC_OK) {
        oci_ipc_writer_destroy(writer);
        return status;
    }
    *out = writer;
    return OC_OK;
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
    oci_file_dictionaries_destroy(writer->unified);
    oci_mem_free(mem, writer->held, writer->held_capacity);
    free_blocks(writer, &writer->dictionaries);
    free_blocks(writer, &writer->batches);
    oci_schema_release(writer->working);
    oci_schema_release(writer->schema);
    oci_mem_free(mem, writer, (int64_t)sizeof *writer);
}
