/* Starting threads of the system behind the thread seam. */
#include "base/thread.h"

#include <signal.h>

/* A new thread inherits the mask of its creator. Everything is blocked across pthread_create(),
 * so that a signal meant for the program around the library is never delivered on one of our
 * threads. */
static int start_masked(pthread_t *out, const pthread_attr_t *attributes, void *(*body)(void *),
                        void *arg)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    int failed = pthread_sigmask(SIG_SETMASK, &all, &before);
    if (failed != 0) {
        return failed;
    }
    failed = pthread_create(out, attributes, body, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

static int system_start(void *self, pthread_t *out, void *(*body)(void *), void *arg)
{
    (void)self;
    return start_masked(out, NULL, body, arg);
}

const oci_threads *oci_system_threads(void)
{
    static const oci_threads threads = {.start = system_start};
    return &threads;
}

static _Thread_local uintptr_t borrowed_identity;

uintptr_t oci_thread_identity(void)
{
    return borrowed_identity != 0 ? borrowed_identity : (uintptr_t)&borrowed_identity;
}

void oci_thread_go_by(uintptr_t identity)
{
    borrowed_identity = identity;
}

typedef struct stack_call {
    void (*body)(void *arg);
    void *arg;
} stack_call;

static void *run_call(void *arg)
{
    stack_call *call = arg;
    call->body(call->arg);
    return NULL;
}

bool oci_run_with_stack(size_t bytes, void (*body)(void *arg), void *arg)
{
    pthread_attr_t attributes;
    pthread_t thread;
    stack_call call = {body, arg};
    if (pthread_attr_init(&attributes) != 0) {
        return false;
    }
    bool started = pthread_attr_setstacksize(&attributes, bytes) == 0 &&
                   start_masked(&thread, &attributes, run_call, &call) == 0;
    pthread_attr_destroy(&attributes);
    if (started) {
        pthread_join(thread, NULL);
    }
    return started;
}
