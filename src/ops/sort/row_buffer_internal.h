/* The inside of the row buffer, shared by row_buffer.c (collecting and ordering) and
 * row_buffer_fold.c. */
#ifndef OUTCORE_OPS_SORT_ROW_BUFFER_INTERNAL_H
#define OUTCORE_OPS_SORT_ROW_BUFFER_INTERNAL_H

#include "ops/sort/row_buffer.h"

/* One hint per 1,024 ordinals finds the chunk of a row in a step or two. */
#define OCI_HINT_SHIFT 10

struct oci_row_buffer {
    const oci_sort_key *keys;
    int32_t n_keys;
    oci_mem *mem;

    /* Parallel arrays with one element per chunk, grown together. */
    oci_batch **batches;
    oci_row_keys *chunk_keys;
    int64_t *first; /* ordinal of a chunk's first row; first[n_chunks] = rows */
    int32_t n_chunks;
    int32_t capacity;

    int64_t rows;
    int64_t payload_bytes;
    int64_t key_bytes;
    int64_t shared; /* bytes of prefix that all keys have in common */

    oci_reservation entry_space;
    oci_entry *entries; /* set by sort() */
    uint32_t *hints;
    int64_t first_hint; /* what hints[0] is for: ordinal >> HINT_SHIFT */

    /* Folding, see oci_row_buffer_set_fold. */
    int64_t fold_bytes;    /* 0 = never */
    int32_t folded_chunks; /* chunks before this one are in folded segments */
    int64_t folded_bytes;  /* their payload */
};

static inline int64_t oci_entries_bytes(int64_t rows)
{
    return rows * (int64_t)sizeof(oci_entry);
}

static inline int64_t oci_hints_bytes(int64_t rows)
{
    return ((rows >> OCI_HINT_SHIFT) + 1) * (int64_t)sizeof(uint32_t);
}

static inline int64_t oci_list_bytes(int32_t capacity, size_t element)
{
    return (int64_t)capacity * (int64_t)element;
}

/* Where the row with this ordinal is; hints are made. */
static inline oci_row_ref oci_ref_of(const oci_row_buffer *buffer, uint32_t ordinal)
{
    uint32_t chunk = buffer->hints[(ordinal >> OCI_HINT_SHIFT) - buffer->first_hint];
    while (buffer->first[chunk + 1] <= (int64_t)ordinal) {
        chunk++;
    }
    return (oci_row_ref){chunk, (uint32_t)((int64_t)ordinal - buffer->first[chunk])};
}

/* Makes room for more chunks. OC_EBUDGET: nothing changed. */
oc_status oci_row_buffer_grow(oci_row_buffer *buffer, oc_error *err);

/* Fills buffer->hints (which the caller allocated) for the rows from chunk `first_chunk` on. */
void oci_row_buffer_make_hints(oci_row_buffer *buffer, int32_t first_chunk);

/* Fills and sorts entries[0..n) for the rows from chunk `first_chunk` on; hints are made. */
void oci_row_buffer_order(const oci_row_buffer *buffer, int32_t first_chunk, oci_entry *entries,
                          int64_t n);

/* Folds the chunks added since the last time when they are enough, see oci_row_buffer_set_fold. */
void oci_row_buffer_fold(oci_row_buffer *buffer);

#endif /* OUTCORE_OPS_SORT_ROW_BUFFER_INTERNAL_H */
