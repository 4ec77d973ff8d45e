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

/* After prepare, or without rows. */
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
    case OCI_LAYOUT_FIXED:
    case OCI_LAYOUT_SPARSE_UNION: oci_gather_fill_fixed(job, column, rows, n, at); break;
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64: oci_gather_fill_bytes(job, column, rows, n, at); break;
    case OCI_LAYOUT_LIST32:
    case OCI_LAYOUT_LIST64: oci_gather_fill_lists(job, column, rows, n, at); break;
    case OCI_LAYOUT_DENSE_UNION:
        oci_gather_fill_fixed(job, column, rows, n, at);
        oci_gather_fill_dense(job, column, n, at);
        break;
    default: break; /* structs and fixed-size lists have a validity and no more */
    }
}

static oc_status fill_range_by_rows(oci_gather_job *job, oci_gather_column *column, int64_t n,
                                    oc_error *err)
{
    int64_t at = 0;
    do {
        int64_t take = oci_min64(n - at, OCI_GATHER_BLOCK);
        OC_TRY(oci_gather_prepare(job, column, at, err));
        fill_rows(job, column, job->identity, take, at);
        at += take;
    } while (at < n);
    return OC_OK;
}

/* After prepare for the whole range. */
static bool range_is_contiguous(const oci_gather_job *job, const oci_gather_column *column,
                                int64_t n)
{
    int64_t first;
    int64_t start;
    const oci_column *from;
    switch (column->layout) {
    case OCI_LAYOUT_DICTIONARY: return false;
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64:
        /* n_bytes leaves out what null slots hold. */
        return !job->traits.has_views && oci_gather_range_span(job, column, n) == column->n_bytes;
    case OCI_LAYOUT_LIST32:
    case OCI_LAYOUT_LIST64:
        from = oci_gather_source(job, column, 0, &first);
        return oci_gather_list_span(from, first, n, &start) == column->children[0].n_rows;
    default: return true;
    }
}

static oc_status fill_range(oci_gather_job *job, oci_gather_column *column, int64_t n,
                            oc_error *err)
{
    OC_TRY(oci_gather_prepare(job, column, 0, err));
    if (!range_is_contiguous(job, column, n)) {
        return fill_range_by_rows(job, column, n, err);
    }
    if (column->has_nulls) {
        oci_gather_range_validity(job, column, n);
    }
    switch (column->layout) {
    case OCI_LAYOUT_BITS: oci_gather_range_bits(job, column, n); break;
    case OCI_LAYOUT_FIXED:
    case OCI_LAYOUT_SPARSE_UNION: oci_gather_range_fixed(job, column, n); break;
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64: oci_gather_range_bytes(job, column, n); break;
    case OCI_LAYOUT_LIST32: oci_gather_range_offsets(job, column, n, false); break;
    case OCI_LAYOUT_LIST64: oci_gather_range_offsets(job, column, n, true); break;
    case OCI_LAYOUT_DENSE_UNION:
        oci_gather_range_fixed(job, column, n);
        oci_gather_fill_dense(job, column, n, 0);
        break;
    default: break;
    }
    return OC_OK;
}

/* After prepare. */
static oc_status fill_derived(oci_gather_job *job, oci_gather_column *column, oci_gather_rows *rows,
                              oc_error *err)
{
    const oci_row_ref *refs;
    int64_t at = 0;
    int64_t n;
    OC_TRY(oci_gather_rows_begin(job, rows, err));
    do {
        OC_TRY(oci_gather_rows_next(job, rows, &refs, &n, err));
        fill_rows(job, column, refs, n, at);
        at += n;
    } while (n == OCI_GATHER_BLOCK);
    assert(at == rows->n);
    return OC_OK;
}

