/* Types of expressions: by name, for people, and in common. Fields here are simple; lists are copied. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expr/cast.h"
#include "expr/expr.h"

#define DIGITS_MAX 38

oci_field oci_expr_type(oci_type type)
{
    oci_field field = {.type = type, .nullable = true};
    if (type == OCI_TYPE_TIMESTAMP || type == OCI_TYPE_TIME64 || type == OCI_TYPE_DURATION) {
        field.unit = OCI_MICRO;
    }
    oci_field_set_width(&field);
    return field;
}

oci_field oci_expr_decimal(int32_t precision, int32_t scale)
{
    oci_field field = {.type = OCI_TYPE_DECIMAL128, .nullable = true};
    field.precision = precision > DIGITS_MAX ? DIGITS_MAX : precision < 1 ? 1 : precision;
    field.scale = scale > DIGITS_MAX ? DIGITS_MAX : scale;
    oci_field_set_width(&field);
    return field;
}

/* ---- names ----------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    oci_type type;
    oci_time_unit unit;
} names[] = {
    {"boolean", OCI_TYPE_BOOL, 0},
    {"bool", OCI_TYPE_BOOL, 0},
    {"int1", OCI_TYPE_INT8, 0},
    {"tinyint", OCI_TYPE_INT8, 0},
    {"int8", OCI_TYPE_INT64, 0}, /* as in PostgreSQL: eight bytes */
    {"smallint", OCI_TYPE_INT16, 0},
    {"int2", OCI_TYPE_INT16, 0},
    {"int16", OCI_TYPE_INT16, 0},
    {"integer", OCI_TYPE_INT32, 0},
    {"int", OCI_TYPE_INT32, 0},
    {"int4", OCI_TYPE_INT32, 0},
    {"int32", OCI_TYPE_INT32, 0},
    {"bigint", OCI_TYPE_INT64, 0},
    {"int64", OCI_TYPE_INT64, 0},
    {"uint8", OCI_TYPE_UINT8, 0},
    {"utinyint", OCI_TYPE_UINT8, 0},
    {"uint16", OCI_TYPE_UINT16, 0},
    {"usmallint", OCI_TYPE_UINT16, 0},
    {"uint32", OCI_TYPE_UINT32, 0},
    {"uinteger", OCI_TYPE_UINT32, 0},
    {"uint64", OCI_TYPE_UINT64, 0},
    {"ubigint", OCI_TYPE_UINT64, 0},
    {"real", OCI_TYPE_FLOAT32, 0},
    {"float4", OCI_TYPE_FLOAT32, 0},
    {"float32", OCI_TYPE_FLOAT32, 0},
    {"double precision", OCI_TYPE_FLOAT64, 0},
    {"double", OCI_TYPE_FLOAT64, 0},
    {"float8", OCI_TYPE_FLOAT64, 0},
    {"float64", OCI_TYPE_FLOAT64, 0},
    {"float", OCI_TYPE_FLOAT64, 0},
    {"float16", OCI_TYPE_FLOAT16, 0},
    {"text", OCI_TYPE_UTF8, 0},
    {"varchar", OCI_TYPE_UTF8, 0},
    {"character varying", OCI_TYPE_UTF8, 0},
    {"string", OCI_TYPE_UTF8, 0},
    {"utf8", OCI_TYPE_UTF8, 0},
    {"char", OCI_TYPE_UTF8, 0},
    {"bpchar", OCI_TYPE_UTF8, 0},
    {"large_utf8", OCI_TYPE_LARGE_UTF8, 0},
    {"largeutf8", OCI_TYPE_LARGE_UTF8, 0},
    {"bytea", OCI_TYPE_BINARY, 0},
    {"blob", OCI_TYPE_BINARY, 0},
    {"binary", OCI_TYPE_BINARY, 0},
    {"varbinary", OCI_TYPE_BINARY, 0},
    {"large_binary", OCI_TYPE_LARGE_BINARY, 0},
    {"largebinary", OCI_TYPE_LARGE_BINARY, 0},
    {"date", OCI_TYPE_DATE32, 0},
    {"date32", OCI_TYPE_DATE32, 0},
    {"time", OCI_TYPE_TIME64, OCI_MICRO},
    {"timestamp", OCI_TYPE_TIMESTAMP, OCI_MICRO},
    {"datetime", OCI_TYPE_TIMESTAMP, OCI_MICRO},
    {"timestamp_s", OCI_TYPE_TIMESTAMP, OCI_SECOND},
    {"timestamp_ms", OCI_TYPE_TIMESTAMP, OCI_MILLI},
    {"timestamp_ns", OCI_TYPE_TIMESTAMP, OCI_NANO},
    {"timestamptz", OCI_TYPE_TIMESTAMP, OCI_MICRO},
    {"interval", OCI_TYPE_INTERVAL_MONTH_DAY_NANO, 0},
};

static bool is_decimal_name(const char *name)
{
    return strcmp(name, "numeric") == 0 || strcmp(name, "decimal") == 0 || strcmp(name, "dec") == 0;
}

