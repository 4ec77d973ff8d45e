#include "sql/token.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sql/statement.h"

/* The first statement of a text of n bytes is its first `first` bytes. */
static void assert_split(const char *sql, size_t n, int64_t first, bool complete)
{
    bool is_complete = !complete;
    char *exact = malloc(n + (n == 0)); /* so that reads behind it are seen */
    assert_non_null(exact);
    memcpy(exact, sql, n);
    assert_int_equal(oci_sql_split(exact, (int64_t)n, &is_complete), first);
    assert_int_equal(is_complete, complete);
    free(exact);
}

#define ASSERT_SPLIT(sql, first, complete) assert_split((sql), sizeof(sql) - 1, (first), (complete))

static void a_statement_ends_with_its_semicolon(void **state)
{
    (void)state;
    ASSERT_SPLIT("", 0, false);
    ASSERT_SPLIT(";", 1, true);
    ASSERT_SPLIT("SELECT 1; SELECT 2;", 9, true);
    ASSERT_SPLIT("SELECT 1", 8, false);
    ASSERT_SPLIT("SELECT 1 -- end", 15, false);
}

static void semicolons_in_quotes_and_comments_end_nothing(void **state)
{
    (void)state;
    ASSERT_SPLIT("'a;b';x", 6, true);
    ASSERT_SPLIT("'a'';b';x", 8, true);
    ASSERT_SPLIT("'a\\';x", 5, true);
    ASSERT_SPLIT("E'a\\';b';x", 9, true);
    ASSERT_SPLIT("\"a;\"\"b\";x", 8, true);
    ASSERT_SPLIT("$$;'$$;x", 7, true);
    ASSERT_SPLIT("$a$;$$;$a$;x", 11, true);
    ASSERT_SPLIT("-- ;\n;x", 6, true);
    ASSERT_SPLIT("/* ; /* ; */ ; */;x", 18, true);
    ASSERT_SPLIT("a$$;$$;", 4, true); /* a dollar inside a word quotes nothing */
    ASSERT_SPLIT("$1;$1;", 3, true);
}

static void what_is_left_open_is_not_complete(void **state)
{
    (void)state;
    ASSERT_SPLIT("';", 2, false);
    ASSERT_SPLIT("E'\\';", 5, false);
    ASSERT_SPLIT("E'\\", 3, false);
    ASSERT_SPLIT("\";", 2, false);
    ASSERT_SPLIT("$a$;$b$", 7, false);
    ASSERT_SPLIT("/* /* */;", 9, false);
    ASSERT_SPLIT("/*", 2, false);
    ASSERT_SPLIT("/*/", 3, false);
    ASSERT_SPLIT("$", 1, false);
}

static void any_bytes_can_be_split(void **state)
{
    (void)state;
    ASSERT_SPLIT("a\0b;\0", 4, true);
    ASSERT_SPLIT("'\0;';", 5, true);
    ASSERT_SPLIT("\xff\xfe\x80;\xc3", 4, true);
    ASSERT_SPLIT("'\xc3';", 4, true);
}

static void assert_token(const char *sql, oci_token_kind kind, int64_t start, int64_t end,
                         const char *text)
{
    oci_token token = oci_token_at(sql, (int64_t)strlen(sql), 0);
    assert_int_equal(token.kind, kind);
    assert_int_equal(token.start, start);
    assert_int_equal(token.end, end);
    if (text != NULL) {
        char *got = oci_token_text(sql, token, true);
        assert_string_equal(got, text);
        free(got);
    }
}

static void tokens_have_kinds_places_and_texts(void **state)
{
    (void)state;
    assert_token("  Sel_1$ x", OCI_TOKEN_WORD, 2, 8, "sel_1$");
    assert_token("\xc3\x84rger", OCI_TOKEN_WORD, 0, 6, "\xc3\x84rger");
    assert_token("\"A\"\"b\"c", OCI_TOKEN_NAME, 0, 6, "A\"b");
    assert_token("'It''s'", OCI_TOKEN_TEXT, 0, 7, "It's");
    assert_token("'a\\n'", OCI_TOKEN_TEXT, 0, 5, "a\\n");
    assert_token("e'a\\n\\t\\r\\\\\\''''", OCI_TOKEN_TEXT, 0, 16, "a\n\t\r\\''");
    assert_token("$$$$", OCI_TOKEN_TEXT, 0, 4, "");
    assert_token("$tag$a $$ 'b$tag$", OCI_TOKEN_TEXT, 0, 17, "a $$ 'b");
    assert_token("''", OCI_TOKEN_TEXT, 0, 2, "");
    assert_token("1.5e3)", OCI_TOKEN_NUMBER, 0, 5, "1.5e3");
    assert_token("200m", OCI_TOKEN_NUMBER, 0, 4, "200m");
    assert_token("-- x\n(", OCI_TOKEN_SYMBOL, 5, 6, NULL);
    assert_token(" /* */ ", OCI_TOKEN_END, 7, 7, NULL);
    assert_token("'a", OCI_TOKEN_OPEN, 0, 2, NULL);
}

static void words_are_the_same_in_any_case(void **state)
{
    (void)state;
    oci_token word = oci_token_at("SeLect", 6, 0);
    assert_true(oci_token_is("SeLect", word, "select"));
    assert_false(oci_token_is("SeLect", word, "selec"));
    oci_token name = oci_token_at("\"to\"", 4, 0);
    assert_false(oci_token_is("\"to\"", name, "to"));
    assert_true(oci_token_is_symbol(";", oci_token_at(";", 1, 0), ';'));
    assert_false(oci_token_is_symbol("", oci_token_at("", 0, 0), ';'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_statement_ends_with_its_semicolon),
        cmocka_unit_test(semicolons_in_quotes_and_comments_end_nothing),
        cmocka_unit_test(what_is_left_open_is_not_complete),
        cmocka_unit_test(any_bytes_can_be_split),
        cmocka_unit_test(tokens_have_kinds_places_and_texts),
        cmocka_unit_test(words_are_the_same_in_any_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
