/* Unit tests of the sort as a stream: spilled and in memory, stable, top-k, reclaim, cancel, input
 * errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/tiny.h"
#include "ops/sort/sort.h"
#include "support/arrow_maker.h"

#define MIB ((int64_t)1 << 20)

typedef struct fixture {
    oci_env env;
    oci_progress progress;
    atomic_bool cancel;
    oci_spill_manager *manager;
} fixture;

static void set_up(fixture *f, int64_t limit, int64_t batch_rows, oci_codec_id codec)
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
    oci_spill_settings settings = {.folders = &folder, .n_folders = 1, .codec = codec};
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

/* k has few distinct values; id is unique, so that order among equal keys can be seen. */
static const char *const columns[] = {"k=i", "s=u", "id=l"};

static oci_stream *make_input(int64_t n_batches, int64_t rows, int32_t distinct)
{
    arrow_stream_maker maker = {
        .columns = columns,
        .n_columns = 3,
        .maker =
            {.seed = 5, .length = rows, .null_percent = 10, .distinct = distinct, .string_max = 40},
        .n_batches = n_batches,
        .vary = true,
    };
    struct ArrowArrayStream c_stream;
    oci_stream *stream;
    arrow_make_stream(&maker, &c_stream);
    assert_int_equal(oci_stream_import(&c_stream, &stream, NULL), OC_OK);
    return stream;
}

static oci_stream *open_sort(fixture *f, oci_stream *input, const oci_sort_key *keys,
                             int32_t n_keys, int64_t limit)
{
    oci_stream *sorted;
    oc_error err = {0};
    if (oci_sort_open(&f->env, f->manager, input, keys, n_keys, limit, &sorted, &err) != OC_OK) {
        fail_msg("%s", err.message);
    }
    return sorted;
}

/* Folds all rows in order into a digest; closes the stream. */
static uint64_t digest_of(oci_stream *stream, int64_t *rows)
{
    uint64_t digest = 0;
    *rows = 0;
    oci_batch *batch;
    oc_error err = {0};
    while (oci_stream_next(stream, &batch, &err) == OC_OK && batch != NULL) {
        for (int64_t row = 0; row < batch->length; row++) {
            for (int32_t c = 0; c < batch->schema->n_fields; c++) {
                digest = oci_value_hash(&batch->columns[c], row, digest * 31 + 7);
            }
        }
        *rows += batch->length;
        oci_batch_release(batch);
    }
    if (err.status != OC_OK) {
        fail_msg("%s", err.message);
    }
    oci_stream_close(stream);
    return digest;
}

static const oci_sort_key by_k_desc_s[] = {{.column = 0, .descending = true},
                                           {.column = 1, .nulls_first = true}};

static uint64_t sort_digest(int64_t limit, int64_t batch_rows, oci_codec_id codec,
                            int64_t n_batches, int64_t rows, int64_t top, int64_t *spill_count)
{
    fixture f;
    set_up(&f, limit, batch_rows, codec);
    int64_t n;
    uint64_t digest =
        digest_of(open_sort(&f, make_input(n_batches, rows, 50), by_k_desc_s, 2, top), &n);
    int64_t all = n_batches * rows;
    assert_int_equal(n, top >= 0 && top < all ? top : all);
    *spill_count = atomic_load(&f.manager->counters.spill_count);
    tear_down(&f);
    return digest;
}

static void result_does_not_depend_on_limit_codec_or_batch_size(void **state)
{
    (void)state;
    int64_t spills;
    uint64_t expected = sort_digest(256 * MIB, 8192, OCI_CODEC_NONE, 40, 1000, -1, &spills);
    assert_true(OCI_TINY(true, spills == 0));
    static const oci_codec_id codecs[] = {OCI_CODEC_NONE, OCI_CODEC_LZ4_FRAME, OCI_CODEC_ZSTD};
    static const int64_t batch_rows[] = {1, 64, 8192};
    for (size_t c = 0; c < 3; c++) {
        assert_true(sort_digest(MIB, batch_rows[c], codecs[c], 40, 1000, -1, &spills) == expected);
        assert_true(spills > 1);
        assert_true(sort_digest(3 * MIB, batch_rows[c], codecs[c], 40, 1000, -1, &spills) ==
                    expected);
    }
}

