/* Zstandard frames.
 *
 * Contexts live outside the budget, so their tables are bounded: up to level 2 the library's own
 * choice is small (level 1: 64 KiB of tables); above it the window is held at 1 MiB and the tables
 * at 512 KiB each, which costs little on the 1 MiB blocks that Outcore works on. Whole buffers are
 * compressed and decompressed where they lie and need no window; piecewise decompression keeps one
 * of at most 8 MiB, which every level up to 19 is content with.
 *
 * The codec itself comes from malloc, its contexts from the library. */
#include "codec/codec_impl.h"

#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#define WINDOW_LOG_COMPRESS   20
#define TABLE_LOG_COMPRESS    17 /* entries of 4 bytes */
#define WINDOW_LOG_DECOMPRESS 23
#define CONTEXT_BYTES_MAX     (2 * 1024 * 1024)

typedef struct zstd_codec {
    oci_codec base;
    int level;
    ZSTD_CCtx *compressor;   /* NULL until first needed */
    ZSTD_DCtx *decompressor; /* NULL until first needed */
} zstd_codec;

static oc_status zstd_create(oci_codec **out, oc_error *err)
{
    zstd_codec *self = calloc(1, sizeof *self);
    if (self == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while making a codec");
    }
    *out = &self->base;
    return OC_OK;
}

static void zstd_destroy(oci_codec *codec)
{
    zstd_codec *self = (zstd_codec *)codec;
    ZSTD_freeCCtx(self->compressor);
    ZSTD_freeDCtx(self->decompressor);
    free(self);
}

static int64_t zstd_bound(int64_t size)
{
    return (int64_t)ZSTD_compressBound((size_t)size);
}

/* A block is 4 bytes at least (3 of header, and content) and gives 128 KiB at most. */
static int64_t zstd_content_max(const void *src, int64_t size)
{
    if (size > 0 && ZSTD_findFrameCompressedSize(src, (size_t)size) == (size_t)size) {
        unsigned long long content = ZSTD_getFrameContentSize(src, (size_t)size);
        if (content < INT64_MAX) { /* the two largest values say "unknown" and "error" */
            return (int64_t)content;
        }
    }
    int64_t blocks = size / 4 + 1;
    return blocks > INT64_MAX / ZSTD_BLOCKSIZE_MAX ? INT64_MAX : blocks * ZSTD_BLOCKSIZE_MAX;
}

/* 0 leaves a log to the library. */
static oc_status set_parameters(ZSTD_CCtx *context, int level, oc_error *err)
{
    int window_log = level > 2 ? WINDOW_LOG_COMPRESS : 0;
    int table_log = level > 2 ? TABLE_LOG_COMPRESS : 0;
    if (ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_hashLog, table_log)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_chainLog, table_log))) {
        OC_FAIL(err, OC_EINTERNAL, "could not set zstd level %d", level);
    }
    return OC_OK;
}

static oc_status zstd_set_level(oci_codec *codec, int level, oc_error *err)
{
    zstd_codec *self = (zstd_codec *)codec;
    self->level = level == 0 ? 1 : level;
    return self->compressor == NULL ? OC_OK : set_parameters(self->compressor, self->level, err);
}

static oc_status make_compressor(zstd_codec *self, oc_error *err)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    if (context == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while making a zstd compressor");
    }
    oc_status status = set_parameters(context, self->level, err);
    if (status != OC_OK) {
        ZSTD_freeCCtx(context);
        return status;
    }
    self->compressor = context;
    return OC_OK;
}

static oc_status zstd_compress(oci_codec *codec, const void *src, int64_t size, void *dst,
                               int64_t capacity, int64_t *written, oc_error *err)
{
    zstd_codec *self = (zstd_codec *)codec;
    if (self->compressor == NULL) {
        OC_TRY(make_compressor(self, err));
    }
    size_t result = ZSTD_compress2(self->compressor, dst, (size_t)capacity, src, (size_t)size);
    if (ZSTD_isError(result)) {
        oc_status status = ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation ? OC_ENOMEM
                                                                                     : OC_EINTERNAL;
        OC_FAIL(err, status, "could not compress %" PRId64 " bytes with zstd: %s", size,
                ZSTD_getErrorName(result));
    }
    *written = (int64_t)result;
    return OC_OK;
}

