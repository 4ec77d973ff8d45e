/* The values of one leaf for one batch, and the Arrow column that they become.
 *
 *   oci_parquet_values_begin      for so many rows
 *   oci_parquet_values_take       n values (nulls are none) from the page at hand, as often as it takes
 *   oci_parquet_values_finish     spread over the rows by a validity bitmap: a column of the field's type
 *
 * What the values are turned into follows from physical type and field: kept as they are, narrowed (INT32 to int8,
 * int16), widened (INT32, INT64 to decimals), turned around (decimals in byte arrays are big-endian), counted
 * anew (INT96). Byte arrays get offsets. A dictionary field gets indices while all pages have the chunk's
 * dictionary, else the values themselves are its dictionary and number i is the i-th. Buffers are charged, one block
 * each, and go over to the batch. */
#ifndef OUTCORE_FORMATS_PARQUET_VALUE_BUILDER_H
#define OUTCORE_FORMATS_PARQUET_VALUE_BUILDER_H

#include "arrow/batch.h"
#include "formats/parquet/leaf_reader.h"

/* A block that is charged. */
typedef struct oci_parquet_block {
    uint8_t *data;
    int64_t bytes;
} oci_parquet_block;

typedef enum oci_parquet_form {
    OCI_PARQUET_FORM_NULL,
    OCI_PARQUET_FORM_BITS,
    OCI_PARQUET_FORM_SAME,          /* fixed width, bytes as they are */
    OCI_PARQUET_FORM_NARROW,        /* INT32 to 1 or 2 bytes */
    OCI_PARQUET_FORM_WIDEN,         /* INT32, INT64 to a wider number with sign */
    OCI_PARQUET_FORM_REVERSE,       /* FIXED big-endian to a number of the field's width */
    OCI_PARQUET_FORM_REVERSE_BYTES, /* the same of BYTE_ARRAY */
    OCI_PARQUET_FORM_INT96,
    OCI_PARQUET_FORM_BYTES,     /* BYTE_ARRAY to offsets and bytes */
    OCI_PARQUET_FORM_DICTIONARY /* BYTE_ARRAY to a dictionary field */
} oci_parquet_form;

typedef struct oci_parquet_values {
    const oci_field *field;
    oci_parquet_form form;
    int32_t from_width; /* bytes of a value in the file, 0 = byte arrays, bits */
    int32_t width;      /* in the column */
    oci_mem *mem;
    int64_t n;                 /* values so far */
    oci_parquet_block fixed;   /* numbers, bits; dictionary indices */
    oci_parquet_block lengths; /* int32, of byte arrays */
    oci_parquet_block bytes;   /* of byte arrays */
    int64_t n_bytes;
    double bytes_per_value;    /* so far, for the next batch */
    oci_parquet_block scratch; /* kept from batch to batch */
    oci_batch *
        dictionary_batch; /* DICTIONARY: the chunk's dictionary as a column, when indices are taken */
    bool takes_indices;
} oci_parquet_values;

/* OC_EUNSUPPORTED: a field that the leaf's type cannot become. */
OC_NODISCARD oc_status oci_parquet_values_init(oci_parquet_values *v, const oci_parquet_leaf *leaf,
                                               const oci_field *field, oci_mem *mem, oc_error *err);
void oci_parquet_values_deinit(oci_parquet_values *v);
/* A new chunk: its dictionary is another one. */
void oci_parquet_values_new_chunk(oci_parquet_values *v);

/* Room for n values; more come in at a price. */
OC_NODISCARD oc_status oci_parquet_values_begin(oci_parquet_values *v, int64_t n, oc_error *err);
OC_NODISCARD oc_status oci_parquet_values_take(oci_parquet_values *v, oci_parquet_leaf_reader *r,
                                               int64_t n, oc_error *err);
/* Gives the column of `rows` rows, whose buffers `batch` keeps from now on. `validity` (may be NULL: all valid) has as
 * many bits set as values were taken and is kept by the batch otherwise. Leaves the builder empty, also on
 * failure. `space` may hold a column for a dictionary. */
OC_NODISCARD oc_status oci_parquet_values_finish(oci_parquet_values *v, const uint8_t *validity,
                                                 int64_t rows, oci_column *out, oci_column *space,
                                                 oci_batch *batch, oc_error *err);
/* Bytes that the values take now. */
int64_t oci_parquet_values_bytes(const oci_parquet_values *v);

/* Has `batch` keep a block (taken, also on failure). */
OC_NODISCARD oc_status oci_parquet_keep_block(oci_batch *batch, oci_mem *mem,
                                              oci_parquet_block *block, oc_error *err);
/* A block of at least `bytes`, of whose old contents the first `used` bytes stay. */
OC_NODISCARD oc_status oci_parquet_block_grow(oci_mem *mem, oci_parquet_block *block, int64_t used,
                                              int64_t bytes, oc_error *err);
void oci_parquet_block_free(oci_mem *mem, oci_parquet_block *block);

#endif /* OUTCORE_FORMATS_PARQUET_VALUE_BUILDER_H */
