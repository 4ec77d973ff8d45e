#include "support/byte_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

typedef struct byte_file {
    oci_file base; /* first, so that the pointers convert */
    const uint8_t *data;
    int64_t size;
    int64_t position;
    int64_t piece;
    byte_sink *sink;
} byte_file;

static oc_status byte_pread(oci_file *f, void *buf, int64_t size, int64_t offset, int64_t *n_read,
                            oc_error *err)
{
    byte_file *file = (byte_file *)f;
    if (file->piece > 0) {
        OC_FAIL_ERRNO(err, OC_EIO, ESPIPE, "file \"%s\" is a pipe", f->name);
    }
    *n_read = oci_max64(0, oci_min64(size, file->size - offset));
    if (*n_read > 0) {
        memcpy(buf, file->data + offset, (size_t)*n_read);
    }
    return OC_OK;
}

static oc_status byte_pwrite(oci_file *f, const void *buf, int64_t size, int64_t offset,
                             oc_error *err)
{
    (void)buf, (void)size, (void)offset;
    OC_FAIL(err, OC_EIO, "file \"%s\" is written in order only", f->name);
}

static oc_status byte_read(oci_file *f, void *buf, int64_t size, int64_t *n_read, oc_error *err)
{
    (void)err;
    byte_file *file = (byte_file *)f;
    int64_t most = file->piece > 0 ? oci_min64(size, file->piece) : size;
    *n_read = oci_min64(most, file->size - file->position);
    if (*n_read > 0) {
        memcpy(buf, file->data + file->position, (size_t)*n_read);
    }
    file->position += *n_read;
    return OC_OK;
}

static oc_status byte_write(oci_file *f, const void *buf, int64_t size, oc_error *err)
{
    (void)err;
    byte_sink *sink = ((byte_file *)f)->sink;
    if (sink->size + size > sink->capacity) {
        sink->capacity = 2 * (sink->size + size);
        sink->data = realloc(sink->data, (size_t)sink->capacity);
        if (sink->data == NULL) {
            abort();
        }
    }
    memcpy(sink->data + sink->size, buf, (size_t)size);
    sink->size += size;
    return OC_OK;
}

static oc_status byte_size(oci_file *f, int64_t *out, oc_error *err)
{
    (void)err;
    *out = ((byte_file *)f)->size;
    return OC_OK;
}

static void byte_discard(oci_file *f, int64_t offset, int64_t size)
{
    (void)f, (void)offset, (void)size;
}

static oc_status byte_close(oci_file *f, oc_error *err)
{
    (void)err;
    free(f);
    return OC_OK;
}

static const oci_file_ops byte_ops = {.pread = byte_pread,
                                      .pwrite = byte_pwrite,
                                      .read = byte_read,
                                      .write = byte_write,
                                      .size = byte_size,
                                      .discard = byte_discard,
                                      .close = byte_close};

static byte_file *make_file(void)
{
    static char name[] = "memory";
    byte_file *file = calloc(1, sizeof *file);
    if (file == NULL) {
        abort();
    }
    file->base = (oci_file){.ops = &byte_ops, .name = name, .fd = -1};
    return file;
}

oci_file *byte_file_open(const uint8_t *bytes, int64_t size, int64_t piece)
{
    byte_file *file = make_file();
    file->base.seekable = piece == 0;
    file->data = bytes;
    file->size = size;
    file->piece = piece;
    return &file->base;
}

oci_file *byte_file_create(byte_sink *bytes)
{
    byte_file *file = make_file();
    file->sink = bytes;
    return &file->base;
}
