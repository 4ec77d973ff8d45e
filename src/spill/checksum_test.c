/* Checksums: what was stamped is found right, and nothing else is. */
#include "spill/checksum.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"

enum { BODY = 1000 };

/* A framed message with a body behind it. */
typedef struct sample {
    uint8_t *data;
    int64_t head_bytes;
    int64_t size;
    int64_t slot;
} sample;

static int64_t find_slot(const uint8_t *data, int64_t head_bytes)
{
    oci_message message;
    assert_int_equal(oci_message_parse(data + OCI_IPC_PREFIX_BYTES,
                                       head_bytes - OCI_IPC_PREFIX_BYTES, &message, NULL),
                     OC_OK);
    assert_non_null(message.checksum);
    return message.checksum - data;
}

static sample make_sample(oci_message_kind kind, oci_codec_id codec)
{
    static const oci_ipc_node nodes[] = {{100, 0}};
    static const oci_ipc_buffer buffers[] = {{0, 0}, {0, 800}};
    oci_message fields = {.kind = kind,
                          .body_bytes = BODY,
                          .length = 100,
                          .n_nodes = 1,
                          .n_buffers = 2,
                          .codec = codec,
                          .checksum = (const uint8_t *)"any"};
    oci_bytes head = {0};
    assert_int_equal(oci_message_build_batch(&fields, nodes, buffers, NULL, &head, NULL), OC_OK);
    sample out = {.head_bytes = head.size, .size = head.size + BODY};
    out.data = malloc((size_t)out.size);
    assert_non_null(out.data);
    memcpy(out.data, head.data, (size_t)head.size);
    for (int i = 0; i < BODY; i++) {
        out.data[head.size + i] = (uint8_t)(i * i >> 5);
    }
    free(head.data);
    out.slot = find_slot(out.data, out.head_bytes);
    return out;
}

/* As a reader does it, the body in pieces of `step` bytes. */
static bool holds(const sample *s, int64_t place, int64_t step)
{
    uint64_t stamped = 0;
    if (!oci_checksum_read(s->data + s->slot, &stamped)) {
        return false;
    }
    oci_checksum sum;
    oci_checksum_begin(&sum, s->data, s->head_bytes, s->slot, place);
    for (int64_t at = s->head_bytes; at < s->size; at += step) {
        oci_checksum_add(&sum, s->data + at, step < s->size - at ? step : s->size - at);
    }
    return oci_checksum_end(&sum) == stamped;
}

static void stamped_message_holds_however_it_is_read(void **state)
{
    (void)state;
    for (int kind = OCI_MESSAGE_DICTIONARY; kind <= OCI_MESSAGE_BATCH; kind++) {
        for (int codec = OCI_CODEC_NONE; codec <= OCI_CODEC_ZSTD; codec++) {
            sample s = make_sample((oci_message_kind)kind, (oci_codec_id)codec);
            assert_false(holds(&s, 0, BODY));
            for (int64_t place = 0; place < 3; place++) {
                oci_checksum_stamp(s.data, s.head_bytes, BODY, place);
                assert_true(holds(&s, place, BODY));
                assert_true(holds(&s, place, 1));
                assert_true(holds(&s, place, 77));
                assert_false(holds(&s, place + 1, BODY));
            }
            free(s.data);
        }
    }
}

static void every_bit_counts(void **state)
{
    (void)state;
    sample s = make_sample(OCI_MESSAGE_BATCH, OCI_CODEC_LZ4_FRAME);
    oci_checksum_stamp(s.data, s.head_bytes, BODY, 5);
    for (int64_t i = 0; i < s.size; i++) {
        for (int bit = 0; bit < 8; bit++) {
            s.data[i] ^= (uint8_t)(1 << bit);
            assert_false(holds(&s, 5, BODY));
            s.data[i] ^= (uint8_t)(1 << bit);
        }
    }
    assert_true(holds(&s, 5, BODY));
    free(s.data);
}

/* The definition of docs/spill-format.md, word for word. */
static void checksum_is_the_hash_of_the_message_with_zeros_in_the_slot(void **state)
{
    (void)state;
    sample s = make_sample(OCI_MESSAGE_BATCH, OCI_CODEC_NONE);
    oci_checksum_stamp(s.data, s.head_bytes, BODY, 3);
    char text[OCI_CHECKSUM_DIGITS + 1] = {0};
    memcpy(text, s.data + s.slot, OCI_CHECKSUM_DIGITS);
    memset(s.data + s.slot, '0', OCI_CHECKSUM_DIGITS);
    char expected[OCI_CHECKSUM_DIGITS + 1];
    snprintf(expected, sizeof expected, "%016" PRIx64, oci_hash64(s.data, s.size, 3));
    assert_string_equal(text, expected);
    free(s.data);
}

static void schema_message_is_stamped_too(void **state)
{
    (void)state;
    oci_field *fields = calloc(1, sizeof *fields);
    oci_schema *schema = NULL;
    assert_int_equal(oci_field_init(fields, "a", OCI_TYPE_INT64, true, NULL), OC_OK);
    assert_int_equal(oci_schema_create(fields, 1, NULL, 0, &schema, NULL), OC_OK);
    oci_bytes bytes = {0};
    assert_int_equal(oci_message_build_schema(schema, true, &bytes, NULL), OC_OK);
    sample s = {.data = bytes.data, .head_bytes = bytes.size, .size = bytes.size};
    s.slot = find_slot(s.data, s.head_bytes);
    oci_checksum_stamp(s.data, s.head_bytes, 0, 0);
    assert_true(holds(&s, 0, 1));
    free(bytes.data);
    oci_schema_release(schema);
}

static void only_lower_case_digits_are_a_checksum(void **state)
{
    (void)state;
    uint64_t value = 0;
    assert_true(oci_checksum_read((const uint8_t *)"0123456789abcdef", &value));
    assert_true(value == UINT64_C(0x0123456789abcdef));
    assert_true(oci_checksum_read((const uint8_t *)"ffffffffffffffff", &value));
    assert_true(value == UINT64_MAX);
    assert_false(oci_checksum_read((const uint8_t *)"0123456789ABCDEF", &value));
    assert_false(oci_checksum_read((const uint8_t *)"0123456789abcde ", &value));
    assert_false(oci_checksum_read((const uint8_t *)"0123456789abcde\0", &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stamped_message_holds_however_it_is_read),
        cmocka_unit_test(every_bit_counts),
        cmocka_unit_test(checksum_is_the_hash_of_the_message_with_zeros_in_the_slot),
        cmocka_unit_test(schema_message_is_stamped_too),
        cmocka_unit_test(only_lower_case_digits_are_a_checksum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
