/* Plans become streams. See execute.h. What is made comes from malloc: it grows with the text. */
#include "sql/execute.h"

#include <stdlib.h>

#include "ops/group/group_sets.h"
#include "ops/relational/relational.h"
#include "ops/sort/sort.h"

/* ---- measuring ------------------------------------------------------------------------------- */

/* Counts what an operator gives out, and what it spilled: operators below run inside its next(), and count first. */
typedef struct measured_stream {
    oci_stream base; /* must be first */
    oci_stream *input;
    const oci_clock *clock;
    oci_plan_metrics *metrics;
    oci_spill_manager *part; /* counts what the operator spills; NULL: it cannot */
} measured_stream;

static void note_spill(measured_stream *self)
{
    if (self->part != NULL) {
        const oci_spill_counters *counters = &self->part->counters;
        oci_plan_metrics *metrics = self->metrics;
        metrics->has_spill = true;
        metrics->spill_count = atomic_load(&counters->spill_count);
        metrics->spilled_bytes = atomic_load(&counters->spilled_bytes);
        metrics->spilled_rows = atomic_load(&counters->spilled_rows);
        metrics->read_back_bytes = atomic_load(&counters->read_back_bytes);
    }
}

static oc_status measured_next(oci_stream *stream, oci_batch **out, oc_error *err)
{
    measured_stream *self = (measured_stream *)stream;
    const oci_clock *clock = self->clock;
    int64_t start = clock->now_ns(clock->self);
    oc_status status = oci_stream_next(self->input, out, err);
    self->metrics->elapsed_ns += clock->now_ns(clock->self) - start;
    note_spill(self);
    if (status == OC_OK && *out != NULL) {
        self->metrics->rows += (*out)->length;
        self->metrics->batches++;
    }
    return status;
}

static void measured_close(oci_stream *stream)
{
    measured_stream *self = (measured_stream *)stream;
    oci_stream_close(self->input);
    oci_spill_manager_release(self->part);
    free(self);
}

/* Takes input and part, also on failure. */
static oc_status measure(const oci_execution *execution, oci_plan *plan, oci_stream *input,
                         oci_spill_manager *part, oci_stream **out, oc_error *err)
{
    measured_stream *self = calloc(1, sizeof *self);
    if (self == NULL) {
        oci_stream_close(input);
        oci_spill_manager_release(part);
        OC_FAIL(err, OC_ENOMEM, "could not set up a query: out of memory");
    }
    self->base =
        (oci_stream){.schema = input->schema, .next = measured_next, .close = measured_close};
    self->input = input;
    self->clock = execution->env->clock;
    self->metrics = plan->metrics;
    self->part = part;
    *out = &self->base;
    return OC_OK;
}

/* ---- operators ------------------------------------------------------------------------------- */

static oc_status open_scan(const oci_execution *execution, const oci_relational *common,
                           oci_plan *plan, oci_stream **out, oc_error *err)
{
    (void)execution;
    oci_scan_predicate_deinit(&plan->wanted);
    if (plan->filter != NULL) {
        OC_TRY(oci_scan_predicate_make(plan->filter, plan->columns, &plan->wanted, err));
    }
    OC_TRY(plan->table->ops->open(plan->table, plan->columns, plan->schema->n_fields,
                                  plan->wanted.nodes, out, err));
    OC_TRY(oci_working_open(common, *out, out, err));
    if (plan->filter != NULL) {
        OC_TRY(oci_filter_open(common, *out, plan->filter, out, err));
    }
    return plan->scan_limit >= 0 ? oci_limit_open(common, *out, 0, plan->scan_limit, out, err)
                                 : OC_OK;
}

/* An input of a union, opened when its turn comes: there may be a thousand files. */
typedef struct late_stream {
    oci_stream base; /* must be first */
    oci_execution execution;
    oci_plan *plan;
    oci_stream *input; /* NULL before */
} late_stream;

static oc_status late_next(oci_stream *stream, oci_batch **out, oc_error *err)
{
    late_stream *self = (late_stream *)stream;
    if (self->input == NULL) {
        oci_stream *input;
        *out = NULL;
        OC_TRY(oci_plan_open(&self->execution, self->plan, &input, err));
        self->input = input;
    }
    return oci_stream_next(self->input, out, err);
}

static void late_close(oci_stream *stream)
{
    late_stream *self = (late_stream *)stream;
    oci_stream_close(self->input);
    free(self);
}

static oc_status open_late(const oci_execution *execution, oci_plan *plan, oci_stream **out,
                           oc_error *err)
{
    late_stream *self = calloc(1, sizeof *self);
    if (self == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up a query: out of memory");
    }
    self->base = (oci_stream){.schema = plan->schema, .next = late_next, .close = late_close};
    self->execution = *execution;
    self->plan = plan;
    *out = &self->base;
    return OC_OK;
}

