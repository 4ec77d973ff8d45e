/* Metadata: what is built reads back the same; damage of any byte ends in an error or a sound
 * result. */
#include "ipc/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bits.h"
#include "ipc/flatbuf.h"
#include "ipc/layout_walk.h"
#include "ipc/message_internal.h"

/* ---- schemas to work with -------------------------------------------------------------------- */

static char *make_metadata(const char *key, const char *value, int64_t *bytes)
{
    int32_t n = 1;
    int32_t key_size = (int32_t)strlen(key);
    int32_t value_size = (int32_t)strlen(value);
    *bytes = 12 + key_size + value_size;
    char *out = malloc((size_t)*bytes);
    assert_non_null(out);
    memcpy(out, &n, 4);
    memcpy(out + 4, &key_size, 4);
    memcpy(out + 8, key, (size_t)key_size);
    memcpy(out + 8 + key_size, &value_size, 4);
    memcpy(out + 12 + key_size, value, (size_t)value_size);
    return out;
}

static void init_field(oci_field *field, oci_type type)
{
    char name[32];
    snprintf(name, sizeof name, "c_%s", oci_type_name(type));
    assert_int_equal(oci_field_init(field, name, type, true, NULL), OC_OK);
    switch (type) {
    case OCI_TYPE_DECIMAL32:
    case OCI_TYPE_DECIMAL64:
    case OCI_TYPE_DECIMAL128:
    case OCI_TYPE_DECIMAL256:
        field->precision = 9;
        field->scale = -2;
        break;
    case OCI_TYPE_TIME64: field->unit = OCI_NANO; break;
    case OCI_TYPE_TIME32:
    case OCI_TYPE_DURATION: field->unit = OCI_SECOND; break;
    case OCI_TYPE_TIMESTAMP:
        field->unit = OCI_MICRO;
        field->timezone = strdup("Europe/Berlin");
        break;
    case OCI_TYPE_FIXED_BINARY: field->byte_width = 5; break;
    case OCI_TYPE_DICTIONARY:
        field->index_type = OCI_TYPE_UINT16;
        field->dictionary_ordered = true;
        field->dictionary = calloc(1, sizeof *field->dictionary);
        assert_int_equal(oci_field_init(field->dictionary, "", OCI_TYPE_LARGE_UTF8, true, NULL),
                         OC_OK);
        oci_field_set_width(field);
        break;
    default: break;
    }
}

static void add_children(oci_field *field, const oci_type *types, int32_t n)
{
    field->children = calloc((size_t)n + 1, sizeof *field->children);
    for (int32_t i = 0; i < n; i++) {
        init_field(&field->children[i], types[i]);
        field->n_children++;
    }
}

/* Gives a nested field its parameters and children. */
static void init_nested(oci_field *field)
{
    static const oci_type item[] = {OCI_TYPE_UTF8_VIEW};
    static const oci_type entries[] = {OCI_TYPE_STRUCT};
    static const oci_type key_value[] = {OCI_TYPE_INT32, OCI_TYPE_DICTIONARY};
    static const oci_type three[] = {OCI_TYPE_DECIMAL64, OCI_TYPE_DICTIONARY, OCI_TYPE_BOOL};
    static const oci_type runs[] = {OCI_TYPE_INT16, OCI_TYPE_TIMESTAMP};
    static const int8_t ids[] = {5, 0, 127};
    switch (field->type) {
    case OCI_TYPE_FIXED_LIST:
        field->list_size = 3;
        add_children(field, item, 1);
        break;
    case OCI_TYPE_STRUCT: add_children(field, three, 3); break;
    case OCI_TYPE_MAP:
        field->keys_sorted = true;
        add_children(field, entries, 1);
        add_children(&field->children[0], key_value, 2);
        break;
    case OCI_TYPE_DENSE_UNION:
    case OCI_TYPE_SPARSE_UNION:
        add_children(field, three, 3);
        assert_int_equal(oci_field_set_union_ids(field, ids, 3, NULL), OC_OK);
        break;
    case OCI_TYPE_RUN_END_ENCODED: add_children(field, runs, 2); break;
    default: add_children(field, item, 1); break;
    }
    field->children[0].metadata = make_metadata("depth", "1", &field->children[0].metadata_bytes);
}

/* Every type, and metadata on the second field and the schema. */
static oci_schema *make_schema(void)
{
    oci_field *fields = calloc(OCI_TYPE_COUNT, sizeof *fields);
    for (int type = 0; type < OCI_TYPE_COUNT; type++) {
        init_field(&fields[type], (oci_type)type);
        fields[type].nullable = type % 3 != 0;
        if (type > OCI_TYPE_DICTIONARY) {
            init_nested(&fields[type]);
        }
    }
    /* The dictionary's values are a struct that has a dictionary itself. */
    oci_field *values = fields[OCI_TYPE_DICTIONARY].dictionary;
    free(values->name);
    init_field(values, OCI_TYPE_STRUCT);
    free(values->name);
    values->name = calloc(1, 1);
    init_nested(values);
    fields[1].metadata = make_metadata("ARROW:extension:name", "flag", &fields[1].metadata_bytes);
    int64_t bytes = 0;
    char *metadata = make_metadata("who", "k\xc3\xb6nig", &bytes);
    oci_schema *schema = NULL;
    assert_int_equal(oci_schema_create(fields, OCI_TYPE_COUNT, metadata, bytes, &schema, NULL),
                     OC_OK);
    return schema;
}

