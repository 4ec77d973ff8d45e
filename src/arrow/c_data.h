/* What batch.c, output.c, import.c, export.c and validate.c share; nobody else needs it. */
#ifndef OUTCORE_ARROW_C_DATA_H
#define OUTCORE_ARROW_C_DATA_H

#include "arrow/batch.h"

/* Stands in for buffers that are absent because they would be empty, so that code (ours and that of
 * consumers) never meets a NULL pointer or an offsets buffer without its one offset. */
#define OCI_ZEROS_BYTES 64
extern const uint8_t oci_zeros[OCI_ZEROS_BYTES];

/* The batch behind an array that oci_batch_export made in this process and that nobody has changed
 * or moved columns out of; NULL for any other array. Borrowed from the array. */
oci_batch *oci_batch_behind(const struct ArrowArray *array);

/* The same number of fields, of the same types (oci_field_same_type). */
bool oci_schema_same_types(const oci_schema *a, const oci_schema *b);

/* Gives `status` back, and names the parent in the message when it is an error of a child. */
oc_status oci_in_child_of(const oci_field *parent, oc_status status, oc_error *err);

/* The same column with the names and metadata of `field`, which has its type. The structs of its
 * dictionaries and children are copied to *space, which moves on behind them. */
void oci_column_share(const oci_column *column, const oci_field *field, oci_column *out,
                      oci_column **space);

/* A batch of `schema` with `n` columns copied from `source` (indices NULL = the first n), sharing
 * its memory. Names and metadata may differ from the source's, types may not. */
OC_NODISCARD oc_status oci_batch_share(oci_batch *source, oci_schema *schema,
                                       const int32_t *indices, oci_batch **out, oc_error *err);

#endif /* OUTCORE_ARROW_C_DATA_H */
