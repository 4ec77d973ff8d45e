/* Views as string vectors: what several of them show is stored once, what none shows is not. */
#include "encoding/string_test_support.h"

static void views_of_one_long_string_store_it_once(void **unused)
{
    (void)unused;
    enum { SIZE = 1 << 20, N = 100000 };
    uint8_t *buffer = make_buffer(SIZE);
    shown s;
    streams out;
    begin_shown(&s, buffer, SIZE, N);
    for (int64_t i = 0; i < N; i++) {
        show(&s, 0, SIZE);
    }
    int64_t packed, bytes;
    oci_strings_bound(&s.column, &packed, &bytes);
    assert_true(bytes < SIZE + 4 * N + 100);
    encode(&s.column, &out);
    assert_int_equal(out.bytes_size, SIZE);
    assert_true(out.packed_size < 1000);
    oci_strings_in in;
    assert_int_equal(open_streams(&out, N, &in), OC_OK);
    assert_int_equal(in.value_bytes, (int64_t)SIZE * N);
    assert_int_equal(in.stored_bytes, SIZE);
    uint8_t *views = must(malloc(N * 16));
    uint8_t *stored = must(malloc(SIZE + OCI_STRING_SLACK));
    int64_t used;
    assert_int_equal(oci_strings_decode_views(&in, views, stored, &used, NULL), OC_OK);
    assert_int_equal(used, SIZE);
    assert_memory_equal(stored, buffer, SIZE);
    assert_memory_equal(views, s.views, N * 16);
    uint8_t offsets[4];
    assert_int_equal(oci_strings_decode(&in, 4, offsets, stored, NULL), OC_EDATA);
    free(views);
    free(stored);
    free_streams(&out);
    end_shown(&s);
    free(buffer);
}

static void views_that_overlap_store_what_they_show_once(void **unused)
{
    (void)unused;
    enum { SIZE = 50000, N = 9000 };
    uint8_t *buffer = make_buffer(SIZE);
    shown s;
    streams out;
    begin_shown(&s, buffer, SIZE, N);
    for (int64_t i = 0; i < N; i++) {
        show(&s, 1000 + i % 13, i % 5 == 0 ? i % 13 : 20 + i);
    }
    encode(&s.column, &out);
    assert_int_equal(kind_of(&out), OCI_STRINGS_SHARED);
    assert_true(out.bytes_size < 9000 + 40 + 9000 / 5 * 13);
    check_streams(&out, &s.list);
    free_streams(&out);
    end_shown(&s);
    free(buffer);
}

static void slices_of_views_store_what_they_show(void **unused)
{
    (void)unused;
    enum { SIZE = 100000, N = 5000, SLICE = 50 };
    uint8_t *buffer = make_buffer(SIZE);
    shown s;
    begin_shown(&s, buffer, SIZE, N);
    for (int64_t i = 0; i < N; i++) {
        show(&s, i * 7919 % (SIZE - 20), 20);
    }
    for (int64_t i = 0; i < N; i += SLICE) {
        streams out;
        oci_column slice = s.column;
        slice.offset = i;
        slice.length = SLICE;
        encode(&slice, &out);
        assert_int_equal(out.bytes_size, SLICE * 20);
        check_streams(&out, &(texts){.items = s.list.items + i, .n = SLICE});
        free_streams(&out);
    }
    end_shown(&s);
    free(buffer);
}

static void views_that_repeat_between_much_else_become_a_dictionary(void **unused)
{
    (void)unused;
    enum { SIZE = 1 << 20, N = 5000 };
    uint8_t *buffer = make_buffer(SIZE);
    shown s;
    streams out;
    begin_shown(&s, buffer, SIZE, N);
    for (int64_t i = 0; i < N; i++) {
        show(&s, i % 10 * 100000, 1000);
    }
    encode(&s.column, &out);
    assert_int_equal(kind_of(&out), OCI_STRINGS_DICTIONARY);
    assert_int_equal(out.bytes_size, 10 * 1000);
    check_streams(&out, &s.list);
    free_streams(&out);
    end_shown(&s);
    free(buffer);
}

static void views_that_hardly_repeat_stay_plain(void **unused)
{
    (void)unused;
    enum { SIZE = 40000, N = 2001 };
    uint8_t *buffer = make_buffer(SIZE);
    shown s;
    streams out;
    begin_shown(&s, buffer, SIZE, N);
    for (int64_t i = 0; i < N; i++) {
        show(&s, i * 7919 % 2000 * 20, 20);
    }
    encode(&s.column, &out);
    assert_int_equal(kind_of(&out), OCI_STRINGS_PLAIN);
    check_streams(&out, &s.list);
    free_streams(&out);
    end_shown(&s);
    free(buffer);
}

/* All alike, so that comparing their bytes would never end. */
static void long_views_that_are_equal_do_not_take_forever(void **unused)
{
    (void)unused;
    enum { SIZE = 1 << 20, N = 100000 };
    uint8_t *buffer = must(calloc(SIZE + N, 1));
    shown s;
    streams out;
    begin_shown(&s, buffer, SIZE + N, N);
    for (int64_t i = 0; i < N; i++) {
        show(&s, i, SIZE);
    }
    encode(&s.column, &out);
    assert_int_equal(kind_of(&out), OCI_STRINGS_SHARED);
    free_streams(&out);
    end_shown(&s);
    free(buffer);
}

static void bounds_hold_for_any_of_the_rows(void **unused)
{
    (void)unused;
    enum { SIZE = 3000, N = 300 };
    uint8_t *buffer = make_buffer(SIZE);
    for (int64_t length = 1; length < 400; length += 7) {
        shown s;
        begin_shown(&s, buffer, SIZE, N);
        for (int64_t i = 0; i < N; i++) {
            show(&s, i * i % (SIZE - 400), i % 3 == 0 ? length : length / 20);
        }
        int64_t packed, bytes;
        oci_strings_bound(&s.column, &packed, &bytes);
        for (int64_t i = 0; i < N; i += 11) {
            oci_column some = s.column;
            some.offset = i;
            some.length = (N - i) / (1 + i % 4);
            streams out;
            encode(&some, &out);
            assert_true(out.packed_size <= packed && out.bytes_size <= bytes);
            check_streams(&out, &(texts){.items = s.list.items + i, .n = some.length});
            free_streams(&out);
        }
        end_shown(&s);
    }
    free(buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_of_one_long_string_store_it_once),
        cmocka_unit_test(views_that_overlap_store_what_they_show_once),
        cmocka_unit_test(slices_of_views_store_what_they_show),
        cmocka_unit_test(views_that_repeat_between_much_else_become_a_dictionary),
        cmocka_unit_test(views_that_hardly_repeat_stay_plain),
        cmocka_unit_test(long_views_that_are_equal_do_not_take_forever),
        cmocka_unit_test(bounds_hold_for_any_of_the_rows),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
