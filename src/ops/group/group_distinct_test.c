/* Distinct aggregates by two levels of hashing: against counts worked out here, the same at every limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bits.h"
#include "ops/group/group_distinct.h"

#define MIB    ((int64_t)1 << 20)
#define GROUPS 50

typedef struct fixture {
    oci_env env;
    atomic_bool cancel;
    oci_progress progress;
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
}

/* ---- input: g int64, x int64, y int64, f bool, all made from the number of the row ------------------ */

typedef struct rows {
    oci_stream base;
    oci_mem *mem;
    int64_t n;
    int64_t at;
} rows;

static int64_t group_of(int64_t row)
{
    return row % GROUPS;
}

static int64_t value_of(int64_t row)
{
    return row * 7919 % (row % 3 == 0 ? 11 : 5003);
}

static bool passes(int64_t row)
{
    return value_of(row) % 4 == 1 || row % 1000 == 0;
}

static bool is_null(int64_t row)
{
    return row % 13 == 0;
}

static oc_status rows_next(oci_stream *stream, oci_batch **out, oc_error *err)
{
    rows *self = (rows *)stream;
    int64_t n = oci_min64(700, self->n - self->at);
    *out = NULL;
    if (n <= 0) {
        return OC_OK;
    }
    int64_t bits = oci_round_up((n + 7) / 8, 8);
    int64_t bytes = 3 * 8 * n + 2 * bits;
    void *slab;
    OC_TRY(oci_mem_alloc(self->mem, bytes, &slab, err));
    memset(slab, 0, (size_t)bytes);
    uint8_t *g = slab, *x = g + 8 * n, *y = x + 8 * n, *f = y + 8 * n, *valid = f + bits;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = self->at + i;
        oci_store_le64(g + 8 * i, (uint64_t)group_of(row));
        oci_store_le64(x + 8 * i, (uint64_t)value_of(row));
        oci_store_le64(y + 8 * i, (uint64_t)row);
        oci_bit_put(f, i, passes(row));
        oci_bit_put(valid, i, !is_null(row));
    }
    self->at += n;
    oci_column *columns = calloc(4, sizeof *columns);
    const uint8_t *values[] = {g, x, y, f};
    for (int c = 0; c < 4; c++) {
        columns[c] = (oci_column){.field = &self->base.schema->fields[c],
                                  .length = n,
                                  .null_count = c == 1 ? -1 : 0,
                                  .validity = c == 1 ? valid : NULL,
                                  .values = values[c]};
    }
    return oci_batch_adopt(self->base.schema, n, columns, self->mem, slab, bytes, NULL, 0, out,
                           err);
}

static void rows_close(oci_stream *stream)
{
    rows *self = (rows *)stream;
    oci_schema_release(self->base.schema);
    oci_mem_close(self->mem);
    free(self);
}

static oci_stream *make_rows(fixture *f, int64_t n)
{
    static const char *const names[] = {"g", "x", "y", "f"};
    rows *self = calloc(1, sizeof *self);
    oci_field *fields = calloc(4, sizeof *fields);
    for (int c = 0; c < 4; c++) {
        fields[c] = (oci_field){.name = strdup(names[c]),
                                .type = c == 3 ? OCI_TYPE_BOOL : OCI_TYPE_INT64,
                                .nullable = c == 1};
        oci_field_set_width(&fields[c]);
    }
    self->base.next = rows_next;
    self->base.close = rows_close;
    self->n = n;
    assert_int_equal(oci_schema_create(fields, 4, NULL, 0, &self->base.schema, NULL), OC_OK);
    assert_int_equal(oci_mem_open(f->env.budget, "rows", &self->mem, NULL), OC_OK);
    return &self->base;
}

/* ---- the plan and its answer -------------------------------------------------------------------- */

static const int32_t keys[] = {0};
static const oci_aggregate aggregates[] = {
    {.kind = OCI_AGG_COUNT_STAR, .filter = -1, .name = "n"},
    {.kind = OCI_AGG_COUNT, .n_args = 1, .args = {1}, .filter = -1, .distinct = true, .name = "d"},
    {.kind = OCI_AGG_MAX, .n_args = 1, .args = {2}, .filter = -1, .name = "max"},
    {.kind = OCI_AGG_COUNT, .n_args = 1, .args = {1}, .filter = 3, .distinct = true, .name = "df"},
    {.kind = OCI_AGG_COUNT, .n_args = 1, .args = {1}, .filter = 3, .name = "cf"},
};
static const oci_group_plan plan = {
    .keys = keys, .n_keys = 1, .aggregates = aggregates, .n_aggregates = 5};

typedef struct answer {
    int64_t n, distinct, max, distinct_filtered, filtered;
} answer;

static void work_out(int64_t n, answer *answers)
{
    static bool seen[GROUPS][5003];
    static bool seen_filtered[GROUPS][5003];
    memset(seen, 0, sizeof seen);
    memset(seen_filtered, 0, sizeof seen_filtered);
    memset(answers, 0, GROUPS * sizeof *answers);
    for (int64_t row = 0; row < n; row++) {
        int64_t g = group_of(row), x = value_of(row);
        answer *a = &answers[g];
        a->n++;
        a->max = row;
        if (is_null(row)) {
            continue;
        }
        a->distinct += !seen[g][x];
        seen[g][x] = true;
        if (passes(row)) {
            a->filtered++;
            a->distinct_filtered += !seen_filtered[g][x];
            seen_filtered[g][x] = true;
        }
    }
}

