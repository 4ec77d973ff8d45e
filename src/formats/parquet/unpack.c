/* Bit-packed numbers as Parquet lays them: number i is bits [i * width, (i + 1) * width), lowest first.
 *
 * Eight numbers are `width` bytes, so a group of eight begins at a byte, and where each number of it begins is known
 * when the width is: the switch below makes a loop of its own for every width, in which a number is a load of 8 bytes,
 * a shift and a mask. Those loads read up to 8 bytes beyond the group, so the last groups in front of the end go the
 * exact way, as do numbers wider than 57 bits, which 8 bytes may not hold. */
#include "base/bits.h"
#include "formats/parquet/hybrid_decode.h"

enum { GROUP = 8, WIDE_BITS = 57 };

#define NUMBER(i) ((oci_load_le64(in + ((i)*width >> 3)) >> ((i)*width & 7)) & oci_low_mask(width))

/* Whole groups of a width that is known where this is inlined. */
#define DEFINE_GROUPS(bits)                                                  \
    static inline __attribute__((always_inline)) void groups##bits(          \
        const uint8_t *in, int64_t n_groups, int width, uint##bits##_t *out) \
    {                                                                        \
        for (int64_t g = 0; g < n_groups; g++, in += width, out += GROUP) {  \
            out[0] = (uint##bits##_t)NUMBER(0);                              \
            out[1] = (uint##bits##_t)NUMBER(1);                              \
            out[2] = (uint##bits##_t)NUMBER(2);                              \
            out[3] = (uint##bits##_t)NUMBER(3);                              \
            out[4] = (uint##bits##_t)NUMBER(4);                              \
            out[5] = (uint##bits##_t)NUMBER(5);                              \
            out[6] = (uint##bits##_t)NUMBER(6);                              \
            out[7] = (uint##bits##_t)NUMBER(7);                              \
        }                                                                    \
    }

DEFINE_GROUPS(32)
DEFINE_GROUPS(64)

#define WIDTH(bits, w)                      \
    case w:                                 \
        groups##bits(in, n_groups, w, out); \
        break;
#define WIDTHS_8(bits, w) \
    WIDTH(bits, (w) + 1)  \
    WIDTH(bits, (w) + 2)  \
    WIDTH(bits, (w) + 3)  \
    WIDTH(bits, (w) + 4)  \
    WIDTH(bits, (w) + 5) WIDTH(bits, (w) + 6) WIDTH(bits, (w) + 7) WIDTH(bits, (w) + 8)

static void unpack_groups32(const uint8_t *in, int64_t n_groups, int width, uint32_t *out)
{
    switch (width) {
        WIDTHS_8(32, 0)
        WIDTHS_8(32, 8)
        WIDTHS_8(32, 16)
        WIDTHS_8(32, 24)
    default: break;
    }
}

static void unpack_groups64(const uint8_t *in, int64_t n_groups, int width, uint64_t *out)
{
    switch (width) {
        WIDTHS_8(64, 0)
        WIDTHS_8(64, 8)
        WIDTHS_8(64, 16)
        WIDTHS_8(64, 24)
        WIDTHS_8(64, 32)
        WIDTHS_8(64, 40)
        WIDTHS_8(64, 48)
        WIDTH(64, 57)
    default: break;
    }
}

/* Groups, from a byte on, that can be read with loads of 8 bytes. */
static int64_t fast_groups(const uint8_t *in, const uint8_t *end, int width, int64_t n)
{
    int64_t bytes = end - in - (int64_t)sizeof(uint64_t);
    return width > WIDE_BITS || bytes < width ? 0 : oci_min64(n / GROUP, bytes / width);
}

#define DEFINE_UNPACK(bits)                                                                        \
    void oci_parquet_unpack##bits(const uint8_t *in, const uint8_t *end, int64_t first, int width, \
                                  int64_t n, uint##bits##_t *out)                                  \
    {                                                                                              \
        if (width == 0) {                                                                          \
            memset(out, 0, (size_t)n * sizeof *out);                                               \
            return;                                                                                \
        }                                                                                          \
        int64_t i = 0;                                                                             \
        for (; i < n && ((first + i) & (GROUP - 1)) != 0; i++) {                                   \
            out[i] = (uint##bits##_t)oci_bits_load(in, (first + i) * width, width);                \
        }                                                                                          \
        const uint8_t *from = in + (first + i) / GROUP * width;                                    \
        int64_t n_groups = i < n ? fast_groups(from, end, width, n - i) : 0;                       \
        unpack_groups##bits(from, n_groups, width, out + i);                                       \
        for (i += n_groups * GROUP; i < n; i++) {                                                  \
            out[i] = (uint##bits##_t)oci_bits_load(in, (first + i) * width, width);                \
        }                                                                                          \
    }

DEFINE_UNPACK(32)
DEFINE_UNPACK(64)
