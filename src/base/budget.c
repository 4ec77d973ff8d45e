/* The memory budget: accounts, reservations, and where a block comes from.
 *
 * An allocation goes through three steps:
 *
 *     charge     the account and the total, or refuse (and perhaps ask the reclaimers, reclaim.c,
 *                and try again)
 *     obtain     a block: from malloc when small, else an extent of the arena (arena.c)
 *     make room  drop free extents that are still resident when blocks + resident free would pass
 *                the limit
 *
 * and a free through the opposite two: hand the block back, then take the charge off. The charge
 * is there before the memory and gone after it, so the process never holds more than what is
 * charged plus what the arena keeps warm. Bytes that are reserved but not allocated have no
 * memory behind them, so free extents may stay warm in their place: a workspace that is
 * allocated and freed over and over from a reservation keeps its pages even at the limit.
 *
 * One mutex guards the accounts, the totals and the arena. It is not held while memory is
 * faulted in (commit), copied, or while reclaimers run. Small blocks take it once per call;
 * whoever allocates per row should allocate per batch.
 *
 * malloc keeps freed small blocks for later use, outside of the count. When much of what was
 * once allocated is free again and the limit is near, the allocator is asked to let go of it
 * (see make_room).
 *
 * A budget lives as long as its last account, and a closed account as long as its last byte:
 * batches handed out to a consumer may outlive the context that made them. `references` counts
 * the owner and the accounts.
 *
 * Under AddressSanitizer each block is a malloc of its own, so that an access past its end or
 * after its free is caught; charges are the same. */
#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/bits.h"
#include "base/memory.h"
#include "base/reclaim.h"
#include "base/text.h"

#define SMALL_BLOCK_OVERHEAD 16
#define SMALL_BLOCK_UNIT     16

/* Free memory inside malloc below this is left alone: it is part of the fixed overhead of the
 * process. */
#define MALLOC_SLACK_BYTES ((int64_t)1 << 20)

struct oci_mem {
    oci_budget *budget;
    const char *name;
    int64_t held;
    int64_t promise; /* up to here it may always go on; 0 = nothing promised */
    bool is_first;   /* promises to others do not bind it */
    bool closed;     /* lingers until `held` is 0 */
    oci_mem *next;
    oci_mem *previous;
};

struct oci_budget {
    pthread_mutex_t lock; /* guards everything but the constants, the atomics and `reclaimers` */
    const oci_allocator *allocator;
    int64_t limit;
    oci_arena *arena; /* NULL when bypassed */
    int64_t used;     /* charged: blocks and reservations */
    int64_t reserved; /* of it: what reservations have not turned into blocks */
    int64_t promised; /* what accounts hold less than they were promised, together */
    int64_t peak;
    oci_mem *accounts;
    int64_t references;
    bool destroyed; /* by its owner: nothing is kept warm any more */
    /* Charges of small blocks, now and at their highest since malloc was last trimmed. Their
     * difference is about what malloc keeps; hence relaxed atomics. */
    atomic_int_least64_t small_used;
    atomic_int_least64_t small_high;
    oci_reclaim_list reclaimers;
};

static void lock_budget(oci_budget *budget)
{
    pthread_mutex_lock(&budget->lock);
}

static void unlock_budget(oci_budget *budget)
{
    pthread_mutex_unlock(&budget->lock);
}

/* ---- budget ---- */

/* Frees what was made so far; also the end of a half-built budget. */
static void free_budget(oci_budget *budget)
{
    const oci_allocator *allocator = budget->allocator;
    oci_arena_destroy(budget->arena);
    oci_reclaim_deinit(&budget->reclaimers);
    pthread_mutex_destroy(&budget->lock);
    allocator->deallocate(allocator->self, budget, sizeof *budget);
}

