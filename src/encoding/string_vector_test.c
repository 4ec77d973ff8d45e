/* String vectors: what goes in comes back, from every layout to every layout; each kind is taken where
 * it pays. */
#include <sys/mman.h>

#include "encoding/string_test_support.h"

static const oci_type var_types[] = {OCI_TYPE_UTF8, OCI_TYPE_LARGE_BINARY, OCI_TYPE_BINARY_VIEW};

/* From every layout; `kind` is what must have been chosen for offsets, or -1. */
static void check_round_trips(const texts *list, int kind)
{
    for (size_t t = 0; t < 3; t++) {
        made_column made;
        streams s;
        make_column(&made, var_types[t], list, 0);
        encode(&made.column, &s);
        if (kind >= 0 && t < 2) {
            assert_int_equal(kind_of(&s), kind);
        }
        check_streams(&s, list);
        free_streams(&s);
        free_column(&made);
    }
}

/* ---- tests: round trips ---------------------------------------------------------------------- */

static void no_strings_round_trip(void **unused)
{
    (void)unused;
    texts list = {0};
    check_round_trips(&list, -1);
}

static void strings_of_all_lengths_round_trip(void **unused)
{
    (void)unused;
    texts list = {0};
    for (int i = 0; i < 300; i++) {
        add_made(&list, "%0*d", i % 150, i * 7919);
        add(&list, i % 7 == 0 ? NULL : "");
    }
    check_round_trips(&list, -1);
    free_texts(&list);
}

static void nulls_alone_round_trip(void **unused)
{
    (void)unused;
    texts list = {0};
    for (int i = 0; i < 3000; i++) {
        add(&list, NULL);
    }
    check_round_trips(&list, -1);
    free_texts(&list);
}

static void bytes_that_are_no_text_round_trip(void **unused)
{
    (void)unused;
    static const char bytes[] = "\0\xff\xfe\0\x80 a\0\0\xc3";
    texts list = {0};
    for (int64_t i = 0; i < 4000; i++) {
        int64_t start = i % 5;
        add_bytes(&list, bytes + start, i * 31 % ((int64_t)sizeof bytes - start));
    }
    check_round_trips(&list, -1);
    free_texts(&list);
}

static void strings_of_zeros_are_told_apart_by_their_length(void **unused)
{
    (void)unused;
    static const char zeros[80];
    static const int64_t longest[] = {7, 8, 15, 16, 31, 32, 40};
    for (size_t k = 0; k < sizeof longest / sizeof longest[0]; k++) {
        texts list = {0};
        for (int64_t i = 0; i < 3000; i++) {
            int64_t length = i * 7 % (longest[k] + 1);
            add_bytes(&list, zeros + length, length);
        }
        check_round_trips(&list, OCI_STRINGS_DICTIONARY);
        free_texts(&list);
    }
}

static void what_nulls_hold_is_not_stored(void **unused)
{
    (void)unused;
    texts list = {0};
    for (int i = 0; i < 2000; i++) {
        add(&list, NULL);
        add_made(&list, "%d", i);
    }
    made_column made;
    streams s;
    make_column(&made, OCI_TYPE_UTF8, &list, 0);
    encode(&made.column, &s);
    assert_int_equal(s.bytes_size, sum_of(&list));
    check_streams(&s, &list);
    free_streams(&s);
    free_column(&made);
    free_texts(&list);
}