static void assert_same_field(const oci_field *a, const oci_field *b)
{
    assert_string_equal(a->name, b->name);
    assert_true(oci_field_same_type(a, b));
    assert_int_equal(a->nullable, b->nullable);
    assert_int_equal(a->byte_width, b->byte_width);
    assert_int_equal(a->metadata_bytes, b->metadata_bytes);
    if (a->metadata_bytes > 0) {
        assert_memory_equal(a->metadata, b->metadata, (size_t)a->metadata_bytes);
    }
    for (int32_t i = 0; i < a->n_children; i++) {
        assert_same_field(&a->children[i], &b->children[i]);
    }
    if (a->dictionary != NULL) {
        assert_same_field(a->dictionary, b->dictionary);
    }
}

static void assert_same_schema(const oci_schema *a, const oci_schema *b)
{
    assert_int_equal(a->n_fields, b->n_fields);
    for (int32_t i = 0; i < a->n_fields; i++) {
        assert_same_field(&a->fields[i], &b->fields[i]);
    }
    assert_int_equal(a->metadata_bytes, b->metadata_bytes);
    if (a->metadata_bytes > 0) {
        assert_memory_equal(a->metadata, b->metadata, (size_t)a->metadata_bytes);
    }
}

/* The flatbuffer in a block of its own size, so that reading past it is seen. */
static uint8_t *own_copy(const uint8_t *data, int64_t size)
{
    uint8_t *copy = malloc((size_t)size > 0 ? (size_t)size : 1);
    assert_non_null(copy);
    memcpy(copy, data, (size_t)size);
    return copy;
}

static oci_bytes build_schema(const oci_schema *schema)
{
    oci_bytes bytes = {0};
    oc_error err = {0};
    assert_int_equal(oci_message_build_schema(schema, false, &bytes, &err), OC_OK);
    return bytes;
}

/* ---- schemas --------------------------------------------------------------------------------- */

static void schema_of_every_type_comes_back_the_same(void **state)
{
    (void)state;
    oci_schema *schema = make_schema();
    oci_bytes bytes = build_schema(schema);
    assert_int_equal(bytes.size % 8, 0);
    int64_t metadata_bytes = 0;
    int prefix_bytes = 0;
    assert_int_equal(oci_frame_parse(bytes.data, &metadata_bytes, &prefix_bytes, NULL), OC_OK);
    assert_int_equal(prefix_bytes, 8);
    assert_int_equal(metadata_bytes, bytes.size - 8);
    oci_message message;
    assert_int_equal(oci_message_parse(bytes.data + 8, metadata_bytes, &message, NULL), OC_OK);
    assert_int_equal(message.kind, OCI_MESSAGE_SCHEMA);
    oci_schema *back = NULL;
    oci_dictionary_ids ids = {0};
    oc_error err = {0};
    assert_int_equal(
        oci_message_parse_schema(bytes.data + 8, metadata_bytes, &back, &ids, NULL, &err), OC_OK);
    assert_same_schema(schema, back);
    /* One is a column and one in its values; struct, map and unions have one each. */
    assert_int_equal(ids.n, 6);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(ids.ids[i], i);
    }
    free(ids.ids);
    free(bytes.data);
    oci_schema_release(back);
    oci_schema_release(schema);
}

static void schema_without_columns_comes_back(void **state)
{
    (void)state;
    oci_schema *schema = NULL;
    assert_int_equal(oci_schema_create(calloc(1, sizeof(oci_field)), 0, NULL, 0, &schema, NULL),
                     OC_OK);
    oci_bytes bytes = build_schema(schema);
    oci_schema *back = NULL;
    assert_int_equal(
        oci_message_parse_schema(bytes.data + 8, bytes.size - 8, &back, NULL, NULL, NULL), OC_OK);
    assert_int_equal(back->n_fields, 0);
    assert_null(back->metadata);
    free(bytes.data);
    oci_schema_release(back);
    oci_schema_release(schema);
}

/* Whatever is returned, it can be looked at and freed. */
static void try_schema(const uint8_t *data, int64_t size)
{
    oci_schema *schema = NULL;
    oci_dictionary_ids ids = {0};
    oc_error err = {0};
    oc_status status = oci_message_parse_schema(data, size, &schema, &ids, NULL, &err);
    if (status == OC_OK) {
        for (int32_t i = 0; i < schema->n_fields; i++) {
            char text[256];
            oci_field_type_text(&schema->fields[i], text, sizeof text);
            assert_true(oci_field_layout(&schema->fields[i]) != OCI_LAYOUT_UNKNOWN);
        }
        oci_bytes again = {0};
        assert_int_equal(oci_message_build_schema(schema, false, &again, &err), OC_OK);
        free(again.data);
        oci_schema_release(schema);
    } else {
        assert_true(status == OC_EDATA || status == OC_EUNSUPPORTED);
        assert_true(err.message[0] != 0);
        assert_null(schema);
        assert_null(ids.ids);
    }
    free(ids.ids);
}

