/* Aggregates over distinct values by hashing twice. */
#ifndef OUTCORE_OPS_GROUP_GROUP_DISTINCT_H
#define OUTCORE_OPS_GROUP_GROUP_DISTINCT_H

#include "ops/group/group.h"

/* Whether a plan can go that way: there is DISTINCT that matters, all of it over the same arguments and of kinds that
 * have states, and all other aggregates are mergeable. */
bool oci_group_distinct_can(const oci_group_plan *plan);
/* As oci_group_hashed_open, for such plans. */
OC_NODISCARD oc_status oci_group_distinct_open(const oci_env *env, oci_spill_manager *manager,
                                               oci_stream *input, const oci_group_plan *plan,
                                               oci_stream **out, oc_error *err);

#endif /* OUTCORE_OPS_GROUP_GROUP_DISTINCT_H */
