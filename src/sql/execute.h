/* Running a plan: every node becomes an operator, a stream over its inputs' streams. */
#ifndef OUTCORE_SQL_EXECUTE_H
#define OUTCORE_SQL_EXECUTE_H

#include "spill/manager.h"
#include "sql/plan.h"

/* What an operator did, for EXPLAIN ANALYZE. */
typedef struct oci_plan_metrics {
    int64_t rows; /* given out */
    int64_t batches;
    int64_t elapsed_ns; /* inside its next(), inputs included */
    int64_t peak_bytes; /* of its account */
    int64_t spill_count;
    int64_t spilled_bytes;
    int64_t spilled_rows;
    int64_t read_back_bytes;
    bool has_spill; /* it is an operator that can spill */
} oci_plan_metrics;

typedef struct oci_execution {
    const oci_env *env;
    oci_spill_manager *manager;
    oci_mem *mem; /* pays for batches of small operators */
    int64_t now_us;
    bool measure; /* fill plan->metrics */
} oci_execution;

/* Pushes filters and columns down to scans, removes projections that do nothing, makes top-k of ORDER BY
 * + LIMIT, marks groups whose input is ordered. Replaces *plan. */
OC_NODISCARD oc_status oci_plan_optimize(oci_plan **plan, oc_error *err);

/* The plan must outlive the stream. Nothing is read before the first next(). */
OC_NODISCARD oc_status oci_plan_open(const oci_execution *execution, oci_plan *plan,
                                     oci_stream **out, oc_error *err);

#endif /* OUTCORE_SQL_EXECUTE_H */
