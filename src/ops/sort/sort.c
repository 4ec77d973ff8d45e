/* The external sort as a stream: taking input, giving out rows.
 *
 *   input batch -> chunk (as it is, or compacted) -> keys -> row buffer
 *      budget refuses -> the buffer is sorted and spilled as a run (sort_spill.c), and the chunk is
 * tried again end of input -> nothing spilled: rows come from the buffer in order (phase MEMORY)
 *                -> else: runs and buffer are merged (phase MERGE)
 *
 * Memory. Chunks, keys and entries are charged as they come. What spilling needs (two slabs, an
 * encode buffer, scratch) is set aside beforehand in `workspace`, together with a part for the
 * merge, so that the rows left at the end can usually stay. When a request of somebody else (the
 * reader below us, another operator) is refused, the budget calls reclaim(), and the buffer is
 * spilled if no call is running or if we are just waiting for that reader.
 *
 * Several sorts of one context share the limit. What a spill or a planned merge takes is promised
 * to the sort while it lasts (oci_reservation_promise), so that no other one can take it in between.
 * Who is refused spills its own buffer first, then waits holding next to nothing; meanwhile the
 * others spill what they have beyond their share (limit / sorts at work). reclaim() itself never
 * waits and never merges: a merge reads on the worker, which may be waiting for the very pass of
 * the budget that called us.
 *
 * The struct and the copy of the keys come from malloc, of fixed size per sort.
 *
 * Order. Chunks, runs and merge inputs all keep input order among equal keys, so the sort is
 * stable, and the result does not depend on where spills happened. */
#include "ops/sort/sort.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "ops/sort/sort_internal.h"

/* Output batches are larger than blocks where memory allows, since consumers like them so: limit /
 * 16, at most 4 MiB. */
#define OUTPUT_BYTES_MAX ((int64_t)4 << 20)
/* Scratch is 72 bytes a row, so batches of rows narrower than this are bounded by their number of
 * rows. */
#define ROW_BYTES_ASSUMED 64
#define ROWS_MIN          64
/* Rows are put in order in segments of this size, which stay in the last-level cache while they are
 * copied, when the limit is many times that: see oci_row_buffer_set_fold. */
#define FOLD_BYTES     ((int64_t)16 << 20)
#define FOLD_LIMIT_MIN (8 * FOLD_BYTES)
/* Gathering has a fixed cost per call, so smaller output batches are slices of one of this size. */
#define GATHER_ROWS_MIN 4096
/* A batch of at least this many rows is kept as it is; smaller ones are copied together, as each
 * chunk has a fixed cost. */
#define CHUNK_ROWS_MIN 512
#define SMALL_ROWS_MAX 4096
/* More rows than there can be: the same as all, and sums with it do not overflow. */
#define LIMIT_MAX ((int64_t)1 << 60)
/* At most 1/16 of the limit goes into the list of runs. */
#define RUN_LIST_SHARE 16

/* -- making and closing ------------------------------------------------------------------------ */

static oc_status sort_next(oci_stream *stream, oci_batch **out, oc_error *err);
static void sort_close(oci_stream *stream);
static int64_t sort_held(void *self);
static int64_t sort_reclaim(void *self, int64_t bytes);

/* A value that differs from thread to thread and is never 0. */
static uintptr_t thread_identity(void)
{
    static _Thread_local char mark;
    return (uintptr_t)&mark;
}

static int32_t count_dictionaries(const oci_schema *schema)
{
    int32_t n = 0;
    for (int32_t i = 0; i < schema->n_fields; i++) {
        const oci_field *field = schema->fields[i].dictionary;
        for (; field != NULL; field = field->dictionary) {
            n++;
        }
    }
    return n;
}

void oci_sort_derive_output(oci_sort *sort)
{
    int64_t part = oci_min64(oci_sort_share(sort) / 16, OUTPUT_BYTES_MAX);
    sort->output_bytes = oci_max64(sort->block_bytes, part);
    int64_t rows = oci_max64(ROWS_MIN, sort->output_bytes / ROW_BYTES_ASSUMED);
    int64_t wanted = oci_max64(sort->env->batch_rows, GATHER_ROWS_MIN);
    rows = oci_min64(oci_min64(wanted, rows), OCI_GATHER_ROWS_MAX);
    rows = oci_min64(rows, oci_sort_dictionary_rows_max(sort));
    sort->output_rows = OCI_TINY(3, rows);
}

