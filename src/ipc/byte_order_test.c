/* Each kind of value, turned from bytes as a big-endian machine writes them. */
#include "ipc/byte_order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bits.h"

/* Counts up: 0, 1, 2, ... so that every place tells where it came from. */
static void fill_counting(uint8_t *bytes, int n)
{
    for (int i = 0; i < n; i++) {
        bytes[i] = (uint8_t)i;
    }
}

/* Turns n counting bytes as values of `type` and holds them against `expected`. */
static void check_type(oci_type type, int n, const uint8_t *expected)
{
    static char name[] = "a";
    oci_field field = {.name = name, .type = type, .index_type = OCI_TYPE_INT16};
    oci_field_set_width(&field);
    uint8_t bytes[65];
    fill_counting(bytes + 1, n);
    oci_swap_values(&field, OCI_BUFFER_FIXED, bytes + 1, n); /* at an odd address */
    assert_memory_equal(bytes + 1, expected, (size_t)n);
}

static void numbers_of_every_width_are_turned_whole(void **state)
{
    (void)state;
    static const uint8_t by1[4] = {0, 1, 2, 3};
    static const uint8_t by2[5] = {1, 0, 3, 2, 4}; /* a byte is left over */
    static const uint8_t by4[8] = {3, 2, 1, 0, 7, 6, 5, 4};
    static const uint8_t by8[16] = {7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8};
    uint8_t by16[32], by32[64];
    for (int i = 0; i < 64; i++) {
        by16[i % 32] = (uint8_t)(i % 32 / 16 * 16 + 15 - i % 16);
        by32[i] = (uint8_t)(i / 32 * 32 + 31 - i % 32);
    }
    check_type(OCI_TYPE_INT8, 4, by1);
    check_type(OCI_TYPE_UINT16, 5, by2);
    check_type(OCI_TYPE_FLOAT16, 5, by2);
    check_type(OCI_TYPE_FLOAT32, 8, by4);
    check_type(OCI_TYPE_DECIMAL32, 8, by4);
    check_type(OCI_TYPE_TIME32, 8, by4);
    check_type(OCI_TYPE_INTERVAL_MONTHS, 8, by4);
    check_type(OCI_TYPE_TIMESTAMP, 16, by8);
    check_type(OCI_TYPE_DECIMAL64, 16, by8);
    check_type(OCI_TYPE_DECIMAL128, 32, by16);
    check_type(OCI_TYPE_DECIMAL256, 64, by32);
    check_type(OCI_TYPE_DICTIONARY, 5, by2);
}

static void intervals_are_turned_part_by_part(void **state)
{
    (void)state;
    static const uint8_t days[8] = {3, 2, 1, 0, 7, 6, 5, 4};
    static const uint8_t months[16] = {3, 2, 1, 0, 7, 6, 5, 4, 15, 14, 13, 12, 11, 10, 9, 8};
    check_type(OCI_TYPE_INTERVAL_DAY_TIME, 8, days);
    check_type(OCI_TYPE_INTERVAL_MONTH_DAY_NANO, 16, months);
}

static void bytes_and_bits_stay(void **state)
{
    (void)state;
    static const oci_buffer_kind kinds[] = {OCI_BUFFER_VALIDITY, OCI_BUFFER_BITS,
                                            OCI_BUFFER_TYPE_IDS, OCI_BUFFER_BYTES};
    uint8_t counting[32], bytes[32];
    fill_counting(counting, 32);
    oci_field field = {.type = OCI_TYPE_FIXED_BINARY, .byte_width = 4};
    check_type(OCI_TYPE_FIXED_BINARY, 32, counting);
    for (int i = 0; i < 4; i++) {
        fill_counting(bytes, 32);
        oci_swap_values(&field, kinds[i], bytes, 32);
        assert_memory_equal(bytes, counting, 32);
    }
}

static void views_keep_the_bytes_inside_them(void **state)
{
    (void)state;
    static const uint8_t big[48] = {
        0,   0,   0,   12,  'a', 'b', 'c', 'd',
        'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', /* inlined */
        0,   0,   0,   13,  'a', 'b', 'c', 'd',
        0,   0,   0,   2,   0,   0,   1,   4, /* referred to */
        255, 255, 255, 254, 1,   2,   3,   4,
        5,   6,   7,   8,   9,   10,  11,  12, /* damaged */
    };
    static const uint8_t little[48] = {
        12,  0,   0,   0,   'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l',
        13,  0,   0,   0,   'a', 'b', 'c', 'd', 2,   0,   0,   0,   4,   1,   0,   0,
        254, 255, 255, 255, 1,   2,   3,   4,   5,   6,   7,   8,   9,   10,  11,  12,
    };
    uint8_t bytes[48];
    memcpy(bytes, big, sizeof bytes);
    oci_field field = {.type = OCI_TYPE_UTF8_VIEW};
    oci_swap_values(&field, OCI_BUFFER_VIEWS, bytes, 48);
    assert_memory_equal(bytes, little, 48);
}

/* struct<int32, utf8_view>, list<int16>: each buffer is turned as what it is. */
static void a_message_is_turned_along_the_tree(void **state)
{
    (void)state;
    oci_field members[] = {{.type = OCI_TYPE_INT32, .byte_width = 4}, {.type = OCI_TYPE_UTF8_VIEW}};
    oci_field item = {.type = OCI_TYPE_INT16, .byte_width = 2};
    oci_field fields[] = {
        {.type = OCI_TYPE_STRUCT, .n_children = 2, .children = members},
        {.type = OCI_TYPE_LIST, .n_children = 1, .children = &item},
    };
    oci_ipc_node nodes[5] = {{1, 0}, {1, 0}, {1, 0}, {1, 0}, {1, 0}};
    int64_t variadic[] = {1};
    /* Each buffer has 16 bytes; 10 of them. */
    oci_ipc_buffer buffers[10];
    uint8_t body[160];
    for (int i = 0; i < 10; i++) {
        buffers[i] = (oci_ipc_buffer){.offset = 16 * i, .length = 16};
        fill_counting(body + 16 * i, 16);
    }
    oci_message message = {.version = OCI_IPC_V5,
                           .body_bytes = 160,
                           .n_nodes = 5,
                           .nodes = (const uint8_t *)nodes,
                           .n_buffers = 10,
                           .buffers = (const uint8_t *)buffers,
                           .n_variadic = 1,
                           .variadic = (const uint8_t *)variadic};
    oci_swap_body(fields, 2, &message, body);
    static const uint8_t first[10] = {
        0,       /* validity of the struct */
        0, 3,    /* int32 */
        0, 3, 0, /* views: 0x00010203 bytes, not inlined; and their bytes */
        0, 3,    /* offsets */
        0, 1,    /* int16 */
    };
    for (int i = 0; i < 10; i++) {
        assert_int_equal(body[16 * i], first[i]);
    }
    assert_int_equal(body[16 * 4 + 12], 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_every_width_are_turned_whole),
        cmocka_unit_test(intervals_are_turned_part_by_part),
        cmocka_unit_test(bytes_and_bits_stay),
        cmocka_unit_test(views_keep_the_bytes_inside_them),
        cmocka_unit_test(a_message_is_turned_along_the_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
