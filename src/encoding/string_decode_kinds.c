/* Dictionaries, front coding and shared bytes back to strings. Nothing is read or written that was
 * not checked before, a page of lengths at a time; short strings are copied 16 bytes at a time where
 * that stays inside of what there is. */
#include "encoding/string_copy.h"
#include "encoding/string_decode_internal.h"

/* Bytes that strings are taken from. */
typedef struct pool {
    const uint8_t *bytes;
    int64_t readable;
} pool;

/* Copies strings from their places in the pool to one behind the other, after sink->at. */
static void copy_strings(const oci_string_sink *sink, const pool *from, int64_t n,
                         const uint64_t *lengths, const uint64_t *places)
{
    int64_t at = sink->at;
    for (int64_t i = 0; i < n; i++) {
        oci_string_copy(sink->bytes + at, sink->room - at, from->bytes + places[i],
                        from->readable - (int64_t)places[i], (int64_t)lengths[i]);
        at += (int64_t)lengths[i];
    }
}

/* A page of strings that lie in the pool. */
static oc_status put_page(const pool *from, oci_string_sink *sink, int64_t start, int64_t n,
                          const uint64_t *lengths, const uint64_t *places, oc_error *err)
{
    OC_TRY(oci_string_check(sink, lengths, n, err));
    if (sink->shares) {
        return sink->page(sink, start, n, lengths, places, err);
    }
    copy_strings(sink, from, n, lengths, places);
    return sink->page(sink, start, n, lengths, NULL, err);
}

static void share_bytes(const oci_strings_in *in, const oci_string_sink *sink)
{
    if (sink->shares && in->bytes_size > 0) {
        memcpy(sink->bytes, in->bytes, (size_t)in->bytes_size);
    }
}

/* ---- dictionary ------------------------------------------------------------------------------ */

/* Where each distinct string begins, and the last one ends. */
static oc_status load_starts(const oci_strings_in *in, oci_int_reader *lengths, uint32_t *starts,
                             oc_error *err)
{
    uint64_t page[OCI_PAGE_VALUES];
    uint64_t size = (uint64_t)in->bytes_size;
    uint64_t at = 0;
    starts[0] = 0;
    for (int64_t done = 0; done < in->extra; done += OCI_PAGE_VALUES) {
        int64_t n = oci_min64(OCI_PAGE_VALUES, in->extra - done);
        OC_TRY(oci_int_reader_next(lengths, page, n, err));
        for (int64_t i = 0; i < n; i++) {
            if (page[i] > size - at) {
                OC_FAIL(err, OC_EDATA, "distinct strings are longer than their %" PRIu64 " bytes",
                        size);
            }
            at += page[i];
            starts[done + i + 1] = (uint32_t)at;
        }
    }
    return at == size ? OC_OK : oci_string_fail(err);
}

/* Copies of the strings of a small dictionary, each with room behind it, so that none lies at the end
 * of what can be read and copying one does not depend on its length. */
enum { SMALL_MAX = 256, SMALL_BYTES = 32 };

typedef struct small_dictionary {
    int64_t longest;
    uint8_t length[SMALL_MAX];
    uint8_t bytes[SMALL_MAX][SMALL_BYTES];
} small_dictionary;

static bool make_small(const oci_strings_in *in, const uint32_t *starts, small_dictionary *out)
{
    out->longest = 0;
    for (int64_t i = 0; i < in->extra; i++) {
        uint32_t length = starts[i + 1] - starts[i];
        if (i == SMALL_MAX || length > SMALL_BYTES) {
            return false;
        }
        out->longest = oci_max64(out->longest, length);
        out->length[i] = (uint8_t)length;
        memset(out->bytes[i], 0, SMALL_BYTES);
        memcpy(out->bytes[i], in->bytes + starts[i], length);
    }
    return true;
}

/* A page of them, `step` bytes at a time, not less than the longest has. */
static inline __attribute__((always_inline)) void copy_small(const small_dictionary *from,
                                                             const oci_string_sink *sink, int64_t n,
                                                             const uint64_t *codes, size_t step)
{
    uint8_t *to = sink->bytes + sink->at;
    const uint8_t *end = sink->bytes + sink->room;
    int64_t i = 0;
    for (; i < n && end - to >= (int64_t)step; i++) {
        memcpy(to, from->bytes[codes[i]], step);
        to += from->length[codes[i]];
    }
    for (; i < n; i++) {
        memcpy(to, from->bytes[codes[i]], from->length[codes[i]]);
        to += from->length[codes[i]];
    }
}

