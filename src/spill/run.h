/* Runs: sequences of record batches in a spill file, written once and read once.
 *
 * A run is one Arrow IPC stream (or several end to end, see oci_run_extent): schema message, one
 * block per batch, end marker. A block is the record batch message, with the dictionary messages it
 * needs in front of it, so that each block can be decoded by itself and one decoder (and its codec
 * contexts) serves all runs of an operator. A block goes to disk in one write.
 *
 * Batches are compact ones of the operator's working schema (gather output). What was written by us
 * in this process is read without validating values again; the structure is checked. */
#ifndef OUTCORE_SPILL_RUN_H
#define OUTCORE_SPILL_RUN_H

#include "arrow/batch.h"
#include "base/thread.h"
#include "ipc/decoder.h"
#include "spill/manager.h"

/* One range of a spill file that holds IPC streams end to end. */
typedef struct oci_run_extent {
    int64_t offset;
    int64_t bytes;
    int64_t rows;
    int64_t blocks;
    int64_t block_rows_max; /* rows of a block at most */
    int64_t
        block_bytes_max; /* largest block on disk: what reading one takes while it is compressed */
    int64_t slab_bytes_max; /* largest batch in memory, as charged */
} oci_run_extent;

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct oci_run_writer oci_run_writer;

/* A writer is made once per operator and writes one run after the other into `file` (borrowed).
 * Encoding, compressing and writing happen on `worker` while the caller prepares the next batch
 * (NULL: at once). Encode buffers are charged to `mem`. */
OC_NODISCARD oc_status oci_run_writer_create(oci_spill_file *file, oci_schema *schema, oci_mem *mem,
                                             oci_worker *worker, oci_run_writer **out,
                                             oc_error *err);
/* Waits for a write in flight, gives everything back. NULL is fine. */
void oci_run_writer_destroy(oci_run_writer *writer);

/* Bytes to leave in front of a slab so that it can be written as it lies. */
int64_t oci_run_writer_head_bytes(const oci_run_writer *writer);
/* Memory that encoding a batch with a slab of `slab_bytes` takes. */
int64_t oci_run_writer_space_for(const oci_run_writer *writer, int64_t slab_bytes);
/* Sets that much memory aside, once and for all batches up to that size, so that spilling needs no
 * new grant but for the schema message, a few KiB. OC_EBUDGET. */
OC_NODISCARD oc_status oci_run_writer_reserve(oci_run_writer *writer, int64_t bytes, oc_error *err);

OC_NODISCARD oc_status oci_run_writer_begin(oci_run_writer *writer, oc_error *err);
/* Takes the caller's reference, also on failure. Waits for the batch before. An error of a write in
 * the background is reported by the next call; it is sticky until begin(). */
OC_NODISCARD oc_status oci_run_writer_add(oci_run_writer *writer, oci_batch *batch, oc_error *err);
OC_NODISCARD oc_status oci_run_writer_finish(oci_run_writer *writer, oci_run_extent *out,
                                             oc_error *err);
/* Ends a run that is not wanted; its bytes are given back. */
void oci_run_writer_abandon(oci_run_writer *writer);

/* ---- reading --------------------------------------------------------------------------------- */

/* Where in a run the next block begins. Plain struct, no resources: fill file, mem, at and end. */
typedef struct oci_run_cursor {
    oci_spill_file *file;
    int64_t at;
    int64_t end;
    int64_t discarded; /* everything before is given back to the disk; start with at */
} oci_run_cursor;

/* Reads and decodes the next block. *out NULL at the end. `decoder` was made for the run's schema,
 * trusted, with `mem`; one thread at a time uses it. Blocks read before the call are discarded from
 * disk in steps. OC_EDATA: the run is damaged or cut. */
OC_NODISCARD oc_status oci_run_cursor_next(oci_run_cursor *cursor, oci_ipc_decoder *decoder,
                                           oci_mem *mem, oci_batch **out, oc_error *err);
/* Gives what is left of the run back to the disk. */
void oci_run_cursor_finish(oci_run_cursor *cursor);

#endif /* OUTCORE_SPILL_RUN_H */
