/* Beginning with a page's values, and what is done with all types alike: indices, skipping. The values themselves
 * are in decode_fixed.c and decode_bytes.c. */
#include <limits.h>

#include "base/bits.h"
#include "formats/parquet/decode_internal.h"

enum { SIZE_BYTES = 4 };

int32_t oci_parquet_type_width(oci_parquet_type type, int32_t type_length)
{
    switch (type) {
    case OCI_PARQUET_INT32:
    case OCI_PARQUET_FLOAT: return 4;
    case OCI_PARQUET_INT64:
    case OCI_PARQUET_DOUBLE: return 8;
    case OCI_PARQUET_INT96: return 12;
    case OCI_PARQUET_FIXED: return type_length;
    default: return 0;
    }
}

oc_status oci_parquet_fail_short(const oci_parquet_decoder *d, oc_error *err)
{
    OC_FAIL(err, OC_EDATA, "%s values of type %s end before all that the page announces are there",
            oci_parquet_encoding_name(d->encoding), oci_parquet_type_name(d->type));
}

oc_status oci_parquet_check_indices(const oci_parquet_dictionary *dictionary,
                                    const uint32_t *indices, int64_t n, oc_error *err)
{
    uint32_t highest = 0;
    for (int64_t i = 0; i < n; i++) {
        highest = indices[i] > highest ? indices[i] : highest;
    }
    if (n > 0 && highest >= (uint32_t)dictionary->n) {
        OC_FAIL(err, OC_EDATA,
                "index %" PRIu32 " is not in the dictionary, which has %" PRId32 " values", highest,
                dictionary->n);
    }
    return OC_OK;
}

/* ---- init ------------------------------------------------------------------------------------ */

static bool is_bytes(oci_parquet_type type)
{
    return type == OCI_PARQUET_BYTE_ARRAY || type == OCI_PARQUET_FIXED;
}

static bool is_integer(oci_parquet_type type)
{
    return type == OCI_PARQUET_INT32 || type == OCI_PARQUET_INT64;
}

static bool can_have(oci_parquet_encoding encoding, oci_parquet_type type)
{
    switch (encoding) {
    case OCI_PARQUET_PLAIN: return true;
    case OCI_PARQUET_RLE: return type == OCI_PARQUET_BOOLEAN;
    case OCI_PARQUET_RLE_DICTIONARY: return type != OCI_PARQUET_BOOLEAN;
    case OCI_PARQUET_DELTA_BINARY_PACKED: return is_integer(type);
    case OCI_PARQUET_DELTA_LENGTH_BYTE_ARRAY: return type == OCI_PARQUET_BYTE_ARRAY;
    case OCI_PARQUET_DELTA_BYTE_ARRAY: return is_bytes(type);
    case OCI_PARQUET_BYTE_STREAM_SPLIT:
        return is_integer(type) || type == OCI_PARQUET_FLOAT || type == OCI_PARQUET_DOUBLE ||
               type == OCI_PARQUET_FIXED;
    default: return false;
    }
}

static oc_status init_dictionary(oci_parquet_decoder *d, oc_error *err)
{
    if (d->dictionary == NULL) {
        OC_FAIL(err, OC_EDATA, "page has indices into a dictionary, and the column has none");
    }
    int width = 0;
    if (d->at < d->end) { /* nothing at all stands for no values */
        width = *d->at++;
    }
    return oci_parquet_hybrid_init(&d->hybrid, d->at, d->end - d->at, width, err);
}

static oc_status init_booleans(oci_parquet_decoder *d, oc_error *err)
{
    int64_t size = d->end - d->at;
    if (size == 0) {
        return oci_parquet_hybrid_init(&d->hybrid, d->at, 0, 1, err);
    }
    int64_t bytes = size < SIZE_BYTES ? INT64_MAX : oci_load_le32(d->at);
    if (bytes > size - SIZE_BYTES) {
        OC_FAIL(err, OC_EDATA,
                "RLE booleans go beyond the %" PRId64 " bytes that are left in the page", size);
    }
    return oci_parquet_hybrid_init(&d->hybrid, d->at + SIZE_BYTES, bytes, 1, err);
}

/* Numbers in front, bytes behind them. No bytes at all stand for no values. */
static oc_status init_lengths(oci_parquet_decoder *d, oc_error *err)
{
    if (d->at == d->end) {
        return OC_OK;
    }
    if (d->encoding == OCI_PARQUET_DELTA_BYTE_ARRAY) {
        OC_TRY(oci_parquet_delta_init(&d->prefixes, d->at, d->end - d->at, 32, err));
        OC_TRY(oci_parquet_delta_end(&d->prefixes, &d->at, err));
    }
    OC_TRY(oci_parquet_delta_init(&d->lengths, d->at, d->end - d->at, 32, err));
    OC_TRY(oci_parquet_delta_end(&d->lengths, &d->at, err));
    if (d->encoding == OCI_PARQUET_DELTA_BYTE_ARRAY && d->prefixes.n_left != d->lengths.n_left) {
        OC_FAIL(err, OC_EDATA,
                "DELTA_BYTE_ARRAY has %" PRId64 " lengths of prefixes and %" PRId64
                " of what follows",
                d->prefixes.n_left, d->lengths.n_left);
    }
    return OC_OK;
}

