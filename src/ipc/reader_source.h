/* The input of the reader: a file or a pipe, taken apart into messages.
 *
 * Bytes are read in order from `position` on; a seekable input may also be read anywhere with
 * oci_pread() and moved with oci_source_seek(). Reads go through a small buffer, so that the
 * prefix and the metadata of a message cost one system call. Nothing is allocated because a
 * header says so: memory for metadata grows with the bytes that come. */
#ifndef OUTCORE_IPC_READER_SOURCE_H
#define OUTCORE_IPC_READER_SOURCE_H

#include <stdatomic.h>

#include "base/io.h"
#include "base/memory.h"
#include "ipc/message.h"

#define OCI_SOURCE_AHEAD 4096

typedef struct oci_source {
    oci_mem *mem;
    oci_file *file;              /* borrowed */
    int64_t size;                /* of a seekable input, else -1 */
    int64_t position;            /* of the next byte */
    _Atomic int64_t *bytes_read; /* progress, or NULL */
    int64_t reported;            /* how much of it was said */
    int64_t ahead_at;            /* where the buffered bytes begin */
    int64_t ahead_bytes;
    uint8_t ahead[OCI_SOURCE_AHEAD];
} oci_source;

/* One message without its body. Zeroed = empty. */
typedef struct oci_metadata {
    uint8_t *data;
    int64_t size;
    int64_t capacity;
    int64_t position;    /* of the prefix */
    oci_message message; /* points into data */
} oci_metadata;

typedef enum oci_source_end {
    OCI_SOURCE_MESSAGE,    /* a message was read */
    OCI_SOURCE_END_MARKER, /* the end marker of a stream was read */
    OCI_SOURCE_END_INPUT   /* the input ended where a message could begin */
} oci_source_end;

/* `file` seekable: its size is asked for. Borrows everything. */
OC_NODISCARD oc_status oci_source_init(oci_source *source, oci_mem *mem, oci_file *file,
                                       _Atomic int64_t *bytes_read, oc_error *err);

/* Looks at the first `size` <= OCI_SOURCE_AHEAD bytes of the input before anything is taken from
 * it; *n_read is smaller when there are not so many. */
OC_NODISCARD oc_status oci_source_peek(oci_source *source, void *buf, int64_t size, int64_t *n_read,
                                       oc_error *err);

static inline bool oci_source_is_seekable(const oci_source *source)
{
    return source->size >= 0;
}

/* Takes the next `size` bytes; *n_read is smaller only at the end of the input. */
OC_NODISCARD oc_status oci_source_read(oci_source *source, void *buf, int64_t size, int64_t *n_read,
                                       oc_error *err);
/* The same, but a shorter input is OC_EDATA: "<what> of N bytes ends M bytes early". */
OC_NODISCARD oc_status oci_source_read_exact(oci_source *source, void *buf, int64_t size,
                                             const char *what, oc_error *err);
/* Seekable inputs only. */
void oci_source_seek(oci_source *source, int64_t position);
/* Fails like read_exact when a seekable input does not hold `size` bytes at `position`; pipes
 * pass. */
OC_NODISCARD oc_status oci_source_check(const oci_source *source, int64_t position, int64_t size,
                                        const char *what, oc_error *err);

/* Reads the next message of a stream up to its body, at which `position` stands then. */
OC_NODISCARD oc_status oci_source_next(oci_source *source, oci_metadata *out, oci_source_end *end,
                                       oc_error *err);
/* Reads the metadata of a message that a footer tells of (prefix included in
 * block->metadata_bytes). */
OC_NODISCARD oc_status oci_source_message_at(oci_source *source, const oci_ipc_file_block *block,
                                             oci_metadata *out, oc_error *err);
void oci_metadata_deinit(oci_metadata *metadata, oci_mem *mem);

/* Says that `bytes` of the input are done with, all told; smaller numbers than before are
 * ignored. Pipes report by themselves as they are read. */
void oci_source_report(oci_source *source, int64_t bytes);

#endif /* OUTCORE_IPC_READER_SOURCE_H */
