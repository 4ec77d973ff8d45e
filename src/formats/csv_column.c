/* Columns filled from scanned positions. See csv_column.h.
 *
 * FILL_FIXED makes one loop per type around one parse function, so that each loop is straight and
 * inlined. Texts are copied with one blind copy of 16 bytes when they are that short, which most
 * are.
 *
 * In columns of text or bytes "" is an empty value; in all others it is null like an unquoted empty
 * field. */
#include "formats/csv_column.h"

#include <string.h>

#include "arrow/batch.h"
#include "base/bits.h"
#include "formats/csv_scan.h"

/* ---- nulls and padding ----------------------------------------------------------------------- */

static void mark_null(oci_csv_fill *out, uint8_t *bitmap, int64_t row, int64_t n_rows)
{
    if (out->null_count == 0) {
        int64_t n_bytes = oci_round_up(oci_bytes_for_bits(n_rows), 8);
        memset(bitmap, 0, (size_t)n_bytes);
        oci_bits_fill(bitmap, 0, n_rows, true);
    }
    out->null_count++;
    oci_bit_clear(bitmap, row);
}

static int64_t first_null(const uint8_t *bitmap, int64_t n_rows)
{
    int64_t row = 0;
    while (row < n_rows && oci_bit_get(bitmap, row)) {
        row++;
    }
    return row;
}

static void zero_padding(uint8_t *buffer, int64_t size)
{
    memset(buffer + size, 0, (size_t)(oci_round_up(size, 8) - size));
}

/* ---- fixed width ----------------------------------------------------------------------------- */

#define FILL_FIXED(name, type, parse)                                                              \
    static void name(const oci_csv_column *column, const oci_csv_rows *rows, uint8_t *to,          \
                     uint8_t *bitmap, oci_csv_fill *out)                                           \
    {                                                                                              \
        for (int64_t row = 0; row < rows->n_rows; row++) {                                         \
            int64_t length;                                                                        \
            bool quoted;                                                                           \
            const uint8_t *text = oci_csv_field_text(rows, row, column->source, &length, &quoted); \
            type value = 0;                                                                        \
            if (oci_csv_is_null(rows, text, length, quoted, true)) {                               \
                mark_null(out, bitmap, row, rows->n_rows);                                         \
            } else {                                                                               \
                oci_parse_result result = parse(column, text, length, &value);                     \
                if (result != OCI_PARSE_OK) {                                                      \
                    out->bad_row = row;                                                            \
                    out->why = result;                                                             \
                    return;                                                                        \
                }                                                                                  \
            }                                                                                      \
            memcpy(to + row * (int64_t)sizeof(type), &value, sizeof(type));                        \
        }                                                                                          \
    }

static inline oci_parse_result parse_int64(const oci_csv_column *column, const uint8_t *text,
                                           int64_t length, int64_t *out)
{
    /* Most numbers are short and plain; the rest goes the careful way. */
    if (length > 0 && length <= 18 && (uint8_t)(text[0] - '1') <= 8) {
        int64_t value = 0;
        int64_t i = 0;
        for (; i < length && (uint8_t)(text[i] - '0') <= 9; i++) {
            value = value * 10 + (text[i] - '0');
        }
        if (i == length) {
            *out = value;
            return OCI_PARSE_OK;
        }
        return OCI_PARSE_SYNTAX;
    }
    return column->inferred ? oci_parse_int64_strict(text, length, out)
                            : oci_parse_int64(text, length, out);
}

#define PARSE_NARROW(name, type, low, high)                                                  \
    static inline oci_parse_result name(const oci_csv_column *column, const uint8_t *text,   \
                                        int64_t length, type *out)                           \
    {                                                                                        \
        int64_t value = 0;                                                                   \
        oci_parse_result result = parse_int64(column, text, length, &value);                 \
        *out = (type)value;                                                                  \
        return result == OCI_PARSE_OK && (value < (low) || value > (high)) ? OCI_PARSE_RANGE \
                                                                           : result;         \
    }

PARSE_NARROW(parse_int8, int8_t, INT8_MIN, INT8_MAX)
PARSE_NARROW(parse_int16, int16_t, INT16_MIN, INT16_MAX)
PARSE_NARROW(parse_int32, int32_t, INT32_MIN, INT32_MAX)
PARSE_NARROW(parse_uint8, uint8_t, 0, UINT8_MAX)
PARSE_NARROW(parse_uint16, uint16_t, 0, UINT16_MAX)
PARSE_NARROW(parse_uint32, uint32_t, 0, UINT32_MAX)

