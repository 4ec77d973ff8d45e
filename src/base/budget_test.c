/* The memory budget: exact charges, refusals without effects, reservations, reclaimers, and
 * every refusal of the system. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/fault.h"
#include "base/memory.h"
#include "base/thread.h"

#define KIB ((int64_t)1024)
#define MIB (1024 * KIB)

typedef struct fixture {
    oci_budget *budget;
    oci_mem *mem;
} fixture;

static fixture open_fixture(int64_t limit)
{
    fixture f = {0};
    assert_int_equal(oci_budget_create(limit, NULL, &f.budget, NULL), OC_OK);
    assert_int_equal(oci_mem_open(f.budget, "test", &f.mem, NULL), OC_OK);
    return f;
}

/* Everything was given back. */
static void close_fixture(fixture *f)
{
    assert_int_equal(oci_mem_held(f->mem), 0);
    assert_int_equal(oci_budget_used(f->budget), 0);
    oci_mem_close(f->mem);
    oci_budget_destroy(f->budget);
}

static void *must_alloc(oci_mem *mem, int64_t size)
{
    void *ptr = NULL;
    oc_error err = {0};
    if (oci_mem_alloc(mem, size, &ptr, &err) != OC_OK) {
        fail_msg("%s", err.message);
    }
    assert_non_null(ptr);
    memset(ptr, 0xAB, (size_t)size);
    return ptr;
}

/* ---- charges ---- */

static void charge_is_what_the_allocator_takes(void **state)
{
    (void)state;
    assert_int_equal(oci_mem_charge_of(0), 32);
    assert_int_equal(oci_mem_charge_of(1), 32);
    assert_int_equal(oci_mem_charge_of(16), 32);
    assert_int_equal(oci_mem_charge_of(17), 48);
    assert_int_equal(oci_mem_charge_of(OCI_BIG_BYTES - 1), OCI_BIG_BYTES + 16);
    assert_int_equal(oci_mem_charge_of(OCI_BIG_BYTES) % 4096, 0);
    assert_true(oci_mem_charge_of(OCI_BIG_BYTES + 1) > OCI_BIG_BYTES);
    assert_int_equal(oci_mem_charge_of(INT64_MAX), INT64_MAX);
}

static void blocks_are_charged_while_they_live(void **state)
{
    (void)state;
    fixture f = open_fixture(4 * MIB);
    static const int64_t sizes[] = {0, 1, 100, OCI_BIG_BYTES - 1, OCI_BIG_BYTES, 100000, MIB};
    void *blocks[7];
    int64_t expected = 0;
    for (int i = 0; i < 7; i++) {
        blocks[i] = must_alloc(f.mem, sizes[i]);
        assert_int_equal((uintptr_t)blocks[i] % (sizes[i] >= OCI_BIG_BYTES ? 64 : 16), 0);
        expected += oci_mem_charge_of(sizes[i]);
        assert_int_equal(oci_mem_held(f.mem), expected);
        assert_int_equal(oci_budget_used(f.budget), expected);
        assert_int_equal(oci_budget_free(f.budget), 4 * MIB - expected);
    }
    int64_t highest = expected;
    for (int i = 0; i < 7; i++) {
        oci_mem_free(f.mem, blocks[i], sizes[i]);
        expected -= oci_mem_charge_of(sizes[i]);
        assert_int_equal(oci_mem_held(f.mem), expected);
    }
    assert_int_equal(oci_budget_peak(f.budget), highest);
    close_fixture(&f);
}

static void accounts_are_counted_apart(void **state)
{
    (void)state;
    fixture f = open_fixture(MIB);
    oci_mem *other = NULL;
    assert_int_equal(oci_mem_open(f.budget, "other", &other, NULL), OC_OK);
    void *a = must_alloc(f.mem, 1000);
    void *b = must_alloc(other, 50000);
    assert_int_equal(oci_mem_held(f.mem), oci_mem_charge_of(1000));
    assert_int_equal(oci_mem_held(other), oci_mem_charge_of(50000));
    assert_string_equal(oci_mem_name(other), "other");
    assert_ptr_equal(oci_mem_budget(other), f.budget);
    oci_mem_free(f.mem, a, 1000);
    oci_mem_free(other, b, 50000);
    oci_mem_close(other);
    close_fixture(&f);
}

static void idle_accounts_take_nothing_from_the_active_one(void **state)
{
    (void)state;
    oci_budget *budget;
    oci_mem *idle[128];
    oci_mem *active;
    void *block;
    assert_int_equal(oci_budget_create(10 << 20, NULL, &budget, NULL), OC_OK);
    for (int i = 0; i < 128; i++) {
        assert_int_equal(oci_mem_open(budget, "idle", &idle[i], NULL), OC_OK);
    }
    assert_int_equal(oci_mem_open(budget, "active", &active, NULL), OC_OK);
    int64_t all = oci_budget_free(budget);
    assert_true(all > (10 << 20) - 64 * 1024);
    int64_t size = all / 4096 * 4096;
    assert_int_equal(oci_mem_try_alloc(active, size, &block, NULL), OC_OK);
    oci_mem_free(active, block, size);
    for (int i = 0; i < 128; i++) {
        oci_mem_close(idle[i]);
    }
    oci_mem_close(active);
    oci_budget_destroy(budget);
}

