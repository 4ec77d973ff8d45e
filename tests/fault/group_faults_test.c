/* Every call that grouping makes of others fails in turn: see loop.h for how, seams.h for which. Groups in memory, of
 * partitions that go to disk and come back, with aggregates of every kind of state, and with one DISTINCT argument. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/context.h"
#include "fault/loop.h"
#include "ops/group/group_distinct.h"
#include "support/arrow_maker.h"

#define COUNT(array) ((int32_t)(sizeof(array) / sizeof(array)[0]))

typedef struct group_case {
    const char *const *columns;
    int32_t n_columns;
    int64_t n_batches;
    int64_t batch_rows;
    int32_t distinct;
    int32_t string_max;
    oci_group_plan plan;
} group_case;

static oc_status open_group(fault_run *run, const oci_group_plan *plan, struct ArrowArrayStream *in,
                            oci_stream **out)
{
    oci_stream *input;
    OC_TRY(oci_stream_import(in, &input, &run->error));
    return oci_group_distinct_can(plan)
               ? oci_group_distinct_open(&run->context->env, run->context->spill, input, plan, out,
                                         &run->error)
               : oci_group_hashed_open(&run->context->env, run->context->spill, input, plan, out,
                                       &run->error);
}

static oc_status group(fault_run *run)
{
    const group_case *c = run->arg;
    arrow_stream_maker maker = {
        .columns = c->columns,
        .n_columns = c->n_columns,
        .maker = {.seed = 3,
                  .length = c->batch_rows,
                  .null_percent = 10,
                  .distinct = c->distinct,
                  .string_max = c->string_max},
        .n_batches = c->n_batches,
    };
    struct ArrowArrayStream input;
    struct ArrowArrayStream result;
    oci_stream *grouped;
    fault_make_stream(&maker, &input);
    OC_TRY(open_group(run, &c->plan, &input, &grouped));
    OC_TRY(oci_context_export(run->context, grouped, grouped->schema, &result, &run->error));
    return fault_drain(run, &result);
}

static const int32_t keys[] = {0, 1};
static const char *const pairs[] = {"k=l", "s=u"};
static const char *const mixed[] = {"k=l", "d=c>u", "i=i", "p=d:20,3", "f=g", "b=b", "s=u"};

#define AGG(kind_, column)                                                          \
    {                                                                               \
        .kind = (kind_), .n_args = 1, .args = {(column)}, .filter = -1, .name = "a" \
    }

static const oci_aggregate all[] = {
    {.kind = OCI_AGG_COUNT_STAR, .filter = 5, .name = "n"},
    AGG(OCI_AGG_SUM, 3),
    AGG(OCI_AGG_AVG, 4),
    AGG(OCI_AGG_MAX, 6),
    AGG(OCI_AGG_BOOL_OR, 5),
    AGG(OCI_AGG_BIT_XOR, 2),
    {.kind = OCI_AGG_CORR, .n_args = 2, .args = {2, 4}, .filter = -1, .name = "r"},
};
static const oci_aggregate distinct[] = {
    {.kind = OCI_AGG_COUNT, .n_args = 1, .args = {6}, .filter = 5, .distinct = true, .name = "d"},
    AGG(OCI_AGG_MAX, 3),
};

static const group_case in_memory = {
    mixed, 7, 3, 60, 0, 40, {.keys = keys, .n_keys = 2, .aggregates = all, .n_aggregates = 7}};
static const group_case without_keys = {
    mixed, 7, 3, 60, 0, 40, {.aggregates = all, .n_aggregates = 7}};
static const group_case distinct_rows = {pairs, 2, 24, 1000, 0, 60, {.keys = keys, .n_keys = 2}};
static const group_case states = {
    mixed, 7, 10, 500, 0, 60, {.keys = keys, .n_keys = 1, .aggregates = all, .n_aggregates = 7}};
static const group_case two_levels = {
    mixed,
    7,
    14,
    1000,
    4000,
    40,
    {.keys = keys + 1, .n_keys = 1, .aggregates = distinct, .n_aggregates = 2}};

static const fault_body bodies[] = {
    {.name = "group in memory", .run = group, .arg = &in_memory},
    {.name = "aggregate without keys", .run = group, .arg = &without_keys},
    {.name = "distinct rows spilled", .run = group, .arg = &distinct_rows, .must_spill = true},
    {.name = "states spilled",
     .run = group,
     .arg = &states,
     .codec = OC_CODEC_ZSTD,
     .must_spill = true},
    {.name = "states spilled and sealed",
     .run = group,
     .arg = &states,
     .encrypt = true,
     .must_spill = true},
    {.name = "distinct values in two levels",
     .run = group,
     .arg = &two_levels,
     .must_spill = true,
     .is_heavy = true},
};

static int set_up(void **state)
{
    (void)state;
    fault_suspend(); /* this thread, but for what the bodies do */
    fault_set_up_folders();
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    fault_remove_folders();
    return 0;
}

static void grouping_survives_every_failure(void **state)
{
    (void)state;
    for (int32_t i = 0; i < COUNT(bodies); i++) {
        fault_loop(&bodies[i]);
    }
    fault_check_none_wrong();
}

static void grouping_can_be_canceled_at_every_step(void **state)
{
    (void)state;
    for (int32_t i = 0; i < COUNT(bodies); i++) {
        fault_cancel_loop(&bodies[i]);
    }
    fault_check_none_wrong();
}

static void every_call_site_was_the_failing_one(void **state)
{
    (void)state;
    int64_t seen = 0;
    int64_t missed = fault_report(stdout, &seen);
    printf("call sites made to fail: %d of %d\n", (int)(seen - missed), (int)seen);
    assert_true(missed * 100 <= seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grouping_survives_every_failure),
        cmocka_unit_test(grouping_can_be_canceled_at_every_step),
        cmocka_unit_test(every_call_site_was_the_failing_one),
    };
    return cmocka_run_group_tests(tests, set_up, clean_up);
}
