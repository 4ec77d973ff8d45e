/* See copy_rows.h. Each refusal costs a scan of the rows that were tried, half as many each time. */
#include "ops/sort/copy_rows.h"

oc_status oci_copy_rows(oci_schema *schema, const oci_batch *const *sources,
                        const oci_row_ref *rows, int64_t n, int64_t max_bytes, int64_t head_bytes,
                        oci_mem *mem, int64_t *copied, oci_batch **out, oc_error *err)
{
    bool was_refused = false;
    for (;; n /= 2) {
        int64_t fit = n;
        oc_status status =
            oci_gather_fit(schema, sources, rows, n, max_bytes, mem, &fit, NULL, err);
        if (status == OC_OK) {
            n = fit;
            status = oci_gather(schema, sources, rows, n, head_bytes, mem, NULL, out, err);
        }
        if (status == OC_EBUDGET && n > 1) {
            was_refused = true;
            continue;
        }
        if (status == OC_OK && was_refused) {
            oci_error_clear(err);
        }
        *copied = n;
        return status;
    }
}
