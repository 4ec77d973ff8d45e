/* Parquet files in, as a stream of batches. See docs/parquet.md.
 *
 * Row group after row group; all columns advance by the same rows. A batch has env->batch_rows rows at most and about
 * oci_env_block_bytes() bytes; what is held besides it are, for each leaf that is asked for, a window of its bytes, one
 * page as unpacked and the dictionary of its chunk. */
#ifndef OUTCORE_FORMATS_PARQUET_PARQUET_READER_H
#define OUTCORE_FORMATS_PARQUET_PARQUET_READER_H

#include "arrow/stream.h"
#include "base/env.h"
#include "formats/predicate.h"

typedef struct oci_parquet_read_options {
    const int32_t *columns; /* fields of the file's schema in the order wanted; NULL = all */
    int32_t n_columns;
    const oci_predicate *predicate; /* borrowed until the close; NULL = all rows. See prune.h */
    _Atomic int64_t *bytes_read;    /* progress, or NULL */
} oci_parquet_read_options;

/* The Arrow schema that a file is read as. The file is borrowed. */
OC_NODISCARD oc_status oci_parquet_read_schema(oci_file *file, oci_mem *mem, oci_schema **out,
                                               oc_error *err);

/* Takes over `file` (seekable), also on failure. Batches are charged to `mem`, which must outlive them as accounts do
 * that linger. Errors, here or from next(): OC_EDATA: damaged, with file, column and page. OC_EUNSUPPORTED: see
 * docs/parquet.md. OC_EBUDGET: a footer, page or row too large for the limit. */
OC_NODISCARD oc_status oci_parquet_reader_open(const oci_env *env, oci_file *file,
                                               const oci_parquet_read_options *options,
                                               oci_mem *mem, oci_stream **out, oc_error *err);

#endif /* OUTCORE_FORMATS_PARQUET_PARQUET_READER_H */
