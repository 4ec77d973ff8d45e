/* Byte arrays: lengths first, with all checks, then a copy that needs none. See decode.h.
 *
 * DELTA_BYTE_ARRAY stores of a value only what differs from the one before it, so the last value that was passed is
 * kept; inside a call the one before is found in what was just written. */
#include "base/bits.h"
#include "formats/parquet/byte_copy.h"
#include "formats/parquet/decode_internal.h"

enum { SIZE_BYTES = 4, LAST_BYTES_MIN = 256 };

/* ---- first pass ------------------------------------------------------------------------------ */

static oc_status refs_plain(const oci_parquet_decoder *d, int64_t n, int32_t *refs, int64_t *bytes,
                            oc_error *err)
{
    const uint8_t *at = d->at;
    for (int64_t i = 0; i < n; i++) {
        if (d->end - at < SIZE_BYTES) {
            return oci_parquet_fail_short(d, err);
        }
        uint32_t length = oci_load_le32(at);
        at += SIZE_BYTES;
        if (length > INT32_MAX || (int64_t)length > d->end - at) {
            OC_FAIL(err, OC_EDATA,
                    "a value of %" PRIu32 " bytes begins %" PRId64 " bytes before the page ends",
                    length, (int64_t)(d->end - at));
        }
        refs[i] = (int32_t)length;
        at += length;
    }
    *bytes = at - d->at - n * SIZE_BYTES;
    return OC_OK;
}

static oc_status refs_dictionary(const oci_parquet_decoder *d, int64_t n, int32_t *refs,
                                 int64_t *bytes, oc_error *err)
{
    oci_parquet_hybrid hybrid = d->hybrid;
    const int32_t *offsets = d->dictionary->offsets;
    OC_TRY(oci_parquet_hybrid_read(&hybrid, n, (uint32_t *)refs, err));
    OC_TRY(oci_parquet_check_indices(d->dictionary, (const uint32_t *)refs, n, err));
    int64_t total = 0;
    for (int64_t i = 0; i < n; i++) {
        total += offsets[refs[i] + 1] - offsets[refs[i]];
    }
    *bytes = total;
    return OC_OK;
}

static oc_status refs_lengths(const oci_parquet_decoder *d, int64_t n, int32_t *refs,
                              int64_t *bytes, oc_error *err)
{
    oci_parquet_delta lengths = d->lengths;
    OC_TRY(oci_parquet_delta_read32(&lengths, n, refs, err));
    int64_t total = 0;
    int32_t signs = 0;
    for (int64_t i = 0; i < n; i++) {
        total += refs[i];
        signs |= refs[i];
    }
    if (signs < 0 || total > d->end - d->at) {
        OC_FAIL(err, OC_EDATA,
                "lengths of values are negative or go beyond the %" PRId64
                " bytes that are left in the page",
                (int64_t)(d->end - d->at));
    }
    *bytes = total;
    return OC_OK;
}

/* A value shares `prefix` bytes with the one before, of `before` bytes, and adds `suffix`, of `room` bytes that are
 * left in the page. */
static oc_status check_front(int32_t prefix, int32_t suffix, int64_t before, int64_t room,
                             oc_error *err)
{
    if (prefix < 0 || prefix > before) {
        OC_FAIL(err, OC_EDATA,
                "a value shares %" PRId32 " bytes with the one before, which has %" PRId64, prefix,
                before);
    }
    if (suffix < 0 || suffix > room || prefix > INT32_MAX - suffix) {
        OC_FAIL(err, OC_EDATA,
                "a value adds %" PRId32 " bytes to its prefix, %" PRId64 " are left in the page",
                suffix, room);
    }
    return OC_OK;
}

