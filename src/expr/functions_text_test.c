/* Functions on text, LIKE and regular expressions: values as PostgreSQL documents them. */
#include "expr/function_test_support.h"

static void lengths_count_characters(void **state)
{
    (void)state;
    check(call("length", 1, text("jose")), "4");
    check(call("length", 1, text("h\xc3\xa9llo \xf0\x9f\x98\x80")), "7");
    check(call("octet_length", 1, text("jos\xc3\xa9")), "5");
    check(call("bit_length", 1, text("jose")), "32");
    check(call("char_length", 1, text("")), "0");
    check(call("length", 1, null()), "null");
    check(call("length", 1, text("\xff\x80z")), "3"); /* invalid bytes count one by one */
}

static void cases_follow_unicode(void **state)
{
    (void)state;
    check(call("upper", 1, text("tom-7 \xc3\xa4\xc3\xb6 \xce\xb1\xcf\x89 \xd0\xb6")),
          "TOM-7 \xc3\x84\xc3\x96 \xce\x91\xce\xa9 \xd0\x96");
    check(call("lower", 1, text("TOM \xc3\x84\xc3\x9f \xce\xa9 \xd0\x96")),
          "tom \xc3\xa4\xc3\x9f \xcf\x89 \xd0\xb6");
    check(call("upper", 1, text("\xc8\xbf\xc8\xbf\xc8\xbf")),
          "\xe2\xb1\xbe\xe2\xb1\xbe\xe2\xb1\xbe"); /* two bytes become three */
    check(call("initcap", 1, text("hi THOMAS, \xc3\xa9t\xc3\xa9 o'neil 2nd")),
          "Hi Thomas, \xc3\x89t\xc3\xa9 O'Neil 2nd");
}

static void substr_counts_from_one_and_before(void **state)
{
    (void)state;
    check(call("substr", 2, text("alphabet"), number("3")), "phabet");
    check(call("substr", 3, text("alphabet"), number("3"), number("2")), "ph");
    check(call("substring", 3, text("Thomas"), number("2"), number("3")), "hom");
    check(call("substr", 3, text("abc"), number("0"), number("2")), "a");
    check(call("substr", 3, text("abc"), call("-", 1, number("5")), number("7")), "a");
    check(call("substr", 3, text("abc"), number("2"), typed("bigint", "9223372036854775807")),
          "bc");
    check(call("substr", 2, text("abc"), number("9")), "");
    check(call("substr", 3, text("h\xc3\xa9llo"), number("2"), number("2")), "\xc3\xa9l");
    check_fails("must not be negative", "substr", 3, text("abc"), number("1"),
                call("-", 1, number("1")));
}

static void left_and_right_take_negative_counts(void **state)
{
    (void)state;
    check(call("left", 2, text("abcde"), number("2")), "ab");
    check(call("left", 2, text("abcde"), call("-", 1, number("2"))), "abc");
    check(call("right", 2, text("abcde"), number("2")), "de");
    check(call("right", 2, text("abcde"), call("-", 1, number("2"))), "cde");
    check(call("right", 2, text("a\xc3\xa9\xc3\xa8"), number("2")), "\xc3\xa9\xc3\xa8");
    check(call("left", 2, text("ab"), number("100")), "ab");
    check(call("right", 2, text("ab"), call("-", 1, number("100"))), "");
}

static void trims_take_sets_of_characters(void **state)
{
    (void)state;
    check(call("btrim", 2, text("xyxtrimyyx"), text("xyz")), "trim");
    check(call("ltrim", 2, text("zzzytest"), text("xyz")), "test");
    check(call("rtrim", 2, text("testxxzx"), text("xyz")), "test");
    check(call("trim", 1, text("  both  ")), "both");
    check(call("btrim", 2, text("\xc3\xa9x\xc3\xa9"), text("\xc3\xa9")), "x");
    check(call("btrim", 1, text("    ")), "");
}

static void pads_cut_and_fill(void **state)
{
    (void)state;
    check(call("lpad", 3, text("hi"), number("5"), text("xy")), "xyxhi");
    check(call("rpad", 3, text("hi"), number("5"), text("xy")), "hixyx");
    check(call("lpad", 2, text("hello"), number("3")), "hel");
    check(call("lpad", 3, text("hi"), number("4"), text("\xc3\xa9")), "\xc3\xa9\xc3\xa9hi");
    check(call("lpad", 3, text("hi"), number("4"), text("")), "hi");
    check(call("rpad", 2, text("hi"), call("-", 1, number("1"))), "");
    check_fails("too long", "lpad", 2, text("a"), number("99999999999"));
}

