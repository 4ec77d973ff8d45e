/* Hashed grouping: the same rows in the same order at every limit, against sums and counts worked out here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bits.h"
#include "base/tiny.h"
#include "ops/group/group_hashed_internal.h"
#include "support/arrow_maker.h"

#define MIB ((int64_t)1 << 20)

typedef struct fixture {
    oci_env env;
    oci_progress progress;
    atomic_bool cancel;
    oci_spill_manager *manager;
} fixture;

static void set_up(fixture *f, int64_t limit, int64_t batch_rows)
{
    memset(f, 0, sizeof *f);
    f->env = (oci_env){.io = oci_posix_io(),
                       .threads = oci_system_threads(),
                       .clock = oci_system_clock(),
                       .cancel = &f->cancel,
                       .progress = &f->progress,
                       .n_threads = 2,
                       .batch_rows = batch_rows};
    assert_int_equal(oci_budget_create(limit, NULL, &f->env.budget, NULL), OC_OK);
    const char *folder = "/tmp";
    oci_spill_settings settings = {
        .folders = &folder, .n_folders = 1, .codec = OCI_CODEC_LZ4_FRAME};
    assert_int_equal(oci_spill_manager_create(f->env.io, &settings, &f->manager, NULL), OC_OK);
}

static void tear_down(fixture *f)
{
    assert_int_equal(oci_budget_used(f->env.budget), 0);
    assert_int_equal(atomic_load(&f->manager->counters.disk_now), 0);
    oci_spill_manager_release(f->manager);
    oci_budget_destroy(f->env.budget);
    assert_int_equal(arrow_maker_live(), 0);
}

static oci_stream *make_input(const char *const *columns, int32_t n_columns, int64_t n_batches,
                              int64_t rows, int32_t distinct, int32_t string_max)
{
    arrow_stream_maker maker = {
        .columns = columns,
        .n_columns = n_columns,
        .maker = {.seed = 5,
                  .length = rows,
                  .null_percent = 10,
                  .distinct = distinct,
                  .string_max = string_max},
        .n_batches = n_batches,
        .vary = true,
    };
    struct ArrowArrayStream c_stream;
    oci_stream *stream;
    arrow_make_stream(&maker, &c_stream);
    assert_int_equal(oci_stream_import(&c_stream, &stream, NULL), OC_OK);
    return stream;
}

typedef struct outcome {
    uint64_t digest;
    int64_t rows;
    int64_t spilled_rows;
    int64_t largest; /* batch in rows */
    oc_status status;
    char message[1024];
    int64_t needed_bytes;
} outcome;

static outcome drain(oci_stream *stream)
{
    outcome out = {0};
    oci_batch *batch;
    oc_error err = {0};
    while ((out.status = oci_stream_next(stream, &batch, &err)) == OC_OK && batch != NULL) {
        assert_int_equal(oci_batch_validate(batch, &err), OC_OK);
        for (int64_t row = 0; row < batch->length; row++) {
            for (int32_t c = 0; c < batch->schema->n_fields; c++) {
                out.digest = oci_value_hash(&batch->columns[c], row, out.digest * 31 + 7);
            }
        }
        out.rows += batch->length;
        out.largest = oci_max64(out.largest, batch->length);
        oci_batch_release(batch);
    }
    snprintf(out.message, sizeof out.message, "%s", err.message);
    out.needed_bytes = err.needed_bytes;
    oci_stream_close(stream);
    return out;
}

typedef struct job {
    const char *const *columns;
    int32_t n_columns;
    int64_t n_batches;
    int64_t rows;
    int32_t distinct;
    int32_t string_max;
    oci_group_plan plan;
} job;

static outcome run(const job *j, int64_t limit, int64_t batch_rows)
{
    fixture f;
    set_up(&f, limit, batch_rows);
    oci_stream *grouped;
    oc_error err = {0};
    oci_stream *input =
        make_input(j->columns, j->n_columns, j->n_batches, j->rows, j->distinct, j->string_max);
    if (oci_group_hashed_open(&f.env, f.manager, input, &j->plan, &grouped, &err) != OC_OK) {
        fail_msg("%s", err.message);
    }
    outcome out = drain(grouped);
    out.spilled_rows = atomic_load(&f.manager->counters.spilled_rows);
    tear_down(&f);
    return out;
}

static void check_same(const job *j, const outcome *expected, int64_t limit, int64_t batch_rows,
                       bool spills)
{
    outcome got = run(j, limit, batch_rows);
    if (got.status != OC_OK) {
        fail_msg("limit %d KiB: %s", (int)(limit >> 10), got.message);
    }
    assert_int_equal(got.rows, expected->rows);
    assert_true(got.digest == expected->digest);
    assert_true(got.largest <= batch_rows);
    assert_true(!spills || got.spilled_rows > 0);
}

