/* Evaluating expressions, a batch at a time. See expr.h.
 *
 * AND, OR, CASE and COALESCE are to look at an argument only for the rows that need it. Mostly nothing speaks
 * against looking at all rows, in straight loops; so that is tried first, and only when an argument fails (a
 * division by zero, a text that is no number) it is evaluated once more for the rows that need it, copied out of
 * the batch. Where those rows fail too, the error is real.
 *
 * Lists of rows and pointers to vectors come from malloc when they grow with the query, else from the account. */
#include "expr/eval.h"

#include <stdlib.h>
#include <string.h>

#include "arrow/gather.h"
#include "base/bits.h"
#include "expr/cast.h"
#include "expr/null_column.h"

/* ---- vectors and batches --------------------------------------------------------------------- */

static oc_status one_field_schema(const oci_field *type, oci_schema **out, oc_error *err)
{
    static char no_name[] = "";
    oci_field *field = calloc(1, sizeof *field);
    if (field == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not evaluate an expression: out of memory");
    }
    oci_field named = *type;
    named.name = named.name == NULL ? no_name : named.name;
    oc_status status = oci_field_copy(&named, field, err);
    if (status != OC_OK) {
        free(field);
        return status;
    }
    return oci_schema_create(field, 1, NULL, 0, out, err);
}

/* A view of a column as a batch, for gather; nothing is owned. */
typedef struct column_view {
    oci_column column;
    oci_batch batch;
} column_view;

static void view_column(column_view *view, oci_schema *schema, const oci_column *column)
{
    view->column = *column;
    view->column.field = &schema->fields[0];
    view->batch = (oci_batch){.schema = schema, .length = column->length, .columns = &view->column};
}

static void own_batch(oci_vector *out, oci_batch *batch)
{
    *out = (oci_vector){.column = batch->columns[0], .keeps = batch};
}