static void fixed_size_binary_round_trips(void **unused)
{
    (void)unused;
    static const int32_t widths[] = {0, 1, 3, 16, 20, 70};
    for (size_t w = 0; w < 6; w++) {
        for (int nulls = 0; nulls < 3; nulls++) {
            texts list = {0};
            for (int i = 0; i < 1500; i++) {
                if (nulls == 2 || (nulls == 1 && i % 3 == 0)) {
                    add(&list, NULL);
                } else {
                    add_made(&list, "%0*d", (int)widths[w], i % 10);
                    list.items[list.n - 1].length = widths[w];
                }
            }
            made_column made;
            streams s;
            make_column(&made, OCI_TYPE_FIXED_BINARY, &list, widths[w]);
            encode(&made.column, &s);
            check_streams(&s, &list);
            uint8_t validity[1500 / 8 + 1] = {0};
            oci_bits_copy(validity, 0, made.validity, LEAD, list.n);
            oci_strings_in in;
            assert_int_equal(open_streams(&s, list.n, &in), OC_OK);
            assert_int_equal(decode_fixed(&in, widths[w], nulls > 0 ? validity : NULL, &list),
                             OC_OK);
            assert_int_equal(decode_fixed(&in, widths[w] + 1, validity, NULL),
                             nulls == 2 ? OC_OK : OC_EDATA);
            free_streams(&s);
            free_column(&made);
            free_texts(&list);
        }
    }
}

static void offsets_beyond_31_bits_round_trip(void **unused)
{
    (void)unused;
    int64_t base = (INT64_C(1) << 31) - 100;
    size_t size = (size_t)base + 1000;
    uint8_t *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(bytes != MAP_FAILED);
    int64_t offsets[51];
    texts list = {0};
    for (int i = 0; i <= 50; i++) {
        offsets[i] = base + i * 20;
    }
    for (int i = 0; i < 50; i++) {
        snprintf((char *)bytes + offsets[i], 20, "%019d", i * i);
        add_bytes(&list, (char *)bytes + offsets[i], 20);
    }
    oci_field field = {.type = OCI_TYPE_LARGE_UTF8};
    oci_column column = {
        .field = &field, .length = 50, .values = (const uint8_t *)offsets, .bytes = bytes};
    streams s;
    encode(&column, &s);
    check_streams(&s, &list);
    free_streams(&s);
    free_texts(&list);
    munmap(bytes, size);
}

/* ---- tests: kinds ---------------------------------------------------------------------------- */

static void few_distinct_strings_become_a_dictionary(void **unused)
{
    (void)unused;
    texts list = {0};
    make_few_distinct(&list, 5000, 100);
    check_round_trips(&list, OCI_STRINGS_DICTIONARY);
    made_column made;
    streams s;
    make_column(&made, OCI_TYPE_UTF8, &list, 0);
    encode(&made.column, &s);
    assert_int_equal(s.bytes_size, 10 * 7 + 90 * 8);
    free_streams(&s);
    free_column(&made);
    free_texts(&list);
}

static void long_strings_that_repeat_become_a_dictionary(void **unused)
{
    (void)unused;
    texts list = {0};
    for (int i = 0; i < 3000; i++) {
        add_made(&list, "%s%0*d", i % 50 == 7 ? "" : "http://", 20 + i % 5 * 100, i * 7919 % 20);
        if (i % 11 == 0) {
            add(&list, NULL);
        }
    }
    check_round_trips(&list, OCI_STRINGS_DICTIONARY);
    free_texts(&list);
}

static void one_string_again_and_again_takes_no_room(void **unused)
{
    (void)unused;
    texts list = {0};
    for (int i = 0; i < 10000; i++) {
        add(&list, "the same");
    }
    check_round_trips(&list, OCI_STRINGS_DICTIONARY);
    made_column made;
    streams s;
    make_column(&made, OCI_TYPE_UTF8, &list, 0);
    encode(&made.column, &s);
    assert_int_equal(s.bytes_size, 8);
    assert_true(s.packed_size < 100);
    free_streams(&s);
    free_column(&made);
    free_texts(&list);
}

static void sorted_strings_are_front_coded(void **unused)
{
    (void)unused;
    texts list = {0};
    make_sorted(&list, 5000);
    check_round_trips(&list, OCI_STRINGS_FRONT);
    add(&list, NULL);
    add(&list, NULL);
    make_sorted(&list, 1000);
    check_round_trips(&list, OCI_STRINGS_FRONT);
    free_texts(&list);
}

