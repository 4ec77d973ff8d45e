/* Values as text. See format_value.h.
 *
 * Integers, decimals and dates are written two digits at a time from a table. Floats: most that
 * people store are short decimals, so first it is tried whether value * 10^k is an integer m of at
 * most 15 digits with m / 10^k == value; then m is the shortest text, because decimals of 15 digits
 * are all told apart by doubles. Else printf and strtod look for the shortest precision; the
 * decimal point that they use in some locales is skipped, never relied on. */
#include "formats/format_value.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "formats/calendar.h"
#include "formats/parse_value.h"

__extension__ typedef unsigned __int128 u128;

/* ---- integers -------------------------------------------------------------------------------- */

static const char digit_pairs[] = "00010203040506070809101112131415161718192021222324"
                                  "25262728293031323334353637383940414243444546474849"
                                  "50515253545556575859606162636465666768697071727374"
                                  "75767778798081828384858687888990919293949596979899";

static inline char *put_chars(const char *chars, int n, char *out)
{
    memcpy(out, chars, (size_t)n);
    return out + n;
}

static inline char *put_two(uint32_t value, char *out)
{
    memcpy(out, digit_pairs + 2 * value, 2);
    return out + 2;
}

/* The digits of `value` so that they end at `end`; returns where they begin. */
static inline char *put_digits_before(uint64_t value, char *end)
{
    while (value >= 100) {
        uint64_t rest = value / 100;
        end -= 2;
        memcpy(end, digit_pairs + 2 * (value - rest * 100), 2);
        value = rest;
    }
    if (value >= 10) {
        end -= 2;
        memcpy(end, digit_pairs + 2 * value, 2);
    } else {
        *--end = (char)('0' + value);
    }
    return end;
}

/* How many digits `value` has; 1 for 0. */
static inline int count_digits(uint64_t value)
{
    static const uint64_t powers[] = {0,
                                      10,
                                      100,
                                      1000,
                                      10000,
                                      100000,
                                      1000000,
                                      10000000,
                                      100000000,
                                      1000000000,
                                      10000000000,
                                      100000000000,
                                      1000000000000,
                                      10000000000000,
                                      100000000000000,
                                      1000000000000000,
                                      10000000000000000,
                                      100000000000000000,
                                      1000000000000000000,
                                      10000000000000000000u};
    /* log10(2) = 1233 / 4096 nearly; off by one at most, which the table puts right. */
    int guess = (64 - __builtin_clzll(value | 1)) * 1233 >> 12;
    return guess + (value >= powers[guess]);
}

char *oci_format_uint64(uint64_t value, char *out)
{
    char *end = out + count_digits(value);
    put_digits_before(value, end);
    return end;
}

char *oci_format_int64(int64_t value, char *out)
{
    if (value < 0) {
        *out++ = '-';
        return oci_format_uint64(0 - (uint64_t)value, out);
    }
    return oci_format_uint64((uint64_t)value, out);
}

/* Exactly `width` digits, with leading zeros. */
static inline char *put_padded(uint64_t value, int width, char *out)
{
    char *end = out + width;
    char *begin = put_digits_before(value, end);
    while (begin > out) {
        *--begin = '0';
    }
    return end;
}

