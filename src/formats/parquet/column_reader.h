/* Rows of one top-level field, as columns of batches.
 *
 * Flat leaves go the short way: levels straight to a validity bitmap, none at all while there are no nulls. All
 * others are read as entries (both levels as bytes, values dense), from which record_assembly.h makes validity, offsets
 * and children. */
#ifndef OUTCORE_FORMATS_PARQUET_COLUMN_READER_H
#define OUTCORE_FORMATS_PARQUET_COLUMN_READER_H

#include "formats/parquet/value_builder.h"

/* A leaf and what was read of it for the batch at hand. */
typedef struct oci_parquet_leaf_column {
    oci_parquet_leaf_reader reader;
    oci_parquet_values values;
    oci_parquet_block definition; /* levels of the entries, when not flat */
    oci_parquet_block repetition;
    int64_t n_entries;
} oci_parquet_leaf_column;

typedef struct oci_parquet_column_reader {
    const oci_parquet_node *node;
    int32_t n_leaves;
    oci_parquet_leaf_column *leaves; /* malloc'ed: they grow with the schema */
    bool is_flat;
    int64_t read_bytes; /* that the last rows took */
    oci_mem *mem;
} oci_parquet_column_reader;

/* What all columns of a file have in common. */
typedef struct oci_parquet_column_source {
    oci_file *file;
    const oci_parquet_schema *schema;
    int64_t window_bytes;        /* of a chunk to read at once */
    _Atomic int64_t *bytes_read; /* progress, or NULL */
    oci_mem *mem;
} oci_parquet_column_source;

OC_NODISCARD oc_status oci_parquet_column_reader_init(oci_parquet_column_reader *c,
                                                      const oci_parquet_column_source *source,
                                                      const oci_parquet_node *node, oc_error *err);
void oci_parquet_column_reader_deinit(oci_parquet_column_reader *c);
/* The next row group. */
OC_NODISCARD oc_status oci_parquet_column_reader_start(oci_parquet_column_reader *c,
                                                       const oci_parquet_row_group *group,
                                                       oc_error *err);

/* How many of the next `rows` rows (>= 1) should be read at once so that byte arrays take about `bytes` at most. Looks at
 * the page at hand; what lies behind it counts as ordinary. */
OC_NODISCARD oc_status oci_parquet_column_reader_fit(oci_parquet_column_reader *c, int64_t rows,
                                                     int64_t bytes, int64_t *fit, oc_error *err);
/* The next `rows` rows. Buffers are kept by `batch`; children and dictionaries come from *space, which moves. */
OC_NODISCARD oc_status oci_parquet_column_reader_read(oci_parquet_column_reader *c, int64_t rows,
                                                      oci_column *out, oci_column **space,
                                                      oci_batch *batch, oc_error *err);
OC_NODISCARD oc_status oci_parquet_column_reader_skip(oci_parquet_column_reader *c, int64_t rows,
                                                      oc_error *err);

/* Columns that a field needs besides its own: children and dictionaries at any depth. */
int64_t oci_parquet_columns_below(const oci_field *field);

#endif /* OUTCORE_FORMATS_PARQUET_COLUMN_READER_H */
