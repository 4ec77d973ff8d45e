/* See sql_catalog.h. Tables come from malloc: one per file that a statement names. */
#include "support/sql_catalog.h"

#include <stdlib.h>
#include <string.h>

#include "formats/csv.h"

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

static oc_status table_open(oci_table *self, const int32_t *columns, int32_t n,
                            const oci_predicate *wanted, oci_stream **out, oc_error *err)
{
    (void)columns;
    (void)n;
    (void)wanted;
    (void)out;
    OC_FAIL(err, OC_EIO, "%s has no rows to read", self->name);
}

static void table_destroy(oci_table *self)
{
    oci_schema_release(self->schema);
    free(self->name);
    free(self);
}

static oci_table *make_table(const char *name, const char *columns)
{
    static const struct oci_table_ops ops = {table_open, table_destroy};
    oci_table *table = calloc(1, sizeof *table);
    require(table != NULL);
    table->ops = &ops;
    table->name = strdup(name);
    table->rows = -1;
    atomic_init(&table->references, 1);
    require(table->name != NULL && oci_parse_columns(columns, &table->schema, NULL) == OC_OK);
    return table;
}

static oc_status open_file(void *self, const char *pattern, const char *format,
                           const oci_option *options, int32_t n_options, oci_table **out,
                           oc_error *err)
{
    (void)self;
    (void)format;
    (void)options;
    (void)n_options;
    size_t size = strlen(pattern);
    if (size < 4 || strcmp(pattern + size - 4, ".csv") != 0) {
        OC_FAIL(err, OC_EIO, "there is no file \"%s\"", pattern);
    }
    *out = make_table(pattern, "x int64");
    return OC_OK;
}

oci_catalog *make_sql_catalog(void)
{
    oci_file_tables files = {.open = open_file};
    oci_catalog *catalog = NULL;
    oci_table *t = make_table("t", "a int64, b utf8, c float64");
    require(oci_catalog_create(&files, &catalog, NULL) == OC_OK);
    require(oci_catalog_add_table(catalog, "t", t, false, NULL) == OC_OK);
    require(oci_catalog_add_view(catalog, "v", "SELECT a, b FROM t", false, NULL) == OC_OK);
    oci_table_release(t);
    return catalog;
}