/* Numbers behind a text, and some that only look like it. */
typedef struct numbered_case {
    const char *before;
    int digits; /* at least */
    int scale;
    const char *behind;
    bool is_numbered;
} numbered_case;

static void numbers_behind_a_text_become_numbers(void **unused)
{
    (void)unused;
    static const numbered_case cases[] = {
        {"user-", 0, 1, "", true},
        {"", 0, 1000, "", true},
        {"", 0, 200000, "", true}, /* up to 9 digits */
        {"Customer#", 9, 3, "", true},
        {"a text that is longer than sixteen bytes: ", 0, 7, "", true},
        {"7", 3, 1, "", true},
        {"some ", 0, 1, " of them", false},
        {"", 0, 2000000, "", false}, /* 10 digits */
        {"word ", 0, 1, "a", false},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        texts list = {0};
        for (int i = 0; i < 1000; i++) {
            add_made(&list, "%s%0*d%s", cases[k].before, cases[k].digits,
                     i * 37 % 1000 * cases[k].scale, cases[k].behind);
        }
        made_column made;
        streams s;
        make_column(&made, OCI_TYPE_UTF8, &list, 0);
        encode(&made.column, &s);
        assert_int_equal(kind_of(&s) == OCI_STRINGS_NUMBERED, cases[k].is_numbered);
        free_streams(&s);
        free_column(&made);
        check_round_trips(&list, cases[k].is_numbered ? (int)OCI_STRINGS_NUMBERED : -1);
        free_texts(&list);
    }
}

static void numbers_that_would_come_back_otherwise_are_left_alone(void **unused)
{
    (void)unused;
    static const char *const last[] = {"user-07",         "user-",          "user",    "",
                                       "user-1x",         "User-7",         "user-+7", "user- 7",
                                       "user-1234567890", "user-0000000007"};
    for (size_t k = 0; k < sizeof last / sizeof last[0]; k++) {
        texts list = {0};
        make_numbered(&list, 2000);
        add(&list, last[k]);
        made_column made;
        streams s;
        make_column(&made, OCI_TYPE_UTF8, &list, 0);
        encode(&made.column, &s);
        assert_int_not_equal(kind_of(&s), OCI_STRINGS_NUMBERED);
        check_streams(&s, &list);
        free_streams(&s);
        free_column(&made);
        free_texts(&list);
    }
}

static void strings_that_have_nothing_in_common_stay_plain(void **unused)
{
    (void)unused;
    texts list = {0};
    make_unlike(&list, 5000);
    check_round_trips(&list, OCI_STRINGS_PLAIN);
    free_texts(&list);
}

/* Encodes with a plan that wants `kind`. */
static void check_plan(const texts *list, oci_string_kind wanted, int64_t rows,
                       oci_string_kind expected)
{
    made_column made;
    streams s;
    oci_string_plan plan = {.kind = (uint8_t)wanted, .blocks_left = 5};
    make_column(&made, OCI_TYPE_UTF8, list, 0);
    encode_with(&made.column, &plan, rows, &s);
    assert_int_equal(kind_of(&s), expected);
    check_streams(&s, list);
    free_streams(&s);
    free_column(&made);
}

static void dictionaries_of_any_size_round_trip(void **unused)
{
    (void)unused;
    static const int distinct[] = {1, 2, 127, 128, 129, 1023, 1025, 4096, 16383, 16384};
    for (size_t i = 0; i < sizeof distinct / sizeof distinct[0]; i++) {
        texts list = {0};
        make_few_distinct(&list, 3 * distinct[i] + 600, distinct[i]);
        check_plan(&list, OCI_STRINGS_DICTIONARY, list.n, OCI_STRINGS_DICTIONARY);
        free_texts(&list);
    }
}

