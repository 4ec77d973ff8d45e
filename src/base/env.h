/* What the whole library works with: one `oci_env` per context, handed down to every module.
 *
 * It bundles the seams (allocator behind the budget, file I/O, clock, random, thread start) and
 * what is shared by all work of a context (budget, cancel flag). */
#ifndef OUTCORE_BASE_ENV_H
#define OUTCORE_BASE_ENV_H

#include <stdatomic.h>

#include "base/io.h"
#include "base/memory.h"
#include "base/progress.h"
#include "base/thread.h"

typedef struct oci_env {
    oci_budget *budget;
    const oci_io *io;
    const oci_threads *threads;
    const oci_clock *clock;
    atomic_bool *cancel;    /* set by oc_context_cancel(), checked at least every 50 ms of work */
    oci_progress *progress; /* may be NULL */
    int32_t n_threads;      /* 1 = the caller's thread and at most one I/O helper */
    int64_t batch_rows;     /* wanted rows of an output batch, >= 1 */
} oci_env;

/* OC_ECANCELED once the flag is set. */
OC_NODISCARD oc_status oci_env_check_cancel(const oci_env *env, oc_error *err);

/* The same, and now and then the progress callback: call it about once per batch. */
OC_NODISCARD oc_status oci_env_tick(const oci_env *env, oc_error *err);

/* Sets the phase that progress shows; a static string. */
void oci_env_set_phase(const oci_env *env, const char *phase);

/* Bytes that one batch or block in flight aims at, derived from the limit: limit / 64 between 16
 * KiB and 1 MiB. Readers cut their batches to it, operators leave room for two of them before they
 * ask for the next. 1/64: a merge of 30 runs, each with a block and its keys, still fits beside
 * output and scratch, which saves a pass over all data for limits up to 64 MiB. */
int64_t oci_env_block_bytes(const oci_env *env);

#endif /* OUTCORE_BASE_ENV_H */
