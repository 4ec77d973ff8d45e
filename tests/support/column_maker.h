/* Makes batches of random types and values, straight as columns, from a string of bytes that
 * decides everything: types, lengths, offsets, where values lie, nulls and what is under them, and
 * the values, which are mostly taken from the edges of their type and equal often. The bytes come
 * from a random generator, or from a fuzzer that learns what they mean. When they run out the
 * choices become the plainest ones.
 *
 * Every buffer is an allocation of its own and just as long as it has to be, so that a sanitizer
 * sees each byte that is read beside it. Running out of memory ends the program. */
#ifndef OUTCORE_TESTS_SUPPORT_COLUMN_MAKER_H
#define OUTCORE_TESTS_SUPPORT_COLUMN_MAKER_H

#include "arrow/batch.h"

typedef struct made_choices {
    const uint8_t *bytes;
    int64_t size;
    int64_t at;
} made_choices;

/* The next choice, 0 <= result < n <= 256. */
int32_t choose(made_choices *choices, int32_t n);

/* A type tree, at most `depth` levels of nesting. Only types that have an order: no maps and unions.
 * The caller deinits it, or gives it to a schema. */
void choose_field(made_choices *choices, const char *name, int32_t depth, oci_field *out);

/* Rows of a schema; the caller releases the batch. */
oci_batch *choose_batch(made_choices *choices, oci_schema *schema, int64_t length);

/* Both: `n_columns` of chosen types. */
oci_batch *choose_typed_batch(made_choices *choices, int32_t n_columns, int32_t depth,
                              int64_t length);

#endif /* OUTCORE_TESTS_SUPPORT_COLUMN_MAKER_H */
