/* Sessions: contexts, tables and settings around SQL. See outcore/sql.h. Sessions and what queries keep come from
 * malloc. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "api/context.h"
#include "api/session.h"
#include "api/sql_files.h"
#include "api/sql_settings.h"
#include "expr/function.h"
#include "outcore/sql.h"
#include "sql/explain.h"
#include "sql/statement.h"
#include "sql/token.h"

struct oc_session {
    oci_settings settings;
    oci_seams seams;
    _Atomic(oc_context *) context;
    oci_catalog *catalog;
};

/* ---- life ------------------------------------------------------------------------------------ */

oc_status oci_session_create(const oc_options *options, const oci_seams *seams, oc_session **out,
                             oc_error *err)
{
    oc_options given = OC_OPTIONS_INIT;
    if (options != NULL) {
        OC_TRY(oci_copy_options(&given, options, options->struct_size, sizeof given,
                                "session options", err));
    }
    oc_session *session = calloc(1, sizeof *session);
    if (session == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not create a session: out of memory");
    }
    session->settings.now = session->settings.first = given;
    session->seams = *seams;
    oci_file_tables files;
    oci_file_tables_init(&files, session);
    oc_context *context = NULL;
    oc_status status = oci_context_create(&given, seams, &context, err);
    if (status == OC_OK) {
        atomic_store(&session->context, context);
        status = oci_catalog_create(&files, &session->catalog, err);
    }
    if (status != OC_OK) {
        oc_session_destroy(session);
        return status;
    }
    *out = session;
    return OC_OK;
}

oc_status oc_session_create(const oc_options *options, oc_session **out, oc_error *error)
{
    oci_seams seams = {0};
    return oci_session_create(options, &seams, out, error);
}

void oc_session_destroy(oc_session *session)
{
    if (session == NULL) {
        return;
    }
    oci_catalog_destroy(session->catalog);
    oci_context_release(atomic_load(&session->context));
    free(session->settings.folder);
    free(session);
}

oc_context *oc_session_context(oc_session *session)
{
    return atomic_load(&session->context);
}

void oc_session_cancel(oc_session *session)
{
    oc_context_cancel(atomic_load(&session->context));
}

void oc_session_reset_cancel(oc_session *session)
{
    oc_context_reset_cancel(atomic_load(&session->context));
}

/* ---- running a plan -------------------------------------------------------------------------- */

typedef struct query_stream {
    oci_stream base; /* must be first */
    oc_context *context;
    oci_execution execution;
    oci_plan *plan;
    oci_stream *rows;
} query_stream;

static oc_status query_next(oci_stream *stream, oci_batch **out, oc_error *err)
{
    return oci_stream_next(((query_stream *)stream)->rows, out, err);
}

static void query_close(oci_stream *stream)
{
    query_stream *self = (query_stream *)stream;
    oci_stream_close(self->rows);
    oci_plan_destroy(self->plan);
    oci_mem_close(self->execution.mem);
    oci_schema_release(self->base.schema);
    oci_context_release(self->context);
    free(self);
}

/* Takes the plan, also on failure. */
static oc_status open_query(oc_context *context, oci_plan *plan, int64_t now_us, bool measure,
                            query_stream **out, oc_error *err)
{
    query_stream *self = calloc(1, sizeof *self);
    if (self == NULL) {
        oci_plan_destroy(plan);
        OC_FAIL(err, OC_ENOMEM, "could not set up a query: out of memory");
    }
    self->base = (oci_stream){
        .schema = oci_schema_retain(plan->schema), .next = query_next, .close = query_close};
    self->context = oci_context_retain(context);
    self->plan = plan;
    self->execution = (oci_execution){
        .env = &context->env, .manager = context->spill, .now_us = now_us, .measure = measure};
    oc_status status = oci_mem_open(context->env.budget, "query", &self->execution.mem, err);
    if (status == OC_OK) {
        oci_stream *rows; /* nothing to be closed after a failure */
        status = oci_plan_open(&self->execution, plan, &rows, err);
        self->rows = status == OC_OK ? rows : NULL;
    }
    if (status != OC_OK) {
        query_close(&self->base);
        return status;
    }
    *out = self;
    return OC_OK;
}

