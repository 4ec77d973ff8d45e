/* Compressing the buffers of a body one by one, as IPC wants it: int64 length, then the frame; or
 * -1 and the bytes as they are. For encoder.c.
 *
 * What goes to spill files is often packed already: a bit-packed buffer is noise to a codec, and it
 * takes time to find that out. So a packer that rests remembers, for each buffer of a message, that
 * compressing it saved next to nothing, and stores it without trying in the next blocks. On
 * bit-packed dates zstd takes 0.10 ns a byte so, instead of 0.41. */
#ifndef OUTCORE_IPC_ENCODER_PACK_H
#define OUTCORE_IPC_ENCODER_PACK_H

#include "codec/codec.h"
#include "ipc/encoder_buffers.h"

#define OCI_PACK_PREFIX_BYTES 8
#define OCI_PACK_CODECS       (OCI_CODEC_ZSTD + 1)

typedef struct oci_body_packer {
    oci_codec_id id;                    /* OCI_CODEC_NONE: nothing is packed */
    bool changes;                       /* the codec may be any from batch to batch */
    oci_codec *codecs[OCI_PACK_CODECS]; /* by id; NULL until first needed */
    /* How many blocks a buffer still rests, malloc'ed: two lists of n_rests, for codecs that only
     * look for repeats and for those that also weigh symbols. NULL: every buffer is always tried. */
    uint8_t *rests;
    int64_t n_rests;
    bool weighs_symbols;
} oci_body_packer;

/* Sets codec and level from now on. After failure the packer is as it was. */
OC_NODISCARD oc_status oci_body_packer_set(oci_body_packer *packer, oci_codec_id id, int level,
                                           oc_error *err);
/* Buffers that codecs do nothing for rest from now on; they are numbered 0 .. n_buffers - 1. */
OC_NODISCARD oc_status oci_body_packer_rest(oci_body_packer *packer, int64_t n_buffers,
                                            oc_error *err);
void oci_body_packer_deinit(oci_body_packer *packer);

/* May the codec be any other than none, and the largest that `size` > 0 bytes can become then,
 * whichever of its codecs is set. For any k sizes, the sum of the bounds is at most the bound of the
 * sum + k * the bound of 1. */
bool oci_body_packer_may_compress(const oci_body_packer *packer);
int64_t oci_body_packer_bound(const oci_body_packer *packer, int64_t size);

/* Packs buffer number `number` (none when it is not below n_rests) to `to`, which has room for the
 * bound; gives the size. `scratch` has room for the source, where that has to be made first. */
OC_NODISCARD oc_status oci_body_packer_pack(oci_body_packer *packer,
                                            const oci_buffer_source *source, int64_t number,
                                            uint8_t *scratch, uint8_t *to, int64_t *size,
                                            oc_error *err);

#endif /* OUTCORE_IPC_ENCODER_PACK_H */
