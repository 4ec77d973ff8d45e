/* Writing runs and merging them: the part of the sort that touches the disk.
 *
 * Costs, for N bytes of rows and runs of R bytes: every row is gathered, encoded and written once
 * as part of a run, read once more per merge pass, and written again in all passes but the last.
 * With fan-in k there are ceil(log_k(N / R)) passes. k follows from the memory: each input takes
 * one block and its keys (about limit / 64 x 1.3), so 20-30 inputs fit: one pass is enough up
 * to about 20 x limit, two up to 200-400 x. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/text.h"
#include "ops/sort/copy_rows.h"
#include "ops/sort/sort_internal.h"

/* What the consumer of the output may hold besides the batch it was given: a text or compression
 * buffer. */
#define CONSUMER_BYTES ((int64_t)64 << 10)
/* Without reading ahead a merge waits for the disk at each block; more than two blocks per input
 * gains nothing. */
#define SPARE_PER_INPUT 1
/* What gathering takes per row of a dictionary column when every row has a value of its own: two
 * hash tables that are at most a quarter full and up to twice as large as need be (64), code, value
 * and hash (56), the largest list once more while it grows, rounding. */
#define DICTIONARY_ROW_BYTES 152
/* At most 1/8 of the limit goes into that; blocks get fewer rows when there are many dictionaries.
 */
#define DICTIONARY_SHARE 8
/* At most 1/12 of the limit goes into packing a block and encoding what comes of it: blocks of
 * ordinary rows take 1/28, with the smallest limits 1/15. */
#define PACKING_SHARE 12
/* What gathering takes per source, and for each level of lists and dense unions. */
#define SOURCE_BYTES 64
#define LEVEL_BYTES  8704

/* -- memory set aside -------------------------------------------------------------------------- */

static int64_t slab_charge(const oci_sort *sort, int64_t bytes)
{
    return oci_mem_charge_of(bytes + oci_run_writer_head_bytes(sort->writer) + 64);
}

/* What encoding blocks of up to `bytes` takes; with less than that, down to the least, they are not
 * packed. What is larger than a block is a single row, which is not worth packing. Nor are blocks of
 * few rows in many columns, which would take more than a small part of our share of the limit. */
static int64_t encode_bytes(const oci_sort *sort, int64_t bytes, bool packs)
{
    int64_t most = oci_sort_share(sort) / PACKING_SHARE;
    int64_t least = oci_run_writer_space_least(sort->writer, bytes);
    int64_t space = oci_run_writer_space_for(sort->writer, sort->block_bytes, sort->block_rows);
    return packs && space <= most ? oci_max64(least, space) : least;
}

int64_t oci_sort_scratch_bytes(const oci_sort *sort, int64_t rows)
{
    int32_t sources;
    (void)oci_row_buffer_sources(sort->buffer, &sources);
    /* Runs of a merge: each takes a block or more, and has as many that wait. */
    int64_t runs_max = oci_budget_limit(sort->env->budget) / sort->block_bytes;
    int64_t source_bytes = (sources + 2 * oci_min64(sort->runs.n, runs_max)) * SOURCE_BYTES;
    return oci_merge_scratch_bytes(rows) +
           sort->n_dictionaries * oci_mem_charge_of(rows * DICTIONARY_ROW_BYTES) +
           oci_mem_charge_of(source_bytes) +
           sort->n_levels * oci_mem_charge_of(LEVEL_BYTES + source_bytes);
}

int64_t oci_sort_dictionary_rows_max(const oci_sort *sort)
{
    if (sort->n_dictionaries == 0) {
        return INT64_MAX;
    }
    int64_t share = oci_budget_limit(sort->env->budget) / DICTIONARY_SHARE;
    return oci_max64(64, share / (sort->n_dictionaries * DICTIONARY_ROW_BYTES));
}

