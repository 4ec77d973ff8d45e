/* Functions on doubles, a loop per function; a result that is not finite where the arguments are, or
 * an argument outside the domain, is an error. */
#include <math.h>
#include <stdatomic.h>

#include "expr/function_table.h"
#include "expr/number_kernel.h"

#define PI 3.14159265358979323846

OCI_BIND(bind_double, "d", OCI_TYPE_FLOAT64)
OCI_BIND(bind_double_test, "d", OCI_TYPE_BOOL)

/* ---- doubles --------------------------------------------------------------------------------- */

OCI_UNARY_DOUBLE(sqrt, sqrt(x), !(x < 0))
OCI_UNARY_DOUBLE(cbrt, cbrt(x), true)
OCI_UNARY_DOUBLE(exp, exp(x), true)
OCI_UNARY_DOUBLE(ln, log(x), !(x <= 0))
OCI_UNARY_DOUBLE(log10, log10(x), !(x <= 0))
OCI_UNARY_DOUBLE(log2, log2(x), !(x <= 0))
OCI_UNARY_DOUBLE(sin, sin(x), !isinf(x))
OCI_UNARY_DOUBLE(cos, cos(x), !isinf(x))
OCI_UNARY_DOUBLE(tan, tan(x), !isinf(x))
OCI_UNARY_DOUBLE(cot, 1 / tan(x), !isinf(x) && x != 0)
OCI_UNARY_DOUBLE(asin, asin(x), !(fabs(x) > 1))
OCI_UNARY_DOUBLE(acos, acos(x), !(fabs(x) > 1))
OCI_UNARY_DOUBLE(atan, atan(x), true)
OCI_UNARY_DOUBLE(sinh, sinh(x), true)
OCI_UNARY_DOUBLE(cosh, cosh(x), true)
OCI_UNARY_DOUBLE(tanh, tanh(x), true)
OCI_UNARY_DOUBLE(asinh, asinh(x), true)
OCI_UNARY_DOUBLE(acosh, acosh(x), !(x < 1))
OCI_UNARY_DOUBLE(atanh, atanh(x), !(fabs(x) >= 1))
OCI_UNARY_DOUBLE(degrees, x *(180 / PI), true)
OCI_UNARY_DOUBLE(radians, x *(PI / 180), true)

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
                oci_vector_deinit(out);                                                            \
                return oci_outside(#name, x, err);                                                 \
            }                                                                                      \
            memcpy(values + i * 8, &result, sizeof result);                                        \
        }                                                                                          \
        return OC_OK;                                                                              \
    }

BINARY(power, pow(x, y), !(x == 0 && y < 0) && !(x < 0 && !isinf(x) && !isinf(y) && y != trunc(y)))
BINARY(atan2, atan2(x, y), true)
BINARY(log, log(y) / log(x), !(x <= 0) && !(y <= 0) && x != 1)

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

#define DOUBLE(name_, kernel_) \
    OCI_STRICT(name_, 1, 1, bind_double, kernel_, name_ "(double) -> double")

const oci_function oci_functions_math[] = {
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
    OCI_STRICT("width_bucket", 4, 4, bind_bucket, width_bucket,
               "width_bucket(number, low, high, count) -> integer"),
    {.name = NULL},
};
