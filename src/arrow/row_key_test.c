/* Row keys: memcmp of the encoded keys against a plain comparison of the typed values, written
 * independently of the encoding. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arrow/row_key.h"
#include "base/bits.h"
#include "base/fault.h"
#include "support/batch_maker.h"

__extension__ typedef __int128 int128;

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

/* ---- the plain comparison -------------------------------------------------------------------- */

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static double decode_float16(uint16_t bits)
{
    int exponent = (bits >> 10) & 31;
    double fraction = (bits & 1023) / 1024.0;
    double magnitude = exponent == 0    ? ldexp(fraction, -14)
                       : exponent == 31 ? (fraction == 0 ? (double)INFINITY : (double)NAN)
                                        : ldexp(1 + fraction, exponent - 15);
    return bits >> 15 ? -magnitude : magnitude;
}

static double load_float(oci_type type, const uint8_t *p)
{
    uint16_t half;
    float single;
    double value;
    switch (type) {
    case OCI_TYPE_FLOAT16: memcpy(&half, p, sizeof half); return decode_float16(half);
    case OCI_TYPE_FLOAT32: memcpy(&single, p, sizeof single); return (double)single;
    default: memcpy(&value, p, sizeof value); return value;
    }
}

static int compare_floats(double a, double b)
{
    if (isnan(a) || isnan(b)) {
        return (isnan(a) != 0) - (isnan(b) != 0);
    }
    return COMPARE(a, b);
}

/* Two's complement of any width: the sign first, then bytes from the top. */
static int compare_signed(const uint8_t *a, const uint8_t *b, int64_t width)
{
    int sign_a = (int8_t)a[width - 1] < 0;
    int sign_b = (int8_t)b[width - 1] < 0;
    if (sign_a != sign_b) {
        return sign_b - sign_a;
    }
    for (int64_t i = width - 1; i >= 0; i--) {
        if (a[i] != b[i]) {
            return COMPARE(a[i], b[i]);
        }
    }
    return 0;
}

static int compare_unsigned(const uint8_t *a, const uint8_t *b, int64_t width)
{
    for (int64_t i = width - 1; i >= 0; i--) {
        if (a[i] != b[i]) {
            return COMPARE(a[i], b[i]);
        }
    }
    return 0;
}

static int128 interval_length(oci_type type, const uint8_t *p)
{
    int32_t first = (int32_t)oci_load_le32(p);
    if (type == OCI_TYPE_INTERVAL_MONTHS) {
        return first;
    }
    int32_t second = (int32_t)oci_load_le32(p + 4);
    if (type == OCI_TYPE_INTERVAL_DAY_TIME) {
        return (int128)first * 86400000 + second;
    }
    return ((int128)first * 30 + second) * 86400 * 1000000000 + (int64_t)oci_load_le64(p + 8);
}

static int compare_bytes(const oci_column *a, int64_t row_a, const oci_column *b, int64_t row_b)
{
    int64_t length_a;
    int64_t length_b;
    const uint8_t *bytes_a = oci_column_bytes_at(a, row_a, &length_a);
    const uint8_t *bytes_b = oci_column_bytes_at(b, row_b, &length_b);
    int64_t common = oci_min64(length_a, length_b);
    int order = common == 0 ? 0 : memcmp(bytes_a, bytes_b, (size_t)common);
    return order != 0 ? order : COMPARE(length_a, length_b);
}

