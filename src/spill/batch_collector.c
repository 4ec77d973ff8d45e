/* See batch_collector.h. The struct comes from malloc, one per writer.
 *
 *     waiting   [copied] [copied] [as it came] [as it came] ...      in the order of their rows
 *     large     a batch that passes, behind those that wait
 *
 * A block is ready when those that wait have block_bytes together, or a batch that passes is behind
 * them. */
#include "spill/batch_collector.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/gather.h"
#include "base/bits.h"

/* Batches as they came that may wait; as many sources as gather takes without scratch memory. */
#define CAME_MAX 128
/* A gather takes no more rows than that. */
#define ROWS_MAX OCI_GATHER_ROWS_MAX

struct oci_batch_collector {
    oci_schema *schema;
    oci_schema *working; /* what copies are made in */
    oci_mem *mem;
    int64_t head_bytes;
    bool passes_all;
    int64_t block_bytes;

    oci_batch **waiting; /* from mem */
    int64_t n_waiting;
    int64_t room;   /* of waiting */
    int64_t rows;   /* of those that wait */
    int64_t bytes;  /* those of small batches are mostly padding, so this is corrected by fold() */
    int64_t n_came; /* the last of those that wait are as they came */
    int64_t came_bytes;

    oci_batch *large;
    int64_t large_at;   /* rows before were given out */
    int64_t large_rows; /* of a slice */
};

static bool has_runs(const oci_field *field)
{
    if (field->type == OCI_TYPE_RUN_END_ENCODED ||
        (field->dictionary != NULL && has_runs(field->dictionary))) {
        return true;
    }
    for (int32_t i = 0; i < field->n_children; i++) {
        if (has_runs(&field->children[i])) {
            return true;
        }
    }
    return false;
}

oc_status oci_batch_collector_create(oci_schema *schema, int64_t head_bytes, oci_mem *mem,
                                     oci_batch_collector **out, oc_error *err)
{
    oci_batch_collector *self = calloc(1, sizeof *self);
    if (self == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up a spill writer: out of memory");
    }
    oc_status status = oci_schema_working(schema, &self->working, err);
    if (status != OC_OK) {
        free(self);
        return status;
    }
    self->schema = oci_schema_retain(schema);
    self->mem = mem;
    self->head_bytes = head_bytes;
    for (int32_t i = 0; i < schema->n_fields && !self->passes_all; i++) {
        self->passes_all = has_runs(&schema->fields[i]);
    }
    *out = self;
    return OC_OK;
}

void oci_batch_collector_destroy(oci_batch_collector *self)
{
    if (self == NULL) {
        return;
    }
    for (int64_t i = 0; i < self->n_waiting; i++) {
        oci_batch_release(self->waiting[i]);
    }
    oci_mem_free(self->mem, self->waiting, self->room * (int64_t)sizeof *self->waiting);
    oci_batch_release(self->large);
    oci_schema_release(self->schema);
    oci_schema_release(self->working);
    free(self);
}

/* ---- copying together ------------------------------------------------------------------------ */

static void fill_refs(oci_batch *const *sources, int64_t n, oci_row_ref *refs)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t row = 0; row < sources[i]->length; row++) {
            *refs++ = (oci_row_ref){.source = (uint32_t)i, .row = (uint32_t)row};
        }
    }
}

/* How many of sources[n] have at most `rows` rows together; *taken gets their rows. */
static int64_t count_whole(oci_batch *const *sources, int64_t n, int64_t rows, int64_t *taken)
{
    int64_t i = 0;
    *taken = 0;
    while (i < n && *taken + sources[i]->length <= rows) {
        *taken += sources[i++]->length;
    }
    return i;
}

/* One batch of the rows of the first of sources[n], of as many as it can tell: dictionaries may have
 * too many values for their indices. *n_taken says how many those are, at least 1. */
