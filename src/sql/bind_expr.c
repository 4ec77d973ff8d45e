/* Binding expressions. See bind.h. Lists of arguments come from malloc. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sql/bind.h"

oc_status oci_bind_at(oci_binder *binder, int32_t location, oc_status status)
{
    if (status != OC_OK && binder->position < 0 && location >= 0) {
        binder->position = location;
    }
    return status;
}

oc_status oci_bind_enter(oci_binder *binder, oc_error *err)
{
    if (++binder->depth > OCI_BIND_DEPTH_MAX) {
        OC_FAIL(err, OC_EINVAL, "a statement is nested more than %d levels deep",
                OCI_BIND_DEPTH_MAX);
    }
    /* nullif(nullif(...)) and names of WITH are bound twice each: two to the power of their depth. */
    if (++binder->n_nodes > OCI_BIND_NODES_MAX) {
        OC_FAIL(err, OC_EINVAL, "a statement is too large: more than %d expressions and queries",
                OCI_BIND_NODES_MAX);
    }
    return OC_OK;
}

static oc_status unsupported(oci_binder *binder, int32_t location, const char *what, oc_error *err)
{
    (void)oci_bind_at(binder, location, OC_EUNSUPPORTED);
    OC_FAIL(err, OC_EUNSUPPORTED, "%s not supported yet", what);
}

static void release_args(oci_expr **args, int32_t n)
{
    for (int32_t i = 0; args != NULL && i < n; i++) {
        oci_expr_release(args[i]);
    }
    free(args);
}

/* Binds n nodes into a malloc'ed list. */
static oc_status bind_list(oci_binder *binder, const oci_scope *scope, PgQuery__Node *const *nodes,
                           size_t n, oci_expr ***out, oc_error *err)
{
    oci_expr **args = calloc(n + 1, sizeof(oci_expr *));
    if (args == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not bind an expression: out of memory");
    }
    for (size_t i = 0; i < n; i++) {
        oc_status status = oci_bind_expr(binder, scope, nodes[i], &args[i], err);
        if (status != OC_OK) {
            release_args(args, (int32_t)i);
            return status;
        }
    }
    *out = args;
    return OC_OK;
}

/* A call over arguments (taken, also on failure). */
static oc_status call(oci_binder *binder, const char *name, oci_expr **args, int32_t n,
                      int32_t location, oci_expr **out, oc_error *err)
{
    return oci_bind_at(binder, location, oci_expr_call(name, args, n, location, out, err));
}

static oc_status call_nodes(oci_binder *binder, const oci_scope *scope, const char *name,
                            PgQuery__Node *const *nodes, size_t n, int32_t location, oci_expr **out,
                            oc_error *err)
{
    oci_expr **args = NULL;
    OC_TRY(bind_list(binder, scope, nodes, n, &args, err));
    oc_status status = call(binder, name, args, (int32_t)n, location, out, err);
    free(args);
    return status;
}

static oc_status call_two(oci_binder *binder, const oci_scope *scope, const char *name,
                          PgQuery__Node *a, PgQuery__Node *b, int32_t location, oci_expr **out,
                          oc_error *err)
{
    PgQuery__Node *nodes[2] = {a, b};
    return call_nodes(binder, scope, name, nodes, 2, location, out, err);
}

static oc_status call_one(oci_binder *binder, const oci_scope *scope, const char *name,
                          PgQuery__Node *a, int32_t location, oci_expr **out, oc_error *err)
{
    return call_nodes(binder, scope, name, &a, 1, location, out, err);
}

/* ---- columns and constants ------------------------------------------------------------------- */

static const char *string_of(const PgQuery__Node *node)
{
    return node->node_case == PG_QUERY__NODE__NODE_STRING ? node->string->sval : NULL;
}

static bool same_name(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcasecmp(a, b) == 0;
}

