/* Gather, cursors: which rows of a child are copied follows from the rows of its parent.
 *
 *   list, fixed-size list   the elements of row 0, the elements of row 1, ...
 *   dense union             for each child, the rows whose type id names it
 *   run-end encoded         the row of the run that a row lies in
 *   struct, sparse union    the same rows; nothing to derive
 *
 * A list may have any number of elements, so their references are never held as a whole: a cursor
 * makes them 1024 at a time, in a buffer of its own, from the references of the rows above, which
 * may be made by a cursor in the same way. Each look at a column (scan, fill) pulls them anew
 * through the chain. The price is 1-3 ns per row and level, beside the miss or two that copying the
 * value costs; so there is nothing to be kept.
 *
 *   job rows  ->  elements of a: list<list<int64>>  ->  elements of its child  ->  values copied
 *                 (1024 references)                     (1024 references)
 *
 * Where nothing has to be derived a cursor is left out: the elements of lists that lie in a row,
 * in a range of one source, are a range of the child and are copied as such. And where the values
 * of a list lie in a row, the cursor tells just where the list begins and ends (gather_spans.c).
 *
 * Memory: 8 KiB, and 64 bytes per source, for each level that derives, from the account of the
 * job; used again by the columns that follow, and held until the job ends. */
#include "arrow/gather_internal.h"

/* How a source is run-end encoded, and the run that was used last: rows that follow each other
 * mostly lie in the same run or in the next. */
typedef struct run_input {
    const oci_column *column; /* NULL: this source has no runs here, its rows stay as they are */
    int64_t base;             /* row 0 as it is counted by the run ends */
    int64_t begin;            /* rows [begin, end) of the last run ... */
    int64_t end;
    int64_t run; /* ... its number */
    int64_t row; /* ... and the row of the values, run-end encoded ones passed */
    uint8_t unused[16];
} run_input;

static_assert(sizeof(run_input) == sizeof(oci_gather_input), "either fits the block of a cursor");

struct oci_gather_cursor {
    oci_gather_cursor *next; /* of the job */
    int64_t size;            /* of this block */
    bool in_use;
    bool all_given; /* the rows above are an array, which was given */
    /* the block of rows above that is in work */
    const oci_row_ref *from;
    int64_t n_from;
    int64_t from_at;
    int64_t skip; /* the rows above are a range: where the next block begins */
    /* the elements of the row in work */
    uint32_t source;
    int64_t row;
    int64_t row_end;
    union { /* n_sources of them, behind the struct */
        oci_gather_input *inputs;
        run_input *runs;
    };
    oci_row_ref refs[OCI_GATHER_BLOCK];
};

/* Rows of a child are told by 32 bits. */
#define CHILD_ROWS_MAX (INT64_C(1) << 32)

/* ---- life ------------------------------------------------------------------------------------ */

static oc_status open_cursor(oci_gather_job *job, oci_gather_cursor **out, oc_error *err)
{
    for (oci_gather_cursor *cursor = job->cursors; cursor != NULL; cursor = cursor->next) {
        if (!cursor->in_use) {
            cursor->in_use = true;
            *out = cursor;
            return OC_OK;
        }
    }
    int64_t inputs_at = oci_round_up((int64_t)sizeof(oci_gather_cursor), 64);
    int64_t size = inputs_at + job->n_sources * (int64_t)sizeof(oci_gather_input);
    void *block = NULL;
    OC_TRY(oci_mem_alloc(job->mem, size, &block, err));
    oci_gather_cursor *cursor = block;
    cursor->size = size;
    cursor->in_use = true;
    cursor->inputs = (oci_gather_input *)(void *)((uint8_t *)block + inputs_at);
    cursor->next = job->cursors;
    job->cursors = cursor;
    *out = cursor;
    return OC_OK;
}

void oci_gather_rows_close(oci_gather_rows *rows)
{
    if (rows->cursor != NULL) {
        rows->cursor->in_use = false;
        rows->cursor = NULL;
    }
}

void oci_gather_free_cursors(oci_gather_job *job)
{
    while (job->cursors != NULL) {
        oci_gather_cursor *cursor = job->cursors;
        job->cursors = cursor->next;
        oci_mem_free(job->mem, cursor, cursor->size);
    }
}

/* ---- which rows ------------------------------------------------------------------------------ */

oci_gather_rows *oci_gather_run_rows(const oci_gather_column *column, oci_gather_rows *rows,
                                     oci_gather_rows *derived)
{
    *derived = (oci_gather_rows){
        .n = rows->n, .derive = OCI_GATHER_RUNS, .column = column, .parent = rows};
    return column->has_runs ? derived : rows;
}

