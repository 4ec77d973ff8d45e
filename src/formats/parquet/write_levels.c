/* Rows of a nested column into the levels of one leaf (schema.h says what levels mean), and its values.
 *
 * The steps from the top field to the leaf are walked over ranges of rows: a struct goes on with the same rows of its
 * child, run by run of rows that are there; a list with the rows of each of its lists. In a range all entries but the
 * first repeat at the same level, that of the innermost list around it. */
#include "base/bits.h"
#include "formats/parquet/write_column.h"

/* A range of rows of a column at a step, and the repetition levels of its first row and of the others. */
typedef struct row_range {
    const oci_column *column;
    int64_t row;
    int64_t n;
    uint8_t first;
    uint8_t rest;
} row_range;

static oc_status write_range(oci_parquet_column_writer *c, int32_t step, row_range range,
                             oc_error *err);

/* n entries behind each other, and room for their levels. */
static oc_status add_repetitions(oci_parquet_column_writer *c, const row_range *range, int64_t n,
                                 oc_error *err)
{
    c->n_entries += n;
    if (c->max_repetition == 0 || n == 0) {
        return OC_OK;
    }
    OC_TRY(oci_parquet_buffer_reserve(&c->repetitions, n, err));
    uint8_t *to = c->repetitions.data + c->repetitions.length;
    memset(to, range->rest, (size_t)n);
    to[0] = range->first;
    c->repetitions.length += n;
    return OC_OK;
}

static oc_status add_definitions(oci_parquet_column_writer *c, uint8_t definition, int64_t n,
                                 oc_error *err)
{
    if (c->max_definition == 0 || n == 0) {
        return OC_OK;
    }
    OC_TRY(oci_parquet_buffer_reserve(&c->definitions, n, err));
    memset(c->definitions.data + c->definitions.length, definition, (size_t)n);
    c->definitions.length += n;
    return OC_OK;
}

/* Entries without a value. */
static oc_status add_absent(oci_parquet_column_writer *c, const row_range *range,
                            uint8_t definition, oc_error *err)
{
    OC_TRY(add_repetitions(c, range, range->n, err));
    return add_definitions(c, definition, range->n, err);
}

/* How many bits from `offset` on, at most n > 0, are the same as the first; *value is that. */
static int64_t equal_bits(const uint8_t *bits, int64_t offset, int64_t n, bool *value)
{
    *value = oci_bit_get(bits, offset);
    int64_t i = 0;
    while (i < n) {
        int here = (int)oci_min64(64, n - i);
        uint64_t word = oci_bits_load(bits, offset + i, here);
        word = *value ? ~word & oci_low_mask(here) : word;
        if (word != 0) {
            return i + __builtin_ctzll(word);
        }
        i += here;
    }
    return n;
}

static oc_status fail_null(const oci_parquet_step *step, oc_error *err)
{
    OC_FAIL(
        err, OC_EDATA,
        "could not write column \"%s\" as Parquet: it is declared to have no nulls, and has one",
        step->field->name);
}

/* The next rows of a range that are all null or all there, cut off its beginning. */
static row_range next_run(row_range *range, bool *is_valid)
{
    row_range run = *range;
    *is_valid = true;
    if (range->column->validity != NULL) {
        run.n = equal_bits(range->column->validity, range->column->offset + range->row, range->n,
                           is_valid);
    } else if (oci_field_layout(range->column->field) == OCI_LAYOUT_NULL) {
        *is_valid = false;
    }
    range->row += run.n;
    range->n -= run.n;
    range->first = range->rest;
    return run;
}

/* ---- leaves ---------------------------------------------------------------------------------- */

/* Of a dictionary the value may be null too, so it goes row by row, through to the values. */
static oc_status write_dictionary_leaf(oci_parquet_column_writer *c, const oci_parquet_step *step,
                                       const row_range *range, oc_error *err)
{
    OC_TRY(add_repetitions(c, range, range->n, err));
    for (int64_t i = 0; i < range->n; i++) {
        int64_t row = range->row + i;
        if (oci_column_is_null(range->column, row)) {
            if (!step->is_optional) {
                return fail_null(step, err);
            }
            OC_TRY(add_definitions(c, step->definition, 1, err));
            continue;
        }
        OC_TRY(add_definitions(c, step->present, 1, err));
        OC_TRY(oci_parquet_write_values(c, range->column->dictionary,
                                        oci_column_index_at(range->column, row), 1, err));
    }
    return OC_OK;
}

