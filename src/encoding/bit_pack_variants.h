/* The compiled copies of the loops over full pages, widths 1 to 64. For bit_pack.c, which chooses,
 * and its test, which holds all of them against each other. */
#ifndef OUTCORE_ENCODING_BIT_PACK_VARIANTS_H
#define OUTCORE_ENCODING_BIT_PACK_VARIANTS_H

#include "encoding/bit_pack.h"

/* A page of OCI_PAGE_VALUES values, 1 <= width <= 64. */
#define OCI_PACK_VARIANT(variant)                                                      \
    void oci_bit_pack_page_##variant(const uint64_t *values, uint64_t base, int width, \
                                     uint8_t *out);                                    \
    void oci_bit_unpack_page_##variant(const uint8_t *in, uint64_t base, int width,    \
                                       uint64_t *values)

/* What every machine of the architecture has. */
OCI_PACK_VARIANT(baseline);
#ifdef __x86_64__
OCI_PACK_VARIANT(avx2);
#endif

#endif /* OUTCORE_ENCODING_BIT_PACK_VARIANTS_H */
