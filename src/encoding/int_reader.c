/* Reading vectors of integers, see int_vector.h.
 *
 * Opening walks over the headers of all pages: it finds where the vector ends, and that every page
 * lies inside. What the bits say is checked page by page as they are read: exceptions inside their
 * page, runs that add up to it, codes that the dictionary has. So time and memory follow from the
 * number of values that the caller expects, whatever the bytes are. */
#include <assert.h>
#include <string.h>

#include "encoding/int_format.h"

/* ---- opening --------------------------------------------------------------------------------- */

/* Takes a number of a header. */
static uint64_t take_number(oci_int_reader *reader, int bytes)
{
    uint64_t value = oci_int_get(reader->data + reader->offset, bytes);
    reader->offset += bytes;
    return value;
}

static oc_status open_header(oci_int_reader *reader, oc_error *err)
{
    const uint8_t *in = reader->data;
    if (reader->size < OCI_INT_HEADER) {
        OC_FAIL(err, OC_EDATA, "an integer vector is damaged: its header ends early");
    }
    int base = in[1] & 15, first = in[1] >> 4, scale = in[2] & 15, offset = in[2] >> 4;
    if (in[0] < OCI_INT_CONSTANT || in[0] >= OCI_INT_KINDS || base > 8 || first > 8 || scale > 8 ||
        offset > 8 || base + first + scale + offset > reader->size - OCI_INT_HEADER) {
        OC_FAIL(err, OC_EDATA, "an integer vector is damaged: its header is not valid");
    }
    reader->kind = in[0];
    reader->n_distinct = in[3] + 1;
    reader->offset = OCI_INT_HEADER;
    reader->base = take_number(reader, base);
    reader->before = take_number(reader, first);
    reader->scale = take_number(reader, scale);
    reader->scale_offset = take_number(reader, offset);
    return OC_OK;
}

/* Opens the page at *at and moves there behind it. */
static oc_status take_page(const oci_int_reader *reader, int64_t *at, int64_t n, uint64_t origin,
                           oci_int_page *page, oc_error *err)
{
    OC_TRY(oci_int_page_open(reader->data + *at, reader->size - *at, n, origin, page, err));
    *at += page->size;
    return OC_OK;
}

/* How many runs the page of n values at *at has. */
static oc_status take_run_count(const oci_int_reader *reader, int64_t *at, int64_t n,
                                int64_t *n_runs, oc_error *err)
{
    *n_runs = reader->size - *at < 2 ? 0 : oci_load_le16(reader->data + *at);
    if (*n_runs < 1 || *n_runs > n) {
        OC_FAIL(err, OC_EDATA,
                "an integer vector is damaged: %" PRId64 " runs of %" PRId64 " values", *n_runs, n);
    }
    *at += 2;
    return OC_OK;
}

/* Moves *at behind the pages of all values. */
static oc_status skip_pages(const oci_int_reader *reader, int64_t *at, oc_error *err)
{
    oci_int_page page;
    for (int64_t left = reader->n; left > 0; left -= OCI_PAGE_VALUES) {
        int64_t n = oci_min64(left, OCI_PAGE_VALUES);
        if (reader->kind == OCI_INT_RUNS) {
            OC_TRY(take_run_count(reader, at, n, &n, err));
            OC_TRY(take_page(reader, at, n, 0, &page, err));
        }
        OC_TRY(take_page(reader, at, n, 0, &page, err));
    }
    return OC_OK;
}

oc_status oci_int_reader_open(oci_int_reader *reader, const uint8_t *data, int64_t size, int64_t n,
                              oc_error *err)
{
    reader->data = data;
    reader->size = size;
    reader->n = n;
    reader->at = 0;
    OC_TRY(open_header(reader, err));
    int64_t end = reader->offset;
    if (reader->kind != OCI_INT_CONSTANT) {
        OC_TRY(skip_pages(reader, &end, err));
    }
    if (oci_int_has_dictionary((oci_int_kind)reader->kind)) {
        oci_int_page page;
        OC_TRY(take_page(reader, &end, reader->n_distinct, 0, &page, err));
        OC_TRY(oci_int_page_read(&page, reader->distinct, err));
    }
    end = oci_round_up(end, OCI_PACK_ALIGN);
    if (end > size) {
        OC_FAIL(err, OC_EDATA, "an integer vector is damaged: its padding ends early");
    }
    reader->size = end;
    return OC_OK;
}

/* ---- pages ----------------------------------------------------------------------------------- */

static void sum_up(oci_int_reader *reader, uint64_t *values, int64_t n)
{
    uint64_t value = reader->before;
    for (int64_t i = 0; i < n; i++) {
        value += values[i];
        values[i] = value;
    }
    reader->before = value;
}

