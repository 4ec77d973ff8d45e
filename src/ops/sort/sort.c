/* The external sort as a stream: making it, giving out rows, giving memory back.
 *
 *   input batch -> chunk (as it is, or compacted) -> keys -> row buffer         (sort_input.c)
 *      budget refuses -> the buffer is sorted and spilled as a run, and the     (sort_spill.c)
 *                        chunk is tried again
 *   end of input -> nothing spilled: rows come from the buffer in order (phase MEMORY)
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
/* More rows than there can be: the same as all, and sums with it do not overflow. */
#define LIMIT_MAX ((int64_t)1 << 60)
/* At most 1/16 of the limit goes into the list of runs. */
#define RUN_LIST_SHARE 16

/* -- making and closing ------------------------------------------------------------------------ */

static oc_status sort_next(oci_stream *stream, oci_batch **out, oc_error *err);
static void sort_close(oci_stream *stream);
static int64_t sort_held(void *self);
static int64_t sort_reclaim(void *self, int64_t bytes);

/* How many levels of lists and dense unions lie below each other: gather derives the rows of each
 * from those of the one above. */
static int32_t count_levels(const oci_field *field)
{
    int32_t levels = 0;
    for (int32_t i = 0; i < field->n_children; i++) {
        int32_t below = count_levels(&field->children[i]);
        levels = below > levels ? below : levels;
    }
    if (field->dictionary != NULL) {
        int32_t below = count_levels(field->dictionary);
        levels = below > levels ? below : levels;
    }
    return levels + (field->n_children > 0 && field->type != OCI_TYPE_STRUCT &&
                     field->type != OCI_TYPE_SPARSE_UNION);
}

void oci_sort_derive_output(oci_sort *sort)
{
    int64_t part = oci_min64(oci_sort_share(sort) / 16, OUTPUT_BYTES_MAX);
    sort->output_bytes = oci_max64(sort->block_bytes, part);
    int64_t rows = oci_max64(ROWS_MIN, sort->output_bytes / ROW_BYTES_ASSUMED);
    int64_t wanted = oci_max64(sort->env->batch_rows, GATHER_ROWS_MIN);
    rows = oci_min64(oci_min64(wanted, rows), OCI_GATHER_ROWS_MAX);
    rows = oci_min64(rows, oci_sort_dictionary_rows_max(sort));
    rows = oci_min64(rows, oci_schema_output_rows(sort->announced));
    sort->output_rows = OCI_TINY(3, rows);
}

static void derive_sizes(oci_sort *sort)
{
    sort->n_dictionaries = oci_schema_dictionaries(sort->base.schema);
    for (int32_t i = 0; i < sort->base.schema->n_fields; i++) {
        int32_t levels = count_levels(&sort->base.schema->fields[i]);
        sort->n_levels = levels > sort->n_levels ? levels : sort->n_levels;
    }
    int64_t limit = oci_budget_limit(sort->env->budget);
    sort->block_bytes = oci_env_block_bytes(sort->env);
    sort->block_rows =
        oci_min64(OCI_GATHER_ROWS_MAX, oci_max64(ROWS_MIN, sort->block_bytes / ROW_BYTES_ASSUMED));
    sort->block_rows = oci_min64(sort->block_rows, oci_sort_dictionary_rows_max(sort));
    /* Blocks of the last run are handed out as they are. */
    sort->block_rows = oci_min64(sort->block_rows, oci_schema_output_rows(sort->announced));
    int64_t runs = limit / RUN_LIST_SHARE / (int64_t)sizeof(oci_sorted_run);
    sort->runs_max = (int32_t)oci_max64(16, oci_min64(runs, 1 << 20));
    sort->block_rows = OCI_TINY(7, sort->block_rows);
    sort->wide_bytes = sort->block_bytes;
    oci_sort_derive_output(sort);
}

/* Dictionaries whose values are run-end encoded dictionaries: without the runs they are dictionaries
 * of dictionaries, which a spill file cannot hold. Said at once, and not when memory has run out. */
