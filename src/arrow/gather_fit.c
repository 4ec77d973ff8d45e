/* Gather, fitting: the longest start of the wanted rows whose slab stays within a byte target.
 *
 * Slabs only grow with rows, so the answer is searched: rows are scanned in steps, and a step that
 * goes too far is taken back and tried at half its length, down to one row. Sizes are exact all the
 * way (validity bitmaps that appear, padding, dictionary values met for the first time), because
 * the scan is the one that oci_gather itself uses. The step bounds what is looked at in vain: at
 * most about two steps of rows.
 *
 * Besides bytes, two things end a batch: 32-bit offsets (of strings, lists and dense unions) and
 * the index type of a dictionary, at any depth. */

#include "arrow/gather_internal.h"

int64_t oci_gather_offset_max = INT32_MAX;

/* Rows per step. Unpacking the sources of a column costs a few ns per source, so steps are longer
 * with many. */
#define STEP_ROWS            1024
#define STEP_ROWS_PER_SOURCE 4

static bool job_fits(oci_gather_job *job, int64_t n, int64_t max_bytes, int64_t *bytes)
{
    *bytes = oci_gather_place(job, n, 0);
    for (int32_t c = 0; c < job->schema->n_fields; c++) {
        if (!oci_gather_column_fits(&job->columns[c], oci_gather_offset_max)) {
            return false;
        }
    }
    return *bytes <= max_bytes && !job->stopped;
}

static void save_columns(oci_gather_job *job)
{
    for (int32_t c = 0; c < job->schema->n_fields; c++) {
        oci_gather_save_column(&job->columns[c]);
    }
}

static void restore_columns(oci_gather_job *job)
{
    for (int32_t c = 0; c < job->schema->n_fields; c++) {
        oci_gather_restore_column(&job->columns[c]);
    }
    job->stopped = false;
}

/* Invariant: `fit` rows are scanned and fit, `too_many` (if <= n) are known not to. */
static oc_status search_fit(oci_gather_job *job, int64_t n, int64_t max_bytes, int64_t *n_fit,
                            int64_t *bytes, oc_error *err)
{
    int64_t fit = 0;
    int64_t too_many = n + 1;
    int64_t step = oci_max64(STEP_ROWS, STEP_ROWS_PER_SOURCE * job->n_sources);
    while (too_many - fit > 1) {
        int64_t take = oci_min64(step, too_many - fit - 1);
        save_columns(job);
        OC_TRY(oci_gather_scan(job, fit, take, err));
        if (job_fits(job, fit + take, max_bytes, bytes) || fit + take == 1) {
            fit += take;
        } else {
            restore_columns(job);
            too_many = fit + take;
        }
        if (too_many <= n) {
            step = oci_max64(1, (too_many - fit) / 2);
        } else if (job->rows == NULL) {
            step *= 2; /* ranges scan at next to no cost */
        }
    }
    (void)job_fits(job, fit, max_bytes, bytes);
    *n_fit = fit;
    return OC_OK;
}

static oc_status fit(oci_schema *schema, const oci_batch *const *sources, const oci_row_ref *rows,
                     int64_t n, int64_t start, int64_t max_bytes, oci_mem *mem, int64_t *n_fit,
                     int64_t *bytes, oc_error *err)
{
    oc_status status = OC_OK;
    oci_gather_job job;
    int64_t ignored = 0;
    OC_GOTO(oci_gather_job_init(&job, schema, sources, rows, n, start, mem, err));
    OC_GOTO(search_fit(&job, n, max_bytes, n_fit, bytes != NULL ? bytes : &ignored, err));
done:
    oci_gather_job_deinit(&job);
    return status;
}

oc_status oci_gather_fit(oci_schema *schema, const oci_batch *const *sources,
                         const oci_row_ref *rows, int64_t n, int64_t max_bytes, oci_mem *mem,
                         int64_t *n_fit, int64_t *bytes, oc_error *err)
{
    static const oci_row_ref no_rows;
    assert(n >= 0);
    return fit(schema, sources, n == 0 ? &no_rows : rows, oci_min64(n, OCI_GATHER_ROWS_MAX), 0,
               max_bytes, mem, n_fit, bytes, err);
}

oc_status oci_gather_range_fit(oci_schema *schema, const oci_batch *source, int64_t start,
                               int64_t n, int64_t max_bytes, oci_mem *mem, int64_t *n_fit,
                               int64_t *bytes, oc_error *err)
{
    assert(start >= 0 && n >= 0 && n <= source->length - start);
    return fit(schema, &source, NULL, n, start, max_bytes, mem, n_fit, bytes, err);
}
