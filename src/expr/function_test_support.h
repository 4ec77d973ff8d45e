/* Calls of functions in tests, by name: with constants, which are folded, and over a column of
 * texts. Results are compared as texts. */
#ifndef OUTCORE_EXPR_FUNCTION_TEST_SUPPORT_H
#define OUTCORE_EXPR_FUNCTION_TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "expr/expr.h"

#define ARGS_MAX 8

static inline oci_expr *text(const char *value)
{
    oc_error err;
    oci_expr *expr = NULL;
    assert_int_equal(oci_expr_text(value, (int64_t)strlen(value), -1, &expr, &err), OC_OK);
    return expr;
}

static inline oci_expr *number(const char *value)
{
    oc_error err;
    oci_expr *expr = NULL;
    assert_int_equal(oci_expr_number(value, -1, &expr, &err), OC_OK);
    return expr;
}

static inline oci_expr *null(void)
{
    oc_error err;
    oci_expr *expr = NULL;
    assert_int_equal(oci_expr_null(-1, &expr, &err), OC_OK);
    return expr;
}

/* A text as a value of a type by name. */
static inline oci_expr *typed(const char *type, const char *value)
{
    oc_error err;
    oci_field field;
    oci_expr *expr = NULL;
    assert_int_equal(oci_type_by_name(type, NULL, 0, &field, &err), OC_OK);
    oc_status status = oci_expr_cast(text(value), &field, false, -1, &expr, &err);
    if (status != OC_OK) {
        fail_msg("%s", err.message);
    }
    oci_field_deinit(&field);
    return expr;
}

static inline oc_status try_call(oci_expr **out, oc_error *err, const char *name, int n, ...)
{
    oci_expr *args[ARGS_MAX];
    va_list list;
    va_start(list, n);
    for (int i = 0; i < n; i++) {
        args[i] = va_arg(list, oci_expr *);
    }
    va_end(list);
    return oci_expr_call(name, args, n, -1, out, err);
}

/* A call whose arguments follow: call("substr", 2, text("abc"), number("2")). */
#define call(name, ...) made_call(name, __VA_ARGS__)
static inline oci_expr *made_call(const char *name, int n, ...)
{
    oci_expr *args[ARGS_MAX];
    oc_error err;
    oci_expr *expr = NULL;
    va_list list;
    va_start(list, n);
    for (int i = 0; i < n; i++) {
        args[i] = va_arg(list, oci_expr *);
    }
    va_end(list);
    oc_status status = oci_expr_call(name, args, n, -1, &expr, &err);
    if (status != OC_OK) {
        fail_msg("%s: %s", name, err.message);
    }
    return expr;
}

/* The value of an expression as text, "null" for null; the caller frees it. On failure the message
 * behind "error: ". */
static inline char *value_of(oci_expr *expr)
{
    oc_error err;
    oci_budget *budget;
    oci_mem *mem;
    oci_batch *value = NULL;
    oci_field utf8 = oci_expr_type(OCI_TYPE_UTF8);
    char *result;
    assert_int_equal(oci_budget_create(INT64_C(64) << 20, NULL, &budget, &err), OC_OK);
    assert_int_equal(oci_mem_open(budget, "test", &mem, &err), OC_OK);
    oci_eval_context context = {.mem = mem, .now_us = INT64_C(1700000000123456)};
    oc_status status = oci_expr_cast(expr, &utf8, false, -1, &expr, &err);
    if (status == OC_OK) {
        status = oci_expr_value(&context, expr, &value, &err);
        oci_expr_release(expr);
    }
    if (status != OC_OK) {
        size_t size = strlen(err.message) + 10;
        result = malloc(size);
        assert_non_null(result);
        snprintf(result, size, "error: %s", err.message);
    } else if (oci_column_is_null(&value->columns[0], 0)) {
        result = strdup("null");
    } else {
        int64_t length;
        const uint8_t *bytes = oci_column_bytes_at(&value->columns[0], 0, &length);
        result = calloc(1, (size_t)length + 1);
        assert_non_null(result);
        memcpy(result, bytes, (size_t)length);
    }
    oci_batch_release(value);
    assert_int_equal(oci_mem_held(mem), 0);
    oci_mem_close(mem);
    oci_budget_destroy(budget);
    return result;
}

#define check(expr, expected)                             \
    do {                                                  \
        char *got_ = value_of(expr);                      \
        if (strcmp(got_, (expected)) != 0) {              \
            fail_msg("got %s, not %s", got_, (expected)); \
        }                                                 \
        free(got_);                                       \
    } while (0)

/* That a call, or its evaluation, fails with a message that has `part` in it. */
#define check_fails(part, ...)                                            \
    do {                                                                  \
        oci_expr *expr_ = NULL;                                           \
        oc_error err_;                                                    \
        if (try_call(&expr_, &err_, __VA_ARGS__) == OC_OK) {              \
            char *got_ = value_of(expr_);                                 \
            snprintf(err_.message, sizeof err_.message, "%.200s", got_);  \
            free(got_);                                                   \
        }                                                                 \
        if (strstr(err_.message, (part)) == NULL) {                       \
            fail_msg("got %s, not an error with %s", err_.message, part); \
        }                                                                 \
    } while (0)

