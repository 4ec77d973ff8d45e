/* See level_decode.h. */
#include "formats/parquet/level_decode.h"

#include "base/bits.h"

enum { LEVEL_MAX = 255, SIZE_BYTES = 4, BLOCK = 256 };

static int level_width(int max)
{
    return max == 0 ? 0 : 32 - __builtin_clz((unsigned)max);
}

static oc_status check_max(int max, oc_error *err)
{
    if (max < 0 || max > LEVEL_MAX) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "levels of up to %d are deeper than the %d that are supported", max, LEVEL_MAX);
    }
    return OC_OK;
}

static oc_status init_bit_packed(oci_parquet_levels *l, int64_t n_values, const uint8_t *data,
                                 int64_t size, int64_t *used, oc_error *err)
{
    *used = oci_bytes_for_bits(n_values * level_width(l->max));
    if (*used > size) {
        OC_FAIL(err, OC_EDATA,
                "BIT_PACKED levels of %" PRId64 " values take %" PRId64 " bytes, %" PRId64
                " are left in the page",
                n_values, *used, size);
    }
    l->is_bit_packed = true;
    l->bits = data;
    l->n = n_values;
    return OC_OK;
}

oc_status oci_parquet_levels_init_v1(oci_parquet_levels *l, oci_parquet_encoding encoding, int max,
                                     int64_t n_values, const uint8_t *data, int64_t size,
                                     int64_t *used, oc_error *err)
{
    *l = (oci_parquet_levels){.max = max};
    *used = 0;
    OC_TRY(check_max(max, err));
    if (max == 0) {
        return OC_OK;
    }
    if (encoding == OCI_PARQUET_BIT_PACKED) {
        return init_bit_packed(l, n_values, data, size, used, err);
    }
    if (encoding != OCI_PARQUET_RLE) {
        OC_FAIL(err, OC_EDATA, "levels have the encoding %s, which is none of levels",
                oci_parquet_encoding_name(encoding));
    }
    int64_t bytes = size < SIZE_BYTES ? INT64_MAX : oci_load_le32(data);
    if (bytes > size - SIZE_BYTES) {
        OC_FAIL(err, OC_EDATA, "levels go beyond the %" PRId64 " bytes that are left in the page",
                size);
    }
    *used = SIZE_BYTES + bytes;
    return oci_parquet_hybrid_init(&l->hybrid, data + SIZE_BYTES, bytes, level_width(max), err);
}

oc_status oci_parquet_levels_init_v2(oci_parquet_levels *l, int max, const uint8_t *data,
                                     int64_t size, oc_error *err)
{
    *l = (oci_parquet_levels){.max = max};
    OC_TRY(check_max(max, err));
    return oci_parquet_hybrid_init(&l->hybrid, data, size, level_width(max), err);
}

static oc_status fail_above(const oci_parquet_levels *l, uint32_t level, oc_error *err)
{
    OC_FAIL(err, OC_EDATA, "a level is %" PRIu32 ", the column's highest is %d", level, l->max);
}

static oc_status fail_short(oc_error *err)
{
    OC_FAIL(err, OC_EDATA, "BIT_PACKED levels end before all of the page are there");
}

/* ---- BIT_PACKED ------------------------------------------------------------------------------ */

/* Number `index`, counted from the highest bit of each byte on; at most 8 bits, so in two bytes. */
static uint32_t bit_packed_at(const oci_parquet_levels *l, int64_t index)
{
    int width = level_width(l->max);
    int64_t bit = index * width;
    const uint8_t *from = l->bits + (bit >> 3);
    int in_byte = (int)(bit & 7);
    unsigned word = (unsigned)from[0] << 8;
    if (in_byte + width > 8) {
        word |= from[1];
    }
    return (word >> (16 - in_byte - width)) & (unsigned)oci_low_mask(width);
}

static oc_status read_bit_packed(oci_parquet_levels *l, int64_t n, uint8_t *out, oc_error *err)
{
    if (n > l->n - l->index) {
        return fail_short(err);
    }
    for (int64_t i = 0; i < n; i++) {
        uint32_t level = bit_packed_at(l, l->index + i);
        if (level > (uint32_t)l->max) {
            return fail_above(l, level, err);
        }
        out[i] = (uint8_t)level;
    }
    l->index += n;
    return OC_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Numbers of a packed run, by way of a block of them. */
static oc_status read_packed(oci_parquet_levels *l, int64_t n, uint8_t *out, oc_error *err)
{
    uint32_t block[BLOCK];
    while (n > 0) {
        int64_t here = oci_min64(n, BLOCK);
        OC_TRY(oci_parquet_hybrid_read(&l->hybrid, here, block, err));
        uint32_t highest = 0;
        for (int64_t i = 0; i < here; i++) {
            highest = block[i] > highest ? block[i] : highest;
            out[i] = (uint8_t)block[i];
        }
        if (highest > (uint32_t)l->max) {
            return fail_above(l, highest, err);
        }
        out += here;
        n -= here;
    }
    return OC_OK;
}

oc_status oci_parquet_levels_read(oci_parquet_levels *l, int64_t n, uint8_t *out, oc_error *err)
{
    if (l->is_bit_packed) {
        return read_bit_packed(l, n, out, err);
    }
    while (n > 0) {
        uint8_t level;
        int64_t n_equal;
        OC_TRY(oci_parquet_levels_peek(l, n, &level, &n_equal, err));
        if (n_equal > 0) {
            memset(out, level, (size_t)n_equal);
            OC_TRY(oci_parquet_levels_skip(l, n_equal, err));
        } else {
            n_equal = oci_min64(n, l->hybrid.left);
            OC_TRY(read_packed(l, n_equal, out, err));
        }
        out += n_equal;
        n -= n_equal;
    }
    return OC_OK;
}

oc_status oci_parquet_levels_skip(oci_parquet_levels *l, int64_t n, oc_error *err)
{
    if (l->max == 0) {
        return OC_OK;
    }
    if (!l->is_bit_packed) {
        return oci_parquet_hybrid_skip(&l->hybrid, n, err);
    }
    if (n > l->n - l->index) {
        return fail_short(err);
    }
    l->index += n;
    return OC_OK;
}

oc_status oci_parquet_levels_read_bits(oci_parquet_levels *l, int64_t n, uint8_t *bits,
                                       int64_t offset, int64_t *n_set, oc_error *err)
{
    if (!l->is_bit_packed) {
        return oci_parquet_hybrid_read_bits(&l->hybrid, n, bits, offset, n_set, err);
    }
    if (n > l->n - l->index) {
        return fail_short(err);
    }
    for (int64_t i = 0; i < n; i++) {
        oci_bit_put(bits, offset + i, bit_packed_at(l, l->index + i) != 0);
    }
    l->index += n;
    *n_set = oci_bits_count(bits, offset, n);
    return OC_OK;
}

oc_status oci_parquet_levels_peek(oci_parquet_levels *l, int64_t n, uint8_t *level,
                                  int64_t *n_equal, oc_error *err)
{
    *level = 0;
    *n_equal = 0;
    if (l->max == 0) {
        *n_equal = n;
        return OC_OK;
    }
    if (l->is_bit_packed || n == 0) {
        return OC_OK;
    }
    OC_TRY(oci_parquet_hybrid_run(&l->hybrid, err));
    if (l->hybrid.packed == NULL) {
        if (l->hybrid.value > (uint32_t)l->max) {
            return fail_above(l, l->hybrid.value, err);
        }
        *level = (uint8_t)l->hybrid.value;
        *n_equal = oci_min64(n, l->hybrid.left);
    }
    return OC_OK;
}
