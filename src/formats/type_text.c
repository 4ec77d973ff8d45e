/* Column lists as text: "a int64, b decimal(15, 2) not null, \"c d\" timestamp[us, UTC]". See
 * csv.h.
 *
 * A hand-written descent over the text: list -> column -> type. Names of types are looked up in a
 * table without regard to case; the first name of a type in the table is the one that
 * oci_field_type_text writes. The text is an option, so what is made of it is small and comes from
 * malloc, as schemas do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/csv.h"

enum { WORD_MAX = 64, DECIMAL128_DIGITS = 38 };

typedef struct {
    const char *text; /* all of it, for messages */
    const char *at;
    oc_error *err;
} parser;

typedef struct {
    const char *name;
    oci_type type;
    oci_time_unit unit; /* when no unit is given */
} type_name;

static const type_name type_names[] = {
    {"null", OCI_TYPE_NULL, 0},
    {"bool", OCI_TYPE_BOOL, 0},
    {"boolean", OCI_TYPE_BOOL, 0},
    {"int8", OCI_TYPE_INT8, 0},
    {"tinyint", OCI_TYPE_INT8, 0},
    {"int16", OCI_TYPE_INT16, 0},
    {"smallint", OCI_TYPE_INT16, 0},
    {"int32", OCI_TYPE_INT32, 0},
    {"int", OCI_TYPE_INT32, 0},
    {"integer", OCI_TYPE_INT32, 0},
    {"int64", OCI_TYPE_INT64, 0},
    {"bigint", OCI_TYPE_INT64, 0},
    {"uint8", OCI_TYPE_UINT8, 0},
    {"uint16", OCI_TYPE_UINT16, 0},
    {"uint32", OCI_TYPE_UINT32, 0},
    {"uint64", OCI_TYPE_UINT64, 0},
    {"float16", OCI_TYPE_FLOAT16, 0},
    {"float32", OCI_TYPE_FLOAT32, 0},
    {"float", OCI_TYPE_FLOAT32, 0},
    {"real", OCI_TYPE_FLOAT32, 0},
    {"float64", OCI_TYPE_FLOAT64, 0},
    {"double", OCI_TYPE_FLOAT64, 0},
    {"decimal", OCI_TYPE_DECIMAL128, 0}, /* or decimal256, by the precision */
    {"numeric", OCI_TYPE_DECIMAL128, 0},
    {"decimal32", OCI_TYPE_DECIMAL32, 0},
    {"decimal64", OCI_TYPE_DECIMAL64, 0},
    {"decimal128", OCI_TYPE_DECIMAL128, 0},
    {"decimal256", OCI_TYPE_DECIMAL256, 0},
    {"date32", OCI_TYPE_DATE32, 0},
    {"date", OCI_TYPE_DATE32, 0},
    {"date64", OCI_TYPE_DATE64, 0},
    {"time32", OCI_TYPE_TIME32, OCI_MILLI},
    {"time64", OCI_TYPE_TIME64, OCI_MICRO},
    {"time", OCI_TYPE_TIME64, OCI_MICRO},
    {"timestamp", OCI_TYPE_TIMESTAMP, OCI_MICRO},
    {"datetime", OCI_TYPE_TIMESTAMP, OCI_MICRO},
    {"timestamptz", OCI_TYPE_TIMESTAMP, OCI_MICRO}, /* with time zone UTC */
    {"duration", OCI_TYPE_DURATION, OCI_MICRO},
    {"interval_months", OCI_TYPE_INTERVAL_MONTHS, 0},
    {"interval_day_time", OCI_TYPE_INTERVAL_DAY_TIME, 0},
    {"interval_month_day_nano", OCI_TYPE_INTERVAL_MONTH_DAY_NANO, 0},
    {"fixed_size_binary", OCI_TYPE_FIXED_BINARY, 0},
    {"utf8", OCI_TYPE_UTF8, 0},
    {"text", OCI_TYPE_UTF8, 0},
    {"string", OCI_TYPE_UTF8, 0},
    {"varchar", OCI_TYPE_UTF8, 0}, /* a length in parentheses is read and has no effect */
    {"char", OCI_TYPE_UTF8, 0},
    {"large_utf8", OCI_TYPE_LARGE_UTF8, 0},
    {"utf8_view", OCI_TYPE_UTF8_VIEW, 0},
    {"binary", OCI_TYPE_BINARY, 0},
    {"bytea", OCI_TYPE_BINARY, 0},
    {"blob", OCI_TYPE_BINARY, 0},
    {"varbinary", OCI_TYPE_BINARY, 0},
    {"large_binary", OCI_TYPE_LARGE_BINARY, 0},
    {"binary_view", OCI_TYPE_BINARY_VIEW, 0},
    {"dictionary", OCI_TYPE_DICTIONARY, 0},
};

