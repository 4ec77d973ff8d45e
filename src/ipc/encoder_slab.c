/* Batches that lie in their slab as a message body does: only the header is written, into the room in
 * front of the body. See encoder.c. */
#include "ipc/encoder_internal.h"

#include "base/bits.h"

/* Are the batch's buffers where a message body has them? */
typedef struct slab_walk {
    const uint8_t *body;
    int64_t body_bytes;
    oci_ipc_node *nodes;
    int64_t n_nodes;
    oci_ipc_buffer *buffers;
    int64_t n_buffers;
    int64_t end; /* of the last buffer that is not empty */
} slab_walk;

static void take_node(void *arg, int64_t length, int64_t null_count)
{
    slab_walk *walk = arg;
    walk->nodes[walk->n_nodes++] = (oci_ipc_node){length, null_count};
}

static oc_status take_from_slab(void *arg, const oci_buffer_source *source, oc_error *err)
{
    (void)err;
    slab_walk *walk = arg;
    oci_ipc_buffer *buffer = &walk->buffers[walk->n_buffers++];
    *buffer = (oci_ipc_buffer){.offset = oci_round_up(walk->end, OCI_BODY_ALIGN)};
    if (source->size == 0 || source->is_spare) {
        return OC_OK;
    }
    /* Compared as numbers: the pointer may belong to another block. */
    uintptr_t distance = (uintptr_t)source->data - (uintptr_t)walk->body;
    bool is_inside = source->size <= walk->body_bytes &&
                     distance <= (uintptr_t)(walk->body_bytes - source->size) &&
                     distance % OCI_BODY_ALIGN == 0;
    if (source->kind != OCI_SOURCE_BYTES || !is_inside) {
        return OC_EINVAL; /* seen only by oci_encoder_find_in_slab */
    }
    *buffer = (oci_ipc_buffer){.offset = (int64_t)distance, .length = source->size};
    walk->end = (int64_t)distance + source->size;
    return OC_OK;
}

static bool may_lie_in_slab(const oci_ipc_encoder *encoder, const oci_batch *batch)
{
    return encoder->packer.id == OCI_CODEC_NONE && encoder->n_dictionaries == 0 &&
           encoder->shape.n_variadic == 0 && batch->slab != NULL &&
           batch->head_bytes >= encoder->head_bytes && batch->body_bytes >= 0 &&
           batch->body_bytes % OCI_BODY_ALIGN == 0;
}

bool oci_encoder_find_in_slab(const oci_ipc_encoder *encoder, const oci_batch *batch)
{
    if (!may_lie_in_slab(encoder, batch)) {
        return false;
    }
    slab_walk walk = {.body = (const uint8_t *)batch->slab + batch->head_bytes,
                      .body_bytes = batch->body_bytes,
                      .nodes = encoder->nodes,
                      .buffers = encoder->buffers};
    oci_column_visitor visitor = {.arg = &walk, .node = take_node, .buffer = take_from_slab};
    for (int32_t i = 0; i < encoder->schema->n_fields; i++) {
        const oci_column *column = &batch->columns[i];
        if (column->offset != 0 || oci_column_visit(column, &visitor, NULL) != OC_OK) {
            return false;
        }
    }
    return true;
}

oc_status oci_encoder_encode_in_slab(oci_ipc_encoder *encoder, const oci_batch *batch,
                                     uint8_t **data, int64_t *size, oc_error *err)
{
    oci_message fields = {.kind = OCI_MESSAGE_BATCH,
                          .body_bytes = batch->body_bytes,
                          .length = batch->length,
                          .n_nodes = encoder->shape.n_nodes,
                          .n_buffers = encoder->shape.n_buffers,
                          .checksum = oci_encoder_checksum_slot(encoder)};
    uint8_t *head = (uint8_t *)batch->slab + batch->head_bytes - encoder->head_bytes;
    OC_TRY(oci_encoder_write_head(encoder, &fields, head, encoder->head_bytes, err));
    oci_encoder_add_extent(encoder, 0, encoder->head_bytes, batch->body_bytes, false);
    *data = head;
    *size = encoder->head_bytes + batch->body_bytes;
    return OC_OK;
}
