/* Reading messages, the prefix in front of them, and the footer of files. Schemas are read in
 * message_schema.c.
 *
 * The lists of a footer come from malloc; they take no more than the footer itself does. */
#include "ipc/message.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "ipc/message_internal.h"

#define METADATA_BYTES_MAX (256 * 1024 * 1024)

/* The key under which Arrow 0.17 announced compressed bodies before the format had a place for
 * it. */
static const char old_compression_key[] = "ARROW:experimental_compression";

/* ---- common ---------------------------------------------------------------------------------- */

oc_status oci_fb_check(const oci_fb *fb, oc_error *err)
{
    if (fb->problem != NULL) {
        OC_FAIL(err, OC_EDATA, "Arrow metadata of %" PRId64 " bytes is damaged: %s", fb->size,
                fb->problem);
    }
    return OC_OK;
}

oc_status oci_metadata_version_check(int64_t version, oc_error *err)
{
    if (version < 0) {
        OC_FAIL(err, OC_EDATA, "Arrow metadata is damaged: version number %" PRId64, version);
    }
    if (version != FB_VERSION_V4 && version != FB_VERSION_V5) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "Arrow metadata has version V%" PRId64
                "; V4 and V5 are supported (Arrow 0.8 and later)",
                version + 1);
    }
    return OC_OK;
}

oci_ipc_node oci_message_node(const oci_message *message, int64_t i)
{
    assert(i >= 0 && i < message->n_nodes);
    const uint8_t *at = message->nodes + FB_NODE_BYTES * i;
    return (oci_ipc_node){(int64_t)oci_load_le64(at), (int64_t)oci_load_le64(at + 8)};
}

oci_ipc_buffer oci_message_buffer(const oci_message *message, int64_t i)
{
    assert(i >= 0 && i < message->n_buffers);
    const uint8_t *at = message->buffers + FB_BUFFER_BYTES * i;
    return (oci_ipc_buffer){(int64_t)oci_load_le64(at), (int64_t)oci_load_le64(at + 8)};
}

int64_t oci_message_variadic(const oci_message *message, int64_t i)
{
    assert(i >= 0 && i < message->n_variadic);
    return (int64_t)oci_load_le64(message->variadic + 8 * i);
}

/* ---- record batches -------------------------------------------------------------------------- */

static oc_status check_nodes(const oci_message *message, oc_error *err)
{
    for (int64_t i = 0; i < message->n_nodes; i++) {
        oci_ipc_node node = oci_message_node(message, i);
        if (node.length < 0 || node.null_count < 0 || node.null_count > node.length) {
            OC_FAIL(err, OC_EDATA,
                    "Arrow metadata is damaged: node %" PRId64 " has %" PRId64
                    " values and %" PRId64 " nulls",
                    i, node.length, node.null_count);
        }
    }
    return OC_OK;
}

static oc_status check_buffers(const oci_message *message, oc_error *err)
{
    for (int64_t i = 0; i < message->n_buffers; i++) {
        oci_ipc_buffer buffer = oci_message_buffer(message, i);
        if (buffer.offset < 0 || buffer.length < 0 || buffer.length > message->body_bytes ||
            buffer.offset > message->body_bytes - buffer.length) {
            OC_FAIL(err, OC_EDATA,
                    "Arrow metadata is damaged: buffer %" PRId64 " (%" PRId64 " bytes at %" PRId64
                    ") lies outside the message body of %" PRId64 " bytes",
                    i, buffer.length, buffer.offset, message->body_bytes);
        }
    }
    for (int64_t i = 0; i < message->n_variadic; i++) {
        if (oci_message_variadic(message, i) < 0) {
            OC_FAIL(err, OC_EDATA,
                    "Arrow metadata is damaged: a column has %" PRId64 " view buffers",
                    oci_message_variadic(message, i));
        }
    }
    return OC_OK;
}

