#include "sql/statement.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/sql_catalog.h"

#define MIB ((int64_t)1 << 20)

static oc_status parse_bytes(const char *sql, int64_t size, oci_statement *out, int64_t *position,
                             oc_error *err)
{
    oci_catalog *catalog = make_sql_catalog();
    char *exact = malloc((size_t)size + (size == 0)); /* so that reads behind it are seen */
    assert_non_null(exact);
    memcpy(exact, sql, (size_t)size);
    *err = (oc_error){0};
    oc_status status = oci_statement_parse(exact, size, catalog, 0, out, position, err);
    free(exact);
    oci_catalog_destroy(catalog);
    return status;
}

static oci_statement parse(const char *sql, oci_statement_kind kind)
{
    oci_statement statement;
    int64_t position;
    oc_error err;
    if (parse_bytes(sql, (int64_t)strlen(sql), &statement, &position, &err) != OC_OK) {
        fail_msg("%s: %s", sql, err.message);
    }
    assert_int_equal(statement.kind, kind);
    return statement;
}

/* The statement is refused at this byte, -1 = none, with this in the message. */
static void refuse(const char *sql, int64_t position, const char *part)
{
    oci_statement statement;
    int64_t at = -2;
    oc_error err;
    oc_status status = parse_bytes(sql, (int64_t)strlen(sql), &statement, &at, &err);
    assert_true(status == OC_EINVAL || status == OC_EUNSUPPORTED || status == OC_EIO);
    if (strstr(err.message, part) == NULL || at != position) {
        fail_msg("%s: \"%s\" at %d is not: %s at %d", sql, part, (int)position, err.message,
                 (int)at);
    }
}

static void accept_query(const char *sql, int32_t n_columns)
{
    oci_statement s = parse(sql, OCI_STATEMENT_QUERY);
    assert_non_null(s.plan);
    assert_int_equal(s.plan->schema->n_fields, n_columns);
    oci_statement_deinit(&s);
}

/* ---- kinds of statements --------------------------------------------------------------------- */

static void blanks_and_comments_are_the_empty_statement(void **state)
{
    (void)state;
    const char *texts[] = {"", " \n", ";", "-- x", "/* x */ ; "};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        oci_statement s = parse(texts[i], OCI_STATEMENT_EMPTY);
        oci_statement_deinit(&s);
    }
}

static void queries_become_plans(void **state)
{
    (void)state;
    accept_query("SELECT a, b FROM t WHERE c > 1 ORDER BY 1 DESC LIMIT 3;", 2);
    accept_query("SELECT * FROM t", 3);
    accept_query("SELECT * FROM v", 2);
    accept_query("VALUES (1, 'x'), (2, NULL)", 2);
    accept_query("WITH q AS (SELECT a FROM t) SELECT * FROM q UNION ALL SELECT 1", 1);
    accept_query("SELECT b, count(*), sum(c) FROM t GROUP BY b HAVING count(*) > 1", 3);
    accept_query("SELECT DISTINCT b FROM t", 1);
}

static void explain_takes_both_ways_of_writing_options(void **state)
{
    (void)state;
    oci_statement s = parse("EXPLAIN SELECT 1", OCI_STATEMENT_EXPLAIN);
    assert_non_null(s.plan);
    assert_false(s.analyze || s.json);
    oci_statement_deinit(&s);
    s = parse("explain analyze format json select 1", OCI_STATEMENT_EXPLAIN);
    assert_true(s.analyze && s.json);
    oci_statement_deinit(&s);
    s = parse("EXPLAIN (ANALYZE, COSTS off, FORMAT json) SELECT 1", OCI_STATEMENT_EXPLAIN);
    assert_true(s.analyze && s.json);
    oci_statement_deinit(&s);
    s = parse("EXPLAIN (ANALYZE false, FORMAT text) SELECT 1", OCI_STATEMENT_EXPLAIN);
    assert_false(s.analyze || s.json);
    oci_statement_deinit(&s);
}

