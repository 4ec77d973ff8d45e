/* Keys decoded and encoded again are the same keys, for every type that has an order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arrow/row_key_decode.h"
#include "base/bits.h"
#include "support/batch_maker.h"
#include "support/column_maker.h"

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
    return 0;
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static oci_key_ref *refs_of(const oci_row_keys *keys)
{
    oci_key_ref *refs = calloc((size_t)keys->length + 1, sizeof *refs);
    assert_non_null(refs);
    for (int64_t i = 0; i < keys->length; i++) {
        refs[i].bytes = oci_row_key_at(keys, i, &refs[i].size);
    }
    return refs;
}

static void check_same_keys(const oci_row_keys *a, const oci_row_keys *b)
{
    assert_int_equal(a->length, b->length);
    for (int64_t i = 0; i < a->length; i++) {
        int64_t size_a;
        int64_t size_b;
        const uint8_t *key_a = oci_row_key_at(a, i, &size_a);
        const uint8_t *key_b = oci_row_key_at(b, i, &size_b);
        assert_int_equal(size_a, size_b);
        assert_memory_equal(key_a, key_b, (size_t)size_a);
    }
}

static oci_batch *decode_or_fail(const oci_batch *batch, const oci_sort_key *keys, int32_t n,
                                 const oci_row_keys *encoded)
{
    oci_schema *schema;
    oci_batch *decoded;
    oc_error err = {0};
    int64_t bytes;
    oci_key_ref *refs = refs_of(encoded);
    assert_int_equal(oci_row_keys_schema(batch->schema, keys, n, &schema, &err), OC_OK);
    assert_int_equal(oci_row_keys_decode_bytes(schema, keys, refs, encoded->length, &bytes, &err),
                     OC_OK);
    int64_t before = oci_mem_held(mem);
    if (oci_row_keys_decode(schema, keys, refs, encoded->length, mem, NULL, &decoded, &err) !=
        OC_OK) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(oci_mem_held(mem) - before, oci_mem_charge_of(bytes));
    assert_int_equal(oci_batch_validate(decoded, &err), OC_OK);
    oci_schema_release(schema);
    free(refs);
    return decoded;
}

static void check_round_trip(const oci_batch *batch, const oci_sort_key *keys, int32_t n)
{
    oci_row_keys encoded;
    oci_row_keys again;
    oc_error err = {0};
    assert_int_equal(oci_row_keys_encode(batch, keys, n, mem, NULL, &encoded, &err), OC_OK);
    oci_batch *decoded = decode_or_fail(batch, keys, n, &encoded);
    oci_sort_key *in_order = calloc((size_t)n + 1, sizeof *in_order);
    assert_non_null(in_order);
    for (int32_t k = 0; k < n; k++) {
        in_order[k] = keys[k];
        in_order[k].column = k;
    }
    assert_int_equal(oci_row_keys_encode(decoded, in_order, n, mem, NULL, &again, &err), OC_OK);
    check_same_keys(&encoded, &again);
    free(in_order);
    oci_row_keys_deinit(&encoded);
    oci_row_keys_deinit(&again);
    oci_batch_release(decoded);
}

static void keys_of_any_types_come_back(void **unused)
{
    (void)unused;
    uint64_t random = 1;
    uint8_t bytes[20000];
    for (int round = 0; round < 400; round++) {
        for (size_t i = 0; i < sizeof bytes; i++) {
            bytes[i] = (uint8_t)next_random(&random);
        }
        made_choices choices = {.bytes = bytes, .size = sizeof bytes};
        oci_batch *batch = choose_typed_batch(&choices, 3, round % 4, round % 50);
        oci_sort_key keys[3];
        for (int32_t k = 0; k < 3; k++) {
            uint64_t way = next_random(&random);
            keys[k] = (oci_sort_key){2 - k, (way & 1) != 0, (way & 2) != 0};
        }
        check_round_trip(batch, keys, 3);
        oci_batch_release(batch);
    }
}

static void keys_of_every_flat_and_nested_type_come_back(void **unused)
{
    (void)unused;
    arrow_maker maker = {.seed = 3, .length = 300, .null_percent = 20};
    for (int32_t i = 0; i < arrow_maker_n_formats + arrow_maker_n_nested_formats; i++) {
        const char *format = i < arrow_maker_n_formats
                                 ? arrow_maker_formats[i]
                                 : arrow_maker_nested_formats[i - arrow_maker_n_formats];
        oci_batch *batch = make_column_batch(format, &maker);
        oci_sort_key key = {0, false, false};
        if (oci_row_key_check(batch->schema, &key, 1, NULL) == OC_OK) {
            check_round_trip(batch, &key, 1);
        }
        oci_batch_release(batch);
    }
}

/* A batch of one column over the values given. */
static oci_batch *batch_of(oci_type type, const void *values, int64_t n)
{
    oci_field *field = calloc(1, sizeof *field);
    oci_column *column = calloc(1, sizeof *column);
    oci_schema *schema;
    oci_batch *batch;
    assert_int_equal(oci_field_init(field, "a", type, true, NULL), OC_OK);
    assert_int_equal(oci_schema_create(field, 1, NULL, 0, &schema, NULL), OC_OK);
    *column = (oci_column){.field = schema->fields, .length = n, .values = values};
    assert_int_equal(oci_batch_adopt(schema, n, column, NULL, NULL, 0, NULL, 0, &batch, NULL),
                     OC_OK);
    oci_schema_release(schema);
    return batch;
}

