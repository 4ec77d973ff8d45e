/* Writes Parquet files from batches.
 *
 * Columns are encoded as batches come, page by page: a dictionary as long as it pays, else what gives the fewest bytes
 * of PLAIN, DELTA_* and BYTE_STREAM_SPLIT, tried on the first page of every row group. Data pages V2, statistics of
 * pages and chunks, page indexes, and the Arrow schema under ARROW:schema, so that types come back as they were.
 *
 * Memory: an account of its own. What it needs while it works follows from the limit: pages of about limit / 64 /
 * columns, dictionaries of the same size, and the finished pages of one row group, up to limit / 8; that much is set
 * aside when the writer is opened. So row groups are smaller under small limits. Row groups end by bytes or by rows.
 *
 * Unions, intervals, structs without fields and whatever else the format has no type for are refused by name when the
 * writer is opened. Sticky error: after a failure every call returns it. */
#ifndef OUTCORE_FORMATS_PARQUET_PARQUET_WRITER_H
#define OUTCORE_FORMATS_PARQUET_PARQUET_WRITER_H

#include "arrow/batch.h"
#include "base/env.h"
#include "formats/parquet/metadata.h"

typedef struct oci_parquet_write_options {
    oci_parquet_codec codec;
    int level;              /* 0 = the codec's default */
    int64_t row_group_rows; /* most rows of a row group; 0 = 1,048,576 */
    int64_t
        row_group_bytes; /* encoded bytes that end a row group; 0 = 128 MiB. Never more than limit / 8 */
} oci_parquet_write_options;

typedef struct oci_parquet_writer oci_parquet_writer;

/* Borrows env and file (written sequentially from where it stands, which has to be its beginning); retains schema.
 * Batches may be of this schema or in its working form. */
OC_NODISCARD oc_status oci_parquet_writer_open(const oci_env *env, oci_file *file,
                                               oci_schema *schema,
                                               const oci_parquet_write_options *options,
                                               oci_parquet_writer **out, oc_error *err);
OC_NODISCARD oc_status oci_parquet_writer_add(oci_parquet_writer *writer, const oci_batch *batch,
                                              oc_error *err);
/* Row group and footer. */
OC_NODISCARD oc_status oci_parquet_writer_finish(oci_parquet_writer *writer, oc_error *err);
void oci_parquet_writer_destroy(oci_parquet_writer *writer); /* NULL is fine */

#endif /* OUTCORE_FORMATS_PARQUET_PARQUET_WRITER_H */
