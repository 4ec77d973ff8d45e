/* = <> < <= > >=, is [not] distinct from, in, between, is null and the like, not.
 *
 * Numbers, dates and such have a loop per type; texts compare by bytes; everything else (structs, lists, intervals,
 * 256-bit decimals) by its normalised keys (arrow/row_key.h), whose order is that of ORDER BY. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/row_key.h"
#include "base/bits.h"
#include "expr/cast.h"
#include "expr/expr.h"
#include "expr/function_table.h"
#include "expr/number.h"

/* ---- binding --------------------------------------------------------------------------------- */

/* All arguments become one type that has an order. */
static bool settle(oci_signature *s, oc_error *err)
{
    oci_field common = oci_expr_type(OCI_TYPE_NULL);
    (void)err;
    for (int32_t i = 0; i < s->n_args; i++) {
        if (s->is_literal[i]) {
            continue;
        }
        if (oci_common_type(&common, &s->args[i], &common, NULL) != OC_OK) {
            return false;
        }
    }
    for (int32_t i = 0; i < s->n_args; i++) {
        if (common.type == OCI_TYPE_NULL && s->args[i].type != OCI_TYPE_NULL) {
            common = s->args[i];
        }
    }
    common.name = NULL;
    for (int32_t i = 0; i < s->n_args; i++) {
        s->args[i] = common;
    }
    return true;
}

static bool has_order(const oci_field *type)
{
    static char no_name[] = "";
    oci_field field = *type;
    field.name = no_name;
    oci_schema schema = {.n_fields = 1, .fields = &field};
    oci_sort_key key = {.column = 0};
    return oci_row_key_check(&schema, &key, 1, NULL) == OC_OK;
}

static bool bind_comparison(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed;
    if (!settle(s, err) || !has_order(&s->args[0])) {
        return false;
    }
    s->result = oci_expr_type(OCI_TYPE_BOOL);
    return true;
}

static bool bind_any(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    s->result = oci_expr_type(OCI_TYPE_BOOL);
    return true;
}

static bool bind_bool(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    s->args[0] = s->result = oci_expr_type(OCI_TYPE_BOOL);
    return true;
}

/* ---- the sign of a comparison ---------------------------------------------------------------- */

/* -1, 0, 1 of n rows; rows with a null may have any. */
#define SIGNS(type)                                                                   \
    for (int64_t i = 0; i < n; i++) {                                                 \
        type x;                                                                       \
        type y;                                                                       \
        memcpy(&x,                                                                    \
               a->column.values +                                                     \
                   (a->column.offset + (a->is_constant ? 0 : i)) * (int64_t)sizeof x, \
               sizeof x);                                                             \
        memcpy(&y,                                                                    \
               b->column.values +                                                     \
                   (b->column.offset + (b->is_constant ? 0 : i)) * (int64_t)sizeof y, \
               sizeof y);                                                             \
        signs[i] = (int8_t)((x > y) - (x < y));                                       \
    }                                                                                 \
    return true

static int8_t compare_double(double x, double y)
{
    if (isnan(x) || isnan(y)) { /* NaN is larger than every number, and equal to itself */
        return (int8_t)((isnan(x) != 0) - (isnan(y) != 0));
    }
    return (int8_t)((x > y) - (x < y));
}

static bool double_signs(const oci_vector *a, const oci_vector *b, int64_t n, int8_t *signs)
{
    for (int64_t i = 0; i < n; i++) {
        double x;
        double y;
        memcpy(&x, a->column.values + (a->column.offset + (a->is_constant ? 0 : i)) * 8, sizeof x);
        memcpy(&y, b->column.values + (b->column.offset + (b->is_constant ? 0 : i)) * 8, sizeof y);
        signs[i] = compare_double(x, y);
    }
    return true;
}

static bool float_signs(const oci_vector *a, const oci_vector *b, int64_t n, int8_t *signs)
{
    for (int64_t i = 0; i < n; i++) {
        float x;
        float y;
        memcpy(&x, a->column.values + (a->column.offset + (a->is_constant ? 0 : i)) * 4, sizeof x);
        memcpy(&y, b->column.values + (b->column.offset + (b->is_constant ? 0 : i)) * 4, sizeof y);
        signs[i] = compare_double((double)x, (double)y);
    }
    return true;
}

