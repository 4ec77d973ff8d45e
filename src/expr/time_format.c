/* See time_format.h. */
#include "expr/time_format.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "formats/calendar.h"

typedef enum pattern_kind {
    PATTERN_YEAR,
    PATTERN_YEAR_3,
    PATTERN_YEAR_2,
    PATTERN_YEAR_1,
    PATTERN_ISO_YEAR,
    PATTERN_CENTURY,
    PATTERN_QUARTER,
    PATTERN_MONTH,
    PATTERN_MONTH_NAME,
    PATTERN_MONTH_SHORT,
    PATTERN_WEEK,
    PATTERN_ISO_WEEK,
    PATTERN_DAY_OF_YEAR,
    PATTERN_DAY,
    PATTERN_DAY_OF_WEEK,
    PATTERN_ISO_DAY,
    PATTERN_JULIAN,
    PATTERN_DAY_NAME,
    PATTERN_DAY_SHORT,
    PATTERN_HOUR,
    PATTERN_HOUR_12,
    PATTERN_MINUTE,
    PATTERN_SECOND,
    PATTERN_SECOND_OF_DAY,
    PATTERN_MILLI,
    PATTERN_MICRO,
    PATTERN_HALF,
    PATTERN_HALF_DOTS,
    PATTERN_ZONE,
    PATTERN_OFFSET
} pattern_kind;

/* Longer ones first where one begins with another. */
static const struct {
    const char *text;
    pattern_kind kind;
    int32_t digits; /* of a number, 0 = none */
} patterns[] = {
    {"YYYY", PATTERN_YEAR, 4},
    {"YYY", PATTERN_YEAR_3, 3},
    {"YY", PATTERN_YEAR_2, 2},
    {"Y", PATTERN_YEAR_1, 1},
    {"IYYY", PATTERN_ISO_YEAR, 4},
    {"CC", PATTERN_CENTURY, 2},
    {"Q", PATTERN_QUARTER, 1},
    {"MONTH", PATTERN_MONTH_NAME, 0},
    {"MON", PATTERN_MONTH_SHORT, 0},
    {"MM", PATTERN_MONTH, 2},
    {"WW", PATTERN_WEEK, 2},
    {"IW", PATTERN_ISO_WEEK, 2},
    {"DDD", PATTERN_DAY_OF_YEAR, 3},
    {"DD", PATTERN_DAY, 2},
    {"DAY", PATTERN_DAY_NAME, 0},
    {"DY", PATTERN_DAY_SHORT, 0},
    {"D", PATTERN_DAY_OF_WEEK, 1},
    {"ID", PATTERN_ISO_DAY, 1},
    {"J", PATTERN_JULIAN, 7},
    {"HH24", PATTERN_HOUR, 2},
    {"HH12", PATTERN_HOUR_12, 2},
    {"HH", PATTERN_HOUR_12, 2},
    {"MI", PATTERN_MINUTE, 2},
    {"SSSSS", PATTERN_SECOND_OF_DAY, 5},
    {"SSSS", PATTERN_SECOND_OF_DAY, 5},
    {"SS", PATTERN_SECOND, 2},
    {"MS", PATTERN_MILLI, 3},
    {"US", PATTERN_MICRO, 6},
    {"A.M.", PATTERN_HALF_DOTS, 0},
    {"P.M.", PATTERN_HALF_DOTS, 0},
    {"AM", PATTERN_HALF, 0},
    {"PM", PATTERN_HALF, 0},
    {"TZ", PATTERN_ZONE, 0},
    {"OF", PATTERN_OFFSET, 0},
};

static const char *const month_names[] = {"January",   "February", "March",    "April",
                                          "May",       "June",     "July",     "August",
                                          "September", "October",  "November", "December"};
static const char *const day_names[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                        "Thursday", "Friday", "Saturday"};

