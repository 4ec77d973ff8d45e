/* What the files of row_key share; nobody else includes this.
 *
 *   row_key.c            public calls: sizes, the one allocation, key after key
 *   row_key_fixed.c      values of one width
 *   row_key_bytes.c      strings and binary
 *   row_key_nested.c     lists and structs, value by value
 *   row_key_leaf.c       from rows of a dictionary or run-end encoded column to rows of its values */
#ifndef OUTCORE_ARROW_ROW_KEY_INTERNAL_H
#define OUTCORE_ARROW_ROW_KEY_INTERNAL_H

#include <assert.h>

#include "arrow/row_key.h"
#include "base/bits.h"

/* First byte of a key: nulls sort before or after this. */
#define OCI_KEY_VALID       0x01
#define OCI_KEY_NULLS_FIRST 0x00
#define OCI_KEY_NULLS_LAST  0x02

/* Inside nested values a null is larger than every value. */
#define OCI_KEY_NULL_INSIDE 0x02
/* Behind the last element of a list: smaller than the first byte of another element. */
#define OCI_KEY_LIST_END 0x00

/* Keys of one batch are addressed by 32-bit offsets. */
#define OCI_KEY_BYTES_MAX INT64_C(0xFFFFFFFF)

/* Spare bytes behind var-length keys. */
#define OCI_KEY_SLACK 32

/* Rows per block where values are looked up first and encoded then. */
#define OCI_KEY_BLOCK 256

/* One key column of one batch. */
typedef struct oci_key_part {
    const oci_column *column;
    const oci_column
        *leaf; /* the values: `column`, or what its dictionary or its runs hold; NULL = missing */
    const oci_field *type; /* of the values */
    int64_t width;         /* bytes behind the null byte; -1: var-length */
    uint8_t null_byte;
    uint8_t flip;      /* 0xFF for DESC, else 0 */
    bool is_nested;    /* a list or struct; var-length */
    bool is_zero_free; /* no string, at any depth, holds a 0x00, so nothing is escaped */
} oci_key_part;

/* Where a part of the keys goes: row i at bytes + i * stride, or at bytes + cursors[i] when there
 * are cursors. */
typedef struct oci_key_target {
    uint8_t *bytes;
    int64_t stride;
    uint32_t *cursors;
    bool is_lone; /* one key column; OCI_KEY_SLACK bytes may be written past the last key */
} oci_key_target;

static inline uint8_t *oci_key_target_at(const oci_key_target *target, int64_t row)
{
    return target->bytes + (target->cursors != NULL ? target->cursors[row] : row * target->stride);
}

static inline bool oci_key_slot_is_null(const oci_column *column, int64_t row)
{
    return column->validity != NULL && column->null_count != 0 &&
           !oci_bit_get(column->validity, column->offset + row);
}

/* The range that `n` rows with 32-bit or 64-bit (`wide`) offsets span together; false when offsets
 * are negative or descend. */
bool oci_key_span(const oci_column *column, int64_t start, int64_t n, bool wide, int64_t *first,
                  int64_t *end);

/* Offset `row` of a column with 32-bit or 64-bit (`wide`) offsets. */
static inline int64_t oci_key_offset(const oci_column *column, int64_t row, bool wide)
{
    const uint8_t *from = column->values + (column->offset + row) * (wide ? 8 : 4);
    return wide ? (int64_t)oci_load_le64(from) : (int32_t)oci_load_le32(from);
}

/* Bytes of an encoded value of this type without its null byte, -1 when var-length. */
int64_t oci_key_width(const oci_field *type);

/* Encodes all rows with null bytes; cursors are left as they are. */
OC_NODISCARD oc_status oci_key_encode_fixed(const oci_key_part *part, const oci_key_target *target,
                                            oc_error *err);

/* `n` values that lie side by side at `values`, all as if valid, each behind OCI_KEY_VALID. Bools
 * come as bytes. */
void oci_key_encode_values(const oci_field *type, uint8_t flip, const uint8_t *values, int64_t n,
                           const oci_key_target *target);

/* False when a string of the column may hold a 0x00: looks where that is cheap for the keys of
 * `rows` rows. */
bool oci_key_is_zero_free(const oci_column *column, int64_t rows);
/* Bytes of all keys of the part together. */
OC_NODISCARD oc_status oci_key_bytes_total(const oci_key_part *part, int64_t *total, oc_error *err);
/* Adds the size of row i's key to sizes[i]. */
OC_NODISCARD oc_status oci_key_bytes_sizes(const oci_key_part *part, uint32_t *sizes,
                                           oc_error *err);
/* Writes at the cursors and moves them behind what was written. Sizes were taken from the same
 * values. */
OC_NODISCARD oc_status oci_key_encode_bytes(const oci_key_part *part, const oci_key_target *target,
                                            oc_error *err);

/* Strings inside nested values, rows [start, start + n). Adds what they take together, with one
 * byte in front of each; false when the offsets of one are out of bounds. */
bool oci_key_add_string_sizes(const oci_column *column, int64_t start, int64_t n, bool is_zero_free,
                              int64_t *bytes);
/* Writes them, ascending; returns the end. Sizes were taken from the same values. */
uint8_t *oci_key_write_strings(const oci_column *column, int64_t start, int64_t n,
                               bool is_zero_free, uint8_t *to);

/* The same as for strings, for parts that are nested. The total stops at more than
 * OCI_KEY_BYTES_MAX. */
bool oci_key_nested_is_zero_free(const oci_column *column, int64_t rows);
OC_NODISCARD oc_status oci_key_nested_total(const oci_key_part *part, int64_t *total,
                                            oc_error *err);
OC_NODISCARD oc_status oci_key_nested_sizes(const oci_key_part *part, uint32_t *sizes,
                                            oc_error *err);
OC_NODISCARD oc_status oci_key_encode_nested(const oci_key_part *part, const oci_key_target *target,
                                             oc_error *err);

/* A run of a run-end encoded column, for looking at rows one after the other; starts zeroed. */
typedef struct oci_key_run {
    int64_t index; /* row of the values */
    int64_t start; /* slots [start, end) of the column, counted without its offset */
    int64_t end;
} oci_key_run;

/* Moves to the run of a row. False when there is none, or when it has no value. */
bool oci_key_find_run(const oci_column *column, int64_t row, oci_key_run *run);

/* Rows [start, start + n <= OCI_KEY_BLOCK) of part->column as rows of part->leaf, -1 where null.
 * OC_EDATA for an index outside its dictionary or a row outside the runs. */
OC_NODISCARD oc_status oci_key_leaf_rows(const oci_key_part *part, int64_t start, int64_t n,
                                         int64_t *rows, oc_error *err);

#endif /* OUTCORE_ARROW_ROW_KEY_INTERNAL_H */
