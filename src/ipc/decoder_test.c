/* Decoding: damage, odd layouts and dictionaries that change. */
#include "ipc/ipc_test_support.h"

#include <dirent.h>
#include <stdio.h>

#include "base/bits.h"
#include "ipc/layout_walk.h"

static const oci_codec_id all_codecs[] = {OCI_CODEC_NONE, OCI_CODEC_LZ4_FRAME, OCI_CODEC_ZSTD};

enum { LIMIT = 4 << 20 };

/* A copy of the messages of a batch that can be patched. */
typedef struct encoded {
    uint8_t *data;
    int64_t size;
} encoded;

static encoded encode(const ipc_fixture *f, const oci_batch *batch, oci_codec_id codec)
{
    oci_ipc_encoder *encoder = make_encoder(f, batch->schema, codec);
    uint8_t *data = NULL;
    encoded out = {0};
    assert_int_equal(oci_ipc_encode_batch(encoder, batch, NULL, &data, &out.size, NULL), OC_OK);
    out.data = malloc((size_t)out.size);
    memcpy(out.data, data, (size_t)out.size);
    oci_ipc_encoder_destroy(encoder);
    return out;
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* Decodes what may be damaged: an error, or values that can all be reached. */
static void decode_damaged(const ipc_fixture *f, oci_schema *schema, const uint8_t *data,
                           int64_t size)
{
    oci_ipc_decoder *decoder = make_decoder(f, schema, false);
    oci_batch *batch = NULL;
    oc_error err = {0};
    oc_status status = try_decode(f, decoder, data, size, 0, &batch, &err);
    assert_true(status == OC_OK || status == OC_EDATA || status == OC_EUNSUPPORTED ||
                status == OC_EBUDGET);
    if (status == OC_OK && batch != NULL && batch->length < 100000) {
        touch_values(batch);
    }
    if (status != OC_OK) {
        assert_null(batch);
    }
    oci_batch_release(batch);
    oci_ipc_decoder_destroy(decoder);
    assert_int_equal(oci_mem_held(f->mem), 0);
}

static void flip_and_cut(const ipc_fixture *f, const char *format, oci_codec_id codec,
                         uint64_t seed)
{
    static const uint8_t masks[] = {0x01, 0x80, 0xFF};
    oci_batch *batch = make_column_batch(
        format,
        &(arrow_maker){
            .seed = seed, .length = 11, .null_percent = 20, .distinct = 5, .string_max = 30});
    encoded e = encode(f, batch, codec);
    for (int64_t i = 0; i < e.size; i++) {
        for (size_t m = 0; m < sizeof masks; m++) {
            e.data[i] ^= masks[m];
            decode_damaged(f, batch->schema, e.data, e.size);
            e.data[i] ^= masks[m];
        }
    }
    for (int64_t size = 0; size < e.size; size++) {
        uint8_t *part = malloc((size_t)size + 1);
        memcpy(part, e.data, (size_t)size);
        decode_damaged(f, batch->schema, part, size);
        free(part);
    }
    free(e.data);
    oci_batch_release(batch);
}

static void any_damaged_byte_is_an_error_or_can_be_read(void **state)
{
    (void)state;
    ipc_fixture f = open_fixture(LIMIT, NULL);
    for (int32_t i = 0; i < arrow_maker_n_formats; i++) {
        for (size_t c = 0; c < 3; c++) {
            flip_and_cut(&f, arrow_maker_formats[i], all_codecs[c], (uint64_t)i);
        }
    }
    close_fixture(&f);
}

static void any_damaged_byte_of_nested_columns_is_an_error_or_can_be_read(void **state)
{
    (void)state;
    ipc_fixture f = open_fixture(LIMIT, NULL);
    for (int32_t i = 0; i < arrow_maker_n_nested_formats; i++) {
        flip_and_cut(&f, arrow_maker_nested_formats[i], all_codecs[i % 3], (uint64_t)i);
    }
    close_fixture(&f);
}

/* Overwrites the length prefix of the values of an int64 column. */
static oc_status decode_with_prefix(const ipc_fixture *f, oci_codec_id codec, int64_t claim)
{
    oci_batch *batch = make_column_batch("l", &(arrow_maker){.length = 1000, .distinct = 3});
    encoded e = encode(f, batch, codec);
    int64_t metadata_bytes = 0;
    int prefix_bytes = 0;
    oci_message message;
    assert_int_equal(oci_frame_parse(e.data, &metadata_bytes, &prefix_bytes, NULL), OC_OK);
    assert_int_equal(oci_message_parse(e.data + 8, metadata_bytes, &message, NULL), OC_OK);
    uint8_t *at = e.data + 8 + metadata_bytes + oci_message_buffer(&message, 1).offset;
    assert_int_equal(oci_load_le64(at), 8000);
    oci_store_le64(at, (uint64_t)claim);
    oci_ipc_decoder *decoder = make_decoder(f, batch->schema, false);
    oci_batch *back = NULL;
    oc_error err = {0};
    oc_status status = try_decode(f, decoder, e.data, e.size, 0, &back, &err);
    if (status == OC_OK) {
        assert_batch_equal(batch, back);
    } else {
        assert_true(err.message[0] != 0);
        assert_null(back);
    }
    oci_batch_release(back);
    oci_ipc_decoder_destroy(decoder);
    free(e.data);
    oci_batch_release(batch);
    return status;
}

static void forged_length_prefixes_are_refused_without_taking_memory(void **state)
{
    (void)state;
    static const int64_t claims[] = {0,         1,  7999,      8001, 16000, INT64_C(1) << 40,
                                     INT64_MAX, -2, INT64_MIN, -1};
    ipc_fixture f = open_fixture(LIMIT, NULL);
    for (size_t c = 1; c < 3; c++) {
        assert_int_equal(decode_with_prefix(&f, all_codecs[c], 8000), OC_OK);
        for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++) {
            assert_int_equal(decode_with_prefix(&f, all_codecs[c], claims[i]), OC_EDATA);
        }
    }
    assert_true(oci_budget_peak(f.budget) < 1 << 20);
    close_fixture(&f);
}

