/* Page-granular extents from one reserved range of address space. Private to the memory budget,
 * which holds its lock around every call and keeps `charged + resident free <= limit` by calling
 * oci_arena_shrink(). See arena.c. */
#ifndef OUTCORE_BASE_ARENA_H
#define OUTCORE_BASE_ARENA_H

#include "base/memory.h"

/* Under AddressSanitizer the budget leaves the arena out, see budget.c. */
#if defined(__SANITIZE_ADDRESS__)
#define OCI_ARENA_BYPASSED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define OCI_ARENA_BYPASSED 1
#endif
#endif
#ifndef OCI_ARENA_BYPASSED
#define OCI_ARENA_BYPASSED 0
#endif

typedef struct oci_arena oci_arena;

/* Makes an arena for a budget of `limit` bytes. NULL when out of memory. When no address space
 * can be had it still works, one mapping per block. */
oci_arena *oci_arena_create(int64_t limit, const oci_allocator *allocator);
/* Gives the range back, and every block in it. NULL is fine. */
void oci_arena_destroy(oci_arena *arena);

/* Granularity of extents: the size of a page. */
int64_t oci_page_bytes(void);
/* Size of a huge page of the system, 0 when it has none. */
int64_t oci_huge_page_bytes(void);

/* Takes `size` bytes, a multiple of the page size. `room` is by how much the resident free bytes
 * may grow: with huge pages a new block can make its neighbourhood resident. `*is_cold` says
 * that the caller has to commit the block before it is used. NULL when there is no memory for
 * it. */
void *oci_arena_take(oci_arena *arena, int64_t size, int64_t room, bool *is_cold);
/* Grows a block in place from `old_size` to `new_size`. False, with nothing changed, when what
 * follows it is in use. */
bool oci_arena_extend(oci_arena *arena, void *ptr, int64_t old_size, int64_t new_size, int64_t room,
                      bool *is_cold);
/* Gives the end of a block back, from `new_size` on. False, with nothing changed, when that is
 * not possible. */
bool oci_arena_cut(oci_arena *arena, void *ptr, int64_t old_size, int64_t new_size);
/* Gives a block back. It stays resident until oci_arena_shrink(). */
void oci_arena_give(oci_arena *arena, void *ptr, int64_t size);

/* Bytes of free extents that count as resident. */
int64_t oci_arena_resident_free(const oci_arena *arena);
/* Gives at least `bytes` of resident free extents (or all there are) back to the system, largest
 * first. */
void oci_arena_shrink(oci_arena *arena, int64_t bytes);

#endif /* OUTCORE_BASE_ARENA_H */
