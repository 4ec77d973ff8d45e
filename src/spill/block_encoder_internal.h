/* What the parts of the block encoder share: which stream is open, and what is made of it. For
 * block_*.c. */
#ifndef OUTCORE_SPILL_BLOCK_ENCODER_INTERNAL_H
#define OUTCORE_SPILL_BLOCK_ENCODER_INTERNAL_H

#include "ipc/encoder.h"
#include "ipc/message.h"
#include "spill/block_encoder.h"
#include "spill/layout.h"

typedef enum oci_stream_kind {
    OCI_STREAM_NONE = -1,
    OCI_STREAM_PLAIN,
    OCI_STREAM_DENSE,
    OCI_STREAM_KINDS
} oci_stream_kind;

struct oci_block_encoder {
    oci_spill_manager *manager;
    oci_schema *schema;
    oci_spill_encoding encoding;
    bool with_checksum;
    oci_codec_setting codec; /* of the block at hand */
    oci_spill_layout *layouts[OCI_STREAM_KINDS];
    oci_ipc_encoder *encoders[OCI_STREAM_KINDS];
    oci_packer *packer;    /* AUTO only */
    int64_t opening_bytes; /* of a schema message: what beginning another stream costs */
    int64_t n_nodes;       /* of the logical schema, dictionaries included */

    /* of the run */
    oci_stream_kind stream; /* that is open */
    bool is_first;          /* no block yet */
    int64_t place;          /* of the next message */
    uint8_t run_id[OCI_SEAL_RUN_ID_BYTES];

    int32_t plain_left; /* AUTO: blocks to come before packing is tried again */

    /* of the block at hand */
    oci_batch *physical;
    uint8_t *sealed;
    int64_t sealed_capacity;
    oci_bytes opening; /* malloc'ed */
};

/* ---- memory: block_memory.c ------------------------------------------------------------------ */

/* What the buffers of a batch's messages take. */
typedef struct oci_message_sizes {
    int64_t bytes; /* all of them, dictionaries included */
    int64_t n_buffers;
    int64_t dictionary_bytes;
    int64_t dictionary_charge; /* in memory, each dictionary by itself */
} oci_message_sizes;

oci_message_sizes oci_measure_messages(const oci_batch *batch);
/* Memory that packing a block takes, and writing it then. There is a dense layout. */
int64_t oci_block_encoder_dense_space(const oci_block_encoder *encoder, int64_t slab_bytes,
                                      int64_t rows);
/* What reading the block takes; it was made from `batch`, and `body` went into the codec. */
void oci_block_encoder_note_memory(const oci_block_encoder *encoder, const oci_batch *batch,
                                   const oci_message_sizes *body, oci_block *out);

/* ---- messages: block_messages.c -------------------------------------------------------------- */

/* Adds a schema message, which gets its checksum, to the opening, behind the end of the stream
 * before. */
OC_NODISCARD oc_status oci_block_encoder_append_schema(oci_block_encoder *encoder, uint8_t *schema,
                                                       int64_t size, oc_error *err);
OC_NODISCARD oc_status oci_block_encoder_append_end(oci_block_encoder *encoder, oc_error *err);
void oci_block_encoder_clear_opening(oci_block_encoder *encoder);
/* A block's messages get their checksums, or are sealed into a buffer of their own. */
OC_NODISCARD oc_status oci_block_encoder_secure(oci_block_encoder *encoder, oci_reservation *from,
                                                uint8_t *data, int64_t size, oci_block *out,
                                                oc_error *err);

#endif /* OUTCORE_SPILL_BLOCK_ENCODER_INTERNAL_H */