static oc_status parse_compression(oci_fb *fb, const oci_fb_table *batch, oci_message *out,
                                   oc_error *err)
{
    oci_fb_table compression = oci_fb_child(fb, batch, BATCH_COMPRESSION);
    out->codec = OCI_CODEC_NONE;
    if (compression.position == 0) {
        return OC_OK;
    }
    int64_t codec = oci_fb_integer(fb, &compression, COMPRESSION_CODEC, 1, 0);
    int64_t method = oci_fb_integer(fb, &compression, COMPRESSION_METHOD, 1, 0);
    if (codec < 0 || codec > 1) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "message is compressed with codec number %" PRId64
                "; lz4_frame (0) and zstd (1) are known",
                codec);
    }
    if (method != 0) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "message is compressed by method number %" PRId64
                "; only buffer by buffer (0) is known",
                method);
    }
    out->codec = codec == 0 ? OCI_CODEC_LZ4_FRAME : OCI_CODEC_ZSTD;
    return OC_OK;
}

static oc_status parse_batch(oci_fb *fb, const oci_fb_table *batch, oci_message *out, oc_error *err)
{
    if (fb->problem == NULL && batch->position == 0) {
        OC_FAIL(err, OC_EDATA, "Arrow metadata is damaged: a message has no content");
    }
    out->length = oci_fb_integer(fb, batch, BATCH_LENGTH, 8, 0);
    oci_fb_vector nodes = oci_fb_get_vector(fb, batch, BATCH_NODES, FB_NODE_BYTES);
    oci_fb_vector buffers = oci_fb_get_vector(fb, batch, BATCH_BUFFERS, FB_BUFFER_BYTES);
    oci_fb_vector variadic = oci_fb_get_vector(fb, batch, BATCH_VARIADIC_COUNTS, 8);
    OC_TRY(parse_compression(fb, batch, out, err));
    OC_TRY(oci_fb_check(fb, err));
    out->nodes = nodes.data;
    out->n_nodes = nodes.n;
    out->buffers = buffers.data;
    out->n_buffers = buffers.n;
    out->variadic = variadic.data;
    out->n_variadic = variadic.n;
    if (out->length < 0) {
        OC_FAIL(err, OC_EDATA, "Arrow metadata is damaged: a batch has %" PRId64 " rows",
                out->length);
    }
    OC_TRY(check_nodes(out, err));
    return check_buffers(out, err);
}

/* ---- messages -------------------------------------------------------------------------------- */

static bool is_text(const oci_fb_vector *vector, const char *text)
{
    return vector->n == (int64_t)strlen(text) && memcmp(vector->data, text, (size_t)vector->n) == 0;
}

/* Looks for what we know in a message's custom metadata. */
static oc_status read_custom_metadata(oci_fb *fb, const oci_fb_table *message, oci_message *out,
                                      oc_error *err)
{
    oci_fb_vector pairs = oci_fb_get_vector(fb, message, MESSAGE_METADATA, 4);
    for (int64_t i = 0; i < pairs.n && fb->problem == NULL; i++) {
        oci_fb_table pair = oci_fb_element(fb, &pairs, i);
        oci_fb_vector key = oci_fb_get_vector(fb, &pair, KEY_VALUE_KEY, 1);
        if (is_text(&key, old_compression_key) && out->kind != OCI_MESSAGE_SCHEMA) {
            OC_FAIL(err, OC_EUNSUPPORTED,
                    "message is compressed in the experimental way of Arrow 0.17; write it with a "
                    "later version");
        }
        if (is_text(&key, OCI_CHECKSUM_KEY) && out->checksum == NULL) {
            oci_fb_vector value = oci_fb_get_vector(fb, &pair, KEY_VALUE_VALUE, 1);
            out->checksum = value.n == OCI_CHECKSUM_DIGITS ? value.data : NULL;
        }
    }
    return oci_fb_check(fb, err);
}