static oc_status look_up(const oci_int_reader *reader, uint64_t *values, int64_t n, oc_error *err)
{
    const uint64_t last = (uint64_t)reader->n_distinct - 1;
    uint64_t bits =
        0; /* the highest becomes 1 when a value or what is left up to the last is huge */
    for (int64_t i = 0; i < n; i++) {
        bits |= values[i] | (last - values[i]);
    }
    if (bits >> 63 != 0) {
        OC_FAIL(err, OC_EDATA, "an integer vector is damaged: a code is not in its dictionary");
    }
    for (int64_t i = 0; i < n; i++) {
        values[i] = reader->distinct[values[i]];
    }
    return OC_OK;
}

static oc_status read_runs(oci_int_reader *reader, uint64_t *out, int64_t n, oc_error *err)
{
    uint64_t values[OCI_PAGE_VALUES], repeats[OCI_PAGE_VALUES];
    oci_int_page page;
    int64_t n_runs = 0, at = 0;
    OC_TRY(take_run_count(reader, &reader->offset, n, &n_runs, err));
    OC_TRY(take_page(reader, &reader->offset, n_runs, reader->base, &page, err));
    OC_TRY(oci_int_page_read(&page, values, err));
    OC_TRY(take_page(reader, &reader->offset, n_runs, 0, &page, err));
    OC_TRY(oci_int_page_read(&page, repeats, err));
    for (int64_t run = 0; run < n_runs; run++) {
        if (at == n || repeats[run] > (uint64_t)(n - at - 1)) {
            OC_FAIL(err, OC_EDATA, "an integer vector is damaged: runs are longer than their page");
        }
        for (int64_t end = at + (int64_t)repeats[run]; at <= end; at++) {
            out[at] = values[run];
        }
    }
    if (at != n) {
        OC_FAIL(err, OC_EDATA, "an integer vector is damaged: runs are shorter than their page");
    }
    return OC_OK;
}

oc_status oci_int_reader_next(oci_int_reader *reader, uint64_t *out, int64_t n, oc_error *err)
{
    assert(n == oci_min64(reader->n - reader->at, OCI_PAGE_VALUES));
    if (n == 0) {
        return OC_OK;
    }
    oci_int_page page;
    switch (reader->kind) {
    case OCI_INT_CONSTANT: oci_bit_unpack(NULL, n, reader->base, 0, out); break;
    case OCI_INT_RUNS: OC_TRY(read_runs(reader, out, n, err)); break;
    default:
        OC_TRY(take_page(reader, &reader->offset, n, reader->base, &page, err));
        OC_TRY(oci_int_page_read(&page, out, err));
        break;
    }
    if (oci_int_has_dictionary((oci_int_kind)reader->kind)) {
        OC_TRY(look_up(reader, out, n, err));
    }
    if (reader->kind == OCI_INT_DIFFERENCES || reader->kind == OCI_INT_STEPS) {
        sum_up(reader, out, n);
    }
    if (reader->scale != 0) {
        for (int64_t i = 0; i < n; i++) {
            out[i] = reader->scale_offset + reader->scale * out[i];
        }
    }
    reader->at += n;
    return OC_OK;
}

/* ---- whole vectors --------------------------------------------------------------------------- */

#define DEFINE_STORE(name, type)                                           \
    static void name(const uint64_t *values, int64_t n, uint8_t *out)      \
    {                                                                      \
        for (int64_t i = 0; i < n; i++) {                                  \
            type value = (type)values[i];                                  \
            memcpy(out + i * (int64_t)sizeof value, &value, sizeof value); \
        }                                                                  \
    }

DEFINE_STORE(store1, uint8_t)
DEFINE_STORE(store2, uint16_t)
DEFINE_STORE(store4, uint32_t)

oc_status oci_int_vector_decode(const uint8_t *data, int64_t size, int64_t n, int width,
                                uint8_t *out, int64_t *taken, oc_error *err)
{
    oci_int_reader reader;
    OC_TRY(oci_int_reader_open(&reader, data, size, n, err));
    const bool in_place = width == 8 && (uintptr_t)out % 8 == 0;
    while (reader.at < n) {
        uint64_t page[OCI_PAGE_VALUES];
        uint64_t *values = in_place ? (uint64_t *)(void *)out : page;
        int64_t count = oci_min64(n - reader.at, OCI_PAGE_VALUES);
        OC_TRY(oci_int_reader_next(&reader, values, count, err));
        switch (width) {
        case 1: store1(values, count, out); break;
        case 2: store2(values, count, out); break;
        case 4: store4(values, count, out); break;
        default:
            assert(width == 8);
            if (!in_place) {
                memcpy(out, values, (size_t)count * 8);
            }
            break;
        }
        out += count * width;
    }
    *taken = reader.size;
    return OC_OK;
}
