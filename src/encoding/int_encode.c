/* See int_vector.h. */
#include <assert.h>
#include <string.h>

#include "encoding/int_format.h"

/* ---- sources --------------------------------------------------------------------------------- */

#define DEFINE_LOAD(name, type, wide)                                       \
    static void name(const uint8_t *from, int64_t n, uint64_t *out)         \
    {                                                                       \
        for (int64_t i = 0; i < n; i++) {                                   \
            type value;                                                     \
            memcpy(&value, from + i * (int64_t)sizeof value, sizeof value); \
            out[i] = (uint64_t)(wide)value;                                 \
        }                                                                   \
    }

DEFINE_LOAD(load_int8, int8_t, int64_t)
DEFINE_LOAD(load_int16, int16_t, int64_t)
DEFINE_LOAD(load_int32, int32_t, int64_t)
DEFINE_LOAD(load_uint8, uint8_t, uint64_t)
DEFINE_LOAD(load_uint16, uint16_t, uint64_t)
DEFINE_LOAD(load_uint32, uint32_t, uint64_t)

static void array_page(const void *arg, int64_t start, int64_t n, uint64_t *out)
{
    const oci_int_array *array = arg;
    const uint8_t *from = array->values + start * array->width;
    switch (array->width) {
    case 1: (array->is_signed ? load_int8 : load_uint8)(from, n, out); break;
    case 2: (array->is_signed ? load_int16 : load_uint16)(from, n, out); break;
    case 4: (array->is_signed ? load_int32 : load_uint32)(from, n, out); break;
    default:
        assert(array->width == 8);
        memcpy(out, from, (size_t)n * 8);
        break;
    }
}

oci_int_source oci_int_array_source(const oci_int_array *array, int64_t n)
{
    return (oci_int_source){.page = array_page, .arg = array, .n = n};
}

/* ---- vectors --------------------------------------------------------------------------------- */

int64_t oci_int_vector_bound(int64_t n, int width)
{
    int64_t n_pages = n / OCI_PAGE_VALUES + 1;
    return oci_round_up(OCI_INT_HEADER_MAX + n_pages * OCI_INT_PAGE_HEADER_MAX + n * width,
                        OCI_PACK_ALIGN);
}

/* Writes the header, returns its size. */
static int64_t write_header(oci_int_kind kind, uint64_t base, uint8_t *out)
{
    out[0] = (uint8_t)kind;
    out[1] = (uint8_t)oci_int_put(out + OCI_INT_HEADER, base);
    out[2] = out[3] = 0;
    return OCI_INT_HEADER + out[1];
}

static int64_t pad(uint8_t *out, int64_t at)
{
    int64_t size = oci_round_up(at, OCI_PACK_ALIGN);
    memset(out + at, 0, (size_t)(size - at));
    return size;
}

int64_t oci_int_vector_encode(const oci_int_source *source, int width, oci_int_plan *plan,
                              uint8_t *out)
{
    (void)plan;
    (void)width;
    uint64_t values[OCI_PAGE_VALUES];
    oci_int_page_plan page = {0};
    uint64_t origin = 0;
    int64_t at = 0;
    bool is_constant = true;
    for (int64_t start = 0; start < source->n; start += OCI_PAGE_VALUES) {
        int64_t n = oci_min64(source->n - start, OCI_PAGE_VALUES);
        source->page(source->arg, start, n, values);
        oci_int_page_plan_make(values, n, &page);
        if (start == 0) {
            origin = page.base;
            at = write_header(OCI_INT_PAGES, origin, out);
        }
        is_constant = is_constant && page.width == 0 && page.base == origin;
        at += oci_int_page_write(values, n, &page, origin, out + at);
    }
    if (is_constant) {
        at = write_header(OCI_INT_CONSTANT, origin, out);
    }
    at = pad(out, at);
    assert(at <= oci_int_vector_bound(source->n, width));
    return at;
}
