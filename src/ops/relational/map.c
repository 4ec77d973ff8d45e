/* Operators that make one batch of one: working form, filter, project. The rows of an input batch that memory was
 * refused for wait as a slice, and are tried again in halves; what came out much larger than a small part of the limit
 * (repeat(t, 100)) is made again of fewer rows, and of as few from then on. Structs come from malloc, one per
 * operator. */
#include <stdlib.h>
#include <string.h>

#include "arrow/gather.h"
#include "base/bits.h"
#include "ops/relational/relational.h"

/* A batch takes about this part of the limit at most. */
#define MADE_SHARE     16
#define MADE_BYTES_MIN 16384

typedef struct map_stream map_stream;
struct map_stream {
    oci_stream base; /* must be first */
    oci_relational common;
    oci_stream *input;
    /* Makes a batch of a batch (borrowed); *out NULL: no row is left. */
    oc_status (*make)(map_stream *self, oci_batch *batch, oci_batch **out, oc_error *err);
    oci_batch *rest; /* rows of an input batch that are still to be done */
    int64_t rest_at;
    int64_t rest_step; /* how many at once */
    int64_t rows_max;  /* of a batch, by the size of rows so far */
    oci_expr **exprs;
    int32_t n_exprs;
};

static void map_close(oci_stream *stream)
{
    map_stream *self = (map_stream *)stream;
    oci_batch_release(self->rest);
    oci_stream_close(self->input);
    for (int32_t i = 0; i < self->n_exprs; i++) {
        oci_expr_release(self->exprs[i]);
    }
    free(self->exprs);
    oci_schema_release(self->base.schema);
    free(self);
}

/* What a batch takes besides the one that it was made of. */
static int64_t made_bytes(const oci_batch *made, const oci_batch *of)
{
    if (made == NULL || made == of) {
        return 0;
    }
    int64_t bytes = made->bytes;
    for (int32_t i = 0; i < made->n_kept; i++) {
        bytes += made->kept[i] != of ? oci_batch_held_bytes(made->kept[i], NULL) : 0;
    }
    return bytes;
}

/* Whether what was made of n rows is too much at once. */
static bool is_too_large(map_stream *self, const oci_batch *made, const oci_batch *of, int64_t n)
{
    int64_t part = oci_budget_limit(self->common.env->budget) / MADE_SHARE;
    int64_t most = oci_max64(part, MADE_BYTES_MIN);
    int64_t bytes = made_bytes(made, of);
    if (bytes <= most) {
        self->rows_max = bytes < most / 4 && n == self->rows_max ? 2 * n : self->rows_max;
        self->rows_max = oci_min64(self->rows_max, OCI_GATHER_ROWS_MAX);
        return false;
    }
    self->rows_max = oci_max64(1, (int64_t)((double)n * (double)most / (double)bytes));
    return n > 1 && bytes > 2 * most;
}

/* The next rows of `rest`. */
static oc_status make_piece(map_stream *self, oci_batch **out, oc_error *err)
{
    oci_batch *piece;
    int64_t n = oci_min64(self->rest_step, self->rest->length - self->rest_at);
    OC_TRY(oci_batch_slice(self->rest, self->rest_at, n, &piece, err));
    oc_status status = self->make(self, piece, out, err);
    bool again = status == OC_OK && is_too_large(self, *out, piece, n);
    oci_batch_release(piece);
    if (again) {
        oci_batch_release(*out);
        *out = NULL;
        self->rest_step = self->rows_max;
        return OC_OK;
    }
    if (status == OC_EBUDGET && n > 1) {
        self->rest_step = n / 2;
        return OC_OK;
    }
    OC_TRY(status);
    self->rest_at += n;
    if (self->rest_at == self->rest->length) {
        oci_batch_release(self->rest);
        self->rest = NULL;
    }
    return OC_OK;
}

static oc_status map_next(oci_stream *stream, oci_batch **out, oc_error *err)
{
    map_stream *self = (map_stream *)stream;
    *out = NULL;
    while (*out == NULL) {
        if (self->rest == NULL) {
            OC_TRY(oci_env_tick(self->common.env, err));
            OC_TRY(oci_stream_next(self->input, &self->rest, err));
            if (self->rest == NULL) {
                return OC_OK;
            }
            self->rest_at = 0;
            self->rest_step = oci_min64(oci_max64(1, self->rest->length), self->rows_max);
            if (self->rest->length == 0) {
                oci_batch_release(self->rest);
                self->rest = NULL;
                continue;
            }
        }
        OC_TRY(make_piece(self, out, err));
    }
    return OC_OK;
}

/* Takes input; retains schema. */
static oc_status map_open(const oci_relational *common, oci_stream *input, oci_schema *schema,
                          map_stream **out, oc_error *err)
{
    map_stream *self = calloc(1, sizeof *self);
    if (self == NULL) {
        oci_stream_close(input);
        OC_FAIL(err, OC_ENOMEM, "could not set up an operator: out of memory");
    }
    self->base =
        (oci_stream){.schema = oci_schema_retain(schema), .next = map_next, .close = map_close};
    self->common = *common;
    self->input = input;
    self->rows_max = OCI_GATHER_ROWS_MAX;
    *out = self;
    return OC_OK;
}