/* Rows of columns of one type, by refs, as a vector. Sources have the type of `schema`. */
static oc_status gather_vector(const oci_eval_context *context, oci_schema *schema,
                               const oci_batch *const *sources, const oci_row_ref *refs, int64_t n,
                               oci_vector *out, oc_error *err)
{
    oci_batch *made;
    if (n > OCI_GATHER_ROWS_MAX) {
        OC_FAIL(err, OC_EINTERNAL, "an expression was evaluated over too many rows at once");
    }
    OC_TRY(oci_gather(schema, sources, refs, n, 0, context->mem, NULL, &made, err));
    own_batch(out, made);
    return OC_OK;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Follows the indices of a dictionary. Null rows refer to a batch of one null. */
static oc_status resolve_dictionary(const oci_eval_context *context, const oci_column *column,
                                    oci_vector *out, oc_error *err)
{
    oci_schema *schema;
    void *block;
    int64_t n = column->length;
    int64_t bytes = oci_max64(8, n * (int64_t)sizeof(oci_row_ref));
    OC_TRY(one_field_schema(column->field->dictionary, &schema, err));
    oc_status status = oci_mem_alloc(context->mem, bytes, &block, err);
    if (status != OC_OK) {
        oci_schema_release(schema);
        return status;
    }
    oci_row_ref *refs = block;
    uint8_t zeros[64] = {0};
    column_view values;
    column_view null;
    oci_column no_value = {.field = &schema->fields[0],
                           .length = 1,
                           .null_count = 1,
                           .validity = zeros,
                           .values = zeros,
                           .bytes = zeros};
    view_column(&values, schema, column->dictionary);
    view_column(&null, schema, &no_value);
    for (int64_t i = 0; i < n; i++) {
        bool is_null = column->validity != NULL &&
                       !oci_bit_get(column->validity, column->offset + i);
        int64_t index = is_null ? -1 : oci_column_index_at(column, i);
        bool is_value = index >= 0 && index < column->dictionary->length;
        refs[i] = is_value ? (oci_row_ref){0, (uint32_t)index} : (oci_row_ref){1, 0};
    }
    const oci_batch *sources[2] = {&values.batch, &null.batch};
    status = gather_vector(context, schema, sources, refs, n, out, err);
    oci_mem_free(context->mem, block, bytes);
    oci_schema_release(schema);
    return status;
}

/* Runs, list views and views inside lists in working form. */
static oc_status to_working_form(const oci_eval_context *context, const oci_column *column,
                                 oci_vector *out, oc_error *err)
{
    oci_schema *schema;
    oci_schema *working = NULL;
    oci_batch *made;
    OC_TRY(one_field_schema(column->field, &schema, err));
    oc_status status = oci_schema_working(schema, &working, err);
    if (status == OC_OK) {
        column_view view;
        view_column(&view, schema, column);
        status = oci_gather_range(working, &view.batch, 0, column->length, 0, context->mem, NULL,
                                  &made, err);
    }
    oci_schema_release(schema);
    oci_schema_release(working);
    if (status == OC_OK) {
        own_batch(out, made);
    }
    return status;
}

static bool is_flat(const oci_field *field)
{
    oci_layout layout = oci_field_layout(field);
    if (layout == OCI_LAYOUT_DICTIONARY || layout == OCI_LAYOUT_RUN_ENDS ||
        layout == OCI_LAYOUT_LIST_VIEW32 || layout == OCI_LAYOUT_LIST_VIEW64) {
        return false;
    }
    for (int32_t i = 0; i < field->n_children; i++) {
        oci_layout child = oci_field_layout(&field->children[i]);
        if (child == OCI_LAYOUT_VIEWS ||
            (child != OCI_LAYOUT_DICTIONARY && !is_flat(&field->children[i]))) {
            return false;
        }
    }
    return true;
}

static oc_status eval_column(const oci_eval_context *context, const oci_column *column,
                             oci_vector *out, oc_error *err)
{
    if (column->field->type == OCI_TYPE_DICTIONARY) {
        OC_TRY(resolve_dictionary(context, column, out, err));
    } else if (!is_flat(column->field)) {
        OC_TRY(to_working_form(context, column, out, err));
    } else {
        *out = (oci_vector){.column = *column};
        return OC_OK;
    }
    if (is_flat(out->column.field)) {
        return OC_OK;
    }
    oci_vector deeper;
    oc_status status = eval_column(context, &out->column, &deeper, err);
    oci_vector_deinit(out);
    *out = deeper;
    return status;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static oc_status eval_args(const oci_eval_context *context, const oci_expr *expr, oci_batch *batch,
                           oci_vector **out, oc_error *err)
{
    oci_vector *args = calloc((size_t)expr->n_args + 1, sizeof *args);
    if (args == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not evaluate an expression: out of memory");
    }
    for (int32_t i = 0; i < expr->n_args; i++) {
        oc_status status = oci_expr_eval(context, expr->args[i], batch, &args[i], err);
        if (status != OC_OK) {
            while (--i >= 0) {
                oci_vector_deinit(&args[i]);
            }
            free(args);
            return status;
        }
    }
    *out = args;
    return OC_OK;
}

static void free_args(oci_vector *args, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        oci_vector_deinit(&args[i]);
    }
    free(args);
}

static bool all_constant(const oci_vector *args, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        if (!args[i].is_constant) {
            return false;
        }
    }
    return n > 0;
}

static bool has_nulls(const oci_vector *vector)
{
    return vector->column.field->type == OCI_TYPE_NULL ||
           oci_column_null_count(&vector->column) > 0;
}

/* Clears the bits of rows where an argument is null. */
static void clear_null_rows(const oci_vector *arg, uint8_t *bits, int64_t n)
{
    if (!has_nulls(arg)) {
        return;
    }
    if (arg->is_constant || arg->column.field->type == OCI_TYPE_NULL) {
        memset(bits, 0, (size_t)oci_bytes_for_bits(n));
        return;
    }
    for (int64_t i = 0; i < n; i += 64) {
        int count = (int)oci_min64(64, n - i);
        uint64_t valid = oci_bits_load(arg->column.validity, arg->column.offset + i, count);
        oci_bits_store(bits, i, oci_bits_load(bits, i, count) & valid, count);
    }
}

