/* What is derived from an environment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/env.h"

static int64_t block_bytes_for(int64_t limit)
{
    oci_env env = {0};
    assert_int_equal(oci_budget_create(limit, NULL, &env.budget, NULL), OC_OK);
    int64_t bytes = oci_env_block_bytes(&env);
    oci_budget_destroy(env.budget);
    return bytes;
}

static void block_is_a_share_of_the_limit_within_bounds(void **state)
{
    (void)state;
    assert_int_equal(block_bytes_for(1), 16 * 1024);
    assert_int_equal(block_bytes_for(512 * 1024), 16 * 1024);
    assert_int_equal(block_bytes_for(4 << 20), 64 * 1024);
    assert_int_equal(block_bytes_for(64 << 20), 1 << 20);
    assert_int_equal(block_bytes_for(INT64_C(1) << 40), 1 << 20);
}

static void cancel_flag_is_seen(void **state)
{
    (void)state;
    atomic_bool cancel = false;
    oci_env env = {.cancel = &cancel};
    oc_error err = {0};
    assert_int_equal(oci_env_check_cancel(&env, &err), OC_OK);
    atomic_store(&cancel, true);
    assert_int_equal(oci_env_check_cancel(&env, &err), OC_ECANCELED);
    assert_int_equal(err.status, OC_ECANCELED);
    env.cancel = NULL; /* nobody can cancel */
    assert_int_equal(oci_env_check_cancel(&env, NULL), OC_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(block_is_a_share_of_the_limit_within_bounds),
        cmocka_unit_test(cancel_flag_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