static void searching_counts_characters(void **state)
{
    (void)state;
    check(call("strpos", 2, text("high"), text("ig")), "2");
    check(call("position", 2, text("\xc3\xa9\xc3\xa8z"), text("z")), "3");
    check(call("strpos", 2, text("high"), text("")), "1");
    check(call("strpos", 2, text("high"), text("x")), "0");
    check(call("starts_with", 2, text("alphabet"), text("alph")), "true");
    check(call("ends_with", 2, text("alphabet"), text("bet")), "true");
    check(call("contains", 2, text("alphabet"), text("pha")), "true");
    check(call("contains", 2, text("a"), text("ab")), "false");
}

static void split_part_counts_from_either_end(void **state)
{
    (void)state;
    check(call("split_part", 3, text("abc~@~def~@~ghi"), text("~@~"), number("2")), "def");
    check(call("split_part", 3, text("abc,def,ghi,jkl"), text(","), call("-", 1, number("2"))),
          "ghi");
    check(call("split_part", 3, text("abc"), text(","), number("2")), "");
    check(call("split_part", 3, text("abc"), text(","), call("-", 1, number("9"))), "");
    check(call("split_part", 3, text("abc"), text(""), number("1")), "abc");
    check_fails("must not be zero", "split_part", 3, text("a"), text(","), number("0"));
}

static void texts_are_rewritten(void **state)
{
    (void)state;
    check(call("replace", 3, text("abcdefabcdef"), text("cd"), text("XX")), "abXXefabXXef");
    check(call("replace", 3, text("aaa"), text(""), text("b")), "aaa");
    check(call("replace", 3, text("aaa"), text("a"), text("")), "");
    check(call("translate", 3, text("12345"), text("143"), text("ax")), "a2x5");
    check(call("reverse", 1, text("ab\xc3\xa9")), "\xc3\xa9"
                                                  "ba");
    check(call("repeat", 2, text("Pg"), number("4")), "PgPgPgPg");
    check(call("repeat", 2, text("Pg"), call("-", 1, number("4"))), "");
    check_fails("2 GiB", "repeat", 2, text("abc"), typed("bigint", "9223372036854775807"));
    check(call("overlay", 4, text("Txxxxas"), text("hom"), number("2"), number("4")), "Thomas");
    check(call("overlay", 3, text("abcdef"), text("ZZ"), number("3")), "abZZef");
}

static void concatenation_takes_any_type(void **state)
{
    (void)state;
    check(call("||", 2, text("Value: "), number("42")), "Value: 42");
    check(call("||", 2, text("a"), null()), "null");
    check(call("concat", 4, text("abcde"), number("2"), null(), number("2.50")), "abcde22.50");
    check(call("concat_ws", 4, text(","), text("abcde"), null(), number("22")), "abcde,22");
    check(call("concat_ws", 2, null(), text("a")), "null");
    check_fails("does not exist", "||", 2, number("1"), number("2"));
}

static void characters_have_codes(void **state)
{
    (void)state;
    check(call("ascii", 1, text("x")), "120");
    check(call("ascii", 1, text("\xe2\x82\xac")), "8364");
    check(call("ascii", 1, text("")), "0");
    check(call("chr", 1, number("8364")), "\xe2\x82\xac");
    check_fails("not the code", "chr", 1, number("55296"));
    check_fails("not the code", "chr", 1, number("0"));
    check(call("to_hex", 1, number("2147483647")), "7fffffff");
    check(call("quote_literal", 1, text("O'Reilly")), "'O''Reilly'");
    check(call("quote_ident", 1, text("Foo bar")), "\"Foo bar\"");
    check(call("quote_ident", 1, text("foo_1")), "foo_1");
}

static void bytes_are_encoded(void **state)
{
    (void)state;
    check(call("encode", 2, call("decode", 2, text("MTIzAAE="), text("base64")), text("hex")),
          "3132330001");
    check(call("encode", 2, call("decode", 2, text("deadBEEF"), text("hex")), text("base64")),
          "3q2+7w==");
    check(call("length", 1, call("decode", 2, text("1234567890"), text("hex"))), "5");
    check_fails("not base64", "decode", 2, text("MTI"), text("base64"));
    check_fails("hex digits", "decode", 2, text("abc"), text("hex"));
    check_fails("no encoding", "decode", 2, text("abc"), text("rot13"));
}