static const int32_t key_columns[] = {0, 1, 2, 3};

#define AGG(kind_, column)                                                          \
    {                                                                               \
        .kind = (kind_), .n_args = 1, .args = {(column)}, .filter = -1, .name = "a" \
    }

static void distinct_rows_do_not_depend_on_the_limit(void **state)
{
    (void)state;
    static const char *const columns[] = {"k=l", "s=u"};
    job j = {columns, 2, 40, 2000, 0, 30, {.keys = key_columns, .n_keys = 2}};
    outcome expected = run(&j, 256 * MIB, 8192);
    assert_int_equal(expected.status, OC_OK);
    assert_int_equal(expected.spilled_rows, 0);
    assert_in_range(expected.rows, 70000, 80000);
    check_same(&j, &expected, MIB, 8192, true);
    check_same(&j, &expected, 2 * MIB, 64, true);
    check_same(&j, &expected, 4 * MIB, 1, true);
    check_same(&j, &expected, 16 * MIB, 1000, false);
}

/* Rows of the input whose first two columns are those of a row of the result. */
static int64_t count_equal(oci_batch *const *input, int64_t n, const oci_batch *result, int64_t row)
{
    int64_t equal = 0;
    for (int64_t b = 0; b < n; b++) {
        for (int64_t i = 0; i < input[b]->length; i++) {
            equal += oci_value_equal(&input[b]->columns[0], i, &result->columns[0], row) &&
                     oci_value_equal(&input[b]->columns[1], i, &result->columns[1], row);
        }
    }
    return equal;
}

static void check_counts(const job *j, int64_t limit, int64_t batch_rows)
{
    fixture f;
    oci_batch *input[8];
    oci_batch *batch;
    oci_stream *grouped;
    int64_t counted = 0;
    set_up(&f, limit, batch_rows);
    oci_stream *rows = make_input(j->columns, 2, j->n_batches, j->rows, j->distinct, 20);
    for (int64_t i = 0; i < j->n_batches; i++) {
        assert_int_equal(oci_stream_next(rows, &input[i], NULL), OC_OK);
    }
    assert_int_equal(
        oci_group_hashed_open(&f.env, f.manager,
                              make_input(j->columns, 2, j->n_batches, j->rows, j->distinct, 20),
                              &j->plan, &grouped, NULL),
        OC_OK);
    while (oci_stream_next(grouped, &batch, NULL) == OC_OK && batch != NULL) {
        for (int64_t row = 0; row < batch->length; row++) {
            int64_t n = (int64_t)oci_load_le64(batch->columns[2].values + row * 8);
            assert_true(n > 0);
            assert_int_equal(n, count_equal(input, j->n_batches, batch, row));
            counted += n;
        }
        oci_batch_release(batch);
    }
    assert_int_equal(counted, j->n_batches * j->rows);
    for (int64_t i = 0; i < j->n_batches; i++) {
        oci_batch_release(input[i]);
    }
    oci_stream_close(rows);
    oci_stream_close(grouped);
    tear_down(&f);
}

static void groups_are_the_different_keys_and_their_rows(void **state)
{
    (void)state;
    static const char *const columns[] = {"k=s", "s=u"};
    static const oci_aggregate count[] = {{.kind = OCI_AGG_COUNT_STAR, .filter = -1, .name = "n"}};
    job j = {columns,
             2,
             5,
             300,
             0,
             20,
             {.keys = key_columns, .n_keys = 2, .aggregates = count, .n_aggregates = 1}};
    static const int32_t distinct[] = {1, 5, 40, 0};
    for (size_t i = 0; i < sizeof distinct / sizeof distinct[0]; i++) {
        j.distinct = distinct[i];
        check_counts(&j, 64 * MIB, 8192);
        check_counts(&j, MIB, 1);
        oci_group_hash_masks[0] = UINT64_C(0x8000000000000000);
        check_counts(&j, 64 * MIB, 64);
        oci_group_hash_masks[0] = UINT64_MAX;
    }
}

static bool has_order(const char *const *columns)
{
    oci_stream *input = make_input(columns, 2, 1, 1, 0, 10);
    oci_sort_key key = {.column = 0};
    bool has = oci_row_key_check(input->schema, &key, 1, NULL) == OC_OK;
    oci_stream_close(input);
    return has;
}

