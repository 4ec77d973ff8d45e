/* Runs: sequences of record batches in a spill file, written once and read once.
 *
 * A run is one or more Arrow IPC streams end to end: schema message, blocks, end marker; another such
 * stream where another layout of columns pays (spill/layout.h); and a last stream whose schema has no
 * fields and whose metadata count batches and rows. A block is a record batch message, with the
 * dictionary messages it needs in front of it, so that each block can be decoded by itself and one
 * decoder (and its codec contexts) serves all runs of an operator. A block goes to disk in one
 * write. Each message carries a checksum. Byte layouts: docs/spill-format.md.
 *
 * Batches are compact ones of the operator's working schema (gather output), or any others, which
 * are copied into the encoder's buffer. What was written by us in this process is read without
 * validating values again; the structure is checked. */
#ifndef OUTCORE_SPILL_RUN_H
#define OUTCORE_SPILL_RUN_H

#include "arrow/batch.h"
#include "base/thread.h"
#include "spill/layout.h"
#include "spill/manager.h"

/* One range of a spill file: a run, or several end to end that are read as one (their numbers are
 * added up; not sealed ones). For reading a range of which only the place is known, leave the rest 0:
 * it is one run then, and the counts at its end are all that is held against it. */
typedef struct oci_run_extent {
    int64_t offset;
    int64_t bytes;
    int64_t rows;
    int64_t blocks;
    int64_t block_rows_max;  /* rows of a block at most */
    int64_t block_bytes_max; /* largest block on disk */
    int64_t slab_bytes_max;  /* largest batch in memory, as charged */
    /* Memory that reading a block takes beside the batch it becomes, while it is decompressed and
     * unpacked, as charged; 0 when the block is the batch's slab. */
    int64_t read_bytes_max;
    uint8_t run_id[OCI_SEAL_RUN_ID_BYTES]; /* of sealed runs */
} oci_run_extent;

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct oci_run_writer oci_run_writer;

/* A writer is made once per operator and writes one run after the other into `file` (borrowed).
 * Encoding, compressing and writing happen on `worker` while the caller prepares the next batch
 * (NULL: at once). Encode buffers are charged to `mem`. */
OC_NODISCARD oc_status oci_run_writer_create(oci_spill_file *file, oci_schema *schema, oci_mem *mem,
                                             oci_worker *worker, oci_run_writer **out,
                                             oc_error *err);
/* The same before there is a file, to know what it will take; set one before the first run. */
OC_NODISCARD oc_status oci_run_writer_prepare(oci_spill_manager *manager, oci_schema *schema,
                                              oci_mem *mem, oci_worker *worker,
                                              oci_run_writer **out, oc_error *err);
void oci_run_writer_set_file(oci_run_writer *writer, oci_spill_file *file);
/* Waits for a write in flight, gives everything back. NULL is fine. */
void oci_run_writer_destroy(oci_run_writer *writer);

/* Bytes to leave in front of a slab so that it can be written as it lies. */
int64_t oci_run_writer_head_bytes(const oci_run_writer *writer);
/* Memory that encoding a compact batch with a slab of `slab_bytes` and up to `rows` rows takes
 * (INT64_MAX: any number); and what it takes at least: with less than all of it blocks are written
 * plain. */
int64_t oci_run_writer_space_for(const oci_run_writer *writer, int64_t slab_bytes, int64_t rows);
int64_t oci_run_writer_space_least(const oci_run_writer *writer, int64_t slab_bytes);
/* Sets that much memory aside, for all compact batches up to that size, so that spilling needs no new
 * grant. Without it memory is asked for with each batch. OC_EBUDGET. */
OC_NODISCARD oc_status oci_run_writer_reserve(oci_run_writer *writer, int64_t bytes, oc_error *err);
/* Gives it back. Between runs only. */
void oci_run_writer_unreserve(oci_run_writer *writer);

OC_NODISCARD oc_status oci_run_writer_begin(oci_run_writer *writer, oc_error *err);
/* Takes the caller's reference, also on failure. Waits for the batch before. An error of a write in
 * the background is reported by the next call; it is sticky until begin(). */
OC_NODISCARD oc_status oci_run_writer_add(oci_run_writer *writer, oci_batch *batch, oc_error *err);
OC_NODISCARD oc_status oci_run_writer_finish(oci_run_writer *writer, oci_run_extent *out,
                                             oc_error *err);
/* Ends a run that is not wanted; its bytes are given back. */
void oci_run_writer_abandon(oci_run_writer *writer);

/* ---- reading --------------------------------------------------------------------------------- */

/* Decodes blocks of any run of one schema, whatever their layouts; one per operator. */
typedef struct oci_run_decoder oci_run_decoder;

/* Retains schema (NULL: taken from the first run, and the same from then on). Slabs come from
 * `mem`. `trusted`: values are ours and not validated; else every offset and index of plain columns
 * is. */
OC_NODISCARD oc_status oci_run_decoder_create(oci_spill_manager *manager, oci_schema *schema,
                                              bool trusted, oci_mem *mem, oci_run_decoder **out,
                                              oc_error *err);
void oci_run_decoder_destroy(oci_run_decoder *decoder);             /* NULL is fine */
oci_schema *oci_run_decoder_schema(const oci_run_decoder *decoder); /* NULL as long as unknown */

/* Where in a run the next block begins. */
typedef struct oci_run_cursor {
    oci_spill_file *file;
    int64_t at;
    int64_t end;
    int64_t discarded; /* everything before is given back to the disk */
    int64_t rows;      /* of blocks read so far */
    int64_t blocks;
    bool is_kept; /* nothing is given back: a file that is to be read again */
    /* private */
    int64_t discard_step;  /* bytes that are given back at once */
    int64_t extent_rows;   /* that there must be at the end ... */
    int64_t extent_blocks; /* ... 0 = not known */
    int64_t place;         /* of the next message in its run */
    int64_t run_rows;      /* of the run at hand */
    int64_t run_blocks;
    bool is_closing;    /* the counts at its end were read and held; */
    bool is_closed;     /* ... and its last end marker */
    bool has_checksums; /* its first message has one, so all have */
    uint8_t run_id[OCI_SEAL_RUN_ID_BYTES];
    struct oci_run_layout *layout; /* of the stream at hand, retained; NULL between streams */
} oci_run_cursor;

/* Points a cursor, which need not be initialised and holds nothing, at an extent. */
void oci_run_cursor_start(oci_run_cursor *cursor, oci_spill_file *file,
                          const oci_run_extent *extent);

/* Reads, verifies and decodes the next block. *out NULL at the end; one thread at a time uses the
 * decoder. Blocks read before the call are discarded from disk in steps. OC_EDATA: the run is damaged
 * or cut; the message names the file, the message of it and its byte. */
OC_NODISCARD oc_status oci_run_cursor_next(oci_run_cursor *cursor, oci_run_decoder *decoder,
                                           oci_batch **out, oc_error *err);
/* Gives what is left of the run back to the disk, and lets go of the layout. */
void oci_run_cursor_finish(oci_run_cursor *cursor);

#endif /* OUTCORE_SPILL_RUN_H */