static void copy_has_a_query_or_a_table_a_file_and_options(void **state)
{
    (void)state;
    oci_statement s = parse("COPY (SELECT a FROM t) TO 'o.x' (FORMAT CSV, HEADER, delimiter ';')",
                            OCI_STATEMENT_COPY_TO);
    assert_int_equal(s.plan->schema->n_fields, 1);
    assert_string_equal(s.path, "o.x");
    assert_string_equal(s.format, "csv");
    assert_int_equal(s.n_options, 2);
    assert_string_equal(s.options[0].name, "header");
    assert_string_equal(s.options[0].value, "true");
    assert_string_equal(s.options[1].name, "delimiter");
    assert_string_equal(s.options[1].value, ";");
    oci_statement_deinit(&s);
    s = parse("COPY t TO 'o''1.arrow' STORED AS ARROW OPTIONS ('Format.Level' 3);",
              OCI_STATEMENT_COPY_TO);
    assert_int_equal(s.plan->schema->n_fields, 3);
    assert_string_equal(s.path, "o'1.arrow");
    assert_string_equal(s.format, "arrow");
    assert_string_equal(s.options[0].name, "level");
    assert_string_equal(s.options[0].value, "3");
    oci_statement_deinit(&s);
}

static void external_tables_have_a_place_a_format_and_columns(void **state)
{
    (void)state;
    oci_statement s = parse("CREATE OR REPLACE EXTERNAL TABLE IF NOT EXISTS Big (a int, b text) "
                            "STORED AS CSV WITH HEADER ROW LOCATION 'd/*.csv'",
                            OCI_STATEMENT_CREATE_TABLE);
    assert_string_equal(s.name, "big");
    assert_string_equal(s.path, "d/*.csv");
    assert_string_equal(s.format, "csv");
    assert_string_equal(s.columns, "a int, b text");
    assert_string_equal(s.options[0].name, "header");
    assert_true(s.or_replace && s.if_exists);
    oci_statement_deinit(&s);
    s = parse("CREATE EXTERNAL TABLE \"A b\" LOCATION 'x'", OCI_STATEMENT_CREATE_TABLE);
    assert_string_equal(s.name, "A b");
    assert_null(s.format);
    assert_null(s.columns);
    oci_statement_deinit(&s);
}

static void views_keep_their_text(void **state)
{
    (void)state;
    oci_statement s =
        parse("CREATE VIEW w AS SELECT a FROM t WHERE b = ';';", OCI_STATEMENT_CREATE_VIEW);
    assert_string_equal(s.name, "w");
    assert_string_equal(s.view_sql, "SELECT a FROM t WHERE b = ';'");
    oci_statement_deinit(&s);
    refuse("CREATE VIEW w AS SELECT z FROM t", 24, "\"z\"");
    refuse("CREATE VIEW w AS SELECT 1; SELECT 2", 27, "the end of the statement");
}

static void small_statements_name_what_they_are_about(void **state)
{
    (void)state;
    oci_statement s = parse("DROP TABLE IF EXISTS T;", OCI_STATEMENT_DROP);
    assert_string_equal(s.name, "t");
    assert_true(s.if_exists);
    oci_statement_deinit(&s);
    s = parse("DROP VIEW v", OCI_STATEMENT_DROP);
    assert_false(s.if_exists);
    oci_statement_deinit(&s);
    s = parse("SHOW TABLES", OCI_STATEMENT_SHOW_TABLES);
    oci_statement_deinit(&s);
    s = parse("SHOW ALL", OCI_STATEMENT_SHOW);
    assert_string_equal(s.name, "all");
    oci_statement_deinit(&s);
    s = parse("RESET a.B", OCI_STATEMENT_RESET);
    assert_string_equal(s.name, "a.b");
    oci_statement_deinit(&s);
}

static void settings_are_texts_or_what_stands_there(void **state)
{
    (void)state;
    const char *texts[] = {"SET m = 200M", "SET m TO '200M';", "set session m = -1 ;",
                           "SET m = DEFAULT"};
    const char *values[] = {"200M", "200M", "-1", NULL};
    for (int i = 0; i < 4; i++) {
        oci_statement s = parse(texts[i], OCI_STATEMENT_SET);
        assert_string_equal(s.name, "m");
        assert_true((s.value == NULL) == (values[i] == NULL));
        if (values[i] != NULL) {
            assert_string_equal(s.value, values[i]);
        }
        oci_statement_deinit(&s);
    }
    refuse("SET m =", 7, "ends where a value is wanted");
}

