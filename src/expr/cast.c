/* Casts. See cast.h.
 *
 * A value goes through one of a few common forms: a whole number with a scale (integers, decimals, booleans), a
 * double, a moment (dates and timestamps in nanoseconds of 128 bits), text. So n types need n readers and n writers
 * and not n * n casts. The frequent casts between integers and to double have loops of their own. Owners of blocks
 * come from malloc. */
#include "expr/cast.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "expr/expr.h"
#include "expr/interval.h"
#include "expr/number.h"
#include "formats/calendar.h"
#include "formats/format_value.h"
#include "formats/parse_value.h"

/* ---- which there are ------------------------------------------------------------------------- */

static bool is_interval(oci_type type)
{
    return type >= OCI_TYPE_INTERVAL_MONTHS && type <= OCI_TYPE_INTERVAL_MONTH_DAY_NANO;
}

static bool is_moment(oci_type type)
{
    return type == OCI_TYPE_DATE32 || type == OCI_TYPE_DATE64 || type == OCI_TYPE_TIMESTAMP;
}

static bool is_time(oci_type type)
{
    return type == OCI_TYPE_TIME32 || type == OCI_TYPE_TIME64;
}

static bool is_bytes(oci_type type)
{
    return type == OCI_TYPE_BINARY || type == OCI_TYPE_LARGE_BINARY ||
           type == OCI_TYPE_BINARY_VIEW || type == OCI_TYPE_FIXED_BINARY;
}

bool oci_cast_is_implicit(const oci_field *from, const oci_field *to)
{
    oci_type a = from->type;
    oci_type b = to->type;
    if (oci_field_same_type(from, to) || a == OCI_TYPE_NULL) {
        return true;
    }
    if (oci_type_is_integer(a)) {
        if (oci_type_is_integer(b)) {
            bool loses_sign = b >= OCI_TYPE_UINT8 && a < OCI_TYPE_UINT8;
            return !loses_sign && oci_integer_digits(a) <= oci_integer_digits(b) &&
                   !(a == OCI_TYPE_UINT64) && !(a == OCI_TYPE_UINT32 && b == OCI_TYPE_INT32) &&
                   !(a == OCI_TYPE_UINT16 && b == OCI_TYPE_INT16) &&
                   !(a == OCI_TYPE_UINT8 && b == OCI_TYPE_INT8);
        }
        return oci_type_is_float(b) || (oci_type_is_decimal(b) && b != OCI_TYPE_DECIMAL32);
    }
    if (oci_type_is_decimal(a)) {
        return oci_type_is_decimal(b) || b == OCI_TYPE_FLOAT64;
    }
    if (oci_type_is_float(a)) {
        return oci_type_is_float(b) && b >= a;
    }
    if (oci_type_is_text(a)) {
        return oci_type_is_text(b);
    }
    if (is_bytes(a)) {
        return b == OCI_TYPE_BINARY || b == OCI_TYPE_LARGE_BINARY;
    }
    if (is_moment(a)) {
        return b == OCI_TYPE_TIMESTAMP || (a == OCI_TYPE_DATE64 && b == OCI_TYPE_DATE32) ||
               (a == OCI_TYPE_DATE32 && b == OCI_TYPE_DATE64);
    }
    return (is_interval(a) && b == OCI_TYPE_INTERVAL_MONTH_DAY_NANO) || (is_time(a) && is_time(b));
}

