#include "ipc/base64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void check_base64(const char *plain, const char *expected)
{
    oci_bytes text;
    oci_bytes back;
    int64_t size = (int64_t)strlen(plain);
    assert_int_equal(oci_base64_encode((const uint8_t *)plain, size, &text, NULL), OC_OK);
    assert_int_equal(text.size, strlen(expected));
    assert_memory_equal(text.data, expected, strlen(expected));
    assert_int_equal(oci_base64_decode(expected, text.size, &back, NULL), OC_OK);
    assert_int_equal(back.size, size);
    assert_memory_equal(back.data, plain, (size_t)size);
    free(text.data);
    free(back.data);
}

static void base64_is_that_of_the_standard(void **state)
{
    (void)state;
    /* RFC 4648, section 10. */
    check_base64("", "");
    check_base64("f", "Zg==");
    check_base64("fo", "Zm8=");
    check_base64("foo", "Zm9v");
    check_base64("foob", "Zm9vYg==");
    check_base64("fooba", "Zm9vYmE=");
    check_base64("foobar", "Zm9vYmFy");
    check_base64("\xff\xfe\xfb", "//77");
}

static void what_is_no_base64_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"Z",    "Zg=",  "Zg",   "Zm9v\n",
                                      "Zm 9", "Z===", "====", "Zm9v=Zg="};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        oci_bytes back = {0};
        oc_error err = {0};
        assert_int_equal(oci_base64_decode(bad[i], (int64_t)strlen(bad[i]), &back, &err), OC_EDATA);
        assert_non_null(strstr(err.message, "base64"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(base64_is_that_of_the_standard),
        cmocka_unit_test(what_is_no_base64_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