oc_status oci_budget_create(int64_t limit, const oci_allocator *allocator, oci_budget **out,
                            oc_error *err)
{
    if (limit <= 0) {
        OC_FAIL(err, OC_EINVAL,
                "memory limit of %" PRId64 " bytes is not possible; it must be positive", limit);
    }
    if (allocator == NULL) {
        allocator = oci_system_allocator();
    }
    oci_budget *budget = allocator->allocate(allocator->self, sizeof *budget);
    if (budget == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not allocate a memory budget: out of memory");
    }
    memset(budget, 0, sizeof *budget);
    budget->allocator = allocator;
    budget->limit = limit;
    budget->references = 1;
    pthread_mutex_init(&budget->lock, NULL);
    oci_reclaim_init(&budget->reclaimers);
    if (!OCI_ARENA_BYPASSED) {
        budget->arena = oci_arena_create(limit, allocator);
        if (budget->arena == NULL) {
            free_budget(budget);
            OC_FAIL(err, OC_ENOMEM, "could not allocate a memory budget: out of memory");
        }
    }
    *out = budget;
    return OC_OK;
}

/* Called with the lock held, which it lets go of. */
static void drop_reference(oci_budget *budget)
{
    bool is_last = --budget->references == 0;
    unlock_budget(budget);
    if (is_last) {
        free_budget(budget);
    }
}

void oci_budget_destroy(oci_budget *budget)
{
    if (budget == NULL) {
        return;
    }
    lock_budget(budget);
    assert(!budget->destroyed);
    budget->destroyed = true;
    if (budget->arena != NULL) {
        oci_arena_shrink(budget->arena, INT64_MAX);
    }
    drop_reference(budget);
}

int64_t oci_budget_limit(const oci_budget *budget)
{
    return budget->limit;
}

int64_t oci_budget_used(oci_budget *budget)
{
    lock_budget(budget);
    int64_t used = budget->used;
    unlock_budget(budget);
    return used;
}

int64_t oci_budget_free(oci_budget *budget)
{
    lock_budget(budget);
    int64_t free = oci_max64(0, budget->limit - budget->used - budget->promised);
    unlock_budget(budget);
    return free;
}

int64_t oci_budget_peak(oci_budget *budget)
{
    lock_budget(budget);
    int64_t peak = budget->peak;
    unlock_budget(budget);
    return peak;
}

static int64_t resident_free(const oci_budget *budget)
{
    return budget->arena != NULL ? oci_arena_resident_free(budget->arena) : 0;
}

/* Blocks and what is kept warm. */
static int64_t resident_bytes(const oci_budget *budget)
{
    return budget->used - budget->reserved + resident_free(budget);
}

int64_t oci_budget_resident(oci_budget *budget)
{
    lock_budget(budget);
    int64_t resident = resident_bytes(budget);
    unlock_budget(budget);
    return resident;
}

static void trim_malloc(oci_budget *budget)
{
    atomic_store_explicit(&budget->small_high,
                          atomic_load_explicit(&budget->small_used, memory_order_relaxed),
                          memory_order_relaxed);
    if (budget->allocator->trim != NULL) {
        budget->allocator->trim(budget->allocator->self);
    }
}

void oci_budget_trim(oci_budget *budget)
{
    lock_budget(budget);
    if (budget->arena != NULL) {
        oci_arena_shrink(budget->arena, INT64_MAX);
    }
    trim_malloc(budget);
    unlock_budget(budget);
}

/* Restores blocks + resident free <= limit, counting what malloc keeps as resident when it is
 * much. Always possible, as what is charged alone is within the limit. */
static void make_room(oci_budget *budget)
{
    int64_t slack = atomic_load_explicit(&budget->small_high, memory_order_relaxed) -
                    atomic_load_explicit(&budget->small_used, memory_order_relaxed);
    int64_t over = resident_bytes(budget) - budget->limit;
    if (slack >= MALLOC_SLACK_BYTES && over + slack > 0) {
        trim_malloc(budget);
    }
    if (over > 0 && budget->arena != NULL) {
        oci_arena_shrink(budget->arena, over);
    }
    assert(resident_bytes(budget) <= budget->limit);
}

/* ---- accounts ---- */

