/* Reads Arrow IPC, stream and file format, from files and pipes, under the budget.
 *
 * A record batch in a file may be far larger than the memory limit. So the reader never takes a
 * message body as a whole unless it is small: it gives out slices of about block_bytes (and at most
 * batch_rows rows), each read buffer range by buffer range into one slab.
 *   - seekable and uncompressed: ranges come by pread from where the body lies;
 *   - a pipe, or a compressed body that is not small: the body is first brought, decompressed, into
 *     memory while a sixteenth of the budget holds it and is free, else piece by piece into a
 *     scratch file (folder: temp_dir), and the slices are read from there.
 * Small bodies (<= 2 x block_bytes, decompressed) are read at once and handed out as they lie (cut
 * into slices that share memory when they have more than batch_rows rows).
 * Dictionaries have to fit into the budget as a whole. Big-endian input is turned as it is read.
 *
 * Everything is checked before use (see decoder.h): offsets of every slice, views, indices. A
 * stream that ends without the end marker is accepted only at a message boundary after at least the
 * schema; several streams of one schema, one behind the other, with or without end markers, are
 * read as one; anything else behind the end is an error. A file whose footer is missing is never
 * read as a stream. A file through a pipe is copied to a scratch file first, because its footer is
 * at the end. */
#ifndef OUTCORE_IPC_READER_H
#define OUTCORE_IPC_READER_H

#include "arrow/stream.h"
#include "base/env.h"

typedef struct oci_ipc_read_options {
    const char *temp_dir;   /* scratch files; NULL = "/tmp" */
    const int32_t *columns; /* read these columns only (in this order), or NULL = all */
    int32_t n_columns;
    _Atomic int64_t *bytes_read; /* progress: bytes of the input consumed so far, or NULL */
} oci_ipc_read_options;

/* Takes over `file`. Decides between the formats by the magic "ARROW1". Batches are charged to
 * `mem`, which must outlive the stream (batches may outlive both). stream->schema is the file's
 * schema (views stay views). */
OC_NODISCARD oc_status oci_ipc_reader_open(const oci_env *env, oci_file *file,
                                           const oci_ipc_read_options *options, oci_mem *mem,
                                           oci_stream **out, oc_error *err);

/* Looks at the schema only (options->columns are indices into it). The file is borrowed. What was
 * read of a pipe is gone: use the schema of its stream there. */
OC_NODISCARD oc_status oci_ipc_read_schema(oci_file *file, oci_schema **out, oc_error *err);

#endif /* OUTCORE_IPC_READER_H */