static int64_t workspace_bytes(const oci_sort *sort, int64_t bytes, bool packs)
{
    return 2 * slab_charge(sort, bytes) + encode_bytes(sort, bytes, packs) +
           oci_sort_scratch_bytes(sort, sort->block_rows);
}

int64_t oci_sort_workspace_bytes(const oci_sort *sort, int64_t bytes)
{
    return workspace_bytes(sort, bytes, true);
}

/* What encoding may take of the workspace as it is. */
static int64_t encode_share(const oci_sort *sort)
{
    int64_t wide = sort->wide_bytes;
    return encode_bytes(sort, wide, sort->workspace.bytes >= workspace_bytes(sort, wide, true));
}

/* Memory that a merge of the runs so far, one more, and the buffer would like to have: an eighth of
 * the limit at most. */
static int64_t merge_share(const oci_sort *sort)
{
    int64_t cost = sort->block_bytes + sort->block_bytes / 2;
    for (int32_t i = 0; i < sort->runs.n; i++) {
        cost = oci_max64(cost, oci_run_cost(&sort->runs.runs[i]));
    }
    int64_t wanted = (sort->runs.n + 2) * cost + 3 * sort->output_bytes;
    return oci_min64(wanted, oci_budget_limit(sort->env->budget) / 8);
}

int64_t oci_sort_share(const oci_sort *sort)
{
    return oci_share_of(sort->env, sort->manager);
}

oc_status oci_sort_wait(oci_sort *sort, int *steps, oc_error *err)
{
    return sort->is_reclaiming
               ? OC_EBUDGET
               : oci_share_wait(sort->env, sort->manager, &sort->activity_seen, steps, err);
}

/* Sets memory aside; waits for it when other operators of the context hold what we need. */
static oc_status reserve_patiently(oci_sort *sort, int64_t bytes, oc_error *err)
{
    oc_status status;
    int steps = 0;
    while ((status = oci_mem_reserve(sort->mem, &sort->workspace, bytes, err)) == OC_EBUDGET) {
        OC_TRY(oci_sort_wait(sort, &steps, err));
    }
    return status;
}

/* A limit that is enough for rows of this size. Reading, buffering, two slabs and an encode buffer
 * for spilling, two blocks with keys, output and consumer in the merge: about 12 rows at once at
 * worst; blocks and output batches of ordinary size take another quarter of the limit. */
static int64_t enough_for(int64_t row_bytes)
{
    int64_t enough = 16 * row_bytes + ((int64_t)1 << 20);
    return (enough + (1 << 20) - 1) / (1 << 20) * (1 << 20);
}

oc_status oci_sort_row_too_large(const oci_sort *sort, int64_t row_bytes, oc_error *err)
{
    int64_t limit = oci_budget_limit(sort->env->budget);
    char row_text[OCI_BYTES_TEXT];
    char limit_text[OCI_BYTES_TEXT];
    OC_SET(err, OC_EBUDGET, "could not sort rows of up to %s within the memory limit of %s",
           oci_format_bytes(row_bytes, row_text), oci_format_bytes(limit, limit_text));
    if (err != NULL) {
        err->needed_bytes = oci_budget_used(sort->env->budget) + row_bytes;
    }
    return OC_EBUDGET;
}

void oci_sort_name_limit(const oci_sort *sort, oc_error *err)
{
    if (strstr(err->message, "is enough") != NULL) {
        return; /* an operator below us has named one */
    }
    /* The budget says what this one request would have taken, beside what is in use; more requests
     * of that size follow it. */
    char *advice = strstr(err->message, "; raise the memory limit");
    oci_budget *budget = sort->env->budget;
    int64_t request = oci_max64(0, err->needed_bytes - oci_budget_used(budget));
    int64_t enough = enough_for(oci_max64(request, sort->wide_bytes));
    char *reader_advice = strstr(err->message, "; use a limit of at least");
    if (reader_advice != NULL) {
        /* A reader counted what a row takes while it is read; a sort takes about as much again. */
        advice = reader_advice;
        enough = 2 * err->needed_bytes;
    }
    if (advice != NULL) {
        *advice = '\0';
    }
    /* The request was small and many of its kind were too much. */
    enough = oci_max64(enough, 2 * oci_budget_limit(budget));
    char text[OCI_BYTES_TEXT];
    size_t used = strlen(err->message);
    snprintf(err->message + used, sizeof err->message - used, "; a limit of %s is enough",
             oci_format_bytes_up(enough, text));
    err->needed_bytes = enough;
}

