/* The writer as its files see it. */
#ifndef OUTCORE_FORMATS_PARQUET_PARQUET_WRITER_INTERNAL_H
#define OUTCORE_FORMATS_PARQUET_PARQUET_WRITER_INTERNAL_H

#include "formats/parquet/parquet_writer.h"
#include "formats/parquet/write_column.h"

struct oci_parquet_writer {
    const oci_env *env;
    oci_mem *mem;
    oci_file *file;
    oci_schema *working;
    oci_parquet_metadata metadata;
    oci_parquet_write_options options;
    int64_t page_bytes;
    int64_t position; /* bytes written */
    int32_t n_columns;
    oci_parquet_column_writer *columns; /* in the arena of metadata */
    oci_parquet_press press;
    int64_t group_rows; /* of the row group that is being filled */
    oci_text row_groups;
    oci_text tail; /* indexes of a row group, then the footer */
    oc_error failure;
};

/* Writes bytes behind those that were written. */
OC_NODISCARD oc_status oci_parquet_put(oci_parquet_writer *writer, const void *data, int64_t size,
                                       oc_error *err);
/* Writes the row group that is being filled, if it has rows, and begins the next. */
OC_NODISCARD oc_status oci_parquet_end_row_group(oci_parquet_writer *writer, oc_error *err);

#endif /* OUTCORE_FORMATS_PARQUET_PARQUET_WRITER_INTERNAL_H */
