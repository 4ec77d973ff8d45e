/* The hybrid of runs and bit-packed numbers (RLE in Parquet): levels, dictionary indices, booleans.
 *
 * The bytes are a row of runs, each with a varint in front: even, v = count * 2: one value in whole bytes stands
 * for `count`; odd, v = groups * 2 + 1: groups of 8 numbers, each of `width` bits, lowest bits first. Widths are
 * 0 to 32. A writer may end the bytes inside the last packed run, so only numbers whose bits are there are given.
 *
 * A plain struct that points into bytes of the caller's; a copy of it is a second reader at the same place. */
#ifndef OUTCORE_FORMATS_PARQUET_HYBRID_DECODE_H
#define OUTCORE_FORMATS_PARQUET_HYBRID_DECODE_H

#include "base/error.h"

typedef struct oci_parquet_hybrid {
    const uint8_t *at; /* the next run; inside a packed one its end */
    const uint8_t *end;
    int width;
    /* private: the run at hand */
    int64_t left;          /* values of it that were not given */
    uint32_t value;        /* of a run of one value */
    const uint8_t *packed; /* NULL in a run of one value */
    int64_t packed_index;  /* values of the packed run that were given */
} oci_parquet_hybrid;

/* width 0 to 32, OC_EDATA else. */
OC_NODISCARD oc_status oci_parquet_hybrid_init(oci_parquet_hybrid *h, const uint8_t *data,
                                               int64_t size, int width, oc_error *err);
/* The next n numbers, n >= 0; OC_EDATA when there are fewer. */
OC_NODISCARD oc_status oci_parquet_hybrid_read(oci_parquet_hybrid *h, int64_t n, uint32_t *out,
                                               oc_error *err);
OC_NODISCARD oc_status oci_parquet_hybrid_skip(oci_parquet_hybrid *h, int64_t n, oc_error *err);
/* Width 1: the next n as bits, from bit `offset` of `bits` on; *n_set (may be NULL) how many are 1. */
OC_NODISCARD oc_status oci_parquet_hybrid_read_bits(oci_parquet_hybrid *h, int64_t n, uint8_t *bits,
                                                    int64_t offset, int64_t *n_set, oc_error *err);
/* Makes sure a run is at hand: h->left of it are to come; all of value h->value when h->packed is NULL. OC_EDATA at
 * the end of the bytes. */
OC_NODISCARD oc_status oci_parquet_hybrid_run(oci_parquet_hybrid *h, oc_error *err);

/* n numbers of `width` bits (0 to 32) from number `first` of those packed at `in`, whose bytes end at `end`: all
 * that is asked for lies before it. */
void oci_parquet_unpack32(const uint8_t *in, const uint8_t *end, int64_t first, int width,
                          int64_t n, uint32_t *out);
/* The same for widths 0 to 64. */
void oci_parquet_unpack64(const uint8_t *in, const uint8_t *end, int64_t first, int width,
                          int64_t n, uint64_t *out);

#endif /* OUTCORE_FORMATS_PARQUET_HYBRID_DECODE_H */
