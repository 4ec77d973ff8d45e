/* Texts of single values. See parse_value.h.
 *
 * The usual case of each type comes first and is short: integers of up to 19 digits, decimals of up
 * to 18, floats whose digits and power of ten are exact doubles, dates of four-digit years. What is
 * left goes a general way; for floats that is strtod() on a text without a decimal point
 * ("12345e-2"), which no locale reads differently. */
#include "formats/parse_value.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "formats/calendar.h"

__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 i128;

static const int64_t pow10_int64[] = {1,
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
                                      1000000000000000000};

const char *oci_parse_reason(oci_parse_result result)
{
    switch (result) {
    case OCI_PARSE_RANGE: return "out of range";
    case OCI_PARSE_DIGITS: return "it has more digits behind the point than the type keeps";
    case OCI_PARSE_ZONE: return "it has a UTC offset and the type has no time zone";
    case OCI_PARSE_NO_ZONE: return "it has no UTC offset";
    case OCI_PARSE_SPELLING: return "its leading zero or plus sign would be lost";
    case OCI_PARSE_LENGTH: return "it has another length";
    case OCI_PARSE_NULL: return "the column is declared not null";
    case OCI_PARSE_OK:
    case OCI_PARSE_SYNTAX: break;
    }
    return "";
}

static inline bool is_digit(uint8_t c)
{
    return (uint8_t)(c - '0') <= 9;
}

static inline uint8_t to_lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c | 0x20) : c;
}

/* `word` is in lower case. */
static bool is_word(const uint8_t *text, int64_t length, const char *word)
{
    int64_t i = 0;
    for (; i < length && word[i] != '\0'; i++) {
        if (to_lower(text[i]) != (uint8_t)word[i]) {
            return false;
        }
    }
    return i == length && word[i] == '\0';
}

/* ---- integers -------------------------------------------------------------------------------- */

static oci_parse_result parse_long_digits(const uint8_t *text, int64_t length, uint64_t *out)
{
    uint64_t value = 0;
    bool fits = true;
    for (int64_t i = 0; i < length; i++) {
        if (!is_digit(text[i])) {
            return OCI_PARSE_SYNTAX;
        }
        fits = fits && !__builtin_mul_overflow(value, UINT64_C(10), &value) &&
               !__builtin_add_overflow(value, (uint64_t)(text[i] - '0'), &value);
    }
    *out = value;
    return fits ? OCI_PARSE_OK : OCI_PARSE_RANGE;
}

static inline oci_parse_result parse_digits(const uint8_t *text, int64_t length, uint64_t *out)
{
    if (length <= 0) {
        return OCI_PARSE_SYNTAX;
    }
    if (length > 19) {
        return parse_long_digits(text, length, out);
    }
    uint64_t value = 0;
    for (int64_t i = 0; i < length; i++) {
        uint8_t digit = (uint8_t)(text[i] - '0');
        if (digit > 9) {
            return OCI_PARSE_SYNTAX;
        }
        value = value * 10 + digit;
    }
    *out = value;
    return OCI_PARSE_OK;
}

oci_parse_result oci_parse_int64(const uint8_t *text, int64_t length, int64_t *out)
{
    bool negative = length > 0 && text[0] == '-';
    bool sign = negative || (length > 0 && text[0] == '+');
    uint64_t value = 0;
    oci_parse_result result = parse_digits(text + sign, length - sign, &value);
    if (result != OCI_PARSE_OK) {
        return result;
    }
    if (value > (uint64_t)INT64_MAX + negative) {
        return OCI_PARSE_RANGE;
    }
    *out = (int64_t)(negative ? 0 - value : value);
    return OCI_PARSE_OK;
}

oci_parse_result oci_parse_int64_strict(const uint8_t *text, int64_t length, int64_t *out)
{
    oci_parse_result result = oci_parse_int64(text, length, out);
    if (result == OCI_PARSE_OK) {
        bool negative = text[0] == '-';
        bool zero_first = text[negative] == '0' && (negative || length > 1);
        if (zero_first || text[0] == '+') {
            return OCI_PARSE_SPELLING;
        }
    }
    return result;
}

