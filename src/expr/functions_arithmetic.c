/* + - * / % and minus, on integers, decimals, doubles, and on dates, timestamps and intervals.
 *
 * Integers check for overflow, decimals for 38 digits; a quotient of decimals is computed in 128 bits with the
 * numerator scaled up, in long arithmetic where that does not fit. */
#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "expr/cast.h"
#include "expr/expr.h"
#include "expr/function_table.h"
#include "expr/interval.h"
#include "expr/number.h"
#include "formats/calendar.h"

#define DIGITS_MAX    38
#define SCALE_MIN     6
#define NANOS_PER_DAY INT64_C(86400000000000)

static oc_status out_of_range(const oci_call *call, oc_error *err)
{
    char type[64];
    oci_type_sql_name(call->result, type, sizeof type);
    OC_FAIL(err, OC_EINVAL, "%s out of range", type);
}

static oc_status division_by_zero(oc_error *err)
{
    OC_FAIL(err, OC_EINVAL, "division by zero");
}

static bool is_valid(const oci_call *call, int64_t i)
{
    for (int32_t a = 0; a < call->n_args; a++) {
        const oci_vector *arg = &call->args[a];
        const oci_column *column = &arg->column;
        if (column->validity != NULL &&
            !oci_bit_get(column->validity, column->offset + oci_vector_row(arg, i))) {
            return false;
        }
    }
    return true;
}

static inline const uint8_t *value_at(const oci_vector *arg, int64_t i, int64_t width)
{
    return arg->column.values + (arg->column.offset + oci_vector_row(arg, i)) * width;
}

/* ---- binding --------------------------------------------------------------------------------- */

static bool is_open(const oci_signature *s, int32_t i)
{
    return s->is_literal[i] || s->args[i].type == OCI_TYPE_NULL;
}

/* Texts whose type is open, and nulls, become what the other side is. */
static bool settle_literals(oci_signature *s)
{
    if (s->n_args == 2 && is_open(s, 0) != is_open(s, 1)) {
        s->args[is_open(s, 0) ? 0 : 1] = s->args[is_open(s, 0) ? 1 : 0];
    }
    return true;
}

static bool both(const oci_signature *s, bool (*is)(oci_type type))
{
    return is(s->args[0].type) && is(s->args[1].type);
}

static bool bind_integers(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    settle_literals(s);
    if (!both(s, oci_type_is_integer)) {
        return false;
    }
    oci_field a = oci_computed_integer(s->args[0].type);
    oci_field b = oci_computed_integer(s->args[1].type);
    if (a.type == OCI_TYPE_DECIMAL128 || b.type == OCI_TYPE_DECIMAL128) {
        return false;
    }
    s->result = a.type == OCI_TYPE_INT64 ? a : b;
    s->args[0] = s->args[1] = s->result;
    return true;
}

static bool bind_doubles(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    settle_literals(s);
    if (!both(s, oci_type_is_number) ||
        !(oci_type_is_float(s->args[0].type) || oci_type_is_float(s->args[1].type))) {
        return false;
    }
    s->result = s->args[0] = s->args[1] = oci_expr_type(OCI_TYPE_FLOAT64);
    return true;
}

static bool as_decimals(oci_signature *s)
{
    settle_literals(s);
    if (!both(s, oci_type_is_number) || oci_type_is_float(s->args[0].type) ||
        oci_type_is_float(s->args[1].type) || s->args[0].type == OCI_TYPE_DECIMAL256 ||
        s->args[1].type == OCI_TYPE_DECIMAL256) {
        return false;
    }
    s->args[0] = oci_as_decimal(&s->args[0]);
    s->args[1] = oci_as_decimal(&s->args[1]);
    return true;
}

static int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static bool bind_decimal_sum(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    if (!as_decimals(s)) {
        return false;
    }
    int32_t scale = larger(s->args[0].scale, s->args[1].scale);
    int32_t before =
        larger(s->args[0].precision - s->args[0].scale, s->args[1].precision - s->args[1].scale);
    s->result = oci_expr_decimal(before + scale + 1, scale);
    return true;
}

static bool bind_decimal_rest(oci_signature *s, bool *failed, oc_error *err)
{
    if (!bind_decimal_sum(s, failed, err)) {
        return false;
    }
    s->result.precision = larger(s->args[1].precision - s->args[1].scale, 1) + s->result.scale;
    s->result.precision = s->result.precision > DIGITS_MAX ? DIGITS_MAX : s->result.precision;
    return true;
}

