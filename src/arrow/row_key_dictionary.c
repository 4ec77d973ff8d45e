/* Row keys: dictionary columns are encoded by the values they stand for.
 *
 * Block by block, row numbers are followed from the column into its dictionary, and on into that
 * one's when it is a dictionary itself; the encoders then read the values there. Values are not
 * encoded once and copied: copying an encoded string costs as much as encoding it, and needs memory
 * besides. */
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
    while (column->field->type == OCI_TYPE_DICTIONARY) {
        if (!follow_indices(column, rows, n)) {
            OC_FAIL(err, OC_EDATA,
                    "could not make sort keys of column \"%s\": an index is outside its dictionary",
                    part->column->field->name);
        }
        if (column->dictionary == NULL) {
            return OC_OK; /* all rows are null */
        }
        column = column->dictionary;
        drop_nulls(column, rows, n);
    }
    return OC_OK;
}
