/* Operators on the sequence of batches: limit, union, grouping sets. Structs come from malloc, one per operator. */
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "ops/relational/relational.h"

/* ---- limit ----------------------------------------------------------------------------------- */

typedef struct limit_stream {
    oci_stream base; /* must be first */
    const oci_env *env;
    oci_stream *input; /* NULL when enough was read */
    int64_t skip;
    int64_t left; /* -1 = all */
} limit_stream;

static void end_input(limit_stream *self)
{
    oci_stream_close(self->input);
    self->input = NULL;
}

static oc_status limit_next(oci_stream *stream, oci_batch **out, oc_error *err)
{
    limit_stream *self = (limit_stream *)stream;
    *out = NULL;
    while (self->input != NULL && self->left != 0) {
        oci_batch *batch;
        OC_TRY(oci_env_tick(self->env, err));
        OC_TRY(oci_stream_next(self->input, &batch, err));
        if (batch == NULL) {
            break;
        }
        int64_t start = oci_min64(self->skip, batch->length);
        int64_t n = batch->length - start;
        n = self->left >= 0 ? oci_min64(n, self->left) : n;
        self->skip -= start;
        self->left -= self->left >= 0 ? n : 0;
        if (n == batch->length) {
            *out = batch;
        } else {
            oc_status status = n > 0 ? oci_batch_slice(batch, start, n, out, err) : OC_OK;
            oci_batch_release(batch);
            OC_TRY(status);
        }
        if (n > 0) {
            break;
        }
    }
    if (self->left == 0 || *out == NULL) {
        end_input(self); /* what it holds is of use to others now */
    }
    return OC_OK;
}

static void limit_close(oci_stream *stream)
{
    limit_stream *self = (limit_stream *)stream;
    end_input(self);
    oci_schema_release(self->base.schema);
    free(self);
}

oc_status oci_limit_open(const oci_relational *common, oci_stream *input, int64_t offset,
                         int64_t limit, oci_stream **out, oc_error *err)
{
    limit_stream *self = calloc(1, sizeof *self);
    if (self == NULL) {
        oci_stream_close(input);
        OC_FAIL(err, OC_ENOMEM, "could not set up an operator: out of memory");
    }
    self->base = (oci_stream){
        .schema = oci_schema_retain(input->schema), .next = limit_next, .close = limit_close};
    self->env = common->env;
    self->input = input;
    self->skip = offset;
    self->left = limit;
    *out = &self->base;
    return OC_OK;
}

/* ---- union ----------------------------------------------------------------------------------- */

typedef struct union_stream {
    oci_stream base; /* must be first */
    const oci_env *env;
    oci_stream **inputs; /* NULL where closed */
    int32_t n;
    int32_t at;
} union_stream;

/* Columns under the labels of the whole. */
static oc_status relabel(oci_schema *schema, oci_batch *batch, oci_batch **out, oc_error *err)
{
    oci_column *columns = calloc((size_t)schema->n_fields + 1, sizeof *columns);
    if (columns == NULL) {
        oci_batch_release(batch);
        OC_FAIL(err, OC_ENOMEM, "could not pass a batch on: out of memory");
    }
    for (int32_t i = 0; i < schema->n_fields; i++) {
        columns[i] = batch->columns[i];
        columns[i].field = &schema->fields[i];
    }
    oc_status status =
        oci_batch_adopt(schema, batch->length, columns, NULL, NULL, 0, NULL, 0, out, err);
    if (status != OC_OK) {
        oci_batch_release(batch);
        return status;
    }
    return oci_batch_keep(*out, batch, err);
}

static oc_status union_next(oci_stream *stream, oci_batch **out, oc_error *err)
{
    union_stream *self = (union_stream *)stream;
    *out = NULL;
    while (self->at < self->n) {
        oci_batch *batch;
        OC_TRY(oci_env_tick(self->env, err));
        OC_TRY(oci_stream_next(self->inputs[self->at], &batch, err));
        if (batch != NULL) {
            return relabel(self->base.schema, batch, out, err);
        }
        oci_stream_close(self->inputs[self->at]);
        self->inputs[self->at++] = NULL;
    }
    return OC_OK;
}

static void union_close(oci_stream *stream)
{
    union_stream *self = (union_stream *)stream;
    for (int32_t i = 0; i < self->n; i++) {
        oci_stream_close(self->inputs[i]);
    }
    oci_schema_release(self->base.schema);
    free(self->inputs);
    free(self);
}