bool oci_cast_exists(const oci_field *from, const oci_field *to)
{
    oci_type a = from->type;
    oci_type b = to->type;
    if (oci_cast_is_implicit(from, to)) {
        return oci_field_layout(to) <= OCI_LAYOUT_OFFSETS64 || oci_field_same_type(from, to) ||
               a == OCI_TYPE_NULL;
    }
    bool from_number = oci_type_is_number(a) || a == OCI_TYPE_BOOL;
    bool to_number = oci_type_is_number(b) || b == OCI_TYPE_BOOL;
    if (b == OCI_TYPE_UTF8_VIEW || b == OCI_TYPE_BINARY_VIEW) {
        return false;
    }
    if (from_number && to_number) {
        return true;
    }
    if (oci_type_is_text(b)) {
        return oci_field_layout(from) <= OCI_LAYOUT_VIEWS;
    }
    if (oci_type_is_text(a)) {
        return to_number || is_moment(b) || is_time(b) || b == OCI_TYPE_INTERVAL_MONTH_DAY_NANO ||
               (is_bytes(b) && b != OCI_TYPE_FIXED_BINARY);
    }
    if (is_moment(a)) {
        return is_moment(b) || (is_time(b) && a == OCI_TYPE_TIMESTAMP) ||
               (b == OCI_TYPE_INT64 && a == OCI_TYPE_TIMESTAMP);
    }
    if (a == OCI_TYPE_INT64 && b == OCI_TYPE_TIMESTAMP) {
        return true;
    }
    return (is_bytes(a) && is_bytes(b) && b != OCI_TYPE_FIXED_BINARY);
}

/* ---- failing --------------------------------------------------------------------------------- */

typedef struct casting {
    const oci_vector *arg;
    const oci_field *from;
    const oci_field *to;
    bool is_try;
    oci_mem *mem;
    oci_formatter formatter;
    char text[OCI_VALUE_TEXT_MAX];
} casting;

/* The text of a value for a message, cut. */
static void quote(casting *c, int64_t row, char *out, size_t size)
{
    if (oci_type_is_text(c->from->type)) {
        int64_t length;
        const uint8_t *text = oci_column_bytes_at(&c->arg->column, row, &length);
        snprintf(out, size, "\"%.*s\"", (int)oci_min64(length, 60), (const char *)text);
        return;
    }
    oci_formatter formatter;
    out[0] = '\0';
    if (oci_formatter_init(&formatter, c->from, NULL, NULL) == OC_OK && formatter.format != NULL) {
        char text[OCI_VALUE_TEXT_MAX];
        char *end = oci_format_value(&formatter, &c->arg->column, row, text);
        snprintf(out, size, "%.*s", (int)(end - text), text);
        oci_formatter_deinit(&formatter, NULL);
    }
}