static bool text_signs(const oci_vector *a, const oci_vector *b, int64_t n, int8_t *signs)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t row_a = oci_vector_row(a, i);
        int64_t row_b = oci_vector_row(b, i);
        if (oci_column_is_null(&a->column, row_a) || oci_column_is_null(&b->column, row_b)) {
            signs[i] = 0;
            continue;
        }
        int64_t size_a;
        int64_t size_b;
        const uint8_t *x = oci_column_bytes_at(&a->column, row_a, &size_a);
        const uint8_t *y = oci_column_bytes_at(&b->column, row_b, &size_b);
        int64_t common = oci_min64(size_a, size_b);
        int order = common == 0 ? 0 : memcmp(x, y, (size_t)common);
        signs[i] = (int8_t)(order != 0 ? (order > 0) - (order < 0)
                                       : (size_a > size_b) - (size_a < size_b));
    }
    return true;
}

static bool bool_signs(const oci_vector *a, const oci_vector *b, int64_t n, int8_t *signs)
{
    for (int64_t i = 0; i < n; i++) {
        int x = oci_bit_get(a->column.values, a->column.offset + oci_vector_row(a, i));
        int y = oci_bit_get(b->column.values, b->column.offset + oci_vector_row(b, i));
        signs[i] = (int8_t)(x - y);
    }
    return true;
}

static bool direct_signs(const oci_vector *a, const oci_vector *b, int64_t n, int8_t *signs)
{
    switch (a->column.field->type) {
    case OCI_TYPE_INT8: SIGNS(int8_t);
    case OCI_TYPE_UINT8: SIGNS(uint8_t);
    case OCI_TYPE_INT16: SIGNS(int16_t);
    case OCI_TYPE_UINT16: SIGNS(uint16_t);
    case OCI_TYPE_INT32:
    case OCI_TYPE_DATE32:
    case OCI_TYPE_TIME32:
    case OCI_TYPE_DECIMAL32: SIGNS(int32_t);
    case OCI_TYPE_UINT32: SIGNS(uint32_t);
    case OCI_TYPE_INT64:
    case OCI_TYPE_DATE64:
    case OCI_TYPE_TIME64:
    case OCI_TYPE_TIMESTAMP:
    case OCI_TYPE_DURATION:
    case OCI_TYPE_DECIMAL64: SIGNS(int64_t);
    case OCI_TYPE_UINT64: SIGNS(uint64_t);
    case OCI_TYPE_DECIMAL128: SIGNS(oci_int128);
    case OCI_TYPE_FLOAT64: return double_signs(a, b, n, signs);
    case OCI_TYPE_FLOAT32: return float_signs(a, b, n, signs);
    case OCI_TYPE_BOOL: return bool_signs(a, b, n, signs);
    case OCI_TYPE_UTF8:
    case OCI_TYPE_LARGE_UTF8:
    case OCI_TYPE_UTF8_VIEW:
    case OCI_TYPE_BINARY:
    case OCI_TYPE_LARGE_BINARY:
    case OCI_TYPE_BINARY_VIEW: return text_signs(a, b, n, signs);
    default: return false;
    }
}

static oc_status encode(const oci_call *call, const oci_vector *arg, oci_row_keys *keys,
                        oc_error *err)
{
    static char no_name[] = "";
    static const oci_sort_key key = {.column = 0};
    oci_field field = *arg->column.field;
    field.name = no_name;
    oci_schema schema = {.n_fields = 1, .fields = &field};
    oci_column column = arg->column;
    column.field = &field;
    oci_batch batch = {.schema = &schema, .length = column.length, .columns = &column};
    return oci_row_keys_encode(&batch, &key, 1, call->mem, NULL, keys, err);
}

static oc_status key_signs(const oci_call *call, const oci_vector *a, const oci_vector *b,
                           int8_t *signs, oc_error *err)
{
    oci_row_keys x;
    oci_row_keys y;
    OC_TRY(encode(call, a, &x, err));
    oc_status status = encode(call, b, &y, err);
    if (status != OC_OK) {
        oci_row_keys_deinit(&x);
        return status;
    }
    for (int64_t i = 0; i < call->n; i++) {
        int64_t size_x;
        int64_t size_y;
        const uint8_t *key_x = oci_row_key_at(&x, oci_vector_row(a, i), &size_x);
        const uint8_t *key_y = oci_row_key_at(&y, oci_vector_row(b, i), &size_y);
        int order = memcmp(key_x, key_y, (size_t)oci_min64(size_x, size_y));
        signs[i] = (int8_t)(order != 0 ? (order > 0) - (order < 0)
                                       : (size_x > size_y) - (size_x < size_y));
    }
    oci_row_keys_deinit(&x);
    oci_row_keys_deinit(&y);
    return OC_OK;
}

