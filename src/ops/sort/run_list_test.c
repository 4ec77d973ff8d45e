/* Unit tests of the run list and the merge plan: pure bookkeeping, no files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "ops/sort/run_list.h"

typedef struct fixture {
    oci_budget *budget;
    oci_mem *mem;
    oci_run_list list;
    int64_t file_end;
} fixture;

static void set_up(fixture *f)
{
    memset(f, 0, sizeof *f);
    assert_int_equal(oci_budget_create(1 << 20, NULL, &f->budget, NULL), OC_OK);
    assert_int_equal(oci_mem_open(f->budget, "test", &f->mem, NULL), OC_OK);
    oci_run_list_init(&f->list, f->mem);
}

static void tear_down(fixture *f)
{
    oci_run_list_deinit(&f->list);
    assert_int_equal(oci_budget_used(f->budget), 0);
    oci_mem_close(f->mem);
    oci_budget_destroy(f->budget);
}

/* What a merge takes per input besides blocks. */
#define FIXED_COST 512

/* Adds a run of `bytes` with keys from `first` to `last`; a merge takes `cost` KiB of memory for
 * it. */
static void add(fixture *f, const char *first, const char *last, int64_t bytes, int64_t cost)
{
    oci_sorted_run run = {
        .rows = bytes, .bytes = bytes, .slab_bytes_max = cost * 1024 - FIXED_COST};
    oci_run_key_set(&run.first_key, (const uint8_t *)first, (int64_t)strlen(first));
    oci_run_key_set(&run.last_key, (const uint8_t *)last, (int64_t)strlen(last));
    oci_run_extent extent = {.offset = f->file_end, .bytes = bytes, .rows = bytes, .blocks = 1};
    f->file_end += bytes;
    assert_int_equal(oci_run_list_add(&f->list, &run, &extent, NULL), OC_OK);
}

static void runs_in_key_order_become_one(void **state)
{
    (void)state;
    fixture f;
    set_up(&f);
    add(&f, "a", "c", 10, 1);
    add(&f, "c", "d", 10, 1); /* equal keys may follow: input order is kept */
    add(&f, "e", "f", 10, 1);
    assert_int_equal(f.list.n, 1);
    assert_int_equal(f.list.runs[0].n_extents, 1); /* they lie behind each other */
    assert_int_equal(f.list.runs[0].rows, 30);
    assert_memory_equal(f.list.runs[0].last_key.bytes, "f", 1);
    tear_down(&f);
}

static void runs_in_reverse_key_order_become_one(void **state)
{
    (void)state;
    fixture f;
    set_up(&f);
    add(&f, "m", "p", 10, 1);
    add(&f, "g", "k", 10, 1);
    add(&f, "a", "f", 10, 1);
    assert_int_equal(f.list.n, 1);
    assert_int_equal(f.list.runs[0].n_extents, 3);
    assert_int_equal(f.list.runs[0].extents[0].offset, 20);
    assert_int_equal(f.list.runs[0].extents[2].offset, 0);
    tear_down(&f);
}

static void a_run_that_ends_with_the_first_key_is_not_put_in_front(void **state)
{
    (void)state;
    fixture f;
    set_up(&f);
    add(&f, "m", "p", 10, 1);
    add(&f, "g", "m", 10, 1); /* its "m" comes later in the input than the other "m" */
    assert_int_equal(f.list.n, 2);
    tear_down(&f);
}

static void overlapping_runs_stay_apart(void **state)
{
    (void)state;
    fixture f;
    set_up(&f);
    add(&f, "a", "m", 10, 1);
    add(&f, "b", "z", 10, 1);
    assert_int_equal(f.list.n, 2);
    tear_down(&f);
}

static void keys_known_in_part_are_told_apart_only_where_they_differ(void **state)
{
    (void)state;
    char long_a[100];
    char long_b[100];
    memset(long_a, 'x', sizeof long_a);
    memset(long_b, 'x', sizeof long_b);
    long_b[99] = 'y';
    oci_run_key a;
    oci_run_key b;
    oci_run_key_set(&a, (uint8_t *)long_a, 100);
    oci_run_key_set(&b, (uint8_t *)long_b, 100);
    assert_false(oci_run_key_not_above(&a, &b)); /* true, but not known */
    assert_false(oci_run_key_below(&a, &b));
    long_b[10] = 'z';
    oci_run_key_set(&b, (uint8_t *)long_b, 100);
    assert_true(oci_run_key_below(&a, &b));
}

static void add_overlapping(fixture *f, int n, int64_t bytes, int64_t cost)
{
    for (int i = 0; i < n; i++) {
        add(f, "a", "z", bytes, cost);
    }
}

