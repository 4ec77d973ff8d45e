/* The public calls that group: oc_group, oc_distinct. Lists come from malloc: a few bytes per key and aggregate. */
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "ops/group/group.h"
#include "ops/relational/relational.h"

/* A request with names resolved. */
typedef struct request {
    int32_t *keys;
    oci_aggregate *aggregates;
    size_t n_aggregates; /* whose order is to be freed */
} request;

static void free_request(request *r)
{
    for (size_t i = 0; i < r->n_aggregates; i++) {
        free((void *)(uintptr_t)r->aggregates[i].order);
    }
    free(r->keys);
    free(r->aggregates);
}

static oc_status resolve_order(const oci_schema *schema, const oc_aggregate *given,
                               oci_aggregate *out, oc_error *err)
{
    oci_sort_key *keys = calloc(given->n_order + 1, sizeof *keys);
    if (keys == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up a grouping: out of memory");
    }
    out->order = keys;
    for (size_t i = 0; i < given->n_order; i++) {
        const oc_sort_key *key = &given->order[i];
        keys[i].column = key->column_index;
        if (key->column != NULL) {
            OC_TRY(oci_schema_find(schema, key->column, &keys[i].column, err));
        } else if (key->column_index < 0 || key->column_index >= schema->n_fields) {
            OC_FAIL(err, OC_EINVAL,
                    "an aggregate is ordered by column %d, but there are %d columns",
                    key->column_index + 1, schema->n_fields);
        }
        keys[i].descending = key->descending;
        keys[i].nulls_first = key->nulls == OC_NULLS_DEFAULT ? key->descending
                                                             : key->nulls == OC_NULLS_FIRST;
        out->n_order = (int32_t)i + 1;
    }
    return oci_row_key_check(schema, keys, out->n_order, err);
}

static oc_status add_argument(const oci_schema *schema, const char *column, oci_aggregate *out,
                              oc_error *err)
{
    if (column == NULL) {
        return OC_OK;
    }
    OC_TRY(oci_schema_find(schema, column, &out->args[out->n_args], err));
    out->n_args++;
    return OC_OK;
}

static oc_status resolve_aggregate(const oci_schema *schema, const oc_aggregate *given,
                                   oci_aggregate *out, oc_error *err)
{
    oc_aggregate all = OC_AGGREGATE_INIT;
    OC_TRY(oci_copy_options(&all, given, given->struct_size, sizeof all, "an aggregate", err));
    if (all.function == NULL || !oci_aggregate_find(all.function, &out->kind)) {
        OC_FAIL(err, OC_EINVAL, "there is no aggregate function \"%s\"",
                all.function != NULL ? all.function : "");
    }
    bool counts_rows = out->kind == OCI_AGG_COUNT && all.column == NULL;
    out->kind = counts_rows ? OCI_AGG_COUNT_STAR : out->kind;
    out->filter = -1;
    out->distinct = all.distinct && !counts_rows;
    out->fraction = strcmp(all.function, "median") == 0 ? 0.5 : all.fraction;
    out->separator = (const uint8_t *)all.separator;
    out->separator_length = all.separator == NULL ? 0 : (int64_t)strlen(all.separator);
    out->name = all.name != NULL ? all.name : all.function;
    if (!(out->fraction >= 0 && out->fraction <= 1)) {
        OC_FAIL(err, OC_EINVAL, "a fraction must be between 0 and 1");
    }
    OC_TRY(add_argument(schema, all.column, out, err));
    OC_TRY(add_argument(schema, all.second_column, out, err));
    if (all.filter != NULL) {
        OC_TRY(oci_schema_find(schema, all.filter, &out->filter, err));
        if (schema->fields[out->filter].type != OCI_TYPE_BOOL) {
            OC_FAIL(err, OC_EINVAL, "filter \"%s\" is no bool column", all.filter);
        }
    }
    return resolve_order(schema, &all, out, err);
}

static oc_status resolve(const oci_schema *schema, const char *const *keys, size_t n_keys,
                         const oc_aggregate *aggregates, size_t n_aggregates, request *out,
                         oc_error *err)
{
    *out = (request){.keys = calloc(n_keys + 1, sizeof *out->keys),
                     .aggregates = calloc(n_aggregates + 1, sizeof *out->aggregates)};
    if (out->keys == NULL || out->aggregates == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up a grouping: out of memory");
    }
    for (size_t i = 0; i < n_keys; i++) {
        OC_TRY(oci_schema_find(schema, keys[i], &out->keys[i], err));
    }
    for (size_t i = 0; i < n_aggregates; i++) {
        out->n_aggregates = i + 1;
        OC_TRY(resolve_aggregate(schema, &aggregates[i], &out->aggregates[i], err));
    }
    return OC_OK;
}

/* Takes the stream, also on failure. */
static oc_status group(oc_context *context, oci_stream *stream, const oci_group_plan *plan,
                       struct ArrowArrayStream *output, oc_error *err)
{
    oci_relational common = {.env = &context->env, .mem = context->scan};
    oci_stream *grouped;
    OC_TRY(oci_working_open(&common, stream, &stream, err));
    OC_TRY(oci_group_open(&context->env, context->spill, stream, plan, &grouped, err));
    return oci_context_export(context, grouped, grouped->schema, output, err);
}

oc_status oc_group(oc_context *context, struct ArrowArrayStream *input, const char *const *keys,
                   size_t n_keys, const oc_aggregate *aggregates, size_t n_aggregates,
                   struct ArrowArrayStream *output, oc_error *error)
{
    output->release = NULL;
    oci_stream *stream;
    request resolved;
    OC_TRY(oci_stream_import(input, &stream, error));
    oc_status status =
        resolve(stream->schema, keys, n_keys, aggregates, n_aggregates, &resolved, error);
    if (status == OC_OK) {
        oci_group_plan plan = {.keys = resolved.keys,
                               .n_keys = (int32_t)n_keys,
                               .aggregates = resolved.aggregates,
                               .n_aggregates = (int32_t)n_aggregates};
        status = group(context, stream, &plan, output, error);
    } else {
        oci_stream_close(stream);
    }
    free_request(&resolved);
    return status;
}

oc_status oc_distinct(oc_context *context, struct ArrowArrayStream *input,
                      const char *const *columns, size_t n_columns, struct ArrowArrayStream *output,
                      oc_error *error)
{
    output->release = NULL;
    oci_stream *stream;
    OC_TRY(oci_stream_import(input, &stream, error));
    size_t n = n_columns > 0 ? n_columns : (size_t)stream->schema->n_fields;
    int32_t *keys = calloc(n + 1, sizeof *keys);
    oc_status status = keys == NULL
                           ? OC_SET(error, OC_ENOMEM, "could not set up a grouping: out of memory")
                           : OC_OK;
    for (size_t i = 0; status == OC_OK && i < n; i++) {
        keys[i] = (int32_t)i;
        if (n_columns > 0) {
            status = oci_schema_find(stream->schema, columns[i], &keys[i], error);
        }
    }
    if (status == OC_OK) {
        oci_group_plan plan = {.keys = keys, .n_keys = (int32_t)n};
        status = group(context, stream, &plan, output, error);
    } else {
        oci_stream_close(stream);
    }
    free(keys);
    return status;
}