static void truncated_schema_is_an_error_or_sound(void **state)
{
    (void)state;
    oci_schema *schema = make_schema();
    oci_bytes bytes = build_schema(schema);
    for (int64_t size = 0; size < bytes.size - 8; size++) {
        uint8_t *part = own_copy(bytes.data + 8, size);
        try_schema(part, size);
        free(part);
    }
    free(bytes.data);
    oci_schema_release(schema);
}

static void any_damaged_byte_of_a_schema_is_an_error_or_sound(void **state)
{
    (void)state;
    static const uint8_t masks[] = {0x01, 0x80, 0xFF, 0x10};
    oci_schema *schema = make_schema();
    oci_bytes bytes = build_schema(schema);
    uint8_t *copy = own_copy(bytes.data + 8, bytes.size - 8);
    for (int64_t i = 0; i < bytes.size - 8; i++) {
        for (size_t m = 0; m < sizeof masks; m++) {
            copy[i] ^= masks[m];
            try_schema(copy, bytes.size - 8);
            copy[i] ^= masks[m];
        }
    }
    free(copy);
    free(bytes.data);
    oci_schema_release(schema);
}

/* ---- odd schemas ----------------------------------------------------------------------------- */

/* A schema message around the fields. */
static uint8_t *wrap_fields(oci_fb_builder *b, const oci_fb_ref *refs, int64_t n, int endianness,
                            int64_t feature, int64_t version, int header, int64_t *size)
{
    oci_fb_ref fields = oci_fb_put_refs(b, refs, n);
    oci_fb_ref features = oci_fb_put_vector(b, &feature, 1, 8, 8);
    oci_fb_begin_table(b);
    oci_fb_add_ref(b, SCHEMA_FIELDS, fields);
    oci_fb_add_ref(b, SCHEMA_FEATURES, features);
    oci_fb_add_integer(b, SCHEMA_ENDIANNESS, 2, endianness);
    oci_fb_ref schema = oci_fb_end_table(b);
    oci_fb_begin_table(b);
    oci_fb_add_integer(b, MESSAGE_VERSION, 2, version);
    oci_fb_add_integer(b, MESSAGE_HEADER_TYPE, 1, header);
    oci_fb_add_ref(b, MESSAGE_HEADER, schema);
    assert_int_equal(oci_fb_finish(b, oci_fb_end_table(b), NULL), OC_OK);
    *size = b->used;
    uint8_t *out = own_copy(oci_fb_bytes(b), b->used);
    oci_fb_deinit(b);
    return out;
}

/* A field whose type table has one integer at place 0, or is empty (width 0). */
static oci_fb_ref put_field(oci_fb_builder *b, const char *name, int kind, int width, int64_t value,
                            const oci_fb_ref *children, int64_t n)
{
    oci_fb_begin_table(b);
    if (width > 0) {
        oci_fb_add_integer(b, 0, width, value);
    }
    oci_fb_ref type = oci_fb_end_table(b);
    oci_fb_ref text = oci_fb_put_string(b, name, (int64_t)strlen(name));
    oci_fb_ref vector = oci_fb_put_refs(b, children, n);
    oci_fb_begin_table(b);
    oci_fb_add_ref(b, FIELD_NAME, text);
    oci_fb_add_ref(b, FIELD_TYPE, type);
    oci_fb_add_ref(b, FIELD_CHILDREN, vector);
    oci_fb_add_integer(b, FIELD_TYPE_TYPE, 1, kind);
    return oci_fb_end_table(b);
}

/* A schema message around one field of the given type. */
static uint8_t *build_odd_schema(int kind, int endianness, int64_t feature, int64_t version,
                                 int header, int64_t *size)
{
    oci_fb_builder b = {0};
    oci_fb_ref field = put_field(&b, "tree", kind, 0, 0, NULL, 0);
    return wrap_fields(&b, &field, 1, endianness, feature, version, header, size);
}

/* *size: a pointer, since it is set while `data` is made. */
static void assert_refused(uint8_t *data, const int64_t *size, oc_status expected, const char *part)
{
    oci_schema *schema = NULL;
    oci_dictionary_ids ids = {0};
    oc_error err = {0};
    assert_int_equal(oci_message_parse_schema(data, *size, &schema, &ids, NULL, &err), expected);
    if (strstr(err.message, part) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", err.message, part);
    }
    assert_null(schema);
    assert_null(ids.ids);
    free(data);
}

