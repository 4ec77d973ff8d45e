/* What a CSV file looks like: dialect, names, types. Found once, from the first stretch of the file
 * and the options. */
#ifndef OUTCORE_FORMATS_CSV_SHAPE_H
#define OUTCORE_FORMATS_CSV_SHAPE_H

#include "formats/csv.h"
#include "formats/csv_column.h"
#include "formats/csv_window.h"

/* Records that types are guessed from at most. */
#define OCI_CSV_SAMPLE_RECORDS 20000

typedef struct oci_csv_shape {
    oci_mem *mem;
    oci_csv_dialect dialect;
    int32_t n_fields;        /* of every record of the file */
    oci_schema *schema;      /* of the batches; owned */
    oci_csv_column *columns; /* schema->n_fields */
    char *null_text;
    int64_t null_length;
    oci_reservation names; /* pays for the schema, whose size the file decides */
} oci_csv_shape;

/* Looks at the text in `window`, reading on until there is a record, and consumes the header when
 * there is one. OC_EINVAL: options that contradict each other or the header. OC_EDATA: an empty
 * file of which nothing was declared. */
OC_NODISCARD oc_status oci_csv_shape_find(oci_csv_shape *shape, oci_csv_window *window,
                                          const oci_csv_options *options, oci_mem *mem,
                                          oc_error *err);
void oci_csv_shape_deinit(oci_csv_shape *shape); /* zeroed struct is fine */

#endif /* OUTCORE_FORMATS_CSV_SHAPE_H */
