/* Integer vectors: what goes in comes out, in few bytes, and damage is noticed or harmless. */
#include "encoding/int_vector.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bits.h"

/* Encodes into memory of exactly the bound, decodes from memory of exactly the size; returns it. */
static int64_t round_trip(const uint8_t *values, int64_t n, int width, bool is_signed)
{
    oci_int_array array = {.values = values, .width = width, .is_signed = is_signed};
    oci_int_source source = oci_int_array_source(&array, n);
    int64_t bound = oci_int_vector_bound(n, width);
    uint8_t *packed = malloc((size_t)bound);
    assert_non_null(packed);
    int64_t size = oci_int_vector_encode(&source, width, NULL, packed);
    assert_in_range(size, 1, bound);
    assert_int_equal(size % OCI_PACK_ALIGN, 0);

    uint8_t *exact = malloc((size_t)size);
    uint8_t *back = malloc((size_t)(n * width) + 1);
    assert_true(exact != NULL && back != NULL);
    memcpy(exact, packed, (size_t)size);
    oc_error err = {0};
    int64_t taken = 0;
    assert_int_equal(oci_int_vector_decode(exact, size, n, width, back, &taken, &err), OC_OK);
    assert_int_equal(taken, size);
    if (n > 0) {
        assert_memory_equal(back, values, (size_t)(n * width));
    }
    free(packed);
    free(exact);
    free(back);
    return size;
}

static void a_constant_takes_16_bytes(void **state)
{
    (void)state;
    int64_t values[5000];
    for (int i = 0; i < 5000; i++) {
        values[i] = -1234567890123456789;
    }
    assert_int_equal(round_trip((const uint8_t *)values, 5000, 8, true), 16);
    assert_int_equal(round_trip((const uint8_t *)values, 1, 8, true), 16);
    assert_int_equal(round_trip((const uint8_t *)values, 0, 8, true), 8);
}

static void a_range_takes_the_bits_of_its_size(void **state)
{
    (void)state;
    uint64_t seed = 1;
    int32_t values[8192];
    for (int i = 0; i < 8192; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        values[i] = -50000 + (int32_t)(seed >> 33) % 100000;
    }
    int64_t size = round_trip((const uint8_t *)values, 8192, 4, true);
    assert_in_range(size, 8192 * 17 / 8, 8192 * 17 / 8 + 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_constant_takes_16_bytes),
        cmocka_unit_test(a_range_takes_the_bits_of_its_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
