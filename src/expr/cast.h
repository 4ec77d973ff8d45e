/* Casts between types: which there are, and the loop that does one. */
#ifndef OUTCORE_EXPR_CAST_H
#define OUTCORE_EXPR_CAST_H

#include "expr/function.h"

/* Through dictionaries and run ends to the type of the values. */
const oci_field *oci_value_type(const oci_field *field);
int32_t oci_integer_digits(oci_type type);
/* A number type as a decimal; and an integer as what it is computed with. */
oci_field oci_as_decimal(const oci_field *field);
oci_field oci_computed_integer(oci_type type);

/* Whether it is done without being asked for: it loses nothing but float digits. */
bool oci_cast_is_implicit(const oci_field *from, const oci_field *to);
/* Whether CAST does it at all. */
bool oci_cast_exists(const oci_field *from, const oci_field *to);
/* `arg` has the type `from` (flat). OC_EINVAL: a value cannot be cast (quoted), unless is_try: null then. */
OC_NODISCARD oc_status oci_cast_vector(const oci_vector *arg, int64_t n, const oci_field *to,
                                       bool is_try, oci_mem *mem, oci_vector *out, oc_error *err);

#endif /* OUTCORE_EXPR_CAST_H */
