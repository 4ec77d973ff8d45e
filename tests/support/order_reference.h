/* The order of rows as docs/ordering.md tells it, by plain comparison of values: slow, and written
 * without the code that encodes sort keys, which is tested against it. */
#ifndef OUTCORE_TESTS_SUPPORT_ORDER_REFERENCE_H
#define OUTCORE_TESTS_SUPPORT_ORDER_REFERENCE_H

#include "arrow/row_key.h"

/* Below, equal to or above 0 as the first value is smaller, equal or larger, ascending. Both are of
 * the same type but for encoding: a dictionary or runs compare with plain values, a list view with
 * a list. A null is larger than every value. Columns must be valid. */
int order_of_values(const oci_column *a, int64_t row_a, const oci_column *b, int64_t row_b);

/* Rows by sort keys; the batches have the same types, in the sense above. */
int order_of_rows(const oci_batch *a, int64_t row_a, const oci_batch *b, int64_t row_b,
                  const oci_sort_key *keys, int32_t n_keys);

#endif /* OUTCORE_TESTS_SUPPORT_ORDER_REFERENCE_H */