static oc_status export_query(oc_session *session, oci_plan *plan, int64_t now_us,
                              struct ArrowArrayStream *rows, oc_error *err)
{
    query_stream *query;
    oc_context *context = oc_session_context(session);
    OC_TRY(open_query(context, plan, now_us, false, &query, err));
    return oci_context_export(context, &query->base, query->base.schema, rows, err);
}

/* ---- rows of texts --------------------------------------------------------------------------- */

/* A table of texts that is made row by row: a plan of VALUES. */
typedef struct text_table {
    oci_plan *plan;
    int32_t n_columns;
    int64_t room;
} text_table;

static oc_status add_text(text_table *table, const char *text, oc_error *err)
{
    oci_plan *plan = table->plan;
    if (plan->n_exprs == table->room) {
        int64_t room = 2 * table->room + 64;
        oci_expr **longer = calloc((size_t)room, sizeof(oci_expr *));
        if (longer == NULL) {
            OC_FAIL(err, OC_ENOMEM, "could not make a result: out of memory");
        }
        if (plan->n_exprs > 0) {
            memcpy(longer, plan->exprs, (size_t)plan->n_exprs * sizeof(oci_expr *));
        }
        free(plan->exprs);
        plan->exprs = longer;
        table->room = room;
    }
    OC_TRY(oci_expr_text(text, (int64_t)strlen(text), -1, &plan->exprs[plan->n_exprs], err));
    plan->n_exprs++;
    plan->n_rows = plan->n_exprs / table->n_columns;
    return OC_OK;
}

static oc_status start_table(text_table *table, const char *const *names, int32_t n, oc_error *err)
{
    *table = (text_table){.n_columns = n};
    OC_TRY(oci_plan_create(OCI_PLAN_VALUES, &table->plan, err));
    oci_field *fields = calloc((size_t)n + 1, sizeof *fields);
    oc_status status =
        fields == NULL ? OC_SET(err, OC_ENOMEM, "could not make a result: out of memory") : OC_OK;
    int32_t made = 0;
    for (; status == OC_OK && made < n; made++) {
        status = oci_field_init(&fields[made], names[made], OCI_TYPE_UTF8, true, err);
    }
    if (status == OC_OK) {
        status = oci_schema_create(fields, n, NULL, 0, &table->plan->schema, err);
    } else {
        for (int32_t i = 0; fields != NULL && i + 1 < made; i++) {
            oci_field_deinit(&fields[i]);
        }
        free(fields);
    }
    if (status != OC_OK) {
        oci_plan_destroy(table->plan);
        table->plan = NULL;
    }
    return status;
}

/* Gives the rows out, or after a failure drops them. */
static oc_status give_table(oc_session *session, text_table *table, oc_status status,
                            struct ArrowArrayStream *rows, oc_error *err)
{
    if (status != OC_OK) {
        oci_plan_destroy(table->plan);
        return status;
    }
    return export_query(session, table->plan, 0, rows, err);
}

static oc_status no_rows(oc_session *session, struct ArrowArrayStream *rows, oc_error *err)
{
    static const char *const names[] = {"result"};
    text_table table;
    OC_TRY(start_table(&table, names, 1, err));
    return give_table(session, &table, OC_OK, rows, err);
}

/* ---- statements ------------------------------------------------------------------------------ */

typedef struct running {
    oc_session *session;
    oci_statement *statement;
    int64_t now_us;
    struct ArrowArrayStream *rows;
    oc_statement_info *info;
    oc_error *err;
} running;

static oc_status done(running *r, const char *tag)
{
    r->info->kind = OC_STATEMENT_COMMAND;
    snprintf(r->info->tag, sizeof r->info->tag, "%s", tag);
    return OC_OK;
}

