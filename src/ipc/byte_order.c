/* See byte_order.h. Values are turned by plain loops over the bytes of a buffer; which of them, the
 * kind of the buffer and the type say. Null slots are turned like others: what they hold means
 * nothing in either order. */
#include "ipc/byte_order.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"

/* ---- values ---------------------------------------------------------------------------------- */

static void swap2(uint8_t *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof value);
    value = __builtin_bswap16(value);
    memcpy(at, &value, sizeof value);
}

static void swap4(uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    value = __builtin_bswap32(value);
    memcpy(at, &value, sizeof value);
}

static void swap8(uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    value = __builtin_bswap64(value);
    memcpy(at, &value, sizeof value);
}

/* An integer of any multiple of 16 bytes. */
static void swap_wide(uint8_t *at, int64_t width)
{
    for (int64_t low = 0, high = width - 8; low < high; low += 8, high -= 8) {
        uint64_t a, b;
        memcpy(&a, at + low, sizeof a);
        memcpy(&b, at + high, sizeof b);
        a = __builtin_bswap64(a);
        b = __builtin_bswap64(b);
        memcpy(at + low, &b, sizeof b);
        memcpy(at + high, &a, sizeof a);
    }
}

static void swap_numbers(uint8_t *values, int64_t bytes, int64_t width)
{
    const uint8_t *end = values + bytes / width * width;
    switch (width) {
    case 1: break;
    case 2:
        for (uint8_t *at = values; at < end; at += 2) {
            swap2(at);
        }
        break;
    case 4:
        for (uint8_t *at = values; at < end; at += 4) {
            swap4(at);
        }
        break;
    case 8:
        for (uint8_t *at = values; at < end; at += 8) {
            swap8(at);
        }
        break;
    default:
        assert(width % 16 == 0);
        for (uint8_t *at = values; at < end; at += width) {
            swap_wide(at, width);
        }
        break;
    }
}

static void swap_month_day_nanos(uint8_t *values, int64_t bytes)
{
    for (int64_t at = 0; at + 16 <= bytes; at += 16) {
        swap4(values + at);
        swap4(values + at + 4);
        swap8(values + at + 8);
    }
}

static void swap_views(uint8_t *values, int64_t bytes)
{
    for (int64_t at = 0; at + 16 <= bytes; at += 16) {
        swap4(values + at);
        if ((int32_t)oci_load_le32(values + at) > 12) {
            swap4(values + at + 8);
            swap4(values + at + 12);
        }
    }
}

static void swap_fixed(const oci_field *field, uint8_t *values, int64_t bytes)
{
    switch (field->type) {
    case OCI_TYPE_FIXED_BINARY: break;
    case OCI_TYPE_INTERVAL_DAY_TIME: swap_numbers(values, bytes, 4); break;
    case OCI_TYPE_INTERVAL_MONTH_DAY_NANO: swap_month_day_nanos(values, bytes); break;
    default: swap_numbers(values, bytes, field->byte_width); break;
    }
}

void oci_swap_values(const oci_field *field, oci_buffer_kind kind, uint8_t *values, int64_t bytes)
{
    switch (kind) {
    case OCI_BUFFER_FIXED: swap_fixed(field, values, bytes); break;
    case OCI_BUFFER_INT32: swap_numbers(values, bytes, 4); break;
    case OCI_BUFFER_INT64: swap_numbers(values, bytes, 8); break;
    case OCI_BUFFER_VIEWS: swap_views(values, bytes); break;
    case OCI_BUFFER_VALIDITY:
    case OCI_BUFFER_BITS:
    case OCI_BUFFER_TYPE_IDS:
    case OCI_BUFFER_BYTES: break;
    }
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Where the walk through a message has come to. */
typedef struct swap_cursor {
    const oci_message *message;
    uint8_t *body;
    int64_t buffer;
    int64_t variadic;
} swap_cursor;

static void swap_field(swap_cursor *cursor, const oci_field *field)
{
    oci_node_shape shape = oci_node_shape_of(field, OCI_IPC_V5);
    for (int32_t i = 0; i < shape.n_buffers; i++) {
        oci_ipc_buffer buffer = oci_message_buffer(cursor->message, cursor->buffer++);
        oci_swap_values(field, shape.buffers[i], cursor->body + buffer.offset, buffer.length);
    }
    if (shape.has_views) {
        cursor->buffer += oci_message_variadic(cursor->message, cursor->variadic++);
    }
    for (int32_t i = 0; i < field->n_children; i++) {
        swap_field(cursor, &field->children[i]);
    }
}

void oci_swap_body(const oci_field *fields, int32_t n, const oci_message *message, uint8_t *body)
{
    assert(message->codec == OCI_CODEC_NONE && message->version == OCI_IPC_V5);
    swap_cursor cursor = {.message = message, .body = body};
    for (int32_t i = 0; i < n; i++) {
        swap_field(&cursor, &fields[i]);
    }
    assert(cursor.buffer == message->n_buffers);
}
