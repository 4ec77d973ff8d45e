/* Evaluating one expression to a vector; inside src/expr. */
#ifndef OUTCORE_EXPR_EVAL_H
#define OUTCORE_EXPR_EVAL_H

#include "expr/expr.h"

/* `out` may borrow from the batch, which must live as long. */
OC_NODISCARD oc_status oci_expr_eval(const oci_eval_context *context, const oci_expr *expr,
                                     oci_batch *batch, oci_vector *out, oc_error *err);

#endif /* OUTCORE_EXPR_EVAL_H */
