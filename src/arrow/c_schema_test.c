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

static void formats_come_back_as_they_went_in(void **state)
{
    (void)state;
    for (int32_t i = 0; i < arrow_maker_n_formats; i++) {
        oci_schema *schema = make_schema(&arrow_maker_formats[i], 1);
        struct ArrowSchema in, out;
        oc_error err = {0};
        arrow_make_schema(&arrow_maker_formats[i], 1, &in);
        assert_int_equal(oci_schema_export(schema, &out, &err), OC_OK);
        assert_string_equal(out.format, "+s");
        assert_int_equal(out.n_children, 1);
        assert_string_equal(out.children[0]->format, in.children[0]->format);
        assert_string_equal(out.children[0]->name, "c0");
        assert_int_equal(out.children[0]->flags, ARROW_FLAG_NULLABLE);
        assert_int_equal(out.children[0]->dictionary == NULL, in.children[0]->dictionary == NULL);
        if (out.children[0]->dictionary != NULL) {
            assert_string_equal(out.children[0]->dictionary->format,
                                in.children[0]->dictionary->format);
        }
        in.release(&in);
        out.release(&out);
        oci_schema_release(schema);
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
                             "ts:"};
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

static void nested_types_are_refused_by_name(void **state)
{
    (void)state;
    struct {
        const char *format, *name;
    } cases[] = {
        {"+l", "list"},
        {"+L", "large_list"},
        {"+vl", "list_view"},
        {"+vL", "large_list_view"},
        {"+w:3", "fixed_size_list"},
        {"+s", "struct"},
        {"+m", "map"},
        {"+ud:0,1", "dense_union"},
        {"+us:0", "sparse_union"},
        {"+r", "run_end_encoded"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bent_schema bent;
        char part[80];
        init_bent(&bent, cases[i].format);
        bent.column.n_children = 1;
        snprintf(part, sizeof part, "column \"a\" has type %s, which is not supported",
                 cases[i].name);
        assert_refused(&bent, OC_EUNSUPPORTED, part);

        init_bent(&bent, "i"); /* as the values of a dictionary */
        bent.column.dictionary = &bent.values;
        bent.values.format = cases[i].format;
        assert_refused(&bent, OC_EUNSUPPORTED, part);
    }
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
    assert_refused(&bent, OC_EDATA, "int32 and -1 children");
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
        cmocka_unit_test(nested_types_are_refused_by_name),
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
