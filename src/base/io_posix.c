/* The file vtable over POSIX descriptors.
 *
 * Every call finishes its work or fails: interrupted calls are repeated, short transfers
 * continued, and a descriptor in non-blocking mode (a stdin shared with another program) is
 * waited for. All descriptors are close-on-exec.
 *
 * Scratch files have no name: O_TMPFILE where the file system has it, otherwise a random name
 * that is created exclusively and removed before anything is written. A crash leaves nothing
 * behind; only the fallback has a window of one system call.
 *
 * Memory: one small struct and the name per open file, from malloc; bounded by the number of
 * open files and outside the memory budget. */
#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/io_posix.h"
#include "base/random.h"

/* One transfer asks for at most this: Linux cuts at slightly under 2 GiB anyway. */
#define TRANSFER_BYTES_MAX ((int64_t)1 << 30)

#define ERRNO_TEXT_BYTES 128

/* Random names of 64 bits that may be taken before it is called an error. */
#define NAME_ATTEMPTS 16

/* ---- errors ---- */

static oc_status status_of_errno(int errnum)
{
    if (errnum == ENOMEM) {
        return OC_ENOMEM;
    }
    return errnum == ENOSPC || errnum == EDQUOT ? OC_ENOSPC : OC_EIO;
}

/* "could not <what> file "<name>": <reason>". */
static oc_status fail_on(oc_error *err, int errnum, const char *what, const char *name)
{
    char buffer[ERRNO_TEXT_BYTES];
    OC_FAIL_ERRNO(err, status_of_errno(errnum), errnum, "could not %s file \"%s\": %s", what, name,
                  oci_strerror(errnum, buffer, sizeof buffer));
}

/* True when the call that failed with `errnum` should be made again. */
static bool should_retry(int fd, int errnum, short events)
{
    if (errnum == EINTR) {
        return true;
    }
    if (errnum == EAGAIN) {
        struct pollfd wait = {.fd = fd, .events = events};
        return poll(&wait, 1, -1) >= 0 || errno == EINTR;
    }
    return false;
}

static size_t transfer_bytes(int64_t size)
{
    return (size_t)(size < TRANSFER_BYTES_MAX ? size : TRANSFER_BYTES_MAX);
}

/* ---- transfers ---- */

static oc_status posix_pread(oci_file *f, void *buf, int64_t size, int64_t offset, int64_t *n_read,
                             oc_error *err)
{
    int64_t total = 0;
    while (total < size) {
        ssize_t n = pread(f->fd, (char *)buf + total, transfer_bytes(size - total),
                          (off_t)(offset + total));
        if (n == 0) {
            break;
        }
        if (n > 0) {
            total += n;
        } else if (!should_retry(f->fd, errno, POLLIN)) {
            return fail_on(err, errno, "read", f->name);
        }
    }
    *n_read = total;
    return OC_OK;
}

static oc_status posix_pwrite(oci_file *f, const void *buf, int64_t size, int64_t offset,
                              oc_error *err)
{
    int64_t total = 0;
    while (total < size) {
        ssize_t n = pwrite(f->fd, (const char *)buf + total, transfer_bytes(size - total),
                           (off_t)(offset + total));
        if (n > 0) {
            total += n;
        } else if (n == 0) {
            return fail_on(err, EIO, "write to", f->name); /* no progress and no reason given */
        } else if (!should_retry(f->fd, errno, POLLOUT)) {
            return fail_on(err, errno, "write to", f->name);
        }
    }
    return OC_OK;
}

static oc_status posix_read(oci_file *f, void *buf, int64_t size, int64_t *n_read, oc_error *err)
{
    for (;;) {
        ssize_t n = read(f->fd, buf, transfer_bytes(size));
        if (n >= 0) {
            *n_read = n;
            return OC_OK;
        }
        if (!should_retry(f->fd, errno, POLLIN)) {
            return fail_on(err, errno, "read", f->name);
        }
    }
}

static oc_status posix_write(oci_file *f, const void *buf, int64_t size, oc_error *err)
{
    int64_t total = 0;
    while (total < size) {
        ssize_t n = write(f->fd, (const char *)buf + total, transfer_bytes(size - total));
        if (n > 0) {
            total += n;
        } else if (n == 0) {
            return fail_on(err, EIO, "write to", f->name);
        } else if (!should_retry(f->fd, errno, POLLOUT)) {
            return fail_on(err, errno, "write to", f->name);
        }
    }
    return OC_OK;
}