/* ---- messages put together by hand ----------------------------------------------------------- */

typedef struct odd_message {
    const char *format;
    int64_t length;
    int64_t n_nodes;
    oci_ipc_node node;
    int64_t n_buffers;
    oci_ipc_buffer buffers[4];
    int64_t n_variadic;
    int64_t variadic;
    oc_status status;
} odd_message;

static const odd_message odd_messages[] = {
    {"l", 4, 1, {4, 0}, 2, {{0, 0}, {0, 32}}, 0, 0, OC_OK},
    {"l", 4, 1, {4, 0}, 2, {{0, 0}, {0, 40}}, 0, 0, OC_OK},    /* padding counted in */
    {"l", 4, 1, {4, 0}, 2, {{0, 0}, {3, 32}}, 0, 0, OC_OK},    /* not aligned */
    {"l", 4, 1, {4, 0}, 2, {{0, 0}, {0, 31}}, 0, 0, OC_EDATA}, /* too short */
    {"l", 4, 1, {4, 4}, 2, {{56, 1}, {0, 32}}, 0, 0, OC_OK},
    {"l", 4, 1, {4, 1}, 2, {{0, 0}, {0, 32}}, 0, 0, OC_EDATA},  /* nulls without validity */
    {"l", 4, 1, {4, 2}, 2, {{56, 1}, {0, 32}}, 0, 0, OC_EDATA}, /* wrong number of nulls */
    {"l", 4, 1, {5, 0}, 2, {{0, 0}, {0, 40}}, 0, 0, OC_EDATA},  /* other length than the batch */
    {"l", 4, 1, {4, 0}, 1, {{0, 0}}, 0, 0, OC_EDATA},
    {"l", 4, 1, {4, 0}, 3, {{0, 0}, {0, 32}, {32, 8}}, 0, 0, OC_EDATA},
    {"l", 4, 0, {0, 0}, 2, {{0, 0}, {0, 32}}, 0, 0, OC_EDATA},
    {"l", 4, 2, {4, 0}, 2, {{0, 0}, {0, 32}}, 0, 0, OC_EDATA},
    {"l", INT64_MAX / 4, 1, {INT64_MAX / 4, 0}, 2, {{0, 0}, {0, 64}}, 0, 0, OC_EDATA},
    {"b", 65, 1, {65, 0}, 2, {{0, 0}, {0, 8}}, 0, 0, OC_EDATA},
    {"b", 64, 1, {64, 0}, 2, {{0, 0}, {0, 8}}, 0, 0, OC_OK},
    {"n", 9, 1, {9, 0}, 0, {{0, 0}}, 0, 0, OC_OK}, /* the null count of nulls is not looked at */
    {"n", 9, 1, {9, 9}, 2, {{0, 0}, {0, 8}}, 0, 0, OC_EDATA},
    {"u", 0, 1, {0, 0}, 3, {{0, 0}, {0, 0}, {0, 0}}, 0, 0, OC_OK}, /* no offsets for no rows */
    {"u", 0, 1, {0, 0}, 3, {{0, 0}, {16, 4}, {0, 0}}, 0, 0, OC_OK},
    {"u", 1, 1, {1, 0}, 3, {{0, 0}, {0, 8}, {8, 9}}, 0, 0, OC_OK},
    {"u", 1, 1, {1, 0}, 3, {{0, 0}, {0, 4}, {8, 9}}, 0, 0, OC_EDATA},
    {"u", 1, 1, {1, 0}, 3, {{0, 0}, {0, 8}, {8, 8}}, 0, 0, OC_EDATA}, /* ends behind the bytes */
    {"u",
     INT64_MAX / 4 - 1,
     1,
     {INT64_MAX / 4 - 1, 0},
     3,
     {{0, 0}, {0, 8}, {8, 9}},
     0,
     0,
     OC_EDATA},
    {"U", INT64_MAX, 1, {INT64_MAX, 0}, 3, {{0, 0}, {0, 8}, {8, 9}}, 0, 0, OC_EDATA},
    {"vu", 0, 1, {0, 0}, 2, {{0, 0}, {0, 0}}, 1, 0, OC_OK},
    {"vu", 0, 1, {0, 0}, 3, {{0, 0}, {0, 0}, {0, 8}}, 1, 1, OC_OK},
    {"vu", 0, 1, {0, 0}, 2, {{0, 0}, {0, 0}}, 0, 0, OC_EDATA}, /* no count */
    {"vu", 0, 1, {0, 0}, 2, {{0, 0}, {0, 0}}, 1, 1, OC_EDATA}, /* more than there are */
    {"vu", 0, 1, {0, 0}, 2, {{0, 0}, {0, 0}}, 1, INT64_MAX, OC_EDATA},
    {"vu", 0, 1, {0, 0}, 3, {{0, 0}, {0, 0}, {0, 8}}, 1, 0, OC_EDATA},
    {"vu", INT64_MAX / 8, 1, {INT64_MAX / 8, 0}, 2, {{0, 0}, {0, 64}}, 1, 0, OC_EDATA},
};

