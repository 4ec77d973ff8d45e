/* What is derived from an environment: the cancel check and the size of a block in flight. */
#include "base/env.h"

#include "base/bits.h"
#include "base/tiny.h"

enum {
    BLOCK_BYTES_MIN = 16 * 1024,   /* smaller blocks drown in headers and system calls */
    BLOCK_BYTES_MAX = 1024 * 1024, /* larger ones leave the cache and gain nothing */
    REPORT_INTERVAL_NS = 100 * 1000 * 1000
};

oc_status oci_env_check_cancel(const oci_env *env, oc_error *err)
{
    /* Relaxed: the flag carries no data with it, and a check that sees it one batch later is as
     * good. */
    if (env->cancel != NULL && atomic_load_explicit(env->cancel, memory_order_relaxed)) {
        OC_FAIL(err, OC_ECANCELED, "canceled on request");
    }
    return OC_OK;
}

oc_status oci_env_tick(const oci_env *env, oc_error *err)
{
    oci_progress *progress = env->progress;
    if (progress != NULL && progress->report != NULL) {
        int64_t now = env->clock->now_ns(env->clock->self);
        int64_t last = atomic_load(&progress->last_report_ns);
        /* Whoever moves the time on reports; everybody else goes on working. */
        if (now - last >= REPORT_INTERVAL_NS &&
            atomic_compare_exchange_strong(&progress->last_report_ns, &last, now)) {
            progress->report(progress, progress->report_arg);
        }
    }
    return oci_env_check_cancel(env, err);
}

void oci_env_set_phase(const oci_env *env, const char *phase)
{
    if (env->progress != NULL) {
        atomic_store(&env->progress->phase, phase);
    }
}

int64_t oci_env_block_bytes(const oci_env *env)
{
    int64_t share = oci_budget_limit(env->budget) / 64;
    int64_t bytes = oci_max64(BLOCK_BYTES_MIN, oci_min64(share, BLOCK_BYTES_MAX));
    return OCI_TINY(oci_min64(bytes, 1024), bytes);
}