/* Gives the header table and what every message has. */
static oc_status parse_envelope(oci_fb *fb, oci_message *out, oci_fb_table *header, oc_error *err)
{
    oci_fb_table message = oci_fb_root(fb);
    int64_t version = oci_fb_integer(fb, &message, MESSAGE_VERSION, 2, 0);
    int64_t kind = oci_fb_integer(fb, &message, MESSAGE_HEADER_TYPE, 1, 0);
    *header = oci_fb_child(fb, &message, MESSAGE_HEADER);
    *out = (oci_message){.body_bytes = oci_fb_integer(fb, &message, MESSAGE_BODY_LENGTH, 8, 0)};
    OC_TRY(oci_fb_check(fb, err));
    OC_TRY(oci_metadata_version_check(version, err));
    out->version = (int)version + 1;
    if (out->body_bytes < 0) {
        OC_FAIL(err, OC_EDATA, "Arrow metadata is damaged: a message body has %" PRId64 " bytes",
                out->body_bytes);
    }
    switch (kind) {
    case FB_HEADER_SCHEMA: out->kind = OCI_MESSAGE_SCHEMA; break;
    case FB_HEADER_DICTIONARY_BATCH: out->kind = OCI_MESSAGE_DICTIONARY; break;
    case FB_HEADER_RECORD_BATCH: out->kind = OCI_MESSAGE_BATCH; break;
    case FB_HEADER_TENSOR:
    case FB_HEADER_SPARSE_TENSOR:
        OC_FAIL(err, OC_EUNSUPPORTED, "message holds a %s, which is not supported",
                kind == FB_HEADER_TENSOR ? "tensor" : "sparse tensor");
    case 0: OC_FAIL(err, OC_EDATA, "Arrow metadata is damaged: a message has no content");
    default:
        OC_FAIL(err, OC_EUNSUPPORTED, "message is of a kind that is not known (number %" PRId64 ")",
                kind & 0xFF);
    }
    return read_custom_metadata(fb, &message, out, err);
}

oc_status oci_message_parse(const uint8_t *metadata, int64_t size, oci_message *out, oc_error *err)
{
    oci_fb fb = {.data = metadata, .size = size};
    oci_fb_table header = {0};
    OC_TRY(parse_envelope(&fb, out, &header, err));
    if (out->kind == OCI_MESSAGE_SCHEMA) {
        return OC_OK;
    }
    if (out->kind == OCI_MESSAGE_BATCH) {
        return parse_batch(&fb, &header, out, err);
    }
    out->dictionary_id = oci_fb_integer(&fb, &header, DICTIONARY_ID, 8, 0);
    out->dictionary_delta = oci_fb_integer(&fb, &header, DICTIONARY_IS_DELTA, 1, 0) != 0;
    oci_fb_table data = oci_fb_child(&fb, &header, DICTIONARY_DATA);
    return parse_batch(&fb, &data, out, err);
}

oc_status oci_message_parse_schema(const uint8_t *metadata, int64_t size, oci_schema **out,
                                   oci_dictionary_ids *ids, bool *big_endian, oc_error *err)
{
    *out = NULL;
    oci_fb fb = {.data = metadata, .size = size};
    oci_message message;
    oci_fb_table header = {0};
    OC_TRY(parse_envelope(&fb, &message, &header, err));
    if (message.kind != OCI_MESSAGE_SCHEMA || header.position == 0) {
        OC_FAIL(err, OC_EDATA, "Arrow stream does not begin with a schema");
    }
    return oci_schema_read(&fb, &header, out, ids, big_endian, err);
}

/* ---- framing --------------------------------------------------------------------------------- */

oc_status oci_frame_parse(const uint8_t prefix[8], int64_t *metadata_bytes, int *prefix_bytes,
                          oc_error *err)
{
    uint32_t first = oci_load_le32(prefix);
    *prefix_bytes = first == UINT32_MAX ? 8 : 4;
    int64_t size = (int32_t)(first == UINT32_MAX ? oci_load_le32(prefix + 4) : first);
    if (size < 0) {
        OC_FAIL(err, OC_EDATA,
                "Arrow message is damaged: its metadata has %" PRId64
                " bytes; this may not be an Arrow stream",
                size);
    }
    if (size > METADATA_BYTES_MAX) {
        OC_FAIL(err, OC_EDATA,
                "Arrow message claims %" PRId64
                " bytes of metadata, more than the %d that are taken; this may not"
                " be an Arrow stream",
                size, METADATA_BYTES_MAX);
    }
    *metadata_bytes = size;
    return OC_OK;
}

