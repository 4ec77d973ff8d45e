/* The message lists nodes, buffers and variadic counts of all columns in one row, each tree depth
 * first (layout_walk.h). A cursor walks the lists along the schema; every column takes what is its
 * own, then its children do. How many children, view buffers and structs there are is known from
 * the schema and the lists' lengths before anything is allocated. Recursion is as deep as the
 * schema, which is limited to OCI_NESTING_MAX levels.
 *
 * Blocks come from malloc: they grow with the schema, not with rows. */
#include "ipc/decoder_columns.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "ipc/layout_walk.h"

#define LABEL_BYTES 208

/* Stands for empty buffers. */
static const uint8_t nothing[64] __attribute__((aligned(64)));

/* Where the next column finds its parts in the message. */
typedef struct column_cursor {
    const oci_message *message;
    const uint8_t *body;
    bool trusted;
    const oci_field *column; /* the tree at hand */
    int64_t node;
    int64_t buffer;
    int64_t variadic;
    oci_column *children; /* room for all children, taken from the front like the next two */
    const uint8_t **view_buffers;
    int64_t *view_sizes;
} column_cursor;

/* How messages call a field of the tree at hand. Valid until the next call in this thread. */
static const char *label(const column_cursor *cursor, const oci_field *field)
{
    static _Thread_local char text[LABEL_BYTES];
    if (field == cursor->column) {
        snprintf(text, sizeof text, "column \"%.80s\"", field->name);
    } else {
        snprintf(text, sizeof text, "field \"%.80s\" of column \"%.80s\"", field->name,
                 cursor->column->name);
    }
    return text;
}

/* ---- buffers --------------------------------------------------------------------------------- */

/* a * b, or more than any buffer has. */
static int64_t bytes_of(int64_t a, int64_t b)
{
    int64_t product = 0;
    return oci_mul64(a, b, &product) ? product : INT64_MAX;
}

/* Takes the next buffer, which needs `needed` bytes. It lies inside the body, or the message was
 * not parsed from where the body is. */
static oc_status take_buffer(column_cursor *cursor, const oci_field *field, const char *what,
                             int64_t needed, const uint8_t **data, int64_t *size, oc_error *err)
{
    const oci_message *message = cursor->message;
    if (cursor->buffer >= message->n_buffers) {
        OC_FAIL(err, OC_EDATA, "message has %" PRId64 " buffers, too few for %s",
                message->n_buffers, label(cursor, field));
    }
    oci_ipc_buffer buffer = oci_message_buffer(message, cursor->buffer++);
    assert(buffer.offset >= 0 && buffer.length >= 0 && buffer.length <= message->body_bytes &&
           buffer.offset <= message->body_bytes - buffer.length);
    *size = buffer.length;
    *data = buffer.length == 0 ? nothing : cursor->body + buffer.offset;
    if (*size < needed) {
        OC_FAIL(err, OC_EDATA, "%s has %" PRId64 " bytes of %s, %" PRId64 " are needed",
                label(cursor, field), *size, what, needed);
    }
    return OC_OK;
}

static oc_status take_validity(column_cursor *cursor, oci_column *column, oc_error *err)
{
    int64_t size = 0;
    const uint8_t *bits = NULL;
    int64_t bytes = oci_bytes_for_bits(column->length);
    int64_t needed = column->null_count > 0 ? bytes : 0;
    OC_TRY(take_buffer(cursor, column->field, "validity", needed, &bits, &size, err));
    if (column->null_count > 0) {
        column->validity = bits;
    }
    if (cursor->trusted || size < bytes) {
        return OC_OK;
    }
    int64_t null_count = column->length - oci_bits_count(bits, 0, column->length);
    if (null_count != column->null_count) {
        OC_FAIL(err, OC_EDATA, "%s has %" PRId64 " nulls where the message says %" PRId64,
                label(cursor, column->field), null_count, column->null_count);
    }
    return OC_OK;
}