oc_status oci_sort_ensure_workspace(oci_sort *sort, int64_t chunk_bytes, oc_error *err)
{
    /* Grows with the widest chunk; rows already buffered are covered by what is set aside already.
     */
    int64_t wide = oci_max64(sort->wide_bytes, chunk_bytes);
    int64_t wanted = oci_sort_workspace_bytes(sort, wide) + merge_share(sort);
    if (wide == sort->wide_bytes && sort->workspace.bytes >= wanted) {
        return OC_OK;
    }
    oc_status status = oci_mem_try_reserve(sort->mem, &sort->workspace, wanted, NULL);
    if (status == OC_EBUDGET && oci_row_buffer_rows(sort->buffer) > 0) {
        OC_TRY(oci_sort_spill(sort, 0, err));
        status = oci_mem_try_reserve(sort->mem, &sort->workspace, wanted, NULL);
    }
    if (status == OC_EBUDGET) {
        /* Without the share for the merge, which is only a wish, ... */
        status = oci_mem_try_reserve(sort->mem, &sort->workspace, workspace_bytes(sort, wide, true),
                                     NULL);
    }
    if (status == OC_EBUDGET) {
        /* ... and without packing. */
        status = reserve_patiently(sort, workspace_bytes(sort, wide, false), NULL);
    }
    if (status == OC_EBUDGET) {
        return oci_sort_row_too_large(sort, wide, err);
    }
    if (status == OC_OK) {
        sort->wide_bytes = wide;
    } else if (status == OC_ECANCELED) {
        return oci_env_check_cancel(sort->env, err);
    } else {
        OC_SET(err, status, "could not set memory aside for spilling: %s", oc_status_name(status));
    }
    return status;
}

/* -- writing a run ----------------------------------------------------------------------------- */

static oc_status open_spill(oci_sort *sort, oc_error *err)
{
    if (sort->file == NULL) {
        OC_TRY(oci_spill_file_open(sort->manager, &sort->file, err));
        oci_run_writer_set_file(sort->writer, sort->file);
    }
    return OC_OK;
}

/* What the keys of rows [start, start + n) will take when the block is read back and they are
 * encoded again. */
static int64_t key_charge(const oci_sort *sort, int64_t start, int64_t n)
{
    int64_t stride = oci_row_key_stride(sort->base.schema, sort->keys, sort->n_keys);
    int64_t bytes = n * stride;
    if (stride == 0) {
        bytes = (n + 1) * (int64_t)sizeof(uint32_t);
        for (int64_t i = start; i < start + n; i++) {
            int64_t size;
            (void)oci_row_buffer_key(sort->buffer, i, &size);
            bytes += size;
        }
    }
    return oci_mem_charge_of(bytes + 64);
}

/* Keys of a block may take this much: twice the block, which only keys that dictionaries stand for
 * ever pass, as other keys are copies of what is in the block. */
static int64_t key_bytes_limit(const oci_sort *sort)
{
    return 2 * sort->block_bytes;
}

/* How many of n rows from sorted position `at` a block may have by their keys, at least 1. */
static int64_t rows_by_keys(const oci_sort *sort, int64_t at, int64_t n)
{
    if (sort->n_dictionaries == 0) {
        return n; /* spares a look at keys that lie anywhere in memory */
    }
    int64_t bytes = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t size;
        (void)oci_row_buffer_key(sort->buffer, at + i, &size);
        bytes += size;
        if (bytes > key_bytes_limit(sort)) {
            return oci_max64(1, i);
        }
    }
    return n;
}

