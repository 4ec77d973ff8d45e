/* The messages of a run: the place of each, its checksum or its seal. See block_encoder.h.
 *
 * Places. Every framed message of a run has a number: schema messages, dictionaries, batches and end
 * markers count, across streams. Checksum and nonce depend on it.
 *
 * Messages are stamped where they lie. Sealed ones go to a buffer of their own, since each frame is
 * longer than its message. The opening, a few schema messages, comes from malloc: it grows with the
 * schema. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "spill/block_encoder_internal.h"
#include "spill/checksum.h"

/* Puts one framed message to `to`, sealed or as it is; returns the bytes written. */
static int64_t put_message(oci_block_encoder *encoder, const uint8_t *data, int64_t size,
                           uint8_t *to)
{
    int64_t place = encoder->place++;
    if (encoder->manager->seal == NULL) {
        memcpy(to, data, (size_t)size);
        return size;
    }
    oci_seal_close(encoder->manager->seal, encoder->run_id, place, data, size, to);
    return size + OCI_SEAL_EXTRA;
}

oc_status oci_block_encoder_secure(oci_block_encoder *encoder, oci_reservation *from, uint8_t *data,
                                   int64_t size, oci_block *out, oc_error *err)
{
    const oci_ipc_extent *extents;
    int32_t n = oci_ipc_encoder_extents(encoder->encoders[encoder->stream], &extents);
    out->data = data;
    out->bytes = size;
    if (encoder->manager->seal == NULL) {
        for (int32_t i = 0; i < n; i++) {
            if (encoder->with_checksum) {
                oci_checksum_stamp(data + extents[i].offset, extents[i].metadata_bytes,
                                   extents[i].body_bytes, encoder->place);
            }
            encoder->place++;
        }
        return OC_OK;
    }
    void *block;
    int64_t capacity = size + n * (int64_t)OCI_SEAL_EXTRA;
    OC_TRY(oci_mem_alloc_reserved(from, capacity, &block, err));
    encoder->sealed = block;
    encoder->sealed_capacity = capacity;
    int64_t at = 0;
    for (int32_t i = 0; i < n; i++) {
        at += put_message(encoder, data + extents[i].offset,
                          extents[i].metadata_bytes + extents[i].body_bytes, encoder->sealed + at);
    }
    assert(at == capacity);
    out->data = encoder->sealed;
    out->bytes = capacity;
    return OC_OK;
}

/* ---- openings -------------------------------------------------------------------------------- */

void oci_block_encoder_clear_opening(oci_block_encoder *encoder)
{
    free(encoder->opening.data);
    encoder->opening = (oci_bytes){0};
}

static oc_status append_message(oci_block_encoder *encoder, const uint8_t *data, int64_t size,
                                oc_error *err)
{
    oci_bytes *opening = &encoder->opening;
    uint8_t *longer = malloc((size_t)(opening->size + size + OCI_SEAL_EXTRA));
    if (longer == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not write a spill file: out of memory");
    }
    if (opening->size > 0) {
        memcpy(longer, opening->data, (size_t)opening->size);
    }
    free(opening->data);
    opening->data = longer;
    opening->size += put_message(encoder, data, size, longer + opening->size);
    return OC_OK;
}

oc_status oci_block_encoder_append_end(oci_block_encoder *encoder, oc_error *err)
{
    return append_message(encoder, oci_ipc_end_marker(), OCI_IPC_PREFIX_BYTES, err);
}

oc_status oci_block_encoder_append_schema(oci_block_encoder *encoder, uint8_t *schema, int64_t size,
                                          oc_error *err)
{
    if (encoder->stream != OCI_STREAM_NONE) {
        OC_TRY(oci_block_encoder_append_end(encoder, err));
    }
    if (encoder->with_checksum) {
        oci_checksum_stamp(schema, size, 0, encoder->place);
    }
    return append_message(encoder, schema, size, err);
}