/* Merges by the plan (space in KiB) until the final step; returns the bytes that were moved. */
static int64_t carry_out(fixture *f, int64_t space, int64_t final_space, int *steps)
{
    int64_t moved = 0;
    *steps = 0;
    for (;;) {
        oci_merge_step step;
        int64_t needed;
        assert_int_equal(
            oci_merge_plan(&f->list, space * 1024, final_space * 1024, &step, &needed, NULL),
            OC_OK);
        if (step.is_final) {
            assert_int_equal(step.n, f->list.n);
            return moved;
        }
        assert_true(step.n >= 2);
        oci_sorted_run merged = f->list.runs[step.start];
        merged.bytes = 0;
        int64_t cost = 0;
        for (int32_t i = step.start; i < step.start + step.n; i++) {
            merged.bytes += f->list.runs[i].bytes;
            cost += oci_run_cost(&f->list.runs[i]);
        }
        assert_true(cost <= space * 1024);
        merged.rows = merged.bytes;
        oci_run_extent extent = {.bytes = merged.bytes, .rows = merged.rows};
        assert_int_equal(oci_run_list_replace(&f->list, step.start, step.n, &merged, &extent, NULL),
                         OC_OK);
        moved += merged.bytes;
        (*steps)++;
    }
}

static void runs_that_fit_are_merged_at_once(void **state)
{
    (void)state;
    fixture f;
    int steps;
    set_up(&f);
    add_overlapping(&f, 8, 100, 10);
    assert_int_equal(carry_out(&f, 80, 80, &steps), 0);
    assert_int_equal(steps, 0);
    tear_down(&f);
}

static void the_first_merge_takes_just_enough_runs(void **state)
{
    (void)state;
    fixture f;
    int steps;
    set_up(&f);
    add_overlapping(&f, 9, 100, 10);
    /* Eight fit: merging two leaves eight. */
    assert_int_equal(carry_out(&f, 80, 80, &steps), 200);
    assert_int_equal(steps, 1);
    tear_down(&f);
}

static void any_number_of_runs_finishes_with_two_inputs(void **state)
{
    (void)state;
    for (int n = 1; n <= 40; n++) {
        fixture f;
        int steps;
        set_up(&f);
        add_overlapping(&f, n, 100, 10);
        carry_out(&f, 20, 20, &steps);
        assert_true(f.list.n <= 2);
        tear_down(&f);
    }
}

static void plan_moves_about_n_log_n_bytes(void **state)
{
    (void)state;
    fixture f;
    int steps;
    set_up(&f);
    add_overlapping(&f, 100, 100, 10);
    /* Fan-in 10: 100 runs -> 10 -> 1: each byte moves once before the final merge. */
    assert_true(carry_out(&f, 100, 100, &steps) <= 100 * 100);
    assert_int_equal(steps, 10);
    tear_down(&f);
}

static void one_expensive_run_does_not_stop_the_others(void **state)
{
    (void)state;
    fixture f;
    int steps;
    set_up(&f);
    add_overlapping(&f, 5, 100, 10);
    add(&f, "a", "z", 100, 60);
    add_overlapping(&f, 5, 100, 10);
    carry_out(&f, 80, 80, &steps);
    assert_true(steps > 0);
    tear_down(&f);
}

static void plan_names_what_two_runs_need_when_they_do_not_fit(void **state)
{
    (void)state;
    fixture f;
    set_up(&f);
    add_overlapping(&f, 3, 100, 50);
    oci_merge_step step;
    int64_t needed;
    assert_int_equal(oci_merge_plan(&f.list, 99 * 1024, 99 * 1024, &step, &needed, NULL),
                     OC_EBUDGET);
    assert_int_equal(needed, 100 * 1024);
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_in_key_order_become_one),
        cmocka_unit_test(runs_in_reverse_key_order_become_one),
        cmocka_unit_test(a_run_that_ends_with_the_first_key_is_not_put_in_front),
        cmocka_unit_test(overlapping_runs_stay_apart),
        cmocka_unit_test(keys_known_in_part_are_told_apart_only_where_they_differ),
        cmocka_unit_test(runs_that_fit_are_merged_at_once),
        cmocka_unit_test(the_first_merge_takes_just_enough_runs),
        cmocka_unit_test(any_number_of_runs_finishes_with_two_inputs),
        cmocka_unit_test(plan_moves_about_n_log_n_bytes),
        cmocka_unit_test(one_expensive_run_does_not_stop_the_others),
        cmocka_unit_test(plan_names_what_two_runs_need_when_they_do_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