/* ---- characters and words -------------------------------------------------------------------- */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static void skip_blanks(parser *p)
{
    while (is_blank(*p->at)) {
        p->at++;
    }
}

static oc_status fail_at(const parser *p, const char *what)
{
    if (*p->at == '\0') {
        OC_FAIL(p->err, OC_EINVAL, "could not read columns \"%s\": %s expected at the end", p->text,
                what);
    }
    OC_FAIL(p->err, OC_EINVAL,
            "could not read columns \"%s\": %s expected at character %d, before \"%.20s\"", p->text,
            what, (int)(p->at - p->text) + 1, p->at);
}

static bool take(parser *p, char wanted)
{
    skip_blanks(p);
    if (*p->at != wanted) {
        return false;
    }
    p->at++;
    return true;
}

/* Reads letters, digits and underscores in lower case; leaves the text alone and gives "" when
 * there are none. */
static void peek_word(parser *p, char word[WORD_MAX], const char **end)
{
    skip_blanks(p);
    const char *at = p->at;
    int n = 0;
    while (is_word_char(*at) && n < WORD_MAX - 1) {
        word[n++] = lower(*at++);
    }
    word[n] = '\0';
    *end = at;
}

static bool take_keyword(parser *p, const char *keyword)
{
    char word[WORD_MAX];
    const char *end;
    peek_word(p, word, &end);
    if (strcmp(word, keyword) != 0) {
        return false;
    }
    p->at = end;
    return true;
}

static oc_status take_number(parser *p, int32_t *out)
{
    skip_blanks(p);
    const char *first = p->at;
    bool negative = *p->at == '-';
    p->at += negative;
    int64_t value = 0;
    const char *digits = p->at;
    while (*p->at >= '0' && *p->at <= '9' && value < 100000000) {
        value = value * 10 + (*p->at++ - '0');
    }
    if (p->at == digits || (*p->at >= '0' && *p->at <= '9')) {
        p->at = first;
        return fail_at(p, "a number");
    }
    *out = (int32_t)(negative ? -value : value);
    return OC_OK;
}

/* ---- types ----------------------------------------------------------------------------------- */

static int32_t precision_max(oci_type type)
{
    switch (type) {
    case OCI_TYPE_DECIMAL32: return 9;
    case OCI_TYPE_DECIMAL64: return 18;
    case OCI_TYPE_DECIMAL128: return DECIMAL128_DIGITS;
    default: return 76;
    }
}

/* (precision [, scale]); without them as many digits as there are and 10 of them behind the point,
 * or none where there are not that many. */
