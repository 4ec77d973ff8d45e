/* The instrument of the fault tests: it has to fail exactly what it was told to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"

static void the_nth_operation_fails_once_or_for_ever(void **state)
{
    (void)state;
    oci_fault_plan *plan = oci_fault_plan_create();
    const oci_allocator *allocator = oci_fault_allocator(plan);
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        oci_fault_arm(plan, OCI_FAULT_ALLOC, 3, for_ever == 1);
        for (int i = 1; i <= 5; i++) {
            void *ptr = allocator->allocate(allocator->self, 10);
            assert_true((ptr == NULL) == (i == 3 || (i > 3 && for_ever == 1)));
            if (ptr != NULL) {
                assert_int_equal(oci_fault_live_bytes(plan), 10);
                allocator->deallocate(allocator->self, ptr, 10);
            }
            assert_int_equal(oci_fault_live_bytes(plan), 0);
        }
        assert_int_equal(oci_fault_count(plan, OCI_FAULT_ALLOC), 5);
        assert_int_equal(oci_fault_injected(plan), for_ever == 1 ? 3 : 1);
    }
    oci_fault_arm(plan, OCI_FAULT_ALLOC, 0, false);
    assert_int_equal(oci_fault_injected(plan), 0);
    void *ptr = allocator->map(allocator->self, 8192);
    assert_non_null(ptr);
    assert_true(allocator->commit(allocator->self, ptr, 8192));
    assert_int_equal(oci_fault_live_bytes(plan), 8192);
    oci_fault_arm(plan, OCI_FAULT_ALLOC, 1, false);
    assert_false(allocator->commit(allocator->self, ptr, 8192));
    allocator->decommit(allocator->self, ptr, 8192);
    allocator->unmap(allocator->self, ptr, 8192);
    oci_fault_plan_destroy(plan);
    oci_fault_plan_destroy(NULL);
}

/* Does one operation of each kind on a file; says how many succeeded before one failed. */
static int use_file(const oci_io *io, oc_error *err)
{
    oci_file *f = NULL;
    char bytes[4] = "abc";
    int64_t n = 0;
    if (oci_open(io, "/tmp", OCI_OPEN_SCRATCH, &f, err) != OC_OK) {
        return 0;
    }
    int done = 1;
    oc_status status = oci_pwrite(f, bytes, 4, 0, err);
    done += status == OC_OK;
    status = status == OC_OK ? oci_write(f, bytes, 4, err) : status;
    done += status == OC_OK;
    status = status == OC_OK ? oci_pread(f, bytes, 4, 0, &n, err) : status;
    done += status == OC_OK;
    status = status == OC_OK ? oci_read(f, bytes, 4, &n, err) : status;
    done += status == OC_OK;
    oci_discard(f, 0, 4);
    done += status == OC_OK && oci_file_size(f, &n, err) == OC_OK;
    return done + (oci_close(f, status == OC_OK ? err : NULL) == OC_OK && status == OC_OK);
}

static void file_operations_fail_by_kind(void **state)
{
    (void)state;
    static const struct {
        oci_fault_kind kind;
        int64_t n;
        int done; /* before the failure */
        oc_status status;
        const char *message;
    } cases[] = {
        {OCI_FAULT_OPEN, 1, 0, OC_ENOSPC,
         "could not open file \"/tmp\": No space left on device (injected)"},
        {OCI_FAULT_WRITE, 1, 1, OC_ENOSPC,
         "could not write to file \"/tmp/(scratch)\": No space left on device (injected)"},
        {OCI_FAULT_WRITE, 2, 2, OC_ENOSPC,
         "could not write to file \"/tmp/(scratch)\": No space left on device (injected)"},
        {OCI_FAULT_READ, 1, 3, OC_EIO,
         "could not read file \"/tmp/(scratch)\": Input/output error (injected)"},
        {OCI_FAULT_READ, 2, 4, OC_EIO,
         "could not read file \"/tmp/(scratch)\": Input/output error (injected)"},
        {OCI_FAULT_CLOSE, 1, 6, OC_EIO,
         "could not close file \"/tmp/(scratch)\": Input/output error (injected)"},
    };
    oci_fault_plan *plan = oci_fault_plan_create();
    oc_error err = {0};
    assert_int_equal(use_file(oci_fault_io(plan), &err), 7);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        oci_fault_arm(plan, cases[i].kind, cases[i].n, false);
        assert_int_equal(use_file(oci_fault_io(plan), &err), cases[i].done);
        assert_int_equal(err.status, cases[i].status);
        assert_string_equal(err.message, cases[i].message);
        assert_int_equal(oci_fault_injected(plan), 1);
        oci_fault_arm(plan, cases[i].kind, 0, false);
    }
    oci_fault_plan_destroy(plan);
}

