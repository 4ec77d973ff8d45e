/* See seams.h. One mutex guards the plan, the sites and the tables of what is live. The tables are
 * of fixed size: a test that outgrows them is told so. */
#include "fault/seams.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <lz4frame.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/io.h"
#include "base/memory.h"

#define SITES_MAX  4096
#define LIVE_SLOTS ((size_t)1 << 17) /* a power of two */
#define FILES_MAX  4096

static const char *const kind_names[FAULT_KINDS] = {
    "memory", "budget", "open",   "read",  "write", "close",  "name",
    "stat",   "random", "thread", "eintr", "short", "advice",
};

typedef struct live_block {
    const void *ptr;
    const void *site;
} live_block;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    bool armed;
    bool recording;
    bool has_plan;
    fault_plan plan;
    int64_t count; /* of calls that the plan is about */
    int64_t calls;
    int64_t injected;
    int64_t action_at;
    void (*action)(void *arg);
    void *action_arg;
    bool no_tmpfile;
} state;
static fault_site sites[SITES_MAX];
static int32_t n_sites;
static live_block live[LIVE_SLOTS];
static int64_t n_live;
static const void *last_place;
static bool is_open[FILES_MAX];
static int64_t n_open;
static _Thread_local int suspended;

const char *fault_kind_name(fault_kind kind)
{
    return kind_names[kind];
}

bool fault_is_harmless(fault_kind kind)
{
    return kind >= FAULT_THREAD;
}

/* ---- the plan ---------------------------------------------------------------------------------- */

void fault_arm(const fault_plan *plan, bool recording)
{
    pthread_mutex_lock(&lock);
    state.armed = true;
    state.recording = recording;
    state.has_plan = plan != NULL;
    if (plan != NULL) {
        state.plan = *plan;
    }
    state.count = state.calls = state.injected = state.action_at = 0;
    for (int32_t i = 0; recording && i < n_sites; i++) {
        sites[i].seen = 0;
    }
    pthread_mutex_unlock(&lock);
}

void fault_arm_again(void)
{
    pthread_mutex_lock(&lock);
    state.has_plan = false;
    pthread_mutex_unlock(&lock);
}

void fault_disarm(void)
{
    pthread_mutex_lock(&lock);
    state.armed = false;
    pthread_mutex_unlock(&lock);
}

int64_t fault_injected(void)
{
    pthread_mutex_lock(&lock);
    int64_t injected = state.injected;
    pthread_mutex_unlock(&lock);
    return injected;
}

int64_t fault_calls(void)
{
    pthread_mutex_lock(&lock);
    int64_t calls = state.calls;
    pthread_mutex_unlock(&lock);
    return calls;
}

void fault_at_call(int64_t nth, void (*action)(void *arg), void *arg)
{
    pthread_mutex_lock(&lock);
    state.action_at = nth;
    state.action = action;
    state.action_arg = arg;
    pthread_mutex_unlock(&lock);
}

void fault_suspend(void)
{
    suspended++;
}

void fault_resume(void)
{
    suspended--;
}

void fault_set_no_tmpfile(bool on)
{
    pthread_mutex_lock(&lock);
    state.no_tmpfile = on;
    pthread_mutex_unlock(&lock);
}

static fault_site *find_site(fault_kind kind, const void *address)
{
    for (int32_t i = 0; i < n_sites; i++) {
        if (sites[i].address == address && sites[i].kind == kind) {
            return &sites[i];
        }
    }
    if (n_sites == SITES_MAX) {
        fprintf(stderr, "more than %d call sites: raise SITES_MAX\n", SITES_MAX);
        abort();
    }
    sites[n_sites] = (fault_site){.kind = kind, .address = address};
    return &sites[n_sites++];
}

/* Whether this call is one of those that fail; the lock is held. */
static bool decide(fault_kind kind, const void *address)
{
    const fault_plan *plan = &state.plan;
    if (!state.has_plan || plan->kind != kind) {
        return false;
    }
    bool first = false;
    if (state.injected == 0 && (plan->site == NULL || plan->site == address)) {
        first = ++state.count == plan->nth;
    }
    if (!first && !(plan->for_ever && state.injected > 0)) {
        return false;
    }
    state.injected++;
    last_place = address;
    fault_site *site = find_site(kind, address);
    site->hit++;
    site->hit_ever += first && plan->for_ever ? 1 : 0;
    return true;
}

