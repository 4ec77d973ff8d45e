/* See merge.h.
 *
 * Only the struct itself comes from malloc; whatever has a size that depends on rows or runs is
 * charged. */
#include "ops/sort/merge.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "ops/sort/copy_rows.h"

/* Rows of the buffer whose keys are fetched ahead: they lie in no order, and a miss takes about as
 * long as noting this many rows. */
#define PREFETCH_ROWS 8
/* Cancel is checked once per this many rows noted: well under a millisecond. */
#define TICK_ROWS 4096

typedef enum input_kind { INPUT_RUN, INPUT_BUFFER } input_kind;

/* One sequence that is merged. */
typedef struct input {
    input_kind kind;
    bool is_done; /* no row left */

    /* The row it offers next. */
    const uint8_t *key;
    int64_t key_bytes;
    uint64_t prefix; /* 8 key bytes behind the shared prefix */

    /* INPUT_RUN */
    const oci_sorted_run *run;
    int32_t next_extent;
    int64_t rows_read;
    oci_run_cursor cursor;
    bool is_open;  /* the cursor points at an extent */
    uint32_t slot; /* where its block is in sources[] */
    oci_batch *block;
    oci_row_keys keys;
    int64_t row;
    /* The block after it; belongs to the worker while the task is in flight. */
    oci_task read;
    bool is_reading; /* submitted and not taken yet */
    bool is_drained; /* the last read found the end */
    oci_batch *next_block;
    oci_row_keys next_keys;
    oc_status read_status;

    /* INPUT_BUFFER */
    int64_t position;

    struct oci_merge *merge;
} input;

struct oci_merge {
    oci_merge_config config;
    int64_t shared; /* bytes of prefix that all keys have in common */
    input *inputs;
    int32_t n_inputs;
    int32_t n_live;
    int32_t *tree; /* tree[0] = winner, tree[1..n_inputs) = losers */

    /* Batches that noted rows refer to: the buffer's chunks first, then slots for blocks. */
    oci_batch **sources;
    int32_t n_chunks;
    int32_t n_slots;
    uint32_t *free_slots; /* a stack */
    int32_t n_free_slots;
    uint32_t *used_up; /* slots of blocks whose rows are all noted */
    int32_t n_used_up;
    int32_t blocks_ahead; /* reads in flight or waiting to be taken */
    bool has_read_error;  /* these two belong to the worker until the failing read is waited for */
    oc_error read_error;  /* of the first read that failed; later ones do not touch it */

    void *arrays; /* what the pointers above point into */
    int64_t arrays_bytes;

    oci_row_ref *noted;
    int64_t n_noted;
    uint32_t *noted_key_sizes;
    int64_t noted_key_bytes; /* their sum */
    int64_t key_bytes_max;   /* highest sum of a batch given out */
    int32_t stalled;         /* input that waits for its next block, -1 = none */
    int64_t rows_until_tick;
};

/* -- setting up -------------------------------------------------------------------------------- */

static int64_t noted_bytes(int64_t rows_max)
{
    return rows_max * (int64_t)(sizeof(oci_row_ref) + sizeof(uint32_t));
}

int64_t oci_merge_scratch_bytes(int64_t max_rows)
{
    /* The places of the rows, and what gather documents as its own scratch. */
    return oci_mem_charge_of(noted_bytes(max_rows)) + oci_mem_charge_of(max_rows * 64);
}

static void read_next_block(void *arg);

static void init_input(oci_merge *merge, input *in, const oci_sorted_run *run)
{
    *in = (input){.kind = INPUT_RUN, .run = run, .merge = merge};
    in->read.run = read_next_block;
    in->read.arg = in;
}

static void note_key(int64_t *shared, const oci_run_key *reference, const oci_run_key *key)
{
    int64_t n = oci_min64(*shared, key->size);
    int64_t i = 0;
    while (i < n && reference->bytes[i] == key->bytes[i]) {
        i++;
    }
    *shared = i;
}

