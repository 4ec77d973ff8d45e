/* The first part of a sort: taking input until it ends.
 *
 *   input batch -> kept as it is, when it is compact and ours
 *               -> put aside until there is enough to copy together, when it is small
 *               -> copied into chunks of about a block otherwise
 *
 * A chunk goes through the top-k filter into the row buffer, which encodes its keys. When the
 * budget refuses any of this, the buffer is spilled and the step is done again; with an empty
 * buffer rows are taken in smaller portions, down to one, before the sort gives up.
 *
 * Copies are by gather, so whatever form the input has (views, list views, runs, offsets anywhere)
 * chunks are in working form and compact. Batches put aside are counted with the dictionaries that
 * they keep alive, at any depth, since those can be far larger than the rows. */
#include "base/bits.h"
#include "ops/sort/sort_internal.h"

/* A batch of at least this many rows is kept as it is; smaller ones are copied together, as each
 * chunk has a fixed cost. */
#define CHUNK_ROWS_MIN 512
#define SMALL_ROWS_MAX 4096

static void note_held(oci_sort *sort)
{
    atomic_store(&sort->held, oci_row_buffer_bytes(sort->buffer));
}

/* After a refusal: spills the buffer; with an empty one asks others, or waits when they have more than their share.
 * OC_OK: try again. */
static oc_status make_room(oci_sort *sort, oci_share_patience *patience, oc_error *err)
{
    if (oci_row_buffer_rows(sort->buffer) > 0) {
        return oci_sort_spill(sort, 0, err);
    }
    if (oci_share_ask(sort->env, sort->manager, sort->mem, 4 * sort->block_bytes, patience) ||
        oci_share_beg(sort->env, sort->mem, patience)) {
        return OC_OK;
    }
    int64_t could_have = oci_mem_held(sort->mem) + oci_mem_available(sort->mem);
    return could_have < oci_sort_share(sort) ? oci_sort_wait(sort, &patience->steps, err)
                                             : OC_EBUDGET;
}

/* A spill that failed is the end, even where less memory would do now: the buffer is sorted and
 * takes no more rows. It may have been asked for by others, on the way of any allocation. */
static oc_status check_spill(const oci_sort *sort, oc_error *err)
{
    if (sort->is_spill_broken && err != NULL) {
        *err = sort->spill_error;
    }
    return sort->is_spill_broken ? sort->spill_error.status : OC_OK;
}

/* Borrows the batch. *too_large says that not even the empty buffer takes it, and err is not set
 * then; nor by OC_ENOMEM of the buffer itself. */
