/* Fault injection by counting: every operation of a wrapped seam passes through fault_hits(),
 * which says whether this one fails.
 *
 *     caller -> wrapped seam -> [counted; fails?] -> the system's seam
 *
 * An operation that fails does not reach the system, except close: a descriptor is closed even
 * when close() reports an error, and so it is here. One mutex guards all counters; wrapped files
 * are small structs from malloc. */
#include "base/fault.h"

#include <stdlib.h>

typedef struct fault_point {
    int64_t count;   /* operations since armed */
    int64_t fail_at; /* 0: disarmed */
    bool for_ever;
    int64_t injected; /* since armed */
} fault_point;

struct oci_fault_plan {
    pthread_mutex_t lock;
    fault_point points[OCI_FAULT_KINDS];
    int64_t live_bytes;
    oci_allocator allocator;
    oci_io io;
    oci_threads threads;
};

typedef struct fault_file {
    oci_file file; /* first, so that the pointers convert */
    oci_file *inner;
    oci_fault_plan *plan;
} fault_file;

/* ---- the plan ---- */

static bool fault_hits(oci_fault_plan *plan, oci_fault_kind kind)
{
    pthread_mutex_lock(&plan->lock);
    fault_point *point = &plan->points[kind];
    point->count++;
    bool hits = point->fail_at > 0 &&
                (point->for_ever ? point->count >= point->fail_at : point->count == point->fail_at);
    point->injected += hits ? 1 : 0;
    pthread_mutex_unlock(&plan->lock);
    return hits;
}

void oci_fault_arm(oci_fault_plan *plan, oci_fault_kind kind, int64_t n, bool for_ever)
{
    pthread_mutex_lock(&plan->lock);
    plan->points[kind] = (fault_point){.fail_at = n, .for_ever = for_ever};
    pthread_mutex_unlock(&plan->lock);
}

int64_t oci_fault_injected(oci_fault_plan *plan)
{
    pthread_mutex_lock(&plan->lock);
    int64_t injected = 0;
    for (int kind = 0; kind < OCI_FAULT_KINDS; kind++) {
        injected += plan->points[kind].injected;
    }
    pthread_mutex_unlock(&plan->lock);
    return injected;
}

int64_t oci_fault_count(oci_fault_plan *plan, oci_fault_kind kind)
{
    pthread_mutex_lock(&plan->lock);
    int64_t count = plan->points[kind].count;
    pthread_mutex_unlock(&plan->lock);
    return count;
}

int64_t oci_fault_live_bytes(oci_fault_plan *plan)
{
    pthread_mutex_lock(&plan->lock);
    int64_t live = plan->live_bytes;
    pthread_mutex_unlock(&plan->lock);
    return live;
}

/* ---- allocator ---- */

static void count_live(oci_fault_plan *plan, int64_t bytes)
{
    pthread_mutex_lock(&plan->lock);
    plan->live_bytes += bytes;
    pthread_mutex_unlock(&plan->lock);
}

static void *fault_allocate(void *self, size_t size)
{
    const oci_allocator *system = oci_system_allocator();
    void *ptr = fault_hits(self, OCI_FAULT_ALLOC) ? NULL : system->allocate(system->self, size);
    count_live(self, ptr != NULL ? (int64_t)size : 0);
    return ptr;
}

static void fault_deallocate(void *self, void *ptr, size_t size)
{
    const oci_allocator *system = oci_system_allocator();
    system->deallocate(system->self, ptr, size);
    count_live(self, -(int64_t)size);
}

static void *fault_map(void *self, size_t size)
{
    const oci_allocator *system = oci_system_allocator();
    void *ptr = fault_hits(self, OCI_FAULT_ALLOC) ? NULL : system->map(system->self, size);
    count_live(self, ptr != NULL ? (int64_t)size : 0);
    return ptr;
}

static void fault_unmap(void *self, void *ptr, size_t size)
{
    const oci_allocator *system = oci_system_allocator();
    system->unmap(system->self, ptr, size);
    count_live(self, -(int64_t)size);
}