oci_parse_result oci_parse_uint64(const uint8_t *text, int64_t length, uint64_t *out)
{
    if (length > 0 && text[0] == '-') {
        int64_t value = 0;
        oci_parse_result result = oci_parse_int64(text, length, &value);
        *out = 0;
        return result == OCI_PARSE_OK && value != 0 ? OCI_PARSE_RANGE : result;
    }
    bool sign = length > 0 && text[0] == '+';
    return parse_digits(text + sign, length - sign, out);
}

oci_parse_result oci_parse_bool_strict(const uint8_t *text, int64_t length, bool *out)
{
    *out = is_word(text, length, "true");
    return *out || is_word(text, length, "false") ? OCI_PARSE_OK : OCI_PARSE_SYNTAX;
}

oci_parse_result oci_parse_bool(const uint8_t *text, int64_t length, bool *out)
{
    static const char *const yes[] = {"true", "t", "1", "yes", "y"};
    static const char *const no[] = {"false", "f", "0", "no", "n"};
    for (int i = 0; i < 5; i++) {
        if (is_word(text, length, yes[i]) || is_word(text, length, no[i])) {
            *out = is_word(text, length, yes[i]);
            return OCI_PARSE_OK;
        }
    }
    return OCI_PARSE_SYNTAX;
}

/* ---- decimal texts --------------------------------------------------------------------------- */

/* Significant digits that are kept; a decimal256 has 76, and no float needs more than 767 to be
 * rounded rightly. */
enum { DIGITS_MAX = 800, EXPONENT_MAX = 1000000 };

/* +-0.d1d2d3... without the zeros at both ends: value = digits * 10^exponent, n 0 for zero. */
typedef struct {
    bool negative;
    bool cut; /* non-zero digits were dropped behind the last one kept */
    int32_t n;
    int64_t exponent;
    uint8_t digits[DIGITS_MAX]; /* 0..9 */
} number;

/* Adds one digit. Zeros are held back, as *zeros, until something other than zero follows. */
static void add_digit(number *x, uint8_t digit, int64_t *zeros)
{
    if (digit == 0) {
        *zeros += x->n > 0;
        return;
    }
    if (x->cut || x->n + *zeros >= DIGITS_MAX) {
        x->cut = true;
        *zeros += 1; /* counts as a place */
        return;
    }
    memset(x->digits + x->n, 0, (size_t)*zeros);
    x->n += (int32_t)*zeros;
    x->digits[x->n++] = digit;
    *zeros = 0;
}

/* e[+-]digits; the value is clamped to +-EXPONENT_MAX. */
static bool parse_exponent(const uint8_t *text, int64_t length, int64_t *out)
{
    bool negative = length > 0 && text[0] == '-';
    int64_t i = negative || (length > 0 && text[0] == '+');
    if (i == length) {
        return false;
    }
    int64_t value = 0;
    for (; i < length; i++) {
        if (!is_digit(text[i])) {
            return false;
        }
        value = oci_min64(value * 10 + (text[i] - '0'), EXPONENT_MAX);
    }
    *out = negative ? -value : value;
    return true;
}

static bool parse_number(const uint8_t *text, int64_t length, number *x)
{
    x->negative = length > 0 && text[0] == '-';
    x->cut = false;
    x->n = 0;
    int64_t i = x->negative || (length > 0 && text[0] == '+');
    int64_t n_seen = 0;
    int64_t n_behind_point = 0;
    int64_t zeros = 0;
    bool point = false;
    for (; i < length; i++) {
        if (is_digit(text[i])) {
            add_digit(x, (uint8_t)(text[i] - '0'), &zeros);
            n_seen++;
            n_behind_point += point;
        } else if (text[i] == '.' && !point) {
            point = true;
        } else {
            break;
        }
    }
    int64_t exponent = 0;
    if (n_seen == 0) {
        return false;
    }
    if (i < length) {
        if (to_lower(text[i]) != 'e' || !parse_exponent(text + i + 1, length - i - 1, &exponent)) {
            return false;
        }
    }
    x->exponent = zeros - n_behind_point + exponent;
    return true;
}