static void check_keys_of(const char *format)
{
    const char *columns[] = {format, "s=u"};
    job j = {columns, 2, 6, 1000, 300, 100, {.keys = key_columns, .n_keys = 2}};
    if (has_order(columns)) {
        outcome expected = run(&j, 256 * MIB, 8192);
        assert_int_equal(expected.status, OC_OK);
        check_same(&j, &expected, MIB, 1000, false);
        j.plan.n_keys = 1;
        expected = run(&j, 256 * MIB, 8192);
        check_same(&j, &expected, MIB, 100, false);
    }
}

static void keys_of_every_type_are_grouped(void **state)
{
    (void)state;
    for (int32_t i = 0; i < arrow_maker_n_formats; i++) {
        check_keys_of(arrow_maker_formats[i]);
    }
    for (int32_t i = 0; i < arrow_maker_n_nested_formats; i++) {
        check_keys_of(arrow_maker_nested_formats[i]);
    }
}

static void every_mergeable_aggregate_is_the_same_spilled(void **state)
{
    (void)state;
    static const char *const columns[] = {"k=l",      "i=i", "d=g", "s=u",
                                          "m=d:20,3", "b=b", "f=f", "p=+s(a=i; b=u)"};
    static const oci_aggregate aggregates[] = {
        {.kind = OCI_AGG_COUNT_STAR, .filter = -1, .name = "n"},
        AGG(OCI_AGG_COUNT, 3),
        AGG(OCI_AGG_SUM, 1),
        AGG(OCI_AGG_SUM, 2),
        AGG(OCI_AGG_SUM, 4),
        AGG(OCI_AGG_AVG, 1),
        AGG(OCI_AGG_AVG, 4),
        AGG(OCI_AGG_AVG, 6),
        AGG(OCI_AGG_MIN, 1),
        AGG(OCI_AGG_MAX, 3),
        AGG(OCI_AGG_MIN, 7),
        AGG(OCI_AGG_BOOL_AND, 5),
        AGG(OCI_AGG_BIT_XOR, 1),
        AGG(OCI_AGG_STDDEV_SAMP, 1),
        {.kind = OCI_AGG_CORR, .n_args = 2, .args = {1, 6}, .filter = -1, .name = "r"},
        {.kind = OCI_AGG_SUM, .n_args = 1, .args = {1}, .filter = 5, .name = "f"},
    };
    job j = {columns,
             8,
             30,
             1000,
             0,
             60,
             {.keys = key_columns,
              .n_keys = 1,
              .aggregates = aggregates,
              .n_aggregates = (int32_t)(sizeof aggregates / sizeof aggregates[0])}};
    /* Few values and many. */
    for (int round = 0; round < 2; round++) {
        j.distinct = round == 0 ? 9000 : 30;
        outcome expected = run(&j, 512 * MIB, 8192);
        if (expected.status != OC_OK) {
            fail_msg("%s", expected.message);
        }
        assert_int_equal(expected.spilled_rows, 0);
        check_same(&j, &expected, 2 * MIB, 500, round == 0);
        check_same(&j, &expected, 4 * MIB, 8192, round == 0);
        check_same(&j, &expected, 3 * MIB / 2, 8192, round == 0);
    }
}

static void estimates_of_many_groups_spill(void **state)
{
    (void)state;
    static const char *const columns[] = {"k=l", "v=l"};
    static const oci_aggregate aggregates[] = {AGG(OCI_AGG_APPROX_DISTINCT, 1)};
    job j = {columns,
             2,
             10,
             500,
             0,
             0,
             {.keys = key_columns, .n_keys = 1, .aggregates = aggregates, .n_aggregates = 1}};
    outcome expected = run(&j, 256 * MIB, 8192);
    assert_int_equal(expected.status, OC_OK);
    check_same(&j, &expected, 8 * MIB, 100, true);
    check_same(&j, &expected, 2 * MIB, 100, true);
}

static void equal_hashes_are_still_different_groups(void **state)
{
    (void)state;
    static const char *const columns[] = {"k=l", "s=u"};
    static const oci_aggregate aggregates[] = {AGG(OCI_AGG_COUNT, 0)};
    job j = {columns,
             2,
             5,
             400,
             0,
             20,
             {.keys = key_columns, .n_keys = 2, .aggregates = aggregates, .n_aggregates = 1}};
    outcome plain = run(&j, 64 * MIB, 100);
    oci_group_hash_masks[0] = UINT64_C(0xFFF0000000000000);
    outcome few = run(&j, 64 * MIB, 100);
    check_same(&j, &few, MIB, 100, false);
    oci_group_hash_masks[0] = 0;
    outcome one = run(&j, 64 * MIB, 100);
    oci_group_hash_masks[0] = UINT64_MAX;
    assert_int_equal(plain.rows, few.rows);
    assert_int_equal(plain.rows, one.rows);
}