/* Unions had a validity of their own before Arrow 1.0, which nothing can express any more. (Writers
 * of V4 give run-end encoded columns an empty one too.) */
static oc_status skip_validity(column_cursor *cursor, const oci_column *column, int64_t null_count,
                               oc_error *err)
{
    int64_t size = 0;
    const uint8_t *bits = NULL;
    OC_TRY(take_buffer(cursor, column->field, "validity", 0, &bits, &size, err));
    if (null_count > 0) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "%s is a %s with nulls of its own, as before Arrow 1.0; write it with a later "
                "version",
                label(cursor, column->field), oci_type_name(column->field->type));
    }
    return OC_OK;
}

static oc_status take_fixed(column_cursor *cursor, oci_column *column, int64_t needed,
                            oc_error *err)
{
    int64_t size = 0;
    return take_buffer(cursor, column->field, "values", needed, &column->values, &size, err);
}

/* Offsets of strings and lists; *first and *last are 0 for no rows, whatever the one offset says,
 * if there is one. */
static oc_status take_offsets(column_cursor *cursor, oci_column *column, int width, int64_t *first,
                              int64_t *last, oc_error *err)
{
    int64_t size = 0;
    int64_t needed = column->length > 0 ? bytes_of(column->length, width) : 0;
    needed = needed > 0 && needed < INT64_MAX - width ? needed + width : needed;
    OC_TRY(take_buffer(cursor, column->field, "offsets", needed, &column->values, &size, err));
    *first = *last = 0;
    if (column->length == 0) {
        column->values = nothing;
        return OC_OK;
    }
    const uint8_t *end = column->values + column->length * width;
    *first = width == 4 ? (int32_t)oci_load_le32(column->values)
                        : (int64_t)oci_load_le64(column->values);
    *last = width == 4 ? (int32_t)oci_load_le32(end) : (int64_t)oci_load_le64(end);
    return OC_OK;
}

static oc_status take_strings(column_cursor *cursor, oci_column *column, int width, oc_error *err)
{
    int64_t first = 0;
    int64_t last = 0;
    int64_t size = 0;
    OC_TRY(take_offsets(cursor, column, width, &first, &last, err));
    OC_TRY(take_buffer(cursor, column->field, "bytes", 0, &column->bytes, &size, err));
    if (first < 0 || last < first || last > size) {
        OC_FAIL(err, OC_EDATA,
                "%s has values from byte %" PRId64 " to %" PRId64 ", but there are %" PRId64
                " bytes",
                label(cursor, column->field), first, last, size);
    }
    return OC_OK;
}

static oc_status take_views(column_cursor *cursor, oci_column *column, oc_error *err)
{
    const oci_message *message = cursor->message;
    int64_t size = 0;
    OC_TRY(take_buffer(cursor, column->field, "views", bytes_of(column->length, 16),
                       &column->values, &size, err));
    if (cursor->variadic >= message->n_variadic) {
        OC_FAIL(err, OC_EDATA, "message does not say how many view buffers %s has",
                label(cursor, column->field));
    }
    int64_t n = oci_message_variadic(message, cursor->variadic++);
    if (n > message->n_buffers - cursor->buffer || n > INT32_MAX) {
        OC_FAIL(err, OC_EDATA,
                "%s claims %" PRId64 " view buffers, the message has %" PRId64 " left",
                label(cursor, column->field), n, message->n_buffers - cursor->buffer);
    }
    column->view_buffers = cursor->view_buffers;
    column->view_sizes = cursor->view_sizes;
    column->n_view_buffers = (int32_t)n;
    for (int64_t i = 0; i < n; i++) {
        OC_TRY(take_buffer(cursor, column->field, "bytes", 0, cursor->view_buffers++,
                           cursor->view_sizes++, err));
    }
    return OC_OK;
}

/* ---- nested columns -------------------------------------------------------------------------- */

