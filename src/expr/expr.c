/* Nodes of expressions: making, folding, looking at them. See expr.h. Nodes come from malloc.
 *
 * A call is resolved when it is made: every entry of the function tables with the name is asked whether it takes the
 * arguments; arguments are cast to what it asks for; and when everything is constant the result is computed at once,
 * on the heap's own small budget. */
#include "expr/expr.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/text.h"
#include "expr/cast.h"
#include "expr/eval.h"
#include "formats/format_value.h"

/* Memory that folding may take. */
#define FOLD_BYTES ((int64_t)16 << 20)

/* ---- life ------------------------------------------------------------------------------------ */

oci_expr *oci_expr_retain(oci_expr *expr)
{
    atomic_fetch_add(&expr->references, 1);
    return expr;
}

void oci_expr_release(oci_expr *expr)
{
    if (expr == NULL || atomic_fetch_sub(&expr->references, 1) != 1) {
        return;
    }
    for (int32_t i = 0; i < expr->n_args; i++) {
        oci_expr_release(expr->args[i]);
    }
    if (expr->free_data != NULL) {
        expr->free_data(expr->data);
    }
    oci_batch_release(expr->constant);
    oci_field_deinit(&expr->type);
    free(expr->args);
    free(expr);
}

static void release_args(oci_expr **args, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        oci_expr_release(args[i]);
    }
}

static oc_status out_of_memory(oc_error *err)
{
    OC_FAIL(err, OC_ENOMEM, "could not make an expression: out of memory");
}

/* A field of an expression's type: a deep copy without a name. */
static oc_status set_type(oci_expr *expr, const oci_field *type, oc_error *err)
{
    static char no_name[] = "";
    oci_field copy = *type;
    if (copy.name == NULL) {
        copy.name = no_name;
    }
    OC_TRY(oci_field_copy(&copy, &expr->type, err));
    char *name = strdup("");
    if (name == NULL) {
        return out_of_memory(err);
    }
    free(expr->type.name);
    expr->type.name = name;
    return OC_OK;
}

/* Takes args, also on failure. */
static oc_status make_node(oci_expr_kind kind, const oci_field *type, oci_expr **args,
                           int32_t n_args, int32_t position, oci_expr **out, oc_error *err)
{
    oci_expr *expr = calloc(1, sizeof *expr);
    oci_expr **list = calloc((size_t)n_args + 1, sizeof(oci_expr *));
    if (expr == NULL || list == NULL) {
        free(expr);
        free(list);
        release_args(args, n_args);
        return out_of_memory(err);
    }
    expr->kind = kind;
    expr->position = position;
    expr->column = -1;
    expr->args = list;
    expr->n_args = n_args;
    atomic_init(&expr->references, 1);
    for (int32_t i = 0; i < n_args; i++) {
        list[i] = args[i];
        expr->is_volatile = expr->is_volatile || args[i]->is_volatile;
        expr->depth = args[i]->depth >= expr->depth ? args[i]->depth + 1 : expr->depth;
    }
    oc_status status = OC_OK;
    if (expr->depth > OCI_EXPR_DEPTH_MAX) {
        status = OC_SET(err, OC_EINVAL, "an expression is nested more than %d levels deep",
                        OCI_EXPR_DEPTH_MAX);
    }
    if (status == OC_OK) {
        status = set_type(expr, type, err);
    }
    if (status != OC_OK) {
        oci_expr_release(expr);
        return status;
    }
    *out = expr;
    return OC_OK;
}

/* ---- columns and constants ------------------------------------------------------------------- */

oc_status oci_expr_column(const oci_schema *schema, int32_t index, int32_t position, oci_expr **out,
                          oc_error *err)
{
    OC_TRY(make_node(OCI_EXPR_COLUMN, &schema->fields[index], NULL, 0, position, out, err));
    (*out)->column = index;
    return OC_OK;
}

