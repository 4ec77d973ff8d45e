/* See token.h; and oci_sql_split, which needs nothing else. What is made comes from malloc: it grows with the text. */
#include "sql/token.h"

#include <stdlib.h>
#include <string.h>

#include "sql/statement.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v' || c == '\0';
}

static bool starts_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           ((unsigned char)c & 0x80) != 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool goes_on(char c)
{
    return starts_word(c) || is_digit(c) || c == '$';
}

static char char_at(const char *sql, int64_t size, int64_t at)
{
    return at < size ? sql[at] : '\0';
}

/* Behind blanks and comments; *open: a comment does not end. */
static int64_t skip_blanks(const char *sql, int64_t size, int64_t at, bool *open)
{
    *open = false;
    while (at < size) {
        if (is_blank(sql[at])) {
            at++;
        } else if (sql[at] == '-' && char_at(sql, size, at + 1) == '-') {
            while (at < size && sql[at] != '\n') {
                at++;
            }
        } else if (sql[at] == '/' && char_at(sql, size, at + 1) == '*') {
            int64_t depth = 1;
            for (at += 2; at < size && depth > 0; at++) {
                if (sql[at] == '/' && char_at(sql, size, at + 1) == '*') {
                    depth++;
                    at++;
                } else if (sql[at] == '*' && char_at(sql, size, at + 1) == '/') {
                    depth--;
                    at++;
                }
            }
            *open = depth > 0;
        } else {
            break;
        }
    }
    return at < size ? at : size;
}

/* From an opening quote to behind the closing one; -1: there is none. */
static int64_t end_of_quote(const char *sql, int64_t size, int64_t at, bool has_escapes)
{
    char quote = sql[at];
    for (at++; at < size; at++) {
        if (sql[at] == '\\' && has_escapes) {
            at++;
        } else if (sql[at] == quote && char_at(sql, size, at + 1) == quote) {
            at++;
        } else if (sql[at] == quote) {
            return at + 1;
        }
    }
    return -1;
}

/* $tag$ ... $tag$; -1: it does not end, 0: none begins here. */
static int64_t end_of_dollars(const char *sql, int64_t size, int64_t at)
{
    int64_t tag = at + 1;
    while (tag < size && (starts_word(sql[tag]) || (tag > at + 1 && is_digit(sql[tag])))) {
        tag++;
    }
    if (char_at(sql, size, tag) != '$') {
        return 0;
    }
    int64_t length = tag + 1 - at;
    for (int64_t end = tag + 1; end + length <= size; end++) {
        if (memcmp(sql + end, sql + at, (size_t)length) == 0) {
            return end + length;
        }
    }
    return -1;
}

static oci_token ended(oci_token_kind kind, int64_t start, int64_t end, int64_t size)
{
    return end < 0 ? (oci_token){OCI_TOKEN_OPEN, start, size} : (oci_token){kind, start, end};
}

oci_token oci_token_at(const char *sql, int64_t size, int64_t at)
{
    bool open;
    int64_t start = skip_blanks(sql, size, at, &open);
    if (start >= size) {
        return (oci_token){open ? OCI_TOKEN_OPEN : OCI_TOKEN_END, size, size};
    }
    char c = sql[start];
    if (c == '\'') {
        return ended(OCI_TOKEN_TEXT, start, end_of_quote(sql, size, start, false), size);
    }
    if ((c == 'e' || c == 'E') && char_at(sql, size, start + 1) == '\'') {
        return ended(OCI_TOKEN_TEXT, start, end_of_quote(sql, size, start + 1, true), size);
    }
    if (c == '"') {
        return ended(OCI_TOKEN_NAME, start, end_of_quote(sql, size, start, false), size);
    }
    if (c == '$') {
        int64_t end = end_of_dollars(sql, size, start);
        if (end != 0) {
            return ended(OCI_TOKEN_TEXT, start, end, size);
        }
    }
    int64_t end = start + 1;
    if (starts_word(c)) {
        while (end < size && goes_on(sql[end])) {
            end++;
        }
        return (oci_token){OCI_TOKEN_WORD, start, end};
    }
    if (is_digit(c)) {
        while (end < size && (is_digit(sql[end]) || sql[end] == '.' || starts_word(sql[end]))) {
            end++;
        }
        return (oci_token){OCI_TOKEN_NUMBER, start, end};
    }
    return (oci_token){OCI_TOKEN_SYMBOL, start, end};
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

bool oci_token_is(const char *sql, oci_token token, const char *word)
{
    int64_t n = (int64_t)strlen(word);
    if (token.kind != OCI_TOKEN_WORD || token.end - token.start != n) {
        return false;
    }
    for (int64_t i = 0; i < n; i++) {
        if (lower(sql[token.start + i]) != lower(word[i])) {
            return false;
        }
    }
    return true;
}

static char unescaped(char c)
{
    switch (c) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    default: return c;
    }
}

char *oci_token_text(const char *sql, oci_token token, bool fold)
{
    char *text = malloc((size_t)(token.end - token.start) + 1);
    if (text == NULL) {
        return NULL;
    }
    char *to = text;
    int64_t at = token.start;
    int64_t end = token.end;
    if (sql[at] == '$' && token.kind == OCI_TOKEN_TEXT) {
        int64_t tag = 1;
        while (sql[at + tag] != '$') {
            tag++;
        }
        memcpy(to, sql + at + tag + 1, (size_t)(end - at - 2 * (tag + 1)));
        text[end - at - 2 * (tag + 1)] = '\0';
        return text;
    }
    bool is_quoted = token.kind == OCI_TOKEN_TEXT || token.kind == OCI_TOKEN_NAME;
    bool escapes = is_quoted && sql[at] != '\'' && sql[at] != '"';
    char quote = is_quoted ? sql[at + escapes] : '\0';
    at += is_quoted ? 1 + escapes : 0;
    end -= is_quoted;
    for (; at < end; at++) {
        if (escapes && sql[at] == '\\' && at + 1 < end) {
            *to++ = unescaped(sql[++at]);
        } else {
            at += is_quoted && sql[at] == quote;
            *to++ = fold && !is_quoted ? lower(sql[at]) : sql[at];
        }
    }
    *to = '\0';
    return text;
}

int64_t oci_sql_split(const char *sql, int64_t size, bool *complete)
{
    int64_t at = 0;
    for (;;) {
        oci_token token = oci_token_at(sql, size, at);
        *complete = oci_token_is_symbol(sql, token, ';');
        if (*complete) {
            return token.end;
        }
        if (token.kind == OCI_TOKEN_END || token.kind == OCI_TOKEN_OPEN) {
            return size;
        }
        at = token.end;
    }
}
