/* For tests and the fuzz target of src/sql: a catalog of tables that are never read, and plans as text. */
#ifndef OUTCORE_SQL_SQL_TEST_SUPPORT_H
#define OUTCORE_SQL_SQL_TEST_SUPPORT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/explain.h"
#include "sql/statement.h"
#include "support/batch_maker.h"

static oc_status no_rows(oci_table *self, const int32_t *columns, int32_t n,
                         const oci_predicate *wanted, oci_stream **out, oc_error *err)
{
    (void)self;
    (void)columns;
    (void)n;
    (void)wanted;
    (void)out;
    OC_FAIL(err, OC_EUNSUPPORTED, "nothing to read");
}

static void free_table(oci_table *self)
{
    oci_schema_release(self->schema);
    free(self->name);
    free(self);
}

static oci_table *make_table(const char *name)
{
    static const struct oci_table_ops ops = {.open = no_rows, .destroy = free_table};
    static const char *const columns[] = {"a=l", "b=l", "c=i", "s=u", "x=g", "Up=l"};
    oci_table *table = calloc(1, sizeof *table);
    if (table == NULL) {
        abort();
    }
    table->ops = &ops;
    table->name = strdup(name);
    table->schema = make_schema(columns, 6);
    table->rows = -1;
    atomic_init(&table->references, 1);
    return table;
}

/* Every file but "missing" is there. */
static oc_status open_file(void *self, const char *pattern, const char *format,
                           const oci_option *options, int32_t n_options, oci_table **out,
                           oc_error *err)
{
    (void)self;
    (void)format;
    (void)options;
    (void)n_options;
    if (strstr(pattern, "missing") != NULL) {
        OC_FAIL(err, OC_EINVAL, "no file matches \"%s\"", pattern);
    }
    *out = make_table(pattern);
    return OC_OK;
}

/* Tables t and "Big", view v over t. */
static oci_catalog *make_catalog(void)
{
    const oci_file_tables files = {.open = open_file};
    const char *const names[] = {"t", "Big"};
    oci_catalog *catalog = NULL;
    oc_status status = oci_catalog_create(&files, &catalog, NULL);
    for (size_t i = 0; i < 2 && status == OC_OK; i++) {
        oci_table *table = make_table(names[i]);
        status = oci_catalog_add_table(catalog, names[i], table, false, NULL);
        oci_table_release(table);
    }
    if (status != OC_OK || oci_catalog_add_view(catalog, "v", "SELECT a, b + 1 AS more FROM t",
                                                false, NULL) != OC_OK) {
        abort();
    }
    return catalog;
}

#endif /* OUTCORE_SQL_SQL_TEST_SUPPORT_H */
