#include "arrow/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/batch_maker.h"

static void assert_message_has(const oc_error *err, const char *part)
{
    if (strstr(err->message, part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, err->message);
    }
}

static void every_type_has_a_name_and_a_layout(void **state)
{
    (void)state;
    for (int type = 0; type < OCI_TYPE_COUNT; type++) {
        assert_non_null(oci_type_name((oci_type)type));
        assert_int_not_equal(oci_type_layout((oci_type)type), OCI_LAYOUT_UNKNOWN);
        assert_string_not_equal(oci_type_name((oci_type)type), "unknown");
    }
    assert_string_equal(oci_type_name(OCI_TYPE_COUNT), "unknown");
    assert_int_equal(oci_type_layout(OCI_TYPE_COUNT), OCI_LAYOUT_UNKNOWN);
}

static void type_text_shows_parameters(void **state)
{
    (void)state;
    const char *columns[] = {"d:15,2",
                             "tsu:UTC",
                             "tsn:",
                             "w:7",
                             "c>u",
                             "ttm",
                             "s>d:9,2,32",
                             "l",
                             "+l(i)",
                             "+s(a=+vL(u); b=b)",
                             "+w:3(c>u)",
                             "+m(u; +l(i))",
                             "+ud:4,2(i; vu)",
                             "+r(s; g)",
                             "+s()"};
    const char *texts[] = {"decimal128(15, 2)",
                           "timestamp[us, UTC]",
                           "timestamp[ns]",
                           "fixed_size_binary(7)",
                           "dictionary<int8, utf8>",
                           "time32[ms]",
                           "dictionary<int16, decimal32(9, 2)>",
                           "int64",
                           "list<int32>",
                           "struct<a: large_list_view<utf8>, b: bool>",
                           "fixed_size_list<dictionary<int8, utf8>, 3>",
                           "map<key: utf8, value: list<int32>>",
                           "dense_union<f0: int32, f1: utf8_view>",
                           "run_end_encoded<int16, float64>",
                           "struct"};
    oci_schema *schema = make_schema(columns, 15);
    for (int i = 0; i < 15; i++) {
        char text[64], cut[6];
        oci_field_type_text(&schema->fields[i], text, sizeof text);
        assert_string_equal(text, texts[i]);
        oci_field_type_text(&schema->fields[i], cut, sizeof cut);
        assert_memory_equal(cut, texts[i], 5);
        assert_int_equal(cut[5], 0);
    }
    oci_schema_release(schema);
}

static void find_takes_the_exact_name_first(void **state)
{
    (void)state;
    const char *columns[] = {"ID=l", "id=l", "Price=g"};
    oci_schema *schema = make_schema(columns, 3);
    oc_error err = {0};
    int32_t at = -1;
    assert_int_equal(oci_schema_find(schema, "id", &at, &err), OC_OK);
    assert_int_equal(at, 1);
    assert_int_equal(oci_schema_find(schema, "ID", &at, &err), OC_OK);
    assert_int_equal(at, 0);
    assert_int_equal(oci_schema_find(schema, "PRICE", &at, &err), OC_OK);
    assert_int_equal(at, 2);
    assert_int_equal(oci_schema_find(schema, "Id", &at, &err), OC_EINVAL);
    assert_string_equal(err.message, "column \"Id\" is ambiguous: 2 columns have this name in "
                                     "other case; write it exactly");
    oci_schema_release(schema);
}

static void find_refuses_a_name_that_two_columns_have(void **state)
{
    (void)state;
    const char *columns[] = {"a=l", "a=u"};
    oci_schema *schema = make_schema(columns, 2);
    oc_error err = {0};
    int32_t at = -1;
    assert_int_equal(oci_schema_find(schema, "a", &at, &err), OC_EINVAL);
    assert_string_equal(err.message, "column \"a\" is ambiguous: 2 columns have this name");
    oci_schema_release(schema);
}

