/* Queries: SELECT, VALUES, UNION, WITH. See bind.h. Lists come from malloc. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sql/bind.h"

static oc_status out_of_memory(oc_error *err)
{
    OC_FAIL(err, OC_ENOMEM, "could not bind a query: out of memory");
}

static oc_status unsupported(oci_binder *binder, int32_t location, const char *what, oc_error *err)
{
    (void)oci_bind_at(binder, location, OC_EUNSUPPORTED);
    OC_FAIL(err, OC_EUNSUPPORTED, "%s not supported yet", what);
}

/* ---- the select list ------------------------------------------------------------------------- */

/* Expressions of the result, then those that only ORDER BY needs. */
typedef struct outputs {
    oci_expr **exprs;
    char **names;
    int32_t n;
    int32_t room;
    int32_t n_visible;
} outputs;

static void outputs_deinit(outputs *o)
{
    for (int32_t i = 0; i < o->n; i++) {
        oci_expr_release(o->exprs[i]);
        free(o->names[i]);
    }
    free(o->exprs);
    free(o->names);
    *o = (outputs){0};
}

/* Takes the expression, also on failure. */
static oc_status add_output(outputs *o, oci_expr *expr, const char *name, oc_error *err)
{
    if (o->n == o->room) {
        int32_t room = 2 * o->room + 16;
        oci_expr **exprs = calloc((size_t)room, sizeof(oci_expr *));
        char **names = calloc((size_t)room, sizeof(char *));
        if (exprs == NULL || names == NULL) {
            free(exprs);
            free(names);
            oci_expr_release(expr);
            return out_of_memory(err);
        }
        if (o->n > 0) {
            memcpy(exprs, o->exprs, (size_t)o->n * sizeof(oci_expr *));
            memcpy(names, o->names, (size_t)o->n * sizeof(char *));
        }
        free(o->exprs);
        free(o->names);
        o->exprs = exprs;
        o->names = names;
        o->room = room;
    }
    char *copy = strdup(name);
    if (copy == NULL) {
        oci_expr_release(expr);
        return out_of_memory(err);
    }
    o->exprs[o->n] = expr;
    o->names[o->n++] = copy;
    return OC_OK;
}

/* Names as PostgreSQL gives them. */
static const char *name_of(const PgQuery__Node *node)
{
    switch (node->node_case) {
    case PG_QUERY__NODE__NODE_COLUMN_REF: {
        const PgQuery__Node *last = node->column_ref->fields[node->column_ref->n_fields - 1];
        return last->node_case == PG_QUERY__NODE__NODE_STRING ? last->string->sval : "?column?";
    }
    case PG_QUERY__NODE__NODE_FUNC_CALL:
        return node->func_call->funcname[node->func_call->n_funcname - 1]->string->sval;
    case PG_QUERY__NODE__NODE_TYPE_CAST: {
        const char *inner = name_of(node->type_cast->arg);
        const PgQuery__TypeName *type = node->type_cast->type_name;
        return strcmp(inner, "?column?") != 0 ? inner
                                              : type->names[type->n_names - 1]->string->sval;
    }
    case PG_QUERY__NODE__NODE_CASE_EXPR: {
        const char *inner = node->case_expr->defresult != NULL ? name_of(node->case_expr->defresult)
                                                               : "?column?";
        return strcmp(inner, "?column?") != 0 ? inner : "case";
    }
    case PG_QUERY__NODE__NODE_COALESCE_EXPR: return "coalesce";
    case PG_QUERY__NODE__NODE_MIN_MAX_EXPR:
        return node->min_max_expr->op == PG_QUERY__MIN_MAX_OP__IS_GREATEST ? "greatest" : "least";
    case PG_QUERY__NODE__NODE_GROUPING_FUNC: return "grouping";
    case PG_QUERY__NODE__NODE_A_ARRAY_EXPR: return "array";
    case PG_QUERY__NODE__NODE_SQLVALUE_FUNCTION:
        return node->sqlvalue_function->op == PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_DATE
                   ? "current_date"
                   : "now";
    case PG_QUERY__NODE__NODE_A_INDIRECTION: {
        const PgQuery__AIndirection *step = node->a_indirection;
        const PgQuery__Node *last = step->indirection[step->n_indirection - 1];
        return last->node_case == PG_QUERY__NODE__NODE_STRING ? last->string->sval
                                                              : name_of(step->arg);
    }
    default: return "?column?";
    }
}