static oc_status buffer_chunk(oci_sort *sort, oci_batch *batch, bool *too_large, oc_error *err)
{
    oc_status status;
    oci_share_patience patience = {0};
    *too_large = false;
    OC_TRY(check_spill(sort, err));
    while ((status = oci_row_buffer_add(sort->buffer, batch, NULL)) == OC_EBUDGET) {
        status = make_room(sort, &patience, err);
        OC_TRY(check_spill(sort, err));
        if (status != OC_OK) {
            *too_large = status == OC_EBUDGET;
            return status;
        }
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
        bool too_large;
        status = buffer_chunk(sort, batch, &too_large, err);
        if (too_large && batch->length > 1) {
            return add_halves(sort, batch, err);
        }
        if (too_large) {
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

/* As above. The budget may refuse a slab, or the tables that dictionaries take: then the buffer is
 * spilled and it is asked again, at last for fewer rows (*most). */
static oc_status copy_chunk_with_room(oci_sort *sort, const oci_batch *const *sources,
                                      const oci_row_ref *refs, int64_t start, int64_t *most,
                                      int64_t *copied, oci_batch **out, oc_error *err)
{
    oc_status status;
    oci_share_patience patience = {0};
    while ((status = copy_chunk(sort, sources, refs, start, *most, copied, out, err)) ==
           OC_EBUDGET) {
        oc_status room = make_room(sort, &patience, err);
        OC_TRY(check_spill(sort, err));
        if (room == OC_EBUDGET && *most > 1) {
            *most /= 2;
        } else {
            OC_TRY(room);
        }
    }
    return status;
}

/* Copies rows into chunks of about block_bytes. */
static oc_status add_copies(oci_sort *sort, const oci_batch *const *sources,
                            const oci_row_ref *refs, int64_t rows, oc_error *err)
{
    int64_t most = rows;
    for (int64_t start = 0, n; start < rows; start += n) {
        oci_batch *chunk;
        most = oci_min64(most, rows - start);
        OC_TRY(copy_chunk_with_room(sort, sources, refs, start, &most, &n, &chunk, err));
        OC_TRY(add_chunk(sort, chunk, err));
        most = oci_max64(most, 2 * n); /* what was refused may be granted later */
    }
    return OC_OK;
}

/* Copies a batch into chunks. Borrows it. */
static oc_status copy_batch(oci_sort *sort, const oci_batch *batch, oc_error *err)
{
    return add_copies(sort, &batch, NULL, batch->length, err);
}

void oci_sort_release_small(oci_sort *sort)
{
    for (int32_t i = 0; i < sort->n_small; i++) {
        oci_batch_release(sort->small[i]);
    }
    sort->n_small = 0;
    sort->small_rows = 0;
    sort->small_bytes = 0;
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
        oci_sort_release_small(sort);
        return alone;
    }
    int64_t bytes = sort->small_rows * (int64_t)sizeof(oci_row_ref);
    void *refs;
    oc_status status;
    oci_share_patience patience = {0};
    while ((status = oci_mem_alloc(sort->mem, bytes, &refs, err)) == OC_EBUDGET) {
        status = make_room(sort, &patience, err);
        if (status != OC_OK) {
            break;
        }
    }
    if (status == OC_OK) {
        status = add_small_rows(sort, refs, err);
        oci_mem_free(sort->mem, refs, bytes);
    }
    oci_sort_release_small(sort);
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

/* What the buffers of a column hold, roughly, children and dictionaries included. */
static int64_t column_bytes(const oci_column *column)
{
    int64_t slot_bytes = oci_max64(1, column->field->byte_width);
    int64_t bytes = column->length * slot_bytes;
    oci_layout layout = oci_field_layout(column->field);
    if ((layout == OCI_LAYOUT_OFFSETS32 || layout == OCI_LAYOUT_OFFSETS64) && column->length > 0) {
        int64_t length;
        const uint8_t *first = oci_column_bytes_at(column, 0, &length);
        const uint8_t *last = oci_column_bytes_at(column, column->length - 1, &length);
        bytes += first == NULL ? 0 : last + length - first;
    }
    for (int32_t i = 0; i < column->n_view_buffers; i++) {
        bytes += column->view_sizes[i];
    }
    for (int32_t i = 0; i < column->field->n_children; i++) {
        bytes += column_bytes(&column->children[i]);
    }
    return bytes + (column->dictionary != NULL ? column_bytes(column->dictionary) : 0);
}

/* The dictionaries of a column, at any depth, but for those that `before`, the same column of
 * another batch, has too. */
static int64_t new_dictionary_bytes(const oci_column *column, const oci_column *before)
{
    int64_t bytes = 0;
    if (column->dictionary != NULL &&
        (before == NULL || before->dictionary != column->dictionary)) {
        bytes += column_bytes(column->dictionary);
    }
    for (int32_t i = 0; i < column->field->n_children; i++) {
        bytes += new_dictionary_bytes(&column->children[i],
                                      before != NULL ? &before->children[i] : NULL);
    }
    return bytes;
}

/* What a batch keeps alive: memory, and dictionaries, that the batch put aside before it does not. */
static int64_t kept_bytes(const oci_sort *sort, const oci_batch *batch)
{
    const oci_batch *before = sort->n_small > 0 ? sort->small[sort->n_small - 1] : NULL;
    int64_t bytes = oci_batch_held_bytes(batch, before);
    for (int32_t i = 0; i < batch->schema->n_fields && sort->n_dictionaries > 0; i++) {
        bytes +=
            new_dictionary_bytes(&batch->columns[i], before != NULL ? &before->columns[i] : NULL);
    }
    return bytes;
}

static oc_status put_aside(oci_sort *sort, oci_batch *batch, oc_error *err)
{
    sort->small_bytes += kept_bytes(sort, batch);
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

bool oci_sort_is_pulling(const oci_sort *sort)
{
    return atomic_load(&sort->puller) == oci_thread_identity();
}

/* Gets the next batch; while that runs the buffer may be spilled at the request of whoever makes
 * the batch. */
static oc_status pull(oci_sort *sort, oci_batch **out, oc_error *err)
{
    atomic_store(&sort->puller, oci_thread_identity());
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
bool oci_sort_is_unfair(const oci_sort *sort)
{
    return oci_share_is_passed(sort->env, sort->manager,
                               oci_max64(oci_mem_held(sort->mem), atomic_load(&sort->held)));
}

oc_status oci_sort_absorb(oci_sort *sort, oc_error *err)
{
    oci_env_set_phase(sort->env, "reading");
    oci_share_join(sort->manager, &sort->entry);
    OC_TRY(oci_sort_ensure_workspace(sort, sort->block_bytes, err));
    for (;;) {
        OC_TRY(oci_env_tick(sort->env, err));
        oci_batch *batch;
        OC_TRY(pull(sort, &batch, err));
        if (batch == NULL) {
            break;
        }
        OC_TRY(add_batch(sort, batch, err));
        if (oci_sort_is_unfair(sort)) {
            OC_TRY(oci_sort_spill(sort, 0, err));
        }
    }
    OC_TRY(flush_small(sort, err));
    /* The reader below gives back its buffers before the merge plans with what is free. */
    oci_stream_close(sort->input);
    sort->input = NULL;
    return OC_OK;
}
