/* Grouping sets: groups of rows that oci_sets_open has multiplied. */
#ifndef OUTCORE_OPS_GROUP_GROUP_SETS_H
#define OUTCORE_OPS_GROUP_GROUP_SETS_H

#include "ops/group/group.h"
#include "ops/relational/relational.h"

/* As oci_group_open of an input whose last key is the number of the set, with what the standard asks for: of no rows
 * at all, each empty set still has its one group. */
OC_NODISCARD oc_status oci_group_sets_open(const oci_relational *common, oci_spill_manager *manager,
                                           oci_stream *input, const oci_group_plan *plan,
                                           const uint64_t *sets, int32_t n_sets, oci_stream **out,
                                           oc_error *err);

#endif /* OUTCORE_OPS_GROUP_GROUP_SETS_H */