static bool is_star(const PgQuery__Node *node)
{
    return node->node_case == PG_QUERY__NODE__NODE_COLUMN_REF &&
           node->column_ref->fields[node->column_ref->n_fields - 1]->node_case ==
               PG_QUERY__NODE__NODE_A_STAR;
}

static oc_status add_star(oci_binder *binder, const oci_scope *scope,
                          const PgQuery__ColumnRef *star, outputs *o, oc_error *err)
{
    const char *table = star->n_fields == 2 ? star->fields[0]->string->sval : NULL;
    if (star->n_fields > 2 ||
        (table != NULL && (scope->alias == NULL || strcasecmp(scope->alias, table) != 0))) {
        (void)oci_bind_at(binder, star->location, OC_EINVAL);
        OC_FAIL(err, OC_EINVAL, "there is no table \"%s\" here", table != NULL ? table : "...");
    }
    if (scope->schema == NULL || scope->schema->n_fields == 0) {
        (void)oci_bind_at(binder, star->location, OC_EINVAL);
        OC_FAIL(err, OC_EINVAL, "SELECT * needs a table in FROM");
    }
    for (int32_t i = 0; i < scope->schema->n_fields; i++) {
        oci_expr *expr;
        OC_TRY(oci_expr_column(scope->schema, i, star->location, &expr, err));
        OC_TRY(add_output(o, expr, scope->schema->fields[i].name, err));
    }
    return OC_OK;
}

static oc_status bind_targets(oci_binder *binder, const oci_scope *scope,
                              const PgQuery__SelectStmt *select, outputs *o, oc_error *err)
{
    for (size_t i = 0; i < select->n_target_list; i++) {
        const PgQuery__ResTarget *target = select->target_list[i]->res_target;
        oci_expr *expr;
        if (is_star(target->val)) {
            OC_TRY(add_star(binder, scope, target->val->column_ref, o, err));
            continue;
        }
        OC_TRY(oci_bind_expr(binder, scope, target->val, &expr, err));
        bool is_named = target->name != NULL && target->name[0] != '\0';
        OC_TRY(add_output(o, expr, is_named ? target->name : name_of(target->val), err));
    }
    o->n_visible = o->n;
    return OC_OK;
}

/* ---- ORDER BY -------------------------------------------------------------------------------- */

static int32_t find_name(const outputs *o, const char *name)
{
    int32_t found = -1;
    for (int32_t i = 0; i < o->n_visible; i++) {
        if (strcmp(o->names[i], name) == 0) {
            found = found < 0 ? i : found;
        }
    }
    return found;
}

/* The output that an item names: by position or by name; -1: it is an expression. */
static oc_status item_output(oci_binder *binder, const outputs *o, const PgQuery__Node *node,
                             int32_t *out, oc_error *err)
{
    *out = -1;
    if (node->node_case == PG_QUERY__NODE__NODE_A_CONST && !node->a_const->isnull &&
        node->a_const->val_case == PG_QUERY__A__CONST__VAL_IVAL) {
        int64_t position = node->a_const->ival->ival;
        if (position < 1 || position > o->n_visible) {
            (void)oci_bind_at(binder, node->a_const->location, OC_EINVAL);
            OC_FAIL(err, OC_EINVAL, "ORDER BY position %" PRId64 " is not in the select list",
                    position);
        }
        *out = (int32_t)position - 1;
    } else if (node->node_case == PG_QUERY__NODE__NODE_COLUMN_REF &&
               node->column_ref->n_fields == 1 &&
               node->column_ref->fields[0]->node_case == PG_QUERY__NODE__NODE_STRING) {
        *out = find_name(o, node->column_ref->fields[0]->string->sval);
    }
    return OC_OK;
}

