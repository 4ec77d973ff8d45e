/* Copies of short strings without a call and without a loop. Up to 16 bytes are copied as 16 whatever
 * the length, when so many may be read and written: what is written too much is overwritten by the
 * next string. Up to 64 bytes are two copies of one size that overlap. */
#ifndef OUTCORE_ENCODING_STRING_COPY_H
#define OUTCORE_ENCODING_STRING_COPY_H

#include <stdint.h>
#include <string.h>

/* `room` bytes may be written at `to`, `readable` may be read at `from`; both >= length. */
static inline void oci_string_copy(uint8_t *to, int64_t room, const uint8_t *from, int64_t readable,
                                   int64_t length)
{
    if (length <= 16 && room >= 16 && readable >= 16) {
        memmove(to, from, 16); /* front coding copies from right before `to` */
    } else if (length > 16 && length <= 32) {
        memcpy(to, from, 16);
        memcpy(to + length - 16, from + length - 16, 16);
    } else if (length > 32 && length <= 64) {
        memcpy(to, from, 32);
        memcpy(to + length - 32, from + length - 32, 32);
    } else if (length > 0) {
        memcpy(to, from, (size_t)length);
    }
}

#endif /* OUTCORE_ENCODING_STRING_COPY_H */
