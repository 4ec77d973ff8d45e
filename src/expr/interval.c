/* See interval.h. */
#include "expr/interval.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "formats/calendar.h"

#define NANOS_PER_SECOND INT64_C(1000000000)
#define NANOS_PER_DAY    (86400 * NANOS_PER_SECOND)

/* ---- reading --------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int32_t months;
    int32_t days;
    int64_t nanos;
} units[] = {
    {"millennium", 12000, 0, 0},
    {"millennia", 12000, 0, 0},
    {"century", 1200, 0, 0},
    {"centuries", 1200, 0, 0},
    {"decade", 120, 0, 0},
    {"decades", 120, 0, 0},
    {"year", 12, 0, 0},
    {"years", 12, 0, 0},
    {"yr", 12, 0, 0},
    {"yrs", 12, 0, 0},
    {"y", 12, 0, 0},
    {"quarter", 3, 0, 0},
    {"quarters", 3, 0, 0},
    {"month", 1, 0, 0},
    {"months", 1, 0, 0},
    {"mon", 1, 0, 0},
    {"mons", 1, 0, 0},
    {"week", 0, 7, 0},
    {"weeks", 0, 7, 0},
    {"w", 0, 7, 0},
    {"day", 0, 1, 0},
    {"days", 0, 1, 0},
    {"d", 0, 1, 0},
    {"hour", 0, 0, 3600 * NANOS_PER_SECOND},
    {"hours", 0, 0, 3600 * NANOS_PER_SECOND},
    {"hr", 0, 0, 3600 * NANOS_PER_SECOND},
    {"hrs", 0, 0, 3600 * NANOS_PER_SECOND},
    {"h", 0, 0, 3600 * NANOS_PER_SECOND},
    {"minute", 0, 0, 60 * NANOS_PER_SECOND},
    {"minutes", 0, 0, 60 * NANOS_PER_SECOND},
    {"min", 0, 0, 60 * NANOS_PER_SECOND},
    {"mins", 0, 0, 60 * NANOS_PER_SECOND},
    {"m", 0, 0, 60 * NANOS_PER_SECOND},
    {"second", 0, 0, NANOS_PER_SECOND},
    {"seconds", 0, 0, NANOS_PER_SECOND},
    {"sec", 0, 0, NANOS_PER_SECOND},
    {"secs", 0, 0, NANOS_PER_SECOND},
    {"s", 0, 0, NANOS_PER_SECOND},
    {"millisecond", 0, 0, 1000000},
    {"milliseconds", 0, 0, 1000000},
    {"ms", 0, 0, 1000000},
    {"msec", 0, 0, 1000000},
    {"microsecond", 0, 0, 1000},
    {"microseconds", 0, 0, 1000},
    {"us", 0, 0, 1000},
    {"nanosecond", 0, 0, 1},
    {"nanoseconds", 0, 0, 1},
    {"ns", 0, 0, 1},
};

/* amount = whole + part / 10^9, both of one sign. */
typedef struct amount {
    int64_t whole;
    int64_t part;
} amount;

static bool add_scaled(int64_t *to, int64_t amount_of, int64_t factor)
{
    int64_t product;
    return oci_mul64(amount_of, factor, &product) && oci_add64(*to, product, to);
}

/* The part of a month goes to days, of a day to nanoseconds. */
static bool add_unit(oci_interval *to, amount a, int32_t months, int32_t days, int64_t nanos)
{
    bool good = true;
    if (months > 0) {
        int64_t part_months = a.part * months / NANOS_PER_SECOND;
        int64_t rest = a.part * months % NANOS_PER_SECOND;
        good = add_scaled(&to->months, a.whole, months) &&
               oci_add64(to->months, part_months, &to->months);
        int64_t part_days = rest * 30;
        to->days += part_days / NANOS_PER_SECOND;
        to->nanos += part_days % NANOS_PER_SECOND * 86400;
    } else if (days > 0) {
        int64_t part_days = a.part * days;
        good = add_scaled(&to->days, a.whole, days);
        to->days += part_days / NANOS_PER_SECOND;
        to->nanos += part_days % NANOS_PER_SECOND * 86400;
    } else {
        __extension__ __int128 wide = (__int128)a.part * nanos / NANOS_PER_SECOND;
        good = add_scaled(&to->nanos, a.whole, nanos) &&
               oci_add64(to->nanos, (int64_t)wide, &to->nanos);
    }
    return good;
}

