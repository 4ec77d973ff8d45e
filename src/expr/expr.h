/* Scalar expressions: bound to the columns of a schema, evaluated a batch at a time.
 *
 * An expression is immutable and reference-counted. Every maker below takes over its arguments, also
 * on failure, checks types, puts in implicit casts and folds what is constant, so that what comes
 * out is ready to run. Nodes are malloc'ed: they grow with the query, not with the data.
 *
 * Semantics are PostgreSQL's: three-valued logic; an operator with a null gives null; overflow,
 * division by zero and values out of range are errors (OC_EINVAL), never wrong numbers; AND, OR,
 * CASE and COALESCE evaluate an argument only for the rows that need it, so that `b <> 0 AND a / b >
 * 1` is safe. Where PostgreSQL has `numeric` without end, decimals of at most 38 digits stand here:
 *
 *   a + b, a - b   scale max(s1, s2), digits before the point + 1
 *   a * b          scale s1 + s2, precision p1 + p2
 *   a / b          scale max(6, s1 + p2 + 1), cut so that 38 digits are not passed (at least 6)
 *   integer and decimal: the integer counts as decimal(its digits, 0); float and decimal: float64
 *   integer / integer: integer, rounded towards zero, as in PostgreSQL
 *
 * Integers: int8 and int16 are computed as int32, unsigned as int64 (uint64 as decimal(20, 0)). */
#ifndef OUTCORE_EXPR_EXPR_H
#define OUTCORE_EXPR_EXPR_H

#include <stdatomic.h>

#include "expr/function.h"

typedef enum oci_expr_kind {
    OCI_EXPR_COLUMN,
    OCI_EXPR_CONSTANT,
    OCI_EXPR_CALL,
    OCI_EXPR_CAST,
    OCI_EXPR_AND,
    OCI_EXPR_OR,
    OCI_EXPR_CASE,    /* args: when, then, when, then, ..., else */
    OCI_EXPR_COALESCE /* args, the first that is not null */
} oci_expr_kind;

typedef struct oci_expr oci_expr;
struct oci_expr {
    oci_expr_kind kind;
    oci_field type;               /* of the result; its name is "", nullable as far as is known */
    int32_t position;             /* byte in the statement, -1 = none */
    int32_t column;               /* COLUMN */
    oci_batch *constant;          /* CONSTANT: one row of one column */
    const oci_function *function; /* CALL */
    void *data;                   /* CALL: of the function */
    void (*free_data)(void *data);
    bool is_try;     /* CAST: null instead of an error */
    bool is_literal; /* CONSTANT: a text whose type is not decided yet, or NULL */
    int32_t n_args;
    oci_expr **args;
    bool is_volatile; /* it, or something in it */
    int32_t depth;    /* of what is in it */
    _Atomic int32_t references;
};

oci_expr *oci_expr_retain(oci_expr *expr);
void oci_expr_release(oci_expr *expr); /* NULL is fine */

/* ---- making ---------------------------------------------------------------------------------- */

/* Column `index` of a schema. */
OC_NODISCARD oc_status oci_expr_column(const oci_schema *schema, int32_t index, int32_t position,
                                       oci_expr **out, oc_error *err);

/* Constants. A decimal text becomes int32, int64 or a decimal as short as holds it, "1e3" float64. */
OC_NODISCARD oc_status oci_expr_null(int32_t position, oci_expr **out, oc_error *err);
OC_NODISCARD oc_status oci_expr_bool(bool value, int32_t position, oci_expr **out, oc_error *err);
OC_NODISCARD oc_status oci_expr_int(int64_t value, int32_t position, oci_expr **out, oc_error *err);
OC_NODISCARD oc_status oci_expr_number(const char *text, int32_t position, oci_expr **out,
                                       oc_error *err);
/* utf8. Untyped as PostgreSQL's 'literals' are: takes the type of the other side of an operator, of
 * the column of an IN list, of the other branches of CASE. */
OC_NODISCARD oc_status oci_expr_text(const char *text, int64_t length, int32_t position,
                                     oci_expr **out, oc_error *err);

/* The value of a batch of one row and column, of a type with a fixed width up to 32 bytes, or utf8 / binary. */
OC_NODISCARD oc_status oci_expr_constant(const oci_batch *value, const oci_field *type,
                                         int32_t position, oci_expr **out, oc_error *err);

/* A function or operator by its name ("substr", "+", "=", "<>", "~", "like", "is null", "is distinct
 * from", "between", "in", "not", "||", "extract", "struct field" ...). OC_EINVAL: there is none for
 * these types; the message lists those of this name. */
