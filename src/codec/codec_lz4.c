/* LZ4 frames.
 *
 * Compression writes one frame with the content size in its header. The blocks are linked and
 * compressed straight from the source (stable source, flushed at once), so that the library keeps
 * 64 KiB of history and no copy of the data.
 *
 * Decompression of a whole buffer tells the library that the target stays where it is (stable
 * target), which lets it use the target as its history. Its work buffers are as large as the
 * frame's blocks: 64 KiB or 256 KiB for ours, 4 MiB at most for others'.
 *
 * The codec itself comes from malloc, its contexts from the library: bounded, outside the
 * budget. */
#include "codec/codec_impl.h"

#include <lz4frame.h>
#include <stdlib.h>
#include <string.h>

typedef struct lz4_codec {
    oci_codec base;
    int level;
    LZ4F_cctx *compressor;   /* NULL until first needed */
    LZ4F_dctx *decompressor; /* NULL until first needed */
} lz4_codec;

static oc_status lz4_create(oci_codec **out, oc_error *err)
{
    lz4_codec *self = calloc(1, sizeof *self);
    if (self == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while making a codec");
    }
    *out = &self->base;
    return OC_OK;
}

static oc_status lz4_set_level(oci_codec *codec, int level, oc_error *err)
{
    (void)err;
    ((lz4_codec *)codec)->level = level;
    return OC_OK;
}

static void lz4_destroy(oci_codec *codec)
{
    lz4_codec *self = (lz4_codec *)codec;
    LZ4F_freeCompressionContext(self->compressor);
    LZ4F_freeDecompressionContext(self->decompressor);
    free(self);
}

/* Preferences of one frame. The smallest block size is the bound's worst case: it has the most
 * block headers. */
static LZ4F_preferences_t frame_preferences(int level, int64_t size)
{
    LZ4F_preferences_t preferences = LZ4F_INIT_PREFERENCES;
    preferences.frameInfo.blockSizeID = size > 64 * 1024 ? LZ4F_max256KB : LZ4F_max64KB;
    preferences.frameInfo.blockMode = LZ4F_blockLinked;
    preferences.frameInfo.contentSize = (unsigned long long)size;
    preferences.compressionLevel = level;
    preferences.autoFlush = 1;
    return preferences;
}

static int64_t lz4_bound(int64_t size)
{
    LZ4F_preferences_t preferences = frame_preferences(0, 0);
    return (int64_t)LZ4F_compressFrameBound((size_t)size, &preferences);
}

/* One byte of a sequence adds at most 255 bytes to a match. */
static int64_t lz4_content_max(const void *src, int64_t size)
{
    (void)src;
    return size > INT64_MAX / 256 ? INT64_MAX : size * 256;
}

static oc_status lz4_compress(oci_codec *codec, const void *src, int64_t size, void *dst,
                              int64_t capacity, int64_t *written, oc_error *err)
{
    lz4_codec *self = (lz4_codec *)codec;
    if (self->compressor == NULL &&
        LZ4F_isError(LZ4F_createCompressionContext(&self->compressor, LZ4F_VERSION))) {
        self->compressor = NULL;
        OC_FAIL(err, OC_ENOMEM, "out of memory while making an LZ4 compressor");
    }
    LZ4F_preferences_t preferences = frame_preferences(self->level, size);
    LZ4F_compressOptions_t options = {.stableSrc = 1};
    uint8_t *to = dst;
    size_t room = (size_t)capacity;
    size_t head = LZ4F_compressBegin(self->compressor, to, room, &preferences);
    if (LZ4F_isError(head)) {
        OC_FAIL(err, OC_ENOMEM, "could not begin an LZ4 frame: %s", LZ4F_getErrorName(head));
    }
    size_t body = 0;
    if (size > 0) {
        body = LZ4F_compressUpdate(self->compressor, to + head, room - head, src, (size_t)size,
                                   &options);
        if (LZ4F_isError(body)) {
            OC_FAIL(err, OC_EINTERNAL, "could not compress %" PRId64 " bytes with lz4_frame: %s",
                    size, LZ4F_getErrorName(body));
        }
    }
    size_t tail =
        LZ4F_compressEnd(self->compressor, to + head + body, room - head - body, &options);
    if (LZ4F_isError(tail)) {
        OC_FAIL(err, OC_EINTERNAL, "could not end an LZ4 frame: %s", LZ4F_getErrorName(tail));
    }
    *written = (int64_t)(head + body + tail);
    return OC_OK;
}

