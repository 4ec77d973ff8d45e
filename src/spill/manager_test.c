/* Unit tests of spill files: folders in turn, quota, counters, what is given back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fault.h"
#include "spill/manager.h"

static char folder_a[64];
static char folder_b[64];

static int make_folders(void **state)
{
    (void)state;
    snprintf(folder_a, sizeof folder_a, "/tmp/oc_spill_a_XXXXXX");
    snprintf(folder_b, sizeof folder_b, "/tmp/oc_spill_b_XXXXXX");
    return mkdtemp(folder_a) == NULL || mkdtemp(folder_b) == NULL;
}

/* Fails when anything was left behind. */
static int remove_folders(void **state)
{
    (void)state;
    return rmdir(folder_a) != 0 || rmdir(folder_b) != 0;
}

static oci_spill_manager *make_manager(const oci_io *io, const char *const *folders,
                                       int32_t n_folders, int64_t disk_limit)
{
    oci_spill_manager *manager = NULL;
    oci_spill_settings settings = {
        .folders = folders, .n_folders = n_folders, .disk_limit = disk_limit};
    assert_int_equal(oci_spill_manager_create(io, &settings, &manager, NULL), OC_OK);
    return manager;
}

static oci_spill_file *open_file(oci_spill_manager *manager)
{
    oci_spill_file *file = NULL;
    oc_error err = {0};
    if (oci_spill_file_open(manager, &file, &err) != OC_OK) {
        fail_msg("%s", err.message);
    }
    return file;
}

static void what_is_appended_can_be_read_anywhere(void **state)
{
    (void)state;
    const char *folders[] = {folder_a};
    oci_spill_manager *manager = make_manager(oci_posix_io(), folders, 1, 0);
    oci_spill_file *file = open_file(manager);
    int64_t offset = -1;
    char text[6] = {0};
    assert_int_equal(oci_spill_append(file, "first", 5, &offset, NULL), OC_OK);
    assert_int_equal(offset, 0);
    assert_int_equal(oci_spill_append(file, "second", 6, &offset, NULL), OC_OK);
    assert_int_equal(offset, 5);
    assert_int_equal(oci_spill_file_end(file), 11);
    assert_int_equal(oci_spill_read(file, text, 5, 3, NULL), OC_OK);
    assert_string_equal(text, "stsec");
    assert_ptr_equal(oci_spill_file_manager(file), manager);
    oci_spill_file_close(file);
    oci_spill_manager_release(manager);
}

static void reading_behind_the_end_is_damage(void **state)
{
    (void)state;
    const char *folders[] = {folder_a};
    oci_spill_manager *manager = make_manager(oci_posix_io(), folders, 1, 0);
    oci_spill_file *file = open_file(manager);
    int64_t offset;
    char text[8];
    oc_error err = {0};
    assert_int_equal(oci_spill_append(file, "first", 5, &offset, NULL), OC_OK);
    assert_int_equal(oci_spill_read(file, text, 6, 0, &err), OC_EDATA);
    assert_non_null(strstr(err.message, folder_a));
    oci_spill_file_close(file);
    oci_spill_manager_release(manager);
}

static void counters_are_exact_after_every_call(void **state)
{
    (void)state;
    const char *folders[] = {folder_a};
    oci_spill_manager *manager = make_manager(oci_posix_io(), folders, 1, 0);
    oci_spill_counters *c = &manager->counters;
    oci_spill_file *one = open_file(manager);
    oci_spill_file *two = open_file(manager);
    static char data[10000];
    int64_t offset;
    assert_int_equal(oci_spill_append(one, data, 10000, &offset, NULL), OC_OK);
    assert_int_equal(oci_spill_append(two, data, 500, &offset, NULL), OC_OK);
    assert_int_equal(atomic_load(&c->spilled_bytes), 10500);
    assert_int_equal(atomic_load(&c->disk_now), 10500);
    oci_spill_discard(one, 100, 9000);
    assert_int_equal(atomic_load(&c->disk_now), 1500);
    assert_int_equal(atomic_load(&c->disk_peak), 10500);
    oci_spill_file_close(one);
    assert_int_equal(atomic_load(&c->disk_now), 500);
    oci_spill_file_close(two);
    assert_int_equal(atomic_load(&c->disk_now), 0);
    assert_int_equal(atomic_load(&c->disk_peak), 10500);
    assert_int_equal(atomic_load(&c->spilled_bytes), 10500);
    oci_spill_manager_release(manager);
}

