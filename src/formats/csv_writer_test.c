#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fault.h"
#include "formats/format_value.h"
#include "formats/text_writer.h"
#include "support/batch_maker.h"
#include "support/text_of.h"

static void check_csv(const char *columns, const char *csv, const oci_text_options *options,
                      const char *want)
{
    char *text = text_of_csv(columns, csv, 2, OCI_TEXT_CSV, options);
    assert_string_equal(text, want);
    free(text);
}

static void texts_are_quoted_only_where_they_must_be(void **state)
{
    (void)state;
    oci_text_options options = {.header = true};
    check_csv("a utf8, \"b,\"\"c\" utf8, c int64",
              "x,~,1\n\"\",\"a,b\",~\n\"say \"\"hi\"\"\",\"two\nlines\",-3\n\"cr\rcr\", "
              "lead,4\ntrail ,a;b,5\n",
              &options,
              "a,\"b,\"\"c\",c\nx,,1\n\"\",\"a,b\",\n\"say "
              "\"\"hi\"\"\",\"two\nlines\",-3\n\"cr\rcr\",\" lead\",4\n\"trail \",a;b,"
              "5\n");
    oci_text_options tsv = {.delimiter = '\t'};
    check_csv("a utf8, b utf8", "\"x,y\",\"t\tt\"\n", &tsv, "x,y\t\"t\tt\"\n");
    oci_text_options nulls = {.null_text = "NULL"};
    check_csv("a utf8, b float64", "~,~\nNULL,1\n\"\",2.5\n", &nulls,
              "NULL,NULL\n\"NULL\",1.0\n\"\",2.5\n");
    oci_text_options nan = {.null_text = "NaN"};
    check_csv("a float64, b utf8", "nan,x\n~,y\n", &nan, "\"NaN\",x\nNaN,y\n");
}

static void values_of_every_type_have_their_text(void **state)
{
    (void)state;
    oci_text_options options = {.header = false};
    check_csv("a bool, b uint64, c decimal(5, 2), d date, e timestamp[ms], f timestamp[us, "
              "Europe/Berlin], g time64[us]",
              "true,18446744073709551615,-0.5,0999-01-02,2024-02-29T01:02:03.004,2024-02-29T01:02:"
              "03+01:00,00:00:01\n",
              &options,
              "true,18446744073709551615,-0.50,0999-01-02,2024-02-29T01:02:03.004,2024-02-29T00:02:"
              "03Z,00:00:01\n");
    check_csv("a binary, b fixed_size_binary(2), c duration[s], d float32, e null",
              "ab,\\x00ff,-7,1e30,~\n\"\",~,~,~,~\n", &options,
              "\\x6162,\\x00ff,-7,1e+30,\n\\x,,,,\n");
}

static void delimiters_and_nulls_that_cannot_be_read_back_are_refused(void **state)
{
    (void)state;
    test_env t;
    oci_schema *schema;
    oci_text_writer *writer;
    static const oci_text_options bad[] = {
        {.delimiter = '1'}, {.delimiter = '"'},    {.delimiter = '\n'}, {.delimiter = '.'},
        {.null_text = ","}, {.null_text = "a\"b"}, {.null_text = " x"}};
    assert_int_equal(test_env_try(&t, 1 << 20, NULL, NULL), OC_OK);
    assert_int_equal(oci_parse_columns("a int64", &schema, NULL), OC_OK);
    memory_file *file = make_memory_file("", 0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(oci_text_writer_open(&t.env, &file->file, schema, OCI_TEXT_CSV, &bad[i],
                                              t.mem, &writer, NULL),
                         OC_EINVAL);
        assert_int_equal(oci_mem_held(t.mem), 0);
    }
    (void)memory_close(&file->file, NULL);
    oci_schema_release(schema);
    test_env_deinit(&t);
}

/* ---- round trips ----------------------------------------------------------------------------- */

