/* Row keys: memcmp of the encoded keys against a plain comparison of the typed values, written
 * independently of the encoding (tests/support/order_reference.h). */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arrow/gather.h"
#include "arrow/row_key.h"
#include "base/bits.h"
#include "base/fault.h"
#include "support/batch_maker.h"
#include "support/column_maker.h"
#include "support/order_reference.h"

static oci_budget *budget;
static oci_mem *mem;

static int set_up(void **unused)
{
    (void)unused;
    assert_int_equal(oci_budget_create(INT64_C(1) << 30, NULL, &budget, NULL), OC_OK);
    assert_int_equal(oci_mem_open(budget, "key test", &mem, NULL), OC_OK);
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    assert_int_equal(oci_mem_held(mem), 0);
    oci_mem_close(mem);
    oci_budget_destroy(budget);
    assert_int_equal(arrow_maker_live(), 0);
    return 0;
}

static uint64_t next_random(uint64_t *state)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static int sign_of(int64_t value)
{
    return (value > 0) - (value < 0);
}

static int compare_keys(const oci_row_keys *keys, int64_t i, int64_t j)
{
    int64_t size_i;
    int64_t size_j;
    const uint8_t *key_i = oci_row_key_at(keys, i, &size_i);
    const uint8_t *key_j = oci_row_key_at(keys, j, &size_j);
    int64_t common = oci_min64(size_i, size_j);
    int order = common == 0 ? 0 : memcmp(key_i, key_j, (size_t)common);
    if (order == 0) {
        assert_int_equal(size_i, size_j); /* or one would be a prefix of the other */
    }
    return order;
}

static oci_row_keys encode(const oci_batch *batch, const oci_sort_key *keys, int32_t n_keys)
{
    oci_row_keys out = {0};
    oc_error err = {0};
    int64_t bytes = -1;
    int64_t before = oci_mem_held(mem);
    assert_int_equal(oci_row_key_check(batch->schema, keys, n_keys, NULL), OC_OK);
    if (oci_row_keys_size(batch, keys, n_keys, &bytes, &err) != OC_OK ||
        oci_row_keys_encode(batch, keys, n_keys, mem, NULL, &out, &err) != OC_OK) {
        fail_msg("could not encode: %s", err.message);
    }
    assert_int_equal(oci_mem_held(mem) - before, oci_mem_charge_of(bytes));
    assert_int_equal(out.length, batch->length);
    assert_int_equal(out.stride, oci_row_key_stride(batch->schema, keys, n_keys));
    return out;
}

static void check_order(const oci_batch *batch, const oci_sort_key *keys, int32_t n_keys)
{
    oci_row_keys encoded = encode(batch, keys, n_keys);
    for (int64_t i = 0; i < batch->length; i++) {
        for (int64_t j = 0; j < batch->length; j++) {
            int order = compare_keys(&encoded, i, j);
            int wanted = order_of_rows(batch, i, batch, j, keys, n_keys);
            if (sign_of(order) != sign_of(wanted)) {
                fail_msg("rows %lld and %lld of type %s: keys %d, values %d", (long long)i,
                         (long long)j, oci_type_name(batch->columns[keys[0].column].field->type),
                         order, wanted);
            }
        }
    }
    oci_row_keys_deinit(&encoded);
}

static void check_same_keys(const oci_row_keys *a, const oci_row_keys *b)
{
    assert_int_equal(a->length, b->length);
    for (int64_t i = 0; i < a->length; i++) {
        int64_t size[2];
        const uint8_t *first = oci_row_key_at(a, i, &size[0]);
        const uint8_t *second = oci_row_key_at(b, i, &size[1]);
        assert_int_equal(size[0], size[1]);
        assert_memory_equal(first, second, (size_t)size[0]);
    }
}

/* Ascending and descending, nulls first and last; alone, and in front of and behind a var-length
 * column 1. */
static void check_all_orders(const oci_batch *batch)
{
    for (int bits = 0; bits < 4; bits++) {
        oci_sort_key key = {.column = 0, .descending = bits & 1, .nulls_first = bits & 2};
        check_order(batch, &key, 1);
        if (batch->schema->n_fields > 1) {
            oci_sort_key other = {.column = 1, .descending = bits & 2, .nulls_first = bits & 1};
            check_order(batch, (oci_sort_key[]){key, other}, 2);
            check_order(batch, (oci_sort_key[]){other, key}, 2);
        }
    }
}

static arrow_maker random_maker(uint64_t *state, int64_t length)
{
    static const int32_t null_percents[] = {0, 5, 40, 100};
    uint64_t bits = next_random(state);
    return (arrow_maker){
        .seed = next_random(state),
        .length = length,
        .null_percent = null_percents[next_random(state) % 4],
        .distinct = bits & 1 ? 0 : 8,
        .string_max = bits & 2 ? 0 : 40,
        .offset = bits & 4 ? (int64_t)(next_random(state) % 70) : 0,
        .struct_offset = bits & 8 ? (int64_t)(next_random(state) % 70) : 0,
        .garbage = bits & 16,
        .unaligned = bits & 32,
        .hide_null_count = bits & 64,
        .always_validity = bits & 128,
    };
}

/* ---- order ----------------------------------------------------------------------------------- */

static void keys_order_values_of_every_type(void **unused)
{
    (void)unused;
    static const int64_t lengths[] = {0, 1, 2, 40, 65};
    for (int32_t k = 0; k < arrow_maker_n_formats; k++) {
        for (uint64_t seed = 0; seed < 15; seed++) {
            uint64_t state = seed * 100 + (uint64_t)k;
            arrow_maker maker = random_maker(&state, lengths[seed % 5]);
            const char *columns[] = {arrow_maker_formats[k], "z"};
            oci_batch *batch = make_batch(columns, 2, &maker);
            check_all_orders(batch);
            oci_batch_release(batch);
        }
    }
}

static void keys_order_rows_by_many_columns(void **unused)
{
    (void)unused;
    for (uint64_t seed = 0; seed < 150; seed++) {
        uint64_t state = seed;
        oci_sort_key keys[6];
        arrow_maker maker = random_maker(&state, 50);
        maker.distinct = seed % 3 ? 2 : 0;
        oci_batch *batch = make_batch(arrow_maker_formats, arrow_maker_n_formats, &maker);
        int32_t n_keys = (int32_t)(next_random(&state) % 7);
        for (int32_t k = 0; k < n_keys; k++) {
            uint64_t bits = next_random(&state);
            keys[k] = (oci_sort_key){.column = (int32_t)(bits % (uint64_t)arrow_maker_n_formats),
                                     .descending = bits >> 32 & 1,
                                     .nulls_first = bits >> 33 & 1};
        }
        check_order(batch, keys, n_keys);
        oci_batch_release(batch);
    }
}