/* Validity of a strict result: valid where all arguments are, and where the kernel left it so. */
static oc_status merge_validity(const oci_eval_context *context, const oci_vector *args,
                                int32_t n_args, int64_t n, oci_vector *out, oc_error *err)
{
    bool any = false;
    for (int32_t i = 0; i < n_args; i++) {
        any = any || has_nulls(&args[i]);
    }
    if (!any || out->column.field->type == OCI_TYPE_NULL) {
        return OC_OK;
    }
    /* Kept beside the result, by a batch of no columns that owns the bitmap. */
    int64_t bytes = oci_round_up(oci_bytes_for_bits(n), 8) + 8;
    void *block;
    OC_TRY(oci_mem_alloc(context->mem, bytes, &block, err));
    memset(block, 0xFF, (size_t)bytes);
    if (out->column.validity != NULL) {
        oci_bits_copy(block, 0, out->column.validity, out->column.offset, n);
    }
    for (int32_t i = 0; i < n_args; i++) {
        clear_null_rows(&args[i], block, n);
    }
    if (out->column.offset != 0 || out->mem == NULL) {
        /* A result that borrows: bitmaps and values share an offset, so it is copied. */
        oci_mem_free(context->mem, block, bytes);
        OC_FAIL(err, OC_EINTERNAL, "a strict function gave a borrowed result");
    }
    oci_batch *owner;
    OC_TRY(oci_batch_without_columns(0, context->mem, block, bytes, &owner, err));
    out->keeps = owner;
    out->column.validity = block;
    out->column.null_count = -1;
    return OC_OK;
}

/* All rows null, for strict calls with a constant null. */
static oc_status all_null(const oci_eval_context *context, const oci_field *type, oci_vector *out,
                          oc_error *err)
{
    oci_schema *schema;
    oci_batch *made;
    OC_TRY(one_field_schema(type, &schema, err));
    oci_null_column null;
    oc_status status = oci_null_column_init(&null, &schema->fields[0], err);
    if (status == OC_OK) {
        column_view view;
        view_column(&view, schema, &null.column);
        const oci_batch *sources[1] = {&view.batch};
        oci_row_ref ref = {0, 0};
        status = oci_gather(schema, sources, &ref, 1, 0, context->mem, NULL, &made, err);
    }
    oci_null_column_deinit(&null);
    oci_schema_release(schema);
    OC_TRY(status);
    own_batch(out, made);
    out->is_constant = true;
    return OC_OK;
}

static bool is_null_constant(const oci_vector *arg)
{
    return arg->is_constant && oci_column_is_null(&arg->column, 0);
}

static oc_status call(const oci_eval_context *context, const oci_expr *expr, const oci_vector *args,
                      int64_t n, oci_vector *out, oc_error *err)
{
    const oci_function *function = expr->function;
    for (int32_t i = 0; function->strict && i < expr->n_args; i++) {
        if (is_null_constant(&args[i]) && oci_field_layout(&expr->type) <= OCI_LAYOUT_OFFSETS64) {
            return all_null(context, &expr->type, out, err);
        }
    }
    bool constant = all_constant(args, expr->n_args) && !function->is_volatile;
    oci_call c = {.result = &expr->type,
                  .data = expr->data,
                  .n_args = expr->n_args,
                  .args = args,
                  .n = constant ? 1 : n,
                  .mem = context->mem,
                  .now_us = context->now_us};
    OC_TRY(function->kernel(&c, out, err));
    out->is_constant = out->is_constant || constant;
    if (function->strict && !out->is_constant) {
        oc_status status = merge_validity(context, args, expr->n_args, c.n, out, err);
        if (status != OC_OK) {
            oci_vector_deinit(out);
            return status;
        }
    }
    return OC_OK;
}

