/* Cutting a large record batch into slices while it lies in a file.
 *
 * Every slice goes three steps.
 *   1. How many rows? Fixed widths give a first number by arithmetic. Then the rows are planned
 *      (reader_slice_plan.c): the rows of every child and the bytes of all; the number is
 *      corrected until the slice fits the block well.
 *   2. One slab of exactly that size is asked from the budget, and each buffer range is read into
 *      its place (reader_slice_fill.c).
 *   3. The slab is given to the decoder as what it is, a small uncompressed message, and so gets
 *      the checks of every message from outside: offsets, views, indices, type ids, runs. What is
 *      checked before is only what steers our own reads.
 *
 * A row that is larger than the block makes a slice of its own; only then the memory is more
 * than a block (plus 24 bytes for each view while they are sorted out). Lists that refer to places
 * far apart (list views, dense unions) bring all that lies between: fewer rows come together then,
 * down to one.
 *
 * Null counts are held against the bitmaps at the end of the batch, of the columns whose rows came
 * all and in order. */
#include "ipc/reader_slices.h"

#include <assert.h>
#include <string.h>

#include "ipc/reader_slice.h"

/* Disk space is given back in pieces of this size: each costs a system call per buffer. */
#define DISCARD_BYTES (1024 * 1024)

/* How often the number of rows is guessed by proportion before it is halved instead. */
#define GUESSES_MAX 5

/* Values of a row are counted up to here. */
#define ROW_BITS_MAX (INT64_C(1) << 40)

/* ---- checks at the start --------------------------------------------------------------------- */

/* Are there `count` values in the buffer? */
static oc_status check_room(const oci_slices *slices, const oci_slice_column *column, int which,
                            int64_t count, oc_error *err)
{
    static const char *const names[] = {"validity", "bits",     "values", "offsets",
                                        "offsets",  "type ids", "views",  "bytes"};
    oci_buffer_kind kind = column->shape.buffers[which];
    int64_t bits = oci_slice_value_bits(column, kind);
    int64_t length = oci_slice_buffer(slices, column, which)->length;
    int64_t room = length > INT64_MAX / 8 ? INT64_MAX : length * 8;
    if (bits > 0 && count > room / bits) {
        OC_FAIL(err, OC_EDATA,
                "column \"%.80s\": %s buffer of %" PRId64 " bytes is too short for %" PRId64
                " values",
                column->field->name, names[kind], length, column->rows);
    }
    return OC_OK;
}

/* A bitmap that is there is read and held against the null count, also one of 0. */
static oc_status check_validity(oci_slices *slices, oci_slice_column *column, oc_error *err)
{
    int64_t length = oci_slice_buffer(slices, column, 0)->length;
    column->has_validity = column->null_count > 0 || length >= oci_bytes_for_bits(column->rows);
    column->has_validity = column->has_validity && (length > 0 || column->null_count > 0);
    return column->has_validity ? check_room(slices, column, 0, column->rows, err) : OC_OK;
}

static oc_status check_buffers(oci_slices *slices, oci_slice_column *column, oc_error *err)
{
    bool has_end = column->layout == OCI_LAYOUT_OFFSETS32 ||
                   column->layout == OCI_LAYOUT_OFFSETS64 || column->layout == OCI_LAYOUT_LIST32 ||
                   column->layout == OCI_LAYOUT_LIST64;
    for (int32_t i = 0; i < column->shape.n_buffers; i++) {
        if (column->shape.buffers[i] == OCI_BUFFER_VALIDITY) {
            OC_TRY(check_validity(slices, column, err));
        } else if (has_end && i == 1) {
            /* rows + 1 may not overflow, and a column without rows may do without offsets. */
            int64_t count = column->rows < INT64_MAX ? column->rows + 1 : column->rows;
            OC_TRY(check_room(slices, column, i, column->rows == 0 ? 0 : count, err));
        } else {
            OC_TRY(check_room(slices, column, i, column->rows, err));
        }
    }
    return OC_OK;
}

static oc_status check_column(oci_slices *slices, oci_slice_column *column, oc_error *err)
{
    if (column->rows < 0 || column->null_count < 0 || column->null_count > column->rows) {
        OC_FAIL(err, OC_EDATA, "column \"%.80s\" announces %" PRId64 " nulls in %" PRId64 " rows",
                column->field->name, column->null_count, column->rows);
    }
    OC_TRY(check_buffers(slices, column, err));
    if (column->layout == OCI_LAYOUT_RUN_ENDS) {
        const oci_slice_column *ends = oci_slice_child(slices, column, 0);
        if (ends->null_count > 0) {
            OC_FAIL(err, OC_EDATA, "column \"%.80s\" has %" PRId64 " nulls among its run ends",
                    column->field->name, ends->null_count);
        }
    }
    return OC_OK;
}

