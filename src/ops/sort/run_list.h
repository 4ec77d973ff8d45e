/* The sorted runs of one sort, in input order, and which of them to merge next.
 *
 * A run is one extent of the spill file, or several that follow each other in key order: input that
 * comes sorted (ascending or descending) grows one run instead of making many, see
 * oci_run_list_add.
 *
 * Order. Equal keys must come out in input order, and merging breaks ties by the place in this
 * list. So only neighbours are merged, and the result takes their place. */
#ifndef OUTCORE_OPS_SORT_RUN_LIST_H
#define OUTCORE_OPS_SORT_RUN_LIST_H

#include "spill/run.h"

/* Bytes of the first and last key that are remembered, enough to tell most runs apart. */
#define OCI_RUN_KEY_BYTES 64

typedef struct oci_run_key {
    uint8_t bytes[OCI_RUN_KEY_BYTES];
    int32_t size;  /* bytes used */
    bool is_whole; /* the key ends here; false: it goes on */
} oci_run_key;

void oci_run_key_set(oci_run_key *out, const uint8_t *key, int64_t size);
/* a <= b for sure / a < b for sure. */
bool oci_run_key_not_above(const oci_run_key *a, const oci_run_key *b);
bool oci_run_key_below(const oci_run_key *a, const oci_run_key *b);

typedef struct oci_sorted_run {
    oci_run_extent *extents; /* in key order */
    int32_t n_extents;
    int32_t capacity;
    int64_t rows;
    int64_t bytes;          /* on disk */
    int64_t slab_bytes_max; /* of a block in memory, as charged */
    int64_t read_bytes_max; /* that reading one takes beside it */
    int64_t key_bytes_max;  /* of keys of one block, as charged, or more */
    int32_t level;          /* merge passes its rows went through */
    oci_run_key first_key;
    oci_run_key last_key;
} oci_sorted_run;

typedef struct oci_run_list {
    oci_mem *mem;
    oci_sorted_run *runs;
    int32_t n;
    int32_t capacity;
} oci_run_list;

void oci_run_list_init(oci_run_list *list, oci_mem *mem);
void oci_run_list_deinit(oci_run_list *list);

/* Appends a new run of one extent; joins it to the last run when all its keys come behind (equal
 * ones may) or all come before (strictly): then no merge between them is needed. extents of `run`
 * is ignored; one extent is given. */
OC_NODISCARD oc_status oci_run_list_add(oci_run_list *list, const oci_sorted_run *run,
                                        const oci_run_extent *extent, oc_error *err);
/* Puts one merged run in the place of runs [start, start + n). */
OC_NODISCARD oc_status oci_run_list_replace(oci_run_list *list, int32_t start, int32_t n,
                                            const oci_sorted_run *run, const oci_run_extent *extent,
                                            oc_error *err);

/* Memory that reading run i in a merge takes, with one block in hand. */
int64_t oci_run_cost(const oci_sorted_run *run);

/* Which neighbours to merge next so that in the end one merge of all that is left fits. */
typedef struct oci_merge_step {
    int32_t start;
    int32_t n;
    bool is_final; /* all runs; nothing is written again */
} oci_merge_step;

/* `space` is the memory for the inputs of a merge whose result is written to disk, `final_space`
 * for those of the last one. OC_EBUDGET when not even two neighbours fit; *needed then says how
 * many bytes of space two neighbours take. */
OC_NODISCARD oc_status oci_merge_plan(const oci_run_list *list, int64_t space, int64_t final_space,
                                      oci_merge_step *out, int64_t *needed, oc_error *err);

/* Passes that a row goes through at most until the end, by the plan as it stands: for progress. */
int32_t oci_merge_passes_left(const oci_run_list *list, int64_t space, int64_t final_space);

#endif /* OUTCORE_OPS_SORT_RUN_LIST_H */
