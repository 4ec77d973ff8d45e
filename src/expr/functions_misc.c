/* greatest and least, names of types and of the program. */
#include <stdio.h>

#include "expr/cast.h"
#include "expr/function_table.h"
#include "expr/kernel.h"
#include "expr/number.h"
#include "outcore/outcore.h"

/* ---- greatest, least ------------------------------------------------------------------------- */

static bool is_ordered(oci_type type)
{
    return oci_type_is_text(type) || type == OCI_TYPE_BINARY ||
           (type >= OCI_TYPE_INT8 && type <= OCI_TYPE_DURATION && type != OCI_TYPE_FLOAT16 &&
            type != OCI_TYPE_DECIMAL256);
}

static bool bind_extreme(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    oci_field common = oci_expr_type(OCI_TYPE_NULL);
    for (int32_t i = 0; i < s->n_args; i++) {
        if (!s->is_literal[i] && oci_common_type(&common, &s->args[i], &common, NULL) != OC_OK) {
            return false;
        }
    }
    common = common.type == OCI_TYPE_NULL ? oci_expr_type(OCI_TYPE_UTF8) : common;
    common = oci_type_is_text(common.type) ? oci_expr_type(OCI_TYPE_UTF8) : common;
    common.name = NULL;
    for (int32_t i = 0; i < s->n_args; i++) {
        s->args[i] = common;
    }
    s->result = common;
    return is_ordered(common.type);
}

static int order(oci_span a, oci_span b)
{
    int64_t shorter = oci_min64(a.length, b.length);
    int by_bytes = shorter == 0 ? 0 : memcmp(a.at, b.at, (size_t)shorter);
    return by_bytes != 0 ? by_bytes : (a.length > b.length) - (a.length < b.length);
}

/* NaN is larger than every number. */
static int order_doubles(double a, double b)
{
    if (a != a || b != b) {
        return (a != a) - (b != b);
    }
    return (a > b) - (a < b);
}

static int64_t integer_of(const uint8_t *at, int32_t width)
{
    switch (width) {
    case 1: return (int8_t)*at;
    case 2: return (int16_t)oci_load_le16(at);
    case 4: return (int32_t)oci_load_le32(at);
    default: return (int64_t)oci_load_le64(at);
    }
}

static int order_values(const oci_field *type, const uint8_t *a, const uint8_t *b)
{
    if (type->type == OCI_TYPE_FLOAT64) {
        double x;
        double y;
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        return order_doubles(x, y);
    }
    if (type->type == OCI_TYPE_FLOAT32) {
        float x;
        float y;
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        return order_doubles((double)x, (double)y);
    }
    if (type->byte_width == 16) {
        oci_int128 x = oci_load_int128(a);
        oci_int128 y = oci_load_int128(b);
        return (x > y) - (x < y);
    }
    int64_t x = integer_of(a, type->byte_width);
    int64_t y = integer_of(b, type->byte_width);
    if (type->type >= OCI_TYPE_UINT8 && type->type <= OCI_TYPE_UINT64) {
        uint64_t mask = oci_low_mask(8 * type->byte_width);
        return (((uint64_t)x & mask) > ((uint64_t)y & mask)) -
               (((uint64_t)x & mask) < ((uint64_t)y & mask));
    }
    return (x > y) - (x < y);
}

/* Argument with the largest (sign 1) or smallest (-1) value of a row, -1 when all are null. */
static int32_t choose(const oci_call *call, int64_t i, int sign)
{
    bool is_text = call->result->byte_width == 0;
    int32_t best = -1;
    for (int32_t a = 0; a < call->n_args; a++) {
        if (oci_arg_is_null(call, a, i)) {
            continue;
        }
        int compared = 1;
        if (best >= 0 && is_text) {
            compared = sign * order(oci_arg_text(call, a, i), oci_arg_text(call, best, i));
        } else if (best >= 0) {
            int32_t width = call->result->byte_width;
            compared = sign * order_values(call->result, oci_arg_at(call, a, i, width),
                                           oci_arg_at(call, best, i, width));
        }
        best = compared > 0 ? a : best;
    }
    return best;
}

