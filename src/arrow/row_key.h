/* Normalised sort keys: the key columns of a row as one string of bytes whose memcmp order is the
 * wanted order.
 *
 * Order of values, ascending: false < true; numbers by value; floats with -0.0 = 0.0 and all NaNs
 * equal and larger than +infinity; decimals, dates, times, timestamps, durations by value; strings
 * and binary by unsigned bytes; dictionaries and run-end encoded columns by the value they stand
 * for; intervals by their normalised length (months * 30 days, days * 24 h). Lists compare element
 * by element, and a prefix is smaller; structs compare field by field. Maps and unions have no
 * order. DESC reverses values; nulls go where the key says, independent of ASC / DESC. A null
 * inside a nested value is larger than every value, and is reversed by DESC with the rest of it.
 *
 * Encoding. Each key starts with one byte for null (0x00 nulls first / 0x02 nulls last, 0x01
 * valid); a null key of fixed width is followed by zeros (so that keys of fixed types have a fixed
 * stride). Integers are big-endian with the sign bit flipped, floats likewise after canonicalising,
 * inverted when negative. Strings escape 0x00 as 0x00 0xFF and end with 0x00 0x00, so that no key
 * is a prefix of another. Nested values are var-length: elements and fields are encoded like keys,
 * each behind a byte of its own (0x01 valid, 0x02 null), and a list ends with 0x00; see
 * row_key_nested.c. DESC inverts all bytes but the first. Source of the technique:
 * Blasgen, Casey, Eswaran, "An encoding method for multifield sorting and indexing", CACM 1977. */
#ifndef OUTCORE_ARROW_ROW_KEY_H
#define OUTCORE_ARROW_ROW_KEY_H

#include "arrow/batch.h"

typedef struct oci_sort_key {
    int32_t column;
    bool descending;
    bool nulls_first;
} oci_sort_key;

/* OC_EINVAL for a column out of range, OC_EUNSUPPORTED (by name) for a type that has no order: map
 * and unions, and what holds one at any depth. */
OC_NODISCARD oc_status oci_row_key_check(const oci_schema *schema, const oci_sort_key *keys,
                                         int32_t n_keys, oc_error *err);

/* The keys of all rows of a batch. */
typedef struct oci_row_keys {
    int64_t length;          /* rows */
    int64_t stride;          /* > 0: bytes of every key (fixed types only); 0: see offsets */
    const uint8_t *bytes;    /* stride > 0: row i at bytes + i * stride */
    const uint32_t *offsets; /* stride 0: row i at bytes + offsets[i], ends at offsets[i + 1] */
    /* private */
    oci_mem *mem;
    void *block;
    int64_t block_bytes;
} oci_row_keys;

/* Stride of the keys, or 0 when they are var-length. No keys at all: stride 0, every key empty. */
int64_t oci_row_key_stride(const oci_schema *schema, const oci_sort_key *keys, int32_t n_keys);

/* Exact bytes that oci_row_keys_encode will ask `mem` for (as one allocation). OC_EUNSUPPORTED when
 * the keys of the batch pass 4 GiB together, OC_EDATA when a value cannot be reached: an index
 * outside its dictionary, offsets that descend or leave the child. */
OC_NODISCARD oc_status oci_row_keys_size(const oci_batch *batch, const oci_sort_key *keys,
                                         int32_t n_keys, int64_t *bytes, oc_error *err);

/* Encodes; memory by oci_mem_try_alloc from `mem`, or from `from` when not NULL. One tight loop per
 * key column and layout; nested columns by recursion over their types. Errors as above. */
OC_NODISCARD oc_status oci_row_keys_encode(const oci_batch *batch, const oci_sort_key *keys,
                                           int32_t n_keys, oci_mem *mem, oci_reservation *from,
                                           oci_row_keys *out, oc_error *err);
void oci_row_keys_deinit(oci_row_keys *keys); /* zeroed struct is fine */

static inline const uint8_t *oci_row_key_at(const oci_row_keys *keys, int64_t row, int64_t *size)
{
    if (keys->stride > 0) {
        *size = keys->stride;
        return keys->bytes + row * keys->stride;
    }
    *size = (int64_t)(keys->offsets[row + 1] - keys->offsets[row]);
    return keys->bytes + keys->offsets[row];
}

#endif /* OUTCORE_ARROW_ROW_KEY_H */
