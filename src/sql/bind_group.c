/* GROUP BY and aggregates. See bind.h. Lists come from malloc. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ops/group/group.h"
#include "sql/bind.h"

#define SETS_MAX       4096
#define AGGREGATES_MAX 4096

/* ---- lists ----------------------------------------------------------------------------------- */

static oc_status out_of_memory(oc_error *err)
{
    OC_FAIL(err, OC_ENOMEM, "could not bind a grouping: out of memory");
}

static void free_aggregate(oci_aggregate *aggregate)
{
    free((void *)(uintptr_t)aggregate->order);
    free((void *)(uintptr_t)aggregate->separator);
    free((void *)(uintptr_t)aggregate->name);
}

void oci_grouping_deinit(oci_grouping *grouping)
{
    for (int32_t i = 0; i < grouping->n_inputs; i++) {
        oci_expr_release(grouping->inputs[i]);
    }
    for (int32_t i = 0; i < grouping->n_aggregates; i++) {
        free_aggregate(&grouping->aggregates[i]);
        oci_field_deinit(&grouping->results[i]);
    }
    free(grouping->inputs);
    free(grouping->aggregates);
    free(grouping->results);
    free(grouping->sets);
    *grouping = (oci_grouping){0};
}

/* A longer copy of a malloc'ed list; the old one stays when there is no memory. */
static bool grow(void *list, int32_t n, size_t each, int32_t *room)
{
    void **at = list;
    if (n < *room) {
        return true;
    }
    int32_t more = *room * 2 + 8;
    void *longer = calloc((size_t)more, each);
    if (longer == NULL) {
        return false;
    }
    if (n > 0) {
        memcpy(longer, *at, (size_t)n * each);
    }
    free(*at);
    *at = longer;
    *room = more;
    return true;
}

oc_status oci_grouping_input(oci_grouping *grouping, oci_expr *expr, int32_t *out, oc_error *err)
{
    /* Sets make keys null; what aggregates take keeps its value, so it is a column of its own. */
    for (int32_t i = grouping->n_sets > 0 ? grouping->n_keys : 0; i < grouping->n_inputs; i++) {
        if (oci_expr_equal(grouping->inputs[i], expr)) {
            oci_expr_release(expr);
            *out = i;
            return OC_OK;
        }
    }
    if (!grow(&grouping->inputs, grouping->n_inputs, sizeof(oci_expr *), &grouping->room_inputs)) {
        oci_expr_release(expr);
        return out_of_memory(err);
    }
    *out = grouping->n_inputs;
    grouping->inputs[grouping->n_inputs++] = expr;
    return OC_OK;
}

/* ---- aggregates ------------------------------------------------------------------------------ */

/* What a call says, beside its arguments. */
typedef struct aggregate_call {
    oci_binder *binder;
    oci_scope inner; /* of arguments: no aggregates inside aggregates */
    oci_grouping *grouping;
    const PgQuery__FuncCall *node;
    oci_aggregate made;
} aggregate_call;

static oc_status bind_argument(aggregate_call *c, const PgQuery__Node *node, const oci_field *cast,
                               int32_t *out, oc_error *err)
{
    oci_expr *expr;
    OC_TRY(oci_bind_expr(c->binder, &c->inner, node, &expr, err));
    if (expr->is_literal && expr->type.type == OCI_TYPE_UTF8) {
        expr->is_literal = false;
    }
    if (cast != NULL) {
        OC_TRY(oci_bind_at(c->binder, expr->position,
                           oci_expr_cast(expr, cast, false, expr->position, &expr, err)));
    }
    return oci_grouping_input(c->grouping, expr, out, err);
}

