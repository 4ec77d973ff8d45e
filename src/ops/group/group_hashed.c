/* Hashed grouping as a stream: making it, and the order of the work.
 *
 *   slice of the input -> keys -> hashes -> groups of the table -> states          (group_hashed_take.c)
 *      budget refuses -> the highest partitions are spilled, the slice is tried    (group_hashed_spill.c)
 *                        again
 *   end of input -> partitions in memory are given out in the order of the hash    (group_hashed_give.c)
 *                -> then each spilled one: its runs are taken as the input was, with
 *                   the next bits of the hash telling partitions, and so on
 *
 * Spilled are always the highest partitions, from some one on; so what is in memory comes before what is on
 * disk, and all rows come out in the order of (hash, key), whatever was spilled.
 *
 * A slice changes nothing before table, states and workspace have all that they could need: adding rows cannot
 * fail half way. Sharing memory with other operators is as in the sort (ops/share.h, sort.c): whoever is refused
 * spills its own groups, then waits; on request groups are spilled by reclaim() while no call runs or while we
 * wait for our input.
 *
 * The struct and its small lists come from malloc: they grow with the number of columns. */
#include <stdlib.h>
#include <string.h>

#include "arrow/row_key_decode.h"
#include "base/bits.h"
#include "base/tiny.h"
#include "ops/group/group_hashed_internal.h"

#define SLICE_ROWS_MAX 8192
#define SLICE_ROWS_MIN 256
/* Bytes of memory for each row of a slice: hash, group, filtered group. */
#define SLICE_ROW_BYTES (sizeof(uint64_t) + 2 * sizeof(uint32_t))
/* A partition smaller than this makes runs of tiny blocks. */
#define PARTITION_BYTES_MIN ((int64_t)128 << 10)

/* ---- making and closing ---------------------------------------------------------------------- */

static oc_status out_of_memory(oc_error *err)
{
    OC_FAIL(err, OC_ENOMEM, "could not set up a grouping: out of memory");
}

static oc_status copy_keys(oci_group_hashed *self, const oci_group_plan *plan, oc_error *err)
{
    self->n_keys = plan->n_keys;
    self->input_keys = calloc((size_t)plan->n_keys + 1, sizeof *self->input_keys);
    self->spill_keys = calloc((size_t)plan->n_keys + 1, sizeof *self->spill_keys);
    if (self->input_keys == NULL || self->spill_keys == NULL) {
        return out_of_memory(err);
    }
    for (int32_t k = 0; k < plan->n_keys; k++) {
        self->input_keys[k].column = plan->keys[k];
        self->spill_keys[k].column = k;
    }
    OC_TRY(oci_row_key_check(self->input->schema, self->input_keys, plan->n_keys, err));
    return oci_row_keys_schema(self->input->schema, self->input_keys, self->n_keys,
                               &self->key_schema, err);
}

static oc_status make_aggregators(oci_group_hashed *self, const oci_group_plan *plan,
                                  const oci_group_stage *stage, oc_error *err)
{
    self->arguments = calloc((size_t)plan->n_aggregates + 1, sizeof *self->arguments);
    self->aggregators = calloc((size_t)plan->n_aggregates + 1, sizeof(oci_aggregator *));
    if (self->arguments == NULL || self->aggregators == NULL) {
        return out_of_memory(err);
    }
    for (int32_t i = 0; i < plan->n_aggregates; i++) {
        const oci_aggregate *aggregate = &plan->aggregates[i];
        int32_t state = stage->states == NULL ? -1 : stage->states[i];
        self->arguments[i] =
            (oci_group_argument){.n = aggregate->n_args,
                                 .columns = {aggregate->args[0], aggregate->args[1]},
                                 .filter = aggregate->filter,
                                 .state = state};
        const oci_schema *schema = state < 0 ? self->input->schema : stage->origin;
        oci_aggregator *aggregator;
        OC_TRY(oci_aggregator_create(aggregate, schema, self->mem, &aggregator, err));
        self->aggregators[i] = aggregator;
        self->n_aggregates = i + 1;
    }
    return OC_OK;
}

