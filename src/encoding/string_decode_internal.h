/* Between the files that read string vectors. */
#ifndef OUTCORE_ENCODING_STRING_DECODE_INTERNAL_H
#define OUTCORE_ENCODING_STRING_DECODE_INTERNAL_H

#include "base/bits.h"
#include "encoding/string_format.h"
#include "encoding/string_vector.h"

/* Where strings go. Kinds that hold each string once give their bytes as they are to a sink that
 * can share them; else all strings are written one behind the other. */
typedef struct oci_string_sink oci_string_sink;
struct oci_string_sink {
    /* Takes the lengths of a page when its bytes are there; places[i] is where the bytes of a string
     * lie, NULL = one behind the other from `at` on. Moves `at`. */
    oc_status (*page)(oci_string_sink *sink, int64_t start, int64_t n, const uint64_t *lengths,
                      const uint64_t *places, oc_error *err);
    bool shares;
    uint8_t *bytes;
    int64_t room;       /* bytes that may be written */
    int64_t promised;   /* bytes that all strings have together */
    int64_t at;         /* bytes of the strings that page() has seen */
    uint8_t *to;        /* offsets, views */
    bool has_offsets32; /* a page may as well be written to `to` without page() */
    int width;
    const uint8_t *validity;
};

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

/* Opens both integer vectors of a kind that has two; the second has n_second values. */
oc_status oci_string_open_numbers(const oci_strings_in *in, int64_t n_second, oci_int_reader *first,
                                  oci_int_reader *second, oc_error *err);

oc_status oci_string_decode_dictionary(const oci_strings_in *in, oci_string_sink *sink,
                                       oc_error *err);
oc_status oci_string_decode_front(const oci_strings_in *in, oci_string_sink *sink, oc_error *err);
oc_status oci_string_decode_numbered(const oci_strings_in *in, oci_string_sink *sink,
                                     oc_error *err);
oc_status oci_string_decode_shared(const oci_strings_in *in, oci_string_sink *sink, oc_error *err);

#endif /* OUTCORE_ENCODING_STRING_DECODE_INTERNAL_H */