/* A constant number, for the fraction of a quantile. */
static oc_status constant_fraction(aggregate_call *c, const PgQuery__Node *node, double *out,
                                   oc_error *err)
{
    oci_expr *expr;
    oci_field type = oci_expr_type(OCI_TYPE_FLOAT64);
    oci_scope none = {.where = "a fraction"};
    OC_TRY(oci_bind_expr(c->binder, &none, node, &expr, err));
    int32_t location = expr->position;
    OC_TRY(oci_expr_cast(expr, &type, false, location, &expr, err));
    bool is_constant = expr->kind == OCI_EXPR_CONSTANT &&
                       !oci_column_is_null(&expr->constant->columns[0], 0);
    if (is_constant) {
        memcpy(out, expr->constant->columns[0].values, sizeof *out);
    }
    oci_expr_release(expr);
    if (!is_constant || !(*out >= 0 && *out <= 1)) {
        (void)oci_bind_at(c->binder, location, OC_EINVAL);
        OC_FAIL(err, OC_EINVAL, "a fraction must be a constant between 0 and 1");
    }
    return OC_OK;
}

static oc_status constant_separator(aggregate_call *c, const PgQuery__Node *node, oc_error *err)
{
    oci_expr *expr;
    oci_scope none = {.where = "a separator"};
    OC_TRY(oci_bind_expr(c->binder, &none, node, &expr, err));
    bool is_text = expr->kind == OCI_EXPR_CONSTANT && expr->type.type == OCI_TYPE_UTF8;
    int32_t location = expr->position;
    int64_t length = 0;
    char *copy = NULL;
    if (is_text) {
        const uint8_t *text = oci_column_bytes_at(&expr->constant->columns[0], 0, &length);
        copy = malloc((size_t)length + 1);
        if (copy != NULL) {
            memcpy(copy, text, (size_t)length);
        }
    }
    oci_expr_release(expr);
    if (!is_text) {
        (void)oci_bind_at(c->binder, location, OC_EINVAL);
        OC_FAIL(err, OC_EINVAL, "the separator of string_agg must be a constant text");
    }
    if (copy == NULL) {
        return out_of_memory(err);
    }
    c->made.separator = (const uint8_t *)copy;
    c->made.separator_length = length;
    return OC_OK;
}

static oc_status bind_order(aggregate_call *c, oc_error *err)
{
    size_t n = c->node->n_agg_order;
    oci_sort_key *keys = calloc(n + 1, sizeof *keys);
    if (keys == NULL) {
        return out_of_memory(err);
    }
    c->made.order = keys;
    for (size_t i = 0; i < n; i++) {
        const PgQuery__SortBy *by = c->node->agg_order[i]->sort_by;
        OC_TRY(bind_argument(c, by->node, NULL, &keys[i].column, err));
        keys[i].descending = by->sortby_dir == PG_QUERY__SORT_BY_DIR__SORTBY_DESC;
        keys[i].nulls_first = by->sortby_nulls == PG_QUERY__SORT_BY_NULLS__SORTBY_NULLS_FIRST ||
                              (by->sortby_nulls == PG_QUERY__SORT_BY_NULLS__SORTBY_NULLS_DEFAULT &&
                               keys[i].descending);
        c->made.n_order = (int32_t)i + 1;
    }
    return OC_OK;
}

static bool is_quantile(oci_aggregate_kind kind)
{
    return kind == OCI_AGG_QUANTILE_CONT || kind == OCI_AGG_QUANTILE_DISC;
}

/* percentile_cont(0.5) WITHIN GROUP (ORDER BY x), mode() WITHIN GROUP (ORDER BY x). */
static oc_status bind_within_group(aggregate_call *c, oc_error *err)
{
    const PgQuery__FuncCall *node = c->node;
    if (!is_quantile(c->made.kind) && c->made.kind != OCI_AGG_MODE) {
        (void)oci_bind_at(c->binder, node->location, OC_EINVAL);
        OC_FAIL(err, OC_EINVAL, "%s takes no WITHIN GROUP", oci_aggregate_name(c->made.kind));
    }
    if (node->n_agg_order != 1 || node->n_args != (is_quantile(c->made.kind) ? 1U : 0U)) {
        (void)oci_bind_at(c->binder, node->location, OC_EINVAL);
        OC_FAIL(err, OC_EINVAL, "%s takes one value to order by", oci_aggregate_name(c->made.kind));
    }
    const PgQuery__SortBy *by = node->agg_order[0]->sort_by;
    c->made.n_args = 1;
    OC_TRY(bind_argument(c, by->node, NULL, &c->made.args[0], err));
    if (is_quantile(c->made.kind)) {
        OC_TRY(constant_fraction(c, node->args[0], &c->made.fraction, err));
        if (by->sortby_dir == PG_QUERY__SORT_BY_DIR__SORTBY_DESC) {
            c->made.fraction = 1 - c->made.fraction;
        }
    }
    return OC_OK;
}

