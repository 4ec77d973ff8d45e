/* The loop of hash_stream.h for AVX2. CMakeLists.txt compiles this file with -mavx2; nothing in it may
 * be called before the processor was asked. */
#include "base/hash_stream.h"

#ifdef __x86_64__

#include "base/hash.h"

void oci_hash_stream_add_avx2(oci_hash_stream *stream, const void *bytes, int64_t length)
{
    XXH3_64bits_update((XXH3_state_t *)stream, bytes, (size_t)length);
}

#endif
