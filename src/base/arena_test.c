/* The arena by itself: where blocks go, what stays warm, and that the count of resident pages is
 * never below what the system says. The allocator of these tests counts what is mapped, allocated
 * and dropped, and can refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/arena.h"
#include "base/bits.h"

#define KIB ((int64_t)1024)
#define MIB (1024 * KIB)

typedef struct fake {
    oci_allocator allocator;
    int64_t n_maps_refused; /* the next so many map() calls fail */
    bool refuse_allocate;
    int64_t n_commits;
    int64_t n_decommits;
    int64_t decommitted;
    int64_t mapped;
    int64_t allocated;
} fake;

static void *fake_allocate(void *self, size_t size)
{
    fake *f = self;
    if (f->refuse_allocate) {
        return NULL;
    }
    f->allocated += (int64_t)size;
    return malloc(size);
}

static void fake_deallocate(void *self, void *ptr, size_t size)
{
    ((fake *)self)->allocated -= (int64_t)size;
    free(ptr);
}

static void *fake_map(void *self, size_t size)
{
    fake *f = self;
    if (f->n_maps_refused > 0) {
        f->n_maps_refused--;
        return NULL;
    }
    void *ptr = oci_system_allocator()->map(NULL, size);
    f->mapped += ptr != NULL ? (int64_t)size : 0;
    return ptr;
}

static void fake_unmap(void *self, void *ptr, size_t size)
{
    ((fake *)self)->mapped -= (int64_t)size;
    oci_system_allocator()->unmap(NULL, ptr, size);
}

static bool fake_commit(void *self, void *ptr, size_t size)
{
    (void)ptr;
    (void)size;
    ((fake *)self)->n_commits++;
    return true;
}

static void fake_decommit(void *self, void *ptr, size_t size)
{
    ((fake *)self)->n_decommits++;
    ((fake *)self)->decommitted += (int64_t)size;
    oci_system_allocator()->decommit(NULL, ptr, size);
}

static void fake_advise_huge(void *self, void *ptr, size_t size, bool huge)
{
    (void)self;
    oci_system_allocator()->advise_huge(NULL, ptr, size, huge);
}

static fake make_fake(void)
{
    return (fake){.allocator = {.allocate = fake_allocate,
                                .deallocate = fake_deallocate,
                                .map = fake_map,
                                .unmap = fake_unmap,
                                .commit = fake_commit,
                                .decommit = fake_decommit,
                                .advise_huge = fake_advise_huge}};
}

static oci_arena *create(fake *f, int64_t limit)
{
    f->allocator.self = f;
    oci_arena *arena = oci_arena_create(limit, &f->allocator);
    assert_non_null(arena);
    return arena;
}

static void destroy(oci_arena *arena, const fake *f)
{
    oci_arena_destroy(arena);
    assert_int_equal(f->mapped, 0);
    assert_int_equal(f->allocated, 0);
}

static char *take(oci_arena *arena, int64_t size, bool *is_cold)
{
    char *ptr = oci_arena_take(arena, size, 0, is_cold);
    assert_non_null(ptr);
    return ptr;
}

static void blocks_are_packed_from_the_low_end(void **state)
{
    (void)state;
    fake f = make_fake();
    oci_arena *arena = create(&f, 4 * MIB);
    bool cold = false;
    char *a = take(arena, 64 * KIB, &cold);
    assert_true(cold);
    char *b = take(arena, 128 * KIB, &cold);
    assert_ptr_equal(b, a + 64 * KIB);
    oci_arena_give(arena, a, 64 * KIB);
    oci_arena_give(arena, b, 128 * KIB);
    assert_int_equal(oci_arena_resident_free(arena), 192 * KIB);
    destroy(arena, &f);
}

static void best_fitting_warm_piece_is_used_again(void **state)
{
    (void)state;
    fake f = make_fake();
    oci_arena *arena = create(&f, 4 * MIB);
    bool cold = false;
    char *large = take(arena, 512 * KIB, &cold);
    char *wall = take(arena, 32 * KIB, &cold);
    char *medium = take(arena, 128 * KIB, &cold);
    char *other_wall = take(arena, 32 * KIB, &cold);
    oci_arena_give(arena, large, 512 * KIB);
    oci_arena_give(arena, medium, 128 * KIB);
    assert_ptr_equal(take(arena, 100 * KIB, &cold), medium);
    assert_false(cold);
    assert_ptr_equal(take(arena, 300 * KIB, &cold), large);
    assert_false(cold);
    oci_arena_give(arena, medium, 100 * KIB);
    oci_arena_give(arena, large, 300 * KIB);
    oci_arena_give(arena, wall, 32 * KIB);
    oci_arena_give(arena, other_wall, 32 * KIB);
    assert_int_equal(oci_arena_resident_free(arena), 704 * KIB); /* in one piece again: */
    assert_ptr_equal(take(arena, 704 * KIB, &cold), large);
    assert_false(cold);
    oci_arena_give(arena, large, 704 * KIB);
    destroy(arena, &f);
}