static oc_status make_signs(const oci_call *call, int32_t a, int32_t b, int8_t **out, oc_error *err)
{
    void *block;
    OC_TRY(oci_mem_alloc(call->mem, oci_max64(8, call->n), &block, err));
    const oci_vector *x = &call->args[a];
    const oci_vector *y = &call->args[b];
    oc_status status = OC_OK;
    if (x->column.field->type == OCI_TYPE_NULL) {
        memset(block, 0, (size_t)call->n);
    } else if (!direct_signs(x, y, call->n, block)) {
        status = key_signs(call, x, y, block, err);
    }
    if (status != OC_OK) {
        oci_mem_free(call->mem, block, oci_max64(8, call->n));
        return status;
    }
    *out = block;
    return OC_OK;
}

/* bits: 1 = less passes, 2 = equal passes, 4 = greater passes. */
static oc_status compare(const oci_call *call, int passes, oci_vector *out, oc_error *err)
{
    int8_t *signs;
    uint8_t *values;
    OC_TRY(make_signs(call, 0, 1, &signs, err));
    oc_status status =
        oci_vector_make(call->result, call->n, false, call->mem, out, &values, NULL, err);
    for (int64_t i = 0; status == OC_OK && i < call->n; i++) {
        values[i >> 3] |= (uint8_t)((passes >> (signs[i] + 1) & 1) << (i & 7));
    }
    oci_mem_free(call->mem, signs, oci_max64(8, call->n));
    return status;
}

#define COMPARE(name, passes)                                                   \
    static oc_status name(const oci_call *call, oci_vector *out, oc_error *err) \
    {                                                                           \
        return compare(call, passes, out, err);                                 \
    }

COMPARE(equal, 2)
COMPARE(not_equal, 5)
COMPARE(less, 1)
COMPARE(less_equal, 3)
COMPARE(greater, 4)
COMPARE(greater_equal, 6)

/* ---- nulls count ----------------------------------------------------------------------------- */

static bool is_null(const oci_vector *arg, int64_t i)
{
    return oci_column_is_null(&arg->column, oci_vector_row(arg, i));
}

static oc_status distinctness(const oci_call *call, bool wanted, oci_vector *out, oc_error *err)
{
    int8_t *signs;
    uint8_t *values;
    OC_TRY(make_signs(call, 0, 1, &signs, err));
    oc_status status =
        oci_vector_make(call->result, call->n, false, call->mem, out, &values, NULL, err);
    for (int64_t i = 0; status == OC_OK && i < call->n; i++) {
        bool a = is_null(&call->args[0], i);
        bool b = is_null(&call->args[1], i);
        bool is_distinct = a || b ? a != b : signs[i] != 0;
        oci_bit_put(values, i, is_distinct == wanted);
    }
    oci_mem_free(call->mem, signs, oci_max64(8, call->n));
    return status;
}

static oc_status is_distinct(const oci_call *call, oci_vector *out, oc_error *err)
{
    return distinctness(call, true, out, err);
}

static oc_status is_not_distinct(const oci_call *call, oci_vector *out, oc_error *err)
{
    return distinctness(call, false, out, err);
}

/* args[0] IN (args[1], ...): true, else null when one is null. */
static oc_status in_list(const oci_call *call, oci_vector *out, oc_error *err)
{
    uint8_t *values;
    uint8_t *validity;
    OC_TRY(oci_vector_make(call->result, call->n, true, call->mem, out, &values, &validity, err));
    for (int32_t a = 1; a < call->n_args; a++) {
        int8_t *signs;
        oc_status status = make_signs(call, 0, a, &signs, err);
        if (status != OC_OK) {
            oci_vector_deinit(out);
            return status;
        }
        for (int64_t i = 0; i < call->n; i++) {
            if (is_null(&call->args[a], i) || is_null(&call->args[0], i)) {
                oci_bit_clear(validity, i);
            } else if (signs[i] == 0) {
                oci_bit_set(values, i);
            }
        }
        oci_mem_free(call->mem, signs, oci_max64(8, call->n));
    }
    for (int64_t i = 0; i < call->n; i++) {
        if (oci_bit_get(values, i)) {
            oci_bit_set(validity, i);
        }
    }
    return OC_OK;
}

