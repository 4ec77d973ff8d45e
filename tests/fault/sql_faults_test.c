/* Every call that statements make of others fails in turn: see loop.h for how, seams.h for which. Each body is a
 * session of its own that runs a script: parsing, binding, filters, groups and sorts that spill, files read and
 * written, views, plans explained.
 *
 * The library of the SQL grammar allocates behind its own walls and is not made to fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "fault/loop.h"
#include "outcore/sql.h"

#define COUNT(array) ((int32_t)(sizeof(array) / sizeof(array)[0]))

/* Statements; in their texts # stands for the folder of inputs and @ for that of outputs. */
typedef struct script {
    const char *statements[8];
    bool must_spill;
} script;

/* The statement with folders written out. */
static void expand(const fault_run *run, const char *statement, char *text, size_t room)
{
    size_t n = 0;
    for (const char *at = statement; *at != '\0'; at++) {
        int added = *at == '#'   ? snprintf(text + n, room - n, "%s/inputs", fault_folder)
                    : *at == '@' ? snprintf(text + n, room - n, "%s", run->outputs)
                                 : snprintf(text + n, room - n, "%c", *at);
        n += (size_t)added;
        assert_true(n < room);
    }
}

/* The answer of EXPLAIN ANALYZE has times in it and does not count. COPY is done when it is executed: a failure to
 * read its answer of no rows does not undo it. */
static oc_status run_statement(fault_run *run, oc_session *session, const char *statement)
{
    char text[1500];
    struct ArrowArrayStream rows;
    expand(run, statement, text, sizeof text);
    OC_TRY(oc_session_execute(session, text, -1, &rows, NULL, &run->error));
    if (strncmp(statement, "COPY", 4) == 0) {
        rows.release(&rows);
        return OC_OK;
    }
    uint64_t digest = run->digest;
    oc_status status = fault_drain(run, &rows);
    if (strncmp(statement, "EXPLAIN", 7) == 0) {
        run->digest = digest;
    }
    return status;
}

/* Whether the session holds memory or disk after its last statement, or spilled less than it should. */
static oc_status check_session(fault_run *run, oc_session *session, const script *s,
                               oc_status status)
{
    oc_metrics m;
    oc_context_metrics(oc_session_context(session), &m);
    if (m.memory_used != 0 || m.disk_now != 0) {
        return OC_SET(&run->error, OC_EINTERNAL,
                      "the session still holds %lld bytes of memory, %lld of disk",
                      (long long)m.memory_used, (long long)m.disk_now);
    }
    if (status == OC_OK && s->must_spill && m.spill_count < 2) {
        return OC_SET(&run->error, OC_EINTERNAL, "the script does not spill");
    }
    return status;
}

static oc_status run_script(fault_run *run)
{
    const script *s = run->arg;
    char spill[96];
    const char *const folders[] = {spill};
    oc_options options = OC_OPTIONS_INIT;
    oc_session *session;
    snprintf(spill, sizeof spill, "%s/spill", fault_folder);
    options.memory_limit = 1 << 20;
    options.threads = 1;
    options.batch_rows = 500;
    options.temp_dirs = folders;
    options.n_temp_dirs = 1;
    OC_TRY(oc_session_create(&options, &session, &run->error));
    oc_status status = OC_OK;
    for (int32_t i = 0; status == OC_OK && i < COUNT(s->statements) && s->statements[i] != NULL;
         i++) {
        status = run_statement(run, session, s->statements[i]);
    }
    status = check_session(run, session, s, status);
    oc_session_destroy(session);
    return status;
}

#define ROWS "'#/rows.arrow'"
#define MANY "'#/many.arrow'"

static const script expressions = {
    .statements = {
        "SELECT CASE WHEN v % 3 = 0 THEN 'x' || v ELSE NULL END AS a, v::decimal(20,4) / 7 AS b, "
        "DATE '2024-01-31' + v::int AS c, v IN (1, 2, 3, 5, 8, 13, 21, 34, 55, 89) AS d, "
        "upper(left('abc' || v, 4)) AS e, extract(year FROM TIMESTAMP '2020-02-29 10:00:00') AS f "
        "FROM " ROWS " WHERE v BETWEEN 5 AND 290 AND ('k' || v) LIKE '%1%' AND 'k' || v ~ '[0-9]+'",
        "VALUES (1, 'a'), (2, NULL) ORDER BY 2 NULLS FIRST LIMIT 1 OFFSET 1",
        "WITH q AS (SELECT v FROM " ROWS ") SELECT v FROM q UNION SELECT -v FROM q WHERE v < 9",
    }};
static const script groups_in_memory = {
    .statements = {
        "SELECT v % 5, count(*) FILTER (WHERE v > 7), sum(v), avg(v), min('t' || v), "
        "count(DISTINCT v % 3), array_agg(v ORDER BY v DESC), median(v) FROM " ROWS
        " GROUP BY 1 HAVING count(*) > 1 ORDER BY 1",
        "SELECT v % 2, v % 3, sum(v) FROM " ROWS " GROUP BY CUBE (1, 2) ORDER BY 1, 2",
    }};