static oc_status posix_size(oci_file *f, int64_t *out, oc_error *err)
{
    struct stat info;
    if (fstat(f->fd, &info) != 0) {
        return fail_on(err, errno, "find the size of", f->name);
    }
    if (!S_ISREG(info.st_mode)) {
        OC_FAIL_ERRNO(err, OC_EIO, ESPIPE,
                      "could not find the size of file \"%s\": it is not a regular file", f->name);
    }
    *out = info.st_size;
    return OC_OK;
}

/* A file system without holes just keeps the space: nothing depends on it. */
static void posix_discard(oci_file *f, int64_t offset, int64_t size)
{
    int ignored =
        fallocate(f->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)size);
    (void)ignored;
}

static void posix_will_read(oci_file *f, int64_t offset, int64_t size)
{
    (void)posix_fadvise(f->fd, (off_t)offset, (off_t)size, POSIX_FADV_WILLNEED);
}

static oc_status posix_close(oci_file *f, oc_error *err)
{
    oc_status status = OC_OK;
    /* Linux has closed the descriptor even when it reports EINTR, so that a retry could hit
     * somebody else's file. */
    if (f->owns_fd && close(f->fd) != 0 && errno != EINTR) {
        status = fail_on(err, errno, "close", f->name);
    }
    if (f->temporary != NULL) {
        unlink(f->temporary); /* never published */
        free(f->temporary);
    }
    free(f->name);
    free(f);
    return status;
}

static const oci_file_ops posix_ops = {
    .pread = posix_pread,
    .pwrite = posix_pwrite,
    .read = posix_read,
    .write = posix_write,
    .size = posix_size,
    .discard = posix_discard,
    .will_read = posix_will_read,
    .close = posix_close,
};

/* ---- opening ---- */

/* Makes the struct before any descriptor exists, so that running out of memory leaves nothing to
 * undo. */
static oc_status new_file(const char *name, oci_file **out, oc_error *err)
{
    oci_file *f = calloc(1, sizeof *f);
    char *copy = strdup(name);
    if (f == NULL || copy == NULL) {
        free(f);
        free(copy);
        OC_FAIL(err, OC_ENOMEM, "could not open file \"%s\": out of memory", name);
    }
    f->ops = &posix_ops;
    f->name = copy;
    f->fd = -1;
    *out = f;
    return OC_OK;
}

static void free_unopened(oci_file *f)
{
    free(f->name);
    free(f);
}