static bool is_nan_text(const oci_column *column, int64_t row)
{
    oci_formatter formatter;
    char text[OCI_VALUE_TEXT_MAX];
    assert_int_equal(oci_formatter_init(&formatter, column->field, NULL, NULL), OC_OK);
    const oci_formatter *found = &formatter;
    return oci_value_resolve(&found, &column, &row) && formatter.kind == OCI_VALUE_FLOAT &&
           oci_format_value(&formatter, column, row, text)[-1] == 'N';
}

static void check_same_values(const oci_column *a, int64_t first, const oci_batch *batch)
{
    for (int64_t row = 0; row < batch->length; row++) {
        const oci_column *b = &batch->columns[0];
        if (is_nan_text(a, first + row) && is_nan_text(b, row)) {
            continue;
        }
        const oci_column *value = a;
        int64_t at = first + row;
        const oci_formatter *formatter = NULL; /* of flat columns nothing is asked */
        bool valid = oci_value_resolve(&formatter, &value, &at);
        assert_int_equal(valid, !oci_column_is_null(b, row));
        if (valid && !oci_value_equal(value, at, b, row)) {
            fail_msg("row %d of type %d differs", (int)(first + row), (int)b->field->type);
        }
    }
}

/* Writes one column beside another and reads it back with its type declared. */
static void check_round_trip(oci_batch *batch, const oci_text_options *options)
{
    test_env t;
    oc_error err = {0};
    oci_text_writer *writer;
    oci_stream *stream;
    assert_int_equal(test_env_try(&t, 32 << 20, NULL, NULL), OC_OK);
    memory_file *file = make_memory_file("", 0);
    assert_int_equal(oci_text_writer_open(&t.env, &file->file, batch->schema, OCI_TEXT_CSV, options,
                                          t.mem, &writer, &err),
                     OC_OK);
    assert_int_equal(oci_text_writer_add(writer, batch, &err), OC_OK);
    assert_int_equal(oci_text_writer_finish(writer, &err), OC_OK);
    oci_text_writer_destroy(writer);
    /* Dictionaries come back as what they stand for. */
    oci_field *field = calloc(1, sizeof *field);
    const oci_field *wanted = &batch->schema->fields[0];
    assert_int_equal(
        oci_field_copy(wanted->type == OCI_TYPE_DICTIONARY ? wanted->dictionary : wanted, field,
                       NULL),
        OC_OK);
    field->nullable = true;
    oci_schema *declared;
    assert_int_equal(oci_schema_create(field, 1, NULL, 0, &declared, NULL), OC_OK);
    oci_csv_options read = {.header = options->header,
                            .delimiter = options->delimiter ? options->delimiter : ',',
                            .null_text = options->null_text,
                            .declared = options->header ? NULL : declared};
    oci_csv_options named = read;
    named.declared = declared;
    if (options->header) { /* found by name: the name of a dictionary's value field is empty */
        free(declared->fields[0].name);
        declared->fields[0].name = strdup(wanted->name);
    }
    if (oci_csv_reader_open(&t.env, &file->file, &named, t.mem, &stream, &err) != OC_OK) {
        fail_msg("%s", err.message);
    }
    int64_t rows = 0;
    oci_batch *back;
    for (;;) {
        if (oci_stream_next(stream, &back, &err) != OC_OK) {
            fail_msg("%s", err.message);
        }
        if (back == NULL) {
            break;
        }
        check_same_values(&batch->columns[0], rows, back);
        rows += back->length;
        oci_batch_release(back);
    }
    assert_int_equal(rows, batch->length);
    oci_stream_close(stream);
    oci_schema_release(declared);
    test_env_deinit(&t);
}

