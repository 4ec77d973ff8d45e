/* Files of the system: everything or an error, whatever the descriptor does on the way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/io_posix.h"

static char folder[256];

static int make_folder(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/outcore_io_test_XXXXXX", tmp != NULL ? tmp : "/tmp");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int count_entries(void)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    int n = 0;
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        n += entry->d_name[0] != '.';
    }
    closedir(dir);
    return n;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder); /* fails when a test left something behind */
}

static const char *path_of(const char *name)
{
    static char path[2][512];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static oci_file *must_open(const char *path, oci_open_mode mode)
{
    oci_file *f = NULL;
    oc_error err = {0};
    if (oci_open(oci_posix_io(), path, mode, &f, &err) != OC_OK) {
        fail_msg("%s", err.message);
    }
    return f;
}

static void must_unlink(const char *name)
{
    assert_int_equal(oci_posix_io()->unlink(oci_posix_io(), path_of(name), NULL), OC_OK);
}

/* Expects `before` "path" `after` as the message. */
static void assert_opening_fails(const char *path, oci_open_mode mode, int sys_errno,
                                 const char *before, const char *after)
{
    oci_file *f = NULL;
    oc_error err = {0};
    assert_int_equal(oci_open(oci_posix_io(), path, mode, &f, &err), OC_EIO);
    assert_null(f);
    assert_int_equal(err.sys_errno, sys_errno);
    char expected[1024];
    snprintf(expected, sizeof expected, "%s \"%s\": %s", before, path, after);
    assert_string_equal(err.message, expected);
}

static void what_is_written_can_be_read(void **state)
{
    (void)state;
    oci_file *f = must_open(path_of("a"), OCI_OPEN_CREATE);
    assert_true(f->seekable && f->owns_fd);
    assert_true((fcntl(f->fd, F_GETFD) & FD_CLOEXEC) != 0);
    assert_int_equal(oci_write(f, "hello ", 6, NULL), OC_OK);
    assert_int_equal(oci_write(f, "world", 5, NULL), OC_OK);
    assert_int_equal(oci_pwrite(f, "W", 1, 6, NULL), OC_OK);
    assert_int_equal(oci_close(f, NULL), OC_OK);

    f = must_open(path_of("a"), OCI_OPEN_READ);
    char buffer[32] = "";
    int64_t n = -1;
    int64_t size = -1;
    assert_int_equal(oci_file_size(f, &size, NULL), OC_OK);
    assert_int_equal(size, 11);
    assert_int_equal(oci_read(f, buffer, 5, &n, NULL), OC_OK);
    assert_int_equal(n, 5);
    assert_int_equal(oci_read_full(f, buffer, 32, &n, NULL), OC_OK);
    assert_int_equal(n, 6);
    assert_memory_equal(buffer, " World", 6);
    assert_int_equal(oci_read(f, buffer, 5, &n, NULL), OC_OK);
    assert_int_equal(n, 0);
    assert_int_equal(oci_pread(f, buffer, 32, 6, &n, NULL), OC_OK);
    assert_int_equal(n, 5);
    assert_int_equal(oci_pread(f, buffer, 32, 100, &n, NULL), OC_OK);
    assert_int_equal(n, 0);
    assert_int_equal(oci_pread_exact(f, buffer, 5, 0, NULL), OC_OK);
    assert_memory_equal(buffer, "hello", 5);
    oc_error err = {0};
    assert_int_equal(oci_pread_exact(f, buffer, 10, 6, &err), OC_EDATA);
    assert_non_null(strstr(err.message, "could not read 10 bytes at offset 6 of file \""));
    assert_non_null(strstr(err.message, "the file ends early, 5 bytes short"));
    assert_int_equal(oci_close(f, NULL), OC_OK);
    assert_int_equal(oci_close(NULL, NULL), OC_OK);
    must_unlink("a");
}

static void write_text(oci_file *f, const char *text)
{
    assert_int_equal(oci_write(f, text, (int64_t)strlen(text), NULL), OC_OK);
}

static void assert_contents(const char *path, const char *expected)
{
    oci_file *f = must_open(path, OCI_OPEN_READ);
    char text[64] = "";
    int64_t n = 0;
    assert_int_equal(oci_read_full(f, text, sizeof text - 1, &n, NULL), OC_OK);
    assert_string_equal(text, expected);
    assert_int_equal(oci_close(f, NULL), OC_OK);
}

static void create_truncates(void **state)
{
    (void)state;
    oci_file *f = must_open(path_of("a"), OCI_OPEN_CREATE);
    write_text(f, "long text");
    assert_int_equal(oci_close(f, NULL), OC_OK);
    f = must_open(path_of("a"), OCI_OPEN_CREATE);
    write_text(f, "text");
    assert_int_equal(oci_close(f, NULL), OC_OK);
    assert_contents(path_of("a"), "text");
    must_unlink("a");
}

static void output_appears_when_it_is_published(void **state)
{
    (void)state;
    const oci_io *io = oci_posix_io();
    for (int round = 0; round < 2; round++) { /* the second replaces the first */
        oci_file *f = must_open(path_of("out"), OCI_OPEN_OUTPUT);
        write_text(f, round == 0 ? "first" : "second");
        assert_int_equal(access(path_of("out"), F_OK), round == 0 ? -1 : 0);
        assert_int_equal(io->publish(io, f, path_of("out"), NULL), OC_OK);
        assert_int_equal(oci_close(f, NULL), OC_OK);
        assert_contents(path_of("out"), round == 0 ? "first" : "second");
        assert_int_equal(count_entries(), 1);
    }
    must_unlink("out");
}

static void output_keeps_the_permissions_of_what_it_replaces(void **state)
{
    (void)state;
    static const mode_t modes[] = {0600, 0640, 0777, 0644};
    const oci_io *io = oci_posix_io();
    struct stat info;
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        oci_file *f = must_open(path_of("out"), OCI_OPEN_CREATE);
        assert_int_equal(oci_close(f, NULL), OC_OK);
        assert_int_equal(chmod(path_of("out"), modes[i]), 0);
        f = must_open(path_of("out"), OCI_OPEN_OUTPUT);
        assert_int_equal(fstat(f->fd, &info), 0);
        assert_int_equal(info.st_mode & 07777, modes[i]); /* from the start */
        assert_int_equal(io->publish(io, f, path_of("out"), NULL), OC_OK);
        assert_int_equal(oci_close(f, NULL), OC_OK);
        assert_int_equal(stat(path_of("out"), &info), 0);
        assert_int_equal(info.st_mode & 07777, modes[i]);
    }
    must_unlink("out");
}

