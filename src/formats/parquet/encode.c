/* The growing buffer, and what is a copy or nearly so: PLAIN, BYTE_STREAM_SPLIT. See encode.h. */
#include "formats/parquet/encode.h"

#include "base/bits.h"

enum { BUFFER_BYTES_MIN = 256, SIZE_BYTES = 4 };

oc_status oci_parquet_buffer_reserve(oci_parquet_buffer *buffer, int64_t bytes, oc_error *err)
{
    int64_t needed = buffer->length + bytes;
    if (needed <= buffer->capacity) {
        return OC_OK;
    }
    /* Half as much again: buffers are kept from page to page, so they grow a few times only. */
    int64_t capacity =
        oci_max64(BUFFER_BYTES_MIN, oci_max64(needed, buffer->capacity + buffer->capacity / 2));
    void *grown;
    OC_TRY(oci_mem_realloc(buffer->mem, buffer->data, buffer->capacity, capacity, &grown, err));
    buffer->data = grown;
    buffer->capacity = capacity;
    return OC_OK;
}

oc_status oci_parquet_buffer_append(oci_parquet_buffer *buffer, const void *data, int64_t bytes,
                                    oc_error *err)
{
    OC_TRY(oci_parquet_buffer_reserve(buffer, bytes, err));
    if (bytes > 0) {
        memcpy(buffer->data + buffer->length, data, (size_t)bytes);
    }
    buffer->length += bytes;
    return OC_OK;
}

void oci_parquet_buffer_free(oci_parquet_buffer *buffer)
{
    oci_mem_free(buffer->mem, buffer->data, buffer->capacity);
    *buffer = (oci_parquet_buffer){.mem = buffer->mem};
}

oc_status oci_parquet_encode_bits(const uint8_t *bits, int64_t offset, int64_t n,
                                  oci_parquet_buffer *out, oc_error *err)
{
    int64_t bytes = oci_bytes_for_bits(n);
    OC_TRY(oci_parquet_buffer_reserve(out, bytes, err));
    if (bytes > 0) {
        out->data[out->length + bytes - 1] = 0;
        oci_bits_copy(out->data + out->length, 0, bits, offset, n);
    }
    out->length += bytes;
    return OC_OK;
}

oc_status oci_parquet_encode_plain_bytes(const oci_parquet_strings *strings,
                                         oci_parquet_buffer *out, oc_error *err)
{
    OC_TRY(oci_parquet_buffer_reserve(out, strings->n * SIZE_BYTES + strings->n_bytes, err));
    const uint8_t *from = strings->bytes;
    uint8_t *to = out->data + out->length;
    for (int64_t i = 0; i < strings->n; i++) {
        int32_t length = strings->lengths[i];
        oci_store_le32(to, (uint32_t)length);
        to += SIZE_BYTES;
        if (length > 0) {
            memcpy(to, from, (size_t)length);
        }
        to += length;
        from += length;
    }
    out->length = to - out->data;
    return OC_OK;
}

oc_status oci_parquet_encode_split(const uint8_t *values, int64_t n, int32_t width,
                                   oci_parquet_buffer *out, oc_error *err)
{
    OC_TRY(oci_parquet_buffer_reserve(out, n * width, err));
    uint8_t *to = out->data + out->length;
    for (int32_t k = 0; k < width; k++) {
        for (int64_t i = 0; i < n; i++) {
            to[k * n + i] = values[i * width + k];
        }
    }
    out->length += n * width;
    return OC_OK;
}