static void what_is_not_supported_is_refused_by_name(void **state)
{
    (void)state;
    int64_t size = 0;
    assert_refused(build_odd_schema(99, 0, 1, FB_VERSION_V5, 1, &size), &size, OC_EUNSUPPORTED,
                   "number 99");
    assert_refused(build_odd_schema(FB_TYPE_UTF8, 1, 1, FB_VERSION_V5, 1, &size), &size,
                   OC_EUNSUPPORTED, "big-endian");
    assert_refused(build_odd_schema(FB_TYPE_UTF8, 2, 1, FB_VERSION_V5, 1, &size), &size, OC_EDATA,
                   "byte order 2");
    assert_refused(build_odd_schema(FB_TYPE_UTF8, 0, 3, FB_VERSION_V5, 1, &size), &size,
                   OC_EUNSUPPORTED, "feature number 3");
    assert_refused(build_odd_schema(FB_TYPE_UTF8, 0, 1, 2, 1, &size), &size, OC_EUNSUPPORTED,
                   "version V3");
    assert_refused(build_odd_schema(FB_TYPE_UTF8, 0, 1, 5, 1, &size), &size, OC_EUNSUPPORTED,
                   "version V6");
    assert_refused(build_odd_schema(FB_TYPE_UTF8, 0, 1, FB_VERSION_V5, FB_HEADER_TENSOR, &size),
                   &size, OC_EUNSUPPORTED, "a tensor");
    assert_refused(
        build_odd_schema(FB_TYPE_UTF8, 0, 1, FB_VERSION_V5, FB_HEADER_SPARSE_TENSOR, &size), &size,
        OC_EUNSUPPORTED, "sparse tensor");
    assert_refused(build_odd_schema(FB_TYPE_UTF8, 0, 1, FB_VERSION_V5, 77, &size), &size,
                   OC_EUNSUPPORTED, "number 77");
    assert_refused(build_odd_schema(0, 0, 1, FB_VERSION_V5, 1, &size), &size, OC_EDATA, "no type");
    assert_refused(build_odd_schema(FB_TYPE_INT, 0, 1, FB_VERSION_V5, 1, &size), &size, OC_EDATA,
                   "integer width 0");
    uint8_t *v4 = build_odd_schema(FB_TYPE_UTF8, 1, 1, FB_VERSION_V4, 1, &size);
    oci_schema *schema = NULL;
    bool big_endian = false;
    assert_int_equal(oci_message_parse_schema(v4, size, &schema, NULL, &big_endian, NULL), OC_OK);
    assert_true(big_endian);
    oci_schema_release(schema);
    oci_message message;
    assert_int_equal(oci_message_parse(v4, size, &message, NULL), OC_OK);
    assert_int_equal(message.version, OCI_IPC_V4);
    free(v4);
}

/* `n` lists around an int32. */
static uint8_t *build_chain(int n, int64_t *size)
{
    oci_fb_builder b = {0};
    oci_fb_ref field = put_field(&b, "leaf", FB_TYPE_INT, 4, 32, NULL, 0);
    for (int i = 0; i < n; i++) {
        field = put_field(&b, "tree", FB_TYPE_LIST, 0, 0, &field, 1);
    }
    return wrap_fields(&b, &field, 1, 0, 1, FB_VERSION_V5, 1, size);
}

static void nesting_ends_at_its_limit(void **state)
{
    (void)state;
    int64_t size = 0;
    uint8_t *deepest = build_chain(OCI_NESTING_MAX - 1, &size);
    oci_schema *schema = NULL;
    assert_int_equal(oci_message_parse_schema(deepest, size, &schema, NULL, NULL, NULL), OC_OK);
    assert_int_equal(oci_schema_shape(schema, OCI_IPC_V5).n_nodes, OCI_NESTING_MAX);
    oci_schema_release(schema);
    free(deepest);
    assert_refused(build_chain(OCI_NESTING_MAX, &size), &size, OC_EUNSUPPORTED,
                   "field \"leaf\" of column \"tree\" is nested deeper than the 64 levels");
    assert_refused(build_chain(50000, &size), &size, OC_EUNSUPPORTED, "64 levels");
}

/* Each level refers to the one below twice: 2^60 fields in a few KiB. */
static void shared_children_do_not_multiply(void **state)
{
    (void)state;
    oci_fb_builder b = {0};
    oci_fb_ref field = put_field(&b, "leaf", FB_TYPE_INT, 4, 32, NULL, 0);
    for (int i = 0; i < 60; i++) {
        oci_fb_ref both[2] = {field, field};
        field = put_field(&b, "tree", FB_TYPE_STRUCT, 0, 0, both, 2);
    }
    int64_t size = 0;
    uint8_t *data = wrap_fields(&b, &field, 1, 0, 1, FB_VERSION_V5, 1, &size);
    assert_refused(data, &size, OC_EDATA, "more fields than it can hold");
}