static oc_status check_can_spill(const oci_field *field, const char *column, oc_error *err)
{
    if (field->dictionary != NULL && field->dictionary->type == OCI_TYPE_DICTIONARY) {
        OC_FAIL(
            err, OC_EUNSUPPORTED,
            "column \"%.80s\" has a dictionary of run-end encoded dictionaries, which cannot be "
            "sorted; decode it first",
            column);
    }
    for (int32_t i = 0; i < field->n_children; i++) {
        OC_TRY(check_can_spill(&field->children[i], column, err));
    }
    return field->dictionary == NULL ? OC_OK : check_can_spill(field->dictionary, column, err);
}

static oc_status init_sort(oci_sort *sort, const oci_sort_key *keys, int32_t n_keys, oc_error *err)
{
    sort->keys = malloc(sizeof *keys * (size_t)(n_keys + 1));
    if (sort->keys == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up a sort: out of memory");
    }
    memcpy(sort->keys, keys, sizeof *keys * (size_t)n_keys);
    sort->n_keys = n_keys;
    sort->announced = oci_schema_retain(sort->input->schema);
    OC_TRY(oci_schema_working(sort->announced, &sort->base.schema, err));
    for (int32_t i = 0; i < sort->base.schema->n_fields; i++) {
        const oci_field *field = &sort->base.schema->fields[i];
        OC_TRY(check_can_spill(field, field->name, err));
    }
    OC_TRY(oci_row_key_check(sort->base.schema, keys, n_keys, err));
    OC_TRY(oci_mem_open(sort->env->budget, "sort", &sort->mem, err));
    sort->workspace.mem = sort->mem;
    oci_run_list_init(&sort->runs, sort->mem);
    OC_TRY(oci_row_buffer_create(sort->keys, n_keys, sort->mem, &sort->buffer, err));
    OC_TRY(oci_worker_create(sort->env->threads, &sort->worker, err));
    OC_TRY(oci_run_writer_prepare(sort->manager, sort->base.schema, sort->mem, sort->worker,
                                  &sort->writer, err));
    OC_TRY(oci_run_decoder_create(sort->manager, sort->base.schema, true, sort->mem, &sort->decoder,
                                  err));
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

/* Gives back everything but the stream itself; also when the work ends before the stream is closed.
 */
static void release_work(oci_sort *sort)
{
    oci_batch_release(sort->rest);
    sort->rest = NULL;
    oci_merge_destroy(sort->merge);
    sort->merge = NULL;
    oci_sort_release_small(sort);
    if (sort->buffer != NULL) {
        oci_row_buffer_clear(sort->buffer);
    }
    oci_run_writer_destroy(sort->writer);
    sort->writer = NULL;
    oci_run_decoder_destroy(sort->decoder);
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
    oci_share_leave(sort->manager, &sort->entry);
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
    oci_schema_release(sort->announced);
    oci_spill_manager_release(sort->manager);
    pthread_mutex_destroy(&sort->lock);
    free(sort->keys);
    free(sort);
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
        OC_TRY(oci_sort_absorb(sort, err));
        OC_TRY(start_output(sort, err));
    }
    if (sort->phase == OCI_SORT_MEMORY && oci_sort_is_unfair(sort)) {
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

/* How many of the rows that are left of a batch go out together: at most batch_rows, and what run
 * ends of the input's schema can count. */
static int64_t piece_rows(const oci_sort *sort, const oci_batch *batch, int64_t at)
{
    int64_t n = oci_min64(sort->env->batch_rows, batch->length - at);
    return oci_batch_output_rows(batch, sort->announced, at, n);
}

/* The next batch of at most batch_rows rows: what was gathered, or a slice of it. */
static oc_status next_piece(oci_sort *sort, oci_batch **out, oc_error *err)
{
    if (sort->rest == NULL) {
        OC_TRY(next_in_phase(sort, out, err));
        if (*out == NULL || piece_rows(sort, *out, 0) == (*out)->length) {
            return OC_OK;
        }
        sort->rest = *out;
        sort->rest_at = 0;
        *out = NULL;
    }
    OC_TRY(oci_env_tick(sort->env, err));
    int64_t n = piece_rows(sort, sort->rest, sort->rest_at);
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
    oci_share_enter_call();
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
    oci_share_leave_call();
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
    bool is_pulling = oci_sort_is_pulling(sort);
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
