/* From levels to nested columns.
 *
 * A slot is the entry at which a row of a node begins. Those of the field itself are the entries of repetition level 0;
 * a list has one for each element below each of its slots, found by the levels as schema.h says. Validity and offsets
 * follow from the levels at the slots. Every leaf below a node must give the same rows of it; files in which they do
 * not are damaged. Source of the idea: Melnik et al., "Dremel" (2010), section 4. */
#ifndef OUTCORE_FORMATS_PARQUET_RECORD_ASSEMBLY_H
#define OUTCORE_FORMATS_PARQUET_RECORD_ASSEMBLY_H

#include "formats/parquet/column_reader.h"

/* The column of c->node for `rows` rows, of which all leaves have the entries. As oci_parquet_column_reader_read. */
OC_NODISCARD oc_status oci_parquet_assemble(oci_parquet_column_reader *c, int64_t rows,
                                            oci_column *out, oci_column **space, oci_batch *batch,
                                            oc_error *err);

#endif /* OUTCORE_FORMATS_PARQUET_RECORD_ASSEMBLY_H */
