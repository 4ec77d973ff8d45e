/* Brotli.
 *
 * Its contexts are made anew for every buffer: the library has no way to reset one. The decoder's window is as large
 * as the data says, up to 16 MiB, and the encoder's grows with its input up to 4 MiB; so both allocate through the
 * functions below, from the account of the codec when it has one. The codec itself, and these blocks when it has
 * none, come from malloc. Large windows, an extension of up to 1 GiB, are not taken.
 *
 * The encoder ends the whole process when it is refused memory. So it gets one block before it is made, for a lower
 * level or a smaller window when that is refused, from which it is served; nothing of it is given back before the end. */
#include "codec/codec_impl.h"

#include <brotli/decode.h>
#include <brotli/encode.h>
#include <stdlib.h>

#include "base/bits.h"

#define QUALITY_DEFAULT \
    5 /* the first that finds matches in a chain: gzip's density at twice its speed */
#define WINDOW_LOG_MAX 22

/* KiB that an encoder asks for in all by quality and window (16, 18, 20, 22 bits), as measured, and a little more. */
static const int32_t encoder_kib[10][4] = {
    {180, 180, 180, 180},        {740, 1460, 1460, 1460},     {880, 1880, 4360, 13080},
    {930, 1890, 4250, 12450},    {2200, 3000, 11660, 27050},  {2200, 3680, 7410, 17020},
    {2200, 4960, 9970, 19580},   {2200, 12680, 15250, 24860}, {2200, 22920, 25330, 35100},
    {3160, 46850, 49410, 59020},
};

typedef struct brotli_codec {
    oci_codec base;
    int level;
    uint8_t *arena; /* of the encoder at hand; NULL: none is */
    int64_t arena_bytes;
    int64_t arena_used;
    oc_status refusal; /* of an allocation of the buffer at hand */
    oc_error *err;
} brotli_codec;

/* In front of each block: 16 bytes, so that it stays aligned. */
typedef union block_head {
    int64_t size;
    uint8_t room[16];
} block_head;

/* From the encoder's block; more than was measured comes from malloc. */
static void *serve_encoder(brotli_codec *self, int64_t size)
{
    size = oci_round_up(size, (int64_t)sizeof(block_head));
    if (size > self->arena_bytes - self->arena_used) {
        return malloc((size_t)size);
    }
    self->arena_used += size;
    return self->arena + self->arena_used - size;
}

static void *allocate_block(void *opaque, size_t size)
{
    brotli_codec *self = opaque;
    void *block = NULL;
    int64_t all = (int64_t)(size + sizeof(block_head));
    if (self->arena != NULL) {
        return serve_encoder(self, (int64_t)size);
    }
    if (self->base.mem == NULL) {
        block = malloc((size_t)all);
        self->refusal = block == NULL ? OC_ENOMEM : self->refusal;
    } else {
        oc_status status = oci_mem_alloc(self->base.mem, all, &block, self->err);
        self->refusal = status != OC_OK ? status : self->refusal;
    }
    if (block == NULL) {
        return NULL;
    }
    ((block_head *)block)->size = all;
    return (uint8_t *)block + sizeof(block_head);
}

static void free_block(void *opaque, void *address)
{
    const brotli_codec *self = opaque;
    if (address == NULL) {
        return;
    }
    if (self->arena != NULL) {
        const uint8_t *at = address;
        if (at < self->arena || at >= self->arena + self->arena_bytes) {
            free(address);
        }
        return;
    }
    block_head *block = (void *)((uint8_t *)address - sizeof(block_head));
    if (self->base.mem == NULL) {
        free(block);
    } else {
        oci_mem_free(self->base.mem, block, block->size);
    }
}

static oc_status fail_memory(const brotli_codec *self, oc_error *err)
{
    if (self->base.mem != NULL && self->refusal != OC_OK) {
        return self->refusal; /* and what the account said of it */
    }
    OC_FAIL(err, OC_ENOMEM, "out of memory while making a brotli context");
}

static oc_status brotli_create(oci_codec **out, oc_error *err)
{
    brotli_codec *self = calloc(1, sizeof *self);
    if (self == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while making a codec");
    }
    *out = &self->base;
    return OC_OK;
}

static oc_status brotli_set_level(oci_codec *codec, int level, oc_error *err)
{
    (void)err;
    ((brotli_codec *)codec)->level = level == 0 ? QUALITY_DEFAULT : level < 0 ? 0 : level;
    return OC_OK;
}

static void brotli_destroy(oci_codec *codec)
{
    free(codec);
}

/* The library's bound holds for its call that compresses a whole buffer, which falls back to storing; a stream may
 * take a header a block more. */
static int64_t brotli_bound(int64_t size)
{
    return size + (size >> 10) + 1024;
}

/* A few bytes can stand for a block of 16 MiB. */
static int64_t brotli_content_max(const void *src, int64_t size)
{
    (void)src;
    return size >= INT64_MAX >> 24 ? INT64_MAX : (size + 1) << 24;
}

static int window_log(int64_t size)
{
    int log = BROTLI_MIN_WINDOW_BITS;
    while (log < WINDOW_LOG_MAX && (INT64_C(1) << log) < size) {
        log++;
    }
    return log;
}