static bool bind_decimal_product(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    if (!as_decimals(s)) {
        return false;
    }
    s->result = oci_expr_decimal(s->args[0].precision + s->args[1].precision,
                                 s->args[0].scale + s->args[1].scale);
    return s->args[0].scale + s->args[1].scale <= DIGITS_MAX;
}

static bool bind_decimal_quotient(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    if (!as_decimals(s)) {
        return false;
    }
    int32_t before = s->args[0].precision - s->args[0].scale + s->args[1].scale;
    int32_t scale = larger(SCALE_MIN, s->args[0].scale + s->args[1].precision + 1);
    scale = before + scale > DIGITS_MAX ? larger(SCALE_MIN, DIGITS_MAX - before) : scale;
    s->result = oci_expr_decimal(before + scale, scale);
    return true;
}

/* ---- integers -------------------------------------------------------------------------------- */

#define INT_KERNEL(name, type, operation)                                                          \
    static oc_status name(const oci_call *call, oci_vector *out, oc_error *err)                    \
    {                                                                                              \
        uint8_t *values;                                                                           \
        OC_TRY(oci_vector_make(call->result, call->n, false, call->mem, out, &values, NULL, err)); \
        for (int64_t i = 0; i < call->n; i++) {                                                    \
            type a;                                                                                \
            type b;                                                                                \
            type result = 0;                                                                       \
            memcpy(&a, value_at(&call->args[0], i, sizeof a), sizeof a);                           \
            memcpy(&b, value_at(&call->args[1], i, sizeof b), sizeof b);                           \
            if (operation(a, b, &result) && is_valid(call, i)) {                                   \
                oci_vector_deinit(out);                                                            \
                return out_of_range(call, err);                                                    \
            }                                                                                      \
            memcpy(values + i * (int64_t)sizeof result, &result, sizeof result);                   \
        }                                                                                          \
        return OC_OK;                                                                              \
    }

INT_KERNEL(add_int32, int32_t, __builtin_add_overflow)
INT_KERNEL(add_int64, int64_t, __builtin_add_overflow)
INT_KERNEL(subtract_int32, int32_t, __builtin_sub_overflow)
INT_KERNEL(subtract_int64, int64_t, __builtin_sub_overflow)
INT_KERNEL(multiply_int32, int32_t, __builtin_mul_overflow)
INT_KERNEL(multiply_int64, int64_t, __builtin_mul_overflow)

static int64_t load_integer(const oci_vector *arg, int64_t i, int64_t width)
{
    const uint8_t *from = value_at(arg, i, width);
    return width == 4 ? (int32_t)oci_load_le32(from) : (int64_t)oci_load_le64(from);
}

static oc_status divide_integers(const oci_call *call, bool is_rest, oci_vector *out, oc_error *err)
{
    uint8_t *values;
    int64_t width = call->result->byte_width;
    int64_t least = width == 4 ? INT32_MIN : INT64_MIN;
    OC_TRY(oci_vector_make(call->result, call->n, false, call->mem, out, &values, NULL, err));
    for (int64_t i = 0; i < call->n; i++) {
        int64_t result = 0;
        if (is_valid(call, i)) {
            int64_t a = load_integer(&call->args[0], i, width);
            int64_t b = load_integer(&call->args[1], i, width);
            if (b == 0 || (b == -1 && a == least && !is_rest)) {
                oci_vector_deinit(out);
                return b == 0 ? division_by_zero(err) : out_of_range(call, err);
            }
            result = b == -1 ? (is_rest ? 0 : -a) : is_rest ? a % b : a / b;
        }
        if (width == 4) {
            oci_store_le32(values + i * 4, (uint32_t)(int32_t)result);
        } else {
            oci_store_le64(values + i * 8, (uint64_t)result);
        }
    }
    return OC_OK;
}

static oc_status quotient_integer(const oci_call *call, oci_vector *out, oc_error *err)
{
    return divide_integers(call, false, out, err);
}

static oc_status rest_integer(const oci_call *call, oci_vector *out, oc_error *err)
{
    return divide_integers(call, true, out, err);
}

#define DISPATCH_INT(name, narrow, wide)                                                      \
    static oc_status name(const oci_call *call, oci_vector *out, oc_error *err)               \
    {                                                                                         \
        return call->result->byte_width == 4 ? narrow(call, out, err) : wide(call, out, err); \
    }

