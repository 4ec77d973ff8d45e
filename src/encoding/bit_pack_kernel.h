/* The loops of bit_pack.h over full pages, compiled once for each instruction set: the source that
 * includes this defines OCI_PACK_NAME(call), the names of its copies, and OCI_PACK_VECTOR, the bytes
 * of a vector of its instruction set.
 *
 * Seen from here a page is rows of 128 bytes, one word of each lane a row: 32 lanes of 32 bits or 16
 * lanes of 64. All lanes have the same shifts at the same time, so the only thing that depends on
 * the width is when a row is full, once for 32 or 16 values. A width is therefore a variable and not
 * 64 copies of the code: the shifts by a variable cost nothing that could be measured. */
#ifndef OUTCORE_ENCODING_BIT_PACK_KERNEL_H
#define OUTCORE_ENCODING_BIT_PACK_KERNEL_H

#include <string.h>

#include "base/bits.h"
#include "encoding/bit_pack.h"

enum { ROW_BYTES = 128, ROW_VECTORS = ROW_BYTES / OCI_PACK_VECTOR };

typedef uint32_t vector32 __attribute__((vector_size(OCI_PACK_VECTOR)));
typedef uint64_t vector64 __attribute__((vector_size(OCI_PACK_VECTOR)));

/* Defines pack##bits and unpack##bits, for lanes of 32 or 64 bits and widths of 1 to that. They work
 * on 1024 words; `at` is how many bits of the row of words at hand are in use. */
#define DEFINE_LANES(bits)                                                                 \
    static void pack##bits(const uint##bits##_t *words, int width, uint8_t *out)           \
    {                                                                                      \
        const uint##bits##_t mask = (uint##bits##_t)oci_low_mask(width);                   \
        const uint8_t *from = (const uint8_t *)words;                                      \
        vector##bits row[ROW_VECTORS] = {{0}};                                             \
        vector##bits value[ROW_VECTORS];                                                   \
        int at = 0;                                                                        \
        for (int i = 0; i < bits; i++, from += ROW_BYTES) {                                \
            memcpy(value, from, ROW_BYTES);                                                \
            for (int v = 0; v < ROW_VECTORS; v++) {                                        \
                value[v] &= mask;                                                          \
                row[v] |= value[v] << at;                                                  \
            }                                                                              \
            at += width;                                                                   \
            if (at >= bits) {                                                              \
                memcpy(out, row, ROW_BYTES);                                               \
                out += ROW_BYTES;                                                          \
                at -= bits;                                                                \
                for (int v = 0; v < ROW_VECTORS; v++) {                                    \
                    row[v] = at == 0 ? value[v] ^ value[v] : value[v] >> (width - at);     \
                }                                                                          \
            }                                                                              \
        }                                                                                  \
    }                                                                                      \
                                                                                           \
    static void unpack##bits(const uint8_t *in, uint64_t base, int width, uint64_t *out)   \
    {                                                                                      \
        const uint##bits##_t mask = (uint##bits##_t)oci_low_mask(width);                   \
        vector##bits row[ROW_VECTORS] = {{0}};                                             \
        vector##bits value[ROW_VECTORS];                                                   \
        uint##bits##_t words[ROW_BYTES / sizeof(uint##bits##_t)];                          \
        int at = bits;                                                                     \
        for (int i = 0; i < bits; i++, out += ROW_BYTES / sizeof(uint##bits##_t)) {        \
            if (at == bits) {                                                              \
                memcpy(row, in, ROW_BYTES);                                                \
                in += ROW_BYTES;                                                           \
                at = 0;                                                                    \
            }                                                                              \
            for (int v = 0; v < ROW_VECTORS; v++) {                                        \
                value[v] = row[v] >> at;                                                   \
            }                                                                              \
            at += width;                                                                   \
            if (at > bits) {                                                               \
                memcpy(row, in, ROW_BYTES);                                                \
                in += ROW_BYTES;                                                           \
                at -= bits;                                                                \
                for (int v = 0; v < ROW_VECTORS; v++) {                                    \
                    value[v] |= row[v] << (width - at);                                    \
                }                                                                          \
            }                                                                              \
            for (int v = 0; v < ROW_VECTORS; v++) {                                        \
                value[v] &= mask;                                                          \
            }                                                                              \
            memcpy(words, value, ROW_BYTES);                                               \
            for (int lane = 0; lane < (int)(ROW_BYTES / sizeof(uint##bits##_t)); lane++) { \
                out[lane] = base + words[lane];                                            \
            }                                                                              \
        }                                                                                  \
    }

DEFINE_LANES(32)
DEFINE_LANES(64)

void OCI_PACK_NAME(pack)(const uint64_t *values, uint64_t base, int width, uint8_t *out)
{
    if (width <= 32) {
        uint32_t words[OCI_PAGE_VALUES];
        for (int i = 0; i < OCI_PAGE_VALUES; i++) {
            words[i] = OCI_LE32((uint32_t)(values[i] - base));
        }
        pack32(words, width, out);
    } else {
        uint64_t words[OCI_PAGE_VALUES];
        for (int i = 0; i < OCI_PAGE_VALUES; i++) {
            words[i] = OCI_LE64(values[i] - base);
        }
        pack64(words, width, out);
    }
}

void OCI_PACK_NAME(unpack)(const uint8_t *in, uint64_t base, int width, uint64_t *values)
{
    if (width <= 32) {
        unpack32(in, base, width, values);
    } else {
        unpack64(in, base, width, values);
    }
}

#endif /* OUTCORE_ENCODING_BIT_PACK_KERNEL_H */
