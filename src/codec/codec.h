/* Compression codecs behind one interface: LZ4 frame and zstd for IPC bodies and spill files, and those
 * that Parquet pages may have besides.
 *
 * An oci_codec holds the library's contexts and is reused from buffer to buffer; it is not
 * thread-safe. Contexts have a bounded size (<= 2 MiB at the levels allowed) and count as fixed
 * overhead, outside the budget; but those of brotli, whose window of up to 16 MiB is what the data says, are
 * charged where oci_codec_charge() says. */
#ifndef OUTCORE_CODEC_CODEC_H
#define OUTCORE_CODEC_CODEC_H

#include "base/memory.h"

typedef enum oci_codec_id {
    OCI_CODEC_NONE,
    OCI_CODEC_LZ4_FRAME,
    OCI_CODEC_ZSTD,
    /* Of whole buffers only: nothing piecewise. */
    OCI_CODEC_SNAPPY,
    OCI_CODEC_GZIP, /* written as gzip; read as gzip, of several members too, or zlib */
    OCI_CODEC_BROTLI,
    OCI_CODEC_LZ4_RAW, /* one LZ4 block without a frame */
    OCI_CODEC_LZ4_HADOOP /* blocks in Hadoop's framing; read also as frame or raw block, see codec_lz4_raw.c */
} oci_codec_id;

/* "none", "lz4_frame", "zstd", "snappy", "gzip", "brotli", "lz4_raw", "lz4_hadoop". */
const char *oci_codec_name(oci_codec_id id);
/* The codecs of IPC and spill files by name; also takes "uncompressed", "lz4". false when unknown. */
bool oci_codec_parse(const char *text, oci_codec_id *out);

typedef struct oci_codec oci_codec;

/* level 0 = default (zstd 1: spilled bytes are read once or twice, speed counts; lz4: its fast
 * mode; gzip 6; brotli 5). Levels -10..9 are taken, OC_EINVAL else; codecs without levels, or without negative
 * ones, take the nearest they have. A codec "none" copies. Contexts are made when they are first needed. */
OC_NODISCARD oc_status oci_codec_create(oci_codec_id id, int level, oci_codec **out, oc_error *err);
/* Another level from the next frame on; contexts are kept. */
OC_NODISCARD oc_status oci_codec_set_level(oci_codec *codec, int level, oc_error *err);
/* What brotli allocates from now on comes from `mem` (to outlive the codec) instead of malloc: then a refusal is
 * OC_EBUDGET. */
void oci_codec_charge(oci_codec *codec, oci_mem *mem);
void oci_codec_destroy(oci_codec *codec); /* NULL is fine */

/* Largest size that compressing `size` bytes can give. For any k sizes, the sum of the bounds is at
 * most the bound of the sum + k * oci_codec_bound(id, 1). */
int64_t oci_codec_bound(oci_codec_id id, int64_t size);
/* Upper bound of what the frames in src[0..size) can hold, seen from their headers and their size
 * alone (exact for a zstd frame that says it): a claim beyond it is refused before memory is taken
 * for it. INT64_MAX when it overflows. */
int64_t oci_codec_content_max(oci_codec_id id, const void *src, int64_t size);
/* One frame. `capacity` is at least oci_codec_bound(), OC_EINVAL else. */
OC_NODISCARD oc_status oci_codec_compress(oci_codec *codec, const void *src, int64_t size,
                                          void *dst, int64_t capacity, int64_t *written,
                                          oc_error *err);
/* One whole frame (or several) that must give exactly dst_size bytes: else OC_EDATA. Takes any
 * options a frame may have. */
OC_NODISCARD oc_status oci_codec_decompress(oci_codec *codec, const void *src, int64_t size,
                                            void *dst, int64_t dst_size, oc_error *err);

/* Piecewise decompression of one buffer (none, LZ4 frame, zstd; OC_EUNSUPPORTED else): feed input, take output. begin() starts a new frame,
 * whatever became of the last one. step() consumes up to *src_size bytes and produces up to
 * *dst_size, and sets both to what it did; *end when the frame is complete. OC_EDATA: damaged, or
 * neither consumed nor produced anything though given both. zstd keeps a window: frames that want
 * more than 8 MiB (levels above 19) are OC_EUNSUPPORTED here. Codec none has no end: copies, *end
 * false. */
OC_NODISCARD oc_status oci_codec_stream_begin(oci_codec *codec, oc_error *err);
OC_NODISCARD oc_status oci_codec_stream_step(oci_codec *codec, const void *src, int64_t *src_size,
                                             void *dst, int64_t *dst_size, bool *end,
                                             oc_error *err);

#endif /* OUTCORE_CODEC_CODEC_H */
