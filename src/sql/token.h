/* Tokens of SQL text, as far as statements are told apart by hand: words, texts, numbers, symbols. Works on any bytes. */
#ifndef OUTCORE_SQL_TOKEN_H
#define OUTCORE_SQL_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

typedef enum oci_token_kind {
    OCI_TOKEN_END,
    OCI_TOKEN_WORD,   /* name or keyword without quotes */
    OCI_TOKEN_NAME,   /* "name" */
    OCI_TOKEN_TEXT,   /* 'text', E'text', $$text$$ */
    OCI_TOKEN_NUMBER, /* with a sign only when the parser wants one */
    OCI_TOKEN_SYMBOL, /* one byte */
    OCI_TOKEN_OPEN    /* a quote or comment that does not end */
} oci_token_kind;

typedef struct oci_token {
    oci_token_kind kind;
    int64_t start;
    int64_t end;
} oci_token;

/* The token at or behind `at`. */
oci_token oci_token_at(const char *sql, int64_t size, int64_t at);
/* Whether it is this word, in any case. */
bool oci_token_is(const char *sql, oci_token token, const char *word);
static inline bool oci_token_is_symbol(const char *sql, oci_token token, char symbol)
{
    return token.kind == OCI_TOKEN_SYMBOL && sql[token.start] == symbol;
}
/* What a word, name, text or number stands for, malloc'ed: words in lower case when `fold`, quotes gone. NULL: out of
 * memory. */
char *oci_token_text(const char *sql, oci_token token, bool fold);

#endif /* OUTCORE_SQL_TOKEN_H */
