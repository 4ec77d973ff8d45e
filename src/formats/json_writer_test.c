#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/text_of.h"

static const oci_text_options no_options = {.header = false};

static void check(const char *columns, const char *csv, oci_text_format format, const char *want)
{
    for (int64_t batch_rows = 1; batch_rows <= 3; batch_rows++) {
        char *text = text_of_csv(columns, csv, batch_rows, format, &no_options);
        assert_string_equal(text, want);
        free(text);
    }
}

static void ndjson_is_one_object_a_line(void **state)
{
    (void)state;
    check("id int64, \"na\"\"me\" utf8, price decimal(9, 2), day date, ok bool",
          "1,x,1.5,2024-02-29,true\n2,~,~,~,~\n", OCI_TEXT_NDJSON,
          "{\"id\":1,\"na\\\"me\":\"x\",\"price\":1.50,\"day\":\"2024-02-29\",\"ok\":true}\n"
          "{\"id\":2,\"na\\\"me\":null,\"price\":null,\"day\":null,\"ok\":null}\n");
    check("a int64", "", OCI_TEXT_NDJSON, "");
}

static void json_is_one_array(void **state)
{
    (void)state;
    check("a int64", "1\n2\n3\n", OCI_TEXT_JSON, "[\n{\"a\":1},\n{\"a\":2},\n{\"a\":3}\n]\n");
    check("a int64", "", OCI_TEXT_JSON, "[]\n");
}

static void strings_are_escaped_and_made_valid(void **state)
{
    (void)state;
    check("a utf8", "\"\"\"\\/\b\f\n\r\t\x01\x1F\x7F\"\n", OCI_TEXT_NDJSON,
          "{\"a\":\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7F\"}\n");
    check("a utf8", "caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\n", OCI_TEXT_NDJSON,
          "{\"a\":\"caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\"}\n");
    /* A lone lead byte, a surrogate, an overlong slash, a cut character at the end. */
    check("a utf8", "x\xC3y\xED\xA0\x80z\xC0\xAF\xE2\x82\n", OCI_TEXT_NDJSON,
          "{\"a\":"
          "\"x\xEF\xBF\xBDy\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF"
          "\xBD\xEF\xBF\xBD\"}\n");
}

static void numbers_without_json_form_are_null(void **state)
{
    (void)state;
    check("a float64, b float32", "nan,inf\n-inf,-1.5\n1e300,1e10\n-0.0,0.1\n", OCI_TEXT_NDJSON,
          "{\"a\":null,\"b\":null}\n{\"a\":null,\"b\":-1.5}\n{\"a\":1e+300,\"b\":10000000000.0}\n"
          "{\"a\":-0.0,\"b\":0.1}\n");
}

static void binary_is_hex_and_times_are_strings(void **state)
{
    (void)state;
    check("a binary, b timestamp[us, UTC], c time32[s], d duration[ms]",
          "\\x00ff,2024-01-01T00:00:00Z,01:02:03,-5\n\"\",~,~,~\n", OCI_TEXT_NDJSON,
          "{\"a\":\"00ff\",\"b\":\"2024-01-01T00:00:00Z\",\"c\":\"01:02:03\",\"d\":-5}\n"
          "{\"a\":\"\",\"b\":null,\"c\":null,\"d\":null}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ndjson_is_one_object_a_line),
        cmocka_unit_test(json_is_one_array),
        cmocka_unit_test(strings_are_escaped_and_made_valid),
        cmocka_unit_test(numbers_without_json_form_are_null),
        cmocka_unit_test(binary_is_hex_and_times_are_strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
