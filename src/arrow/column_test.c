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

/* ---- nested, by hand ------------------------------------------------------------------------- */

static char child_name[] = "item";

/* Lists of every layout over the same numbers; three rows [7, 8], [], [9] behind one row that an
 * offset hides. The child has an offset of its own. */
static void list_rows_are_found_in_every_list_layout(void **state)
{
    (void)state;
    const int32_t numbers[] = {-1, -1, 5, 7, 8, 9};
    const int32_t offsets32[] = {0, 1, 3, 3, 4};
    const int64_t offsets64[] = {0, 1, 3, 3, 4};
    const int32_t starts32[] = {9, 1, 77, 3}, sizes32[] = {9, 2, 0, 1};
    const int64_t starts64[] = {9, 1, 77, 3}, sizes64[] = {9, 2, 0, 1};
    oci_field item = field_of(OCI_TYPE_INT32);
    oci_column child = {
        .field = &item, .length = 4, .offset = 2, .values = (const uint8_t *)numbers};
    const oci_type types[] = {OCI_TYPE_LIST, OCI_TYPE_LARGE_LIST, OCI_TYPE_LIST_VIEW,
                              OCI_TYPE_LARGE_LIST_VIEW, OCI_TYPE_MAP};
    const void *values[] = {offsets32, offsets64, starts32, starts64, offsets32};
    const void *sizes[] = {NULL, NULL, sizes32, sizes64, NULL};
    oci_field fields[5];
    oci_column columns[5];
    for (int i = 0; i < 5; i++) {
        fields[i] =
            (oci_field){.name = child_name, .type = types[i], .n_children = 1, .children = &item};
        columns[i] = (oci_column){.field = &fields[i],
                                  .length = 3,
                                  .offset = 1,
                                  .values = values[i],
                                  .sizes = sizes[i],
                                  .children = &child};
        const int64_t lengths[] = {2, 0, 1}, want_starts[] = {1, 3, 3};
        for (int64_t row = 0; row < 3; row++) {
            int64_t start, length;
            oci_column_list_at(&columns[i], row, &start, &length);
            assert_int_equal(length, lengths[row]);
            assert_true(length == 0 || start == want_starts[row]);
            for (int64_t other = 0; other < 3; other++) {
                assert_int_equal(oci_value_equal(&columns[i], row, &columns[0], other),
                                 row == other);
                assert_int_equal(oci_value_hash(&columns[i], row, 5) ==
                                     oci_value_hash(&columns[0], other, 5),
                                 row == other);
            }
        }
    }
}

static void fixed_size_lists_count_from_both_offsets(void **state)
{
    (void)state;
    const uint8_t numbers[] = {99, 0, 1, 2, 3, 0, 1}, valid = 0xDF; /* number 4 (value 0) is null */
    oci_field item = field_of(OCI_TYPE_UINT8);
    oci_column child = {
        .field = &item, .length = 6, .offset = 1, .validity = &valid, .values = numbers};
    oci_field field = {.name = child_name,
                       .type = OCI_TYPE_FIXED_LIST,
                       .list_size = 2,
                       .n_children = 1,
                       .children = &item};
    oci_column column = {.field = &field, .length = 3, .children = &child};
    oci_column tail = {.field = &field, .length = 2, .offset = 1, .children = &child};
    int64_t start, length;
    oci_column_list_at(&tail, 1, &start, &length);
    assert_int_equal(start, 4);
    assert_int_equal(length, 2);
    assert_true(oci_value_equal(&tail, 1, &column, 2));
    assert_false(oci_value_equal(&column, 0, &column, 2)); /* [0, 1] and [null, 1] */
    field.list_size = 0;
    oci_column_list_at(&tail, 1, &start, &length);
    assert_int_equal(length, 0);
    assert_true(oci_value_equal(&column, 0, &column, 2));
}

