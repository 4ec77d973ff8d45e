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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nobody_waits_for_its_own_input, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_queries_are_waited_for, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