/* Elements of a range of lists: do they lie in a row? */
static bool elements_are_range(const oci_gather_job *job, const oci_gather_column *list,
                               int64_t n_lists, int64_t n, int64_t *start)
{
    int64_t first;
    const oci_column *from = oci_gather_source(job, list, 0, &first);
    if (list->layout == OCI_LAYOUT_FIXED_LIST) {
        *start = (from->offset + first) * list->field->list_size;
        return true;
    }
    return n_lists > 0 && oci_gather_list_span(from, first, n_lists, start) == n;
}

oci_gather_rows *oci_gather_child_rows(const oci_gather_job *job, oci_gather_column *child,
                                       oci_gather_rows *rows, int64_t n, oci_gather_rows *derived)
{
    int64_t start = 0;
    bool elements = child->parent->layout != OCI_LAYOUT_DENSE_UNION;
    *derived = (oci_gather_rows){.n = n,
                                 .derive = elements ? OCI_GATHER_ELEMENTS : OCI_GATHER_CHOSEN,
                                 .column = child,
                                 .parent = rows};
    child->first = 0;
    if (oci_gather_same_rows(child)) {
        return rows;
    }
    if (n > 0 && elements && rows->is_range &&
        elements_are_range(job, child->parent, rows->n, n, &start)) {
        derived->is_range = true;
        child->first = start;
    }
    return derived;
}

/* ---- rows above ------------------------------------------------------------------------------ */

/* What the derivation reads of its sources; row `skip` of a range becomes row 0. */
static oc_status prepare_cursor(oci_gather_job *job, oci_gather_rows *rows, int64_t skip,
                                oc_error *err)
{
    oci_gather_cursor *cursor = rows->cursor;
    oci_gather_traits ignored;
    if (rows->derive != OCI_GATHER_RUNS) {
        return oci_gather_prepare_inputs(job, rows->column->parent, skip, cursor->inputs, &ignored,
                                         err);
    }
    for (int64_t s = 0; s < job->n_sources; s++) {
        int64_t first;
        const oci_column *from = oci_gather_encoded(job, rows->column, s, &first);
        bool has_runs = from != NULL && from->field->type == OCI_TYPE_RUN_END_ENCODED;
        cursor->runs[s] = (run_input){0};
        if (has_runs) {
            cursor->runs[s] =
                (run_input){.column = from, .base = from->offset + first + skip, .run = -1};
        }
    }
    return OC_OK;
}

oc_status oci_gather_rows_begin(oci_gather_job *job, oci_gather_rows *rows, oc_error *err)
{
    bool is_new = rows->cursor == NULL;
    rows->at = 0;
    if (rows->refs != NULL) {
        return OC_OK;
    }
    if (rows->parent->parent != NULL && !rows->parent->is_range) {
        OC_TRY(oci_gather_rows_begin(job, rows->parent, err));
    }
    if (is_new) {
        OC_TRY(open_cursor(job, &rows->cursor, err));
    }
    oci_gather_cursor *cursor = rows->cursor;
    cursor->all_given = false;
    cursor->n_from = 0;
    cursor->from_at = 0;
    cursor->skip = 0;
    cursor->row = 0;
    cursor->row_end = 0;
    /* Above a range every block is prepared when it is pulled. */
    return is_new && !rows->parent->is_range ? prepare_cursor(job, rows, 0, err) : OC_OK;
}

/* The next block of the rows above; n_from becomes 0 at their end. */
static oc_status pull(oci_gather_job *job, oci_gather_rows *rows, oc_error *err)
{
    oci_gather_rows *above = rows->parent;
    oci_gather_cursor *cursor = rows->cursor;
    cursor->from_at = 0;
    if (above->is_range) {
        cursor->from = job->identity;
        cursor->n_from = oci_min64(OCI_GATHER_BLOCK, above->n - cursor->skip);
        cursor->skip += cursor->n_from;
        return prepare_cursor(job, rows, cursor->skip - cursor->n_from, err);
    }
    if (above->refs != NULL) {
        cursor->from = above->refs;
        cursor->n_from = cursor->all_given ? 0 : above->n;
        cursor->all_given = true;
        return OC_OK;
    }
    return oci_gather_rows_next(job, above, &cursor->from, &cursor->n_from, err);
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* Makes the elements of the next row above those in work. */
static oc_status take_list(oci_gather_cursor *cursor, const oci_gather_column *list, oc_error *err)
{
    oci_row_ref ref = cursor->from[cursor->from_at++];
    const oci_gather_input *in = &cursor->inputs[ref.source];
    int64_t start;
    int64_t length;
    if (list->layout == OCI_LAYOUT_FIXED_LIST) {
        length = list->field->list_size;
        start = (in->bit_offset + ref.row) * length;
    } else if (!oci_gather_is_valid(in, ref.row)) {
        return OC_OK;
    } else {
        oci_gather_load_list(in, ref.row, list->layout == OCI_LAYOUT_LIST64, &start, &length);
    }
    if (length > 0 && start + length > CHILD_ROWS_MAX) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "could not gather column \"%.80s\": lists with elements beyond row 2^32 of their "
                "child are not supported",
                list->field->name);
    }
    cursor->source = ref.source;
    cursor->row = start;
    cursor->row_end = start + length;
    return OC_OK;
}

