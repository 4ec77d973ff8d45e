/* Days and dates of the proleptic Gregorian calendar, for all of int64 that a timestamp in seconds
 * can reach.
 *
 * Both directions count from 1 March, so that the leap day is the last of its year, and in eras of
 * 400 years, which all have 146,097 days. */
#ifndef OUTCORE_FORMATS_CALENDAR_H
#define OUTCORE_FORMATS_CALENDAR_H

#include <stdbool.h>
#include <stdint.h>

#define OCI_SECONDS_PER_DAY INT64_C(86400)

typedef struct oci_date {
    int64_t year;
    int32_t month; /* 1..12 */
    int32_t day;   /* 1..31 */
} oci_date;

static inline bool oci_is_leap_year(int64_t year)
{
    return (year & 3) == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* month 1..12 */
static inline int32_t oci_days_of_month(int64_t year, int32_t month)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return month == 2 && oci_is_leap_year(year) ? 29 : days[month - 1];
}

/* Days since 1970-01-01 of a valid date. */
static inline int64_t oci_days_of_date(oci_date date)
{
    int64_t year = date.year - (date.month <= 2);
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (date.month + (date.month > 2 ? -3 : 9)) + 2) / 5 + date.day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468; /* 719468: days from 0000-03-01 to 1970-01-01 */
}

static inline oci_date oci_date_of_days(int64_t days)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t day_of_era = days - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t shifted_month = (5 * day_of_year + 2) / 153; /* 0 = March */
    oci_date date;
    date.day = (int32_t)(day_of_year - (153 * shifted_month + 2) / 5 + 1);
    date.month = (int32_t)(shifted_month < 10 ? shifted_month + 3 : shifted_month - 9);
    date.year = year_of_era + era * 400 + (date.month <= 2);
    return date;
}

/* The largest multiple of `unit` that is <= value, divided by it; *rest gets what is left,
 * 0..unit-1. */
static inline int64_t oci_floor_divide(int64_t value, int64_t unit, int64_t *rest)
{
    int64_t quotient = value / unit;
    int64_t remainder = value % unit;
    if (remainder < 0) {
        remainder += unit;
        quotient--;
    }
    *rest = remainder;
    return quotient;
}

#endif /* OUTCORE_FORMATS_CALENDAR_H */
