/* A column of any type to two byte streams and back. Byte layout: docs/spill-format.md, "Packed
 * columns".
 *
 * A column is a tree of nodes, depth first: validity (absent, all null, or a bitmap), then what its
 * layout has: integers (also decimals, dates, times, dictionary indices, offsets as lengths, type
 * ids, run ends), strings, byte planes for floating point and wide values, then children. Only the
 * rows of children that are referred to are stored, and only the dictionary values that are used.
 * Where nulls are many, only the slots that are not null are stored.
 *
 * Values come back bit for bit, but for the slots of nulls, which come back as zeros or as they
 * were. Layouts come back as they went in: views as views, list views as list views, runs as runs. */
#ifndef OUTCORE_ENCODING_PACKED_COLUMN_H
#define OUTCORE_ENCODING_PACKED_COLUMN_H

#include "arrow/batch.h"
#include "encoding/streams.h"
#include "encoding/string_vector.h"

/* Packs batches of one schema: what was chosen for each node of each column, from block to block. */
typedef struct oci_packer oci_packer;

/* Retains schema. Plans come from malloc: they grow with the schema. Scratch is taken per call from
 * the reservation given there. */
OC_NODISCARD oc_status oci_packer_create(oci_schema *schema, oci_packer **out, oc_error *err);
void oci_packer_destroy(oci_packer *packer); /* NULL is fine */

/* Room that column `i` of a batch needs in both streams, and memory for scratch (all columns of a
 * batch use it in turn). */
typedef struct oci_packed_bound {
    int64_t packed; /* a multiple of OCI_PACK_ALIGN */
    int64_t bytes;
    int64_t both;    /* together: their sum for a column, less for any column of a batch */
    int64_t scratch; /* as charged */
} oci_packed_bound;
void oci_packer_bound(const oci_packer *packer, int32_t i, const oci_column *column,
                      oci_packed_bound *out);
/* The same for all columns of any compact batch (gather output) of this schema with a slab of
 * `slab_bytes` and up to `rows` rows (INT64_MAX: any number) together: the sums of what
 * oci_packer_bound() says of each, and the largest scratch, which is what rows bound.
 * `both` is slab_bytes and about a hundredth, and some 100 bytes a node. */
void oci_packer_bound_bytes(const oci_packer *packer, int64_t slab_bytes, int64_t rows,
                            oci_packed_bound *out);

/* Packs column `i`. Scratch is taken from `from` and given back to it. Dictionaries of which not
 * all values are used (never in a compact batch) also take memory from the account of `from` while
 * they are packed: OC_EBUDGET. */
OC_NODISCARD oc_status oci_pack_column(oci_packer *packer, int32_t i, const oci_column *column,
                                       oci_reservation *from, oci_pack_out *out, oc_error *err);

/* ---- back ------------------------------------------------------------------------------------ */

/* How many oci_column structs below the columns themselves a batch of this schema has: children and
 * dictionaries, all depths, and view buffers one each. For sizing `extra` of a batch. */
int64_t oci_unpack_extra_bytes(const oci_schema *schema);

/* Slab that `rows` rows of a packed column take, in the layout of batch.h (buffers padded to 8
 * bytes, and OCI_STRING_SLACK). `in` is at the start of the column and is not moved. OC_EDATA:
 * damaged. */
OC_NODISCARD oc_status oci_unpack_measure(const oci_field *field, int64_t rows,
                                          const oci_pack_in *in, int64_t *slab_bytes,
                                          oc_error *err);

/* Where unpacking puts things. */
typedef struct oci_unpack_out {
    uint8_t *slab;
    int64_t at; /* used so far, a multiple of 8 */
    int64_t size;
    uint8_t *extra; /* for child columns, dictionaries, lists of view buffers */
    int64_t extra_at;
    int64_t extra_size;
} oci_unpack_out;

/* Unpacks into out, after measuring. All bytes of `in` must be used up then. The column is valid as
 * oci_column_validate() would have it, whatever the bytes were; strings are not checked for
 * UTF-8. */
OC_NODISCARD oc_status oci_unpack_column(const oci_field *field, int64_t rows, oci_pack_in *in,
                                         oci_unpack_out *out, oci_column *column, oc_error *err);

#endif /* OUTCORE_ENCODING_PACKED_COLUMN_H */
