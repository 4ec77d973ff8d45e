/* Operators that wait for memory: for other queries, never for those that stand still meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "ops/share.h"

#define MIB ((int64_t)1 << 20)

typedef struct fixture {
    oci_env env;
    atomic_bool cancel;
    oci_spill_manager *manager;
} fixture;

static int set_up(void **state)
{
    static fixture f;
    memset(&f, 0, sizeof f);
    f.env = (oci_env){.io = oci_posix_io(), .clock = oci_system_clock(), .cancel = &f.cancel};
    assert_int_equal(oci_budget_create(MIB, NULL, &f.env.budget, NULL), OC_OK);
    const char *folder = "/tmp";
    oci_spill_settings settings = {.folders = &folder, .n_folders = 1};
    assert_int_equal(oci_spill_manager_create(f.env.io, &settings, &f.manager, NULL), OC_OK);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    assert_int_equal(atomic_load(&f->manager->operators), 0);
    assert_int_equal(atomic_load(&f->manager->queries), 0);
    oci_spill_manager_release(f->manager);
    oci_budget_destroy(f->env.budget);
    return 0;
}

static oc_status wait_once(const fixture *f)
{
    int64_t seen = 0;
    int steps = 0;
    return oci_share_wait(&f->env, f->manager, &seen, &steps, NULL);
}

/* A sort above a group: the group gives memory back when it is asked, not while the sort waits. */
static void nobody_waits_for_its_own_input(void **state)
{
    fixture *f = *state;
    oci_share_entry sort = {0};
    oci_share_entry group = {0};
    oci_share_enter_call();
    oci_share_join(f->manager, &sort);
    oci_share_enter_call();
    oci_share_join(f->manager, &group);
    assert_int_equal(wait_once(f), OC_EBUDGET);
    oci_share_leave_call();
    assert_int_equal(wait_once(f), OC_EBUDGET);
    assert_int_equal(oci_share_of(&f->env, f->manager), MIB / 2);
    oci_share_leave(f->manager, &sort);
    oci_share_leave(f->manager, &group);
    oci_share_leave_call();
}

static void other_queries_are_waited_for(void **state)
{
    fixture *f = *state;
    oci_share_entry entries[2] = {{0}};
    for (int i = 0; i < 2; i++) {
        oci_share_enter_call();
        oci_share_join(f->manager, &entries[i]);
        oci_share_leave_call();
    }
    assert_int_equal(wait_once(f), OC_OK);
    oci_share_leave(f->manager, &entries[0]);
    assert_int_equal(wait_once(f), OC_EBUDGET);
    oci_share_leave(f->manager, &entries[0]);
    oci_share_leave(f->manager, &entries[1]);
}

/* An operator that gives memory back when it is asked. */
typedef struct giver {
    oci_mem *mem;
    oci_reservation space;
    int64_t asked_for;
    int calls;
} giver;

static int64_t giver_held(void *self)
{
    return ((giver *)self)->space.bytes;
}

static int64_t giver_reclaim(void *self, int64_t bytes)
{
    giver *g = self;
    int64_t left = g->space.bytes > bytes ? g->space.bytes - bytes : 0;
    int64_t given = g->space.bytes - left;
    g->asked_for = bytes;
    g->calls++;
    assert_int_equal(oci_mem_try_reserve(g->mem, &g->space, left, NULL), OC_OK);
    return given;
}

static void others_are_asked_for_more_each_time_and_at_last_for_everything(void **state)
{
    fixture *f = *state;
    giver other = {.calls = 0};
    oci_reclaimer reclaimer = {giver_held, giver_reclaim, &other, NULL, 0, 0};
    oci_share_patience patience = {0};
    oci_share_entry entries[2] = {{0}};
    oci_mem *mem;
    assert_int_equal(oci_mem_open(f->env.budget, "mine", &mem, NULL), OC_OK);
    assert_int_equal(oci_mem_open(f->env.budget, "other", &other.mem, NULL), OC_OK);
    assert_int_equal(oci_mem_reserve(other.mem, &other.space, MIB, NULL), OC_OK);
    oci_budget_register(f->env.budget, &reclaimer);

    oci_share_join(f->manager, &entries[0]);
    assert_false(oci_share_ask(&f->env, f->manager, mem, 0, &patience)); /* there is nobody */
    oci_share_join(f->manager, &entries[1]);
    int64_t got = 0;
    for (int i = 0; i < 3; i++) {
        assert_true(oci_share_ask(&f->env, f->manager, mem, 0, &patience));
        assert_true(oci_mem_available(mem) > got);
        got = oci_mem_available(mem);
        assert_true(got <= MIB / 2); /* our share */
    }
    assert_int_equal(got, MIB / 2);
    assert_false(oci_share_ask(&f->env, f->manager, mem, 0, &patience));
    assert_true(oci_share_beg(&f->env, mem, &patience));
    assert_int_equal(oci_mem_available(mem), MIB);
    int calls = other.calls;
    assert_false(oci_share_beg(&f->env, mem, &patience));
    assert_int_equal(other.calls, calls);

    oci_budget_unregister(f->env.budget, &reclaimer);
    oci_share_leave(f->manager, &entries[0]);
    oci_share_leave(f->manager, &entries[1]);
    oci_reservation_release(&other.space);
    oci_mem_close(mem);
    oci_mem_close(other.mem);
}

static void who_has_its_share_asks_for_nothing(void **state)
{
    fixture *f = *state;
    oci_share_patience patience = {0};
    oci_share_entry entries[2] = {{0}};
    oci_mem *mem;
    assert_int_equal(oci_mem_open(f->env.budget, "mine", &mem, NULL), OC_OK);
    oci_reservation space = {.mem = mem};
    oci_share_join(f->manager, &entries[0]);
    oci_share_join(f->manager, &entries[1]);
    assert_int_equal(oci_mem_reserve(mem, &space, MIB / 2, NULL), OC_OK);
    assert_false(oci_share_ask(&f->env, f->manager, mem, 0, &patience));
    oci_reservation_release(&space);
    assert_true(oci_share_ask(&f->env, f->manager, mem, 0, &patience));
    oci_share_leave(f->manager, &entries[0]);
    oci_share_leave(f->manager, &entries[1]);
    oci_mem_close(mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nobody_waits_for_its_own_input, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            others_are_asked_for_more_each_time_and_at_last_for_everything, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_has_its_share_asks_for_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_queries_are_waited_for, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
