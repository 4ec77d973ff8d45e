#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats/csv.h"

/* The schema as "name type[ not null], ...", names in quotes where they are not plain. */
static void check(const char *text, const char *want)
{
    oc_error err = {0};
    oci_schema *schema;
    if (oci_parse_columns(text, &schema, &err) != OC_OK) {
        fail_msg("%s", err.message);
    }
    char got[2048] = "";
    for (int32_t i = 0; i < schema->n_fields; i++) {
        char type[128];
        oci_field_type_text(&schema->fields[i], type, sizeof type);
        size_t at = strlen(got);
        snprintf(got + at, sizeof got - at, "%s%s %s%s", i > 0 ? ", " : "", schema->fields[i].name,
                 type, schema->fields[i].nullable ? "" : " not null");
    }
    assert_string_equal(got, want);
    oci_schema_release(schema);
}

static void names_of_types_are_read_back(void **state)
{
    (void)state;
    static const char all[] = "a null, b bool, c int8, d int16, e int32, f int64, g uint8, h "
                              "uint16, i uint32, j uint64, k float16, l float32, "
                              "m float64, n decimal32(9, 2), o decimal64(18, 0), p decimal128(38, "
                              "10), q decimal256(76, -3), r date32, s date64, "
                              "t time32[s], u time32[ms], v time64[us], w time64[ns], x "
                              "timestamp[s], y timestamp[ns, Europe/Berlin], "
                              "z duration[ms], a1 interval_months, a2 interval_day_time, a3 "
                              "interval_month_day_nano, a4 fixed_size_binary(16), "
                              "a5 utf8, a6 large_utf8, a7 utf8_view, a8 binary, a9 large_binary, "
                              "b1 binary_view, b2 dictionary<int8, utf8>, "
                              "b3 dictionary<uint32, decimal128(9, 2)>";
    check(all, all);
}

static void sql_names_are_understood(void **state)
{
    (void)state;
    check("a INT, b integer, c BigInt, d smallint, e tinyint, f double precision, g double, h "
          "float, i real",
          "a int32, b int32, c int64, d int16, e int8, f float64, g float64, h float32, i float32");
    check("a varchar(10), b text, c string, d char(1), e boolean, f date, g numeric(15,2), h "
          "decimal, i numeric(50, 4)",
          "a utf8, b utf8, c utf8, d utf8, e bool, f date32, g decimal128(15, 2), h decimal128(38, "
          "10), i decimal256(50, 4)");
    check("a timestamp, b timestamp(3), c timestamp with time zone, d timestamptz, e timestamp(9) "
          "without time zone, f time",
          "a timestamp[us], b timestamp[ms], c timestamp[us, UTC], d timestamp[us, UTC], e "
          "timestamp[ns], f time64[us]");
    check("a bytea,b blob", "a binary, b binary");
}

static void names_may_be_quoted_and_nulls_forbidden(void **state)
{
    (void)state;
    check("\"c d\" int64 not null,\"say \"\"hi\"\"\" utf8 NULL,  int64 int64",
          "c d int64 not null, say \"hi\" utf8, int64 int64");
    check("\n a\tint64\n,\n b utf8 ", "a int64, b utf8");
    check("\"\" int64", " int64");
}

static void wrong_texts_are_refused_with_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *part;
    } cases[] = {
        {"", "a column name expected at the end"},
        {"a",
         "a type, such as int64, utf8, decimal(15, 2), date or timestamp, expected at the end"},
        {"a int65", "expected at character 3, before \"int65\""},
        {"a int64,", "a column name expected at the end"},
        {"a int64 b", "\",\" expected at character 9"},
        {"a decimal(0)", "a precision between 1 and 76 expected at character 11"},
        {"a decimal(77,1)", "a precision between 1 and 76"},
        {"a decimal64(19,1)", "a precision between 1 and 18"},
        {"a decimal(5,6)", "a scale not above the precision"},
        {"a decimal(5", "\")\" expected at the end"},
        {"a decimal(x)", "a number expected"},
        {"a time32[us]", "time32 in s or ms"},
        {"a time64[s]", "time64 in us or ns"},
        {"a timestamp[h]", "a unit (s, ms, us or ns)"},
        {"a timestamp[us, ", "a time zone"},
        {"a timestamp with zone", "\"time zone\""},
        {"a fixed_size_binary", "\"(\" and a width"},
        {"a fixed_size_binary(-1)", "a length"},
        {"a dictionary<utf8, int8>", "an integer type"},
        {"a dictionary<int8>", "\",\" expected"},
        {"a dictionary<int8, dictionary<int8, utf8>>", "a plain type"},
        {"\"a int64", "a closing quote"},
        {"a int64 not", "\"null\" expected"},
        {"a decimal(99999999999999999999)", "a number expected"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        oc_error err = {0};
        oci_schema *schema;
        assert_int_equal(oci_parse_columns(cases[i].text, &schema, &err), OC_EINVAL);
        assert_null(schema);
        if (strstr(err.message, cases[i].part) == NULL) {
            fail_msg("\"%s\" is not in: %s", cases[i].part, err.message);
        }
        assert_int_equal(oci_parse_columns(cases[i].text, &schema, NULL), OC_EINVAL);
    }
}

static void nested_types_are_refused_as_such(void **state)
{
    (void)state;
    static const char *const texts[] = {"a list<int32>",
                                        "a struct<b: int32>",
                                        "a MAP(text, int)",
                                        "a int[]",
                                        "a array<int>",
                                        "a int64, b run_end_encoded<>",
                                        "a dictionary<int8, list<utf8>>"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        oc_error err = {0};
        oci_schema *schema;
        assert_int_equal(oci_parse_columns(texts[i], &schema, &err), OC_EUNSUPPORTED);
        assert_null(schema);
        assert_non_null(strstr(err.message, "nested types, as at character "));
    }
}

static void every_prefix_of_a_text_is_read_or_refused(void **state)
{
    (void)state;
    static const char text[] =
        "\"a\"\"b\" decimal(15, 2) not null, c timestamp[us, UTC], d dictionary<int8, utf8>, e "
        "timestamp(3) with time zone, f fixed_size_binary(3)";
    for (size_t n = 0; n < sizeof text; n++) {
        char *prefix = strndup(text, n);
        oci_schema *schema;
        if (oci_parse_columns(prefix, &schema, NULL) == OC_OK) {
            oci_schema_release(schema);
        }
        free(prefix);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_types_are_read_back),
        cmocka_unit_test(sql_names_are_understood),
        cmocka_unit_test(names_may_be_quoted_and_nulls_forbidden),
        cmocka_unit_test(wrong_texts_are_refused_with_their_place),
        cmocka_unit_test(nested_types_are_refused_as_such),
        cmocka_unit_test(every_prefix_of_a_text_is_read_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