static void a_dictionary_that_outgrows_its_table_is_given_up(void **unused)
{
    (void)unused;
    texts list = {0};
    make_unlike(&list, 40000);
    check_plan(&list, OCI_STRINGS_DICTIONARY, 40000, OCI_STRINGS_PLAIN);
    free_texts(&list);
}

static void a_dictionary_that_has_not_paid_is_given_up(void **unused)
{
    (void)unused;
    texts list = {0};
    for (int i = 0; i < 3000; i++) {
        add_made(&list, "%c", 'a' + i % 26);
    }
    check_plan(&list, OCI_STRINGS_DICTIONARY, 3000, OCI_STRINGS_DICTIONARY);
    make_unlike(&list, 2900);
    check_plan(&list, OCI_STRINGS_DICTIONARY, 5900, OCI_STRINGS_PLAIN);
    free_texts(&list);
}

static void front_coding_is_given_up_for_very_long_strings(void **unused)
{
    (void)unused;
    texts list = {0};
    make_sorted(&list, 1000);
    add_made(&list, "%040000d", 0);
    add_made(&list, "%080000d", 0);
    check_plan(&list, OCI_STRINGS_FRONT, list.n, OCI_STRINGS_FRONT);
    add_made(&list, "x%070000d", 0);
    check_plan(&list, OCI_STRINGS_FRONT, list.n, OCI_STRINGS_PLAIN);
    free_texts(&list);
}

static void more_rows_than_scratch_stay_plain(void **unused)
{
    (void)unused;
    texts list = {0};
    make_few_distinct(&list, 1000, 3);
    check_plan(&list, OCI_STRINGS_DICTIONARY, 999, OCI_STRINGS_PLAIN);
    check_plan(&list, OCI_STRINGS_DICTIONARY, 1001, OCI_STRINGS_DICTIONARY);
    free_texts(&list);
}

static void a_plan_is_kept_for_some_blocks_and_then_looked_at_again(void **unused)
{
    (void)unused;
    texts unlike = {0};
    texts few = {0};
    make_unlike(&unlike, 1000);
    make_few_distinct(&few, 1000, 10);
    made_column made[2];
    make_column(&made[0], OCI_TYPE_UTF8, &unlike, 0);
    make_column(&made[1], OCI_TYPE_UTF8, &few, 0);
    oci_string_plan plan = {0};
    for (int i = 0; i < 20; i++) {
        streams s;
        encode_with(&made[i > 0].column, &plan, 1000, &s);
        assert_int_equal(kind_of(&s), i < 16 ? OCI_STRINGS_PLAIN : OCI_STRINGS_DICTIONARY);
        check_streams(&s, i > 0 ? &few : &unlike);
        free_streams(&s);
    }
    free_column(&made[0]);
    free_column(&made[1]);
    free_texts(&unlike);
    free_texts(&few);
}

static void few_strings_decide_for_their_block_only(void **unused)
{
    (void)unused;
    oci_string_plan plan = {0};
    for (int n = 100; n <= 1000; n += 900) {
        texts list = {0};
        make_few_distinct(&list, n, 10);
        made_column made;
        streams s;
        make_column(&made, OCI_TYPE_UTF8, &list, 0);
        encode_with(&made.column, &plan, n, &s);
        assert_int_equal(kind_of(&s), OCI_STRINGS_DICTIONARY);
        assert_int_equal(plan.blocks_left, n == 100 ? 0 : 15);
        free_streams(&s);
        free_column(&made);
        free_texts(&list);
    }
}

static void numbers_are_chosen_anew_with_the_kind(void **unused)
{
    (void)unused;
    texts lists[2] = {0};
    make_sorted(&lists[0], 2000);
    for (int i = 0; i < 4000; i++) {
        add_made(&lists[1], "%s", i < 2000 ? "the first half" : "the second half");
    }
    oci_string_plan plan = {0};
    for (int i = 0; i < 2; i++) {
        made_column made;
        streams fresh, switched;
        make_column(&made, OCI_TYPE_UTF8, &lists[i], 0);
        encode(&made.column, &fresh);
        plan.blocks_left = 0;
        encode_with(&made.column, &plan, lists[i].n, &switched);
        assert_int_equal(switched.packed_size, fresh.packed_size);
        free_streams(&fresh);
        free_streams(&switched);
        free_column(&made);
        free_texts(&lists[i]);
    }
}

