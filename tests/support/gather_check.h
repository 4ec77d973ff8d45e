/* Checks what gather promises of its batches, beyond the values: compact, in slab order, zeroed
 * where nothing is. */
#ifndef OUTCORE_TESTS_SUPPORT_GATHER_CHECK_H
#define OUTCORE_TESTS_SUPPORT_GATHER_CHECK_H

#include "arrow/gather.h"

/* Fails the test when `batch`, made with `head_bytes`, is not of the promised form. */
void check_gathered_form(const oci_batch *batch, int64_t head_bytes);

/* Fails the test when row i of `batch` is not row rows[i] of the sources. */
void check_gathered_values(const oci_batch *batch, const oci_batch *const *sources,
                           const oci_row_ref *rows, int64_t n);

/* Fails the test when two slabs differ in any byte behind their heads. */
void check_same_slabs(const oci_batch *a, int64_t head_a, const oci_batch *b, int64_t head_b);

#endif /* OUTCORE_TESTS_SUPPORT_GATHER_CHECK_H */
