/* See value_convert.h. */
#include "formats/parquet/value_convert.h"

#include <stdbool.h>
#include <string.h>

#include "base/bits.h"

#define JULIAN_DAY_OF_1970 2440588
#define NANOS_OF_A_DAY     INT64_C(86400000000000)

void oci_parquet_narrow(const uint8_t *from, int64_t n, int32_t width, uint8_t *to)
{
    if (width == 1) {
        for (int64_t i = 0; i < n; i++) {
            to[i] = from[4 * i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        memcpy(to + 2 * i, from + 4 * i, 2);
    }
}

void oci_parquet_widen(const uint8_t *from, int32_t from_width, int64_t n, int32_t width,
                       uint8_t *to)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t value = from_width == 4 ? (int32_t)oci_load_le32(from + 4 * i)
                                        : (int64_t)oci_load_le64(from + 8 * i);
        uint64_t sign = value < 0 ? UINT64_MAX : 0;
        oci_store_le64(to + width * i, (uint64_t)value);
        for (int32_t at = 8; at < width; at += 8) {
            oci_store_le64(to + width * i + at, sign);
        }
    }
}

bool oci_parquet_reverse(const uint8_t *from, int64_t length, int32_t width, uint8_t *to)
{
    uint8_t sign = length > 0 && (from[0] & 0x80) != 0 ? 0xFF : 0;
    while (length > width && from[0] == sign) {
        from++;
        length--;
    }
    if (length > width || (length == width && length > 0 && ((from[0] ^ sign) & 0x80) != 0)) {
        return false;
    }
    for (int64_t i = 0; i < length; i++) {
        to[i] = from[length - 1 - i];
    }
    memset(to + length, sign, (size_t)(width - length));
    return true;
}

/* Up to 16 bytes by words: the low one is the last 8 bytes, the high one what is in front of them. */
static void reverse_words(const uint8_t *from, int64_t n, int32_t length, uint8_t *to)
{
    int low_shift = length < 8 ? 64 - 8 * length : 0;
    int high_shift = length < 16 ? 64 - 8 * (length - 8) : 0;
    for (int64_t i = 0; i < n; i++, from += length, to += 16) {
        const uint8_t *low_from = length < 8 ? from : from + length - 8;
        int64_t low = (int64_t)oci_load_be64(low_from) >> low_shift;
        int64_t high = length > 8 ? (int64_t)oci_load_be64(from) >> high_shift : low >> 63;
        oci_store_le64(to, (uint64_t)low);
        oci_store_le64(to + 8, (uint64_t)high);
    }
}

bool oci_parquet_reverse_all(const uint8_t *from, int64_t n, int32_t length, int32_t width,
                             uint8_t *to)
{
    if (width == 16 && length > 0 && length <= 16) {
        reverse_words(from, n, length, to);
        return true;
    }
    for (int64_t i = 0; i < n; i++) {
        if (!oci_parquet_reverse(from + i * length, length, width, to + i * width)) {
            return false;
        }
    }
    return true;
}

bool oci_parquet_int96(const uint8_t *from, int64_t n, uint8_t *to)
{
    bool fits = true;
    for (int64_t i = 0; i < n; i++) {
        int64_t nanos = (int64_t)oci_load_le64(from + 12 * i);
        int64_t day = (int64_t)(int32_t)oci_load_le32(from + 12 * i + 8) - JULIAN_DAY_OF_1970;
        int64_t value = 0;
        fits = fits && oci_mul64(day, NANOS_OF_A_DAY, &value) && oci_add64(value, nanos, &value);
        oci_store_le64(to + 8 * i, (uint64_t)value);
    }
    return fits;
}

/* ---- nulls ----------------------------------------------------------------------------------- */

/* One width at a time, so that the copies are single moves. */
static inline void spread_width(uint8_t *to, int32_t width, const uint8_t *validity, int64_t rows,
                                int64_t n)
{
    for (int64_t row = rows - 1; row >= 0; row--) {
        if (row + 1 == n) {
            return; /* all rows before this one are valid and in their places */
        }
        if (oci_bit_get(validity, row)) {
            n--;
            memmove(to + row * width, to + n * width, (size_t)width);
        } else {
            memset(to + row * width, 0, (size_t)width);
        }
    }
}

void oci_parquet_spread(uint8_t *to, int32_t width, const uint8_t *validity, int64_t rows,
                        int64_t n)
{
    switch (width) {
    case 1: spread_width(to, 1, validity, rows, n); break;
    case 2: spread_width(to, 2, validity, rows, n); break;
    case 4: spread_width(to, 4, validity, rows, n); break;
    case 8: spread_width(to, 8, validity, rows, n); break;
    case 16: spread_width(to, 16, validity, rows, n); break;
    default: spread_width(to, width, validity, rows, n); break;
    }
}

void oci_parquet_spread_bits(const uint8_t *from, const uint8_t *validity, int64_t rows,
                             uint8_t *to)
{
    int64_t at = 0;
    for (int64_t row = 0; row < rows; row++) {
        bool valid = oci_bit_get(validity, row);
        oci_bit_put(to, row, valid && oci_bit_get(from, at));
        at += valid;
    }
}

void oci_parquet_offsets(const int32_t *lengths, const uint8_t *validity, int64_t rows,
                         int32_t width, uint8_t *to)
{
    int64_t at = 0;
    int64_t offset = 0;
    for (int64_t row = 0; row <= rows; row++) {
        if (width == 4) {
            oci_store_le32(to + 4 * row, (uint32_t)offset);
        } else {
            oci_store_le64(to + 8 * row, (uint64_t)offset);
        }
        if (row < rows && (validity == NULL || oci_bit_get(validity, row))) {
            offset += lengths[at++];
        }
    }
}
