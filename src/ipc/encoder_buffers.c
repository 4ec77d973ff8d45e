/* See encoder_buffers.h. Recursion is as deep as the column, which is limited to OCI_NESTING_MAX
 * levels. */
#include "ipc/encoder_buffers.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"
#include "base/hash.h"
#include "ipc/layout_walk.h"

#define VIEW_BYTES      16
#define VIEW_INLINE_MAX 12

static const uint8_t zero_offset[8];

/* ---- views ----------------------------------------------------------------------------------- */

static const uint8_t *view_at(const oci_column *column, int64_t row)
{
    return column->values + VIEW_BYTES * (column->offset + row);
}

static bool is_valid(const oci_column *column, int64_t row)
{
    return column->validity == NULL || oci_bit_get(column->validity, column->offset + row);
}

/* Length of the value when it lies in a view buffer, else 0. */
static int64_t long_length(const oci_column *column, int64_t row)
{
    int32_t length = (int32_t)oci_load_le32(view_at(column, row));
    return length > VIEW_INLINE_MAX && is_valid(column, row) ? length : 0;
}

static int64_t sum_long_lengths(const oci_column *column)
{
    int64_t sum = 0;
    for (int64_t row = 0; row < column->length; row++) {
        sum += long_length(column, row);
    }
    return sum;
}

/* Null slots may hold anything, so they become empty: other readers check what views say. */
static void copy_views(const oci_buffer_source *source, uint8_t *to)
{
    const oci_column *column = source->column;
    uint32_t next = 0; /* where the next long value begins in the one buffer */
    for (int64_t row = 0; row < column->length; row++, to += VIEW_BYTES) {
        if (!is_valid(column, row)) {
            memset(to, 0, VIEW_BYTES);
            continue;
        }
        memcpy(to, view_at(column, row), VIEW_BYTES);
        int64_t length = long_length(column, row);
        if (source->compact && length > 0) {
            oci_store_le32(to + 8, 0);
            oci_store_le32(to + 12, next);
            next += (uint32_t)length;
        }
    }
}

static void copy_view_bytes(const oci_buffer_source *source, uint8_t *to)
{
    const oci_column *column = source->column;
    for (int64_t row = 0; row < column->length; row++) {
        int64_t length = long_length(column, row);
        if (length > 0) {
            const uint8_t *view = view_at(column, row);
            const uint8_t *buffer = column->view_buffers[oci_load_le32(view + 8)];
            memcpy(to, buffer + oci_load_le32(view + 12), (size_t)length);
            to += length;
        }
    }
}

/* The views, and their bytes: all buffers as they are, or one that holds only what is used when
 * that saves half of them. */
static oc_status visit_views(const oci_column *column, const oci_column_visitor *visitor,
                             oc_error *err)
{
    int64_t used = sum_long_lengths(column);
    int64_t total = 0;
    for (int32_t i = 0; i < column->n_view_buffers; i++) {
        total += column->view_sizes[i];
    }
    bool compact = used <= total / 2 && used <= INT32_MAX;
    oci_buffer_source views = {.kind = OCI_SOURCE_VIEWS,
                               .size = VIEW_BYTES * column->length,
                               .column = column,
                               .compact = compact};
    OC_TRY(visitor->buffer(visitor->arg, &views, err));
    int64_t n = compact ? used > 0 : column->n_view_buffers;
    for (int64_t i = 0; i < n; i++) {
        oci_buffer_source bytes = {.kind = OCI_SOURCE_VIEW_BYTES, .size = used, .column = column};
        if (!compact) {
            bytes = (oci_buffer_source){.kind = OCI_SOURCE_BYTES,
                                        .size = column->view_sizes[i],
                                        .data = column->view_buffers[i]};
        }
        OC_TRY(visitor->buffer(visitor->arg, &bytes, err));
    }
    if (visitor->views != NULL) {
        visitor->views(visitor->arg, n);
    }
    return OC_OK;
}

/* ---- other flat columns ----------------------------------------------------------------------- */

