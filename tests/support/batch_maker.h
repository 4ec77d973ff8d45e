/* Batches for tests inside the library: arrow_maker's data, imported. Failures end the test. */
#ifndef OUTCORE_TESTS_SUPPORT_BATCH_MAKER_H
#define OUTCORE_TESTS_SUPPORT_BATCH_MAKER_H

#include "arrow/batch.h"
#include "support/arrow_maker.h"

/* The caller releases both. */
oci_schema *make_schema(const char *const *columns, int32_t n_columns);
oci_batch *make_batch(const char *const *columns, int32_t n_columns, const arrow_maker *maker);
/* One column of `format` ("l", "c>u", ...), named "a". */
oci_batch *make_column_batch(const char *format, const arrow_maker *maker);

#endif /* OUTCORE_TESTS_SUPPORT_BATCH_MAKER_H */