/* A batch of one row from the heap. `bytes` of a fixed value or a text; NULL = null. */
static oc_status make_value(const oci_field *type, const void *bytes, int64_t size, oci_batch **out,
                            oc_error *err)
{
    struct {
        uint8_t validity[8];
        uint8_t values[32];
    } *block = calloc(1, sizeof *block + (size_t)size);
    oci_field *field = calloc(1, sizeof *field);
    oci_column *column = calloc(1, sizeof *column);
    oci_schema *schema = NULL;
    if (block == NULL || field == NULL || column == NULL) {
        free(block);
        free(field);
        free(column);
        return out_of_memory(err);
    }
    static char no_name[] = "";
    oci_field named = *type;
    named.name = no_name;
    oc_status status = oci_field_copy(&named, field, err);
    if (status != OC_OK) {
        free(field);
    } else {
        status = oci_schema_create(field, 1, NULL, 0, &schema, err);
    }
    if (status != OC_OK) {
        free(block);
        free(column);
        return status;
    }
    *column = (oci_column){.field = &schema->fields[0], .length = 1, .values = block->values};
    if (bytes == NULL) {
        column->validity = type->type == OCI_TYPE_NULL ? NULL : block->validity;
        column->null_count = 1;
    } else if (oci_field_layout(type) == OCI_LAYOUT_OFFSETS32) {
        uint8_t *text = (uint8_t *)(block + 1);
        memcpy(text, bytes, (size_t)size);
        oci_store_le32(block->values + 4, (uint32_t)size);
        column->bytes = text;
    } else {
        memcpy(block->values, bytes, (size_t)size);
    }
    if (column->bytes == NULL) {
        column->bytes = block->values;
    }
    status = oci_batch_adopt(schema, 1, column, NULL, NULL, 0, block, (int64_t)sizeof *block + size,
                             out, err);
    oci_schema_release(schema);
    return status;
}

static oc_status make_constant(const oci_field *type, const void *bytes, int64_t size,
                               int32_t position, oci_expr **out, oc_error *err)
{
    oci_expr *expr;
    OC_TRY(make_node(OCI_EXPR_CONSTANT, type, NULL, 0, position, &expr, err));
    oc_status status = make_value(type, bytes, size, &expr->constant, err);
    if (status != OC_OK) {
        oci_expr_release(expr);
        return status;
    }
    *out = expr;
    return OC_OK;
}

oc_status oci_expr_null(int32_t position, oci_expr **out, oc_error *err)
{
    oci_field type = oci_expr_type(OCI_TYPE_NULL);
    OC_TRY(make_constant(&type, NULL, 0, position, out, err));
    (*out)->is_literal = true;
    return OC_OK;
}

oc_status oci_expr_bool(bool value, int32_t position, oci_expr **out, oc_error *err)
{
    oci_field type = oci_expr_type(OCI_TYPE_BOOL);
    uint8_t bits = value;
    return make_constant(&type, &bits, 1, position, out, err);
}

oc_status oci_expr_int(int64_t value, int32_t position, oci_expr **out, oc_error *err)
{
    bool is_short = value >= INT32_MIN && value <= INT32_MAX;
    oci_field type = oci_expr_type(is_short ? OCI_TYPE_INT32 : OCI_TYPE_INT64);
    uint8_t bytes[8];
    oci_store_le64(bytes, (uint64_t)value);
    return make_constant(&type, bytes, is_short ? 4 : 8, position, out, err);
}

oc_status oci_expr_text(const char *text, int64_t length, int32_t position, oci_expr **out,
                        oc_error *err)
{
    oci_field type = oci_expr_type(OCI_TYPE_UTF8);
    if (length > INT32_MAX) {
        OC_FAIL(err, OC_EINVAL, "a text of %" PRId64 " bytes is too long", length);
    }
    OC_TRY(make_constant(&type, text, length, position, out, err));
    (*out)->is_literal = true;
    return OC_OK;
}

/* Digits before and behind the point. */
static void count_digits(const char *text, int32_t *before, int32_t *behind)
{
    *before = *behind = 0;
    bool is_behind = false;
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '.') {
            is_behind = true;
        } else if (*at >= '0' && *at <= '9') {
            *(is_behind ? behind : before) += is_behind || *before > 0 || *at != '0';
        }
    }
}

