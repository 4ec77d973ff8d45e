/* See encoder_buffers.h. */
#include "ipc/encoder_buffers.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"
#include "base/hash.h"

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
static oc_status visit_views(const oci_column *column, oci_buffer_visitor visit, void *arg,
                             int64_t *n_variadic, oc_error *err)
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
    OC_TRY(visit(arg, &views, err));
    if (compact) {
        oci_buffer_source bytes = {.kind = OCI_SOURCE_VIEW_BYTES, .size = used, .column = column};
        *n_variadic = used > 0 ? 1 : 0;
        return used > 0 ? visit(arg, &bytes, err) : OC_OK;
    }
    *n_variadic = column->n_view_buffers;
    for (int32_t i = 0; i < column->n_view_buffers; i++) {
        oci_buffer_source bytes = {.kind = OCI_SOURCE_BYTES,
                                   .size = column->view_sizes[i],
                                   .data = column->view_buffers[i]};
        OC_TRY(visit(arg, &bytes, err));
    }
    return OC_OK;
}

/* ---- the other layouts ----------------------------------------------------------------------- */

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

static int64_t load_offset(const uint8_t *at, int width)
{
    return width == 4 ? (int32_t)oci_load_le32(at) : (int64_t)oci_load_le64(at);
}

static oc_status visit_strings(const oci_column *column, int width, oci_buffer_visitor visit,
                               void *arg, oc_error *err)
{
    oci_buffer_source offsets = {.kind = OCI_SOURCE_BYTES, .size = width, .data = zero_offset};
    oci_buffer_source bytes = {.kind = OCI_SOURCE_BYTES};
    if (column->length > 0) {
        offsets.data = column->values + width * column->offset;
        offsets.n = column->length + 1;
        offsets.size = width * offsets.n;
        offsets.start = load_offset(offsets.data, width);
        if (offsets.start != 0) {
            offsets.kind = width == 4 ? OCI_SOURCE_OFFSETS32 : OCI_SOURCE_OFFSETS64;
        }
        bytes.size = load_offset(offsets.data + width * column->length, width) - offsets.start;
        bytes.data = bytes.size > 0 ? column->bytes + offsets.start : NULL;
    }
    OC_TRY(visit(arg, &offsets, err));
    return visit(arg, &bytes, err);
}

static oc_status visit_values(const oci_column *column, oci_buffer_visitor visit, void *arg,
                              int64_t *n_variadic, oc_error *err)
{
    oci_buffer_source source = {.kind = OCI_SOURCE_BYTES};
    int64_t width = column->field->byte_width;
    switch (oci_field_layout(column->field)) {
    case OCI_LAYOUT_BITS:
        source = bits_source(column->values, column->offset, column->length);
        return visit(arg, &source, err);
    case OCI_LAYOUT_FIXED:
    case OCI_LAYOUT_DICTIONARY:
        source.size = width * column->length;
        source.data = source.size > 0 ? column->values + width * column->offset : NULL;
        return visit(arg, &source, err);
    case OCI_LAYOUT_OFFSETS32: return visit_strings(column, 4, visit, arg, err);
    case OCI_LAYOUT_OFFSETS64: return visit_strings(column, 8, visit, arg, err);
    case OCI_LAYOUT_VIEWS: return visit_views(column, visit, arg, n_variadic, err);
    case OCI_LAYOUT_NULL:
    default: break;
    }
    assert(!"unsupported types are refused with the schema");
    return OC_OK;
}

oc_status oci_column_visit(const oci_column *column, oci_buffer_visitor visit, void *arg,
                           int64_t *n_variadic, oc_error *err)
{
    *n_variadic = -1;
    if (oci_field_layout(column->field) == OCI_LAYOUT_NULL) {
        return OC_OK;
    }
    oci_buffer_source validity = {.kind = OCI_SOURCE_BYTES};
    if (oci_column_null_count(column) > 0) {
        validity = bits_source(column->validity, column->offset, column->length);
    }
    OC_TRY(visit(arg, &validity, err));
    return visit_values(column, visit, arg, n_variadic, err);
}

void oci_buffer_source_copy(const oci_buffer_source *source, uint8_t *to)
{
    if (source->size == 0) {
        return;
    }
    switch (source->kind) {
    case OCI_SOURCE_BYTES: memcpy(to, source->data, (size_t)source->size); break;
    case OCI_SOURCE_BITS:
        to[source->size - 1] = 0;
        oci_bits_copy(to, 0, source->data, source->start, source->n);
        break;
    case OCI_SOURCE_OFFSETS32:
        for (int64_t i = 0; i < source->n; i++) {
            oci_store_le32(to + 4 * i,
                           oci_load_le32(source->data + 4 * i) - (uint32_t)source->start);
        }
        break;
    case OCI_SOURCE_OFFSETS64:
        for (int64_t i = 0; i < source->n; i++) {
            oci_store_le64(to + 8 * i,
                           oci_load_le64(source->data + 8 * i) - (uint64_t)source->start);
        }
        break;
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
    oci_layout layout = oci_field_layout(column->field);
    int64_t width = column->field->byte_width;
    for (int64_t row = 0; row < column->length; row++) {
        int64_t size = oci_column_is_null(column, row) ? -1 : width;
        const uint8_t *bytes;
        uint8_t bit;
        if (size < 0) {
            bytes = NULL;
        } else if (layout == OCI_LAYOUT_FIXED) {
            bytes = column->values + width * (column->offset + row);
        } else if (layout == OCI_LAYOUT_BITS) {
            bit = oci_bit_get(column->values, column->offset + row);
            bytes = &bit;
            size = 1;
        } else {
            bytes = oci_column_bytes_at(column, row, &size);
        }
        XXH3_128bits_update(state, &size, sizeof size);
        if (size > 0) {
            XXH3_128bits_update(state, bytes, (size_t)size);
        }
    }
}

void oci_column_fingerprint(const oci_column *column, uint64_t out[2])
{
    fingerprint print = {.as_it_lies = true};
    int64_t n_variadic = 0;
    /* The two ways have different seeds: what they hash differs. */
    XXH3_128bits_reset_withSeed(&print.state, (XXH64_hash_t)column->length);
    oc_status status = oci_column_visit(column, hash_buffer, &print, &n_variadic, NULL);
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