OC_NODISCARD oc_status oci_expr_call(const char *name, oci_expr **args, int32_t n_args,
                                     int32_t position, oci_expr **out, oc_error *err);
OC_NODISCARD oc_status oci_expr_cast(oci_expr *arg, const oci_field *type, bool is_try,
                                     int32_t position, oci_expr **out, oc_error *err);
/* AND / OR of any number of booleans. */
OC_NODISCARD oc_status oci_expr_logic(oci_expr_kind kind, oci_expr **args, int32_t n_args,
                                      int32_t position, oci_expr **out, oc_error *err);
/* CASE: args as in oci_expr_kind, always with an else (NULL constant when there is none). COALESCE:
 * the arguments. The result has their common type. */
OC_NODISCARD oc_status oci_expr_branches(oci_expr_kind kind, oci_expr **args, int32_t n_args,
                                         int32_t position, oci_expr **out, oc_error *err);

/* Depth of expressions inside each other, at most: makers refuse more. */
#define OCI_EXPR_DEPTH_MAX 1000

/* The type that values of both types become in UNION, CASE, VALUES. OC_EINVAL: there is none. */
OC_NODISCARD oc_status oci_common_type(const oci_field *a, const oci_field *b, oci_field *out,
                                       oc_error *err);
/* A type by its SQL name: int4, bigint, double precision, text, varchar(10), decimal(15,2), date,
 * timestamp, timestamptz, interval, bytea, boolean, and Arrow's names (uint8, large_utf8, float32).
 * `modifiers` as written behind the name. OC_EINVAL: unknown, with near names. */
OC_NODISCARD oc_status oci_type_by_name(const char *name, const int32_t *modifiers,
                                        int32_t n_modifiers, oci_field *out, oc_error *err);
/* Its SQL name for people: "bigint", "decimal(15,2)", "text". */
void oci_type_sql_name(const oci_field *field, char *buf, size_t size);

/* Evaluates an expression without columns for its error alone. */
OC_NODISCARD oc_status oci_expr_check_constant(const oci_expr *expr, oc_error *err);

/* ---- looking at it --------------------------------------------------------------------------- */

bool oci_expr_equal(const oci_expr *a, const oci_expr *b); /* positions do not count */
/* Marks used[i] for each column i that it reads. */
void oci_expr_mark_columns(const oci_expr *expr, bool *used);
/* A copy with column i read as map[i]; OC_EINTERNAL when map[i] < 0 for one that is used. */
OC_NODISCARD oc_status oci_expr_remap(const oci_expr *expr, const int32_t *map, oci_expr **out,
                                      oc_error *err);
/* A copy with column i replaced by with[i]. */
OC_NODISCARD oc_status oci_expr_substitute(const oci_expr *expr, oci_expr *const *with,
                                           oci_expr **out, oc_error *err);
/* A copy of one node over other arguments of the same types (taken, also on failure). */
OC_NODISCARD oc_status oci_expr_rebuild(const oci_expr *expr, oci_expr **args, oci_expr **out,
                                        oc_error *err);
/* For EXPLAIN: "(l_quantity + 1) > 5". Cut to the buffer. `schema` names the columns. */
void oci_expr_format(const oci_expr *expr, const oci_schema *schema, char *buf, size_t size);

/* ---- evaluating ------------------------------------------------------------------------------ */

typedef struct oci_eval_context {
    oci_mem *mem; /* pays for results and for what lies in between */
    int64_t now_us;
    atomic_bool *cancel; /* looked at now and then by what may take long; may be NULL */
} oci_eval_context;

/* One column per expression into a batch of `schema` (types of the expressions, any names). Columns
 * that are only passed on share memory with `batch`, in any layout. */
OC_NODISCARD oc_status oci_expr_project(const oci_eval_context *context, oci_expr *const *exprs,
                                        oci_schema *schema, oci_batch *batch, oci_batch **out,
                                        oc_error *err);
/* The rows for which a boolean expression is true: their numbers, ascending, into rows[batch->length];
 * *n gets how many. */
OC_NODISCARD oc_status oci_expr_filter(const oci_eval_context *context, const oci_expr *expr,
                                       oci_batch *batch, int64_t *rows, int64_t *n, oc_error *err);
/* The value of an expression without columns: one row of one column. */
OC_NODISCARD oc_status oci_expr_value(const oci_eval_context *context, const oci_expr *expr,
                                      oci_batch **out, oc_error *err);

#endif /* OUTCORE_EXPR_EXPR_H */
