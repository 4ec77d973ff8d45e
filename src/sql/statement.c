/* From the text of a statement to what is to be done. See statement.h.
 *
 * Queries go to PostgreSQL's parser; the other statements are few and small, have grammar that it does not know, and
 * are read by hand, token by token. Texts come from malloc. */
#include "sql/statement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/bind.h"
#include "sql/token.h"

#define OPTIONS_MAX 64

typedef struct reader {
    const char *sql;
    int64_t size;
    int64_t at;
    oci_token token; /* the next one */
    oci_catalog *catalog;
    int64_t now_us;
    oci_statement *out;
    int64_t position;
    oc_error *err;
} reader;

/* ---- tokens ---------------------------------------------------------------------------------- */

static void advance(reader *r)
{
    r->at = r->token.end;
    r->token = oci_token_at(r->sql, r->size, r->at);
}

static bool is_word(const reader *r, const char *word)
{
    return oci_token_is(r->sql, r->token, word);
}

static bool take_word(reader *r, const char *word)
{
    if (!is_word(r, word)) {
        return false;
    }
    advance(r);
    return true;
}

static bool take_symbol(reader *r, char symbol)
{
    if (!oci_token_is_symbol(r->sql, r->token, symbol)) {
        return false;
    }
    advance(r);
    return true;
}

static oc_status out_of_memory(reader *r)
{
    OC_FAIL(r->err, OC_ENOMEM, "could not read a statement: out of memory");
}

static oc_status wrong(reader *r, const char *wanted)
{
    r->position = r->token.start;
    if (r->token.kind == OCI_TOKEN_END) {
        OC_FAIL(r->err, OC_EINVAL, "the statement ends where %s is wanted", wanted);
    }
    OC_FAIL(r->err, OC_EINVAL, "syntax error at or near \"%.*s\": %s is wanted",
            (int)(r->token.end - r->token.start < 60 ? r->token.end - r->token.start : 60),
            r->sql + r->token.start, wanted);
}

static oc_status expect_end(reader *r)
{
    (void)take_symbol(r, ';');
    return r->token.kind == OCI_TOKEN_END ? OC_OK : wrong(r, "the end of the statement");
}

static oc_status take_text(reader *r, bool fold, char **out)
{
    free(*out);
    *out = oci_token_text(r->sql, r->token, fold);
    if (*out == NULL) {
        return out_of_memory(r);
    }
    advance(r);
    return OC_OK;
}

static bool is_name(const reader *r)
{
    return r->token.kind == OCI_TOKEN_WORD || r->token.kind == OCI_TOKEN_NAME;
}

/* a, "a b", a.b.c as one text. */
static oc_status take_name(reader *r, const char *wanted, char **out)
{
    if (!is_name(r)) {
        return wrong(r, wanted);
    }
    OC_TRY(take_text(r, true, out));
    while (oci_token_is_symbol(r->sql, r->token, '.')) {
        char *more = NULL;
        advance(r);
        if (!is_name(r)) {
            return wrong(r, "a name behind the point");
        }
        OC_TRY(take_text(r, true, &more));
        size_t size = strlen(*out) + strlen(more) + 2;
        char *joined = malloc(size);
        if (joined != NULL) {
            snprintf(joined, size, "%s.%s", *out, more);
        }
        free(more);
        free(*out);
        *out = joined;
        if (joined == NULL) {
            return out_of_memory(r);
        }
    }
    return OC_OK;
}

static oc_status take_string(reader *r, const char *wanted, char **out)
{
    if (r->token.kind != OCI_TOKEN_TEXT) {
        return wrong(r, wanted);
    }
    return take_text(r, false, out);
}

/* ---- queries --------------------------------------------------------------------------------- */

typedef struct query_job {
    reader *r;
    int64_t start;
    int64_t end;
    oc_status status;
} query_job;

static void parse_and_bind(void *arg)
{
    query_job *job = arg;
    reader *r = job->r;
    oci_parsed parsed;
    int64_t size = job->end - job->start;
    char *text = malloc((size_t)size + 1);
    if (text == NULL) {
        job->status = out_of_memory(r);
        return;
    }
    memcpy(text, r->sql + job->start, (size_t)size);
    text[size] = '\0';
    int64_t position = -1;
    job->status = oci_parse_query(text, size, &parsed, &position, r->err);
    if (job->status == OC_OK) {
        oci_binder binder = {
            .catalog = r->catalog, .now_us = r->now_us, .position = -1, .parsed = &parsed};
        job->status = oci_bind_select(&binder, parsed.select, NULL, &r->out->plan, r->err);
        position = oci_parsed_place(&parsed, binder.position);
        oci_parsed_deinit(&parsed);
    }
    free(text);
    if (job->status != OC_OK) {
        r->position = job->start + (position >= 0 ? position : 0);
    }
}

