/* 64-bit hash of bytes, for hash tables and checksums of our own files. XXH3, inlined from the
 * header-only form of xxHash; the same on every platform. Not for defence against chosen input. */
#ifndef OUTCORE_BASE_HASH_H
#define OUTCORE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* `bytes` may be NULL when `length` is 0. */
static inline uint64_t oci_hash64(const void *bytes, int64_t length, uint64_t seed)
{
    return XXH3_64bits_withSeed(length == 0 ? "" : bytes, (size_t)length, seed);
}

/* XXH64, which the Bloom filters of Parquet are made of. */
static inline uint64_t oci_hash_xxh64(const void *bytes, int64_t length)
{
    return bytes == NULL ? XXH64("", 0, 0) : XXH64(bytes, (size_t)length, 0);
}

#endif /* OUTCORE_BASE_HASH_H */
