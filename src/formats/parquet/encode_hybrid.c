/* The hybrid of runs and packed numbers (hybrid_decode.h describes it).
 *
 * Numbers are looked at by groups of eight: a group of equal ones that goes on for long enough becomes a run, all
 * others are packed together until the next run. Only the very last group may have fewer than eight, as what is
 * filled up in it would be read as numbers anywhere else. */
#include "base/bits.h"
#include "formats/parquet/encode.h"

enum {
    GROUP = 8,
    VARINT_BYTES_MAX = 5,
    RUN_BITS_MIN = 32 /* what a run and a new header behind it take */
};

int oci_parquet_bit_width(uint32_t max)
{
    return max == 0 ? 0 : 32 - __builtin_clz(max);
}

static uint8_t *put_varint(uint8_t *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) {
        *to++ = (uint8_t)(value | 0x80);
    }
    *to++ = (uint8_t)value;
    return to;
}

static uint8_t *put_equal(uint8_t *to, uint32_t value, int64_t n, int width)
{
    to = put_varint(to, (uint64_t)n << 1);
    for (int i = 0; i < (width + 7) / 8; i++) {
        *to++ = (uint8_t)(value >> (8 * i));
    }
    return to;
}

/* Most that n numbers can take: all packed, with a header before and behind every run. A run takes no more than the
 * numbers that it stands for would, but where they are few in all. */
static int64_t hybrid_bound(int64_t n, int width)
{
    int64_t groups = (n + GROUP - 1) / GROUP;
    int64_t runs = width == 0 ? 1 : n / oci_max64(GROUP, RUN_BITS_MIN / width) + 1;
    return groups * width + (runs + 1) * (VARINT_BYTES_MAX + 4 + VARINT_BYTES_MAX);
}

/* Numbers as uint32_t and levels as bytes go the same way:
 *   count_equal   how many of values[0..n) are equal to the first
 *   put_packed    groups of eight; what is missing in the last one is 0
 *   put_hybrid    all of it */
#define DEFINE_HYBRID(type, bits)                                                           \
    static int64_t count_equal##bits(const type *values, int64_t n)                         \
    {                                                                                       \
        int64_t i = 1;                                                                      \
        while (i < n && values[i] == values[0]) {                                           \
            i++;                                                                            \
        }                                                                                   \
        return i;                                                                           \
    }                                                                                       \
                                                                                            \
    static uint8_t *put_packed##bits(uint8_t *to, const type *values, int64_t n, int width) \
    {                                                                                       \
        int64_t groups = (n + GROUP - 1) / GROUP;                                           \
        if (n == 0) {                                                                       \
            return to;                                                                      \
        }                                                                                   \
        to = put_varint(to, (uint64_t)groups << 1 | 1);                                     \
        const uint8_t *end = to + groups * width;                                           \
        uint64_t word = 0;                                                                  \
        int used = 0;                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                   \
            word |= (uint64_t)values[i] << used;                                            \
            used += width;                                                                  \
            if (used >= 32) {                                                               \
                oci_store_le32(to, (uint32_t)word);                                         \
                to += 4;                                                                    \
                word >>= 32;                                                                \
                used -= 32;                                                                 \
            }                                                                               \
        }                                                                                   \
        for (; to < end; to++) {                                                            \
            *to = (uint8_t)word;                                                            \
            word >>= 8;                                                                     \
        }                                                                                   \
        return to;                                                                          \
    }                                                                                       \
                                                                                            \
    static uint8_t *put_hybrid##bits(uint8_t *to, const type *values, int64_t n, int width) \
    {                                                                                       \
        int64_t run_min = oci_max64(GROUP, (RUN_BITS_MIN + width - 1) / width);             \
        int64_t packed_from = 0;                                                            \
        int64_t i = 0;                                                                      \
        while (n - i >= GROUP) {                                                            \
            bool may_run = values[i] == values[i + GROUP - 1];                              \
            int64_t equal = may_run ? count_equal##bits(values + i, n - i) : 0;             \
            if (equal >= run_min) {                                                         \
                to = put_packed##bits(to, values + packed_from, i - packed_from, width);    \
                to = put_equal(to, values[i], equal, width);                                \
                i += equal;                                                                 \
                packed_from = i;                                                            \
            } else {                                                                        \
                i += GROUP;                                                                 \
            }                                                                               \
        }                                                                                   \
        return put_packed##bits(to, values + packed_from, n - packed_from, width);          \
    }

DEFINE_HYBRID(uint32_t, 32)
DEFINE_HYBRID(uint8_t, 8)

oc_status oci_parquet_encode_hybrid(const uint32_t *values, int64_t n, int width,
                                    oci_parquet_buffer *out, oc_error *err)
{
    OC_TRY(oci_parquet_buffer_reserve(out, hybrid_bound(n, width), err));
    uint8_t *to = out->data + out->length;
    if (width == 0) {
        to = n > 0 ? put_equal(to, 0, n, width) : to;
    } else {
        to = put_hybrid32(to, values, n, width);
    }
    out->length = to - out->data;
    return OC_OK;
}

oc_status oci_parquet_encode_levels(const uint8_t *levels, int64_t n, int width,
                                    oci_parquet_buffer *out, oc_error *err)
{
    OC_TRY(oci_parquet_buffer_reserve(out, hybrid_bound(n, width), err));
    out->length = put_hybrid8(out->data + out->length, levels, n, width) - out->data;
    return OC_OK;
}