static oc_status open_union(const oci_execution *execution, const oci_relational *common,
                            oci_plan *plan, oci_stream **out, oc_error *err)
{
    oci_stream **inputs = calloc((size_t)plan->n_inputs + 1, sizeof(oci_stream *));
    if (inputs == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up a query: out of memory");
    }
    oc_status status = OC_OK;
    int32_t n = 0;
    for (; status == OC_OK && n < plan->n_inputs; n++) {
        status = open_late(execution, plan->inputs[n], &inputs[n], err);
    }
    if (status == OC_OK) {
        status = oci_union_open(common, inputs, n, plan->schema, out, err);
    } else {
        for (int32_t i = 0; i < n - 1; i++) {
            oci_stream_close(inputs[i]);
        }
    }
    free(inputs);
    return status;
}

static oc_status open_group(const oci_execution *execution, const oci_relational *common,
                            oci_plan *plan, oci_stream *input, oci_stream **out, oc_error *err)
{
    const oci_plan *below = plan->inputs[0];
    oci_group_plan shape = {.keys = plan->keys,
                            .n_keys = plan->n_keys,
                            .aggregates = plan->aggregates,
                            .n_aggregates = plan->n_aggregates,
                            .is_ordered = plan->is_ordered};
    if (below->kind == OCI_PLAN_GROUPING_SETS) {
        return oci_group_sets_open(common, execution->manager, input, &shape, below->sets,
                                   below->n_sets, out, err);
    }
    return oci_group_open(execution->env, execution->manager, input, &shape, out, err);
}

/* Takes the input, also on failure. */
static oc_status open_over(const oci_execution *execution, const oci_relational *common,
                           oci_plan *plan, oci_stream *input, oci_stream **out, oc_error *err)
{
    switch (plan->kind) {
    case OCI_PLAN_FILTER: return oci_filter_open(common, input, plan->exprs[0], out, err);
    case OCI_PLAN_PROJECT:
        return oci_project_open(common, input, plan->exprs, plan->schema, out, err);
    case OCI_PLAN_GROUP: return open_group(execution, common, plan, input, out, err);
    case OCI_PLAN_GROUPING_SETS:
        return oci_sets_open(common, input, plan->sets, plan->n_sets, plan->n_keys, plan->schema,
                             out, err);
    case OCI_PLAN_SORT:
        return oci_sort_open(execution->env, execution->manager, input, plan->sort_keys,
                             plan->n_sort_keys, plan->limit, out, err);
    case OCI_PLAN_LIMIT: return oci_limit_open(common, input, plan->offset, plan->limit, out, err);
    default: break;
    }
    oci_stream_close(input);
    OC_FAIL(err, OC_EINTERNAL, "a plan has a node of an unknown kind");
}

static oc_status open_node(const oci_execution *execution, const oci_relational *common,
                           oci_plan *plan, oci_stream **out, oc_error *err)
{
    switch (plan->kind) {
    case OCI_PLAN_SCAN: return open_scan(execution, common, plan, out, err);
    case OCI_PLAN_VALUES:
        return oci_values_open(common, plan->exprs, plan->n_rows, plan->schema, out, err);
    case OCI_PLAN_SERIES:
        return oci_series_open(common, plan->exprs, plan->n_exprs, plan->schema, out, err);
    case OCI_PLAN_UNION: return open_union(execution, common, plan, out, err);
    default: break;
    }
    oci_stream *input;
    OC_TRY(oci_plan_open(execution, plan->inputs[0], &input, err));
    return open_over(execution, common, plan, input, out, err);
}

oc_status oci_plan_open(const oci_execution *execution, oci_plan *plan, oci_stream **out,
                        oc_error *err)
{
    oci_relational common = {
        .env = execution->env, .now_us = execution->now_us, .mem = execution->mem};
    if (!execution->measure) {
        return open_node(execution, &common, plan, out, err);
    }
    oci_execution counted = *execution;
    oci_spill_manager *part = NULL;
    if (plan->kind == OCI_PLAN_SORT || plan->kind == OCI_PLAN_GROUP) {
        OC_TRY(oci_spill_manager_part(execution->manager, &part, err));
        counted.manager = part;
    }
    plan->metrics = calloc(1, sizeof *plan->metrics);
    oc_status status = plan->metrics == NULL
                           ? OC_SET(err, OC_ENOMEM, "could not set up a query: out of memory")
                           : open_node(&counted, &common, plan, out, err);
    if (status != OC_OK) {
        oci_spill_manager_release(part);
        return status;
    }
    return measure(execution, plan, *out, part, out, err);
}
