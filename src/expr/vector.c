/* See vector.h. */
#include "expr/vector.h"

#include <string.h>

#include "base/bits.h"

void oci_vector_deinit(oci_vector *vector)
{
    if (vector->mem != NULL) {
        oci_mem_free(vector->mem, vector->block, vector->block_bytes);
    }
    oci_batch_release(vector->keeps);
    *vector = (oci_vector){0};
}

oc_status oci_vector_make(const oci_field *field, int64_t n, bool nullable, oci_mem *mem,
                          oci_vector *out, uint8_t **values, uint8_t **validity, oc_error *err)
{
    bool is_bits = oci_field_layout(field) == OCI_LAYOUT_BITS;
    int64_t bitmap = oci_round_up(oci_bytes_for_bits(n), 8);
    int64_t body = oci_round_up(is_bits ? oci_bytes_for_bits(n) : n * field->byte_width, 8);
    int64_t bytes = oci_max64(8, body + (nullable ? bitmap : 0));
    void *block;
    OC_TRY(oci_mem_alloc(mem, bytes, &block, err));
    uint8_t *at = block;
    uint8_t *bits = NULL;
    if (nullable) {
        bits = at;
        memset(bits, 0xFF, (size_t)bitmap);
        at += bitmap;
    }
    if (is_bits) {
        memset(at, 0, (size_t)body);
    }
    *out = (oci_vector){
        .column = {.field = field,
                   .length = n,
                   .null_count = nullable ? -1 : 0,
                   .validity = bits,
                   .values = at},
        .mem = mem,
        .block = block,
        .block_bytes = bytes,
    };
    *values = at;
    if (validity != NULL) {
        *validity = bits;
    }
    return OC_OK;
}

/* ---- text ------------------------------------------------------------------------------------ */

#define TEXT_BYTES_MIN 256

static int64_t offsets_bytes(const oci_text_builder *builder)
{
    return oci_round_up((builder->n_max + 1) * (int64_t)sizeof(int32_t), 8);
}

oc_status oci_text_builder_init(oci_text_builder *builder, const oci_field *field, int64_t n,
                                oci_mem *mem, oc_error *err)
{
    *builder = (oci_text_builder){.field = field, .mem = mem, .n_max = n};
    void *block;
    OC_TRY(oci_mem_alloc(mem, offsets_bytes(builder), &block, err));
    builder->offsets = block;
    builder->offsets[0] = 0;
    return OC_OK;
}

/* Values and offsets become one block at the end, so room for them is beside. */
static oc_status grow_text(oci_text_builder *builder, int64_t size, oc_error *err)
{
    int64_t needed = builder->bytes_used + size;
    if (needed > INT32_MAX) {
        OC_FAIL(err, OC_EINVAL,
                "the texts of one batch pass 2 GiB together; use a smaller batch size");
    }
    int64_t room =
        oci_max64(TEXT_BYTES_MIN, oci_max64(needed, builder->bytes_room + builder->bytes_room / 2));
    void *grown;
    OC_TRY(oci_mem_realloc(builder->mem, builder->bytes, builder->bytes_room, room, &grown, err));
    builder->bytes = grown;
    builder->bytes_room = room;
    return OC_OK;
}

oc_status oci_text_builder_room(oci_text_builder *builder, int64_t size, uint8_t **out,
                                oc_error *err)
{
    if (builder->bytes == NULL || builder->bytes_room - builder->bytes_used < size) {
        OC_TRY(grow_text(builder, size, err));
    }
    *out = builder->bytes + builder->bytes_used;
    return OC_OK;
}

void oci_text_builder_commit(oci_text_builder *builder, int64_t length)
{
    builder->bytes_used += length;
    builder->offsets[++builder->n] = (int32_t)builder->bytes_used;
}

oc_status oci_text_builder_append(oci_text_builder *builder, const uint8_t *bytes, int64_t length,
                                  oc_error *err)
{
    uint8_t *to;
    OC_TRY(oci_text_builder_room(builder, length, &to, err));
    if (length > 0) {
        memcpy(to, bytes, (size_t)length);
    }
    oci_text_builder_commit(builder, length);
    return OC_OK;
}

oc_status oci_text_builder_append_null(oci_text_builder *builder, oc_error *err)
{
    if (builder->validity == NULL) {
        int64_t bytes = oci_round_up(oci_bytes_for_bits(builder->n_max), 8);
        void *block;
        OC_TRY(oci_mem_alloc(builder->mem, bytes, &block, err));
        memset(block, 0xFF, (size_t)bytes);
        builder->validity = block;
    }
    oci_bit_clear(builder->validity, builder->n);
    oci_text_builder_commit(builder, 0);
    return OC_OK;
}

static int64_t validity_bytes(const oci_text_builder *builder)
{
    return builder->validity == NULL ? 0 : oci_round_up(oci_bytes_for_bits(builder->n_max), 8);
}

void oci_text_builder_deinit(oci_text_builder *builder)
{
    oci_mem_free(builder->mem, builder->offsets, offsets_bytes(builder));
    oci_mem_free(builder->mem, builder->validity, validity_bytes(builder));
    oci_mem_free(builder->mem, builder->bytes, builder->bytes_room);
    *builder = (oci_text_builder){0};
}

oc_status oci_text_builder_finish(oci_text_builder *builder, oci_vector *out, oc_error *err)
{
    int64_t offsets = offsets_bytes(builder);
    int64_t bitmap = validity_bytes(builder);
    int64_t total = oci_max64(8, offsets + bitmap + builder->bytes_used);
    void *block;
    oc_status status = oci_mem_alloc(builder->mem, total, &block, err);
    if (status != OC_OK) {
        oci_text_builder_deinit(builder);
        return status;
    }
    uint8_t *at = block;
    memcpy(at, builder->offsets, (size_t)(builder->n + 1) * sizeof(int32_t));
    uint8_t *bits = at + offsets;
    if (bitmap > 0) {
        memcpy(bits, builder->validity, (size_t)bitmap);
    }
    if (builder->bytes_used > 0) {
        memcpy(bits + bitmap, builder->bytes, (size_t)builder->bytes_used);
    }
    *out = (oci_vector){
        .column = {.field = builder->field,
                   .length = builder->n,
                   .null_count = bitmap > 0 ? -1 : 0,
                   .validity = bitmap > 0 ? bits : NULL,
                   .values = at,
                   .bytes = bits + bitmap},
        .mem = builder->mem,
        .block = block,
        .block_bytes = total,
    };
    oci_text_builder_deinit(builder);
    return OC_OK;
}