static oc_status fill_column(oci_gather_job *job, oci_gather_column *column, oci_gather_rows *rows,
                             oc_error *err)
{
    static const oci_row_ref no_rows;
    if (rows->n == 0) { /* the one offset of no values */
        fill_rows(job, column, &no_rows, 0, 0);
        return OC_OK;
    }
    if (rows->is_range) {
        return fill_range(job, column, rows->n, err);
    }
    OC_TRY(oci_gather_prepare(job, column, 0, err));
    if (!column->has_nulls && oci_gather_has_spans(job, column, rows)) {
        return oci_gather_fill_spans(job, column, rows, err);
    }
    if (rows->refs == NULL) {
        return fill_derived(job, column, rows, err);
    }
    fill_rows(job, column, rows->refs, rows->n, 0);
    return OC_OK;
}

/* A column, then its children: the order of an IPC body. */
static oc_status fill_tree(oci_gather_job *job, oci_gather_column *column, oci_gather_rows *rows,
                           oc_error *err)
{
    oci_gather_rows runs;
    if (column->layout == OCI_LAYOUT_NULL) {
        return OC_OK;
    }
    rows = oci_gather_run_rows(column, rows, &runs);
    OC_TRY(fill_column(job, column, rows, err));
    for (int32_t i = 0; i < column->n_children; i++) {
        oci_gather_column *child = &column->children[i];
        oci_gather_rows derived;
        OC_TRY(fill_tree(job, child,
                         oci_gather_child_rows(job, child, rows, child->n_rows, &derived), err));
        oci_gather_rows_close(&derived);
    }
    oci_gather_rows_close(&runs);
    return OC_OK;
}

static oc_status fill_columns(oci_gather_job *job, int64_t n, oc_error *err)
{
    for (int32_t c = 0; c < job->schema->n_fields; c++) {
        oci_gather_rows rows = {
            .n = n, .refs = job->rows, .in_spans = job->in_spans, .is_range = job->rows == NULL};
        job->columns[c].first = job->rows == NULL ? job->start : 0;
        OC_TRY(fill_tree(job, &job->columns[c], &rows, err));
    }
    return OC_OK;
}

/* The dictionaries of a column and of all below it, in the order of place. */
static oc_status fill_dictionaries(oci_gather_job *job, oci_gather_column *column, oc_error *err)
{
    oci_gather_dictionary *dictionary = column->dictionary;
    if (dictionary != NULL) {
        oci_gather_rows rows = {.n = dictionary->n_values, .refs = dictionary->values.items};
        OC_TRY(fill_tree(job, &dictionary->column, &rows, err));
        OC_TRY(fill_dictionaries(job, &dictionary->column, err));
    }
    for (int32_t i = 0; i < column->n_children; i++) {
        OC_TRY(fill_dictionaries(job, &column->children[i], err));
    }
    return OC_OK;
}

static oc_status fill_slab(oci_gather_job *job, int64_t n, oc_error *err)
{
    OC_TRY(fill_columns(job, n, err));
    for (int32_t c = 0; c < job->schema->n_fields; c++) {
        OC_TRY(fill_dictionaries(job, &job->columns[c], err));
    }
    return OC_OK;
}

/* ---- the batch ------------------------------------------------------------------------------- */

static const uint8_t *slab_at(const oci_gather_job *job, int64_t at)
{
    return at < 0 ? NULL : job->slab + at;
}

/* Structs for children and dictionaries are taken from *extra. */
static void describe_column(const oci_gather_job *job, const oci_gather_column *column, int64_t n,
                            oci_column *out, oci_column **extra)
{
    const uint8_t *behind = slab_at(job, column->bytes_at);
    bool is_dense = column->layout == OCI_LAYOUT_DENSE_UNION;
    oci_column *children = *extra;
    *extra += column->n_children;
    for (int32_t i = 0; i < column->n_children; i++) {
        const oci_gather_column *child = &column->children[i];
        describe_column(job, child, child->n_rows, &children[i], extra);
    }
    *out = (oci_column){
        .field = column->field,
        .length = n,
        .null_count = column->layout == OCI_LAYOUT_NULL ? n : column->null_count,
        .validity = slab_at(job, column->validity_at),
        .values = slab_at(job, column->values_at),
        .bytes = is_dense ? NULL : behind,
        .child_offsets = is_dense ? behind : NULL,
        .children = column->n_children > 0 ? children : NULL,
    };
    if (column->dictionary != NULL) {
        oci_column *values = (*extra)++;
        out->dictionary = values;
        describe_column(job, &column->dictionary->column, column->dictionary->n_values, values,
                        extra);
    }
}

