/* The two byte streams that a column is packed into, see docs/spill-format.md.
 *
 *   packed   headers, bit-packed numbers, bitmaps, byte planes: dense already
 *   bytes    the bytes of strings: text, the part a codec gains most on
 *
 * Both are written and read front to back, each section by the code that knows its kind. Sections
 * of `packed` begin at multiples of OCI_PACK_ALIGN from its start; padding is zero. */
#ifndef OUTCORE_ENCODING_STREAMS_H
#define OUTCORE_ENCODING_STREAMS_H

#include <string.h>

#include "base/error.h"

#define OCI_PACK_ALIGN 8

/* Where to write. The room was sized by the bound calls, so writing cannot fail. `packed` is
 * aligned to 8 bytes. */
typedef struct oci_pack_out {
    uint8_t *packed;
    int64_t packed_at; /* bytes written so far, a multiple of OCI_PACK_ALIGN between sections */
    uint8_t *bytes;
    int64_t bytes_at;
} oci_pack_out;

/* Where to read. Nothing in it can be trusted; every section is checked against what is left. */
typedef struct oci_pack_in {
    const uint8_t *packed;
    int64_t packed_size;
    int64_t packed_at;
    const uint8_t *bytes;
    int64_t bytes_size;
    int64_t bytes_at;
} oci_pack_in;

#endif /* OUTCORE_ENCODING_STREAMS_H */
