/* Nodes of plans: making and freeing. See plan.h. Nodes come from malloc. */
#include "sql/plan.h"

#include <stdlib.h>
#include <string.h>

#include "ops/group/group.h"
#include "sql/bind.h"

static oc_status out_of_memory(oc_error *err)
{
    OC_FAIL(err, OC_ENOMEM, "could not make a plan: out of memory");
}

static void release_exprs(oci_expr **exprs, int32_t n)
{
    for (int32_t i = 0; exprs != NULL && i < n; i++) {
        oci_expr_release(exprs[i]);
    }
}

oc_status oci_plan_create(oci_plan_kind kind, oci_plan **out, oc_error *err)
{
    oci_plan *plan = calloc(1, sizeof *plan);
    if (plan != NULL) {
        plan->inputs = calloc(2, sizeof(oci_plan *));
    }
    if (plan == NULL || plan->inputs == NULL) {
        free(plan);
        return out_of_memory(err);
    }
    plan->kind = kind;
    plan->limit = -1;
    plan->scan_limit = -1;
    *out = plan;
    return OC_OK;
}

void oci_plan_destroy(oci_plan *plan)
{
    if (plan == NULL) {
        return;
    }
    for (int32_t i = 0; i < plan->n_inputs; i++) {
        oci_plan_destroy(plan->inputs[i]);
    }
    release_exprs(plan->exprs, plan->n_exprs);
    for (int32_t i = 0; i < plan->n_aggregates; i++) {
        free((void *)(uintptr_t)plan->aggregates[i].order);
        free((void *)(uintptr_t)plan->aggregates[i].separator);
        free((void *)(uintptr_t)plan->aggregates[i].name);
    }
    oci_scan_predicate_deinit(&plan->wanted);
    oci_expr_release(plan->filter);
    oci_table_release(plan->table);
    oci_schema_release(plan->schema);
    free(plan->exprs);
    free(plan->columns);
    free(plan->keys);
    free(plan->aggregates);
    free(plan->sets);
    free(plan->sort_keys);
    free(plan->metrics);
    free(plan->inputs);
    free(plan);
}

/* Callers often pass the variable that held the input: after a failure it must not be freed again. */
static oc_status drop(oci_plan **plan, oc_status status)
{
    oci_plan_destroy(*plan);
    *plan = NULL;
    return status;
}

/* A node over one input (taken, also on failure; *out is NULL then). */
static oc_status over(oci_plan_kind kind, oci_plan *input, oci_plan **out, oc_error *err)
{
    oc_status status = oci_plan_create(kind, out, err);
    if (status != OC_OK) {
        *out = input;
        return drop(out, status);
    }
    (*out)->inputs[0] = input;
    (*out)->n_inputs = 1;
    return OC_OK;
}

static oc_status over_same_rows(oci_plan_kind kind, oci_plan *input, oci_plan **out, oc_error *err)
{
    OC_TRY(over(kind, input, out, err));
    (*out)->schema = oci_schema_retain(input->schema);
    return OC_OK;
}

oc_status oci_plan_schema(oci_expr *const *exprs, const char *const *names, int32_t n,
                          oci_schema **out, oc_error *err)
{
    static char no_name[] = "";
    oci_field *fields = calloc((size_t)n + 1, sizeof *fields);
    if (fields == NULL) {
        return out_of_memory(err);
    }
    for (int32_t i = 0; i < n; i++) {
        oci_field named = exprs[i]->type;
        named.name = names != NULL ? (char *)(uintptr_t)names[i] : no_name;
        named.nullable = true;
        oc_status status = oci_field_copy(&named, &fields[i], err);
        if (status != OC_OK) {
            while (--i >= 0) {
                oci_field_deinit(&fields[i]);
            }
            free(fields);
            return status;
        }
    }
    return oci_schema_create(fields, n, NULL, 0, out, err);
}

oc_status oci_plan_column(const oci_plan *input, int32_t column, oci_expr **out, oc_error *err)
{
    return oci_expr_column(input->schema, column, -1, out, err);
}

oc_status oci_plan_filter(oci_plan *input, oci_expr *condition, oci_plan **out, oc_error *err)
{
    oc_status status = over_same_rows(OCI_PLAN_FILTER, input, out, err);
    if (status != OC_OK) {
        oci_expr_release(condition);
        return status;
    }
    (*out)->exprs = calloc(1, sizeof(oci_expr *));
    if ((*out)->exprs == NULL) {
        oci_expr_release(condition);
        return drop(out, out_of_memory(err));
    }
    (*out)->exprs[0] = condition;
    (*out)->n_exprs = 1;
    return OC_OK;
}

oc_status oci_plan_project(oci_plan *input, oci_expr **exprs, const char *const *names, int32_t n,
                           oci_plan **out, oc_error *err)
{
    oc_status status = over(OCI_PLAN_PROJECT, input, out, err);
    if (status != OC_OK) {
        release_exprs(exprs, n);
        return status;
    }
    oci_plan *plan = *out;
    plan->exprs = calloc((size_t)n + 1, sizeof(oci_expr *));
    if (plan->exprs == NULL) {
        release_exprs(exprs, n);
        return drop(out, out_of_memory(err));
    }
    if (n > 0) {
        memcpy(plan->exprs, exprs, (size_t)n * sizeof(oci_expr *));
    }
    plan->n_exprs = n;
    status = oci_plan_schema(exprs, names, n, &plan->schema, err);
    return status == OC_OK ? status : drop(out, status);
}

oc_status oci_plan_distinct(oci_plan *input, oci_plan **out, oc_error *err)
{
    int32_t n = input->schema->n_fields;
    OC_TRY(over(OCI_PLAN_GROUP, input, out, err));
    oci_plan *plan = *out;
    plan->keys = calloc((size_t)n + 1, sizeof *plan->keys);
    oc_status status = OC_OK;
    if (plan->keys == NULL) {
        status = out_of_memory(err);
    } else {
        for (int32_t k = 0; k < n; k++) {
            plan->keys[k] = k;
        }
        plan->n_keys = n;
        oci_group_plan shape = {.keys = plan->keys, .n_keys = n};
        status = oci_group_schema(input->schema, &shape, &plan->schema, err);
    }
    return status == OC_OK ? status : drop(out, status);
}

oc_status oci_plan_limit(oci_plan *input, int64_t offset, int64_t limit, oci_plan **out,
                         oc_error *err)
{
    OC_TRY(over_same_rows(OCI_PLAN_LIMIT, input, out, err));
    (*out)->offset = offset;
    (*out)->limit = limit;
    return OC_OK;
}

oc_status oci_plan_sort(oci_plan *input, const oci_sort_key *keys, int32_t n, oci_plan **out,
                        oc_error *err)
{
    oc_status status = oci_row_key_check(input->schema, keys, n, err);
    if (status != OC_OK) {
        *out = input;
        return drop(out, status);
    }
    OC_TRY(over_same_rows(OCI_PLAN_SORT, input, out, err));
    (*out)->sort_keys = calloc((size_t)n + 1, sizeof *keys);
    if ((*out)->sort_keys == NULL) {
        return drop(out, out_of_memory(err));
    }
    memcpy((*out)->sort_keys, keys, (size_t)n * sizeof *keys);
    (*out)->n_sort_keys = n;
    return OC_OK;
}