static void describe_takes_tables_files_and_queries(void **state)
{
    (void)state;
    const char *texts[] = {"DESCRIBE t", "DESC \"t\";", "DESCRIBE SELECT 1, 2, 3",
                           "DESCRIBE (SELECT * FROM t);"};
    for (int i = 0; i < 4; i++) {
        oci_statement s = parse(texts[i], OCI_STATEMENT_DESCRIBE);
        assert_int_equal(s.plan->schema->n_fields, 3);
        oci_statement_deinit(&s);
    }
    oci_statement s = parse("DESCRIBE 'd/x.csv'", OCI_STATEMENT_DESCRIBE);
    assert_int_equal(s.plan->schema->n_fields, 1);
    oci_statement_deinit(&s);
    refuse("DESCRIBE \"t\"\" WHERE false --\"", 9, "there is no table \"t\" WHERE false --\"");
}

/* ---- files and subqueries in FROM ------------------------------------------------------------ */

static void from_takes_a_file_in_quotes(void **state)
{
    (void)state;
    accept_query("SELECT x FROM 'a.csv'", 1);
    accept_query("SELECT q.x FROM 'a b.csv' AS q WHERE x > 1", 1);
    accept_query("SELECT * FROM (SELECT x FROM 'a.csv') s UNION ALL SELECT x FROM 'b.csv'", 1);
    accept_query("SELECT x AS \"\xc3\xa4\" FROM '\xc3\xb6.csv'", 1);
    accept_query("SELECT x FROM 'a/path/longer/than/the/sixty-three/bytes/that/a/name/may/have/"
                 "in/the/parser.csv'",
                 1);
    refuse("SELECT * FROM 'none'", 14, "there is no file \"none\"");
    refuse("SELECT * FROM ''", 14, "syntax error");
}

static void a_file_may_stand_behind_join_and_comma(void **state)
{
    (void)state;
    refuse("SELECT * FROM t JOIN 'b.csv' ON true", 21, "not supported");
    refuse("SELECT * FROM t, 'b.csv'", 17, "not supported");
}

static void other_texts_stay_texts(void **state)
{
    (void)state;
    accept_query("SELECT trim(both from 'x')", 1);
    accept_query("SELECT trim(both 'y' from b) FROM t", 1);
    refuse("SELECT a FROM t WHERE 'x' 'y'", 26, "syntax error");
}

