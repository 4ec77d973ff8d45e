/* See encoder_pack.h. The counters come from malloc: they grow with the schema. */
#include "ipc/encoder_pack.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

enum {
    REST_BLOCKS = 7,      /* so that noise costs an eighth of compressing it */
    TRIED_BYTES_MIN = 64, /* less cannot save more than its frame costs */
    SAVED_SHARE_MIN = 32  /* less than this share saved is not worth decompressing */
};

oc_status oci_body_packer_set(oci_body_packer *packer, oci_codec_id id, int level, oc_error *err)
{
    if (id != OCI_CODEC_NONE && packer->codecs[id] == NULL) {
        OC_TRY(oci_codec_create(id, level, &packer->codecs[id], err));
    } else if (id != OCI_CODEC_NONE) {
        OC_TRY(oci_codec_set_level(packer->codecs[id], level, err));
    }
    packer->id = id;
    packer->weighs_symbols = id == OCI_CODEC_ZSTD && level >= 0;
    return OC_OK;
}

oc_status oci_body_packer_rest(oci_body_packer *packer, int64_t n_buffers, oc_error *err)
{
    assert(packer->rests == NULL);
    packer->rests = calloc((size_t)n_buffers + 1, 2);
    if (packer->rests == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while making an encoder");
    }
    packer->n_rests = n_buffers;
    return OC_OK;
}

void oci_body_packer_deinit(oci_body_packer *packer)
{
    for (int id = 0; id < OCI_PACK_CODECS; id++) {
        oci_codec_destroy(packer->codecs[id]);
    }
    free(packer->rests);
    *packer = (oci_body_packer){0};
}

bool oci_body_packer_may_compress(const oci_body_packer *packer)
{
    return packer->changes || packer->id != OCI_CODEC_NONE;
}

int64_t oci_body_packer_bound(const oci_body_packer *packer, int64_t size)
{
    int64_t most = oci_codec_bound(packer->id, size);
    for (int id = 0; packer->changes && id < OCI_PACK_CODECS; id++) {
        most = oci_max64(most, oci_codec_bound((oci_codec_id)id, size));
    }
    return OCI_PACK_PREFIX_BYTES + oci_max64(size, most);
}

/* The counter of a buffer, or NULL. */
static uint8_t *rest_of(const oci_body_packer *packer, int64_t number)
{
    if (packer->rests == NULL || number >= packer->n_rests) {
        return NULL;
    }
    return &packer->rests[packer->weighs_symbols ? packer->n_rests + number : number];
}

static bool is_resting(const oci_body_packer *packer, uint8_t *rest, int64_t size)
{
    if (packer->rests != NULL && size < TRIED_BYTES_MIN) {
        return true;
    }
    if (rest == NULL || *rest == 0) {
        return false;
    }
    --*rest;
    return true;
}

oc_status oci_body_packer_pack(oci_body_packer *packer, const oci_buffer_source *source,
                               int64_t number, uint8_t *scratch, uint8_t *to, int64_t *size,
                               oc_error *err)
{
    uint8_t *values = to + OCI_PACK_PREFIX_BYTES;
    uint8_t *rest = rest_of(packer, number);
    *size = OCI_PACK_PREFIX_BYTES + source->size;
    oci_store_le64(to, UINT64_MAX);
    if (is_resting(packer, rest, source->size)) {
        oci_buffer_source_copy(source, values);
        return OC_OK;
    }
    const uint8_t *from = source->data;
    if (source->kind != OCI_SOURCE_BYTES) {
        oci_buffer_source_copy(source, scratch);
        from = scratch;
    }
    int64_t packed = 0;
    OC_TRY(oci_codec_compress(packer->codecs[packer->id], from, source->size, values,
                              oci_codec_bound(packer->id, source->size), &packed, err));
    int64_t saved_min = packer->rests != NULL ? source->size / SAVED_SHARE_MIN : 1;
    if (source->size - packed >= saved_min) {
        oci_store_le64(to, (uint64_t)source->size);
        *size = OCI_PACK_PREFIX_BYTES + packed;
        return OC_OK;
    }
    memcpy(values, from, (size_t)source->size);
    if (rest != NULL) {
        *rest = REST_BLOCKS;
    }
    return OC_OK;
}
