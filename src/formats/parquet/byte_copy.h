/* Copies of short byte strings without a call or a branch on their length: 32 bytes are copied whatever the
 * length, and what is too much is overwritten by the next string. */
#ifndef OUTCORE_FORMATS_PARQUET_BYTE_COPY_H
#define OUTCORE_FORMATS_PARQUET_BYTE_COPY_H

#include <stdint.h>
#include <string.h>

enum { OCI_PARQUET_COPY_BYTES = 32 };

/* `room` bytes may be written at `to`, `readable` read at `from`; both >= length. They do not overlap. */
static inline void oci_parquet_copy_bytes(uint8_t *to, int64_t room, const uint8_t *from,
                                          int64_t readable, int64_t length)
{
    if (length <= OCI_PARQUET_COPY_BYTES && room >= OCI_PARQUET_COPY_BYTES &&
        readable >= OCI_PARQUET_COPY_BYTES) {
        memcpy(to, from, OCI_PARQUET_COPY_BYTES);
    } else if (length > 0) {
        memcpy(to, from, (size_t)length);
    }
}

#endif /* OUTCORE_FORMATS_PARQUET_BYTE_COPY_H */
