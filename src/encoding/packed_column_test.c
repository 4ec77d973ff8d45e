/* Packed columns: every type there and back, what comes out smaller, and damage. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arrow/gather.h"
#include "encoding/packed_column_test_support.h"
#include "support/batch_maker.h"
#include "support/gather_check.h"

enum { SLAB_MAX = 1 << 20 };

typedef struct fixture {
    oci_budget *budget;
    oci_mem *mem;
} fixture;

static fixture open_fixture(void)
{
    fixture f = {0};
    assert_int_equal(oci_budget_create(INT64_C(1) << 30, NULL, &f.budget, NULL), OC_OK);
    assert_int_equal(oci_mem_open(f.budget, "packing test", &f.mem, NULL), OC_OK);
    return f;
}

static void close_fixture(fixture *f)
{
    assert_int_equal(oci_mem_held(f->mem), 0);
    oci_mem_close(f->mem);
    oci_budget_destroy(f->budget);
    assert_int_equal(arrow_maker_live(), 0);
}

/* Packs a batch and unpacks it; returns the bytes of both streams of all columns. */
static int64_t check_round_trip(oci_mem *mem, oci_packer *packer, const oci_batch *batch)
{
    int64_t total = 0;
    for (int32_t i = 0; i < batch->schema->n_fields; i++) {
        packed_bytes packed = test_pack(packer, i, &batch->columns[i], mem);
        unpacked back;
        oc_error error = {0};
        if (test_unpack(batch->schema, i, batch->length, &packed, INT64_MAX, &back, &error) !=
            OC_OK) {
            fail_msg("%s", error.message);
        }
        test_same_values(&batch->columns[i], &back.column);
        total += packed.packed_size + packed.bytes_size;
        test_unpacked_free(&back);
        test_packed_free(&packed);
    }
    return total;
}

/* ---- every type ------------------------------------------------------------------------------ */

static void check_format(oci_mem *mem, const char *format)
{
    static const int64_t lengths[] = {0, 1, 7, 64, 65, 1024, 3000};
    uint64_t state = 1;
    oci_schema *schema = make_schema(&format, 1);
    oci_packer *packer = NULL;
    assert_int_equal(oci_packer_create(schema, &packer, NULL), OC_OK);
    for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
        static const int32_t nulls[] = {0, 3, 80, 100};
        for (int n = 0; n < 4; n++) {
            arrow_maker maker = random_maker(&state, lengths[k]);
            maker.null_percent = nulls[n];
            oci_batch *batch = make_batch(&format, 1, &maker);
            check_round_trip(mem, packer, batch);
            oci_batch *slice = NULL;
            int64_t start = batch->length / 3;
            assert_int_equal(oci_batch_slice(batch, start, batch->length / 2, &slice, NULL), OC_OK);
            check_round_trip(mem, packer, slice);
            oci_batch_release(slice);
            oci_batch_release(batch);
        }
    }
    oci_packer_destroy(packer);
    oci_schema_release(schema);
}

static void packing_keeps_values_of_every_flat_type(void **unused)
{
    (void)unused;
    fixture f = open_fixture();
    for (int32_t k = 0; k < arrow_maker_n_formats; k++) {
        check_format(f.mem, arrow_maker_formats[k]);
    }
    close_fixture(&f);
}

static void packing_keeps_values_of_every_nested_type(void **unused)
{
    (void)unused;
    fixture f = open_fixture();
    for (int32_t k = 0; k < arrow_maker_n_nested_formats; k++) {
        check_format(f.mem, arrow_maker_nested_formats[k]);
    }
    close_fixture(&f);
}

