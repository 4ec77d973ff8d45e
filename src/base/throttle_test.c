/* A throttled disk is as slow as asked for, and otherwise the file system that it wraps. Only that it
 * is not faster is checked closely: how much slower things are is up to the machine. */
#include "base/throttle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fault.h"
#include "base/thread.h"

enum { MB = 1000000 };

static int64_t now_ns(void)
{
    const oci_clock *clock = oci_system_clock();
    return clock->now_ns(clock->self);
}

static oci_file *open_scratch(const oci_io *io)
{
    const char *folder = getenv("TMPDIR");
    oci_file *file = NULL;
    oc_error err = {0};
    if (oci_open(io, folder != NULL ? folder : "/tmp", OCI_OPEN_SCRATCH, &file, &err) != OC_OK) {
        fail_msg("%s", err.message);
    }
    return file;
}

static void reads_and_writes_take_their_time_and_give_the_same_bytes(void **state)
{
    (void)state;
    const oci_io *io = oci_throttled_io(oci_posix_io(), 100 * MB);
    assert_non_null(io);
    oci_file *file = open_scratch(io);
    uint8_t *data = malloc(MB);
    uint8_t *back = malloc(MB);
    memset(data, 'x', MB);
    int64_t began = now_ns();
    for (int i = 0; i < 5; i++) {
        data[i] = 'a';
        assert_int_equal(oci_pwrite(file, data, MB, (int64_t)i * MB, NULL), OC_OK);
    }
    int64_t written = now_ns();
    for (int i = 0; i < 5; i++) {
        assert_int_equal(oci_pread_exact(file, back, MB, (int64_t)i * MB, NULL), OC_OK);
        assert_int_equal(back[i], 'a');
        assert_int_equal(back[i + 1], 'x');
    }
    int64_t read = now_ns();
    /* 5 MB at 100 MB/s, less the moment that may be made up for. */
    assert_true(written - began >= 48000000 && written - began < 5000000000);
    assert_true(read - written >= 48000000 && read - written < 5000000000);
    int64_t size = 0;
    assert_int_equal(oci_file_size(file, &size, NULL), OC_OK);
    assert_int_equal(size, 5 * MB);
    assert_int_equal(oci_close(file, NULL), OC_OK);
    oci_throttled_io_destroy(io);
    free(data);
    free(back);
}

static void all_files_share_one_disk(void **state)
{
    (void)state;
    const oci_io *io = oci_throttled_io(oci_posix_io(), 100 * MB);
    oci_file *files[2] = {open_scratch(io), open_scratch(io)};
    uint8_t *data = calloc(1, MB);
    int64_t began = now_ns();
    for (int i = 0; i < 4; i++) {
        assert_int_equal(oci_write(files[i % 2], data, MB, NULL), OC_OK);
    }
    assert_true(now_ns() - began >= 38000000);
    assert_int_equal(oci_close(files[0], NULL), OC_OK);
    assert_int_equal(oci_close(files[1], NULL), OC_OK);
    oci_throttled_io_destroy(io);
    free(data);
}

static void small_transfers_are_as_slow_on_average(void **state)
{
    (void)state;
    const oci_io *io = oci_throttled_io(oci_posix_io(), 10 * MB);
    oci_file *file = open_scratch(io);
    char byte[1000] = {0};
    int64_t began = now_ns();
    for (int i = 0; i < 300; i++) {
        assert_int_equal(oci_pwrite(file, byte, sizeof byte, 0, NULL), OC_OK);
    }
    assert_true(now_ns() - began >= 28000000);
    assert_int_equal(oci_close(file, NULL), OC_OK);
    oci_throttled_io_destroy(io);
}

/* Errors of what is wrapped come through, and cost no time. */
static void errors_of_the_file_system_come_through(void **state)
{
    (void)state;
    oci_fault_plan *plan = oci_fault_plan_create();
    const oci_io *io = oci_throttled_io(oci_fault_io(plan), MB);
    oci_file *file = open_scratch(io);
    uint8_t *data = calloc(1, 10 * MB);
    int64_t n = 0;
    int64_t began = now_ns();
    oci_fault_arm(plan, OCI_FAULT_WRITE, 1, true);
    assert_int_equal(oci_pwrite(file, data, 10 * MB, 0, NULL), OC_ENOSPC);
    assert_int_equal(oci_write(file, data, 10 * MB, NULL), OC_ENOSPC);
    oci_fault_arm(plan, OCI_FAULT_READ, 1, true);
    assert_int_equal(oci_pread(file, data, 10 * MB, 0, &n, NULL), OC_EIO);
    assert_int_equal(oci_read(file, data, 10 * MB, &n, NULL), OC_EIO);
    assert_true(now_ns() - began < 5000000000);
    oci_fault_arm(plan, OCI_FAULT_OPEN, 1, false);
    oci_file *other = NULL;
    assert_int_equal(oci_open(io, "/tmp", OCI_OPEN_SCRATCH, &other, NULL), OC_ENOSPC);
    oci_fault_arm(plan, OCI_FAULT_CLOSE, 1, false);
    assert_int_equal(oci_close(file, NULL), OC_EIO);
    oci_throttled_io_destroy(io);
    oci_fault_plan_destroy(plan);
    free(data);
}

static void named_files_are_published_renamed_and_removed(void **state)
{
    (void)state;
    char folder[] = "/tmp/throttle_test_XXXXXX";
    assert_non_null(mkdtemp(folder));
    char a[64];
    char b[64];
    snprintf(a, sizeof a, "%s/a", folder);
    snprintf(b, sizeof b, "%s/b", folder);
    const oci_io *io = oci_throttled_io(oci_posix_io(), 100 * MB);
    oci_file *file = NULL;
    assert_int_equal(oci_open(io, a, OCI_OPEN_OUTPUT, &file, NULL), OC_OK);
    assert_int_equal(oci_write(file, "text", 4, NULL), OC_OK);
    assert_int_equal(io->publish(io, file, a, NULL), OC_OK);
    assert_int_equal(oci_close(file, NULL), OC_OK);
    assert_int_equal(io->rename(io, a, b, NULL), OC_OK);
    assert_int_equal(access(b, R_OK), 0);
    assert_int_equal(io->unlink(io, b, NULL), OC_OK);
    assert_int_equal(rmdir(folder), 0);
    oci_throttled_io_destroy(io);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_and_writes_take_their_time_and_give_the_same_bytes),
        cmocka_unit_test(all_files_share_one_disk),
        cmocka_unit_test(small_transfers_are_as_slow_on_average),
        cmocka_unit_test(errors_of_the_file_system_come_through),
        cmocka_unit_test(named_files_are_published_renamed_and_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