/* ---- floats ---------------------------------------------------------------------------------- */

static const double pow10_double[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                      1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                      1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* sign, mantissa and power of ten of a text of at most 19 digits and no exponent; false for all
 * others. */
static inline bool parse_short_number(const uint8_t *text, int64_t length, bool *negative,
                                      uint64_t *mantissa, int64_t *n_digits,
                                      int64_t *n_behind_point)
{
    *negative = length > 0 && text[0] == '-';
    int64_t i = *negative;
    if (length - i > 20 || length <= i) {
        return false;
    }
    uint64_t value = 0;
    int64_t point_at = -1;
    for (; i < length; i++) {
        uint8_t digit = (uint8_t)(text[i] - '0');
        if (digit <= 9) {
            value = value * 10 + digit;
        } else if (text[i] == '.' && point_at < 0) {
            point_at = i;
        } else {
            return false;
        }
    }
    *n_digits = length - *negative - (point_at >= 0);
    *n_behind_point = point_at >= 0 ? length - 1 - point_at : 0;
    *mantissa = value;
    return *n_digits >= 1 && *n_digits <= 19;
}

/* "nan", "inf", "infinity" with an optional sign. */
static bool parse_special(const uint8_t *text, int64_t length, double *out)
{
    bool negative = length > 0 && text[0] == '-';
    int64_t sign = negative || (length > 0 && text[0] == '+');
    text += sign;
    length -= sign;
    if (is_word(text, length, "nan")) {
        *out = (double)NAN;
        return true;
    }
    if (is_word(text, length, "inf") || is_word(text, length, "infinity")) {
        *out = negative ? -(double)INFINITY : (double)INFINITY;
        return true;
    }
    return false;
}

/* The number as a text for strtod: all digits, then the exponent. Digits that were cut off can only
 * matter when the rest is exactly half-way, so a 1 stands for them. */
static void number_text(const number *x, char out[DIGITS_MAX + 32])
{
    int64_t at = 0;
    if (x->negative) {
        out[at++] = '-';
    }
    for (int32_t i = 0; i < x->n; i++) {
        out[at++] = (char)('0' + x->digits[i]);
    }
    int64_t exponent = x->exponent;
    if (x->cut) {
        out[at++] = '1';
        exponent--;
    }
    out[at++] = 'e';
    exponent = oci_max64(oci_min64(exponent, 2 * EXPONENT_MAX), -2 * EXPONENT_MAX);
    if (exponent < 0) {
        out[at++] = '-';
        exponent = -exponent;
    }
    for (int64_t unit = EXPONENT_MAX; unit > 0; unit /= 10) {
        out[at++] = (char)('0' + exponent / unit % 10);
    }
    out[at] = '\0';
}

/* The general way; `x` gets the text in canonical form, *special_out set when it is no finite
 * number. */
static oci_parse_result parse_general(const uint8_t *text, int64_t length,
                                      char out[DIGITS_MAX + 32], bool *is_special, double *special)
{
    *is_special = parse_special(text, length, special);
    if (*is_special) {
        return OCI_PARSE_OK;
    }
    number x;
    if (!parse_number(text, length, &x)) {
        return OCI_PARSE_SYNTAX;
    }
    if (x.n == 0) {
        *is_special = true;
        *special = x.negative ? -0.0 : 0.0;
        return OCI_PARSE_OK;
    }
    number_text(&x, out);
    return OCI_PARSE_OK;
}

oci_parse_result oci_parse_float64(const uint8_t *text, int64_t length, double *out)
{
    bool negative;
    uint64_t mantissa;
    int64_t n_digits;
    int64_t n_behind_point;
    /* Both sides of the division are exact doubles, so its rounding is the only one. */
    if (parse_short_number(text, length, &negative, &mantissa, &n_digits, &n_behind_point) &&
        mantissa <= UINT64_C(1) << 53) {
        double value = (double)mantissa / pow10_double[n_behind_point];
        *out = negative ? -value : value;
        return OCI_PARSE_OK;
    }
    char canonical[DIGITS_MAX + 32];
    bool is_special;
    oci_parse_result result = parse_general(text, length, canonical, &is_special, out);
    if (result != OCI_PARSE_OK || is_special) {
        return result;
    }
    *out = strtod(canonical, NULL);
    return isinf(*out) ? OCI_PARSE_RANGE : OCI_PARSE_OK;
}

oci_parse_result oci_parse_float32(const uint8_t *text, int64_t length, float *out)
{
    bool negative;
    uint64_t mantissa;
    int64_t n_digits;
    int64_t n_behind_point;
    /* As above: 10^10 is the largest power of ten that is an exact float. */
    if (parse_short_number(text, length, &negative, &mantissa, &n_digits, &n_behind_point) &&
        mantissa <= UINT64_C(1) << 24 && n_behind_point <= 10) {
        float value = (float)mantissa / (float)pow10_double[n_behind_point];
        *out = negative ? -value : value;
        return OCI_PARSE_OK;
    }
    char canonical[DIGITS_MAX + 32];
    bool is_special;
    double special;
    oci_parse_result result = parse_general(text, length, canonical, &is_special, &special);
    if (result != OCI_PARSE_OK) {
        return result;
    }
    if (is_special) {
        *out = (float)special;
        return OCI_PARSE_OK;
    }
    *out = strtof(canonical, NULL);
    return isinf(*out) ? OCI_PARSE_RANGE : OCI_PARSE_OK;
}

oci_parse_result oci_parse_float16(const uint8_t *text, int64_t length, uint16_t *out)
{
    double value = 0;
    oci_parse_result result = oci_parse_float64(text, length, &value);
    if (result != OCI_PARSE_OK) {
        return result;
    }
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double magnitude = fabs(value);
    if (isnan(value)) {
        *out = 0x7E00;
    } else if (isinf(value)) {
        *out = (uint16_t)(sign | 0x7C00);
    } else if (magnitude >= 65520.0) { /* rounds past the largest half, 65504 */
        return OCI_PARSE_RANGE;
    } else {
        /* In units of the last place of its power of two; below 2^-14 they stay at 2^-24. Half-way
         * goes to even. */
        int exponent;
        frexp(magnitude, &exponent);
        int shift = magnitude == 0 || exponent - 11 < -24 ? -24 : exponent - 11;
        double exact = ldexp(magnitude, -shift);
        uint32_t units = (uint32_t)exact;
        double rest = exact - units;
        units += rest > 0.5 || (rest == 0.5 && (units & 1) != 0);
        *out = (uint16_t)(sign | (((uint32_t)(shift + 24) << 10) + units));
    }
    return OCI_PARSE_OK;
}

/* ---- decimals -------------------------------------------------------------------------------- */

static void store_decimal(uint8_t *out, int32_t width, bool negative, const uint64_t magnitude[4])
{
    uint64_t carry = negative;
    uint64_t flip = negative ? ~UINT64_C(0) : 0;
    for (int32_t i = 0; i < 4; i++) {
        uint64_t word = (magnitude[i] ^ flip) + carry;
        carry = carry && word == 0;
        if (width == 4) {
            oci_store_le32(out, (uint32_t)word);
            return;
        }
        oci_store_le64(out + 8 * i, word);
        if (8 * (i + 1) >= width) {
            return;
        }
    }
}

/* words = words * 10 + digit */
static void multiply_add(uint64_t words[4], uint8_t digit)
{
    u128 carry = digit;
    for (int i = 0; i < 4; i++) {
        carry += (u128)words[i] * 10;
        words[i] = (uint64_t)carry;
        carry >>= 64;
    }
}

static oci_parse_result parse_general_decimal(const uint8_t *text, int64_t length, int32_t width,
                                              int32_t precision, int32_t scale, uint8_t *out)
{
    number x;
    if (!parse_number(text, length, &x)) {
        return OCI_PARSE_SYNTAX;
    }
    int64_t n_zeros = x.n == 0 ? 0 : x.exponent + scale;
    if (x.cut || n_zeros < 0) {
        /* Too long in front of the point, or too long behind it. */
        return x.n + x.exponent > precision - scale ? OCI_PARSE_RANGE : OCI_PARSE_DIGITS;
    }
    if (x.n + n_zeros > precision) {
        return OCI_PARSE_RANGE;
    }
    uint64_t words[4] = {0};
    for (int32_t i = 0; i < x.n; i++) {
        multiply_add(words, x.digits[i]);
    }
    for (int64_t i = 0; i < n_zeros; i++) {
        multiply_add(words, 0);
    }
    store_decimal(out, width, x.negative, words);
    return OCI_PARSE_OK;
}

oci_parse_result oci_parse_decimal(const uint8_t *text, int64_t length, int32_t width,
                                   int32_t precision, int32_t scale, uint8_t *out)
{
    bool negative;
    uint64_t mantissa;
    int64_t n_digits;
    int64_t n_behind_point;
    if (!parse_short_number(text, length, &negative, &mantissa, &n_digits, &n_behind_point) ||
        scale < n_behind_point || n_digits + scale - n_behind_point > 18) {
        return parse_general_decimal(text, length, width, precision, scale, out);
    }
    int64_t value = (int64_t)mantissa * pow10_int64[scale - n_behind_point];
    if (precision < 18 && value >= pow10_int64[precision]) {
        return OCI_PARSE_RANGE;
    }
    value = negative ? -value : value;
    if (width == 4) {
        oci_store_le32(out, (uint32_t)value);
        return OCI_PARSE_OK;
    }
    oci_store_le64(out, (uint64_t)value);
    for (int32_t at = 8; at < width; at += 8) {
        oci_store_le64(out + at, value < 0 ? ~UINT64_C(0) : 0);
    }
    return OCI_PARSE_OK;
}

/* ---- dates and times ------------------------------------------------------------------------- */

typedef struct {
    const uint8_t *at;
    const uint8_t *end;
} cursor;

static inline bool take_char(cursor *c, uint8_t wanted)
{
    if (c->at < c->end && *c->at == wanted) {
        c->at++;
        return true;
    }
    return false;
}

static inline bool take_two_digits(cursor *c, int32_t *out)
{
    if (c->end - c->at < 2 || !is_digit(c->at[0]) || !is_digit(c->at[1])) {
        return false;
    }
    *out = (c->at[0] - '0') * 10 + (c->at[1] - '0');
    c->at += 2;
    return true;
}

/* The year: four digits, or a sign and four to twelve. */
static bool take_year(cursor *c, int64_t *out)
{
    bool negative = take_char(c, '-');
    bool sign = negative || take_char(c, '+');
    const uint8_t *first = c->at;
    int64_t year = 0;
    while (c->at < c->end && is_digit(*c->at) && c->at - first < 12) {
        year = year * 10 + (*c->at++ - '0');
    }
    *out = negative ? -year : year;
    int64_t n_digits = c->at - first;
    return n_digits == 4 || (sign && n_digits > 4);
}

static oci_parse_result take_date(cursor *c, int64_t *days)
{
    oci_date date;
    if (!take_year(c, &date.year) || !take_char(c, '-') || !take_two_digits(c, &date.month) ||
        !take_char(c, '-') || !take_two_digits(c, &date.day)) {
        return OCI_PARSE_SYNTAX;
    }
    if (date.month < 1 || date.month > 12 || date.day < 1 ||
        date.day > oci_days_of_month(date.year, date.month)) {
        return OCI_PARSE_RANGE;
    }
    *days = oci_days_of_date(date);
    return OCI_PARSE_OK;
}

/* yyyy-mm-dd at text[0..10): the usual date. False when it is not one. */
static inline bool parse_usual_date(const uint8_t *text, int64_t *days)
{
    const uint8_t *t = text;
    uint8_t d[8] = {(uint8_t)(t[0] - '0'), (uint8_t)(t[1] - '0'), (uint8_t)(t[2] - '0'),
                    (uint8_t)(t[3] - '0'), (uint8_t)(t[5] - '0'), (uint8_t)(t[6] - '0'),
                    (uint8_t)(t[8] - '0'), (uint8_t)(t[9] - '0')};
    bool digits = d[0] <= 9 && d[1] <= 9 && d[2] <= 9 && d[3] <= 9 && d[4] <= 9 && d[5] <= 9 &&
                  d[6] <= 9 && d[7] <= 9;
    if (!digits || t[4] != '-' || t[7] != '-') {
        return false;
    }
    oci_date date = {.year = d[0] * 1000 + d[1] * 100 + d[2] * 10 + d[3],
                     .month = d[4] * 10 + d[5],
                     .day = d[6] * 10 + d[7]};
    if (date.month < 1 || date.month > 12 || date.day < 1 ||
        (date.day > 28 && date.day > oci_days_of_month(date.year, date.month))) {
        return false;
    }
    *days = oci_days_of_date(date);
    return true;
}

oci_parse_result oci_parse_date(const uint8_t *text, int64_t length, int64_t *days)
{
    if (length == 10 && parse_usual_date(text, days)) {
        return OCI_PARSE_OK;
    }
    cursor c = {text, text + length};
    oci_parse_result result = take_date(&c, days);
    return result == OCI_PARSE_OK && c.at != c.end ? OCI_PARSE_SYNTAX : result;
}

static const int64_t units_per_second[] = {1, 1000, 1000000, 1000000000};

/* hh:mm[:ss[.fraction]]: whole seconds and the rest in units. */
static oci_parse_result take_time(cursor *c, oci_time_unit unit, int64_t *seconds, int64_t *rest)
{
    int32_t hour;
    int32_t minute;
    int32_t second = 0;
    *rest = 0;
    if (!take_two_digits(c, &hour) || !take_char(c, ':') || !take_two_digits(c, &minute)) {
        return OCI_PARSE_SYNTAX;
    }
    bool rest_is_zero = true;
    if (take_char(c, ':')) {
        if (!take_two_digits(c, &second)) {
            return OCI_PARSE_SYNTAX;
        }
        if (take_char(c, '.')) {
            const uint8_t *first = c->at;
            int64_t place = units_per_second[unit];
            for (; c->at < c->end && is_digit(*c->at); c->at++) {
                place /= 10;
                *rest += place * (*c->at - '0');
                rest_is_zero = rest_is_zero && (place > 0 || *c->at == '0');
            }
            if (c->at == first) {
                return OCI_PARSE_SYNTAX;
            }
        }
    }
    *seconds = hour * 3600 + minute * 60 + second;
    if (minute > 59 || second > 59 || *seconds > OCI_SECONDS_PER_DAY ||
        (*seconds == OCI_SECONDS_PER_DAY && (*rest != 0 || !rest_is_zero))) {
        return OCI_PARSE_RANGE;
    }
    return rest_is_zero ? OCI_PARSE_OK : OCI_PARSE_DIGITS;
}

oci_parse_result oci_parse_time(const uint8_t *text, int64_t length, oci_time_unit unit,
                                int64_t *out)
{
    cursor c = {text, text + length};
    int64_t seconds;
    int64_t rest;
    oci_parse_result result = take_time(&c, unit, &seconds, &rest);
    if (result != OCI_PARSE_OK) {
        return result;
    }
    if (c.at != c.end) {
        return OCI_PARSE_SYNTAX;
    }
    *out = seconds * units_per_second[unit] + rest;
    return OCI_PARSE_OK;
}

/* Z, or +hh, +hhmm, +hh:mm: seconds east of Greenwich. */
static bool take_offset(cursor *c, int64_t *seconds)
{
    if (take_char(c, 'Z') || take_char(c, 'z')) {
        *seconds = 0;
        return true;
    }
    bool negative = take_char(c, '-');
    int32_t hours;
    int32_t minutes = 0;
    if ((!negative && !take_char(c, '+')) || !take_two_digits(c, &hours)) {
        return false;
    }
    bool colon = take_char(c, ':');
    if ((colon || c->at < c->end) && !take_two_digits(c, &minutes)) {
        return false;
    }
    *seconds = (hours * 3600 + minutes * 60) * (negative ? -1 : 1);
    return hours <= 23 && minutes <= 59;
}

oci_zone oci_zone_of(const char *timezone)
{
    if (timezone == NULL) {
        return (oci_zone){OCI_ZONE_NONE, 0};
    }
    int64_t length = (int64_t)strlen(timezone);
    static const char *const utc_names[] = {"utc", "etc/utc", "gmt", "etc/gmt", "z", ""};
    for (size_t i = 0; i < sizeof utc_names / sizeof utc_names[0]; i++) {
        if (is_word((const uint8_t *)timezone, length, utc_names[i])) {
            return (oci_zone){OCI_ZONE_FIXED, 0};
        }
    }
    cursor c = {(const uint8_t *)timezone, (const uint8_t *)timezone + length};
    int64_t seconds;
    if (take_offset(&c, &seconds) && c.at == c.end) {
        return (oci_zone){OCI_ZONE_FIXED, (int32_t)seconds};
    }
    return (oci_zone){OCI_ZONE_NAMED, 0};
}

/* What comes after the date: time and offset, both optional. *seconds counts from the start of the
 * day, in UTC when the text or the column says where it is. */
static oci_parse_result take_rest_of_timestamp(cursor *c, oci_time_unit unit, oci_zone zone,
                                               int64_t *seconds, int64_t *rest, bool *has_zone)
{
    *seconds = 0;
    *rest = 0;
    int64_t offset = zone.offset_seconds;
    *has_zone = false;
    oci_parse_result result = OCI_PARSE_OK;
    if (take_char(c, 'T') || take_char(c, ' ') || take_char(c, 't')) {
        result = take_time(c, unit, seconds, rest);
        if (result == OCI_PARSE_SYNTAX) {
            return result;
        }
        take_char(c, ' '); /* "12:00:00 +02:00" */
        if (c->at < c->end) {
            *has_zone = true;
            if (!take_offset(c, &offset)) {
                return OCI_PARSE_SYNTAX;
            }
        }
    }
    if (c->at != c->end) {
        return OCI_PARSE_SYNTAX;
    }
    if (result == OCI_PARSE_OK && *has_zone && zone.kind == OCI_ZONE_NONE) {
        return OCI_PARSE_ZONE;
    }
    if (result == OCI_PARSE_OK && !*has_zone && zone.kind == OCI_ZONE_NAMED) {
        return OCI_PARSE_NO_ZONE;
    }
    *seconds -= offset;
    return result;
}

oci_parse_result oci_parse_timestamp(const uint8_t *text, int64_t length, oci_time_unit unit,
                                     oci_zone zone, int64_t *out, bool *has_zone)
{
    cursor c = {text, text + length};
    int64_t days;
    int64_t seconds;
    int64_t rest;
    bool zone_given = false;
    if (length >= 10 && parse_usual_date(text, &days)) {
        c.at += 10;
    } else {
        oci_parse_result result = take_date(&c, &days);
        if (result != OCI_PARSE_OK) {
            return result;
        }
    }
    oci_parse_result result = take_rest_of_timestamp(&c, unit, zone, &seconds, &rest, &zone_given);
    if (has_zone != NULL) {
        *has_zone = zone_given;
    }
    if (result != OCI_PARSE_OK) {
        return result;
    }
    i128 value = ((i128)days * OCI_SECONDS_PER_DAY + seconds) * units_per_second[unit] + rest;
    *out = (int64_t)value;
    return value == *out ? OCI_PARSE_OK : OCI_PARSE_RANGE;
}