static void freeing_null_is_fine(void **state)
{
    (void)state;
    fixture f = open_fixture(MIB);
    oci_reservation r = {0};
    oci_mem_free(f.mem, NULL, 100);
    oci_mem_free_reserved(&r, NULL, 100);
    oci_reservation_release(&r);
    oci_mem_close(NULL);
    oci_budget_destroy(NULL);
    close_fixture(&f);
}

static void limit_must_be_positive(void **state)
{
    (void)state;
    oci_budget *budget = NULL;
    oc_error err = {0};
    assert_int_equal(oci_budget_create(0, NULL, &budget, &err), OC_EINVAL);
    assert_int_equal(oci_budget_create(-1, NULL, &budget, &err), OC_EINVAL);
    assert_non_null(strstr(err.message, "-1 bytes"));
    assert_null(budget);
}

/* ---- refusals ---- */

static void refusal_leaves_everything_as_it_was(void **state)
{
    (void)state;
    fixture f = open_fixture(MIB);
    void *held = must_alloc(f.mem, 600 * KIB);
    int64_t used = oci_budget_used(f.budget);
    void *out = &f;
    oc_error err = {0};
    assert_int_equal(oci_mem_try_alloc(f.mem, 500 * KIB, &out, &err), OC_EBUDGET);
    assert_ptr_equal(out, &f);
    assert_int_equal(err.needed_bytes, used + 500 * KIB);
    assert_string_equal(err.message, "could not reserve 500.0 KiB for \"test\": 600.0 KiB of the "
                                     "memory limit of 1.0 MiB is in use");
    assert_int_equal(oci_mem_try_alloc(f.mem, 500 * KIB, &out, NULL), OC_EBUDGET);
    assert_int_equal(oci_mem_alloc(f.mem, INT64_MAX, &out, NULL), OC_EBUDGET);
    assert_int_equal(oci_mem_alloc(f.mem, 500 * KIB, &out, NULL), OC_EBUDGET);
    assert_int_equal(oci_budget_used(f.budget), used);
    assert_int_equal(oci_mem_held(f.mem), used);
    assert_int_equal(oci_budget_peak(f.budget), used);
    oci_mem_free(f.mem, held, 600 * KIB);
    close_fixture(&f);
}

static void exact_fit_is_granted(void **state)
{
    (void)state;
    fixture f = open_fixture(MIB);
    void *all = must_alloc(f.mem, MIB);
    void *more = NULL;
    assert_int_equal(oci_budget_free(f.budget), 0);
    assert_int_equal(oci_mem_try_alloc(f.mem, 0, &more, NULL), OC_EBUDGET);
    oci_mem_free(f.mem, all, MIB);
    close_fixture(&f);
}

static void final_error_names_the_largest_accounts_and_a_limit_that_works(void **state)
{
    (void)state;
    fixture f = open_fixture(4 * MIB);
    static const char *const names[] = {"scan", "spill", "scan", "keys"};
    static const int64_t sizes[] = {1024 * KIB, 512 * KIB, 512 * KIB, 256 * KIB};
    oci_mem *mems[4];
    void *blocks[4];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(oci_mem_open(f.budget, names[i], &mems[i], NULL), OC_OK);
        blocks[i] = must_alloc(mems[i], sizes[i]);
    }
    void *mine = must_alloc(f.mem, 1024 * KIB);
    void *out = NULL;
    oc_error err = {0};
    assert_int_equal(oci_mem_alloc(f.mem, 1234 * KIB, &out, &err), OC_EBUDGET);
    assert_string_equal(
        err.message,
        "could not reserve 1.2 MiB for \"test\": 3.3 MiB of the memory limit of 4.0 MiB is in use "
        "(\"scan\" 1.5 MiB, \"test\" 1.0 MiB, \"spill\" 512.0 KiB); raise the memory limit to at "
        "least 4.5 MiB");
    assert_int_equal(err.needed_bytes, (1024 + 512 + 512 + 256 + 1024 + 1236) * KIB);
    oci_mem_free(f.mem, mine, 1024 * KIB);
    for (int i = 0; i < 4; i++) {
        oci_mem_free(mems[i], blocks[i], sizes[i]);
        oci_mem_close(mems[i]);
    }
    close_fixture(&f);
}

/* ---- realloc ---- */

static void check_pattern(const unsigned char *bytes, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++) {
        assert_int_equal(bytes[i], (unsigned char)(i * 7));
    }
}