/* The query from the next token to `end`. */
static oc_status bind_query(reader *r, int64_t end)
{
    query_job job = {.r = r, .start = r->token.start, .end = end};
    if (r->token.kind == OCI_TOKEN_END || job.start >= end) {
        return wrong(r, "a query");
    }
    if (!oci_with_deep_stack(parse_and_bind, &job)) {
        OC_FAIL(r->err, OC_ENOMEM,
                "could not read a statement: no memory for a thread with a large stack");
    }
    return job.status;
}

static oc_status bind_rest(reader *r)
{
    return bind_query(r, r->size);
}

/* Behind the parenthesis that closes the one at the next token. */
static oc_status find_closing(reader *r, int64_t *inner_end)
{
    int64_t depth = 0;
    reader ahead = *r;
    do {
        depth += oci_token_is_symbol(r->sql, ahead.token, '(');
        depth -= oci_token_is_symbol(r->sql, ahead.token, ')');
        *inner_end = ahead.token.start;
        if (ahead.token.kind == OCI_TOKEN_END || ahead.token.kind == OCI_TOKEN_OPEN) {
            oc_status status = wrong(&ahead, "a closing parenthesis");
            r->position = ahead.position;
            return status;
        }
        advance(&ahead);
    } while (depth > 0);
    return OC_OK;
}

/* SELECT * FROM the name, malloc'ed; quotes inside are doubled. NULL: out of memory. */
static char *select_all(const char *name, char quote)
{
    static const char start[] = "SELECT * FROM ";
    char *text = malloc(sizeof start + 2 * strlen(name) + 2);
    if (text == NULL) {
        return NULL;
    }
    memcpy(text, start, sizeof start - 1);
    char *to = text + sizeof start - 1;
    *to++ = quote;
    for (; *name != '\0'; name++) {
        if (*name == quote) {
            *to++ = quote;
        }
        *to++ = *name;
    }
    *to++ = quote;
    *to = '\0';
    return text;
}

/* (query), or the name of a table. */
static oc_status take_query_or_table(reader *r)
{
    if (oci_token_is_symbol(r->sql, r->token, '(')) {
        int64_t end;
        OC_TRY(find_closing(r, &end));
        reader inner = *r;
        advance(&inner);
        oc_status status = bind_query(&inner, end);
        r->position = inner.position;
        OC_TRY(status);
        r->token = oci_token_at(r->sql, r->size, end + 1);
        return OC_OK;
    }
    char *name = NULL;
    int64_t position = r->token.start;
    bool is_text = r->token.kind == OCI_TOKEN_TEXT;
    oc_status status = is_text ? take_string(r, "a table", &name)
                               : take_name(r, "a table or a query in parentheses", &name);
    if (status != OC_OK || name == NULL) {
        free(name);
        return status;
    }
    char *quoted = select_all(name, is_text ? '\'' : '"');
    free(name);
    if (quoted == NULL) {
        return out_of_memory(r);
    }
    reader inner = {.sql = quoted,
                    .size = (int64_t)strlen(quoted),
                    .catalog = r->catalog,
                    .now_us = r->now_us,
                    .out = r->out,
                    .position = -1,
                    .err = r->err};
    inner.token = oci_token_at(inner.sql, inner.size, 0);
    status = bind_rest(&inner);
    free(quoted);
    if (status != OC_OK) {
        r->position = position;
    }
    return status;
}

/* ---- options --------------------------------------------------------------------------------- */

static oc_status add_option(reader *r, char *name, char *value)
{
    oci_statement *out = r->out;
    if (out->options == NULL) {
        out->options = calloc(OPTIONS_MAX, sizeof *out->options);
    }
    if (out->options == NULL || out->n_options == OPTIONS_MAX) {
        free(name);
        free(value);
        return out->options == NULL ? out_of_memory(r) : wrong(r, "fewer options");
    }
    const char *point = strrchr(name, '.');
    if (point != NULL) { /* "format.delimiter" */
        memmove(name, point + 1, strlen(point + 1) + 1);
    }
    for (char *c = name; *c != '\0'; c++) {
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c | 0x20) : *c;
    }
    out->options[out->n_options++] = (oci_option){name, value};
    return OC_OK;
}

