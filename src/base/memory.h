/* The memory budget.
 *
 * One `oci_budget` per context. Every byte that grows with the data is charged to it *before* it
 * is allocated, under an account (`oci_mem`) that says who holds it, so that "how much does X
 * hold" always has an answer and the sum never passes the limit.
 *
 *   oci_mem_try_alloc   a refusal is an expected event: the operator spills and asks again
 *   oci_mem_alloc       asks the registered reclaimers to give memory back before it fails
 *   oci_mem_reserve     charges without allocating; oci_mem_alloc_reserved later turns the
 *                       reservation into memory and cannot be refused by the budget (only by the
 *                       system)
 *
 * Where the memory comes from. Requests of OCI_BIG_BYTES and more are page-granular extents of
 * one arena: a range of address space reserved when the budget is made, handed out best fit with
 * warm pages first, recycled, and given back to the system (decommitted) when free-but-resident
 * extents would carry the process over the limit and when the budget is destroyed. A page that
 * was touched once is dear to touch anew (12-17 us per 4 KiB page on virtual machines), so
 * extents are reused while the work goes on and huge pages are asked for when the limit is large
 * enough to bear their granularity. Smaller requests come from malloc. What is charged is what
 * the allocator takes: extents are rounded up to pages, small blocks to 16 bytes + 16 of
 * overhead.
 *
 * Invariant kept by the arena: allocated bytes + resident free extents <= limit. (Reserved bytes
 * that are not allocated have no memory yet: free extents may stay warm in their place.)
 *
 * All sizes are in bytes. Memory from a big extent is *not* zeroed. All calls are thread-safe
 * except those of one reservation. */
#ifndef OUTCORE_BASE_MEMORY_H
#define OUTCORE_BASE_MEMORY_H

#include "base/error.h"

#define OCI_BIG_BYTES (32 * 1024)

/* Seam: where memory comes from. The default is oci_system_allocator(). A fault-injecting
 * allocator is in base/fault.h. */
typedef struct oci_allocator {
    void *(*allocate)(void *self, size_t size); /* NULL when refused; 16-byte aligned */
    void (*deallocate)(void *self, void *ptr, size_t size);
    void *(*map)(void *self, size_t size); /* reserves address space, page aligned; NULL */
    void (*unmap)(void *self, void *ptr, size_t size);
    bool (*commit)(void *self, void *ptr, size_t size);   /* about to be used: false = refused */
    void (*decommit)(void *self, void *ptr, size_t size); /* contents may be dropped */
    /* Asks for huge pages in a range, or for none. May be NULL. */
    void (*advise_huge)(void *self, void *ptr, size_t size, bool huge);
    /* Gives what allocate() keeps for later use back to the system. May be NULL. */
    void (*trim)(void *self);
    void *self;
} oci_allocator;

const oci_allocator *oci_system_allocator(void);

typedef struct oci_budget oci_budget;
typedef struct oci_mem oci_mem;

/* Makes a budget of `limit` bytes. `allocator` NULL means the system's; else it must outlive the
 * budget. */
OC_NODISCARD oc_status oci_budget_create(int64_t limit, const oci_allocator *allocator,
                                         oci_budget **out, oc_error *err);
/* Lets go of the budget. Accounts may still be open or linger (see oci_mem_close): then the
 * budget lives on until the last of them is gone, so that exported batches may outlive the
 * context that made them. NULL is fine. */
void oci_budget_destroy(oci_budget *budget);

int64_t oci_budget_limit(const oci_budget *budget);
int64_t oci_budget_used(oci_budget *budget); /* charged now: allocated + reserved */
int64_t oci_budget_free(oci_budget *budget); /* limit - used - promised to accounts */
int64_t oci_budget_peak(oci_budget *budget); /* highest `used` so far */
/* Allocated + free extents that are still resident; never above the limit. */
int64_t oci_budget_resident(oci_budget *budget);

/* Gives every free extent back to the system. */
void oci_budget_trim(oci_budget *budget);

/* An account. `name` is a static string ("sort buffer"); `budget` must outlive it. */
OC_NODISCARD oc_status oci_mem_open(oci_budget *budget, const char *name, oci_mem **out,
                                    oc_error *err);
/* Closes an account. When it still holds memory (a batch that a consumer has not released yet)
 * it lingers, and frees itself with its last byte; only frees are allowed on it then. NULL is
 * fine. */
