/* The buffers of a column as IPC wants them, without copying them yet. For encoder.c.
 *
 * A column is a view that may begin anywhere; a message body wants buffers that begin with the
 * first row. Most of them are a range of bytes as it lies; the rest is described, and made when
 * there is a place for it. */
#ifndef OUTCORE_IPC_ENCODER_BUFFERS_H
#define OUTCORE_IPC_ENCODER_BUFFERS_H

#include "arrow/batch.h"

typedef enum oci_source_kind {
    OCI_SOURCE_BYTES,     /* `size` bytes at `data`, as they lie */
    OCI_SOURCE_BITS,      /* `n` bits from bit `start` of `data` on, to be moved to bit 0 */
    OCI_SOURCE_OFFSETS32, /* `n` offsets at `data`, `start` to be taken off each */
    OCI_SOURCE_OFFSETS64,
    OCI_SOURCE_VIEWS,     /* views of `column`, empty where null; `compact`: of one buffer */
    OCI_SOURCE_VIEW_BYTES /* that one buffer: the bytes of the long views, one behind the other */
} oci_source_kind;

typedef struct oci_buffer_source {
    oci_source_kind kind;
    int64_t size; /* bytes of the buffer in the message; 0 = data may be NULL */
    const uint8_t *data;
    int64_t n;
    int64_t start;
    const oci_column *column;
    bool compact;
} oci_buffer_source;

typedef oc_status (*oci_buffer_visitor)(void *arg, const oci_buffer_source *source, oc_error *err);

/* Calls `visit` for each buffer of the column in the order of the message. *n_variadic gets the
 * number of view buffers, -1 when the column is not of views. Views whose buffers are mostly unused
 * (slices, filtered data) are compacted. */
OC_NODISCARD oc_status oci_column_visit(const oci_column *column, oci_buffer_visitor visit,
                                        void *arg, int64_t *n_variadic, oc_error *err);

/* Makes the buffer: writes `size` bytes to `to`. */
void oci_buffer_source_copy(const oci_buffer_source *source, uint8_t *to);

/* 128 bits that tell two sets of values apart. Equal values may differ when they lie
 * differently. */
void oci_column_fingerprint(const oci_column *column, uint64_t out[2]);

#endif /* OUTCORE_IPC_ENCODER_BUFFERS_H */
