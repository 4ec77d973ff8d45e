/* Looking at single values of a column.
 *
 * These are the calls for checks, tests and hash tables of small things; loops over whole columns
 * (gather, key encoding) have their own straight code per layout. Buffers may be unaligned, since
 * they can come from anywhere, so every load goes through memcpy, which compiles to a plain load.
 *
 * Encodings are looked through before anything is compared: the value of a dictionary column is the
 * one that the index stands for, the value of a run-end encoded column the one of the run. What is
 * left is a null, bytes, or a value made of others, for which the calls recurse: once per level of
 * the type, which import limits to OCI_NESTING_MAX. Nothing is allocated. */
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
        return 0; /* also unions and run-end encoded columns, which have none */
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

/* ---- where values lie ------------------------------------------------------------------------ */

void oci_column_list_at(const oci_column *column, int64_t row, int64_t *start, int64_t *length)
{
    int64_t slot = column->offset + row;
    switch (oci_field_layout(column->field)) {
    case OCI_LAYOUT_LIST32:
        *start = load_i32(column->values + slot * 4);
        *length = load_i32(column->values + (slot + 1) * 4) - *start;
        break;
    case OCI_LAYOUT_LIST64:
        *start = load_i64(column->values + slot * 8);
        *length = load_i64(column->values + (slot + 1) * 8) - *start;
        break;
    case OCI_LAYOUT_LIST_VIEW32:
        *start = load_i32(column->values + slot * 4);
        *length = load_i32(column->sizes + slot * 4);
        break;
    case OCI_LAYOUT_LIST_VIEW64:
        *start = load_i64(column->values + slot * 8);
        *length = load_i64(column->sizes + slot * 8);
        break;
    default:
        assert(oci_field_layout(column->field) == OCI_LAYOUT_FIXED_LIST);
        *start = slot * column->field->list_size;
        *length = column->field->list_size;
        break;
    }
}

int32_t oci_column_union_at(const oci_column *column, int64_t row, int64_t *child_row)
{
    int64_t slot = column->offset + row;
    int8_t id = (int8_t)column->values[slot];
    assert(id >= 0 && column->field->union_ids->child_of[id] >= 0);
    *child_row = oci_field_layout(column->field) == OCI_LAYOUT_DENSE_UNION
                     ? load_i32(column->child_offsets + slot * 4)
                     : slot;
    return column->field->union_ids->child_of[id];
}

int64_t oci_column_run_end(const oci_column *run_ends, int64_t i)
{
    int64_t slot = run_ends->offset + i;
    switch (run_ends->field->byte_width) {
    case 2: return (int16_t)oci_load_le16(run_ends->values + slot * 2);
    case 4: return load_i32(run_ends->values + slot * 4);
    default: return load_i64(run_ends->values + slot * 8);
    }
}