static void packing_keeps_values_of_random_trees(void **unused)
{
    (void)unused;
    fixture f = open_fixture();
    for (uint64_t seed = 0; seed < 100; seed++) {
        char text[4000];
        uint64_t state = seed;
        arrow_make_column_text(seed, 1 + (int32_t)(seed % 4), text, sizeof text);
        arrow_maker maker = random_maker(&state, 1 + random_below(&state, 300));
        const char *column = text;
        oci_batch *batch = make_batch(&column, 1, &maker);
        oci_packer *packer = NULL;
        assert_int_equal(oci_packer_create(batch->schema, &packer, NULL), OC_OK);
        check_round_trip(f.mem, packer, batch);
        oci_packer_destroy(packer);
        oci_batch_release(batch);
    }
    close_fixture(&f);
}

/* Or what was in memory before would go to disk. */
static void packing_writes_every_byte(void **unused)
{
    (void)unused;
    fixture f = open_fixture();
    int32_t n_flat = arrow_maker_n_formats;
    for (int32_t k = 0; k < n_flat + arrow_maker_n_nested_formats; k++) {
        const char *format = k < n_flat ? arrow_maker_formats[k]
                                        : arrow_maker_nested_formats[k - n_flat];
        arrow_maker maker = {.seed = 4, .length = 1500, .null_percent = k % 2 * 20};
        oci_batch *batch = make_batch(&format, 1, &maker);
        packed_bytes packed[2];
        for (int i = 0; i < 2; i++) {
            oci_packer *packer = NULL;
            assert_int_equal(oci_packer_create(batch->schema, &packer, NULL), OC_OK);
            packed[i] = test_pack_over(packer, 0, batch->columns, f.mem, i == 0 ? 0x5A : 0xC3);
            oci_packer_destroy(packer);
        }
        assert_int_equal(packed[0].packed_size, packed[1].packed_size);
        assert_int_equal(packed[0].bytes_size, packed[1].bytes_size);
        assert_memory_equal(packed[0].packed, packed[1].packed, (size_t)packed[0].packed_size);
        assert_memory_equal(packed[0].bytes, packed[1].bytes, (size_t)packed[0].bytes_size);
        test_packed_free(&packed[0]);
        test_packed_free(&packed[1]);
        oci_batch_release(batch);
    }
    close_fixture(&f);
}

/* ---- the format ------------------------------------------------------------------------------ */

/* Streams written by hand from docs/spill-format.md. Words of the packed stream: */
#define NODE(validity, kind, part) \
    ((uint64_t)(validity) | (uint64_t)(kind) << 8 | (uint64_t)(part) << 16)
/* An integer vector of one value again and again, of one byte. */
#define CONSTANT(value) (UINT64_C(0x0101) | (uint64_t)(uint8_t)(value) << 32)

typedef struct written {
    const char *format;
    int64_t rows;
    uint64_t words[16];
    int64_t n_words;
    const char *bytes;
} written;

static unpacked read_written(const written *w, oci_schema **schema)
{
    uint8_t words[sizeof w->words];
    unpacked back;
    oc_error error = {0};
    *schema = make_schema(&w->format, 1);
    for (int64_t i = 0; i < w->n_words; i++) {
        oci_store_le64(words + i * 8, w->words[i]);
    }
    packed_bytes packed = {.packed = words,
                           .packed_size = w->n_words * 8,
                           .bytes = (uint8_t *)(uintptr_t)w->bytes,
                           .bytes_size = w->bytes != NULL ? (int64_t)strlen(w->bytes) : 0};
    if (test_unpack(*schema, 0, w->rows, &packed, SLAB_MAX, &back, &error) != OC_OK) {
        fail_msg("%s: %s", w->format, error.message);
    }
    return back;
}

static void check_written(const written *w, const void *values, size_t size)
{
    oci_schema *schema;
    unpacked back = read_written(w, &schema);
    assert_memory_equal(back.column.values, values, size);
    test_unpacked_free(&back);
    oci_schema_release(schema);
}

