/* See moment.h. */
#include "expr/moment.h"

#include <string.h>
#include <strings.h>

#include "base/bits.h"
#include "formats/calendar.h"
#include "formats/parse_value.h"

#define JULIAN_OF_1970 2440588
#define THURSDAY       4 /* the day of the week of 1970-01-01, from Sunday = 0 */

static const struct {
    const char *name;
    oci_time_field field;
} names[] = {
    {"nanosecond", OCI_FIELD_NANOSECOND},
    {"nanoseconds", OCI_FIELD_NANOSECOND},
    {"microsecond", OCI_FIELD_MICROSECOND},
    {"microseconds", OCI_FIELD_MICROSECOND},
    {"us", OCI_FIELD_MICROSECOND},
    {"millisecond", OCI_FIELD_MILLISECOND},
    {"milliseconds", OCI_FIELD_MILLISECOND},
    {"ms", OCI_FIELD_MILLISECOND},
    {"second", OCI_FIELD_SECOND},
    {"seconds", OCI_FIELD_SECOND},
    {"sec", OCI_FIELD_SECOND},
    {"minute", OCI_FIELD_MINUTE},
    {"minutes", OCI_FIELD_MINUTE},
    {"min", OCI_FIELD_MINUTE},
    {"hour", OCI_FIELD_HOUR},
    {"hours", OCI_FIELD_HOUR},
    {"day", OCI_FIELD_DAY},
    {"days", OCI_FIELD_DAY},
    {"week", OCI_FIELD_WEEK},
    {"weeks", OCI_FIELD_WEEK},
    {"month", OCI_FIELD_MONTH},
    {"months", OCI_FIELD_MONTH},
    {"mon", OCI_FIELD_MONTH},
    {"quarter", OCI_FIELD_QUARTER},
    {"quarters", OCI_FIELD_QUARTER},
    {"year", OCI_FIELD_YEAR},
    {"years", OCI_FIELD_YEAR},
    {"decade", OCI_FIELD_DECADE},
    {"decades", OCI_FIELD_DECADE},
    {"century", OCI_FIELD_CENTURY},
    {"centuries", OCI_FIELD_CENTURY},
    {"millennium", OCI_FIELD_MILLENNIUM},
    {"millennia", OCI_FIELD_MILLENNIUM},
    {"epoch", OCI_FIELD_EPOCH},
    {"dow", OCI_FIELD_DOW},
    {"dayofweek", OCI_FIELD_DOW},
    {"weekday", OCI_FIELD_DOW},
    {"isodow", OCI_FIELD_ISODOW},
    {"doy", OCI_FIELD_DOY},
    {"dayofyear", OCI_FIELD_DOY},
    {"isoyear", OCI_FIELD_ISOYEAR},
    {"julian", OCI_FIELD_JULIAN},
    {"timezone", OCI_FIELD_TIMEZONE},
};

bool oci_time_field_parse(const uint8_t *text, int64_t length, oci_time_field *out)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if ((int64_t)strlen(names[i].name) == length &&
            strncasecmp(names[i].name, (const char *)text, (size_t)length) == 0) {
            *out = names[i].field;
            return true;
        }
    }
    return false;
}

const char *oci_time_field_name(oci_time_field field)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].field == field) {
            return names[i].name;
        }
    }
    return "?";
}

/* ---- in and out ------------------------------------------------------------------------------ */

int64_t oci_units_per_second(oci_time_unit unit)
{
    static const int64_t units[] = {1, 1000, 1000000, 1000000000};
    return units[unit];
}

int32_t oci_zone_seconds(const char *timezone)
{
    oci_zone zone = oci_zone_of(timezone);
    return zone.kind == OCI_ZONE_FIXED ? zone.offset_seconds : 0;
}

oci_moment oci_moment_load(const oci_field *field, const uint8_t *values, int64_t at)
{
    int64_t value = field->byte_width == 4 ? (int32_t)oci_load_le32(values + at * 4)
                                           : (int64_t)oci_load_le64(values + at * 8);
    int64_t rest;
    oci_moment moment = {0};
    if (field->type == OCI_TYPE_DATE32) {
        moment.day = value;
        return moment;
    }
    int64_t units = field->type == OCI_TYPE_DATE64 ? 1000 : oci_units_per_second(field->unit);
    int64_t seconds = oci_floor_divide(value, units, &rest);
    int64_t nanos = rest * (OCI_NANOS_PER_SECOND / units);
    seconds += field->timezone == NULL ? 0 : oci_zone_seconds(field->timezone);
    moment.day = oci_floor_divide(seconds, OCI_SECONDS_PER_DAY, &rest);
    moment.nanos = rest * OCI_NANOS_PER_SECOND + nanos;
    return moment;
}

