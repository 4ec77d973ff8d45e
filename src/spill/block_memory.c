/* What blocks take in memory: to be written, and to be read back. See block_encoder.h.
 *
 * Writing. A dense block takes its physical slab, scratch while it is packed, and then the encoder's
 * buffer and, when it is sealed, one more of that size.
 *
 * Reading goes message by message. Of each its metadata, if they are long, and its body are in memory,
 * then the body and what it is decompressed to, then that and the columns it is unpacked to.
 * Dictionaries stay; of the rest, what the batch does not keep is gone when the next message is read.
 * (run_reader.c, run_decoder.c.) */
#include <assert.h>

#include "base/bits.h"
#include "ipc/encoder_buffers.h"
#include "ipc/layout_walk.h"
#include "spill/block_encoder_internal.h"
#include "spill/run_internal.h"

/* What an unpacked column can take more than a gathered one: room behind strings, padding. */
#define UNPACKED_EXTRA 32

/* ---- sizes of batches ------------------------------------------------------------------------ */

static oc_status add_buffer(void *arg, const oci_buffer_source *source, oc_error *err)
{
    (void)err;
    oci_message_sizes *sizes = arg;
    sizes->bytes += oci_round_up(source->size, 8);
    sizes->n_buffers++;
    return OC_OK;
}

static void add_column(oci_message_sizes *sizes, const oci_column *column)
{
    oci_column_visitor visitor = {.arg = sizes, .buffer = add_buffer};
    oc_status status = oci_column_visit(column, &visitor, NULL);
    assert(status == OC_OK);
    (void)status;
}

/* Each is a message of its own. */
static void add_dictionaries(oci_message_sizes *sizes, const oci_column *column)
{
    if (column->dictionary != NULL) {
        oci_message_sizes own = {0};
        add_column(&own, column->dictionary);
        sizes->bytes += own.bytes;
        sizes->n_buffers += own.n_buffers;
        sizes->dictionary_bytes += own.bytes;
        sizes->dictionary_charge += oci_mem_charge_of(own.bytes);
        add_dictionaries(sizes, column->dictionary);
    }
    for (int32_t i = 0; i < column->field->n_children; i++) {
        add_dictionaries(sizes, &column->children[i]);
    }
}

oci_message_sizes oci_measure_messages(const oci_batch *batch)
{
    oci_message_sizes sizes = {0};
    for (int32_t i = 0; i < batch->schema->n_fields; i++) {
        add_column(&sizes, &batch->columns[i]);
        add_dictionaries(&sizes, &batch->columns[i]);
    }
    return sizes;
}

/* ---- writing ----------------------------------------------------------------------------------- */

static int64_t buffers_of(const oci_schema *schema)
{
    return oci_schema_shape(schema, OCI_IPC_V5).n_buffers;
}

/* Bytes of the messages of a batch of this stream, and of its encoder's buffer. `physical_bytes` are
 * in columns that do not lie in a slab of IPC shape. */
static int64_t dense_buffer_bound(const oci_block_encoder *encoder, int64_t physical_bytes)
{
    const oci_ipc_encoder *ipc = encoder->encoders[OCI_STREAM_DENSE];
    const oci_schema *schema = oci_spill_layout_physical(encoder->layouts[OCI_STREAM_DENSE]);
    /* Without a codec and dictionaries the encoder takes it that nothing has to be copied. */
    int64_t copied = oci_ipc_encoder_head_bytes(ipc) + physical_bytes + 8 * buffers_of(schema);
    return oci_max64(oci_ipc_encoder_bound_bytes(ipc, physical_bytes), copied);
}

/* A buffer for frames of a block of `bytes`, when they are sealed. */
static int64_t sealed_space(const oci_block_encoder *encoder, int64_t bytes)
{
    if (!encoder->manager->settings.is_sealed) {
        return 0;
    }
    return oci_mem_charge_of(bytes + (encoder->n_nodes + 1) * OCI_SEAL_EXTRA);
}

int64_t oci_block_encoder_space_least(const oci_block_encoder *encoder, int64_t slab_bytes)
{
    int64_t buffer = oci_ipc_encoder_bound_bytes(encoder->encoders[OCI_STREAM_PLAIN], slab_bytes);
    int64_t block = oci_max64(buffer, slab_bytes + oci_block_encoder_head_bytes(encoder));
    return oci_mem_charge_of(buffer) + sealed_space(encoder, block);
}

