/* The writer: what it writes is read back the same, whatever form the batches have, and its
 * failures stay. */
#include "ipc/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "arrow/gather.h"
#include "base/bits.h"
#include "base/fault.h"
#include "ipc/message.h"
#include "ipc/reader.h"
#include "support/batch_maker.h"
#include "support/byte_file.h"

#define MIB      (INT64_C(1) << 20)
#define ROWS_MAX (INT64_C(1) << 31)

typedef struct fixture {
    oci_budget *budget;
    oci_mem *mem;
    oci_env env;
} fixture;

static oc_status try_open_fixture(fixture *f, int64_t limit, oci_fault_plan *plan, oc_error *err)
{
    *f = (fixture){0};
    OC_TRY(
        oci_budget_create(limit, plan != NULL ? oci_fault_allocator(plan) : NULL, &f->budget, err));
    oc_status status = oci_mem_open(f->budget, "writer test", &f->mem, err);
    f->env = (oci_env){.budget = f->budget,
                       .io = plan != NULL ? oci_fault_io(plan) : oci_posix_io(),
                       .threads = oci_system_threads(),
                       .clock = oci_system_clock(),
                       .n_threads = 1,
                       .batch_rows = ROWS_MAX};
    return status;
}

static void open_fixture(fixture *f, int64_t limit)
{
    assert_int_equal(try_open_fixture(f, limit, NULL, NULL), OC_OK);
}

static void close_fixture(fixture *f)
{
    if (f->budget != NULL) {
        assert_int_equal(oci_budget_used(f->budget), 0);
    }
    oci_mem_close(f->mem);
    oci_budget_destroy(f->budget);
}

/* Writes batches into memory. */
static oc_status write_all(fixture *f, oci_schema *schema, oci_batch *const *batches, int32_t n,
                           bool is_file, oci_codec_id codec, byte_sink *sink, oc_error *err)
{
    *sink = (byte_sink){0};
    oci_file *file = byte_file_create(sink);
    oci_ipc_writer *writer = NULL;
    oc_status status =
        oci_ipc_writer_open(&f->env, file, schema, is_file, codec, 0, f->mem, &writer, err);
    for (int32_t i = 0; i < n && status == OC_OK; i++) {
        status = oci_ipc_writer_add(writer, batches[i], err);
    }
    if (status == OC_OK) {
        status = oci_ipc_writer_finish(writer, err);
    }
    oci_ipc_writer_destroy(writer);
    assert_int_equal(oci_close(file, NULL), OC_OK);
    return status;
}

static int32_t batch_of_row(const oci_batch *const *batches, int32_t n, int64_t row,
                            int64_t *in_batch)
{
    for (int32_t i = 0; i < n; i++) {
        if (row < batches[i]->length) {
            *in_batch = row;
            return i;
        }
        row -= batches[i]->length;
    }
    fail_msg("more rows were read than written");
    return -1;
}

/* Reads what was written, and compares it with the batches row by row; returns how many batches
 * came. */
static int32_t check_written(const byte_sink *sink, oci_batch *const *batches, int32_t n)
{
    fixture f;
    open_fixture(&f, 1024 * MIB);
    oci_stream *stream = NULL;
    oc_error err = {0};
    oc_status status = oci_ipc_reader_open(&f.env, byte_file_open(sink->data, sink->size, 0), NULL,
                                           f.mem, &stream, &err);
    int64_t row = 0;
    int32_t n_read = 0;
    while (status == OC_OK) {
        oci_batch *batch = NULL;
        status = oci_stream_next(stream, &batch, &err);
        if (batch == NULL) {
            break;
        }
        for (int64_t i = 0; i < batch->length; i++, row++) {
            int64_t at = 0;
            int32_t which = batch_of_row((const oci_batch *const *)batches, n, row, &at);
            for (int32_t c = 0; c < batch->schema->n_fields; c++) {
                if (!oci_value_equal(&batch->columns[c], i, &batches[which]->columns[c], at)) {
                    fail_msg("column %d differs in row %lld", (int)c, (long long)row);
                }
            }
        }
        n_read++;
        oci_batch_release(batch);
    }
    if (status != OC_OK) {
        fail_msg("could not read back: %s", err.message);
    }
    for (int32_t i = 0; i < n; i++) {
        row -= batches[i]->length;
    }
    assert_int_equal(row, 0);
    oci_stream_close(stream);
    close_fixture(&f);
    return n_read;
}

