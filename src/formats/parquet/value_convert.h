/* Values of the file's width and order into those of a column. Leaf loops; see value_builder.h. */
#ifndef OUTCORE_FORMATS_PARQUET_VALUE_CONVERT_H
#define OUTCORE_FORMATS_PARQUET_VALUE_CONVERT_H

#include <stdbool.h>
#include <stdint.h>

/* int32 -> the low `width` (1, 2) bytes. */
void oci_parquet_narrow(const uint8_t *from, int64_t n, int32_t width, uint8_t *to);
/* Little-endian numbers with sign, `from_width` 4 or 8 bytes -> `width` >= from_width. */
void oci_parquet_widen(const uint8_t *from, int32_t from_width, int64_t n, int32_t width,
                       uint8_t *to);
/* One big-endian number with sign of any length; false when it does not fit `width` bytes. */
bool oci_parquet_reverse(const uint8_t *from, int64_t length, int32_t width, uint8_t *to);
/* n of them, with 8 readable bytes behind the last. */
bool oci_parquet_reverse_all(const uint8_t *from, int64_t n, int32_t length, int32_t width,
                             uint8_t *to);
/* INT96 (nanoseconds of the day, Julian day) -> nanoseconds since 1970; false when one is beyond int64. */
bool oci_parquet_int96(const uint8_t *from, int64_t n, uint8_t *to);

/* Values from[0..n) of `width` bytes that lie at the start of to[0..rows) are moved to the rows whose bits are set
 * (n of them), backwards; the others become zero. */
void oci_parquet_spread(uint8_t *to, int32_t width, const uint8_t *validity, int64_t rows,
                        int64_t n);
/* The same for bits, from another place. */
void oci_parquet_spread_bits(const uint8_t *from, const uint8_t *validity, int64_t rows,
                             uint8_t *to);
/* Lengths of the valid rows -> offsets[rows + 1]; width 4 or 8. */
void oci_parquet_offsets(const int32_t *lengths, const uint8_t *validity, int64_t rows,
                         int32_t width, uint8_t *to);

#endif /* OUTCORE_FORMATS_PARQUET_VALUE_CONVERT_H */