static void warm_piece_is_extended_into_cold_space(void **state)
{
    (void)state;
    fake f = make_fake();
    oci_arena *arena = create(&f, 4 * MIB);
    bool cold = false;
    char *a = take(arena, 256 * KIB, &cold);
    oci_arena_give(arena, a, 256 * KIB);
    assert_ptr_equal(take(arena, 400 * KIB, &cold), a);
    assert_true(cold);
    assert_int_equal(oci_arena_resident_free(arena), 0);
    oci_arena_give(arena, a, 400 * KIB);
    destroy(arena, &f);
}

static void warm_piece_is_used_together_with_cold_space_below_it(void **state)
{
    (void)state;
    fake f = make_fake();
    oci_arena *arena = create(&f, 4 * MIB);
    bool cold = false;
    char *a = take(arena, 256 * KIB, &cold);
    char *b = take(arena, 128 * KIB, &cold);
    char *wall = take(arena, 32 * KIB, &cold);
    oci_arena_give(arena, a, 256 * KIB);
    oci_arena_shrink(arena, INT64_MAX); /* a is cold */
    oci_arena_give(arena, b, 128 * KIB);
    assert_ptr_equal(take(arena, 300 * KIB, &cold), a);
    assert_true(cold);
    assert_int_equal(oci_arena_resident_free(arena), 84 * KIB);
    oci_arena_give(arena, a, 300 * KIB);
    oci_arena_give(arena, wall, 32 * KIB);
    destroy(arena, &f);
}

static void shrink_drops_the_largest_piece_first_and_not_much_more(void **state)
{
    (void)state;
    fake f = make_fake();
    oci_arena *arena = create(&f, 4 * MIB);
    bool cold = false;
    char *a = take(arena, 256 * KIB, &cold);
    char *wall = take(arena, 32 * KIB, &cold);
    char *b = take(arena, 1024 * KIB, &cold);
    char *end = take(arena, 32 * KIB, &cold);
    memset(a, 1, 256 * KIB);
    memset(b, 1, 1024 * KIB);
    oci_arena_give(arena, a, 256 * KIB);
    oci_arena_give(arena, b, 1024 * KIB);
    oci_arena_shrink(arena, 100 * KIB);
    assert_int_equal(oci_arena_resident_free(arena), (1280 - 128) * KIB);
    assert_int_equal(b[0], 1);
    assert_int_equal(b[1024 * KIB - 1], 0);
    oci_arena_shrink(arena, INT64_MAX);
    assert_int_equal(oci_arena_resident_free(arena), 0);
    assert_int_equal(f.decommitted, 1280 * KIB);
    assert_int_equal(a[0], 0);
    oci_arena_give(arena, wall, 32 * KIB);
    oci_arena_give(arena, end, 32 * KIB);
    destroy(arena, &f);
}

static void blocks_grow_and_shrink_in_place(void **state)
{
    (void)state;
    fake f = make_fake();
    oci_arena *arena = create(&f, 4 * MIB);
    bool cold = false;
    char *a = take(arena, 64 * KIB, &cold);
    assert_true(oci_arena_extend(arena, a, 64 * KIB, 256 * KIB, 0, &cold));
    assert_true(cold);
    char *wall = take(arena, 32 * KIB, &cold);
    assert_ptr_equal(wall, a + 256 * KIB);
    assert_false(oci_arena_extend(arena, a, 256 * KIB, 260 * KIB, 0, &cold));
    assert_true(oci_arena_cut(arena, a, 256 * KIB, 100 * KIB));
    assert_int_equal(oci_arena_resident_free(arena), 156 * KIB);
    assert_true(oci_arena_extend(arena, a, 100 * KIB, 200 * KIB, 0, &cold));
    assert_false(cold);
    oci_arena_give(arena, a, 200 * KIB);
    oci_arena_give(arena, wall, 32 * KIB);
    destroy(arena, &f);
}