static inline void prefetch_list(const oci_gather_cursor *cursor, const oci_gather_column *list)
{
    int64_t ahead = cursor->from_at + OCI_GATHER_AHEAD;
    if (ahead < cursor->n_from && list->layout != OCI_LAYOUT_FIXED_LIST) {
        oci_row_ref ref = cursor->from[ahead];
        __builtin_prefetch(cursor->inputs[ref.source].values +
                           (int64_t)ref.row * (list->layout == OCI_LAYOUT_LIST64 ? 8 : 4));
    }
}

static oc_status next_elements(oci_gather_job *job, oci_gather_rows *rows, int64_t *n,
                               oc_error *err)
{
    oci_gather_cursor *cursor = rows->cursor;
    const oci_gather_column *list = rows->column->parent;
    int64_t out = 0;
    while (out < OCI_GATHER_BLOCK) {
        if (cursor->row < cursor->row_end) {
            int64_t take = oci_min64(OCI_GATHER_BLOCK - out, cursor->row_end - cursor->row);
            for (int64_t k = 0; k < take; k++) {
                cursor->refs[out + k] =
                    (oci_row_ref){.source = cursor->source, .row = (uint32_t)(cursor->row + k)};
            }
            out += take;
            cursor->row += take;
            continue;
        }
        if (cursor->from_at == cursor->n_from) {
            OC_TRY(pull(job, rows, err));
            if (cursor->n_from == 0) {
                break;
            }
        }
        prefetch_list(cursor, list);
        OC_TRY(take_list(cursor, list, err));
    }
    *n = out;
    return OC_OK;
}

/* A reference as one number: that of the next row is 2^32 more. */
static inline uint64_t number_of(oci_row_ref ref)
{
    return (uint64_t)ref.row << 32 | ref.source;
}

/* How many of n references follow each other, at least 1. */
static int64_t count_in_row(const oci_row_ref *refs, int64_t n)
{
    uint64_t first = number_of(refs[0]);
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t differ = 0;
        for (int64_t k = i; k < i + 8; k++) {
            differ |= number_of(refs[k]) ^ (first + ((uint64_t)k << 32));
        }
        if (differ != 0) {
            break;
        }
    }
    while (i < n && number_of(refs[i]) == first + ((uint64_t)i << 32)) {
        i++;
    }
    return i;
}

static int64_t next_spans(oci_gather_rows *rows, oci_gather_span *spans, int64_t max)
{
    int64_t out = 0;
    for (; out < max && rows->at < rows->n; out++) {
        const oci_row_ref *refs = rows->refs + rows->at;
        spans[out] = (oci_gather_span){
            .source = refs->source, .row = refs->row, .n = count_in_row(refs, rows->n - rows->at)};
        rows->at += spans[out].n;
    }
    return out;
}

oc_status oci_gather_spans_next(oci_gather_job *job, oci_gather_rows *rows, oci_gather_span *spans,
                                int64_t max, int64_t *n, oc_error *err)
{
    if (rows->refs != NULL) {
        *n = next_spans(rows, spans, max);
        return OC_OK;
    }
    oci_gather_cursor *cursor = rows->cursor;
    const oci_gather_column *list = rows->column->parent;
    int64_t out = 0;
    while (out < max) {
        if (cursor->from_at == cursor->n_from) {
            OC_TRY(pull(job, rows, err));
            if (cursor->n_from == 0) {
                break;
            }
        }
        prefetch_list(cursor, list);
        cursor->row_end = cursor->row;
        OC_TRY(take_list(cursor, list, err));
        spans[out] = (oci_gather_span){.source = cursor->source,
                                       .row = (uint32_t)cursor->row,
                                       .n = cursor->row_end - cursor->row};
        out += cursor->row < cursor->row_end;
    }
    *n = out;
    return OC_OK;
}

/* ---- dense unions ---------------------------------------------------------------------------- */

