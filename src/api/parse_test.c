/* Unit tests of the small texts: sort keys, names, formats, sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "outcore/outcore.h"

/* Keys written down again: `name|` or `#index|`, D when descending, F or L for nulls. */
static char *keys_of(const char *text)
{
    static char shown[512];
    oc_sort_key *keys = NULL;
    size_t n = 0;
    oc_error err = {0};
    if (oc_parse_sort_keys(text, &keys, &n, &err) != OC_OK) {
        snprintf(shown, sizeof shown, "error: %.400s", err.message);
        return shown;
    }
    shown[0] = '\0';
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        const oc_sort_key *key = &keys[i];
        char index[16];
        snprintf(index, sizeof index, "#%d", key->column_index);
        used += (size_t)snprintf(shown + used, sizeof shown - used, "%s%s|%s%s", i > 0 ? " " : "",
                                 key->column != NULL ? key->column : index,
                                 key->descending ? "D" : "",
                                 key->nulls == OC_NULLS_FIRST  ? "F"
                                 : key->nulls == OC_NULLS_LAST ? "L"
                                                               : "");
    }
    oc_free_sort_keys(keys, n);
    return shown;
}

static void sort_keys_are_names_with_directions(void **state)
{
    (void)state;
    assert_string_equal(keys_of("a"), "a|");
    assert_string_equal(keys_of("  a  "), "a|");
    assert_string_equal(keys_of("a,b"), "a| b|");
    assert_string_equal(keys_of("a asc, b desc ,c DESC"), "a| b|D c|D");
    assert_string_equal(keys_of("a ascending, b Descending"), "a| b|D");
    assert_string_equal(keys_of("a nulls first, b desc nulls last"), "a|F b|DL");
    assert_string_equal(keys_of("a\tNULLS\nFIRST\r,b"), "a|F b|");
}

static void columns_may_be_given_by_position(void **state)
{
    (void)state;
    assert_string_equal(keys_of("1, 2 desc"), "#0| #1|D");
    assert_string_equal(keys_of("99999999"), "#99999998|");
    /* Too long for a position, quoted, or not all digits: a name. */
    assert_string_equal(keys_of("123456789"), "123456789|");
    assert_string_equal(keys_of("\"1\" desc"), "1|D");
    assert_string_equal(keys_of("1a, -1, 1.5"), "1a| -1| 1.5|");
    assert_non_null(strstr(keys_of("a, 0"), "column positions begin with 1"));
    assert_non_null(strstr(keys_of("000"), "column positions begin with 1"));
}

static void quotes_take_any_name(void **state)
{
    (void)state;
    assert_string_equal(keys_of("\"odd, name\" desc"), "odd, name|D");
    assert_string_equal(keys_of("\"say \"\"so\"\"\""), "say \"so\"|");
    assert_string_equal(keys_of("\"\""), "|");
    assert_string_equal(keys_of("\"\"\"\""), "\"|");
    assert_string_equal(keys_of("\"desc\""), "desc|");
    assert_string_equal(keys_of("\xc3\xa4 desc"), "\xc3\xa4|D");
    assert_string_equal(keys_of("a\"b"), "a\"b|");
}

static void keywords_are_names_where_a_name_is_due(void **state)
{
    (void)state;
    assert_string_equal(keys_of("desc"), "desc|");
    assert_string_equal(keys_of("desc desc"), "desc|D");
    assert_string_equal(keys_of("nulls nulls last"), "nulls|L");
}

static void bad_sort_keys_are_refused_with_their_place(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"", "position 1: a column name is missing"},
        {"   ", "a column name is missing"},
        {",", "position 1: a column name is missing"},
        {"a,", "position 3: a column name is missing"},
        {"a,,b", "position 3: a column name is missing"},
        {"a b", "position 3: expected a comma"},
        {"a descend", "expected a comma"},
        {"a desc asc", "expected a comma"},
        {"a nulls", "expected \"first\" or \"last\""},
        {"a nulls firstly", "expected \"first\" or \"last\""},
        {"a nulls last desc", "expected a comma"},
        {"\"a", "a quote is not closed"},
        {"a, \"b\"\"", "a quote is not closed"},
        {"\"", "a quote is not closed"},
        {"\"a\"b", "expected a comma"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const char *got = keys_of(bad[i][0]);
        if (strncmp(got, "error: ", 7) != 0 || strstr(got, bad[i][1]) == NULL) {
            fail_msg("\"%s\" gave %s", bad[i][0], got);
        }
        oc_sort_key *keys;
        size_t n;
        assert_int_equal(oc_parse_sort_keys(bad[i][0], &keys, &n, NULL), OC_EINVAL);
    }
}