static void derive_sizes(oci_sort *sort)
{
    sort->n_dictionaries = count_dictionaries(sort->base.schema);
    int64_t limit = oci_budget_limit(sort->env->budget);
    sort->block_bytes = oci_env_block_bytes(sort->env);
    sort->block_rows =
        oci_min64(OCI_GATHER_ROWS_MAX, oci_max64(ROWS_MIN, sort->block_bytes / ROW_BYTES_ASSUMED));
    sort->block_rows = oci_min64(sort->block_rows, oci_sort_dictionary_rows_max(sort));
    int64_t runs = limit / RUN_LIST_SHARE / (int64_t)sizeof(oci_sorted_run);
    sort->runs_max = (int32_t)oci_max64(16, oci_min64(runs, 1 << 20));
    sort->block_rows = OCI_TINY(7, sort->block_rows);
    sort->wide_bytes = sort->block_bytes;
    oci_sort_derive_output(sort);
}

static oc_status init_sort(oci_sort *sort, const oci_sort_key *keys, int32_t n_keys, oc_error *err)
{
    sort->keys = malloc(sizeof *keys * (size_t)(n_keys + 1));
    if (sort->keys == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up a sort: out of memory");
    }
    memcpy(sort->keys, keys, sizeof *keys * (size_t)n_keys);
    sort->n_keys = n_keys;
    OC_TRY(oci_schema_working(sort->input->schema, &sort->base.schema, err));
    OC_TRY(oci_row_key_check(sort->base.schema, keys, n_keys, err));
    OC_TRY(oci_mem_open(sort->env->budget, "sort", &sort->mem, err));
    sort->workspace.mem = sort->mem;
    oci_run_list_init(&sort->runs, sort->mem);
    OC_TRY(oci_row_buffer_create(sort->keys, n_keys, sort->mem, &sort->buffer, err));
    OC_TRY(oci_worker_create(sort->env->threads, &sort->worker, err));
    derive_sizes(sort);
    if (oci_budget_limit(sort->env->budget) >= FOLD_LIMIT_MIN) {
        oci_row_buffer_set_fold(sort->buffer, FOLD_BYTES);
    }
    return OC_OK;
}

oc_status oci_sort_open(const oci_env *env, oci_spill_manager *manager, oci_stream *input,
                        const oci_sort_key *keys, int32_t n_keys, int64_t limit, oci_stream **out,
                        oc_error *err)
{
    oci_sort *sort = calloc(1, sizeof *sort);
    if (sort == NULL) {
        oci_stream_close(input);
        OC_FAIL(err, OC_ENOMEM, "could not set up a sort: out of memory");
    }
    sort->base.next = sort_next;
    sort->base.close = sort_close;
    sort->env = env;
    sort->manager = oci_spill_manager_retain(manager);
    sort->input = input;
    sort->limit = limit > LIMIT_MAX ? -1 : limit;
    pthread_mutex_init(&sort->lock, NULL);
    sort->reclaimer = (oci_reclaimer){.held = sort_held, .reclaim = sort_reclaim, .self = sort};
    oci_budget_register(env->budget, &sort->reclaimer);
    oc_status status = init_sort(sort, keys, n_keys, err);
    if (status != OC_OK) {
        sort_close(&sort->base);
        return status;
    }
    *out = &sort->base;
    return OC_OK;
}

static void release_small(oci_sort *sort)
{
    for (int32_t i = 0; i < sort->n_small; i++) {
        oci_batch_release(sort->small[i]);
    }
    sort->n_small = 0;
    sort->small_rows = 0;
    sort->small_bytes = 0;
}

/* Gives back everything but the stream itself; also when the work ends before the stream is closed.
 */
static void release_work(oci_sort *sort)
{
    oci_batch_release(sort->rest);
    sort->rest = NULL;
    oci_merge_destroy(sort->merge);
    sort->merge = NULL;
    release_small(sort);
    if (sort->buffer != NULL) {
        oci_row_buffer_clear(sort->buffer);
    }
    oci_run_writer_destroy(sort->writer);
    sort->writer = NULL;
    oci_ipc_decoder_destroy(sort->decoder);
    sort->decoder = NULL;
    oci_spill_file_close(sort->file);
    sort->file = NULL;
    if (sort->mem != NULL) {
        oci_run_list_deinit(&sort->runs);
        oci_reservation_release(&sort->workspace);
        oci_mem_free(sort->mem, sort->cutoff, sort->cutoff_bytes);
        sort->cutoff = NULL;
    }
    oci_stream_close(sort->input);
    sort->input = NULL;
    atomic_store(&sort->held, 0);
    if (sort->mem != NULL) {
        oci_mem_end_promise(sort->mem);
    }
    if (sort->is_counted) {
        sort->is_counted = false;
        atomic_fetch_sub(&sort->manager->operators, 1);
    }
}