/* Gathers and writes one block of rows from sorted position `at`; at most `most` rows. */
static oc_status write_block(oci_sort *sort, oci_row_ref *refs, int64_t at, int64_t most,
                             oci_sorted_run *run, int64_t *written, oc_error *err)
{
    int64_t n = rows_by_keys(sort, at, oci_min64(sort->block_rows, most));
    oci_row_buffer_refs(sort->buffer, at, n, refs);
    int32_t n_sources;
    const oci_batch *const *sources = oci_row_buffer_sources(sort->buffer, &n_sources);
    oci_batch *block;
    OC_TRY(oci_copy_rows(sort->base.schema, sources, refs, n, sort->block_bytes,
                         oci_run_writer_head_bytes(sort->writer), sort->mem, &n, &block, err));
    run->key_bytes_max = oci_max64(run->key_bytes_max, key_charge(sort, at, n));
    *written = n;
    return oci_run_writer_add(sort->writer, block, err);
}

static oc_status write_blocks(oci_sort *sort, int64_t from, int64_t end, oci_sorted_run *run,
                              oc_error *err)
{
    void *refs;
    int64_t refs_bytes = sort->block_rows * (int64_t)sizeof(oci_row_ref);
    OC_TRY(oci_mem_alloc(sort->mem, refs_bytes, &refs, err));
    oc_status status = OC_OK;
    int64_t at = from;
    while (status == OC_OK && at < end) {
        int64_t n = 0;
        status = oci_env_tick(sort->env, err);
        if (status == OC_OK) {
            status = write_block(sort, refs, at, end - at, run, &n, err);
        }
        at += n;
    }
    oci_mem_free(sort->mem, refs, refs_bytes);
    return status;
}

static void note_ends(const oci_sort *sort, int64_t from, int64_t end, oci_sorted_run *run)
{
    int64_t size;
    const uint8_t *key = oci_row_buffer_key(sort->buffer, from, &size);
    oci_run_key_set(&run->first_key, key, size);
    key = oci_row_buffer_key(sort->buffer, end - 1, &size);
    oci_run_key_set(&run->last_key, key, size);
}

static void measure_run(oci_sorted_run *run, const oci_run_extent *extent)
{
    run->rows = extent->rows;
    run->bytes = extent->bytes;
    run->read_bytes_max = extent->read_bytes_max;
    run->slab_bytes_max = extent->slab_bytes_max;
}

/* Sets `encode` bytes, which were promised, aside for encoding, and begins a run. */
static oc_status begin_run(oci_sort *sort, int64_t encode, oc_error *err)
{
    OC_TRY(oci_run_writer_reserve(sort->writer, encode, err));
    return oci_run_writer_begin(sort->writer, err);
}

/* After success or failure. */
static void end_run(oci_sort *sort, oc_status status)
{
    if (status != OC_OK) {
        oci_run_writer_abandon(sort->writer);
    }
    oci_run_writer_unreserve(sort->writer);
}

/* The buffer is sorted, the workspace promised. */
static oc_status write_run(oci_sort *sort, int64_t from, int64_t end, int64_t encode, oc_error *err)
{
    oci_sorted_run run = {0};
    oci_run_extent extent;
    oc_status status = begin_run(sort, encode, err);
    if (status == OC_OK) {
        status = write_blocks(sort, from, end, &run, err);
    }
    if (status == OC_OK) {
        status = oci_run_writer_finish(sort->writer, &extent, err);
    }
    end_run(sort, status);
    OC_TRY(status);
    note_ends(sort, from, end, &run);
    measure_run(&run, &extent);
    return oci_run_list_add(&sort->runs, &run, &extent, err);
}

