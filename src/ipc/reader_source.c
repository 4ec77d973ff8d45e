/* Framing: from bytes in order to messages without bodies.
 *
 * A stream is a row of messages: prefix (FF FF FF FF and the size of the metadata, or the size
 * alone in files from before Arrow 0.15), metadata, body. The end is a prefix of size 0, or
 * simply the end of the input between two messages; any other end means that something was cut
 * off, and the error says where (the reader adds the name of the file).
 *
 * Sizes come from outside and are not believed: a seekable input is held against its size, and
 * for a pipe the memory grows in steps as the bytes arrive, so that eight forged bytes cannot
 * ask for more than the first step. */
#include "ipc/reader_source.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"

/* First step of metadata from a pipe: the metadata of a few hundred columns. */
#define METADATA_STEP (64 * 1024)

static const uint8_t continuation[4] = {0xFF, 0xFF, 0xFF, 0xFF};

oc_status oci_source_init(oci_source *source, oci_mem *mem, oci_file *file,
                          _Atomic int64_t *bytes_read, oc_error *err)
{
    *source = (oci_source){.mem = mem, .file = file, .size = -1, .bytes_read = bytes_read};
    return file->seekable ? oci_file_size(file, &source->size, err) : OC_OK;
}

void oci_source_report(oci_source *source, int64_t bytes)
{
    if (source->bytes_read != NULL && bytes > source->reported) {
        atomic_fetch_add_explicit(source->bytes_read, bytes - source->reported,
                                  memory_order_relaxed);
        source->reported = bytes;
    }
}