static void find_lists_near_names(void **state)
{
    (void)state;
    const char *columns[] = {"l_orderkey=l", "l_extendedprice=g", "l_discount=g", "l_partkey=l"};
    oci_schema *schema = make_schema(columns, 4);
    oc_error err = {0};
    int32_t at = -1;
    assert_int_equal(oci_schema_find(schema, "l_oderkey", &at, &err), OC_EINVAL);
    assert_message_has(&err, "there is no column \"l_oderkey\"; near names: \"l_orderkey\"");
    assert_int_equal(oci_schema_find(schema, "Price", &at, &err), OC_EINVAL);
    assert_message_has(&err, "near names: \"l_extendedprice\"");
    assert_int_equal(oci_schema_find(schema, "zebra", &at, &err), OC_EINVAL);
    assert_message_has(&err, "the columns are \"l_orderkey\", \"l_extendedprice\"");
    assert_int_equal(at, -1);
    oci_schema_release(schema);
}

static void find_in_nothing_says_so(void **state)
{
    (void)state;
    oci_schema *schema = make_schema(NULL, 0);
    oc_error err = {0};
    int32_t at;
    assert_int_equal(oci_schema_find(schema, "a", &at, &err), OC_EINVAL);
    assert_message_has(&err, "the input has no columns");
    oci_schema_release(schema);
}

static void find_survives_very_long_names(void **state)
{
    (void)state;
    char *name = malloc(100001);
    memset(name, 'x', 100000);
    name[100000] = 0;
    const char *columns[] = {"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx=l"};
    oci_schema *schema = make_schema(columns, 1);
    oc_error err = {0};
    int32_t at;
    assert_int_equal(oci_schema_find(schema, name, &at, &err), OC_EINVAL);
    assert_int_equal(oci_schema_find(schema, "", &at, &err), OC_EINVAL);
    oci_schema_release(schema);
    free(name);
}

static void select_copies_columns_in_the_order_asked_for(void **state)
{
    (void)state;
    const char *columns[] = {"a=l", "b=tsu:UTC", "c=c>u"};
    oci_schema *schema = make_schema(columns, 3), *selected = NULL;
    oc_error err = {0};
    const int32_t indices[] = {2, 1, 2};
    assert_int_equal(oci_schema_select(schema, indices, 3, &selected, &err), OC_OK);
    oci_schema_release(schema); /* a deep copy: nothing of it may be needed */
    assert_int_equal(selected->n_fields, 3);
    assert_string_equal(selected->fields[0].name, "c");
    assert_string_equal(selected->fields[1].timezone, "UTC");
    assert_int_equal(selected->fields[2].dictionary->type, OCI_TYPE_UTF8);
    assert_true(oci_field_same_type(&selected->fields[0], &selected->fields[2]));
    assert_false(oci_field_same_type(&selected->fields[0], &selected->fields[1]));
    oci_schema_release(selected);
}

static void select_refuses_an_index_out_of_range(void **state)
{
    (void)state;
    const char *columns[] = {"a=l", "b=u"};
    oci_schema *schema = make_schema(columns, 2), *selected = NULL;
    oc_error err = {0};
    const int32_t beyond[] = {0, 2}, negative[] = {-1};
    assert_int_equal(oci_schema_select(schema, beyond, 2, &selected, &err), OC_EINVAL);
    assert_message_has(&err, "column index 2 is out of range: there are 2 columns");
    assert_int_equal(oci_schema_select(schema, negative, 1, &selected, &err), OC_EINVAL);
    assert_null(selected);
    oci_schema_release(schema);
}

static void types_differ_by_every_parameter(void **state)
{
    (void)state;
    const char *columns[] = {"d:15,2",
                             "d:15,3",
                             "d:14,2",
                             "d:15,2,64",
                             "tsu:UTC",
                             "tsu:",
                             "tsn:UTC",
                             "w:7",
                             "w:8",
                             "tDs",
                             "tDm",
                             "tts",
                             "ttm",
                             "c>u",
                             "s>u",
                             "c>z",
                             "u",
                             "vu",
                             "+l(i)",
                             "+l(l)",
                             "+L(i)",
                             "+vl(i)",
                             "+vL(i)",
                             "+w:2(i)",
                             "+w:3(i)",
                             "+s(a=i)",
                             "+s(a=i; b=i)",
                             "+s()",
                             "+m(u; i)",
                             "+m:sorted(u; i)",
                             "+m(u; l)",
                             "+ud:0,1(i; u)",
                             "+ud:1,0(i; u)",
                             "+us:0,1(i; u)",
                             "+r(i; u)",
                             "+r(s; u)",
                             "+r(i; z)",
                             "+l(+l(i))",
                             "+l(c>u)",
                             "c>+l(u)",
                             "c>+l(i)"};
    int32_t n = (int32_t)(sizeof columns / sizeof columns[0]);
    oci_schema *a = make_schema(columns, n), *b = make_schema(columns, n);
    for (int32_t i = 0; i < n; i++) {
        for (int32_t j = 0; j < n; j++) {
            assert_int_equal(oci_field_same_type(&a->fields[i], &b->fields[j]), i == j);
        }
    }
    oci_schema_release(a);
    oci_schema_release(b);
}

