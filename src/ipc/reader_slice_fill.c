/* Step 2 of a slice: reading what was planned into one slab.
 *
 *      file:  | validity | offsets .[a..b]. | bytes ..[o(a)..o(b)].. | validity | values .[a..b]. |
 *      slab:  | validity a..b, from bit 0 | offsets a..b, from 0 | bytes | validity | values |
 *
 * Whatever counts rows of a child or bytes (offsets of strings, lists, list views and unions, run
 * ends) is moved by where the range of the child begins, so that the slice begins at 0 everywhere.
 * Offsets between the two ends of a range may be wrong without harm to this file: they move by the
 * same distance and are found wrong by the decoder. */
#include "ipc/reader_slice.h"

#include <assert.h>
#include <string.h>

uint8_t *oci_slice_place(oci_slices *slices, oci_ipc_buffer *buffer, int64_t length, int64_t room)
{
    assert(length <= room && slices->slab_end + room <= slices->slab_bytes);
    uint8_t *at = slices->slab + slices->slab_end;
    *buffer = (oci_ipc_buffer){.offset = slices->slab_end, .length = length};
    memset(at + length, 0, (size_t)(room - length));
    slices->slab_end += room;
    return at;
}

/* The next buffer of the message of the slice. */
static oci_ipc_buffer *next_buffer(oci_slices *slices)
{
    return &slices->buffers[slices->n_buffers++];
}

/* ---- buffers --------------------------------------------------------------------------------- */

/* Validity of the slice, to *bits, NULL where the column has none. Where all rows are valid, the
 * message has none. */
static oc_status fill_validity(oci_slices *slices, oci_slice_column *column, oci_ipc_node *node,
                               const uint8_t **bits, oc_error *err)
{
    oci_ipc_buffer *buffer = next_buffer(slices);
    *buffer = (oci_ipc_buffer){.offset = slices->slab_end};
    *bits = NULL;
    if (!column->has_validity) {
        return OC_OK;
    }
    int64_t n = column->count;
    uint8_t *at = oci_slice_place(slices, buffer, oci_bytes_for_bits(n), oci_slice_bitmap_room(n));
    OC_TRY(oci_slice_read_bits(slices, column, 0, column->start, n, at, err));
    node->null_count = n - oci_bits_count(at, 0, n);
    if (node->null_count == 0) {
        buffer->length = 0;
    }
    if (column->start == column->counted_rows) {
        column->counted_rows += n;
        column->nulls += node->null_count;
    } else {
        column->counted_rows = -1;
    }
    *bits = at;
    return OC_OK;
}

static oc_status fill_bits(oci_slices *slices, const oci_slice_column *column, oc_error *err)
{
    int64_t n = column->count;
    uint8_t *at = oci_slice_place(slices, next_buffer(slices), oci_bytes_for_bits(n),
                                  oci_slice_bitmap_room(n));
    return oci_slice_read_bits(slices, column, 1, column->start, n, at, err);
}

/* `n` values of buffer `which` from the first row on. */
static oc_status fill_values(oci_slices *slices, const oci_slice_column *column, int which,
                             int64_t n, uint8_t **out, oc_error *err)
{
    int64_t size = n * (oci_slice_value_bits(column, column->shape.buffers[which]) / 8);
    *out = oci_slice_place(slices, next_buffer(slices), size, oci_round_up(size, 8));
    return oci_slice_read_values(slices, column, which, column->start, n, *out, err);
}

/* Subtracts modulo 2^32 or 2^64, so that offsets outside of their ends stay outside. */
static void rebase(uint8_t *values, int64_t n, int64_t width, int64_t base)
{
    if (width == 8) {
        for (int64_t i = 0; i < n; i++) {
            oci_store_le64(values + 8 * i, oci_load_le64(values + 8 * i) - (uint64_t)base);
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            oci_store_le32(values + 4 * i, oci_load_le32(values + 4 * i) - (uint32_t)base);
        }
    }
}

/* The offsets of strings and lists. Without rows there is one, which may be missing in the file. */
static oc_status fill_offsets(oci_slices *slices, const oci_slice_column *column, oc_error *err)
{
    int64_t width = oci_slice_offset_width(column);
    if (column->count == 0) {
        (void)oci_slice_place(slices, next_buffer(slices), 0, 8);
        return OC_OK;
    }
    uint8_t *offsets = NULL;
    OC_TRY(fill_values(slices, column, 1, column->count + 1, &offsets, err));
    rebase(offsets, column->count + 1, width, column->low);
    return OC_OK;
}

static oc_status fill_strings(oci_slices *slices, const oci_slice_column *column, oc_error *err)
{
    OC_TRY(fill_offsets(slices, column, err));
    int64_t size = column->high - column->low;
    uint8_t *bytes = oci_slice_place(slices, next_buffer(slices), size, oci_round_up(size, 8));
    return oci_slice_read_bytes(slices, oci_slice_buffer(slices, column, 2), column->low, bytes,
                                size, err);
}

/* ---- nested ---------------------------------------------------------------------------------- */