/* Runs are sorted, so what all first and last keys share is shared by every key between them. */
static int64_t shared_prefix(const oci_merge_config *config)
{
    oci_run_key ends[2];
    const oci_run_key *reference = NULL;
    int64_t rows = config->buffer != NULL ? oci_row_buffer_rows(config->buffer) : 0;
    if (rows > config->buffer_position) {
        int64_t size;
        const uint8_t *key = oci_row_buffer_key(config->buffer, config->buffer_position, &size);
        oci_run_key_set(&ends[0], key, size);
        key = oci_row_buffer_key(config->buffer, rows - 1, &size);
        oci_run_key_set(&ends[1], key, size);
        reference = &ends[0];
    } else if (config->n_runs > 0) {
        reference = &config->runs[0].first_key;
    } else {
        return 0;
    }
    int64_t shared = reference->size;
    if (reference == &ends[0]) {
        note_key(&shared, reference, &ends[1]);
    }
    for (int32_t i = 0; i < config->n_runs; i++) {
        note_key(&shared, reference, &config->runs[i].first_key);
        note_key(&shared, reference, &config->runs[i].last_key);
    }
    return shared;
}

/* One block for all arrays. Large members come first, so that each array is aligned for its type.
 */
static oc_status allocate_arrays(oci_merge *merge, oc_error *err)
{
    const oci_merge_config *config = &merge->config;
    if (config->buffer != NULL) {
        (void)oci_row_buffer_sources(config->buffer, &merge->n_chunks);
    }
    merge->n_slots = config->n_runs + config->spare_blocks + 2;
    int64_t n_inputs = merge->n_inputs + 1;
    int64_t n_sources = (int64_t)merge->n_chunks + merge->n_slots;
    int64_t inputs_bytes = n_inputs * (int64_t)sizeof *merge->inputs;
    int64_t sources_bytes = n_sources * (int64_t)sizeof *merge->sources;
    int64_t tree_bytes = n_inputs * (int64_t)sizeof *merge->tree;
    int64_t slots_bytes = merge->n_slots * (int64_t)sizeof(uint32_t);
    int64_t bytes = inputs_bytes + sources_bytes + tree_bytes + 2 * slots_bytes;
    void *block;
    OC_TRY(oci_mem_alloc(config->mem, bytes, &block, err));
    memset(block, 0, (size_t)bytes);
    merge->arrays = block;
    merge->arrays_bytes = bytes;
    uint8_t *at = block;
    merge->inputs = (input *)at;
    at += inputs_bytes;
    merge->sources = (oci_batch **)at;
    at += sources_bytes;
    merge->tree = (int32_t *)at;
    at += tree_bytes;
    merge->free_slots = (uint32_t *)at;
    at += slots_bytes;
    merge->used_up = (uint32_t *)at;
    return OC_OK;
}

static void set_key(oci_merge *merge, input *in, const uint8_t *key, int64_t size)
{
    in->key = key;
    in->key_bytes = size;
    int64_t rest = size - merge->shared;
    uint64_t prefix = 0;
    if (rest >= 8) {
        prefix = oci_load_be64(key + merge->shared);
    } else if (rest > 0) {
        uint8_t padded[8] = {0};
        memcpy(padded, key + merge->shared, (size_t)rest);
        prefix = oci_load_be64(padded);
    }
    in->prefix = prefix;
}

static void set_key_from_block(oci_merge *merge, input *in)
{
    int64_t size;
    const uint8_t *key = oci_row_key_at(&in->keys, in->row, &size);
    set_key(merge, in, key, size);
}

static void set_key_from_buffer(oci_merge *merge, input *in)
{
    const oci_row_buffer *buffer = merge->config.buffer;
    int64_t size;
    int64_t ahead = in->position + PREFETCH_ROWS;
    if (ahead < oci_row_buffer_rows(buffer)) {
        __builtin_prefetch(oci_row_buffer_key(buffer, ahead, &size));
    }
    const uint8_t *key = oci_row_buffer_key(buffer, in->position, &size);
    set_key(merge, in, key, size);
}

/* -- reading blocks ---------------------------------------------------------------------------- */

static oc_status encode_keys(const oci_merge_config *config, const oci_batch *block,
                             oci_row_keys *out, oc_error *err)
{
    int64_t bytes;
    OC_TRY(oci_row_keys_size(block, config->keys, config->n_keys, &bytes, err));
    oci_reservation space = {.mem = config->mem};
    OC_TRY(oci_mem_reserve(config->mem, &space, oci_mem_charge_of(bytes), err));
    oc_status status =
        oci_row_keys_encode(block, config->keys, config->n_keys, config->mem, &space, out, err);
    oci_reservation_release(&space);
    return status;
}

