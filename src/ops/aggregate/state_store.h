/* States of one size for groups 0..n-1, in segments that never move; new ones are zero. */
#ifndef OUTCORE_OPS_AGGREGATE_STATE_STORE_H
#define OUTCORE_OPS_AGGREGATE_STATE_STORE_H

#include "base/memory.h"

typedef struct oci_state_store {
    oci_mem *mem;
    int64_t size;  /* of a state */
    int32_t shift; /* log2 of the states of a segment */
    uint8_t **segments;
    int64_t n_segments;
    int64_t room; /* of the list */
} oci_state_store;

void oci_state_store_init(oci_state_store *store, int64_t size, oci_mem *mem);
void oci_state_store_clear(oci_state_store *store); /* gives everything back; may be used on */
/* Room for groups 0..n-1. OC_EBUDGET, OC_ENOMEM: nothing has changed. */
OC_NODISCARD oc_status oci_state_store_reserve(oci_state_store *store, int64_t n);
/* States kept[0..n) become 0..n-1, what is behind is zero again. */
void oci_state_store_keep(oci_state_store *store, const uint32_t *kept, int64_t n);

static inline void *oci_state_at(const oci_state_store *store, int64_t group)
{
    return store->segments[group >> store->shift] +
           (group & (((int64_t)1 << store->shift) - 1)) * store->size;
}

#endif /* OUTCORE_OPS_AGGREGATE_STATE_STORE_H */
