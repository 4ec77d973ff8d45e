/* What a codec is made of; for codec*.c only. */
#ifndef OUTCORE_CODEC_CODEC_IMPL_H
#define OUTCORE_CODEC_CODEC_IMPL_H

#include "codec/codec.h"

/* One per library. `codec` is the oci_codec that create() made. */
typedef struct oci_codec_ops {
    oc_status (*create)(oci_codec **out, oc_error *err);
    /* May be NULL. Called right after create(), and whenever the level changes; 0 = default. */
    oc_status (*set_level)(oci_codec *codec, int level, oc_error *err);
    void (*destroy)(oci_codec *codec);
    int64_t (*bound)(int64_t size);
    int64_t (*content_max)(const void *src, int64_t size);
    oc_status (*compress)(oci_codec *codec, const void *src, int64_t size, void *dst,
                          int64_t capacity, int64_t *written, oc_error *err);
    oc_status (*decompress)(oci_codec *codec, const void *src, int64_t size, void *dst,
                            int64_t dst_size, oc_error *err);
    /* NULL: whole buffers only. */
    oc_status (*stream_begin)(oci_codec *codec, oc_error *err);
    oc_status (*stream_step)(oci_codec *codec, const void *src, int64_t *src_size, void *dst,
                             int64_t *dst_size, bool *end, oc_error *err);
} oci_codec_ops;

/* The first member of every codec. */
struct oci_codec {
    const oci_codec_ops *ops;
    oci_codec_id id;
    oci_mem *mem; /* of contexts whose size the data decides; NULL = malloc */
};

extern const oci_codec_ops oci_codec_none_ops;
extern const oci_codec_ops oci_codec_lz4_ops;
extern const oci_codec_ops oci_codec_zstd_ops;
extern const oci_codec_ops oci_codec_snappy_ops;
extern const oci_codec_ops oci_codec_gzip_ops;
extern const oci_codec_ops oci_codec_brotli_ops;
extern const oci_codec_ops oci_codec_lz4_raw_ops;
extern const oci_codec_ops oci_codec_lz4_hadoop_ops;

/* For codecs without state: a struct oci_codec from malloc and nothing else. */
oc_status oci_codec_plain_create(oci_codec **out, oc_error *err);
void oci_codec_plain_destroy(oci_codec *codec);

#endif /* OUTCORE_CODEC_CODEC_IMPL_H */
