/* XXH3 has an inner loop that the compiler's target decides on. Where the processor may have more
 * than the baseline of its architecture, the loop is compiled twice (hash_stream_avx2.c) and chosen
 * when it runs: 57 instead of 31 GB/s on the machine this was written on. AVX-512 gave no more
 * there. */
#include "base/hash_stream.h"

#include <assert.h>

#include "base/hash.h"

static_assert(sizeof(XXH3_state_t) <= sizeof(oci_hash_stream), "the state must fit");

void oci_hash_stream_begin(oci_hash_stream *stream, uint64_t seed)
{
    XXH3_state_t *state = (XXH3_state_t *)stream;
    XXH3_INITSTATE(state); /* else the seed in the state is looked at before it was ever set */
    XXH3_64bits_reset_withSeed(state, seed);
}

void oci_hash_stream_add_baseline(oci_hash_stream *stream, const void *bytes, int64_t length)
{
    XXH3_64bits_update((XXH3_state_t *)stream, bytes, (size_t)length);
}

void oci_hash_stream_add(oci_hash_stream *stream, const void *bytes, int64_t length)
{
    if (length == 0) {
        return; /* `bytes` may be NULL then */
    }
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2")) {
        oci_hash_stream_add_avx2(stream, bytes, length);
        return;
    }
#endif
    oci_hash_stream_add_baseline(stream, bytes, length);
}

uint64_t oci_hash_stream_end(const oci_hash_stream *stream)
{
    return XXH3_64bits_digest((const XXH3_state_t *)stream);
}
