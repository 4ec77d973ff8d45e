/* Gather: values of one width or strings, none of them null, that lie in a row in their source, so that
 * they are copied as if they were one string. Those are the elements of a list: no reference per
 * element is made, and a list of 8 int64 costs a copy of 64 bytes. And rows that were asked for in
 * order: many small batches that become one, a merge of inputs that hardly overlap. For strings the
 * offsets are moved in a loop of their own.
 *
 * As in gather_bytes.c, spans are handled in blocks: look up where they lie and fetch the first
 * lines, then copy. */
#include "arrow/gather_internal.h"

#define STAGED_SPANS 128
#define LINE_BYTES   64

typedef struct staged_span {
    const uint8_t *from;
    int64_t length;   /* bytes */
    int64_t readable; /* bytes that exist from `from` on */
} staged_span;

static bool is_bytes(const oci_gather_column *column)
{
    return column->layout == OCI_LAYOUT_OFFSETS32 || column->layout == OCI_LAYOUT_OFFSETS64;
}

bool oci_gather_has_spans(const oci_gather_job *job, const oci_gather_column *column,
                          const oci_gather_rows *rows)
{
    bool follow = rows->refs != NULL ? rows->in_spans
                                     : !rows->is_range && rows->derive == OCI_GATHER_ELEMENTS;
    return follow && !job->traits.has_views &&
           (column->layout == OCI_LAYOUT_FIXED || is_bytes(column));
}

/* ---- scan ------------------------------------------------------------------------------------ */

static void prefetch_offsets(const oci_gather_job *job, const oci_gather_span *spans, int64_t n,
                             int64_t width)
{
    for (int64_t k = 0; k < n; k++) {
        const uint8_t *offsets = job->inputs[spans[k].source].values + spans[k].row * width;
        __builtin_prefetch(offsets);
        __builtin_prefetch(offsets + spans[k].n * width);
    }
}

/* Where the strings of a span begin and end. */
static inline void load_ends(const oci_gather_input *in, const oci_gather_span *span, bool wide,
                             int64_t *start, int64_t *end)
{
    int64_t ignored;
    oci_gather_load_offsets(in, span->row, wide, start, &ignored);
    oci_gather_load_offsets(in, span->row + span->n - 1, wide, &ignored, end);
}

oc_status oci_gather_scan_spans(oci_gather_job *job, oci_gather_column *column,
                                oci_gather_rows *rows, oc_error *err)
{
    oci_gather_span spans[STAGED_SPANS];
    bool wide = column->layout == OCI_LAYOUT_OFFSETS64;
    int64_t n;
    OC_TRY(oci_gather_rows_begin(job, rows, err));
    do {
        OC_TRY(oci_gather_spans_next(job, rows, spans, STAGED_SPANS, &n, err));
        prefetch_offsets(job, spans, n, wide ? 8 : 4);
        for (int64_t k = 0; k < n; k++) {
            int64_t start;
            int64_t end;
            load_ends(&job->inputs[spans[k].source], &spans[k], wide, &start, &end);
            if (start < 0 || end < start || (end - start) >> OCI_GATHER_VALUE_BITS != 0 ||
                (column->n_bytes + end - start) >> OCI_GATHER_COLUMN_BITS != 0) {
                OC_FAIL(err, OC_EDATA,
                        "could not gather column \"%.80s\": the offsets of a value are out of "
                        "bounds",
                        column->field->name);
            }
            column->n_bytes += end - start;
        }
    } while (n == STAGED_SPANS);
    return OC_OK;
}

/* ---- fill ------------------------------------------------------------------------------------ */

static void stage_values(const oci_gather_job *job, const oci_gather_span *spans, int64_t n,
                         int64_t width, staged_span *staged)
{
    for (int64_t k = 0; k < n; k++) {
        const oci_gather_input *in = &job->inputs[spans[k].source];
        const oci_column *column = in->column;
        const uint8_t *end = column->values + (column->offset + column->length) * width;
        staged[k].from = in->values + spans[k].row * width;
        staged[k].length = spans[k].n * width;
        staged[k].readable = end - staged[k].from;
        __builtin_prefetch(staged[k].from);
        __builtin_prefetch(staged[k].from + LINE_BYTES);
    }
}

