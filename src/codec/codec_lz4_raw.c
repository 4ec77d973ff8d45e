/* LZ4 without frames: one block, or Hadoop's blocks.
 *
 * Hadoop's framing is a row of blocks: the size of the content in 4 bytes, highest first, then chunks until that much
 * is there, each with its compressed size in 4 bytes in front. Parquet's codec "LZ4" was never written down, so its
 * pages are this, or (early writers of other languages) a raw block, or a frame. What a page is shows when it is read:
 * the framing has to fit exactly, sizes and all; else the magic number says frame; else it is a raw block. Hadoop's
 * framing is written as one block of one chunk.
 *
 * A codec is one struct from malloc, whatever the size of what it works on. */
#include "codec/codec_impl.h"

#include <lz4.h>
#include <stdlib.h>

#include "base/bits.h"

#define FRAME_MAGIC  UINT32_C(0x184D2204)
#define HADOOP_BYTES 8 /* two sizes */

typedef struct hadoop_codec {
    oci_codec base;
    oci_codec *frames; /* made when a frame comes */
} hadoop_codec;

/* ---- raw ------------------------------------------------------------------------------------- */

static int64_t raw_bound(int64_t size)
{
    return size > LZ4_MAX_INPUT_SIZE ? INT64_MAX : LZ4_compressBound((int)size);
}

/* One byte of a sequence adds at most 255 bytes to a match. */
static int64_t raw_content_max(const void *src, int64_t size)
{
    (void)src;
    return size > INT64_MAX / 256 ? INT64_MAX : size * 256;
}

static oc_status raw_compress(oci_codec *codec, const void *src, int64_t size, void *dst,
                              int64_t capacity, int64_t *written, oc_error *err)
{
    (void)codec;
    int n = LZ4_compress_default(src, dst, (int)size, (int)oci_min64(capacity, INT32_MAX));
    if (n <= 0) {
        OC_FAIL(err, OC_EINTERNAL, "could not compress %" PRId64 " bytes with lz4", size);
    }
    *written = n;
    return OC_OK;
}

/* *given: how many bytes come out, at most dst_size; false for a damaged block. */
static bool decode_block(const uint8_t *src, int64_t size, uint8_t *dst, int64_t dst_size,
                         int64_t *given)
{
    char nothing;
    if (size > INT32_MAX || dst_size > INT32_MAX) {
        return false;
    }
    int n = LZ4_decompress_safe((const char *)src, dst_size > 0 ? (char *)dst : &nothing, (int)size,
                                (int)dst_size);
    *given = n;
    return n >= 0;
}

static oc_status raw_decompress(oci_codec *codec, const void *src, int64_t size, void *dst,
                                int64_t dst_size, oc_error *err)
{
    (void)codec;
    int64_t given;
    if (dst_size == 0 && size == 0) {
        return OC_OK;
    }
    if (!decode_block(src, size, dst, dst_size, &given)) {
        OC_FAIL(err, OC_EDATA,
                "LZ4 block is damaged, or holds more than the %" PRId64 " bytes that are announced",
                dst_size);
    }
    if (given != dst_size) {
        OC_FAIL(err, OC_EDATA, "LZ4 block holds %" PRId64 " bytes, %" PRId64 " are announced",
                given, dst_size);
    }
    return OC_OK;
}

/* ---- Hadoop ---------------------------------------------------------------------------------- */

static oc_status hadoop_create(oci_codec **out, oc_error *err)
{
    hadoop_codec *self = calloc(1, sizeof *self);
    if (self == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while making a codec");
    }
    *out = &self->base;
    return OC_OK;
}

static void hadoop_destroy(oci_codec *codec)
{
    oci_codec_destroy(((hadoop_codec *)codec)->frames);
    free(codec);
}

static int64_t hadoop_bound(int64_t size)
{
    int64_t bound = raw_bound(size);
    return bound == INT64_MAX ? bound : bound + HADOOP_BYTES;
}

static void store_be32(uint8_t *to, uint32_t value)
{
    oci_store_le32(to, __builtin_bswap32(value));
}

static uint32_t load_be32(const uint8_t *from)
{
    return __builtin_bswap32(oci_load_le32(from));
}

static oc_status hadoop_compress(oci_codec *codec, const void *src, int64_t size, void *dst,
                                 int64_t capacity, int64_t *written, oc_error *err)
{
    uint8_t *to = dst;
    OC_TRY(
        raw_compress(codec, src, size, to + HADOOP_BYTES, capacity - HADOOP_BYTES, written, err));
    store_be32(to, (uint32_t)size);
    store_be32(to + 4, (uint32_t)*written);
    *written += HADOOP_BYTES;
    return OC_OK;
}

/* The chunks of one block: `content` bytes at `to`. Where they end, or NULL when they do not fit. */
static const uint8_t *decode_chunks(const uint8_t *at, const uint8_t *end, uint8_t *to,
                                    int64_t content)
{
    do {
        if (end - at < 4) {
            return NULL;
        }
        int64_t packed = load_be32(at);
        int64_t given;
        at += 4;
        if (packed == 0 || packed > end - at || !decode_block(at, packed, to, content, &given) ||
            (given == 0 && content > 0)) {
            return NULL;
        }
        at += packed;
        to += given;
        content -= given;
    } while (content > 0);
    return at;
}

static bool decode_hadoop(const uint8_t *at, int64_t size, uint8_t *to, int64_t dst_size)
{
    const uint8_t *end = at + size;
    while (end - at >= HADOOP_BYTES) {
        int64_t content = load_be32(at);
        if (content > dst_size) {
            return false;
        }
        at = decode_chunks(at + 4, end, to, content);
        if (at == NULL) {
            return false;
        }
        to += content;
        dst_size -= content;
    }
    return at == end && dst_size == 0;
}

static oc_status hadoop_decompress(oci_codec *codec, const void *src, int64_t size, void *dst,
                                   int64_t dst_size, oc_error *err)
{
    hadoop_codec *self = (hadoop_codec *)codec;
    uint8_t nothing;
    if (decode_hadoop(src, size, dst_size > 0 ? dst : &nothing, dst_size)) {
        return OC_OK;
    }
    if (size >= 4 && oci_load_le32(src) == FRAME_MAGIC) {
        if (self->frames == NULL) {
            OC_TRY(oci_codec_create(OCI_CODEC_LZ4_FRAME, 0, &self->frames, err));
        }
        return oci_codec_decompress(self->frames, src, size, dst, dst_size, err);
    }
    return raw_decompress(codec, src, size, dst, dst_size, err);
}

const oci_codec_ops oci_codec_lz4_raw_ops = {
    .create = oci_codec_plain_create,
    .destroy = oci_codec_plain_destroy,
    .bound = raw_bound,
    .content_max = raw_content_max,
    .compress = raw_compress,
    .decompress = raw_decompress,
};

const oci_codec_ops oci_codec_lz4_hadoop_ops = {
    .create = hadoop_create,
    .destroy = hadoop_destroy,
    .bound = hadoop_bound,
    .content_max = raw_content_max,
    .compress = hadoop_compress,
    .decompress = hadoop_decompress,
};
