/* Several sorts in one context: at the same time on several threads, half consumed while others
 * run, and cancelled from outside. All share one small memory limit, so they have to give memory
 * back to each other; each must finish with the right rows. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "arrow/stream.h"
#include "outcore/outcore.h"
#include "support/arrow_maker.h"

#define MIB       ((int64_t)1 << 20)
#define N_THREADS 4

static const char *const columns[] = {"k=i", "s=u", "id=l"};
static const oc_sort_key by_s_k[] = {{.column = "s"}, {.column = "k", .descending = true}};

typedef struct table {
    uint64_t seed;
    int64_t n_batches;
    int64_t batch_rows;
} table;

static void make_input(const table *t, struct ArrowArrayStream *out)
{
    arrow_stream_maker maker = {
        .columns = columns,
        .n_columns = 3,
        .maker = {.seed = t->seed, .length = t->batch_rows, .null_percent = 10, .string_max = 60},
        .n_batches = t->n_batches,
    };
    arrow_make_stream(&maker, out);
}

static oc_context *make_context(int64_t limit, oc_codec codec)
{
    oc_options options = OC_OPTIONS_INIT;
    oc_error error = {0};
    oc_context *context = NULL;
    options.memory_limit = limit;
    options.spill_codec = codec;
    options.threads = 2;
    if (oc_context_create(&options, &context, &error) != OC_OK) {
        fail_msg("%s", error.message);
    }
    return context;
}

/* Rows in order, folded into one number. No assertion of cmocka in here: those are for the main
 * thread. */
typedef struct digest {
    uint64_t value;
    int64_t rows;
    oc_status status;
    char message[1024];
} digest;

/* Reads at most `most` batches. */
static void read_some(oci_stream *stream, int64_t most, digest *d)
{
    for (int64_t i = 0; i < most; i++) {
        oci_batch *batch = NULL;
        oc_error error = {0};
        d->status = oci_stream_next(stream, &batch, &error);
        if (d->status != OC_OK) {
            memcpy(d->message, error.message, sizeof d->message);
            return;
        }
        if (batch == NULL) {
            return;
        }
        for (int64_t row = 0; row < batch->length; row++) {
            for (int32_t c = 0; c < batch->schema->n_fields; c++) {
                d->value = oci_value_hash(&batch->columns[c], row, d->value * 31 + 7);
            }
        }
        d->rows += batch->length;
        oci_batch_release(batch);
    }
}

static oci_stream *open_sort(oc_context *context, const table *t, digest *d)
{
    struct ArrowArrayStream input;
    struct ArrowArrayStream output;
    oc_error error = {0};
    oci_stream *stream = NULL;
    make_input(t, &input);
    d->status = oc_sort(context, &input, by_s_k, 2, NULL, &output, &error);
    if (d->status == OC_OK) {
        d->status = oci_stream_import(&output, &stream, &error);
    }
    memcpy(d->message, error.message, sizeof d->message);
    return stream;
}

static digest sort_all(oc_context *context, const table *t)
{
    digest d = {0};
    oci_stream *stream = open_sort(context, t, &d);
    if (stream != NULL) {
        read_some(stream, INT64_MAX, &d);
        oci_stream_close(stream);
    }
    return d;
}

static digest expected_of(const table *t)
{
    oc_context *context = make_context(256 * MIB, OC_CODEC_NONE);
    digest d = sort_all(context, t);
    oc_context_destroy(context);
    assert_int_equal(d.status, OC_OK);
    assert_int_equal(d.rows, t->n_batches * t->batch_rows);
    return d;
}

static void check(const digest *got, const digest *expected)
{
    if (got->status != OC_OK) {
        fail_msg("%s", got->message);
    }
    assert_int_equal(got->rows, expected->rows);
    assert_true(got->value == expected->value);
}

static void check_all_given_back(oc_context *context)
{
    oc_metrics m;
    oc_context_metrics(context, &m);
    assert_int_equal(m.memory_used, 0);
    assert_int_equal(m.disk_now, 0);
    assert_true(m.memory_peak <= m.memory_limit);
    assert_int_equal(arrow_maker_live(), 0);
}

typedef struct job {
    oc_context *context;
    table t;
    digest d;
} job;

static void *run_job(void *arg)
{
    job *j = arg;
    j->d = sort_all(j->context, &j->t);
    return NULL;
}