/* One step of a format: a pattern, or a byte that stands for itself. */
typedef struct step {
    bool is_pattern;
    pattern_kind kind;
    int32_t digits;
    bool fill;    /* no FM in front */
    bool ordinal; /* TH or th behind */
    bool upper_ordinal;
    const uint8_t *text; /* as it is written, for its case */
    uint8_t byte;
} step;

static bool starts(oci_span text, const char *with)
{
    size_t length = strlen(with);
    return text.length >= (int64_t)length && strncasecmp((const char *)text.at, with, length) == 0;
}

static void skip(oci_span *text, int64_t n)
{
    text->at += n;
    text->length -= n;
}

/* The next step of a format, which is cut off; false at its end. */
static bool next_step(oci_span *format, bool *quoted, step *out)
{
    *out = (step){.fill = true};
    while (format->length > 0 && format->at[0] == '"') {
        *quoted = !*quoted;
        skip(format, 1);
    }
    if (format->length == 0) {
        return false;
    }
    if (!*quoted && starts(*format, "FM")) {
        out->fill = false;
        skip(format, 2);
    }
    for (size_t i = 0; !*quoted && i < sizeof patterns / sizeof patterns[0]; i++) {
        if ((patterns[i].text[0] | 0x20) == (format->at[0] | 0x20) &&
            starts(*format, patterns[i].text)) {
            out->is_pattern = true;
            out->kind = patterns[i].kind;
            out->digits = patterns[i].digits;
            out->text = format->at;
            skip(format, (int64_t)strlen(patterns[i].text));
            out->ordinal = out->digits > 0 && starts(*format, "TH");
            if (out->ordinal) {
                out->upper_ordinal = format->at[0] == 'T';
                skip(format, 2);
            }
            return true;
        }
    }
    if (format->length == 0) {
        return false;
    }
    out->byte = format->at[0];
    skip(format, 1);
    return true;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int64_t number_of(oci_moment moment, pattern_kind kind)
{
    oci_date date = oci_date_of_days(moment.day);
    int64_t hour = moment.nanos / (3600 * OCI_NANOS_PER_SECOND);
    int64_t part = moment.nanos % OCI_NANOS_PER_SECOND;
    int64_t year = oci_moment_field(moment, OCI_FIELD_YEAR);
    year = year < 0 ? -year : year;
    switch (kind) {
    case PATTERN_YEAR: return year;
    case PATTERN_YEAR_3: return year % 1000;
    case PATTERN_YEAR_2: return year % 100;
    case PATTERN_YEAR_1: return year % 10;
    case PATTERN_ISO_YEAR: return oci_moment_field(moment, OCI_FIELD_ISOYEAR);
    case PATTERN_CENTURY: return oci_moment_field(moment, OCI_FIELD_CENTURY);
    case PATTERN_QUARTER: return oci_moment_field(moment, OCI_FIELD_QUARTER);
    case PATTERN_MONTH: return date.month;
    case PATTERN_WEEK: return (oci_moment_field(moment, OCI_FIELD_DOY) - 1) / 7 + 1;
    case PATTERN_ISO_WEEK: return oci_moment_field(moment, OCI_FIELD_WEEK);
    case PATTERN_DAY_OF_YEAR: return oci_moment_field(moment, OCI_FIELD_DOY);
    case PATTERN_DAY: return date.day;
    case PATTERN_DAY_OF_WEEK: return oci_moment_field(moment, OCI_FIELD_DOW) + 1;
    case PATTERN_ISO_DAY: return oci_moment_field(moment, OCI_FIELD_ISODOW);
    case PATTERN_JULIAN: return oci_moment_field(moment, OCI_FIELD_JULIAN);
    case PATTERN_HOUR: return hour;
    case PATTERN_HOUR_12: return hour % 12 == 0 ? 12 : hour % 12;
    case PATTERN_MINUTE: return oci_moment_field(moment, OCI_FIELD_MINUTE);
    case PATTERN_SECOND: return oci_moment_field(moment, OCI_FIELD_SECOND);
    case PATTERN_SECOND_OF_DAY: return moment.nanos / OCI_NANOS_PER_SECOND;
    case PATTERN_MILLI: return part / 1000000;
    default: return part / 1000;
    }
}

static const char *ordinal_of(int64_t number)
{
    int64_t tens = number % 100;
    if (tens >= 11 && tens <= 13) {
        return "th";
    }
    return number % 10 == 1 ? "st" : number % 10 == 2 ? "nd" : number % 10 == 3 ? "rd" : "th";
}

static oc_status put(oci_growing_text *out, const char *text, oc_error *err)
{
    return oci_growing_put(out, (const uint8_t *)text, (int64_t)strlen(text), err);
}

/* `number` >= 0, or < 0 in years before Christ. */
static oc_status put_number(oci_growing_text *out, const step *s, int64_t number, oc_error *err)
{
    char text[32];
    char *at = text + sizeof text;
    bool is_part = s->kind == PATTERN_MILLI || s->kind == PATTERN_MICRO;
    int32_t digits = s->fill || is_part ? s->digits : 1;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    for (; rest > 0 || digits > 0; rest /= 10, digits--) {
        *--at = (char)('0' + rest % 10);
    }
    if (number < 0) {
        *--at = '-';
    }
    OC_TRY(oci_growing_put(out, (const uint8_t *)at, text + sizeof text - at, err));
    if (s->ordinal) {
        const char *ending = ordinal_of(number);
        char upper[3] = {(char)toupper(ending[0]), (char)toupper(ending[1]), '\0'};
        return put(out, s->upper_ordinal ? upper : ending, err);
    }
    return OC_OK;
}

/* A name in the case of its pattern, padded to nine characters when it is a long one. */
static oc_status put_name(oci_growing_text *out, const step *s, const char *name, int length,
                          bool pads, oc_error *err)
{
    char text[16];
    bool all_upper = s->text[1] >= 'A' && s->text[1] <= 'Z';
    bool first_upper = s->text[0] >= 'A' && s->text[0] <= 'Z';
    snprintf(text, sizeof text, "%-*.*s", pads && s->fill ? 9 : 0, length, name);
    for (int i = 0; text[i] != '\0'; i++) {
        text[i] =
            (char)(all_upper || (first_upper && i == 0) ? toupper(text[i]) : tolower(text[i]));
    }
    return put(out, text, err);
}

static oc_status put_zone(oci_growing_text *out, const step *s, int32_t seconds, oc_error *err)
{
    char text[32];
    int32_t size = seconds < 0 ? -seconds : seconds;
    if (seconds == INT32_MIN) {
        return s->kind == PATTERN_ZONE ? OC_OK : put(out, "+00", err);
    }
    if (s->kind == PATTERN_ZONE && seconds == 0) {
        return put(out, s->text[0] == 'T' ? "UTC" : "utc", err);
    }
    snprintf(text, sizeof text, size % 3600 != 0 ? "%c%02d:%02d" : "%c%02d",
             seconds < 0 ? '-' : '+', size / 3600, size / 60 % 60);
    return put(out, text, err);
}

static oc_status put_pattern(oci_growing_text *out, const step *s, oci_moment moment,
                             int32_t zone_seconds, oc_error *err)
{
    const char *month = month_names[oci_date_of_days(moment.day).month - 1];
    const char *day = day_names[oci_moment_field(moment, OCI_FIELD_DOW)];
    bool after_noon = moment.nanos >= 43200 * OCI_NANOS_PER_SECOND;
    bool is_upper = s->text[0] >= 'A' && s->text[0] <= 'Z';
    switch (s->kind) {
    case PATTERN_MONTH_NAME: return put_name(out, s, month, 9, true, err);
    case PATTERN_MONTH_SHORT: return put_name(out, s, month, 3, false, err);
    case PATTERN_DAY_NAME: return put_name(out, s, day, 9, true, err);
    case PATTERN_DAY_SHORT: return put_name(out, s, day, 3, false, err);
    case PATTERN_HALF:
        return put(out, is_upper ? (after_noon ? "PM" : "AM") : (after_noon ? "pm" : "am"), err);
    case PATTERN_HALF_DOTS:
        return put(out, is_upper ? (after_noon ? "P.M." : "A.M.") : (after_noon ? "p.m." : "a.m."),
                   err);
    case PATTERN_ZONE:
    case PATTERN_OFFSET: return put_zone(out, s, zone_seconds, err);
    default: return put_number(out, s, number_of(moment, s->kind), err);
    }
}

oc_status oci_time_format(oci_span format, oci_moment moment, int32_t zone_seconds,
                          oci_growing_text *out, oc_error *err)
{
    step s;
    bool quoted = false;
    while (next_step(&format, &quoted, &s)) {
        OC_TRY(s.is_pattern ? put_pattern(out, &s, moment, zone_seconds, err)
                            : oci_growing_put(out, &s.byte, 1, err));
    }
    return OC_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct parts {
    int64_t year;
    int64_t month;
    int64_t day;
    int64_t day_of_year; /* 0 = not given */
    int64_t julian;      /* -1 = not given */
    int64_t hour;
    bool after_noon;
    bool has_half;
    int64_t minute;
    int64_t second;
    int64_t nanos;
    int32_t zone;
} parts;

static bool read_number(oci_span *text, int32_t digits, int64_t *out, int32_t *n_digits)
{
    int32_t n = 0;
    *out = 0;
    while (text->length > 0 && text->at[0] == ' ') {
        skip(text, 1);
    }
    while (n < digits && text->length > 0 && text->at[0] >= '0' && text->at[0] <= '9') {
        *out = *out * 10 + (text->at[0] - '0');
        skip(text, 1);
        n++;
    }
    *n_digits = n;
    return n > 0;
}

static bool read_name(oci_span *text, const char *const *names, int64_t n, bool is_short,
                      int64_t *out)
{
    for (int64_t i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof name, "%.*s", is_short ? 3 : 15, names[i]);
        if (starts(*text, name)) {
            skip(text, (int64_t)strlen(name));
            *out = i;
            return true;
        }
    }
    return false;
}

static bool read_zone(oci_span *text, int32_t *seconds)
{
    int64_t hours;
    int64_t minutes = 0;
    int32_t n;
    if (starts(*text, "UTC")) {
        skip(text, 3);
        return true;
    }
    if (text->length == 0 || (text->at[0] != '+' && text->at[0] != '-')) {
        return false;
    }
    int32_t sign = text->at[0] == '-' ? -1 : 1;
    skip(text, 1);
    if (!read_number(text, 2, &hours, &n)) {
        return false;
    }
    if (text->length > 0 && text->at[0] == ':') {
        skip(text, 1);
        if (!read_number(text, 2, &minutes, &n)) {
            return false;
        }
    }
    *seconds = sign * (int32_t)(hours * 3600 + minutes * 60);
    return true;
}

/* A fraction of a second: so many digits of it. */
static int64_t fraction(int64_t number, int32_t n_digits)
{
    for (int32_t i = n_digits; i < 9; i++) {
        number *= 10;
    }
    return number;
}

static bool set_number(parts *p, pattern_kind kind, int64_t number, int32_t n_digits)
{
    switch (kind) {
    case PATTERN_YEAR: p->year = number; return true;
    case PATTERN_YEAR_3: p->year = number + (number < 100 ? 2000 : 1000); return true;
    case PATTERN_YEAR_2:
    case PATTERN_YEAR_1: p->year = number + (number < 70 ? 2000 : 1900); return true;
    case PATTERN_MONTH: p->month = number; return true;
    case PATTERN_DAY: p->day = number; return true;
    case PATTERN_DAY_OF_YEAR: p->day_of_year = number; return number > 0;
    case PATTERN_JULIAN: p->julian = number; return true;
    case PATTERN_HOUR:
    case PATTERN_HOUR_12: p->hour = number; return true;
    case PATTERN_MINUTE: p->minute = number; return true;
    case PATTERN_SECOND: p->second = number; return true;
    case PATTERN_SECOND_OF_DAY:
        p->hour = number / 3600;
        p->minute = number / 60 % 60;
        p->second = number % 60;
        return true;
    case PATTERN_MILLI:
    case PATTERN_MICRO: p->nanos = fraction(number, n_digits); return true;
    default:
        return kind == PATTERN_DAY_OF_WEEK || kind == PATTERN_ISO_DAY ||
               kind == PATTERN_QUARTER; /* read over, as in PostgreSQL */
    }
}

static bool read_pattern(parts *p, const step *s, oci_span *text)
{
    int64_t number;
    int32_t n_digits;
    switch (s->kind) {
    case PATTERN_MONTH_NAME:
    case PATTERN_MONTH_SHORT:
        if (!read_name(text, month_names, 12, s->kind == PATTERN_MONTH_SHORT, &number)) {
            return false;
        }
        p->month = number + 1;
        return true;
    case PATTERN_DAY_NAME:
    case PATTERN_DAY_SHORT:
        return read_name(text, day_names, 7, s->kind == PATTERN_DAY_SHORT, &number);
    case PATTERN_HALF:
    case PATTERN_HALF_DOTS: {
        int64_t length = s->kind == PATTERN_HALF ? 2 : 4;
        p->after_noon = starts(*text, length == 2 ? "PM" : "P.M.");
        p->has_half = p->after_noon || starts(*text, length == 2 ? "AM" : "A.M.");
        skip(text, p->has_half ? length : 0);
        return p->has_half;
    }
    case PATTERN_ZONE:
    case PATTERN_OFFSET: return read_zone(text, &p->zone);
    default: break;
    }
    bool good = read_number(text, s->digits, &number, &n_digits) &&
                set_number(p, s->kind, number, n_digits);
    if (good && s->ordinal && text->length >= 2) {
        skip(text, 2);
    }
    return good;
}

static bool moment_of(const parts *p, oci_moment *out)
{
    int64_t hour = p->hour;
    if (p->has_half) {
        if (hour < 1 || hour > 12) {
            return false;
        }
        hour = hour % 12 + (p->after_noon ? 12 : 0);
    }
    if (p->month < 1 || p->month > 12 || p->day < 1 || p->year < 1 ||
        p->day > oci_days_of_month(p->year, (int32_t)p->month) || hour > 23 || p->minute > 59 ||
        p->second > 59 || p->day_of_year > 365 + oci_is_leap_year(p->year)) {
        return false;
    }
    out->day = oci_days_of_date((oci_date){p->year, (int32_t)p->month, (int32_t)p->day});
    if (p->day_of_year > 0) {
        out->day = oci_days_of_date((oci_date){p->year, 1, 1}) + p->day_of_year - 1;
    }
    out->day = p->julian >= 0 ? p->julian - 2440588 : out->day;
    out->nanos = (hour * 3600 + p->minute * 60 + p->second) * OCI_NANOS_PER_SECOND + p->nanos;
    return true;
}

oc_status oci_time_read(oci_span format, oci_span text, oci_moment *out, int32_t *zone_seconds,
                        oc_error *err)
{
    step s;
    bool quoted = false;
    bool good = true;
    oci_span rest = text;
    parts p = {.year = 1, .month = 1, .day = 1, .julian = -1};
    for (oci_span left = format; good && next_step(&left, &quoted, &s);) {
        if (s.is_pattern) {
            good = read_pattern(&p, &s, &rest);
        } else if (rest.length > 0 && !(rest.at[0] >= '0' && rest.at[0] <= '9')) {
            /* Separators stand for each other, as in PostgreSQL. */
            skip(&rest, 1);
        }
    }
    if (!good || !moment_of(&p, out)) {
        OC_FAIL(err, OC_EINVAL, "\"%.*s\" does not fit the format \"%.*s\"",
                (int)oci_min64(text.length, 60), (const char *)text.at,
                (int)oci_min64(format.length, 60), (const char *)format.at);
    }
    *zone_seconds = p.zone;
    return OC_OK;
}
