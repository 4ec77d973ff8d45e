/* Random numbers behind a seam: keys, numbers of runs, names of temporary files. */
#ifndef OUTCORE_BASE_RANDOM_H
#define OUTCORE_BASE_RANDOM_H

#include <stdint.h>

typedef struct oci_random {
    /* Fills all of `buf` with numbers nobody can guess. Returns 0, or an errno value: then `buf` holds
     * nothing of use. Any thread. */
    int (*fill)(void *self, void *buf, int64_t size);
    void *self;
} oci_random;

const oci_random *oci_system_random(void);

#endif /* OUTCORE_BASE_RANDOM_H */
