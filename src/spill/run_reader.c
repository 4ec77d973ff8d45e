/* Reads runs back, message by message. See run.h.
 *
 *   disk -> message: framed, verified (or opened) -> schema: a layout, or the counts at the end
 *                                                  -> batch or dictionary: the decoder's
 *
 * A message is read in two steps: its prefix together with a guess at the metadata, then exactly its
 * body into a slab of exactly that size, so that a batch pins its own bytes and no more. Small
 * messages are in the guess as a whole. A body is hashed piece by piece as it comes, while the pieces
 * are in the cache. A sealed message is a frame of its own, of which the head says the size; it is
 * opened where it was read to, and its metadata are copied out.
 *
 * Nothing is believed: every size is held against what is left of the run, messages must come in the
 * order of the format, and at the end batches and rows must be as many as the closing stream says, and
 * as many as the writer said in this process. */
#include <string.h>

#include "base/bits.h"
#include "spill/checksum.h"
#include "spill/run_internal.h"

/* Read and hashed at once: fits the second-level cache. */
#define PIECE_BYTES ((int64_t)256 << 10)
/* What was read is given back in parts of the run: an eighth, so that a merge of many runs never holds
 * much more than what is still to be read. Punching holes is cheap in large steps, and dear in small
 * ones where the file has reached the disk (0.1 ms a piece and more). */
#define DISCARD_PARTS    8
#define DISCARD_STEP_MIN ((int64_t)128 << 10)
#define DISCARD_STEP_MAX ((int64_t)4 << 20)

void oci_run_cursor_start(oci_run_cursor *cursor, oci_spill_file *file,
                          const oci_run_extent *extent)
{
    *cursor = (oci_run_cursor){
        .file = file,
        .at = extent->offset,
        .end = extent->offset + extent->bytes,
        .discarded = extent->offset,
        .discard_step =
            oci_min64(oci_max64(extent->bytes / DISCARD_PARTS, DISCARD_STEP_MIN), DISCARD_STEP_MAX),
        .extent_rows = extent->rows,
        .extent_blocks = extent->blocks};
    memcpy(cursor->run_id, extent->run_id, sizeof cursor->run_id);
}

/* ---- reading --------------------------------------------------------------------------------- */

static oc_status read_bytes(const oci_run_cursor *cursor, void *to, int64_t size, int64_t offset,
                            oc_error *err)
{
    oci_spill_manager *manager = oci_spill_file_manager(cursor->file);
    int64_t start = oci_spill_now(manager);
    OC_TRY(oci_spill_read(cursor->file, to, size, offset, err));
    int64_t ns = oci_spill_now(manager) - start;
    OCI_SPILL_ADD(manager, read_ns, ns);
    if (manager->choice != NULL) {
        oci_codec_choice_note_read(manager->choice, size, ns);
    }
    return OC_OK;
}

static int64_t left_of(const oci_run_cursor *cursor)
{
    return cursor->end - cursor->at;
}

/* Reads what is likely to hold the head of the next message. */
static oc_status read_head(const oci_run_cursor *cursor, int64_t least, oci_run_message *m,
                           int64_t *head_bytes, oc_error *err)
{
    int64_t left = left_of(cursor);
    if (left < least) {
        OC_FAIL(err, OC_EDATA, "it ends inside of it");
    }
    *head_bytes = oci_min64(left, OCI_RUN_HEAD_BYTES);
    return read_bytes(cursor, m->head, *head_bytes, cursor->at, err);
}

static void release_message(oci_run_message *m, oci_mem *mem)
{
    oci_mem_free(mem, m->slab, m->slab_bytes);
    oci_mem_free(mem, m->block, m->block_bytes);
}

static oc_status allocate(oci_mem *mem, int64_t size, uint8_t **out, oc_error *err)
{
    void *block;
    OC_TRY(oci_mem_alloc(mem, size, &block, err));
    *out = block;
    return OC_OK;
}

/* The prefix in front of a message that may have `room` bytes with it. An end marker has no
 * metadata. */