static void numbers_lie_as_documented(void **unused)
{
    (void)unused;
    check_written(&(written){"i", 3, {NODE(0, 0, 1), CONSTANT(-5)}, 2, NULL},
                  (int32_t[]){-5, -5, -5}, 12);
    check_written(&(written){"c", 5, {NODE(2, 0, 1), 3, CONSTANT(0x12), CONSTANT(9)}, 4, NULL},
                  (int8_t[]){0, 9, 0, 0, 9}, 5);
    check_written(&(written){"d:38,0", 2, {NODE(0, 0, 1), CONSTANT(-2)}, 2, NULL},
                  (int64_t[]){-2, -1, -2, -1}, 32);
    check_written(&(written){"d:38,0", 1, {NODE(0, 0, 2), CONSTANT(-2), CONSTANT(7)}, 3, NULL},
                  (int64_t[]){-2, 7}, 16);
    check_written(&(written){"s", 2, {NODE(0, 1, 1), 0x0201, CONSTANT(3)}, 3, NULL},
                  (int16_t[]){0x0301, 0x0302}, 4);
    /* 1.25 three times, but the second is something else. */
    written decimals = {
        "g", 3, {NODE(0, 2, 2), 1, CONSTANT(125), CONSTANT(1), UINT64_C(0x0201), 0, 0}, 6, NULL};
    decimals.words[4] = UINT64_C(0x0801) | UINT64_C(0x00000001) << 32; /* bits, eight bytes */
    decimals.words[5] = UINT64_C(0x7FF80000);
    uint64_t nan = UINT64_C(0x7FF8000000000001);
    double values[3] = {1.25, 0, 1.25};
    memcpy(&values[1], &nan, sizeof nan);
    check_written(&decimals, values, sizeof values);
}

static void nested_columns_lie_as_documented(void **unused)
{
    (void)unused;
    oci_schema *schema;
    unpacked back = read_written(
        &(written){"+l(s)", 2, {NODE(0, 0, 0), 4, CONSTANT(2), NODE(1, 0, 0)}, 4, NULL}, &schema);
    assert_memory_equal(back.column.values, ((int32_t[]){0, 2, 4}), 12);
    assert_int_equal(oci_column_null_count(back.column.children), 4);
    test_unpacked_free(&back);
    oci_schema_release(schema);

    written view = {
        "+vl(n)", 2, {NODE(0, 0, 0), 9, CONSTANT(4), CONSTANT(5), NODE(1, 0, 0)}, 5, NULL};
    back = read_written(&view, &schema);
    assert_memory_equal(back.column.values, ((int32_t[]){5, 5}), 8);
    assert_memory_equal(back.column.sizes, ((int32_t[]){4, 4}), 8);
    test_unpacked_free(&back);
    oci_schema_release(schema);

    written in_order = {"+ud:7(n)", 3, {NODE(0, 1, 0), 3, CONSTANT(7), NODE(1, 0, 0)}, 4, NULL};
    back = read_written(&in_order, &schema);
    assert_memory_equal(back.column.values, ((int8_t[]){7, 7, 7}), 3);
    assert_memory_equal(back.column.child_offsets, ((int32_t[]){0, 1, 2}), 12);
    test_unpacked_free(&back);
    oci_schema_release(schema);

    written runs = {"+r(s; n)", 6, {NODE(0, 0, 0), 2, CONSTANT(3), NODE(1, 0, 0)}, 4, NULL};
    back = read_written(&runs, &schema);
    assert_memory_equal(back.column.children[0].values, ((int16_t[]){3, 6}), 4);
    test_unpacked_free(&back);
    oci_schema_release(schema);
}

