/* The hash is a fixed function: what was written with it can be checked by another build. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"

static void known_values(void **state)
{
    (void)state;
    assert_true(oci_hash64("", 0, 0) == UINT64_C(0x2D06800538D394C2)); /* XXH3 of nothing */
    assert_true(oci_hash64(NULL, 0, 0) == oci_hash64("", 0, 0));
}

static void every_byte_and_the_seed_matter(void **state)
{
    (void)state;
    char text[300];
    for (int i = 0; i < 300; i++) {
        text[i] = (char)i;
    }
    uint64_t hash = oci_hash64(text, 300, 1);
    assert_true(hash == oci_hash64(text, 300, 1));
    assert_true(hash != oci_hash64(text, 300, 2));
    assert_true(hash != oci_hash64(text, 299, 1));
    for (int i = 0; i < 300; i++) {
        text[i] ^= 1;
        assert_true(hash != oci_hash64(text, 300, 1));
        text[i] ^= 1;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(every_byte_and_the_seed_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