/* Bits that a row takes at least, with what it takes in children. */
static int64_t row_bits(const oci_slices *slices, const oci_slice_column *column)
{
    int64_t bits = 0;
    for (int32_t i = 0; i < column->shape.n_buffers; i++) {
        bool is_there = column->shape.buffers[i] != OCI_BUFFER_VALIDITY || column->has_validity;
        bits += is_there ? oci_slice_value_bits(column, column->shape.buffers[i]) : 0;
    }
    bool has_all_children = column->layout == OCI_LAYOUT_STRUCT ||
                            column->layout == OCI_LAYOUT_SPARSE_UNION;
    for (int32_t k = 0; k < column->field->n_children && has_all_children; k++) {
        bits += row_bits(slices, oci_slice_child(slices, column, k));
    }
    if (column->layout == OCI_LAYOUT_FIXED_LIST) {
        int64_t child = row_bits(slices, oci_slice_child(slices, column, 0));
        bits += oci_min64(child, 1 << 30) * oci_min64(column->field->list_size, 1 << 30);
    }
    return oci_min64(bits, ROW_BITS_MAX);
}

/* ---- how many rows --------------------------------------------------------------------------- */

/* The most rows that the next slice may have, from what is known without reading. */
static int64_t most_rows(const oci_slices *slices)
{
    int64_t n = oci_min64(slices->rows - slices->next_row, slices->env->batch_rows);
    if (slices->row_bits > 0) {
        n = oci_min64(n, oci_max64(1, slices->bytes_target * 8 / slices->row_bits));
    }
    return n;
}

/* The next number of rows to try, between `fits` (0 = none yet) and `over`, after `n` rows took
 * `bytes`. */
static int64_t next_guess(const oci_slices *slices, int64_t fits, int64_t over, int64_t n,
                          int64_t bytes, int guesses)
{
    int64_t guess = fits + (over - fits) / 2;
    if (guesses < GUESSES_MAX && bytes > 0) {
        guess = (int64_t)((double)n * (double)slices->bytes_target / (double)bytes);
    }
    return oci_max64(fits + 1, oci_min64(guess, over - 1));
}

/* Finds how many of at most `most` rows go into a slice: the bytes fit the target and fill three
 * quarters of it, or one more row would be too many. Leaves that number of rows planned. */
static oc_status choose_rows(oci_slices *slices, int64_t most, int64_t *rows, oc_error *err)
{
    int64_t fits = 0;
    int64_t over = most + 1;
    int64_t n = oci_min64(most, slices->rows_hint);
    for (int guesses = 0;; guesses++) {
        OC_TRY(oci_slice_plan(slices, n, err));
        int64_t bytes = slices->planned_bytes;
        if (bytes <= slices->bytes_target || n <= 1) {
            fits = n;
            if (bytes >= slices->bytes_target / 4 * 3 || n + 1 >= over) {
                break;
            }
        } else {
            over = n;
            if (fits > 0 && fits + 1 >= over) {
                n = fits;
                OC_TRY(oci_slice_plan(slices, n, err));
                break;
            }
        }
        n = next_guess(slices, fits, over, n, bytes, guesses);
    }
    *rows = n;
    return OC_OK;
}

/* ---- a slice --------------------------------------------------------------------------------- */

/* At the end of the batch: were there as many nulls as the message says? */
static oc_status check_nulls(const oci_slices *slices, oc_error *err)
{
    for (int32_t i = 0; i < slices->n_columns; i++) {
        const oci_slice_column *column = &slices->columns[i];
        if (column->has_validity && column->counted_rows == column->rows &&
            column->nulls != column->null_count) {
            OC_FAIL(err, OC_EDATA,
                    "column \"%.80s\" has %" PRId64 " nulls where the message says %" PRId64,
                    column->field->name, column->nulls, column->null_count);
        }
    }
    return OC_OK;
}

static oci_message describe(const oci_slices *slices, int64_t n)
{
    return (oci_message){
        .kind = OCI_MESSAGE_BATCH,
        .version = OCI_IPC_V5,
        .body_bytes = slices->slab_end,
        .length = n,
        .n_nodes = slices->n_columns,
        .nodes = (const uint8_t *)slices->nodes,
        .n_buffers = slices->n_buffers,
        .buffers = (const uint8_t *)slices->buffers,
        .n_variadic = slices->n_variadic,
        .variadic = (const uint8_t *)slices->variadic,
        .codec = OCI_CODEC_NONE,
    };
}

/* Gives back the disk space of the first `bytes` of a buffer, when it has become worth a system
 * call. */
