/* Plans that do the same with less. See execute.h.
 *
 * Rules, from the top down: a filter goes below projections, unions and sorts, as far as a scan; projections over
 * projections become one; a limit over a sort makes it a top-k; what nobody reads is not scanned. A group whose input
 * is ordered by its keys is told so. Lists come from malloc. */
#include <stdlib.h>
#include <string.h>

#include "sql/bind.h"
#include "sql/execute.h"

static oc_status out_of_memory(oc_error *err)
{
    OC_FAIL(err, OC_ENOMEM, "could not optimise a plan: out of memory");
}

/* ---- filters down ---------------------------------------------------------------------------- */

static oc_status push_filter(oci_plan **plan, oc_error *err);

static bool is_pure(const oci_plan *project)
{
    for (int32_t i = 0; i < project->n_exprs; i++) {
        if (project->exprs[i]->is_volatile) {
            return false;
        }
    }
    return true;
}

/* FILTER over PROJECT: the filter over what the projection reads. A condition that then computes twice what the
 * projection computes pays when it is a column or a constant; others stay above. */
static bool is_cheap(const oci_plan *project, const oci_expr *condition)
{
    bool *used = calloc((size_t)project->n_exprs + 1, sizeof *used);
    bool cheap = used != NULL;
    if (cheap) {
        oci_expr_mark_columns(condition, used);
    }
    for (int32_t i = 0; cheap && i < project->n_exprs; i++) {
        oci_expr_kind kind = project->exprs[i]->kind;
        cheap = !used[i] || kind == OCI_EXPR_COLUMN || kind == OCI_EXPR_CONSTANT;
    }
    free(used);
    return cheap;
}

static oc_status filter_below_project(oci_plan **plan, oc_error *err)
{
    oci_plan *filter = *plan;
    oci_plan *project = filter->inputs[0];
    oci_expr *condition;
    OC_TRY(oci_expr_substitute(filter->exprs[0], project->exprs, &condition, err));
    oci_expr_release(filter->exprs[0]);
    filter->exprs[0] = condition;
    filter->inputs[0] = project->inputs[0];
    oci_schema_release(filter->schema);
    filter->schema = oci_schema_retain(filter->inputs[0]->schema);
    project->inputs[0] = filter;
    *plan = project;
    return push_filter(&project->inputs[0], err);
}

static void swap_with_input(oci_plan **plan)
{
    oci_plan *upper = *plan;
    oci_plan *lower = upper->inputs[0];
    upper->inputs[0] = lower->inputs[0];
    lower->inputs[0] = upper;
    *plan = lower;
}

static oc_status filter_below_union(oci_plan **plan, oc_error *err)
{
    oci_plan *filter = *plan;
    oci_plan *all = filter->inputs[0];
    for (int32_t i = 0; i < all->n_inputs; i++) {
        oci_plan *input = all->inputs[i];
        all->inputs[i] = NULL;
        oc_status status =
            oci_plan_filter(input, oci_expr_retain(filter->exprs[0]), &all->inputs[i], err);
        if (status != OC_OK) {
            /* What is left is still a tree: the missing input is cut off. */
            all->inputs[i] = all->inputs[all->n_inputs - 1];
            all->n_inputs--;
            return status;
        }
        OC_TRY(push_filter(&all->inputs[i], err));
    }
    filter->n_inputs = 0;
    oci_plan_destroy(filter);
    *plan = all;
    return OC_OK;
}

static oc_status filter_into_scan(oci_plan **plan, oc_error *err)
{
    oci_plan *filter = *plan;
    oci_plan *scan = filter->inputs[0];
    oci_expr *condition = oci_expr_retain(filter->exprs[0]);
    if (scan->filter != NULL) {
        oci_expr *both[2] = {scan->filter, condition};
        scan->filter = NULL;
        OC_TRY(oci_expr_logic(OCI_EXPR_AND, both, 2, -1, &condition, err));
    }
    scan->filter = condition;
    filter->n_inputs = 0;
    oci_plan_destroy(filter);
    *plan = scan;
    return OC_OK;
}

static oc_status push_filter(oci_plan **plan, oc_error *err)
{
    oci_plan *filter = *plan;
    oci_plan *input = filter->inputs[0];
    if (filter->exprs[0]->is_volatile) {
        return OC_OK;
    }
    switch (input->kind) {
    case OCI_PLAN_PROJECT:
        return is_pure(input) && is_cheap(input, filter->exprs[0]) ? filter_below_project(plan, err)
                                                                   : OC_OK;
    case OCI_PLAN_SORT:
        if (input->limit < 0) {
            swap_with_input(plan);
            return push_filter(&(*plan)->inputs[0], err);
        }
        return OC_OK;
    case OCI_PLAN_UNION: return filter_below_union(plan, err);
    case OCI_PLAN_SCAN: return filter_into_scan(plan, err);
    default: return OC_OK;
    }
}

