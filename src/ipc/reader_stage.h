/* Staging: brings a body that is too large for memory, and cannot be read piece by piece where
 * it is, into a scratch file: bodies that come through a pipe, and compressed ones. The copy
 * goes through small buffers from the budget. */
#ifndef OUTCORE_IPC_READER_STAGE_H
#define OUTCORE_IPC_READER_STAGE_H

#include "base/env.h"
#include "ipc/reader_parts.h"
#include "ipc/reader_source.h"

/* Where the bytes of a body can be read: one of the three. */
typedef struct oci_body {
    const uint8_t *memory; /* all of it */
    oci_file *file;        /* from `offset` on */
    int64_t offset;
    oci_source *pipe; /* in order only, the next byte being the body's byte `taken` */
    int64_t taken;
    int64_t bytes;
} oci_body;

typedef struct oci_stage {
    const oci_env *env;
    oci_mem *mem;
    const char *folder;
    oci_file *raw;     /* bodies as they came; NULL until needed, then used again and again */
    oci_file *columns; /* buffers of the wanted columns, decompressed */
    oci_codec *codec;  /* NULL until needed */
    oci_codec_id codec_id;
} oci_stage;

/* Borrows everything. */
void oci_stage_init(oci_stage *stage, const oci_env *env, oci_mem *mem, const char *folder);
void oci_stage_deinit(oci_stage *stage);

/* Copies the next `bytes` of a pipe into the scratch file for raw bodies; `body` says where they
 * are then. Memory and disk grow with what arrives. OC_EDATA when the pipe ends early. */
OC_NODISCARD oc_status oci_stage_raw(oci_stage *stage, oci_source *pipe, int64_t bytes,
                                     oci_body *body, oc_error *err);

/* Copies the rest of a pipe: a whole file in the file format. *bytes says how much came. */
OC_NODISCARD oc_status oci_stage_rest(oci_stage *stage, oci_source *pipe, oci_file **file,
                                      int64_t *bytes, oc_error *err);

/* Copies the buffers of `parts`, decompressed when the message is compressed, to the scratch
 * file for columns; afterwards `parts` is an uncompressed message over *body. The buffers of a
 * pipe must be ascending. */
OC_NODISCARD oc_status oci_stage_columns(oci_stage *stage, oci_body *body, oci_parts *parts,
                                         oc_error *err);

/* The same into memory: copies or decompresses the buffers of `parts`, whose body is in memory, to
 * `slab`, one behind the other; it has as many bytes as oci_unpacked_bytes() says. */
OC_NODISCARD oc_status oci_stage_unpack(oci_stage *stage, oci_body *body, oci_parts *parts,
                                        uint8_t *slab, int64_t slab_bytes, oc_error *err);
/* Checks the length prefixes of compressed buffers. */
OC_NODISCARD oc_status oci_unpacked_bytes(const oci_parts *parts, const oci_body *body,
                                          int64_t *out, oc_error *err);

/* Takes what is left of a body from its pipe, so that the next message can be read. Nothing to
 * do for the others. */
OC_NODISCARD oc_status oci_body_finish(const oci_env *env, oci_body *body, oc_error *err);

#endif /* OUTCORE_IPC_READER_STAGE_H */