static oci_sort_key sort_key(const PgQuery__SortBy *by, int32_t column)
{
    bool descending = by->sortby_dir == PG_QUERY__SORT_BY_DIR__SORTBY_DESC;
    bool first = by->sortby_nulls == PG_QUERY__SORT_BY_NULLS__SORTBY_NULLS_FIRST ||
                 (by->sortby_nulls == PG_QUERY__SORT_BY_NULLS__SORTBY_NULLS_DEFAULT && descending);
    return (oci_sort_key){.column = column, .descending = descending, .nulls_first = first};
}

/* Fills keys[n]; expressions that are no outputs are added behind them. scope NULL: only outputs may be named. */
static oc_status bind_order(oci_binder *binder, const oci_scope *scope, PgQuery__Node *const *items,
                            size_t n, outputs *o, oci_sort_key *keys, oc_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const PgQuery__SortBy *by = items[i]->sort_by;
        int32_t output;
        OC_TRY(item_output(binder, o, by->node, &output, err));
        if (output < 0 && scope == NULL) {
            (void)oci_bind_at(binder, by->location, OC_EINVAL);
            OC_FAIL(
                err, OC_EINVAL,
                "ORDER BY of a UNION, and behind DISTINCT, takes names and positions of the result "
                "only");
        }
        if (output < 0) {
            oci_expr *expr;
            OC_TRY(oci_bind_expr(binder, scope, by->node, &expr, err));
            for (int32_t k = 0; k < o->n && output < 0; k++) {
                output = oci_expr_equal(o->exprs[k], expr) ? k : -1;
            }
            if (output >= 0) {
                oci_expr_release(expr);
            } else {
                OC_TRY(add_output(o, expr, "", err));
                output = o->n - 1;
            }
        }
        keys[i] = sort_key(by, output);
    }
    return OC_OK;
}

/* ---- LIMIT ----------------------------------------------------------------------------------- */

static oc_status bind_count(oci_binder *binder, const PgQuery__Node *node, const char *what,
                            int64_t none, int64_t *out, oc_error *err)
{
    oci_expr *expr;
    oci_field type = oci_expr_type(OCI_TYPE_INT64);
    oci_scope nothing = {.where = what};
    *out = none;
    if (node == NULL) {
        return OC_OK;
    }
    OC_TRY(oci_bind_expr(binder, &nothing, node, &expr, err));
    int32_t location = expr->position;
    OC_TRY(oci_bind_at(binder, location, oci_expr_cast(expr, &type, false, location, &expr, err)));
    bool is_constant = expr->kind == OCI_EXPR_CONSTANT;
    if (is_constant && !oci_column_is_null(&expr->constant->columns[0], 0)) {
        memcpy(out, expr->constant->columns[0].values, sizeof *out);
    }
    oci_expr_release(expr);
    if (!is_constant || (*out < 0 && *out != none)) {
        (void)oci_bind_at(binder, location, OC_EINVAL);
        OC_FAIL(err, OC_EINVAL, "%s must be a constant that is not negative", what);
    }
    return OC_OK;
}

static oc_status add_limit(oci_binder *binder, const PgQuery__SelectStmt *select, oci_plan **plan,
                           oc_error *err)
{
    int64_t limit;
    int64_t offset;
    if (select->limit_count == NULL && select->limit_offset == NULL) {
        return OC_OK;
    }
    if (select->limit_option == PG_QUERY__LIMIT_OPTION__LIMIT_OPTION_WITH_TIES) {
        return unsupported(binder, -1, "WITH TIES is", err);
    }
    OC_TRY(bind_count(binder, select->limit_count, "LIMIT", -1, &limit, err));
    OC_TRY(bind_count(binder, select->limit_offset, "OFFSET", 0, &offset, err));
    oci_plan *input = *plan;
    *plan = NULL;
    return oci_plan_limit(input, offset, limit, plan, err);
}

