/* Encryption of spill files: each message is sealed by itself, with authentication.
 *
 * XChaCha20-Poly1305 (libsodium) with a random key that is made per context, lives in memory only and
 * is wiped at the end, and a nonce of the run's random number and the message's place in it. The
 * frame on disk is in docs/spill-format.md, "Sealed files". Its head is authenticated too, so
 * a message that was changed, cut, swapped, repeated or taken from another run is an error. */
#ifndef OUTCORE_SPILL_SEAL_H
#define OUTCORE_SPILL_SEAL_H

#include "base/error.h"
#include "base/random.h"

#define OCI_SEAL_KEY_BYTES    32
#define OCI_SEAL_RUN_ID_BYTES 16
#define OCI_SEAL_HEAD_BYTES   16 /* magic, version, size of what is sealed */
#define OCI_SEAL_TAIL_BYTES   16 /* the tag */
#define OCI_SEAL_EXTRA        (OCI_SEAL_HEAD_BYTES + OCI_SEAL_TAIL_BYTES)

typedef struct oci_seal oci_seal; /* a key; thread-safe, immutable */

/* False when the library was built without libsodium. */
bool oci_seal_is_available(void);
/* `random` NULL = the system's; it must outlive the seal. `key` (OCI_SEAL_KEY_BYTES) NULL = a random
 * one. OC_EUNSUPPORTED: not available. OC_EIO: no random numbers. OC_ENOMEM. */
OC_NODISCARD oc_status oci_seal_create(const oci_random *random, const uint8_t *key, oci_seal **out,
                                       oc_error *err);
void oci_seal_destroy(oci_seal *seal); /* wipes the key; NULL is fine */

/* A random number for a run. No two runs under one key may have the same. OC_EIO. */
OC_NODISCARD oc_status oci_seal_run_id(const oci_seal *seal, uint8_t out[OCI_SEAL_RUN_ID_BYTES],
                                       oc_error *err);

/* Writes `size` + OCI_SEAL_EXTRA bytes to `out`; `in` may be out + OCI_SEAL_HEAD_BYTES (in place).
 * `place` is the number of the message in its run, 0 for the first: never the same one twice. */
void oci_seal_close(const oci_seal *seal, const uint8_t run_id[OCI_SEAL_RUN_ID_BYTES],
                    int64_t place, const uint8_t *in, int64_t size, uint8_t *out);
/* Size of what is sealed, from a head of OCI_SEAL_HEAD_BYTES; not believed yet, but never negative and
 * never so large that adding OCI_SEAL_EXTRA overflows. OC_EDATA: no head. OC_EUNSUPPORTED: of a
 * version that is not known. */
OC_NODISCARD oc_status oci_seal_read_head(const uint8_t *head, int64_t *size, oc_error *err);
/* Opens a frame of `size` + OCI_SEAL_EXTRA bytes; `out` (size bytes) may be in + OCI_SEAL_HEAD_BYTES
 * (in place). OC_EDATA: changed, cut, or at another place than it was written for; nothing of `out`
 * is of use then. */
OC_NODISCARD oc_status oci_seal_open(const oci_seal *seal,
                                     const uint8_t run_id[OCI_SEAL_RUN_ID_BYTES], int64_t place,
                                     const uint8_t *in, int64_t size, uint8_t *out, oc_error *err);

#endif /* OUTCORE_SPILL_SEAL_H */
