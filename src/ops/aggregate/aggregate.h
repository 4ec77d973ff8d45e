/* Aggregate functions: what they are, and their states.
 *
 * Two families:
 *
 *   mergeable    count, sum, avg, min, max, bool_and/or, bit_and/or/xor, var/stddev, corr and covar,
 *                any_value, approx_count_distinct: a small state per group. States can be written as
 *                columns (partial), and merged, in any order and any grouping with the same result
 *                to the last bit (sums of floats are exact, see exact_sum.h).
 *   collecting   array_agg, string_agg, median, quantiles, mode, first / last with an order, and
 *                everything with DISTINCT or ORDER BY: need the values of a group one after the
 *                other, in an order. They are computed from sorted input (ops/group/group_sorted.c).
 *
 * An `oci_aggregator` holds the states of one mergeable aggregate for any number of groups, which
 * are numbered from 0. Its work is in two steps, so that a refusal of memory never leaves half a
 * batch behind: reserve() takes all that update() could need; update() cannot fail for lack of
 * memory. */
#ifndef OUTCORE_OPS_AGGREGATE_AGGREGATE_H
#define OUTCORE_OPS_AGGREGATE_AGGREGATE_H

#include "arrow/batch.h"
#include "arrow/row_key.h"

typedef enum oci_aggregate_kind {
    OCI_AGG_COUNT_STAR,
    OCI_AGG_COUNT,
    OCI_AGG_SUM, /* int8..int32, uint8..uint16 -> int64; uint32, int64, uint64 -> decimal(38, 0); decimal(p,
                    s) -> decimal(38, s); floats -> float64; durations, intervals as they are */
    OCI_AGG_AVG, /* integers, floats -> float64; decimal(p, s) -> decimal(38, s + 4) or as many digits
                    as fit, rounded half away from zero; durations, dates no */
    OCI_AGG_MIN, /* every type that has an order, also struct and list */
    OCI_AGG_MAX,
    OCI_AGG_BOOL_AND,
    OCI_AGG_BOOL_OR,
    OCI_AGG_BIT_AND,
    OCI_AGG_BIT_OR,
    OCI_AGG_BIT_XOR,
    OCI_AGG_VAR_SAMP, /* -> float64 */
    OCI_AGG_VAR_POP,
    OCI_AGG_STDDEV_SAMP,
    OCI_AGG_STDDEV_POP,
    OCI_AGG_COVAR_SAMP, /* two arguments */
    OCI_AGG_COVAR_POP,
    OCI_AGG_CORR,
    OCI_AGG_APPROX_DISTINCT, /* HyperLogLog -> int64 */
    OCI_AGG_MERGEABLE_END,   /* ---- from here on collecting ---- */
    OCI_AGG_ANY_VALUE,       /* the first value that is not null, in input order */
    OCI_AGG_FIRST,           /* first_value(x [ORDER BY ...]): nulls count */
    OCI_AGG_LAST,
    OCI_AGG_ARRAY_AGG, /* -> list of the argument, nulls included */
    OCI_AGG_STRING_AGG,
    OCI_AGG_QUANTILE_CONT, /* percentile_cont, median, quantile_cont -> float64 */
    OCI_AGG_QUANTILE_DISC, /* percentile_disc -> as the argument */
    OCI_AGG_MODE,
    OCI_AGG_KINDS
} oci_aggregate_kind;

/* One aggregate of a query. Columns are those of the operator's input. */
typedef struct oci_aggregate {
    oci_aggregate_kind kind;
    int32_t n_args;
    int32_t args[2];
    int32_t filter; /* a bool column: rows where it is true count; -1 = all rows */
    bool distinct;
    const oci_sort_key *order; /* ORDER BY inside the call */
    int32_t n_order;
    double fraction;          /* quantiles, 0..1 */
    const uint8_t *separator; /* STRING_AGG, `separator_length` bytes */
    int64_t separator_length;
    const char *name; /* of the result column */
} oci_aggregate;