static oc_status push_filters(oci_plan **plan, oc_error *err)
{
    for (int32_t i = 0; i < (*plan)->n_inputs; i++) {
        OC_TRY(push_filters(&(*plan)->inputs[i], err));
    }
    return (*plan)->kind == OCI_PLAN_FILTER ? push_filter(plan, err) : OC_OK;
}

/* ---- projections ----------------------------------------------------------------------------- */

/* An expression used more than once by the one above would be computed more than once: only plain ones are merged. */
static bool is_plain(const oci_plan *project)
{
    for (int32_t i = 0; i < project->n_exprs; i++) {
        if (project->exprs[i]->kind != OCI_EXPR_COLUMN &&
            project->exprs[i]->kind != OCI_EXPR_CONSTANT) {
            return false;
        }
    }
    return true;
}

static bool only_columns(const oci_plan *project)
{
    for (int32_t i = 0; i < project->n_exprs; i++) {
        if (project->exprs[i]->kind != OCI_EXPR_COLUMN) {
            return false;
        }
    }
    return true;
}

static oc_status merge_projects(oci_plan **plan, oc_error *err)
{
    oci_plan *upper = *plan;
    oci_plan *lower = upper->inputs[0];
    for (int32_t i = 0; i < upper->n_exprs; i++) {
        oci_expr *made;
        OC_TRY(oci_expr_substitute(upper->exprs[i], lower->exprs, &made, err));
        oci_expr_release(upper->exprs[i]);
        upper->exprs[i] = made;
    }
    upper->inputs[0] = lower->inputs[0];
    lower->n_inputs = 0;
    oci_plan_destroy(lower);
    return OC_OK;
}