static oc_status parse_prefix(const uint8_t *prefix, int64_t room, oci_run_message *m,
                              oc_error *err)
{
    int prefix_bytes;
    OC_TRY(oci_frame_parse(prefix, &m->metadata_bytes, &prefix_bytes, err));
    if (prefix_bytes != OCI_IPC_PREFIX_BYTES) {
        OC_FAIL(err, OC_EDATA, "it has no continuation marker");
    }
    if (m->metadata_bytes > room - OCI_IPC_PREFIX_BYTES) {
        OC_FAIL(err, OC_EDATA, "its header ends behind the run");
    }
    m->kind = OCI_RUN_END;
    return OC_OK;
}

/* The metadata are there; the body, of which there may be `room` bytes, not yet. */
static oc_status parse_metadata(oci_run_message *m, int64_t room, oc_error *err)
{
    OC_TRY(oci_message_parse(m->metadata, m->metadata_bytes, &m->parsed, err));
    m->kind = m->parsed.kind == OCI_MESSAGE_SCHEMA ? OCI_RUN_SCHEMA : OCI_RUN_DATA;
    if (m->parsed.body_bytes > room) {
        OC_FAIL(err, OC_EDATA, "its body ends behind the run");
    }
    if (m->kind == OCI_RUN_SCHEMA && m->parsed.body_bytes > 0) {
        OC_FAIL(err, OC_EDATA, "it is a schema with a body");
    }
    return OC_OK;
}

/* ---- checksums ------------------------------------------------------------------------------- */

/* Messages of a run have checksums all or none. Our own have them, unless that was switched off. */
static oc_status check_presence(oci_run_cursor *cursor, const oci_run_decoder *decoder,
                                const oci_run_message *m, oc_error *err)
{
    bool is_there = m->parsed.checksum != NULL;
    if (cursor->place == 0) {
        cursor->has_checksums = is_there || oci_run_decoder_is_trusted(decoder);
    }
    if (is_there != cursor->has_checksums) {
        OC_FAIL(err, OC_EDATA,
                is_there ? "it has a checksum, those before have none" : "it has no checksum");
    }
    return OC_OK;
}

/* Reads the body behind `have` bytes of it that are there, and hashes it on the way. */
static oc_status read_body(const oci_run_cursor *cursor, const oci_run_message *m, int64_t have,
                           oci_checksum *sum, oc_error *err)
{
    uint8_t *body = m->slab;
    int64_t size = m->parsed.body_bytes;
    int64_t offset = cursor->at + OCI_IPC_PREFIX_BYTES + m->metadata_bytes;
    if (sum != NULL) {
        oci_checksum_add(sum, body, have);
    }
    int64_t step = sum != NULL ? PIECE_BYTES : size;
    for (int64_t at = have; at < size;) {
        int64_t n = oci_min64(step, size - at);
        OC_TRY(read_bytes(cursor, body + at, n, offset + at, err));
        if (sum != NULL) {
            oci_checksum_add(sum, body + at, n);
        }
        at += n;
    }
    return OC_OK;
}

static oc_status compare_checksum(const oci_run_message *m, const oci_checksum *sum, oc_error *err)
{
    uint64_t expected;
    if (!oci_checksum_read(m->parsed.checksum, &expected) || oci_checksum_end(sum) != expected) {
        OC_FAIL(err, OC_EDATA, "its checksum does not fit");
    }
    return OC_OK;
}

/* ---- messages as they are -------------------------------------------------------------------- */

/* Makes prefix and metadata lie together: in the head, or in a block of their own. */
static oc_status take_metadata(const oci_run_cursor *cursor, oci_mem *mem, oci_run_message *m,
                               int64_t head_bytes, oc_error *err)
{
    const uint8_t *framed = m->head;
    int64_t size = OCI_IPC_PREFIX_BYTES + m->metadata_bytes;
    if (size > head_bytes) {
        OC_TRY(allocate(mem, size, &m->block, err));
        m->block_bytes = size;
        OC_TRY(read_bytes(cursor, m->block, size, cursor->at, err));
        framed = m->block;
    }
    m->metadata = framed + OCI_IPC_PREFIX_BYTES;
    return OC_OK;
}

