/* Packs columns and unpacks them again, for tests and the fuzz target. Every buffer is an allocation
 * of its own and just as long as it has to be, so that a sanitizer sees each byte beside it. */
#ifndef OUTCORE_ENCODING_PACKED_COLUMN_TEST_SUPPORT_H
#define OUTCORE_ENCODING_PACKED_COLUMN_TEST_SUPPORT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "encoding/packed_column.h"

typedef struct packed_bytes {
    uint8_t *packed;
    int64_t packed_size;
    uint8_t *bytes;
    int64_t bytes_size;
} packed_bytes;

/* Ends the program when a condition does not hold. */
#define test_require(condition) test_require_at((condition), #condition, __LINE__)

static inline void test_require_at(bool condition, const char *text, int line)
{
    if (!condition) {
        fprintf(stderr, "line %d: %s\n", line, text);
        abort();
    }
}

/* A copy; never NULL. */
static inline uint8_t *test_block(const uint8_t *from, int64_t size)
{
    uint8_t *block = calloc(1, (size_t)size + (size == 0));
    if (block == NULL || (from == NULL && size > 0)) {
        abort();
    }
    if (size > 0) {
        memcpy(block, from, (size_t)size);
    }
    return block;
}

/* Packs column `i` into memory full of `fill`, checks the bounds, and cuts the streams to what they
 * are. */
static inline packed_bytes test_pack_over(oci_packer *packer, int32_t i, const oci_column *column,
                                          oci_mem *mem, uint8_t fill)
{
    oci_packed_bound bound;
    oci_reservation from = {.mem = mem};
    int64_t before = oci_mem_held(mem);
    oci_packer_bound(packer, i, column, &bound);
    test_require(bound.packed % OCI_PACK_ALIGN == 0 && bound.bytes >= 0);
    test_require(bound.both == bound.packed + bound.bytes);
    test_require(oci_mem_reserve(mem, &from, bound.scratch, NULL) == OC_OK);
    int64_t reserved = from.bytes;
    oci_pack_out out = {.packed = malloc((size_t)bound.packed + 1),
                        .bytes = malloc((size_t)bound.bytes + 1)};
    test_require(out.packed != NULL && out.bytes != NULL);
    memset(out.packed, fill, (size_t)bound.packed + 1);
    memset(out.bytes, fill, (size_t)bound.bytes + 1);
    oc_error error = {0};
    test_require(oci_pack_column(packer, i, column, &from, &out, &error) == OC_OK);
    test_require(out.packed_at <= bound.packed && out.bytes_at <= bound.bytes);
    test_require(out.packed_at % OCI_PACK_ALIGN == 0);
    test_require(from.bytes == reserved);
    oci_reservation_release(&from);
    test_require(oci_mem_held(mem) == before);
    packed_bytes packed = {.packed = test_block(out.packed, out.packed_at),
                           .packed_size = out.packed_at,
                           .bytes = test_block(out.bytes, out.bytes_at),
                           .bytes_size = out.bytes_at};
    free(out.packed);
    free(out.bytes);
    return packed;
}

static inline packed_bytes test_pack(oci_packer *packer, int32_t i, const oci_column *column,
                                     oci_mem *mem)
{
    return test_pack_over(packer, i, column, mem, 0xA5);
}

static inline void test_packed_free(packed_bytes *packed)
{
    free(packed->packed);
    free(packed->bytes);
}

typedef struct unpacked {
    uint8_t *slab;
    uint8_t *extra;
    int64_t slab_size;
    oci_column column;
} unpacked;

static inline void test_unpacked_free(unpacked *column)
{
    free(column->slab);
    free(column->extra);
}

/* Unpacks what may be damaged, unless it wants more than `slab_max` bytes. What comes out must be
 * valid and of the size that was measured. */
static inline oc_status test_unpack(const oci_schema *schema, int32_t i, int64_t rows,
                                    const packed_bytes *packed, int64_t slab_max, unpacked *out,
                                    oc_error *err)
{
    const oci_field *field = &schema->fields[i];
    oci_pack_in in = {.packed = packed->packed,
                      .packed_size = packed->packed_size,
                      .bytes = packed->bytes,
                      .bytes_size = packed->bytes_size};
    *out = (unpacked){.slab_size = 0};
    OC_TRY(oci_unpack_measure(field, rows, &in, &out->slab_size, err));
    test_require(out->slab_size >= 0 && out->slab_size % 8 == 0);
    test_require(in.packed_at == 0 && in.bytes_at == 0);
    if (out->slab_size > slab_max) {
        OC_FAIL(err, OC_EBUDGET, "too large");
    }
    int64_t extra_bytes = oci_unpack_extra_bytes(schema);
    out->slab = malloc((size_t)out->slab_size + (out->slab_size == 0));
    out->extra = malloc((size_t)extra_bytes + (extra_bytes == 0));
    test_require(out->slab != NULL && out->extra != NULL);
    oci_unpack_out to = {
        .slab = out->slab, .size = out->slab_size, .extra = out->extra, .extra_size = extra_bytes};
    oc_status status = oci_unpack_column(field, rows, &in, &to, &out->column, err);
    test_require(status != OC_EINTERNAL);
    if (status != OC_OK) {
        test_unpacked_free(out);
        *out = (unpacked){.slab_size = 0};
        return status;
    }
    test_require(to.at == to.size);
    test_require(schema->n_fields > 1 || to.extra_at == to.extra_size);
    test_require(out->column.length == rows && out->column.field == field);
    test_require(oci_column_validate(&out->column, -1, err) == OC_OK);
    return OC_OK;
}

static inline void test_same_values(const oci_column *a, const oci_column *b)
{
    test_require(a->length == b->length);
    for (int64_t row = 0; row < a->length; row++) {
        test_require(oci_value_equal(a, row, b, row));
    }
}

#endif /* OUTCORE_ENCODING_PACKED_COLUMN_TEST_SUPPORT_H */