/* ---- putting a query together ---------------------------------------------------------------- */

/* Drops the columns behind the visible ones. */
static oc_status drop_hidden(oci_plan **plan, int32_t n_visible, oc_error *err)
{
    oci_plan *input = *plan;
    if (n_visible == input->schema->n_fields) {
        return OC_OK;
    }
    oci_expr **exprs = calloc((size_t)n_visible + 1, sizeof(oci_expr *));
    const char **names = calloc((size_t)n_visible + 1, sizeof(char *));
    oc_status status = exprs == NULL || names == NULL ? out_of_memory(err) : OC_OK;
    for (int32_t i = 0; status == OC_OK && i < n_visible; i++) {
        names[i] = input->schema->fields[i].name;
        status = oci_plan_column(input, i, &exprs[i], err);
    }
    if (status == OC_OK) {
        *plan = NULL;
        status = oci_plan_project(input, exprs, names, n_visible, plan, err);
    }
    free(exprs);
    free(names);
    return status;
}

/* Above the relation (and the grouping): projection, DISTINCT, sort, limit. Takes the outputs' expressions. */
static oc_status put_outputs(oci_binder *binder, const PgQuery__SelectStmt *select, outputs *o,
                             const oci_sort_key *keys, oci_plan **plan, oc_error *err)
{
    oci_plan *input = *plan;
    *plan = NULL;
    int32_t n = o->n;
    o->n = 0;
    oc_status status =
        oci_plan_project(input, o->exprs, (const char *const *)o->names, n, plan, err);
    for (int32_t i = 0; i < n; i++) {
        free(o->names[i]);
    }
    OC_TRY(status);
    if (select->n_distinct_clause > 0) {
        input = *plan;
        *plan = NULL;
        OC_TRY(oci_plan_distinct(input, plan, err));
    }
    if (select->n_sort_clause > 0) {
        input = *plan;
        *plan = NULL;
        OC_TRY(oci_plan_sort(input, keys, (int32_t)select->n_sort_clause, plan, err));
    }
    OC_TRY(add_limit(binder, select, plan, err));
    return drop_hidden(plan, o->n_visible, err);
}

static oc_status regroup_outputs(oci_binder *binder, const oci_grouping *grouping,
                                 const oci_schema *relation, const oci_schema *grouped, outputs *o,
                                 oc_error *err)
{
    for (int32_t i = 0; i < o->n; i++) {
        oci_expr *expr = o->exprs[i];
        oci_expr *made = NULL;
        o->exprs[i] = NULL;
        oc_status status = oci_bind_regroup(binder, grouping, relation, grouped, expr, &made, err);
        o->exprs[i] = made;
        OC_TRY(status);
    }
    return OC_OK;
}

/* Grouping and HAVING; outputs are rewritten. */
static oc_status put_grouping(oci_binder *binder, oci_grouping *grouping, oci_expr *having,
                              outputs *o, oci_plan **plan, oc_error *err)
{
    oci_schema *relation = oci_schema_retain((*plan)->schema);
    oc_status status = oci_bind_finish_grouping(binder, grouping, plan, err);
    if (status == OC_OK) {
        status = regroup_outputs(binder, grouping, relation, (*plan)->schema, o, err);
    }
    if (status == OC_OK && having != NULL) {
        oci_expr *condition = NULL;
        status = oci_bind_regroup(binder, grouping, relation, (*plan)->schema,
                                  oci_expr_retain(having), &condition, err);
        if (status == OC_OK) {
            oci_plan *input = *plan;
            *plan = NULL;
            status = oci_plan_filter(input, condition, plan, err);
        }
    }
    oci_schema_release(relation);
    return status;
}