/* (name value, ...), values as texts, words or numbers. FORMAT becomes the format. */
static oc_status take_options(reader *r)
{
    if (!take_symbol(r, '(')) {
        return wrong(r, "options in parentheses");
    }
    while (!take_symbol(r, ')')) {
        char *name = NULL;
        char *value = NULL;
        oc_status status = r->token.kind == OCI_TOKEN_TEXT
                               ? take_text(r, false, &name)
                               : take_name(r, "the name of an option", &name);
        if (status == OC_OK) {
            (void)take_symbol(r, '=');
            bool has_value = r->token.kind == OCI_TOKEN_TEXT || r->token.kind == OCI_TOKEN_WORD ||
                             r->token.kind == OCI_TOKEN_NUMBER || r->token.kind == OCI_TOKEN_NAME;
            status = has_value ? take_text(r, false, &value) : OC_OK;
        }
        if (status == OC_OK && value == NULL) {
            value = strdup("true");
            status = value == NULL ? out_of_memory(r) : OC_OK;
        }
        if (status != OC_OK) {
            free(name);
            free(value);
            return status;
        }
        if (strcmp(name, "format") == 0) {
            free(r->out->format);
            r->out->format = value;
            free(name);
        } else {
            OC_TRY(add_option(r, name, value));
        }
        if (!take_symbol(r, ',') && !oci_token_is_symbol(r->sql, r->token, ')')) {
            return wrong(r, "a comma or a closing parenthesis");
        }
    }
    return OC_OK;
}

static void lower(char *text)
{
    for (; text != NULL && *text != '\0'; text++) {
        *text = *text >= 'A' && *text <= 'Z' ? (char)(*text | 0x20) : *text;
    }
}

/* STORED AS x, OPTIONS (...), WITH (...), LOCATION 'x', in any order. */
static oc_status take_clauses(reader *r, bool has_location)
{
    for (;;) {
        if (take_word(r, "stored")) {
            if (!take_word(r, "as") || !is_name(r)) {
                return wrong(r, "AS and a format");
            }
            OC_TRY(take_text(r, true, &r->out->format));
        } else if (has_location && take_word(r, "location")) {
            OC_TRY(take_string(r, "the name of a file in quotes", &r->out->path));
        } else if (take_word(r, "options")) {
            OC_TRY(take_options(r));
        } else if (take_word(r, "with")) {
            if (take_word(r, "header")) {
                (void)take_word(r, "row");
                char *name = strdup("header");
                char *value = strdup("true");
                if (name == NULL || value == NULL) {
                    free(name);
                    free(value);
                    return out_of_memory(r);
                }
                OC_TRY(add_option(r, name, value));
            } else {
                OC_TRY(take_options(r));
            }
        } else {
            lower(r->out->format);
            return OC_OK;
        }
    }
}

/* ---- statements ------------------------------------------------------------------------------ */

static oc_status read_copy(reader *r)
{
    r->out->kind = OCI_STATEMENT_COPY_TO;
    OC_TRY(take_query_or_table(r));
    if (!take_word(r, "to")) {
        return wrong(r, "TO");
    }
    OC_TRY(take_string(r, "the name of a file in quotes", &r->out->path));
    if (oci_token_is_symbol(r->sql, r->token, '(')) {
        OC_TRY(take_options(r));
    }
    OC_TRY(take_clauses(r, false));
    return expect_end(r);
}

static oc_status read_if_exists(reader *r, bool negated)
{
    if (!take_word(r, "if")) {
        return OC_OK;
    }
    if (negated && !take_word(r, "not")) {
        return wrong(r, "NOT EXISTS");
    }
    if (!take_word(r, "exists")) {
        return wrong(r, "EXISTS");
    }
    r->out->if_exists = true;
    return OC_OK;
}

/* Declared columns, as a text for the reader of CSV. */
static oc_status take_columns(reader *r)
{
    int64_t end;
    if (!oci_token_is_symbol(r->sql, r->token, '(')) {
        return OC_OK;
    }
    OC_TRY(find_closing(r, &end));
    int64_t start = r->token.end;
    r->out->columns = strndup(r->sql + start, (size_t)(end - start));
    r->token = oci_token_at(r->sql, r->size, end + 1);
    return r->out->columns == NULL ? out_of_memory(r) : OC_OK;
}

static oc_status read_create_table(reader *r)
{
    r->out->kind = OCI_STATEMENT_CREATE_TABLE;
    if (!take_word(r, "table")) {
        return wrong(r, "TABLE");
    }
    OC_TRY(read_if_exists(r, true));
    OC_TRY(take_name(r, "the name of the table", &r->out->name));
    OC_TRY(take_columns(r));
    OC_TRY(take_clauses(r, true));
    if (r->out->path == NULL) {
        return wrong(r, "LOCATION and the name of a file");
    }
    return expect_end(r);
}