static int32_t round_trip(oci_schema *schema, oci_batch *const *batches, int32_t n, bool is_file,
                          oci_codec_id codec, int64_t limit, byte_sink *sink)
{
    fixture f;
    oc_error err = {0};
    open_fixture(&f, limit);
    if (write_all(&f, schema, batches, n, is_file, codec, sink, &err) != OC_OK) {
        fail_msg("could not write: %s", err.message);
    }
    close_fixture(&f);
    return check_written(sink, batches, n);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void check_layouts(const char *const *formats, int32_t n)
{
    for (int k = 0; k < 12; k++) {
        oci_batch *batches[3];
        for (int i = 0; i < 3; i++) {
            arrow_maker maker = {.seed = 5,
                                 .first_row = 100 * i,
                                 .length = i == 1 ? 0 : 100,
                                 .null_percent = k % 3 * 30,
                                 .offset = k * i,
                                 .struct_offset = k % 2 * 5,
                                 .garbage = k % 2 == 0,
                                 .unaligned = k % 4 == 1,
                                 .hide_null_count = k % 5 == 0};
            batches[i] = make_batch(formats, n, &maker);
        }
        byte_sink sink;
        round_trip(batches[0]->schema, batches, 3, k % 2 == 1, (oci_codec_id)(k / 2 % 3), 64 * MIB,
                   &sink);
        free(sink.data);
        for (int i = 0; i < 3; i++) {
            oci_batch_release(batches[i]);
        }
    }
}

static void any_layout_of_a_batch_is_written_right(void **state)
{
    (void)state;
    check_layouts(arrow_maker_formats, arrow_maker_n_formats);
}

static void any_layout_of_nested_columns_is_written_right(void **state)
{
    (void)state;
    check_layouts(arrow_maker_nested_formats, arrow_maker_n_nested_formats);
}

static void slices_take_only_their_own_bytes_along(void **state)
{
    (void)state;
    const char *columns[] = {"a=u", "b=vu", "c=U", "d=i", "e=b"};
    arrow_maker maker = {.seed = 2, .length = 10000, .null_percent = 5};
    oci_batch *whole = make_batch(columns, 5, &maker);
    oci_batch *slices[100];
    for (int32_t i = 0; i < 100; i++) {
        assert_int_equal(oci_batch_slice(whole, i * 100, i < 50 ? 100 : 1, &slices[i], NULL),
                         OC_OK);
    }
    byte_sink one;
    round_trip(whole->schema, &whole, 1, true, OCI_CODEC_NONE, 64 * MIB, &one);
    byte_sink many;
    round_trip(whole->schema, slices, 100, true, OCI_CODEC_NONE, 64 * MIB, &many);
    assert_true(many.size < one.size);
    free(one.data);
    free(many.data);
    for (int32_t i = 0; i < 100; i++) {
        oci_batch_release(slices[i]);
    }
    oci_batch_release(whole);
}

static void check_working_form(const char *const *columns, int32_t n)
{
    for (int k = 0; k < 4; k++) {
        fixture f;
        open_fixture(&f, 64 * MIB);
        arrow_maker maker = {.seed = 3, .length = 500, .null_percent = 10, .string_max = 40};
        oci_batch *batch = make_batch(columns, n, &maker);
        oci_schema *working = NULL;
        assert_int_equal(oci_schema_working(batch->schema, &working, NULL), OC_OK);
        oci_batch *gathered[2];
        for (int i = 0; i < 2; i++) {
            assert_int_equal(
                oci_gather_range(working, batch, 250 * i, 250, 0, f.mem, NULL, &gathered[i], NULL),
                OC_OK);
        }
        byte_sink sink;
        round_trip(batch->schema, gathered, 2, k % 2 == 1, k < 2 ? OCI_CODEC_NONE : OCI_CODEC_ZSTD,
                   64 * MIB, &sink);
        free(sink.data);
        oci_batch_release(gathered[0]);
        oci_batch_release(gathered[1]);
        oci_batch_release(batch);
        oci_schema_release(working);
        close_fixture(&f);
    }
}

static void working_form_is_written_as_the_announced_types(void **state)
{
    (void)state;
    const char *columns[] = {"a=vu", "b=vz", "c=S>vu", "d=l"};
    check_working_form(columns, 4);
    check_working_form(arrow_maker_nested_formats, arrow_maker_n_nested_formats);
}

/* 40,000 rows are more than run ends of int16 can count. */
static void rows_that_run_ends_cannot_count_are_written_in_parts(void **state)
{
    (void)state;
    const char *columns[] = {"a=+r(i; u)"};
    const char *narrow[] = {"a=+r(s; u)"};
    fixture f;
    open_fixture(&f, 64 * MIB);
    oci_batch *batch = make_batch(columns, 1, &(arrow_maker){.length = 40000, .distinct = 5});
    oci_schema *schema = make_schema(narrow, 1);
    oci_schema *working = NULL;
    oci_batch *gathered = NULL;
    assert_int_equal(oci_schema_working(schema, &working, NULL), OC_OK);
    assert_int_equal(oci_gather_range(working, batch, 0, 40000, 0, f.mem, NULL, &gathered, NULL),
                     OC_OK);
    for (int k = 0; k < 2; k++) {
        byte_sink sink;
        assert_int_equal(round_trip(schema, &gathered, 1, k == 1, OCI_CODEC_NONE, 64 * MIB, &sink),
                         2);
        free(sink.data);
    }
    oci_batch_release(gathered);
    oci_schema_release(working);
    oci_schema_release(schema);
    oci_batch_release(batch);
    close_fixture(&f);
}

static void a_batch_too_large_for_the_budget_is_written_in_parts(void **state)
{
    (void)state;
    const char *columns[] = {"a=u", "b=l", "c=vz", "d=s>u"};
    arrow_maker maker = {.seed = 6, .length = 60000, .null_percent = 1, .distinct = 90};
    oci_batch *batch = make_batch(columns, 4, &maker);
    for (int k = 0; k < 4; k++) {
        byte_sink sink;
        int32_t n = round_trip(batch->schema, &batch, 1, k % 2 == 1,
                               k < 2 ? OCI_CODEC_NONE : OCI_CODEC_LZ4_FRAME, 4 * MIB, &sink);
        assert_true(n > 2);
        free(sink.data);
    }
    oci_batch_release(batch);
}

/* ---- dictionaries of a file ------------------------------------------------------------------ */

static int64_t count_dictionary_messages(const byte_sink *sink)
{
    const uint8_t *data = (const uint8_t *)sink->data;
    int64_t tail = sink->size - 10;
    int64_t footer_bytes = oci_load_le32(data + tail);
    oci_ipc_footer footer;
    assert_int_equal(
        oci_footer_parse(data + tail - footer_bytes, footer_bytes, sink->size, &footer, NULL),
        OC_OK);
    int64_t n = footer.n_dictionaries;
    oci_footer_deinit(&footer);
    return n;
}

/* Batches whose dictionaries hold other values each time become one dictionary a column. */
static void a_file_has_one_dictionary_for_all_batches(void **state)
{
    (void)state;
    const char *columns[] = {"a=i>l", "b=l>vu"};
    oci_batch *batches[4];
    for (int i = 0; i < 4; i++) {
        arrow_maker maker = {.seed = (uint64_t)i, .length = 3000, .null_percent = 5};
        batches[i] = make_batch(columns, 2, &maker);
    }
    byte_sink sink;
    assert_int_equal(
        round_trip(batches[0]->schema, batches, 4, true, OCI_CODEC_NONE, 64 * MIB, &sink), 4);
    assert_int_equal(count_dictionary_messages(&sink), 2);
    free(sink.data);
    for (int i = 0; i < 4; i++) {
        oci_batch_release(batches[i]);
    }
}

/* The smallest limit that is enough leaves no room to join long values: deltas then. */
static void a_dictionary_that_cannot_be_joined_is_extended(void **state)
{
    (void)state;
    const char *columns[] = {"b=l>u"};
    oci_batch *batches[4];
    for (int i = 0; i < 4; i++) {
        arrow_maker maker = {
            .seed = (uint64_t)i, .length = 300, .distinct = 100, .string_max = 3000};
        batches[i] = make_batch(columns, 1, &maker);
    }
    byte_sink sink;
    oc_status status = OC_EBUDGET;
    for (int64_t limit = 64 << 10; status == OC_EBUDGET; limit += limit / 16) {
        fixture f;
        open_fixture(&f, limit);
        status = write_all(&f, batches[0]->schema, batches, 4, true, OCI_CODEC_NONE, &sink, NULL);
        close_fixture(&f);
        if (status == OC_OK) {
            (void)check_written(&sink, batches, 4);
            assert_true(count_dictionary_messages(&sink) > 1);
        }
        free(sink.data);
    }
    assert_int_equal(status, OC_OK);
    for (int i = 0; i < 4; i++) {
        oci_batch_release(batches[i]);
    }
}

/* Dictionaries in lists, in the values of others, and of every nested type; other values in every
 * batch, and slices of large batches. */
static void nested_dictionaries_are_extended_too(void **state)
{
    (void)state;
    const char *columns[] = {"a=+l(i>u)", "b=i>+l(l>vu)", "c=+s(x=i>+s(y=i>u; z=l); w=+vl(i>l))",
                             "d=i>+ud:0,1(i>u; +r(i; l))", "e=+r(i; i>+vl(u))"};
    oci_batch *batches[4];
    oci_batch *slices[4];
    for (int i = 0; i < 4; i++) {
        arrow_maker maker = {.seed = (uint64_t)i, .length = 3000, .null_percent = 5};
        batches[i] = make_batch(columns, 5, &maker);
        assert_int_equal(oci_batch_slice(batches[i], 700 * i, i == 1 ? 20 : 900, &slices[i], NULL),
                         OC_OK);
    }
    for (int codec = 0; codec < 3; codec++) {
        byte_sink sink;
        assert_int_equal(
            round_trip(batches[0]->schema, batches, 4, true, (oci_codec_id)codec, 64 * MIB, &sink),
            4);
        free(sink.data);
        assert_int_equal(
            round_trip(batches[0]->schema, slices, 4, true, (oci_codec_id)codec, 64 * MIB, &sink),
            4);
        free(sink.data);
    }
    for (int i = 0; i < 4; i++) {
        oci_batch_release(slices[i]);
        oci_batch_release(batches[i]);
    }
}

static void values_beyond_the_index_type_are_refused_in_a_file_only(void **state)
{
    (void)state;
    oci_batch *batches[3];
    for (int i = 0; i < 3; i++) {
        arrow_maker maker = {
            .seed = (uint64_t)i + 50, .length = 2000, .distinct = 100, .string_max = 50};
        batches[i] = make_column_batch("c>u", &maker);
    }
    fixture f;
    byte_sink sink;
    oc_error err = {0};
    open_fixture(&f, 64 * MIB);
    assert_int_equal(
        write_all(&f, batches[0]->schema, batches, 3, true, OCI_CODEC_NONE, &sink, &err),
        OC_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "column \"a\""));
    assert_non_null(strstr(err.message, "stream format"));
    free(sink.data);
    close_fixture(&f);
    round_trip(batches[0]->schema, batches, 3, false, OCI_CODEC_NONE, 64 * MIB, &sink);
    free(sink.data);
    for (int i = 0; i < 3; i++) {
        oci_batch_release(batches[i]);
    }
}

