/* Gather: strings and binary. Sources hold offsets or views, the output always offsets.
 *
 * Rows are handled in blocks of STAGED_ROWS, in two steps: first every value's address and length
 * is looked up and its first line fetched, then the values are copied one behind the other. So the
 * misses on offsets overlap with each other, and the copies find their lines in the cache.
 *
 * Values are copied blindly, see oci_gather_copy_value(). */
#include "arrow/gather_internal.h"

#define STAGED_ROWS 128

typedef struct staged_values {
    const uint8_t *from[STAGED_ROWS];
    int64_t length[STAGED_ROWS];
    int64_t readable[STAGED_ROWS]; /* bytes that exist from `from` on */
} staged_values;

/* ---- where a value lies ---------------------------------------------------------------------- */

static inline oci_view load_view(const oci_gather_input *in, uint32_t row)
{
    oci_view view;
    memcpy(&view, in->values + (int64_t)row * (int64_t)sizeof view, sizeof view);
    return view;
}

static bool view_is_sane(const oci_column *column, const oci_view *view)
{
    if (view->length <= (int32_t)sizeof view->inlined) {
        return view->length >= 0;
    }
    return view->ref.buffer >= 0 && view->ref.buffer < column->n_view_buffers &&
           view->ref.offset >= 0 &&
           (int64_t)view->ref.offset + view->length <= column->view_sizes[view->ref.buffer];
}

static void stage_view(const oci_gather_input *in, uint32_t row, staged_values *staged, int64_t k)
{
    oci_view view = load_view(in, row);
    staged->length[k] = view.length;
    if (view.length <= (int32_t)sizeof view.inlined) {
        staged->from[k] = in->values + (int64_t)row * (int64_t)sizeof view +
                          offsetof(oci_view, inlined);
        staged->readable[k] = in->bytes_end - staged->from[k];
    } else {
        staged->from[k] = in->column->view_buffers[view.ref.buffer] + view.ref.offset;
        staged->readable[k] = in->column->view_sizes[view.ref.buffer] - view.ref.offset;
    }
}

/* ---- scan ------------------------------------------------------------------------------------ */

typedef struct scan_result {
    int64_t n_bytes;
    bool has_nulls;
    bool is_sane;
} scan_result;

static inline __attribute__((always_inline)) scan_result scan_offsets(
    const oci_gather_input *inputs, const oci_row_ref *rows, int64_t n, bool wide, bool may_be_null)
{
    int64_t n_bytes = 0;
    int64_t starts = 0; /* negative when one is */
    int64_t excess = 0; /* not 0 when a length is negative or too long */
    uint32_t all_valid = 1;
    for (int64_t i = 0; i < n; i++) {
        oci_row_ref ahead = rows[i + OCI_GATHER_AHEAD < n ? i + OCI_GATHER_AHEAD : i];
        __builtin_prefetch(inputs[ahead.source].values + (int64_t)ahead.row * (wide ? 8 : 4));
        const oci_gather_input *in = &inputs[rows[i].source];
        int64_t start;
        int64_t end;
        oci_gather_load_offsets(in, rows[i].row, wide, &start, &end);
        int64_t length = (int64_t)((uint64_t)end - (uint64_t)start);
        starts |= start;
        excess |= length >> OCI_GATHER_VALUE_BITS;
        if (may_be_null) {
            uint32_t valid = oci_gather_is_valid(in, rows[i].row);
            all_valid &= valid;
            length &= -(int64_t)valid;
        }
        n_bytes = (int64_t)((uint64_t)n_bytes + (uint64_t)length);
    }
    return (scan_result){
        .n_bytes = n_bytes, .has_nulls = all_valid == 0, .is_sane = starts >= 0 && excess == 0};
}

static scan_result scan_any(const oci_gather_input *inputs, const oci_row_ref *rows, int64_t n)
{
    scan_result result = {.is_sane = true};
    for (int64_t i = 0; i < n && result.is_sane; i++) {
        const oci_gather_input *in = &inputs[rows[i].source];
        if (!oci_gather_is_valid(in, rows[i].row)) {
            result.has_nulls = true;
        } else if (in->views) {
            oci_view view = load_view(in, rows[i].row);
            result.n_bytes += view.length;
            result.is_sane = view_is_sane(in->column, &view);
        } else {
            int64_t start;
            int64_t end;
            oci_gather_load_offsets(in, rows[i].row, false, &start, &end);
            result.n_bytes += end - start;
            result.is_sane = start >= 0 && end >= start;
        }
    }
    return result;
}