static oc_status eval_call(const oci_eval_context *context, const oci_expr *expr, oci_batch *batch,
                           oci_vector *out, oc_error *err)
{
    oci_vector *args;
    OC_TRY(eval_args(context, expr, batch, &args, err));
    oc_status status = call(context, expr, args, batch->length, out, err);
    /* A result may borrow from an argument (a child of a struct): then that is kept as well. */
    for (int32_t i = 0;
         status == OC_OK && out->mem == NULL && out->keeps == NULL && i < expr->n_args; i++) {
        if (args[i].keeps != NULL) {
            out->keeps = oci_batch_retain(args[i].keeps);
        }
    }
    free_args(args, expr->n_args);
    return status;
}

static oc_status eval_cast(const oci_eval_context *context, const oci_expr *expr, oci_batch *batch,
                           oci_vector *out, oc_error *err)
{
    oci_vector arg;
    OC_TRY(oci_expr_eval(context, expr->args[0], batch, &arg, err));
    int64_t n = arg.is_constant ? 1 : batch->length;
    oc_status status;
    if (oci_field_same_type(arg.column.field, &expr->type)) {
        *out = arg; /* a dictionary was all there was to it */
        return OC_OK;
    }
    if (arg.column.field->type == OCI_TYPE_NULL || is_null_constant(&arg)) {
        status = all_null(context, &expr->type, out, err);
    } else {
        status = oci_cast_vector(&arg, n, &expr->type, expr->is_try, context->mem, out, err);
        out->is_constant = status == OC_OK && arg.is_constant;
    }
    oci_vector_deinit(&arg);
    return status;
}

/* ---- for some rows only ---------------------------------------------------------------------- */

/* Evaluates for rows[0..m) of the batch; the result has m rows (or is constant). */
static oc_status eval_rows(const oci_eval_context *context, const oci_expr *expr, oci_batch *batch,
                           const uint32_t *rows, int64_t m, oci_vector *out, oc_error *err)
{
    void *block;
    int64_t bytes = oci_max64(8, m * (int64_t)sizeof(oci_row_ref));
    OC_TRY(oci_mem_alloc(context->mem, bytes, &block, err));
    oci_row_ref *refs = block;
    for (int64_t i = 0; i < m; i++) {
        refs[i] = (oci_row_ref){0, rows[i]};
    }
    oci_batch *some = NULL;
    const oci_batch *sources[1] = {batch};
    oc_status status =
        oci_gather(batch->schema, sources, refs, m, 0, context->mem, NULL, &some, err);
    oci_mem_free(context->mem, block, bytes);
    OC_TRY(status);
    status = oci_expr_eval(context, expr, some, out, err);
    if (status == OC_OK && out->keeps == NULL) {
        out->keeps = oci_batch_retain(some);
    }
    oci_batch_release(some);
    return status;
}

/* An argument for the rows that need it: `place` of a row in the result, UINT32_MAX where it is not needed. */
typedef struct some_rows {
    oci_vector vector;
    bool is_all; /* row i is at i */
    uint32_t *place;
} some_rows;

static int64_t place_bytes(int64_t n)
{
    return oci_max64(8, n * (int64_t)sizeof(uint32_t));
}

static void some_rows_deinit(some_rows *some, oci_mem *mem, int64_t n)
{
    oci_vector_deinit(&some->vector);
    oci_mem_free(mem, some->place, place_bytes(n));
    *some = (some_rows){0};
}

