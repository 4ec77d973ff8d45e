/* Step 1 of a slice: which rows of every column it has, and how many bytes they take.
 *
 *   struct, sparse union   the same rows of every child
 *   fixed-size list        list_size times as many
 *   strings, list, map     the offsets at both ends of the rows are read: two small reads, the
 *                          first known from the slice before; those in between are the decoder's
 *   list view              all offsets and sizes are read: from the least start to the largest end
 *   dense union            all type ids and offsets: the same for each child
 *   run-end encoded        from the run of the first row to that of the last
 *   views                  all views, to sum up what they refer to
 *
 * What has to be read as a whole is read in chunks of a few hundred rows: planning takes no memory.
 *
 * What is checked here is what steers our own reads: ends of ranges against what is there. Runs are
 * the exception: they are found by the ends of others, so those are held to ascend, from slice to
 * slice, and a start that is looked for is checked from both sides. Null slots of list views and
 * views may hold anything. */
#include "ipc/reader_slice.h"

#include <assert.h>
#include <string.h>

#include "ipc/byte_order.h"

/* Planning ends when a slice comes to be so many times what it may have: precise enough to guess
 * the next number of rows, and not much work in vain. */
#define TOO_MUCH 4

/* ---- reading --------------------------------------------------------------------------------- */

int64_t oci_slice_value_bits(const oci_slice_column *column, oci_buffer_kind kind)
{
    switch (kind) {
    case OCI_BUFFER_VALIDITY:
    case OCI_BUFFER_BITS: return 1;
    case OCI_BUFFER_FIXED: return 8 * (int64_t)column->field->byte_width;
    case OCI_BUFFER_INT32: return 32;
    case OCI_BUFFER_INT64: return 64;
    case OCI_BUFFER_TYPE_IDS: return 8;
    case OCI_BUFFER_VIEWS: return 8 * (int64_t)sizeof(oci_view);
    case OCI_BUFFER_BYTES: break;
    }
    return 0;
}

oc_status oci_slice_read_bytes(oci_slices *slices, const oci_ipc_buffer *buffer, int64_t offset,
                               void *to, int64_t size, oc_error *err)
{
    assert(offset >= 0 && size >= 0 && offset + size <= buffer->length);
    if (size == 0) {
        return OC_OK;
    }
    int64_t from = slices->body.offset + buffer->offset + offset;
    if (slices->body.memory != NULL) {
        memcpy(to, slices->body.memory + from, (size_t)size);
        return OC_OK;
    }
    return oci_pread_exact(slices->body.file, to, size, from, err);
}

oc_status oci_slice_read_values(oci_slices *slices, const oci_slice_column *column, int which,
                                int64_t row, int64_t n, void *to, oc_error *err)
{
    oci_buffer_kind kind = column->shape.buffers[which];
    int64_t width = oci_slice_value_bits(column, kind) / 8;
    OC_TRY(oci_slice_read_bytes(slices, oci_slice_buffer(slices, column, which), row * width, to,
                                n * width, err));
    if (slices->swap) {
        oci_swap_values(column->field, kind, to, n * width);
    }
    return OC_OK;
}

oc_status oci_slice_read_bits(oci_slices *slices, const oci_slice_column *column, int which,
                              int64_t row, int64_t n, uint8_t *to, oc_error *err)
{
    int shift = (int)(row & 7);
    int64_t size = oci_bytes_for_bits(shift + n);
    memset(to, 0, (size_t)oci_slice_bitmap_room(n));
    OC_TRY(oci_slice_read_bytes(slices, oci_slice_buffer(slices, column, which), row / 8, to, size,
                                err));
    if (shift > 0) {
        for (int64_t i = 0; i + 1 < size; i++) {
            to[i] = (uint8_t)(to[i] >> shift | to[i + 1] << (8 - shift));
        }
        to[size - 1] = (uint8_t)(to[size - 1] >> shift);
    }
    oci_bits_fill(to, n, oci_slice_bitmap_room(n) * 8 - n, false);
    return OC_OK;
}

oc_status oci_slice_read_integer(oci_slices *slices, const oci_slice_column *column, int which,
                                 int64_t row, int64_t *out, oc_error *err)
{
    uint8_t bytes[8] = {0};
    OC_TRY(oci_slice_read_values(slices, column, which, row, 1, bytes, err));
    *out = oci_slice_integer_at(bytes,
                                oci_slice_value_bits(column, column->shape.buffers[which]) / 8, 0);
    return OC_OK;
}