static oc_status bind_arguments(aggregate_call *c, const char *name, oc_error *err)
{
    const PgQuery__FuncCall *node = c->node;
    oci_field text = oci_expr_type(OCI_TYPE_UTF8);
    size_t n = node->n_args;
    if (node->agg_star || (c->made.kind == OCI_AGG_COUNT && n == 0)) {
        c->made.kind = c->made.kind == OCI_AGG_COUNT ? OCI_AGG_COUNT_STAR : c->made.kind;
        return OC_OK;
    }
    if (strcmp(name, "median") == 0) {
        c->made.fraction = 0.5;
    } else if (is_quantile(c->made.kind) && n == 2) {
        OC_TRY(constant_fraction(c, node->args[1], &c->made.fraction, err));
        n = 1;
    }
    if (c->made.kind == OCI_AGG_STRING_AGG) {
        if (n == 2) {
            OC_TRY(constant_separator(c, node->args[1], err));
        }
        n = n == 2 ? 1 : n;
    }
    if (n > 2) {
        c->made.n_args = (int32_t)n;
        return OC_OK; /* oci_aggregate_result says what is wrong */
    }
    for (size_t i = 0; i < n; i++) {
        OC_TRY(bind_argument(c, node->args[i], c->made.kind == OCI_AGG_STRING_AGG ? &text : NULL,
                             &c->made.args[i], err));
        c->made.n_args = (int32_t)i + 1;
    }
    return OC_OK;
}

static bool same_aggregate(const oci_aggregate *a, const oci_aggregate *b)
{
    if (a->kind != b->kind || a->n_args != b->n_args || a->args[0] != b->args[0] ||
        a->args[1] != b->args[1] || a->filter != b->filter || a->distinct != b->distinct ||
        a->n_order != b->n_order || a->fraction != b->fraction ||
        a->separator_length != b->separator_length) {
        return false;
    }
    for (int32_t i = 0; i < a->n_order; i++) {
        if (a->order[i].column != b->order[i].column ||
            a->order[i].descending != b->order[i].descending ||
            a->order[i].nulls_first != b->order[i].nulls_first) {
            return false;
        }
    }
    return a->separator_length == 0 ||
           memcmp(a->separator, b->separator, (size_t)a->separator_length) == 0;
}

/* Types of the inputs so far, for asking what an aggregate gives. */
static oc_status input_schema(const oci_grouping *grouping, oci_schema **out, oc_error *err)
{
    return oci_plan_schema(grouping->inputs, NULL, grouping->n_inputs, out, err);
}

static oc_status add_aggregate(aggregate_call *c, int32_t *out, oc_error *err)
{
    oci_grouping *grouping = c->grouping;
    for (int32_t i = 0; i < grouping->n_aggregates; i++) {
        if (same_aggregate(&grouping->aggregates[i], &c->made)) {
            free_aggregate(&c->made);
            c->made = (oci_aggregate){0};
            *out = i;
            return OC_OK;
        }
    }
    if (grouping->n_aggregates == AGGREGATES_MAX) {
        (void)oci_bind_at(c->binder, c->node->location, OC_EUNSUPPORTED);
        OC_FAIL(err, OC_EUNSUPPORTED, "more than %d different aggregates are not supported",
                AGGREGATES_MAX);
    }
    oci_schema *schema;
    oci_field result;
    OC_TRY(input_schema(grouping, &schema, err));
    oc_status status = oci_aggregate_result(&c->made, schema, &result, err);
    oci_schema_release(schema);
    OC_TRY(oci_bind_at(c->binder, c->node->location, status));
    int32_t room = grouping->room_aggregates;
    if (!grow(&grouping->aggregates, grouping->n_aggregates, sizeof *grouping->aggregates, &room) ||
        !grow(&grouping->results, grouping->n_aggregates, sizeof *grouping->results,
              &grouping->room_aggregates)) {
        oci_field_deinit(&result);
        return out_of_memory(err);
    }
    *out = grouping->n_aggregates;
    grouping->aggregates[grouping->n_aggregates] = c->made;
    grouping->results[grouping->n_aggregates++] = result;
    c->made = (oci_aggregate){0};
    return OC_OK;
}