static void realloc_keeps_the_contents(void **state)
{
    (void)state;
    fixture f = open_fixture(8 * MIB);
    static const int64_t sizes[] = {10,     100,   40000, 300000, 301000, 2000000,
                                    300000, 50000, 2000,  5,      70000,  70001};
    unsigned char *ptr = NULL;
    int64_t size = 0;
    for (int i = 0; i < 12; i++) {
        void *out = NULL;
        assert_int_equal(oci_mem_realloc(f.mem, ptr, size, sizes[i], &out, NULL), OC_OK);
        ptr = out;
        check_pattern(ptr, 0, size < sizes[i] ? size : sizes[i]);
        for (int64_t j = 0; j < sizes[i]; j++) {
            ptr[j] = (unsigned char)(j * 7);
        }
        size = sizes[i];
        assert_int_equal(oci_mem_held(f.mem), oci_mem_charge_of(size));
    }
    oci_mem_free(f.mem, ptr, size);
    close_fixture(&f);
}

static void failed_realloc_keeps_the_old_block(void **state)
{
    (void)state;
    fixture f = open_fixture(MIB);
    unsigned char *ptr = must_alloc(f.mem, 100 * KIB);
    for (int64_t i = 0; i < 100 * KIB; i++) {
        ptr[i] = (unsigned char)(i * 7);
    }
    void *out = ptr;
    oc_error err = {0};
    assert_int_equal(oci_mem_realloc(f.mem, ptr, 100 * KIB, 2 * MIB, &out, &err), OC_EBUDGET);
    assert_ptr_equal(out, ptr);
    check_pattern(ptr, 0, 100 * KIB);
    assert_int_equal(oci_mem_held(f.mem), 100 * KIB);
    oci_mem_free(f.mem, ptr, 100 * KIB);
    close_fixture(&f);
}

/* ---- reservations ---- */

static void reservation_is_charged_and_turns_into_memory(void **state)
{
    (void)state;
    fixture f = open_fixture(MIB);
    oci_reservation r = {0};
    assert_int_equal(oci_mem_reserve(f.mem, &r, 512 * KIB, NULL), OC_OK);
    assert_int_equal(r.bytes, 512 * KIB);
    assert_int_equal(oci_mem_held(f.mem), 512 * KIB);
    void *rest = must_alloc(f.mem, 512 * KIB);
    assert_int_equal(oci_budget_free(f.budget), 0);

    void *a = NULL;
    void *b = NULL;
    assert_int_equal(oci_mem_alloc_reserved(&r, 400 * KIB, &a, NULL), OC_OK);
    assert_int_equal(oci_mem_alloc_reserved(&r, 1000, &b, NULL), OC_OK);
    memset(a, 1, 400 * KIB);
    memset(b, 1, 1000);
    assert_int_equal(r.bytes, 112 * KIB - oci_mem_charge_of(1000));
    assert_int_equal(oci_budget_used(f.budget), MIB);

    oc_error err = {0};
    void *c = NULL;
    int64_t before = r.bytes;
    assert_int_equal(oci_mem_alloc_reserved(&r, 200 * KIB, &c, &err), OC_EBUDGET);
    assert_int_equal(r.bytes, before);
    assert_int_equal(oci_budget_used(f.budget), MIB);

    oci_mem_free_reserved(&r, a, 400 * KIB);
    oci_mem_free_reserved(&r, b, 1000);
    assert_int_equal(r.bytes, 512 * KIB);
    assert_int_equal(oci_budget_used(f.budget), MIB);
    oci_mem_free(f.mem, rest, 512 * KIB);
    oci_reservation_release(&r);
    assert_int_equal(r.bytes, 0);
    close_fixture(&f);
}

static void reservation_pays_first_and_the_budget_the_rest(void **state)
{
    (void)state;
    fixture f = open_fixture(MIB);
    oci_reservation r = {0};
    assert_int_equal(oci_mem_try_reserve(f.mem, &r, 64 * KIB, NULL), OC_OK);
    void *a = NULL;
    assert_int_equal(oci_mem_alloc_reserved(&r, 100 * KIB, &a, NULL), OC_OK);
    assert_int_equal(r.bytes, 0);
    assert_int_equal(oci_budget_used(f.budget), 100 * KIB);
    oci_mem_free(f.mem, a, 100 * KIB);
    assert_int_equal(oci_budget_used(f.budget), 0);
    close_fixture(&f);
}

