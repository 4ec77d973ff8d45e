/* Spilling and the disk: how much of it a sort takes, what happens when it is full, and that a slow
 * one changes times and nothing else.
 *
 * The disk is a real file in /tmp behind a file system that watches it: it counts the blocks the file
 * takes, has room for so many bytes, and lets simulated time pass for each transfer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "ops/sort/sort.h"
#include "support/arrow_maker.h"

#define MIB        ((int64_t)1 << 20)
#define MANY_ROWS  100000
#define SOME_ROWS  40000
#define BATCH_ROWS 2000

/* ---- the disk -------------------------------------------------------------------------------- */

static struct disk {
    const oci_file_ops *real;
    oci_file_ops ops;
    int fd;                     /* of the last file */
    int64_t room;               /* bytes that may still be written */
    int64_t ns_per_kib;         /* of simulated time */
    int64_t blocks_bytes_peak;  /* that the file system counts for the file */
    _Atomic int64_t elapsed_ns; /* simulated */
} disk;

static int64_t blocks_bytes(void)
{
    struct stat info;
    assert_int_equal(fstat(disk.fd, &info), 0);
    return (int64_t)info.st_blocks * 512;
}

static void let_time_pass(int64_t bytes)
{
    atomic_fetch_add(&disk.elapsed_ns, bytes * disk.ns_per_kib / 1024);
}

static oc_status disk_pwrite(oci_file *f, const void *buf, int64_t size, int64_t offset,
                             oc_error *err)
{
    if (size > disk.room) {
        OC_FAIL_ERRNO(err, OC_ENOSPC, ENOSPC, "could not write to file \"%s\": it is full",
                      f->name);
    }
    disk.room -= size;
    let_time_pass(size);
    OC_TRY(disk.real->pwrite(f, buf, size, offset, err));
    int64_t taken = blocks_bytes();
    disk.blocks_bytes_peak = taken > disk.blocks_bytes_peak ? taken : disk.blocks_bytes_peak;
    return OC_OK;
}

static oc_status disk_pread(oci_file *f, void *buf, int64_t size, int64_t offset, int64_t *n_read,
                            oc_error *err)
{
    let_time_pass(size);
    return disk.real->pread(f, buf, size, offset, n_read, err);
}

static oc_status disk_open(const oci_io *io, const char *path, oci_open_mode mode, oci_file **out,
                           oc_error *err)
{
    (void)io;
    OC_TRY(oci_open(oci_posix_io(), path, mode, out, err));
    disk.real = (*out)->ops;
    disk.ops = *disk.real;
    disk.ops.pwrite = disk_pwrite;
    disk.ops.pread = disk_pread;
    (*out)->ops = &disk.ops;
    disk.fd = (*out)->fd;
    return OC_OK;
}

/* Real time and the time the disk is meant to take. */
static int64_t disk_now_ns(void *self)
{
    (void)self;
    const oci_clock *real = oci_system_clock();
    return real->now_ns(real->self) + atomic_load(&disk.elapsed_ns);
}

static const oci_clock disk_clock = {.now_ns = disk_now_ns};

/* ---- sorts on it ----------------------------------------------------------------------------- */

typedef struct fixture {
    oci_io io;
    oci_env env;
    oci_progress progress;
    atomic_bool cancel;
    oci_spill_manager *manager;
    int64_t rows; /* of the input */
} fixture;

static void set_up(fixture *f, oci_spill_settings settings, int64_t limit, int64_t rows)
{
    static const char *const folders[] = {"/tmp"};
    memset(f, 0, sizeof *f);
    memset(&disk, 0, sizeof disk);
    disk.room = INT64_MAX;
    f->rows = rows;
    f->io = *oci_posix_io();
    f->io.open = disk_open;
    f->env = (oci_env){.io = &f->io,
                       .threads = oci_system_threads(),
                       .clock = &disk_clock,
                       .cancel = &f->cancel,
                       .progress = &f->progress,
                       .n_threads = 1,
                       .batch_rows = BATCH_ROWS};
    assert_int_equal(oci_budget_create(limit, NULL, &f->env.budget, NULL), OC_OK);
    settings.folders = folders;
    settings.n_folders = 1;
    settings.clock = &disk_clock;
    oc_error err = {0};
    if (oci_spill_manager_create(&f->io, &settings, &f->manager, &err) != OC_OK) {
        fail_msg("%s", err.message);
    }
}

