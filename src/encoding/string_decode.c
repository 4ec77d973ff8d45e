/* A string vector to offsets, views or fixed-size values. Each kind gives the lengths page by page
 * and the bytes one behind the other; what a page of lengths becomes is the business of the sink. */
#include "encoding/string_decode_internal.h"

oc_status oci_string_fail(oc_error *err)
{
    OC_FAIL(err, OC_EDATA, "damaged strings: lengths and bytes do not fit together");
}

/* ---- header ---------------------------------------------------------------------------------- */

static oc_status skip_numbers(oci_strings_in *out, int64_t size, int64_t n, oc_error *err)
{
    oci_int_reader reader;
    OC_TRY(oci_int_reader_open(&reader, out->packed + out->packed_size, size - out->packed_size, n,
                               err));
    out->packed_size += reader.size;
    return OC_OK;
}

/* Whether the sizes can be true for n strings of this kind. */
static bool is_sane(uint64_t kind, uint64_t value_bytes, uint64_t bytes_size, uint64_t extra,
                    uint64_t n)
{
    if (value_bytes > (uint64_t)OCI_STRINGS_VALUE_BYTES_MAX) {
        return false;
    }
    switch (kind) {
    case OCI_STRINGS_PLAIN: return bytes_size == value_bytes && extra == 0;
    case OCI_STRINGS_DICTIONARY:
        return bytes_size <= value_bytes && extra <= OCI_STRINGS_DISTINCT_MAX && extra <= n;
    case OCI_STRINGS_FRONT: return bytes_size <= value_bytes && extra == 0;
    case OCI_STRINGS_SHARED: return extra <= bytes_size;
    case OCI_STRINGS_NUMBERED: /* a digit each at least */
        return bytes_size < value_bytes && extra <= OCI_STRINGS_DIGITS_MAX &&
               n <= value_bytes / (bytes_size + 1);
    default: return false;
    }
}

static oc_status read_header(const uint8_t *header, int64_t n, int64_t bytes_left,
                             oci_strings_in *out, oc_error *err)
{
    uint64_t kind = oci_load_le64(header + OCI_STRINGS_AT_KIND);
    uint64_t value_bytes = oci_load_le64(header + OCI_STRINGS_AT_VALUE_BYTES);
    uint64_t bytes_size = oci_load_le64(header + OCI_STRINGS_AT_BYTES_SIZE);
    uint64_t extra = oci_load_le64(header + OCI_STRINGS_AT_EXTRA);
    if (bytes_size > (uint64_t)bytes_left ||
        !is_sane(kind, value_bytes, bytes_size, extra, (uint64_t)n)) {
        OC_FAIL(err, OC_EDATA, "damaged strings: the header of the vector is out of bounds");
    }
    out->n = n;
    out->value_bytes = (int64_t)value_bytes;
    bool is_made = kind == OCI_STRINGS_FRONT || kind == OCI_STRINGS_NUMBERED;
    out->stored_bytes = (int64_t)(is_made ? value_bytes : bytes_size);
    out->kind = (uint8_t)kind;
    out->extra = (int64_t)extra;
    out->bytes_size = (int64_t)bytes_size;
    return OC_OK;
}

oc_status oci_strings_open(oci_pack_in *in, int64_t n, oci_strings_in *out, oc_error *err)
{
    int64_t left = in->packed_size - in->packed_at;
    if (left < OCI_STRINGS_HEADER_BYTES) {
        OC_FAIL(err, OC_EDATA, "damaged strings: the header of the vector is cut off");
    }
    const uint8_t *header = in->packed + in->packed_at;
    *out = (oci_strings_in){.packed = header + OCI_STRINGS_HEADER_BYTES};
    OC_TRY(read_header(header, n, in->bytes_size - in->bytes_at, out, err));
    left -= OCI_STRINGS_HEADER_BYTES;
    OC_TRY(skip_numbers(out, left, n, err));
    if (out->kind != OCI_STRINGS_PLAIN && out->kind != OCI_STRINGS_NUMBERED) {
        OC_TRY(skip_numbers(out, left, out->kind == OCI_STRINGS_DICTIONARY ? out->extra : n, err));
    }
    out->bytes = out->bytes_size > 0 ? in->bytes + in->bytes_at : out->packed;
    in->packed_at += OCI_STRINGS_HEADER_BYTES + out->packed_size;
    in->bytes_at += out->bytes_size;
    return OC_OK;
}