static oc_status copy_exprs(map_stream *self, oci_expr *const *exprs, int32_t n, oc_error *err)
{
    self->exprs = calloc((size_t)n + 1, sizeof(oci_expr *));
    if (self->exprs == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up an operator: out of memory");
    }
    for (int32_t i = 0; i < n; i++) {
        self->exprs[i] = oci_expr_retain(exprs[i]);
    }
    self->n_exprs = n;
    return OC_OK;
}

static oci_eval_context eval_context(const map_stream *self)
{
    return (oci_eval_context){
        .mem = self->common.mem, .now_us = self->common.now_us, .cancel = self->common.env->cancel};
}

/* ---- working form ---------------------------------------------------------------------------- */

static oc_status make_working(map_stream *self, oci_batch *batch, oci_batch **out, oc_error *err)
{
    return oci_gather_range(self->base.schema, batch, 0, batch->length, 0, self->common.mem, NULL,
                            out, err);
}

static bool same_types(const oci_schema *a, const oci_schema *b)
{
    for (int32_t i = 0; i < a->n_fields; i++) {
        if (!oci_field_same_type(&a->fields[i], &b->fields[i])) {
            return false;
        }
    }
    return true;
}

oc_status oci_working_open(const oci_relational *common, oci_stream *input, oci_stream **out,
                           oc_error *err)
{
    oci_schema *working;
    map_stream *self = NULL;
    oc_status status = oci_schema_working(input->schema, &working, err);
    if (status != OC_OK) {
        oci_stream_close(input);
        return status;
    }
    if (same_types(working, input->schema)) {
        oci_schema_release(working);
        *out = input;
        return OC_OK;
    }
    status = map_open(common, input, working, &self, err);
    oci_schema_release(working);
    OC_TRY(status);
    self->make = make_working;
    *out = &self->base;
    return OC_OK;
}

/* ---- filter ---------------------------------------------------------------------------------- */

/* The rows of a batch that are listed, as a batch: itself when all are. */
static oc_status take_rows(map_stream *self, oci_batch *batch, const int64_t *rows, int64_t n,
                           oci_batch **out, oc_error *err)
{
    if (n == batch->length) {
        *out = oci_batch_retain(batch);
        return OC_OK;
    }
    if (n == 0) {
        return OC_OK;
    }
    void *block;
    int64_t bytes = n * (int64_t)sizeof(oci_row_ref);
    OC_TRY(oci_mem_alloc(self->common.mem, bytes, &block, err));
    oci_row_ref *refs = block;
    for (int64_t i = 0; i < n; i++) {
        refs[i] = (oci_row_ref){0, (uint32_t)rows[i]};
    }
    const oci_batch *sources[1] = {batch};
    oc_status status =
        oci_gather(self->base.schema, sources, refs, n, 0, self->common.mem, NULL, out, err);
    oci_mem_free(self->common.mem, block, bytes);
    return status;
}

static oc_status make_filtered(map_stream *self, oci_batch *batch, oci_batch **out, oc_error *err)
{
    oci_eval_context context = eval_context(self);
    void *rows;
    int64_t n;
    int64_t bytes = oci_max64(8, batch->length * (int64_t)sizeof(int64_t));
    OC_TRY(oci_mem_alloc(self->common.mem, bytes, &rows, err));
    oc_status status = oci_expr_filter(&context, self->exprs[0], batch, rows, &n, err);
    if (status == OC_OK) {
        status = take_rows(self, batch, rows, n, out, err);
    }
    oci_mem_free(self->common.mem, rows, bytes);
    return status;
}

oc_status oci_filter_open(const oci_relational *common, oci_stream *input, oci_expr *condition,
                          oci_stream **out, oc_error *err)
{
    map_stream *self = NULL;
    OC_TRY(map_open(common, input, input->schema, &self, err));
    self->make = make_filtered;
    oc_status status = copy_exprs(self, &condition, 1, err);
    if (status != OC_OK) {
        map_close(&self->base);
        return status;
    }
    *out = &self->base;
    return OC_OK;
}

/* ---- project --------------------------------------------------------------------------------- */

static oc_status make_projected(map_stream *self, oci_batch *batch, oci_batch **out, oc_error *err)
{
    oci_eval_context context = eval_context(self);
    return oci_expr_project(&context, self->exprs, self->base.schema, batch, out, err);
}

oc_status oci_project_open(const oci_relational *common, oci_stream *input, oci_expr *const *exprs,
                           oci_schema *schema, oci_stream **out, oc_error *err)
{
    map_stream *self = NULL;
    OC_TRY(map_open(common, input, schema, &self, err));
    self->make = make_projected;
    oc_status status = copy_exprs(self, exprs, schema->n_fields, err);
    if (status != OC_OK) {
        map_close(&self->base);
        return status;
    }
    *out = &self->base;
    return OC_OK;
}
