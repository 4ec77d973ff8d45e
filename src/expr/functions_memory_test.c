/* Functions whose memory is refused at any place: an error, and nothing held afterwards. */
#include "expr/function_test_support.h"

static void evaluate_within(oci_expr *expr, oci_batch *batch, oci_batch *shape, int64_t limit,
                            bool *passed)
{
    oc_error err;
    oci_budget *budget;
    oci_mem *mem;
    oci_batch *result = NULL;
    assert_int_equal(oci_budget_create(limit, NULL, &budget, &err), OC_OK);
    assert_int_equal(oci_mem_open(budget, "test", &mem, &err), OC_OK);
    oci_eval_context context = {.mem = mem};
    oc_status status = oci_expr_project(&context, &expr, shape->schema, batch, &result, &err);
    *passed = status == OC_OK;
    if (status != OC_OK && status != OC_EBUDGET) {
        fail_msg("%s", err.message);
    }
    oci_batch_release(result);
    assert_int_equal(oci_mem_held(mem), 0);
    oci_mem_close(mem);
    oci_budget_destroy(budget);
}

/* Takes the expression, of text. */
static void starve(oci_expr *expr)
{
    static const char *const rows[] = {"a,b,c", NULL, "", "Hello, World, how are you today?",
                                       "\xc3\xa9t\xc3\xa9,\xc3\xa9"};
    oci_batch *batch = texts_batch(rows, 5);
    oci_batch *shape = texts_batch(NULL, 0);
    bool passed = false;
    int64_t limit = 16;
    for (; !passed && limit < 1 << 20; limit += 16) {
        evaluate_within(expr, batch, shape, limit, &passed);
    }
    assert_true(passed);
    assert_true(limit > 64); /* some were refused */
    oci_batch_release(batch);
    oci_batch_release(shape);
    oci_expr_release(expr);
}

static oci_expr *as_text(oci_expr *expr)
{
    oc_error err;
    oci_field utf8 = oci_expr_type(OCI_TYPE_UTF8);
    assert_int_equal(oci_expr_cast(expr, &utf8, false, -1, &expr, &err), OC_OK);
    return expr;
}

static void refused_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    starve(call("upper", 1, column_t()));
    starve(call("concat_ws", 3, text("-"), column_t(), number("1.5")));
    starve(call("replace", 3, column_t(), text(","), text(" and then ")));
    starve(as_text(call("ilike", 2, column_t(), text("%WORLD%"))));
    starve(as_text(call("ilike", 2, column_t(), column_t())));
    starve(call("regexp_replace", 4, column_t(), text("[a-z]"), text("<\\&>"), text("g")));
    starve(as_text(call("regexp_count", 2, column_t(), text("l"))));
    starve(call("greatest", 2, column_t(), text("b")));
    starve(
        call("array_to_string", 2, call("string_to_array", 2, column_t(), text(",")), text("/")));
    starve(call("list element", 2, call("array", 2, column_t(), text("x")), number("1")));
    starve(
        as_text(call("list element", 2,
                     call("array", 2, call("length", 1, column_t()), number("2")), number("1"))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_memory_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