oc_status oci_mem_open(oci_budget *budget, const char *name, oci_mem **out, oc_error *err)
{
    oci_mem *mem = budget->allocator->allocate(budget->allocator->self, sizeof *mem);
    if (mem == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not open memory account \"%s\": out of memory", name);
    }
    *mem = (oci_mem){.budget = budget, .name = name};
    lock_budget(budget);
    mem->next = budget->accounts;
    if (mem->next != NULL) {
        mem->next->previous = mem;
    }
    budget->accounts = mem;
    budget->references++;
    unlock_budget(budget);
    *out = mem;
    return OC_OK;
}

/* Unlocks the budget; frees the account, and perhaps the budget, when it was closed and holds
 * nothing any more. */
static void unlock_after_release(oci_mem *mem)
{
    oci_budget *budget = mem->budget;
    if (!mem->closed || mem->held > 0) {
        unlock_budget(budget);
        return;
    }
    if (mem->previous != NULL) {
        mem->previous->next = mem->next;
    } else {
        budget->accounts = mem->next;
    }
    if (mem->next != NULL) {
        mem->next->previous = mem->previous;
    }
    budget->allocator->deallocate(budget->allocator->self, mem, sizeof *mem);
    drop_reference(budget);
}

/* What an account may still take of its promise. The lock is held, here and below. */
static int64_t unmet_promise(const oci_mem *mem)
{
    return oci_max64(0, mem->promise - mem->held);
}

/* Sets what an account holds and is promised, and keeps the sum of what is unmet right. */
static void set_account(oci_mem *mem, int64_t held, int64_t promise)
{
    mem->budget->promised -= unmet_promise(mem);
    mem->held = held;
    mem->promise = promise;
    mem->budget->promised += unmet_promise(mem);
}

void oci_mem_close(oci_mem *mem)
{
    if (mem == NULL) {
        return;
    }
    lock_budget(mem->budget);
    assert(!mem->closed);
    mem->closed = true;
    set_account(mem, mem->held, 0);
    unlock_after_release(mem);
}

int64_t oci_mem_held(oci_mem *mem)
{
    lock_budget(mem->budget);
    int64_t held = mem->held;
    unlock_budget(mem->budget);
    return held;
}

oci_budget *oci_mem_budget(oci_mem *mem)
{
    return mem->budget;
}

const char *oci_mem_name(const oci_mem *mem)
{
    return mem->name;
}

/* ---- charging ---- */

static bool is_big(int64_t size)
{
    return size >= OCI_BIG_BYTES;
}

int64_t oci_mem_charge_of(int64_t size)
{
    assert(size >= 0);
    int64_t unit = is_big(size) ? oci_page_bytes() : SMALL_BLOCK_UNIT;
    if (size > INT64_MAX - unit) {
        return INT64_MAX; /* more than any limit allows */
    }
    return is_big(size) ? oci_round_up(size, unit)
                        : oci_round_up(oci_max64(size, 1), unit) + SMALL_BLOCK_OVERHEAD;
}

static int64_t available_to(const oci_mem *mem)
{
    const oci_budget *budget = mem->budget;
    int64_t to_others = mem->is_first ? 0 : budget->promised - unmet_promise(mem);
    return budget->limit - budget->used - to_others;
}

void oci_mem_put_first(oci_mem *mem)
{
    lock_budget(mem->budget);
    mem->is_first = true;
    unlock_budget(mem->budget);
}

int64_t oci_mem_available(oci_mem *mem)
{
    lock_budget(mem->budget);
    int64_t available = available_to(mem);
    unlock_budget(mem->budget);
    return available;
}

/* Charges an account, or changes nothing and returns false. The bytes count as reserved until a
 * block is obtained for them. */
static bool try_charge(oci_mem *mem, int64_t bytes)
{
    oci_budget *budget = mem->budget;
    lock_budget(budget);
    assert(!mem->closed);
    bool fits = bytes <= available_to(mem);
    if (fits) {
        budget->used += bytes;
        budget->reserved += bytes;
        set_account(mem, mem->held + bytes, mem->promise);
        budget->peak = oci_max64(budget->peak, budget->used);
    }
    unlock_budget(budget);
    return fits;
}

