/* Batches out: a batch becomes an ArrowArray, shared and not copied.
 *
 *   oci_batch ──> struct array ── child 0 ── (dictionary)
 *       ^             │     └──── child 1
 *       │             │               │
 *       └── retained ─┴───────────────┘   every node holds its own reference
 *
 * A consumer may move a child out of its parent and release it on another day, so every node
 * (struct, child, dictionary) has a private block with the table of its buffers and a reference
 * to the batch. Children carry the offset of their column: the interface has one offset per
 * array, for validity and values alike, and so has oci_column.
 *
 * Nodes come from malloc: some 200 bytes a column, whatever the number of rows.
 *
 * Views. Operators work on plain 32-bit strings where the input had views (the working form, see
 * schema.h). When the announced schema has views, they are built here: 16 bytes a row in memory
 * from the caller's account, pointing into the byte buffer that the batch already has. They go
 * back to the account when the consumer releases the node, which may be after the stream and the
 * context are gone: the account lingers until then (base/memory.h). */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/batch.h"
#include "arrow/c_data.h"
#include "base/bits.h"

/* validity, views, one byte buffer, sizes */
#define BUILT_VIEW_BUFFERS 4

/* What an exported ArrowArray owns. */
typedef struct export_node {
    oci_batch *batch;
    const oci_column *column; /* what it shows; NULL for the struct and for views that were built */
    int64_t length, offset;   /* as handed out, to see whether it was changed */
    oci_mem *mem;             /* who paid for `views` */
    void *views;              /* NULL unless built here */
    int64_t views_bytes;
    int64_t bytes_size; /* built views: size of the byte buffer, pointed to by the last buffer */
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
    if (node->views != NULL) {
        oci_mem_free(node->mem, node->views, node->views_bytes);
    }
    oci_batch_release(node->batch);
    free(node->children);
    free(node->child_pointers);
    free(node);
    array->private_data = NULL;
    array->release = NULL;
}

