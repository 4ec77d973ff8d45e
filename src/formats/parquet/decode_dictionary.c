/* The values of a dictionary page. See decode.h.
 *
 *   block: | offsets (n + 1, byte arrays only) | values | 32 bytes that may be read |
 *
 * What is allocated follows from the page: every value of a byte array takes 4 bytes in it, every fixed one its
 * width. */
#include "base/bits.h"
#include "formats/parquet/byte_copy.h"
#include "formats/parquet/decode_internal.h"

enum { SIZE_BYTES = 4 };

/* `head` bytes, then `bytes` of values. */
static oc_status allocate(oci_parquet_dictionary *dictionary, int64_t head, int64_t bytes,
                          oc_error *err)
{
    dictionary->block_bytes = head + bytes + OCI_PARQUET_COPY_BYTES;
    OC_TRY(oci_mem_alloc(dictionary->mem, dictionary->block_bytes, &dictionary->block, err));
    dictionary->values = (uint8_t *)dictionary->block + head;
    memset(dictionary->values + bytes, 0, OCI_PARQUET_COPY_BYTES);
    return OC_OK;
}

static oc_status fill_fixed(oci_parquet_dictionary *dictionary, const uint8_t *data, int64_t size,
                            oc_error *err)
{
    int64_t bytes = (int64_t)dictionary->n * dictionary->width;
    if (bytes > size) {
        OC_FAIL(err, OC_EDATA,
                "dictionary page of %" PRId64 " bytes ends before its %" PRId32
                " values of %" PRId32 " bytes",
                size, dictionary->n, dictionary->width);
    }
    OC_TRY(allocate(dictionary, 0, bytes, err));
    if (bytes > 0) {
        memcpy(dictionary->values, data, (size_t)bytes);
    }
    return OC_OK;
}

/* Bytes of all values; OC_EDATA when one goes beyond the page. */
static oc_status measure_bytes(const uint8_t *data, int64_t size, int32_t n, int64_t *bytes,
                               oc_error *err)
{
    int64_t at = 0;
    for (int32_t i = 0; i < n; i++) {
        int64_t length = size - at < SIZE_BYTES ? INT64_MAX : oci_load_le32(data + at);
        if (length > size - at - SIZE_BYTES) {
            OC_FAIL(err, OC_EDATA,
                    "dictionary page of %" PRId64 " bytes ends inside value %" PRId32
                    " of %" PRId32,
                    size, i, n);
        }
        at += SIZE_BYTES + length;
    }
    *bytes = at - (int64_t)n * SIZE_BYTES;
    if (*bytes > INT32_MAX) {
        OC_FAIL(err, OC_EDATA, "dictionary page has %" PRId64 " bytes of values", *bytes);
    }
    return OC_OK;
}

static oc_status fill_bytes(oci_parquet_dictionary *dictionary, const uint8_t *data, int64_t size,
                            oc_error *err)
{
    int64_t bytes;
    OC_TRY(measure_bytes(data, size, dictionary->n, &bytes, err));
    int64_t head = oci_round_up(((int64_t)dictionary->n + 1) * (int64_t)sizeof(int32_t), 8);
    OC_TRY(allocate(dictionary, head, bytes, err));
    dictionary->offsets = dictionary->block;
    int32_t offset = 0;
    for (int32_t i = 0; i < dictionary->n; i++) {
        int32_t length = (int32_t)oci_load_le32(data);
        data += SIZE_BYTES;
        dictionary->offsets[i] = offset;
        if (length > 0) {
            memcpy(dictionary->values + offset, data, (size_t)length);
        }
        data += length;
        offset += length;
    }
    dictionary->offsets[dictionary->n] = offset;
    return OC_OK;
}

oc_status oci_parquet_dictionary_create(oci_parquet_type type, int32_t type_length,
                                        const uint8_t *data, int64_t size, int32_t n, oci_mem *mem,
                                        oci_parquet_dictionary **out, oc_error *err)
{
    if (type == OCI_PARQUET_BOOLEAN || n < 0) {
        OC_FAIL(err, OC_EDATA, "%s has a dictionary of %" PRId32 " values",
                oci_parquet_type_name(type), n);
    }
    void *made;
    OC_TRY(oci_mem_alloc(mem, sizeof(oci_parquet_dictionary), &made, err));
    oci_parquet_dictionary *dictionary = made;
    *dictionary = (oci_parquet_dictionary){
        .n = n, .width = oci_parquet_type_width(type, type_length), .mem = mem};
    oc_status status = type == OCI_PARQUET_BYTE_ARRAY ? fill_bytes(dictionary, data, size, err)
                                                      : fill_fixed(dictionary, data, size, err);
    if (status != OC_OK) {
        oci_parquet_dictionary_destroy(dictionary);
        return status;
    }
    *out = dictionary;
    return OC_OK;
}

void oci_parquet_dictionary_destroy(oci_parquet_dictionary *dictionary)
{
    if (dictionary == NULL) {
        return;
    }
    oci_mem_free(dictionary->mem, dictionary->block, dictionary->block_bytes);
    oci_mem_free(dictionary->mem, dictionary, sizeof *dictionary);
}