static void what_is_promised_is_kept_for_its_account(void **state)
{
    (void)state;
    fixture f = open_fixture(MIB);
    oci_mem *other;
    assert_int_equal(oci_mem_open(f.budget, "other", &other, NULL), OC_OK);
    void *block = must_alloc(f.mem, 100 * KIB);
    oci_reservation r = {0};
    assert_int_equal(oci_mem_try_reserve(f.mem, &r, 600 * KIB, NULL), OC_OK);
    oci_reservation_promise(&r);
    assert_int_equal(r.bytes, 0);
    assert_int_equal(oci_budget_used(f.budget), 100 * KIB);
    assert_int_equal(oci_budget_free(f.budget), 324 * KIB);
    assert_int_equal(oci_mem_available(other), 324 * KIB);
    assert_int_equal(oci_mem_available(f.mem), 924 * KIB);
    oci_reservation theirs = {0};
    assert_int_equal(oci_mem_reserve(other, &theirs, 328 * KIB, NULL), OC_EBUDGET);
    assert_int_equal(oci_mem_reserve(other, &theirs, 324 * KIB, NULL), OC_OK);
    /* All of it, block by block; what is freed may be taken once more. */
    void *more = must_alloc(f.mem, 600 * KIB);
    assert_int_equal(oci_budget_used(f.budget), MIB);
    oci_mem_free(f.mem, more, 600 * KIB);
    oci_mem_free(f.mem, block, 100 * KIB);
    assert_int_equal(oci_mem_try_reserve(other, &theirs, 325 * KIB, NULL), OC_EBUDGET);
    block = must_alloc(f.mem, 700 * KIB);
    oci_mem_free(f.mem, block, 700 * KIB);
    oci_mem_end_promise(f.mem);
    assert_int_equal(oci_mem_try_reserve(other, &theirs, MIB, NULL), OC_OK);
    oci_reservation_release(&theirs);
    /* A consumer's account goes first. */
    assert_int_equal(oci_mem_try_reserve(f.mem, &r, 600 * KIB, NULL), OC_OK);
    oci_reservation_promise(&r);
    assert_int_equal(oci_mem_try_reserve(other, &theirs, 500 * KIB, NULL), OC_EBUDGET);
    oci_mem_put_first(other);
    assert_int_equal(oci_mem_try_reserve(other, &theirs, 500 * KIB, NULL), OC_OK);
    assert_int_equal(oci_mem_available(f.mem), 524 * KIB);
    assert_int_equal(oci_mem_try_reserve(f.mem, &r, 525 * KIB, NULL), OC_EBUDGET);
    oci_reservation_release(&theirs);
    oci_mem_end_promise(f.mem);
    /* A promise ends with its account. */
    assert_int_equal(oci_mem_try_reserve(other, &theirs, MIB, NULL), OC_OK);
    oci_reservation_promise(&theirs);
    assert_int_equal(oci_budget_free(f.budget), 0);
    oci_mem_close(other);
    assert_int_equal(oci_budget_free(f.budget), MIB);
    close_fixture(&f);
}

static void reservation_grows_and_shrinks(void **state)
{
    (void)state;
    fixture f = open_fixture(MIB);
    oci_reservation r = {0};
    oc_error err = {0};
    assert_int_equal(oci_mem_try_reserve(f.mem, &r, 100, &err), OC_OK);
    assert_int_equal(oci_mem_try_reserve(f.mem, &r, 2 * MIB, &err), OC_EBUDGET);
    assert_int_equal(err.needed_bytes, 2 * MIB);
    assert_int_equal(r.bytes, 100);
    assert_int_equal(oci_mem_try_reserve(f.mem, &r, MIB, &err), OC_OK);
    assert_int_equal(oci_mem_try_reserve(f.mem, &r, 10, &err), OC_OK);
    assert_int_equal(oci_budget_used(f.budget), 10);
    oci_reservation_release(&r);
    close_fixture(&f);
}

/* ---- warm memory ---- */

#if !OCI_ARENA_BYPASSED
static void freed_extents_stay_warm_until_trimmed(void **state)
{
    (void)state;
    fixture f = open_fixture(8 * MIB);
    void *a = must_alloc(f.mem, 2 * MIB);
    oci_mem_free(f.mem, a, 2 * MIB);
    assert_int_equal(oci_budget_resident(f.budget), 2 * MIB);
    void *b = must_alloc(f.mem, 2 * MIB);
    assert_ptr_equal(a, b);
    oci_mem_free(f.mem, b, 2 * MIB);
    oci_budget_trim(f.budget);
    assert_int_equal(oci_budget_resident(f.budget), 0);
    close_fixture(&f);
}

static void warm_extents_give_way_to_new_charges(void **state)
{
    (void)state;
    fixture f = open_fixture(4 * MIB);
    void *a = must_alloc(f.mem, 3 * MIB);
    void *wedge = must_alloc(f.mem, 64 * KIB);
    oci_mem_free(f.mem, a, 3 * MIB);
    void *b = must_alloc(f.mem, 3 * MIB + 512 * KIB);
    assert_true(oci_budget_resident(f.budget) <= 4 * MIB);
    oci_mem_free(f.mem, b, 3 * MIB + 512 * KIB);
    oci_mem_free(f.mem, wedge, 64 * KIB);
    close_fixture(&f);
}