/* Struct fields behind a column: (s).a.b, or s.a when s is no alias. */
static oc_status bind_fields(oci_binder *binder, PgQuery__Node *const *fields, size_t n,
                             int32_t location, oci_expr *expr, oci_expr **out, oc_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const char *name = string_of(fields[i]);
        oci_expr *args[2] = {expr, NULL};
        if (name == NULL) {
            oci_expr_release(expr);
            return unsupported(binder, location, "(record).* is", err);
        }
        oc_status status = oci_expr_text(name, (int64_t)strlen(name), location, &args[1], err);
        if (status != OC_OK) {
            oci_expr_release(expr);
            return status;
        }
        OC_TRY(call(binder, "struct field", args, 2, location, &expr, err));
    }
    *out = expr;
    return OC_OK;
}

static oc_status bind_column(oci_binder *binder, const oci_scope *scope,
                             const PgQuery__ColumnRef *ref, oci_expr **out, oc_error *err)
{
    size_t at = 0;
    int32_t index = 0;
    oci_expr *expr;
    const char *first = string_of(ref->fields[0]);
    if (first != NULL && ref->n_fields > 1 && same_name(scope->alias, first)) {
        at = 1;
    }
    const char *name = string_of(ref->fields[at]);
    if (name == NULL) {
        (void)oci_bind_at(binder, ref->location, OC_EINVAL);
        OC_FAIL(err, OC_EINVAL, "* may stand in the select list and in count(*) only");
    }
    if (scope->schema == NULL) {
        (void)oci_bind_at(binder, ref->location, OC_EINVAL);
        OC_FAIL(err, OC_EINVAL, "column \"%s\" does not exist: there is no FROM", name);
    }
    oc_status status = oci_schema_find(scope->schema, name, &index, err);
    if (status != OC_OK && at == 0 && ref->n_fields > 1 && string_of(ref->fields[1]) != NULL) {
        status = OC_SET(err, OC_EINVAL, "there is no table or column \"%s\" here", name);
    }
    OC_TRY(oci_bind_at(binder, ref->location, status));
    OC_TRY(oci_expr_column(scope->schema, index, ref->location, &expr, err));
    return bind_fields(binder, ref->fields + at + 1, ref->n_fields - at - 1, ref->location, expr,
                       out, err);
}

static oc_status bind_constant(oci_binder *binder, const PgQuery__AConst *constant, oci_expr **out,
                               oc_error *err)
{
    int32_t location = constant->location;
    if (constant->isnull) {
        return oci_expr_null(location, out, err);
    }
    switch (constant->val_case) {
    case PG_QUERY__A__CONST__VAL_IVAL:
        return oci_expr_int(constant->ival->ival, location, out, err);
    case PG_QUERY__A__CONST__VAL_FVAL:
        return oci_bind_at(binder, location,
                           oci_expr_number(constant->fval->fval, location, out, err));
    case PG_QUERY__A__CONST__VAL_BOOLVAL:
        return oci_expr_bool(constant->boolval->boolval, location, out, err);
    case PG_QUERY__A__CONST__VAL_SVAL:
        return oci_expr_text(constant->sval->sval, (int64_t)strlen(constant->sval->sval), location,
                             out, err);
    default: break;
    }
    return unsupported(binder, location, "bit strings are", err);
}

