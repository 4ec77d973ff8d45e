/* See group_sets.h. Two streams, the second of which is asked only when the first had no row:
 *
 *     groups of the input
 *     for each empty set: a grouping of no rows, without keys -> null keys, the number of the set, its aggregates
 *
 * The lists of a plan come from malloc: they grow with the number of columns. */
#include "ops/group/group_sets.h"

#include <stdlib.h>

/* ---- one stream or the other ----------------------------------------------------------------- */

typedef struct either_stream {
    oci_stream base; /* must be first */
    oci_stream *first;
    oci_stream *second; /* when the first has no rows */
    bool has_rows;
} either_stream;

static oc_status either_next(oci_stream *stream, oci_batch **out, oc_error *err)
{
    either_stream *self = (either_stream *)stream;
    OC_TRY(oci_stream_next(self->first, out, err));
    self->has_rows = self->has_rows || *out != NULL;
    return self->has_rows ? OC_OK : oci_stream_next(self->second, out, err);
}

static void either_close(oci_stream *stream)
{
    either_stream *self = (either_stream *)stream;
    oci_stream_close(self->first);
    oci_stream_close(self->second);
    oci_schema_release(self->base.schema);
    free(self);
}

static oc_status either_open(oci_stream *first, oci_stream *second, oci_stream **out, oc_error *err)
{
    either_stream *self = calloc(1, sizeof *self);
    if (self == NULL) {
        oci_stream_close(first);
        oci_stream_close(second);
        OC_FAIL(err, OC_ENOMEM, "could not set up a grouping: out of memory");
    }
    self->base = (oci_stream){
        .schema = oci_schema_retain(first->schema), .next = either_next, .close = either_close};
    self->first = first;
    self->second = second;
    *out = &self->base;
    return OC_OK;
}

/* ---- the group of an empty set --------------------------------------------------------------- */

static oc_status null_key(const oci_field *type, oci_expr **out, oc_error *err)
{
    oci_expr *null;
    OC_TRY(oci_expr_null(-1, &null, err));
    return oci_expr_cast(null, type, false, -1, out, err);
}

/* Null keys, the number of the set, then the columns of `rows`. */
static oc_status make_exprs(const oci_schema *grouped, const oci_schema *rows, int32_t n_keys,
                            int32_t set, oci_expr **exprs, oc_error *err)
{
    for (int32_t i = 0; i < grouped->n_fields; i++) {
        oc_status status = i < n_keys - 1 ? null_key(&grouped->fields[i], &exprs[i], err)
                           : i == n_keys - 1
                               ? oci_expr_int(set, -1, &exprs[i], err)
                               : oci_expr_column(rows, i - n_keys, -1, &exprs[i], err);
        OC_TRY(status);
    }
    return OC_OK;
}

/* Takes `rows`. */
static oc_status add_keys(const oci_relational *common, const oci_schema *grouped, int32_t n_keys,
                          int32_t set, oci_stream *rows, oci_stream **out, oc_error *err)
{
    oci_expr **exprs = calloc((size_t)grouped->n_fields + 1, sizeof(oci_expr *));
    oc_status status = exprs == NULL
                           ? OC_SET(err, OC_ENOMEM, "could not set up a grouping: out of memory")
                           : make_exprs(grouped, rows->schema, n_keys, set, exprs, err);
    if (status == OC_OK) {
        status = oci_project_open(common, rows, exprs, (oci_schema *)(uintptr_t)grouped, out, err);
    } else {
        oci_stream_close(rows);
    }
    for (int32_t i = 0; exprs != NULL && i < grouped->n_fields; i++) {
        oci_expr_release(exprs[i]);
    }
    free(exprs);
    return status;
}

static oc_status open_empty_set(const oci_relational *common, oci_spill_manager *manager,
                                oci_schema *input, oci_schema *grouped, const oci_group_plan *plan,
                                int32_t set, oci_stream **out, oc_error *err)
{
    oci_group_plan single = {.aggregates = plan->aggregates, .n_aggregates = plan->n_aggregates};
    oci_stream *rows;
    OC_TRY(oci_values_open(common, NULL, 0, input, &rows, err));
    OC_TRY(oci_group_open(common->env, manager, rows, &single, &rows, err));
    return add_keys(common, grouped, plan->n_keys, set, rows, out, err);
}

static oc_status open_empty_sets(const oci_relational *common, oci_spill_manager *manager,
                                 oci_schema *input, oci_schema *grouped, const oci_group_plan *plan,
                                 const uint64_t *sets, int32_t n_sets, oci_stream **out,
                                 oc_error *err)
{
    oci_stream **streams = calloc((size_t)n_sets + 1, sizeof(oci_stream *));
    if (streams == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up a grouping: out of memory");
    }
    oc_status status = OC_OK;
    int32_t n = 0;
    for (int32_t s = 0; status == OC_OK && s < n_sets; s++) {
        if (sets[s] == 0) {
            status = open_empty_set(common, manager, input, grouped, plan, s, &streams[n], err);
            n += status == OC_OK;
        }
    }
    if (status == OC_OK) {
        status = oci_union_open(common, streams, n, grouped, out, err);
    } else {
        while (n > 0) {
            oci_stream_close(streams[--n]);
        }
    }
    free(streams);
    return status;
}

oc_status oci_group_sets_open(const oci_relational *common, oci_spill_manager *manager,
                              oci_stream *input, const oci_group_plan *plan, const uint64_t *sets,
                              int32_t n_sets, oci_stream **out, oc_error *err)
{
    bool has_empty = false;
    for (int32_t s = 0; s < n_sets; s++) {
        has_empty = has_empty || sets[s] == 0;
    }
    if (!has_empty) {
        return oci_group_open(common->env, manager, input, plan, out, err);
    }
    oci_schema *rows = oci_schema_retain(input->schema);
    oci_stream *groups = NULL, *single;
    oc_status status = oci_group_open(common->env, manager, input, plan, &groups, err);
    if (status == OC_OK) {
        status = open_empty_sets(common, manager, rows, groups->schema, plan, sets, n_sets, &single,
                                 err);
        if (status == OC_OK) {
            status = either_open(groups, single, out, err);
        } else {
            oci_stream_close(groups);
        }
    }
    oci_schema_release(rows);
    return status;
}
