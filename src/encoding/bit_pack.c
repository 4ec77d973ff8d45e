/* See bit_pack.h.
 *
 * Full pages are packed in vectors of 16 bytes, which every machine has. Seen from here a page is
 * rows of 128 bytes, one word of each lane a row. All lanes have the same shifts at the same time,
 * so the only thing that depends on the width is when a row is full, once for 16 or 32 values: a
 * width is a variable and not 64 copies of the code. That takes under half a cycle a value, about a
 * tenth of what is done to a value in all; copies for wider vectors were no faster.
 *
 * The few values of a page that is not full are packed one by one. */
#include "encoding/bit_pack.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "rows are written as they lie in memory");

enum { ROW_BYTES = 128, VECTOR_BYTES = 16, ROW_VECTORS = ROW_BYTES / VECTOR_BYTES };

typedef uint32_t vector32 __attribute__((vector_size(VECTOR_BYTES)));
typedef uint64_t vector64 __attribute__((vector_size(VECTOR_BYTES)));

/* ---- full pages ------------------------------------------------------------------------------ */

/* Vector by vector: of a whole row at once gcc makes a copy in memory. */
#define LOAD_ROW(row, from)                                                          \
    for (int v = 0; v < ROW_VECTORS; v++) {                                          \
        memcpy(&(row)[v], (const uint8_t *)(from) + v * VECTOR_BYTES, VECTOR_BYTES); \
    }
#define STORE_ROW(to, row)                                                   \
    for (int v = 0; v < ROW_VECTORS; v++) {                                  \
        memcpy((uint8_t *)(to) + v * VECTOR_BYTES, &(row)[v], VECTOR_BYTES); \
    }

/* Defines pack##bits and unpack##bits, for lanes of 32 or 64 bits and widths of 1 to that. `at` is
 * how many bits of the row of words at hand are in use. */
#define DEFINE_LANES(bits)                                                               \
    static void pack##bits(const uint##bits##_t *values, uint##bits##_t base, int width, \
                           uint8_t *out)                                                 \
    {                                                                                    \
        const uint##bits##_t mask = (uint##bits##_t)oci_low_mask(width);                 \
        vector##bits row[ROW_VECTORS] = {{0}};                                           \
        vector##bits value[ROW_VECTORS];                                                 \
        int at = 0;                                                                      \
        for (int i = 0; i < bits; i++, values += ROW_BYTES / sizeof *values) {           \
            LOAD_ROW(value, values)                                                      \
            for (int v = 0; v < ROW_VECTORS; v++) {                                      \
                value[v] = (value[v] - base) & mask;                                     \
                row[v] |= value[v] << at;                                                \
            }                                                                            \
            at += width;                                                                 \
            if (at >= bits) {                                                            \
                STORE_ROW(out, row)                                                      \
                out += ROW_BYTES;                                                        \
                at -= bits;                                                              \
                for (int v = 0; v < ROW_VECTORS; v++) {                                  \
                    row[v] = at == 0 ? value[v] ^ value[v] : value[v] >> (width - at);   \
                }                                                                        \
            }                                                                            \
        }                                                                                \
    }                                                                                    \
                                                                                         \
    static void unpack##bits(const uint8_t *in, uint64_t base, int width, uint64_t *out) \
    {                                                                                    \
        enum { LANES = ROW_BYTES * 8 / bits };                                           \
        const uint##bits##_t mask = (uint##bits##_t)oci_low_mask(width);                 \
        vector##bits row[ROW_VECTORS] = {{0}};                                           \
        vector##bits value[ROW_VECTORS];                                                 \
        uint##bits##_t words[LANES];                                                     \
        int at = bits;                                                                   \
        for (int i = 0; i < bits; i++, out += LANES) {                                   \
            if (at == bits) {                                                            \
                LOAD_ROW(row, in)                                                        \
                in += ROW_BYTES;                                                         \
                at = 0;                                                                  \
            }                                                                            \
            for (int v = 0; v < ROW_VECTORS; v++) {                                      \
                value[v] = row[v] >> at;                                                 \
            }                                                                            \
            at += width;                                                                 \
            if (at > bits) {                                                             \
                LOAD_ROW(row, in)                                                        \
                in += ROW_BYTES;                                                         \
                at -= bits;                                                              \
                for (int v = 0; v < ROW_VECTORS; v++) {                                  \
                    value[v] |= row[v] << (width - at);                                  \
                }                                                                        \
            }                                                                            \
            for (int v = 0; v < ROW_VECTORS; v++) {                                      \
                value[v] &= mask;                                                        \
            }                                                                            \
            STORE_ROW(words, value)                                                      \
            for (int lane = 0; lane < LANES; lane++) {                                   \
                out[lane] = base + words[lane];                                          \
            }                                                                            \
        }                                                                                \
    }

DEFINE_LANES(32)
DEFINE_LANES(64)

static void pack_page(const uint64_t *values, uint64_t base, int width, uint8_t *out)
{
    if (width > 32) {
        pack64(values, base, width, out);
        return;
    }
    uint32_t words[OCI_PAGE_VALUES];
    for (int i = 0; i < OCI_PAGE_VALUES; i++) {
        words[i] = (uint32_t)values[i];
    }
    pack32(words, (uint32_t)base, width, out);
}

/* ---- pages that are not full ----------------------------------------------------------------- */

static void pack_values(const uint64_t *values, int64_t n, uint64_t base, int width, uint8_t *out)
{
    const uint64_t mask = oci_low_mask(width);
    uint64_t word = 0;
    int used = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t value = (values[i] - base) & mask;
        word |= value << used;
        used += width;
        if (used >= 64) {
            oci_store_le64(out, word);
            out += 8;
            used -= 64;
            word = used == 0 ? 0 : value >> (width - used);
        }
    }
    for (; used > 0; used -= 8) {
        *out++ = (uint8_t)word;
        word >>= 8;
    }
}

static void unpack_values(const uint8_t *in, int64_t n, uint64_t base, int width, uint64_t *values)
{
    const uint64_t mask = oci_low_mask(width);
    const int64_t bytes = oci_bit_packed_bytes(n, width);
    int64_t i = 0;
    if (width <= 57) { /* fits 8 bytes from the byte it begins in */
        for (; i < n && (i * width >> 3) + 8 <= bytes; i++) {
            int64_t bit = i * width;
            values[i] = base + ((oci_load_le64(in + (bit >> 3)) >> (bit & 7)) & mask);
        }
    }
    for (; i < n; i++) {
        values[i] = base + oci_bits_load(in, i * width, width);
    }
}

/* ---- both ------------------------------------------------------------------------------------ */

void oci_bit_pack(const uint64_t *values, int64_t n, uint64_t base, int width, uint8_t *out)
{
    assert(n >= 0 && n <= OCI_PAGE_VALUES && width >= 0 && width <= 64);
    if (n < OCI_PAGE_VALUES) {
        pack_values(values, n, base, width, out);
    } else if (width > 0) {
        pack_page(values, base, width, out);
    }
}

void oci_bit_unpack(const uint8_t *in, int64_t n, uint64_t base, int width, uint64_t *values)
{
    assert(n >= 0 && n <= OCI_PAGE_VALUES && width >= 0 && width <= 64);
    if (width == 0) {
        for (int64_t i = 0; i < n; i++) {
            values[i] = base;
        }
    } else if (n < OCI_PAGE_VALUES) {
        unpack_values(in, n, base, width, values);
    } else if (width <= 32) {
        unpack32(in, base, width, values);
    } else {
        unpack64(in, base, width, values);
    }
}