/* ---- casts ----------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    const char *means;
} catalog_types[] = {
    {"int2", "smallint"}, {"int4", "integer"}, {"int8", "bigint"}, {"float4", "real"},
    {"float8", "double"}, {"bool", "boolean"}, {"bpchar", "text"}, {"varchar", "varchar"},
};

static oc_status bind_type(oci_binder *binder, const PgQuery__TypeName *type, oci_field *out,
                           int32_t *length, oc_error *err)
{
    int32_t modifiers[2];
    int32_t n = 0;
    if (type->n_array_bounds > 0) {
        return unsupported(binder, type->location, "array types are", err);
    }
    for (size_t i = 0; i < type->n_typmods && n < 2; i++) {
        const PgQuery__Node *node = type->typmods[i];
        if (node->node_case == PG_QUERY__NODE__NODE_A_CONST &&
            node->a_const->val_case == PG_QUERY__A__CONST__VAL_IVAL) {
            modifiers[n++] = node->a_const->ival->ival;
        }
    }
    const char *name = string_of(type->names[type->n_names - 1]);
    bool is_builtin = type->n_names > 1;
    for (size_t i = 0; is_builtin && i < sizeof catalog_types / sizeof catalog_types[0]; i++) {
        if (strcmp(catalog_types[i].name, name) == 0) {
            name = catalog_types[i].means;
            break;
        }
    }
    *length = n > 0 && (strcmp(name, "varchar") == 0 || strcmp(name, "text") == 0) ? modifiers[0]
                                                                                   : -1;
    if (is_builtin && strcmp(name, "interval") == 0) {
        n = 0;
    }
    return oci_bind_at(binder, type->location, oci_type_by_name(name, modifiers, n, out, err));
}

static oc_status cut_text(oci_binder *binder, oci_expr *text, int32_t length, int32_t location,
                          oci_expr **out, oc_error *err)
{
    oci_expr *args[2] = {text, NULL};
    oc_status status = oci_expr_int(length, location, &args[1], err);
    if (status != OC_OK) {
        oci_expr_release(text);
        return status;
    }
    return call(binder, "left", args, 2, location, out, err);
}

/* The unit that INTERVAL '90' DAY gives a number: the last of the fields behind it; NULL when there are none. */
static const char *interval_unit(const PgQuery__TypeName *type)
{
    /* From PostgreSQL's INTERVAL_MASK; all bits are set when only digits of seconds are given. */
    static const struct {
        int32_t bit;
        const char *unit;
    } fields[] = {{1 << 12, "second"}, {1 << 11, "minute"}, {1 << 10, "hour"},
                  {1 << 3, "day"},     {1 << 1, "month"},   {1 << 2, "year"}};
    if (type->n_names == 0 || strcmp(string_of(type->names[type->n_names - 1]), "interval") != 0 ||
        type->n_typmods == 0 || type->typmods[0]->node_case != PG_QUERY__NODE__NODE_A_CONST ||
        type->typmods[0]->a_const->val_case != PG_QUERY__A__CONST__VAL_IVAL) {
        return NULL;
    }
    int32_t mask = type->typmods[0]->a_const->ival->ival;
    for (size_t i = 0; mask != 0x7FFF && i < sizeof fields / sizeof fields[0]; i++) {
        if ((mask & fields[i].bit) != 0) {
            return fields[i].unit;
        }
    }
    return NULL;
}

/* INTERVAL '90' DAY: a text that is a number gets the unit; others have units of their own. */
static oc_status bind_cast_argument(oci_binder *binder, const oci_scope *scope,
                                    const PgQuery__TypeCast *cast, oci_expr **out, oc_error *err)
{
    char text[64];
    const char *unit = interval_unit(cast->type_name);
    const PgQuery__Node *arg = cast->arg;
    if (unit == NULL || arg->node_case != PG_QUERY__NODE__NODE_A_CONST ||
        arg->a_const->val_case != PG_QUERY__A__CONST__VAL_SVAL) {
        return oci_bind_expr(binder, scope, arg, out, err);
    }
    const char *number = arg->a_const->sval->sval;
    if (number[strspn(number, "+-.0123456789 ")] != '\0' ||
        strchr(number + strspn(number, " +-"), '-') != NULL) { /* '1-2': years and months */
        return oci_bind_expr(binder, scope, arg, out, err);
    }
    int length = snprintf(text, sizeof text, "%s %s", number, unit);
    if (length >= (int)sizeof text) {
        return oci_bind_expr(binder, scope, arg, out, err);
    }
    return oci_expr_text(text, length, arg->a_const->location, out, err);
}

static oc_status bind_cast(oci_binder *binder, const oci_scope *scope,
                           const PgQuery__TypeCast *cast, oci_expr **out, oc_error *err)
{
    oci_field type;
    int32_t length = -1;
    oci_expr *arg;
    OC_TRY(bind_type(binder, cast->type_name, &type, &length, err));
    OC_TRY(bind_cast_argument(binder, scope, cast, &arg, err));
    int32_t location = cast->location >= 0 ? cast->location : arg->position;
    OC_TRY(oci_bind_at(binder, location, oci_expr_cast(arg, &type, false, location, &arg, err)));
    if (length >= 0) {
        return cut_text(binder, arg, length, location, out, err);
    }
    *out = arg;
    return OC_OK;
}