static oc_status sort_and_write(oci_sort *sort, int64_t from, oc_error *err)
{
    if (sort->phase == OCI_SORT_ABSORB) {
        OC_TRY(oci_row_buffer_sort(sort->buffer, err));
    }
    OC_TRY(open_spill(sort, err));
    /* This is what the workspace was set aside for; nobody else gets it meanwhile. */
    int64_t encode = encode_share(sort);
    oci_reservation_promise(&sort->workspace);
    int64_t end = oci_row_buffer_rows(sort->buffer);
    if (sort->limit >= 0) {
        end = oci_min64(end, from + sort->limit);
    }
    OC_TRY(write_run(sort, from, end, encode, err));
    if (sort->phase == OCI_SORT_ABSORB) {
        OC_TRY(oci_sort_note_cutoff(sort, err));
    }
    return OC_OK;
}

oc_status oci_sort_spill(oci_sort *sort, int64_t from, oc_error *err)
{
    if (oci_row_buffer_rows(sort->buffer) == from) {
        return OC_OK;
    }
    oci_env_set_phase(sort->env, "spilling");
    sort->is_spilling = true;
    oc_status status = sort_and_write(sort, from, err);
    if (status == OC_OK) {
        oci_row_buffer_clear(sort->buffer);
        atomic_store(&sort->held, 0);
        if (sort->phase == OCI_SORT_ABSORB && sort->runs.n > sort->runs_max &&
            !sort->is_reclaiming) {
            status = oci_sort_merge_runs(sort, sort->runs_max / 2, err);
        }
    }
    sort->is_spilling = false;
    if (status == OC_OK && sort->phase == OCI_SORT_ABSORB) {
        oci_env_set_phase(sort->env, "reading");
        /* The buffer is empty, so this takes back what was just given up. */
        status = oci_sort_ensure_workspace(sort, 0, err);
    }
    oci_mem_end_promise(sort->mem);
    if (status != OC_OK && sort->phase == OCI_SORT_ABSORB && !sort->is_spill_broken) {
        sort->is_spill_broken = true;
        sort->spill_error = err != NULL ? *err : (oc_error){.status = status};
    }
    return status;
}

/* -- merging
 * -------------------------------------------------------------------------------------------------
 */

typedef struct merge_space {
    int64_t step;       /* for the inputs of a merge that writes a run */
    int64_t encode;     /* for encoding its blocks */
    int64_t final;      /* for those of the last one */
    int64_t step_rest;  /* what else such a merge takes ... */
    int64_t final_rest; /* ... without what is left to the consumer */
} merge_space;

/* What is free for the blocks of the inputs, after everything else that a merge needs. `fair`: of
 * our share, when other operators are at work. `packs`: what is written again is packed. */
static merge_space measure_space(const oci_sort *sort, bool fair, bool packs)
{
    int64_t slab = oci_mem_charge_of(sort->block_bytes);
    int64_t read = 0; /* beside the slab that a block becomes; one at a time */
    for (int32_t i = 0; i < sort->runs.n; i++) {
        slab = oci_max64(slab, sort->runs.runs[i].slab_bytes_max);
        read = oci_max64(read, sort->runs.runs[i].read_bytes_max);
    }
    int64_t free = oci_mem_available(sort->mem);
    int32_t operators = atomic_load(&oci_spill_root(sort->manager)->operators);
    if (fair && operators > 1) {
        int64_t share = oci_sort_share(sort) - oci_mem_held(sort->mem);
        free = oci_min64(free, oci_max64(share, free / operators));
    }
    free -= oci_mem_charge_of(sort->wide_bytes) / 8 + CONSUMER_BYTES;
    int64_t output = oci_mem_charge_of(oci_max64(slab, sort->output_bytes));
    merge_space space = {.encode = encode_bytes(sort, oci_max64(slab, sort->wide_bytes), packs)};
    /* A step: one batch being gathered, one being written. */
    space.step_rest = read + 2 * slab_charge(sort, slab) + space.encode +
                      oci_sort_scratch_bytes(sort, sort->block_rows);
    space.step = free - space.step_rest;
    /* The end: one batch being gathered, one with the consumer, who may turn it into something as
     * large. */
    space.final_rest = read + 2 * output + oci_sort_scratch_bytes(sort, sort->output_rows);
    space.final = free - space.final_rest - output;
    return space;
}