/* ---- common ---------------------------------------------------------------------------------- */

static oc_status plan_column(oci_slices *slices, oci_slice_column *column, int64_t start,
                             int64_t count, oc_error *err);

static bool is_too_much(const oci_slices *slices)
{
    return slices->planned_rows > 1 && slices->planned_bytes / TOO_MUCH > slices->bytes_target;
}

static oc_status add_bytes(oci_slices *slices, const oci_slice_column *column, int64_t bytes,
                           oc_error *err)
{
    if (bytes > INT64_MAX - 8 ||
        !oci_add64(slices->planned_bytes, oci_round_up(bytes, 8), &slices->planned_bytes)) {
        OC_FAIL(err, OC_EDATA, "column \"%.80s\": row %" PRId64 " is too long", column->field->name,
                slices->next_row);
    }
    return OC_OK;
}

/* No rows of a column, where it was left. */
static oc_status plan_nothing(oci_slices *slices, oci_slice_column *column, oc_error *err)
{
    return plan_column(slices, column, column->next_row, 0, err);
}

/* Bytes of the buffers of `count` rows whose size does not depend on values. */
static int64_t plain_bytes(const oci_slice_column *column)
{
    int64_t n = column->count;
    int64_t total = 0;
    bool has_end = column->layout == OCI_LAYOUT_OFFSETS32 ||
                   column->layout == OCI_LAYOUT_OFFSETS64 || column->layout == OCI_LAYOUT_LIST32 ||
                   column->layout == OCI_LAYOUT_LIST64;
    for (int32_t i = 0; i < column->shape.n_buffers; i++) {
        oci_buffer_kind kind = column->shape.buffers[i];
        if (kind == OCI_BUFFER_VALIDITY || kind == OCI_BUFFER_BITS) {
            bool is_there = kind == OCI_BUFFER_BITS || column->has_validity;
            total += is_there ? oci_slice_bitmap_room(n) : 0;
        } else {
            total += oci_round_up((n + has_end) * (oci_slice_value_bits(column, kind) / 8), 8);
        }
    }
    return total;
}

/* ---- offsets --------------------------------------------------------------------------------- */

/* What the offsets of the first row and behind the last say, held against `limit`. */
static oc_status find_ends(oci_slices *slices, oci_slice_column *column, int64_t limit,
                           const char *what, oc_error *err)
{
    if (column->start == column->next_row && column->next_value >= 0) {
        column->low = column->next_value;
    } else {
        OC_TRY(oci_slice_read_integer(slices, column, 1, column->start, &column->low, err));
    }
    int64_t end = column->start + column->count;
    OC_TRY(oci_slice_read_integer(slices, column, 1, end, &column->high, err));
    if (column->low < 0 || column->low > column->high || column->high > limit) {
        OC_FAIL(err, OC_EDATA,
                "column \"%.80s\": offsets %" PRId64 " and %" PRId64 " of rows %" PRId64
                " and %" PRId64 " do not fit %" PRId64 " %s",
                column->field->name, column->low, column->high, column->start, end, limit, what);
    }
    return OC_OK;
}

static oc_status plan_strings(oci_slices *slices, oci_slice_column *column, oc_error *err)
{
    if (column->count == 0) {
        column->low = column->high = 0;
        return OC_OK;
    }
    OC_TRY(find_ends(slices, column, oci_slice_buffer(slices, column, 2)->length, "bytes", err));
    return add_bytes(slices, column, column->high - column->low, err);
}

static oc_status plan_list(oci_slices *slices, oci_slice_column *column, oc_error *err)
{
    oci_slice_column *child = oci_slice_child(slices, column, 0);
    if (column->count == 0) {
        return plan_nothing(slices, child, err);
    }
    OC_TRY(find_ends(slices, column, child->rows, "rows of its values", err));
    return plan_column(slices, child, column->low, column->high - column->low, err);
}