oc_status oci_string_open_numbers(const oci_strings_in *in, int64_t n_second, oci_int_reader *first,
                                  oci_int_reader *second, oc_error *err)
{
    OC_TRY(oci_int_reader_open(first, in->packed, in->packed_size, in->n, err));
    return oci_int_reader_open(second, in->packed + first->size, in->packed_size - first->size,
                               n_second, err);
}

/* ---- kinds ----------------------------------------------------------------------------------- */

static oc_status decode_plain(const oci_strings_in *in, oci_string_sink *sink, oc_error *err)
{
    if (in->bytes_size > 0) {
        memcpy(sink->bytes, in->bytes, (size_t)in->bytes_size);
    }
    uint64_t lengths[OCI_PAGE_VALUES];
    oci_int_reader reader;
    OC_TRY(oci_int_reader_open(&reader, in->packed, in->packed_size, in->n, err));
    for (int64_t at = 0; at < in->n; at += OCI_PAGE_VALUES) {
        int64_t n = oci_min64(OCI_PAGE_VALUES, in->n - at);
        OC_TRY(oci_int_reader_next(&reader, lengths, n, err));
        OC_TRY(oci_string_check(sink, lengths, n, err));
        OC_TRY(sink->page(sink, at, n, lengths, NULL, err));
    }
    return OC_OK;
}

static oc_status decode_all(const oci_strings_in *in, oci_string_sink *sink, oc_error *err)
{
    sink->promised = in->value_bytes;
    switch (in->kind) {
    case OCI_STRINGS_DICTIONARY: OC_TRY(oci_string_decode_dictionary(in, sink, err)); break;
    case OCI_STRINGS_FRONT: OC_TRY(oci_string_decode_front(in, sink, err)); break;
    case OCI_STRINGS_SHARED: OC_TRY(oci_string_decode_shared(in, sink, err)); break;
    case OCI_STRINGS_NUMBERED: OC_TRY(oci_string_decode_numbered(in, sink, err)); break;
    default: OC_TRY(decode_plain(in, sink, err)); break;
    }
    return sink->at == in->value_bytes ? OC_OK : oci_string_fail(err);
}

/* ---- offsets --------------------------------------------------------------------------------- */

static oc_status put_offsets32(oci_string_sink *sink, int64_t start, int64_t n,
                               const uint64_t *lengths, const uint64_t *places, oc_error *err)
{
    (void)places;
    (void)err;
    uint64_t at = (uint64_t)sink->at;
    for (int64_t i = 0; i < n; i++) {
        at += lengths[i];
        oci_store_le32(sink->to + (start + i + 1) * 4, (uint32_t)at);
    }
    sink->at = (int64_t)at;
    return OC_OK;
}

static oc_status put_offsets64(oci_string_sink *sink, int64_t start, int64_t n,
                               const uint64_t *lengths, const uint64_t *places, oc_error *err)
{
    (void)places;
    (void)err;
    uint64_t at = (uint64_t)sink->at;
    for (int64_t i = 0; i < n; i++) {
        at += lengths[i];
        oci_store_le64(sink->to + (start + i + 1) * 8, at);
    }
    sink->at = (int64_t)at;
    return OC_OK;
}