static void sort_close(oci_stream *stream)
{
    oci_sort *sort = (oci_sort *)stream;
    oci_budget_unregister(sort->env->budget, &sort->reclaimer);
    release_work(sort);
    oci_row_buffer_destroy(sort->buffer);
    oci_worker_destroy(sort->worker);
    oci_mem_close(sort->mem);
    oci_schema_release(sort->base.schema);
    oci_spill_manager_release(sort->manager);
    pthread_mutex_destroy(&sort->lock);
    free(sort->keys);
    free(sort);
}

/* -- taking input ------------------------------------------------------------------------------ */

static void note_held(oci_sort *sort)
{
    atomic_store(&sort->held, oci_row_buffer_bytes(sort->buffer));
}

/* After a refusal: spills the buffer, or waits when it is empty and others have more than their
 * share. OC_OK: try again. */
static oc_status make_room(oci_sort *sort, int *steps, oc_error *err)
{
    if (oci_row_buffer_rows(sort->buffer) > 0) {
        return oci_sort_spill(sort, 0, err);
    }
    int64_t could_have = oci_mem_held(sort->mem) + oci_mem_available(sort->mem);
    return could_have < oci_sort_share(sort) ? oci_sort_wait(sort, steps, err) : OC_EBUDGET;
}

/* Borrows the batch. err is not set by OC_EBUDGET and OC_ENOMEM of the buffer itself. */
static oc_status buffer_chunk(oci_sort *sort, oci_batch *batch, oc_error *err)
{
    oc_status status;
    int steps = 0;
    while ((status = oci_row_buffer_add(sort->buffer, batch, NULL)) == OC_EBUDGET) {
        OC_TRY(make_room(sort, &steps, err));
    }
    return status;
}

/* Adds a chunk; spills when the budget refuses. Takes the batch. */
static oc_status add_halves(oci_sort *sort, oci_batch *batch, oc_error *err);

static oc_status add_chunk(oci_sort *sort, oci_batch *batch, oc_error *err)
{
    if (sort->cutoff != NULL) {
        OC_TRY(oci_sort_filter(sort, batch, &batch, err));
        if (batch == NULL) {
            return OC_OK;
        }
    }
    int64_t bytes = batch->slab_bytes;
    oc_status status = oci_sort_ensure_workspace(sort, bytes, err);
    if (status == OC_OK) {
        status = buffer_chunk(sort, batch, err);
        if (status == OC_EBUDGET && batch->length > 1) {
            return add_halves(sort, batch, err);
        }
        if (status == OC_EBUDGET) {
            status = oci_sort_row_too_large(sort, bytes, err);
        } else if (status == OC_ENOMEM) {
            status = OC_SET(err, OC_ENOMEM, "could not buffer %" PRId64 " rows: out of memory",
                            batch->length);
        }
    }
    if (status != OC_OK) {
        oci_batch_release(batch);
        return status;
    }
    note_held(sort);
    return oci_sort_cut_back(sort, err);
}

/* Keys can be far larger than the rows: those of dictionaries are the values themselves. Where the
 * keys of a chunk are too much, those of its halves may fit, one after the other. Takes the batch.
 */
static oc_status add_halves(oci_sort *sort, oci_batch *batch, oc_error *err)
{
    int64_t middle = batch->length / 2;
    oc_status status = OC_OK;
    for (int half = 0; status == OC_OK && half < 2; half++) {
        oci_batch *slice;
        status = half == 0 ? oci_batch_slice(batch, 0, middle, &slice, err)
                           : oci_batch_slice(batch, middle, batch->length - middle, &slice, err);
        if (status == OC_OK) {
            status = add_chunk(sort, slice, err);
        }
    }
    oci_batch_release(batch);
    return status;
}

/* Copies the first of up to `most` rows, as many as fit a chunk, into one. refs NULL: the rows from
 * `start` on of the only source. */
