/* What the files that make schemas share. */
#ifndef OUTCORE_FORMATS_PARQUET_SCHEMA_INTERNAL_H
#define OUTCORE_FORMATS_PARQUET_SCHEMA_INTERNAL_H

#include "formats/parquet/schema.h"

/* The key whose value is an Arrow schema message in base 64. */
#define OCI_PARQUET_STORED_SCHEMA "ARROW:schema"

/* Sets type and parameters of a field (name and nullability are set) from a leaf. NULL, or what does not fit:
 * "a logical type X on the physical type Y". */
const char *oci_parquet_leaf_type(const oci_parquet_element *element, oci_field *field);

/* Refines fields by the stored schema, where that says the same of them. The only error is OC_ENOMEM. */
OC_NODISCARD oc_status oci_parquet_apply_stored(oci_parquet_bytes stored, oci_field *fields,
                                                int32_t n, oc_error *err);

#endif /* OUTCORE_FORMATS_PARQUET_SCHEMA_INTERNAL_H */
