/* Reading pages, see int_page.h. Nothing in the bytes is trusted: opening a page checks that all its
 * parts lie inside, reading it that exceptions do. */
#include <assert.h>

#include "encoding/int_page.h"

/* Takes the part of the header that says what exceptions look like, if it is all there. */
static bool open_exceptions(const uint8_t **at, const uint8_t *end, oci_int_page *page)
{
    if (end - *at < 4) {
        return false;
    }
    const uint8_t *header = *at;
    page->n_exceptions = header[0] + 1;
    page->gap_width = header[1];
    page->high_width = header[2];
    int base_bytes = header[3];
    *at += 4;
    if (page->width > 63 || page->n_exceptions > page->n || page->gap_width > 10 ||
        page->high_width > 64 || base_bytes > 8 || end - *at < base_bytes) {
        return false;
    }
    page->high_base = oci_int_get(*at, base_bytes);
    *at += base_bytes;
    return true;
}

static bool open_header(const uint8_t **at, const uint8_t *end, uint64_t origin, oci_int_page *page)
{
    if (end - *at < 2) {
        return false;
    }
    page->width = **at & ~OCI_INT_PAGE_HAS_EXCEPTIONS;
    bool patched = (**at & OCI_INT_PAGE_HAS_EXCEPTIONS) != 0;
    int base_bytes = (*at)[1];
    *at += 2;
    if (page->width > 64 || base_bytes > 8 || end - *at < base_bytes) {
        return false;
    }
    page->base = origin + oci_int_get(*at, base_bytes);
    *at += base_bytes;
    return !patched || open_exceptions(at, end, page);
}

oc_status oci_int_page_open(const uint8_t *data, int64_t size, int64_t n, uint64_t origin,
                            oci_int_page *page, oc_error *err)
{
    assert(n >= 1 && n <= OCI_PAGE_VALUES);
    const uint8_t *at = data, *end = data + size;
    *page = (oci_int_page){.n = n};
    if (!open_header(&at, end, origin, page)) {
        OC_FAIL(err, OC_EDATA, "an integer vector is damaged: a page has no valid header");
    }
    page->bits = at;
    page->size = (at - data) + oci_bit_packed_bytes(n, page->width) +
                 oci_bit_packed_bytes(page->n_exceptions, page->gap_width) +
                 oci_bit_packed_bytes(page->n_exceptions, page->high_width);
    if (page->size > size) {
        OC_FAIL(err, OC_EDATA,
                "an integer vector is damaged: a page of %" PRId64 " bytes ends after %" PRId64,
                page->size, size);
    }
    return OC_OK;
}

oc_status oci_int_page_read(const oci_int_page *page, uint64_t *out, oc_error *err)
{
    oci_bit_unpack(page->bits, page->n, page->base, page->width, out);
    const int n = page->n_exceptions;
    if (n == 0) {
        return OC_OK;
    }
    uint64_t gaps[OCI_INT_EXCEPTIONS_MAX], highs[OCI_INT_EXCEPTIONS_MAX];
    const uint8_t *at = page->bits + oci_bit_packed_bytes(page->n, page->width);
    oci_bit_unpack(at, n, 1, page->gap_width, gaps);
    at += oci_bit_packed_bytes(n, page->gap_width);
    oci_bit_unpack(at, n, page->high_base, page->high_width, highs);
    int64_t position = -1;
    for (int i = 0; i < n; i++) {
        position += (int64_t)gaps[i]; /* 1 to 1024 */
        if (position >= page->n) {
            OC_FAIL(err, OC_EDATA,
                    "an integer vector is damaged: an exception lies outside a page");
        }
        out[position] += highs[i] << page->width;
    }
    return OC_OK;
}