static void structs_are_equal_when_all_children_are(void **state)
{
    (void)state;
    const int32_t numbers[] = {1, 1, 1, 2};
    const uint8_t letters[] = "aabaa", valid = 0x07, letter_valid = 0x1B;
    oci_field items[2] = {field_of(OCI_TYPE_INT32), field_of(OCI_TYPE_INT8)};
    oci_column children[2] = {
        {.field = &items[0], .length = 4, .values = (const uint8_t *)numbers},
        {.field = &items[1],
         .length = 4,
         .offset = 1,
         .validity = &letter_valid,
         .values = letters},
    };
    oci_field field = {
        .name = child_name, .type = OCI_TYPE_STRUCT, .n_children = 2, .children = items};
    oci_column column = {
        .field = &field, .length = 4, .validity = &valid, .null_count = -1, .children = children};
    /* (1, 'a'), (1, null), (1, 'a'), null */
    assert_true(oci_value_equal(&column, 0, &column, 2));
    assert_int_equal(oci_value_hash(&column, 0, 0), oci_value_hash(&column, 2, 0));
    assert_false(oci_value_equal(&column, 0, &column, 1));
    assert_false(oci_value_equal(&column, 0, &column, 3));
    assert_true(oci_column_is_null(&column, 3));
    assert_false(oci_column_is_null(&column, 1));
    assert_int_equal(oci_column_null_count(&column), 1);
    oci_column tail = {.field = &field, .length = 2, .offset = 2, .children = children};
    assert_true(oci_value_equal(&tail, 0, &column, 2));
    field.n_children = 0;
    assert_true(oci_value_equal(&column, 0, &column, 1));
    assert_int_equal(oci_value_hash(&column, 0, 3), oci_value_hash(&column, 1, 3));
}

/* Ids 5 and 2 name children 0 and 1; dense and sparse of the same values. */
static void unions_are_equal_by_child_and_value(void **state)
{
    (void)state;
    const uint8_t ids[] = {99, 5, 2, 5, 2, 2};
    const int32_t rows[] = {99, 0, 0, 1, 1, 2};
    const uint8_t sparse_a[] = {99, 7, 0, 8, 0, 0}, sparse_b[] = {99, 0, 7, 0, 7, 7};
    const uint8_t dense_a[] = {7, 8}, dense_b[] = {7, 7, 7};
    const uint8_t sparse_valid = 0xDF, dense_valid = 0xFB;
    const int8_t type_ids[] = {5, 2};
    oci_field items[2] = {field_of(OCI_TYPE_INT8), field_of(OCI_TYPE_INT8)};
    oci_field dense_field = {
        .name = child_name, .type = OCI_TYPE_DENSE_UNION, .n_children = 2, .children = items};
    assert_int_equal(oci_field_set_union_ids(&dense_field, type_ids, 2, NULL), OC_OK);
    oci_field sparse_field = dense_field;
    sparse_field.type = OCI_TYPE_SPARSE_UNION;
    const oci_column sparse_children[] = {
        {.field = &items[0], .length = 6, .values = sparse_a},
        {.field = &items[1], .length = 6, .validity = &sparse_valid, .values = sparse_b}};
    const oci_column dense_children[] = {
        {.field = &items[0], .length = 2, .values = dense_a},
        {.field = &items[1], .length = 3, .validity = &dense_valid, .values = dense_b}};
    const oci_column sparse = {.field = &sparse_field,
                               .length = 5,
                               .offset = 1,
                               .values = ids,
                               .children = sparse_children};
    const oci_column dense = {.field = &dense_field,
                              .length = 5,
                              .offset = 1,
                              .values = ids,
                              .child_offsets = (const uint8_t *)rows,
                              .children = dense_children};
    int64_t row_in_child;
    assert_int_equal(oci_column_union_at(&sparse, 3, &row_in_child), 1);
    assert_int_equal(row_in_child, 4);
    assert_int_equal(oci_column_union_at(&dense, 2, &row_in_child), 0);
    assert_int_equal(row_in_child, 1);
    for (int64_t a = 0; a < 5; a++) {
        assert_int_equal(oci_column_is_null(&sparse, a), a == 4);
        assert_int_equal(oci_column_is_null(&dense, a), a == 4);
        for (int64_t b = 0; b < 5; b++) {
            bool equal = a == b || (a + b == 4 && a % 2 == 1); /* rows 1 and 3 hold 7 in child 1 */
            assert_int_equal(oci_value_equal(&sparse, a, &dense, b), equal);
            assert_int_equal(oci_value_hash(&sparse, a, 1) == oci_value_hash(&dense, b, 1), equal);
        }
    }
    assert_int_equal(oci_column_null_count(&dense), 0);
    free(dense_field.union_ids);
}

