/* Gather, planning: from the rows that are wanted to the size and place of every buffer.
 *
 * A job starts with empty columns. oci_gather_scan() adds rows to them: it looks only at what sizes
 * depend on, which is nothing for a fixed-width column without nulls, the lengths of strings, and
 * the distinct values of dictionaries. After any scan oci_gather_place() turns the counts into
 * exact positions. gather_fit.c scans in steps and takes a step back when it was too long; gather.c
 * scans once.
 *
 * Memory: one malloc'ed array of columns (grows with the schema only); inputs on the stack or from
 * the account when there are many sources; dictionaries pay for their tables themselves. Nothing is
 * held after deinit. */
#include <stdlib.h>

#include "arrow/gather_internal.h"

/* Stands in for the validity of sources without nulls, and for buffers that are absent since they
 * are empty. */
static const uint8_t all_ones[OCI_GATHER_SLACK] = {0xFF, 0xFF};

/* ---- life ------------------------------------------------------------------------------------ */

static oc_status init_column(oci_gather_column *column, const oci_field *field, int32_t index,
                             oc_error *err)
{
    column->field = field;
    column->layout = oci_field_layout(field);
    column->index = index;
    if (column->layout == OCI_LAYOUT_VIEWS || column->layout == OCI_LAYOUT_UNKNOWN) {
        OC_FAIL(err, OC_EINTERNAL, "could not gather column \"%s\": type %s is not in working form",
                field->name, oci_type_name(field->type));
    }
    if (column->layout == OCI_LAYOUT_DICTIONARY) {
        OC_TRY(oci_gather_dictionary_create(column, &column->dictionary, err));
    }
    return OC_OK;
}

static int64_t count_sources(const oci_row_ref *rows, int64_t n)
{
    uint32_t last = 0;
    for (int64_t i = 0; i < n; i++) {
        last = rows[i].source > last ? rows[i].source : last;
    }
    return n == 0 ? 0 : (int64_t)last + 1;
}

static oc_status alloc_inputs(oci_gather_job *job, oc_error *err)
{
    job->inputs = job->inline_inputs;
    if (job->n_sources > OCI_GATHER_INPUTS_INLINE) {
        void *block = NULL;
        job->inputs = NULL;
        OC_TRY(oci_mem_alloc(job->mem, job->n_sources * (int64_t)sizeof *job->inputs, &block, err));
        job->inputs = block;
    }
    return OC_OK;
}

oc_status oci_gather_job_init(oci_gather_job *job, oci_schema *schema,
                              const oci_batch *const *sources, const oci_row_ref *rows, int64_t n,
                              int64_t start, oci_mem *mem, oc_error *err)
{
    /* Not the whole struct: the arrays at its end are filled when they are used. */
    memset(job, 0, offsetof(oci_gather_job, inline_inputs));
    job->schema = schema;
    job->sources = sources;
    job->mem = mem;
    job->rows = rows;
    job->start = start;
    job->n_sources = rows == NULL ? 1 : count_sources(rows, n);
    OC_TRY(alloc_inputs(job, err));
    job->columns = calloc((size_t)schema->n_fields + 1, sizeof *job->columns);
    if (job->columns == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not gather %" PRId64 " rows: out of memory", n);
    }
    for (int32_t c = 0; c < schema->n_fields; c++) {
        OC_TRY(init_column(&job->columns[c], &schema->fields[c], c, err));
    }
    if (rows == NULL) {
        for (uint32_t i = 0; i < OCI_GATHER_BLOCK; i++) {
            job->identity[i] = (oci_row_ref){.source = 0, .row = i};
        }
    }
    return OC_OK;
}

void oci_gather_job_deinit(oci_gather_job *job)
{
    for (int32_t c = 0; job->columns != NULL && c < job->schema->n_fields; c++) {
        oci_gather_dictionary_destroy(job->columns[c].dictionary, job->mem);
    }
    free(job->columns);
    if (job->inputs != job->inline_inputs) {
        oci_mem_free(job->mem, job->inputs, job->n_sources * (int64_t)sizeof *job->inputs);
    }
}

/* ---- sources --------------------------------------------------------------------------------- */

static const oci_column *source_column(const oci_batch *source, const oci_gather_column *column)
{
    if (source == NULL || column->index >= source->schema->n_fields) {
        return NULL;
    }
    const oci_column *from = &source->columns[column->index];
    for (int32_t depth = 0; from != NULL && depth < column->depth; depth++) {
        from = from->dictionary;
    }
    return from;
}

