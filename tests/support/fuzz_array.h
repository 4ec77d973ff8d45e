/* Makes an Arrow schema and one array of it out of any bytes, for fuzz targets: every layout, nested
 * up to a few levels, sliced, and damaged in ways that can be told from the array alone.
 *
 * The C data interface does not tell the sizes of buffers, so some damage cannot be noticed by
 * anybody: a length or a last offset that is too large. Such arrays are not made; whatever is made
 * may be read as far as lengths, offsets and sizes say. */
#ifndef OUTCORE_TESTS_SUPPORT_FUZZ_ARRAY_H
#define OUTCORE_TESTS_SUPPORT_FUZZ_ARRAY_H

#include <stddef.h>
#include <stdint.h>

#include "outcore/arrow_abi.h"

/* Bytes that decide; zeros when they have run out. */
typedef struct fuzz_bytes {
    const uint8_t *data;
    size_t size;
    size_t at;
} fuzz_bytes;

uint8_t fuzz_byte(fuzz_bytes *bytes);
/* 0 <= result < n, n <= 256. */
int32_t fuzz_below(fuzz_bytes *bytes, int32_t n);

/* Both are released by the caller. */
void fuzz_make_batch(fuzz_bytes *bytes, struct ArrowSchema *schema, struct ArrowArray *array);

#endif /* OUTCORE_TESTS_SUPPORT_FUZZ_ARRAY_H */
