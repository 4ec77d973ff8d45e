/* Hashed grouping: the part that writes to disk. See group_hashed.c.
 *
 * What leaves. Groups of a partition that is on disk already have to be written anyway, so these leave first, the
 * largest partitions of them, as long runs are cheap. When they hold but a small part of the table, they stay to
 * grow, and the highest partitions that were whole in memory join them.
 *
 * What spilling takes is set aside beforehand and turned into a promise while it lasts, so that no other operator
 * takes it in between: two lists of group numbers, a block in columns and once more encoded, and what reading
 * a run back will take, since reading may be what makes us spill. Blocks are of the size that reading and writing
 * like (oci_env_block_bytes), or larger when one group is. */
#include <string.h>

#include "base/bits.h"
#include "ops/group/group_hashed_internal.h"

/* At least this share of the groups leaves at once; less makes many small runs. */
#define EVICT_SHARE 8
/* Partitions on disk that hold less than this share of the groups are left to grow. */
#define REST_SHARE 4
/* A block in columns, waiting while it is encoded, and the next one. */
#define BLOCKS 2
/* Entry of a list that sorts groups. */
#define SORT_ENTRY_BYTES 16

/* ---- memory set aside ------------------------------------------------------------------------ */

static int64_t slab_bytes(const oci_group_hashed *self)
{
    return oci_mem_charge_of(oci_max64(self->block_bytes, 2 * self->wide_bytes) + 4096);
}

/* With less than that, down to the least, blocks are not packed. */
static int64_t encode_bytes(const oci_group_hashed *self)
{
    return oci_run_writer_space_for(self->writer, slab_bytes(self), self->block_rows);
}

static int64_t workspace_bytes(const oci_group_hashed *self, int64_t n_more)
{
    int64_t n = oci_group_table_size(self->table) + n_more;
    int64_t most = 0;
    for (int32_t p = 0; p < 1 << self->bits; p++) {
        most = oci_max64(most, self->counts[p]);
    }
    most = oci_min64(n, most + n_more);
    return oci_mem_charge_of(n * (int64_t)sizeof(uint32_t)) +
           oci_mem_charge_of(most * SORT_ENTRY_BYTES) + BLOCKS * slab_bytes(self) +
           encode_bytes(self) + self->read_bytes +
           oci_mem_charge_of(self->block_rows * (int64_t)sizeof(oci_key_ref));
}

oc_status oci_group_set_aside(oci_group_hashed *self, int64_t n_more, oc_error *err)
{
    if (self->bits == 0) {
        return OC_OK; /* nothing can be spilled */
    }
    int64_t bytes = workspace_bytes(self, n_more);
    return bytes <= self->workspace.bytes
               ? OC_OK
               : oci_mem_try_reserve(self->mem, &self->workspace, bytes, err);
}

/* ---- runs ------------------------------------------------------------------------------------ */

void oci_group_runs_deinit(oci_group_hashed *self, oci_group_runs *runs)
{
    oci_mem_free(self->mem, runs->runs, runs->room * (int64_t)sizeof *runs->runs);
    *runs = (oci_group_runs){0};
}

static oc_status grow_runs(oci_group_hashed *self, oci_group_runs *runs, oc_error *err)
{
    if (runs->n < runs->room) {
        return OC_OK;
    }
    int64_t each = (int64_t)sizeof *runs->runs;
    int64_t room = oci_max64(2, runs->room + runs->room / 2);
    void *list;
    OC_TRY(oci_mem_realloc(self->mem, runs->runs, runs->room * each, room * each, &list, err));
    runs->runs = list;
    runs->room = room;
    return OC_OK;
}

oc_status oci_group_begin_writing(oci_group_hashed *self, oc_error *err)
{
    if (self->file == NULL) {
        OC_TRY(oci_spill_file_open(self->manager, &self->file, err));
        oci_run_writer_set_file(self->writer, self->file);
    }
    oc_status status = oci_run_writer_reserve(self->writer, encode_bytes(self), NULL);
    if (status == OC_EBUDGET) {
        int64_t least = oci_run_writer_space_least(self->writer, slab_bytes(self));
        status = oci_run_writer_reserve(self->writer, least, err);
    }
    if (status != OC_OK) {
        oci_run_writer_unreserve(self->writer);
    }
    return status;
}

static oc_status write_blocks(oci_group_hashed *self, const uint32_t *groups, int64_t n,
                              oc_error *err)
{
    for (int64_t at = 0; at < n;) {
        int64_t most = oci_min64(n - at, self->block_rows);
        int64_t rows = oci_group_fit(self, true, groups + at, most, self->block_bytes, NULL);
        oci_batch *block;
        OC_TRY(oci_env_tick(self->env, err));
        OC_TRY(
            oci_group_make_batch(self, self->spill_schema, true, groups + at, rows, &block, err));
        OC_TRY(oci_run_writer_add(self->writer, block, err));
        at += rows;
    }
    return OC_OK;
}