/* needed: a byte per row. */
static oc_status eval_some(const oci_eval_context *context, const oci_expr *expr, oci_batch *batch,
                           const uint8_t *needed, some_rows *out, oc_error *err)
{
    oc_error first = {0};
    *out = (some_rows){.is_all = true};
    oc_status status = oci_expr_eval(context, expr, batch, &out->vector, &first);
    if (status != OC_EINVAL) {
        if (status != OC_OK && err != NULL) {
            *err = first;
        }
        return status;
    }
    int64_t n = batch->length;
    void *block;
    void *list;
    OC_TRY(oci_mem_alloc(context->mem, place_bytes(n), &block, err));
    out->place = block;
    out->is_all = false;
    status = oci_mem_alloc(context->mem, place_bytes(n), &list, err);
    if (status == OC_OK) {
        uint32_t *rows = list;
        int64_t m = 0;
        for (int64_t i = 0; i < n; i++) {
            out->place[i] = needed[i] ? (uint32_t)m : UINT32_MAX;
            if (needed[i]) {
                rows[m++] = (uint32_t)i;
            }
        }
        if (m == 0) {
            status = all_null(context, &expr->type, &out->vector, err);
        } else {
            status = eval_rows(context, expr, batch, rows, m, &out->vector, err);
        }
        oci_mem_free(context->mem, list, place_bytes(n));
    }
    if (status != OC_OK) {
        some_rows_deinit(out, context->mem, n);
    }
    return status;
}

static int64_t row_of(const some_rows *some, int64_t i)
{
    return some->vector.is_constant ? 0 : some->is_all ? i : (int64_t)some->place[i];
}

/* true, false or null of a boolean: 1, 0, -1. */
static int truth_at(const oci_vector *vector, int64_t row)
{
    if (oci_column_is_null(&vector->column, row)) {
        return -1;
    }
    return oci_bit_get(vector->column.values, vector->column.offset + row);
}

/* ---- AND, OR --------------------------------------------------------------------------------- */

/* states[i]: 1 true, 0 false, 2 null so far; rows that are decided (false for AND, true for OR) need no more. */
static oc_status add_term(const oci_eval_context *context, const oci_expr *term, oci_batch *batch,
                          uint8_t decided, uint8_t *states, uint8_t *needed, oc_error *err)
{
    some_rows some;
    int64_t n = batch->length;
    for (int64_t i = 0; i < n; i++) {
        needed[i] = states[i] != decided;
    }
    OC_TRY(eval_some(context, term, batch, needed, &some, err));
    for (int64_t i = 0; i < n; i++) {
        if (needed[i]) {
            int truth = truth_at(&some.vector, row_of(&some, i));
            states[i] = truth == decided ? decided : truth < 0 ? 2 : states[i];
        }
    }
    some_rows_deinit(&some, context->mem, n);
    return OC_OK;
}

static oc_status eval_logic(const oci_eval_context *context, const oci_expr *expr, oci_batch *batch,
                            oci_vector *out, oc_error *err)
{
    int64_t n = batch->length;
    uint8_t decided = expr->kind == OCI_EXPR_AND ? 0 : 1;
    int64_t bytes = oci_max64(8, 2 * n);
    void *block;
    OC_TRY(oci_mem_alloc(context->mem, bytes, &block, err));
    uint8_t *states = block;
    memset(states, 1 - decided, (size_t)n);
    oc_status status = OC_OK;
    for (int32_t i = 0; status == OC_OK && i < expr->n_args; i++) {
        status = add_term(context, expr->args[i], batch, decided, states, states + n, err);
    }
    uint8_t *values;
    uint8_t *validity;
    if (status == OC_OK) {
        status = oci_vector_make(&expr->type, n, true, context->mem, out, &values, &validity, err);
    }
    for (int64_t i = 0; status == OC_OK && i < n; i++) {
        if (states[i] == 2) {
            oci_bit_clear(validity, i);
        } else if (states[i] == 1) {
            oci_bit_set(values, i);
        }
    }
    oci_mem_free(context->mem, block, bytes);
    return status;
}

/* ---- CASE, COALESCE -------------------------------------------------------------------------- */

/* What chooses: for each row the number of the result and whether it is decided. */
typedef struct choosing {
    const oci_eval_context *context;
    const oci_expr *expr;
    oci_batch *batch;
    int32_t n_results;
    some_rows *results; /* n_results */
    uint16_t *choice;   /* per row; n_results = none yet */
    uint8_t *needed;
} choosing;

static const oci_expr *result_expr(const choosing *c, int32_t i)
{
    if (c->expr->kind == OCI_EXPR_COALESCE) {
        return c->expr->args[i];
    }
    bool is_else = i == c->n_results - 1;
    return c->expr->args[is_else ? c->expr->n_args - 1 : 2 * i + 1];
}