/* ---- operators ------------------------------------------------------------------------------- */

static oc_status negate(oci_binder *binder, oci_expr *expr, int32_t location, oci_expr **out,
                        oc_error *err)
{
    return call(binder, "not", &expr, 1, location, out, err);
}

static oc_status bind_in(oci_binder *binder, const oci_scope *scope, const PgQuery__AExpr *expr,
                         bool negated, oci_expr **out, oc_error *err)
{
    const PgQuery__List *list = expr->rexpr->list;
    PgQuery__Node **nodes = calloc(list->n_items + 2, sizeof(PgQuery__Node *));
    if (nodes == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not bind an expression: out of memory");
    }
    nodes[0] = expr->lexpr;
    for (size_t i = 0; i < list->n_items; i++) {
        nodes[i + 1] = list->items[i];
    }
    oci_expr *made = NULL;
    oc_status status =
        call_nodes(binder, scope, "in", nodes, list->n_items + 1, expr->location, &made, err);
    free(nodes);
    OC_TRY(status);
    if (negated) {
        return negate(binder, made, expr->location, out, err);
    }
    *out = made;
    return OC_OK;
}

static oc_status bind_between(oci_binder *binder, const oci_scope *scope,
                              const PgQuery__AExpr *expr, bool negated, oci_expr **out,
                              oc_error *err)
{
    const PgQuery__List *list = expr->rexpr->list;
    oci_expr *args[2] = {NULL, NULL};
    OC_TRY(call_two(binder, scope, negated ? "<" : ">=", expr->lexpr, list->items[0],
                    expr->location, &args[0], err));
    oc_status status = call_two(binder, scope, negated ? ">" : "<=", expr->lexpr, list->items[1],
                                expr->location, &args[1], err);
    if (status != OC_OK) {
        oci_expr_release(args[0]);
        return status;
    }
    return oci_expr_logic(negated ? OCI_EXPR_OR : OCI_EXPR_AND, args, 2, expr->location, out, err);
}

/* LIKE and its kin; with ESCAPE the pattern is a call of like_escape. */
static oc_status bind_like(oci_binder *binder, const oci_scope *scope, const PgQuery__AExpr *expr,
                           const char *name, oci_expr **out, oc_error *err)
{
    const char *symbol = string_of(expr->name[0]);
    PgQuery__Node *nodes[3] = {expr->lexpr, expr->rexpr, NULL};
    size_t n = 2;
    if (expr->rexpr->node_case == PG_QUERY__NODE__NODE_FUNC_CALL) {
        const PgQuery__FuncCall *escape = expr->rexpr->func_call;
        const char *function = string_of(escape->funcname[escape->n_funcname - 1]);
        if (function != NULL && strcmp(function, "like_escape") == 0 && escape->n_args == 2) {
            nodes[1] = escape->args[0];
            nodes[2] = escape->args[1];
            n = 3;
        }
    }
    oci_expr *made;
    OC_TRY(call_nodes(binder, scope, name, nodes, n, expr->location, &made, err));
    if (symbol != NULL && symbol[0] == '!') {
        return negate(binder, made, expr->location, out, err);
    }
    *out = made;
    return OC_OK;
}

static oc_status bind_nullif(oci_binder *binder, const oci_scope *scope, const PgQuery__AExpr *expr,
                             oci_expr **out, oc_error *err)
{
    oci_expr *args[3] = {NULL, NULL, NULL};
    OC_TRY(call_two(binder, scope, "=", expr->lexpr, expr->rexpr, expr->location, &args[0], err));
    oc_status status = oci_expr_null(expr->location, &args[1], err);
    if (status == OC_OK) {
        status = oci_bind_expr(binder, scope, expr->lexpr, &args[2], err);
    }
    if (status != OC_OK) {
        oci_expr_release(args[0]);
        oci_expr_release(args[1]);
        return status;
    }
    return oci_bind_at(binder, expr->location,
                       oci_expr_branches(OCI_EXPR_CASE, args, 3, expr->location, out, err));
}