static void a_dictionary_beyond_the_budget_says_what_to_do(void **state)
{
    (void)state;
    oci_batch *batches[30];
    for (int i = 0; i < 30; i++) {
        arrow_maker maker = {
            .seed = (uint64_t)i, .length = 500, .distinct = 100, .string_max = 400};
        batches[i] = make_column_batch("i>u", &maker);
    }
    fixture f;
    byte_sink sink;
    oc_error err = {0};
    open_fixture(&f, 256 * 1024);
    assert_int_equal(
        write_all(&f, batches[0]->schema, batches, 30, true, OCI_CODEC_NONE, &sink, &err),
        OC_EBUDGET);
    assert_non_null(strstr(err.message, "stream format"));
    free(sink.data);
    assert_int_equal(
        write_all(&f, batches[0]->schema, batches, 30, false, OCI_CODEC_NONE, &sink, &err), OC_OK);
    free(sink.data);
    close_fixture(&f);
    for (int i = 0; i < 30; i++) {
        oci_batch_release(batches[i]);
    }
}

/* ---- failures -------------------------------------------------------------------------------- */

static oc_status write_with_faults(oci_fault_plan *plan, const char *path,
                                   oci_batch *const *batches, bool is_file, oci_codec_id codec)
{
    fixture f;
    oci_file *file = NULL;
    oci_ipc_writer *writer = NULL;
    oc_status status = try_open_fixture(&f, 8 * MIB, plan, NULL);
    if (status == OC_OK) {
        status = oci_open(f.env.io, path, OCI_OPEN_CREATE, &file, NULL);
    }
    if (status == OC_OK) {
        status = oci_ipc_writer_open(&f.env, file, batches[0]->schema, is_file, codec, 0, f.mem,
                                     &writer, NULL);
    }
    for (int i = 0; i < 2 && status == OC_OK; i++) {
        status = oci_ipc_writer_add(writer, batches[i], NULL);
    }
    if (writer != NULL) {
        oc_status finished = oci_ipc_writer_finish(writer, NULL);
        /* The first failure stays. */
        assert_true(status == OC_OK || finished == status);
        status = finished;
    }
    oci_ipc_writer_destroy(writer);
    oc_status closed = oci_close(file, NULL);
    close_fixture(&f);
    assert_int_equal(oci_fault_live_bytes(plan), 0);
    return status == OC_OK ? closed : status;
}