char *oci_format_hex(const uint8_t *bytes, int64_t n, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (int64_t i = 0; i < n; i++) {
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    return out;
}

/* ---- decimals -------------------------------------------------------------------------------- */

enum { DECIMAL_DIGITS_MAX = 78, /* of 2^256 */ PLAIN_ZEROS_MAX = 100 };

/* Digits of an unsigned number of up to four words, most significant first; returns how many. */
static int wide_digits(uint64_t words[4], char digits[DECIMAL_DIGITS_MAX + 24])
{
    enum { CHUNK_DIGITS = 19 };
    const uint64_t chunk = UINT64_C(10000000000000000000);
    char *end = digits + DECIMAL_DIGITS_MAX + 24;
    char *at = end;
    do {
        u128 rest = 0;
        uint64_t any = 0;
        for (int i = 3; i >= 0; i--) {
            rest = rest << 64 | words[i];
            words[i] = (uint64_t)(rest / chunk);
            rest %= chunk;
            any |= words[i];
        }
        if (any == 0) {
            at = put_digits_before((uint64_t)rest, at);
            break;
        }
        at -= CHUNK_DIGITS;
        put_padded((uint64_t)rest, CHUNK_DIGITS, at);
    } while (true);
    memmove(digits, at, (size_t)(end - at));
    return (int)(end - at);
}

static char *put_zeros(int64_t n, char *out)
{
    memset(out, '0', (size_t)n);
    return out + n;
}

/* n digits with the point `scale` places from their end. Scales that would need very many zeros get
 * an exponent. */
static char *put_scaled(const char *digits, int n, int32_t scale, char *out)
{
    bool is_zero = n == 1 && digits[0] == '0';
    if (scale > PLAIN_ZEROS_MAX || scale < -PLAIN_ZEROS_MAX) {
        memcpy(out, digits, (size_t)n);
        out += n;
        *out++ = 'e';
        return oci_format_int64(-(int64_t)scale, out);
    }
    if (scale <= 0) {
        memcpy(out, digits, (size_t)n);
        return is_zero ? out + n : put_zeros(-scale, out + n);
    }
    int n_front = n > scale ? n - scale : 0;
    if (n_front == 0) {
        *out++ = '0';
    } else {
        memcpy(out, digits, (size_t)n_front);
        out += n_front;
    }
    *out++ = '.';
    out = put_zeros(scale - (n - n_front), out);
    memcpy(out, digits + n_front, (size_t)(n - n_front));
    return out + (n - n_front);
}

static char *put_small_decimal(int64_t value, int32_t scale, char *out)
{
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    if (value < 0) {
        *out++ = '-';
    }
    char digits[24] = "0";
    char *end = oci_format_uint64(magnitude, digits);
    return put_scaled(digits, (int)(end - digits), scale, out);
}

/* The usual decimal: a value of one word and a scale of 2. */
static inline char *put_cents(int64_t value, char *out)
{
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    if (value < 0) {
        *out++ = '-';
    }
    uint64_t whole = magnitude / 100;
    out = oci_format_uint64(whole, out);
    *out++ = '.';
    return put_two((uint32_t)(magnitude - whole * 100), out);
}

static char *format_decimal(const oci_formatter *f, const uint8_t *value, char *out)
{
    if (f->byte_width == 4) {
        return put_small_decimal((int32_t)oci_load_le32(value), f->scale, out);
    }
    int64_t low = (int64_t)oci_load_le64(value);
    uint64_t words[4] = {(uint64_t)low};
    bool small = true;
    uint64_t sign = low < 0 ? ~UINT64_C(0) : 0;
    for (int i = 1; i < 4; i++) { /* words behind the last one repeat its sign */
        uint64_t above = words[i - 1] >> 63 ? ~UINT64_C(0) : 0;
        words[i] = 8 * i < f->byte_width ? oci_load_le64(value + (ptrdiff_t)8 * i) : above;
        small = small && words[i] == sign;
    }
    if (small) {
        return f->scale == 2 ? put_cents(low, out) : put_small_decimal(low, f->scale, out);
    }
    if (words[3] >> 63) {
        *out++ = '-';
        uint64_t carry = 1;
        for (int i = 0; i < 4; i++) {
            words[i] = ~words[i] + carry;
            carry = carry && words[i] == 0;
        }
    }
    char digits[DECIMAL_DIGITS_MAX + 24];
    int n = wide_digits(words, digits);
    return put_scaled(digits, n, f->scale, out);
}

/* ---- floats ---------------------------------------------------------------------------------- */

/* digits d1 d2 ... dn of d1.d2...dn * 10^exponent, without zeros at the end. Fixed notation while
 * that needs no more than 16 places, else d.ddde+x. There is always a point or an exponent, so that
 * the text reads back as a float. */
static char *put_float_digits(const char *digits, int n, int exponent, char *out)
{
    enum { FIXED_MIN = -5, FIXED_MAX = 15 };
    if (exponent < FIXED_MIN || exponent > FIXED_MAX) {
        *out++ = digits[0];
        if (n > 1) {
            *out++ = '.';
            memcpy(out, digits + 1, (size_t)(n - 1));
            out += n - 1;
        }
        *out++ = 'e';
        *out++ = exponent < 0 ? '-' : '+';
        return oci_format_int64(exponent < 0 ? -exponent : exponent, out);
    }
    if (exponent < 0) {
        out = put_zeros(-exponent - 1, put_chars("0.", 2, out));
        memcpy(out, digits, (size_t)n);
        return out + n;
    }
    int n_front = exponent + 1;
    int n_known = n < n_front ? n : n_front;
    memcpy(out, digits, (size_t)n_known);
    out = put_zeros(n_front - n_known, out + n_known);
    *out++ = '.';
    if (n <= n_front) {
        *out++ = '0';
        return out;
    }
    memcpy(out, digits + n_front, (size_t)(n - n_front));
    return out + (n - n_front);
}

/* m * 10^-k with m > 0. */
static char *put_short_float(uint64_t m, int k, char *out)
{
    while (k > 0 && m % 10 == 0) {
        m /= 10;
        k--;
    }
    char digits[24] = "0";
    int n = (int)(oci_format_uint64(m, digits) - digits);
    int exponent = n - 1 - k;
    while (n > 1 && digits[n - 1] == '0') {
        n--;
    }
    return put_float_digits(digits, n, exponent, out);
}

/* NaN, infinities, zeros, and the sign; *done when nothing is left to write. */
static char *put_special(double value, char *out, bool *done)
{
    *done = true;
    if (isnan(value)) {
        return put_chars("NaN", 3, out);
    }
    if (signbit(value)) {
        *out++ = '-';
    }
    if (isinf(value)) {
        return put_chars("inf", 3, out);
    }
    if (value == 0) {
        return put_chars("0.0", 3, out);
    }
    *done = false;
    return out;
}

/* The digits of `magnitude` rounded to `precision` of them, without a point; sets the exponent of
 * the first. */
static int round_digits(double magnitude, int precision, char digits[24], int *exponent)
{
    char text[64];
    snprintf(text, sizeof text, "%.*e", precision - 1, magnitude);
    int n = 0;
    const char *at = text;
    for (; *at != 'e'; at++) {
        if (*at >= '0' && *at <= '9') { /* the decimal point may be anything */
            digits[n++] = *at;
        }
    }
    *exponent = (int)strtol(at + 1, NULL, 10);
    return n;
}

/* A positive, finite float to be written, and what its text must read back as. */
typedef struct {
    double magnitude;
    int bits;      /* 64, 32 or 16 */
    uint16_t half; /* the bits themselves when there are 16 */
} float_target;

static bool reads_back(const char *digits, int n, int exponent, const float_target *target)
{
    char text[64];
    memcpy(text, digits, (size_t)n);
    char *end = text + n;
    *end++ = 'e';
    end = oci_format_int64(exponent - (n - 1), end);
    *end = '\0';
    if (target->bits == 64) {
        return strtod(text, NULL) == target->magnitude;
    }
    if (target->bits == 32) {
        return (double)strtof(text, NULL) == target->magnitude;
    }
    uint16_t half = 0;
    return oci_parse_float16((const uint8_t *)text, end - text, &half) == OCI_PARSE_OK &&
           half == target->half;
}

static bool is_enough(const float_target *target, int precision)
{
    char digits[24] = "0";
    int exponent;
    int n = round_digits(target->magnitude, precision, digits, &exponent);
    return reads_back(digits, n, exponent, target);
}

/* The smallest precision that reads back. Most values of arbitrary bits need all digits or one
 * less, so these are tried first; below them it is found by halving, since more digits than enough
 * are enough, too. */
static int shortest_precision(const float_target *target)
{
    int high = target->bits == 64 ? 17 : target->bits == 32 ? 9 : 5;
    for (int tries = 0; tries < 2; tries++) {
        if (!is_enough(target, high - 1)) {
            return high;
        }
        high--;
    }
    int low = 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (is_enough(target, middle)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return high;
}

static char *put_searched_float(const float_target *target, char *out)
{
    char digits[24] = "0";
    int exponent;
    int n = round_digits(target->magnitude, shortest_precision(target), digits, &exponent);
    while (n > 1 && digits[n - 1] == '0') {
        n--;
    }
    return put_float_digits(digits, n, exponent, out);
}

char *oci_format_float64(double value, char *out)
{
    static const double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
    bool done;
    out = put_special(value, out, &done);
    if (done) {
        return out;
    }
    double magnitude = fabs(value);
    for (int k = 0; k < 10 && magnitude * powers[k] < 1e15; k++) {
        uint64_t scaled = (uint64_t)(magnitude * powers[k] + 0.5);
        if ((double)scaled / powers[k] == magnitude) {
            return put_short_float(scaled, k, out);
        }
    }
    float_target target = {.magnitude = magnitude, .bits = 64};
    return put_searched_float(&target, out);
}

char *oci_format_float32(float value, char *out)
{
    static const float powers[] = {1e0F, 1e1F, 1e2F, 1e3F, 1e4F, 1e5F, 1e6F};
    bool done;
    out = put_special((double)value, out, &done);
    if (done) {
        return out;
    }
    float magnitude = fabsf(value);
    for (int k = 0; k < 7 && magnitude * powers[k] < 1e6F; k++) { /* floats tell 6 digits apart */
        uint64_t scaled = (uint64_t)(magnitude * powers[k] + 0.5F);
        if ((float)scaled / powers[k] == magnitude) {
            return put_short_float(scaled, k, out);
        }
    }
    float_target target = {.magnitude = (double)magnitude, .bits = 32};
    return put_searched_float(&target, out);
}

/* The value of a half, exactly. */
static double half_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    double units = bits & 1023;
    double magnitude;
    if (exponent == 31) {
        magnitude = units != 0 ? (double)NAN : (double)INFINITY;
    } else {
        magnitude = exponent == 0 ? ldexp(units, -24) : ldexp(units + 1024, exponent - 25);
    }
    return bits >> 15 ? -magnitude : magnitude;
}

char *oci_format_float16(uint16_t bits, char *out)
{
    double value = half_value(bits);
    bool done;
    out = put_special(value, out, &done);
    if (done) {
        return out;
    }
    float_target target = {.magnitude = fabs(value), .bits = 16, .half = bits & 0x7FFF};
    return put_searched_float(&target, out);
}

/* ---- dates and times ------------------------------------------------------------------------- */

static char *put_date(int64_t days, char *out)
{
    oci_date date = oci_date_of_days(days);
    if (date.year >= 0 && date.year <= 9999) {
        out = put_two((uint32_t)date.year / 100, out);
        out = put_two((uint32_t)date.year % 100, out);
    } else {
        *out++ = date.year < 0 ? '-' : '+';
        uint64_t year = (uint64_t)(date.year < 0 ? -date.year : date.year);
        out = year < 1000 ? put_padded(year, 4, out) : oci_format_uint64(year, out);
    }
    *out++ = '-';
    out = put_two((uint32_t)date.month, out);
    *out++ = '-';
    return put_two((uint32_t)date.day, out);
}

static const int64_t units_per_second[] = {1, 1000, 1000000, 1000000000};
static const int unit_digits[] = {0, 3, 6, 9};

/* hh:mm:ss of 0 <= seconds, with the fraction when it is not zero. */
static char *put_time(int64_t seconds, int64_t rest, oci_time_unit unit, char *out)
{
    int64_t hours = seconds / 3600;
    out = hours < 100 ? put_two((uint32_t)hours, out) : oci_format_int64(hours, out);
    *out++ = ':';
    out = put_two((uint32_t)(seconds / 60 % 60), out);
    *out++ = ':';
    out = put_two((uint32_t)(seconds % 60), out);
    if (rest != 0) {
        *out++ = '.';
        out = put_padded((uint64_t)rest, unit_digits[unit], out);
    }
    return out;
}

static char *put_timestamp(int64_t value, oci_time_unit unit, char *out)
{
    int64_t rest;
    int64_t seconds_of_day;
    int64_t seconds = oci_floor_divide(value, units_per_second[unit], &rest);
    int64_t days = oci_floor_divide(seconds, OCI_SECONDS_PER_DAY, &seconds_of_day);
    out = put_date(days, out);
    *out++ = 'T';
    return put_time(seconds_of_day, rest, unit, out);
}

static char *format_date32(const oci_formatter *f, const uint8_t *value, char *out)
{
    (void)f;
    return put_date((int32_t)oci_load_le32(value), out);
}

static char *format_date64(const oci_formatter *f, const uint8_t *value, char *out)
{
    (void)f;
    int64_t rest;
    int64_t milliseconds = (int64_t)oci_load_le64(value);
    int64_t days = oci_floor_divide(milliseconds, OCI_SECONDS_PER_DAY * 1000, &rest);
    return rest == 0 ? put_date(days, out) : put_timestamp(milliseconds, OCI_MILLI, out);
}

static char *format_time(const oci_formatter *f, const uint8_t *value, char *out)
{
    int64_t units = f->byte_width == 4 ? (int64_t)(int32_t)oci_load_le32(value)
                                       : (int64_t)oci_load_le64(value);
    int64_t rest;
    int64_t seconds;
    if (units < 0) { /* not a time of day, but to be shown as what it is */
        *out++ = '-';
    }
    uint64_t magnitude = units < 0 ? 0 - (uint64_t)units : (uint64_t)units;
    seconds = (int64_t)(magnitude / (uint64_t)units_per_second[f->unit]);
    rest = (int64_t)(magnitude % (uint64_t)units_per_second[f->unit]);
    return put_time(seconds, rest, f->unit, out);
}

static char *format_timestamp(const oci_formatter *f, const uint8_t *value, char *out)
{
    out = put_timestamp((int64_t)oci_load_le64(value), f->unit, out);
    if (f->has_zone) {
        *out++ = 'Z';
    }
    return out;
}

static char *format_months(const oci_formatter *f, const uint8_t *value, char *out)
{
    (void)f;
    *out++ = 'P';
    out = oci_format_int64((int32_t)oci_load_le32(value), out);
    *out++ = 'M';
    return out;
}

/* T[-]seconds.fractionS of so many units. */
static char *put_seconds(int64_t units, oci_time_unit unit, char *out)
{
    uint64_t magnitude = units < 0 ? 0 - (uint64_t)units : (uint64_t)units;
    uint64_t per_second = (uint64_t)units_per_second[unit];
    *out++ = 'T';
    if (units < 0) {
        *out++ = '-';
    }
    out = oci_format_uint64(magnitude / per_second, out);
    if (magnitude % per_second != 0) {
        *out++ = '.';
        out = put_padded(magnitude % per_second, unit_digits[unit], out);
    }
    *out++ = 'S';
    return out;
}

static char *format_day_time(const oci_formatter *f, const uint8_t *value, char *out)
{
    (void)f;
    *out++ = 'P';
    out = oci_format_int64((int32_t)oci_load_le32(value), out);
    *out++ = 'D';
    return put_seconds((int32_t)oci_load_le32(value + 4), OCI_MILLI, out);
}

static char *format_month_day_nano(const oci_formatter *f, const uint8_t *value, char *out)
{
    (void)f;
    *out++ = 'P';
    out = oci_format_int64((int32_t)oci_load_le32(value), out);
    *out++ = 'M';
    out = oci_format_int64((int32_t)oci_load_le32(value + 4), out);
    *out++ = 'D';
    return put_seconds((int64_t)oci_load_le64(value + 8), OCI_NANO, out);
}

/* ---- one function per type ------------------------------------------------------------------- */

static char *format_int(const oci_formatter *f, const uint8_t *value, char *out)
{
    switch (f->byte_width) {
    case 1: return oci_format_int64((int8_t)*value, out);
    case 2: return oci_format_int64((int16_t)oci_load_le16(value), out);
    case 4: return oci_format_int64((int32_t)oci_load_le32(value), out);
    default: return oci_format_int64((int64_t)oci_load_le64(value), out);
    }
}

static char *format_uint(const oci_formatter *f, const uint8_t *value, char *out)
{
    switch (f->byte_width) {
    case 1: return oci_format_uint64(*value, out);
    case 2: return oci_format_uint64(oci_load_le16(value), out);
    case 4: return oci_format_uint64(oci_load_le32(value), out);
    default: return oci_format_uint64(oci_load_le64(value), out);
    }
}

static char *format_half(const oci_formatter *f, const uint8_t *value, char *out)
{
    (void)f;
    return oci_format_float16(oci_load_le16(value), out);
}

static char *format_float(const oci_formatter *f, const uint8_t *value, char *out)
{
    (void)f;
    float x;
    memcpy(&x, value, sizeof x);
    return oci_format_float32(x, out);
}

static char *format_double(const oci_formatter *f, const uint8_t *value, char *out)
{
    (void)f;
    double x;
    memcpy(&x, value, sizeof x);
    return oci_format_float64(x, out);
}

typedef char *(*format_function)(const oci_formatter *f, const uint8_t *value, char *out);

/* Kind and function of a type that is seen through to its values. */
static void choose(oci_type type, oci_value_kind *kind, format_function *format)
{
    *format = NULL;
    switch (type) {
    case OCI_TYPE_NULL: *kind = OCI_VALUE_NULL; return;
    case OCI_TYPE_BOOL: *kind = OCI_VALUE_BOOL; return;
    case OCI_TYPE_INT8:
    case OCI_TYPE_INT16:
    case OCI_TYPE_INT32:
    case OCI_TYPE_INT64:
    case OCI_TYPE_DURATION:
        *kind = OCI_VALUE_NUMBER;
        *format = format_int;
        return;
    case OCI_TYPE_UINT8:
    case OCI_TYPE_UINT16:
    case OCI_TYPE_UINT32:
    case OCI_TYPE_UINT64:
        *kind = OCI_VALUE_NUMBER;
        *format = format_uint;
        return;
    case OCI_TYPE_DECIMAL32:
    case OCI_TYPE_DECIMAL64:
    case OCI_TYPE_DECIMAL128:
    case OCI_TYPE_DECIMAL256:
        *kind = OCI_VALUE_NUMBER;
        *format = format_decimal;
        return;
    case OCI_TYPE_FLOAT16:
        *kind = OCI_VALUE_FLOAT;
        *format = format_half;
        return;
    case OCI_TYPE_FLOAT32:
        *kind = OCI_VALUE_FLOAT;
        *format = format_float;
        return;
    case OCI_TYPE_FLOAT64:
        *kind = OCI_VALUE_FLOAT;
        *format = format_double;
        return;
    case OCI_TYPE_DATE32:
        *kind = OCI_VALUE_TIME;
        *format = format_date32;
        return;
    case OCI_TYPE_DATE64:
        *kind = OCI_VALUE_TIME;
        *format = format_date64;
        return;
    case OCI_TYPE_TIME32:
    case OCI_TYPE_TIME64:
        *kind = OCI_VALUE_TIME;
        *format = format_time;
        return;
    case OCI_TYPE_TIMESTAMP:
        *kind = OCI_VALUE_TIME;
        *format = format_timestamp;
        return;
    case OCI_TYPE_INTERVAL_MONTHS:
        *kind = OCI_VALUE_TIME;
        *format = format_months;
        return;
    case OCI_TYPE_INTERVAL_DAY_TIME:
        *kind = OCI_VALUE_TIME;
        *format = format_day_time;
        return;
    case OCI_TYPE_INTERVAL_MONTH_DAY_NANO:
        *kind = OCI_VALUE_TIME;
        *format = format_month_day_nano;
        return;
    case OCI_TYPE_UTF8:
    case OCI_TYPE_LARGE_UTF8:
    case OCI_TYPE_UTF8_VIEW: *kind = OCI_VALUE_TEXT; return;
    case OCI_TYPE_BINARY:
    case OCI_TYPE_LARGE_BINARY:
    case OCI_TYPE_BINARY_VIEW:
    case OCI_TYPE_FIXED_BINARY: *kind = OCI_VALUE_BINARY; return;
    case OCI_TYPE_LIST:
    case OCI_TYPE_LARGE_LIST:
    case OCI_TYPE_LIST_VIEW:
    case OCI_TYPE_LARGE_LIST_VIEW:
    case OCI_TYPE_FIXED_LIST: *kind = OCI_VALUE_LIST; return;
    case OCI_TYPE_STRUCT: *kind = OCI_VALUE_STRUCT; return;
    case OCI_TYPE_MAP: *kind = OCI_VALUE_MAP; return;
    case OCI_TYPE_DENSE_UNION:
    case OCI_TYPE_SPARSE_UNION: *kind = OCI_VALUE_UNION; return;
    case OCI_TYPE_DICTIONARY:
    case OCI_TYPE_RUN_END_ENCODED:
    case OCI_TYPE_COUNT: break;
    }
    assert(false); /* seen through, or no type */
}

/* ---- nested types ---------------------------------------------------------------------------- */

/* The field whose values a column of `field` stands for. */
static const oci_field *value_field(const oci_field *field)
{
    for (;;) {
        if (field->type == OCI_TYPE_DICTIONARY) {
            field = field->dictionary;
        } else if (field->type == OCI_TYPE_RUN_END_ENCODED) {
            field = &field->children[1];
        } else {
            return field;
        }
    }
}

/* Recurses once per level of the type, which is limited to OCI_NESTING_MAX. */
static oc_status init_children(oci_formatter *formatter, const oci_field *field, oci_mem *mem,
                               oc_error *err)
{
    if (field->type == OCI_TYPE_MAP) {
        field = &field->children[0]; /* the struct of key and value */
    }
    if (field->n_children == 0) {
        return OC_OK;
    }
    void *block;
    OC_TRY(oci_mem_alloc(mem, field->n_children * (int64_t)sizeof *formatter, &block, err));
    formatter->children = block;
    formatter->n_children = field->n_children;
    memset(formatter->children, 0, (size_t)field->n_children * sizeof *formatter);
    for (int32_t i = 0; i < field->n_children; i++) {
        OC_TRY(oci_formatter_init(&formatter->children[i], &field->children[i], mem, err));
    }
    return OC_OK;
}

oc_status oci_formatter_init(oci_formatter *formatter, const oci_field *field, oci_mem *mem,
                             oc_error *err)
{
    const oci_field *value = value_field(field);
    *formatter = (oci_formatter){.type = value->type,
                                 .byte_width = value->byte_width,
                                 .scale = value->scale,
                                 .unit = value->unit,
                                 .has_zone = value->timezone != NULL,
                                 .name = field->name};
    choose(value->type, &formatter->kind, &formatter->format);
    return oci_kind_is_nested(formatter->kind) ? init_children(formatter, value, mem, err) : OC_OK;
}

void oci_formatter_deinit(oci_formatter *formatter, oci_mem *mem)
{
    for (int32_t i = 0; i < formatter->n_children; i++) {
        oci_formatter_deinit(&formatter->children[i], mem);
    }
    if (formatter->children != NULL) {
        oci_mem_free(mem, formatter->children,
                     formatter->n_children * (int64_t)sizeof *formatter->children);
    }
    *formatter = (oci_formatter){.kind = OCI_VALUE_NULL};
}

bool oci_value_resolve_nested(const oci_formatter **formatter, const oci_column **column,
                              int64_t *row)
{
    const oci_column *c = *column;
    int64_t r = *row;
    for (;;) {
        if (c->validity != NULL && !oci_bit_get(c->validity, c->offset + r)) {
            return false;
        }
        switch (oci_field_layout(c->field)) {
        case OCI_LAYOUT_NULL: return false;
        case OCI_LAYOUT_DICTIONARY:
            r = oci_column_index_at(c, r);
            c = c->dictionary;
            break;
        case OCI_LAYOUT_RUN_ENDS:
            r = oci_column_run_at(c, r);
            c = &c->children[1];
            break;
        case OCI_LAYOUT_SPARSE_UNION:
        case OCI_LAYOUT_DENSE_UNION: {
            int32_t child = oci_column_union_at(c, r, &r);
            c = &c->children[child];
            *formatter = &(*formatter)->children[child];
            break;
        }
        default:
            *column = c;
            *row = r;
            return true;
        }
    }
}

/* ---- single values --------------------------------------------------------------------------- */

char *oci_format_value(const oci_formatter *formatter, const oci_column *column, int64_t row,
                       char *out)
{
    int64_t at = column->offset + row;
    if (formatter->kind == OCI_VALUE_BOOL) {
        bool value = oci_bit_get(column->values, at);
        return value ? put_chars("true", 4, out) : put_chars("false", 5, out);
    }
    assert(formatter->format != NULL);
    return formatter->format(formatter, column->values + at * formatter->byte_width, out);
}

const uint8_t *oci_value_bytes(const oci_column *column, int64_t row, int64_t *length)
{
    oci_type type = column->field->type;
    if (type == OCI_TYPE_UTF8 || type == OCI_TYPE_BINARY) { /* the usual ones, without a call */
        const uint8_t *offsets = column->values + (column->offset + row) * 4;
        int32_t from = (int32_t)oci_load_le32(offsets);
        *length = (int32_t)oci_load_le32(offsets + 4) - from;
        return column->bytes + from;
    }
    if (type == OCI_TYPE_FIXED_BINARY) {
        *length = column->field->byte_width;
        return column->values + (column->offset + row) * column->field->byte_width;
    }
    return oci_column_bytes_at(column, row, length);
}