static void strings_and_dictionaries_lie_as_documented(void **unused)
{
    (void)unused;
    oci_schema *schema;
    int64_t length;
    written dictionary = {"c>u",
                          3,
                          {NODE(0, 0, 0), 2, CONSTANT(1), NODE(0, 0, 0), 0, 6, 6, 0, CONSTANT(3)},
                          9,
                          "abcxyz"};
    unpacked back = read_written(&dictionary, &schema);
    assert_memory_equal(back.column.values, ((int8_t[]){1, 1, 1}), 3);
    assert_memory_equal(oci_column_bytes_at(back.column.dictionary, 1, &length), "xyz", 3);
    assert_int_equal(length, 3);
    test_unpacked_free(&back);
    oci_schema_release(schema);
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* Whatever it says, what comes out is valid and takes what was measured: test_unpack checks. */
static void unpack_damaged(const oci_schema *schema, int64_t rows, const packed_bytes *packed,
                           int *n_refused)
{
    unpacked back;
    oc_error error = {0};
    oc_status status = test_unpack(schema, 0, rows, packed, SLAB_MAX, &back, &error);
    if (status == OC_OK) {
        test_unpacked_free(&back);
    } else {
        assert_true(status == OC_EDATA || status == OC_EBUDGET);
        assert_true(strlen(error.message) > 0);
        *n_refused += 1;
    }
}

static void flip_bits(const oci_schema *schema, int64_t rows, packed_bytes *packed, int *n_refused)
{
    for (int64_t bit = 0; bit < packed->packed_size * 8; bit++) {
        uint8_t mask = (uint8_t)(1u << (bit % 8));
        packed->packed[bit / 8] ^= mask;
        unpack_damaged(schema, rows, packed, n_refused);
        packed->packed[bit / 8] ^= mask;
    }
}

/* Every shorter stream, in a block that ends with it. */
static void truncate_streams(const oci_schema *schema, int64_t rows, const packed_bytes *packed,
                             int *n_refused)
{
    for (int64_t size = 0; size < packed->packed_size; size++) {
        packed_bytes cut = *packed;
        cut.packed_size = size;
        cut.packed = test_block(packed->packed, size);
        int before = *n_refused;
        unpack_damaged(schema, rows, &cut, n_refused);
        assert_int_equal(*n_refused, before + 1);
        free(cut.packed);
    }
    for (int64_t size = 0; size < packed->bytes_size; size++) {
        packed_bytes cut = *packed;
        cut.bytes_size = size;
        cut.bytes = test_block(packed->bytes, size);
        int before = *n_refused;
        unpack_damaged(schema, rows, &cut, n_refused);
        assert_int_equal(*n_refused, before + 1);
        free(cut.bytes);
    }
}

static void damage_column(oci_mem *mem, oci_schema *schema, const oci_column *column)
{
    int n_refused = 0;
    oci_packer *packer = NULL;
    assert_int_equal(oci_packer_create(schema, &packer, NULL), OC_OK);
    packed_bytes packed = test_pack(packer, 0, column, mem);
    flip_bits(schema, column->length, &packed, &n_refused);
    assert_true(n_refused > 0);
    truncate_streams(schema, column->length, &packed, &n_refused);
    static const int64_t rows[] = {0, 22, 24, 1 << 20, INT64_C(1) << 40, INT64_MAX, -1};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        unpack_damaged(schema, rows[k], &packed, &n_refused);
    }
    test_packed_free(&packed);
    oci_packer_destroy(packer);
}

static void check_damage(oci_mem *mem, const char *format)
{
    arrow_maker maker = {.seed = 9, .length = 23, .null_percent = 20, .garbage = true};
    oci_batch *batch = make_batch(&format, 1, &maker);
    damage_column(mem, batch->schema, batch->columns);
    oci_batch_release(batch);
}

static void damaged_streams_are_refused_or_give_valid_columns(void **unused)
{
    (void)unused;
    fixture f = open_fixture();
    for (int32_t k = 0; k < arrow_maker_n_formats; k++) {
        check_damage(f.mem, arrow_maker_formats[k]);
    }
    for (int32_t k = 0; k < arrow_maker_n_nested_formats; k++) {
        check_damage(f.mem, arrow_maker_nested_formats[k]);
    }
    close_fixture(&f);
}

