/* libFuzzer target: any bytes as SQL text.
 *
 * The text is split into statements as a shell does, and each is parsed and bound. Every statement must be taken or
 * refused with a message and a place inside it. A plan is optimised and explained as well. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sql/execute.h"
#include "sql/explain.h"
#include "sql/statement.h"
#include "support/sql_catalog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

static oc_status drop_line(const char *text, void *arg, oc_error *err)
{
    (void)arg;
    (void)err;
    require(text != NULL);
    return OC_OK;
}

static void check_statement(oci_catalog *catalog, const char *sql, int64_t size)
{
    oci_statement statement;
    oc_error err = {0};
    int64_t position = -2;
    oc_status status = oci_statement_parse(sql, size, catalog, 0, &statement, &position, &err);
    if (status != OC_OK) {
        require(err.message[0] != '\0' && position >= -1 && position <= size);
        return;
    }
    if (statement.plan != NULL && oci_plan_optimize(&statement.plan, NULL) == OC_OK) {
        require(oci_plan_explain(statement.plan, false, drop_line, NULL, NULL) == OC_OK);
        require(oci_plan_explain(statement.plan, true, drop_line, NULL, NULL) == OC_OK);
    }
    oci_statement_deinit(&statement);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    oci_catalog *catalog = make_sql_catalog();
    bool complete = true;
    for (size_t at = 0; at < size;) {
        const char *sql = (const char *)data + at;
        int64_t bytes = oci_sql_split(sql, (int64_t)(size - at), &complete);
        require(bytes > 0 && bytes <= (int64_t)(size - at));
        require(complete || bytes == (int64_t)(size - at));
        check_statement(catalog, sql, bytes);
        at += (size_t)bytes;
    }
    oci_catalog_destroy(catalog);
    return 0;
}