static oc_status take_decimal(parser *p, oci_field *field, bool any_width)
{
    int32_t digits_max = any_width ? 76 : precision_max(field->type);
    field->precision = any_width ? DECIMAL128_DIGITS : digits_max;
    field->scale = field->precision >= 18 ? 10 : 0;
    if (!take(p, '(')) {
        return OC_OK;
    }
    const char *at = p->at;
    OC_TRY(take_number(p, &field->precision));
    if (field->precision < 1 || field->precision > digits_max) {
        p->at = at;
        char what[64];
        snprintf(what, sizeof what, "a precision between 1 and %d", (int)digits_max);
        return fail_at(p, what);
    }
    field->scale = 0;
    if (take(p, ',')) {
        at = p->at;
        OC_TRY(take_number(p, &field->scale));
        if (field->scale > field->precision || field->scale < -digits_max) {
            p->at = at;
            return fail_at(p, "a scale not above the precision");
        }
    }
    if (any_width && field->precision > DECIMAL128_DIGITS) {
        field->type = OCI_TYPE_DECIMAL256;
    }
    return take(p, ')') ? OC_OK : fail_at(p, "\")\"");
}

static bool take_unit(parser *p, oci_time_unit *out)
{
    static const char *const units[] = {"s", "ms", "us", "ns"};
    for (int i = 0; i < 4; i++) {
        if (take_keyword(p, units[i])) {
            *out = (oci_time_unit)i;
            return true;
        }
    }
    return false;
}

static oc_status set_timezone(parser *p, oci_field *field, const char *name, size_t length)
{
    free(field->timezone);
    field->timezone = strndup(name, length);
    if (field->timezone == NULL) {
        OC_FAIL(p->err, OC_ENOMEM, "out of memory while building a schema");
    }
    return OC_OK;
}

/* [unit] or, for timestamps, [unit, time zone]; or the SQL way: (digits of the fraction) [with time
 * zone]. */
static oc_status take_unit_and_zone(parser *p, oci_field *field)
{
    bool is_timestamp = field->type == OCI_TYPE_TIMESTAMP;
    if (take(p, '[')) {
        if (!take_unit(p, &field->unit)) {
            return fail_at(p, "a unit (s, ms, us or ns)");
        }
        if (is_timestamp && take(p, ',')) {
            skip_blanks(p);
            const char *end = strchr(p->at, ']');
            size_t length = end == NULL ? 0 : (size_t)(end - p->at);
            while (length > 0 && is_blank(p->at[length - 1])) {
                length--;
            }
            if (length == 0) {
                return fail_at(p, "a time zone and \"]\"");
            }
            OC_TRY(set_timezone(p, field, p->at, length));
            p->at = end;
        }
        return take(p, ']') ? OC_OK : fail_at(p, "\"]\"");
    }
    if (take(p, '(')) {
        int32_t digits;
        const char *at = p->at;
        OC_TRY(take_number(p, &digits));
        if (digits < 0 || digits > 9) {
            p->at = at;
            return fail_at(p, "a precision between 0 and 9");
        }
        field->unit = (oci_time_unit)((digits + 2) / 3);
        if (!take(p, ')')) {
            return fail_at(p, "\")\"");
        }
    }
    bool with = is_timestamp && take_keyword(p, "with");
    if (with || (field->type != OCI_TYPE_DURATION && take_keyword(p, "without"))) {
        if (!take_keyword(p, "time") || !take_keyword(p, "zone")) {
            return fail_at(p, "\"time zone\"");
        }
    }
    return with ? set_timezone(p, field, "UTC", 3) : OC_OK;
}

static oc_status check_time_unit(const parser *p, const oci_field *field)
{
    bool coarse = field->unit == OCI_SECOND || field->unit == OCI_MILLI;
    if (field->type == OCI_TYPE_TIME32 && !coarse) {
        return fail_at(p, "time32 in s or ms");
    }
    if (field->type == OCI_TYPE_TIME64 && coarse) {
        return fail_at(p, "time64 in us or ns");
    }
    return OC_OK;
}

static oc_status take_type(parser *p, oci_field *field, bool in_dictionary);

