/* See checksum.h. */
#include "spill/checksum.h"

#include <assert.h>
#include <string.h>

static const char digits[OCI_CHECKSUM_DIGITS] = "0123456789abcdef";
static const char zeros[OCI_CHECKSUM_DIGITS] = "0000000000000000";

void oci_checksum_begin(oci_checksum *sum, const uint8_t *head, int64_t head_bytes, int64_t slot,
                        int64_t place)
{
    int64_t behind = slot + OCI_CHECKSUM_DIGITS;
    assert(slot >= 0 && behind <= head_bytes);
    oci_hash_stream_begin(&sum->stream, (uint64_t)place);
    oci_hash_stream_add(&sum->stream, head, slot);
    oci_hash_stream_add(&sum->stream, zeros, OCI_CHECKSUM_DIGITS);
    oci_hash_stream_add(&sum->stream, head + behind, head_bytes - behind);
}

void oci_checksum_add(oci_checksum *sum, const uint8_t *body, int64_t bytes)
{
    oci_hash_stream_add(&sum->stream, body, bytes);
}

uint64_t oci_checksum_end(const oci_checksum *sum)
{
    return oci_hash_stream_end(&sum->stream);
}

void oci_checksum_stamp(uint8_t *message, int64_t metadata_bytes, int64_t body_bytes, int64_t place)
{
    oci_message parsed;
    oc_status status = oci_message_parse(message + OCI_IPC_PREFIX_BYTES,
                                         metadata_bytes - OCI_IPC_PREFIX_BYTES, &parsed, NULL);
    assert(status == OC_OK && parsed.checksum != NULL);
    if (status != OC_OK || parsed.checksum == NULL) {
        return; /* cannot be: we built it */
    }
    int64_t slot = parsed.checksum - message;
    oci_checksum sum;
    oci_checksum_begin(&sum, message, metadata_bytes, slot, place);
    oci_checksum_add(&sum, message + metadata_bytes, body_bytes);
    uint64_t value = oci_checksum_end(&sum);
    for (int i = OCI_CHECKSUM_DIGITS - 1; i >= 0; i--, value >>= 4) {
        message[slot + i] = (uint8_t)digits[value & 15];
    }
}

bool oci_checksum_read(const uint8_t *slot, uint64_t *out)
{
    uint64_t value = 0;
    for (int i = 0; i < OCI_CHECKSUM_DIGITS; i++) {
        const char *digit = memchr(digits, slot[i], sizeof digits);
        if (digit == NULL) {
            return false;
        }
        value = value << 4 | (uint64_t)(digit - digits);
    }
    *out = value;
    return true;
}
