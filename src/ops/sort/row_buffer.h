/* Rows collected in memory for one sorted run, with their keys.
 *
 * Rows lie in chunks (record batches of the working schema, as they came or compacted) and never
 * move; each chunk has its normalised keys beside it. Sorting orders an array of 16-byte entries.
 * Memory for those entries is set aside as rows arrive, so that sorting needs no new grant.
 *
 * The form in which rows are kept (plain working-form batches) is hidden behind this header: a
 * narrower one changes this file and what gather reads, nothing else. */
#ifndef OUTCORE_OPS_SORT_ROW_BUFFER_H
#define OUTCORE_OPS_SORT_ROW_BUFFER_H

#include "arrow/gather.h"
#include "arrow/row_key.h"
#include "base/tiny.h"
#include "ops/sort/entry_sort.h"

typedef struct oci_row_buffer oci_row_buffer;

/* Borrows keys, which must outlive the buffer. Keys, entries and the chunk list are charged to
 * `mem`. */
OC_NODISCARD oc_status oci_row_buffer_create(const oci_sort_key *keys, int32_t n_keys, oci_mem *mem,
                                             oci_row_buffer **out, oc_error *err);
void oci_row_buffer_destroy(oci_row_buffer *buffer); /* NULL is fine */

/* From now on, whenever the chunks added since the last time hold `bytes` or more, their rows are
 * put into key order and copied into a few large chunks, if there is memory to spare for the copy.
 * Rows that are near each other in the result then lie near each other in each such segment, so
 * that the gather at the end reads some sequences, one per segment, instead of single rows all over
 * memory; and it has few sources to look at. It changes nothing else. */
void oci_row_buffer_set_fold(oci_row_buffer *buffer, int64_t bytes);

/* Appends all rows of a batch; takes the caller's reference on success only. OC_EBUDGET: refused,
 * nothing changed; so is a batch that would carry a buffer with rows past OCI_BUFFER_ROWS_MAX. */
#define OCI_BUFFER_ROWS_MAX OCI_TINY((int64_t)1500, (int64_t)UINT32_MAX - 1)
OC_NODISCARD oc_status oci_row_buffer_add(oci_row_buffer *buffer, oci_batch *batch, oc_error *err);

/* As above, with keys that were encoded already; takes them too on success. */
OC_NODISCARD oc_status oci_row_buffer_add_with_keys(oci_row_buffer *buffer, oci_batch *batch,
                                                    oci_row_keys *keys, oc_error *err);

int64_t oci_row_buffer_rows(const oci_row_buffer *buffer);
/* Bytes held by chunks, keys and entries, roughly: what spilling would free. */
int64_t oci_row_buffer_bytes(const oci_row_buffer *buffer);
/* Orders the rows; does nothing when they are ordered. No rows may be added until clear().
 * OC_ENOMEM only. */
OC_NODISCARD oc_status oci_row_buffer_sort(oci_row_buffer *buffer, oc_error *err);

/* After sort(): the rows at sorted positions [start, start + n). Sources for gather are
 * oci_row_buffer_sources(). */
void oci_row_buffer_refs(const oci_row_buffer *buffer, int64_t start, int64_t n, oci_row_ref *out);
/* Key of the row at a sorted position. */
const uint8_t *oci_row_buffer_key(const oci_row_buffer *buffer, int64_t position, int64_t *size);
const oci_batch *const *oci_row_buffer_sources(const oci_row_buffer *buffer, int32_t *n);

/* Lets go of all rows. */
void oci_row_buffer_clear(oci_row_buffer *buffer);

#endif /* OUTCORE_OPS_SORT_ROW_BUFFER_H */