/* Two values that are not null. */
static int compare_values(const oci_column *a, int64_t row_a, const oci_column *b, int64_t row_b)
{
    while (a->field->type == OCI_TYPE_DICTIONARY) {
        row_a = oci_column_index_at(a, row_a);
        a = a->dictionary;
    }
    while (b->field->type == OCI_TYPE_DICTIONARY) {
        row_b = oci_column_index_at(b, row_b);
        b = b->dictionary;
    }
    int64_t width = a->field->byte_width;
    const uint8_t *p = a->values + (a->offset + row_a) * width;
    const uint8_t *q = b->values + (b->offset + row_b) * width;
    switch (a->field->type) {
    case OCI_TYPE_BOOL:
        return (int)oci_bit_get(a->values, a->offset + row_a) -
               (int)oci_bit_get(b->values, b->offset + row_b);
    case OCI_TYPE_UINT8:
    case OCI_TYPE_UINT16:
    case OCI_TYPE_UINT32:
    case OCI_TYPE_UINT64: return compare_unsigned(p, q, width);
    case OCI_TYPE_FLOAT16:
    case OCI_TYPE_FLOAT32:
    case OCI_TYPE_FLOAT64:
        return compare_floats(load_float(a->field->type, p), load_float(a->field->type, q));
    case OCI_TYPE_INTERVAL_MONTHS:
    case OCI_TYPE_INTERVAL_DAY_TIME:
    case OCI_TYPE_INTERVAL_MONTH_DAY_NANO:
        return COMPARE(interval_length(a->field->type, p), interval_length(a->field->type, q));
    case OCI_TYPE_FIXED_BINARY: return memcmp(p, q, (size_t)width);
    case OCI_TYPE_UTF8:
    case OCI_TYPE_LARGE_UTF8:
    case OCI_TYPE_UTF8_VIEW:
    case OCI_TYPE_BINARY:
    case OCI_TYPE_LARGE_BINARY:
    case OCI_TYPE_BINARY_VIEW: return compare_bytes(a, row_a, b, row_b);
    default: return compare_signed(p, q, width);
    }
}

static int compare_rows(const oci_batch *batch, const oci_sort_key *keys, int32_t n_keys, int64_t i,
                        int64_t j)
{
    for (int32_t k = 0; k < n_keys; k++) {
        const oci_column *column = &batch->columns[keys[k].column];
        int null_i = oci_column_is_null(column, i);
        int null_j = oci_column_is_null(column, j);
        int order = 0;
        if (null_i || null_j) {
            order = keys[k].nulls_first ? null_j - null_i : null_i - null_j;
        } else {
            order = compare_values(column, i, column, j);
            order = keys[k].descending ? -order : order;
        }
        if (order != 0) {
            return order;
        }
    }
    return 0;
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
            int wanted = compare_rows(batch, keys, n_keys, i, j);
            if (sign_of(order) != sign_of(wanted)) {
                fail_msg("rows %lld and %lld of type %s: keys %d, values %d", (long long)i,
                         (long long)j, oci_type_name(batch->columns[keys[0].column].field->type),
                         order, wanted);
            }
        }
    }
    oci_row_keys_deinit(&encoded);
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
                                     sign_of(compare_rows(batch, keys, n_keys, a, b)));
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
                for (int64_t i = 0; i < 300 && way > 0; i++) {
                    int64_t size[2];
                    const uint8_t *a = oci_row_key_at(&first, i, &size[0]);
                    const uint8_t *b = oci_row_key_at(&keys, i, &size[1]);
                    assert_int_equal(size[0], size[1]);
                    assert_memory_equal(a, b, (size_t)size[0]);
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

static void encode_reports_refused_memory_and_can_pay_from_a_reservation(void **unused)
{
    (void)unused;
    oci_fault_plan *plan = oci_fault_plan_create();
    oci_budget *small = NULL;
    oci_mem *account = NULL;
    assert_int_equal(oci_budget_create(1 << 20, oci_fault_allocator(plan), &small, NULL), OC_OK);
    assert_int_equal(oci_mem_open(small, "keys", &account, NULL), OC_OK);
    const char *columns[] = {"u", "l"};
    oci_batch *batch = make_batch(columns, 2, &(arrow_maker){.length = 900});
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
    oci_batch_release(batch);
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
        cmocka_unit_test(check_refuses_columns_out_of_range),
        cmocka_unit_test(encode_reports_refused_memory_and_can_pay_from_a_reservation),
        cmocka_unit_test(encode_refuses_values_that_cannot_be_reached),
        cmocka_unit_test(encode_refuses_keys_of_more_than_4_gib),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
