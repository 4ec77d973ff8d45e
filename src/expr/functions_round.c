/* abs, sign, ceil, floor, round, trunc: of integers, of decimals, else of doubles. */

#include "expr/cast.h"
#include "expr/function_table.h"
#include "expr/number.h"
#include "expr/number_kernel.h"

OCI_BIND(bind_double, "d", OCI_TYPE_FLOAT64)

OCI_UNARY_DOUBLE(abs, fabs(x), true)
OCI_UNARY_DOUBLE(ceil, ceil(x), true)
OCI_UNARY_DOUBLE(floor, floor(x), true)
OCI_UNARY_DOUBLE(trunc, trunc(x), true)
OCI_UNARY_DOUBLE(sign, (double)((x > 0) - (x < 0)), true)
OCI_UNARY_DOUBLE(round, round(x), true)

/* ---- integers ---------------------------------------------------------------------------------- */

static oc_status abs_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    int64_t x = oci_arg_whole(call, 0, i);
    if (x == INT64_MIN) {
        return oci_too_large("abs", err);
    }
    *out = x < 0 ? -x : x;
    return OC_OK;
}

static oc_status same_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    (void)err;
    *out = oci_arg_whole(call, 0, i);
    return OC_OK;
}

static oc_status sign_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    (void)err;
    int64_t x = oci_arg_whole(call, 0, i);
    *out = (x > 0) - (x < 0);
    return OC_OK;
}

OCI_INTEGER_KERNEL(abs)
OCI_INTEGER_KERNEL(same)
OCI_INTEGER_KERNEL(sign)

/* ---- decimals -------------------------------------------------------------------------------- */

static bool takes_decimal(oci_field *arg)
{
    bool is_whole = oci_type_is_integer(arg->type);
    if (!(is_whole || oci_type_is_decimal(arg->type)) || arg->type == OCI_TYPE_DECIMAL256) {
        return false;
    }
    *arg = oci_as_decimal(arg);
    return true;
}

static bool bind_same_decimal(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    if (s->is_literal[0] || !takes_decimal(&s->args[0])) {
        return false;
    }
    s->result = s->args[0];
    return true;
}

/* Digits behind the point go; one more may come in front. */
static bool bind_whole_decimal(oci_signature *s, bool *failed, oc_error *err)
{
    if (!bind_same_decimal(s, failed, err)) {
        return false;
    }
    s->result = oci_expr_decimal(s->args[0].precision - s->args[0].scale + 1, 0);
    return true;
}

static bool bind_round_decimal(oci_signature *s, bool *failed, oc_error *err)
{
    if (!bind_same_decimal(s, failed, err)) {
        return false;
    }
    int32_t scale = s->args[0].scale;
    const oci_column *digits = s->constants[1];
    s->args[1] = oci_expr_type(OCI_TYPE_INT64);
    if (digits != NULL && digits->field->type == OCI_TYPE_INT32 && !oci_column_is_null(digits, 0)) {
        int32_t wanted = (int32_t)oci_load_le32(digits->values + digits->offset * 4);
        scale = wanted < 0 ? 0 : wanted < scale ? wanted : scale;
    }
    s->result = oci_expr_decimal(s->args[0].precision - s->args[0].scale + scale + 1, scale);
    return true;
}

static oci_int128 decimal_at(const oci_call *call, int64_t i)
{
    return oci_load_int128(oci_arg_at(call, 0, i, 16));
}

typedef enum rounding { ROUND_NEAREST, ROUND_TO_ZERO, ROUND_UP, ROUND_DOWN } rounding;

static oci_int128 drop_digits(oci_int128 value, int32_t digits, rounding how)
{
    if (digits > OCI_DECIMAL_DIGITS_MAX) {
        return how == ROUND_UP && value > 0 ? 1 : how == ROUND_DOWN && value < 0 ? -1 : 0;
    }
    if (how == ROUND_NEAREST) {
        return oci_round_digits(value, digits);
    }
    oci_int128 unit = oci_power_of_ten(digits);
    oci_int128 quotient = value / unit;
    oci_int128 rest = value % unit;
    return quotient + (how == ROUND_UP && rest > 0) - (how == ROUND_DOWN && rest < 0);
}

static oc_status round_decimals(const oci_call *call, rounding how, oci_vector *out, oc_error *err)
{
    uint8_t *values;
    int32_t from = call->args[0].column.field->scale;
    int32_t to = call->result->scale;
    OC_TRY(oci_vector_make(call->result, call->n, false, call->mem, out, &values, NULL, err));
    for (int64_t i = 0; i < call->n; i++) {
        oci_int128 result = 0;
        if (oci_args_valid(call, i)) {
            int64_t digits = call->n_args == 2 ? oci_arg_int64(call, 1, i) : 0;
            digits = digits > from                      ? from
                     : digits < -OCI_DECIMAL_DIGITS_MAX ? -OCI_DECIMAL_DIGITS_MAX
                                                        : digits;
            int32_t back = to - (int32_t)digits; /* >= 0: the result keeps as many */
            result = drop_digits(decimal_at(call, i), from - (int32_t)digits, how);
            bool fits = back <= OCI_DECIMAL_DIGITS_MAX || result == 0;
            if (fits && result != 0) {
                fits = !__builtin_mul_overflow(result, oci_power_of_ten(back), &result) &&
                       oci_fits_digits(result, call->result->precision);
            }
            if (!fits) {
                oci_vector_deinit(out);
                return oci_too_large("round", err);
            }
        }
        oci_store_int128(values + i * 16, result);
    }
    return OC_OK;
}