static oc_status bind_condition(oci_binder *binder, const oci_scope *scope,
                                const PgQuery__Node *node, const char *what, oci_expr **out,
                                oc_error *err)
{
    oci_expr *expr;
    OC_TRY(oci_bind_expr(binder, scope, node, &expr, err));
    oci_type type = expr->type.type;
    int32_t location = expr->position;
    if (type != OCI_TYPE_BOOL && type != OCI_TYPE_NULL && !expr->is_literal) {
        oci_expr_release(expr);
        (void)oci_bind_at(binder, location, OC_EINVAL);
        OC_FAIL(err, OC_EINVAL, "argument of %s must be type boolean", what);
    }
    oci_field boolean = oci_expr_type(OCI_TYPE_BOOL);
    return oci_bind_at(binder, location, oci_expr_cast(expr, &boolean, false, location, out, err));
}

static oc_status bind_where(oci_binder *binder, const PgQuery__SelectStmt *select,
                            const char *alias, oci_plan **plan, oc_error *err)
{
    oci_scope scope = {.alias = alias, .schema = (*plan)->schema, .where = "WHERE"};
    oci_expr *condition;
    if (select->where_clause == NULL) {
        return OC_OK;
    }
    OC_TRY(bind_condition(binder, &scope, select->where_clause, "WHERE", &condition, err));
    oci_plan *input = *plan;
    *plan = NULL;
    return oci_plan_filter(input, condition, plan, err);
}

static oc_status bind_parts(oci_binder *binder, const PgQuery__SelectStmt *select,
                            const char *alias, outputs *o, oci_grouping *grouping,
                            oci_expr **having, oci_sort_key *keys, oci_plan **plan, oc_error *err)
{
    OC_TRY(bind_where(binder, select, alias, plan, err));
    oci_scope scope = {.alias = alias, .schema = (*plan)->schema, .grouping = grouping};
    OC_TRY(oci_bind_group_by(binder, &scope, select, grouping, err));
    OC_TRY(bind_targets(binder, &scope, select, o, err));
    if (select->having_clause != NULL) {
        OC_TRY(bind_condition(binder, &scope, select->having_clause, "HAVING", having, err));
    }
    OC_TRY(bind_order(binder, select->n_distinct_clause > 0 ? NULL : &scope, select->sort_clause,
                      select->n_sort_clause, o, keys, err));
    if (grouping->has_items || grouping->n_aggregates > 0 || *having != NULL) {
        OC_TRY(put_grouping(binder, grouping, *having, o, plan, err));
    }
    return put_outputs(binder, select, o, keys, plan, err);
}

static oc_status bind_simple(oci_binder *binder, const PgQuery__SelectStmt *select,
                             const oci_cte *ctes, oci_plan **out, oc_error *err)
{
    const char *alias;
    oci_plan *plan = NULL;
    outputs o = {0};
    oci_grouping grouping = {0};
    oci_expr *having = NULL;
    if (select->n_window_clause > 0) {
        return unsupported(binder, -1, "window functions are", err);
    }
    if (select->into_clause != NULL || select->n_locking_clause > 0) {
        return unsupported(binder, -1, "SELECT INTO and FOR UPDATE are", err);
    }
    if (select->n_distinct_clause > 0 && select->distinct_clause[0]->node_case != 0) {
        return unsupported(binder, -1, "DISTINCT ON is", err);
    }
    oci_sort_key *keys = calloc(select->n_sort_clause + 1, sizeof *keys);
    if (keys == NULL) {
        return out_of_memory(err);
    }
    oc_status status = oci_bind_from(binder, select, ctes, &plan, &alias, err);
    if (status == OC_OK) {
        status = bind_parts(binder, select, alias, &o, &grouping, &having, keys, &plan, err);
    }
    outputs_deinit(&o);
    oci_grouping_deinit(&grouping);
    oci_expr_release(having);
    free(keys);
    if (status != OC_OK) {
        oci_plan_destroy(plan);
        return status;
    }
    *out = plan;
    return OC_OK;
}

/* ---- ORDER BY and LIMIT of VALUES and UNION -------------------------------------------------- */

