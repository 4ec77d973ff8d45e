/* See layout_walk.h. The table below is Columnar.rst of the Arrow format in code. */
#include "ipc/layout_walk.h"

#include <assert.h>

static oci_node_shape shape(oci_buffer_kind second)
{
    return (oci_node_shape){.n_buffers = 2, .buffers = {OCI_BUFFER_VALIDITY, second}};
}

static oci_node_shape shape3(oci_buffer_kind second, oci_buffer_kind third)
{
    return (oci_node_shape){.n_buffers = 3, .buffers = {OCI_BUFFER_VALIDITY, second, third}};
}

/* As in V5, where unions have no validity. */
static oci_node_shape shape_of_layout(oci_layout layout)
{
    oci_node_shape views = shape(OCI_BUFFER_VIEWS);
    switch (layout) {
    case OCI_LAYOUT_NULL:
    case OCI_LAYOUT_RUN_ENDS: return (oci_node_shape){0};
    case OCI_LAYOUT_BITS: return shape(OCI_BUFFER_BITS);
    case OCI_LAYOUT_FIXED:
    case OCI_LAYOUT_DICTIONARY: return shape(OCI_BUFFER_FIXED);
    case OCI_LAYOUT_OFFSETS32: return shape3(OCI_BUFFER_INT32, OCI_BUFFER_BYTES);
    case OCI_LAYOUT_OFFSETS64: return shape3(OCI_BUFFER_INT64, OCI_BUFFER_BYTES);
    case OCI_LAYOUT_VIEWS: views.has_views = true; return views;
    case OCI_LAYOUT_LIST32: return shape(OCI_BUFFER_INT32);
    case OCI_LAYOUT_LIST64: return shape(OCI_BUFFER_INT64);
    case OCI_LAYOUT_LIST_VIEW32: return shape3(OCI_BUFFER_INT32, OCI_BUFFER_INT32);
    case OCI_LAYOUT_LIST_VIEW64: return shape3(OCI_BUFFER_INT64, OCI_BUFFER_INT64);
    case OCI_LAYOUT_FIXED_LIST:
    case OCI_LAYOUT_STRUCT:
        return (oci_node_shape){.n_buffers = 1, .buffers = {OCI_BUFFER_VALIDITY}};
    case OCI_LAYOUT_SPARSE_UNION:
        return (oci_node_shape){.n_buffers = 1, .buffers = {OCI_BUFFER_TYPE_IDS}};
    case OCI_LAYOUT_DENSE_UNION:
        return (oci_node_shape){.n_buffers = 2, .buffers = {OCI_BUFFER_TYPE_IDS, OCI_BUFFER_INT32}};
    case OCI_LAYOUT_UNKNOWN: break;
    }
    assert(!"no type has this layout");
    return (oci_node_shape){0};
}

oci_node_shape oci_node_shape_of(const oci_field *field, int version)
{
    oci_layout layout = oci_field_layout(field);
    oci_node_shape node = shape_of_layout(layout);
    bool has_validity = node.n_buffers > 0 && node.buffers[0] == OCI_BUFFER_VALIDITY;
    if (version < OCI_IPC_V5 && !has_validity && layout != OCI_LAYOUT_NULL) {
        for (int32_t i = node.n_buffers++; i > 0; i--) {
            node.buffers[i] = node.buffers[i - 1];
        }
        node.buffers[0] = OCI_BUFFER_VALIDITY;
    }
    return node;
}

/* Dictionary fields in the type of a dictionary's values. */
static int64_t count_dictionaries(const oci_field *field)
{
    int64_t n = 0;
    if (field->dictionary != NULL) {
        n = 1 + count_dictionaries(field->dictionary);
    }
    for (int32_t i = 0; i < field->n_children; i++) {
        n += count_dictionaries(&field->children[i]);
    }
    return n;
}

void oci_field_add_shape(const oci_field *field, int version, oci_tree_shape *sum)
{
    oci_node_shape node = oci_node_shape_of(field, version);
    sum->n_nodes++;
    sum->n_buffers += node.n_buffers;
    sum->n_variadic += node.has_views;
    if (field->dictionary != NULL) {
        sum->n_dictionaries += 1 + count_dictionaries(field->dictionary);
    }
    for (int32_t i = 0; i < field->n_children; i++) {
        oci_field_add_shape(&field->children[i], version, sum);
    }
}

oci_tree_shape oci_schema_shape(const oci_schema *schema, int version)
{
    oci_tree_shape sum = {0};
    for (int32_t i = 0; i < schema->n_fields; i++) {
        oci_field_add_shape(&schema->fields[i], version, &sum);
    }
    return sum;
}
