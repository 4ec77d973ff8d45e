/* Writes Arrow IPC, stream or file format, one write per batch.
 *
 * The file format cannot replace a dictionary: the writer then keeps one dictionary per dictionary
 * field, at any depth, for the whole file, maps the indices of each batch and writes the
 * dictionaries in front of the batches of a small file and behind those of a large one (as deltas
 * too where they cannot be joined in the budget). When such a dictionary outgrows the budget or the
 * index type the error says to use the stream format. Sticky error: after a failure every
 * call returns it. */
#ifndef OUTCORE_IPC_WRITER_H
#define OUTCORE_IPC_WRITER_H

#include "arrow/batch.h"
#include "base/env.h"
#include "codec/codec.h"

typedef struct oci_ipc_writer oci_ipc_writer;

/* Borrows `file` (written sequentially from where it stands). Writes the schema at once.
 * `schema` is announced; batches may be in its working form (oci_schema_working): the announced
 * form is built. Retains schema. */
OC_NODISCARD oc_status oci_ipc_writer_open(const oci_env *env, oci_file *file, oci_schema *schema,
                                           bool file_format, oci_codec_id codec, int level,
                                           oci_mem *mem, oci_ipc_writer **out, oc_error *err);
OC_NODISCARD oc_status oci_ipc_writer_add(oci_ipc_writer *writer, const oci_batch *batch,
                                          oc_error *err);
/* End marker / footer. */
OC_NODISCARD oc_status oci_ipc_writer_finish(oci_ipc_writer *writer, oc_error *err);
void oci_ipc_writer_destroy(oci_ipc_writer *writer); /* NULL is fine */

#endif /* OUTCORE_IPC_WRITER_H */
