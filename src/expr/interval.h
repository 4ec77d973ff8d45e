/* Intervals: months, days and nanoseconds, which do not turn into each other. */
#ifndef OUTCORE_EXPR_INTERVAL_H
#define OUTCORE_EXPR_INTERVAL_H

#include "arrow/schema.h"

typedef struct oci_interval {
    int64_t months;
    int64_t days;
    int64_t nanos;
} oci_interval;

/* "1 year 2 mons -3 days 04:05:06.7", "3 hours ago", "P1Y2M3DT4H5M6.7S", "1.5 days", "2 weeks". */
bool oci_interval_parse(const uint8_t *text, int64_t length, oci_interval *out);
/* As PostgreSQL writes it: "1 year 2 mons 3 days 04:05:06.7", "00:00:00". Returns the end; at most 128 bytes. */
char *oci_interval_format(const oci_interval *interval, char *out);
/* Value `at` of any interval type. */
void oci_interval_load(const oci_field *field, const uint8_t *values, int64_t at,
                       oci_interval *out);
/* As month_day_nano; false when months or days pass 32 bits. */
bool oci_interval_store(const oci_interval *interval, uint8_t *values, int64_t at);
/* days (since 1970-01-01) + months; the day is cut to the length of the month. */
int64_t oci_add_months(int64_t days, int64_t months);

#endif /* OUTCORE_EXPR_INTERVAL_H */
