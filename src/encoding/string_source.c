/* One loop per layout over where strings begin and end; nulls are made empty afterwards, so that
 * columns without nulls pay nothing for them. */
#include "encoding/string_source.h"

#include "base/bits.h"

void oci_string_source_init(oci_string_source *source, const oci_column *column)
{
    static const uint8_t nothing[1];
    *source = (oci_string_source){.column = column,
                                  .layout = oci_field_layout(column->field),
                                  .n = column->length,
                                  .bytes = column->bytes != NULL ? column->bytes : nothing,
                                  .width = column->field->byte_width};
    if (column->validity != NULL && oci_column_null_count(column) != 0) {
        source->validity = column->validity;
    }
    if (source->n == 0) {
        return;
    }
    switch (source->layout) {
    case OCI_LAYOUT_OFFSETS32:
        source->values = column->values + column->offset * 4;
        source->end = source->bytes + (int32_t)oci_load_le32(source->values + source->n * 4);
        break;
    case OCI_LAYOUT_OFFSETS64:
        source->values = column->values + column->offset * 8;
        source->end = source->bytes + (int64_t)oci_load_le64(source->values + source->n * 8);
        break;
    case OCI_LAYOUT_VIEWS:
        source->values = column->values + column->offset * (int64_t)sizeof(oci_view);
        source->end = source->values + source->n * (int64_t)sizeof(oci_view);
        break;
    default:
        source->values = (column->values != NULL ? column->values : nothing) +
                         column->offset * source->width;
        source->end = source->values + source->n * source->width;
        break;
    }
}

/* ---- lengths --------------------------------------------------------------------------------- */

static void clear_nulls(const oci_string_source *source, int64_t start, int64_t n,
                        uint64_t *lengths)
{
    const uint8_t *validity = source->validity;
    int64_t bit = source->column->offset + start;
    for (int64_t i = 0; i < n; i += 64) {
        int count = (int)oci_min64(64, n - i);
        uint64_t nulls = ~oci_bits_load(validity, bit + i, count) & oci_low_mask(count);
        for (; nulls != 0; nulls &= nulls - 1) {
            lengths[i + __builtin_ctzll(nulls)] = 0;
        }
    }
}

void oci_string_source_lengths(const void *arg, int64_t start, int64_t n, uint64_t *out)
{
    const oci_string_source *source = arg;
    const uint8_t *values = source->values;
    switch (source->layout) {
    case OCI_LAYOUT_OFFSETS32:
        for (int64_t i = 0; i < n; i++) {
            const uint8_t *at = values + (start + i) * 4;
            out[i] = (uint32_t)(oci_load_le32(at + 4) - oci_load_le32(at));
        }
        break;
    case OCI_LAYOUT_OFFSETS64:
        for (int64_t i = 0; i < n; i++) {
            const uint8_t *at = values + (start + i) * 8;
            out[i] = oci_load_le64(at + 8) - oci_load_le64(at);
        }
        break;
    case OCI_LAYOUT_VIEWS:
        for (int64_t i = 0; i < n; i++) {
            out[i] = oci_load_le32(values + (start + i) * (int64_t)sizeof(oci_view));
        }
        break;
    default:
        for (int64_t i = 0; i < n; i++) {
            out[i] = (uint64_t)source->width;
        }
        break;
    }
    if (source->validity != NULL) {
        clear_nulls(source, start, n, out);
    }
}

/* ---- places ---------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void stage_offsets(const oci_string_source *source,
                                                                int64_t start, int64_t n, bool wide,
                                                                oci_string_stage *out)
{
    const uint8_t *values = source->values + start * (wide ? 8 : 4);
    for (int64_t i = 0; i < n; i++) {
        int64_t from = wide ? (int64_t)oci_load_le64(values + i * 8)
                            : (int32_t)oci_load_le32(values + i * 4);
        int64_t to = wide ? (int64_t)oci_load_le64(values + i * 8 + 8)
                          : (int32_t)oci_load_le32(values + i * 4 + 4);
        out->at[i] = source->bytes + from;
        out->length[i] = to - from;
        out->readable[i] = source->end - out->at[i];
    }
}

static void stage_views(const oci_string_source *source, int64_t start, int64_t n,
                        oci_string_stage *out)
{
    const oci_column *column = source->column;
    for (int64_t i = 0; i < n; i++) {
        const uint8_t *at = source->values + (start + i) * (int64_t)sizeof(oci_view);
        int64_t bit = column->offset + start + i;
        if (source->validity != NULL && !oci_bit_get(source->validity, bit)) {
            out->at[i] = at; /* what a null refers to may not exist */
            out->length[i] = 0;
            out->readable[i] = source->end - at;
            continue;
        }
        oci_view view;
        memcpy(&view, at, sizeof view);
        out->length[i] = view.length;
        if (view.length <= (int32_t)sizeof view.inlined) {
            out->at[i] = at + offsetof(oci_view, inlined);
            out->readable[i] = source->end - out->at[i];
        } else {
            out->at[i] = column->view_buffers[view.ref.buffer] + view.ref.offset;
            out->readable[i] = column->view_sizes[view.ref.buffer] - view.ref.offset;
        }
    }
}

static void pad_short(int64_t n, oci_string_stage *stage)
{
    for (int64_t i = 0; i < n; i++) {
        if (stage->readable[i] < 16) {
            memset(stage->padded[i], 0, 16);
            if (stage->length[i] > 0) {
                memcpy(stage->padded[i], stage->at[i], (size_t)stage->length[i]);
            }
            stage->at[i] = stage->padded[i];
            stage->readable[i] = 16;
        }
    }
}

void oci_string_source_stage(const oci_string_source *source, int64_t start, int64_t n,
                             oci_string_stage *out)
{
    switch (source->layout) {
    case OCI_LAYOUT_OFFSETS32: stage_offsets(source, start, n, false, out); break;
    case OCI_LAYOUT_OFFSETS64: stage_offsets(source, start, n, true, out); break;
    case OCI_LAYOUT_VIEWS: stage_views(source, start, n, out); break;
    default:
        for (int64_t i = 0; i < n; i++) {
            out->at[i] = source->values + (start + i) * source->width;
            out->length[i] = source->width;
            out->readable[i] = source->end - out->at[i];
        }
        break;
    }
    if (source->validity != NULL) {
        clear_nulls(source, start, n, (uint64_t *)out->length);
    }
    pad_short(n, out);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

void oci_string_source_measure(const oci_string_source *source, int64_t *total, int64_t *longest)
{
    *total = 0;
    *longest = 0;
    if (source->n == 0) {
        return;
    }
    if (source->layout == OCI_LAYOUT_FIXED) {
        *total = source->end - source->values;
        *longest = source->width;
    } else if (source->layout != OCI_LAYOUT_VIEWS) {
        int64_t first = source->layout == OCI_LAYOUT_OFFSETS32
                            ? (int32_t)oci_load_le32(source->values)
                            : (int64_t)oci_load_le64(source->values);
        *total = source->end - (source->bytes + first);
        *longest = *total;
    } else {
        uint64_t lengths[OCI_PAGE_VALUES];
        for (int64_t at = 0; at < source->n; at += OCI_PAGE_VALUES) {
            int64_t n = oci_min64(OCI_PAGE_VALUES, source->n - at);
            oci_string_source_lengths(source, at, n, lengths);
            for (int64_t i = 0; i < n; i++) {
                *total += (int64_t)lengths[i];
                *longest = oci_max64(*longest, (int64_t)lengths[i]);
            }
        }
    }
}
