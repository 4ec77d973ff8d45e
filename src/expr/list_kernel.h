/* What functions on lists and structs share. */
#ifndef OUTCORE_EXPR_LIST_KERNEL_H
#define OUTCORE_EXPR_LIST_KERNEL_H

#include "expr/kernel.h"

bool oci_type_is_list(oci_type type);
/* The type that values of a child have once dictionaries, runs and views are resolved. */
oci_field oci_child_type(const oci_field *child);
/* A schema of one field of a type; malloc'ed, small. */
OC_NODISCARD oc_status oci_schema_of_type(const oci_field *type, oci_schema **out, oc_error *err);
/* A column that may have a dictionary, runs or views as a flat vector, which may borrow from it. */
OC_NODISCARD oc_status oci_flatten(const oci_call *call, const oci_column *column, oci_vector *out,
                                   oc_error *err);

#endif /* OUTCORE_EXPR_LIST_KERNEL_H */