/* A column beyond those of the relation. */
static oc_status virtual_column(const oci_field *type, int32_t column, int32_t location,
                                oci_expr **out, oc_error *err)
{
    oci_field field = *type;
    oci_schema one = {.n_fields = 1, .fields = &field};
    OC_TRY(oci_expr_column(&one, 0, location, out, err));
    (*out)->column = column;
    return OC_OK;
}

oc_status oci_bind_aggregate(oci_binder *binder, const oci_scope *scope,
                             const PgQuery__FuncCall *node, const char *name, bool *found,
                             oci_expr **out, oc_error *err)
{
    oci_aggregate_kind kind;
    *found = oci_aggregate_find(name, &kind);
    if (!*found) {
        return OC_OK;
    }
    if (scope->grouping == NULL) {
        (void)oci_bind_at(binder, node->location, OC_EINVAL);
        OC_FAIL(err, OC_EINVAL, "aggregate functions are not allowed in %s",
                scope->where != NULL ? scope->where : "aggregate functions");
    }
    aggregate_call c = {.binder = binder,
                        .inner = *scope,
                        .grouping = scope->grouping,
                        .node = node,
                        .made = {.kind = kind, .filter = -1, .distinct = node->agg_distinct}};
    c.inner.grouping = NULL;
    c.inner.where = "arguments of aggregate functions";
    oc_status status = node->agg_within_group ? bind_within_group(&c, err)
                                              : bind_arguments(&c, name, err);
    if (status == OC_OK && !node->agg_within_group && node->n_agg_order > 0) {
        status = bind_order(&c, err);
    }
    if (status == OC_OK && node->agg_filter != NULL) {
        oci_field boolean = oci_expr_type(OCI_TYPE_BOOL);
        status = bind_argument(&c, node->agg_filter, &boolean, &c.made.filter, err);
    }
    int32_t number = 0;
    if (status == OC_OK) {
        status = add_aggregate(&c, &number, err);
    }
    if (status != OC_OK) {
        free_aggregate(&c.made);
        return status;
    }
    return virtual_column(&scope->grouping->results[number], OCI_BIND_AGGREGATE + number,
                          node->location, out, err);
}

/* ---- GROUP BY -------------------------------------------------------------------------------- */

static const char *column_name(const PgQuery__Node *node)
{
    if (node->node_case != PG_QUERY__NODE__NODE_COLUMN_REF || node->column_ref->n_fields != 1 ||
        node->column_ref->fields[0]->node_case != PG_QUERY__NODE__NODE_STRING) {
        return NULL;
    }
    return node->column_ref->fields[0]->string->sval;
}

/* What an item means: a position in the select list, one of its names (unless it is a column), or itself. */
static oc_status item_node(oci_binder *binder, const oci_scope *scope,
                           const PgQuery__SelectStmt *select, const PgQuery__Node *item,
                           const PgQuery__Node **out, oc_error *err)
{
    *out = item;
    if (item->node_case == PG_QUERY__NODE__NODE_A_CONST && !item->a_const->isnull &&
        item->a_const->val_case == PG_QUERY__A__CONST__VAL_IVAL) {
        int64_t position = item->a_const->ival->ival;
        if (position < 1 || position > (int64_t)select->n_target_list) {
            (void)oci_bind_at(binder, item->a_const->location, OC_EINVAL);
            OC_FAIL(err, OC_EINVAL, "GROUP BY position %" PRId64 " is not in the select list",
                    position);
        }
        *out = select->target_list[position - 1]->res_target->val;
        return OC_OK;
    }
    const char *name = column_name(item);
    int32_t index;
    if (name == NULL ||
        (scope->schema != NULL && oci_schema_find(scope->schema, name, &index, NULL) == OC_OK)) {
        return OC_OK;
    }
    for (size_t i = 0; i < select->n_target_list; i++) {
        const PgQuery__ResTarget *target = select->target_list[i]->res_target;
        if (target->name != NULL && target->name[0] != '\0' &&
            strcasecmp(target->name, name) == 0) {
            *out = target->val;
        }
    }
    return OC_OK;
}