oc_status oci_expr_number(const char *text, int32_t position, oci_expr **out, oc_error *err)
{
    int32_t before;
    int32_t behind;
    oci_expr *constant;
    count_digits(text, &before, &behind);
    bool is_float = strpbrk(text, "eE") != NULL || before + behind > 38;
    oci_field type = is_float ? oci_expr_type(OCI_TYPE_FLOAT64)
                              : oci_expr_decimal(before + behind > 0 ? before + behind : 1, behind);
    if (!is_float && behind == 0 && strchr(text, '.') == NULL && before <= 19) {
        errno = 0;
        int64_t value = strtoll(text, NULL, 10);
        if (errno == 0) { /* else out of range */
            return oci_expr_int(value, position, out, err);
        }
    }
    OC_TRY(oci_expr_text(text, (int64_t)strlen(text), position, &constant, err));
    return oci_expr_cast(constant, &type, false, position, out, err);
}

/* ---- folding --------------------------------------------------------------------------------- */

static bool is_constant(const oci_expr *expr)
{
    return expr->kind == OCI_EXPR_CONSTANT;
}

/* Replaces an expression of constants by its value. An error that only shows at run time (division by zero) stays
 * there, as the row may never be reached, and so does a text that is too long to be kept; else that there is no memory
 * is told at once. */
static oc_status fold(oci_expr **expr, oc_error *err)
{
    for (int32_t i = 0; i < (*expr)->n_args; i++) {
        if (!is_constant((*expr)->args[i])) {
            return OC_OK;
        }
    }
    if ((*expr)->is_volatile || (*expr)->kind == OCI_EXPR_COLUMN || is_constant(*expr) ||
        ((*expr)->kind == OCI_EXPR_CALL && (*expr)->function->is_stable)) {
        return OC_OK;
    }
    oci_budget *budget;
    oci_mem *mem;
    OC_TRY(oci_budget_create(FOLD_BYTES, NULL, &budget, err));
    oc_status status = oci_mem_open(budget, "constants", &mem, err);
    if (status == OC_OK) {
        oci_eval_context context = {.mem = mem};
        oci_batch *value = NULL;
        oc_error failure = {0};
        oc_status evaluated = oci_expr_value(&context, *expr, &value, &failure);
        bool may_be_long = oci_field_layout(&(*expr)->type) == OCI_LAYOUT_OFFSETS32;
        if (evaluated == OC_ENOMEM || (evaluated == OC_EBUDGET && !may_be_long)) {
            status = OC_SET(err, evaluated, "%s", failure.message);
        } else if (evaluated == OC_OK) {
            oci_expr *constant = NULL;
            status = oci_expr_constant(value, &(*expr)->type, (*expr)->position, &constant, err);
            oci_batch_release(value);
            if (status == OC_OK) {
                oci_expr_release(*expr);
                *expr = constant;
            }
        }
        oci_mem_close(mem);
    }
    oci_budget_destroy(budget);
    return status;
}

/* A value becomes a constant of the heap when it is simple enough. */
oc_status oci_expr_constant(const oci_batch *value, const oci_field *type, int32_t position,
                            oci_expr **out, oc_error *err)
{
    const oci_column *column = &value->columns[0];
    if (oci_column_is_null(column, 0)) {
        return make_constant(type, NULL, 0, position, out, err);
    }
    uint8_t bit = 0;
    int64_t size = 0;
    const uint8_t *bytes;
    switch (oci_field_layout(column->field)) {
    case OCI_LAYOUT_BITS:
        bit = oci_bit_get(column->values, column->offset);
        return make_constant(type, &bit, 1, position, out, err);
    case OCI_LAYOUT_FIXED:
        if (column->field->byte_width <= 32) {
            return make_constant(type, column->values + column->offset * column->field->byte_width,
                                 column->field->byte_width, position, out, err);
        }
        break;
    case OCI_LAYOUT_OFFSETS32:
        bytes = oci_column_bytes_at(column, 0, &size);
        return make_constant(type, bytes, size, position, out, err);
    default: break;
    }
    OC_FAIL(err, OC_EUNSUPPORTED, "a constant of type %s cannot be kept",
            oci_type_name(column->field->type));
}