static oc_status plan_fixed_list(oci_slices *slices, oci_slice_column *column, oc_error *err)
{
    int64_t size = column->field->list_size;
    int64_t start = 0, count = 0;
    if (!oci_mul64(column->start, size, &start) || !oci_mul64(column->count, size, &count)) {
        OC_FAIL(err, OC_EDATA, "column \"%.80s\" has more values than there can be",
                column->field->name);
    }
    return plan_column(slices, oci_slice_child(slices, column, 0), start, count, err);
}

static oc_status plan_same_rows(oci_slices *slices, const oci_slice_column *column, oc_error *err)
{
    for (int32_t k = 0; k < column->field->n_children && !is_too_much(slices); k++) {
        OC_TRY(plan_column(slices, oci_slice_child(slices, column, k), column->start, column->count,
                           err));
    }
    return OC_OK;
}

/* ---- list views ------------------------------------------------------------------------------ */

static bool is_valid(const oci_slices *slices, const oci_slice_column *column, int64_t i)
{
    return !column->has_validity || oci_bit_get(slices->chunk_bits, i);
}

static oc_status read_chunk_bits(oci_slices *slices, const oci_slice_column *column, int64_t row,
                                 int64_t n, oc_error *err)
{
    return column->has_validity
               ? oci_slice_read_bits(slices, column, 0, row, n, slices->chunk_bits, err)
               : OC_OK;
}

/* Widens [low, high) to the lists of rows [row, row + n). Empty lists and null ones refer to
 * nothing, wherever they point. */
static oc_status scan_list_views(oci_slices *slices, oci_slice_column *column, int64_t row,
                                 int64_t n, oc_error *err)
{
    int64_t width = oci_slice_offset_width(column);
    int64_t limit = oci_slice_child(slices, column, 0)->rows;
    OC_TRY(oci_slice_read_values(slices, column, 1, row, n, slices->chunk, err));
    OC_TRY(oci_slice_read_values(slices, column, 2, row, n, slices->chunk_more, err));
    OC_TRY(read_chunk_bits(slices, column, row, n, err));
    for (int64_t i = 0; i < n; i++) {
        int64_t offset = oci_slice_integer_at(slices->chunk, width, i);
        int64_t size = oci_slice_integer_at(slices->chunk_more, width, i);
        if (size == 0 || !is_valid(slices, column, i)) {
            continue;
        }
        if (offset < 0 || size < 0 || size > limit || offset > limit - size) {
            OC_FAIL(err, OC_EDATA,
                    "column \"%.80s\", row %" PRId64 ": list of %" PRId64 " values at %" PRId64
                    " is not inside of %" PRId64,
                    column->field->name, row + i, size, offset, limit);
        }
        column->low = oci_min64(column->low, offset);
        column->high = oci_max64(column->high, offset + size);
    }
    return OC_OK;
}

static oc_status plan_list_views(oci_slices *slices, oci_slice_column *column, oc_error *err)
{
    oci_slice_column *child = oci_slice_child(slices, column, 0);
    column->low = INT64_MAX;
    column->high = -1;
    for (int64_t i = 0; i < column->count; i += OCI_SLICE_CHUNK_ROWS) {
        int64_t n = oci_min64(OCI_SLICE_CHUNK_ROWS, column->count - i);
        OC_TRY(scan_list_views(slices, column, column->start + i, n, err));
    }
    return column->high < 0
               ? plan_nothing(slices, child, err)
               : plan_column(slices, child, column->low, column->high - column->low, err);
}

/* ---- dense unions ---------------------------------------------------------------------------- */

/* Widens the ranges of the children to what rows [row, row + n) refer to. */
static oc_status scan_union(oci_slices *slices, const oci_slice_column *column, int64_t row,
                            int64_t n, oc_error *err)
{
    const oci_union_ids *ids = column->field->union_ids;
    OC_TRY(oci_slice_read_values(slices, column, 0, row, n, slices->chunk_more, err));
    OC_TRY(oci_slice_read_values(slices, column, 1, row, n, slices->chunk, err));
    for (int64_t i = 0; i < n; i++) {
        int8_t id = (int8_t)slices->chunk_more[i];
        int64_t offset = oci_slice_integer_at(slices->chunk, 4, i);
        if (id < 0 || ids->child_of[id] < 0) {
            OC_FAIL(err, OC_EDATA,
                    "column \"%.80s\", row %" PRId64 ": type id %d is not one of the union",
                    column->field->name, row + i, id);
        }
        oci_slice_column *child = oci_slice_child(slices, column, ids->child_of[id]);
        if (offset < 0 || offset >= child->rows) {
            OC_FAIL(err, OC_EDATA,
                    "column \"%.80s\", row %" PRId64 ": value %" PRId64 " is not one of %" PRId64
                    " of child \"%.80s\"",
                    column->field->name, row + i, offset, child->rows, child->field->name);
        }
        child->low = oci_min64(child->low, offset);
        child->high = oci_max64(child->high, offset + 1);
    }
    return OC_OK;
}