static const script groups_spilled = {
    .statements =
        {"SELECT k, count(*), max(t) FROM (SELECT v % 6000 AS k, 'a longer text than others ' || "
         "v AS t FROM " MANY ") q GROUP BY k"},
    .must_spill = true};
static const script sort_spilled = {
    .statements = {"SELECT v, 'a longer text than others ' || v AS t FROM " MANY
                   " ORDER BY t DESC, v"},
    .must_spill = true};
static const script texts_spilled = {
    .statements = {"SELECT v % 3, string_agg('a longer text than others ' || v, ', ' ORDER BY v "
                   "DESC) FROM " MANY " GROUP BY 1"},
    .must_spill = true};
static const script files = {
    .statements = {
        "SELECT * FROM '#/a.csv' WHERE v > 290",
        "SELECT v, t FROM '#/a.parquet' WHERE v < 20 UNION ALL SELECT * FROM '#/a.arrow'",
        "CREATE EXTERNAL TABLE e STORED AS CSV WITH HEADER ROW LOCATION '#/a.csv'",
        "DESCRIBE e",
        "SELECT sum(v), max(t) FROM e",
        "DROP TABLE e",
    }};
/* What is written stays behind when a later statement fails, so each has one COPY at its end. */
static const script copy_csv = {
    .statements = {"COPY (SELECT v, 'x' || v AS t FROM " ROWS ") TO '@/a.csv'"}};
static const script copy_arrow = {
    .statements = {"COPY (SELECT v, 'x' || v AS t FROM " ROWS ") TO '@/a.arrow'"}};
static const script copy_parquet = {
    .statements = {"COPY (SELECT v, 'x' || v AS t FROM " ROWS ") TO '@/a.parquet'"}};
/* Before any failure. */
static const script inputs = {
    .statements = {
        "COPY (SELECT v FROM generate_series(1, 300) AS s(v)) TO '#/rows.arrow'",
        "COPY (SELECT v FROM generate_series(1, 25000) AS s(v)) TO '#/many.arrow'",
        "COPY (SELECT v, 'x' || v AS t FROM " ROWS ") TO '#/a.csv'",
        "COPY (SELECT v, 'x' || v AS t FROM " ROWS ") TO '#/a.parquet'",
        "COPY (SELECT v, 'x' || v AS t FROM " ROWS ") TO '#/a.arrow'",
    }};
static const script views = {
    .statements = {
        "CREATE VIEW a AS SELECT v, v % 4 AS g FROM '#/rows.arrow'",
        "CREATE OR REPLACE VIEW b AS SELECT g, count(*) AS n FROM a GROUP BY g",
        "SELECT * FROM b ORDER BY g",
        "EXPLAIN SELECT * FROM b WHERE n > 1",
        "EXPLAIN ANALYZE SELECT * FROM b ORDER BY n LIMIT 2",
        "EXPLAIN (ANALYZE, FORMAT json) SELECT DISTINCT g FROM a",
        "SET threads = 1",
        "DROP VIEW b",
    }};

static const fault_body bodies[] = {
    {.name = "expressions", .run = run_script, .arg = &expressions, .needs_thread = true},
    {.name = "groups in memory", .run = run_script, .arg = &groups_in_memory, .needs_thread = true},
    {.name = "groups spilled", .run = run_script, .arg = &groups_spilled, .needs_thread = true},
    {.name = "sort spilled", .run = run_script, .arg = &sort_spilled, .needs_thread = true},
    {.name = "texts spilled", .run = run_script, .arg = &texts_spilled, .needs_thread = true},
    {.name = "files", .run = run_script, .arg = &files, .needs_thread = true},
    {.name = "copy to CSV", .run = run_script, .arg = &copy_csv, .needs_thread = true},
    {.name = "copy to Arrow", .run = run_script, .arg = &copy_arrow, .needs_thread = true},
    {.name = "copy to Parquet", .run = run_script, .arg = &copy_parquet, .needs_thread = true},
    {.name = "views and plans", .run = run_script, .arg = &views, .needs_thread = true},
};

static int set_up(void **state)
{
    (void)state;
    fault_suspend(); /* this thread, but for what the bodies do */
    fault_set_up_folders();
    fault_run run = {.arg = &inputs};
    if (run_script(&run) != OC_OK) {
        fail_msg("%s", run.error.message);
    }
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    fault_remove_folders();
    return 0;
}

static void statements_survive_every_failure(void **state)
{
    (void)state;
    for (int32_t i = 0; i < COUNT(bodies); i++) {
        fault_loop(&bodies[i]);
    }
    fault_check_none_wrong();
}

static void every_call_site_was_the_failing_one(void **state)
{
    (void)state;
    int64_t seen = 0;
    int64_t missed = fault_report(stdout, &seen);
    printf("call sites made to fail: %d of %d\n", (int)(seen - missed), (int)seen);
    assert_true(missed * 100 <= seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statements_survive_every_failure),
        cmocka_unit_test(every_call_site_was_the_failing_one),
    };
    return cmocka_run_group_tests(tests, set_up, clean_up);
}
