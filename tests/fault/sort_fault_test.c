/* Every allocation, open, read, write, close and thread start of a spilling sort fails in turn,
 * once and for ever after.
 *
 * Accepted is the right answer, or an error of the kind that was injected. Afterwards nothing may
 * be held (budget at zero, allocator at zero, no scratch file), and the same context must sort
 * rightly once the fault is gone. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/context.h"
#include "arrow/stream.h"
#include "base/fault.h"
#include "support/arrow_maker.h"

#define MIB ((int64_t)1 << 20)

typedef struct scenario {
    const char *name;
    const char *const *columns;
    int32_t n_columns;
    oc_sort_key keys[2];
    size_t n_keys;
    int64_t n_batches;
    int64_t batch_rows;
    oc_codec codec;
    int64_t limit; /* -1 = all rows */
} scenario;

static const char *const mixed_columns[] = {"k=i",  "s=u", "d=c>u", "p=d:15,2",
                                            "v=vz", "b=b", "f=g"};
static const char *const narrow_columns[] = {"k=l", "id=I"};

/* The limit is 1 MiB throughout: the mixed table makes a few runs, the narrow one is merged with
 * rows in memory. */
static const scenario scenarios[] = {
    {"mixed_lz4",
     mixed_columns,
     7,
     {{.column = "s"}, {.column = "k", .descending = true}},
     2,
     48,
     700,
     OC_CODEC_LZ4,
     -1},
    {"mixed_none", mixed_columns, 7, {{.column = "k"}}, 1, 48, 700, OC_CODEC_NONE, -1},
    {"narrow_zstd", narrow_columns, 2, {{.column = "k"}}, 1, 90, 1000, OC_CODEC_ZSTD, -1},
    {"top_k",
     mixed_columns,
     7,
     {{.column = "f", .descending = true}},
     1,
     48,
     700,
     OC_CODEC_LZ4,
     12000},
};

static void make_input(const scenario *s, struct ArrowArrayStream *out)
{
    arrow_stream_maker maker = {
        .columns = s->columns,
        .n_columns = s->n_columns,
        .maker = {.seed = 11, .length = s->batch_rows, .null_percent = 10, .distinct = 900},
        .n_batches = s->n_batches,
    };
    arrow_make_stream(&maker, out);
}

/* Reads a sorted stream to its end. Folds every value, in order, into *digest. */
static oc_status drain(struct ArrowArrayStream *sorted, uint64_t *digest, int64_t *rows,
                       oc_error *err)
{
    oci_stream *stream;
    *digest = 0;
    *rows = 0;
    OC_TRY(oci_stream_import(sorted, &stream, err));
    oc_status status;
    oci_batch *batch;
    while ((status = oci_stream_next(stream, &batch, err)) == OC_OK && batch != NULL) {
        for (int64_t row = 0; row < batch->length; row++) {
            for (int32_t c = 0; c < batch->schema->n_fields; c++) {
                *digest = oci_value_hash(&batch->columns[c], row, *digest * 31 + 7);
            }
        }
        *rows += batch->length;
        oci_batch_release(batch);
    }
    oci_stream_close(stream);
    return status;
}

static oc_status run_sort(oc_context *context, const scenario *s, uint64_t *digest, int64_t *rows,
                          oc_error *err)
{
    struct ArrowArrayStream input;
    struct ArrowArrayStream sorted;
    make_input(s, &input);
    oc_sort_options options = OC_SORT_OPTIONS_INIT;
    options.has_limit = s->limit >= 0;
    options.limit = s->limit;
    OC_TRY(oc_sort(context, &input, s->keys, s->n_keys, &options, &sorted, err));
    return drain(&sorted, digest, rows, err);
}

static oc_status make_context(const scenario *s, oci_fault_plan *plan, oc_context **out,
                              oc_error *err)
{
    oc_options options = OC_OPTIONS_INIT;
    options.memory_limit = MIB;
    options.spill_codec = s->codec;
    options.batch_rows = 1000;
    oci_seams seams = {.allocator = oci_fault_allocator(plan),
                       .io = oci_fault_io(plan),
                       .threads = oci_fault_threads(plan)};
    return oci_context_create(&options, &seams, out, err);
}

static bool is_expected_error(oci_fault_kind kind, oc_status status)
{
    switch (kind) {
    case OCI_FAULT_ALLOC:
        return status == OC_ENOMEM || status == OC_EBUDGET || status == OC_ESTREAM;
    case OCI_FAULT_THREAD: return false; /* everything works without the helper thread */
    default: return status == OC_EIO || status == OC_ENOSPC || status == OC_ESTREAM;
    }
}