static oc_status take_arena(brotli_codec *self, int64_t bytes, bool is_last, oc_error *err)
{
    void *block = NULL;
    self->arena_bytes = bytes;
    self->arena_used = 0;
    if (self->base.mem == NULL) {
        block = malloc((size_t)bytes);
        if (block == NULL) {
            OC_FAIL(err, OC_ENOMEM, "out of memory while making a brotli context");
        }
    } else {
        OC_TRY(is_last ? oci_mem_alloc(self->base.mem, bytes, &block, err)
                       : oci_mem_try_alloc(self->base.mem, bytes, &block, NULL));
    }
    self->arena = block;
    return OC_OK;
}

static void free_arena(brotli_codec *self)
{
    if (self->base.mem == NULL) {
        free(self->arena);
    } else {
        oci_mem_free(self->base.mem, self->arena, self->arena_bytes);
    }
    self->arena = NULL;
}

/* Takes the block of an encoder; lowers level and window until it is granted. */
static oc_status prepare_encoder(brotli_codec *self, int *level, int *window, oc_error *err)
{
    static const int lower[][2] = {{5, 18}, {1, 16}, {0, 16}};
    for (size_t i = 0;; i++) {
        int column = *window <= 16 ? 0 : (*window - 15) / 2;
        bool is_last = i == sizeof lower / sizeof *lower;
        oc_status status =
            take_arena(self, (int64_t)encoder_kib[*level][column] << 10, is_last, err);
        if (status == OC_OK || is_last) {
            return status;
        }
        *level = *level < lower[i][0] ? *level : lower[i][0];
        *window = *window < lower[i][1] ? *window : lower[i][1];
    }
}

static oc_status encode(brotli_codec *self, int level, int window, const void *src, int64_t size,
                        void *dst, int64_t capacity, int64_t *written, oc_error *err)
{
    BrotliEncoderState *state = BrotliEncoderCreateInstance(allocate_block, free_block, self);
    if (state == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while making a brotli context");
    }
    BrotliEncoderSetParameter(state, BROTLI_PARAM_QUALITY, (uint32_t)level);
    BrotliEncoderSetParameter(state, BROTLI_PARAM_LGWIN, (uint32_t)window);
    BrotliEncoderSetParameter(state, BROTLI_PARAM_SIZE_HINT, (uint32_t)oci_min64(size, UINT32_MAX));
    size_t in_left = (size_t)size;
    const uint8_t *in = src;
    size_t out_left = (size_t)capacity;
    uint8_t *out = dst;
    BROTLI_BOOL ok = BrotliEncoderCompressStream(state, BROTLI_OPERATION_FINISH, &in_left, &in,
                                                 &out_left, &out, NULL);
    bool finished = ok && BrotliEncoderIsFinished(state);
    BrotliEncoderDestroyInstance(state);
    if (!finished) {
        OC_FAIL(err, OC_EINTERNAL, "could not compress %" PRId64 " bytes with brotli", size);
    }
    *written = capacity - (int64_t)out_left;
    return OC_OK;
}

static oc_status brotli_compress(oci_codec *codec, const void *src, int64_t size, void *dst,
                                 int64_t capacity, int64_t *written, oc_error *err)
{
    brotli_codec *self = (brotli_codec *)codec;
    int level = self->level;
    int window = window_log(size);
    OC_TRY(prepare_encoder(self, &level, &window, err));
    oc_status status = encode(self, level, window, src, size, dst, capacity, written, err);
    free_arena(self);
    return status;
}

static oc_status brotli_decompress(oci_codec *codec, const void *src, int64_t size, void *dst,
                                   int64_t dst_size, oc_error *err)
{
    brotli_codec *self = (brotli_codec *)codec;
    self->refusal = OC_OK;
    self->err = err;
    BrotliDecoderState *state = BrotliDecoderCreateInstance(allocate_block, free_block, self);
    if (state == NULL) {
        return fail_memory(self, err);
    }
    uint8_t nothing;
    size_t in_left = (size_t)size;
    const uint8_t *in = src;
    size_t out_left = (size_t)dst_size;
    uint8_t *out = dst_size > 0 ? dst : &nothing;
    BrotliDecoderResult result =
        BrotliDecoderDecompressStream(state, &in_left, &in, &out_left, &out, NULL);
    BrotliDecoderErrorCode code = BrotliDecoderGetErrorCode(state);
    BrotliDecoderDestroyInstance(state);
    if (self->refusal != OC_OK) {
        return fail_memory(self, err);
    }
    switch (result) {
    case BROTLI_DECODER_RESULT_ERROR:
        OC_FAIL(err, OC_EDATA, "brotli is damaged: %s", BrotliDecoderErrorString(code));
    case BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT:
        OC_FAIL(err, OC_EDATA, "brotli ends early; the data is truncated");
    case BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT:
        OC_FAIL(err, OC_EDATA, "brotli holds more than the %" PRId64 " bytes that are announced",
                dst_size);
    case BROTLI_DECODER_RESULT_SUCCESS: break;
    }
    if (out_left > 0 || in_left > 0) {
        OC_FAIL(err, OC_EDATA,
                "brotli ends %zu bytes before the %" PRId64
                " that are announced, and %zu before its end",
                out_left, dst_size, in_left);
    }
    return OC_OK;
}

const oci_codec_ops oci_codec_brotli_ops = {
    .create = brotli_create,
    .set_level = brotli_set_level,
    .destroy = brotli_destroy,
    .bound = brotli_bound,
    .content_max = brotli_content_max,
    .compress = brotli_compress,
    .decompress = brotli_decompress,
};
