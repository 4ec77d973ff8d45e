/* Values and levels into the encodings of Parquet: what the writer puts into pages. decode.h reads them again.
 *
 * All calls append to a buffer, which grows in an account; after a failure (OC_EBUDGET, OC_ENOMEM) it holds what it
 * held before. Values are those that are there: nulls were left out. Fixed values lie one behind the other, as wide
 * as their physical type; byte arrays are their bytes, one behind the other, and their lengths. */
#ifndef OUTCORE_FORMATS_PARQUET_ENCODE_H
#define OUTCORE_FORMATS_PARQUET_ENCODE_H

#include "base/memory.h"

/* {.mem = mem} is an empty one. */
typedef struct oci_parquet_buffer {
    oci_mem *mem;
    uint8_t *data;
    int64_t length;
    int64_t capacity;
} oci_parquet_buffer;

/* Makes room for `bytes` more behind `length`. */
OC_NODISCARD oc_status oci_parquet_buffer_reserve(oci_parquet_buffer *buffer, int64_t bytes,
                                                  oc_error *err);
OC_NODISCARD oc_status oci_parquet_buffer_append(oci_parquet_buffer *buffer, const void *data,
                                                 int64_t bytes, oc_error *err);
void oci_parquet_buffer_free(oci_parquet_buffer *buffer); /* it can be used again */

/* Byte arrays: value i is the lengths[i] bytes behind those of value i - 1. */
typedef struct oci_parquet_strings {
    const uint8_t *bytes;
    const int32_t *lengths;
    int64_t n;
    int64_t n_bytes; /* the sum of lengths */
} oci_parquet_strings;

/* PLAIN of fixed values is the values themselves. These are of bits (from bit `offset` on) and of byte arrays. */
OC_NODISCARD oc_status oci_parquet_encode_bits(const uint8_t *bits, int64_t offset, int64_t n,
                                               oci_parquet_buffer *out, oc_error *err);
OC_NODISCARD oc_status oci_parquet_encode_plain_bytes(const oci_parquet_strings *strings,
                                                      oci_parquet_buffer *out, oc_error *err);

/* The hybrid of runs and packed numbers of `width` bits, 0 to 32, into which all have to fit. */
OC_NODISCARD oc_status oci_parquet_encode_hybrid(const uint32_t *values, int64_t n, int width,
                                                 oci_parquet_buffer *out, oc_error *err);
/* The same of levels; width > 0. */
OC_NODISCARD oc_status oci_parquet_encode_levels(const uint8_t *levels, int64_t n, int width,
                                                 oci_parquet_buffer *out, oc_error *err);
/* Bits that numbers up to `max` need. */
int oci_parquet_bit_width(uint32_t max);

/* DELTA_BINARY_PACKED of numbers of 4 or 8 bytes, at any alignment. */
OC_NODISCARD oc_status oci_parquet_encode_delta(const void *values, int64_t n, int byte_width,
                                                oci_parquet_buffer *out, oc_error *err);
OC_NODISCARD oc_status oci_parquet_encode_delta_lengths(const oci_parquet_strings *strings,
                                                        oci_parquet_buffer *out, oc_error *err);
/* DELTA_BYTE_ARRAY. */
OC_NODISCARD oc_status oci_parquet_encode_front(const oci_parquet_strings *strings,
                                                oci_parquet_buffer *out, oc_error *err);
/* Bytes that values share with the one before, in all: what DELTA_BYTE_ARRAY saves. */
int64_t oci_parquet_shared_bytes(const oci_parquet_strings *strings);

/* BYTE_STREAM_SPLIT of values of any width. */
OC_NODISCARD oc_status oci_parquet_encode_split(const uint8_t *values, int64_t n, int32_t width,
                                                oci_parquet_buffer *out, oc_error *err);

#endif /* OUTCORE_FORMATS_PARQUET_ENCODE_H */