static bool can_be_constant(const oci_field *type)
{
    oci_layout layout = oci_field_layout(type);
    return layout == OCI_LAYOUT_BITS || layout == OCI_LAYOUT_OFFSETS32 ||
           (layout == OCI_LAYOUT_FIXED && type->byte_width <= 32);
}

static oc_status finish(oci_expr *expr, oci_expr **out, oc_error *err)
{
    oc_status status = can_be_constant(&expr->type) ? fold(&expr, err) : OC_OK;
    if (status != OC_OK) {
        oci_expr_release(expr);
        return status;
    }
    *out = expr;
    return OC_OK;
}

/* ---- casts ----------------------------------------------------------------------------------- */

oc_status oci_expr_cast(oci_expr *arg, const oci_field *type, bool is_try, int32_t position,
                        oci_expr **out, oc_error *err)
{
    if (oci_field_same_type(&arg->type, type)) {
        arg->is_literal = false;
        *out = arg;
        return OC_OK;
    }
    if (!oci_cast_exists(oci_value_type(&arg->type), type)) {
        char from[128];
        char to[128];
        oci_type_sql_name(&arg->type, from, sizeof from);
        oci_type_sql_name(type, to, sizeof to);
        oci_expr_release(arg);
        OC_FAIL(err, OC_EINVAL, "cannot cast type %s to %s", from, to);
    }
    oci_expr *expr;
    OC_TRY(make_node(OCI_EXPR_CAST, type, &arg, 1, position, &expr, err));
    expr->is_try = is_try;
    /* What a constant cannot be cast to is known here and now. */
    bool constant = is_constant(expr->args[0]);
    OC_TRY(finish(expr, &expr, err));
    if (constant && expr->kind == OCI_EXPR_CAST && can_be_constant(&expr->type)) {
        oc_status status = oci_expr_check_constant(expr, err);
        if (status != OC_OK) {
            oci_expr_release(expr);
            return status;
        }
    }
    *out = expr;
    return OC_OK;
}

/* Evaluates an expression without columns for its error alone. */
oc_status oci_expr_check_constant(const oci_expr *expr, oc_error *err)
{
    oci_budget *budget;
    oci_mem *mem;
    OC_TRY(oci_budget_create(FOLD_BYTES, NULL, &budget, err));
    oc_status status = oci_mem_open(budget, "constants", &mem, err);
    if (status == OC_OK) {
        oci_eval_context context = {.mem = mem};
        oci_batch *value = NULL;
        status = oci_expr_value(&context, expr, &value, err);
        oci_batch_release(value);
        oci_mem_close(mem);
    }
    oci_budget_destroy(budget);
    return status;
}

static oc_status cast_arg(oci_expr **arg, const oci_field *type, oc_error *err)
{
    oci_expr *taken = *arg;
    *arg = NULL;
    return oci_expr_cast(taken, type, false, taken->position, arg, err);
}

/* ---- calls ----------------------------------------------------------------------------------- */

typedef struct resolution {
    const oci_function *function;
    oci_signature signature;
} resolution;

static void free_signature(oci_signature *signature)
{
    if (signature->free_data != NULL) {
        signature->free_data(signature->data);
    }
}

/* Whether an entry takes the arguments: after it has said what it wants, implicit casts must exist. */
static bool takes(const oci_function *function, oci_expr *const *args, int32_t n_args,
                  oci_field *types, bool *constants, const oci_column **values, bool *literals,
                  resolution *out, bool *failed, oc_error *err)
{
    if (n_args < function->args_min || (function->args_max >= 0 && n_args > function->args_max)) {
        return false;
    }
    for (int32_t i = 0; i < n_args; i++) {
        types[i] = *oci_value_type(&args[i]->type);
        constants[i] = is_constant(args[i]);
        values[i] = constants[i] ? &args[i]->constant->columns[0] : NULL;
        literals[i] = args[i]->is_literal;
    }
    out->function = function;
    out->signature = (oci_signature){.n_args = n_args,
                                     .args = types,
                                     .is_constant = constants,
                                     .constants = values,
                                     .is_literal = literals};
    if (!function->bind(&out->signature, failed, err)) {
        free_signature(&out->signature);
        return false;
    }
    for (int32_t i = 0; i < n_args; i++) {
        const oci_field *from = oci_value_type(&args[i]->type);
        bool is_text = args[i]->is_literal && oci_type_is_text(from->type);
        if (!oci_field_same_type(from, &types[i]) && !oci_cast_is_implicit(from, &types[i]) &&
            !(is_text && oci_cast_exists(from, &types[i]))) {
            free_signature(&out->signature);
            return false;
        }
    }
    return true;
}

