#include "arrow/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fault.h"
#include "support/batch_maker.h"

static void assert_message_has(const char *message, const char *part)
{
    if (strstr(message, part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, message);
    }
}

static const char *const some_columns[] = {
    "a=l", "b=u", "c=vu", "d=c>u", "e=+l(+s(x=vu; y=+r(i; u)))", "f=+ud:1,5(i; +vl(u))"};
#define N_COLUMNS 6

static arrow_stream_maker some_stream(void)
{
    return (arrow_stream_maker){
        .columns = some_columns,
        .n_columns = N_COLUMNS,
        .maker = {.seed = 21, .length = 30, .null_percent = 15},
        .n_batches = 9,
        .vary = true,
    };
}

static oci_stream *open_made(const arrow_stream_maker *maker)
{
    struct ArrowArrayStream in;
    oci_stream *stream;
    oc_error err = {0};
    arrow_make_stream(maker, &in);
    if (oci_stream_import(&in, &stream, &err) != OC_OK) {
        fail_msg("%s", err.message);
    }
    assert_null(in.release);
    return stream;
}

/* ---- in -------------------------------------------------------------------------------------- */

static void batches_come_in_order_until_the_end(void **state)
{
    (void)state;
    arrow_stream_maker maker = some_stream();
    oci_stream *stream = open_made(&maker);
    for (int64_t i = 0; i < 9; i++) {
        arrow_maker one = maker.maker;
        oci_batch *batch, *want;
        one.first_row = i * 30;
        want = make_batch(some_columns, N_COLUMNS, &one);
        assert_int_equal(oci_stream_next(stream, &batch, NULL), OC_OK);
        assert_true(oci_batch_equal(batch, want));
        oci_batch_release(want);
        oci_batch_release(batch);
    }
    for (int i = 0; i < 3; i++) { /* the end stays the end */
        oci_batch *batch = (oci_batch *)1;
        assert_int_equal(oci_stream_next(stream, &batch, NULL), OC_OK);
        assert_null(batch);
    }
    oci_stream_close(stream);
    oci_stream_close(NULL);
    assert_int_equal(arrow_maker_live(), 0);
}

static void empty_batches_are_not_the_end(void **state)
{
    (void)state;
    arrow_stream_maker maker = some_stream();
    maker.maker.length = 0;
    maker.n_batches = 3;
    oci_stream *stream = open_made(&maker);
    for (int i = 0; i < 4; i++) {
        oci_batch *batch;
        assert_int_equal(oci_stream_next(stream, &batch, NULL), OC_OK);
        assert_int_equal(batch != NULL, i < 3);
        oci_batch_release(batch);
    }
    oci_stream_close(stream);
}

static void batches_outlive_the_stream(void **state)
{
    (void)state;
    arrow_stream_maker maker = some_stream();
    oci_stream *stream = open_made(&maker);
    oci_batch *batch, *want = make_batch(some_columns, N_COLUMNS, &maker.maker);
    assert_int_equal(oci_stream_next(stream, &batch, NULL), OC_OK);
    oci_stream_close(stream);
    assert_true(oci_batch_equal(batch, want));
    oci_batch_release(want);
    oci_batch_release(batch);
    assert_int_equal(arrow_maker_live(), 0);
}

static void an_error_of_the_producer_stays(void **state)
{
    (void)state;
    arrow_stream_maker maker = some_stream();
    maker.fail_code = EIO;
    maker.fail_at = 2;
    maker.fail_message = "the cable was cut";
    oci_stream *stream = open_made(&maker);
    for (int i = 0; i < 5; i++) {
        oci_batch *batch;
        oc_error err = {0};
        oc_status status = oci_stream_next(stream, &batch, i == 3 ? NULL : &err);
        if (i < 2) {
            assert_int_equal(status, OC_OK);
            oci_batch_release(batch);
            continue;
        }
        assert_int_equal(status, OC_ESTREAM);
        assert_null(batch);
        if (i != 3) {
            assert_string_equal(err.message, "the input stream failed to deliver batch 2: the "
                                             "cable was cut (Input/output error, errno 5)");
            assert_int_equal(err.sys_errno, EIO);
        }
    }
    oci_stream_close(stream);
    assert_int_equal(arrow_maker_live(), 0);
}

static void a_producer_without_text_is_told_by_its_code(void **state)
{
    (void)state;
    const char *texts[] = {NULL, ""};
    for (int i = 0; i < 2; i++) {
        arrow_stream_maker maker = some_stream();
        oc_error err = {0};
        oci_batch *batch;
        maker.fail_code = ENOMEM;
        maker.fail_message = texts[i];
        oci_stream *stream = open_made(&maker);
        assert_int_equal(oci_stream_next(stream, &batch, &err), OC_ESTREAM);
        assert_string_equal(err.message, "the input stream failed to deliver batch 0: Cannot "
                                         "allocate memory (errno 12)");
        oci_stream_close(stream);
    }
}

