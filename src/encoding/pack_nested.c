/* Packed columns: nested layouts.
 *
 * Offsets go as what they say beyond the row before: lists and runs as lengths, list views and dense
 * unions not at all where every row begins behind the one before, which is how most of them are made.
 * Children are cut to the rows that are referred to (arrow/column_range.h), and offsets count from
 * there. The number of rows of a child comes in front of the vector that adds up to it, so that a
 * reader knows all sizes without decoding. */
#include <assert.h>

#include "arrow/column_range.h"
#include "base/bits.h"
#include "encoding/pack_internal.h"

static int64_t load(const uint8_t *values, int64_t i, int width)
{
    return width == 4 ? (int32_t)oci_load_le32(values + i * 4)
                      : (int64_t)oci_load_le64(values + i * 8);
}

static oc_status pack_child(oci_pack_job *job, const oci_column *column, int32_t i,
                            oci_row_range range, oc_error *err)
{
    oci_column child = oci_column_child_view(column, i, range);
    return oci_pack_node(job, &child, err);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void list_lengths_page(const void *arg, int64_t start, int64_t n, uint64_t *out)
{
    const oci_column *column = arg;
    if (oci_field_offset_width(column->field) == 4) {
        const uint8_t *offsets = column->values + (column->offset + start) * 4;
        for (int64_t i = 0; i < n; i++) {
            out[i] = (uint64_t)(load(offsets, i + 1, 4) - load(offsets, i, 4));
        }
    } else {
        const uint8_t *offsets = column->values + (column->offset + start) * 8;
        for (int64_t i = 0; i < n; i++) {
            out[i] = (uint64_t)(load(offsets, i + 1, 8) - load(offsets, i, 8));
        }
    }
}

static oc_status pack_list(oci_pack_job *job, oci_pack_plan *plan, const oci_column *column,
                           oc_error *err)
{
    oci_row_range range = oci_column_child_range(column, 0);
    oci_int_source lengths = {.page = list_lengths_page, .arg = column, .n = column->length};
    oci_pack_word(job, range.length);
    oci_pack_ints(job, &lengths, oci_field_offset_width(column->field), &plan->numbers[0]);
    return pack_child(job, column, 0, range, err);
}

/* ---- list views ------------------------------------------------------------------------------ */

typedef struct list_view_source {
    const oci_column *column;
    int64_t start; /* of the rows that are kept */
} list_view_source;

/* Where the rows of a list view lie; nothing under nulls. */
static void list_view_at(const oci_column *column, int64_t row, int64_t *start, int64_t *length)
{
    *start = *length = 0;
    if (column->validity == NULL || oci_bit_get(column->validity, column->offset + row)) {
        oci_column_list_at(column, row, start, length);
    }
}

static void list_view_sizes_page(const void *arg, int64_t start, int64_t n, uint64_t *out)
{
    const list_view_source *source = arg;
    for (int64_t i = 0; i < n; i++) {
        int64_t from, length;
        list_view_at(source->column, start + i, &from, &length);
        out[i] = (uint64_t)length;
    }
}

static void list_view_offsets_page(const void *arg, int64_t start, int64_t n, uint64_t *out)
{
    const list_view_source *source = arg;
    for (int64_t i = 0; i < n; i++) {
        int64_t from, length;
        list_view_at(source->column, start + i, &from, &length);
        out[i] = length > 0 ? (uint64_t)(from - source->start) : 0;
    }
}

static bool list_views_in_order(const oci_column *column, oci_row_range range)
{
    int64_t at = range.start;
    for (int64_t row = 0; row < column->length; row++) {
        int64_t from, length;
        list_view_at(column, row, &from, &length);
        if (length > 0 && from != at) {
            return false;
        }
        at += length;
    }
    return true;
}

static oc_status pack_list_view(oci_pack_job *job, oci_pack_plan *plan, const oci_column *column,
                                uint8_t *header, oc_error *err)
{
    oci_row_range range = oci_column_child_range(column, 0);
    list_view_source source = {.column = column, .start = range.start};
    oci_int_source sizes = {.page = list_view_sizes_page, .arg = &source, .n = column->length};
    oci_int_source offsets = {.page = list_view_offsets_page, .arg = &source, .n = column->length};
    int width = oci_field_offset_width(column->field);
    header[1] = list_views_in_order(column, range) ? OCI_OFFSETS_IN_ORDER : OCI_OFFSETS_STORED;
    oci_pack_word(job, range.length);
    oci_pack_ints(job, &sizes, width, &plan->numbers[0]);
    if (header[1] == OCI_OFFSETS_STORED) {
        oci_pack_ints(job, &offsets, width, &plan->numbers[1]);
    }
    return pack_child(job, column, 0, range, err);
}

/* ---- structs, fixed-size lists, unions ------------------------------------------------------- */

static oc_status pack_children(oci_pack_job *job, const oci_column *column, oc_error *err)
{
    for (int32_t i = 0; i < column->field->n_children; i++) {
        OC_TRY(pack_child(job, column, i, oci_column_child_range(column, i), err));
    }
    return OC_OK;
}

static void pack_type_ids(oci_pack_job *job, oci_pack_plan *plan, const oci_column *column)
{
    oci_int_array ids = {.values = column->values + column->offset, .width = 1};
    oci_int_source source = oci_int_array_source(&ids, column->length);
    oci_pack_ints(job, &source, 1, &plan->numbers[0]);
}

typedef struct union_source {
    const oci_column *column;
    int64_t starts[128]; /* by type id: of the rows that are kept */
} union_source;

static int64_t union_offset(const union_source *source, int64_t row)
{
    int64_t slot = source->column->offset + row;
    return load(source->column->child_offsets, slot, 4) -
           source->starts[source->column->values[slot] & 127];
}

static void union_offsets_page(const void *arg, int64_t start, int64_t n, uint64_t *out)
{
    for (int64_t i = 0; i < n; i++) {
        out[i] = (uint64_t)union_offset(arg, start + i);
    }
}

static bool union_in_order(const union_source *source)
{
    const oci_column *column = source->column;
    int64_t next[128] = {0};
    for (int64_t row = 0; row < column->length; row++) {
        if (union_offset(source, row) != next[column->values[column->offset + row] & 127]++) {
            return false;
        }
    }
    return true;
}

static oc_status pack_dense_union(oci_pack_job *job, oci_pack_plan *plan, const oci_column *column,
                                  uint8_t *header, oc_error *err)
{
    union_source source = {.column = column};
    oci_int_source offsets = {.page = union_offsets_page, .arg = &source, .n = column->length};
    for (int32_t i = 0; i < column->field->n_children; i++) {
        oci_row_range range = oci_column_child_range(column, i);
        source.starts[column->field->union_ids->of_child[i]] = range.start;
        oci_pack_word(job, range.length);
    }
    header[1] = union_in_order(&source) ? OCI_OFFSETS_IN_ORDER : OCI_OFFSETS_STORED;
    pack_type_ids(job, plan, column);
    if (header[1] == OCI_OFFSETS_STORED) {
        oci_pack_ints(job, &offsets, 4, &plan->numbers[1]);
    }
    return pack_children(job, column, err);
}

/* ---- runs ------------------------------------------------------------------------------------ */

typedef struct run_source {
    const oci_column *column;
    oci_row_range runs;
} run_source;

/* Rows of the column before the end of a run; 0 for the one before the first. */
static int64_t rows_until(const run_source *source, int64_t run)
{
    const oci_column *column = source->column;
    if (run < 0) {
        return 0;
    }
    int64_t end = oci_column_run_end(&column->children[0], source->runs.start + run);
    return oci_min64(end - column->offset, column->length);
}

static void run_lengths_page(const void *arg, int64_t start, int64_t n, uint64_t *out)
{
    int64_t before = rows_until(arg, start - 1);
    for (int64_t i = 0; i < n; i++) {
        int64_t end = rows_until(arg, start + i);
        out[i] = (uint64_t)(end - before);
        before = end;
    }
}

/* The child of run ends has no node: its values are made of the lengths. Its plan is passed over. */
static oc_status pack_runs(oci_pack_job *job, oci_pack_plan *plan, const oci_column *column,
                           oc_error *err)
{
    run_source source = {.column = column, .runs = oci_column_child_range(column, 1)};
    oci_int_source lengths = {.page = run_lengths_page, .arg = &source, .n = source.runs.length};
    oci_pack_word(job, source.runs.length);
    oci_pack_ints(job, &lengths, column->children[0].field->byte_width, &plan->numbers[0]);
    job->plan++;
    return pack_child(job, column, 1, source.runs, err);
}

oc_status oci_pack_nested(oci_pack_job *job, oci_pack_plan *plan, const oci_column *column,
                          uint8_t *header, oc_error *err)
{
    switch (oci_field_layout(column->field)) {
    case OCI_LAYOUT_LIST32:
    case OCI_LAYOUT_LIST64: return pack_list(job, plan, column, err);
    case OCI_LAYOUT_LIST_VIEW32:
    case OCI_LAYOUT_LIST_VIEW64: return pack_list_view(job, plan, column, header, err);
    case OCI_LAYOUT_DENSE_UNION: return pack_dense_union(job, plan, column, header, err);
    case OCI_LAYOUT_RUN_ENDS: return pack_runs(job, plan, column, err);
    case OCI_LAYOUT_SPARSE_UNION: pack_type_ids(job, plan, column); break;
    default: break; /* structs and fixed-size lists have nothing of their own */
    }
    return pack_children(job, column, err);
}
