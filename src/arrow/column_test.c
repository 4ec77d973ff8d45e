#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arrow/batch.h"
#include "support/batch_maker.h"

/* Columns made by hand, so that not every check goes through import and arrow_maker. */

static oci_field field_of(oci_type type)
{
    static char name[] = "a";
    oci_field field = {.name = name, .type = type};
    oci_field_set_width(&field);
    return field;
}

static void null_bits_are_read_at_the_offset(void **state)
{
    (void)state;
    const uint8_t validity[] = {0xB5, 0x02}; /* 1010 1101, 0100 0000 in row order */
    const bool nulls[] = {false, true, false, true, false, false, true, false, true, false};
    const uint8_t values[10] = {0};
    oci_field field = field_of(OCI_TYPE_INT8);
    for (int64_t offset = 0; offset < 10; offset++) {
        oci_column column = {.field = &field,
                             .length = 10 - offset,
                             .offset = offset,
                             .null_count = -1,
                             .validity = validity,
                             .values = values};
        int64_t n_nulls = 0;
        for (int64_t row = 0; row < column.length; row++) {
            assert_int_equal(oci_column_is_null(&column, row), nulls[offset + row]);
            n_nulls += nulls[offset + row];
        }
        assert_int_equal(oci_column_null_count(&column), n_nulls);
    }
}

static void null_counts_need_no_bitmap(void **state)
{
    (void)state;
    oci_field ints = field_of(OCI_TYPE_INT8), nulls = field_of(OCI_TYPE_NULL);
    oci_column column = {.field = &ints, .length = 5, .null_count = -1};
    assert_int_equal(oci_column_null_count(&column), 0);
    column.validity = (const uint8_t *)"";
    column.null_count = 3; /* already known: the bits are not looked at */
    assert_int_equal(oci_column_null_count(&column), 3);
    column.field = &nulls;
    assert_int_equal(oci_column_null_count(&column), 5);
    assert_true(oci_column_is_null(&column, 4));
}

static void bytes_are_found_in_every_string_layout(void **state)
{
    (void)state;
    const int32_t offsets32[] = {2, 2, 5, 25};
    const int64_t offsets64[] = {2, 2, 5, 25};
    const uint8_t *bytes = (const uint8_t *)"..abcthis string is longer";
    const uint8_t *buffers[] = {bytes, bytes + 5};
    const int64_t sizes[] = {25, 20};
    oci_view views[3] = {{.length = 0}, {.length = 3}, {.length = 20}};
    memcpy(views[1].inlined, "abc", 3);
    views[2].ref.buffer = 1;
    oci_field narrow = field_of(OCI_TYPE_UTF8), wide = field_of(OCI_TYPE_LARGE_BINARY);
    oci_field view = field_of(OCI_TYPE_UTF8_VIEW);
    const oci_column columns[] = {
        {.field = &narrow, .length = 3, .values = (const uint8_t *)offsets32, .bytes = bytes},
        {.field = &wide, .length = 3, .values = (const uint8_t *)offsets64, .bytes = bytes},
        {.field = &view,
         .length = 3,
         .values = (const uint8_t *)views,
         .view_buffers = buffers,
         .view_sizes = sizes,
         .n_view_buffers = 2},
    };
    const char *want[] = {"", "abc", "this string is longer"};
    const int64_t lengths[] = {0, 3, 20};
    for (int c = 0; c < 3; c++) {
        for (int64_t row = 0; row < 3; row++) {
            int64_t length;
            const uint8_t *got = oci_column_bytes_at(&columns[c], row, &length);
            assert_int_equal(length, lengths[row]);
            assert_memory_equal(got, want[row], (size_t)length);
            for (int other = 0; other < 3; other++) {
                assert_true(oci_value_equal(&columns[c], row, &columns[other], row));
                assert_false(oci_value_equal(&columns[c], row, &columns[other], (row + 1) % 3));
                assert_int_equal(oci_value_hash(&columns[c], row, 9),
                                 oci_value_hash(&columns[other], row, 9));
            }
        }
    }
}

static void indices_of_every_width_are_read(void **state)
{
    (void)state;
    const uint8_t ones[8] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
    const int64_t want[] = {-1, -1, -1, -1, 0xFF, 0xFFFF, 0xFFFFFFFF, -1};
    for (int type = OCI_TYPE_INT8; type <= OCI_TYPE_UINT64; type++) {
        oci_field field = field_of(OCI_TYPE_DICTIONARY);
        field.index_type = (oci_type)type;
        oci_field_set_width(&field);
        oci_column column = {.field = &field, .length = 1, .values = ones};
        assert_int_equal(oci_column_index_at(&column, 0), want[type - OCI_TYPE_INT8]);
    }
}