static void codes_that_are_no_errno_are_survived(void **state)
{
    (void)state;
    const int codes[] = {-1, 99999, INT32_MIN};
    for (int i = 0; i < 3; i++) {
        arrow_stream_maker maker = some_stream();
        oc_error err = {0};
        oci_batch *batch;
        maker.fail_code = codes[i];
        oci_stream *stream = open_made(&maker);
        assert_int_equal(oci_stream_next(stream, &batch, &err), OC_ESTREAM);
        assert_int_equal(err.sys_errno, codes[i] > 0 ? codes[i] : 0);
        oci_stream_close(stream);
    }
}

static void a_failing_schema_fails_the_import(void **state)
{
    (void)state;
    arrow_stream_maker maker = some_stream();
    struct ArrowArrayStream in;
    oci_stream *stream = (oci_stream *)1;
    oc_error err = {0};
    maker.fail_code = ENOENT;
    maker.fail_at = -1;
    maker.fail_message = "no such table";
    arrow_make_stream(&maker, &in);
    assert_int_equal(oci_stream_import(&in, &stream, &err), OC_ESTREAM);
    assert_null(in.release);
    assert_null(stream);
    assert_message_has(err.message, "the input stream failed to deliver its schema: no such table");
    assert_int_equal(arrow_maker_live(), 0);

    assert_int_equal(oci_stream_import(&in, &stream, &err), OC_EINVAL); /* already released */
    assert_message_has(err.message, "the input stream has been released");
}

static void a_damaged_schema_fails_the_import(void **state)
{
    (void)state;
    static const char *const columns[] = {"a=l", "b=+l"}; /* a list of nothing */
    arrow_stream_maker maker = {.columns = columns, .n_columns = 2};
    struct ArrowArrayStream in;
    oci_stream *stream;
    oc_error err = {0};
    arrow_make_stream(&maker, &in);
    assert_int_equal(oci_stream_import(&in, &stream, &err), OC_EDATA);
    assert_message_has(err.message, "column \"b\" has type list and 0 children");
    assert_int_equal(arrow_maker_live(), 0);
}

static int damaged_get_next(struct ArrowArrayStream *self, struct ArrowArray *out)
{
    (void)self;
    const char *columns[] = {"a=u"};
    arrow_make_array(columns, 1, &(arrow_maker){.seed = 1, .length = 10}, out);
    int32_t wrong = INT32_MAX;
    memcpy((char *)(uintptr_t)out->children[0]->buffers[1] + 5 * 4, &wrong, 4);
    return 0;
}

static void damaged_values_are_refused_with_the_batch_number(void **state)
{
    (void)state;
    static const char *const columns[] = {"a=u"};
    arrow_stream_maker maker = {.columns = columns, .n_columns = 1};
    struct ArrowArrayStream in;
    oci_stream *stream;
    oci_batch *batch;
    oc_error err = {0};
    arrow_make_stream(&maker, &in);
    in.get_next = damaged_get_next;
    assert_int_equal(oci_stream_import(&in, &stream, NULL), OC_OK);
    assert_int_equal(oci_stream_next(stream, &batch, &err), OC_EDATA);
    assert_message_has(err.message, "could not take batch 0 of the input stream: column \"a\" has "
                                    "damaged offsets: row 5");
    oci_stream_close(stream);
    assert_int_equal(arrow_maker_live(), 0);
}

/* ---- out ------------------------------------------------------------------------------------- */

/* What a test keeps of a stream that was handed out. */
typedef struct handed_out {
    oci_budget *budget;
    oci_mem *mem;
    int released; /* how often on_release was called */
} handed_out;

static void count_release(void *arg)
{
    handed_out *h = arg;
    h->released++;
    oci_mem_close(h->mem);
    h->mem = NULL;
}

static void hand_out(handed_out *h, int64_t limit, const oci_allocator *allocator,
                     oci_stream *stream, oci_schema *schema, struct ArrowArrayStream *out)
{
    *h = (handed_out){0};
    assert_int_equal(oci_budget_create(limit, allocator, &h->budget, NULL), OC_OK);
    assert_int_equal(oci_mem_open(h->budget, "output", &h->mem, NULL), OC_OK);
    assert_int_equal(oci_stream_export(stream, schema, h->mem, count_release, h, out, NULL), OC_OK);
}