bool oci_moment_store(const oci_field *field, oci_moment moment, int64_t *out)
{
    if (field->type == OCI_TYPE_DATE32) {
        *out = moment.day;
        return moment.day == (int32_t)moment.day;
    }
    int64_t units = oci_units_per_second(field->unit);
    int64_t zone = field->timezone == NULL ? 0 : oci_zone_seconds(field->timezone);
    int64_t in_day = moment.nanos / (OCI_NANOS_PER_SECOND / units) - zone * units;
    return oci_mul64(moment.day, OCI_SECONDS_PER_DAY * units, out) && oci_add64(*out, in_day, out);
}

/* ---- fields ---------------------------------------------------------------------------------- */

static int64_t modulo(int64_t value, int64_t by)
{
    int64_t rest;
    (void)oci_floor_divide(value, by, &rest);
    return rest;
}

static int64_t quotient(int64_t value, int64_t by)
{
    int64_t rest;
    return oci_floor_divide(value, by, &rest);
}

int64_t oci_iso_year_start(int64_t year)
{
    int64_t fourth = oci_days_of_date((oci_date){year, 1, 4}); /* always in the first week */
    return fourth - modulo(fourth + THURSDAY - 1, 7);
}

static int64_t iso_year(int64_t day)
{
    int64_t year = oci_date_of_days(day).year;
    if (day < oci_iso_year_start(year)) {
        return year - 1;
    }
    return day >= oci_iso_year_start(year + 1) ? year + 1 : year;
}

/* Years per decade, century, ...: the first century begins with the year 1, 1 BC is the year 0. */
static int64_t age_of_year(int64_t year, int64_t years)
{
    return year > 0 ? (year + years - 1) / years : -((years - 1 - (year - 1)) / years);
}

static int64_t day_field(int64_t day, oci_time_field field)
{
    oci_date date = oci_date_of_days(day);
    switch (field) {
    case OCI_FIELD_DAY: return date.day;
    case OCI_FIELD_MONTH: return date.month;
    case OCI_FIELD_QUARTER: return (date.month + 2) / 3;
    case OCI_FIELD_YEAR: return date.year > 0 ? date.year : date.year - 1;
    case OCI_FIELD_DECADE: return quotient(date.year, 10);
    case OCI_FIELD_CENTURY: return age_of_year(date.year, 100);
    case OCI_FIELD_MILLENNIUM: return age_of_year(date.year, 1000);
    case OCI_FIELD_DOY: return day - oci_days_of_date((oci_date){date.year, 1, 1}) + 1;
    case OCI_FIELD_WEEK: return (day - oci_iso_year_start(iso_year(day))) / 7 + 1;
    case OCI_FIELD_ISOYEAR: return iso_year(day) > 0 ? iso_year(day) : iso_year(day) - 1;
    default: return 0;
    }
}

int64_t oci_moment_field(oci_moment moment, oci_time_field field)
{
    int64_t nanos = moment.nanos;
    int64_t in_minute = nanos % (60 * OCI_NANOS_PER_SECOND);
    switch (field) {
    case OCI_FIELD_NANOSECOND: return in_minute;
    case OCI_FIELD_MICROSECOND: return in_minute / 1000;
    case OCI_FIELD_MILLISECOND: return in_minute / 1000000;
    case OCI_FIELD_SECOND: return in_minute / OCI_NANOS_PER_SECOND;
    case OCI_FIELD_MINUTE: return nanos / (60 * OCI_NANOS_PER_SECOND) % 60;
    case OCI_FIELD_HOUR: return nanos / (3600 * OCI_NANOS_PER_SECOND);
    case OCI_FIELD_EPOCH: return moment.day * OCI_SECONDS_PER_DAY + nanos / OCI_NANOS_PER_SECOND;
    case OCI_FIELD_DOW: return modulo(moment.day + THURSDAY, 7);
    case OCI_FIELD_ISODOW: return modulo(moment.day + THURSDAY - 1, 7) + 1;
    case OCI_FIELD_JULIAN: return moment.day + JULIAN_OF_1970;
    default: return day_field(moment.day, field);
    }
}

/* ---- cutting --------------------------------------------------------------------------------- */