static void smaller_range_is_used_when_address_space_is_short(void **state)
{
    (void)state;
    fake f = make_fake();
    f.n_maps_refused = 3;
    oci_arena *arena = create(&f, 64 * MIB);
    assert_true(f.mapped <= (256 + 256) * MIB / 16 + MIB); /* an eighth, and half of that */
    bool cold = false;
    char *a = take(arena, MIB, &cold);
    memset(a, 1, MIB);
    oci_arena_give(arena, a, MIB);
    destroy(arena, &f);
}

static void block_gets_its_own_mapping_when_the_range_is_full_or_missing(void **state)
{
    (void)state;
    fake f = make_fake();
    f.n_maps_refused = 1000;
    oci_arena *arena = create(&f, MIB);
    assert_int_equal(f.mapped, 0);
    bool cold = false;
    assert_null(oci_arena_take(arena, 64 * KIB, 0, &cold));
    f.n_maps_refused = 0;
    char *a = take(arena, 64 * KIB, &cold);
    assert_true(cold);
    memset(a, 1, 64 * KIB);
    assert_int_equal(f.mapped, 64 * KIB);
    assert_false(oci_arena_extend(arena, a, 64 * KIB, 128 * KIB, 0, &cold));
    assert_false(oci_arena_cut(arena, a, 64 * KIB, 32 * KIB));
    oci_arena_give(arena, a, 64 * KIB);
    assert_int_equal(f.mapped, 0);
    assert_int_equal(oci_arena_resident_free(arena), 0);
    destroy(arena, &f);

    fake full = make_fake();
    arena = create(&full, MIB); /* 260 MiB of range */
    char *big = take(arena, 250 * MIB, &cold);
    int64_t range = full.mapped;
    char *more = take(arena, 20 * MIB, &cold);
    assert_int_equal(full.mapped, range + 20 * MIB);
    oci_arena_give(arena, more, 20 * MIB);
    oci_arena_give(arena, big, 250 * MIB);
    destroy(arena, &full);
}

static void giving_back_never_needs_the_allocator(void **state)
{
    (void)state;
    enum { N = 1000 };
    static char *blocks[N];
    fake f = make_fake();
    oci_arena *arena = create(&f, 64 * MIB);
    bool cold = false;
    for (int i = 0; i < N; i++) {
        blocks[i] = take(arena, 32 * KIB, &cold);
    }
    f.refuse_allocate = true;
    for (int i = 0; i < N; i += 2) { /* no two neighbours: a piece for each */
        oci_arena_give(arena, blocks[i], 32 * KIB);
    }
    oci_arena_shrink(arena, 5 * MIB + 40 * KIB);
    for (int i = 1; i < N; i += 2) {
        oci_arena_give(arena, blocks[i], 32 * KIB);
    }
    oci_arena_shrink(arena, INT64_MAX);
    assert_int_equal(oci_arena_resident_free(arena), 0);
    destroy(arena, &f);
}

static void huge_pages_make_the_rest_of_a_slot_resident_when_there_is_room(void **state)
{
    (void)state;
    int64_t huge = oci_huge_page_bytes();
    if (huge == 0 || huge > 64 * MIB) {
        skip();
    }
    fake f = make_fake();
    oci_arena *arena = create(&f, 64 * huge);
    bool cold = false;
    char *a = oci_arena_take(arena, 64 * KIB, huge, &cold);
    assert_int_equal((uintptr_t)a % (uintptr_t)huge, 0);
    assert_int_equal(oci_arena_resident_free(arena), huge - 64 * KIB);
    char *b = take(arena, huge + 64 * KIB, &cold); /* no room for the rest of its last slot */
    assert_true(cold);
    assert_ptr_equal(b, a + 64 * KIB);
    assert_int_equal(oci_arena_resident_free(arena), 0);
    oci_arena_give(arena, a, 64 * KIB);
    oci_arena_give(arena, b, huge + 64 * KIB);
    assert_int_equal(oci_arena_resident_free(arena), huge + 128 * KIB);
    oci_arena_shrink(arena, INT64_MAX);
    assert_int_equal(oci_arena_resident_free(arena), 0);
    destroy(arena, &f);
}

/* Asks the system which pages of a range are resident. */
static int64_t resident_in(char *from, int64_t size)
{
    static unsigned char map[1 << 16];
    int64_t pages = size / oci_page_bytes();
    assert_true(pages <= (int64_t)sizeof map);
    assert_int_equal(mincore(from, (size_t)size, map), 0);
    int64_t resident = 0;
    for (int64_t i = 0; i < pages; i++) {
        resident += map[i] & 1;
    }
    return resident * oci_page_bytes();
}

