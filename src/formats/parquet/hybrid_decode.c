/* See hybrid_decode.h. */
#include "formats/parquet/hybrid_decode.h"

#include "base/bits.h"

enum { GROUP = 8, WIDTH_MAX = 32, VARINT_BYTES_MAX = 5 };

oc_status oci_parquet_hybrid_init(oci_parquet_hybrid *h, const uint8_t *data, int64_t size,
                                  int width, oc_error *err)
{
    if (width < 0 || width > WIDTH_MAX) {
        OC_FAIL(err, OC_EDATA, "RLE data has a bit width of %d; 0 to 32 are possible", width);
    }
    *h = (oci_parquet_hybrid){.at = data, .end = data + size, .width = width};
    return OC_OK;
}

/* The varint in front of a run; false when the bytes end inside it or it does not fit 32 bits. */
static bool read_header(oci_parquet_hybrid *h, uint64_t *out)
{
    uint64_t value = 0;
    for (int i = 0; i < VARINT_BYTES_MAX && h->at < h->end; i++) {
        uint8_t byte = *h->at++;
        value |= (uint64_t)(byte & 0x7F) << (7 * i);
        if (byte < 0x80) {
            *out = value;
            return value <= UINT32_MAX;
        }
    }
    return false;
}

/* Groups of packed numbers; the bytes may end inside the last of them. */
static void begin_packed(oci_parquet_hybrid *h, int64_t groups)
{
    int64_t bytes = oci_min64(groups * h->width, h->end - h->at);
    h->left = h->width == 0 ? groups * GROUP : oci_min64(groups * GROUP, bytes * 8 / h->width);
    h->packed = h->at;
    h->packed_index = 0;
    h->at += bytes;
}

static oc_status begin_equal(oci_parquet_hybrid *h, int64_t count, oc_error *err)
{
    int bytes = (h->width + 7) / 8;
    if (h->end - h->at < bytes) {
        OC_FAIL(err, OC_EDATA, "RLE data ends inside the value of a run");
    }
    uint32_t value = 0;
    for (int i = 0; i < bytes; i++) {
        value |= (uint32_t)h->at[i] << (8 * i);
    }
    if (value > oci_low_mask(h->width)) {
        OC_FAIL(err, OC_EDATA, "RLE data has a run of %" PRIu32 ", which is wider than its %d bits",
                value, h->width);
    }
    h->at += bytes;
    h->packed = NULL;
    h->value = value;
    h->left = count;
    return OC_OK;
}

oc_status oci_parquet_hybrid_run(oci_parquet_hybrid *h, oc_error *err)
{
    while (h->left == 0) {
        uint64_t header;
        if (!read_header(h, &header)) {
            OC_FAIL(err, OC_EDATA, "RLE data ends before all of its values are there");
        }
        if (header & 1) {
            begin_packed(h, (int64_t)(header >> 1));
        } else {
            OC_TRY(begin_equal(h, (int64_t)(header >> 1), err));
        }
    }
    return OC_OK;
}

static void pass(oci_parquet_hybrid *h, int64_t n)
{
    h->left -= n;
    h->packed_index += n;
}

oc_status oci_parquet_hybrid_read(oci_parquet_hybrid *h, int64_t n, uint32_t *out, oc_error *err)
{
    while (n > 0) {
        OC_TRY(oci_parquet_hybrid_run(h, err));
        int64_t here = oci_min64(n, h->left);
        if (h->packed != NULL) {
            oci_parquet_unpack32(h->packed, h->end, h->packed_index, h->width, here, out);
        } else {
            for (int64_t i = 0; i < here; i++) {
                out[i] = h->value;
            }
        }
        pass(h, here);
        out += here;
        n -= here;
    }
    return OC_OK;
}

oc_status oci_parquet_hybrid_skip(oci_parquet_hybrid *h, int64_t n, oc_error *err)
{
    while (n > 0) {
        OC_TRY(oci_parquet_hybrid_run(h, err));
        int64_t here = oci_min64(n, h->left);
        pass(h, here);
        n -= here;
    }
    return OC_OK;
}

oc_status oci_parquet_hybrid_read_bits(oci_parquet_hybrid *h, int64_t n, uint8_t *bits,
                                       int64_t offset, int64_t *n_set, oc_error *err)
{
    int64_t set = 0;
    while (n > 0) {
        OC_TRY(oci_parquet_hybrid_run(h, err));
        int64_t here = oci_min64(n, h->left);
        if (h->packed != NULL) {
            oci_bits_copy(bits, offset, h->packed, h->packed_index, here);
            set += oci_bits_count(bits, offset, here);
        } else {
            oci_bits_fill(bits, offset, here, h->value != 0);
            set += h->value != 0 ? here : 0;
        }
        pass(h, here);
        offset += here;
        n -= here;
    }
    if (n_set != NULL) {
        *n_set = set;
    }
    return OC_OK;
}
