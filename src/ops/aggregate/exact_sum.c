/* See exact_sum.h.
 *
 * A double m * 2^(e - 1074), m < 2^53, e >= 0, touches digits e / 32 .. (e + 52) / 32: at most three. Negative sums
 * are normalised to digits in [0, 2^32) with a negative highest one, like two's complement. */
#include "ops/aggregate/exact_sum.h"

#include <math.h>
#include <string.h>

#include "base/bits.h"

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

#define DIGIT_MASK    ((int64_t)UINT32_MAX)
#define SPARE_DIGITS  3 /* above the highest digit: 60 bits of additions, and the sign */
#define MANTISSA_BITS 52
#define UNIT_EXPONENT (-1074)

/* value = sign * mantissa * 2^shift units; false for zero and what is not finite. */
static inline bool split(double value, uint64_t *mantissa, int32_t *shift, bool *negative)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int32_t exponent = (int32_t)(bits >> MANTISSA_BITS & 0x7FF);
    *negative = (bits >> 63) != 0;
    *mantissa = bits & ((UINT64_C(1) << MANTISSA_BITS) - 1);
    if (exponent == 0x7FF) {
        return false;
    }
    *mantissa |= exponent > 0 ? UINT64_C(1) << MANTISSA_BITS : 0;
    *shift = exponent > 0 ? exponent - 1 : 0;
    return *mantissa != 0;
}

oci_exact_window oci_exact_union(oci_exact_window a, oci_exact_window b)
{
    if (a.n == 0 || b.n == 0) {
        return a.n == 0 ? b : a;
    }
    int32_t first = a.first < b.first ? a.first : b.first;
    int32_t end = a.first + a.n > b.first + b.n ? a.first + a.n : b.first + b.n;
    return (oci_exact_window){first, end - first};
}

oci_exact_window oci_exact_widen(oci_exact_window window, double value)
{
    uint64_t mantissa;
    int32_t shift;
    bool negative;
    if (!split(value, &mantissa, &shift, &negative)) {
        return window;
    }
    int32_t first = shift / OCI_EXACT_DIGIT_BITS;
    int32_t last = (shift + MANTISSA_BITS) / OCI_EXACT_DIGIT_BITS;
    return oci_exact_union(window, (oci_exact_window){first, last - first + 1 + SPARE_DIGITS});
}

void oci_exact_add(oci_exact_window window, int64_t *digits, double value)
{
    uint64_t mantissa;
    int32_t shift;
    bool negative;
    if (!split(value, &mantissa, &shift, &negative)) {
        return;
    }
    int32_t first = shift / OCI_EXACT_DIGIT_BITS - window.first;
    uint128 wide = (uint128)mantissa << (shift % OCI_EXACT_DIGIT_BITS);
    int64_t low = (int64_t)((uint64_t)wide & UINT32_MAX);
    int64_t middle = (int64_t)((uint64_t)wide >> 32);
    int64_t high = (int64_t)(uint64_t)(wide >> 64);
    if (negative) {
        low = -low;
        middle = -middle;
        high = -high;
    }
    digits[first] += low;
    digits[first + 1] += middle;
    digits[first + 2] += high;
}

void oci_exact_normalise(oci_exact_window window, int64_t *digits)
{
    int64_t carry = 0;
    for (int32_t i = 0; i < window.n - 1; i++) {
        int64_t digit = digits[i] + carry;
        digits[i] = digit & DIGIT_MASK;
        carry = digit >> OCI_EXACT_DIGIT_BITS; /* rounds down */
    }
    if (window.n > 0) {
        digits[window.n - 1] += carry;
    }
}

void oci_exact_move(oci_exact_window from, const int64_t *digits, oci_exact_window to,
                    int64_t *to_digits)
{
    if (from.n > 0) {
        memcpy(to_digits + (from.first - to.first), digits, (size_t)from.n * sizeof *digits);
    }
}

/* Digits of the magnitude of a normalised sum: all in [0, 2^32) but the highest, which has up to 62 bits. */
static bool magnitude_of(oci_exact_window window, const int64_t *digits, int64_t *magnitude)
{
    bool negative = window.n > 0 && digits[window.n - 1] < 0;
    int64_t carry = 0;
    for (int32_t i = 0; i < window.n; i++) {
        int64_t digit = (negative ? -digits[i] : digits[i]) + carry;
        bool is_last = i == window.n - 1;
        magnitude[i] = is_last ? digit : digit & DIGIT_MASK;
        carry = is_last ? 0 : digit >> OCI_EXACT_DIGIT_BITS;
    }
    return negative;
}

/* Bit `at` of digits of 32 bits. */
static uint64_t bit_at(const int64_t *digits, int32_t at)
{
    return (uint64_t)digits[at / OCI_EXACT_DIGIT_BITS] >> (at % OCI_EXACT_DIGIT_BITS) & 1;
}

