/* Which nodes and buffers of a message belong to which column.
 *
 * The metadata lists nodes and buffers of all columns in one row; only the schema says how many
 * each column, with its children, has. This walks the schema once, checks that the lists are as
 * long as they have to be and notes where each column begins; a second walk, over the wanted
 * columns, copies what they own. */
#include "ipc/reader_parts.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"

/* A place in the three lists of a message; or how much of each there is. */
typedef struct list_place {
    int64_t node;
    int64_t buffer;
    int64_t variadic;
} list_place;

/* ---- rows ------------------------------------------------------------------------------------ */

/* Does a row of this column take any bytes? Otherwise its rows are as many as a few bytes say. */
static bool takes_bytes(const oci_field *field)
{
    bool any = false;
    switch (oci_field_layout(field)) {
    case OCI_LAYOUT_NULL:
    case OCI_LAYOUT_RUN_ENDS: return false;
    case OCI_LAYOUT_FIXED: return field->byte_width > 0;
    case OCI_LAYOUT_FIXED_LIST: return field->list_size > 0 && takes_bytes(&field->children[0]);
    case OCI_LAYOUT_STRUCT:
        for (int32_t i = 0; i < field->n_children; i++) {
            any = any || takes_bytes(&field->children[i]);
        }
        return any;
    default: return true;
    }
}

/* Rows of which nothing is there (nulls, runs, structs of these, or no columns at all) are gone
 * through as often as a few forged bytes say. No batch has that many. */
static oc_status check_rows(int64_t rows, oc_error *err)
{
    if (rows > UINT32_MAX) {
        OC_FAIL(err, OC_EDATA,
                "it claims %" PRId64 " rows that take no bytes, more than the %" PRIu32
                " that are taken",
                rows, UINT32_MAX);
    }
    return OC_OK;
}

/* ---- where columns begin --------------------------------------------------------------------- */

/* Moves *place behind one column with its children. */
static oc_status pass_column(const oci_field *field, const oci_message *message, list_place *place,
                             oc_error *err)
{
    oci_node_shape shape = oci_node_shape_of(field, message->version);
    place->node++;
    place->buffer += shape.n_buffers;
    if (shape.has_views) {
        int64_t more = place->variadic < message->n_variadic
                           ? oci_message_variadic(message, place->variadic)
                           : -1;
        if (more < 0 || more > message->n_buffers) {
            OC_FAIL(err, OC_EDATA, "column \"%.80s\" has no valid count of view buffers",
                    field->name);
        }
        place->buffer += more;
        place->variadic++;
    }
    if (place->node > message->n_nodes || place->buffer > message->n_buffers) {
        OC_FAIL(err, OC_EDATA,
                "message has %" PRId64 " nodes and %" PRId64
                " buffers, too few for column \"%.80s\"",
                message->n_nodes, message->n_buffers, field->name);
    }
    if (!takes_bytes(field)) {
        OC_TRY(check_rows(oci_message_node(message, place->node - 1).length, err));
    }
    for (int32_t i = 0; i < field->n_children; i++) {
        OC_TRY(pass_column(&field->children[i], message, place, err));
    }
    return OC_OK;
}

static oc_status place_columns(const oci_field *fields, int32_t n_fields,
                               const oci_message *message, list_place *places, oc_error *err)
{
    list_place place = {0};
    if (n_fields == 0) {
        OC_TRY(check_rows(message->length, err));
    }
    for (int32_t i = 0; i < n_fields; i++) {
        places[i] = place;
        OC_TRY(pass_column(&fields[i], message, &place, err));
    }
    if (place.node != message->n_nodes || place.buffer != message->n_buffers ||
        place.variadic != message->n_variadic) {
        OC_FAIL(err, OC_EDATA,
                "message has %" PRId64 " nodes, %" PRId64 " buffers and %" PRId64
                " counts of view buffers where its columns have %" PRId64 ", %" PRId64
                " and %" PRId64,
                message->n_nodes, message->n_buffers, message->n_variadic, place.node, place.buffer,
                place.variadic);
    }
    places[n_fields] = place;
    return OC_OK;
}

/* ---- copying --------------------------------------------------------------------------------- */

/* Gets one block for what the wanted columns need. It is an upper bound: the V4 validity of unions
 * is counted. */
static oc_status allocate(oci_parts *out, const list_place *places, const int32_t *columns,
                          int32_t n_columns, oc_error *err)
{
    list_place sum = {0};
    for (int32_t i = 0; i < n_columns; i++) {
        int32_t column = columns != NULL ? columns[i] : i;
        sum.node += places[column + 1].node - places[column].node;
        sum.buffer += places[column + 1].buffer - places[column].buffer;
        sum.variadic += places[column + 1].variadic - places[column].variadic;
    }
    /* A column asked for many times multiplies them; the product of two 32-bit numbers fits, its
     * bytes need not. */
    int64_t nodes = 0, buffers = 0, variadics = 0;
    if (!oci_mul64((int64_t)sizeof(oci_ipc_node), sum.node, &nodes) ||
        !oci_mul64((int64_t)sizeof(oci_ipc_buffer), sum.buffer, &buffers) ||
        !oci_mul64((int64_t)sizeof(int64_t), sum.variadic, &variadics) ||
        !oci_add64(nodes, buffers, &out->block_bytes) ||
        !oci_add64(out->block_bytes, variadics, &out->block_bytes)) {
        OC_FAIL(err, OC_EINVAL, "too many columns are asked for");
    }
    OC_TRY(oci_mem_alloc(out->mem, out->block_bytes, &out->block, err));
    out->nodes = out->block;
    out->buffers = (oci_ipc_buffer *)(out->nodes + sum.node);
    out->variadic = (int64_t *)(out->buffers + sum.buffer);
    return OC_OK;
}

