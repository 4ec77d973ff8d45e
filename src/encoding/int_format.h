/* What the encoder and the reader of integer vectors agree on, see docs/spill-format.md. */
#ifndef OUTCORE_ENCODING_INT_FORMAT_H
#define OUTCORE_ENCODING_INT_FORMAT_H

#include "encoding/int_page.h"
#include "encoding/int_vector.h"

/* The first byte of a vector. */
typedef enum oci_int_kind {
    OCI_INT_CONSTANT = 1,
    OCI_INT_PAGES = 2,
} oci_int_kind;

/* u8 kind, u8 base_bytes, two zero bytes; then the base. */
#define OCI_INT_HEADER     4
#define OCI_INT_HEADER_MAX 12

#endif /* OUTCORE_ENCODING_INT_FORMAT_H */
