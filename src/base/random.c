/* The kernel's random numbers behind the random seam. */
#include "base/random.h"

#include <errno.h>
#include <sys/random.h>

/* Waits for a machine that has just been started and has gathered none yet; a signal may interrupt
 * that. */
static int system_fill(void *self, void *buf, int64_t size)
{
    (void)self;
    int64_t done = 0;
    while (done < size) {
        ssize_t n = getrandom((char *)buf + done, (size_t)(size - done), 0);
        if (n > 0) {
            done += n;
        } else if (n == 0 || errno != EINTR) {
            return n == 0 ? EIO : errno;
        }
    }
    return 0;
}

const oci_random *oci_system_random(void)
{
    static const oci_random random = {.fill = system_fill};
    return &random;
}
