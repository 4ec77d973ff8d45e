/* Unit tests of excerpts: the mark stands under the place, whatever the line holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/excerpt.h"

static void check(const char *text, int64_t position, int64_t line, const char *expected)
{
    char out[OCI_CLI_EXCERPT_BYTES];
    assert_int_equal(oci_cli_format_excerpt(text, strlen(text), position, out), line);
    assert_string_equal(out, expected);
}

static void excerpt_marks_the_place(void **state)
{
    (void)state;
    check("SELECT nmae FROM t", 7, 1, "LINE 1: SELECT nmae FROM t\n               ^\n");
    check("SELECT 1", 0, 1, "LINE 1: SELECT 1\n        ^\n");
    check("SELECT", 6, 1, "LINE 1: SELECT\n              ^\n");
}

static void excerpt_takes_the_line_of_the_place(void **state)
{
    (void)state;
    check("SELECT a\nFROM x\nWHERE", 9, 2, "LINE 2: FROM x\n        ^\n");
}

static void excerpt_counts_characters_not_bytes(void **state)
{
    (void)state;
    check("SELECT '\u00e4\u00f6\u00fc' x", 16, 1,
          "LINE 1: SELECT '\u00e4\u00f6\u00fc' x\n                     ^\n");
}

static void excerpt_cuts_long_lines(void **state)
{
    (void)state;
    char text[301];
    char out[OCI_CLI_EXCERPT_BYTES];
    memset(text, 'x', 300);
    text[300] = '\0';
    text[150] = 'y';
    oci_cli_format_excerpt(text, 300, 150, out);
    const char *mark = strchr(out, '^');
    const char *second = strchr(out, '\n') + 1;
    assert_non_null(mark);
    assert_int_equal(out[mark - second], 'y');
    assert_true(second - out < 110);
    assert_memory_equal(out, "LINE 1: ...x", 12);
}

static void excerpt_shows_no_control_characters(void **state)
{
    (void)state;
    check("a\tb\033[1m", 3, 1, "LINE 1: a b [1m\n           ^\n");
}

static void excerpt_of_no_place_is_empty(void **state)
{
    (void)state;
    check("SELECT 1", -1, 1, "");
    check("SELECT 1", 9, 1, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(excerpt_marks_the_place),
        cmocka_unit_test(excerpt_takes_the_line_of_the_place),
        cmocka_unit_test(excerpt_counts_characters_not_bytes),
        cmocka_unit_test(excerpt_cuts_long_lines),
        cmocka_unit_test(excerpt_shows_no_control_characters),
        cmocka_unit_test(excerpt_of_no_place_is_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
