/* See column_range.h. Offsets may lie unaligned, so they are loaded and stored byte by byte, which
 * compiles to plain moves. */
#include "arrow/column_range.h"

#include <assert.h>

#include "base/bits.h"

static int64_t load(const uint8_t *at, int width)
{
    switch (width) {
    case 2: return (int16_t)oci_load_le16(at);
    case 4: return (int32_t)oci_load_le32(at);
    default: return (int64_t)oci_load_le64(at);
    }
}

static void store(uint8_t *at, int width, int64_t value)
{
    switch (width) {
    case 2: oci_store_le16(at, (uint16_t)value); break;
    case 4: oci_store_le32(at, (uint32_t)value); break;
    default: oci_store_le64(at, (uint64_t)value); break;
    }
}

/* Of offsets and sizes. */
static int width_of(const oci_column *column)
{
    switch (oci_field_layout(column->field)) {
    case OCI_LAYOUT_OFFSETS64:
    case OCI_LAYOUT_LIST64:
    case OCI_LAYOUT_LIST_VIEW64: return 8;
    default: return 4;
    }
}

static bool is_valid(const oci_column *column, int64_t row)
{
    return column->validity == NULL || oci_bit_get(column->validity, column->offset + row);
}

/* ---- which rows ------------------------------------------------------------------------------ */

/* From the least start to the largest end. */
static void widen(oci_row_range *range, bool *any, int64_t start, int64_t length)
{
    int64_t end = start + length;
    if (!*any) {
        *range = (oci_row_range){start, length};
        *any = true;
        return;
    }
    int64_t range_end = oci_max64(end, range->start + range->length);
    range->start = oci_min64(range->start, start);
    range->length = range_end - range->start;
}

static oci_row_range list_view_range(const oci_column *column)
{
    oci_row_range range = {0};
    bool any = false;
    for (int64_t row = 0; row < column->length; row++) {
        int64_t start = 0;
        int64_t length = 0;
        if (is_valid(column, row)) {
            oci_column_list_at(column, row, &start, &length);
            if (length > 0) {
                widen(&range, &any, start, length);
            }
        }
    }
    return range;
}

static oci_row_range dense_union_range(const oci_column *column, int32_t i)
{
    oci_row_range range = {0};
    bool any = false;
    int8_t id = column->field->union_ids->of_child[i];
    const uint8_t *ids = column->values + column->offset;
    const uint8_t *offsets = column->child_offsets + 4 * column->offset;
    for (int64_t row = 0; row < column->length; row++) {
        if ((int8_t)ids[row] == id) {
            widen(&range, &any, load(offsets + 4 * row, 4), 1);
        }
    }
    return range;
}

/* From the first offset to the last. */
static oci_row_range offsets_range(const oci_column *column)
{
    oci_row_range range = {0};
    if (column->length > 0) {
        int width = width_of(column);
        const uint8_t *offsets = column->values + width * column->offset;
        range.start = load(offsets, width);
        range.length = load(offsets + width * column->length, width) - range.start;
    }
    return range;
}

static oci_row_range run_range(const oci_column *column)
{
    oci_row_range range = {0};
    if (column->length > 0) {
        range.start = oci_column_run_at(column, 0);
        range.length = oci_column_run_at(column, column->length - 1) - range.start + 1;
    }
    return range;
}

oci_row_range oci_column_child_range(const oci_column *column, int32_t i)
{
    int64_t list_size = column->field->list_size;
    switch (oci_field_layout(column->field)) {
    case OCI_LAYOUT_LIST32:
    case OCI_LAYOUT_LIST64: return offsets_range(column);
    case OCI_LAYOUT_LIST_VIEW32:
    case OCI_LAYOUT_LIST_VIEW64: return list_view_range(column);
    case OCI_LAYOUT_FIXED_LIST:
        return (oci_row_range){column->offset * list_size, column->length * list_size};
    case OCI_LAYOUT_DENSE_UNION: return dense_union_range(column, i);
    case OCI_LAYOUT_RUN_ENDS: return run_range(column);
    default: return (oci_row_range){column->offset, column->length};
    }
}

oci_row_range oci_column_bytes_range(const oci_column *column)
{
    return offsets_range(column);
}

oci_column oci_column_child_view(const oci_column *column, int32_t i, oci_row_range range)
{
    oci_column child = column->children[i];
    assert(range.start >= 0 && range.length >= 0 && range.start <= child.length - range.length);
    if (range.start == 0 && range.length == child.length) {
        return child;
    }
    child.offset += range.start;
    child.length = range.length;
    if (oci_field_layout(child.field) == OCI_LAYOUT_NULL) {
        child.null_count = range.length;
    } else {
        /* No nulls in the whole means none in a part; any other count must be taken anew. */
        child.null_count = child.null_count == 0 || child.validity == NULL ? 0 : -1;
    }
    return child;
}

/* ---- offsets --------------------------------------------------------------------------------- */

void oci_write_list_offsets(const oci_column *column, oci_row_range range, int64_t base,
                            uint8_t *to)
{
    int width = width_of(column);
    const uint8_t *offsets = column->values + width * column->offset;
    int64_t move = base - range.start;
    if (column->length == 0) {
        store(to, width, base); /* there may be no offsets at all */
        return;
    }
    for (int64_t i = 0; i <= column->length; i++) {
        store(to + width * i, width, load(offsets + width * i, width) + move);
    }
}

void oci_write_list_view_offsets(const oci_column *column, oci_row_range range, int64_t base,
                                 uint8_t *to)
{
    int width = width_of(column);
    for (int64_t row = 0; row < column->length; row++) {
        int64_t start = 0;
        int64_t length = 0;
        if (is_valid(column, row)) {
            oci_column_list_at(column, row, &start, &length);
        }
        store(to + width * row, width, length > 0 ? start - range.start + base : 0);
    }
}

void oci_write_list_view_sizes(const oci_column *column, uint8_t *to)
{
    int width = width_of(column);
    for (int64_t row = 0; row < column->length; row++) {
        int64_t start = 0;
        int64_t length = 0;
        if (is_valid(column, row)) {
            oci_column_list_at(column, row, &start, &length);
        }
        store(to + width * row, width, length);
    }
}

void oci_write_union_offsets(const oci_column *column, int32_t i, oci_row_range range, int64_t base,
                             uint8_t *to)
{
    int8_t id = column->field->union_ids->of_child[i];
    const uint8_t *ids = column->values + column->offset;
    const uint8_t *offsets = column->child_offsets + 4 * column->offset;
    int64_t move = base - range.start;
    for (int64_t row = 0; row < column->length; row++) {
        if ((int8_t)ids[row] == id) {
            store(to + 4 * row, 4, load(offsets + 4 * row, 4) + move);
        }
    }
}

void oci_write_run_ends(const oci_column *column, oci_row_range range, int64_t base, uint8_t *to)
{
    const oci_column *run_ends = &column->children[0];
    int width = run_ends->field->byte_width;
    for (int64_t i = 0; i < range.length; i++) {
        int64_t end = oci_column_run_end(run_ends, range.start + i) - column->offset;
        store(to + width * i, width, base + oci_min64(end, column->length));
    }
}