static oc_status fail_value(casting *c, int64_t row, const char *why, oc_error *err)
{
    char value[120];
    char type[64];
    quote(c, row, value, sizeof value);
    oci_type_sql_name(c->to, type, sizeof type);
    if (oci_type_is_text(c->from->type) && why[0] == '\0') {
        OC_FAIL(err, OC_EINVAL, "invalid input for type %s: %s", type, value);
    }
    OC_FAIL(err, OC_EINVAL, "value %s is out of range for type %s%s%s", value, type,
            why[0] != '\0' ? ": " : "", why);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static bool load_number(const casting *c, int64_t at, oci_number *out)
{
    return oci_number_load(c->from, c->arg->column.values, at, out);
}

static oci_parse_result parse_number(const oci_field *to, const uint8_t *text, int64_t length,
                                     uint8_t *out)
{
    oci_parse_result result;
    int64_t whole = 0;
    bool truth = false;
    double wide = 0;
    float narrow = 0;
    uint16_t half = 0;
    uint64_t natural = 0;
    switch (to->type) {
    case OCI_TYPE_BOOL:
        result = oci_parse_bool(text, length, &truth);
        out[0] = truth;
        return result;
    case OCI_TYPE_FLOAT64:
        result = oci_parse_float64(text, length, &wide);
        memcpy(out, &wide, sizeof wide);
        return result;
    case OCI_TYPE_FLOAT32:
        result = oci_parse_float32(text, length, &narrow);
        memcpy(out, &narrow, sizeof narrow);
        return result;
    case OCI_TYPE_FLOAT16:
        result = oci_parse_float16(text, length, &half);
        memcpy(out, &half, sizeof half);
        return result;
    case OCI_TYPE_UINT64:
        result = oci_parse_uint64(text, length, &natural);
        oci_store_le64(out, natural);
        return result;
    default: break;
    }
    if (oci_type_is_decimal(to->type)) {
        result = oci_parse_decimal(text, length, to->byte_width, to->precision, to->scale, out);
        if (result == OCI_PARSE_DIGITS) { /* PostgreSQL rounds */
            uint8_t more[32];
            int32_t scale = oci_number_text_scale(text, length);
            oci_field fine = oci_expr_decimal(38, scale);
            if (oci_parse_decimal(text, length, 16, 38, scale, more) == OCI_PARSE_OK) {
                oci_number number;
                (void)oci_number_load(&fine, more, 0, &number);
                result = oci_number_store(to, &number, out, 0) ? OCI_PARSE_OK : OCI_PARSE_RANGE;
            }
        }
        return result;
    }
    result = oci_parse_int64(text, length, &whole);
    oci_number number = {.whole = whole};
    if (result == OCI_PARSE_OK && !oci_number_store(to, &number, out, 0)) {
        result = OCI_PARSE_RANGE;
    }
    return result;
}

/* ---- moments --------------------------------------------------------------------------------- */

static int64_t units_per_second(oci_time_unit unit)
{
    static const int64_t units[] = {1, 1000, 1000000, 1000000000};
    return units[unit];
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t load_int(const oci_field *field, const uint8_t *values, int64_t at)
{
    return field->byte_width == 4 ? (int32_t)oci_load_le32(values + at * 4)
                                  : (int64_t)oci_load_le64(values + at * 8);
}

/* Seconds and nanoseconds of a moment, or of a time of day. */
static void load_moment(const oci_field *field, const uint8_t *values, int64_t at, int64_t *seconds,
                        int64_t *nanos)
{
    int64_t value = load_int(field, values, at);
    *nanos = 0;
    if (field->type == OCI_TYPE_DATE32) {
        *seconds = value * OCI_SECONDS_PER_DAY;
        return;
    }
    int64_t units = field->type == OCI_TYPE_DATE64 ? 1000 : units_per_second(field->unit);
    *seconds = floor_div(value, units);
    *nanos = (value - *seconds * units) * (1000000000 / units);
}

static bool store_int(const oci_field *field, uint8_t *values, int64_t at, int64_t value)
{
    if (field->byte_width == 4) {
        oci_store_le32(values + at * 4, (uint32_t)(int32_t)value);
        return value == (int32_t)value;
    }
    oci_store_le64(values + at * 8, (uint64_t)value);
    return true;
}

static bool store_moment(const oci_field *field, uint8_t *values, int64_t at, int64_t seconds,
                         int64_t nanos)
{
    int64_t value;
    if (field->type == OCI_TYPE_DATE32) {
        return store_int(field, values, at, floor_div(seconds, OCI_SECONDS_PER_DAY));
    }
    if (field->type == OCI_TYPE_DATE64) {
        return oci_mul64(floor_div(seconds, OCI_SECONDS_PER_DAY), OCI_SECONDS_PER_DAY * 1000,
                         &value) &&
               store_int(field, values, at, value);
    }
    int64_t units = units_per_second(field->unit);
    if (field->type == OCI_TYPE_TIME32 || field->type == OCI_TYPE_TIME64) {
        seconds -= floor_div(seconds, OCI_SECONDS_PER_DAY) * OCI_SECONDS_PER_DAY;
    }
    return oci_mul64(seconds, units, &value) &&
           oci_add64(value, nanos / (1000000000 / units), &value) &&
           store_int(field, values, at, value);
}

static oci_parse_result parse_moment(const oci_field *to, const uint8_t *text, int64_t length,
                                     uint8_t *out)
{
    int64_t value = 0;
    oci_parse_result result;
    if (to->type == OCI_TYPE_DATE32 || to->type == OCI_TYPE_DATE64) {
        result = oci_parse_date(text, length, &value);
        if (result != OCI_PARSE_OK) { /* a time behind the date is dropped */
            bool has_zone;
            oci_zone zone = {.kind = OCI_ZONE_NONE};
            int64_t seconds;
            if (oci_parse_timestamp(text, length, OCI_SECOND, zone, &seconds, &has_zone) ==
                    OCI_PARSE_OK ||
                oci_parse_timestamp(text, length, OCI_NANO, zone, &seconds, &has_zone) ==
                    OCI_PARSE_OK) {
                result = oci_parse_date(text, oci_min64(length, 10), &value);
            }
        }
        value *= to->type == OCI_TYPE_DATE64 ? OCI_SECONDS_PER_DAY * 1000 : 1;
    } else if (to->type == OCI_TYPE_TIMESTAMP) {
        bool has_zone;
        oci_zone zone = oci_zone_of(to->timezone);
        result = oci_parse_timestamp(text, length, to->unit, zone, &value, &has_zone);
    } else {
        result = oci_parse_time(text, length, to->unit, &value);
    }
    if (result == OCI_PARSE_OK && !store_int(to, out, 0, value)) {
        result = OCI_PARSE_RANGE;
    }
    return result;
}

/* ---- from text ------------------------------------------------------------------------------- */

/* Blanks around a value do not count. */
static void trim(const uint8_t **text, int64_t *length)
{
    while (*length > 0 && ((*text)[0] == ' ' || (*text)[0] == '\t' || (*text)[0] == '\n')) {
        ++*text;
        --*length;
    }
    while (*length > 0 && ((*text)[*length - 1] == ' ' || (*text)[*length - 1] == '\t' ||
                           (*text)[*length - 1] == '\n')) {
        --*length;
    }
}

static oc_status from_text(casting *c, int64_t row, uint8_t *values, bool *is_null, oc_error *err)
{
    int64_t length;
    const uint8_t *text = oci_column_bytes_at(&c->arg->column, row, &length);
    uint8_t value[32];
    oci_parse_result result;
    trim(&text, &length);
    oci_type type = c->to->type;
    if (oci_type_is_number(type) || type == OCI_TYPE_BOOL) {
        result = parse_number(c->to, text, length, value);
    } else if (is_interval(type)) {
        oci_interval interval;
        result = oci_interval_parse(text, length, &interval) ? OCI_PARSE_OK : OCI_PARSE_SYNTAX;
        oci_interval_store(&interval, value, 0);
    } else {
        result = parse_moment(c->to, text, length, value);
    }
    if (result != OCI_PARSE_OK) {
        *is_null = true;
        return c->is_try ? OC_OK : fail_value(c, row, oci_parse_reason(result), err);
    }
    if (type == OCI_TYPE_BOOL) {
        oci_bit_put(values, row, value[0] != 0);
    } else {
        memcpy(values + row * c->to->byte_width, value, (size_t)c->to->byte_width);
    }
    return OC_OK;
}

/* ---- fixed to fixed -------------------------------------------------------------------------- */

static oc_status convert(casting *c, int64_t row, uint8_t *values, bool *is_null, oc_error *err)
{
    const oci_column *column = &c->arg->column;
    int64_t at = column->offset + row;
    oci_type from = c->from->type;
    bool is_good;
    if (oci_type_is_text(from)) {
        return from_text(c, row, values, is_null, err);
    }
    if ((is_moment(from) || is_time(from)) && (is_moment(c->to->type) || is_time(c->to->type))) {
        int64_t seconds;
        int64_t nanos;
        load_moment(c->from, column->values, at, &seconds, &nanos);
        is_good = store_moment(c->to, values, row, seconds, nanos);
    } else if (is_interval(from)) {
        oci_interval interval;
        oci_interval_load(c->from, column->values, at, &interval);
        oci_interval_store(&interval, values, row);
        is_good = true;
    } else if (is_moment(from) || c->to->type == OCI_TYPE_TIMESTAMP) {
        is_good = store_int(c->to, values, row, load_int(c->from, column->values, at));
    } else {
        oci_number number;
        is_good = load_number(c, at, &number) && oci_number_store(c->to, &number, values, row);
    }
    if (!is_good) {
        *is_null = true;
        return c->is_try ? OC_OK : fail_value(c, row, "", err);
    }
    return OC_OK;
}

static oc_status to_fixed(casting *c, int64_t n, oci_vector *out, oc_error *err)
{
    uint8_t *values;
    uint8_t *validity;
    OC_TRY(oci_vector_make(c->to, n, true, c->mem, out, &values, &validity, err));
    for (int64_t row = 0; row < n; row++) {
        bool is_null = oci_column_is_null(&c->arg->column, row);
        if (!is_null) {
            oc_status status = convert(c, row, values, &is_null, err);
            if (status != OC_OK) {
                oci_vector_deinit(out);
                return status;
            }
        }
        if (is_null) {
            oci_bit_clear(validity, row);
            if (c->to->type != OCI_TYPE_BOOL) {
                memset(values + row * c->to->byte_width, 0, (size_t)c->to->byte_width);
            }
        }
    }
    return OC_OK;
}

/* ---- to text and bytes ----------------------------------------------------------------------- */

static oc_status append_hex(oci_text_builder *builder, const uint8_t *bytes, int64_t length,
                            oc_error *err)
{
    uint8_t *to;
    OC_TRY(oci_text_builder_room(builder, 2 + 2 * length, &to, err));
    to[0] = '\\';
    to[1] = 'x';
    (void)oci_format_hex(bytes, length, (char *)to + 2);
    oci_text_builder_commit(builder, 2 + 2 * length);
    return OC_OK;
}

/* \x and hex digits, else the bytes as they are. */
static oc_status append_unhex(oci_text_builder *builder, const uint8_t *text, int64_t length,
                              oc_error *err)
{
    if (length < 2 || text[0] != '\\' || text[1] != 'x') {
        return oci_text_builder_append(builder, text, length, err);
    }
    uint8_t *to;
    OC_TRY(oci_text_builder_room(builder, length / 2, &to, err));
    int64_t n = 0;
    for (int64_t i = 2; i < length; i += 2) {
        int value = 0;
        for (int64_t k = i; k < i + 2; k++) {
            int c = k < length ? text[k] | 0x20 : 0;
            int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
            if (digit < 0) {
                OC_FAIL(err, OC_EINVAL, "invalid hexadecimal text for type bytea");
            }
            value = value * 16 + digit;
        }
        to[n++] = (uint8_t)value;
    }
    oci_text_builder_commit(builder, n);
    return OC_OK;
}

static oc_status append_value(casting *c, int64_t row, oci_text_builder *builder, oc_error *err)
{
    const oci_column *column = &c->arg->column;
    bool from_text = oci_type_is_text(c->from->type);
    if (from_text || is_bytes(c->from->type)) {
        int64_t length = c->from->byte_width;
        const uint8_t *bytes = c->from->type == OCI_TYPE_FIXED_BINARY
                                   ? column->values + (column->offset + row) * length
                                   : oci_column_bytes_at(column, row, &length);
        if (from_text == oci_type_is_text(c->to->type)) {
            return oci_text_builder_append(builder, bytes, length, err);
        }
        return from_text ? append_unhex(builder, bytes, length, err)
                         : append_hex(builder, bytes, length, err);
    }
    if (is_interval(c->from->type)) {
        oci_interval interval;
        oci_interval_load(c->from, column->values, column->offset + row, &interval);
        char *end = oci_interval_format(&interval, c->text);
        return oci_text_builder_append(builder, (const uint8_t *)c->text, end - c->text, err);
    }
    char *end = oci_format_value(&c->formatter, column, row, c->text);
    if (c->from->type == OCI_TYPE_TIMESTAMP) {
        char *mark = memchr(c->text, 'T', (size_t)(end - c->text));
        if (mark != NULL) {
            *mark = ' ';
        }
        if (c->from->timezone != NULL && end > c->text && end[-1] == 'Z') {
            end += snprintf(end - 1, 4, "+00") - 1;
        }
    }
    return oci_text_builder_append(builder, (const uint8_t *)c->text, end - c->text, err);
}

/* 64-bit offsets are made of 32-bit ones. */
static oc_status widen_offsets(casting *c, oci_vector *narrow, int64_t n, oci_vector *out,
                               oc_error *err)
{
    int64_t bytes = (n + 1) * 8;
    void *block;
    OC_TRY(oci_mem_alloc(c->mem, bytes, &block, err));
    for (int64_t i = 0; i <= n; i++) {
        oci_store_le64((uint8_t *)block + i * 8, oci_load_le32(narrow->column.values + i * 4));
    }
    oci_batch *owner;
    OC_TRY(oci_batch_without_columns(0, c->mem, block, bytes, &owner, err));
    *out = *narrow;
    out->keeps = owner;
    out->column.values = block;
    out->column.field = c->to;
    *narrow = (oci_vector){0};
    return OC_OK;
}

static oc_status to_text(casting *c, int64_t n, oci_vector *out, oc_error *err)
{
    bool is_large = oci_field_layout(c->to) == OCI_LAYOUT_OFFSETS64;
    oci_text_builder builder;
    OC_TRY(oci_formatter_init(&c->formatter, c->from, NULL, err));
    oc_status status = oci_text_builder_init(&builder, c->to, n, c->mem, err);
    for (int64_t row = 0; status == OC_OK && row < n; row++) {
        status = oci_column_is_null(&c->arg->column, row)
                     ? oci_text_builder_append_null(&builder, err)
                     : append_value(c, row, &builder, err);
    }
    oci_formatter_deinit(&c->formatter, NULL);
    if (status != OC_OK) {
        oci_text_builder_deinit(&builder);
        return status;
    }
    if (!is_large) {
        return oci_text_builder_finish(&builder, out, err);
    }
    oci_vector narrow;
    OC_TRY(oci_text_builder_finish(&builder, &narrow, err));
    status = widen_offsets(c, &narrow, n, out, err);
    oci_vector_deinit(&narrow);
    return status;
}

/* ---- fast loops ------------------------------------------------------------------------------ */

#define WIDEN(from_type, to_type)                                       \
    for (int64_t i = 0; i < n; i++) {                                   \
        from_type value;                                                \
        memcpy(&value, from + i * (int64_t)sizeof value, sizeof value); \
        to_type wide = (to_type)value;                                  \
        memcpy(values + i * (int64_t)sizeof wide, &wide, sizeof wide);  \
    }                                                                   \
    break

/* Casts that cannot fail, bit patterns under nulls included. */
static bool widen(const oci_field *from_field, const oci_field *to, const uint8_t *from,
                  uint8_t *values, int64_t n)
{
    switch ((int)from_field->type * OCI_TYPE_COUNT + (int)to->type) {
    case OCI_TYPE_INT32 *OCI_TYPE_COUNT + OCI_TYPE_INT64: WIDEN(int32_t, int64_t);
    case OCI_TYPE_INT16 *OCI_TYPE_COUNT + OCI_TYPE_INT32: WIDEN(int16_t, int32_t);
    case OCI_TYPE_INT8 *OCI_TYPE_COUNT + OCI_TYPE_INT32: WIDEN(int8_t, int32_t);
    case OCI_TYPE_INT32 *OCI_TYPE_COUNT + OCI_TYPE_FLOAT64: WIDEN(int32_t, double);
    case OCI_TYPE_INT64 *OCI_TYPE_COUNT + OCI_TYPE_FLOAT64: WIDEN(int64_t, double);
    case OCI_TYPE_FLOAT32 *OCI_TYPE_COUNT + OCI_TYPE_FLOAT64: WIDEN(float, double);
    default: return false;
    }
    return true;
}

static bool can_widen(const oci_field *from, const oci_field *to)
{
    return widen(from, to, NULL, NULL, 0);
}

static oc_status cast_wider(casting *c, int64_t n, oci_vector *out, oc_error *err)
{
    uint8_t *values;
    uint8_t *validity;
    const oci_column *column = &c->arg->column;
    bool nulls = oci_column_null_count(column) > 0;
    OC_TRY(oci_vector_make(c->to, n, nulls, c->mem, out, &values, &validity, err));
    if (nulls) {
        oci_bits_copy(validity, 0, column->validity, column->offset, n);
    }
    (void)widen(c->from, c->to, column->values + column->offset * c->from->byte_width, values, n);
    return OC_OK;
}

oc_status oci_cast_vector(const oci_vector *arg, int64_t n, const oci_field *to, bool is_try,
                          oci_mem *mem, oci_vector *out, oc_error *err)
{
    casting c = {.arg = arg, .from = arg->column.field, .to = to, .is_try = is_try, .mem = mem};
    if (can_widen(c.from, to)) {
        return cast_wider(&c, n, out, err);
    }
    oci_layout layout = oci_field_layout(to);
    if (layout == OCI_LAYOUT_OFFSETS32 || layout == OCI_LAYOUT_OFFSETS64) {
        return to_text(&c, n, out, err);
    }
    return to_fixed(&c, n, out, err);
}