/* A cut at a message boundary looks like an end, so the rows are counted. */
static oc_status check_rows(const input *in, oc_error *err)
{
    if (in->rows_read == in->run->rows) {
        return OC_OK;
    }
    OC_FAIL(err, OC_EDATA,
            "could not read a spilled run of %" PRId64 " rows: %" PRId64
            " rows came back; the spill file is damaged",
            in->run->rows, in->rows_read);
}

static void close_cursor(input *in)
{
    if (in->is_open) {
        oci_run_cursor_finish(&in->cursor);
        in->is_open = false;
    }
}

static oc_status read_block(input *in, oc_error *err)
{
    const oci_merge_config *config = &in->merge->config;
    while (in->next_block == NULL) {
        if (!in->is_open) {
            if (in->next_extent == in->run->n_extents) {
                return check_rows(in, err);
            }
            oci_run_cursor_start(&in->cursor, config->file, &in->run->extents[in->next_extent++]);
            in->is_open = true;
        }
        OC_TRY(oci_run_cursor_next(&in->cursor, config->decoder, &in->next_block, err));
        if (in->next_block == NULL) {
            close_cursor(in);
        }
    }
    in->rows_read += in->next_block->length;
    return encode_keys(config, in->next_block, &in->next_keys, err);
}

/* The task: runs on the worker. */
static void read_next_block(void *arg)
{
    input *in = arg;
    oci_merge *merge = in->merge;
    in->read_status = read_block(in, merge->has_read_error ? NULL : &merge->read_error);
    merge->has_read_error = merge->has_read_error || in->read_status != OC_OK;
}

static void start_reading(oci_merge *merge, input *in)
{
    assert(!in->is_reading && !in->is_drained);
    in->is_reading = true;
    merge->blocks_ahead++;
    oci_worker_submit(merge->config.worker, &in->read);
}

/* Waits for the input's next block and makes it the current one, or the input done. */
static oc_status take_block(oci_merge *merge, input *in, oc_error *err)
{
    if (!in->is_reading) {
        start_reading(merge, in);
    }
    oci_worker_wait(merge->config.worker, &in->read);
    in->is_reading = false;
    merge->blocks_ahead--;
    if (in->read_status != OC_OK) {
        if (err != NULL) {
            *err = merge->read_error;
        }
        return in->read_status;
    }
    if (in->next_block == NULL) {
        in->is_drained = true;
        in->is_done = true;
        merge->n_live--;
        return OC_OK;
    }
    in->block = in->next_block;
    in->keys = in->next_keys;
    in->next_block = NULL;
    in->next_keys = (oci_row_keys){0};
    in->row = 0;
    assert(merge->n_free_slots > 0);
    in->slot = merge->free_slots[--merge->n_free_slots];
    merge->sources[in->slot] = in->block;
    set_key_from_block(merge, in);
    return OC_OK;
}

/* Whether the last key of a's block comes before that of b's: a needs its next block first. */
static bool needs_block_before(const input *a, const input *b)
{
    int64_t a_size;
    int64_t b_size;
    const uint8_t *a_key = oci_row_key_at(&a->keys, a->keys.length - 1, &a_size);
    const uint8_t *b_key = oci_row_key_at(&b->keys, b->keys.length - 1, &b_size);
    return memcmp(a_key, b_key, (size_t)oci_min64(a_size, b_size)) < 0;
}

static input *input_to_read_for(oci_merge *merge)
{
    input *best = NULL;
    for (int32_t i = 0; i < merge->n_inputs; i++) {
        input *in = &merge->inputs[i];
        if (in->kind != INPUT_RUN || in->is_reading || in->is_drained || in->block == NULL) {
            continue;
        }
        if (best == NULL || needs_block_before(in, best)) {
            best = in;
        }
    }
    return best;
}

/* Starts reads as long as spare blocks are left. Half of them are kept for blocks that are used up.
 */
