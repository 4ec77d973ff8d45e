/* See number.h. */
#include "expr/number.h"

#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "expr/function.h"

oci_int128 oci_power_of_ten(int32_t digits)
{
    oci_int128 power = 1;
    for (int32_t i = 0; i < digits; i++) {
        power *= 10;
    }
    return power;
}

oci_int128 oci_round_digits(oci_int128 value, int32_t digits)
{
    if (digits > 38) {
        return 0;
    }
    oci_int128 divisor = oci_power_of_ten(digits);
    oci_int128 quotient = value / divisor;
    oci_int128 rest = value % divisor;
    rest = rest < 0 ? -rest : rest;
    if (rest >= divisor - rest) {
        quotient += value < 0 ? -1 : 1;
    }
    return digits == 0 ? value : quotient;
}

int32_t oci_number_text_scale(const uint8_t *text, int64_t length)
{
    int32_t scale = 0;
    bool is_behind = false;
    for (int64_t i = 0; i < length && scale < 38; i++) {
        if (text[i] == '.') {
            is_behind = true;
        } else if (text[i] == 'e' || text[i] == 'E') {
            break;
        } else {
            scale += is_behind;
        }
    }
    return scale;
}

static double half_to_double(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    double magnitude = bits & 0x3FF;
    if (exponent == 31) {
        magnitude = magnitude == 0 ? (double)INFINITY : (double)NAN;
    } else {
        magnitude = exponent == 0 ? ldexp(magnitude, -24) : ldexp(magnitude + 1024, exponent - 25);
    }
    return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

/* Rounded to the nearest, ties to even. */
static uint16_t half_of_double(double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double magnitude = fabs(value);
    if (isnan(value)) {
        return 0x7E00;
    }
    if (magnitude >= 65520) {
        return sign | 0x7C00;
    }
    int exponent;
    (void)frexp(magnitude, &exponent);
    exponent = magnitude == 0 || exponent < -13 ? -13 : exponent;
    double scaled = nearbyint(ldexp(magnitude, 11 - exponent)); /* < 2048, or 2048 after rounding */
    int32_t bits = (int32_t)scaled;
    bits = bits >= 1024 ? bits - 1024 + ((exponent + 14) << 10) : bits;
    return (uint16_t)(sign | bits);
}

static bool load_decimal256(const uint8_t *from, oci_int128 *out)
{
    uint64_t sign = (oci_load_le64(from + 8) >> 63) != 0 ? UINT64_MAX : 0;
    *out = oci_load_int128(from);
    return oci_load_le64(from + 16) == sign && oci_load_le64(from + 24) == sign;
}

bool oci_number_load(const oci_field *field, const uint8_t *values, int64_t at, oci_number *out)
{
    float narrow;
    *out = (oci_number){.scale = field->scale};
    switch (field->type) {
    case OCI_TYPE_BOOL: out->whole = oci_bit_get(values, at); return true;
    case OCI_TYPE_INT8: out->whole = (int64_t)(int8_t)values[at]; return true;
    case OCI_TYPE_UINT8: out->whole = values[at]; return true;
    case OCI_TYPE_INT16: out->whole = (int16_t)oci_load_le16(values + at * 2); return true;
    case OCI_TYPE_UINT16: out->whole = oci_load_le16(values + at * 2); return true;
    case OCI_TYPE_INT32:
    case OCI_TYPE_DECIMAL32: out->whole = (int32_t)oci_load_le32(values + at * 4); return true;
    case OCI_TYPE_UINT32: out->whole = oci_load_le32(values + at * 4); return true;
    case OCI_TYPE_INT64:
    case OCI_TYPE_DECIMAL64: out->whole = (int64_t)oci_load_le64(values + at * 8); return true;
    case OCI_TYPE_UINT64: out->whole = (oci_int128)oci_load_le64(values + at * 8); return true;
    case OCI_TYPE_DECIMAL128: out->whole = oci_load_int128(values + at * 16); return true;
    case OCI_TYPE_DECIMAL256: return load_decimal256(values + at * 32, &out->whole);
    case OCI_TYPE_FLOAT16: out->real = half_to_double(oci_load_le16(values + at * 2)); break;
    case OCI_TYPE_FLOAT32:
        memcpy(&narrow, values + at * 4, sizeof narrow);
        out->real = (double)narrow;
        break;
    default: memcpy(&out->real, values + at * 8, sizeof out->real); break;
    }
    out->is_real = true;
    return true;
}

static double as_double(const oci_number *number)
{
    if (number->is_real) {
        return number->real;
    }
    double value = (double)number->whole;
    return number->scale <= 22 ? value / pow(10, number->scale)
                               : value / 1e22 / pow(10, number->scale - 22);
}

/* As a whole number of units of 10^-scale. */
static bool as_whole(const oci_number *number, int32_t scale, oci_int128 *out)
{
    if (number->is_real) {
        double scaled = number->real * pow(10, scale);
        scaled = scale == 0 ? nearbyint(scaled) : round(scaled);
        if (!(fabs(scaled) < 1.7e38)) {
            return false;
        }
        *out = (oci_int128)scaled;
        return true;
    }
    if (scale >= number->scale) {
        oci_int128 factor =
            oci_power_of_ten(scale - number->scale <= 38 ? scale - number->scale : 38);
        return !__builtin_mul_overflow(number->whole, factor, out);
    }
    *out = oci_round_digits(number->whole, number->scale - scale);
    return true;
}

static bool store_integer(const oci_field *field, oci_int128 value, uint8_t *to)
{
    int64_t low = (int64_t)value;
    bool is_signed = field->type < OCI_TYPE_UINT8;
    int32_t bits = field->byte_width * 8;
    oci_int128 limit = (oci_int128)1 << (is_signed ? bits - 1 : bits);
    for (int32_t i = 0; i < field->byte_width; i++) {
        to[i] = (uint8_t)((uint64_t)low >> (8 * i));
    }
    return value < limit && value >= (is_signed ? -limit : 0);
}

static bool store_decimal(const oci_field *field, oci_int128 value, uint8_t *to)
{
    if (field->precision <= 38 && !oci_fits_digits(value, field->precision)) {
        return false;
    }
    uint8_t bytes[32];
    memset(bytes, value < 0 ? 0xFF : 0, sizeof bytes);
    oci_store_int128(bytes, value);
    memcpy(to, bytes, (size_t)field->byte_width);
    return true;
}

bool oci_number_store(const oci_field *field, const oci_number *number, uint8_t *values, int64_t at)
{
    uint8_t *to = values + at * field->byte_width;
    oci_int128 whole;
    double real;
    float narrow;
    switch (field->type) {
    case OCI_TYPE_BOOL:
        oci_bit_put(values, at, number->is_real ? number->real != 0 : number->whole != 0);
        return true;
    case OCI_TYPE_FLOAT64:
        real = as_double(number);
        memcpy(to, &real, sizeof real);
        return true;
    case OCI_TYPE_FLOAT32:
        real = as_double(number);
        narrow = (float)real;
        memcpy(to, &narrow, sizeof narrow);
        return !isinf(narrow) || isinf(real);
    case OCI_TYPE_FLOAT16:
        real = as_double(number);
        oci_store_le16(to, half_of_double(real));
        return true;
    default: break;
    }
    if (oci_type_is_decimal(field->type)) {
        return as_whole(number, field->scale, &whole) && store_decimal(field, whole, to);
    }
    return as_whole(number, 0, &whole) && store_integer(field, whole, to);
}