static void keys_are_right_across_blocks_of_rows(void **unused)
{
    (void)unused;
    uint64_t state = 1;
    for (int round = 0; round < 3; round++) {
        arrow_maker maker = random_maker(&state, 3000);
        oci_batch *batch = make_batch(arrow_maker_formats, arrow_maker_n_formats, &maker);
        for (int32_t c = 0; c < arrow_maker_n_formats; c++) {
            oci_sort_key keys[2] = {{.column = c, .descending = c & 1, .nulls_first = c & 2},
                                    {.column = 20}};
            for (int32_t n_keys = 1; n_keys <= 2; n_keys++) {
                oci_row_keys encoded = encode(batch, keys, n_keys);
                for (int64_t i = 0; i < 20000; i++) {
                    int64_t a = (int64_t)(next_random(&state) % 3000);
                    int64_t b = i < 2999 ? (i * 7 + 1) % 3000
                                         : (int64_t)(next_random(&state) % 3000);
                    assert_int_equal(sign_of(compare_keys(&encoded, a, b)),
                                     sign_of(order_of_rows(batch, a, batch, b, keys, n_keys)));
                }
                oci_row_keys_deinit(&encoded);
            }
        }
        oci_batch_release(batch);
    }
}

/* Values of a fixed-width type put under a column of that type. */
static void check_edges(const char *format, const void *values, int64_t n)
{
    oci_batch *batch = make_column_batch(format, &(arrow_maker){.length = n});
    oci_column saved = batch->columns[0];
    batch->columns[0].values = values;
    batch->columns[0].offset = 0;
    check_all_orders(batch);
    batch->columns[0] = saved;
    oci_batch_release(batch);
}

#define COUNT(array) ((int64_t)(sizeof(array) / sizeof(array)[0]))

static void keys_order_integers_at_their_edges(void **unused)
{
    (void)unused;
    static const uint64_t edges[] = {0,
                                     1,
                                     2,
                                     0x7E,
                                     0x7F,
                                     0x80,
                                     0x81,
                                     0xFF,
                                     0x100,
                                     0x7FFF,
                                     0x8000,
                                     0x8001,
                                     0xFFFF,
                                     0x10000,
                                     0x7FFFFFFF,
                                     0x80000000,
                                     0x80000001,
                                     0xFFFFFFFF,
                                     UINT64_C(0x100000000),
                                     UINT64_C(0x7FFFFFFFFFFFFFFF),
                                     UINT64_C(0x8000000000000000),
                                     UINT64_C(0x8000000000000001),
                                     UINT64_C(0xFFFFFFFFFFFFFF00),
                                     UINT64_C(0xFFFFFFFFFFFFFFFE),
                                     UINT64_C(0xFFFFFFFFFFFFFFFF)};
    static const char *const formats[] = {
        "c",   "C",   "s",   "S",   "i",   "I",   "l",    "L",        "tdD",      "tdm",
        "tts", "ttm", "ttu", "ttn", "tDn", "tiM", "tss:", "d:9,2,32", "d:18,4,64"};
    static const int64_t widths[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 4, 4, 8, 8, 8, 4, 8, 4, 8};
    for (int64_t f = 0; f < COUNT(formats); f++) {
        uint8_t values[COUNT(edges) * 8];
        for (int64_t i = 0; i < COUNT(edges); i++) {
            memcpy(values + i * widths[f], &edges[i], (size_t)widths[f]);
        }
        check_edges(formats[f], values, COUNT(edges));
    }
}

static void keys_order_decimals_at_their_edges(void **unused)
{
    (void)unused;
    static const uint64_t words[] = {0, 1, UINT64_C(1) << 63, UINT64_MAX, UINT64_MAX >> 1};
    uint64_t values128[25 * 2];
    uint64_t values256[625 * 4];
    for (int i = 0; i < 25; i++) {
        values128[i * 2] = words[i % 5];
        values128[i * 2 + 1] = words[i / 5];
    }
    for (int i = 0; i < 625; i++) {
        for (int w = 0, rest = i; w < 4; w++, rest /= 5) {
            values256[i * 4 + w] = words[rest % 5];
        }
    }
    check_edges("d:38,10", values128, 25);
    check_edges("d:76,20,256", values256, 625);
}

static void keys_order_floats_with_zeros_and_nans(void **unused)
{
    (void)unused;
    static const uint64_t doubles[] = {0,
                                       UINT64_C(0x8000000000000000),
                                       1,
                                       UINT64_C(0x8000000000000001),
                                       UINT64_C(0x3FF0000000000000),
                                       UINT64_C(0xBFF0000000000000),
                                       UINT64_C(0x000FFFFFFFFFFFFF),
                                       UINT64_C(0x0010000000000000),
                                       UINT64_C(0x7FEFFFFFFFFFFFFF),
                                       UINT64_C(0xFFEFFFFFFFFFFFFF),
                                       UINT64_C(0x7FF0000000000000),
                                       UINT64_C(0xFFF0000000000000),
                                       UINT64_C(0x7FF0000000000001),
                                       UINT64_C(0xFFF0000000000001),
                                       UINT64_C(0x7FF8000000000000),
                                       UINT64_C(0xFFFFFFFFFFFFFFFF),
                                       UINT64_C(0x7FFFFFFFFFFFFFFF)};
    static const uint32_t floats[] = {0,          0x80000000, 1,          0x80000001, 0x3F800000,
                                      0xBF800000, 0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0xFF7FFFFF,
                                      0x7F800000, 0xFF800000, 0x7F800001, 0xFF800001, 0x7FC00000,
                                      0xFFFFFFFF, 0x7FFFFFFF};
    uint16_t *halves = malloc(4096 * sizeof *halves);
    check_edges("g", doubles, COUNT(doubles));
    check_edges("f", floats, COUNT(floats));
    for (int step = 0; step < 2; step++) {
        for (uint32_t i = 0; i < 512; i++) { /* every 128th, and those around each power of two */
            halves[i] = (uint16_t)(step ? i * 128 : (i / 8) * 1024 + i % 8 - 4);
        }
        check_edges("e", halves, 512);
    }
    free(halves);
}

static void keys_order_intervals_by_normalised_length(void **unused)
{
    (void)unused;
    static const int32_t numbers[] = {0, 1, -1, 30, -30, 31, 360, INT32_MAX, INT32_MIN};
    static const int64_t nanos[] = {
        0, 1, -1, INT64_C(86400000000000), -INT64_C(2592000000000000), INT64_MAX, INT64_MIN};
    int32_t day_time[11 * 11][2];
    uint8_t all[9 * 9 * 7 * 16];
    static const int32_t millis[] = {0,        1,         -1,        86400000, -86400000,
                                     86399999, INT32_MAX, INT32_MIN, 5};
    for (int i = 0; i < 81; i++) {
        day_time[i][0] = numbers[i / 9];
        day_time[i][1] = millis[i % 9];
    }
    check_edges("tiD", day_time, 81);
    for (int i = 0; i < 9 * 9 * 7; i++) {
        memcpy(all + i * 16, &numbers[i / 63], 4);
        memcpy(all + i * 16 + 4, &numbers[i / 7 % 9], 4);
        memcpy(all + i * 16 + 8, &nanos[i % 7], 8);
    }
    check_edges("tin", all, 9 * 9 * 7);
}