/* The same with 32-bit offsets at once, where there is room whatever the codes are. */
static inline __attribute__((always_inline)) void copy_small32(const small_dictionary *from,
                                                               oci_string_sink *sink, int64_t start,
                                                               int64_t n, const uint64_t *codes,
                                                               size_t step)
{
    uint8_t *bytes = sink->bytes;
    uint8_t *offsets = sink->to + (start + 1) * 4;
    uint64_t at = (uint64_t)sink->at;
    for (int64_t i = 0; i < n; i++) {
        memcpy(bytes + at, from->bytes[codes[i]], step);
        at += from->length[codes[i]];
        oci_store_le32(offsets + i * 4, (uint32_t)at);
    }
    sink->at = (int64_t)at;
}

static oc_status put_small_page(const small_dictionary *from, oci_string_sink *sink, int64_t start,
                                int64_t n, const uint64_t *codes, oc_error *err)
{
    uint64_t lengths[OCI_PAGE_VALUES];
    if (sink->has_offsets32 && n * from->longest + SMALL_BYTES <= sink->promised - sink->at) {
        if (from->longest <= 16) {
            copy_small32(from, sink, start, n, codes, 16);
        } else {
            copy_small32(from, sink, start, n, codes, SMALL_BYTES);
        }
        return OC_OK;
    }
    for (int64_t i = 0; i < n; i++) {
        lengths[i] = from->length[codes[i]];
    }
    OC_TRY(oci_string_check(sink, lengths, n, err));
    if (from->longest <= 16) {
        copy_small(from, sink, n, codes, 16);
    } else {
        copy_small(from, sink, n, codes, SMALL_BYTES);
    }
    return sink->page(sink, start, n, lengths, NULL, err);
}

/* A page of others. */
static oc_status put_coded_page(const oci_strings_in *in, const uint32_t *starts,
                                oci_string_sink *sink, int64_t start, int64_t n,
                                const uint64_t *codes, oc_error *err)
{
    pool from = {in->bytes, in->bytes_size};
    uint64_t places[OCI_PAGE_VALUES];
    uint64_t lengths[OCI_PAGE_VALUES];
    for (int64_t i = 0; i < n; i++) {
        places[i] = starts[codes[i]];
        lengths[i] = starts[codes[i] + 1] - starts[codes[i]];
    }
    return put_page(&from, sink, start, n, lengths, places, err);
}

static oc_status check_codes(const uint64_t *codes, int64_t n, int64_t distinct, oc_error *err)
{
    uint64_t excess = 0; /* its top bit: some code is negative, or more than distinct - 1 */
    for (int64_t i = 0; i < n; i++) {
        excess |= codes[i] | ((uint64_t)distinct - 1 - codes[i]);
    }
    if (excess >> 63 != 0) {
        OC_FAIL(err, OC_EDATA, "damaged strings: a code is not in the dictionary");
    }
    return OC_OK;
}

oc_status oci_string_decode_dictionary(const oci_strings_in *in, oci_string_sink *sink,
                                       oc_error *err)
{
    uint32_t starts[OCI_STRINGS_DISTINCT_MAX + 1];
    uint64_t codes[OCI_PAGE_VALUES];
    small_dictionary small;
    oci_int_reader reader, distinct;
    OC_TRY(oci_string_open_numbers(in, in->extra, &reader, &distinct, err));
    OC_TRY(load_starts(in, &distinct, starts, err));
    share_bytes(in, sink);
    bool is_small = !sink->shares && make_small(in, starts, &small);
    for (int64_t at = 0; at < in->n; at += OCI_PAGE_VALUES) {
        int64_t n = oci_min64(OCI_PAGE_VALUES, in->n - at);
        OC_TRY(oci_int_reader_next(&reader, codes, n, err));
        OC_TRY(check_codes(codes, n, in->extra, err));
        OC_TRY(is_small ? put_small_page(&small, sink, at, n, codes, err)
                        : put_coded_page(in, starts, sink, at, n, codes, err));
    }
    return OC_OK;
}