static oc_status refs_front(const oci_parquet_decoder *d, int64_t n, int32_t *refs, int64_t *bytes,
                            oc_error *err)
{
    oci_parquet_delta lengths = d->lengths;
    oci_parquet_delta prefixes = d->prefixes;
    int32_t block[OCI_PARQUET_BLOCK];
    int64_t before = d->last_length;
    int64_t room = d->end - d->at;
    *bytes = 0;
    for (int64_t start = 0; start < n; start += OCI_PARQUET_BLOCK) {
        int64_t here = oci_min64(n - start, OCI_PARQUET_BLOCK);
        OC_TRY(oci_parquet_delta_read32(&lengths, here, refs + start, err));
        OC_TRY(oci_parquet_delta_read32(&prefixes, here, block, err));
        for (int64_t i = 0; i < here; i++) {
            int32_t suffix = refs[start + i];
            OC_TRY(check_front(block[i], suffix, before, room, err));
            before = block[i] + suffix;
            room -= suffix;
            refs[start + i] = (int32_t)before;
            *bytes += before;
        }
    }
    return OC_OK;
}

oc_status oci_parquet_decode_refs(const oci_parquet_decoder *d, int64_t n, int32_t *refs,
                                  int64_t *bytes, oc_error *err)
{
    int64_t unwanted;
    bytes = bytes != NULL ? bytes : &unwanted;
    switch (d->encoding) {
    case OCI_PARQUET_RLE_DICTIONARY: return refs_dictionary(d, n, refs, bytes, err);
    case OCI_PARQUET_DELTA_LENGTH_BYTE_ARRAY: return refs_lengths(d, n, refs, bytes, err);
    case OCI_PARQUET_DELTA_BYTE_ARRAY: return refs_front(d, n, refs, bytes, err);
    default: return refs_plain(d, n, refs, bytes, err);
    }
}

int64_t oci_parquet_refs_fit(const oci_parquet_decoder *d, const int32_t *refs, int64_t n,
                             int64_t max_bytes, int64_t *bytes)
{
    const int32_t *offsets = d->encoding == OCI_PARQUET_RLE_DICTIONARY ? d->dictionary->offsets
                                                                       : NULL;
    int64_t total = 0;
    int64_t i = 0;
    for (; i < n; i++) {
        int32_t length = offsets == NULL ? refs[i] : offsets[refs[i] + 1] - offsets[refs[i]];
        if (length > max_bytes - total) {
            break;
        }
        total += length;
    }
    *bytes = total;
    return i;
}

/* ---- second pass ----------------------------------------------------------------------------- */

static void bytes_plain(oci_parquet_decoder *d, int64_t n, const int32_t *lengths, uint8_t *out,
                        int64_t capacity)
{
    const uint8_t *at = d->at;
    const uint8_t *to_end = out + capacity;
    for (int64_t i = 0; i < n; i++) {
        at += SIZE_BYTES;
        oci_parquet_copy_bytes(out, to_end - out, at, d->end - at, lengths[i]);
        at += lengths[i];
        out += lengths[i];
    }
    d->at = at;
}

static oc_status bytes_dictionary(oci_parquet_decoder *d, int64_t n, int32_t *refs, uint8_t *out,
                                  int64_t capacity, oc_error *err)
{
    const int32_t *offsets = d->dictionary->offsets;
    const uint8_t *values = d->dictionary->values;
    const uint8_t *to_end = out + capacity;
    OC_TRY(oci_parquet_hybrid_skip(&d->hybrid, n, err));
    for (int64_t i = 0; i < n; i++) {
        int32_t offset = offsets[refs[i]];
        int32_t length = offsets[refs[i] + 1] - offset;
        oci_parquet_copy_bytes(out, to_end - out, values + offset, OCI_PARQUET_COPY_BYTES, length);
        refs[i] = length;
        out += length;
    }
    return OC_OK;
}

static oc_status bytes_lengths(oci_parquet_decoder *d, int64_t n, const int32_t *lengths,
                               uint8_t *out, oc_error *err)
{
    int64_t total = 0;
    for (int64_t i = 0; i < n; i++) {
        total += lengths[i];
    }
    if (total > 0) {
        memcpy(out, d->at, (size_t)total);
    }
    d->at += total;
    return oci_parquet_delta_skip(&d->lengths, n, err);
}

/* Room for the value before; what is there stays. */
static oc_status grow_last(oci_parquet_decoder *d, int64_t bytes, oc_error *err)
{
    if (bytes <= d->last_capacity) {
        return OC_OK;
    }
    void *grown;
    int64_t capacity = oci_max64(LAST_BYTES_MIN, oci_max64(bytes, 2 * d->last_capacity));
    OC_TRY(oci_mem_realloc(d->mem, d->last, d->last_capacity, capacity, &grown, err));
    d->last = grown;
    d->last_capacity = capacity;
    return OC_OK;
}

