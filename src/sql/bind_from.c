/* What stands in FROM. See bind.h. What is made comes from malloc: it grows with the text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sql/bind.h"

#define VIEWS_MAX 32

static oc_status unsupported(oci_binder *binder, int32_t location, const char *what, oc_error *err)
{
    (void)oci_bind_at(binder, location, OC_EUNSUPPORTED);
    OC_FAIL(err, OC_EUNSUPPORTED, "%s not supported yet", what);
}

/* Other names for the columns: AS t(a, b). */
static oc_status rename_columns(oci_binder *binder, oci_plan *input, PgQuery__Node *const *names,
                                size_t n, oci_plan **out, oc_error *err)
{
    int32_t n_columns = input->schema->n_fields;
    if (n == 0) {
        *out = input;
        return OC_OK;
    }
    if ((int64_t)n > n_columns) {
        oci_plan_destroy(input);
        (void)binder;
        OC_FAIL(err, OC_EINVAL, "%zu column names for a table of %d columns", n, n_columns);
    }
    oci_expr **exprs = calloc((size_t)n_columns + 1, sizeof(oci_expr *));
    const char **texts = calloc((size_t)n_columns + 1, sizeof(char *));
    oc_status status = exprs == NULL || texts == NULL
                           ? OC_SET(err, OC_ENOMEM, "could not bind FROM: out of memory")
                           : OC_OK;
    for (int32_t i = 0; status == OC_OK && i < n_columns; i++) {
        texts[i] = (size_t)i < n ? names[i]->string->sval : input->schema->fields[i].name;
        status = oci_plan_column(input, i, &exprs[i], err);
    }
    if (status == OC_OK) {
        status = oci_plan_project(input, exprs, texts, n_columns, out, err);
    } else {
        for (int32_t i = 0; exprs != NULL && i < n_columns; i++) {
            oci_expr_release(exprs[i]);
        }
        oci_plan_destroy(input);
    }
    free(exprs);
    free(texts);
    return status;
}

