#include "formats/csv.h"

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
#include "support/memory_file.h"

/* ---- reading into a text ---------------------------------------------------------------------
 *
 * Tables are compared as text: one line per row, values split by '|', null as "~". */

typedef struct {
    char *text; /* malloc'ed */
    size_t size;
    size_t capacity;
} table_text;

static void append(table_text *t, const char *bytes, size_t n)
{
    if (t->size + n + 1 > t->capacity) {
        t->capacity = 2 * (t->size + n) + 64;
        t->text = realloc(t->text, t->capacity);
    }
    memcpy(t->text + t->size, bytes, n);
    t->size += n;
    t->text[t->size] = '\0';
}

static void append_batch(table_text *t, const oci_batch *batch)
{
    for (int64_t row = 0; row < batch->length; row++) {
        for (int32_t i = 0; i < batch->schema->n_fields; i++) {
            const oci_column *column = &batch->columns[i];
            int64_t at = row;
            oci_formatter formatter;
            assert_int_equal(oci_formatter_init(&formatter, column->field, NULL, NULL), OC_OK);
            const oci_formatter *found = &formatter;
            append(t, "|", i > 0);
            if (!oci_value_resolve(&found, &column, &at)) {
                append(t, "~", 1);
            } else if (formatter.kind == OCI_VALUE_TEXT || formatter.kind == OCI_VALUE_BINARY) {
                int64_t length;
                const uint8_t *bytes = oci_value_bytes(column, at, &length);
                append(t, (const char *)bytes, (size_t)length);
            } else {
                char value[OCI_VALUE_TEXT_MAX];
                append(t, value, (size_t)(oci_format_value(&formatter, column, at, value) - value));
            }
        }
        append(t, "\n", 1);
    }
}

/* "a int64, b utf8" */
static void append_schema(table_text *t, const oci_schema *schema)
{
    for (int32_t i = 0; i < schema->n_fields; i++) {
        char type[64];
        oci_field_type_text(&schema->fields[i], type, sizeof type);
        append(t, ", ", i > 0 ? 2 : 0);
        append(t, schema->fields[i].name, strlen(schema->fields[i].name));
        append(t, " ", 1);
        append(t, type, strlen(type));
    }
    append(t, "\n", 1);
}

/* What batch.h promises about batches made by us. */
static void check_batch(const oci_batch *batch)
{
    assert_true(batch->length > 0);
    assert_int_equal(oci_batch_validate(batch, NULL), OC_OK);
    for (int32_t i = 0; i < batch->schema->n_fields; i++) {
        const oci_column *column = &batch->columns[i];
        assert_int_equal(column->offset, 0);
        assert_int_equal(column->length, batch->length);
        int64_t n_nulls = 0;
        for (int64_t row = 0; row < batch->length; row++) {
            n_nulls += oci_column_is_null(column, row);
        }
        assert_int_equal(column->null_count, n_nulls);
        if (oci_field_layout(column->field) != OCI_LAYOUT_NULL) {
            assert_int_equal(column->validity != NULL, n_nulls > 0);
            assert_int_equal((uintptr_t)column->values % 8, 0);
        }
    }
}

static oc_status read_all(const test_env *t, oci_file *file, const oci_csv_options *options,
                          table_text *out, oc_error *err)
{
    oci_stream *stream;
    OC_TRY(oci_csv_reader_open(&t->env, file, options, t->mem, &stream, err));
    append_schema(out, stream->schema);
    oc_status status;
    oci_batch *batch;
    while ((status = oci_stream_next(stream, &batch, err)) == OC_OK && batch != NULL) {
        check_batch(batch);
        assert_true(batch->length <= t->env.batch_rows);
        append_batch(out, batch);
        oci_batch_release(batch);
    }
    if (status != OC_OK) { /* the error stays */
        oc_error again = {0};
        assert_int_equal(oci_stream_next(stream, &batch, &again), status);
        assert_null(batch);
        assert_string_equal(again.message, err->message);
    }
    oci_stream_close(stream);
    return status;
}

/* Reads `text` with windows and batches of several sizes, each of which must give `want` (schema
 * line, then rows). */
static void check_reading_bytes(const char *text, int64_t size, const oci_csv_options *options,
                                const char *want)
{
    static const int64_t rows[] = {8192, 1, 3};
    for (int64_t block = 1; block <= size + 2; block += 1 + block / 40) {
        test_env t;
        oc_error err = {0};
        table_text out = {0};
        bool closed = false;
        assert_int_equal(test_env_try(&t, 8 << 20, NULL, NULL), OC_OK);
        t.env.batch_rows = rows[block % 3];
        oci_csv_options o = *options;
        o.block_bytes = block + 2 > size ? 0 : block;
        memory_file *file = make_memory_file(text, size);
        file->read_max = block % 5;
        file->closed = &closed;
        if (read_all(&t, &file->file, &o, &out, &err) != OC_OK) {
            fail_msg("block of %d bytes: %s", (int)block, err.message);
        }
        assert_string_equal(out.text, want);
        assert_true(closed);
        free(out.text);
        assert_int_equal(oci_mem_held(t.mem), 0);
        test_env_deinit(&t);
    }
}

static void check_reading(const char *text, const oci_csv_options *options, const char *want)
{
    check_reading_bytes(text, (int64_t)strlen(text), options, want);
}

