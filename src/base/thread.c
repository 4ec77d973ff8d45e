/* Starting threads of the system behind the thread seam. */
#include "base/thread.h"

#include <signal.h>

/* A new thread inherits the mask of its creator. Everything is blocked across pthread_create(),
 * so that a signal meant for the program around the library is never delivered on one of our
 * threads. */
static int system_start(void *self, pthread_t *out, void *(*body)(void *), void *arg)
{
    (void)self;
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    int failed = pthread_sigmask(SIG_SETMASK, &all, &before);
    if (failed != 0) {
        return failed;
    }
    failed = pthread_create(out, NULL, body, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

const oci_threads *oci_system_threads(void)
{
    static const oci_threads threads = {.start = system_start};
    return &threads;
}
