/* Integer vectors: what goes in comes out bit for bit, in as few bytes as its shape allows, and
 * damaged bytes are refused or harmless. */
#include "encoding/int_vector.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bits.h"
#include "encoding/int_format.h"

enum { ROWS = 8192 };

/* ---- values ---------------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t x = *seed;
    x = (x ^ x >> 32) * UINT64_C(0xD6E8FEB86659FD93);
    return x ^ x >> 32;
}

/* Of [from, to). */
static int64_t uniform(uint64_t *seed, int64_t from, int64_t to)
{
    return from + (int64_t)(next_random(seed) % (uint64_t)(to - from));
}

/* Shapes of columns. Each fills n values that fit any signed type of `width` bytes. */
typedef void (*shape)(uint64_t *seed, int width, int64_t n, int64_t *values);

static int64_t narrow(int64_t value, int width)
{
    int unused = 64 - 8 * width;
    return (int64_t)((uint64_t)value << unused) >> unused;
}

static void any_bits(uint64_t *seed, int width, int64_t n, int64_t *values)
{
    for (int64_t i = 0; i < n; i++) {
        values[i] = narrow((int64_t)next_random(seed), width);
    }
}

static void all_the_same(uint64_t *seed, int width, int64_t n, int64_t *values)
{
    int64_t value = narrow((int64_t)next_random(seed), width);
    for (int64_t i = 0; i < n; i++) {
        values[i] = value;
    }
}

static void one_range(uint64_t *seed, int width, int64_t n, int64_t *values)
{
    int64_t from = narrow((int64_t)next_random(seed), width);
    int64_t size = INT64_C(1) << uniform(seed, 0, 8 * width - 1);
    for (int64_t i = 0; i < n; i++) {
        values[i] = narrow((int64_t)((uint64_t)from + (uint64_t)uniform(seed, 0, size)), width);
    }
}

static void rare_outliers(uint64_t *seed, int width, int64_t n, int64_t *values)
{
    int64_t one_in = uniform(seed, 5, 2000);
    one_range(seed, width, n, values);
    for (int64_t i = 0; i < n; i++) {
        if (uniform(seed, 0, one_in) == 0) {
            values[i] = narrow((int64_t)next_random(seed), width);
        }
    }
}

static void steps(uint64_t *seed, int width, int64_t n, int64_t *values)
{
    uint64_t value = next_random(seed);
    int64_t usual = uniform(seed, -3, 4), one_in = uniform(seed, 2, 100);
    for (int64_t i = 0; i < n; i++) {
        value += (uint64_t)(uniform(seed, 0, one_in) == 0 ? uniform(seed, -9, 10) : usual);
        values[i] = narrow((int64_t)value, width);
    }
}

static void few_distinct(uint64_t *seed, int width, int64_t n, int64_t *values)
{
    int64_t distinct[300];
    int64_t count = uniform(seed, 1, 300);
    any_bits(seed, width, count, distinct);
    for (int64_t i = 0; i < n; i++) {
        values[i] = distinct[uniform(seed, 0, count)];
    }
}

static void long_runs(uint64_t *seed, int width, int64_t n, int64_t *values)
{
    int64_t longest = uniform(seed, 2, 3000), left = 0, value = 0;
    for (int64_t i = 0; i < n; i++, left--) {
        if (left == 0) {
            left = uniform(seed, 1, longest);
            value = narrow((int64_t)next_random(seed), width);
        }
        values[i] = value;
    }
}

static void multiples(uint64_t *seed, int width, int64_t n, int64_t *values)
{
    int64_t factor = uniform(seed, 2, 1000);
    int64_t size = INT64_C(1) << uniform(seed, 1, width < 8 ? 8 * width - 1 : 40);
    for (int64_t i = 0; i < n; i++) {
        values[i] = narrow(7 + factor * uniform(seed, -size, size), width);
    }
}

/* Like the sample at first, and then not. */
static void a_change_of_mind(uint64_t *seed, int width, int64_t n, int64_t *values)
{
    static const shape others[] = {all_the_same, one_range, steps,   few_distinct,
                                   long_runs,    multiples, any_bits};
    int64_t at = uniform(seed, 0, n + 1);
    others[uniform(seed, 0, 7)](seed, width, at, values);
    others[uniform(seed, 0, 7)](seed, width, n - at, values + at);
}

static const shape shapes[] = {any_bits,     all_the_same, one_range, rare_outliers,   steps,
                               few_distinct, long_runs,    multiples, a_change_of_mind};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