/* 64 bytes: 0, 9 as int32 offsets, then zeros. */
static void lists_are_held_against_the_schema(void **state)
{
    (void)state;
    ipc_fixture f = open_fixture(LIMIT, NULL);
    for (size_t i = 0; i < sizeof odd_messages / sizeof odd_messages[0]; i++) {
        const odd_message *odd = &odd_messages[i];
        for (int trusted = 0; trusted < 2; trusted++) {
            const char *columns[] = {odd->format};
            oci_schema *schema = make_schema(columns, 1);
            oci_ipc_node nodes[2] = {odd->node, {odd->length, 0}};
            oci_message message = {.kind = OCI_MESSAGE_BATCH,
                                   .body_bytes = 64,
                                   .length = odd->length,
                                   .n_nodes = odd->n_nodes,
                                   .nodes = (const uint8_t *)nodes,
                                   .n_buffers = odd->n_buffers,
                                   .buffers = (const uint8_t *)odd->buffers,
                                   .n_variadic = odd->n_variadic,
                                   .variadic = (const uint8_t *)&odd->variadic};
            void *slab = NULL;
            assert_int_equal(oci_mem_alloc(f.mem, 64, &slab, NULL), OC_OK);
            memset(slab, 0, 64);
            oci_store_le32((uint8_t *)slab + 4, 9);
            oci_ipc_decoder *decoder = make_decoder(&f, schema, trusted != 0);
            oci_batch *batch = NULL;
            oc_error err = {0};
            oc_status status = oci_ipc_decode(decoder, &message, slab, 64, 0, NULL, &batch, &err);
            /* The null count is counted only where nobody is trusted. */
            bool lenient = trusted != 0 && odd->node.null_count == 2;
            if (status != (lenient ? OC_OK : odd->status)) {
                fail_msg("message %d: %s", (int)i, err.message);
            }
            if (status == OC_OK) {
                touch_values(batch);
            }
            oci_batch_release(batch);
            oci_ipc_decoder_destroy(decoder);
            oci_schema_release(schema);
        }
    }
    close_fixture(&f);
}

/* The same for columns with children. The body is 64 bytes: int32 0, 2, 4 at 0; int8 0, 1, 0, 1 at 16;
 * int32 2, 1 at 24; int32 1, 1 at 32; zeros. Nodes are {length, nulls}, buffers {offset, length}. */
typedef struct odd_nested {
    const char *format;
    int64_t length;
    oc_status status;
    int64_t n_nodes;
    oci_ipc_node nodes[4];
    int64_t n_buffers;
    oci_ipc_buffer buffers[8];
    int version; /* 0: V5 */
} odd_nested;

#define NO   \
    {        \
        0, 0 \
    }
#define OFFSETS \
    {           \
        0, 12   \
    }
#define TYPE_IDS \
    {            \
        16, 4    \
    }
#define DESCENDING \
    {              \
        24, 8      \
    }
#define ONES  \
    {         \
        32, 8 \
    }
#define ZEROS  \
    {          \
        40, 16 \
    }

static const odd_nested odd_nested_messages[] = {
    {"+l(i)", 2, OC_OK, 2, {{2, 0}, {4, 0}}, 4, {NO, OFFSETS, NO, ZEROS}, 0},
    {"+l(i)",
     2,
     OC_EDATA,
     2,
     {{2, 0}, {3, 0}},
     4,
     {NO, OFFSETS, NO, ZEROS},
     0}, /* child too short */
    {"+l(i)", 2, OC_EDATA, 2, {{2, 0}, {4, 0}}, 4, {NO, {0, 8}, NO, ZEROS}, 0},
    {"+l(i)", 1, OC_EDATA, 2, {{1, 0}, {4, 0}}, 4, {NO, DESCENDING, NO, ZEROS}, 0},
    {"+l(i)",
     2,
     OC_EDATA,
     2,
     {{2, 0}, {5, 0}},
     4,
     {NO, OFFSETS, NO, ZEROS},
     0}, /* values too short */
    {"+l(i)", 0, OC_OK, 2, {{0, 0}, {0, 0}}, 4, {NO, NO, NO, NO}, 0},
    {"+l(i)", 2, OC_EDATA, 1, {{2, 0}}, 4, {NO, OFFSETS, NO, ZEROS}, 0},
    {"+l(i)", 2, OC_EDATA, 3, {{2, 0}, {4, 0}, {0, 0}}, 4, {NO, OFFSETS, NO, ZEROS}, 0},
    {"+l(i)", 2, OC_EDATA, 2, {{2, 0}, {4, 0}}, 3, {NO, OFFSETS, NO}, 0},
    {"+l(i)", 2, OC_EDATA, 2, {{2, 0}, {4, 0}}, 5, {NO, OFFSETS, NO, ZEROS, NO}, 0},
    {"+l(i)",
     2,
     OC_EDATA,
     2,
     {{2, 0}, {4, 1}},
     4,
     {NO, OFFSETS, NO, ZEROS},
     0}, /* nulls, no bits */
    {"+l(i)",
     INT64_MAX / 4,
     OC_EDATA,
     2,
     {{INT64_MAX / 4, 0}, {4, 0}},
     4,
     {NO, OFFSETS, NO, ZEROS},
     0},
    {"+w:2(i)", 2, OC_OK, 2, {{2, 0}, {4, 0}}, 3, {NO, NO, ZEROS}, 0},
    {"+w:2(i)", 2, OC_EDATA, 2, {{2, 0}, {3, 0}}, 3, {NO, NO, ZEROS}, 0},
    {"+w:2(i)", INT64_MAX, OC_EDATA, 2, {{INT64_MAX, 0}, {3, 0}}, 3, {NO, NO, ZEROS}, 0},
    {"+s(i)", 4, OC_OK, 2, {{4, 0}, {4, 0}}, 3, {NO, NO, ZEROS}, 0},
    {"+s(i)", 2, OC_OK, 2, {{2, 0}, {4, 0}}, 3, {NO, NO, ZEROS}, 0}, /* longer than needed */
    {"+s(i)", 4, OC_EDATA, 2, {{4, 0}, {3, 0}}, 3, {NO, NO, ZEROS}, 0},
    {"+us:0,1(i; n)", 4, OC_OK, 3, {{4, 0}, {4, 0}, {4, 4}}, 3, {TYPE_IDS, NO, ZEROS}, 0},
    {"+us:0,1(i; n)", 4, OC_EDATA, 3, {{4, 0}, {4, 0}, {3, 3}}, 3, {TYPE_IDS, NO, ZEROS}, 0},
    {"+us:0,2(i; n)",
     4,
     OC_EDATA,
     3,
     {{4, 0}, {4, 0}, {4, 4}},
     3,
     {TYPE_IDS, NO, ZEROS},
     0}, /* id */
    {"+us:0,1(i; n)",
     4,
     OC_OK,
     3,
     {{4, 0}, {4, 0}, {4, 4}},
     4,
     {NO, TYPE_IDS, NO, ZEROS},
     OCI_IPC_V4},
    {"+us:0,1(i; n)",
     4,
     OC_EUNSUPPORTED,
     3,
     {{4, 1}, {4, 0}, {4, 4}},
     4,
     {TYPE_IDS, TYPE_IDS, NO, ZEROS},
     OCI_IPC_V4},
    {"+ud:0,1(i; n)", 4, OC_OK, 3, {{4, 0}, {4, 0}, {4, 4}}, 4, {TYPE_IDS, ZEROS, NO, ZEROS}, 0},
    {"+ud:0,1(i; n)", 4, OC_EDATA, 3, {{4, 0}, {4, 0}, {0, 0}}, 4, {TYPE_IDS, ZEROS, NO, ZEROS}, 0},
    {"+ud:0,1(i; n)",
     4,
     OC_EDATA,
     3,
     {{4, 0}, {4, 0}, {4, 4}},
     4,
     {TYPE_IDS, {40, 12}, NO, ZEROS},
     0},
    {"+vl(i)", 2, OC_OK, 2, {{2, 0}, {4, 0}}, 5, {NO, DESCENDING, ONES, NO, ZEROS}, 0},
    {"+vl(i)", 2, OC_EDATA, 2, {{2, 0}, {2, 0}}, 5, {NO, DESCENDING, ONES, NO, ZEROS}, 0},
    {"+vl(i)", 2, OC_EDATA, 2, {{2, 0}, {4, 0}}, 5, {NO, DESCENDING, {32, 7}, NO, ZEROS}, 0},
    {"+r(i; i)", 4, OC_OK, 3, {{4, 0}, {2, 0}, {2, 0}}, 4, {NO, {4, 8}, NO, ZEROS}, 0},
    {"+r(i; i)", 4, OC_OK, 3, {{4, 0}, {2, 0}, {2, 0}}, 5, {NO, NO, {4, 8}, NO, ZEROS}, OCI_IPC_V4},
    {"+r(i; i)",
     5,
     OC_EDATA,
     3,
     {{5, 0}, {2, 0}, {2, 0}},
     4,
     {NO, {4, 8}, NO, ZEROS},
     0}, /* short */
    {"+r(i; i)", 4, OC_EDATA, 3, {{4, 0}, {2, 0}, {1, 0}}, 4, {NO, {4, 8}, NO, ZEROS}, 0},
    {"+r(i; i)",
     4,
     OC_EDATA,
     3,
     {{4, 0}, {3, 0}, {3, 0}},
     4,
     {NO, OFFSETS, NO, ZEROS},
     0}, /* end 0 */
    {"+r(i; i)", 1, OC_EDATA, 3, {{1, 0}, {2, 0}, {2, 0}}, 4, {NO, DESCENDING, NO, ZEROS}, 0},
    {"+r(i; i)", 4, OC_EDATA, 3, {{4, 0}, {2, 1}, {2, 0}}, 4, {TYPE_IDS, {4, 8}, NO, ZEROS}, 0},
    {"+r(i; i)", 1, OC_EDATA, 3, {{1, 0}, {0, 0}, {0, 0}}, 4, {NO, NO, NO, NO}, 0},
    {"+r(i; i)", 0, OC_OK, 3, {{0, 0}, {0, 0}, {0, 0}}, 4, {NO, NO, NO, NO}, 0},
};

