/* See row_buffer.h. Only the struct itself comes from malloc.
 *
 * Sorting goes in three steps. (1) An entry is made per row from the 12 key bytes behind the prefix
 * that all keys share (a null byte, the zero high bytes of small integers), so that those 12 bytes
 * tell rows apart. (2) The entries are sorted. (3) Groups of equal entries whose keys go on are
 * refined: the prefix shared within the group is skipped, the next 12 bytes are loaded, and the
 * group is sorted again; small groups are compared by memcmp. Each row's key is thus touched about
 * once per 12 bytes that matter (after "caching multikey quicksort", Ng and Kakehi 2007). Equal
 * keys stay in the order of their ordinals: the sort is stable. */
#include "ops/sort/row_buffer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "ops/sort/row_buffer_internal.h"

/* Groups up to this size are sorted by insertion with whole-key comparisons: loading and sorting
 * entries again would cost more. */
#define SMALL_GROUP_ROWS 12

oc_status oci_row_buffer_create(const oci_sort_key *keys, int32_t n_keys, oci_mem *mem,
                                oci_row_buffer **out, oc_error *err)
{
    oci_row_buffer *buffer = calloc(1, sizeof *buffer);
    if (buffer == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up a sort buffer: out of memory");
    }
    buffer->keys = keys;
    buffer->n_keys = n_keys;
    buffer->mem = mem;
    buffer->entry_space.mem = mem;
    *out = buffer;
    return OC_OK;
}

/* -- collecting -------------------------------------------------------------------------------- */

static int64_t sort_space(int64_t rows)
{
    return rows == 0 ? 0
                     : oci_mem_charge_of(oci_entries_bytes(rows)) +
                           oci_mem_charge_of(oci_hints_bytes(rows));
}

/* The lists grow together or not at all. */
oc_status oci_row_buffer_grow(oci_row_buffer *buffer, oc_error *err)
{
    int32_t new_capacity = buffer->capacity == 0 ? 16 : buffer->capacity * 2;
    oci_mem *mem = buffer->mem;
    void *batches = NULL;
    void *keys = NULL;
    void *first = NULL;
    oc_status status = oci_mem_try_alloc(mem, oci_list_bytes(new_capacity, sizeof *buffer->batches),
                                         &batches, err);
    if (status == OC_OK) {
        status = oci_mem_try_alloc(mem, oci_list_bytes(new_capacity, sizeof *buffer->chunk_keys),
                                   &keys, err);
    }
    if (status == OC_OK) {
        status = oci_mem_try_alloc(mem, oci_list_bytes(new_capacity + 1, sizeof *buffer->first),
                                   &first, err);
    }
    if (status != OC_OK) {
        oci_mem_free(mem, batches, oci_list_bytes(new_capacity, sizeof *buffer->batches));
        oci_mem_free(mem, keys, oci_list_bytes(new_capacity, sizeof *buffer->chunk_keys));
        return status;
    }
    if (buffer->capacity > 0) {
        memcpy(batches, buffer->batches, (size_t)buffer->n_chunks * sizeof *buffer->batches);
        memcpy(keys, buffer->chunk_keys, (size_t)buffer->n_chunks * sizeof *buffer->chunk_keys);
        memcpy(first, buffer->first, (size_t)(buffer->n_chunks + 1) * sizeof *buffer->first);
        oci_mem_free(mem, buffer->batches,
                     oci_list_bytes(buffer->capacity, sizeof *buffer->batches));
        oci_mem_free(mem, buffer->chunk_keys,
                     oci_list_bytes(buffer->capacity, sizeof *buffer->chunk_keys));
        oci_mem_free(mem, buffer->first,
                     oci_list_bytes(buffer->capacity + 1, sizeof *buffer->first));
    }
    buffer->batches = batches;
    buffer->chunk_keys = keys;
    buffer->first = first;
    buffer->capacity = new_capacity;
    return OC_OK;
}

static int64_t common_prefix(const uint8_t *a, int64_t a_size, const uint8_t *b, int64_t b_size,
                             int64_t from)
{
    int64_t n = a_size < b_size ? a_size : b_size;
    int64_t i = from;
    while (i < n && a[i] == b[i]) {
        i++;
    }
    return i;
}

/* Shortens the shared prefix to what the keys of a new chunk have in common with the first key of
 * all. */