oc_status oci_gather_scan_bytes(oci_gather_job *job, oci_gather_column *column,
                                const oci_row_ref *rows, int64_t n, oc_error *err)
{
    const oci_gather_input *inputs = job->inputs;
    scan_result result;
    if (job->traits.has_views) {
        result = scan_any(inputs, rows, n);
    } else if (column->layout == OCI_LAYOUT_OFFSETS32) {
        result = job->traits.may_be_null ? scan_offsets(inputs, rows, n, false, true)
                                         : scan_offsets(inputs, rows, n, false, false);
    } else {
        result = job->traits.may_be_null ? scan_offsets(inputs, rows, n, true, true)
                                         : scan_offsets(inputs, rows, n, true, false);
    }
    if (!result.is_sane || (column->n_bytes + result.n_bytes) >> OCI_GATHER_COLUMN_BITS != 0) {
        OC_FAIL(err, OC_EDATA,
                "could not gather column \"%s\": the offsets of a value are out of bounds",
                column->field->name);
    }
    column->n_bytes += result.n_bytes;
    column->has_nulls |= result.has_nulls;
    return OC_OK;
}

/* ---- fill ------------------------------------------------------------------------------------ */

static inline __attribute__((always_inline)) void stage_offsets(const oci_gather_input *inputs,
                                                                const oci_row_ref *rows, int64_t n,
                                                                bool wide, staged_values *staged)
{
    for (int64_t k = 0; k < n; k++) {
        const oci_gather_input *in = &inputs[rows[k].source];
        int64_t start;
        int64_t end;
        oci_gather_load_offsets(in, rows[k].row, wide, &start, &end);
        const uint8_t *from = in->bytes + start;
        __builtin_prefetch(from);
        __builtin_prefetch(in->bytes + end); /* most often the same line */
        staged->from[k] = from;
        staged->length[k] = end - start;
        staged->readable[k] = in->bytes_end - from;
    }
}

static void stage_any(const oci_gather_input *inputs, const oci_row_ref *rows, int64_t n,
                      staged_values *staged)
{
    for (int64_t k = 0; k < n; k++) {
        const oci_gather_input *in = &inputs[rows[k].source];
        staged->from[k] = in->values;
        staged->length[k] = 0;
        staged->readable[k] = 0;
        if (!oci_gather_is_valid(in, rows[k].row)) {
            continue; /* a view in a null slot may point anywhere */
        }
        if (in->views) {
            stage_view(in, rows[k].row, staged, k);
            __builtin_prefetch(staged->from[k]);
        } else {
            int64_t start;
            int64_t end;
            oci_gather_load_offsets(in, rows[k].row, false, &start, &end);
            staged->from[k] = in->bytes + start;
            staged->length[k] = end - start;
            staged->readable[k] = in->bytes_end - staged->from[k];
        }
    }
}

static void empty_null_values(const uint8_t *validity, int64_t at, int64_t n, staged_values *staged)
{
    for (int64_t i = 0; i < n; i += 64) {
        int count = (int)oci_min64(64, n - i);
        uint64_t nulls = ~oci_bits_load(validity, at + i, count) & oci_low_mask(count);
        for (; nulls != 0; nulls &= nulls - 1) {
            staged->length[i + __builtin_ctzll(nulls)] = 0;
        }
    }
}

/* Copies a block; `offsets` are those behind its rows. Returns the new end of the bytes. */
static inline __attribute__((always_inline)) int64_t copy_staged(const staged_values *staged,
                                                                 int64_t n, bool wide,
                                                                 uint8_t *offsets, uint8_t *bytes,
                                                                 int64_t end)
{
    for (int64_t k = 0; k < n; k++) {
        oci_gather_copy_value(bytes + end, staged->from[k], staged->length[k], staged->readable[k]);
        end += staged->length[k];
        if (wide) {
            oci_store_le64(offsets + k * 8, (uint64_t)end);
        } else {
            oci_store_le32(offsets + k * 4, (uint32_t)end);
        }
    }
    return end;
}

