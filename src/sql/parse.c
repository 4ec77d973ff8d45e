/* See parse.h.
 *
 * PostgreSQL's parser and the unpacking of its result recurse with the text: a chain of operators as deep as it is
 * long. So both run on a thread whose stack is large enough for the longest text that is taken; of its pages only
 * those are ever touched that a text needs.
 *
 * FROM 'file' is no SQL; the parser says so at the text, and if FROM, JOIN or a comma stands in front of it, the quotes
 * are turned into those of a name and the text is parsed again. Nothing else is rewritten, so trim(both from 'x')
 * stays what it is. A subquery in FROM without an alias, which the parser refuses, gets one.
 * How often a text is parsed again is bounded by its length.
 * Positions are told as those of the text that was given. What is made comes from malloc: it grows with the text. */
#include "sql/parse.h"

#include <pg_query.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "sql/token.h"

#define STACK_BYTES ((size_t)512 << 20)
#define TEXTS_MAX   1000
#define ALIAS       " _s"
#define ALIAS_BYTES 3
/* Texts are parsed this often at most, in bytes, when something in them is rewritten. */
#define PARSED_BYTES_MAX ((int64_t)32 << 20)
/* Tokens of a chain of operators. Its tree is as deep as it is long; the binder refuses long before, but the parser
 * takes time by the square of the depth. */
#define CHAIN_MAX      20000
#define NAME_BYTES_MAX 63
#define DEPTH_MAX      16384 /* of parentheses; the parser refuses at 10000 */

bool oci_with_deep_stack(void (*body)(void *arg), void *arg)
{
    return oci_run_with_stack(STACK_BYTES, body, arg);
}

/* Whether a chain of operators goes on behind this token. */
static bool ends_chain(const char *sql, oci_token token)
{
    static const char *const words[] = {"and",  "or",    "when",   "then", "else",  "select",
                                        "from", "where", "having", "by",   "limit", "values"};
    if (token.kind == OCI_TOKEN_WORD) {
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            if (oci_token_is(sql, token, words[i])) {
                return true;
            }
        }
        return false;
    }
    return oci_token_is_symbol(sql, token, ',') || oci_token_is_symbol(sql, token, ';');
}

static oc_status check_chains(const char *sql, int64_t size, int64_t *position, oc_error *err)
{
    int32_t *counts = calloc(DEPTH_MAX, sizeof *counts); /* of tokens, in each open parenthesis */
    int32_t depth = 0;
    if (counts == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not parse a statement: out of memory");
    }
    oci_token token = oci_token_at(sql, size, 0);
    while (token.kind != OCI_TOKEN_END && token.kind != OCI_TOKEN_OPEN &&
           counts[depth] < CHAIN_MAX) {
        if (oci_token_is_symbol(sql, token, '(')) {
            depth = depth + 1 < DEPTH_MAX ? depth + 1 : depth;
            counts[depth] = 0;
        } else if (oci_token_is_symbol(sql, token, ')')) {
            depth = depth > 0 ? depth - 1 : 0;
        } else if (ends_chain(sql, token)) {
            counts[depth] = 0;
        } else {
            counts[depth]++;
        }
        if (counts[depth] < CHAIN_MAX) {
            token = oci_token_at(sql, size, token.end);
        }
    }
    bool too_long = counts[depth] == CHAIN_MAX;
    free(counts);
    if (too_long) {
        *position = token.start;
        OC_FAIL(err, OC_EINVAL,
                "an expression has too many operators in a row; nest parts of it in parentheses");
    }
    return OC_OK;
}