/* Takes a charge off. The lock is held, and given up at the end. */
static void take_off_and_unlock(oci_mem *mem, int64_t bytes)
{
    assert(bytes <= mem->held);
    set_account(mem, mem->held - bytes, mem->promise);
    mem->budget->used -= bytes;
    unlock_after_release(mem);
}

/* Takes a charge off that is reserved. */
static void take_off_reserved(oci_mem *mem, int64_t bytes)
{
    lock_budget(mem->budget);
    mem->budget->reserved -= bytes;
    take_off_and_unlock(mem, bytes);
}

/* What is held under one name; several accounts may share it (one per reader, say). */
static int64_t held_by_name(const oci_budget *budget, const char *name)
{
    int64_t held = 0;
    for (const oci_mem *mem = budget->accounts; mem != NULL; mem = mem->next) {
        held += strcmp(mem->name, name) == 0 ? mem->held : 0;
    }
    return held;
}

/* The holder with the most among those below (`bytes`, `name`) in the order of the list. */
static const char *next_holder(const oci_budget *budget, const char *last, int64_t *bytes)
{
    const char *best = NULL;
    int64_t best_held = 0;
    for (const oci_mem *mem = budget->accounts; mem != NULL; mem = mem->next) {
        int64_t held = held_by_name(budget, mem->name);
        bool comes_after = last == NULL || held < *bytes ||
                           (held == *bytes && strcmp(mem->name, last) > 0);
        bool is_better = best == NULL || held > best_held ||
                         (held == best_held && strcmp(mem->name, best) < 0);
        if (held > 0 && comes_after && is_better) {
            best = mem->name;
            best_held = held;
        }
    }
    *bytes = best_held;
    return best;
}

/* ` ("scan" 2.1 MiB, "sort buffer" 1.2 MiB, "spill" 0.6 MiB)`, or nothing. */
static void describe_holders(const oci_budget *budget, char *text, size_t size)
{
    const char *name = NULL;
    int64_t bytes = 0;
    size_t length = 0;
    text[0] = '\0';
    for (int i = 0; i < 3 && length < size; i++) {
        name = next_holder(budget, name, &bytes);
        if (name == NULL) {
            break;
        }
        char amount[OCI_BYTES_TEXT];
        length += (size_t)snprintf(text + length, size - length, "%s\"%.60s\" %s",
                                   i == 0 ? " (" : ", ", name, oci_format_bytes(bytes, amount));
    }
    if (length > 0 && length < size) {
        snprintf(text + length, size - length, ")");
    }
}

/* The error for a refusal. Long: with the largest accounts and what to do. */
static oc_status refuse(oci_mem *mem, int64_t bytes, bool is_long, oc_error *err)
{
    if (err == NULL) {
        return OC_EBUDGET;
    }
    oci_budget *budget = mem->budget;
    char holders[320] = "";
    lock_budget(budget);
    int64_t used = budget->used;
    if (is_long) {
        describe_holders(budget, holders, sizeof holders);
    }
    unlock_budget(budget);
    int64_t needed = used > INT64_MAX - bytes ? INT64_MAX : used + bytes;
    char wanted_text[OCI_BYTES_TEXT];
    char used_text[OCI_BYTES_TEXT];
    char limit_text[OCI_BYTES_TEXT];
    char needed_text[OCI_BYTES_TEXT];
    OC_SET(err, OC_EBUDGET,
           "could not reserve %s for \"%.60s\": %s of the memory limit of %s is in use%s%s%s",
           oci_format_bytes(bytes, wanted_text), mem->name, oci_format_bytes(used, used_text),
           oci_format_bytes(budget->limit, limit_text), holders,
           is_long ? "; raise the memory limit to at least " : "",
           is_long ? oci_format_bytes_up(needed, needed_text) : "");
    err->needed_bytes = needed;
    return OC_EBUDGET;
}

typedef struct missing_query {
    oci_mem *mem;
    int64_t bytes;
} missing_query;

