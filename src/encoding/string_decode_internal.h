/* Between the files that read string vectors. */
#ifndef OUTCORE_ENCODING_STRING_DECODE_INTERNAL_H
#define OUTCORE_ENCODING_STRING_DECODE_INTERNAL_H

#include "base/bits.h"
#include "encoding/string_format.h"
#include "encoding/string_vector.h"

/* Where strings go: their bytes one behind the other, their lengths to page(), a page at a time,
 * when the bytes of that page are there. */
typedef struct oci_string_sink {
    oc_status (*page)(struct oci_string_sink *sink, int64_t start, int64_t n,
                      const uint64_t *lengths, oc_error *err);
    uint8_t *bytes;
    int64_t room;     /* bytes that may be written */
    int64_t promised; /* bytes that all strings have; <= room */
    int64_t at;       /* bytes of the strings that page() has seen */
    uint8_t *to;      /* offsets, views */
    int width;
    const uint8_t *validity;
} oci_string_sink;

oc_status oci_string_fail(oc_error *err);

/* Whether the next n lengths stay within what was promised. */
static inline oc_status oci_string_check(const oci_string_sink *sink, const uint64_t *lengths,
                                         int64_t n, oc_error *err)
{
    uint64_t any = 0;
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        any |= lengths[i];
        sum += lengths[i]; /* no overflow when `any` is sane */
    }
    if (any >= (uint64_t)OCI_STRINGS_VALUE_BYTES_MAX * 2 ||
        sum > (uint64_t)(sink->promised - sink->at)) {
        return oci_string_fail(err);
    }
    return OC_OK;
}

#endif /* OUTCORE_ENCODING_STRING_DECODE_INTERNAL_H */