static void children_must_be_those_of_the_type(void **state)
{
    (void)state;
    static const struct {
        int kind;
        int width;
        int64_t value;
        int n_children;
        const char *message;
    } cases[] = {
        {FB_TYPE_LIST, 0, 0, 0, "type list and 0 children; it must have 1"},
        {FB_TYPE_LARGE_LIST, 0, 0, 2, "type large_list and 2 children"},
        {FB_TYPE_LIST_VIEW, 0, 0, 2, "type list_view and 2 children"},
        {FB_TYPE_FIXED_SIZE_LIST, 4, 2, 3, "type fixed_size_list and 3 children"},
        {FB_TYPE_FIXED_SIZE_LIST, 4, -1, 1, "list size -1"},
        {FB_TYPE_MAP, 0, 0, 1, "is a map, but its entries"},
        {FB_TYPE_MAP, 0, 0, 2, "type map and 2 children"},
        {FB_TYPE_RUN_END_ENCODED, 0, 0, 1, "must have 2"},
        {FB_TYPE_RUN_END_ENCODED, 0, 0, 2, "run ends of type uint8"},
        {FB_TYPE_UTF8, 0, 0, 1, "type utf8 and 1 children; it must have 0"},
        {FB_TYPE_UNION, 2, 2, 1, "union mode 2"},
        {FB_TYPE_UNION, 2, 0, 129, "union of 129 children"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        oci_fb_builder b = {0};
        oci_fb_ref children[129];
        for (int k = 0; k < cases[i].n_children; k++) {
            children[k] = put_field(&b, "leaf", FB_TYPE_INT, 4, 8, NULL, 0);
        }
        oci_fb_ref field = put_field(&b, "tree", cases[i].kind, cases[i].width, cases[i].value,
                                     children, cases[i].n_children);
        int64_t size = 0;
        uint8_t *data = wrap_fields(&b, &field, 1, 0, 1, FB_VERSION_V5, 1, &size);
        assert_refused(data, &size, OC_EDATA, cases[i].message);
    }
}

/* A union with these type ids and one int32 child for each of `n_children`. */
static uint8_t *build_union(const int32_t *ids, int64_t n_ids, int n_children, int64_t *size)
{
    oci_fb_builder b = {0};
    oci_fb_ref children[4];
    for (int k = 0; k < n_children; k++) {
        children[k] = put_field(&b, "leaf", FB_TYPE_INT, 4, 32, NULL, 0);
    }
    oci_fb_ref vector = ids != NULL ? oci_fb_put_vector(&b, ids, n_ids, 4, 4) : 0;
    oci_fb_begin_table(&b);
    oci_fb_add_integer(&b, UNION_MODE, 2, 1);
    oci_fb_add_ref(&b, UNION_TYPE_IDS, vector);
    oci_fb_ref type = oci_fb_end_table(&b);
    oci_fb_ref list = oci_fb_put_refs(&b, children, n_children);
    oci_fb_begin_table(&b);
    oci_fb_add_ref(&b, FIELD_TYPE, type);
    oci_fb_add_ref(&b, FIELD_CHILDREN, list);
    oci_fb_add_integer(&b, FIELD_TYPE_TYPE, 1, FB_TYPE_UNION);
    oci_fb_ref field = oci_fb_end_table(&b);
    return wrap_fields(&b, &field, 1, 0, 1, FB_VERSION_V5, 1, size);
}

static void type_ids_of_unions_are_checked(void **state)
{
    (void)state;
    static const int32_t twice[] = {3, 3};
    static const int32_t negative[] = {3, -1};
    static const int32_t large[] = {128, 1};
    int64_t size = 0;
    assert_refused(build_union(twice, 2, 2, &size), &size, OC_EDATA, "type id 3 twice");
    assert_refused(build_union(negative, 2, 2, &size), &size, OC_EDATA, "type id -1");
    assert_refused(build_union(large, 2, 2, &size), &size, OC_EDATA, "type id 128");
    assert_refused(build_union(twice, 1, 2, &size), &size, OC_EDATA, "2 children and 1 type ids");
    uint8_t *data = build_union(NULL, 0, 2, &size);
    oci_schema *schema = NULL;
    assert_int_equal(oci_message_parse_schema(data, size, &schema, NULL, NULL, NULL), OC_OK);
    assert_int_equal(schema->fields[0].union_ids->child_of[1], 1);
    assert_int_equal(schema->fields[0].union_ids->child_of[2], -1);
    oci_schema_release(schema);
    free(data);
}

static void dictionaries_of_dictionaries_cannot_be_written(void **state)
{
    (void)state;
    oci_field *field = calloc(1, sizeof *field);
    init_field(field, OCI_TYPE_DICTIONARY);
    free(field->dictionary->name);
    init_field(field->dictionary, OCI_TYPE_DICTIONARY);
    oci_schema *schema = NULL;
    assert_int_equal(oci_schema_create(field, 1, NULL, 0, &schema, NULL), OC_OK);
    oci_bytes bytes = {0};
    oc_error err = {0};
    assert_int_equal(oci_message_build_schema(schema, false, &bytes, &err), OC_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "c_dictionary"));
    assert_null(bytes.data);
    oci_schema_release(schema);
}

static void shapes_count_the_tree_depth_first(void **state)
{
    (void)state;
    oci_schema *schema = make_schema();
    const oci_field *dense = &schema->fields[OCI_TYPE_DENSE_UNION];
    oci_tree_shape shape = {0};
    oci_field_add_shape(dense, OCI_IPC_V5, &shape);
    assert_int_equal(shape.n_nodes, 4);
    assert_int_equal(shape.n_buffers, 8);
    assert_int_equal(shape.n_dictionaries, 1);
    assert_int_equal(oci_node_shape_of(dense, OCI_IPC_V5).buffers[1], OCI_BUFFER_INT32);
    oci_node_shape v4 = oci_node_shape_of(dense, OCI_IPC_V4);
    assert_int_equal(v4.n_buffers, 3);
    assert_int_equal(v4.buffers[0], OCI_BUFFER_VALIDITY);
    assert_int_equal(v4.buffers[1], OCI_BUFFER_TYPE_IDS);
    assert_int_equal(v4.buffers[2], OCI_BUFFER_INT32);
    assert_int_equal(
        oci_node_shape_of(&schema->fields[OCI_TYPE_SPARSE_UNION], OCI_IPC_V4).n_buffers, 2);
    shape = oci_schema_shape(schema, OCI_IPC_V5);
    assert_int_equal(shape.n_dictionaries, 6);
    assert_int_equal(shape.n_variadic, 2 + 5);
    oci_schema_release(schema);
}

