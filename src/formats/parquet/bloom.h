/* Bloom filters of column chunks: split blocks of 32 bytes, XXH64.
 *
 * A filter may be large and is asked for few values, so it is not loaded: a value is one block, read where it
 * lies. */
#ifndef OUTCORE_FORMATS_PARQUET_BLOOM_H
#define OUTCORE_FORMATS_PARQUET_BLOOM_H

#include "formats/parquet/metadata.h"

typedef struct oci_parquet_bloom {
    oci_file *file; /* borrowed; NULL: no filter, or one of a kind that is not known */
    int64_t offset; /* of the first block */
    int64_t n_blocks;
} oci_parquet_bloom;

/* Reads the header of the filter of `chunk`. OC_EDATA: it is damaged or not inside the file. */
OC_NODISCARD oc_status oci_parquet_bloom_open(oci_file *file, const oci_parquet_metadata *metadata,
                                              const oci_parquet_column_chunk *chunk,
                                              oci_parquet_bloom *out, oc_error *err);

/* Whether the chunk may hold the value, which is given as PLAIN encodes it, texts without their length. True when
 * there is no filter. */
OC_NODISCARD oc_status oci_parquet_bloom_may_hold(const oci_parquet_bloom *bloom, const void *value,
                                                  int64_t size, bool *out, oc_error *err);

/* The bits of a value in its block, and the block: what is behind the call above. */
enum { OCI_PARQUET_BLOOM_BLOCK_BYTES = 32 };
void oci_parquet_bloom_mask(uint64_t hash, uint32_t mask[8]);
static inline int64_t oci_parquet_bloom_block(uint64_t hash, int64_t n_blocks)
{
    return (int64_t)(((hash >> 32) * (uint64_t)n_blocks) >> 32);
}

#endif /* OUTCORE_FORMATS_PARQUET_BLOOM_H */
