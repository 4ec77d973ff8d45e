/* Bit packing against a plain reference, value by value and bit by bit. */
#include "encoding/bit_pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bits.h"

/* Memory of exactly this size, so that a sanitizer sees a byte too many. */
static void *take(int64_t bytes)
{
    void *memory = calloc(1, bytes > 0 ? (size_t)bytes : 1);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

/* The layout as the header describes it, value by value. */
static void reference_pack(const uint64_t *values, int64_t n, uint64_t base, int width,
                           uint8_t *out)
{
    memset(out, 0, (size_t)oci_bit_packed_bytes(n, width));
    const int64_t bits = width <= 32 ? 32 : 64;
    const int64_t lanes = OCI_PAGE_VALUES / bits;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t b = 0; b < width; b++) {
            int64_t at = i * width + b;
            if (n == OCI_PAGE_VALUES) {
                int64_t in_lane = i / lanes * width + b;
                int64_t word = in_lane / bits * lanes + i % lanes;
                at = word * bits + in_lane % bits;
            }
            oci_bit_put(out, at, ((values[i] - base) >> b) & 1);
        }
    }
}

/* Values of which any number of low bits look random. */
static void fill(uint64_t *values, int64_t n, uint64_t seed)
{
    for (int64_t i = 0; i < n; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        values[i] = seed ^ seed >> 29;
    }
}

static void check_values(const uint64_t *values, int64_t n, uint64_t base, int width,
                         const uint64_t *back)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t low = (values[i] - base) & oci_low_mask(width);
        assert_int_equal(back[i], base + low);
    }
}

/* Exact allocations, so that a sanitizer sees a byte too many; bytes around stay as they were. */
static void check_calls(const uint64_t *values, int64_t n, uint64_t base, int width)
{
    int64_t bytes = oci_bit_packed_bytes(n, width);
    uint8_t *expected = take(bytes + 1);
    uint8_t *packed = take(bytes + 1);
    uint64_t *back = take(n * 8);
    reference_pack(values, n, base, width, expected + 1);
    oci_bit_pack(values, n, base, width, packed + 1); /* at an odd address */
    assert_memory_equal(packed + 1, expected + 1, (size_t)bytes);
    oci_bit_unpack(packed + 1, n, base, width, back);
    check_values(values, n, base, width, back);
    free(expected);
    free(packed);
    free(back);
}

static void every_width_and_count_comes_back(void **state)
{
    (void)state;
    static const int64_t counts[] = {0, 1, 2, 7, 8, 63, 64, 65, 1000, 1023, 1024};
    uint64_t values[OCI_PAGE_VALUES];
    for (int width = 0; width <= 64; width++) {
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            fill(values, counts[i], (uint64_t)width);
            check_calls(values, counts[i], 0, width);
            check_calls(values, counts[i], UINT64_C(0xFFFFFFFFFFFFFFF0), width);
            check_calls(values, counts[i], UINT64_C(0x123456789ABCDEF0), width);
        }
    }
}

static void bit_width_counts_up_to_the_highest_one(void **state)
{
    (void)state;
    assert_int_equal(oci_bit_width(0), 0);
    for (int i = 0; i < 64; i++) {
        assert_int_equal(oci_bit_width(UINT64_C(1) << i), i + 1);
        assert_int_equal(oci_bit_width(oci_low_mask(i + 1)), i + 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_width_and_count_comes_back),
        cmocka_unit_test(bit_width_counts_up_to_the_highest_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