static oc_status bind_operator(oci_binder *binder, const oci_scope *scope,
                               const PgQuery__AExpr *expr, oci_expr **out, oc_error *err)
{
    const char *name = string_of(expr->name[expr->n_name - 1]);
    if (expr->lexpr != NULL) {
        return call_two(binder, scope, name, expr->lexpr, expr->rexpr, expr->location, out, err);
    }
    if (strcmp(name, "+") == 0) {
        return oci_bind_expr(binder, scope, expr->rexpr, out, err);
    }
    return call_one(binder, scope, name, expr->rexpr, expr->location, out, err);
}

static oc_status bind_a_expr(oci_binder *binder, const oci_scope *scope, const PgQuery__AExpr *expr,
                             oci_expr **out, oc_error *err)
{
    const char *name = expr->n_name > 0 ? string_of(expr->name[0]) : "";
    bool negated = name != NULL && name[0] == '<';
    switch (expr->kind) {
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP: return bind_operator(binder, scope, expr, out, err);
    case PG_QUERY__A__EXPR__KIND__AEXPR_DISTINCT:
        return call_two(binder, scope, "is distinct from", expr->lexpr, expr->rexpr, expr->location,
                        out, err);
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_DISTINCT:
        return call_two(binder, scope, "is not distinct from", expr->lexpr, expr->rexpr,
                        expr->location, out, err);
    case PG_QUERY__A__EXPR__KIND__AEXPR_NULLIF: return bind_nullif(binder, scope, expr, out, err);
    case PG_QUERY__A__EXPR__KIND__AEXPR_IN: return bind_in(binder, scope, expr, negated, out, err);
    case PG_QUERY__A__EXPR__KIND__AEXPR_LIKE:
        return bind_like(binder, scope, expr, "like", out, err);
    case PG_QUERY__A__EXPR__KIND__AEXPR_ILIKE:
        return bind_like(binder, scope, expr, "ilike", out, err);
    case PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN:
        return bind_between(binder, scope, expr, false, out, err);
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN:
        return bind_between(binder, scope, expr, true, out, err);
    case PG_QUERY__A__EXPR__KIND__AEXPR_SIMILAR:
        return unsupported(binder, expr->location, "SIMILAR TO is", err);
    default: break;
    }
    return unsupported(binder, expr->location, "operators with ANY, ALL or SYMMETRIC are", err);
}

/* ---- functions ------------------------------------------------------------------------------- */

static oc_status bind_function(oci_binder *binder, const oci_scope *scope,
                               const PgQuery__FuncCall *function, oci_expr **out, oc_error *err)
{
    const char *name = string_of(function->funcname[function->n_funcname - 1]);
    bool found = false;
    if (function->over != NULL) {
        return unsupported(binder, function->location, "window functions are", err);
    }
    OC_TRY(oci_bind_aggregate(binder, scope, function, name, &found, out, err));
    if (found) {
        return OC_OK;
    }
    if (function->agg_star || function->agg_distinct || function->agg_filter != NULL ||
        function->n_agg_order > 0) {
        (void)oci_bind_at(binder, function->location, OC_EINVAL);
        OC_FAIL(err, OC_EINVAL,
                "%s is no aggregate function: *, DISTINCT, FILTER and ORDER BY are for those",
                name);
    }
    if (strcmp(name, "coalesce") == 0) {
        name = "coalesce";
    }
    return call_nodes(binder, scope, name, function->args, function->n_args, function->location,
                      out, err);
}