/* Many columns that all are one and the same table with a long name. */
static void shared_objects_do_not_multiply_memory(void **state)
{
    (void)state;
    enum { COLUMNS = 20000, NAME = 100000 };
    char *name = malloc(NAME);
    memset(name, 'n', NAME);
    oci_fb_builder b = {0};
    oci_fb_begin_table(&b);
    oci_fb_ref type = oci_fb_end_table(&b);
    oci_fb_ref text = oci_fb_put_string(&b, name, NAME);
    oci_fb_begin_table(&b);
    oci_fb_add_ref(&b, FIELD_NAME, text);
    oci_fb_add_ref(&b, FIELD_TYPE, type);
    oci_fb_add_integer(&b, FIELD_TYPE_TYPE, 1, FB_TYPE_UTF8);
    oci_fb_ref field = oci_fb_end_table(&b);
    oci_fb_ref *fields = malloc(COLUMNS * sizeof *fields);
    for (int i = 0; i < COLUMNS; i++) {
        fields[i] = field;
    }
    oci_fb_ref vector = oci_fb_put_refs(&b, fields, COLUMNS);
    oci_fb_begin_table(&b);
    oci_fb_add_ref(&b, SCHEMA_FIELDS, vector);
    oci_fb_ref schema = oci_fb_end_table(&b);
    oci_fb_begin_table(&b);
    oci_fb_add_integer(&b, MESSAGE_VERSION, 2, FB_VERSION_V5);
    oci_fb_add_integer(&b, MESSAGE_HEADER_TYPE, 1, FB_HEADER_SCHEMA);
    oci_fb_add_ref(&b, MESSAGE_HEADER, schema);
    assert_int_equal(oci_fb_finish(&b, oci_fb_end_table(&b), NULL), OC_OK);
    assert_refused(own_copy(oci_fb_bytes(&b), b.used), &b.used, OC_EDATA, "damaged");
    oci_fb_deinit(&b);
    free(fields);
    free(name);
}

/* ---- record batches -------------------------------------------------------------------------- */

static oci_bytes build_batch(oci_message_kind kind, oci_codec_id codec, int64_t n_variadic,
                             bool with_checksum)
{
    static const oci_ipc_node nodes[] = {{100, 7}, {100, 0}};
    static const oci_ipc_buffer buffers[] = {
        {0, 13}, {16, 800}, {816, 0}, {816, 404}, {1224, 1000}};
    static const int64_t variadic[] = {1, 0};
    oci_message fields = {.kind = kind,
                          .body_bytes = 2224,
                          .length = 100,
                          .n_nodes = 2,
                          .n_buffers = 5,
                          .n_variadic = n_variadic,
                          .codec = codec,
                          .dictionary_id = 42,
                          .dictionary_delta = true,
                          .checksum = with_checksum ? (const uint8_t *)"any" : NULL};
    oci_bytes bytes = {0};
    assert_int_equal(oci_message_build_batch(&fields, nodes, buffers, variadic, &bytes, NULL),
                     OC_OK);
    assert_int_equal(bytes.size % 8, 0);
    return bytes;
}

static void batch_header_comes_back_the_same(void **state)
{
    (void)state;
    for (int codec = OCI_CODEC_NONE; codec <= OCI_CODEC_ZSTD; codec++) {
        for (int kind = OCI_MESSAGE_DICTIONARY; kind <= OCI_MESSAGE_BATCH; kind++) {
            for (int64_t n_variadic = 0; n_variadic <= 2; n_variadic++) {
                oci_bytes bytes =
                    build_batch((oci_message_kind)kind, (oci_codec_id)codec, n_variadic, codec > 0);
                oci_message message;
                oc_error err = {0};
                assert_int_equal(oci_message_parse(bytes.data + 8, bytes.size - 8, &message, &err),
                                 OC_OK);
                assert_int_equal(message.kind, kind);
                assert_int_equal(message.codec, codec);
                assert_int_equal(message.length, 100);
                assert_int_equal(message.body_bytes, 2224);
                assert_int_equal(message.n_nodes, 2);
                assert_int_equal(oci_message_node(&message, 0).null_count, 7);
                assert_int_equal(message.n_buffers, 5);
                assert_int_equal(oci_message_buffer(&message, 4).offset, 1224);
                assert_int_equal(oci_message_buffer(&message, 4).length, 1000);
                assert_int_equal(message.n_variadic, n_variadic);
                if (n_variadic > 0) {
                    assert_int_equal(oci_message_variadic(&message, 0), 1);
                }
                if (kind == OCI_MESSAGE_DICTIONARY) {
                    assert_int_equal(message.dictionary_id, 42);
                    assert_true(message.dictionary_delta);
                }
                free(bytes.data);
            }
        }
    }
}