static oc_status choose_by_conditions(choosing *c, oc_error *err)
{
    int64_t n = c->batch->length;
    for (int32_t i = 0; i < c->n_results - 1; i++) {
        some_rows condition;
        for (int64_t row = 0; row < n; row++) {
            c->needed[row] = c->choice[row] == c->n_results;
        }
        OC_TRY(eval_some(c->context, c->expr->args[2 * i], c->batch, c->needed, &condition, err));
        for (int64_t row = 0; row < n; row++) {
            if (c->needed[row] && truth_at(&condition.vector, row_of(&condition, row)) == 1) {
                c->choice[row] = (uint16_t)i;
            }
        }
        some_rows_deinit(&condition, c->context->mem, n);
    }
    for (int64_t row = 0; row < n; row++) {
        c->choice[row] = c->choice[row] == c->n_results ? (uint16_t)(c->n_results - 1)
                                                        : c->choice[row];
    }
    for (int32_t i = 0; i < c->n_results; i++) {
        for (int64_t row = 0; row < n; row++) {
            c->needed[row] = c->choice[row] == i;
        }
        OC_TRY(eval_some(c->context, result_expr(c, i), c->batch, c->needed, &c->results[i], err));
    }
    return OC_OK;
}

static oc_status choose_first_value(choosing *c, oc_error *err)
{
    int64_t n = c->batch->length;
    for (int32_t i = 0; i < c->n_results; i++) {
        bool is_last = i == c->n_results - 1;
        for (int64_t row = 0; row < n; row++) {
            c->needed[row] = c->choice[row] == c->n_results;
        }
        OC_TRY(eval_some(c->context, c->expr->args[i], c->batch, c->needed, &c->results[i], err));
        for (int64_t row = 0; row < n; row++) {
            if (c->needed[row] && (is_last || !oci_column_is_null(&c->results[i].vector.column,
                                                                  row_of(&c->results[i], row)))) {
                c->choice[row] = (uint16_t)i;
            }
        }
    }
    return OC_OK;
}

static oc_status gather_choices(const choosing *c, oci_vector *out, oc_error *err)
{
    int64_t n = c->batch->length;
    oci_schema *schema = NULL;
    void *block = NULL;
    int64_t bytes = oci_max64(8, n * (int64_t)sizeof(oci_row_ref));
    column_view *views = calloc((size_t)c->n_results + 1, sizeof *views);
    const oci_batch **sources = calloc((size_t)c->n_results + 1, sizeof(oci_batch *));
    oc_status status = OC_OK;
    if (views == NULL || sources == NULL) {
        status = OC_SET(err, OC_ENOMEM, "could not evaluate an expression: out of memory");
    }
    if (status == OC_OK) {
        status = one_field_schema(&c->expr->type, &schema, err);
    }
    if (status == OC_OK) {
        status = oci_mem_alloc(c->context->mem, bytes, &block, err);
    }
    if (status == OC_OK) {
        oci_row_ref *refs = block;
        for (int32_t i = 0; i < c->n_results; i++) {
            view_column(&views[i], schema, &c->results[i].vector.column);
            sources[i] = &views[i].batch;
        }
        for (int64_t row = 0; row < n; row++) {
            refs[row] =
                (oci_row_ref){c->choice[row], (uint32_t)row_of(&c->results[c->choice[row]], row)};
        }
        status = gather_vector(c->context, schema, sources, refs, n, out, err);
    }
    oci_mem_free(c->context->mem, block, bytes);
    oci_schema_release(schema);
    free(views);
    free(sources);
    return status;
}