static oc_status read_create_view(reader *r)
{
    r->out->kind = OCI_STATEMENT_CREATE_VIEW;
    OC_TRY(read_if_exists(r, true));
    OC_TRY(take_name(r, "the name of the view", &r->out->name));
    if (!take_word(r, "as")) {
        return wrong(r, "AS and a query");
    }
    bool complete;
    int64_t start = r->token.start;
    int64_t end = start + oci_sql_split(r->sql + start, r->size - start, &complete) - complete;
    r->out->view_sql = strndup(r->sql + start, (size_t)(end - start));
    if (r->out->view_sql == NULL) {
        return out_of_memory(r);
    }
    OC_TRY(bind_query(r, end)); /* only to see whether it can be */
    r->token = oci_token_at(r->sql, r->size, end);
    return expect_end(r);
}

static oc_status read_create(reader *r)
{
    if (take_word(r, "or")) {
        if (!take_word(r, "replace")) {
            return wrong(r, "REPLACE");
        }
        r->out->or_replace = true;
    }
    if (take_word(r, "external")) {
        return read_create_table(r);
    }
    (void)(take_word(r, "temp") || take_word(r, "temporary"));
    if (take_word(r, "view")) {
        return read_create_view(r);
    }
    r->position = r->token.start;
    OC_FAIL(r->err, OC_EUNSUPPORTED, "CREATE is supported for EXTERNAL TABLE and VIEW only");
}

static oc_status read_drop(reader *r)
{
    r->out->kind = OCI_STATEMENT_DROP;
    (void)take_word(r, "external");
    if (!take_word(r, "table") && !take_word(r, "view")) {
        return wrong(r, "TABLE or VIEW");
    }
    OC_TRY(read_if_exists(r, false));
    OC_TRY(take_name(r, "the name of a table or view", &r->out->name));
    return expect_end(r);
}

static oc_status read_describe(reader *r)
{
    r->out->kind = OCI_STATEMENT_DESCRIBE;
    bool is_query = is_word(r, "select") || is_word(r, "with") || is_word(r, "values") ||
                    is_word(r, "table");
    if (is_query) {
        return bind_rest(r);
    }
    OC_TRY(take_query_or_table(r));
    return expect_end(r);
}

static oc_status read_explain(reader *r)
{
    r->out->kind = OCI_STATEMENT_EXPLAIN;
    if (oci_token_is_symbol(r->sql, r->token, '(')) { /* (ANALYZE, FORMAT json) */
        advance(r);
        while (!take_symbol(r, ')')) {
            if (take_word(r, "analyze")) {
                r->out->analyze = !take_word(r, "false") && !take_word(r, "off");
                (void)(take_word(r, "true") || take_word(r, "on"));
            } else if (take_word(r, "format")) {
                r->out->json = take_word(r, "json");
                if (!r->out->json && !take_word(r, "text")) {
                    return wrong(r, "JSON or TEXT");
                }
            } else if (is_name(r)) { /* options of others: costs, buffers, ... */
                advance(r);
                (void)(take_word(r, "true") || take_word(r, "false") || take_word(r, "on") ||
                       take_word(r, "off"));
            } else {
                return wrong(r, "an option of EXPLAIN");
            }
            if (!take_symbol(r, ',') && !oci_token_is_symbol(r->sql, r->token, ')')) {
                return wrong(r, "a comma or a closing parenthesis");
            }
        }
        return bind_rest(r);
    }
    r->out->analyze = take_word(r, "analyze");
    (void)take_word(r, "verbose");
    if (take_word(r, "format")) {
        r->out->json = take_word(r, "json");
        if (!r->out->json && !take_word(r, "text") && !take_word(r, "tree") &&
            !take_word(r, "indent")) {
            return wrong(r, "JSON or TEXT");
        }
    }
    return bind_rest(r);
}