static oc_status copy_chunk(oci_sort *sort, const oci_batch *const *sources,
                            const oci_row_ref *refs, int64_t start, int64_t most, int64_t *copied,
                            oci_batch **out, oc_error *err)
{
    oci_schema *schema = sort->base.schema;
    int64_t n;
    most = oci_min64(most, oci_sort_dictionary_rows_max(sort));
    if (refs != NULL) {
        OC_TRY(oci_gather_fit(schema, sources, refs + start, most, sort->block_bytes, sort->mem, &n,
                              NULL, err));
        OC_TRY(oci_gather(schema, sources, refs + start, n, 0, sort->mem, NULL, out, err));
    } else {
        OC_TRY(oci_gather_range_fit(schema, sources[0], start, most, sort->block_bytes, sort->mem,
                                    &n, NULL, err));
        OC_TRY(oci_gather_range(schema, sources[0], start, n, 0, sort->mem, NULL, out, err));
    }
    *copied = n;
    return OC_OK;
}

/* Copies rows into chunks of about block_bytes. The budget may refuse a slab, or the tables that
 * dictionaries take: then the buffer is spilled and it is asked again. */
static oc_status add_copies(oci_sort *sort, const oci_batch *const *sources,
                            const oci_row_ref *refs, int64_t rows, oc_error *err)
{
    int64_t start = 0;
    while (start < rows) {
        int64_t n;
        oci_batch *chunk;
        oc_status status;
        int steps = 0;
        while ((status = copy_chunk(sort, sources, refs, start, rows - start, &n, &chunk, err)) ==
               OC_EBUDGET) {
            OC_TRY(make_room(sort, &steps, err));
        }
        OC_TRY(status);
        OC_TRY(add_chunk(sort, chunk, err));
        start += n;
    }
    return OC_OK;
}

/* Copies a batch into chunks. Borrows it. */
static oc_status copy_batch(oci_sort *sort, const oci_batch *batch, oc_error *err)
{
    return add_copies(sort, &batch, NULL, batch->length, err);
}

static oc_status add_small_rows(oci_sort *sort, oci_row_ref *refs, oc_error *err)
{
    int64_t rows = 0;
    for (int32_t i = 0; i < sort->n_small; i++) {
        for (int64_t row = 0; row < sort->small[i]->length; row++) {
            refs[rows++] = (oci_row_ref){(uint32_t)i, (uint32_t)row};
        }
    }
    return add_copies(sort, (const oci_batch *const *)sort->small, refs, rows, err);
}

/* Copies the small batches that were put aside into chunks. */
static oc_status flush_small(oci_sort *sort, oc_error *err)
{
    if (sort->n_small == 0) {
        return OC_OK;
    }
    if (sort->n_small == 1) {
        oc_status alone = copy_batch(sort, sort->small[0], err);
        release_small(sort);
        return alone;
    }
    int64_t bytes = sort->small_rows * (int64_t)sizeof(oci_row_ref);
    void *refs;
    oc_status status;
    int steps = 0;
    while ((status = oci_mem_alloc(sort->mem, bytes, &refs, err)) == OC_EBUDGET) {
        status = make_room(sort, &steps, err);
        if (status != OC_OK) {
            break;
        }
    }
    if (status == OC_OK) {
        status = add_small_rows(sort, refs, err);
        oci_mem_free(sort->mem, refs, bytes);
    }
    release_small(sort);
    return status;
}

/* Whether a batch can be kept as it is: memory that the budget already paid for, in working form,
 * and not part of something much larger. */
static bool is_chunk(const oci_sort *sort, const oci_batch *batch)
{
    return batch->mem != NULL && oci_mem_budget(batch->mem) == sort->env->budget &&
           batch->parent == NULL && sort->base.schema == sort->input->schema &&
           batch->length >= CHUNK_ROWS_MIN;
}

static bool is_wide(const oci_sort *sort, const oci_batch *batch)
{
    return batch->mem != NULL && batch->slab_bytes >= sort->block_bytes / 4;
}