static oci_plan *take_plan(running *r)
{
    oci_plan *plan = r->statement->plan;
    r->statement->plan = NULL;
    return plan;
}

static oc_status run_query(running *r)
{
    r->info->kind = OC_STATEMENT_QUERY;
    OC_TRY(oci_plan_optimize(&r->statement->plan, r->err));
    return export_query(r->session, take_plan(r), r->now_us, r->rows, r->err);
}

static oc_status explain_line(const char *text, void *arg, oc_error *err)
{
    return add_text(arg, text, err);
}

static oc_status drain(oci_stream *stream, oc_error *err)
{
    for (;;) {
        oci_batch *batch;
        OC_TRY(oci_stream_next(stream, &batch, err));
        if (batch == NULL) {
            return OC_OK;
        }
        oci_batch_release(batch);
    }
}

static oc_status run_and_explain(running *r, text_table *table)
{
    query_stream *query;
    OC_TRY(
        open_query(oc_session_context(r->session), take_plan(r), r->now_us, true, &query, r->err));
    oc_status status = drain(&query->base, r->err);
    if (status == OC_OK) {
        status = oci_plan_explain(query->plan, r->statement->json, explain_line, table, r->err);
    }
    query_close(&query->base);
    return status;
}

static oc_status run_explain(running *r)
{
    static const char *const names[] = {"plan"};
    text_table table;
    r->info->kind = OC_STATEMENT_QUERY;
    r->info->is_plan = true;
    OC_TRY(oci_plan_optimize(&r->statement->plan, r->err));
    OC_TRY(start_table(&table, names, 1, r->err));
    oc_status status = r->statement->analyze
                           ? run_and_explain(r, &table)
                           : oci_plan_explain(r->statement->plan, r->statement->json, explain_line,
                                              &table, r->err);
    return give_table(r->session, &table, status, r->rows, r->err);
}

static oc_status run_copy(running *r)
{
    query_stream *query;
    int64_t n = 0;
    char tag[64];
    const oci_statement *s = r->statement;
    OC_TRY(oci_plan_optimize(&r->statement->plan, r->err));
    OC_TRY(
        open_query(oc_session_context(r->session), take_plan(r), r->now_us, false, &query, r->err));
    const oci_file_tables *files = oci_catalog_files(r->session->catalog);
    OC_TRY(files->write(files->self, &query->base, s->path, s->format, s->options, s->n_options, &n,
                        r->err));
    snprintf(tag, sizeof tag, "COPY %lld", (long long)n);
    return done(r, tag);
}

static bool has_name(oc_session *session, const char *wanted)
{
    const char *name;
    for (int32_t i = 0; (name = oci_catalog_name(session->catalog, i)) != NULL; i++) {
        if (strcasecmp(name, wanted) == 0) {
            return true;
        }
    }
    return false;
}

static oc_status run_create_table(running *r)
{
    const oci_statement *s = r->statement;
    oci_table *table;
    if (s->if_exists && has_name(r->session, s->name)) {
        return done(r, "CREATE TABLE");
    }
    OC_TRY(oci_file_table_open(r->session, s->path, s->format, s->columns, s->options, s->n_options,
                               &table, r->err));
    oc_status status =
        oci_catalog_add_table(r->session->catalog, s->name, table, s->or_replace, r->err);
    oci_table_release(table);
    OC_TRY(status);
    return done(r, "CREATE TABLE");
}

static oc_status run_create_view(running *r)
{
    const oci_statement *s = r->statement;
    if (!s->if_exists || !has_name(r->session, s->name)) {
        OC_TRY(
            oci_catalog_add_view(r->session->catalog, s->name, s->view_sql, s->or_replace, r->err));
    }
    return done(r, "CREATE VIEW");
}

static oc_status run_drop(running *r)
{
    if (!oci_catalog_drop(r->session->catalog, r->statement->name) && !r->statement->if_exists) {
        OC_FAIL(r->err, OC_EINVAL, "there is no table or view \"%s\"", r->statement->name);
    }
    return done(r, "DROP");
}