static void read_ahead(oci_merge *merge)
{
    int32_t spare = merge->config.spare_blocks;
    while (merge->blocks_ahead < (spare + 1) / 2 &&
           merge->blocks_ahead + merge->n_used_up < spare) {
        input *in = input_to_read_for(merge);
        if (in == NULL) {
            return;
        }
        start_reading(merge, in);
    }
}

/* -- the tree of losers ------------------------------------------------------------------------ */

/* Whether input a's row comes before input b's. */
static bool comes_before(const oci_merge *merge, int32_t a, int32_t b)
{
    const input *x = &merge->inputs[a];
    const input *y = &merge->inputs[b];
    if (x->is_done || y->is_done) {
        return !x->is_done;
    }
    if (x->prefix != y->prefix) {
        return x->prefix < y->prefix;
    }
    int64_t n = oci_min64(x->key_bytes, y->key_bytes);
    int64_t from = oci_min64(merge->shared + 8, n);
    int order = memcmp(x->key + from, y->key + from, (size_t)(n - from));
    if (order != 0) {
        return order < 0;
    }
    /* Equal keys: input order. (Sizes are equal too, as no key is a prefix of another.) */
    return a < b;
}

/* Plays the matches of the subtree under `node`; returns its winner. Leaves are n_inputs .. 2 *
 * n_inputs - 1. */
static int32_t play(oci_merge *merge, int32_t node)
{
    if (node >= merge->n_inputs) {
        return node - merge->n_inputs;
    }
    int32_t left = play(merge, 2 * node);
    int32_t right = play(merge, 2 * node + 1);
    bool left_wins = comes_before(merge, left, right);
    merge->tree[node] = left_wins ? right : left;
    return left_wins ? left : right;
}

static void build_tree(oci_merge *merge)
{
    merge->tree[0] = merge->n_inputs == 1 ? 0 : play(merge, 1);
}

/* The key of input i changed: plays its matches again, up to the root. */
static void replay(oci_merge *merge, int32_t i)
{
    int32_t winner = i;
    for (int32_t node = (i + merge->n_inputs) / 2; node > 0; node /= 2) {
        int32_t loser = merge->tree[node];
        if (comes_before(merge, loser, winner)) {
            merge->tree[node] = winner;
            winner = loser;
        }
    }
    merge->tree[0] = winner;
}

/* -- life -------------------------------------------------------------------------------------- */

static oc_status start(oci_merge *merge, oc_error *err)
{
    const oci_merge_config *config = &merge->config;
    for (int32_t i = 0; i < config->n_runs; i++) {
        init_input(merge, &merge->inputs[i], &config->runs[i]);
    }
    if (merge->n_chunks > 0) {
        const oci_batch *const *chunks = oci_row_buffer_sources(config->buffer, &merge->n_chunks);
        memcpy(merge->sources, chunks, (size_t)merge->n_chunks * sizeof(oci_batch *));
    }
    for (int32_t i = 0; i < merge->n_slots; i++) {
        merge->free_slots[i] = (uint32_t)(merge->n_chunks + merge->n_slots - 1 - i);
    }
    merge->n_free_slots = merge->n_slots;
    merge->n_live = merge->n_inputs;
    for (int32_t i = 0; i < config->n_runs; i++) {
        start_reading(merge, &merge->inputs[i]);
    }
    for (int32_t i = 0; i < config->n_runs; i++) {
        OC_TRY(take_block(merge, &merge->inputs[i], err));
    }
    if (config->buffer != NULL) {
        input *in = &merge->inputs[config->n_runs];
        *in = (input){.kind = INPUT_BUFFER, .position = config->buffer_position, .merge = merge};
        if (in->position < oci_row_buffer_rows(config->buffer)) {
            set_key_from_buffer(merge, in);
        } else {
            in->is_done = true;
            merge->n_live--;
        }
    }
    build_tree(merge);
    return OC_OK;
}

