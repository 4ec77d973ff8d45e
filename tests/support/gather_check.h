/* Checks what gather promises of its batches, beyond the values: compact, in slab order, zeroed
 * where nothing is. */
#ifndef OUTCORE_TESTS_SUPPORT_GATHER_CHECK_H
#define OUTCORE_TESTS_SUPPORT_GATHER_CHECK_H

#include "arrow/gather.h"
#include "support/arrow_maker.h"

/* Fails the test when `batch`, made with `head_bytes`, is not of the promised form. */
void check_gathered_form(const oci_batch *batch, int64_t head_bytes);

/* Fails the test when row i of `batch` is not row rows[i] of the sources. */
void check_gathered_values(const oci_batch *batch, const oci_batch *const *sources,
                           const oci_row_ref *rows, int64_t n);

/* Fails the test when two slabs differ in any byte behind their heads. */
void check_same_slabs(const oci_batch *a, int64_t head_a, const oci_batch *b, int64_t head_b);

/* ---- random cases ---------------------------------------------------------------------------- */

/* 0 <= result < n; moves the state. */
int64_t random_below(uint64_t *state, int64_t n);
/* One of the many ways in which an array of `length` rows may lie. */
arrow_maker random_maker(uint64_t *state, int64_t length);
/* n rows of sources that are not NULL and not empty, of which there must be one; returns n. */
int64_t pick_random_rows(uint64_t *state, const oci_batch *const *sources, int64_t n_sources,
                         int64_t n, oci_row_ref *rows);
/* The caller releases it. */
oci_schema *working_schema(const oci_batch *batch);

/* Gathers and checks everything that is promised, fit's size included. The caller releases the
 * batch. */
oci_batch *gather_and_check(oci_mem *mem, oci_schema *schema, const oci_batch *const *sources,
                            const oci_row_ref *rows, int64_t n, int64_t head_bytes);
/* Gathers up to 3000 rows of `source` as a range, and checks that it is byte for byte what a gather
 * of the same rows gives. */
void check_range(oci_mem *mem, oci_schema *schema, const oci_batch *source, int64_t start,
                 int64_t n);

#endif /* OUTCORE_TESTS_SUPPORT_GATHER_CHECK_H */