static oc_status bind_case(oci_binder *binder, const oci_scope *scope,
                           const PgQuery__CaseExpr *node, oci_expr **out, oc_error *err)
{
    int32_t n = (int32_t)node->n_args * 2 + 1;
    oci_expr **args = calloc((size_t)n, sizeof(oci_expr *));
    if (args == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not bind an expression: out of memory");
    }
    oc_status status = OC_OK;
    for (size_t i = 0; status == OC_OK && i < node->n_args; i++) {
        const PgQuery__CaseWhen *when = node->args[i]->case_when;
        status = node->arg != NULL ? call_two(binder, scope, "=", node->arg, when->expr,
                                              when->location, &args[2 * i], err)
                                   : oci_bind_expr(binder, scope, when->expr, &args[2 * i], err);
        if (status == OC_OK) {
            status = oci_bind_expr(binder, scope, when->result, &args[2 * i + 1], err);
        }
    }
    if (status == OC_OK) {
        status = node->defresult != NULL
                     ? oci_bind_expr(binder, scope, node->defresult, &args[n - 1], err)
                     : oci_expr_null(node->location, &args[n - 1], err);
    }
    if (status != OC_OK) {
        release_args(args, n);
        return status;
    }
    status = oci_bind_at(binder, node->location,
                         oci_expr_branches(OCI_EXPR_CASE, args, n, node->location, out, err));
    free(args);
    return status;
}

static oc_status bind_logic(oci_binder *binder, const oci_scope *scope,
                            const PgQuery__BoolExpr *node, oci_expr **out, oc_error *err)
{
    oci_expr **args = NULL;
    if (node->boolop == PG_QUERY__BOOL_EXPR_TYPE__NOT_EXPR) {
        return call_one(binder, scope, "not", node->args[0], node->location, out, err);
    }
    OC_TRY(bind_list(binder, scope, node->args, node->n_args, &args, err));
    oci_expr_kind kind = node->boolop == PG_QUERY__BOOL_EXPR_TYPE__AND_EXPR ? OCI_EXPR_AND
                                                                            : OCI_EXPR_OR;
    oc_status status =
        oci_bind_at(binder, node->location,
                    oci_expr_logic(kind, args, (int32_t)node->n_args, node->location, out, err));
    free(args);
    return status;
}

static oc_status bind_coalesce(oci_binder *binder, const oci_scope *scope,
                               const PgQuery__CoalesceExpr *node, oci_expr **out, oc_error *err)
{
    oci_expr **args = NULL;
    OC_TRY(bind_list(binder, scope, node->args, node->n_args, &args, err));
    oc_status status = oci_bind_at(binder, node->location,
                                   oci_expr_branches(OCI_EXPR_COALESCE, args, (int32_t)node->n_args,
                                                     node->location, out, err));
    free(args);
    return status;
}

static oc_status bind_boolean_test(oci_binder *binder, const oci_scope *scope,
                                   const PgQuery__BooleanTest *node, oci_expr **out, oc_error *err)
{
    static const char *const names[] = {NULL,           "is true",    "is not true",   "is false",
                                        "is not false", "is unknown", "is not unknown"};
    if (node->booltesttype <= 0 || node->booltesttype > 6) {
        return unsupported(binder, node->location, "this test is", err);
    }
    return call_one(binder, scope, names[node->booltesttype], node->arg, node->location, out, err);
}

static oc_status bind_value_function(oci_binder *binder, const PgQuery__SQLValueFunction *node,
                                     oci_expr **out, oc_error *err)
{
    const char *name;
    switch (node->op) {
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_DATE: name = "current_date"; break;
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIMESTAMP:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIMESTAMP_N: name = "now"; break;
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIMESTAMP:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIMESTAMP_N: name = "localtimestamp"; break;
    default: return unsupported(binder, node->location, "this value function is", err);
    }
    return call(binder, name, NULL, 0, node->location, out, err);
}

static oc_status bind_indirection(oci_binder *binder, const oci_scope *scope,
                                  const PgQuery__AIndirection *node, oci_expr **out, oc_error *err)
{
    oci_expr *expr;
    OC_TRY(oci_bind_expr(binder, scope, node->arg, &expr, err));
    for (size_t i = 0; i < node->n_indirection; i++) {
        PgQuery__Node *step = node->indirection[i];
        int32_t location = expr->position;
        if (step->node_case == PG_QUERY__NODE__NODE_A_INDICES && !step->a_indices->is_slice) {
            oci_expr *args[2] = {expr, NULL};
            oc_status status = oci_bind_expr(binder, scope, step->a_indices->uidx, &args[1], err);
            if (status != OC_OK) {
                oci_expr_release(expr);
                return status;
            }
            OC_TRY(call(binder, "list element", args, 2, location, &expr, err));
        } else {
            OC_TRY(bind_fields(binder, &step, 1, location, expr, &expr, err));
        }
    }
    *out = expr;
    return OC_OK;
}

