/* oc_group and oc_distinct through the C stream interface. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "outcore/outcore.h"
#include "support/arrow_maker.h"

static const char *const columns[] = {"k=i", "v=l", "s=u", "b=b"};

static oc_context *make_context(int64_t limit)
{
    oc_options options = OC_OPTIONS_INIT;
    options.memory_limit = limit;
    options.temp_dirs = (const char *const[]){"/tmp"};
    options.n_temp_dirs = 1;
    oc_context *context;
    assert_int_equal(oc_context_create(&options, &context, NULL), OC_OK);
    return context;
}

static void make_input(struct ArrowArrayStream *out, int64_t n_batches)
{
    arrow_stream_maker maker = {
        .columns = columns,
        .n_columns = 4,
        .maker = {.seed = 7, .length = 500, .null_percent = 10, .distinct = 2000},
        .n_batches = n_batches,
        .vary = true};
    arrow_make_stream(&maker, out);
}

/* Rows, and a sum of everything that lies in the first two columns as 64-bit numbers. */
static int64_t drain(struct ArrowArrayStream *stream, int *code)
{
    int64_t rows = 0;
    for (;;) {
        struct ArrowArray array;
        *code = stream->get_next(stream, &array);
        if (*code != 0 || array.release == NULL) {
            break;
        }
        rows += array.length;
        array.release(&array);
    }
    stream->release(stream);
    return rows;
}

static int64_t group_rows(int64_t limit, oc_metrics *metrics)
{
    oc_context *context = make_context(limit);
    struct ArrowArrayStream in;
    struct ArrowArrayStream out;
    make_input(&in, 60);
    oc_aggregate aggregates[4] = {OC_AGGREGATE_INIT, OC_AGGREGATE_INIT, OC_AGGREGATE_INIT,
                                  OC_AGGREGATE_INIT};
    aggregates[0].function = "count";
    aggregates[1].function = "sum";
    aggregates[1].column = "v";
    aggregates[1].filter = "b";
    aggregates[2].function = "max";
    aggregates[2].column = "s";
    aggregates[3].function = "count";
    aggregates[3].column = "s";
    aggregates[3].distinct = true;
    oc_error error;
    const char *keys[] = {"k", "v"};
    if (oc_group(context, &in, keys, 2, aggregates, 4, &out, &error) != OC_OK) {
        fail_msg("%s", error.message);
    }
    struct ArrowSchema schema;
    assert_int_equal(out.get_schema(&out, &schema), 0);
    assert_int_equal(schema.n_children, 6);
    assert_string_equal(schema.children[2]->name, "count");
    assert_string_equal(schema.children[4]->format, "u");
    schema.release(&schema);
    int code;
    int64_t rows = drain(&out, &code);
    assert_int_equal(code, 0);
    oc_context_metrics(context, metrics);
    oc_context_destroy(context);
    assert_int_equal(arrow_maker_live(), 0);
    return rows;
}

static void groups_are_the_same_in_memory_and_spilled(void **state)
{
    (void)state;
    oc_metrics wide;
    oc_metrics tight;
    int64_t expected = group_rows((int64_t)256 << 20, &wide);
    assert_true(expected > 5000);
    assert_int_equal(wide.spill_count, 0);
    assert_int_equal(group_rows((int64_t)1 << 20, &tight), expected);
    assert_true(tight.spill_count > 0);
    assert_int_equal(tight.disk_now, 0);
}

static void distinct_rows_of_some_columns(void **state)
{
    (void)state;
    oc_context *context = make_context((int64_t)64 << 20);
    struct ArrowArrayStream in;
    struct ArrowArrayStream out;
    const char *wanted[] = {"b"};
    make_input(&in, 10);
    assert_int_equal(oc_distinct(context, &in, wanted, 1, &out, NULL), OC_OK);
    int code;
    assert_int_equal(drain(&out, &code), 3); /* true, false, null */
    make_input(&in, 10);
    assert_int_equal(oc_distinct(context, &in, NULL, 0, &out, NULL), OC_OK);
    assert_true(drain(&out, &code) > 2000);
    oc_context_destroy(context);
}

static void wrong_requests_say_what_is_wrong_and_release_their_input(void **state)
{
    (void)state;
    oc_context *context = make_context((int64_t)64 << 20);
    struct ArrowArrayStream in;
    struct ArrowArrayStream out;
    oc_error error;
    const char *unknown[] = {"nope"};
    make_input(&in, 1);
    assert_int_equal(oc_group(context, &in, unknown, 1, NULL, 0, &out, &error), OC_EINVAL);
    assert_non_null(strstr(error.message, "nope"));
    oc_aggregate aggregate = OC_AGGREGATE_INIT;
    aggregate.function = "summ";
    make_input(&in, 1);
    assert_int_equal(oc_group(context, &in, NULL, 0, &aggregate, 1, &out, &error), OC_EINVAL);
    assert_non_null(strstr(error.message, "summ"));
    aggregate.function = "sum";
    aggregate.column = "s";
    make_input(&in, 1);
    assert_int_equal(oc_group(context, &in, NULL, 0, &aggregate, 1, &out, &error), OC_EINVAL);
    assert_non_null(strstr(error.message, "sum does not take"));
    assert_null(out.release);
    assert_int_equal(arrow_maker_live(), 0);
    oc_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_the_same_in_memory_and_spilled),
        cmocka_unit_test(distinct_rows_of_some_columns),
        cmocka_unit_test(wrong_requests_say_what_is_wrong_and_release_their_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