static void output_that_is_not_published_leaves_nothing(void **state)
{
    (void)state;
    oci_file *f = must_open(path_of("out"), OCI_OPEN_OUTPUT);
    write_text(f, "half");
    assert_int_equal(oci_close(f, NULL), OC_OK);
    assert_int_equal(count_entries(), 0);
    f = must_open(path_of("out"), OCI_OPEN_OUTPUT);
    oc_error err = {0};
    assert_int_equal(oci_posix_io()->publish(oci_posix_io(), f, path_of("no/out"), &err), OC_EIO);
    assert_int_equal(err.sys_errno, ENOENT);
    assert_int_equal(oci_close(f, NULL), OC_OK);
    assert_int_equal(count_entries(), 0);
}

static void failed_opens_name_the_file_and_the_reason(void **state)
{
    (void)state;
    assert_opening_fails(path_of("no"), OCI_OPEN_READ, ENOENT, "could not open file",
                         "No such file or directory");
    assert_opening_fails(path_of("no/a"), OCI_OPEN_CREATE, ENOENT, "could not create file",
                         "No such file or directory");
    assert_opening_fails(path_of("no/a"), OCI_OPEN_OUTPUT, ENOENT, "could not create file",
                         "No such file or directory");
    assert_opening_fails(folder, OCI_OPEN_OUTPUT, EISDIR, "could not create file",
                         "Is a directory");
    assert_opening_fails(path_of("no"), OCI_OPEN_SCRATCH, ENOENT,
                         "could not create a scratch file in folder", "No such file or directory");
    assert_opening_fails(folder, OCI_OPEN_READ, EISDIR, "could not open file", "it is a directory");
}

