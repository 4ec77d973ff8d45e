/* What the kernels of functions share: shapes of arguments, values of rows, results row by row.
 *
 * Texts are taken in any layout (32-bit and 64-bit offsets, views) and always given as utf8. Null
 * slots of strict functions are passed over: nothing is known about what lies in them. */
#ifndef OUTCORE_EXPR_KERNEL_H
#define OUTCORE_EXPR_KERNEL_H

#include <string.h>

#include "base/bits.h"
#include "expr/expr.h"
#include "expr/function.h"

/* ---- binding --------------------------------------------------------------------------------- */

/* One letter per argument: t text, y bytes, i int64, d float64, l bool, D date32, T timestamp,
 * I interval, * anything, = as it is given. Arguments beyond the shape take its last letter.
 * Returns whether the arguments can be these (the caller checks casts); sets the result. */
bool oci_bind_shape(oci_signature *s, const char *shape, oci_type result);

#define OCI_BIND(name, shape, result_type)                          \
    static bool name(oci_signature *s, bool *failed, oc_error *err) \
    {                                                               \
        (void)failed, (void)err;                                    \
        return oci_bind_shape(s, (shape), (result_type));           \
    }

#define OCI_STRICT(name_, min, max, bind_, kernel_, help_)                                      \
    {                                                                                           \
        .name = (name_), .args_min = (min), .args_max = (max), .strict = true, .bind = (bind_), \
        .kernel = (kernel_), .help = (help_)                                                    \
    }

/* The text of a constant argument; false when it is not constant, not a text, or null. */
bool oci_constant_text(const oci_signature *s, int32_t arg, const uint8_t **text, int64_t *length);

/* ---- values ---------------------------------------------------------------------------------- */

typedef struct oci_span {
    const uint8_t *at;
    int64_t length;
} oci_span;

static inline bool oci_arg_is_null(const oci_call *call, int32_t arg, int64_t i)
{
    const oci_vector *vector = &call->args[arg];
    const oci_column *column = &vector->column;
    if (column->validity == NULL) {
        return column->field->type == OCI_TYPE_NULL;
    }
    return !oci_bit_get(column->validity, column->offset + oci_vector_row(vector, i));
}

/* Whether no argument is null in this row. */
static inline bool oci_args_valid(const oci_call *call, int64_t i)
{
    for (int32_t a = 0; a < call->n_args; a++) {
        if (oci_arg_is_null(call, a, i)) {
            return false;
        }
    }
    return true;
}

static inline const uint8_t *oci_arg_at(const oci_call *call, int32_t arg, int64_t i, int64_t width)
{
    const oci_vector *vector = &call->args[arg];
    return vector->column.values + (vector->column.offset + oci_vector_row(vector, i)) * width;
}

static inline int32_t oci_arg_int32(const oci_call *call, int32_t arg, int64_t i)
{
    return (int32_t)oci_load_le32(oci_arg_at(call, arg, i, 4));
}

static inline int64_t oci_arg_int64(const oci_call *call, int32_t arg, int64_t i)
{
    return (int64_t)oci_load_le64(oci_arg_at(call, arg, i, 8));
}

static inline double oci_arg_double(const oci_call *call, int32_t arg, int64_t i)
{
    double value;
    memcpy(&value, oci_arg_at(call, arg, i, 8), sizeof value);
    return value;
}

static inline bool oci_arg_bool(const oci_call *call, int32_t arg, int64_t i)
{
    const oci_vector *vector = &call->args[arg];
    return oci_bit_get(vector->column.values, vector->column.offset + oci_vector_row(vector, i)) !=
           0;
}

static inline oci_span oci_text_at(const oci_vector *vector, int64_t i)
{
    const oci_column *column = &vector->column;
    int64_t row = oci_vector_row(vector, i);
    oci_span span;
    if (column->field->type == OCI_TYPE_UTF8 || column->field->type == OCI_TYPE_BINARY) {
        const uint8_t *offsets = column->values + (column->offset + row) * 4;
        int32_t start = (int32_t)oci_load_le32(offsets);
        span.length = (int32_t)oci_load_le32(offsets + 4) - start;
        span.at = column->bytes == NULL ? (const uint8_t *)"" : column->bytes + start;
    } else {
        span.at = oci_column_bytes_at(column, row, &span.length);
    }
    return span;
}

static inline oci_span oci_arg_text(const oci_call *call, int32_t arg, int64_t i)
{
    return oci_text_at(&call->args[arg], i);
}

static inline bool oci_span_equal(oci_span a, oci_span b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.at, b.at, (size_t)a.length) == 0);
}

/* First place of `needle` in `text`, or NULL. An empty needle is at the start. */
const uint8_t *oci_find(oci_span text, oci_span needle);

/* ---- results --------------------------------------------------------------------------------- */

/* A text result, a row at a time: `row` appends exactly one value. Null rows of strict functions
 * are not asked for; with `all` every row is. */
typedef oc_status oci_text_row(const oci_call *call, int64_t i, oci_text_builder *builder,
                               oc_error *err);
OC_NODISCARD oc_status oci_each_text(const oci_call *call, oci_text_row *row, bool all,
                                     oci_vector *out, oc_error *err);

/* One text value of a builder, put together piece by piece; oci_text_builder_commit(builder, used)
 * ends it. */
typedef struct oci_growing_text {
    oci_text_builder *builder;
    uint8_t *start;
    int64_t used;
    int64_t room;
} oci_growing_text;
OC_NODISCARD oc_status oci_growing_put(oci_growing_text *text, const uint8_t *bytes, int64_t length,
                                       oc_error *err);

/* A bool result, a row at a time. */
typedef oc_status oci_bool_row(const oci_call *call, int64_t i, bool *out, oc_error *err);
OC_NODISCARD oc_status oci_each_bool(const oci_call *call, oci_bool_row *row, oci_vector *out,
                                     oc_error *err);

/* An integer of 32 or 64 bits (also of a date, a timestamp), a row at a time; int32 is checked. */
typedef oc_status oci_int_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err);
OC_NODISCARD oc_status oci_each_int(const oci_call *call, oci_int_row *row, oci_vector *out,
                                    oc_error *err);

typedef oc_status oci_double_row(const oci_call *call, int64_t i, double *out, oc_error *err);
OC_NODISCARD oc_status oci_each_double(const oci_call *call, oci_double_row *row, oci_vector *out,
                                       oc_error *err);

#endif /* OUTCORE_EXPR_KERNEL_H */
