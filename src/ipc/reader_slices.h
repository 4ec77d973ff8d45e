/* Slices of a record batch that is too large to be handed out: rows by rows, read buffer range
 * by buffer range from a file (or copied from memory, where a decompressed body found room).
 *
 * Each slice has as many rows as fit block_bytes (at least one), and at most batch_rows. It
 * comes as a compact batch in one slab: offsets begin at 0, bitmaps at bit 0, and of view
 * buffers there is only what is referred to. */
#ifndef OUTCORE_IPC_READER_SLICES_H
#define OUTCORE_IPC_READER_SLICES_H

#include "ipc/decoder.h"
#include "ipc/reader_stage.h"

typedef struct oci_slices oci_slices;

/* `parts`: an uncompressed message over `body`, which is in a file or in memory and is borrowed;
 * the parts are taken over, also on failure. `schema` and `decoder` are those of the wanted
 * columns. With `discard` the disk space behind the reading position is given back. Lengths of
 * nodes and buffers are checked here. */
OC_NODISCARD oc_status oci_slices_create(const oci_env *env, oci_schema *schema,
                                         oci_ipc_decoder *decoder, oci_parts *parts,
                                         const oci_body *body, bool discard, oci_mem *mem,
                                         oci_slices **out, oc_error *err);
void oci_slices_destroy(oci_slices *slices); /* NULL is fine */

/* The next slice; NULL behind the last. A batch without rows gives one slice without rows. */
OC_NODISCARD oc_status oci_slices_next(oci_slices *slices, oci_batch **out, oc_error *err);

/* Rows handed out so far and in all: for the progress. */
int64_t oci_slices_done(const oci_slices *slices);
int64_t oci_slices_rows(const oci_slices *slices);

#endif /* OUTCORE_IPC_READER_SLICES_H */