/* Allocates the body and reads it; what the head has of it is copied. */
static oc_status take_body(const oci_run_cursor *cursor, oci_mem *mem, oci_run_message *m,
                           int64_t head_bytes, oci_checksum *sum, oc_error *err)
{
    int64_t size = m->parsed.body_bytes;
    int64_t start = OCI_IPC_PREFIX_BYTES + m->metadata_bytes;
    int64_t have = oci_max64(0, oci_min64(head_bytes - start, size));
    uint8_t *slab;
    OC_TRY(allocate(mem, size, &slab, err));
    m->slab = slab;
    m->slab_bytes = size;
    if (have > 0) {
        memcpy(slab, m->head + start, (size_t)have);
    }
    return read_body(cursor, m, have, sum, err);
}

static oc_status read_plain_message(oci_run_cursor *cursor, const oci_run_decoder *decoder,
                                    oci_run_message *m, oc_error *err)
{
    oci_mem *mem = oci_run_decoder_mem(decoder);
    bool verify = !oci_run_decoder_manager(decoder)->settings.no_checksums;
    int64_t head_bytes;
    OC_TRY(read_head(cursor, OCI_IPC_PREFIX_BYTES, m, &head_bytes, err));
    OC_TRY(parse_prefix(m->head, left_of(cursor), m, err));
    m->bytes = OCI_IPC_PREFIX_BYTES + m->metadata_bytes;
    if (m->metadata_bytes == 0) {
        return OC_OK;
    }
    OC_TRY(take_metadata(cursor, mem, m, head_bytes, err));
    OC_TRY(parse_metadata(m, left_of(cursor) - m->bytes, err));
    oci_checksum sum;
    if (verify) {
        OC_TRY(check_presence(cursor, decoder, m, err));
        verify = m->parsed.checksum != NULL;
    }
    if (verify) {
        const uint8_t *framed = m->metadata - OCI_IPC_PREFIX_BYTES;
        oci_checksum_begin(&sum, framed, m->bytes, m->parsed.checksum - framed, cursor->place);
    }
    if (m->kind == OCI_RUN_DATA) {
        OC_TRY(take_body(cursor, mem, m, head_bytes, verify ? &sum : NULL, err));
        m->bytes += m->parsed.body_bytes;
    }
    return verify ? compare_checksum(m, &sum, err) : OC_OK;
}

/* ---- sealed messages ------------------------------------------------------------------------- */

/* Reads a frame to the slab and opens it there. */
static oc_status open_frame(const oci_run_cursor *cursor, const oci_seal *seal, oci_mem *mem,
                            oci_run_message *m, int64_t *size, oc_error *err)
{
    int64_t head_bytes;
    OC_TRY(read_head(cursor, OCI_SEAL_EXTRA, m, &head_bytes, err));
    OC_TRY(oci_seal_read_head(m->head, size, err));
    if (*size > left_of(cursor) - OCI_SEAL_EXTRA) {
        OC_FAIL(err, OC_EDATA, "it ends behind the run");
    }
    m->bytes = *size + OCI_SEAL_EXTRA;
    int64_t have = oci_min64(head_bytes, m->bytes);
    uint8_t *frame;
    OC_TRY(allocate(mem, m->bytes, &frame, err));
    m->slab = frame;
    m->slab_bytes = m->bytes;
    memcpy(frame, m->head, (size_t)have);
    if (have < m->bytes) {
        OC_TRY(read_bytes(cursor, frame + have, m->bytes - have, cursor->at + have, err));
    }
    return oci_seal_open(seal, cursor->run_id, cursor->place, frame, *size,
                         frame + OCI_SEAL_HEAD_BYTES, err);
}

