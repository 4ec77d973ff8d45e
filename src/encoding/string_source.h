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

/* Up to OCI_STRING_STAGE strings. */
typedef struct oci_string_stage {
    const uint8_t *at[OCI_STRING_STAGE];
    int64_t length[OCI_STRING_STAGE];
    int64_t readable[OCI_STRING_STAGE]; /* bytes that exist from `at` on, >= length */
} oci_string_stage;

typedef struct oci_string_place {
    const uint8_t *at;
    int64_t length;
} oci_string_place;

/* Bytes that two strings begin with alike, as far as 16 bits count. */
static inline int64_t oci_string_common_prefix(oci_string_place a, oci_string_place b)
{
    int64_t n = oci_min64(UINT16_MAX, oci_min64(a.length, b.length));
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t differ = oci_load_le64(a.at + i) ^ oci_load_le64(b.at + i);
        if (differ != 0) {
            return i + __builtin_ctzll(differ) / 8;
        }
    }
    while (i < n && a.at[i] == b.at[i]) {
        i++;
    }
    return i;
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