static void padded_header_reads_the_same(void **state)
{
    (void)state;
    oci_bytes bytes = build_batch(OCI_MESSAGE_BATCH, OCI_CODEC_NONE, 0, false);
    uint8_t *padded = malloc((size_t)bytes.size + 64);
    memcpy(padded, bytes.data, (size_t)bytes.size);
    oci_frame_pad(padded, bytes.size, bytes.size + 64);
    int64_t metadata_bytes = 0;
    int prefix_bytes = 0;
    assert_int_equal(oci_frame_parse(padded, &metadata_bytes, &prefix_bytes, NULL), OC_OK);
    assert_int_equal(metadata_bytes, bytes.size + 56);
    oci_message message;
    assert_int_equal(oci_message_parse(padded + 8, metadata_bytes, &message, NULL), OC_OK);
    assert_int_equal(message.length, 100);
    free(padded);
    free(bytes.data);
}

/* Parses a framed message; NULL when it has no slot. */
static const uint8_t *find_slot(const oci_bytes *bytes)
{
    oci_message message;
    assert_int_equal(oci_message_parse(bytes->data + 8, bytes->size - 8, &message, NULL), OC_OK);
    return message.checksum;
}

static void assert_slot(const oci_bytes *bytes)
{
    const uint8_t *slot = find_slot(bytes);
    assert_non_null(slot);
    assert_true(slot >= bytes->data + 8);
    assert_true(slot + OCI_CHECKSUM_DIGITS <= bytes->data + bytes->size);
    assert_memory_equal(slot, "0000000000000000", OCI_CHECKSUM_DIGITS);
}

static void checksum_slot_is_found_in_every_kind_of_message(void **state)
{
    (void)state;
    for (int kind = OCI_MESSAGE_DICTIONARY; kind <= OCI_MESSAGE_BATCH; kind++) {
        oci_bytes with = build_batch((oci_message_kind)kind, OCI_CODEC_LZ4_FRAME, 1, true);
        oci_bytes without = build_batch((oci_message_kind)kind, OCI_CODEC_LZ4_FRAME, 1, false);
        assert_slot(&with);
        assert_null(find_slot(&without));
        free(with.data);
        free(without.data);
    }
    oci_schema *schema = make_schema();
    oci_bytes with = {0};
    oci_bytes without = build_schema(schema);
    assert_int_equal(oci_message_build_schema(schema, true, &with, NULL), OC_OK);
    assert_slot(&with);
    assert_null(find_slot(&without));
    try_schema(with.data + 8, with.size - 8);
    free(with.data);
    free(without.data);
    oci_schema_release(schema);
}

static void value_of_another_length_is_no_checksum(void **state)
{
    (void)state;
    oci_bytes bytes = build_batch(OCI_MESSAGE_BATCH, OCI_CODEC_NONE, 0, true);
    uint8_t *slot = bytes.data + (find_slot(&bytes) - bytes.data);
    assert_int_equal(oci_load_le32(slot - 4), OCI_CHECKSUM_DIGITS);
    oci_store_le32(slot - 4, OCI_CHECKSUM_DIGITS - 1);
    assert_null(find_slot(&bytes));
    free(bytes.data);
}

static void try_message(const uint8_t *data, int64_t size)
{
    oci_message message;
    oc_error err = {0};
    oc_status status = oci_message_parse(data, size, &message, &err);
    if (status != OC_OK) {
        assert_true(status == OC_EDATA || status == OC_EUNSUPPORTED);
        assert_true(err.message[0] != 0);
        return;
    }
    for (int64_t i = 0; i < message.n_nodes; i++) {
        assert_true(oci_message_node(&message, i).null_count <=
                    oci_message_node(&message, i).length);
    }
    for (int64_t i = 0; i < message.n_buffers; i++) {
        oci_ipc_buffer buffer = oci_message_buffer(&message, i);
        assert_true(buffer.offset >= 0 && buffer.length >= 0);
        assert_true(buffer.offset + buffer.length <= message.body_bytes);
    }
    if (message.checksum != NULL) {
        assert_true(message.checksum >= data &&
                    message.checksum + OCI_CHECKSUM_DIGITS <= data + size);
    }
}

static void any_damaged_byte_of_a_batch_header_is_an_error_or_sound(void **state)
{
    (void)state;
    for (int kind = OCI_MESSAGE_DICTIONARY; kind <= OCI_MESSAGE_BATCH; kind++) {
        oci_bytes bytes = build_batch((oci_message_kind)kind, OCI_CODEC_ZSTD, 2, true);
        uint8_t *copy = own_copy(bytes.data + 8, bytes.size - 8);
        for (int64_t i = 0; i < bytes.size - 8; i++) {
            for (int bit = 0; bit < 8; bit++) {
                copy[i] ^= (uint8_t)(1 << bit);
                try_message(copy, bytes.size - 8);
                copy[i] ^= (uint8_t)(1 << bit);
            }
            uint8_t *part = own_copy(copy, i);
            try_message(part, i);
            free(part);
        }
        free(copy);
        free(bytes.data);
    }
}

/* ---- framing --------------------------------------------------------------------------------- */