static int64_t values_bytes(const oci_column *values)
{
    int64_t bytes = values->length * oci_max64(1, values->field->byte_width);
    oci_layout layout = oci_field_layout(values->field);
    if ((layout == OCI_LAYOUT_OFFSETS32 || layout == OCI_LAYOUT_OFFSETS64) && values->length > 0) {
        int64_t length;
        const uint8_t *first = oci_column_bytes_at(values, 0, &length);
        const uint8_t *last = oci_column_bytes_at(values, values->length - 1, &length);
        bytes += first == NULL ? 0 : last + length - first;
    }
    for (int32_t i = 0; i < values->n_view_buffers; i++) {
        bytes += values->view_sizes[i];
    }
    return bytes + (values->dictionary != NULL ? values_bytes(values->dictionary) : 0);
}

/* What a batch keeps alive besides its own memory: dictionaries, unless the batch put aside before
 * it has the same. */
static int64_t new_dictionary_bytes(const oci_sort *sort, const oci_batch *batch)
{
    const oci_batch *before = sort->n_small > 0 ? sort->small[sort->n_small - 1] : NULL;
    int64_t bytes = 0;
    for (int32_t i = 0; i < batch->schema->n_fields; i++) {
        const oci_column *values = batch->columns[i].dictionary;
        if (values != NULL && (before == NULL || before->columns[i].dictionary != values)) {
            bytes += values_bytes(values);
        }
    }
    return bytes;
}

static oc_status put_aside(oci_sort *sort, oci_batch *batch, oc_error *err)
{
    sort->small_bytes += batch->bytes + new_dictionary_bytes(sort, batch);
    sort->small[sort->n_small++] = batch;
    sort->small_rows += batch->length;
    bool full = sort->n_small == OCI_SMALL_BATCHES_MAX || sort->small_rows >= SMALL_ROWS_MAX ||
                sort->small_bytes >= sort->block_bytes / 2;
    return full ? flush_small(sort, err) : OC_OK;
}

/* Takes the batch. */
static oc_status add_batch(oci_sort *sort, oci_batch *batch, oc_error *err)
{
    if (sort->env->progress != NULL) {
        atomic_fetch_add(&sort->env->progress->input_rows, batch->length);
    }
    if (batch->length == 0) {
        oci_batch_release(batch);
        return OC_OK;
    }
    if (batch->length < CHUNK_ROWS_MIN && !is_wide(sort, batch)) {
        return put_aside(sort, batch, err);
    }
    /* Rows keep their order: what was put aside goes first. */
    oc_status status = flush_small(sort, err);
    if (status == OC_OK && (is_chunk(sort, batch) ||
                            (is_wide(sort, batch) && sort->base.schema == sort->input->schema &&
                             batch->parent == NULL))) {
        return add_chunk(sort, batch, err);
    }
    if (status == OC_OK) {
        status = copy_batch(sort, batch, err);
    }
    oci_batch_release(batch);
    return status;
}

/* Gets the next batch; while that runs the buffer may be spilled at the request of whoever makes
 * the batch. */
static oc_status pull(oci_sort *sort, oci_batch **out, oc_error *err)
{
    atomic_store(&sort->puller, thread_identity());
    oc_status status = oci_stream_next(sort->input, out, err);
    atomic_store(&sort->puller, 0);
    /* A spill that failed in there is the cause of what failed after it. */
    if (sort->status != OC_OK) {
        if (status == OC_OK) {
            oci_batch_release(*out);
        }
        if (err != NULL) {
            *err = sort->error;
        }
        return sort->status;
    }
    return status;
}

/* When another operator waits for memory, nobody keeps more than its share. Chunks may be charged
 * to the account of the reader below, so what the buffer holds counts as well. */
static bool is_unfair(const oci_sort *sort)
{
    return atomic_load(&sort->manager->waiting) > 0 &&
           oci_max64(oci_mem_held(sort->mem), atomic_load(&sort->held)) > oci_sort_share(sort);
}

static oc_status absorb(oci_sort *sort, oc_error *err)
{
    oci_env_set_phase(sort->env, "reading");
    sort->is_counted = true;
    atomic_fetch_add(&sort->manager->operators, 1);
    OC_TRY(oci_sort_ensure_workspace(sort, sort->block_bytes, err));
    for (;;) {
        OC_TRY(oci_env_tick(sort->env, err));
        oci_batch *batch;
        OC_TRY(pull(sort, &batch, err));
        if (batch == NULL) {
            break;
        }
        OC_TRY(add_batch(sort, batch, err));
        if (is_unfair(sort)) {
            OC_TRY(oci_sort_spill(sort, 0, err));
        }
    }
    OC_TRY(flush_small(sort, err));
    /* The reader below gives back its buffers before the merge plans with what is free. */
    oci_stream_close(sort->input);
    sort->input = NULL;
    return OC_OK;
}