static void tear_down(fixture *f)
{
    assert_int_equal(oci_budget_used(f->env.budget), 0);
    assert_int_equal(atomic_load(&f->manager->counters.disk_now), 0);
    oci_spill_manager_release(f->manager);
    oci_budget_destroy(f->env.budget);
    assert_int_equal(arrow_maker_live(), 0);
}

static oci_stream *open_sort(fixture *f)
{
    static const char *const columns[] = {"k=l", "s=u", "id=l"};
    static const oci_sort_key by_k[] = {{.column = 0}};
    arrow_stream_maker maker = {
        .columns = columns,
        .n_columns = 3,
        .maker = {.seed = 5, .length = BATCH_ROWS, .null_percent = 5, .string_max = 60},
        .n_batches = f->rows / BATCH_ROWS,
    };
    struct ArrowArrayStream c_stream;
    oci_stream *input;
    oci_stream *sorted;
    oc_error err = {0};
    arrow_make_stream(&maker, &c_stream);
    assert_int_equal(oci_stream_import(&c_stream, &input, NULL), OC_OK);
    if (oci_sort_open(&f->env, f->manager, input, by_k, 1, -1, &sorted, &err) != OC_OK) {
        fail_msg("%s", err.message);
    }
    return sorted;
}

/* Folds the next `rows` rows, or some more, into a digest. */
static void drain(oci_stream *sorted, int64_t rows, uint64_t *digest)
{
    oci_batch *batch = NULL;
    oc_error err = {0};
    while (rows > 0) {
        if (oci_stream_next(sorted, &batch, &err) != OC_OK) {
            fail_msg("%s", err.message);
        }
        if (batch == NULL) {
            return;
        }
        for (int64_t row = 0; row < batch->length; row++) {
            for (int32_t c = 0; c < batch->schema->n_fields; c++) {
                *digest = oci_value_hash(&batch->columns[c], row, *digest * 31 + 7);
            }
        }
        rows -= batch->length;
        oci_batch_release(batch);
    }
}

/* Calls for each way to write spill files. */
static void for_each_way(void (*body)(oci_spill_settings settings))
{
    for (int encoding = OCI_SPILL_ENCODING_AUTO; encoding <= OCI_SPILL_ENCODING_LENGTHS;
         encoding++) {
        for (int codec = OCI_CODEC_NONE; codec <= OCI_CODEC_ZSTD; codec++) {
            body((oci_spill_settings){.encoding = (oci_spill_encoding)encoding,
                                      .codec = (oci_codec_id)codec});
        }
    }
    body((oci_spill_settings){.is_codec_auto = true});
    if (oci_seal_is_available()) {
        body((oci_spill_settings){.is_codec_auto = true, .is_sealed = true});
    }
}

/* ---- space ----------------------------------------------------------------------------------- */

static void check_space(oci_spill_settings settings)
{
    fixture f;
    uint64_t digest = 0;
    set_up(&f, settings, 2 * MIB, MANY_ROWS);
    const oci_spill_counters *n = &f.manager->counters;
    oci_stream *sorted = open_sort(&f);
    drain(sorted, 1, &digest);
    int64_t spilled = atomic_load(&n->spilled_bytes);
    int64_t blocks = blocks_bytes();
    assert_true(atomic_load(&n->spill_count) >= 3);
    assert_true(atomic_load(&n->spilled_rows) <= f.rows); /* one pass: no row is written twice */
    drain(sorted, f.rows * 3 / 4, &digest);
    assert_true(atomic_load(&n->disk_now) < spilled / 2);
    assert_true(blocks_bytes() < blocks / 2);
    drain(sorted, f.rows, &digest);
    assert_int_equal(atomic_load(&n->spilled_bytes), spilled);
    assert_true(atomic_load(&n->disk_peak) * 100 <= spilled * 115);
    assert_true(disk.blocks_bytes_peak * 100 <= spilled * 115);
    oci_stream_close(sorted);
    tear_down(&f);
}

static void a_merge_gives_back_what_it_has_read_and_takes_no_more_than_was_spilled(void **state)
{
    (void)state;
    for_each_way(check_space);
}

/* ---- a full disk ----------------------------------------------------------------------------- */