static oc_status decimal_by_modifiers(const int32_t *modifiers, int32_t n, oci_field *out,
                                      oc_error *err)
{
    int32_t precision = n > 0 ? modifiers[0] : DIGITS_MAX;
    int32_t scale = n > 1 ? modifiers[1] : n > 0 ? 0 : 10;
    if (precision < 1 || precision > DIGITS_MAX || scale < 0 || scale > precision) {
        OC_FAIL(
            err, OC_EINVAL,
            "decimal(%d, %d) is not a type: a decimal has 1 to %d digits, 0 to that many of them "
            "behind the point",
            precision, scale, DIGITS_MAX);
    }
    *out = oci_expr_decimal(precision, scale);
    return OC_OK;
}

oc_status oci_type_by_name(const char *name, const int32_t *modifiers, int32_t n_modifiers,
                           oci_field *out, oc_error *err)
{
    if (is_decimal_name(name)) {
        return decimal_by_modifiers(modifiers, n_modifiers, out, err);
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i].name, name) != 0) {
            continue;
        }
        *out = oci_expr_type(names[i].type);
        out->unit = names[i].unit;
        if (names[i].type == OCI_TYPE_TIMESTAMP && n_modifiers > 0) {
            out->unit = modifiers[0] == 0   ? OCI_SECOND
                        : modifiers[0] <= 3 ? OCI_MILLI
                        : modifiers[0] <= 6 ? OCI_MICRO
                                            : OCI_NANO;
        }
        if (strcmp(name, "timestamptz") == 0) {
            static char utc[] = "UTC";
            out->timezone = utc;
        }
        return OC_OK;
    }
    OC_FAIL(err, OC_EINVAL, "type \"%s\" does not exist", name);
}

void oci_type_sql_name(const oci_field *field, char *buf, size_t size)
{
    const char *name = NULL;
    switch (field->type) {
    case OCI_TYPE_NULL: name = "unknown"; break;
    case OCI_TYPE_BOOL: name = "boolean"; break;
    case OCI_TYPE_INT8: name = "tinyint"; break;
    case OCI_TYPE_INT16: name = "smallint"; break;
    case OCI_TYPE_INT32: name = "integer"; break;
    case OCI_TYPE_INT64: name = "bigint"; break;
    case OCI_TYPE_FLOAT32: name = "real"; break;
    case OCI_TYPE_FLOAT64: name = "double precision"; break;
    case OCI_TYPE_UTF8:
    case OCI_TYPE_UTF8_VIEW:
    case OCI_TYPE_LARGE_UTF8: name = "text"; break;
    case OCI_TYPE_BINARY:
    case OCI_TYPE_BINARY_VIEW:
    case OCI_TYPE_LARGE_BINARY: name = "bytea"; break;
    case OCI_TYPE_DATE32:
    case OCI_TYPE_DATE64: name = "date"; break;
    case OCI_TYPE_TIME32:
    case OCI_TYPE_TIME64: name = "time"; break;
    case OCI_TYPE_INTERVAL_MONTHS:
    case OCI_TYPE_INTERVAL_DAY_TIME:
    case OCI_TYPE_INTERVAL_MONTH_DAY_NANO: name = "interval"; break;
    case OCI_TYPE_TIMESTAMP: name = field->timezone != NULL ? "timestamptz" : "timestamp"; break;
    default: break;
    }
    if (oci_type_is_decimal(field->type)) {
        snprintf(buf, size, "decimal(%d,%d)", field->precision, field->scale);
    } else if (name != NULL) {
        snprintf(buf, size, "%s", name);
    } else {
        oci_field_type_text(field, buf, size);
    }
}

/* ---- common types ---------------------------------------------------------------------------- */

int32_t oci_integer_digits(oci_type type)
{
    switch (type) {
    case OCI_TYPE_INT8:
    case OCI_TYPE_UINT8: return 3;
    case OCI_TYPE_INT16:
    case OCI_TYPE_UINT16: return 5;
    case OCI_TYPE_INT32:
    case OCI_TYPE_UINT32: return 10;
    case OCI_TYPE_INT64: return 19;
    default: return 20;
    }
}

oci_field oci_as_decimal(const oci_field *field)
{
    return oci_type_is_decimal(field->type) ? oci_expr_decimal(field->precision, field->scale)
                                            : oci_expr_decimal(oci_integer_digits(field->type), 0);
}

/* Integers as they are computed with: int32, int64, or decimal(20, 0). */
oci_field oci_computed_integer(oci_type type)
{
    switch (type) {
    case OCI_TYPE_UINT64: return oci_expr_decimal(20, 0);
    case OCI_TYPE_INT64:
    case OCI_TYPE_UINT32: return oci_expr_type(OCI_TYPE_INT64);
    default: return oci_expr_type(OCI_TYPE_INT32);
    }
}