static void names_are_lists_of_words(void **state)
{
    (void)state;
    char **names = NULL;
    size_t n = 0;
    assert_int_equal(oc_parse_names(" a ,\"b \"\"c\"\"\",7", &names, &n, NULL), OC_OK);
    assert_int_equal(n, 3);
    assert_string_equal(names[0], "a");
    assert_string_equal(names[1], "b \"c\"");
    assert_string_equal(names[2], "7");
    oc_free_names(names, n);
    static const char *const bad[] = {"", ",", "a,", "a b", "\"a", "a,,b", "a,\"b"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        oc_error err = {0};
        assert_int_equal(oc_parse_names(bad[i], &names, &n, &err), OC_EINVAL);
        assert_non_null(strstr(err.message, "position"));
        assert_int_equal(oc_parse_names(bad[i], &names, &n, NULL), OC_EINVAL);
    }
    oc_free_names(NULL, 0);
    oc_free_sort_keys(NULL, 0);
}

static void formats_are_known_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        oc_format format;
    } known[] = {
        {"csv", OC_FORMAT_CSV},      {"CSV", OC_FORMAT_CSV},       {"tsv", OC_FORMAT_TSV},
        {"tbl", OC_FORMAT_TBL},      {"json", OC_FORMAT_JSON},     {"ndjson", OC_FORMAT_NDJSON},
        {"jsonl", OC_FORMAT_NDJSON}, {"arrow", OC_FORMAT_ARROW},   {"feather", OC_FORMAT_ARROW},
        {"ipc", OC_FORMAT_ARROW},    {"Arrows", OC_FORMAT_ARROWS}, {"table", OC_FORMAT_TABLE},
        {"null", OC_FORMAT_NULL},    {"auto", OC_FORMAT_AUTO},     {"parquet", OC_FORMAT_PARQUET},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        oc_format format = OC_FORMAT_TBL;
        assert_true(oc_format_parse(known[i].text, &format));
        assert_int_equal(format, known[i].format);
    }
    static const char *const unknown[] = {"", "cs", "csvv", " csv", "parquets", "csv "};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        oc_format format = OC_FORMAT_TBL;
        assert_false(oc_format_parse(unknown[i], &format));
        assert_int_equal(format, OC_FORMAT_TBL);
    }
}

static void sizes_are_read_through_the_public_call(void **state)
{
    (void)state;
    int64_t bytes = 0;
    assert_int_equal(oc_parse_size("1.5k", &bytes, NULL), OC_OK);
    assert_int_equal(bytes, 1536);
    assert_int_equal(oc_parse_size("2GiB", &bytes, NULL), OC_OK);
    assert_int_equal(bytes, (int64_t)2 << 30);
    oc_error err = {0};
    static const char *const bad[] = {"", "m", "-1", "1x", "99999999999t", "nan", "1 2"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (oc_parse_size(bad[i], &bytes, &err) != OC_EINVAL) {
            fail_msg("\"%s\" was taken", bad[i]);
        }
        assert_int_equal(oc_parse_size(bad[i], &bytes, NULL), OC_EINVAL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sort_keys_are_names_with_directions),
        cmocka_unit_test(columns_may_be_given_by_position),
        cmocka_unit_test(quotes_take_any_name),
        cmocka_unit_test(keywords_are_names_where_a_name_is_due),
        cmocka_unit_test(bad_sort_keys_are_refused_with_their_place),
        cmocka_unit_test(names_are_lists_of_words),
        cmocka_unit_test(formats_are_known_by_name),
        cmocka_unit_test(sizes_are_read_through_the_public_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