static oc_status eval_choice(const oci_eval_context *context, const oci_expr *expr,
                             oci_batch *batch, oci_vector *out, oc_error *err)
{
    int64_t n = batch->length;
    bool is_case = expr->kind == OCI_EXPR_CASE;
    int32_t n_results = is_case ? expr->n_args / 2 + 1 : expr->n_args;
    int64_t bytes = oci_max64(8, 3 * n);
    void *block;
    choosing c = {.context = context, .expr = expr, .batch = batch, .n_results = n_results};
    c.results = calloc((size_t)n_results + 1, sizeof *c.results);
    if (c.results == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not evaluate an expression: out of memory");
    }
    oc_status status = oci_mem_alloc(context->mem, bytes, &block, err);
    if (status == OC_OK) {
        c.choice = block;
        c.needed = (uint8_t *)(c.choice + n);
        for (int64_t row = 0; row < n; row++) {
            c.choice[row] = (uint16_t)n_results;
        }
        status = is_case ? choose_by_conditions(&c, err) : choose_first_value(&c, err);
        if (status == OC_OK) {
            status = gather_choices(&c, out, err);
        }
        oci_mem_free(context->mem, block, bytes);
    }
    for (int32_t i = 0; i < n_results; i++) {
        some_rows_deinit(&c.results[i], context->mem, n);
    }
    free(c.results);
    return status;
}

/* ---- any expression -------------------------------------------------------------------------- */

oc_status oci_expr_eval(const oci_eval_context *context, const oci_expr *expr, oci_batch *batch,
                        oci_vector *out, oc_error *err)
{
    *out = (oci_vector){0};
    if (context->cancel != NULL && atomic_load(context->cancel)) {
        OC_FAIL(err, OC_ECANCELED, "the work was cancelled");
    }
    switch (expr->kind) {
    case OCI_EXPR_COLUMN: return eval_column(context, &batch->columns[expr->column], out, err);
    case OCI_EXPR_CONSTANT:
        *out = (oci_vector){.column = expr->constant->columns[0], .is_constant = true};
        return OC_OK;
    case OCI_EXPR_CALL: return eval_call(context, expr, batch, out, err);
    case OCI_EXPR_CAST: return eval_cast(context, expr, batch, out, err);
    case OCI_EXPR_AND:
    case OCI_EXPR_OR: return eval_logic(context, expr, batch, out, err);
    case OCI_EXPR_CASE:
    case OCI_EXPR_COALESCE: return eval_choice(context, expr, batch, out, err);
    }
    OC_FAIL(err, OC_EINTERNAL, "an expression of an unknown kind");
}

/* ---- calls of expr.h ------------------------------------------------------------------------- */

/* A constant as a vector of n rows. */
static oc_status spread(const oci_eval_context *context, oci_vector *vector, int64_t n,
                        oc_error *err)
{
    oci_schema *schema;
    void *block;
    int64_t bytes = oci_max64(8, n * (int64_t)sizeof(oci_row_ref));
    OC_TRY(one_field_schema(vector->column.field, &schema, err));
    oc_status status = oci_mem_alloc(context->mem, bytes, &block, err);
    if (status == OC_OK) {
        memset(block, 0, (size_t)bytes); /* row 0 of source 0 */
        column_view view;
        oci_vector wide;
        view_column(&view, schema, &vector->column);
        const oci_batch *sources[1] = {&view.batch};
        status = gather_vector(context, schema, sources, block, n, &wide, err);
        oci_mem_free(context->mem, block, bytes);
        if (status == OC_OK) {
            oci_vector_deinit(vector);
            *vector = wide;
        }
    }
    oci_schema_release(schema);
    return status;
}

/* *is_kept: whether `to` keeps `batch` already. Fields of a column as those of another schema: children of what we made are ours to change; those of borrowed
 * columns have fields that live as long as the batch that is kept. */
