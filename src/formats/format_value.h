/* Values as text, the same in every output format.
 *
 *   integers, durations   digits                          bool       true, false
 *   decimals              digits with the scale: 1.50     dates      1970-01-31, years above 9999
 * with a sign floats                the shortest digits that read back to the same bits: 0.1,
 * 1e+300, 5.0; NaN, inf, -inf times                 12:34:56, with 3, 6 or 9 more digits when they
 * are not all zero timestamps            1970-01-31T12:34:56.789, in UTC with a Z when the type has
 * a time zone intervals             ISO 8601: P14M, P3DT0.500S, P1M2DT3.000000004S texts as they
 * are                     binary     hex digits
 *
 * parse_value.h reads all of these back (but intervals) to the same bits, save that a NaN may be
 * another NaN. Independent of the locale. */
#ifndef OUTCORE_FORMATS_FORMAT_VALUE_H
#define OUTCORE_FORMATS_FORMAT_VALUE_H

#include "arrow/batch.h"

/* Room for any value that oci_format_value writes. */
#define OCI_VALUE_TEXT_MAX 384

/* What kind of text the values of a type become. */
typedef enum oci_value_kind {
    OCI_VALUE_NULL,   /* every value is null */
    OCI_VALUE_NUMBER, /* digits */
    OCI_VALUE_FLOAT,  /* digits, or NaN, inf, -inf */
    OCI_VALUE_BOOL,   /* true, false */
    OCI_VALUE_TIME,   /* dates, times, intervals: neither quotes nor delimiters, but no numbers */
    OCI_VALUE_TEXT,   /* bytes of any length: oci_value_bytes */
    OCI_VALUE_BINARY  /* bytes of any length, to be written as hex: oci_value_bytes */
} oci_value_kind;

typedef struct oci_formatter oci_formatter;
struct oci_formatter {
    oci_value_kind kind;
    oci_type type;
    int32_t byte_width;
    int32_t scale;
    oci_time_unit unit;
    bool has_zone;
    /* Writes the value at `value` (unaligned) and returns the end. NULL for TEXT, BINARY, NULL and
     * BOOL. */
    char *(*format)(const oci_formatter *formatter, const uint8_t *value, char *out);
};

/* For the values of a field; of a dictionary the values it stands for. OC_EUNSUPPORTED for nested
 * types, by name. */
OC_NODISCARD oc_status oci_formatter_init(oci_formatter *formatter, const oci_field *field,
                                          oc_error *err);

/* Follows a dictionary: sets *column and *row to where the value lies. False when the value is
 * null. */
static inline bool oci_value_resolve(const oci_column **column, int64_t *row)
{
    const oci_column *c = *column;
    if (c->field->type == OCI_TYPE_DICTIONARY || c->field->type == OCI_TYPE_NULL) {
        if (oci_column_is_null(c, *row)) {
            return false;
        }
        *row = oci_column_index_at(c, *row);
        *column = c->dictionary;
        return true;
    }
    int64_t at = c->offset + *row;
    return c->validity == NULL || ((c->validity[at >> 3] >> (at & 7)) & 1) != 0;
}

/* The text of a value that is not null, behind oci_value_resolve; not for TEXT and BINARY. Returns
 * the end. */
char *oci_format_value(const oci_formatter *formatter, const oci_column *column, int64_t row,
                       char *out);

/* The bytes of a TEXT or BINARY value. */
const uint8_t *oci_value_bytes(const oci_column *column, int64_t row, int64_t *length);

/* Pieces that are useful alone. Each returns the end of what it wrote. */
char *oci_format_int64(int64_t value, char *out);   /* at most 20 bytes */
char *oci_format_uint64(uint64_t value, char *out); /* at most 20 bytes */
char *oci_format_float64(double value, char *out);  /* at most 32 bytes */
char *oci_format_float32(float value, char *out);
char *oci_format_float16(uint16_t bits, char *out);
/* `n` bytes as 2 n hex digits in lower case. */
char *oci_format_hex(const uint8_t *bytes, int64_t n, char *out);

#endif /* OUTCORE_FORMATS_FORMAT_VALUE_H */