static void the_quota_counts_what_exists_in_all_files(void **state)
{
    (void)state;
    const char *folders[] = {folder_a};
    oci_spill_manager *manager = make_manager(oci_posix_io(), folders, 1, 1000);
    oci_spill_counters *c = &manager->counters;
    oci_spill_file *one = open_file(manager);
    oci_spill_file *two = open_file(manager);
    static char data[1001];
    int64_t offset = -1;
    oc_error err = {0};
    assert_int_equal(oci_spill_append(one, data, 1001, &offset, &err), OC_ENOSPC);
    assert_int_equal(offset, -1);
    assert_int_equal(oci_spill_append(one, data, 600, &offset, NULL), OC_OK);
    assert_int_equal(oci_spill_append(two, data, 400, &offset, NULL), OC_OK);
    assert_int_equal(oci_spill_append(two, data, 1, &offset, &err), OC_ENOSPC);
    assert_non_null(strstr(err.message, "1000 bytes"));
    assert_non_null(strstr(err.message, "--disk-limit"));
    /* A refusal changes nothing. */
    assert_int_equal(atomic_load(&c->disk_now), 1000);
    assert_int_equal(atomic_load(&c->disk_peak), 1000);
    assert_int_equal(atomic_load(&c->spilled_bytes), 1000);
    assert_int_equal(oci_spill_file_end(two), 400);
    oci_spill_discard(one, 0, 1);
    assert_int_equal(oci_spill_append(two, data, 1, &offset, NULL), OC_OK);
    assert_int_equal(oci_spill_append(two, data, 1, &offset, NULL), OC_ENOSPC);
    oci_spill_file_close(one);
    assert_int_equal(oci_spill_append(two, data, 599, &offset, NULL), OC_OK);
    oci_spill_file_close(two);
    oci_spill_manager_release(manager);
}

static void a_discarded_range_leaves_its_neighbours_alone(void **state)
{
    (void)state;
    const char *folders[] = {folder_a};
    oci_spill_manager *manager = make_manager(oci_posix_io(), folders, 1, 0);
    oci_spill_file *file = open_file(manager);
    enum { SIZE = 5 * 4096 };
    static uint8_t data[SIZE];
    static uint8_t back[SIZE];
    for (int i = 0; i < SIZE; i++) {
        data[i] = (uint8_t)(i * 31 + 1);
    }
    static const int64_t ranges[][2] = {
        {0, 1}, {1, 4095}, {4000, 8300}, {4096, 8192}, {100, 20000}};
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        int64_t offset;
        int64_t start = ranges[i][0];
        int64_t end = start + ranges[i][1];
        assert_int_equal(oci_spill_append(file, data, SIZE, &offset, NULL), OC_OK);
        oci_spill_discard(file, offset + start, ranges[i][1]);
        assert_int_equal(oci_spill_read(file, back, SIZE, offset, NULL), OC_OK);
        assert_memory_equal(back, data, (size_t)start);
        assert_memory_equal(back + end, data + end, (size_t)(SIZE - end));
    }
    oci_spill_file_close(file);
    oci_spill_manager_release(manager);
}

/* ---- folders --------------------------------------------------------------------------------- */

/* Notes in which folders files are opened. */
typedef struct spy {
    oci_io io;
    char opened[64];
    int n;
} spy;

static oc_status spy_open(const oci_io *io, const char *path, oci_open_mode mode, oci_file **out,
                          oc_error *err)
{
    spy *s = io->self;
    s->opened[s->n++] = strcmp(path, folder_a) == 0 ? 'a' : strcmp(path, folder_b) == 0 ? 'b' : '-';
    return oci_open(oci_posix_io(), path, mode, out, err);
}

static void folders_are_used_in_turn(void **state)
{
    (void)state;
    spy s = {.io = *oci_posix_io()};
    s.io.open = spy_open;
    s.io.self = &s;
    const char *folders[] = {folder_a, folder_b};
    oci_spill_manager *manager = make_manager(&s.io, folders, 2, 0);
    for (int i = 0; i < 4; i++) {
        oci_spill_file_close(open_file(manager));
    }
    assert_string_equal(s.opened, "abab");
    oci_spill_manager_release(manager);
}

