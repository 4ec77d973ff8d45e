/* The store of byte strings: strings keep their bytes while others go, groups are renumbered and gaps are closed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "ops/aggregate/byte_store.h"

#define GROUPS 3000
#define LONG   3000

typedef struct owner {
    oci_byte_store store;
    oci_byte_ref refs[GROUPS];
    int64_t sizes[GROUPS]; /* -1 = no string */
    uint8_t fill[GROUPS];
    int64_t moves;
} owner;

static owner o;

static void moved(void *arg, uint32_t group, oci_byte_ref ref)
{
    owner *self = arg;
    self->refs[group] = ref;
    self->moves++;
}

static oci_budget *set_up(int64_t limit, oci_mem **mem)
{
    oci_budget *budget;
    memset(&o, 0, sizeof o);
    memset(o.sizes, 0xFF, sizeof o.sizes);
    assert_int_equal(oci_budget_create(limit, NULL, &budget, NULL), OC_OK);
    assert_int_equal(oci_mem_open(budget, "test", mem, NULL), OC_OK);
    oci_byte_store_init(&o.store, *mem);
    return budget;
}

static void tear_down(oci_budget *budget, oci_mem *mem)
{
    oci_byte_store_clear(&o.store);
    assert_int_equal(oci_mem_held(mem), 0);
    oci_mem_close(mem);
    oci_budget_destroy(budget);
}

static oc_status put(uint32_t group, int64_t size, uint8_t fill)
{
    uint8_t bytes[LONG];
    memset(bytes, fill, sizeof bytes);
    oc_status status = oci_byte_store_reserve(&o.store, 1, size, moved, &o);
    if (status != OC_OK) {
        return status;
    }
    if (o.sizes[group] >= 0) {
        oci_byte_store_drop(&o.store, o.refs[group]);
    }
    o.refs[group] = oci_byte_store_add(&o.store, group, bytes, size);
    o.sizes[group] = size;
    o.fill[group] = fill;
    return OC_OK;
}

static void check_all(int64_t n)
{
    for (int64_t g = 0; g < n; g++) {
        for (int64_t i = 0; i < o.sizes[g]; i++) {
            assert_int_equal(oci_byte_store_at(&o.store, o.refs[g])[i], o.fill[g]);
        }
    }
}

static void strings_that_are_replaced_again_and_again_take_bounded_memory(void **state)
{
    (void)state;
    oci_mem *mem;
    oci_budget *budget = set_up(16 << 20, &mem);
    for (int round = 0; round < 30; round++) {
        for (uint32_t g = 0; g < GROUPS; g++) {
            assert_int_equal(put(g, (g * 37 + (uint32_t)round * 11) % 400, (uint8_t)(g + round)),
                             OC_OK);
        }
        check_all(GROUPS);
    }
    assert_true(oci_mem_held(mem) < 2 * GROUPS * 216 + (1 << 20));
    tear_down(budget, mem);
}

static void gaps_are_closed_and_their_memory_given_back(void **state)
{
    (void)state;
    oci_mem *mem;
    oci_budget *budget = set_up(16 << 20, &mem);
    for (uint32_t g = 0; g < GROUPS; g++) {
        assert_int_equal(put(g, 100 + g % LONG / 2, (uint8_t)g), OC_OK);
    }
    int64_t before = oci_mem_held(mem);
    /* Every third stays, in other places. */
    oci_byte_store_disown(&o.store);
    int64_t n = 0;
    for (int64_t g = GROUPS - 1; g >= 0; g -= 3, n++) {
        int64_t from = g > n ? g : n;
        o.refs[n] = o.refs[from];
        o.sizes[n] = o.sizes[from];
        o.fill[n] = o.fill[from];
        oci_byte_store_claim(&o.store, o.refs[n], (uint32_t)n);
        if (g <= n) {
            n++;
            break;
        }
    }
    oci_byte_store_pack(&o.store, moved, &o);
    check_all(n);
    assert_true(o.moves > 0);
    assert_true(oci_mem_held(mem) < before / 2);
    assert_int_equal(put(0, LONG, 7), OC_OK);
    check_all(n);
    tear_down(budget, mem);
}

static void a_refusal_loses_nothing(void **state)
{
    (void)state;
    oci_mem *mem;
    oci_budget *budget = set_up(1 << 20, &mem);
    uint32_t g = 0;
    while (put(g, 1000, (uint8_t)g) == OC_OK) {
        g++;
    }
    assert_in_range(g, 500, 1048);
    check_all(g);
    tear_down(budget, mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_that_are_replaced_again_and_again_take_bounded_memory),
        cmocka_unit_test(gaps_are_closed_and_their_memory_given_back),
        cmocka_unit_test(a_refusal_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