static const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t' || *at == ',') {
        at++;
    }
    return at;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* [+-]digits[.digits] */
static const char *read_amount(const char *at, amount *out)
{
    bool negative = *at == '-';
    bool has_digits = false;
    at += *at == '-' || *at == '+';
    *out = (amount){0};
    for (; is_digit(*at); at++) {
        has_digits = true;
        if (out->whole > INT64_MAX / 10 - 1) {
            return NULL;
        }
        out->whole = out->whole * 10 + (*at - '0');
    }
    if (*at == '.') {
        int64_t place = NANOS_PER_SECOND / 10;
        for (at++; is_digit(*at); at++, place /= 10) {
            has_digits = true;
            out->part += (*at - '0') * place;
        }
    }
    if (negative) {
        out->whole = -out->whole;
        out->part = -out->part;
    }
    return has_digits ? at : NULL;
}

/* :mm[:ss[.fraction]] behind hours. */
static const char *read_clock(const char *at, amount hours, bool negative, oci_interval *out)
{
    int64_t sign = negative ? -1 : 1;
    int64_t fields[2] = {0, 0};
    int64_t nanos = 0;
    for (int i = 0; i < 2 && *at == ':'; i++) {
        amount a;
        at = is_digit(at[1]) ? read_amount(at + 1, &a) : NULL;
        if (at == NULL || a.whole > 60) {
            return NULL;
        }
        fields[i] = a.whole;
        nanos = a.part;
    }
    int64_t seconds = (fields[0] * 60 + fields[1]) * sign;
    bool good = add_scaled(&out->nanos, hours.whole, 3600 * NANOS_PER_SECOND) &&
                add_scaled(&out->nanos, seconds, NANOS_PER_SECOND) &&
                oci_add64(out->nanos, nanos * sign, &out->nanos);
    return good ? at : NULL;
}

static const char *read_word(const char *at, char *word, size_t size)
{
    size_t n = 0;
    for (; (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z'); at++) {
        if (n + 1 < size) {
            word[n++] = (char)(*at | 0x20);
        }
    }
    word[n] = '\0';
    return at;
}

static bool add_named(oci_interval *out, amount a, const char *word)
{
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(units[i].name, word) == 0) {
            return add_unit(out, a, units[i].months, units[i].days, units[i].nanos);
        }
    }
    return false;
}

static bool parse_words(const char *at, oci_interval *out)
{
    bool any = false;
    for (at = skip_blanks(at); *at != '\0'; at = skip_blanks(at)) {
        amount a;
        char word[32];
        if (*at == 'a' || *at == 'A') {
            at = skip_blanks(read_word(at, word, sizeof word));
            if (strcmp(word, "ago") != 0 || *at != '\0' || !any) {
                return false;
            }
            *out = (oci_interval){-out->months, -out->days, -out->nanos};
            return true;
        }
        bool negative = *at == '-';
        at = read_amount(at, &a);
        if (at == NULL) {
            return false;
        }
        if (*at == ':') {
            at = read_clock(at, a, negative, out);
            if (at == NULL) {
                return false;
            }
        } else {
            const char *unit = skip_blanks(at);
            at = read_word(unit, word, sizeof word);
            if (at == unit) { /* a number alone counts seconds */
                word[0] = 's';
                word[1] = '\0';
            }
            if (!add_named(out, a, word)) {
                return false;
            }
        }
        any = true;
    }
    return any;
}

/* P[nY][nM][nW][nD][T[nH][nM][nS]] */
static bool parse_iso(const char *at, oci_interval *out)
{
    bool is_time = false;
    bool any = false;
    while (*at != '\0') {
        if (*at == 'T' && !is_time) {
            is_time = true;
            at++;
            continue;
        }
        amount a;
        at = read_amount(at, &a);
        if (at == NULL) {
            return false;
        }
        const char *word = *at == 'Y'   ? "y"
                           : *at == 'M' ? (is_time ? "min" : "month")
                           : *at == 'W' ? "w"
                           : *at == 'D' ? "d"
                           : *at == 'H' ? "h"
                           : *at == 'S' ? "s"
                                        : "";
        if (!add_named(out, a, word)) {
            return false;
        }
        at++;
        any = true;
    }
    return any;
}