static void names_and_descriptors_pass_through(void **state)
{
    (void)state;
    oci_fault_plan *plan = oci_fault_plan_create();
    const oci_io *io = oci_fault_io(plan);
    oci_file *f = NULL;
    oc_error err = {0};
    assert_int_equal(io->wrap(io, 0, "stdin", &f, &err), OC_OK);
    assert_string_equal(f->name, "stdin");
    assert_int_equal(oci_fault_count(plan, OCI_FAULT_OPEN), 0);
    assert_int_equal(oci_close(f, &err), OC_OK);
    assert_int_equal(io->unlink(io, "/nonexistent/a", &err), OC_EIO);
    assert_int_equal(err.sys_errno, ENOENT);
    assert_int_equal(io->rename(io, "/nonexistent/a", "/nonexistent/b", &err), OC_EIO);
    oci_fault_arm(plan, OCI_FAULT_UNLINK, 1, true);
    assert_int_equal(io->unlink(io, "/nonexistent/a", &err), OC_EIO);
    assert_non_null(strstr(err.message, "(injected)"));
    assert_int_equal(io->rename(io, "/nonexistent/a", "/nonexistent/b", &err), OC_EIO);
    assert_int_equal(oci_fault_count(plan, OCI_FAULT_UNLINK), 2);
    oci_fault_plan_destroy(plan);
}

static void publishing_fails_and_leaves_nothing(void **state)
{
    (void)state;
    char path[] = "/tmp/outcore_fault_test_XXXXXX";
    int fd = mkstemp(path); /* a name of our own */
    assert_true(fd >= 0);
    close(fd);
    oci_fault_plan *plan = oci_fault_plan_create();
    const oci_io *io = oci_fault_io(plan);
    for (int fails = 1; fails >= 0; fails--) {
        assert_int_equal(unlink(path), 0);
        oci_file *f = NULL;
        oc_error err = {0};
        assert_int_equal(oci_open(io, path, OCI_OPEN_OUTPUT, &f, &err), OC_OK);
        oci_fault_arm(plan, OCI_FAULT_UNLINK, fails, false);
        assert_int_equal(io->publish(io, f, path, &err), fails ? OC_EIO : OC_OK);
        assert_int_equal(oci_close(f, &err), OC_OK);
        assert_int_equal(access(path, F_OK), fails ? -1 : 0);
        fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        close(fd);
    }
    assert_int_equal(unlink(path), 0);
    oci_fault_plan_destroy(plan);
}

static void *return_arg(void *arg)
{
    return arg;
}

static void thread_starts_fail(void **state)
{
    (void)state;
    oci_fault_plan *plan = oci_fault_plan_create();
    const oci_threads *threads = oci_fault_threads(plan);
    pthread_t thread;
    oci_fault_arm(plan, OCI_FAULT_THREAD, 1, false);
    assert_int_equal(threads->start(threads->self, &thread, return_arg, plan), EAGAIN);
    assert_int_equal(threads->start(threads->self, &thread, return_arg, plan), 0);
    void *result = NULL;
    pthread_join(thread, &result);
    assert_ptr_equal(result, plan);
    oci_fault_plan_destroy(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nth_operation_fails_once_or_for_ever),
        cmocka_unit_test(file_operations_fail_by_kind),
        cmocka_unit_test(names_and_descriptors_pass_through),
        cmocka_unit_test(publishing_fails_and_leaves_nothing),
        cmocka_unit_test(thread_starts_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