/* -- giving out rows --------------------------------------------------------------------------- */

static oc_status start_output(oci_sort *sort, oc_error *err)
{
    if (sort->runs.n > 0) {
        OC_TRY(oci_sort_start_merge(sort, err));
        sort->phase = OCI_SORT_MERGE;
        return OC_OK;
    }
    OC_TRY(oci_row_buffer_sort(sort->buffer, err));
    /* What was set aside for merging is for output batches now; what spilling takes stays, see
     * shed(). */
    OC_TRY(oci_mem_try_reserve(
        sort->mem, &sort->workspace,
        oci_min64(sort->workspace.bytes, oci_sort_workspace_bytes(sort, sort->wide_bytes)), err));
    sort->phase = OCI_SORT_MEMORY;
    return OC_OK;
}

static oc_status next_from_memory(oci_sort *sort, oci_batch **out, oc_error *err)
{
    int64_t n = oci_min64(sort->output_rows, oci_row_buffer_rows(sort->buffer) - sort->position);
    if (sort->limit >= 0) {
        n = oci_min64(n, sort->limit - sort->emitted);
    }
    if (n <= 0) {
        return OC_OK;
    }
    void *refs;
    int64_t refs_bytes = n * (int64_t)sizeof(oci_row_ref);
    OC_TRY(oci_mem_alloc(sort->mem, refs_bytes, &refs, err));
    oci_row_buffer_refs(sort->buffer, sort->position, n, refs);
    int32_t n_sources;
    const oci_batch *const *sources = oci_row_buffer_sources(sort->buffer, &n_sources);
    oc_status status = oci_gather_fit(sort->base.schema, sources, refs, n, sort->output_bytes,
                                      sort->mem, &n, NULL, err);
    if (status == OC_OK) {
        status = oci_gather(sort->base.schema, sources, refs, n, 0, sort->mem, NULL, out, err);
    }
    oci_mem_free(sort->mem, refs, refs_bytes);
    if (status == OC_OK) {
        sort->position += n;
    }
    return status;
}

/* While rows are given out from memory: writes the rows of the buffer that are left as a run. The
 * next call that wants rows starts the merge: reading happens on the worker, which must not be
 * waited for while memory is reclaimed. */
static oc_status shed(oci_sort *sort, oc_error *err)
{
    if (sort->phase != OCI_SORT_MEMORY) {
        return OC_OK;
    }
    oc_status status = oci_sort_spill(sort, sort->position, err);
    if (status == OC_EBUDGET) {
        return OC_OK; /* nothing was lost: the rows are still in the buffer, and whoever asked is
                         refused */
    }
    OC_TRY(status);
    sort->phase = OCI_SORT_MERGE;
    return OC_OK;
}

static oc_status next_from_merge(oci_sort *sort, oci_batch **out, oc_error *err)
{
    if (sort->merge == NULL) {
        OC_TRY(oci_sort_start_merge(sort, err));
    }
    return oci_merge_next(sort->merge, sort->output_bytes, out, err);
}

/* Sorted input may fill the memory up to where an output batch does not fit any more, or the
 * consumer keeps what it got: then the rest takes the way over the disk. */
static oc_status next_from_memory_or_shed(oci_sort *sort, oci_batch **out, oc_error *err)
{
    oc_error refusal = {0};
    oc_status status = next_from_memory(sort, out, &refusal);
    if (status == OC_EBUDGET) {
        OC_TRY(shed(sort, err));
        if (sort->phase == OCI_SORT_MERGE) {
            return next_from_merge(sort, out, err);
        }
    }
    if (status != OC_OK && err != NULL) {
        *err = refusal;
    }
    return status;
}

/* Keeps the first rows of a batch when it goes over the limit. */
static oc_status cut_to_limit(oci_sort *sort, oci_batch **batch, oc_error *err)
{
    int64_t wanted = sort->limit - sort->emitted;
    if (sort->limit < 0 || *batch == NULL || (*batch)->length <= wanted) {
        return OC_OK;
    }
    oci_batch *whole = *batch;
    *batch = NULL;
    oc_status status = wanted > 0 ? oci_batch_slice(whole, 0, wanted, batch, err) : OC_OK;
    oci_batch_release(whole);
    return status;
}