/* Levels of a leaf with nulls, all at once: its bitmap as bytes. */
static oc_status add_validity(oci_parquet_column_writer *c, const oci_parquet_step *step,
                              const row_range *range, oc_error *err)
{
    OC_TRY(oci_parquet_buffer_reserve(&c->definitions, range->n, err));
    uint8_t *to = c->definitions.data + c->definitions.length;
    const uint8_t *bits = range->column->validity;
    int64_t offset = range->column->offset + range->row;
    for (int64_t i = 0; i < range->n; i++) {
        to[i] = (uint8_t)(step->definition + oci_bit_get(bits, offset + i));
    }
    c->definitions.length += range->n;
    return OC_OK;
}

static oc_status write_leaf(oci_parquet_column_writer *c, const oci_parquet_step *step,
                            row_range range, oc_error *err)
{
    if (c->is_dictionary) {
        return write_dictionary_leaf(c, step, &range, err);
    }
    OC_TRY(add_repetitions(c, &range, range.n, err));
    const uint8_t *validity = range.column->validity;
    if (validity == NULL && oci_field_layout(range.column->field) != OCI_LAYOUT_NULL) {
        OC_TRY(add_definitions(c, step->present, range.n, err));
        return oci_parquet_write_values(c, range.column, range.row, range.n, err);
    }
    if (validity != NULL && step->is_optional) {
        OC_TRY(add_validity(c, step, &range, err));
    } else {
        OC_TRY(
            add_definitions(c, validity == NULL ? step->definition : step->present, range.n, err));
    }
    while (range.n > 0) {
        bool is_valid;
        row_range run = next_run(&range, &is_valid);
        if (is_valid) {
            OC_TRY(oci_parquet_write_values(c, run.column, run.row, run.n, err));
        } else if (!step->is_optional) {
            return fail_null(step, err);
        }
    }
    return OC_OK;
}

/* ---- nested ---------------------------------------------------------------------------------- */

static oc_status write_lists(oci_parquet_column_writer *c, int32_t index, row_range range,
                             oc_error *err)
{
    const oci_parquet_step *step = &c->steps[index];
    const oci_column *child = &range.column->children[step->child];
    for (int64_t i = 0; i < range.n; i++) {
        int64_t start;
        int64_t length;
        row_range one = {child, 0, 1, i == 0 ? range.first : range.rest, step->repetition};
        oci_column_list_at(range.column, range.row + i, &start, &length);
        if (length == 0) {
            OC_TRY(add_absent(c, &one, step->present, err));
            continue;
        }
        one.row = start;
        one.n = length;
        OC_TRY(write_range(c, index + 1, one, err));
    }
    return OC_OK;
}

static oc_status write_range(oci_parquet_column_writer *c, int32_t index, row_range range,
                             oc_error *err)
{
    const oci_parquet_step *step = &c->steps[index];
    if (step->kind == OCI_PARQUET_STEP_LEAF) {
        return write_leaf(c, step, range, err);
    }
    while (range.n > 0) {
        bool is_valid;
        row_range run = next_run(&range, &is_valid);
        if (!is_valid && !step->is_optional) {
            return fail_null(step, err);
        }
        if (!is_valid) {
            OC_TRY(add_absent(c, &run, step->definition, err));
        } else if (step->kind == OCI_PARQUET_STEP_LIST) {
            OC_TRY(write_lists(c, index, run, err));
        } else {
            run.row += run.column->offset;
            run.column = &run.column->children[step->child];
            OC_TRY(write_range(c, index + 1, run, err));
        }
    }
    return OC_OK;
}

oc_status oci_parquet_write_rows(oci_parquet_column_writer *c, const oci_column *column,
                                 int64_t row, int64_t n, oc_error *err)
{
    c->n_rows += n;
    return write_range(c, 0, (row_range){column, row, n, 0, 0}, err);
}