static oc_status null_test(const oci_call *call, bool wanted, oci_vector *out, oc_error *err)
{
    uint8_t *values;
    OC_TRY(oci_vector_make(call->result, call->n, false, call->mem, out, &values, NULL, err));
    for (int64_t i = 0; i < call->n; i++) {
        oci_bit_put(values, i, is_null(&call->args[0], i) == wanted);
    }
    return OC_OK;
}

static oc_status test_null(const oci_call *call, oci_vector *out, oc_error *err)
{
    return null_test(call, true, out, err);
}

static oc_status test_not_null(const oci_call *call, oci_vector *out, oc_error *err)
{
    return null_test(call, false, out, err);
}

/* IS [NOT] TRUE / FALSE / UNKNOWN: true, false or null of the argument picks a bit: 1, 2, 4. */
static oc_status truth_test(const oci_call *call, int passes, oci_vector *out, oc_error *err)
{
    uint8_t *values;
    const oci_column *column = &call->args[0].column;
    OC_TRY(oci_vector_make(call->result, call->n, false, call->mem, out, &values, NULL, err));
    for (int64_t i = 0; i < call->n; i++) {
        int64_t row = oci_vector_row(&call->args[0], i);
        int bit = is_null(&call->args[0], i)                          ? 4
                  : oci_bit_get(column->values, column->offset + row) ? 1
                                                                      : 2;
        oci_bit_put(values, i, (passes & bit) != 0);
    }
    return OC_OK;
}

#define TRUTH(name, passes)                                                     \
    static oc_status name(const oci_call *call, oci_vector *out, oc_error *err) \
    {                                                                           \
        return truth_test(call, passes, out, err);                              \
    }

TRUTH(is_true, 1)
TRUTH(is_not_true, 6)
TRUTH(is_false, 2)
TRUTH(is_not_false, 5)
TRUTH(is_unknown, 4)
TRUTH(is_not_unknown, 3)

static oc_status not(const oci_call *call, oci_vector *out, oc_error *err)
{
    uint8_t *values;
    const oci_column *column = &call->args[0].column;
    OC_TRY(oci_vector_make(call->result, call->n, false, call->mem, out, &values, NULL, err));
    for (int64_t i = 0; i < call->n; i++) {
        int64_t row = oci_vector_row(&call->args[0], i);
        oci_bit_put(values, i, !oci_bit_get(column->values, column->offset + row));
    }
    return OC_OK;
}

#define ENTRY(name_, n, is_strict, bind_, kernel_)                                                 \
    {                                                                                              \
        .name = (name_), .args_min = (n), .args_max = (n), .strict = (is_strict), .bind = (bind_), \
        .kernel = (kernel_)                                                                        \
    }

const oci_function oci_functions_compare[] = {
    ENTRY("=", 2, true, bind_comparison, equal),
    ENTRY("<>", 2, true, bind_comparison, not_equal),
    ENTRY("!=", 2, true, bind_comparison, not_equal),
    ENTRY("<", 2, true, bind_comparison, less),
    ENTRY("<=", 2, true, bind_comparison, less_equal),
    ENTRY(">", 2, true, bind_comparison, greater),
    ENTRY(">=", 2, true, bind_comparison, greater_equal),
    ENTRY("is distinct from", 2, false, bind_comparison, is_distinct),
    ENTRY("is not distinct from", 2, false, bind_comparison, is_not_distinct),
    {.name = "in", .args_min = 2, .args_max = -1, .bind = bind_comparison, .kernel = in_list},
    ENTRY("is null", 1, false, bind_any, test_null),
    ENTRY("is not null", 1, false, bind_any, test_not_null),
    ENTRY("is true", 1, false, bind_bool, is_true),
    ENTRY("is not true", 1, false, bind_bool, is_not_true),
    ENTRY("is false", 1, false, bind_bool, is_false),
    ENTRY("is not false", 1, false, bind_bool, is_not_false),
    ENTRY("is unknown", 1, false, bind_bool, is_unknown),
    ENTRY("is not unknown", 1, false, bind_bool, is_not_unknown),
    ENTRY("not", 1, true, bind_bool, not ),
    {.name = NULL},
};
