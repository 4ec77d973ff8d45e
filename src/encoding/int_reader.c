/* See int_vector.h. */
#include <assert.h>
#include <string.h>

#include "encoding/int_format.h"

/* What is in reader->state. */
typedef struct reader_state {
    int kind;
    uint64_t base;
    int64_t offset; /* of the next page in data */
} reader_state;

static reader_state *state_of(oci_int_reader *reader)
{
    _Static_assert(sizeof(reader_state) <= sizeof reader->state, "int_vector.h has less room");
    return (reader_state *)(void *)reader->state;
}

oc_status oci_int_reader_open(oci_int_reader *reader, const uint8_t *data, int64_t size, int64_t n,
                              oc_error *err)
{
    reader_state *state = state_of(reader);
    if (size < OCI_INT_HEADER || data[1] > 8 || OCI_INT_HEADER + data[1] > size) {
        OC_FAIL(err, OC_EDATA, "an integer vector is damaged: no header in %" PRId64 " bytes",
                size);
    }
    state->kind = data[0];
    state->base = oci_int_get(data + OCI_INT_HEADER, data[1]);
    state->offset = OCI_INT_HEADER + data[1];
    int64_t end = state->offset;
    if (state->kind == OCI_INT_PAGES) {
        for (int64_t left = n; left > 0; left -= OCI_PAGE_VALUES) {
            oci_int_page page;
            OC_TRY(oci_int_page_open(data + end, size - end, oci_min64(left, OCI_PAGE_VALUES),
                                     state->base, &page, err));
            end += page.size;
        }
    } else if (state->kind != OCI_INT_CONSTANT) {
        OC_FAIL(err, OC_EDATA, "an integer vector is damaged: kind %d is unknown", state->kind);
    }
    end = oci_round_up(end, OCI_PACK_ALIGN);
    if (end > size) {
        OC_FAIL(err, OC_EDATA, "an integer vector is damaged: it ends inside its padding");
    }
    reader->data = data;
    reader->size = end;
    reader->n = n;
    reader->at = 0;
    return OC_OK;
}

oc_status oci_int_reader_next(oci_int_reader *reader, uint64_t *out, int64_t n, oc_error *err)
{
    reader_state *state = state_of(reader);
    assert(n == oci_min64(reader->n - reader->at, OCI_PAGE_VALUES));
    if (n == 0) {
        return OC_OK;
    }
    if (state->kind == OCI_INT_CONSTANT) {
        oci_bit_unpack(NULL, n, state->base, 0, out);
    } else {
        oci_int_page page;
        OC_TRY(oci_int_page_open(reader->data + state->offset, reader->size - state->offset, n,
                                 state->base, &page, err));
        oci_int_page_read(&page, n, out);
        state->offset += page.size;
    }
    reader->at += n;
    return OC_OK;
}

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
    while (reader.at < n) {
        uint64_t values[OCI_PAGE_VALUES];
        int64_t count = oci_min64(n - reader.at, OCI_PAGE_VALUES);
        OC_TRY(oci_int_reader_next(&reader, values, count, err));
        switch (width) {
        case 1: store1(values, count, out); break;
        case 2: store2(values, count, out); break;
        case 4: store4(values, count, out); break;
        default: memcpy(out, values, (size_t)count * 8); break;
        }
        out += count * width;
    }
    *taken = reader.size;
    return OC_OK;
}