/* Does at once what khugepaged does in its own time: makes a huge page of whatever may be one and
 * has at least one page. */
static void join_huge_pages(char *from, int64_t size)
{
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1; refused by older ones, and where there is nothing to join */
#endif
    int64_t huge = oci_huge_page_bytes();
    for (int64_t at = 0; huge > 0 && at + huge <= size; at += huge) {
        if (resident_in(from + at, huge) > 0) {
            madvise(from + at, (size_t)huge, MADV_COLLAPSE);
        }
    }
}

static void check_count_against_the_system(int64_t limit)
{
    enum { N = 40, ROUNDS = 800 };
    fake f = make_fake();
    oci_arena *arena = create(&f, limit);
    char *blocks[N] = {NULL};
    int64_t sizes[N] = {0};
    int64_t in_use = 0;
    bool cold = false;
    char *base = take(arena, oci_page_bytes(), &cold); /* the low end of the range */
    base[0] = 1;
    in_use += oci_page_bytes();
    unsigned seed = 1;
    for (int round = 0; round < ROUNDS; round++) {
        seed = seed * 1664525u + 1013904223u;
        int i = (int)(seed >> 8) % N;
        if (blocks[i] != NULL) {
            oci_arena_give(arena, blocks[i], sizes[i]);
            in_use -= sizes[i];
            blocks[i] = NULL;
        }
        seed = seed * 1664525u + 1013904223u;
        int64_t size =
            oci_round_up(32 * KIB + (int64_t)(seed >> 8) % (limit / 16), oci_page_bytes());
        if (in_use + size <= limit) {
            int64_t room = limit - in_use - size - oci_arena_resident_free(arena);
            blocks[i] = oci_arena_take(arena, size, room, &cold);
            sizes[i] = size;
            in_use += size;
            int64_t over = in_use + oci_arena_resident_free(arena) - limit;
            oci_arena_shrink(arena, over);
            memset(blocks[i], 1, (size_t)size);
        }
        int64_t counted = in_use + oci_arena_resident_free(arena);
        assert_true(counted <= limit);
        if (round % 50 == 0) {
            join_huge_pages(base, 4 * limit);
            assert_true(resident_in(base, 4 * limit) <= counted);
        }
    }
    for (int i = 0; i < N; i++) {
        if (blocks[i] != NULL) {
            oci_arena_give(arena, blocks[i], sizes[i]);
        }
    }
    oci_arena_shrink(arena, INT64_MAX);
    assert_int_equal(resident_in(base, 4 * limit) - oci_page_bytes(), 0);
    oci_arena_give(arena, base, oci_page_bytes());
    destroy(arena, &f);
}

static void count_is_never_below_what_is_resident(void **state)
{
    (void)state;
    check_count_against_the_system(8 * MIB);
}

static void count_is_never_below_what_is_resident_with_huge_pages(void **state)
{
    (void)state;
    int64_t huge = oci_huge_page_bytes();
    if (huge == 0 || huge > 2 * MIB) {
        skip();
    }
    check_count_against_the_system(32 * huge);
}

static void absurd_limits_do_not_matter(void **state)
{
    (void)state;
    static const int64_t limits[] = {1, 4096, INT64_C(1) << 50, INT64_MAX};
    for (int i = 0; i < 4; i++) {
        fake f = make_fake();
        oci_arena *arena = create(&f, limits[i]);
        bool cold = false;
        char *a = take(arena, 32 * KIB, &cold);
        a[0] = 1;
        oci_arena_give(arena, a, 32 * KIB);
        destroy(arena, &f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_packed_from_the_low_end),
        cmocka_unit_test(best_fitting_warm_piece_is_used_again),
        cmocka_unit_test(warm_piece_is_extended_into_cold_space),
        cmocka_unit_test(warm_piece_is_used_together_with_cold_space_below_it),
        cmocka_unit_test(shrink_drops_the_largest_piece_first_and_not_much_more),
        cmocka_unit_test(blocks_grow_and_shrink_in_place),
        cmocka_unit_test(smaller_range_is_used_when_address_space_is_short),
        cmocka_unit_test(block_gets_its_own_mapping_when_the_range_is_full_or_missing),
        cmocka_unit_test(giving_back_never_needs_the_allocator),
        cmocka_unit_test(huge_pages_make_the_rest_of_a_slot_resident_when_there_is_room),
        cmocka_unit_test(count_is_never_below_what_is_resident),
        cmocka_unit_test(count_is_never_below_what_is_resident_with_huge_pages),
        cmocka_unit_test(absurd_limits_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
