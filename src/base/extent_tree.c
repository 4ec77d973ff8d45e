/* Treaps over extents. See extent_tree.h.
 *
 * A treap is a search tree by key and a heap by priority at once. Inserting cuts the subtree
 * below the place of the new node in two by its key (split_below); removing joins the two
 * subtrees of the node (join). Both walk down only, with a pointer to the link that is to be
 * filled next, so nothing recurses. */
#include "base/extent_tree.h"

#include <assert.h>

/* Whether `node` comes before the key in the order of the tree. */
static bool is_below(const oci_extent_tree *tree, const oci_extent *node, int64_t key,
                     int64_t start)
{
    if (tree->order == OCI_BY_START) {
        return node->start < key;
    }
    return node->size != key ? node->size < key : node->start < start;
}

static int64_t key_of(const oci_extent_tree *tree, const oci_extent *node)
{
    return tree->order == OCI_BY_START ? node->start : node->size;
}

/* Hangs everything of `from` that is below `node` on its left, the rest on its right. */
static void split_around(const oci_extent_tree *tree, oci_extent *from, oci_extent *node)
{
    oci_extent_order order = tree->order;
    int64_t key = key_of(tree, node);
    oci_extent **low = &node->left[order];
    oci_extent **high = &node->right[order];
    while (from != NULL) {
        if (is_below(tree, from, key, node->start)) {
            *low = from;
            low = &from->right[order];
            from = *low;
        } else {
            *high = from;
            high = &from->left[order];
            from = *high;
        }
    }
    *low = NULL;
    *high = NULL;
}

void oci_extent_insert(oci_extent_tree *tree, oci_extent *node)
{
    oci_extent_order order = tree->order;
    int64_t key = key_of(tree, node);
    oci_extent **link = &tree->root;
    while (*link != NULL && (*link)->priority >= node->priority) {
        oci_extent *at = *link;
        link = is_below(tree, at, key, node->start) ? &at->right[order] : &at->left[order];
    }
    split_around(tree, *link, node);
    *link = node;
}

void oci_extent_remove(oci_extent_tree *tree, oci_extent *node)
{
    oci_extent_order order = tree->order;
    int64_t key = key_of(tree, node);
    oci_extent **link = &tree->root;
    while (*link != node) {
        assert(*link != NULL);
        link = is_below(tree, *link, key, node->start) ? &(*link)->right[order]
                                                       : &(*link)->left[order];
    }
    oci_extent *low = node->left[order];
    oci_extent *high = node->right[order];
    while (low != NULL && high != NULL) {
        if (low->priority >= high->priority) {
            *link = low;
            link = &low->right[order];
            low = *link;
        } else {
            *link = high;
            link = &high->left[order];
            high = *link;
        }
    }
    *link = low != NULL ? low : high;
}

oci_extent *oci_extent_at_least(const oci_extent_tree *tree, int64_t key, int64_t start)
{
    oci_extent *best = NULL;
    for (oci_extent *at = tree->root; at != NULL;) {
        if (is_below(tree, at, key, start)) {
            at = at->right[tree->order];
        } else {
            best = at;
            at = at->left[tree->order];
        }
    }
    return best;
}

oci_extent *oci_extent_below(const oci_extent_tree *tree, int64_t key, int64_t start)
{
    oci_extent *best = NULL;
    for (oci_extent *at = tree->root; at != NULL;) {
        if (is_below(tree, at, key, start)) {
            best = at;
            at = at->right[tree->order];
        } else {
            at = at->left[tree->order];
        }
    }
    return best;
}

oci_extent *oci_extent_last(const oci_extent_tree *tree)
{
    oci_extent *at = tree->root;
    while (at != NULL && at->right[tree->order] != NULL) {
        at = at->right[tree->order];
    }
    return at;
}
