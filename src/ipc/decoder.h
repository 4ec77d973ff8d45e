/* Turns IPC messages that lie in memory into batches.
 *
 * Uncompressed buffers are used where they lie (the slab that holds the message becomes the
 * batch's); compressed ones are decompressed into a new slab whose size is summed up from the
 * buffers' length prefixes and asked from the budget first.
 *
 * Whatever the trust, the structure is checked: nodes and buffers against the schema, lengths
 * against rows, body, offsets of the last value against the bytes, null counts against lengths,
 * dictionary ids known. With `trusted` false every offset, view and index is validated too
 * (oci_column_validate). UTF-8 is never checked: sorting is by bytes and payload is kept bit for
 * bit. */
#ifndef OUTCORE_IPC_DECODER_H
#define OUTCORE_IPC_DECODER_H

#include "arrow/batch.h"
#include "ipc/message.h"

typedef struct oci_ipc_decoder oci_ipc_decoder;

/* Retains schema; copies ids (NULL = 0, 1, 2, ...). New slabs come from `mem`. */
OC_NODISCARD oc_status oci_ipc_decoder_create(oci_schema *schema, const oci_dictionary_ids *ids,
                                              bool trusted, oci_mem *mem, oci_ipc_decoder **out,
                                              oc_error *err);
void oci_ipc_decoder_destroy(oci_ipc_decoder *decoder); /* NULL is fine; forgets dictionaries */
/* Forgets which dictionaries were sent, as at the start of a new stream. */
void oci_ipc_decoder_restart(oci_ipc_decoder *decoder);

/* Decodes a message. `message` was parsed from metadata; its body is [body_offset, body_offset +
 * body_bytes) of `slab`. Takes the slab (mem as given at creation) when *out or a dictionary keeps
 * it, else frees it, also on failure. *out is NULL for a dictionary message (it is remembered:
 * replacement, or delta = appended). `from` (NULL allowed) pays for a decompression slab. */
OC_NODISCARD oc_status oci_ipc_decode(oci_ipc_decoder *decoder, const oci_message *message,
                                      void *slab, int64_t slab_bytes, int64_t body_offset,
                                      oci_reservation *from, oci_batch **out, oc_error *err);

/* Bytes of the slab that decompressing this message's body will take; 0 when uncompressed. Checks
 * the length prefixes. */
OC_NODISCARD oc_status oci_ipc_decoded_bytes(const oci_message *message, const uint8_t *body,
                                             int64_t *out, oc_error *err);

#endif /* OUTCORE_IPC_DECODER_H */
