#include "support/order_reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

__extension__ typedef __int128 int128;

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* ---- numbers --------------------------------------------------------------------------------- */

static double decode_float16(uint16_t bits)
{
    int exponent = (bits >> 10) & 31;
    double fraction = (bits & 1023) / 1024.0;
    double magnitude = exponent == 0    ? ldexp(fraction, -14)
                       : exponent == 31 ? (fraction == 0 ? (double)INFINITY : (double)NAN)
                                        : ldexp(1 + fraction, exponent - 15);
    return bits >> 15 ? -magnitude : magnitude;
}

static double load_float(oci_type type, const uint8_t *p)
{
    uint16_t half;
    float single;
    double value;
    switch (type) {
    case OCI_TYPE_FLOAT16: memcpy(&half, p, sizeof half); return decode_float16(half);
    case OCI_TYPE_FLOAT32: memcpy(&single, p, sizeof single); return (double)single;
    default: memcpy(&value, p, sizeof value); return value;
    }
}

static int compare_floats(double a, double b)
{
    if (isnan(a) || isnan(b)) {
        return (isnan(a) != 0) - (isnan(b) != 0);
    }
    return COMPARE(a, b);
}

static int compare_unsigned(const uint8_t *a, const uint8_t *b, int64_t width)
{
    for (int64_t i = width - 1; i >= 0; i--) {
        if (a[i] != b[i]) {
            return COMPARE(a[i], b[i]);
        }
    }
    return 0;
}

/* Two's complement of any width: the sign first, then bytes from the top. */
static int compare_signed(const uint8_t *a, const uint8_t *b, int64_t width)
{
    int sign_a = (int8_t)a[width - 1] < 0;
    int sign_b = (int8_t)b[width - 1] < 0;
    return sign_a != sign_b ? sign_b - sign_a : compare_unsigned(a, b, width);
}

static int128 interval_length(oci_type type, const uint8_t *p)
{
    int32_t first = (int32_t)oci_load_le32(p);
    if (type == OCI_TYPE_INTERVAL_MONTHS) {
        return first;
    }
    int32_t second = (int32_t)oci_load_le32(p + 4);
    if (type == OCI_TYPE_INTERVAL_DAY_TIME) {
        return (int128)first * 86400000 + second;
    }
    return ((int128)first * 30 + second) * 86400 * 1000000000 + (int64_t)oci_load_le64(p + 8);
}

static int compare_fixed(oci_type type, const uint8_t *p, const uint8_t *q, int64_t width)
{
    switch (type) {
    case OCI_TYPE_UINT8:
    case OCI_TYPE_UINT16:
    case OCI_TYPE_UINT32:
    case OCI_TYPE_UINT64: return compare_unsigned(p, q, width);
    case OCI_TYPE_FLOAT16:
    case OCI_TYPE_FLOAT32:
    case OCI_TYPE_FLOAT64: return compare_floats(load_float(type, p), load_float(type, q));
    case OCI_TYPE_INTERVAL_MONTHS:
    case OCI_TYPE_INTERVAL_DAY_TIME:
    case OCI_TYPE_INTERVAL_MONTH_DAY_NANO:
        return COMPARE(interval_length(type, p), interval_length(type, q));
    case OCI_TYPE_FIXED_BINARY: return width == 0 ? 0 : memcmp(p, q, (size_t)width);
    default: return compare_signed(p, q, width);
    }
}

/* ---- strings, lists, structs ----------------------------------------------------------------- */

static int compare_bytes(const oci_column *a, int64_t row_a, const oci_column *b, int64_t row_b)
{
    int64_t length_a;
    int64_t length_b;
    const uint8_t *bytes_a = oci_column_bytes_at(a, row_a, &length_a);
    const uint8_t *bytes_b = oci_column_bytes_at(b, row_b, &length_b);
    int64_t common = oci_min64(length_a, length_b);
    int order = common == 0 ? 0 : memcmp(bytes_a, bytes_b, (size_t)common);
    return order != 0 ? order : COMPARE(length_a, length_b);
}

