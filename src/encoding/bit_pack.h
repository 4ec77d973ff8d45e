/* Bit packing of pages of 1024 integers, with a base to subtract (frame of reference).
 *
 * A full page lies in interleaved lanes, so that one instruction packs the same place of many lanes:
 * of a page of T-bit words (T = 32 for widths up to 32, else 64) lane l holds the values l, l + L,
 * l + 2L, ... with L = 1024 / T lanes, packed from the low bit of the lane's first word on; word w of
 * lane l is word w * L + l of the page. A page of width b takes 128 * b bytes whatever T is. (The
 * layout idea: Afroozeh and Boncz, "The FastLanes Compression Layout", VLDB 2023, without its
 * transposition.) The values of a page that is not full lie one behind the other, low bits first,
 * ceil(n * b / 8) bytes. Words are little-endian.
 *
 * All calls are pure: no memory, no failure. */
#ifndef OUTCORE_ENCODING_BIT_PACK_H
#define OUTCORE_ENCODING_BIT_PACK_H

#include "base/error.h"

#define OCI_PAGE_VALUES 1024

/* Bits that `value` takes, 0 for 0. */
static inline int oci_bit_width(uint64_t value)
{
    return value == 0 ? 0 : 64 - __builtin_clzll(value);
}

/* Bytes of n <= OCI_PAGE_VALUES values of `width` bits. */
static inline int64_t oci_bit_packed_bytes(int64_t n, int width)
{
    return (n * width + 7) / 8;
}

/* Writes the low `width` bits (0..64) of each values[i] - base, wrapping. Exactly
 * oci_bit_packed_bytes() bytes at `out`, any alignment. */
void oci_bit_pack(const uint64_t *values, int64_t n, uint64_t base, int width, uint8_t *out);

/* The reverse: values[i] = base + bits. Reads exactly oci_bit_packed_bytes() bytes. */
void oci_bit_unpack(const uint8_t *in, int64_t n, uint64_t base, int width, uint64_t *values);

#endif /* OUTCORE_ENCODING_BIT_PACK_H */
