#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arrow/batch.h"
#include "support/batch_maker.h"

static void assert_message_has(const oc_error *err, const char *part)
{
    if (strstr(err->message, part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, err->message);
    }
}

static oci_field field_of(oci_type type)
{
    static char name[] = "a";
    oci_field field = {.name = name, .type = type};
    oci_field_set_width(&field);
    return field;
}

static void assert_column(const oci_column *column, int64_t bytes_size, const char *part)
{
    oc_error err = {0};
    oc_status status = oci_column_validate(column, bytes_size, &err);
    if (part == NULL) {
        assert_int_equal(status, OC_OK);
        return;
    }
    assert_int_equal(status, OC_EDATA);
    assert_message_has(&err, part);
}

static void every_made_batch_is_valid(void **state)
{
    (void)state;
    for (int64_t offset = 0; offset < 4; offset++) {
        const arrow_maker maker = {.seed = 4,
                                   .length = 70,
                                   .null_percent = 30,
                                   .offset = offset,
                                   .garbage = true,
                                   .unaligned = true};
        oci_batch *batch = make_batch(arrow_maker_formats, arrow_maker_n_formats, &maker);
        oc_error err = {0};
        assert_int_equal(oci_batch_validate(batch, &err), OC_OK);
        oci_batch_release(batch);
    }
}

/* Each offset in turn is made wrong, for both widths and for lengths around the vector width. */
static void one_wrong_offset_is_found_wherever_it_is(void **state)
{
    (void)state;
    oci_field narrow = field_of(OCI_TYPE_BINARY), wide = field_of(OCI_TYPE_LARGE_UTF8);
    int32_t offsets32[40];
    int64_t offsets64[40];
    for (int64_t length = 1; length < 36; length++) {
        for (int64_t wrong = 0; wrong <= length; wrong++) {
            for (int i = 0; i < 40; i++) {
                offsets32[i] = 3 + 2 * i;
                offsets64[i] = 3 + 2 * i;
            }
            oci_column a = {.field = &narrow,
                            .length = length,
                            .offset = 2,
                            .values = (const uint8_t *)offsets32};
            oci_column b = {.field = &wide,
                            .length = length,
                            .offset = 2,
                            .values = (const uint8_t *)offsets64};
            assert_column(&a, -1, NULL);
            assert_column(&b, -1, NULL);
            bool first = wrong == 0; /* too large there, too small elsewhere */
            offsets32[2 + wrong] = first ? INT32_MAX : 0;
            offsets64[2 + wrong] = first ? INT64_MAX : 0;
            assert_column(&a, -1, "column \"a\" has damaged offsets: row ");
            assert_column(&b, -1, "column \"a\" has damaged offsets: row ");
        }
    }
}

static void the_message_tells_the_row(void **state)
{
    (void)state;
    oci_field field = field_of(OCI_TYPE_UTF8);
    const int32_t offsets[] = {0, 4, 9, 7, 12};
    oci_column column = {.field = &field, .length = 4, .values = (const uint8_t *)offsets};
    assert_column(&column, -1, "row 2 starts at byte 9 and ends at byte 7");
}

/* Range copies take the bytes of all rows at once, so even null rows must not step back. */
static void offsets_under_nulls_count(void **state)
{
    (void)state;
    oci_field field = field_of(OCI_TYPE_UTF8);
    const int32_t offsets[] = {0, 4, 2, 7};
    const uint8_t valid = 0x05;
    oci_column column = {.field = &field,
                         .length = 3,
                         .null_count = 1,
                         .validity = &valid,
                         .values = (const uint8_t *)offsets};
    assert_column(&column, -1, "row 1");
}

static void offsets_stay_between_zero_and_the_size(void **state)
{
    (void)state;
    oci_field field = field_of(OCI_TYPE_UTF8);
    const int32_t negative[] = {-3, -1, 4}, good[] = {5, 6, 10};
    oci_column column = {.field = &field, .length = 2, .values = (const uint8_t *)negative};
    assert_column(&column, -1, "the first one, -3, is negative");
    column.values = (const uint8_t *)good;
    assert_column(&column, 10, NULL);
    assert_column(&column, 9, "the last one is 10, but there are only 9 bytes");
    column.length = 0; /* nothing is looked at */
    column.values = NULL;
    assert_column(&column, 0, NULL);
}