static inline oci_parse_result parse_uint64(const oci_csv_column *column, const uint8_t *text,
                                            int64_t length, uint64_t *out)
{
    (void)column;
    return oci_parse_uint64(text, length, out);
}

static inline oci_parse_result parse_float16(const oci_csv_column *column, const uint8_t *text,
                                             int64_t length, uint16_t *out)
{
    (void)column;
    return oci_parse_float16(text, length, out);
}

static inline oci_parse_result parse_float32(const oci_csv_column *column, const uint8_t *text,
                                             int64_t length, float *out)
{
    (void)column;
    return oci_parse_float32(text, length, out);
}

static inline oci_parse_result parse_float64(const oci_csv_column *column, const uint8_t *text,
                                             int64_t length, double *out)
{
    (void)column;
    return oci_parse_float64(text, length, out);
}

static inline oci_parse_result parse_date32(const oci_csv_column *column, const uint8_t *text,
                                            int64_t length, int32_t *out)
{
    (void)column;
    int64_t days = 0;
    oci_parse_result result = oci_parse_date(text, length, &days);
    *out = (int32_t)days;
    return result == OCI_PARSE_OK && days != *out ? OCI_PARSE_RANGE : result;
}

/* Milliseconds; whole days by the format, but a time of day is kept when there is one. */
static inline oci_parse_result parse_date64(const oci_csv_column *column, const uint8_t *text,
                                            int64_t length, int64_t *out)
{
    return oci_parse_timestamp(text, length, OCI_MILLI, column->zone, out, NULL);
}

static inline oci_parse_result parse_time32(const oci_csv_column *column, const uint8_t *text,
                                            int64_t length, int32_t *out)
{
    int64_t value = 0;
    oci_parse_result result = oci_parse_time(text, length, column->field->unit, &value);
    *out = (int32_t)value;
    return result;
}

static inline oci_parse_result parse_time64(const oci_csv_column *column, const uint8_t *text,
                                            int64_t length, int64_t *out)
{
    return oci_parse_time(text, length, column->field->unit, out);
}

static inline oci_parse_result parse_timestamp(const oci_csv_column *column, const uint8_t *text,
                                               int64_t length, int64_t *out)
{
    return oci_parse_timestamp(text, length, column->field->unit, column->zone, out, NULL);
}

FILL_FIXED(fill_int8, int8_t, parse_int8)
FILL_FIXED(fill_int16, int16_t, parse_int16)
FILL_FIXED(fill_int32, int32_t, parse_int32)
FILL_FIXED(fill_int64, int64_t, parse_int64)
FILL_FIXED(fill_uint8, uint8_t, parse_uint8)
FILL_FIXED(fill_uint16, uint16_t, parse_uint16)
FILL_FIXED(fill_uint32, uint32_t, parse_uint32)
FILL_FIXED(fill_uint64, uint64_t, parse_uint64)
FILL_FIXED(fill_float16, uint16_t, parse_float16)
FILL_FIXED(fill_float32, float, parse_float32)
FILL_FIXED(fill_float64, double, parse_float64)
FILL_FIXED(fill_date32, int32_t, parse_date32)
FILL_FIXED(fill_date64, int64_t, parse_date64)
FILL_FIXED(fill_time32, int32_t, parse_time32)
FILL_FIXED(fill_time64, int64_t, parse_time64)
FILL_FIXED(fill_timestamp, int64_t, parse_timestamp)

static void fill_decimal(const oci_csv_column *column, const oci_csv_rows *rows, uint8_t *to,
                         uint8_t *bitmap, oci_csv_fill *out)
{
    const int32_t width = column->field->byte_width;
    const int32_t precision = column->field->precision;
    const int32_t scale = column->field->scale;
    for (int64_t row = 0; row < rows->n_rows; row++, to += width) {
        int64_t length;
        bool quoted;
        const uint8_t *text = oci_csv_field_text(rows, row, column->source, &length, &quoted);
        if (oci_csv_is_null(rows, text, length, quoted, true)) {
            mark_null(out, bitmap, row, rows->n_rows);
            memset(to, 0, (size_t)width);
            continue;
        }
        oci_parse_result result = oci_parse_decimal(text, length, width, precision, scale, to);
        if (result != OCI_PARSE_OK) {
            out->bad_row = row;
            out->why = result;
            return;
        }
    }
}

