/* A file over bytes that come in order from a callback.
 *
 * Readers of runs go forward, but begin a read a little before the end of the last one: a message's
 * head is read with a guess at its size. So the last bytes are kept and given again.
 *
 *     ... gone ... [ kept: the last OCI_SOURCE_BACK_BYTES ] <- at   ... still in the source ...
 *
 * The struct comes from malloc, with what is kept: one per source. */
#include <stdlib.h>
#include <string.h>

#include "api/spill_handles.h"
#include "base/bits.h"

typedef struct source_file {
    oci_file base; /* must be first */
    oc_spill_source source;
    int64_t at; /* bytes taken from the source */
    int64_t kept_bytes;
    uint8_t kept[2 * OCI_SOURCE_BACK_BYTES]; /* the last of them end at kept_bytes */
} source_file;

/* Remembers bytes that were just taken. */
static void keep(source_file *self, const uint8_t *data, int64_t size)
{
    if (size > OCI_SOURCE_BACK_BYTES) {
        data += size - OCI_SOURCE_BACK_BYTES;
        size = OCI_SOURCE_BACK_BYTES;
    }
    if (self->kept_bytes + size > (int64_t)sizeof self->kept) {
        int64_t stay = OCI_SOURCE_BACK_BYTES;
        memmove(self->kept, self->kept + self->kept_bytes - stay, (size_t)stay);
        self->kept_bytes = stay;
    }
    memcpy(self->kept + self->kept_bytes, data, (size_t)size);
    self->kept_bytes += size;
}

/* Next bytes, until there are `size` or the source ends. */
static oc_status take(source_file *self, uint8_t *out, int64_t size, int64_t *n_read, oc_error *err)
{
    *n_read = 0;
    while (*n_read < size) {
        int64_t want = size - *n_read;
        int64_t n = self->source.read(self->source.self, out + *n_read, want);
        if (n < 0) {
            char buffer[128];
            int errnum = n > -4096 ? (int)-n : EIO;
            OC_FAIL_ERRNO(err, OC_EIO, errnum, "could not read spill source \"%s\": %s",
                          self->base.name, oci_strerror(errnum, buffer, sizeof buffer));
        }
        if (n > want) {
            OC_FAIL(err, OC_EIO,
                    "spill source \"%s\" says that it gave %" PRId64 " bytes of %" PRId64
                    " asked for",
                    self->base.name, n, want);
        }
        if (n == 0) {
            break;
        }
        keep(self, out + *n_read, n);
        self->at += n;
        *n_read += n;
    }
    return OC_OK;
}

static oc_status source_pread(oci_file *f, void *buf, int64_t size, int64_t offset, int64_t *n_read,
                              oc_error *err)
{
    source_file *self = (source_file *)f;
    int64_t back = self->at - offset;
    *n_read = 0;
    if (back < 0 || back > self->kept_bytes) {
        OC_FAIL(err, OC_EINTERNAL,
                "could not read spill source \"%s\" at byte %" PRId64 ": it is at %" PRId64,
                f->name, offset, self->at);
    }
    int64_t again = oci_min64(back, size);
    memcpy(buf, self->kept + self->kept_bytes - back, (size_t)again);
    int64_t more = 0;
    OC_TRY(take(self, (uint8_t *)buf + again, size - again, &more, err));
    *n_read = again + more;
    return OC_OK;
}

static oc_status source_pwrite(oci_file *f, const void *buf, int64_t size, int64_t offset,
                               oc_error *err)
{
    (void)buf;
    (void)size;
    (void)offset;
    OC_FAIL(err, OC_EIO, "could not write to \"%s\": it is a source", f->name);
}

static oc_status source_read(oci_file *f, void *buf, int64_t size, int64_t *n_read, oc_error *err)
{
    return take((source_file *)f, buf, size, n_read, err);
}

static oc_status source_write(oci_file *f, const void *buf, int64_t size, oc_error *err)
{
    return source_pwrite(f, buf, size, 0, err);
}

static oc_status source_size(oci_file *f, int64_t *out, oc_error *err)
{
    (void)err;
    *out = ((source_file *)f)->source.size;
    return OC_OK;
}

static void source_discard(oci_file *f, int64_t offset, int64_t size)
{
    (void)f;
    (void)offset;
    (void)size;
}

static void release_source(const oc_spill_source *source)
{
    if (source->release != NULL) {
        source->release(source->self);
    }
}

static oc_status source_close(oci_file *f, oc_error *err)
{
    (void)err;
    source_file *self = (source_file *)f;
    release_source(&self->source);
    free(self->base.name);
    free(self);
    return OC_OK;
}

static const oci_file_ops source_ops = {
    .pread = source_pread,
    .pwrite = source_pwrite,
    .read = source_read,
    .write = source_write,
    .size = source_size,
    .discard = source_discard,
    .close = source_close,
};

oc_status oci_source_open(const oc_spill_source *source, oci_file **out, oc_error *err)
{
    if (source->read == NULL || source->size < 0) {
        release_source(source);
        OC_FAIL(err, OC_EINVAL, "a spill source needs a read function and a size");
    }
    source_file *self = calloc(1, sizeof *self);
    char *name = strdup(source->name != NULL ? source->name : "a source");
    if (self == NULL || name == NULL) {
        free(self);
        free(name);
        release_source(source);
        OC_FAIL(err, OC_ENOMEM, "could not open a spill source: out of memory");
    }
    self->base = (oci_file){.ops = &source_ops, .name = name, .fd = -1};
    self->source = *source;
    *out = &self->base;
    return OC_OK;
}
