/* The parts of oci_unpack_column() and oci_unpack_measure(), by layout. */
#ifndef OUTCORE_ENCODING_UNPACK_INTERNAL_H
#define OUTCORE_ENCODING_UNPACK_INTERNAL_H

#include "encoding/int_vector.h"
#include "encoding/pack_format.h"
#include "encoding/packed_column.h"

typedef struct oci_unpack_job {
    oci_pack_in *in;
    oci_unpack_out *out; /* NULL: only the sizes are wanted */
    int64_t slab_bytes;  /* given out */
} oci_unpack_job;

typedef struct oci_node_header {
    uint8_t validity;
    uint8_t kind;
    uint8_t part;
    int64_t n_valid; /* rows that are not null */
} oci_node_header;

/* Reads the node of a column of `rows` rows, and those below it. Fills *column, but for pointers when
 * only sizes are wanted. */
OC_NODISCARD oc_status oci_unpack_node(oci_unpack_job *job, const oci_field *field, int64_t rows,
                                       oci_column *column, oc_error *err);

/* ---- layouts: all behind validity ------------------------------------------------------------ */

OC_NODISCARD oc_status oci_unpack_fixed(oci_unpack_job *job, const oci_node_header *header,
                                        oci_column *column, oc_error *err);
OC_NODISCARD oc_status oci_unpack_dictionary(oci_unpack_job *job, const oci_node_header *header,
                                             oci_column *column, oc_error *err);
OC_NODISCARD oc_status oci_unpack_nested(oci_unpack_job *job, const oci_node_header *header,
                                         oci_column *column, oc_error *err);

/* ---- pieces ---------------------------------------------------------------------------------- */

/* n * width bytes, or OC_EDATA when nobody can have so many. */
OC_NODISCARD oc_status oci_unpack_product(int64_t n, int64_t width, int64_t *bytes, oc_error *err);
/* That nobody has so many rows that sums with them run over. */
OC_NODISCARD oc_status oci_unpack_check_rows(int64_t rows, oc_error *err);
/* `bytes` of the slab, and zeros up to a multiple of 8. *to is NULL when only sizes are wanted. */
OC_NODISCARD oc_status oci_unpack_room(oci_unpack_job *job, int64_t bytes, uint8_t **to,
                                       oc_error *err);
/* `bytes` for structs. NULL when only sizes are wanted. */
void *oci_unpack_extra(oci_unpack_job *job, int64_t bytes);
/* A count of rows or values. */
OC_NODISCARD oc_status oci_unpack_count(oci_unpack_job *job, int64_t *count, oc_error *err);
/* `size` bytes of the packed stream, and padding. */
OC_NODISCARD oc_status oci_unpack_take(oci_unpack_job *job, int64_t size, const uint8_t **data,
                                       oc_error *err);
/* Opens the next vector and moves behind it. */
OC_NODISCARD oc_status oci_unpack_open(oci_unpack_job *job, int64_t n, oci_int_reader *reader,
                                       oc_error *err);
/* The next vector as values of `width` bytes, to where `to` points; NULL: passes over it. */
OC_NODISCARD oc_status oci_unpack_ints(oci_unpack_job *job, int64_t n, int width, uint8_t *to,
                                       oc_error *err);
OC_NODISCARD oc_status oci_unpack_bits(oci_unpack_job *job, int64_t n, uint8_t *to, oc_error *err);
/* From the values of valid rows, one behind the other at the front of `values`, to those of all rows
 * of the column, zeros for null ones. */
void oci_unpack_spread(const oci_column *column, int width, int64_t n_valid, uint8_t *values);

#endif /* OUTCORE_ENCODING_UNPACK_INTERNAL_H */