oc_status oci_group_write_run(oci_group_hashed *self, const uint32_t *groups, int64_t n,
                              oci_group_runs *runs, oc_error *err)
{
    oci_run_extent extent;
    OC_TRY(grow_runs(self, runs, err));
    OC_TRY(oci_run_writer_begin(self->writer, err));
    oc_status status = write_blocks(self, groups, n, err);
    if (status == OC_OK) {
        status = oci_run_writer_finish(self->writer, &extent, err);
    }
    if (status != OC_OK) {
        oci_run_writer_abandon(self->writer);
        return status;
    }
    oci_group_run *run = &runs->runs[runs->n++];
    *run = (oci_group_run){.offset = extent.offset, .bytes = extent.bytes};
    memcpy(run->run_id, extent.run_id, sizeof run->run_id);
    self->read_bytes = oci_max64(self->read_bytes, extent.read_bytes_max + extent.slab_bytes_max);
    return OC_OK;
}

oc_status oci_group_push(oci_group_hashed *self, oci_group_runs *runs, int32_t bits, oc_error *err)
{
    if (self->n_pending == self->room_pending) {
        int64_t each = (int64_t)sizeof *self->pending;
        int64_t room = oci_max64(16, 2 * self->room_pending);
        void *list;
        OC_TRY(oci_mem_realloc(self->mem, self->pending, self->room_pending * each, room * each,
                               &list, err));
        self->pending = list;
        self->room_pending = room;
    }
    self->pending[self->n_pending++] = (oci_group_pending){.runs = *runs, .bits = bits};
    *runs = (oci_group_runs){0};
    return OC_OK;
}

oc_status oci_group_push_spilled(oci_group_hashed *self, oc_error *err)
{
    for (int32_t p = (1 << self->bits) - 1; p >= self->first_spilled; p--) {
        if (self->spilled[p].n > 0) {
            OC_TRY(oci_group_push(self, &self->spilled[p], self->bits_done + self->bits, err));
        }
    }
    return OC_OK;
}

/* ---- evicting -------------------------------------------------------------------------------- */

/* Groups that stay, in list[0..kept): where the place of one that leaves is taken by one from the end, seven of
 * eight need not move. Keys of different lengths are packed in the order in which they lie. */
static void list_kept(const oci_group_hashed *self, const bool *leaves, uint32_t *list,
                      int64_t kept)
{
    int64_t n = oci_group_table_size(self->table);
    bool in_order = !oci_group_table_is_fixed(self->table);
    int64_t at = 0;
    int64_t last = n;
    for (int64_t g = 0; at < kept; g++) {
        if (!leaves[oci_group_partition(self, oci_group_table_hash(self->table, g))]) {
            list[at++] = (uint32_t)g;
        } else if (!in_order) {
            do {
                last--;
            } while (leaves[oci_group_partition(self, oci_group_table_hash(self->table, last))]);
            list[at++] = (uint32_t)last;
        }
    }
}

/* Fills list[0..n): first the groups that stay, then the others, partition by partition; starts[p] is where those
 * of partition p begin. Returns how many stay. */
static int64_t list_groups(const oci_group_hashed *self, const bool *leaves, uint32_t *list,
                           int64_t *starts)
{
    int64_t n = oci_group_table_size(self->table);
    int64_t at[OCI_GROUP_PARTITIONS_MAX];
    int64_t kept = n;
    for (int32_t p = (1 << self->bits) - 1; p >= 0; p--) {
        kept -= leaves[p] ? self->counts[p] : 0;
        starts[p] = at[p] = kept;
    }
    for (int64_t g = 0; g < n; g++) {
        int32_t p = oci_group_partition(self, oci_group_table_hash(self->table, g));
        if (leaves[p]) {
            list[at[p]++] = (uint32_t)g;
        }
    }
    list_kept(self, leaves, list, kept);
    return kept;
}

static oc_status write_partitions(oci_group_hashed *self, const bool *leaves, const uint32_t *list,
                                  const int64_t *starts, oc_error *err)
{
    for (int32_t p = 0; p < 1 << self->bits; p++) {
        if (leaves[p] && self->counts[p] > 0) {
            OC_TRY(oci_group_write_run(self, list + starts[p], self->counts[p], &self->spilled[p],
                                       err));
        }
    }
    return OC_OK;
}

static void drop_partitions(oci_group_hashed *self, const bool *leaves, const uint32_t *kept,
                            int64_t n)
{
    oci_group_table_keep(self->table, kept, n);
    for (int32_t i = 0; i < self->n_aggregates; i++) {
        self->aggregators[i]->ops->keep(self->aggregators[i], kept, n);
    }
    for (int32_t p = (1 << self->bits) - 1; p >= 0; p--) {
        if (leaves[p]) {
            self->counts[p] = 0;
            self->first_spilled = p < self->first_spilled ? p : self->first_spilled;
        }
    }
}

/* Forgets the runs that an attempt has added. */
static void forget_runs(oci_group_hashed *self, const int64_t *before)
{
    for (int32_t p = 0; p < 1 << self->bits; p++) {
        oci_group_runs *runs = &self->spilled[p];
        while (runs->n > before[p]) {
            const oci_group_run *run = &runs->runs[--runs->n];
            oci_spill_discard(self->file, run->offset, run->bytes);
        }
    }
}