/* Unions had a validity of their own before Arrow 1.0, which nothing can express any more. */
static oc_status check_union(const oci_field *field, oci_ipc_node node, oc_error *err)
{
    if (node.null_count > 0) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "column \"%.80s\" is a union with %" PRId64
                " nulls of its own, as it was before Arrow 1.0; write it with a later version",
                field->name, node.null_count);
    }
    return OC_OK;
}

/* Copies one column with its children from *from, behind what out->message counts. */
static oc_status copy_column(oci_parts *out, const oci_field *field, const oci_message *message,
                             list_place *from, oc_error *err)
{
    oci_message *to = &out->message;
    oci_node_shape shape = oci_node_shape_of(field, OCI_IPC_V5);
    int64_t n_buffers = shape.n_buffers;
    out->nodes[to->n_nodes++] = oci_message_node(message, from->node++);
    int32_t dropped = oci_node_shape_of(field, message->version).n_buffers - shape.n_buffers;
    if (dropped > 0) {
        OC_TRY(check_union(field, out->nodes[to->n_nodes - 1], err));
    }
    from->buffer += dropped;
    if (shape.has_views) {
        int64_t more = oci_message_variadic(message, from->variadic++);
        out->variadic[to->n_variadic++] = more;
        n_buffers += more;
    }
    for (int64_t i = 0; i < n_buffers; i++) {
        out->buffers[to->n_buffers++] = oci_message_buffer(message, from->buffer++);
    }
    for (int32_t i = 0; i < field->n_children; i++) {
        OC_TRY(copy_column(out, &field->children[i], message, from, err));
    }
    return OC_OK;
}

static oc_status copy_columns(oci_parts *out, const oci_field *fields, const oci_message *message,
                              const list_place *places, const int32_t *columns, int32_t n_columns,
                              oc_error *err)
{
    out->message = *message;
    out->message.version = OCI_IPC_V5;
    out->message.n_nodes = 0;
    out->message.n_buffers = 0;
    out->message.n_variadic = 0;
    for (int32_t i = 0; i < n_columns; i++) {
        int32_t column = columns != NULL ? columns[i] : i;
        list_place from = places[column];
        OC_TRY(copy_column(out, &fields[column], message, &from, err));
    }
    out->message.nodes = (const uint8_t *)out->nodes;
    out->message.buffers = (const uint8_t *)out->buffers;
    out->message.variadic = (const uint8_t *)out->variadic;
    return OC_OK;
}

oc_status oci_parts_init(oci_parts *out, const oci_field *fields, int32_t n_fields,
                         const oci_message *message, const int32_t *columns, int32_t n_columns,
                         oci_mem *mem, oc_error *err)
{
    *out = (oci_parts){.mem = mem};
    int32_t n_wanted = columns != NULL ? n_columns : n_fields;
    int64_t place_bytes = (int64_t)sizeof(list_place) * ((int64_t)n_fields + 1);
    void *places = NULL;
    OC_TRY(oci_mem_alloc(mem, place_bytes, &places, err));
    oc_status status = OC_OK;
    OC_GOTO(place_columns(fields, n_fields, message, places, err));
    OC_GOTO(allocate(out, places, columns, n_wanted, err));
    OC_GOTO(copy_columns(out, fields, message, places, columns, n_wanted, err));
done:
    oci_mem_free(mem, places, place_bytes);
    return status;
}

void oci_parts_deinit(oci_parts *parts)
{
    if (parts->block != NULL) {
        oci_mem_free(parts->mem, parts->block, parts->block_bytes);
    }
    *parts = (oci_parts){0};
}

/* ---- questions ------------------------------------------------------------------------------- */

bool oci_parts_are_ascending(const oci_parts *parts)
{
    int64_t end = 0;
    for (int64_t i = 0; i < parts->message.n_buffers; i++) {
        const oci_ipc_buffer *buffer = &parts->buffers[i];
        if (buffer->length > 0) {
            if (buffer->offset < end) {
                return false;
            }
            end = buffer->offset + buffer->length;
        }
    }
    return true;
}

int64_t oci_parts_bytes(const oci_parts *parts)
{
    int64_t total = 0;
    for (int64_t i = 0; i < parts->message.n_buffers; i++) {
        /* Buffers may share bytes, so that the sum could be anything: it is only used to
         * compare. */
        total = oci_min64(total, INT64_MAX / 2) +
                oci_min64(parts->buffers[i].length, INT64_MAX / 2);
    }
    return total;
}
