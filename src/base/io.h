/* File I/O behind a small vtable.
 *
 * Everything that touches a file goes through an `oci_io`, so that tests can make the Nth open,
 * read, write or unlink fail. The posix implementation retries EINTR and short transfers;
 * callers see all or an error.
 *
 * Errors: OC_ENOSPC for ENOSPC and EDQUOT, OC_ENOMEM for ENOMEM, else OC_EIO with sys_errno;
 * messages name the file.
 * Thread-safety: an oci_file may be used by several threads for pread/pwrite at the same time. */
#ifndef OUTCORE_BASE_IO_H
#define OUTCORE_BASE_IO_H

#include "base/error.h"

typedef struct oci_io oci_io;
typedef struct oci_file oci_file;

typedef enum oci_open_mode {
    OCI_OPEN_READ,   /* existing file, read only */
    OCI_OPEN_CREATE, /* create or truncate, write only, mode 0666 & ~umask */
    /* A file that gets the name `path` only by publish(), when it is complete: nameless until then
     * (O_TMPFILE) where the file system can, else under a temporary name beside it that is removed
     * by close; write only, mode 0666 & ~umask. */
    OCI_OPEN_OUTPUT,
    /* `path` is a directory: a private nameless read/write file in it (O_TMPFILE, else created with
     * mode 0600 and unlinked at once); nothing stays behind whatever happens. */
    OCI_OPEN_SCRATCH
} oci_open_mode;

struct oci_io {
    oc_status (*open)(const oci_io *io, const char *path, oci_open_mode mode, oci_file **out,
                      oc_error *err);
    /* Wraps a descriptor that the caller keeps (stdin, stdout). `name` is for messages. */
    oc_status (*wrap)(const oci_io *io, int fd, const char *name, oci_file **out, oc_error *err);
    /* Removes a name / renames one. */
    oc_status (*unlink)(const oci_io *io, const char *path, oc_error *err);
    oc_status (*rename)(const oci_io *io, const char *from, const char *to, oc_error *err);
    /* Gives a complete OCI_OPEN_OUTPUT file its name, replacing what has it now. What closing the
     * file would report is reported here, before: an error of the close that follows means
     * nothing any more. */
    oc_status (*publish)(const oci_io *io, oci_file *file, const char *path, oc_error *err);
    void *self;
};

struct oci_file {
    const struct oci_file_ops *ops;
    char *name; /* for messages; owned */
    int fd;     /* -1 when not backed by a descriptor */
    bool seekable;
    bool owns_fd;
    char *temporary; /* OCI_OPEN_OUTPUT under a temporary name: that name, else NULL; owned */
};

/* Reads at `offset` until `size` bytes are there or the file ends; *n_read says how many. */
typedef struct oci_file_ops {
    oc_status (*pread)(oci_file *f, void *buf, int64_t size, int64_t offset, int64_t *n_read,
                       oc_error *err);
    oc_status (*pwrite)(oci_file *f, const void *buf, int64_t size, int64_t offset, oc_error *err);
    /* Sequential, for pipes and terminals too: one read of at most `size` bytes, 0 at the end. */
    oc_status (*read)(oci_file *f, void *buf, int64_t size, int64_t *n_read, oc_error *err);
    oc_status (*write)(oci_file *f, const void *buf, int64_t size, oc_error *err); /* all of it */
    oc_status (*size)(oci_file *f, int64_t *out, oc_error *err);
    /* Gives the disk space of a range back (hole punching); a file system that cannot is no
     * error. */
    void (*discard)(oci_file *f, int64_t offset, int64_t size);
    /* A hint: this range will be read soon; the system may fetch it meanwhile. May be NULL. */
    void (*will_read)(oci_file *f, int64_t offset, int64_t size);
    oc_status (*close)(oci_file *f, oc_error *err); /* also frees the struct, even when it fails */
} oci_file_ops;

/* The real thing. */
const oci_io *oci_posix_io(void);

/* Shorthands; `io` never NULL. */
OC_NODISCARD oc_status oci_open(const oci_io *io, const char *path, oci_open_mode mode,
                                oci_file **out, oc_error *err);
OC_NODISCARD oc_status oci_pread(oci_file *f, void *buf, int64_t size, int64_t offset,
                                 int64_t *n_read, oc_error *err);
/* Exactly `size` bytes or OC_EDATA "... ends early". */
OC_NODISCARD oc_status oci_pread_exact(oci_file *f, void *buf, int64_t size, int64_t offset,
                                       oc_error *err);
OC_NODISCARD oc_status oci_pwrite(oci_file *f, const void *buf, int64_t size, int64_t offset,
                                  oc_error *err);
OC_NODISCARD oc_status oci_read(oci_file *f, void *buf, int64_t size, int64_t *n_read,
                                oc_error *err);
/* Reads until `size` bytes or the end. */
OC_NODISCARD oc_status oci_read_full(oci_file *f, void *buf, int64_t size, int64_t *n_read,
                                     oc_error *err);
OC_NODISCARD oc_status oci_write(oci_file *f, const void *buf, int64_t size, oc_error *err);
OC_NODISCARD oc_status oci_file_size(oci_file *f, int64_t *out, oc_error *err);
void oci_discard(oci_file *f, int64_t offset, int64_t size);
void oci_will_read(oci_file *f, int64_t offset, int64_t size);
/* NULL is fine. Reports a failed close (data may be lost). */
oc_status oci_close(oci_file *f, oc_error *err);

#endif /* OUTCORE_BASE_IO_H */