DISPATCH_INT(add_integer, add_int32, add_int64)
DISPATCH_INT(subtract_integer, subtract_int32, subtract_int64)
DISPATCH_INT(multiply_integer, multiply_int32, multiply_int64)

/* ---- doubles --------------------------------------------------------------------------------- */

static double load_double(const oci_vector *arg, int64_t i)
{
    double value;
    memcpy(&value, value_at(arg, i, 8), sizeof value);
    return value;
}

/* A finite result of finite arguments is asked for, as in PostgreSQL. */
#define DOUBLE_KERNEL(name, expression, zero_divides)                                              \
    static oc_status name(const oci_call *call, oci_vector *out, oc_error *err)                    \
    {                                                                                              \
        uint8_t *values;                                                                           \
        OC_TRY(oci_vector_make(call->result, call->n, false, call->mem, out, &values, NULL, err)); \
        for (int64_t i = 0; i < call->n; i++) {                                                    \
            double a = load_double(&call->args[0], i);                                             \
            double b = load_double(&call->args[1], i);                                             \
            double result = (expression);                                                          \
            bool is_wrong = ((zero_divides) && b == 0) ||                                          \
                            (isinf(result) && !isinf(a) && !isinf(b));                             \
            if (is_wrong && is_valid(call, i)) {                                                   \
                oci_vector_deinit(out);                                                            \
                return (zero_divides) && b == 0 ? division_by_zero(err) : out_of_range(call, err); \
            }                                                                                      \
            memcpy(values + i * 8, &result, sizeof result);                                        \
        }                                                                                          \
        return OC_OK;                                                                              \
    }

DOUBLE_KERNEL(add_double, a + b, false)
DOUBLE_KERNEL(subtract_double, a - b, false)
DOUBLE_KERNEL(multiply_double, a *b, false)
DOUBLE_KERNEL(divide_double, b == 0 ? 0 : a / b, true)
DOUBLE_KERNEL(rest_double, b == 0 ? 0 : fmod(a, b), true)

/* ---- decimals -------------------------------------------------------------------------------- */

/* false: it passes 128 bits. */
static bool rescaled(oci_int128 value, int32_t from, int32_t to, oci_int128 *out)
{
    return !__builtin_mul_overflow(value, oci_power_of_ten(to - from), out);
}

/* a * 10^digits / b in long arithmetic, half away from zero; false when it passes 127 bits. a, b > 0. */
static bool long_quotient(oci_uint128 a, int32_t digits, oci_uint128 b, oci_uint128 *out)
{
    oci_uint128 quotient = a / b;
    oci_uint128 rest = a % b;
    for (int32_t i = 0; i < digits; i++) {
        /* rest * 10 may pass 128 bits: ten additions modulo b. */
        oci_uint128 sum = 0;
        oci_uint128 carries = 0;
        for (int k = 0; k < 10; k++) {
            if (sum >= b - rest) {
                sum -= b - rest;
                carries++;
            } else {
                sum += rest;
            }
        }
        if (quotient > (((oci_uint128)1 << 127) - 1 - carries) / 10) {
            return false;
        }
        quotient = quotient * 10 + carries;
        rest = sum;
    }
    *out = quotient + (rest >= b - rest);
    return true;
}

typedef enum decimal_operation {
    DECIMAL_ADD,
    DECIMAL_SUBTRACT,
    DECIMAL_MULTIPLY,
    DECIMAL_DIVIDE,
    DECIMAL_REST
} decimal_operation;

/* false: out of range. b is not 0 for divisions. */
static bool compute(const oci_call *call, decimal_operation operation, oci_int128 a, oci_int128 b,
                    oci_int128 *out)
{
    int32_t a_scale = call->args[0].column.field->scale;
    int32_t b_scale = call->args[1].column.field->scale;
    int32_t scale = call->result->scale;
    oci_int128 x;
    oci_int128 y;
    switch (operation) {
    case DECIMAL_MULTIPLY: return !__builtin_mul_overflow(a, b, out);
    case DECIMAL_DIVIDE: {
        bool negative = (a < 0) != (b < 0);
        oci_uint128 magnitude;
        int32_t digits = scale - a_scale + b_scale;
        if (!long_quotient(a < 0 ? -(oci_uint128)a : (oci_uint128)a, digits > 0 ? digits : 0,
                           b < 0 ? -(oci_uint128)b : (oci_uint128)b, &magnitude)) {
            return false;
        }
        *out = negative ? -(oci_int128)magnitude : (oci_int128)magnitude;
        return true;
    }
    default: break;
    }
    if (!rescaled(a, a_scale, scale, &x) || !rescaled(b, b_scale, scale, &y)) {
        return false;
    }
    switch (operation) {
    case DECIMAL_ADD: return !__builtin_add_overflow(x, y, out);
    case DECIMAL_SUBTRACT: return !__builtin_sub_overflow(x, y, out);
    default: *out = x % y; return true;
    }
}

