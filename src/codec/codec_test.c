/* Round trips, damage and limits of the codecs. Sources for the frames are our own compressor and,
 * for options it does not use, the libraries themselves. */
#include "codec/codec.h"

#include <brotli/encode.h>
#include <lz4frame.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include <cmocka.h>

/* The first three can be read piecewise too. */
static const oci_codec_id all_codecs[] = {OCI_CODEC_NONE,    OCI_CODEC_LZ4_FRAME, OCI_CODEC_ZSTD,
                                          OCI_CODEC_SNAPPY,  OCI_CODEC_GZIP,      OCI_CODEC_BROTLI,
                                          OCI_CODEC_LZ4_RAW, OCI_CODEC_LZ4_HADOOP};
enum { N_CODECS = sizeof all_codecs / sizeof all_codecs[0] };

/* Bytes of three kinds: 0 zeros, 1 text-like, 2 noise. */
static uint8_t *make_data(int kind, int64_t size)
{
    uint8_t *data = malloc((size_t)size + 1);
    assert_non_null(data);
    uint64_t state = 88172645463325252u;
    for (int64_t i = 0; i < size; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        data[i] = kind == 0   ? 0
                  : kind == 1 ? (uint8_t)("aeiou nst"[(state >> 20) % 9])
                              : (uint8_t)(state >> 30);
    }
    return data;
}

static oci_codec *make_codec(oci_codec_id id, int level)
{
    oci_codec *codec = NULL;
    oc_error err = {0};
    assert_int_equal(oci_codec_create(id, level, &codec, &err), OC_OK);
    return codec;
}

static uint8_t *pack_whole(oci_codec *codec, oci_codec_id id, const uint8_t *data, int64_t size,
                           int64_t *written)
{
    oc_error err = {0};
    int64_t bound = oci_codec_bound(id, size);
    uint8_t *packed = malloc((size_t)bound + 1);
    assert_non_null(packed);
    assert_int_equal(oci_codec_compress(codec, data, size, packed, bound, written, &err), OC_OK);
    assert_true(*written <= bound);
    return packed;
}

static void round_trip_keeps_every_byte(void **state)
{
    (void)state;
    const int64_t sizes[] = {0, 1, 7, 100, 65535, 65536, 65537, 262145, 1 << 20, (3 << 20) + 5};
    const int levels[] = {-10, 0, 1, 3, 9};
    for (size_t c = 0; c < N_CODECS; c++) {
        for (size_t l = 0; l < 5; l++) {
            oci_codec *codec = make_codec(all_codecs[c], levels[l]);
            /* The slow ones show nothing new on megabytes. */
            size_t n_sizes = sizeof sizes / sizeof sizes[0] - (c < 3 ? 0 : 2);
            for (size_t s = 0; s < n_sizes; s++) {
                for (int kind = 0; kind < 3; kind++) {
                    int64_t written = 0;
                    uint8_t *data = make_data(kind, sizes[s]);
                    uint8_t *packed = pack_whole(codec, all_codecs[c], data, sizes[s], &written);
                    assert_true(oci_codec_content_max(all_codecs[c], packed, written) >= sizes[s]);
                    uint8_t *back = malloc((size_t)sizes[s] + 1);
                    oc_error err = {0};
                    assert_int_equal(
                        oci_codec_decompress(codec, packed, written, back, sizes[s], &err), OC_OK);
                    assert_memory_equal(back, data, (size_t)sizes[s]);
                    free(back);
                    free(packed);
                    free(data);
                }
            }
            oci_codec_destroy(codec);
        }
    }
}