static void fill_bool(const oci_csv_column *column, const oci_csv_rows *rows, uint8_t *to,
                      uint8_t *bitmap, oci_csv_fill *out)
{
    memset(to, 0, (size_t)oci_bytes_for_bits(rows->n_rows));
    for (int64_t row = 0; row < rows->n_rows; row++) {
        int64_t length;
        bool quoted;
        const uint8_t *text = oci_csv_field_text(rows, row, column->source, &length, &quoted);
        if (oci_csv_is_null(rows, text, length, quoted, true)) {
            mark_null(out, bitmap, row, rows->n_rows);
            continue;
        }
        bool value = false;
        oci_parse_result result = column->inferred ? oci_parse_bool_strict(text, length, &value)
                                                   : oci_parse_bool(text, length, &value);
        if (result != OCI_PARSE_OK) {
            out->bad_row = row;
            out->why = result;
            return;
        }
        oci_bit_put(to, row, value);
    }
}

/* A column of type null: every field is null. */
static void fill_null(const oci_csv_column *column, const oci_csv_rows *rows, uint8_t *to,
                      uint8_t *bitmap, oci_csv_fill *out)
{
    (void)to;
    (void)bitmap;
    for (int64_t row = 0; row < rows->n_rows; row++) {
        int64_t length;
        bool quoted;
        const uint8_t *text = oci_csv_field_text(rows, row, column->source, &length, &quoted);
        if (!oci_csv_is_null(rows, text, length, quoted, true)) {
            out->bad_row = row;
            out->why = OCI_PARSE_SYNTAX;
            return;
        }
    }
}

/* ---- bytes of any length --------------------------------------------------------------------- */

/* Copies a field's text to `to`, which may be scribbled on up to 16 bytes behind; returns its
 * length. Doubled quotes become single ones. */
static inline int64_t copy_text(uint8_t *to, const uint8_t *text, int64_t length, bool quoted,
                                uint8_t quote)
{
    if (length <= 16) {
        memcpy(to, text, 16);
    } else {
        memcpy(to, text, (size_t)length);
    }
    if (!quoted) {
        return length;
    }
    uint8_t *found = length == 0 ? NULL : memchr(to, quote, (size_t)length);
    if (found == NULL) {
        return length;
    }
    uint8_t *end = to + length;
    uint8_t *write = found;
    for (const uint8_t *at = found; at < end; at++) {
        *write++ = *at;
        at += *at == quote; /* the second of the pair */
    }
    return write - to;
}