/* <index type, type of the values> */
static oc_status take_dictionary(parser *p, oci_field *field)
{
    if (!take(p, '<')) {
        return fail_at(p, "\"<\"");
    }
    oci_field index = {.name = NULL};
    const char *at = p->at;
    oc_status status = take_type(p, &index, true);
    field->index_type = index.type;
    oci_field_deinit(&index);
    OC_TRY(status);
    if (field->index_type < OCI_TYPE_INT8 || field->index_type > OCI_TYPE_UINT64) {
        p->at = at;
        return fail_at(p, "an integer type");
    }
    if (!take(p, ',')) {
        return fail_at(p, "\",\"");
    }
    field->dictionary = calloc(1, sizeof *field->dictionary);
    if (field->dictionary == NULL) {
        OC_FAIL(p->err, OC_ENOMEM, "out of memory while building a schema");
    }
    OC_TRY(oci_field_init(field->dictionary, "", OCI_TYPE_NULL, true, p->err));
    OC_TRY(take_type(p, field->dictionary, true));
    oci_field_set_width(field);
    return take(p, '>') ? OC_OK : fail_at(p, "\">\"");
}

/* (n): the width of fixed_size_binary; for texts a length that is ignored. */
static oc_status take_length(parser *p, oci_field *field)
{
    int32_t length = 0;
    bool needed = field->type == OCI_TYPE_FIXED_BINARY;
    if (take(p, '(')) {
        const char *at = p->at;
        OC_TRY(take_number(p, &length));
        if (length < 0) {
            p->at = at;
            return fail_at(p, "a length");
        }
        if (needed) {
            field->byte_width = length;
        }
        return take(p, ')') ? OC_OK : fail_at(p, "\")\"");
    }
    return needed ? fail_at(p, "\"(\" and a width") : OC_OK;
}

static oc_status take_parameters(parser *p, oci_field *field, const type_name *name,
                                 bool in_dictionary)
{
    switch (field->type) {
    case OCI_TYPE_FLOAT64:
        take_keyword(p, "precision"); /* "double precision" */
        return OC_OK;
    case OCI_TYPE_DECIMAL32:
    case OCI_TYPE_DECIMAL64:
    case OCI_TYPE_DECIMAL128:
    case OCI_TYPE_DECIMAL256: {
        bool any_width = strcmp(name->name, "decimal") == 0 || strcmp(name->name, "numeric") == 0;
        OC_TRY(take_decimal(p, field, any_width));
        oci_field_set_width(field);
        return OC_OK;
    }
    case OCI_TYPE_TIME32:
    case OCI_TYPE_TIME64:
    case OCI_TYPE_TIMESTAMP:
    case OCI_TYPE_DURATION:
        OC_TRY(take_unit_and_zone(p, field));
        if (strcmp(name->name, "timestamptz") == 0 && field->timezone == NULL) {
            OC_TRY(set_timezone(p, field, "UTC", 3));
        }
        return check_time_unit(p, field);
    case OCI_TYPE_FIXED_BINARY:
    case OCI_TYPE_UTF8:
    case OCI_TYPE_BINARY: return take_length(p, field);
    case OCI_TYPE_DICTIONARY:
        return in_dictionary ? fail_at(p, "a plain type") : take_dictionary(p, field);
    default: return OC_OK;
    }
}

static const type_name *find_type(const char *word)
{
    for (size_t i = 0; i < sizeof type_names / sizeof type_names[0]; i++) {
        if (strcmp(word, type_names[i].name) == 0) {
            return &type_names[i];
        }
    }
    return NULL;
}

/* Refuses what is a type, but none that a text field can hold. */
static oc_status fail_if_nested(const parser *p, const char *word)
{
    static const char *const others[] = {"array", "row", "union"};
    bool nested = *word == '\0' && *p->at == '['; /* int[] */
    for (int type = OCI_TYPE_LIST; type < OCI_TYPE_COUNT; type++) {
        nested = nested || strcmp(word, oci_type_name((oci_type)type)) == 0;
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        nested = nested || strcmp(word, others[i]) == 0;
    }
    if (nested) {
        OC_FAIL(p->err, OC_EUNSUPPORTED,
                "could not read columns \"%s\": nested types, as at character %d (\"%.20s\"), are "
                "not supported in CSV; declare the column as utf8 to get its text",
                p->text, (int)(p->at - p->text) + 1, p->at);
    }
    return OC_OK;
}