static void workspace_in_a_reservation_stays_warm_at_the_limit(void **state)
{
    (void)state;
    fixture f = open_fixture(4 * MIB);
    oci_reservation r = {0};
    assert_int_equal(oci_mem_reserve(f.mem, &r, MIB, NULL), OC_OK);
    void *rest = must_alloc(f.mem, 3 * MIB);
    void *first = NULL;
    assert_int_equal(oci_mem_alloc_reserved(&r, MIB, &first, NULL), OC_OK);
    memset(first, 0x5A, MIB);
    oci_mem_free_reserved(&r, first, MIB);
    assert_int_equal(oci_budget_resident(f.budget), 4 * MIB);
    void *second = NULL;
    assert_int_equal(oci_mem_alloc_reserved(&r, MIB, &second, NULL), OC_OK);
    assert_ptr_equal(first, second);
    assert_int_equal(((unsigned char *)second)[MIB / 2], 0x5A); /* the page was not dropped */
    oci_mem_free(f.mem, second, MIB);
    oci_mem_free(f.mem, rest, 3 * MIB);
    close_fixture(&f);
}

static void realloc_grows_in_place_when_there_is_no_room_for_two(void **state)
{
    (void)state;
    fixture f = open_fixture(4 * MIB);
    void *ptr = must_alloc(f.mem, 2 * MIB);
    void *out = NULL;
    assert_int_equal(oci_mem_realloc(f.mem, ptr, 2 * MIB, 4 * MIB, &out, NULL), OC_OK);
    assert_ptr_equal(ptr, out);
    assert_int_equal(oci_mem_realloc(f.mem, ptr, 4 * MIB, MIB, &out, NULL), OC_OK);
    assert_ptr_equal(ptr, out);
    assert_int_equal(oci_budget_used(f.budget), MIB);
    oci_mem_free(f.mem, ptr, MIB);
    close_fixture(&f);
}
#endif

/* ---- lingering ---- */

static void batch_may_outlive_account_and_budget(void **state)
{
    (void)state;
    oci_fault_plan *plan = oci_fault_plan_create();
    oci_budget *budget = NULL;
    oci_mem *mem = NULL;
    assert_int_equal(oci_budget_create(MIB, oci_fault_allocator(plan), &budget, NULL), OC_OK);
    assert_int_equal(oci_mem_open(budget, "batch", &mem, NULL), OC_OK);
    void *small = must_alloc(mem, 100);
    void *big = must_alloc(mem, 100 * KIB);
    oci_mem_close(mem);
    oci_budget_destroy(budget);
    memset(big, 1, 100 * KIB);
    oci_mem_free(mem, big, 100 * KIB);
    memset(small, 1, 100);
    assert_true(oci_fault_live_bytes(plan) > 0);
    oci_mem_free(mem, small, 100);
    assert_int_equal(oci_fault_live_bytes(plan), 0);
    oci_fault_plan_destroy(plan);
}

/* ---- reclaimers ---- */

typedef struct holder {
    oci_reclaimer reclaimer;
    oci_mem *mem;
    void *blocks[64];
    atomic_int n_blocks;
    int n_calls;
    bool refuses;
    bool allocates;   /* tries to allocate inside reclaim() */
    bool leaves;      /* unregisters itself inside reclaim() */
    oc_status status; /* of that allocation */
    int *order;       /* shared counter of calls */
    int called_as;
} holder;

enum { HOLDER_BLOCK = 64 * 1024 };

static int64_t holder_held(void *self)
{
    holder *h = self;
    return (int64_t)atomic_load(&h->n_blocks) * HOLDER_BLOCK;
}

static int64_t holder_reclaim(void *self, int64_t bytes)
{
    holder *h = self;
    h->n_calls++;
    h->called_as = h->order != NULL ? ++*h->order : 0;
    if (h->refuses) {
        return 0;
    }
    if (h->leaves) {
        oci_budget_unregister(oci_mem_budget(h->mem), &h->reclaimer);
    }
    if (h->allocates) {
        void *out = NULL;
        h->status = oci_mem_alloc(h->mem, MIB, &out, NULL);
    }
    int64_t freed = 0;
    while (freed < bytes && atomic_load(&h->n_blocks) > 0) {
        int last = atomic_fetch_sub(&h->n_blocks, 1) - 1;
        oci_mem_free(h->mem, h->blocks[last], HOLDER_BLOCK);
        freed += HOLDER_BLOCK;
    }
    return freed;
}

static void fill_holder(holder *h, oci_mem *mem, int n_blocks, int *order)
{
    *h = (holder){
        .reclaimer = {.held = holder_held, .reclaim = holder_reclaim}, .mem = mem, .order = order};
    h->reclaimer.self = h;
    for (int i = 0; i < n_blocks; i++) {
        h->blocks[i] = must_alloc(mem, HOLDER_BLOCK);
        atomic_store(&h->n_blocks, i + 1);
    }
    oci_budget_register(oci_mem_budget(mem), &h->reclaimer);
}

