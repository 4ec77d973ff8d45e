/* Groupings that share one memory limit: on two threads, one above the other, below a sort. They finish, with the
 * answers that they give alone. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bits.h"
#include "ops/group/group_distinct.h"
#include "ops/sort/sort.h"
#include "support/arrow_maker.h"

#define MIB ((int64_t)1 << 20)

typedef struct fixture {
    oci_env env;
    atomic_bool cancel;
    oci_progress progress;
    oci_spill_manager *manager;
} fixture;

static void set_up(fixture *f, int64_t limit)
{
    memset(f, 0, sizeof *f);
    f->env = (oci_env){.io = oci_posix_io(),
                       .threads = oci_system_threads(),
                       .clock = oci_system_clock(),
                       .cancel = &f->cancel,
                       .progress = &f->progress,
                       .n_threads = 2,
                       .batch_rows = 1000};
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
    assert_int_equal(atomic_load(&f->manager->operators), 0);
    oci_spill_manager_release(f->manager);
    oci_budget_destroy(f->env.budget);
}

static const char *const columns[] = {"g=c", "trace=u", "v=l"};
static const int32_t keys[] = {0, 1};
static const oci_aggregate count_distinct[] = {
    {.kind = OCI_AGG_COUNT, .n_args = 1, .args = {1}, .filter = -1, .distinct = true, .name = "n"}};
static const oci_group_plan distinct_plan = {
    .keys = keys, .n_keys = 1, .aggregates = count_distinct, .n_aggregates = 1};
static const oci_group_plan rows_plan = {.keys = keys, .n_keys = 2};

static oci_stream *make_input(int64_t rows, uint64_t seed)
{
    arrow_stream_maker maker = {
        .columns = columns,
        .n_columns = 3,
        .maker = {.seed = seed, .length = 1000, .null_percent = 5, .string_max = 60},
        .n_batches = rows / 1000,
    };
    struct ArrowArrayStream c_stream;
    oci_stream *stream = NULL;
    arrow_make_stream(&maker, &c_stream);
    oc_status status = oci_stream_import(&c_stream, &stream, NULL);
    return status == OC_OK ? stream : NULL;
}

typedef struct outcome {
    uint64_t digest;
    int64_t rows;
    oc_status status;
    oc_error err;
} outcome;

/* Does not assert: it runs on several threads. */
static outcome drain(oci_stream *stream)
{
    outcome out = {0};
    oci_batch *batch;
    while ((out.status = oci_stream_next(stream, &batch, &out.err)) == OC_OK && batch != NULL) {
        for (int64_t row = 0; row < batch->length; row++) {
            for (int32_t c = 0; c < batch->schema->n_fields; c++) {
                out.digest = oci_value_hash(&batch->columns[c], row, out.digest * 31 + 7);
            }
        }
        out.rows += batch->length;
        oci_batch_release(batch);
    }
    oci_stream_close(stream);
    return out;
}

static void check(const outcome *got, const outcome *expected)
{
    if (got->status != OC_OK) {
        fail_msg("%s", got->err.message);
    }
    assert_int_equal(got->rows, expected->rows);
    assert_true(got->digest == expected->digest);
}

/* ---- threads --------------------------------------------------------------------------------- */

typedef struct job {
    fixture *f;
    const oci_group_plan *plan;
    int64_t rows;
    uint64_t seed;
    outcome out;
} job;

static void *run_job(void *arg)
{
    job *j = arg;
    oci_stream *grouped;
    oci_stream *input = make_input(j->rows, j->seed);
    j->out.status = oci_group_distinct_can(j->plan)
                        ? oci_group_distinct_open(&j->f->env, j->f->manager, input, j->plan,
                                                  &grouped, &j->out.err)
                        : oci_group_hashed_open(&j->f->env, j->f->manager, input, j->plan, &grouped,
                                                &j->out.err);
    if (j->out.status == OC_OK) {
        j->out = drain(grouped);
    }
    return NULL;
}