static void note_shared_prefix(oci_row_buffer *buffer, const oci_row_keys *keys)
{
    int64_t size;
    const uint8_t *reference;
    if (buffer->n_chunks == 0) {
        reference = oci_row_key_at(keys, 0, &size);
        buffer->shared = size;
    } else {
        reference = oci_row_key_at(&buffer->chunk_keys[0], 0, &size);
    }
    for (int64_t row = 0; row < keys->length && buffer->shared > 0; row++) {
        int64_t other_size;
        const uint8_t *other = oci_row_key_at(keys, row, &other_size);
        int64_t limit = buffer->shared < other_size ? buffer->shared : other_size;
        buffer->shared = common_prefix(reference, limit, other, limit, 0);
    }
}

oc_status oci_row_buffer_add_with_keys(oci_row_buffer *buffer, oci_batch *batch, oci_row_keys *keys,
                                       oc_error *err)
{
    assert(buffer->entries == NULL);
    if (batch->length > OCI_BUFFER_ROWS_MAX - buffer->rows &&
        (buffer->rows > 0 || batch->length >= UINT32_MAX)) {
        OC_FAIL(err, OC_EBUDGET, "sort buffer is full: it numbers rows with 32 bits");
    }
    if (buffer->n_chunks == buffer->capacity) {
        OC_TRY(oci_row_buffer_grow(buffer, err));
    }
    int64_t rows = buffer->rows + batch->length;
    OC_TRY(oci_mem_try_reserve(buffer->mem, &buffer->entry_space, sort_space(rows), err));
    note_shared_prefix(buffer, keys);
    buffer->batches[buffer->n_chunks] = batch;
    buffer->chunk_keys[buffer->n_chunks] = *keys;
    buffer->first[buffer->n_chunks] = buffer->rows;
    buffer->n_chunks++;
    buffer->first[buffer->n_chunks] = rows;
    buffer->rows = rows;
    buffer->payload_bytes += batch->bytes;
    buffer->key_bytes += oci_mem_charge_of(keys->block_bytes);
    *keys = (oci_row_keys){0};
    oci_row_buffer_fold(buffer);
    return OC_OK;
}

oc_status oci_row_buffer_add(oci_row_buffer *buffer, oci_batch *batch, oc_error *err)
{
    if (batch->length == 0) {
        oci_batch_release(batch);
        return OC_OK;
    }
    oci_row_keys keys = {0};
    OC_TRY(oci_row_keys_encode(batch, buffer->keys, buffer->n_keys, buffer->mem, NULL, &keys, err));
    oc_status status = oci_row_buffer_add_with_keys(buffer, batch, &keys, err);
    oci_row_keys_deinit(&keys);
    return status;
}

int64_t oci_row_buffer_rows(const oci_row_buffer *buffer)
{
    return buffer->rows;
}

int64_t oci_row_buffer_bytes(const oci_row_buffer *buffer)
{
    return buffer->payload_bytes + buffer->key_bytes + sort_space(buffer->rows);
}

static void free_order(oci_row_buffer *buffer)
{
    if (buffer->entries != NULL) {
        oci_mem_free(buffer->mem, buffer->entries, oci_entries_bytes(buffer->rows));
        buffer->entries = NULL;
    }
    if (buffer->hints != NULL) {
        oci_mem_free(buffer->mem, buffer->hints, oci_hints_bytes(buffer->rows));
        buffer->hints = NULL;
    }
}

void oci_row_buffer_clear(oci_row_buffer *buffer)
{
    free_order(buffer);
    oci_reservation_release(&buffer->entry_space);
    buffer->entry_space.mem = buffer->mem;
    for (int32_t c = 0; c < buffer->n_chunks; c++) {
        oci_batch_release(buffer->batches[c]);
        oci_row_keys_deinit(&buffer->chunk_keys[c]);
    }
    oci_mem_free(buffer->mem, buffer->batches,
                 oci_list_bytes(buffer->capacity, sizeof *buffer->batches));
    oci_mem_free(buffer->mem, buffer->chunk_keys,
                 oci_list_bytes(buffer->capacity, sizeof *buffer->chunk_keys));
    oci_mem_free(buffer->mem, buffer->first,
                 oci_list_bytes(buffer->capacity + 1, sizeof *buffer->first));
    buffer->batches = NULL;
    buffer->chunk_keys = NULL;
    buffer->first = NULL;
    buffer->capacity = 0;
    buffer->n_chunks = 0;
    buffer->rows = 0;
    buffer->payload_bytes = 0;
    buffer->key_bytes = 0;
    buffer->shared = 0;
    buffer->folded_chunks = 0;
    buffer->folded_bytes = 0;
}