int64_t oci_column_run_at(const oci_column *column, int64_t row)
{
    const oci_column *run_ends = &column->children[0];
    int64_t slot = column->offset + row;
    int64_t low = 0, high = run_ends->length - 1; /* the last run ends behind every row */
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (oci_column_run_end(run_ends, middle) > slot) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* One step from a row to the value that it stands for; false at the value itself. */
static bool look_through(const oci_column **column, int64_t *row)
{
    if ((*column)->dictionary != NULL) {
        if (slot_is_null(*column, *row)) {
            return false;
        }
        *row = oci_column_index_at(*column, *row);
        *column = (*column)->dictionary;
    } else if ((*column)->field->type == OCI_TYPE_RUN_END_ENCODED) {
        *row = oci_column_run_at(*column, *row);
        *column = &(*column)->children[1];
    } else {
        return false;
    }
    assert(*row >= 0 && *row < (*column)->length);
    return true;
}

bool oci_column_is_null(const oci_column *column, int64_t row)
{
    assert(row >= 0 && row < column->length);
    for (;;) {
        while (look_through(&column, &row)) {
        }
        if (column->field->union_ids == NULL) {
            return slot_is_null(column, row);
        }
        column = &column->children[oci_column_union_at(column, row, &row)];
    }
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

/* Where the bytes of a value lie that is not null and has no children. Bits become one byte. */
typedef struct value_bytes {
    const uint8_t *bytes;
    int64_t size;
    uint8_t bit;
} value_bytes;

static void find_bytes(const oci_column *column, int64_t row, value_bytes *out)
{
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

static bool lists_equal(const oci_column *a, int64_t row_a, const oci_column *b, int64_t row_b)
{
    int64_t start_a, length_a, start_b, length_b;
    oci_column_list_at(a, row_a, &start_a, &length_a);
    oci_column_list_at(b, row_b, &start_b, &length_b);
    if (length_a != length_b) {
        return false;
    }
    for (int64_t i = 0; i < length_a; i++) {
        if (!oci_value_equal(&a->children[0], start_a + i, &b->children[0], start_b + i)) {
            return false;
        }
    }
    return true;
}

static bool structs_equal(const oci_column *a, int64_t row_a, const oci_column *b, int64_t row_b)
{
    for (int32_t i = 0; i < a->field->n_children; i++) {
        if (!oci_value_equal(&a->children[i], a->offset + row_a, &b->children[i],
                             b->offset + row_b)) {
            return false;
        }
    }
    return true;
}

static bool unions_equal(const oci_column *a, int64_t row_a, const oci_column *b, int64_t row_b)
{
    int32_t child_a = oci_column_union_at(a, row_a, &row_a);
    int32_t child_b = oci_column_union_at(b, row_b, &row_b);
    return child_a == child_b &&
           oci_value_equal(&a->children[child_a], row_a, &b->children[child_b], row_b);
}

static bool bytes_equal(const oci_column *a, int64_t row_a, const oci_column *b, int64_t row_b)
{
    value_bytes value_a, value_b;
    find_bytes(a, row_a, &value_a);
    find_bytes(b, row_b, &value_b);
    return value_a.size == value_b.size &&
           (value_a.size == 0 || memcmp(value_a.bytes, value_b.bytes, (size_t)value_a.size) == 0);
}

bool oci_value_equal(const oci_column *a, int64_t row_a, const oci_column *b, int64_t row_b)
{
    while (look_through(&a, &row_a)) {
    }
    while (look_through(&b, &row_b)) {
    }
    bool null_a = slot_is_null(a, row_a), null_b = slot_is_null(b, row_b);
    if (null_a || null_b) {
        return null_a && null_b;
    }
    switch (oci_field_layout(a->field)) {
    case OCI_LAYOUT_LIST32:
    case OCI_LAYOUT_LIST64:
    case OCI_LAYOUT_LIST_VIEW32:
    case OCI_LAYOUT_LIST_VIEW64:
    case OCI_LAYOUT_FIXED_LIST: return lists_equal(a, row_a, b, row_b);
    case OCI_LAYOUT_STRUCT: return structs_equal(a, row_a, b, row_b);
    case OCI_LAYOUT_SPARSE_UNION:
    case OCI_LAYOUT_DENSE_UNION: return unions_equal(a, row_a, b, row_b);
    default: return bytes_equal(a, row_a, b, row_b);
    }
}

static uint64_t list_hash(const oci_column *column, int64_t row, uint64_t seed)
{
    int64_t start, length;
    oci_column_list_at(column, row, &start, &length);
    uint64_t hash = oci_hash64(&length, sizeof length, seed);
    for (int64_t i = 0; i < length; i++) {
        hash = oci_value_hash(&column->children[0], start + i, hash);
    }
    return hash;
}

static uint64_t struct_hash(const oci_column *column, int64_t row, uint64_t seed)
{
    uint64_t hash = oci_hash64(NULL, 0, seed);
    for (int32_t i = 0; i < column->field->n_children; i++) {
        hash = oci_value_hash(&column->children[i], column->offset + row, hash);
    }
    return hash;
}

static uint64_t bytes_hash(const oci_column *column, int64_t row, uint64_t seed)
{
    value_bytes value;
    find_bytes(column, row, &value);
    return oci_hash64(value.bytes, value.size, seed);
}

uint64_t oci_value_hash(const oci_column *column, int64_t row, uint64_t seed)
{
    while (look_through(&column, &row)) {
    }
    if (slot_is_null(column, row)) {
        /* Multiplied, so that two nulls in one value do not cancel each other out. */
        return (seed ^ UINT64_C(0x9E3779B97F4A7C15)) * UINT64_C(0x9FB21C651E98DF25);
    }
    switch (oci_field_layout(column->field)) {
    case OCI_LAYOUT_LIST32:
    case OCI_LAYOUT_LIST64:
    case OCI_LAYOUT_LIST_VIEW32:
    case OCI_LAYOUT_LIST_VIEW64:
    case OCI_LAYOUT_FIXED_LIST: return list_hash(column, row, seed);
    case OCI_LAYOUT_STRUCT: return struct_hash(column, row, seed);
    case OCI_LAYOUT_SPARSE_UNION:
    case OCI_LAYOUT_DENSE_UNION: {
        int32_t child = oci_column_union_at(column, row, &row);
        return oci_value_hash(&column->children[child], row,
                              oci_hash64(&child, sizeof child, seed));
    }
    default: return bytes_hash(column, row, seed);
    }
}
