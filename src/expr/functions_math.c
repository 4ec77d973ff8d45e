/* Functions on numbers. Doubles have one loop per function; a result that is not finite where the
 * arguments are, or an argument outside the domain, is an error. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "expr/cast.h"
#include "expr/function_table.h"
#include "expr/kernel.h"
#include "expr/number.h"

#define DIGITS_MAX 38
#define PI         3.14159265358979323846

OCI_BIND(bind_double, "d", OCI_TYPE_FLOAT64)
OCI_BIND(bind_double_test, "d", OCI_TYPE_BOOL)

/* ---- doubles --------------------------------------------------------------------------------- */

static oc_status outside(const char *name, double value, oci_vector *out, oc_error *err)
{
    oci_vector_deinit(out);
    OC_FAIL(err, OC_EINVAL,
            "%s: %.17g is outside of what it is defined for, or its result is out "
            "of range",
            name, value);
}

#define UNARY(name, expression, is_defined)                                                        \
    static oc_status name##_double(const oci_call *call, oci_vector *out, oc_error *err)           \
    {                                                                                              \
        uint8_t *values;                                                                           \
        OC_TRY(oci_vector_make(call->result, call->n, false, call->mem, out, &values, NULL, err)); \
        for (int64_t i = 0; i < call->n; i++) {                                                    \
            double x = oci_arg_double(call, 0, i);                                                 \
            bool good = (is_defined);                                                              \
            double result = good ? (expression) : 0;                                               \
            good = good && (!isinf(result) || isinf(x));                                           \
            if (!good && oci_args_valid(call, i)) {                                                \
                return outside(#name, x, out, err);                                                \
            }                                                                                      \
            memcpy(values + i * 8, &result, sizeof result);                                        \
        }                                                                                          \
        return OC_OK;                                                                              \
    }

UNARY(abs, fabs(x), true)
UNARY(ceil, ceil(x), true)
UNARY(floor, floor(x), true)
UNARY(trunc, trunc(x), true)
UNARY(sign, (double)((x > 0) - (x < 0)), true)
UNARY(round, round(x), true)
UNARY(sqrt, sqrt(x), !(x < 0))
UNARY(cbrt, cbrt(x), true)
UNARY(exp, exp(x), true)
UNARY(ln, log(x), !(x <= 0))
UNARY(log10, log10(x), !(x <= 0))
UNARY(log2, log2(x), !(x <= 0))
UNARY(sin, sin(x), !isinf(x))
UNARY(cos, cos(x), !isinf(x))
UNARY(tan, tan(x), !isinf(x))
UNARY(cot, 1 / tan(x), !isinf(x) && x != 0)
UNARY(asin, asin(x), !(fabs(x) > 1))
UNARY(acos, acos(x), !(fabs(x) > 1))
UNARY(atan, atan(x), true)
UNARY(sinh, sinh(x), true)
UNARY(cosh, cosh(x), true)
UNARY(tanh, tanh(x), true)
UNARY(asinh, asinh(x), true)
UNARY(acosh, acosh(x), !(x < 1))
UNARY(atanh, atanh(x), !(fabs(x) >= 1))
UNARY(degrees, x *(180 / PI), true)
UNARY(radians, x *(PI / 180), true)

#define BINARY(name, expression, is_defined)                                                       \
    static oc_status name##_double(const oci_call *call, oci_vector *out, oc_error *err)           \
    {                                                                                              \
        uint8_t *values;                                                                           \
        OC_TRY(oci_vector_make(call->result, call->n, false, call->mem, out, &values, NULL, err)); \
        for (int64_t i = 0; i < call->n; i++) {                                                    \
            double x = oci_arg_double(call, 0, i);                                                 \
            double y = oci_arg_double(call, 1, i);                                                 \
            bool good = (is_defined);                                                              \
            double result = good ? (expression) : 0;                                               \
            good = good && (!isinf(result) || isinf(x) || isinf(y));                               \
            if (!good && oci_args_valid(call, i)) {                                                \
                return outside(#name, x, out, err);                                                \
            }                                                                                      \
            memcpy(values + i * 8, &result, sizeof result);                                        \
        }                                                                                          \
        return OC_OK;                                                                              \
    }

BINARY(power, pow(x, y), !(x == 0 && y < 0) && !(x < 0 && !isinf(x) && !isinf(y) && y != trunc(y)))
BINARY(atan2, atan2(x, y), true)
BINARY(log, log(y) / log(x), !(x <= 0) && !(y <= 0) && x != 1)
BINARY(div, trunc(x / y), y != 0)

#define TEST(name, expression)                                                                     \
    static oc_status name##_double(const oci_call *call, oci_vector *out, oc_error *err)           \
    {                                                                                              \
        uint8_t *values;                                                                           \
        OC_TRY(oci_vector_make(call->result, call->n, false, call->mem, out, &values, NULL, err)); \
        for (int64_t i = 0; i < call->n; i++) {                                                    \
            double x = oci_arg_double(call, 0, i);                                                 \
            oci_bit_put(values, i, (expression) != 0);                                             \
        }                                                                                          \
        return OC_OK;                                                                              \
    }

TEST(isnan, isnan(x))
TEST(isinf, isinf(x))
TEST(isfinite, isfinite(x))

static oc_status pi_row(const oci_call *call, int64_t i, double *out, oc_error *err)
{
    (void)call, (void)i, (void)err;
    *out = PI;
    return OC_OK;
}

static oc_status pi(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_double(call, pi_row, out, err);
}

/* Scrambles a counter that no two rows of the process share; the start of the statement is in it,
 * so that two runs differ. */
static oc_status random_row(const oci_call *call, int64_t i, double *out, oc_error *err)
{
    static _Atomic uint64_t counter;
    (void)i, (void)err;
    uint64_t x =
        atomic_fetch_add_explicit(&counter, UINT64_C(0x9E3779B97F4A7C15), memory_order_relaxed);
    x += (uint64_t)call->now_us * UINT64_C(0xD1342543DE82EF95);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    x ^= x >> 31;
    *out = (double)(x >> 11) * 0x1p-53;
    return OC_OK;
}

static oc_status random_double(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_double(call, random_row, out, err);
}

/* ---- integers -------------------------------------------------------------------------------- */

/* int32 stays, smaller ones become it, others int64; unsigned 64-bit ones are decimals. */
static bool bind_whole(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    bool is_wide = false;
    for (int32_t i = 0; i < s->n_args; i++) {
        oci_type type = s->args[i].type;
        bool is_open = s->is_literal[i] || type == OCI_TYPE_NULL;
        if (!is_open && (!oci_type_is_integer(type) || type == OCI_TYPE_UINT64)) {
            return false;
        }
        is_wide = is_wide || (!is_open && oci_computed_integer(type).type == OCI_TYPE_INT64);
    }
    s->result = oci_expr_type(is_wide ? OCI_TYPE_INT64 : OCI_TYPE_INT32);
    for (int32_t i = 0; i < s->n_args; i++) {
        s->args[i] = s->result;
    }
    return true;
}

static int64_t whole_at(const oci_call *call, int32_t arg, int64_t i)
{
    return call->args[arg].column.field->byte_width == 4 ? oci_arg_int32(call, arg, i)
                                                         : oci_arg_int64(call, arg, i);
}

static oc_status too_large(const char *name, oc_error *err)
{
    OC_FAIL(err, OC_EINVAL, "%s: the result is out of range", name);
}

static oc_status abs_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    int64_t x = whole_at(call, 0, i);
    if (x == INT64_MIN) {
        return too_large("abs", err);
    }
    *out = x < 0 ? -x : x;
    return OC_OK;
}

static oc_status same_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    (void)err;
    *out = whole_at(call, 0, i);
    return OC_OK;
}

