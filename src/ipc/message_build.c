/* Building messages and footers. Every field is written, also where it has its default value: so
 * the size of a record batch header depends on the numbers of nodes, buffers and variadic counts
 * alone, which the encoder relies on.
 *
 * Messages and footers come from malloc: they grow with columns and messages, not with rows. */
#include "ipc/message.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "ipc/message_internal.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "nodes, buffers and counts are written as they lie in memory");

void oci_frame_pad(uint8_t *data, int64_t size, int64_t padded)
{
    assert(size % 8 == 0 && padded % 8 == 0 && size <= padded && padded <= INT32_MAX);
    oci_store_le32(data, UINT32_MAX);
    oci_store_le32(data + 4, (uint32_t)(padded - OCI_IPC_PREFIX_BYTES));
    memset(data + size, 0, (size_t)(padded - size));
}

/* Puts the prefix in front of the finished flatbuffer of `b`. */
static oc_status frame(const oci_fb_builder *b, oci_bytes *out, oc_error *err)
{
    int64_t size = OCI_IPC_PREFIX_BYTES + b->used;
    uint8_t *data = malloc((size_t)size);
    if (data == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while building Arrow metadata of %" PRId64 " bytes",
                size);
    }
    memcpy(data + OCI_IPC_PREFIX_BYTES, oci_fb_bytes(b), (size_t)b->used);
    *out = (oci_bytes){data, size};
    oci_frame_pad(out->data, size, size);
    return OC_OK;
}

/* Custom metadata of a message: a checksum that is still to be filled in. */
static oci_fb_ref write_checksum_slot(oci_fb_builder *b)
{
    char digits[OCI_CHECKSUM_DIGITS];
    memset(digits, '0', sizeof digits);
    oci_fb_ref value = oci_fb_put_string(b, digits, OCI_CHECKSUM_DIGITS);
    oci_fb_ref key = oci_fb_put_string(b, OCI_CHECKSUM_KEY, sizeof OCI_CHECKSUM_KEY - 1);
    oci_fb_begin_table(b);
    oci_fb_add_ref(b, KEY_VALUE_KEY, key);
    oci_fb_add_ref(b, KEY_VALUE_VALUE, value);
    oci_fb_ref pair = oci_fb_end_table(b);
    return oci_fb_put_refs(b, &pair, 1);
}

static oci_fb_ref write_message(oci_fb_builder *b, int kind, oci_fb_ref header, int64_t body_bytes,
                                bool with_checksum)
{
    oci_fb_ref metadata = with_checksum ? write_checksum_slot(b) : 0;
    oci_fb_begin_table(b);
    oci_fb_add_integer(b, MESSAGE_BODY_LENGTH, 8, body_bytes);
    oci_fb_add_ref(b, MESSAGE_HEADER, header);
    oci_fb_add_ref(b, MESSAGE_METADATA, metadata);
    oci_fb_add_integer(b, MESSAGE_VERSION, 2, FB_VERSION_V5);
    oci_fb_add_integer(b, MESSAGE_HEADER_TYPE, 1, kind);
    return oci_fb_end_table(b);
}

oc_status oci_message_build_schema(const oci_schema *schema, bool with_checksum, oci_bytes *out,
                                   oc_error *err)
{
    *out = (oci_bytes){0};
    oci_fb_builder b = {0};
    oc_status status = OC_OK;
    oci_fb_ref header = 0;
    OC_GOTO(oci_schema_write(&b, schema, &header, err));
    oci_fb_ref message = write_message(&b, FB_HEADER_SCHEMA, header, 0, with_checksum);
    OC_GOTO(oci_fb_finish(&b, message, err));
    OC_GOTO(frame(&b, out, err));
done:
    oci_fb_deinit(&b);
    return status;
}

