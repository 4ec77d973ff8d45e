/* Checksums of messages of spill files.
 *
 * XXH3-64 over the framed message (prefix, metadata, body) with the 16 digits of the checksum itself
 * read as '0', seeded with the message's place in its run (0, 1, 2, ...): so flipped bits, and also
 * messages that were lost, repeated or swapped, are noticed. It stands in the message's custom
 * metadata as 16 lower-case hexadecimal digits, key "outcore:xxh3". Whoever can write to the file
 * can also write a checksum: against that there is sealing (spill/seal.h). */
#ifndef OUTCORE_SPILL_CHECKSUM_H
#define OUTCORE_SPILL_CHECKSUM_H

#include "base/hash_stream.h"
#include "ipc/message.h"

/* Hashes in pieces, so that bytes are hashed while they are still in the cache. Plain struct. */
typedef struct oci_checksum {
    oci_hash_stream stream;
} oci_checksum;

/* Fills the slot of a framed message that was built with one; metadata_bytes includes the prefix,
 * the body follows. What stood in the slot before does not matter. */
void oci_checksum_stamp(uint8_t *message, int64_t metadata_bytes, int64_t body_bytes,
                        int64_t place);

/* Starts with the framed metadata (prefix included). `slot` is where the digits are in it. */
void oci_checksum_begin(oci_checksum *sum, const uint8_t *head, int64_t head_bytes, int64_t slot,
                        int64_t place);
void oci_checksum_add(oci_checksum *sum, const uint8_t *body, int64_t bytes);
uint64_t oci_checksum_end(const oci_checksum *sum);
/* The digits at the slot as a number; false when they are none. */
bool oci_checksum_read(const uint8_t *slot, uint64_t *out);

#endif /* OUTCORE_SPILL_CHECKSUM_H */
