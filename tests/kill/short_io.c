/* Preloaded into the program: transfers come short and are interrupted, as a slow terminal, a signal
 * or a network file system makes them. Every call of read and write and their kin moves at most a
 * few bytes more than half of what was asked; every fifth is interrupted first. Nothing of this is
 * an error, so the program's answer must be the same. SHORT_IO_CALLS=<file> gets the number of
 * calls seen, so that a test knows that there were any. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long calls;

/* Whether this call is interrupted; else *size is cut. */
static int is_interrupted(size_t *size)
{
    long call = atomic_fetch_add(&calls, 1);
    if (call % 5 == 4) {
        errno = EINTR;
        return 1;
    }
    *size = *size > 1 ? *size / 2 + (size_t)(call % 7 % 3) * (*size > 8) : *size;
    return 0;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t read(int fd, void *buf, size_t size)
{
    return is_interrupted(&size) ? -1 : REAL(read)(fd, buf, size);
}

ssize_t write(int fd, const void *buf, size_t size)
{
    return is_interrupted(&size) ? -1 : REAL(write)(fd, buf, size);
}

ssize_t pread(int fd, void *buf, size_t size, off_t offset)
{
    return is_interrupted(&size) ? -1 : REAL(pread)(fd, buf, size, offset);
}

ssize_t pwrite(int fd, const void *buf, size_t size, off_t offset)
{
    return is_interrupted(&size) ? -1 : REAL(pwrite)(fd, buf, size, offset);
}

ssize_t pread64(int fd, void *buf, size_t size, off_t offset) __attribute__((alias("pread")));
ssize_t pwrite64(int fd, const void *buf, size_t size, off_t offset)
    __attribute__((alias("pwrite")));

__attribute__((destructor)) static void tell(void)
{
    const char *path = getenv("SHORT_IO_CALLS");
    FILE *file = path == NULL ? NULL : fopen(path, "w");
    if (file != NULL) {
        fprintf(file, "%ld\n", atomic_load(&calls));
        fclose(file);
    }
}
