/* Columns out of a message: every node and buffer held against the schema and the rows. For
 * decoder.c. */
#ifndef OUTCORE_IPC_DECODER_COLUMNS_H
#define OUTCORE_IPC_DECODER_COLUMNS_H

#include "arrow/batch.h"
#include "ipc/message.h"

/* Columns point into the body where their buffers lie, and to zeros of ours where a buffer is empty
 * (Arrow lets the offsets of no rows be empty). Dictionary columns get no dictionary yet; they are
 * their indices. */
typedef struct oci_decoded_columns {
    oci_column *columns; /* malloc'ed: one for each field */
    void *extra;         /* malloc'ed: what they point to beside buffers; may be NULL */
    int64_t extra_bytes;
} oci_decoded_columns;

/* The structure is always checked, since it costs a few numbers per buffer: the lists as long as
 * the schema asks for, buffers as long as the rows need, first and last offset inside the bytes or
 * the child, children long enough. Without `trusted` null counts are counted too. Free both blocks
 * after success. */
OC_NODISCARD oc_status oci_columns_take(const oci_schema *schema, const oci_message *message,
                                        const uint8_t *body, bool trusted, oci_decoded_columns *out,
                                        oc_error *err);

/* Columns of no rows. */
OC_NODISCARD oc_status oci_columns_make_empty(const oci_schema *schema, oci_decoded_columns *out,
                                              oc_error *err);

/* The same columns with structs of their own (extra has the children: first those of the first
 * column). */
OC_NODISCARD oc_status oci_columns_copy(const oci_schema *schema, const oci_column *columns,
                                        oci_decoded_columns *out, oc_error *err);

#endif /* OUTCORE_IPC_DECODER_COLUMNS_H */