/* Each thread sorts a table of its own. */
static void run_together(int64_t limit, int64_t n_batches, int64_t batch_rows, oc_codec codec)
{
    oc_context *context = make_context(limit, codec);
    job jobs[N_THREADS];
    digest expected[N_THREADS];
    pthread_t threads[N_THREADS];
    for (int i = 0; i < N_THREADS; i++) {
        jobs[i] =
            (job){.context = context,
                  .t = {.seed = (uint64_t)i + 1, .n_batches = n_batches, .batch_rows = batch_rows}};
        expected[i] = expected_of(&jobs[i].t);
    }
    for (int i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, run_job, &jobs[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < N_THREADS; i++) {
        check(&jobs[i].d, &expected[i]);
    }
    check_all_given_back(context);
    oc_context_destroy(context);
}

static void sorts_on_several_threads_share_a_limit(void **state)
{
    (void)state;
    run_together(8 * MIB, 50, 1000, OC_CODEC_LZ4);
}

static void sorts_on_several_threads_share_a_tight_limit(void **state)
{
    (void)state;
    run_together(4 * MIB, 30, 1000, OC_CODEC_NONE);
    run_together(4 * MIB, 200, 100, OC_CODEC_ZSTD);
}

/* Two sorts are half consumed (one still in memory, or both) while a third runs on this thread. */
static void half_consumed_sorts_make_room_for_a_third(void **state)
{
    (void)state;
    for (int64_t first_batches = 30; first_batches <= 90; first_batches += 60) {
        table tables[3] = {{.seed = 1, .n_batches = first_batches, .batch_rows = 1000},
                           {.seed = 2, .n_batches = 50, .batch_rows = 1000},
                           {.seed = 3, .n_batches = 60, .batch_rows = 1000}};
        oc_context *context = make_context(8 * MIB, OC_CODEC_LZ4);
        digest expected[3];
        digest got[3] = {{0}};
        oci_stream *streams[2];
        for (int i = 0; i < 3; i++) {
            expected[i] = expected_of(&tables[i]);
        }
        for (int i = 0; i < 2; i++) {
            streams[i] = open_sort(context, &tables[i], &got[i]);
            assert_non_null(streams[i]);
            read_some(streams[i], 2, &got[i]);
        }
        got[2] = sort_all(context, &tables[2]);
        check(&got[2], &expected[2]);
        for (int i = 0; i < 2; i++) {
            read_some(streams[i], INT64_MAX, &got[i]);
            oci_stream_close(streams[i]);
            check(&got[i], &expected[i]);
        }
        check_all_given_back(context);
        oc_context_destroy(context);
    }
}

/* Streams of several sorts are read in turn by one thread. */
static void sorts_can_be_read_in_turn(void **state)
{
    (void)state;
    table tables[3] = {{.seed = 1, .n_batches = 40, .batch_rows = 1000},
                       {.seed = 2, .n_batches = 40, .batch_rows = 1000},
                       {.seed = 3, .n_batches = 40, .batch_rows = 1000}};
    oc_context *context = make_context(6 * MIB, OC_CODEC_LZ4);
    digest expected[3];
    digest got[3] = {{0}};
    oci_stream *streams[3];
    for (int i = 0; i < 3; i++) {
        expected[i] = expected_of(&tables[i]);
        streams[i] = open_sort(context, &tables[i], &got[i]);
        assert_non_null(streams[i]);
    }
    for (int i = 0; i < 300; i++) {
        read_some(streams[i % 3], 1, &got[i % 3]);
    }
    for (int i = 0; i < 3; i++) {
        read_some(streams[i], INT64_MAX, &got[i]);
        oci_stream_close(streams[i]);
        check(&got[i], &expected[i]);
    }
    check_all_given_back(context);
    oc_context_destroy(context);
}

/* ---- cancelling ------------------------------------------------------------------------------ */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void cancel_from_another_thread_ends_sorts_soon(void **state)
{
    (void)state;
    oc_context *context = make_context(4 * MIB, OC_CODEC_LZ4);
    job jobs[2];
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        jobs[i] = (job){.context = context,
                        .t = {.seed = (uint64_t)i, .n_batches = 1000000, .batch_rows = 500}};
        assert_int_equal(pthread_create(&threads[i], NULL, run_job, &jobs[i]), 0);
    }
    struct timespec pause = {.tv_nsec = 200000000};
    nanosleep(&pause, NULL);
    double start = now();
    oc_context_cancel(context);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(jobs[i].d.status, OC_ECANCELED);
    }
    assert_true(now() - start < 1.0); /* 50 ms in a plain build on a machine that is not busy */
    check_all_given_back(context);
    oc_context_reset_cancel(context);
    table t = {.seed = 9, .n_batches = 10, .batch_rows = 100};
    digest d = sort_all(context, &t);
    assert_int_equal(d.status, OC_OK);
    assert_int_equal(d.rows, 1000);
    oc_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts_on_several_threads_share_a_limit),
        cmocka_unit_test(sorts_on_several_threads_share_a_tight_limit),
        cmocka_unit_test(half_consumed_sorts_make_room_for_a_third),
        cmocka_unit_test(sorts_can_be_read_in_turn),
        cmocka_unit_test(cancel_from_another_thread_ends_sorts_soon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