static void where_one_hash_is_used_up_the_next_parts_groups(void **state)
{
    (void)state;
    static const char *const columns[] = {"k=l", "s=u"};
    job j = {columns, 2, 20, 500, 0, 200, {.keys = key_columns, .n_keys = 2}};
    oci_group_hash_masks[0] = UINT64_C(0x8000000000000001);
    outcome expected = run(&j, 64 * MIB, 100);
    assert_int_equal(expected.spilled_rows, 0);
    check_same(&j, &expected, MIB, 100, true);
    oci_group_hash_masks[0] = UINT64_MAX;
}

static void groups_that_no_hash_can_part_are_an_error_that_names_a_limit(void **state)
{
    (void)state;
    static const char *const columns[] = {"k=l", "s=u"};
    job j = {columns, 2, 20, 500, 0, 200, {.keys = key_columns, .n_keys = 2}};
    oci_group_hash_masks[0] = oci_group_hash_masks[1] = 0;
    outcome got = run(&j, MIB, 100);
    oci_group_hash_masks[0] = oci_group_hash_masks[1] = UINT64_MAX;
    assert_int_equal(got.status, OC_EBUDGET);
    assert_non_null(strstr(got.message, "is enough"));
}

static void long_strings_as_keys_and_states(void **state)
{
    (void)state;
    static const char *const columns[] = {"k=l", "s=u"};
    static const oci_aggregate aggregates[] = {AGG(OCI_AGG_MAX, 1), AGG(OCI_AGG_MIN, 1)};
    job states = {columns,
                  2,
                  10,
                  100,
                  0,
                  20000,
                  {.keys = key_columns, .n_keys = 1, .aggregates = aggregates, .n_aggregates = 2}};
    outcome expected = run(&states, 256 * MIB, 8192);
    assert_int_equal(expected.status, OC_OK);
    check_same(&states, &expected, 2 * MIB, 100, true);
    check_same(&states, &expected, 4 * MIB, 100, true);
    job keys = {columns, 2, 10, 100, 0, 20000, {.keys = key_columns, .n_keys = 2}};
    expected = run(&keys, 256 * MIB, 8192);
    check_same(&keys, &expected, 2 * MIB, 100, true);
    check_same(&keys, &expected, 4 * MIB, 100, true);
}

static void a_limit_that_an_error_names_is_enough(void **state)
{
    (void)state;
    static const char *const columns[] = {"k=l", "s=u"};
    static const oci_aggregate aggregates[] = {AGG(OCI_AGG_MAX, 1), AGG(OCI_AGG_MIN, 1)};
    job jobs[] = {
        {columns, 2, 5, 20, 0, 300000, {.keys = key_columns, .n_keys = 2}},
        {columns,
         2,
         5,
         20,
         0,
         300000,
         {.keys = key_columns, .n_keys = 1, .aggregates = aggregates, .n_aggregates = 2}}};
    for (int i = 0; i < 2; i++) {
        outcome got = run(&jobs[i], MIB, 100);
        assert_int_equal(got.status, OC_EBUDGET);
        assert_non_null(strstr(got.message, "is enough"));
        outcome expected = run(&jobs[i], 512 * MIB, 100);
        check_same(&jobs[i], &expected, got.needed_bytes, 100, false);
    }
}

static void without_keys_there_is_one_row_even_of_nothing(void **state)
{
    (void)state;
    static const char *const columns[] = {"k=l"};
    static const oci_aggregate aggregates[] = {AGG(OCI_AGG_COUNT, 0), AGG(OCI_AGG_SUM, 0)};
    job j = {columns, 1, 0, 100, 0, 0, {.aggregates = aggregates, .n_aggregates = 2}};
    assert_int_equal(run(&j, MIB, 100).rows, 1);
    j.n_batches = 100;
    outcome many = run(&j, MIB, 100);
    assert_int_equal(many.rows, 1);
    assert_int_equal(many.spilled_rows, 0);
    job none = {columns, 1, 0, 100, 0, 0, {.keys = key_columns, .n_keys = 1}};
    assert_int_equal(run(&none, MIB, 100).rows, 0);
}

