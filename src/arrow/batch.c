/* Batches: how long their memory lives, slices, selections.
 *
 *      slab (budget)            ArrowArray (somebody else's)
 *            ^                          ^
 *            |  adopt                   |  import
 *       oci_batch  <────── parent ── oci_batch (slice, selection, other names)
 *
 * A batch that shares memory keeps the batch that owns it alive: the owner itself and not another
 * slice, so that chains do not grow. What was made of a batch for output, or got other names, owns
 * something and has a parent. A slice moves only the outermost offsets; what lies below a column
 * (children, dictionaries) is shared by pointer, or copied as structs where names may differ. The
 * structs come from malloc: they are small beside the rows. The slab is charged to its account
 * until the last reference is gone. */
#include "arrow/batch.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/c_data.h"

oci_batch *oci_batch_retain(oci_batch *batch)
{
    int32_t before = atomic_fetch_add_explicit(&batch->references, 1, memory_order_relaxed);
    assert(before > 0);
    (void)before;
    return batch;
}

void oci_batch_release(oci_batch *batch)
{
    if (batch == NULL) {
        return;
    }
    int32_t before = atomic_fetch_sub_explicit(&batch->references, 1, memory_order_acq_rel);
    assert(before > 0);
    if (before > 1) {
        return;
    }
    if (batch->slab != NULL) {
        oci_mem_free(batch->mem, batch->slab, batch->slab_bytes);
    }
    if (batch->import != NULL) {
        batch->import->release(batch->import);
        free(batch->import);
    }
    oci_batch_release(batch->parent);
    for (int32_t i = 0; i < batch->n_kept; i++) {
        oci_batch_release(batch->kept[i]);
    }
    free(batch->kept);
    oci_schema_release(batch->schema);
    free(batch->extra);
    free(batch->columns);
    free(batch);
}

oc_status oci_batch_adopt(oci_schema *schema, int64_t length, oci_column *columns, oci_mem *mem,
                          void *slab, int64_t slab_bytes, void *extra, int64_t extra_bytes,
                          oci_batch **out, oc_error *err)
{
    assert(length >= 0);
    assert(slab == NULL || mem != NULL);
    *out = NULL;
    oci_batch *batch = calloc(1, sizeof *batch);
    if (batch == NULL) {
        if (slab != NULL) {
            oci_mem_free(mem, slab, slab_bytes);
        }
        free(extra);
        free(columns);
        OC_FAIL(err, OC_ENOMEM, "out of memory while making a batch");
    }
    batch->schema = oci_schema_retain(schema);
    batch->length = length;
    batch->columns = columns;
    batch->bytes = slab != NULL ? oci_mem_charge_of(slab_bytes) : 0;
    batch->body_bytes = -1; /* a maker that knows better sets it */
    atomic_init(&batch->references, 1);
    batch->mem = mem;
    batch->slab = slab;
    batch->slab_bytes = slab_bytes;
    batch->extra = extra;
    batch->extra_bytes = extra_bytes;
    *out = batch;
    return OC_OK;
}

oc_status oci_batch_without_columns(int64_t length, oci_mem *mem, void *slab, int64_t slab_bytes,
                                    oci_batch **out, oc_error *err)
{
    oci_field *fields = calloc(1, sizeof *fields);
    oci_column *columns = calloc(1, sizeof *columns);
    oci_schema *schema = NULL;
    oc_status status = OC_OK;
    if (fields == NULL || columns == NULL) {
        free(fields);
        status = OC_SET(err, OC_ENOMEM, "could not make a batch: out of memory");
    } else {
        status = oci_schema_create(fields, 0, NULL, 0, &schema, err);
    }
    if (status != OC_OK) {
        free(columns);
        if (slab != NULL) {
            oci_mem_free(mem, slab, slab_bytes);
        }
        return status;
    }
    status = oci_batch_adopt(schema, length, columns, mem, slab, slab_bytes, NULL, 0, out, err);
    oci_schema_release(schema);
    return status;
}

oc_status oci_batch_keep(oci_batch *batch, oci_batch *kept, oc_error *err)
{
    int32_t n = batch->n_kept;
    if ((n & (n - 1)) == 0) { /* full: there is room for the next power of two */
        oci_batch **list = malloc((n == 0 ? 1 : 2 * (size_t)n) * sizeof *list);
        if (list == NULL) {
            oci_batch_release(kept);
            OC_FAIL(err, OC_ENOMEM, "out of memory while making a batch");
        }
        for (int32_t i = 0; i < n; i++) {
            list[i] = batch->kept[i];
        }
        free(batch->kept);
        batch->kept = list;
    }
    batch->kept[batch->n_kept++] = kept;
    return OC_OK;
}

