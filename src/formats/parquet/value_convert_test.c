/* Conversions of whole arrays give what those of single values do. */
#include "formats/parquet/value_convert.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void big_endian_numbers_are_turned_around_as_one_by_one(void **state)
{
    (void)state;
    enum { N = 100, SPARE = 8 };
    static const int32_t widths[] = {8, 16, 32};
    uint64_t random = 42;
    for (int32_t length = 1; length <= 32; length++) {
        uint8_t *from = malloc((size_t)(N * length) + SPARE);
        assert_non_null(from);
        for (int i = 0; i < N * length + SPARE; i++) {
            random = random * 6364136223846793005U + 1442695040888963407U;
            from[i] = (uint8_t)(random >> 56);
        }
        memset(from, 0xFF, (size_t)length);
        for (size_t w = 0; w < 3; w++) {
            int32_t width = widths[w];
            uint8_t all[N * 32];
            uint8_t one[32];
            bool fits = true;
            bool all_fit = oci_parquet_reverse_all(from, N, length, width, all);
            for (int i = 0; i < N; i++) {
                bool fit = oci_parquet_reverse(from + i * length, length, width, one);
                fits = fits && fit;
                if (fits) {
                    assert_memory_equal(all + i * width, one, (size_t)width);
                }
            }
            assert_int_equal(all_fit, fits);
        }
        free(from);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(big_endian_numbers_are_turned_around_as_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