static oc_status sign_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    (void)err;
    int64_t x = whole_at(call, 0, i);
    *out = (x > 0) - (x < 0);
    return OC_OK;
}

static uint64_t magnitude(int64_t x)
{
    return x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static oc_status gcd_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    uint64_t divisor =
        common_divisor(magnitude(whole_at(call, 0, i)), magnitude(whole_at(call, 1, i)));
    if (divisor > INT64_MAX) {
        return too_large("gcd", err);
    }
    *out = (int64_t)divisor;
    return OC_OK;
}

static oc_status lcm_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    uint64_t a = magnitude(whole_at(call, 0, i));
    uint64_t b = magnitude(whole_at(call, 1, i));
    uint64_t divisor = common_divisor(a, b);
    uint64_t multiple = 0;
    if (divisor != 0 && __builtin_mul_overflow(a / divisor, b, &multiple)) {
        return too_large("lcm", err);
    }
    if (multiple > INT64_MAX) {
        return too_large("lcm", err);
    }
    *out = (int64_t)multiple;
    return OC_OK;
}

static oc_status div_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    int64_t a = whole_at(call, 0, i);
    int64_t b = whole_at(call, 1, i);
    if (b == 0) {
        OC_FAIL(err, OC_EINVAL, "division by zero");
    }
    if (a == INT64_MIN && b == -1) {
        return too_large("div", err);
    }
    *out = a / b;
    return OC_OK;
}

static oc_status and_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    (void)err;
    *out = whole_at(call, 0, i) & whole_at(call, 1, i);
    return OC_OK;
}