void oci_row_buffer_destroy(oci_row_buffer *buffer)
{
    if (buffer != NULL) {
        oci_row_buffer_clear(buffer);
        free(buffer);
    }
}

/* -- finding rows ------------------------------------------------------------------------------ */

static inline const uint8_t *key_of(const oci_row_buffer *buffer, uint32_t ordinal, int64_t *size)
{
    oci_row_ref ref = oci_ref_of(buffer, ordinal);
    return oci_row_key_at(&buffer->chunk_keys[ref.source], ref.row, size);
}

/* Hints for the rows from chunk `first_chunk` on. */
void oci_row_buffer_make_hints(oci_row_buffer *buffer, int32_t first_chunk)
{
    int32_t chunk = first_chunk;
    int64_t start = buffer->first[first_chunk];
    buffer->first_hint = start >> OCI_HINT_SHIFT;
    for (int64_t at = buffer->first_hint; at << OCI_HINT_SHIFT < buffer->rows; at++) {
        int64_t ordinal = oci_max64(start, at << OCI_HINT_SHIFT);
        while (buffer->first[chunk + 1] <= ordinal) {
            chunk++;
        }
        buffer->hints[at - buffer->first_hint] = (uint32_t)chunk;
    }
}

/* -- ordering
 * ------------------------------------------------------------------------------------------------
 */

static inline uint64_t load_be64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

static inline uint32_t load_be32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    v = __builtin_bswap32(v);
#endif
    return v;
}

/* The 12 key bytes from `depth` on, zeros where the key ends before. */
static inline void load_entry(oci_entry *entry, const uint8_t *key, int64_t size, int64_t depth)
{
    if (size - depth >= OCI_ENTRY_KEY_BYTES) {
        entry->hi = load_be64(key + depth);
        entry->lo = load_be32(key + depth + 8);
        return;
    }
    uint8_t padded[16] = {0};
    if (size > depth) {
        memcpy(padded, key + depth, (size_t)(size - depth));
    }
    entry->hi = load_be64(padded);
    entry->lo = load_be32(padded + 8);
}

/* Entries for the rows from chunk `first_chunk` on. */
static void make_entries(const oci_row_buffer *buffer, int32_t first_chunk, oci_entry *entry)
{
    uint32_t ordinal = (uint32_t)buffer->first[first_chunk];
    for (int32_t c = first_chunk; c < buffer->n_chunks; c++) {
        const oci_row_keys *keys = &buffer->chunk_keys[c];
        for (int64_t row = 0; row < keys->length; row++) {
            int64_t size;
            const uint8_t *key = oci_row_key_at(keys, row, &size);
            load_entry(entry, key, size, buffer->shared);
            entry->ordinal = ordinal++;
            entry++;
        }
    }
}

/* memcmp order of what follows `depth`. */
static int compare_tails(const oci_row_buffer *buffer, uint32_t a, uint32_t b, int64_t depth)
{
    int64_t a_size;
    int64_t b_size;
    const uint8_t *a_key = key_of(buffer, a, &a_size);
    const uint8_t *b_key = key_of(buffer, b, &b_size);
    int64_t n = a_size < b_size ? a_size : b_size;
    int order = n > depth ? memcmp(a_key + depth, b_key + depth, (size_t)(n - depth)) : 0;
    return order != 0 ? order : (a_size > b_size) - (a_size < b_size);
}

/* Stable, so equal keys keep the order of ordinals they come in. */
static void sort_small_group(const oci_row_buffer *buffer, oci_entry *e, int64_t n, int64_t depth)
{
    for (int64_t i = 1; i < n; i++) {
        oci_entry moving = e[i];
        int64_t j = i;
        while (j > 0 && compare_tails(buffer, e[j - 1].ordinal, moving.ordinal, depth) > 0) {
            e[j] = e[j - 1];
            j--;
        }
        e[j] = moving;
    }
}

/* How many bytes the keys of a group have in common, from `depth` on as part of the count. */
static int64_t group_prefix(const oci_row_buffer *buffer, const oci_entry *e, int64_t n,
                            int64_t depth)
{
    int64_t size;
    const uint8_t *key = key_of(buffer, e[0].ordinal, &size);
    int64_t shared = size;
    for (int64_t i = 1; i < n && shared > depth; i++) {
        int64_t other_size;
        const uint8_t *other = key_of(buffer, e[i].ordinal, &other_size);
        shared =
            common_prefix(key, shared, other, other_size < shared ? other_size : shared, depth);
    }
    return shared;
}

/* Prepares a group of rows whose keys are equal up to `depth`: sorts it by the next bytes that
 * differ. Returns the depth its entries now cover, or -1 when the group is in its final order. */