static oc_status take_column(column_cursor *cursor, const oci_field *field, oci_column *column,
                             oc_error *err);

/* Takes all children. */
static oc_status take_children(column_cursor *cursor, oci_column *column, oc_error *err)
{
    const oci_field *field = column->field;
    oci_column *children = cursor->children;
    cursor->children += field->n_children;
    column->children = children;
    for (int32_t i = 0; i < field->n_children; i++) {
        OC_TRY(take_column(cursor, &field->children[i], &children[i], err));
    }
    return OC_OK;
}

/* Takes all children, each of which needs `needed` rows. */
static oc_status take_long_children(column_cursor *cursor, oci_column *column, int64_t needed,
                                    oc_error *err)
{
    OC_TRY(take_children(cursor, column, err));
    for (int32_t i = 0; i < column->field->n_children; i++) {
        if (column->children[i].length < needed) {
            OC_FAIL(err, OC_EDATA, "%s has %" PRId64 " rows, the rows around it need %" PRId64,
                    label(cursor, column->children[i].field), column->children[i].length, needed);
        }
    }
    return OC_OK;
}

static oc_status take_list(column_cursor *cursor, oci_column *column, int width, oc_error *err)
{
    int64_t first = 0;
    int64_t last = 0;
    OC_TRY(take_offsets(cursor, column, width, &first, &last, err));
    OC_TRY(take_children(cursor, column, err));
    if (first < 0 || last < first || last > column->children[0].length) {
        OC_FAIL(err, OC_EDATA,
                "%s has lists from row %" PRId64 " to %" PRId64 " of its values, but there are "
                "%" PRId64 " rows",
                label(cursor, column->field), first, last, column->children[0].length);
    }
    return OC_OK;
}

static oc_status take_list_view(column_cursor *cursor, oci_column *column, int width, oc_error *err)
{
    int64_t size = 0;
    int64_t needed = bytes_of(column->length, width);
    OC_TRY(take_buffer(cursor, column->field, "offsets", needed, &column->values, &size, err));
    OC_TRY(take_buffer(cursor, column->field, "sizes", needed, &column->sizes, &size, err));
    return take_children(cursor, column, err);
}

static oc_status take_dense_union(column_cursor *cursor, oci_column *column, oc_error *err)
{
    int64_t size = 0;
    OC_TRY(take_fixed(cursor, column, column->length, err));
    OC_TRY(take_buffer(cursor, column->field, "offsets", bytes_of(column->length, 4),
                       &column->child_offsets, &size, err));
    return take_children(cursor, column, err);
}