static bool fault_commit(void *self, void *ptr, size_t size)
{
    const oci_allocator *system = oci_system_allocator();
    return !fault_hits(self, OCI_FAULT_ALLOC) && system->commit(system->self, ptr, size);
}

static void fault_decommit(void *self, void *ptr, size_t size)
{
    (void)self;
    const oci_allocator *system = oci_system_allocator();
    system->decommit(system->self, ptr, size);
}

static void fault_advise_huge(void *self, void *ptr, size_t size, bool huge)
{
    (void)self;
    const oci_allocator *system = oci_system_allocator();
    system->advise_huge(system->self, ptr, size, huge);
}

static void fault_trim(void *self)
{
    (void)self;
    const oci_allocator *system = oci_system_allocator();
    system->trim(system->self);
}

const oci_allocator *oci_fault_allocator(oci_fault_plan *plan)
{
    return &plan->allocator;
}

/* ---- files ---- */

static oc_status fail_injected(oc_error *err, int errnum, const char *what, const char *name)
{
    char buffer[128];
    OC_FAIL_ERRNO(err, errnum == ENOSPC ? OC_ENOSPC : OC_EIO, errnum,
                  "could not %s file \"%s\": %s (injected)", what, name,
                  oci_strerror(errnum, buffer, sizeof buffer));
}

static oci_file *inner_of(oci_file *f)
{
    return ((fault_file *)f)->inner;
}

static bool file_hits(oci_file *f, oci_fault_kind kind)
{
    return fault_hits(((fault_file *)f)->plan, kind);
}

static oc_status fault_pread(oci_file *f, void *buf, int64_t size, int64_t offset, int64_t *n_read,
                             oc_error *err)
{
    if (file_hits(f, OCI_FAULT_READ)) {
        return fail_injected(err, EIO, "read", f->name);
    }
    return inner_of(f)->ops->pread(inner_of(f), buf, size, offset, n_read, err);
}

static oc_status fault_pwrite(oci_file *f, const void *buf, int64_t size, int64_t offset,
                              oc_error *err)
{
    if (file_hits(f, OCI_FAULT_WRITE)) {
        return fail_injected(err, ENOSPC, "write to", f->name);
    }
    return inner_of(f)->ops->pwrite(inner_of(f), buf, size, offset, err);
}

static oc_status fault_read(oci_file *f, void *buf, int64_t size, int64_t *n_read, oc_error *err)
{
    if (file_hits(f, OCI_FAULT_READ)) {
        return fail_injected(err, EIO, "read", f->name);
    }
    return inner_of(f)->ops->read(inner_of(f), buf, size, n_read, err);
}

static oc_status fault_write(oci_file *f, const void *buf, int64_t size, oc_error *err)
{
    if (file_hits(f, OCI_FAULT_WRITE)) {
        return fail_injected(err, ENOSPC, "write to", f->name);
    }
    return inner_of(f)->ops->write(inner_of(f), buf, size, err);
}

static oc_status fault_size(oci_file *f, int64_t *out, oc_error *err)
{
    return inner_of(f)->ops->size(inner_of(f), out, err);
}

static void fault_discard(oci_file *f, int64_t offset, int64_t size)
{
    inner_of(f)->ops->discard(inner_of(f), offset, size);
}

static void fault_will_read(oci_file *f, int64_t offset, int64_t size)
{
    oci_will_read(inner_of(f), offset, size);
}

static oc_status fault_close(oci_file *f, oc_error *err)
{
    oc_status status = OC_OK;
    if (file_hits(f, OCI_FAULT_CLOSE)) {
        status = fail_injected(err, EIO, "close", f->name);
        err = NULL; /* the first error is the one to keep */
    }
    oc_status closed = inner_of(f)->ops->close(inner_of(f), err);
    free(f);
    return status != OC_OK ? status : closed;
}

static const oci_file_ops fault_ops = {
    .pread = fault_pread,
    .pwrite = fault_pwrite,
    .read = fault_read,
    .write = fault_write,
    .size = fault_size,
    .discard = fault_discard,
    .will_read = fault_will_read,
    .close = fault_close,
};

