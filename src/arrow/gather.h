/* Gather: rows picked from several batches become one new batch.
 *
 * The one way in which rows are copied, for compacting imported batches, sorting in memory, writing
 * runs and merging. Works column by column, in straight loops per layout; var-length values are
 * copied with short blind copies. The result is always compact: offset 0, offsets from 0, only
 * bytes that are used, no validity bitmap where no row is null, null slots zeroed (values 0, length
 * 0), dictionary trimmed to the values used.
 *
 * Sources have the types of the schema, but may hold them as they came in where the output is in
 * working form, at every depth: views for 32-bit strings, list views for lists, run-end encoded
 * columns for their values. So gathering from an imported batch with schema = working schema also
 * converts it. Columns may be nested as types may be (OCI_NESTING_MAX), and begin at any offset,
 * children too. A null list becomes an empty one; children of a null struct or fixed-size list, and
 * those of a sparse union that its type id does not name, are copied as they are.
 *
 * Two steps, because the slab is allocated once and exactly: oci_gather_fit decides how many of the
 * wanted rows fit a byte target, oci_gather copies them.
 *
 * Dictionaries: an output batch has its own dictionary, in order of first use, values told apart
 * bit for bit, nulls among the values become null slots. When the index type is too narrow for the
 * distinct values, fit() ends the batch before. */
#ifndef OUTCORE_ARROW_GATHER_H
#define OUTCORE_ARROW_GATHER_H

#include "arrow/batch.h"

typedef struct oci_row_ref {
    uint32_t source; /* index into sources[] */
    uint32_t row;    /* row of that batch */
} oci_row_ref;

/* Rows that one call handles at most; bounds its scratch memory: nothing for flat columns of up to
 * 128 sources (64 bytes a source beyond), 8 KiB and 64 bytes a source for each level of lists, dense
 * unions and run-end encoded sources above each other, about 70 bytes per distinct code of a
 * dictionary. The rows of children are not bounded, and cost no scratch memory. */
#define OCI_GATHER_ROWS_MAX 65536

/* How many of rows[0..n) fit into `max_bytes` of slab, at least 1 when n > 0; *bytes (may be NULL)
 * gets the exact size of their slab without a head (oci_gather adds head_bytes rounded up to 64).
 * n is cut to OCI_GATHER_ROWS_MAX. Sources NULL where no row refers to them. Also keeps 32-bit
 * offsets (of strings, lists, dense unions, at any depth) from overflowing
 * (`oci_gather_offset_max`, a variable so that tests can lower it) and narrow dictionary indices
 * from running out. When one row alone is larger than the budget, *bytes is so too, but not exact.
 *
 * Errors of all calls: OC_EDATA for offsets, indices, type ids or runs that lead nowhere;
 * OC_EUNSUPPORTED for lists with elements beyond row 2^32 of their child, and for a single row that
 * 32-bit offsets cannot tell; OC_EBUDGET, OC_ENOMEM; OC_EINTERNAL for sources of another type. */
OC_NODISCARD oc_status oci_gather_fit(oci_schema *schema, const oci_batch *const *sources,
                                      const oci_row_ref *rows, int64_t n, int64_t max_bytes,
                                      oci_mem *mem, int64_t *n_fit, int64_t *bytes, oc_error *err);
extern int64_t oci_gather_offset_max; /* INT32_MAX */

/* Copies rows[0..n) (n as fit() allowed) into a new batch of `schema`. The slab is paid from `from`
 * when not NULL (a reservation; the slab's charge then returns to the budget, not to the
 * reservation, when the batch is released), else from `mem` by oci_mem_alloc. `head_bytes` free
 * bytes are left in front of the body inside the slab. */
OC_NODISCARD oc_status oci_gather(oci_schema *schema, const oci_batch *const *sources,
                                  const oci_row_ref *rows, int64_t n, int64_t head_bytes,
                                  oci_mem *mem, oci_reservation *from, oci_batch **out,
                                  oc_error *err);

/* Same result for the contiguous rows [start, start + n) of one batch, by faster range copies. */
OC_NODISCARD oc_status oci_gather_range(oci_schema *schema, const oci_batch *source, int64_t start,
                                        int64_t n, int64_t head_bytes, oci_mem *mem,
                                        oci_reservation *from, oci_batch **out, oc_error *err);
/* How many rows of [start, start + n) fit `max_bytes` (at least 1), and their slab size. */
OC_NODISCARD oc_status oci_gather_range_fit(oci_schema *schema, const oci_batch *source,
                                            int64_t start, int64_t n, int64_t max_bytes,
                                            oci_mem *mem, int64_t *n_fit, int64_t *bytes,
                                            oc_error *err);

#endif /* OUTCORE_ARROW_GATHER_H */