/* ---- over a column --------------------------------------------------------------------------- */

/* A batch of one column "t" of texts; NULL is null. */
static inline oci_batch *texts_batch(const char *const *texts, int64_t n)
{
    oc_error err;
    oci_field *field = calloc(1, sizeof *field);
    oci_column *column = calloc(1, sizeof *column);
    int64_t bytes = 8;
    for (int64_t i = 0; i < n; i++) {
        bytes += texts[i] == NULL ? 0 : (int64_t)strlen(texts[i]);
    }
    uint8_t *block = calloc(1, (size_t)(n + 8 + 4 * (n + 1) + bytes));
    if (field == NULL || column == NULL || block == NULL) {
        abort();
    }
    assert_int_equal(oci_field_init(field, "t", OCI_TYPE_UTF8, true, &err), OC_OK);
    oci_schema *schema;
    assert_int_equal(oci_schema_create(field, 1, NULL, 0, &schema, &err), OC_OK);
    uint8_t *offsets = block + n + 8;
    uint8_t *at = offsets + 4 * (n + 1);
    uint8_t *start = at;
    for (int64_t i = 0; i < n; i++) {
        if (texts[i] != NULL) {
            block[i >> 3] |= (uint8_t)(1U << (i & 7));
            memcpy(at, texts[i], strlen(texts[i]));
            at += strlen(texts[i]);
        }
        uint32_t end = (uint32_t)(at - start);
        memcpy(offsets + 4 * (i + 1), &end, sizeof end);
    }
    *column = (oci_column){.field = &schema->fields[0],
                           .length = n,
                           .null_count = -1,
                           .validity = block,
                           .values = offsets,
                           .bytes = start};
    oci_batch *batch;
    assert_int_equal(oci_batch_adopt(schema, n, column, NULL, NULL, 0, block, 0, &batch, &err),
                     OC_OK);
    oci_schema_release(schema);
    return batch;
}

/* The column "t" of such batches. */
static inline oci_expr *column_t(void)
{
    oci_batch *batch = texts_batch(NULL, 0);
    oc_error err;
    oci_expr *expr = NULL;
    assert_int_equal(oci_expr_column(batch->schema, 0, -1, &expr, &err), OC_OK);
    oci_batch_release(batch);
    return expr;
}

/* Checks the values of an expression over the rows of a batch, NULL = null. Takes expr. */
static inline void check_batch(oci_expr *expr, oci_batch *batch, int64_t n,
                               const char *const *expected)
{
    assert_int_equal(batch->length, n);
    oc_error err;
    oci_budget *budget;
    oci_mem *mem;
    oci_batch *result;
    oci_field utf8 = oci_expr_type(OCI_TYPE_UTF8);
    assert_int_equal(oci_budget_create(INT64_C(64) << 20, NULL, &budget, &err), OC_OK);
    assert_int_equal(oci_mem_open(budget, "test", &mem, &err), OC_OK);
    oci_eval_context context = {.mem = mem};
    assert_int_equal(oci_expr_cast(expr, &utf8, false, -1, &expr, &err), OC_OK);
    oci_batch *shape = texts_batch(NULL, 0);
    oc_status status = oci_expr_project(&context, &expr, shape->schema, batch, &result, &err);
    if (status != OC_OK) {
        fail_msg("%s", err.message);
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t length = 0;
        const uint8_t *bytes = (const uint8_t *)"";
        bool is_null = oci_column_is_null(&result->columns[0], i);
        if (!is_null) {
            bytes = oci_column_bytes_at(&result->columns[0], i, &length);
        }
        if (is_null != (expected[i] == NULL) ||
            (!is_null && (length != (int64_t)strlen(expected[i]) ||
                          memcmp(bytes, expected[i], (size_t)length) != 0))) {
            fail_msg("row %d: got %.*s, not %s", (int)i, is_null ? 4 : (int)length,
                     is_null ? "null" : (const char *)bytes,
                     expected[i] == NULL ? "null" : expected[i]);
        }
    }
    oci_batch_release(result);
    oci_batch_release(shape);
    oci_expr_release(expr);
    assert_int_equal(oci_mem_held(mem), 0);
    oci_mem_close(mem);
    oci_budget_destroy(budget);
}

/* The same over rows of texts. */
static inline void check_rows(oci_expr *expr, const char *const *texts, int64_t n,
                              const char *const *expected)
{
    oci_batch *batch = texts_batch(texts, n);
    check_batch(expr, batch, n, expected);
    oci_batch_release(batch);
}

#endif /* OUTCORE_EXPR_FUNCTION_TEST_SUPPORT_H */