static void wrong_announced_size_is_refused(void **state)
{
    (void)state;
    for (size_t c = 0; c < N_CODECS; c++) {
        oci_codec *codec = make_codec(all_codecs[c], 0);
        uint8_t *data = make_data(1, 100000);
        int64_t written = 0;
        uint8_t *packed = pack_whole(codec, all_codecs[c], data, 100000, &written);
        uint8_t *back = malloc(100001);
        const int64_t wrong[] = {0, 1, 99999, 100001};
        for (size_t i = 0; i < 4; i++) {
            oc_error err = {0};
            assert_int_equal(oci_codec_decompress(codec, packed, written, back, wrong[i], &err),
                             OC_EDATA);
            assert_true(strlen(err.message) > 10);
        }
        oc_error err = {0};
        assert_int_equal(oci_codec_decompress(codec, packed, written, back, 100000, &err), OC_OK);
        free(back);
        free(packed);
        free(data);
        oci_codec_destroy(codec);
    }
}

static void truncated_frame_is_refused_at_every_byte(void **state)
{
    (void)state;
    for (size_t c = 1; c < N_CODECS; c++) {
        oci_codec *codec = make_codec(all_codecs[c], 0);
        uint8_t *data = make_data(1, 3000);
        int64_t written = 0;
        uint8_t *packed = pack_whole(codec, all_codecs[c], data, 3000, &written);
        uint8_t back[3000];
        for (int64_t cut = 0; cut < written; cut++) {
            uint8_t *part = malloc((size_t)cut + 1); /* its own block, so that reading on is seen */
            part = realloc(part, (size_t)cut == 0 ? 1 : (size_t)cut);
            memcpy(part, packed, (size_t)cut);
            oc_error err = {0};
            assert_int_equal(oci_codec_decompress(codec, part, cut, back, 3000, &err), OC_EDATA);
            free(part);
        }
        free(packed);
        free(data);
        oci_codec_destroy(codec);
    }
}

static void flipped_bytes_never_crash(void **state)
{
    (void)state;
    for (size_t c = 1; c < N_CODECS; c++) {
        oci_codec *codec = make_codec(all_codecs[c], 0);
        uint8_t *data = make_data(1, 2000);
        int64_t written = 0;
        uint8_t *packed = pack_whole(codec, all_codecs[c], data, 2000, &written);
        uint8_t *back = malloc(2000);
        for (int64_t i = 0; i < written; i++) {
            for (int bit = 0; bit < 8; bit++) {
                packed[i] ^= (uint8_t)(1 << bit);
                oc_status status = oci_codec_decompress(codec, packed, written, back, 2000, NULL);
                assert_true(status == OC_OK || status == OC_EDATA || status == OC_EUNSUPPORTED);
                packed[i] ^= (uint8_t)(1 << bit);
            }
        }
        assert_int_equal(oci_codec_decompress(codec, packed, written, back, 2000, NULL), OC_OK);
        assert_memory_equal(back, data, 2000);
        free(back);
        free(packed);
        free(data);
        oci_codec_destroy(codec);
    }
}

/* Feeds `in_step` bytes and takes `out_step` bytes at a time. */
static void stream_through(oci_codec *codec, const uint8_t *packed, int64_t size, int64_t in_step,
                           int64_t out_step, uint8_t *back, int64_t back_size)
{
    oc_error err = {0};
    assert_int_equal(oci_codec_stream_begin(codec, &err), OC_OK);
    int64_t in = 0;
    int64_t out = 0;
    bool end = false;
    while (!end) {
        int64_t take = size - in < in_step ? size - in : in_step;
        int64_t give = back_size - out < out_step ? back_size - out : out_step;
        assert_int_equal(
            oci_codec_stream_step(codec, packed + in, &take, back + out, &give, &end, &err), OC_OK);
        assert_true(take > 0 || give > 0 || end);
        in += take;
        out += give;
    }
    assert_int_equal(in, size);
    assert_int_equal(out, back_size);
}

