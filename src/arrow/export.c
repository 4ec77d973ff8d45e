/* Batches out: a batch becomes an ArrowArray, shared and not copied.
 *
 *   oci_batch ── oci_batch_output ──> batch of the announced types ──> struct array
 *                                              ^                         ├── child 0 ── (dictionary)
 *                                              │                         └── child 1 ── (children)
 *                                              └── retained ── every node holds its own reference
 *
 * What was announced and what operators work on may differ (working form, see schema.h);
 * oci_batch_output builds the difference. All that is done here is to put nodes around columns.
 *
 * A consumer may move a child out of its parent and release it on another day, so every node
 * (struct, child of any level, dictionary) has a private block with the table of its buffers and a
 * reference to the batch. Children carry the offset of their column: the interface has one offset
 * per array, for validity and values alike, and so has oci_column.
 *
 * Alignment. What we make is aligned to 8 bytes. Buffers that somebody handed in unaligned go out
 * as they came when nothing in between copied them; the interface recommends alignment and does not
 * demand it.
 *
 * Nodes come from malloc: some 200 bytes a column, whatever the number of rows. Memory that was
 * charged for the batch goes back to its account when the last node is released, which may be
 * after the stream and the context are gone: the account lingers until then (base/memory.h). */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/batch.h"
#include "arrow/c_data.h"
#include "base/bits.h"

/* What an exported ArrowArray owns. */
typedef struct export_node {
    oci_batch *batch;
    const oci_column *column; /* what it shows; NULL for the struct around all */
    int64_t length, offset;   /* as handed out, to see whether it was changed */
    struct ArrowArray *children;
    struct ArrowArray **child_pointers;
    struct ArrowArray dictionary;
    const void *buffers[]; /* n_buffers */
} export_node;

static void release_array(struct ArrowArray *array)
{
    export_node *node = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++) {
        if (array->children[i]->release != NULL) {
            array->children[i]->release(array->children[i]);
        }
    }
    if (array->dictionary != NULL && array->dictionary->release != NULL) {
        array->dictionary->release(array->dictionary);
    }
    oci_batch_release(node->batch);
    free(node->children);
    free(node->child_pointers);
    free(node);
    array->private_data = NULL;
    array->release = NULL;
}

/* An array that shows nothing yet and whose children count as released; it can be released from
 * here on. */
static oc_status make_array(oci_batch *batch, int64_t n_buffers, int32_t n_children,
                            struct ArrowArray *out, oc_error *err)
{
    *out = (struct ArrowArray){0};
    export_node *node = calloc(1, sizeof *node + ((size_t)n_buffers + 1) * sizeof node->buffers[0]);
    if (node != NULL) {
        node->children = calloc((size_t)n_children + 1, sizeof *node->children);
        node->child_pointers = calloc((size_t)n_children + 1, sizeof *node->child_pointers);
    }
    if (node == NULL || node->children == NULL || node->child_pointers == NULL) {
        if (node != NULL) {
            free(node->children);
            free(node->child_pointers);
        }
        free(node);
        OC_FAIL(err, OC_ENOMEM, "out of memory while handing out a batch");
    }
    for (int32_t i = 0; i < n_children; i++) {
        node->child_pointers[i] = &node->children[i];
    }
    node->batch = oci_batch_retain(batch);
    out->n_buffers = n_buffers;
    out->buffers = node->buffers;
    out->n_children = n_children;
    out->children = n_children > 0 ? node->child_pointers : NULL;
    out->private_data = node;
    out->release = release_array;
    return OC_OK;
}

static void set_range(struct ArrowArray *array, int64_t length, int64_t offset)
{
    export_node *node = array->private_data;
    array->length = node->length = length;
    array->offset = node->offset = offset;
}

/* ---- columns --------------------------------------------------------------------------------- */

static int64_t buffer_count(const oci_column *column)
{
    switch (oci_field_layout(column->field)) {
    case OCI_LAYOUT_NULL:
    case OCI_LAYOUT_RUN_ENDS: return 0;
    case OCI_LAYOUT_FIXED_LIST:
    case OCI_LAYOUT_STRUCT:
    case OCI_LAYOUT_SPARSE_UNION: return 1;
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64:
    case OCI_LAYOUT_LIST_VIEW32:
    case OCI_LAYOUT_LIST_VIEW64: return 3;
    case OCI_LAYOUT_VIEWS: return 3 + (int64_t)column->n_view_buffers;
    default: return 2;
    }
}

/* `buffer`, or one that may be read where it would be empty: also an array without rows has one
 * offset, which consumers read. */
static const void *or_zeros(const void *buffer, bool empty)
{
    return buffer != NULL && !empty ? buffer : oci_zeros;
}