/* All strings of up to 4 bytes over an alphabet with the bytes that the escape is about. */
static void keys_order_strings_with_zero_bytes_and_prefixes(void **unused)
{
    (void)unused;
    static const uint8_t alphabet[] = {0x00, 0x01, 0x61, 0xFF};
    uint8_t bytes[341 * 4];
    int32_t offsets[342] = {0};
    int64_t n = 0;
    for (int length = 0, count = 1; length <= 4; length++, count *= 4) {
        for (int i = 0; i < count; i++) {
            int32_t end = offsets[n];
            for (int k = 0, rest = i; k < length; k++, rest /= 4) {
                bytes[end++] = alphabet[rest % 4];
            }
            offsets[++n] = end;
        }
    }
    assert_int_equal(n, 341);
    const char *columns[] = {"z", "u"};
    oci_batch *batch = make_batch(columns, 2, &(arrow_maker){.length = n, .distinct = 3});
    oci_column saved = batch->columns[0];
    batch->columns[0].values = (const uint8_t *)offsets;
    batch->columns[0].bytes = bytes;
    check_all_orders(batch);
    batch->columns[0] = saved;
    oci_batch_release(batch);
}

/* Zeros at every place of strings of every length: all ways of copying. */
static void keys_order_strings_of_every_length(void **unused)
{
    (void)unused;
    uint8_t bytes[64 * 70];
    int32_t offsets[71] = {0};
    oci_batch *batch = make_column_batch("z", &(arrow_maker){.length = 70});
    oci_column saved = batch->columns[0];
    batch->columns[0].values = (const uint8_t *)offsets;
    batch->columns[0].bytes = bytes;
    for (int zero_at = -1; zero_at < 64; zero_at += zero_at < 20 ? 1 : 7) {
        for (int i = 0; i < 70; i++) {
            offsets[i + 1] = offsets[i] + i % 64;
        }
        for (int32_t i = 0; i < offsets[70]; i++) {
            bytes[i] = (uint8_t)('a' + i % 5);
        }
        for (int i = 0; i < 70 && zero_at >= 0; i++) {
            bytes[offsets[i] + (zero_at < i % 64 ? zero_at : 0)] = 0;
        }
        check_all_orders(batch);
    }
    batch->columns[0] = saved;
    oci_batch_release(batch);
}

/* ---- form ------------------------------------------------------------------------------------ */

static void keys_do_not_depend_on_how_values_lie(void **unused)
{
    (void)unused;
    static const char *const same[][4] = {
        {"u", "U", "vu", "S>vu"}, {"z", "Z", "vz", "C>z"}, {"l", "l", "l", "l"}};
    for (int k = 0; k < 3; k++) {
        for (uint64_t seed = 0; seed < 30; seed++) {
            oci_row_keys first = {0};
            for (int way = 0; way < 4; way++) {
                uint64_t state = seed * 10 + (uint64_t)way;
                arrow_maker maker = random_maker(&state, 300);
                maker.seed = seed;
                maker.null_percent = seed % 2 ? 20 : 0;
                maker.distinct = 30;
                maker.string_max = 0;
                oci_sort_key key = {.descending = seed % 3 == 0};
                oci_batch *batch = make_column_batch(same[k][way], &maker);
                oci_row_keys keys = encode(batch, &key, 1);
                if (way > 0) {
                    check_same_keys(&first, &keys);
                }
                oci_batch_release(batch);
                if (way == 0) {
                    first = keys;
                } else {
                    oci_row_keys_deinit(&keys);
                }
            }
            oci_row_keys_deinit(&first);
        }
    }
}

static void check_one_key(const char *format, const void *values, const void *bytes,
                          oci_sort_key key, const char *expected, int64_t size)
{
    oci_batch *batch = make_column_batch(format, &(arrow_maker){.length = 1});
    oci_column saved = batch->columns[0];
    int64_t got = 0;
    batch->columns[0].values = values;
    batch->columns[0].bytes = bytes;
    oci_row_keys keys = encode(batch, &key, 1);
    const uint8_t *at = oci_row_key_at(&keys, 0, &got);
    assert_int_equal(got, size);
    assert_memory_equal(at, expected, (size_t)size);
    batch->columns[0] = saved;
    oci_row_keys_deinit(&keys);
    oci_batch_release(batch);
}

static void keys_have_the_documented_bytes(void **unused)
{
    (void)unused;
    static const int32_t offsets[] = {0, 3};
    check_one_key("i", &(int32_t){-2}, NULL, (oci_sort_key){0}, "\x01\x7F\xFF\xFF\xFE", 5);
    check_one_key("i", &(int32_t){-2}, NULL, (oci_sort_key){.descending = true},
                  "\x01\x80\x00\x00\x01", 5);
    check_one_key("g", &(double){-0.0}, NULL, (oci_sort_key){0}, "\x01\x80\0\0\0\0\0\0\0", 9);
    check_one_key("u", offsets, "a\0b", (oci_sort_key){0},
                  "\x01"
                  "a\0\xFF"
                  "b\0\0",
                  7);
    check_one_key("u", offsets, "a\0b", (oci_sort_key){.descending = true},
                  "\x01\x9E\xFF\0\x9D\xFF\xFF", 7);
    oci_batch *batch = make_column_batch("s", &(arrow_maker){.length = 1, .null_percent = 100});
    oci_row_keys keys = encode(batch, &(oci_sort_key){.nulls_first = true}, 1);
    assert_memory_equal(keys.bytes, "\0\0\0", 3);
    oci_row_keys_deinit(&keys);
    keys = encode(batch, &(oci_sort_key){.descending = true}, 1);
    assert_memory_equal(keys.bytes, "\x02\0\0", 3);
    oci_row_keys_deinit(&keys);
    oci_batch_release(batch);
}

static void keys_of_no_columns_are_empty(void **unused)
{
    (void)unused;
    oci_batch *batch = make_column_batch("l", &(arrow_maker){.length = 3});
    oci_row_keys keys = encode(batch, NULL, 0);
    for (int64_t i = 0; i < 3; i++) {
        int64_t size = -1;
        (void)oci_row_key_at(&keys, i, &size);
        assert_int_equal(size, 0);
    }
    oci_row_keys_deinit(&keys);
    oci_row_keys_deinit(&keys); /* zeroed by the first */
    oci_batch_release(batch);
}

/* ---- nested ---------------------------------------------------------------------------------- */

static made_choices random_choices(uint64_t seed, uint8_t *bytes, int64_t size)
{
    uint64_t state = seed;
    for (int64_t i = 0; i + 8 <= size; i += 8) {
        oci_store_le64(bytes + i, next_random(&state));
    }
    return (made_choices){.bytes = bytes, .size = size};
}

/* The keys of a slice are those of its rows in the whole. */
static void check_slice(oci_batch *batch, const oci_sort_key *keys, int32_t n_keys, uint64_t bits)
{
    oci_batch *slice = NULL;
    int64_t start = (int64_t)(bits % (uint64_t)(batch->length + 1));
    int64_t length = (int64_t)(bits / 64 % (uint64_t)(batch->length - start + 1));
    assert_int_equal(oci_batch_slice(batch, start, length, &slice, NULL), OC_OK);
    oci_row_keys whole = encode(batch, keys, n_keys);
    oci_row_keys part = encode(slice, keys, n_keys);
    for (int64_t i = 0; i < length; i++) {
        int64_t size[2];
        const uint8_t *a = oci_row_key_at(&whole, start + i, &size[0]);
        const uint8_t *b = oci_row_key_at(&part, i, &size[1]);
        assert_int_equal(size[0], size[1]);
        assert_memory_equal(a, b, (size_t)size[0]);
    }
    oci_row_keys_deinit(&whole);
    oci_row_keys_deinit(&part);
    oci_batch_release(slice);
}