static void discard_buffer(oci_slices *slices, int64_t buffer, int64_t bytes)
{
    int64_t *done = &slices->discarded[buffer];
    if (bytes - *done >= DISCARD_BYTES) {
        oci_discard(slices->body.file,
                    slices->body.offset + slices->parts.buffers[buffer].offset + *done,
                    bytes - *done);
        *done = bytes;
    }
}

/* What lies before the slice that was just made is not read again: the next one may begin in its
 * last row, but not before its first. The buffers of views may be referred to from anywhere, and
 * stay, and so does what list views and dense unions refer to. */
static void discard_column(oci_slices *slices, const oci_slice_column *column)
{
    for (int32_t i = 0; i < column->shape.n_buffers && column->is_forward; i++) {
        oci_buffer_kind kind = column->shape.buffers[i];
        int64_t bytes = kind == OCI_BUFFER_BYTES
                            ? column->low
                            : column->start * oci_slice_value_bits(column, kind) / 8;
        discard_buffer(slices, column->first_buffer + i, bytes);
    }
}

/* Notes where every column was left. */
static void advance(oci_slices *slices, int64_t n)
{
    slices->next_row += n;
    for (int32_t i = 0; i < slices->n_columns; i++) {
        oci_slice_column *column = &slices->columns[i];
        int64_t end = column->start + column->count;
        if (column->count > 0) {
            column->next_value = column->high;
        } else if (end != column->next_row) {
            column->next_value = -1;
        }
        column->next_row = end;
        if (slices->discard && column->count > 0) {
            discard_column(slices, column);
        }
    }
}

/* Reads what is planned. The slab is the decoder's from the call of oci_ipc_decode() on. */
static oc_status make_planned(oci_slices *slices, int64_t n, oci_batch **out, oc_error *err)
{
    void *slab = NULL;
    slices->slab_bytes = slices->planned_bytes;
    OC_TRY(oci_mem_alloc(slices->mem, slices->slab_bytes, &slab, err));
    slices->slab = slab;
    oc_status status = oci_slice_fill(slices, err);
    if (status == OC_OK && slices->next_row + n == slices->rows) {
        status = check_nulls(slices, err);
    }
    if (status != OC_OK) {
        oci_mem_free(slices->mem, slab, slices->slab_bytes);
        return status;
    }
    oci_message message = describe(slices, n);
    return oci_ipc_decode(slices->decoder, &message, slab, slices->slab_bytes, 0, NULL, out, err);
}

oc_status oci_slices_next(oci_slices *slices, oci_batch **out, oc_error *err)
{
    *out = NULL;
    if (slices->is_finished) {
        return OC_OK;
    }
    int64_t n = 0;
    OC_TRY(oci_env_check_cancel(slices->env, err));
    OC_TRY(choose_rows(slices, most_rows(slices), &n, err));
    OC_TRY(make_planned(slices, n, out, err));
    slices->rows_hint = n;
    advance(slices, n);
    slices->is_finished = slices->next_row >= slices->rows;
    return OC_OK;
}

int64_t oci_slices_done(const oci_slices *slices)
{
    return slices->next_row;
}

int64_t oci_slices_rows(const oci_slices *slices)
{
    return slices->rows;
}

/* ---- making ---------------------------------------------------------------------------------- */

static oc_status allocate(oci_slices *slices, oc_error *err)
{
    /* As many as the message has nodes, which lie in memory already. */
    int64_t n = slices->parts.message.n_nodes;
    int64_t columns = n * (int64_t)sizeof(oci_slice_column);
    int64_t nodes = n * (int64_t)sizeof(oci_ipc_node);
    int64_t buffers = OCI_NODE_BUFFERS_MAX * n * (int64_t)sizeof(oci_ipc_buffer);
    int64_t variadic = n * (int64_t)sizeof(int64_t);
    int64_t discarded = slices->parts.message.n_buffers * (int64_t)sizeof(int64_t);
    int64_t children = n * (int64_t)sizeof(int32_t);
    if (n > INT32_MAX / 2) {
        OC_FAIL(err, OC_EUNSUPPORTED, "batch has %" PRId64 " columns, more than can be read", n);
    }
    slices->block_bytes = columns + nodes + buffers + variadic + discarded + children;
    OC_TRY(oci_mem_alloc(slices->mem, slices->block_bytes, &slices->block, err));
    memset(slices->block, 0, (size_t)slices->block_bytes);
    slices->columns = slices->block;
    slices->nodes = (oci_ipc_node *)(slices->columns + n);
    slices->buffers = (oci_ipc_buffer *)(slices->nodes + n);
    slices->variadic = (int64_t *)(slices->buffers + OCI_NODE_BUFFERS_MAX * n);
    slices->discarded = slices->variadic + n;
    slices->children = (int32_t *)(slices->discarded + slices->parts.message.n_buffers);
    return OC_OK;
}

