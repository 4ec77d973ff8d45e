/* The arena: big blocks as extents of one range of reserved address space.
 *
 * The range is several times the limit, so that address space is hardly ever what is missing:
 * what is counted is which pages are resident. The range is divided into blocks in use and free
 * pieces, a piece being either resident (it was used before; its pages are warm) or cold (the
 * system has no page for it):
 *
 *     | block | res | block | cold | res | block | cold .............................. |
 *
 * take() prefers the best fitting resident piece, then a resident piece together with what is
 * free around it, then the best fitting cold piece, lowest address first among equals. Reuse
 * matters because a first touch is dear: 2-3 us per 4 KiB page, 12-17 us when the page is new to
 * a virtual machine, against 0.02 us for one that is there. give() makes a resident piece and
 * joins it with resident neighbours. shrink() turns resident pieces cold, largest first.
 *
 * Huge pages. When the limit is 32 huge pages or more (64 MiB with pages of 2 MiB), the range is
 * advised to use them: a first touch costs a fifth. But then touching one byte makes the whole
 * huge page resident, and khugepaged may join small pages into a huge one at any time. To keep
 * the count exact, the range is cut in slots of one huge page, and each slot is
 *
 *     huge   either entirely cold, or all of it counted as resident (blocks and resident pieces)
 *     small  advised against huge pages; counted page by page
 *
 * A block that ends inside a cold huge slot makes the rest of the slot a resident piece when the
 * budget has room for that, else the slot becomes small first. Dropping part of a slot makes it
 * small. A slot that is entirely cold again becomes huge again.
 *
 * Blocks that find no piece get a mapping of their own (the address space is limited, or badly
 * fragmented), so that a request that the budget granted does not fail for the shape of the
 * arena.
 *
 * Memory: pieces are described by nodes from the allocator, 64 at a time. give() must not fail
 * but may need a node, so take() makes sure beforehand that there is a spare node for every
 * block in use. About 0.2% of the smallest blocks at worst; not charged. */
#include "base/arena.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/extent_tree.h"

#define RANGE_BYTES_MIN   ((int64_t)1 << 20)
#define RANGE_BYTES_MAX   ((int64_t)1 << 44)   /* 16 TiB: an eighth of an address space */
#define RANGE_BYTES_EXTRA ((int64_t)256 << 20) /* small limits fragment relatively more */

/* Below this many huge pages in a limit, their rounding would eat too much of it. */
#define HUGE_PAGES_MIN 32

/* shrink() drops at least this much of a piece at once, as each call costs a system call. */
#define DROP_BYTES_MIN ((int64_t)64 * 1024)

/* take() tries this many of the largest resident pieces together with what is free around them, as
 * long as a piece is at least this part (an eighth) of the block. Random sizes at the limit then
 * make 28% of their bytes cold again instead of 39%; more tries gain 1%. */
#define PLACES_TRIED 16
#define WARM_PART    8

#define NODES_PER_CHUNK 64

typedef struct node_chunk {
    struct node_chunk *next;
    oci_extent nodes[NODES_PER_CHUNK];
} node_chunk;

struct oci_arena {
    const oci_allocator *allocator;
    char *mapping; /* as the allocator gave it */
    int64_t mapping_bytes;
    char *base; /* first slot; NULL when there is no range */
    int64_t bytes;
    int64_t slot_bytes;   /* 0: no huge pages */
    uint8_t *small_slots; /* bit per slot, from allocator->map */
    int64_t bitmap_bytes;
    oci_extent_tree by_start;
    oci_extent_tree by_size[2]; /* [0] cold, [1] resident */
    int64_t resident_free;
    int64_t n_blocks;        /* in the range and in use */
    oci_extent *spare_nodes; /* linked by left[0] */
    int64_t n_spare;
    node_chunk *chunks;
    uint32_t random;
};

/* ---- nodes ---- */

static void put_spare(oci_arena *arena, oci_extent *node)
{
    node->left[0] = arena->spare_nodes;
    arena->spare_nodes = node;
    arena->n_spare++;
}

static oci_extent *get_spare(oci_arena *arena)
{
    oci_extent *node = arena->spare_nodes;
    assert(node != NULL);
    arena->spare_nodes = node->left[0];
    arena->n_spare--;
    return node;
}