static bool fails(fault_kind kind, const void *address)
{
    if (suspended > 0) {
        return false;
    }
    pthread_mutex_lock(&lock);
    if (!state.armed) {
        pthread_mutex_unlock(&lock);
        return false;
    }
    state.calls++;
    void (*action)(void *) = state.calls == state.action_at ? state.action : NULL;
    void *arg = state.action_arg;
    if (state.recording) {
        fault_site *site = find_site(kind, address);
        site->seen++;
        site->seen_ever = true;
    }
    bool failing = decide(kind, address);
    pthread_mutex_unlock(&lock);
    if (action != NULL) {
        action(arg);
    }
    return failing;
}

/* ---- sites ------------------------------------------------------------------------------------- */

int32_t fault_n_sites(void)
{
    return n_sites;
}

fault_site *fault_site_at(int32_t i)
{
    return &sites[i];
}

/* "function at file:line" of code in this program, as far as addr2line can say. */
static void show_place(FILE *out, const void *address)
{
    extern const char __executable_start[];
    char command[256];
    char program[160] = {0};
    if (readlink("/proc/self/exe", program, sizeof program - 1) < 0) {
        return;
    }
    /* One less: a return address is behind the call. */
    uintptr_t place = (uintptr_t)address - (uintptr_t)__executable_start - 1;
    snprintf(command, sizeof command, "addr2line -spf -e '%s' 0x%" PRIxPTR " 2>/dev/null", program,
             place);
    char line[512] = "?\n";
    FILE *pipe = popen(command, "r");
    if (pipe != NULL) {
        if (fgets(line, sizeof line, pipe) == NULL) {
            snprintf(line, sizeof line, "0x%" PRIxPTR "\n", place);
        }
        pclose(pipe);
    }
    fprintf(out, "    %s", line);
}

void fault_report_last(FILE *out)
{
    if (last_place != NULL) {
        show_place(out, last_place);
    }
}

int64_t fault_report(FILE *out, int64_t *n_seen)
{
    int64_t missed = 0;
    *n_seen = 0;
    for (int kind = 0; kind < FAULT_KINDS; kind++) {
        int64_t seen = 0, hit = 0, failures = 0;
        for (int32_t i = 0; i < n_sites; i++) {
            if ((int)sites[i].kind == kind && sites[i].seen_ever) {
                seen++;
                hit += sites[i].hit > 0;
            }
            failures += (int)sites[i].kind == kind ? sites[i].hit : 0;
        }
        fprintf(out,
                "  %-6s %4" PRId64 " of %4" PRId64 " call sites failed, %" PRId64 " failures\n",
                kind_names[kind], hit, seen, failures);
        for (int32_t i = 0; i < n_sites; i++) {
            if ((int)sites[i].kind == kind && sites[i].seen_ever && sites[i].hit == 0) {
                show_place(out, sites[i].address);
            }
        }
        *n_seen += seen;
        missed += seen - hit;
    }
    return missed;
}

/* ---- what is live ------------------------------------------------------------------------------ */

