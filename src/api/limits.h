/* How much memory and how many cores this process may use, as far as the system says. */
#ifndef OUTCORE_API_LIMITS_H
#define OUTCORE_API_LIMITS_H

#include "base/error.h"

#define OCI_MEMORY_LIMIT_MIN ((int64_t)1 << 20)

/* The smaller of 80% of physical memory and the cgroup's limit, in bytes. */
int64_t oci_default_memory_limit(void);
int32_t oci_core_count(void);
/* OC_EBUDGET: below the floor of 1 MiB. */
OC_NODISCARD oc_status oci_check_memory_limit(int64_t limit, oc_error *err);

#endif /* OUTCORE_API_LIMITS_H */