static void stage_block(const oci_gather_job *job, const oci_gather_column *column,
                        const oci_row_ref *rows, int64_t n, int64_t at, staged_values *staged)
{
    if (job->traits.has_views) {
        stage_any(job->inputs, rows, n, staged);
        return;
    }
    if (column->layout == OCI_LAYOUT_OFFSETS64) {
        stage_offsets(job->inputs, rows, n, true, staged);
    } else {
        stage_offsets(job->inputs, rows, n, false, staged);
    }
    if (column->has_nulls) {
        empty_null_values(job->slab + column->validity_at, at, n, staged);
    }
}

void oci_gather_fill_bytes(oci_gather_job *job, oci_gather_column *column, const oci_row_ref *rows,
                           int64_t n, int64_t at)
{
    staged_values staged;
    bool wide = column->layout == OCI_LAYOUT_OFFSETS64;
    int64_t width = wide ? 8 : 4;
    uint8_t *offsets = job->slab + column->values_at;
    uint8_t *bytes = job->slab + column->bytes_at;
    int64_t end = column->n_bytes_filled;
    if (at == 0) {
        memset(offsets, 0, (size_t)width);
    }
    for (int64_t i = 0; i < n; i += STAGED_ROWS) {
        int64_t count = oci_min64(STAGED_ROWS, n - i);
        uint8_t *ends = offsets + (at + i + 1) * width;
        stage_block(job, column, rows + i, count, at + i, &staged);
        end = wide ? copy_staged(&staged, count, true, ends, bytes, end)
                   : copy_staged(&staged, count, false, ends, bytes, end);
    }
    column->n_bytes_filled = end;
    oci_gather_pad(offsets, (at + n + 1) * width);
    oci_gather_pad(bytes, end);
}

/* ---- ranges ---------------------------------------------------------------------------------- */

int64_t oci_gather_range_span(const oci_gather_job *job, const oci_gather_column *column, int64_t n)
{
    const oci_gather_input *in = &job->inputs[0];
    int64_t first;
    int64_t last;
    int64_t ignored;
    oci_gather_load_offsets(in, 0, column->layout == OCI_LAYOUT_OFFSETS64, &first, &ignored);
    oci_gather_load_offsets(in, n - 1, column->layout == OCI_LAYOUT_OFFSETS64, &ignored, &last);
    return first < 0 || last < first || (last - first) >> OCI_GATHER_COLUMN_BITS != 0
               ? -1
               : last - first;
}

void oci_gather_range_offsets(oci_gather_job *job, oci_gather_column *column, int64_t n, bool wide)
{
    const oci_gather_input *in = &job->inputs[0];
    uint8_t *offsets = job->slab + column->values_at;
    memset(offsets, 0, wide ? 8 : 4);
    if (wide) {
        uint64_t first = n == 0 ? 0 : oci_load_le64(in->values);
        for (int64_t i = 1; i <= n; i++) {
            oci_store_le64(offsets + i * 8, oci_load_le64(in->values + i * 8) - first);
        }
    } else {
        uint32_t first = n == 0 ? 0 : oci_load_le32(in->values);
        for (int64_t i = 1; i <= n; i++) {
            oci_store_le32(offsets + i * 4, oci_load_le32(in->values + i * 4) - first);
        }
    }
    oci_gather_pad(offsets, (n + 1) * (wide ? 8 : 4));
}

void oci_gather_range_bytes(oci_gather_job *job, oci_gather_column *column, int64_t n)
{
    const oci_gather_input *in = &job->inputs[0];
    uint8_t *bytes = job->slab + column->bytes_at;
    bool wide = column->layout == OCI_LAYOUT_OFFSETS64;
    oci_gather_range_offsets(job, column, n, wide);
    if (column->n_bytes > 0) {
        int64_t first;
        int64_t end;
        oci_gather_load_offsets(in, 0, wide, &first, &end);
        memcpy(bytes, in->bytes + first, (size_t)column->n_bytes);
    }
    oci_gather_pad(bytes, column->n_bytes);
}
