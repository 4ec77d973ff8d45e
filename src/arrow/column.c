/* Looking at single values of a column.
 *
 * These are the calls for checks, tests and hash tables of small things; loops over whole columns
 * (gather, key encoding) have their own straight code per layout. Buffers may be unaligned, since
 * they can come from anywhere, so every load goes through memcpy, which compiles to a plain load.
 *
 * A dictionary column is looked through: its value is the one that the index stands for. */
#include <assert.h>
#include <string.h>

#include "arrow/batch.h"
#include "arrow/c_data.h"

#include "base/bits.h"
#include "base/hash.h"

const uint8_t oci_zeros[OCI_ZEROS_BYTES] __attribute__((aligned(64))) = {0};

static int32_t load_i32(const uint8_t *p)
{
    int32_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

static int64_t load_i64(const uint8_t *p)
{
    int64_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

int64_t oci_column_null_count(const oci_column *column)
{
    if (oci_field_layout(column->field) == OCI_LAYOUT_NULL) {
        return column->length;
    }
    if (column->validity == NULL) {
        return 0;
    }
    return column->null_count >= 0
               ? column->null_count
               : column->length - oci_bits_count(column->validity, column->offset, column->length);
}

int64_t oci_column_index_at(const oci_column *column, int64_t row)
{
    const uint8_t *p = column->values + (column->offset + row) * column->field->byte_width;
    switch (column->field->index_type) {
    case OCI_TYPE_INT8: return (int8_t)*p;
    case OCI_TYPE_UINT8: return *p;
    case OCI_TYPE_INT16: {
        int16_t value;
        memcpy(&value, p, sizeof value);
        return value;
    }
    case OCI_TYPE_UINT16: {
        uint16_t value;
        memcpy(&value, p, sizeof value);
        return value;
    }
    case OCI_TYPE_INT32: return load_i32(p);
    case OCI_TYPE_UINT32: return (int64_t)(uint32_t)load_i32(p);
    default: {
        /* int64 as it is; a uint64 beyond int64 would come out negative. */
        int64_t value = load_i64(p);
        return column->field->index_type == OCI_TYPE_UINT64 && value < 0 ? -1 : value;
    }
    }
}

static bool slot_is_null(const oci_column *column, int64_t row)
{
    return column->field->type == OCI_TYPE_NULL ||
           (column->validity != NULL && !oci_bit_get(column->validity, column->offset + row));
}

bool oci_column_is_null(const oci_column *column, int64_t row)
{
    assert(row >= 0 && row < column->length);
    if (slot_is_null(column, row)) {
        return true;
    }
    return column->dictionary != NULL &&
           oci_column_is_null(column->dictionary, oci_column_index_at(column, row));
}

const uint8_t *oci_column_bytes_at(const oci_column *column, int64_t row, int64_t *length)
{
    int64_t slot = column->offset + row;
    oci_layout layout = oci_field_layout(column->field);
    if (layout == OCI_LAYOUT_OFFSETS32) {
        int64_t start = load_i32(column->values + slot * 4);
        *length = load_i32(column->values + (slot + 1) * 4) - start;
        return column->bytes + start;
    }
    if (layout == OCI_LAYOUT_OFFSETS64) {
        int64_t start = load_i64(column->values + slot * 8);
        *length = load_i64(column->values + (slot + 1) * 8) - start;
        return column->bytes + start;
    }
    assert(layout == OCI_LAYOUT_VIEWS);
    const uint8_t *view = column->values + slot * 16;
    *length = load_i32(view);
    if (*length <= 12) {
        return view + 4;
    }
    return column->view_buffers[load_i32(view + 8)] + load_i32(view + 12);
}

/* ---- equality and hash ----------------------------------------------------------------------- */

/* Where the bytes of a value lie; `null` when there is none. Bits become one byte. */
typedef struct value_bytes {
    const uint8_t *bytes;
    int64_t size;
    uint8_t bit;
    bool null;
} value_bytes;

static void find_value(const oci_column *column, int64_t row, value_bytes *out)
{
    while (column->dictionary != NULL && !slot_is_null(column, row)) {
        row = oci_column_index_at(column, row);
        column = column->dictionary;
    }
    assert(row >= 0 && row < column->length);
    *out = (value_bytes){.null = slot_is_null(column, row)};
    if (out->null) {
        return;
    }
    switch (oci_field_layout(column->field)) {
    case OCI_LAYOUT_BITS:
        out->bit = oci_bit_get(column->values, column->offset + row);
        out->bytes = &out->bit;
        out->size = 1;
        break;
    case OCI_LAYOUT_FIXED:
        out->size = column->field->byte_width;
        out->bytes = column->values + (column->offset + row) * out->size;
        break;
    default: out->bytes = oci_column_bytes_at(column, row, &out->size); break;
    }
}

bool oci_value_equal(const oci_column *a, int64_t row_a, const oci_column *b, int64_t row_b)
{
    value_bytes value_a, value_b;
    find_value(a, row_a, &value_a);
    find_value(b, row_b, &value_b);
    if (value_a.null || value_b.null) {
        return value_a.null && value_b.null;
    }
    return value_a.size == value_b.size &&
           (value_a.size == 0 || memcmp(value_a.bytes, value_b.bytes, (size_t)value_a.size) == 0);
}

uint64_t oci_value_hash(const oci_column *column, int64_t row, uint64_t seed)
{
    value_bytes value;
    find_value(column, row, &value);
    if (value.null) {
        /* Any constant will do that is not the hash of a likely value: 2^64 / golden ratio. */
        return seed ^ UINT64_C(0x9E3779B97F4A7C15);
    }
    return oci_hash64(value.bytes, value.size, seed);
}
