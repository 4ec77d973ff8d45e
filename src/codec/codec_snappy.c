/* Snappy blocks: a varint of the content's size, then literals and copies. The library checks all of it while it
 * writes; its working memory is bounded by its blocks of 64 KiB. */
#include "codec/codec_impl.h"

#include <snappy-c.h>

static int64_t snappy_bound(int64_t size)
{
    return (int64_t)snappy_max_compressed_length((size_t)size);
}

static int64_t snappy_content_max(const void *src, int64_t size)
{
    size_t length = 0;
    if (snappy_uncompressed_length(src, (size_t)size, &length) != SNAPPY_OK) {
        return 0;
    }
    return (int64_t)length;
}

static oc_status snappy_codec_compress(oci_codec *codec, const void *src, int64_t size, void *dst,
                                       int64_t capacity, int64_t *written, oc_error *err)
{
    (void)codec;
    size_t length = (size_t)capacity;
    if (snappy_compress(src, (size_t)size, dst, &length) != SNAPPY_OK) {
        OC_FAIL(err, OC_EINTERNAL, "could not compress %" PRId64 " bytes with snappy", size);
    }
    *written = (int64_t)length;
    return OC_OK;
}

static oc_status snappy_codec_decompress(oci_codec *codec, const void *src, int64_t size, void *dst,
                                         int64_t dst_size, oc_error *err)
{
    (void)codec;
    char nothing;
    size_t length = 0;
    if (snappy_uncompressed_length(src, (size_t)size, &length) != SNAPPY_OK) {
        OC_FAIL(err, OC_EDATA, "snappy block is damaged: it does not begin with its size");
    }
    if (length != (size_t)dst_size) {
        OC_FAIL(err, OC_EDATA, "snappy block holds %zu bytes, %" PRId64 " are announced", length,
                dst_size);
    }
    if (snappy_uncompress(src, (size_t)size, dst_size > 0 ? dst : &nothing, &length) != SNAPPY_OK ||
        length != (size_t)dst_size) {
        OC_FAIL(err, OC_EDATA, "snappy block of %" PRId64 " bytes is damaged", size);
    }
    return OC_OK;
}

const oci_codec_ops oci_codec_snappy_ops = {
    .create = oci_codec_plain_create,
    .destroy = oci_codec_plain_destroy,
    .bound = snappy_bound,
    .content_max = snappy_content_max,
    .compress = snappy_codec_compress,
    .decompress = snappy_codec_decompress,
};