static oc_status copy_fields(const oci_schema *from, oci_field *fields, int32_t *n, oc_error *err)
{
    for (int32_t i = 0; i < from->n_fields; i++) {
        OC_TRY(oci_field_copy(&from->fields[i], &fields[*n], err));
        ++*n;
    }
    return OC_OK;
}

/* Keys, then states or results. */
static oc_status make_schema(oci_group_hashed *self, bool is_partial, oci_schema **out,
                             oc_error *err)
{
    int32_t room = self->n_keys + 1;
    for (oci_aggregator **a = self->aggregators; *a != NULL; a++) {
        room += is_partial ? (*a)->states->n_fields : 1;
    }
    oci_field *fields = calloc((size_t)room, sizeof *fields);
    if (fields == NULL) {
        return out_of_memory(err);
    }
    int32_t n = 0;
    oc_status status = copy_fields(self->key_schema, fields, &n, err);
    for (oci_aggregator **a = self->aggregators; status == OC_OK && *a != NULL; a++) {
        status = copy_fields(is_partial ? (*a)->states : (*a)->result, fields, &n, err);
    }
    if (status != OC_OK) {
        for (int32_t i = 0; i < n; i++) {
            oci_field_deinit(&fields[i]);
        }
        free(fields);
        return status;
    }
    return oci_schema_create(fields, n, NULL, 0, out, err);
}

static int32_t bits_for(const oci_group_hashed *self)
{
    if (self->n_keys == 0) {
        return 0; /* one group, of which no part can leave */
    }
    int64_t parts = oci_budget_limit(self->env->budget) / PARTITION_BYTES_MIN;
    int32_t bits = 1;
    while (bits < OCI_GROUP_BITS_MAX && ((int64_t)2 << bits) <= parts) {
        bits++;
    }
    if (self->bits_done >= 64 * OCI_GROUP_HASHES) {
        return 0;
    }
    int32_t left = 64 - self->bits_done % 64;
    return bits < left ? bits : left;
}

static oc_status make_slice_lists(oci_group_hashed *self, oc_error *err)
{
    int64_t rows = oci_budget_limit(self->env->budget) / 64 / (int64_t)SLICE_ROW_BYTES;
    self->slice_rows = oci_max64(SLICE_ROWS_MIN, oci_min64(SLICE_ROWS_MAX, rows));
    self->slice_rows = OCI_TINY(50, self->slice_rows);
    void *block;
    OC_TRY(oci_mem_alloc(self->mem, self->slice_rows * (int64_t)SLICE_ROW_BYTES, &block, err));
    self->hashes = block;
    self->groups = (uint32_t *)(self->hashes + self->slice_rows);
    self->filtered = self->groups + self->slice_rows;
    return OC_OK;
}

static oc_status init(oci_group_hashed *self, const oci_group_plan *plan,
                      const oci_group_stage *stage, oc_error *err)
{
    const oci_schema *input = self->input->schema;
    OC_TRY(oci_mem_open(self->env->budget, "group", &self->mem, err));
    self->workspace.mem = self->mem;
    self->is_partial = stage->is_partial;
    OC_TRY(copy_keys(self, plan, err));
    OC_TRY(make_aggregators(self, plan, stage, err));
    OC_TRY(make_schema(self, stage->is_partial, &self->base.schema, err));
    OC_TRY(make_schema(self, true, &self->spill_schema, err));
    OC_TRY(oci_group_table_create(oci_row_key_stride(input, self->input_keys, self->n_keys),
                                  self->mem, &self->table, err));
    OC_TRY(oci_worker_create(self->env->threads, &self->worker, err));
    OC_TRY(oci_run_writer_prepare(self->manager, self->spill_schema, self->mem, self->worker,
                                  &self->writer, err));
    OC_TRY(oci_run_decoder_create(self->manager, self->spill_schema, true, self->mem,
                                  &self->decoder, err));
    self->is_single = self->n_keys == 0;
    self->block_bytes = oci_env_block_bytes(self->env);
    self->block_rows = oci_max64(SLICE_ROWS_MIN, oci_min64(65536, self->block_bytes / 16));
    self->bits = bits_for(self);
    self->first_spilled = 1 << self->bits;
    return OC_OK;
}

