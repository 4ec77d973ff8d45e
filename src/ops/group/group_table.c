/* See group_table.h.
 *
 *   slots      [ tag | number + 1 ]  power of two, 0 = free; the tag is the high half of the hash
 *   segments   of a few thousand groups: hashes, then keys of one stride, or places and lengths of others
 *   chunks     bytes of keys of different lengths; a key lies in one chunk as a whole. One chunk is kept in
 *              spare, large enough for all keys that were announced
 *
 * Tag and low bits of the hash are independent, so that a key is compared only where it is very likely equal:
 * a probe costs a miss for the slot and one for the key, both prefetched some rows ahead.
 *
 * The struct comes from malloc. */
#include "ops/group/group_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

enum {
    SLOTS_MIN = 256,
    SEGMENT_BYTES = 32 * 1024, /* about, of fixed keys; from here on the arena gives whole pages */
    SEGMENT_GROUPS_MAX = 2048,
    CHUNK_BYTES_MIN = 4 * 1024,
    CHUNK_BYTES_USUAL = 64 * 1024,
    AHEAD_SLOT = 24, /* rows between asking for a slot and looking at it */
    AHEAD_KEY = 8
};

#define GROUPS_MAX ((int64_t)UINT32_MAX - 1)

typedef struct key_chunk {
    uint8_t *bytes;
    int64_t size;
} key_chunk;

struct oci_group_table {
    oci_mem *mem;
    int64_t stride;
    int64_t n;
    uint64_t *slots;
    int64_t n_slots;
    void **segments;
    int64_t n_segments;
    int64_t room_segments;
    int shift; /* log2 of groups per segment */
    int64_t segment_bytes;
    key_chunk *chunks; /* the last one but the spare is written to */
    int64_t n_chunks;
    int64_t room_chunks;
    int64_t chunk_at;   /* chunk that is written to ... */
    int64_t chunk_used; /* ... and bytes used of it */
    int64_t held;
};

/* ---- life ------------------------------------------------------------------------------------ */

static int64_t segment_size(const oci_group_table *table)
{
    int64_t groups = (int64_t)1 << table->shift;
    int64_t each = table->stride > 0 ? table->stride
                                     : (int64_t)(sizeof(uint8_t *) + sizeof(uint32_t));
    return groups * ((int64_t)sizeof(uint64_t) + each);
}

oc_status oci_group_table_create(int64_t stride, oci_mem *mem, oci_group_table **out, oc_error *err)
{
    oci_group_table *table = calloc(1, sizeof *table);
    if (table == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up a table of groups: out of memory");
    }
    table->mem = mem;
    table->stride = stride;
    int64_t groups = SEGMENT_GROUPS_MAX;
    while (groups > 1 && stride > 0 && groups * stride > SEGMENT_BYTES) {
        groups /= 2;
    }
    table->shift = __builtin_ctzll((unsigned long long)groups);
    table->segment_bytes = segment_size(table);
    *out = table;
    return OC_OK;
}

static void free_block(oci_group_table *table, void *block, int64_t bytes)
{
    oci_mem_free(table->mem, block, bytes);
    table->held -= block == NULL ? 0 : oci_mem_charge_of(bytes);
}

static oc_status take_block(oci_group_table *table, int64_t bytes, void **out)
{
    OC_TRY(oci_mem_try_alloc(table->mem, bytes, out, NULL));
    table->held += oci_mem_charge_of(bytes);
    return OC_OK;
}

static void drop_segments(oci_group_table *table, int64_t first)
{
    for (int64_t i = first; i < table->n_segments; i++) {
        free_block(table, table->segments[i], table->segment_bytes);
    }
    table->n_segments = oci_min64(table->n_segments, first);
}

static void drop_chunks(oci_group_table *table, int64_t first)
{
    for (int64_t i = first; i < table->n_chunks; i++) {
        free_block(table, table->chunks[i].bytes, table->chunks[i].size);
    }
    table->n_chunks = oci_min64(table->n_chunks, first);
}