static int64_t missing_bytes(void *arg)
{
    const missing_query *query = arg;
    return query->bytes - oci_mem_available(query->mem);
}

/* Charges; asks the reclaimers as long as that helps. Nobody is made to spill for what can never
 * fit. */
static oc_status charge(oci_mem *mem, int64_t bytes, oc_error *err)
{
    missing_query query = {.mem = mem, .bytes = bytes};
    while (!try_charge(mem, bytes)) {
        if (bytes > mem->budget->limit ||
            !oci_reclaim_pass(&mem->budget->reclaimers, missing_bytes, &query)) {
            return refuse(mem, bytes, true, err);
        }
    }
    return OC_OK;
}

/* ---- blocks ---- */

static void count_small(oci_budget *budget, int64_t bytes)
{
    int64_t now = atomic_fetch_add_explicit(&budget->small_used, bytes, memory_order_relaxed) +
                  bytes;
    if (now > atomic_load_explicit(&budget->small_high, memory_order_relaxed)) {
        atomic_store_explicit(&budget->small_high, now, memory_order_relaxed);
    }
}

static bool is_extent(const oci_budget *budget, int64_t size)
{
    return budget->arena != NULL && is_big(size);
}

static int64_t room_of(const oci_budget *budget)
{
    return budget->limit - resident_bytes(budget);
}

static bool commit(oci_budget *budget, void *ptr, int64_t bytes)
{
    return budget->allocator->commit(budget->allocator->self, ptr, (size_t)bytes);
}

/* The lock is held. */
static void give_extent(oci_budget *budget, void *ptr, int64_t bytes)
{
    oci_arena_give(budget->arena, ptr, bytes);
    if (budget->destroyed) {
        oci_arena_shrink(budget->arena, INT64_MAX);
    }
}

/* Turns `bytes` that are reserved into an extent. NULL, and still reserved, when the system
 * refuses. */
static void *obtain_extent(oci_budget *budget, int64_t bytes)
{
    bool is_cold = false;
    lock_budget(budget);
    budget->reserved -= bytes;
    void *ptr = oci_arena_take(budget->arena, bytes, room_of(budget), &is_cold);
    make_room(budget);
    unlock_budget(budget);
    if (ptr != NULL && (!is_cold || commit(budget, ptr, bytes))) {
        return ptr;
    }
    lock_budget(budget);
    budget->reserved += bytes;
    if (ptr != NULL) {
        give_extent(budget, ptr, bytes);
    }
    unlock_budget(budget);
    return NULL;
}

/* The same through the allocator: small blocks, and all of them when the arena is bypassed. */
static void *obtain_from_allocator(oci_budget *budget, int64_t size, int64_t bytes)
{
    void *ptr = budget->allocator->allocate(budget->allocator->self, size > 0 ? (size_t)size : 1);
    if (ptr == NULL) {
        return NULL;
    }
    count_small(budget, is_big(size) ? 0 : bytes);
    lock_budget(budget);
    budget->reserved -= bytes;
    make_room(budget);
    unlock_budget(budget);
    return ptr;
}

static oc_status fail_system(const oci_mem *mem, int64_t size, oc_error *err)
{
    char amount[OCI_BYTES_TEXT];
    OC_FAIL_ERRNO(err, OC_ENOMEM, ENOMEM,
                  "could not allocate %s for \"%.60s\": the system has no memory left, although "
                  "the memory limit "
                  "allows it; lower the memory limit or free memory elsewhere",
                  oci_format_bytes(size, amount), mem->name);
}

/* The second half of every allocation: its charge is reserved already. The last `new_bytes` of
 * it were charged just now, and are taken off when the system refuses. */
static oc_status obtain(oci_mem *mem, int64_t size, int64_t new_bytes, void **out, oc_error *err)
{
    int64_t bytes = oci_mem_charge_of(size);
    void *ptr = is_extent(mem->budget, size) ? obtain_extent(mem->budget, bytes)
                                             : obtain_from_allocator(mem->budget, size, bytes);
    if (ptr == NULL) {
        take_off_reserved(mem, new_bytes);
        return fail_system(mem, size, err);
    }
    *out = ptr;
    return OC_OK;
}