oc_status oci_merge_create(const oci_merge_config *config, oci_merge **out, oc_error *err)
{
    oci_merge *merge = calloc(1, sizeof *merge);
    if (merge == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up a merge: out of memory");
    }
    merge->config = *config;
    merge->n_inputs = config->n_runs + (config->buffer != NULL ? 1 : 0);
    merge->shared = shared_prefix(config);
    merge->stalled = -1;
    oc_status status = allocate_arrays(merge, err);
    if (status == OC_OK) {
        void *noted;
        status = oci_mem_alloc(config->mem, noted_bytes(config->rows_max), &noted, err);
        merge->noted = status == OC_OK ? noted : NULL;
        merge->noted_key_sizes =
            merge->noted != NULL ? (uint32_t *)(void *)(merge->noted + config->rows_max) : NULL;
    }
    if (status == OC_OK && merge->n_inputs > 0) {
        status = start(merge, err);
    }
    if (status != OC_OK) {
        oci_merge_destroy(merge);
        return status;
    }
    *out = merge;
    return OC_OK;
}

static void deinit_input(oci_merge *merge, input *in)
{
    if (in->is_reading) {
        oci_worker_wait(merge->config.worker, &in->read);
    }
    oci_batch_release(in->block);
    oci_row_keys_deinit(&in->keys);
    oci_batch_release(in->next_block);
    oci_row_keys_deinit(&in->next_keys);
    close_cursor(in);
}

static void release_used_up(oci_merge *merge)
{
    for (int32_t i = 0; i < merge->n_used_up; i++) {
        uint32_t slot = merge->used_up[i];
        oci_batch_release(merge->sources[slot]);
        merge->sources[slot] = NULL;
        merge->free_slots[merge->n_free_slots++] = slot;
    }
    merge->n_used_up = 0;
}

void oci_merge_destroy(oci_merge *merge)
{
    if (merge == NULL) {
        return;
    }
    if (merge->inputs != NULL) {
        for (int32_t i = 0; i < merge->n_inputs; i++) {
            deinit_input(merge, &merge->inputs[i]);
        }
    }
    if (merge->sources != NULL) {
        release_used_up(merge);
    }
    if (merge->noted != NULL) {
        oci_mem_free(merge->config.mem, merge->noted, noted_bytes(merge->config.rows_max));
    }
    oci_mem_free(merge->config.mem, merge->arrays, merge->arrays_bytes);
    free(merge);
}

/* -- merging
 * -------------------------------------------------------------------------------------------------
 */

/* The input's block is used up: sets it aside until its rows are gathered. */
static void set_block_aside(oci_merge *merge, input *in)
{
    merge->used_up[merge->n_used_up++] = in->slot;
    in->block = NULL;
    oci_row_keys_deinit(&in->keys);
}

/* Moves the winner on to its next row. It stalls instead when no more blocks may be in memory until
 * the noted rows are gathered. */
static oc_status advance(oci_merge *merge, int32_t i, oc_error *err)
{
    input *in = &merge->inputs[i];
    if (in->kind == INPUT_BUFFER) {
        in->position++;
        if (in->position < oci_row_buffer_rows(merge->config.buffer)) {
            set_key_from_buffer(merge, in);
        } else {
            in->is_done = true;
            merge->n_live--;
        }
        return OC_OK;
    }
    in->row++;
    if (in->row < in->keys.length) {
        set_key_from_block(merge, in);
        return OC_OK;
    }
    set_block_aside(merge, in);
    /* Its own block read ahead takes the place of the one set aside; the others ahead count. */
    int32_t others_ahead = merge->blocks_ahead - (in->is_reading ? 1 : 0);
    if (merge->n_used_up + others_ahead > merge->config.spare_blocks) {
        merge->stalled = i;
        return OC_OK;
    }
    OC_TRY(take_block(merge, in, err));
    read_ahead(merge);
    return OC_OK;
}

static oci_row_ref place_of(const oci_merge *merge, const input *in)
{
    if (in->kind == INPUT_RUN) {
        return (oci_row_ref){in->slot, (uint32_t)in->row};
    }
    oci_row_ref ref;
    oci_row_buffer_refs(merge->config.buffer, in->position, 1, &ref);
    return ref;
}

static oc_status tick(oci_merge *merge, oc_error *err)
{
    if (merge->rows_until_tick-- > 0) {
        return OC_OK;
    }
    merge->rows_until_tick = TICK_ROWS;
    return oci_env_tick(merge->config.env, err);
}

