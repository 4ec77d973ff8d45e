/* The tables of functions, one per file of kernels. */
#ifndef OUTCORE_EXPR_FUNCTION_TABLE_H
#define OUTCORE_EXPR_FUNCTION_TABLE_H

#include "expr/function.h"

extern const oci_function oci_functions_arithmetic[];
extern const oci_function oci_functions_compare[];

#endif /* OUTCORE_EXPR_FUNCTION_TABLE_H */