static oc_status run_describe(running *r)
{
    static const char *const names[] = {"column_name", "data_type", "is_nullable"};
    text_table table;
    const oci_schema *schema = r->statement->plan->schema;
    r->info->kind = OC_STATEMENT_QUERY;
    OC_TRY(start_table(&table, names, 3, r->err));
    oc_status status = OC_OK;
    for (int32_t i = 0; status == OC_OK && i < schema->n_fields; i++) {
        char type[256];
        oci_field_type_text(&schema->fields[i], type, sizeof type);
        status = add_text(&table, schema->fields[i].name, r->err);
        status = status == OC_OK ? add_text(&table, type, r->err) : status;
        status = status == OC_OK
                     ? add_text(&table, schema->fields[i].nullable ? "YES" : "NO", r->err)
                     : status;
    }
    return give_table(r->session, &table, status, r->rows, r->err);
}

static oc_status run_show_tables(running *r)
{
    static const char *const names[] = {"name", "type"};
    text_table table;
    const char *name;
    r->info->kind = OC_STATEMENT_QUERY;
    OC_TRY(start_table(&table, names, 2, r->err));
    oc_status status = OC_OK;
    for (int32_t i = 0;
         status == OC_OK && (name = oci_catalog_name(r->session->catalog, i)) != NULL; i++) {
        status = add_text(&table, name, r->err);
        const char *type = oci_catalog_is_view(r->session->catalog, i) ? "view" : "table";
        status = status == OC_OK ? add_text(&table, type, r->err) : status;
    }
    return give_table(r->session, &table, status, r->rows, r->err);
}

/* Another context for later statements; streams that are out keep the old one. */
static oc_status change_context(oc_session *session, oc_error *err)
{
    oc_context *context;
    OC_TRY(oci_context_create(&session->settings.now, &session->seams, &context, err));
    oci_context_release(atomic_exchange(&session->context, context));
    return OC_OK;
}

static oc_status run_set(running *r)
{
    bool changes = false;
    oci_settings *settings = &r->session->settings;
    oc_options before = settings->now;
    bool is_reset = r->statement->kind == OCI_STATEMENT_RESET;
    if (is_reset && strcasecmp(r->statement->name, "all") == 0) {
        oci_settings_reset_all(settings);
        changes = true;
    } else {
        OC_TRY(oci_settings_set(settings, r->statement->name, is_reset ? NULL : r->statement->value,
                                &changes, r->info->notice, sizeof r->info->notice, r->err));
    }
    if (changes) {
        oc_status status = change_context(r->session, r->err);
        if (status != OC_OK) {
            settings->now = before;
            return status;
        }
    }
    return done(r, is_reset ? "RESET" : "SET");
}

static oc_status run_show(running *r)
{
    static const char *const names[] = {"name", "value", "description"};
    text_table table;
    const char *wanted = r->statement->name;
    bool all = strcasecmp(wanted, "all") == 0;
    int32_t which = oci_settings_find(wanted);
    r->info->kind = OC_STATEMENT_QUERY;
    if (!all && which < 0) {
        OC_FAIL(r->err, OC_EINVAL, "there is no setting \"%s\"; did you mean \"%s\"?", wanted,
                oci_settings_near(wanted));
    }
    OC_TRY(start_table(&table, names, all ? 3 : 2, r->err));
    oc_status status = OC_OK;
    const char *name;
    const char *description;
    char value[512];
    for (int32_t i = 0;
         oci_settings_at(&r->session->settings, i, &name, value, sizeof value, &description); i++) {
        if (!all && i != which) {
            continue;
        }
        status = status == OC_OK ? add_text(&table, all ? name : wanted, r->err) : status;
        status = status == OC_OK ? add_text(&table, value, r->err) : status;
        status = status == OC_OK && all ? add_text(&table, description, r->err) : status;
    }
    return give_table(r->session, &table, status, r->rows, r->err);
}