static oc_status take_alias(oci_binder *binder, const PgQuery__Alias *node, oci_plan **plan,
                            const char **alias, oc_error *err)
{
    if (node == NULL) {
        return OC_OK;
    }
    *alias = node->aliasname;
    oci_plan *input = *plan;
    *plan = NULL;
    return rename_columns(binder, input, node->colnames, node->n_colnames, plan, err);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static oc_status scan(oci_table *table, oci_plan **out, oc_error *err)
{
    oci_plan *plan;
    oc_status status = oci_plan_create(OCI_PLAN_SCAN, &plan, err);
    if (status != OC_OK) {
        oci_table_release(table);
        return status;
    }
    int32_t n = table->schema->n_fields;
    plan->table = table;
    plan->columns = calloc((size_t)n + 1, sizeof *plan->columns);
    if (plan->columns == NULL) {
        status = OC_SET(err, OC_ENOMEM, "could not bind FROM: out of memory");
    } else {
        for (int32_t i = 0; i < n; i++) {
            plan->columns[i] = i;
        }
        /* Rows travel in working form: without views and runs. */
        status = oci_schema_working(table->schema, &plan->schema, err);
    }
    if (status != OC_OK) {
        oci_plan_destroy(plan);
        return status;
    }
    *out = plan;
    return OC_OK;
}

/* The text that stands for a table there; NULL: it is a name. */
static const char *text_at(const oci_binder *binder, int32_t location)
{
    for (int32_t i = 0; binder->parsed != NULL && i < binder->parsed->n_texts; i++) {
        if (binder->parsed->texts[i] == location) {
            return binder->parsed->text_names[i];
        }
    }
    return NULL;
}

static const oci_cte *find_cte(const oci_cte *ctes, const char *name)
{
    while (ctes != NULL && strcmp(ctes->name, name) != 0) {
        ctes = ctes->outer;
    }
    return ctes;
}

static oc_status bind_table(oci_binder *binder, const PgQuery__RangeVar *node, const oci_cte *ctes,
                            oci_plan **out, const char **alias, oc_error *err)
{
    const oci_cte *cte = node->schemaname[0] == '\0' ? find_cte(ctes, node->relname) : NULL;
    oci_table *table = NULL;
    const char *view = NULL;
    const char *text = text_at(binder, node->location);
    char name[160]; /* of two names of the parser, of up to 63 bytes each */
    *alias = node->relname;
    if (cte != NULL) {
        OC_TRY(oci_bind_select(binder, cte->node->ctequery->select_stmt, cte->outer, out, err));
        oci_plan *input = *out;
        OC_TRY(rename_columns(binder, input, cte->node->aliascolnames, cte->node->n_aliascolnames,
                              out, err));
        return take_alias(binder, node->alias, out, alias, err);
    }
    snprintf(name, sizeof name, "%s%s%s", node->schemaname, node->schemaname[0] != '\0' ? "." : "",
             node->relname);
    OC_TRY(oci_bind_at(binder, node->location,
                       oci_catalog_find(binder->catalog, text != NULL ? text : name, text != NULL,
                                        &table, &view, err)));
    if (table != NULL) {
        OC_TRY(scan(table, out, err));
    } else {
        OC_TRY(oci_bind_text(binder, view, out, err));
    }
    return take_alias(binder, node->alias, out, alias, err);
}

/* ---- functions ------------------------------------------------------------------------------- */

static bool is_int_series(const oci_expr *expr)
{
    return oci_type_is_integer(expr->type.type) || expr->type.type == OCI_TYPE_NULL;
}

/* Integers run in int64, moments in timestamps with an interval for a step. */
static oc_status series_types(oci_binder *binder, oci_expr **args, int32_t n, int32_t location,
                              oci_field *type, oc_error *err)
{
    bool all_int = true;
    for (int32_t i = 0; i < n; i++) {
        all_int = all_int && is_int_series(args[i]);
    }
    *type = oci_expr_type(all_int ? OCI_TYPE_INT64 : OCI_TYPE_TIMESTAMP);
    oci_field step = all_int ? *type : oci_expr_type(OCI_TYPE_INTERVAL_MONTH_DAY_NANO);
    if (!all_int && n < 3) {
        (void)oci_bind_at(binder, location, OC_EINVAL);
        OC_FAIL(err, OC_EINVAL, "a series of timestamps needs a step, such as interval '1 day'");
    }
    for (int32_t i = 0; i < n; i++) {
        oci_expr *taken = args[i];
        args[i] = NULL;
        OC_TRY(oci_bind_at(
            binder, location,
            oci_expr_cast(taken, i < 2 ? type : &step, false, location, &args[i], err)));
        if (args[i]->kind != OCI_EXPR_CONSTANT) {
            (void)oci_bind_at(binder, location, OC_EUNSUPPORTED);
            OC_FAIL(err, OC_EUNSUPPORTED,
                    "a series with bounds that are not constant is not supported yet");
        }
    }
    return OC_OK;
}

static oc_status make_series(oci_binder *binder, oci_expr **args, int32_t n, const char *name,
                             int32_t location, oci_plan **out, oc_error *err)
{
    oci_field type;
    oci_plan *plan;
    OC_TRY(series_types(binder, args, n, location, &type, err));
    OC_TRY(oci_plan_create(OCI_PLAN_SERIES, &plan, err));
    plan->exprs = calloc(3, sizeof(oci_expr *));
    if (plan->exprs == NULL) {
        oci_plan_destroy(plan);
        OC_FAIL(err, OC_ENOMEM, "could not bind FROM: out of memory");
    }
    for (int32_t i = 0; i < n; i++) {
        plan->exprs[i] = oci_expr_retain(args[i]);
    }
    plan->n_exprs = n;
    oci_expr value = {.type = type};
    oci_expr *values[1] = {&value};
    oc_status status = oci_plan_schema(values, &name, 1, &plan->schema, err);
    if (status != OC_OK) {
        oci_plan_destroy(plan);
        return status;
    }
    *out = plan;
    return OC_OK;
}

/* generate_series(stop), (start, stop), (start, stop, step). */
static oc_status bind_series(oci_binder *binder, const PgQuery__FuncCall *call, const char *name,
                             oci_plan **out, oc_error *err)
{
    oci_expr *args[3] = {NULL, NULL, NULL};
    int32_t n = (int32_t)call->n_args;
    oci_scope none = {.where = "FROM"};
    if (n < 1 || n > 3) {
        (void)oci_bind_at(binder, call->location, OC_EINVAL);
        OC_FAIL(err, OC_EINVAL, "generate_series takes start, stop and step");
    }
    oc_status status = n == 1 ? oci_expr_int(0, call->location, &args[0], err) : OC_OK;
    for (int32_t i = 0; status == OC_OK && i < n; i++) {
        status = oci_bind_expr(binder, &none, call->args[i], &args[n == 1 ? 1 : i], err);
    }
    if (status == OC_OK) {
        status = make_series(binder, args, n == 1 ? 2 : n, name, call->location, out, err);
    }
    for (int32_t i = 0; i < 3; i++) {
        oci_expr_release(args[i]);
    }
    return status;
}

static oc_status bind_file_call(oci_binder *binder, const PgQuery__FuncCall *call, const char *name,
                                oci_plan **out, oc_error *err)
{
    const PgQuery__Node *arg = call->n_args == 1 ? call->args[0] : NULL;
    oci_table *table;
    if (arg == NULL || arg->node_case != PG_QUERY__NODE__NODE_A_CONST ||
        arg->a_const->val_case != PG_QUERY__A__CONST__VAL_SVAL) {
        (void)oci_bind_at(binder, call->location, OC_EINVAL);
        OC_FAIL(err, OC_EINVAL, "%s takes the name of a file", name);
    }
    const oci_file_tables *files = oci_catalog_files(binder->catalog);
    const char *format = strstr(name, "csv") != NULL       ? "csv"
                         : strstr(name, "parquet") != NULL ? "parquet"
                                                           : "arrow";
    OC_TRY(oci_bind_at(
        binder, arg->a_const->location,
        files->open(files->self, arg->a_const->sval->sval, format, NULL, 0, &table, err)));
    return scan(table, out, err);
}

static oc_status bind_range_function(oci_binder *binder, const PgQuery__RangeFunction *node,
                                     oci_plan **out, const char **alias, oc_error *err)
{
    const PgQuery__List *first = node->n_functions == 1 ? node->functions[0]->list : NULL;
    if (node->lateral || node->ordinality || first == NULL || first->n_items == 0 ||
        first->items[0]->node_case != PG_QUERY__NODE__NODE_FUNC_CALL) {
        return unsupported(binder, -1, "LATERAL, WITH ORDINALITY and several functions in FROM are",
                           err);
    }
    const PgQuery__FuncCall *call = first->items[0]->func_call;
    const char *name = call->funcname[call->n_funcname - 1]->string->sval;
    /* A function with one column: the alias of the table is that of the column. */
    const char *column =
        node->alias != NULL && node->alias->n_colnames == 0 ? node->alias->aliasname : name;
    *alias = name;
    if (strcmp(name, "generate_series") == 0 || strcmp(name, "range") == 0) {
        OC_TRY(bind_series(binder, call, column, out, err));
    } else if (strcmp(name, "read_csv") == 0 || strcmp(name, "read_arrow") == 0 ||
               strcmp(name, "read_parquet") == 0) {
        OC_TRY(bind_file_call(binder, call, name, out, err));
    } else {
        (void)oci_bind_at(binder, call->location, OC_EINVAL);
        OC_FAIL(
            err, OC_EINVAL,
            "there is no table function \"%s\"; there are generate_series, read_csv, read_arrow",
            name);
    }
    return take_alias(binder, node->alias, out, alias, err);
}

/* ---- FROM ------------------------------------------------------------------------------------ */

/* One row of no column. */
static oc_status no_table(oci_plan **out, oc_error *err)
{
    oci_field *no_fields = calloc(1, sizeof *no_fields);
    if (no_fields == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not bind FROM: out of memory");
    }
    oci_schema *schema;
    OC_TRY(oci_schema_create(no_fields, 0, NULL, 0, &schema, err));
    oc_status status = oci_plan_create(OCI_PLAN_VALUES, out, err);
    if (status != OC_OK) {
        oci_schema_release(schema);
        return status;
    }
    (*out)->schema = schema;
    (*out)->n_rows = 1;
    return OC_OK;
}

/* Where an item is, as far as the tree tells. */
static int32_t place_of(const PgQuery__Node *item)
{
    return item->node_case == PG_QUERY__NODE__NODE_RANGE_VAR ? item->range_var->location : -1;
}

static oc_status bind_item(oci_binder *binder, const PgQuery__Node *node, const oci_cte *ctes,
                           oci_plan **out, const char **alias, oc_error *err)
{
    switch (node->node_case) {
    case PG_QUERY__NODE__NODE_RANGE_VAR:
        return bind_table(binder, node->range_var, ctes, out, alias, err);
    case PG_QUERY__NODE__NODE_RANGE_SUBSELECT:
        if (node->range_subselect->lateral) {
            return unsupported(binder, -1, "LATERAL is", err);
        }
        OC_TRY(
            oci_bind_select(binder, node->range_subselect->subquery->select_stmt, ctes, out, err));
        return take_alias(binder, node->range_subselect->alias, out, alias, err);
    case PG_QUERY__NODE__NODE_RANGE_FUNCTION:
        return bind_range_function(binder, node->range_function, out, alias, err);
    case PG_QUERY__NODE__NODE_JOIN_EXPR:
        return unsupported(binder, place_of(node->join_expr->rarg), "joins are", err);
    default: return unsupported(binder, -1, "this kind of item in FROM is", err);
    }
}

oc_status oci_bind_from(oci_binder *binder, const PgQuery__SelectStmt *select, const oci_cte *ctes,
                        oci_plan **out, const char **alias, oc_error *err)
{
    *alias = NULL;
    if (select->n_from_clause == 0) {
        return no_table(out, err);
    }
    if (select->n_from_clause > 1) {
        return unsupported(binder, place_of(select->from_clause[1]),
                           "joins (several tables in FROM) are", err);
    }
    return bind_item(binder, select->from_clause[0], ctes, out, alias, err);
}

oc_status oci_bind_text(oci_binder *binder, const char *sql, oci_plan **out, oc_error *err)
{
    oci_parsed parsed;
    int64_t position = -1;
    const oci_parsed *outer = binder->parsed;
    if (binder->view_depth >= VIEWS_MAX) {
        OC_FAIL(err, OC_EINVAL, "views refer to each other more than %d levels deep", VIEWS_MAX);
    }
    OC_TRY(oci_parse_query(sql, (int64_t)strlen(sql), &parsed, &position, err));
    int64_t outer_position = binder->position;
    binder->parsed = &parsed;
    binder->view_depth++;
    oc_status status = oci_bind_select(binder, parsed.select, NULL, out, err);
    binder->view_depth--;
    binder->parsed = outer;
    binder->position = outer_position; /* places in the view's text mean nothing here */
    oci_parsed_deinit(&parsed);
    return status;
}