static void prepare_values(const oci_gather_column *column, const oci_column *from, int64_t offset,
                           oci_gather_input *in)
{
    const uint8_t *values = from->values == NULL ? all_ones : from->values;
    int64_t width = column->field->byte_width;
    int64_t end = from->offset + from->length;
    in->values = values;
    in->bytes = from->bytes == NULL ? all_ones : from->bytes;
    in->bytes_end = in->bytes;
    if (from->length == 0 || column->layout == OCI_LAYOUT_BITS) {
        return;
    }
    if (in->views) {
        in->values = values + offset * (int64_t)sizeof(oci_view);
        in->bytes_end = values + end * (int64_t)sizeof(oci_view);
    } else if (column->layout == OCI_LAYOUT_OFFSETS32) {
        in->values = values + offset * 4;
        in->bytes_end = in->bytes + (int32_t)oci_load_le32(values + end * 4);
    } else if (column->layout == OCI_LAYOUT_OFFSETS64) {
        in->values = values + offset * 8;
        in->bytes_end = in->bytes + (int64_t)oci_load_le64(values + end * 8);
    } else {
        in->values = values + offset * width;
    }
}

static bool same_values(const oci_column *a, const oci_column *b)
{
    return a == b ||
           (a != NULL && b != NULL && a->values == b->values && a->bytes == b->bytes &&
            a->validity == b->validity && a->view_buffers == b->view_buffers &&
            a->offset == b->offset && a->length == b->length && a->dictionary == b->dictionary);
}

static oc_status prepare_input(oci_gather_job *job, const oci_gather_column *column,
                               const oci_column *from, int64_t first, oci_gather_input *in,
                               oc_error *err)
{
    oci_layout layout = oci_field_layout(from->field);
    in->column = from;
    in->views = layout == OCI_LAYOUT_VIEWS && column->layout == OCI_LAYOUT_OFFSETS32;
    if (!in->views &&
        (layout != column->layout || from->field->byte_width != column->field->byte_width)) {
        OC_FAIL(err, OC_EINTERNAL,
                "could not gather column \"%s\": a source holds %s where the output has %s",
                column->field->name, oci_type_name(from->field->type),
                oci_type_name(column->field->type));
    }
    in->bit_offset = from->offset + first;
    in->validity = all_ones;
    in->validity_mask = 0;
    if (from->validity != NULL && from->null_count != 0) {
        in->validity = from->validity;
        in->validity_mask = -1;
        job->may_be_null = true;
    }
    prepare_values(column, from, from->offset + first, in);
    job->has_views |= in->views;
    job->has_offsets |= !in->views;
    return OC_OK;
}

oc_status oci_gather_prepare(oci_gather_job *job, const oci_gather_column *column, int64_t first,
                             oc_error *err)
{
    const oci_gather_input *before = NULL;
    job->may_be_null = false;
    job->has_views = false;
    job->has_offsets = false;
    for (int64_t s = 0; s < job->n_sources; s++) {
        oci_gather_input *in = &job->inputs[s];
        const oci_column *from = source_column(job->sources[s], column);
        in->column = NULL;
        if (from == NULL) {
            continue;
        }
        OC_TRY(prepare_input(job, column, from, first, in, err));
        in->dictionary = (uint32_t)s;
        /* Batches of one stream or run mostly share their dictionary; neighbours are enough to see
         * that. */
        if (before != NULL && same_values(before->column->dictionary, from->dictionary)) {
            in->dictionary = before->dictionary;
        }
        before = in;
    }
    return OC_OK;
}

/* ---- scan ------------------------------------------------------------------------------------ */

oc_status oci_gather_scan_column(oci_gather_job *job, oci_gather_column *column,
                                 const oci_row_ref *rows, int64_t n, oc_error *err)
{
    switch (column->layout) {
    case OCI_LAYOUT_BITS:
    case OCI_LAYOUT_FIXED:
        column->never_null = !job->may_be_null;
        column->has_nulls = column->has_nulls ||
                            (job->may_be_null && oci_gather_any_null(job, rows, n));
        return OC_OK;
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64: return oci_gather_scan_bytes(job, column, rows, n, err);
    case OCI_LAYOUT_DICTIONARY: return oci_gather_scan_dictionary(job, column, rows, n, err);
    default: return OC_OK;
    }
}

static bool range_has_null(const oci_gather_job *job, int64_t n)
{
    const oci_gather_input *in = &job->inputs[0];
    return job->may_be_null && oci_bits_count(in->validity, in->bit_offset, n) < n;
}