static oc_status add_key(oci_binder *binder, const oci_scope *scope,
                         const PgQuery__SelectStmt *select, oci_grouping *grouping,
                         const PgQuery__Node *item, uint64_t *mask, oc_error *err)
{
    const PgQuery__Node *node;
    oci_expr *expr;
    int32_t key;
    oci_scope inner = *scope;
    inner.grouping = NULL;
    inner.where = "GROUP BY";
    OC_TRY(item_node(binder, scope, select, item, &node, err));
    OC_TRY(oci_bind_expr(binder, &inner, node, &expr, err));
    if (expr->is_literal && expr->type.type == OCI_TYPE_UTF8) {
        expr->is_literal = false;
    }
    OC_TRY(oci_grouping_input(grouping, expr, &key, err));
    if (key >= 63) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "more than 63 different GROUP BY expressions are not supported");
    }
    grouping->n_keys = grouping->n_inputs;
    *mask |= UINT64_C(1) << key;
    return OC_OK;
}

/* Lists of sets: an item of GROUP BY stands for some sets, and several items for each combination. */
typedef struct set_list {
    uint64_t *sets;
    int32_t n;
    int32_t room;
} set_list;

static oc_status add_set(set_list *list, uint64_t set, oc_error *err)
{
    if (list->n >= SETS_MAX) {
        OC_FAIL(err, OC_EUNSUPPORTED, "more than %d grouping sets are not supported", SETS_MAX);
    }
    if (!grow(&list->sets, list->n, sizeof *list->sets, &list->room)) {
        return out_of_memory(err);
    }
    list->sets[list->n++] = set;
    return OC_OK;
}

typedef struct grouping_context {
    oci_binder *binder;
    const oci_scope *scope;
    const PgQuery__SelectStmt *select;
    oci_grouping *grouping;
} grouping_context;

/* One expression, or (a, b) as one. */
static oc_status simple_set(grouping_context *c, const PgQuery__Node *node, uint64_t *mask,
                            oc_error *err)
{
    *mask = 0;
    if (node->node_case == PG_QUERY__NODE__NODE_ROW_EXPR) {
        for (size_t i = 0; i < node->row_expr->n_args; i++) {
            OC_TRY(add_key(c->binder, c->scope, c->select, c->grouping, node->row_expr->args[i],
                           mask, err));
        }
        return OC_OK;
    }
    return add_key(c->binder, c->scope, c->select, c->grouping, node, mask, err);
}

static oc_status item_sets(grouping_context *c, const PgQuery__Node *node, set_list *out,
                           oc_error *err)
{
    uint64_t masks[32] = {0};
    uint64_t mask = 0;
    if (node->node_case != PG_QUERY__NODE__NODE_GROUPING_SET) {
        OC_TRY(simple_set(c, node, &mask, err));
        return add_set(out, mask, err);
    }
    const PgQuery__GroupingSet *set = node->grouping_set;
    switch (set->kind) {
    case PG_QUERY__GROUPING_SET_KIND__GROUPING_SET_EMPTY: return add_set(out, 0, err);
    case PG_QUERY__GROUPING_SET_KIND__GROUPING_SET_SETS:
        for (size_t i = 0; i < set->n_content; i++) {
            OC_TRY(item_sets(c, set->content[i], out, err));
        }
        return OC_OK;
    default: break;
    }
    if (set->n_content > 12) {
        (void)oci_bind_at(c->binder, set->location, OC_EUNSUPPORTED);
        OC_FAIL(err, OC_EUNSUPPORTED, "ROLLUP and CUBE of more than 12 items are not supported");
    }
    for (size_t i = 0; i < set->n_content; i++) {
        OC_TRY(simple_set(c, set->content[i], &masks[i], err));
    }
    if (set->kind == PG_QUERY__GROUPING_SET_KIND__GROUPING_SET_ROLLUP) {
        for (size_t n = set->n_content + 1; n-- > 0;) {
            mask = 0;
            for (size_t i = 0; i < n; i++) {
                mask |= masks[i];
            }
            OC_TRY(add_set(out, mask, err));
        }
        return OC_OK;
    }
    for (uint32_t bits = (1U << set->n_content); bits-- > 0;) {
        mask = 0;
        for (size_t i = 0; i < set->n_content; i++) {
            mask |= (bits >> (set->n_content - 1 - i) & 1) != 0 ? masks[i] : 0;
        }
        OC_TRY(add_set(out, mask, err));
    }
    return OC_OK;
}