static oc_status decimals(const oci_call *call, decimal_operation operation, oci_vector *out,
                          oc_error *err)
{
    uint8_t *values;
    bool divides = operation == DECIMAL_DIVIDE || operation == DECIMAL_REST;
    oci_int128 limit = oci_power_of_ten(call->result->precision);
    OC_TRY(oci_vector_make(call->result, call->n, false, call->mem, out, &values, NULL, err));
    for (int64_t i = 0; i < call->n; i++) {
        oci_int128 result = 0;
        if (is_valid(call, i)) {
            oci_int128 a = oci_load_int128(value_at(&call->args[0], i, 16));
            oci_int128 b = oci_load_int128(value_at(&call->args[1], i, 16));
            bool is_zero = divides && b == 0;
            if (is_zero || !compute(call, operation, a, b, &result) || result >= limit ||
                result <= -limit) {
                oci_vector_deinit(out);
                return is_zero ? division_by_zero(err) : out_of_range(call, err);
            }
        }
        oci_store_int128(values + i * 16, result);
    }
    return OC_OK;
}

#define DECIMAL_KERNEL(name, operation)                                         \
    static oc_status name(const oci_call *call, oci_vector *out, oc_error *err) \
    {                                                                           \
        return decimals(call, operation, out, err);                             \
    }

DECIMAL_KERNEL(add_decimal, DECIMAL_ADD)
DECIMAL_KERNEL(subtract_decimal, DECIMAL_SUBTRACT)
DECIMAL_KERNEL(multiply_decimal, DECIMAL_MULTIPLY)
DECIMAL_KERNEL(divide_decimal, DECIMAL_DIVIDE)
DECIMAL_KERNEL(rest_decimal, DECIMAL_REST)

/* ---- minus ----------------------------------------------------------------------------------- */

static bool bind_minus(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    oci_type type = s->args[0].type;
    if (oci_type_is_integer(type)) {
        s->args[0] = oci_computed_integer(type);
    } else if (oci_type_is_float(type)) {
        s->args[0] = oci_expr_type(OCI_TYPE_FLOAT64);
    } else if (oci_type_is_decimal(type) && type != OCI_TYPE_DECIMAL256) {
        s->args[0] = oci_as_decimal(&s->args[0]);
    } else if (type >= OCI_TYPE_INTERVAL_MONTHS && type <= OCI_TYPE_INTERVAL_MONTH_DAY_NANO) {
        s->args[0] = oci_expr_type(OCI_TYPE_INTERVAL_MONTH_DAY_NANO);
    } else {
        return false;
    }
    s->result = s->args[0];
    return true;
}

static oc_status minus(const oci_call *call, oci_vector *out, oc_error *err)
{
    uint8_t *values;
    int64_t width = call->result->byte_width;
    const oci_vector *arg = &call->args[0];
    OC_TRY(oci_vector_make(call->result, call->n, false, call->mem, out, &values, NULL, err));
    for (int64_t i = 0; i < call->n; i++) {
        uint8_t *to = values + i * width;
        const uint8_t *from = value_at(arg, i, width);
        int64_t small = 0;
        bool fits = true;
        switch (call->result->type) {
        case OCI_TYPE_FLOAT64:
            memcpy(to, from, 8);
            to[7] ^= 0x80;
            break;
        case OCI_TYPE_DECIMAL128: oci_store_int128(to, -oci_load_int128(from)); break;
        case OCI_TYPE_INTERVAL_MONTH_DAY_NANO: {
            oci_interval interval;
            oci_interval_load(call->result, from, 0, &interval);
            interval = (oci_interval){-interval.months, -interval.days, -interval.nanos};
            fits = oci_interval_store(&interval, to, 0);
            break;
        }
        default:
            small = load_integer(arg, i, width);
            fits = small != (width == 4 ? INT32_MIN : INT64_MIN);
            small = fits ? -small : 0;
            memcpy(to, &small, (size_t)width);
            break;
        }
        if (!fits && is_valid(call, i)) {
            oci_vector_deinit(out);
            return out_of_range(call, err);
        }
    }
    return OC_OK;
}

