/* Gather, copying: one pass to learn sizes, one allocation, one pass that fills it.
 *
 *   rows -> scan (gather_plan.c) -> place -> slab -> fill column by column -> dictionaries -> adopt
 *
 * The slab, from its start:
 *
 *   | head | column 0: validity, values or offsets, bytes | ... | dictionary values | slack |
 *
 * Buffers are filled strictly in this order. That is what makes blind copies safe: what a copy
 * writes past its value is written again by the next value, the next buffer or, at the end, by the
 * slack. So the bytes of a slab are all written when it is handed out (but for the head, which its
 * user fills), and none of them depends on what the memory held before.
 *
 * Ranges take the same way, but copy a column as a whole where its layout allows: fixed-width
 * values, bits, and strings whose null slots are empty. The rest (views, dictionaries, strings
 * under nulls) goes through the row loops in blocks of rows 0, 1, 2 ... . Both ways give the same
 * bytes.
 *
 * On failure everything is released; `out` is set on success only. The structs that describe
 * columns are malloc'ed, as the batch wants them: as many as the schema has columns. */
#include <stdlib.h>

#include "arrow/gather_internal.h"

/* ---- fill ------------------------------------------------------------------------------------ */

/* After prepare. */
static void fill_rows(oci_gather_job *job, oci_gather_column *column, const oci_row_ref *rows,
                      int64_t n, int64_t at)
{
    if (column->layout == OCI_LAYOUT_DICTIONARY) {
        oci_gather_fill_dictionary(job, column, rows, n, at);
        return;
    }
    if (column->has_nulls) {
        oci_gather_fill_validity(job, column, rows, n, at);
    }
    switch (column->layout) {
    case OCI_LAYOUT_BITS: oci_gather_fill_bits(job, column, rows, n, at); break;
    case OCI_LAYOUT_FIXED: oci_gather_fill_fixed(job, column, rows, n, at); break;
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64: oci_gather_fill_bytes(job, column, rows, n, at); break;
    default: break;
    }
}

static oc_status fill_range_by_rows(oci_gather_job *job, oci_gather_column *column, int64_t n,
                                    oc_error *err)
{
    int64_t at = 0;
    do {
        int64_t take = oci_min64(n - at, OCI_GATHER_BLOCK);
        OC_TRY(oci_gather_prepare(job, column, job->start + at, err));
        fill_rows(job, column, job->identity, take, at);
        at += take;
    } while (at < n);
    return OC_OK;
}

/* After prepare for the whole range. */
static bool range_is_contiguous(const oci_gather_job *job, const oci_gather_column *column,
                                int64_t n)
{
    switch (column->layout) {
    case OCI_LAYOUT_BITS:
    case OCI_LAYOUT_FIXED: return true;
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64:
        /* n_bytes leaves out what null slots hold. */
        return !job->has_views &&
               (n == 0 || oci_gather_range_span(job, column, n) == column->n_bytes);
    default: return false;
    }
}

static oc_status fill_range(oci_gather_job *job, oci_gather_column *column, int64_t n,
                            oc_error *err)
{
    OC_TRY(oci_gather_prepare(job, column, job->start, err));
    if (!range_is_contiguous(job, column, n)) {
        return fill_range_by_rows(job, column, n, err);
    }
    if (column->has_nulls) {
        oci_gather_range_validity(job, column, n);
    }
    switch (column->layout) {
    case OCI_LAYOUT_BITS: oci_gather_range_bits(job, column, n); break;
    case OCI_LAYOUT_FIXED: oci_gather_range_fixed(job, column, n); break;
    default: oci_gather_range_bytes(job, column, n); break;
    }
    return OC_OK;
}

static oc_status fill_columns(oci_gather_job *job, int64_t n, oc_error *err)
{
    for (int32_t c = 0; c < job->schema->n_fields; c++) {
        oci_gather_column *column = &job->columns[c];
        if (column->layout == OCI_LAYOUT_NULL) {
            continue;
        }
        if (job->rows == NULL) {
            OC_TRY(fill_range(job, column, n, err));
        } else {
            OC_TRY(oci_gather_prepare(job, column, 0, err));
            fill_rows(job, column, job->rows, n, 0);
        }
    }
    return OC_OK;
}

static oc_status fill_dictionary_values(oci_gather_job *job, oc_error *err)
{
    for (int32_t c = 0; c < job->schema->n_fields; c++) {
        oci_gather_dictionary *dictionary = job->columns[c].dictionary;
        for (; dictionary != NULL; dictionary = dictionary->column.dictionary) {
            OC_TRY(oci_gather_prepare(job, &dictionary->column, 0, err));
            fill_rows(job, &dictionary->column, dictionary->values.items, dictionary->n_values, 0);
        }
    }
    return OC_OK;
}

/* ---- the batch ------------------------------------------------------------------------------- */

static const uint8_t *slab_at(const oci_gather_job *job, int64_t at)
{
    return at < 0 ? NULL : job->slab + at;
}

static void describe_column(const oci_gather_job *job, const oci_gather_column *column, int64_t n,
                            oci_column *out)
{
    *out = (oci_column){
        .field = column->field,
        .length = n,
        .null_count = column->layout == OCI_LAYOUT_NULL ? n : column->null_count,
        .validity = slab_at(job, column->validity_at),
        .values = slab_at(job, column->values_at),
        .bytes = slab_at(job, column->bytes_at),
    };
}