double oci_exact_round(oci_exact_window window, const int64_t *digits)
{
    int64_t m[OCI_EXACT_DIGITS_MAX + 2] = {0};
    bool negative = magnitude_of(window, digits, m);
    int32_t n = window.n;
    if (n > 0) { /* the highest digit may have more than 32 bits */
        m[n] = m[n - 1] >> OCI_EXACT_DIGIT_BITS;
        m[n - 1] &= DIGIT_MASK;
        n++;
    }
    while (n > 0 && m[n - 1] == 0) {
        n--;
    }
    if (n == 0) {
        return 0;
    }
    int32_t bits = (n - 1) * OCI_EXACT_DIGIT_BITS + 64 - __builtin_clzll((uint64_t)m[n - 1]);
    int32_t drop = bits > MANTISSA_BITS + 1 ? bits - (MANTISSA_BITS + 1) : 0;
    /* Below the smallest normal number nothing is dropped: a unit is the last place of these. */
    uint64_t mantissa = 0;
    for (int32_t i = bits - 1; i >= drop; i--) {
        mantissa = mantissa << 1 | bit_at(m, i);
    }
    if (drop > 0 && bit_at(m, drop - 1) != 0) {
        bool is_tie = true;
        for (int32_t i = 0; i < drop - 1 && is_tie; i++) {
            is_tie = bit_at(m, i) == 0;
        }
        mantissa += !is_tie || (mantissa & 1) != 0;
    }
    int32_t exponent = drop + window.first * OCI_EXACT_DIGIT_BITS + UNIT_EXPONENT;
    double value = ldexp((double)mantissa, exponent);
    return negative ? -value : value;
}

oci_exact_real oci_exact_value(oci_exact_window window, const int64_t *digits)
{
    oci_exact_real value = 0;
    oci_exact_real unit = 1;
    for (int32_t i = 0; i < window.first * OCI_EXACT_DIGIT_BITS + UNIT_EXPONENT; i++) {
        unit *= 2;
    }
    for (int32_t i = 0; i > window.first * OCI_EXACT_DIGIT_BITS + UNIT_EXPONENT; i--) {
        unit /= 2;
    }
    for (int32_t i = window.n - 1; i >= 0; i--) {
        value = value * 4294967296.0 + (oci_exact_real)digits[i];
    }
    return value * unit;
}

/* ---- as bytes: first digit, digits of 32 bits, the highest with the sign ----------------------- */

int64_t oci_exact_store(oci_exact_window window, const int64_t *digits, uint8_t *to)
{
    int32_t low = 0;
    while (low < window.n && digits[low] == 0) {
        low++;
    }
    if (low == window.n) {
        return 0;
    }
    /* Digits in two's complement: signs of what is cut off at the top are all alike. */
    int32_t high = window.n - 1;
    int64_t top = digits[high];
    int64_t sign = top < 0 ? -1 : 0;
    while (high > low && top == sign &&
           ((int64_t)(int32_t)(uint32_t)digits[high - 1] < 0) == (sign < 0)) {
        high--;
        top = (int64_t)(int32_t)(uint32_t)digits[high];
    }
    to[0] = (uint8_t)(window.first + low);
    int64_t size = 1;
    for (int32_t i = low; i <= high; i++, size += 4) {
        oci_store_le32(to + size, (uint32_t)digits[i]);
    }
    if (top != (int64_t)(int32_t)(uint32_t)top) {
        oci_store_le32(to + size, (uint32_t)(top >> OCI_EXACT_DIGIT_BITS));
        size += 4;
    }
    return size;
}

bool oci_exact_stored_window(const uint8_t *bytes, int64_t size, oci_exact_window *window)
{
    *window = (oci_exact_window){0};
    if (size == 0) {
        return true;
    }
    int64_t n = (size - 1) / 4;
    if (n == 0 || size != 1 + 4 * n || bytes[0] + n > OCI_EXACT_DIGITS_MAX - 2) {
        return false;
    }
    *window = (oci_exact_window){bytes[0], (int32_t)n};
    return true;
}

void oci_exact_add_stored(oci_exact_window window, int64_t *digits, const uint8_t *bytes,
                          int64_t size)
{
    oci_exact_window stored;
    if (!oci_exact_stored_window(bytes, size, &stored)) {
        return;
    }
    for (int32_t i = 0; i < stored.n; i++) {
        uint32_t digit = oci_load_le32(bytes + 1 + 4 * i);
        int64_t value = i == stored.n - 1 ? (int64_t)(int32_t)digit : (int64_t)digit;
        digits[stored.first - window.first + i] += value;
    }
}
