#include "formats/parquet/thrift_compact.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "support/memory_file.h"

static oci_thrift_reader reader_of(const void *data, int64_t size)
{
    return (oci_thrift_reader){.data = data, .size = size};
}

static void what_is_written_is_read(void **state)
{
    test_env t;
    (void)state;
    assert_int_equal(test_env_try(&t, 1 << 20, NULL, NULL), OC_OK);
    oci_text text = {.mem = t.mem};
    oci_thrift_writer w = {.out = &text};
    oci_thrift_write_bool(&w, 1, true);
    oci_thrift_write_bool(&w, 2, false);
    oci_thrift_write_i8(&w, 3, -8);
    oci_thrift_write_i32(&w, 4, INT32_MIN);
    oci_thrift_write_i64(&w, 5, INT64_MAX);
    oci_thrift_write_bytes(&w, 9, "abc", 3);
    oci_thrift_write_struct(&w, 10);
    oci_thrift_write_i64(&w, 2, INT64_MIN);
    oci_thrift_write_end(&w);
    oci_thrift_write_list(&w, 11, OCI_THRIFT_I64, 20);
    for (int i = 0; i < 20; i++) {
        oci_thrift_write_element_int(&w, i * 1000);
    }
    oci_thrift_write_i32(&w, 1000, 7);
    oci_thrift_write_end(&w);
    assert_int_equal(w.status, OC_OK);

    oci_thrift_reader r = reader_of(text.data, text.length);
    oci_thrift_field f = {0};
    oci_thrift_field inner = {0};
    int64_t size;
    assert_true(oci_thrift_next(&r, &f) && f.id == 1 && oci_thrift_bool(&r, &f));
    assert_true(oci_thrift_next(&r, &f) && f.id == 2 && !oci_thrift_bool(&r, &f));
    assert_true(oci_thrift_next(&r, &f) && oci_thrift_int(&r, &f) == -8);
    assert_true(oci_thrift_next(&r, &f) && oci_thrift_int32(&r, &f) == INT32_MIN);
    assert_true(oci_thrift_next(&r, &f) && oci_thrift_int(&r, &f) == INT64_MAX);
    assert_true(oci_thrift_next(&r, &f) && f.id == 9);
    assert_memory_equal(oci_thrift_bytes(&r, &f, &size), "abc", 3);
    assert_int_equal(size, 3);
    assert_true(oci_thrift_next(&r, &f) && oci_thrift_struct(&r, &f));
    assert_true(oci_thrift_next(&r, &inner) && inner.id == 2);
    assert_true(oci_thrift_int(&r, &inner) == INT64_MIN);
    assert_false(oci_thrift_next(&r, &inner));
    assert_true(oci_thrift_next(&r, &f));
    assert_int_equal(oci_thrift_list(&r, &f, OCI_THRIFT_I64), 20);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(oci_thrift_element_int(&r), i * 1000);
    }
    assert_true(oci_thrift_next(&r, &f) && f.id == 1000 && oci_thrift_int32(&r, &f) == 7);
    assert_false(oci_thrift_next(&r, &f));
    assert_null(r.problem);
    assert_int_equal(r.at, text.length);

    /* Nothing of it is needed to find the end. */
    r = reader_of(text.data, text.length);
    f = (oci_thrift_field){0};
    while (oci_thrift_next(&r, &f)) {
        oci_thrift_skip(&r, &f);
    }
    assert_null(r.problem);
    assert_int_equal(r.at, text.length);
    oci_text_free(&text);
    test_env_deinit(&t);
}

static void unknown_types_of_fields_are_skipped(void **state)
{
    /* double, set of 2 i8, map of binary to bool, uuid, then field 9: i32 7. */
    static const uint8_t data[] = {0x17, 1, 2,    3,  4,   5,  6,    7,  8,  0x1A, 0x23, 1,  2,
                                   0x1B, 1, 0x81, 1,  'k', 1,  0x1D, 1,  2,  3,    4,    5,  6,
                                   7,    8, 9,    10, 11,  12, 13,   14, 15, 16,   0x55, 14, 0};
    oci_thrift_reader r = reader_of(data, sizeof data);
    oci_thrift_field f = {0};
    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_true(oci_thrift_next(&r, &f));
        oci_thrift_skip(&r, &f);
    }
    assert_true(oci_thrift_next(&r, &f) && f.id == 9);
    assert_int_equal(oci_thrift_int32(&r, &f), 7);
    assert_false(oci_thrift_next(&r, &f));
    assert_null(r.problem);
}