/* Blocks that may be in memory beyond one per input. */
static int32_t spare_blocks(const oci_sort *sort, int32_t start, int32_t n, int64_t space)
{
    int64_t cost = 0;
    int64_t most = 1;
    for (int32_t i = start; i < start + n; i++) {
        cost += oci_run_cost(&sort->runs.runs[i]);
        most = oci_max64(most, oci_run_cost(&sort->runs.runs[i]));
    }
    return (int32_t)oci_max64(0, oci_min64((space - cost) / most, (int64_t)n * SPARE_PER_INPUT));
}

static oci_merge_config merge_config(const oci_sort *sort, int32_t start, int32_t n)
{
    return (oci_merge_config){
        .env = sort->env,
        .schema = sort->base.schema,
        .keys = sort->keys,
        .n_keys = sort->n_keys,
        .file = sort->file,
        .decoder = sort->decoder,
        .worker = sort->worker,
        .mem = sort->mem,
        .runs = sort->runs.runs + start,
        .n_runs = n,
    };
}

static oc_status write_merged(oci_sort *sort, oci_merge *merge, int64_t encode,
                              oci_run_extent *extent, oc_error *err)
{
    OC_TRY(begin_run(sort, encode, err));
    int64_t rows = 0;
    while (sort->limit < 0 || rows < sort->limit) {
        oci_batch *batch;
        OC_TRY(oci_merge_next(merge, sort->block_bytes, &batch, err));
        if (batch == NULL) {
            break;
        }
        rows += batch->length;
        OC_TRY(oci_run_writer_add(sort->writer, batch, err));
    }
    return oci_run_writer_finish(sort->writer, extent, err);
}

/* What the merged run is known to be before it is written: ends and sizes come from its inputs. */
static oci_sorted_run merged_run(const oci_sort *sort, const oci_merge_step *step)
{
    oci_sorted_run merged = sort->runs.runs[step->start];
    for (int32_t i = step->start + 1; i < step->start + step->n; i++) {
        const oci_sorted_run *run = &sort->runs.runs[i];
        if (oci_run_key_below(&run->first_key, &merged.first_key)) {
            merged.first_key = run->first_key;
        }
        if (oci_run_key_below(&merged.last_key, &run->last_key)) {
            merged.last_key = run->last_key;
        }
        merged.level = merged.level > run->level ? merged.level : run->level;
        merged.key_bytes_max = oci_max64(merged.key_bytes_max, run->key_bytes_max);
    }
    merged.level++;
    return merged;
}

/* What the keys of one block of the result will take. It can have more rows than the blocks that
 * went in, as those may have been cut short. */
static int64_t merged_key_bytes(const oci_merge *merge, const oci_run_extent *extent)
{
    int64_t offsets = (extent->block_rows_max + 1) * (int64_t)sizeof(uint32_t);
    return oci_mem_charge_of(oci_merge_key_bytes_max(merge) + offsets + 64);
}

static oc_status merge_step(oci_sort *sort, const oci_merge_step *step, const merge_space *space,
                            oc_error *err)
{
    oci_merge_config config = merge_config(sort, step->start, step->n);
    config.spare_blocks = spare_blocks(sort, step->start, step->n, space->step);
    config.head_bytes = oci_run_writer_head_bytes(sort->writer);
    config.rows_max = sort->block_rows;
    config.key_bytes_max = key_bytes_limit(sort);
    oci_merge *merge;
    OC_TRY(oci_merge_create(&config, &merge, err));
    oci_run_extent extent;
    oc_status status = write_merged(sort, merge, space->encode, &extent, err);
    int64_t key_bytes_max = status == OC_OK ? merged_key_bytes(merge, &extent) : 0;
    oci_merge_destroy(merge);
    end_run(sort, status);
    OC_TRY(status);
    oci_sorted_run merged = merged_run(sort, step);
    measure_run(&merged, &extent);
    merged.key_bytes_max = key_bytes_max;
    return oci_run_list_replace(&sort->runs, step->start, step->n, &merged, &extent, err);
}

