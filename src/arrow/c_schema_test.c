#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arrow/schema.h"
#include "support/batch_maker.h"

static void release_nothing(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

/* A struct schema with one column, all on the stack; tests bend it before they import it. */
typedef struct bent_schema {
    struct ArrowSchema top;
    struct ArrowSchema *children[1];
    struct ArrowSchema column;
    struct ArrowSchema values;
} bent_schema;

static void init_bent(bent_schema *bent, const char *format)
{
    *bent = (bent_schema){0};
    bent->top = (struct ArrowSchema){.format = "+s", .n_children = 1, .release = release_nothing};
    bent->top.children = bent->children;
    bent->children[0] = &bent->column;
    bent->column = (struct ArrowSchema){.format = format, .name = "a", .release = release_nothing};
    bent->values = (struct ArrowSchema){.format = "u", .release = release_nothing};
}

static void assert_refused(bent_schema *bent, oc_status status, const char *part)
{
    oci_schema *schema = (oci_schema *)1;
    oc_error err = {0};
    assert_int_equal(oci_schema_import(&bent->top, &schema, &err), status);
    assert_null(schema);
    if (strstr(err.message, part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, err.message);
    }
    assert_int_equal(oci_schema_import(&bent->top, &schema, NULL), status);
}

/* Bytes of metadata that is known to be sound: one pair. */
static size_t metadata_bytes(const char *metadata)
{
    int32_t key, value;
    memcpy(&key, metadata + 4, 4);
    memcpy(&value, metadata + 8 + key, 4);
    return 12 + (size_t)key + (size_t)value;
}

static void assert_schemas_equal(const struct ArrowSchema *a, const struct ArrowSchema *b)
{
    assert_string_equal(a->format, b->format);
    assert_int_equal(a->flags, b->flags);
    assert_int_equal(a->n_children, b->n_children);
    assert_int_equal(a->dictionary == NULL, b->dictionary == NULL);
    assert_int_equal(a->metadata == NULL, b->metadata == NULL);
    if (a->metadata != NULL) {
        assert_memory_equal(a->metadata, b->metadata, metadata_bytes(b->metadata));
    }
    if (a->dictionary != NULL) {
        assert_schemas_equal(a->dictionary, b->dictionary); /* whatever their names */
    }
    for (int64_t i = 0; i < a->n_children; i++) {
        assert_string_equal(a->children[i]->name, b->children[i]->name);
        assert_schemas_equal(a->children[i], b->children[i]);
    }
}

static void check_round_trip(const char *format)
{
    oci_schema *schema = make_schema(&format, 1);
    struct ArrowSchema in, out;
    oc_error err = {0};
    arrow_make_schema(&format, 1, &in);
    assert_int_equal(oci_schema_export(schema, &out, &err), OC_OK);
    assert_string_equal(out.children[0]->name, "c0");
    assert_schemas_equal(&out, &in);
    in.release(&in);
    out.release(&out);
    oci_schema_release(schema);
}

static void formats_come_back_as_they_went_in(void **state)
{
    (void)state;
    for (int32_t i = 0; i < arrow_maker_n_formats; i++) {
        check_round_trip(arrow_maker_formats[i]);
    }
    for (int32_t i = 0; i < arrow_maker_n_nested_formats; i++) {
        check_round_trip(arrow_maker_nested_formats[i]);
    }
    for (uint64_t seed = 0; seed < 300; seed++) {
        char text[4000];
        arrow_make_column_text(seed, 4, text, sizeof text);
        check_round_trip(text);
    }
    assert_int_equal(arrow_maker_live(), 0);
}

static void decimals_without_bits_are_128(void **state)
{
    (void)state;
    bent_schema bent;
    oci_schema *schema;
    struct ArrowSchema out;
    const char *formats[] = {"d:19,10", "d:19,10,128", "d:5,-3"};
    for (int i = 0; i < 3; i++) {
        init_bent(&bent, formats[i]);
        assert_int_equal(oci_schema_import(&bent.top, &schema, NULL), OC_OK);
        assert_int_equal(schema->fields[0].type, OCI_TYPE_DECIMAL128);
        assert_int_equal(schema->fields[0].byte_width, 16);
        assert_int_equal(oci_schema_export(schema, &out, NULL), OC_OK);
        assert_string_equal(out.children[0]->format, i == 2 ? "d:5,-3" : "d:19,10");
        out.release(&out);
        oci_schema_release(schema);
    }
}

static void nonsense_formats_are_refused(void **state)
{
    (void)state;
    const char *formats[] = {"",           "x",
                             "uu",         "d:",
                             "d:1",        "d:a,b",
                             "d:1,2,",     "d:1,2,3x",
                             "d:1,2,128,", "ts",
                             "tsx:",       "tsu",
                             "tdx",        "tt",
                             "tDx",        "tix",
                             "w:",         "w:-1",
                             "w:4x",       "+x",
                             "+",          "w:99999999999999999999",
                             "v",          "d:99999999999,1",
                             "ts:",        "+w:",
                             "+w:-1",      "+w:2x",
                             "+ud",        "+ud:,",
                             "+ud:1,",     "+us:-1",
                             "+us:128",    "+us:1,x",
                             "+uz:1",      "+lx"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        bent_schema bent;
        char part[80];
        init_bent(&bent, formats[i]);
        snprintf(part, sizeof part, "column \"a\" has format \"%s\", which is not an Arrow type",
                 formats[i]);
        assert_refused(&bent, OC_EDATA, part);
    }
}

static void absurd_decimals_are_refused(void **state)
{
    (void)state;
    struct {
        const char *format, *part;
    } cases[] = {
        {"d:0,0", "precision 0; it must be between 1 and 38"},
        {"d:39,0", "precision 39"},
        {"d:-5,0", "precision -5"},
        {"d:10,2,32", "precision 10; it must be between 1 and 9"},
        {"d:19,2,64", "precision 19"},
        {"d:77,2,256", "precision 77"},
        {"d:9,2,48", "48 bits"},
        {"d:9,39", "scale 39"},
        {"d:9,-2147483647", "scale -2147483647"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bent_schema bent;
        init_bent(&bent, cases[i].format);
        assert_refused(&bent, OC_EDATA, cases[i].part);
    }
}

static void wrong_numbers_of_children_are_refused(void **state)
{
    (void)state;
    struct {
        const char *format;
        int64_t n;
        const char *part;
    } cases[] = {
        {"i", 1, "column \"a\" has type int32 and 1 children; it must have 0"},
        {"+l", 0, "list and 0 children; it must have 1"},
        {"+L", 2, "large_list and 2 children; it must have 1"},
        {"+vl", 0, "list_view and 0 children; it must have 1"},
        {"+vL", -1, "large_list_view and -1 children; it must have 1"},
        {"+w:3", 2, "fixed_size_list and 2 children; it must have 1"},
        {"+m", 2, "map and 2 children; it must have 1"},
        {"+s", -1, "struct and -1 children; it must have 0 or more"},
        {"+s", INT64_MAX, "struct and 9223372036854775807 children"},
        {"+ud:0,1", 1, "dense_union and 1 children; it must have 2"},
        {"+us:", 1, "sparse_union and 1 children; it must have 0"},
        {"+r", 1, "run_end_encoded and 1 children; it must have 2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ArrowSchema child = {.format = "i", .name = "x", .release = release_nothing};
        struct ArrowSchema *children[2] = {&child, &child};
        bent_schema bent;
        init_bent(&bent, cases[i].format);
        bent.column.n_children = cases[i].n;
        bent.column.children = children;
        assert_refused(&bent, OC_EDATA, cases[i].part);

        init_bent(&bent, "i"); /* as the values of a dictionary */
        bent.column.dictionary = &bent.values;
        bent.values.format = cases[i].format;
        bent.values.n_children = cases[i].n;
        bent.values.children = children;
        assert_refused(&bent, OC_EDATA, cases[i].part);
    }
}

static void children_that_do_not_fit_their_parent_are_refused(void **state)
{
    (void)state;
    struct ArrowSchema child[2], *children[2] = {&child[0], &child[1]};
    bent_schema bent;
    for (int i = 0; i < 2; i++) {
        child[i] = (struct ArrowSchema){.format = "i", .name = "x", .release = release_nothing};
    }
    init_bent(&bent, "+l");
    bent.column.n_children = 1;
    assert_refused(&bent, OC_EDATA, "column \"a\" claims 1 children and has none");
    bent.column.children = children;
    child[0].format = "q";
    assert_refused(&bent, OC_EDATA, "column \"a\", child \"x\" has format \"q\"");
    child[0].release = NULL;
    assert_refused(&bent, OC_EDATA, "the schema of column \"a\", child 0 has been released");
    children[0] = NULL;
    assert_refused(&bent, OC_EDATA, "the schema of column \"a\", child 0 is missing");
    children[0] = &child[0];
    child[0].release = release_nothing;

    bent.column.format = "+m";
    child[0].format = "i";
    assert_refused(&bent, OC_EDATA,
                   "column \"a\" is a map of int32; a map must be made of structs");
    child[0].format = "+s";
    child[0].n_children = 1;
    struct ArrowSchema *only[1] = {&child[1]};
    child[0].children = only;
    assert_refused(&bent, OC_EDATA, "is a map of struct<x: int32>; a map must");
    child[0].n_children = 0;

    bent.column.format = "+r";
    bent.column.n_children = 2;
    const char *bad_ends[] = {"c", "I", "u", "f", "n", "+s"};
    for (int i = 0; i < 6; i++) {
        child[0].format = bad_ends[i];
        assert_refused(&bent, OC_EDATA, "they must be int16, int32 or int64");
    }
    child[0].format = "i";
    child[0].dictionary = &bent.values;
    assert_refused(&bent, OC_EDATA, "run ends of type dictionary; they must be");
    child[0].dictionary = NULL;

    bent.column.format = "+us:3,3";
    assert_refused(&bent, OC_EDATA, "column \"a\" has format \"+us:3,3\": ");
    assert_refused(&bent, OC_EDATA, "type id 3 twice");
}

/* "+l(+l(...(i)))" with `depth` lists, or dictionaries and structs in turn. */
static void make_deep(char *text, int depth, bool mixed)
{
    text[0] = 0;
    for (int i = 0; i < depth; i++) {
        strcat(text, !mixed ? "+l(" : i % 2 == 0 ? "+s(c>" : "+l(");
    }
    strcat(text, "i");
    for (int i = 0; i < depth; i++) {
        strcat(text, ")");
    }
}

static oc_status import_text(const char *text, oci_schema **out, oc_error *err)
{
    struct ArrowSchema in;
    arrow_make_schema(&text, 1, &in);
    oc_status status = oci_schema_import(&in, out, err);
    in.release(&in);
    return status;
}

static void nesting_ends_at_64_levels(void **state)
{
    (void)state;
    char text[1000];
    oci_schema *schema;
    oc_error err = {0};
    make_deep(text, OCI_NESTING_MAX, false);
    check_round_trip(text);
    make_deep(text, OCI_NESTING_MAX + 1, false);
    assert_int_equal(import_text(text, &schema, &err), OC_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "is nested deeper than 64 levels"));
    assert_non_null(strstr(err.message, "column \"c0\", child \"item\""));
    /* Dictionaries count as levels: 21 times struct, dictionary, list, and one more. */
    make_deep(text, 42, true);
    check_round_trip(text);
    make_deep(text, 43, true);
    assert_int_equal(import_text(text, &schema, &err), OC_EUNSUPPORTED);
}

static void schemas_that_contain_themselves_are_refused(void **state)
{
    (void)state;
    bent_schema bent;
    struct ArrowSchema *children[2] = {&bent.column, &bent.column};
    init_bent(&bent, "+l");
    bent.column.n_children = 1;
    bent.column.children = children;
    assert_refused(&bent, OC_EUNSUPPORTED, "nested deeper than 64 levels");
    /* Twice its own child: 2^64 fields before any depth is reached everywhere. */
    init_bent(&bent, "+s");
    bent.column.n_children = 2;
    bent.column.children = children;
    assert_refused(&bent, OC_EUNSUPPORTED, "nested deeper than 64 levels");
    /* Wide on every level but the last. */
    struct ArrowSchema level[7], *wide[7][1000];
    init_bent(&bent, "+s");
    for (int i = 0; i < 7; i++) {
        level[i] = (struct ArrowSchema){.format = i == 6 ? "i" : "+s",
                                        .n_children = i == 6 ? 0 : 1000,
                                        .children = i == 6 ? NULL : wide[i + 1],
                                        .release = release_nothing};
        for (int k = 0; k < 1000; k++) {
            wide[i][k] = &level[i];
        }
    }
    bent.column.n_children = 1000;
    bent.column.children = wide[0];
    assert_refused(&bent, OC_EDATA, "more than 1000000 fields");
}

static void careless_flags_of_keys_and_run_ends_are_taken(void **state)
{
    (void)state;
    struct ArrowSchema entries, key, value, *pair[2] = {&key, &value}, *only[1] = {&entries};
    bent_schema bent;
    oci_schema *schema;
    key = (struct ArrowSchema){.format = "i", .flags = ARROW_FLAG_NULLABLE};
    key.release = release_nothing;
    value = key;
    entries = key;
    entries.format = "+s";
    entries.n_children = 2;
    entries.children = pair;
    init_bent(&bent, "+m");
    bent.column.flags = ARROW_FLAG_MAP_KEYS_SORTED;
    bent.column.n_children = 1;
    bent.column.children = only;
    assert_int_equal(oci_schema_import(&bent.top, &schema, NULL), OC_OK);
    assert_true(schema->fields[0].keys_sorted);
    oci_schema_release(schema);
    init_bent(&bent, "+r");
    bent.column.n_children = 2;
    bent.column.children = pair;
    assert_int_equal(oci_schema_import(&bent.top, &schema, NULL), OC_OK);
    assert_false(schema->fields[0].keys_sorted);
    oci_schema_release(schema);
}

static void unions_take_all_128_type_ids(void **state)
{
    (void)state;
    char format[600] = "+ud:";
    struct ArrowSchema child = {.format = "i", .release = release_nothing};
    struct ArrowSchema *children[129];
    bent_schema bent;
    oci_schema *schema;
    struct ArrowSchema out;
    for (int i = 0; i < 128; i++) {
        sprintf(format + strlen(format), i > 0 ? ",%d" : "%d", 127 - i);
        children[i] = &child;
    }
    init_bent(&bent, format);
    bent.column.n_children = 128;
    bent.column.children = children;
    assert_int_equal(oci_schema_import(&bent.top, &schema, NULL), OC_OK);
    assert_int_equal(schema->fields[0].union_ids->child_of[127], 0);
    assert_int_equal(schema->fields[0].union_ids->of_child[127], 0);
    assert_int_equal(oci_schema_export(schema, &out, NULL), OC_OK);
    assert_string_equal(out.children[0]->format, format);
    out.release(&out);
    oci_schema_release(schema);
    strcat(format, ",0");
    assert_refused(&bent, OC_EDATA, "which is not an Arrow type");
}

static void hostile_structs_are_refused(void **state)
{
    (void)state;
    bent_schema bent;

    init_bent(&bent, "i");
    bent.top.release = NULL;
    assert_refused(&bent, OC_EINVAL, "the schema of the input has been released");
    init_bent(&bent, "i");
    bent.top.format = NULL;
    assert_refused(&bent, OC_EDATA, "no format string");
    init_bent(&bent, "i");
    bent.top.format = "i";
    assert_refused(&bent, OC_EINVAL, "only record batches can be read");
    init_bent(&bent, "i");
    bent.top.n_children = -1;
    assert_refused(&bent, OC_EDATA, "claims -1 columns");
    init_bent(&bent, "i");
    bent.top.n_children = INT64_MAX;
    assert_refused(&bent, OC_EDATA, "claims 9223372036854775807 columns");
    init_bent(&bent, "i");
    bent.top.children = NULL;
    assert_refused(&bent, OC_EDATA, "claims 1 columns and has none");
    init_bent(&bent, "i");
    bent.children[0] = NULL;
    assert_refused(&bent, OC_EDATA, "the schema of column 0 is missing");

    init_bent(&bent, "i");
    bent.column.release = NULL;
    assert_refused(&bent, OC_EDATA, "the schema of column 0 has been released");
    init_bent(&bent, NULL);
    assert_refused(&bent, OC_EDATA, "the schema of column \"a\" has no format string");
    init_bent(&bent, "i");
    bent.column.n_children = -1;
    assert_refused(&bent, OC_EDATA, "int32 and -1 children; it must have 0");
    init_bent(&bent, "x");
    bent.column.name = NULL;
    assert_refused(&bent, OC_EDATA, "column 0 has format");
    init_bent(&bent, "x");
    bent.column.name = "";
    assert_refused(&bent, OC_EDATA, "column 0 has format");
}

static void bad_dictionaries_are_refused(void **state)
{
    (void)state;
    bent_schema bent;
    init_bent(&bent, "u");
    bent.column.dictionary = &bent.values;
    assert_refused(&bent, OC_EDATA, "indices are utf8; they must be integers");
    init_bent(&bent, "i");
    bent.column.dictionary = &bent.values;
    bent.values.release = NULL;
    assert_refused(&bent, OC_EDATA, "has been released");
    init_bent(&bent, "i");
    bent.column.dictionary = &bent.column; /* its own dictionary: without a bound, no end */
    assert_refused(&bent, OC_EUNSUPPORTED, "dictionary of dictionaries");
    init_bent(&bent, "i");
    bent.column.dictionary = &bent.values;
    bent.values.dictionary = &bent.column;
    assert_refused(&bent, OC_EUNSUPPORTED, "dictionary of dictionaries");
    init_bent(&bent, "i");
    bent.top.dictionary = &bent.values;
    assert_refused(&bent, OC_EINVAL, "not a plain struct");
}

static void a_column_without_name_gets_an_empty_one(void **state)
{
    (void)state;
    bent_schema bent;
    oci_schema *schema;
    init_bent(&bent, "i");
    bent.column.name = NULL;
    assert_int_equal(oci_schema_import(&bent.top, &schema, NULL), OC_OK);
    assert_string_equal(schema->fields[0].name, "");
    assert_false(schema->fields[0].nullable);
    oci_schema_release(schema);
}

/* One pair, "k" = "value", at an odd address. */
static const char *odd_metadata(char *buf)
{
    const int32_t n = 1, key = 1, value = 5;
    char *p = buf + 1;
    memcpy(p, &n, 4);
    memcpy(p + 4, &key, 4);
    memcpy(p + 8, "k", 1);
    memcpy(p + 9, &value, 4);
    memcpy(p + 13, "value", 5);
    return p;
}

static void metadata_and_flags_come_back(void **state)
{
    (void)state;
    bent_schema bent;
    oci_schema *schema;
    struct ArrowSchema out;
    char *buf = malloc(19); /* exactly: reading past the end shows under the sanitizer */
    init_bent(&bent, "c");
    bent.top.metadata = bent.column.metadata = odd_metadata(buf);
    bent.column.flags = ARROW_FLAG_DICTIONARY_ORDERED;
    bent.column.dictionary = &bent.values;
    assert_int_equal(oci_schema_import(&bent.top, &schema, NULL), OC_OK);
    assert_int_equal(schema->metadata_bytes, 18);
    assert_true(schema->fields[0].dictionary_ordered);
    const int32_t first = 0;
    oci_schema *selected;
    assert_int_equal(oci_schema_select(schema, &first, 1, &selected, NULL), OC_OK);
    oci_schema_release(schema);
    assert_int_equal(oci_schema_export(selected, &out, NULL), OC_OK);
    oci_schema_release(selected);
    assert_memory_equal(out.metadata, buf + 1, 18);
    assert_memory_equal(out.children[0]->metadata, buf + 1, 18);
    assert_int_equal(out.children[0]->flags, ARROW_FLAG_DICTIONARY_ORDERED);
    out.release(&out);
    free(buf);
}

static void damaged_metadata_is_refused(void **state)
{
    (void)state;
    const int32_t damages[][2] = {{-1, 0}, {1, -1}, {1, INT32_MAX}};
    for (int i = 0; i < 3; i++) {
        bent_schema bent;
        init_bent(&bent, "i");
        bent.column.metadata = (const char *)damages[i];
        assert_refused(&bent, OC_EDATA, "column \"a\" has damaged metadata");
        init_bent(&bent, "i");
        bent.top.metadata = (const char *)damages[i];
        assert_refused(&bent, OC_EDATA, "the input has damaged metadata");
    }
}

static void children_may_be_moved_out_of_an_exported_schema(void **state)
{
    (void)state;
    const char *columns[] = {"a=c>u", "b=tsu:UTC"};
    oci_schema *schema = make_schema(columns, 2);
    struct ArrowSchema out, child;
    assert_int_equal(oci_schema_export(schema, &out, NULL), OC_OK);
    oci_schema_release(schema);
    child = *out.children[0];
    out.children[0]->release = NULL;
    out.release(&out);
    assert_null(out.release);
    assert_string_equal(child.name, "a");
    assert_string_equal(child.dictionary->format, "u");
    struct ArrowSchema values = *child.dictionary;
    child.dictionary->release = NULL;
    child.release(&child);
    assert_string_equal(values.format, "u");
    values.release(&values);
}

static void a_schema_without_columns_is_fine(void **state)
{
    (void)state;
    oci_schema *schema = make_schema(NULL, 0);
    struct ArrowSchema out;
    assert_int_equal(oci_schema_export(schema, &out, NULL), OC_OK);
    assert_int_equal(out.n_children, 0);
    out.release(&out);
    oci_schema_release(schema);
}

static void types_that_cannot_be_handed_out_are_refused(void **state)
{
    (void)state;
    oci_field *fields = calloc(2, sizeof *fields);
    oci_schema *schema;
    struct ArrowSchema out;
    oc_error err = {0};
    assert_int_equal(oci_field_init(&fields[0], "a", OCI_TYPE_INT32, true, NULL), OC_OK);
    assert_int_equal(oci_field_init(&fields[1], "b", OCI_TYPE_COUNT, true, NULL), OC_OK);
    assert_int_equal(oci_schema_create(fields, 2, NULL, 0, &schema, NULL), OC_OK);
    assert_int_equal(oci_schema_export(schema, &out, &err), OC_EUNSUPPORTED);
    assert_null(out.release);
    oci_schema_release(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_come_back_as_they_went_in),
        cmocka_unit_test(decimals_without_bits_are_128),
        cmocka_unit_test(nonsense_formats_are_refused),
        cmocka_unit_test(absurd_decimals_are_refused),
        cmocka_unit_test(wrong_numbers_of_children_are_refused),
        cmocka_unit_test(children_that_do_not_fit_their_parent_are_refused),
        cmocka_unit_test(nesting_ends_at_64_levels),
        cmocka_unit_test(schemas_that_contain_themselves_are_refused),
        cmocka_unit_test(careless_flags_of_keys_and_run_ends_are_taken),
        cmocka_unit_test(unions_take_all_128_type_ids),
        cmocka_unit_test(hostile_structs_are_refused),
        cmocka_unit_test(bad_dictionaries_are_refused),
        cmocka_unit_test(a_column_without_name_gets_an_empty_one),
        cmocka_unit_test(metadata_and_flags_come_back),
        cmocka_unit_test(damaged_metadata_is_refused),
        cmocka_unit_test(children_may_be_moved_out_of_an_exported_schema),
        cmocka_unit_test(a_schema_without_columns_is_fine),
        cmocka_unit_test(types_that_cannot_be_handed_out_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