/* Turns the value before into the next one where it lies. */
static oc_status pass_front(oci_parquet_decoder *d, int32_t prefix, int32_t suffix, oc_error *err)
{
    OC_TRY(check_front(prefix, suffix, d->last_length, d->end - d->at, err));
    OC_TRY(grow_last(d, (int64_t)prefix + suffix, err));
    if (suffix > 0) {
        memcpy(d->last + prefix, d->at, (size_t)suffix);
    }
    d->last_length = (int64_t)prefix + suffix;
    d->at += suffix;
    return OC_OK;
}

/* Values of one block into `out`; `before` is the one in front of them. */
static oc_status join_fronts(oci_parquet_decoder *d, int64_t n, const int32_t *prefixes,
                             const int32_t *suffixes, uint8_t *out, const uint8_t *out_end,
                             const uint8_t *before, int64_t before_length, oc_error *err)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t room = d->end - d->at;
        OC_TRY(check_front(prefixes[i], suffixes[i], before_length, room, err));
        if ((int64_t)prefixes[i] + suffixes[i] > out_end - out) {
            return oci_parquet_fail_short(d, err);
        }
        const uint8_t *value = out;
        if (prefixes[i] > 0) {
            memcpy(out, before, (size_t)prefixes[i]);
            out += prefixes[i];
        }
        oci_parquet_copy_bytes(out, out_end - out, d->at, room, suffixes[i]);
        out += suffixes[i];
        d->at += suffixes[i];
        before = value;
        before_length = out - value;
    }
    OC_TRY(grow_last(d, before_length, err));
    if (before_length > 0 && before != d->last) {
        memcpy(d->last, before, (size_t)before_length);
    }
    d->last_length = before_length;
    return OC_OK;
}

static int64_t sum_lengths(const int32_t *a, const int32_t *b, int64_t n)
{
    int64_t total = 0;
    for (int64_t i = 0; i < n; i++) {
        total += (int64_t)a[i] + b[i];
    }
    return total;
}

oc_status oci_parquet_decode_front(oci_parquet_decoder *d, int64_t n, int32_t *lengths,
                                   uint8_t *out, int64_t capacity, oc_error *err)
{
    int32_t prefixes[OCI_PARQUET_BLOCK];
    int32_t suffixes[OCI_PARQUET_BLOCK];
    const uint8_t *out_end = out == NULL ? NULL : out + capacity;
    while (n > 0) {
        int64_t here = oci_min64(n, OCI_PARQUET_BLOCK);
        OC_TRY(oci_parquet_delta_read32(&d->prefixes, here, prefixes, err));
        OC_TRY(oci_parquet_delta_read32(&d->lengths, here, suffixes, err));
        if (out != NULL) {
            OC_TRY(join_fronts(d, here, prefixes, suffixes, out, out_end, d->last, d->last_length,
                               err));
            out += sum_lengths(prefixes, suffixes, here);
        }
        for (int64_t i = 0; i < here && out == NULL; i++) {
            OC_TRY(pass_front(d, prefixes[i], suffixes[i], err));
        }
        for (int64_t i = 0; i < here && lengths != NULL; i++) {
            *lengths++ = prefixes[i] + suffixes[i];
        }
        n -= here;
    }
    return OC_OK;
}

oc_status oci_parquet_decode_bytes(oci_parquet_decoder *d, int64_t n, int32_t *refs, uint8_t *out,
                                   int64_t capacity, oc_error *err)
{
    switch (d->encoding) {
    case OCI_PARQUET_RLE_DICTIONARY: return bytes_dictionary(d, n, refs, out, capacity, err);
    case OCI_PARQUET_DELTA_LENGTH_BYTE_ARRAY: return bytes_lengths(d, n, refs, out, err);
    case OCI_PARQUET_DELTA_BYTE_ARRAY:
        return oci_parquet_decode_front(d, n, refs, out, capacity, err);
    default: bytes_plain(d, n, refs, out, capacity); return OC_OK;
    }
}