/* Sets aside what a planned merge takes, so that nobody else gets it before or while it runs. */
static oc_status secure(oci_sort *sort, const merge_space *space, const oci_merge_step *step,
                        oc_error *err)
{
    int64_t inputs = step->is_final ? space->final : space->step;
    int64_t bytes = step->is_final ? space->final_rest : space->step_rest;
    int32_t spare = spare_blocks(sort, step->start, step->n, inputs);
    int64_t most = 0;
    for (int32_t i = step->start; i < step->start + step->n; i++) {
        int64_t cost = oci_run_cost(&sort->runs.runs[i]);
        most = oci_max64(most, cost);
        bytes += cost;
    }
    oc_status status = oci_mem_reserve(sort->mem, &sort->workspace, bytes + spare * most, err);
    if (status == OC_EBUDGET && atomic_load(&oci_spill_root(sort->manager)->operators) <= 1) {
        return OC_OK; /* sizes are upper bounds, and nobody is there to take what is free */
    }
    OC_TRY(status);
    oci_reservation_promise(&sort->workspace);
    return OC_OK;
}

/* One attempt with our share of what is free, else with all that is free, else without packing what is
 * written again, else with what others give back when asked. *needed: see oci_merge_plan. */
static oc_status try_plan(oci_sort *sort, bool is_early, merge_space *space, oci_merge_step *step,
                          int64_t *needed, oc_error *err)
{
    oc_status status = OC_EBUDGET;
    for (int attempt = 0; attempt < 4 && status == OC_EBUDGET; attempt++) {
        if (attempt == 3) {
            int64_t wanted = *needed + space->step_rest + CONSUMER_BYTES +
                             oci_mem_charge_of(sort->wide_bytes) / 8;
            OC_TRY(oci_mem_reserve(sort->mem, &sort->workspace, wanted, err));
            oci_reservation_promise(&sort->workspace);
        }
        *space = measure_space(sort, attempt == 0, attempt < 2);
        /* No final space: a step is what is wanted. */
        space->final = is_early ? 0 : space->final;
        int64_t pair = 0;
        status = oci_merge_plan(&sort->runs, space->step, space->final, step, &pair, err);
        *needed = pair > 0 ? pair : *needed;
        if (status == OC_OK) {
            status = secure(sort, space, step, err);
        }
    }
    return status;
}

/* Chooses the next merge and sets aside what it takes; waits for it when other operators of the
 * context have it. Without success says so in terms of rows and limits. */
static oc_status plan(oci_sort *sort, bool is_early, merge_space *space, oci_merge_step *step,
                      oc_error *err)
{
    oc_status status;
    int64_t needed = 0;
    int steps = 0;
    while ((status = try_plan(sort, is_early, space, step, &needed, err)) == OC_EBUDGET) {
        status = oci_sort_wait(sort, &steps, err);
        if (status == OC_EBUDGET) {
            return oci_sort_row_too_large(sort, oci_max64(sort->wide_bytes, needed / 2), err);
        }
        OC_TRY(status);
    }
    return status;
}

/* Merge passes that rows of the runs went through: the fewest and the most. */
static void measure_levels(const oci_sort *sort, int32_t *lowest, int32_t *highest)
{
    *lowest = sort->runs.n == 0 ? 0 : sort->runs.runs[0].level;
    *highest = 0;
    for (int32_t i = 0; i < sort->runs.n; i++) {
        int32_t level = sort->runs.runs[i].level;
        *lowest = level < *lowest ? level : *lowest;
        *highest = level > *highest ? level : *highest;
    }
}

/* Shows pass x of y. Before the end the pass is that of the runs merged least: the first step of a
 * pass does not make it the next one. */