static oc_status put_column(oci_batch *to, int32_t at, oci_vector *vector, oci_batch *batch,
                            bool *is_kept, oc_error *err)
{
    to->columns[at] = vector->column;
    to->columns[at].field = &to->schema->fields[at];
    bool borrows = vector->mem == NULL && vector->keeps == NULL;
    if (borrows) {
        oc_status status = *is_kept ? OC_OK : oci_batch_keep(to, oci_batch_retain(batch), err);
        *is_kept = true;
        return status;
    }
    oc_status status = OC_OK;
    if (vector->keeps != NULL) {
        oci_batch *kept = vector->keeps;
        vector->keeps = NULL;
        status = oci_batch_keep(to, kept, err);
    }
    if (status == OC_OK && vector->mem != NULL) {
        oci_batch *owner = NULL;
        status = oci_batch_without_columns(0, vector->mem, vector->block, vector->block_bytes,
                                           &owner, err);
        vector->mem = NULL;
        if (status == OC_OK) {
            status = oci_batch_keep(to, owner, err);
        }
    }
    return status;
}

static oc_status project_one(const oci_eval_context *context, const oci_expr *expr,
                             oci_batch *batch, oci_batch *to, int32_t at, bool *is_kept,
                             oc_error *err)
{
    oci_vector vector;
    if (expr->kind == OCI_EXPR_COLUMN) {
        vector = (oci_vector){.column = batch->columns[expr->column]};
        return put_column(to, at, &vector, batch, is_kept, err);
    }
    OC_TRY(oci_expr_eval(context, expr, batch, &vector, err));
    oc_status status = OC_OK;
    if (vector.is_constant) {
        status = spread(context, &vector, batch->length, err);
    }
    if (status == OC_OK) {
        status = put_column(to, at, &vector, batch, is_kept, err);
    }
    oci_vector_deinit(&vector);
    return status;
}

oc_status oci_expr_project(const oci_eval_context *context, oci_expr *const *exprs,
                           oci_schema *schema, oci_batch *batch, oci_batch **out, oc_error *err)
{
    oci_column *columns = calloc((size_t)schema->n_fields + 1, sizeof *columns);
    oci_batch *made;
    if (columns == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not evaluate expressions: out of memory");
    }
    OC_TRY(oci_batch_adopt(schema, batch->length, columns, NULL, NULL, 0, NULL, 0, &made, err));
    bool is_kept = false;
    for (int32_t i = 0; i < schema->n_fields; i++) {
        oc_status status = project_one(context, exprs[i], batch, made, i, &is_kept, err);
        if (status != OC_OK) {
            oci_batch_release(made);
            return status;
        }
    }
    *out = made;
    return OC_OK;
}

oc_status oci_expr_filter(const oci_eval_context *context, const oci_expr *expr, oci_batch *batch,
                          int64_t *rows, int64_t *n, oc_error *err)
{
    oci_vector vector;
    *n = 0;
    OC_TRY(oci_expr_eval(context, expr, batch, &vector, err));
    const oci_column *column = &vector.column;
    if (vector.is_constant) {
        bool passes = truth_at(&vector, 0) == 1;
        for (int64_t i = 0; passes && i < batch->length; i++) {
            rows[(*n)++] = i;
        }
    } else {
        for (int64_t i = 0; i < batch->length; i += 64) {
            int count = (int)oci_min64(64, batch->length - i);
            uint64_t bits = oci_bits_load(column->values, column->offset + i, count);
            if (column->validity != NULL) {
                bits &= oci_bits_load(column->validity, column->offset + i, count);
            }
            for (bits &= oci_low_mask(count); bits != 0; bits &= bits - 1) {
                rows[(*n)++] = i + __builtin_ctzll(bits);
            }
        }
    }
    oci_vector_deinit(&vector);
    return OC_OK;
}

oc_status oci_expr_value(const oci_eval_context *context, const oci_expr *expr, oci_batch **out,
                         oc_error *err)
{
    oci_schema *schema;
    oci_batch *row;
    OC_TRY(oci_batch_without_columns(1, NULL, NULL, 0, &row, err));
    oc_status status = one_field_schema(&expr->type, &schema, err);
    if (status == OC_OK) {
        oci_expr *one = (oci_expr *)(uintptr_t)expr;
        status = oci_expr_project(context, &one, schema, row, out, err);
        oci_schema_release(schema);
    }
    oci_batch_release(row);
    return status;
}
