/* Error records: what a message looks like when it is built, cut and prefixed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/error.h"

static void set_fills_the_record_and_returns_the_status(void **state)
{
    (void)state;
    oc_error err = {.needed_bytes = 7};
    assert_int_equal(OC_SET_ERRNO(&err, OC_EIO, ENOENT, "could not open \"%s\"", "x"), OC_EIO);
    assert_int_equal(err.status, OC_EIO);
    assert_int_equal(err.sys_errno, ENOENT);
    assert_string_equal(err.message, "could not open \"x\"");
    assert_non_null(strstr(err.file, "error_test.c"));
    assert_true(err.line > 0);
    assert_int_equal(err.needed_bytes, 0);
    oci_error_clear(&err);
    assert_int_equal(err.status, OC_OK);
    assert_string_equal(err.message, "");
}

static void null_record_is_fine(void **state)
{
    (void)state;
    assert_int_equal(OC_SET(NULL, OC_EDATA, "%d", 1), OC_EDATA);
    oci_error_prefix(NULL, "x");
    oci_error_clear(NULL);
}

static void message_may_quote_the_record_itself(void **state)
{
    (void)state;
    oc_error err = {0};
    OC_SET(&err, OC_EDATA, "inner");
    OC_SET(&err, OC_EIO, "outer (%s)", err.message);
    assert_string_equal(err.message, "outer (inner)");
    oci_error_prefix(&err, "batch %d of \"%s\"", 3, err.message);
    assert_string_equal(err.message, "batch 3 of \"outer (inner)\": outer (inner)");
    assert_int_equal(err.status, OC_EIO);
}

/* Two-byte characters behind 0 or 1 other byte: the cut falls between two of them or inside one. */
static void long_message_is_cut_between_characters(void **state)
{
    (void)state;
    for (size_t lead = 0; lead < 2; lead++) {
        char text[2100] = "x";
        for (size_t i = lead; i + 2 < sizeof text; i += 2) {
            memcpy(text + i, "\xC3\xA9", 3);
        }
        oc_error err = {0};
        OC_SET(&err, OC_EDATA, "%s", text);
        size_t length = strlen(err.message);
        assert_int_equal(length, lead == 0 ? 1022 : 1023);
        assert_int_equal((unsigned char)err.message[length - 1], 0xA9);
    }
}

static void long_prefix_keeps_whole_characters(void **state)
{
    (void)state;
    char text[1100];
    memset(text, 'a', sizeof text);
    text[1099] = '\0';
    oc_error err = {0};
    OC_SET(&err, OC_EDATA, "%s", "\xF0\x9F\x98\x80");
    oci_error_prefix(&err, "%.1019s", text);
    assert_int_equal(strlen(err.message), 1021); /* ": " fits, the character of 4 bytes does not */
    oci_error_prefix(&err, "%s", text);
    assert_int_equal(strlen(err.message), 1023);
}

static void message_is_one_line(void **state)
{
    (void)state;
    oc_error err = {0};
    OC_SET(&err, OC_EIO, "could not open \"%s\"", "a\nb\x1b[31m\x7f");
    assert_string_equal(err.message, "could not open \"a?b?[31m?\"");
}

static oc_status forward(oc_status given)
{
    OC_TRY(given);
    return OC_EINTERNAL;
}

static oc_status jump(oc_status given, int *cleaned)
{
    oc_status status = OC_OK;
    OC_GOTO(given);
    status = OC_EINTERNAL;
done:
    (*cleaned)++;
    return status;
}

static void macros_forward_the_first_failure(void **state)
{
    (void)state;
    int cleaned = 0;
    assert_int_equal(forward(OC_EIO), OC_EIO);
    assert_int_equal(forward(OC_OK), OC_EINTERNAL);
    assert_int_equal(jump(OC_EIO, &cleaned), OC_EIO);
    assert_int_equal(jump(OC_OK, &cleaned), OC_EINTERNAL);
    assert_int_equal(cleaned, 2);
}

static void every_status_has_a_name_and_an_errno(void **state)
{
    (void)state;
    assert_string_equal(oc_status_name(OC_OK), "OC_OK");
    assert_string_equal(oc_status_name(OC_EBUDGET), "OC_EBUDGET");
    assert_string_equal(oc_status_name(OC_EINTERNAL), "OC_EINTERNAL");
    assert_string_equal(oc_status_name((oc_status)99), "OC_UNKNOWN");
    assert_int_equal(oc_status_errno(OC_OK), 0);
    assert_int_equal(oc_status_errno((oc_status)99), EIO);
    static const int expected[] = {0,      EINVAL, EINVAL, ENOTSUP,   ENOMEM, ENOMEM,
                                   ENOSPC, EIO,    EIO,    ECANCELED, EIO};
    for (int status = OC_OK; status <= OC_EINTERNAL; status++) {
        assert_int_equal(strncmp(oc_status_name((oc_status)status), "OC_", 3), 0);
        assert_int_equal(oc_status_errno((oc_status)status), expected[status]);
    }
}

static void strerror_is_never_null(void **state)
{
    (void)state;
    char buffer[64];
    assert_non_null(oci_strerror(ENOENT, buffer, sizeof buffer));
    assert_non_null(oci_strerror(123456, buffer, sizeof buffer));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_fills_the_record_and_returns_the_status),
        cmocka_unit_test(null_record_is_fine),
        cmocka_unit_test(message_may_quote_the_record_itself),
        cmocka_unit_test(long_message_is_cut_between_characters),
        cmocka_unit_test(long_prefix_keeps_whole_characters),
        cmocka_unit_test(message_is_one_line),
        cmocka_unit_test(macros_forward_the_first_failure),
        cmocka_unit_test(every_status_has_a_name_and_an_errno),
        cmocka_unit_test(strerror_is_never_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