static oc_status write_and_drop(oci_group_hashed *self, const bool *leaves, uint32_t *list,
                                oc_error *err)
{
    int64_t starts[OCI_GROUP_PARTITIONS_MAX] = {0};
    int64_t before[OCI_GROUP_PARTITIONS_MAX] = {0};
    for (int32_t p = 0; p < 1 << self->bits; p++) {
        before[p] = self->spilled[p].n;
    }
    int64_t kept = list_groups(self, leaves, list, starts);
    OC_TRY(oci_group_begin_writing(self, err));
    oc_status status = write_partitions(self, leaves, list, starts, err);
    oci_run_writer_unreserve(self->writer);
    if (status == OC_OK) {
        drop_partitions(self, leaves, list, kept);
    } else {
        forget_runs(self, before);
    }
    return status;
}

static oc_status evict_partitions(oci_group_hashed *self, const bool *leaves, oc_error *err)
{
    int64_t bytes = oci_group_table_size(self->table) * (int64_t)sizeof(uint32_t);
    void *list;
    oci_env_set_phase(self->env, "spilling");
    oci_reservation_promise(&self->workspace);
    oc_status status = oci_mem_alloc(self->mem, bytes, &list, err);
    if (status == OC_OK) {
        status = write_and_drop(self, leaves, list, err);
        oci_mem_free(self->mem, list, bytes);
    }
    if (status == OC_OK) {
        /* For the next time, while what was just freed is still promised to us. */
        status = oci_group_set_aside(self, 0, err);
        status = status == OC_EBUDGET ? OC_OK : status;
    }
    oci_mem_end_promise(self->mem);
    oci_env_set_phase(self->env, self->input != NULL ? "reading" : "merging");
    atomic_store(&self->held, oci_mem_held(self->mem) - self->workspace.bytes);
    return status;
}

/* The largest partition on disk that is not marked, -1 when none has groups in the table. */
static int32_t largest_spilled(const oci_group_hashed *self, const bool *leaves)
{
    int32_t largest = -1;
    int64_t most = 0;
    for (int32_t p = self->first_spilled; p < 1 << self->bits; p++) {
        if (!leaves[p] && self->counts[p] > most) {
            most = self->counts[p];
            largest = p;
        }
    }
    return largest;
}

oc_status oci_group_evict(oci_group_hashed *self, oc_error *err)
{
    bool leaves[OCI_GROUP_PARTITIONS_MAX] = {false};
    int64_t n = oci_group_table_size(self->table);
    int64_t wanted = (n + EVICT_SHARE - 1) / EVICT_SHARE;
    int64_t rest = 0;
    if (n == 0 || self->bits == 0) {
        return OC_EBUDGET;
    }
    for (int32_t p = self->first_spilled; p < 1 << self->bits; p++) {
        rest += self->counts[p];
    }
    if (rest * REST_SHARE < n) {
        for (int32_t p = self->first_spilled - 1; p >= 0 && wanted > 0; p--) {
            leaves[p] = true;
            wanted -= self->counts[p];
        }
    } else {
        wanted = oci_max64(wanted, rest / 2);
    }
    int32_t p;
    while (wanted > 0 && (p = largest_spilled(self, leaves)) >= 0) {
        leaves[p] = true;
        wanted -= self->counts[p];
    }
    return evict_partitions(self, leaves, err);
}

oc_status oci_group_evict_rest(oci_group_hashed *self, oc_error *err)
{
    bool leaves[OCI_GROUP_PARTITIONS_MAX] = {false};
    for (int32_t p = self->first_spilled; p < 1 << self->bits; p++) {
        leaves[p] = true;
    }
    return evict_partitions(self, leaves, err);
}

/* ---- while groups are given out -------------------------------------------------------------- */

static oc_status shed_partition(oci_group_hashed *self, int64_t start, int64_t end, oc_error *err)
{
    oci_group_runs runs = {0};
    oc_status status = oci_group_write_run(self, self->order + start, end - start, &runs, err);
    if (status == OC_OK) {
        status = oci_group_push(self, &runs, self->bits_done + self->bits, err);
    }
    oci_group_runs_deinit(self, &runs);
    return status;
}

static oc_status shed_partitions(oci_group_hashed *self, oc_error *err)
{
    for (int32_t p = (1 << self->bits) - 1; p >= 0 && self->order_n > self->order_at; p--) {
        int64_t start = oci_max64(self->order_n - self->counts[p], self->order_at);
        if (start < self->order_n) {
            OC_TRY(shed_partition(self, start, self->order_n, err));
        }
        self->order_n = start; /* these are on disk now, whatever comes */
    }
    return OC_OK;
}

oc_status oci_group_shed(oci_group_hashed *self, oc_error *err)
{
    if (self->bits == 0) {
        return OC_EBUDGET;
    }
    OC_TRY(oci_group_begin_writing(self, err));
    oc_status status = shed_partitions(self, err);
    oci_run_writer_unreserve(self->writer);
    OC_TRY(status);
    oci_group_stop_giving(self);
    oci_group_clear(self);
    return OC_OK;
}