static void set_no_such_function(const char *name, oci_expr *const *args, int32_t n_args,
                                 oc_error *err)
{
    char text[512];
    char known[400] = "";
    size_t at = 0;
    bool is_operator = strchr("+-*/%<>=!~|&#^", name[0]) != NULL;
    for (int32_t i = 0; i < n_args && at < sizeof text - 64; i++) {
        char type[64];
        oci_type_sql_name(oci_value_type(&args[i]->type), type, sizeof type);
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", i > 0 ? ", " : "", type);
    }
    text[at < sizeof text ? at : sizeof text - 1] = '\0';
    size_t used = 0;
    for (const oci_function *const *table = oci_function_tables; *table != NULL; table++) {
        for (const oci_function *f = *table; f->name != NULL; f++) {
            if (strcmp(f->name, name) == 0 && f->help != NULL && used < sizeof known - 100) {
                used += (size_t)snprintf(known + used, sizeof known - used, "%s%.90s",
                                         used > 0 ? "; " : "", f->help);
            }
        }
    }
    (void)OC_SET(err, OC_EINVAL, "%s %s(%s) does not exist%s%s",
                 is_operator ? "operator" : "function", name, n_args > 0 ? text : "",
                 used > 0 ? "; there is " : "", known);
}

static oc_status resolve(const char *name, oci_expr *const *args, int32_t n_args, oci_field *types,
                         bool *flags, const oci_column **values, resolution *out, oc_error *err)
{
    bool failed = false;
    oc_error failure = {0};
    for (const oci_function *const *table = oci_function_tables; *table != NULL; table++) {
        for (const oci_function *f = *table; f->name != NULL; f++) {
            if (strcmp(f->name, name) != 0) {
                continue;
            }
            if (takes(f, args, n_args, types, flags, values, flags + n_args, out, &failed,
                      &failure)) {
                return OC_OK;
            }
            if (failed) {
                OC_FAIL(err, failure.status, "%s", failure.message);
            }
        }
    }
    set_no_such_function(name, args, n_args, err);
    return OC_EINVAL;
}

static oc_status make_call(const char *name, oci_expr **args, int32_t n_args, int32_t position,
                           oci_field *types, bool *flags, const oci_column **values, oci_expr **out,
                           oc_error *err)
{
    resolution found = {0};
    oc_status status = resolve(name, args, n_args, types, flags, values, &found, err);
    for (int32_t i = 0; status == OC_OK && i < n_args; i++) {
        status = cast_arg(&args[i], &types[i], err);
        if (status != OC_OK) {
            free_signature(&found.signature);
        }
    }
    if (status != OC_OK) {
        release_args(args, n_args);
        return status;
    }
    oci_expr *expr;
    status = make_node(OCI_EXPR_CALL, &found.signature.result, args, n_args, position, &expr, err);
    if (status != OC_OK) {
        free_signature(&found.signature);
        return status;
    }
    expr->function = found.function;
    expr->data = found.signature.data;
    expr->free_data = found.signature.free_data;
    expr->is_volatile = expr->is_volatile || found.function->is_volatile;
    return finish(expr, out, err);
}