static oc_status or_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    (void)err;
    *out = whole_at(call, 0, i) | whole_at(call, 1, i);
    return OC_OK;
}

static oc_status xor_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    (void)err;
    *out = whole_at(call, 0, i) ^ whole_at(call, 1, i);
    return OC_OK;
}

static oc_status complement_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    (void)err;
    *out = ~whole_at(call, 0, i);
    return OC_OK;
}

/* As the hardware of PostgreSQL does: the distance counts modulo the width. */
static oc_status shift_left_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    (void)err;
    bool is_short = call->result->byte_width == 4;
    uint64_t by = (uint64_t)whole_at(call, 1, i) & (is_short ? 31 : 63);
    uint64_t shifted = (uint64_t)whole_at(call, 0, i) << by;
    *out = is_short ? (int32_t)(uint32_t)shifted : (int64_t)shifted;
    return OC_OK;
}

static oc_status shift_right_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    (void)err;
    uint64_t by = (uint64_t)whole_at(call, 1, i) & (call->result->byte_width == 4 ? 31 : 63);
    *out = whole_at(call, 0, i) >> by;
    return OC_OK;
}

#define INTEGER(name)                                                                     \
    static oc_status name##_integer(const oci_call *call, oci_vector *out, oc_error *err) \
    {                                                                                     \
        return oci_each_int(call, name##_row, out, err);                                  \
    }

INTEGER(abs)
INTEGER(same)
INTEGER(sign)
INTEGER(gcd)
INTEGER(lcm)
INTEGER(div)
INTEGER(and)
INTEGER(or)
INTEGER(xor)
INTEGER(complement)
INTEGER(shift_left)
INTEGER(shift_right)

/* n! up to what 38 digits hold. */
static bool bind_factorial(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    (void)oci_bind_shape(s, "i", OCI_TYPE_INT64);
    s->result = oci_expr_decimal(DIGITS_MAX, 0);
    return true;
}

static oc_status factorial(const oci_call *call, oci_vector *out, oc_error *err)
{
    uint8_t *values;
    OC_TRY(oci_vector_make(call->result, call->n, false, call->mem, out, &values, NULL, err));
    for (int64_t i = 0; i < call->n; i++) {
        int64_t n = oci_args_valid(call, i) ? oci_arg_int64(call, 0, i) : 0;
        if (n < 0 || n > 33) {
            oci_vector_deinit(out);
            OC_FAIL(err, OC_EINVAL, "factorial: %" PRId64 " is not from 0 to 33", n);
        }
        oci_int128 product = 1;
        for (int64_t k = 2; k <= n; k++) {
            product *= k;
        }
        oci_store_int128(values + i * 16, product);
    }
    return OC_OK;
}

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
    if (digits > DIGITS_MAX) {
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
            digits = digits > from ? from : digits < -DIGITS_MAX ? -DIGITS_MAX : digits;
            int32_t back = to - (int32_t)digits; /* >= 0: the result keeps as many */
            result = drop_digits(decimal_at(call, i), from - (int32_t)digits, how);
            bool fits = back <= DIGITS_MAX || result == 0;
            if (fits && result != 0) {
                fits = !__builtin_mul_overflow(result, oci_power_of_ten(back), &result) &&
                       oci_fits_digits(result, call->result->precision);
            }
            if (!fits) {
                oci_vector_deinit(out);
                return too_large("round", err);
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

/* ---- width_bucket ---------------------------------------------------------------------------- */

static bool bind_bucket(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    return oci_bind_shape(s, "dddi", OCI_TYPE_INT32);
}

static oc_status bucket_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    double x = oci_arg_double(call, 0, i);
    double low = oci_arg_double(call, 1, i);
    double high = oci_arg_double(call, 2, i);
    int64_t count = oci_arg_int64(call, 3, i);
    if (count < 1 || count >= INT32_MAX || !isfinite(low) || !isfinite(high) || low == high ||
        isnan(x)) {
        OC_FAIL(err, OC_EINVAL,
                "width_bucket: the count must be positive, the bounds finite and "
                "not equal, the value a number");
    }
    bool falls = low > high;
    bool is_below = falls ? x > low : x < low;
    bool is_above = falls ? x <= high : x >= high;
    double share = (x - low) / (high - low);
    *out = is_below ? 0 : is_above ? count + 1 : (int64_t)(share * (double)count) + 1;
    return OC_OK;
}

static oc_status width_bucket(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_int(call, bucket_row, out, err);
}

/* ---- other names of operators ---------------------------------------------------------------- */

/* mod(a, b): the entries of the operator are asked, and the one that takes the arguments works. */
static bool bind_mod(oci_signature *s, bool *failed, oc_error *err)
{
    for (const oci_function *f = oci_functions_arithmetic; f->name != NULL; f++) {
        if (strcmp(f->name, "%") == 0 && f->bind(s, failed, err)) {
            s->data = (void *)(uintptr_t)f;
            return true;
        }
    }
    return false;
}

static oc_status mod(const oci_call *call, oci_vector *out, oc_error *err)
{
    const oci_function *entry = call->data;
    return entry->kernel(call, out, err);
}

#define DOUBLE(name_, kernel_) \
    OCI_STRICT(name_, 1, 1, bind_double, kernel_, name_ "(double) -> double")
#define WHOLE(name_, n, kernel_, help_) OCI_STRICT(name_, n, n, bind_whole, kernel_, help_)

/* Rounding and signs: of integers, of decimals, else of doubles. */
#define NUMBER(name_, integer_, bind_decimal_, decimal_, double_, help_) \
    OCI_STRICT(name_, 1, 1, bind_whole, integer_, help_),                \
        OCI_STRICT(name_, 1, 1, bind_decimal_, decimal_, NULL),          \
        OCI_STRICT(name_, 1, 1, bind_double, double_, NULL)

const oci_function oci_functions_math[] = {
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
    DOUBLE("sqrt", sqrt_double),
    OCI_STRICT("|/", 1, 1, bind_double, sqrt_double, "|/ number"),
    DOUBLE("cbrt", cbrt_double),
    OCI_STRICT("||/", 1, 1, bind_double, cbrt_double, "||/ number"),
    DOUBLE("exp", exp_double),
    DOUBLE("ln", ln_double),
    DOUBLE("log", log10_double),
    OCI_STRICT("log", 2, 2, bind_double, log_double, "log(base, number) -> double"),
    DOUBLE("log10", log10_double),
    DOUBLE("log2", log2_double),
    OCI_STRICT("power", 2, 2, bind_double, power_double, "power(base, exponent) -> double"),
    OCI_STRICT("pow", 2, 2, bind_double, power_double, "pow(base, exponent) -> double"),
    OCI_STRICT("^", 2, 2, bind_double, power_double, "base ^ exponent -> double"),
    DOUBLE("sin", sin_double),
    DOUBLE("cos", cos_double),
    DOUBLE("tan", tan_double),
    DOUBLE("cot", cot_double),
    DOUBLE("asin", asin_double),
    DOUBLE("acos", acos_double),
    DOUBLE("atan", atan_double),
    OCI_STRICT("atan2", 2, 2, bind_double, atan2_double, "atan2(y, x) -> double"),
    DOUBLE("sinh", sinh_double),
    DOUBLE("cosh", cosh_double),
    DOUBLE("tanh", tanh_double),
    DOUBLE("asinh", asinh_double),
    DOUBLE("acosh", acosh_double),
    DOUBLE("atanh", atanh_double),
    DOUBLE("degrees", degrees_double),
    DOUBLE("radians", radians_double),
    OCI_STRICT("pi", 0, 0, bind_double, pi, "pi() -> double"),
    {.name = "random",
     .strict = true,
     .is_volatile = true,
     .bind = bind_double,
     .kernel = random_double,
     .help = "random() -> double, from 0 to below 1"},
    OCI_STRICT("isnan", 1, 1, bind_double_test, isnan_double, "isnan(double) -> boolean"),
    OCI_STRICT("isinf", 1, 1, bind_double_test, isinf_double, "isinf(double) -> boolean"),
    OCI_STRICT("isfinite", 1, 1, bind_double_test, isfinite_double, "isfinite(double) -> boolean"),
    OCI_STRICT("mod", 2, 2, bind_mod, mod, "mod(number, number)"),
    WHOLE("div", 2, div_integer, "div(number, number), towards zero"),
    OCI_STRICT("div", 2, 2, bind_double, div_double, NULL),
    WHOLE("gcd", 2, gcd_integer, "gcd(integer, integer)"),
    WHOLE("lcm", 2, lcm_integer, "lcm(integer, integer)"),
    OCI_STRICT("factorial", 1, 1, bind_factorial, factorial, "factorial(integer) -> decimal"),
    OCI_STRICT("width_bucket", 4, 4, bind_bucket, width_bucket,
               "width_bucket(number, low, high, count) -> integer"),
    WHOLE("&", 2, and_integer, "integer & integer"),
    WHOLE("|", 2, or_integer, "integer | integer"),
    WHOLE("#", 2, xor_integer, "integer # integer, exclusive or"),
    WHOLE("xor", 2, xor_integer, "xor(integer, integer)"),
    WHOLE("~", 1, complement_integer, "~ integer"),
    WHOLE("<<", 2, shift_left_integer, "integer << integer"),
    WHOLE(">>", 2, shift_right_integer, "integer >> integer"),
    {.name = NULL},
};
