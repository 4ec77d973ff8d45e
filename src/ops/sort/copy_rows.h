/* Copying rows into a batch where nobody is left to ask for memory. */
#ifndef OUTCORE_OPS_SORT_COPY_ROWS_H
#define OUTCORE_OPS_SORT_COPY_ROWS_H

#include "arrow/gather.h"

/* Gathers the first of rows[0..n), n > 0: as many as fit max_bytes (oci_gather_fit), and fewer, down
 * to one, when the budget refuses what that takes. (Scratch for a dictionary below a list grows with
 * the items, which the number of rows does not bound.) *copied gets how many. */
OC_NODISCARD oc_status oci_copy_rows(oci_schema *schema, const oci_batch *const *sources,
                                     const oci_row_ref *rows, int64_t n, int64_t max_bytes,
                                     int64_t head_bytes, oci_mem *mem, int64_t *copied,
                                     oci_batch **out, oc_error *err);

#endif /* OUTCORE_OPS_SORT_COPY_ROWS_H */