/* The metadata are needed longer than the slab, which goes when the body is decompressed. */
static oc_status copy_metadata(oci_mem *mem, oci_run_message *m, const uint8_t *from, oc_error *err)
{
    uint8_t *to = m->head;
    if (m->metadata_bytes > OCI_RUN_HEAD_BYTES) {
        OC_TRY(allocate(mem, m->metadata_bytes, &m->block, err));
        m->block_bytes = m->metadata_bytes;
        to = m->block;
    }
    memcpy(to, from, (size_t)m->metadata_bytes);
    m->metadata = to;
    return OC_OK;
}

static oc_status read_sealed_message(const oci_run_cursor *cursor, const oci_run_decoder *decoder,
                                     oci_run_message *m, oc_error *err)
{
    oci_mem *mem = oci_run_decoder_mem(decoder);
    int64_t size;
    OC_TRY(open_frame(cursor, oci_run_decoder_manager(decoder)->seal, mem, m, &size, err));
    const uint8_t *message = (const uint8_t *)m->slab + OCI_SEAL_HEAD_BYTES;
    if (size < OCI_IPC_PREFIX_BYTES) {
        OC_FAIL(err, OC_EDATA, "it is no message");
    }
    OC_TRY(parse_prefix(message, size, m, err));
    int64_t start = OCI_IPC_PREFIX_BYTES + m->metadata_bytes;
    m->body_at = OCI_SEAL_HEAD_BYTES + start;
    if (m->metadata_bytes == 0) {
        return OC_OK;
    }
    OC_TRY(copy_metadata(mem, m, message + OCI_IPC_PREFIX_BYTES, err));
    return parse_metadata(m, size - start, err);
}

/* ---- the order of messages ------------------------------------------------------------------- */

static oc_status take_schema(oci_run_cursor *cursor, oci_run_decoder *decoder,
                             const oci_run_message *m, oc_error *err)
{
    if (cursor->layout != NULL || cursor->is_closing) {
        OC_FAIL(err, OC_EDATA, "it is a schema where none can be");
    }
    oci_run_stream stream;
    OC_TRY(oci_run_decoder_open(decoder, m, &stream, err));
    cursor->layout = stream.layout;
    if (stream.layout != NULL) {
        return OC_OK;
    }
    cursor->is_closing = true;
    if (stream.batches != cursor->run_blocks || stream.rows != cursor->run_rows) {
        OC_FAIL(err, OC_EDATA,
                "%" PRId64 " batches of %" PRId64 " rows were written, %" PRId64 " of %" PRId64
                " came back",
                stream.batches, stream.rows, cursor->run_blocks, cursor->run_rows);
    }
    return OC_OK;
}

static oc_status take_end(oci_run_cursor *cursor, oc_error *err)
{
    if (cursor->layout == NULL && !cursor->is_closing) {
        OC_FAIL(err, OC_EDATA, "it is the end of a stream that has no beginning");
    }
    oci_run_layout_release(cursor->layout);
    cursor->layout = NULL;
    cursor->is_closed = cursor->is_closing;
    return OC_OK;
}

static oc_status take_data(oci_run_cursor *cursor, oci_run_decoder *decoder, oci_run_message *m,
                           oci_batch **out, oc_error *err)
{
    if (cursor->layout == NULL) {
        OC_FAIL(err, OC_EDATA, "it is a batch in front of a schema");
    }
    OC_TRY(oci_run_decoder_decode(decoder, cursor->layout, m, out, err));
    if (*out != NULL) {
        cursor->blocks++;
        cursor->run_blocks++;
        cursor->rows += (*out)->length;
        cursor->run_rows += (*out)->length;
    }
    return OC_OK;
}

static oc_status take_message(oci_run_cursor *cursor, oci_run_decoder *decoder, oci_run_message *m,
                              oci_batch **out, oc_error *err)
{
    switch (m->kind) {
    case OCI_RUN_SCHEMA: return take_schema(cursor, decoder, m, err);
    case OCI_RUN_END: return take_end(cursor, err);
    case OCI_RUN_DATA: break;
    }
    return take_data(cursor, decoder, m, out, err);
}