/* A bitmap that begins on a byte and has no foreign bits in its last one can be taken as it
 * lies. */
static oci_buffer_source bits_source(const uint8_t *bits, int64_t start, int64_t n)
{
    oci_buffer_source source = {.kind = OCI_SOURCE_BITS,
                                .size = oci_bytes_for_bits(n),
                                .data = bits,
                                .n = n,
                                .start = start};
    if (n > 0 && start % 8 == 0) {
        const uint8_t *first = bits + start / 8;
        bool clean = n % 8 == 0 || first[source.size - 1] >> (n % 8) == 0;
        if (clean) {
            source.kind = OCI_SOURCE_BYTES;
            source.data = first;
        }
    }
    return source;
}

/* `size` bytes at `data`. */
static oc_status visit_bytes(const oci_column_visitor *visitor, const uint8_t *data, int64_t size,
                             oc_error *err)
{
    oci_buffer_source source = {.kind = OCI_SOURCE_BYTES, .size = size, .data = data};
    return visitor->buffer(visitor->arg, &source, err);
}

/* Values of one width. */
static oc_status visit_fixed(const oci_column *column, int64_t width,
                             const oci_column_visitor *visitor, oc_error *err)
{
    int64_t size = width * column->length;
    return visit_bytes(visitor, size > 0 ? column->values + width * column->offset : NULL, size,
                       err);
}

/* Offsets of strings and lists. */
static oc_status visit_offsets(const oci_column *column, int width, oci_row_range range,
                               const oci_column_visitor *visitor, oc_error *err)
{
    oci_buffer_source offsets = {.kind = OCI_SOURCE_BYTES, .size = width, .data = zero_offset};
    offsets.is_spare = column->length == 0;
    if (column->length > 0) {
        offsets.data = column->values + width * column->offset;
        offsets.size = width * (column->length + 1);
        offsets.column = column;
        offsets.range = range;
        offsets.kind = range.start != 0 ? OCI_SOURCE_OFFSETS : OCI_SOURCE_BYTES;
    }
    return visitor->buffer(visitor->arg, &offsets, err);
}

static oc_status visit_strings(const oci_column *column, int width,
                               const oci_column_visitor *visitor, oc_error *err)
{
    oci_row_range range = oci_column_bytes_range(column);
    OC_TRY(visit_offsets(column, width, range, visitor, err));
    return visit_bytes(visitor, range.length > 0 ? column->bytes + range.start : NULL, range.length,
                       err);
}

/* ---- nested columns -------------------------------------------------------------------------- */

static oc_status visit_child(const oci_column *column, int32_t i, oci_row_range range,
                             const oci_column_visitor *visitor, oc_error *err)
{
    oci_column child = oci_column_child_view(column, i, range);
    return oci_column_visit(&child, visitor, err);
}

static oc_status visit_children(const oci_column *column, const oci_column_visitor *visitor,
                                oc_error *err)
{
    for (int32_t i = 0; i < column->field->n_children; i++) {
        OC_TRY(visit_child(column, i, oci_column_child_range(column, i), visitor, err));
    }
    return OC_OK;
}

static oc_status visit_list(const oci_column *column, int width, const oci_column_visitor *visitor,
                            oc_error *err)
{
    oci_row_range range = oci_column_child_range(column, 0);
    OC_TRY(visit_offsets(column, width, range, visitor, err));
    return visit_child(column, 0, range, visitor, err);
}

static oc_status visit_list_view(const oci_column *column, int width,
                                 const oci_column_visitor *visitor, oc_error *err)
{
    oci_buffer_source source = {.kind = OCI_SOURCE_LIST_VIEW_OFFSETS,
                                .size = width * column->length,
                                .column = column,
                                .range = oci_column_child_range(column, 0)};
    OC_TRY(visitor->buffer(visitor->arg, &source, err));
    source.kind = OCI_SOURCE_LIST_VIEW_SIZES;
    OC_TRY(visitor->buffer(visitor->arg, &source, err));
    return visit_child(column, 0, source.range, visitor, err);
}