static void every_failing_operation_is_an_error_and_leaves_nothing_behind(void **state)
{
    (void)state;
    static const oci_fault_kind kinds[] = {OCI_FAULT_ALLOC, OCI_FAULT_OPEN, OCI_FAULT_WRITE,
                                           OCI_FAULT_CLOSE};
    const char *columns[] = {"a=u",   "b=+vl(vu)", "c=+r(i; l)",
                             "d=c>u", "e=i>vz",    "f=+l(i>+s(x=c>u))"};
    const char *path = "writer_test.arrow.tmp";
    oci_batch *batches[2];
    for (int i = 0; i < 2; i++) {
        arrow_maker maker = {.seed = 9,
                             .first_row = 2000 * i,
                             .length = 2000,
                             .null_percent = 10,
                             .distinct = 20,
                             .string_max = 80};
        oci_batch *whole = make_batch(columns, 6, &maker);
        assert_int_equal(oci_batch_slice(whole, 7, 1000, &batches[i], NULL), OC_OK);
        oci_batch_release(whole);
    }
    for (int k = 0; k < 4 * 2 * 2; k++) {
        oci_fault_plan *plan = oci_fault_plan_create();
        for (int64_t n = 1;; n++) {
            oci_fault_arm(plan, kinds[k / 4], n, k % 2 == 1);
            oc_status status = write_with_faults(plan, path, batches, k / 2 % 2 == 1,
                                                 k % 2 == 0 ? OCI_CODEC_NONE : OCI_CODEC_ZSTD);
            if (oci_fault_injected(plan) == 0) {
                assert_int_equal(status, OC_OK);
                break;
            }
            assert_true(status != OC_OK || kinds[k / 4] == OCI_FAULT_ALLOC);
        }
        oci_fault_plan_destroy(plan);
    }
    unlink(path);
    oci_batch_release(batches[0]);
    oci_batch_release(batches[1]);
}

