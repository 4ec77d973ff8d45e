/* What the tests of encoder and decoder share: a budget to work in, and messages taken apart and
 * decoded. */
#ifndef OUTCORE_IPC_IPC_TEST_SUPPORT_H
#define OUTCORE_IPC_IPC_TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fault.h"
#include "ipc/decoder.h"
#include "ipc/encoder.h"
#include "support/batch_maker.h"

typedef struct ipc_fixture {
    oci_budget *budget;
    oci_mem *mem;
} ipc_fixture;

static inline ipc_fixture open_fixture(int64_t limit, const oci_allocator *allocator)
{
    ipc_fixture f = {0};
    assert_int_equal(oci_budget_create(limit, allocator, &f.budget, NULL), OC_OK);
    assert_int_equal(oci_mem_open(f.budget, "test", &f.mem, NULL), OC_OK);
    return f;
}

static inline void close_fixture(ipc_fixture *f)
{
    assert_int_equal(oci_mem_held(f->mem), 0);
    oci_mem_close(f->mem);
    oci_budget_destroy(f->budget);
}

static inline oci_ipc_encoder *make_encoder(const ipc_fixture *f, oci_schema *schema,
                                            oci_codec_id codec)
{
    oci_ipc_encoder *encoder = NULL;
    assert_int_equal(oci_ipc_encoder_create(schema, codec, 0, f->mem, &encoder, NULL), OC_OK);
    return encoder;
}

static inline oci_ipc_decoder *make_decoder(const ipc_fixture *f, oci_schema *schema, bool trusted)
{
    oci_ipc_decoder *decoder = NULL;
    assert_int_equal(oci_ipc_decoder_create(schema, NULL, trusted, f->mem, &decoder, NULL), OC_OK);
    return decoder;
}

/* The first message of data[0..size): its metadata is copied to a block of its own size, so that
 * reading past it is seen, its body to a slab that begins `shift` bytes before it. *used 0 at the
 * end marker. */
static inline oc_status decode_message(const ipc_fixture *f, oci_ipc_decoder *decoder,
                                       const uint8_t *data, int64_t size, int64_t shift,
                                       int64_t *used, oci_batch **out, oc_error *err)
{
    int64_t metadata_bytes = 0;
    int prefix_bytes = 0;
    *used = 0;
    if (size < 8) {
        return OC_SET(err, OC_EDATA, "data ends inside a prefix");
    }
    OC_TRY(oci_frame_parse(data, &metadata_bytes, &prefix_bytes, err));
    if (metadata_bytes > size - prefix_bytes) {
        return OC_SET(err, OC_EDATA, "data ends inside metadata");
    }
    if (metadata_bytes == 0) {
        return OC_OK;
    }
    uint8_t *metadata = malloc((size_t)metadata_bytes);
    memcpy(metadata, data + prefix_bytes, (size_t)metadata_bytes);
    int64_t head = prefix_bytes + metadata_bytes;
    oci_message message;
    void *slab = NULL;
    oc_status status = oci_message_parse(metadata, metadata_bytes, &message, err);
    if (status == OC_OK &&
        (message.body_bytes > size - head || message.kind == OCI_MESSAGE_SCHEMA)) {
        status = OC_SET(err, OC_EDATA, "data ends inside a body, or has a second schema");
    }
    if (status == OC_OK) {
        *used = head + message.body_bytes;
        status = oci_mem_try_alloc(f->mem, message.body_bytes + shift, &slab, err);
    }
    if (status == OC_OK) {
        memcpy((uint8_t *)slab + shift, data + head, (size_t)message.body_bytes);
        status = oci_ipc_decode(decoder, &message, slab, message.body_bytes + shift, shift, NULL,
                                out, err);
    }
    free(metadata);
    return status;
}

/* All messages. The last batch is given; one is expected at most. */
static inline oc_status try_decode(const ipc_fixture *f, oci_ipc_decoder *decoder,
                                   const uint8_t *data, int64_t size, int64_t shift,
                                   oci_batch **out, oc_error *err)
{
    oc_status status = OC_OK;
    int64_t used = 1;
    *out = NULL;
    while (status == OC_OK && size > 0 && used > 0) {
        oci_batch *batch = NULL;
        status = decode_message(f, decoder, data, size, shift, &used, &batch, err);
        if (batch != NULL || status != OC_OK) {
            oci_batch_release(*out);
            *out = batch;
        }
        data += used;
        size -= used;
    }
    return status;
}

static inline oci_batch *decode(const ipc_fixture *f, oci_ipc_decoder *decoder, const uint8_t *data,
                                int64_t size)
{
    oci_batch *batch = NULL;
    oc_error err = {0};
    if (try_decode(f, decoder, data, size, 0, &batch, &err) != OC_OK) {
        fail_msg("could not decode: %s", err.message);
    }
    assert_non_null(batch);
    return batch;
}

/* Reads every value, so that a sanitizer sees what cannot be reached. */
static inline uint64_t touch_values(const oci_batch *batch)
{
    uint64_t sum = 0;
    for (int32_t i = 0; i < batch->schema->n_fields; i++) {
        for (int64_t row = 0; row < batch->length; row++) {
            sum += oci_value_hash(&batch->columns[i], row, 1);
        }
    }
    return sum;
}

static inline void assert_batch_equal(const oci_batch *a, const oci_batch *b)
{
    assert_int_equal(a->length, b->length);
    for (int32_t i = 0; i < a->schema->n_fields; i++) {
        for (int64_t row = 0; row < a->length; row++) {
            if (!oci_value_equal(&a->columns[i], row, &b->columns[i], row)) {
                fail_msg("column %d row %d differs", (int)i, (int)row);
            }
        }
        assert_int_equal(oci_column_null_count(&a->columns[i]),
                         oci_column_null_count(&b->columns[i]));
    }
}

#endif /* OUTCORE_IPC_IPC_TEST_SUPPORT_H */