static void a_stream_goes_through_both_bridges(void **state)
{
    (void)state;
    arrow_stream_maker maker = some_stream();
    oci_stream *first = open_made(&maker), *second;
    struct ArrowArrayStream c_stream;
    handed_out h;
    hand_out(&h, 1 << 20, NULL, first, first->schema, &c_stream);
    assert_int_equal(oci_stream_import(&c_stream, &second, NULL), OC_OK);
    int64_t rows = 0;
    for (;;) {
        oci_batch *batch, *want;
        arrow_maker one = maker.maker;
        assert_int_equal(oci_stream_next(second, &batch, NULL), OC_OK);
        if (batch == NULL) {
            break;
        }
        one.first_row = rows;
        want = make_batch(some_columns, N_COLUMNS, &one);
        assert_true(oci_batch_equal(batch, want));
        rows += batch->length;
        oci_batch_release(want);
        oci_batch_release(batch);
    }
    assert_int_equal(rows, 270);
    assert_int_equal(h.released, 0);
    oci_stream_close(second);
    assert_int_equal(h.released, 1);
    oci_budget_destroy(h.budget);
    assert_int_equal(arrow_maker_live(), 0);
}

static const char *const working_columns[] = {"a=u"};
static const char *const announced_columns[] = {"a=vu"};

static oci_stream *open_working(void)
{
    arrow_stream_maker maker = {.columns = working_columns,
                                .n_columns = 1,
                                .maker = {.seed = 22, .length = 4000, .null_percent = 10},
                                .n_batches = 3};
    return open_made(&maker);
}

static void arrays_outlive_stream_and_context(void **state)
{
    (void)state;
    oci_schema *schema = make_schema(announced_columns, 1);
    struct ArrowArrayStream c_stream;
    struct ArrowArray arrays[3], end;
    handed_out h;
    hand_out(&h, 1 << 20, NULL, open_working(), schema, &c_stream);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(c_stream.get_next(&c_stream, &arrays[i]), 0);
    }
    assert_int_equal(c_stream.get_next(&c_stream, &end), 0);
    assert_null(end.release);
    assert_int_equal(c_stream.get_next(&c_stream, &end), 0);
    assert_null(end.release);
    assert_null(c_stream.get_last_error(&c_stream));
    c_stream.release(&c_stream); /* closes the account, which lingers */
    assert_null(c_stream.release);
    assert_int_equal(h.released, 1);
    oci_budget_destroy(h.budget);
    for (int i = 0; i < 3; i++) {
        arrow_maker maker = {.seed = 22, .first_row = i * 4000, .length = 4000, .null_percent = 10};
        oci_batch *want = make_column_batch("vu", &maker), *got;
        assert_int_equal(oci_batch_import(&arrays[i], schema, &got, NULL), OC_OK);
        assert_true(oci_batch_equal(got, want));
        oci_batch_release(want);
        oci_batch_release(got);
    }
    oci_schema_release(schema);
    assert_int_equal(arrow_maker_live(), 0);
}

static void the_schema_can_be_asked_for_again(void **state)
{
    (void)state;
    oci_schema *schema = make_schema(announced_columns, 1);
    struct ArrowArrayStream c_stream;
    handed_out h;
    hand_out(&h, 1 << 20, NULL, open_working(), schema, &c_stream);
    oci_schema_release(schema);
    for (int i = 0; i < 2; i++) {
        struct ArrowSchema c_schema;
        assert_int_equal(c_stream.get_schema(&c_stream, &c_schema), 0);
        assert_string_equal(c_schema.children[0]->format, "vu");
        c_schema.release(&c_schema);
    }
    c_stream.release(&c_stream);
    oci_budget_destroy(h.budget);
}

static void errors_stay_and_are_told(void **state)
{
    (void)state;
    arrow_stream_maker maker = some_stream();
    maker.fail_code = EPERM;
    maker.fail_at = 1;
    maker.fail_message = "not allowed";
    oci_stream *stream = open_made(&maker);
    struct ArrowArrayStream c_stream;
    struct ArrowArray array;
    struct ArrowSchema c_schema;
    handed_out h;
    hand_out(&h, 1 << 20, NULL, stream, stream->schema, &c_stream);
    assert_int_equal(c_stream.get_next(&c_stream, &array), 0);
    array.release(&array);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(c_stream.get_next(&c_stream, &array), oc_status_errno(OC_ESTREAM));
        assert_null(array.release);
        assert_message_has(c_stream.get_last_error(&c_stream), "batch 1: not allowed");
    }
    assert_int_equal(c_stream.get_schema(&c_stream, &c_schema), 0);
    assert_null(c_stream.get_last_error(&c_stream)); /* the last call was fine */
    c_schema.release(&c_schema);
    assert_int_not_equal(c_stream.get_next(&c_stream, &array), 0); /* and this one is not */
    assert_message_has(c_stream.get_last_error(&c_stream), "not allowed");
    c_stream.release(&c_stream);
    oci_budget_destroy(h.budget);
    assert_int_equal(arrow_maker_live(), 0);
}