/* Sets the type of a field that has only its name. */
static oc_status take_type(parser *p, oci_field *field, bool in_dictionary)
{
    char word[WORD_MAX];
    const char *end;
    peek_word(p, word, &end);
    const type_name *name = find_type(word);
    if (name == NULL) {
        OC_TRY(fail_if_nested(p, word));
        return fail_at(p, "a type, such as int64, utf8, decimal(15, 2), date or timestamp,");
    }
    p->at = end;
    field->type = name->type;
    field->unit = name->unit;
    oci_field_set_width(field);
    return take_parameters(p, field, name, in_dictionary);
}

/* ---- columns --------------------------------------------------------------------------------- */

/* A name up to the next blank, or in double quotes with doubled quotes inside. malloc'ed. */
static oc_status take_name(parser *p, char **out)
{
    skip_blanks(p);
    bool quoted = *p->at == '"';
    const char *at = p->at + quoted;
    const char *first = at;
    if (quoted) {
        for (; *at != '\0' && (at[0] != '"' || at[1] == '"'); at++) {
            at += at[0] == '"';
        }
        if (*at == '\0') {
            return fail_at(p, "a closing quote");
        }
    } else {
        while (*at != '\0' && !is_blank(*at) && *at != ',' && *at != '"') {
            at++;
        }
        if (at == first) {
            return fail_at(p, "a column name");
        }
    }
    size_t length = (size_t)(at - first);
    char *name = malloc(length + 1);
    if (name == NULL) {
        OC_FAIL(p->err, OC_ENOMEM, "out of memory while building a schema");
    }
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        name[used++] = first[i];
        i += quoted && first[i] == '"';
    }
    name[used] = '\0';
    p->at = at + quoted;
    *out = name;
    return OC_OK;
}

static oc_status take_column(parser *p, oci_field *field)
{
    field->nullable = true;
    OC_TRY(take_name(p, &field->name));
    OC_TRY(take_type(p, field, false));
    if (take_keyword(p, "not")) {
        if (!take_keyword(p, "null")) {
            return fail_at(p, "\"null\"");
        }
        field->nullable = false;
    } else {
        take_keyword(p, "null");
    }
    return OC_OK;
}

static oc_status take_columns(parser *p, oci_field **fields, int32_t *n_fields)
{
    int32_t capacity = 0;
    do {
        if (*n_fields == capacity) {
            int32_t larger = capacity == 0 ? 8 : 2 * capacity;
            oci_field *grown = calloc((size_t)larger, sizeof *grown);
            if (grown == NULL) {
                OC_FAIL(p->err, OC_ENOMEM, "out of memory while building a schema");
            }
            if (*fields != NULL) {
                memcpy(grown, *fields, (size_t)*n_fields * sizeof *grown);
            }
            free(*fields);
            *fields = grown;
            capacity = larger;
        }
        *n_fields += 1; /* at once, so that a field that fails half-way is freed with the others */
        OC_TRY(take_column(p, &(*fields)[*n_fields - 1]));
    } while (take(p, ','));
    skip_blanks(p);
    OC_TRY(fail_if_nested(p, ""));
    return *p->at == '\0' ? OC_OK : fail_at(p, "\",\"");
}

oc_status oci_parse_columns(const char *text, oci_schema **out, oc_error *err)
{
    *out = NULL;
    parser p = {text, text, err};
    oci_field *fields = NULL;
    int32_t n_fields = 0;
    oc_status status = take_columns(&p, &fields, &n_fields);
    if (status != OC_OK) {
        for (int32_t i = 0; i < n_fields; i++) {
            oci_field_deinit(&fields[i]);
        }
        free(fields);
        return status;
    }
    return oci_schema_create(fields, n_fields, NULL, 0, out, err);
}
