/* Which way a grouping goes, and what its result looks like. See group.h. Fields come from malloc. */
#include "ops/group/group.h"

#include <stdlib.h>

#include "arrow/row_key_decode.h"
#include "ops/group/group_distinct.h"

/* ---- schema ---------------------------------------------------------------------------------- */

static oc_status make_fields(const oci_schema *keys, const oci_schema *input,
                             const oci_group_plan *plan, oci_field *fields, int32_t *n,
                             oc_error *err)
{
    for (int32_t k = 0; k < keys->n_fields; k++) {
        OC_TRY(oci_field_copy(&keys->fields[k], &fields[*n], err));
        ++*n;
    }
    for (int32_t i = 0; i < plan->n_aggregates; i++) {
        OC_TRY(oci_aggregate_result(&plan->aggregates[i], input, &fields[*n], err));
        ++*n;
    }
    return OC_OK;
}

static oc_status schema_of(const oci_schema *keys, const oci_schema *input,
                           const oci_group_plan *plan, oci_schema **out, oc_error *err)
{
    int32_t n = 0;
    oci_field *fields =
        calloc((size_t)keys->n_fields + (size_t)plan->n_aggregates + 1, sizeof *fields);
    if (fields == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up a grouping: out of memory");
    }
    oc_status status = make_fields(keys, input, plan, fields, &n, err);
    if (status != OC_OK) {
        for (int32_t i = 0; i < n; i++) {
            oci_field_deinit(&fields[i]);
        }
        free(fields);
        return status;
    }
    return oci_schema_create(fields, n, NULL, 0, out, err);
}

oc_status oci_group_schema(const oci_schema *input, const oci_group_plan *plan, oci_schema **out,
                           oc_error *err)
{
    oci_sort_key *keys = calloc((size_t)plan->n_keys + 1, sizeof *keys);
    if (keys == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up a grouping: out of memory");
    }
    for (int32_t k = 0; k < plan->n_keys; k++) {
        keys[k].column = plan->keys[k];
    }
    oci_schema *key_schema = NULL;
    oc_status status = oci_row_key_check(input, keys, plan->n_keys, err);
    if (status == OC_OK) {
        status = oci_row_keys_schema(input, keys, plan->n_keys, &key_schema, err);
    }
    if (status == OC_OK) {
        status = schema_of(key_schema, input, plan, out, err);
    }
    oci_schema_release(key_schema);
    free(keys);
    return status;
}

/* ---- ways ------------------------------------------------------------------------------------ */

static bool all_mergeable(const oci_group_plan *plan)
{
    for (int32_t i = 0; i < plan->n_aggregates; i++) {
        if (!oci_aggregate_is_mergeable(&plan->aggregates[i])) {
            return false;
        }
    }
    return true;
}

oc_status oci_group_open(const oci_env *env, oci_spill_manager *manager, oci_stream *input,
                         const oci_group_plan *plan, oci_stream **out, oc_error *err)
{
    if (!plan->is_ordered && all_mergeable(plan)) {
        return oci_group_hashed_open(env, manager, input, plan, out, err);
    }
    if (!plan->is_ordered && oci_group_distinct_can(plan)) {
        return oci_group_distinct_open(env, manager, input, plan, out, err);
    }
    return oci_group_sorted_open(env, manager, input, plan, out, err);
}
