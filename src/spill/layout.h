/* Logical and physical columns: how each column of a batch lies in a spill file.
 *
 *   PLAIN     as it is: the physical field is the logical one
 *   LENGTHS   utf8, large_utf8, binary, large_binary as struct<lengths, bytes>, where bytes is a
 *             run-end encoded binary value: the whole batch's bytes as one run
 *   PACKED    any type as one run of a binary value (or of a struct of two): the streams of
 *             encoding/packed_column.h
 *
 * Each is legal Arrow, so any reader sees the physical columns; the schema's custom metadata says what
 * the logical ones are. A layout is fixed for one IPC stream; a run begins another stream when
 * another layout pays better. See docs/spill-format.md. */
#ifndef OUTCORE_SPILL_LAYOUT_H
#define OUTCORE_SPILL_LAYOUT_H

#include "arrow/batch.h"
#include "encoding/packed_column.h"

typedef enum oci_column_layout {
    OCI_COLUMN_PLAIN,
    OCI_COLUMN_LENGTHS,
    OCI_COLUMN_PACKED
} oci_column_layout;

/* Whether a column of this type can be LENGTHS. */
bool oci_lengths_is_for(oci_type type);

/* Immutable, malloc'ed: grows with the schema only. */
typedef struct oci_spill_layout oci_spill_layout;

/* For writing. `choices[n_fields]`: LENGTHS only for its four types, PACKED for all. */
OC_NODISCARD oc_status oci_spill_layout_create(oci_schema *logical,
                                               const oci_column_layout *choices,
                                               oci_spill_layout **out, oc_error *err);
/* For reading: from the schema of a schema message. Without metadata of ours every column is plain.
 * `expected` (may be NULL) is what the reader wants: OC_EDATA names the first column that differs in
 * name, type or place; nullability and metadata of `expected` win. OC_EUNSUPPORTED: a version or
 * layout that is not known. */
OC_NODISCARD oc_status oci_spill_layout_parse(oci_schema *physical, oci_schema *expected,
                                              oci_spill_layout **out, oc_error *err);
void oci_spill_layout_destroy(oci_spill_layout *layout); /* NULL is fine */

oci_schema *oci_spill_layout_logical(const oci_spill_layout *layout);
oci_schema *oci_spill_layout_physical(const oci_spill_layout *layout); /* with metadata of ours */
oci_column_layout oci_spill_layout_of(const oci_spill_layout *layout, int32_t column);
bool oci_spill_layout_is_plain(const oci_spill_layout *layout); /* every column */

/* Whether the columns of this batch fit: rows and bytes of packed columns are counted with int32. A
 * plain layout holds any batch. */
bool oci_spill_layout_can_hold(const oci_spill_layout *layout, const oci_packer *packer,
                               const oci_batch *batch);
/* From a compact or any logical batch to a physical one. Plain columns share the batch's memory, as
 * do the bytes of LENGTHS; the rest is made in one slab, paid from `from`. `packer` was made for the
 * logical schema (NULL when nothing is packed). The batch must outlive the result. OC_EDATA: offsets
 * that do not ascend. */
OC_NODISCARD oc_status oci_spill_layout_encode(const oci_spill_layout *layout, oci_packer *packer,
                                               oci_batch *batch, oci_reservation *from,
                                               oci_batch **out, oc_error *err);
/* Releases such a batch, and gives what its slab took back to the reservation. NULL is fine. */
void oci_spill_layout_give_back(oci_batch *physical, oci_reservation *from);

/* For any compact batch with a slab of `slab_bytes` and up to `rows` rows: bytes of the slab that encode
 * makes at most, and scratch memory, as charged, that it takes beside it for a while. */
typedef struct oci_layout_bound {
    int64_t slab_bytes;
    int64_t scratch;
} oci_layout_bound;
oci_layout_bound oci_spill_layout_bound(const oci_spill_layout *layout, const oci_packer *packer,
                                        int64_t slab_bytes, int64_t rows);

/* Back: a logical batch from a physical one that the IPC decoder made (taken, also on failure). A
 * plain layout gives it as it is. Else all values, those of plain columns too, lie in one new slab of
 * exactly their size from `mem`. Nothing is believed: OC_EDATA for what does not fit together. */
OC_NODISCARD oc_status oci_spill_layout_decode(const oci_spill_layout *layout, oci_batch *physical,
                                               oci_mem *mem, oci_batch **out, oc_error *err);

#endif /* OUTCORE_SPILL_LAYOUT_H */
