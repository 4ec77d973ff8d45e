/* What reader and decoder of runs share: a message that was read and verified. */
#ifndef OUTCORE_SPILL_RUN_INTERNAL_H
#define OUTCORE_SPILL_RUN_INTERNAL_H

#include "spill/run.h"

typedef enum oci_run_message_kind {
    OCI_RUN_END, /* of a stream */
    OCI_RUN_SCHEMA,
    OCI_RUN_DATA /* batch or dictionary */
} oci_run_message_kind;

/* Most metadata (up to about 40 plain columns) fit into a first read of this size. */
#define OCI_RUN_HEAD_BYTES 4096

typedef struct oci_run_message {
    oci_run_message_kind kind;
    int64_t bytes;           /* on disk */
    const uint8_t *metadata; /* flatbuffer, in `head` or `block` */
    int64_t metadata_bytes;
    oci_message parsed; /* points into the metadata */
    /* DATA: what holds the body; who decodes it takes it and leaves NULL here. */
    void *slab;
    int64_t slab_bytes;
    int64_t body_at;                  /* inside the slab */
    uint8_t head[OCI_RUN_HEAD_BYTES]; /* what was read first: prefix, metadata, more */
    uint8_t *block;                   /* metadata that do not fit there, or NULL */
    int64_t block_bytes;
} oci_run_message;

/* The layout of a stream and what decodes its messages, shared by all cursors that read such
 * streams. */
typedef struct oci_run_layout oci_run_layout;
void oci_run_layout_release(oci_run_layout *layout); /* NULL is fine */

/* What a schema message leads to: a stream of batches, or the counts of a closing stream. */
typedef struct oci_run_stream {
    oci_run_layout *layout; /* retained; NULL: closing */
    int64_t batches;
    int64_t rows;
} oci_run_stream;

OC_NODISCARD oc_status oci_run_decoder_open(oci_run_decoder *decoder,
                                            const oci_run_message *message, oci_run_stream *out,
                                            oc_error *err);
/* Decodes a batch or dictionary message of such a stream; takes its slab, also on failure. *out NULL:
 * it was a dictionary. */
OC_NODISCARD oc_status oci_run_decoder_decode(oci_run_decoder *decoder, oci_run_layout *layout,
                                              oci_run_message *message, oci_batch **out,
                                              oc_error *err);
oci_spill_manager *oci_run_decoder_manager(const oci_run_decoder *decoder);
oci_mem *oci_run_decoder_mem(const oci_run_decoder *decoder);
/* Whether runs are our own, so that what is missing in them was lost. */
bool oci_run_decoder_is_trusted(const oci_run_decoder *decoder);

#endif /* OUTCORE_SPILL_RUN_INTERNAL_H */