/* Notes the places of the next rows, in order. */
static oc_status note_rows(oci_merge *merge, oc_error *err)
{
    while (merge->n_noted < merge->config.rows_max && merge->stalled < 0) {
        int32_t winner = merge->tree[0];
        input *in = &merge->inputs[winner];
        if (in->is_done) {
            return OC_OK;
        }
        OC_TRY(tick(merge, err));
        int64_t key_bytes = merge->noted_key_bytes + in->key_bytes;
        if (merge->config.key_bytes_max > 0 && key_bytes > merge->config.key_bytes_max &&
            merge->n_noted > 0) {
            return OC_OK;
        }
        merge->noted_key_bytes = key_bytes;
        merge->noted_key_sizes[merge->n_noted] = (uint32_t)in->key_bytes;
        merge->noted[merge->n_noted++] = place_of(merge, in);
        OC_TRY(advance(merge, winner, err));
        if (merge->stalled < 0) {
            replay(merge, winner);
        }
    }
    return OC_OK;
}

static oc_status end_stall(oci_merge *merge, oc_error *err)
{
    int32_t i = merge->stalled;
    merge->stalled = -1;
    OC_TRY(take_block(merge, &merge->inputs[i], err));
    replay(merge, i);
    read_ahead(merge);
    return OC_OK;
}

/* One run is all that is left: its blocks are handed on as they are. */
static oc_status pass_on(oci_merge *merge, input *in, oci_batch **out, oc_error *err)
{
    int64_t n = oci_min64(merge->config.rows_max, in->block->length - in->row);
    merge->key_bytes_max = oci_max64(merge->key_bytes_max, in->keys.block_bytes);
    OC_TRY(oci_batch_slice(in->block, in->row, n, out, err));
    in->row += n;
    if (in->row < in->keys.length) {
        set_key_from_block(merge, in);
        return OC_OK;
    }
    merge->sources[in->slot] = NULL;
    merge->free_slots[merge->n_free_slots++] = in->slot;
    oci_batch_release(in->block);
    in->block = NULL;
    oci_row_keys_deinit(&in->keys);
    oc_status status = take_block(merge, in, err);
    if (status != OC_OK) {
        oci_batch_release(*out);
        *out = NULL;
        return status;
    }
    read_ahead(merge);
    return OC_OK;
}

/* Copies noted rows into a batch: all of them, or as many as fit. */
static oc_status gather_noted(oci_merge *merge, int64_t max_bytes, oci_batch **out, oc_error *err)
{
    const oci_merge_config *config = &merge->config;
    const oci_batch *const *sources = (const oci_batch *const *)merge->sources;
    int64_t n;
    OC_TRY(oci_copy_rows(config->schema, sources, merge->noted, merge->n_noted, max_bytes,
                         config->head_bytes, config->mem, &n, out, err));
    int64_t key_bytes = 0;
    for (int64_t i = 0; i < n; i++) {
        key_bytes += merge->noted_key_sizes[i];
    }
    merge->key_bytes_max = oci_max64(merge->key_bytes_max, key_bytes);
    merge->noted_key_bytes -= key_bytes;
    merge->n_noted -= n;
    memmove(merge->noted_key_sizes, merge->noted_key_sizes + n,
            (size_t)merge->n_noted * sizeof *merge->noted_key_sizes);
    memmove(merge->noted, merge->noted + n, (size_t)merge->n_noted * sizeof *merge->noted);
    if (merge->n_noted == 0) {
        release_used_up(merge);
    }
    return OC_OK;
}

oc_status oci_merge_next(oci_merge *merge, int64_t max_bytes, oci_batch **out, oc_error *err)
{
    *out = NULL;
    if (merge->n_inputs == 0) {
        return OC_OK;
    }
    OC_TRY(oci_env_tick(merge->config.env, err));
    if (merge->stalled >= 0 && merge->n_noted == 0) {
        OC_TRY(end_stall(merge, err));
    }
    input *winner = &merge->inputs[merge->tree[0]];
    if (merge->n_noted == 0 && merge->n_live == 1 && winner->kind == INPUT_RUN &&
        merge->stalled < 0) {
        return pass_on(merge, winner, out, err);
    }
    OC_TRY(note_rows(merge, err));
    if (merge->n_noted == 0) {
        return OC_OK;
    }
    return gather_noted(merge, max_bytes, out, err);
}

int64_t oci_merge_key_bytes_max(const oci_merge *merge)
{
    return merge->key_bytes_max;
}