static oci_batch *through_keys(oci_type type, const void *values, int64_t n)
{
    oci_sort_key key = {0, false, false};
    oci_row_keys keys;
    oci_batch *batch = batch_of(type, values, n);
    assert_int_equal(oci_row_keys_encode(batch, &key, 1, mem, NULL, &keys, NULL), OC_OK);
    oci_batch *decoded = decode_or_fail(batch, &key, 1, &keys);
    oci_row_keys_deinit(&keys);
    oci_batch_release(batch);
    return decoded;
}

static void zeros_and_nans_become_one_each(void **unused)
{
    (void)unused;
    uint64_t bits[] = {UINT64_C(1) << 63, 0, UINT64_C(0xFFF0000000000001),
                       UINT64_C(0x7FF8000000000000), UINT64_C(0xFFF0000000000000)};
    oci_batch *decoded = through_keys(OCI_TYPE_FLOAT64, bits, 5);
    uint64_t wanted[] = {0, 0, UINT64_C(0x7FF8000000000000), UINT64_C(0x7FF8000000000000),
                         UINT64_C(0xFFF0000000000000)};
    assert_memory_equal(decoded->columns[0].values, wanted, sizeof wanted);
    oci_batch_release(decoded);
}

static void intervals_are_justified(void **unused)
{
    (void)unused;
    struct {
        int32_t months;
        int32_t days;
        int64_t nanos;
    } values[] = {{0, 30, 0}, {1, 45, INT64_C(86400000000000) + 5}, {0, 0, -7}, {-1, 30, 0}},
      wanted[] = {{1, 0, 0}, {2, 16, 5}, {0, 0, -7}, {0, 0, 0}};
    oci_batch *decoded = through_keys(OCI_TYPE_INTERVAL_MONTH_DAY_NANO, values, 4);
    assert_memory_equal(decoded->columns[0].values, wanted, sizeof wanted);
    oci_batch_release(decoded);
}

static void damaged_keys_are_errors_and_never_read_past_their_end(void **unused)
{
    (void)unused;
    static const char *const formats[] = {"l",       "u",  "b", "+l(u)", "+s(a=i; b=+l(u))",
                                          "+w:3(i)", "tin"};
    oci_sort_key key = {0, false, false};
    uint64_t random = 9;
    int failed = 0;
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
        arrow_maker maker = {.seed = f, .length = 60, .null_percent = 20};
        oci_batch *batch = make_column_batch(formats[f], &maker);
        oci_row_keys keys;
        oci_schema *schema;
        assert_int_equal(oci_row_keys_encode(batch, &key, 1, mem, NULL, &keys, NULL), OC_OK);
        assert_int_equal(oci_row_keys_schema(batch->schema, &key, 1, &schema, NULL), OC_OK);
        for (int round = 0; round < 600; round++) {
            int64_t size;
            const uint8_t *bytes = oci_row_key_at(&keys, round % 60, &size);
            int64_t cut = round % 2 == 0 ? size
                                         : (int64_t)(next_random(&random) % (uint64_t)(size + 1));
            uint8_t *copy = malloc((size_t)cut + 1);
            assert_non_null(copy);
            uint8_t *exact = cut == 0 ? copy : malloc((size_t)cut);
            memcpy(exact, bytes, (size_t)cut);
            if (cut > 0) {
                exact[next_random(&random) % (uint64_t)cut] ^=
                    (uint8_t)(1 + next_random(&random) % 255);
            }
            oci_key_ref ref = {exact, cut};
            oci_batch *decoded = NULL;
            oc_status status =
                oci_row_keys_decode(schema, &key, &ref, 1, mem, NULL, &decoded, NULL);
            assert_true(status == OC_OK || status == OC_EDATA);
            failed += status == OC_EDATA;
            oci_batch_release(decoded);
            if (exact != copy) {
                free(exact);
            }
            free(copy);
        }
        oci_schema_release(schema);
        oci_row_keys_deinit(&keys);
        oci_batch_release(batch);
    }
    assert_true(failed > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_of_any_types_come_back),
        cmocka_unit_test(keys_of_every_flat_and_nested_type_come_back),
        cmocka_unit_test(zeros_and_nans_become_one_each),
        cmocka_unit_test(intervals_are_justified),
        cmocka_unit_test(damaged_keys_are_errors_and_never_read_past_their_end),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