static void another_folder_takes_the_place_of_one_that_is_gone(void **state)
{
    (void)state;
    spy s = {.io = *oci_posix_io()};
    s.io.open = spy_open;
    s.io.self = &s;
    const char *folders[] = {"/nowhere/at/all", folder_b};
    oci_spill_manager *manager = make_manager(&s.io, folders, 2, 0);
    for (int i = 0; i < 3; i++) {
        oci_spill_file *file = open_file(manager);
        int64_t offset;
        assert_int_equal(oci_spill_append(file, "x", 1, &offset, NULL), OC_OK);
        oci_spill_file_close(file);
    }
    assert_string_equal(s.opened, "-bb-b");
    oci_spill_manager_release(manager);
}

static void no_usable_folder_is_an_error_that_names_it(void **state)
{
    (void)state;
    const char *folders[] = {"/nowhere/at/all", "/nowhere/else"};
    oci_spill_manager *manager = make_manager(oci_posix_io(), folders, 2, 0);
    oci_spill_file *file;
    oc_error err = {0};
    assert_int_equal(oci_spill_file_open(manager, &file, &err), OC_EIO);
    assert_non_null(strstr(err.message, "/nowhere/else"));
    assert_non_null(strstr(err.message, "--temp-dir"));
    assert_int_equal(oci_spill_file_open(manager, &file, NULL), OC_EIO);
    oci_spill_manager_release(manager);
}

/* ---- failures -------------------------------------------------------------------------------- */

static void a_failed_write_gives_its_quota_back(void **state)
{
    (void)state;
    oci_fault_plan *plan = oci_fault_plan_create();
    const char *folders[] = {folder_a};
    oci_spill_manager *manager = make_manager(oci_fault_io(plan), folders, 1, 100);
    oci_spill_file *file = open_file(manager);
    int64_t offset;
    static char data[100];
    oc_error err = {0};
    oci_fault_arm(plan, OCI_FAULT_WRITE, 1, false);
    assert_int_equal(oci_spill_append(file, data, 100, &offset, &err), OC_ENOSPC);
    assert_non_null(strstr(err.message, "could not spill 100 bytes"));
    assert_int_equal(atomic_load(&manager->counters.disk_now), 0);
    assert_int_equal(atomic_load(&manager->counters.spilled_bytes), 0);
    assert_int_equal(oci_spill_append(file, data, 100, &offset, NULL), OC_OK);
    assert_int_equal(offset, 0);
    oci_fault_arm(plan, OCI_FAULT_READ, 1, false);
    assert_int_equal(oci_spill_read(file, data, 100, 0, NULL), OC_EIO);
    oci_fault_arm(plan, OCI_FAULT_CLOSE, 1, false);
    oci_spill_file_close(file);
    assert_int_equal(atomic_load(&manager->counters.disk_now), 0);
    oci_spill_manager_release(manager);
    oci_fault_plan_destroy(plan);
}

static void files_keep_their_manager(void **state)
{
    (void)state;
    const char *folders[] = {folder_a};
    oci_spill_manager *manager = make_manager(oci_posix_io(), folders, 1, 0);
    oci_spill_file *file = open_file(manager);
    oci_spill_manager_release(manager);
    int64_t offset;
    assert_int_equal(oci_spill_append(file, "x", 1, &offset, NULL), OC_OK);
    oci_spill_file_close(file);
    oci_spill_file_close(NULL);
    oci_spill_manager_release(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_appended_can_be_read_anywhere),
        cmocka_unit_test(reading_behind_the_end_is_damage),
        cmocka_unit_test(counters_are_exact_after_every_call),
        cmocka_unit_test(the_quota_counts_what_exists_in_all_files),
        cmocka_unit_test(a_discarded_range_leaves_its_neighbours_alone),
        cmocka_unit_test(folders_are_used_in_turn),
        cmocka_unit_test(another_folder_takes_the_place_of_one_that_is_gone),
        cmocka_unit_test(no_usable_folder_is_an_error_that_names_it),
        cmocka_unit_test(a_failed_write_gives_its_quota_back),
        cmocka_unit_test(files_keep_their_manager),
    };
    return cmocka_run_group_tests(tests, make_folders, remove_folders);
}