static int compare_lists(const oci_column *a, int64_t row_a, const oci_column *b, int64_t row_b)
{
    int64_t start_a, length_a, start_b, length_b;
    oci_column_list_at(a, row_a, &start_a, &length_a);
    oci_column_list_at(b, row_b, &start_b, &length_b);
    for (int64_t i = 0; i < length_a && i < length_b; i++) {
        int order = order_of_values(&a->children[0], start_a + i, &b->children[0], start_b + i);
        if (order != 0) {
            return order;
        }
    }
    return COMPARE(length_a, length_b);
}

static int compare_structs(const oci_column *a, int64_t row_a, const oci_column *b, int64_t row_b)
{
    for (int32_t i = 0; i < a->field->n_children; i++) {
        int order =
            order_of_values(&a->children[i], a->offset + row_a, &b->children[i], b->offset + row_b);
        if (order != 0) {
            return order;
        }
    }
    return 0;
}

/* ---- any value ------------------------------------------------------------------------------- */

/* To the value itself; the row is known not to be null. */
static void look_through(const oci_column **column, int64_t *row)
{
    for (;;) {
        if ((*column)->field->type == OCI_TYPE_DICTIONARY) {
            *row = oci_column_index_at(*column, *row);
            *column = (*column)->dictionary;
        } else if ((*column)->field->type == OCI_TYPE_RUN_END_ENCODED) {
            const oci_column *run_ends = &(*column)->children[0];
            int64_t run = 0;
            while (oci_column_run_end(run_ends, run) <= (*column)->offset + *row) {
                run++;
            }
            *row = run;
            *column = &(*column)->children[1];
        } else {
            return;
        }
    }
}

static const uint8_t *fixed_at(const oci_column *column, int64_t row)
{
    int64_t width = column->field->byte_width;
    return width == 0 ? NULL : column->values + (column->offset + row) * width;
}

int order_of_values(const oci_column *a, int64_t row_a, const oci_column *b, int64_t row_b)
{
    int null_a = oci_column_is_null(a, row_a);
    int null_b = oci_column_is_null(b, row_b);
    if (null_a || null_b) {
        return null_a - null_b;
    }
    look_through(&a, &row_a);
    look_through(&b, &row_b);
    switch (oci_field_layout(a->field)) {
    case OCI_LAYOUT_BITS:
        return (int)oci_bit_get(a->values, a->offset + row_a) -
               (int)oci_bit_get(b->values, b->offset + row_b);
    case OCI_LAYOUT_FIXED:
        return compare_fixed(a->field->type, fixed_at(a, row_a), fixed_at(b, row_b),
                             a->field->byte_width);
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64:
    case OCI_LAYOUT_VIEWS: return compare_bytes(a, row_a, b, row_b);
    case OCI_LAYOUT_LIST32:
    case OCI_LAYOUT_LIST64:
    case OCI_LAYOUT_LIST_VIEW32:
    case OCI_LAYOUT_LIST_VIEW64:
    case OCI_LAYOUT_FIXED_LIST: return compare_lists(a, row_a, b, row_b);
    case OCI_LAYOUT_STRUCT: return compare_structs(a, row_a, b, row_b);
    default: abort(); /* there is no order to check */
    }
}

int order_of_rows(const oci_batch *a, int64_t row_a, const oci_batch *b, int64_t row_b,
                  const oci_sort_key *keys, int32_t n_keys)
{
    for (int32_t k = 0; k < n_keys; k++) {
        const oci_column *column_a = &a->columns[keys[k].column];
        const oci_column *column_b = &b->columns[keys[k].column];
        int null_a = oci_column_is_null(column_a, row_a);
        int null_b = oci_column_is_null(column_b, row_b);
        int order = 0;
        if (null_a || null_b) {
            order = keys[k].nulls_first ? null_b - null_a : null_a - null_b;
        } else {
            order = order_of_values(column_a, row_a, column_b, row_b);
            order = keys[k].descending ? -order : order;
        }
        if (order != 0) {
            return order;
        }
    }
    return 0;
}
