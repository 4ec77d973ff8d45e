/* The logical plan: what a query means, bound to types. Made by the binder (bind.h), changed by the
 * optimiser (optimize.h), run by the executor (execute.h), shown by EXPLAIN (explain.h).
 *
 * A node owns its inputs and expressions. Expressions of a node refer to the columns of its input (of
 * SCAN: of the table's schema after `columns`). Nodes are malloc'ed: they grow with the query. */
#ifndef OUTCORE_SQL_PLAN_H
#define OUTCORE_SQL_PLAN_H

#include "expr/expr.h"
#include "ops/aggregate/aggregate.h"
#include "sql/catalog.h"
#include "sql/scan_predicate.h"

typedef enum oci_plan_kind {
    OCI_PLAN_SCAN,   /* a table: `columns` of it, then the rows for which `filter` is true */
    OCI_PLAN_VALUES, /* rows of constant expressions; one row of no column is SELECT without FROM */
    OCI_PLAN_SERIES, /* generate_series(start, stop, step) */
    OCI_PLAN_FILTER, /* rows for which exprs[0] is true */
    OCI_PLAN_PROJECT, /* exprs */
    OCI_PLAN_GROUP,   /* keys and aggregates over columns of the input (a PROJECT makes them) */
    OCI_PLAN_GROUPING_SETS, /* each row once per set: keys not in the set are null; appends the int32
                               number of the set */
    OCI_PLAN_SORT,          /* sort_keys; limit >= 0: the first `limit` only (top-k) */
    OCI_PLAN_LIMIT,         /* skips `offset` rows, then passes `limit` (-1 = all) */
    OCI_PLAN_UNION,         /* UNION ALL: inputs one after the other, of equal types */
} oci_plan_kind;

typedef struct oci_plan oci_plan;
struct oci_plan {
    oci_plan_kind kind;
    oci_schema *schema; /* of its rows */
    int32_t n_inputs;
    oci_plan **inputs;

    oci_expr **exprs; /* PROJECT, FILTER; VALUES: n_rows * n_fields, row by row; SERIES: 2 or 3 */
    int32_t n_exprs;
    int64_t n_rows; /* VALUES */

    oci_table *table;          /* SCAN, retained */
    int32_t *columns;          /* SCAN: of the table, schema->n_fields of them */
    oci_expr *filter;          /* SCAN, or NULL */
    oci_scan_predicate wanted; /* SCAN: what the filter says to the table; made when it is opened */
    int64_t scan_limit;        /* SCAN: nobody reads more rows than this; -1 */

    int32_t *keys; /* GROUP: columns of the input */
    int32_t n_keys;
    oci_aggregate *aggregates; /* names and separators are owned */
    int32_t n_aggregates;
    bool is_ordered; /* GROUP: see ops/group/group.h; set by the optimiser */

    uint64_t
        *sets; /* GROUPING_SETS: bit i of a set = column i of the input keeps its value; columns
                       from n_keys on always do */
    int32_t n_sets;

    oci_sort_key *sort_keys; /* SORT: columns of the input */
    int32_t n_sort_keys;
    int64_t offset; /* LIMIT */
    int64_t limit;  /* LIMIT, SORT; -1 = all */

    /* Filled while it runs, for EXPLAIN ANALYZE; see execute.h. */
    struct oci_plan_metrics *metrics;
};

OC_NODISCARD oc_status oci_plan_create(oci_plan_kind kind, oci_plan **out, oc_error *err);
void oci_plan_destroy(oci_plan *plan); /* NULL is fine; with all below */

#endif /* OUTCORE_SQL_PLAN_H */