static int open_retrying(const char *path, int flags, mode_t mode)
{
    int fd;
    do {
        fd = open(path, flags | O_CLOEXEC, mode);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

/* A name that nobody else has: 64 random bits, or the clock and the process id where the system has
 * none to give (O_EXCL and the retries below keep that safe). */
static void random_path(const char *folder, char *path, size_t size)
{
    uint64_t number = 0;
    const oci_random *random = oci_system_random();
    if (random->fill(random->self, &number, sizeof number) != 0) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        number = ((uint64_t)now.tv_sec << 30) ^ (uint64_t)now.tv_nsec ^ ((uint64_t)getpid() << 40);
    }
    snprintf(path, size, "%s/outcore-%016" PRIx64 ".tmp", folder, number);
}

/* Creates a file under a random name in `folder`; *name gets it, from malloc. Returns -1 with
 * errno. */
static int open_temporary(const char *folder, int access, mode_t mode, char **name)
{
    size_t size = strlen(folder) + 64;
    char *path = malloc(size);
    if (path == NULL) {
        errno = ENOMEM;
        return -1;
    }
    int fd = -1;
    for (int attempt = 0; fd < 0 && attempt < NAME_ATTEMPTS; attempt++) {
        random_path(folder, path, size);
        fd = open_retrying(path, access | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
        if (fd < 0 && errno != EEXIST) {
            break;
        }
    }
    if (fd < 0) {
        free(path);
        return -1;
    }
    *name = path;
    return fd;
}

/* Closes a descriptor; errno stays that of the call before. Returns -1. */
static int close_keeping_errno(int fd)
{
    int errnum = errno;
    close(fd);
    errno = errnum;
    return -1;
}

int oci_open_scratch_by_name(const char *folder)
{
    char *path = NULL;
    int fd = open_temporary(folder, O_RDWR, 0600, &path);
    if (fd >= 0 && unlink(path) != 0) {
        fd = close_keeping_errno(fd);
    }
    free(path);
    return fd;
}

/* Whether open() failed because the file system or the kernel cannot make nameless files: EISDIR
 * and EINVAL are what those say that do not know the flag. */
static bool has_no_tmpfile(int errnum)
{
    return errnum == EOPNOTSUPP || errnum == EISDIR || errnum == EINVAL;
}

static int open_scratch(const char *folder)
{
    int fd = open_retrying(folder, O_TMPFILE | O_RDWR | O_EXCL, 0600);
    if (fd < 0 && has_no_tmpfile(errno)) {
        fd = oci_open_scratch_by_name(folder);
    }
    return fd;
}

/* The folder of a path, malloc'ed: "." when it names none. NULL when out of memory. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        return strdup(".");
    }
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

/* Whether an output may take the place of what is there; false with errno. A directory would be
 * found by the final rename only, after all the work; and a rename does not ask for the permission
 * to write that a file without it is meant to refuse. */
static bool may_replace(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        return errno == ENOENT;
    }
    if (S_ISDIR(info.st_mode)) {
        errno = EISDIR;
        return false;
    }
    return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
}

/* What replaces a file gets its owner and permissions, so that a private file stays private when it
 * is written anew. Before anything is written: a temporary name can be seen. Giving a file away
 * takes privileges, so that the owner is kept where it can be. */
static int keep_permissions(int fd, const char *path)
{
    struct stat info;
    if (fd < 0) {
        return fd;
    }
    if (stat(path, &info) != 0) {
        return errno == ENOENT ? fd : close_keeping_errno(fd);
    }
    if (fchown(fd, info.st_uid, info.st_gid) != 0) {
        info.st_mode &= (mode_t) ~(S_ISUID | S_ISGID);
    }
    if (fchmod(fd, info.st_mode & 07777) != 0) {
        return close_keeping_errno(fd);
    }
    return fd;
}

static int open_output(const char *path, char **temporary)
{
    if (!may_replace(path)) {
        return -1;
    }
    char *folder = folder_of(path);
    if (folder == NULL) {
        errno = ENOMEM;
        return -1;
    }
    int fd = open_retrying(folder, O_TMPFILE | O_WRONLY, 0666);
    if (fd < 0 && has_no_tmpfile(errno)) {
        fd = open_temporary(folder, O_WRONLY, 0666, temporary);
    }
    fd = keep_permissions(fd, path);
    int errnum = errno;
    if (fd < 0 && *temporary != NULL) {
        unlink(*temporary);
        free(*temporary);
        *temporary = NULL;
    }
    free(folder);
    errno = errnum;
    return fd;
}

static int open_fd(const char *path, oci_open_mode mode)
{
    switch (mode) {
    case OCI_OPEN_READ: return open_retrying(path, O_RDONLY | O_NOCTTY, 0);
    case OCI_OPEN_CREATE: return open_retrying(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY, 0666);
    case OCI_OPEN_SCRATCH: return open_scratch(path);
    case OCI_OPEN_OUTPUT: break; /* see open_output() */
    }
    errno = EINVAL;
    return -1;
}

static oc_status fail_open(oc_error *err, int errnum, oci_open_mode mode, const char *path)
{
    char buffer[ERRNO_TEXT_BYTES];
    const char *reason = oci_strerror(errnum, buffer, sizeof buffer);
    if (mode == OCI_OPEN_SCRATCH) {
        OC_FAIL_ERRNO(err, status_of_errno(errnum), errnum,
                      "could not create a scratch file in folder \"%s\": %s", path, reason);
    }
    const char *what = mode == OCI_OPEN_READ ? "open" : "create";
    OC_FAIL_ERRNO(err, status_of_errno(errnum), errnum, "could not %s file \"%s\": %s", what, path,
                  reason);
}

/* A directory can be opened for reading, and would then fail at the first read with a less
 * helpful message. */
static oc_status inspect(oci_file *f, oc_error *err)
{
    struct stat info;
    if (fstat(f->fd, &info) != 0) {
        return fail_on(err, errno, "open", f->name);
    }
    if (S_ISDIR(info.st_mode)) {
        OC_FAIL_ERRNO(err, OC_EIO, EISDIR, "could not open file \"%s\": it is a directory",
                      f->name);
    }
    f->seekable = S_ISREG(info.st_mode) && lseek(f->fd, 0, SEEK_CUR) >= 0;
    return OC_OK;
}

/* The name of a scratch file says where it is, as the messages about a full disk need that. */
static oc_status new_file_for(const char *path, oci_open_mode mode, oci_file **out, oc_error *err)
{
    if (mode != OCI_OPEN_SCRATCH) {
        return new_file(path, out, err);
    }
    static const char suffix[] = "/(scratch)";
    size_t size = strlen(path) + sizeof suffix;
    char *name = malloc(size);
    if (name == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not create a scratch file in folder \"%s\": out of memory",
                path);
    }
    snprintf(name, size, "%s%s", path, suffix);
    oc_status status = new_file(name, out, err);
    free(name);
    return status;
}

