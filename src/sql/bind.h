/* The binder: from the parser's tree to a plan. Inside src/sql.
 *
 *   bind_query.c    SELECT, VALUES, UNION, WITH
 *   bind_from.c     what stands in FROM
 *   bind_group.c    GROUP BY and aggregates
 *   bind_expr.c     expressions
 *
 * A query sees one relation (a scope). In a query with GROUP BY, expressions are first bound to the relation's columns,
 * with columns beyond them for the aggregates found on the way; when all are known, they are rewritten to what comes
 * out of the grouping. */
#ifndef OUTCORE_SQL_BIND_H
#define OUTCORE_SQL_BIND_H

#include "sql/parse.h"
#include "sql/statement.h"

#define OCI_BIND_DEPTH_MAX 1000
/* Nodes bound in all: as many as a text of the longest has, so that only what is bound over and over is refused. */
#define OCI_BIND_NODES_MAX (1 << 19)
/* Numbers of columns that stand for aggregates, and for the number of the grouping set. */
#define OCI_BIND_AGGREGATE (1 << 20)
#define OCI_BIND_SET       (1 << 24)

typedef struct oci_cte {
    const char *name;
    const PgQuery__CommonTableExpr *node;
    const struct oci_cte *outer; /* what its query may see */
} oci_cte;

typedef struct oci_binder {
    oci_catalog *catalog;
    int64_t now_us;
    int64_t position; /* of the error */
    int32_t depth;
    int32_t n_nodes; /* bound so far */
    const oci_parsed *parsed;
    int32_t view_depth;
} oci_binder;

/* A relation in FROM. */
typedef struct oci_scope {
    const char *alias; /* or NULL */
    const oci_schema *schema;
    struct oci_grouping *grouping; /* not NULL: aggregates may stand here */
    const char *where;             /* "WHERE": for messages about aggregates that may not */
} oci_scope;

/* Aggregates of a query, and what they are computed from: columns of a projection below the grouping. */
typedef struct oci_grouping {
    oci_expr **inputs; /* over the relation: keys first, then arguments */
    int32_t n_inputs;
    int32_t room_inputs;
    int32_t n_keys;            /* inputs[0..n_keys) */
    oci_aggregate *aggregates; /* args are inputs */
    oci_field *results;        /* type of each */
    int32_t n_aggregates;
    int32_t room_aggregates;
    uint64_t *sets; /* of keys; none: all keys */
    int32_t n_sets;
    bool has_items; /* GROUP BY is there */
} oci_grouping;

/* Notes where an error is, and returns it. */
oc_status oci_bind_at(oci_binder *binder, int32_t location, oc_status status);

/* Depth of the recursion: refuse what is too deep. */
OC_NODISCARD oc_status oci_bind_enter(oci_binder *binder, oc_error *err);

OC_NODISCARD oc_status oci_bind_select(oci_binder *binder, const PgQuery__SelectStmt *select,
                                       const oci_cte *ctes, oci_plan **out, oc_error *err);
OC_NODISCARD oc_status oci_bind_expr(oci_binder *binder, const oci_scope *scope,
                                     const PgQuery__Node *node, oci_expr **out, oc_error *err);
/* What a list of FROM means; *alias gets the name for qualified columns (borrowed from the tree or catalog). */
OC_NODISCARD oc_status oci_bind_from(oci_binder *binder, const PgQuery__SelectStmt *select,
                                     const oci_cte *ctes, oci_plan **out, const char **alias,
                                     oc_error *err);
/* A query text of a view. */
OC_NODISCARD oc_status oci_bind_text(oci_binder *binder, const char *sql, oci_plan **out,
                                     oc_error *err);

/* -- bind_group.c ------------------------------------------------------------------------------ */

/* A call of an aggregate function; *found false: it is none. */
OC_NODISCARD oc_status oci_bind_aggregate(oci_binder *binder, const oci_scope *scope,
                                          const PgQuery__FuncCall *call, const char *name,
                                          bool *found, oci_expr **out, oc_error *err);
OC_NODISCARD oc_status oci_bind_grouping_call(oci_binder *binder, const oci_scope *scope,
                                              const PgQuery__GroupingFunc *call, oci_expr **out,
                                              oc_error *err);
/* GROUP BY: fills keys and sets. `targets[n]` are the bound expressions of the select list, or NULL where one has
 * aggregates; names likewise. */
OC_NODISCARD oc_status oci_bind_group_by(oci_binder *binder, const oci_scope *scope,
                                         const PgQuery__SelectStmt *select, oci_grouping *grouping,
                                         oc_error *err);
/* Puts projection, grouping sets and grouping above *plan. */
OC_NODISCARD oc_status oci_bind_finish_grouping(oci_binder *binder, oci_grouping *grouping,
                                                oci_plan **plan, oc_error *err);
/* From the relation's columns to those of the grouping (taken, also on failure). */
OC_NODISCARD oc_status oci_bind_regroup(oci_binder *binder, const oci_grouping *grouping,
                                        const oci_schema *relation, const oci_schema *grouped,
                                        oci_expr *expr, oci_expr **out, oc_error *err);
void oci_grouping_deinit(oci_grouping *grouping);
/* The number of an expression among the inputs, added when it is new (taken, also on failure). */
OC_NODISCARD oc_status oci_grouping_input(oci_grouping *grouping, oci_expr *expr, int32_t *out,
                                          oc_error *err);

/* -- plans ------------------------------------------------------------------------------------- */

/* Nodes over an input (taken, also on failure) and expressions (likewise). */
OC_NODISCARD oc_status oci_plan_filter(oci_plan *input, oci_expr *condition, oci_plan **out,
                                       oc_error *err);
/* names[n] are copied. */
OC_NODISCARD oc_status oci_plan_project(oci_plan *input, oci_expr **exprs, const char *const *names,
                                        int32_t n, oci_plan **out, oc_error *err);
OC_NODISCARD oc_status oci_plan_distinct(oci_plan *input, oci_plan **out, oc_error *err);
OC_NODISCARD oc_status oci_plan_limit(oci_plan *input, int64_t offset, int64_t limit,
                                      oci_plan **out, oc_error *err);
OC_NODISCARD oc_status oci_plan_sort(oci_plan *input, const oci_sort_key *keys, int32_t n,
                                     oci_plan **out, oc_error *err);
/* A column of the input as an expression. */
OC_NODISCARD oc_status oci_plan_column(const oci_plan *input, int32_t column, oci_expr **out,
                                       oc_error *err);
/* A schema of n fields: types of expressions, names as given. */
OC_NODISCARD oc_status oci_plan_schema(oci_expr *const *exprs, const char *const *names, int32_t n,
                                       oci_schema **out, oc_error *err);

#endif /* OUTCORE_SQL_BIND_H */
