/* Dates, timestamps and times taken apart into the fields of EXTRACT and date_trunc. Timestamps with
 * a time zone are taken in it when it is UTC or a fixed offset, and in UTC for named zones. */
#ifndef OUTCORE_EXPR_MOMENT_H
#define OUTCORE_EXPR_MOMENT_H

#include "expr/interval.h"

#define OCI_NANOS_PER_SECOND INT64_C(1000000000)
#define OCI_NANOS_PER_DAY    INT64_C(86400000000000)

typedef enum oci_time_field {
    OCI_FIELD_NANOSECOND,
    OCI_FIELD_MICROSECOND,
    OCI_FIELD_MILLISECOND,
    OCI_FIELD_SECOND,
    OCI_FIELD_MINUTE,
    OCI_FIELD_HOUR,
    OCI_FIELD_DAY,
    OCI_FIELD_WEEK,
    OCI_FIELD_MONTH,
    OCI_FIELD_QUARTER,
    OCI_FIELD_YEAR,
    OCI_FIELD_DECADE,
    OCI_FIELD_CENTURY,
    OCI_FIELD_MILLENNIUM,
    OCI_FIELD_EPOCH,
    OCI_FIELD_DOW,
    OCI_FIELD_ISODOW,
    OCI_FIELD_DOY,
    OCI_FIELD_ISOYEAR,
    OCI_FIELD_JULIAN,
    OCI_FIELD_TIMEZONE,
    OCI_FIELD_COUNT
} oci_time_field;

/* By name in any case, singular or plural. */
bool oci_time_field_parse(const uint8_t *text, int64_t length, oci_time_field *out);
const char *oci_time_field_name(oci_time_field field);

/* A day since 1970-01-01 and nanoseconds of it. A time of day has day 0. */
typedef struct oci_moment {
    int64_t day;
    int64_t nanos;
} oci_moment;

int64_t oci_units_per_second(oci_time_unit unit);
/* Seconds that a zone is ahead of UTC; 0 for none and for named ones. */
int32_t oci_zone_seconds(const char *timezone);

/* Value `at` of a date, time or timestamp column, in the zone of the column. */
oci_moment oci_moment_load(const oci_field *field, const uint8_t *values, int64_t at);
/* Back to the unit and zone of a timestamp field, or to days; false when it is out of range. */
bool oci_moment_store(const oci_field *field, oci_moment moment, int64_t *out);

/* The whole part of a field: seconds without their fraction, but milliseconds and finer count from
 * the start of the minute, as in PostgreSQL. */
int64_t oci_moment_field(oci_moment moment, oci_time_field field);
/* Monday of the first week of an ISO year, as a day. */
int64_t oci_iso_year_start(int64_t year);
/* Cut to the start of a field; false for fields that cannot be cut to. */
bool oci_moment_truncate(oci_moment *moment, oci_time_field field);
bool oci_interval_truncate(oci_interval *interval, oci_time_field field);
/* false: intervals have no such field. */
bool oci_interval_field(const oci_interval *interval, oci_time_field field, int64_t *out);

#endif /* OUTCORE_EXPR_MOMENT_H */