static void show_passes(const oci_sort *sort, const oci_merge_step *step, const merge_space *space)
{
    oci_progress *progress = sort->env->progress;
    if (progress == NULL) {
        return;
    }
    int32_t lowest;
    int32_t highest;
    measure_levels(sort, &lowest, &highest);
    int32_t left = oci_merge_passes_left(&sort->runs, space->step, space->final);
    int32_t planned = lowest + left > highest + 1 ? lowest + left : highest + 1;
    atomic_store(&progress->merge_pass, step->is_final ? highest + 1 : lowest + 1);
    atomic_store(&progress->merge_passes, step->is_final ? highest + 1 : planned);
}

oc_status oci_sort_merge_runs(oci_sort *sort, int32_t runs_max, oc_error *err)
{
    while (sort->runs.n > runs_max) {
        merge_space space;
        oci_merge_step step;
        OC_TRY(plan(sort, true, &space, &step, err));
        OC_TRY(merge_step(sort, &step, &space, err));
    }
    return OC_OK;
}

/* Whether the rows of the buffer can stay in memory while all runs are merged in one pass. */
static bool buffer_can_stay(const oci_sort *sort)
{
    merge_space space = measure_space(sort, true, true);
    int64_t cost = 0;
    for (int32_t i = 0; i < sort->runs.n; i++) {
        cost += oci_run_cost(&sort->runs.runs[i]);
    }
    return cost <= space.final;
}

/* Counts the runs that merging starts with, the buffer included unless it only continues the last
 * run. */
static void count_runs(const oci_sort *sort)
{
    oci_progress *progress = sort->env->progress;
    if (progress == NULL) {
        return;
    }
    int64_t runs = sort->runs.n;
    int64_t rows = oci_row_buffer_rows(sort->buffer);
    if (rows > 0) {
        oci_sorted_run rest;
        note_ends(sort, 0, rows, &rest);
        const oci_sorted_run *last = &sort->runs.runs[sort->runs.n - 1];
        bool continues = oci_run_key_not_above(&last->last_key, &rest.first_key) ||
                         oci_run_key_below(&rest.last_key, &last->first_key);
        runs += continues ? 0 : 1;
    }
    atomic_fetch_add(&progress->runs, runs);
}

oc_status oci_sort_start_merge(oci_sort *sort, oc_error *err)
{
    int64_t encode = encode_share(sort);
    oci_reservation_promise(&sort->workspace);
    oci_sort_derive_output(sort);
    if (sort->phase == OCI_SORT_ABSORB && oci_row_buffer_rows(sort->buffer) > 0) {
        OC_TRY(oci_row_buffer_sort(sort->buffer, err));
        count_runs(sort);
        if (!buffer_can_stay(sort)) {
            sort->is_spilling = true;
            int64_t rows = oci_row_buffer_rows(sort->buffer);
            oc_status status = write_run(
                sort, 0, sort->limit < 0 ? rows : oci_min64(rows, sort->limit), encode, err);
            sort->is_spilling = false;
            OC_TRY(status);
            oci_row_buffer_clear(sort->buffer);
        }
    } else {
        count_runs(sort);
    }
    atomic_store(&sort->held, 0);
    oci_env_set_phase(sort->env, "merging");
    merge_space space;
    oci_merge_step step;
    for (;;) {
        OC_TRY(plan(sort, false, &space, &step, err));
        show_passes(sort, &step, &space);
        if (step.is_final) {
            break;
        }
        OC_TRY(merge_step(sort, &step, &space, err));
    }
    bool has_buffer = oci_row_buffer_rows(sort->buffer) > 0;
    oci_merge_config config = merge_config(sort, 0, sort->runs.n);
    config.spare_blocks = spare_blocks(sort, 0, sort->runs.n, space.final);
    config.rows_max = sort->output_rows;
    config.buffer = has_buffer ? sort->buffer : NULL;
    return oci_merge_create(&config, &sort->merge, err);
}