static void stream_gives_the_same_bytes_at_any_step(void **state)
{
    (void)state;
    const int64_t steps[][2] = {{1, 1},     {1, 1000},        {1000, 1},
                                {17, 4096}, {1 << 20, 65536}, {1 << 20, 1 << 20}};
    for (size_t c = 1; c < 3; c++) {
        oci_codec *codec = make_codec(all_codecs[c], 0);
        for (int kind = 0; kind < 3; kind++) {
            int64_t size = 300000;
            uint8_t *data = make_data(kind, size);
            int64_t written = 0;
            uint8_t *packed = pack_whole(codec, all_codecs[c], data, size, &written);
            uint8_t *back = malloc((size_t)size);
            for (size_t s = 0; s < sizeof steps / sizeof steps[0]; s++) {
                stream_through(codec, packed, written, steps[s][0], steps[s][1], back, size);
                assert_memory_equal(back, data, (size_t)size);
            }
            free(back);
            free(packed);
            free(data);
        }
        oci_codec_destroy(codec);
    }
}

static void stream_can_begin_anew_in_the_middle_of_a_frame(void **state)
{
    (void)state;
    for (size_t c = 1; c < 3; c++) {
        oci_codec *codec = make_codec(all_codecs[c], 0);
        uint8_t *data = make_data(1, 50000);
        int64_t written = 0;
        uint8_t *packed = pack_whole(codec, all_codecs[c], data, 50000, &written);
        uint8_t *back = malloc(50000);
        assert_int_equal(oci_codec_stream_begin(codec, NULL), OC_OK);
        int64_t take = 100;
        int64_t give = 50000;
        bool end = false;
        assert_int_equal(oci_codec_stream_step(codec, packed, &take, back, &give, &end, NULL),
                         OC_OK);
        assert_false(end);
        stream_through(codec, packed, written, 4096, 4096, back, 50000);
        assert_memory_equal(back, data, 50000);
        free(back);
        free(packed);
        free(data);
        oci_codec_destroy(codec);
    }
}

static void lz4_frames_of_any_option_are_read(void **state)
{
    (void)state;
    oci_codec *codec = make_codec(OCI_CODEC_LZ4_FRAME, 0);
    int64_t size = 700001;
    uint8_t *data = make_data(1, size);
    uint8_t *back = malloc((size_t)size);
    for (unsigned bits = 0; bits < 64; bits++) {
        LZ4F_preferences_t p = LZ4F_INIT_PREFERENCES;
        p.frameInfo.blockSizeID = (LZ4F_blockSizeID_t)(LZ4F_max64KB + (bits & 3));
        p.frameInfo.blockMode = bits & 4 ? LZ4F_blockIndependent : LZ4F_blockLinked;
        p.frameInfo.contentChecksumFlag = bits & 8 ? LZ4F_contentChecksumEnabled
                                                   : LZ4F_noContentChecksum;
        p.frameInfo.blockChecksumFlag = bits & 16 ? LZ4F_blockChecksumEnabled
                                                  : LZ4F_noBlockChecksum;
        p.frameInfo.contentSize = bits & 32 ? (unsigned long long)size : 0;
        size_t room = LZ4F_compressFrameBound((size_t)size, &p);
        uint8_t *packed = malloc(room);
        size_t written = LZ4F_compressFrame(packed, room, data, (size_t)size, &p);
        assert_false(LZ4F_isError(written));
        memset(back, 0, (size_t)size);
        assert_int_equal(oci_codec_decompress(codec, packed, (int64_t)written, back, size, NULL),
                         OC_OK);
        assert_memory_equal(back, data, (size_t)size);
        memset(back, 0, (size_t)size);
        stream_through(codec, packed, (int64_t)written, 10000, 30000, back, size);
        assert_memory_equal(back, data, (size_t)size);
        free(packed);
    }
    free(back);
    free(data);
    oci_codec_destroy(codec);
}

static void several_frames_in_a_row_are_one_buffer(void **state)
{
    (void)state;
    for (size_t c = 1; c < 3; c++) {
        oci_codec *codec = make_codec(all_codecs[c], 0);
        uint8_t *data = make_data(1, 30000);
        int64_t first = 0;
        int64_t second = 0;
        uint8_t *a = pack_whole(codec, all_codecs[c], data, 10000, &first);
        uint8_t *b = pack_whole(codec, all_codecs[c], data + 10000, 20000, &second);
        a = realloc(a, (size_t)(first + second));
        memcpy(a + first, b, (size_t)second);
        uint8_t back[30000];
        assert_true(oci_codec_content_max(all_codecs[c], a, first + second) >= 30000);
        assert_int_equal(oci_codec_decompress(codec, a, first + second, back, 30000, NULL), OC_OK);
        assert_memory_equal(back, data, 30000);
        free(a);
        free(b);
        free(data);
        oci_codec_destroy(codec);
    }
}