static void empty_holder(holder *h)
{
    oci_budget_unregister(oci_mem_budget(h->mem), &h->reclaimer);
    h->refuses = false;
    h->leaves = false;
    h->allocates = false;
    holder_reclaim(h, INT64_MAX);
}

static void largest_holder_is_asked_first_and_no_more_than_needed(void **state)
{
    (void)state;
    fixture f = open_fixture(MIB);
    int order = 0;
    holder small;
    holder large;
    fill_holder(&small, f.mem, 4, &order);
    fill_holder(&large, f.mem, 12, &order);
    void *a = must_alloc(f.mem, 256 * KIB);
    assert_int_equal(large.called_as, 1);
    assert_int_equal(small.n_calls, 0);
    assert_int_equal(atomic_load(&large.n_blocks), 8);
    void *b = must_alloc(f.mem, 640 * KIB);
    assert_int_equal(large.called_as, 2);
    assert_int_equal(small.called_as, 3);
    assert_int_equal(atomic_load(&large.n_blocks), 0);
    assert_int_equal(atomic_load(&small.n_blocks), 2);
    oci_mem_free(f.mem, a, 256 * KIB);
    oci_mem_free(f.mem, b, 640 * KIB);
    empty_holder(&small);
    empty_holder(&large);
    close_fixture(&f);
}

static void reservations_ask_too_and_try_calls_never_do(void **state)
{
    (void)state;
    fixture f = open_fixture(MIB);
    holder h;
    fill_holder(&h, f.mem, 16, NULL);
    void *out = NULL;
    oci_reservation r = {0};
    assert_int_equal(oci_mem_try_alloc(f.mem, 1000, &out, NULL), OC_EBUDGET);
    assert_int_equal(oci_mem_try_reserve(f.mem, &r, 1000, NULL), OC_EBUDGET);
    assert_int_equal(h.n_calls, 0);
    assert_int_equal(oci_mem_reserve(f.mem, &r, 128 * KIB, NULL), OC_OK);
    assert_int_equal(h.n_calls, 1);
    assert_int_equal(atomic_load(&h.n_blocks), 14);
    oci_reservation_release(&r);
    empty_holder(&h);
    close_fixture(&f);
}

static void refusing_holders_end_in_the_error(void **state)
{
    (void)state;
    fixture f = open_fixture(MIB);
    holder h;
    fill_holder(&h, f.mem, 16, NULL);
    h.refuses = true;
    void *out = NULL;
    oc_error err = {0};
    assert_int_equal(oci_mem_alloc(f.mem, 64 * KIB, &out, &err), OC_EBUDGET);
    assert_int_equal(h.n_calls, 1);
    assert_int_equal(err.needed_bytes, MIB + 64 * KIB);
    assert_int_equal(oci_mem_alloc(f.mem, 2 * MIB, &out, &err), OC_EBUDGET);
    assert_int_equal(h.n_calls, 1); /* can never fit: nobody is made to spill */
    empty_holder(&h);
    close_fixture(&f);
}

static void allocation_inside_reclaim_does_not_recurse(void **state)
{
    (void)state;
    fixture f = open_fixture(MIB);
    holder a;
    holder b;
    fill_holder(&a, f.mem, 8, NULL);
    fill_holder(&b, f.mem, 8, NULL);
    a.allocates = true;
    b.allocates = true;
    void *out = must_alloc(f.mem, 64 * KIB);
    assert_int_equal(a.n_calls + b.n_calls, 1);
    assert_int_equal(a.n_calls == 1 ? a.status : b.status, OC_EBUDGET);
    oci_mem_free(f.mem, out, 64 * KIB);
    empty_holder(&a);
    empty_holder(&b);
    close_fixture(&f);
}

static void reclaimer_may_leave_while_it_is_called(void **state)
{
    (void)state;
    fixture f = open_fixture(MIB);
    holder h;
    fill_holder(&h, f.mem, 16, NULL);
    h.leaves = true;
    void *out = must_alloc(f.mem, 64 * KIB);
    assert_int_equal(h.n_calls, 1);
    oci_mem_free(f.mem, out, 64 * KIB);
    void *all = NULL;
    assert_int_equal(oci_mem_alloc(f.mem, 512 * KIB, &all, NULL), OC_EBUDGET);
    assert_int_equal(h.n_calls, 1);
    h.leaves = false;
    holder_reclaim(&h, INT64_MAX);
    close_fixture(&f);
}

/* A reclaimer that stays in its call until it is let go. */
typedef struct slow_holder {
    oci_reclaimer reclaimer;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool entered;
    bool may_end;
    atomic_bool ended;
} slow_holder;

static int64_t slow_held(void *self)
{
    (void)self;
    return 1;
}