static oc_status take_runs(column_cursor *cursor, oci_column *column, oc_error *err)
{
    OC_TRY(take_children(cursor, column, err));
    const oci_column *run_ends = &column->children[0];
    int64_t last = run_ends->length > 0 ? oci_column_run_end(run_ends, run_ends->length - 1) : 0;
    if (run_ends->null_count > 0) {
        OC_FAIL(err, OC_EDATA, "%s has run ends that are null", label(cursor, column->field));
    }
    if (column->children[1].length < run_ends->length || last < column->length) {
        OC_FAIL(err, OC_EDATA,
                "%s has %" PRId64 " rows, but %" PRId64 " runs with %" PRId64
                " values end at row %" PRId64,
                label(cursor, column->field), column->length, run_ends->length,
                column->children[1].length, last);
    }
    return OC_OK;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Takes what comes behind the validity. */
static oc_status take_values(column_cursor *cursor, oci_column *column, oc_error *err)
{
    const oci_field *field = column->field;
    int64_t length = column->length;
    switch (oci_field_layout(field)) {
    case OCI_LAYOUT_BITS: return take_fixed(cursor, column, oci_bytes_for_bits(length), err);
    case OCI_LAYOUT_FIXED:
    case OCI_LAYOUT_DICTIONARY:
        return take_fixed(cursor, column, bytes_of(length, field->byte_width), err);
    case OCI_LAYOUT_OFFSETS32: return take_strings(cursor, column, 4, err);
    case OCI_LAYOUT_OFFSETS64: return take_strings(cursor, column, 8, err);
    case OCI_LAYOUT_VIEWS: return take_views(cursor, column, err);
    case OCI_LAYOUT_LIST32: return take_list(cursor, column, 4, err);
    case OCI_LAYOUT_LIST64: return take_list(cursor, column, 8, err);
    case OCI_LAYOUT_LIST_VIEW32: return take_list_view(cursor, column, 4, err);
    case OCI_LAYOUT_LIST_VIEW64: return take_list_view(cursor, column, 8, err);
    case OCI_LAYOUT_FIXED_LIST:
        return take_long_children(cursor, column, bytes_of(length, field->list_size), err);
    case OCI_LAYOUT_STRUCT: return take_long_children(cursor, column, length, err);
    case OCI_LAYOUT_SPARSE_UNION:
        OC_TRY(take_fixed(cursor, column, length, err));
        return take_long_children(cursor, column, length, err);
    case OCI_LAYOUT_DENSE_UNION: return take_dense_union(cursor, column, err);
    case OCI_LAYOUT_RUN_ENDS: return take_runs(cursor, column, err);
    case OCI_LAYOUT_NULL:
    case OCI_LAYOUT_UNKNOWN: break;
    }
    assert(oci_field_layout(field) == OCI_LAYOUT_NULL);
    return OC_OK;
}

/* The node, then the buffers, then the children. */
static oc_status take_column(column_cursor *cursor, const oci_field *field, oci_column *column,
                             oc_error *err)
{
    oci_ipc_node node = oci_message_node(cursor->message, cursor->node++);
    *column = (oci_column){.field = field, .length = node.length, .null_count = node.null_count};
    if (field == cursor->column && node.length != cursor->message->length) {
        OC_FAIL(err, OC_EDATA, "%s has %" PRId64 " values, the batch has %" PRId64 " rows",
                label(cursor, field), node.length, cursor->message->length);
    }
    oci_node_shape shape = oci_node_shape_of(field, cursor->message->version);
    bool has_validity = shape.n_buffers > 0 && shape.buffers[0] == OCI_BUFFER_VALIDITY;
    switch (oci_field_layout(field)) {
    case OCI_LAYOUT_NULL: column->null_count = node.length; break;
    case OCI_LAYOUT_RUN_ENDS:
    case OCI_LAYOUT_SPARSE_UNION:
    case OCI_LAYOUT_DENSE_UNION:
        column->null_count = 0;
        if (has_validity) {
            OC_TRY(skip_validity(cursor, column, node.null_count, err));
        }
        break;
    default: OC_TRY(take_validity(cursor, column, err)); break;
    }
    return take_values(cursor, column, err);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static oc_status fail_memory(oc_error *err)
{
    OC_FAIL(err, OC_ENOMEM, "out of memory while making a batch");
}

static void free_columns(oci_decoded_columns *columns)
{
    free(columns->columns);
    free(columns->extra);
    *columns = (oci_decoded_columns){0};
}

/* Blocks for the columns of a schema, `n_children` of their children and so many view buffers. */
static oc_status allocate(const oci_schema *schema, int64_t n_children, int64_t n_view_buffers,
                          oci_decoded_columns *out, oc_error *err)
{
    out->extra_bytes = (int64_t)sizeof(oci_column) * n_children +
                       (int64_t)(sizeof(uint8_t *) + sizeof(int64_t)) * n_view_buffers;
    out->columns = calloc((size_t)schema->n_fields + 1, sizeof *out->columns);
    out->extra = calloc((size_t)out->extra_bytes + 1, 1);
    if (out->columns == NULL || out->extra == NULL) {
        free_columns(out);
        return fail_memory(err);
    }
    return OC_OK;
}

static oc_status take_columns(column_cursor *cursor, const oci_schema *schema, oci_column *columns,
                              oc_error *err)
{
    const oci_message *message = cursor->message;
    for (int32_t i = 0; i < schema->n_fields; i++) {
        cursor->column = &schema->fields[i];
        OC_TRY(take_column(cursor, cursor->column, &columns[i], err));
    }
    if (cursor->buffer != message->n_buffers || cursor->variadic != message->n_variadic) {
        OC_FAIL(err, OC_EDATA,
                "message has %" PRId64 " buffers and %" PRId64
                " counts of view buffers, the schema asks for %" PRId64 " and %" PRId64,
                message->n_buffers, message->n_variadic, cursor->buffer, cursor->variadic);
    }
    return OC_OK;
}

oc_status oci_columns_take(const oci_schema *schema, const oci_message *message,
                           const uint8_t *body, bool trusted, oci_decoded_columns *out,
                           oc_error *err)
{
    *out = (oci_decoded_columns){0};
    oci_tree_shape shape = oci_schema_shape(schema, message->version);
    if (message->n_nodes != shape.n_nodes) {
        OC_FAIL(err, OC_EDATA,
                "message has %" PRId64 " columns with all their children, the schema has %" PRId64,
                message->n_nodes, shape.n_nodes);
    }
    int64_t n_children = shape.n_nodes - schema->n_fields;
    int64_t n_view_buffers = shape.n_variadic > 0 ? message->n_buffers : 0;
    OC_TRY(allocate(schema, n_children, n_view_buffers, out, err));
    column_cursor cursor = {
        .message = message, .body = body, .trusted = trusted, .children = out->extra};
    cursor.view_buffers = (const uint8_t **)(cursor.children + n_children);
    cursor.view_sizes = (int64_t *)(cursor.view_buffers + n_view_buffers);
    oc_status status = take_columns(&cursor, schema, out->columns, err);
    if (status != OC_OK) {
        free_columns(out);
    }
    return status;
}

/* ---- without a message ----------------------------------------------------------------------- */

static void make_empty(const oci_field *field, oci_column *column, oci_column **space)
{
    *column = (oci_column){.field = field,
                           .values = nothing,
                           .bytes = nothing,
                           .sizes = nothing,
                           .child_offsets = nothing};
    oci_column *children = *space;
    *space += field->n_children;
    column->children = children;
    for (int32_t i = 0; i < field->n_children; i++) {
        make_empty(&field->children[i], &children[i], space);
    }
}

oc_status oci_columns_make_empty(const oci_schema *schema, oci_decoded_columns *out, oc_error *err)
{
    int64_t n_nodes = oci_schema_shape(schema, OCI_IPC_V5).n_nodes;
    OC_TRY(allocate(schema, n_nodes - schema->n_fields, 0, out, err));
    oci_column *space = out->extra;
    for (int32_t i = 0; i < schema->n_fields; i++) {
        make_empty(&schema->fields[i], &out->columns[i], &space);
    }
    return OC_OK;
}

static void copy_column(const oci_column *column, oci_column *out, oci_column **space)
{
    *out = *column;
    int32_t n = column->field->n_children;
    oci_column *children = *space;
    *space += n;
    out->children = children;
    for (int32_t i = 0; i < n; i++) {
        copy_column(&column->children[i], &children[i], space);
    }
}

oc_status oci_columns_copy(const oci_schema *schema, const oci_column *columns,
                           oci_decoded_columns *out, oc_error *err)
{
    int64_t n_nodes = oci_schema_shape(schema, OCI_IPC_V5).n_nodes;
    OC_TRY(allocate(schema, n_nodes - schema->n_fields, 0, out, err));
    oci_column *space = out->extra;
    for (int32_t i = 0; i < schema->n_fields; i++) {
        copy_column(&columns[i], &out->columns[i], &space);
    }
    return OC_OK;
}
