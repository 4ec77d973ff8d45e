/* Views of a slice: the bytes that they refer to lie anywhere in any number of buffers; the slice
 * gets one buffer with those that it needs.
 *
 *   views as read -> ranges (buffer, offset, length, row), checked -> sorted by place
 *     -> those that touch or overlap read as one, one behind the other -> views pointed to them
 *
 * Views of null slots become zeros. The list of ranges takes 24 bytes for each view that is not
 * inlined, while the buffer is filled. */
#include "ipc/reader_slice.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

/* Bytes that a view refers to. */
typedef struct view_range {
    int64_t row; /* which view it is of */
    int32_t buffer;
    int32_t offset;
    int32_t length;
} view_range;

/* ---- order ----------------------------------------------------------------------------------- */

static bool range_is_before(const view_range *a, const view_range *b)
{
    return a->buffer != b->buffer ? a->buffer < b->buffer : a->offset < b->offset;
}

static void sift_down(view_range *ranges, int64_t root, int64_t n)
{
    for (int64_t child = 2 * root + 1; child < n; child = 2 * root + 1) {
        if (child + 1 < n && range_is_before(&ranges[child], &ranges[child + 1])) {
            child++;
        }
        if (!range_is_before(&ranges[root], &ranges[child])) {
            return;
        }
        view_range swap = ranges[root];
        ranges[root] = ranges[child];
        ranges[child] = swap;
        root = child;
    }
}

/* Sorts by place. A heap sort, because qsort() may allocate; mostly the ranges are in order
 * already. */
static void sort_ranges(view_range *ranges, int64_t n)
{
    int64_t sorted = 1;
    while (sorted < n && !range_is_before(&ranges[sorted], &ranges[sorted - 1])) {
        sorted++;
    }
    if (sorted >= n) {
        return;
    }
    for (int64_t i = n / 2 - 1; i >= 0; i--) {
        sift_down(ranges, i, n);
    }
    for (int64_t end = n - 1; end > 0; end--) {
        view_range swap = ranges[0];
        ranges[0] = ranges[end];
        ranges[end] = swap;
        sift_down(ranges, 0, end);
    }
}

/* ---- ranges ---------------------------------------------------------------------------------- */

static oci_view view_at(const uint8_t *views, int64_t row)
{
    oci_view view;
    memcpy(&view, views + row * (int64_t)sizeof view, sizeof view);
    return view;
}

static bool is_inlined(const oci_view *view)
{
    return view->length >= 0 && view->length <= OCI_VIEW_INLINE_BYTES;
}

/* Zeroes the views of null slots and counts those that are not inlined. */
static int64_t clear_nulls(uint8_t *views, const uint8_t *bits, int64_t n)
{
    int64_t n_ranges = 0;
    for (int64_t row = 0; row < n; row++) {
        if (bits != NULL && !oci_bit_get(bits, row)) {
            memset(views + row * (int64_t)sizeof(oci_view), 0, sizeof(oci_view));
            continue;
        }
        oci_view view = view_at(views, row);
        n_ranges += !is_inlined(&view);
    }
    return n_ranges;
}

/* Lists what the views refer to, held against the buffers that they name. */
static oc_status collect_ranges(const oci_slices *slices, const oci_slice_column *column,
                                const uint8_t *views, view_range *ranges, oc_error *err)
{
    for (int64_t row = 0; row < column->count; row++) {
        oci_view view = view_at(views, row);
        if (is_inlined(&view)) {
            continue;
        }
        bool is_inside = view.length > 0 && view.ref.buffer >= 0 &&
                         view.ref.buffer < column->n_variadic && view.ref.offset >= 0;
        if (is_inside) {
            int64_t size = oci_slice_buffer(slices, column, 2 + view.ref.buffer)->length;
            is_inside = (int64_t)view.ref.offset + view.length <= size;
        }
        if (!is_inside) {
            OC_FAIL(err, OC_EDATA,
                    "column \"%.80s\", row %" PRId64 ": view of %" PRId32 " bytes at %" PRId32
                    " of buffer %" PRId32 " is outside of its buffer",
                    column->field->name, column->start + row, view.length, view.ref.offset,
                    view.ref.buffer);
        }
        *ranges++ = (view_range){row, view.ref.buffer, view.ref.offset, view.length};
    }
    return OC_OK;
}

