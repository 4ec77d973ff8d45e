/* See parquet_arena.h. A block starts with its header; what is asked for lies behind it in order. */
#include "formats/parquet/parquet_arena.h"

#include <string.h>

#include "base/bits.h"

enum { BLOCK_BYTES_MIN = 1 << 10, BLOCK_BYTES_MAX = 1 << 16, ALIGNMENT = 16 };

typedef struct oci_parquet_arena_block {
    struct oci_parquet_arena_block *next;
    int64_t size; /* of the whole block */
    int64_t used; /* the header included */
} block;

static const int64_t header_bytes = (sizeof(block) + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);

static oc_status add_block(oci_parquet_arena *arena, int64_t need, oc_error *err)
{
    int64_t size = arena->blocks == NULL ? BLOCK_BYTES_MIN : arena->blocks->size * 2;
    size = oci_max64(oci_min64(size, BLOCK_BYTES_MAX), need);
    void *made;
    OC_TRY(oci_mem_alloc(arena->mem, size, &made, err));
    block *b = made;
    *b = (block){.next = arena->blocks, .size = size, .used = header_bytes};
    arena->blocks = b;
    return OC_OK;
}

oc_status oci_parquet_arena_alloc(oci_parquet_arena *arena, int64_t n, int64_t size, void **out,
                                  oc_error *err)
{
    int64_t bytes;
    if (!oci_mul64(n, size, &bytes) || bytes > INT64_MAX - header_bytes - ALIGNMENT) {
        OC_FAIL(err, OC_EBUDGET, "could not hold %" PRId64 " entries of Parquet metadata: too many",
                n);
    }
    bytes = oci_round_up(bytes, ALIGNMENT);
    if (arena->blocks == NULL || arena->blocks->size - arena->blocks->used < bytes) {
        OC_TRY(add_block(arena, header_bytes + bytes, err));
    }
    block *b = arena->blocks;
    *out = memset((uint8_t *)b + b->used, 0, (size_t)bytes);
    b->used += bytes;
    return OC_OK;
}

static void free_from(oci_parquet_arena *arena, block *b)
{
    while (b != NULL) {
        block *next = b->next;
        oci_mem_free(arena->mem, b, b->size);
        b = next;
    }
}

void oci_parquet_arena_clear(oci_parquet_arena *arena)
{
    if (arena->blocks != NULL) {
        free_from(arena, arena->blocks->next);
        arena->blocks->next = NULL;
        arena->blocks->used = header_bytes;
    }
}

void oci_parquet_arena_free(oci_parquet_arena *arena)
{
    free_from(arena, arena->blocks);
    arena->blocks = NULL;
}