static void share_buffers(const oci_column *column, const void **buffers)
{
    bool empty = column->length == 0;
    switch (oci_field_layout(column->field)) {
    case OCI_LAYOUT_NULL:
    case OCI_LAYOUT_RUN_ENDS: return;
    case OCI_LAYOUT_SPARSE_UNION: buffers[0] = or_zeros(column->values, empty); return;
    case OCI_LAYOUT_DENSE_UNION:
        buffers[0] = or_zeros(column->values, empty);
        buffers[1] = or_zeros(column->child_offsets, empty);
        return;
    case OCI_LAYOUT_STRUCT:
    case OCI_LAYOUT_FIXED_LIST: buffers[0] = column->validity; return;
    default: break;
    }
    buffers[0] = column->validity;
    buffers[1] = or_zeros(column->values, empty);
    switch (oci_field_layout(column->field)) {
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64: buffers[2] = or_zeros(column->bytes, false); return;
    case OCI_LAYOUT_LIST_VIEW32:
    case OCI_LAYOUT_LIST_VIEW64: buffers[2] = or_zeros(column->sizes, empty); return;
    case OCI_LAYOUT_VIEWS:
        for (int32_t i = 0; i < column->n_view_buffers; i++) {
            buffers[2 + i] = or_zeros(column->view_buffers[i], false);
        }
        buffers[2 + column->n_view_buffers] = or_zeros(column->view_sizes, false);
        return;
    default: return;
    }
}

static int64_t null_count_of(const oci_column *column)
{
    if (oci_field_layout(column->field) == OCI_LAYOUT_NULL) {
        return column->length;
    }
    return column->validity == NULL ? 0 : column->null_count;
}

static oc_status share_column(oci_batch *batch, const oci_column *column, struct ArrowArray *out,
                              oc_error *err);

/* Children and dictionary of a node that has everything else. */
static oc_status share_below(oci_batch *batch, const oci_column *column, struct ArrowArray *out,
                             oc_error *err)
{
    export_node *node = out->private_data;
    for (int32_t i = 0; i < column->field->n_children; i++) {
        OC_TRY(share_column(batch, &column->children[i], &node->children[i], err));
    }
    if (column->dictionary != NULL) {
        OC_TRY(share_column(batch, column->dictionary, &node->dictionary, err));
        out->dictionary = &node->dictionary;
    }
    return OC_OK;
}

static oc_status share_column(oci_batch *batch, const oci_column *column, struct ArrowArray *out,
                              oc_error *err)
{
    OC_TRY(make_array(batch, buffer_count(column), column->field->n_children, out, err));
    export_node *node = out->private_data;
    bool no_offset = column->length == 0 || oci_field_layout(column->field) == OCI_LAYOUT_NULL;
    node->column = column;
    set_range(out, column->length, no_offset ? 0 : column->offset);
    out->null_count = null_count_of(column);
    share_buffers(column, node->buffers);
    oc_status status = share_below(batch, column, out, err);
    if (status != OC_OK) {
        out->release(out);
    }
    return status;
}

/* ---- whole batches --------------------------------------------------------------------------- */

static oc_status share_batch(oci_batch *batch, struct ArrowArray *out, oc_error *err)
{
    OC_TRY(make_array(batch, 1, batch->schema->n_fields, out, err));
    export_node *node = out->private_data;
    oc_status status = OC_OK;
    set_range(out, batch->length, 0);
    for (int32_t i = 0; i < batch->schema->n_fields && status == OC_OK; i++) {
        status = share_column(batch, &batch->columns[i], &node->children[i], err);
    }
    if (status != OC_OK) {
        out->release(out);
    }
    return status;
}

oc_status oci_batch_export(oci_batch *batch, oci_schema *schema, oci_mem *mem,
                           struct ArrowArray *out, oc_error *err)
{
    oci_batch *announced = NULL;
    oc_status status = OC_OK;
    *out = (struct ArrowArray){0};
    if (oci_schema_same_types(batch->schema, schema)) {
        announced = oci_batch_retain(batch); /* arrays have no names */
    } else {
        status = oci_batch_output(batch, schema, mem, &announced, err);
    }
    if (status == OC_OK) {
        status = share_batch(announced, out, err);
    }
    oci_batch_release(announced); /* every node has its own reference */
    oci_batch_release(batch);
    return status;
}

/* ---- our own arrays, coming back ------------------------------------------------------------- */

/* Whether an array is still the node that was made, and shows what it was made for. */
static bool is_as_handed_out(const struct ArrowArray *array, const oci_batch *batch,
                             const oci_column *column)
{
    if (array->release != release_array) {
        return false;
    }
    const export_node *node = array->private_data;
    return node->batch == batch && node->column == column && array->length == node->length &&
           array->offset == node->offset && array->buffers == node->buffers &&
           (array->n_children == 0 || array->children == node->child_pointers);
}

/* The same, with everything below it. */
static bool is_untouched(const struct ArrowArray *array, const oci_batch *batch,
                         const oci_column *column)
{
    const oci_field *field = column->field;
    if (!is_as_handed_out(array, batch, column) || array->n_children != field->n_children ||
        (array->dictionary != NULL) != (column->dictionary != NULL)) {
        return false;
    }
    for (int32_t i = 0; i < field->n_children; i++) {
        if (!is_untouched(array->children[i], batch, &column->children[i])) {
            return false;
        }
    }
    return array->dictionary == NULL || is_untouched(array->dictionary, batch, column->dictionary);
}

oci_batch *oci_batch_behind(const struct ArrowArray *array)
{
    if (array->release != release_array) {
        return NULL;
    }
    oci_batch *batch = ((const export_node *)array->private_data)->batch;
    if (!is_as_handed_out(array, batch, NULL) || array->n_children != batch->schema->n_fields) {
        return NULL;
    }
    for (int64_t i = 0; i < array->n_children; i++) {
        if (!is_untouched(array->children[i], batch, &batch->columns[i])) {
            return NULL;
        }
    }
    return batch;
}
