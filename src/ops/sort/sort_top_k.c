/* The first k rows only.
 *
 * Once k rows are known, a row whose key is not below that of the k-th cannot get in (a later row
 * loses ties), so it is dropped on arrival; the buffer is cut back to k rows when it holds twice as
 * many. On most inputs the filter soon drops nearly all rows. When k rows do not fit into memory,
 * runs of at most k rows are spilled and merged like any others. */
#include <string.h>

#include "base/bits.h"
#include "ops/sort/sort_internal.h"

/* Cutting back sorts the buffer, so it waits for a decent number of new rows even when k is tiny.
 */
#define CUT_BACK_ROWS_MIN 16384

oc_status oci_sort_note_cutoff(oci_sort *sort, oc_error *err)
{
    if (sort->limit <= 0 || oci_row_buffer_rows(sort->buffer) < sort->limit) {
        return OC_OK;
    }
    int64_t size;
    const uint8_t *key = oci_row_buffer_key(sort->buffer, sort->limit - 1, &size);
    if (sort->cutoff != NULL) {
        int order = memcmp(key, sort->cutoff, (size_t)oci_min64(size, sort->cutoff_bytes));
        if (order >= 0) {
            return OC_OK;
        }
    }
    void *copy;
    OC_TRY(oci_mem_alloc(sort->mem, size, &copy, err));
    memcpy(copy, key, (size_t)size);
    oci_mem_free(sort->mem, sort->cutoff, sort->cutoff_bytes);
    sort->cutoff = copy;
    sort->cutoff_bytes = size;
    return OC_OK;
}

static bool is_below_cutoff(const oci_sort *sort, const oci_row_keys *keys, int64_t row)
{
    int64_t size;
    const uint8_t *key = oci_row_key_at(keys, row, &size);
    return memcmp(key, sort->cutoff, (size_t)oci_min64(size, sort->cutoff_bytes)) < 0;
}

/* Copies the rows of `batch` named by refs[0..n). */
static oc_status keep_rows(oci_sort *sort, const oci_batch *batch, const oci_row_ref *refs,
                           int64_t n, oci_batch **out, oc_error *err)
{
    int64_t fit;
    OC_TRY(oci_gather_fit(sort->base.schema, &batch, refs, n, INT64_MAX / 4, sort->mem, &fit, NULL,
                          err));
    if (fit < n) {
        return OC_OK; /* a batch that cannot be copied as a whole stays as it is */
    }
    oc_status status =
        oci_gather(sort->base.schema, &batch, refs, n, 0, sort->mem, NULL, out, NULL);
    return status == OC_EBUDGET ? OC_OK : status;
}

static oc_status filter_rows(oci_sort *sort, oci_batch *batch, const oci_row_keys *keys,
                             oci_row_ref *refs, oci_batch **out, oc_error *err)
{
    int64_t n = 0;
    for (int64_t row = 0; row < batch->length; row++) {
        refs[n] = (oci_row_ref){0, (uint32_t)row};
        n += is_below_cutoff(sort, keys, row);
    }
    if (n == 0) {
        oci_batch_release(batch);
        return OC_OK;
    }
    oci_batch *kept = NULL;
    /* Copying pays when it frees at least half of the batch. */
    if (n <= batch->length / 2 && n <= OCI_GATHER_ROWS_MAX) {
        oc_status status = keep_rows(sort, batch, refs, n, &kept, err);
        if (status != OC_OK) {
            oci_batch_release(batch);
            return status;
        }
    }
    *out = kept != NULL ? kept : batch;
    if (kept != NULL) {
        oci_batch_release(batch);
    }
    return OC_OK;
}

oc_status oci_sort_filter(oci_sort *sort, oci_batch *batch, oci_batch **out, oc_error *err)
{
    *out = NULL;
    int64_t refs_bytes = (batch->length + 1) * (int64_t)sizeof(oci_row_ref);
    oci_row_keys keys = {0};
    void *refs = NULL;
    oc_status status =
        oci_row_keys_encode(batch, sort->keys, sort->n_keys, sort->mem, NULL, &keys, NULL);
    if (status == OC_OK) {
        status = oci_mem_try_alloc(sort->mem, refs_bytes, &refs, NULL);
    }
    if (status == OC_OK) {
        status = filter_rows(sort, batch, &keys, refs, out, err);
    } else {
        /* Filtering only saves work: without memory for it the batch goes on whole. */
        *out = batch;
        status = OC_OK;
    }
    oci_mem_free(sort->mem, refs, refs_bytes);
    oci_row_keys_deinit(&keys);
    return status;
}

/* Copies the first `limit` sorted rows into chunks. OC_EBUDGET: no room for both forms. */
static oc_status copy_best(oci_sort *sort, oci_row_buffer *into, oc_error *err)
{
    int64_t refs_bytes = sort->block_rows * (int64_t)sizeof(oci_row_ref);
    void *refs;
    OC_TRY(oci_mem_try_alloc(sort->mem, refs_bytes, &refs, err));
    oc_status status = OC_OK;
    int32_t n_sources;
    const oci_batch *const *sources = oci_row_buffer_sources(sort->buffer, &n_sources);
    for (int64_t at = 0; status == OC_OK && at < sort->limit;) {
        int64_t n = oci_min64(sort->block_rows, sort->limit - at);
        oci_batch *chunk = NULL;
        oci_row_buffer_refs(sort->buffer, at, n, refs);
        status = oci_gather_fit(sort->base.schema, sources, refs, n, sort->block_bytes, sort->mem,
                                &n, NULL, err);
        if (status == OC_OK) {
            status =
                oci_gather(sort->base.schema, sources, refs, n, 0, sort->mem, NULL, &chunk, err);
        }
        if (status == OC_OK) {
            status = oci_row_buffer_add(into, chunk, err);
            if (status != OC_OK) {
                oci_batch_release(chunk);
            }
        }
        at += n;
    }
    oci_mem_free(sort->mem, refs, refs_bytes);
    return status;
}

oc_status oci_sort_cut_back(oci_sort *sort, oc_error *err)
{
    int64_t rows = oci_row_buffer_rows(sort->buffer);
    if (sort->limit < 0 || sort->top_k_does_not_fit ||
        rows < oci_max64(2 * sort->limit, sort->limit + CUT_BACK_ROWS_MIN)) {
        return OC_OK;
    }
    OC_TRY(oci_row_buffer_sort(sort->buffer, err));
    OC_TRY(oci_sort_note_cutoff(sort, err));
    oci_row_buffer *best;
    OC_TRY(oci_row_buffer_create(sort->keys, sort->n_keys, sort->mem, &best, err));
    /* Spilling in the middle of this would take the buffer away that is copied from. */
    sort->is_spilling = true;
    oc_status status = copy_best(sort, best, NULL);
    sort->is_spilling = false;
    if (status == OC_OK) {
        oci_row_buffer_destroy(sort->buffer);
        sort->buffer = best;
    } else {
        oci_row_buffer_destroy(best);
        sort->top_k_does_not_fit = true;
        if (status == OC_EBUDGET) {
            return oci_sort_spill(sort, 0, err);
        }
        OC_SET(err, status, "could not keep the first %" PRId64 " rows: %s", sort->limit,
               oc_status_name(status));
        return status;
    }
    atomic_store(&sort->held, oci_row_buffer_bytes(sort->buffer));
    return OC_OK;
}
