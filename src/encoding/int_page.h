/* Pages: the up to 1024 integers that vectors are made of. Byte layout: docs/spill-format.md,
 * "Integer vectors".
 *
 * A page has one base and one width. The few values that need more bits than the rest are
 * exceptions: their low bits lie with the others, and what is left of them, positions and high
 * parts, in two short lists behind. So a column of differences that are nearly always 1 takes no
 * bits but for the others, and a single huge value does not widen its whole page. */
#ifndef OUTCORE_ENCODING_INT_PAGE_H
#define OUTCORE_ENCODING_INT_PAGE_H

#include <string.h>

#include "base/bits.h"
#include "encoding/bit_pack.h"

enum {
    OCI_INT_PAGE_HAS_EXCEPTIONS = 0x80, /* in the byte with the width */
    OCI_INT_EXCEPTIONS_MAX = 256,
    OCI_INT_PAGE_HEADER_MAX = 10, /* bytes of a page without exceptions besides its bits */
};

/* ---- numbers of as few bytes as they need, two's complement, low byte first ------------------- */

/* Writes `value` and returns how many bytes that took, 0 for 0. */
static inline int oci_int_put(uint8_t *out, uint64_t value)
{
    uint64_t sign = (uint64_t)((int64_t)value >> 63);
    int bytes = value == 0 ? 0 : oci_bit_width(value ^ sign) / 8 + 1;
    for (int i = 0; i < bytes; i++) {
        out[i] = (uint8_t)(value >> (8 * i));
    }
    return bytes;
}

/* Reads a number of 0 to 8 bytes. */
static inline uint64_t oci_int_get(const uint8_t *in, int bytes)
{
    if (bytes == 0) {
        return 0;
    }
    uint64_t sign = UINT64_C(1) << (8 * bytes - 1);
    return (oci_bits_load(in, 0, 8 * bytes) ^ sign) - sign;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* How a page is going to be stored. */
typedef struct oci_int_page_plan {
    uint64_t base;
    int width;    /* less than min_width: what does not fit is an exception */
    uint64_t min; /* of the values, compared as signed */
    uint64_t max;
    int min_width; /* that all values above min fit */
    int64_t size;  /* bytes, about; the page may be smaller, or larger by a little */
} oci_int_page_plan;

/* Bits that something must save, of the bits that n values take, to be worth its time: half a bit a
 * value, or a quarter of all. What is saved is time of codec and disk, about 0.5 ns for that; reading
 * and writing exceptions, differences or codes takes as much. */
static inline int64_t oci_int_worth(int64_t n, int64_t bits)
{
    return oci_min64(n / 2, bits / 4);
}

/* Plans a page of 1 <= n <= OCI_PAGE_VALUES values. */
void oci_int_page_plan_make(const uint64_t *values, int64_t n, oci_int_page_plan *plan);

/* The same for values that are known to be below n_codes. */
void oci_int_page_plan_codes(const uint64_t *codes, int64_t n, int64_t n_codes,
                             oci_int_page_plan *plan);

/* The most that the planned page takes. */
static inline int64_t oci_int_page_bound(const oci_int_page_plan *plan, int64_t n)
{
    return OCI_INT_PAGE_HEADER_MAX + oci_bit_packed_bytes(n, plan->min_width);
}

/* Writes the page; returns its size. `origin` is the vector's base. */
int64_t oci_int_page_write(const uint64_t *values, int64_t n, const oci_int_page_plan *plan,
                           uint64_t origin, uint8_t *out);

/* ---- reading --------------------------------------------------------------------------------- */

/* A page of n values. */
typedef struct oci_int_page {
    int64_t n;
    uint64_t base; /* the vector's base included */
    int width;
    int n_exceptions;
    int gap_width;
    int high_width;
    uint64_t high_base;
    const uint8_t *bits; /* gaps and high parts follow */
    int64_t size;        /* of the whole page */
} oci_int_page;

/* Opens the page of n values at `data`, of which `size` bytes are there, and checks that it lies
 * inside them. OC_EDATA: damaged. */
OC_NODISCARD oc_status oci_int_page_open(const uint8_t *data, int64_t size, int64_t n,
                                         uint64_t origin, oci_int_page *page, oc_error *err);
/* Writes its n values. OC_EDATA: an exception lies outside the page. */
OC_NODISCARD oc_status oci_int_page_read(const oci_int_page *page, uint64_t *out, oc_error *err);

#endif /* OUTCORE_ENCODING_INT_PAGE_H */
