/* Merging sorted runs, and the rows still in memory, into one sequence of batches.
 *
 * Inputs are runs on disk, read block by block, and at most one sorted row buffer, which comes last
 * in input order. A tree of losers (Knuth, TAOCP 3, 5.4.1) says which input has the next row; an
 * input's current key is cached as 8 bytes behind the prefix that all keys share, so that most
 * comparisons touch no key. Rows are not moved while merging: their places are noted, and a whole
 * output batch is gathered at once, column by column.
 *
 * Reading ahead. Blocks are read, decompressed and their keys encoded on the worker. Which input
 * will need its next block first is known: the one whose current block has the smallest last key
 * (forecasting, Knuth 5.4.6). `spare` blocks may be in memory beyond one per input.
 *
 * A block whose rows are all noted has to stay until the batch is gathered; such blocks count as
 * spare. When there are too many the batch is ended early, which bounds memory and costs nothing
 * but a smaller batch. */
#ifndef OUTCORE_OPS_SORT_MERGE_H
#define OUTCORE_OPS_SORT_MERGE_H

#include "base/env.h"
#include "ops/sort/row_buffer.h"
#include "ops/sort/run_list.h"

typedef struct oci_merge oci_merge;

typedef struct oci_merge_config {
    const oci_env *env;
    oci_schema *schema; /* working form; borrowed */
    const oci_sort_key *keys;
    int32_t n_keys;
    oci_spill_file *file;
    oci_run_decoder *decoder; /* used on the worker while the merge lives */
    oci_worker *worker;
    oci_mem *mem;
    const oci_sorted_run *runs; /* n_runs, borrowed until destroy */
    int32_t n_runs;
    oci_row_buffer *buffer;  /* sorted, borrowed; NULL = none */
    int64_t buffer_position; /* first sorted position that still counts */
    int32_t spare_blocks;
    int64_t head_bytes;    /* free bytes in front of the slabs of output batches */
    int64_t rows_max;      /* rows of an output batch at most */
    int64_t key_bytes_max; /* keys of its rows together, unless one alone has more; 0 = any */
} oci_merge_config;

OC_NODISCARD oc_status oci_merge_create(const oci_merge_config *config, oci_merge **out,
                                        oc_error *err);
/* Waits for reads in flight. NULL is fine. */
void oci_merge_destroy(oci_merge *merge);

/* The next rows, at most rows_max and about max_bytes; NULL at the end. */
OC_NODISCARD oc_status oci_merge_next(oci_merge *merge, int64_t max_bytes, oci_batch **out,
                                      oc_error *err);

/* The most that the keys of one batch given out so far took together, or a little more. */
int64_t oci_merge_key_bytes_max(const oci_merge *merge);

/* Scratch memory of a merge that makes batches of up to max_rows rows. */
int64_t oci_merge_scratch_bytes(int64_t max_rows);

#endif /* OUTCORE_OPS_SORT_MERGE_H */
