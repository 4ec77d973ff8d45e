/* The writer: what it writes is read again, whatever the types and the limit; what it holds stays within the limit; a
 * failure is kept. Other readers are asked in tests/python. */
#include "formats/parquet/parquet_writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bits.h"
#include "formats/parquet/parquet_reader.h"
#include "support/batch_maker.h"
#include "support/memory_file.h"

#define MIB ((int64_t)1 << 20)

static oc_status read_at(oci_file *f, void *buf, int64_t size, int64_t offset, int64_t *n_read,
                         oc_error *err)
{
    memory_file *m = (memory_file *)f;
    (void)err;
    *n_read = oci_max64(0, oci_min64(size, m->size - offset));
    memcpy(buf, m->data + offset, (size_t)*n_read);
    return OC_OK;
}

static oc_status size_of(oci_file *f, int64_t *out, oc_error *err)
{
    (void)err;
    *out = ((memory_file *)f)->size;
    return OC_OK;
}

static void discard_nothing(oci_file *f, int64_t offset, int64_t size)
{
    (void)f;
    (void)offset;
    (void)size;
}

static oc_status fail_write(oci_file *f, const void *buf, int64_t size, oc_error *err)
{
    (void)buf;
    (void)size;
    OC_FAIL(err, OC_ENOSPC, "could not write \"%s\": disk full", f->name);
}

static const oci_file_ops readable_ops = {.read = memory_read,
                                          .write = memory_write,
                                          .pread = read_at,
                                          .size = size_of,
                                          .discard = discard_nothing,
                                          .close = memory_close};

static memory_file *make_file(void)
{
    memory_file *m = make_memory_file(NULL, 0);
    m->file.ops = &readable_ops;
    m->file.seekable = true;
    return m;
}

static void open_env(test_env *t, int64_t limit)
{
    assert_int_equal(test_env_try(t, limit, NULL, NULL), OC_OK);
}

/* Rows [0, n) of the batch are written, from a row on that makes slices of it. */
static void write_batch(const test_env *t, memory_file *file, oci_batch *batch, int64_t step,
                        const oci_parquet_write_options *options)
{
    oci_parquet_writer *writer = NULL;
    oc_error err = {0};
    assert_int_equal(
        oci_parquet_writer_open(&t->env, &file->file, batch->schema, options, &writer, &err),
        OC_OK);
    for (int64_t row = 0; row < batch->length; row += step) {
        oci_batch *slice = NULL;
        int64_t n = oci_min64(step, batch->length - row);
        assert_int_equal(oci_batch_slice(batch, row, n, &slice, NULL), OC_OK);
        if (oci_parquet_writer_add(writer, slice, &err) != OC_OK) {
            fail_msg("%s", err.message);
        }
        oci_batch_release(slice);
    }
    assert_int_equal(oci_parquet_writer_finish(writer, &err), OC_OK);
    oci_parquet_writer_destroy(writer);
}

/* Dates become days and seconds become milliseconds, which are other types with other numbers. */
static bool is_changed(const oci_field *field)
{
    bool changed = field->type == OCI_TYPE_DATE64 ||
                   (field->unit == OCI_SECOND &&
                    (field->type == OCI_TYPE_TIME32 || field->type == OCI_TYPE_TIMESTAMP));
    for (int32_t i = 0; i < field->n_children; i++) {
        changed = changed || is_changed(&field->children[i]);
    }
    return changed || (field->dictionary != NULL && is_changed(field->dictionary));
}

/* The file (taken) holds the rows of the batch. */
static void expect_rows(const test_env *t, memory_file *file, const oci_batch *batch)
{
    oci_parquet_read_options options = {0};
    oci_stream *stream = NULL;
    oc_error err = {0};
    int64_t row = 0;
    if (oci_parquet_reader_open(&t->env, &file->file, &options, t->mem, &stream, &err) != OC_OK) {
        fail_msg("%s", err.message);
    }
    for (;;) {
        oci_batch *got = NULL;
        if (oci_stream_next(stream, &got, &err) != OC_OK) {
            fail_msg("%s", err.message);
        }
        if (got == NULL) {
            break;
        }
        for (int64_t i = 0; i < got->length; i++, row++) {
            for (int32_t c = 0; c < batch->schema->n_fields; c++) {
                assert_true(row < batch->length);
                if (!is_changed(&batch->schema->fields[c]) &&
                    !oci_value_equal(&got->columns[c], i, &batch->columns[c], row)) {
                    char type[128];
                    oci_field_type_text(&batch->schema->fields[c], type, sizeof type);
                    fail_msg("row %d of a column of %s differs", (int)row, type);
                }
            }
        }
        oci_batch_release(got);
    }
    assert_int_equal(row, batch->length);
    oci_stream_close(stream);
}

/* Unions, intervals of three parts and dictionaries of nested values. */
static bool is_refused(const oci_batch *batch)
{
    test_env t;
    open_env(&t, 64 * MIB);
    memory_file *file = make_file();
    oci_parquet_write_options options = {.codec = OCI_PARQUET_ZSTD};
    oci_parquet_writer *writer = NULL;
    oc_error err = {0};
    oc_status status =
        oci_parquet_writer_open(&t.env, &file->file, batch->schema, &options, &writer, &err);
    assert_true(status == OC_OK || status == OC_EUNSUPPORTED);
    oci_parquet_writer_destroy(writer);
    memory_close(&file->file, NULL);
    test_env_deinit(&t);
    return status == OC_EUNSUPPORTED;
}

