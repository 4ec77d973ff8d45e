/* Sizes in words, and the growing string. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <string.h>

#include "base/text.h"

static const char *format(int64_t bytes)
{
    static char text[OCI_BYTES_TEXT];
    return oci_format_bytes(bytes, text);
}

static const char *format_up(int64_t bytes)
{
    static char text[OCI_BYTES_TEXT];
    return oci_format_bytes_up(bytes, text);
}

static void byte_counts_read_well(void **state)
{
    (void)state;
    assert_string_equal(format(0), "0 bytes");
    assert_string_equal(format(1), "1 byte");
    assert_string_equal(format(1023), "1023 bytes");
    assert_string_equal(format(1024), "1.0 KiB");
    assert_string_equal(format(1536), "1.5 KiB");
    assert_string_equal(format(12897485), "12.3 MiB");
    assert_string_equal(format(1048575), "1.0 MiB"); /* not 1024.0 KiB */
    assert_string_equal(format(INT64_C(5) << 40), "5.0 TiB");
    assert_string_equal(format(INT64_MAX), "8.0 EiB");
    assert_string_equal(format_up(INT64_MAX), "8.0 EiB");
    assert_string_equal(format_up(1024), "1.0 KiB");
    assert_string_equal(format_up(1025), "1.1 KiB");
    assert_string_equal(format_up(1048576 + 1), "1.1 MiB");
}

static void byte_counts_ignore_the_locale(void **state)
{
    (void)state;
    (void)setlocale(LC_ALL, "de_DE.UTF-8"); /* no matter when it is not installed */
    int64_t bytes = 0;
    assert_string_equal(format(1536), "1.5 KiB");
    assert_int_equal(oci_parse_size("1.5k", &bytes, NULL), OC_OK);
    assert_int_equal(bytes, 1536);
    (void)setlocale(LC_ALL, "C");
}

static void sizes_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t bytes;
    } cases[] = {
        {"0", 0},
        {"4096", 4096},
        {"4096b", 4096},
        {"64m", 64 << 20},
        {"64M", 64 << 20},
        {"64MB", 64 << 20},
        {"64MiB", 64 << 20},
        {"64 mib", 64 << 20},
        {"1.5g", INT64_C(3) << 29},
        {"2GiB", INT64_C(2) << 30},
        {"0.5k", 512},
        {"0.1k", 102},
        {"3t", INT64_C(3) << 40},
        {"1.0", 1},
        {"1.0000000001k", 1024},
        {"9223372036854775807", INT64_MAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t bytes = -1;
        oc_error err = {0};
        if (oci_parse_size(cases[i].text, &bytes, &err) != OC_OK) {
            fail_msg("%s", err.message);
        }
        assert_true(bytes == cases[i].bytes);
    }
}

static void bad_sizes_are_refused_with_a_reason(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *reason;
    } cases[] = {
        {"", "not a number of bytes"},
        {"m", "not a number of bytes"},
        {"-1", "not a number of bytes"},
        {" 1", "not a number of bytes"},
        {"1.", "not a number of bytes"},
        {".5g", "not a number of bytes"},
        {"12q", "unknown unit \"q\""},
        {"12mm", "unknown unit \"mm\""},
        {"12mi", "unknown unit \"mi\""},
        {"12 m ", "unknown unit \"m \""},
        {"1e6", "unknown unit \"e6\""},
        {"0x10", "unknown unit \"x10\""},
        {"1.5", "a fraction of a byte"},
        {"9223372036854775808", "larger than 2^63 - 1"},
        {"8388608t", "larger than 2^63 - 1"},
        {"99999999999999999999999999", "larger than 2^63 - 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t bytes = -1;
        oc_error err = {0};
        assert_int_equal(oci_parse_size(cases[i].text, &bytes, &err), OC_EINVAL);
        if (strstr(err.message, cases[i].reason) == NULL) {
            fail_msg("%s", err.message);
        }
        assert_int_equal(bytes, -1);
    }
}

static void text_grows_by_appending(void **state)
{
    (void)state;
    oci_budget *budget = NULL;
    oci_mem *mem = NULL;
    assert_int_equal(oci_budget_create(1 << 20, NULL, &budget, NULL), OC_OK);
    assert_int_equal(oci_mem_open(budget, "text", &mem, NULL), OC_OK);
    oci_text text = {.mem = mem};
    assert_string_equal(oci_text_chars(&text), "");
    assert_int_equal(oci_text_append_str(&text, "run ", NULL), OC_OK);
    assert_int_equal(oci_text_append_int(&text, INT64_MIN, NULL), OC_OK);
    assert_int_equal(oci_text_append_char(&text, '/', NULL), OC_OK);
    assert_int_equal(oci_text_append_format(&text, NULL, "%s=%d", "n", 5), OC_OK);
    assert_int_equal(oci_text_append(&text, "abc", 2, NULL), OC_OK);
    assert_string_equal(oci_text_chars(&text), "run -9223372036854775808/n=5ab");
    assert_int_equal(text.length, strlen(text.data));
    for (int i = 0; i < 10000; i++) {
        assert_int_equal(oci_text_append_str(&text, "0123456789", NULL), OC_OK);
    }
    assert_int_equal(text.length, 30 + 100000);
    assert_true(oci_mem_held(mem) >= text.length);
    oci_text_clear(&text);
    assert_string_equal(oci_text_chars(&text), "");
    oci_text_free(&text);
    assert_int_equal(oci_mem_held(mem), 0);
    oci_mem_close(mem);
    oci_budget_destroy(budget);
}

static void failed_append_leaves_the_text(void **state)
{
    (void)state;
    oci_budget *budget = NULL;
    oci_mem *mem = NULL;
    assert_int_equal(oci_budget_create(1 << 16, NULL, &budget, NULL), OC_OK);
    assert_int_equal(oci_mem_open(budget, "text", &mem, NULL), OC_OK);
    oci_text text = {.mem = mem};
    assert_int_equal(oci_text_append_str(&text, "kept", NULL), OC_OK);
    assert_int_equal(oci_text_append_format(&text, NULL, "%70000d", 1), OC_EBUDGET);
    assert_int_equal(oci_text_append(&text, "x", INT64_MAX, NULL), OC_ENOMEM);
    assert_string_equal(oci_text_chars(&text), "kept");
    oci_text_free(&text);
    oci_mem_close(mem);
    oci_budget_destroy(budget);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(byte_counts_read_well),
        cmocka_unit_test(byte_counts_ignore_the_locale),
        cmocka_unit_test(sizes_are_read),
        cmocka_unit_test(bad_sizes_are_refused_with_a_reason),
        cmocka_unit_test(text_grows_by_appending),
        cmocka_unit_test(failed_append_leaves_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