/* Memory of exactly this size, so that a sanitizer sees a byte too many. */
static void *take(int64_t bytes)
{
    void *memory = calloc(1, bytes > 0 ? (size_t)bytes : 1);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

/* The low `width` bytes of each. */
static uint8_t *to_bytes(const int64_t *values, int64_t n, int width)
{
    uint8_t *bytes = take(n * width);
    for (int64_t i = 0; i < n; i++) {
        uint64_t value = OCI_LE64((uint64_t)values[i]);
        memcpy(bytes + i * width, &value, (size_t)width);
    }
    return bytes;
}

/* ---- there and back -------------------------------------------------------------------------- */

/* Memory of exactly the vector; encoded in memory of exactly the bound. */
static uint8_t *encode(const uint8_t *values, int64_t n, int width, bool is_signed,
                       oci_int_plan *plan, int64_t *size)
{
    oci_int_array array = {.values = values, .width = width, .is_signed = is_signed};
    oci_int_source source = oci_int_array_source(&array, n);
    int64_t bound = oci_int_vector_bound(n, width);
    uint8_t *packed = take(bound);
    memset(packed, 0xAA, (size_t)bound);
    *size = oci_int_vector_encode(&source, width, plan, packed);
    assert_in_range(*size, 1, bound);
    assert_int_equal(*size % OCI_PACK_ALIGN, 0);
    uint8_t *exact = take(*size);
    memcpy(exact, packed, (size_t)*size);
    free(packed);
    return exact;
}

/* The vector read as words: bit for bit what a source of this type gives. */
static void check_reader(const uint8_t *packed, int64_t size, const uint8_t *values, int64_t n,
                         int width, bool is_signed)
{
    oci_int_array array = {.values = values, .width = width, .is_signed = is_signed};
    oci_int_source source = oci_int_array_source(&array, n);
    oci_int_reader reader;
    oc_error err = {0};
    assert_int_equal(oci_int_reader_open(&reader, packed, size, n, &err), OC_OK);
    assert_int_equal(reader.size, size);
    while (reader.at < n) {
        uint64_t expected[OCI_PAGE_VALUES], back[OCI_PAGE_VALUES];
        int64_t start = reader.at, count = oci_min64(n - start, OCI_PAGE_VALUES);
        source.page(source.arg, start, count, expected);
        assert_int_equal(oci_int_reader_next(&reader, back, count, &err), OC_OK);
        assert_memory_equal(back, expected, (size_t)count * 8);
    }
    assert_int_equal(oci_int_reader_next(&reader, NULL, 0, &err), OC_OK); /* nothing is left */
}

/* Returns the size of the vector. */
static int64_t round_trip(const int64_t *values, int64_t n, int width, bool is_signed,
                          oci_int_plan *plan)
{
    int64_t size = 0, taken = 0;
    oc_error err = {0};
    uint8_t *bytes = to_bytes(values, n, width);
    uint8_t *packed = encode(bytes, n, width, is_signed, plan, &size);
    uint8_t *memory = take(n * width + 1), *back = memory + n % 2; /* at odd addresses as well */
    assert_int_equal(oci_int_vector_decode(packed, size, n, width, back, &taken, &err), OC_OK);
    assert_int_equal(taken, size);
    if (n > 0) {
        assert_memory_equal(back, bytes, (size_t)(n * width));
    }
    check_reader(packed, size, bytes, n, width, is_signed);
    free(bytes);
    free(packed);
    free(memory);
    return size;
}

static void every_shape_comes_back(void **state)
{
    (void)state;
    static const int64_t counts[] = {0,    1,    2,    3,    15,   16,   17,   100,
                                     1023, 1024, 1025, 2047, 2048, 2049, 5000, 8192};
    static const int widths[] = {1, 2, 4, 8};
    int64_t *values = take(ROWS * 8);
    uint64_t seed = 1;
    for (int i = 0; i < 30 * N_SHAPES; i++) {
        int width = widths[i / N_SHAPES % 4];
        oci_int_plan plan = {0};
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            shapes[i % N_SHAPES](&seed, width, counts[c], values);
            round_trip(values, counts[c], width, i % 3 != 0, i % 2 ? &plan : NULL);
        }
    }
    free(values);
}

