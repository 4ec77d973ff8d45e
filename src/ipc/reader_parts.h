/* A record batch or dictionary message reduced to the columns that are wanted, in our own memory.
 *
 * The result is a message again: nodes, buffers and variadic counts of the wanted columns, each
 * with its whole tree, in the wanted order, over the same body. The decoder of the projected schema
 * takes it as if it had come like that. It is of version V5: the validity buffers that unions have
 * in V4 are left out. Staging and slicing rewrite its buffers to where the bytes lie then. */
#ifndef OUTCORE_IPC_READER_PARTS_H
#define OUTCORE_IPC_READER_PARTS_H

#include "ipc/layout_walk.h"
#include "ipc/message.h"

typedef struct oci_parts {
    oci_message message; /* its arrays are the ones below */
    oci_ipc_node *nodes;
    oci_ipc_buffer *buffers;
    int64_t *variadic; /* buffers beyond the views of each view column, in order */
    /* private */
    oci_mem *mem;
    void *block;
    int64_t block_bytes;
} oci_parts;

/* `message` is of `fields`[n_fields]; `columns` are indices of them, NULL = all. OC_EDATA when it
 * does not have the nodes, buffers and variadic counts that the fields ask for, or claims more than
 * 2^32 rows that take no bytes. Zeroed `out`; deinit it also after a failure. */
OC_NODISCARD oc_status oci_parts_init(oci_parts *out, const oci_field *fields, int32_t n_fields,
                                      const oci_message *message, const int32_t *columns,
                                      int32_t n_columns, oci_mem *mem, oc_error *err);
void oci_parts_deinit(oci_parts *parts);

/* True when the buffers lie one behind the other, none overlapping: only then can they be taken
 * from a pipe in order, and disk space behind a reading position be given back. */
bool oci_parts_are_ascending(const oci_parts *parts);

/* Sum of the lengths of the buffers. */
int64_t oci_parts_bytes(const oci_parts *parts);

#endif /* OUTCORE_IPC_READER_PARTS_H */
