/* The hash is a fixed function: what was written with it can be checked by another build. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/hash_stream.h"

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

enum { BYTES = 5000 };

static void fill(uint8_t *bytes, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        bytes[i] = (uint8_t)(i * i >> 7);
    }
}

/* Hashes in pieces of `step` bytes with one of the copies. */
static uint64_t hash_in_steps(void (*add)(oci_hash_stream *, const void *, int64_t),
                              const uint8_t *bytes, int64_t n, int64_t step, uint64_t seed)
{
    oci_hash_stream stream;
    memset(&stream, 0xA5, sizeof stream);
    oci_hash_stream_begin(&stream, seed);
    for (int64_t at = 0; at < n; at += step) {
        add(&stream, bytes + at, step < n - at ? step : n - at);
    }
    return oci_hash_stream_end(&stream);
}

static void pieces_hash_like_the_whole(void **state)
{
    (void)state;
    static const int64_t lengths[] = {0, 1, 16, 17, 128, 129, 240, 241, 1024, 1025, BYTES};
    static const int64_t steps[] = {1, 7, 64, 255, 256, 257, 1024, BYTES};
    static const uint64_t seeds[] = {0, 1, UINT64_MAX, UINT64_C(0xA5A5A5A5A5A5A5A5)};
    uint8_t bytes[BYTES];
    fill(bytes, BYTES);
    for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
        for (size_t s = 0; s < sizeof steps / sizeof steps[0]; s++) {
            for (size_t k = 0; k < sizeof seeds / sizeof seeds[0]; k++) {
                int64_t n = lengths[l];
                uint64_t expected = oci_hash64(bytes, n, seeds[k]);
                assert_true(expected ==
                            hash_in_steps(oci_hash_stream_add, bytes, n, steps[s], seeds[k]));
                assert_true(expected == hash_in_steps(oci_hash_stream_add_baseline, bytes, n,
                                                      steps[s], seeds[k]));
            }
        }
    }
}

static void nothing_may_be_added_without_an_address(void **state)
{
    (void)state;
    oci_hash_stream stream;
    oci_hash_stream_begin(&stream, 7);
    oci_hash_stream_add(&stream, NULL, 0);
    assert_true(oci_hash_stream_end(&stream) == oci_hash64("", 0, 7));
}

#ifdef __x86_64__
static void processor_with_avx2_hashes_the_same(void **state)
{
    (void)state;
    if (!__builtin_cpu_supports("avx2")) {
        skip();
    }
    uint8_t bytes[BYTES];
    fill(bytes, BYTES);
    for (int64_t n = 1; n < BYTES; n += 37) {
        uint64_t expected = oci_hash64(bytes, n, 3);
        assert_true(expected == hash_in_steps(oci_hash_stream_add_avx2, bytes, n, n, 3));
        assert_true(expected == hash_in_steps(oci_hash_stream_add_avx2, bytes, n, 100, 3));
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(every_byte_and_the_seed_matter),
        cmocka_unit_test(pieces_hash_like_the_whole),
        cmocka_unit_test(nothing_may_be_added_without_an_address),
#ifdef __x86_64__
        cmocka_unit_test(processor_with_avx2_hashes_the_same),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