/* ---- dates, timestamps, intervals ------------------------------------------------------------ */

static bool is_interval(oci_type type)
{
    return type >= OCI_TYPE_INTERVAL_MONTHS && type <= OCI_TYPE_INTERVAL_MONTH_DAY_NANO;
}

static bool is_date(oci_type type)
{
    return type == OCI_TYPE_DATE32 || type == OCI_TYPE_DATE64;
}

/* date + integer, integer + date, date - integer: days. */
static bool bind_date_days(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    if (!is_date(s->args[0].type) || !oci_type_is_integer(s->args[1].type)) {
        return false;
    }
    s->args[0] = s->result = oci_expr_type(OCI_TYPE_DATE32);
    s->args[1] = oci_expr_type(OCI_TYPE_INT32);
    return true;
}

static bool bind_days_date(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    if (!is_date(s->args[1].type) || !oci_type_is_integer(s->args[0].type)) {
        return false;
    }
    s->args[1] = s->result = oci_expr_type(OCI_TYPE_DATE32);
    s->args[0] = oci_expr_type(OCI_TYPE_INT32);
    return true;
}

static bool bind_date_difference(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    settle_literals(s);
    if (!is_date(s->args[0].type) || !is_date(s->args[1].type)) {
        return false;
    }
    s->args[0] = s->args[1] = oci_expr_type(OCI_TYPE_DATE32);
    s->result = oci_expr_type(OCI_TYPE_INT32);
    return true;
}

/* All of these are 32-bit integers inside. */
static oc_status add_days(const oci_call *call, oci_vector *out, oc_error *err)
{
    return add_int32(call, out, err);
}

static oc_status subtract_days(const oci_call *call, oci_vector *out, oc_error *err)
{
    return subtract_int32(call, out, err);
}

/* moment + interval; a date becomes a timestamp. */
static bool bind_moment(oci_signature *s, int32_t moment, int32_t interval)
{
    oci_type type = s->args[moment].type;
    bool is_span = is_interval(s->args[interval].type);
    if (!(is_date(type) || type == OCI_TYPE_TIMESTAMP) || !is_span) {
        return false;
    }
    if (is_date(type)) {
        s->args[moment] = oci_expr_type(OCI_TYPE_TIMESTAMP);
    }
    s->result = s->args[moment];
    s->result.name = NULL;
    s->args[interval] = oci_expr_type(OCI_TYPE_INTERVAL_MONTH_DAY_NANO);
    return true;
}

static bool bind_moment_interval(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    return bind_moment(s, 0, 1);
}