static void small_input_batches_give_the_same_rows(void **state)
{
    (void)state;
    int64_t spills;
    uint64_t expected = sort_digest(64 * MIB, 8192, OCI_CODEC_NONE, 1, 20000, -1, &spills);
    assert_true(sort_digest(64 * MIB, 8192, OCI_CODEC_NONE, 2000, 10, -1, &spills) == expected);
    assert_true(sort_digest(MIB, 8192, OCI_CODEC_LZ4_FRAME, 2000, 10, -1, &spills) == expected);
    assert_true(sort_digest(MIB, 8192, OCI_CODEC_LZ4_FRAME, 20000, 1, -1, &spills) == expected);
}

static void top_k_is_the_head_of_the_whole(void **state)
{
    (void)state;
    static const int64_t tops[] = {0, 1, 10, 999, 5000, 39999, 40000, 100000};
    for (size_t i = 0; i < sizeof tops / sizeof tops[0]; i++) {
        int64_t spills;
        uint64_t in_memory =
            sort_digest(256 * MIB, 1000, OCI_CODEC_NONE, 40, 1000, tops[i], &spills);
        assert_true(sort_digest(MIB, 1000, OCI_CODEC_LZ4_FRAME, 40, 1000, tops[i], &spills) ==
                    in_memory);
    }
}

static void without_keys_the_input_order_is_kept(void **state)
{
    (void)state;
    fixture f;
    set_up(&f, MIB, 500, OCI_CODEC_NONE);
    const oci_sort_key keys[] = {{.column = 0}};
    int64_t n;
    int64_t m;
    uint64_t sorted = digest_of(open_sort(&f, make_input(30, 1000, 1), keys, 0, -1), &n);
    uint64_t plain = digest_of(make_input(30, 1000, 1), &m);
    assert_int_equal(n, m);
    assert_true(sorted == plain);
    tear_down(&f);
}

static void a_stream_that_is_closed_early_gives_everything_back(void **state)
{
    (void)state;
    for (int batches = 0; batches < 4; batches++) {
        fixture f;
        set_up(&f, MIB, 300, OCI_CODEC_LZ4_FRAME);
        oci_stream *sorted = open_sort(&f, make_input(40, 1000, 50), by_k_desc_s, 2, -1);
        for (int i = 0; i < batches; i++) {
            oci_batch *batch;
            assert_int_equal(oci_stream_next(sorted, &batch, NULL), OC_OK);
            oci_batch_release(batch);
        }
        oci_stream_close(sorted);
        tear_down(&f);
    }
}

static void batches_outlive_the_stream(void **state)
{
    (void)state;
    fixture f;
    set_up(&f, MIB, 300, OCI_CODEC_LZ4_FRAME);
    oci_stream *sorted = open_sort(&f, make_input(40, 1000, 50), by_k_desc_s, 2, -1);
    oci_batch *batch;
    assert_int_equal(oci_stream_next(sorted, &batch, NULL), OC_OK);
    oci_stream_close(sorted);
    assert_int_equal(batch->length, OCI_TINY(3, 300));
    assert_true(oci_value_equal(&batch->columns[2], 0, &batch->columns[2], 0));
    oci_batch_release(batch);
    tear_down(&f);
}

static void cancel_ends_the_sort(void **state)
{
    (void)state;
    fixture f;
    set_up(&f, MIB, 300, OCI_CODEC_LZ4_FRAME);
    oci_stream *sorted = open_sort(&f, make_input(40, 1000, 50), by_k_desc_s, 2, -1);
    oci_batch *batch;
    oc_error err;
    assert_int_equal(oci_stream_next(sorted, &batch, &err), OC_OK);
    oci_batch_release(batch);
    atomic_store(&f.cancel, true);
    assert_int_equal(oci_stream_next(sorted, &batch, &err), OC_ECANCELED);
    assert_null(batch);
    /* The error stays. */
    assert_int_equal(oci_stream_next(sorted, &batch, &err), OC_ECANCELED);
    oci_stream_close(sorted);
    tear_down(&f);
}