static size_t slot_of(const void *ptr)
{
    return (size_t)(((uintptr_t)ptr >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 40) & (LIVE_SLOTS - 1);
}

static void add_live(const void *ptr, const void *site)
{
    if (ptr == NULL || suspended > 0) {
        return;
    }
    pthread_mutex_lock(&lock);
    if (state.armed) {
        if (n_live > (int64_t)LIVE_SLOTS / 2) {
            fprintf(stderr, "too many blocks are live: raise LIVE_SLOTS\n");
            abort();
        }
        size_t slot = slot_of(ptr);
        while (live[slot].ptr != NULL) {
            slot = (slot + 1) & (LIVE_SLOTS - 1);
        }
        live[slot] = (live_block){ptr, site};
        n_live++;
    }
    pthread_mutex_unlock(&lock);
}

/* Blocks of the tests themselves are not in the table, which is fine. */
static void remove_live(const void *ptr)
{
    pthread_mutex_lock(&lock);
    size_t slot = slot_of(ptr);
    while (live[slot].ptr != NULL && live[slot].ptr != ptr) {
        slot = (slot + 1) & (LIVE_SLOTS - 1);
    }
    if (ptr != NULL && live[slot].ptr == ptr) {
        n_live--;
        live[slot].ptr = NULL;
        /* Those behind it that were displaced move up, so that no search stops too early. */
        for (size_t i = (slot + 1) & (LIVE_SLOTS - 1); live[i].ptr != NULL;
             i = (i + 1) & (LIVE_SLOTS - 1)) {
            size_t home = slot_of(live[i].ptr);
            if (((i - home) & (LIVE_SLOTS - 1)) >= ((i - slot) & (LIVE_SLOTS - 1))) {
                live[slot] = live[i];
                live[i].ptr = NULL;
                slot = i;
            }
        }
    }
    pthread_mutex_unlock(&lock);
}

static void note_file(int fd, bool open_now)
{
    if (fd < 0 || fd >= FILES_MAX || (open_now && suspended > 0)) {
        return;
    }
    pthread_mutex_lock(&lock);
    n_open += (open_now ? 1 : 0) - (is_open[fd] ? 1 : 0);
    is_open[fd] = open_now;
    pthread_mutex_unlock(&lock);
}

int64_t fault_live_blocks(void)
{
    pthread_mutex_lock(&lock);
    int64_t n = n_live;
    pthread_mutex_unlock(&lock);
    return n;
}

int64_t fault_live_files(void)
{
    pthread_mutex_lock(&lock);
    int64_t n = n_open;
    pthread_mutex_unlock(&lock);
    return n;
}

void fault_forget_live(FILE *out)
{
    for (size_t i = 0; i < LIVE_SLOTS; i++) {
        if (live[i].ptr != NULL) {
            fprintf(out, "  live:");
            show_place(out, live[i].site);
        }
    }
    pthread_mutex_lock(&lock);
    memset(live, 0, sizeof live);
    memset(is_open, 0, sizeof is_open);
    n_live = n_open = 0;
    pthread_mutex_unlock(&lock);
}

/* ---- the wrapped functions ----------------------------------------------------------------------
 * REAL(type, name, parameters) declares both names. */

#define SITE __builtin_return_address(0)
#define REAL(type, name, ...)        \
    type __real_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__)

/* ---- memory ---- */

REAL(void *, malloc, size_t size);
void *__wrap_malloc(size_t size)
{
    void *ptr = fails(FAULT_MEMORY, SITE) ? NULL : __real_malloc(size);
    add_live(ptr, SITE);
    return ptr;
}

REAL(void *, calloc, size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
    void *ptr = fails(FAULT_MEMORY, SITE) ? NULL : __real_calloc(n, size);
    add_live(ptr, SITE);
    return ptr;
}

REAL(void *, realloc, void *old, size_t size);
void *__wrap_realloc(void *old, size_t size)
{
    if (fails(FAULT_MEMORY, SITE)) {
        return NULL;
    }
    remove_live(old); /* before: the address may be somebody else's at once */
    void *ptr = __real_realloc(old, size);
    add_live(ptr != NULL ? ptr : old, SITE);
    return ptr;
}

REAL(void, free, void *ptr);
void __wrap_free(void *ptr)
{
    remove_live(ptr);
    __real_free(ptr);
}

REAL(char *, strdup, const char *text);
char *__wrap_strdup(const char *text)
{
    char *copy = fails(FAULT_MEMORY, SITE) ? NULL : __real_strdup(text);
    add_live(copy, SITE);
    return copy;
}

REAL(char *, strndup, const char *text, size_t n);
char *__wrap_strndup(const char *text, size_t n)
{
    char *copy = fails(FAULT_MEMORY, SITE) ? NULL : __real_strndup(text, n);
    add_live(copy, SITE);
    return copy;
}

REAL(int, posix_memalign, void **out, size_t alignment, size_t size);
int __wrap_posix_memalign(void **out, size_t alignment, size_t size)
{
    int code = fails(FAULT_MEMORY, SITE) ? ENOMEM : __real_posix_memalign(out, alignment, size);
    add_live(code == 0 ? *out : NULL, SITE);
    return code;
}