/* Hands a block back and comes back with the lock held, for the caller to settle what is charged
 * for it: nobody sees its pages counted as free and its charge at the same time. */
static void hand_back_and_lock(oci_budget *budget, void *ptr, int64_t size)
{
    int64_t bytes = oci_mem_charge_of(size);
    if (is_extent(budget, size)) {
        lock_budget(budget);
        give_extent(budget, ptr, bytes);
        return;
    }
    budget->allocator->deallocate(budget->allocator->self, ptr, size > 0 ? (size_t)size : 1);
    count_small(budget, is_big(size) ? 0 : -bytes);
    lock_budget(budget);
}

oc_status oci_mem_try_alloc(oci_mem *mem, int64_t size, void **out, oc_error *err)
{
    int64_t bytes = oci_mem_charge_of(size);
    if (!try_charge(mem, bytes)) {
        return refuse(mem, bytes, false, err);
    }
    return obtain(mem, size, bytes, out, err);
}

oc_status oci_mem_alloc(oci_mem *mem, int64_t size, void **out, oc_error *err)
{
    int64_t bytes = oci_mem_charge_of(size);
    OC_TRY(charge(mem, bytes, err));
    return obtain(mem, size, bytes, out, err);
}

void oci_mem_free(oci_mem *mem, void *ptr, int64_t size)
{
    if (ptr == NULL) {
        return;
    }
    hand_back_and_lock(mem->budget, ptr, size);
    take_off_and_unlock(mem, oci_mem_charge_of(size));
}

/* ---- changing the size ---- */

static bool shrink_in_place(oci_mem *mem, void *ptr, int64_t old_bytes, int64_t new_bytes)
{
    lock_budget(mem->budget);
    bool done = oci_arena_cut(mem->budget->arena, ptr, old_bytes, new_bytes);
    if (done) {
        take_off_and_unlock(mem, old_bytes - new_bytes);
    } else {
        unlock_budget(mem->budget);
    }
    return done;
}

/* Turns the difference, which is reserved, into memory behind the block. Faults it in with the
 * lock held, so that the nodes that oci_arena_extend() left for a step back are still there;
 * that is 256 KiB at most. */
static bool grow_in_place(oci_budget *budget, void *ptr, int64_t old_bytes, int64_t new_bytes)
{
    bool is_cold = false;
    lock_budget(budget);
    bool done =
        oci_arena_extend(budget->arena, ptr, old_bytes, new_bytes, room_of(budget), &is_cold);
    if (done && is_cold && !commit(budget, (char *)ptr + old_bytes, new_bytes - old_bytes)) {
        bool was_cut = oci_arena_cut(budget->arena, ptr, new_bytes, old_bytes);
        assert(was_cut);
        done = !was_cut;
    }
    if (done) {
        budget->reserved -= new_bytes - old_bytes;
        make_room(budget);
    }
    unlock_budget(budget);
    return done;
}

/* Extents change in place where they can: no copy, and no need for room for both. */
static oc_status resize_in_place(oci_mem *mem, void *ptr, int64_t old_size, int64_t new_size,
                                 bool *done, oc_error *err)
{
    *done = false;
    if (!is_extent(mem->budget, old_size) || !is_extent(mem->budget, new_size)) {
        return OC_OK;
    }
    int64_t old_bytes = oci_mem_charge_of(old_size);
    int64_t new_bytes = oci_mem_charge_of(new_size);
    if (new_bytes < old_bytes) {
        *done = shrink_in_place(mem, ptr, old_bytes, new_bytes);
    } else if (new_bytes == old_bytes) {
        *done = true;
    } else {
        OC_TRY(charge(mem, new_bytes - old_bytes, err));
        *done = grow_in_place(mem->budget, ptr, old_bytes, new_bytes);
        if (!*done) {
            take_off_reserved(mem, new_bytes - old_bytes);
        }
    }
    return OC_OK;
}

