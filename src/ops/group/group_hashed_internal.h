/* The state of one hashed grouping, shared by its files. See group_hashed.c for the story. */
#ifndef OUTCORE_OPS_GROUP_GROUP_HASHED_INTERNAL_H
#define OUTCORE_OPS_GROUP_GROUP_HASHED_INTERNAL_H

#include <pthread.h>

#include "base/hash.h"
#include "ops/group/group.h"
#include "ops/group/group_table.h"
#include "ops/share.h"
#include "spill/run.h"

#define OCI_GROUP_BITS_MAX       6
#define OCI_GROUP_PARTITIONS_MAX (1 << OCI_GROUP_BITS_MAX)
/* Hashes of a key that tell partitions, one after the other: 64 bits can be used up by chosen keys. */
#define OCI_GROUP_HASHES 2

/* Where a run lies. There may be thousands of them in little memory, so what else is known of a run is left
 * to the counts at its end, which are held against what is read. */
typedef struct oci_group_run {
    int64_t offset;
    int64_t bytes;
    uint8_t run_id[OCI_SEAL_RUN_ID_BYTES];
} oci_group_run;

/* Runs of one partition that wait on disk. */
typedef struct oci_group_runs {
    oci_group_run *runs;
    int64_t n;
    int64_t room;
} oci_group_runs;

/* A part of the groups that is to be grouped alone: all hashes that begin with the same `bits` bits. */
typedef struct oci_group_pending {
    oci_group_runs runs;
    int32_t bits;
} oci_group_pending;

typedef struct oci_group_argument {
    int32_t n;
    int32_t columns[2];
    int32_t filter; /* -1 = none */
    int32_t state;  /* >= 0: the input has states, beginning with this column */
} oci_group_argument;

/* A part of a grouping in two levels (group_distinct.c). All zero: the whole of one. */
typedef struct oci_group_stage {
    const int32_t *
        states; /* for each aggregate: the column of the input where its states begin that are to be
                                 merged, or -1: it takes rows. NULL: all take rows */
    const oci_schema *origin; /* of the rows that the states are of */
    bool is_partial;          /* states come out, not results */
} oci_group_stage;

typedef enum oci_group_phase {
    OCI_GROUP_ABSORB, /* taking the input, or the runs of a pending part */
    OCI_GROUP_GIVE,   /* giving out the groups in the table */
    OCI_GROUP_END
} oci_group_phase;

typedef struct oci_group_hashed {
    oci_stream base; /* must be first */
    const oci_env *env;
    oci_spill_manager *manager;
    oci_stream *input;
    oci_mem *mem;

    oci_sort_key *input_keys; /* of the input's rows ... */
    oci_sort_key *spill_keys; /* ... and of spilled ones, whose first columns are the keys */
    int32_t n_keys;
    oci_schema *key_schema;       /* decoded keys */
    oci_schema *spill_schema;     /* keys, then states */
    oci_aggregator **aggregators; /* with NULL at the end */
    oci_group_argument *arguments;
    int32_t n_aggregates;

    oci_group_table *table;
    /* For each row of the slice at hand. */
    uint64_t *hashes;
    uint32_t *groups;
    uint32_t *filtered;
    int64_t slice_rows;
    int64_t slice_bytes; /* of its strings, when it was last tried */

    /* The partitions of what is at hand: `bits_done` bits of the hashes are the same for all groups, the next
     * `bits` tell the partition. From first_spilled on they are on disk. */
    int32_t bits;
    int32_t bits_done;
    int32_t first_spilled;
    int64_t counts[OCI_GROUP_PARTITIONS_MAX]; /* groups of each in the table */
    oci_group_runs spilled[OCI_GROUP_PARTITIONS_MAX];
    oci_group_pending *pending; /* the next one is the last */
    int64_t n_pending;
    int64_t room_pending;

    oci_spill_file *file;
    oci_worker *worker;
    oci_run_writer *writer;
    oci_run_decoder *decoder;
    int64_t block_bytes;
    int64_t block_rows;
    int64_t wide_bytes; /* largest spilled block so far that one row made */
    int64_t read_bytes; /* what reading any run so far takes at most */
    oci_reservation workspace;

    oci_group_phase phase;
    uint32_t *order; /* GIVE: groups in the order of partitions, each sorted when its turn comes */
    int64_t order_room;
    int64_t order_n;
    int64_t order_at;
    int64_t sorted_to; /* order[0..sorted_to) is in the order of (hash, key) */
    bool is_single;    /* no keys: one group, even of no rows */
    bool is_partial;   /* states come out, not results */

    oci_share_entry entry;
    int64_t activity_seen;
    oc_status status; /* sticky */
    oc_error error;
    oci_reclaimer reclaimer;
    pthread_mutex_t lock;
    _Atomic uintptr_t puller; /* the thread that is inside input->next, else 0 */
    _Atomic int64_t held;
} oci_group_hashed;

/* What tests clear bits of, to make hashes equal. */
extern uint64_t oci_group_hash_masks[OCI_GROUP_HASHES];