static oc_status scan_range_by_rows(oci_gather_job *job, oci_gather_column *column, int64_t at,
                                    int64_t n, oc_error *err)
{
    for (int64_t i = 0; i < n; i += OCI_GATHER_BLOCK) {
        OC_TRY(oci_gather_prepare(job, column, job->start + at + i, err));
        OC_TRY(oci_gather_scan_column(job, column, job->identity,
                                      oci_min64(n - i, OCI_GATHER_BLOCK), err));
    }
    return OC_OK;
}

static oc_status scan_range(oci_gather_job *job, oci_gather_column *column, int64_t at, int64_t n,
                            oc_error *err)
{
    if (column->layout == OCI_LAYOUT_DICTIONARY) {
        return scan_range_by_rows(job, column, at, n, err);
    }
    OC_TRY(oci_gather_prepare(job, column, job->start + at, err));
    if (column->layout == OCI_LAYOUT_BITS || column->layout == OCI_LAYOUT_FIXED) {
        column->never_null = !job->may_be_null;
        column->has_nulls = column->has_nulls || range_has_null(job, n);
        return OC_OK;
    }
    if (job->has_views || range_has_null(job, n)) {
        return scan_range_by_rows(job, column, at, n, err);
    }
    int64_t span = oci_gather_range_span(job, column, n);
    if (span < 0) {
        OC_FAIL(err, OC_EDATA, "could not copy rows of column \"%s\": its offsets descend",
                column->field->name);
    }
    column->n_bytes += span;
    return OC_OK;
}

oc_status oci_gather_scan(oci_gather_job *job, int64_t at, int64_t n, oc_error *err)
{
    for (int32_t c = 0; c < job->schema->n_fields && n > 0; c++) {
        oci_gather_column *column = &job->columns[c];
        bool flag_only = column->layout == OCI_LAYOUT_BITS || column->layout == OCI_LAYOUT_FIXED;
        if (column->layout == OCI_LAYOUT_NULL ||
            (flag_only && (column->has_nulls || column->never_null))) {
            continue;
        }
        if (job->rows == NULL) {
            OC_TRY(scan_range(job, column, at, n, err));
        } else {
            OC_TRY(oci_gather_prepare(job, column, 0, err));
            OC_TRY(oci_gather_scan_column(job, column, job->rows + at, n, err));
        }
    }
    return OC_OK;
}

void oci_gather_save_column(oci_gather_column *column)
{
    column->saved_has_nulls = column->has_nulls;
    column->saved_n_bytes = column->n_bytes;
    if (column->dictionary != NULL) {
        oci_gather_save_dictionary(column->dictionary);
    }
}

void oci_gather_restore_column(oci_gather_column *column)
{
    column->has_nulls = column->saved_has_nulls;
    column->n_bytes = column->saved_n_bytes;
    if (column->dictionary != NULL) {
        oci_gather_restore_dictionary(column->dictionary);
    }
}

/* ---- place ----------------------------------------------------------------------------------- */

static int64_t values_size(const oci_gather_column *column, int64_t n)
{
    switch (column->layout) {
    case OCI_LAYOUT_BITS: return oci_bytes_for_bits(n);
    case OCI_LAYOUT_OFFSETS32: return (n + 1) * 4; /* Arrow wants the one offset of no values too */
    case OCI_LAYOUT_OFFSETS64: return (n + 1) * 8;
    default: return n * column->field->byte_width;
    }
}

/* Order and padding of an IPC body. */
static int64_t place_column(oci_gather_column *column, int64_t n, int64_t at)
{
    column->validity_at = -1;
    column->values_at = -1;
    column->bytes_at = -1;
    if (column->layout == OCI_LAYOUT_NULL) {
        return at;
    }
    if (column->has_nulls) {
        column->validity_at = at;
        at += oci_round_up(oci_bytes_for_bits(n), 8);
    }
    column->values_at = at;
    at += oci_round_up(values_size(column, n), 8);
    if (column->layout == OCI_LAYOUT_OFFSETS32 || column->layout == OCI_LAYOUT_OFFSETS64) {
        column->bytes_at = at;
        at += oci_round_up(column->n_bytes, 8);
    }
    return at;
}

int64_t oci_gather_place(oci_gather_job *job, int64_t n, int64_t head_bytes)
{
    int64_t at = oci_round_up(head_bytes, 64);
    for (int32_t c = 0; c < job->schema->n_fields; c++) {
        at = place_column(&job->columns[c], n, at);
    }
    for (int32_t c = 0; c < job->schema->n_fields; c++) {
        oci_gather_dictionary *dictionary = job->columns[c].dictionary;
        for (; dictionary != NULL; dictionary = dictionary->column.dictionary) {
            at = place_column(&dictionary->column, dictionary->n_values, at);
        }
    }
    return at + OCI_GATHER_SLACK;
}