static void working_form_has_no_views(void **state)
{
    (void)state;
    const char *columns[] = {"a=l", "b=vu", "c=vz", "d=i>vu", "e=u"};
    oci_schema *schema = make_schema(columns, 5), *working = NULL;
    oc_error err = {0};
    assert_int_equal(oci_schema_working(schema, &working, &err), OC_OK);
    assert_int_equal(working->fields[1].type, OCI_TYPE_UTF8);
    assert_int_equal(working->fields[2].type, OCI_TYPE_BINARY);
    assert_int_equal(working->fields[3].dictionary->type, OCI_TYPE_UTF8);
    assert_int_equal(working->fields[3].byte_width, 4);
    assert_string_equal(working->fields[3].name, "d");
    assert_int_equal(schema->fields[1].type, OCI_TYPE_UTF8_VIEW);

    oci_schema *again = NULL; /* already in working form: the same one */
    assert_int_equal(oci_schema_working(working, &again, &err), OC_OK);
    assert_ptr_equal(again, working);
    oci_schema_release(again);
    oci_schema_release(working);
    oci_schema_release(schema);
}

static void working_form_is_made_at_every_depth(void **state)
{
    (void)state;
    const char *columns[][2] = {
        {"x=+vl(i)", "list<int32>"},
        {"x=+vL(+vl(vu))", "large_list<list<utf8>>"},
        {"x=+r(i; vu)", "utf8"},
        {"x=+r(i; +r(s; +vl(c)))", "list<int8>"},
        {"x=+s(a=+r(i; i); b=+w:2(vz))", "struct<a: int32, b: fixed_size_list<binary, 2>>"},
        {"x=+m(vu; +r(i; i))", "map<key: utf8, value: int32>"},
        {"x=+ud:0,1(vu; +vl(i))", "dense_union<f0: utf8, f1: list<int32>>"},
        {"x=c>+vl(+r(i; vu))", "dictionary<int8, list<utf8>>"},
    };
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        char text[128];
        oci_schema *schema = make_schema(&columns[i][0], 1), *working = NULL, *again = NULL;
        assert_int_equal(oci_schema_working(schema, &working, NULL), OC_OK);
        oci_field_type_text(&working->fields[0], text, sizeof text);
        assert_string_equal(text, columns[i][1]);
        assert_string_equal(working->fields[0].name, "x");
        assert_int_equal(oci_schema_working(working, &again, NULL), OC_OK);
        assert_ptr_equal(again, working);
        oci_schema_release(again);
        oci_schema_release(working);
        oci_schema_release(schema);
    }
}

/* What stands for a run-end encoded field is its values' type with its own labels. */
static void working_form_of_runs_keeps_the_labels(void **state)
{
    (void)state;
    const char *columns[] = {"x=+r@some.type(i; u@other.type)", "y=+s(z=+r(i; l))"};
    oci_schema *schema = make_schema(columns, 2), *working = NULL;
    assert_int_equal(oci_schema_working(schema, &working, NULL), OC_OK);
    const oci_field *field = &working->fields[0], *from = &schema->fields[0];
    assert_string_equal(field->name, "x");
    assert_int_equal(field->nullable, from->nullable);
    assert_int_equal(field->metadata_bytes, from->metadata_bytes);
    assert_memory_equal(field->metadata, from->metadata, (size_t)from->metadata_bytes);
    assert_int_equal(field->n_children, 0);
    assert_string_equal(working->fields[1].children[0].name, "z");
    assert_int_equal(working->fields[1].children[0].type, OCI_TYPE_INT64);
    oci_schema_release(working);
    oci_schema_release(schema);
}

