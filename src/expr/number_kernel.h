/* What functions on numbers share. */
#ifndef OUTCORE_EXPR_NUMBER_KERNEL_H
#define OUTCORE_EXPR_NUMBER_KERNEL_H

#include <math.h>

#include "expr/kernel.h"

#define OCI_DECIMAL_DIGITS_MAX 38

/* For integers: int32 stays, smaller ones become it, others int64; unsigned 64-bit ones are decimals. */
bool oci_bind_whole(oci_signature *s, bool *failed, oc_error *err);
/* An argument that is int32 or int64. */
int64_t oci_arg_whole(const oci_call *call, int32_t arg, int64_t i);
OC_NODISCARD oc_status oci_too_large(const char *function, oc_error *err);
/* A double outside of the domain, or whose result is. */
OC_NODISCARD oc_status oci_outside(const char *function, double value, oc_error *err);

/* A loop over doubles `x`. The kernel is called name_double. */
#define OCI_UNARY_DOUBLE(name, expression, is_defined)                                             \
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
                oci_vector_deinit(out);                                                            \
                return oci_outside(#name, x, err);                                                 \
            }                                                                                      \
            memcpy(values + i * 8, &result, sizeof result);                                        \
        }                                                                                          \
        return OC_OK;                                                                              \
    }

/* A kernel name_integer out of a function per row. */
#define OCI_INTEGER_KERNEL(name)                                                          \
    static oc_status name##_integer(const oci_call *call, oci_vector *out, oc_error *err) \
    {                                                                                     \
        return oci_each_int(call, name##_row, out, err);                                  \
    }

#endif /* OUTCORE_EXPR_NUMBER_KERNEL_H */
