/* Plain columns beside others, on the way back: copied into the batch's own slab, so that the body
 * they came in, and with it the packed form of the others, need not stay in memory.
 *
 * These columns are fresh from the IPC decoder: each begins at the first row of its buffers. What is
 * copied is what its layout says its buffers have; values are not looked at. */
#include <assert.h>
#include <string.h>

#include "base/bits.h"
#include "spill/layout_internal.h"

typedef struct buffer_sizes {
    int64_t validity;
    int64_t values;
    int64_t bytes;
    int64_t sizes;
    int64_t child_offsets;
} buffer_sizes;

static int64_t last_offset(const oci_column *column, int width)
{
    const uint8_t *at = column->values + column->length * width;
    return width == 8 ? (int64_t)oci_load_le64(at) : (int32_t)oci_load_le32(at);
}

static buffer_sizes measure_buffers(const oci_column *column)
{
    int64_t rows = column->length;
    buffer_sizes sizes = {.validity = oci_bytes_for_bits(rows)};
    switch (oci_field_layout(column->field)) {
    case OCI_LAYOUT_BITS: sizes.values = oci_bytes_for_bits(rows); break;
    case OCI_LAYOUT_FIXED:
    case OCI_LAYOUT_DICTIONARY: sizes.values = rows * column->field->byte_width; break;
    case OCI_LAYOUT_OFFSETS32:
        sizes.values = 4 * (rows + 1);
        sizes.bytes = last_offset(column, 4);
        break;
    case OCI_LAYOUT_OFFSETS64:
        sizes.values = 8 * (rows + 1);
        sizes.bytes = last_offset(column, 8);
        break;
    case OCI_LAYOUT_LIST32: sizes.values = 4 * (rows + 1); break;
    case OCI_LAYOUT_LIST64: sizes.values = 8 * (rows + 1); break;
    case OCI_LAYOUT_LIST_VIEW32: sizes.values = sizes.sizes = 4 * rows; break;
    case OCI_LAYOUT_LIST_VIEW64: sizes.values = sizes.sizes = 8 * rows; break;
    case OCI_LAYOUT_VIEWS: sizes.values = (int64_t)sizeof(oci_view) * rows; break;
    case OCI_LAYOUT_SPARSE_UNION: sizes.values = rows; break;
    case OCI_LAYOUT_DENSE_UNION:
        sizes.values = rows;
        sizes.child_offsets = 4 * rows;
        break;
    default: break; /* no buffer but the validity */
    }
    return sizes;
}

static int64_t padded(const uint8_t *buffer, int64_t size)
{
    return buffer == NULL ? 0 : oci_round_up(size, OCI_LAYOUT_ALIGN);
}

void oci_plain_measure(const oci_column *column, int64_t *slab_bytes, int64_t *extra_bytes)
{
    assert(column->offset == 0);
    buffer_sizes sizes = measure_buffers(column);
    *slab_bytes += padded(column->validity, sizes.validity) + padded(column->values, sizes.values) +
                   padded(column->bytes, sizes.bytes) + padded(column->sizes, sizes.sizes) +
                   padded(column->child_offsets, sizes.child_offsets);
    for (int32_t i = 0; i < column->n_view_buffers; i++) {
        *slab_bytes += padded(column->view_buffers[i], column->view_sizes[i]);
    }
    *extra_bytes += column->n_view_buffers * (int64_t)(sizeof(uint8_t *) + sizeof(int64_t)) +
                    column->field->n_children * (int64_t)sizeof(oci_column);
    for (int32_t i = 0; i < column->field->n_children; i++) {
        oci_plain_measure(&column->children[i], slab_bytes, extra_bytes);
    }
}

static const uint8_t *copy_buffer(const uint8_t *buffer, int64_t size, oci_unpack_out *out)
{
    if (buffer == NULL) {
        return NULL;
    }
    uint8_t *to = out->slab + out->at;
    memcpy(to, buffer, (size_t)size);
    out->at += oci_round_up(size, OCI_LAYOUT_ALIGN);
    return to;
}

static void *take_extra(oci_unpack_out *out, int64_t bytes)
{
    void *at = out->extra + out->extra_at;
    out->extra_at += bytes;
    assert(out->extra_at <= out->extra_size);
    return at;
}

static void copy_view_buffers(const oci_column *column, oci_unpack_out *out, oci_column *copy)
{
    int64_t n = column->n_view_buffers;
    const uint8_t **buffers = take_extra(out, n * (int64_t)sizeof *buffers);
    int64_t *sizes = take_extra(out, n * (int64_t)sizeof *sizes);
    for (int64_t i = 0; i < n; i++) {
        buffers[i] = copy_buffer(column->view_buffers[i], column->view_sizes[i], out);
        sizes[i] = column->view_sizes[i];
    }
    copy->view_buffers = buffers;
    copy->view_sizes = sizes;
}

void oci_plain_copy(const oci_column *column, const oci_field *field, oci_unpack_out *out,
                    oci_column *copy)
{
    buffer_sizes sizes = measure_buffers(column);
    *copy = *column;
    copy->field = field;
    copy->validity = copy_buffer(column->validity, sizes.validity, out);
    copy->values = copy_buffer(column->values, sizes.values, out);
    copy->bytes = copy_buffer(column->bytes, sizes.bytes, out);
    copy->sizes = copy_buffer(column->sizes, sizes.sizes, out);
    copy->child_offsets = copy_buffer(column->child_offsets, sizes.child_offsets, out);
    if (column->n_view_buffers > 0) {
        copy_view_buffers(column, out, copy);
    }
    if (field->n_children > 0) {
        oci_column *children = take_extra(out, field->n_children * (int64_t)sizeof *children);
        copy->children = children;
        for (int32_t i = 0; i < field->n_children; i++) {
            oci_plain_copy(&column->children[i], &field->children[i], out, &children[i]);
        }
    }
}