void oci_group_table_clear(oci_group_table *table)
{
    drop_segments(table, 0);
    drop_chunks(table, 0);
    free_block(table, table->segments, table->room_segments * (int64_t)sizeof *table->segments);
    free_block(table, table->chunks, table->room_chunks * (int64_t)sizeof *table->chunks);
    free_block(table, table->slots, table->n_slots * (int64_t)sizeof *table->slots);
    table->segments = NULL;
    table->chunks = NULL;
    table->slots = NULL;
    table->room_segments = table->room_chunks = table->n_slots = 0;
    table->n = table->chunk_at = table->chunk_used = 0;
}

void oci_group_table_destroy(oci_group_table *table)
{
    if (table != NULL) {
        oci_group_table_clear(table);
        free(table);
    }
}

/* ---- looking --------------------------------------------------------------------------------- */

static inline uint64_t *hashes_of(const oci_group_table *table, int64_t group)
{
    return (uint64_t *)table->segments[group >> table->shift];
}

static inline int64_t index_in(const oci_group_table *table, int64_t group)
{
    return group & (((int64_t)1 << table->shift) - 1);
}

static inline uint8_t *behind_hashes(const oci_group_table *table, int64_t group)
{
    return (uint8_t *)table->segments[group >> table->shift] +
           ((int64_t)sizeof(uint64_t) << table->shift);
}

/* Places, then lengths, of keys without a stride. */
static inline uint8_t **places_of(const oci_group_table *table, int64_t group)
{
    return (uint8_t **)behind_hashes(table, group);
}

static inline uint32_t *lengths_of(const oci_group_table *table, int64_t group)
{
    return (uint32_t *)(behind_hashes(table, group) + ((int64_t)sizeof(uint8_t *) << table->shift));
}

static inline uint8_t *fixed_key(const oci_group_table *table, int64_t group)
{
    return behind_hashes(table, group) + index_in(table, group) * table->stride;
}

bool oci_group_table_is_fixed(const oci_group_table *table)
{
    return table->stride > 0;
}

int64_t oci_group_table_size(const oci_group_table *table)
{
    return table->n;
}

uint64_t oci_group_table_hash(const oci_group_table *table, int64_t group)
{
    return hashes_of(table, group)[index_in(table, group)];
}

void oci_group_table_prefetch(const oci_group_table *table, int64_t group)
{
    __builtin_prefetch(&hashes_of(table, group)[index_in(table, group)]);
}

oci_key_ref oci_group_table_key(const oci_group_table *table, int64_t group)
{
    if (table->stride > 0) {
        return (oci_key_ref){fixed_key(table, group), table->stride};
    }
    int64_t i = index_in(table, group);
    return (oci_key_ref){places_of(table, group)[i], lengths_of(table, group)[i]};
}

int64_t oci_group_table_bytes(const oci_group_table *table)
{
    return table->held;
}

/* ---- slots ----------------------------------------------------------------------------------- */

static inline uint64_t slot_of(uint64_t hash, int64_t group)
{
    return (hash & ~(uint64_t)UINT32_MAX) | (uint64_t)(group + 1);
}

static void put_slot(uint64_t *slots, int64_t n_slots, uint64_t hash, int64_t group)
{
    uint64_t mask = (uint64_t)n_slots - 1;
    uint64_t at = hash & mask;
    while (slots[at] != 0) {
        at = (at + 1) & mask;
    }
    slots[at] = slot_of(hash, group);
}

static void fill_slots(const oci_group_table *table, uint64_t *slots, int64_t n_slots)
{
    memset(slots, 0, (size_t)n_slots * sizeof *slots);
    uint64_t mask = (uint64_t)n_slots - 1;
    for (int64_t group = 0; group < table->n; group++) {
        if (group + AHEAD_SLOT < table->n) {
            __builtin_prefetch(&slots[oci_group_table_hash(table, group + AHEAD_SLOT) & mask], 1);
        }
        put_slot(slots, n_slots, oci_group_table_hash(table, group), group);
    }
}

static int64_t slots_for(int64_t groups)
{
    int64_t n = SLOTS_MIN;
    while (groups > n / 4 * 3) {
        n *= 2;
    }
    return n;
}

/* Makes the table of slots larger, or smaller. */
static oc_status resize_slots(oci_group_table *table, int64_t n_slots)
{
    void *block;
    OC_TRY(take_block(table, n_slots * (int64_t)sizeof *table->slots, &block));
    fill_slots(table, block, n_slots);
    free_block(table, table->slots, table->n_slots * (int64_t)sizeof *table->slots);
    table->slots = block;
    table->n_slots = n_slots;
    return OC_OK;
}

