/* The promise behind the budget: what the process really holds stays within the limit.
 *
 * Random blocks are allocated, touched in full, in part or not at all, resized and freed, and the
 * resident set of the process is read from the system all along. It may grow by the limit and a
 * little, for the pages of the test itself and what malloc keeps for small blocks. The same with
 * huge pages, whose rounding the arena has to account for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/bits.h"

#define MIB             ((int64_t)1 << 20)
#define ALLOWANCE_BYTES (4 * MIB)

#if defined(__SANITIZE_THREAD__)
#define HAS_SHADOW_MEMORY 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define HAS_SHADOW_MEMORY 1
#endif
#endif
#ifndef HAS_SHADOW_MEMORY
#define HAS_SHADOW_MEMORY OCI_ARENA_BYPASSED
#endif

static int64_t resident_set_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    assert_non_null(file);
    long total = 0;
    long resident = 0;
    assert_int_equal(fscanf(file, "%ld %ld", &total, &resident), 2);
    fclose(file);
    return resident * oci_page_bytes();
}

enum { N_SLOTS = 64 };

typedef struct stress {
    oci_budget *budget;
    oci_mem *mem;
    unsigned char *blocks[N_SLOTS];
    int64_t sizes[N_SLOTS];
    uint64_t seed;
    int64_t base_rss;
    int64_t highest_rss;
} stress;

static int64_t random_below(stress *s, int64_t bound)
{
    s->seed ^= s->seed << 13;
    s->seed ^= s->seed >> 7;
    s->seed ^= s->seed << 17;
    return (int64_t)(s->seed % (uint64_t)bound);
}

/* Small blocks, blocks around a page batch, and now and then a large part of the limit. */
static int64_t random_size(stress *s)
{
    int64_t limit = oci_budget_limit(s->budget);
    switch (random_below(s, 8)) {
    case 0: return 1 + random_below(s, OCI_BIG_BYTES);
    case 1: return 1 + random_below(s, limit / 3);
    case 2: return 1 + random_below(s, limit / 12);
    default: return OCI_BIG_BYTES + random_below(s, limit / 40);
    }
}

static void touch_some(stress *s, int slot)
{
    int64_t size = s->sizes[slot];
    switch (random_below(s, 4)) {
    case 0: break;
    case 1: memset(s->blocks[slot], 1, (size_t)random_below(s, size)); break;
    default: memset(s->blocks[slot], 1, (size_t)size); break;
    }
}

static void drop_slot(stress *s, int slot)
{
    oci_mem_free(s->mem, s->blocks[slot], s->sizes[slot]);
    s->blocks[slot] = NULL;
    s->sizes[slot] = 0;
}

/* One random step. When the budget refuses, something is freed instead. */
static void step(stress *s)
{
    int slot = (int)random_below(s, N_SLOTS);
    int64_t size = random_size(s);
    void *out = NULL;
    if (s->blocks[slot] != NULL && random_below(s, 3) > 0) {
        drop_slot(s, slot);
    }
    if (oci_mem_realloc(s->mem, s->blocks[slot], s->sizes[slot], size, &out, NULL) == OC_OK) {
        s->blocks[slot] = out;
        s->sizes[slot] = size;
        touch_some(s, slot);
    } else {
        drop_slot(s, (int)random_below(s, N_SLOTS));
    }
    assert_true(oci_budget_resident(s->budget) <= oci_budget_limit(s->budget));
    s->highest_rss = oci_max64(s->highest_rss, resident_set_bytes());
}

static void run_stress(int64_t limit, int n_steps)
{
    stress s = {.seed = 88172645463325252u};
    resident_set_bytes(); /* stdio has its buffers */
    s.base_rss = resident_set_bytes();
    assert_int_equal(oci_budget_create(limit, NULL, &s.budget, NULL), OC_OK);
    assert_int_equal(oci_mem_open(s.budget, "stress", &s.mem, NULL), OC_OK);
    /* With shadow memory there is nothing to measure: a short run, for the accounting alone. */
    n_steps = HAS_SHADOW_MEMORY ? n_steps / 50 : n_steps;
    for (int i = 0; i < n_steps; i++) {
        step(&s);
        if (i % 1000 == 999) {
            oci_budget_trim(s.budget);
        }
    }
    int64_t peak = oci_budget_peak(s.budget);
    for (int slot = 0; slot < N_SLOTS; slot++) {
        drop_slot(&s, slot);
    }
    oci_mem_close(s.mem);
    oci_budget_destroy(s.budget);
    int64_t growth = s.highest_rss - s.base_rss;
    int64_t left = resident_set_bytes() - s.base_rss;
    printf("limit %lld KiB: charged at most %lld KiB, resident set grew by at most %lld KiB, "
           "%lld KiB left at the end\n",
           (long long)limit / 1024, (long long)peak / 1024, (long long)growth / 1024,
           (long long)left / 1024);
    if (!HAS_SHADOW_MEMORY) {
        assert_true(growth <= limit + ALLOWANCE_BYTES);
        assert_true(left <= ALLOWANCE_BYTES);
    }
    assert_true(peak > limit / 2);
}

static void resident_set_stays_within_4_mib(void **state)
{
    (void)state;
    run_stress(4 * MIB, 20000);
}

static void resident_set_stays_within_64_mib(void **state)
{
    (void)state;
    run_stress(64 * MIB, 5000);
}

static void resident_set_stays_within_256_mib(void **state)
{
    (void)state;
    run_stress(256 * MIB, 2000);
}

/* malloc keeps small blocks that were freed; at the limit it has to let go of them. */
static void small_blocks_make_way_for_big_ones(void **state)
{
    (void)state;
    enum { N_SMALL = 4000, SMALL_BYTES = 8000 };
    static void *blocks[N_SMALL];
    memset(blocks, 0, sizeof blocks);
    int64_t limit = 32 * MIB;
    oci_budget *budget = NULL;
    oci_mem *mem = NULL;
    int64_t base_rss = resident_set_bytes();
    assert_int_equal(oci_budget_create(limit, NULL, &budget, NULL), OC_OK);
    assert_int_equal(oci_mem_open(budget, "small", &mem, NULL), OC_OK);
    for (int i = 0; i < N_SMALL; i++) {
        assert_int_equal(oci_mem_alloc(mem, SMALL_BYTES, &blocks[i], NULL), OC_OK);
        memset(blocks[i], 1, SMALL_BYTES);
    }
    /* The last one stays, so that the heap cannot simply get shorter. */
    for (int i = 0; i < N_SMALL - 1; i++) {
        oci_mem_free(mem, blocks[i], SMALL_BYTES);
    }
    void *big = NULL;
    int64_t big_bytes = 31 * MIB;
    assert_int_equal(oci_mem_alloc(mem, big_bytes, &big, NULL), OC_OK);
    memset(big, 1, (size_t)big_bytes);
    int64_t growth = resident_set_bytes() - base_rss;
    oci_mem_free(mem, big, big_bytes);
    oci_mem_free(mem, blocks[N_SMALL - 1], SMALL_BYTES);
    oci_mem_close(mem);
    oci_budget_destroy(budget);
    if (!HAS_SHADOW_MEMORY) {
        assert_true(growth <= limit + ALLOWANCE_BYTES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resident_set_stays_within_4_mib),
        cmocka_unit_test(resident_set_stays_within_64_mib),
        cmocka_unit_test(resident_set_stays_within_256_mib),
        cmocka_unit_test(small_blocks_make_way_for_big_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
