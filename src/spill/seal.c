/* Seals messages with XChaCha20-Poly1305. See seal.h; the frame is in docs/spill-format.md.
 *
 * This cipher and not AES-GCM: its nonce of 24 bytes holds a random number of a run and a counter
 * side by side, so that no two messages share one whatever is written, and it needs no special
 * instructions. It does 1.5 GB/s on one core here, AES-GCM with them 1.9.
 *
 * The key lies in memory of its own from libsodium: between guard pages, kept out of the swap and of
 * core dumps as far as the system allows (a low limit of locked memory is no error), read-only,
 * wiped when it is freed. The struct comes from malloc. */
#include "spill/seal.h"

#ifdef OUTCORE_HAS_SODIUM

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

#define MAGIC_BYTES 6
#define VERSION     1
#define NONCE_BYTES crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
/* The cipher counts blocks of 64 bytes in 32 bits and needs one for itself. */
#define CONTENT_LIMIT (((int64_t)1 << 38) - 64)

_Static_assert(OCI_SEAL_KEY_BYTES == crypto_aead_xchacha20poly1305_ietf_KEYBYTES, "key");
_Static_assert(OCI_SEAL_TAIL_BYTES == crypto_aead_xchacha20poly1305_ietf_ABYTES, "tag");
_Static_assert(OCI_SEAL_RUN_ID_BYTES + sizeof(uint64_t) == NONCE_BYTES, "nonce");

static const uint8_t magic[MAGIC_BYTES] = {'O', 'C', 'S', 'E', 'A', 'L'};

struct oci_seal {
    const oci_random *random;
    uint8_t *key; /* from sodium_malloc() */
};

bool oci_seal_is_available(void)
{
    return true;
}

static oc_status fill_random(const oci_random *random, void *buf, int64_t size, oc_error *err)
{
    int failed = random->fill(random->self, buf, size);
    if (failed != 0) {
        char buffer[128];
        OC_FAIL_ERRNO(err, OC_EIO, failed,
                      "could not encrypt spill files: the system gives no random numbers: %s",
                      oci_strerror(failed, buffer, sizeof buffer));
    }
    return OC_OK;
}

static oc_status make_seal(const oci_random *random, const uint8_t *key, oci_seal **out,
                           oc_error *err)
{
    /* May be called at any time and by several threads: does its work once. */
    if (sodium_init() < 0) {
        OC_FAIL(err, OC_EUNSUPPORTED, "cannot encrypt spill files: libsodium does not start");
    }
    oci_seal *seal = calloc(1, sizeof *seal);
    uint8_t *own_key = sodium_malloc(OCI_SEAL_KEY_BYTES);
    if (seal == NULL || own_key == NULL) {
        free(seal);
        sodium_free(own_key);
        OC_FAIL(err, OC_ENOMEM, "could not set up encryption of spill files: out of memory");
    }
    memcpy(own_key, key, OCI_SEAL_KEY_BYTES);
    (void)sodium_mprotect_readonly(own_key); /* a second line only */
    seal->random = random;
    seal->key = own_key;
    *out = seal;
    return OC_OK;
}

/* Asks for random numbers first, whether they are wanted or not: where the system has none,
 * starting libsodium would end the program. */
oc_status oci_seal_create(const oci_random *random, const uint8_t *key, oci_seal **out,
                          oc_error *err)
{
    uint8_t fresh_key[OCI_SEAL_KEY_BYTES];
    random = random != NULL ? random : oci_system_random();
    OC_TRY(fill_random(random, fresh_key, OCI_SEAL_KEY_BYTES, err));
    oc_status status = make_seal(random, key != NULL ? key : fresh_key, out, err);
    sodium_memzero(fresh_key, sizeof fresh_key);
    return status;
}

void oci_seal_destroy(oci_seal *seal)
{
    if (seal != NULL) {
        sodium_free(seal->key);
        free(seal);
    }
}

oc_status oci_seal_run_id(const oci_seal *seal, uint8_t out[OCI_SEAL_RUN_ID_BYTES], oc_error *err)
{
    return fill_random(seal->random, out, OCI_SEAL_RUN_ID_BYTES, err);
}

static void make_nonce(const uint8_t *run_id, int64_t place, uint8_t *nonce)
{
    memcpy(nonce, run_id, OCI_SEAL_RUN_ID_BYTES);
    oci_store_le64(nonce + OCI_SEAL_RUN_ID_BYTES, (uint64_t)place);
}