static oc_status order_result(oci_binder *binder, const PgQuery__SelectStmt *select,
                              oci_plan **plan, oc_error *err)
{
    outputs o = {0};
    oc_status status = OC_OK;
    oci_sort_key *keys = calloc(select->n_sort_clause + 1, sizeof *keys);
    if (keys == NULL) {
        return out_of_memory(err);
    }
    for (int32_t i = 0; status == OC_OK && i < (*plan)->schema->n_fields; i++) {
        oci_expr *expr;
        status = oci_plan_column(*plan, i, &expr, err);
        if (status == OC_OK) {
            status = add_output(&o, expr, (*plan)->schema->fields[i].name, err);
        }
    }
    o.n_visible = o.n;
    if (status == OC_OK) {
        status =
            bind_order(binder, NULL, select->sort_clause, select->n_sort_clause, &o, keys, err);
    }
    if (status == OC_OK && select->n_sort_clause > 0) {
        oci_plan *input = *plan;
        *plan = NULL;
        status = oci_plan_sort(input, keys, (int32_t)select->n_sort_clause, plan, err);
    }
    outputs_deinit(&o);
    free(keys);
    return status == OC_OK ? add_limit(binder, select, plan, err) : status;
}

/* ---- VALUES ---------------------------------------------------------------------------------- */

static oc_status cast_column(oci_plan *plan, int32_t n_columns, int32_t column, oc_error *err)
{
    oci_field type = oci_expr_type(OCI_TYPE_NULL);
    bool has_text = false;
    for (int64_t row = 0; row < plan->n_rows; row++) {
        const oci_expr *expr = plan->exprs[row * n_columns + column];
        if (expr->is_literal) {
            has_text = has_text || expr->type.type == OCI_TYPE_UTF8;
        } else {
            OC_TRY(oci_common_type(&type, &expr->type, &type, err));
        }
    }
    if (type.type == OCI_TYPE_NULL) {
        type = oci_expr_type(has_text ? OCI_TYPE_UTF8 : OCI_TYPE_NULL);
    }
    for (int64_t row = 0; row < plan->n_rows && type.type != OCI_TYPE_NULL; row++) {
        oci_expr **expr = &plan->exprs[row * n_columns + column];
        oci_expr *taken = *expr;
        *expr = NULL;
        OC_TRY(oci_expr_cast(taken, &type, false, taken->position, expr, err));
    }
    return OC_OK;
}

static oc_status values_schema(oci_plan *plan, int32_t n_columns, oc_error *err)
{
    char(*texts)[24] = calloc((size_t)n_columns + 1, sizeof *texts);
    const char **names = calloc((size_t)n_columns + 1, sizeof(char *));
    oc_status status = texts == NULL || names == NULL ? out_of_memory(err) : OC_OK;
    for (int32_t i = 0; status == OC_OK && i < n_columns; i++) {
        snprintf(texts[i], sizeof texts[i], "column%d", i + 1);
        names[i] = texts[i];
    }
    if (status == OC_OK) {
        status = oci_plan_schema(plan->exprs, names, n_columns, &plan->schema, err);
    }
    free(texts);
    free(names);
    return status;
}

static oc_status fill_values(oci_binder *binder, const PgQuery__SelectStmt *select, oci_plan *plan,
                             oc_error *err)
{
    size_t n_columns = select->values_lists[0]->list->n_items;
    oci_scope none = {.where = "VALUES"};
    plan->exprs = calloc(select->n_values_lists * n_columns + 1, sizeof(oci_expr *));
    if (plan->exprs == NULL) {
        return out_of_memory(err);
    }
    for (size_t row = 0; row < select->n_values_lists; row++) {
        const PgQuery__List *list = select->values_lists[row]->list;
        if (list->n_items != n_columns) {
            OC_FAIL(err, OC_EINVAL, "VALUES lists must all be the same length");
        }
        for (size_t i = 0; i < n_columns; i++) {
            OC_TRY(oci_bind_expr(binder, &none, list->items[i], &plan->exprs[plan->n_exprs], err));
            plan->n_exprs++;
        }
    }
    plan->n_rows = (int64_t)select->n_values_lists;
    for (size_t i = 0; i < n_columns; i++) {
        OC_TRY(cast_column(plan, (int32_t)n_columns, (int32_t)i, err));
    }
    return values_schema(plan, (int32_t)n_columns, err);
}

