/* A transfer begins when the disk is free, occupies it for as long as its bytes take, and ends by
 * sleeping until then:
 *
 *     caller -> [disk free from ...] -> inner call -> sleep until the disk is free again
 *
 * Sleeping takes a little longer than asked for, so a transfer may begin up to a moment in the past,
 * which keeps the average right. Wrapped files are small structs from malloc. */
#include "base/throttle.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/bits.h"
#include "base/thread.h"

#define MOMENT_NS 1000000

typedef struct throttle {
    oci_io io; /* first, so that the pointers convert */
    const oci_io *inner;
    double ns_per_byte;
    pthread_mutex_t lock;
    int64_t free_at; /* the disk, in nanoseconds of the monotonic clock */
} throttle;

typedef struct throttled_file {
    oci_file file; /* first, so that the pointers convert */
    oci_file *inner;
    throttle *disk;
} throttled_file;

static oci_file *inner_of(oci_file *f)
{
    return ((throttled_file *)f)->inner;
}

static int64_t now_ns(void)
{
    const oci_clock *clock = oci_system_clock();
    return clock->now_ns(clock->self);
}

/* Occupies the disk for a transfer that began at `began` and is done; returns when it would be. */
static void take_time(oci_file *f, int64_t began, int64_t bytes)
{
    throttle *disk = ((throttled_file *)f)->disk;
    pthread_mutex_lock(&disk->lock);
    int64_t start = oci_max64(disk->free_at, began - MOMENT_NS);
    int64_t end = start + (int64_t)((double)bytes * disk->ns_per_byte);
    disk->free_at = end;
    pthread_mutex_unlock(&disk->lock);
    if (end > now_ns()) {
        struct timespec until = {.tv_sec = end / 1000000000, .tv_nsec = end % 1000000000};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
        }
    }
}

/* ---- files ---- */

static oc_status throttled_pread(oci_file *f, void *buf, int64_t size, int64_t offset,
                                 int64_t *n_read, oc_error *err)
{
    int64_t began = now_ns();
    OC_TRY(inner_of(f)->ops->pread(inner_of(f), buf, size, offset, n_read, err));
    take_time(f, began, *n_read);
    return OC_OK;
}

static oc_status throttled_pwrite(oci_file *f, const void *buf, int64_t size, int64_t offset,
                                  oc_error *err)
{
    int64_t began = now_ns();
    OC_TRY(inner_of(f)->ops->pwrite(inner_of(f), buf, size, offset, err));
    take_time(f, began, size);
    return OC_OK;
}

static oc_status throttled_read(oci_file *f, void *buf, int64_t size, int64_t *n_read,
                                oc_error *err)
{
    int64_t began = now_ns();
    OC_TRY(inner_of(f)->ops->read(inner_of(f), buf, size, n_read, err));
    take_time(f, began, *n_read);
    return OC_OK;
}

static oc_status throttled_write(oci_file *f, const void *buf, int64_t size, oc_error *err)
{
    int64_t began = now_ns();
    OC_TRY(inner_of(f)->ops->write(inner_of(f), buf, size, err));
    take_time(f, began, size);
    return OC_OK;
}

static oc_status throttled_size(oci_file *f, int64_t *out, oc_error *err)
{
    return inner_of(f)->ops->size(inner_of(f), out, err);
}

static void throttled_discard(oci_file *f, int64_t offset, int64_t size)
{
    inner_of(f)->ops->discard(inner_of(f), offset, size);
}

static void throttled_will_read(oci_file *f, int64_t offset, int64_t size)
{
    oci_will_read(inner_of(f), offset, size);
}

static oc_status throttled_close(oci_file *f, oc_error *err)
{
    oc_status status = inner_of(f)->ops->close(inner_of(f), err);
    free(f);
    return status;
}

static const oci_file_ops throttled_ops = {
    .pread = throttled_pread,
    .pwrite = throttled_pwrite,
    .read = throttled_read,
    .write = throttled_write,
    .size = throttled_size,
    .discard = throttled_discard,
    .will_read = throttled_will_read,
    .close = throttled_close,
};

/* Takes the inner file over, also when it fails. */
static oc_status wrap_inner(throttle *disk, oci_file *inner, oci_file **out, oc_error *err)
{
    throttled_file *f = malloc(sizeof *f);
    if (f == NULL) {
        inner->ops->close(inner, NULL);
        OC_FAIL(err, OC_ENOMEM, "could not wrap a file: out of memory");
    }
    /* The name stays the inner file's. */
    f->file = (oci_file){
        .ops = &throttled_ops, .name = inner->name, .fd = inner->fd, .seekable = inner->seekable};
    f->inner = inner;
    f->disk = disk;
    *out = &f->file;
    return OC_OK;
}

/* ---- the seam ---- */

static oc_status throttled_open(const oci_io *io, const char *path, oci_open_mode mode,
                                oci_file **out, oc_error *err)
{
    throttle *disk = io->self;
    oci_file *inner = NULL;
    OC_TRY(disk->inner->open(disk->inner, path, mode, &inner, err));
    return wrap_inner(disk, inner, out, err);
}

static oc_status throttled_wrap(const oci_io *io, int fd, const char *name, oci_file **out,
                                oc_error *err)
{
    throttle *disk = io->self;
    oci_file *inner = NULL;
    OC_TRY(disk->inner->wrap(disk->inner, fd, name, &inner, err));
    return wrap_inner(disk, inner, out, err);
}

static oc_status throttled_unlink(const oci_io *io, const char *path, oc_error *err)
{
    throttle *disk = io->self;
    return disk->inner->unlink(disk->inner, path, err);
}

static oc_status throttled_rename(const oci_io *io, const char *from, const char *to, oc_error *err)
{
    throttle *disk = io->self;
    return disk->inner->rename(disk->inner, from, to, err);
}

static oc_status throttled_publish(const oci_io *io, oci_file *file, const char *path,
                                   oc_error *err)
{
    throttle *disk = io->self;
    return disk->inner->publish(disk->inner, inner_of(file), path, err);
}

const oci_io *oci_throttled_io(const oci_io *inner, int64_t bytes_per_second)
{
    throttle *disk = calloc(1, sizeof *disk);
    if (disk == NULL) {
        return NULL;
    }
    pthread_mutex_init(&disk->lock, NULL);
    disk->inner = inner;
    disk->ns_per_byte = 1e9 / (double)bytes_per_second;
    disk->io = (oci_io){
        .open = throttled_open,
        .wrap = throttled_wrap,
        .unlink = throttled_unlink,
        .rename = throttled_rename,
        .publish = throttled_publish,
        .self = disk,
    };
    return &disk->io;
}

void oci_throttled_io_destroy(const oci_io *io)
{
    if (io != NULL) {
        throttle *disk = io->self;
        pthread_mutex_destroy(&disk->lock);
        free(disk);
    }
}