void oci_seal_close(const oci_seal *seal, const uint8_t run_id[OCI_SEAL_RUN_ID_BYTES],
                    int64_t place, const uint8_t *in, int64_t size, uint8_t *out)
{
    assert(size >= 0 && size <= CONTENT_LIMIT && place >= 0);
    uint8_t nonce[NONCE_BYTES];
    make_nonce(run_id, place, nonce);
    memcpy(out, magic, MAGIC_BYTES);
    oci_store_le16(out + MAGIC_BYTES, VERSION);
    oci_store_le64(out + MAGIC_BYTES + 2, (uint64_t)size);
    uint8_t *content = out + OCI_SEAL_HEAD_BYTES;
    (void)crypto_aead_xchacha20poly1305_ietf_encrypt_detached(
        content, content + size, NULL, in, (unsigned long long)size, out, OCI_SEAL_HEAD_BYTES, NULL,
        nonce, seal->key);
}

oc_status oci_seal_read_head(const uint8_t *head, int64_t *size, oc_error *err)
{
    if (memcmp(head, magic, MAGIC_BYTES) != 0) {
        OC_FAIL(err, OC_EDATA, "it does not begin with the mark of a sealed message");
    }
    int version = oci_load_le16(head + MAGIC_BYTES);
    if (version != VERSION) {
        OC_FAIL(err, OC_EUNSUPPORTED, "sealed messages of version %d are not known", version);
    }
    uint64_t claimed = oci_load_le64(head + MAGIC_BYTES + 2);
    if (claimed > (uint64_t)CONTENT_LIMIT) {
        OC_FAIL(err, OC_EDATA, "a sealed message claims %" PRIu64 " bytes", claimed);
    }
    *size = (int64_t)claimed;
    return OC_OK;
}

oc_status oci_seal_open(const oci_seal *seal, const uint8_t run_id[OCI_SEAL_RUN_ID_BYTES],
                        int64_t place, const uint8_t *in, int64_t size, uint8_t *out, oc_error *err)
{
    int64_t claimed;
    OC_TRY(oci_seal_read_head(in, &claimed, err));
    uint8_t nonce[NONCE_BYTES];
    make_nonce(run_id, place, nonce);
    const uint8_t *content = in + OCI_SEAL_HEAD_BYTES;
    if (claimed != size || crypto_aead_xchacha20poly1305_ietf_decrypt_detached(
                               out, NULL, content, (unsigned long long)size, content + size, in,
                               OCI_SEAL_HEAD_BYTES, nonce, seal->key) != 0) {
        OC_FAIL(err, OC_EDATA,
                "the seal of message %" PRId64
                " is broken: it was changed, or is not the one written there",
                place);
    }
    return OC_OK;
}

#else /* without libsodium nothing but the refusal */

bool oci_seal_is_available(void)
{
    return false;
}

static oc_status refuse(oc_error *err)
{
    OC_FAIL(err, OC_EUNSUPPORTED,
            "cannot encrypt spill files: this library was built without libsodium");
}

oc_status oci_seal_create(const oci_random *random, const uint8_t *key, oci_seal **out,
                          oc_error *err)
{
    (void)random;
    (void)key;
    (void)out;
    return refuse(err);
}

void oci_seal_destroy(oci_seal *seal)
{
    (void)seal;
}

oc_status oci_seal_run_id(const oci_seal *seal, uint8_t out[OCI_SEAL_RUN_ID_BYTES], oc_error *err)
{
    (void)seal;
    (void)out;
    return refuse(err);
}

void oci_seal_close(const oci_seal *seal, const uint8_t run_id[OCI_SEAL_RUN_ID_BYTES],
                    int64_t place, const uint8_t *in, int64_t size, uint8_t *out)
{
    (void)seal;
    (void)run_id;
    (void)place;
    (void)in;
    (void)size;
    (void)out;
}

oc_status oci_seal_read_head(const uint8_t *head, int64_t *size, oc_error *err)
{
    (void)head;
    (void)size;
    return refuse(err);
}

oc_status oci_seal_open(const oci_seal *seal, const uint8_t run_id[OCI_SEAL_RUN_ID_BYTES],
                        int64_t place, const uint8_t *in, int64_t size, uint8_t *out, oc_error *err)
{
    (void)seal;
    (void)run_id;
    (void)place;
    (void)in;
    (void)size;
    (void)out;
    return refuse(err);
}

#endif
