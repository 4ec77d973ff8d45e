/* Memory for parsed metadata: many small things that are let go of together.
 *
 * Blocks grow from 1 KiB to 64 KiB; each is charged to the account before it is made. Nothing is moved
 * or freed one by one. Not thread-safe. */
#ifndef OUTCORE_FORMATS_PARQUET_PARQUET_ARENA_H
#define OUTCORE_FORMATS_PARQUET_PARQUET_ARENA_H

#include "base/memory.h"

typedef struct oci_parquet_arena {
    oci_mem *mem;
    struct oci_parquet_arena_block *blocks; /* the newest first */
} oci_parquet_arena;                        /* {.mem = mem} is an empty one */

/* `n` * `size` zeroed bytes, aligned for anything; n and size >= 0, and their product may not overflow
 * without being refused. */
OC_NODISCARD oc_status oci_parquet_arena_alloc(oci_parquet_arena *arena, int64_t n, int64_t size,
                                               void **out, oc_error *err);
/* Lets go of everything that was allocated, but keeps the newest block for what comes next. */
void oci_parquet_arena_clear(oci_parquet_arena *arena);
/* Lets go of everything; the arena is an empty one then. */
void oci_parquet_arena_free(oci_parquet_arena *arena);

#endif /* OUTCORE_FORMATS_PARQUET_PARQUET_ARENA_H */