static oc_status run_effect(running *r)
{
    switch (r->statement->kind) {
    case OCI_STATEMENT_COPY_TO: return run_copy(r);
    case OCI_STATEMENT_CREATE_TABLE: return run_create_table(r);
    case OCI_STATEMENT_CREATE_VIEW: return run_create_view(r);
    case OCI_STATEMENT_DROP: return run_drop(r);
    case OCI_STATEMENT_SET:
    case OCI_STATEMENT_RESET: return run_set(r);
    default: break;
    }
    OC_FAIL(r->err, OC_EINTERNAL, "a statement of an unknown kind");
}

/* The answer without rows is made first: nothing can fail once a command has had its effect. */
static oc_status run_command(running *r)
{
    OC_TRY(no_rows(r->session, r->rows, r->err));
    oc_status status = run_effect(r);
    if (status != OC_OK) {
        r->rows->release(r->rows);
    }
    return status;
}

static oc_status run(running *r)
{
    switch (r->statement->kind) {
    case OCI_STATEMENT_EMPTY:
        r->info->kind = OC_STATEMENT_EMPTY;
        return no_rows(r->session, r->rows, r->err);
    case OCI_STATEMENT_QUERY: return run_query(r);
    case OCI_STATEMENT_EXPLAIN: return run_explain(r);
    case OCI_STATEMENT_DESCRIBE: return run_describe(r);
    case OCI_STATEMENT_SHOW_TABLES: return run_show_tables(r);
    case OCI_STATEMENT_SHOW: return run_show(r);
    default: return run_command(r);
    }
}

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* What the caller's version of the struct has. */
static void give_info(oc_statement_info *to, const oc_statement_info *info)
{
    if (to != NULL) {
        size_t size = to->struct_size;
        memcpy(to, info, size < sizeof *info ? size : sizeof *info);
        to->struct_size = size;
    }
}

oc_status oc_session_execute(oc_session *session, const char *sql, int64_t size,
                             struct ArrowArrayStream *rows, oc_statement_info *info,
                             oc_error *error)
{
    oci_statement statement;
    oc_statement_info made = OC_STATEMENT_INFO_INIT;
    rows->release = NULL;
    running r = {.session = session,
                 .statement = &statement,
                 .now_us = now_us(),
                 .rows = rows,
                 .info = &made,
                 .err = error};
    made.error_position = -1;
    oc_status status = oci_statement_parse(sql, size < 0 ? (int64_t)strlen(sql) : size,
                                           session->catalog, r.now_us, &statement,
                                           &made.error_position, error);
    if (status == OC_OK) {
        status = run(&r);
        oci_statement_deinit(&statement);
    }
    give_info(info, &made);
    return status;
}

oc_status oc_session_register_stream(oc_session *session, const char *name,
                                     struct ArrowArrayStream *stream, oc_error *error)
{
    oci_stream *input;
    oci_table *table;
    OC_TRY(oci_stream_import(stream, &input, error));
    OC_TRY(oci_stream_table_open(name, input, &table, error));
    oc_status status = oci_catalog_add_table(session->catalog, name, table, true, error);
    oci_table_release(table);
    return status;
}

int64_t oc_sql_split(const char *sql, int64_t size, bool *complete)
{
    return oci_sql_split(sql, size, complete);
}

void oc_session_tables(oc_session *session,
                       void (*found)(const char *name, bool is_view, void *arg), void *arg)
{
    const char *name;
    for (int32_t i = 0; (name = oci_catalog_name(session->catalog, i)) != NULL; i++) {
        found(name, oci_catalog_is_view(session->catalog, i), arg);
    }
}

/* ---- completion ------------------------------------------------------------------------------ */