static void children_are_held_against_the_rows_around_them(void **state)
{
    (void)state;
    static const uint8_t body[64] = {
        0, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1,
        0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0,
    };
    ipc_fixture f = open_fixture(LIMIT, NULL);
    for (size_t i = 0; i < sizeof odd_nested_messages / sizeof odd_nested_messages[0]; i++) {
        const odd_nested *odd = &odd_nested_messages[i];
        const char *columns[] = {odd->format};
        oci_schema *schema = make_schema(columns, 1);
        oci_message message = {.kind = OCI_MESSAGE_BATCH,
                               .version = odd->version != 0 ? odd->version : OCI_IPC_V5,
                               .body_bytes = sizeof body,
                               .length = odd->length,
                               .n_nodes = odd->n_nodes,
                               .nodes = (const uint8_t *)odd->nodes,
                               .n_buffers = odd->n_buffers,
                               .buffers = (const uint8_t *)odd->buffers};
        void *slab = NULL;
        assert_int_equal(oci_mem_alloc(f.mem, sizeof body, &slab, NULL), OC_OK);
        memcpy(slab, body, sizeof body);
        oci_ipc_decoder *decoder = make_decoder(&f, schema, false);
        oci_batch *batch = NULL;
        oc_error err = {0};
        oc_status status =
            oci_ipc_decode(decoder, &message, slab, sizeof body, 0, NULL, &batch, &err);
        if (status != odd->status) {
            fail_msg("message %d (%s): %s", (int)i, odd->format, err.message);
        }
        if (status == OC_OK) {
            touch_values(batch);
        }
        oci_batch_release(batch);
        oci_ipc_decoder_destroy(decoder);
        oci_schema_release(schema);
    }
    close_fixture(&f);
}

static void check_addresses(const char *const *formats, int32_t n)
{
    ipc_fixture f = open_fixture(LIMIT, NULL);
    oci_batch *batch = make_batch(
        formats, n, &(arrow_maker){.seed = 6, .length = 40, .null_percent = 20, .string_max = 30});
    for (size_t c = 0; c < 3; c++) {
        encoded e = encode(&f, batch, all_codecs[c]);
        for (int64_t shift = 1; shift < 8; shift++) {
            oci_ipc_decoder *decoder = make_decoder(&f, batch->schema, false);
            oci_batch *back = NULL;
            assert_int_equal(try_decode(&f, decoder, e.data, e.size, shift, &back, NULL), OC_OK);
            assert_batch_equal(batch, back);
            oci_batch_release(back);
            oci_ipc_decoder_destroy(decoder);
        }
        free(e.data);
    }
    oci_batch_release(batch);
    close_fixture(&f);
}

