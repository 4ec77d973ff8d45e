/* Reads runs back, block by block. See run.h.
 *
 * A message is read in two steps: its prefix together with a guess at the metadata, then exactly
 * its body into a slab of exactly that size, so that a batch pins its own bytes and no more. The
 * metadata of the blocks of a run are all about the same size (they depend on the schema and not on
 * the rows), so one guess fits all. */
#include "spill/run.h"

#include <string.h>

/* Most schemas (up to about 40 columns) fit; wider ones cost one more read per block. */
#define HEAD_GUESS_BYTES 4096
/* Punching holes is cheap in steps of this size and dear in small ones. */
#define DISCARD_STEP_BYTES (4 << 20)

static oc_status damaged(const oci_run_cursor *cursor, const char *what, oc_error *err)
{
    OC_FAIL(err, OC_EDATA,
            "could not read spilled data at byte %" PRId64 ": %s; the spill file is damaged",
            cursor->at, what);
}

/* Where the body of a message begins, and what it is. The metadata stay valid while `head` does. */
typedef struct frame {
    oci_message message;
    int64_t metadata_bytes; /* 0 = end marker */
    bool is_schema;
} frame;

/* Metadata that did not fit the guess. */
static oc_status read_metadata(const oci_run_cursor *cursor, oci_mem *mem, int64_t size,
                               uint8_t **out, oc_error *err)
{
    void *block;
    OC_TRY(oci_mem_alloc(mem, size, &block, err));
    oc_status status =
        oci_spill_read(cursor->file, block, size, cursor->at + OCI_IPC_PREFIX_BYTES, err);
    if (status != OC_OK) {
        oci_mem_free(mem, block, size);
        return status;
    }
    *out = block;
    return OC_OK;
}

/* The message kind is a byte that even a schema message can be asked for without parsing its
 * schema. */
static oc_status parse_metadata(const oci_run_cursor *cursor, const uint8_t *metadata, int64_t size,
                                frame *out, oc_error *err)
{
    out->metadata_bytes = size;
    OC_TRY(oci_message_parse(metadata, size, &out->message, err));
    out->is_schema = out->message.kind == OCI_MESSAGE_SCHEMA;
    int64_t room = cursor->end - cursor->at - OCI_IPC_PREFIX_BYTES - size;
    if (out->message.body_bytes > room) {
        return damaged(cursor, "a message body ends behind the run", err);
    }
    return OC_OK;
}

/* `head` is what was read so far, from the prefix on; the beginning of the body is often in it. */
static oc_status read_body(oci_run_cursor *cursor, const frame *f, const uint8_t *head,
                           int64_t head_bytes, oci_ipc_decoder *decoder, oci_mem *mem,
                           oci_batch **out, oc_error *err)
{
    void *slab;
    int64_t size = f->message.body_bytes;
    int64_t start = OCI_IPC_PREFIX_BYTES + f->metadata_bytes;
    int64_t at = cursor->at + start;
    OC_TRY(oci_mem_alloc(mem, size, &slab, err));
    int64_t have = head_bytes > start ? head_bytes - start : 0;
    have = have < size ? have : size;
    if (have > 0) {
        memcpy(slab, head + start, (size_t)have);
    }
    oc_status status =
        oci_spill_read(cursor->file, (uint8_t *)slab + have, size - have, at + have, err);
    if (status != OC_OK) {
        oci_mem_free(mem, slab, size);
        return status;
    }
    OC_TRY(oci_ipc_decode(decoder, &f->message, slab, size, 0, NULL, out, err));
    cursor->at = at + size;
    return OC_OK;
}

/* Reads one message. *out is set by record batches only. */
static oc_status next_message(oci_run_cursor *cursor, oci_ipc_decoder *decoder, oci_mem *mem,
                              oci_batch **out, oc_error *err)
{
    uint8_t head[HEAD_GUESS_BYTES];
    int64_t left = cursor->end - cursor->at;
    if (left < OCI_IPC_PREFIX_BYTES) {
        return damaged(cursor, "it ends inside a message", err);
    }
    int64_t guess = left < HEAD_GUESS_BYTES ? left : HEAD_GUESS_BYTES;
    OC_TRY(oci_spill_read(cursor->file, head, guess, cursor->at, err));
    int64_t metadata_bytes;
    int prefix_bytes;
    OC_TRY(oci_frame_parse(head, &metadata_bytes, &prefix_bytes, err));
    if (prefix_bytes != OCI_IPC_PREFIX_BYTES) {
        return damaged(cursor, "a message has no continuation marker", err);
    }
    if (metadata_bytes == 0) {
        cursor->at += OCI_IPC_PREFIX_BYTES;
        return OC_OK;
    }
    if (metadata_bytes > left - OCI_IPC_PREFIX_BYTES) {
        return damaged(cursor, "a message header ends behind the run", err);
    }
    uint8_t *metadata = head + OCI_IPC_PREFIX_BYTES;
    bool fits = metadata_bytes <= guess - OCI_IPC_PREFIX_BYTES;
    if (!fits) {
        OC_TRY(read_metadata(cursor, mem, metadata_bytes, &metadata, err));
    }
    frame f = {0};
    oc_status status = parse_metadata(cursor, metadata, metadata_bytes, &f, err);
    if (status == OC_OK && f.is_schema) {
        cursor->at += OCI_IPC_PREFIX_BYTES + metadata_bytes + f.message.body_bytes;
    } else if (status == OC_OK) {
        status = read_body(cursor, &f, head, guess, decoder, mem, out, err);
    }
    if (!fits) {
        oci_mem_free(mem, metadata, metadata_bytes);
    }
    return status;
}

static void discard_before(oci_run_cursor *cursor, int64_t position)
{
    oci_spill_discard(cursor->file, cursor->discarded, position - cursor->discarded);
    cursor->discarded = position;
}

oc_status oci_run_cursor_next(oci_run_cursor *cursor, oci_ipc_decoder *decoder, oci_mem *mem,
                              oci_batch **out, oc_error *err)
{
    *out = NULL;
    if (cursor->at - cursor->discarded >= DISCARD_STEP_BYTES) {
        discard_before(cursor, cursor->at);
    }
    oci_spill_counters *counters = &oci_spill_file_manager(cursor->file)->counters;
    while (*out == NULL && cursor->at < cursor->end) {
        int64_t before = cursor->at;
        OC_TRY(next_message(cursor, decoder, mem, out, err));
        atomic_fetch_add(&counters->read_back_bytes, cursor->at - before);
    }
    return OC_OK;
}

void oci_run_cursor_finish(oci_run_cursor *cursor)
{
    if (cursor->discarded < cursor->end) {
        discard_before(cursor, cursor->end);
    }
    cursor->at = cursor->end;
}
