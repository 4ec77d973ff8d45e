/* Making the schema tree: see schema.h.
 *
 * One descent over the elements, which metadata.h has made sure are a tree, builds Arrow fields (malloc, as
 * all schemas: they grow with the footer) and nodes (in the arena) side by side. Then the stored Arrow schema
 * refines the fields, they become a schema, and the nodes are tied to its working form. */
#include "formats/parquet/schema.h"

#include <stdlib.h>
#include <string.h>

#include "formats/parquet/metadata_parse.h"
#include "formats/parquet/schema_internal.h"

typedef struct builder {
    const oci_parquet_metadata *metadata;
    oci_parquet_schema *schema;
    int32_t at;   /* the element whose turn it is */
    int32_t leaf; /* the leaf that comes next */
    int32_t top;
    int32_t n_path; /* elements on the way from the root, without it */
    int32_t path[OCI_PARQUET_SCHEMA_DEPTH_MAX];
    oc_error *err;
} builder;

/* What is around an element. */
typedef struct levels {
    int16_t definition; /* that everything around it is there */
    int16_t slot_definition;
    int16_t slot_repetition;
    int32_t depth; /* of Arrow types */
} levels;

static oc_status build_field(builder *b, const levels *around, bool is_element, oci_field *field,
                             oci_parquet_node *node);

