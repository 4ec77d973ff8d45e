/* From batches to the bytes of a run, one block at a time, before they are written.
 *
 *   batch -> which layout -> physical columns -> buffers compressed -> checksums, or sealed
 *
 * Which layout. Setting `plain`: plain. Setting `lengths`: strings as lengths when a codec is on and
 * the first batch of the run has at least 128 rows. Setting `auto`: all columns packed while that makes
 * blocks smaller by at least a hundredth, else plain; packing chooses for each column by itself, and
 * keeps as it is what cannot be made smaller. A block is packed before it is known whether that pays,
 * so where it does, nothing is done twice; where it does not, it is tried on one block of 64. What was
 * learnt holds for the runs that follow. Runs that begin with fewer than 32 rows begin plain. A block
 * that there is no room to pack is plain.
 *
 * A layout is fixed for one stream: where another one is chosen, the block comes with the end of the
 * stream before it and the schema message of the next. */
#ifndef OUTCORE_SPILL_BLOCK_ENCODER_H
#define OUTCORE_SPILL_BLOCK_ENCODER_H

#include "arrow/batch.h"
#include "spill/manager.h"

typedef struct oci_block_encoder oci_block_encoder;

OC_NODISCARD oc_status oci_block_encoder_create(oci_spill_manager *manager, oci_schema *schema,
                                                oci_mem *mem, oci_block_encoder **out,
                                                oc_error *err);
void oci_block_encoder_destroy(oci_block_encoder *encoder); /* NULL is fine */

/* Bytes to leave in front of a slab, and memory that encoding a batch takes: see run.h. */
int64_t oci_block_encoder_head_bytes(const oci_block_encoder *encoder);
int64_t oci_block_encoder_space_for(const oci_block_encoder *encoder, int64_t slab_bytes,
                                    int64_t rows);
int64_t oci_block_encoder_space_least(const oci_block_encoder *encoder, int64_t slab_bytes);

/* The next block is the first of a run. `run_id` gets the run's number (zeros unless sealed). */
OC_NODISCARD oc_status oci_block_encoder_begin(oci_block_encoder *encoder, uint8_t run_id[16],
                                               oc_error *err);

typedef struct oci_block {
    /* To be written first, unless it is empty: the end of a stream, the schema of the next. */
    const uint8_t *opening;
    int64_t opening_bytes;
    const uint8_t *data;
    int64_t bytes;
    oci_codec_setting codec;
    int64_t plain_bytes; /* of the batch as Arrow lays it out, without a codec */
    int64_t body_bytes;  /* of what went into the codec */
    int64_t slab_bytes;  /* of the batch that comes back, as charged */
    int64_t read_bytes;  /* memory that reading it takes beside that */
    int64_t codec_ns;    /* of the codec alone */
} oci_block;

/* Memory is paid from `from` and stays taken until oci_block_encoder_trim(), as long as what `out`
 * points to is valid. Where a dense layout would take more than `room`, the block is plain. */
OC_NODISCARD oc_status oci_block_encoder_encode(oci_block_encoder *encoder, oci_batch *batch,
                                                int64_t room, oci_reservation *from, oci_block *out,
                                                oc_error *err);
void oci_block_encoder_trim(oci_block_encoder *encoder, oci_reservation *from);

/* The end of the run: that of the last stream, and the closing stream. Valid until the next call. */
OC_NODISCARD oc_status oci_block_encoder_finish(oci_block_encoder *encoder, int64_t batches,
                                                int64_t rows, const uint8_t **data, int64_t *bytes,
                                                oc_error *err);

#endif /* OUTCORE_SPILL_BLOCK_ENCODER_H */
