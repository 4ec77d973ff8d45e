/* Gather, planning: from the rows that are wanted to the size and place of every buffer.
 *
 * A job starts with empty columns. oci_gather_scan() adds rows to them: it looks only at what sizes
 * depend on, which is nothing for a fixed-width column without nulls, the lengths of strings and
 * lists, and the distinct values of dictionaries. A column is scanned before its children and its
 * dictionary values: how many rows they get is what it learns. After any scan oci_gather_place()
 * turns the counts into exact positions. gather_fit.c scans in steps and takes a step back when it
 * was too long; gather.c scans once.
 *
 * List views may say a lot with few bytes: lists that overlap, of lists that overlap. So a scan
 * does not go into a column that alone would be larger than the budget; its size, too small then
 * and larger than any slab nevertheless, makes fit take rows back and the allocation fail.
 *
 * Memory: malloc'ed arrays of columns (grow with the schema only); inputs on the stack or from
 * the account when there are many sources; cursors; dictionaries pay for their tables themselves.
 * Nothing is held after deinit. The walks through the tree recurse, as deep as types are nested;
 * what has large frames is called at their leaves. */
#include <stdlib.h>

#include "arrow/gather_internal.h"

/* Rows of a child, and bytes of a buffer, of which there are no more than fit in memory. */
#define ROWS_MAX  (INT64_C(1) << 60)
#define BYTES_MAX (INT64_C(1) << 50)

/* ---- columns --------------------------------------------------------------------------------- */

static bool is_working_layout(oci_layout layout)
{
    return layout != OCI_LAYOUT_VIEWS && layout != OCI_LAYOUT_LIST_VIEW32 &&
           layout != OCI_LAYOUT_LIST_VIEW64 && layout != OCI_LAYOUT_RUN_ENDS &&
           layout != OCI_LAYOUT_UNKNOWN;
}

static oc_status init_children(oci_gather_column *column, oc_error *err)
{
    const oci_field *field = column->field;
    column->children = calloc((size_t)field->n_children + 1, sizeof *column->children);
    if (column->children == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not gather column \"%.80s\": out of memory", field->name);
    }
    column->n_children = field->n_children;
    for (int32_t i = 0; i < field->n_children; i++) {
        oci_gather_column *child = &column->children[i];
        child->parent = column;
        child->step = OCI_GATHER_CHILD;
        child->index = i;
        OC_TRY(oci_gather_column_init(child, &field->children[i], err));
    }
    return OC_OK;
}

oc_status oci_gather_column_init(oci_gather_column *column, const oci_field *field, oc_error *err)
{
    column->field = field;
    column->layout = oci_field_layout(field);
    column->width = oci_gather_is_union(column) ? 1 : field->byte_width;
    if (!is_working_layout(column->layout)) {
        OC_FAIL(err, OC_EINTERNAL,
                "could not gather column \"%.80s\": type %s is not in working form", field->name,
                oci_type_name(field->type));
    }
    if (field->n_children > 0) {
        OC_TRY(init_children(column, err));
    }
    return column->layout == OCI_LAYOUT_DICTIONARY ? oci_gather_dictionary_create(column, err)
                                                   : OC_OK;
}

