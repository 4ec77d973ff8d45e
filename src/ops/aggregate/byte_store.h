/* Byte strings of groups, of any length, that come and go.
 *
 * They lie one behind the other in chunks, each behind a header that says whose it is. So the store can move what
 * lives over what does not, chunk by chunk in place, and give back the chunks at the end: no second copy is needed,
 * and no more is moved than lies behind a gap. */
#ifndef OUTCORE_OPS_AGGREGATE_BYTE_STORE_H
#define OUTCORE_OPS_AGGREGATE_BYTE_STORE_H

#include "base/memory.h"

typedef struct oci_byte_ref {
    uint32_t chunk;
    uint32_t offset;
} oci_byte_ref;

typedef struct oci_byte_chunk {
    uint8_t *bytes;
    int64_t size;
    int64_t used;
} oci_byte_chunk;

typedef struct oci_byte_store {
    oci_mem *mem;
    oci_byte_chunk *chunks;
    int64_t n_chunks;
    int64_t room;
    int64_t at;   /* chunk that is written to; behind it at most one, in spare */
    int64_t used; /* bytes of all strings and headers, and of those that live */
    int64_t live;
} oci_byte_store;

/* Tells the owner of a string where it lies now. */
typedef void (*oci_byte_moved)(void *owner, uint32_t group, oci_byte_ref ref);

void oci_byte_store_init(oci_byte_store *store, oci_mem *mem);
void oci_byte_store_clear(oci_byte_store *store); /* gives everything back; may be used on */
/* Room for n more strings of `bytes` together. When more than half is garbage it is packed before. OC_EBUDGET,
 * OC_ENOMEM: nothing has changed, but for where strings lie; err is not filled. */
OC_NODISCARD oc_status oci_byte_store_reserve(oci_byte_store *store, int64_t n, int64_t bytes,
                                              oci_byte_moved moved, void *owner);
/* Adds a string; room was reserved. */
oci_byte_ref oci_byte_store_add(oci_byte_store *store, uint32_t group, const uint8_t *bytes,
                                int64_t size);
const uint8_t *oci_byte_store_at(const oci_byte_store *store, oci_byte_ref ref);
void oci_byte_store_drop(oci_byte_store *store, oci_byte_ref ref);

/* When groups are renumbered: forgets whose the strings are, then claim() those that stay, then pack(). */
void oci_byte_store_disown(oci_byte_store *store);
void oci_byte_store_claim(oci_byte_store *store, oci_byte_ref ref, uint32_t group);
/* Unless next to nothing is to be gained. */
void oci_byte_store_pack(oci_byte_store *store, oci_byte_moved moved, void *owner);

#endif /* OUTCORE_OPS_AGGREGATE_BYTE_STORE_H */