void oci_source_seek(oci_source *source, int64_t position)
{
    assert(oci_source_is_seekable(source));
    source->position = position;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Reads past the buffer, at `position`, which for a pipe is where it stands. */
static oc_status read_through(oci_source *source, int64_t position, void *buf, int64_t size,
                              int64_t *n_read, oc_error *err)
{
    if (oci_source_is_seekable(source)) {
        return oci_pread(source->file, buf, size, position, n_read, err);
    }
    OC_TRY(oci_read(source->file, buf, size, n_read, err));
    oci_source_report(source, source->reported + *n_read);
    return OC_OK;
}

/* Takes what the buffer has of the bytes at `position`. */
static int64_t take_buffered(oci_source *source, uint8_t *to, int64_t size)
{
    int64_t skip = source->position - source->ahead_at;
    if (skip < 0 || skip >= source->ahead_bytes) {
        return 0;
    }
    int64_t n = oci_min64(size, source->ahead_bytes - skip);
    memcpy(to, source->ahead + skip, (size_t)n);
    source->position += n;
    return n;
}

oc_status oci_source_read(oci_source *source, void *buf, int64_t size, int64_t *n_read,
                          oc_error *err)
{
    uint8_t *to = buf;
    int64_t total = take_buffered(source, to, size);
    while (total < size) {
        int64_t n = 0;
        if (size - total >= OCI_SOURCE_AHEAD) {
            OC_TRY(read_through(source, source->position, to + total, size - total, &n, err));
            source->position += n;
        } else {
            source->ahead_at = source->position;
            source->ahead_bytes = 0;
            OC_TRY(read_through(source, source->position, source->ahead, OCI_SOURCE_AHEAD,
                                &source->ahead_bytes, err));
            n = take_buffered(source, to + total, size - total);
        }
        if (n == 0) {
            break;
        }
        total += n;
    }
    *n_read = total;
    return OC_OK;
}

oc_status oci_source_peek(oci_source *source, void *buf, int64_t size, int64_t *n_read,
                          oc_error *err)
{
    assert(source->position == 0 && source->ahead_at == 0 && size <= OCI_SOURCE_AHEAD);
    int64_t n = 1;
    while (source->ahead_bytes < size && n > 0) {
        OC_TRY(read_through(source, source->ahead_bytes, source->ahead + source->ahead_bytes,
                            OCI_SOURCE_AHEAD - source->ahead_bytes, &n, err));
        source->ahead_bytes += n;
    }
    *n_read = oci_min64(size, source->ahead_bytes);
    memcpy(buf, source->ahead, (size_t)*n_read);
    return OC_OK;
}

static oc_status fail_short(const char *what, int64_t position, int64_t size, int64_t missing,
                            oc_error *err)
{
    OC_FAIL(err, OC_EDATA,
            "%s of %" PRId64 " bytes at byte %" PRId64 " ends %" PRId64
            " bytes early; the file is truncated",
            what, size, position, missing);
}

oc_status oci_source_read_exact(oci_source *source, void *buf, int64_t size, const char *what,
                                oc_error *err)
{
    int64_t position = source->position;
    int64_t n_read = 0;
    OC_TRY(oci_source_read(source, buf, size, &n_read, err));
    if (n_read < size) {
        return fail_short(what, position, size, size - n_read, err);
    }
    return OC_OK;
}

oc_status oci_source_check(const oci_source *source, int64_t position, int64_t size,
                           const char *what, oc_error *err)
{
    if (oci_source_is_seekable(source) && size > source->size - position) {
        int64_t there = oci_max64(source->size - position, 0);
        return fail_short(what, position, size, size - there, err);
    }
    return OC_OK;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Makes room for `size` bytes of metadata, keeping what is there. */
static oc_status reserve(oci_metadata *metadata, oci_mem *mem, int64_t size, oc_error *err)
{
    if (size <= metadata->capacity) {
        return OC_OK;
    }
    void *grown = NULL;
    OC_TRY(oci_mem_realloc(mem, metadata->data, metadata->capacity, size, &grown, err));
    metadata->data = grown;
    metadata->capacity = size;
    return OC_OK;
}

void oci_metadata_deinit(oci_metadata *metadata, oci_mem *mem)
{
    oci_mem_free(mem, metadata->data, metadata->capacity);
    *metadata = (oci_metadata){0};
}

/* Reads `size` bytes of metadata at `position`. A seekable input is known to have them; a pipe
 * is asked step by step. */
static oc_status read_metadata(oci_source *source, int64_t size, oci_metadata *out, oc_error *err)
{
    OC_TRY(oci_source_check(source, source->position, size, "metadata", err));
    int64_t step = oci_source_is_seekable(source) ? size : METADATA_STEP;
    out->size = 0;
    while (out->size < size) {
        int64_t n = oci_min64(size - out->size, step);
        OC_TRY(reserve(out, source->mem, out->size + n, err));
        OC_TRY(oci_source_read_exact(source, out->data + out->size, n, "metadata", err));
        out->size += n;
        step *= 2;
    }
    return OC_OK;
}

/* Reads a prefix: all of it, or the four bytes of the old form. *n_read 0: the input ended
 * before it. */
static oc_status read_prefix(oci_source *source, uint8_t prefix[8], int64_t *n_read, oc_error *err)
{
    int64_t position = source->position;
    memset(prefix, 0, 8);
    OC_TRY(oci_source_read(source, prefix, 4, n_read, err));
    if (*n_read == 4 && memcmp(prefix, continuation, 4) == 0) {
        int64_t rest = 0;
        OC_TRY(oci_source_read(source, prefix + 4, 4, &rest, err));
        *n_read += rest;
        if (rest < 4) {
            return fail_short("header", position, 8, 4 - rest, err);
        }
    } else if (*n_read > 0 && *n_read < 4) {
        return fail_short("header", position, 4, 4 - *n_read, err);
    }
    return OC_OK;
}

/* Says where an error of the metadata's own bytes was found. */
static oc_status at_byte(oc_status status, int64_t position, oc_error *err)
{
    if (status != OC_OK) {
        oci_error_prefix(err, "message at byte %" PRId64, position);
    }
    return status;
}

oc_status oci_source_next(oci_source *source, oci_metadata *out, oci_source_end *end, oc_error *err)
{
    uint8_t prefix[8];
    int64_t n_read = 0;
    out->position = source->position;
    OC_TRY(read_prefix(source, prefix, &n_read, err));
    if (n_read == 0) {
        *end = OCI_SOURCE_END_INPUT;
        return OC_OK;
    }
    int64_t size = 0;
    int prefix_bytes = 0;
    oc_status status = oci_frame_parse(prefix, &size, &prefix_bytes, err);
    if (status != OC_OK) {
        return at_byte(status, out->position, err);
    }
    if (size == 0) {
        *end = OCI_SOURCE_END_MARKER;
        return OC_OK;
    }
    OC_TRY(read_metadata(source, size, out, err));
    status = oci_message_parse(out->data, out->size, &out->message, err);
    if (status != OC_OK) {
        return at_byte(status, out->position, err);
    }
    *end = OCI_SOURCE_MESSAGE;
    return OC_OK;
}

/* The prefix of a block says the size of the metadata again; the rest up to metadata_bytes is
 * padding. */
static oc_status parse_block(const oci_ipc_file_block *block, oci_metadata *out, oc_error *err)
{
    int64_t size = 0;
    int prefix_bytes = 0;
    if (block->metadata_bytes < OCI_IPC_PREFIX_BYTES) {
        OC_FAIL(err, OC_EDATA, "footer announces metadata of %" PRId32 " bytes",
                block->metadata_bytes);
    }
    OC_TRY(oci_frame_parse(out->data, &size, &prefix_bytes, err));
    if (size == 0 || size > block->metadata_bytes - prefix_bytes) {
        OC_FAIL(err, OC_EDATA, "metadata has %" PRId64 " bytes where the footer announces %" PRId32,
                size, block->metadata_bytes - prefix_bytes);
    }
    OC_TRY(oci_message_parse(out->data + prefix_bytes, size, &out->message, err));
    if (out->message.body_bytes != block->body_bytes) {
        OC_FAIL(err, OC_EDATA, "body has %" PRId64 " bytes where the footer announces %" PRId64,
                out->message.body_bytes, block->body_bytes);
    }
    return OC_OK;
}

oc_status oci_source_message_at(oci_source *source, const oci_ipc_file_block *block,
                                oci_metadata *out, oc_error *err)
{
    oci_source_seek(source, block->offset);
    out->position = block->offset;
    OC_TRY(read_metadata(source, block->metadata_bytes, out, err));
    return at_byte(parse_block(block, out, err), out->position, err);
}