static void subqueries_need_no_alias(void **state)
{
    (void)state;
    accept_query("SELECT a FROM (SELECT a FROM t)", 1);
    accept_query("SELECT * FROM (SELECT * FROM (SELECT a FROM t)) WHERE a > 1", 1);
    refuse("SELECT z FROM (SELECT a FROM t)", 7, "line 1, column 8");
    refuse("SELECT a FROM (SELECT a FROM t) WHERE z", 38, "line 1, column 39");
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void errors_tell_the_place(void **state)
{
    (void)state;
    refuse("SELEC 1", 0, "syntax error at or near \"SELEC\", at line 1, column 1");
    refuse("SELECT 1 +", 10, "at line 1, column 11");
    refuse("SELECT a,\n  zz FROM t", 12, "at line 2, column 3");
    refuse("SELECT '\xc3\xa4\xc3\xb6',\nzz FROM t", 15, "at line 2, column 1");
    refuse("SELECT '\xc3\xa4\xc3\xb6', zz FROM t", 15, "at line 1, column 14");
    refuse("  SELECT * FROM nowhere", 16, "there is no table \"nowhere\"; there are \"t\", \"v\"");
    refuse("EXPLAIN SELECT zz FROM t", 15, "at line 1, column 16");
    refuse("COPY (SELECT zz FROM t) TO 'x'", 13, "at line 1, column 14");
    refuse("COPY (SELECT 1", 14, "a closing parenthesis is wanted, at line 1, column 15");
    refuse("COPY a.'b' TO 'x'", 7, "a name behind the point is wanted");
    refuse("CREATE TABLE t (a int)", 7, "EXTERNAL TABLE and VIEW only");
    refuse("CREATE EXTERNAL TABLE t", 23, "LOCATION");
    refuse("INSERT INTO t VALUES (1)", 0, "not supported");
    refuse("SELECT 1; SELECT 2", 0, "one statement is wanted here, not 2");
    refuse("'abc", 0, "does not end");
}

static void grouping_errors_tell_what_is_wrong(void **state)
{
    (void)state;
    refuse("SELECT a, count(*) FROM t", 7, "\"a\"");
    refuse("SELECT b FROM t GROUP BY a", 7, "\"b\"");
    refuse("SELECT a FROM t WHERE count(*) > 1", 22,
           "aggregate functions are not allowed in WHERE");
    refuse("SELECT sum(sum(a)) FROM t", 11, "aggregate");
    refuse("SELECT a FROM t GROUP BY 2", 25, "GROUP BY position 2 is not in the select list");
    refuse("SELECT sum(b) FROM t", 7, "sum");
    refuse("SELECT a FROM t ORDER BY 2", 25, "ORDER BY position 2 is not in the select list");
}

/* ---- hostile texts --------------------------------------------------------------------------- */

/* Taken, or refused with a message. */
static void survive(const char *sql, int64_t size)
{
    oci_statement statement;
    int64_t position = -2;
    oc_error err;
    if (parse_bytes(sql, size, &statement, &position, &err) == OC_OK) {
        oci_statement_deinit(&statement);
    } else {
        assert_true(err.message[0] != '\0');
        assert_in_range(position + 1, 0, size + 1);
    }
}

/* `start`, then as many of `piece` as make up `size` bytes. */
static void survive_many(const char *start, const char *piece, int64_t size)
{
    char *text = malloc((size_t)size);
    assert_non_null(text);
    int64_t at = (int64_t)strlen(start);
    memcpy(text, start, (size_t)at);
    for (int64_t i = 0; at < size; i++) {
        text[at++] = piece[i % (int64_t)strlen(piece)];
    }
    survive(text, size);
    free(text);
}

#define KIB_64 (64 << 10)

static void long_and_deep_texts_are_survived(void **state)
{
    (void)state;
    survive_many("SELECT 1", "+1", KIB_64);
    survive_many("SELECT ", "(", KIB_64);
    survive_many("", "(", KIB_64);
    survive_many("SELECT ", "not ", KIB_64);
    survive_many("SELECT ", "- ", KIB_64);
    survive_many("SELECT ", "CASE WHEN ", KIB_64);
    survive_many("SELECT * FROM ", "(SELECT * FROM ", 4 << 10);
    survive_many("SELECT 1", " UNION ALL SELECT 1", 4 << 10);
    survive_many("SELECT a FROM t WHERE a IN (1", ",1", KIB_64);
    survive_many("COPY ", "(", KIB_64);
    survive_many("EXPLAIN (", "a,", KIB_64);
    survive_many("COPY t TO 'x' (", "a 'b',", KIB_64);
    survive_many("SHOW a", ".a", 4 << 10);
    survive_many("/*", "/*", KIB_64);
    survive_many("SELECT $", "a", KIB_64);
}

/* The parser alone would take minutes for these. */
static void chains_of_a_mebibyte_are_refused_at_once(void **state)
{
    (void)state;
    static const char *const pieces[] = {"+1", "::int", " AT TIME ZONE 'UTC'", " COLLATE \"C\"",
                                         "[1]"};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        int64_t n = MIB / (int64_t)strlen(pieces[i]) - 10;
        int64_t size = (int64_t)strlen("SELECT a") + n * (int64_t)strlen(pieces[i]);
        char *text = malloc((size_t)size + 1);
        oci_statement statement;
        int64_t position;
        oc_error err;
        assert_non_null(text);
        char *at = stpcpy(text, "SELECT a");
        for (int64_t k = 0; k < n; k++) {
            at = stpcpy(at, pieces[i]);
        }
        assert_int_equal(parse_bytes(text, size, &statement, &position, &err), OC_EINVAL);
        assert_non_null(strstr(err.message, "in a row"));
        assert_in_range(position, 1, size);
        free(text);
    }
}

static void long_lists_are_no_chains(void **state)
{
    (void)state;
    survive_many("SELECT a FROM t WHERE a = 1", " OR a = 1", KIB_64);
    char *text = malloc((size_t)MIB);
    char *at = stpcpy(text, "SELECT 1");
    for (int i = 0; i < 30000; i++) {
        at = stpcpy(at, ", 1 + 1");
    }
    accept_query(text, 30001);
    free(text);
}