static oc_status read_set(reader *r)
{
    r->out->kind = OCI_STATEMENT_SET;
    (void)(take_word(r, "session") || take_word(r, "local"));
    OC_TRY(take_name(r, "the name of a setting", &r->out->name));
    if (!take_symbol(r, '=') && !take_word(r, "to")) {
        return wrong(r, "= and a value");
    }
    if (take_word(r, "default")) {
        return expect_end(r);
    }
    /* A text, or all that stands there: 200M, -1, on. */
    if (r->token.kind == OCI_TOKEN_TEXT || r->token.kind == OCI_TOKEN_NAME) {
        OC_TRY(take_text(r, false, &r->out->value));
        return expect_end(r);
    }
    int64_t start = r->token.start;
    int64_t end = start;
    while (r->token.kind != OCI_TOKEN_END && r->token.kind != OCI_TOKEN_OPEN &&
           !oci_token_is_symbol(r->sql, r->token, ';')) {
        end = r->token.end;
        advance(r);
    }
    if (end == start) {
        return wrong(r, "a value");
    }
    r->out->value = strndup(r->sql + start, (size_t)(end - start));
    return r->out->value == NULL ? out_of_memory(r) : expect_end(r);
}

static oc_status read_named(reader *r, oci_statement_kind kind)
{
    r->out->kind = kind;
    OC_TRY(take_name(r, "the name of a setting, or ALL", &r->out->name));
    return expect_end(r);
}

static oc_status read_show(reader *r)
{
    if (take_word(r, "tables")) {
        r->out->kind = OCI_STATEMENT_SHOW_TABLES;
        return expect_end(r);
    }
    return read_named(r, OCI_STATEMENT_SHOW);
}

static oc_status read_statement(reader *r)
{
    (void)take_symbol(r, ';');
    if (r->token.kind == OCI_TOKEN_END) {
        r->out->kind = OCI_STATEMENT_EMPTY;
        return OC_OK;
    }
    const char *nul = memchr(r->sql, '\0', (size_t)r->size);
    if (nul != NULL) { /* texts would end there */
        r->position = nul - r->sql;
        OC_FAIL(r->err, OC_EINVAL, "a statement must not have a NUL byte inside");
    }
    if (r->token.kind == OCI_TOKEN_OPEN) {
        r->position = r->token.start;
        OC_FAIL(r->err, OC_EINVAL, "a quote or comment does not end");
    }
    if (take_word(r, "copy")) {
        return read_copy(r);
    }
    if (take_word(r, "create")) {
        return read_create(r);
    }
    if (take_word(r, "drop")) {
        return read_drop(r);
    }
    if (take_word(r, "describe") || take_word(r, "desc")) {
        return read_describe(r);
    }
    if (take_word(r, "explain")) {
        return read_explain(r);
    }
    if (take_word(r, "set")) {
        return read_set(r);
    }
    if (take_word(r, "show")) {
        return read_show(r);
    }
    if (take_word(r, "reset")) {
        return read_named(r, OCI_STATEMENT_RESET);
    }
    r->out->kind = OCI_STATEMENT_QUERY;
    return bind_rest(r);
}

/* "..., at line 2, column 7". */
static void add_place(const reader *r)
{
    if (r->position < 0 || r->position > r->size || r->err == NULL) {
        return;
    }
    int64_t line = 1;
    int64_t column = 1;
    for (int64_t i = 0; i < r->position; i++) {
        column += (r->sql[i] & 0xC0) != 0x80; /* characters, not bytes */
        if (r->sql[i] == '\n') {
            line++;
            column = 1;
        }
    }
    size_t used = strlen(r->err->message);
    snprintf(r->err->message + used, sizeof r->err->message - used,
             ", at line %" PRId64 ", column %" PRId64, line, column);
}

oc_status oci_statement_parse(const char *sql, int64_t size, oci_catalog *catalog, int64_t now_us,
                              oci_statement *out, int64_t *position, oc_error *err)
{
    oc_error own;
    *out = (oci_statement){0};
    *position = -1;
    if (size > OCI_SQL_BYTES_MAX) {
        OC_FAIL(err, OC_EINVAL,
                "a statement of %" PRId64 " bytes is too long; at most %" PRId64 " are taken", size,
                OCI_SQL_BYTES_MAX);
    }
    reader r = {.sql = sql,
                .size = size,
                .catalog = catalog,
                .now_us = now_us,
                .out = out,
                .position = -1,
                .err = err != NULL ? err : &own};
    r.token = oci_token_at(sql, size, 0);
    oc_status status = read_statement(&r);
    if (status != OC_OK) {
        add_place(&r);
        *position = r.position;
        oci_statement_deinit(out);
    }
    return status;
}

void oci_statement_deinit(oci_statement *statement)
{
    oci_plan_destroy(statement->plan);
    free(statement->name);
    free(statement->value);
    free(statement->path);
    free(statement->format);
    free(statement->columns);
    free(statement->view_sql);
    for (int32_t i = 0; i < statement->n_options; i++) {
        free(statement->options[i].name);
        free(statement->options[i].value);
    }
    free(statement->options);
    *statement = (oci_statement){0};
}