static const oci_parquet_element *current(const builder *b)
{
    return &b->metadata->elements[b->at];
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* "a.list.element" into the arena. */
static oc_status make_path(builder *b, const char **out)
{
    const oci_parquet_element *elements = b->metadata->elements;
    int64_t size = 1;
    void *made;
    for (int32_t i = 0; i < b->n_path; i++) {
        size += elements[b->path[i]].name.size + 1;
    }
    OC_TRY(oci_parquet_arena_alloc(&b->schema->arena, size, 1, &made, b->err));
    char *to = made;
    *out = made;
    for (int32_t i = 0; i < b->n_path; i++) {
        const oci_parquet_bytes *name = &elements[b->path[i]].name;
        if (i > 0) {
            *to++ = '.';
        }
        memcpy(to, name->data, (size_t)name->size);
        to += name->size;
    }
    return OC_OK;
}

static oc_status fail(builder *b, oc_status status, const char *problem)
{
    const char *path;
    OC_TRY(make_path(b, &path));
    OC_FAIL(b->err, status, "Parquet file \"%s\": could not read column \"%s\": %s",
            b->metadata->file_name, path, problem);
}

static oc_status out_of_memory(builder *b)
{
    OC_FAIL(b->err, OC_ENOMEM, "out of memory while building a schema");
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static oc_status init_field(builder *b, oci_field *field, const oci_parquet_bytes *name,
                            oci_type type, bool nullable)
{
    *field = (oci_field){.type = type, .nullable = nullable};
    if (memchr(name->data, '\0', (size_t)name->size) != NULL) {
        return fail(b, OC_EUNSUPPORTED, "its name has a NUL character");
    }
    field->name = malloc((size_t)name->size + 1);
    if (field->name == NULL) {
        return out_of_memory(b);
    }
    memcpy(field->name, name->data, (size_t)name->size);
    field->name[name->size] = '\0';
    return OC_OK;
}

static oc_status add_children(builder *b, oci_field *field, oci_parquet_node *node,
                              int32_t n_fields, int32_t n_nodes)
{
    void *made;
    field->children = calloc((size_t)n_fields, sizeof *field->children);
    if (field->children == NULL) {
        return out_of_memory(b);
    }
    field->n_children = n_fields;
    OC_TRY(
        oci_parquet_arena_alloc(&b->schema->arena, n_nodes, sizeof *node->children, &made, b->err));
    node->children = made;
    node->n_children = n_nodes;
    return OC_OK;
}

static oc_status build_leaf(builder *b, const oci_parquet_element *e, oci_field *field,
                            oci_parquet_node *node)
{
    const char *problem = oci_parquet_leaf_type(e, field);
    if (problem != NULL) {
        return fail(b, OC_EUNSUPPORTED, problem);
    }
    if (field->type == OCI_TYPE_TIMESTAMP && e->logical == OCI_PARQUET_LOGICAL_TIMESTAMP &&
        e->is_utc) {
        field->timezone = strdup("UTC");
        if (field->timezone == NULL) {
            return out_of_memory(b);
        }
    }
    oci_parquet_leaf *leaf = &b->schema->leaves[b->leaf++];
    *leaf = (oci_parquet_leaf){.element = e,
                               .max_definition = node->definition,
                               .max_repetition = node->slot_repetition,
                               .top = b->top};
    node->kind = OCI_PARQUET_NODE_LEAF;
    b->at++;
    return make_path(b, &leaf->path);
}

static oc_status build_struct(builder *b, const oci_parquet_element *e, const levels *inside,
                              oci_field *field, oci_parquet_node *node)
{
    if (e->n_children == 0) {
        return fail(b, OC_EUNSUPPORTED, "it is a group without fields");
    }
    field->type = OCI_TYPE_STRUCT;
    node->kind = OCI_PARQUET_NODE_STRUCT;
    OC_TRY(add_children(b, field, node, e->n_children, e->n_children));
    b->at++;
    for (int32_t i = 0; i < e->n_children; i++) {
        OC_TRY(build_field(b, inside, false, &field->children[i], &node->children[i]));
    }
    return OC_OK;
}

/* Of the elements of a list or the entries of a map, which `node` is. */
static levels levels_of_elements(oci_parquet_node *node, const levels *inside)
{
    node->repetition = (int16_t)(node->slot_repetition + 1);
    return (levels){.definition = (int16_t)(inside->definition + 1),
                    .slot_definition = (int16_t)(inside->definition + 1),
                    .slot_repetition = node->repetition,
                    .depth = inside->depth};
}

/* ---- lists and maps -------------------------------------------------------------------------- */

/* Whether the repeated field of a LIST group is the element itself, as old writers have it, and not a group
 * around it: the rules of the format for backward compatibility. */
static bool is_two_level(const oci_parquet_element *repeated)
{
    static const char array[] = "array";
    static const char tuple[] = "_tuple";
    const oci_parquet_bytes *name = &repeated->name;
    if (repeated->type != OCI_PARQUET_GROUP || repeated->n_children != 1) {
        return true;
    }
    if (repeated[1].repetition == OCI_PARQUET_REPEATED) {
        return true;
    }
    int64_t rest = name->size - (int64_t)(sizeof tuple - 1);
    return (name->size == sizeof array - 1 && memcmp(name->data, array, sizeof array - 1) == 0) ||
           (rest >= 0 && memcmp(name->data + rest, tuple, sizeof tuple - 1) == 0);
}

/* A group with one repeated field: *repeated. */
static oc_status enter_repeated(builder *b, const oci_parquet_element *e,
                                const oci_parquet_element **repeated)
{
    if (e->n_children != 1 || e[1].repetition != OCI_PARQUET_REPEATED) {
        return fail(b, OC_EUNSUPPORTED,
                    "it is annotated as a list or map and does not hold one repeated field");
    }
    b->at++;
    *repeated = current(b);
    return OC_OK;
}

/* The one field of a repeated group, which is passed over. */
static oc_status build_inside(builder *b, const levels *elements, oci_field *field,
                              oci_parquet_node *node)
{
    b->path[b->n_path++] = b->at++;
    oc_status status = build_field(b, elements, false, field, node);
    b->n_path--;
    return status;
}

static oc_status build_list(builder *b, const oci_parquet_element *e, const levels *inside,
                            bool is_map, oci_field *field, oci_parquet_node *node)
{
    const oci_parquet_element *repeated;
    levels elements = levels_of_elements(node, inside);
    field->type = OCI_TYPE_LIST;
    node->kind = OCI_PARQUET_NODE_LIST;
    OC_TRY(add_children(b, field, node, 1, 1));
    OC_TRY(enter_repeated(b, e, &repeated));
    if (!is_map && is_two_level(repeated)) {
        return build_field(b, &elements, true, &field->children[0], &node->children[0]);
    }
    return build_inside(b, &elements, &field->children[0], &node->children[0]);
}

static oc_status build_entries(builder *b, const levels *elements, oci_field *entries,
                               oci_parquet_node *node)
{
    static const oci_parquet_bytes name = {(const uint8_t *)"entries", 7};
    OC_TRY(init_field(b, entries, &name, OCI_TYPE_STRUCT, false));
    entries->children = calloc(2, sizeof *entries->children);
    if (entries->children == NULL) {
        return out_of_memory(b);
    }
    entries->n_children = 2;
    b->path[b->n_path++] = b->at++;
    for (int32_t i = 0; i < 2; i++) {
        OC_TRY(build_field(b, elements, false, &entries->children[i], &node->children[i]));
    }
    b->n_path--;
    entries->children[0].nullable = false;
    return OC_OK;
}

static oc_status build_map(builder *b, const oci_parquet_element *e, const levels *inside,
                           oci_field *field, oci_parquet_node *node)
{
    const oci_parquet_element *repeated = &e[1];
    if (e->n_children == 1 && repeated->n_children == 1 &&
        repeated->repetition == OCI_PARQUET_REPEATED) {
        return build_list(b, e, inside, true, field, node); /* without values */
    }
    levels elements = levels_of_elements(node, inside);
    field->type = OCI_TYPE_MAP;
    node->kind = OCI_PARQUET_NODE_MAP;
    OC_TRY(add_children(b, field, node, 1, 2));
    OC_TRY(enter_repeated(b, e, &repeated));
    if (repeated->n_children != 2) {
        return fail(b, OC_EUNSUPPORTED,
                    "it is annotated as a map and its entries are not a key and a value");
    }
    elements.depth++; /* the struct of entries */
    return build_entries(b, &elements, &field->children[0], node);
}

/* A repeated field that no annotation explains is a list of it, never null. */
static oc_status build_repeated(builder *b, const levels *around, oci_field *field,
                                oci_parquet_node *node)
{
    OC_TRY(init_field(b, field, &current(b)->name, OCI_TYPE_LIST, false));
    node->kind = OCI_PARQUET_NODE_LIST;
    node->definition = around->definition;
    levels inside = *around;
    inside.depth++;
    levels elements = levels_of_elements(node, &inside);
    OC_TRY(add_children(b, field, node, 1, 1));
    return build_field(b, &elements, true, &field->children[0], &node->children[0]);
}

/* ---- fields ---------------------------------------------------------------------------------- */

static bool is_list(const oci_parquet_element *e)
{
    return e->logical == OCI_PARQUET_LOGICAL_LIST ||
           (e->logical == OCI_PARQUET_LOGICAL_NONE && e->converted == OCI_PARQUET_CONVERTED_LIST);
}

static bool is_map(const oci_parquet_element *e)
{
    return e->logical == OCI_PARQUET_LOGICAL_MAP ||
           (e->logical == OCI_PARQUET_LOGICAL_NONE &&
            (e->converted == OCI_PARQUET_CONVERTED_MAP ||
             e->converted == OCI_PARQUET_CONVERTED_MAP_KEY_VALUE));
}

static oc_status build_kind(builder *b, const oci_parquet_element *e, const levels *inside,
                            oci_field *field, oci_parquet_node *node)
{
    if (e->type != OCI_PARQUET_GROUP) {
        return build_leaf(b, e, field, node);
    }
    if (is_list(e)) {
        return build_list(b, e, inside, false, field, node);
    }
    return is_map(e) ? build_map(b, e, inside, field, node)
                     : build_struct(b, e, inside, field, node);
}

/* The current element and all below it. `is_element`: its repetition is that of the list around it. */
static oc_status build_field(builder *b, const levels *around, bool is_element, oci_field *field,
                             oci_parquet_node *node)
{
    const oci_parquet_element *e = current(b);
    if (around->depth > OCI_NESTING_MAX) {
        return fail(b, OC_EUNSUPPORTED, "it is nested too deep");
    }
    node->slot_definition = around->slot_definition;
    node->slot_repetition = around->slot_repetition;
    node->leaf = b->leaf;
    if (e->repetition == OCI_PARQUET_REPEATED && !is_element) {
        OC_TRY(build_repeated(b, around, field, node));
        node->n_leaves = b->leaf - node->leaf;
        return OC_OK;
    }
    bool nullable = e->repetition == OCI_PARQUET_OPTIONAL;
    OC_TRY(init_field(b, field, &e->name, OCI_TYPE_NULL, nullable));
    levels inside = *around;
    inside.depth++;
    inside.definition = (int16_t)(inside.definition + nullable);
    node->definition = inside.definition;
    b->path[b->n_path++] = b->at;
    OC_TRY(build_kind(b, e, &inside, field, node));
    b->n_path--;
    node->n_leaves = b->leaf - node->leaf;
    return OC_OK;
}

/* ---- the schema ------------------------------------------------------------------------------ */

/* Ties a node to its field, after fields have found their place. */
static void tie(oci_parquet_schema *schema, oci_parquet_node *node, const oci_field *field)
{
    node->field = field;
    if (node->kind == OCI_PARQUET_NODE_LEAF) {
        schema->leaves[node->leaf].field = field;
    }
    const oci_field *children = node->kind == OCI_PARQUET_NODE_MAP ? field->children[0].children
                                                                   : field->children;
    for (int32_t i = 0; i < node->n_children; i++) {
        tie(schema, &node->children[i], &children[i]);
    }
}

static bool is_stored_schema(const oci_parquet_key_value *pair)
{
    static const char key[] = OCI_PARQUET_STORED_SCHEMA;
    return pair->key.size == sizeof key - 1 && memcmp(pair->key.data, key, sizeof key - 1) == 0;
}

static char *put_counted(char *to, const oci_parquet_bytes *bytes)
{
    int32_t size = (int32_t)bytes->size; /* the footer has less than 2 GiB */
    memcpy(to, &size, sizeof size);
    if (size > 0) {
        memcpy(to + sizeof size, bytes->data, (size_t)size);
    }
    return to + sizeof size + size;
}

/* The key-value metadata of the file as Arrow has them, without the stored schema. */
static oc_status make_metadata(const oci_parquet_metadata *metadata, char **out, int64_t *size,
                               oc_error *err)
{
    int32_t n = 0;
    int64_t total = sizeof n;
    for (int32_t i = 0; i < metadata->n_key_values; i++) {
        const oci_parquet_key_value *pair = &metadata->key_values[i];
        if (!is_stored_schema(pair)) {
            n++;
            total += 2 * (int64_t)sizeof n + pair->key.size + pair->value.size;
        }
    }
    if (n == 0) {
        return OC_OK;
    }
    char *to = malloc((size_t)total);
    if (to == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while building a schema");
    }
    *out = to;
    *size = total;
    memcpy(to, &n, sizeof n);
    to += sizeof n;
    for (int32_t i = 0; i < metadata->n_key_values; i++) {
        const oci_parquet_key_value *pair = &metadata->key_values[i];
        if (!is_stored_schema(pair)) {
            to = put_counted(to, &pair->key);
            to = put_counted(to, &pair->value);
        }
    }
    return OC_OK;
}

static void free_fields(oci_field *fields, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        oci_field_deinit(&fields[i]);
    }
    free(fields);
}

static oc_status build_fields(builder *b, oci_field *fields)
{
    const levels outside = {0};
    for (b->top = 0; b->top < b->schema->n_nodes; b->top++) {
        OC_TRY(build_field(b, &outside, false, &fields[b->top], &b->schema->nodes[b->top]));
    }
    return oci_parquet_apply_stored(
        oci_parquet_metadata_value(b->metadata, OCI_PARQUET_STORED_SCHEMA), fields,
        b->schema->n_nodes, b->err);
}

/* Takes the fields, also on failure. */
static oc_status finish_schema(const oci_parquet_metadata *metadata, oci_field *fields,
                               oci_parquet_schema *schema, oc_error *err)
{
    char *pairs = NULL;
    int64_t size = 0;
    oc_status status = make_metadata(metadata, &pairs, &size, err);
    if (status != OC_OK) {
        free_fields(fields, schema->n_nodes);
        return status;
    }
    OC_TRY(oci_schema_create(fields, schema->n_nodes, pairs, size, &schema->arrow, err));
    OC_TRY(oci_schema_working(schema->arrow, &schema->working, err));
    for (int32_t i = 0; i < schema->n_nodes; i++) {
        tie(schema, &schema->nodes[i], &schema->working->fields[i]);
    }
    return OC_OK;
}

static oc_status build(const oci_parquet_metadata *metadata, oci_parquet_schema *schema,
                       oc_error *err)
{
    builder b = {.metadata = metadata, .schema = schema, .at = 1, .err = err};
    void *made;
    schema->n_leaves = metadata->n_leaves;
    schema->n_nodes = metadata->elements[0].n_children;
    OC_TRY(oci_parquet_arena_alloc(&schema->arena, schema->n_leaves, sizeof *schema->leaves, &made,
                                   err));
    schema->leaves = made;
    OC_TRY(oci_parquet_arena_alloc(&schema->arena, schema->n_nodes, sizeof *schema->nodes, &made,
                                   err));
    schema->nodes = made;
    oci_field *fields = calloc((size_t)schema->n_nodes + 1, sizeof *fields);
    if (fields == NULL) {
        return out_of_memory(&b);
    }
    oc_status status = build_fields(&b, fields);
    if (status != OC_OK) {
        free_fields(fields, schema->n_nodes);
        return status;
    }
    return finish_schema(metadata, fields, schema, err);
}

oc_status oci_parquet_schema_create(const oci_parquet_metadata *metadata, oci_mem *mem,
                                    oci_parquet_schema **out, oc_error *err)
{
    oci_parquet_arena arena = {.mem = mem};
    void *made;
    OC_TRY(oci_parquet_arena_alloc(&arena, 1, sizeof **out, &made, err));
    oci_parquet_schema *schema = made;
    schema->arena = arena;
    oc_status status = build(metadata, schema, err);
    if (status != OC_OK) {
        oci_parquet_schema_destroy(schema);
        return status;
    }
    *out = schema;
    return OC_OK;
}

void oci_parquet_schema_destroy(oci_parquet_schema *schema)
{
    if (schema != NULL) {
        oci_parquet_arena arena = schema->arena; /* it holds the struct too */
        oci_schema_release(schema->arrow);
        oci_schema_release(schema->working);
        oci_parquet_arena_free(&arena);
    }
}