REAL(void *, mmap, void *at, size_t size, int access, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int access, int flags, int fd, off_t offset)
{
    if (fails(FAULT_MEMORY, SITE)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    void *ptr = __real_mmap(at, size, access, flags, fd, offset);
    add_live(ptr == MAP_FAILED ? NULL : ptr, SITE);
    return ptr;
}

REAL(int, munmap, void *ptr, size_t size);
int __wrap_munmap(void *ptr, size_t size)
{
    remove_live(ptr);
    return __real_munmap(ptr, size);
}

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

REAL(int, madvise, void *ptr, size_t size, int advice);
int __wrap_madvise(void *ptr, size_t size, int advice)
{
    bool is_memory = advice == MADV_POPULATE_WRITE;
    if (fails(is_memory ? FAULT_MEMORY : FAULT_ADVICE, SITE)) {
        errno = is_memory ? ENOMEM : EINVAL;
        return -1;
    }
    return __real_madvise(ptr, size, advice);
}

REAL(char *, realpath, const char *path, char *out);
char *__wrap_realpath(const char *path, char *out)
{
    if (fails(FAULT_MEMORY, SITE)) {
        errno = ENOMEM;
        return NULL;
    }
    char *found = __real_realpath(path, out);
    add_live(out == NULL ? found : NULL, SITE);
    return found;
}

REAL(ZSTD_CCtx *, ZSTD_createCCtx, void);
ZSTD_CCtx *__wrap_ZSTD_createCCtx(void)
{
    return fails(FAULT_MEMORY, SITE) ? NULL : __real_ZSTD_createCCtx();
}

REAL(ZSTD_DCtx *, ZSTD_createDCtx, void);
ZSTD_DCtx *__wrap_ZSTD_createDCtx(void)
{
    return fails(FAULT_MEMORY, SITE) ? NULL : __real_ZSTD_createDCtx();
}

/* Weak: there is no libsodium in builds without encryption, and nobody who calls these. */
#pragma weak __real_sodium_malloc
#pragma weak __real_sodium_free
REAL(void *, sodium_malloc, size_t size);
void *__wrap_sodium_malloc(size_t size)
{
    void *ptr = fails(FAULT_MEMORY, SITE) ? NULL : __real_sodium_malloc(size);
    add_live(ptr, SITE);
    return ptr;
}

REAL(void, sodium_free, void *ptr);
void __wrap_sodium_free(void *ptr)
{
    remove_live(ptr);
    __real_sodium_free(ptr);
}

#define LZ4_FAILED ((size_t)-1) /* any error code */

REAL(size_t, LZ4F_createCompressionContext, LZ4F_cctx **out, unsigned version);
size_t __wrap_LZ4F_createCompressionContext(LZ4F_cctx **out, unsigned version)
{
    if (fails(FAULT_MEMORY, SITE)) {
        *out = NULL;
        return LZ4_FAILED;
    }
    return __real_LZ4F_createCompressionContext(out, version);
}

REAL(size_t, LZ4F_createDecompressionContext, LZ4F_dctx **out, unsigned version);
size_t __wrap_LZ4F_createDecompressionContext(LZ4F_dctx **out, unsigned version)
{
    if (fails(FAULT_MEMORY, SITE)) {
        *out = NULL;
        return LZ4_FAILED;
    }
    return __real_LZ4F_createDecompressionContext(out, version);
}

/* ---- the budget ---- */

static oc_status refuse_memory(int64_t size, oc_error *err)
{
    OC_FAIL(err, OC_ENOMEM, "could not allocate %" PRId64 " bytes: out of memory (injected)", size);
}

static oc_status refuse_budget(int64_t size, oc_error *err)
{
    OC_SET(err, OC_EBUDGET, "%" PRId64 " bytes are over the memory limit (injected)", size);
    if (err != NULL) {
        err->needed_bytes = 64 << 20;
    }
    return OC_EBUDGET;
}

REAL(oc_status, oci_mem_try_alloc, oci_mem *mem, int64_t size, void **out, oc_error *err);
oc_status __wrap_oci_mem_try_alloc(oci_mem *mem, int64_t size, void **out, oc_error *err)
{
    if (fails(FAULT_MEMORY, SITE)) {
        return refuse_memory(size, err);
    }
    return fails(FAULT_BUDGET, SITE) ? refuse_budget(size, err)
                                     : __real_oci_mem_try_alloc(mem, size, out, err);
}

REAL(oc_status, oci_mem_alloc, oci_mem *mem, int64_t size, void **out, oc_error *err);
oc_status __wrap_oci_mem_alloc(oci_mem *mem, int64_t size, void **out, oc_error *err)
{
    if (fails(FAULT_MEMORY, SITE)) {
        return refuse_memory(size, err);
    }
    return fails(FAULT_BUDGET, SITE) ? refuse_budget(size, err)
                                     : __real_oci_mem_alloc(mem, size, out, err);
}

REAL(oc_status, oci_mem_realloc, oci_mem *mem, void *ptr, int64_t old_size, int64_t new_size,
     void **out, oc_error *err);
oc_status __wrap_oci_mem_realloc(oci_mem *mem, void *ptr, int64_t old_size, int64_t new_size,
                                 void **out, oc_error *err)
{
    if (fails(FAULT_MEMORY, SITE)) {
        return refuse_memory(new_size, err);
    }
    return fails(FAULT_BUDGET, SITE)
               ? refuse_budget(new_size, err)
               : __real_oci_mem_realloc(mem, ptr, old_size, new_size, out, err);
}

/* Making a reservation smaller is never refused. */
REAL(oc_status, oci_mem_try_reserve, oci_mem *mem, oci_reservation *r, int64_t bytes,
     oc_error *err);
oc_status __wrap_oci_mem_try_reserve(oci_mem *mem, oci_reservation *r, int64_t bytes, oc_error *err)
{
    return bytes > r->bytes && fails(FAULT_BUDGET, SITE)
               ? refuse_budget(bytes, err)
               : __real_oci_mem_try_reserve(mem, r, bytes, err);
}

REAL(oc_status, oci_mem_reserve, oci_mem *mem, oci_reservation *r, int64_t bytes, oc_error *err);
oc_status __wrap_oci_mem_reserve(oci_mem *mem, oci_reservation *r, int64_t bytes, oc_error *err)
{
    return bytes > r->bytes && fails(FAULT_BUDGET, SITE)
               ? refuse_budget(bytes, err)
               : __real_oci_mem_reserve(mem, r, bytes, err);
}

/* What is reserved is not refused by the budget, but may be by the system. */
REAL(oc_status, oci_mem_alloc_reserved, oci_reservation *r, int64_t size, void **out,
     oc_error *err);
oc_status __wrap_oci_mem_alloc_reserved(oci_reservation *r, int64_t size, void **out, oc_error *err)
{
    if (fails(FAULT_MEMORY, SITE)) {
        return refuse_memory(size, err);
    }
    return size > r->bytes && fails(FAULT_BUDGET, SITE)
               ? refuse_budget(size, err)
               : __real_oci_mem_alloc_reserved(r, size, out, err);
}

REAL(oc_status, oci_mem_open, oci_budget *budget, const char *name, oci_mem **out, oc_error *err);
oc_status __wrap_oci_mem_open(oci_budget *budget, const char *name, oci_mem **out, oc_error *err)
{
    return fails(FAULT_MEMORY, SITE) ? refuse_memory(1, err)
                                     : __real_oci_mem_open(budget, name, out, err);
}

/* ---- files: our calls ---- */

static oc_status fail_file(oc_error *err, int errnum, const char *what, const char *name)
{
    char buffer[128];
    OC_FAIL_ERRNO(err, errnum == ENOSPC ? OC_ENOSPC : OC_EIO, errnum,
                  "could not %s file \"%s\": %s (injected)", what, name,
                  oci_strerror(errnum, buffer, sizeof buffer));
}

REAL(oc_status, oci_open, const oci_io *io, const char *path, oci_open_mode mode, oci_file **out,
     oc_error *err);
oc_status __wrap_oci_open(const oci_io *io, const char *path, oci_open_mode mode, oci_file **out,
                          oc_error *err)
{
    return fails(FAULT_OPEN, SITE) ? fail_file(err, EMFILE, "open", path)
                                   : __real_oci_open(io, path, mode, out, err);
}

REAL(oc_status, oci_pread, oci_file *f, void *buf, int64_t size, int64_t offset, int64_t *n_read,
     oc_error *err);
oc_status __wrap_oci_pread(oci_file *f, void *buf, int64_t size, int64_t offset, int64_t *n_read,
                           oc_error *err)
{
    return fails(FAULT_READ, SITE) ? fail_file(err, EIO, "read", f->name)
                                   : __real_oci_pread(f, buf, size, offset, n_read, err);
}

REAL(oc_status, oci_pread_exact, oci_file *f, void *buf, int64_t size, int64_t offset,
     oc_error *err);
oc_status __wrap_oci_pread_exact(oci_file *f, void *buf, int64_t size, int64_t offset,
                                 oc_error *err)
{
    return fails(FAULT_READ, SITE) ? fail_file(err, EIO, "read", f->name)
                                   : __real_oci_pread_exact(f, buf, size, offset, err);
}

REAL(oc_status, oci_read, oci_file *f, void *buf, int64_t size, int64_t *n_read, oc_error *err);
oc_status __wrap_oci_read(oci_file *f, void *buf, int64_t size, int64_t *n_read, oc_error *err)
{
    return fails(FAULT_READ, SITE) ? fail_file(err, EIO, "read", f->name)
                                   : __real_oci_read(f, buf, size, n_read, err);
}

REAL(oc_status, oci_read_full, oci_file *f, void *buf, int64_t size, int64_t *n_read,
     oc_error *err);
oc_status __wrap_oci_read_full(oci_file *f, void *buf, int64_t size, int64_t *n_read, oc_error *err)
{
    return fails(FAULT_READ, SITE) ? fail_file(err, EIO, "read", f->name)
                                   : __real_oci_read_full(f, buf, size, n_read, err);
}

REAL(oc_status, oci_pwrite, oci_file *f, const void *buf, int64_t size, int64_t offset,
     oc_error *err);
oc_status __wrap_oci_pwrite(oci_file *f, const void *buf, int64_t size, int64_t offset,
                            oc_error *err)
{
    return fails(FAULT_WRITE, SITE) ? fail_file(err, ENOSPC, "write to", f->name)
                                    : __real_oci_pwrite(f, buf, size, offset, err);
}

REAL(oc_status, oci_write, oci_file *f, const void *buf, int64_t size, oc_error *err);
oc_status __wrap_oci_write(oci_file *f, const void *buf, int64_t size, oc_error *err)
{
    return fails(FAULT_WRITE, SITE) ? fail_file(err, ENOSPC, "write to", f->name)
                                    : __real_oci_write(f, buf, size, err);
}

REAL(oc_status, oci_file_size, oci_file *f, int64_t *out, oc_error *err);
oc_status __wrap_oci_file_size(oci_file *f, int64_t *out, oc_error *err)
{
    return fails(FAULT_STAT, SITE) ? fail_file(err, EIO, "find the size of", f->name)
                                   : __real_oci_file_size(f, out, err);
}

/* The file is closed all the same, as close() does. */
REAL(oc_status, oci_close, oci_file *f, oc_error *err);
oc_status __wrap_oci_close(oci_file *f, oc_error *err)
{
    if (f != NULL && fails(FAULT_CLOSE, SITE)) {
        oc_status status = fail_file(err, EIO, "close", f->name);
        oc_status ignored = __real_oci_close(f, NULL);
        (void)ignored;
        return status;
    }
    return __real_oci_close(f, err);
}

/* ---- files: system calls ---- */

/* Says -1 with an errno value when the call is to fail. */
static bool fails_with(fault_kind kind, int errnum, const void *site)
{
    if (fails(kind, site)) {
        errno = errnum;
        return true;
    }
    return false;
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    bool creates = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
    mode_t mode = creates ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (fails_with(FAULT_OPEN, EMFILE, SITE) || fails_with(FAULT_EINTR, EINTR, SITE)) {
        return -1;
    }
    if ((flags & O_TMPFILE) == O_TMPFILE && state.no_tmpfile) {
        errno = EOPNOTSUPP;
        return -1;
    }
    int fd = __real_open(path, flags, mode);
    note_file(fd, true);
    return fd;
}

REAL(int, close, int fd);
int __wrap_close(int fd)
{
    note_file(fd, false);
    int code = __real_close(fd);
    return fails_with(FAULT_CLOSE, EIO, SITE) ? -1 : code;
}

REAL(int, dup, int fd);
int __wrap_dup(int fd)
{
    int copy = fails_with(FAULT_OPEN, EMFILE, SITE) ? -1 : __real_dup(fd);
    note_file(copy, true);
    return copy;
}

static size_t shorten(size_t size, const void *site)
{
    return size > 1 && fails(FAULT_SHORT, site) ? size / 2 : size;
}

REAL(ssize_t, read, int fd, void *buf, size_t size);
ssize_t __wrap_read(int fd, void *buf, size_t size)
{
    if (fails_with(FAULT_READ, EIO, SITE) || fails_with(FAULT_EINTR, EINTR, SITE)) {
        return -1;
    }
    return __real_read(fd, buf, shorten(size, SITE));
}

REAL(ssize_t, pread, int fd, void *buf, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *buf, size_t size, off_t offset)
{
    if (fails_with(FAULT_READ, EIO, SITE) || fails_with(FAULT_EINTR, EINTR, SITE)) {
        return -1;
    }
    return __real_pread(fd, buf, shorten(size, SITE), offset);
}

REAL(ssize_t, write, int fd, const void *buf, size_t size);
ssize_t __wrap_write(int fd, const void *buf, size_t size)
{
    if (fails_with(FAULT_WRITE, ENOSPC, SITE) || fails_with(FAULT_EINTR, EINTR, SITE)) {
        return -1;
    }
    return __real_write(fd, buf, shorten(size, SITE));
}

REAL(ssize_t, pwrite, int fd, const void *buf, size_t size, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *buf, size_t size, off_t offset)
{
    if (fails_with(FAULT_WRITE, ENOSPC, SITE) || fails_with(FAULT_EINTR, EINTR, SITE)) {
        return -1;
    }
    return __real_pwrite(fd, buf, shorten(size, SITE), offset);
}

REAL(int, linkat, int from_dir, const char *from, int to_dir, const char *to, int flags);
int __wrap_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    return fails_with(FAULT_NAME, EIO, SITE) ? -1
                                             : __real_linkat(from_dir, from, to_dir, to, flags);
}