/* ---- footers --------------------------------------------------------------------------------- */

static oc_status check_block(const oci_ipc_file_block *block, int64_t i, const char *kind,
                             int64_t file_bytes, oc_error *err)
{
    int64_t end = 0;
    if (block->offset < 8 || block->metadata_bytes <= 0 || block->body_bytes < 0 ||
        !oci_add64(block->offset, block->metadata_bytes, &end) ||
        !oci_add64(end, block->body_bytes, &end) || end > file_bytes) {
        OC_FAIL(err, OC_EDATA,
                "file footer is damaged: %s %" PRId64 " (%" PRId32 " + %" PRId64
                " bytes at %" PRId64 ") lies outside the file of %" PRId64 " bytes",
                kind, i, block->metadata_bytes, block->body_bytes, block->offset, file_bytes);
    }
    if (block->offset % 8 != 0) {
        OC_FAIL(err, OC_EDATA,
                "file footer is damaged: %s %" PRId64 " begins at %" PRId64 ", not a multiple of 8",
                kind, i, block->offset);
    }
    return OC_OK;
}

static oc_status read_blocks(oci_fb *fb, const oci_fb_table *footer, int field, const char *kind,
                             int64_t file_bytes, oci_ipc_file_block **out, int64_t *n,
                             oc_error *err)
{
    oci_fb_vector vector = oci_fb_get_vector(fb, footer, field, FB_BLOCK_BYTES);
    OC_TRY(oci_fb_check(fb, err));
    *out = calloc((size_t)vector.n + 1, sizeof **out);
    if (*out == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while reading a file footer");
    }
    *n = vector.n;
    for (int64_t i = 0; i < vector.n; i++) {
        const uint8_t *at = vector.data + FB_BLOCK_BYTES * i;
        (*out)[i] = (oci_ipc_file_block){
            .offset = (int64_t)oci_load_le64(at),
            .metadata_bytes = (int32_t)oci_load_le32(at + 8),
            .body_bytes = (int64_t)oci_load_le64(at + 16),
        };
        OC_TRY(check_block(&(*out)[i], i, kind, file_bytes, err));
    }
    return OC_OK;
}

oc_status oci_footer_parse(const uint8_t *data, int64_t size, int64_t file_bytes,
                           oci_ipc_footer *out, oc_error *err)
{
    *out = (oci_ipc_footer){0};
    oci_fb fb = {.data = data, .size = size};
    oci_fb_table footer = oci_fb_root(&fb);
    /* The version is not looked at: writers of 2019 left it out of the footer, and the messages
     * tell it again. */
    oci_fb_table schema = oci_fb_child(&fb, &footer, FOOTER_SCHEMA);
    OC_TRY(oci_fb_check(&fb, err));
    if (schema.position == 0) {
        OC_FAIL(err, OC_EDATA, "file footer is damaged: it has no schema");
    }
    oc_status status = OC_OK;
    OC_GOTO(oci_schema_read(&fb, &schema, &out->schema, &out->ids, &out->big_endian, err));
    OC_GOTO(read_blocks(&fb, &footer, FOOTER_DICTIONARIES, "dictionary", file_bytes,
                        &out->dictionaries, &out->n_dictionaries, err));
    OC_GOTO(read_blocks(&fb, &footer, FOOTER_BATCHES, "record batch", file_bytes, &out->batches,
                        &out->n_batches, err));
done:
    if (status != OC_OK) {
        oci_footer_deinit(out);
    }
    return status;
}

void oci_footer_deinit(oci_ipc_footer *footer)
{
    oci_schema_release(footer->schema);
    free(footer->ids.ids);
    free(footer->dictionaries);
    free(footer->batches);
    *footer = (oci_ipc_footer){0};
}
