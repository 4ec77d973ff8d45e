/* DELTA_BINARY_PACKED: numbers as differences in bit-packed miniblocks.
 *
 *   varint block_size  varint miniblocks  varint n  zigzag first
 *   blocks: zigzag min_delta, a byte of width for each miniblock, the miniblocks
 *
 * A miniblock has block_size / miniblocks numbers, a multiple of 32, which are value - value before - min_delta, of
 * 0 to 64 bits (32 for 32-bit columns), the last one filled up. Sums wrap around, as the format wants it. The
 * numbers behind the last value may be missing from the bytes, and unused miniblocks of the last block have no bytes.
 *
 * A plain struct that points into bytes of the caller's; a copy of it is a second reader at the same place. */
#ifndef OUTCORE_FORMATS_PARQUET_DELTA_DECODE_H
#define OUTCORE_FORMATS_PARQUET_DELTA_DECODE_H

#include "base/error.h"

typedef struct oci_parquet_delta {
    int64_t n_left; /* values that were not given yet */
    /* private */
    const uint8_t *at; /* the miniblock at hand, or the next block */
    const uint8_t *end;
    const uint8_t *widths; /* of the miniblocks of the block at hand that follow this one */
    int64_t mini_values;   /* values of a miniblock */
    int64_t mini_index;    /* values of the miniblock at hand that were given */
    int64_t mini_left; /* miniblocks of this block, the one at hand included; 0 = a block begins */
    int32_t n_minis;   /* of a block */
    int width;         /* of the miniblock at hand */
    int width_max;
    bool is_first; /* the first value, which is in the header, was not given yet */
    uint64_t min_delta;
    uint64_t last;
} oci_parquet_delta;

/* width_max: 32 or 64, bits of the column's type. Believes no count: a header that says more values than the bytes can
 * hold is OC_EDATA. */
OC_NODISCARD oc_status oci_parquet_delta_init(oci_parquet_delta *d, const uint8_t *data,
                                              int64_t size, int width_max, oc_error *err);
OC_NODISCARD oc_status oci_parquet_delta_read32(oci_parquet_delta *d, int64_t n, int32_t *out,
                                                oc_error *err);
OC_NODISCARD oc_status oci_parquet_delta_read64(oci_parquet_delta *d, int64_t n, int64_t *out,
                                                oc_error *err);
/* Passes over n values: as dear as reading them, but without a place to put them. */
OC_NODISCARD oc_status oci_parquet_delta_skip(oci_parquet_delta *d, int64_t n, oc_error *err);
/* Where the bytes behind the numbers begin: found by walking over the blocks, without unpacking. */
OC_NODISCARD oc_status oci_parquet_delta_end(const oci_parquet_delta *d, const uint8_t **end,
                                             oc_error *err);

#endif /* OUTCORE_FORMATS_PARQUET_DELTA_DECODE_H */