static int64_t slow_reclaim(void *self, int64_t bytes)
{
    (void)bytes;
    slow_holder *h = self;
    pthread_mutex_lock(&h->lock);
    h->entered = true;
    pthread_cond_broadcast(&h->changed);
    while (!h->may_end) {
        pthread_cond_wait(&h->changed, &h->lock);
    }
    pthread_mutex_unlock(&h->lock);
    atomic_store(&h->ended, true);
    return 0;
}

static void *alloc_half(void *arg)
{
    void *out = NULL;
    return oci_mem_alloc(arg, 32 * KIB, &out, NULL) == OC_EBUDGET ? arg : NULL;
}

static void *let_go_soon(void *arg)
{
    slow_holder *h = arg;
    struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
    nanosleep(&pause, NULL); /* time for unregister to return too early */
    pthread_mutex_lock(&h->lock);
    h->may_end = true;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

static void unregister_waits_for_a_call_on_another_thread(void **state)
{
    (void)state;
    fixture f = open_fixture(64 * KIB);
    slow_holder h = {.reclaimer = {.held = slow_held, .reclaim = slow_reclaim}};
    h.reclaimer.self = &h;
    pthread_mutex_init(&h.lock, NULL);
    pthread_cond_init(&h.changed, NULL);
    void *all = must_alloc(f.mem, 64 * KIB);
    oci_budget_register(f.budget, &h.reclaimer);

    pthread_t allocating;
    pthread_t releasing;
    assert_int_equal(pthread_create(&allocating, NULL, alloc_half, f.mem), 0);
    pthread_mutex_lock(&h.lock);
    while (!h.entered) {
        pthread_cond_wait(&h.changed, &h.lock);
    }
    pthread_mutex_unlock(&h.lock);
    assert_int_equal(pthread_create(&releasing, NULL, let_go_soon, &h), 0);
    oci_budget_unregister(f.budget, &h.reclaimer);
    assert_true(atomic_load(&h.ended));

    void *refused = NULL;
    pthread_join(allocating, &refused);
    pthread_join(releasing, NULL);
    assert_non_null(refused);
    oci_mem_free(f.mem, all, 64 * KIB);
    close_fixture(&f);
    pthread_cond_destroy(&h.changed);
    pthread_mutex_destroy(&h.lock);
}

/* ---- threads ---- */

enum { N_THREADS = 4, N_ROUNDS = 3000, N_SLOTS = 16 };

typedef struct hammer {
    oci_budget *budget;
    unsigned seed;
    bool failed;
} hammer;

static unsigned next_random(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Allocates, checks and frees blocks of all kinds of sizes; each block carries its owner's mark
 * at both ends. */
static void *hammer_body(void *arg)
{
    hammer *h = arg;
    oci_mem *mem = NULL;
    unsigned char *blocks[N_SLOTS] = {NULL};
    int64_t sizes[N_SLOTS] = {0};
    unsigned char mark = (unsigned char)h->seed;
    h->failed = oci_mem_open(h->budget, "hammer", &mem, NULL) != OC_OK;
    for (int round = 0; round < N_ROUNDS && !h->failed; round++) {
        int slot = (int)(next_random(&h->seed) % N_SLOTS);
        if (blocks[slot] != NULL) {
            h->failed = blocks[slot][0] != mark || blocks[slot][sizes[slot] - 1] != mark;
            oci_mem_free(mem, blocks[slot], sizes[slot]);
            blocks[slot] = NULL;
        }
        bool big = next_random(&h->seed) % 2 == 0;
        sizes[slot] = 1 + (int64_t)(next_random(&h->seed) % (big ? 600000u : 3000u));
        void *out = NULL;
        if (oci_mem_alloc(mem, sizes[slot], &out, NULL) == OC_OK) {
            blocks[slot] = out;
            blocks[slot][0] = mark;
            blocks[slot][sizes[slot] - 1] = mark;
        }
        h->failed = h->failed || oci_budget_resident(h->budget) > oci_budget_limit(h->budget);
    }
    for (int slot = 0; slot < N_SLOTS; slot++) {
        oci_mem_free(mem, blocks[slot], sizes[slot]);
    }
    oci_mem_close(mem);
    return NULL;
}

static void threads_share_a_budget(void **state)
{
    (void)state;
    fixture f = open_fixture(8 * MIB);
    holder h;
    fill_holder(&h, f.mem, 32, NULL);
    pthread_t threads[N_THREADS];
    hammer hammers[N_THREADS];
    for (int i = 0; i < N_THREADS; i++) {
        hammers[i] = (hammer){.budget = f.budget, .seed = (unsigned)i + 1};
        assert_int_equal(pthread_create(&threads[i], NULL, hammer_body, &hammers[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_false(hammers[i].failed);
    }
    assert_true(oci_budget_peak(f.budget) <= 8 * MIB);
    empty_holder(&h);
    close_fixture(&f);
}

/* ---- refusals of the system ---- */

/* A bit of everything. OC_OK, or the first failure; gives everything back either way. */
static oc_status script(oci_budget *budget)
{
    oci_mem *mem = NULL;
    oci_reservation r = {0};
    void *blocks[4] = {NULL};
    int64_t sizes[4] = {500, 70000, 200000, 90000};
    oc_status status = OC_OK;
    OC_GOTO(oci_mem_open(budget, "script", &mem, NULL));
    OC_GOTO(oci_mem_alloc(mem, sizes[0], &blocks[0], NULL));
    OC_GOTO(oci_mem_alloc(mem, sizes[1], &blocks[1], NULL));
    OC_GOTO(oci_mem_reserve(mem, &r, 300000, NULL));
    OC_GOTO(oci_mem_alloc_reserved(&r, sizes[2], &blocks[2], NULL));
    OC_GOTO(oci_mem_alloc_reserved(&r, sizes[3], &blocks[3], NULL));
    OC_GOTO(oci_mem_realloc(mem, blocks[0], sizes[0], 5000, &blocks[0], NULL));
    sizes[0] = 5000;
    OC_GOTO(oci_mem_realloc(mem, blocks[1], sizes[1], 400000, &blocks[1], NULL));
    sizes[1] = 400000;
    OC_GOTO(oci_mem_realloc(mem, blocks[3], sizes[3], 150000, &blocks[3], NULL));
    sizes[3] = 150000;
done:
    for (int i = 0; i < 4; i++) {
        oci_mem_free(mem, blocks[i], sizes[i]);
    }
    oci_reservation_release(&r);
    assert_true(mem == NULL || oci_mem_held(mem) == 0);
    oci_mem_close(mem);
    return status;
}

static void every_refusal_of_the_system_is_survived(void **state)
{
    (void)state;
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        int64_t injected = 1;
        for (int64_t n = 1; injected > 0; n++) {
            assert_true(n < 1000);
            oci_fault_plan *plan = oci_fault_plan_create();
            oci_fault_arm(plan, OCI_FAULT_ALLOC, n, for_ever == 1);
            oci_budget *budget = NULL;
            oc_error err = {0};
            oc_status status = oci_budget_create(2 * MIB, oci_fault_allocator(plan), &budget, &err);
            if (status == OC_OK) {
                status = script(budget);
                assert_int_equal(oci_budget_used(budget), 0);
            }
            assert_true(status == OC_OK || status == OC_ENOMEM);
            injected = oci_fault_injected(plan);
            oci_fault_arm(plan, OCI_FAULT_ALLOC, 0, false);
            if (budget != NULL) {
                assert_int_equal(script(budget), OC_OK); /* still usable */
            }
            oci_budget_destroy(budget);
            assert_int_equal(oci_fault_live_bytes(plan), 0);
            oci_fault_plan_destroy(plan);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(charge_is_what_the_allocator_takes),
        cmocka_unit_test(blocks_are_charged_while_they_live),
        cmocka_unit_test(accounts_are_counted_apart),
        cmocka_unit_test(idle_accounts_take_nothing_from_the_active_one),
        cmocka_unit_test(freeing_null_is_fine),
        cmocka_unit_test(limit_must_be_positive),
        cmocka_unit_test(refusal_leaves_everything_as_it_was),
        cmocka_unit_test(exact_fit_is_granted),
        cmocka_unit_test(final_error_names_the_largest_accounts_and_a_limit_that_works),
        cmocka_unit_test(realloc_keeps_the_contents),
        cmocka_unit_test(failed_realloc_keeps_the_old_block),
        cmocka_unit_test(reservation_is_charged_and_turns_into_memory),
        cmocka_unit_test(reservation_pays_first_and_the_budget_the_rest),
        cmocka_unit_test(what_is_promised_is_kept_for_its_account),
        cmocka_unit_test(reservation_grows_and_shrinks),
#if !OCI_ARENA_BYPASSED
        cmocka_unit_test(freed_extents_stay_warm_until_trimmed),
        cmocka_unit_test(warm_extents_give_way_to_new_charges),
        cmocka_unit_test(workspace_in_a_reservation_stays_warm_at_the_limit),
        cmocka_unit_test(realloc_grows_in_place_when_there_is_no_room_for_two),
#endif
        cmocka_unit_test(batch_may_outlive_account_and_budget),
        cmocka_unit_test(largest_holder_is_asked_first_and_no_more_than_needed),
        cmocka_unit_test(reservations_ask_too_and_try_calls_never_do),
        cmocka_unit_test(refusing_holders_end_in_the_error),
        cmocka_unit_test(allocation_inside_reclaim_does_not_recurse),
        cmocka_unit_test(reclaimer_may_leave_while_it_is_called),
        cmocka_unit_test(unregister_waits_for_a_call_on_another_thread),
        cmocka_unit_test(threads_share_a_budget),
        cmocka_unit_test(every_refusal_of_the_system_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
