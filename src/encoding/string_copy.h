/* Copies of short strings without a call, a loop, or a branch on the length: up to 32 bytes are twice
 * 16 that overlap, up to 64 twice 32. What is written too much of less than 16 bytes is overwritten
 * by the next string; what is read too much must exist. */
#ifndef OUTCORE_ENCODING_STRING_COPY_H
#define OUTCORE_ENCODING_STRING_COPY_H

#include <stdint.h>
#include <string.h>

/* `room` bytes may be written at `to`, `readable` may be read at `from`; both >= length. `from` may be
 * closer before `to` than 16 bytes, but not than `length`. */
static inline void oci_string_copy(uint8_t *to, int64_t room, const uint8_t *from, int64_t readable,
                                   int64_t length)
{
    if (length <= 32 && room >= 16 && readable >= 16) {
        int64_t rest = length > 16 ? length - 16 : 0;
        uint8_t head[16], tail[16];
        memcpy(head, from, 16);
        memcpy(tail, from + rest, 16);
        memcpy(to, head, 16);
        memcpy(to + rest, tail, 16);
    } else if (length > 32 && length <= 64) {
        memcpy(to, from, 32);
        memcpy(to + length - 32, from + length - 32, 32);
    } else if (length > 0) {
        memcpy(to, from, (size_t)length);
    }
}

#endif /* OUTCORE_ENCODING_STRING_COPY_H */
