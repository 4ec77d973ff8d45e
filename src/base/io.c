/* Shorthands over the file vtable: the calls that read like functions, and the two that loop. */
#include "base/io.h"

#include <stddef.h>

oc_status oci_open(const oci_io *io, const char *path, oci_open_mode mode, oci_file **out,
                   oc_error *err)
{
    return io->open(io, path, mode, out, err);
}

oc_status oci_pread(oci_file *f, void *buf, int64_t size, int64_t offset, int64_t *n_read,
                    oc_error *err)
{
    return f->ops->pread(f, buf, size, offset, n_read, err);
}

oc_status oci_pread_exact(oci_file *f, void *buf, int64_t size, int64_t offset, oc_error *err)
{
    int64_t n_read = 0;
    OC_TRY(f->ops->pread(f, buf, size, offset, &n_read, err));
    if (n_read != size) {
        OC_FAIL(err, OC_EDATA,
                "could not read %" PRId64 " bytes at offset %" PRId64
                " of file \"%s\": the file ends early, %" PRId64 " bytes short",
                size, offset, f->name, size - n_read);
    }
    return OC_OK;
}

oc_status oci_pwrite(oci_file *f, const void *buf, int64_t size, int64_t offset, oc_error *err)
{
    return f->ops->pwrite(f, buf, size, offset, err);
}

oc_status oci_read(oci_file *f, void *buf, int64_t size, int64_t *n_read, oc_error *err)
{
    return f->ops->read(f, buf, size, n_read, err);
}

oc_status oci_read_full(oci_file *f, void *buf, int64_t size, int64_t *n_read, oc_error *err)
{
    int64_t total = 0;
    while (total < size) {
        int64_t n = 0;
        OC_TRY(f->ops->read(f, (char *)buf + total, size - total, &n, err));
        if (n == 0) {
            break;
        }
        total += n;
    }
    *n_read = total;
    return OC_OK;
}

oc_status oci_write(oci_file *f, const void *buf, int64_t size, oc_error *err)
{
    return f->ops->write(f, buf, size, err);
}

oc_status oci_file_size(oci_file *f, int64_t *out, oc_error *err)
{
    return f->ops->size(f, out, err);
}

void oci_discard(oci_file *f, int64_t offset, int64_t size)
{
    if (size > 0) {
        f->ops->discard(f, offset, size);
    }
}

void oci_will_read(oci_file *f, int64_t offset, int64_t size)
{
    if (size > 0 && f->ops->will_read != NULL) {
        f->ops->will_read(f, offset, size);
    }
}

oc_status oci_close(oci_file *f, oc_error *err)
{
    return f != NULL ? f->ops->close(f, err) : OC_OK;
}