static oc_status bind_values(oci_binder *binder, const PgQuery__SelectStmt *select, oci_plan **out,
                             oc_error *err)
{
    oci_plan *plan;
    OC_TRY(oci_plan_create(OCI_PLAN_VALUES, &plan, err));
    oc_status status = fill_values(binder, select, plan, err);
    if (status == OC_OK) {
        status = order_result(binder, select, &plan, err);
    }
    if (status != OC_OK) {
        oci_plan_destroy(plan);
        return status;
    }
    *out = plan;
    return OC_OK;
}

/* ---- UNION ----------------------------------------------------------------------------------- */

/* Columns of an input as those of the whole. */
static oc_status cast_input(oci_plan **plan, const oci_field *types, const oci_schema *names_of,
                            oc_error *err)
{
    oci_plan *input = *plan;
    int32_t n = input->schema->n_fields;
    oci_expr **exprs = calloc((size_t)n + 1, sizeof(oci_expr *));
    const char **names = calloc((size_t)n + 1, sizeof(char *));
    oc_status status = exprs == NULL || names == NULL ? out_of_memory(err) : OC_OK;
    for (int32_t i = 0; status == OC_OK && i < n; i++) {
        names[i] = names_of->fields[i].name;
        status = oci_plan_column(input, i, &exprs[i], err);
        if (status == OC_OK) {
            oci_expr *taken = exprs[i];
            exprs[i] = NULL;
            status = oci_expr_cast(taken, &types[i], false, -1, &exprs[i], err);
        }
    }
    if (status == OC_OK) {
        *plan = NULL;
        status = oci_plan_project(input, exprs, names, n, plan, err);
    } else {
        for (int32_t i = 0; exprs != NULL && i < n; i++) {
            oci_expr_release(exprs[i]);
        }
    }
    free(exprs);
    free(names);
    return status;
}

static oc_status match_inputs(oci_plan *const_left, oci_plan **left, oci_plan **right,
                              oc_error *err)
{
    (void)const_left;
    int32_t n = (*left)->schema->n_fields;
    if (n != (*right)->schema->n_fields) {
        OC_FAIL(err, OC_EINVAL,
                "each query of a UNION must have the same number of columns: %d and %d", n,
                (*right)->schema->n_fields);
    }
    oci_schema *names = oci_schema_retain((*left)->schema);
    oci_schema *others = oci_schema_retain((*right)->schema);
    oci_field *types = calloc((size_t)n + 1, sizeof *types);
    oc_status status = types == NULL ? out_of_memory(err) : OC_OK;
    for (int32_t i = 0; status == OC_OK && i < n; i++) {
        status = oci_common_type(&names->fields[i], &others->fields[i], &types[i], err);
    }
    if (status == OC_OK) {
        status = cast_input(left, types, names, err);
    }
    if (status == OC_OK) {
        status = cast_input(right, types, names, err);
    }
    free(types);
    oci_schema_release(names);
    oci_schema_release(others);
    return status;
}

static oc_status join_inputs(oci_plan **left, oci_plan **right, bool all, oci_plan **out,
                             oc_error *err)
{
    oci_plan *plan;
    OC_TRY(match_inputs(*left, left, right, err));
    OC_TRY(oci_plan_create(OCI_PLAN_UNION, &plan, err));
    plan->schema = oci_schema_retain((*left)->schema);
    plan->inputs[0] = *left;
    plan->inputs[1] = *right;
    plan->n_inputs = 2;
    *left = *right = NULL;
    return all ? (*out = plan, OC_OK) : oci_plan_distinct(plan, out, err);
}

