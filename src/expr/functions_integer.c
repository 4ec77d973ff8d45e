/* Functions and operators of integers: division, divisors, bits. */
#include <math.h>

#include "expr/function_table.h"
#include "expr/number.h"
#include "expr/number_kernel.h"

OCI_BIND(bind_double, "d", OCI_TYPE_FLOAT64)

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
        common_divisor(magnitude(oci_arg_whole(call, 0, i)), magnitude(oci_arg_whole(call, 1, i)));
    if (divisor > INT64_MAX) {
        return oci_too_large("gcd", err);
    }
    *out = (int64_t)divisor;
    return OC_OK;
}

static oc_status lcm_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    uint64_t a = magnitude(oci_arg_whole(call, 0, i));
    uint64_t b = magnitude(oci_arg_whole(call, 1, i));
    uint64_t divisor = common_divisor(a, b);
    uint64_t multiple = 0;
    if (divisor != 0 && __builtin_mul_overflow(a / divisor, b, &multiple)) {
        return oci_too_large("lcm", err);
    }
    if (multiple > INT64_MAX) {
        return oci_too_large("lcm", err);
    }
    *out = (int64_t)multiple;
    return OC_OK;
}

static oc_status div_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    int64_t a = oci_arg_whole(call, 0, i);
    int64_t b = oci_arg_whole(call, 1, i);
    if (b == 0) {
        OC_FAIL(err, OC_EINVAL, "division by zero");
    }
    if (a == INT64_MIN && b == -1) {
        return oci_too_large("div", err);
    }
    *out = a / b;
    return OC_OK;
}

static oc_status and_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    (void)err;
    *out = oci_arg_whole(call, 0, i) & oci_arg_whole(call, 1, i);
    return OC_OK;
}

static oc_status or_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    (void)err;
    *out = oci_arg_whole(call, 0, i) | oci_arg_whole(call, 1, i);
    return OC_OK;
}

static oc_status xor_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    (void)err;
    *out = oci_arg_whole(call, 0, i) ^ oci_arg_whole(call, 1, i);
    return OC_OK;
}

static oc_status complement_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    (void)err;
    *out = ~oci_arg_whole(call, 0, i);
    return OC_OK;
}

/* As the hardware of PostgreSQL does: the distance counts modulo the width. */
static oc_status shift_left_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    (void)err;
    bool is_short = call->result->byte_width == 4;
    uint64_t by = (uint64_t)oci_arg_whole(call, 1, i) & (is_short ? 31 : 63);
    uint64_t shifted = (uint64_t)oci_arg_whole(call, 0, i) << by;
    *out = is_short ? (int32_t)(uint32_t)shifted : (int64_t)shifted;
    return OC_OK;
}

static oc_status shift_right_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    (void)err;
    uint64_t by = (uint64_t)oci_arg_whole(call, 1, i) & (call->result->byte_width == 4 ? 31 : 63);
    *out = oci_arg_whole(call, 0, i) >> by;
    return OC_OK;
}

OCI_INTEGER_KERNEL(gcd)
OCI_INTEGER_KERNEL(lcm)
OCI_INTEGER_KERNEL(div)
OCI_INTEGER_KERNEL(and)
OCI_INTEGER_KERNEL(or)
OCI_INTEGER_KERNEL(xor)
OCI_INTEGER_KERNEL(complement)
OCI_INTEGER_KERNEL(shift_left)
OCI_INTEGER_KERNEL(shift_right)

static oc_status div_double_row(const oci_call *call, int64_t i, double *out, oc_error *err)
{
    double by = oci_arg_double(call, 1, i);
    if (by == 0) {
        OC_FAIL(err, OC_EINVAL, "division by zero");
    }
    *out = trunc(oci_arg_double(call, 0, i) / by);
    return OC_OK;
}

static oc_status div_double(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_double(call, div_double_row, out, err);
}

/* n! up to what 38 digits hold. */
static bool bind_factorial(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    (void)oci_bind_shape(s, "i", OCI_TYPE_INT64);
    s->result = oci_expr_decimal(OCI_DECIMAL_DIGITS_MAX, 0);
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

#define WHOLE(name_, n, kernel_, help_) OCI_STRICT(name_, n, n, oci_bind_whole, kernel_, help_)

const oci_function oci_functions_integer[] = {
    OCI_STRICT("mod", 2, 2, bind_mod, mod, "mod(number, number)"),
    WHOLE("div", 2, div_integer, "div(number, number), towards zero"),
    OCI_STRICT("div", 2, 2, bind_double, div_double, NULL),
    WHOLE("gcd", 2, gcd_integer, "gcd(integer, integer)"),
    WHOLE("lcm", 2, lcm_integer, "lcm(integer, integer)"),
    OCI_STRICT("factorial", 1, 1, bind_factorial, factorial, "factorial(integer) -> decimal"),
    WHOLE("&", 2, and_integer, "integer & integer"),
    WHOLE("|", 2, or_integer, "integer | integer"),
    WHOLE("#", 2, xor_integer, "integer # integer, exclusive or"),
    WHOLE("xor", 2, xor_integer, "xor(integer, integer)"),
    WHOLE("~", 1, complement_integer, "~ integer"),
    WHOLE("<<", 2, shift_left_integer, "integer << integer"),
    WHOLE(">>", 2, shift_right_integer, "integer >> integer"),
    {.name = NULL},
};
