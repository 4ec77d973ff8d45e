/* Small texts that people write: sizes, sort keys, lists of names, formats. Results come from
 * malloc, bounded by the text. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/text.h"
#include "outcore/outcore.h"

oc_status oc_parse_size(const char *text, int64_t *bytes, oc_error *error)
{
    return oci_parse_size(text, bytes, error);
}

/* ---- a cursor over comma-separated words ----------------------------------------------------- */

typedef struct scanner {
    const char *text; /* the whole, for messages */
    const char *at;
    oc_error *err;
} scanner;

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_spaces(scanner *s)
{
    while (is_space(*s->at)) {
        s->at++;
    }
}

static oc_status fail_at(const scanner *s, const char *what)
{
    OC_FAIL(s->err, OC_EINVAL, "could not read \"%s\" at position %d: %s", s->text,
            (int)(s->at - s->text) + 1, what);
}

/* A name: plain up to a space or comma, or in double quotes with doubled quotes inside. malloc'ed.
 */
static oc_status scan_name(scanner *s, char **out, bool *is_quoted)
{
    skip_spaces(s);
    char *name = malloc(strlen(s->at) + 1);
    if (name == NULL) {
        OC_FAIL(s->err, OC_ENOMEM, "could not read \"%s\": out of memory", s->text);
    }
    size_t n = 0;
    *is_quoted = *s->at == '"';
    bool is_closed = !*is_quoted;
    if (*is_quoted) {
        for (s->at++; *s->at != '\0'; s->at++) {
            if (*s->at == '"' && s->at[1] != '"') {
                s->at++;
                is_closed = true;
                break;
            }
            s->at += *s->at == '"';
            name[n++] = *s->at;
        }
    } else {
        while (*s->at != '\0' && *s->at != ',' && !is_space(*s->at)) {
            name[n++] = *s->at++;
        }
    }
    name[n] = '\0';
    if (!is_closed || (n == 0 && !*is_quoted)) {
        free(name);
        return fail_at(s, is_closed ? "a column name is missing" : "a quote is not closed");
    }
    *out = name;
    return OC_OK;
}

/* Takes a keyword when it is the next word. */
static bool accept(scanner *s, const char *word)
{
    skip_spaces(s);
    size_t n = strlen(word);
    if (strncasecmp(s->at, word, n) != 0 ||
        (s->at[n] != '\0' && s->at[n] != ',' && !is_space(s->at[n]))) {
        return false;
    }
    s->at += n;
    return true;
}

/* True at a comma (taken), false at the end. */
static oc_status scan_separator(scanner *s, bool *more)
{
    skip_spaces(s);
    *more = *s->at == ',';
    if (*s->at != ',' && *s->at != '\0') {
        return fail_at(s, "expected a comma");
    }
    s->at += *more;
    return OC_OK;
}

/* Elements of a list that a text can give at most: each but the last takes a comma. */
static size_t count_elements(const char *text)
{
    size_t n = 1;
    for (; *text != '\0'; text++) {
        n += *text == ',';
    }
    return n;
}

/* ---- sort keys ------------------------------------------------------------------------------- */

/* "3" is the third column, as in SQL. */
static bool is_position(const char *name)
{
    size_t n = strspn(name, "0123456789");
    return n > 0 && n < 9 && name[n] == '\0';
}

static oc_status scan_direction(scanner *s, oc_sort_key *key)
{
    if (accept(s, "desc") || accept(s, "descending")) {
        key->descending = true;
    } else if (accept(s, "asc") || accept(s, "ascending")) {
        key->descending = false;
    }
    if (!accept(s, "nulls")) {
        return OC_OK;
    }
    if (accept(s, "first")) {
        key->nulls = OC_NULLS_FIRST;
    } else if (accept(s, "last")) {
        key->nulls = OC_NULLS_LAST;
    } else {
        return fail_at(s, "expected \"first\" or \"last\" after \"nulls\"");
    }
    return OC_OK;
}

