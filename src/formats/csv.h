/* CSV, TSV and TPC-H .tbl files in.
 *
 * Streams: a buffer of about block_bytes moves over the file; complete records become a batch of typed columns of about block_bytes (and at most
 * env->batch_rows rows). A field or record may be as long as the budget allows (the buffer grows through oci_mem_alloc);
 * longer is OC_EBUDGET naming line, size and a limit that works.
 *
 * RFC 4180: quotes, doubled quotes, newlines in quotes, CRLF and LF, a BOM at the start. A last line without newline is fine. Every record must have the
 * same number of fields (a trailing delimiter on every line, as in .tbl, is no field). Blank lines are skipped when there is more than one column.
 *
 * Types are declared, or inferred over a sample (the first ~1 MiB or block, at most 20,000 records): bool, int64, float64, date32, timestamp[us],
 * else utf8. A later value that does not fit an inferred type is OC_EDATA with line, column, value and the advice to declare the column
 * (never a silent change of type). Nulls: an unquoted field equal to null_text (default: empty). */
#ifndef OUTCORE_FORMATS_CSV_H
#define OUTCORE_FORMATS_CSV_H

#include "arrow/stream.h"
#include "base/env.h"

typedef struct oci_csv_options {
    char delimiter; /* 0 = guess among , tab ; | over the sample */
    char quote;     /* 0 = '"'; -1 (as char) = no quoting (.tbl) */
    int header;     /* -1 guess, 0 no, 1 yes */
    const oci_schema *
        declared; /* names and types of all columns, or NULL. With header yes the names must be found in the header (any order). */
    const char *null_text; /* NULL = "" */
    bool
        trailing_delimiter; /* .tbl: every line ends with a delimiter that is no field; otherwise detected when guessing */
    const char *const *select; /* names of columns to keep, NULL = all */
    int32_t n_select;
    int64_t
        block_bytes; /* text in memory at once for ordinary records; 0 = oci_env_block_bytes(env) */
    _Atomic int64_t *bytes_read; /* progress, or NULL */
} oci_csv_options;

/* Takes over `file`. stream->schema is known after this call (the sample was read). Batches are charged to `mem`. */
OC_NODISCARD oc_status oci_csv_reader_open(const oci_env *env, oci_file *file,
                                           const oci_csv_options *options, oci_mem *mem,
                                           oci_stream **out, oc_error *err);

/* "a int64, b decimal(15,2), \"c d\" timestamp[us, UTC], e utf8": a schema (all columns nullable unless "not null"). Names of types
 * as oci_field_type_text writes them plus the usual SQL ones (int, integer, bigint, smallint, tinyint, double, float, real,
 * varchar, text, string, date, boolean, numeric). OC_EINVAL with the position. */
OC_NODISCARD oc_status oci_parse_columns(const char *text, oci_schema **out, oc_error *err);

#endif /* OUTCORE_FORMATS_CSV_H */