static void zstd_window_beyond_8_mib_is_refused_by_name_piecewise_only(void **state)
{
    (void)state;
    int64_t size = 20 << 20;
    uint8_t *data = make_data(0, size);
    for (int64_t i = 0; i < size; i += 4096) {
        data[i] = (uint8_t)(i >> 12);
    }
    size_t room = ZSTD_compressBound((size_t)size);
    uint8_t *packed = malloc(room);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 1);
    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, 24);
    size_t written = ZSTD_compress2(context, packed, room, data, (size_t)size);
    assert_false(ZSTD_isError(written));
    ZSTD_freeCCtx(context);
    oci_codec *codec = make_codec(OCI_CODEC_ZSTD, 0);
    uint8_t *back = malloc((size_t)size);
    assert_int_equal(oci_codec_decompress(codec, packed, (int64_t)written, back, size, NULL),
                     OC_OK);
    assert_memory_equal(back, data, (size_t)size);
    assert_int_equal(oci_codec_stream_begin(codec, NULL), OC_OK);
    int64_t take = (int64_t)written;
    int64_t give = 1000;
    bool end = false;
    oc_error err = {0};
    assert_int_equal(oci_codec_stream_step(codec, packed, &take, back, &give, &end, &err),
                     OC_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "8 MiB"));
    free(back);
    free(packed);
    free(data);
    oci_codec_destroy(codec);
}

static void claims_beyond_what_a_frame_can_hold_are_seen_early(void **state)
{
    (void)state;
    uint8_t frame[64];
    memset(frame, 0, sizeof frame);
    assert_true(oci_codec_content_max(OCI_CODEC_LZ4_FRAME, frame, 64) <= 64 * 256);
    assert_true(oci_codec_content_max(OCI_CODEC_ZSTD, frame, 64) <= 17 * 128 * 1024);
    assert_true(oci_codec_content_max(OCI_CODEC_LZ4_FRAME, frame, INT64_MAX / 2) == INT64_MAX);
    assert_int_equal(oci_codec_content_max(OCI_CODEC_NONE, frame, 64), 64);
    oci_codec *codec = make_codec(OCI_CODEC_ZSTD, 0);
    uint8_t *data = make_data(0, 1 << 20);
    int64_t written = 0;
    uint8_t *packed = pack_whole(codec, OCI_CODEC_ZSTD, data, 1 << 20, &written);
    assert_int_equal(oci_codec_content_max(OCI_CODEC_ZSTD, packed, written), 1 << 20);
    free(packed);
    free(data);
    oci_codec_destroy(codec);
}

static void bounds_of_parts_add_up(void **state)
{
    (void)state;
    const int64_t parts[] = {0, 1, 63, 65535, 65536, 65537, 131071, 131072, 1000000};
    for (size_t c = 0; c < N_CODECS; c++) {
        int64_t sum = 0;
        int64_t bounds = 0;
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
            sum += parts[i];
            bounds += oci_codec_bound(all_codecs[c], parts[i]);
            int64_t k = (int64_t)i + 1;
            assert_true(bounds <= oci_codec_bound(all_codecs[c], sum) +
                                      k * oci_codec_bound(all_codecs[c], 1));
        }
    }
}