/* Nanoseconds of the fields below a day; 0 for others. */
static int64_t nanos_of(oci_time_field field)
{
    switch (field) {
    case OCI_FIELD_NANOSECOND: return 1;
    case OCI_FIELD_MICROSECOND: return 1000;
    case OCI_FIELD_MILLISECOND: return 1000000;
    case OCI_FIELD_SECOND: return OCI_NANOS_PER_SECOND;
    case OCI_FIELD_MINUTE: return 60 * OCI_NANOS_PER_SECOND;
    case OCI_FIELD_HOUR: return 3600 * OCI_NANOS_PER_SECOND;
    default: return 0;
    }
}

/* First year of the decade, century or millennium of a year. */
static int64_t first_year(int64_t year, int64_t years, int64_t first)
{
    return quotient(year - first, years) * years + first;
}

static bool truncate_day(int64_t *day, oci_time_field field)
{
    oci_date date = oci_date_of_days(*day);
    date.day = 1;
    switch (field) {
    case OCI_FIELD_DAY: return true;
    case OCI_FIELD_WEEK: *day -= modulo(*day + THURSDAY - 1, 7); return true;
    case OCI_FIELD_ISOYEAR: *day = oci_iso_year_start(iso_year(*day)); return true;
    case OCI_FIELD_MONTH: break;
    case OCI_FIELD_QUARTER: date.month = (date.month - 1) / 3 * 3 + 1; break;
    case OCI_FIELD_YEAR: date.month = 1; break;
    case OCI_FIELD_DECADE: date = (oci_date){first_year(date.year, 10, 0), 1, 1}; break;
    case OCI_FIELD_CENTURY: date = (oci_date){first_year(date.year, 100, 1), 1, 1}; break;
    case OCI_FIELD_MILLENNIUM: date = (oci_date){first_year(date.year, 1000, 1), 1, 1}; break;
    default: return false;
    }
    *day = oci_days_of_date(date);
    return true;
}

bool oci_moment_truncate(oci_moment *moment, oci_time_field field)
{
    int64_t nanos = nanos_of(field);
    if (nanos > 0) {
        moment->nanos -= moment->nanos % nanos;
        return true;
    }
    moment->nanos = 0;
    return truncate_day(&moment->day, field);
}

bool oci_interval_truncate(oci_interval *interval, oci_time_field field)
{
    int64_t nanos = nanos_of(field);
    if (nanos > 0) {
        interval->nanos -= interval->nanos % nanos;
        return true;
    }
    interval->nanos = 0;
    if (field == OCI_FIELD_DAY) {
        return true;
    }
    int64_t months = field == OCI_FIELD_MONTH        ? 1
                     : field == OCI_FIELD_QUARTER    ? 3
                     : field == OCI_FIELD_YEAR       ? 12
                     : field == OCI_FIELD_DECADE     ? 120
                     : field == OCI_FIELD_CENTURY    ? 1200
                     : field == OCI_FIELD_MILLENNIUM ? 12000
                                                     : 0;
    interval->days = 0;
    interval->months -= months > 0 ? interval->months % months : 0;
    return months > 0;
}

bool oci_interval_field(const oci_interval *interval, oci_time_field field, int64_t *out)
{
    int64_t in_minute = interval->nanos % (60 * OCI_NANOS_PER_SECOND);
    int64_t years = interval->months / 12;
    switch (field) {
    case OCI_FIELD_NANOSECOND: *out = in_minute; return true;
    case OCI_FIELD_MICROSECOND: *out = in_minute / 1000; return true;
    case OCI_FIELD_MILLISECOND: *out = in_minute / 1000000; return true;
    case OCI_FIELD_SECOND: *out = in_minute / OCI_NANOS_PER_SECOND; return true;
    case OCI_FIELD_MINUTE: *out = interval->nanos / (60 * OCI_NANOS_PER_SECOND) % 60; return true;
    case OCI_FIELD_HOUR: *out = interval->nanos / (3600 * OCI_NANOS_PER_SECOND); return true;
    case OCI_FIELD_DAY: *out = interval->days; return true;
    case OCI_FIELD_WEEK: *out = interval->days / 7; return true;
    case OCI_FIELD_MONTH: *out = interval->months % 12; return true;
    case OCI_FIELD_QUARTER: *out = interval->months % 12 / 3 + 1; return true;
    case OCI_FIELD_YEAR: *out = years; return true;
    case OCI_FIELD_DECADE: *out = years / 10; return true;
    case OCI_FIELD_CENTURY: *out = years / 100; return true;
    case OCI_FIELD_MILLENNIUM: *out = years / 1000; return true;
    case OCI_FIELD_EPOCH: /* a year counts 365.25 days, a month 30 */
        *out = years * 31557600 + (interval->months % 12 * 30 + interval->days) * 86400 +
               interval->nanos / OCI_NANOS_PER_SECOND;
        return true;
    default: return false;
    }
}
