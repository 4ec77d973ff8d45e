/* Compressed bodies: a length prefix in front of each buffer says how large it becomes, so the slab
 * is asked for before anything is decompressed, and what a prefix claims is held against what the
 * frame behind it can hold. The slab comes from the account; the list of rewritten buffers comes from
 * malloc and is no longer than the message's. */
#include "ipc/decoder_body.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "ipc/decoder.h"

/* Bytes that buffer i takes when decompressed; *is_raw when it is stored as it is (behind its
 * prefix). */
static oc_status claimed_bytes(const oci_message *message, const uint8_t *body, int64_t i,
                               int64_t *out, bool *is_raw, oc_error *err)
{
    oci_ipc_buffer buffer = oci_message_buffer(message, i);
    *out = 0;
    *is_raw = false;
    if (buffer.length == 0) {
        return OC_OK;
    }
    if (buffer.length < 8) {
        OC_FAIL(err, OC_EDATA,
                "compressed buffer %" PRId64 " has %" PRId64
                " bytes, fewer than the 8 of its length",
                i, buffer.length);
    }
    int64_t claim = (int64_t)oci_load_le64(body + buffer.offset);
    *is_raw = claim == -1;
    *out = *is_raw ? buffer.length - 8 : claim;
    if (*out < 0) {
        OC_FAIL(err, OC_EDATA, "compressed buffer %" PRId64 " claims %" PRId64 " bytes", i, claim);
    }
    if (*is_raw) {
        return OC_OK;
    }
    int64_t most =
        oci_codec_content_max(message->codec, body + buffer.offset + 8, buffer.length - 8);
    if (claim > most) {
        OC_FAIL(err, OC_EDATA,
                "compressed buffer %" PRId64 " claims %" PRId64 " bytes, but its %" PRId64
                " bytes of %s cannot hold more than %" PRId64,
                i, claim, buffer.length - 8, oci_codec_name(message->codec), most);
    }
    return OC_OK;
}

oc_status oci_ipc_decoded_bytes(const oci_message *message, const uint8_t *body, int64_t *out,
                                oc_error *err)
{
    *out = 0;
    if (message->codec == OCI_CODEC_NONE) {
        return OC_OK;
    }
    for (int64_t i = 0; i < message->n_buffers; i++) {
        int64_t size = 0;
        bool is_raw = false;
        OC_TRY(claimed_bytes(message, body, i, &size, &is_raw, err));
        if (size > INT64_MAX / 2 - 8 || !oci_add64(*out, oci_round_up(size, 8), out) ||
            *out > INT64_MAX / 2) {
            OC_FAIL(err, OC_EDATA,
                    "compressed buffers claim more bytes together than there can be");
        }
    }
    return OC_OK;
}

void oci_ipc_body_deinit(oci_ipc_body *body)
{
    if (body->slab != NULL) {
        oci_mem_free(body->mem, body->slab, body->slab_bytes);
    }
    free(body->rewritten);
    body->slab = NULL;
    body->rewritten = NULL;
}

static oc_status unpack_buffer(oci_codec *codec, const oci_ipc_body *in, int64_t i, uint8_t *to,
                               int64_t *size, oc_error *err)
{
    oci_ipc_buffer buffer = oci_message_buffer(&in->message, i);
    bool is_raw = false;
    OC_TRY(claimed_bytes(&in->message, in->data, i, size, &is_raw, err));
    if (buffer.length == 0) {
        return OC_OK;
    }
    const uint8_t *from = in->data + buffer.offset + 8;
    if (!is_raw) {
        OC_TRY(oci_codec_decompress(codec, from, buffer.length - 8, to, *size, err));
    } else if (*size > 0) {
        memcpy(to, from, (size_t)*size);
    }
    memset(to + *size, 0, (size_t)(oci_round_up(*size, 8) - *size));
    return OC_OK;
}

static oc_status unpack_buffers(oci_codec *codec, const oci_ipc_body *in, oci_ipc_body *out,
                                oc_error *err)
{
    int64_t at = 0;
    for (int64_t i = 0; i < in->message.n_buffers; i++) {
        int64_t size = 0;
        OC_TRY(unpack_buffer(codec, in, i, (uint8_t *)out->slab + at, &size, err));
        out->rewritten[i] = (oci_ipc_buffer){.offset = at, .length = size};
        at += oci_round_up(size, 8);
    }
    assert(at == out->slab_bytes);
    return OC_OK;
}

oc_status oci_ipc_body_unpack(oci_ipc_body *body, oci_codec *codec, oci_mem *mem,
                              oci_reservation *from, oc_error *err)
{
    oci_ipc_body plain = {.message = body->message, .mem = from != NULL ? from->mem : mem};
    OC_TRY(oci_ipc_decoded_bytes(&body->message, body->data, &plain.slab_bytes, err));
    OC_TRY(from != NULL ? oci_mem_alloc_reserved(from, plain.slab_bytes, &plain.slab, err)
                        : oci_mem_alloc(mem, plain.slab_bytes, &plain.slab, err));
    plain.rewritten = calloc((size_t)body->message.n_buffers + 1, sizeof *plain.rewritten);
    oc_status status = OC_OK;
    if (plain.rewritten == NULL) {
        status = OC_SET(err, OC_ENOMEM, "out of memory while decompressing a message");
    } else {
        status = unpack_buffers(codec, body, &plain, err);
    }
    if (status != OC_OK) {
        oci_ipc_body_deinit(&plain);
        return status;
    }
    plain.data = plain.slab;
    plain.message.codec = OCI_CODEC_NONE;
    plain.message.body_bytes = plain.slab_bytes;
    plain.message.buffers = (const uint8_t *)plain.rewritten;
    oci_ipc_body_deinit(body);
    *body = plain;
    return OC_OK;
}