static void like(const char *value, const char *pattern, const char *expected)
{
    check(call("like", 2, text(value), text(pattern)), expected);
    /* The general way, of a pattern that is not constant. */
    const char *values[] = {pattern};
    const char *wanted[] = {expected};
    check_rows(call("like", 2, text(value), column_t()), values, 1, wanted);
}

static void like_matches_whole_texts(void **state)
{
    (void)state;
    like("abc", "abc", "true");
    like("abc", "a%", "true");
    like("abc", "_b_", "true");
    like("abc", "c", "false");
    like("", "%", "true");
    like("", "", "true");
    like("", "_", "false");
    like("abc", "%%c", "true");
    like("abcabc", "%abc", "true");
    like("abcab", "%abc", "false");
    like("aXbXc", "a%b%c", "true");
    like("ab", "a%b%b", "false");
    like("ab", "%a_b", "false");
    like("aaxb", "%a_b", "true");
    like("h\xc3\xa9llo", "h_llo", "true");
    like("\xc3\xa9", "__", "false");
    like("x\xc3\xa9", "%_\xc3\xa9", "true");
    like("x\xc3\xa9y", "%_y", "true");
    like("10%", "10\\%", "true");
    like("100", "10\\%", "false");
    like("a_b", "a\\_b", "true");
    like("special packages requests", "%special%requests%", "true");
    like("requests special", "%special%requests%", "false");
}

static void like_takes_another_escape(void **state)
{
    (void)state;
    check(call("like", 3, text("10%"), text("10#%"), text("#")), "true");
    check(call("like", 3, text("a\\b"), text("a\\_"), text("")), "true");
    check_fails("one character", "like", 3, text("a"), text("a"), text("ab"));
    check_fails("ends with its escape", "like", 2, text("a"), text("a\\"));
}

static void like_knows_nulls_and_cases(void **state)
{
    (void)state;
    const char *values[] = {"Apple", NULL, "apricot", "Banana", ""};
    const char *expected[] = {"true", NULL, "true", "false", "false"};
    const char *negated[] = {"false", NULL, "false", "true", "true"};
    check_rows(call("ilike", 2, column_t(), text("aP%")), values, 5, expected);
    check_rows(call("not ilike", 2, column_t(), text("aP%")), values, 5, negated);
    check(call("ilike", 2, text("\xc3\x84RGER"), text("\xc3\xa4rg%")), "true");
    check(call("like", 2, null(), text("a")), "null");
    check(call("like", 2, text("a"), null()), "null");
}

static void like_does_not_go_back(void **state)
{
    (void)state;
    char value[4001];
    memset(value, 'a', 4000);
    value[4000] = '\0';
    like(value, "%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%b", "false");
    like(value, "%a_a%a_a%a_a%a_a%a_a%a_a%a_a%a_ab%a", "false");
}

static void functions_work_on_columns_with_nulls(void **state)
{
    (void)state;
    const char *values[] = {"one", NULL, "", "thr\xc3\xa9"};
    const char *upper[] = {"ONE", NULL, "", "THR\xc3\x89"};
    const char *length[] = {"3", NULL, "0", "4"};
    const char *joined[] = {"one-1", "-1", "-1", "thr\xc3\xa9-1"};
    check_rows(call("upper", 1, column_t()), values, 4, upper);
    check_rows(call("length", 1, column_t()), values, 4, length);
    check_rows(call("concat", 3, column_t(), text("-"), number("1")), values, 4, joined);
}

static void regular_expressions_match(void **state)
{
    (void)state;
    check(call("~", 2, text("thomas"), text("t.*ma")), "true");
    check(call("~", 2, text("thomas"), text("T")), "false");
    check(call("~*", 2, text("thomas"), text("T.*ma")), "true");
    check(call("!~", 2, text("thomas"), text("t.*max")), "true");
    check(call("!~*", 2, text("thomas"), text("T.*ma")), "false");
    check(call("~", 2, text("h\xc3\xa9llo"), text("^h.llo$")), "true");
    check(call("~", 2, text("a\nb"), text("a.b")), "true");
    check(call("regexp_like", 3, text("Hello World"), text("world$"), text("i")), "true");
    check(call("regexp_matches", 2, text("abc"), text("b")), "true");
    check(call("~", 2, text("\xff"), text(".")), "false");
    check(call("~", 2, null(), text(".")), "null");
}

