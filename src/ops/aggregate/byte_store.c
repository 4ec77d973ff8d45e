/* See byte_store.h. */
#include "ops/aggregate/byte_store.h"

#include <string.h>

#include "base/bits.h"

#define CHUNK_BYTES_FIRST 4096
#define CHUNK_BYTES       ((int64_t)64 << 10)
#define HEADER_BYTES      8 /* owner, size */
#define NOBODY            UINT32_MAX
/* Less garbage than this part of all is left. */
#define GARBAGE_SHARE 16

void oci_byte_store_init(oci_byte_store *store, oci_mem *mem)
{
    *store = (oci_byte_store){.mem = mem};
}

static void drop_chunks(oci_byte_store *store, int64_t first)
{
    for (int64_t i = first; i < store->n_chunks; i++) {
        oci_mem_free(store->mem, store->chunks[i].bytes, store->chunks[i].size);
    }
    store->n_chunks = oci_min64(store->n_chunks, first);
}

void oci_byte_store_clear(oci_byte_store *store)
{
    drop_chunks(store, 0);
    oci_mem_free(store->mem, store->chunks, store->room * (int64_t)sizeof *store->chunks);
    *store = (oci_byte_store){.mem = store->mem};
}

/* ---- strings --------------------------------------------------------------------------------- */

static int64_t item_bytes(int64_t size)
{
    return HEADER_BYTES + oci_round_up(size, 8);
}

static uint8_t *item_at(const oci_byte_store *store, oci_byte_ref ref)
{
    return store->chunks[ref.chunk].bytes + ref.offset;
}

static int64_t size_of_item(const uint8_t *item)
{
    return item_bytes(oci_load_le32(item + 4));
}

const uint8_t *oci_byte_store_at(const oci_byte_store *store, oci_byte_ref ref)
{
    return item_at(store, ref) + HEADER_BYTES;
}

oci_byte_ref oci_byte_store_add(oci_byte_store *store, uint32_t group, const uint8_t *bytes,
                                int64_t size)
{
    int64_t taken = item_bytes(size);
    while (store->chunks[store->at].size - store->chunks[store->at].used < taken) {
        store->at++;
    }
    oci_byte_chunk *chunk = &store->chunks[store->at];
    oci_byte_ref ref = {(uint32_t)store->at, (uint32_t)chunk->used};
    uint8_t *item = chunk->bytes + chunk->used;
    oci_store_le32(item, group);
    oci_store_le32(item + 4, (uint32_t)size);
    memcpy(item + HEADER_BYTES, bytes, (size_t)size);
    chunk->used += taken;
    store->used += taken;
    store->live += taken;
    return ref;
}

void oci_byte_store_drop(oci_byte_store *store, oci_byte_ref ref)
{
    uint8_t *item = item_at(store, ref);
    oci_store_le32(item, NOBODY);
    store->live -= size_of_item(item);
}

void oci_byte_store_disown(oci_byte_store *store)
{
    for (int64_t c = 0; c < store->n_chunks; c++) {
        const oci_byte_chunk *chunk = &store->chunks[c];
        for (int64_t at = 0; at < chunk->used; at += size_of_item(chunk->bytes + at)) {
            oci_store_le32(chunk->bytes + at, NOBODY);
        }
    }
    store->live = 0;
}

void oci_byte_store_claim(oci_byte_store *store, oci_byte_ref ref, uint32_t group)
{
    uint8_t *item = item_at(store, ref);
    oci_store_le32(item, group);
    store->live += size_of_item(item);
}

/* ---- packing --------------------------------------------------------------------------------- */

/* Where strings are moved to: never behind where they come from, as they are taken in the order in which they lie. */
typedef struct place {
    int64_t chunk;
    int64_t used;
} place;

static void move_item(oci_byte_store *store, place *to, const uint8_t *item, oci_byte_moved moved,
                      void *owner)
{
    int64_t bytes = size_of_item(item);
    while (store->chunks[to->chunk].size - to->used < bytes) {
        store->chunks[to->chunk].used = to->used;
        to->chunk++;
        to->used = 0;
    }
    uint8_t *target = store->chunks[to->chunk].bytes + to->used;
    if (target != item) {
        memmove(target, item, (size_t)bytes);
        moved(owner, oci_load_le32(target),
              (oci_byte_ref){(uint32_t)to->chunk, (uint32_t)to->used});
    }
    to->used += bytes;
}

static void pack(oci_byte_store *store, oci_byte_moved moved, void *owner)
{
    place to = {0, 0};
    for (int64_t c = 0; c < store->n_chunks; c++) {
        const uint8_t *bytes = store->chunks[c].bytes;
        int64_t used = store->chunks[c].used; /* changes as this chunk is moved into itself */
        for (int64_t at = 0, next; at < used; at = next) {
            next = at + size_of_item(bytes + at);
            if (oci_load_le32(bytes + at) != NOBODY) {
                move_item(store, &to, bytes + at, moved, owner);
            }
        }
    }
    if (store->n_chunks > 0) {
        store->chunks[to.chunk].used = to.used;
        drop_chunks(store, to.chunk + (to.used > 0));
    }
    store->at = oci_max64(0, store->n_chunks - 1);
    store->used = store->live;
}

void oci_byte_store_pack(oci_byte_store *store, oci_byte_moved moved, void *owner)
{
    if (store->used - store->live >= store->used / GARBAGE_SHARE) {
        pack(store, moved, owner);
    }
}

/* ---- room ------------------------------------------------------------------------------------ */

static oc_status grow_list(oci_byte_store *store)
{
    if (store->n_chunks < store->room) {
        return OC_OK;
    }
    int64_t each = (int64_t)sizeof *store->chunks;
    int64_t room = store->room + oci_max64(8, store->room / 2);
    void *list;
    OC_TRY(oci_mem_try_alloc(store->mem, room * each, &list, NULL));
    if (store->n_chunks > 0) {
        memcpy(list, store->chunks, (size_t)(store->n_chunks * each));
    }
    oci_mem_free(store->mem, store->chunks, store->room * each);
    store->chunks = list;
    store->room = room;
    return OC_OK;
}

oc_status oci_byte_store_reserve(oci_byte_store *store, int64_t n, int64_t bytes,
                                 oci_byte_moved moved, void *owner)
{
    int64_t wanted = n * (HEADER_BYTES + 8) + bytes;
    if (wanted > UINT32_MAX) {
        return OC_EBUDGET; /* more than offsets can tell: fewer at a time will do */
    }
    if (store->used - store->live > store->used / 2) {
        pack(store, moved, owner);
    }
    if (n == 0 || (store->n_chunks > 0 &&
                   store->chunks[store->at].size - store->chunks[store->at].used >= wanted)) {
        return OC_OK;
    }
    int64_t spare = store->at + (store->n_chunks > 0);
    if (spare < store->n_chunks && store->chunks[spare].size >= wanted) {
        return OC_OK;
    }
    drop_chunks(store, spare);
    OC_TRY(grow_list(store));
    int64_t usual = store->n_chunks < 4 ? CHUNK_BYTES_FIRST : CHUNK_BYTES;
    oci_byte_chunk chunk = {.size = oci_max64(wanted, usual)};
    void *block;
    OC_TRY(oci_mem_try_alloc(store->mem, chunk.size, &block, NULL));
    chunk.bytes = block;
    store->chunks[store->n_chunks++] = chunk;
    return OC_OK;
}