REAL(int, rename, const char *from, const char *to);
int __wrap_rename(const char *from, const char *to)
{
    return fails_with(FAULT_NAME, EIO, SITE) ? -1 : __real_rename(from, to);
}

REAL(int, unlink, const char *path);
int __wrap_unlink(const char *path)
{
    return fails_with(FAULT_NAME, EIO, SITE) ? -1 : __real_unlink(path);
}

REAL(int, fchmod, int fd, mode_t mode);
int __wrap_fchmod(int fd, mode_t mode)
{
    return fails_with(FAULT_NAME, EIO, SITE) ? -1 : __real_fchmod(fd, mode);
}

REAL(int, faccessat, int dir, const char *path, int mode, int flags);
int __wrap_faccessat(int dir, const char *path, int mode, int flags)
{
    return fails_with(FAULT_NAME, EIO, SITE) ? -1 : __real_faccessat(dir, path, mode, flags);
}

REAL(int, fstat, int fd, struct stat *out);
int __wrap_fstat(int fd, struct stat *out)
{
    return fails_with(FAULT_STAT, EIO, SITE) ? -1 : __real_fstat(fd, out);
}

REAL(int, stat, const char *path, struct stat *out);
int __wrap_stat(const char *path, struct stat *out)
{
    return fails_with(FAULT_STAT, EIO, SITE) ? -1 : __real_stat(path, out);
}

