/* Grouping larger than memory: GROUP BY, DISTINCT, aggregates without groups.
 *
 * Two ways, chosen by the aggregates and never by memory, so that the answer does not depend on it:
 *
 *   hashed   every aggregate is mergeable (ops/aggregate/aggregate.h): a table of groups with their
 *            states; partitions of it are spilled when memory runs out. Rows come out in the order of
 *            the hash of their keys, then of the keys, whatever was spilled.
 *   sorted   some aggregate is collecting, or the input is ordered by the keys already: rows are
 *            sorted by keys and by what the aggregates need, then taken group by group. Rows come out
 *            in the order of the keys.
 *
 * Keys are told apart by their normalised bytes (arrow/row_key.h), so nulls are one group, -0.0 and
 * 0.0 one, all NaNs one; key columns come out as arrow/row_key_decode.h says. See docs/group.md. */
#ifndef OUTCORE_OPS_GROUP_GROUP_H
#define OUTCORE_OPS_GROUP_GROUP_H

#include "arrow/stream.h"
#include "base/env.h"
#include "ops/aggregate/aggregate.h"
#include "spill/manager.h"

typedef struct oci_group_plan {
    const int32_t *keys; /* columns of the input */
    int32_t n_keys;
    const oci_aggregate *aggregates;
    int32_t n_aggregates;
    /* Input rows are ordered by all keys already (any direction): equal keys are neighbours. */
    bool is_ordered;
} oci_group_plan;

/* Columns of the result: the keys, then the aggregates. */
OC_NODISCARD oc_status oci_group_schema(const oci_schema *input, const oci_group_plan *plan,
                                        oci_schema **out, oc_error *err);

/* Takes over `input`, also on failure; copies the plan. Without keys there is one group, also of no
 * rows. Nothing is read before the first next(). OC_EINVAL / OC_EUNSUPPORTED: wrong types. */
OC_NODISCARD oc_status oci_group_open(const oci_env *env, oci_spill_manager *manager,
                                      oci_stream *input, const oci_group_plan *plan,
                                      oci_stream **out, oc_error *err);

/* The two ways, for oci_group_open and tests. */
OC_NODISCARD oc_status oci_group_hashed_open(const oci_env *env, oci_spill_manager *manager,
                                             oci_stream *input, const oci_group_plan *plan,
                                             oci_stream **out, oc_error *err);
OC_NODISCARD oc_status oci_group_sorted_open(const oci_env *env, oci_spill_manager *manager,
                                             oci_stream *input, const oci_group_plan *plan,
                                             oci_stream **out, oc_error *err);

#endif /* OUTCORE_OPS_GROUP_GROUP_H */