static oc_status copy_together(oci_batch_collector *self, oci_batch *const *sources, int64_t n,
                               const oci_row_ref *refs, int64_t rows, oci_batch **out,
                               int64_t *n_taken, oc_error *err)
{
    const oci_batch *const *from = (const oci_batch *const *)sources;
    int64_t n_fit;
    OC_TRY(
        oci_gather_fit(self->working, from, refs, rows, INT64_MAX, self->mem, &n_fit, NULL, err));
    *n_taken = count_whole(sources, n, n_fit, &rows);
    if (*n_taken > 0) {
        return oci_gather(self->working, from, refs, rows, self->head_bytes, self->mem, NULL, out,
                          err);
    }
    *n_taken = 1;
    *out = oci_batch_retain(sources[0]);
    return OC_OK;
}

/* The same with the references made for it. A batch that is alone stays as it is. */
static oc_status copy_first(oci_batch_collector *self, oci_batch *const *sources, int64_t n,
                            oci_batch **out, int64_t *n_taken, oc_error *err)
{
    if (n == 1) {
        *n_taken = 1;
        *out = oci_batch_retain(sources[0]);
        return OC_OK;
    }
    int64_t rows;
    count_whole(sources, n, ROWS_MAX, &rows);
    int64_t refs_bytes = rows * (int64_t)sizeof(oci_row_ref);
    void *refs;
    OC_TRY(oci_mem_alloc(self->mem, refs_bytes, &refs, err));
    fill_refs(sources, n, refs);
    oc_status status = copy_together(self, sources, n, refs, rows, out, n_taken, err);
    oci_mem_free(self->mem, refs, refs_bytes);
    return status;
}

/* Takes `n` of those that wait out, from number `first` on, and puts `batch` in their place unless it
 * is NULL. */
static void replace(oci_batch_collector *self, int64_t first, int64_t n, oci_batch *batch)
{
    oci_batch **at = self->waiting + first;
    for (int64_t i = 0; i < n; i++) {
        oci_batch_release(at[i]);
    }
    if (batch != NULL) {
        *at++ = batch;
        n--;
    }
    memmove(at, at + n, (size_t)(self->n_waiting - first - n - (batch != NULL)) * sizeof *at);
    self->n_waiting -= n;
}

/* Copies together those that wait as they came. */
static oc_status fold(oci_batch_collector *self, oc_error *err)
{
    while (self->n_came > 0) {
        oci_batch *copy;
        int64_t n;
        int64_t first = self->n_waiting - self->n_came;
        OC_TRY(copy_first(self, self->waiting + first, self->n_came, &copy, &n, err));
        self->bytes += copy->slab_bytes;
        replace(self, first, n, copy);
        self->n_came -= n;
    }
    self->bytes -= self->came_bytes;
    self->came_bytes = 0;
    return OC_OK;
}

/* ---- in and out ------------------------------------------------------------------------------ */

static oc_status wait(oci_batch_collector *self, oci_batch *batch, int64_t bytes, oc_error *err)
{
    if (self->n_waiting == self->room) {
        const int64_t each = sizeof *self->waiting;
        int64_t room = self->room == 0 ? 2 * CAME_MAX : 2 * self->room;
        void *waiting;
        OC_TRY(oci_mem_realloc(self->mem, self->waiting, self->room * each, room * each, &waiting,
                               err));
        self->waiting = waiting;
        self->room = room;
    }
    self->waiting[self->n_waiting++] = oci_batch_retain(batch);
    self->n_came++;
    self->rows += batch->length;
    self->bytes += bytes;
    self->came_bytes += bytes;
    return self->n_came < CAME_MAX ? OC_OK : fold(self, err);
}

/* Bytes of a batch in working form, where every string of a view column counts. */
static oc_status measure(oci_batch_collector *self, const oci_batch *batch, int64_t *bytes,
                         oc_error *err)
{
    int64_t n_fit;
    OC_TRY(oci_gather_range_fit(self->working, batch, 0, batch->length, INT64_MAX, self->mem,
                                &n_fit, bytes, err));
    if (n_fit < batch->length) {
        /* More than 32-bit offsets can tell: as if the rest were alike. */
        *bytes = (int64_t)((double)*bytes / (double)n_fit * (double)batch->length);
    }
    return OC_OK;
}

