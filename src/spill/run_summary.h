/* What a spill file consists of, from its metadata alone: for `inspect`.
 *
 * Bodies are skipped, not read. Everything that is parsed is verified as in ipc/message.h, but no
 * checksum is: who wants to know that the file is sound reads its rows. */
#ifndef OUTCORE_SPILL_RUN_SUMMARY_H
#define OUTCORE_SPILL_RUN_SUMMARY_H

#include "base/io.h"
#include "codec/codec.h"
#include "spill/layout.h"

#define OCI_COLUMN_LAYOUTS (OCI_COLUMN_PACKED + 1)
#define OCI_CODECS         (OCI_CODEC_ZSTD + 1)

typedef struct oci_run_column_summary {
    int64_t streams[OCI_COLUMN_LAYOUTS]; /* with blocks, in which it lies so */
    int64_t bytes;                       /* in bodies */
} oci_run_column_summary;

typedef struct oci_run_summary {
    oci_schema *schema; /* logical; owned */
    oci_run_column_summary *columns;
    int64_t streams; /* the closing one is none */
    int64_t blocks;
    int64_t blocks_of[OCI_CODECS];
    int64_t rows;
    int64_t rows_max; /* of one block */
    int64_t metadata_bytes;
    int64_t body_bytes;
    int64_t body_bytes_max;
    bool has_checksums;
} oci_run_summary;

/* Whether a schema of an Arrow file says that it is one of a spill file. */
bool oci_is_spill_schema(const oci_schema *schema);

/* Borrows file, which can be read at positions. Metadata are read into memory of `mem`. OC_EDATA:
 * damaged, or no spill file. */
OC_NODISCARD oc_status oci_run_summarize(oci_file *file, oci_mem *mem, oci_run_summary *out,
                                         oc_error *err);
void oci_run_summary_deinit(oci_run_summary *summary);

#endif /* OUTCORE_SPILL_RUN_SUMMARY_H */
