/* The dictionaries of a file that is being written. For writer.c.
 *
 * The batches of a file may be read in any order, so a dictionary cannot be replaced between them.
 * So there is one dictionary for each dictionary field of the schema, at any depth and in the values
 * of others (dictionary_unify.h); the indices of each batch are translated to it, and it is written
 * when there are no more batches. To the encoder such a column is its indices: the bytes of a record
 * batch are the same. */
#ifndef OUTCORE_IPC_WRITER_DICTIONARIES_H
#define OUTCORE_IPC_WRITER_DICTIONARIES_H

#include "arrow/batch.h"
#include "codec/codec.h"

typedef struct oci_file_dictionaries oci_file_dictionaries;

/* Writes a dictionary message: the framed header, then the body. */
typedef struct oci_message_sink {
    void *arg;
    oc_status (*write)(void *arg, const uint8_t *head, int64_t head_bytes, const uint8_t *body,
                       int64_t body_bytes, oc_error *err);
} oci_message_sink;

/* *out is NULL when the schema has no dictionaries. Retains schema. */
OC_NODISCARD oc_status oci_file_dictionaries_create(oci_schema *schema, oci_codec_id codec,
                                                    int level, oci_message_sink sink, oci_mem *mem,
                                                    oci_file_dictionaries **out, oc_error *err);
void oci_file_dictionaries_destroy(oci_file_dictionaries *dictionaries); /* NULL is fine */

/* The schema as the encoder sees it: dictionary fields are their indices. Borrowed. */
oci_schema *oci_file_dictionaries_physical(const oci_file_dictionaries *dictionaries);

/* Takes the new values that a batch of the schema brings, and gives the batch in physical form, which
 * refers to the memory of `batch`. Indices are charged to the account. After a failure only
 * destroy() is useful. */
OC_NODISCARD oc_status oci_file_dictionaries_translate(oci_file_dictionaries *dictionaries,
                                                       const oci_batch *batch, oci_batch **out,
                                                       oc_error *err);

/* Writes the dictionaries; nothing can be translated after that. */
OC_NODISCARD oc_status oci_file_dictionaries_finish(oci_file_dictionaries *dictionaries,
                                                    oc_error *err);

/* Whether translating the batch would look at many more rows than it has: slices of nested columns
 * share whole children. Copying it first is the better way then. */
bool oci_file_dictionaries_is_wasteful(const oci_batch *batch);

#endif /* OUTCORE_IPC_WRITER_DICTIONARIES_H */