static oc_status next_chosen(oci_gather_job *job, oci_gather_rows *rows, int64_t *n, oc_error *err)
{
    oci_gather_cursor *cursor = rows->cursor;
    int8_t id = rows->column->parent->field->union_ids->of_child[rows->column->index];
    int64_t out = 0;
    while (out < OCI_GATHER_BLOCK) {
        if (cursor->from_at == cursor->n_from) {
            OC_TRY(pull(job, rows, err));
            if (cursor->n_from == 0) {
                break;
            }
        }
        /* Not more than there is room for, if all are chosen. */
        int64_t end = oci_min64(cursor->n_from, cursor->from_at + OCI_GATHER_BLOCK - out);
        for (; cursor->from_at < end; cursor->from_at++) {
            oci_row_ref ref = cursor->from[cursor->from_at];
            const oci_gather_input *in = &cursor->inputs[ref.source];
            uint32_t row = oci_load_le32(in->bytes + (int64_t)ref.row * 4);
            cursor->refs[out] = (oci_row_ref){.source = ref.source, .row = row};
            out += (int8_t)in->values[ref.row] == id;
        }
    }
    *n = out;
    return OC_OK;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static int64_t run_end(const oci_column *ends, int64_t i)
{
    const uint8_t *values = ends->values + (ends->offset + i) * ends->field->byte_width;
    switch (ends->field->byte_width) {
    case 2: return (int16_t)oci_load_le16(values);
    case 4: return (int32_t)oci_load_le32(values);
    default: return (int64_t)oci_load_le64(values);
    }
}

/* The first run from `low` on that ends behind `row`; the number of runs when there is none. */
static int64_t find_run(const oci_column *ends, int64_t low, int64_t row)
{
    int64_t high = ends->length;
    if (low < high && run_end(ends, low) > row) {
        return low;
    }
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (run_end(ends, middle) > row) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* The row of the values for the run that is in work, through runs of runs. */
static oc_status find_value_row(run_input *in, const oci_field *field, oc_error *err)
{
    const oci_column *values = &in->column->children[1];
    int64_t row = in->run;
    while (row < values->length && values->field->type == OCI_TYPE_RUN_END_ENCODED) {
        row = find_run(&values->children[0], 0, values->offset + row);
        values = &values->children[1];
    }
    if (row >= values->length) {
        OC_FAIL(err, OC_EDATA,
                "could not gather column \"%.80s\": a run has no value, of %" PRId64 " values",
                field->name, values->length);
    }
    if (row >= CHILD_ROWS_MAX) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "could not gather column \"%.80s\": more than 2^32 runs are not supported",
                field->name);
    }
    in->row = row;
    return OC_OK;
}

/* `row` as run ends count it, outside the run used last. */
static oc_status change_run(run_input *in, int64_t row, const oci_field *field, oc_error *err)
{
    const oci_column *ends = &in->column->children[0];
    int64_t low = row >= in->end ? in->run + 1 : 0;
    in->run = find_run(ends, low, row);
    if (in->run == ends->length) {
        OC_FAIL(err, OC_EDATA,
                "could not gather column \"%.80s\": its %" PRId64 " runs end before row %" PRId64,
                field->name, ends->length, row);
    }
    in->begin = in->run == 0 ? 0 : run_end(ends, in->run - 1);
    in->end = run_end(ends, in->run);
    return find_value_row(in, field, err);
}

static oc_status next_runs(oci_gather_job *job, oci_gather_rows *rows, int64_t *n, oc_error *err)
{
    oci_gather_cursor *cursor = rows->cursor;
    int64_t out = 0;
    while (out < OCI_GATHER_BLOCK) {
        if (cursor->from_at == cursor->n_from) {
            OC_TRY(pull(job, rows, err));
            if (cursor->n_from == 0) {
                break;
            }
        }
        oci_row_ref ref = cursor->from[cursor->from_at++];
        run_input *in = &cursor->runs[ref.source];
        if (in->column != NULL) {
            int64_t row = in->base + ref.row;
            if (row < in->begin || row >= in->end) {
                OC_TRY(change_run(in, row, rows->column->field, err));
            }
            ref.row = (uint32_t)in->row;
        }
        cursor->refs[out++] = ref;
    }
    *n = out;
    return OC_OK;
}

oc_status oci_gather_rows_next(oci_gather_job *job, oci_gather_rows *rows, const oci_row_ref **refs,
                               int64_t *n, oc_error *err)
{
    *refs = rows->cursor->refs;
    switch (rows->derive) {
    case OCI_GATHER_ELEMENTS: return next_elements(job, rows, n, err);
    case OCI_GATHER_CHOSEN: return next_chosen(job, rows, n, err);
    default: return next_runs(job, rows, n, err);
    }
}
