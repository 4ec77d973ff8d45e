/* What the files of the value decoder (decode.h) share. */
#ifndef OUTCORE_FORMATS_PARQUET_DECODE_INTERNAL_H
#define OUTCORE_FORMATS_PARQUET_DECODE_INTERNAL_H

#include "formats/parquet/decode.h"

/* Numbers that are held on the stack at a time. */
enum { OCI_PARQUET_BLOCK = 512 };

/* The page ends before the values that were asked for. */
OC_NODISCARD oc_status oci_parquet_fail_short(const oci_parquet_decoder *d, oc_error *err);
/* One of indices[0..n) is not in the dictionary: OC_EDATA. */
OC_NODISCARD oc_status oci_parquet_check_indices(const oci_parquet_dictionary *dictionary,
                                                 const uint32_t *indices, int64_t n, oc_error *err);
/* DELTA_BYTE_ARRAY: passes n values; their bytes go to `out` (of `capacity` bytes), or nowhere when it is NULL; their
 * lengths to `lengths` unless it is NULL. */
OC_NODISCARD oc_status oci_parquet_decode_front(oci_parquet_decoder *d, int64_t n, int32_t *lengths,
                                                uint8_t *out, int64_t capacity, oc_error *err);

#endif /* OUTCORE_FORMATS_PARQUET_DECODE_INTERNAL_H */