static void body_may_begin_at_any_address(void **state)
{
    (void)state;
    check_addresses(arrow_maker_formats, arrow_maker_n_formats);
    check_addresses(arrow_maker_nested_formats, arrow_maker_n_nested_formats);
}

static void reservation_pays_for_decompression(void **state)
{
    (void)state;
    ipc_fixture f = open_fixture(1 << 20, NULL);
    oci_batch *batch = make_column_batch("l", &(arrow_maker){.length = 10000, .distinct = 3});
    encoded e = encode(&f, batch, OCI_CODEC_ZSTD);
    int64_t metadata_bytes = 0;
    int prefix_bytes = 0;
    int64_t decoded_bytes = 0;
    oci_message message;
    assert_int_equal(oci_frame_parse(e.data, &metadata_bytes, &prefix_bytes, NULL), OC_OK);
    assert_int_equal(oci_message_parse(e.data + 8, metadata_bytes, &message, NULL), OC_OK);
    const uint8_t *body = e.data + 8 + metadata_bytes;
    assert_int_equal(oci_ipc_decoded_bytes(&message, body, &decoded_bytes, NULL), OC_OK);
    assert_int_equal(decoded_bytes, 80000);
    void *slab = NULL;
    assert_int_equal(oci_mem_alloc(f.mem, message.body_bytes, &slab, NULL), OC_OK);
    memcpy(slab, body, (size_t)message.body_bytes);
    oci_reservation space = {0};
    oci_reservation rest = {0};
    assert_int_equal(oci_mem_reserve(f.mem, &space, oci_mem_charge_of(decoded_bytes), NULL), OC_OK);
    assert_int_equal(oci_mem_reserve(f.mem, &rest, oci_budget_free(f.budget), NULL), OC_OK);
    oci_ipc_decoder *decoder = make_decoder(&f, batch->schema, true);
    oci_batch *back = NULL;
    assert_int_equal(
        oci_ipc_decode(decoder, &message, slab, message.body_bytes, 0, &space, &back, NULL), OC_OK);
    assert_batch_equal(batch, back);
    assert_int_equal(space.bytes, 0);
    oci_batch_release(back);
    oci_reservation_release(&rest);
    oci_ipc_decoder_destroy(decoder);
    free(e.data);
    oci_batch_release(batch);
    close_fixture(&f);
}

/* ---- dictionaries ---------------------------------------------------------------------------- */

/* Patches the first message, a dictionary, into a delta: its isDelta is the only byte 0 that makes
 * it one. */
static void make_delta(encoded *e)
{
    int64_t metadata_bytes = 0;
    int prefix_bytes = 0;
    oci_message message;
    assert_int_equal(oci_frame_parse(e->data, &metadata_bytes, &prefix_bytes, NULL), OC_OK);
    assert_int_equal(oci_message_parse(e->data + 8, metadata_bytes, &message, NULL), OC_OK);
    assert_int_equal(message.kind, OCI_MESSAGE_DICTIONARY);
    oci_ipc_node nodes[16];
    oci_ipc_buffer buffers[64];
    int64_t variadic[16];
    assert_true(message.n_nodes <= 16 && message.n_buffers <= 64 && message.n_variadic <= 16);
    for (int64_t i = 0; i < message.n_nodes; i++) {
        nodes[i] = oci_message_node(&message, i);
    }
    for (int64_t i = 0; i < message.n_buffers; i++) {
        buffers[i] = oci_message_buffer(&message, i);
    }
    for (int64_t i = 0; i < message.n_variadic; i++) {
        variadic[i] = oci_message_variadic(&message, i);
    }
    message.dictionary_delta = true;
    oci_bytes head = {0};
    assert_int_equal(oci_message_build_batch(&message, nodes, buffers, variadic, &head, NULL),
                     OC_OK);
    memcpy(e->data, head.data, (size_t)head.size);
    oci_frame_pad(e->data, head.size, 8 + metadata_bytes);
    free(head.data);
}

/* Two batches with dictionaries of their own; the second comes as a delta, so its indices count
 * from the old end. */
static void check_delta(const ipc_fixture *f, const char *format, oci_codec_id codec)
{
    arrow_maker maker = {
        .seed = 3, .length = 40, .null_percent = 10, .distinct = 12, .string_max = 40};
    oci_batch *first = make_column_batch(format, &maker);
    maker.seed = 4;
    oci_batch *second = make_column_batch(format, &maker);
    encoded a = encode(f, first, codec);
    encoded b = encode(f, second, codec);
    make_delta(&b);
    oci_ipc_decoder *decoder = make_decoder(f, first->schema, false);
    oci_batch *old = decode(f, decoder, a.data, a.size);
    oci_batch *grown = decode(f, decoder, b.data, b.size);
    const oci_column *before = first->columns[0].dictionary;
    const oci_column *added = second->columns[0].dictionary;
    const oci_column *after = grown->columns[0].dictionary;
    assert_int_equal(after->length, before->length + added->length);
    for (int64_t row = 0; row < before->length; row++) {
        assert_true(oci_value_equal(before, row, after, row));
    }
    for (int64_t row = 0; row < added->length; row++) {
        assert_true(oci_value_equal(added, row, after, before->length + row));
    }
    assert_int_equal(oci_column_null_count(after),
                     oci_column_null_count(before) + oci_column_null_count(added));
    /* What was handed out before keeps its own values. */
    assert_batch_equal(first, old);
    oci_ipc_decoder_destroy(decoder);
    touch_values(grown);
    oci_batch_release(old);
    oci_batch_release(grown);
    oci_batch_release(first);
    oci_batch_release(second);
    free(a.data);
    free(b.data);
}