/* Takes the inner file over, also when it fails. */
static oc_status wrap_inner(oci_fault_plan *plan, oci_file *inner, oci_file **out, oc_error *err)
{
    fault_file *f = malloc(sizeof *f);
    if (f == NULL) {
        inner->ops->close(inner, NULL);
        OC_FAIL(err, OC_ENOMEM, "could not wrap a file: out of memory");
    }
    /* The name stays the inner file's. */
    f->file = (oci_file){
        .ops = &fault_ops, .name = inner->name, .fd = inner->fd, .seekable = inner->seekable};
    f->inner = inner;
    f->plan = plan;
    *out = &f->file;
    return OC_OK;
}

static oc_status fault_open(const oci_io *io, const char *path, oci_open_mode mode, oci_file **out,
                            oc_error *err)
{
    if (fault_hits(io->self, OCI_FAULT_OPEN)) {
        return fail_injected(err, mode == OCI_OPEN_READ ? EIO : ENOSPC, "open", path);
    }
    oci_file *inner = NULL;
    OC_TRY(oci_posix_io()->open(oci_posix_io(), path, mode, &inner, err));
    return wrap_inner(io->self, inner, out, err);
}

/* Wrapping opens nothing, and is not counted. */
static oc_status fault_wrap(const oci_io *io, int fd, const char *name, oci_file **out,
                            oc_error *err)
{
    oci_file *inner = NULL;
    OC_TRY(oci_posix_io()->wrap(oci_posix_io(), fd, name, &inner, err));
    return wrap_inner(io->self, inner, out, err);
}

static oc_status fault_unlink(const oci_io *io, const char *path, oc_error *err)
{
    if (fault_hits(io->self, OCI_FAULT_UNLINK)) {
        return fail_injected(err, EIO, "remove", path);
    }
    return oci_posix_io()->unlink(oci_posix_io(), path, err);
}

static oc_status fault_rename(const oci_io *io, const char *from, const char *to, oc_error *err)
{
    if (fault_hits(io->self, OCI_FAULT_UNLINK)) {
        return fail_injected(err, EIO, "rename", from);
    }
    return oci_posix_io()->rename(oci_posix_io(), from, to, err);
}

static oc_status fault_publish(const oci_io *io, oci_file *file, const char *path, oc_error *err)
{
    if (fault_hits(io->self, OCI_FAULT_UNLINK)) {
        return fail_injected(err, EIO, "create", path);
    }
    return oci_posix_io()->publish(oci_posix_io(), inner_of(file), path, err);
}

const oci_io *oci_fault_io(oci_fault_plan *plan)
{
    return &plan->io;
}

/* ---- threads ---- */

static int fault_start(void *self, pthread_t *out, void *(*body)(void *), void *arg)
{
    if (fault_hits(self, OCI_FAULT_THREAD)) {
        return EAGAIN;
    }
    return oci_system_threads()->start(oci_system_threads()->self, out, body, arg);
}

const oci_threads *oci_fault_threads(oci_fault_plan *plan)
{
    return &plan->threads;
}

/* ---- making and ending ---- */

oci_fault_plan *oci_fault_plan_create(void)
{
    oci_fault_plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) {
        return NULL;
    }
    pthread_mutex_init(&plan->lock, NULL);
    plan->allocator = (oci_allocator){
        .allocate = fault_allocate,
        .deallocate = fault_deallocate,
        .map = fault_map,
        .unmap = fault_unmap,
        .commit = fault_commit,
        .decommit = fault_decommit,
        .advise_huge = fault_advise_huge,
        .trim = fault_trim,
        .self = plan,
    };
    plan->io = (oci_io){
        .open = fault_open,
        .wrap = fault_wrap,
        .unlink = fault_unlink,
        .rename = fault_rename,
        .publish = fault_publish,
        .self = plan,
    };
    plan->threads = (oci_threads){.start = fault_start, .self = plan};
    return plan;
}

void oci_fault_plan_destroy(oci_fault_plan *plan)
{
    if (plan != NULL) {
        pthread_mutex_destroy(&plan->lock);
        free(plan);
    }
}
