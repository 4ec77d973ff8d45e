/* The monotonic clock of the system behind the clock seam. */
#include <time.h>

#include "base/thread.h"

static int64_t system_now_ns(void *self)
{
    (void)self;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock */
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

const oci_clock *oci_system_clock(void)
{
    static const oci_clock clock = {.now_ns = system_now_ns};
    return &clock;
}
