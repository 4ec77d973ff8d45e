/* Fields of structs, elements of lists and values of maps, of columns with nulls and offsets. */
#include "expr/function_test_support.h"

/* Rows of a map<text, int32>: {k: 1, q: 2}, {}, null, {k: 3}; its entries are at offset 1. */
static const uint8_t map_validity[] = {0x0B};
static const int32_t map_offsets[] = {0, 2, 2, 2, 3};
static const int32_t key_offsets[] = {0, 1, 2, 3, 4};
static const uint8_t key_bytes[] = "xkqk";
static const int32_t map_values[] = {9, 1, 2, 3};
static oci_column key_and_value[2];
static oci_column entries[1];

static oci_field *make_children(oci_field *parent, int32_t n)
{
    parent->children = calloc((size_t)n, sizeof *parent->children);
    parent->n_children = parent->children == NULL ? 0 : n;
    assert_non_null(parent->children);
    return parent->children;
}

static void init_field(oci_field *field, const char *name, oci_type type)
{
    oc_error err;
    assert_int_equal(oci_field_init(field, name, type, true, &err), OC_OK);
}

/* A batch of the map as "m", and of its entries' struct as "s" with a null in row 1. */
static oci_batch *nested_batch(void)
{
    static const uint8_t struct_validity[] = {0x1D};
    oc_error err;
    oci_schema *schema;
    oci_batch *batch;
    oci_field *fields = calloc(2, sizeof *fields);
    oci_column *columns = calloc(2, sizeof *columns);
    if (fields == NULL || columns == NULL) {
        abort();
    }
    init_field(&fields[0], "m", OCI_TYPE_MAP);
    init_field(&fields[1], "s", OCI_TYPE_STRUCT);
    oci_field *inner = make_children(&fields[0], 1);
    init_field(inner, "entries", OCI_TYPE_STRUCT);
    for (int i = 0; i < 2; i++) {
        oci_field *pair = make_children(i == 0 ? inner : &fields[1], 2);
        init_field(&pair[0], "Key", OCI_TYPE_UTF8);
        init_field(&pair[1], "value", OCI_TYPE_INT32);
    }
    assert_int_equal(oci_schema_create(fields, 2, NULL, 0, &schema, &err), OC_OK);
    const oci_field *pair = schema->fields[0].children[0].children;
    key_and_value[0] = (oci_column){
        .field = &pair[0], .length = 4, .values = (const uint8_t *)key_offsets, .bytes = key_bytes};
    key_and_value[1] =
        (oci_column){.field = &pair[1], .length = 4, .values = (const uint8_t *)map_values};
    entries[0] = (oci_column){
        .field = schema->fields[0].children, .length = 3, .offset = 1, .children = key_and_value};
    columns[0] = (oci_column){.field = &schema->fields[0],
                              .length = 4,
                              .null_count = -1,
                              .validity = map_validity,
                              .values = (const uint8_t *)map_offsets,
                              .children = entries};
    columns[1] = (oci_column){.field = &schema->fields[1],
                              .length = 4,
                              .null_count = -1,
                              .validity = struct_validity,
                              .children = key_and_value};
    assert_int_equal(oci_batch_adopt(schema, 4, columns, NULL, NULL, 0, NULL, 0, &batch, &err),
                     OC_OK);
    oci_schema_release(schema);
    return batch;
}

static oci_expr *column(oci_batch *batch, int32_t index)
{
    oc_error err;
    oci_expr *expr = NULL;
    assert_int_equal(oci_expr_column(batch->schema, index, -1, &expr, &err), OC_OK);
    return expr;
}

/* Takes both; four rows. */
static void check_column(oci_expr *expr, oci_batch *batch, const char *const *expected)
{
    check_batch(expr, batch, 4, expected);
    oci_batch_release(batch);
}

static void maps_give_values_of_keys(void **state)
{
    (void)state;
    const char *of_k[] = {"1", NULL, NULL, "3"};
    const char *of_q[] = {"2", NULL, NULL, NULL};
    oci_batch *batch = nested_batch();
    check_column(call("list element", 2, column(batch, 0), text("k")), batch, of_k);
    batch = nested_batch();
    check_column(call("list element", 2, column(batch, 0), text("q")), batch, of_q);
    batch = nested_batch();
    const char *sizes[] = {"2", "0", NULL, "1"};
    check_column(call("cardinality", 1, column(batch, 0)), batch, sizes);
}

static void structs_give_fields_in_any_case(void **state)
{
    (void)state;
    const char *keys[] = {"x", NULL, "q", "k"};
    const char *values[] = {"9", NULL, "2", "3"};
    oci_batch *batch = nested_batch();
    check_column(call("struct field", 2, column(batch, 1), text("key")), batch, keys);
    batch = nested_batch();
    check_column(call("struct field", 2, column(batch, 1), text("value")), batch, values);
    batch = nested_batch();
    check_fails("no field \"other\"", "struct field", 2, column(batch, 1), text("other"));
    oci_batch_release(batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_give_values_of_keys),
        cmocka_unit_test(structs_give_fields_in_any_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
