/* The state of one sort, shared by the files of this folder. See sort.c for the story. */
#ifndef OUTCORE_OPS_SORT_SORT_INTERNAL_H
#define OUTCORE_OPS_SORT_SORT_INTERNAL_H

#include <pthread.h>

#include "ops/share.h"
#include "ops/sort/merge.h"
#include "ops/sort/row_buffer.h"
#include "ops/sort/run_list.h"
#include "ops/sort/sort.h"

/* Small batches collected before they are copied into one chunk. */
#define OCI_SMALL_BATCHES_MAX 64

typedef enum oci_sort_phase {
    OCI_SORT_ABSORB, /* taking input */
    OCI_SORT_MEMORY, /* giving out rows of the buffer: nothing was spilled */
    OCI_SORT_MERGE,  /* giving out the merge of runs and buffer */
    OCI_SORT_END
} oci_sort_phase;

typedef struct oci_sort {
    oci_stream base; /* must be first */
    const oci_env *env;
    oci_spill_manager *manager;
    oci_stream *input;
    oci_schema *announced; /* of the input: what batches are turned into when they are handed out */
    oci_sort_key *keys;
    int32_t n_keys;
    int32_t n_dictionaries; /* of the schema, at any depth */
    int32_t n_levels;       /* of lists and dense unions below each other */
    int64_t limit;          /* rows wanted, -1 = all */

    oci_mem *mem;
    oci_worker *worker;
    oci_row_buffer *buffer;
    oci_run_list runs;
    oci_run_writer *writer;
    oci_run_decoder *decoder;
    oci_spill_file *file; /* opened by the first spill */
    oci_merge *merge;

    oci_sort_phase phase;
    int64_t position; /* MEMORY: next sorted position */
    int64_t emitted;  /* rows gathered for giving out */
    oci_batch *rest;  /* gathered and not all given out yet, or NULL */
    int64_t rest_at;  /* its first row that is still to be given out */
    int32_t level;    /* merge passes of the run that went through most */

    /* Sizes that follow from the limit. */
    int64_t block_bytes;  /* of spilled blocks and of chunks */
    int64_t block_rows;   /* rows of a spilled block at most */
    int64_t output_bytes; /* of output batches */
    int64_t output_rows;
    int32_t runs_max; /* more runs than this are merged early, to bound the list */

    int64_t wide_bytes; /* largest chunk so far, when larger than block_bytes: no block is larger
                           than this */
    oci_reservation workspace; /* set aside so that spilling needs no new grant */
    bool is_spilling;
    /* Spilling the buffer failed while rows were read: it is sorted then and takes no more. */
    bool is_spill_broken;
    oc_error spill_error;
    bool is_reclaiming;    /* inside sort_reclaim(): nothing may be waited for, nothing merged */
    int64_t activity_seen; /* of the other operators, when we waited last */
    oci_share_entry entry; /* from the first call to the end */

    oci_batch *small[OCI_SMALL_BATCHES_MAX]; /* waiting to be copied into one chunk */
    int32_t n_small;
    int64_t small_rows;
    int64_t small_bytes;

    uint8_t *cutoff; /* top-k: rows whose key is not below this cannot be in the result */
    int64_t cutoff_bytes;
    bool top_k_does_not_fit;

    oc_status status; /* sticky */
    oc_error error;

    /* Giving memory back on request. */
    oci_reclaimer reclaimer;
    pthread_mutex_t lock;     /* held while a call runs */
    _Atomic uintptr_t puller; /* identity of the thread that is inside input->next, else 0 */
    _Atomic int64_t held;     /* what spilling would free, roughly */
} oci_sort;

/* -- taking input (sort_input.c) --------------------------------------------------------------- */

/* Takes all input and closes it. Rows are in the buffer or in runs then. */
oc_status oci_sort_absorb(oci_sort *sort, oc_error *err);
/* Lets go of the batches put aside. */
void oci_sort_release_small(oci_sort *sort);
/* When another operator waits for memory, nobody keeps more than its share: whether we do. */
bool oci_sort_is_unfair(const oci_sort *sort);
/* Whether the calling thread is inside our input->next. */
bool oci_sort_is_pulling(const oci_sort *sort);

/* -- spilling (sort_spill.c) ------------------------------------------------------------------- */

/* Makes sure that spilling blocks of up to `chunk_bytes` needs no new grant; spills when that is
 * what it takes. */
oc_status oci_sort_ensure_workspace(oci_sort *sort, int64_t chunk_bytes, oc_error *err);
/* Memory that gathering up to `rows` rows, of the buffer or of runs, into one batch takes besides the
 * batch; not what dictionaries below lists take, see oci_copy_rows. */
int64_t oci_sort_scratch_bytes(const oci_sort *sort, int64_t rows);
/* Rows of a batch at most so that its scratch for dictionaries stays a small part of the limit. */
int64_t oci_sort_dictionary_rows_max(const oci_sort *sort);
/* Memory to set aside for writing blocks of up to `bytes`. */
int64_t oci_sort_workspace_bytes(const oci_sort *sort, int64_t bytes);
/* Sorts the buffer (if it is not yet), writes sorted positions [from, end) as a run, clears it. No
 * rows: does nothing. */
oc_status oci_sort_spill(oci_sort *sort, int64_t from, oc_error *err);
/* Merges runs until at most `runs_max` are left. */
oc_status oci_sort_merge_runs(oci_sort *sort, int32_t runs_max, oc_error *err);
/* Plans and starts the final merge, merging runs before when it has to. */
oc_status oci_sort_start_merge(oci_sort *sort, oc_error *err);
/* After a refusal: waits a moment, in which other sorts of the context may give memory back, and
 * counts in *steps (from 0) how often. Nothing that others could use may be held meanwhile. OC_OK:
 * try again. OC_EBUDGET (err as it is): there is nobody to wait for, or nobody has moved on for
 * long. */
oc_status oci_sort_wait(oci_sort *sort, int *steps, oc_error *err);
/* The part of the limit that is ours while other sorts of the context are at work. */
int64_t oci_sort_share(const oci_sort *sort);
/* Sizes of output batches, by that part. */
void oci_sort_derive_output(oci_sort *sort);
/* OC_EBUDGET for rows that do not fit. */
oc_status oci_sort_row_too_large(const oci_sort *sort, int64_t row_bytes, oc_error *err);
/* Makes an OC_EBUDGET of any origin name a limit that is enough for the whole sort. Before memory
 * is released. */
void oci_sort_name_limit(const oci_sort *sort, oc_error *err);

/* -- top-k (sort_top_k.c) ---------------------------------------------------------------------- */

/* Drops the rows of a batch that cannot be in the result any more. Takes the batch; *out is NULL
 * when none is left. */
oc_status oci_sort_filter(oci_sort *sort, oci_batch *batch, oci_batch **out, oc_error *err);
/* Cuts the buffer back to the rows wanted when it holds many more. */
oc_status oci_sort_cut_back(oci_sort *sort, oc_error *err);
/* Remembers the key of the last row wanted; the buffer is sorted and has at least `limit` rows. */
oc_status oci_sort_note_cutoff(oci_sort *sort, oc_error *err);

#endif /* OUTCORE_OPS_SORT_SORT_INTERNAL_H */