static oc_status round_decimal(const oci_call *call, oci_vector *out, oc_error *err)
{
    return round_decimals(call, ROUND_NEAREST, out, err);
}

static oc_status trunc_decimal(const oci_call *call, oci_vector *out, oc_error *err)
{
    return round_decimals(call, ROUND_TO_ZERO, out, err);
}

static oc_status ceil_decimal(const oci_call *call, oci_vector *out, oc_error *err)
{
    return round_decimals(call, ROUND_UP, out, err);
}

static oc_status floor_decimal(const oci_call *call, oci_vector *out, oc_error *err)
{
    return round_decimals(call, ROUND_DOWN, out, err);
}

static oc_status abs_decimal(const oci_call *call, oci_vector *out, oc_error *err)
{
    uint8_t *values;
    OC_TRY(oci_vector_make(call->result, call->n, false, call->mem, out, &values, NULL, err));
    for (int64_t i = 0; i < call->n; i++) {
        oci_uint128 x = (oci_uint128)decimal_at(call, i);
        oci_store_int128(values + i * 16, (oci_int128)(x >> 127 != 0 ? 0 - x : x));
    }
    return OC_OK;
}

static bool bind_sign_decimal(oci_signature *s, bool *failed, oc_error *err)
{
    if (!bind_same_decimal(s, failed, err)) {
        return false;
    }
    s->result = oci_expr_decimal(1, 0);
    return true;
}

static oc_status sign_decimal(const oci_call *call, oci_vector *out, oc_error *err)
{
    uint8_t *values;
    OC_TRY(oci_vector_make(call->result, call->n, false, call->mem, out, &values, NULL, err));
    for (int64_t i = 0; i < call->n; i++) {
        oci_int128 x = decimal_at(call, i);
        oci_store_int128(values + i * 16, (x > 0) - (x < 0));
    }
    return OC_OK;
}

/* ---- digits of doubles ----------------------------------------------------------------------- */

OCI_BIND(bind_double_digits, "di", OCI_TYPE_FLOAT64)

/* By way of a scaled number: numbers that it would make too large have no such digits anyway. */
static double at_digits(double x, int64_t digits, double (*cut)(double))
{
    if (digits > 308 || digits < -308 || !isfinite(x)) {
        return digits < -308 && isfinite(x) ? 0 : x;
    }
    double unit = pow(10, (double)(digits < 0 ? -digits : digits));
    double scaled = digits < 0 ? x / unit : x * unit;
    if (!isfinite(scaled)) {
        return x;
    }
    double result = digits < 0 ? cut(scaled) * unit : cut(scaled) / unit;
    return isfinite(result) ? result : x;
}

static oc_status round_digits_row(const oci_call *call, int64_t i, double *out, oc_error *err)
{
    (void)err;
    *out = at_digits(oci_arg_double(call, 0, i), oci_arg_int64(call, 1, i), round);
    return OC_OK;
}

static oc_status trunc_digits_row(const oci_call *call, int64_t i, double *out, oc_error *err)
{
    (void)err;
    *out = at_digits(oci_arg_double(call, 0, i), oci_arg_int64(call, 1, i), trunc);
    return OC_OK;
}

static oc_status round_digits(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_double(call, round_digits_row, out, err);
}

static oc_status trunc_digits(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_double(call, trunc_digits_row, out, err);
}

/* Rounding and signs: of integers, of decimals, else of doubles. */
#define NUMBER(name_, integer_, bind_decimal_, decimal_, double_, help_) \
    OCI_STRICT(name_, 1, 1, oci_bind_whole, integer_, help_),            \
        OCI_STRICT(name_, 1, 1, bind_decimal_, decimal_, NULL),          \
        OCI_STRICT(name_, 1, 1, bind_double, double_, NULL)

const oci_function oci_functions_round[] = {
    NUMBER("abs", abs_integer, bind_same_decimal, abs_decimal, abs_double, "abs(number)"),
    OCI_STRICT("@", 1, 1, bind_double, abs_double, "@ number"),
    NUMBER("sign", sign_integer, bind_sign_decimal, sign_decimal, sign_double, "sign(number)"),
    NUMBER("ceil", same_integer, bind_whole_decimal, ceil_decimal, ceil_double, "ceil(number)"),
    NUMBER("ceiling", same_integer, bind_whole_decimal, ceil_decimal, ceil_double,
           "ceiling(number)"),
    NUMBER("floor", same_integer, bind_whole_decimal, floor_decimal, floor_double, "floor(number)"),
    NUMBER("round", same_integer, bind_whole_decimal, round_decimal, round_double,
           "round(number [, digits])"),
    OCI_STRICT("round", 2, 2, bind_round_decimal, round_decimal, NULL),
    OCI_STRICT("round", 2, 2, bind_double_digits, round_digits, NULL),
    NUMBER("trunc", same_integer, bind_whole_decimal, trunc_decimal, trunc_double,
           "trunc(number [, digits])"),
    OCI_STRICT("trunc", 2, 2, bind_round_decimal, trunc_decimal, NULL),
    OCI_STRICT("trunc", 2, 2, bind_double_digits, trunc_digits, NULL),
    {.name = NULL},
};
