/* Columns of a writer from a schema. */
#ifndef OUTCORE_FORMATS_PARQUET_WRITE_SHAPE_H
#define OUTCORE_FORMATS_PARQUET_WRITE_SHAPE_H

#include "formats/parquet/write_column.h"

/* One column for each leaf of `metadata`, which oci_parquet_schema_write() made of `working`; in `arena`. Their shape
 * is set; memory, codec and the rest is not. */
OC_NODISCARD oc_status oci_parquet_shape_create(const oci_schema *working,
                                                const oci_parquet_metadata *metadata,
                                                oci_parquet_arena *arena,
                                                oci_parquet_column_writer **out, int32_t *n,
                                                oc_error *err);

#endif /* OUTCORE_FORMATS_PARQUET_WRITE_SHAPE_H */