static void delta_dictionaries_are_appended(void **state)
{
    (void)state;
    ipc_fixture f = open_fixture(LIMIT, NULL);
    for (int32_t i = 0; i < arrow_maker_n_formats; i++) {
        if (strchr(arrow_maker_formats[i], '>') != NULL) {
            check_delta(&f, arrow_maker_formats[i], OCI_CODEC_NONE);
            check_delta(&f, arrow_maker_formats[i], OCI_CODEC_ZSTD);
        }
    }
    close_fixture(&f);
}

/* Every layout that the values of a dictionary can have. */
static void delta_dictionaries_of_nested_values_are_appended(void **state)
{
    (void)state;
    ipc_fixture f = open_fixture(LIMIT, NULL);
    for (int32_t i = 0; i < arrow_maker_n_nested_formats; i++) {
        const char *format = arrow_maker_nested_formats[i];
        char text[512];
        if (strchr(format, '>') == NULL) {
            snprintf(text, sizeof text, "i>%s", format);
            check_delta(&f, text, all_codecs[i % 3]);
        }
    }
    close_fixture(&f);
}

static void replaced_dictionary_leaves_older_batches_alone(void **state)
{
    (void)state;
    ipc_fixture f = open_fixture(LIMIT, NULL);
    const char *columns[] = {"a=c>u", "b=S>vu"};
    arrow_maker maker = {.seed = 3, .length = 40, .null_percent = 10, .distinct = 12};
    oci_batch *first = make_batch(columns, 2, &maker);
    maker.seed = 4;
    oci_batch *second = make_batch(columns, 2, &maker);
    encoded a = encode(&f, first, OCI_CODEC_NONE);
    encoded b = encode(&f, second, OCI_CODEC_NONE);
    oci_ipc_decoder *decoder = make_decoder(&f, first->schema, false);
    oci_batch *x = decode(&f, decoder, a.data, a.size);
    oci_batch *slice = NULL;
    assert_int_equal(oci_batch_slice(x, 3, 30, &slice, NULL), OC_OK);
    oci_batch *y = decode(&f, decoder, b.data, b.size);
    oci_ipc_decoder_destroy(decoder);
    assert_batch_equal(first, x);
    oci_batch_release(x);
    touch_values(slice);
    oci_batch_release(slice);
    assert_batch_equal(second, y);
    oci_batch_release(y);
    oci_batch_release(first);
    oci_batch_release(second);
    free(a.data);
    free(b.data);
    close_fixture(&f);
}

/* Skips the dictionary message in front. */
static oc_status decode_without_dictionary(const ipc_fixture *f, const oci_batch *batch,
                                           oc_error *err)
{
    encoded e = encode(f, batch, OCI_CODEC_NONE);
    int64_t metadata_bytes = 0;
    int prefix_bytes = 0;
    oci_message message;
    assert_int_equal(oci_frame_parse(e.data, &metadata_bytes, &prefix_bytes, NULL), OC_OK);
    assert_int_equal(oci_message_parse(e.data + 8, metadata_bytes, &message, NULL), OC_OK);
    int64_t skip = 8 + metadata_bytes + message.body_bytes;
    oci_ipc_decoder *decoder = make_decoder(f, batch->schema, false);
    oci_batch *back = NULL;
    oc_status status = try_decode(f, decoder, e.data + skip, e.size - skip, 0, &back, err);
    if (status == OC_OK) {
        touch_values(back);
    }
    oci_batch_release(back);
    oci_ipc_decoder_destroy(decoder);
    free(e.data);
    return status;
}

static void missing_dictionary_is_named_unless_all_is_null(void **state)
{
    (void)state;
    ipc_fixture f = open_fixture(LIMIT, NULL);
    const char *columns[] = {"color=c>u"};
    oc_error err = {0};
    oci_batch *some = make_batch(columns, 1, &(arrow_maker){.length = 9});
    assert_int_equal(decode_without_dictionary(&f, some, &err), OC_EDATA);
    assert_non_null(strstr(err.message, "column \"color\" needs dictionary 0"));
    oci_batch *nulls = make_batch(columns, 1, &(arrow_maker){.length = 9, .null_percent = 100});
    assert_int_equal(decode_without_dictionary(&f, nulls, &err), OC_OK);
    oci_batch_release(some);
    oci_batch_release(nulls);
    close_fixture(&f);
}

static void shared_dictionary_ids_need_one_type(void **state)
{
    (void)state;
    ipc_fixture f = open_fixture(LIMIT, NULL);
    const char *columns[] = {"a=c>u", "b=i>u", "c=c>l"};
    oci_schema *schema = make_schema(columns, 3);
    int64_t good[] = {7, 7, 8};
    int64_t bad[] = {7, 7, 7};
    oci_ipc_decoder *decoder = NULL;
    oc_error err = {0};
    assert_int_equal(oci_ipc_decoder_create(schema, &(oci_dictionary_ids){good, 3}, false, f.mem,
                                            &decoder, &err),
                     OC_OK);
    oci_ipc_decoder_destroy(decoder);
    assert_int_equal(
        oci_ipc_decoder_create(schema, &(oci_dictionary_ids){bad, 3}, false, f.mem, &decoder, &err),
        OC_EDATA);
    oci_schema_release(schema);
    close_fixture(&f);
}

/* ---- dictionaries inside dictionaries -------------------------------------------------------- */

enum { INNER, OUTER, ROWS };

/* The three messages of a batch of "c>+l(s>u)": the strings, the lists, the rows. */
typedef struct three_messages {
    encoded all;
    const uint8_t *data[3];
    int64_t size[3];
} three_messages;