static oc_status extreme_texts(const oci_call *call, int sign, oci_vector *out, oc_error *err)
{
    oci_text_builder builder;
    OC_TRY(oci_text_builder_init(&builder, call->result, call->n, call->mem, err));
    for (int64_t i = 0; i < call->n; i++) {
        int32_t best = choose(call, i, sign);
        oci_span text = {0};
        if (best >= 0) {
            text = oci_arg_text(call, best, i);
        }
        oc_status status = best < 0 ? oci_text_builder_append_null(&builder, err)
                                    : oci_text_builder_append(&builder, text.at, text.length, err);
        if (status != OC_OK) {
            oci_text_builder_deinit(&builder);
            return status;
        }
    }
    return oci_text_builder_finish(&builder, out, err);
}

static oc_status extreme(const oci_call *call, int sign, oci_vector *out, oc_error *err)
{
    if (call->result->byte_width == 0) {
        return extreme_texts(call, sign, out, err);
    }
    uint8_t *values;
    uint8_t *validity;
    size_t width = (size_t)call->result->byte_width;
    OC_TRY(oci_vector_make(call->result, call->n, true, call->mem, out, &values, &validity, err));
    for (int64_t i = 0; i < call->n; i++) {
        int32_t best = choose(call, i, sign);
        if (best < 0) {
            oci_bit_clear(validity, i);
            memset(values + i * (int64_t)width, 0, width);
        } else {
            memcpy(values + i * (int64_t)width, oci_arg_at(call, best, i, (int64_t)width), width);
        }
    }
    return OC_OK;
}

static oc_status greatest(const oci_call *call, oci_vector *out, oc_error *err)
{
    return extreme(call, 1, out, err);
}

static oc_status least(const oci_call *call, oci_vector *out, oc_error *err)
{
    return extreme(call, -1, out, err);
}

/* ---- about types and the program ------------------------------------------------------------- */

OCI_BIND(bind_any_to_text, "*", OCI_TYPE_UTF8)

static oc_status type_row(const oci_call *call, int64_t i, oci_text_builder *builder, oc_error *err)
{
    char name[256];
    (void)i;
    oci_type_sql_name(call->args[0].column.field, name, sizeof name);
    return oci_text_builder_append(builder, (const uint8_t *)name, (int64_t)strlen(name), err);
}

static oc_status type_of(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_text(call, type_row, true, out, err);
}

static oc_status version_row(const oci_call *call, int64_t i, oci_text_builder *builder,
                             oc_error *err)
{
    char text[64];
    (void)call, (void)i;
    int length = snprintf(text, sizeof text, "Outcore %d.%d.%d", OC_VERSION_MAJOR, OC_VERSION_MINOR,
                          OC_VERSION_PATCH);
    return oci_text_builder_append(builder, (const uint8_t *)text, length, err);
}

static oc_status version(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_text(call, version_row, true, out, err);
}

#define ANY_NULLS(name_, min, max, bind_, kernel_, help_)                       \
    {                                                                           \
        .name = (name_), .args_min = (min), .args_max = (max), .bind = (bind_), \
        .kernel = (kernel_), .help = (help_)                                    \
    }

const oci_function oci_functions_misc[] = {
    ANY_NULLS("greatest", 1, OCI_FUNCTION_ARGS_MAX, bind_extreme, greatest,
              "greatest(value, ...), nulls do not count"),
    ANY_NULLS("least", 1, OCI_FUNCTION_ARGS_MAX, bind_extreme, least,
              "least(value, ...), nulls do not count"),
    ANY_NULLS("pg_typeof", 1, 1, bind_any_to_text, type_of, "pg_typeof(anything) -> text"),
    ANY_NULLS("typeof", 1, 1, bind_any_to_text, type_of, "typeof(anything) -> text"),
    ANY_NULLS("version", 0, 0, bind_any_to_text, version, "version() -> text"),
    {.name = NULL},
};