static bool common_number(const oci_field *a, const oci_field *b, oci_field *out)
{
    if (oci_type_is_float(a->type) || oci_type_is_float(b->type)) {
        bool narrow = a->type == b->type;
        *out = oci_expr_type(narrow ? a->type : OCI_TYPE_FLOAT64);
        return true;
    }
    if (oci_type_is_integer(a->type) && oci_type_is_integer(b->type)) {
        if (a->type == b->type) {
            *out = oci_expr_type(a->type);
            return true;
        }
        oci_field x = oci_computed_integer(a->type);
        oci_field y = oci_computed_integer(b->type);
        *out = x.type == OCI_TYPE_DECIMAL128 ||
                       (x.type == OCI_TYPE_INT64 && y.type != OCI_TYPE_DECIMAL128)
                   ? x
                   : y;
        return true;
    }
    oci_field x = oci_as_decimal(a);
    oci_field y = oci_as_decimal(b);
    int32_t scale = x.scale > y.scale ? x.scale : y.scale;
    int32_t before = x.precision - x.scale > y.precision - y.scale ? x.precision - x.scale
                                                                   : y.precision - y.scale;
    *out = oci_expr_decimal(before + scale, scale);
    return true;
}

static bool is_time_point(oci_type type)
{
    return type == OCI_TYPE_DATE32 || type == OCI_TYPE_DATE64 || type == OCI_TYPE_TIMESTAMP;
}

static bool common_type(const oci_field *a, const oci_field *b, oci_field *out)
{
    if (oci_field_same_type(a, b)) {
        *out = *a;
        out->name = NULL;
        return true;
    }
    if (a->type == OCI_TYPE_NULL || b->type == OCI_TYPE_NULL) {
        *out = a->type == OCI_TYPE_NULL ? *b : *a;
        out->name = NULL;
        return true;
    }
    if (oci_type_is_number(a->type) && oci_type_is_number(b->type)) {
        return common_number(a, b, out);
    }
    if (oci_type_is_text(a->type) && oci_type_is_text(b->type)) {
        *out = oci_expr_type(OCI_TYPE_UTF8);
        return true;
    }
    bool is_binary = (a->type >= OCI_TYPE_FIXED_BINARY && a->type <= OCI_TYPE_BINARY_VIEW) &&
                     (b->type >= OCI_TYPE_FIXED_BINARY && b->type <= OCI_TYPE_BINARY_VIEW);
    if (is_binary && !oci_type_is_text(a->type) && !oci_type_is_text(b->type)) {
        *out = oci_expr_type(OCI_TYPE_BINARY);
        return true;
    }
    if (is_time_point(a->type) && is_time_point(b->type)) {
        bool a_stamp = a->type == OCI_TYPE_TIMESTAMP;
        bool b_stamp = b->type == OCI_TYPE_TIMESTAMP;
        if (!a_stamp && !b_stamp) {
            *out = oci_expr_type(OCI_TYPE_DATE32);
            return true;
        }
        const oci_field *stamp = a_stamp ? a : b;
        *out = oci_expr_type(OCI_TYPE_TIMESTAMP);
        out->unit = a_stamp && b_stamp && b->unit > a->unit ? b->unit : stamp->unit;
        out->timezone = stamp->timezone != NULL ? stamp->timezone : b_stamp ? b->timezone : NULL;
        return true;
    }
    bool a_interval = a->type >= OCI_TYPE_INTERVAL_MONTHS &&
                      a->type <= OCI_TYPE_INTERVAL_MONTH_DAY_NANO;
    bool b_interval = b->type >= OCI_TYPE_INTERVAL_MONTHS &&
                      b->type <= OCI_TYPE_INTERVAL_MONTH_DAY_NANO;
    if (a_interval && b_interval) {
        *out = oci_expr_type(OCI_TYPE_INTERVAL_MONTH_DAY_NANO);
        return true;
    }
    bool a_time = a->type == OCI_TYPE_TIME32 || a->type == OCI_TYPE_TIME64;
    bool b_time = b->type == OCI_TYPE_TIME32 || b->type == OCI_TYPE_TIME64;
    if (a_time && b_time) {
        *out = oci_expr_type(OCI_TYPE_TIME64);
        out->unit = a->unit == OCI_NANO || b->unit == OCI_NANO ? OCI_NANO : OCI_MICRO;
        return true;
    }
    return false;
}

oc_status oci_common_type(const oci_field *a, const oci_field *b, oci_field *out, oc_error *err)
{
    oci_field x = *oci_value_type(a);
    oci_field y = *oci_value_type(b);
    if (!common_type(&x, &y, out)) {
        char a_name[128];
        char b_name[128];
        oci_type_sql_name(&x, a_name, sizeof a_name);
        oci_type_sql_name(&y, b_name, sizeof b_name);
        OC_FAIL(err, OC_EINVAL, "types %s and %s cannot be matched; cast one of them", a_name,
                b_name);
    }
    out->nullable = true;
    return OC_OK;
}

const oci_field *oci_value_type(const oci_field *field)
{
    for (;;) {
        if (field->type == OCI_TYPE_DICTIONARY) {
            field = field->dictionary;
        } else if (field->type == OCI_TYPE_RUN_END_ENCODED) {
            field = &field->children[1];
        } else {
            return field;
        }
    }
}