/* Points the views of the ranges [0, n), which are merged in the file bytes from `start` on, to
 * `at` in the new buffer. */
static void point_views(uint8_t *views, const view_range *ranges, int64_t n, int64_t start,
                        int64_t at)
{
    for (int64_t i = 0; i < n; i++) {
        uint8_t *view = views + ranges[i].row * (int64_t)sizeof(oci_view);
        oci_store_le32(view + offsetof(oci_view, ref.buffer), 0);
        oci_store_le32(view + offsetof(oci_view, ref.offset),
                       (uint32_t)(at + ranges[i].offset - start));
    }
}

/* Offsets in the new buffer have 31 bits; and planning has counted the bytes, but the file may have
 * changed since. */
static oc_status check_end(const oci_slices *slices, const oci_slice_column *column, int64_t end,
                           oc_error *err)
{
    if (end > INT32_MAX) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "column \"%.80s\": the views of row %" PRId64 " refer to more than 2 GiB",
                column->field->name, slices->next_row);
    }
    if (end > oci_round_up(column->view_bytes, 8)) {
        OC_FAIL(err, OC_EDATA, "column \"%.80s\": its views change while they are read",
                column->field->name);
    }
    return OC_OK;
}

/* Reads what the sorted ranges cover, joining those that touch or overlap, one behind the other
 * to `to`. */
static oc_status read_ranges(oci_slices *slices, const oci_slice_column *column,
                             const view_range *ranges, int64_t n, uint8_t *views, uint8_t *to,
                             int64_t *size, oc_error *err)
{
    int64_t at = 0;
    for (int64_t i = 0; i < n;) {
        int64_t start = ranges[i].offset;
        int64_t end = start + ranges[i].length;
        int64_t next = i + 1;
        while (next < n && ranges[next].buffer == ranges[i].buffer && ranges[next].offset <= end) {
            end = oci_max64(end, (int64_t)ranges[next].offset + ranges[next].length);
            next++;
        }
        OC_TRY(check_end(slices, column, at + (end - start), err));
        OC_TRY(oci_slice_read_bytes(slices, oci_slice_buffer(slices, column, 2 + ranges[i].buffer),
                                    start, to + at, end - start, err));
        point_views(views, ranges + i, next - i, start, at);
        at += end - start;
        i = next;
    }
    *size = at;
    return OC_OK;
}

oc_status oci_slice_fill_views(oci_slices *slices, const oci_slice_column *column,
                               const uint8_t *bits, oci_ipc_buffer *buffers, int64_t *n_variadic,
                               oc_error *err)
{
    int64_t n = column->count;
    int64_t size = n * (int64_t)sizeof(oci_view);
    uint8_t *views = oci_slice_place(slices, &buffers[0], size, size);
    uint8_t *bytes = oci_slice_place(slices, &buffers[1], 0, oci_round_up(column->view_bytes, 8));
    *n_variadic = 0;
    OC_TRY(oci_slice_read_values(slices, column, 1, column->start, n, views, err));
    int64_t n_ranges = clear_nulls(views, bits, n);
    if (n_ranges == 0) {
        return OC_OK;
    }
    void *block = NULL;
    int64_t block_bytes = n_ranges * (int64_t)sizeof(view_range);
    OC_TRY(oci_mem_alloc(slices->mem, block_bytes, &block, err));
    view_range *ranges = block;
    oc_status status = collect_ranges(slices, column, views, ranges, err);
    if (status == OC_OK) {
        sort_ranges(ranges, n_ranges);
        status =
            read_ranges(slices, column, ranges, n_ranges, views, bytes, &buffers[1].length, err);
    }
    oci_mem_free(slices->mem, block, block_bytes);
    *n_variadic = 1;
    return status;
}