/* Reads one message. *out is set by record batches only. */
static oc_status next_message(oci_run_cursor *cursor, oci_run_decoder *decoder, oci_batch **out,
                              oc_error *err)
{
    oci_run_message m;
    m.bytes = m.body_at = m.slab_bytes = m.block_bytes = 0;
    m.slab = NULL;
    m.block = NULL;
    bool is_sealed = oci_run_decoder_manager(decoder)->seal != NULL;
    oc_status status = is_sealed ? read_sealed_message(cursor, decoder, &m, err)
                                 : read_plain_message(cursor, decoder, &m, err);
    if (status == OC_OK) {
        status = take_message(cursor, decoder, &m, out, err);
    }
    release_message(&m, oci_run_decoder_mem(decoder));
    if (status == OC_OK) {
        cursor->at += m.bytes;
        cursor->place++;
        OCI_SPILL_ADD(oci_spill_file_manager(cursor->file), read_back_bytes, m.bytes);
    }
    return status;
}

/* ---- the run --------------------------------------------------------------------------------- */

/* Between runs of an extent, or at its end: whether everything has come. */
static oc_status check_end(oci_run_cursor *cursor, oc_error *err)
{
    bool is_known = cursor->extent_blocks > 0;
    bool is_whole = cursor->blocks == cursor->extent_blocks && cursor->rows == cursor->extent_rows;
    if (cursor->at == cursor->end) {
        if (!cursor->is_closed) {
            OC_FAIL(err, OC_EDATA, "it is missing, the file was cut");
        }
        if (is_known && !is_whole) {
            OC_FAIL(err, OC_EDATA,
                    "%" PRId64 " batches of %" PRId64 " rows were written, %" PRId64 " of %" PRId64
                    " came back",
                    cursor->extent_blocks, cursor->extent_rows, cursor->blocks, cursor->rows);
        }
    } else if (cursor->is_closed) {
        if (!is_known || cursor->blocks >= cursor->extent_blocks) {
            OC_FAIL(err, OC_EDATA, "it is behind the end of the run");
        }
        cursor->is_closing = cursor->is_closed = false;
        cursor->place = cursor->run_rows = cursor->run_blocks = 0;
    }
    return OC_OK;
}

static void discard_before(oci_run_cursor *cursor, int64_t position)
{
    if (!cursor->is_kept) {
        oci_spill_discard(cursor->file, cursor->discarded, position - cursor->discarded);
    }
    cursor->discarded = position;
}

static oc_status next_batch(oci_run_cursor *cursor, oci_run_decoder *decoder, oci_batch **out,
                            oc_error *err)
{
    while (*out == NULL) {
        OC_TRY(check_end(cursor, err));
        if (cursor->at == cursor->end) {
            break;
        }
        OC_TRY(next_message(cursor, decoder, out, err));
    }
    return OC_OK;
}

oc_status oci_run_cursor_next(oci_run_cursor *cursor, oci_run_decoder *decoder, oci_batch **out,
                              oc_error *err)
{
    *out = NULL;
    if (cursor->at - cursor->discarded >= cursor->discard_step) {
        /* The block of the disk in which the rest begins is given back with the rest. */
        discard_before(cursor, oci_round_down(cursor->at, OCI_SPILL_DISK_BLOCK_BYTES));
    }
    oc_status status = next_batch(cursor, decoder, out, err);
    if (status == OC_EDATA || status == OC_EUNSUPPORTED || status == OC_EIO) {
        oci_error_prefix(err, "could not read message %" PRId64 " at byte %" PRId64 " of %s",
                         cursor->place, cursor->at, oci_spill_file_name(cursor->file));
    }
    return status;
}

void oci_run_cursor_finish(oci_run_cursor *cursor)
{
    oci_run_layout_release(cursor->layout);
    cursor->layout = NULL;
    if (cursor->discarded < cursor->end) {
        discard_before(cursor, cursor->end);
    }
    cursor->at = cursor->end;
}