static oc_status visit_dense_union(const oci_column *column, const oci_column_visitor *visitor,
                                   oc_error *err)
{
    OC_TRY(visit_fixed(column, 1, visitor, err));
    oci_buffer_source offsets = {.kind = OCI_SOURCE_BYTES,
                                 .size = 4 * column->length,
                                 .data = column->child_offsets + 4 * column->offset,
                                 .column = column};
    for (int32_t i = 0; i < column->field->n_children; i++) {
        if (oci_column_child_range(column, i).start != 0) {
            offsets.kind = OCI_SOURCE_UNION_OFFSETS;
        }
    }
    OC_TRY(visitor->buffer(visitor->arg, &offsets, err));
    return visit_children(column, visitor, err);
}

/* The run ends are made for a slice, whose first run begins and whose last one ends inside. */
static oc_status visit_runs(const oci_column *column, const oci_column_visitor *visitor,
                            oc_error *err)
{
    const oci_column *run_ends = &column->children[0];
    oci_row_range range = oci_column_child_range(column, 0);
    int64_t width = run_ends->field->byte_width;
    oci_buffer_source source = {.kind = OCI_SOURCE_RUN_ENDS,
                                .size = width * range.length,
                                .data = run_ends->values + width * run_ends->offset,
                                .column = column,
                                .range = range};
    if (column->offset == 0 && range.length > 0 &&
        oci_column_run_end(run_ends, range.length - 1) == column->length) {
        source.kind = OCI_SOURCE_BYTES;
    }
    if (visitor->node != NULL) {
        visitor->node(visitor->arg, range.length, 0);
    }
    OC_TRY(visit_bytes(visitor, NULL, 0, err));
    OC_TRY(visitor->buffer(visitor->arg, &source, err));
    return visit_child(column, 1, range, visitor, err);
}

/* ---- columns --------------------------------------------------------------------------------- */

static oc_status visit_values(const oci_column *column, const oci_column_visitor *visitor,
                              oc_error *err)
{
    switch (oci_field_layout(column->field)) {
    case OCI_LAYOUT_BITS: {
        oci_buffer_source source = bits_source(column->values, column->offset, column->length);
        return visitor->buffer(visitor->arg, &source, err);
    }
    case OCI_LAYOUT_FIXED:
    case OCI_LAYOUT_DICTIONARY: return visit_fixed(column, column->field->byte_width, visitor, err);
    case OCI_LAYOUT_OFFSETS32: return visit_strings(column, 4, visitor, err);
    case OCI_LAYOUT_OFFSETS64: return visit_strings(column, 8, visitor, err);
    case OCI_LAYOUT_VIEWS: return visit_views(column, visitor, err);
    case OCI_LAYOUT_LIST32: return visit_list(column, 4, visitor, err);
    case OCI_LAYOUT_LIST64: return visit_list(column, 8, visitor, err);
    case OCI_LAYOUT_LIST_VIEW32: return visit_list_view(column, 4, visitor, err);
    case OCI_LAYOUT_LIST_VIEW64: return visit_list_view(column, 8, visitor, err);
    case OCI_LAYOUT_FIXED_LIST:
    case OCI_LAYOUT_STRUCT: return visit_children(column, visitor, err);
    case OCI_LAYOUT_SPARSE_UNION:
        OC_TRY(visit_fixed(column, 1, visitor, err));
        return visit_children(column, visitor, err);
    case OCI_LAYOUT_DENSE_UNION: return visit_dense_union(column, visitor, err);
    case OCI_LAYOUT_RUN_ENDS: return visit_runs(column, visitor, err);
    case OCI_LAYOUT_NULL:
    case OCI_LAYOUT_UNKNOWN: break;
    }
    return OC_OK;
}

static bool has_validity(const oci_column *column)
{
    oci_node_shape shape = oci_node_shape_of(column->field, OCI_IPC_V5);
    return shape.n_buffers > 0 && shape.buffers[0] == OCI_BUFFER_VALIDITY;
}