/* sets = each of sets with each of more. */
static oc_status combine(set_list *sets, const set_list *more, oc_error *err)
{
    set_list product = {0};
    for (int32_t i = 0; i < sets->n; i++) {
        for (int32_t k = 0; k < more->n; k++) {
            oc_status status = add_set(&product, sets->sets[i] | more->sets[k], err);
            if (status != OC_OK) {
                free(product.sets);
                return status;
            }
        }
    }
    free(sets->sets);
    *sets = product;
    return OC_OK;
}

oc_status oci_bind_group_by(oci_binder *binder, const oci_scope *scope,
                            const PgQuery__SelectStmt *select, oci_grouping *grouping,
                            oc_error *err)
{
    grouping_context c = {binder, scope, select, grouping};
    set_list sets = {0};
    bool has_sets = false;
    grouping->has_items = select->n_group_clause > 0;
    oc_status status = add_set(&sets, 0, err);
    for (size_t i = 0; status == OC_OK && i < select->n_group_clause; i++) {
        set_list more = {0};
        has_sets = has_sets ||
                   select->group_clause[i]->node_case == PG_QUERY__NODE__NODE_GROUPING_SET;
        status = item_sets(&c, select->group_clause[i], &more, err);
        if (status == OC_OK) {
            status = combine(&sets, &more, err);
        }
        free(more.sets);
    }
    if (status != OC_OK || !has_sets) {
        free(sets.sets);
        return status;
    }
    grouping->sets = sets.sets;
    grouping->n_sets = sets.n;
    return OC_OK;
}

/* grouping(a, b): bits of arguments that are not in the set, the last argument the lowest; by cases of the set's
 * number. */
static oc_status key_of_argument(oci_binder *binder, const oci_scope *scope,
                                 const PgQuery__Node *node, int32_t location, int32_t *key,
                                 oc_error *err)
{
    oci_expr *expr;
    oci_scope inner = *scope;
    inner.grouping = NULL;
    inner.where = "grouping()";
    OC_TRY(oci_bind_expr(binder, &inner, node, &expr, err));
    for (*key = 0; *key < scope->grouping->n_keys; ++*key) {
        if (oci_expr_equal(scope->grouping->inputs[*key], expr)) {
            oci_expr_release(expr);
            return OC_OK;
        }
    }
    oci_expr_release(expr);
    (void)oci_bind_at(binder, location, OC_EINVAL);
    OC_FAIL(err, OC_EINVAL, "arguments of grouping() must be expressions of GROUP BY");
}

static oc_status set_case(int32_t set, int32_t value, int32_t location, oci_expr **when,
                          oci_expr **then, oc_error *err)
{
    oci_field type = oci_expr_type(OCI_TYPE_INT32);
    oci_expr *args[2] = {NULL, NULL};
    OC_TRY(virtual_column(&type, OCI_BIND_SET, location, &args[0], err));
    oc_status status = oci_expr_int(set, location, &args[1], err);
    if (status != OC_OK) {
        oci_expr_release(args[0]);
        return status;
    }
    OC_TRY(oci_expr_call("=", args, 2, location, when, err));
    status = oci_expr_int(value, location, then, err);
    if (status != OC_OK) {
        oci_expr_release(*when);
    }
    return status;
}

