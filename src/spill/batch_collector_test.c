/* Unit tests of the batch collector: all rows come out once and in order, whatever batches they came
 * in; blocks have about the size asked for; what passes is not copied. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/bits.h"
#include "base/fault.h"
#include "spill/batch_collector.h"
#include "support/batch_maker.h"
#include "support/gather_check.h"

#define KIB ((int64_t)1 << 10)
#define MIB ((int64_t)1 << 20)

typedef struct fixture {
    oci_budget *budget;
    oci_mem *mem;
    oci_batch_collector *collector;
    int64_t blocks;
    int64_t rows;
    int64_t largest; /* rows of a block */
    int64_t passed;  /* blocks that lie in memory of their maker */
} fixture;

static void set_up(fixture *f, oci_schema *schema, const oci_allocator *allocator)
{
    *f = (fixture){0};
    assert_int_equal(oci_budget_create(64 * MIB, allocator, &f->budget, NULL), OC_OK);
    assert_int_equal(oci_mem_open(f->budget, "test", &f->mem, NULL), OC_OK);
    assert_int_equal(oci_batch_collector_create(schema, 64, f->mem, &f->collector, NULL), OC_OK);
}

static void tear_down(fixture *f)
{
    oci_batch_collector_destroy(f->collector);
    assert_int_equal(oci_mem_held(f->mem), 0);
    oci_mem_close(f->mem);
    oci_budget_destroy(f->budget);
}

/* Fails the test unless the rows of `block` are those of `all` from `start` on. */
static void check_rows(const oci_batch *block, oci_batch *all, int64_t start)
{
    oci_batch *want;
    assert_true(start + block->length <= all->length);
    assert_int_equal(oci_batch_slice(all, start, block->length, &want, NULL), OC_OK);
    assert_int_equal(oci_batch_validate(block, NULL), OC_OK);
    assert_true(oci_batch_equal(block, want));
    oci_batch_release(want);
}

/* Takes the blocks that are ready; `all` (may be NULL) has the rows as they should be. */
static oc_status take_blocks(fixture *f, bool flush, oci_batch *all, oc_error *err)
{
    for (;;) {
        oci_batch *block;
        OC_TRY(oci_batch_collector_next(f->collector, flush, &block, err));
        if (block == NULL) {
            return OC_OK;
        }
        if (all != NULL) {
            check_rows(block, all, f->rows);
        }
        f->blocks++;
        f->rows += block->length;
        f->largest = oci_max64(f->largest, block->length);
        f->passed += block->slab == NULL;
        oci_batch_release(block);
    }
}

static oc_status add_slice(fixture *f, oci_batch *all, int64_t start, int64_t n,
                           int64_t block_bytes, oc_error *err)
{
    oci_batch *slice;
    OC_TRY(oci_batch_slice(all, start, n, &slice, err));
    return oci_batch_collector_add(f->collector, slice, block_bytes, err);
}

/* Appends all rows in slices of `n` and takes the blocks. */
static void collect(fixture *f, oci_batch *all, int64_t n, int64_t block_bytes)
{
    for (int64_t at = 0; at < all->length; at += n) {
        assert_int_equal(add_slice(f, all, at, oci_min64(n, all->length - at), block_bytes, NULL),
                         OC_OK);
        assert_int_equal(take_blocks(f, false, all, NULL), OC_OK);
    }
    assert_int_equal(take_blocks(f, true, all, NULL), OC_OK);
    assert_int_equal(f->rows, all->length);
}

/* ---- behaviour ------------------------------------------------------------------------------- */

static void check_type(const char *format, uint64_t seed)
{
    static const int64_t sizes[] = {1, 7, 64, 1000};
    arrow_maker maker = {.seed = seed,
                         .length = 700,
                         .null_percent = 20,
                         .distinct = 50,
                         .offset = 3,
                         .garbage = true};
    oci_batch *all = make_column_batch(format, &maker);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        fixture f;
        set_up(&f, all->schema, NULL);
        collect(&f, all, sizes[i], 4 * KIB);
        tear_down(&f);
    }
    oci_batch_release(all);
}