/* ---- room ------------------------------------------------------------------------------------ */

/* Room for one more pointer or chunk in a list that grows by half. */
static oc_status grow_list(oci_group_table *table, void **list, int64_t *room, int64_t n,
                           int64_t each)
{
    if (n < *room) {
        return OC_OK;
    }
    int64_t more = *room + oci_max64(8, *room / 2);
    void *block;
    OC_TRY(take_block(table, more * each, &block));
    if (n > 0) {
        memcpy(block, *list, (size_t)(n * each));
    }
    free_block(table, *list, *room * each);
    *list = block;
    *room = more;
    return OC_OK;
}

static oc_status add_segments(oci_group_table *table, int64_t n_groups)
{
    int64_t wanted = (n_groups + ((int64_t)1 << table->shift) - 1) >> table->shift;
    while (table->n_segments < wanted) {
        void *list = table->segments;
        OC_TRY(grow_list(table, &list, &table->room_segments, table->n_segments,
                         (int64_t)sizeof *table->segments));
        table->segments = list;
        OC_TRY(take_block(table, table->segment_bytes, &table->segments[table->n_segments]));
        table->n_segments++;
    }
    return OC_OK;
}

/* The chunk behind the one that is written to, which is in spare, has room for all of `bytes`. */
static oc_status add_spare_chunk(oci_group_table *table, int64_t bytes)
{
    bool has_current = table->n_chunks > table->chunk_at;
    if (has_current && table->chunks[table->chunk_at].size - table->chunk_used >= bytes) {
        return OC_OK;
    }
    int64_t spare = table->chunk_at + has_current;
    if (table->n_chunks > spare) {
        if (table->chunks[spare].size >= bytes) {
            return OC_OK;
        }
        drop_chunks(table, spare);
    }
    void *list = table->chunks;
    OC_TRY(grow_list(table, &list, &table->room_chunks, table->n_chunks,
                     (int64_t)sizeof *table->chunks));
    table->chunks = list;
    int64_t usual = table->n_chunks < 4 ? CHUNK_BYTES_MIN : CHUNK_BYTES_USUAL;
    key_chunk chunk = {.size = oci_max64(bytes, usual)};
    void *block;
    OC_TRY(take_block(table, chunk.size, &block));
    chunk.bytes = block;
    table->chunks[table->n_chunks++] = chunk;
    return OC_OK;
}

oc_status oci_group_table_reserve(oci_group_table *table, int64_t n, int64_t key_bytes,
                                  oc_error *err)
{
    int64_t groups = table->n + n;
    if (groups > GROUPS_MAX) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "could not group: more than %" PRId64 " groups in memory at once", GROUPS_MAX);
    }
    int64_t n_slots = slots_for(groups);
    if (n_slots > table->n_slots) {
        OC_TRY(resize_slots(table, n_slots));
    }
    OC_TRY(add_segments(table, groups));
    return table->stride > 0 || key_bytes == 0 ? OC_OK : add_spare_chunk(table, key_bytes);
}

/* ---- finding and adding ---------------------------------------------------------------------- */

static inline bool same_bytes(const uint8_t *a, const uint8_t *b, int64_t size)
{
    if (size > 16 || size < 8) {
        return size == 0 || memcmp(a, b, (size_t)size) == 0;
    }
    uint64_t first = oci_load_le64(a) ^ oci_load_le64(b);
    return (first | (oci_load_le64(a + size - 8) ^ oci_load_le64(b + size - 8))) == 0;
}

static void store_key(oci_group_table *table, int64_t group, const uint8_t *key, int64_t size)
{
    if (table->stride > 0) {
        memcpy(fixed_key(table, group), key, (size_t)size);
        return;
    }
    uint8_t *to = NULL;
    if (size > 0) {
        if (table->chunks[table->chunk_at].size - table->chunk_used < size) {
            table->chunk_at++;
            table->chunk_used = 0;
        }
        to = table->chunks[table->chunk_at].bytes + table->chunk_used;
        memcpy(to, key, (size_t)size);
        table->chunk_used += size;
    }
    int64_t i = index_in(table, group);
    places_of(table, group)[i] = to;
    lengths_of(table, group)[i] = (uint32_t)size;
}

