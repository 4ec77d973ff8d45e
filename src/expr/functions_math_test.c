/* Functions on numbers, lists and of mixed kinds: values as PostgreSQL documents them. */
#include "expr/function_test_support.h"

static oci_expr *minus(const char *value)
{
    return call("-", 1, number(value));
}

static void signs_and_rounding_keep_types(void **state)
{
    (void)state;
    check(call("abs", 1, minus("17.4")), "17.4");
    check(call("abs", 1, minus("17")), "17");
    check(call("abs", 1, minus("1e300")), "1e+300");
    check_fails("out of range", "abs", 1, typed("bigint", "-9223372036854775808"));
    check(call("sign", 1, minus("8.4")), "-1");
    check(call("ceil", 1, number("42.2")), "43");
    check(call("ceiling", 1, minus("95.3")), "-95");
    check(call("floor", 1, number("42.8")), "42");
    check(call("floor", 1, minus("42.8")), "-43");
    check(call("floor", 1, number("7")), "7");
    check(call("trunc", 1, minus("42.8")), "-42");
    check(call("trunc", 2, number("42.4382"), number("2")), "42.43");
    check(call("pg_typeof", 1, call("round", 2, number("42.4382"), number("2"))), "decimal(5,2)");
}

static void rounding_is_half_away_from_zero(void **state)
{
    (void)state;
    check(call("round", 1, number("42.4")), "42");
    check(call("round", 1, number("2.5")), "3");
    check(call("round", 1, minus("2.5")), "-3");
    check(call("round", 1, number("99.5")), "100");
    check(call("round", 2, number("42.4382"), number("2")), "42.44");
    check(call("round", 2, number("1234.56"), minus("1")), "1230");
    check(call("round", 2, number("1250"), minus("2")), "1300");
    check(call("round", 2, number("0.005"), number("2")), "0.01");
    check(call("round", 2, number("1.5"), minus("50")), "0");
    check(call("round", 2, number("2.5e0"), number("0")), "3.0");
    check(call("round", 2, number("1.25e0"), number("400")), "1.25");
    check(call("round", 1, number("2.5e0")), "3.0");
    check(call("round", 1, null()), "null");
}

static void functions_on_doubles_know_their_domain(void **state)
{
    (void)state;
    check(call("sqrt", 1, number("16")), "4.0");
    check_fails("sqrt", "sqrt", 1, minus("1"));
    check(call("cbrt", 1, number("64.0")), "4.0");
    check(call("exp", 1, number("0")), "1.0");
    check_fails("out of range", "exp", 1, number("1000"));
    check(call("ln", 1, number("1")), "0.0");
    check_fails("ln", "ln", 1, number("0"));
    check(call("log", 1, number("100")), "2.0");
    check(call("log", 2, number("2.0"), number("64.0")), "6.0");
    check(call("power", 2, number("9"), number("3")), "729.0");
    check(call("^", 2, number("2"), number("3")), "8.0");
    check_fails("power", "power", 2, minus("8"), number("0.5"));
    check_fails("power", "power", 2, number("0"), minus("1"));
    check(call("atan2", 2, number("0"), number("1")), "0.0");
    check_fails("acos", "acos", 1, number("2"));
    check(call("degrees", 1, call("pi", 0)), "180.0");
    check(call("isnan", 1, typed("double", "nan")), "true");
    check(call("isfinite", 1, typed("double", "inf")), "false");
}

static void whole_numbers(void **state)
{
    (void)state;
    check(call("mod", 2, number("9"), number("4")), "1");
    check(call("mod", 2, minus("9"), number("4")), "-1");
    check(call("mod", 2, number("5.5"), number("2")), "1.5");
    check_fails("division by zero", "mod", 2, number("9"), number("0"));
    check(call("div", 2, number("9"), number("4")), "2");
    check_fails("division by zero", "div", 2, number("9"), number("0"));
    check(call("gcd", 2, number("1071"), number("462")), "21");
    check(call("lcm", 2, number("1071"), number("462")), "23562");
    check(call("gcd", 2, number("0"), number("0")), "0");
    check_fails("out of range", "lcm", 2, typed("bigint", "9223372036854775807"), number("2"));
    check(call("factorial", 1, number("5")), "120");
    check(call("factorial", 1, number("33")), "8683317618811886495518194401280000000");
    check_fails("not from 0", "factorial", 1, number("34"));
    check(call("width_bucket", 4, number("5.35"), number("0.024"), number("10.06"), number("5")),
          "3");
    check(call("width_bucket", 4, number("11"), number("0"), number("10"), number("5")), "6");
}