static void views_stay_inside_their_buffers(void **state)
{
    (void)state;
    const uint8_t *bytes = (const uint8_t *)"0123456789012345678901234567890";
    const uint8_t *buffers[] = {bytes, bytes};
    const int64_t sizes[] = {30, 13};
    oci_field field = field_of(OCI_TYPE_BINARY_VIEW);
    struct {
        int32_t length, buffer, offset;
        bool good;
    } cases[] = {
        {0, 9, 9, true},          {12, 9, -9, true},
        {13, 0, 0, true},         {13, 0, 17, true},
        {13, 0, 18, false},       {13, 1, 0, true},
        {13, 1, 1, false},        {14, 1, 0, false},
        {13, 2, 0, false},        {13, -1, 0, false},
        {13, 0, -1, false},       {-1, 0, 0, false},
        {INT32_MIN, 0, 0, false}, {INT32_MAX, 0, INT32_MAX, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        oci_view views[3] = {{.length = 0}};
        uint8_t valid = 0x05;
        views[1].length = cases[i].length;
        views[1].ref.buffer = cases[i].buffer;
        views[1].ref.offset = cases[i].offset;
        oci_column column = {.field = &field,
                             .length = 3,
                             .null_count = -1,
                             .values = (const uint8_t *)views,
                             .view_buffers = buffers,
                             .view_sizes = sizes,
                             .n_view_buffers = 2};
        assert_column(&column, -1, cases[i].good ? NULL : "a damaged view in row 1");
        column.validity = &valid; /* row 1 is null: anything goes */
        assert_column(&column, -1, NULL);
    }
}

static void view_buffers_have_sizes(void **state)
{
    (void)state;
    const uint8_t *buffers[] = {NULL};
    const int64_t sizes[] = {-1};
    oci_field field = field_of(OCI_TYPE_BINARY_VIEW);
    oci_column column = {
        .field = &field, .view_buffers = buffers, .view_sizes = sizes, .n_view_buffers = 1};
    assert_column(&column, -1, "number 0 has a size of -1 bytes");
}

static void indices_stay_inside_their_dictionary(void **state)
{
    (void)state;
    oci_field value_field = field_of(OCI_TYPE_INT8), field = field_of(OCI_TYPE_DICTIONARY);
    for (int type = OCI_TYPE_INT8; type <= OCI_TYPE_UINT64; type++) {
        for (int64_t wild = -1; wild <= 200; wild += 3) {
            oci_column values = {.field = &value_field, .length = 150, .values = (uint8_t *)""};
            uint8_t indices[3 * 8] = {0}, valid = 0x05;
            field.index_type = (oci_type)type;
            oci_field_set_width(&field);
            memcpy(indices + field.byte_width, &wild, (size_t)field.byte_width);
            oci_column column = {.field = &field,
                                 .length = 3,
                                 .null_count = -1,
                                 .values = indices,
                                 .dictionary = &values};
            bool fits = wild >= 0 && wild < (type == OCI_TYPE_INT8 ? 128 : 150);
            assert_column(&column, -1, fits ? NULL : "damaged dictionary index in row 1");
            column.validity = &valid;
            assert_column(&column, -1, NULL);
        }
    }
}

static void an_empty_dictionary_serves_null_rows_only(void **state)
{
    (void)state;
    oci_field value_field = field_of(OCI_TYPE_INT8), field = field_of(OCI_TYPE_DICTIONARY);
    field.index_type = OCI_TYPE_INT32;
    oci_field_set_width(&field);
    const uint8_t indices[8] = {0}, none_valid = 0, one_valid = 2;
    oci_column values = {.field = &value_field};
    oci_column column = {.field = &field,
                         .length = 2,
                         .null_count = -1,
                         .validity = &none_valid,
                         .values = indices,
                         .dictionary = &values};
    assert_column(&column, -1, NULL);
    column.validity = &one_valid;
    assert_column(&column, -1, "row 1: 0, but the dictionary has 0 values");
}

static void damaged_dictionary_values_are_found(void **state)
{
    (void)state;
    oci_field value_field = field_of(OCI_TYPE_UTF8), field = field_of(OCI_TYPE_DICTIONARY);
    field.index_type = OCI_TYPE_INT8;
    oci_field_set_width(&field);
    const int32_t offsets[] = {4, 2};
    oci_column values = {.field = &value_field, .length = 1, .values = (const uint8_t *)offsets};
    oci_column column = {
        .field = &field, .length = 1, .values = (const uint8_t *)"", .dictionary = &values};
    assert_column(&column, -1, "dictionary of column \"a\": column \"a\" has damaged offsets");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_made_batch_is_valid),
        cmocka_unit_test(one_wrong_offset_is_found_wherever_it_is),
        cmocka_unit_test(the_message_tells_the_row),
        cmocka_unit_test(offsets_under_nulls_count),
        cmocka_unit_test(offsets_stay_between_zero_and_the_size),
        cmocka_unit_test(views_stay_inside_their_buffers),
        cmocka_unit_test(view_buffers_have_sizes),
        cmocka_unit_test(indices_stay_inside_their_dictionary),
        cmocka_unit_test(an_empty_dictionary_serves_null_rows_only),
        cmocka_unit_test(damaged_dictionary_values_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