static bool ensure_spare(oci_arena *arena, int64_t count)
{
    while (arena->n_spare < count) {
        node_chunk *chunk = arena->allocator->allocate(arena->allocator->self, sizeof *chunk);
        if (chunk == NULL) {
            return false;
        }
        chunk->next = arena->chunks;
        arena->chunks = chunk;
        for (int i = 0; i < NODES_PER_CHUNK; i++) {
            put_spare(arena, &chunk->nodes[i]);
        }
    }
    return true;
}

/* xorshift32: the treaps want priorities that have nothing to do with addresses. */
static uint32_t next_priority(oci_arena *arena)
{
    uint32_t x = arena->random;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    arena->random = x;
    return x;
}

/* ---- pieces ---- */

static void link_piece(oci_arena *arena, oci_extent *piece)
{
    oci_extent_insert(&arena->by_start, piece);
    oci_extent_insert(&arena->by_size[piece->resident], piece);
    if (piece->resident) {
        arena->resident_free += piece->size;
    }
}

static void unlink_piece(oci_arena *arena, oci_extent *piece)
{
    oci_extent_remove(&arena->by_start, piece);
    oci_extent_remove(&arena->by_size[piece->resident], piece);
    if (piece->resident) {
        arena->resident_free -= piece->size;
    }
}

/* The piece that begins exactly at `start`, or NULL. */
static oci_extent *piece_at(const oci_arena *arena, int64_t start)
{
    oci_extent *piece = oci_extent_at_least(&arena->by_start, start, 0);
    return piece != NULL && piece->start == start ? piece : NULL;
}

/* Makes [start, start + size) free, joined with neighbours of the same kind. Needs a spare node. */
static oci_extent *add_piece(oci_arena *arena, int64_t start, int64_t size, bool resident)
{
    oci_extent *before = oci_extent_below(&arena->by_start, start, 0);
    assert(before == NULL || before->start + before->size <= start);
    if (before != NULL && before->resident == resident && before->start + before->size == start) {
        unlink_piece(arena, before);
        start = before->start;
        size += before->size;
        put_spare(arena, before);
    }
    oci_extent *after = piece_at(arena, start + size);
    if (after != NULL && after->resident == resident) {
        unlink_piece(arena, after);
        size += after->size;
        put_spare(arena, after);
    }
    oci_extent *piece = get_spare(arena);
    *piece = (oci_extent){
        .start = start, .size = size, .resident = resident, .priority = next_priority(arena)};
    link_piece(arena, piece);
    return piece;
}

/* Takes `size` bytes off the front of a piece. */
static void carve(oci_arena *arena, oci_extent *piece, int64_t size)
{
    assert(size <= piece->size);
    unlink_piece(arena, piece);
    piece->start += size;
    piece->size -= size;
    if (piece->size > 0) {
        link_piece(arena, piece);
    } else {
        put_spare(arena, piece);
    }
}

/* ---- slots ---- */

static void set_slot_small(oci_arena *arena, int64_t slot, bool is_small)
{
    if (oci_bit_get(arena->small_slots, slot) == is_small) {
        return;
    }
    oci_bit_put(arena->small_slots, slot, is_small);
    arena->allocator->advise_huge(arena->allocator->self, arena->base + slot * arena->slot_bytes,
                                  (size_t)arena->slot_bytes, !is_small);
}

/* A block that was carved from cold pages ends at `end`, perhaps inside a huge slot, which is
 * about to become resident as a whole. */
static void settle_last_slot(oci_arena *arena, int64_t end, int64_t room)
{
    if (arena->slot_bytes == 0 || end % arena->slot_bytes == 0) {
        return;
    }
    int64_t slot = end / arena->slot_bytes;
    if (oci_bit_get(arena->small_slots, slot)) {
        return;
    }
    int64_t rest = arena->slot_bytes - end % arena->slot_bytes;
    if (rest > room) {
        set_slot_small(arena, slot, true);
        return;
    }
    oci_extent *piece =
        piece_at(arena, end); /* it is there: a huge slot is cold as a whole or not at all */
    assert(piece != NULL && !piece->resident && piece->size >= rest);
    carve(arena, piece, rest);
    add_piece(arena, end, rest, true);
}