static oc_status group_next(oci_stream *stream, oci_batch **out, oc_error *err);
static void group_close(oci_stream *stream);
static int64_t group_held(void *arg);
static int64_t group_reclaim(void *arg, int64_t bytes);

oc_status oci_group_hashed_open(const oci_env *env, oci_spill_manager *manager, oci_stream *input,
                                const oci_group_plan *plan, oci_stream **out, oc_error *err)
{
    static const oci_group_stage whole = {0};
    return oci_group_stage_open(env, manager, input, plan, &whole, out, err);
}

oc_status oci_group_stage_open(const oci_env *env, oci_spill_manager *manager, oci_stream *input,
                               const oci_group_plan *plan, const oci_group_stage *stage,
                               oci_stream **out, oc_error *err)
{
    oci_group_hashed *self = calloc(1, sizeof *self);
    if (self == NULL) {
        oci_stream_close(input);
        return out_of_memory(err);
    }
    self->base.next = group_next;
    self->base.close = group_close;
    self->env = env;
    self->manager = oci_spill_manager_retain(manager);
    self->input = input;
    pthread_mutex_init(&self->lock, NULL);
    self->reclaimer = (oci_reclaimer){.held = group_held, .reclaim = group_reclaim, .self = self};
    oci_budget_register(env->budget, &self->reclaimer);
    oc_status status = init(self, plan, stage, err);
    if (status != OC_OK) {
        group_close(&self->base);
        return status;
    }
    *out = &self->base;
    return OC_OK;
}

void oci_group_clear(oci_group_hashed *self)
{
    if (self->table != NULL) {
        oci_group_table_clear(self->table);
    }
    for (int32_t i = 0; i < self->n_aggregates; i++) {
        self->aggregators[i]->ops->clear(self->aggregators[i]);
    }
    memset(self->counts, 0, sizeof self->counts);
    atomic_store(&self->held, 0);
}

/* Gives back everything but the stream itself; also when the work ends before the stream is closed. */
static void release_work(oci_group_hashed *self)
{
    oci_run_writer_destroy(self->writer);
    oci_run_decoder_destroy(self->decoder);
    self->writer = NULL;
    self->decoder = NULL;
    if (self->mem != NULL) {
        oci_group_clear(self);
        oci_group_stop_giving(self);
        for (int32_t p = 0; p < OCI_GROUP_PARTITIONS_MAX; p++) {
            oci_group_runs_deinit(self, &self->spilled[p]);
        }
        while (self->n_pending > 0) {
            oci_group_runs_deinit(self, &self->pending[--self->n_pending].runs);
        }
        oci_mem_free(self->mem, self->pending, self->room_pending * (int64_t)sizeof *self->pending);
        self->pending = NULL;
        self->room_pending = 0;
        oci_mem_free(self->mem, self->hashes, self->slice_rows * (int64_t)SLICE_ROW_BYTES);
        self->hashes = NULL;
        oci_reservation_release(&self->workspace);
        oci_mem_end_promise(self->mem);
    }
    oci_spill_file_close(self->file);
    self->file = NULL;
    oci_stream_close(self->input);
    self->input = NULL;
    oci_share_leave(self->manager, &self->entry);
}

