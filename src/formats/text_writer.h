/* Batches out as text: CSV, TSV, JSON, NDJSON, and tables for people.
 *
 * One interface: open, add batches, finish. Values are formatted the same way in all of them
 * (format_value.h): integers, decimals with their scale, floats in the shortest form that reads
 * back to the same bits, dates and times in ISO 8601, binary as hex (CSV: \x...; JSON: a hex
 * string), nulls as null_text (JSON: null). CSV quotes a field when it holds the delimiter, a
 * quote, CR or LF, begins or ends with a blank, or would read as null_text; an empty string that is
 * not null is written as "" so that it reads back. CSV with a delimiter or null_text that could be
 * part of a value is refused (OC_EINVAL). JSON escapes per RFC 8259; NaN and infinities become null
 * (JSON has no such numbers); invalid UTF-8 bytes become U+FFFD in JSON and tables and stay as they
 * are in CSV.
 *
 * Nested values: JSON arrays and objects as json_value.h says, in CSV and tables as one field that
 * holds the JSON; in CSV always in quotes. Dictionaries, runs and unions are their values.
 *
 * Output is collected in a buffer of 64-256 KiB and written with few calls. Sticky error. */
#ifndef OUTCORE_FORMATS_TEXT_WRITER_H
#define OUTCORE_FORMATS_TEXT_WRITER_H

#include "arrow/batch.h"
#include "base/env.h"

typedef enum oci_text_format {
    OCI_TEXT_CSV,
    OCI_TEXT_JSON,
    OCI_TEXT_NDJSON,
    OCI_TEXT_TABLE
} oci_text_format;

typedef struct oci_text_options {
    char delimiter;        /* CSV; 0 = ',' */
    bool header;           /* CSV */
    const char *null_text; /* CSV: NULL = ""; TABLE: NULL = "NULL" */
    int32_t width;         /* TABLE: line width in columns, 0 = 80 */
    int64_t max_rows; /* TABLE: 0 = 40, -1 = all; with more rows than that the first ones are shown
                         and the rest counted in the last line */
} oci_text_options;

typedef struct oci_text_writer oci_text_writer;

/* Borrows file; retains schema. Batches may be in the working form of schema. A table is laid out
 * from the first batches (max_rows rows are kept, bounded by a quarter of the free budget). */
OC_NODISCARD oc_status oci_text_writer_open(const oci_env *env, oci_file *file, oci_schema *schema,
                                            oci_text_format format, const oci_text_options *options,
                                            oci_mem *mem, oci_text_writer **out, oc_error *err);
OC_NODISCARD oc_status oci_text_writer_add(oci_text_writer *writer, const oci_batch *batch,
                                           oc_error *err);
OC_NODISCARD oc_status oci_text_writer_finish(oci_text_writer *writer, oc_error *err);
void oci_text_writer_destroy(oci_text_writer *writer); /* NULL is fine */

#endif /* OUTCORE_FORMATS_TEXT_WRITER_H */