oc_status oci_mem_realloc(oci_mem *mem, void *ptr, int64_t old_size, int64_t new_size, void **out,
                          oc_error *err)
{
    if (ptr == NULL) {
        assert(old_size == 0);
        return oci_mem_alloc(mem, new_size, out, err);
    }
    bool done = false;
    OC_TRY(resize_in_place(mem, ptr, old_size, new_size, &done, err));
    if (done) {
        *out = ptr;
        return OC_OK;
    }
    void *moved = NULL;
    OC_TRY(oci_mem_alloc(mem, new_size, &moved, err));
    memcpy(moved, ptr, (size_t)oci_min64(old_size, new_size));
    oci_mem_free(mem, ptr, old_size);
    *out = moved;
    return OC_OK;
}

/* ---- reservations ---- */

static oc_status set_reservation(oci_mem *mem, oci_reservation *r, int64_t bytes, bool ask,
                                 oc_error *err)
{
    assert(r->mem == NULL || r->mem == mem);
    assert(bytes >= 0);
    int64_t more = bytes - r->bytes;
    if (more > 0 && ask) {
        OC_TRY(charge(mem, more, err));
    } else if (more > 0 && !try_charge(mem, more)) {
        return refuse(mem, more, false, err);
    }
    r->mem = mem;
    r->bytes = bytes;
    if (more < 0) {
        take_off_reserved(mem, -more);
    }
    return OC_OK;
}

oc_status oci_mem_try_reserve(oci_mem *mem, oci_reservation *r, int64_t bytes, oc_error *err)
{
    return set_reservation(mem, r, bytes, false, err);
}

oc_status oci_mem_reserve(oci_mem *mem, oci_reservation *r, int64_t bytes, oc_error *err)
{
    return set_reservation(mem, r, bytes, true, err);
}

void oci_reservation_release(oci_reservation *r)
{
    int64_t bytes = r->bytes;
    r->bytes = 0;
    if (bytes > 0) {
        take_off_reserved(r->mem, bytes);
    }
}

void oci_reservation_promise(oci_reservation *r)
{
    assert(r->mem != NULL);
    oci_budget *budget = r->mem->budget;
    lock_budget(budget);
    set_account(r->mem, r->mem->held, r->mem->held);
    budget->reserved -= r->bytes;
    int64_t bytes = r->bytes;
    r->bytes = 0;
    take_off_and_unlock(r->mem, bytes);
}

void oci_mem_end_promise(oci_mem *mem)
{
    lock_budget(mem->budget);
    set_account(mem, mem->held, 0);
    unlock_budget(mem->budget);
}

oc_status oci_mem_alloc_reserved(oci_reservation *r, int64_t size, void **out, oc_error *err)
{
    assert(r->mem != NULL);
    int64_t bytes = oci_mem_charge_of(size);
    int64_t paid = oci_min64(r->bytes, bytes);
    if (bytes > paid && !try_charge(r->mem, bytes - paid)) {
        return refuse(r->mem, bytes - paid, false, err);
    }
    OC_TRY(obtain(r->mem, size, bytes - paid, out, err));
    r->bytes -= paid;
    return OC_OK;
}

void oci_mem_free_reserved(oci_reservation *r, void *ptr, int64_t size)
{
    if (ptr == NULL) {
        return;
    }
    assert(r->mem != NULL);
    oci_budget *budget = r->mem->budget;
    int64_t bytes = oci_mem_charge_of(size);
    hand_back_and_lock(budget, ptr, size);
    budget->reserved += bytes;
    r->bytes += bytes;
    unlock_budget(budget);
}

/* ---- reclaimers ---- */

void oci_budget_register(oci_budget *budget, oci_reclaimer *reclaimer)
{
    oci_reclaim_add(&budget->reclaimers, reclaimer);
}

void oci_budget_unregister(oci_budget *budget, oci_reclaimer *reclaimer)
{
    oci_reclaim_remove(&budget->reclaimers, reclaimer);
}