/* Runs 'a' x 3, null x 1, 'b' x 4, of which an offset hides two rows, with ends of every width. */
static void runs_are_found_and_looked_through(void **state)
{
    (void)state;
    const int16_t ends16[] = {99, 3, 4, 8, 12};
    const int32_t ends32[] = {99, 3, 4, 8, 12};
    const int64_t ends64[] = {99, 3, 4, 8, 12};
    const void *ends[] = {ends16, ends32, ends64};
    const uint8_t letters[] = "a-bc", valid = 0x0D;
    const uint8_t plain[] = "a-bbbb", plain_valid = 0x3D;
    const int64_t runs[] = {0, 1, 2, 2, 2, 2};
    oci_field letter = field_of(OCI_TYPE_INT8);
    const oci_column flat = {
        .field = &letter, .length = 6, .validity = &plain_valid, .values = plain};
    for (int width = 0; width < 3; width++) {
        oci_field items[2] = {field_of((oci_type)(OCI_TYPE_INT16 + width)), letter};
        oci_field field = {.name = child_name,
                           .type = OCI_TYPE_RUN_END_ENCODED,
                           .n_children = 2,
                           .children = items};
        const oci_column children[] = {
            {.field = &items[0], .length = 4, .offset = 1, .values = ends[width]},
            {.field = &items[1], .length = 4, .validity = &valid, .values = letters}};
        const oci_column column = {
            .field = &field, .length = 6, .offset = 2, .null_count = 0, .children = children};
        assert_int_equal(oci_column_run_end(&children[0], 2), 8);
        assert_int_equal(oci_column_null_count(&column), 0);
        for (int64_t row = 0; row < 6; row++) {
            assert_int_equal(oci_column_run_at(&column, row), runs[row]);
            assert_int_equal(oci_column_is_null(&column, row), row == 1);
            assert_true(oci_value_equal(&column, row, &flat, row));
            assert_int_equal(oci_value_hash(&column, row, 4), oci_value_hash(&flat, row, 4));
            assert_int_equal(oci_value_equal(&column, row, &column, 2), row >= 2);
        }
    }
}

/* Lists of lists of ... as deep as import lets in: the calls recurse and must not eat the stack. */
static void the_deepest_type_is_compared(void **state)
{
    (void)state;
    enum { DEPTH = OCI_NESTING_MAX };
    const int32_t offsets[] = {0, 1};
    const uint8_t numbers[] = {3, 4};
    oci_field fields[DEPTH + 1];
    oci_column a[DEPTH + 1], b[DEPTH + 1];
    fields[DEPTH] = field_of(OCI_TYPE_INT8);
    a[DEPTH] = b[DEPTH] =
        (oci_column){.field = &fields[DEPTH], .length = 1, .offset = 0, .values = numbers};
    b[DEPTH].offset = 1;
    for (int i = DEPTH - 1; i >= 0; i--) {
        fields[i] = (oci_field){
            .name = child_name, .type = OCI_TYPE_LIST, .n_children = 1, .children = &fields[i + 1]};
        a[i] = b[i] =
            (oci_column){.field = &fields[i], .length = 1, .values = (const uint8_t *)offsets};
        a[i].children = &a[i + 1];
        b[i].children = &b[i + 1];
    }
    assert_true(oci_value_equal(&a[0], 0, &a[0], 0));
    assert_false(oci_value_equal(&a[0], 0, &b[0], 0));
    assert_int_not_equal(oci_value_hash(&a[0], 0, 0), oci_value_hash(&b[0], 0, 0));
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
        cmocka_unit_test(list_rows_are_found_in_every_list_layout),
        cmocka_unit_test(fixed_size_lists_count_from_both_offsets),
        cmocka_unit_test(structs_are_equal_when_all_children_are),
        cmocka_unit_test(unions_are_equal_by_child_and_value),
        cmocka_unit_test(runs_are_found_and_looked_through),
        cmocka_unit_test(the_deepest_type_is_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
