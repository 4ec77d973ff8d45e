/* See group_distinct.h. One DISTINCT argument as two hashed groupings, one above the other:
 *
 *   count(DISTINCT x), sum(y) GROUP BY g
 *
 *   rows  ->  groups of (g, x), states of sum(y)       each x once per g
 *         ->  groups of g: x is counted, the states of sum(y) are merged
 *
 * Both spill by themselves and share the limit as any two operators do. A FILTER of a distinct aggregate is asked of
 * the rows below: its bool_or per (g, x) is the filter above.
 *
 * The plans of the two come from malloc and live as long as this call: they grow with the number of columns. */
#include "ops/group/group_distinct.h"

#include <stdlib.h>
#include <string.h>

#include "ops/group/group_hashed_internal.h"

typedef struct levels {
    oci_group_plan lower;
    oci_group_plan upper;
    int32_t *keys;             /* of the lower, then of the upper */
    oci_aggregate *aggregates; /* likewise */
    int32_t *
        below; /* for each upper aggregate: the lower one whose states it merges, -1: it takes rows; at
                                  last the column where these states begin */
    int32_t
        *filters; /* for each upper aggregate that has one: the lower one that makes it, else -1 */
} levels;

static bool is_distinct(const oci_aggregate *aggregate)
{
    return aggregate->distinct && !oci_aggregate_is_mergeable(aggregate);
}

static bool same_arguments(const oci_aggregate *a, const oci_aggregate *b)
{
    return a->n_args == b->n_args &&
           memcmp(a->args, b->args, sizeof *a->args * (size_t)a->n_args) == 0;
}

static const oci_aggregate *first_distinct(const oci_group_plan *plan)
{
    for (int32_t i = 0; i < plan->n_aggregates; i++) {
        if (is_distinct(&plan->aggregates[i])) {
            return &plan->aggregates[i];
        }
    }
    return NULL;
}

bool oci_group_distinct_can(const oci_group_plan *plan)
{
    const oci_aggregate *first = first_distinct(plan);
    for (int32_t i = 0; first != NULL && i < plan->n_aggregates; i++) {
        const oci_aggregate *aggregate = &plan->aggregates[i];
        bool can = is_distinct(aggregate)
                       ? aggregate->kind < OCI_AGG_MERGEABLE_END && same_arguments(aggregate, first)
                       : oci_aggregate_is_mergeable(aggregate);
        if (!can) {
            return false;
        }
    }
    return first != NULL;
}

/* ---- the two plans --------------------------------------------------------------------------- */

static void free_levels(levels *l)
{
    free(l->keys);
    free(l->aggregates);
    free(l->below);
    free(l->filters);
}

static oc_status allocate(levels *l, const oci_group_plan *plan, oc_error *err)
{
    size_t n_keys = (size_t)plan->n_keys;
    size_t n = (size_t)plan->n_aggregates;
    l->keys = calloc(2 * n_keys + 2, sizeof *l->keys);
    l->aggregates = calloc(2 * n, sizeof *l->aggregates);
    l->below = calloc(n, sizeof *l->below);
    l->filters = calloc(n, sizeof *l->filters);
    if (l->keys == NULL || l->aggregates == NULL || l->below == NULL || l->filters == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up a grouping: out of memory");
    }
    return OC_OK;
}

/* The keys of the plan and the distinct arguments; the keys of the plan are the first columns above. */
static void plan_keys(levels *l, const oci_group_plan *plan)
{
    const oci_aggregate *first = first_distinct(plan);
    l->lower.keys = l->keys;
    l->lower.n_keys = plan->n_keys + first->n_args;
    for (int32_t k = 0; k < l->lower.n_keys; k++) {
        l->keys[k] = k < plan->n_keys ? plan->keys[k] : first->args[k - plan->n_keys];
    }
    l->upper.keys = l->keys + l->lower.n_keys;
    l->upper.n_keys = plan->n_keys;
    for (int32_t k = 0; k < plan->n_keys; k++) {
        l->keys[l->lower.n_keys + k] = k;
    }
}

static void plan_aggregates(levels *l, const oci_group_plan *plan)
{
    oci_aggregate *lower = l->aggregates;
    oci_aggregate *upper = l->aggregates + plan->n_aggregates;
    int32_t n = 0;
    for (int32_t i = 0; i < plan->n_aggregates; i++) {
        upper[i] = plan->aggregates[i];
        l->below[i] = l->filters[i] = -1;
        if (!is_distinct(&upper[i])) {
            l->below[i] = n;
            lower[n++] = upper[i];
            continue;
        }
        if (upper[i].filter >= 0) {
            l->filters[i] = n;
            lower[n++] = (oci_aggregate){.kind = OCI_AGG_BOOL_OR,
                                         .n_args = 1,
                                         .args = {upper[i].filter},
                                         .filter = -1,
                                         .name = "filter"};
        }
        for (int32_t a = 0; a < upper[i].n_args; a++) {
            upper[i].args[a] = plan->n_keys + a;
        }
        upper[i].distinct = false;
        upper[i].order = NULL;
        upper[i].n_order = 0;
    }
    l->lower.aggregates = lower;
    l->lower.n_aggregates = n;
    l->upper.aggregates = upper;
    l->upper.n_aggregates = plan->n_aggregates;
}

/* Columns of the states below, now that it is known how many each aggregate has. */
static void place_states(levels *l, const oci_group_hashed *lower)
{
    oci_aggregate *upper = l->aggregates + l->upper.n_aggregates;
    for (int32_t i = 0; i < l->upper.n_aggregates; i++) {
        if (l->below[i] >= 0) {
            l->below[i] = oci_group_first_state(lower, l->below[i]);
        } else {
            upper[i].filter = l->filters[i] >= 0 ? oci_group_first_state(lower, l->filters[i]) : -1;
        }
    }
}

/* ---- opening --------------------------------------------------------------------------------- */

static oc_status open_levels(const oci_env *env, oci_spill_manager *manager, oci_stream *input,
                             levels *l, oci_stream **out, oc_error *err)
{
    oci_schema *origin = oci_schema_retain(input->schema);
    oci_stream *lower;
    oci_group_stage stage = {.is_partial = true};
    oc_status status = oci_group_stage_open(env, manager, input, &l->lower, &stage, &lower, err);
    if (status == OC_OK) {
        place_states(l, (const oci_group_hashed *)lower);
        stage = (oci_group_stage){.states = l->below, .origin = origin};
        status = oci_group_stage_open(env, manager, lower, &l->upper, &stage, out, err);
    }
    oci_schema_release(origin);
    return status;
}

oc_status oci_group_distinct_open(const oci_env *env, oci_spill_manager *manager, oci_stream *input,
                                  const oci_group_plan *plan, oci_stream **out, oc_error *err)
{
    levels l = {0};
    oc_status status = allocate(&l, plan, err);
    if (status != OC_OK) {
        oci_stream_close(input);
    } else {
        plan_keys(&l, plan);
        plan_aggregates(&l, plan);
        status = open_levels(env, manager, input, &l, out, err);
    }
    free_levels(&l);
    return status;
}
