/* See bit_pack.h. Full pages go to the copy of the loops that suits the processor; the few values of
 * a page that is not full are packed here one by one. */
#include "encoding/bit_pack.h"

#include <assert.h>

#include "base/bits.h"
#include "encoding/bit_pack_variants.h"

#define OCI_PACK_NAME(call) oci_bit_##call##_page_baseline
#define OCI_PACK_VECTOR     16
#include "encoding/bit_pack_kernel.h"

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

/* ---- choosing -------------------------------------------------------------------------------- */

void oci_bit_pack(const uint64_t *values, int64_t n, uint64_t base, int width, uint8_t *out)
{
    assert(n >= 0 && n <= OCI_PAGE_VALUES && width >= 0 && width <= 64);
    if (width == 0) {
        return;
    }
    if (n < OCI_PAGE_VALUES) {
        pack_values(values, n, base, width, out);
        return;
    }
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2")) {
        oci_bit_pack_page_avx2(values, base, width, out);
        return;
    }
#endif
    oci_bit_pack_page_baseline(values, base, width, out);
}

void oci_bit_unpack(const uint8_t *in, int64_t n, uint64_t base, int width, uint64_t *values)
{
    assert(n >= 0 && n <= OCI_PAGE_VALUES && width >= 0 && width <= 64);
    if (width == 0) {
        for (int64_t i = 0; i < n; i++) {
            values[i] = base;
        }
        return;
    }
    if (n < OCI_PAGE_VALUES) {
        unpack_values(in, n, base, width, values);
        return;
    }
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2")) {
        oci_bit_unpack_page_avx2(in, base, width, values);
        return;
    }
#endif
    oci_bit_unpack_page_baseline(in, base, width, values);
}
