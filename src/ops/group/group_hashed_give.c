/* Hashed grouping: from groups in the table to batches. See group_hashed.c.
 *
 * Groups are listed by partition in one pass; the groups of a partition are put in the order of (hash, key) when
 * their turn comes: by the bytes of the hash from the top (American flag sort: McIlroy, Bostic, McIlroy,
 * "Engineering Radix Sort", 1993), which two passes nearly finish as hashes are uniform, then by insertion.
 *
 * The list of columns of a batch comes from malloc. */
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "ops/group/group_hashed_internal.h"

#define INSERTION_MAX 24
/* Groups between asking for a hash and looking at it. */
#define AHEAD 24

/* ---- order ----------------------------------------------------------------------------------- */

typedef struct entry {
    uint64_t hash;
    uint32_t group;
} entry;

static bool is_less(const oci_group_hashed *self, const entry *a, const entry *b)
{
    if (a->hash != b->hash) {
        return a->hash < b->hash;
    }
    oci_key_ref x = oci_group_table_key(self->table, a->group);
    oci_key_ref y = oci_group_table_key(self->table, b->group);
    for (int32_t which = oci_group_which(self) + 1; which < OCI_GROUP_HASHES; which++) {
        uint64_t next_a = oci_group_hash(x.bytes, x.size, which);
        uint64_t next_b = oci_group_hash(y.bytes, y.size, which);
        if (next_a != next_b) {
            return next_a < next_b;
        }
    }
    int64_t common = oci_min64(x.size, y.size);
    int order = common == 0 ? 0 : memcmp(x.bytes, y.bytes, (size_t)common);
    return order < 0 || (order == 0 && x.size < y.size);
}

static void insertion_sort(const oci_group_hashed *self, entry *entries, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        entry moving = entries[i];
        int64_t k = i;
        for (; k > 0 && is_less(self, &moving, &entries[k - 1]); k--) {
            entries[k] = entries[k - 1];
        }
        entries[k] = moving;
    }
}

static void sift_down(const oci_group_hashed *self, entry *entries, int64_t root, int64_t n)
{
    for (;;) {
        int64_t child = 2 * root + 1;
        if (child >= n) {
            return;
        }
        child += child + 1 < n && is_less(self, &entries[child], &entries[child + 1]);
        if (!is_less(self, &entries[root], &entries[child])) {
            return;
        }
        entry moved = entries[root];
        entries[root] = entries[child];
        entries[child] = moved;
        root = child;
    }
}

/* For many equal hashes, which no honest data has. */
static void heap_sort(const oci_group_hashed *self, entry *entries, int64_t n)
{
    for (int64_t root = n / 2 - 1; root >= 0; root--) {
        sift_down(self, entries, root, n);
    }
    for (int64_t end = n - 1; end > 0; end--) {
        entry largest = entries[0];
        entries[0] = entries[end];
        entries[end] = largest;
        sift_down(self, entries, 0, end);
    }
}

/* Moves entries to where their byte at `shift` belongs; ends[b] gets where those of byte b end. */
static void flag_sort(entry *entries, int64_t n, int32_t shift, int64_t ends[256])
{
    int64_t heads[256];
    memset(ends, 0, 256 * sizeof *ends);
    for (int64_t i = 0; i < n; i++) {
        ends[entries[i].hash >> shift & 0xFF]++;
    }
    int64_t at = 0;
    for (int b = 0; b < 256; b++) {
        heads[b] = at;
        at += ends[b];
        ends[b] = at;
    }
    for (int b = 0; b < 256; b++) {
        while (heads[b] < ends[b]) {
            entry moving = entries[heads[b]];
            int to = (int)(moving.hash >> shift & 0xFF);
            while (to != b) {
                entry other = entries[heads[to]];
                entries[heads[to]++] = moving;
                moving = other;
                to = (int)(moving.hash >> shift & 0xFF);
            }
            entries[heads[b]++] = moving;
        }
    }
}