static three_messages encode_three(const ipc_fixture *f, const oci_batch *batch)
{
    three_messages out = {0};
    oci_ipc_encoder *encoder = make_encoder(f, batch->schema, OCI_CODEC_NONE);
    const oci_ipc_extent *extents = NULL;
    uint8_t *data = NULL;
    assert_int_equal(oci_ipc_encode_batch(encoder, batch, NULL, &data, &out.all.size, NULL), OC_OK);
    out.all.data = malloc((size_t)out.all.size);
    memcpy(out.all.data, data, (size_t)out.all.size);
    assert_int_equal(oci_ipc_encoder_extents(encoder, &extents), 3);
    for (int i = 0; i < 3; i++) {
        out.data[i] = out.all.data + extents[i].offset;
        out.size[i] = extents[i].metadata_bytes + extents[i].body_bytes;
    }
    oci_ipc_encoder_destroy(encoder);
    return out;
}

static oc_status feed(const ipc_fixture *f, oci_ipc_decoder *decoder, const three_messages *from,
                      int which, oci_batch **out, oc_error *err)
{
    int64_t used = 0;
    *out = NULL;
    return decode_message(f, decoder, from->data[which], from->size[which], 0, &used, out, err);
}

static void feed_dictionary(const ipc_fixture *f, oci_ipc_decoder *decoder,
                            const three_messages *from, int which)
{
    oci_batch *none = NULL;
    assert_int_equal(feed(f, decoder, from, which, &none, NULL), OC_OK);
    assert_null(none);
}

static oci_batch *feed_rows(const ipc_fixture *f, oci_ipc_decoder *decoder,
                            const three_messages *from)
{
    oci_batch *batch = NULL;
    oc_error err = {0};
    if (feed(f, decoder, from, ROWS, &batch, &err) != OC_OK) {
        fail_msg("could not decode: %s", err.message);
    }
    return batch;
}

static oci_batch *make_nested_dictionary(uint64_t seed, int32_t distinct)
{
    return make_column_batch(
        "c>+l(s>u)",
        &(arrow_maker){.seed = seed, .length = 60, .null_percent = 10, .distinct = distinct});
}

static void dictionaries_inside_others_may_come_in_any_order(void **state)
{
    (void)state;
    ipc_fixture f = open_fixture(LIMIT, NULL);
    oci_batch *first = make_nested_dictionary(1, 20);
    oci_batch *second = make_nested_dictionary(2, 20);
    three_messages a = encode_three(&f, first);
    three_messages b = encode_three(&f, second);
    for (int trusted = 0; trusted < 2; trusted++) {
        oci_ipc_decoder *decoder = make_decoder(&f, first->schema, trusted != 0);
        feed_dictionary(&f, decoder, &a, OUTER);
        feed_dictionary(&f, decoder, &a, INNER);
        oci_batch *x = feed_rows(&f, decoder, &a);
        feed_dictionary(&f, decoder, &b, INNER);
        feed_dictionary(&f, decoder, &b, OUTER);
        oci_batch *y = feed_rows(&f, decoder, &b);
        oci_batch *again = feed_rows(&f, decoder, &b);
        assert_ptr_equal(y->columns[0].dictionary, again->columns[0].dictionary);
        feed_dictionary(&f, decoder, &a, INNER);
        feed_dictionary(&f, decoder, &a, OUTER);
        oci_batch *z = feed_rows(&f, decoder, &a);
        oci_ipc_decoder_destroy(decoder);
        assert_batch_equal(first, x);
        assert_batch_equal(second, y);
        assert_batch_equal(second, again);
        assert_batch_equal(first, z);
        oci_batch_release(x);
        oci_batch_release(y);
        oci_batch_release(again);
        oci_batch_release(z);
    }
    free(a.all.data);
    free(b.all.data);
    oci_batch_release(first);
    oci_batch_release(second);
    close_fixture(&f);
}

static void indices_inside_a_dictionary_are_held_against_what_is_there(void **state)
{
    (void)state;
    ipc_fixture f = open_fixture(LIMIT, NULL);
    oci_batch *large = make_nested_dictionary(1, 50);
    oci_batch *small = make_nested_dictionary(2, 2);
    three_messages a = encode_three(&f, large);
    three_messages b = encode_three(&f, small);
    oci_ipc_decoder *decoder = make_decoder(&f, large->schema, false);
    oci_batch *batch = NULL;
    oc_error err = {0};
    feed_dictionary(&f, decoder, &a, OUTER);
    assert_int_equal(feed(&f, decoder, &a, ROWS, &batch, &err), OC_EDATA);
    assert_non_null(strstr(err.message, "needs dictionary 1, which was not sent"));
    feed_dictionary(&f, decoder, &b, INNER);
    assert_int_equal(feed(&f, decoder, &a, ROWS, &batch, &err), OC_EDATA);
    assert_non_null(strstr(err.message, "dictionary index"));
    feed_dictionary(&f, decoder, &a, INNER);
    batch = feed_rows(&f, decoder, &a);
    assert_batch_equal(large, batch);
    oci_batch_release(batch);
    oci_ipc_decoder_destroy(decoder);
    free(a.all.data);
    free(b.all.data);
    oci_batch_release(large);
    oci_batch_release(small);
    close_fixture(&f);
}

static void shared_ids_need_the_same_dictionaries_inside(void **state)
{
    (void)state;
    ipc_fixture f = open_fixture(LIMIT, NULL);
    const char *columns[] = {"a=c>+l(s>u)", "b=+l(i>+l(s>u))"};
    oci_schema *schema = make_schema(columns, 2);
    int64_t good[] = {7, 3, 7, 3};
    int64_t bad[] = {7, 3, 7, 4};
    int64_t circle[] = {7, 7, 7, 7};
    oci_ipc_decoder *decoder = NULL;
    oc_error err = {0};
    assert_int_equal(oci_ipc_decoder_create(schema, &(oci_dictionary_ids){good, 4}, false, f.mem,
                                            &decoder, &err),
                     OC_OK);
    oci_ipc_decoder_destroy(decoder);
    assert_int_equal(
        oci_ipc_decoder_create(schema, &(oci_dictionary_ids){bad, 4}, false, f.mem, &decoder, &err),
        OC_EDATA);
    assert_int_equal(oci_ipc_decoder_create(schema, &(oci_dictionary_ids){circle, 4}, false, f.mem,
                                            &decoder, &err),
                     OC_EDATA);
    oci_schema_release(schema);
    close_fixture(&f);
}

