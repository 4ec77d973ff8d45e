/* Row keys: dictionary and run-end encoded columns are encoded by the values they stand for.
 *
 * Block by block, row numbers are followed from the column into its dictionary or to the values of
 * its runs, and on from there when those are encoded in such a way themselves; the encoders then
 * read the values there. Values are not encoded once and copied: copying an encoded string costs as
 * much as encoding it, and needs memory besides. */
#include "arrow/row_key_internal.h"

/* A negative index, or a uint64 beyond int64, is outside every dictionary. */
#define FOLLOW(type)                                                                            \
    for (int64_t k = 0; k < n; k++) {                                                           \
        if (rows[k] >= 0) {                                                                     \
            type index;                                                                         \
            memcpy(&index, column->values + (column->offset + rows[k]) * (int64_t)sizeof index, \
                   sizeof index);                                                               \
            rows[k] = (int64_t)index;                                                           \
            outside |= (uint64_t)(int64_t)index >= length;                                      \
        }                                                                                       \
    }                                                                                           \
    break

/* Rows of a dictionary column, -1 where null, become rows of its dictionary. False: an index is
 * outside. */
static bool follow_indices(const oci_column *column, int64_t *rows, int64_t n)
{
    uint64_t length = column->dictionary == NULL ? 0 : (uint64_t)column->dictionary->length;
    bool outside = false;
    switch (column->field->index_type) {
    case OCI_TYPE_INT8: FOLLOW(int8_t);
    case OCI_TYPE_UINT8: FOLLOW(uint8_t);
    case OCI_TYPE_INT16: FOLLOW(int16_t);
    case OCI_TYPE_UINT16: FOLLOW(uint16_t);
    case OCI_TYPE_INT32: FOLLOW(int32_t);
    case OCI_TYPE_UINT32: FOLLOW(uint32_t);
    default: FOLLOW(int64_t);
    }
    return !outside;
}

bool oci_key_find_run(const oci_column *column, int64_t row, oci_key_run *run)
{
    const oci_column *run_ends = &column->children[0];
    int64_t slot = column->offset + row;
    if (slot >= run->start && slot < run->end) {
        return true;
    }
    if (run_ends->length == 0) {
        return false;
    }
    /* Rows mostly come one after the other, and then it is the next run. */
    bool is_next = run->end > 0 && slot == run->end && run->index + 1 < run_ends->length;
    run->index = is_next ? run->index + 1 : oci_column_run_at(column, row);
    run->start = run->index == 0 ? 0 : oci_column_run_end(run_ends, run->index - 1);
    run->end = oci_column_run_end(run_ends, run->index);
    return slot >= run->start && slot < run->end && run->index < column->children[1].length;
}

/* The same for rows of a run-end encoded column, which become rows of its values. */
static bool follow_runs(const oci_column *column, int64_t *rows, int64_t n)
{
    oci_key_run run = {0};
    bool outside = false;
    for (int64_t k = 0; k < n; k++) {
        if (rows[k] >= 0) {
            outside |= !oci_key_find_run(column, rows[k], &run);
            rows[k] = run.index;
        }
    }
    return !outside;
}

static void drop_nulls(const oci_column *column, int64_t *rows, int64_t n)
{
    for (int64_t k = 0; column->validity != NULL && column->null_count != 0 && k < n; k++) {
        if (rows[k] >= 0 && !oci_bit_get(column->validity, column->offset + rows[k])) {
            rows[k] = -1;
        }
    }
}

oc_status oci_key_leaf_rows(const oci_key_part *part, int64_t start, int64_t n, int64_t *rows,
                            oc_error *err)
{
    const oci_column *column = part->column;
    for (int64_t k = 0; k < n; k++) {
        rows[k] = start + k;
    }
    drop_nulls(column, rows, n);
    while (column != part->leaf) {
        bool is_dictionary = column->field->type == OCI_TYPE_DICTIONARY;
        if (!(is_dictionary ? follow_indices : follow_runs)(column, rows, n)) {
            OC_FAIL(err, OC_EDATA, "could not make sort keys of column \"%s\": %s",
                    part->column->field->name,
                    is_dictionary ? "an index is outside its dictionary"
                                  : "a row is outside its run ends");
        }
        column = is_dictionary ? column->dictionary : &column->children[1];
        if (column == NULL) {
            return OC_OK; /* a dictionary that is missing: all rows are null */
        }
        drop_nulls(column, rows, n);
    }
    return OC_OK;
}