static void sort_entries(const oci_group_hashed *self, entry *entries, int64_t n, int32_t shift)
{
    if (n <= INSERTION_MAX) {
        insertion_sort(self, entries, n);
        return;
    }
    if (shift < 0) {
        heap_sort(self, entries, n);
        return;
    }
    int64_t ends[256];
    flag_sort(entries, n, shift, ends);
    int64_t start = 0;
    for (int b = 0; b < 256; b++) {
        if (ends[b] - start > 1) {
            sort_entries(self, entries + start, ends[b] - start, shift - 8);
        }
        start = ends[b];
    }
}

static oc_status sort_next_partition(oci_group_hashed *self, oc_error *err)
{
    int64_t start = self->sorted_to;
    uint32_t *groups = self->order + start;
    int32_t p = oci_group_partition(self, oci_group_table_hash(self->table, groups[0]));
    int64_t n = self->counts[p];
    void *block;
    OC_TRY(oci_mem_alloc(self->mem, n * (int64_t)sizeof(entry), &block, err));
    entry *entries = block;
    for (int64_t i = 0; i < n; i++) {
        if (i + AHEAD < n) {
            oci_group_table_prefetch(self->table, groups[i + AHEAD]);
        }
        entries[i] = (entry){oci_group_table_hash(self->table, groups[i]), groups[i]};
    }
    sort_entries(self, entries, n, 56 - self->bits_done % 64 / 8 * 8);
    for (int64_t i = 0; i < n; i++) {
        groups[i] = entries[i].group;
    }
    oci_mem_free(self->mem, block, n * (int64_t)sizeof(entry));
    self->sorted_to = start + n;
    return OC_OK;
}

oc_status oci_group_start_giving(oci_group_hashed *self, oc_error *err)
{
    int64_t n = oci_group_table_size(self->table);
    int64_t at[OCI_GROUP_PARTITIONS_MAX];
    void *list;
    OC_TRY(oci_mem_alloc_reserved(&self->workspace, n * (int64_t)sizeof(uint32_t), &list, err));
    oci_reservation_promise(&self->workspace);
    self->order = list;
    self->order_room = self->order_n = n;
    self->order_at = self->sorted_to = 0;
    int64_t start = 0;
    for (int32_t p = 0; p < 1 << self->bits; p++) {
        at[p] = start;
        start += self->counts[p];
    }
    for (int64_t g = 0; g < n; g++) {
        int32_t p = oci_group_partition(self, oci_group_table_hash(self->table, g));
        self->order[at[p]++] = (uint32_t)g;
    }
    return OC_OK;
}

void oci_group_stop_giving(oci_group_hashed *self)
{
    oci_mem_free(self->mem, self->order, self->order_room * (int64_t)sizeof *self->order);
    self->order = NULL;
    self->order_room = self->order_n = self->order_at = self->sorted_to = 0;
    oci_mem_end_promise(self->mem);
}

/* ---- batches --------------------------------------------------------------------------------- */

static int64_t size_of(const oci_group_hashed *self, bool partial, const uint32_t *groups,
                       int64_t n)
{
    int64_t bytes = 0;
    for (int64_t i = 0; i < n; i++) {
        bytes += oci_group_table_key(self->table, groups[i]).size;
    }
    for (int32_t i = 0; i < self->n_aggregates; i++) {
        oci_aggregator *aggregator = self->aggregators[i];
        bytes += partial ? aggregator->ops->partial_bytes(aggregator, groups, n)
                         : aggregator->ops->finish_bytes(aggregator, groups, n);
    }
    return bytes;
}

int64_t oci_group_fit(const oci_group_hashed *self, bool partial, const uint32_t *groups, int64_t n,
                      int64_t bytes, int64_t *made)
{
    int64_t size = size_of(self, partial, groups, n);
    while (n > 1 && size > bytes) {
        int64_t scaled = (int64_t)((double)n * (double)bytes / (double)size);
        n = oci_max64(1, oci_min64(n - 1, scaled));
        size = size_of(self, partial, groups, n);
    }
    if (made != NULL) {
        *made = size;
    }
    return n;
}

