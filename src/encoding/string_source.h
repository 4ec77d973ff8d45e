/* The strings of a column of any layout, page by page: where each lies and how long it is. Nulls are
 * empty strings. */
#ifndef OUTCORE_ENCODING_STRING_SOURCE_H
#define OUTCORE_ENCODING_STRING_SOURCE_H

#include "arrow/batch.h"
#include "base/bits.h"
#include "encoding/int_vector.h"
#include "encoding/string_format.h"

typedef struct oci_string_source {
    const oci_column *column;
    oci_layout layout;
    int64_t n;
    const uint8_t *validity; /* NULL when none of the strings is null */
    const uint8_t *values;   /* of the first string: its offset, view, or bytes */
    const uint8_t *bytes;    /* OFFSETS: never NULL */
    const uint8_t *end;      /* OFFSETS, FIXED: behind the bytes of the last string */
    int64_t width;           /* FIXED */
} oci_string_source;

#define OCI_STRING_STAGE 256

/* Up to OCI_STRING_STAGE strings. 16 bytes can be read from every place: short strings at the end of
 * their buffer are copied to where that is so. */
typedef struct oci_string_stage {
    const uint8_t *at[OCI_STRING_STAGE];
    int64_t length[OCI_STRING_STAGE];
    int64_t readable[OCI_STRING_STAGE]; /* bytes that exist from `at` on, >= length, >= 16 */
    uint8_t padded[OCI_STRING_STAGE][16];
} oci_string_stage;

/* How many of 16 bytes are alike before the first that is not. */
static inline int64_t oci_string_alike16(const uint8_t *a, const uint8_t *b)
{
    uint64_t low = oci_load_le64(a) ^ oci_load_le64(b);
    uint64_t high = oci_load_le64(a + 8) ^ oci_load_le64(b + 8);
    uint64_t differ = low != 0 ? low : high;
    int64_t start = low != 0 ? 0 : 8;
    return differ == 0 ? 16 : start + __builtin_ctzll(differ) / 8;
}

/* Bytes that string i begins with like string i - 1, as far as 16 bits count. */
static inline int64_t oci_string_stage_shared(const oci_string_stage *stage, int64_t i)
{
    const uint8_t *a = stage->at[i - 1];
    const uint8_t *b = stage->at[i];
    int64_t n = oci_min64(stage->length[i - 1], stage->length[i]);
    int64_t alike = oci_string_alike16(a, b);
    if (alike < 16 || n <= 16) {
        return oci_min64(alike, n);
    }
    n = oci_min64(n, UINT16_MAX);
    for (int64_t at = 16; at + 16 <= n; at += 16) {
        alike = oci_string_alike16(a + at, b + at);
        if (alike < 16) {
            return at + alike;
        }
    }
    return n - 16 + oci_string_alike16(a + n - 16, b + n - 16);
}

void oci_string_source_init(oci_string_source *source, const oci_column *column);

/* Strings [start, start + n), n <= OCI_STRING_STAGE. */
void oci_string_source_stage(const oci_string_source *source, int64_t start, int64_t n,
                             oci_string_stage *out);

/* Their lengths alone, n <= OCI_PAGE_VALUES; the page() of an oci_int_source over a source. */
void oci_string_source_lengths(const void *source, int64_t start, int64_t n, uint64_t *out);

/* Bytes of all strings together, at most, and of the longest, at most. O(1) with offsets, where null
 * slots count with what they hold. */
void oci_string_source_measure(const oci_string_source *source, int64_t *total, int64_t *longest);

/* Bytes of the smallest integer that holds values 0..max: 1, 2, 4 or 8. */
static inline int oci_string_width_of(int64_t max)
{
    return max < 1 << 8 ? 1 : max < 1 << 16 ? 2 : max < INT64_C(1) << 32 ? 4 : 8;
}

#endif /* OUTCORE_ENCODING_STRING_SOURCE_H */