/* Kind of a function by its SQL name, lower case; false when it is no aggregate. median sets
 * fraction 0.5. */
bool oci_aggregate_find(const char *name, oci_aggregate_kind *kind);
const char *oci_aggregate_name(oci_aggregate_kind kind);
/* Whether it can be kept as a state (mergeable kind, neither DISTINCT nor ORDER BY that matters:
 * min(DISTINCT x) is min(x), sum(x ORDER BY y) is sum(x)). */
bool oci_aggregate_is_mergeable(const oci_aggregate *aggregate);

/* The type of the result (named aggregate->name). OC_EINVAL: it does not take such arguments. */
OC_NODISCARD oc_status oci_aggregate_result(const oci_aggregate *aggregate, const oci_schema *input,
                                            oci_field *out, oc_error *err);

/* ---- states ---------------------------------------------------------------------------------- */

/* A group number that no row has: such rows are skipped. */
#define OCI_GROUP_NONE UINT32_MAX

typedef struct oci_aggregator oci_aggregator;
typedef struct oci_aggregator_ops {
    /* Takes the memory that n more rows need, when groups reach up to n_groups: `args` as update()
     * will get them (NULL for merge(), then `state` as merge() will get it). oci_mem_try_alloc: on
     * OC_EBUDGET nothing has changed. New groups are empty. */
    oc_status (*reserve)(oci_aggregator *self, int64_t n_groups, const oci_column *const *args,
                         const oci_column *state, int64_t n, oc_error *err);
    /* Row i of the arguments (validity included) goes to groups[i]; OCI_GROUP_NONE is skipped. */
    oc_status (*update)(oci_aggregator *self, const oci_column *const *args, const uint32_t *groups,
                        int64_t n, oc_error *err);
    /* Row i of `state` (one column per state field) goes to groups[i]. */
    oc_status (*merge)(oci_aggregator *self, const oci_column *state, const uint32_t *groups,
                       int64_t n, oc_error *err);
    /* Bytes that partial() will ask for, roughly, for these groups. */
    int64_t (*partial_bytes)(const oci_aggregator *self, const uint32_t *groups, int64_t n);
    /* The states of groups[0..n) as a batch of the state columns; memory by oci_mem_alloc. */
    oc_status (*partial)(oci_aggregator *self, const uint32_t *groups, int64_t n, oci_batch **out,
                         oc_error *err);
    /* The results of groups[0..n) as a batch of one column. OC_EINVAL: a sum does not fit its type. */
    int64_t (*finish_bytes)(const oci_aggregator *self, const uint32_t *groups, int64_t n);
    oc_status (*finish)(oci_aggregator *self, const uint32_t *groups, int64_t n, oci_batch **out,
                        oc_error *err);
    /* Keeps only the groups kept[0..n), which get the numbers 0..n-1, in place: kept[i] is i or a group
     * that is not among 0..i. Gives memory back where that is easy. Cannot fail. */
    void (*keep)(oci_aggregator *self, const uint32_t *kept, int64_t n);
    /* Forgets all groups and gives the memory back. */
    void (*clear)(oci_aggregator *self);
    void (*destroy)(oci_aggregator *self);
} oci_aggregator_ops;

struct oci_aggregator {
    const oci_aggregator_ops *ops;
    oci_mem *mem;
    oci_schema *result; /* one column */
    oci_schema *states; /* columns named "0", "1", ... */
};

/* `aggregate` must be mergeable. Strings and such in it are copied. */
OC_NODISCARD oc_status oci_aggregator_create(const oci_aggregate *aggregate,
                                             const oci_schema *input, oci_mem *mem,
                                             oci_aggregator **out, oc_error *err);
void oci_aggregator_destroy(oci_aggregator *aggregator); /* NULL is fine */

#endif /* OUTCORE_OPS_AGGREGATE_AGGREGATE_H */
