/* One column of a batch, filled from scanned positions.
 *
 * A column is filled in one straight loop over the rows, directly into the slab of the batch. Since
 * most columns hold no null, the values are laid out as if there were no validity bitmap; nulls are
 * marked in a bitmap of the caller's, and when there were some, the caller moves the values up and
 * puts the bitmap in front of them. */
#ifndef OUTCORE_FORMATS_CSV_COLUMN_H
#define OUTCORE_FORMATS_CSV_COLUMN_H

#include "arrow/schema.h"
#include "formats/parse_value.h"

/* Bytes behind the bound of the last column that a fill may scribble on (blind copies of short
 * strings). */
#define OCI_CSV_FILL_SLACK 64

/* The records of a batch: positions as in csv_scan.h. */
typedef struct oci_csv_rows {
    const uint8_t *data;
    const uint32_t *positions;
    int32_t stride; /* entries per record: fields + 1 */
    int64_t n_rows;
    uint8_t quote;
    const char *null_text;
    int64_t null_length;
} oci_csv_rows;

typedef struct oci_csv_column oci_csv_column;

/* What one fill did. */
typedef struct oci_csv_fill {
    int64_t null_count;
    int64_t values_bytes; /* fixed values, bits, offsets or views; without padding */
    int64_t bytes_size;   /* var-length bytes, which begin behind the values, padded to 8; without
                             padding */
    int64_t bad_row;      /* -1, or the first row that could not be read ... */
    oci_parse_result why; /* ... and the reason */
} oci_csv_fill;

struct oci_csv_column {
    const oci_field *field;
    int32_t source; /* index of the field in the record */
    bool inferred;  /* the type was guessed: texts that it would not keep are refused */
    oci_zone zone;
    void (*fill)(const oci_csv_column *column, const oci_csv_rows *rows, uint8_t *to,
                 uint8_t *bitmap, oci_csv_fill *out);
};

/* Prepares a column. OC_EUNSUPPORTED for a type that has no text form here, by name. Borrows
 * field. */
OC_NODISCARD oc_status oci_csv_column_init(oci_csv_column *column, const oci_field *field,
                                           int32_t source, bool inferred, oc_error *err);

/* Bytes a row takes without var-length bytes and validity, rounded up. */
int64_t oci_csv_column_row_bytes(const oci_csv_column *column);
bool oci_csv_column_has_bytes(const oci_csv_column *column); /* var-length */

/* Bytes that the column needs at most, validity and padding included. */
int64_t oci_csv_column_bound(const oci_csv_column *column, const oci_csv_rows *rows);

/* Fills the column at `to` (8-byte aligned, room for the bound without the validity, and the
 * slack). `bitmap` has room for n_rows bits rounded up to 8 bytes; it is valid only when null_count
 * > 0, and zero behind its last bit. Padding is zeroed. A bad value ends the fill early. */
void oci_csv_column_fill(const oci_csv_column *column, const oci_csv_rows *rows, uint8_t *to,
                         uint8_t *bitmap, oci_csv_fill *out);

/* The text of a field without its quotes (doubled ones stay doubled). */
static inline const uint8_t *oci_csv_field_text(const oci_csv_rows *rows, int64_t row,
                                                int32_t source, int64_t *length, bool *quoted)
{
    const uint32_t *p = rows->positions + row * rows->stride + source;
    int64_t from = (int64_t)(p[0] & UINT32_C(0x7FFFFFFF)) + 1;
    int64_t to = (int64_t)(p[1] & UINT32_C(0x7FFFFFFF));
    *quoted = (p[1] & UINT32_C(0x80000000)) != 0;
    *length = to - from - 2 * *quoted;
    return rows->data + from + *quoted;
}

/* Whether a field is the null text. Quotes make a value of it, save that an empty field means null
 * in quotes as well where `empty` says that no value of the type is empty: tools that quote
 * everything write "" for a missing number. */
static inline bool oci_csv_is_null(const oci_csv_rows *rows, const uint8_t *text, int64_t length,
                                   bool quoted, bool empty)
{
    if (length != rows->null_length || (quoted && (length > 0 || !empty))) {
        return false;
    }
    for (int64_t i = 0; i < length; i++) {
        if (text[i] != (uint8_t)rows->null_text[i]) {
            return false;
        }
    }
    return true;
}

#endif /* OUTCORE_FORMATS_CSV_COLUMN_H */