oc_status oci_expr_call(const char *name, oci_expr **args, int32_t n_args, int32_t position,
                        oci_expr **out, oc_error *err)
{
    oci_field *types = calloc((size_t)n_args + 1, sizeof *types);
    bool *flags = calloc(2 * (size_t)n_args + 1, sizeof *flags);
    const oci_column **values = calloc((size_t)n_args + 1, sizeof(oci_column *));
    oc_status status = OC_OK;
    if (types == NULL || flags == NULL || values == NULL) {
        release_args(args, n_args);
        status = out_of_memory(err);
    } else {
        status = make_call(name, args, n_args, position, types, flags, values, out, err);
    }
    free(types);
    free(flags);
    free(values);
    return status;
}

/* ---- logic and branches ---------------------------------------------------------------------- */

static oc_status cast_all(oci_expr **args, int32_t n, int32_t step, int32_t first,
                          const oci_field *type, oc_error *err)
{
    for (int32_t i = first; i < n; i += step) {
        OC_TRY(cast_arg(&args[i], type, err));
    }
    return OC_OK;
}

oc_status oci_expr_logic(oci_expr_kind kind, oci_expr **args, int32_t n_args, int32_t position,
                         oci_expr **out, oc_error *err)
{
    oci_field type = oci_expr_type(OCI_TYPE_BOOL);
    for (int32_t i = 0; i < n_args; i++) {
        oci_type given = oci_value_type(&args[i]->type)->type;
        if (given != OCI_TYPE_BOOL && given != OCI_TYPE_NULL && !args[i]->is_literal) {
            char name[64];
            oci_type_sql_name(&args[i]->type, name, sizeof name);
            release_args(args, n_args);
            OC_FAIL(err, OC_EINVAL, "argument of %s must be type boolean, not type %s",
                    kind == OCI_EXPR_AND ? "AND" : "OR", name);
        }
    }
    oc_status status = cast_all(args, n_args, 1, 0, &type, err);
    if (status != OC_OK) {
        release_args(args, n_args);
        return status;
    }
    oci_expr *expr;
    OC_TRY(make_node(kind, &type, args, n_args, position, &expr, err));
    return finish(expr, out, err);
}

static bool is_result(oci_expr_kind kind, int32_t i, int32_t n)
{
    return kind == OCI_EXPR_COALESCE || i % 2 == 1 || i == n - 1;
}

/* The common type of results; texts whose type is open take that of the others. */
static oc_status result_type(oci_expr_kind kind, oci_expr *const *args, int32_t n, oci_field *out,
                             oc_error *err)
{
    *out = oci_expr_type(OCI_TYPE_NULL);
    bool has_text = false;
    for (int32_t i = 0; i < n; i++) {
        if (!is_result(kind, i, n)) {
            continue;
        }
        if (args[i]->is_literal) {
            has_text = has_text || args[i]->type.type == OCI_TYPE_UTF8;
            continue;
        }
        OC_TRY(oci_common_type(out, &args[i]->type, out, err));
    }
    if (out->type == OCI_TYPE_NULL && has_text) {
        *out = oci_expr_type(OCI_TYPE_UTF8);
    }
    return OC_OK;
}

static oc_status cast_branches(oci_expr_kind kind, oci_expr **args, int32_t n,
                               const oci_field *result, oc_error *err)
{
    oci_field boolean = oci_expr_type(OCI_TYPE_BOOL);
    for (int32_t i = 0; i < n; i++) {
        OC_TRY(cast_arg(&args[i], is_result(kind, i, n) ? result : &boolean, err));
    }
    return OC_OK;
}

oc_status oci_expr_branches(oci_expr_kind kind, oci_expr **args, int32_t n_args, int32_t position,
                            oci_expr **out, oc_error *err)
{
    oci_field result;
    oci_field owned = {0};
    oc_status status = result_type(kind, args, n_args, &result, err);
    if (status == OC_OK) {
        /* It may point into an argument that a cast replaces. */
        static char no_name[] = "";
        result.name = no_name;
        status = oci_field_copy(&result, &owned, err);
    }
    if (status == OC_OK) {
        status = cast_branches(kind, args, n_args, &owned, err);
    }
    if (status != OC_OK) {
        release_args(args, n_args);
        oci_field_deinit(&owned);
        return status;
    }
    oci_expr *expr = NULL;
    status = make_node(kind, &owned, args, n_args, position, &expr, err);
    oci_field_deinit(&owned);
    OC_TRY(status);
    return finish(expr, out, err);
}

