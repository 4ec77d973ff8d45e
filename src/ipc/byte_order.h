/* Big-endian bodies: bringing values into the order of this machine.
 *
 * The schema of an IPC stream or file says in which byte order the bodies are; metadata and the
 * lengths in front of compressed buffers are little-endian always. Only numbers are turned: bits,
 * strings, fixed-size binary and type ids lie the same way everywhere.
 *
 *   numbers, decimals of any width        as one integer
 *   interval of days and milliseconds     two int32
 *   interval of months, days, nanoseconds two int32, one int64
 *   views                                 the length; buffer and offset where there are any */
#ifndef OUTCORE_IPC_BYTE_ORDER_H
#define OUTCORE_IPC_BYTE_ORDER_H

#include "ipc/layout_walk.h"
#include "ipc/message.h"

/* Turns the big-endian values in `bytes` bytes of a buffer of a column of `field`, in place; bytes
 * at the end that are no whole value stay. Alignment does not matter. */
void oci_swap_values(const oci_field *field, oci_buffer_kind kind, uint8_t *values, int64_t bytes);

/* Turns all buffers of an uncompressed message in place. `message` has the nodes, buffers and
 * variadic counts of `fields`[n], without the validity that unions have in V4 (oci_parts has seen
 * to both), and its buffers share no bytes. */
void oci_swap_body(const oci_field *fields, int32_t n, const oci_message *message, uint8_t *body);

#endif /* OUTCORE_IPC_BYTE_ORDER_H */
