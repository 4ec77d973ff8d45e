/* The tables of functions, one per file of kernels. */
#ifndef OUTCORE_EXPR_FUNCTION_TABLE_H
#define OUTCORE_EXPR_FUNCTION_TABLE_H

#include "expr/function.h"

extern const oci_function oci_functions_arithmetic[];
extern const oci_function oci_functions_calendar[];
extern const oci_function oci_functions_compare[];
extern const oci_function oci_functions_format[];
extern const oci_function oci_functions_integer[];
extern const oci_function oci_functions_join[];
extern const oci_function oci_functions_list[];
extern const oci_function oci_functions_list_make[];
extern const oci_function oci_functions_match[];
extern const oci_function oci_functions_math[];
extern const oci_function oci_functions_misc[];
extern const oci_function oci_functions_regex[];
extern const oci_function oci_functions_round[];
extern const oci_function oci_functions_text[];
extern const oci_function oci_functions_time[];

#endif /* OUTCORE_EXPR_FUNCTION_TABLE_H */
