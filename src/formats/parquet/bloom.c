/* See bloom.h. */
#include "formats/parquet/bloom.h"

#include "base/bits.h"
#include "base/hash.h"
#include "formats/parquet/metadata_parse.h"

/* A header takes about 16 bytes. */
enum { HEADER_BYTES_MAX = 256 };

/* A union whose only known member is field 1. */
static bool parse_known(oci_thrift_reader *r, const oci_thrift_field *of)
{
    oci_thrift_field field = {0};
    bool known = false;
    if (oci_thrift_struct(r, of)) {
        while (oci_thrift_next(r, &field)) {
            known = field.id == 1;
            oci_thrift_skip(r, &field);
        }
    }
    return known;
}

static void parse_header(oci_parquet_parser *p, int64_t *n_bytes, bool *is_known)
{
    oci_thrift_field field = {0};
    int known = 0;
    while (oci_thrift_next(&p->thrift, &field)) {
        switch (field.id) {
        case 1: *n_bytes = oci_thrift_int32(&p->thrift, &field); break;
        case 2: /* algorithm: split blocks */
        case 3: /* hash: XXH64 */
        case 4: /* compression: none */ known += parse_known(&p->thrift, &field); break;
        default: oci_thrift_skip(&p->thrift, &field);
        }
    }
    *is_known = known == 3;
    if (*n_bytes <= 0 || *n_bytes % OCI_PARQUET_BLOOM_BLOCK_BYTES != 0) {
        oci_thrift_fail(&p->thrift, "its size is no multiple of its blocks");
    }
}

oc_status oci_parquet_bloom_open(oci_file *file, const oci_parquet_metadata *metadata,
                                 const oci_parquet_column_chunk *chunk, oci_parquet_bloom *out,
                                 oc_error *err)
{
    uint8_t header[HEADER_BYTES_MAX];
    int64_t end = metadata->file_bytes - metadata->footer.size - OCI_PARQUET_TAIL_BYTES;
    int64_t n_bytes = 0;
    bool is_known = false;
    *out = (oci_parquet_bloom){0};
    if (chunk->bloom_offset == 0) {
        return OC_OK;
    }
    int64_t size = oci_min64(sizeof header, end - chunk->bloom_offset);
    OC_TRY(oci_pread_exact(file, header, size, chunk->bloom_offset, err));
    oci_parquet_parser p = {.thrift = {.data = header, .size = size}, .err = err};
    parse_header(&p, &n_bytes, &is_known);
    if (p.thrift.problem == NULL && n_bytes > end - chunk->bloom_offset - p.thrift.at) {
        oci_thrift_fail(&p.thrift, "it lies outside of the file");
    }
    oc_status status = oci_parquet_parser_finish(&p, "a Bloom filter");
    if (status != OC_OK) {
        oci_error_prefix(err, "Parquet file \"%s\"", file->name);
        return status;
    }
    if (is_known) {
        *out = (oci_parquet_bloom){.file = file,
                                   .offset = chunk->bloom_offset + p.thrift.at,
                                   .n_blocks = n_bytes / OCI_PARQUET_BLOOM_BLOCK_BYTES};
    }
    return OC_OK;
}

void oci_parquet_bloom_mask(uint64_t hash, uint32_t mask[8])
{
    static const uint32_t salts[8] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                      0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};
    for (int i = 0; i < 8; i++) {
        mask[i] = UINT32_C(1) << (((uint32_t)hash * salts[i]) >> 27);
    }
}

oc_status oci_parquet_bloom_may_hold(const oci_parquet_bloom *bloom, const void *value,
                                     int64_t size, bool *out, oc_error *err)
{
    uint8_t block[OCI_PARQUET_BLOOM_BLOCK_BYTES];
    uint32_t mask[8];
    *out = true;
    if (bloom->file == NULL) {
        return OC_OK;
    }
    uint64_t hash = oci_hash_xxh64(value, size);
    int64_t place = oci_parquet_bloom_block(hash, bloom->n_blocks);
    OC_TRY(oci_pread_exact(bloom->file, block, sizeof block,
                           bloom->offset + place * (int64_t)sizeof block, err));
    oci_parquet_bloom_mask(hash, mask);
    for (int i = 0; i < 8; i++) {
        *out = *out && (oci_load_le32(block + 4 * i) & mask[i]) != 0;
    }
    return OC_OK;
}