static void keys_order_values_of_random_type_trees(void **unused)
{
    (void)unused;
    enum { BYTES = 1 << 15 };
    uint8_t *bytes = malloc(BYTES);
    for (uint64_t seed = 0; seed < 300; seed++) {
        made_choices choices = random_choices(seed, bytes, BYTES);
        int32_t depth = (int32_t)(seed % 5);
        oci_batch *batch = choose_typed_batch(&choices, 3, depth, choose(&choices, 33));
        assert_int_equal(oci_batch_validate(batch, NULL), OC_OK);
        check_all_orders(batch);
        for (int round = 0; round < 3; round++) {
            oci_sort_key keys[4];
            int32_t n_keys = 1 + choose(&choices, 4);
            for (int32_t k = 0; k < n_keys; k++) {
                keys[k] = (oci_sort_key){.column = choose(&choices, 3),
                                         .descending = choose(&choices, 2),
                                         .nulls_first = choose(&choices, 2)};
            }
            check_order(batch, keys, n_keys);
            check_slice(batch, keys, n_keys, seed * 77 + (uint64_t)round);
        }
        oci_batch_release(batch);
    }
    free(bytes);
}

/* More rows than are looked up at a time. */
static void keys_of_nested_columns_are_right_across_blocks_of_rows(void **unused)
{
    (void)unused;
    enum { BYTES = 1 << 20 };
    uint8_t *bytes = malloc(BYTES);
    for (uint64_t seed = 0; seed < 8; seed++) {
        made_choices choices = random_choices(seed, bytes, BYTES);
        oci_batch *batch = choose_typed_batch(&choices, 4, 2, 900);
        for (int32_t k = 0; k < 4; k++) {
            oci_sort_key key = {.column = k, .descending = seed & 1, .nulls_first = seed & 2};
            check_order(batch, &key, 1);
        }
        oci_batch_release(batch);
    }
    free(bytes);
}

/* The same values in other places, and in working form, have the same keys. */
static void check_other_forms(const char *format, arrow_maker maker, const oci_row_keys *keys,
                              const oci_sort_key *key, uint64_t *state)
{
    oci_schema *working = NULL;
    oci_batch *copy = NULL;
    arrow_maker other = random_maker(state, maker.length);
    other.seed = maker.seed;
    other.null_percent = maker.null_percent;
    other.distinct = maker.distinct;
    other.string_max = maker.string_max;
    oci_batch *batch = make_column_batch(format, &other);
    oci_row_keys other_keys = encode(batch, key, 1);
    check_same_keys(keys, &other_keys);
    assert_int_equal(oci_schema_working(batch->schema, &working, NULL), OC_OK);
    assert_int_equal(oci_gather_range(working, batch, 0, batch->length, 0, mem, NULL, &copy, NULL),
                     OC_OK);
    oci_row_keys copy_keys = encode(copy, key, 1);
    check_same_keys(keys, &copy_keys);
    oci_row_keys_deinit(&other_keys);
    oci_row_keys_deinit(&copy_keys);
    oci_batch_release(batch);
    oci_batch_release(copy);
    oci_schema_release(working);
}

static void check_format(const char *format, uint64_t seed)
{
    uint64_t state = seed;
    arrow_maker maker = random_maker(&state, (int64_t)(next_random(&state) % 50));
    oci_sort_key key = {.descending = seed & 1, .nulls_first = seed & 2};
    oci_batch *batch = make_column_batch(format, &maker);
    bool has_order = strstr(format, "+m") == NULL && strstr(format, "+u") == NULL;
    assert_int_equal(oci_row_key_check(batch->schema, &key, 1, NULL),
                     has_order ? OC_OK : OC_EUNSUPPORTED);
    if (has_order) {
        oci_row_keys keys = encode(batch, &key, 1);
        check_all_orders(batch);
        check_other_forms(format, maker, &keys, &key, &state);
        oci_row_keys_deinit(&keys);
    }
    oci_batch_release(batch);
}

static void keys_of_imported_nested_columns_do_not_depend_on_how_values_lie(void **unused)
{
    (void)unused;
    char text[2000];
    for (int32_t k = 0; k < arrow_maker_n_nested_formats; k++) {
        for (uint64_t seed = 0; seed < 8; seed++) {
            check_format(arrow_maker_nested_formats[k], seed * 1000 + (uint64_t)k);
        }
    }
    for (uint64_t seed = 0; seed < 200; seed++) {
        arrow_make_column_text(seed, (int32_t)(1 + seed % 3), text, sizeof text);
        check_format(text, seed);
    }
}

static oci_field *add_field(oci_field *parent, const char *name, oci_type type)
{
    parent->children =
        realloc(parent->children, ((size_t)parent->n_children + 1) * sizeof *parent->children);
    oci_field *child = &parent->children[parent->n_children++];
    assert_int_equal(oci_field_init(child, name, type, true, NULL), OC_OK);
    return child;
}

/* A batch of the one column `column`, which gets `field`; takes what the field points to. */
static oci_batch *one_column(oci_field field, oci_column column)
{
    oci_schema *schema = NULL;
    oci_batch *batch = NULL;
    oci_field *fields = malloc(sizeof *fields);
    oci_column *columns = malloc(sizeof *columns);
    fields[0] = field;
    assert_int_equal(oci_schema_create(fields, 1, NULL, 0, &schema, NULL), OC_OK);
    columns[0] = column;
    columns[0].field = &fields[0];
    assert_int_equal(
        oci_batch_adopt(schema, column.length, columns, NULL, NULL, 0, NULL, 0, &batch, NULL),
        OC_OK);
    oci_schema_release(schema);
    return batch;
}

static oci_field make_field(oci_type type)
{
    oci_field field;
    assert_int_equal(oci_field_init(&field, "a", type, true, NULL), OC_OK);
    return field;
}

/* The columns `child` get their fields from those of `batch`'s only column. */
static void tie_children(oci_batch *batch, oci_column *children)
{
    oci_column *column = &batch->columns[0];
    for (int32_t i = 0; i < column->field->n_children; i++) {
        children[i].field = &column->field->children[i];
    }
    column->children = children;
}

/* Rows that are told in ascending order, each larger than the one before; the last is null as a
 * whole. */
static void check_told_order(const oci_batch *batch)
{
    int64_t last = batch->length - 1;
    for (int bits = 0; bits < 4; bits++) {
        oci_sort_key key = {.descending = bits & 1, .nulls_first = bits & 2};
        oci_row_keys keys = encode(batch, &key, 1);
        for (int64_t i = 0; i + 1 < last; i++) {
            assert_int_equal(sign_of(compare_keys(&keys, i, i + 1)), key.descending ? 1 : -1);
        }
        for (int64_t i = 0; i < last; i++) {
            assert_int_equal(sign_of(compare_keys(&keys, i, last)), key.nulls_first ? 1 : -1);
        }
        oci_row_keys_deinit(&keys);
    }
}

