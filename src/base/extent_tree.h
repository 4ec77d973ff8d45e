/* Ordered sets of free pieces of an arena: two treaps threaded through the same nodes.
 *
 * Each piece is in the address tree (to find its neighbours) and in one of two size trees (to
 * find the best fit among resident or non-resident pieces). A treap keeps itself balanced in
 * expectation by random priorities; every operation is O(log n). Nodes are the caller's; the
 * trees allocate nothing and cannot fail. Not thread-safe. */
#ifndef OUTCORE_BASE_EXTENT_TREE_H
#define OUTCORE_BASE_EXTENT_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum oci_extent_order {
    OCI_BY_START, /* ascending start */
    OCI_BY_SIZE,  /* ascending size, ascending start among equals */
    OCI_EXTENT_ORDERS
} oci_extent_order;

typedef struct oci_extent {
    int64_t start; /* bytes from the start of the arena */
    int64_t size;
    bool resident;
    uint32_t priority; /* of the heap order, the same in both trees; never 0 */
    struct oci_extent *left[OCI_EXTENT_ORDERS];
    struct oci_extent *right[OCI_EXTENT_ORDERS];
} oci_extent;

typedef struct oci_extent_tree {
    oci_extent *root;
    oci_extent_order order;
} oci_extent_tree;

/* `node` must not be in the tree, and no node with the same key either. */
void oci_extent_insert(oci_extent_tree *tree, oci_extent *node);
/* `node` must be in the tree, with the key it was inserted with. */
void oci_extent_remove(oci_extent_tree *tree, oci_extent *node);
/* The first node that is not below the key: start for OCI_BY_START, (size, start) for
 * OCI_BY_SIZE. NULL when none. */
oci_extent *oci_extent_at_least(const oci_extent_tree *tree, int64_t key, int64_t start);
/* The last node below the key. NULL when none. */
oci_extent *oci_extent_below(const oci_extent_tree *tree, int64_t key, int64_t start);
/* The last node of all: the largest, for OCI_BY_SIZE. NULL when the tree is empty. */
oci_extent *oci_extent_last(const oci_extent_tree *tree);

#endif /* OUTCORE_BASE_EXTENT_TREE_H */