/* The parser would cut longer names, and what is left may be the name of something else. */
static oc_status check_names(const char *sql, int64_t size, int64_t *position, oc_error *err)
{
    for (oci_token token = oci_token_at(sql, size, 0);
         token.kind != OCI_TOKEN_END && token.kind != OCI_TOKEN_OPEN;
         token = oci_token_at(sql, size, token.end)) {
        int64_t quotes = token.kind == OCI_TOKEN_NAME ? 2 : 0;
        bool is_name = token.kind == OCI_TOKEN_NAME || token.kind == OCI_TOKEN_WORD;
        if (is_name && token.end - token.start - quotes > NAME_BYTES_MAX) {
            *position = token.start;
            OC_FAIL(err, OC_EUNSUPPORTED,
                    "a name of more than %d bytes is not supported; files may have longer ones in "
                    "'single quotes'",
                    NAME_BYTES_MAX);
        }
    }
    return OC_OK;
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

/* A text under work: it grows by aliases. */
typedef struct draft {
    char *sql; /* room for TEXTS_MAX aliases more */
    int64_t size;
    int64_t parsed_bytes; /* so far */
} draft;

/* The parser counts characters from 1, by their first byte; this is the byte, -1 = no place. */
static int64_t place_of(const char *sql, int64_t size, const PgQueryError *error)
{
    int64_t at = 0;
    for (int i = 1; i < error->cursorpos && at < size; i++) {
        unsigned char first = (unsigned char)sql[at];
        at += first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF8 ? 4 : 1;
    }
    return error->cursorpos <= 0 ? -1 : at < size ? at : size;
}

static oc_status parse_error(const draft *text, const PgQueryError *error, int64_t *position,
                             oc_error *err)
{
    *position = place_of(text->sql, text->size, error);
    OC_FAIL(err, OC_EINVAL, "%s", error->message);
}

/* Behind the parenthesis that closes the one at `at`; -1: none does. */
static int64_t find_closing(const char *sql, int64_t size, int64_t at)
{
    int64_t depth = 0;
    for (oci_token token = oci_token_at(sql, size, at);
         token.kind != OCI_TOKEN_END && token.kind != OCI_TOKEN_OPEN;
         token = oci_token_at(sql, size, token.end)) {
        depth += oci_token_is_symbol(sql, token, '(');
        depth -= oci_token_is_symbol(sql, token, ')');
        if (depth == 0) {
            return token.end;
        }
    }
    return -1;
}

static bool add_alias(draft *text, oci_parsed *out, const PgQueryError *error)
{
    int64_t end = error->cursorpos > 0 &&
                          strncmp(error->message, "subquery in FROM must have an alias", 35) == 0
                      ? find_closing(text->sql, text->size, place_of(text->sql, text->size, error))
                      : -1;
    if (end < 0 || out->n_aliases == TEXTS_MAX) {
        return false;
    }
    memmove(text->sql + end + ALIAS_BYTES, text->sql + end, (size_t)(text->size - end) + 1);
    memcpy(text->sql + end, ALIAS, ALIAS_BYTES);
    text->size += ALIAS_BYTES;
    for (int32_t i = 0; i < out->n_texts; i++) {
        out->texts[i] += out->texts[i] >= end ? ALIAS_BYTES : 0;
    }
    for (int32_t i = 0; i < out->n_aliases; i++) {
        out->aliases[i] += out->aliases[i] >= end ? ALIAS_BYTES : 0;
    }
    out->aliases[out->n_aliases++] = end;
    return true;
}

int64_t oci_parsed_place(const oci_parsed *parsed, int64_t position)
{
    int64_t before = 0;
    for (int32_t i = 0; i < parsed->n_aliases; i++) {
        before += parsed->aliases[i] < position ? ALIAS_BYTES : 0;
    }
    return position < 0 ? position : position - before;
}

/* FROM 'file' becomes FROM "file"; *named: it did. */
static oc_status name_text(draft *text, oci_parsed *out, const PgQueryError *error, bool *named,
                           oc_error *err)
{
    oci_token token;
    int64_t at = place_of(text->sql, text->size, error);
    *named = false;
    if (out->n_texts == TEXTS_MAX || !find_table_text(text->sql, text->size, at, &token)) {
        return OC_OK;
    }
    char *name = oci_token_text(text->sql, token, false);
    if (name == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not parse a statement: out of memory");
    }
    if (!make_name(text->sql, token)) {
        free(name);
        return OC_OK;
    }
    out->text_names[out->n_texts] = name;
    out->texts[out->n_texts++] = at;
    *named = true;
    return OC_OK;
}

/* No place for a text in SQL, but one for a file: there were too many. */
static bool is_one_file_too_many(const draft *text, const oci_parsed *out,
                                 const PgQueryError *error)
{
    oci_token token;
    return (out->n_texts == TEXTS_MAX || text->parsed_bytes > PARSED_BYTES_MAX) &&
           find_table_text(text->sql, text->size, place_of(text->sql, text->size, error), &token);
}

/* One attempt; *again: the text was changed and is to be parsed once more. */
static oc_status parse_once(draft *text, oci_parsed *out, bool *again, int64_t *position,
                            oc_error *err)
{
    oc_status status = OC_OK;
    PgQueryProtobufParseResult parsed = pg_query_parse_protobuf(text->sql);
    *again = false;
    if (parsed.error != NULL) {
        int64_t place = place_of(text->sql, text->size, parsed.error);
        text->parsed_bytes += place < 0 ? text->size : place;
        if (text->parsed_bytes <= PARSED_BYTES_MAX) {
            status = name_text(text, out, parsed.error, again, err);
            *again = *again || (status == OC_OK && add_alias(text, out, parsed.error));
        }
        if (!*again && status == OC_OK) {
            status = parse_error(text, parsed.error, position, err);
            if (is_one_file_too_many(text, out, parsed.error)) {
                status = OC_SET(err, OC_EUNSUPPORTED,
                                "too many files by name in one statement; use a pattern such as "
                                "'folder/*.csv', or CREATE EXTERNAL TABLE");
            }
            *position = oci_parsed_place(out, *position);
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

static oc_status take_select(oci_parsed *out, const draft *text, int64_t *position, oc_error *err)
{
    *position = -1;
    if (out->result->n_stmts != 1) {
        OC_FAIL(err, OC_EINVAL, "one statement is wanted here, not %zu", out->result->n_stmts);
    }
    const PgQuery__Node *node = out->result->stmts[0]->stmt;
    if (node->node_case != PG_QUERY__NODE__NODE_SELECT_STMT) {
        oci_token word = oci_token_at(text->sql, text->size, out->result->stmts[0]->stmt_location);
        *position = word.start;
        OC_FAIL(err, OC_EUNSUPPORTED, "%.*s is not supported", (int)(word.end - word.start),
                text->sql + word.start);
    }
    out->select = node->select_stmt;
    return OC_OK;
}

oc_status oci_parse_query(const char *sql, int64_t size, oci_parsed *out, int64_t *position,
                          oc_error *err)
{
    *out = (oci_parsed){0};
    *position = -1;
    draft text = {.sql = malloc((size_t)size + TEXTS_MAX * ALIAS_BYTES + 1), .size = size};
    out->texts = calloc(TEXTS_MAX, sizeof *out->texts);
    out->text_names = calloc(TEXTS_MAX, sizeof *out->text_names);
    out->aliases = calloc(TEXTS_MAX, sizeof *out->aliases);
    if (text.sql == NULL || out->texts == NULL || out->text_names == NULL || out->aliases == NULL) {
        free(text.sql);
        oci_parsed_deinit(out);
        OC_FAIL(err, OC_ENOMEM, "could not parse a statement: out of memory");
    }
    memcpy(text.sql, sql, (size_t)size);
    text.sql[size] = '\0';
    bool again = true;
    oc_status status = check_chains(text.sql, size, position, err);
    if (status == OC_OK) {
        status = check_names(text.sql, size, position, err);
    }
    while (again && status == OC_OK) {
        status = parse_once(&text, out, &again, position, err);
    }
    if (status == OC_OK) {
        status = take_select(out, &text, position, err);
    }
    free(text.sql);
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
    for (int32_t i = 0; parsed->text_names != NULL && i < parsed->n_texts; i++) {
        free(parsed->text_names[i]);
    }
    free(parsed->text_names);
    free(parsed->texts);
    free(parsed->aliases);
    *parsed = (oci_parsed){0};
}