static oci_schema *columns(const char *text)
{
    oci_schema *schema;
    oc_error err = {0};
    if (oci_parse_columns(text, &schema, &err) != OC_OK) {
        fail_msg("%s", err.message);
    }
    return schema;
}

/* Reads with an error as its end; returns its message (static) after checking its status. */
static const char *reading_error(const char *text, const oci_csv_options *options, oc_status status)
{
    static oc_error err;
    test_env t;
    table_text out = {0};
    memset(&err, 0, sizeof err);
    assert_int_equal(test_env_try(&t, 8 << 20, NULL, NULL), OC_OK);
    memory_file *file = make_memory_file(text, (int64_t)strlen(text));
    oc_status got = read_all(&t, &file->file, options, &out, &err);
    if (got != status) {
        fail_msg("%s instead of %s: %s", oc_status_name(got), oc_status_name(status),
                 got == OC_OK ? out.text : err.message);
    }
    free(out.text);
    assert_int_equal(oci_mem_held(t.mem), 0);
    test_env_deinit(&t);
    return err.message;
}

#define GUESS        \
    {                \
        .header = -1 \
    }
#define TEXT_COLUMNS(schema)                                \
    {                                                       \
        .header = 0, .delimiter = ',', .declared = (schema) \
    }

/* ---- records and fields ---------------------------------------------------------------------- */