static void group_close(oci_stream *stream)
{
    oci_group_hashed *self = (oci_group_hashed *)stream;
    oci_budget_unregister(self->env->budget, &self->reclaimer);
    release_work(self);
    for (int32_t i = 0; i < self->n_aggregates; i++) {
        oci_aggregator_destroy(self->aggregators[i]);
    }
    oci_group_table_destroy(self->table);
    oci_worker_destroy(self->worker);
    oci_mem_close(self->mem);
    oci_schema_release(self->base.schema);
    oci_schema_release(self->key_schema);
    oci_schema_release(self->spill_schema);
    oci_spill_manager_release(self->manager);
    pthread_mutex_destroy(&self->lock);
    free(self->input_keys);
    free(self->spill_keys);
    free(self->aggregators);
    free(self->arguments);
    free(self);
}

/* ---- from input to groups -------------------------------------------------------------------- */

static oc_status pull(oci_group_hashed *self, oci_batch **out, oc_error *err)
{
    atomic_store(&self->puller, oci_thread_identity());
    oc_status status = oci_stream_next(self->input, out, err);
    atomic_store(&self->puller, 0);
    OC_TRY(status);
    if (self->status != OC_OK) { /* spilling failed meanwhile */
        oci_batch_release(*out);
        *out = NULL;
    }
    return self->status;
}

static oc_status absorb_input(oci_group_hashed *self, oc_error *err)
{
    oci_env_set_phase(self->env, "reading");
    oci_share_join(self->manager, &self->entry);
    OC_TRY(make_slice_lists(self, err));
    for (;;) {
        oci_batch *batch;
        OC_TRY(pull(self, &batch, err));
        if (batch == NULL) {
            break;
        }
        if (self->env->progress != NULL) {
            atomic_fetch_add(&self->env->progress->input_rows, batch->length);
        }
        OC_TRY(oci_group_take_batch(self, batch, false, err));
    }
    oci_stream_close(self->input);
    self->input = NULL;
    if (self->is_single && oci_group_table_size(self->table) == 0 &&
        self->first_spilled == 1 << self->bits) {
        return oci_group_add_single(self, err);
    }
    return OC_OK;
}

static oc_status read_block(oci_group_hashed *self, oci_run_cursor *cursor, oci_batch **out,
                            oc_error *err)
{
    oc_status status;
    oci_share_patience patience = {0};
    while ((status = oci_run_cursor_next(cursor, self->decoder, out, err)) == OC_EBUDGET) {
        OC_TRY(oci_group_make_room(self, &patience, err));
    }
    return status;
}

static oc_status absorb_run(oci_group_hashed *self, const oci_group_run *run, oc_error *err)
{
    oci_run_extent extent = {.offset = run->offset, .bytes = run->bytes};
    memcpy(extent.run_id, run->run_id, sizeof extent.run_id);
    oci_run_cursor cursor;
    oci_run_cursor_start(&cursor, self->file, &extent);
    oc_status status;
    oci_batch *block;
    while ((status = read_block(self, &cursor, &block, err)) == OC_OK && block != NULL) {
        status = oci_group_take_batch(self, block, true, err);
        if (status != OC_OK) {
            break;
        }
    }
    oci_run_cursor_finish(&cursor);
    return status;
}

/* The runs of the next part, with the next bits of the hash. */
static oc_status absorb_pending(oci_group_hashed *self, oc_error *err)
{
    oci_env_set_phase(self->env, "merging");
    oci_group_pending part = self->pending[--self->n_pending];
    self->bits_done = part.bits;
    self->bits = bits_for(self);
    self->first_spilled = 1 << self->bits;
    oc_status status = OC_OK;
    for (int64_t i = 0; status == OC_OK && i < part.runs.n; i++) {
        status = absorb_run(self, &part.runs.runs[i], err);
    }
    oci_group_runs_deinit(self, &part.runs);
    return status;
}

/* All has been taken: what belongs to partitions on disk follows them, the others are put in order. */
static oc_status split_groups(oci_group_hashed *self, oc_error *err)
{
    if (self->first_spilled < 1 << self->bits) {
        OC_TRY(oci_group_evict_rest(self, err));
        OC_TRY(oci_group_push_spilled(self, err));
    }
    return oci_group_start_giving(self, err);
}

