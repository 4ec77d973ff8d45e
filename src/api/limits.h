/* How much memory and how many cores this process may use, as far as the system says. */
#ifndef OUTCORE_API_LIMITS_H
#define OUTCORE_API_LIMITS_H

#include <stdint.h>

/* The smaller of 80% of physical memory and the cgroup's limit, in bytes. */
int64_t oci_default_memory_limit(void);
int32_t oci_core_count(void);

#endif /* OUTCORE_API_LIMITS_H */
