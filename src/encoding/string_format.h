/* The header of a string vector, see docs/spill-format.md, "String vectors". Four 64-bit words,
 * little-endian; the numbers follow as integer vectors. */
#ifndef OUTCORE_ENCODING_STRING_FORMAT_H
#define OUTCORE_ENCODING_STRING_FORMAT_H

#include <stdint.h>

typedef enum oci_string_kind {
    OCI_STRINGS_PLAIN,      /* lengths */
    OCI_STRINGS_DICTIONARY, /* codes, lengths of distinct strings */
    OCI_STRINGS_FRONT,      /* bytes shared with the string before, bytes behind them */
    OCI_STRINGS_SHARED,     /* lengths, places in bytes that several strings show */
    OCI_STRINGS_NUMBERED,   /* numbers behind a text that all begin with */
    OCI_STRINGS_KINDS
} oci_string_kind;

enum {
    OCI_STRINGS_AT_KIND = 0,
    OCI_STRINGS_AT_VALUE_BYTES = 8,
    OCI_STRINGS_AT_BYTES_SIZE = 16,
    OCI_STRINGS_AT_EXTRA = 24, /* DICTIONARY: distinct strings; SHARED: bytes that are shared;
                                  NUMBERED: digits, 0 = as many as a number needs */
    OCI_STRINGS_HEADER_BYTES = 32
};

/* Longest string that lies in its view. */
#define OCI_VIEW_INLINE 12

/* Digits of a number behind a text: it fits 32 bits then, and takes no more than two numbers of front
 * coding. */
#define OCI_STRINGS_DIGITS_MAX 9

/* Most distinct strings of a dictionary: their places fit the stack of who decodes. */
#define OCI_STRINGS_DISTINCT_MAX 16384

/* More than any memory holds; sums of a page of lengths stay far from overflow. */
#define OCI_STRINGS_VALUE_BYTES_MAX (INT64_C(1) << 52)

#endif /* OUTCORE_ENCODING_STRING_FORMAT_H */
