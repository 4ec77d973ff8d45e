/* Small batches become blocks.
 *
 * What goes to disk as one message costs a header, a codec's start and a system call, whatever the
 * number of rows. So blocks are cut by bytes and not by the batches that an engine happens to make:
 * small batches are kept until they make about a block, and then copied together by one gather; larger
 * ones pass as they are, or in slices. Rows stay in their order.
 *
 * A batch counts with its bytes in working form (strings of views one by one), so that one of views
 * that share long strings passes as it is and they stay shared.
 *
 * Thousands of batches of one row would hold thousands of arrays of their maker, which nobody counts.
 * So after some of them those are copied together at once, and what comes of it waits instead: each
 * row is copied twice at most. */
#ifndef OUTCORE_SPILL_BATCH_COLLECTOR_H
#define OUTCORE_SPILL_BATCH_COLLECTOR_H

#include "arrow/batch.h"

typedef struct oci_batch_collector oci_batch_collector;

/* Batches are of `schema` (retained), and so are the blocks. `head_bytes` are left in front of blocks
 * that are copied. Memory comes from `mem`. Not collected, but passed on: batches of schemas with
 * run-end encoding, whose runs are counted as they are. */
OC_NODISCARD oc_status oci_batch_collector_create(oci_schema *schema, int64_t head_bytes,
                                                  oci_mem *mem, oci_batch_collector **out,
                                                  oc_error *err);
void oci_batch_collector_destroy(oci_batch_collector *collector); /* NULL is fine */

/* Takes a batch with a row at least, also on failure. Blocks shall have about `block_bytes`, which may
 * be another number each time. All blocks that are ready were taken before. */
OC_NODISCARD oc_status oci_batch_collector_add(oci_batch_collector *collector, oci_batch *batch,
                                               int64_t block_bytes, oc_error *err);
/* The next block that is ready, to be released by the caller; *out NULL: none. With `all` also what
 * waits for more. */
OC_NODISCARD oc_status oci_batch_collector_next(oci_batch_collector *collector, bool all,
                                                oci_batch **out, oc_error *err);

#endif /* OUTCORE_SPILL_BATCH_COLLECTOR_H */
