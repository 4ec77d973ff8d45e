/* What names in FROM stand for: registered streams, external tables, views, files.
 *
 * The catalog belongs to a session and is used by one thread at a time. How files are opened is the
 * library's top floor's business (src/api), so it comes in as a table of functions. */
#ifndef OUTCORE_SQL_CATALOG_H
#define OUTCORE_SQL_CATALOG_H

#include <stdatomic.h>

#include "arrow/stream.h"
#include "base/env.h"
#include "formats/predicate.h"

/* Options as written: OPTIONS ('delimiter' ';', 'header' 'false') and the like. */
typedef struct oci_option {
    char *name; /* lower case, without a prefix such as "format." */
    char *value;
} oci_option;

typedef struct oci_table oci_table; /* reference-counted */
struct oci_table {
    const struct oci_table_ops {
        /* A stream of columns[0..n) of the schema, in this order. `env` and everything else is that
         * of the session at the time. Rows that cannot match `wanted` (NULL: all can) may be left
         * out; it lives longer than the stream. */
        oc_status (*open)(oci_table *self, const int32_t *columns, int32_t n,
                          const oci_predicate *wanted, oci_stream **out, oc_error *err);
        void (*destroy)(oci_table *self);
    } * ops;
    char *name; /* for messages and EXPLAIN: "lineitem", "data/x.csv" */
    oci_schema *schema;
    /* Rows are known to come ordered ascending by the first n_ordered of these columns. */
    const int32_t *ordered;
    int32_t n_ordered;
    int64_t rows; /* -1 = not known */
    _Atomic int32_t references;
};

oci_table *oci_table_retain(oci_table *table);
void oci_table_release(oci_table *table); /* NULL is fine */

/* Files as tables. */
typedef struct oci_file_tables {
    /* A table over all files of `pattern` (a path, a glob with *, ?, **, a directory), of `format` ("csv",
     * "tsv", "arrow", "arrows", "parquet", NULL = by name and content) and options. OC_EINVAL /
     * OC_EIO: nothing matches, unknown format or option (by name). */
    oc_status (*open)(void *self, const char *pattern, const char *format,
                      const oci_option *options, int32_t n_options, oci_table **out, oc_error *err);
    /* Writes a stream (taken, also on failure) to a file as COPY TO does. `format` and options as
     * above. */
    oc_status (*write)(void *self, oci_stream *rows, const char *path, const char *format,
                       const oci_option *options, int32_t n_options, int64_t *n_rows,
                       oc_error *err);
    void *self;
} oci_file_tables;

typedef struct oci_catalog oci_catalog;

OC_NODISCARD oc_status oci_catalog_create(const oci_file_tables *files, oci_catalog **out,
                                          oc_error *err);
void oci_catalog_destroy(oci_catalog *catalog); /* NULL is fine */

/* What a name stands for: a registered table or a view's SQL text; when neither, and `name` looks like
 * a file (has a '.', '/' or a glob) or is_quoted_text (FROM 'x'), the file. Names match exactly, else
 * without regard to case. Exactly one of *table (retained) and *view (borrowed) is set. OC_EINVAL: not
 * found, with near names. */
OC_NODISCARD oc_status oci_catalog_find(oci_catalog *catalog, const char *name, bool is_quoted_text,
                                        oci_table **table, const char **view, oc_error *err);
OC_NODISCARD oc_status oci_catalog_add_table(oci_catalog *catalog, const char *name,
                                             oci_table *table, bool replace, oc_error *err);
OC_NODISCARD oc_status oci_catalog_add_view(oci_catalog *catalog, const char *name, const char *sql,
                                            bool replace, oc_error *err);
/* false: there is none. */
bool oci_catalog_drop(oci_catalog *catalog, const char *name);
/* Name i of all tables and views, in order of name; NULL behind the last. */
const char *oci_catalog_name(const oci_catalog *catalog, int32_t i);
bool oci_catalog_is_view(const oci_catalog *catalog, int32_t i);
const oci_file_tables *oci_catalog_files(const oci_catalog *catalog);

#endif /* OUTCORE_SQL_CATALOG_H */