static void rows_of_every_type_come_out_in_order(void **state)
{
    (void)state;
    for (int32_t i = 0; i < arrow_maker_n_formats; i++) {
        check_type(arrow_maker_formats[i], (uint64_t)i);
    }
    for (int32_t i = 0; i < arrow_maker_n_nested_formats; i++) {
        check_type(arrow_maker_nested_formats[i], (uint64_t)i);
    }
}

static const char *const columns[] = {"a=l", "b=l", "c=i", "s=u"};

static void blocks_have_about_the_bytes_asked_for(void **state)
{
    (void)state;
    arrow_maker maker = {.seed = 1, .length = 20000};
    oci_batch *all = make_batch(columns, 4, &maker);
    for (int64_t n = 1; n <= 4096; n *= 8) {
        fixture f;
        set_up(&f, all->schema, NULL);
        collect(&f, all, n, 64 * KIB);
        /* 600 KB; each block is half to twice as large as asked for. */
        assert_in_range(f.blocks, 5, 14);
        assert_true(f.largest <= 20000 / 4);
        tear_down(&f);
    }
    oci_batch_release(all);
}

static void large_batches_pass_uncopied(void **state)
{
    (void)state;
    arrow_maker maker = {.seed = 1, .length = 20000};
    oci_batch *all = make_batch(columns, 4, &maker);
    fixture f;
    set_up(&f, all->schema, NULL);
    collect(&f, all, 20000, 64 * KIB);
    assert_in_range(f.blocks, 6, 14);
    assert_int_equal(f.passed, f.blocks);
    tear_down(&f);
    oci_batch_release(all);
}

static void a_single_small_batch_passes_uncopied(void **state)
{
    (void)state;
    arrow_maker maker = {.seed = 1, .length = 10};
    oci_batch *all = make_batch(columns, 4, &maker);
    fixture f;
    set_up(&f, all->schema, NULL);
    collect(&f, all, 10, 64 * KIB);
    assert_int_equal(f.blocks, 1);
    assert_int_equal(f.passed, 1);
    tear_down(&f);
    oci_batch_release(all);
}

static void arrays_of_tiny_batches_are_not_kept(void **state)
{
    (void)state;
    arrow_maker maker = {.seed = 1, .length = 1};
    oci_batch *one = make_batch(columns, 4, &maker);
    int64_t live = arrow_maker_live();
    fixture f;
    set_up(&f, one->schema, NULL);
    for (int i = 0; i < 5000; i++) {
        maker.first_row = i;
        assert_int_equal(
            oci_batch_collector_add(f.collector, make_batch(columns, 4, &maker), 64 * MIB, NULL),
            OC_OK);
        assert_int_equal(take_blocks(&f, false, NULL, NULL), OC_OK);
        assert_true(arrow_maker_live() - live <= 128 * (1 + 4));
    }
    assert_int_equal(take_blocks(&f, true, NULL, NULL), OC_OK);
    assert_int_equal(f.rows, 5000);
    assert_int_equal(f.blocks, 1);
    tear_down(&f);
    oci_batch_release(one);
}

/* 100 values in each batch, other ones each time: indices of int8 can tell 128 of them. */
static void dictionaries_that_do_not_fit_together_stay_apart(void **state)
{
    (void)state;
    const char *format[] = {"a=c>l"};
    fixture f = {0};
    oci_batch *batches[8];
    for (int i = 0; i < 8; i++) {
        arrow_maker maker = {.seed = (uint64_t)i, .length = 300, .distinct = 100};
        batches[i] = make_batch(format, 1, &maker);
    }
    set_up(&f, batches[0]->schema, NULL);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(
            oci_batch_collector_add(f.collector, oci_batch_retain(batches[i]), 64 * KIB, NULL),
            OC_OK);
    }
    oci_batch *block;
    int64_t rows = 0;
    int64_t blocks = 0;
    for (;;) {
        assert_int_equal(oci_batch_collector_next(f.collector, true, &block, NULL), OC_OK);
        if (block == NULL) {
            break;
        }
        for (int64_t row = 0; row < block->length; row++, rows++) {
            assert_true(oci_value_equal(&block->columns[0], row, &batches[rows / 300]->columns[0],
                                        rows % 300));
        }
        blocks++;
        oci_batch_release(block);
    }
    assert_int_equal(rows, 8 * 300);
    assert_in_range(blocks, 2, 8);
    tear_down(&f);
    for (int i = 0; i < 8; i++) {
        oci_batch_release(batches[i]);
    }
}

