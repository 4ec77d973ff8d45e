/* Sorting of key entries: 12 bytes of a row's normalised key and the row's ordinal, 16 bytes
 * together.
 *
 * An entry is compared as one 128-bit number, key first and ordinal last. Ordinals are distinct, so
 * the order is total and an unstable algorithm gives the stable result. Payload never moves during
 * the sort; only entries do. */
#ifndef OUTCORE_OPS_SORT_ENTRY_SORT_H
#define OUTCORE_OPS_SORT_ENTRY_SORT_H

#include <stdint.h>

/* Bytes of key that an entry caches. */
#define OCI_ENTRY_KEY_BYTES 12

typedef struct oci_entry {
    uint64_t hi;      /* key bytes 0..7, big-endian */
    uint32_t lo;      /* key bytes 8..11, big-endian */
    uint32_t ordinal; /* which row */
} oci_entry;

/* Sorts in place by (hi, lo, ordinal). */
void oci_entries_sort(oci_entry *entries, int64_t n);

#endif /* OUTCORE_OPS_SORT_ENTRY_SORT_H */
