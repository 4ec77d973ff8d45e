/* See int_page.h. */
#include "encoding/int_page.h"

#include <assert.h>

void oci_int_page_plan_make(const uint64_t *values, int64_t n, oci_int_page_plan *plan)
{
    int64_t min = (int64_t)values[0], max = min;
    for (int64_t i = 1; i < n; i++) {
        int64_t value = (int64_t)values[i];
        min = value < min ? value : min;
        max = value > max ? value : max;
    }
    plan->base = (uint64_t)min;
    plan->width = oci_bit_width((uint64_t)max - (uint64_t)min);
    if (plan->width == 64) {
        plan->base = 0; /* nothing is gained by a base */
    }
}

int64_t oci_int_page_write(const uint64_t *values, int64_t n, const oci_int_page_plan *plan,
                           uint64_t origin, uint8_t *out)
{
    uint64_t base = plan->width == 64 ? origin : plan->base;
    int base_bytes = oci_int_put(out + 2, base - origin);
    out[0] = (uint8_t)plan->width;
    out[1] = (uint8_t)base_bytes;
    oci_bit_pack(values, n, base, plan->width, out + 2 + base_bytes);
    return 2 + base_bytes + oci_bit_packed_bytes(n, plan->width);
}

oc_status oci_int_page_open(const uint8_t *data, int64_t size, int64_t n, uint64_t origin,
                            oci_int_page *page, oc_error *err)
{
    if (size < 2 || data[0] > 64 || data[1] > 8) {
        OC_FAIL(err, OC_EDATA, "an integer vector is damaged: no page of %" PRId64 " values", n);
    }
    int base_bytes = data[1];
    page->width = data[0];
    page->bits = data + 2 + base_bytes;
    page->size = 2 + base_bytes + oci_bit_packed_bytes(n, page->width);
    if (page->size > size) {
        OC_FAIL(err, OC_EDATA, "an integer vector is damaged: a page ends early");
    }
    page->base = origin + oci_int_get(data + 2, base_bytes);
    return OC_OK;
}

void oci_int_page_read(const oci_int_page *page, int64_t n, uint64_t *out)
{
    assert(n <= OCI_PAGE_VALUES);
    oci_bit_unpack(page->bits, n, page->base, page->width, out);
}