static outcome alone(const oci_group_plan *plan, int64_t rows, uint64_t seed)
{
    fixture f;
    set_up(&f, 256 * MIB);
    job j = {.f = &f, .plan = plan, .rows = rows, .seed = seed};
    run_job(&j);
    assert_int_equal(j.out.status, OC_OK);
    tear_down(&f);
    return j.out;
}

static void run_pair(const oci_group_plan *plan, int64_t rows, int64_t limit, int rounds)
{
    outcome expected[2] = {alone(plan, rows, 1), alone(plan, rows, 2)};
    for (int round = 0; round < rounds; round++) {
        fixture f;
        pthread_t threads[2];
        job jobs[2];
        set_up(&f, limit);
        for (uint64_t i = 0; i < 2; i++) {
            jobs[i] = (job){.f = &f, .plan = plan, .rows = rows, .seed = i + 1};
            assert_int_equal(pthread_create(&threads[i], NULL, run_job, &jobs[i]), 0);
        }
        for (int i = 0; i < 2; i++) {
            pthread_join(threads[i], NULL);
        }
        for (int i = 0; i < 2; i++) {
            check(&jobs[i].out, &expected[i]);
        }
        tear_down(&f);
    }
}

static void distinct_counts_on_two_threads_finish(void **state)
{
    (void)state;
    run_pair(&distinct_plan, 40000, 4 * MIB, 10);
}

static void groupings_on_two_threads_give_way_to_each_other(void **state)
{
    (void)state;
    run_pair(&rows_plan, 40000, 3 * MIB, 10);
}

/* ---- one above the other --------------------------------------------------------------------- */

static outcome group_below_sort(int64_t limit)
{
    fixture f;
    oci_stream *grouped;
    oci_stream *sorted;
    oc_error err = {0};
    oci_sort_key key = {.column = 1, .descending = true};
    set_up(&f, limit);
    assert_int_equal(
        oci_group_hashed_open(&f.env, f.manager, make_input(40000, 3), &rows_plan, &grouped, &err),
        OC_OK);
    assert_int_equal(oci_sort_open(&f.env, f.manager, grouped, &key, 1, -1, &sorted, &err), OC_OK);
    outcome out = drain(sorted);
    if (limit < 16 * MIB) {
        assert_true(atomic_load(&f.manager->counters.spilled_rows) > 0);
    }
    tear_down(&f);
    return out;
}

static void a_sort_above_a_grouping_shares_its_memory(void **state)
{
    (void)state;
    outcome expected = group_below_sort(256 * MIB);
    assert_int_equal(expected.status, OC_OK);
    outcome got = group_below_sort(4 * MIB);
    check(&got, &expected);
    got = group_below_sort(2 * MIB);
    check(&got, &expected);
}

static outcome group_above_group(int64_t limit)
{
    fixture f;
    oci_stream *below;
    oci_stream *above;
    static const int32_t one[] = {1};
    oci_group_plan plan = {.keys = one, .n_keys = 1};
    set_up(&f, limit);
    assert_int_equal(
        oci_group_hashed_open(&f.env, f.manager, make_input(40000, 3), &rows_plan, &below, NULL),
        OC_OK);
    assert_int_equal(oci_group_hashed_open(&f.env, f.manager, below, &plan, &above, NULL), OC_OK);
    outcome out = drain(above);
    tear_down(&f);
    return out;
}

static void a_grouping_above_a_grouping_shares_its_memory(void **state)
{
    (void)state;
    outcome expected = group_above_group(256 * MIB);
    assert_int_equal(expected.status, OC_OK);
    for (int64_t limit = MIB; limit <= 8 * MIB; limit *= 2) {
        outcome got = group_above_group(limit);
        check(&got, &expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distinct_counts_on_two_threads_finish),
        cmocka_unit_test(groupings_on_two_threads_give_way_to_each_other),
        cmocka_unit_test(a_sort_above_a_grouping_shares_its_memory),
        cmocka_unit_test(a_grouping_above_a_grouping_shares_its_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