/* [from, to) is about to be dropped: the slots at its two ends lose a part only. */
static void make_end_slots_small(oci_arena *arena, int64_t from, int64_t to)
{
    if (arena->slot_bytes == 0) {
        return;
    }
    if (from % arena->slot_bytes != 0) {
        set_slot_small(arena, from / arena->slot_bytes, true);
    }
    if (to % arena->slot_bytes != 0) {
        set_slot_small(arena, to / arena->slot_bytes, true);
    }
}

/* [from, to) has become part of the cold `piece`: slots that are entirely cold now are huge
 * again. */
static void make_cold_slots_huge(oci_arena *arena, const oci_extent *piece, int64_t from,
                                 int64_t to)
{
    if (arena->slot_bytes == 0) {
        return;
    }
    int64_t first = oci_max64(oci_round_up(piece->start, arena->slot_bytes),
                              oci_round_down(from, arena->slot_bytes));
    int64_t end = oci_min64(oci_round_down(piece->start + piece->size, arena->slot_bytes),
                            oci_round_up(to, arena->slot_bytes));
    for (int64_t at = first; at < end; at += arena->slot_bytes) {
        set_slot_small(arena, at / arena->slot_bytes, false);
    }
}

/* ---- making and ending ---- */

int64_t oci_page_bytes(void)
{
    /* sysconf() reads a constant of the process; there is nothing to cache. */
    return sysconf(_SC_PAGESIZE);
}