static void lengths_are_held_against_the_bytes_left(void **state)
{
    static const uint8_t text[] = {0x18, 5, 'a', 'b', 'c', 'd'};
    static const uint8_t list[] = {0x19, 0xF5, 0xFF, 0xFF, 0x03, 0, 0};
    static const uint8_t huge[] = {0x18, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 0};
    oci_thrift_field f = {0};
    int64_t size;
    (void)state;
    oci_thrift_reader r = reader_of(text, sizeof text);
    assert_true(oci_thrift_next(&r, &f));
    assert_null(oci_thrift_bytes(&r, &f, &size));
    assert_true(r.is_short);
    f = (oci_thrift_field){0};
    r = reader_of(list, sizeof list);
    assert_true(oci_thrift_next(&r, &f));
    assert_int_equal(oci_thrift_list(&r, &f, OCI_THRIFT_I32), 0);
    assert_non_null(r.problem);
    f = (oci_thrift_field){0};
    r = reader_of(huge, sizeof huge);
    assert_true(oci_thrift_next(&r, &f));
    oci_thrift_skip(&r, &f);
    assert_non_null(r.problem);
    assert_false(r.is_short); /* more bytes would not help */
}

static void numbers_of_more_bits_than_their_type_are_refused(void **state)
{
    static const uint8_t long_varint[] = {0x16, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
                                          0xFF, 0xFF, 0xFF, 0xFF, 0x02, 0};
    static const uint8_t endless[] = {0x16, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                      0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0};
    static const uint8_t wide[] = {0x16, 0x80, 0x80, 0x80, 0x80, 0x10, 0}; /* 2^31 */
    static const uint8_t field_id[] = {0x06, 0x80, 0x80, 0x04, 0};         /* field 32768 */
    const struct {
        const uint8_t *data;
        int64_t size;
    } cases[] = {{long_varint, sizeof long_varint},
                 {endless, sizeof endless},
                 {wide, sizeof wide},
                 {field_id, sizeof field_id}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        oci_thrift_reader r = reader_of(cases[i].data, cases[i].size);
        oci_thrift_field f = {0};
        if (oci_thrift_next(&r, &f)) {
            assert_int_equal(oci_thrift_int32(&r, &f), 0);
        }
        assert_non_null(r.problem);
    }
}

static void a_field_of_another_type_is_refused(void **state)
{
    static const uint8_t data[] = {0x16, 2, 0};
    oci_thrift_reader r = reader_of(data, sizeof data);
    oci_thrift_field f = {0};
    int64_t size;
    (void)state;
    assert_true(oci_thrift_next(&r, &f));
    assert_null(oci_thrift_bytes(&r, &f, &size));
    assert_non_null(r.problem);
    assert_false(oci_thrift_next(&r, &f)); /* a problem ends everything */
}

static void nesting_is_limited(void **state)
{
    uint8_t data[1000];
    oci_thrift_field f = {0};
    (void)state;
    memset(data, 0x1C, sizeof data); /* a struct in a struct in a ... */
    oci_thrift_reader r = reader_of(data, sizeof data);
    assert_true(oci_thrift_next(&r, &f));
    oci_thrift_skip(&r, &f);
    assert_non_null(r.problem);
    assert_true(r.at < 50);
    memset(data, 0x19, sizeof data); /* a list of one list of one list of ... */
    r = reader_of(data, sizeof data);
    f = (oci_thrift_field){0};
    assert_true(oci_thrift_next(&r, &f));
    oci_thrift_skip(&r, &f);
    assert_non_null(r.problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(unknown_types_of_fields_are_skipped),
        cmocka_unit_test(lengths_are_held_against_the_bytes_left),
        cmocka_unit_test(numbers_of_more_bits_than_their_type_are_refused),
        cmocka_unit_test(a_field_of_another_type_is_refused),
        cmocka_unit_test(nesting_is_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