static oc_status posix_open(const oci_io *io, const char *path, oci_open_mode mode, oci_file **out,
                            oc_error *err)
{
    (void)io;
    oci_file *f = NULL;
    OC_TRY(new_file_for(path, mode, &f, err));
    f->fd = mode == OCI_OPEN_OUTPUT ? open_output(path, &f->temporary) : open_fd(path, mode);
    if (f->fd < 0) {
        int errnum = errno;
        free_unopened(f);
        return fail_open(err, errnum, mode, path);
    }
    f->owns_fd = true;
    oc_status status = inspect(f, err);
    if (status != OC_OK) {
        posix_close(f, NULL);
        return status;
    }
    *out = f;
    return OC_OK;
}

static oc_status posix_wrap(const oci_io *io, int fd, const char *name, oci_file **out,
                            oc_error *err)
{
    (void)io;
    oci_file *f = NULL;
    OC_TRY(new_file(name, &f, err));
    f->fd = fd;
    oc_status status = inspect(f, err);
    if (status != OC_OK) {
        free_unopened(f);
        return status;
    }
    *out = f;
    return OC_OK;
}

static oc_status posix_unlink(const oci_io *io, const char *path, oc_error *err)
{
    (void)io;
    if (unlink(path) != 0) {
        return fail_on(err, errno, "remove", path);
    }
    return OC_OK;
}

static oc_status posix_rename(const oci_io *io, const char *from, const char *to, oc_error *err)
{
    (void)io;
    if (rename(from, to) != 0) {
        int errnum = errno;
        char buffer[ERRNO_TEXT_BYTES];
        OC_FAIL_ERRNO(err, status_of_errno(errnum), errnum,
                      "could not rename file \"%s\" to \"%s\": %s", from, to,
                      oci_strerror(errnum, buffer, sizeof buffer));
    }
    return OC_OK;
}

/* Links a nameless file under a random name in the folder of `path`, for the rename that
 * follows. */
static oc_status link_temporary(oci_file *file, const char *path, oc_error *err)
{
    char source[64];
    snprintf(source, sizeof source, "/proc/self/fd/%d", file->fd);
    char *folder = folder_of(path);
    size_t size = folder == NULL ? 0 : strlen(folder) + 64;
    char *name = folder == NULL ? NULL : malloc(size);
    if (name == NULL) {
        free(folder);
        OC_FAIL(err, OC_ENOMEM, "could not create file \"%s\": out of memory", path);
    }
    int linked = -1;
    for (int attempt = 0; linked != 0 && attempt < NAME_ATTEMPTS; attempt++) {
        random_path(folder, name, size);
        linked = linkat(AT_FDCWD, source, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
        if (linked != 0 && errno != EEXIST) {
            break;
        }
    }
    int errnum = errno;
    free(folder);
    if (linked != 0) {
        free(name);
        return fail_on(err, errnum, "create", path);
    }
    file->temporary = name;
    return OC_OK;
}

/* What a file system reports only when a file is closed (NFS and quotas) is heard of before the
 * file gets its name: closing any descriptor of it will do. */
static oc_status flush_by_closing(oci_file *file, const char *path, oc_error *err)
{
    int copy = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0 || (close(copy) != 0 && errno != EINTR)) {
        return fail_on(err, errno, "write to", path);
    }
    return OC_OK;
}

static oc_status posix_publish(const oci_io *io, oci_file *file, const char *path, oc_error *err)
{
    OC_TRY(flush_by_closing(file, path, err));
    if (file->temporary == NULL) {
        OC_TRY(link_temporary(file, path, err));
    }
    OC_TRY(posix_rename(io, file->temporary, path, err));
    free(file->temporary);
    file->temporary = NULL;
    return OC_OK;
}

const oci_io *oci_posix_io(void)
{
    static const oci_io io = {
        .open = posix_open,
        .wrap = posix_wrap,
        .unlink = posix_unlink,
        .rename = posix_rename,
        .publish = posix_publish,
    };
    return &io;
}
