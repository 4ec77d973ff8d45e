/* Sorts with a payload of every type, flat and nested: in memory, spilled, merged in several passes,
 * and the first rows only. The reference is the input itself, put in order by a plain stable sort of
 * its key column; values are compared bit for bit, after they were turned into the announced types
 * as for a consumer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/tiny.h"
#include "ops/sort/sort.h"
#include "support/batch_maker.h"

#define MIB ((int64_t)1 << 20)
enum { BATCHES_MAX = 400 };

typedef struct fixture {
    oci_env env;
    oci_progress progress;
    oci_spill_manager *manager;
    oci_mem *output; /* pays for what is turned into announced types */
} fixture;

static void set_up(fixture *f, int64_t limit, oci_codec_id codec, int64_t batch_rows)
{
    const char *folder = "/tmp";
    memset(f, 0, sizeof *f);
    f->env = (oci_env){.io = oci_posix_io(),
                       .threads = oci_system_threads(),
                       .clock = oci_system_clock(),
                       .progress = &f->progress,
                       .n_threads = 2,
                       .batch_rows = batch_rows};
    assert_int_equal(oci_budget_create(limit, NULL, &f->env.budget, NULL), OC_OK);
    assert_int_equal(oci_mem_open(f->env.budget, "output", &f->output, NULL), OC_OK);
    oci_spill_settings settings = {.folders = &folder, .n_folders = 1, .codec = codec};
    assert_int_equal(oci_spill_manager_create(f->env.io, &settings, &f->manager, NULL), OC_OK);
}

