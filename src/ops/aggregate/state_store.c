/* See state_store.h. */
#include "ops/aggregate/state_store.h"

#include <string.h>

#include "base/bits.h"

#define SEGMENT_BYTES 8192 /* about: many aggregates of few groups should take little */

void oci_state_store_init(oci_state_store *store, int64_t size, oci_mem *mem)
{
    *store = (oci_state_store){.mem = mem, .size = size};
    while (size << (store->shift + 1) <= SEGMENT_BYTES) {
        store->shift++;
    }
}

static int64_t segment_bytes(const oci_state_store *store)
{
    return store->size << store->shift;
}

static int64_t segments_for(const oci_state_store *store, int64_t n)
{
    return (n + ((int64_t)1 << store->shift) - 1) >> store->shift;
}

static void drop_segments(oci_state_store *store, int64_t first)
{
    for (int64_t i = first; i < store->n_segments; i++) {
        oci_mem_free(store->mem, store->segments[i], segment_bytes(store));
    }
    store->n_segments = oci_min64(store->n_segments, first);
}

void oci_state_store_clear(oci_state_store *store)
{
    drop_segments(store, 0);
    oci_mem_free(store->mem, store->segments, store->room * (int64_t)sizeof *store->segments);
    store->segments = NULL;
    store->room = 0;
}

static oc_status grow_list(oci_state_store *store, int64_t wanted)
{
    if (wanted <= store->room) {
        return OC_OK;
    }
    int64_t room = oci_max64(wanted, store->room + store->room / 2);
    void *list;
    OC_TRY(oci_mem_try_alloc(store->mem, room * (int64_t)sizeof *store->segments, &list, NULL));
    if (store->n_segments > 0) {
        memcpy(list, store->segments, (size_t)store->n_segments * sizeof *store->segments);
    }
    oci_mem_free(store->mem, store->segments, store->room * (int64_t)sizeof *store->segments);
    store->segments = list;
    store->room = room;
    return OC_OK;
}

oc_status oci_state_store_reserve(oci_state_store *store, int64_t n)
{
    int64_t wanted = segments_for(store, n);
    OC_TRY(grow_list(store, wanted));
    while (store->n_segments < wanted) {
        void *segment;
        OC_TRY(oci_mem_try_alloc(store->mem, segment_bytes(store), &segment, NULL));
        memset(segment, 0, (size_t)segment_bytes(store));
        store->segments[store->n_segments++] = segment;
    }
    return OC_OK;
}

void oci_state_store_keep(oci_state_store *store, const uint32_t *kept, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (kept[i] != i) {
            memcpy(oci_state_at(store, i), oci_state_at(store, kept[i]), (size_t)store->size);
        }
    }
    drop_segments(store, segments_for(store, n));
    int64_t each = (int64_t)1 << store->shift;
    int64_t rest = n & (each - 1);
    if (rest != 0) {
        memset(oci_state_at(store, n), 0, (size_t)((each - rest) * store->size));
    }
}