/* What is taken from the message and the list of children so far. */
typedef struct tree_cursor {
    int32_t next_children; /* free place in slices->children */
    int64_t buffer;
    int64_t variadic;
} tree_cursor;

/* Adds the column of a field and those of its children. */
static void add_column(oci_slices *slices, const oci_field *field, bool is_forward,
                       tree_cursor *cursor)
{
    int32_t index = slices->n_columns++;
    oci_slice_column *column = &slices->columns[index];
    int32_t *children = slices->children + cursor->next_children;
    *column = (oci_slice_column){.field = field,
                                 .layout = oci_field_layout(field),
                                 .shape = oci_node_shape_of(field, OCI_IPC_V5),
                                 .children = children,
                                 .rows = slices->parts.nodes[index].length,
                                 .null_count = slices->parts.nodes[index].null_count,
                                 .first_buffer = cursor->buffer,
                                 .is_forward = is_forward,
                                 .next_value = -1};
    cursor->buffer += column->shape.n_buffers;
    cursor->next_children += field->n_children;
    if (column->shape.has_views) {
        column->n_variadic = slices->parts.variadic[cursor->variadic++];
        cursor->buffer += column->n_variadic;
    }
    bool jumps = column->layout == OCI_LAYOUT_LIST_VIEW32 ||
                 column->layout == OCI_LAYOUT_LIST_VIEW64 ||
                 column->layout == OCI_LAYOUT_DENSE_UNION;
    for (int32_t k = 0; k < field->n_children; k++) {
        children[k] = slices->n_columns;
        add_column(slices, &field->children[k], is_forward && !jumps, cursor);
    }
}

static oc_status prepare_columns(oci_slices *slices, oc_error *err)
{
    tree_cursor cursor = {.next_children = slices->schema->n_fields};
    for (int32_t i = 0; i < slices->schema->n_fields; i++) {
        slices->children[i] = slices->n_columns;
        add_column(slices, &slices->schema->fields[i], true, &cursor);
    }
    assert(slices->n_columns == slices->parts.message.n_nodes);
    for (int32_t i = 0; i < slices->n_columns; i++) {
        OC_TRY(check_column(slices, &slices->columns[i], err));
    }
    for (int32_t i = 0; i < slices->schema->n_fields; i++) {
        const oci_slice_column *column = &slices->columns[slices->children[i]];
        if (column->rows != slices->rows) {
            OC_FAIL(err, OC_EDATA, "column \"%.80s\" has %" PRId64 " rows, the batch has %" PRId64,
                    column->field->name, column->rows, slices->rows);
        }
        slices->row_bits = oci_min64(ROW_BITS_MAX, slices->row_bits + row_bits(slices, column));
    }
    return OC_OK;
}

oc_status oci_slices_create(const oci_env *env, oci_schema *schema, oci_ipc_decoder *decoder,
                            oci_parts *parts, const oci_body *body, oci_slices_flags flags,
                            oci_mem *mem, oci_slices **out, oc_error *err)
{
    assert((body->file != NULL || body->memory != NULL) && parts->message.codec == OCI_CODEC_NONE);
    void *made = NULL;
    oc_status status = oci_mem_alloc(mem, (int64_t)sizeof(oci_slices), &made, err);
    if (status != OC_OK) {
        oci_parts_deinit(parts);
        return status;
    }
    oci_slices *slices = made;
    memset(slices, 0, sizeof *slices);
    slices->env = env;
    slices->mem = mem;
    slices->schema = schema;
    slices->decoder = decoder;
    slices->parts = *parts;
    slices->body = *body;
    slices->discard = (flags & OCI_SLICES_DISCARD) != 0;
    slices->swap = (flags & OCI_SLICES_SWAP) != 0;
    slices->rows = parts->message.length;
    slices->bytes_target = oci_env_block_bytes(env);
    slices->rows_hint = INT64_MAX;
    *parts = (oci_parts){0};
    status = allocate(slices, err);
    if (status == OC_OK) {
        status = prepare_columns(slices, err);
    }
    if (status != OC_OK) {
        oci_slices_destroy(slices);
        return status;
    }
    *out = slices;
    return OC_OK;
}

void oci_slices_destroy(oci_slices *slices)
{
    if (slices == NULL) {
        return;
    }
    oci_mem *mem = slices->mem;
    oci_parts_deinit(&slices->parts);
    oci_mem_free(mem, slices->block, slices->block_bytes);
    oci_mem_free(mem, slices, (int64_t)sizeof *slices);
}