static void bits(void **state)
{
    (void)state;
    check(call("&", 2, number("91"), number("15")), "11");
    check(call("|", 2, number("32"), number("3")), "35");
    check(call("#", 2, number("17"), number("5")), "20");
    check(call("~", 1, number("1")), "-2");
    check(call("<<", 2, number("1"), number("4")), "16");
    check(call(">>", 2, number("8"), number("2")), "2");
    check(call("<<", 2, number("1"), number("31")), "-2147483648");
    check(call("<<", 2, typed("bigint", "1"), number("62")), "4611686018427387904");
}

static void random_numbers_differ(void **state)
{
    (void)state;
    char *a = value_of(call("random", 0));
    char *b = value_of(call("random", 0));
    assert_string_not_equal(a, b);
    assert_true(strtod(a, NULL) >= 0 && strtod(a, NULL) < 1);
    free(a);
    free(b);
}

static void extremes_pass_over_nulls(void **state)
{
    (void)state;
    check(call("greatest", 3, number("1"), null(), number("3")), "3");
    check(call("least", 3, number("1.5"), number("1"), number("3")), "1.0");
    check(call("greatest", 2, null(), null()), "null");
    check(call("greatest", 2, text("abc"), text("abd")), "abd");
    check(call("least", 2, typed("date", "2020-01-01"), text("2019-12-31")), "2019-12-31");
    check(call("greatest", 2, typed("double", "nan"), number("1e308")), "NaN");
    const char *values[] = {"b", NULL, "z"};
    const char *expected[] = {"m", "m", "z"};
    check_rows(call("greatest", 2, column_t(), text("m")), values, 3, expected);
}

static oci_expr *array_of_three(void)
{
    return call("array", 3, number("10"), null(), number("30"));
}

static void lists_are_made_and_read(void **state)
{
    (void)state;
    check(call("list element", 2, array_of_three(), number("1")), "10");
    check(call("list element", 2, array_of_three(), number("2")), "null");
    check(call("list element", 2, array_of_three(), minus("1")), "30");
    check(call("list element", 2, array_of_three(), number("4")), "null");
    check(call("list element", 2, array_of_three(), number("0")), "null");
    check(call("list element", 2, array_of_three(), minus("4")), "null");
    check(call("array_length", 2, array_of_three(), number("1")), "3");
    check(call("cardinality", 1, array_of_three()), "3");
    check(call("array_length", 1, call("string_to_array", 2, text(""), text(","))), "null");
    check(call("cardinality", 1, call("string_to_array", 2, text(""), text(","))), "0");
    check(call("array_contains", 2, array_of_three(), number("30")), "true");
    check(call("array_contains", 2, array_of_three(), number("31")), "false");
    check(call("array_position", 2, array_of_three(), number("30")), "3");
    check(call("array_position", 2, array_of_three(), number("31")), "null");
    check(call("array_to_string", 2, array_of_three(), text(",")), "10,30");
    check(call("array_to_string", 3, array_of_three(), text(","), text("*")), "10,*,30");
}

static void lists_of_columns(void **state)
{
    (void)state;
    const char *values[] = {"a,b", NULL, "", "xx,yy,zz"};
    const char *second[] = {"b", NULL, NULL, "yy"};
    const char *joined[] = {"a-b", NULL, "", "xx-yy-zz"};
    const char *own[] = {"a,b", NULL, "", "xx,yy,zz"};
    check_rows(
        call("list element", 2, call("string_to_array", 2, column_t(), text(",")), number("2")),
        values, 4, second);
    check_rows(
        call("array_to_string", 2, call("string_to_array", 2, column_t(), text(",")), text("-")),
        values, 4, joined);
    check_rows(call("list element", 2, call("array", 2, text("k"), column_t()), number("2")),
               values, 4, own);
}

static void types_have_names(void **state)
{
    (void)state;
    check(call("pg_typeof", 1, number("1")), "integer");
    check(call("typeof", 1, typed("date", "2020-01-01")), "date");
    check(call("starts_with", 2, call("version", 0), text("Outcore ")), "true");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signs_and_rounding_keep_types),
        cmocka_unit_test(rounding_is_half_away_from_zero),
        cmocka_unit_test(functions_on_doubles_know_their_domain),
        cmocka_unit_test(whole_numbers),
        cmocka_unit_test(bits),
        cmocka_unit_test(random_numbers_differ),
        cmocka_unit_test(extremes_pass_over_nulls),
        cmocka_unit_test(lists_are_made_and_read),
        cmocka_unit_test(lists_of_columns),
        cmocka_unit_test(types_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