/* Makes the decompressor, or forgets what it was doing. */
static oc_status lz4_stream_begin(oci_codec *codec, oc_error *err)
{
    lz4_codec *self = (lz4_codec *)codec;
    if (self->decompressor != NULL) {
        LZ4F_resetDecompressionContext(self->decompressor);
    } else if (LZ4F_isError(LZ4F_createDecompressionContext(&self->decompressor, LZ4F_VERSION))) {
        self->decompressor = NULL;
        OC_FAIL(err, OC_ENOMEM, "out of memory while making an LZ4 decompressor");
    }
    return OC_OK;
}

static oc_status lz4_damaged(size_t code, oc_error *err)
{
    const char *name = LZ4F_getErrorName(code);
    if (strstr(name, "allocation") != NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while decompressing an LZ4 frame");
    }
    OC_FAIL(err, OC_EDATA, "LZ4 frame is damaged: %s", name);
}

static oc_status lz4_decompress(oci_codec *codec, const void *src, int64_t size, void *dst,
                                int64_t dst_size, oc_error *err)
{
    lz4_codec *self = (lz4_codec *)codec;
    OC_TRY(lz4_stream_begin(codec, err));
    LZ4F_decompressOptions_t options = {.stableDst = 1};
    uint8_t nothing = 0;
    const uint8_t *from = src;
    uint8_t *to = dst_size > 0 ? dst : &nothing;
    size_t left = (size_t)size;
    size_t room = (size_t)dst_size;
    size_t hint = 0; /* 0 between frames */
    while (left > 0) {
        size_t consumed = left;
        size_t produced = room;
        hint = LZ4F_decompress(self->decompressor, to, &produced, from, &consumed, &options);
        if (LZ4F_isError(hint)) {
            return lz4_damaged(hint, err);
        }
        if (consumed == 0 && produced == 0) {
            break;
        }
        from += consumed;
        left -= consumed;
        to += produced;
        room -= produced;
    }
    if (left > 0) {
        OC_FAIL(err, OC_EDATA, "LZ4 frame holds more than the %" PRId64 " bytes that are announced",
                dst_size);
    }
    if (hint != 0) {
        OC_FAIL(err, OC_EDATA, "LZ4 frame ends early; the data is truncated");
    }
    if (room > 0) {
        OC_FAIL(err, OC_EDATA,
                "LZ4 frame holds %zu bytes fewer than the %" PRId64 " that are announced", room,
                dst_size);
    }
    return OC_OK;
}

static oc_status lz4_stream_step(oci_codec *codec, const void *src, int64_t *src_size, void *dst,
                                 int64_t *dst_size, bool *end, oc_error *err)
{
    lz4_codec *self = (lz4_codec *)codec;
    size_t consumed = (size_t)*src_size;
    size_t produced = (size_t)*dst_size;
    size_t hint = LZ4F_decompress(self->decompressor, dst, &produced, src, &consumed, NULL);
    if (LZ4F_isError(hint)) {
        return lz4_damaged(hint, err);
    }
    *src_size = (int64_t)consumed;
    *dst_size = (int64_t)produced;
    *end = hint == 0 && consumed > 0;
    return OC_OK;
}

const oci_codec_ops oci_codec_lz4_ops = {
    .create = lz4_create,
    .set_level = lz4_set_level,
    .destroy = lz4_destroy,
    .bound = lz4_bound,
    .content_max = lz4_content_max,
    .compress = lz4_compress,
    .decompress = lz4_decompress,
    .stream_begin = lz4_stream_begin,
    .stream_step = lz4_stream_step,
};