/* Makes the decompressor, or forgets what it was doing. A window that a large frame left behind is
 * given back. */
static oc_status zstd_stream_begin(oci_codec *codec, oc_error *err)
{
    zstd_codec *self = (zstd_codec *)codec;
    if (self->decompressor != NULL && ZSTD_sizeof_DCtx(self->decompressor) > CONTEXT_BYTES_MAX) {
        ZSTD_freeDCtx(self->decompressor);
        self->decompressor = NULL;
    }
    if (self->decompressor != NULL) {
        ZSTD_DCtx_reset(self->decompressor, ZSTD_reset_session_only);
        return OC_OK;
    }
    self->decompressor = ZSTD_createDCtx();
    if (self->decompressor == NULL ||
        ZSTD_isError(ZSTD_DCtx_setParameter(self->decompressor, ZSTD_d_windowLogMax,
                                            WINDOW_LOG_DECOMPRESS))) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while making a zstd decompressor");
    }
    return OC_OK;
}

static oc_status zstd_damaged(size_t code, oc_error *err)
{
    switch (ZSTD_getErrorCode(code)) {
    case ZSTD_error_memory_allocation:
        OC_FAIL(err, OC_ENOMEM, "out of memory while decompressing a zstd frame");
    case ZSTD_error_frameParameter_windowTooLarge:
        OC_FAIL(err, OC_EUNSUPPORTED,
                "zstd frame needs a window of more than %d MiB to be decompressed piece by piece; "
                "write it with"
                " a level below 20",
                1 << (WINDOW_LOG_DECOMPRESS - 20));
    case ZSTD_error_dictionary_wrong:
        OC_FAIL(err, OC_EUNSUPPORTED,
                "zstd frame needs a zstd dictionary, which Arrow data has no place for");
    default: OC_FAIL(err, OC_EDATA, "zstd frame is damaged: %s", ZSTD_getErrorName(code));
    }
}

static oc_status zstd_decompress(oci_codec *codec, const void *src, int64_t size, void *dst,
                                 int64_t dst_size, oc_error *err)
{
    zstd_codec *self = (zstd_codec *)codec;
    OC_TRY(zstd_stream_begin(codec, err));
    size_t result =
        ZSTD_decompressDCtx(self->decompressor, dst, (size_t)dst_size, src, (size_t)size);
    if (ZSTD_isError(result)) {
        if (ZSTD_getErrorCode(result) == ZSTD_error_dstSize_tooSmall) {
            OC_FAIL(err, OC_EDATA,
                    "zstd frame holds more than the %" PRId64 " bytes that are announced",
                    dst_size);
        }
        return zstd_damaged(result, err);
    }
    if ((int64_t)result != dst_size) {
        OC_FAIL(err, OC_EDATA, "zstd frame holds %zu bytes, %" PRId64 " are announced", result,
                dst_size);
    }
    return OC_OK;
}

static oc_status zstd_stream_step(oci_codec *codec, const void *src, int64_t *src_size, void *dst,
                                  int64_t *dst_size, bool *end, oc_error *err)
{
    zstd_codec *self = (zstd_codec *)codec;
    ZSTD_inBuffer in = {src, (size_t)*src_size, 0};
    ZSTD_outBuffer out = {dst, (size_t)*dst_size, 0};
    size_t hint = ZSTD_decompressStream(self->decompressor, &out, &in);
    if (ZSTD_isError(hint)) {
        return zstd_damaged(hint, err);
    }
    *src_size = (int64_t)in.pos;
    *dst_size = (int64_t)out.pos;
    *end = hint == 0;
    return OC_OK;
}

const oci_codec_ops oci_codec_zstd_ops = {
    .create = zstd_create,
    .set_level = zstd_set_level,
    .destroy = zstd_destroy,
    .bound = zstd_bound,
    .content_max = zstd_content_max,
    .compress = zstd_compress,
    .decompress = zstd_decompress,
    .stream_begin = zstd_stream_begin,
    .stream_step = zstd_stream_step,
};