oc_status oci_column_visit(const oci_column *column, const oci_column_visitor *visitor,
                           oc_error *err)
{
    int64_t null_count = oci_column_null_count(column);
    if (visitor->node != NULL) {
        visitor->node(visitor->arg, column->length, null_count);
    }
    if (has_validity(column)) {
        oci_buffer_source validity = {.kind = OCI_SOURCE_BYTES};
        if (null_count > 0) {
            validity = bits_source(column->validity, column->offset, column->length);
        }
        OC_TRY(visitor->buffer(visitor->arg, &validity, err));
    }
    return visit_values(column, visitor, err);
}

void oci_buffer_source_copy(const oci_buffer_source *source, uint8_t *to)
{
    const oci_column *column = source->column;
    if (source->size == 0) {
        return;
    }
    switch (source->kind) {
    case OCI_SOURCE_BYTES: memcpy(to, source->data, (size_t)source->size); break;
    case OCI_SOURCE_BITS:
        to[source->size - 1] = 0;
        oci_bits_copy(to, 0, source->data, source->start, source->n);
        break;
    case OCI_SOURCE_OFFSETS: oci_write_list_offsets(column, source->range, 0, to); break;
    case OCI_SOURCE_LIST_VIEW_OFFSETS:
        oci_write_list_view_offsets(column, source->range, 0, to);
        break;
    case OCI_SOURCE_LIST_VIEW_SIZES: oci_write_list_view_sizes(column, to); break;
    case OCI_SOURCE_UNION_OFFSETS:
        for (int32_t i = 0; i < column->field->n_children; i++) {
            oci_write_union_offsets(column, i, oci_column_child_range(column, i), 0, to);
        }
        break;
    case OCI_SOURCE_RUN_ENDS: oci_write_run_ends(column, source->range, 0, to); break;
    case OCI_SOURCE_VIEWS: copy_views(source, to); break;
    case OCI_SOURCE_VIEW_BYTES: copy_view_bytes(source, to); break;
    }
}

/* ---- fingerprints ---------------------------------------------------------------------------- */

typedef struct fingerprint {
    XXH3_state_t state;
    bool as_it_lies; /* every buffer so far could be hashed as a whole */
} fingerprint;

static oc_status hash_buffer(void *arg, const oci_buffer_source *source, oc_error *err)
{
    (void)err;
    fingerprint *print = arg;
    int64_t size = source->size;
    print->as_it_lies = print->as_it_lies && (source->kind == OCI_SOURCE_BYTES || size == 0);
    if (print->as_it_lies) {
        XXH3_128bits_update(&print->state, &size, sizeof size);
        if (size > 0) {
            XXH3_128bits_update(&print->state, source->data, (size_t)size);
        }
    }
    return OC_OK;
}

/* Row by row, for columns that do not begin with their buffers. */
static void hash_rows(const oci_column *column, XXH3_state_t *state)
{
    for (int64_t row = 0; row < column->length; row++) {
        uint64_t hashes[2] = {oci_value_hash(column, row, 0), oci_value_hash(column, row, 1)};
        XXH3_128bits_update(state, hashes, sizeof hashes);
    }
}

void oci_column_fingerprint(const oci_column *column, uint64_t out[2])
{
    fingerprint print = {.as_it_lies = true};
    oci_column_visitor visitor = {.arg = &print, .buffer = hash_buffer};
    /* The two ways have different seeds: what they hash differs. */
    XXH3_128bits_reset_withSeed(&print.state, (XXH64_hash_t)column->length);
    oc_status status = oci_column_visit(column, &visitor, NULL);
    assert(status == OC_OK);
    (void)status;
    if (!print.as_it_lies) {
        XXH3_128bits_reset_withSeed(&print.state, ~(XXH64_hash_t)column->length);
        hash_rows(column, &print.state);
    }
    XXH128_hash_t hash = XXH3_128bits_digest(&print.state);
    out[0] = hash.low64;
    out[1] = hash.high64;
}