/* ---- looking at expressions ------------------------------------------------------------------ */

bool oci_expr_equal(const oci_expr *a, const oci_expr *b)
{
    if (a == b) {
        return true;
    }
    if (a->kind != b->kind || a->n_args != b->n_args || a->column != b->column ||
        a->function != b->function || a->is_try != b->is_try || a->is_volatile || b->is_volatile ||
        !oci_field_same_type(&a->type, &b->type)) {
        return false;
    }
    if (a->kind == OCI_EXPR_CONSTANT &&
        !oci_value_equal(&a->constant->columns[0], 0, &b->constant->columns[0], 0)) {
        return false;
    }
    for (int32_t i = 0; i < a->n_args; i++) {
        if (!oci_expr_equal(a->args[i], b->args[i])) {
            return false;
        }
    }
    return true;
}

void oci_expr_mark_columns(const oci_expr *expr, bool *used)
{
    if (expr->kind == OCI_EXPR_COLUMN) {
        used[expr->column] = true;
    }
    for (int32_t i = 0; i < expr->n_args; i++) {
        oci_expr_mark_columns(expr->args[i], used);
    }
}

/* A copy of one node over new arguments (taken, also on failure). Data of functions is made by bind, so the call is
 * bound once more; it was bound before, with the same types. */
oc_status oci_expr_rebuild(const oci_expr *expr, oci_expr **args, oci_expr **out, oc_error *err)
{
    if (expr->kind == OCI_EXPR_CALL) {
        return oci_expr_call(expr->function->name, args, expr->n_args, expr->position, out, err);
    }
    OC_TRY(make_node(expr->kind, &expr->type, args, expr->n_args, expr->position, out, err));
    (*out)->column = expr->column;
    (*out)->is_try = expr->is_try;
    (*out)->is_literal = expr->is_literal;
    if (expr->constant != NULL) {
        (*out)->constant = oci_batch_retain(expr->constant);
    }
    return OC_OK;
}

typedef struct rewriting {
    const int32_t *map;
    oci_expr *const *with;
} rewriting;

static oc_status rewrite(const oci_expr *expr, const rewriting *how, oci_expr **out, oc_error *err)
{
    if (expr->kind == OCI_EXPR_COLUMN && how->with != NULL) {
        *out = oci_expr_retain(how->with[expr->column]);
        return OC_OK;
    }
    oci_expr **args = calloc((size_t)expr->n_args + 1, sizeof(oci_expr *));
    if (args == NULL) {
        return out_of_memory(err);
    }
    oc_status status = OC_OK;
    for (int32_t i = 0; status == OC_OK && i < expr->n_args; i++) {
        status = rewrite(expr->args[i], how, &args[i], err);
    }
    if (status == OC_OK) {
        status = oci_expr_rebuild(expr, args, out, err);
    } else {
        release_args(args, expr->n_args);
    }
    free(args);
    if (status == OC_OK && expr->kind == OCI_EXPR_COLUMN && how->map != NULL) {
        (*out)->column = how->map[expr->column];
        if ((*out)->column < 0) {
            oci_expr_release(*out);
            OC_FAIL(err, OC_EINTERNAL, "an expression reads a column that is not there");
        }
    }
    return status;
}

oc_status oci_expr_remap(const oci_expr *expr, const int32_t *map, oci_expr **out, oc_error *err)
{
    rewriting how = {.map = map};
    return rewrite(expr, &how, out, err);
}

oc_status oci_expr_substitute(const oci_expr *expr, oci_expr *const *with, oci_expr **out,
                              oc_error *err)
{
    rewriting how = {.with = with};
    return rewrite(expr, &how, out, err);
}

/* ---- for people ------------------------------------------------------------------------------ */

typedef struct printing {
    const oci_schema *schema;
    char *buf;
    size_t size;
    size_t used;
} printing;