/* How many structs describe_column() takes. */
static int64_t count_below(const oci_gather_column *column, bool *has_dictionaries)
{
    int64_t n = column->n_children;
    if (column->dictionary != NULL) {
        *has_dictionaries = true;
        n += 1 + count_below(&column->dictionary->column, has_dictionaries);
    }
    for (int32_t i = 0; i < column->n_children; i++) {
        n += count_below(&column->children[i], has_dictionaries);
    }
    return n;
}

/* What fit() would have cut, but for a single row. */
static oc_status check_limits(const oci_gather_column *column, oc_error *err)
{
    const oci_gather_dictionary *dictionary = column->dictionary;
    bool offsets = column->layout == OCI_LAYOUT_LIST32 || column->layout == OCI_LAYOUT_DENSE_UNION;
    if (column->layout == OCI_LAYOUT_OFFSETS32 && column->n_bytes > INT32_MAX) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "could not gather column \"%.80s\": %" PRId64
                " bytes of values are too many for 32-bit offsets",
                column->field->name, column->n_bytes);
    }
    for (int32_t i = 0; i < column->n_children; i++) {
        if (offsets && column->children[i].n_rows > INT32_MAX) {
            OC_FAIL(err, OC_EUNSUPPORTED,
                    "could not gather column \"%.80s\": %" PRId64
                    " rows of its children are too many for 32-bit offsets",
                    column->field->name, column->children[i].n_rows);
        }
        OC_TRY(check_limits(&column->children[i], err));
    }
    if (dictionary == NULL) {
        return OC_OK;
    }
    if (dictionary->n_values > dictionary->values_max) {
        OC_FAIL(
            err, OC_EUNSUPPORTED,
            "could not gather column \"%.80s\": %" PRId64 " distinct values are too many for %s",
            column->field->name, dictionary->n_values, oci_type_name(column->field->index_type));
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
    bool has_dictionaries = false;
    int64_t extra_bytes = 0;
    for (int32_t c = 0; c < job->schema->n_fields; c++) {
        extra_bytes += count_below(&job->columns[c], &has_dictionaries) *
                       (int64_t)sizeof(oci_column);
    }
    oci_column *columns = malloc(((size_t)job->schema->n_fields + 1) * sizeof *columns);
    oci_column *extra = malloc((size_t)extra_bytes + sizeof *extra);
    if (columns == NULL || extra == NULL) {
        status = OC_SET(err, OC_ENOMEM, "could not gather %" PRId64 " rows: out of memory", n);
        goto done;
    }
    OC_GOTO(alloc_slab(mem, from, size, &job->slab, err));
    OC_GOTO(fill_slab(job, n, err));
    memset(job->slab + size - OCI_GATHER_SLACK, 0, OCI_GATHER_SLACK);
    oci_column *free_extra = extra;
    for (int32_t c = 0; c < job->schema->n_fields; c++) {
        describe_column(job, &job->columns[c], n, &columns[c], &free_extra);
    }
    status = oci_batch_adopt(job->schema, n, columns, mem, job->slab, size, extra, extra_bytes, out,
                             err);
    columns = NULL; /* adopt has taken all three, whatever it says */
    extra = NULL;
    job->slab = NULL;
    if (status == OC_OK && !has_dictionaries) {
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
    /* With job.stopped the slab is larger than the budget, so that there is no filling it. */
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
