/* What the encoder and the reader of integer vectors agree on, see docs/spill-format.md, "Integer
 * vectors". */
#ifndef OUTCORE_ENCODING_INT_FORMAT_H
#define OUTCORE_ENCODING_INT_FORMAT_H

#include "encoding/int_page.h"
#include "encoding/int_vector.h"

/* The first byte of a vector. */
typedef enum oci_int_kind {
    OCI_INT_CONSTANT = 1,
    OCI_INT_PAGES = 2,
    OCI_INT_DIFFERENCES = 3,
    OCI_INT_DICTIONARY = 4,
    OCI_INT_RUNS = 5,
    OCI_INT_STEPS = 6, /* a dictionary of differences */
    OCI_INT_KINDS
} oci_int_kind;

enum {
    OCI_INT_HEADER = 4,              /* bytes before the numbers of a header */
    OCI_INT_HEADER_MAX = 4 + 4 * 8,  /* numbers included */
    OCI_INT_PLAIN_HEADER_MAX = 4 + 8 /* of a constant or of pages that are not scaled */
};

static inline bool oci_int_has_dictionary(oci_int_kind kind)
{
    return kind == OCI_INT_DICTIONARY || kind == OCI_INT_STEPS;
}

/* A header: numbers that a kind has no use for are 0 and take no bytes. */
typedef struct oci_int_header {
    oci_int_kind kind;
    uint64_t base;  /* of all pages of values or differences, or the constant */
    uint64_t first; /* differences, steps: the value before the first */
    uint64_t scale; /* 0, or values are offset + scale * what pages hold */
    uint64_t offset;
    int n_distinct; /* dictionary, steps: its values, 1 to OCI_INT_DICTIONARY_MAX */
} oci_int_header;

#endif /* OUTCORE_ENCODING_INT_FORMAT_H */