/* Empty lists and null ones point to the start. */
static oc_status fill_list_views(oci_slices *slices, const oci_slice_column *column,
                                 const uint8_t *bits, oc_error *err)
{
    int64_t width = oci_slice_offset_width(column);
    uint8_t *offsets = NULL, *sizes = NULL;
    OC_TRY(fill_values(slices, column, 1, column->count, &offsets, err));
    OC_TRY(fill_values(slices, column, 2, column->count, &sizes, err));
    rebase(offsets, column->count, width, column->high < 0 ? 0 : column->low);
    for (int64_t i = 0; i < column->count; i++) {
        bool is_null = bits != NULL && !oci_bit_get(bits, i);
        if (is_null || oci_slice_integer_at(sizes, width, i) == 0) {
            memset(offsets + i * width, 0, (size_t)width);
            memset(sizes + i * width, 0, (size_t)width);
        }
    }
    return OC_OK;
}

static oc_status fill_dense_union(oci_slices *slices, const oci_slice_column *column, oc_error *err)
{
    uint8_t *type_ids = NULL, *offsets = NULL;
    OC_TRY(fill_values(slices, column, 0, column->count, &type_ids, err));
    OC_TRY(fill_values(slices, column, 1, column->count, &offsets, err));
    for (int64_t i = 0; i < column->count; i++) {
        /* An id that is not one is the decoder's to find: the file may have changed. */
        int child = (int8_t)type_ids[i] < 0 ? -1 : column->field->union_ids->child_of[type_ids[i]];
        if (child >= 0) {
            rebase(offsets + 4 * i, 1, 4, oci_slice_child(slices, column, child)->start);
        }
    }
    return OC_OK;
}

/* Run ends, read as they are, are counted from the first row, and the last run is cut off. */
static void clip_runs(oci_slices *slices, const oci_slice_column *column,
                      const oci_slice_column *ends, const oci_ipc_buffer *buffer)
{
    uint8_t *values = slices->slab + buffer->offset;
    int32_t width = ends->field->byte_width;
    for (int64_t i = 0; i < ends->count; i++) {
        int64_t end = oci_slice_integer_at(values, width, i) - column->start;
        end = i == ends->count - 1 ? oci_min64(end, column->count) : end;
        switch (width) {
        case 2: oci_store_le16(values + 2 * i, (uint16_t)end); break;
        case 4: oci_store_le32(values + 4 * i, (uint32_t)end); break;
        default: oci_store_le64(values + 8 * i, (uint64_t)end); break;
        }
    }
}

/* ---- columns --------------------------------------------------------------------------------- */

static oc_status fill_views(oci_slices *slices, const oci_slice_column *column, const uint8_t *bits,
                            oc_error *err)
{
    int64_t *n_variadic = &slices->variadic[slices->n_variadic++];
    OC_TRY(oci_slice_fill_views(slices, column, bits, &slices->buffers[slices->n_buffers],
                                n_variadic, err));
    slices->n_buffers += 1 + *n_variadic;
    return OC_OK;
}

/* The buffers behind the validity. */
static oc_status fill_buffers(oci_slices *slices, const oci_slice_column *column,
                              const uint8_t *bits, oc_error *err)
{
    uint8_t *values = NULL;
    switch (column->layout) {
    case OCI_LAYOUT_BITS: return fill_bits(slices, column, err);
    case OCI_LAYOUT_FIXED:
    case OCI_LAYOUT_DICTIONARY: return fill_values(slices, column, 1, column->count, &values, err);
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64: return fill_strings(slices, column, err);
    case OCI_LAYOUT_VIEWS: return fill_views(slices, column, bits, err);
    case OCI_LAYOUT_LIST32:
    case OCI_LAYOUT_LIST64: return fill_offsets(slices, column, err);
    case OCI_LAYOUT_LIST_VIEW32:
    case OCI_LAYOUT_LIST_VIEW64: return fill_list_views(slices, column, bits, err);
    case OCI_LAYOUT_SPARSE_UNION:
        return fill_values(slices, column, 0, column->count, &values, err);
    case OCI_LAYOUT_DENSE_UNION: return fill_dense_union(slices, column, err);
    default: return OC_OK;
    }
}

/* One column; its children are the next ones. */
static oc_status fill_column(oci_slices *slices, oci_slice_column *column, oci_ipc_node *node,
                             oc_error *err)
{
    const uint8_t *bits = NULL;
    *node = (oci_ipc_node){.length = column->count};
    if (column->layout == OCI_LAYOUT_NULL) {
        node->null_count = column->count;
        return OC_OK;
    }
    if (column->shape.n_buffers > 0 && column->shape.buffers[0] == OCI_BUFFER_VALIDITY) {
        OC_TRY(fill_validity(slices, column, node, &bits, err));
    }
    return fill_buffers(slices, column, bits, err);
}

oc_status oci_slice_fill(oci_slices *slices, oc_error *err)
{
    slices->slab_end = 0;
    slices->n_buffers = 0;
    slices->n_variadic = 0;
    const oci_slice_column *runs = NULL; /* whose run ends come next */
    for (int32_t i = 0; i < slices->n_columns; i++) {
        oci_slice_column *column = &slices->columns[i];
        OC_TRY(fill_column(slices, column, &slices->nodes[i], err));
        if (runs != NULL) {
            clip_runs(slices, runs, column, &slices->buffers[slices->n_buffers - 1]);
        }
        runs = column->layout == OCI_LAYOUT_RUN_ENDS ? column : NULL;
    }
    return OC_OK;
}