static inline int hex_value(uint8_t c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    uint8_t lower = (uint8_t)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Hex digits at `from` to bytes at `to`, which may be the same place. */
static bool decode_hex(uint8_t *to, const uint8_t *from, int64_t n_digits)
{
    if (n_digits % 2 != 0) {
        return false;
    }
    for (int64_t i = 0; i < n_digits / 2; i++) {
        int high = hex_value(from[2 * i]);
        int low = hex_value(from[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        to[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* The bytes of a binary field that was copied to `to`: "\x" and hex digits are decoded in place,
 * anything else is raw. False for a broken hex text. */
static inline bool decode_binary(uint8_t *to, int64_t *length)
{
    if (*length < 2 || to[0] != '\\' || to[1] != 'x') {
        return true;
    }
    bool fine = decode_hex(to, to + 2, *length - 2);
    *length = (*length - 2) / 2;
    return fine;
}

static inline bool is_binary(const oci_field *field)
{
    return field->type == OCI_TYPE_BINARY || field->type == OCI_TYPE_LARGE_BINARY ||
           field->type == OCI_TYPE_BINARY_VIEW;
}

#define FILL_OFFSETS(name, type)                                                                   \
    static void name(const oci_csv_column *column, const oci_csv_rows *rows, uint8_t *to,          \
                     uint8_t *bitmap, oci_csv_fill *out)                                           \
    {                                                                                              \
        const bool binary = is_binary(column->field);                                              \
        uint8_t *bytes = to + oci_round_up((rows->n_rows + 1) * (int64_t)sizeof(type), 8);         \
        type used = 0;                                                                             \
        memcpy(to, &used, sizeof used);                                                            \
        for (int64_t row = 0; row < rows->n_rows; row++) {                                         \
            int64_t length;                                                                        \
            bool quoted;                                                                           \
            const uint8_t *text = oci_csv_field_text(rows, row, column->source, &length, &quoted); \
            if (oci_csv_is_null(rows, text, length, quoted, false)) {                              \
                mark_null(out, bitmap, row, rows->n_rows);                                         \
                length = 0;                                                                        \
            } else {                                                                               \
                length = copy_text(bytes + used, text, length, quoted, rows->quote);               \
                if (binary && !decode_binary(bytes + used, &length)) {                             \
                    out->bad_row = row;                                                            \
                    out->why = OCI_PARSE_SYNTAX;                                                   \
                    return;                                                                        \
                }                                                                                  \
            }                                                                                      \
            used = (type)(used + length);                                                          \
            memcpy(to + (row + 1) * (int64_t)sizeof(type), &used, sizeof used);                    \
        }                                                                                          \
        out->bytes_size = used;                                                                    \
    }

FILL_OFFSETS(fill_offsets32, int32_t)
FILL_OFFSETS(fill_offsets64, int64_t)

/* Views into one buffer behind them; short values lie in the view itself. */
static void fill_views(const oci_csv_column *column, const oci_csv_rows *rows, uint8_t *to,
                       uint8_t *bitmap, oci_csv_fill *out)
{
    const bool binary = is_binary(column->field);
    uint8_t *bytes = to + rows->n_rows * (int64_t)sizeof(oci_view);
    int64_t used = 0;
    for (int64_t row = 0; row < rows->n_rows; row++) {
        int64_t length;
        bool quoted;
        const uint8_t *text = oci_csv_field_text(rows, row, column->source, &length, &quoted);
        oci_view view;
        memset(&view, 0, sizeof view);
        if (oci_csv_is_null(rows, text, length, quoted, false)) {
            mark_null(out, bitmap, row, rows->n_rows);
        } else {
            length = copy_text(bytes + used, text, length, quoted, rows->quote);
            if (binary && !decode_binary(bytes + used, &length)) {
                out->bad_row = row;
                out->why = OCI_PARSE_SYNTAX;
                return;
            }
            view.length = (int32_t)length;
            if (length <= (int64_t)sizeof view.inlined) {
                memcpy(view.inlined, bytes + used, (size_t)length);
            } else {
                memcpy(view.ref.prefix, bytes + used, sizeof view.ref.prefix);
                view.ref.offset = (int32_t)used;
                used += length;
            }
        }
        memcpy(to + row * (int64_t)sizeof view, &view, sizeof view);
    }
    out->bytes_size = used;
}

/* Exactly byte_width bytes: hex digits, with or without \x, or the raw bytes. */
static void fill_fixed_binary(const oci_csv_column *column, const oci_csv_rows *rows, uint8_t *to,
                              uint8_t *bitmap, oci_csv_fill *out)
{
    const int64_t width = column->field->byte_width;
    for (int64_t row = 0; row < rows->n_rows; row++, to += width) {
        int64_t length;
        bool quoted;
        const uint8_t *text = oci_csv_field_text(rows, row, column->source, &length, &quoted);
        if (oci_csv_is_null(rows, text, length, quoted, false)) {
            mark_null(out, bitmap, row, rows->n_rows);
            memset(to, 0, (size_t)width);
            continue;
        }
        bool prefixed = length >= 2 && text[0] == '\\' && text[1] == 'x';
        const uint8_t *digits = text + 2 * prefixed;
        int64_t n_digits = length - 2 * prefixed;
        if (n_digits == 2 * width && decode_hex(to, digits, n_digits)) {
            continue;
        }
        if (!prefixed && length == width) {
            memcpy(to, text, (size_t)width);
            continue;
        }
        out->bad_row = row;
        out->why = OCI_PARSE_LENGTH;
        return;
    }
}

/* ---- choosing -------------------------------------------------------------------------------- */

typedef void (*fill_function)(const oci_csv_column *column, const oci_csv_rows *rows, uint8_t *to,
                              uint8_t *bitmap, oci_csv_fill *out);

static fill_function fill_for(oci_type type)
{
    switch (type) {
    case OCI_TYPE_NULL: return fill_null;
    case OCI_TYPE_BOOL: return fill_bool;
    case OCI_TYPE_INT8: return fill_int8;
    case OCI_TYPE_INT16: return fill_int16;
    case OCI_TYPE_INT32: return fill_int32;
    case OCI_TYPE_INT64:
    case OCI_TYPE_DURATION: return fill_int64;
    case OCI_TYPE_UINT8: return fill_uint8;
    case OCI_TYPE_UINT16: return fill_uint16;
    case OCI_TYPE_UINT32: return fill_uint32;
    case OCI_TYPE_UINT64: return fill_uint64;
    case OCI_TYPE_FLOAT16: return fill_float16;
    case OCI_TYPE_FLOAT32: return fill_float32;
    case OCI_TYPE_FLOAT64: return fill_float64;
    case OCI_TYPE_DECIMAL32:
    case OCI_TYPE_DECIMAL64:
    case OCI_TYPE_DECIMAL128:
    case OCI_TYPE_DECIMAL256: return fill_decimal;
    case OCI_TYPE_DATE32: return fill_date32;
    case OCI_TYPE_DATE64: return fill_date64;
    case OCI_TYPE_TIME32: return fill_time32;
    case OCI_TYPE_TIME64: return fill_time64;
    case OCI_TYPE_TIMESTAMP: return fill_timestamp;
    case OCI_TYPE_FIXED_BINARY: return fill_fixed_binary;
    case OCI_TYPE_UTF8:
    case OCI_TYPE_BINARY: return fill_offsets32;
    case OCI_TYPE_LARGE_UTF8:
    case OCI_TYPE_LARGE_BINARY: return fill_offsets64;
    case OCI_TYPE_UTF8_VIEW:
    case OCI_TYPE_BINARY_VIEW: return fill_views;
    default: return NULL;
    }
}

oc_status oci_csv_column_init(oci_csv_column *column, const oci_field *field, int32_t source,
                              bool inferred, oc_error *err)
{
    *column = (oci_csv_column){
        .field = field,
        .source = source,
        .inferred = inferred,
        .zone = oci_zone_of(field->type == OCI_TYPE_TIMESTAMP ? field->timezone : NULL),
        .fill = fill_for(field->type)};
    if (inferred && column->zone.kind == OCI_ZONE_FIXED) {
        column->zone.kind =
            OCI_ZONE_NAMED; /* every text had an offset; one without means something else */
    }
    if (column->fill == NULL) {
        char type[128];
        oci_field_type_text(field, type, sizeof type);
        OC_FAIL(err, OC_EUNSUPPORTED,
                "could not read column \"%s\" from CSV as %s: this type is not supported there",
                field->name, type);
    }
    return OC_OK;
}

int64_t oci_csv_column_row_bytes(const oci_csv_column *column)
{
    switch (oci_field_layout(column->field)) {
    case OCI_LAYOUT_FIXED: return column->field->byte_width;
    case OCI_LAYOUT_OFFSETS32: return (int64_t)sizeof(int32_t);
    case OCI_LAYOUT_OFFSETS64: return (int64_t)sizeof(int64_t);
    case OCI_LAYOUT_VIEWS: return (int64_t)sizeof(oci_view);
    case OCI_LAYOUT_BITS: return 1;
    default: return 0;
    }
}

bool oci_csv_column_has_bytes(const oci_csv_column *column)
{
    oci_layout layout = oci_field_layout(column->field);
    return layout == OCI_LAYOUT_OFFSETS32 || layout == OCI_LAYOUT_OFFSETS64 ||
           layout == OCI_LAYOUT_VIEWS;
}

/* Bytes of the values, offsets or views of `n` rows. */
static int64_t values_bytes(const oci_csv_column *column, int64_t n)
{
    switch (oci_field_layout(column->field)) {
    case OCI_LAYOUT_BITS: return oci_bytes_for_bits(n);
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64: return (n + 1) * oci_csv_column_row_bytes(column);
    default: return n * oci_csv_column_row_bytes(column);
    }
}

int64_t oci_csv_column_bound(const oci_csv_column *column, const oci_csv_rows *rows)
{
    int64_t bound = oci_round_up(values_bytes(column, rows->n_rows), 8) +
                    oci_round_up(oci_bytes_for_bits(rows->n_rows), 8);
    if (oci_csv_column_has_bytes(column)) {
        const uint32_t *p = rows->positions + column->source;
        int64_t total = 0;
        for (int64_t row = 0; row < rows->n_rows; row++, p += rows->stride) {
            total += (int64_t)(p[1] & ~OCI_CSV_QUOTED) - (int64_t)(p[0] & ~OCI_CSV_QUOTED) - 1;
        }
        bound += oci_round_up(total, 8);
    }
    return bound;
}

void oci_csv_column_fill(const oci_csv_column *column, const oci_csv_rows *rows, uint8_t *to,
                         uint8_t *bitmap, oci_csv_fill *out)
{
    *out = (oci_csv_fill){.bad_row = -1, .values_bytes = values_bytes(column, rows->n_rows)};
    column->fill(column, rows, to, bitmap, out);
    if (out->null_count > 0 && !column->field->nullable && out->bad_row < 0) {
        out->why = OCI_PARSE_NULL;
        out->bad_row = first_null(bitmap, rows->n_rows);
    }
    if (out->bad_row >= 0) {
        return;
    }
    zero_padding(to, out->values_bytes);
    if (oci_csv_column_has_bytes(column)) {
        zero_padding(to + oci_round_up(out->values_bytes, 8), out->bytes_size);
    }
}