static void nulls_are_seen_through_dictionaries(void **state)
{
    (void)state;
    const uint8_t indices[] = {0, 1, 77, 0}, valid = 0x0B, values_valid = 0x01;
    const int32_t offsets[] = {0, 1, 1};
    oci_field utf8 = field_of(OCI_TYPE_UTF8), field = field_of(OCI_TYPE_DICTIONARY);
    field.index_type = OCI_TYPE_INT8;
    oci_field_set_width(&field);
    oci_column values = {.field = &utf8,
                         .length = 2,
                         .null_count = 1,
                         .validity = &values_valid,
                         .values = (const uint8_t *)offsets,
                         .bytes = (const uint8_t *)"x"};
    oci_column column = {.field = &field,
                         .length = 4,
                         .null_count = 1,
                         .validity = &valid,
                         .values = indices,
                         .dictionary = &values};
    assert_false(oci_column_is_null(&column, 0));
    assert_true(oci_column_is_null(&column, 1));         /* its value is null */
    assert_true(oci_column_is_null(&column, 2));         /* the slot is; its index leads nowhere */
    assert_int_equal(oci_column_null_count(&column), 1); /* of the bitmap */
    assert_true(oci_value_equal(&column, 1, &column, 2));
    assert_int_equal(oci_value_hash(&column, 1, 0), oci_value_hash(&column, 2, 0));
    assert_true(oci_value_equal(&column, 0, &values, 0));
    assert_false(oci_value_equal(&column, 0, &column, 1));
    assert_int_equal(oci_value_hash(&column, 0, 0), oci_value_hash(&values, 0, 0));
}

static void floats_are_compared_by_their_bits(void **state)
{
    (void)state;
    const uint64_t bits[] = {0, UINT64_C(1) << 63, UINT64_C(0x7FF8000000000000),
                             UINT64_C(0x7FF8000000000001)};
    oci_field field = field_of(OCI_TYPE_FLOAT64);
    oci_column column = {.field = &field, .length = 4, .values = (const uint8_t *)bits};
    for (int64_t a = 0; a < 4; a++) {
        for (int64_t b = 0; b < 4; b++) {
            assert_int_equal(oci_value_equal(&column, a, &column, b), a == b);
        }
    }
}

/* Strings of one seed as 32-bit, 64-bit, views and dictionaries: same values, same hash. */
static void equality_and_hash_agree_for_all_encodings(void **state)
{
    (void)state;
    const char *formats[2][6] = {{"u", "U", "vu", "c>u", "L>vu", "s>U"},
                                 {"z", "Z", "vz", "c>z", "L>vz", "s>Z"}};
    const arrow_maker maker = {.seed = 8,
                               .length = 300,
                               .null_percent = 20,
                               .distinct = 40,
                               .offset = 3,
                               .garbage = true,
                               .unaligned = true};
    for (int kind = 0; kind < 2; kind++) {
        oci_batch *batches[6];
        for (int i = 0; i < 6; i++) {
            batches[i] = make_column_batch(formats[kind][i], &maker);
        }
        for (int i = 0; i < 6; i++) {
            for (int64_t row = 0; row < 300; row++) {
                const oci_column *a = &batches[i]->columns[0], *b = &batches[0]->columns[0];
                int64_t other = row * 7 % 300;
                assert_true(oci_value_equal(a, row, b, row));
                assert_int_equal(oci_column_is_null(a, row), oci_column_is_null(b, row));
                assert_int_equal(oci_value_hash(a, row, 1), oci_value_hash(b, row, 1));
                assert_int_equal(oci_value_equal(a, row, b, other),
                                 oci_value_hash(a, row, 1) == oci_value_hash(b, other, 1));
            }
        }
        for (int i = 0; i < 6; i++) {
            oci_batch_release(batches[i]);
        }
    }
}

static void hashes_depend_on_the_seed(void **state)
{
    (void)state;
    const arrow_maker maker = {.seed = 8, .length = 40, .null_percent = 50};
    oci_batch *batch = make_column_batch("l", &maker);
    for (int64_t row = 0; row < 40; row++) {
        assert_int_not_equal(oci_value_hash(&batch->columns[0], row, 1),
                             oci_value_hash(&batch->columns[0], row, 2));
    }
    oci_batch_release(batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_bits_are_read_at_the_offset),
        cmocka_unit_test(null_counts_need_no_bitmap),
        cmocka_unit_test(bytes_are_found_in_every_string_layout),
        cmocka_unit_test(indices_of_every_width_are_read),
        cmocka_unit_test(nulls_are_seen_through_dictionaries),
        cmocka_unit_test(floats_are_compared_by_their_bits),
        cmocka_unit_test(equality_and_hash_agree_for_all_encodings),
        cmocka_unit_test(hashes_depend_on_the_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
