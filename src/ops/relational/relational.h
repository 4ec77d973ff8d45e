/* The small operators of queries, each a stream over its input's stream (taken over, also on failure). They hold one
 * batch at a time, and whoever is refused memory for a batch tries again with half of it.
 *
 * `env` must outlive the stream. Schemas are retained; batches have the types of the stream's schema, in working form:
 * oci_working_open is put above readers, whose batches may have views and runs. */
#ifndef OUTCORE_OPS_RELATIONAL_RELATIONAL_H
#define OUTCORE_OPS_RELATIONAL_RELATIONAL_H

#include "arrow/stream.h"
#include "base/env.h"
#include "expr/expr.h"

/* What reads of one stream's batches need in common. */
typedef struct oci_relational {
    const oci_env *env;
    int64_t now_us;
    oci_mem *mem; /* pays for what is made; must outlive the batches, as accounts do that linger */
} oci_relational;

OC_NODISCARD oc_status oci_working_open(const oci_relational *common, oci_stream *input,
                                        oci_stream **out, oc_error *err);
/* Rows for which the condition is true. */
OC_NODISCARD oc_status oci_filter_open(const oci_relational *common, oci_stream *input,
                                       oci_expr *condition, oci_stream **out, oc_error *err);
/* `schema`: names and types of the n expressions. */
OC_NODISCARD oc_status oci_project_open(const oci_relational *common, oci_stream *input,
                                        oci_expr *const *exprs, oci_schema *schema,
                                        oci_stream **out, oc_error *err);
/* Skips `offset` rows, passes `limit` (-1 = all), then closes its input. */
OC_NODISCARD oc_status oci_limit_open(const oci_relational *common, oci_stream *input,
                                      int64_t offset, int64_t limit, oci_stream **out,
                                      oc_error *err);
/* Inputs one after the other, each closed when it ends. */
OC_NODISCARD oc_status oci_union_open(const oci_relational *common, oci_stream *const *inputs,
                                      int32_t n, oci_schema *schema, oci_stream **out,
                                      oc_error *err);
/* n_rows rows of constant expressions, row by row. */
OC_NODISCARD oc_status oci_values_open(const oci_relational *common, oci_expr *const *exprs,
                                       int64_t n_rows, oci_schema *schema, oci_stream **out,
                                       oc_error *err);
/* start, start + step, ... up to stop; one column of int64, or of timestamps with an interval for the step. A NULL
 * anywhere makes no rows; a step of 0 is OC_EINVAL. */
OC_NODISCARD oc_status oci_series_open(const oci_relational *common, oci_expr *const *bounds,
                                       int32_t n_bounds, oci_schema *schema, oci_stream **out,
                                       oc_error *err);
/* Each row once for each of sets[n_sets]: of the first n_keys columns those are null whose bit is not set; the last
 * column of `schema` gets the number of the set. */
OC_NODISCARD oc_status oci_sets_open(const oci_relational *common, oci_stream *input,
                                     const uint64_t *sets, int32_t n_sets, int32_t n_keys,
                                     oci_schema *schema, oci_stream **out, oc_error *err);

#endif /* OUTCORE_OPS_RELATIONAL_RELATIONAL_H */
