/* See file_format.h. The wrapper of a pipe comes from malloc: one per open file. */
#include "api/file_format.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bits.h"
#include "ipc/message.h"

#define MAGIC_BYTES 8

oc_format oci_format_of_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash == NULL ? path : slash, '.');
    oc_format format = OC_FORMAT_AUTO;
    if (dot != NULL && oc_format_parse(dot + 1, &format) && format != OC_FORMAT_TABLE &&
        format != OC_FORMAT_NULL) {
        return format;
    }
    return OC_FORMAT_AUTO;
}

/* ---- a file that gives its first bytes again ------------------------------------------------- */

typedef struct peeked_file {
    oci_file base; /* must be first */
    oci_file *inner;
    uint8_t head[MAGIC_BYTES];
    int64_t head_bytes;
    int64_t given; /* of head */
} peeked_file;

static oc_status peeked_pread(oci_file *f, void *buf, int64_t size, int64_t offset, int64_t *n_read,
                              oc_error *err)
{
    (void)buf;
    (void)size;
    (void)offset;
    (void)n_read;
    OC_FAIL(err, OC_EIO, "could not read \"%s\" at a position: it is a pipe", f->name);
}

static oc_status peeked_pwrite(oci_file *f, const void *buf, int64_t size, int64_t offset,
                               oc_error *err)
{
    (void)buf;
    (void)size;
    (void)offset;
    OC_FAIL(err, OC_EIO, "could not write to \"%s\": it is open for reading", f->name);
}

static oc_status peeked_read(oci_file *f, void *buf, int64_t size, int64_t *n_read, oc_error *err)
{
    peeked_file *self = (peeked_file *)f;
    int64_t left = self->head_bytes - self->given;
    if (left == 0 || size == 0) {
        return oci_read(self->inner, buf, size, n_read, err);
    }
    int64_t n = size < left ? size : left;
    memcpy(buf, self->head + self->given, (size_t)n);
    self->given += n;
    *n_read = n;
    return OC_OK;
}

static oc_status peeked_write(oci_file *f, const void *buf, int64_t size, oc_error *err)
{
    return peeked_pwrite(f, buf, size, 0, err);
}

static oc_status peeked_size(oci_file *f, int64_t *out, oc_error *err)
{
    return oci_file_size(((peeked_file *)f)->inner, out, err);
}

static void peeked_discard(oci_file *f, int64_t offset, int64_t size)
{
    (void)f;
    (void)offset;
    (void)size;
}

static oc_status peeked_close(oci_file *f, oc_error *err)
{
    peeked_file *self = (peeked_file *)f;
    oc_status status = oci_close(self->inner, err);
    free(self);
    return status;
}

static const oci_file_ops peeked_ops = {
    .pread = peeked_pread,
    .pwrite = peeked_pwrite,
    .read = peeked_read,
    .write = peeked_write,
    .size = peeked_size,
    .discard = peeked_discard,
    .close = peeked_close,
};

static oc_status peek_pipe(oci_file **file, uint8_t *head, int64_t *n, oc_error *err)
{
    peeked_file *self = calloc(1, sizeof *self);
    if (self == NULL) {
        OC_SET(err, OC_ENOMEM, "could not open \"%s\": out of memory", (*file)->name);
        oci_close(*file, NULL);
        *file = NULL;
        return OC_ENOMEM;
    }
    oc_status status = oci_read_full(*file, self->head, MAGIC_BYTES, &self->head_bytes, err);
    if (status != OC_OK) {
        free(self);
        oci_close(*file, NULL);
        *file = NULL;
        return status;
    }
    self->base = (oci_file){.ops = &peeked_ops, .name = (*file)->name, .fd = -1};
    self->inner = *file;
    *file = &self->base;
    memcpy(head, self->head, MAGIC_BYTES);
    *n = self->head_bytes;
    return OC_OK;
}

/* Streams of before Arrow 0.15 begin with the size of the schema's metadata, with the size itself a
 * multiple of 8, and then a flatbuffer, whose first word is the offset of its root table. Small
 * numbers in both words mean NUL bytes, which text has not. */
static bool is_early_stream(const uint8_t head[MAGIC_BYTES], int64_t n)
{
    const uint32_t metadata_bytes_max = 1 << 24, root_max = 64;
    uint32_t metadata_bytes = oci_load_le32(head);
    uint32_t root = oci_load_le32(head + 4);
    return n == MAGIC_BYTES && (metadata_bytes + 4) % 8 == 0 &&
           metadata_bytes < metadata_bytes_max && root >= 4 && root % 4 == 0 && root <= root_max &&
           root < metadata_bytes;
}

/* Starts of files that the CSV reader refuses by name: UTF-16, gzip, Zstandard. */
static bool is_known_to_csv(const uint8_t head[MAGIC_BYTES])
{
    return memcmp(head, "\xFF\xFE", 2) == 0 || memcmp(head, "\xFE\xFF", 2) == 0 ||
           memcmp(head, "\x1F\x8B", 2) == 0 || memcmp(head, "\x28\xB5\x2F\xFD", 4) == 0;
}

oc_status oci_format_of_content(oci_file **file, oc_format *out, oc_error *err)
{
    uint8_t head[MAGIC_BYTES] = {0};
    int64_t n = 0;
    if (!(*file)->seekable) {
        OC_TRY(peek_pipe(file, head, &n, err));
    } else {
        oc_status status = oci_pread(*file, head, MAGIC_BYTES, 0, &n, err);
        if (status != OC_OK) {
            oci_close(*file, NULL);
            *file = NULL;
            return status;
        }
    }
    static const uint8_t continuation[4] = {0xff, 0xff, 0xff, 0xff};
    if (n >= OCI_IPC_MAGIC_BYTES && memcmp(head, OCI_IPC_MAGIC, OCI_IPC_MAGIC_BYTES) == 0) {
        *out = OC_FORMAT_ARROW;
    } else if (n >= 4 && (memcmp(head, "PAR1", 4) == 0 || memcmp(head, "PARE", 4) == 0)) {
        *out = OC_FORMAT_PARQUET;
    } else if (n >= 6 && memcmp(head, "OCSEAL", 6) == 0) {
        oc_status status =
            OC_SET(err, OC_EUNSUPPORTED,
                   "could not read \"%s\": it is an encrypted spill file, which only "
                   "the process that wrote it can read",
                   (*file)->name);
        oci_close(*file, NULL);
        *file = NULL;
        return status;
    } else if ((n >= 4 && memcmp(head, continuation, 4) == 0) || is_early_stream(head, n)) {
        *out = OC_FORMAT_ARROWS;
    } else if (memchr(head, 0, (size_t)n) != NULL && !is_known_to_csv(head)) {
        /* A damaged Arrow file must not come out as rows of text. */
        oc_status status = OC_SET(err, OC_EDATA,
                                  "could not tell the format of \"%s\": it begins like no Arrow "
                                  "file, and text has no NUL bytes; if it is not damaged, say the "
                                  "input format",
                                  (*file)->name);
        oci_close(*file, NULL);
        *file = NULL;
        return status;
    } else {
        *out = OC_FORMAT_CSV;
    }
    return OC_OK;
}
