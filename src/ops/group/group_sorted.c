/* Grouping of sorted input. See group.h and docs/group.md. */
#include "ops/group/group.h"

oc_status oci_group_sorted_open(const oci_env *env, oci_spill_manager *manager, oci_stream *input,
                                const oci_group_plan *plan, oci_stream **out, oc_error *err)
{
    (void)env, (void)manager, (void)out;
    oci_stream_close(input);
    for (int32_t i = 0; i < plan->n_aggregates; i++) {
        if (!oci_aggregate_is_mergeable(&plan->aggregates[i])) {
            OC_FAIL(err, OC_EUNSUPPORTED, "%s%s is not supported yet",
                    oci_aggregate_name(plan->aggregates[i].kind),
                    plan->aggregates[i].distinct ? "(DISTINCT ...) beside others" : "");
        }
    }
    OC_FAIL(err, OC_EUNSUPPORTED, "grouping ordered input is not supported yet");
}