static int check_formats(const char *const *formats, int32_t n)
{
    int n_written = 0;
    for (int32_t i = 0; i < n; i++) {
        arrow_maker maker = {.seed = (uint64_t)i + 1,
                             .length = 700,
                             .null_percent = 20,
                             .distinct = i % 2 == 0 ? 0 : 30,
                             .offset = i % 3,
                             .garbage = i % 4 == 1};
        oci_batch *batch = make_column_batch(formats[i], &maker);
        if (!is_refused(batch)) {
            test_env t;
            open_env(&t, 64 * MIB);
            memory_file *file = make_file();
            oci_parquet_write_options options = {.codec = OCI_PARQUET_ZSTD,
                                                 .row_group_rows = i % 5 == 0 ? 300 : 0};
            write_batch(&t, file, batch, i % 2 == 0 ? 700 : 41, &options);
            expect_rows(&t, file, batch);
            test_env_deinit(&t);
            n_written++;
        }
        oci_batch_release(batch);
    }
    return n_written;
}

static void every_type_comes_back(void **state)
{
    (void)state;
    assert_true(check_formats(arrow_maker_formats, arrow_maker_n_formats) > 30);
    assert_true(check_formats(arrow_maker_nested_formats, arrow_maker_n_nested_formats) > 10);
    assert_int_equal(arrow_maker_live(), 0);
}

static void random_nested_types_come_back(void **state)
{
    (void)state;
    int n_written = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        char text[2000];
        const char *formats[] = {text};
        arrow_make_column_text(seed, 3, text, sizeof text);
        n_written += check_formats(formats, 1);
    }
    assert_true(n_written > 10);
}

/* Everything there is at once, under limits down to what a few columns can live with. */
static void memory_stays_within_any_limit(void **state)
{
    (void)state;
    static const char *const columns[] = {"id=l", "t=u", "d=d:15,2", "f=g", "l=+l(u)", "c=c>u"};
    arrow_maker maker = {.seed = 3, .length = 60000, .null_percent = 10, .string_max = 40};
    oci_batch *batch = make_batch(columns, 6, &maker);
    int64_t largest = 0;
    for (int64_t limit = 4 * MIB; limit <= 64 * MIB; limit *= 2) {
        test_env t;
        open_env(&t, limit);
        memory_file *file = make_file();
        oci_parquet_write_options options = {.codec = OCI_PARQUET_ZSTD};
        write_batch(&t, file, batch, 5000, &options);
        assert_true(oci_budget_peak(t.env.budget) <= limit);
        assert_int_equal(oci_budget_used(t.env.budget), 0);
        largest = oci_max64(largest, file->size);
        expect_rows(&t, file, batch);
        test_env_deinit(&t);
    }
    oci_batch_release(batch);
    assert_true(largest < 6 * MIB);
}

static void a_failure_is_kept(void **state)
{
    (void)state;
    arrow_maker maker = {.seed = 3, .length = 1000};
    oci_batch *batch = make_column_batch("l", &maker);
    test_env t;
    open_env(&t, 16 * MIB);
    memory_file *file = make_file();
    oci_file_ops ops = readable_ops;
    oci_parquet_write_options options = {.codec = OCI_PARQUET_SNAPPY, .row_group_rows = 100};
    oci_parquet_writer *writer = NULL;
    oc_error err = {0};
    assert_int_equal(
        oci_parquet_writer_open(&t.env, &file->file, batch->schema, &options, &writer, &err),
        OC_OK);
    ops.write = fail_write;
    file->file.ops = &ops;
    assert_int_equal(oci_parquet_writer_add(writer, batch, &err), OC_ENOSPC);
    file->file.ops = &readable_ops;
    err = (oc_error){0};
    assert_int_equal(oci_parquet_writer_add(writer, batch, &err), OC_ENOSPC);
    assert_non_null(strstr(err.message, "disk full"));
    assert_int_equal(oci_parquet_writer_finish(writer, NULL), OC_ENOSPC);
    oci_parquet_writer_destroy(writer);
    memory_close(&file->file, NULL);
    test_env_deinit(&t);
    oci_batch_release(batch);
}

static void nulls_of_what_has_none_are_refused(void **state)
{
    (void)state;
    arrow_maker maker = {.seed = 3, .length = 100, .null_percent = 50};
    oci_batch *batch = make_column_batch("l", &maker);
    batch->schema->fields[0].nullable = false;
    test_env t;
    open_env(&t, 16 * MIB);
    memory_file *file = make_file();
    oci_parquet_write_options options = {.codec = OCI_PARQUET_ZSTD};
    oci_parquet_writer *writer = NULL;
    oc_error err = {0};
    assert_int_equal(
        oci_parquet_writer_open(&t.env, &file->file, batch->schema, &options, &writer, &err),
        OC_OK);
    assert_int_equal(oci_parquet_writer_add(writer, batch, &err), OC_EDATA);
    assert_non_null(strstr(err.message, "declared to have no nulls"));
    oci_parquet_writer_destroy(writer);
    memory_close(&file->file, NULL);
    test_env_deinit(&t);
    oci_batch_release(batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_comes_back),
        cmocka_unit_test(random_nested_types_come_back),
        cmocka_unit_test(memory_stays_within_any_limit),
        cmocka_unit_test(a_failure_is_kept),
        cmocka_unit_test(nulls_of_what_has_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
