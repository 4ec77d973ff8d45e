/* LIKE against the plain definition, which goes back, on random patterns and texts; and formats of
 * times read back what they wrote. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "expr/like.h"
#include "expr/time_format.h"
#include "expr/utf8_text.h"

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525U + 1013904223U;
    return *state >> 16;
}

static bool plain_match(const uint8_t *p, const uint8_t *p_end, const uint8_t *t,
                        const uint8_t *t_end)
{
    if (p == p_end) {
        return t == t_end;
    }
    if (*p == '%') {
        for (const uint8_t *at = t;; at += oci_character_bytes(at, t_end - at)) {
            if (plain_match(p + 1, p_end, at, t_end)) {
                return true;
            }
            if (at >= t_end) {
                return false;
            }
        }
    }
    if (t == t_end) {
        return false;
    }
    int64_t size = oci_character_bytes(t, t_end - t);
    if (*p == '_') {
        return plain_match(p + 1, p_end, t + size, t_end);
    }
    p += *p == '\\';
    int64_t p_size = oci_character_bytes(p, p_end - p);
    return p_size == size && memcmp(p, t, (size_t)size) == 0 &&
           plain_match(p + p_size, p_end, t + size, t_end);
}

/* Up to 9 of a few characters, one of which has two bytes. */
static int64_t random_text(uint32_t *state, const char *const *alphabet, uint32_t n, uint8_t *out)
{
    int64_t length = 0;
    for (uint32_t k = next_random(state) % 10; k > 0; k--) {
        for (const char *c = alphabet[next_random(state) % n]; *c != '\0'; c++) {
            out[length++] = (uint8_t)*c;
        }
    }
    return length;
}

static void like_agrees_with_its_definition(void **unused)
{
    (void)unused;
    static const char *const letters[] = {"a", "b", "\xc3\xa9", "%", "_"};
    static const char *const signs[] = {"a", "b", "\xc3\xa9", "%", "%", "_", "\\%", "\\_"};
    uint32_t state = 1;
    int n_matches = 0;
    for (int i = 0; i < 200000; i++) {
        uint8_t pattern[32];
        uint8_t text[32];
        oc_error err;
        oci_like *like;
        int64_t p = random_text(&state, signs, 8, pattern);
        int64_t t = random_text(&state, letters, 5, text);
        assert_int_equal(oci_like_compile(pattern, p, (const uint8_t *)"\\", 1, &like, &err),
                         OC_OK);
        bool expected = plain_match(pattern, pattern + p, text, text + t);
        if (oci_like_match(like, text, t) != expected) {
            fail_msg("'%.*s' like '%.*s'", (int)t, (const char *)text, (int)p,
                     (const char *)pattern);
        }
        n_matches += expected;
        oci_like_free(like);
    }
    assert_in_range(n_matches, 1000, 199000);
}

static void formats_read_back_what_they_write(void **unused)
{
    (void)unused;
    static const char *const formats[] = {"YYYY-MM-DD HH24:MI:SS.US",
                                          "FMMonth DD, YYYY HH12:MI:SS.US PM", "DDD YYYY SSSSS.US",
                                          "Dy DD Mon YYYY HH24MISSUS"};
    oc_error err;
    oci_budget *budget;
    oci_mem *mem;
    uint32_t state = 7;
    oci_field utf8 = oci_expr_type(OCI_TYPE_UTF8);
    assert_int_equal(oci_budget_create(INT64_C(1) << 20, NULL, &budget, &err), OC_OK);
    assert_int_equal(oci_mem_open(budget, "test", &mem, &err), OC_OK);
    for (int i = 0; i < 20000; i++) {
        const char *format = formats[i % 4];
        oci_span span = {(const uint8_t *)format, (int64_t)strlen(format)};
        oci_moment moment = {.day = (int64_t)(next_random(&state) % 100000) - 50000};
        moment.nanos = (int64_t)(next_random(&state) % 86400) * OCI_NANOS_PER_SECOND +
                       (int64_t)(next_random(&state)) * 1000;
        oci_text_builder builder;
        assert_int_equal(oci_text_builder_init(&builder, &utf8, 1, mem, &err), OC_OK);
        oci_growing_text g = {.builder = &builder};
        oci_moment back;
        int32_t zone;
        assert_int_equal(oci_time_format(span, moment, INT32_MIN, &g, &err), OC_OK);
        oc_status status = oci_time_read(span, (oci_span){g.start, g.used}, &back, &zone, &err);
        if (status != OC_OK || back.day != moment.day || back.nanos != moment.nanos) {
            fail_msg("'%.*s' by '%s'", (int)g.used, (const char *)g.start, format);
        }
        oci_text_builder_deinit(&builder);
    }
    oci_mem_close(mem);
    oci_budget_destroy(budget);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(like_agrees_with_its_definition),
        cmocka_unit_test(formats_read_back_what_they_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
