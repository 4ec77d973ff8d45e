/* Unit tests of the command line parser: what ends up in oci_cli_options, and what is refused. What
 * is printed is tested from outside, in tests/cli. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli/option_table.h"

#define ARGUMENTS_MAX 32

/* Splits `text` at blanks and parses it behind the name of the program. Copies live as long as the
 * test. */
static int parse_text(const char *text, oci_cli_options *options)
{
    static char copy[256];
    static char program[] = "outcore";
    static char *argv[ARGUMENTS_MAX];
    int argc = 1;
    snprintf(copy, sizeof copy, "%s", text);
    argv[0] = program;
    for (char *word = copy; *word != '\0' && argc < ARGUMENTS_MAX - 1;) {
        argv[argc++] = word;
        word += strcspn(word, " ");
        if (*word != '\0') {
            *word++ = '\0';
        }
    }
    argv[argc] = NULL;
    return oci_cli_parse_options(argc, argv, options);
}

static void parse_fills_all_kinds_of_options(void **state)
{
    (void)state;
    oci_cli_options o;
    assert_int_equal(parse_text("-qm64m sort a - --by=x -k y --limit 5 --header no --maxrows all "
                                "--spill-compression zstd:-3 --delimiter \\t",
                                &o),
                     OCI_CLI_EXIT_OK);
    assert_int_equal(o.command, OCI_CLI_SORT);
    assert_int_equal(o.words.n, 2);
    assert_string_equal(o.words.items[0], "a");
    assert_string_equal(o.words.items[1], "-");
    assert_int_equal(o.by.n, 2);
    assert_string_equal(o.by.items[0], "x");
    assert_string_equal(o.by.items[1], "y");
    assert_true(o.quiet);
    assert_int_equal(o.memory_limit, 64 << 20);
    assert_int_equal(o.limit, 5);
    assert_int_equal(o.header, OCI_CLI_HEADER_NO);
    assert_int_equal(o.max_rows, -1);
    assert_int_equal(o.spill.codec, OC_CODEC_ZSTD);
    assert_int_equal(o.spill.level, -3);
    assert_int_equal(o.delimiter, '\t');
    oci_cli_free_options(&o);
}

static void parse_keeps_the_order_of_sql(void **state)
{
    (void)state;
    static const char *const expected[] = {OCI_CLI_TEXT, "a", OCI_CLI_SCRIPT, "b.sql",
                                           OCI_CLI_TEXT, "c", OCI_CLI_TEXT,   "VALUES(1)"};
    oci_cli_options o;
    assert_int_equal(parse_text("-c a -f b.sql --command c VALUES(1) --no-config", &o),
                     OCI_CLI_EXIT_OK);
    assert_int_equal(o.command, OCI_CLI_NONE);
    assert_true(o.no_config);
    assert_int_equal(o.sources.n, 8);
    for (size_t i = 0; i < 8; i++) {
        assert_string_equal(o.sources.items[i], expected[i]);
    }
    oci_cli_free_options(&o);
}

static void parse_tells_sql_from_commands(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t n_sources;
    } cases[] = {{"VALUES(1)", 2}, {".tables", 2}, {"\\d", 2}, {"sort", 0}, {"", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        oci_cli_options o;
        assert_int_equal(parse_text(cases[i].text, &o), OCI_CLI_EXIT_OK);
        assert_int_equal(o.sources.n, cases[i].n_sources);
        oci_cli_free_options(&o);
    }
}

static void parse_leaves_what_is_not_given_unset(void **state)
{
    (void)state;
    oci_cli_options o;
    assert_int_equal(parse_text("sort", &o), OCI_CLI_EXIT_OK);
    assert_int_equal(o.limit, -1);
    assert_int_equal(o.memory_limit, 0);
    assert_int_equal(o.threads, 0);
    assert_null(o.output);
    assert_null(o.select);
    assert_int_equal(o.format, OC_FORMAT_AUTO);
    assert_int_equal(o.words.n, 0);
    oci_cli_free_options(&o);
}

static void parse_takes_words_behind_two_dashes(void **state)
{
    (void)state;
    oci_cli_options o;
    assert_int_equal(parse_text("convert -- --limit -o", &o), OCI_CLI_EXIT_OK);
    assert_int_equal(o.words.n, 2);
    assert_string_equal(o.words.items[0], "--limit");
    assert_string_equal(o.words.items[1], "-o");
    oci_cli_free_options(&o);
}

static void parse_refuses_wrong_usage(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "srot",
        "data.csv",
        "-c",
        "sort -c x",
        "--limit 3",
        "-c x --by a",
        "sort --lim",
        "sort -m",
        "sort -m 1x",
        "sort -m 0",
        "sort -t 0",
        "sort -t 1025",
        "sort -b x",
        "sort --limit -1",
        "sort --limit 9223372036854775808",
        "sort --quiet=1",
        "sort --format xls",
        "sort --delimiter ab",
        "sort --delimiter \"",
        "sort --spill-compression zstd:",
        "sort --spill-compression lz4:1",
        "inspect --by a",
        "convert --by a",
        "sort --output-header auto",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        oci_cli_options o;
        assert_int_equal(parse_text(wrong[i], &o), OCI_CLI_EXIT_USAGE);
        oci_cli_free_options(&o);
    }
}

static void parse_of_help_forgives_what_follows(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        oci_cli_command command;
    } cases[] = {
        {"--help", OCI_CLI_NONE},
        {"--help sort", OCI_CLI_SORT},
        {"sort -h --nonsense", OCI_CLI_SORT},
        {"-h nonsense", OCI_CLI_NONE},
        {"convert a b c -h", OCI_CLI_CONVERT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        oci_cli_options o;
        assert_int_equal(parse_text(cases[i].text, &o), OCI_CLI_EXIT_OK);
        assert_true(o.help);
        assert_int_equal(o.command, cases[i].command);
        oci_cli_free_options(&o);
    }
}

/* Parsing relies on this, and a reader of help expects it. */
static void table_has_unique_names_and_help(void **state)
{
    (void)state;
    for (size_t i = 0; i < OCI_CLI_N_OPTIONS; i++) {
        const oci_cli_option *a = &oci_cli_option_table[i];
        assert_non_null(a->take);
        assert_true(a->group == NULL || (a->help != NULL && a->name != NULL));
        for (size_t j = i + 1; j < OCI_CLI_N_OPTIONS; j++) {
            const oci_cli_option *b = &oci_cli_option_table[j];
            assert_true(a->letter == 0 || a->letter != b->letter);
            assert_true(a->name == NULL || b->name == NULL || strcmp(a->name, b->name) != 0);
        }
    }
}

static void append_keeps_all_items(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
    oci_cli_options o = {.limit = -1};
    for (size_t i = 0; i < 9; i++) {
        assert_true(oci_cli_append(&o.words, names[i]));
    }
    assert_int_equal(o.words.n, 9);
    for (size_t i = 0; i < 9; i++) {
        assert_ptr_equal(o.words.items[i], names[i]);
    }
    oci_cli_free_options(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parse_fills_all_kinds_of_options),
        cmocka_unit_test(parse_keeps_the_order_of_sql),
        cmocka_unit_test(parse_tells_sql_from_commands),
        cmocka_unit_test(parse_leaves_what_is_not_given_unset),
        cmocka_unit_test(parse_takes_words_behind_two_dashes),
        cmocka_unit_test(parse_refuses_wrong_usage),
        cmocka_unit_test(parse_of_help_forgives_what_follows),
        cmocka_unit_test(table_has_unique_names_and_help),
        cmocka_unit_test(append_keeps_all_items),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
