#include "sql/scan_predicate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats/csv.h"
#include "sql/execute.h"
#include "sql/statement.h"
#include "support/sql_catalog.h"

/* ---- predicates as text ---------------------------------------------------------------------- */

static char shown[2000];
static size_t used;

static void show(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void show(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(shown + used, sizeof shown - used, format, args);
    va_end(args);
    used += (size_t)n;
    assert_true(used < sizeof shown);
}

static void show_value(const oci_predicate_value *value)
{
    switch (value->type) {
    case OCI_PREDICATE_UNSIGNED: show("%lluu", (unsigned long long)value->unsigned_integer); break;
    case OCI_PREDICATE_FLOAT: show("%gf", value->number); break;
    case OCI_PREDICATE_BYTES:
        show("'%.*s'", (int)value->bytes.size, (const char *)value->bytes.data);
        break;
    default:
        assert_int_equal(value->wide[3], (int64_t)value->wide[0] < 0 ? UINT64_MAX : 0);
        show("%lld", (long long)value->wide[0]);
    }
}

static void show_predicate(const oci_predicate *p)
{
    static const char *const names[] = {"true", "=",  "<>",      "<",           "<=",  ">",
                                        ">=",   "in", "is null", "is not null", "and", "or"};
    if (p->kind == OCI_PREDICATE_TRUE) {
        show("true");
    } else if (p->kind == OCI_PREDICATE_AND || p->kind == OCI_PREDICATE_OR) {
        show("(");
        for (int32_t i = 0; i < p->n_children; i++) {
            show("%s", i > 0 ? (p->kind == OCI_PREDICATE_AND ? " and " : " or ") : "");
            show_predicate(&p->children[i]);
        }
        show(")");
    } else {
        show("#%d %s", p->column, names[p->kind]);
        for (int32_t i = 0; i < p->n_values; i++) {
            show(" ");
            show_value(&p->values[i]);
        }
    }
}

/* ---- from SQL -------------------------------------------------------------------------------- */

static oc_status open_table(oci_table *self, const int32_t *columns, int32_t n,
                            const oci_predicate *wanted, oci_stream **out, oc_error *err)
{
    (void)self;
    (void)columns;
    (void)n;
    (void)out;
    show_predicate(wanted);
    OC_FAIL(err, OC_EIO, "asked");
}

static void destroy_table(oci_table *self)
{
    oci_schema_release(self->schema);
    free(self->name);
    free(self);
}

static oci_catalog *make_catalog(void)
{
    static const struct oci_table_ops ops = {.open = open_table, .destroy = destroy_table};
    oci_catalog *catalog = make_sql_catalog();
    oci_table *table = calloc(1, sizeof *table);
    table->ops = &ops;
    table->name = strdup("all");
    table->rows = -1;
    atomic_init(&table->references, 1);
    assert_int_equal(
        oci_parse_columns("i int32, l int64, u uint32, d decimal(15,2), f float32, "
                          "g float64, s utf8, day date32, at timestamp[ms], "
                          "zone timestamp[us, UTC], b bool, clock time64[us], x binary",
                          &table->schema, NULL),
        OC_OK);
    assert_int_equal(oci_catalog_add_table(catalog, "everything", table, false, NULL), OC_OK);
    oci_table_release(table);
    return catalog;
}

/* What the table is told when this is the condition. Column 0 is not read, so that numbers differ. */
static void expect(const char *condition, const char *wanted)
{
    oci_statement statement;
    oci_stream *stream;
    int64_t position;
    oc_error err = {0};
    char sql[500];
    oci_catalog *catalog = make_catalog();
    snprintf(sql, sizeof sql, "SELECT g FROM everything WHERE %s", condition);
    if (oci_statement_parse(sql, (int64_t)strlen(sql), catalog, 0, &statement, &position, &err) !=
        OC_OK) {
        fail_msg("%s: %s", condition, err.message);
    }
    assert_int_equal(oci_plan_optimize(&statement.plan, NULL), OC_OK);
    const oci_execution execution = {0};
    shown[used = 0] = '\0';
    assert_int_equal(oci_plan_open(&execution, statement.plan, &stream, &err), OC_EIO);
    if (strcmp(shown, wanted) != 0) {
        fail_msg("%s became: %s", condition, shown);
    }
    oci_statement_deinit(&statement);
    oci_catalog_destroy(catalog);
}

static void comparisons_with_constants_are_said(void **state)
{
    (void)state;
    expect("l = 5", "#1 = 5");
    expect("l <> -5", "#1 <> -5");
    expect("5 < l", "#1 > 5");
    expect("5 >= i", "#0 <= 5");
    expect("i > 3000000000", "#0 > 3000000000");
    expect("u = 7", "#2 = 7u");
    expect("f < 0.5", "#4 < 0.5f");
    expect("g >= 1e3", "#5 >= 1000f");
    expect("s = 'abc'", "#6 = 'abc'");
    expect("x = '\\x6162'::bytea", "#12 = 'ab'");
    expect("l = 2 + 3", "#1 = 5");
}

static void dates_and_times_are_said_in_the_units_of_the_column(void **state)
{
    (void)state;
    expect("day = '1970-01-11'", "#7 = 10");
    expect("day <= date '1970-01-11' - interval '2' day", "#7 <= 8");
    expect("day < timestamp '1970-01-03 12:00'", "#7 <= 2");
    expect("day >= timestamp '1969-12-31 12:00'", "#7 > -1");
    expect("at > '1970-01-01 00:00:01.5'", "#8 > 1500");
    expect("zone > '1970-01-01 00:00:01Z'", "#9 > 1000000");
    expect("clock = '00:00:02'", "#11 = 2000000");
}

static void constants_between_values_become_the_one_below(void **state)
{
    (void)state;
    expect("l < 1.5", "#1 <= 1");
    expect("l <= 1.5", "#1 <= 1");
    expect("l > 1.5", "#1 > 1");
    expect("l >= -1.5", "#1 > -2");
    expect("l = 1.5", "#1 in");
    expect("l <> 1.5", "#1 is not null");
    expect("d > 1.005", "#3 > 100");
    expect("d = 1.5", "#3 = 150");
    expect("d = 7", "#3 = 700");
}

static void lists_nulls_and_bools_are_said(void **state)
{
    (void)state;
    expect("l IN (1, 2, 3)", "#1 in 1 2 3");
    expect("s IN ('a', 'b')", "#6 in 'a' 'b'");
    expect("s IS NULL", "#6 is null");
    expect("s IS NOT NULL", "#6 is not null");
    expect("b", "#10 = 1");
    expect("NOT b", "#10 = 0");
    expect("b IS FALSE", "#10 = 0");
    expect("l BETWEEN 1 AND 5", "(#1 >= 1 and #1 <= 5)");
}

static void trees_keep_their_shape(void **state)
{
    (void)state;
    expect("l = 1 AND (s = 'a' OR i > 2)", "(#1 = 1 and (#6 = 'a' or #0 > 2))");
    expect("l = 1 AND length(s) > 2", "(#1 = 1 and true)");
    expect("l = 1 OR length(s) > 2", "(#1 = 1 or true)");
}

static void what_has_no_form_says_nothing(void **state)
{
    (void)state;
    expect("l + 1 = 5", "true");
    expect("l = i", "true");
    expect("l = g", "true");
    expect("s LIKE 'a%'", "true");
    expect("CAST(g AS int4) = 5", "true"); /* rounds */
    expect("CAST(l AS int4) = 5", "true"); /* may be an error, which must be seen */
    expect("CAST(at AS date) = '1970-01-01'", "true");
    expect("l > 1e300", "true");
    expect("NOT (l = 5)", "true");
    expect("u = -1", "true");
    expect("lower(s) = 'a'", "true");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparisons_with_constants_are_said),
        cmocka_unit_test(dates_and_times_are_said_in_the_units_of_the_column),
        cmocka_unit_test(constants_between_values_become_the_one_below),
        cmocka_unit_test(lists_nulls_and_bools_are_said),
        cmocka_unit_test(trees_keep_their_shape),
        cmocka_unit_test(what_has_no_form_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