static uint32_t add_group(oci_group_table *table, uint64_t hash, const uint8_t *key, int64_t size,
                          uint64_t at)
{
    int64_t group = table->n++;
    hashes_of(table, group)[index_in(table, group)] = hash;
    store_key(table, group, key, size);
    table->slots[at] = slot_of(hash, group);
    return (uint32_t)group;
}

static inline uint32_t find_one(oci_group_table *table, uint64_t hash, const uint8_t *key,
                                int64_t size)
{
    uint64_t mask = (uint64_t)table->n_slots - 1;
    uint64_t at = hash & mask;
    for (;;) {
        uint64_t slot = table->slots[at];
        if (slot == 0) {
            return add_group(table, hash, key, size, at);
        }
        if (((slot ^ hash) >> 32) == 0) {
            uint32_t group = (uint32_t)slot - 1;
            oci_key_ref other = oci_group_table_key(table, group);
            if (other.size == size && same_bytes(other.bytes, key, size)) {
                return group;
            }
        }
        at = (at + 1) & mask;
    }
}

static inline void prefetch_key(const oci_group_table *table, uint64_t hash)
{
    uint64_t slot = table->slots[hash & ((uint64_t)table->n_slots - 1)];
    if (slot == 0 || ((slot ^ hash) >> 32) != 0) {
        return;
    }
    int64_t group = (int64_t)(uint32_t)slot - 1;
    __builtin_prefetch(table->stride > 0
                           ? fixed_key(table, group)
                           : (uint8_t *)&places_of(table, group)[index_in(table, group)]);
}

void oci_group_table_find(oci_group_table *table, const oci_row_keys *keys, const uint64_t *hashes,
                          int64_t start, int64_t n, uint32_t *groups)
{
    uint64_t mask = (uint64_t)table->n_slots - 1;
    for (int64_t i = 0; i < n; i++) {
        if (i + AHEAD_SLOT < n) {
            __builtin_prefetch(&table->slots[hashes[i + AHEAD_SLOT] & mask]);
        }
        if (i + AHEAD_KEY < n) {
            prefetch_key(table, hashes[i + AHEAD_KEY]);
        }
        int64_t size;
        const uint8_t *key = oci_row_key_at(keys, start + i, &size);
        groups[i] = find_one(table, hashes[i], key, size);
    }
}

/* ---- keeping some ---------------------------------------------------------------------------- */

/* Packs the keys of kept groups from the first chunk on. A key never moves up, since they are packed in
 * the order in which they lie. */
static void pack_var_keys(oci_group_table *table)
{
    int64_t at = 0;
    int64_t used = 0;
    for (int64_t group = 0; group < table->n; group++) {
        int64_t i = index_in(table, group);
        int64_t size = lengths_of(table, group)[i];
        if (size == 0) {
            continue;
        }
        while (table->chunks[at].size - used < size) {
            at++;
            used = 0;
        }
        uint8_t *to = table->chunks[at].bytes + used;
        memmove(to, places_of(table, group)[i], (size_t)size);
        places_of(table, group)[i] = to;
        used += size;
    }
    table->chunk_at = at;
    table->chunk_used = used;
    drop_chunks(table, at + (used > 0));
}

static void move_group(oci_group_table *table, int64_t from, int64_t to)
{
    int64_t i = index_in(table, from);
    int64_t k = index_in(table, to);
    hashes_of(table, to)[k] = hashes_of(table, from)[i];
    if (table->stride > 0) {
        memmove(fixed_key(table, to), fixed_key(table, from), (size_t)table->stride);
    } else {
        places_of(table, to)[k] = places_of(table, from)[i];
        lengths_of(table, to)[k] = lengths_of(table, from)[i];
    }
}

void oci_group_table_keep(oci_group_table *table, const uint32_t *kept, int64_t n)
{
    if (n == 0) {
        oci_group_table_clear(table);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        if (kept[i] != i) {
            move_group(table, kept[i], i);
        }
    }
    table->n = n;
    if (table->stride == 0) {
        pack_var_keys(table);
    }
    drop_segments(table, ((n - 1) >> table->shift) + 1);
    int64_t n_slots = slots_for(n);
    if (n_slots >= table->n_slots || resize_slots(table, n_slots) != OC_OK) {
        fill_slots(table, table->slots, table->n_slots);
    }
}
