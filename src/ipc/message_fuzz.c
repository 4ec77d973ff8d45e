/* libFuzzer target: a stream of messages, as it could come from anywhere.
 *
 * The first message is read as the schema, the others are decoded by it, untrusted. Whatever is
 * accepted has to be readable value by value, and encoding it again has to give messages that
 * decode. Nothing may be held in the end. Input beginning with "ARROW1" is also tried as a
 * footer. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/decoder.h"
#include "ipc/encoder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LIMIT = 32 << 20, ROWS_MAX = 10000 };

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

/* What was accepted can be looked at. */
static void touch_values(const oci_batch *batch)
{
    uint64_t sum = 0;
    for (int32_t i = 0; i < batch->schema->n_fields; i++) {
        for (int64_t row = 0; row < batch->length && row < ROWS_MAX; row++) {
            sum += oci_value_hash(&batch->columns[i], row, sum);
        }
    }
}

static oc_status decode_at(oci_ipc_decoder *decoder, oci_mem *mem, const uint8_t *data,
                           int64_t size, int64_t *used, oci_batch **out)
{
    int64_t metadata_bytes = 0;
    int prefix_bytes = 0;
    oci_message message;
    void *slab = NULL;
    *out = NULL;
    OC_TRY(oci_frame_parse(data, &metadata_bytes, &prefix_bytes, NULL));
    int64_t head = prefix_bytes + metadata_bytes;
    if (metadata_bytes == 0 || head > size) {
        return OC_EDATA;
    }
    OC_TRY(oci_message_parse(data + prefix_bytes, metadata_bytes, &message, NULL));
    if (message.kind == OCI_MESSAGE_SCHEMA || message.body_bytes > size - head) {
        return OC_EDATA;
    }
    OC_TRY(oci_mem_try_alloc(mem, message.body_bytes, &slab, NULL));
    memcpy(slab, data + head, (size_t)message.body_bytes);
    *used = head + message.body_bytes;
    return oci_ipc_decode(decoder, &message, slab, message.body_bytes, 0, NULL, out, NULL);
}

/* Encoded again it must decode again. */
static void check_again(const oci_batch *batch, oci_codec_id codec, bool for_spill, oci_mem *mem)
{
    oci_ipc_encoder *encoder = NULL;
    oci_ipc_decoder *decoder = NULL;
    uint8_t *data = NULL;
    int64_t size = 0;
    require(oci_ipc_encoder_create(batch->schema, codec, 0, mem, &encoder, NULL) == OC_OK);
    require(oci_ipc_decoder_create(batch->schema, NULL, false, mem, &decoder, NULL) == OC_OK);
    require(!for_spill || oci_ipc_encoder_for_spill(encoder, true, true, NULL) == OC_OK);
    oc_status status = oci_ipc_encode_batch(encoder, batch, NULL, &data, &size, NULL);
    require(status == OC_OK || status == OC_EBUDGET);
    while (status == OC_OK && size > 0) {
        int64_t used = 0;
        oci_batch *back = NULL;
        status = decode_at(decoder, mem, data, size, &used, &back);
        require(status == OC_OK || status == OC_EBUDGET);
        require(back == NULL || back->length > 100 || oci_batch_equal(batch, back));
        oci_batch_release(back);
        data += used;
        size -= used;
    }
    oci_ipc_encoder_destroy(encoder);
    oci_ipc_decoder_destroy(decoder);
}

static void read_messages(oci_schema *schema, const oci_dictionary_ids *ids, oci_mem *mem,
                          const uint8_t *data, int64_t size)
{
    oci_ipc_decoder *decoder = NULL;
    oc_status status = oci_ipc_decoder_create(schema, ids, false, mem, &decoder, NULL);
    while (status == OC_OK && size >= 8) {
        int64_t used = 0;
        oci_batch *batch = NULL;
        status = decode_at(decoder, mem, data, size, &used, &batch);
        if (batch != NULL) {
            touch_values(batch);
            check_again(batch, (oci_codec_id)(size % 3), size % 16 >= 8, mem);
        }
        oci_batch_release(batch);
        data += used;
        size -= used;
    }
    oci_ipc_decoder_destroy(decoder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t left = (int64_t)size;
    if (left < 8) {
        return 0;
    }
    if (memcmp(data, OCI_IPC_MAGIC, OCI_IPC_MAGIC_BYTES) == 0) {
        oci_ipc_footer footer;
        if (oci_footer_parse(data + OCI_IPC_FILE_HEAD_BYTES, left - OCI_IPC_FILE_HEAD_BYTES,
                             INT64_C(1) << 40, &footer, NULL) == OC_OK) {
            oci_footer_deinit(&footer);
        }
    }
    int64_t metadata_bytes = 0;
    int prefix_bytes = 0;
    oci_schema *schema = NULL;
    oci_dictionary_ids ids = {0};
    bool big_endian = false;
    if (oci_frame_parse(data, &metadata_bytes, &prefix_bytes, NULL) != OC_OK ||
        metadata_bytes > left - prefix_bytes ||
        oci_message_parse_schema(data + prefix_bytes, metadata_bytes, &schema, &ids, &big_endian,
                                 NULL) != OC_OK) {
        return 0;
    }
    oci_budget *budget = NULL;
    oci_mem *mem = NULL;
    require(oci_budget_create(LIMIT, NULL, &budget, NULL) == OC_OK);
    require(oci_mem_open(budget, "fuzz", &mem, NULL) == OC_OK);
    int64_t head = prefix_bytes + metadata_bytes;
    read_messages(schema, &ids, mem, data + head, left - head);
    oci_schema_release(schema);
    free(ids.ids);
    require(oci_mem_held(mem) == 0);
    oci_mem_close(mem);
    oci_budget_destroy(budget);
    return 0;
}
