/* The treap against a sorted array: same order, same neighbours, whatever is inserted and
 * removed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/extent_tree.h"

enum { N_NODES = 300 };

static oci_extent nodes[N_NODES];
static bool inside[N_NODES];

static unsigned next_random(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static bool comes_before(oci_extent_order order, const oci_extent *a, int64_t key, int64_t start)
{
    if (order == OCI_BY_START) {
        return a->start < key;
    }
    return a->size < key || (a->size == key && a->start < start);
}

static int64_t key_of(oci_extent_order order, const oci_extent *a)
{
    return order == OCI_BY_START ? a->start : a->size;
}

/* What the tree should answer, found by looking at every node. */
static oci_extent *scan(oci_extent_order order, int64_t key, int64_t start, bool below)
{
    oci_extent *best = NULL;
    for (int i = 0; i < N_NODES; i++) {
        oci_extent *at = &nodes[i];
        if (!inside[i] || comes_before(order, at, key, start) != below) {
            continue;
        }
        if (best == NULL || comes_before(order, at, key_of(order, best), best->start) == !below) {
            best = at;
        }
    }
    return best;
}

static void check_answers(const oci_extent_tree *tree, unsigned *seed)
{
    int64_t key = next_random(seed) % 400;
    int64_t start = next_random(seed) % 400;
    assert_ptr_equal(oci_extent_at_least(tree, key, start), scan(tree->order, key, start, false));
    assert_ptr_equal(oci_extent_below(tree, key, start), scan(tree->order, key, start, true));
    assert_ptr_equal(oci_extent_last(tree), scan(tree->order, INT64_MAX, 0, true));
}

static void check_heap_order(const oci_extent_tree *tree, const oci_extent *at, int depth)
{
    assert_true(depth < 64);
    if (at == NULL) {
        return;
    }
    const oci_extent *children[2] = {at->left[tree->order], at->right[tree->order]};
    for (int i = 0; i < 2; i++) {
        assert_true(children[i] == NULL || children[i]->priority <= at->priority);
        check_heap_order(tree, children[i], depth + 1);
    }
}

static void check_order(oci_extent_order order)
{
    unsigned seed = 7;
    oci_extent_tree tree = {.order = order};
    memset(inside, 0, sizeof inside);
    for (int i = 0; i < N_NODES; i++) {
        nodes[i] = (oci_extent){.start = i,
                                .size = (int64_t)(next_random(&seed) % 40) * 10,
                                .priority = next_random(&seed) % 50 + 1};
    }
    for (int round = 0; round < 5000; round++) {
        int i = (int)(next_random(&seed) % N_NODES);
        if (inside[i]) {
            oci_extent_remove(&tree, &nodes[i]);
        } else {
            oci_extent_insert(&tree, &nodes[i]);
        }
        inside[i] = !inside[i];
        check_answers(&tree, &seed);
        check_heap_order(&tree, tree.root, 0);
    }
}

static void order_by_start_equals_a_scan(void **state)
{
    (void)state;
    check_order(OCI_BY_START);
}

static void order_by_size_equals_a_scan(void **state)
{
    (void)state;
    check_order(OCI_BY_SIZE);
}

static void empty_tree_has_no_answers(void **state)
{
    (void)state;
    oci_extent_tree tree = {.order = OCI_BY_SIZE};
    assert_null(oci_extent_at_least(&tree, 0, 0));
    assert_null(oci_extent_below(&tree, INT64_MAX, 0));
    assert_null(oci_extent_last(&tree));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_by_start_equals_a_scan),
        cmocka_unit_test(order_by_size_equals_a_scan),
        cmocka_unit_test(empty_tree_has_no_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
