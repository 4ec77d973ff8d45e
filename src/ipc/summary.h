/* What an Arrow IPC file or stream consists of, from its metadata alone: for `inspect`.
 *
 * Bodies are skipped, not read (a pipe has to be read through). Everything that is parsed is
 * verified as in message.h. */
#ifndef OUTCORE_IPC_SUMMARY_H
#define OUTCORE_IPC_SUMMARY_H

#include "arrow/schema.h"
#include "base/io.h"
#include "base/memory.h"
#include "ipc/message.h"

typedef struct oci_ipc_summary {
    bool is_file_format;
    bool has_end_marker; /* streams */
    int64_t streams;     /* end to end in one file; 1 for most */
    oci_schema *schema;  /* of the first stream; owned */
    bool big_endian;     /* the first stream */
    int64_t batches;
    int64_t dictionaries;
    int64_t rows;
    int64_t rows_max; /* of one batch */
    int64_t metadata_bytes;
    int64_t body_bytes;
    int64_t body_bytes_max;
    oci_codec_id codec; /* of the last batch */
} oci_ipc_summary;

/* Borrows file. Metadata is read into memory of `mem`. */
OC_NODISCARD oc_status oci_ipc_summarize(oci_file *file, oci_mem *mem, oci_ipc_summary *out,
                                         oc_error *err);
void oci_ipc_summary_deinit(oci_ipc_summary *summary);

#endif /* OUTCORE_IPC_SUMMARY_H */