/* [], [1], [1, 2], [1, null], [2], [null], [null, 1], null */
static void keys_order_lists_by_elements_then_length(void **unused)
{
    (void)unused;
    static const int8_t values[] = {1, 1, 2, 1, 0, 2, 0, 0, 1, 7, 7};
    static const uint8_t valid[] = {0x2F, 0x07}; /* all but 4, 6, 7 */
    static const int32_t offsets[] = {0, 0, 1, 3, 5, 6, 7, 9, 11};
    static const uint8_t outer[] = {0x7F};
    oci_field field = make_field(OCI_TYPE_LIST);
    (void)add_field(&field, "item", OCI_TYPE_INT8);
    oci_batch *batch = one_column(field, (oci_column){.length = 8,
                                                      .null_count = 1,
                                                      .validity = outer,
                                                      .values = (const uint8_t *)offsets});
    oci_column child = {
        .length = 11, .null_count = -1, .validity = valid, .values = (const uint8_t *)values};
    tie_children(batch, &child);
    assert_int_equal(oci_batch_validate(batch, NULL), OC_OK);
    check_told_order(batch);
    check_all_orders(batch);
    oci_batch_release(batch);
}

/* {1, "a"}, {1, "ab"}, {1, null}, {2, ""}, {null, "a"}, {null, null}, null */
static void keys_order_structs_by_fields(void **unused)
{
    (void)unused;
    static const int8_t numbers[] = {1, 1, 1, 2, 9, 3, 9};
    static const int32_t offsets[] = {0, 1, 3, 4, 4, 5, 6, 6};
    static const uint8_t number_valid[] = {0x4F};
    static const uint8_t text_valid[] = {0x5B};
    static const uint8_t outer[] = {0x3F};
    oci_field field = make_field(OCI_TYPE_STRUCT);
    (void)add_field(&field, "x", OCI_TYPE_INT8);
    (void)add_field(&field, "y", OCI_TYPE_UTF8);
    oci_batch *batch =
        one_column(field, (oci_column){.length = 7, .null_count = 1, .validity = outer});
    oci_column children[2] = {{.length = 7,
                               .null_count = -1,
                               .validity = number_valid,
                               .values = (const uint8_t *)numbers},
                              {.length = 7,
                               .null_count = -1,
                               .validity = text_valid,
                               .values = (const uint8_t *)offsets,
                               .bytes = (const uint8_t *)"aabzaz"}};
    tie_children(batch, children);
    assert_int_equal(oci_batch_validate(batch, NULL), OC_OK);
    check_told_order(batch);
    check_all_orders(batch);
    oci_batch_release(batch);
}

/* All lists of up to 2 strings of up to 2 bytes that escaping is about. */
static void keys_order_lists_of_strings_with_zero_bytes(void **unused)
{
    (void)unused;
    static const uint8_t alphabet[] = {0x00, 0x01, 0xFF};
    enum { STRINGS = 13, LISTS = 1 + STRINGS + STRINGS * STRINGS };
    uint8_t strings[STRINGS][3] = {{0}}; /* length, bytes */
    uint8_t bytes[LISTS * 4];
    int32_t ends[LISTS * 2 + 1] = {0};
    int32_t offsets[LISTS + 1] = {0};
    int32_t n = 0;
    for (int i = 0; i < 3; i++) {
        memcpy(strings[1 + i], (uint8_t[]){1, alphabet[i], 0}, 3);
        for (int j = 0; j < 3; j++) {
            memcpy(strings[4 + i * 3 + j], (uint8_t[]){2, alphabet[i], alphabet[j]}, 3);
        }
    }
    for (int i = 0; i < LISTS; i++) {
        int parts[2] = {i <= STRINGS ? i - 1 : (i - 1 - STRINGS) / STRINGS,
                        i <= STRINGS ? -1 : (i - 1 - STRINGS) % STRINGS};
        for (int k = 0; k < 2 && parts[k] >= 0; k++) {
            memcpy(bytes + ends[n], strings[parts[k]] + 1, strings[parts[k]][0]);
            ends[n + 1] = ends[n] + strings[parts[k]][0];
            n++;
        }
        offsets[i + 1] = n;
    }
    oci_field field = make_field(OCI_TYPE_LIST);
    (void)add_field(&field, "item", OCI_TYPE_BINARY);
    oci_batch *batch =
        one_column(field, (oci_column){.length = LISTS, .values = (const uint8_t *)offsets});
    oci_column child = {.length = n, .values = (const uint8_t *)ends, .bytes = bytes};
    tie_children(batch, &child);
    check_all_orders(batch);
    oci_batch_release(batch);
}

