/* Vectors: what expressions compute.
 *
 * A vector holds one value per row of a batch, or one value for all of them (a constant). Its column
 * is flat: of any layout but dictionary, runs and views of either kind, which are resolved when a
 * column of the input is first used in a computation (and not at all when it is only passed on). So
 * a kernel meets BITS, FIXED, OFFSETS32, OFFSETS64, LIST32/64, FIXED_LIST, STRUCT, and NULL.
 *
 * Memory that grows with rows is charged to the account of the evaluation; a vector may also borrow
 * from the batch, or from another vector, which then must live longer. */
#ifndef OUTCORE_EXPR_VECTOR_H
#define OUTCORE_EXPR_VECTOR_H

#include "arrow/batch.h"

typedef struct oci_vector {
    oci_column column; /* column.length is 1 when is_constant */
    bool is_constant;  /* row 0 stands for every row */
    /* private: what is owned */
    oci_mem *mem;
    void *block;
    int64_t block_bytes;
    oci_batch *keeps; /* or NULL */
} oci_vector;

void oci_vector_deinit(oci_vector *vector); /* zeroed is fine */

/* The row of the column that holds the value of row i. */
static inline int64_t oci_vector_row(const oci_vector *vector, int64_t i)
{
    return vector->is_constant ? 0 : i;
}

/* A vector of `n` rows of a BITS or FIXED type to be filled, from offset 0. Values are not
 * initialised. *validity gets a bitmap that is all ones when `nullable`, else NULL. BITS: *values are
 * bits, all 0. */
OC_NODISCARD oc_status oci_vector_make(const oci_field *field, int64_t n, bool nullable,
                                       oci_mem *mem, oci_vector *out, uint8_t **values,
                                       uint8_t **validity, oc_error *err);

/* Builds a vector of utf8 or binary (32-bit offsets; OC_EBUDGET-like failures as of oci_mem_alloc,
 * and OC_EINVAL when texts of one batch pass 2 GiB together) value after value. */
typedef struct oci_text_builder {
    const oci_field *field;
    oci_mem *mem;
    int32_t *offsets;
    uint8_t *validity; /* NULL until the first null */
    uint8_t *bytes;
    int64_t n;
    int64_t n_max;
    int64_t bytes_used;
    int64_t bytes_room;
} oci_text_builder;

OC_NODISCARD oc_status oci_text_builder_init(oci_text_builder *builder, const oci_field *field,
                                             int64_t n, oci_mem *mem, oc_error *err);
/* Room for one value of up to `size` bytes at *out; then oci_text_builder_commit with its length. */
OC_NODISCARD oc_status oci_text_builder_room(oci_text_builder *builder, int64_t size, uint8_t **out,
                                             oc_error *err);
void oci_text_builder_commit(oci_text_builder *builder, int64_t length);
OC_NODISCARD oc_status oci_text_builder_append(oci_text_builder *builder, const uint8_t *bytes,
                                               int64_t length, oc_error *err);
OC_NODISCARD oc_status oci_text_builder_append_null(oci_text_builder *builder, oc_error *err);
/* All n values were appended. The builder is empty afterwards, also on failure. */
OC_NODISCARD oc_status oci_text_builder_finish(oci_text_builder *builder, oci_vector *out,
                                               oc_error *err);
void oci_text_builder_deinit(oci_text_builder *builder);

#endif /* OUTCORE_EXPR_VECTOR_H */