static oc_status bind_node(oci_binder *binder, const oci_scope *scope, const PgQuery__Node *node,
                           oci_expr **out, oc_error *err)
{
    switch (node->node_case) {
    case PG_QUERY__NODE__NODE_COLUMN_REF:
        return bind_column(binder, scope, node->column_ref, out, err);
    case PG_QUERY__NODE__NODE_A_CONST: return bind_constant(binder, node->a_const, out, err);
    case PG_QUERY__NODE__NODE_A_EXPR: return bind_a_expr(binder, scope, node->a_expr, out, err);
    case PG_QUERY__NODE__NODE_TYPE_CAST: return bind_cast(binder, scope, node->type_cast, out, err);
    case PG_QUERY__NODE__NODE_FUNC_CALL:
        return bind_function(binder, scope, node->func_call, out, err);
    case PG_QUERY__NODE__NODE_CASE_EXPR: return bind_case(binder, scope, node->case_expr, out, err);
    case PG_QUERY__NODE__NODE_BOOL_EXPR:
        return bind_logic(binder, scope, node->bool_expr, out, err);
    case PG_QUERY__NODE__NODE_COALESCE_EXPR:
        return bind_coalesce(binder, scope, node->coalesce_expr, out, err);
    case PG_QUERY__NODE__NODE_NULL_TEST:
        return call_one(binder, scope,
                        node->null_test->nulltesttype == PG_QUERY__NULL_TEST_TYPE__IS_NULL
                            ? "is null"
                            : "is not null",
                        node->null_test->arg, node->null_test->location, out, err);
    case PG_QUERY__NODE__NODE_BOOLEAN_TEST:
        return bind_boolean_test(binder, scope, node->boolean_test, out, err);
    case PG_QUERY__NODE__NODE_MIN_MAX_EXPR:
        return call_nodes(binder, scope,
                          node->min_max_expr->op == PG_QUERY__MIN_MAX_OP__IS_GREATEST ? "greatest"
                                                                                      : "least",
                          node->min_max_expr->args, node->min_max_expr->n_args,
                          node->min_max_expr->location, out, err);
    case PG_QUERY__NODE__NODE_SQLVALUE_FUNCTION:
        return bind_value_function(binder, node->sqlvalue_function, out, err);
    case PG_QUERY__NODE__NODE_GROUPING_FUNC:
        return oci_bind_grouping_call(binder, scope, node->grouping_func, out, err);
    case PG_QUERY__NODE__NODE_A_INDIRECTION:
        return bind_indirection(binder, scope, node->a_indirection, out, err);
    case PG_QUERY__NODE__NODE_A_ARRAY_EXPR:
        return call_nodes(binder, scope, "array", node->a_array_expr->elements,
                          node->a_array_expr->n_elements, node->a_array_expr->location, out, err);
    case PG_QUERY__NODE__NODE_COLLATE_CLAUSE:
        return unsupported(binder, node->collate_clause->location, "COLLATE is", err);
    case PG_QUERY__NODE__NODE_SUB_LINK:
        return unsupported(binder, node->sub_link->location, "subqueries in expressions are", err);
    case PG_QUERY__NODE__NODE_PARAM_REF:
        return unsupported(binder, node->param_ref->location, "parameters ($1) are", err);
    default: break;
    }
    return unsupported(binder, -1, "this kind of expression is", err);
}

oc_status oci_bind_expr(oci_binder *binder, const oci_scope *scope, const PgQuery__Node *node,
                        oci_expr **out, oc_error *err)
{
    OC_TRY(oci_bind_enter(binder, err));
    oc_status status = bind_node(binder, scope, node, out, err);
    binder->depth--;
    return status;
}
