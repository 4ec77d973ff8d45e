/* One message: what it takes at most, and laying it out in the encoder's buffer. See encoder.c. */
#include "ipc/encoder_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

const uint8_t *oci_encoder_checksum_slot(const oci_ipc_encoder *encoder)
{
    return encoder->with_checksum ? oci_ipc_end_marker() : NULL; /* any address asks for a slot */
}

/* ---- measuring ------------------------------------------------------------------------------- */

static oc_status measure_buffer(void *arg, const oci_buffer_source *source, oc_error *err)
{
    (void)err;
    oci_message_measure *m = arg;
    m->n_buffers++;
    int64_t size = source->size;
    if (oci_body_packer_may_compress(m->packer) && size > 0) {
        if (source->kind != OCI_SOURCE_BYTES) {
            m->scratch = oci_max64(m->scratch, oci_round_up(size, OCI_BODY_ALIGN));
        }
        size = oci_body_packer_bound(m->packer, size);
    }
    m->bytes += oci_round_up(size, OCI_BODY_ALIGN);
    return OC_OK;
}

static void measure_views(void *arg, int64_t n_view_buffers)
{
    oci_message_measure *m = arg;
    m->n_view_buffers += n_view_buffers;
}

void oci_measure_column(oci_message_measure *m, const oci_column *column)
{
    oci_column_visitor visitor = {.arg = m, .buffer = measure_buffer, .views = measure_views};
    oc_status status = oci_column_visit(column, &visitor, NULL);
    assert(status == OC_OK);
    (void)status;
}

int64_t oci_head_with_views(int64_t head_bytes, int64_t n_view_buffers)
{
    return oci_round_up(head_bytes + (int64_t)sizeof(oci_ipc_buffer) * n_view_buffers,
                        OCI_HEAD_ALIGN);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Where a body is being laid out, and how much of the encoder's lists it has filled. */
typedef struct body_writer {
    oci_ipc_encoder *encoder;
    uint8_t *body;
    uint8_t *scratch;
    int64_t first_buffer; /* as the packer numbers them */
    int64_t end;
    int64_t n_nodes;
    int64_t n_buffers;
    int64_t n_variadic;
} body_writer;

static void write_node(void *arg, int64_t length, int64_t null_count)
{
    body_writer *writer = arg;
    writer->encoder->nodes[writer->n_nodes++] = (oci_ipc_node){length, null_count};
}

static void write_views(void *arg, int64_t n_view_buffers)
{
    body_writer *writer = arg;
    writer->encoder->variadic[writer->n_variadic++] = n_view_buffers;
}

static oc_status write_buffer(void *arg, const oci_buffer_source *source, oc_error *err)
{
    body_writer *writer = arg;
    oci_ipc_encoder *encoder = writer->encoder;
    uint8_t *to = writer->body + writer->end;
    int64_t size = source->size;
    if (size > 0 && encoder->packer.id != OCI_CODEC_NONE) {
        OC_TRY(oci_body_packer_pack(&encoder->packer, source,
                                    writer->first_buffer + writer->n_buffers, writer->scratch, to,
                                    &size, err));
    } else {
        oci_buffer_source_copy(source, to);
    }
    int64_t padded = oci_round_up(size, OCI_BODY_ALIGN);
    memset(to + size, 0, (size_t)(padded - size));
    encoder->buffers[writer->n_buffers++] = (oci_ipc_buffer){.offset = writer->end, .length = size};
    writer->end += padded;
    return OC_OK;
}

oc_status oci_encoder_write_head(oci_ipc_encoder *encoder, const oci_message *fields, uint8_t *to,
                                 int64_t head_bytes, oc_error *err)
{
    oci_bytes head = {0};
    OC_TRY(oci_message_build_batch(fields, encoder->nodes, encoder->buffers, encoder->variadic,
                                   &head, err));
    assert(head.size <= head_bytes);
    memcpy(to, head.data, (size_t)head.size);
    oci_frame_pad(to, head.size, head_bytes);
    free(head.data);
    return OC_OK;
}

void oci_encoder_add_extent(oci_ipc_encoder *encoder, int64_t offset, int64_t head_bytes,
                            int64_t body_bytes, bool is_dictionary)
{
    encoder->extents[encoder->n_extents++] = (oci_ipc_extent){.offset = offset,
                                                              .metadata_bytes = (int32_t)head_bytes,
                                                              .body_bytes = body_bytes,
                                                              .dictionary = is_dictionary};
}

oc_status oci_encoder_write_message(oci_ipc_encoder *encoder, oci_message *fields,
                                    const oci_message_plan *plan, int64_t *at, oc_error *err)
{
    int64_t head_bytes = plan->head_bytes;
    body_writer writer = {.encoder = encoder,
                          .body = encoder->buffer + *at + head_bytes,
                          .scratch = encoder->buffer + encoder->capacity - plan->scratch_bytes,
                          .first_buffer = plan->first_buffer};
    oci_column_visitor visitor = {
        .arg = &writer, .node = write_node, .buffer = write_buffer, .views = write_views};
    for (int32_t i = 0; i < plan->n_columns; i++) {
        OC_TRY(oci_column_visit(&plan->columns[i], &visitor, err));
    }
    fields->codec = encoder->packer.id;
    fields->n_nodes = writer.n_nodes;
    fields->n_buffers = writer.n_buffers;
    fields->n_variadic = writer.n_variadic;
    fields->body_bytes = writer.end;
    fields->checksum = oci_encoder_checksum_slot(encoder);
    OC_TRY(oci_encoder_write_head(encoder, fields, encoder->buffer + *at, head_bytes, err));
    oci_encoder_add_extent(encoder, *at, head_bytes, writer.end,
                           fields->kind == OCI_MESSAGE_DICTIONARY);
    *at += head_bytes + writer.end;
    assert(*at <= encoder->capacity - plan->scratch_bytes);
    return OC_OK;
}
