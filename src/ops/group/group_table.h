/* The hash table of groups: normalised keys, each with a number from 0 in the order of first use.
 *
 * Keys lie one behind the other in chunks and never move; beside them, per group, the hash and (for keys of
 * different lengths) the place. Slots are found by open addressing over (high half of the hash, number + 1), at
 * a load of at most 3/4. All of it is charged; memory is taken by reserve() alone, so that adding cannot fail
 * half way. */
#ifndef OUTCORE_OPS_GROUP_GROUP_TABLE_H
#define OUTCORE_OPS_GROUP_GROUP_TABLE_H

#include "arrow/row_key_decode.h"

typedef struct oci_group_table oci_group_table;

/* `stride` > 0: every key has so many bytes. */
OC_NODISCARD oc_status oci_group_table_create(int64_t stride, oci_mem *mem, oci_group_table **out,
                                              oc_error *err);
void oci_group_table_destroy(oci_group_table *table); /* NULL is fine */

bool oci_group_table_is_fixed(const oci_group_table *table); /* there is a stride */
int64_t oci_group_table_size(const oci_group_table *table);  /* groups */
uint64_t oci_group_table_hash(const oci_group_table *table, int64_t group);
void oci_group_table_prefetch(const oci_group_table *table, int64_t group); /* the hash, soon */
oci_key_ref oci_group_table_key(const oci_group_table *table, int64_t group);
/* Bytes of keys, table and all, as charged. */
int64_t oci_group_table_bytes(const oci_group_table *table);

/* Takes the memory for `n` more groups whose keys take `key_bytes` together. OC_EBUDGET: refused,
 * nothing has changed; err is not filled. OC_EUNSUPPORTED: more than 2^32 - 2 groups. */
OC_NODISCARD oc_status oci_group_table_reserve(oci_group_table *table, int64_t n, int64_t key_bytes,
                                               oc_error *err);
/* The groups of rows [start, start + n) of keys, new ones added; room was reserved. */
void oci_group_table_find(oci_group_table *table, const oci_row_keys *keys, const uint64_t *hashes,
                          int64_t start, int64_t n, uint32_t *groups);

/* Keeps the groups kept[0..n) only, which become 0..n-1; kept[i] is i or a later group, and they are ascending when
 * keys have different lengths. Gives back what is not needed any more. */
void oci_group_table_keep(oci_group_table *table, const uint32_t *kept, int64_t n);
void oci_group_table_clear(oci_group_table *table);

#endif /* OUTCORE_OPS_GROUP_GROUP_TABLE_H */