static void check_full(oci_spill_settings settings)
{
    fixture f;
    set_up(&f, settings, MIB, SOME_ROWS);
    uint64_t digest = 0;
    oci_stream *sorted = open_sort(&f);
    drain(sorted, f.rows, &digest);
    int64_t spilled = atomic_load(&f.manager->counters.spilled_bytes);
    oci_stream_close(sorted);
    for (int part = 0; part < 8; part += 3) {
        oc_error err = {0};
        oci_batch *batch;
        int64_t before = atomic_load(&f.manager->counters.spilled_bytes);
        sorted = open_sort(&f);
        disk.room = spilled * part / 8;
        for (int again = 0; again < 3; again++) {
            assert_int_equal(oci_stream_next(sorted, &batch, &err), OC_ENOSPC);
            assert_null(batch);
            assert_non_null(strstr(err.message, "it is full"));
            assert_non_null(strstr(err.message, "--temp-dir"));
        }
        assert_true(atomic_load(&f.manager->counters.spilled_bytes) - before <= spilled * part / 8);
        oci_stream_close(sorted);
        assert_int_equal(atomic_load(&f.manager->counters.disk_now), 0);
        assert_int_equal(oci_budget_used(f.env.budget), 0);
    }
    /* The same context does it once there is room. */
    uint64_t again = 0;
    disk.room = INT64_MAX;
    sorted = open_sort(&f);
    drain(sorted, f.rows, &again);
    assert_true(digest == again);
    oci_stream_close(sorted);
    tear_down(&f);
}

static void a_disk_that_gets_full_ends_the_sort_and_gives_everything_back(void **state)
{
    (void)state;
    for_each_way(check_full);
}

/* ---- a slow disk ----------------------------------------------------------------------------- */

static uint64_t sort_on(oci_spill_settings settings, int64_t ns_per_kib, int64_t *spilled,
                        int64_t *write_ns, int64_t *read_ns)
{
    fixture f;
    uint64_t digest = 0;
    set_up(&f, settings, MIB, SOME_ROWS);
    disk.ns_per_kib = ns_per_kib;
    oci_stream *sorted = open_sort(&f);
    drain(sorted, f.rows, &digest);
    *spilled = atomic_load(&f.manager->counters.spilled_bytes);
    *write_ns = atomic_load(&f.manager->counters.write_ns);
    *read_ns = atomic_load(&f.manager->counters.read_ns);
    oci_stream_close(sorted);
    tear_down(&f);
    return digest;
}

/* A mebibyte a second: nothing else that a sort does takes as long, whatever the machine. */
#define SLOW_NS_PER_KIB 1000000

static void a_slow_disk_changes_times_and_no_rows(void **state)
{
    (void)state;
    oci_spill_settings settings = {.codec = OCI_CODEC_LZ4_FRAME};
    int64_t fast_bytes;
    int64_t slow_bytes;
    int64_t write_ns;
    int64_t read_ns;
    uint64_t fast = sort_on(settings, 0, &fast_bytes, &write_ns, &read_ns);
    uint64_t slow = sort_on(settings, SLOW_NS_PER_KIB, &slow_bytes, &write_ns, &read_ns);
    assert_true(fast == slow);
    assert_int_equal(fast_bytes, slow_bytes);
    assert_true(write_ns >= slow_bytes * SLOW_NS_PER_KIB / 1024);
    assert_true(read_ns >= slow_bytes * SLOW_NS_PER_KIB / 1024);
}

static void the_codec_follows_the_disk(void **state)
{
    (void)state;
    oci_spill_settings none = {.encoding = OCI_SPILL_ENCODING_PLAIN, .codec = OCI_CODEC_NONE};
    oci_spill_settings chosen = {.encoding = OCI_SPILL_ENCODING_PLAIN, .is_codec_auto = true};
    int64_t none_bytes;
    int64_t chosen_bytes;
    int64_t write_ns;
    int64_t read_ns;
    uint64_t expected = sort_on(none, 0, &none_bytes, &write_ns, &read_ns);
    assert_true(sort_on(chosen, SLOW_NS_PER_KIB, &chosen_bytes, &write_ns, &read_ns) == expected);
    assert_true(chosen_bytes * 10 < none_bytes * 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_merge_gives_back_what_it_has_read_and_takes_no_more_than_was_spilled),
        cmocka_unit_test(a_disk_that_gets_full_ends_the_sort_and_gives_everything_back),
        cmocka_unit_test(a_slow_disk_changes_times_and_no_rows),
        cmocka_unit_test(the_codec_follows_the_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