/* The hash number `which` of a key. */
static inline uint64_t oci_group_hash(const uint8_t *key, int64_t size, int32_t which)
{
    return oci_hash64(key, size, (uint64_t)which) & oci_group_hash_masks[which];
}

/* The number of the hash whose bits tell partitions now. */
static inline int32_t oci_group_which(const oci_group_hashed *self)
{
    int32_t which = self->bits_done / 64;
    return which < OCI_GROUP_HASHES ? which : OCI_GROUP_HASHES - 1;
}

static inline int32_t oci_group_partition(const oci_group_hashed *self, uint64_t hash)
{
    /* All bits done: one partition. */
    return self->bits == 0 ? 0 : (int32_t)(hash << self->bits_done % 64 >> (64 - self->bits));
}

/* As oci_group_hashed_open, for a stage. */
OC_NODISCARD oc_status oci_group_stage_open(const oci_env *env, oci_spill_manager *manager,
                                            oci_stream *input, const oci_group_plan *plan,
                                            const oci_group_stage *stage, oci_stream **out,
                                            oc_error *err);
/* Forgets all groups and gives their memory back. */
void oci_group_clear(oci_group_hashed *self);

/* -- group_hashed_take.c ----------------------------------------------------------------------- */

/* Takes a batch of the input, or of spilled groups; the reference also on failure. */
OC_NODISCARD oc_status oci_group_take_batch(oci_group_hashed *self, oci_batch *batch,
                                            bool is_spilled, oc_error *err);
/* Where the states of aggregate i begin among the columns of spilled groups, and of a partial result. */
int32_t oci_group_first_state(const oci_group_hashed *self, int32_t i);
/* The one group of a grouping without keys, for when no rows come. */
OC_NODISCARD oc_status oci_group_add_single(oci_group_hashed *self, oc_error *err);
/* Makes an OC_EBUDGET of any origin name a limit that is enough. */
void oci_group_name_limit(const oci_group_hashed *self, oc_error *err);
/* After a refusal of memory: gets some. OC_OK: try again. */
OC_NODISCARD oc_status oci_group_make_room(oci_group_hashed *self, oci_share_patience *patience,
                                           oc_error *err);

/* -- group_hashed_spill.c ---------------------------------------------------------------------- */

/* Makes sure that spilling works when the table has `n_more` more groups. OC_EBUDGET. */
OC_NODISCARD oc_status oci_group_set_aside(oci_group_hashed *self, int64_t n_more, oc_error *err);
/* Writes partitions, at least an eighth of all groups, to disk. OC_EBUDGET: there is none, or no memory to
 * do it. */
OC_NODISCARD oc_status oci_group_evict(oci_group_hashed *self, oc_error *err);
/* Writes what the table has of partitions that are on disk already. */
OC_NODISCARD oc_status oci_group_evict_rest(oci_group_hashed *self, oc_error *err);
/* Makes the spilled partitions pending, so that the lowest comes next. */
OC_NODISCARD oc_status oci_group_push_spilled(oci_group_hashed *self, oc_error *err);
/* Before runs are written: opens the file and sets aside what encoding takes, to be given back with
 * oci_run_writer_unreserve. Inside a promise. */
OC_NODISCARD oc_status oci_group_begin_writing(oci_group_hashed *self, oc_error *err);
/* Writes groups[0..n) of one partition as a run and adds it to `runs`. */
OC_NODISCARD oc_status oci_group_write_run(oci_group_hashed *self, const uint32_t *groups,
                                           int64_t n, oci_group_runs *runs, oc_error *err);
/* Makes runs pending, to come next. Takes them on success. */
OC_NODISCARD oc_status oci_group_push(oci_group_hashed *self, oci_group_runs *runs, int32_t bits,
                                      oc_error *err);
void oci_group_runs_deinit(oci_group_hashed *self, oci_group_runs *runs);

/* -- group_hashed_give.c ----------------------------------------------------------------------- */

/* Puts the groups of the table in the order of partitions. */
OC_NODISCARD oc_status oci_group_start_giving(oci_group_hashed *self, oc_error *err);
/* The next batch of results, *out NULL when the table is given out. */
OC_NODISCARD oc_status oci_group_give(oci_group_hashed *self, oci_batch **out, oc_error *err);
void oci_group_stop_giving(oci_group_hashed *self);
/* Writes the groups that are not given out yet to disk; they come next. */
OC_NODISCARD oc_status oci_group_shed(oci_group_hashed *self, oc_error *err);
/* Columns of `groups[0..n)`: decoded keys, then states (partial) or results, as one batch of `schema`. */
OC_NODISCARD oc_status oci_group_make_batch(oci_group_hashed *self, oci_schema *schema,
                                            bool partial, const uint32_t *groups, int64_t n,
                                            oci_batch **out, oc_error *err);
/* How many of groups[0..n) make a batch of about `bytes`, at least 1; *made (may be NULL) gets roughly how
 * large it is. */
int64_t oci_group_fit(const oci_group_hashed *self, bool partial, const uint32_t *groups, int64_t n,
                      int64_t bytes, int64_t *made);

#endif /* OUTCORE_OPS_GROUP_GROUP_HASHED_INTERNAL_H */
