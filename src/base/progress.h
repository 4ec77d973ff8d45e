/* Progress of a context: counters that working threads keep up to date, and the caller's
 * callback.
 *
 * All members may be read and written by any thread. The callback runs on whichever thread
 * ticks, at most ten times a second in all. */
#ifndef OUTCORE_BASE_PROGRESS_H
#define OUTCORE_BASE_PROGRESS_H

#include <stdatomic.h>
#include <stdint.h>

typedef struct oci_progress {
    _Atomic(const char *) phase; /* static strings */
    _Atomic int64_t input_bytes;
    _Atomic int64_t input_bytes_total; /* -1 unknown */
    _Atomic int64_t input_rows;
    _Atomic int64_t output_rows;
    _Atomic int64_t runs;
    _Atomic int32_t merge_pass;
    _Atomic int32_t merge_passes;
    _Atomic int64_t last_report_ns;                           /* private to oci_env_tick */
    void (*report)(struct oci_progress *progress, void *arg); /* NULL = nobody asked */
    void *report_arg;
} oci_progress;

#endif /* OUTCORE_BASE_PROGRESS_H */
