/* Bit ranges against a bit-by-bit reference, for every offset within a byte and lengths across all
 * paths. Buffers are exactly as long as the ranges, so that a sanitizer sees a byte too many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

/* A heap buffer of exactly the bytes that `bits` bits need, filled from a seed. */
static uint8_t *make_bits(int64_t bits, unsigned seed)
{
    int64_t size = oci_bytes_for_bits(bits);
    uint8_t *bytes = malloc(size > 0 ? (size_t)size : 1);
    assert_non_null(bytes);
    for (int64_t i = 0; i < size; i++) {
        seed = seed * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(seed >> 24);
    }
    return bytes;
}

static void single_bits_are_set_cleared_and_put(void **state)
{
    (void)state;
    uint8_t bits[2] = {0, 0xFF};
    oci_bit_set(bits, 3);
    oci_bit_clear(bits, 15);
    assert_int_equal(bits[0], 0x08);
    assert_int_equal(bits[1], 0x7F);
    assert_true(oci_bit_get(bits, 3));
    assert_false(oci_bit_get(bits, 15));
    oci_bit_put(bits, 3, false);
    oci_bit_put(bits, 0, true);
    oci_bit_put(bits, 0, true);
    assert_int_equal(bits[0], 0x01);
}

static void load_and_store_take_any_offset_and_count(void **state)
{
    (void)state;
    for (int64_t offset = 0; offset < 16; offset++) {
        for (int count = 0; count <= 64; count++) {
            uint8_t *bits = make_bits(offset + count, 1);
            uint64_t expected = 0;
            for (int i = 0; i < count; i++) {
                expected |= (uint64_t)oci_bit_get(bits, offset + i) << i;
            }
            assert_true(oci_bits_load(bits, offset, count) == expected);
            uint8_t *copy = make_bits(offset + count, 1);
            oci_bits_store(bits, offset, ~expected, count);
            for (int64_t i = 0; i < offset + count; i++) {
                assert_int_equal(oci_bit_get(bits, i), oci_bit_get(copy, i) != (i >= offset));
            }
            free(copy);
            free(bits);
        }
    }
}

static void count_equals_counting_one_by_one(void **state)
{
    (void)state;
    for (int64_t offset = 0; offset < 9; offset++) {
        for (int64_t count = 0; count < 300; count++) {
            uint8_t *bits = make_bits(offset + count, (unsigned)count);
            int64_t expected = 0;
            for (int64_t i = 0; i < count; i++) {
                expected += oci_bit_get(bits, offset + i);
            }
            assert_int_equal(oci_bits_count(bits, offset, count), expected);
            free(bits);
        }
    }
}

static void copy_moves_the_range_and_nothing_else(void **state)
{
    (void)state;
    for (int64_t to = 0; to < 9; to++) {
        for (int64_t from = 0; from < 9; from++) {
            for (int64_t count = 0; count < 210; count += count < 20 ? 1 : 7) {
                uint8_t *source = make_bits(from + count, 3);
                uint8_t *target = make_bits(to + count + 5, 4);
                uint8_t *before = make_bits(to + count + 5, 4);
                oci_bits_copy(target, to, source, from, count);
                for (int64_t i = 0; i < to + count + 5; i++) {
                    bool inside = i >= to && i < to + count;
                    bool expected = inside ? oci_bit_get(source, from + i - to)
                                           : oci_bit_get(before, i);
                    assert_int_equal(oci_bit_get(target, i), expected);
                }
                free(source);
                free(target);
                free(before);
            }
        }
    }
}

static void fill_sets_the_range_and_nothing_else(void **state)
{
    (void)state;
    for (int value = 0; value < 2; value++) {
        for (int64_t offset = 0; offset < 10; offset++) {
            for (int64_t count = 0; count < 100; count++) {
                uint8_t *bits = make_bits(offset + count + 3, 9);
                uint8_t *before = make_bits(offset + count + 3, 9);
                oci_bits_fill(bits, offset, count, value == 1);
                for (int64_t i = 0; i < offset + count + 3; i++) {
                    bool inside = i >= offset && i < offset + count;
                    assert_int_equal(oci_bit_get(bits, i), inside ? value : oci_bit_get(before, i));
                }
                free(bits);
                free(before);
            }
        }
    }
}

static void rounding_and_sizes(void **state)
{
    (void)state;
    assert_int_equal(oci_round_up(0, 64), 0);
    assert_int_equal(oci_round_up(1, 64), 64);
    assert_int_equal(oci_round_up(64, 64), 64);
    assert_int_equal(oci_round_down(127, 64), 64);
    assert_int_equal(oci_bytes_for_bits(0), 0);
    assert_int_equal(oci_bytes_for_bits(8), 1);
    assert_int_equal(oci_bytes_for_bits(9), 2);
    assert_true(oci_bytes_for_bits(INT64_MAX) == INT64_MAX / 8 + 1);
    assert_int_equal(oci_min64(-1, 2), -1);
    assert_int_equal(oci_max64(-1, 2), 2);
}

static void arithmetic_reports_overflow(void **state)
{
    (void)state;
    int64_t out = 0;
    assert_true(oci_add64(INT64_MAX - 1, 1, &out));
    assert_true(out == INT64_MAX);
    assert_false(oci_add64(INT64_MAX, 1, &out));
    assert_false(oci_sub64(INT64_MIN, 1, &out));
    assert_true(oci_mul64(INT64_C(1) << 31, INT64_C(1) << 31, &out));
    assert_true(out == INT64_C(1) << 62);
    assert_false(oci_mul64(INT64_C(1) << 32, INT64_C(1) << 31, &out));
}

static void bytes_have_a_defined_order_at_any_address(void **state)
{
    (void)state;
    uint8_t bytes[9];
    oci_store_le64(bytes + 1, UINT64_C(0x0807060504030201));
    for (int i = 1; i < 9; i++) {
        assert_int_equal(bytes[i], i);
    }
    assert_int_equal(oci_load_le16(bytes + 1), 0x0201);
    assert_int_equal(oci_load_le32(bytes + 1), 0x04030201);
    assert_true(oci_load_le64(bytes + 1) == UINT64_C(0x0807060504030201));
    assert_true(oci_load_be64(bytes + 1) == UINT64_C(0x0102030405060708));
    oci_store_be64(bytes + 1, UINT64_C(0x0807060504030201));
    assert_int_equal(bytes[1], 8);
    oci_store_le16(bytes + 1, 0x1234);
    assert_int_equal(bytes[1], 0x34);
    oci_store_le32(bytes + 1, 0x12345678);
    assert_int_equal(bytes[1], 0x78);
    assert_true(oci_bswap64(1) == UINT64_C(1) << 56);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_bits_are_set_cleared_and_put),
        cmocka_unit_test(load_and_store_take_any_offset_and_count),
        cmocka_unit_test(count_equals_counting_one_by_one),
        cmocka_unit_test(copy_moves_the_range_and_nothing_else),
        cmocka_unit_test(fill_sets_the_range_and_nothing_else),
        cmocka_unit_test(rounding_and_sizes),
        cmocka_unit_test(arithmetic_reports_overflow),
        cmocka_unit_test(bytes_have_a_defined_order_at_any_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
