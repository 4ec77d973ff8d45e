/* Bits, bytes and checked arithmetic: small inline helpers without state.
 *
 * Bitmaps are in Arrow order: bit i is bit (i % 8), counted from the least significant, of byte
 * (i / 8). Offsets and counts are in bits, and no function touches a byte that holds no bit of
 * its range, so they are safe on buffers without padding. */
#ifndef OUTCORE_BASE_BITS_H
#define OUTCORE_BASE_BITS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* ---- rounding ---- */

/* `value` >= 0 rounded up to a multiple of `unit`, a power of two. The caller knows that it does
 * not overflow. */
static inline int64_t oci_round_up(int64_t value, int64_t unit)
{
    return (value + unit - 1) & ~(unit - 1);
}

static inline int64_t oci_round_down(int64_t value, int64_t unit)
{
    return value & ~(unit - 1);
}

/* Bytes of a bitmap of `bits` bits. */
static inline int64_t oci_bytes_for_bits(int64_t bits)
{
    return bits / 8 + (bits % 8 != 0);
}

static inline int64_t oci_min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t oci_max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- checked arithmetic: false, and *out not to be used, on overflow ---- */

static inline bool oci_add64(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

static inline bool oci_sub64(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_sub_overflow(a, b, out);
}

static inline bool oci_mul64(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

/* ---- byte order ---- */

static inline uint64_t oci_bswap64(uint64_t value)
{
    return __builtin_bswap64(value);
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OCI_LE16(x) (x)
#define OCI_LE32(x) (x)
#define OCI_LE64(x) (x)
#define OCI_BE64(x) __builtin_bswap64(x)
#else
#define OCI_LE16(x) __builtin_bswap16(x)
#define OCI_LE32(x) __builtin_bswap32(x)
#define OCI_LE64(x) __builtin_bswap64(x)
#define OCI_BE64(x) (x)
#endif

/* Loads and stores at any address. */
static inline uint16_t oci_load_le16(const void *from)
{
    uint16_t value;
    memcpy(&value, from, sizeof value);
    return OCI_LE16(value);
}

static inline uint32_t oci_load_le32(const void *from)
{
    uint32_t value;
    memcpy(&value, from, sizeof value);
    return OCI_LE32(value);
}

static inline uint64_t oci_load_le64(const void *from)
{
    uint64_t value;
    memcpy(&value, from, sizeof value);
    return OCI_LE64(value);
}

static inline uint64_t oci_load_be64(const void *from)
{
    uint64_t value;
    memcpy(&value, from, sizeof value);
    return OCI_BE64(value);
}

static inline void oci_store_le16(void *to, uint16_t value)
{
    value = OCI_LE16(value);
    memcpy(to, &value, sizeof value);
}

static inline void oci_store_le32(void *to, uint32_t value)
{
    value = OCI_LE32(value);
    memcpy(to, &value, sizeof value);
}

static inline void oci_store_le64(void *to, uint64_t value)
{
    value = OCI_LE64(value);
    memcpy(to, &value, sizeof value);
}

static inline void oci_store_be64(void *to, uint64_t value)
{
    value = OCI_BE64(value);
    memcpy(to, &value, sizeof value);
}

/* ---- single bits ---- */

static inline bool oci_bit_get(const uint8_t *bits, int64_t index)
{
    return (bits[index >> 3] >> (index & 7)) & 1;
}

static inline void oci_bit_set(uint8_t *bits, int64_t index)
{
    bits[index >> 3] = (uint8_t)(bits[index >> 3] | (1u << (index & 7)));
}

static inline void oci_bit_clear(uint8_t *bits, int64_t index)
{
    bits[index >> 3] = (uint8_t)(bits[index >> 3] & ~(1u << (index & 7)));
}

static inline void oci_bit_put(uint8_t *bits, int64_t index, bool value)
{
    uint8_t mask = (uint8_t)(1u << (index & 7));
    uint8_t byte = bits[index >> 3];
    bits[index >> 3] = (uint8_t)((byte & ~mask) | (value ? mask : 0));
}

/* ---- up to 64 bits at any offset ---- */

/* The lowest `count` bits set, count 0..64. */
static inline uint64_t oci_low_mask(int count)
{
    return count >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1;
}

/* Bits [offset, offset + count), count 0..64, in the low end of the result; the rest is 0. */
static inline uint64_t oci_bits_load(const uint8_t *bits, int64_t offset, int count)
{
    if (count == 0) {
        return 0;
    }
    const uint8_t *from = bits + (offset >> 3);
    int shift = (int)(offset & 7);
    int n_bytes = (shift + count + 7) >> 3; /* 1..9 */
    uint64_t word = 0;
    if (n_bytes >= 8) {
        word = oci_load_le64(from);
    } else {
        for (int i = 0; i < n_bytes; i++) {
            word |= (uint64_t)from[i] << (8 * i);
        }
    }
    word >>= shift;
    if (n_bytes == 9) {
        word |= (uint64_t)from[8] << (64 - shift); /* shift > 0, or 8 bytes would do */
    }
    return word & oci_low_mask(count);
}

/* Stores the low `count` bits (0..64) of `value` at `offset`; the bits around them stay as they
 * are. */
static inline void oci_bits_store(uint8_t *bits, int64_t offset, uint64_t value, int count)
{
    uint8_t *to = bits + (offset >> 3);
    int shift = (int)(offset & 7);
    while (count > 0) {
        int here = 8 - shift < count ? 8 - shift : count;
        uint8_t mask = (uint8_t)(oci_low_mask(here) << shift);
        *to = (uint8_t)((*to & ~mask) | ((value << shift) & mask));
        value >>= here;
        count -= here;
        shift = 0;
        to++;
    }
}

/* ---- ranges ---- */

/* How many bits of [offset, offset + count) are set. */
static inline int64_t oci_bits_count(const uint8_t *bits, int64_t offset, int64_t count)
{
    int head = (int)oci_min64(count, (8 - (offset & 7)) & 7);
    int64_t total = __builtin_popcountll(oci_bits_load(bits, offset, head));
    offset += head;
    count -= head;
    for (; count >= 64; offset += 64, count -= 64) {
        total += __builtin_popcountll(oci_load_le64(bits + (offset >> 3)));
    }
    return total + __builtin_popcountll(oci_bits_load(bits, offset, (int)count));
}

/* Sets all bits of [offset, offset + count) to `value`. */
static inline void oci_bits_fill(uint8_t *bits, int64_t offset, int64_t count, bool value)
{
    uint64_t pattern = value ? ~UINT64_C(0) : 0;
    int head = (int)oci_min64(count, (8 - (offset & 7)) & 7);
    oci_bits_store(bits, offset, pattern, head);
    offset += head;
    count -= head;
    if (count >= 8) {
        memset(bits + (offset >> 3), value ? 0xFF : 0, (size_t)(count >> 3));
        offset += oci_round_down(count, 8);
    }
    oci_bits_store(bits, offset, pattern, (int)(count & 7));
}

/* Copies `count` bits from `from` at `from_offset` to `to` at `to_offset`. The ranges must not
 * overlap; bits of `to` outside its range stay as they are. 64 bits a step once the target is on
 * a byte boundary. */
static inline void oci_bits_copy(uint8_t *to, int64_t to_offset, const uint8_t *from,
                                 int64_t from_offset, int64_t count)
{
    int head = (int)oci_min64(count, (8 - (to_offset & 7)) & 7);
    oci_bits_store(to, to_offset, oci_bits_load(from, from_offset, head), head);
    to_offset += head;
    from_offset += head;
    count -= head;
    if ((from_offset & 7) == 0 && count >= 8) {
        int64_t n_bytes = count >> 3;
        memcpy(to + (to_offset >> 3), from + (from_offset >> 3), (size_t)n_bytes);
        to_offset += n_bytes * 8;
        from_offset += n_bytes * 8;
        count &= 7;
    }
    for (; count >= 64; to_offset += 64, from_offset += 64, count -= 64) {
        oci_store_le64(to + (to_offset >> 3), oci_bits_load(from, from_offset, 64));
    }
    oci_bits_store(to, to_offset, oci_bits_load(from, from_offset, (int)count), (int)count);
}

#endif /* OUTCORE_BASE_BITS_H */