static oc_status init_split(oci_parquet_decoder *d, oc_error *err)
{
    int64_t size = d->end - d->at;
    d->n_values = d->width == 0 ? INT64_MAX : size / d->width;
    if (d->width != 0 && size % d->width != 0) {
        OC_FAIL(err, OC_EDATA,
                "BYTE_STREAM_SPLIT has %" PRId64 " bytes for values of %" PRId32 " bytes", size,
                d->width);
    }
    return OC_OK;
}

oc_status oci_parquet_decoder_init(oci_parquet_decoder *out, oci_parquet_encoding encoding,
                                   oci_parquet_type type, int32_t type_length, const uint8_t *data,
                                   int64_t size, const oci_parquet_dictionary *dictionary,
                                   oci_mem *mem, oc_error *err)
{
    if (encoding == OCI_PARQUET_PLAIN_DICTIONARY) {
        encoding = OCI_PARQUET_RLE_DICTIONARY;
    }
    oci_parquet_decoder_deinit(out);
    *out = (oci_parquet_decoder){
        .encoding = encoding,
        .type = type,
        .width = oci_parquet_type_width(type, type_length),
        .dictionary = dictionary,
        .at = data,
        .end = data + size,
        .mem = mem,
    };
    if (!can_have(encoding, type)) {
        OC_FAIL(err, OC_EUNSUPPORTED, "encoding %s of type %s is not supported",
                oci_parquet_encoding_name(encoding), oci_parquet_type_name(type));
    }
    switch (encoding) {
    case OCI_PARQUET_RLE_DICTIONARY: return init_dictionary(out, err);
    case OCI_PARQUET_RLE: return init_booleans(out, err);
    case OCI_PARQUET_DELTA_BINARY_PACKED:
        return size == 0 ? OC_OK
                         : oci_parquet_delta_init(&out->lengths, data, size, 8 * out->width, err);
    case OCI_PARQUET_DELTA_LENGTH_BYTE_ARRAY:
    case OCI_PARQUET_DELTA_BYTE_ARRAY: return init_lengths(out, err);
    case OCI_PARQUET_BYTE_STREAM_SPLIT: return init_split(out, err);
    default: return OC_OK;
    }
}

void oci_parquet_decoder_deinit(oci_parquet_decoder *d)
{
    if (d->last != NULL) {
        oci_mem_free(d->mem, d->last, d->last_capacity);
        d->last = NULL;
        d->last_capacity = 0;
    }
}

/* ---- indices, skipping ----------------------------------------------------------------------- */

oc_status oci_parquet_decode_indices(oci_parquet_decoder *d, int64_t n, int32_t *out, oc_error *err)
{
    OC_TRY(oci_parquet_hybrid_read(&d->hybrid, n, (uint32_t *)out, err));
    return oci_parquet_check_indices(d->dictionary, (const uint32_t *)out, n, err);
}

static oc_status skip_plain(oci_parquet_decoder *d, int64_t n, oc_error *err)
{
    if (d->type == OCI_PARQUET_BOOLEAN) {
        if (n > (d->end - d->at) * CHAR_BIT - d->index) {
            return oci_parquet_fail_short(d, err);
        }
        d->index += n;
        return OC_OK;
    }
    if (d->type != OCI_PARQUET_BYTE_ARRAY) {
        if (d->width > 0 && n > (d->end - d->at) / d->width) {
            return oci_parquet_fail_short(d, err);
        }
        d->at += n * d->width;
        return OC_OK;
    }
    for (int64_t i = 0; i < n; i++) {
        if (d->end - d->at < SIZE_BYTES ||
            oci_load_le32(d->at) > (uint64_t)(d->end - d->at - SIZE_BYTES)) {
            return oci_parquet_fail_short(d, err);
        }
        d->at += SIZE_BYTES + oci_load_le32(d->at);
    }
    return OC_OK;
}

/* Lengths have to be read to know where the bytes of the values behind begin. */
static oc_status skip_lengths(oci_parquet_decoder *d, int64_t n, oc_error *err)
{
    int32_t lengths[OCI_PARQUET_BLOCK];
    while (n > 0) {
        int64_t here = oci_min64(n, OCI_PARQUET_BLOCK);
        int64_t bytes;
        OC_TRY(oci_parquet_decode_refs(d, here, lengths, &bytes, err));
        OC_TRY(oci_parquet_delta_skip(&d->lengths, here, err));
        d->at += bytes;
        n -= here;
    }
    return OC_OK;
}

oc_status oci_parquet_decode_skip(oci_parquet_decoder *d, int64_t n, oc_error *err)
{
    switch (d->encoding) {
    case OCI_PARQUET_RLE_DICTIONARY:
    case OCI_PARQUET_RLE: return oci_parquet_hybrid_skip(&d->hybrid, n, err);
    case OCI_PARQUET_DELTA_BINARY_PACKED: return oci_parquet_delta_skip(&d->lengths, n, err);
    case OCI_PARQUET_DELTA_LENGTH_BYTE_ARRAY: return skip_lengths(d, n, err);
    case OCI_PARQUET_DELTA_BYTE_ARRAY: return oci_parquet_decode_front(d, n, NULL, NULL, 0, err);
    case OCI_PARQUET_BYTE_STREAM_SPLIT:
        if (n > d->n_values - d->index) {
            return oci_parquet_fail_short(d, err);
        }
        d->index += n;
        return OC_OK;
    default: return skip_plain(d, n, err);
    }
}
