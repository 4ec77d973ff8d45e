/* See summary.h. Both formats are walked message by message; the file format ends where its footer
 * begins. */
#include "ipc/summary.h"

#include <string.h>

/* A pipe is skipped in pieces of this size. */
#define SKIP_BYTES 8192

/* The file as a sequence of bytes, whether it can be read at positions or not. */
typedef struct walker {
    oci_file *file;
    oci_mem *mem;
    int64_t at;
    int64_t end;                            /* of the messages; INT64_MAX for pipes */
    uint8_t first[OCI_IPC_FILE_HEAD_BYTES]; /* looked at already */
    int64_t n_first;
} walker;

/* Up to `size` bytes from where the walker stands. */
static oc_status take(walker *w, void *buf, int64_t size, int64_t *n_read, oc_error *err)
{
    if (w->file->seekable) {
        OC_TRY(oci_pread(w->file, buf, size, w->at, n_read, err));
    } else {
        int64_t from_first = 0;
        if (w->at < w->n_first) {
            from_first = w->n_first - w->at < size ? w->n_first - w->at : size;
            memcpy(buf, w->first + w->at, (size_t)from_first);
        }
        OC_TRY(oci_read_full(w->file, (uint8_t *)buf + from_first, size - from_first, n_read, err));
        *n_read += from_first;
    }
    w->at += *n_read;
    return OC_OK;
}

static oc_status truncated(const walker *w, const char *what, oc_error *err)
{
    OC_FAIL(err, OC_EDATA,
            "could not read %s of file \"%s\": it ends at byte %" PRId64 "; the file is truncated",
            what, w->file->name, w->at);
}

static oc_status skip(walker *w, int64_t size, oc_error *err)
{
    if (w->file->seekable) {
        if (size > w->end - w->at) {
            return truncated(w, "a message body", err);
        }
        w->at += size;
        return OC_OK;
    }
    uint8_t buf[SKIP_BYTES];
    while (size > 0) {
        int64_t n;
        OC_TRY(take(w, buf, size < SKIP_BYTES ? size : SKIP_BYTES, &n, err));
        if (n == 0) {
            return truncated(w, "a message body", err);
        }
        size -= n;
    }
    return OC_OK;
}

static void add_batch(oci_ipc_summary *summary, const oci_message *message)
{
    summary->batches++;
    summary->rows += message->length;
    summary->rows_max = message->length > summary->rows_max ? message->length : summary->rows_max;
    summary->codec = message->codec;
}

static oc_status add_message(walker *w, const uint8_t *metadata, int64_t size,
                             oci_ipc_summary *summary, oc_error *err)
{
    oci_message message;
    OC_TRY(oci_message_parse(metadata, size, &message, err));
    switch (message.kind) {
    case OCI_MESSAGE_SCHEMA:
        summary->streams++;
        if (summary->schema == NULL) {
            OC_TRY(oci_message_parse_schema(metadata, size, &summary->schema, NULL,
                                            &summary->big_endian, err));
        }
        break;
    case OCI_MESSAGE_DICTIONARY: summary->dictionaries++; break;
    case OCI_MESSAGE_BATCH: add_batch(summary, &message); break;
    }
    summary->metadata_bytes += size;
    summary->body_bytes += message.body_bytes;
    summary->body_bytes_max =
        message.body_bytes > summary->body_bytes_max ? message.body_bytes : summary->body_bytes_max;
    return skip(w, message.body_bytes, err);
}

/* One message. *more is false at the end of the file. */
static oc_status walk_message(walker *w, oci_ipc_summary *summary, bool *more, oc_error *err)
{
    uint8_t prefix[OCI_IPC_PREFIX_BYTES] = {0};
    int64_t n;
    *more = w->at < w->end;
    if (!*more) {
        return OC_OK;
    }
    OC_TRY(take(w, prefix, OCI_IPC_PREFIX_BYTES, &n, err));
    *more = n > 0;
    if (n == 0) {
        return OC_OK;
    }
    int64_t metadata_bytes;
    int prefix_bytes;
    /* The end marker of early streams is one word, and may be the last one of the file. */
    bool is_short_end = n == 4 && memcmp(prefix, (uint8_t[4]){0}, 4) == 0;
    if (n < OCI_IPC_PREFIX_BYTES && !is_short_end) {
        return truncated(w, "a message", err);
    }
    OC_TRY(oci_frame_parse(prefix, &metadata_bytes, &prefix_bytes, err));
    int64_t unused = n - prefix_bytes;
    if (metadata_bytes == 0) {
        summary->has_end_marker = true;
        w->at -= w->file->seekable ? unused : 0;
        return OC_OK;
    }
    if (w->file->seekable && metadata_bytes > w->end - w->at + unused) {
        return truncated(w, "a message header", err);
    }
    void *metadata;
    OC_TRY(oci_mem_alloc(w->mem, metadata_bytes, &metadata, err));
    memcpy(metadata, prefix + prefix_bytes,
           (size_t)(unused < metadata_bytes ? unused : metadata_bytes));
    oc_status status = take(w, (uint8_t *)metadata + unused, metadata_bytes - unused, &n, err);
    if (status == OC_OK && n < metadata_bytes - unused) {
        status = truncated(w, "a message header", err);
    }
    if (status == OC_OK) {
        status = add_message(w, metadata, metadata_bytes, summary, err);
    }
    oci_mem_free(w->mem, metadata, metadata_bytes);
    return status;
}