static oc_status bind_union(oci_binder *binder, const PgQuery__SelectStmt *select,
                            const oci_cte *ctes, oci_plan **out, oc_error *err)
{
    oci_plan *left = NULL;
    oci_plan *right = NULL;
    oci_plan *plan = NULL;
    if (select->op != PG_QUERY__SET_OPERATION__SETOP_UNION) {
        return unsupported(binder, -1, "INTERSECT and EXCEPT are", err);
    }
    oc_status status = oci_bind_select(binder, select->larg, ctes, &left, err);
    if (status == OC_OK) {
        status = oci_bind_select(binder, select->rarg, ctes, &right, err);
    }
    if (status == OC_OK) {
        status = join_inputs(&left, &right, select->all, &plan, err);
    }
    if (status == OC_OK) {
        status = order_result(binder, select, &plan, err);
    }
    if (status != OC_OK) {
        oci_plan_destroy(left);
        oci_plan_destroy(right);
        oci_plan_destroy(plan);
        return status;
    }
    *out = plan;
    return OC_OK;
}

/* ---- any query ------------------------------------------------------------------------------- */

static oc_status bind_any(oci_binder *binder, const PgQuery__SelectStmt *select,
                          const oci_cte *ctes, oci_plan **out, oc_error *err)
{
    if (select->n_values_lists > 0) {
        return bind_values(binder, select, out, err);
    }
    if (select->op != PG_QUERY__SET_OPERATION__SETOP_NONE) {
        return bind_union(binder, select, ctes, out, err);
    }
    return bind_simple(binder, select, ctes, out, err);
}

static oc_status check_with(oci_binder *binder, const PgQuery__WithClause *with, oc_error *err)
{
    if (with->recursive) {
        return unsupported(binder, with->location, "WITH RECURSIVE is", err);
    }
    for (size_t i = 0; i < with->n_ctes; i++) {
        const PgQuery__CommonTableExpr *cte = with->ctes[i]->common_table_expr;
        if (cte->ctequery->node_case != PG_QUERY__NODE__NODE_SELECT_STMT) {
            return unsupported(binder, cte->location, "WITH of anything but queries is", err);
        }
        for (size_t k = 0; k < i; k++) {
            if (strcmp(with->ctes[k]->common_table_expr->ctename, cte->ctename) == 0) {
                (void)oci_bind_at(binder, cte->location, OC_EINVAL);
                OC_FAIL(err, OC_EINVAL, "WITH names \"%s\" twice", cte->ctename);
            }
        }
    }
    return OC_OK;
}

/* Each query of WITH sees those before it. */
static oc_status bind_with(oci_binder *binder, const PgQuery__SelectStmt *select,
                           const oci_cte *ctes, oci_plan **out, oc_error *err)
{
    const PgQuery__WithClause *with = select->with_clause;
    if (with == NULL) {
        return bind_any(binder, select, ctes, out, err);
    }
    OC_TRY(check_with(binder, with, err));
    oci_cte *list = calloc(with->n_ctes + 1, sizeof *list);
    if (list == NULL) {
        return out_of_memory(err);
    }
    for (size_t i = 0; i < with->n_ctes; i++) {
        const PgQuery__CommonTableExpr *cte = with->ctes[i]->common_table_expr;
        list[i] =
            (oci_cte){.name = cte->ctename, .node = cte, .outer = i == 0 ? ctes : &list[i - 1]};
    }
    oc_status status =
        bind_any(binder, select, with->n_ctes == 0 ? ctes : &list[with->n_ctes - 1], out, err);
    free(list);
    return status;
}

oc_status oci_bind_select(oci_binder *binder, const PgQuery__SelectStmt *select,
                          const oci_cte *ctes, oci_plan **out, oc_error *err)
{
    OC_TRY(oci_bind_enter(binder, err));
    oc_status status = bind_with(binder, select, ctes, out, err);
    binder->depth--;
    return status;
}
