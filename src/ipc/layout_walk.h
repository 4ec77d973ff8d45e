/* What a column looks like in a message: how many nodes, buffers and counts of view buffers its
 * tree has, and what lies in each buffer.
 *
 * A message lists nodes and buffers of all columns in one row; only the schema says which is whose.
 * The order is that of the tree, depth first: a node, its buffers (view buffers right behind the
 * views), then its children in their order. One variadic count stands for each view column of the
 * tree, in the same order. The values of a dictionary are no part of it: they have messages of
 * their own. So a reader that walks fields and children and takes what oci_node_shape_of() says at
 * each has the whole format.
 *
 * Depth is limited where schemas are made (OCI_NESTING_MAX), so callers may recurse. */
#ifndef OUTCORE_IPC_LAYOUT_WALK_H
#define OUTCORE_IPC_LAYOUT_WALK_H

#include "arrow/schema.h"

/* MetadataVersion of a message, as people say it. */
#define OCI_IPC_V4 4
#define OCI_IPC_V5 5

/* What a buffer is made of, which is what byte order matters for. */
typedef enum oci_buffer_kind {
    OCI_BUFFER_VALIDITY, /* bits */
    OCI_BUFFER_BITS,     /* values of 1 bit */
    OCI_BUFFER_FIXED,    /* values of field->byte_width bytes; what they are the type says */
    OCI_BUFFER_INT32,    /* offsets or sizes */
    OCI_BUFFER_INT64,
    OCI_BUFFER_TYPE_IDS, /* int8 */
    OCI_BUFFER_VIEWS,    /* 16 bytes each; the column's view buffers follow */
    OCI_BUFFER_BYTES
} oci_buffer_kind;

#define OCI_NODE_BUFFERS_MAX 3

/* What one node has, without its children. */
typedef struct oci_node_shape {
    int32_t n_buffers; /* without view buffers */
    oci_buffer_kind buffers[OCI_NODE_BUFFERS_MAX];
    bool has_views; /* has a variadic count, and as many buffers more */
} oci_node_shape;

/* `version` of the message: in V4 unions and run-end encoded columns have a validity buffer in front,
 * which means nothing. */
oci_node_shape oci_node_shape_of(const oci_field *field, int version);

/* Sums over a field and all its children. */
typedef struct oci_tree_shape {
    int64_t n_nodes;
    int64_t n_buffers; /* without view buffers */
    int64_t n_variadic;
    int64_t n_dictionaries; /* dictionary fields, also those in the values of dictionaries */
} oci_tree_shape;

/* Adds those of `field` to *sum. */
void oci_field_add_shape(const oci_field *field, int version, oci_tree_shape *sum);
oci_tree_shape oci_schema_shape(const oci_schema *schema, int version);

#endif /* OUTCORE_IPC_LAYOUT_WALK_H */