/* One attempt with the nth operation failing. Returns whether a fault was injected. */
static bool attempt(const scenario *s, oci_fault_kind kind, int64_t n, bool for_ever,
                    uint64_t expected)
{
    oci_fault_plan *plan = oci_fault_plan_create();
    assert_non_null(plan);
    oci_fault_arm(plan, kind, n, for_ever);
    oc_context *context = NULL;
    oc_error error = {0};
    uint64_t digest = 0;
    int64_t rows;
    oc_status status = make_context(s, plan, &context, &error);
    if (status == OC_OK) {
        status = run_sort(context, s, &digest, &rows, &error);
    }
    bool injected = oci_fault_injected(plan) > 0;
    if (status == OC_OK && digest != expected) {
        fail_msg("%s: wrong answer with fault kind %d, n %lld, for ever %d", s->name, (int)kind,
                 (long long)n, for_ever);
    }
    if (status != OC_OK && (!injected || !is_expected_error(kind, status))) {
        fail_msg("%s: fault kind %d, n %lld, for ever %d: unexpected %s: %s", s->name, (int)kind,
                 (long long)n, for_ever, oc_status_name(status), error.message);
    }
    if (status != OC_OK) {
        assert_true(error.message[0] != '\0');
    }
    if (context != NULL) {
        oc_metrics metrics;
        oc_context_metrics(context, &metrics);
        assert_int_equal(metrics.memory_used, 0);
        assert_int_equal(metrics.disk_now, 0);
        /* The context is as good as new. */
        oci_fault_arm(plan, kind, 0, false);
        if (status != OC_OK) {
            assert_int_equal(run_sort(context, s, &digest, &rows, &error), OC_OK);
            assert_true(digest == expected);
        }
        oc_context_destroy(context);
    }
    assert_int_equal(oci_fault_live_bytes(plan), 0);
    oci_fault_plan_destroy(plan);
    assert_int_equal(arrow_maker_live(), 0);
    return injected;
}

static uint64_t expected_digest(const scenario *s)
{
    oci_fault_plan *plan = oci_fault_plan_create();
    oc_context *context;
    oc_error error = {0};
    uint64_t digest;
    int64_t rows;
    assert_int_equal(make_context(s, plan, &context, &error), OC_OK);
    if (run_sort(context, s, &digest, &rows, &error) != OC_OK) {
        fail_msg("%s: %s", s->name, error.message);
    }
    oc_metrics metrics;
    oc_context_metrics(context, &metrics);
    if (metrics.spill_count < 2) {
        fail_msg("%s: only %d runs were spilled", s->name, (int)metrics.spill_count);
    }
    int64_t all = s->n_batches * s->batch_rows;
    assert_int_equal(rows, s->limit >= 0 && s->limit < all ? s->limit : all);
    oc_context_destroy(context);
    oci_fault_plan_destroy(plan);
    return digest;
}

/* All of the first faults, then ever fewer: the steps of a loop repeat themselves. OUTCORE_SLOW=1
 * takes many more. */
static int64_t next_n(int64_t n, bool for_ever)
{
    if (getenv("OUTCORE_SLOW") != NULL) {
        return n < 200 ? n + 1 : n + n / 10 + 1;
    }
    if (for_ever) {
        return n * 4 + 1;
    }
    return n < 5 ? n + 1 : n * 2 + 1;
}

static void loop(const scenario *s, oci_fault_kind kind)
{
    uint64_t expected = expected_digest(s);
    for (int for_ever = 0; for_ever <= 1; for_ever++) {
        int64_t n = 1;
        while (attempt(s, kind, n, for_ever != 0, expected)) {
            n = next_n(n, for_ever != 0);
        }
    }
}

static void loop_all(oci_fault_kind kind)
{
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
        loop(&scenarios[i], kind);
    }
}

static void sort_survives_failing_allocations(void **state)
{
    (void)state;
    loop_all(OCI_FAULT_ALLOC);
}

static void sort_survives_failing_opens(void **state)
{
    (void)state;
    loop_all(OCI_FAULT_OPEN);
}

static void sort_survives_failing_reads(void **state)
{
    (void)state;
    loop_all(OCI_FAULT_READ);
}

static void sort_survives_failing_writes(void **state)
{
    (void)state;
    loop_all(OCI_FAULT_WRITE);
}

static void sort_survives_failing_closes(void **state)
{
    (void)state;
    loop_all(OCI_FAULT_CLOSE);
}

static void sort_works_without_threads(void **state)
{
    (void)state;
    loop_all(OCI_FAULT_THREAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sort_survives_failing_allocations),
        cmocka_unit_test(sort_survives_failing_opens),
        cmocka_unit_test(sort_survives_failing_reads),
        cmocka_unit_test(sort_survives_failing_writes),
        cmocka_unit_test(sort_survives_failing_closes),
        cmocka_unit_test(sort_works_without_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