static void what_is_written_reads_back_the_same(void **state)
{
    (void)state;
    static const oci_text_options options[] = {{.header = true},
                                               {.header = false, .delimiter = ';'},
                                               {.header = true, .null_text = "0"},
                                               {.null_text = "NaN"}};
    for (uint64_t seed = 1; seed <= 12; seed++) {
        print_message("seed %d\n", (int)seed);
        for (int32_t i = 0; i < arrow_maker_n_formats; i++) {
            if (strncmp(arrow_maker_formats[i], "ti", 2) == 0) {
                continue; /* intervals are written and not read */
            }
            arrow_maker maker = {.seed = seed,
                                 .length = 150,
                                 .null_percent = seed % 3 == 0 ? 0 : 20,
                                 .offset = 3,
                                 .garbage = true};
            oci_batch *batch = make_column_batch(arrow_maker_formats[i], &maker);
            check_round_trip(batch, &options[seed % 4]);
            oci_batch_release(batch);
        }
    }
}

/* A column of texts made of everything that CSV minds. */
static oci_batch *make_nasty_texts(const test_env *t, uint32_t seed, int64_t n)
{
    static const char *const pieces[] = {
        "\"",       "\"\"",     ",", ";",   "\n", "\r", "\r\n",
        " ",        "NULL",     "a", "\\x", "\t", "|",  "\xEF\xBB\xBF",
        "\xFF\xFE", "\x1F\x8B", "#", "'",   "-"};
    oci_schema *schema;
    assert_int_equal(oci_parse_columns("a utf8", &schema, NULL), OC_OK);
    int64_t slab_bytes = 64 + n / 8 + (n + 1) * 4 + n * 40;
    void *slab;
    assert_int_equal(oci_mem_alloc(t->mem, slab_bytes, &slab, NULL), OC_OK);
    memset(slab, 0, (size_t)slab_bytes);
    uint8_t *validity = slab;
    int32_t *offsets = (int32_t *)(void *)((char *)slab + (n / 8 / 8 + 1) * 8);
    char *bytes = (char *)(offsets + n + 1);
    int32_t at = 0;
    for (int64_t row = 0; row < n; row++) {
        seed = seed * 1664525 + 1013904223;
        if (seed >> 28 != 0) {
            validity[row / 8] = (uint8_t)(validity[row / 8] | 1u << row % 8);
            for (uint32_t k = (seed >> 20) % 6; k > 0; k--) {
                seed = seed * 1664525 + 1013904223;
                const char *piece = pieces[(seed >> 16) % (sizeof pieces / sizeof pieces[0])];
                memcpy(bytes + at, piece, strlen(piece));
                at += (int32_t)strlen(piece);
            }
        }
        offsets[row + 1] = at;
    }
    oci_column *columns = calloc(1, sizeof *columns);
    *columns = (oci_column){.field = &schema->fields[0],
                            .length = n,
                            .null_count = -1,
                            .validity = validity,
                            .values = (const uint8_t *)offsets,
                            .bytes = (const uint8_t *)bytes};
    oci_batch *batch;
    assert_int_equal(
        oci_batch_adopt(schema, n, columns, t->mem, slab, slab_bytes, NULL, 0, &batch, NULL),
        OC_OK);
    oci_schema_release(schema);
    return batch;
}

static void texts_of_quotes_and_line_ends_read_back_the_same(void **state)
{
    (void)state;
    static const oci_text_options options[] = {{.header = true},
                                               {.delimiter = ';'},
                                               {.null_text = "NULL"},
                                               {.delimiter = '\t'},
                                               {.delimiter = '|', .null_text = "-"}};
    for (uint32_t seed = 1; seed <= 200; seed++) {
        test_env t;
        assert_int_equal(test_env_try(&t, 4 << 20, NULL, NULL), OC_OK);
        oci_batch *batch = make_nasty_texts(&t, seed, 40);
        check_round_trip(batch, &options[seed % 5]);
        oci_batch_release(batch);
        test_env_deinit(&t);
    }
}

