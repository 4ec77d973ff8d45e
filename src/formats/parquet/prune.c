/* See prune.h.
 *
 * A predicate is a tree, and so are the answers: whether the chunk may match (statistics, then Bloom filters), and
 * which row ranges may (page indexes). AND needs all of its children, OR one; ranges are cut and joined as sorted
 * lists. What is allocated lies in the caller's arena and goes with it. */
#include "formats/parquet/prune.h"

#include "base/bits.h"
#include "formats/parquet/bloom.h"
#include "formats/parquet/prune_bounds.h"

typedef struct pruner {
    const oci_parquet_prune_source *source;
    const oci_parquet_row_group *group;
    oci_parquet_arena *arena;
    bool use_bloom;
    oc_error *err;
} pruner;

/* A column that a predicate compares. */
typedef struct column {
    const oci_parquet_column_chunk *chunk;
    oci_parquet_compared leaf;
} column;

typedef struct row_list {
    int32_t n;
    oci_parquet_rows *rows;
} row_list;

/* False for what is nested: its levels count entries and not rows. */
static bool find_column(const pruner *p, int32_t i, column *out)
{
    const oci_parquet_schema *schema = p->source->schema;
    if (i < 0 || i >= schema->n_nodes || schema->nodes[i].kind != OCI_PARQUET_NODE_LEAF) {
        return false;
    }
    int32_t leaf = schema->nodes[i].leaf;
    out->chunk = &p->group->columns[leaf];
    out->leaf = oci_parquet_compare_leaf(p->source->metadata, schema, leaf);
    return true;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

/* Whether one of the values that are asked for may be in the chunk, by its Bloom filter. */
static oc_status bloom_may_match(const pruner *p, const column *c, const oci_predicate *predicate,
                                 bool *out)
{
    oci_parquet_bloom bloom;
    *out = true;
    if (c->chunk->bloom_offset == 0 ||
        (predicate->kind != OCI_PREDICATE_EQUAL && predicate->kind != OCI_PREDICATE_IN)) {
        return OC_OK;
    }
    OC_TRY(oci_parquet_bloom_open(p->source->file, p->source->metadata, c->chunk, &bloom, p->err));
    for (int32_t i = 0; i < predicate->n_values; i++) {
        uint8_t plain[OCI_PARQUET_PLAIN_BYTES_MAX];
        const uint8_t *bytes;
        int64_t size;
        if (!oci_parquet_plain_value(&predicate->values[i], c->leaf.of, c->leaf.element, plain,
                                     &bytes, &size)) {
            *out = true;
            return OC_OK;
        }
        OC_TRY(oci_parquet_bloom_may_hold(&bloom, bytes, size, out, p->err));
        if (*out) {
            return OC_OK;
        }
    }
    return OC_OK;
}

static oc_status leaf_may_match(const pruner *p, const oci_predicate *predicate, bool *out)
{
    column c;
    *out = true;
    if (!find_column(p, predicate->column, &c)) {
        return OC_OK;
    }
    oci_parquet_bounds bounds = oci_parquet_bounds_of_chunk(&c.leaf, c.chunk);
    *out = oci_parquet_bounds_may_match(&bounds, c.leaf.of, predicate);
    return *out && p->use_bloom ? bloom_may_match(p, &c, predicate, out) : OC_OK;
}

static oc_status may_match(const pruner *p, const oci_predicate *predicate, bool *out)
{
    bool is_and = predicate->kind == OCI_PREDICATE_AND;
    if (predicate->kind == OCI_PREDICATE_TRUE) {
        *out = true;
        return OC_OK;
    }
    if (!is_and && predicate->kind != OCI_PREDICATE_OR) {
        return leaf_may_match(p, predicate, out);
    }
    *out = is_and;
    for (int32_t i = 0; i < predicate->n_children && *out == is_and; i++) {
        OC_TRY(may_match(p, &predicate->children[i], out));
    }
    return OC_OK;
}

/* ---- row ranges ------------------------------------------------------------------------------ */

static oc_status make_rows(const pruner *p, int64_t n, row_list *out)
{
    void *made;
    OC_TRY(oci_parquet_arena_alloc(p->arena, n, sizeof *out->rows, &made, p->err));
    *out = (row_list){.rows = made};
    return OC_OK;
}

/* Rows that begin where the last ones end continue them. */
static void add_rows(row_list *list, int64_t start, int64_t end)
{
    if (start >= end) {
        return;
    }
    if (list->n > 0 && list->rows[list->n - 1].end >= start) {
        list->rows[list->n - 1].end = oci_max64(list->rows[list->n - 1].end, end);
    } else {
        list->rows[list->n++] = (oci_parquet_rows){start, end};
    }
}

static oc_status all_rows(const pruner *p, row_list *out)
{
    OC_TRY(make_rows(p, 1, out));
    add_rows(out, 0, p->group->n_rows);
    return OC_OK;
}

static oc_status intersect(const pruner *p, const row_list *a, const row_list *b, row_list *out)
{
    int32_t i = 0;
    int32_t k = 0;
    OC_TRY(make_rows(p, (int64_t)a->n + b->n, out));
    while (i < a->n && k < b->n) {
        const oci_parquet_rows *x = &a->rows[i];
        const oci_parquet_rows *y = &b->rows[k];
        add_rows(out, oci_max64(x->start, y->start), oci_min64(x->end, y->end));
        if (x->end < y->end) {
            i++;
        } else {
            k++;
        }
    }
    return OC_OK;
}

static oc_status unite(const pruner *p, const row_list *a, const row_list *b, row_list *out)
{
    int32_t i = 0;
    int32_t k = 0;
    OC_TRY(make_rows(p, (int64_t)a->n + b->n, out));
    while (i < a->n || k < b->n) {
        bool from_a = k == b->n || (i < a->n && a->rows[i].start < b->rows[k].start);
        const oci_parquet_rows *next = from_a ? &a->rows[i++] : &b->rows[k++];
        add_rows(out, next->start, next->end);
    }
    return OC_OK;
}

/* ---- pages ----------------------------------------------------------------------------------- */

static oci_parquet_bounds bounds_of_page(const column *c, const oci_parquet_column_index *index,
                                         int32_t i)
{
    bool is_null = index->null_pages[i];
    oci_parquet_bounds bounds = {
        .may_be_null = c->leaf.is_optional &&
                       (is_null || index->null_counts == NULL || index->null_counts[i] != 0),
        .may_be_value = !is_null,
        .may_be_nan = c->leaf.of == OCI_PARQUET_CLASS_FLOAT &&
                      (index->nan_counts == NULL || index->nan_counts[i] != 0)};
    if (!is_null && c->leaf.has_order) {
        oci_parquet_bounds_set(&bounds, c->leaf.of, c->leaf.element, &index->min[i],
                               &index->max[i]);
    }
    return bounds;
}

static oc_status pages_of_leaf(const pruner *p, const column *c, const oci_predicate *predicate,
                               row_list *out)
{
    oci_file *file = p->source->file;
    oci_parquet_offset_index *places;
    oci_parquet_column_index *index;
    OC_TRY(
        oci_parquet_offset_index_read(file, c->chunk, p->group->n_rows, p->arena, &places, p->err));
    if (places == NULL) {
        return all_rows(p, out);
    }
    OC_TRY(oci_parquet_column_index_read(file, c->chunk, p->arena, &index, p->err));
    if (index == NULL) {
        return all_rows(p, out);
    }
    if (index->n_pages != places->n_pages) {
        OC_FAIL(p->err, OC_EDATA,
                "Parquet file \"%s\": the indexes of a column name %d and %d pages; the file is "
                "damaged",
                file->name, index->n_pages, places->n_pages);
    }
    OC_TRY(make_rows(p, index->n_pages, out));
    for (int32_t i = 0; i < index->n_pages; i++) {
        oci_parquet_bounds bounds = bounds_of_page(c, index, i);
        if (oci_parquet_bounds_may_match(&bounds, c->leaf.of, predicate)) {
            add_rows(out, places->pages[i].first_row,
                     i + 1 < places->n_pages ? places->pages[i + 1].first_row : p->group->n_rows);
        }
    }
    return OC_OK;
}

static oc_status rows_of_leaf(const pruner *p, const oci_predicate *predicate, row_list *out)
{
    column c;
    bool may;
    OC_TRY(leaf_may_match(p, predicate, &may));
    if (!may) {
        return make_rows(p, 0, out);
    }
    return find_column(p, predicate->column, &c) ? pages_of_leaf(p, &c, predicate, out)
                                                 : all_rows(p, out);
}

static oc_status rows_of(const pruner *p, const oci_predicate *predicate, row_list *out)
{
    bool is_and = predicate->kind == OCI_PREDICATE_AND;
    if (predicate->kind == OCI_PREDICATE_TRUE) {
        return all_rows(p, out);
    }
    if (!is_and && predicate->kind != OCI_PREDICATE_OR) {
        return rows_of_leaf(p, predicate, out);
    }
    if (is_and) {
        OC_TRY(all_rows(p, out));
    } else {
        OC_TRY(make_rows(p, 0, out));
    }
    for (int32_t i = 0; i < predicate->n_children; i++) {
        row_list of_child;
        row_list both;
        OC_TRY(rows_of(p, &predicate->children[i], &of_child));
        OC_TRY(is_and ? intersect(p, out, &of_child, &both) : unite(p, out, &of_child, &both));
        *out = both;
    }
    return OC_OK;
}

/* ---- both ------------------------------------------------------------------------------------ */

oc_status oci_parquet_prune(const oci_parquet_prune_source *source,
                            const oci_parquet_row_group *group, const oci_predicate *predicate,
                            oci_parquet_arena *arena, oci_parquet_selection *out, oc_error *err)
{
    pruner p = {.source = source, .group = group, .arena = arena, .err = err};
    row_list rows = {0};
    bool may = true;
    *out = (oci_parquet_selection){0};
    if (predicate == NULL) {
        OC_TRY(all_rows(&p, &rows));
    } else {
        OC_TRY(may_match(&p, predicate, &may));
        p.use_bloom = true; /* reading them is dearer, so only for what is left */
        if (may) {
            OC_TRY(may_match(&p, predicate, &may));
        }
        if (may) {
            OC_TRY(rows_of(&p, predicate, &rows));
        }
    }
    out->n_ranges = rows.n;
    out->ranges = rows.rows;
    for (int32_t i = 0; i < rows.n; i++) {
        out->n_rows += rows.rows[i].end - rows.rows[i].start;
    }
    return OC_OK;
}
