/* The public calls that turn one stream into another: oc_sort, oc_select. Keys and indices come
 * from malloc: a few bytes per column. */
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "ops/sort/sort.h"

/* ---- sort ------------------------------------------------------------------------------------ */

static oc_status resolve_key(const oci_schema *schema, const oc_sort_key *key, oci_sort_key *out,
                             oc_error *err)
{
    int32_t column = key->column_index;
    if (key->column != NULL) {
        OC_TRY(oci_schema_find(schema, key->column, &column, err));
    } else if (column < 0 || column >= schema->n_fields) {
        OC_FAIL(err, OC_EINVAL, "sort key names column %d, but there are %d columns", column + 1,
                schema->n_fields);
    }
    if ((int)key->nulls < 0 || key->nulls > OC_NULLS_LAST) {
        OC_FAIL(err, OC_EINVAL, "sort key for column \"%s\" has an unknown place for nulls: %d",
                schema->fields[column].name, (int)key->nulls);
    }
    bool nulls_first = key->nulls == OC_NULLS_DEFAULT ? key->descending
                                                      : key->nulls == OC_NULLS_FIRST;
    *out =
        (oci_sort_key){.column = column, .descending = key->descending, .nulls_first = nulls_first};
    return OC_OK;
}

static oc_status resolve_keys(const oci_schema *schema, const oc_sort_key *keys, size_t n_keys,
                              oci_sort_key **out, oc_error *err)
{
    if (n_keys > INT32_MAX / sizeof(oci_sort_key)) {
        OC_FAIL(err, OC_EINVAL, "too many sort keys: %zu", n_keys);
    }
    oci_sort_key *resolved = calloc(n_keys + 1, sizeof *resolved);
    if (resolved == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up a sort: out of memory");
    }
    for (size_t i = 0; i < n_keys; i++) {
        oc_status status = resolve_key(schema, &keys[i], &resolved[i], err);
        if (status != OC_OK) {
            free(resolved);
            return status;
        }
    }
    *out = resolved;
    return OC_OK;
}

static oc_status open_sort(oc_context *context, oci_stream *input, const oc_sort_key *keys,
                           size_t n_keys, int64_t limit, oci_stream **out, oc_error *err)
{
    oci_sort_key *resolved;
    oc_status status = resolve_keys(input->schema, keys, n_keys, &resolved, err);
    if (status != OC_OK) {
        oci_stream_close(input);
        return status;
    }
    status = oci_sort_open(&context->env, context->spill, input, resolved, (int32_t)n_keys, limit,
                           out, err);
    free(resolved);
    return status;
}

oc_status oc_sort(oc_context *context, struct ArrowArrayStream *input, const oc_sort_key *keys,
                  size_t n_keys, const oc_sort_options *options, struct ArrowArrayStream *output,
                  oc_error *error)
{
    output->release = NULL;
    oci_stream *stream;
    OC_TRY(oci_stream_import(input, &stream, error));
    oc_sort_options given = OC_SORT_OPTIONS_INIT;
    oc_status status = OC_OK;
    if (options != NULL) {
        status = oci_copy_options(&given, options, options->struct_size, sizeof given,
                                  "sort options", error);
    }
    if (status == OC_OK && given.has_limit && given.limit < 0) {
        status = OC_SET(error, OC_EINVAL, "limit must not be negative: %" PRId64, given.limit);
    }
    if (status != OC_OK) {
        oci_stream_close(stream);
        return status;
    }
    /* The result has the input's types, views included, whatever form the rows are sorted in. */
    oci_schema *announced = oci_schema_retain(stream->schema);
    oci_stream *sorted;
    status = open_sort(context, stream, keys, n_keys, given.has_limit ? given.limit : -1, &sorted,
                       error);
    if (status == OC_OK) {
        status = oci_context_export(context, sorted, announced, output, error);
    }
    oci_schema_release(announced);
    return status;
}

/* ---- select ---------------------------------------------------------------------------------- */

typedef struct select_stream {
    oci_stream base; /* must be first */
    oci_stream *input;
    int32_t *indices;
} select_stream;

static oc_status select_next(oci_stream *stream, oci_batch **out, oc_error *err)
{
    select_stream *self = (select_stream *)stream;
    oci_batch *batch;
    *out = NULL;
    OC_TRY(oci_stream_next(self->input, &batch, err));
    if (batch == NULL) {
        return OC_OK;
    }
    oc_status status = oci_batch_select(batch, self->base.schema, self->indices, out, err);
    oci_batch_release(batch);
    return status;
}

static void select_close(oci_stream *stream)
{
    select_stream *self = (select_stream *)stream;
    oci_stream_close(self->input);
    oci_schema_release(self->base.schema);
    free(self->indices);
    free(self);
}

static oc_status find_columns(select_stream *self, const char *const *columns, size_t n_columns,
                              oc_error *err)
{
    for (size_t i = 0; i < n_columns; i++) {
        OC_TRY(oci_schema_find(self->input->schema, columns[i], &self->indices[i], err));
    }
    return oci_schema_select(self->input->schema, self->indices, (int32_t)n_columns,
                             &self->base.schema, err);
}

oc_status oc_select(oc_context *context, struct ArrowArrayStream *input, const char *const *columns,
                    size_t n_columns, struct ArrowArrayStream *output, oc_error *error)
{
    output->release = NULL;
    oci_stream *stream;
    OC_TRY(oci_stream_import(input, &stream, error));
    select_stream *self = calloc(1, sizeof *self);
    int32_t *indices = calloc(n_columns + 1, sizeof *indices);
    if (self == NULL || indices == NULL) {
        free(self);
        free(indices);
        oci_stream_close(stream);
        OC_FAIL(error, OC_ENOMEM, "could not select columns: out of memory");
    }
    *self = (select_stream){
        .base = {.next = select_next, .close = select_close}, .input = stream, .indices = indices};
    oc_status status = find_columns(self, columns, n_columns, error);
    if (status != OC_OK) {
        select_close(&self->base);
        return status;
    }
    return oci_context_export(context, &self->base, self->base.schema, output, error);
}
