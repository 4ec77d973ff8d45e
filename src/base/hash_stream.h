/* oci_hash64() in pieces: bytes are hashed as they go by, while they are still in the cache. The
 * result is that of oci_hash64() over all of them, however they were cut, on every machine. */
#ifndef OUTCORE_BASE_HASH_STREAM_H
#define OUTCORE_BASE_HASH_STREAM_H

#include <stdint.h>

/* Plain struct, no resources. */
typedef struct oci_hash_stream {
    _Alignas(64) uint8_t state[576]; /* of the hash library */
} oci_hash_stream;

void oci_hash_stream_begin(oci_hash_stream *stream, uint64_t seed);
void oci_hash_stream_add(oci_hash_stream *stream, const void *bytes, int64_t length);
uint64_t oci_hash_stream_end(const oci_hash_stream *stream);

/* The compiled copies of add(), for its test: what every machine has, and AVX2, which the processor
 * must be asked for first. */
void oci_hash_stream_add_baseline(oci_hash_stream *stream, const void *bytes, int64_t length);
#ifdef __x86_64__
void oci_hash_stream_add_avx2(oci_hash_stream *stream, const void *bytes, int64_t length);
#endif

#endif /* OUTCORE_BASE_HASH_STREAM_H */
