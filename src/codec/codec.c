/* Names of the codecs, the way to each library, and the codec that only copies. The work is in
 * a file per library; this file checks what is common, so that they need not.
 *
 * A codec is one struct from malloc, whatever the size of what it works on. */
#include "codec/codec_impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bits.h"

static const struct {
    const char *name;
    const oci_codec_ops *ops;
} codecs[] = {
    [OCI_CODEC_NONE] = {"none", &oci_codec_none_ops},
    [OCI_CODEC_LZ4_FRAME] = {"lz4_frame", &oci_codec_lz4_ops},
    [OCI_CODEC_ZSTD] = {"zstd", &oci_codec_zstd_ops},
    [OCI_CODEC_SNAPPY] = {"snappy", &oci_codec_snappy_ops},
    [OCI_CODEC_GZIP] = {"gzip", &oci_codec_gzip_ops},
    [OCI_CODEC_BROTLI] = {"brotli", &oci_codec_brotli_ops},
    [OCI_CODEC_LZ4_RAW] = {"lz4_raw", &oci_codec_lz4_raw_ops},
    [OCI_CODEC_LZ4_HADOOP] = {"lz4_hadoop", &oci_codec_lz4_hadoop_ops},
};

static const struct {
    const char *text;
    oci_codec_id id;
} codec_texts[] = {
    {"none", OCI_CODEC_NONE},     {"uncompressed", OCI_CODEC_NONE},
    {"lz4", OCI_CODEC_LZ4_FRAME}, {"lz4_frame", OCI_CODEC_LZ4_FRAME},
    {"zstd", OCI_CODEC_ZSTD},
};

const char *oci_codec_name(oci_codec_id id)
{
    assert(id <= OCI_CODEC_LZ4_HADOOP);
    return codecs[id].name;
}

bool oci_codec_parse(const char *text, oci_codec_id *out)
{
    for (size_t i = 0; i < sizeof codec_texts / sizeof codec_texts[0]; i++) {
        if (strcasecmp(text, codec_texts[i].text) == 0) {
            *out = codec_texts[i].id;
            return true;
        }
    }
    return false;
}

oc_status oci_codec_create(oci_codec_id id, int level, oci_codec **out, oc_error *err)
{
    assert(id <= OCI_CODEC_LZ4_HADOOP);
    OC_TRY(codecs[id].ops->create(out, err));
    (*out)->ops = codecs[id].ops;
    (*out)->id = id;
    oc_status status = oci_codec_set_level(*out, level, err);
    if (status != OC_OK) {
        oci_codec_destroy(*out);
        *out = NULL;
    }
    return status;
}

oc_status oci_codec_set_level(oci_codec *codec, int level, oc_error *err)
{
    if (level < -10 || level > 9) {
        OC_FAIL(err, OC_EINVAL,
                "compression level %d is out of range: use -10 to 9, or 0 for the default", level);
    }
    return codec->ops->set_level == NULL ? OC_OK : codec->ops->set_level(codec, level, err);
}

void oci_codec_charge(oci_codec *codec, oci_mem *mem)
{
    codec->mem = mem;
}

void oci_codec_destroy(oci_codec *codec)
{
    if (codec != NULL) {
        codec->ops->destroy(codec);
    }
}

int64_t oci_codec_bound(oci_codec_id id, int64_t size)
{
    assert(size >= 0);
    return codecs[id].ops->bound(size);
}

int64_t oci_codec_content_max(oci_codec_id id, const void *src, int64_t size)
{
    assert(size >= 0);
    return codecs[id].ops->content_max(src, size);
}

oc_status oci_codec_compress(oci_codec *codec, const void *src, int64_t size, void *dst,
                             int64_t capacity, int64_t *written, oc_error *err)
{
    assert(size >= 0);
    int64_t bound = codec->ops->bound(size);
    if (capacity < bound) {
        OC_FAIL(err, OC_EINVAL,
                "could not compress %" PRId64 " bytes with %s: %" PRId64
                " bytes of room are given, %" PRId64 " are needed",
                size, oci_codec_name(codec->id), capacity, bound);
    }
    return codec->ops->compress(codec, src, size, dst, capacity, written, err);
}

oc_status oci_codec_decompress(oci_codec *codec, const void *src, int64_t size, void *dst,
                               int64_t dst_size, oc_error *err)
{
    assert(size >= 0 && dst_size >= 0);
    return codec->ops->decompress(codec, src, size, dst, dst_size, err);
}

oc_status oci_codec_stream_begin(oci_codec *codec, oc_error *err)
{
    if (codec->ops->stream_begin == NULL) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "could not decompress piece by piece: %s is for whole buffers",
                oci_codec_name(codec->id));
    }
    return codec->ops->stream_begin(codec, err);
}

oc_status oci_codec_stream_step(oci_codec *codec, const void *src, int64_t *src_size, void *dst,
                                int64_t *dst_size, bool *end, oc_error *err)
{
    assert(*src_size >= 0 && *dst_size >= 0);
    bool had_both = *src_size > 0 && *dst_size > 0;
    *end = false;
    OC_TRY(codec->ops->stream_step(codec, src, src_size, dst, dst_size, end, err));
    if (had_both && !*end && *src_size == 0 && *dst_size == 0) {
        OC_FAIL(err, OC_EDATA,
                "could not decompress with %s: the data makes no progress; it is damaged",
                oci_codec_name(codec->id));
    }
    return OC_OK;
}

/* ---- none ------------------------------------------------------------------------------------ */

oc_status oci_codec_plain_create(oci_codec **out, oc_error *err)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while making a codec");
    }
    return OC_OK;
}

void oci_codec_plain_destroy(oci_codec *codec)
{
    free(codec);
}

static int64_t none_bound(int64_t size)
{
    return size;
}

static int64_t none_content_max(const void *src, int64_t size)
{
    (void)src;
    return size;
}

static void copy_bytes(void *dst, const void *src, int64_t size)
{
    if (size > 0) {
        memcpy(dst, src, (size_t)size);
    }
}

static oc_status none_compress(oci_codec *codec, const void *src, int64_t size, void *dst,
                               int64_t capacity, int64_t *written, oc_error *err)
{
    (void)codec;
    (void)capacity;
    (void)err;
    copy_bytes(dst, src, size);
    *written = size;
    return OC_OK;
}

static oc_status none_decompress(oci_codec *codec, const void *src, int64_t size, void *dst,
                                 int64_t dst_size, oc_error *err)
{
    (void)codec;
    if (size != dst_size) {
        OC_FAIL(err, OC_EDATA, "uncompressed data has %" PRId64 " bytes instead of %" PRId64, size,
                dst_size);
    }
    copy_bytes(dst, src, size);
    return OC_OK;
}

static oc_status none_stream_begin(oci_codec *codec, oc_error *err)
{
    (void)codec;
    (void)err;
    return OC_OK;
}

static oc_status none_stream_step(oci_codec *codec, const void *src, int64_t *src_size, void *dst,
                                  int64_t *dst_size, bool *end, oc_error *err)
{
    (void)codec;
    (void)end;
    (void)err;
    int64_t size = oci_min64(*src_size, *dst_size);
    copy_bytes(dst, src, size);
    *src_size = size;
    *dst_size = size;
    return OC_OK;
}

const oci_codec_ops oci_codec_none_ops = {
    .create = oci_codec_plain_create,
    .destroy = oci_codec_plain_destroy,
    .bound = none_bound,
    .content_max = none_content_max,
    .compress = none_compress,
    .decompress = none_decompress,
    .stream_begin = none_stream_begin,
    .stream_step = none_stream_step,
};