oc_status oci_bind_grouping_call(oci_binder *binder, const oci_scope *scope,
                                 const PgQuery__GroupingFunc *node, oci_expr **out, oc_error *err)
{
    const oci_grouping *grouping = scope->grouping;
    if (grouping == NULL || !grouping->has_items || node->n_args > 31) {
        (void)oci_bind_at(binder, node->location, OC_EINVAL);
        OC_FAIL(err, OC_EINVAL, "grouping() needs GROUP BY, and takes up to 31 of its expressions");
    }
    int32_t keys[31] = {0};
    for (size_t i = 0; i < node->n_args; i++) {
        OC_TRY(key_of_argument(binder, scope, node->args[i], node->location, &keys[i], err));
    }
    if (grouping->n_sets == 0) {
        return oci_expr_int(0, node->location, out, err);
    }
    int32_t n = 2 * grouping->n_sets + 1;
    oci_expr **args = calloc((size_t)n, sizeof(oci_expr *));
    if (args == NULL) {
        return out_of_memory(err);
    }
    oc_status status = oci_expr_int(0, node->location, &args[n - 1], err);
    for (int32_t s = 0; status == OC_OK && s < grouping->n_sets; s++) {
        int32_t value = 0;
        for (size_t i = 0; i < node->n_args; i++) {
            value = 2 * value + !(grouping->sets[s] >> keys[i] & 1);
        }
        status = set_case(s, value, node->location, &args[2 * s], &args[2 * s + 1], err);
    }
    if (status == OC_OK) {
        status = oci_expr_branches(OCI_EXPR_CASE, args, n, node->location, out, err);
    } else {
        for (int32_t i = 0; i < n; i++) {
            oci_expr_release(args[i]);
        }
    }
    free(args);
    return status;
}

/* ---- plans ----------------------------------------------------------------------------------- */

static oc_status make_sets_node(const oci_grouping *grouping, oci_plan *input, oci_plan **out,
                                oc_error *err)
{
    oci_plan *plan;
    oc_status status = oci_plan_create(OCI_PLAN_GROUPING_SETS, &plan, err);
    if (status != OC_OK) {
        oci_plan_destroy(input);
        return status;
    }
    plan->inputs[0] = input;
    plan->n_inputs = 1;
    plan->n_keys = grouping->n_keys;
    plan->sets = calloc((size_t)grouping->n_sets, sizeof *plan->sets);
    oci_field *fields = calloc((size_t)input->schema->n_fields + 2, sizeof *fields);
    if (plan->sets == NULL || fields == NULL) {
        free(fields);
        oci_plan_destroy(plan);
        return out_of_memory(err);
    }
    memcpy(plan->sets, grouping->sets, (size_t)grouping->n_sets * sizeof *plan->sets);
    plan->n_sets = grouping->n_sets;
    int32_t n = 0;
    for (; status == OC_OK && n < input->schema->n_fields; n++) {
        status = oci_field_copy(&input->schema->fields[n], &fields[n], err);
        fields[n].nullable = fields[n].nullable || n < grouping->n_keys;
    }
    if (status == OC_OK) {
        status = oci_field_init(&fields[n++], "set", OCI_TYPE_INT32, false, err);
    }
    if (status == OC_OK) {
        status = oci_schema_create(fields, n, NULL, 0, &plan->schema, err);
    }
    if (status != OC_OK) {
        oci_plan_destroy(plan);
        return status;
    }
    *out = plan;
    return OC_OK;
}

static oc_status make_group_node(oci_grouping *grouping, oci_plan *input, oci_plan **out,
                                 oc_error *err)
{
    oci_plan *plan;
    oc_status status = oci_plan_create(OCI_PLAN_GROUP, &plan, err);
    if (status != OC_OK) {
        oci_plan_destroy(input);
        return status;
    }
    plan->inputs[0] = input;
    plan->n_inputs = 1;
    plan->n_keys = grouping->n_keys + (grouping->n_sets > 0);
    plan->keys = calloc((size_t)plan->n_keys + 1, sizeof *plan->keys);
    if (plan->keys == NULL) {
        oci_plan_destroy(plan);
        return out_of_memory(err);
    }
    for (int32_t k = 0; k < grouping->n_keys; k++) {
        plan->keys[k] = k;
    }
    if (grouping->n_sets > 0) {
        plan->keys[grouping->n_keys] = input->schema->n_fields - 1;
    }
    plan->aggregates = grouping->aggregates;
    plan->n_aggregates = grouping->n_aggregates;
    grouping->aggregates = NULL;
    for (int32_t i = 0; i < grouping->n_aggregates; i++) {
        oci_field_deinit(&grouping->results[i]);
    }
    grouping->n_aggregates = 0;
    oci_group_plan shape = {.keys = plan->keys,
                            .n_keys = plan->n_keys,
                            .aggregates = plan->aggregates,
                            .n_aggregates = plan->n_aggregates};
    status = oci_group_schema(input->schema, &shape, &plan->schema, err);
    if (status != OC_OK) {
        oci_plan_destroy(plan);
        return status;
    }
    *out = plan;
    return OC_OK;
}