/* ---- tests: anything ------------------------------------------------------------------------- */

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

static void make_random(texts *list, uint32_t *state)
{
    int n = (int)(next_random(state) % 3000);
    int distinct = 1 << next_random(state) % 14;
    int length = 1 << next_random(state) % 8;
    int nulls = (int)(next_random(state) % 3) * 40;
    bool sorted = next_random(state) % 2;
    for (int i = 0; i < n; i++) {
        int value = sorted ? i / (1 + n / distinct) : (int)next_random(state) % distinct;
        if ((int)next_random(state) % 100 < nulls) {
            add(list, NULL);
        } else {
            add_made(list, "%0*d", (int)next_random(state) % length, value);
            list->items[list->n - 1].length -= next_random(state) % 2;
        }
    }
}

static void random_strings_round_trip(void **unused)
{
    (void)unused;
    uint32_t state = 42;
    int seen[OCI_STRINGS_KINDS] = {0};
    for (int round = 0; round < 150; round++) {
        texts list = {0};
        make_random(&list, &state);
        for (size_t t = 0; t < 3; t++) {
            oci_string_plan plan = {.kind = (uint8_t)(next_random(&state) % OCI_STRINGS_KINDS),
                                    .blocks_left = (uint8_t)(next_random(&state) % 2)};
            made_column made;
            streams s;
            make_column(&made, var_types[t], &list, 0);
            encode_with(&made.column, &plan, list.n, &s);
            seen[kind_of(&s)]++;
            check_streams(&s, &list);
            free_streams(&s);
            free_column(&made);
        }
        free_texts(&list);
    }
    assert_true(seen[OCI_STRINGS_PLAIN] > 20 && seen[OCI_STRINGS_DICTIONARY] > 20 &&
                seen[OCI_STRINGS_FRONT] > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_strings_round_trip),
        cmocka_unit_test(strings_of_all_lengths_round_trip),
        cmocka_unit_test(nulls_alone_round_trip),
        cmocka_unit_test(bytes_that_are_no_text_round_trip),
        cmocka_unit_test(strings_of_zeros_are_told_apart_by_their_length),
        cmocka_unit_test(what_nulls_hold_is_not_stored),
        cmocka_unit_test(fixed_size_binary_round_trips),
        cmocka_unit_test(offsets_beyond_31_bits_round_trip),
        cmocka_unit_test(few_distinct_strings_become_a_dictionary),
        cmocka_unit_test(long_strings_that_repeat_become_a_dictionary),
        cmocka_unit_test(one_string_again_and_again_takes_no_room),
        cmocka_unit_test(sorted_strings_are_front_coded),
        cmocka_unit_test(numbers_behind_a_text_become_numbers),
        cmocka_unit_test(numbers_that_would_come_back_otherwise_are_left_alone),
        cmocka_unit_test(strings_that_have_nothing_in_common_stay_plain),
        cmocka_unit_test(dictionaries_of_any_size_round_trip),
        cmocka_unit_test(a_dictionary_that_outgrows_its_table_is_given_up),
        cmocka_unit_test(a_dictionary_that_has_not_paid_is_given_up),
        cmocka_unit_test(front_coding_is_given_up_for_very_long_strings),
        cmocka_unit_test(more_rows_than_scratch_stay_plain),
        cmocka_unit_test(a_plan_is_kept_for_some_blocks_and_then_looked_at_again),
        cmocka_unit_test(few_strings_decide_for_their_block_only),
        cmocka_unit_test(numbers_are_chosen_anew_with_the_kind),
        cmocka_unit_test(random_strings_round_trip),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
