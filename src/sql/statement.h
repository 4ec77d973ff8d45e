/* Statements: from text to what is to be done.
 *
 *   oci_sql_split    where the first statement of a text ends
 *   oci_statement_parse   text of one statement -> oci_statement; queries inside are bound to plans
 *
 * The grammar is PostgreSQL's, by libpg_query, and what analytic shells add: FROM 'file', CREATE
 * EXTERNAL TABLE, DESCRIBE, COPY ... STORED AS, EXPLAIN FORMAT JSON. Every error names the place: message
 * "..., at line 1, column 15", and sql_position in oci_sql_error. */
#ifndef OUTCORE_SQL_STATEMENT_H
#define OUTCORE_SQL_STATEMENT_H

#include "sql/plan.h"

typedef enum oci_statement_kind {
    OCI_STATEMENT_EMPTY, /* nothing but blanks and comments */
    OCI_STATEMENT_QUERY,
    OCI_STATEMENT_EXPLAIN,      /* plan; analyze, json */
    OCI_STATEMENT_COPY_TO,      /* plan -> path */
    OCI_STATEMENT_CREATE_TABLE, /* EXTERNAL: name, path, format, options, columns */
    OCI_STATEMENT_CREATE_VIEW,  /* name, view_sql */
    OCI_STATEMENT_DROP,         /* name, if_exists */
    OCI_STATEMENT_DESCRIBE,     /* plan's schema */
    OCI_STATEMENT_SHOW_TABLES,
    OCI_STATEMENT_SET,   /* name, value (text; NULL = DEFAULT) */
    OCI_STATEMENT_SHOW,  /* name; "all" */
    OCI_STATEMENT_RESET, /* name; "all" */
} oci_statement_kind;

typedef struct oci_statement {
    oci_statement_kind kind;
    oci_plan *plan;
    bool analyze;
    bool json;
    char *name;
    char *value;
    char *path;
    char *format;  /* or NULL */
    char *columns; /* "a int64, b utf8" for the CSV reader, or NULL */
    char *view_sql;
    oci_option *options;
    int32_t n_options;
    bool or_replace;
    bool if_exists; /* IF [NOT] EXISTS */
} oci_statement;

/* Bytes of the first statement of sql[0..size), its ';' included; *complete says whether there was
 * one (a ';' outside quotes, comments and dollar quotes). Never fails; works on any bytes. */
int64_t oci_sql_split(const char *sql, int64_t size, bool *complete);

/* Parses and binds one statement (an ending ';' is fine). *position gets the byte of sql that an error
 * is about, -1 = none. OC_EINVAL: syntax, unknown names, types; OC_EUNSUPPORTED: what is not there yet,
 * by name. Any bytes are safe, of any size. */
OC_NODISCARD oc_status oci_statement_parse(const char *sql, int64_t size, oci_catalog *catalog,
                                           int64_t now_us, oci_statement *out, int64_t *position,
                                           oc_error *err);
void oci_statement_deinit(oci_statement *statement);

#endif /* OUTCORE_SQL_STATEMENT_H */