static void an_error_of_the_input_is_passed_on(void **state)
{
    (void)state;
    fixture f;
    set_up(&f, MIB, 300, OCI_CODEC_LZ4_FRAME);
    arrow_stream_maker maker = {
        .columns = columns,
        .n_columns = 3,
        .maker = {.seed = 5, .length = 1000},
        .n_batches = 40,
        .fail_code = 5,
        .fail_at = 30,
        .fail_message = "the cable is cut",
    };
    struct ArrowArrayStream c_stream;
    oci_stream *input;
    arrow_make_stream(&maker, &c_stream);
    assert_int_equal(oci_stream_import(&c_stream, &input, NULL), OC_OK);
    oci_stream *sorted = open_sort(&f, input, by_k_desc_s, 2, -1);
    oci_batch *batch;
    oc_error err;
    assert_int_equal(oci_stream_next(sorted, &batch, &err), OC_ESTREAM);
    assert_non_null(strstr(err.message, "the cable is cut"));
    oci_stream_close(sorted);
    tear_down(&f);
}

static void a_bad_key_is_refused_and_the_input_released(void **state)
{
    (void)state;
    fixture f;
    set_up(&f, MIB, 300, OCI_CODEC_NONE);
    const oci_sort_key keys[] = {{.column = 3}};
    oci_stream *sorted;
    assert_int_equal(
        oci_sort_open(&f.env, f.manager, make_input(1, 1, 1), keys, 1, -1, &sorted, NULL),
        OC_EINVAL);
    tear_down(&f);
}

/* Memory wanted by somebody else while a sort holds rows between two calls. */
static void rows_in_memory_are_given_back_on_request(void **state)
{
    (void)state;
    int64_t spills;
    uint64_t expected = sort_digest(256 * MIB, 100, OCI_CODEC_NONE, 20, 1000, -1, &spills);
    fixture f;
    set_up(&f, 4 * MIB, 100, OCI_CODEC_NONE);
    oci_stream *sorted = open_sort(&f, make_input(20, 1000, 50), by_k_desc_s, 2, -1);
    oci_batch *first;
    assert_int_equal(oci_stream_next(sorted, &first, NULL), OC_OK);
    assert_true(OCI_TINY(true, atomic_load(&f.manager->counters.spill_count) == 0));
    uint64_t digest = 0;
    for (int64_t row = 0; row < first->length; row++) {
        for (int32_t c = 0; c < 3; c++) {
            digest = oci_value_hash(&first->columns[c], row, digest * 31 + 7);
        }
    }
    oci_batch_release(first);
    oci_mem *other;
    assert_int_equal(oci_mem_open(f.env.budget, "other", &other, NULL), OC_OK);
    oci_reservation space = {0};
    oc_error err = {0};
    if (oci_mem_reserve(other, &space, 3 * MIB, &err) != OC_OK) {
        fail_msg("%s", err.message);
    }
    assert_true(OCI_TINY(true, atomic_load(&f.manager->counters.spill_count) == 1));
    oci_reservation_release(&space);
    oci_mem_close(other);
    oci_batch *batch;
    while (oci_stream_next(sorted, &batch, &err) == OC_OK && batch != NULL) {
        for (int64_t row = 0; row < batch->length; row++) {
            for (int32_t c = 0; c < 3; c++) {
                digest = oci_value_hash(&batch->columns[c], row, digest * 31 + 7);
            }
        }
        oci_batch_release(batch);
    }
    assert_true(digest == expected);
    oci_stream_close(sorted);
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(result_does_not_depend_on_limit_codec_or_batch_size),
        cmocka_unit_test(small_input_batches_give_the_same_rows),
        cmocka_unit_test(top_k_is_the_head_of_the_whole),
        cmocka_unit_test(without_keys_the_input_order_is_kept),
        cmocka_unit_test(a_stream_that_is_closed_early_gives_everything_back),
        cmocka_unit_test(batches_outlive_the_stream),
        cmocka_unit_test(cancel_ends_the_sort),
        cmocka_unit_test(an_error_of_the_input_is_passed_on),
        cmocka_unit_test(a_bad_key_is_refused_and_the_input_released),
        cmocka_unit_test(rows_in_memory_are_given_back_on_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