/* Forms that random values do not lead to. */
static void damaged_numbers_of_every_form_are_refused_or_give_valid_columns(void **unused)
{
    (void)unused;
    enum { N = 200 };
    static const char *const formats[] = {"g", "g", "g", "d:38,0", "f", "f", "d:38,0", "d:38,0"};
    static uint64_t values[8][2 * N];
    fixture f = open_fixture();
    for (uint64_t i = 0; i < N; i++) {
        uint64_t noise = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
        uint64_t sign = noise & UINT64_C(1) << 63;
        double price = i == 50 ? 1.0 / 3 : (double)(i * 37 % 1000) / 100;
        float narrow = (float)(i * 37 % 1000) / 10;
        uint32_t narrow_noise = (uint32_t)(noise >> 20 & 0xFFFFF) | (uint32_t)(sign >> 32);
        memcpy(&values[0][i], &price, 8);                                        /* scaled */
        values[1][i] = (noise >> 20 & 0xFFFFFFFFFFF) | sign | UINT64_C(1) << 61; /* planes */
        values[2][i] = i / 50 * noise;                                           /* words */
        values[3][2 * i] = noise;
        values[3][2 * i + 1] = i % 3; /* two words */
        memcpy((uint8_t *)values[4] + i * 4, &narrow, 4);
        memcpy((uint8_t *)values[5] + i * 4, &narrow_noise, 4);
        values[6][2 * i] = noise >> 16; /* planes, few low bytes and many */
        values[6][2 * i + 1] = sign | 5;
        values[7][2 * i] = noise;
        values[7][2 * i + 1] = sign | (noise >> 24 & 0xFFFF);
    }
    for (int k = 0; k < 8; k++) {
        oci_schema *schema = make_schema(&formats[k], 1);
        oci_column column = {
            .field = schema->fields, .length = N, .values = (const uint8_t *)values[k]};
        damage_column(f.mem, schema, &column);
        oci_schema_release(schema);
    }
    close_fixture(&f);
}

/* Headers that promise more than there can be are caught while nothing is allocated. */
static void counts_beyond_memory_are_refused_when_measured(void **unused)
{
    (void)unused;
    const char *format = "+l(g)";
    oci_schema *schema = make_schema(&format, 1);
    static const uint64_t counts[] = {UINT64_MAX, INT64_MAX, UINT64_C(1) << 60, UINT64_C(1) << 31};
    for (size_t k = 0; k < 4; k++) {
        uint64_t words[] = {0, OCI_LE64(counts[k])};
        packed_bytes packed = {.packed = (uint8_t *)words, .packed_size = sizeof words};
        unpacked back;
        assert_int_equal(test_unpack(schema, 0, 1, &packed, SLAB_MAX, &back, NULL), OC_EDATA);
    }
    oci_schema_release(schema);
}

static void bytes_behind_a_column_are_refused(void **unused)
{
    (void)unused;
    const char *format = "n";
    oci_schema *schema = make_schema(&format, 1);
    uint64_t words[] = {OCI_LE64(1), 0};
    packed_bytes packed = {.packed = (uint8_t *)words, .packed_size = 8};
    unpacked back;
    oc_error error = {0};
    assert_int_equal(test_unpack(schema, 0, 5, &packed, SLAB_MAX, &back, &error), OC_OK);
    test_unpacked_free(&back);
    packed.packed_size = 16;
    assert_int_equal(test_unpack(schema, 0, 5, &packed, SLAB_MAX, &back, &error), OC_EDATA);
    assert_string_equal(error.message,
                        "packed column \"c0\" is damaged: 8 bytes lie behind its end");
    oci_schema_release(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packing_keeps_values_of_every_flat_type),
        cmocka_unit_test(packing_keeps_values_of_every_nested_type),
        cmocka_unit_test(packing_keeps_values_of_random_trees),
        cmocka_unit_test(packing_writes_every_byte),
        cmocka_unit_test(numbers_lie_as_documented),
        cmocka_unit_test(nested_columns_lie_as_documented),
        cmocka_unit_test(strings_and_dictionaries_lie_as_documented),
        cmocka_unit_test(damaged_streams_are_refused_or_give_valid_columns),
        cmocka_unit_test(damaged_numbers_of_every_form_are_refused_or_give_valid_columns),
        cmocka_unit_test(counts_beyond_memory_are_refused_when_measured),
        cmocka_unit_test(bytes_behind_a_column_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
