/* What stands behind the public handles of outcore/spill.h.
 *
 *     manager <── writer          each arrow is a reference; a file under its writer is not yet a
 *        ^                        handle
 *        └─────── file <── stream
 *
 * Structs come from malloc: a few for each file. */
#ifndef OUTCORE_API_SPILL_HANDLES_H
#define OUTCORE_API_SPILL_HANDLES_H

#include "base/env.h"
#include "outcore/spill.h"
#include "spill/manager.h"
#include "spill/run.h"

struct oc_spill_manager {
    oci_env env; /* io, clock and budget */
    oci_spill_manager *spill;
    oci_mem *writing;
    oci_mem *reading;
    int64_t block_bytes;
    bool keep_batches;
    _Atomic int64_t rows; /* appended */
    _Atomic int64_t batches;
    _Atomic int32_t writers; /* that are not finished */
    _Atomic int32_t references;
};

struct oc_spill_file {
    oc_spill_manager *manager;
    oci_spill_file *file;
    oci_run_extent extent; /* rows and blocks only when `schema` is there */
    oci_schema *schema;    /* of the rows; NULL: whatever the file says */
    int64_t batches;
    bool has_name;
    bool is_sequential; /* can be read once, and says nothing else of itself */
    /* Streams that are open; CONSUMED once and for all when one may give space back. */
    _Atomic int32_t streams;
    _Atomic int32_t references;
};

#define OCI_SPILL_CONSUMED INT32_MIN

oc_spill_manager *oci_spill_handle_retain(oc_spill_manager *manager);
void oci_spill_handle_release(oc_spill_manager *manager); /* NULL is fine */

/* The same with seams for tests: NULL members mean the system's. */
typedef struct oci_spill_seams {
    const oci_allocator *allocator;
    const oci_io *io;
    const oci_clock *clock;
} oci_spill_seams;
OC_NODISCARD oc_status oci_spill_handle_create(const oc_spill_options *options,
                                               const oci_spill_seams *seams, oc_spill_manager **out,
                                               oc_error *err);

/* Wraps a file with nothing said about it; takes it, also on failure. */
OC_NODISCARD oc_status oci_spill_file_handle(oc_spill_manager *manager, oci_spill_file *file,
                                             oc_spill_file **out, oc_error *err);

/* A file over the bytes of a source: read front to back, in reads that may begin up to
 * OCI_SOURCE_BACK_BYTES before the end of those before. Calls source->release() also on failure. */
#define OCI_SOURCE_BACK_BYTES 65536
OC_NODISCARD oc_status oci_source_open(const oc_spill_source *source, oci_file **out,
                                       oc_error *err);

#endif /* OUTCORE_API_SPILL_HANDLES_H */
