#include "formats/parquet/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats/csv.h"
#include "formats/parquet/parquet_schema_test_support.h"
#include "ipc/base64.h"
#include "support/memory_file.h"

static test_env env;
static text_schema text;

static int set_up(void **state)
{
    (void)state;
    assert_int_equal(test_env_try(&env, 1 << 20, NULL, NULL), OC_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(oci_mem_held(env.mem), 0);
    test_env_deinit(&env);
    return 0;
}

static oci_parquet_schema *make(const char *fields)
{
    oci_parquet_schema *schema = NULL;
    oc_error err = {0};
    const oci_parquet_metadata *metadata = parse_text_schema(&text, fields);
    if (oci_parquet_schema_create(metadata, env.mem, &schema, &err) != OC_OK) {
        fail_msg("%s: %s", fields, err.message);
    }
    return schema;
}

static void expect_type(const char *fields, const char *type)
{
    char found[512];
    oci_parquet_schema *schema = make(fields);
    oci_field_type_text(&schema->arrow->fields[0], found, sizeof found);
    assert_string_equal(found, type);
    oci_parquet_schema_destroy(schema);
}

static void expect_refusal(const char *fields, const char *message)
{
    oci_parquet_schema *schema = NULL;
    oc_error err = {0};
    const oci_parquet_metadata *metadata = parse_text_schema(&text, fields);
    assert_int_equal(oci_parquet_schema_create(metadata, env.mem, &schema, &err), OC_EUNSUPPORTED);
    if (strstr(err.message, message) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", message, err.message);
    }
}

/* ---- types ----------------------------------------------------------------------------------- */

static void leaves_have_the_types_of_the_table(void **state)
{
    static const char *const cases[][2] = {
        {"required boolean a;", "bool"},
        {"required int32 a;", "int32"},
        {"required int64 a;", "int64"},
        {"required int96 a;", "timestamp[ns]"},
        {"required float a;", "float32"},
        {"required double a;", "float64"},
        {"required binary a;", "binary"},
        {"required fixed(7) a;", "fixed_size_binary(7)"},
        {"required int32 a (INT(8,s));", "int8"},
        {"required int32 a (INT(16,s));", "int16"},
        {"required int32 a (INT(32,s));", "int32"},
        {"required int64 a (INT(64,s));", "int64"},
        {"required int32 a (INT(8,u));", "uint8"},
        {"required int32 a (INT(16,u));", "uint16"},
        {"required int32 a (INT(32,u));", "uint32"},
        {"required int64 a (INT(64,u));", "uint64"},
        {"required int32 a (OLD_INT(8,s));", "int8"},
        {"required int64 a (OLD_INT(64,u));", "uint64"},
        {"required int32 a (DATE);", "date32"},
        {"required int32 a (OLD_DATE);", "date32"},
        {"required int32 a (TIME(ms,utc));", "time32[ms]"},
        {"required int64 a (TIME(us,local));", "time64[us]"},
        {"required int64 a (TIME(ns,utc));", "time64[ns]"},
        {"required int64 a (OLD_TIME(us));", "time64[us]"},
        {"required int64 a (TIMESTAMP(ms,utc));", "timestamp[ms, UTC]"},
        {"required int64 a (TIMESTAMP(us,local));", "timestamp[us]"},
        {"required int64 a (TIMESTAMP(ns,utc));", "timestamp[ns, UTC]"},
        {"required int64 a (OLD_TIMESTAMP(us,utc));", "timestamp[us]"},
        {"required int32 a (DECIMAL(9,2));", "decimal128(9, 2)"},
        {"required int64 a (OLD_DECIMAL(18,0));", "decimal128(18, 0)"},
        {"required binary a (DECIMAL(38,38));", "decimal128(38, 38)"},
        {"required fixed(20) a (DECIMAL(39,1));", "decimal256(39, 1)"},
        {"required binary a (STRING);", "utf8"},
        {"required binary a (UTF8);", "utf8"},
        {"required binary a (ENUM);", "utf8"},
        {"required binary a (JSON);", "utf8"},
        {"required binary a (BSON);", "binary"},
        {"required fixed(16) a (UUID);", "fixed_size_binary(16)"},
        {"required fixed(2) a (FLOAT16);", "float16"},
        {"required fixed(12) a (INTERVAL);", "fixed_size_binary(12)"},
        {"required double a (UNKNOWN);", "null"},
        {"required binary a (OTHER);", "binary"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_type(cases[i][0], cases[i][1]);
    }
}

static void logical_types_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    expect_refusal("optional group s { required int64 a (DATE); }",
                   "column \"s.a\": its logical type does not fit its physical type");
    expect_refusal("required int64 a (INT(32,s));", "does not fit");
    expect_refusal("required int32 a (INT(64,s));", "does not fit");
    expect_refusal("required int64 a (TIME(ms,utc));", "does not fit");
    expect_refusal("required int32 a (TIMESTAMP(ms,utc));", "does not fit");
    expect_refusal("required fixed(4) a (UTF8);", "does not fit");
    expect_refusal("required fixed(15) a (UUID);", "does not fit");
    expect_refusal("required float a (DECIMAL(3,1));", "does not fit");
    expect_refusal("required int32 a (DECIMAL(10,1));", "precision");
    expect_refusal("required binary a (DECIMAL(77,1));", "precision");
    expect_refusal("required binary a (DECIMAL(0,0));", "precision");
    expect_refusal("required int32 a (DECIMAL(3,4));", "scale");
    expect_refusal("required fixed(0) a;", "fixed length of 0");
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static void nested_types_have_the_types_of_the_format(void **state)
{
    static const char *const cases[][2] = {
        {"optional group a { required int32 b; optional binary c (STRING); }",
         "struct<b: int32, c: utf8>"},
        /* Lists of three levels, whatever the middle is called. */
        {"optional group a (LIST) { repeated group list { optional int32 element; } }",
         "list<int32>"},
        {"optional group a (OLD_LIST) { repeated group bag { required int32 x; } }", "list<int32>"},
        /* Of two levels. */
        {"optional group a (LIST) { repeated int32 element; }", "list<int32>"},
        {"optional group a (LIST) { repeated group element { required int32 b; required int32 c; } "
         "}",
         "list<struct<b: int32, c: int32>>"},
        {"optional group a (LIST) { repeated group array { required int32 b; } }",
         "list<struct<b: int32>>"},
        {"optional group a (LIST) { repeated group a_tuple { required int32 b; } }",
         "list<struct<b: int32>>"},
        {"optional group a (LIST) { repeated group array (LIST) { repeated int32 array; } }",
         "list<list<int32>>"},
        {"optional group a (LIST) { repeated group x { repeated int32 y; } }",
         "list<struct<y: list<int32>>>"},
        /* Not annotated. */
        {"repeated int32 a;", "list<int32>"},
        {"repeated group a { required int32 b; }", "list<struct<b: int32>>"},
        {"repeated group a (LIST) { repeated group list { required int32 b; } }",
         "list<list<int32>>"},
        /* Maps. */
        {"optional group a (MAP) { repeated group key_value { required binary key (STRING); "
         "optional int32 value; } }",
         "map<key: utf8, value: int32>"},
        {"optional group a (MAP_KEY_VALUE) { repeated group map { required int32 k; "
         "required int32 v; } }",
         "map<k: int32, v: int32>"},
        {"optional group a (MAP) { repeated group map (MAP_KEY_VALUE) { optional int32 k; "
         "required int32 v; } }",
         "map<k: int32, v: int32>"},
        {"optional group a (MAP) { repeated group key_value { required int32 key; } }",
         "list<int32>"},
        {"optional group a (MAP) { repeated group key_value { required int32 key; optional group "
         "value (LIST) { repeated group list { optional group element { required int32 x; } } } } "
         "}",
         "map<key: int32, value: list<struct<x: int32>>>"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_type(cases[i][0], cases[i][1]);
    }
}

static void shapes_that_are_none_are_refused(void **state)
{
    (void)state;
    expect_refusal("required group a (LIST) { optional int32 element; }", "one repeated field");
    expect_refusal("required group a (LIST) { repeated int32 x; repeated int32 y; }",
                   "one repeated field");
    expect_refusal("required group a (MAP) { repeated int32 x; }", "a key and a value");
    expect_refusal(
        "required group a (MAP) { repeated group x { required int32 a; required int32 b; "
        "required int32 c; } }",
        "a key and a value");
    expect_refusal("required group a { }", "group without fields");
}

static void check_node(const oci_parquet_node *node, int slot_definition, int slot_repetition,
                       int definition, int repetition, bool nullable)
{
    assert_int_equal(node->slot_definition, slot_definition);
    assert_int_equal(node->slot_repetition, slot_repetition);
    assert_int_equal(node->definition, definition);
    assert_int_equal(node->repetition, repetition);
    assert_int_equal(node->field->nullable, nullable);
}

static void nodes_say_what_levels_mean(void **state)
{
    oci_parquet_schema *schema =
        make("optional group s { required int32 a; optional group l (LIST) { repeated group list { "
             "optional group element (MAP) { repeated group key_value { required int32 key; "
             "optional int32 value; } } } } } repeated int32 r; required int64 x;");
    (void)state;
    assert_int_equal(schema->n_nodes, 3);
    assert_int_equal(schema->n_leaves, 5);
    const oci_parquet_node *s = &schema->nodes[0];
    check_node(s, 0, 0, 1, 0, true);
    check_node(&s->children[0], 0, 0, 1, 0, false);
    const oci_parquet_node *l = &s->children[1];
    check_node(l, 0, 0, 2, 1, true);
    const oci_parquet_node *m = &l->children[0];
    check_node(m, 3, 1, 4, 2, true);
    assert_int_equal(m->kind, OCI_PARQUET_NODE_MAP);
    assert_int_equal(m->n_leaves, 2);
    assert_int_equal(m->leaf, 1);
    check_node(&m->children[0], 5, 2, 5, 0, false);
    check_node(&m->children[1], 5, 2, 6, 0, true);
    assert_string_equal(m->children[1].field->name, "value");
    const oci_parquet_node *r = &schema->nodes[1];
    check_node(r, 0, 0, 0, 1, false);
    check_node(&r->children[0], 1, 1, 1, 0, false);
    check_node(&schema->nodes[2], 0, 0, 0, 0, false);
    const oci_parquet_leaf *leaf = &schema->leaves[2];
    assert_string_equal(leaf->path, "s.l.list.element.key_value.value");
    assert_int_equal(leaf->max_definition, 6);
    assert_int_equal(leaf->max_repetition, 2);
    assert_int_equal(leaf->top, 0);
    assert_int_equal(schema->leaves[3].max_repetition, 1);
    assert_string_equal(schema->leaves[3].path, "r");
    assert_int_equal(schema->leaves[4].top, 2);
    oci_parquet_schema_destroy(schema);
}

static void add_text(oci_text *to, const char *what)
{
    assert_int_equal(oci_text_append_str(to, what, NULL), OC_OK);
}

static void nesting_beyond_the_limit_is_refused(void **state)
{
    oci_text fields = {.mem = env.mem};
    (void)state;
    for (int depth = OCI_NESTING_MAX; depth <= OCI_NESTING_MAX + 1; depth++) {
        oci_text_clear(&fields);
        for (int i = 0; i < depth; i++) {
            add_text(&fields, "optional group g (LIST) { repeated group list { ");
        }
        add_text(&fields, "optional int32 x;");
        for (int i = 0; i < depth; i++) {
            add_text(&fields, " } }");
        }
        if (depth == OCI_NESTING_MAX) {
            oci_parquet_schema_destroy(make(fields.data));
        } else {
            expect_refusal(fields.data, "nested too deep");
        }
    }
    oci_text_free(&fields);
}

/* ---- stored schemas -------------------------------------------------------------------------- */

static oci_parquet_key_value pair;

/* Puts a schema of one field (taken) into the metadata; `held` is to be freed. */
static void store(text_schema *s, oci_field *field, oci_bytes *held)
{
    oci_schema *schema;
    oci_bytes message;
    oci_field *fields = calloc(1, sizeof *fields);
    *fields = *field;
    assert_int_equal(oci_schema_create(fields, 1, NULL, 0, &schema, NULL), OC_OK);
    assert_int_equal(oci_message_build_schema(schema, false, &message, NULL), OC_OK);
    assert_int_equal(oci_base64_encode(message.data, message.size, held, NULL), OC_OK);
    free(message.data);
    oci_schema_release(schema);
    pair = (oci_parquet_key_value){{(const uint8_t *)"ARROW:schema", 12}, {held->data, held->size}};
    s->metadata.key_values = &pair;
    s->metadata.n_key_values = 1;
}

static void give_child(oci_field *field, const char *name, oci_type type)
{
    field->children = calloc(1, sizeof *field->children);
    field->n_children = 1;
    assert_int_equal(oci_field_init(field->children, name, type, true, NULL), OC_OK);
}

/* The type of column "a" of `fields` when `stored` (taken) was stored. */
static void expect_refined(const char *fields, oci_field *stored, const char *type)
{
    char found[512];
    oci_bytes held;
    oci_parquet_schema *schema;
    (void)parse_text_schema(&text, fields);
    store(&text, stored, &held);
    assert_int_equal(oci_parquet_schema_create(&text.metadata, env.mem, &schema, NULL), OC_OK);
    oci_field_type_text(&schema->arrow->fields[0], found, sizeof found);
    assert_string_equal(found, type);
    assert_null(schema->arrow->metadata); /* the key itself is not passed on */
    oci_parquet_schema_destroy(schema);
    free(held.data);
}

static oci_field stored_field(oci_type type)
{
    oci_field field;
    assert_int_equal(oci_field_init(&field, "a", type, true, NULL), OC_OK);
    return field;
}

static void stored_forms_of_the_same_values_are_taken(void **state)
{
    static const struct {
        const char *fields;
        oci_type stored;
        const char *type;
    } cases[] = {
        {"required binary a (STRING);", OCI_TYPE_LARGE_UTF8, "large_utf8"},
        {"required binary a (STRING);", OCI_TYPE_UTF8_VIEW, "utf8_view"},
        {"required binary a;", OCI_TYPE_LARGE_BINARY, "large_binary"},
        {"required binary a;", OCI_TYPE_BINARY_VIEW, "binary_view"},
        /* These would be other values. */
        {"required binary a;", OCI_TYPE_LARGE_UTF8, "binary"},
        {"required binary a (STRING);", OCI_TYPE_BINARY, "utf8"},
        {"required int32 a;", OCI_TYPE_LARGE_UTF8, "int32"},
        {"required int64 a;", OCI_TYPE_INT8, "int64"},
        {"required int64 a;", OCI_TYPE_FLOAT64, "int64"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        oci_field field = stored_field(cases[i].stored);
        expect_refined(cases[i].fields, &field, cases[i].type);
    }
}

static void stored_lists_decimals_times_and_dictionaries_are_taken(void **state)
{
    static const char list[] =
        "optional group a (LIST) { repeated group list { optional binary element (STRING); } }";
    (void)state;
    oci_field field = stored_field(OCI_TYPE_LARGE_LIST);
    give_child(&field, "item", OCI_TYPE_LARGE_UTF8);
    expect_refined(list, &field, "large_list<large_utf8>");
    field = stored_field(OCI_TYPE_FIXED_LIST);
    give_child(&field, "item", OCI_TYPE_UTF8);
    field.list_size = 3;
    expect_refined(list, &field, "fixed_size_list<utf8, 3>");
    field = stored_field(OCI_TYPE_STRUCT);
    give_child(&field, "x", OCI_TYPE_LARGE_UTF8);
    expect_refined(list, &field, "list<utf8>");

    field = stored_field(OCI_TYPE_DURATION);
    field.unit = OCI_MICRO;
    expect_refined("required int64 a;", &field, "duration[us]");
    field = stored_field(OCI_TYPE_TIMESTAMP);
    field.unit = OCI_MICRO;
    field.timezone = strdup("Europe/Paris");
    expect_refined("required int64 a (TIMESTAMP(us,utc));", &field, "timestamp[us, Europe/Paris]");
    field = stored_field(OCI_TYPE_TIMESTAMP);
    field.unit = OCI_MICRO;
    field.timezone = strdup("Europe/Paris");
    expect_refined("required int64 a (TIMESTAMP(us,local));", &field, "timestamp[us]");

    field = stored_field(OCI_TYPE_DECIMAL256);
    field.precision = 9;
    field.scale = 2;
    expect_refined("required int32 a (DECIMAL(9,2));", &field, "decimal256(9, 2)");
    field = stored_field(OCI_TYPE_DECIMAL32);
    field.precision = 9;
    field.scale = 1;
    expect_refined("required int32 a (DECIMAL(9,2));", &field, "decimal128(9, 2)");

    for (int i = 0; i < 2; i++) {
        field = stored_field(OCI_TYPE_DICTIONARY);
        field.index_type = OCI_TYPE_INT8;
        oci_field_set_width(&field);
        field.dictionary = calloc(1, sizeof *field.dictionary);
        assert_int_equal(oci_field_init(field.dictionary, "", OCI_TYPE_UTF8, true, NULL), OC_OK);
        expect_refined(i == 0 ? "required binary a (STRING);" : "required int64 a;", &field,
                       i == 0 ? "dictionary<int32, utf8>" : "int64");
    }
}

static void a_stored_schema_that_cannot_be_read_is_ignored(void **state)
{
    static const char *const values[] = {"",
                                         "x",
                                         "AAAA",
                                         "/////wAAAAA=",
                                         "no base64!!!",
                                         "/////0AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"};
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        oci_parquet_schema *schema;
        (void)parse_text_schema(&text, "required int32 a;");
        pair = (oci_parquet_key_value){{(const uint8_t *)"ARROW:schema", 12},
                                       {(const uint8_t *)values[i], (int64_t)strlen(values[i])}};
        text.metadata.key_values = &pair;
        text.metadata.n_key_values = 1;
        assert_int_equal(oci_parquet_schema_create(&text.metadata, env.mem, &schema, NULL), OC_OK);
        assert_int_equal(schema->arrow->fields[0].type, OCI_TYPE_INT32);
        oci_parquet_schema_destroy(schema);
    }
}

static void key_values_of_the_file_become_those_of_the_schema(void **state)
{
    oci_parquet_schema *schema;
    (void)state;
    (void)parse_text_schema(&text, "required int32 a;");
    pair = (oci_parquet_key_value){{(const uint8_t *)"key", 3}, {NULL, 0}};
    text.metadata.key_values = &pair;
    text.metadata.n_key_values = 1;
    assert_int_equal(oci_parquet_schema_create(&text.metadata, env.mem, &schema, NULL), OC_OK);
    static const int32_t expected[] = {1, 3};
    assert_int_equal(schema->arrow->metadata_bytes, 4 + 4 + 3 + 4);
    assert_memory_equal(schema->arrow->metadata, expected, sizeof expected);
    assert_memory_equal(schema->arrow->metadata + 8, "key\0\0\0\0", 7);
    oci_parquet_schema_destroy(schema);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* What a schema is after it was written and read. */
static oc_status write_and_read(const oci_schema *working, const oci_schema *announced,
                                oci_parquet_schema **out, oc_error *err)
{
    oci_parquet_metadata metadata = {.arena = {.mem = env.mem}, .file_name = "test"};
    oc_status status = oci_parquet_schema_write(working, announced, &metadata, err);
    if (status == OC_OK) {
        status = oci_parquet_schema_create(&metadata, env.mem, out, err);
    }
    if (status == OC_OK) {
        (*out)->leaves = NULL; /* they refer to elements, which go now */
    }
    oci_parquet_arena_free(&metadata.arena);
    return status;
}

static void expect_same(oci_schema *schema)
{
    oci_schema *working;
    oci_parquet_schema *back = NULL;
    oc_error err = {0};
    assert_int_equal(oci_schema_working(schema, &working, NULL), OC_OK);
    if (write_and_read(working, schema, &back, &err) != OC_OK || back == NULL) {
        fail_msg("%s", err.message);
        return;
    }
    assert_int_equal(back->arrow->n_fields, schema->n_fields);
    for (int32_t i = 0; i < schema->n_fields; i++) {
        if (!oci_field_same_type(&schema->fields[i], &back->arrow->fields[i])) {
            char found[256];
            oci_field_type_text(&back->arrow->fields[i], found, sizeof found);
            fail_msg("column %s became %s", schema->fields[i].name, found);
        }
        assert_string_equal(schema->fields[i].name, back->arrow->fields[i].name);
        assert_int_equal(schema->fields[i].nullable, back->arrow->fields[i].nullable);
    }
    oci_parquet_schema_destroy(back);
    oci_schema_release(working);
}

static void flat_types_that_are_written_are_read(void **state)
{
    oci_schema *schema;
    (void)state;
    assert_int_equal(
        oci_parse_columns("a bool, b int8 not null, c int16, d int32, e int64, f uint8, g uint16, "
                          "h uint32, i uint64, j float16, k float32, l float64, m decimal(9,2), "
                          "n decimal(18,18), o decimal(38,0), q date32, "
                          "r time32[ms], s time64[us], t time64[ns], u timestamp[ms], "
                          "v timestamp[us, UTC], w timestamp[ns, Europe/Paris], x duration[ns], "
                          "y utf8, z large_utf8, aa binary, ab large_binary, ac utf8_view, "
                          "ad binary_view, ae fixed_size_binary(5)",
                          &schema, NULL),
        OC_OK);
    expect_same(schema);
    oci_schema_release(schema);
}

static oci_schema *schema_of(oci_field *field)
{
    oci_schema *schema;
    oci_field *fields = calloc(1, sizeof *fields);
    *fields = *field;
    assert_int_equal(oci_schema_create(fields, 1, NULL, 0, &schema, NULL), OC_OK);
    return schema;
}

static void nested_types_that_are_written_are_read(void **state)
{
    static const oci_type lists[] = {OCI_TYPE_LIST, OCI_TYPE_LARGE_LIST, OCI_TYPE_LIST_VIEW,
                                     OCI_TYPE_LARGE_LIST_VIEW, OCI_TYPE_FIXED_LIST};
    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        /* list<map<key: utf8, value: struct<x: int32>>> */
        oci_field field = stored_field(lists[i]);
        field.list_size = lists[i] == OCI_TYPE_FIXED_LIST ? 2 : 0;
        give_child(&field, "element", OCI_TYPE_MAP);
        give_child(field.children, "entries", OCI_TYPE_STRUCT);
        oci_field *entries = field.children->children;
        entries->nullable = false;
        entries->children = calloc(2, sizeof *entries->children);
        entries->n_children = 2;
        assert_int_equal(oci_field_init(&entries->children[0], "key", OCI_TYPE_UTF8, false, NULL),
                         OC_OK);
        assert_int_equal(
            oci_field_init(&entries->children[1], "value", OCI_TYPE_STRUCT, true, NULL), OC_OK);
        give_child(&entries->children[1], "x", OCI_TYPE_INT32);
        oci_schema *schema = schema_of(&field);
        expect_same(schema);
        oci_schema_release(schema);
    }
}

static void types_that_the_format_lacks_are_refused_by_name(void **state)
{
    static const struct {
        oci_type type;
        const char *message;
    } cases[] = {
        {OCI_TYPE_INTERVAL_MONTH_DAY_NANO, "no type for interval_month_day_nano"},
        {OCI_TYPE_INTERVAL_MONTHS, "no type for interval_months"},
        {OCI_TYPE_FIXED_BINARY, "no type for fixed_size_binary"},
        {OCI_TYPE_STRUCT, "no structs without fields"},
        {OCI_TYPE_DENSE_UNION, "no type for dense_union"},
        {OCI_TYPE_DECIMAL128, "scale of -1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        oc_error err = {0};
        oci_parquet_schema *back;
        oci_field field = stored_field(cases[i].type);
        field.precision = 3;
        field.scale = -1;
        oci_schema *schema = schema_of(&field);
        assert_int_equal(write_and_read(schema, NULL, &back, &err), OC_EUNSUPPORTED);
        if (strstr(err.message, cases[i].message) == NULL) {
            fail_msg("\"%s\" is not in \"%s\"", cases[i].message, err.message);
        }
        oci_schema_release(schema);
    }
}

static void decimals_take_as_few_bytes_as_hold_their_digits(void **state)
{
    static const int32_t expected[][3] = {{1, OCI_PARQUET_INT32, 0},  {9, OCI_PARQUET_INT32, 0},
                                          {10, OCI_PARQUET_INT64, 0}, {18, OCI_PARQUET_INT64, 0},
                                          {19, OCI_PARQUET_FIXED, 9}, {21, OCI_PARQUET_FIXED, 9},
                                          {38, OCI_PARQUET_FIXED, 16}};
    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        oci_parquet_metadata metadata = {.arena = {.mem = env.mem}};
        oci_field field = stored_field(OCI_TYPE_DECIMAL128);
        field.precision = expected[i][0];
        oci_schema *schema = schema_of(&field);
        assert_int_equal(oci_parquet_schema_write(schema, NULL, &metadata, NULL), OC_OK);
        assert_int_equal(metadata.leaves[0]->type, expected[i][1]);
        assert_int_equal(metadata.leaves[0]->type_length, expected[i][2]);
        oci_parquet_arena_free(&metadata.arena);
        oci_schema_release(schema);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_have_the_types_of_the_table),
        cmocka_unit_test(logical_types_that_do_not_fit_are_refused),
        cmocka_unit_test(nested_types_have_the_types_of_the_format),
        cmocka_unit_test(shapes_that_are_none_are_refused),
        cmocka_unit_test(nodes_say_what_levels_mean),
        cmocka_unit_test(nesting_beyond_the_limit_is_refused),
        cmocka_unit_test(stored_forms_of_the_same_values_are_taken),
        cmocka_unit_test(stored_lists_decimals_times_and_dictionaries_are_taken),
        cmocka_unit_test(a_stored_schema_that_cannot_be_read_is_ignored),
        cmocka_unit_test(key_values_of_the_file_become_those_of_the_schema),
        cmocka_unit_test(flat_types_that_are_written_are_read),
        cmocka_unit_test(nested_types_that_are_written_are_read),
        cmocka_unit_test(types_that_the_format_lacks_are_refused_by_name),
        cmocka_unit_test(decimals_take_as_few_bytes_as_hold_their_digits),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