static oc_status plan_dense_union(oci_slices *slices, const oci_slice_column *column, oc_error *err)
{
    for (int32_t k = 0; k < column->field->n_children; k++) {
        oci_slice_child(slices, column, k)->low = INT64_MAX;
        oci_slice_child(slices, column, k)->high = -1;
    }
    for (int64_t i = 0; i < column->count; i += OCI_SLICE_CHUNK_ROWS) {
        int64_t n = oci_min64(OCI_SLICE_CHUNK_ROWS, column->count - i);
        OC_TRY(scan_union(slices, column, column->start + i, n, err));
    }
    for (int32_t k = 0; k < column->field->n_children && !is_too_much(slices); k++) {
        oci_slice_column *child = oci_slice_child(slices, column, k);
        OC_TRY(child->high < 0
                   ? plan_nothing(slices, child, err)
                   : plan_column(slices, child, child->low, child->high - child->low, err));
    }
    return OC_OK;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* The first run that ends behind `row`, by halves; `n` when there is none. */
static oc_status search_run(oci_slices *slices, const oci_slice_column *ends, int64_t row,
                            int64_t *out, oc_error *err)
{
    int64_t low = 0, high = ends->rows;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        int64_t end = 0;
        OC_TRY(oci_slice_read_integer(slices, ends, 1, middle, &end, err));
        if (end > row) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    *out = low;
    return OC_OK;
}

static oc_status fail_runs(const oci_slice_column *column, int64_t run, int64_t end, int64_t before,
                           oc_error *err)
{
    OC_FAIL(err, OC_EDATA,
            "column \"%.80s\": run %" PRId64 " ends at %" PRId64 ", the run before at %" PRId64,
            column->field->name, run, end, before);
}

/* Where to begin, and what the run before ends at: behind the slice before, or anywhere. */
static oc_status begin_runs(oci_slices *slices, const oci_slice_column *column,
                            const oci_slice_column *ends, int64_t *run, int64_t *before,
                            oc_error *err)
{
    *run = 0;
    *before = 0;
    if (column->start == column->next_row && column->next_value > 0) {
        *run = column->next_value - 1; /* the last run may go on */
    } else if (column->start > 0) {
        OC_TRY(search_run(slices, ends, column->start, run, err));
    }
    if (*run > 0) {
        OC_TRY(oci_slice_read_integer(slices, ends, 1, *run - 1, before, err));
        if (*before > column->start) {
            return fail_runs(column, *run, column->start, *before, err);
        }
    }
    return OC_OK;
}

/* Reads run ends from `run` on, which follows one that ends at `before`, until the rows are covered;
 * low and high get the runs. */
static oc_status scan_runs(oci_slices *slices, oci_slice_column *column,
                           const oci_slice_column *ends, int64_t run, int64_t before, oc_error *err)
{
    int64_t width = ends->field->byte_width;
    int64_t last_row = column->start + column->count;
    column->low = -1;
    while (run < ends->rows) {
        int64_t n = oci_min64(OCI_SLICE_CHUNK_ROWS, ends->rows - run);
        OC_TRY(oci_slice_read_values(slices, ends, 1, run, n, slices->chunk, err));
        for (int64_t i = 0; i < n; i++, run++) {
            int64_t end = oci_slice_integer_at(slices->chunk, width, i);
            if (end <= before) {
                return fail_runs(column, run, end, before, err);
            }
            before = end;
            if (column->low < 0 && end > column->start) {
                column->low = run;
            }
            if (end >= last_row) {
                column->high = run + 1;
                return OC_OK;
            }
        }
        if (column->low >= 0 && slices->planned_rows > 1 &&
            (run - column->low) * width / TOO_MUCH > slices->bytes_target) {
            column->high = run; /* too many rows, as plan_column() will see */
            return OC_OK;
        }
    }
    OC_FAIL(err, OC_EDATA,
            "column \"%.80s\": its %" PRId64 " runs end at row %" PRId64 ", %" PRId64 " are needed",
            column->field->name, ends->rows, before, last_row);
}

static oc_status plan_runs(oci_slices *slices, oci_slice_column *column, oc_error *err)
{
    oci_slice_column *ends = oci_slice_child(slices, column, 0);
    oci_slice_column *values = oci_slice_child(slices, column, 1);
    if (column->count == 0) {
        OC_TRY(plan_nothing(slices, ends, err));
        return plan_nothing(slices, values, err);
    }
    int64_t run = 0, before = 0;
    OC_TRY(begin_runs(slices, column, ends, &run, &before, err));
    OC_TRY(scan_runs(slices, column, ends, run, before, err));
    OC_TRY(plan_column(slices, ends, column->low, column->high - column->low, err));
    return is_too_much(slices)
               ? OC_OK
               : plan_column(slices, values, column->low, column->high - column->low, err);
}

/* ---- views ----------------------------------------------------------------------------------- */

/* Sums up what the views refer to, counting what is referred to twice twice: an upper bound. */
static oc_status plan_views(oci_slices *slices, oci_slice_column *column, oc_error *err)
{
    int64_t total = 0;
    for (int64_t done = 0; done < column->count; done += OCI_SLICE_CHUNK_ROWS) {
        int64_t row = column->start + done;
        int64_t n = oci_min64(OCI_SLICE_CHUNK_ROWS, column->count - done);
        OC_TRY(oci_slice_read_values(slices, column, 1, row, n, slices->chunk, err));
        OC_TRY(read_chunk_bits(slices, column, row, n, err));
        for (int64_t i = 0; i < n; i++) {
            int64_t length = (int32_t)oci_load_le32(slices->chunk + i * (int64_t)sizeof(oci_view));
            if (length > OCI_VIEW_INLINE_BYTES && is_valid(slices, column, i)) {
                total += length;
            }
        }
    }
    column->view_bytes = total;
    return add_bytes(slices, column, total, err);
}

/* ---- all together ---------------------------------------------------------------------------- */

static oc_status plan_column(oci_slices *slices, oci_slice_column *column, int64_t start,
                             int64_t count, oc_error *err)
{
    assert(start >= 0 && count >= 0);
    if (count > column->rows || start > column->rows - count) {
        OC_FAIL(err, OC_EDATA,
                "column \"%.80s\" has %" PRId64 " values, but rows up to %" PRId64 " need more",
                column->field->name, column->rows, slices->next_row + slices->planned_rows);
    }
    column->start = start;
    column->count = count;
    OC_TRY(add_bytes(slices, column, plain_bytes(column), err));
    if (is_too_much(slices)) {
        return OC_OK;
    }
    switch (column->layout) {
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64: return plan_strings(slices, column, err);
    case OCI_LAYOUT_VIEWS: return plan_views(slices, column, err);
    case OCI_LAYOUT_LIST32:
    case OCI_LAYOUT_LIST64: return plan_list(slices, column, err);
    case OCI_LAYOUT_LIST_VIEW32:
    case OCI_LAYOUT_LIST_VIEW64: return plan_list_views(slices, column, err);
    case OCI_LAYOUT_FIXED_LIST: return plan_fixed_list(slices, column, err);
    case OCI_LAYOUT_STRUCT:
    case OCI_LAYOUT_SPARSE_UNION: return plan_same_rows(slices, column, err);
    case OCI_LAYOUT_DENSE_UNION: return plan_dense_union(slices, column, err);
    case OCI_LAYOUT_RUN_ENDS: return plan_runs(slices, column, err);
    default: return OC_OK;
    }
}

oc_status oci_slice_plan(oci_slices *slices, int64_t n, oc_error *err)
{
    slices->planned_rows = n;
    slices->planned_bytes = 0;
    for (int32_t i = 0; i < slices->schema->n_fields && !is_too_much(slices); i++) {
        OC_TRY(
            plan_column(slices, &slices->columns[slices->children[i]], slices->next_row, n, err));
    }
    return OC_OK;
}