static bool bind_interval_moment(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    return bind_moment(s, 1, 0);
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static bool shift_moment(int64_t moment, int64_t units_per_day, const oci_interval *by,
                         int64_t *out)
{
    int64_t day = floor_div(moment, units_per_day);
    int64_t rest = moment - day * units_per_day;
    day = by->months != 0 ? oci_add_months(day, by->months) : day;
    int64_t nanos_per_unit = NANOS_PER_DAY / units_per_day;
    return oci_add64(day, by->days, &day) && oci_mul64(day, units_per_day, out) &&
           oci_add64(*out, rest, out) && oci_add64(*out, floor_div(by->nanos, nanos_per_unit), out);
}

static int64_t units_per_day(oci_time_unit unit)
{
    static const int64_t units[] = {86400, 86400000, INT64_C(86400000000), NANOS_PER_DAY};
    return units[unit];
}

static oc_status shift(const oci_call *call, int32_t moment, int64_t sign, oci_vector *out,
                       oc_error *err)
{
    uint8_t *values;
    const oci_vector *interval = &call->args[1 - moment];
    OC_TRY(oci_vector_make(call->result, call->n, false, call->mem, out, &values, NULL, err));
    for (int64_t i = 0; i < call->n; i++) {
        int64_t result = 0;
        if (is_valid(call, i)) {
            oci_interval by;
            oci_interval_load(interval->column.field, value_at(interval, i, 16), 0, &by);
            by = (oci_interval){sign * by.months, sign * by.days, sign * by.nanos};
            int64_t from = (int64_t)oci_load_le64(value_at(&call->args[moment], i, 8));
            if (!shift_moment(from, units_per_day(call->result->unit), &by, &result)) {
                oci_vector_deinit(out);
                return out_of_range(call, err);
            }
        }
        oci_store_le64(values + i * 8, (uint64_t)result);
    }
    return OC_OK;
}

static oc_status add_interval(const oci_call *call, oci_vector *out, oc_error *err)
{
    return shift(call, 0, 1, out, err);
}

static oc_status interval_added(const oci_call *call, oci_vector *out, oc_error *err)
{
    return shift(call, 1, 1, out, err);
}

static oc_status subtract_interval(const oci_call *call, oci_vector *out, oc_error *err)
{
    return shift(call, 0, -1, out, err);
}

static bool bind_timestamps(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed;
    settle_literals(s);
    oci_field common;
    bool moments = (is_date(s->args[0].type) || s->args[0].type == OCI_TYPE_TIMESTAMP) &&
                   (is_date(s->args[1].type) || s->args[1].type == OCI_TYPE_TIMESTAMP);
    if (!moments || oci_common_type(&s->args[0], &s->args[1], &common, err) != OC_OK ||
        common.type != OCI_TYPE_TIMESTAMP) {
        return false;
    }
    s->args[0] = s->args[1] = common;
    s->result = oci_expr_type(OCI_TYPE_INTERVAL_MONTH_DAY_NANO);
    return true;
}

static oc_status timestamp_difference(const oci_call *call, oci_vector *out, oc_error *err)
{
    uint8_t *values;
    int64_t per_day = units_per_day(call->args[0].column.field->unit);
    OC_TRY(oci_vector_make(call->result, call->n, false, call->mem, out, &values, NULL, err));
    for (int64_t i = 0; i < call->n; i++) {
        int64_t a = (int64_t)oci_load_le64(value_at(&call->args[0], i, 8));
        int64_t b = (int64_t)oci_load_le64(value_at(&call->args[1], i, 8));
        int64_t difference = 0;
        if (!oci_sub64(a, b, &difference) && is_valid(call, i)) {
            oci_vector_deinit(out);
            return out_of_range(call, err);
        }
        oci_interval interval = {0, difference / per_day,
                                 difference % per_day * (NANOS_PER_DAY / per_day)};
        (void)oci_interval_store(&interval, values, i);
    }
    return OC_OK;
}

static bool bind_intervals(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    settle_literals(s);
    if (!both(s, is_interval)) {
        return false;
    }
    s->args[0] = s->args[1] = s->result = oci_expr_type(OCI_TYPE_INTERVAL_MONTH_DAY_NANO);
    return true;
}

static oc_status sum_intervals(const oci_call *call, int64_t sign, oci_vector *out, oc_error *err)
{
    uint8_t *values;
    OC_TRY(oci_vector_make(call->result, call->n, false, call->mem, out, &values, NULL, err));
    for (int64_t i = 0; i < call->n; i++) {
        oci_interval a;
        oci_interval b;
        oci_interval_load(call->result, value_at(&call->args[0], i, 16), 0, &a);
        oci_interval_load(call->result, value_at(&call->args[1], i, 16), 0, &b);
        int64_t nanos;
        bool good = sign > 0 ? oci_add64(a.nanos, b.nanos, &nanos)
                             : oci_sub64(a.nanos, b.nanos, &nanos);
        oci_interval sum = {a.months + sign * b.months, a.days + sign * b.days, nanos};
        if (!(oci_interval_store(&sum, values, i) && good) && is_valid(call, i)) {
            oci_vector_deinit(out);
            return out_of_range(call, err);
        }
    }
    return OC_OK;
}

static oc_status add_intervals(const oci_call *call, oci_vector *out, oc_error *err)
{
    return sum_intervals(call, 1, out, err);
}

static oc_status subtract_intervals(const oci_call *call, oci_vector *out, oc_error *err)
{
    return sum_intervals(call, -1, out, err);
}

static bool bind_scaling(oci_signature *s, int32_t interval)
{
    if (!is_interval(s->args[interval].type) || !oci_type_is_number(s->args[1 - interval].type)) {
        return false;
    }
    s->args[interval] = s->result = oci_expr_type(OCI_TYPE_INTERVAL_MONTH_DAY_NANO);
    s->args[1 - interval] = oci_expr_type(OCI_TYPE_FLOAT64);
    return true;
}

static bool bind_interval_number(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    return bind_scaling(s, 0);
}

static bool bind_number_interval(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    return bind_scaling(s, 1);
}

/* Parts of a month become days, parts of a day time. */
static bool scaled(const oci_interval *interval, double factor, oci_interval *out)
{
    double months = (double)interval->months * factor;
    double whole_months = trunc(months);
    double days = (double)interval->days * factor + (months - whole_months) * 30;
    double whole_days = trunc(days);
    double nanos = (double)interval->nanos * factor + (days - whole_days) * (double)NANOS_PER_DAY;
    if (!(fabs(whole_months) < 2e9 && fabs(whole_days) < 2e9 && fabs(nanos) < 9e18)) {
        return false;
    }
    /* To microseconds, as double does not tell finer ones. */
    *out = (oci_interval){(int64_t)whole_months, (int64_t)whole_days,
                          (int64_t)llround(nanos / 1000) * 1000};
    return true;
}

static oc_status scale_interval(const oci_call *call, int32_t at, bool divides, oci_vector *out,
                                oc_error *err)
{
    uint8_t *values;
    OC_TRY(oci_vector_make(call->result, call->n, false, call->mem, out, &values, NULL, err));
    for (int64_t i = 0; i < call->n; i++) {
        oci_interval interval = {0};
        if (is_valid(call, i)) {
            double factor = load_double(&call->args[1 - at], i);
            oci_interval given;
            oci_interval_load(call->result, value_at(&call->args[at], i, 16), 0, &given);
            if ((divides && factor == 0) ||
                !scaled(&given, divides ? 1 / factor : factor, &interval)) {
                oci_vector_deinit(out);
                return divides && factor == 0 ? division_by_zero(err) : out_of_range(call, err);
            }
        }
        (void)oci_interval_store(&interval, values, i);
    }
    return OC_OK;
}

static oc_status interval_times(const oci_call *call, oci_vector *out, oc_error *err)
{
    return scale_interval(call, 0, false, out, err);
}

static oc_status times_interval(const oci_call *call, oci_vector *out, oc_error *err)
{
    return scale_interval(call, 1, false, out, err);
}

static oc_status interval_divided(const oci_call *call, oci_vector *out, oc_error *err)
{
    return scale_interval(call, 0, true, out, err);
}

#define BINARY(name_, bind_, kernel_)                                                   \
    {                                                                                   \
        .name = (name_), .args_min = 2, .args_max = 2, .strict = true, .bind = (bind_), \
        .kernel = (kernel_)                                                             \
    }

const oci_function oci_functions_arithmetic[] = {
    BINARY("+", bind_integers, add_integer),
    BINARY("+", bind_doubles, add_double),
    BINARY("+", bind_decimal_sum, add_decimal),
    BINARY("+", bind_date_days, add_days),
    BINARY("+", bind_days_date, add_days),
    BINARY("+", bind_moment_interval, add_interval),
    BINARY("+", bind_interval_moment, interval_added),
    BINARY("+", bind_intervals, add_intervals),
    BINARY("-", bind_integers, subtract_integer),
    BINARY("-", bind_doubles, subtract_double),
    BINARY("-", bind_decimal_sum, subtract_decimal),
    BINARY("-", bind_date_days, subtract_days),
    BINARY("-", bind_date_difference, subtract_days),
    BINARY("-", bind_moment_interval, subtract_interval),
    BINARY("-", bind_timestamps, timestamp_difference),
    BINARY("-", bind_intervals, subtract_intervals),
    {.name = "-",
     .args_min = 1,
     .args_max = 1,
     .strict = true,
     .bind = bind_minus,
     .kernel = minus},
    BINARY("*", bind_integers, multiply_integer),
    BINARY("*", bind_doubles, multiply_double),
    BINARY("*", bind_decimal_product, multiply_decimal),
    BINARY("*", bind_interval_number, interval_times),
    BINARY("*", bind_number_interval, times_interval),
    BINARY("/", bind_integers, quotient_integer),
    BINARY("/", bind_doubles, divide_double),
    BINARY("/", bind_decimal_quotient, divide_decimal),
    BINARY("/", bind_interval_number, interval_divided),
    BINARY("%", bind_integers, rest_integer),
    BINARY("%", bind_doubles, rest_double),
    BINARY("%", bind_decimal_rest, rest_decimal),
    {.name = NULL},
};