static oc_status absorb(oci_group_hashed *self, oc_error *err)
{
    OC_TRY(self->input != NULL ? absorb_input(self, err) : absorb_pending(self, err));
    oc_status status;
    oci_share_patience patience = {0};
    while ((status = split_groups(self, err)) == OC_EBUDGET) {
        OC_TRY(oci_group_make_room(self, &patience, err));
    }
    OC_TRY(status);
    self->phase = OCI_GROUP_GIVE;
    return OC_OK;
}

/* Groups that are to be given out go to disk when others wait for memory and we have more than our share. */
static oc_status give_way(oci_group_hashed *self, oc_error *err)
{
    if (self->order_at == self->order_n ||
        !oci_share_is_passed(self->env, self->manager, atomic_load(&self->held))) {
        return OC_OK;
    }
    oc_status status = oci_group_shed(self, err);
    return status == OC_EBUDGET ? OC_OK : status;
}

static oc_status next_batch(oci_group_hashed *self, oci_batch **out, oc_error *err)
{
    for (;;) {
        if (self->phase == OCI_GROUP_ABSORB) {
            OC_TRY(absorb(self, err));
        }
        OC_TRY(oci_env_tick(self->env, err));
        OC_TRY(give_way(self, err));
        OC_TRY(oci_group_give(self, out, err));
        if (*out != NULL) {
            return OC_OK;
        }
        oci_group_stop_giving(self);
        oci_group_clear(self);
        if (self->n_pending == 0) {
            return OC_OK;
        }
        self->phase = OCI_GROUP_ABSORB;
    }
}

static oc_status group_next(oci_stream *stream, oci_batch **out, oc_error *err)
{
    oci_group_hashed *self = (oci_group_hashed *)stream;
    *out = NULL;
    pthread_mutex_lock(&self->lock);
    oci_share_enter_call();
    if (self->status == OC_OK && self->phase != OCI_GROUP_END) {
        self->error.status = OC_OK;
        oc_status status = next_batch(self, out, &self->error);
        self->status = status;
        if (status == OC_EBUDGET) {
            oci_group_name_limit(self, &self->error);
        }
        if (status != OC_OK || *out == NULL) {
            self->phase = OCI_GROUP_END;
            release_work(self);
        } else if (self->env->progress != NULL) {
            atomic_fetch_add(&self->env->progress->output_rows, (*out)->length);
        }
    }
    oc_status status = self->status;
    if (status != OC_OK && err != NULL) {
        *err = self->error;
    }
    oci_share_leave_call();
    pthread_mutex_unlock(&self->lock);
    return status;
}

/* ---- giving memory back ---------------------------------------------------------------------- */

static int64_t group_held(void *arg)
{
    oci_group_hashed *self = arg;
    return atomic_load(&self->held);
}

static int64_t group_reclaim(void *arg, int64_t bytes)
{
    oci_group_hashed *self = arg;
    bool is_pulling = atomic_load(&self->puller) == oci_thread_identity();
    if (!is_pulling && pthread_mutex_trylock(&self->lock) != 0) {
        return 0;
    }
    int64_t before = oci_mem_held(self->mem);
    oc_error error = {0};
    oc_status status = OC_OK;
    while (self->status == OC_OK && self->phase != OCI_GROUP_END && status == OC_OK &&
           oci_group_table_size(self->table) > 0 && before - oci_mem_held(self->mem) < bytes) {
        status = self->phase == OCI_GROUP_ABSORB ? oci_group_evict(self, &error)
                                                 : oci_group_shed(self, &error);
    }
    if (status != OC_OK && status != OC_EBUDGET) {
        self->status = status;
        self->error = error;
    }
    int64_t freed = before - oci_mem_held(self->mem);
    if (!is_pulling) {
        pthread_mutex_unlock(&self->lock);
    }
    return oci_max64(0, freed);
}