static oci_fb_ref write_batch(oci_fb_builder *b, const oci_message *fields,
                              const oci_ipc_node *nodes, const oci_ipc_buffer *buffers,
                              const int64_t *variadic)
{
    oci_fb_ref counts = 0;
    if (fields->n_variadic > 0) {
        counts = oci_fb_put_vector(b, variadic, fields->n_variadic, 8, 8);
    }
    oci_fb_ref compression = 0;
    if (fields->codec != OCI_CODEC_NONE) {
        oci_fb_begin_table(b);
        oci_fb_add_integer(b, COMPRESSION_CODEC, 1, fields->codec == OCI_CODEC_LZ4_FRAME ? 0 : 1);
        oci_fb_add_integer(b, COMPRESSION_METHOD, 1, 0);
        compression = oci_fb_end_table(b);
    }
    oci_fb_ref buffer_vector = oci_fb_put_vector(b, buffers, fields->n_buffers, FB_BUFFER_BYTES, 8);
    oci_fb_ref node_vector = oci_fb_put_vector(b, nodes, fields->n_nodes, FB_NODE_BYTES, 8);
    oci_fb_begin_table(b);
    oci_fb_add_integer(b, BATCH_LENGTH, 8, fields->length);
    oci_fb_add_ref(b, BATCH_NODES, node_vector);
    oci_fb_add_ref(b, BATCH_BUFFERS, buffer_vector);
    oci_fb_add_ref(b, BATCH_COMPRESSION, compression);
    oci_fb_add_ref(b, BATCH_VARIADIC_COUNTS, counts);
    return oci_fb_end_table(b);
}

oc_status oci_message_build_batch(const oci_message *fields, const oci_ipc_node *nodes,
                                  const oci_ipc_buffer *buffers, const int64_t *variadic,
                                  oci_bytes *out, oc_error *err)
{
    assert(fields->kind != OCI_MESSAGE_SCHEMA);
    *out = (oci_bytes){0};
    oci_fb_builder b = {0};
    oc_status status = OC_OK;
    int kind = FB_HEADER_RECORD_BATCH;
    oci_fb_ref header = write_batch(&b, fields, nodes, buffers, variadic);
    if (fields->kind == OCI_MESSAGE_DICTIONARY) {
        oci_fb_begin_table(&b);
        oci_fb_add_integer(&b, DICTIONARY_ID, 8, fields->dictionary_id);
        oci_fb_add_ref(&b, DICTIONARY_DATA, header);
        oci_fb_add_integer(&b, DICTIONARY_IS_DELTA, 1, fields->dictionary_delta);
        header = oci_fb_end_table(&b);
        kind = FB_HEADER_DICTIONARY_BATCH;
    }
    oci_fb_ref message =
        write_message(&b, kind, header, fields->body_bytes, fields->checksum != NULL);
    OC_GOTO(oci_fb_finish(&b, message, err));
    OC_GOTO(frame(&b, out, err));
done:
    oci_fb_deinit(&b);
    return status;
}

/* Blocks have padding inside, so they are written byte by byte. 0 = out of memory. */
static oci_fb_ref write_blocks(oci_fb_builder *b, const oci_ipc_file_block *blocks, int64_t n)
{
    uint8_t *bytes = calloc((size_t)n + 1, FB_BLOCK_BYTES);
    if (bytes == NULL) {
        b->failed = true;
        return 0;
    }
    for (int64_t i = 0; i < n; i++) {
        uint8_t *at = bytes + FB_BLOCK_BYTES * i;
        oci_store_le64(at, (uint64_t)blocks[i].offset);
        oci_store_le32(at + 8, (uint32_t)blocks[i].metadata_bytes);
        oci_store_le64(at + 16, (uint64_t)blocks[i].body_bytes);
    }
    oci_fb_ref ref = oci_fb_put_vector(b, bytes, n, FB_BLOCK_BYTES, 8);
    free(bytes);
    return ref;
}

oc_status oci_footer_build(const oci_ipc_footer *footer, oci_bytes *out, oc_error *err)
{
    *out = (oci_bytes){0};
    oci_fb_builder b = {0};
    oc_status status = OC_OK;
    oci_fb_ref schema = 0;
    OC_GOTO(oci_schema_write(&b, footer->schema, &schema, err));
    oci_fb_ref batches = write_blocks(&b, footer->batches, footer->n_batches);
    oci_fb_ref dictionaries = write_blocks(&b, footer->dictionaries, footer->n_dictionaries);
    oci_fb_begin_table(&b);
    oci_fb_add_ref(&b, FOOTER_SCHEMA, schema);
    oci_fb_add_ref(&b, FOOTER_DICTIONARIES, dictionaries);
    oci_fb_add_ref(&b, FOOTER_BATCHES, batches);
    oci_fb_add_integer(&b, FOOTER_VERSION, 2, FB_VERSION_V5);
    OC_GOTO(oci_fb_finish(&b, oci_fb_end_table(&b), err));
    out->data = malloc((size_t)b.used);
    if (out->data == NULL) {
        status = OC_SET(err, OC_ENOMEM, "out of memory while building a file footer");
        goto done;
    }
    memcpy(out->data, oci_fb_bytes(&b), (size_t)b.used);
    out->size = b.used;
done:
    oci_fb_deinit(&b);
    return status;
}
