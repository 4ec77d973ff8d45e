/* Encodes batches as Arrow IPC messages in memory: one contiguous run of bytes per batch, ready for
 * one write.
 *
 * Codec none, no dictionary columns, and a batch whose slab has the IPC shape with room in front
 * (batch->head_bytes >= oci_ipc_encoder_head_bytes): the header is put into the slab and nothing is
 * copied. Else the messages are laid out in the encoder's own buffer (kept and reused). With
 * dictionary columns, at any depth and in the values of dictionaries, a dictionary message comes
 * before the batch whenever the dictionary is not the one sent last (told by a 128-bit hash of its
 * values, so that no memory is held between batches); the first one is no delta, later ones replace
 * it, and those inside come before those around them.
 *
 * Written: offset 0 at every depth (slices are rebased), only the rows of children from the first to
 * the last that is referred to, no validity buffer (length 0) for columns without nulls, 8-byte
 * aligned buffers, padding zeroed, and the bytes under null slots as they are, but for views and
 * list views, which are empty there. View buffers that are mostly unused are left out. Compression per
 * buffer: int64 uncompressed length, then the frame; -1 and the raw bytes where compressing does
 * not help. */
#ifndef OUTCORE_IPC_ENCODER_H
#define OUTCORE_IPC_ENCODER_H

#include "arrow/batch.h"
#include "codec/codec.h"

typedef struct oci_ipc_encoder oci_ipc_encoder;

/* Retains schema. Buffers come from `mem`. Batches given later must have the same types (views as
 * views). */
OC_NODISCARD oc_status oci_ipc_encoder_create(oci_schema *schema, oci_codec_id codec, int level,
                                              oci_mem *mem, oci_ipc_encoder **out, oc_error *err);
/* For spill files: messages get a slot for a checksum; the codec may change from batch to batch with
 * oci_ipc_encoder_set_codec() (bounds and head bytes hold for all codecs); and a buffer that a codec
 * gained nothing on in the last batches is stored as it is for a while without trying. Call right
 * after create(). */
OC_NODISCARD oc_status oci_ipc_encoder_for_spill(oci_ipc_encoder *encoder, bool with_checksum,
                                                 bool codec_changes, oc_error *err);
/* From the next batch on. Codec contexts are made when first used and kept. */
OC_NODISCARD oc_status oci_ipc_encoder_set_codec(oci_ipc_encoder *encoder, oci_codec_id codec,
                                                 int level, oc_error *err);
void oci_ipc_encoder_destroy(oci_ipc_encoder *encoder); /* NULL is fine */

/* Bytes of a framed record batch header of this schema (multiple of 64), which is what to leave in
 * front of a slab. (Each view buffer of a batch adds to its header; such a batch never goes out of
 * its slab.) */
int64_t oci_ipc_encoder_head_bytes(const oci_ipc_encoder *encoder);

/* Upper bound of what encoding this batch takes as buffer from `mem` (0 when it goes out of its
 * slab). The second form bounds any gather output with a slab of `slab_bytes` that has
 * oci_ipc_encoder_head_bytes() in front. */
int64_t oci_ipc_encoder_bound(oci_ipc_encoder *encoder, const oci_batch *batch);
int64_t oci_ipc_encoder_bound_bytes(const oci_ipc_encoder *encoder, int64_t slab_bytes);

/* The results stay valid until the next call; those out of a slab as long as the batch, whose head
 * bytes are written to: no two threads may encode the same batch. They are the caller's to change,
 * which is how checksums get into their slots. `from` may be NULL; else the buffer is paid from that
 * reservation, and what the buffer took stays taken from it until oci_ipc_encoder_trim(). */
OC_NODISCARD oc_status oci_ipc_encode_schema(oci_ipc_encoder *encoder, uint8_t **data,
                                             int64_t *size, oc_error *err);
OC_NODISCARD oc_status oci_ipc_encode_batch(oci_ipc_encoder *encoder, const oci_batch *batch,
                                            oci_reservation *from, uint8_t **data, int64_t *size,
                                            oc_error *err);
/* Gives the encoder's buffer back, to the reservation it was paid from when that is given. What was
 * encoded last is gone. */
void oci_ipc_encoder_trim(oci_ipc_encoder *encoder, oci_reservation *from);
/* End-of-stream marker: 8 bytes, static. */
const uint8_t *oci_ipc_end_marker(void);

/* Where the messages of what was encoded last, batch or schema, lie inside its bytes: for the footer
 * of the file format, and for what is stamped into them. They follow each other without gaps. */
typedef struct oci_ipc_extent {
    int64_t offset;
    int32_t metadata_bytes; /* with the prefix */
    int64_t body_bytes;
    bool dictionary;
} oci_ipc_extent;
int32_t oci_ipc_encoder_extents(const oci_ipc_encoder *encoder, const oci_ipc_extent **out);

/* Forgets which dictionaries were sent, as at the start of a new stream. */
void oci_ipc_encoder_restart(oci_ipc_encoder *encoder);

#endif /* OUTCORE_IPC_ENCODER_H */
