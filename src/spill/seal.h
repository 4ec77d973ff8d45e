/* Encryption of spill files: each message is sealed by itself, with authentication.
 *
 * XChaCha20-Poly1305 (libsodium) with a random key that is made per context, lives in memory only and
 * is wiped at the end, and a nonce of the run's random number and the message's place in it. The
 * frame on disk is in docs/spill-format.md, "Sealed files". Its head is authenticated too, so
 * a message that was changed, cut, swapped, repeated or taken from another run is an error. */
#ifndef OUTCORE_SPILL_SEAL_H
#define OUTCORE_SPILL_SEAL_H

#include "base/error.h"

#define OCI_SEAL_HEAD_BYTES 16 /* magic, version, size of what is sealed */
#define OCI_SEAL_TAIL_BYTES 16 /* the tag */
#define OCI_SEAL_EXTRA      (OCI_SEAL_HEAD_BYTES + OCI_SEAL_TAIL_BYTES)

typedef struct oci_seal oci_seal; /* a key; thread-safe, immutable */

/* False when the library was built without libsodium. */
bool oci_seal_is_available(void);
/* Makes a random key. OC_EUNSUPPORTED when not available. `key` (32 bytes) NULL = random; tests and
 * named files give one. */
OC_NODISCARD oc_status oci_seal_create(const uint8_t *key, oci_seal **out, oc_error *err);
void oci_seal_destroy(oci_seal *seal); /* wipes the key; NULL is fine */

/* A random number for a run. */
void oci_seal_run_id(uint8_t out[16]);

/* Writes `size` + OCI_SEAL_EXTRA bytes to `out`; `in` may be out + OCI_SEAL_HEAD_BYTES (in place). */
void oci_seal_close(const oci_seal *seal, const uint8_t run_id[16], int64_t place,
                    const uint8_t *in, int64_t size, uint8_t *out);
/* Size of what is sealed, from a head of OCI_SEAL_HEAD_BYTES. OC_EDATA: no head. */
OC_NODISCARD oc_status oci_seal_read_head(const uint8_t *head, int64_t *size, oc_error *err);
/* Opens a frame of `size` + OCI_SEAL_EXTRA bytes; `out` (size bytes) may be in + OCI_SEAL_HEAD_BYTES.
 * OC_EDATA: changed, cut, or at another place than it was written for. */
OC_NODISCARD oc_status oci_seal_open(const oci_seal *seal, const uint8_t run_id[16], int64_t place,
                                     const uint8_t *in, int64_t size, uint8_t *out, oc_error *err);

#endif /* OUTCORE_SPILL_SEAL_H */
