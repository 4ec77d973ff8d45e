/* Numbers of any type in one form, for casts and for arithmetic on decimals. */
#ifndef OUTCORE_EXPR_NUMBER_H
#define OUTCORE_EXPR_NUMBER_H

#include "arrow/schema.h"

__extension__ typedef __int128 oci_int128;
__extension__ typedef unsigned __int128 oci_uint128;

/* `whole` * 10^-scale, or a double. */
typedef struct oci_number {
    oci_int128 whole;
    int32_t scale;
    bool is_real;
    double real;
} oci_number;

/* Value `at` of a number or bool column; false for a decimal256 beyond 128 bits. */
bool oci_number_load(const oci_field *field, const uint8_t *values, int64_t at, oci_number *out);
/* Stores it as `field`, rounding half away from zero to a decimal's scale, half to even from double to integer.
 * false: it does not fit. */
bool oci_number_store(const oci_field *field, const oci_number *number, uint8_t *values,
                      int64_t at);
/* Digits behind the point of a number as text, at most 38. */
int32_t oci_number_text_scale(const uint8_t *text, int64_t length);

/* 10^digits, 0..38. */
oci_int128 oci_power_of_ten(int32_t digits);
/* value / 10^digits, rounded half away from zero. */
oci_int128 oci_round_digits(oci_int128 value, int32_t digits);
/* Whether a magnitude has at most so many digits. */
static inline bool oci_fits_digits(oci_int128 value, int32_t digits)
{
    oci_int128 limit = oci_power_of_ten(digits);
    return value < limit && value > -limit;
}
static inline oci_int128 oci_load_int128(const uint8_t *from)
{
    uint64_t parts[2];
    __builtin_memcpy(parts, from, sizeof parts);
    return (oci_int128)((oci_uint128)parts[1] << 64 | parts[0]);
}
static inline void oci_store_int128(uint8_t *to, oci_int128 value)
{
    uint64_t parts[2] = {(uint64_t)value, (uint64_t)((oci_uint128)value >> 64)};
    __builtin_memcpy(to, parts, sizeof parts);
}

#endif /* OUTCORE_EXPR_NUMBER_H */