static oc_status simplify_projects(oci_plan **plan, oc_error *err)
{
    oci_plan *node = *plan;
    while (node->kind == OCI_PLAN_PROJECT && node->inputs[0]->kind == OCI_PLAN_PROJECT &&
           (is_plain(node->inputs[0]) || (only_columns(node) && is_pure(node->inputs[0])))) {
        OC_TRY(merge_projects(plan, err));
    }
    for (int32_t i = 0; i < node->n_inputs; i++) {
        OC_TRY(simplify_projects(&node->inputs[i], err));
    }
    return OC_OK;
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void push_limit(oci_plan *plan, int64_t rows)
{
    for (oci_plan *at = plan;; at = at->inputs[0]) {
        if (at->kind == OCI_PLAN_SORT) {
            at->limit = at->limit < 0 || rows < at->limit ? rows : at->limit;
            return;
        }
        if (at->kind == OCI_PLAN_SCAN && at->filter == NULL) {
            at->scan_limit = rows;
            return;
        }
        if (at->kind != OCI_PLAN_PROJECT) {
            return;
        }
    }
}

static void push_limits(oci_plan *plan)
{
    int64_t rows;
    if (plan->kind == OCI_PLAN_LIMIT && plan->limit >= 0 &&
        !__builtin_add_overflow(plan->limit, plan->offset, &rows)) {
        push_limit(plan->inputs[0], rows);
    }
    for (int32_t i = 0; i < plan->n_inputs; i++) {
        push_limits(plan->inputs[i]);
    }
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Drops from a scan what is not marked; map[i] is where column i went. */
static oc_status narrow_scan(oci_plan *scan, const bool *used, int32_t *map, oc_error *err)
{
    int32_t n = scan->schema->n_fields;
    int32_t kept = 0;
    int32_t *columns = calloc((size_t)n + 1, sizeof *columns);
    int32_t *places = calloc((size_t)n + 1, sizeof *places);
    bool *all = calloc((size_t)n + 1, sizeof *all);
    oc_status status = columns == NULL || places == NULL || all == NULL ? out_of_memory(err)
                                                                        : OC_OK;
    if (status == OC_OK && scan->filter != NULL) {
        oci_expr_mark_columns(scan->filter, all);
    }
    for (int32_t i = 0; status == OC_OK && i < n; i++) {
        map[i] = -1;
        if (used[i] || all[i]) {
            places[kept] = i;
            columns[kept] = scan->columns[i];
            map[i] = kept++;
        }
    }
    oci_schema *schema = NULL;
    oci_expr *filter = NULL;
    if (status == OC_OK) {
        status = oci_schema_select(scan->schema, places, kept, &schema, err);
    }
    if (status == OC_OK && scan->filter != NULL) {
        status = oci_expr_remap(scan->filter, map, &filter, err);
    }
    if (status == OC_OK) {
        oci_expr_release(scan->filter);
        scan->filter = filter;
        memcpy(scan->columns, columns, (size_t)kept * sizeof *columns);
        oci_schema_release(scan->schema);
        scan->schema = schema;
    } else {
        oci_schema_release(schema);
    }
    free(columns);
    free(places);
    free(all);
    return status;
}

static oc_status remap_exprs(oci_plan *plan, const int32_t *map, oc_error *err)
{
    for (int32_t i = 0; i < plan->n_exprs; i++) {
        oci_expr *made;
        OC_TRY(oci_expr_remap(plan->exprs[i], map, &made, err));
        oci_expr_release(plan->exprs[i]);
        plan->exprs[i] = made;
    }
    return OC_OK;
}

/* PROJECT [over FILTER] over SCAN: only what is read is scanned. */
static oc_status narrow_below(oci_plan *project, oc_error *err)
{
    oci_plan *filter = project->inputs[0]->kind == OCI_PLAN_FILTER ? project->inputs[0] : NULL;
    oci_plan *scan = filter != NULL ? filter->inputs[0] : project->inputs[0];
    if (scan->kind != OCI_PLAN_SCAN) {
        return OC_OK;
    }
    int32_t n = scan->schema->n_fields;
    bool *used = calloc((size_t)n + 1, sizeof *used);
    int32_t *map = calloc((size_t)n + 1, sizeof *map);
    oc_status status = used == NULL || map == NULL ? out_of_memory(err) : OC_OK;
    for (int32_t i = 0; status == OC_OK && i < project->n_exprs; i++) {
        oci_expr_mark_columns(project->exprs[i], used);
    }
    if (status == OC_OK && filter != NULL) {
        oci_expr_mark_columns(filter->exprs[0], used);
    }
    if (status == OC_OK) {
        status = narrow_scan(scan, used, map, err);
    }
    if (status == OC_OK) {
        status = remap_exprs(project, map, err);
    }
    if (status == OC_OK && filter != NULL) {
        status = remap_exprs(filter, map, err);
        oci_schema_release(filter->schema);
        filter->schema = oci_schema_retain(scan->schema);
    }
    free(used);
    free(map);
    return status;
}

static oc_status narrow_scans(oci_plan *plan, oc_error *err)
{
    if (plan->kind == OCI_PLAN_PROJECT) {
        OC_TRY(narrow_below(plan, err));
    }
    for (int32_t i = 0; i < plan->n_inputs; i++) {
        OC_TRY(narrow_scans(plan->inputs[i], err));
    }
    return OC_OK;
}

/* ---- order ----------------------------------------------------------------------------------- */

/* Whether rows of a plan come so that equal values of these columns are neighbours: ordered by exactly them. */
static bool is_ordered_by(const oci_plan *plan, const int32_t *columns, int32_t n)
{
    int32_t below[64];
    if (n == 0 || n > 64) {
        return false;
    }
    switch (plan->kind) {
    case OCI_PLAN_SERIES: return n == 1 && columns[0] == 0;
    case OCI_PLAN_FILTER:
    case OCI_PLAN_LIMIT: return is_ordered_by(plan->inputs[0], columns, n);
    case OCI_PLAN_SORT:
        if (plan->n_sort_keys < n) {
            return false;
        }
        for (int32_t i = 0; i < n; i++) { /* the first n keys, in any order among themselves */
            bool found = false;
            for (int32_t k = 0; k < n; k++) {
                found = found || plan->sort_keys[i].column == columns[k];
            }
            if (!found) {
                return false;
            }
        }
        return true;
    case OCI_PLAN_PROJECT:
        for (int32_t i = 0; i < n; i++) {
            const oci_expr *expr = plan->exprs[columns[i]];
            if (expr->kind != OCI_EXPR_COLUMN) {
                return false;
            }
            below[i] = expr->column;
        }
        return is_ordered_by(plan->inputs[0], below, n);
    case OCI_PLAN_SCAN:
        for (int32_t i = 0; i < n; i++) {
            bool found = false;
            for (int32_t k = 0; k < plan->table->n_ordered && k < n; k++) {
                found = found || plan->table->ordered[k] == plan->columns[columns[i]];
            }
            if (!found) {
                return false;
            }
        }
        return plan->table->n_ordered >= n;
    default: return false;
    }
}

static void mark_ordered(oci_plan *plan)
{
    if (plan->kind == OCI_PLAN_GROUP) {
        plan->is_ordered = is_ordered_by(plan->inputs[0], plan->keys, plan->n_keys);
    }
    for (int32_t i = 0; i < plan->n_inputs; i++) {
        mark_ordered(plan->inputs[i]);
    }
}

oc_status oci_plan_optimize(oci_plan **plan, oc_error *err)
{
    OC_TRY(push_filters(plan, err));
    OC_TRY(simplify_projects(plan, err));
    push_limits(*plan);
    OC_TRY(narrow_scans(*plan, err));
    mark_ordered(*plan);
    return OC_OK;
}