static void both_prefixes_are_read_and_wild_sizes_refused(void **state)
{
    (void)state;
    static const struct {
        uint8_t prefix[8];
        oc_status status;
        int64_t metadata_bytes;
        int prefix_bytes;
    } cases[] = {
        {{0xFF, 0xFF, 0xFF, 0xFF, 0x10, 0x01, 0, 0}, OC_OK, 0x110, 8},
        {{0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0}, OC_OK, 0, 8},
        {{0x10, 0x01, 0, 0, 1, 2, 3, 4}, OC_OK, 0x110, 4},
        {{0, 0, 0, 0, 1, 2, 3, 4}, OC_OK, 0, 4},
        {{0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0x80}, OC_EDATA, 0, 0},
        {{0xFF, 0xFF, 0xFF, 0xFF, 1, 0, 0, 0x10}, OC_EDATA, 0, 0},
        {{'P', 'A', 'R', '1', 0, 0, 0, 0}, OC_EDATA, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t metadata_bytes = -1;
        int prefix_bytes = -1;
        assert_int_equal(oci_frame_parse(cases[i].prefix, &metadata_bytes, &prefix_bytes, NULL),
                         cases[i].status);
        if (cases[i].status == OC_OK) {
            assert_int_equal(metadata_bytes, cases[i].metadata_bytes);
            assert_int_equal(prefix_bytes, cases[i].prefix_bytes);
        }
    }
}

/* ---- footers --------------------------------------------------------------------------------- */

static oci_bytes build_footer(oci_schema *schema)
{
    oci_ipc_file_block dictionaries[] = {{600, 200, 64}};
    oci_ipc_file_block batches[] = {{864, 200, 1000}, {2064, 208, 0}};
    oci_ipc_footer footer = {.schema = schema,
                             .dictionaries = dictionaries,
                             .n_dictionaries = 1,
                             .batches = batches,
                             .n_batches = 2};
    oci_bytes bytes = {0};
    assert_int_equal(oci_footer_build(&footer, &bytes, NULL), OC_OK);
    return bytes;
}

static void footer_comes_back_the_same(void **state)
{
    (void)state;
    oci_schema *schema = make_schema();
    oci_bytes bytes = build_footer(schema);
    oci_ipc_footer back;
    oc_error err = {0};
    assert_int_equal(oci_footer_parse(bytes.data, bytes.size, 2272, &back, &err), OC_OK);
    assert_same_schema(schema, back.schema);
    assert_int_equal(back.n_dictionaries, 1);
    assert_int_equal(back.dictionaries[0].offset, 600);
    assert_int_equal(back.n_batches, 2);
    assert_int_equal(back.batches[0].body_bytes, 1000);
    assert_int_equal(back.batches[1].metadata_bytes, 208);
    assert_int_equal(back.ids.n, 6);
    oci_footer_deinit(&back);
    /* The last block ends at 2272: one byte less of file is too little. */
    assert_int_equal(oci_footer_parse(bytes.data, bytes.size, 2271, &back, &err), OC_EDATA);
    assert_null(back.schema);
    free(bytes.data);
    oci_schema_release(schema);
}

static void any_damaged_byte_of_a_footer_is_an_error_or_sound(void **state)
{
    (void)state;
    oci_schema *schema = make_schema();
    oci_bytes bytes = build_footer(schema);
    uint8_t *copy = own_copy(bytes.data, bytes.size);
    for (int64_t i = 0; i < bytes.size; i++) {
        static const uint8_t masks[] = {0x01, 0x80, 0xFF, 0x10};
        for (size_t m = 0; m < sizeof masks; m++) {
            copy[i] ^= masks[m];
            oci_ipc_footer footer;
            oc_status status = oci_footer_parse(copy, bytes.size, 2272, &footer, NULL);
            assert_true(status == OC_OK || status == OC_EDATA || status == OC_EUNSUPPORTED);
            for (int64_t k = 0; status == OC_OK && k < footer.n_batches; k++) {
                assert_true(footer.batches[k].offset >= 8);
                assert_true(footer.batches[k].offset + footer.batches[k].body_bytes <= 2272);
            }
            oci_footer_deinit(&footer);
            copy[i] ^= masks[m];
        }
    }
    free(copy);
    free(bytes.data);
    oci_schema_release(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schema_of_every_type_comes_back_the_same),
        cmocka_unit_test(schema_without_columns_comes_back),
        cmocka_unit_test(truncated_schema_is_an_error_or_sound),
        cmocka_unit_test(any_damaged_byte_of_a_schema_is_an_error_or_sound),
        cmocka_unit_test(what_is_not_supported_is_refused_by_name),
        cmocka_unit_test(nesting_ends_at_its_limit),
        cmocka_unit_test(shared_children_do_not_multiply),
        cmocka_unit_test(children_must_be_those_of_the_type),
        cmocka_unit_test(type_ids_of_unions_are_checked),
        cmocka_unit_test(dictionaries_of_dictionaries_cannot_be_written),
        cmocka_unit_test(shapes_count_the_tree_depth_first),
        cmocka_unit_test(shared_objects_do_not_multiply_memory),
        cmocka_unit_test(batch_header_comes_back_the_same),
        cmocka_unit_test(padded_header_reads_the_same),
        cmocka_unit_test(checksum_slot_is_found_in_every_kind_of_message),
        cmocka_unit_test(value_of_another_length_is_no_checksum),
        cmocka_unit_test(any_damaged_byte_of_a_batch_header_is_an_error_or_sound),
        cmocka_unit_test(both_prefixes_are_read_and_wild_sizes_refused),
        cmocka_unit_test(footer_comes_back_the_same),
        cmocka_unit_test(any_damaged_byte_of_a_footer_is_an_error_or_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