/* Puts the columns of `from` (taken) into the batch, at column `at`. */
static oc_status add_columns(oci_batch *batch, int32_t at, oci_batch *from, oc_error *err)
{
    for (int32_t i = 0; i < from->schema->n_fields; i++) {
        batch->columns[at + i] = from->columns[i];
        batch->columns[at + i].field = &batch->schema->fields[at + i];
    }
    return oci_batch_keep(batch, from, err);
}

static oc_status decode_keys(oci_group_hashed *self, const uint32_t *groups, int64_t n,
                             oci_batch **out, oc_error *err)
{
    void *block;
    int64_t bytes = n * (int64_t)sizeof(oci_key_ref);
    OC_TRY(oci_mem_alloc(self->mem, bytes, &block, err));
    oci_key_ref *refs = block;
    for (int64_t i = 0; i < n; i++) {
        refs[i] = oci_group_table_key(self->table, groups[i]);
        __builtin_prefetch(
            refs[i].bytes); /* keys lie in the order of first use, these are anywhere */
    }
    oc_status status =
        oci_row_keys_decode(self->key_schema, self->spill_keys, refs, n, self->mem, NULL, out, err);
    oci_mem_free(self->mem, block, bytes);
    return status;
}

static oc_status fill_batch(oci_group_hashed *self, bool partial, const uint32_t *groups, int64_t n,
                            oci_batch *batch, oc_error *err)
{
    oci_batch *made;
    OC_TRY(decode_keys(self, groups, n, &made, err));
    OC_TRY(add_columns(batch, 0, made, err));
    int32_t at = self->n_keys;
    for (int32_t i = 0; i < self->n_aggregates; i++) {
        oci_aggregator *aggregator = self->aggregators[i];
        OC_TRY(partial ? aggregator->ops->partial(aggregator, groups, n, &made, err)
                       : aggregator->ops->finish(aggregator, groups, n, &made, err));
        int32_t n_columns = made->schema->n_fields;
        OC_TRY(add_columns(batch, at, made, err));
        at += n_columns;
    }
    return OC_OK;
}

oc_status oci_group_make_batch(oci_group_hashed *self, oci_schema *schema, bool partial,
                               const uint32_t *groups, int64_t n, oci_batch **out, oc_error *err)
{
    oci_column *columns = calloc((size_t)schema->n_fields + 1, sizeof *columns);
    oci_batch *batch;
    if (columns == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not make a batch of groups: out of memory");
    }
    OC_TRY(oci_batch_adopt(schema, n, columns, NULL, NULL, 0, NULL, 0, &batch, err));
    oc_status status = fill_batch(self, partial, groups, n, batch, err);
    if (status != OC_OK) {
        oci_batch_release(batch);
        return status;
    }
    *out = batch;
    return OC_OK;
}

static oc_status give(oci_group_hashed *self, oci_batch **out, oc_error *err)
{
    int64_t wanted = self->env->batch_rows;
    while (self->sorted_to < self->order_n && self->sorted_to - self->order_at < wanted) {
        OC_TRY(sort_next_partition(self, err));
    }
    int64_t n = oci_min64(wanted, self->sorted_to - self->order_at);
    if (n == 0) {
        return OC_OK;
    }
    const uint32_t *groups = self->order + self->order_at;
    n = oci_group_fit(self, self->is_partial, groups, n, self->block_bytes, NULL);
    OC_TRY(oci_group_make_batch(self, self->base.schema, self->is_partial, groups, n, out, err));
    self->order_at += n;
    return OC_OK;
}

oc_status oci_group_give(oci_group_hashed *self, oci_batch **out, oc_error *err)
{
    *out = NULL;
    oci_share_patience patience = {0};
    while (self->order_at < self->order_n) {
        oc_status status = give(self, out, err);
        if (status != OC_EBUDGET) {
            return status;
        }
        OC_TRY(oci_group_make_room(self, &patience, err));
    }
    return OC_OK; /* nothing is left, or the rest comes from disk */
}