int64_t oci_batch_held_bytes(const oci_batch *batch, const oci_batch *before)
{
    int64_t bytes = batch->bytes;
    if (batch->parent != NULL && (before == NULL || batch->parent != before->parent)) {
        bytes += oci_batch_held_bytes(batch->parent, NULL);
    }
    for (int32_t i = 0; i < batch->n_kept; i++) {
        const oci_batch *same = before != NULL && i < before->n_kept ? before->kept[i] : NULL;
        if (batch->kept[i] != same) {
            bytes += oci_batch_held_bytes(batch->kept[i], same);
        }
    }
    return bytes;
}

/* How many columns lie below one. */
static int64_t count_below(const oci_field *field)
{
    int64_t n = 0;
    if (field->dictionary != NULL) {
        n += 1 + count_below(field->dictionary);
    }
    for (int32_t i = 0; i < field->n_children; i++) {
        n += 1 + count_below(&field->children[i]);
    }
    return n;
}

void oci_column_share(const oci_column *column, const oci_field *field, oci_column *out,
                      oci_column **space)
{
    *out = *column;
    out->field = field;
    if (field->dictionary != NULL) {
        oci_column *values = (*space)++;
        out->dictionary = values;
        oci_column_share(column->dictionary, field->dictionary, values, space);
    }
    if (field->n_children > 0) {
        oci_column *children = *space;
        out->children = children;
        *space += field->n_children;
        for (int32_t i = 0; i < field->n_children; i++) {
            oci_column_share(&column->children[i], &field->children[i], &children[i], space);
        }
    }
}

/* Who must stay for the columns of a batch to stay: the batch, or the one it is all a view of. */
static oci_batch *owner_of(oci_batch *batch)
{
    bool is_view = batch->parent != NULL && batch->slab == NULL && batch->import == NULL &&
                   batch->extra == NULL && batch->n_kept == 0;
    return is_view ? batch->parent : batch;
}

oc_status oci_batch_share(oci_batch *source, oci_schema *schema, const int32_t *indices,
                          oci_batch **out, oc_error *err)
{
    *out = NULL;
    /* Fields of one schema: what lies below the columns can be shared as it is. */
    bool is_relabelled = schema != source->schema;
    int64_t n_below = 0;
    for (int32_t i = 0; i < schema->n_fields && is_relabelled; i++) {
        n_below += count_below(&schema->fields[i]);
    }
    int64_t extra_bytes = n_below * (int64_t)sizeof(oci_column);
    /* One more than needed: calloc of nothing may give NULL. */
    oci_column *columns = calloc((size_t)schema->n_fields + 1, sizeof *columns);
    oci_column *extra = n_below > 0 ? malloc((size_t)extra_bytes) : NULL;
    oci_column *space = extra;
    if (columns == NULL || (n_below > 0 && extra == NULL)) {
        free(columns);
        free(extra);
        OC_FAIL(err, OC_ENOMEM, "out of memory while making a batch");
    }
    for (int32_t i = 0; i < schema->n_fields; i++) {
        int32_t from = indices != NULL ? indices[i] : i;
        assert(from >= 0 && from < source->schema->n_fields);
        assert(oci_field_same_type(&schema->fields[i], &source->schema->fields[from]));
        if (is_relabelled) {
            oci_column_share(&source->columns[from], &schema->fields[i], &columns[i], &space);
        } else {
            columns[i] = source->columns[from];
        }
    }
    OC_TRY(oci_batch_adopt(schema, source->length, columns, NULL, NULL, 0, extra, extra_bytes, out,
                           err));
    (*out)->parent = oci_batch_retain(owner_of(source));
    return OC_OK;
}

oc_status oci_batch_select(oci_batch *batch, oci_schema *schema, const int32_t *indices,
                           oci_batch **out, oc_error *err)
{
    return oci_batch_share(batch, schema, indices, out, err);
}

oc_status oci_batch_slice(oci_batch *batch, int64_t start, int64_t length, oci_batch **out,
                          oc_error *err)
{
    assert(start >= 0 && length >= 0 && start <= batch->length - length);
    OC_TRY(oci_batch_share(batch, batch->schema, NULL, out, err));
    (*out)->length = length;
    for (int32_t i = 0; i < batch->schema->n_fields && length < batch->length; i++) {
        oci_column *column = &(*out)->columns[i];
        column->length = length;
        if (oci_field_layout(column->field) == OCI_LAYOUT_NULL) {
            column->null_count = length;
            continue;
        }
        column->offset += start;
        /* No nulls in the whole means none in a part; any other count must be taken anew. */
        column->null_count = column->null_count == 0 || column->validity == NULL ? 0 : -1;
    }
    return OC_OK;
}

bool oci_batch_equal(const oci_batch *a, const oci_batch *b)
{
    if (a->length != b->length || a->schema->n_fields != b->schema->n_fields) {
        return false;
    }
    for (int32_t i = 0; i < a->schema->n_fields; i++) {
        if (!oci_field_same_type(&a->schema->fields[i], &b->schema->fields[i])) {
            return false;
        }
        for (int64_t row = 0; row < a->length; row++) {
            if (!oci_value_equal(&a->columns[i], row, &b->columns[i], row)) {
                return false;
            }
        }
    }
    return true;
}
