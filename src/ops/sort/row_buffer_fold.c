/* Folding: rows are put into key order in segments while they are buffered.
 *
 * Why. The final gather takes rows in key order. When they lie in input order all over a buffer of
 * hundreds of MiB, nearly every value is a cache miss and often a TLB miss. A segment fits the
 * last-level cache, so ordering it is cheap; afterwards the final order walks through each segment
 * from its start to its end, which the hardware prefetches. Fewer, larger chunks are also fewer
 * sources for gather to prepare.
 *
 * Order. Within a segment equal keys keep their order, and segments keep theirs, so ordinals are
 * still ascending among equal keys and the result is the same.
 *
 * Memory. A copy of the segment, with its keys, is in memory beside the original. It is made only
 * when there is that much to spare; any refusal leaves the segment as it was. */
#include <assert.h>
#include <string.h>

#include "base/bits.h"
#include "ops/sort/row_buffer_internal.h"

/* Segments of fewer rows have rows so wide that copying them gains nothing. */
#define FOLD_ROWS_MIN 4096

/* The new chunks of a segment while they are made. */
typedef struct fold {
    oci_row_buffer *buffer;
    oci_batch **batches;
    oci_row_keys *keys;
    int32_t n;
    int32_t capacity;
} fold;

void oci_row_buffer_set_fold(oci_row_buffer *buffer, int64_t bytes)
{
    buffer->fold_bytes = bytes;
}

static bool is_ordered(const oci_entry *entries, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        if (entries[i].ordinal < entries[i - 1].ordinal) {
            return false;
        }
    }
    return true;
}

/* Gathers the next block of rows; *done gets how many. */
static oc_status fold_block(fold *f, const oci_entry *entries, int64_t n, oci_row_ref *refs,
                            int64_t *done)
{
    oci_row_buffer *buffer = f->buffer;
    oci_schema *schema = buffer->batches[buffer->folded_chunks]->schema;
    const oci_batch *const *sources = (const oci_batch *const *)buffer->batches;
    n = oci_min64(n, OCI_GATHER_ROWS_MAX);
    for (int64_t i = 0; i < n; i++) {
        refs[i] = oci_ref_of(buffer, entries[i].ordinal);
    }
    if (f->n == f->capacity) {
        return OC_EBUDGET; /* more blocks than expected: rows of very different widths */
    }
    OC_TRY(
        oci_gather_fit(schema, sources, refs, n, buffer->fold_bytes, buffer->mem, &n, NULL, NULL));
    OC_TRY(oci_gather(schema, sources, refs, n, 0, buffer->mem, NULL, &f->batches[f->n], NULL));
    oc_status status = oci_row_keys_encode(f->batches[f->n], buffer->keys, buffer->n_keys,
                                           buffer->mem, NULL, &f->keys[f->n], NULL);
    if (status != OC_OK) {
        oci_batch_release(f->batches[f->n]);
        return status;
    }
    f->n++;
    *done = n;
    return OC_OK;
}

static oc_status fold_rows(fold *f, const oci_entry *entries, int64_t n)
{
    void *refs;
    int64_t refs_bytes = OCI_GATHER_ROWS_MAX * (int64_t)sizeof(oci_row_ref);
    OC_TRY(oci_mem_try_alloc(f->buffer->mem, refs_bytes, &refs, NULL));
    oc_status status = OC_OK;
    for (int64_t at = 0; status == OC_OK && at < n;) {
        int64_t done = 0;
        status = fold_block(f, entries + at, n - at, refs, &done);
        at += done;
    }
    oci_mem_free(f->buffer->mem, refs, refs_bytes);
    return status;
}

/* Puts the new chunks in the place of those they were made of. There is room for them in the lists.
 */