static void a_refusing_budget_ends_the_stream_with_enomem(void **state)
{
    (void)state;
    oci_schema *schema = make_schema(announced_columns, 1);
    struct ArrowArrayStream c_stream;
    struct ArrowArray array;
    handed_out h;
    hand_out(&h, 48 * 1024, NULL, open_working(), schema, &c_stream); /* views need 64,000 bytes */
    assert_int_equal(c_stream.get_next(&c_stream, &array), ENOMEM);
    assert_null(array.release);
    assert_true(strlen(c_stream.get_last_error(&c_stream)) > 0);
    assert_int_equal(oci_mem_held(h.mem), 0);
    c_stream.release(&c_stream);
    oci_budget_destroy(h.budget);
    oci_schema_release(schema);
    assert_int_equal(arrow_maker_live(), 0);
}

static void errors_of_own_streams_pass_unchanged(void **state)
{
    (void)state;
    oci_schema *schema = make_schema(announced_columns, 1);
    struct ArrowArrayStream c_stream;
    oci_stream *stream;
    oci_batch *batch;
    oc_error err = {0};
    handed_out h;
    hand_out(&h, 48 * 1024, NULL, open_working(), schema, &c_stream); /* views need 64,000 bytes */
    assert_int_equal(oci_stream_import(&c_stream, &stream, NULL), OC_OK);
    assert_int_equal(oci_stream_next(stream, &batch, &err), OC_EBUDGET);
    assert_null(strstr(err.message, "input stream"));
    assert_int_equal(oci_stream_next(stream, &batch, NULL), OC_EBUDGET);
    oci_stream_close(stream);
    assert_int_equal(h.released, 1);
    oci_budget_destroy(h.budget);
    oci_schema_release(schema);
    assert_int_equal(arrow_maker_live(), 0);
}

/* The Nth allocation fails, once or from then on: rows right or an error, nothing left. */
static void every_failing_allocation_is_survived(void **state)
{
    (void)state;
    oci_schema *schema = make_schema(announced_columns, 1);
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        bool injected = true;
        for (int64_t nth = 1; injected; nth++) {
            oci_fault_plan *plan = oci_fault_plan_create();
            struct ArrowArrayStream c_stream;
            int64_t rows = 0;
            int code;
            handed_out h;
            hand_out(&h, 1 << 20, oci_fault_allocator(plan), open_working(), schema, &c_stream);
            oci_fault_arm(plan, OCI_FAULT_ALLOC, nth, for_ever);
            for (;;) {
                struct ArrowArray array;
                code = c_stream.get_next(&c_stream, &array);
                if (code != 0 || array.release == NULL) {
                    assert_null(array.release);
                    break;
                }
                rows += array.length;
                array.release(&array);
            }
            injected = oci_fault_injected(plan) > 0;
            assert_int_equal(code, injected ? ENOMEM : 0);
            assert_true(injected || rows == 12000);
            oci_fault_arm(plan, OCI_FAULT_ALLOC, 0, false);
            c_stream.release(&c_stream);
            oci_budget_destroy(h.budget);
            assert_int_equal(oci_fault_live_bytes(plan), 0);
            assert_int_equal(arrow_maker_live(), 0);
            oci_fault_plan_destroy(plan);
        }
    }
    oci_schema_release(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_come_in_order_until_the_end),
        cmocka_unit_test(empty_batches_are_not_the_end),
        cmocka_unit_test(batches_outlive_the_stream),
        cmocka_unit_test(an_error_of_the_producer_stays),
        cmocka_unit_test(a_producer_without_text_is_told_by_its_code),
        cmocka_unit_test(codes_that_are_no_errno_are_survived),
        cmocka_unit_test(a_failing_schema_fails_the_import),
        cmocka_unit_test(a_damaged_schema_fails_the_import),
        cmocka_unit_test(damaged_values_are_refused_with_the_batch_number),
        cmocka_unit_test(a_stream_goes_through_both_bridges),
        cmocka_unit_test(arrays_outlive_stream_and_context),
        cmocka_unit_test(the_schema_can_be_asked_for_again),
        cmocka_unit_test(errors_stay_and_are_told),
        cmocka_unit_test(a_refusing_budget_ends_the_stream_with_enomem),
        cmocka_unit_test(errors_of_own_streams_pass_unchanged),
        cmocka_unit_test(every_failing_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