void oci_gather_column_deinit(oci_gather_column *column, oci_mem *mem)
{
    for (int32_t i = 0; i < column->n_children; i++) {
        oci_gather_column_deinit(&column->children[i], mem);
    }
    free(column->children);
    oci_gather_dictionary_destroy(column->dictionary, mem);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static void look_at_rows(oci_gather_job *job, int64_t n)
{
    const oci_row_ref *rows = job->rows;
    uint32_t last = n == 0 ? 0 : rows[0].source;
    uint32_t n_spans = n == 0 ? 0 : 1;
    for (int64_t i = 1; i < n; i++) {
        last = rows[i].source > last ? rows[i].source : last;
        n_spans += rows[i].source != rows[i - 1].source || rows[i].row != rows[i - 1].row + 1;
    }
    job->n_sources = n == 0 ? 0 : (int64_t)last + 1;
    job->in_spans = n_spans <= n / OCI_GATHER_SPAN_ROWS;
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
    job->bytes_max = oci_budget_limit(oci_mem_budget(mem));
    job->n_sources = 1;
    if (rows != NULL) {
        look_at_rows(job, n);
    }
    OC_TRY(alloc_inputs(job, err));
    job->columns = calloc((size_t)schema->n_fields + 1, sizeof *job->columns);
    if (job->columns == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not gather %" PRId64 " rows: out of memory", n);
    }
    for (int32_t c = 0; c < schema->n_fields; c++) {
        job->columns[c].step = OCI_GATHER_TOP;
        job->columns[c].index = c;
        OC_TRY(oci_gather_column_init(&job->columns[c], &schema->fields[c], err));
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
        oci_gather_column_deinit(&job->columns[c], job->mem);
    }
    free(job->columns);
    oci_gather_free_cursors(job);
    if (job->inputs != job->inline_inputs) {
        oci_mem_free(job->mem, job->inputs, job->n_sources * (int64_t)sizeof *job->inputs);
    }
}

/* ---- scan: one column ------------------------------------------------------------------------ */

/* After prepare. */
static oc_status scan_rows(oci_gather_job *job, oci_gather_column *column, const oci_row_ref *rows,
                           int64_t n, oc_error *err)
{
    switch (column->layout) {
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64: return oci_gather_scan_bytes(job, column, rows, n, err);
    case OCI_LAYOUT_LIST32:
    case OCI_LAYOUT_LIST64: return oci_gather_scan_lists(job, column, rows, n, err);
    case OCI_LAYOUT_DENSE_UNION: return oci_gather_scan_dense(job, column, rows, n, err);
    case OCI_LAYOUT_DICTIONARY: return oci_gather_scan_dictionary(job, column, rows, n, err);
    default:
        column->never_null = !job->traits.may_be_null;
        column->has_nulls = column->has_nulls ||
                            (job->traits.may_be_null && oci_gather_any_null(job, rows, n));
        return OC_OK;
    }
}

static bool range_has_null(const oci_gather_job *job, int64_t n)
{
    const oci_gather_input *in = &job->inputs[0];
    return job->traits.may_be_null && oci_bits_count(in->validity, in->bit_offset, n) < n;
}

static oc_status scan_range_by_rows(oci_gather_job *job, oci_gather_column *column, int64_t n,
                                    oc_error *err)
{
    for (int64_t i = 0; i < n; i += OCI_GATHER_BLOCK) {
        OC_TRY(oci_gather_prepare(job, column, i, err));
        OC_TRY(scan_rows(job, column, job->identity, oci_min64(n - i, OCI_GATHER_BLOCK), err));
    }
    return OC_OK;
}

/* Strings and lists: sizes by the first and the last offset alone. */
static oc_status scan_range_of_offsets(oci_gather_job *job, oci_gather_column *column, int64_t n,
                                       oc_error *err)
{
    int64_t span;
    if (job->traits.has_views || range_has_null(job, n)) {
        return scan_range_by_rows(job, column, n, err);
    }
    if (oci_gather_is_list(column)) {
        int64_t first;
        int64_t start;
        const oci_column *from = oci_gather_source(job, column, 0, &first);
        span = oci_gather_list_span(from, first, n, &start);
    } else {
        span = oci_gather_range_span(job, column, n);
    }
    if (span < 0) {
        OC_FAIL(err, OC_EDATA,
                "could not copy rows of column \"%.80s\": its offsets are out of bounds",
                column->field->name);
    }
    if (oci_gather_is_list(column)) {
        column->children[0].n_rows += span;
        column->children[0].n_rows_new += span;
    } else {
        column->n_bytes += span;
    }
    return OC_OK;
}

/* After prepare. */
static oc_status scan_range(oci_gather_job *job, oci_gather_column *column, int64_t n,
                            oc_error *err)
{
    switch (column->layout) {
    case OCI_LAYOUT_DENSE_UNION:
    case OCI_LAYOUT_DICTIONARY: return scan_range_by_rows(job, column, n, err);
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64:
    case OCI_LAYOUT_LIST32:
    case OCI_LAYOUT_LIST64: return scan_range_of_offsets(job, column, n, err);
    default:
        column->never_null = !job->traits.may_be_null;
        column->has_nulls = column->has_nulls || range_has_null(job, n);
        return OC_OK;
    }
}

/* After prepare. */
static oc_status scan_derived(oci_gather_job *job, oci_gather_column *column, oci_gather_rows *rows,
                              oc_error *err)
{
    const oci_row_ref *refs;
    int64_t n;
    if (!job->traits.may_be_null && oci_gather_has_spans(job, column, rows)) {
        /* Values of one width without nulls were not asked for. */
        return oci_gather_scan_spans(job, column, rows, err);
    }
    OC_TRY(oci_gather_rows_begin(job, rows, err));
    do {
        OC_TRY(oci_gather_rows_next(job, rows, &refs, &n, err));
        OC_TRY(scan_rows(job, column, refs, n, err));
    } while (n == OCI_GATHER_BLOCK);
    return OC_OK;
}

/* Only whether there are nulls is asked of this column, beside what is asked of its children. */
static bool is_flag_only(const oci_gather_column *column)
{
    switch (column->layout) {
    case OCI_LAYOUT_BITS:
    case OCI_LAYOUT_FIXED:
    case OCI_LAYOUT_FIXED_LIST:
    case OCI_LAYOUT_STRUCT:
    case OCI_LAYOUT_SPARSE_UNION: return true;
    default: return false;
    }
}

static bool is_settled(const oci_gather_column *column)
{
    return is_flag_only(column) && (column->has_nulls || column->never_null);
}

/* After prepare. */
static oc_status scan_column(oci_gather_job *job, oci_gather_column *column, oci_gather_rows *rows,
                             oc_error *err)
{
    if (is_flag_only(column) && !job->traits.may_be_null) {
        column->never_null = true;
        return OC_OK;
    }
    if (rows->refs != NULL &&
        (job->traits.may_be_null || !oci_gather_has_spans(job, column, rows))) {
        return scan_rows(job, column, rows->refs, rows->n, err);
    }
    return rows->is_range ? scan_range(job, column, rows->n, err)
                          : scan_derived(job, column, rows, err);
}

/* ---- scan: the tree -------------------------------------------------------------------------- */

/* Bits of one value at least. */
static int64_t value_bits(const oci_gather_column *column)
{
    switch (column->layout) {
    case OCI_LAYOUT_BITS: return 1;
    case OCI_LAYOUT_FIXED:
    case OCI_LAYOUT_DICTIONARY:
    case OCI_LAYOUT_SPARSE_UNION: return (int64_t)column->width * 8;
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_LIST32: return 32;
    case OCI_LAYOUT_DENSE_UNION: return 40;
    case OCI_LAYOUT_OFFSETS64:
    case OCI_LAYOUT_LIST64: return 64;
    default: return 0;
    }
}

/* A child that is larger than any slab, or has more rows than the offsets of its list can tell. */
static bool is_too_large(const oci_gather_job *job, const oci_gather_column *column)
{
    int64_t bits = value_bits(column);
    return column->step == OCI_GATHER_CHILD &&
           ((bits > 0 && column->n_rows / 8 > job->bytes_max / bits) ||
            (column->parent->layout == OCI_LAYOUT_LIST32 && column->n_rows > INT32_MAX));
}

/* Children that have rows as their parent has; lists and dense unions count while they scan. */
static oc_status count_child_rows(oci_gather_column *column, int64_t n, oc_error *err)
{
    int64_t each = 0;
    if (column->layout == OCI_LAYOUT_STRUCT || column->layout == OCI_LAYOUT_SPARSE_UNION) {
        each = 1;
    } else if (column->layout == OCI_LAYOUT_FIXED_LIST) {
        each = column->field->list_size;
    }
    for (int32_t i = 0; i < column->n_children; i++) {
        oci_gather_column *child = &column->children[i];
        if (!oci_mul64(n, each, &child->n_rows_new) ||
            !oci_add64(child->n_rows, child->n_rows_new, &child->n_rows) ||
            child->n_rows > ROWS_MAX) {
            OC_FAIL(err, OC_EUNSUPPORTED,
                    "could not gather column \"%.80s\": its lists have too many elements",
                    column->field->name);
        }
    }
    return OC_OK;
}

static oc_status scan_tree(oci_gather_job *job, oci_gather_column *column, oci_gather_rows *rows,
                           oc_error *err);

static oc_status scan_new_values(oci_gather_job *job, oci_gather_dictionary *dictionary,
                                 oc_error *err)
{
    const oci_row_ref *values = dictionary->values.items;
    int64_t scanned = dictionary->n_values_scanned;
    if (dictionary->n_values == scanned) {
        return OC_OK;
    }
    dictionary->n_values_scanned = dictionary->n_values;
    oci_gather_rows rows = {.refs = values + scanned, .n = dictionary->n_values - scanned};
    return scan_tree(job, &dictionary->column, &rows, err);
}

static oc_status scan_children(oci_gather_job *job, oci_gather_column *column,
                               oci_gather_rows *rows, oc_error *err)
{
    for (int32_t i = 0; i < column->n_children; i++) {
        oci_gather_column *child = &column->children[i];
        oci_gather_rows derived;
        oci_gather_rows *child_rows =
            oci_gather_child_rows(job, child, rows, child->n_rows_new, &derived);
        OC_TRY(scan_tree(job, child, child_rows, err));
        oci_gather_rows_close(&derived);
    }
    return OC_OK;
}

static oc_status scan_tree(oci_gather_job *job, oci_gather_column *column, oci_gather_rows *rows,
                           oc_error *err)
{
    oci_gather_rows runs;
    if (rows->n == 0 || column->layout == OCI_LAYOUT_NULL || job->stopped) {
        return OC_OK;
    }
    if (is_too_large(job, column)) {
        job->stopped = true;
        return OC_OK;
    }
    OC_TRY(count_child_rows(column, rows->n, err));
    if (!is_settled(column)) {
        OC_TRY(oci_gather_prepare(job, column, 0, err));
        column->has_runs = job->traits.has_runs;
    }
    rows = oci_gather_run_rows(column, rows, &runs);
    if (!is_settled(column)) {
        OC_TRY(scan_column(job, column, rows, err));
    }
    if (column->dictionary != NULL) {
        OC_TRY(scan_new_values(job, column->dictionary, err));
    }
    OC_TRY(scan_children(job, column, rows, err));
    oci_gather_rows_close(&runs);
    return OC_OK;
}

oc_status oci_gather_scan(oci_gather_job *job, int64_t at, int64_t n, oc_error *err)
{
    for (int32_t c = 0; c < job->schema->n_fields && n > 0; c++) {
        oci_gather_column *column = &job->columns[c];
        oci_gather_rows rows = {.n = n};
        if (job->rows == NULL) {
            rows.is_range = true;
            column->first = job->start + at;
        } else {
            rows.refs = job->rows + at;
            rows.in_spans = job->in_spans;
        }
        OC_TRY(scan_tree(job, column, &rows, err));
    }
    return OC_OK;
}

void oci_gather_save_column(oci_gather_column *column)
{
    column->saved_has_nulls = column->has_nulls;
    column->saved_n_rows = column->n_rows;
    column->saved_n_bytes = column->n_bytes;
    if (column->dictionary != NULL) {
        oci_gather_save_dictionary(column->dictionary);
    }
    for (int32_t i = 0; i < column->n_children; i++) {
        oci_gather_save_column(&column->children[i]);
    }
}

void oci_gather_restore_column(oci_gather_column *column)
{
    column->has_nulls = column->saved_has_nulls;
    column->n_rows = column->saved_n_rows;
    column->n_bytes = column->saved_n_bytes;
    if (column->dictionary != NULL) {
        oci_gather_restore_dictionary(column->dictionary);
    }
    for (int32_t i = 0; i < column->n_children; i++) {
        oci_gather_restore_column(&column->children[i]);
    }
}

bool oci_gather_column_fits(const oci_gather_column *column, int64_t offset_max)
{
    const oci_gather_dictionary *dictionary = column->dictionary;
    if (column->layout == OCI_LAYOUT_OFFSETS32 && column->n_bytes > offset_max) {
        return false;
    }
    bool offsets = column->layout == OCI_LAYOUT_LIST32 || column->layout == OCI_LAYOUT_DENSE_UNION;
    for (int32_t i = 0; i < column->n_children; i++) {
        if ((offsets && column->children[i].n_rows > offset_max) ||
            !oci_gather_column_fits(&column->children[i], offset_max)) {
            return false;
        }
    }
    return dictionary == NULL || (dictionary->n_values <= dictionary->values_max &&
                                  oci_gather_column_fits(&dictionary->column, offset_max));
}

/* ---- place ----------------------------------------------------------------------------------- */

/* Padded; cut at BYTES_MAX, so that sums do not overflow. */
static int64_t buffer_size(int64_t n, int64_t width)
{
    int64_t size;
    return oci_mul64(n, width, &size) && size < BYTES_MAX ? oci_round_up(size, 8) : BYTES_MAX;
}

static int64_t values_size(const oci_gather_column *column, int64_t n)
{
    switch (column->layout) {
    case OCI_LAYOUT_BITS: return buffer_size(oci_bytes_for_bits(n), 1);
    /* Arrow wants the one offset of no values too. */
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_LIST32: return buffer_size(n + 1, 4);
    case OCI_LAYOUT_OFFSETS64:
    case OCI_LAYOUT_LIST64: return buffer_size(n + 1, 8);
    default: return buffer_size(n, column->width);
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
        at += buffer_size(oci_bytes_for_bits(n), 1);
    }
    if (column->layout != OCI_LAYOUT_STRUCT && column->layout != OCI_LAYOUT_FIXED_LIST) {
        column->values_at = at;
        at += values_size(column, n);
    }
    if (column->layout == OCI_LAYOUT_OFFSETS32 || column->layout == OCI_LAYOUT_OFFSETS64) {
        column->bytes_at = at;
        at += buffer_size(column->n_bytes, 1);
    } else if (column->layout == OCI_LAYOUT_DENSE_UNION) {
        column->bytes_at = at;
        at += buffer_size(n, 4);
    }
    for (int32_t i = 0; i < column->n_children; i++) {
        at = place_column(&column->children[i], column->children[i].n_rows, at);
    }
    return at;
}

/* The dictionaries of a column and of all below it. */
static int64_t place_dictionaries(oci_gather_column *column, int64_t at)
{
    oci_gather_dictionary *dictionary = column->dictionary;
    if (dictionary != NULL) {
        at = place_column(&dictionary->column, dictionary->n_values, at);
        at = place_dictionaries(&dictionary->column, at);
    }
    for (int32_t i = 0; i < column->n_children; i++) {
        at = place_dictionaries(&column->children[i], at);
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
        at = place_dictionaries(&job->columns[c], at);
    }
    return at + OCI_GATHER_SLACK;
}
