/* CSV, TSV and TPC-H .tbl files in.
 *
 * Streams: a window of about block_bytes moves over the file; the complete records in it become
 * batches of typed columns of about block_bytes (and at most env->batch_rows rows). Reading
 * ordinary rows takes about three blocks: text, positions of fields, the batch. A record may be as
 * long as the budget allows (the window grows by oci_mem_alloc), up to 2 GiB.
 *
 * Text. RFC 4180: quotes, doubled quotes, line ends in quotes, CR LF and LF, a UTF-8 byte order
 * mark at the start. A last line without line end is fine. A quote opens a quoted field only as its
 * first byte, elsewhere it is an ordinary character; after the closing quote the field must end.
 * Blanks around fields belong to them. CR elsewhere than before LF is data, but a file with CR and
 * no LF is refused. NUL bytes and invalid UTF-8 pass through as they are. Every record must have
 * the same number of fields (a trailing delimiter on every line, as in .tbl, is no field). Blank
 * lines are skipped when there is more than one column; in a file of one column they are rows of
 * null.
 *
 * Nulls: an unquoted field equal to null_text. An empty field in quotes is an empty text, and in
 * columns of other types null when null_text is the empty one, since tools that quote everything
 * write "" for a missing number.
 *
 * Header, when to be guessed: the first record is one when its fields are distinct texts that are
 * not numbers, dates, times or true / false; with declared columns, when it has their names. Only
 * the first name may be empty then. Columns without a name are called column1, column2, ... Names
 * may occur twice; looking for such a column is an error.
 *
 * Types are declared, or guessed over a sample (the first window, at most 20,000 records): bool,
 * int64, float64, date32, timestamp[us], timestamp[us, UTC] when all have an offset, else utf8. A
 * guess never changes how a value reads: "007", "+1" and integers beyond int64 make a column text.
 * A later value that does not fit a guessed type is OC_EDATA with line, column, value and the
 * advice to declare the column, never a silent change of type.
 *
 * Declared types: all but nested types, dictionaries and intervals. Decimals with more digits
 * behind the point than the scale are refused unless those are zeros. Timestamps with a time zone
 * take an offset (Z, +02:00); without one they are local to a zone that is UTC or a fixed offset,
 * and refused for other names. Binary is \x and hex digits, else the bytes themselves. Durations
 * are integers in their unit. Views are built where they are declared. */
#ifndef OUTCORE_FORMATS_CSV_H
#define OUTCORE_FORMATS_CSV_H

#include "arrow/stream.h"
#include "base/env.h"

typedef struct oci_csv_options {
    char delimiter; /* 0 = guess among , tab ; | over the sample */
    char quote;     /* 0 = '"'; -1 (as char) = no quoting (.tbl) */
    int header;     /* -1 guess, 0 no, 1 yes */
    /* Names and types, or NULL. Without header: of all columns, in order. With header: found there
     * by name, in any order; when all columns are declared the batches have the declared order,
     * else that of the file, and the types of the others are guessed. */
    const oci_schema *declared;
    const char *null_text; /* NULL = "" */
    /* .tbl: every line ends with a delimiter that is no field. Detected when the delimiter is
     * guessed as |, and when exactly the declared columns are in front of it. */
    bool trailing_delimiter;
    const char *const *select; /* names of columns to keep, in the order wanted; NULL = all */
    int32_t n_select;
    int64_t block_bytes; /* text in memory for ordinary records; 0 = oci_env_block_bytes(env) */
    _Atomic int64_t *bytes_read; /* progress, or NULL */
} oci_csv_options;

/* Takes over `file`, also on failure. stream->schema is known after this call (the sample was
 * read). Batches are charged to `mem`, have one slab of the shape of an IPC body, and hold no view
 * of the file. Errors, here or from next(): OC_EDATA: bad text or value, with file, line, column
 * and value; an empty file of which no columns are declared. OC_EINVAL: options that contradict
 * each other or the header. OC_EUNSUPPORTED: a declared type, UTF-16, compressed files, a record
 * over 2 GiB. OC_EBUDGET: a record or row that does not fit, with needed_bytes. */
OC_NODISCARD oc_status oci_csv_reader_open(const oci_env *env, oci_file *file,
                                           const oci_csv_options *options, oci_mem *mem,
                                           oci_stream **out, oc_error *err);

/* "a int64, b decimal(15,2), \"c d\" timestamp[us, UTC] not null, e utf8": a schema (all columns
 * nullable unless "not null"). Names of types as oci_field_type_text writes them plus the usual SQL
 * ones (int, integer, bigint, smallint, tinyint, double, float, real, varchar, text, string, date,
 * boolean, numeric, timestamp(3) with time zone, ...). int8 has 8 bits, float 32. OC_EINVAL with
 * the position. */
OC_NODISCARD oc_status oci_parse_columns(const char *text, oci_schema **out, oc_error *err);

#endif /* OUTCORE_FORMATS_CSV_H */
