/* Gzip by zlib.
 *
 * Written as one gzip member. Read as gzip of any number of members, or as a zlib stream, which some writers put
 * where gzip is announced. zlib counts in 32 bits, so buffers are given to it in pieces.
 *
 * The codec itself comes from malloc, its contexts (268 KiB to write, 44 KiB to read) from the library. */
#include "codec/codec_impl.h"

#include <stdlib.h>
#include <zlib.h>

#include "base/bits.h"

#define PIECE_MAX     (INT64_C(1) << 30)
#define WINDOW_GZIP   (15 + 16) /* 32 KiB, gzip header */
#define WINDOW_DETECT (15 + 32) /* gzip or zlib */
#define LEVEL_DEFAULT 6
#define MEMORY_LEVEL  8 /* zlib's own choice */

typedef struct gzip_codec {
    oci_codec base;
    int level;
    bool has_deflater;
    bool has_inflater;
    z_stream deflater;
    z_stream inflater;
} gzip_codec;

static oc_status gzip_create(oci_codec **out, oc_error *err)
{
    gzip_codec *self = calloc(1, sizeof *self);
    if (self == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while making a codec");
    }
    *out = &self->base;
    return OC_OK;
}

static void drop_deflater(gzip_codec *self)
{
    if (self->has_deflater) {
        deflateEnd(&self->deflater);
        self->has_deflater = false;
    }
}

static oc_status gzip_set_level(oci_codec *codec, int level, oc_error *err)
{
    (void)err;
    gzip_codec *self = (gzip_codec *)codec;
    self->level = level == 0 ? LEVEL_DEFAULT : level < 0 ? 1 : level;
    drop_deflater(self);
    return OC_OK;
}

static void gzip_destroy(oci_codec *codec)
{
    gzip_codec *self = (gzip_codec *)codec;
    drop_deflater(self);
    if (self->has_inflater) {
        inflateEnd(&self->inflater);
    }
    free(self);
}

/* deflateBound() of zlib's default window and memory, with the gzip header and trailer. */
static int64_t gzip_bound(int64_t size)
{
    return size + (size >> 12) + (size >> 14) + (size >> 25) + 13 + 18;
}

/* Deflate gives at most 258 bytes for 2 bits. */
static int64_t gzip_content_max(const void *src, int64_t size)
{
    (void)src;
    return size > INT64_MAX / 1040 ? INT64_MAX : size * 1040;
}

/* Gives the stream pieces of what is left on both sides. */
static void feed(z_stream *stream, int64_t *in_left, int64_t *out_left)
{
    if (stream->avail_in == 0) {
        stream->avail_in = (uInt)oci_min64(*in_left, PIECE_MAX);
        *in_left -= stream->avail_in;
    }
    if (stream->avail_out == 0) {
        stream->avail_out = (uInt)oci_min64(*out_left, PIECE_MAX);
        *out_left -= stream->avail_out;
    }
}

static oc_status gzip_compress(oci_codec *codec, const void *src, int64_t size, void *dst,
                               int64_t capacity, int64_t *written, oc_error *err)
{
    gzip_codec *self = (gzip_codec *)codec;
    z_stream *stream = &self->deflater;
    if (!self->has_deflater) {
        *stream = (z_stream){0};
        if (deflateInit2(stream, self->level, Z_DEFLATED, WINDOW_GZIP, MEMORY_LEVEL,
                         Z_DEFAULT_STRATEGY) != Z_OK) {
            OC_FAIL(err, OC_ENOMEM, "out of memory while making a gzip compressor");
        }
        self->has_deflater = true;
    }
    deflateReset(stream);
    int64_t in_left = size;
    int64_t out_left = capacity;
    stream->next_in = (Bytef *)(uintptr_t)src;
    stream->next_out = dst;
    stream->avail_in = 0;
    stream->avail_out = 0;
    int result = Z_OK;
    while (result == Z_OK) {
        feed(stream, &in_left, &out_left);
        result = deflate(stream, in_left == 0 ? Z_FINISH : Z_NO_FLUSH);
    }
    if (result != Z_STREAM_END) {
        OC_FAIL(err, OC_EINTERNAL, "could not compress %" PRId64 " bytes with gzip: zlib says %d",
                size, result);
    }
    *written = capacity - out_left - stream->avail_out;
    return OC_OK;
}

static oc_status make_inflater(gzip_codec *self, oc_error *err)
{
    if (!self->has_inflater) {
        self->inflater = (z_stream){0};
        if (inflateInit2(&self->inflater, WINDOW_DETECT) != Z_OK) {
            OC_FAIL(err, OC_ENOMEM, "out of memory while making a gzip decompressor");
        }
        self->has_inflater = true;
    }
    inflateReset2(&self->inflater, WINDOW_DETECT);
    return OC_OK;
}

static oc_status fail_inflate(int result, int64_t missing, int64_t dst_size, const z_stream *stream,
                              oc_error *err)
{
    if (result == Z_MEM_ERROR) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while decompressing gzip");
    }
    if (result == Z_BUF_ERROR && missing == 0) {
        OC_FAIL(err, OC_EDATA,
                "gzip holds more than the %" PRId64 " bytes that are announced, or ends early",
                dst_size);
    }
    if (result == Z_BUF_ERROR || result == Z_STREAM_END) {
        OC_FAIL(err, OC_EDATA,
                "gzip holds %" PRId64 " bytes fewer than the %" PRId64 " that are announced",
                missing, dst_size);
    }
    OC_FAIL(err, OC_EDATA, "gzip is damaged: %s",
            stream->msg != NULL ? stream->msg : "it needs a preset dictionary");
}

static oc_status gzip_decompress(oci_codec *codec, const void *src, int64_t size, void *dst,
                                 int64_t dst_size, oc_error *err)
{
    gzip_codec *self = (gzip_codec *)codec;
    OC_TRY(make_inflater(self, err));
    z_stream *stream = &self->inflater;
    Bytef nothing;
    int64_t in_left = size;
    int64_t out_left = dst_size;
    stream->next_in = (Bytef *)(uintptr_t)src;
    stream->next_out = dst_size > 0 ? dst : &nothing;
    stream->avail_in = 0;
    stream->avail_out = 0;
    int result = Z_OK;
    while (result == Z_OK) {
        feed(stream, &in_left, &out_left);
        result = inflate(stream, Z_NO_FLUSH);
        bool goes_on = stream->avail_in > 0 || in_left > 0;
        if (result == Z_STREAM_END && goes_on) {
            result = inflateReset(stream); /* the next member */
        }
    }
    int64_t missing = out_left + stream->avail_out;
    if (result != Z_STREAM_END || missing > 0) {
        return fail_inflate(result, missing, dst_size, stream, err);
    }
    return OC_OK;
}

const oci_codec_ops oci_codec_gzip_ops = {
    .create = gzip_create,
    .set_level = gzip_set_level,
    .destroy = gzip_destroy,
    .bound = gzip_bound,
    .content_max = gzip_content_max,
    .compress = gzip_compress,
    .decompress = gzip_decompress,
};
