/* Pages: the up to 1024 integers that vectors are made of. Byte layout: docs/spill-format.md,
 * "Integer vectors".
 *
 *   u8 width          0..64 bits of each value above the base
 *   u8 base_bytes     0..8
 *   base              base_bytes, two's complement: what to add to the vector's base
 *   bits              as bit_pack.h has it */
#ifndef OUTCORE_ENCODING_INT_PAGE_H
#define OUTCORE_ENCODING_INT_PAGE_H

#include <string.h>

#include "base/bits.h"
#include "encoding/bit_pack.h"

/* Bytes of a page besides its bits, at most. */
#define OCI_INT_PAGE_HEADER_MAX 10

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
    uint64_t value = oci_bits_load(in, 0, 8 * bytes);
    int unused = 64 - 8 * bytes;
    return bytes == 0 ? 0 : (uint64_t)((int64_t)(value << unused) >> unused);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* How a page is going to be stored. */
typedef struct oci_int_page_plan {
    uint64_t base;
    int width;
} oci_int_page_plan;

/* Plans a page of 1 <= n <= OCI_PAGE_VALUES values. */
void oci_int_page_plan_make(const uint64_t *values, int64_t n, oci_int_page_plan *plan);

/* Writes the page; returns its size, at most OCI_INT_PAGE_HEADER_MAX and the bits that the range of
 * its values takes. `origin` is the vector's base. */
int64_t oci_int_page_write(const uint64_t *values, int64_t n, const oci_int_page_plan *plan,
                           uint64_t origin, uint8_t *out);

/* ---- reading --------------------------------------------------------------------------------- */

/* A page of n values that begins at `data`, of which `size` bytes are there. */
typedef struct oci_int_page {
    uint64_t base; /* the vector's base included */
    int width;
    const uint8_t *bits;
    int64_t size; /* of the whole page */
} oci_int_page;

/* Checks that the page lies inside its data. OC_EDATA: damaged. */
OC_NODISCARD oc_status oci_int_page_open(const uint8_t *data, int64_t size, int64_t n,
                                         uint64_t origin, oci_int_page *page, oc_error *err);
/* Writes its n values. */
void oci_int_page_read(const oci_int_page *page, int64_t n, uint64_t *out);

#endif /* OUTCORE_ENCODING_INT_PAGE_H */