bool oci_interval_parse(const uint8_t *text, int64_t length, oci_interval *out)
{
    char copy[200];
    *out = (oci_interval){0};
    if (length <= 0 || length >= (int64_t)sizeof copy || memchr(text, 0, (size_t)length) != NULL) {
        return false;
    }
    memcpy(copy, text, (size_t)length);
    copy[length] = '\0';
    const char *at = skip_blanks(copy);
    bool good = *at == 'P' ? parse_iso(at + 1, out) : parse_words(at, out);
    return good && out->months == (int32_t)out->months && out->days == (int32_t)out->days;
}

#define PART_BYTES 32 /* at most, of each of the four parts */

/* ---- writing --------------------------------------------------------------------------------- */

static char *put_part(char *to, const char *start, int64_t value, const char *one, const char *many)
{
    if (value == 0) {
        return to;
    }
    int n = snprintf(to, PART_BYTES, "%s%lld %s", to > start ? " " : "", (long long)value,
                     value == 1 || value == -1 ? one : many);
    return to + n;
}

char *oci_interval_format(const oci_interval *interval, char *out)
{
    char *to = out;
    to = put_part(to, out, interval->months / 12, "year", "years");
    to = put_part(to, out, interval->months % 12, "mon", "mons");
    to = put_part(to, out, interval->days, "day", "days");
    if (interval->nanos == 0 && to > out) {
        return to;
    }
    uint64_t nanos = interval->nanos < 0 ? 0 - (uint64_t)interval->nanos
                                         : (uint64_t)interval->nanos;
    uint64_t seconds = nanos / (uint64_t)NANOS_PER_SECOND;
    to += snprintf(to, PART_BYTES, "%s%s%02llu:%02llu:%02llu", to > out ? " " : "",
                   interval->nanos < 0 ? "-" : "", (unsigned long long)(seconds / 3600),
                   (unsigned long long)(seconds / 60 % 60), (unsigned long long)(seconds % 60));
    uint64_t part = nanos % (uint64_t)NANOS_PER_SECOND;
    if (part != 0) {
        to += snprintf(to, PART_BYTES, ".%09llu", (unsigned long long)part);
        while (to[-1] == '0') {
            to--;
        }
    }
    return to;
}

/* ---- values ---------------------------------------------------------------------------------- */

void oci_interval_load(const oci_field *field, const uint8_t *values, int64_t at, oci_interval *out)
{
    *out = (oci_interval){0};
    switch (field->type) {
    case OCI_TYPE_INTERVAL_MONTHS: out->months = (int32_t)oci_load_le32(values + at * 4); break;
    case OCI_TYPE_INTERVAL_DAY_TIME:
        out->days = (int32_t)oci_load_le32(values + at * 8);
        out->nanos = (int64_t)(int32_t)oci_load_le32(values + at * 8 + 4) * 1000000;
        break;
    default:
        out->months = (int32_t)oci_load_le32(values + at * 16);
        out->days = (int32_t)oci_load_le32(values + at * 16 + 4);
        out->nanos = (int64_t)oci_load_le64(values + at * 16 + 8);
        break;
    }
}

bool oci_interval_store(const oci_interval *interval, uint8_t *values, int64_t at)
{
    oci_store_le32(values + at * 16, (uint32_t)interval->months);
    oci_store_le32(values + at * 16 + 4, (uint32_t)interval->days);
    oci_store_le64(values + at * 16 + 8, (uint64_t)interval->nanos);
    return interval->months == (int32_t)interval->months &&
           interval->days == (int32_t)interval->days;
}

int64_t oci_add_months(int64_t days, int64_t months)
{
    oci_date date = oci_date_of_days(days);
    int64_t month = date.year * 12 + date.month - 1 + months;
    date.year = month >= 0 ? month / 12 : -((11 - month) / 12);
    date.month = (int32_t)(month - date.year * 12) + 1;
    int32_t last = oci_days_of_month(date.year, date.month);
    date.day = date.day > last ? last : date.day;
    return oci_days_of_date(date);
}