/* ---- streams of others ----------------------------------------------------------------------- */

static uint8_t *read_file(const char *path, int64_t *size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *size = ftell(file);
    rewind(file);
    uint8_t *data = malloc((size_t)*size + 1);
    assert_int_equal(fread(data, 1, (size_t)*size, file), (size_t)*size);
    fclose(file);
    return data;
}

/* Reads a whole stream; batches are touched. */
static oc_status read_stream(const ipc_fixture *f, const uint8_t *data, int64_t size, oc_error *err)
{
    int64_t metadata_bytes = 0;
    int prefix_bytes = 0;
    oci_schema *schema = NULL;
    oci_dictionary_ids ids = {0};
    oci_ipc_decoder *decoder = NULL;
    if (size < 8) {
        return OC_EDATA;
    }
    OC_TRY(oci_frame_parse(data, &metadata_bytes, &prefix_bytes, err));
    if (metadata_bytes > size - prefix_bytes) {
        return OC_EDATA;
    }
    OC_TRY(oci_message_parse_schema(data + prefix_bytes, metadata_bytes, &schema, &ids, NULL, err));
    int64_t used = prefix_bytes + metadata_bytes;
    oc_status status = oci_ipc_decoder_create(schema, &ids, false, f->mem, &decoder, err);
    /* Old streams end with a marker of 4 bytes. */
    while (status == OC_OK && size - used >= 8 && used > 0) {
        oci_batch *batch = NULL;
        data += used;
        size -= used;
        status = decode_message(f, decoder, data, size, 0, &used, &batch, err);
        if (batch != NULL && batch->length < 100000) {
            touch_values(batch);
        }
        oci_batch_release(batch);
    }
    oci_ipc_decoder_destroy(decoder);
    oci_schema_release(schema);
    free(ids.ids);
    return status;
}

/* Calls on every file of a folder of the test data whose name ends so. */
static void for_each_file(const char *folder, const char *ending,
                          void (*call)(const char *path, const uint8_t *data, int64_t size))
{
    const char *root = getenv("OUTCORE_TESTING_DATA");
    char path[1024];
    if (root == NULL) {
        skip();
    }
    snprintf(path, sizeof path, "%s/%s", root, folder);
    DIR *dir = opendir(path);
    if (dir == NULL) {
        skip();
    }
    int64_t n_files = 0;
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        size_t length = strlen(entry->d_name);
        if (entry->d_name[0] != '.' && length > strlen(ending) &&
            strcmp(entry->d_name + length - strlen(ending), ending) == 0) {
            char file[2048];
            int64_t size = 0;
            snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
            uint8_t *data = read_file(file, &size);
            call(file, data, size);
            free(data);
            n_files++;
        }
    }
    closedir(dir);
    assert_true(n_files > 0);
}

static void read_golden(const char *path, const uint8_t *data, int64_t size)
{
    ipc_fixture f = open_fixture(64 << 20, NULL);
    oc_error err = {0};
    if (read_stream(&f, data, size, &err) != OC_OK) {
        fail_msg("%s: %s", path, err.message);
    }
    close_fixture(&f);
}

static void golden_streams_are_read(void **state)
{
    (void)state;
    for_each_file("arrow/golden/0.14.1", ".stream", read_golden);
    for_each_file("arrow/golden/1.0.0-littleendian", ".stream", read_golden);
    for_each_file("arrow/golden/2.0.0-compression", ".stream", read_golden);
    for_each_file("arrow/golden/4.0.0-shareddict", ".stream", read_golden);
    for_each_file("arrow/golden/cpp-21.0.0", ".stream", read_golden);
}

static void read_damaged(const char *path, const uint8_t *data, int64_t size)
{
    (void)path;
    ipc_fixture f = open_fixture(64 << 20, NULL);
    oc_error err = {0};
    /* Files have the stream behind their magic. */
    int64_t skip_bytes = size > 8 && memcmp(data, OCI_IPC_MAGIC, OCI_IPC_MAGIC_BYTES) == 0 ? 8 : 0;
    oc_status status = read_stream(&f, data + skip_bytes, size - skip_bytes, &err);
    assert_true(status == OC_OK || status == OC_EDATA || status == OC_EUNSUPPORTED ||
                status == OC_EBUDGET);
    close_fixture(&f);
}

static void streams_found_by_fuzzers_do_no_harm(void **state)
{
    (void)state;
    for_each_file("arrow/damaged", "", read_damaged);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_damaged_byte_is_an_error_or_can_be_read),
        cmocka_unit_test(any_damaged_byte_of_nested_columns_is_an_error_or_can_be_read),
        cmocka_unit_test(forged_length_prefixes_are_refused_without_taking_memory),
        cmocka_unit_test(lists_are_held_against_the_schema),
        cmocka_unit_test(children_are_held_against_the_rows_around_them),
        cmocka_unit_test(body_may_begin_at_any_address),
        cmocka_unit_test(reservation_pays_for_decompression),
        cmocka_unit_test(delta_dictionaries_are_appended),
        cmocka_unit_test(delta_dictionaries_of_nested_values_are_appended),
        cmocka_unit_test(replaced_dictionary_leaves_older_batches_alone),
        cmocka_unit_test(missing_dictionary_is_named_unless_all_is_null),
        cmocka_unit_test(shared_dictionary_ids_need_one_type),
        cmocka_unit_test(dictionaries_inside_others_may_come_in_any_order),
        cmocka_unit_test(indices_inside_a_dictionary_are_held_against_what_is_there),
        cmocka_unit_test(shared_ids_need_the_same_dictionaries_inside),
        cmocka_unit_test(golden_streams_are_read),
        cmocka_unit_test(streams_found_by_fuzzers_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