static void tear_down(fixture *f)
{
    oci_mem_close(f->output);
    assert_int_equal(oci_budget_used(f->env.budget), 0);
    assert_int_equal(atomic_load(&f->manager->counters.disk_now), 0);
    oci_spill_manager_release(f->manager);
    oci_budget_destroy(f->env.budget);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* A table of a key column "k" (256 values and nulls), a payload, and the batches it comes in. */
typedef struct table {
    const char *const *columns;
    int32_t n_columns;
    int64_t rows_per_batch;
    int64_t n_batches;
    oci_batch *batches[BATCHES_MAX];
    int64_t *order; /* row of the table at each place of the result */
    int64_t rows;
} table;

static void open_input(const table *t, oci_stream **out)
{
    const arrow_stream_maker maker = {
        .columns = t->columns,
        .n_columns = t->n_columns,
        .maker = {.seed = 21, .length = t->rows_per_batch, .null_percent = 15, .string_max = 30},
        .n_batches = t->n_batches,
        .vary = true};
    struct ArrowArrayStream c_stream;
    oc_error err = {0};
    arrow_make_stream(&maker, &c_stream);
    if (oci_stream_import(&c_stream, out, &err) != OC_OK) {
        fail_msg("%s", err.message);
    }
}

enum { RANKS = 129 }; /* beyond every int8, either sign */

static int32_t rank_of(const table *t, int64_t row, const oci_sort_key *key)
{
    const oci_column *k = &t->batches[row / t->rows_per_batch]->columns[0];
    int64_t at = row % t->rows_per_batch;
    if (oci_column_is_null(k, at)) {
        return key->nulls_first ? -RANKS : RANKS;
    }
    int32_t value = (int8_t)k->values[k->offset + at];
    return key->descending ? -value : value;
}

/* Counting sort: rows of one rank stay in input order. */
static void put_in_order(table *t, const oci_sort_key *key)
{
    int64_t next[2 * RANKS + 2] = {0};
    for (int64_t row = 0; row < t->rows; row++) {
        next[rank_of(t, row, key) + RANKS + 1]++;
    }
    for (int32_t i = 1; i <= 2 * RANKS; i++) {
        next[i] += next[i - 1];
    }
    for (int64_t row = 0; row < t->rows; row++) {
        t->order[next[rank_of(t, row, key) + RANKS]++] = row;
    }
}

static void make_table(table *t, const char *const *columns, int32_t n_columns, int64_t n_batches,
                       int64_t rows_per_batch, const oci_sort_key *key)
{
    *t = (table){.columns = columns,
                 .n_columns = n_columns,
                 .rows_per_batch = rows_per_batch,
                 .n_batches = n_batches,
                 .rows = n_batches * rows_per_batch};
    oci_stream *input;
    oc_error err = {0};
    assert_true(n_batches <= BATCHES_MAX);
    open_input(t, &input);
    for (int64_t i = 0; i < n_batches; i++) {
        if (oci_stream_next(input, &t->batches[i], &err) != OC_OK) {
            fail_msg("%s: %s", columns[1], err.message);
        }
    }
    oci_stream_close(input);
    t->order = malloc((size_t)t->rows * sizeof *t->order);
    put_in_order(t, key);
}

static void free_table(table *t)
{
    for (int64_t i = 0; i < t->n_batches; i++) {
        oci_batch_release(t->batches[i]);
    }
    free(t->order);
    assert_int_equal(arrow_maker_live(), 0);
}

/* ---- sorting and comparing ------------------------------------------------------------------- */

/* Compares rows of the result from place `at` on. */
static void check_rows(const table *t, const oci_batch *batch, int64_t at)
{
    assert_true(at + batch->length <= t->rows);
    for (int64_t i = 0; i < batch->length; i++) {
        int64_t row = t->order[at + i];
        const oci_batch *from = t->batches[row / t->rows_per_batch];
        for (int32_t c = 0; c < t->n_columns; c++) {
            if (!oci_value_equal(&batch->columns[c], i, &from->columns[c],
                                 row % t->rows_per_batch)) {
                fail_msg("column %s: place %" PRId64 " does not have row %" PRId64, t->columns[c],
                         at + i, row);
            }
        }
    }
}

/* As a consumer gets it. */
static void check_batch(fixture *f, const table *t, oci_batch *batch, int64_t at)
{
    oci_schema *announced = t->batches[0]->schema;
    oci_batch *out;
    oc_error err = {0};
    oc_status status = oci_batch_output(batch, announced, f->output, &out, &err);
    oci_batch_release(batch);
    if (status != OC_OK || oci_batch_validate(out, &err) != OC_OK) {
        fail_msg("%s: %s", t->columns[1], err.message);
    }
    for (int32_t c = 0; c < t->n_columns; c++) {
        assert_true(oci_field_same_type(out->columns[c].field, &announced->fields[c]));
    }
    check_rows(t, out, at);
    oci_batch_release(out);
}

typedef struct outcome {
    int64_t spill_count;
    int32_t passes;
} outcome;

static outcome sort_and_check(const table *t, const oci_sort_key *key, int64_t limit,
                              oci_codec_id codec, int64_t top)
{
    fixture f;
    oci_stream *input, *sorted;
    oci_batch *batch;
    oc_error err = {0};
    int64_t at = 0;
    set_up(&f, limit, codec, t->rows > 50000 ? 65536 : 700);
    open_input(t, &input);
    oc_status status = oci_sort_open(&f.env, f.manager, input, key, 1, top, &sorted, &err);
    if (status == OC_EUNSUPPORTED && strstr(err.message, "run-end encoded dictionaries") != NULL) {
        tear_down(&f);
        return (outcome){0}; /* random types */
    }
    if (status != OC_OK) {
        fail_msg("%s: %s", t->columns[1], err.message);
    }
    for (;;) {
        if (oci_stream_next(sorted, &batch, &err) != OC_OK) {
            fail_msg("%s: %s", t->columns[1], err.message);
        }
        if (batch == NULL) {
            break;
        }
        int64_t n = batch->length;
        check_batch(&f, t, batch, at);
        at += n;
    }
    assert_int_equal(at, top >= 0 && top < t->rows ? top : t->rows);
    oci_stream_close(sorted);
    outcome result = {.spill_count = atomic_load(&f.manager->counters.spill_count),
                      .passes = atomic_load(&f.progress.merge_pass)};
    tear_down(&f);
    return result;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static const oci_sort_key keys[] = {{.column = 0},
                                    {.column = 0, .descending = true, .nulls_first = true}};
static const oci_codec_id codecs[] = {OCI_CODEC_NONE, OCI_CODEC_LZ4_FRAME, OCI_CODEC_ZSTD};

/* In memory and spilled, all rows and the first ones. The build with tiny limits also merges every
 * type in several passes. */
static void sort_in_one_way(const table *t, const oci_sort_key *key, oci_codec_id codec,
                            int64_t top)
{
    outcome result = sort_and_check(t, key, 64 * MIB, codec, top < 0 ? -1 : top / 10);
    assert_true(result.spill_count == 0 || OCI_TINY(true, false));
    result = sort_and_check(t, key, MIB, codec, top);
    assert_true(result.spill_count >= 1 || top >= 0);
}

/* One of these ways for each type, or every way with OUTCORE_SLOW=1. */
static void sort_type(const char *format, int number)
{
    char text[128];
    const char *columns[] = {"k=c", text, "id=l", "ballast=w:100"};
    const oci_sort_key *key = &keys[number % 2];
    table t;
    snprintf(text, sizeof text, "p=%s", format);
    make_table(&t, columns, 4, OCI_TINY(8, 30), OCI_TINY(600, 300), key);
    for (int way = 0; way < 6; way++) {
        if (getenv("OUTCORE_SLOW") != NULL || way == number % 6) {
            sort_in_one_way(&t, key, codecs[way % 3], way < 3 ? -1 : t.rows / 2);
        }
    }
    free_table(&t);
}

static void flat_payload_comes_back(void **state)
{
    (void)state;
    for (int32_t i = 0; i < arrow_maker_n_formats; i += OCI_TINY(5, 1)) {
        sort_type(arrow_maker_formats[i], i);
    }
}

static void nested_payload_comes_back(void **state)
{
    (void)state;
    for (int32_t i = 0; i < arrow_maker_n_nested_formats; i++) {
        sort_type(arrow_maker_nested_formats[i], i);
    }
}

/* Many types side by side in wide rows, so that a few thousand take more than one merge pass. */
static void a_table_of_nested_types_is_merged_in_passes(void **state)
{
    (void)state;
    const char *columns[100] = {"k=c", "ballast=w:1000"};
    int32_t n = 2;
    for (int32_t i = 0; i < arrow_maker_n_nested_formats; i += 3) {
        columns[n++] = arrow_maker_nested_formats[i];
    }
    table t;
    make_table(&t, columns, n, OCI_TINY(8, 140), OCI_TINY(200, 150), &keys[1]);
    outcome result = sort_and_check(&t, &keys[1], MIB, OCI_CODEC_LZ4_FRAME, -1);
    assert_true(result.spill_count > 1 && (result.passes > 1 || OCI_TINY(true, false)));
    free_table(&t);
}

static void random_types_come_back(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= OCI_TINY(20, 24); seed++) {
        char texts[4][2000];
        const char *columns[5] = {"k=c"};
        for (uint64_t i = 0; i < 4; i++) {
            arrow_make_column_text(seed * 4 + i, 3, texts[i], sizeof texts[i]);
            columns[1 + i] = texts[i];
        }
        table t;
        make_table(&t, columns, 5, OCI_TINY(5, 12), OCI_TINY(40, 300), &keys[seed % 2]);
        sort_and_check(&t, &keys[seed % 2], MIB, codecs[seed % 3], -1);
        sort_and_check(&t, &keys[seed % 2], 16 * MIB, OCI_CODEC_NONE, -1);
        free_table(&t);
    }
}

/* It would have to be spilled as a dictionary of dictionaries, so it is refused at the start. */
static void a_dictionary_of_dictionaries_with_runs_between_is_refused(void **state)
{
    (void)state;
    const char *columns[] = {"k=c", "p=+s(a=c>+r(i; c>u))"};
    table t;
    fixture f;
    oci_stream *input, *sorted;
    oc_error err = {0};
    make_table(&t, columns, 2, 1, 10, &keys[0]);
    set_up(&f, MIB, OCI_CODEC_NONE, 700);
    open_input(&t, &input);
    assert_int_equal(oci_sort_open(&f.env, f.manager, input, keys, 1, -1, &sorted, &err),
                     OC_EUNSUPPORTED);
    assert_string_equal(err.message, "column \"p\" has a dictionary of run-end encoded "
                                     "dictionaries, which cannot be sorted; decode it first");
    tear_down(&f);
    free_table(&t);
}

/* A list holds more items than int16 run ends can count: the result is cut by rows. */
static void long_lists_of_runs_are_cut_to_what_run_ends_count(void **state)
{
    (void)state;
    const char *columns[] = {"k=c", "p=+l(+r(s; c))", "q=+r(s; i)", "id=l"};
    table t;
    make_table(&t, columns, 4, OCI_TINY(3, 40), OCI_TINY(40, 2000), &keys[0]);
    sort_and_check(&t, &keys[0], 64 * MIB, OCI_CODEC_NONE, -1);
    sort_and_check(&t, &keys[0], MIB, OCI_CODEC_LZ4_FRAME, -1);
    free_table(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flat_payload_comes_back),
        cmocka_unit_test(nested_payload_comes_back),
        cmocka_unit_test(a_table_of_nested_types_is_merged_in_passes),
        cmocka_unit_test(random_types_come_back),
        cmocka_unit_test(a_dictionary_of_dictionaries_with_runs_between_is_refused),
        cmocka_unit_test(long_lists_of_runs_are_cut_to_what_run_ends_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