static void a_batch_with_other_columns_is_refused(void **state)
{
    (void)state;
    const char *columns[] = {"a=l", "b=l"};
    arrow_maker maker = {.length = 3};
    oci_batch *two = make_batch(columns, 2, &maker);
    oci_batch *one = make_column_batch("l", &maker);
    oci_batch *other = make_column_batch("u", &maker);
    fixture f;
    byte_sink sink;
    oc_error err = {0};
    open_fixture(&f, MIB);
    assert_int_equal(write_all(&f, two->schema, &one, 1, false, OCI_CODEC_NONE, &sink, &err),
                     OC_EINVAL);
    free(sink.data);
    assert_int_equal(write_all(&f, one->schema, &other, 1, true, OCI_CODEC_NONE, &sink, &err),
                     OC_EINVAL);
    free(sink.data);
    close_fixture(&f);
    oci_batch_release(one);
    oci_batch_release(other);
    oci_batch_release(two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_layout_of_a_batch_is_written_right),
        cmocka_unit_test(slices_take_only_their_own_bytes_along),
        cmocka_unit_test(any_layout_of_nested_columns_is_written_right),
        cmocka_unit_test(working_form_is_written_as_the_announced_types),
        cmocka_unit_test(rows_that_run_ends_cannot_count_are_written_in_parts),
        cmocka_unit_test(a_batch_too_large_for_the_budget_is_written_in_parts),
        cmocka_unit_test(a_file_has_one_dictionary_for_all_batches),
        cmocka_unit_test(a_dictionary_that_cannot_be_joined_is_extended),
        cmocka_unit_test(nested_dictionaries_are_extended_too),
        cmocka_unit_test(values_beyond_the_index_type_are_refused_in_a_file_only),
        cmocka_unit_test(a_dictionary_beyond_the_budget_says_what_to_do),
        cmocka_unit_test(every_failing_operation_is_an_error_and_leaves_nothing_behind),
        cmocka_unit_test(a_batch_with_other_columns_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
