/* Texts of single values: numbers, decimals, dates, times. Independent of the locale.
 *
 * Each function reads all of text[0..length) or says why it could not. None looks behind the text.
 * What is accepted is what format_value.h writes and the usual other spellings, named at each
 * call. */
#ifndef OUTCORE_FORMATS_PARSE_VALUE_H
#define OUTCORE_FORMATS_PARSE_VALUE_H

#include "arrow/schema.h"

typedef enum oci_parse_result {
    OCI_PARSE_OK = 0,
    OCI_PARSE_SYNTAX, /* not such a value at all */
    OCI_PARSE_RANGE,  /* outside the range of the type */
    OCI_PARSE_DIGITS, /* more digits behind the point than the type keeps, and they are not zeros */
    OCI_PARSE_ZONE,   /* an offset such as +02:00 where the type has no time zone */
    OCI_PARSE_NO_ZONE, /* no offset, and the time zone of the type is not one that can be worked out
                          here */
    OCI_PARSE_SPELLING, /* a number that would not be written back the same ("007", "+1"); only
                           where asked for */
    OCI_PARSE_LENGTH,   /* fixed-size binary of another size */
    OCI_PARSE_NULL      /* null in a column declared without nulls */
} oci_parse_result;

/* Why, as the end of a sentence: "out of range". "" for OCI_PARSE_SYNTAX. */
const char *oci_parse_reason(oci_parse_result result);

/* [+-]digits */
oci_parse_result oci_parse_int64(const uint8_t *text, int64_t length, int64_t *out);
oci_parse_result oci_parse_uint64(const uint8_t *text, int64_t length, uint64_t *out);
/* As int64, but "007", "-0" and "+1" are OCI_PARSE_SPELLING: texts that are rather names than
 * numbers. */
oci_parse_result oci_parse_int64_strict(const uint8_t *text, int64_t length, int64_t *out);

/* true, false in any case */
oci_parse_result oci_parse_bool_strict(const uint8_t *text, int64_t length, bool *out);
/* true, false, t, f, yes, no, y, n, 1, 0 in any case */
oci_parse_result oci_parse_bool(const uint8_t *text, int64_t length, bool *out);

/* [+-]digits[.digits][e[+-]digits], nan, inf, infinity in any case. Rounds to the nearest value; a
 * number so large that it would become infinite is OCI_PARSE_RANGE. */
oci_parse_result oci_parse_float64(const uint8_t *text, int64_t length, double *out);
oci_parse_result oci_parse_float32(const uint8_t *text, int64_t length, float *out);
oci_parse_result oci_parse_float16(const uint8_t *text, int64_t length, uint16_t *out);

/* A decimal of width 4, 8, 16 or 32 bytes into `out`, little-endian two's complement. Exponents are
 * accepted. */
oci_parse_result oci_parse_decimal(const uint8_t *text, int64_t length, int32_t width,
                                   int32_t precision, int32_t scale, uint8_t *out);

/* [+-]yyyy-mm-dd, more digits of the year behind a sign. Days since 1970-01-01. */
oci_parse_result oci_parse_date(const uint8_t *text, int64_t length, int64_t *days);
/* hh:mm[:ss[.fraction]] up to 24:00:00, in `unit`. */
oci_parse_result oci_parse_time(const uint8_t *text, int64_t length, oci_time_unit unit,
                                int64_t *out);

/* How the time zone of a timestamp column is treated. */
typedef enum oci_zone_kind {
    OCI_ZONE_NONE,  /* no zone: an offset is refused */
    OCI_ZONE_FIXED, /* UTC or a fixed offset: texts without an offset are taken as local there */
    OCI_ZONE_NAMED  /* another name: every text needs an offset */
} oci_zone_kind;

typedef struct oci_zone {
    oci_zone_kind kind;
    int32_t offset_seconds; /* FIXED */
} oci_zone;

/* timezone as in oci_field, NULL = none */
oci_zone oci_zone_of(const char *timezone);

/* A date, then optionally 'T' or a space and a time, then optionally Z or an offset +hh[[:]mm].
 * *has_zone (may be NULL) says whether there was one. Units since 1970-01-01T00:00:00 UTC (without
 * zone: of local time). */
oci_parse_result oci_parse_timestamp(const uint8_t *text, int64_t length, oci_time_unit unit,
                                     oci_zone zone, int64_t *out, bool *has_zone);

#endif /* OUTCORE_FORMATS_PARSE_VALUE_H */