static void dictionaries_are_counted_at_every_depth(void **state)
{
    (void)state;
    const char *columns[] = {"c>u", "+l(c>+s(a=s>u; b=i))", "i", "+m(u; +us:0,1(i>u; c>z))"};
    oci_schema *schema = make_schema(columns, 4);
    assert_int_equal(oci_schema_dictionaries(schema), 5);
    oci_schema_release(schema);
}

static void nested_fields_are_copied_whole(void **state)
{
    (void)state;
    const char *columns[] = {"x=+ud:7,3(+l@my.type(c>u); +w:4(tsu:UTC))"};
    oci_schema *schema = make_schema(columns, 1);
    oci_field copy;
    assert_int_equal(oci_field_copy(&schema->fields[0], &copy, NULL), OC_OK);
    assert_true(oci_field_same_type(&copy, &schema->fields[0]));
    oci_schema_release(schema); /* nothing of it may be needed */
    assert_int_equal(copy.union_ids->of_child[1], 3);
    assert_int_equal(copy.union_ids->child_of[7], 0);
    assert_int_equal(copy.union_ids->child_of[4], -1);
    assert_string_equal(copy.children[1].children[0].timezone, "UTC");
    assert_int_equal(copy.children[0].children[0].dictionary->type, OCI_TYPE_UTF8);
    assert_true(copy.children[0].metadata_bytes > 0);
    oci_field_deinit(&copy);
}

static void a_field_made_by_hand_gets_its_width(void **state)
{
    (void)state;
    oci_field field, copy;
    oc_error err = {0};
    assert_int_equal(oci_field_init(&field, "x", OCI_TYPE_DECIMAL256, true, &err), OC_OK);
    assert_int_equal(field.byte_width, 32);
    assert_int_equal(oci_field_copy(&field, &copy, &err), OC_OK);
    oci_field_deinit(&field);
    assert_string_equal(copy.name, "x");
    copy.type = OCI_TYPE_DICTIONARY;
    copy.index_type = OCI_TYPE_UINT16;
    oci_field_set_width(&copy);
    assert_int_equal(copy.byte_width, 2);
    copy.type = OCI_TYPE_FIXED_BINARY;
    copy.byte_width = 7;
    oci_field_set_width(&copy);
    assert_int_equal(copy.byte_width, 7);
    oci_field_deinit(&copy);
}

static void types_say_how_many_children_they_have(void **state)
{
    (void)state;
    static const int8_t ids[] = {5, 0, 127};
    oci_field field = {0};
    assert_int_equal(oci_field_init(&field, "", OCI_TYPE_DENSE_UNION, true, NULL), OC_OK);
    assert_int_equal(oci_field_set_union_ids(&field, ids, 3, NULL), OC_OK);
    assert_int_equal(oci_field_child_count(&field), 3);
    field.type = OCI_TYPE_RUN_END_ENCODED;
    assert_int_equal(oci_field_child_count(&field), 2);
    field.type = OCI_TYPE_MAP;
    assert_int_equal(oci_field_child_count(&field), 1);
    field.type = OCI_TYPE_STRUCT;
    assert_int_equal(oci_field_child_count(&field), -1);
    field.type = OCI_TYPE_DICTIONARY;
    assert_int_equal(oci_field_child_count(&field), 0);
    oci_field_deinit(&field);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_has_a_name_and_a_layout),
        cmocka_unit_test(type_text_shows_parameters),
        cmocka_unit_test(find_takes_the_exact_name_first),
        cmocka_unit_test(find_refuses_a_name_that_two_columns_have),
        cmocka_unit_test(find_lists_near_names),
        cmocka_unit_test(find_in_nothing_says_so),
        cmocka_unit_test(find_survives_very_long_names),
        cmocka_unit_test(select_copies_columns_in_the_order_asked_for),
        cmocka_unit_test(select_refuses_an_index_out_of_range),
        cmocka_unit_test(types_differ_by_every_parameter),
        cmocka_unit_test(working_form_has_no_views),
        cmocka_unit_test(working_form_is_made_at_every_depth),
        cmocka_unit_test(working_form_of_runs_keeps_the_labels),
        cmocka_unit_test(dictionaries_are_counted_at_every_depth),
        cmocka_unit_test(nested_fields_are_copied_whole),
        cmocka_unit_test(a_field_made_by_hand_gets_its_width),
        cmocka_unit_test(types_say_how_many_children_they_have),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