static void regular_expressions_replace(void **state)
{
    (void)state;
    check(call("regexp_replace", 3, text("foobarbaz"), text("b.."), text("X")), "fooXbaz");
    check(call("regexp_replace", 4, text("foobarbaz"), text("b.."), text("X"), text("g")), "fooXX");
    check(call("regexp_replace", 4, text("foobarbaz"), text("b(..)"), text("X\\1Y"), text("g")),
          "fooXarYXazY");
    check(call("regexp_replace", 4, text("abc"), text(""), text("-"), text("g")), "-a-b-c-");
    check(call("regexp_replace", 4, text("\xc3\xa9\xc3\xa8"), text("x*"), text("-"), text("g")),
          "-\xc3\xa9-\xc3\xa8-");
    check(call("regexp_replace", 3, text("ab"), text("b"), text("[\\&\\\\]")), "a[b\\]");
    check_fails("no flag", "regexp_replace", 4, text("a"), text("a"), text("b"), text("q"));
}

static void regular_expressions_find(void **state)
{
    (void)state;
    check(call("regexp_substr", 2, text("number of your street"), text("[^o]+o")), "number o");
    check(call("regexp_substr", 4, text("ABCDEF"), text(".."), number("1"), number("3")), "EF");
    check(call("regexp_substr", 2, text("abc"), text("z")), "null");
    check(call("regexp_extract", 3, text("key=value"), text("(\\w+)=(\\w+)"), number("2")),
          "value");
    check(call("regexp_extract", 2, text("abc"), text("z")), "");
    check(call("regexp_count", 2, text("123456789012"), text("\\d\\d\\d")), "4");
    check(call("regexp_count", 3, text("123456789012"), text("\\d\\d\\d"), number("2")), "3");
    check(call("regexp_instr", 2, text("\xc3\xa9\xc3\xa8z"), text("z")), "3");
    check(call("substring", 2, text("foobar"), text("o(.)b")), "o");
    check(call("substring", 2, text("foobar"), text("z(.)b")), "null");
}

static void hostile_patterns_are_errors(void **state)
{
    (void)state;
    check_fails("cannot read the regular expression", "~", 2, text("a"), text("a("));
    check_fails("takes too long", "~", 2,
                text("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"),
                text("^(a+)+(b|c)*(a*)*$"));
    check_fails("too large", "~", 2, text("a"), text("((a{1000}){1000}){1000}"));
}

static void patterns_differ_from_row_to_row(void **state)
{
    (void)state;
    const char *patterns[] = {"^a", "b", NULL, "^c"};
    const char *expected[] = {"true", "true", NULL, "false"};
    check_rows(call("~", 2, text("abc"), column_t()), patterns, 4, expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_count_characters),
        cmocka_unit_test(cases_follow_unicode),
        cmocka_unit_test(substr_counts_from_one_and_before),
        cmocka_unit_test(left_and_right_take_negative_counts),
        cmocka_unit_test(trims_take_sets_of_characters),
        cmocka_unit_test(pads_cut_and_fill),
        cmocka_unit_test(searching_counts_characters),
        cmocka_unit_test(split_part_counts_from_either_end),
        cmocka_unit_test(texts_are_rewritten),
        cmocka_unit_test(concatenation_takes_any_type),
        cmocka_unit_test(characters_have_codes),
        cmocka_unit_test(bytes_are_encoded),
        cmocka_unit_test(like_matches_whole_texts),
        cmocka_unit_test(like_takes_another_escape),
        cmocka_unit_test(like_knows_nulls_and_cases),
        cmocka_unit_test(like_does_not_go_back),
        cmocka_unit_test(functions_work_on_columns_with_nulls),
        cmocka_unit_test(regular_expressions_match),
        cmocka_unit_test(regular_expressions_replace),
        cmocka_unit_test(regular_expressions_find),
        cmocka_unit_test(hostile_patterns_are_errors),
        cmocka_unit_test(patterns_differ_from_row_to_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
