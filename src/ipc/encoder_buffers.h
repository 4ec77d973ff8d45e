/* The buffers of a column as IPC wants them, without copying them yet. For encoder.c.
 *
 * A column is a view that may begin anywhere, as may its children; a message body wants buffers
 * that begin with the first row and no rows that nobody refers to. Most buffers are a range of bytes
 * as it lies; the rest is described, and made when there is a place for it. */
#ifndef OUTCORE_IPC_ENCODER_BUFFERS_H
#define OUTCORE_IPC_ENCODER_BUFFERS_H

#include "arrow/batch.h"
#include "arrow/column_range.h"

typedef enum oci_source_kind {
    OCI_SOURCE_BYTES,             /* `size` bytes at `data`, as they lie */
    OCI_SOURCE_BITS,              /* `n` bits from bit `start` of `data` on, to be moved to bit 0 */
    OCI_SOURCE_OFFSETS,           /* of strings and lists, to begin with 0 */
    OCI_SOURCE_LIST_VIEW_OFFSETS, /* to count from the first row referred to; 0 where empty */
    OCI_SOURCE_LIST_VIEW_SIZES,   /* 0 where null */
    OCI_SOURCE_UNION_OFFSETS,     /* to count from the first row referred to, in each child */
    OCI_SOURCE_RUN_ENDS,          /* of `column`, which is the run-end encoded one */
    OCI_SOURCE_VIEWS,     /* views of `column`, empty where null; `compact`: of one buffer */
    OCI_SOURCE_VIEW_BYTES /* that one buffer: the bytes of the long views, one behind the other */
} oci_source_kind;

/* Good during the call that gets it. */
typedef struct oci_buffer_source {
    oci_source_kind kind;
    int64_t size; /* bytes of the buffer in the message; 0 = data may be NULL */
    const uint8_t *data;
    int64_t n;
    int64_t start;
    const oci_column *column; /* of all kinds but BYTES and BITS */
    oci_row_range range;      /* OFFSETS, LIST_VIEW_OFFSETS, RUN_ENDS: what they count from */
    bool compact;
    bool is_spare; /* the one offset of no rows, which a reader does not need */
} oci_buffer_source;

/* Called in the order of the message: a column's node, its buffers, the number of its view buffers
 * (only for views), then its children. */
typedef struct oci_column_visitor {
    void *arg;
    void (*node)(void *arg, int64_t length, int64_t null_count); /* may be NULL */
    oc_status (*buffer)(void *arg, const oci_buffer_source *source, oc_error *err);
    void (*views)(void *arg, int64_t n_view_buffers); /* may be NULL */
} oci_column_visitor;

/* Visits a validated column and its children, cut to the rows that are referred to; not the values
 * of dictionaries. Views whose buffers are mostly unused (slices, filtered data) are compacted. Fails
 * only when `buffer` does. */
OC_NODISCARD oc_status oci_column_visit(const oci_column *column, const oci_column_visitor *visitor,
                                        oc_error *err);

/* Makes the buffer: writes `size` bytes to `to`. */
void oci_buffer_source_copy(const oci_buffer_source *source, uint8_t *to);

/* 128 bits that tell two sets of values apart; dictionaries inside count as their indices. Equal
 * values may differ when they lie differently. */
void oci_column_fingerprint(const oci_column *column, uint64_t out[2]);

#endif /* OUTCORE_IPC_ENCODER_BUFFERS_H */
