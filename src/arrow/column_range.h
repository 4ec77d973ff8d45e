/* Nested columns cut to what their rows refer to.
 *
 * A column may be a slice, and a child may have more rows than are used. A message wants buffers
 * that begin with the first row and children of the rows that count: these calls say which rows of
 * a child those are, give the child cut to them, and write the offsets that fit it. The IPC encoder,
 * the joining of dictionaries and packing share them. Only for columns that were validated. */
#ifndef OUTCORE_ARROW_COLUMN_RANGE_H
#define OUTCORE_ARROW_COLUMN_RANGE_H

#include "arrow/batch.h"

/* Rows [start, start + length), counted from the child's own offset. */
typedef struct oci_row_range {
    int64_t start;
    int64_t length;
} oci_row_range;

/* The rows of child `i` from the first to the last that the column's rows refer to. Null rows of
 * list views refer to none; those of other layouts to what their slots say. O(1) but for list
 * views and dense unions, O(rows), and runs, O(log runs). */
oci_row_range oci_column_child_range(const oci_column *column, int32_t i);

/* The bytes that the values of a string column lie in, null ones included. */
oci_row_range oci_column_bytes_range(const oci_column *column);

/* Child `i` cut to `range`. */
oci_column oci_column_child_view(const oci_column *column, int32_t i, oci_row_range range);

/* Offsets of the column's rows as they are when each child begins with the row ranges[i].start as
 * its row bases[i]. Each writes column->length values of the column's width to `to`, but the first,
 * which writes one more. */
void oci_write_list_offsets(const oci_column *column, oci_row_range range, int64_t base,
                            uint8_t *to);
/* Offsets of list views; 0 where a row is null or empty. */
void oci_write_list_view_offsets(const oci_column *column, oci_row_range range, int64_t base,
                                 uint8_t *to);
void oci_write_list_view_sizes(const oci_column *column, uint8_t *to);
/* Of the rows of child `i` of a dense union only; the others are left alone. */
void oci_write_union_offsets(const oci_column *column, int32_t i, oci_row_range range, int64_t base,
                             uint8_t *to);
/* Writes range.length run ends, the last of which is base + column->length. */
void oci_write_run_ends(const oci_column *column, oci_row_range range, int64_t base, uint8_t *to);

#endif /* OUTCORE_ARROW_COLUMN_RANGE_H */