static void texts_larger_than_the_buffer_are_written_whole(void **state)
{
    (void)state;
    const int64_t n = 700000;
    char *csv = malloc((size_t)n + 16);
    memset(csv, 'x', (size_t)n);
    strcpy(csv + n, "\n");
    oci_text_options options = {.header = false};
    char *text = text_of_csv("a utf8", csv, 10, OCI_TEXT_CSV, &options);
    assert_string_equal(text, csv);
    free(text);
    csv[0] = '"';
    csv[3] = '"';
    csv[4] = '"';
    strcpy(csv + n, "\"\n");
    text = text_of_csv("a utf8", csv, 10, OCI_TEXT_CSV, &options);
    assert_string_equal(text, csv);
    free(text);
    text = text_of_csv("a binary", csv, 10, OCI_TEXT_CSV, &options);
    assert_int_equal(strlen(text), 2 + 2 * (n - 2) + 1);
    free(text);
    free(csv);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static oc_status write_with_faults(oci_fault_plan *plan, const char *path, oci_batch *batch,
                                   oci_text_format format)
{
    test_env t;
    oci_file *file = NULL;
    oci_text_writer *writer = NULL;
    oci_text_options options = {.header = true, .max_rows = -1};
    oc_status status = test_env_try(&t, 1 << 20, oci_fault_allocator(plan), NULL);
    if (status == OC_OK) {
        status = oci_open(oci_fault_io(plan), path, OCI_OPEN_CREATE, &file, NULL);
    }
    if (status == OC_OK) {
        status = oci_text_writer_open(&t.env, file, batch->schema, format, &options, t.mem, &writer,
                                      NULL);
    }
    for (int i = 0; i < 3 && status == OC_OK; i++) {
        status = oci_text_writer_add(writer, batch, NULL);
    }
    if (writer != NULL) {
        oc_error err = {0};
        oc_status finished = oci_text_writer_finish(writer, &err);
        if (status != OC_OK) { /* the first error stays */
            assert_int_equal(finished, status);
            assert_int_equal(err.status, status);
        }
        status = finished;
    }
    oci_text_writer_destroy(writer);
    oc_status closed = oci_close(file, NULL);
    if (t.mem != NULL) {
        assert_int_equal(oci_mem_held(t.mem), 0);
    }
    test_env_deinit(&t);
    return status != OC_OK ? status : closed;
}

static void every_failed_allocation_and_write_is_reported_and_undone(void **state)
{
    (void)state;
    static const oci_text_format formats[] = {OCI_TEXT_CSV, OCI_TEXT_JSON, OCI_TEXT_NDJSON,
                                              OCI_TEXT_TABLE};
    static const oci_fault_kind kinds[] = {OCI_FAULT_ALLOC, OCI_FAULT_WRITE, OCI_FAULT_OPEN};
    static const char *const columns[] = {"a=l", "b=u", "c=g"};
    char path[] = "csv_writer_test_XXXXXX";
    close(mkstemp(path));
    arrow_maker maker = {.seed = 1, .length = 1500, .null_percent = 10, .string_max = 60};
    oci_batch *batch = make_batch(columns, 3, &maker);
    for (size_t f = 0; f < 4; f++) {
        for (size_t k = 0; k < 3; k++) {
            bool injected = true;
            for (int64_t n = 1; injected; n++) {
                assert_true(n < 1000);
                oci_fault_plan *plan = oci_fault_plan_create();
                oci_fault_arm(plan, kinds[k], n, n % 2 == 0);
                oc_status status = write_with_faults(plan, path, batch, formats[f]);
                injected = oci_fault_injected(plan) > 0;
                assert_int_equal(status != OC_OK, injected);
                assert_int_equal(oci_fault_live_bytes(plan), 0);
                oci_fault_plan_destroy(plan);
            }
        }
    }
    oci_batch_release(batch);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_quoted_only_where_they_must_be),
        cmocka_unit_test(values_of_every_type_have_their_text),
        cmocka_unit_test(delimiters_and_nulls_that_cannot_be_read_back_are_refused),
        cmocka_unit_test(what_is_written_reads_back_the_same),
        cmocka_unit_test(texts_of_quotes_and_line_ends_read_back_the_same),
        cmocka_unit_test(texts_larger_than_the_buffer_are_written_whole),
        cmocka_unit_test(every_failed_allocation_and_write_is_reported_and_undone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
