/* Slices of a record batch that is too large to be handed out: rows by rows, read buffer range
 * by buffer range from a file (or copied from memory, where a decompressed body found room).
 *
 * Each slice has as many rows as fit block_bytes, children included (at least one), and at most
 * batch_rows. It comes as a compact batch in one slab: offsets begin at 0 at every depth, bitmaps at
 * bit 0, runs at row 0, and of view buffers there is only what is referred to. What list views and
 * dense unions refer to comes as one range from the least to the largest row of the child. */
#ifndef OUTCORE_IPC_READER_SLICES_H
#define OUTCORE_IPC_READER_SLICES_H

#include "ipc/decoder.h"
#include "ipc/reader_stage.h"

typedef struct oci_slices oci_slices;

typedef enum oci_slices_flags {
    OCI_SLICES_DISCARD = 1, /* give back the disk space of `body` behind the reading position */
    OCI_SLICES_SWAP = 2     /* `body` is big-endian */
} oci_slices_flags;

/* `parts`: an uncompressed message over `body`, which is in a file or in memory and is borrowed;
 * the parts are taken over, also on failure. `schema` and `decoder` are those of the wanted
 * columns. Lengths of nodes and buffers are checked here. */
OC_NODISCARD oc_status oci_slices_create(const oci_env *env, oci_schema *schema,
                                         oci_ipc_decoder *decoder, oci_parts *parts,
                                         const oci_body *body, oci_slices_flags flags, oci_mem *mem,
                                         oci_slices **out, oc_error *err);
void oci_slices_destroy(oci_slices *slices); /* NULL is fine */

/* The next slice; NULL behind the last. A batch without rows gives one slice without rows. */
OC_NODISCARD oc_status oci_slices_next(oci_slices *slices, oci_batch **out, oc_error *err);

/* Rows handed out so far and in all: for the progress. */
int64_t oci_slices_done(const oci_slices *slices);
int64_t oci_slices_rows(const oci_slices *slices);

#endif /* OUTCORE_IPC_READER_SLICES_H */
