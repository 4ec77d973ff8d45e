/* What the parts of the encoder share. For encoder*.c. */
#ifndef OUTCORE_IPC_ENCODER_INTERNAL_H
#define OUTCORE_IPC_ENCODER_INTERNAL_H

#include "ipc/encoder.h"
#include "ipc/encoder_pack.h"
#include "ipc/layout_walk.h"
#include "ipc/message.h"

#define OCI_HEAD_ALIGN 64 /* bodies of slabs begin at a multiple of this, for the CPU's sake */
#define OCI_BODY_ALIGN 8  /* buffers in a body */

typedef struct oci_sent_dictionary {
    int64_t id;
    int32_t first_inside;     /* those in its values are listed from here on up to itself */
    int64_t head_bytes;       /* of a dictionary message, without view buffers */
    oci_tree_shape shape;     /* of one, the same */
    int64_t first_buffer;     /* as the packer numbers them */
    const oci_column *values; /* of the batch at hand */
    bool is_sent;
    bool is_due;             /* in this batch */
    uint64_t fingerprint[2]; /* of the one sent last, when is_sent */
    uint64_t due_fingerprint[2];
} oci_sent_dictionary;

struct oci_ipc_encoder {
    oci_schema *schema;
    oci_body_packer packer;
    bool with_checksum; /* messages have a slot for one */
    oci_mem *mem;
    int64_t head_bytes;
    oci_tree_shape shape;    /* of a record batch */
    int64_t n_plain_buffers; /* of a batch and all its dictionaries, without view buffers */
    int32_t n_dictionaries;
    oci_sent_dictionary *dictionaries;
    oci_bytes schema_message;
    /* the buffer: messages from the front, scratch room at the end */
    oci_mem *buffer_mem;
    uint8_t *buffer;
    int64_t capacity;
    /* lists for the message that is being written */
    oci_ipc_node *nodes;
    int64_t *variadic;
    oci_ipc_buffer *buffers;
    int64_t buffers_max;
    oci_ipc_extent *extents;
    int32_t n_extents;
};

/* What asks a message for a checksum slot, or NULL. */
const uint8_t *oci_encoder_checksum_slot(const oci_ipc_encoder *encoder);
void oci_encoder_add_extent(oci_ipc_encoder *encoder, int64_t offset, int64_t head_bytes,
                            int64_t body_bytes, bool is_dictionary);

/* ---- one message: encoder_message.c ----------------------------------------------------------- */

/* What messages take at most. */
typedef struct oci_message_measure {
    const oci_body_packer *packer;
    int64_t n_buffers;
    int64_t n_view_buffers;
    int64_t bytes;   /* bound of the body */
    int64_t scratch; /* largest buffer that has to be made before it is compressed */
} oci_message_measure;

/* Adds what a column takes; `measure` has the packer. */
void oci_measure_column(oci_message_measure *measure, const oci_column *column);
/* View buffers come on top of what the head was measured with. */
int64_t oci_head_with_views(int64_t head_bytes, int64_t n_view_buffers);

/* What a message is made of, beside its fields. */
typedef struct oci_message_plan {
    const oci_column *columns;
    int32_t n_columns;
    int64_t head_bytes;
    int64_t scratch_bytes; /* kept free at the end of the buffer */
    int64_t first_buffer;  /* as the packer numbers them */
} oci_message_plan;

/* Writes one message at *at of the buffer and moves *at behind it. `fields` has kind, length and
 * id. */
OC_NODISCARD oc_status oci_encoder_write_message(oci_ipc_encoder *encoder, oci_message *fields,
                                                 const oci_message_plan *plan, int64_t *at,
                                                 oc_error *err);
/* Builds the header from the encoder's lists and puts it at `to`, stretched to head_bytes. */
OC_NODISCARD oc_status oci_encoder_write_head(oci_ipc_encoder *encoder, const oci_message *fields,
                                              uint8_t *to, int64_t head_bytes, oc_error *err);

/* ---- straight from the slab: encoder_slab.c ---------------------------------------------------- */

/* Fills the encoder's lists from the slab; false when the batch has to be laid out anew. */
bool oci_encoder_find_in_slab(const oci_ipc_encoder *encoder, const oci_batch *batch);
/* After it said true. */
OC_NODISCARD oc_status oci_encoder_encode_in_slab(oci_ipc_encoder *encoder, const oci_batch *batch,
                                                  uint8_t **data, int64_t *size, oc_error *err);

#endif /* OUTCORE_IPC_ENCODER_INTERNAL_H */