/* Bytes that views do not take because several show the same ones. */
static int64_t shared_bytes(const oci_column *column)
{
    int64_t held = 0;
    int64_t shown = 0;
    for (int32_t i = 0; i < column->n_view_buffers; i++) {
        held += column->view_sizes[i];
    }
    for (int64_t i = column->offset; i < column->offset + column->length; i++) {
        bool is_valid = column->validity == NULL || oci_bit_get(column->validity, i);
        shown += is_valid ? (int32_t)oci_load_le32(column->values + i * (int64_t)sizeof(oci_view))
                          : 0;
    }
    return oci_max64(0, shown - held);
}

/* Rows of a slice of a batch that passes: all, or as many as make blocks of about equal size. */
static int64_t slice_rows(const oci_batch_collector *self, const oci_batch *batch, int64_t bytes)
{
    for (int32_t i = 0; i < self->schema->n_fields; i++) {
        const oci_column *column = &batch->columns[i];
        bytes -= oci_field_layout(column->field) == OCI_LAYOUT_VIEWS ? shared_bytes(column) : 0;
    }
    if (bytes <= 2 * self->block_bytes) {
        return batch->length;
    }
    int64_t slices = bytes / self->block_bytes;
    return (batch->length - 1) / slices + 1;
}

oc_status oci_batch_collector_add(oci_batch_collector *self, oci_batch *batch, int64_t block_bytes,
                                  oc_error *err)
{
    assert(batch->length > 0 && self->large == NULL);
    self->block_bytes = block_bytes;
    int64_t bytes;
    oc_status status = measure(self, batch, &bytes, err);
    if (status != OC_OK) {
        oci_batch_release(batch);
        return status;
    }
    /* Half a block is worth a message of its own. Less is not, and neither is what waits: so more goes
     * with it when it is not too much. */
    int64_t most = self->n_waiting == 0 ? block_bytes / 2 : 2 * block_bytes - self->bytes;
    if (!self->passes_all && bytes <= most && self->rows + batch->length <= ROWS_MAX) {
        status = wait(self, batch, bytes, err);
        oci_batch_release(batch);
        return status;
    }
    self->large = batch;
    self->large_at = 0;
    self->large_rows = slice_rows(self, batch, bytes);
    return OC_OK;
}

static oc_status give_waiting(oci_batch_collector *self, oci_batch **out, oc_error *err)
{
    oci_batch *copy;
    int64_t n;
    OC_TRY(copy_first(self, self->waiting, self->n_waiting, &copy, &n, err));
    self->rows -= copy->length;
    self->bytes = n == self->n_waiting ? 0 : self->bytes;
    replace(self, 0, n, NULL);
    self->n_came = oci_min64(self->n_came, self->n_waiting);
    self->came_bytes = self->n_came == 0 ? 0 : self->came_bytes;
    oc_status status = oci_batch_output(copy, self->schema, self->mem, out, err);
    oci_batch_release(copy);
    return status;
}

/* The next slice of the batch that passes, or all of it. */
static oc_status give_large(oci_batch_collector *self, oci_batch **out, oc_error *err)
{
    oci_batch *large = self->large;
    int64_t start = self->large_at;
    if (self->large_rows == large->length) {
        *out = large;
        self->large = NULL;
        return OC_OK;
    }
    int64_t n = oci_min64(self->large_rows, large->length - start);
    OC_TRY(oci_batch_slice(large, start, n, out, err));
    self->large_at += n;
    if (self->large_at == large->length) {
        oci_batch_release(large);
        self->large = NULL;
    }
    return OC_OK;
}

oc_status oci_batch_collector_next(oci_batch_collector *self, bool all, oci_batch **out,
                                   oc_error *err)
{
    *out = NULL;
    bool is_block = self->bytes >= self->block_bytes || self->rows >= ROWS_MAX / 2;
    if (self->n_waiting > 0 && (all || is_block || self->large != NULL)) {
        return give_waiting(self, out, err);
    }
    return self->large != NULL ? give_large(self, out, err) : OC_OK;
}
