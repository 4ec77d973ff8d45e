/* From normalised keys back to columns.
 *
 * The values are those that the keys stand for, in the working form of the columns' types, with
 * dictionaries as plain values: -0.0 comes out as 0.0, every NaN as the same quiet NaN, and an
 * interval as the one of its length whose parts are justified (30 days are a month, 24 hours a day).
 * So the values of a group do not depend on which of its rows came first. */
#ifndef OUTCORE_ARROW_ROW_KEY_DECODE_H
#define OUTCORE_ARROW_ROW_KEY_DECODE_H

#include "arrow/row_key.h"

/* Fields of the columns keys[0..n_keys) of `schema` as oci_row_keys_decode makes them: a malloc'ed
 * schema with the names and nullability of the columns. */
OC_NODISCARD oc_status oci_row_keys_schema(const oci_schema *schema, const oci_sort_key *keys,
                                           int32_t n_keys, oci_schema **out, oc_error *err);

/* One key: `bytes[0..size)`. */
typedef struct oci_key_ref {
    const uint8_t *bytes;
    int64_t size;
} oci_key_ref;

/* Bytes that decoding takes (as one allocation). OC_EDATA for what is no key of these columns; of columns that all
 * have a fixed width only the size is looked at. */
OC_NODISCARD oc_status oci_row_keys_decode_bytes(const oci_schema *decoded,
                                                 const oci_sort_key *keys, const oci_key_ref *refs,
                                                 int64_t n, int64_t *bytes, oc_error *err);
/* n keys into a batch of `decoded` (from oci_row_keys_schema). Memory from `from` when not NULL, else
 * from `mem` by oci_mem_alloc. OC_EINVAL when texts pass 2 GiB together in one column. */
OC_NODISCARD oc_status oci_row_keys_decode(oci_schema *decoded, const oci_sort_key *keys,
                                           const oci_key_ref *refs, int64_t n, oci_mem *mem,
                                           oci_reservation *from, oci_batch **out, oc_error *err);

#endif /* OUTCORE_ARROW_ROW_KEY_DECODE_H */
