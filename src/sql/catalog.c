/* Names of tables and views. See catalog.h. Entries come from malloc: one per name. */
#include "sql/catalog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct entry {
    char *name;
    oci_table *table; /* or ... */
    char *view;
    struct entry *next; /* in the order of names */
} entry;

struct oci_catalog {
    oci_file_tables files;
    entry *first;
};

oci_table *oci_table_retain(oci_table *table)
{
    atomic_fetch_add(&table->references, 1);
    return table;
}

void oci_table_release(oci_table *table)
{
    if (table != NULL && atomic_fetch_sub(&table->references, 1) == 1) {
        table->ops->destroy(table);
    }
}

oc_status oci_catalog_create(const oci_file_tables *files, oci_catalog **out, oc_error *err)
{
    oci_catalog *catalog = calloc(1, sizeof *catalog);
    if (catalog == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up a session: out of memory");
    }
    catalog->files = *files;
    *out = catalog;
    return OC_OK;
}

static void free_entry(entry *e)
{
    oci_table_release(e->table);
    free(e->view);
    free(e->name);
    free(e);
}

void oci_catalog_destroy(oci_catalog *catalog)
{
    while (catalog != NULL && catalog->first != NULL) {
        entry *next = catalog->first->next;
        free_entry(catalog->first);
        catalog->first = next;
    }
    free(catalog);
}

/* The entry that a name means: as written, else the only one in any case. */
static entry **find(oci_catalog *catalog, const char *name)
{
    entry **found = NULL;
    bool several = false;
    for (entry **at = &catalog->first; *at != NULL; at = &(*at)->next) {
        if (strcmp((*at)->name, name) == 0) {
            return at;
        }
        if (strcasecmp((*at)->name, name) == 0) {
            several = found != NULL;
            found = at;
        }
    }
    return several ? NULL : found;
}

static bool looks_like_file(const char *name)
{
    return strpbrk(name, "./*?") != NULL;
}

static oc_status not_found(const oci_catalog *catalog, const char *name, oc_error *err)
{
    char known[300] = "";
    size_t used = 0;
    for (const entry *e = catalog->first; e != NULL && used < sizeof known - 80; e = e->next) {
        used += (size_t)snprintf(known + used, sizeof known - used, "%s\"%.60s\"",
                                 used > 0 ? ", " : "", e->name);
    }
    OC_FAIL(err, OC_EINVAL, "there is no table \"%s\"%s%s%s", name, used > 0 ? "; there are " : "",
            known, used > 0 ? "" : "; a file is named in quotes, as in FROM 'data.csv'");
}

oc_status oci_catalog_find(oci_catalog *catalog, const char *name, bool is_quoted_text,
                           oci_table **table, const char **view, oc_error *err)
{
    *table = NULL;
    *view = NULL;
    entry **found = is_quoted_text ? NULL : find(catalog, name);
    if (found != NULL) {
        *view = (*found)->view;
        *table = (*found)->table != NULL ? oci_table_retain((*found)->table) : NULL;
        return OC_OK;
    }
    if (!is_quoted_text && !looks_like_file(name)) {
        return not_found(catalog, name, err);
    }
    return catalog->files.open(catalog->files.self, name, NULL, NULL, 0, table, err);
}

/* Takes the table's reference and the view's text, also on failure. */
static oc_status add(oci_catalog *catalog, const char *name, oci_table *table, char *view,
                     bool replace, oc_error *err)
{
    entry *e = calloc(1, sizeof *e);
    char *copy = strdup(name);
    if (e == NULL || copy == NULL) {
        free(e);
        free(copy);
        free(view);
        oci_table_release(table);
        OC_FAIL(err, OC_ENOMEM, "could not add table \"%s\": out of memory", name);
    }
    *e = (entry){.name = copy, .table = table, .view = view};
    entry **old = find(catalog, name);
    if (old != NULL && strcmp((*old)->name, name) == 0) {
        if (!replace) {
            free_entry(e);
            OC_FAIL(err, OC_EINVAL,
                    "\"%s\" exists already; CREATE OR REPLACE puts another in its place", name);
        }
        (void)oci_catalog_drop(catalog, name);
    }
    entry **at = &catalog->first;
    while (*at != NULL && strcmp((*at)->name, name) < 0) {
        at = &(*at)->next;
    }
    e->next = *at;
    *at = e;
    return OC_OK;
}

oc_status oci_catalog_add_table(oci_catalog *catalog, const char *name, oci_table *table,
                                bool replace, oc_error *err)
{
    return add(catalog, name, oci_table_retain(table), NULL, replace, err);
}

oc_status oci_catalog_add_view(oci_catalog *catalog, const char *name, const char *sql,
                               bool replace, oc_error *err)
{
    char *copy = strdup(sql);
    if (copy == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not add view \"%s\": out of memory", name);
    }
    return add(catalog, name, NULL, copy, replace, err);
}

bool oci_catalog_drop(oci_catalog *catalog, const char *name)
{
    entry **at = find(catalog, name);
    if (at == NULL) {
        return false;
    }
    entry *gone = *at;
    *at = gone->next;
    free_entry(gone);
    return true;
}

const char *oci_catalog_name(const oci_catalog *catalog, int32_t i)
{
    const entry *e = catalog->first;
    while (e != NULL && i-- > 0) {
        e = e->next;
    }
    return e == NULL ? NULL : e->name;
}

bool oci_catalog_is_view(const oci_catalog *catalog, int32_t i)
{
    const entry *e = catalog->first;
    while (e != NULL && i-- > 0) {
        e = e->next;
    }
    return e != NULL && e->view != NULL;
}

const oci_file_tables *oci_catalog_files(const oci_catalog *catalog)
{
    return &catalog->files;
}
