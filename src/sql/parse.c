/* See parse.h.
 *
 * PostgreSQL's parser and the unpacking of its result recurse with the text: a chain of operators as deep as it is
 * long. So both run on a thread whose stack is large enough for the longest text that is taken; of its pages only
 * those are ever touched that a text needs.
 *
 * FROM 'file' is no SQL; the parser says so at the text, and if FROM, JOIN or a comma stands in front of it, the quotes
 * are turned into those of a name and the text is parsed again. Nothing else is rewritten, so trim(both from 'x')
 * stays what it is. */
#include "sql/parse.h"

#include <pg_query.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sql/token.h"

#define STACK_BYTES ((size_t)512 << 20)
#define TEXTS_MAX   1000

typedef struct deep_call {
    void (*body)(void *arg);
    void *arg;
} deep_call;

static void *run_deep(void *arg)
{
    deep_call *call = arg;
    call->body(call->arg);
    return NULL;
}

bool oci_with_deep_stack(void (*body)(void *arg), void *arg)
{
    pthread_attr_t attributes;
    pthread_t thread;
    deep_call call = {body, arg};
    if (pthread_attr_init(&attributes) != 0) {
        return false;
    }
    bool started = pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0 &&
                   pthread_create(&thread, &attributes, run_deep, &call) == 0;
    pthread_attr_destroy(&attributes);
    if (started) {
        pthread_join(thread, NULL);
    }
    return started;
}

/* The text literal at `at`, when FROM, JOIN or a comma stands in front of it. */
static bool find_table_text(const char *sql, int64_t size, int64_t at, oci_token *out)
{
    oci_token before = {0};
    for (oci_token token = oci_token_at(sql, size, 0);
         token.kind != OCI_TOKEN_END && token.kind != OCI_TOKEN_OPEN;
         token = oci_token_at(sql, size, token.end)) {
        if (token.start == at) {
            *out = token;
            return token.kind == OCI_TOKEN_TEXT && sql[at] == '\'' &&
                   (oci_token_is(sql, before, "from") || oci_token_is(sql, before, "join") ||
                    oci_token_is_symbol(sql, before, ','));
        }
        before = token;
    }
    return false;
}

/* The quotes of a name instead of those of a text, in place; false when the text has quotes inside. */
static bool make_name(char *sql, oci_token text)
{
    for (int64_t i = text.start + 1; i < text.end - 1; i++) {
        if (sql[i] == '"' || sql[i] == '\'') {
            return false;
        }
    }
    sql[text.start] = sql[text.end - 1] = '"';
    return text.end - text.start > 2;
}

static oc_status parse_error(const PgQueryError *error, int64_t *position, oc_error *err)
{
    *position = error->cursorpos > 0 ? error->cursorpos - 1 : -1;
    OC_FAIL(err, OC_EINVAL, "%s", error->message);
}

/* One attempt; *again: the text was changed and is to be parsed once more. */
static oc_status parse_once(char *sql, int64_t size, oci_parsed *out, bool *again,
                            int64_t *position, oc_error *err)
{
    oc_status status = OC_OK;
    PgQueryProtobufParseResult parsed = pg_query_parse_protobuf(sql);
    *again = false;
    if (parsed.error != NULL) {
        oci_token text;
        int64_t at = parsed.error->cursorpos - 1;
        if (out->n_texts < TEXTS_MAX && find_table_text(sql, size, at, &text) &&
            make_name(sql, text)) {
            out->texts[out->n_texts++] = at;
            *again = true;
        } else {
            status = parse_error(parsed.error, position, err);
        }
    } else {
        out->result = pg_query__parse_result__unpack(NULL, parsed.parse_tree.len,
                                                     (const uint8_t *)parsed.parse_tree.data);
        if (out->result == NULL) {
            status = OC_SET(err, OC_ENOMEM, "could not parse a statement: out of memory");
        }
    }
    pg_query_free_protobuf_parse_result(parsed);
    return status;
}

static oc_status take_select(oci_parsed *out, int64_t *position, oc_error *err)
{
    *position = -1;
    if (out->result->n_stmts != 1) {
        OC_FAIL(err, OC_EINVAL, "one statement is wanted here, not %zu", out->result->n_stmts);
    }
    const PgQuery__Node *node = out->result->stmts[0]->stmt;
    if (node->node_case != PG_QUERY__NODE__NODE_SELECT_STMT) {
        *position = out->result->stmts[0]->stmt_location;
        OC_FAIL(err, OC_EUNSUPPORTED, "this kind of statement is not supported");
    }
    out->select = node->select_stmt;
    return OC_OK;
}

oc_status oci_parse_query(const char *sql, int64_t size, oci_parsed *out, int64_t *position,
                          oc_error *err)
{
    *out = (oci_parsed){0};
    *position = -1;
    char *copy = malloc((size_t)size + 1);
    out->texts = calloc(TEXTS_MAX, sizeof *out->texts);
    if (copy == NULL || out->texts == NULL) {
        free(copy);
        oci_parsed_deinit(out);
        OC_FAIL(err, OC_ENOMEM, "could not parse a statement: out of memory");
    }
    memcpy(copy, sql, (size_t)size);
    copy[size] = '\0';
    bool again = true;
    oc_status status = OC_OK;
    while (again && status == OC_OK) {
        status = parse_once(copy, size, out, &again, position, err);
    }
    if (status == OC_OK) {
        status = take_select(out, position, err);
    }
    free(copy);
    if (status != OC_OK) {
        oci_parsed_deinit(out);
    }
    return status;
}

void oci_parsed_deinit(oci_parsed *parsed)
{
    if (parsed->result != NULL) {
        pg_query__parse_result__free_unpacked(parsed->result, NULL);
    }
    free(parsed->texts);
    *parsed = (oci_parsed){0};
}
