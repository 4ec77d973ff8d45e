/* Values as text, the same in every output format.
 *
 *   integers, durations   digits
 *   decimals              digits with the scale: 1.50
 *   floats                the shortest digits that read back to the same bits: 0.1, 1e+300, 5.0;
 *                         NaN, inf, -inf
 *   bool                  true, false
 *   dates                 1970-01-31, years above 9999 with a sign
 *   times                 12:34:56, with 3, 6 or 9 more digits when they are not all zero
 *   timestamps            1970-01-31T12:34:56.789, in UTC with a Z when the type has a time zone
 *   intervals             ISO 8601: P14M, P3DT0.500S, P1M2DT3.000000004S
 *   texts                 as they are
 *   binary                hex digits
 *
 * parse_value.h reads all of these back (but intervals) to the same bits, save that a NaN may be
 * another NaN. Independent of the locale.
 *
 * Dictionaries, runs and unions are seen through: the text is that of the value. Lists, structs and
 * maps have no text of their own here; json_value.h writes them. */
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
    OCI_VALUE_BINARY, /* bytes of any length, to be written as hex: oci_value_bytes */
    OCI_VALUE_LIST,   /* nested: written by json_value.h */
    OCI_VALUE_STRUCT,
    OCI_VALUE_MAP,
    OCI_VALUE_UNION /* only the formatter of a column; its values are of another kind */
} oci_value_kind;

typedef struct oci_formatter oci_formatter;
struct oci_formatter {
    oci_value_kind kind;
    oci_type type;
    int32_t byte_width;
    int32_t scale;
    oci_time_unit unit;
    bool has_zone;
    /* Writes the value at `value` (unaligned) and returns the end. NULL where kind alone says what
     * to do. */
    char *(*format)(const oci_formatter *formatter, const uint8_t *value, char *out);
    /* Nested kinds: of each child; of a map key and value. */
    oci_formatter *children;
    int32_t n_children;
    const char *name; /* of the field, which must outlive this */
};

/* For the values of a field; of dictionaries and runs, the values they stand for. Children are
 * charged to `mem`, which may be NULL when the type is not nested. Fit for deinit also after a
 * failure. */
OC_NODISCARD oc_status oci_formatter_init(oci_formatter *formatter, const oci_field *field,
                                          oci_mem *mem, oc_error *err);
void oci_formatter_deinit(oci_formatter *formatter, oci_mem *mem);

static inline bool oci_kind_is_nested(oci_value_kind kind)
{
    return kind >= OCI_VALUE_LIST;
}

/* oci_value_resolve for the types that need more than a look at the bitmap. */
bool oci_value_resolve_nested(const oci_formatter **formatter, const oci_column **column,
                              int64_t *row);

/* Follows dictionaries, runs and unions: sets *column and *row to where the value lies and
 * *formatter to what writes it. False when the value is null. The column may be in the working form
 * of the field that the formatter was made for. */
static inline bool oci_value_resolve(const oci_formatter **formatter, const oci_column **column,
                                     int64_t *row)
{
    const oci_column *c = *column;
    if (c->field->type >= OCI_TYPE_DICTIONARY || c->field->type == OCI_TYPE_NULL) {
        return oci_value_resolve_nested(formatter, column, row);
    }
    int64_t at = c->offset + *row;
    return c->validity == NULL || ((c->validity[at >> 3] >> (at & 7)) & 1) != 0;
}

/* The text of a value that is not null, behind oci_value_resolve; not for TEXT, BINARY and nested
 * kinds. Returns the end. */
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
