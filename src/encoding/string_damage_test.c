/* Damaged string vectors are refused, or read without touching what is not theirs. */
#include "encoding/string_test_support.h"

/* Whatever becomes of it, nothing beside the buffers is touched. */
static void decode_damaged(const streams *s, int64_t n)
{
    enum { MEMORY_MAX = 1 << 20 };
    static const uint8_t validity[64];
    oci_strings_in in;
    if (open_streams(s, n, &in) == OC_OK && in.value_bytes <= MEMORY_MAX &&
        in.stored_bytes <= MEMORY_MAX) {
        (void)decode_offsets(&in, 4, NULL);
        (void)decode_offsets(&in, 8, NULL);
        (void)decode_views(&in, NULL);
        (void)decode_fixed(&in, 4, NULL, NULL);
        (void)decode_fixed(&in, 4, validity, NULL);
    }
}

static void damage(const streams *s, int64_t n)
{
    streams damaged = *s;
    for (int64_t bit = 0; bit < s->packed_size * 8; bit++) {
        s->packed[bit / 8] ^= (uint8_t)(1 << bit % 8);
        decode_damaged(s, n);
        s->packed[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (int64_t size = 0; size < s->packed_size; size++) {
        damaged.packed_size = size;
        damaged.packed = copy_of(s->packed, size);
        decode_damaged(&damaged, n);
        free(damaged.packed);
    }
    damaged = *s;
    for (int64_t size = 0; size < s->bytes_size; size++) {
        damaged.bytes_size = size;
        damaged.bytes = copy_of(s->bytes, size);
        oci_strings_in in;
        assert_int_equal(open_streams(&damaged, n, &in), OC_EDATA);
        free(damaged.bytes);
    }
    decode_damaged(s, n - 1);
    decode_damaged(s, n + 1);
}

static void damaged_vectors_are_refused_or_read_safely(void **unused)
{
    (void)unused;
    texts lists[5] = {0};
    make_unlike(&lists[0], 70);
    make_few_distinct(&lists[1], 200, 9);
    make_sorted(&lists[2], 80);
    for (int i = 0; i < 100; i++) {
        add_made(&lists[3], "%03d", i % 3 + 1);
        lists[3].items[i].length = i % 4 == 0 ? 0 : 4;
    }
    make_numbered(&lists[4], 100);
    static const oci_string_kind kinds[] = {OCI_STRINGS_PLAIN, OCI_STRINGS_DICTIONARY,
                                            OCI_STRINGS_FRONT, OCI_STRINGS_DICTIONARY,
                                            OCI_STRINGS_NUMBERED};
    for (int i = 0; i < 5; i++) {
        made_column made;
        streams s;
        make_column(&made, OCI_TYPE_UTF8, &lists[i], 0);
        encode(&made.column, &s);
        assert_int_equal(kind_of(&s), kinds[i]);
        damage(&s, lists[i].n);
        free_streams(&s);
        free_column(&made);
        free_texts(&lists[i]);
    }
}

static void damaged_shared_bytes_are_refused_or_read_safely(void **unused)
{
    (void)unused;
    uint8_t *buffer = make_buffer(90);
    shown s;
    streams out;
    begin_shown(&s, buffer, 90, 60);
    for (int64_t i = 0; i < 60; i++) {
        show(&s, i % 31, i % 59);
    }
    encode(&s.column, &out);
    assert_int_equal(kind_of(&out), OCI_STRINGS_SHARED);
    damage(&out, 60);
    free_streams(&out);
    end_shown(&s);
    free(buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_vectors_are_refused_or_read_safely),
        cmocka_unit_test(damaged_shared_bytes_are_refused_or_read_safely),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
