#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats/utf8.h"
#include "support/text_of.h"

static void check(const char *columns, const char *csv, const oci_text_options *options,
                  const char *want)
{
    for (int64_t batch_rows = 1; batch_rows <= 3; batch_rows++) {
        char *text = text_of_csv(columns, csv, batch_rows, OCI_TEXT_TABLE, options);
        assert_string_equal(text, want);
        free(text);
    }
}

static void numbers_stand_right_and_texts_left(void **state)
{
    (void)state;
    oci_text_options options = {.width = 0};
    check("name utf8, price decimal(9, 2), n int64", "apple,1.5,~\n~,12,-7\n", &options,
          "┌───────┬───────┬──────┐\n"
          "│ name  │ price │    n │\n"
          "├───────┼───────┼──────┤\n"
          "│ apple │  1.50 │ NULL │\n"
          "│ NULL  │ 12.00 │   -7 │\n"
          "└───────┴───────┴──────┘\n"
          "(2 rows)\n");
    check("a int64", "1\n", &options, "┌───┐\n│ a │\n├───┤\n│ 1 │\n└───┘\n(1 row)\n");
    check("a int64, b utf8", "", &options,
          "┌───┬───┐\n│ a │ b │\n├───┼───┤\n└───┴───┘\n(0 rows)\n");
}

static void more_rows_than_wanted_are_counted(void **state)
{
    (void)state;
    oci_text_options two = {.max_rows = 2};
    check("a int64", "1\n2\n3\n4\n5\n", &two,
          "┌───┐\n│ a │\n├───┤\n│ 1 │\n│ 2 │\n└───┘\n(5 rows, 2 shown)\n");
    char csv[1024] = "";
    for (int i = 0; i < 41; i++) {
        strcat(csv, "7\n");
    }
    oci_text_options all = {.max_rows = -1};
    char *text = text_of_csv("a int64", csv, 8, OCI_TEXT_TABLE, &all);
    assert_non_null(strstr(text, "(41 rows)\n"));
    free(text);
    oci_text_options usual = {.max_rows = 0};
    text = text_of_csv("a int64", csv, 8, OCI_TEXT_TABLE, &usual);
    assert_non_null(strstr(text, "(41 rows, 40 shown)\n"));
    free(text);
}

static void wide_texts_are_cut(void **state)
{
    (void)state;
    oci_text_options narrow = {.width = 24};
    check("a utf8, b int64", "a long text that does not fit,1\n", &narrow,
          "┌──────────────────┬───┐\n"
          "│ a                │ b │\n"
          "├──────────────────┼───┤\n"
          "│ a long text tha… │ 1 │\n"
          "└──────────────────┴───┘\n"
          "(1 row)\n");
}

static void columns_in_the_middle_are_left_out(void **state)
{
    (void)state;
    oci_text_options narrow = {.width = 40};
    check("a utf8, b utf8, c utf8, d utf8, e utf8, f utf8",
          "aaaaaaaaaa,bbbbbbbbbb,cccccccccc,dddddddddd,eeeeeeeeee,ffffffffff\n", &narrow,
          "┌──────────┬──────────┬───┬──────────┐\n"
          "│ a        │ b        │ … │ f        │\n"
          "├──────────┼──────────┼───┼──────────┤\n"
          "│ aaaaaaa… │ bbbbbbb… │ … │ fffffff… │\n"
          "└──────────┴──────────┴───┴──────────┘\n"
          "(1 row; 3 columns not shown)\n");
}

static void nothing_but_text_reaches_the_terminal(void **state)
{
    (void)state;
    oci_text_options options = {.width = 0};
    check("a utf8", "\"x\ny\"\n\"\x1B[31m\"\na\xFF\xE2\x80\xAE\n\xC2\x85\n", &options,
          "┌──────────┐\n"
          "│ a        │\n"
          "├──────────┤\n"
          "│ x\\ny     │\n"
          "│ \\x1b[31m │\n"
          "│ a\xEF\xBF\xBD\\u202e │\n"
          "│ \\x85     │\n"
          "└──────────┘\n"
          "(4 rows)\n");
}

static void characters_take_their_width(void **state)
{
    (void)state;
    oci_text_options options = {.width = 0};
    check("a utf8, b utf8", "\xE6\x97\xA5\xE6\x9C\xAC,x\ne\xCC\x81,y\n\xF0\x9F\x98\x80,z\n",
          &options,
          "┌──────┬───┐\n"
          "│ a    │ b │\n"
          "├──────┼───┤\n"
          "│ \xE6\x97\xA5\xE6\x9C\xAC │ x │\n"
          "│ e\xCC\x81    │ y │\n"
          "│ \xF0\x9F\x98\x80   │ z │\n"
          "└──────┴───┘\n"
          "(3 rows)\n");
}

/* More rows than the memory for the layout holds: the rest has the widths of the first ones. */
static void rows_beyond_the_kept_ones_follow_with_the_same_widths(void **state)
{
    (void)state;
    enum { ROWS = 60000 };
    char *csv = malloc(ROWS * 32 + 64);
    size_t at = 0;
    for (int i = 0; i < ROWS; i++) {
        at += (size_t)sprintf(csv + at, "%d,some text\n", i);
    }
    sprintf(csv + at, "123456789012345,a text that is longer than all before\n");
    oci_text_options options = {.max_rows = -1};
    char *text = text_of_csv("n int64, t utf8", csv, 1000, OCI_TEXT_TABLE, &options);
    assert_non_null(strstr(text, "… │ a text t… │\n"));
    assert_non_null(strstr(text, "(60001 rows)\n"));
    free(text);
    free(csv);
}

static void utf8_is_decoded_strictly(void **state)
{
    (void)state;
    uint32_t code;
    assert_int_equal(oci_utf8_decode((const uint8_t *)"\xF4\x8F\xBF\xBF", 4, &code), 4);
    assert_int_equal(code, 0x10FFFF);
    assert_int_equal(oci_utf8_decode((const uint8_t *)"\xF4\x90\x80\x80", 4, &code), 0);
    assert_int_equal(oci_utf8_decode((const uint8_t *)"\xE0\x80\xAF", 3, &code), 0);
    assert_int_equal(oci_utf8_decode((const uint8_t *)"\xC3\xA9", 1, &code), 0);
    assert_int_equal(oci_utf8_decode((const uint8_t *)"\xC1\xA9", 2, &code), 0);
    assert_int_equal(oci_utf8_width('a'), 1);
    assert_int_equal(oci_utf8_width(0x301), 0);
    assert_int_equal(oci_utf8_width(0x65E5), 2);
    assert_int_equal(oci_utf8_width(0x20AC), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_stand_right_and_texts_left),
        cmocka_unit_test(more_rows_than_wanted_are_counted),
        cmocka_unit_test(wide_texts_are_cut),
        cmocka_unit_test(columns_in_the_middle_are_left_out),
        cmocka_unit_test(nothing_but_text_reaches_the_terminal),
        cmocka_unit_test(characters_take_their_width),
        cmocka_unit_test(rows_beyond_the_kept_ones_follow_with_the_same_widths),
        cmocka_unit_test(utf8_is_decoded_strictly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