int64_t oci_block_encoder_dense_space(const oci_block_encoder *encoder, int64_t slab_bytes,
                                      int64_t rows)
{
    oci_layout_bound bound = oci_spill_layout_bound(encoder->layouts[OCI_STREAM_DENSE],
                                                    encoder->packer, slab_bytes, rows);
    int64_t physical = bound.slab_bytes;
    if (encoder->encoding == OCI_SPILL_ENCODING_LENGTHS) {
        physical += slab_bytes; /* columns that stay where they are */
    }
    int64_t buffer = dense_buffer_bound(encoder, physical);
    return oci_mem_charge_of(bound.slab_bytes) +
           oci_max64(bound.scratch, oci_mem_charge_of(buffer) + sealed_space(encoder, buffer));
}

int64_t oci_block_encoder_space_for(const oci_block_encoder *encoder, int64_t slab_bytes,
                                    int64_t rows)
{
    int64_t least = oci_block_encoder_space_least(encoder, slab_bytes);
    if (encoder->layouts[OCI_STREAM_DENSE] == NULL) {
        return least;
    }
    return oci_max64(least, oci_block_encoder_dense_space(encoder, slab_bytes, rows));
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Metadata that do not fit into a first read, or are copied out of a frame. `bytes` with prefix. */
static int64_t metadata_charge(int64_t bytes)
{
    return bytes > OCI_RUN_HEAD_BYTES ? oci_mem_charge_of(bytes) : 0;
}

/* A message's body, or its frame. */
static int64_t block_charge(const oci_block_encoder *encoder, int64_t metadata_bytes,
                            int64_t body_bytes)
{
    bool is_sealed = encoder->manager->settings.is_sealed;
    return oci_mem_charge_of(is_sealed ? metadata_bytes + body_bytes + OCI_SEAL_EXTRA : body_bytes);
}

/* Reading the schema messages in front. Each is at most as long as all of the opening. */
static int64_t opening_charge(const oci_block_encoder *encoder, int64_t bytes)
{
    return metadata_charge(bytes) + (bytes > 0 ? block_charge(encoder, bytes, 0) : 0);
}

/* The record batch message, which comes last: `kept` is what its dictionaries take. */
static void note_batch(const oci_block_encoder *encoder, const oci_batch *batch, int64_t kept,
                       const oci_message_sizes *body, const oci_ipc_extent *message, oci_block *out)
{
    bool is_compressed = out->codec.id != OCI_CODEC_NONE;
    int64_t metadata = metadata_charge(message->metadata_bytes);
    int64_t block = block_charge(encoder, message->metadata_bytes, message->body_bytes);
    int64_t columns = is_compressed ? oci_mem_charge_of(body->bytes - body->dictionary_bytes)
                                    : block;
    if (encoder->stream == OCI_STREAM_PLAIN) {
        out->slab_bytes = kept + columns;
        out->read_bytes = metadata + (is_compressed ? block : 0);
        return;
    }
    int64_t plain = out->plain_bytes - body->dictionary_bytes;
    int64_t unpacked = oci_max64(oci_mem_charge_of(plain + encoder->n_nodes * UNPACKED_EXTRA),
                                 oci_mem_charge_of(batch->slab_bytes));
    int64_t both = is_compressed ? block + columns - unpacked : 0;
    out->slab_bytes = kept + unpacked;
    out->read_bytes = metadata + oci_max64(columns, both);
}

void oci_block_encoder_note_memory(const oci_block_encoder *encoder, const oci_batch *batch,
                                   const oci_message_sizes *body, oci_block *out)
{
    const oci_ipc_extent *messages;
    int32_t n = oci_ipc_encoder_extents(encoder->encoders[encoder->stream], &messages);
    bool is_compressed = out->codec.id != OCI_CODEC_NONE;
    int64_t kept = is_compressed ? body->dictionary_charge : 0;
    int64_t aside = opening_charge(encoder, out->opening_bytes);
    for (int32_t i = 0; i < n - 1; i++) {
        const oci_ipc_extent *m = &messages[i];
        int64_t block = block_charge(encoder, m->metadata_bytes, m->body_bytes);
        int64_t metadata = metadata_charge(m->metadata_bytes);
        kept += is_compressed ? 0 : block;
        aside = oci_max64(aside, metadata + (is_compressed ? block : 0));
    }
    note_batch(encoder, batch, kept, body, &messages[n - 1], out);
    out->read_bytes = oci_max64(out->read_bytes, aside);
}