/* An array without buffers or children yet; it can be released from here on. */
static oc_status make_array(oci_batch *batch, int64_t n_buffers, struct ArrowArray *out,
                            oc_error *err)
{
    *out = (struct ArrowArray){0};
    export_node *node = calloc(1, sizeof *node + ((size_t)n_buffers + 1) * sizeof node->buffers[0]);
    if (node == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while handing out a batch");
    }
    node->batch = oci_batch_retain(batch);
    out->n_buffers = n_buffers;
    out->buffers = node->buffers;
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

/* ---- columns as they are --------------------------------------------------------------------- */

static int64_t buffer_count(const oci_column *column)
{
    switch (oci_field_layout(column->field)) {
    case OCI_LAYOUT_NULL: return 0;
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64: return 3;
    case OCI_LAYOUT_VIEWS: return 3 + (int64_t)column->n_view_buffers;
    default: return 2;
    }
}

static const void *or_zeros(const void *buffer)
{
    return buffer != NULL ? buffer : oci_zeros;
}

static oc_status share_column(oci_batch *batch, const oci_column *column, struct ArrowArray *out,
                              oc_error *err)
{
    oci_layout layout = oci_field_layout(column->field);
    OC_TRY(make_array(batch, buffer_count(column), out, err));
    export_node *node = out->private_data;
    node->column = column;
    bool empty = column->length == 0 || layout == OCI_LAYOUT_NULL;
    set_range(out, column->length, empty ? 0 : column->offset);
    out->null_count = column->validity == NULL ? 0 : column->null_count;
    if (layout == OCI_LAYOUT_NULL) {
        out->null_count = column->length;
        return OC_OK;
    }
    node->buffers[0] = column->validity;
    /* An empty array still has one offset, which consumers read. */
    node->buffers[1] = empty ? oci_zeros : or_zeros(column->values);
    if (layout == OCI_LAYOUT_OFFSETS32 || layout == OCI_LAYOUT_OFFSETS64) {
        node->buffers[2] = or_zeros(column->bytes);
    } else if (layout == OCI_LAYOUT_VIEWS) {
        for (int32_t i = 0; i < column->n_view_buffers; i++) {
            node->buffers[2 + i] = or_zeros(column->view_buffers[i]);
        }
        node->buffers[2 + column->n_view_buffers] = or_zeros(column->view_sizes);
    }
    return OC_OK;
}

/* ---- views built from strings ---------------------------------------------------------------- */

/* Writes the view of bytes[start, end). */
static void write_view(uint8_t *view, const uint8_t *bytes, int32_t start, int32_t end)
{
    int32_t length = end - start;
    memset(view, 0, 16);
    memcpy(view, &length, 4);
    if (length <= 12) {
        memcpy(view + 4, bytes + start, (size_t)length);
    } else {
        memcpy(view + 4, bytes + start, 4); /* prefix */
        memcpy(view + 12, &start, 4);       /* of buffer 0 */
    }
}

static void write_views(const oci_column *column, uint8_t *views)
{
    const uint8_t *offsets = column->values + column->offset * 4;
    int32_t start, end;
    memcpy(&start, offsets, 4);
    for (int64_t row = 0; row < column->length; row++, start = end) {
        memcpy(&end, offsets + (row + 1) * 4, 4);
        if (column->validity != NULL && !oci_bit_get(column->validity, column->offset + row)) {
            memset(views + row * 16, 0, 16);
        } else {
            write_view(views + row * 16, column->bytes, start, end);
        }
    }
}

/* Views for a column of 32-bit strings. The validity bitmap is shared from the byte in which the
 * column starts, so up to 7 views go unused in front: validity and views have one offset. */
static oc_status build_views(oci_batch *batch, const oci_column *column, oci_mem *mem,
                             struct ArrowArray *out, oc_error *err)
{
    OC_TRY(make_array(batch, BUILT_VIEW_BUFFERS, out, err));
    export_node *node = out->private_data;
    int64_t lead = column->validity != NULL ? column->offset & 7 : 0;
    int64_t views_bytes = (lead + column->length) * 16;
    const void *views = oci_zeros;
    set_range(out, column->length, lead);
    if (column->length > 0) {
        oc_status status = oci_mem_alloc(mem, views_bytes, &node->views, err);
        if (status != OC_OK) {
            out->release(out);
            return status;
        }
        node->mem = mem;
        node->views_bytes = views_bytes;
        memset(node->views, 0, (size_t)lead * 16);
        write_views(column, (uint8_t *)node->views + lead * 16);
        int32_t end;
        memcpy(&end, column->values + (column->offset + column->length) * 4, 4);
        node->bytes_size = end;
        views = node->views;
    }
    out->null_count = column->validity == NULL ? 0 : column->null_count;
    node->buffers[0] = column->validity != NULL ? column->validity + (column->offset >> 3) : NULL;
    node->buffers[1] = views;
    node->buffers[2] = or_zeros(column->bytes);
    node->buffers[3] = &node->bytes_size;
    return OC_OK;
}

/* ---- whole batches --------------------------------------------------------------------------- */

static bool is_working_form_of(const oci_field *have, const oci_field *want)
{
    return (have->type == OCI_TYPE_UTF8 && want->type == OCI_TYPE_UTF8_VIEW) ||
           (have->type == OCI_TYPE_BINARY && want->type == OCI_TYPE_BINARY_VIEW);
}

static oc_status export_column(oci_batch *batch, const oci_column *column, const oci_field *want,
                               oci_mem *mem, struct ArrowArray *out, oc_error *err)
{
    const oci_field *have = column->field;
    if (is_working_form_of(have, want)) {
        return build_views(batch, column, mem, out, err);
    }
    bool dictionaries = have->type == OCI_TYPE_DICTIONARY && want->type == OCI_TYPE_DICTIONARY &&
                        have->index_type == want->index_type;
    if (!dictionaries && !oci_field_same_type(have, want)) {
        char have_text[128], want_text[128];
        oci_field_type_text(have, have_text, sizeof have_text);
        oci_field_type_text(want, want_text, sizeof want_text);
        OC_FAIL(err, OC_EINVAL, "column \"%.80s\" of type %s cannot be handed out as %s",
                want->name, have_text, want_text);
    }
    OC_TRY(share_column(batch, column, out, err));
    if (dictionaries) {
        export_node *node = out->private_data;
        oc_status status =
            export_column(batch, column->dictionary, want->dictionary, mem, &node->dictionary, err);
        if (status != OC_OK) {
            out->release(out);
            return status;
        }
        out->dictionary = &node->dictionary;
    }
    return OC_OK;
}

static oc_status export_children(oci_batch *batch, const oci_schema *schema, oci_mem *mem,
                                 struct ArrowArray *out, oc_error *err)
{
    export_node *node = out->private_data;
    int32_t n = schema->n_fields;
    node->children = calloc((size_t)n + 1, sizeof *node->children);
    node->child_pointers = calloc((size_t)n + 1, sizeof *node->child_pointers);
    if (node->children == NULL || node->child_pointers == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while handing out a batch");
    }
    for (int32_t i = 0; i < n; i++) {
        node->child_pointers[i] = &node->children[i]; /* zero = released already */
    }
    out->children = node->child_pointers;
    out->n_children = n;
    for (int32_t i = 0; i < n; i++) {
        OC_TRY(export_column(batch, &batch->columns[i], &schema->fields[i], mem, &node->children[i],
                             err));
    }
    return OC_OK;
}

static oc_status export_struct(oci_batch *batch, const oci_schema *schema, oci_mem *mem,
                               struct ArrowArray *out, oc_error *err)
{
    *out = (struct ArrowArray){0};
    if (batch->schema->n_fields != schema->n_fields) {
        OC_FAIL(err, OC_EINVAL,
                "a batch of %" PRId32 " columns cannot be handed out with a schema of %" PRId32,
                batch->schema->n_fields, schema->n_fields);
    }
    OC_TRY(make_array(batch, 1, out, err));
    set_range(out, batch->length, 0);
    oc_status status = export_children(batch, schema, mem, out, err);
    if (status != OC_OK) {
        out->release(out);
    }
    return status;
}

oc_status oci_batch_export(oci_batch *batch, oci_schema *schema, oci_mem *mem,
                           struct ArrowArray *out, oc_error *err)
{
    oc_status status = export_struct(batch, schema, mem, out, err);
    oci_batch_release(batch); /* every node has its own reference */
    return status;
}

/* ---- our own arrays, coming back ------------------------------------------------------------- */

static bool is_as_handed_out(const struct ArrowArray *array)
{
    const export_node *node = array->private_data;
    return array->length == node->length && array->offset == node->offset &&
           array->buffers == node->buffers;
}

oci_batch *oci_batch_behind(const struct ArrowArray *array)
{
    if (array->release != release_array || !is_as_handed_out(array)) {
        return NULL;
    }
    const export_node *node = array->private_data;
    oci_batch *batch = node->batch;
    if (array->children != node->child_pointers || array->n_children != batch->schema->n_fields) {
        return NULL;
    }
    for (int64_t i = 0; i < array->n_children; i++) {
        const struct ArrowArray *child = array->children[i];
        if (child->release != release_array || !is_as_handed_out(child)) {
            return NULL;
        }
        const export_node *child_node = child->private_data;
        if (child_node->batch != batch || child_node->column != &batch->columns[i]) {
            return NULL;
        }
        const struct ArrowArray *values = child->dictionary;
        if (values != NULL &&
            (values->release != release_array || !is_as_handed_out(values) ||
             ((export_node *)values->private_data)->column != batch->columns[i].dictionary)) {
            return NULL;
        }
        if (values == NULL && batch->columns[i].dictionary != NULL) {
            return NULL;
        }
    }
    return batch;
}