/* ---- front coding ---------------------------------------------------------------------------- */

typedef struct front {
    const uint8_t *rest; /* what is left of the bytes stream */
    int64_t rest_size;
    int64_t last; /* length of the string before */
} front;

/* lengths[] comes in as the lengths of the rests and goes out as those of the strings. */
static bool put_fronts(front *f, const oci_string_sink *sink, int64_t n, const uint64_t *shared,
                       uint64_t *lengths)
{
    int64_t at = sink->at;
    for (int64_t i = 0; i < n; i++) {
        if (shared[i] > (uint64_t)f->last || lengths[i] > (uint64_t)f->rest_size) {
            return false;
        }
        int64_t same = (int64_t)shared[i];
        int64_t rest = (int64_t)lengths[i];
        if (same + rest > sink->promised - at) {
            return false;
        }
        uint8_t *to = sink->bytes + at;
        oci_string_copy(to, sink->room - at, to - f->last, sink->room - at + f->last, same);
        oci_string_copy(to + same, sink->room - at - same, f->rest, f->rest_size, rest);
        f->rest += rest;
        f->rest_size -= rest;
        f->last = same + rest;
        lengths[i] = (uint64_t)f->last;
        at += f->last;
    }
    return true;
}

oc_status oci_string_decode_front(const oci_strings_in *in, oci_string_sink *sink, oc_error *err)
{
    uint64_t shared[OCI_PAGE_VALUES];
    uint64_t lengths[OCI_PAGE_VALUES];
    oci_int_reader shares, rests;
    OC_TRY(oci_string_open_numbers(in, in->n, &shares, &rests, err));
    front f = {.rest = in->bytes, .rest_size = in->bytes_size};
    for (int64_t at = 0; at < in->n; at += OCI_PAGE_VALUES) {
        int64_t n = oci_min64(OCI_PAGE_VALUES, in->n - at);
        OC_TRY(oci_int_reader_next(&shares, shared, n, err));
        OC_TRY(oci_int_reader_next(&rests, lengths, n, err));
        if (!put_fronts(&f, sink, n, shared, lengths)) {
            return oci_string_fail(err);
        }
        OC_TRY(sink->page(sink, at, n, lengths, NULL, err));
    }
    return f.rest_size == 0 ? OC_OK : oci_string_fail(err);
}

/* ---- shared bytes ---------------------------------------------------------------------------- */

/* Short strings come one after the other from *next on, and their places are filled in. */
static bool find_places(const oci_strings_in *in, int64_t n, const uint64_t *lengths,
                        uint64_t *places, uint64_t *next)
{
    uint64_t shared = (uint64_t)in->extra;
    for (int64_t i = 0; i < n; i++) {
        if (lengths[i] > OCI_VIEW_INLINE) {
            if (lengths[i] > shared || places[i] > shared - lengths[i]) {
                return false;
            }
        } else {
            places[i] = *next;
            *next += lengths[i];
            if (*next > (uint64_t)in->bytes_size) {
                return false;
            }
        }
    }
    return true;
}

oc_status oci_string_decode_shared(const oci_strings_in *in, oci_string_sink *sink, oc_error *err)
{
    uint64_t lengths[OCI_PAGE_VALUES];
    uint64_t places[OCI_PAGE_VALUES];
    uint64_t next = (uint64_t)in->extra;
    oci_int_reader length_reader, place_reader;
    OC_TRY(oci_string_open_numbers(in, in->n, &length_reader, &place_reader, err));
    share_bytes(in, sink);
    pool from = {in->bytes, in->bytes_size};
    for (int64_t at = 0; at < in->n; at += OCI_PAGE_VALUES) {
        int64_t n = oci_min64(OCI_PAGE_VALUES, in->n - at);
        OC_TRY(oci_int_reader_next(&length_reader, lengths, n, err));
        OC_TRY(oci_int_reader_next(&place_reader, places, n, err));
        if (!find_places(in, n, lengths, places, &next)) {
            return oci_string_fail(err);
        }
        OC_TRY(put_page(&from, sink, at, n, lengths, places, err));
    }
    return next == (uint64_t)in->bytes_size ? OC_OK : oci_string_fail(err);
}