/* Where the messages of a file-format file end: the footer says so. */
static oc_status find_footer(walker *w, int64_t file_bytes, oc_error *err)
{
    uint8_t tail[OCI_IPC_FILE_TAIL_BYTES];
    int64_t n;
    if (file_bytes < OCI_IPC_FILE_HEAD_BYTES + OCI_IPC_FILE_TAIL_BYTES) {
        return truncated(w, "the footer", err);
    }
    OC_TRY(oci_pread(w->file, tail, OCI_IPC_FILE_TAIL_BYTES, file_bytes - OCI_IPC_FILE_TAIL_BYTES,
                     &n, err));
    uint32_t footer_bytes = (uint32_t)tail[0] | (uint32_t)tail[1] << 8 | (uint32_t)tail[2] << 16 |
                            (uint32_t)tail[3] << 24;
    if (n < OCI_IPC_FILE_TAIL_BYTES || memcmp(tail + 4, OCI_IPC_MAGIC, OCI_IPC_MAGIC_BYTES) != 0 ||
        footer_bytes > file_bytes - OCI_IPC_FILE_HEAD_BYTES - OCI_IPC_FILE_TAIL_BYTES) {
        OC_FAIL(err, OC_EDATA,
                "could not find the footer of Arrow file \"%s\"; the file is truncated or was not "
                "finished",
                w->file->name);
    }
    w->end = file_bytes - OCI_IPC_FILE_TAIL_BYTES - footer_bytes;
    w->at = OCI_IPC_FILE_HEAD_BYTES;
    return OC_OK;
}

static oc_status start(walker *w, oci_ipc_summary *out, oc_error *err)
{
    int64_t file_bytes = INT64_MAX;
    if (w->file->seekable) {
        OC_TRY(oci_file_size(w->file, &file_bytes, err));
        OC_TRY(oci_pread(w->file, w->first, OCI_IPC_FILE_HEAD_BYTES, 0, &w->n_first, err));
    } else {
        OC_TRY(oci_read_full(w->file, w->first, OCI_IPC_FILE_HEAD_BYTES, &w->n_first, err));
    }
    w->end = file_bytes;
    out->is_file_format = w->n_first == OCI_IPC_FILE_HEAD_BYTES &&
                          memcmp(w->first, OCI_IPC_MAGIC, OCI_IPC_MAGIC_BYTES) == 0;
    if (!out->is_file_format) {
        return OC_OK;
    }
    if (!w->file->seekable) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "could not inspect \"%s\": the Arrow file format needs a file, not a pipe",
                w->file->name);
    }
    return find_footer(w, file_bytes, err);
}

oc_status oci_ipc_summarize(oci_file *file, oci_mem *mem, oci_ipc_summary *out, oc_error *err)
{
    *out = (oci_ipc_summary){0};
    walker w = {.file = file, .mem = mem};
    oc_status status = start(&w, out, err);
    bool more = true;
    while (status == OC_OK && more) {
        status = walk_message(&w, out, &more, err);
    }
    if (status == OC_OK && out->schema == NULL) {
        status = OC_SET(err, OC_EDATA,
                        "file \"%s\" holds no Arrow schema; it is empty or not Arrow", file->name);
    }
    if (status != OC_OK) {
        oci_ipc_summary_deinit(out);
    }
    return status;
}

void oci_ipc_summary_deinit(oci_ipc_summary *summary)
{
    oci_schema_release(summary->schema);
    summary->schema = NULL;
}
