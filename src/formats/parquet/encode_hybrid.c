/* The hybrid of runs and packed numbers (hybrid_decode.h describes it).
 *
 * Numbers are looked at by groups of eight: a group of equal ones that goes on for long enough becomes a run, all
 * others are packed together until the next run. */
#include "base/bits.h"
#include "formats/parquet/encode.h"

enum {
    GROUP = 8,
    VARINT_BYTES_MAX = 5,
    RUN_BITS_MIN = 32, /* what a run and a new header behind it take */
    LEVEL_BLOCK = 4096 /* a multiple of 8 */
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

/* How many of values[0..n) are equal to the first. */
static int64_t count_equal(const uint32_t *values, int64_t n)
{
    int64_t i = 1;
    while (i < n && values[i] == values[0]) {
        i++;
    }
    return i;
}

static uint8_t *put_equal(uint8_t *to, uint32_t value, int64_t n, int width)
{
    to = put_varint(to, (uint64_t)n << 1);
    for (int i = 0; i < (width + 7) / 8; i++) {
        *to++ = (uint8_t)(value >> (8 * i));
    }
    return to;
}

/* Groups of eight; what is missing in the last one is 0. */
static uint8_t *put_packed(uint8_t *to, const uint32_t *values, int64_t n, int width)
{
    int64_t groups = (n + GROUP - 1) / GROUP;
    const uint8_t *end;
    if (n == 0) {
        return to;
    }
    to = put_varint(to, (uint64_t)groups << 1 | 1);
    end = to + groups * width;
    uint64_t word = 0;
    int used = 0;
    for (int64_t i = 0; i < n; i++) {
        word |= (uint64_t)values[i] << used;
        used += width;
        if (used >= 32) {
            oci_store_le32(to, (uint32_t)word);
            to += 4;
            word >>= 32;
            used -= 32;
        }
    }
    for (; to < end; to++) {
        *to = (uint8_t)word;
        word >>= 8;
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

static uint8_t *put_hybrid(uint8_t *to, const uint32_t *values, int64_t n, int width)
{
    int64_t run_min = oci_max64(GROUP, (RUN_BITS_MIN + width - 1) / width);
    int64_t packed_from = 0;
    int64_t i = 0;
    while (n - i >= GROUP) {
        int64_t equal = values[i] == values[i + GROUP - 1] ? count_equal(values + i, n - i) : 0;
        if (equal >= run_min) {
            to = put_packed(to, values + packed_from, i - packed_from, width);
            to = put_equal(to, values[i], equal, width);
            i += equal;
            packed_from = i;
        } else {
            i += GROUP;
        }
    }
    return put_packed(to, values + packed_from, n - packed_from, width);
}

oc_status oci_parquet_encode_hybrid(const uint32_t *values, int64_t n, int width,
                                    oci_parquet_buffer *out, oc_error *err)
{
    OC_TRY(oci_parquet_buffer_reserve(out, hybrid_bound(n, width), err));
    uint8_t *to = out->data + out->length;
    if (width == 0) {
        to = n > 0 ? put_equal(to, 0, n, width) : to;
    } else {
        to = put_hybrid(to, values, n, width);
    }
    out->length = to - out->data;
    return OC_OK;
}

/* How many of levels[0..n) are equal to the first, eight at a time. */
static int64_t count_equal_levels(const uint8_t *levels, int64_t n)
{
    const uint64_t first = levels[0] * UINT64_C(0x0101010101010101);
    int64_t i = 0;
    while (i + 8 <= n && oci_load_le64(levels + i) == first) {
        i += 8;
    }
    while (i < n && levels[i] == levels[0]) {
        i++;
    }
    return i;
}

/* By blocks, which are numbers on the stack; a block that begins with a long run gives that as it is. */
static oc_status encode_level_blocks(const uint8_t *levels, int64_t n, int width,
                                     oci_parquet_buffer *out, oc_error *err)
{
    uint32_t block[LEVEL_BLOCK];
    while (n > 0) {
        int64_t here = count_equal_levels(levels, n);
        if (here >= LEVEL_BLOCK || here == n) {
            OC_TRY(oci_parquet_buffer_reserve(out, VARINT_BYTES_MAX + 4, err));
            out->length = put_equal(out->data + out->length, levels[0], here, width) - out->data;
        } else {
            here = oci_min64(n, LEVEL_BLOCK);
            for (int64_t i = 0; i < here; i++) {
                block[i] = levels[i];
            }
            OC_TRY(oci_parquet_encode_hybrid(block, here, width, out, err));
        }
        levels += here;
        n -= here;
    }
    return OC_OK;
}

oc_status oci_parquet_encode_levels(const uint8_t *levels, int64_t n, int width,
                                    oci_parquet_buffer *out, oc_error *err)
{
    int64_t length = out->length;
    oc_status status = encode_level_blocks(levels, n, width, out, err);
    if (status != OC_OK) {
        out->length = length;
    }
    return status;
}