int64_t oci_huge_page_bytes(void)
{
    int fd = open("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    char text[32] = "";
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    int64_t bytes = length > 0 ? strtoll(text, NULL, 10) : 0;
    return bytes > oci_page_bytes() && (bytes & (bytes - 1)) == 0 ? bytes : 0;
}

static int64_t wanted_range_bytes(int64_t limit)
{
    if (limit > (RANGE_BYTES_MAX - RANGE_BYTES_EXTRA) / 4) {
        return RANGE_BYTES_MAX;
    }
    return oci_round_up(4 * limit + RANGE_BYTES_EXTRA, RANGE_BYTES_MIN);
}

/* Maps a range of the wanted size or a half, a quarter, ... of it. When the address space turns
 * out to be limited (RLIMIT_AS), half of what can be had is left for everything else. */
static void map_range(oci_arena *arena, int64_t wanted)
{
    const oci_allocator *allocator = arena->allocator;
    bool was_refused = false;
    for (int64_t bytes = wanted; bytes >= RANGE_BYTES_MIN;
         bytes = oci_round_down(bytes / 2, RANGE_BYTES_MIN)) {
        char *mapping = allocator->map(allocator->self, (size_t)bytes);
        if (mapping != NULL && was_refused) {
            allocator->unmap(allocator->self, mapping, (size_t)bytes);
            was_refused = false;
        } else if (mapping != NULL) {
            arena->mapping = mapping;
            arena->mapping_bytes = bytes;
            return;
        } else {
            was_refused = true;
        }
    }
}

/* Cuts the range in slots, and asks for huge pages. Without huge pages, the advice against them
 * is what keeps the count exact where the system gives them to everybody. */
static void set_up_slots(oci_arena *arena, int64_t limit)
{
    const oci_allocator *allocator = arena->allocator;
    if (allocator->advise_huge == NULL) {
        return;
    }
    int64_t huge = oci_huge_page_bytes();
    if (huge > 0 && limit / huge >= HUGE_PAGES_MIN && arena->mapping_bytes >= 4 * huge) {
        int64_t offset = (int64_t)(-(uintptr_t)arena->mapping & (uintptr_t)(huge - 1));
        int64_t n_slots = (arena->mapping_bytes - offset) / huge;
        arena->bitmap_bytes = oci_round_up(oci_bytes_for_bits(n_slots), oci_page_bytes());
        arena->small_slots = allocator->map(allocator->self, (size_t)arena->bitmap_bytes);
        if (arena->small_slots != NULL) {
            arena->slot_bytes = huge;
            arena->base = arena->mapping + offset;
            arena->bytes = n_slots * huge;
        }
    }
    allocator->advise_huge(allocator->self, arena->base, (size_t)arena->bytes,
                           arena->slot_bytes != 0);
}

oci_arena *oci_arena_create(int64_t limit, const oci_allocator *allocator)
{
    oci_arena *arena = allocator->allocate(allocator->self, sizeof *arena);
    if (arena == NULL) {
        return NULL;
    }
    *arena = (oci_arena){.allocator = allocator, .random = 2463534242u};
    arena->by_start.order = OCI_BY_START;
    arena->by_size[0].order = OCI_BY_SIZE;
    arena->by_size[1].order = OCI_BY_SIZE;
    if (!ensure_spare(arena, 1)) {
        oci_arena_destroy(arena);
        return NULL;
    }
    map_range(arena, wanted_range_bytes(limit));
    if (arena->mapping != NULL) {
        arena->base = arena->mapping;
        arena->bytes = arena->mapping_bytes;
        set_up_slots(arena, limit);
        add_piece(arena, 0, arena->bytes, false);
    }
    return arena;
}

void oci_arena_destroy(oci_arena *arena)
{
    if (arena == NULL) {
        return;
    }
    const oci_allocator *allocator = arena->allocator;
    if (arena->mapping != NULL) {
        allocator->unmap(allocator->self, arena->mapping, (size_t)arena->mapping_bytes);
    }
    if (arena->small_slots != NULL) {
        allocator->unmap(allocator->self, arena->small_slots, (size_t)arena->bitmap_bytes);
    }
    while (arena->chunks != NULL) {
        node_chunk *chunk = arena->chunks;
        arena->chunks = chunk->next;
        allocator->deallocate(allocator->self, chunk, sizeof *chunk);
    }
    allocator->deallocate(allocator->self, arena, sizeof *arena);
}

/* ---- taking ---- */

/* How much is free from `start` on without a gap, counted up to `enough`. */
static int64_t free_run(const oci_arena *arena, int64_t start, int64_t enough)
{
    int64_t run = 0;
    for (oci_extent *piece = piece_at(arena, start); piece != NULL && run < enough;
         piece = piece_at(arena, start + run)) {
        run += piece->size;
    }
    return run;
}

/* Takes [start, start + size), which is free. */
static void carve_run(oci_arena *arena, int64_t start, int64_t size, int64_t room, bool *is_cold)
{
    bool ends_cold = false;
    *is_cold = false;
    for (int64_t at = start; at < start + size;) {
        oci_extent *piece = piece_at(arena, at);
        int64_t part = oci_min64(piece->size, start + size - at);
        ends_cold = !piece->resident;
        *is_cold = *is_cold || ends_cold;
        carve(arena, piece, part);
        at += part;
    }
    if (ends_cold) {
        settle_last_slot(arena, start + size, room);
    }
}

/* Where a block of `size` that contains the resident `piece` can begin, or -1: at the piece or at
 * the start of a free neighbour below it, whatever is enough. */
static int64_t place_around(const oci_arena *arena, const oci_extent *piece, int64_t size)
{
    int64_t start = piece->start;
    int64_t run = free_run(arena, start, size);
    while (run < size) {
        oci_extent *before = oci_extent_below(&arena->by_start, start, 0);
        if (before == NULL || before->start + before->size != start) {
            return -1;
        }
        start = before->start;
        run += before->size;
    }
    return start;
}

/* Where a block of `size` goes, or -1. */
static int64_t find_place(const oci_arena *arena, int64_t size)
{
    const oci_extent_tree *warm = &arena->by_size[1];
    oci_extent *piece = oci_extent_at_least(warm, size, 0);
    if (piece != NULL) {
        return piece->start;
    }
    piece = oci_extent_last(warm);
    for (int i = 0; i < PLACES_TRIED && piece != NULL && piece->size >= size / WARM_PART; i++) {
        int64_t start = place_around(arena, piece, size);
        if (start >= 0) {
            return start;
        }
        piece = oci_extent_below(warm, piece->size, piece->start);
    }
    piece = oci_extent_at_least(&arena->by_size[0], size, 0);
    return piece != NULL ? piece->start : -1;
}

static void *take_own_mapping(oci_arena *arena, int64_t size, bool *is_cold)
{
    const oci_allocator *allocator = arena->allocator;
    void *ptr = allocator->map(allocator->self, (size_t)size);
    if (ptr != NULL && allocator->advise_huge != NULL) {
        allocator->advise_huge(allocator->self, ptr, (size_t)size, false);
    }
    *is_cold = true;
    return ptr;
}

void *oci_arena_take(oci_arena *arena, int64_t size, int64_t room, bool *is_cold)
{
    assert(size > 0 && size % oci_page_bytes() == 0);
    int64_t start = find_place(arena, size);
    /* One node for giving back each block, this one included, and one for settle_last_slot(). */
    if (start < 0 || !ensure_spare(arena, arena->n_blocks + 2)) {
        return take_own_mapping(arena, size, is_cold);
    }
    carve_run(arena, start, size, room, is_cold);
    arena->n_blocks++;
    return arena->base + start;
}

static bool is_in_range(const oci_arena *arena, const void *ptr)
{
    uintptr_t at = (uintptr_t)ptr;
    uintptr_t base = (uintptr_t)arena->base;
    return at >= base && at < base + (uintptr_t)arena->bytes;
}

bool oci_arena_extend(oci_arena *arena, void *ptr, int64_t old_size, int64_t new_size, int64_t room,
                      bool *is_cold)
{
    assert(new_size > old_size);
    /* One node more than each block needs, for settle_last_slot(), and one for a step back with
     * oci_arena_cut(). */
    if (!is_in_range(arena, ptr) || !ensure_spare(arena, arena->n_blocks + 2)) {
        return false;
    }
    int64_t end = (char *)ptr - arena->base + old_size;
    int64_t more = new_size - old_size;
    if (free_run(arena, end, more) < more) {
        return false;
    }
    carve_run(arena, end, more, room, is_cold);
    return true;
}

/* ---- giving back ---- */

bool oci_arena_cut(oci_arena *arena, void *ptr, int64_t old_size, int64_t new_size)
{
    assert(new_size > 0 && new_size < old_size);
    if (!is_in_range(arena, ptr) || arena->n_spare <= arena->n_blocks) {
        return false;
    }
    add_piece(arena, (char *)ptr - arena->base + new_size, old_size - new_size, true);
    return true;
}

void oci_arena_give(oci_arena *arena, void *ptr, int64_t size)
{
    if (!is_in_range(arena, ptr)) {
        arena->allocator->unmap(arena->allocator->self, ptr, (size_t)size);
        return;
    }
    assert(arena->n_blocks > 0 && arena->n_spare >= arena->n_blocks);
    add_piece(arena, (char *)ptr - arena->base, size, true);
    arena->n_blocks--;
}

int64_t oci_arena_resident_free(const oci_arena *arena)
{
    return arena->resident_free;
}

/* Which part of a resident piece to drop for `bytes`: whole huge pages where there are any, from
 * the high end, as blocks are taken from the low end. All of it when there are no nodes to
 * describe a part. */
static void choose_drop(const oci_arena *arena, const oci_extent *piece, int64_t bytes,
                        int64_t *from, int64_t *to)
{
    *from = piece->start;
    *to = piece->start + piece->size;
    if (bytes >= piece->size || arena->n_spare < arena->n_blocks + 2) {
        return;
    }
    if (arena->slot_bytes != 0) {
        int64_t low = oci_round_up(*from, arena->slot_bytes);
        int64_t high = oci_round_down(*to, arena->slot_bytes);
        if (low < high) {
            *from = oci_max64(low, high - oci_round_up(bytes, arena->slot_bytes));
            *to = high;
            return;
        }
    }
    *from = *to - oci_min64(piece->size, oci_round_up(bytes, DROP_BYTES_MIN));
}

/* Makes the part [from, to) of a resident piece cold. */
static void drop(oci_arena *arena, oci_extent *piece, int64_t from, int64_t to)
{
    int64_t start = piece->start;
    int64_t end = piece->start + piece->size;
    make_end_slots_small(arena, from, to);
    arena->allocator->decommit(arena->allocator->self, arena->base + from, (size_t)(to - from));
    unlink_piece(arena, piece);
    put_spare(arena, piece);
    if (from > start) {
        add_piece(arena, start, from - start, true);
    }
    if (to < end) {
        add_piece(arena, to, end - to, true);
    }
    oci_extent *cold = add_piece(arena, from, to - from, false);
    make_cold_slots_huge(arena, cold, from, to);
}

void oci_arena_shrink(oci_arena *arena, int64_t bytes)
{
    while (bytes > 0 && arena->resident_free > 0) {
        oci_extent *piece = oci_extent_last(&arena->by_size[1]);
        int64_t from;
        int64_t to;
        choose_drop(arena, piece, bytes, &from, &to);
        drop(arena, piece, from, to);
        bytes -= to - from;
    }
}
