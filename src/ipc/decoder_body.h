/* A message body in memory, compressed or not. For decoder.c. */
#ifndef OUTCORE_IPC_DECODER_BODY_H
#define OUTCORE_IPC_DECODER_BODY_H

#include "base/memory.h"
#include "codec/codec.h"
#include "ipc/message.h"

/* The memory that holds a body, and the message that describes it. */
typedef struct oci_ipc_body {
    oci_message message;
    oci_mem *mem; /* whose the slab is */
    void *slab;
    int64_t slab_bytes;
    const uint8_t *data;       /* first byte of the body */
    oci_ipc_buffer *rewritten; /* malloc'ed: the buffers of an unpacked body, or NULL */
} oci_ipc_body;

/* Frees the slab, unless it was taken (NULL). */
void oci_ipc_body_deinit(oci_ipc_body *body);

/* Replaces a compressed body by a decompressed one in a slab of its own, paid from `from` or, when
 * that is NULL, from `mem`. The old slab is freed then; on failure it stays with `body`. */
OC_NODISCARD oc_status oci_ipc_body_unpack(oci_ipc_body *body, oci_codec *codec, oci_mem *mem,
                                           oci_reservation *from, oc_error *err);

#endif /* OUTCORE_IPC_DECODER_BODY_H */