oc_status oci_union_open(const oci_relational *common, oci_stream *const *inputs, int32_t n,
                         oci_schema *schema, oci_stream **out, oc_error *err)
{
    union_stream *self = calloc(1, sizeof *self);
    oci_stream **list = calloc((size_t)n + 1, sizeof(oci_stream *));
    if (self == NULL || list == NULL) {
        free(self);
        free(list);
        for (int32_t i = 0; i < n; i++) {
            oci_stream_close(inputs[i]);
        }
        OC_FAIL(err, OC_ENOMEM, "could not set up an operator: out of memory");
    }
    memcpy(list, inputs, (size_t)n * sizeof(oci_stream *));
    self->base =
        (oci_stream){.schema = oci_schema_retain(schema), .next = union_next, .close = union_close};
    self->env = common->env;
    self->inputs = list;
    self->n = n;
    *out = &self->base;
    return OC_OK;
}

/* ---- grouping sets --------------------------------------------------------------------------- */

typedef struct sets_stream {
    oci_stream base; /* must be first */
    oci_relational common;
    oci_stream *input;
    uint64_t *sets;
    int32_t n_sets;
    int32_t n_keys;
    oci_batch *batch; /* at hand, for set number `at` */
    int32_t at;
} sets_stream;

/* The same rows with keys outside of the set null, and the number of the set. One block holds the bits of no row and
 * the numbers. */
static oc_status make_set(sets_stream *self, oci_batch **out, oc_error *err)
{
    const oci_schema *schema = self->base.schema;
    oci_batch *from = self->batch;
    int64_t n = from->length;
    uint64_t set = self->sets[self->at];
    oci_column *columns = calloc((size_t)schema->n_fields + 1, sizeof *columns);
    if (columns == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not make a grouping set: out of memory");
    }
    int64_t most = 0; /* bits of no row serve every column, wherever it begins */
    for (int32_t i = 0; i < self->n_keys; i++) {
        most = oci_max64(most, from->columns[i].offset);
    }
    int64_t bitmap = oci_round_up(oci_bytes_for_bits(most + n), 8);
    int64_t bytes = bitmap + oci_round_up(n * 4, 8) + 8;
    void *block;
    oc_status status = oci_mem_alloc(self->common.mem, bytes, &block, err);
    if (status != OC_OK) {
        free(columns);
        return status;
    }
    memset(block, 0, (size_t)bitmap);
    uint8_t *numbers = (uint8_t *)block + bitmap;
    for (int64_t i = 0; i < n; i++) {
        oci_store_le32(numbers + i * 4, (uint32_t)self->at);
    }
    int32_t last = schema->n_fields - 1;
    for (int32_t i = 0; i < last; i++) {
        columns[i] = from->columns[i];
        columns[i].field = &schema->fields[i];
        if (i < self->n_keys && (set >> i & 1) == 0 && columns[i].field->type != OCI_TYPE_NULL) {
            columns[i].validity = block;
            columns[i].null_count = n;
        }
    }
    columns[last] = (oci_column){.field = &schema->fields[last], .length = n, .values = numbers};
    OC_TRY(oci_batch_adopt(self->base.schema, n, columns, self->common.mem, block, bytes, NULL, 0,
                           out, err));
    status = oci_batch_keep(*out, oci_batch_retain(from), err);
    if (status != OC_OK) {
        oci_batch_release(*out);
        *out = NULL;
    }
    return status;
}

static oc_status sets_next(oci_stream *stream, oci_batch **out, oc_error *err)
{
    sets_stream *self = (sets_stream *)stream;
    *out = NULL;
    if (self->batch == NULL) {
        OC_TRY(oci_env_tick(self->common.env, err));
        OC_TRY(oci_stream_next(self->input, &self->batch, err));
        self->at = 0;
        if (self->batch == NULL) {
            return OC_OK;
        }
    }
    OC_TRY(make_set(self, out, err));
    if (++self->at == self->n_sets) {
        oci_batch_release(self->batch);
        self->batch = NULL;
    }
    return OC_OK;
}

static void sets_close(oci_stream *stream)
{
    sets_stream *self = (sets_stream *)stream;
    oci_batch_release(self->batch);
    oci_stream_close(self->input);
    oci_schema_release(self->base.schema);
    free(self->sets);
    free(self);
}

oc_status oci_sets_open(const oci_relational *common, oci_stream *input, const uint64_t *sets,
                        int32_t n_sets, int32_t n_keys, oci_schema *schema, oci_stream **out,
                        oc_error *err)
{
    sets_stream *self = calloc(1, sizeof *self);
    uint64_t *copy = calloc((size_t)n_sets + 1, sizeof *copy);
    if (self == NULL || copy == NULL) {
        free(self);
        free(copy);
        oci_stream_close(input);
        OC_FAIL(err, OC_ENOMEM, "could not set up an operator: out of memory");
    }
    memcpy(copy, sets, (size_t)n_sets * sizeof *copy);
    self->base =
        (oci_stream){.schema = oci_schema_retain(schema), .next = sets_next, .close = sets_close};
    self->common = *common;
    self->input = input;
    self->sets = copy;
    self->n_sets = n_sets;
    self->n_keys = n_keys;
    *out = &self->base;
    return OC_OK;
}