/* `dictionaries` has one struct per dictionary, nested ones included. */
static void describe_columns(const oci_gather_job *job, int64_t n, oci_column *columns,
                             oci_column *dictionaries)
{
    for (int32_t c = 0; c < job->schema->n_fields; c++) {
        oci_column *holder = &columns[c];
        const oci_gather_dictionary *dictionary = job->columns[c].dictionary;
        describe_column(job, &job->columns[c], n, holder);
        for (; dictionary != NULL; dictionary = dictionary->column.dictionary) {
            describe_column(job, &dictionary->column, dictionary->n_values, dictionaries);
            holder->dictionary = dictionaries;
            holder = dictionaries++;
        }
    }
}

static int64_t count_dictionaries(const oci_gather_job *job)
{
    int64_t n = 0;
    for (int32_t c = 0; c < job->schema->n_fields; c++) {
        const oci_gather_dictionary *dictionary = job->columns[c].dictionary;
        for (; dictionary != NULL; dictionary = dictionary->column.dictionary) {
            n++;
        }
    }
    return n;
}

/* What fit() would have cut. */
static oc_status check_limits(const oci_gather_column *column, oc_error *err)
{
    const oci_gather_dictionary *dictionary = column->dictionary;
    if (column->layout == OCI_LAYOUT_OFFSETS32 && column->n_bytes > INT32_MAX) {
        OC_FAIL(err, OC_EINTERNAL,
                "could not gather column \"%s\": %" PRId64
                " bytes of values are too many for 32-bit offsets",
                column->field->name, column->n_bytes);
    }
    if (dictionary == NULL) {
        return OC_OK;
    }
    if (dictionary->n_values > dictionary->values_max) {
        OC_FAIL(err, OC_EINTERNAL,
                "could not gather column \"%s\": %" PRId64 " distinct values are too many for %s",
                column->field->name, dictionary->n_values,
                oci_type_name(column->field->index_type));
    }
    return check_limits(&dictionary->column, err);
}

static oc_status alloc_slab(oci_mem *mem, oci_reservation *from, int64_t size, uint8_t **out,
                            oc_error *err)
{
    void *slab = NULL;
    if (from != NULL) {
        OC_TRY(oci_mem_alloc_reserved(from, size, &slab, err));
    } else {
        OC_TRY(oci_mem_alloc(mem, size, &slab, err));
    }
    *out = slab;
    return OC_OK;
}

/* The job is scanned: makes its batch. `mem` is who the slab is charged to. */
static oc_status make_batch(oci_gather_job *job, int64_t n, int64_t head_bytes, oci_mem *mem,
                            oci_reservation *from, oci_batch **out, oc_error *err)
{
    oc_status status = OC_OK;
    int64_t size = oci_gather_place(job, n, head_bytes);
    int64_t extra_bytes = count_dictionaries(job) * (int64_t)sizeof(oci_column);
    oci_column *columns = malloc(((size_t)job->schema->n_fields + 1) * sizeof *columns);
    oci_column *extra = malloc((size_t)extra_bytes + sizeof *extra);
    if (columns == NULL || extra == NULL) {
        status = OC_SET(err, OC_ENOMEM, "could not gather %" PRId64 " rows: out of memory", n);
        goto done;
    }
    OC_GOTO(alloc_slab(mem, from, size, &job->slab, err));
    OC_GOTO(fill_columns(job, n, err));
    OC_GOTO(fill_dictionary_values(job, err));
    memset(job->slab + size - OCI_GATHER_SLACK, 0, OCI_GATHER_SLACK);
    describe_columns(job, n, columns, extra);
    status = oci_batch_adopt(job->schema, n, columns, mem, job->slab, size, extra, extra_bytes, out,
                             err);
    columns = NULL; /* adopt has taken all three, whatever it says */
    extra = NULL;
    job->slab = NULL;
    if (status == OC_OK && extra_bytes == 0) {
        /* Without dictionaries the rest of the slab is an IPC message body as it lies. */
        (*out)->head_bytes = oci_round_up(head_bytes, 64);
        (*out)->body_bytes = size - OCI_GATHER_SLACK - (*out)->head_bytes;
    }
done:
    if (job->slab != NULL) {
        oci_mem_free(mem, job->slab, size);
    }
    free(columns);
    free(extra);
    return status;
}

static oc_status gather(oci_schema *schema, const oci_batch *const *sources,
                        const oci_row_ref *rows, int64_t start, int64_t n, int64_t head_bytes,
                        oci_mem *mem, oci_reservation *from, oci_batch **out, oc_error *err)
{
    oc_status status = OC_OK;
    oci_gather_job job;
    OC_GOTO(oci_gather_job_init(&job, schema, sources, rows, n, start, mem, err));
    OC_GOTO(oci_gather_scan(&job, 0, n, err));
    for (int32_t c = 0; c < schema->n_fields; c++) {
        OC_GOTO(check_limits(&job.columns[c], err));
    }
    OC_GOTO(make_batch(&job, n, head_bytes, from != NULL ? from->mem : mem, from, out, err));
done:
    oci_gather_job_deinit(&job);
    return status;
}

oc_status oci_gather(oci_schema *schema, const oci_batch *const *sources, const oci_row_ref *rows,
                     int64_t n, int64_t head_bytes, oci_mem *mem, oci_reservation *from,
                     oci_batch **out, oc_error *err)
{
    static const oci_row_ref no_rows;
    assert(n >= 0 && n <= OCI_GATHER_ROWS_MAX && head_bytes >= 0);
    return gather(schema, sources, n == 0 ? &no_rows : rows, 0, n, head_bytes, mem, from, out, err);
}

oc_status oci_gather_range(oci_schema *schema, const oci_batch *source, int64_t start, int64_t n,
                           int64_t head_bytes, oci_mem *mem, oci_reservation *from, oci_batch **out,
                           oc_error *err)
{
    assert(start >= 0 && n >= 0 && n <= source->length - start && head_bytes >= 0);
    return gather(schema, &source, NULL, start, n, head_bytes, mem, from, out, err);
}