void oci_mem_close(oci_mem *mem);
int64_t oci_mem_held(oci_mem *mem);
oci_budget *oci_mem_budget(oci_mem *mem);
const char *oci_mem_name(const oci_mem *mem);
/* What this account could be charged now: what is free, and what was promised to it. */
int64_t oci_mem_available(oci_mem *mem);

/* Allocates `size` bytes (0 gives a non-NULL pointer), 64-byte aligned when size >=
 * OCI_BIG_BYTES, else 16-byte. OC_EBUDGET: refused by the limit (err gets a short message; pass
 * NULL when a refusal is expected). OC_ENOMEM: the system refused. *out is not touched then. */
OC_NODISCARD oc_status oci_mem_try_alloc(oci_mem *mem, int64_t size, void **out, oc_error *err);

/* As above, but a refusal first asks the reclaimers, in the order of how much they say they
 * could free. The final error lists the three largest accounts and sets needed_bytes. */
OC_NODISCARD oc_status oci_mem_alloc(oci_mem *mem, int64_t size, void **out, oc_error *err);

/* Grows or shrinks; on failure the old block stays valid. `old_size` as it was asked for. Uses
 * oci_mem_alloc. ptr NULL with old_size 0 allocates. */
OC_NODISCARD oc_status oci_mem_realloc(oci_mem *mem, void *ptr, int64_t old_size, int64_t new_size,
                                       void **out, oc_error *err);

/* Frees; `size` as it was asked for. NULL is fine. */
void oci_mem_free(oci_mem *mem, void *ptr, int64_t size);

/* What an allocation of `size` is charged. */
int64_t oci_mem_charge_of(int64_t size);

/* A reservation: bytes that are charged and not allocated. Plain struct, zero-initialise. */
typedef struct oci_reservation {
    oci_mem *mem;
    int64_t bytes;
} oci_reservation;

/* Sets the reservation to `bytes` (grows or shrinks). try: OC_EBUDGET at once; the other asks
 * reclaimers. */
OC_NODISCARD oc_status oci_mem_try_reserve(oci_mem *mem, oci_reservation *r, int64_t bytes,
                                           oc_error *err);
OC_NODISCARD oc_status oci_mem_reserve(oci_mem *mem, oci_reservation *r, int64_t bytes,
                                       oc_error *err);
void oci_reservation_release(oci_reservation *r);

/* Empties a reservation into a promise: what the account holds now, the reservation included, it
 * may hold again at any time, by any kind of request; others are refused instead. For work that
 * allocates in several places and on several threads. Replaces an earlier promise; ends with
 * oci_mem_end_promise() or the account. Promised bytes are not `used`. */
void oci_reservation_promise(oci_reservation *r);
void oci_mem_end_promise(oci_mem *mem);
/* Promises to others do not bind this account: it may take what is free, as if there were none. For
 * those who hold little and only for a moment, and have nothing to give back when refused: what
 * consumers of results need. */
void oci_mem_put_first(oci_mem *mem);

/* Allocates, paying from the reservation first and from the budget for the rest (which may be
 * refused with OC_EBUDGET). The block is freed with oci_mem_free(r->mem, ...) like any other. */
OC_NODISCARD oc_status oci_mem_alloc_reserved(oci_reservation *r, int64_t size, void **out,
                                              oc_error *err);

/* Frees a block and puts its charge back into the reservation. */
void oci_mem_free_reserved(oci_reservation *r, void *ptr, int64_t size);

/* Somebody who can give memory back (an operator with rows it could spill). reclaim() is called
 * without any budget lock held, possibly on another thread than the owner's, possibly from
 * inside a call the owner itself made; it must refuse (return 0) when it is not in a state to
 * spill, must not block, and returns the bytes it freed. held() says how much it could free,
 * roughly, and must be cheap and thread-safe. One reclaimer is called at a time per budget.
 * Allocations made inside reclaim() are served from what is free and are refused otherwise;
 * reclaim() must not wait for another thread that allocates with oci_mem_alloc or
 * oci_mem_reserve. */
typedef struct oci_reclaimer {
    int64_t (*held)(void *self);
    int64_t (*reclaim)(void *self, int64_t bytes);
    void *self;
    /* private to the budget: */
    struct oci_reclaimer *next;
    int64_t held_seen;
    int64_t pass_seen;
} oci_reclaimer;

void oci_budget_register(oci_budget *budget, oci_reclaimer *reclaimer);
/* Returns after a reclaim() that is running on another thread has ended. May be called from
 * inside reclaim(). */
void oci_budget_unregister(oci_budget *budget, oci_reclaimer *reclaimer);

#endif /* OUTCORE_BASE_MEMORY_H */