static void wrong_direction_is_an_error(void **state)
{
    (void)state;
    oci_file *f = must_open(path_of("a"), OCI_OPEN_CREATE);
    char byte = 0;
    int64_t n = 0;
    oc_error err = {0};
    assert_int_equal(oci_read(f, &byte, 1, &n, &err), OC_EIO);
    assert_int_equal(err.sys_errno, EBADF);
    assert_int_equal(oci_pread(f, &byte, 1, 0, &n, &err), OC_EIO);
    assert_int_equal(oci_close(f, NULL), OC_OK);
    f = must_open(path_of("a"), OCI_OPEN_READ);
    assert_int_equal(oci_write(f, &byte, 1, &err), OC_EIO);
    assert_int_equal(oci_pwrite(f, &byte, 1, 0, &err), OC_EIO);
    assert_non_null(strstr(err.message, "could not write to file \""));
    assert_int_equal(oci_close(f, NULL), OC_OK);
    must_unlink("a");
}

static void use_scratch(int fd)
{
    struct stat info;
    assert_int_equal(fstat(fd, &info), 0);
    assert_int_equal(info.st_nlink, 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    assert_int_equal(count_entries(), 0);
}

static void scratch_file_has_no_name(void **state)
{
    (void)state;
    oci_file *f = must_open(folder, OCI_OPEN_SCRATCH);
    use_scratch(f->fd);
    char buffer[8] = "";
    assert_int_equal(oci_pwrite(f, "scratch", 8, 1000, NULL), OC_OK);
    assert_int_equal(oci_pread_exact(f, buffer, 8, 1000, NULL), OC_OK);
    assert_string_equal(buffer, "scratch");
    assert_int_equal(strncmp(f->name, folder, strlen(folder)), 0);
    assert_int_equal(oci_close(f, NULL), OC_OK);
    assert_int_equal(count_entries(), 0);
}

static void scratch_file_without_o_tmpfile_has_no_name_either(void **state)
{
    (void)state;
    int fd = oci_open_scratch_by_name(folder);
    assert_true(fd >= 0);
    use_scratch(fd);
    close(fd);
    assert_int_equal(oci_open_scratch_by_name(path_of("no")), -1);
    assert_int_equal(errno, ENOENT);
}

static void discarded_range_gives_its_space_back(void **state)
{
    (void)state;
    oci_file *f = must_open(folder, OCI_OPEN_SCRATCH);
    static char block[1 << 20];
    memset(block, 1, sizeof block);
    assert_int_equal(oci_pwrite(f, block, sizeof block, 0, NULL), OC_OK);
    assert_int_equal(fsync(f->fd), 0);
    struct stat before;
    struct stat after;
    assert_int_equal(fstat(f->fd, &before), 0);
    oci_discard(f, 0, 1 << 19);
    oci_discard(f, 0, 0);
    assert_int_equal(fsync(f->fd), 0);
    assert_int_equal(fstat(f->fd, &after), 0);
    assert_int_equal(after.st_size, 1 << 20);
    assert_true(after.st_blocks <= before.st_blocks);
    char byte = 0;
    assert_int_equal(oci_pread_exact(f, &byte, 1, 1 << 19, NULL), OC_OK);
    assert_int_equal(byte, 1);
    assert_int_equal(oci_close(f, NULL), OC_OK);
}

static void full_disk_is_told_apart(void **state)
{
    (void)state;
    oci_file *f = NULL;
    oc_error err = {0};
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (fd < 0) {
        skip();
    }
    assert_int_equal(oci_posix_io()->wrap(oci_posix_io(), fd, "/dev/full", &f, &err), OC_OK);
    assert_false(f->seekable);
    assert_int_equal(oci_write(f, "x", 1, &err), OC_ENOSPC);
    assert_string_equal(err.message,
                        "could not write to file \"/dev/full\": No space left on device");
    assert_int_equal(oci_close(f, NULL), OC_OK);
    close(fd);
}

static void names_are_removed_and_changed(void **state)
{
    (void)state;
    const oci_io *io = oci_posix_io();
    oc_error err = {0};
    assert_int_equal(oci_close(must_open(path_of("a"), OCI_OPEN_CREATE), NULL), OC_OK);
    assert_int_equal(io->rename(io, path_of("a"), path_of("b"), &err), OC_OK);
    assert_int_equal(io->rename(io, path_of("a"), path_of("c"), &err), OC_EIO);
    assert_non_null(strstr(err.message, "could not rename file \""));
    assert_int_equal(io->unlink(io, path_of("b"), &err), OC_OK);
    assert_int_equal(io->unlink(io, path_of("b"), &err), OC_EIO);
    assert_int_equal(err.sys_errno, ENOENT);
    assert_non_null(strstr(err.message, "could not remove file \""));
}

/* ---- pipes ---- */

enum { PIPE_BYTES = 1 << 20 };

typedef struct pipe_end {
    int fd;
    int64_t n_bytes;   /* that went through */
    pthread_t disturb; /* thread that gets signals meanwhile */
    bool ok;
} pipe_end;

static void ignore_signal(int number)
{
    (void)number;
}

static void pause_us(long us)
{
    struct timespec pause = {.tv_nsec = us * 1000};
    nanosleep(&pause, NULL);
}

/* Reads slowly, in odd portions, and interrupts the writer all the time. */
static void *read_slowly(void *arg)
{
    pipe_end *end = arg;
    unsigned char buffer[7777];
    end->ok = true;
    for (;;) {
        ssize_t n = read(end->fd, buffer, sizeof buffer);
        if (n <= 0) {
            return NULL;
        }
        for (ssize_t i = 0; i < n; i++) {
            end->ok = end->ok && buffer[i] == (unsigned char)((end->n_bytes + i) % 251);
        }
        end->n_bytes += n;
        pthread_kill(end->disturb, SIGUSR1);
        pause_us(50);
    }
}

static void *write_slowly(void *arg)
{
    pipe_end *end = arg;
    unsigned char buffer[3333];
    end->ok = true;
    while (end->n_bytes < PIPE_BYTES && end->ok) {
        int64_t left = PIPE_BYTES - end->n_bytes;
        size_t size = left < (int64_t)sizeof buffer ? (size_t)left : sizeof buffer;
        for (size_t i = 0; i < size; i++) {
            buffer[i] = (unsigned char)((end->n_bytes + (int64_t)i) % 251);
        }
        pthread_kill(end->disturb, SIGUSR1);
        pause_us(50);
        end->ok = write(end->fd, buffer, size) == (ssize_t)size;
        end->n_bytes += (int64_t)size;
    }
    close(end->fd);
    return NULL;
}

/* A pipe with the end `mine` wrapped, perhaps non-blocking, and signals that interrupt system
 * calls. */
static oci_file *open_pipe(int mine, bool non_blocking, int *other)
{
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    struct sigaction action = {.sa_handler = ignore_signal}; /* no SA_RESTART */
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    if (non_blocking) {
        assert_int_equal(fcntl(fds[mine], F_SETFL, O_NONBLOCK), 0);
    }
    oci_file *f = NULL;
    assert_int_equal(oci_posix_io()->wrap(oci_posix_io(), fds[mine], "pipe", &f, NULL), OC_OK);
    assert_false(f->seekable);
    assert_false(f->owns_fd);
    *other = fds[1 - mine];
    return f;
}

static void close_pipe(oci_file *f)
{
    int fd = f->fd;
    assert_int_equal(oci_close(f, NULL), OC_OK);
    assert_int_equal(close(fd), 0); /* the caller's descriptor is still open */
}

static void write_all_of_it(bool non_blocking)
{
    pipe_end end = {.disturb = pthread_self()};
    oci_file *f = open_pipe(1, non_blocking, &end.fd);
    pthread_t reader;
    assert_int_equal(pthread_create(&reader, NULL, read_slowly, &end), 0);
    unsigned char *bytes = malloc(PIPE_BYTES);
    assert_non_null(bytes);
    for (int i = 0; i < PIPE_BYTES; i++) {
        bytes[i] = (unsigned char)(i % 251);
    }
    oc_error err = {0};
    if (oci_write(f, bytes, PIPE_BYTES, &err) != OC_OK) {
        fail_msg("%s", err.message);
    }
    close_pipe(f);
    pthread_join(reader, NULL);
    close(end.fd);
    assert_true(end.ok);
    assert_int_equal(end.n_bytes, PIPE_BYTES);
    free(bytes);
}

static void read_all_of_it(bool non_blocking)
{
    pipe_end end = {.disturb = pthread_self()};
    oci_file *f = open_pipe(0, non_blocking, &end.fd);
    pthread_t writer;
    assert_int_equal(pthread_create(&writer, NULL, write_slowly, &end), 0);
    unsigned char *bytes = malloc(PIPE_BYTES + 10);
    assert_non_null(bytes);
    int64_t n = 0;
    oc_error err = {0};
    if (oci_read_full(f, bytes, PIPE_BYTES + 10, &n, &err) != OC_OK) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(n, PIPE_BYTES);
    for (int i = 0; i < PIPE_BYTES; i++) {
        assert_int_equal(bytes[i], i % 251);
    }
    pthread_join(writer, NULL);
    assert_true(end.ok);
    close_pipe(f);
    free(bytes);
}

static void interrupted_short_writes_are_continued(void **state)
{
    (void)state;
    write_all_of_it(false);
    write_all_of_it(true);
}

static void interrupted_short_reads_are_continued(void **state)
{
    (void)state;
    read_all_of_it(false);
    read_all_of_it(true);
}

static void pipe_has_no_size_and_no_offsets(void **state)
{
    (void)state;
    int other = -1;
    oci_file *f = open_pipe(0, false, &other);
    int64_t size = 0;
    char byte = 0;
    oc_error err = {0};
    assert_int_equal(oci_file_size(f, &size, &err), OC_EIO);
    assert_string_equal(err.message,
                        "could not find the size of file \"pipe\": it is not a regular file");
    assert_int_equal(oci_pread(f, &byte, 1, 0, &size, &err), OC_EIO);
    assert_int_equal(err.sys_errno, ESPIPE);
    close_pipe(f);
    close(other);
}

static void wrapping_a_closed_descriptor_is_an_error(void **state)
{
    (void)state;
    oci_file *f = NULL;
    oc_error err = {0};
    assert_int_equal(oci_posix_io()->wrap(oci_posix_io(), 1000000, "stdin", &f, &err), OC_EIO);
    assert_int_equal(err.sys_errno, EBADF);
    assert_null(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_can_be_read),
        cmocka_unit_test(create_truncates),
        cmocka_unit_test(output_appears_when_it_is_published),
        cmocka_unit_test(output_keeps_the_permissions_of_what_it_replaces),
        cmocka_unit_test(output_that_is_not_published_leaves_nothing),
        cmocka_unit_test(failed_opens_name_the_file_and_the_reason),
        cmocka_unit_test(wrong_direction_is_an_error),
        cmocka_unit_test(scratch_file_has_no_name),
        cmocka_unit_test(scratch_file_without_o_tmpfile_has_no_name_either),
        cmocka_unit_test(discarded_range_gives_its_space_back),
        cmocka_unit_test(full_disk_is_told_apart),
        cmocka_unit_test(names_are_removed_and_changed),
        cmocka_unit_test(interrupted_short_writes_are_continued),
        cmocka_unit_test(interrupted_short_reads_are_continued),
        cmocka_unit_test(pipe_has_no_size_and_no_offsets),
        cmocka_unit_test(wrapping_a_closed_descriptor_is_an_error),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
