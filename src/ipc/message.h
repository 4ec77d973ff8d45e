/* Arrow IPC metadata: verify, then read; and build.
 *
 * The metadata of IPC messages are flatbuffers of the Arrow project's schemas (Schema.fbs,
 * Message.fbs, File.fbs), version V5 or V4 (which differs in the buffers of unions, see
 * layout_walk.h). A parse call first verifies that every offset, vtable, vector and string that it
 * is going to touch lies inside the given bytes, and checks counts, lengths and kinds; what it
 * returns can be trusted to be self-consistent, and is still to be held against the body (see
 * decoder.h). Custom metadata of messages is passed over but for a checksum; that of schemas and
 * fields is kept. */
#ifndef OUTCORE_IPC_MESSAGE_H
#define OUTCORE_IPC_MESSAGE_H

#include "arrow/schema.h"
#include "codec/codec.h"

typedef enum oci_message_kind {
    OCI_MESSAGE_SCHEMA,
    OCI_MESSAGE_DICTIONARY,
    OCI_MESSAGE_BATCH
} oci_message_kind; /* tensors and unknown kinds: OC_EUNSUPPORTED by name */

typedef struct oci_ipc_node {
    int64_t length;
    int64_t null_count;
} oci_ipc_node;

typedef struct oci_ipc_buffer {
    int64_t offset; /* into the body */
    int64_t length;
} oci_ipc_buffer;

/* A parsed message; the pointers lie inside the metadata bytes that were parsed. Read nodes and
 * buffers with the accessors. */
typedef struct oci_message {
    oci_message_kind kind;
    int version; /* OCI_IPC_V4 or OCI_IPC_V5 of layout_walk.h; building writes V5 whatever it says */
    int64_t body_bytes;
    int64_t length; /* rows of the batch (or of the dictionary) */
    int64_t n_nodes;
    const uint8_t *nodes;
    int64_t n_buffers;
    const uint8_t *buffers;
    int64_t n_variadic;
    const uint8_t *variadic;
    oci_codec_id codec;
    int64_t dictionary_id;
    bool dictionary_delta;
    /* Parsing: the 16 digits of the message's checksum inside the metadata, or NULL. Building: not
     * NULL asks for the slot, filled with '0' (what it points to does not matter). See
     * OCI_CHECKSUM_KEY. */
    const uint8_t *checksum;
} oci_message;

/* Key of the checksum in a message's custom metadata; its value has OCI_CHECKSUM_DIGITS bytes. */
#define OCI_CHECKSUM_KEY    "outcore:xxh3"
#define OCI_CHECKSUM_DIGITS 16

oci_ipc_node oci_message_node(const oci_message *message, int64_t i);
oci_ipc_buffer oci_message_buffer(const oci_message *message, int64_t i);
int64_t oci_message_variadic(const oci_message *message, int64_t i);

/* `metadata` is the flatbuffer without the 8-byte prefix. Every buffer is checked to lie inside
 * body_bytes. */
OC_NODISCARD oc_status oci_message_parse(const uint8_t *metadata, int64_t size, oci_message *out,
                                         oc_error *err);

/* Dictionary ids of a schema: one entry for each dictionary field, depth first; a field comes before
 * those in the type of its values. */
typedef struct oci_dictionary_ids {
    int64_t *ids; /* malloc'ed */
    int32_t n;
} oci_dictionary_ids;

/* Parses the schema of a schema message. Unknown types and features: OC_EUNSUPPORTED by name. ids
 * (may be NULL) gets the dictionary ids; free ids->ids. *big_endian: whether the bodies are (the
 * metadata never is); NULL refuses such a schema. */
OC_NODISCARD oc_status oci_message_parse_schema(const uint8_t *metadata, int64_t size,
                                                oci_schema **out, oci_dictionary_ids *ids,
                                                bool *big_endian, oc_error *err);

/* The prefix in front of every message: FF FF FF FF and the int32 size of the metadata (or, before
 * Arrow 0.15, the size alone). *metadata_bytes 0 = end of stream. *prefix_bytes: 8 or 4. Metadata
 * over 256 MiB is refused. */
#define OCI_IPC_PREFIX_BYTES 8
OC_NODISCARD oc_status oci_frame_parse(const uint8_t prefix[8], int64_t *metadata_bytes,
                                       int *prefix_bytes, oc_error *err);

/* -- building ----------------------------------------------------------------------------------
 * All write a framed message (prefix, metadata, a multiple of 8 bytes together) into a malloc'ed
 * block; metadata does not grow with rows, so it is not charged. The size of a record batch header
 * depends on kind, codec or none, and the numbers of nodes, buffers and variadic counts alone,
 * never on their values. */
typedef struct oci_bytes {
    uint8_t *data; /* malloc'ed; free() */
    int64_t size;
} oci_bytes;

/* Dictionary ids are 0, 1, 2, ... depth-first. */
OC_NODISCARD oc_status oci_message_build_schema(const oci_schema *schema, bool with_checksum,
                                                oci_bytes *out, oc_error *err);
/* A record batch or dictionary: kind, body_bytes, length, n_*, codec and dictionary_* of `fields`,
 * the arrays apart. */
OC_NODISCARD oc_status oci_message_build_batch(const oci_message *fields, const oci_ipc_node *nodes,
                                               const oci_ipc_buffer *buffers,
                                               const int64_t *variadic, oci_bytes *out,
                                               oc_error *err);

/* Stretches a framed message of `size` bytes at `data` to `padded` (multiples of 8) with zeros that
 * count as metadata. */
void oci_frame_pad(uint8_t *data, int64_t size, int64_t padded);

/* The file format: magic and padding, a stream, the footer, its int32 size and the magic again. */
#define OCI_IPC_MAGIC "ARROW1"
enum {
    OCI_IPC_MAGIC_BYTES = 6,
    OCI_IPC_FILE_HEAD_BYTES = 8,
    OCI_IPC_FILE_TAIL_BYTES = 4 + OCI_IPC_MAGIC_BYTES
};

/* File format footer (the flatbuffer only). Blocks: offset, metadata length (with prefix and
 * padding), body length. */
typedef struct oci_ipc_file_block {
    int64_t offset;
    int32_t metadata_bytes;
    int64_t body_bytes;
} oci_ipc_file_block;

typedef struct oci_ipc_footer {
    oci_schema *schema; /* retained */
    oci_dictionary_ids ids;
    bool big_endian;
    oci_ipc_file_block *dictionaries; /* malloc'ed */
    int64_t n_dictionaries;
    oci_ipc_file_block *batches; /* malloc'ed */
    int64_t n_batches;
} oci_ipc_footer;

/* Every block is checked to lie inside [8, file_bytes) and to begin at a multiple of 8. `out` is
 * zeroed after a failure. */
OC_NODISCARD oc_status oci_footer_parse(const uint8_t *data, int64_t size, int64_t file_bytes,
                                        oci_ipc_footer *out, oc_error *err);
/* Takes schema and blocks; dictionary ids are 0, 1, 2, ... depth-first. */
OC_NODISCARD oc_status oci_footer_build(const oci_ipc_footer *footer, oci_bytes *out,
                                        oc_error *err);
void oci_footer_deinit(oci_ipc_footer *footer);

#endif /* OUTCORE_IPC_MESSAGE_H */