static int64_t int_at(const oci_batch *batch, int32_t column, int64_t row)
{
    const oci_column *c = &batch->columns[column];
    return (int64_t)oci_load_le64(c->values + (c->offset + row) * 8);
}

static void check_batch(const oci_batch *batch, const answer *answers)
{
    for (int64_t row = 0; row < batch->length; row++) {
        const answer *a = &answers[int_at(batch, 0, row)];
        assert_int_equal(int_at(batch, 1, row), a->n);
        assert_int_equal(int_at(batch, 2, row), a->distinct);
        assert_int_equal(int_at(batch, 3, row), a->max);
        assert_int_equal(int_at(batch, 4, row), a->distinct_filtered);
        assert_int_equal(int_at(batch, 5, row), a->filtered);
    }
}

static int64_t run(int64_t n, int64_t limit, int64_t batch_rows, bool spills)
{
    static answer answers[GROUPS];
    fixture f;
    oci_stream *grouped;
    oci_batch *batch;
    oc_error err = {0};
    oc_status status;
    int64_t groups = 0;
    work_out(n, answers);
    set_up(&f, limit, batch_rows);
    assert_int_equal(
        oci_group_distinct_open(&f.env, f.manager, make_rows(&f, n), &plan, &grouped, &err), OC_OK);
    while ((status = oci_stream_next(grouped, &batch, &err)) == OC_OK && batch != NULL) {
        assert_int_equal(oci_batch_validate(batch, &err), OC_OK);
        check_batch(batch, answers);
        groups += batch->length;
        oci_batch_release(batch);
    }
    if (status != OC_OK) {
        fail_msg("%s", err.message);
    }
    assert_true(!spills || atomic_load(&f.manager->counters.spilled_rows) > 0);
    oci_stream_close(grouped);
    tear_down(&f);
    return groups;
}

static void distinct_values_are_counted_beside_other_aggregates(void **state)
{
    (void)state;
    assert_int_equal(run(0, 16 * MIB, 100, false), 0);
    assert_int_equal(run(1, 16 * MIB, 100, false), 1);
    assert_int_equal(run(20000, 64 * MIB, 8192, false), GROUPS);
}

static void counts_do_not_depend_on_the_limit(void **state)
{
    (void)state;
    assert_int_equal(run(200000, MIB, 8192, true), GROUPS);
    assert_int_equal(run(200000, 4 * MIB, 1, true), GROUPS);
}

static void without_keys_one_row_comes_even_of_nothing(void **state)
{
    (void)state;
    for (int64_t n = 0; n < 3000; n += 2900) {
        fixture f;
        oci_stream *grouped;
        oci_batch *batch;
        set_up(&f, 4 * MIB, 100);
        oci_group_plan all = plan;
        all.n_keys = 0;
        assert_int_equal(
            oci_group_distinct_open(&f.env, f.manager, make_rows(&f, n), &all, &grouped, NULL),
            OC_OK);
        assert_int_equal(oci_stream_next(grouped, &batch, NULL), OC_OK);
        assert_int_equal(batch->length, 1);
        assert_int_equal(int_at(batch, 0, 0), n);
        assert_string_equal(batch->schema->fields[1].name, "d");
        oci_batch_release(batch);
        oci_stream_close(grouped);
        tear_down(&f);
    }
}

static void the_result_looks_as_announced(void **state)
{
    (void)state;
    fixture f;
    oci_stream *grouped;
    oci_schema *announced;
    set_up(&f, 4 * MIB, 100);
    oci_stream *input = make_rows(&f, 10);
    assert_int_equal(oci_group_schema(input->schema, &plan, &announced, NULL), OC_OK);
    assert_int_equal(oci_group_distinct_open(&f.env, f.manager, input, &plan, &grouped, NULL),
                     OC_OK);
    assert_int_equal(grouped->schema->n_fields, announced->n_fields);
    for (int32_t i = 0; i < announced->n_fields; i++) {
        assert_string_equal(grouped->schema->fields[i].name, announced->fields[i].name);
        assert_int_equal(grouped->schema->fields[i].type, announced->fields[i].type);
    }
    oci_schema_release(announced);
    oci_stream_close(grouped);
    tear_down(&f);
}

static void plans_that_need_an_order_or_two_lists_are_not_for_this_way(void **state)
{
    (void)state;
    oci_aggregate two[] = {aggregates[1], aggregates[1]};
    oci_group_plan p = {.keys = keys, .n_keys = 1, .aggregates = two, .n_aggregates = 2};
    assert_true(oci_group_distinct_can(&p));
    two[1].args[0] = 2;
    assert_false(oci_group_distinct_can(&p));
    two[1] = (oci_aggregate){.kind = OCI_AGG_ARRAY_AGG, .n_args = 1, .args = {1}, .filter = -1};
    assert_false(oci_group_distinct_can(&p));
    two[1] = aggregates[0];
    assert_true(oci_group_distinct_can(&p));
    two[0] = aggregates[2];
    assert_false(oci_group_distinct_can(&p)); /* nothing distinct: one level does */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distinct_values_are_counted_beside_other_aggregates),
        cmocka_unit_test(counts_do_not_depend_on_the_limit),
        cmocka_unit_test(without_keys_one_row_comes_even_of_nothing),
        cmocka_unit_test(the_result_looks_as_announced),
        cmocka_unit_test(plans_that_need_an_order_or_two_lists_are_not_for_this_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