static void the_ends_of_every_type_come_back(void **state)
{
    (void)state;
    for (int width = 1; width <= 8; width *= 2) {
        int64_t values[100];
        for (int i = 0; i < 100; i++) {
            int64_t top = (int64_t)(oci_low_mask(8 * width) >> 1);
            values[i] = i % 3 == 0 ? top : i % 3 == 1 ? -top - 1 : -1;
        }
        for (int n = 0; n <= 100; n++) {
            round_trip(values, n, width, true, NULL);
            round_trip(values, n, width, false, NULL);
        }
    }
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Bits per value of ROWS values, the exact bytes of which are printed when they are too many. */
static void check_bits(const char *what, const int64_t *values, int width, double most)
{
    int64_t size = round_trip(values, ROWS, width, true, NULL);
    double bits = (double)size * 8 / ROWS;
    if (bits > most) {
        fail_msg("%s: %" PRId64 " bytes, %.3f bits a value, more than %.3f", what, size, bits,
                 most);
    }
}

static void shapes_take_the_bits_they_are_worth(void **state)
{
    (void)state;
    static const int64_t sizes[] = {3, 9, 14, 19, 23, 36, 45, 49};
    static int64_t keys[ROWS], part_keys[ROWS], ranges[ROWS], small[ROWS], counts[ROWS],
        dates[ROWS], lines[ROWS], quantities[ROWS], times[ROWS], leading[ROWS], orders[ROWS];
    uint64_t seed = 7;
    int64_t key = 400000, part_key = 400000, order = 1;
    for (int i = 0; i < ROWS; i++) {
        key += uniform(&seed, 0, 100) < 5 ? uniform(&seed, 2, 10) : 1;
        part_key += uniform(&seed, 0, 100) < 3 ? uniform(&seed, 2, 6) : 1;
        order += uniform(&seed, 0, 4) != 0 ? 0 : order % 8 == 7 ? 25 : 1;
        keys[i] = key;
        part_keys[i] = part_key;
        orders[i] = order;
        ranges[i] = uniform(&seed, -50000, 50000);
        small[i] = sizes[uniform(&seed, 0, 8)];
        counts[i] = 1000000 + i;
        dates[i] = 10000 + i % 1000;
        lines[i] = i % 7;
        quantities[i] = 100 * uniform(&seed, 1, 51);
        times[i] = INT64_C(1700000000000000000) + INT64_C(1000000000) * uniform(&seed, 0, 86400);
        leading[i] = 1 + i / 3000;
    }
    check_bits("steps of 1, one in 20 larger", keys, 8, 0.62);
    check_bits("steps of 1, one in 33 larger", part_keys, 8, 0.45);
    check_bits("sorted keys of four rows each", orders, 8, 1.6);
    check_bits("a range of 100,000", ranges, 4, 17.04);
    check_bits("8 distinct values", small, 4, 3.04);
    check_bits("counting", counts, 8, 0.03);
    check_bits("dates that begin anew every 1000 rows", dates, 4, 0.13);
    check_bits("numbers modulo 7", lines, 4, 3.04);
    check_bits("multiples of 100", quantities, 8, 6.12);
    check_bits("seconds as nanoseconds", times, 8, 17.06);
    check_bits("three long runs", leading, 4, 0.1);
}

static void constants_take_no_more_than_16_bytes(void **state)
{
    (void)state;
    static int64_t values[ROWS];
    for (int i = 0; i < ROWS; i++) {
        values[i] = -1234567890123456789;
    }
    for (int n = 0; n <= ROWS; n = n * 2 + 1) {
        assert_in_range(round_trip(values, n, 8, true, NULL), 8, 16);
    }
}

static void one_huge_value_does_not_widen_its_page(void **state)
{
    (void)state;
    static int64_t values[ROWS];
    uint64_t seed = 13;
    for (int i = 0; i < ROWS; i++) {
        values[i] = uniform(&seed, 0, 256);
    }
    values[2000] = INT64_MAX;
    values[3000] = INT64_MIN;
    check_bits("two outliers", values, 8, 8.1);
}

static void few_values_cost_little_more_than_they_are(void **state)
{
    (void)state;
    int64_t values[128];
    uint64_t seed = 3;
    any_bits(&seed, 8, 128, values);
    for (int n = 1; n <= 128; n++) {
        assert_in_range(round_trip(values, n, 8, true, NULL), n * 8, n * 8 + 24);
    }
}

/* ---- plans ----------------------------------------------------------------------------------- */

static void a_plan_is_kept_until_it_is_bad(void **state)
{
    (void)state;
    static int64_t counting[ROWS], noise[ROWS];
    uint64_t seed = 5;
    oci_int_plan plan = {0};
    for (int i = 0; i < ROWS; i++) {
        counting[i] = i;
        noise[i] = uniform(&seed, 0, 1 << 20);
    }
    int64_t small = round_trip(counting, ROWS, 8, true, &plan);
    assert_int_equal(plan.kind, OCI_INT_DIFFERENCES);
    int64_t left = plan.blocks_left;
    assert_int_equal(round_trip(counting, ROWS, 8, true, &plan), small);
    assert_int_equal(plan.blocks_left, left - 1);

    round_trip(noise, ROWS, 8, true, &plan); /* differences of noise: large, and noticed */
    assert_int_equal(plan.blocks_left, 0);
    int64_t size = round_trip(noise, ROWS, 8, true, &plan);
    assert_int_equal(plan.kind, OCI_INT_PAGES);
    assert_in_range(size, ROWS * 20 / 8, ROWS * 20 / 8 + 64);
}

static void steps_of_few_sizes_take_a_code_each(void **state)
{
    (void)state;
    static int64_t values[ROWS];
    oci_int_plan plan = {0};
    for (int64_t i = 0; i < ROWS; i++) {
        values[i] = 1000000 + i * 3049 % 5000; /* 3049 up, or 1951 down */
    }
    assert_in_range(round_trip(values, ROWS, 8, true, &plan), 1, ROWS / 8 + 64);
    assert_int_equal(plan.kind, OCI_INT_STEPS);

    uint64_t seed = 3;
    for (int64_t i = 1; i < ROWS; i++) { /* a 257th difference in the end: something else then */
        values[i] = values[i - 1] + (i % 256 - 128) * (i % 256 - 128) * 100003;
    }
    values[ROWS - 1] += narrow((int64_t)next_random(&seed), 4);
    assert_in_range(round_trip(values, ROWS, 8, true, &plan), 1, oci_int_vector_bound(ROWS, 8));
    for (int64_t i = 0; i < ROWS; i++) { /* as long as they are all the same, a constant */
        values[i] = -7;
    }
    plan = (oci_int_plan){.kind = OCI_INT_STEPS, .blocks_left = 1, .bits = 16};
    assert_int_equal(round_trip(values, ROWS, 8, true, &plan), 8);
}

static void a_plan_that_fails_is_made_anew(void **state)
{
    (void)state;
    static int64_t few[ROWS], many[ROWS];
    uint64_t seed = 5;
    oci_int_plan plan = {0};
    for (int i = 0; i < ROWS; i++) {
        many[i] = narrow((int64_t)next_random(&seed), 8);
        few[i] = many[i % 256];
    }
    assert_in_range(round_trip(few, ROWS, 8, true, &plan), 1, ROWS + 2200);
    assert_int_equal(plan.kind, OCI_INT_DICTIONARY);
    few[ROWS - 1] = 1; /* the 257th */
    assert_in_range(round_trip(few, ROWS, 8, true, &plan), 1, oci_int_vector_bound(ROWS, 8));
    assert_int_equal(plan.kind, OCI_INT_PAGES);

    plan = (oci_int_plan){0};
    for (int i = 0; i < ROWS; i++) {
        few[i] = uniform(&seed, 0, 100000) * 1000;
    }
    round_trip(few, ROWS, 8, true, &plan);
    assert_int_equal(plan.scale, 1000);
    few[ROWS - 1] = 1;
    round_trip(few, ROWS, 8, true, &plan);
    assert_int_equal(plan.scale, 0);
}

static void no_plan_makes_a_vector_exceed_its_bound(void **state)
{
    (void)state;
    static int64_t noise[ROWS];
    uint64_t seed = 17;
    any_bits(&seed, 8, ROWS, noise); /* modulo 2^64 a multiple of any odd number */
    for (int64_t n = 20; n <= ROWS; n += 681) {
        for (int i = 0; i < 8; i++) {
            oci_int_plan plan = {.kind = (uint8_t)(OCI_INT_PAGES + i / 2),
                                 .blocks_left = 3,
                                 .bits = 16,
                                 .scale = i % 2 ? 3 : 0};
            assert_in_range(round_trip(noise, n, 8, true, &plan), n * 8, n * 8 + n / 100 + 24);
        }
    }
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* A small vector of each kind, with and without exceptions and scale. */
static int64_t kind_of_vector(int which, int64_t n, int64_t *values)
{
    uint64_t seed = (uint64_t)which;
    for (int64_t i = 0; i < n; i++) {
        switch (which) {
        case 0: values[i] = 42; break;
        case 1: values[i] = uniform(&seed, 0, 9); break;
        case 2: values[i] = i % 40 == 3 ? -uniform(&seed, 0, 999) : uniform(&seed, 0, 4); break;
        case 3: values[i] = i * 3 + i / 30 * 1000; break;
        case 4:
            values[i] = (int64_t)((uint64_t)(i * i % 7 % 5) * UINT64_C(0x9E3779B97F4A7C15));
            break;
        case 5: values[i] = i / 100 * 12345; break;
        case 6: values[i] = uniform(&seed, 0, 300) * 86400000; break;
        case 7: values[i] = i * 3049 % 5000; break;
        default: return -1;
        }
    }
    return n;
}

/* Decodes what may be damaged, from memory of exactly its size: any answer will do. */
static void decode_anyhow(const uint8_t *packed, int64_t size, int64_t n)
{
    uint8_t *exact = take(size + 1);
    uint8_t *back = take(n * 8);
    memcpy(exact + 1, packed, (size_t)size);
    int64_t taken = 0;
    oc_error err = {0};
    oc_status status = oci_int_vector_decode(exact + 1, size, n, 8, back, &taken, &err);
    if (status == OC_OK) {
        assert_in_range(taken, 8, size);
    } else {
        assert_int_equal(status, OC_EDATA);
        assert_memory_equal(err.message, "an integer vector is damaged: ", 30);
    }
    free(exact);
    free(back);
}

static void damage_is_refused_or_harmless(void **state)
{
    (void)state;
    static const int64_t counts[] = {20, 1100};
    int64_t values[1100];
    bool kinds[OCI_INT_KINDS] = {false};
    for (int which = 0; kind_of_vector(which, 1100, values) > 0; which++) {
        for (int c = 0; c < 2; c++) {
            int64_t n = counts[c], size = 0;
            uint8_t *bytes = to_bytes(values, n, 8);
            uint8_t *packed = encode(bytes, n, 8, true, NULL, &size);
            kinds[packed[0]] = true;
            for (int64_t bit = 0; bit < size * 8; bit++) {
                packed[bit / 8] ^= (uint8_t)(1 << bit % 8);
                decode_anyhow(packed, size, n);
                packed[bit / 8] ^= (uint8_t)(1 << bit % 8);
            }
            for (int64_t shorter = 0; shorter < size; shorter++) {
                oc_error err = {0};
                uint8_t *cut = take(shorter);
                uint8_t *back = take(n * 8);
                memcpy(cut, packed, (size_t)shorter);
                assert_int_equal(
                    oci_int_vector_decode(cut, shorter, n, 8, back, &(int64_t){0}, &err), OC_EDATA);
                free(cut);
                free(back);
            }
            free(bytes);
            free(packed);
        }
    }
    for (int kind = OCI_INT_CONSTANT; kind < OCI_INT_KINDS; kind++) {
        assert_true(kinds[kind]);
    }
}

static void noise_is_refused_or_harmless(void **state)
{
    (void)state;
    uint64_t seed = 11;
    uint8_t noise[400];
    for (int i = 0; i < 20000; i++) {
        int64_t size = uniform(&seed, 0, sizeof noise);
        for (int64_t k = 0; k < size; k++) {
            noise[k] = (uint8_t)(next_random(&seed) >> (k < 12 ? 61 : 56));
        }
        decode_anyhow(noise, size, uniform(&seed, 1, 2000));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_comes_back),
        cmocka_unit_test(the_ends_of_every_type_come_back),
        cmocka_unit_test(shapes_take_the_bits_they_are_worth),
        cmocka_unit_test(constants_take_no_more_than_16_bytes),
        cmocka_unit_test(one_huge_value_does_not_widen_its_page),
        cmocka_unit_test(few_values_cost_little_more_than_they_are),
        cmocka_unit_test(a_plan_is_kept_until_it_is_bad),
        cmocka_unit_test(steps_of_few_sizes_take_a_code_each),
        cmocka_unit_test(a_plan_that_fails_is_made_anew),
        cmocka_unit_test(no_plan_makes_a_vector_exceed_its_bound),
        cmocka_unit_test(damage_is_refused_or_harmless),
        cmocka_unit_test(noise_is_refused_or_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