static void too_many_files_by_name_are_told(void **state)
{
    (void)state;
    char *text = malloc((size_t)MIB);
    char *at = stpcpy(text, "SELECT x FROM 'a.csv'");
    for (int i = 0; i < 1100; i++) {
        at = stpcpy(at, " UNION ALL SELECT x FROM 'a.csv'");
    }
    oci_statement statement;
    int64_t position;
    oc_error err;
    assert_int_equal(parse_bytes(text, at - text, &statement, &position, &err), OC_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "too many files"));
    assert_memory_equal(text + position, "'a.csv'", 7);
    free(text);
}

static void too_long_a_text_is_refused(void **state)
{
    (void)state;
    char *text = malloc((size_t)MIB + 1);
    oci_statement statement;
    int64_t position;
    oc_error err;
    assert_non_null(text);
    memset(text, ' ', (size_t)MIB + 1);
    assert_int_equal(parse_bytes(text, MIB, &statement, &position, &err), OC_OK);
    assert_int_equal(parse_bytes(text, MIB + 1, &statement, &position, &err), OC_EINVAL);
    assert_non_null(strstr(err.message, "too long"));
    free(text);
}

static void nul_bytes_are_refused_where_they_stand(void **state)
{
    (void)state;
    static const char *const texts[] = {"SELECT '?'", "COPY t TO 'a?b'", "SET m = a?b",
                                        "CREATE EXTERNAL TABLE x (a?b) LOCATION 'y'"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char *text = strdup(texts[i]);
        int64_t size = (int64_t)strlen(text);
        int64_t at = strchr(text, '?') - text;
        oci_statement statement;
        int64_t position;
        oc_error err;
        text[at] = '\0';
        assert_int_equal(parse_bytes(text, size, &statement, &position, &err), OC_EINVAL);
        assert_int_equal(position, at);
        assert_non_null(strstr(err.message, "NUL"));
        free(text);
    }
}

/* Random bytes, and random words of SQL. */
static void random_texts_are_survived(void **state)
{
    (void)state;
    static const char *const words[] = {
        "SELECT ", "FROM ",   "t ",  "'a.csv' ", "( ",       ") ",     ", ",        "a ",
        "b ",      "count(",  "* ",  "GROUP ",   "BY ",      "ORDER ", "1 ",        "'",
        "\"",      "EXPLAIN", "; ",  "WHERE ",   "COPY ",    "TO ",    "WITH ",     "AS ",
        "UNION ",  "CASE ",   "$$ ", "NULL ",    "\xc3\xa4", "\xff",   "DESCRIBE ", "::int "};
    uint64_t seed = 1;
    for (int round = 0; round < 1000; round++) {
        char text[256];
        size_t size = 0;
        size_t wanted = (size_t)(round % 200);
        while (size < wanted) {
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            if (round % 4 == 0) {
                text[size++] = (char)(unsigned char)(seed >> 56);
            } else {
                const char *word = words[seed >> 59];
                memcpy(text + size, word, strlen(word));
                size += strlen(word);
            }
        }
        survive(text, (int64_t)size);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blanks_and_comments_are_the_empty_statement),
        cmocka_unit_test(queries_become_plans),
        cmocka_unit_test(explain_takes_both_ways_of_writing_options),
        cmocka_unit_test(copy_has_a_query_or_a_table_a_file_and_options),
        cmocka_unit_test(external_tables_have_a_place_a_format_and_columns),
        cmocka_unit_test(views_keep_their_text),
        cmocka_unit_test(small_statements_name_what_they_are_about),
        cmocka_unit_test(settings_are_texts_or_what_stands_there),
        cmocka_unit_test(describe_takes_tables_files_and_queries),
        cmocka_unit_test(from_takes_a_file_in_quotes),
        cmocka_unit_test(a_file_may_stand_behind_join_and_comma),
        cmocka_unit_test(other_texts_stay_texts),
        cmocka_unit_test(subqueries_need_no_alias),
        cmocka_unit_test(errors_tell_the_place),
        cmocka_unit_test(grouping_errors_tell_what_is_wrong),
        cmocka_unit_test(long_and_deep_texts_are_survived),
        cmocka_unit_test(chains_of_a_mebibyte_are_refused_at_once),
        cmocka_unit_test(long_lists_are_no_chains),
        cmocka_unit_test(too_many_files_by_name_are_told),
        cmocka_unit_test(too_long_a_text_is_refused),
        cmocka_unit_test(nul_bytes_are_refused_where_they_stand),
        cmocka_unit_test(random_texts_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