static const char *const keywords[] = {
    "ALL",    "ANALYZE", "AND",    "AS",       "ASC",      "BETWEEN",  "BY",       "CASE",
    "CAST",   "COPY",    "CREATE", "CUBE",     "DESC",     "DESCRIBE", "DISTINCT", "DROP",
    "ELSE",   "END",     "EXISTS", "EXPLAIN",  "EXTERNAL", "FALSE",    "FILTER",   "FIRST",
    "FORMAT", "FROM",    "GROUP",  "GROUPING", "HAVING",   "ILIKE",    "IN",       "INTERVAL",
    "IS",     "LAST",    "LIKE",   "LIMIT",    "LOCATION", "NOT",      "NULL",     "NULLS",
    "OFFSET", "OPTIONS", "OR",     "ORDER",    "REPLACE",  "RESET",    "ROLLUP",   "SELECT",
    "SET",    "SETS",    "SHOW",   "STORED",   "TABLE",    "TABLES",   "THEN",     "TO",
    "TRUE",   "UNION",   "VALUES", "VIEW",     "WHEN",     "WHERE",    "WITH",     "WITHIN",
};

typedef struct completing {
    const char *word;
    int64_t length;
    void (*found)(const char *word, void *arg);
    void *arg;
} completing;

static void offer(const completing *c, const char *word)
{
    if (strncasecmp(word, c->word, (size_t)c->length) == 0) {
        c->found(word, c->arg);
    }
}

static bool is_word_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || ((unsigned char)c & 0x80) != 0;
}

/* Columns of the tables whose names stand in the statement. */
static void offer_columns(oc_session *session, const completing *c, const char *sql, int64_t size)
{
    for (oci_token token = oci_token_at(sql, size, 0);
         token.kind != OCI_TOKEN_END && token.kind != OCI_TOKEN_OPEN;
         token = oci_token_at(sql, size, token.end)) {
        char *name = token.kind == OCI_TOKEN_WORD || token.kind == OCI_TOKEN_NAME
                         ? oci_token_text(sql, token, false)
                         : NULL;
        oci_table *table = NULL;
        const char *view = NULL;
        if (name != NULL && has_name(session, name) &&
            oci_catalog_find(session->catalog, name, false, &table, &view, NULL) == OC_OK &&
            table != NULL) {
            for (int32_t i = 0; i < table->schema->n_fields; i++) {
                offer(c, table->schema->fields[i].name);
            }
        }
        oci_table_release(table);
        free(name);
    }
}

static void offer_functions(const completing *c)
{
    const char *last = "";
    for (const oci_function *const *table = oci_function_tables; *table != NULL; table++) {
        for (const oci_function *f = *table; f->name != NULL; f++) {
            bool is_name = (f->name[0] >= 'a' && f->name[0] <= 'z') && strchr(f->name, ' ') == NULL;
            if (is_name && strcmp(f->name, last) != 0) {
                offer(c, f->name);
            }
            last = f->name;
        }
    }
}

void oc_session_complete(oc_session *session, const char *sql, int64_t size, int64_t cursor,
                         int64_t *start, void (*found)(const char *word, void *arg), void *arg)
{
    *start = cursor;
    while (*start > 0 && is_word_byte(sql[*start - 1])) {
        --*start;
    }
    completing c = {.word = sql + *start, .length = cursor - *start, .found = found, .arg = arg};
    for (size_t i = 0; c.length > 0 && i < sizeof keywords / sizeof keywords[0]; i++) {
        offer(&c, keywords[i]);
    }
    const char *name;
    for (int32_t i = 0; (name = oci_catalog_name(session->catalog, i)) != NULL; i++) {
        offer(&c, name);
    }
    offer_columns(session, &c, sql, size);
    oci_token first = oci_token_at(sql, size, 0);
    if (oci_token_is(sql, first, "set") || oci_token_is(sql, first, "show") ||
        oci_token_is(sql, first, "reset")) {
        char value[512];
        const char *description;
        for (int32_t i = 0;
             oci_settings_at(&session->settings, i, &name, value, sizeof value, &description);
             i++) {
            offer(&c, name);
        }
    } else if (c.length > 0) {
        offer_functions(&c);
    }
}
