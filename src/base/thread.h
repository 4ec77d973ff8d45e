/* Threads and clock behind seams, and a one-thread helper for background I/O.
 *
 * oci_worker runs submitted tasks one after the other on one background thread. When the thread
 * cannot be started (or the seam refuses), tasks run at once inside oci_worker_submit: slower,
 * same result. Threads are created with all signals blocked, so that signals reach the threads
 * of the program that uses the library. */
#ifndef OUTCORE_BASE_THREAD_H
#define OUTCORE_BASE_THREAD_H

#include <pthread.h>

#include "base/error.h"

typedef struct oci_threads {
    /* 0 or an errno value. */
    int (*start)(void *self, pthread_t *out, void *(*body)(void *), void *arg);
    void *self;
} oci_threads;

const oci_threads *oci_system_threads(void);

/* Calls body(arg) on a thread of its own with so large a stack, and waits for it: for code of others that recurses with
 * its input. Of the stack only what is touched takes memory. false: there is no such thread to be had. */
bool oci_run_with_stack(size_t bytes, void (*body)(void *arg), void *arg);

/* A value that differs from thread to thread and is never 0. A thread that works for another one, which waits for it,
 * may go by that one's until it is done (0: its own again): who is asked to give memory back looks at it to tell
 * whether it is asked from inside its own call. */
uintptr_t oci_thread_identity(void);
void oci_thread_go_by(uintptr_t identity);

typedef struct oci_clock {
    int64_t (*now_ns)(void *self); /* monotonic */
    void *self;
} oci_clock;

const oci_clock *oci_system_clock(void);

typedef struct oci_worker oci_worker;

/* A task lives in the caller's storage until it is done. */
typedef struct oci_task {
    void (*run)(void *arg);
    void *arg;
    /* private to the worker: */
    struct oci_task *next;
    int state; /* 0 idle, 1 queued, 2 running, 3 done */
} oci_task;

/* Never fails for want of a thread: see above. OC_ENOMEM only. */
OC_NODISCARD oc_status oci_worker_create(const oci_threads *threads, oci_worker **out,
                                         oc_error *err);
/* Waits for queued tasks, joins the thread. NULL is fine. */
void oci_worker_destroy(oci_worker *worker);
void oci_worker_submit(oci_worker *worker, oci_task *task);
/* Waits until the task is done (an idle task returns at once) and makes it idle again. */
void oci_worker_wait(oci_worker *worker, oci_task *task);
/* True when the task is idle or done. */
bool oci_worker_is_done(oci_worker *worker, oci_task *task);

#endif /* OUTCORE_BASE_THREAD_H */