static void print(printing *p, const char *text)
{
    size_t n = strlen(text);
    size_t room = p->size - p->used - 1;
    n = n < room ? n : room;
    memcpy(p->buf + p->used, text, n);
    p->used += n;
    p->buf[p->used] = '\0';
}

static void print_constant(printing *p, const oci_expr *expr)
{
    const oci_column *column = &expr->constant->columns[0];
    char text[OCI_VALUE_TEXT_MAX + 8];
    oci_formatter formatter;
    if (oci_column_is_null(column, 0)) {
        print(p, "NULL");
    } else if (oci_field_layout(&expr->type) == OCI_LAYOUT_OFFSETS32) {
        int64_t length;
        const uint8_t *bytes = oci_column_bytes_at(column, 0, &length);
        snprintf(text, sizeof text, "'%.*s'", (int)oci_min64(length, 200), (const char *)bytes);
        print(p, text);
    } else if (oci_formatter_init(&formatter, &expr->type, NULL, NULL) == OC_OK) {
        char *end = oci_format_value(&formatter, column, 0, text);
        *end = '\0';
        oci_formatter_deinit(&formatter, NULL);
        print(p, text);
    }
}

static void print_expr(printing *p, const oci_expr *expr, int depth);

static void print_list(printing *p, const oci_expr *expr, const char *between, int depth)
{
    for (int32_t i = 0; i < expr->n_args; i++) {
        print(p, i > 0 ? between : "");
        print_expr(p, expr->args[i], depth + 1);
    }
}

static void print_call(printing *p, const oci_expr *expr, int depth)
{
    const char *name = expr->function->name;
    bool is_symbol = strchr("+-*/%<>=!~|&#^", name[0]) != NULL;
    bool is_infix = expr->n_args == 2 &&
                    (is_symbol || strcmp(name, "like") == 0 || strncmp(name, "is ", 3) == 0);
    if (is_infix) {
        char between[64];
        snprintf(between, sizeof between, " %.50s ", name);
        print(p, "(");
        print_list(p, expr, between, depth);
        print(p, ")");
    } else if (expr->n_args == 1 && strncmp(name, "is ", 3) == 0) {
        print(p, "(");
        print_list(p, expr, "", depth);
        print(p, " ");
        print(p, name);
        print(p, ")");
    } else {
        print(p, name);
        print(p, "(");
        print_list(p, expr, ", ", depth);
        print(p, ")");
    }
}

static void print_expr(printing *p, const oci_expr *expr, int depth)
{
    char type[128];
    if (depth > 20) {
        print(p, "...");
        return;
    }
    switch (expr->kind) {
    case OCI_EXPR_COLUMN:
        if (expr->column < p->schema->n_fields && p->schema->fields[expr->column].name[0] != '\0') {
            print(p, p->schema->fields[expr->column].name);
        } else {
            snprintf(type, sizeof type, "#%d", expr->column + 1);
            print(p, type);
        }
        break;
    case OCI_EXPR_CONSTANT: print_constant(p, expr); break;
    case OCI_EXPR_CALL: print_call(p, expr, depth); break;
    case OCI_EXPR_CAST:
        oci_type_sql_name(&expr->type, type, sizeof type);
        print(p, expr->is_try ? "TRY_CAST(" : "CAST(");
        print_expr(p, expr->args[0], depth + 1);
        print(p, " AS ");
        print(p, type);
        print(p, ")");
        break;
    case OCI_EXPR_AND:
    case OCI_EXPR_OR:
        print(p, "(");
        print_list(p, expr, expr->kind == OCI_EXPR_AND ? " AND " : " OR ", depth);
        print(p, ")");
        break;
    case OCI_EXPR_CASE:
        print(p, "CASE(");
        print_list(p, expr, ", ", depth);
        print(p, ")");
        break;
    case OCI_EXPR_COALESCE:
        print(p, "COALESCE(");
        print_list(p, expr, ", ", depth);
        print(p, ")");
        break;
    }
}

void oci_expr_format(const oci_expr *expr, const oci_schema *schema, char *buf, size_t size)
{
    printing p = {.schema = schema, .buf = buf, .size = size};
    buf[0] = '\0';
    print_expr(&p, expr, 0);
}