oc_status oci_strings_decode(const oci_strings_in *in, int width, uint8_t *offsets, uint8_t *bytes,
                             oc_error *err)
{
    if (width == 4 && in->value_bytes > INT32_MAX) {
        OC_FAIL(err, OC_EDATA,
                "damaged strings: %" PRId64 " bytes are more than 32-bit offsets reach",
                in->value_bytes);
    }
    memset(offsets, 0, (size_t)width);
    oci_string_sink sink = {.page = width == 4 ? put_offsets32 : put_offsets64,
                            .bytes = bytes,
                            .room = in->value_bytes + OCI_STRING_SLACK,
                            .to = offsets,
                            .has_offsets32 = width == 4};
    return decode_all(in, &sink, err);
}

/* ---- views ----------------------------------------------------------------------------------- */

static oc_status put_views(oci_string_sink *sink, int64_t start, int64_t n, const uint64_t *lengths,
                           const uint64_t *places, oc_error *err)
{
    (void)err;
    for (int64_t i = 0; i < n; i++) {
        int64_t place = places != NULL ? (int64_t)places[i] : sink->at;
        const uint8_t *from = sink->bytes + place;
        oci_view view = {.length = (int32_t)lengths[i]};
        if (view.length <= OCI_VIEW_INLINE) {
            memcpy(view.inlined, from, OCI_VIEW_INLINE); /* there is slack */
            memset(view.inlined + view.length, 0, (size_t)(OCI_VIEW_INLINE - view.length));
        } else {
            memcpy(view.ref.prefix, from, sizeof view.ref.prefix);
            view.ref.offset = (int32_t)place;
        }
        memcpy(sink->to + (start + i) * (int64_t)sizeof view, &view, sizeof view);
        sink->at += view.length;
    }
    return OC_OK;
}

oc_status oci_strings_decode_views(const oci_strings_in *in, uint8_t *views, uint8_t *bytes,
                                   int64_t *used, oc_error *err)
{
    if (in->stored_bytes > INT32_MAX) {
        OC_FAIL(err, OC_EDATA, "damaged strings: %" PRId64 " bytes are more than views reach",
                in->stored_bytes);
    }
    *used = in->stored_bytes;
    oci_string_sink sink = {.page = put_views,
                            .shares = true,
                            .bytes = bytes,
                            .room = in->stored_bytes + OCI_STRING_SLACK,
                            .to = views};
    return decode_all(in, &sink, err);
}

/* ---- fixed size ------------------------------------------------------------------------------ */

static oc_status check_fixed(oci_string_sink *sink, int64_t start, int64_t n,
                             const uint64_t *lengths, const uint64_t *places, oc_error *err)
{
    (void)places;
    for (int64_t i = 0; i < n; i++) {
        bool is_null = sink->validity != NULL && !oci_bit_get(sink->validity, start + i);
        if (lengths[i] != (is_null ? 0 : (uint64_t)sink->width)) {
            OC_FAIL(err, OC_EDATA, "damaged strings: a value has %" PRIu64 " bytes instead of %d",
                    lengths[i], is_null ? 0 : sink->width);
        }
        sink->at += (int64_t)lengths[i];
    }
    return OC_OK;
}

/* Makes room for nulls, last value first. */
static void spread(uint8_t *values, int64_t n, int64_t width, int64_t n_bytes,
                   const uint8_t *validity)
{
    int64_t from = n_bytes;
    for (int64_t i = n - 1; i >= 0 && from != (i + 1) * width; i--) {
        uint8_t *to = values + i * width;
        if (oci_bit_get(validity, i)) {
            from -= width;
            memmove(to, values + from, (size_t)width);
        } else {
            memset(to, 0, (size_t)width);
        }
    }
}

oc_status oci_strings_decode_fixed(const oci_strings_in *in, int32_t width, const uint8_t *validity,
                                   uint8_t *values, oc_error *err)
{
    int64_t room = in->n * width;
    if (in->value_bytes > room) {
        return oci_string_fail(err);
    }
    oci_string_sink sink = {
        .page = check_fixed, .bytes = values, .room = room, .width = width, .validity = validity};
    OC_TRY(decode_all(in, &sink, err));
    if (validity != NULL && width > 0) {
        spread(values, in->n, width, in->value_bytes, validity);
    }
    return OC_OK;
}