/* A null is larger than NaN, which is larger than infinity; zeros are equal. */
static void keys_order_floats_in_lists_like_floats(void **unused)
{
    (void)unused;
    static const uint64_t values[] = {UINT64_C(0xFFF0000000000000), /* -infinity */
                                      UINT64_C(0x8000000000000000),
                                      0,
                                      1,
                                      UINT64_C(0x7FF0000000000000),
                                      UINT64_C(0x7FF8000000000000), /* NaNs */
                                      UINT64_C(0xFFF8000000000001),
                                      UINT64_C(0x7FF4000000000000),
                                      0};
    static const int steps[] = {1, 0, 1, 1, 1, 0, 0, 1};
    static const uint8_t valid[] = {0xFF, 0};
    static const int64_t offsets[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    for (int bits = 0; bits < 4; bits++) {
        oci_field field = make_field(OCI_TYPE_LARGE_LIST);
        (void)add_field(&field, "item", OCI_TYPE_FLOAT64);
        oci_batch *batch =
            one_column(field, (oci_column){.length = 9, .values = (const uint8_t *)offsets});
        oci_column child = {
            .length = 9, .null_count = 1, .validity = valid, .values = (const uint8_t *)values};
        tie_children(batch, &child);
        oci_sort_key key = {.descending = bits & 1, .nulls_first = bits & 2};
        oci_row_keys keys = encode(batch, &key, 1);
        for (int i = 0; i < 8; i++) {
            assert_int_equal(sign_of(compare_keys(&keys, i, i + 1)),
                             key.descending ? steps[i] : -steps[i]);
        }
        oci_row_keys_deinit(&keys);
        check_all_orders(batch);
        oci_batch_release(batch);
    }
}

static void expect_key(const oci_batch *batch, oci_sort_key key, int64_t row, const char *expected,
                       int64_t size)
{
    int64_t got = 0;
    oci_row_keys keys = encode(batch, &key, 1);
    const uint8_t *at = oci_row_key_at(&keys, row, &got);
    assert_int_equal(got, size);
    assert_memory_equal(at, expected, (size_t)size);
    oci_row_keys_deinit(&keys);
}

/* [{"x": 3}, {"x": null}, null] and null; nulls of a width are followed by zeros. */
static void nested_keys_have_the_documented_bytes(void **unused)
{
    (void)unused;
    static const uint8_t values[] = {3, 9, 9};
    static const uint8_t struct_valid[] = {0x03};
    static const uint8_t value_valid[] = {0x01};
    static const uint8_t outer[] = {0x01};
    static const int32_t offsets[] = {0, 3, 3};
    oci_field field = make_field(OCI_TYPE_LIST);
    (void)add_field(add_field(&field, "item", OCI_TYPE_STRUCT), "x", OCI_TYPE_INT8);
    oci_batch *batch = one_column(field, (oci_column){.length = 2,
                                                      .null_count = 1,
                                                      .validity = outer,
                                                      .values = (const uint8_t *)offsets});
    oci_column leaf = {.length = 3, .null_count = -1, .validity = value_valid, .values = values};
    oci_column child = {.length = 3, .null_count = -1, .validity = struct_valid, .children = &leaf};
    tie_children(batch, &child);
    leaf.field = &child.field->children[0];
    expect_key(batch, (oci_sort_key){0}, 0, "\x01\x01\x01\x83\x01\x02\x00\x02\x00", 9);
    expect_key(batch, (oci_sort_key){.descending = true}, 0, "\x01\xFE\xFE\x7C\xFE\xFD\xFF\xFD\xFF",
               9);
    expect_key(batch, (oci_sort_key){0}, 1, "\x02", 1);
    expect_key(batch, (oci_sort_key){.descending = true, .nulls_first = true}, 1, "\x00", 1);
    oci_batch_release(batch);
}

/* As deep as types may be, on a small stack. */
static void *encode_deepest(void *unused)
{
    static const int32_t offsets[] = {0, 1};
    static const int8_t value[] = {5};
    oci_field field = make_field(OCI_TYPE_LIST);
    oci_field *at = &field;
    oci_column columns[OCI_NESTING_MAX];
    for (int i = 1; i < OCI_NESTING_MAX; i++) {
        at = add_field(at, "item", i + 1 < OCI_NESTING_MAX ? OCI_TYPE_LIST : OCI_TYPE_INT8);
        columns[i] = (oci_column){.length = 1, .values = (const uint8_t *)offsets};
    }
    columns[OCI_NESTING_MAX - 1].values = (const uint8_t *)value;
    oci_batch *batch =
        one_column(field, (oci_column){.length = 1, .values = (const uint8_t *)offsets});
    tie_children(batch, &columns[1]);
    for (int i = 1; i + 1 < OCI_NESTING_MAX; i++) {
        columns[i].children = &columns[i + 1];
        columns[i + 1].field = &columns[i].field->children[0];
    }
    int64_t size = 0;
    oci_row_keys keys = encode(batch, &(oci_sort_key){0}, 1);
    (void)oci_row_key_at(&keys, 0, &size);
    assert_int_equal(size, OCI_NESTING_MAX + 1 + OCI_NESTING_MAX - 1);
    oci_row_keys_deinit(&keys);
    oci_batch_release(batch);
    return unused;
}

static void keys_of_the_deepest_types_need_little_stack(void **unused)
{
    (void)unused;
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstacksize(&attributes, 256 << 10), 0);
    assert_int_equal(pthread_create(&thread, &attributes, encode_deepest, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
}

/* ---- failure --------------------------------------------------------------------------------- */

static void check_refuses_columns_out_of_range(void **unused)
{
    (void)unused;
    oc_error err = {0};
    oci_batch *batch = make_column_batch("l", &(arrow_maker){.length = 1});
    oci_sort_key keys[2] = {{.column = 0}, {.column = 1}};
    assert_int_equal(oci_row_key_check(batch->schema, keys, 2, &err), OC_EINVAL);
    assert_string_equal(err.message,
                        "sort key 2 is column 1: the schema has 1 columns, counted from 0");
    keys[1].column = -1;
    assert_int_equal(oci_row_key_check(batch->schema, keys, 2, NULL), OC_EINVAL);
    oci_batch_release(batch);
}

static void expect_no_order(oci_field field, const char *message)
{
    oc_error err = {0};
    oci_schema *schema = NULL;
    oci_field *fields = malloc(sizeof *fields);
    fields[0] = field;
    assert_int_equal(oci_schema_create(fields, 1, NULL, 0, &schema, NULL), OC_OK);
    assert_int_equal(oci_row_key_check(schema, &(oci_sort_key){0}, 1, &err), OC_EUNSUPPORTED);
    if (strstr(err.message, message) == NULL) {
        fail_msg("\"%s\" instead of \"%s\"", err.message, message);
    }
    oci_schema_release(schema);
}

static void add_entries(oci_field *map)
{
    oci_field *entries = add_field(map, "entries", OCI_TYPE_STRUCT);
    (void)add_field(entries, "key", OCI_TYPE_UTF8);
    (void)add_field(entries, "value", OCI_TYPE_INT32);
}

static void check_refuses_maps_and_unions_at_any_depth(void **unused)
{
    (void)unused;
    oci_field field = make_field(OCI_TYPE_MAP);
    add_entries(&field);
    expect_no_order(
        field, "could not sort by column \"a\": type map<key: utf8, value: int32> has no order");

    field = make_field(OCI_TYPE_STRUCT);
    (void)add_field(&field, "x", OCI_TYPE_INT8);
    add_entries(add_field(add_field(&field, "y", OCI_TYPE_LIST), "item", OCI_TYPE_MAP));
    expect_no_order(field, "has no order, because it holds a map");

    for (int sparse = 0; sparse < 2; sparse++) {
        oci_type type = sparse ? OCI_TYPE_SPARSE_UNION : OCI_TYPE_DENSE_UNION;
        field = make_field(type);
        (void)add_field(&field, "x", OCI_TYPE_INT8);
        assert_int_equal(oci_field_set_union_ids(&field, NULL, 1, NULL), OC_OK);
        oci_field *dictionary = malloc(sizeof *dictionary);
        *dictionary = field;
        oci_field outer = make_field(OCI_TYPE_DICTIONARY);
        outer.index_type = OCI_TYPE_INT8;
        outer.dictionary = dictionary;
        oci_field_set_width(&outer);
        expect_no_order(outer, sparse ? "because it holds a sparse_union"
                                      : "because it holds a dense_union");
    }
}

static void check_refused_memory(oci_fault_plan *plan, oci_budget *small, oci_mem *account,
                                 const oci_batch *batch)
{
    oci_sort_key keys[2] = {{.column = 0}, {.column = 1}};
    oci_row_keys out = {0};
    oci_reservation reservation = {0};
    int64_t bytes = 0;
    for (int32_t n_keys = 1; n_keys <= 2; n_keys++) {
        oci_fault_arm(plan, OCI_FAULT_ALLOC, 1, true);
        assert_int_equal(oci_row_keys_encode(batch, keys, n_keys, account, NULL, &out, NULL),
                         OC_ENOMEM);
        oci_fault_arm(plan, OCI_FAULT_ALLOC, 0, false);
        assert_null(out.block);
        assert_int_equal(oci_budget_used(small), 0);
    }
    assert_int_equal(oci_row_keys_size(batch, keys, 2, &bytes, NULL), OC_OK);
    assert_int_equal(oci_mem_reserve(account, &reservation, oci_mem_charge_of(bytes), NULL), OC_OK);
    assert_int_equal(oci_row_keys_encode(batch, keys, 2, account, &reservation, &out, NULL), OC_OK);
    assert_int_equal(reservation.bytes, 0);
    assert_int_equal(oci_budget_used(small), oci_mem_charge_of(bytes));
    oci_row_keys_deinit(&out);
    assert_int_equal(oci_budget_used(small), 0);
    oci_reservation_release(&reservation);
}

static void encode_reports_refused_memory_and_can_pay_from_a_reservation(void **unused)
{
    (void)unused;
    enum { BYTES = 1 << 14 };
    uint8_t *bytes = malloc(BYTES);
    oci_fault_plan *plan = oci_fault_plan_create();
    oci_budget *small = NULL;
    oci_mem *account = NULL;
    assert_int_equal(oci_budget_create(1 << 20, oci_fault_allocator(plan), &small, NULL), OC_OK);
    assert_int_equal(oci_mem_open(small, "keys", &account, NULL), OC_OK);
    const char *columns[] = {"u", "l"};
    oci_batch *batch = make_batch(columns, 2, &(arrow_maker){.length = 900});
    check_refused_memory(plan, small, account, batch);
    oci_batch_release(batch);
    for (uint64_t seed = 0; seed < 20; seed++) {
        made_choices choices = random_choices(seed, bytes, BYTES);
        batch = choose_typed_batch(&choices, 2, 3, 50);
        check_refused_memory(plan, small, account, batch);
        oci_batch_release(batch);
    }
    free(bytes);
    oci_mem_close(account);
    oci_budget_destroy(small);
    oci_fault_plan_destroy(plan);
}

static void expect_edata(const char *format, const void *values)
{
    oci_batch *batch = make_column_batch(format, &(arrow_maker){.length = 2});
    oci_column saved = batch->columns[0];
    oci_row_keys out = {0};
    batch->columns[0].values = values;
    assert_int_equal(oci_row_keys_encode(batch, &(oci_sort_key){0}, 1, mem, NULL, &out, NULL),
                     OC_EDATA);
    assert_null(out.block);
    batch->columns[0] = saved;
    oci_batch_release(batch);
}

static void encode_refuses_values_that_cannot_be_reached(void **unused)
{
    (void)unused;
    expect_edata("u", (int32_t[]){5, 3, 5});
    expect_edata("U", (int64_t[]){0, -3, 0});
    expect_edata("vz", (oci_view[]){{.length = 0}, {.length = 13, .ref = {.buffer = 7}}});
    expect_edata("c>u", (int8_t[]){0, -1});
    expect_edata("C>l", (uint8_t[]){0, 255});
    expect_edata("l>b", (int64_t[]){INT64_MIN, 0});
}

/* One column, whose children are given; what it and they need is read from `parent` and
 * `children`. */
static void expect_damaged(oci_field field, oci_column parent, oci_column *children,
                           const char *message)
{
    oc_error err = {0};
    oci_row_keys out = {0};
    int64_t bytes = 0;
    oci_batch *batch = one_column(field, parent);
    if (field.type == OCI_TYPE_DICTIONARY) {
        children->field = batch->columns[0].field->dictionary;
        batch->columns[0].dictionary = children;
    } else {
        tie_children(batch, children);
    }
    assert_int_equal(oci_row_keys_size(batch, &(oci_sort_key){0}, 1, &bytes, NULL),
                     field.type == OCI_TYPE_RUN_END_ENCODED ? OC_OK : OC_EDATA);
    assert_int_equal(oci_row_keys_encode(batch, &(oci_sort_key){0}, 1, mem, NULL, &out, &err),
                     OC_EDATA);
    assert_non_null(strstr(err.message, message));
    assert_null(out.block);
    oci_batch_release(batch);
}

static oci_field field_of(oci_type type, oci_type child)
{
    oci_field field = make_field(type);
    if (type == OCI_TYPE_RUN_END_ENCODED) {
        (void)add_field(&field, "run_ends", OCI_TYPE_INT32);
    }
    (void)add_field(&field, "item", child);
    field.list_size = type == OCI_TYPE_FIXED_LIST ? 2 : 0;
    return field;
}

static void encode_refuses_nested_values_that_cannot_be_reached(void **unused)
{
    (void)unused;
    static const char outside[] = "outside of what its column holds";
    static const char descend[] = "offsets of a list descend";
    static const int8_t bytes[8] = {0};
#define BYTES_OF(type, ...) ((const uint8_t *)(type[]){__VA_ARGS__})
    oci_column child = {.length = 4, .values = (const uint8_t *)bytes};

    expect_damaged(field_of(OCI_TYPE_LIST, OCI_TYPE_INT8),
                   (oci_column){.length = 3, .values = BYTES_OF(int32_t, 0, 3, 2, 4)}, &child,
                   descend);
    expect_damaged(field_of(OCI_TYPE_LIST, OCI_TYPE_INT8),
                   (oci_column){.length = 1, .values = BYTES_OF(int32_t, -1, 2)}, &child, descend);
    expect_damaged(field_of(OCI_TYPE_LIST, OCI_TYPE_INT8),
                   (oci_column){.length = 2, .values = BYTES_OF(int32_t, 0, 1, 5)}, &child,
                   outside);
    expect_damaged(field_of(OCI_TYPE_LARGE_LIST, OCI_TYPE_INT8),
                   (oci_column){.length = 2, .values = BYTES_OF(int64_t, 0, INT64_MIN, INT64_MAX)},
                   &child, descend);
    expect_damaged(field_of(OCI_TYPE_LIST_VIEW, OCI_TYPE_INT8),
                   (oci_column){.length = 2,
                                .values = BYTES_OF(int32_t, 0, 3),
                                .sizes = BYTES_OF(int32_t, 4, 2)},
                   &child, outside);
    expect_damaged(field_of(OCI_TYPE_LARGE_LIST_VIEW, OCI_TYPE_INT8),
                   (oci_column){.length = 1,
                                .values = BYTES_OF(int64_t, INT64_MAX),
                                .sizes = BYTES_OF(int64_t, INT64_MAX)},
                   &child, outside);
    expect_damaged(
        field_of(OCI_TYPE_LIST_VIEW, OCI_TYPE_INT8),
        (oci_column){.length = 1, .values = BYTES_OF(int32_t, 1), .sizes = BYTES_OF(int32_t, -1)},
        &child, outside);
    expect_damaged(field_of(OCI_TYPE_FIXED_LIST, OCI_TYPE_INT8), (oci_column){.length = 3}, &child,
                   outside);
    expect_damaged(field_of(OCI_TYPE_STRUCT, OCI_TYPE_INT8), (oci_column){.length = 3, .offset = 2},
                   &child, outside);

    child = (oci_column){.length = 2, .values = BYTES_OF(int32_t, 0, 5, 3), .bytes = child.values};
    expect_damaged(field_of(OCI_TYPE_STRUCT, OCI_TYPE_UTF8), (oci_column){.length = 2}, &child,
                   "offsets of a value are out of bounds");

    /* Runs that end too early; then too few values for them. */
    oci_column runs[2] = {{.length = 2, .values = BYTES_OF(int32_t, 2, 4)},
                          {.length = 2, .values = (const uint8_t *)bytes}};
    expect_damaged(field_of(OCI_TYPE_RUN_END_ENCODED, OCI_TYPE_INT8),
                   (oci_column){.length = 3, .offset = 2}, runs, "outside its run ends");
    runs[1].length = 1;
    expect_damaged(field_of(OCI_TYPE_RUN_END_ENCODED, OCI_TYPE_INT8), (oci_column){.length = 3},
                   runs, "outside its run ends");
    runs[0].length = 0;
    expect_damaged(field_of(OCI_TYPE_RUN_END_ENCODED, OCI_TYPE_INT8), (oci_column){.length = 1},
                   runs, "outside its run ends");

    /* A dictionary of structs, and a struct of a dictionary. */
    oci_field field = make_field(OCI_TYPE_DICTIONARY);
    field.index_type = OCI_TYPE_INT8;
    field.dictionary = malloc(sizeof *field.dictionary);
    *field.dictionary = make_field(OCI_TYPE_STRUCT);
    oci_field_set_width(&field);
    child = (oci_column){.length = 2};
    expect_damaged(field, (oci_column){.length = 2, .values = BYTES_OF(int8_t, 0, -1)}, &child,
                   "an index is outside its dictionary");
#undef BYTES_OF
}

static void encode_refuses_indices_inside_nested_values(void **unused)
{
    (void)unused;
    static const int8_t values[2] = {0};
    static const uint8_t indices[] = {1, 0, 2};
    oci_field field = make_field(OCI_TYPE_STRUCT);
    oci_field *inner = add_field(&field, "x", OCI_TYPE_DICTIONARY);
    inner->index_type = OCI_TYPE_UINT8;
    inner->dictionary = malloc(sizeof *inner->dictionary);
    *inner->dictionary = make_field(OCI_TYPE_INT8);
    oci_field_set_width(inner);
    oci_column dictionary = {
        .field = inner->dictionary, .length = 2, .values = (const uint8_t *)values};
    oci_column child = {.length = 3, .values = indices, .dictionary = &dictionary};
    expect_damaged(field, (oci_column){.length = 3}, &child, "an index is outside its dictionary");
}

/* Each of 60000 views is the same 2000 lists of 5 numbers each; the sizes stop being added up at
 * the limit. */
static void encode_refuses_nested_keys_of_more_than_4_gib(void **unused)
{
    (void)unused;
    enum { ROWS = 60000, LISTS = 2000 };
    oc_error err = {0};
    oci_row_keys out = {0};
    int32_t *starts = calloc(ROWS, sizeof *starts);
    int32_t *sizes = calloc(ROWS, sizeof *sizes);
    int32_t *offsets = calloc(LISTS + 1, sizeof *offsets);
    int64_t *numbers = calloc(LISTS * 5, sizeof *numbers);
    for (int i = 0; i < ROWS; i++) {
        sizes[i] = LISTS;
    }
    for (int i = 0; i <= LISTS; i++) {
        offsets[i] = i * 5;
    }
    oci_field field = make_field(OCI_TYPE_LIST_VIEW);
    (void)add_field(add_field(&field, "item", OCI_TYPE_LIST), "item", OCI_TYPE_INT64);
    oci_batch *batch = one_column(field, (oci_column){.length = ROWS,
                                                      .values = (const uint8_t *)starts,
                                                      .sizes = (const uint8_t *)sizes});
    oci_column leaf = {.length = LISTS * 5, .values = (const uint8_t *)numbers};
    oci_column child = {.length = LISTS, .values = (const uint8_t *)offsets, .children = &leaf};
    tie_children(batch, &child);
    leaf.field = &child.field->children[0];
    assert_int_equal(oci_row_keys_encode(batch, &(oci_sort_key){0}, 1, mem, NULL, &out, &err),
                     OC_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "use smaller batches"));
    oci_batch_release(batch);
    free(starts);
    free(sizes);
    free(offsets);
    free(numbers);
}

/* One value of 1 MiB behind 16384 rows. */
static void encode_refuses_keys_of_more_than_4_gib(void **unused)
{
    (void)unused;
    enum { ROWS = 16384, VALUE_BYTES = 1 << 20 };
    oc_error err = {0};
    oci_batch *batch = make_column_batch("c>u", &(arrow_maker){.length = ROWS});
    oci_column saved = batch->columns[0];
    int32_t offsets[2] = {0, VALUE_BYTES};
    oci_column values = *saved.dictionary;
    uint8_t *bytes = malloc(VALUE_BYTES);
    uint8_t *indices = calloc(1, ROWS);
    oci_row_keys out = {0};
    int64_t size = 0;
    memset(bytes, 'x', VALUE_BYTES);
    values = (oci_column){
        .field = values.field, .length = 1, .values = (const uint8_t *)offsets, .bytes = bytes};
    batch->columns[0] = (oci_column){
        .field = saved.field, .length = ROWS, .values = indices, .dictionary = &values};
    assert_int_equal(oci_row_keys_size(batch, &(oci_sort_key){0}, 1, &size, &err), OC_EUNSUPPORTED);
    assert_int_equal(oci_row_keys_encode(batch, &(oci_sort_key){0}, 1, mem, NULL, &out, &err),
                     OC_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "use smaller batches"));
    batch->columns[0] = saved;
    free(bytes);
    free(indices);
    oci_batch_release(batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_order_values_of_every_type),
        cmocka_unit_test(keys_order_rows_by_many_columns),
        cmocka_unit_test(keys_are_right_across_blocks_of_rows),
        cmocka_unit_test(keys_order_integers_at_their_edges),
        cmocka_unit_test(keys_order_decimals_at_their_edges),
        cmocka_unit_test(keys_order_floats_with_zeros_and_nans),
        cmocka_unit_test(keys_order_intervals_by_normalised_length),
        cmocka_unit_test(keys_order_strings_with_zero_bytes_and_prefixes),
        cmocka_unit_test(keys_order_strings_of_every_length),
        cmocka_unit_test(keys_do_not_depend_on_how_values_lie),
        cmocka_unit_test(keys_have_the_documented_bytes),
        cmocka_unit_test(keys_of_no_columns_are_empty),
        cmocka_unit_test(keys_order_values_of_random_type_trees),
        cmocka_unit_test(keys_of_nested_columns_are_right_across_blocks_of_rows),
        cmocka_unit_test(keys_of_imported_nested_columns_do_not_depend_on_how_values_lie),
        cmocka_unit_test(keys_order_lists_by_elements_then_length),
        cmocka_unit_test(keys_order_structs_by_fields),
        cmocka_unit_test(keys_order_lists_of_strings_with_zero_bytes),
        cmocka_unit_test(keys_order_floats_in_lists_like_floats),
        cmocka_unit_test(nested_keys_have_the_documented_bytes),
        cmocka_unit_test(keys_of_the_deepest_types_need_little_stack),
        cmocka_unit_test(check_refuses_columns_out_of_range),
        cmocka_unit_test(check_refuses_maps_and_unions_at_any_depth),
        cmocka_unit_test(encode_reports_refused_memory_and_can_pay_from_a_reservation),
        cmocka_unit_test(encode_refuses_values_that_cannot_be_reached),
        cmocka_unit_test(encode_refuses_nested_values_that_cannot_be_reached),
        cmocka_unit_test(encode_refuses_indices_inside_nested_values),
        cmocka_unit_test(encode_refuses_keys_of_more_than_4_gib),
        cmocka_unit_test(encode_refuses_nested_keys_of_more_than_4_gib),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