static void replace_chunks(fold *f)
{
    oci_row_buffer *buffer = f->buffer;
    for (int32_t c = buffer->folded_chunks; c < buffer->n_chunks; c++) {
        buffer->payload_bytes -= buffer->batches[c]->bytes;
        buffer->key_bytes -= oci_mem_charge_of(buffer->chunk_keys[c].block_bytes);
        oci_batch_release(buffer->batches[c]);
        oci_row_keys_deinit(&buffer->chunk_keys[c]);
    }
    int64_t row = buffer->first[buffer->folded_chunks];
    for (int32_t i = 0; i < f->n; i++) {
        int32_t c = buffer->folded_chunks + i;
        buffer->batches[c] = f->batches[i];
        buffer->chunk_keys[c] = f->keys[i];
        buffer->first[c] = row;
        row += f->batches[i]->length;
        buffer->payload_bytes += f->batches[i]->bytes;
        buffer->key_bytes += oci_mem_charge_of(f->keys[i].block_bytes);
    }
    buffer->n_chunks = buffer->folded_chunks + f->n;
    buffer->first[buffer->n_chunks] = row;
    assert(row == buffer->rows);
}

static void drop_new_chunks(fold *f)
{
    for (int32_t i = 0; i < f->n; i++) {
        oci_batch_release(f->batches[i]);
        oci_row_keys_deinit(&f->keys[i]);
    }
}

/* Orders the segment and copies it. Refusals leave it as it is. */
static void fold_segment(oci_row_buffer *buffer)
{
    int64_t n = buffer->rows - buffer->first[buffer->folded_chunks];
    fold f = {.buffer = buffer, .capacity = (int32_t)(n / OCI_GATHER_ROWS_MAX) + 8};
    while (buffer->capacity < buffer->folded_chunks + f.capacity) {
        if (oci_row_buffer_grow(buffer, NULL) != OC_OK) {
            return;
        }
    }
    oci_mem *mem = buffer->mem;
    void *entries = NULL;
    void *hints = NULL;
    void *batches = NULL;
    void *keys = NULL;
    int64_t hint_bytes = oci_hints_bytes(n) + (int64_t)sizeof(uint32_t);
    int64_t batch_bytes = oci_list_bytes(f.capacity, sizeof *f.batches);
    int64_t keys_bytes = oci_list_bytes(f.capacity, sizeof *f.keys);
    if (oci_mem_try_alloc(mem, oci_entries_bytes(n), &entries, NULL) == OC_OK &&
        oci_mem_try_alloc(mem, hint_bytes, &hints, NULL) == OC_OK &&
        oci_mem_try_alloc(mem, batch_bytes, &batches, NULL) == OC_OK &&
        oci_mem_try_alloc(mem, keys_bytes, &keys, NULL) == OC_OK) {
        f.batches = batches;
        f.keys = keys;
        memset(keys, 0, (size_t)keys_bytes);
        buffer->hints = hints;
        oci_row_buffer_make_hints(buffer, buffer->folded_chunks);
        oci_row_buffer_order(buffer, buffer->folded_chunks, entries, n);
        if (!is_ordered(entries, n)) {
            if (fold_rows(&f, entries, n) == OC_OK) {
                replace_chunks(&f);
            } else {
                drop_new_chunks(&f);
            }
        }
        buffer->hints = NULL;
    }
    oci_mem_free(mem, entries, oci_entries_bytes(n));
    oci_mem_free(mem, hints, hint_bytes);
    oci_mem_free(mem, batches, batch_bytes);
    oci_mem_free(mem, keys, keys_bytes);
}

void oci_row_buffer_fold(oci_row_buffer *buffer)
{
    int64_t bytes = buffer->payload_bytes - buffer->folded_bytes;
    if (buffer->fold_bytes == 0 || bytes < buffer->fold_bytes) {
        return;
    }
    int64_t rows = buffer->rows - buffer->first[buffer->folded_chunks];
    /* The copy, its keys, entries: with less to spare it would only be begun. */
    int64_t needed = bytes + bytes / 4 + buffer->key_bytes / buffer->rows * rows +
                     2 * oci_entries_bytes(rows);
    if (rows >= FOLD_ROWS_MIN && oci_budget_free(oci_mem_budget(buffer->mem)) >= needed &&
        oci_schema_dictionaries(buffer->batches[0]->schema) == 0) {
        fold_segment(buffer);
    }
    buffer->folded_chunks = buffer->n_chunks;
    buffer->folded_bytes = buffer->payload_bytes;
}
