/* Functions: how a name and types of arguments become a kernel.
 *
 * Functions stand in tables, one per file of kernels (functions_math.c, functions_text.c, ...); all
 * tables are listed in function_table.c. Names are those of PostgreSQL where it has the function.
 *
 * Resolving. Every entry with the name is asked, in order; the first that takes the types of the
 * arguments as they are wins, else the first that takes them after implicit casts (cast.h: NULL to
 * anything; integers up; integers to decimals and floats; decimals to float64; float32 to float64;
 * utf8 constants to what the other side is; date to timestamp). The entry says which types it wants
 * and what it returns by its `bind`.
 *
 * Kernels work on whole vectors: `args` have the types that bind asked for, each constant or of `n`
 * rows. When all arguments are constant, a kernel is called with n = 1 and its result is made a
 * constant by the caller. Nulls: with `strict` the caller computes the validity of the result (null
 * where an argument is null) and the kernel needs to fill the other rows only, but must not fail or
 * trap on what lies in null slots; otherwise the kernel sets validity itself. */
#ifndef OUTCORE_EXPR_FUNCTION_H
#define OUTCORE_EXPR_FUNCTION_H

#include "expr/vector.h"

#define OCI_FUNCTION_ARGS_MAX 100

/* What bind works on. Types are fields without a name; strings inside them are owned. */
typedef struct oci_signature {
    int32_t n_args;
    /* In: as given. Out: as wanted; the caller casts (an implicit cast must exist). */
    oci_field *args;
    const bool *is_constant; /* of each argument */
    const bool
        *is_literal; /* a text (or NULL) whose type is not decided yet: may become any type */
    const oci_column *const *constants; /* value of a constant argument (one row), else NULL */
    oci_field result;                   /* out */
    void *data;                    /* out: what the kernel needs (a compiled pattern), malloc'ed */
    void (*free_data)(void *data); /* out */
} oci_signature;

typedef struct oci_call {
    const oci_field *result;
    const void *data; /* of the signature */
    int32_t n_args;
    const oci_vector *args;
    int64_t n;
    oci_mem *mem;
    int64_t now_us; /* start of the statement, microseconds since 1970 UTC */
} oci_call;

typedef struct oci_function {
    const char *name; /* lower case */
    int8_t args_min;
    int8_t args_max; /* -1 = any number */
    bool strict;
    bool is_volatile; /* random(): never folded, never shared */
    bool is_stable;   /* now(): not folded, but the same within a statement */
    /* Whether it takes these arguments, possibly after casts (then args are changed). false: the next
     * entry is asked. A reason to stop asking (bad pattern) goes to `err` and *failed is set. */
    bool (*bind)(oci_signature *signature, bool *failed, oc_error *err);
    /* Fills *out with n rows. OC_EDATA-like failures are the user's: division by zero, out of range
     * (status OC_EINVAL). */
    oc_status (*kernel)(const oci_call *call, oci_vector *out, oc_error *err);
    const char *help; /* "substr(text, from [, count]) -> text", for \df and errors */
} oci_function;

/* Types for bind(): of simple types, or a decimal; without a name, owning nothing. */
oci_field oci_expr_type(oci_type type);
oci_field oci_expr_decimal(int32_t precision, int32_t scale);
static inline bool oci_type_is_text(oci_type type)
{
    return type == OCI_TYPE_UTF8 || type == OCI_TYPE_LARGE_UTF8 || type == OCI_TYPE_UTF8_VIEW;
}
static inline bool oci_type_is_integer(oci_type type)
{
    return type >= OCI_TYPE_INT8 && type <= OCI_TYPE_UINT64;
}
static inline bool oci_type_is_float(oci_type type)
{
    return type == OCI_TYPE_FLOAT16 || type == OCI_TYPE_FLOAT32 || type == OCI_TYPE_FLOAT64;
}
static inline bool oci_type_is_decimal(oci_type type)
{
    return type >= OCI_TYPE_DECIMAL32 && type <= OCI_TYPE_DECIMAL256;
}
static inline bool oci_type_is_number(oci_type type)
{
    return oci_type_is_integer(type) || oci_type_is_float(type) || oci_type_is_decimal(type);
}

/* All tables, NULL-terminated; each ends with an entry without a name. */
extern const oci_function *const oci_function_tables[];

#endif /* OUTCORE_EXPR_FUNCTION_H */