static void fields_of_rfc_4180_are_split_at_every_cut(void **state)
{
    (void)state;
    oci_schema *abc = columns("a utf8, b utf8, c utf8");
    oci_csv_options options = TEXT_COLUMNS(abc);
    const char *head = "a utf8, b utf8, c utf8\n";
    static const struct {
        const char *text;
        const char *rows;
    } cases[] = {
        {"aaa,bbb,ccc\nzzz,yyy,xxx\n", "aaa|bbb|ccc\nzzz|yyy|xxx\n"},
        {"aaa,bbb,ccc\r\nzzz,yyy,xxx\r\n", "aaa|bbb|ccc\nzzz|yyy|xxx\n"},
        {"aaa,bbb,ccc\nzzz,yyy,xxx", "aaa|bbb|ccc\nzzz|yyy|xxx\n"},
        {"aaa,bbb,ccc\r\nzzz,yyy,xxx\r", "aaa|bbb|ccc\nzzz|yyy|xxx\n"},
        {"\"aaa\",\"bbb\",\"ccc\"\nzzz,yyy,xxx", "aaa|bbb|ccc\nzzz|yyy|xxx\n"},
        {"\"aaa\",\"b\r\nbb\",\"ccc\"\r\nzzz,yyy,xxx", "aaa|b\r\nbb|ccc\nzzz|yyy|xxx\n"},
        {"\"a\"\"a\",\"\"\"\",\"b\"\"\"\n", "a\"a|\"|b\"\n"},
        {"\"a,a\",\",\",\",,\"\n", "a,a|,|,,\n"},
        {",,\n\"\",\"\",\"\"\n", "~|~|~\n||\n"},
        {" a , b ,\" c \"\n", " a | b | c \n"},
        {"5\" pipe,a\"b,\"x\"\"\"\n", "5\" pipe|a\"b|x\"\n"},
        {"a\rb,\r,c\r\n", "a\rb|\r|c\n"},
        {"\n\na,b,c\n\r\n\nd,e,f\n\n", "a|b|c\nd|e|f\n"},
        {"\xEF\xBB\xBF"
         "a,b,c\n",
         "a|b|c\n"},
        {"\xEF\xBB\xBF\"a\",b,c", "a|b|c\n"},
        {"\"\n\n\",\"\n\",\"\"\"\n\"\n", "\n\n|\n|\"\n\n"},
        {"caf\xC3\xA9,\xE2\x82\xAC,\xF0\x9F\x98\x80\n",
         "caf\xC3\xA9|\xE2\x82\xAC|\xF0\x9F\x98\x80\n"},
        {"\xFF\x80,\xC3,a\n", "\xFF\x80|\xC3|a\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char want[512];
        snprintf(want, sizeof want, "%s%s", head, cases[i].rows);
        check_reading(cases[i].text, &options, want);
    }
    oci_schema_release(abc);
}

static void nul_bytes_are_text_like_any_other(void **state)
{
    (void)state;
    oci_schema *ab = columns("a utf8, b binary");
    oci_csv_options options = TEXT_COLUMNS(ab);
    test_env t;
    oci_stream *stream;
    oci_batch *batch;
    assert_int_equal(test_env_try(&t, 1 << 20, NULL, NULL), OC_OK);
    memory_file *file = make_memory_file("x\0y,\0\n", 6);
    assert_int_equal(oci_csv_reader_open(&t.env, &file->file, &options, t.mem, &stream, NULL),
                     OC_OK);
    assert_int_equal(oci_stream_next(stream, &batch, NULL), OC_OK);
    int64_t length;
    assert_memory_equal(oci_column_bytes_at(&batch->columns[0], 0, &length), "x\0y", 3);
    assert_int_equal(length, 3);
    assert_memory_equal(oci_column_bytes_at(&batch->columns[1], 0, &length), "\0", 1);
    assert_int_equal(length, 1);
    oci_batch_release(batch);
    oci_stream_close(stream);
    test_env_deinit(&t);
    oci_schema_release(ab);
}

static void one_column_keeps_blank_lines_as_nulls(void **state)
{
    (void)state;
    oci_csv_options guess = GUESS;
    check_reading("name\nx\n\ny\n", &guess, "name utf8\nx\n~\ny\n");
    oci_csv_options headless = {.header = 0};
    check_reading("3\n\n4", &headless, "column1 int64\n3\n~\n4\n");
    oci_schema *a = columns("a int32");
    oci_csv_options declared = {.header = 0, .declared = a};
    check_reading("\n\n4\n\n", &declared, "a int32\n~\n~\n4\n~\n");
    check_reading("\n\n", &declared, "a int32\n~\n~\n");
    oci_csv_options named = {.header = 1, .declared = a};
    check_reading("\na\n\n4\n", &named, "a int32\n~\n4\n");
    oci_schema_release(a);
}

static void trailing_delimiters_are_no_field(void **state)
{
    (void)state;
    oci_schema *ab = columns("a int32, b utf8");
    oci_csv_options tbl = {.header = 0,
                           .delimiter = '|',
                           .quote = (char)-1,
                           .trailing_delimiter = true,
                           .declared = ab};
    check_reading("1|x|\n2|\"|\n3||\n", &tbl, "a int32, b utf8\n1|x\n2|\"\n3|~\n");
    check_reading("1|x|\r\n2|y|", &tbl, "a int32, b utf8\n1|x\n2|y\n");
    oci_csv_options guess = GUESS;
    check_reading("1|x|\n2|y|\n", &guess, "column1 int64, column2 utf8\n1|x\n2|y\n");
    check_reading("1,x,\n2,y,\n", &guess,
                  "column1 int64, column2 utf8, column3 utf8\n1|x|~\n2|y|~\n");
    oci_csv_options declared = {.header = 0, .declared = ab};
    check_reading("1,x,\n2,y,\n", &declared, "a int32, b utf8\n1|x\n2|y\n");
    assert_non_null(
        strstr(reading_error("1|x|\n2|y\n", &tbl, OC_EDATA), "does not end with the delimiter"));
    assert_non_null(
        strstr(reading_error("1|x|\n2|y|z|\n", &tbl, OC_EDATA), "3 fields instead of 2"));
    oci_schema_release(ab);
}

/* ---- guessing -------------------------------------------------------------------------------- */

static void delimiters_are_guessed(void **state)
{
    (void)state;
    oci_csv_options guess = GUESS;
    check_reading("a,b\n1,2\n", &guess, "a int64, b int64\n1|2\n");
    check_reading("a\tb\n1\t2,5\n", &guess, "a int64, b utf8\n1|2,5\n");
    check_reading("a;b\n1,5;2\n", &guess, "a utf8, b int64\n1,5|2\n");
    check_reading("a|b\n1|2\n", &guess, "a int64, b int64\n1|2\n");
    check_reading("a;b\n\"x;y,z\";2\n\"u,v\";3\n", &guess, "a utf8, b int64\nx;y,z|2\nu,v|3\n");
    check_reading("name\nx y\n", &guess, "name utf8\nx y\n");
}

static void headers_are_guessed(void **state)
{
    (void)state;
    oci_csv_options guess = GUESS;
    check_reading("1,b\n1,2\n", &guess, "column1 int64, column2 utf8\n1|b\n1|2\n");
    check_reading("a,a\nb,c\n", &guess, "column1 utf8, column2 utf8\na|a\nb|c\n");
    check_reading("a,b\n", &guess, "a utf8, b utf8\n");
    check_reading(",b\n0,x\n", &guess, "column1 int64, b utf8\n0|x\n");
    check_reading("a,\n0,x\n", &guess, "column1 utf8, column2 utf8\na|~\n0|x\n");
    oci_csv_options yes = {.header = 1};
    check_reading("1,1,,\"x\"\"\ny\"\n1,2,3,4\n", &yes,
                  "1 int64, 1 int64, column3 int64, x\"\ny int64\n1|2|3|4\n");
    oci_csv_options no = {.header = 0};
    check_reading("a,b\n", &no, "column1 utf8, column2 utf8\na|b\n");
}

static void types_are_guessed_without_losing_anything(void **state)
{
    (void)state;
    oci_csv_options guess = {.header = 1, .delimiter = ','};
    static const struct {
        const char *values[3];
        const char *type;
        const char *read[3];
    } cases[] = {
        {{"1", "-2", ""}, "int64", {"1", "-2", "~"}},
        {{"1", "2.5", "1e3"}, "float64", {"1.0", "2.5", "1000.0"}},
        {{"007", "1", ""}, "utf8", {"007", "1", "~"}},
        {{"+1", "2", "3"}, "utf8", {"+1", "2", "3"}},
        {{"9223372036854775808", "1", "2"}, "utf8", {"9223372036854775808", "1", "2"}},
        {{"01.5", "1", "2"}, "utf8", {"01.5", "1", "2"}},
        {{"0.5", "-0.0", "nan"}, "float64", {"0.5", "-0.0", "NaN"}},
        {{"true", "FALSE", "\"\""}, "bool", {"true", "false", "~"}},
        {{"true", "1", ""}, "utf8", {"true", "1", "~"}},
        {{"2024-02-29", "1969-12-31", ""}, "date32", {"2024-02-29", "1969-12-31", "~"}},
        {{"2023-02-29", "", ""}, "utf8", {"2023-02-29", "~", "~"}},
        {{"2024-02-29 10:00", "2024-02-29", "2024-02-29T00:00:00.5"},
         "timestamp[us]",
         {"2024-02-29T10:00:00", "2024-02-29T00:00:00", "2024-02-29T00:00:00.500000"}},
        {{"2024-02-29 10:00+02:00", "2024-02-29T00:00:00Z", ""},
         "timestamp[us, UTC]",
         {"2024-02-29T08:00:00Z", "2024-02-29T00:00:00Z", "~"}},
        {{"2024-02-29 10:00Z", "2024-02-29", ""}, "utf8", {"2024-02-29 10:00Z", "2024-02-29", "~"}},
        {{"2024-02-29 10:00:00.1234567", "", ""},
         "utf8",
         {"2024-02-29 10:00:00.1234567", "~", "~"}},
        {{"", "", ""}, "utf8", {"~", "~", "~"}},
        {{"\"12\"", "\"\"", "13"}, "int64", {"12", "~", "13"}},
        {{"a", "\"\"", ""}, "utf8", {"a", "", "~"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        char want[256];
        snprintf(text, sizeof text, "c,d\n%s,x\n%s,x\n%s,x\n", cases[i].values[0],
                 cases[i].values[1], cases[i].values[2]);
        snprintf(want, sizeof want, "c %s, d utf8\n%s|x\n%s|x\n%s|x\n", cases[i].type,
                 cases[i].read[0], cases[i].read[1], cases[i].read[2]);
        /* One window: a smaller one sees fewer values and may guess otherwise. */
        test_env t;
        table_text out = {0};
        oc_error err = {0};
        assert_int_equal(test_env_try(&t, 8 << 20, NULL, NULL), OC_OK);
        memory_file *file = make_memory_file(text, (int64_t)strlen(text));
        if (read_all(&t, &file->file, &guess, &out, &err) != OC_OK) {
            fail_msg("%s", err.message);
        }
        assert_string_equal(out.text, want);
        free(out.text);
        test_env_deinit(&t);
    }
}

static void an_empty_file_needs_declared_columns(void **state)
{
    (void)state;
    oci_csv_options guess = GUESS;
    assert_string_equal(reading_error("", &guess, OC_EDATA),
                        "file \"a.csv\" is empty: it has no header and no rows; declare its "
                        "columns to read it anyway");
    reading_error("\n\r\n\n", &guess, OC_EDATA);
    reading_error("\xEF\xBB\xBF", &guess, OC_EDATA);
    oci_schema *ab = columns("a int32, b utf8");
    oci_csv_options declared = {.header = -1, .declared = ab};
    check_reading("", &declared, "a int32, b utf8\n");
    check_reading("\n", &declared, "a int32, b utf8\n");
    check_reading("b,a\n", &declared, "a int32, b utf8\n");
    oci_schema_release(ab);
}

/* ---- declared and selected columns ----------------------------------------------------------- */

static void declared_columns_are_found_by_name_in_the_header(void **state)
{
    (void)state;
    oci_schema *ab = columns("a int32, B utf8");
    oci_schema *b = columns("b decimal(5, 1)");
    oci_csv_options all = {.header = -1, .declared = ab};
    check_reading("b,a\n1,2\n", &all, "a int32, B utf8\n2|1\n");
    check_reading("1,2\n3,4\n", &all, "a int32, B utf8\n1|2\n3|4\n");
    oci_csv_options some = {.header = 1, .declared = b};
    check_reading("c,b,a\nx,2,3\n", &some, "c utf8, b decimal128(5, 1), a int64\nx|2.0|3\n");
    assert_non_null(
        strstr(reading_error("c,d\n1,2\n", &some, OC_EINVAL), "\"b\" is not in the header"));
    assert_non_null(strstr(reading_error("b,b\n1,2\n", &some, OC_EINVAL), "more than once"));
    oci_csv_options headless = {.header = 0, .declared = b};
    assert_non_null(
        strstr(reading_error("1,2\n", &headless, OC_EINVAL), "has 2 columns and 1 are declared"));
    oci_schema_release(ab);
    oci_schema_release(b);
}

static void selected_columns_come_in_the_order_asked_for(void **state)
{
    (void)state;
    const char *names[] = {"d", "a"};
    oci_csv_options options = {.header = -1, .select = names, .n_select = 2};
    check_reading("a,b,c,d\n1,x,,y\n2,z,w,\n", &options, "d utf8, a int64\ny|1\n~|2\n");
    names[1] = "e";
    assert_non_null(strstr(reading_error("a,d\n1,x\n", &options, OC_EINVAL), "\"e\""));
}

static void null_texts_are_null_only_without_quotes(void **state)
{
    (void)state;
    oci_schema *ab = columns("a int32, b utf8");
    oci_csv_options options = {.header = 0, .declared = ab, .null_text = "NA"};
    check_reading("NA,NA\n1,\"NA\"\n2,\n", &options, "a int32, b utf8\n~|~\n1|NA\n2|\n");
    assert_non_null(
        strstr(reading_error("\"NA\",x\n", &options, OC_EDATA), "could not read \"NA\" as int32"));
    oci_schema_release(ab);
}

static void every_declared_type_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        const char *text;
        const char *want;
    } cases[] = {
        {"bool", "true", "true"},
        {"int8", "-128", "-128"},
        {"int16", "32767", "32767"},
        {"int32", "-2147483648", "-2147483648"},
        {"int64", "9223372036854775807", "9223372036854775807"},
        {"uint8", "255", "255"},
        {"uint16", "65535", "65535"},
        {"uint32", "4294967295", "4294967295"},
        {"uint64", "18446744073709551615", "18446744073709551615"},
        {"float16", "1.5", "1.5"},
        {"float32", "-inf", "-inf"},
        {"float64", "1e-7", "1e-7"},
        {"decimal32(9, 2)", "-1.5", "-1.50"},
        {"decimal64(18, 3)", "1.5", "1.500"},
        {"decimal(38, 0)", "-99999999999999999999999999999999999999",
         "-99999999999999999999999999999999999999"},
        {"decimal(76, 10)", "1.5", "1.5000000000"},
        {"date", "-0001-03-04", "-0001-03-04"},
        {"date64", "2024-02-29", "2024-02-29"},
        {"time32[s]", "23:59:59", "23:59:59"},
        {"time32[ms]", "23:59:59.5", "23:59:59.500"},
        {"time64[us]", "00:00:00.000001", "00:00:00.000001"},
        {"time64[ns]", "12:00", "12:00:00"},
        {"timestamp[s]", "1900-01-01", "1900-01-01T00:00:00"},
        {"timestamp[ns, UTC]", "2000-01-01T01:00:00+01:00", "2000-01-01T00:00:00Z"},
        {"duration[ms]", "-12", "-12"},
        {"utf8", "text", "text"},
        {"large_utf8", "text", "text"},
        {"utf8_view", "a text that is longer than twelve bytes",
         "a text that is longer than twelve bytes"},
        {"utf8_view", "short", "short"},
        {"binary", "\\x6162", "ab"},
        {"binary", "raw", "raw"},
        {"large_binary", "\\x", ""},
        {"binary_view", "\\x6162", "ab"},
        {"fixed_size_binary(2)", "\\x6162", "ab"},
        {"fixed_size_binary(2)", "6162", "ab"},
        {"fixed_size_binary(2)", "zz", "zz"},
        {"null", "", "~"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        char want[256];
        char list[128];
        char name[64];
        snprintf(list, sizeof list, "v %s, w utf8", cases[i].type);
        oci_schema *schema = columns(list);
        oci_field_type_text(&schema->fields[0], name, sizeof name);
        oci_csv_options options = TEXT_COLUMNS(schema);
        snprintf(text, sizeof text, ",w\n%s,w\n", cases[i].text);
        snprintf(want, sizeof want, "v %s, w utf8\n~|w\n%s|w\n", name, cases[i].want);
        check_reading(text, &options, want);
        oci_schema_release(schema);
    }
}

static void unreadable_types_are_refused_by_name(void **state)
{
    (void)state;
    oci_schema *schema = columns("a dictionary<int32, utf8>");
    oci_csv_options options = TEXT_COLUMNS(schema);
    assert_non_null(
        strstr(reading_error("x\n", &options, OC_EUNSUPPORTED), "dictionary<int32, utf8>"));
    oci_schema_release(schema);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void errors_name_line_column_value_and_a_way_out(void **state)
{
    (void)state;
    oci_csv_options guess = GUESS;
    oci_schema *small = columns("id int64, price int8 not null");
    oci_csv_options declared = {.header = 1, .declared = small};
    assert_string_equal(reading_error("id,price\n1,2\n2,300\n", &declared, OC_EDATA),
                        "file \"a.csv\", line 3, column 2 (\"price\"): could not read \"300\" as "
                        "int8: out of range; fix the "
                        "line or declare another type");
    assert_string_equal(reading_error("id,price\n\n\n1,2\n2,\n", &declared, OC_EDATA),
                        "file \"a.csv\", line 5, column 2 (\"price\"): value is null but the "
                        "column is declared not null");
    assert_string_equal(reading_error("id,price\n1,2\n2,3,4\n", &declared, OC_EDATA),
                        "file \"a.csv\", line 3: record has 3 fields instead of 2; fix the line, "
                        "or quote fields that hold "
                        "the delimiter");
    assert_string_equal(reading_error("id,price\n1,2\n2\n", &declared, OC_EDATA),
                        "file \"a.csv\", line 3: record has 1 field instead of 2; fix the line, or "
                        "quote fields that hold "
                        "the delimiter");
    assert_string_equal(reading_error("id,price\n1,2\n2,\"3\n4\n", &declared, OC_EDATA),
                        "file \"a.csv\", line 3, column 2: a quoted field begins here and does not "
                        "end before the end of "
                        "the file; add the closing quote");
    assert_string_equal(reading_error("id,price\n1,2\n2,\"3\" \n", &declared, OC_EDATA),
                        "file \"a.csv\", line 3: a closing quote is followed by text; double the "
                        "quotes inside a quoted "
                        "field");
    assert_string_equal(reading_error("a,b\r1,2\r3,4\r", &guess, OC_EDATA),
                        "file \"a.csv\" has no line feed: its lines end with CR alone; convert "
                        "them, for example with tr "
                        "'\\r' '\\n'");
    assert_non_null(strstr(reading_error("\xFF\xFE"
                                         "a\n",
                                         &guess, OC_EUNSUPPORTED),
                           "UTF-16"));
    assert_non_null(strstr(reading_error("\x1F\x8B\x08\n", &guess, OC_EUNSUPPORTED), "compressed"));
    oci_schema *text = columns("a utf8, b date");
    oci_csv_options long_values = {.header = 0, .declared = text};
    assert_non_null(strstr(
        reading_error(
            "\"two\nlines\",2024-01-01\n\"\n\",\"nothing\nlike a date, and much longer than it "
            "should be to be shown whole\"\n",
            &long_values, OC_EDATA),
        "line 4, column 2 (\"b\"): could not read \"nothing\\x0alike a date, and much longer "
        "tha...\" "
        "as "
        "date32;"));
    oci_schema_release(small);
    oci_schema_release(text);
}

static void a_later_value_does_not_change_a_guessed_type(void **state)
{
    (void)state;
    size_t n = 40000;
    char *text = malloc(n * 4 + 64);
    size_t at = (size_t)sprintf(text, "n,m\n");
    for (size_t i = 0; i < n; i++) {
        memcpy(text + at, "1,2\n", 4);
        at += 4;
    }
    oci_csv_options options = {.header = -1, .block_bytes = 65536};
    strcpy(text + at, "007,1\n");
    assert_string_equal(reading_error(text, &options, OC_EDATA),
                        "file \"a.csv\", line 40002, column 1 (\"n\"): could not read \"007\" as "
                        "int64, the type guessed from the "
                        "first lines: its leading zero or plus sign would be lost; declare the "
                        "column with --columns or fix "
                        "the line");
    strcpy(text + at, "abc,1\n");
    assert_string_equal(reading_error(text, &options, OC_EDATA),
                        "file \"a.csv\", line 40002, column 1 (\"n\"): could not read \"abc\" as "
                        "int64, the type guessed from the "
                        "first lines; declare the column with --columns or fix the line");
    free(text);
}

static void impossible_options_are_refused(void **state)
{
    (void)state;
    oci_csv_options bad[] = {
        {.delimiter = '\n'}, {.delimiter = '"'}, {.quote = 'a'}, {.quote = ';', .delimiter = ';'}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        reading_error("a,b\n", &bad[i], OC_EINVAL);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* A file of ordinary rows around one long value. */
static char *text_with_long_value(int64_t length, int64_t *size)
{
    char *text = malloc((size_t)length + 4096);
    int64_t at = sprintf(text, "id,body\n1,x\n2,\"");
    memset(text + at, 'y', (size_t)length);
    at += length;
    at += sprintf(text + at, "\"\n3,z\n");
    *size = at;
    return text;
}

static oc_status read_within(int64_t limit, const char *text, int64_t size, int64_t *needed,
                             oc_error *err)
{
    oci_csv_options options = {.header = 1};
    test_env t;
    table_text out = {0};
    assert_int_equal(test_env_try(&t, limit, NULL, NULL), OC_OK);
    memory_file *file = make_memory_file(text, size);
    memset(err, 0, sizeof *err);
    oc_status status = read_all(&t, &file->file, &options, &out, err);
    *needed = err->needed_bytes;
    assert_true(oci_budget_peak(t.env.budget) <= limit);
    assert_int_equal(oci_mem_held(t.mem), 0);
    free(out.text);
    test_env_deinit(&t);
    return status;
}

static void a_long_record_is_read_when_the_budget_allows(void **state)
{
    (void)state;
    int64_t size;
    int64_t needed;
    oc_error err;
    char *text = text_with_long_value(3 << 20, &size);
    assert_int_equal(read_within(64 << 20, text, size, &needed, &err), OC_OK);
    assert_int_equal(read_within(2 << 20, text, size, &needed, &err), OC_EBUDGET);
    assert_non_null(strstr(
        err.message,
        "file \"a.csv\", line 3: a record of 3.0 MiB does not fit the memory limit of 2.0 MiB"));
    assert_true(needed > 2 << 20);
    assert_int_equal(read_within(needed, text, size, &needed, &err), OC_OK);
    free(text);
}

static void every_limit_gives_the_rows_or_a_limit_that_works(void **state)
{
    (void)state;
    int64_t size;
    int64_t needed;
    oc_error err;
    char *text = text_with_long_value(300000, &size);
    for (int64_t limit = 100 << 10; limit < 3 << 20; limit += 37 << 10) {
        oc_status status = read_within(limit, text, size, &needed, &err);
        assert_true(status == OC_OK || status == OC_EBUDGET);
        if (status == OC_EBUDGET && needed > 0) {
            assert_int_equal(read_within(needed, text, size, &needed, &err), OC_OK);
        }
    }
    free(text);
}

/* A file that never ends: `line` once, then `rest` over and over. */
typedef struct {
    oci_file file;
    const char *head;
    char rest;
    int64_t left;
    int64_t given;
} endless_file;

static oc_status endless_read(oci_file *f, void *buf, int64_t size, int64_t *n_read, oc_error *err)
{
    endless_file *e = (endless_file *)f;
    (void)err;
    size = size < e->left ? size : e->left;
    int64_t n_head = e->given == 0 ? (int64_t)strlen(e->head) : 0;
    n_head = n_head < size ? n_head : size;
    memcpy(buf, e->head, (size_t)n_head);
    memset((char *)buf + n_head, e->rest, (size_t)(size - n_head));
    e->given += size;
    e->left -= size;
    *n_read = size;
    return OC_OK;
}

static oc_status endless_close(oci_file *f, oc_error *err)
{
    (void)f;
    (void)err;
    return OC_OK;
}

static void one_endless_quote_is_not_read_into_memory(void **state)
{
    (void)state;
    static const oci_file_ops ops = {.read = endless_read, .close = endless_close};
    static const struct {
        int64_t bytes;
        oc_status status;
        const char *part;
    } cases[] = {
        {64 << 20, OC_EDATA, "line 3, column 2: a quoted field begins here"},
        {INT64_MAX, OC_EUNSUPPORTED, "line 3: a record is longer than 2 GiB"},
    };
    for (size_t i = 0; i < 2; i++) {
        endless_file file = {.file = {.ops = &ops, .name = (char *)(uintptr_t) "a.csv", .fd = -1},
                             .head = "a,b\n1,2\n3,\"",
                             .rest = 'x',
                             .left = cases[i].bytes};
        oci_csv_options options = {.header = 1};
        test_env t;
        table_text out = {0};
        oc_error err = {0};
        assert_int_equal(test_env_try(&t, 4 << 20, NULL, NULL), OC_OK);
        assert_int_equal(read_all(&t, &file.file, &options, &out, &err), cases[i].status);
        assert_non_null(strstr(err.message, cases[i].part));
        assert_true(oci_budget_peak(t.env.budget) <= 4 << 20);
        free(out.text);
        test_env_deinit(&t);
    }
}

static void ordinary_rows_need_about_three_blocks(void **state)
{
    (void)state;
    char *text = malloc(4 << 20);
    size_t size = 0;
    for (int i = 0; size < (3 << 20); i++) {
        size += (size_t)sprintf(text + size,
                                "%d,%d.50,1995-03-%02d,some text that is not very long,%d\n", i,
                                i * 7, i % 28 + 1, i % 1000);
    }
    test_env t;
    table_text out = {0};
    oc_error err = {0};
    oci_csv_options options = {.header = 0};
    assert_int_equal(test_env_try(&t, 4 << 20, NULL, NULL), OC_OK);
    int64_t block = oci_env_block_bytes(&t.env);
    memory_file *file = make_memory_file(text, (int64_t)size);
    assert_int_equal(read_all(&t, &file->file, &options, &out, &err), OC_OK);
    assert_true(oci_budget_peak(t.env.budget) < 3 * block + 64 * 1024);
    free(out.text);
    free(text);
    test_env_deinit(&t);
}

static void cancelling_stops_the_next_batch(void **state)
{
    (void)state;
    oci_csv_options options = {.header = 1};
    test_env t;
    oci_stream *stream;
    oci_batch *batch;
    assert_int_equal(test_env_try(&t, 1 << 20, NULL, NULL), OC_OK);
    memory_file *file = make_memory_file("a\n1\n", 4);
    assert_int_equal(oci_csv_reader_open(&t.env, &file->file, &options, t.mem, &stream, NULL),
                     OC_OK);
    t.cancel = true;
    assert_int_equal(oci_stream_next(stream, &batch, NULL), OC_ECANCELED);
    oci_stream_close(stream);
    test_env_deinit(&t);
}

static void progress_counts_the_bytes_read(void **state)
{
    (void)state;
    _Atomic int64_t bytes = 0;
    oci_csv_options options = {.header = 1, .bytes_read = &bytes, .block_bytes = 4};
    test_env t;
    table_text out = {0};
    oc_error err = {0};
    assert_int_equal(test_env_try(&t, 1 << 20, NULL, NULL), OC_OK);
    memory_file *file = make_memory_file("a,b\n1,2\n3,4\n", 12);
    assert_int_equal(read_all(&t, &file->file, &options, &out, &err), OC_OK);
    assert_int_equal(bytes, 12);
    free(out.text);
    test_env_deinit(&t);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static const char fault_text[] =
    "id,body,day\n1,x,2024-01-01\n2,\"a \"\"quoted\"\" text over\ntwo lines\",\n,,2024-01-03\n";

static oc_status read_with_faults(oci_fault_plan *plan, const char *path, table_text *out)
{
    oci_schema *declared = columns("id int64, body utf8_view, day date");
    oci_csv_options options = {.header = -1, .declared = declared, .block_bytes = 16};
    test_env t;
    oci_file *file;
    oc_status status = test_env_try(&t, 1 << 20, oci_fault_allocator(plan), NULL);
    if (status == OC_OK) {
        status = oci_open(oci_fault_io(plan), path, OCI_OPEN_READ, &file, NULL);
    }
    if (status == OC_OK) {
        oc_error err;
        status = read_all(&t, file, &options, out, &err);
    }
    if (t.mem != NULL) {
        assert_int_equal(oci_mem_held(t.mem), 0);
    }
    test_env_deinit(&t);
    oci_schema_release(declared);
    return status;
}

static void every_failed_allocation_and_read_is_reported_and_undone(void **state)
{
    (void)state;
    char path[] = "csv_reader_test_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, fault_text, sizeof fault_text - 1), sizeof fault_text - 1);
    close(fd);
    static const oci_fault_kind kinds[] = {OCI_FAULT_ALLOC, OCI_FAULT_READ, OCI_FAULT_OPEN};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (int for_ever = 0; for_ever <= 1; for_ever++) {
            bool injected = true;
            for (int64_t n = 1; injected; n++) {
                assert_true(n < 1000);
                oci_fault_plan *plan = oci_fault_plan_create();
                oci_fault_arm(plan, kinds[k], n, for_ever);
                table_text out = {0};
                oc_status status = read_with_faults(plan, path, &out);
                injected = oci_fault_injected(plan) > 0;
                if (status == OC_OK) {
                    assert_string_equal(out.text,
                                        "id int64, body utf8_view, day date32\n1|x|2024-01-01\n"
                                        "2|a \"quoted\" text over\ntwo lines|~\n~|~|2024-01-03\n");
                } else {
                    assert_true(injected);
                    assert_int_equal(status, kinds[k] == OCI_FAULT_ALLOC ? OC_ENOMEM : OC_EIO);
                }
                free(out.text);
                assert_int_equal(oci_fault_live_bytes(plan), 0);
                oci_fault_plan_destroy(plan);
            }
        }
    }
    unlink(path);
}

/* ---- inputs of others ------------------------------------------------------------------------ */

static char *load_file(const char *folder, const char *name, int64_t *size)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/csv/%s", folder, name);
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        return NULL;
    }
    char *text = malloc(4 << 20);
    *size = (int64_t)fread(text, 1, 4 << 20, f);
    fclose(f);
    return text;
}

static void damaged_files_end_in_rows_or_an_error(void **state)
{
    (void)state;
    static const char *const names[] = {
        "clusterfuzz-testcase-minimized-arrow-csv-fuzz-5003506164760576",
        "clusterfuzz-testcase-minimized-arrow-csv-fuzz-5279410447253504",
        "clusterfuzz-testcase-minimized-arrow-csv-fuzz-5600990083743744", "aggregate_test_100.csv",
        "aggregate_test_100_with_dates.csv"};
    const char *folder = getenv("OUTCORE_TESTING_DATA");
    if (folder == NULL) {
        skip();
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        int64_t size = 0;
        char *text = load_file(folder, names[i], &size);
        assert_non_null(text);
        for (int64_t block = 0; block < 3000; block = block * 3 + 7) {
            oci_csv_options options = {.header = -1, .block_bytes = block};
            test_env t;
            table_text out = {0};
            oc_error err = {0};
            assert_int_equal(test_env_try(&t, 16 << 20, NULL, NULL), OC_OK);
            memory_file *file = make_memory_file(text, size);
            oc_status status = read_all(&t, &file->file, &options, &out, &err);
            assert_true(status == OC_OK || status == OC_EDATA || status == OC_EBUDGET);
            if (i >= 3 && block == 0) {
                assert_int_equal(status, OC_OK);
            }
            free(out.text);
            assert_int_equal(oci_mem_held(t.mem), 0);
            test_env_deinit(&t);
        }
        free(text);
    }
}

/* Random bytes out of those that mean something. */
static void random_texts_end_in_rows_or_an_error(void **state)
{
    (void)state;
    static const char bytes[] = "\"\",,;|\n\n\r1-2.ax\t\\ e";
    uint32_t x = 99;
    for (int i = 0; i < 20000; i++) {
        char text[120];
        x = x * 1664525 + 1013904223;
        int64_t size = x >> 25;
        size = size > 119 ? 119 : size;
        for (int64_t k = 0; k < size; k++) {
            x = x * 1664525 + 1013904223;
            text[k] = bytes[(x >> 16) % (sizeof bytes - 1)];
        }
        oci_csv_options options = {.header = (int)(x >> 8) % 3 - 1,
                                   .block_bytes = 1 + (x >> 10) % 64};
        test_env t;
        table_text out = {0};
        oc_error err = {0};
        assert_int_equal(test_env_try(&t, 1 << 20, NULL, NULL), OC_OK);
        memory_file *file = make_memory_file(text, size);
        oc_status status = read_all(&t, &file->file, &options, &out, &err);
        assert_true(status == OC_OK || status == OC_EDATA);
        free(out.text);
        assert_int_equal(oci_mem_held(t.mem), 0);
        test_env_deinit(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_of_rfc_4180_are_split_at_every_cut),
        cmocka_unit_test(nul_bytes_are_text_like_any_other),
        cmocka_unit_test(one_column_keeps_blank_lines_as_nulls),
        cmocka_unit_test(trailing_delimiters_are_no_field),
        cmocka_unit_test(delimiters_are_guessed),
        cmocka_unit_test(headers_are_guessed),
        cmocka_unit_test(types_are_guessed_without_losing_anything),
        cmocka_unit_test(an_empty_file_needs_declared_columns),
        cmocka_unit_test(declared_columns_are_found_by_name_in_the_header),
        cmocka_unit_test(selected_columns_come_in_the_order_asked_for),
        cmocka_unit_test(null_texts_are_null_only_without_quotes),
        cmocka_unit_test(every_declared_type_is_read),
        cmocka_unit_test(unreadable_types_are_refused_by_name),
        cmocka_unit_test(errors_name_line_column_value_and_a_way_out),
        cmocka_unit_test(a_later_value_does_not_change_a_guessed_type),
        cmocka_unit_test(impossible_options_are_refused),
        cmocka_unit_test(a_long_record_is_read_when_the_budget_allows),
        cmocka_unit_test(every_limit_gives_the_rows_or_a_limit_that_works),
        cmocka_unit_test(one_endless_quote_is_not_read_into_memory),
        cmocka_unit_test(ordinary_rows_need_about_three_blocks),
        cmocka_unit_test(cancelling_stops_the_next_batch),
        cmocka_unit_test(progress_counts_the_bytes_read),
        cmocka_unit_test(every_failed_allocation_and_read_is_reported_and_undone),
        cmocka_unit_test(damaged_files_end_in_rows_or_an_error),
        cmocka_unit_test(random_texts_end_in_rows_or_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
