/* Random numbers of the system: all bytes asked for, different each time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"

static void fill(void *buf, int64_t size)
{
    const oci_random *random = oci_system_random();
    assert_int_equal(random->fill(random->self, buf, size), 0);
}

static void numbers_differ_from_call_to_call(void **state)
{
    (void)state;
    uint8_t first[16];
    uint8_t second[16];
    fill(first, 16);
    fill(second, 16);
    assert_memory_not_equal(first, second, 16);
}

/* One system call gives up to 256 bytes for certain. */
static void fills_to_the_last_byte_and_no_further(void **state)
{
    (void)state;
    enum { SIZE = 100000 };
    uint8_t *buf = malloc(SIZE);
    assert_non_null(buf);
    memset(buf, 0, SIZE);
    fill(buf, SIZE - 1);
    assert_int_equal(buf[SIZE - 1], 0);
    uint8_t tail = 0;
    for (int i = 2; i <= 17; i++) {
        tail |= buf[SIZE - i];
    }
    assert_int_not_equal(tail, 0); /* 16 bytes that are all zero: 1 in 2^128 */
    free(buf);
}

static void nothing_wanted_is_nothing_done(void **state)
{
    (void)state;
    uint8_t byte = 7;
    fill(&byte, 0);
    assert_int_equal(byte, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_differ_from_call_to_call),
        cmocka_unit_test(fills_to_the_last_byte_and_no_further),
        cmocka_unit_test(nothing_wanted_is_nothing_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
