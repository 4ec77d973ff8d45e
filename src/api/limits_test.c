/* Unit tests of what the system says it has. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/limits.h"

static void the_default_limit_is_part_of_the_memory(void **state)
{
    (void)state;
    int64_t physical = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    int64_t limit = oci_default_memory_limit();
    assert_true(limit > 0);
    assert_true(limit <= physical / 100 * 80);
    assert_int_equal(limit, oci_default_memory_limit());
}

static void cores_are_those_the_process_may_use(void **state)
{
    (void)state;
    int32_t all = oci_core_count();
    assert_true(all >= 1);
    cpu_set_t before;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    int first = 0;
    while (!CPU_ISSET(first, &before)) {
        first++;
    }
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(oci_core_count(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_int_equal(oci_core_count(), all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_limit_is_part_of_the_memory),
        cmocka_unit_test(cores_are_those_the_process_may_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
