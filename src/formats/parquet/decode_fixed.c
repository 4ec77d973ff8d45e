/* Values of a fixed width, and booleans. See decode.h.
 *
 * PLAIN is a copy. Dictionary values are picked by a block of indices at a time, which stays in the cache with its
 * checks. BYTE_STREAM_SPLIT lies as one stream per byte of the values, so values are put together from as many
 * places; 4 and 8 bytes have loops of their own. */
#include <limits.h>

#include "base/bits.h"
#include "formats/parquet/decode_internal.h"

static oc_status decode_plain(oci_parquet_decoder *d, int64_t n, uint8_t *out, oc_error *err)
{
    if (d->width > 0 && n > (d->end - d->at) / d->width) {
        return oci_parquet_fail_short(d, err);
    }
    int64_t bytes = n * d->width;
    if (bytes > 0) {
        memcpy(out, d->at, (size_t)bytes);
    }
    d->at += bytes;
    return OC_OK;
}

/* ---- dictionary ------------------------------------------------------------------------------ */

static inline __attribute__((always_inline)) void pick_width(const uint8_t *values, int64_t width,
                                                             const uint32_t *indices, int64_t n,
                                                             uint8_t *out)
{
    for (int64_t i = 0; i < n; i++) {
        memcpy(out + i * width, values + (int64_t)indices[i] * width, (size_t)width);
    }
}

/* Widths without a loop of their own: as long as there is room, 16 bytes are copied whatever the width, and what is
 * too much is overwritten by the next value. A dictionary has that many readable bytes behind it. */
static void pick_any(const uint8_t *values, int64_t width, const uint32_t *indices, int64_t n,
                     uint8_t *out)
{
    enum { BLIND = 16 };
    int64_t n_blind = width > 0 && width <= BLIND ? n - BLIND / width : 0;
    int64_t i = 0;
    for (; i < n_blind; i++) {
        memcpy(out + i * width, values + indices[i] * width, BLIND);
    }
    pick_width(values, width, indices + i, n - i, out + i * width);
}

static void pick(const oci_parquet_dictionary *dictionary, const uint32_t *indices, int64_t n,
                 uint8_t *out)
{
    const uint8_t *values = dictionary->values;
    switch (dictionary->width) {
    case 4: pick_width(values, 4, indices, n, out); break;
    case 8: pick_width(values, 8, indices, n, out); break;
    case 12: pick_width(values, 12, indices, n, out); break;
    case 16: pick_width(values, 16, indices, n, out); break;
    default: pick_any(values, dictionary->width, indices, n, out); break;
    }
}

static oc_status decode_dictionary(oci_parquet_decoder *d, int64_t n, uint8_t *out, oc_error *err)
{
    uint32_t indices[OCI_PARQUET_BLOCK];
    while (n > 0) {
        int64_t here = oci_min64(n, OCI_PARQUET_BLOCK);
        OC_TRY(oci_parquet_hybrid_read(&d->hybrid, here, indices, err));
        OC_TRY(oci_parquet_check_indices(d->dictionary, indices, here, err));
        pick(d->dictionary, indices, here, out);
        out += here * d->width;
        n -= here;
    }
    return OC_OK;
}

/* ---- delta ----------------------------------------------------------------------------------- */

/* Numbers are made in a block, since `out` may have any alignment. */
static oc_status decode_delta(oci_parquet_decoder *d, int64_t n, uint8_t *out, oc_error *err)
{
    int64_t block[OCI_PARQUET_BLOCK];
    while (n > 0) {
        int64_t here = oci_min64(n, OCI_PARQUET_BLOCK);
        if (d->width == 4) {
            OC_TRY(oci_parquet_delta_read32(&d->lengths, here, (int32_t *)(void *)block, err));
        } else {
            OC_TRY(oci_parquet_delta_read64(&d->lengths, here, block, err));
        }
        memcpy(out, block, (size_t)(here * d->width));
        out += here * d->width;
        n -= here;
    }
    return OC_OK;
}

/* FIXED as DELTA_BYTE_ARRAY: every value has to have the width. */
static oc_status decode_front_fixed(oci_parquet_decoder *d, int64_t n, uint8_t *out, oc_error *err)
{
    int32_t lengths[OCI_PARQUET_BLOCK];
    while (n > 0) {
        int64_t here = oci_min64(n, OCI_PARQUET_BLOCK);
        int64_t bytes;
        OC_TRY(oci_parquet_decode_refs(d, here, lengths, &bytes, err));
        for (int64_t i = 0; i < here; i++) {
            if (lengths[i] != d->width) {
                OC_FAIL(err, OC_EDATA, "a value of %" PRId32 " bytes is among those of %" PRId32,
                        lengths[i], d->width);
            }
        }
        OC_TRY(oci_parquet_decode_front(d, here, NULL, out, bytes, err));
        out += bytes;
        n -= here;
    }
    return OC_OK;
}

/* ---- byte stream split ----------------------------------------------------------------------- */

/* Puts values together by shifts, which compilers turn into vectors. */
#define DEFINE_JOIN(bits)                                                                   \
    static void join##bits(const uint8_t *from, int64_t stride, int64_t n, uint8_t *out)    \
    {                                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                   \
            uint##bits##_t value = 0;                                                       \
            for (int k = 0; k < (bits) / 8; k++) {                                          \
                value |= (uint##bits##_t)((uint##bits##_t)from[k * stride + i] << (8 * k)); \
            }                                                                               \
            oci_store_le##bits(out + i * ((bits) / 8), value);                              \
        }                                                                                   \
    }

DEFINE_JOIN(32)
DEFINE_JOIN(64)

static oc_status decode_split(oci_parquet_decoder *d, int64_t n, uint8_t *out, oc_error *err)
{
    if (n > d->n_values - d->index) {
        return oci_parquet_fail_short(d, err);
    }
    const uint8_t *from = d->at + d->index;
    d->index += n;
    switch (d->width) {
    case 4: join32(from, d->n_values, n, out); return OC_OK;
    case 8: join64(from, d->n_values, n, out); return OC_OK;
    default: break;
    }
    for (int32_t k = 0; k < d->width; k++) {
        const uint8_t *stream = from + k * d->n_values;
        for (int64_t i = 0; i < n; i++) {
            out[i * d->width + k] = stream[i];
        }
    }
    return OC_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

oc_status oci_parquet_decode_fixed(oci_parquet_decoder *d, int64_t n, void *out, oc_error *err)
{
    switch (d->encoding) {
    case OCI_PARQUET_RLE_DICTIONARY: return decode_dictionary(d, n, out, err);
    case OCI_PARQUET_DELTA_BINARY_PACKED: return decode_delta(d, n, out, err);
    case OCI_PARQUET_DELTA_BYTE_ARRAY: return decode_front_fixed(d, n, out, err);
    case OCI_PARQUET_BYTE_STREAM_SPLIT: return decode_split(d, n, out, err);
    default: return decode_plain(d, n, out, err);
    }
}

oc_status oci_parquet_decode_bits(oci_parquet_decoder *d, int64_t n, uint8_t *bits, int64_t offset,
                                  oc_error *err)
{
    if (d->encoding == OCI_PARQUET_RLE) {
        return oci_parquet_hybrid_read_bits(&d->hybrid, n, bits, offset, NULL, err);
    }
    if (n > (d->end - d->at) * CHAR_BIT - d->index) {
        return oci_parquet_fail_short(d, err);
    }
    oci_bits_copy(bits, offset, d->at, d->index, n);
    d->index += n;
    return OC_OK;
}
