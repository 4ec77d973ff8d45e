/* Unit tests of the entry sort: against qsort, over the shapes that have their own paths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ops/sort/entry_sort.h"

static uint64_t random_state;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static int compare_entries(const void *a, const void *b)
{
    const oci_entry *x = a;
    const oci_entry *y = b;
    if (x->hi != y->hi) {
        return x->hi < y->hi ? -1 : 1;
    }
    if (x->lo != y->lo) {
        return x->lo < y->lo ? -1 : 1;
    }
    return x->ordinal < y->ordinal ? -1 : x->ordinal > y->ordinal;
}

typedef void (*fill_fn)(oci_entry *e, int64_t n);

static void fill_random(oci_entry *e, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        e[i] = (oci_entry){next_random(), (uint32_t)next_random(), (uint32_t)i};
    }
}

static void fill_few_distinct(oci_entry *e, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        e[i] = (oci_entry){next_random() % 3, 7, (uint32_t)i};
    }
}

static void fill_equal(oci_entry *e, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        e[i] = (oci_entry){42, 42, (uint32_t)i};
    }
}

static void fill_ascending(oci_entry *e, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        e[i] = (oci_entry){(uint64_t)i / 2, 0, (uint32_t)i};
    }
}

static void fill_descending(oci_entry *e, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        e[i] = (oci_entry){0, (uint32_t)(n - i), (uint32_t)i};
    }
}

/* Descending with ties: reversing it would break the order of equal keys. */
static void fill_descending_pairs(oci_entry *e, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        e[i] = (oci_entry){(uint64_t)(n - i) / 2, 0, (uint32_t)i};
    }
}

static void fill_low_bytes(oci_entry *e, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        e[i] = (oci_entry){0x0101010101010101u, (uint32_t)(next_random() & 0xff), (uint32_t)i};
    }
}

static void fill_organ_pipe(oci_entry *e, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        e[i] = (oci_entry){(uint64_t)(i < n / 2 ? i : n - i), 0, (uint32_t)i};
    }
}

static void entries_sort_equals_reference(void **state)
{
    (void)state;
    static const fill_fn fills[] = {fill_random,    fill_few_distinct, fill_equal,
                                    fill_ascending, fill_descending,   fill_descending_pairs,
                                    fill_low_bytes, fill_organ_pipe};
    static const int64_t sizes[] = {0, 1, 2, 3, 24, 25, 100, 383, 384, 385, 1000, 5000, 100000};
    for (size_t f = 0; f < sizeof fills / sizeof fills[0]; f++) {
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            int64_t n = sizes[s];
            random_state = 88172645463325252ull + f * 100 + s;
            oci_entry *actual = malloc(sizeof(oci_entry) * (size_t)(n + 1));
            oci_entry *expected = malloc(sizeof(oci_entry) * (size_t)(n + 1));
            fills[f](actual, n);
            if (n > 0) {
                memcpy(expected, actual, sizeof(oci_entry) * (size_t)n);
            }
            oci_entries_sort(actual, n);
            qsort(expected, (size_t)n, sizeof(oci_entry), compare_entries);
            assert_memory_equal(actual, expected, sizeof(oci_entry) * (size_t)n);
            free(actual);
            free(expected);
        }
    }
}

/* Every arrangement of the keys 0..2 over up to 7 rows. */
static void entries_sort_is_right_on_all_small_inputs(void **state)
{
    (void)state;
    for (int64_t n = 0; n <= 7; n++) {
        int combinations = 1;
        for (int64_t i = 0; i < n; i++) {
            combinations *= 3;
        }
        for (int c = 0; c < combinations; c++) {
            oci_entry e[8];
            int rest = c;
            for (int64_t i = 0; i < n; i++) {
                e[i] = (oci_entry){0, (uint32_t)(rest % 3), (uint32_t)i};
                rest /= 3;
            }
            oci_entries_sort(e, n);
            for (int64_t i = 1; i < n; i++) {
                assert_true(compare_entries(&e[i - 1], &e[i]) < 0);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_sort_equals_reference),
        cmocka_unit_test(entries_sort_is_right_on_all_small_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