/* A codec that went through other levels gives the frames of a fresh one. */
static void level_changes_from_frame_to_frame(void **state)
{
    (void)state;
    enum { SIZE = 300000 };
    static const int levels[] = {9, -10, 3, 1, 0, 6, 3};
    uint8_t *data = make_data(1, SIZE);
    for (size_t c = 0; c < N_CODECS; c++) {
        oci_codec *codec = make_codec(all_codecs[c], -5);
        for (size_t l = 0; l < sizeof levels / sizeof levels[0]; l++) {
            oci_codec *fresh = make_codec(all_codecs[c], levels[l]);
            int64_t a_size = 0;
            int64_t b_size = 0;
            assert_int_equal(oci_codec_set_level(codec, levels[l], NULL), OC_OK);
            uint8_t *a = pack_whole(codec, all_codecs[c], data, SIZE, &a_size);
            uint8_t *b = pack_whole(fresh, all_codecs[c], data, SIZE, &b_size);
            assert_int_equal(a_size, b_size);
            assert_memory_equal(a, b, (size_t)a_size);
            free(a);
            free(b);
            oci_codec_destroy(fresh);
        }
        assert_int_equal(oci_codec_set_level(codec, 10, NULL), OC_EINVAL);
        oci_codec_destroy(codec);
    }
    free(data);
}

/* Blocks of several chunks, as Hadoop's own writer makes them of large buffers, and what other writers put in
 * their place. */
static void what_parquet_calls_lz4_is_told_by_its_bytes(void **state)
{
    (void)state;
    enum { SIZE = 100000, HALF = 40000 };
    oci_codec *hadoop = make_codec(OCI_CODEC_LZ4_HADOOP, 0);
    oci_codec *raw = make_codec(OCI_CODEC_LZ4_RAW, 0);
    oci_codec *frame = make_codec(OCI_CODEC_LZ4_FRAME, 0);
    uint8_t *data = make_data(1, SIZE);
    uint8_t *back = malloc(SIZE);
    uint8_t *packed = malloc(3 * SIZE);
    int64_t one = 0;
    int64_t two = 0;
    assert_non_null(back);
    assert_non_null(packed);
    const uint8_t content[4] = {0, SIZE >> 16, (SIZE >> 8) & 255, SIZE & 255};
    memcpy(packed, content, 4);
    assert_int_equal(oci_codec_compress(raw, data, HALF, packed + 8, 2 * SIZE, &one, NULL), OC_OK);
    const uint8_t first[4] = {0, 0, (uint8_t)(one >> 8), (uint8_t)one};
    memcpy(packed + 4, first, 4);
    assert_int_equal(
        oci_codec_compress(raw, data + HALF, SIZE - HALF, packed + 12 + one, 2 * SIZE, &two, NULL),
        OC_OK);
    assert_true(one < 65536 && two < 65536);
    const uint8_t second[4] = {0, 0, (uint8_t)(two >> 8), (uint8_t)two};
    memcpy(packed + 8 + one, second, 4);
    assert_int_equal(oci_codec_decompress(hadoop, packed, 12 + one + two, back, SIZE, NULL), OC_OK);
    assert_memory_equal(back, data, SIZE);
    assert_int_equal(oci_codec_decompress(hadoop, packed, 11 + one + two, back, SIZE, NULL),
                     OC_EDATA);
    oci_codec *others[] = {raw, frame};
    for (int i = 0; i < 2; i++) {
        memset(back, 0, SIZE);
        assert_int_equal(oci_codec_compress(others[i], data, SIZE, packed, 3 * SIZE, &one, NULL),
                         OC_OK);
        assert_int_equal(oci_codec_decompress(hadoop, packed, one, back, SIZE, NULL), OC_OK);
        assert_memory_equal(back, data, SIZE);
    }
    free(packed);
    free(back);
    free(data);
    oci_codec_destroy(frame);
    oci_codec_destroy(raw);
    oci_codec_destroy(hadoop);
}