oc_status oci_bind_finish_grouping(oci_binder *binder, oci_grouping *grouping, oci_plan **plan,
                                   oc_error *err)
{
    (void)binder;
    oci_plan *input = *plan;
    oci_expr **exprs = calloc((size_t)grouping->n_inputs + 1, sizeof(oci_expr *));
    *plan = NULL;
    if (exprs == NULL) {
        oci_plan_destroy(input);
        return out_of_memory(err);
    }
    for (int32_t i = 0; i < grouping->n_inputs; i++) {
        exprs[i] = oci_expr_retain(grouping->inputs[i]);
    }
    oc_status status = oci_plan_project(input, exprs, NULL, grouping->n_inputs, &input, err);
    free(exprs);
    OC_TRY(status);
    if (grouping->n_sets > 0) {
        OC_TRY(make_sets_node(grouping, input, &input, err));
    }
    return make_group_node(grouping, input, plan, err);
}

/* ---- from the relation to the grouping ------------------------------------------------------- */

static oc_status regroup_args(oci_binder *binder, const oci_grouping *grouping,
                              const oci_schema *relation, const oci_schema *grouped,
                              const oci_expr *expr, oci_expr **out, oc_error *err)
{
    oci_expr **args = calloc((size_t)expr->n_args + 1, sizeof(oci_expr *));
    if (args == NULL) {
        return out_of_memory(err);
    }
    oc_status status = OC_OK;
    int32_t n = 0;
    for (; status == OC_OK && n < expr->n_args; n++) {
        status = oci_bind_regroup(binder, grouping, relation, grouped,
                                  oci_expr_retain(expr->args[n]), &args[n], err);
    }
    if (status == OC_OK) {
        status = oci_expr_rebuild(expr, args, out, err);
    } else {
        for (int32_t i = 0; i < n; i++) {
            oci_expr_release(args[i]);
        }
    }
    free(args);
    return status;
}

oc_status oci_bind_regroup(oci_binder *binder, const oci_grouping *grouping,
                           const oci_schema *relation, const oci_schema *grouped, oci_expr *expr,
                           oci_expr **out, oc_error *err)
{
    oc_status status = OC_OK;
    int32_t column = -1;
    int32_t n_keys = grouping->n_keys + (grouping->n_sets > 0);
    for (int32_t k = 0; column < 0 && k < grouping->n_keys; k++) {
        column = oci_expr_equal(grouping->inputs[k], expr) ? k : -1;
    }
    if (column < 0 && expr->kind == OCI_EXPR_COLUMN) {
        if (expr->column >= OCI_BIND_SET) {
            column = grouping->n_keys;
        } else if (expr->column >= OCI_BIND_AGGREGATE) {
            column = n_keys + expr->column - OCI_BIND_AGGREGATE;
        } else {
            (void)oci_bind_at(binder, expr->position, OC_EINVAL);
            status = OC_SET(err, OC_EINVAL,
                            "column \"%s\" must appear in the GROUP BY clause or be used in an "
                            "aggregate function",
                            relation->fields[expr->column].name);
        }
    }
    if (status == OC_OK) {
        status = column >= 0 ? oci_expr_column(grouped, column, expr->position, out, err)
                             : regroup_args(binder, grouping, relation, grouped, expr, out, err);
    }
    oci_expr_release(expr);
    return status;
}