REAL(int, lstat, const char *path, struct stat *out);
int __wrap_lstat(const char *path, struct stat *out)
{
    return fails_with(FAULT_STAT, EIO, SITE) ? -1 : __real_lstat(path, out);
}

REAL(int, fallocate, int fd, int mode, off_t offset, off_t size);
int __wrap_fallocate(int fd, int mode, off_t offset, off_t size)
{
    return fails_with(FAULT_ADVICE, EOPNOTSUPP, SITE) ? -1
                                                      : __real_fallocate(fd, mode, offset, size);
}

REAL(int, fchown, int fd, uid_t user, gid_t group);
int __wrap_fchown(int fd, uid_t user, gid_t group)
{
    return fails_with(FAULT_ADVICE, EPERM, SITE) ? -1 : __real_fchown(fd, user, group);
}

REAL(ssize_t, getrandom, void *buf, size_t size, unsigned flags);
ssize_t __wrap_getrandom(void *buf, size_t size, unsigned flags)
{
    return fails_with(FAULT_RANDOM, ENOSYS, SITE) ? -1 : __real_getrandom(buf, size, flags);
}

/* ---- threads ---- */

REAL(int, pthread_create, pthread_t *out, const pthread_attr_t *attributes, void *(*body)(void *),
     void *arg);
int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *attributes, void *(*body)(void *),
                          void *arg)
{
    return fails(FAULT_THREAD, SITE) ? EAGAIN : __real_pthread_create(out, attributes, body, arg);
}
