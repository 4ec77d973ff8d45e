/* See delta_decode.h.
 *
 * A miniblock is unpacked where its values go, and summed up there. */
#include "formats/parquet/delta_decode.h"

#include "base/bits.h"
#include "formats/parquet/hybrid_decode.h"

enum { MINI_UNIT = 32, BLOCK_VALUES_MAX = 1 << 30, SKIP_VALUES = 128 };

static oc_status fail_short(oc_error *err)
{
    OC_FAIL(err, OC_EDATA, "delta-encoded numbers end before all of them are there");
}

/* Of up to 64 bits; false when the bytes end or the number is longer. */
static bool read_varint(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && *at < end; shift += 7) {
        uint8_t byte = *(*at)++;
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *out = value;
            return true;
        }
    }
    return false;
}

static uint64_t unzigzag(uint64_t value)
{
    return (value >> 1) ^ (0 - (value & 1));
}

oc_status oci_parquet_delta_init(oci_parquet_delta *d, const uint8_t *data, int64_t size,
                                 int width_max, oc_error *err)
{
    uint64_t block_values, n_minis, n, first;
    *d = (oci_parquet_delta){.at = data, .end = data + size, .width_max = width_max};
    if (!read_varint(&d->at, d->end, &block_values) || !read_varint(&d->at, d->end, &n_minis) ||
        !read_varint(&d->at, d->end, &n) || !read_varint(&d->at, d->end, &first)) {
        OC_FAIL(err, OC_EDATA, "delta-encoded numbers end inside their header");
    }
    if (block_values == 0 || block_values > BLOCK_VALUES_MAX || n_minis == 0 ||
        n_minis > block_values || block_values % n_minis != 0 ||
        block_values / n_minis % MINI_UNIT != 0) {
        OC_FAIL(err, OC_EDATA,
                "delta-encoded numbers have blocks of %" PRIu64 " values in %" PRIu64
                " miniblocks; these have to be multiples of 32 values",
                block_values, n_minis);
    }
    if (n > INT32_MAX) {
        OC_FAIL(err, OC_EDATA, "delta-encoded numbers are %" PRIu64 " in one page", n);
    }
    d->n_left = (int64_t)n;
    d->n_minis = (int32_t)n_minis;
    d->mini_values = (int64_t)(block_values / n_minis);
    d->mini_index = d->mini_values; /* the first miniblock is still to come */
    d->is_first = true;
    d->last = unzigzag(first);
    return OC_OK;
}

/* Goes to the next miniblock: over the bytes of the one at hand, and the header of a block. */
static oc_status begin_mini(oci_parquet_delta *d, oc_error *err)
{
    if (d->mini_left > 0) {
        int64_t bytes = d->mini_values / 8 * d->width;
        if (bytes > d->end - d->at) {
            return fail_short(err);
        }
        d->at += bytes;
        d->mini_left--;
        d->widths++;
    }
    if (d->mini_left == 0) {
        uint64_t min_delta;
        if (!read_varint(&d->at, d->end, &min_delta) || d->end - d->at < d->n_minis) {
            return fail_short(err);
        }
        d->min_delta = unzigzag(min_delta);
        d->widths = d->at;
        d->at += d->n_minis;
        d->mini_left = d->n_minis;
    }
    if (*d->widths > d->width_max) {
        OC_FAIL(err, OC_EDATA, "delta-encoded numbers of %d bits have differences of %d bits",
                d->width_max, *d->widths);
    }
    d->width = *d->widths;
    d->mini_index = 0;
    return OC_OK;
}

/* Values of one miniblock that can be given at once, at most n > 0; their bits are there. */
static oc_status next_values(oci_parquet_delta *d, int64_t n, int64_t *here, oc_error *err)
{
    if (d->mini_index == d->mini_values) {
        OC_TRY(begin_mini(d, err));
    }
    *here = oci_min64(n, d->mini_values - d->mini_index);
    if (oci_bytes_for_bits((d->mini_index + *here) * d->width) > d->end - d->at) {
        return fail_short(err);
    }
    return OC_OK;
}

#define DEFINE_READ(bits)                                                                       \
    static void sum##bits(oci_parquet_delta *d, uint##bits##_t *values, int64_t n)              \
    {                                                                                           \
        uint##bits##_t last = (uint##bits##_t)d->last;                                          \
        const uint##bits##_t step = (uint##bits##_t)d->min_delta;                               \
        for (int64_t i = 0; i < n; i++) {                                                       \
            last += step + values[i];                                                           \
            values[i] = last;                                                                   \
        }                                                                                       \
        d->last = last;                                                                         \
    }                                                                                           \
                                                                                                \
    oc_status oci_parquet_delta_read##bits(oci_parquet_delta *d, int64_t n, int##bits##_t *out, \
                                           oc_error *err)                                       \
    {                                                                                           \
        if (n > d->n_left) {                                                                    \
            return fail_short(err);                                                             \
        }                                                                                       \
        if (n > 0 && d->is_first) {                                                             \
            *out++ = (int##bits##_t)d->last;                                                    \
            d->is_first = false;                                                                \
            d->n_left--;                                                                        \
            n--;                                                                                \
        }                                                                                       \
        while (n > 0) {                                                                         \
            int64_t here;                                                                       \
            OC_TRY(next_values(d, n, &here, err));                                              \
            uint##bits##_t *values = (uint##bits##_t *)out;                                     \
            oci_parquet_unpack##bits(d->at, d->end, d->mini_index, d->width, here, values);     \
            sum##bits(d, values, here);                                                         \
            d->mini_index += here;                                                              \
            d->n_left -= here;                                                                  \
            out += here;                                                                        \
            n -= here;                                                                          \
        }                                                                                       \
        return OC_OK;                                                                           \
    }

DEFINE_READ(32)
DEFINE_READ(64)

oc_status oci_parquet_delta_skip(oci_parquet_delta *d, int64_t n, oc_error *err)
{
    int64_t values[SKIP_VALUES];
    while (n > 0) {
        int64_t here = oci_min64(n, SKIP_VALUES);
        OC_TRY(oci_parquet_delta_read64(d, here, values, err));
        n -= here;
    }
    return OC_OK;
}

oc_status oci_parquet_delta_end(const oci_parquet_delta *d, const uint8_t **end, oc_error *err)
{
    oci_parquet_delta walk = *d;
    int64_t left = walk.n_left - (walk.is_first && walk.n_left > 0 ? 1 : 0);
    left -= walk.mini_values - walk.mini_index;
    for (; left > 0; left -= walk.mini_values) {
        OC_TRY(begin_mini(&walk, err));
    }
    int64_t bytes = walk.mini_left > 0 ? walk.mini_values / 8 * walk.width : 0;
    if (bytes > walk.end - walk.at) {
        return fail_short(err);
    }
    *end = walk.at + bytes;
    return OC_OK;
}