static void stage_bytes(const oci_gather_job *job, const oci_gather_span *spans, int64_t n,
                        bool wide, staged_span *staged)
{
    prefetch_offsets(job, spans, n, wide ? 8 : 4);
    for (int64_t k = 0; k < n; k++) {
        const oci_gather_input *in = &job->inputs[spans[k].source];
        int64_t start;
        int64_t end;
        load_ends(in, &spans[k], wide, &start, &end);
        staged[k].from = in->bytes + start;
        staged[k].length = end - start;
        staged[k].readable = in->bytes_end - staged[k].from;
        __builtin_prefetch(staged[k].from);
        __builtin_prefetch(staged[k].from + LINE_BYTES);
    }
}

/* Copies what is staged to `out` + `end`; returns the new end. */
static int64_t copy_staged(const staged_span *staged, int64_t n, uint8_t *out, int64_t end)
{
    for (int64_t k = 0; k < n; k++) {
        oci_gather_copy_value(out + end, staged[k].from, staged[k].length, staged[k].readable);
        end += staged[k].length;
    }
    return end;
}

/* Offsets behind the strings of a span, of which the first begins at `end` in the output. */
static void move_offsets(const oci_gather_input *in, const oci_gather_span *span, bool wide,
                         int64_t end, uint8_t *offsets)
{
    const uint8_t *from = in->values + span->row * (wide ? INT64_C(8) : 4);
    if (wide) {
        uint64_t by = (uint64_t)end - oci_load_le64(from);
        for (int64_t i = 0; i < span->n; i++) {
            oci_store_le64(offsets + i * 8, oci_load_le64(from + (i + 1) * 8) + by);
        }
    } else {
        uint32_t by = (uint32_t)end - oci_load_le32(from);
        for (int64_t i = 0; i < span->n; i++) {
            oci_store_le32(offsets + i * 4, oci_load_le32(from + (i + 1) * 4) + by);
        }
    }
}

static oc_status fill_values(oci_gather_job *job, oci_gather_column *column, oci_gather_rows *rows,
                             oc_error *err)
{
    oci_gather_span spans[STAGED_SPANS];
    staged_span staged[STAGED_SPANS];
    uint8_t *values = job->slab + column->values_at;
    int64_t end = 0;
    int64_t n;
    do {
        OC_TRY(oci_gather_spans_next(job, rows, spans, STAGED_SPANS, &n, err));
        stage_values(job, spans, n, column->width, staged);
        end = copy_staged(staged, n, values, end);
    } while (n == STAGED_SPANS);
    assert(end == rows->n * column->width);
    oci_gather_pad(values, end);
    return OC_OK;
}

static oc_status fill_bytes(oci_gather_job *job, oci_gather_column *column, oci_gather_rows *rows,
                            oc_error *err)
{
    oci_gather_span spans[STAGED_SPANS];
    staged_span staged[STAGED_SPANS];
    bool wide = column->layout == OCI_LAYOUT_OFFSETS64;
    int64_t width = wide ? 8 : 4;
    uint8_t *offsets = job->slab + column->values_at;
    uint8_t *bytes = job->slab + column->bytes_at;
    int64_t at = 1; /* offset number */
    int64_t end = 0;
    int64_t n;
    memset(offsets, 0, (size_t)width);
    do {
        OC_TRY(oci_gather_spans_next(job, rows, spans, STAGED_SPANS, &n, err));
        stage_bytes(job, spans, n, wide, staged);
        int64_t begin = end;
        end = copy_staged(staged, n, bytes, end);
        for (int64_t k = 0; k < n; begin += staged[k].length, at += spans[k].n, k++) {
            move_offsets(&job->inputs[spans[k].source], &spans[k], wide, begin,
                         offsets + at * width);
        }
    } while (n == STAGED_SPANS);
    assert(at == rows->n + 1 && end == column->n_bytes);
    oci_gather_pad(offsets, at * width);
    oci_gather_pad(bytes, end);
    return OC_OK;
}

oc_status oci_gather_fill_spans(oci_gather_job *job, oci_gather_column *column,
                                oci_gather_rows *rows, oc_error *err)
{
    OC_TRY(oci_gather_rows_begin(job, rows, err));
    return is_bytes(column) ? fill_bytes(job, column, rows, err)
                            : fill_values(job, column, rows, err);
}
