/* Which nodes and buffers of a message belong to which column.
 *
 * The metadata lists nodes and buffers of all columns in one row; only the schema says how many
 * each column has. This walks the schema once, checks that the lists are as long as they have to
 * be, and copies what the wanted columns own. */
#include "ipc/reader_parts.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"

/* Where the parts of one column begin in the lists of the whole message. */
typedef struct column_place {
    int64_t buffer;
    int64_t n_buffers;
    int64_t variadic;
} column_place;

/* Buffers of a column without the variadic ones. */
static int64_t plain_buffers(const oci_field *field)
{
    switch (oci_field_layout(field)) {
    case OCI_LAYOUT_NULL: return 0;
    case OCI_LAYOUT_BITS:
    case OCI_LAYOUT_FIXED:
    case OCI_LAYOUT_VIEWS:
    case OCI_LAYOUT_DICTIONARY: return 2;
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64: return 3;
    default: break;
    }
    assert(!"unsupported types are refused with the schema");
    return 0;
}

static oc_status place_columns(const oci_schema *schema, const oci_message *message,
                               column_place *places, oc_error *err)
{
    if (message->n_nodes != schema->n_fields) {
        OC_FAIL(err, OC_EDATA,
                "message has %" PRId64 " nodes where the schema has %" PRId32 " columns",
                message->n_nodes, schema->n_fields);
    }
    int64_t buffer = 0;
    int64_t variadic = 0;
    for (int32_t i = 0; i < schema->n_fields; i++) {
        const oci_field *field = &schema->fields[i];
        int64_t n = plain_buffers(field);
        places[i] = (column_place){.buffer = buffer, .variadic = variadic};
        if (oci_field_layout(field) == OCI_LAYOUT_VIEWS) {
            int64_t more = variadic < message->n_variadic ? oci_message_variadic(message, variadic)
                                                          : -1;
            if (more < 0 || more > message->n_buffers) {
                OC_FAIL(err, OC_EDATA, "column \"%.80s\" has no valid count of view buffers",
                        field->name);
            }
            n += more;
            variadic++;
        }
        places[i].n_buffers = n;
        buffer += n;
        if (buffer > message->n_buffers) {
            break;
        }
    }
    if (buffer != message->n_buffers || variadic != message->n_variadic) {
        OC_FAIL(err, OC_EDATA,
                "message has %" PRId64 " buffers, which do not match the columns of the schema",
                message->n_buffers);
    }
    return OC_OK;
}

/* Sums up what the wanted columns need and gets it as one block. */
static oc_status allocate(oci_parts *out, const oci_schema *schema, const column_place *places,
                          const int32_t *columns, oc_error *err)
{
    int64_t n_buffers = 0;
    int64_t n_variadic = 0;
    for (int32_t i = 0; i < out->n_columns; i++) {
        int32_t column = columns != NULL ? columns[i] : i;
        n_buffers += places[column].n_buffers;
        n_variadic += oci_field_layout(&schema->fields[column]) == OCI_LAYOUT_VIEWS;
    }
    int64_t nodes = (int64_t)sizeof(oci_ipc_node) * out->n_columns;
    int64_t buffers = 0;
    /* A column asked for many times multiplies the buffers; the product of two 32-bit numbers
     * fits. */
    if (!oci_mul64((int64_t)sizeof(oci_ipc_buffer), n_buffers, &buffers)) {
        OC_FAIL(err, OC_EINVAL, "too many columns are asked for");
    }
    int64_t firsts = (int64_t)sizeof(int64_t) * (out->n_columns + 1);
    int64_t variadics = (int64_t)sizeof(int64_t) * n_variadic;
    out->block_bytes = nodes + buffers + firsts + variadics;
    OC_TRY(oci_mem_alloc(out->mem, out->block_bytes, &out->block, err));
    out->nodes = out->block;
    out->buffers = (oci_ipc_buffer *)(out->nodes + out->n_columns);
    out->first_buffer = (int64_t *)(out->buffers + n_buffers);
    out->variadic = out->first_buffer + out->n_columns + 1;
    return OC_OK;
}

static void copy_columns(oci_parts *out, const oci_schema *schema, const oci_message *message,
                         const column_place *places, const int32_t *columns)
{
    int64_t buffer = 0;
    int64_t variadic = 0;
    for (int32_t i = 0; i < out->n_columns; i++) {
        int32_t column = columns != NULL ? columns[i] : i;
        const column_place *place = &places[column];
        out->nodes[i] = oci_message_node(message, column);
        out->first_buffer[i] = buffer;
        for (int64_t k = 0; k < place->n_buffers; k++) {
            out->buffers[buffer++] = oci_message_buffer(message, place->buffer + k);
        }
        if (oci_field_layout(&schema->fields[column]) == OCI_LAYOUT_VIEWS) {
            out->variadic[variadic++] = oci_message_variadic(message, place->variadic);
        }
    }
    out->first_buffer[out->n_columns] = buffer;
    out->message = *message;
    out->message.n_nodes = out->n_columns;
    out->message.nodes = (const uint8_t *)out->nodes;
    out->message.n_buffers = buffer;
    out->message.buffers = (const uint8_t *)out->buffers;
    out->message.n_variadic = variadic;
    out->message.variadic = (const uint8_t *)out->variadic;
}

oc_status oci_parts_init(oci_parts *out, const oci_schema *schema, const oci_message *message,
                         const int32_t *columns, int32_t n_columns, oci_mem *mem, oc_error *err)
{
    *out = (oci_parts){.mem = mem, .n_columns = columns != NULL ? n_columns : schema->n_fields};
    int64_t place_bytes = (int64_t)sizeof(column_place) * schema->n_fields;
    void *places = NULL;
    OC_TRY(oci_mem_alloc(mem, place_bytes, &places, err));
    oc_status status = OC_OK;
    OC_GOTO(place_columns(schema, message, places, err));
    OC_GOTO(allocate(out, schema, places, columns, err));
    copy_columns(out, schema, message, places, columns);
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
