/* Definition and repetition levels of a page, as runs, as bytes or as a validity bitmap.
 *
 * Encoded as RLE (hybrid_decode.h), in data pages V1 with their size in 4 bytes in front, or as BIT_PACKED, which old
 * writers used: numbers packed from the highest bit of each byte on, without size or runs. Every level that is given
 * was checked against the maximum. Levels go to 255; an Arrow nesting of 64 makes at most 130. */
#ifndef OUTCORE_FORMATS_PARQUET_LEVEL_DECODE_H
#define OUTCORE_FORMATS_PARQUET_LEVEL_DECODE_H

#include "formats/parquet/hybrid_decode.h"
#include "formats/parquet/metadata.h"

typedef struct oci_parquet_levels {
    int max;
    /* private */
    bool is_bit_packed; /* BIT_PACKED */
    oci_parquet_hybrid hybrid;
    const uint8_t *bits;
    int64_t index; /* BIT_PACKED: levels given so far */
    int64_t n;     /* BIT_PACKED: levels there are */
} oci_parquet_levels;

/* Data page V1: levels of `n_values` entries at the beginning of data[0..size); *used: how many bytes they take, which
 * is 0 when `max` is 0 (nothing is stored then and all levels are 0). encoding: RLE or BIT_PACKED. */
OC_NODISCARD oc_status oci_parquet_levels_init_v1(oci_parquet_levels *l,
                                                  oci_parquet_encoding encoding, int max,
                                                  int64_t n_values, const uint8_t *data,
                                                  int64_t size, int64_t *used, oc_error *err);
/* Data page V2: RLE without a size in front, all of data[0..size). */
OC_NODISCARD oc_status oci_parquet_levels_init_v2(oci_parquet_levels *l, int max,
                                                  const uint8_t *data, int64_t size, oc_error *err);

/* The next n levels; OC_EDATA when there are fewer or one is above the maximum. */
OC_NODISCARD oc_status oci_parquet_levels_read(oci_parquet_levels *l, int64_t n, uint8_t *out,
                                               oc_error *err);
OC_NODISCARD oc_status oci_parquet_levels_skip(oci_parquet_levels *l, int64_t n, oc_error *err);
/* max 1: the next n levels as bits from bit `offset` of `bits` on; *n_set: how many are 1. */
OC_NODISCARD oc_status oci_parquet_levels_read_bits(oci_parquet_levels *l, int64_t n, uint8_t *bits,
                                                    int64_t offset, int64_t *n_set, oc_error *err);
/* How many of the next `n` levels are equal for sure, without passing them, and what they are: the run at hand, all
 * n when max is 0; 0 when it is not known without unpacking. (A flat column without nulls in the page is one run.) */
OC_NODISCARD oc_status oci_parquet_levels_peek(oci_parquet_levels *l, int64_t n, uint8_t *level,
                                               int64_t *n_equal, oc_error *err);

#endif /* OUTCORE_FORMATS_PARQUET_LEVEL_DECODE_H */