static void gzip_of_several_members_and_zlib_are_read(void **state)
{
    (void)state;
    enum { SIZE = 30000 };
    oci_codec *codec = make_codec(OCI_CODEC_GZIP, 0);
    uint8_t *data = make_data(1, SIZE);
    uint8_t *packed = malloc(3 * SIZE);
    uint8_t *back = malloc(SIZE);
    int64_t one = 0;
    int64_t two = 0;
    assert_non_null(back);
    assert_non_null(packed);
    assert_int_equal(oci_codec_compress(codec, data, 1000, packed, SIZE, &one, NULL), OC_OK);
    assert_int_equal(oci_codec_compress(codec, data + 1000, SIZE - 1000, packed + one,
                                        3 * SIZE - one, &two, NULL),
                     OC_OK);
    assert_int_equal(oci_codec_decompress(codec, packed, one + two, back, SIZE, NULL), OC_OK);
    assert_memory_equal(back, data, SIZE);
    uLongf zlib_bytes = 3 * SIZE;
    assert_int_equal(compress2(packed, &zlib_bytes, data, SIZE, 6), Z_OK);
    memset(back, 0, SIZE);
    assert_int_equal(oci_codec_decompress(codec, packed, (int64_t)zlib_bytes, back, SIZE, NULL),
                     OC_OK);
    assert_memory_equal(back, data, SIZE);
    free(packed);
    free(back);
    free(data);
    oci_codec_destroy(codec);
}

/* A window of 16 MiB is the data's wish, and nobody's overhead. */
static void brotli_windows_are_charged_and_may_be_refused(void **state)
{
    (void)state;
    enum { SIZE = 3 << 20 };
    uint8_t *data = make_data(1, SIZE);
    uint8_t *back = malloc(SIZE);
    size_t size = BrotliEncoderMaxCompressedSize(SIZE);
    uint8_t *packed = malloc(size);
    assert_non_null(back);
    assert_non_null(packed);
    assert_true(BrotliEncoderCompress(1, 24, BROTLI_MODE_GENERIC, SIZE, data, &size, packed));
    for (int64_t limit = 64 << 10; limit <= 64 << 20; limit *= 1024) {
        oci_budget *budget = NULL;
        oci_mem *mem = NULL;
        assert_int_equal(oci_budget_create(limit, NULL, &budget, NULL), OC_OK);
        assert_int_equal(oci_mem_open(budget, "codec", &mem, NULL), OC_OK);
        oci_codec *codec = make_codec(OCI_CODEC_BROTLI, 0);
        oci_codec_charge(codec, mem);
        oc_error err = {0};
        oc_status status = oci_codec_decompress(codec, packed, (int64_t)size, back, SIZE, &err);
        assert_int_equal(status, limit < 1 << 20 ? OC_EBUDGET : OC_OK);
        if (status == OC_OK) {
            assert_memory_equal(back, data, SIZE);
            assert_true(oci_budget_peak(budget) > 1 << 20);
        }
        assert_int_equal(oci_mem_held(mem), 0);
        oci_codec_destroy(codec);
        oci_mem_close(mem);
        oci_budget_destroy(budget);
    }
    free(packed);
    free(back);
    free(data);
}

/* The library ends the process when an encoder of its own is refused memory. */
static void brotli_packs_with_as_much_memory_as_there_is(void **state)
{
    (void)state;
    enum { SIZE = 200 << 10 };
    uint8_t *data = make_data(1, SIZE);
    uint8_t *back = malloc(SIZE);
    int64_t capacity = oci_codec_bound(OCI_CODEC_BROTLI, SIZE);
    uint8_t *packed = malloc((size_t)capacity);
    assert_non_null(back);
    assert_non_null(packed);
    int64_t refused = 0;
    for (int64_t limit = 32 << 10; limit <= 64 << 20; limit += limit / 3) {
        oci_budget *budget = NULL;
        oci_mem *mem = NULL;
        assert_int_equal(oci_budget_create(limit, NULL, &budget, NULL), OC_OK);
        assert_int_equal(oci_mem_open(budget, "codec", &mem, NULL), OC_OK);
        oci_codec *codec = make_codec(OCI_CODEC_BROTLI, 9);
        oci_codec_charge(codec, mem);
        int64_t size = 0;
        oc_error err = {0};
        oc_status status = oci_codec_compress(codec, data, SIZE, packed, capacity, &size, &err);
        assert_int_equal(status, limit < 180 << 10 ? OC_EBUDGET : OC_OK);
        refused += status != OC_OK;
        assert_int_equal(oci_mem_held(mem), 0);
        oci_codec_charge(codec, NULL);
        if (status == OC_OK) {
            assert_int_equal(oci_codec_decompress(codec, packed, size, back, SIZE, &err), OC_OK);
            assert_memory_equal(back, data, SIZE);
        }
        oci_codec_destroy(codec);
        oci_mem_close(mem);
        oci_budget_destroy(budget);
    }
    assert_true(refused > 2);
    free(packed);
    free(back);
    free(data);
}