static oc_status next_in_phase(oci_sort *sort, oci_batch **out, oc_error *err)
{
    if (sort->limit == 0) {
        sort->phase = OCI_SORT_END;
    }
    if (sort->phase == OCI_SORT_ABSORB) {
        OC_TRY(absorb(sort, err));
        OC_TRY(start_output(sort, err));
    }
    if (sort->phase == OCI_SORT_MEMORY && is_unfair(sort)) {
        OC_TRY(shed(sort, err));
    }
    if (sort->phase == OCI_SORT_MEMORY) {
        OC_TRY(oci_env_tick(sort->env, err));
        OC_TRY(next_from_memory_or_shed(sort, out, err));
    } else if (sort->phase == OCI_SORT_MERGE && (sort->limit < 0 || sort->emitted < sort->limit)) {
        OC_TRY(next_from_merge(sort, out, err));
    }
    OC_TRY(cut_to_limit(sort, out, err));
    sort->emitted += *out == NULL ? 0 : (*out)->length;
    return OC_OK;
}

/* The next batch of at most batch_rows rows: what was gathered, or a slice of it. */
static oc_status next_piece(oci_sort *sort, oci_batch **out, oc_error *err)
{
    int64_t most = sort->env->batch_rows;
    if (sort->rest == NULL) {
        OC_TRY(next_in_phase(sort, out, err));
        if (*out == NULL || (*out)->length <= most) {
            return OC_OK;
        }
        sort->rest = *out;
        sort->rest_at = 0;
        *out = NULL;
    }
    OC_TRY(oci_env_tick(sort->env, err));
    int64_t n = oci_min64(most, sort->rest->length - sort->rest_at);
    OC_TRY(oci_batch_slice(sort->rest, sort->rest_at, n, out, err));
    sort->rest_at += n;
    if (sort->rest_at == sort->rest->length) {
        oci_batch_release(sort->rest);
        sort->rest = NULL;
    }
    return OC_OK;
}

static oc_status sort_next(oci_stream *stream, oci_batch **out, oc_error *err)
{
    oci_sort *sort = (oci_sort *)stream;
    *out = NULL;
    pthread_mutex_lock(&sort->lock);
    if (sort->status == OC_OK) {
        sort->error.status = OC_OK;
        sort->status = next_piece(sort, out, &sort->error);
        if (sort->status == OC_EBUDGET) {
            oci_sort_name_limit(sort, &sort->error);
        }
        if (sort->status != OC_OK || *out == NULL) {
            sort->phase = OCI_SORT_END;
            release_work(sort);
        } else if (sort->env->progress != NULL) {
            atomic_fetch_add(&sort->env->progress->output_rows, (*out)->length);
        }
    }
    oc_status status = sort->status;
    if (status != OC_OK && err != NULL) {
        *err = sort->error;
    }
    pthread_mutex_unlock(&sort->lock);
    return status;
}

/* -- giving memory back ------------------------------------------------------------------------ */

static int64_t sort_held(void *self)
{
    oci_sort *sort = self;
    return atomic_load(&sort->held);
}

static int64_t sort_reclaim(void *self, int64_t bytes)
{
    (void)bytes;
    oci_sort *sort = self;
    bool is_pulling = atomic_load(&sort->puller) == thread_identity();
    if (!is_pulling && pthread_mutex_trylock(&sort->lock) != 0) {
        return 0;
    }
    int64_t before = oci_mem_held(sort->mem);
    int64_t buffered = atomic_load(&sort->held);
    if (sort->status == OC_OK && !sort->is_spilling && buffered > 0) {
        oc_error error = {0};
        sort->is_reclaiming = true;
        oc_status status = sort->phase == OCI_SORT_ABSORB ? oci_sort_spill(sort, 0, &error)
                                                          : shed(sort, &error);
        sort->is_reclaiming = false;
        if (status != OC_OK) {
            sort->status = status;
            sort->error = error;
        }
    }
    /* Chunks may be charged to the reader's account, so what the buffer held counts, not only our
     * own account. */
    int64_t freed =
        oci_max64(before - oci_mem_held(sort->mem), buffered - atomic_load(&sort->held));
    if (!is_pulling) {
        pthread_mutex_unlock(&sort->lock);
    }
    return oci_max64(0, freed);
}