/* 5000 views of ten strings of 20 KB: 100 MB when each counts, 200 KB as they lie. */
static void views_that_share_strings_pass_together(void **state)
{
    (void)state;
    arrow_maker maker = {.seed = 2, .length = 5000, .distinct = 10, .string_max = 20000};
    oci_batch *all = make_column_batch("vu", &maker);
    int64_t held = 0;
    for (int32_t i = 0; i < all->columns[0].n_view_buffers; i++) {
        held += all->columns[0].view_sizes[i];
    }
    fixture f;
    set_up(&f, all->schema, NULL);
    collect(&f, all, 5000, held + 5000 * 16);
    assert_in_range(f.blocks, 1, 3);
    tear_down(&f);
    oci_batch_release(all);
}

/* ---- failures -------------------------------------------------------------------------------- */

/* Everything that an engine does with a collector; the first failure ends it. */
static oc_status collect_all(oci_fault_plan *plan, oci_batch *all)
{
    oci_budget *budget = NULL;
    fixture f = {0};
    oc_status status = OC_OK;
    OC_GOTO(oci_budget_create(64 * MIB, oci_fault_allocator(plan), &budget, NULL));
    OC_GOTO(oci_mem_open(budget, "faulty", &f.mem, NULL));
    OC_GOTO(oci_batch_collector_create(all->schema, 0, f.mem, &f.collector, NULL));
    for (int64_t at = 0; at < all->length; at += 5) {
        OC_GOTO(add_slice(&f, all, at, oci_min64(5, all->length - at), 16 * KIB, NULL));
        OC_GOTO(take_blocks(&f, false, all, NULL));
    }
    OC_GOTO(take_blocks(&f, true, all, NULL));
    assert_int_equal(f.rows, all->length);
done:
    oci_batch_collector_destroy(f.collector);
    assert_true(f.mem == NULL || oci_mem_held(f.mem) == 0);
    oci_mem_close(f.mem);
    oci_budget_destroy(budget);
    assert_int_equal(oci_fault_live_bytes(plan), 0);
    return status;
}

static void every_failure_gives_everything_back(void **state)
{
    (void)state;
    arrow_maker maker = {.seed = 1, .length = 1500};
    oci_batch *all = make_batch(columns, 4, &maker);
    bool injected = true;
    for (int64_t n = 1; injected; n++) {
        oci_fault_plan *plan = oci_fault_plan_create();
        assert_non_null(plan);
        oci_fault_arm(plan, OCI_FAULT_ALLOC, n, false);
        oc_status status = collect_all(plan, all);
        injected = oci_fault_injected(plan) > 0;
        assert_true(injected ? status == OC_ENOMEM || status == OC_OK : status == OC_OK);
        assert_true(injected || n > 10);
        oci_fault_plan_destroy(plan);
    }
    oci_batch_release(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_every_type_come_out_in_order),
        cmocka_unit_test(blocks_have_about_the_bytes_asked_for),
        cmocka_unit_test(large_batches_pass_uncopied),
        cmocka_unit_test(a_single_small_batch_passes_uncopied),
        cmocka_unit_test(arrays_of_tiny_batches_are_not_kept),
        cmocka_unit_test(dictionaries_that_do_not_fit_together_stay_apart),
        cmocka_unit_test(views_that_share_strings_pass_together),
        cmocka_unit_test(every_failure_gives_everything_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