static void codecs_of_whole_buffers_refuse_pieces(void **state)
{
    (void)state;
    for (size_t c = 3; c < N_CODECS; c++) {
        oci_codec *codec = make_codec(all_codecs[c], 0);
        oc_error err = {0};
        assert_int_equal(oci_codec_stream_begin(codec, &err), OC_EUNSUPPORTED);
        assert_non_null(strstr(err.message, oci_codec_name(all_codecs[c])));
        oci_codec_destroy(codec);
    }
}

static void names_parse_and_levels_are_checked(void **state)
{
    (void)state;
    oci_codec_id id = OCI_CODEC_NONE;
    assert_true(oci_codec_parse("LZ4", &id) && id == OCI_CODEC_LZ4_FRAME);
    assert_true(oci_codec_parse("zstd", &id) && id == OCI_CODEC_ZSTD);
    assert_true(oci_codec_parse("uncompressed", &id) && id == OCI_CODEC_NONE);
    assert_false(oci_codec_parse("brotli", &id));
    for (size_t c = 0; c < 3; c++) {
        assert_true(oci_codec_parse(oci_codec_name(all_codecs[c]), &id) && id == all_codecs[c]);
    }
    oci_codec *codec = NULL;
    oc_error err = {0};
    assert_int_equal(oci_codec_create(OCI_CODEC_ZSTD, 10, &codec, &err), OC_EINVAL);
    assert_int_equal(oci_codec_create(OCI_CODEC_ZSTD, -11, &codec, &err), OC_EINVAL);
    codec = make_codec(OCI_CODEC_LZ4_FRAME, 0);
    uint8_t room[8];
    int64_t written = 0;
    assert_int_equal(oci_codec_compress(codec, "abc", 3, room, 8, &written, &err), OC_EINVAL);
    oci_codec_destroy(codec);
    oci_codec_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip_keeps_every_byte),
        cmocka_unit_test(wrong_announced_size_is_refused),
        cmocka_unit_test(truncated_frame_is_refused_at_every_byte),
        cmocka_unit_test(flipped_bytes_never_crash),
        cmocka_unit_test(stream_gives_the_same_bytes_at_any_step),
        cmocka_unit_test(stream_can_begin_anew_in_the_middle_of_a_frame),
        cmocka_unit_test(lz4_frames_of_any_option_are_read),
        cmocka_unit_test(several_frames_in_a_row_are_one_buffer),
        cmocka_unit_test(zstd_window_beyond_8_mib_is_refused_by_name_piecewise_only),
        cmocka_unit_test(claims_beyond_what_a_frame_can_hold_are_seen_early),
        cmocka_unit_test(bounds_of_parts_add_up),
        cmocka_unit_test(level_changes_from_frame_to_frame),
        cmocka_unit_test(what_parquet_calls_lz4_is_told_by_its_bytes),
        cmocka_unit_test(gzip_of_several_members_and_zlib_are_read),
        cmocka_unit_test(brotli_windows_are_charged_and_may_be_refused),
        cmocka_unit_test(brotli_packs_with_as_much_memory_as_there_is),
        cmocka_unit_test(codecs_of_whole_buffers_refuse_pieces),
        cmocka_unit_test(names_parse_and_levels_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