static int64_t resort_group(const oci_row_buffer *buffer, oci_entry *e, int64_t n, int64_t depth)
{
    if (n <= SMALL_GROUP_ROWS) {
        sort_small_group(buffer, e, n, depth);
        return -1;
    }
    int64_t size;
    (void)key_of(buffer, e[0].ordinal, &size);
    depth = group_prefix(buffer, e, n, depth);
    /* No key is a prefix of another, so a shared prefix as long as one key means that all are
     * equal. */
    if (depth >= size) {
        return -1;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t other_size;
        const uint8_t *other = key_of(buffer, e[i].ordinal, &other_size);
        load_entry(&e[i], other, other_size, depth);
    }
    oci_entries_sort(e, n);
    return depth + OCI_ENTRY_KEY_BYTES;
}

/* Orders rows within groups of equal entries; entries cover the key up to `depth`. The largest
 * group is left for the loop, the others recurse: the stack stays logarithmic even for keys that
 * differ one row at a time. */
static void refine_groups(const oci_row_buffer *buffer, oci_entry *e, int64_t n, int64_t depth)
{
    while (depth >= 0) {
        oci_entry *largest = NULL;
        int64_t largest_n = 1;
        int64_t start = 0;
        while (start < n) {
            int64_t end = start + 1;
            while (end < n && e[end].hi == e[start].hi && e[end].lo == e[start].lo) {
                end++;
            }
            oci_entry *group = e + start;
            int64_t group_n = end - start;
            if (group_n > largest_n) {
                oci_entry *previous = largest;
                int64_t previous_n = largest_n;
                largest = group;
                largest_n = group_n;
                group = previous;
                group_n = previous_n;
            }
            if (group_n > 1) {
                refine_groups(buffer, group, group_n, resort_group(buffer, group, group_n, depth));
            }
            start = end;
        }
        if (largest == NULL) {
            return;
        }
        e = largest;
        n = largest_n;
        depth = resort_group(buffer, e, n, depth);
    }
}

/* Whether 12 bytes behind the shared prefix are all there is of every key. */
static bool entries_are_whole_keys(const oci_row_buffer *buffer)
{
    int64_t stride = buffer->chunk_keys[0].stride;
    return stride > 0 && stride - buffer->shared <= OCI_ENTRY_KEY_BYTES;
}

/* Fills and sorts entries[0..n) for the rows from chunk `first_chunk` on; hints are made. */
void oci_row_buffer_order(const oci_row_buffer *buffer, int32_t first_chunk, oci_entry *entries,
                          int64_t n)
{
    make_entries(buffer, first_chunk, entries);
    oci_entries_sort(entries, n);
    if (!entries_are_whole_keys(buffer)) {
        refine_groups(buffer, entries, n, buffer->shared + OCI_ENTRY_KEY_BYTES);
    }
}

oc_status oci_row_buffer_sort(oci_row_buffer *buffer, oc_error *err)
{
    if (buffer->rows == 0 || buffer->entries != NULL) {
        return OC_OK;
    }
    void *entries;
    void *hints;
    OC_TRY(oci_mem_alloc_reserved(&buffer->entry_space, oci_entries_bytes(buffer->rows), &entries,
                                  err));
    oc_status status =
        oci_mem_alloc_reserved(&buffer->entry_space, oci_hints_bytes(buffer->rows), &hints, err);
    if (status != OC_OK) {
        oci_mem_free_reserved(&buffer->entry_space, entries, oci_entries_bytes(buffer->rows));
        return status;
    }
    buffer->entries = entries;
    buffer->hints = hints;
    oci_row_buffer_make_hints(buffer, 0);
    oci_row_buffer_order(buffer, 0, buffer->entries, buffer->rows);
    return OC_OK;
}

void oci_row_buffer_refs(const oci_row_buffer *buffer, int64_t start, int64_t n, oci_row_ref *out)
{
    assert(start + n <= buffer->rows);
    for (int64_t i = 0; i < n; i++) {
        out[i] = oci_ref_of(buffer, buffer->entries[start + i].ordinal);
    }
}

const uint8_t *oci_row_buffer_key(const oci_row_buffer *buffer, int64_t position, int64_t *size)
{
    return key_of(buffer, buffer->entries[position].ordinal, size);
}

const oci_batch *const *oci_row_buffer_sources(const oci_row_buffer *buffer, int32_t *n)
{
    *n = buffer->n_chunks;
    return (const oci_batch *const *)buffer->batches;
}
