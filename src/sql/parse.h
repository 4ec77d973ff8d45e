/* From the text of a query to the tree of libpg_query. Inside src/sql. */
#ifndef OUTCORE_SQL_PARSE_H
#define OUTCORE_SQL_PARSE_H

#include <pg_query/pg_query.pb-c.h>

#include "base/error.h"

typedef struct oci_parsed {
    PgQuery__ParseResult *result;
    PgQuery__SelectStmt *select; /* the only statement */
    /* Bytes at which a table was given as FROM 'text', and the texts: the parser cuts its names at 63 bytes. */
    int64_t *texts;
    char **text_names;
    int32_t n_texts;
    /* Where an alias was put in that the parser wants and nobody else does; places in the text with them. */
    int64_t *aliases;
    int32_t n_aliases;
} oci_parsed;

/* Needs a lot of stack for deep texts: see oci_with_deep_stack. `sql` ends with a NUL. *position: what an error is
 * about. */
OC_NODISCARD oc_status oci_parse_query(const char *sql, int64_t size, oci_parsed *out,
                                       int64_t *position, oc_error *err);
/* A place in the text as it was given, from one of the tree. */
int64_t oci_parsed_place(const oci_parsed *parsed, int64_t position);
void oci_parsed_deinit(oci_parsed *parsed);

/* Calls body(arg) on a thread with a stack that any text of up to OCI_SQL_BYTES_MAX bytes can do with. false: there was
 * none to be had. */
bool oci_with_deep_stack(void (*body)(void *arg), void *arg);
#define OCI_SQL_BYTES_MAX ((int64_t)1 << 20)

#endif /* OUTCORE_SQL_PARSE_H */