static void what_does_not_fit_is_about_what_is_written(void **state)
{
    (void)state;
    static const char *const columns[] = {"k=l", "v=l"};
    job j = {columns, 2, 200, 1000, 0, 0, {.keys = key_columns, .n_keys = 2}};
    outcome all = run(&j, 512 * MIB, 8192);
    int64_t limit = 4 * MIB;
    while (run(&j, limit, 8192).spilled_rows > 0) {
        limit += limit / 16;
    }
    outcome tight = run(&j, limit - limit / 10, 8192);
    assert_true(tight.digest == all.digest);
    assert_true(OCI_TINY(true, tight.spilled_rows <= all.rows * 3 / 10));
}

static void closing_early_gives_everything_back(void **state)
{
    (void)state;
    static const char *const columns[] = {"k=l", "s=u"};
    static const oci_aggregate aggregates[] = {AGG(OCI_AGG_MAX, 1)};
    oci_group_plan plan = {
        .keys = key_columns, .n_keys = 1, .aggregates = aggregates, .n_aggregates = 1};
    for (int batches = 0; batches < 4; batches++) {
        fixture f;
        set_up(&f, MIB, 300);
        oci_stream *grouped;
        assert_int_equal(oci_group_hashed_open(&f.env, f.manager,
                                               make_input(columns, 2, 40, 1000, 0, 40), &plan,
                                               &grouped, NULL),
                         OC_OK);
        for (int i = 0; i < batches; i++) {
            oci_batch *batch;
            assert_int_equal(oci_stream_next(grouped, &batch, NULL), OC_OK);
            oci_batch_release(batch);
        }
        oci_stream_close(grouped);
        tear_down(&f);
    }
}

/* An operator above takes memory while groups are given out. */
static void groups_give_memory_back_on_request(void **state)
{
    (void)state;
    static const char *const columns[] = {"k=l", "s=u"};
    oci_group_plan plan = {.keys = key_columns, .n_keys = 2};
    job j = {columns, 2, 10, 2000, 0, 30, plan};
    outcome expected = run(&j, 64 * MIB, 500);
    fixture f;
    set_up(&f, 8 * MIB, 500);
    oci_stream *grouped;
    oci_mem *other;
    assert_int_equal(oci_group_hashed_open(&f.env, f.manager,
                                           make_input(columns, 2, 10, 2000, 0, 30), &plan, &grouped,
                                           NULL),
                     OC_OK);
    oci_batch *batch;
    void *block;
    assert_int_equal(oci_stream_next(grouped, &batch, NULL), OC_OK);
    uint64_t digest = 0;
    int64_t rows = batch->length;
    for (int64_t row = 0; row < batch->length; row++) {
        for (int32_t c = 0; c < 2; c++) {
            digest = oci_value_hash(&batch->columns[c], row, digest * 31 + 7);
        }
    }
    oci_batch_release(batch);
    assert_int_equal(oci_mem_open(f.env.budget, "other", &other, NULL), OC_OK);
    int64_t taken = oci_budget_free(f.env.budget) + MIB;
    assert_int_equal(oci_mem_alloc(other, taken, &block, NULL), OC_OK);
    assert_true(atomic_load(&f.manager->counters.spilled_rows) > 0);
    oci_mem_free(other, block, taken);
    while (oci_stream_next(grouped, &batch, NULL) == OC_OK && batch != NULL) {
        for (int64_t row = 0; row < batch->length; row++) {
            for (int32_t c = 0; c < 2; c++) {
                digest = oci_value_hash(&batch->columns[c], row, digest * 31 + 7);
            }
        }
        rows += batch->length;
        oci_batch_release(batch);
    }
    assert_int_equal(rows, expected.rows);
    assert_true(digest == expected.digest);
    oci_stream_close(grouped);
    oci_mem_close(other);
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distinct_rows_do_not_depend_on_the_limit),
        cmocka_unit_test(groups_are_the_different_keys_and_their_rows),
        cmocka_unit_test(keys_of_every_type_are_grouped),
        cmocka_unit_test(every_mergeable_aggregate_is_the_same_spilled),
        cmocka_unit_test(estimates_of_many_groups_spill),
        cmocka_unit_test(equal_hashes_are_still_different_groups),
        cmocka_unit_test(where_one_hash_is_used_up_the_next_parts_groups),
        cmocka_unit_test(groups_that_no_hash_can_part_are_an_error_that_names_a_limit),
        cmocka_unit_test(long_strings_as_keys_and_states),
        cmocka_unit_test(a_limit_that_an_error_names_is_enough),
        cmocka_unit_test(without_keys_there_is_one_row_even_of_nothing),
        cmocka_unit_test(what_does_not_fit_is_about_what_is_written),
        cmocka_unit_test(closing_early_gives_everything_back),
        cmocka_unit_test(groups_give_memory_back_on_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