static oc_status scan_sort_key(scanner *s, oc_sort_key *key)
{
    char *name;
    bool is_quoted;
    skip_spaces(s);
    const char *start = s->at;
    OC_TRY(scan_name(s, &name, &is_quoted));
    if (!is_quoted && is_position(name)) {
        key->column_index = (int32_t)strtol(name, NULL, 10) - 1;
        free(name);
        if (key->column_index < 0) {
            s->at = start;
            return fail_at(s, "column positions begin with 1");
        }
    } else {
        key->column = name;
    }
    return scan_direction(s, key);
}

oc_status oc_parse_sort_keys(const char *text, oc_sort_key **keys, size_t *n_keys, oc_error *error)
{
    scanner s = {.text = text, .at = text, .err = error};
    oc_sort_key *list = calloc(count_elements(text), sizeof *list);
    if (list == NULL) {
        OC_FAIL(error, OC_ENOMEM, "could not read sort keys: out of memory");
    }
    size_t n = 0;
    oc_status status = OC_OK;
    bool more = true;
    while (status == OC_OK && more) {
        status = scan_sort_key(&s, &list[n]);
        n++;
        if (status == OC_OK) {
            status = scan_separator(&s, &more);
        }
    }
    if (status != OC_OK) {
        oc_free_sort_keys(list, n);
        return status;
    }
    *keys = list;
    *n_keys = n;
    return OC_OK;
}

void oc_free_sort_keys(oc_sort_key *keys, size_t n_keys)
{
    for (size_t i = 0; keys != NULL && i < n_keys; i++) {
        free((char *)keys[i].column);
    }
    free(keys);
}

/* ---- names ----------------------------------------------------------------------------------- */

oc_status oc_parse_names(const char *text, char ***names, size_t *n_names, oc_error *error)
{
    scanner s = {.text = text, .at = text, .err = error};
    char **list = calloc(count_elements(text), sizeof *list);
    if (list == NULL) {
        OC_FAIL(error, OC_ENOMEM, "could not read names: out of memory");
    }
    size_t n = 0;
    oc_status status = OC_OK;
    bool more = true;
    while (status == OC_OK && more) {
        bool is_quoted;
        status = scan_name(&s, &list[n], &is_quoted);
        if (status == OC_OK) {
            n++;
            status = scan_separator(&s, &more);
        }
    }
    if (status != OC_OK) {
        oc_free_names(list, n);
        return status;
    }
    *names = list;
    *n_names = n;
    return OC_OK;
}

void oc_free_names(char **names, size_t n_names)
{
    for (size_t i = 0; names != NULL && i < n_names; i++) {
        free(names[i]);
    }
    free(names);
}

/* ---- formats --------------------------------------------------------------------------------- */

bool oc_format_parse(const char *text, oc_format *out)
{
    static const struct {
        const char *name;
        oc_format format;
    } formats[] = {
        {"auto", OC_FORMAT_AUTO},     {"csv", OC_FORMAT_CSV},        {"tsv", OC_FORMAT_TSV},
        {"tbl", OC_FORMAT_TBL},       {"json", OC_FORMAT_JSON},      {"ndjson", OC_FORMAT_NDJSON},
        {"jsonl", OC_FORMAT_NDJSON},  {"nd-json", OC_FORMAT_NDJSON}, {"arrow", OC_FORMAT_ARROW},
        {"feather", OC_FORMAT_ARROW}, {"ipc", OC_FORMAT_ARROW},      {"arrows", OC_FORMAT_ARROWS},
        {"table", OC_FORMAT_TABLE},   {"null", OC_FORMAT_NULL},      {"parquet", OC_FORMAT_PARQUET},
    };
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (strcasecmp(text, formats[i].name) == 0) {
            *out = formats[i].format;
            return true;
        }
    }
    return false;
}
