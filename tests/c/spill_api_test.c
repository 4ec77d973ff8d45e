/* The spill layer as another engine uses it, through outcore/spill.h alone: what goes in comes back,
 * whatever the types, batches and settings; counters are exact; what is wrong is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/spill_engine.h"

static const char *const columns[] = {"k=i", "s=u", "id=l", "v=vu"};
#define N_COLUMNS 4

static const arrow_maker plain_maker = {.seed = 3, .length = 5000, .null_percent = 10};

/* ---- managers -------------------------------------------------------------------------------- */

static void a_manager_needs_no_options(void **state)
{
    (void)state;
    oc_spill_manager *manager = make_spill_manager(NULL);
    oc_spill_metrics m = spill_metrics_of(manager);
    assert_int_equal(m.disk_bytes, 0);
    assert_true(m.ratio == 0);
    oc_spill_manager_destroy(manager);
    oc_spill_manager_destroy(NULL);
}

static void check_refused(const oc_spill_options *options, oc_status status, const char *words)
{
    oc_spill_manager *manager = NULL;
    oc_error error = {0};
    assert_int_equal(oc_spill_manager_create(options, &manager, &error), status);
    assert_null(manager);
    if (strstr(error.message, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.message, words);
    }
}

static void wrong_options_are_named(void **state)
{
    (void)state;
    oc_spill_options options = default_spill_options();
    options.memory_limit = 1000;
    check_refused(&options, OC_EBUDGET, "1 MiB");
    options = default_spill_options();
    options.block_bytes = 1;
    check_refused(&options, OC_EINVAL, "block_bytes");
    options = default_spill_options();
    options.disk_limit = -1;
    check_refused(&options, OC_EINVAL, "disk limit");
    options = default_spill_options();
    options.encoding = (oc_spill_encoding)7;
    check_refused(&options, OC_EINVAL, "encoding 7");
    options = default_spill_options();
    options.codec = (oc_codec)9;
    check_refused(&options, OC_EINVAL, "codec 9");
    options = default_spill_options();
    options.codec = OC_CODEC_ZSTD;
    options.level = 99;
    check_refused(&options, OC_EINVAL, "99");
    options = default_spill_options();
    options.struct_size = 0;
    check_refused(&options, OC_EINVAL, "INIT");
    const char *nowhere = "/nowhere/at/all";
    options = default_spill_options();
    options.temp_dirs = &nowhere;
    check_refused(&options, OC_EIO, nowhere);
}

/* ---- round trips ----------------------------------------------------------------------------- */

static void check_type(const char *const *column, const oc_spill_options *options)
{
    oc_spill_manager *manager = make_spill_manager(options);
    arrow_maker maker = {
        .seed = 5, .length = 700, .null_percent = 20, .distinct = 40, .offset = 3, .garbage = true};
    oc_spill_file *file =
        write_spilled(make_spill_writer(manager, column, 1, NULL), column, 1, &maker, 150);
    check_spilled(file, column, 1, &maker);
    oc_spill_file_release(file);
    end_spilling(manager);
}

static void every_type_comes_back(void **state)
{
    (void)state;
    static const oc_codec codecs[] = {OC_CODEC_NONE, OC_CODEC_LZ4, OC_CODEC_ZSTD, OC_CODEC_AUTO};
    int turn = 0;
    for (int encoding = OC_SPILL_ENCODING_AUTO; encoding <= OC_SPILL_ENCODING_LENGTHS; encoding++) {
        oc_spill_options options = default_spill_options();
        options.encoding = (oc_spill_encoding)encoding;
        for (int32_t i = 0; i < arrow_maker_n_formats; i++) {
            options.codec = codecs[turn++ % 4];
            check_type(&arrow_maker_formats[i], &options);
        }
        for (int32_t i = 0; i < arrow_maker_n_nested_formats; i++) {
            options.codec = codecs[turn++ % 4];
            check_type(&arrow_maker_nested_formats[i], &options);
        }
    }
}

static void every_setting_gives_the_same_rows(void **state)
{
    (void)state;
    for (int bits = 0; bits < 48; bits++) {
        oc_spill_options options = default_spill_options();
        options.codec = (oc_codec)(bits % 4);
        options.encoding = (oc_spill_encoding)(bits / 4 % 3);
        options.without_checksums = (bits / 12 & 1) != 0;
        options.keep_batches = (bits / 24 & 1) != 0;
        oc_spill_manager *manager = make_spill_manager(&options);
        oc_spill_file *file = write_spilled(make_spill_writer(manager, columns, N_COLUMNS, NULL),
                                            columns, N_COLUMNS, &plain_maker, 300);
        check_spilled(file, columns, N_COLUMNS, &plain_maker);
        oc_spill_file_release(file);
        end_spilling(manager);
    }
}

static void batches_of_any_size_give_the_same_rows(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 3, 7, 64, 1000, 5000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        oc_spill_manager *manager = make_spill_manager(NULL);
        oc_spill_file *file = write_spilled(make_spill_writer(manager, columns, N_COLUMNS, NULL),
                                            columns, N_COLUMNS, &plain_maker, sizes[i]);
        /* 5000 rows are less than a block. */
        assert_int_equal(check_spilled(file, columns, N_COLUMNS, &plain_maker), 1);
        oc_spill_file_release(file);
        end_spilling(manager);
    }
}

static void batches_are_kept_when_asked_for(void **state)
{
    (void)state;
    oc_spill_options options = default_spill_options();
    options.keep_batches = true;
    oc_spill_manager *manager = make_spill_manager(&options);
    oc_spill_file *file = write_spilled(make_spill_writer(manager, columns, N_COLUMNS, NULL),
                                        columns, N_COLUMNS, &plain_maker, 300);
    assert_int_equal(check_spilled(file, columns, N_COLUMNS, &plain_maker), (5000 - 1) / 300 + 1);
    oc_spill_file_release(file);
    end_spilling(manager);
}

static void nothing_appended_is_an_empty_stream(void **state)
{
    (void)state;
    arrow_maker maker = {.seed = 1};
    for (int keep = 0; keep < 2; keep++) {
        oc_spill_options options = default_spill_options();
        options.keep_batches = keep == 1;
        oc_spill_manager *manager = make_spill_manager(&options);
        oc_spill_writer *writer = make_spill_writer(manager, columns, N_COLUMNS, NULL);
        append_spilled(writer, columns, N_COLUMNS, &maker); /* a batch without rows */
        oc_spill_file *file = write_spilled(writer, columns, N_COLUMNS, &maker, 1);
        check_spilled(file, columns, N_COLUMNS, &maker);
        oc_spill_info info;
        oc_spill_file_info(file, &info);
        assert_int_equal(info.rows, 0);
        assert_int_equal(info.batches, 1);
        oc_spill_file_release(file);
        end_spilling(manager);
    }
}

static void large_batches_come_back_in_blocks(void **state)
{
    (void)state;
    static const char *const ids[] = {"a=l", "b=l"};
    arrow_maker maker = {.seed = 1, .length = 1000000};
    oc_spill_options options = default_spill_options();
    options.memory_limit = 16 * MIB; /* half of what the batch takes */
    oc_spill_manager *manager = make_spill_manager(&options);
    oc_spill_file *file =
        write_spilled(make_spill_writer(manager, ids, 2, NULL), ids, 2, &maker, 1000000);
    int64_t blocks = check_spilled(file, ids, 2, &maker);
    assert_in_range(blocks, 12, 20); /* 16 MB */
    assert_true(spill_metrics_of(manager).memory_peak < 16 * MIB);
    oc_spill_file_release(file);
    end_spilling(manager);
}

/* Whether a column may have nulls is up to each batch, whatever was declared. */
static void nullability_may_differ_between_batches(void **state)
{
    (void)state;
    for (int declared = 0; declared < 2; declared++) {
        oc_spill_manager *manager = make_spill_manager(NULL);
        struct ArrowSchema schema;
        arrow_make_schema(columns, N_COLUMNS, &schema);
        for (int i = 0; i < N_COLUMNS; i++) {
            schema.children[i]->flags = declared == 1 ? ARROW_FLAG_NULLABLE : 0;
        }
        oc_spill_writer *writer;
        assert_int_equal(oc_spill_writer_create(manager, &schema, NULL, &writer, NULL), OC_OK);
        schema.release(&schema);
        arrow_maker maker = {.seed = 7, .length = 600, .null_percent = 0};
        append_spilled(writer, columns, N_COLUMNS, &maker);
        arrow_maker nulls = maker;
        nulls.null_percent = 30;
        append_spilled(writer, columns, N_COLUMNS, &nulls);
        oc_spill_file *file;
        assert_int_equal(oc_spill_writer_finish(writer, &file, NULL), OC_OK);
        oc_spill_writer_destroy(writer);

        struct ArrowArrayStream stream;
        open_spilled(file, &stream);
        assert_int_equal(stream.get_schema(&stream, &schema), 0);
        assert_int_equal(schema.children[0]->flags & ARROW_FLAG_NULLABLE,
                         declared == 1 ? ARROW_FLAG_NULLABLE : 0);
        schema.release(&schema);
        struct ArrowArray array;
        assert_int_equal(stream.get_next(&stream, &array), 0);
        assert_int_equal(array.length, 1200);
        assert_true(array.children[0]->null_count > 100);
        array.release(&array);
        stream.release(&stream);
        oc_spill_file_release(file);
        end_spilling(manager);
    }
}

/* ---- schemas --------------------------------------------------------------------------------- */

static oc_status read_as(oc_spill_file *file, const char *const *wanted, int32_t n, oc_error *error)
{
    struct ArrowSchema schema;
    struct ArrowArrayStream stream;
    arrow_make_schema(wanted, n, &schema);
    oc_status status = oc_spill_file_read(file, &schema, NULL, &stream, error);
    schema.release(&schema);
    if (status == OC_OK) {
        stream.release(&stream);
    }
    return status;
}

static void check_unwanted(oc_spill_file *file, const char *const *wanted, int32_t n,
                           const char *words)
{
    oc_error error = {0};
    assert_int_equal(read_as(file, wanted, n, &error), OC_EDATA);
    if (strstr(error.message, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.message, words);
    }
}

static void a_reader_refuses_another_schema_and_names_the_column(void **state)
{
    (void)state;
    static const char *const other_type[] = {"k=i", "s=z", "id=l", "v=vu"};
    static const char *const other_name[] = {"k=i", "s=u", "number=l", "v=vu"};
    oc_spill_manager *manager = make_spill_manager(NULL);
    oc_spill_file *file = write_spilled(make_spill_writer(manager, columns, N_COLUMNS, NULL),
                                        columns, N_COLUMNS, &plain_maker, 1000);
    assert_int_equal(read_as(file, columns, N_COLUMNS, NULL), OC_OK);
    check_unwanted(file, other_type, N_COLUMNS, "\"s\"");
    check_unwanted(file, other_name, N_COLUMNS, "number");
    check_unwanted(file, columns, 3, "column");
    oc_spill_file_release(file);
    end_spilling(manager);
}

static void a_batch_of_other_columns_is_refused(void **state)
{
    (void)state;
    static const char *const other[] = {"k=i", "s=u", "id=u", "v=vu"};
    oc_spill_manager *manager = make_spill_manager(NULL);
    oc_spill_writer *writer = make_spill_writer(manager, columns, N_COLUMNS, NULL);
    struct ArrowArray array;
    oc_error error = {0};
    arrow_make_array(other, 3, &plain_maker, &array);
    oc_status status = oc_spill_writer_append(writer, &array, &error);
    assert_true(status == OC_EINVAL || status == OC_EDATA);
    assert_null(array.release);
    /* and the error is kept */
    arrow_make_array(columns, N_COLUMNS, &plain_maker, &array);
    oc_error again = {0};
    assert_int_equal(oc_spill_writer_append(writer, &array, &again), status);
    assert_string_equal(error.message, again.message);
    assert_null(array.release);
    oc_spill_file *file;
    assert_int_equal(oc_spill_writer_finish(writer, &file, NULL), status);
    assert_null(file);
    oc_spill_writer_destroy(writer);
    end_spilling(manager);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void a_file_can_be_read_often_and_at_once(void **state)
{
    (void)state;
    oc_spill_manager *manager = make_spill_manager(NULL);
    oc_spill_file *file = write_spilled(make_spill_writer(manager, columns, N_COLUMNS, NULL),
                                        columns, N_COLUMNS, &plain_maker, 1000);
    struct ArrowArrayStream first;
    struct ArrowArrayStream second;
    open_spilled(file, &first);
    open_spilled(file, &second);
    check_spilled_stream(&second, columns, N_COLUMNS, &plain_maker);
    check_spilled_stream(&first, columns, N_COLUMNS, &plain_maker);
    check_spilled(file, columns, N_COLUMNS, &plain_maker);
    oc_spill_file_release(file);
    end_spilling(manager);
}

static void streams_and_arrays_outlive_everything(void **state)
{
    (void)state;
    oc_spill_manager *manager = make_spill_manager(NULL);
    oc_spill_file *file = write_spilled(make_spill_writer(manager, columns, N_COLUMNS, NULL),
                                        columns, N_COLUMNS, &plain_maker, 1000);
    struct ArrowArrayStream stream;
    struct ArrowArray array;
    open_spilled(file, &stream);
    oc_spill_manager_destroy(manager);
    oc_spill_file_release(file);
    assert_int_equal(stream.get_next(&stream, &array), 0);
    stream.release(&stream);
    assert_int_equal(array.length, 5000);
    array.release(&array);
    assert_int_equal(arrow_maker_live(), 0);
}

static void consuming_gives_disk_space_back(void **state)
{
    (void)state;
    static const char *const ids[] = {"a=l", "b=l"};
    arrow_maker maker = {.seed = 1, .length = 1000000};
    oc_spill_options options = default_spill_options();
    options.codec = OC_CODEC_NONE;
    options.encoding = OC_SPILL_ENCODING_PLAIN;
    oc_spill_manager *manager = make_spill_manager(&options);
    oc_spill_file *file =
        write_spilled(make_spill_writer(manager, ids, 2, NULL), ids, 2, &maker, 10000);
    oc_spill_read_options read = OC_SPILL_READ_OPTIONS_INIT;
    read.consume = true;
    struct ArrowArrayStream stream;
    struct ArrowArrayStream other;
    oc_error error = {0};
    int64_t before = spill_metrics_of(manager).disk_now;
    open_spilled(file, &other);
    assert_int_equal(oc_spill_file_read(file, NULL, &read, &stream, &error), OC_EINVAL);
    other.release(&other);
    assert_int_equal(oc_spill_file_read(file, NULL, &read, &stream, &error), OC_OK);
    assert_int_equal(oc_spill_file_read(file, NULL, NULL, &other, &error), OC_EINVAL);
    struct ArrowArray array;
    int64_t rows = 0;
    while (stream.get_next(&stream, &array) == 0 && array.release != NULL && rows < 700000) {
        rows += array.length;
        array.release(&array);
    }
    array.release(&array);
    assert_true(spill_metrics_of(manager).disk_now < before / 2);
    stream.release(&stream);
    assert_int_equal(spill_metrics_of(manager).disk_now, 0);
    assert_int_equal(oc_spill_file_read(file, NULL, NULL, &other, &error), OC_EINVAL);
    oc_spill_file_release(file);
    end_spilling(manager);
}

static void a_named_file_appears_when_it_is_complete(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s", spill_path_of("kept.spill"));
    oc_spill_manager *manager = make_spill_manager(NULL);
    oc_spill_writer *writer = make_spill_writer(manager, columns, N_COLUMNS, path);
    append_spilled(writer, columns, N_COLUMNS, &plain_maker);
    assert_int_not_equal(access(path, F_OK), 0);
    oc_spill_writer_destroy(writer);
    assert_int_not_equal(access(path, F_OK), 0);

    oc_spill_file *file = write_spilled(make_spill_writer(manager, columns, N_COLUMNS, path),
                                        columns, N_COLUMNS, &plain_maker, 1000);
    assert_int_equal(access(path, F_OK), 0);
    check_spilled(file, columns, N_COLUMNS, &plain_maker);
    oc_spill_info info;
    struct stat stats;
    oc_spill_file_info(file, &info);
    assert_int_equal(stat(path, &stats), 0);
    assert_int_equal(info.disk_bytes, stats.st_size);
    oc_spill_file_release(file);

    /* and another process, which knows its name only */
    oc_spill_manager *other = make_spill_manager(NULL);
    assert_int_equal(oc_spill_file_open(other, path, &file, NULL), OC_OK);
    check_spilled(file, columns, N_COLUMNS, &plain_maker);
    check_spilled(file, columns, N_COLUMNS, &plain_maker);
    oc_spill_file_release(file);
    assert_int_equal(oc_spill_file_open(other, spill_path_of("missing"), &file, NULL), OC_EIO);
    end_spilling(other);
    end_spilling(manager);
    unlink(path);
}

static void an_encrypted_file_is_read_through_its_handle(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s", spill_path_of("sealed.spill"));
    oc_spill_options options = default_spill_options();
    options.encrypt = true;
    oc_spill_manager *manager = NULL;
    oc_status status = oc_spill_manager_create(&options, &manager, NULL);
    if (status == OC_EUNSUPPORTED) {
        skip(); /* built without libsodium */
    }
    assert_int_equal(status, OC_OK);
    for (int with_name = 0; with_name < 2; with_name++) {
        oc_spill_writer *writer =
            make_spill_writer(manager, columns, N_COLUMNS, with_name == 1 ? path : NULL);
        oc_spill_file *file = write_spilled(writer, columns, N_COLUMNS, &plain_maker, 1000);
        check_spilled(file, columns, N_COLUMNS, &plain_maker);
        oc_spill_file_release(file);
    }
    /* By its name it cannot be read, not even by the same manager: the run's number is gone. */
    oc_spill_file *file;
    struct ArrowArrayStream stream;
    assert_int_equal(oc_spill_file_open(manager, path, &file, NULL), OC_OK);
    assert_int_equal(oc_spill_file_read(file, NULL, NULL, &stream, NULL), OC_EDATA);
    oc_spill_file_release(file);
    end_spilling(manager);
    unlink(path);
}

/* ---- counters and quota ---------------------------------------------------------------------- */

static void counters_are_exact_after_every_append(void **state)
{
    (void)state;
    oc_spill_options options = default_spill_options();
    options.block_bytes = 16 * KIB;
    oc_spill_manager *manager = make_spill_manager(&options);
    oc_spill_writer *writer = make_spill_writer(manager, columns, N_COLUMNS, NULL);
    arrow_maker maker = {.seed = 3, .length = 100};
    oc_spill_info before = {0};
    for (int64_t i = 0; i < 100; i++) {
        maker.first_row = 100 * i;
        append_spilled(writer, columns, N_COLUMNS, &maker);
        oc_spill_info info;
        oc_spill_writer_info(writer, &info);
        oc_spill_metrics m = spill_metrics_of(manager);
        assert_int_equal(info.rows, 100 * (i + 1));
        assert_int_equal(info.batches, i + 1);
        assert_int_equal(m.rows, info.rows);
        assert_int_equal(m.batches, info.batches);
        assert_int_equal(m.rows_written, info.rows_written);
        assert_int_equal(m.disk_bytes, info.disk_bytes);
        assert_int_equal(m.disk_now, info.disk_bytes);
        assert_int_equal(info.blocks > before.blocks, info.disk_bytes > before.disk_bytes && i > 0);
        assert_int_equal(info.blocks > before.blocks, info.rows_written > before.rows_written);
        before = info;
    }
    assert_in_range(before.blocks, 10, 40);
    assert_int_equal(oc_spill_writer_flush(writer, NULL), OC_OK);
    assert_int_equal(spill_metrics_of(manager).rows_written, 10000);
    assert_int_equal(spill_metrics_of(manager).spill_count, 0);
    oc_spill_file *file;
    assert_int_equal(oc_spill_writer_finish(writer, &file, NULL), OC_OK);
    oc_spill_metrics m = spill_metrics_of(manager);
    oc_spill_info info;
    oc_spill_file_info(file, &info);
    assert_int_equal(m.spill_count, 1);
    assert_int_equal(info.disk_bytes, m.disk_bytes);
    assert_int_equal(info.rows, 10000);
    assert_in_range(m.writes, info.blocks + 1, info.blocks + 6);
    assert_true(m.memory_bytes > 100 * 10000 * 4 / 10);
    assert_true(m.ratio > 1);
    assert_true(m.encode_ns > 0 && m.write_ns > 0);
    assert_int_equal(m.read_back_bytes, 0);
    oc_spill_writer_destroy(writer);
    maker = (arrow_maker){.seed = 3, .length = 10000};
    check_spilled(file, columns, N_COLUMNS, &maker);
    m = spill_metrics_of(manager);
    assert_int_equal(m.read_back_bytes, info.disk_bytes);
    assert_true(m.read_ns > 0 && m.decode_ns > 0);
    oc_spill_file_release(file);
    end_spilling(manager);
}

static void a_quota_is_kept_and_named(void **state)
{
    (void)state;
    oc_spill_options options = default_spill_options();
    options.disk_limit = MIB;
    options.block_bytes = 16 * KIB;
    options.codec = OC_CODEC_NONE;
    options.encoding = OC_SPILL_ENCODING_PLAIN;
    oc_spill_manager *manager = make_spill_manager(&options);
    oc_spill_writer *writer = make_spill_writer(manager, columns, N_COLUMNS, NULL);
    oc_error error = {0};
    oc_status status = OC_OK;
    int64_t written = 0;
    for (int64_t i = 0; i < 1000 && status == OC_OK; i++) {
        arrow_maker maker = {.seed = 3, .first_row = 200 * i, .length = 200};
        struct ArrowArray array;
        written = spill_metrics_of(manager).disk_bytes;
        arrow_make_array(columns, N_COLUMNS, &maker, &array);
        status = oc_spill_writer_append(writer, &array, &error);
    }
    assert_int_equal(status, OC_ENOSPC);
    assert_non_null(strstr(error.message, "disk limit of 1.0 MiB"));
    assert_int_equal(spill_metrics_of(manager).disk_bytes, written);
    assert_true(spill_metrics_of(manager).disk_peak <= MIB);
    oc_spill_writer_destroy(writer);
    end_spilling(manager);
}

/* Writers that come one after the other and stay: the first ones have large blocks. */
static void writers_that_wait_hold_next_to_nothing(void **state)
{
    (void)state;
    enum { N = 300 };
    static const char *const ids[] = {"a=l", "b=l"};
    oc_spill_options options = default_spill_options();
    options.memory_limit = 16 * MIB;
    oc_spill_manager *manager = make_spill_manager(&options);
    oc_spill_writer *writers[N];
    arrow_maker maker = {.seed = 3, .length = 70000}; /* a block at the least */
    for (int i = 0; i < N; i++) {
        writers[i] = make_spill_writer(manager, ids, 2, NULL);
        append_spilled(writers[i], ids, 2, &maker);
    }
    assert_true(spill_metrics_of(manager).memory_used < MIB);
    for (int i = 0; i < N; i++) {
        oc_spill_writer_destroy(writers[i]);
    }
    end_spilling(manager);
}

static void many_writers_share_the_limit(void **state)
{
    (void)state;
    enum { N = 100 };
    oc_spill_options options = default_spill_options();
    options.memory_limit = 16 * MIB;
    oc_spill_manager *manager = make_spill_manager(&options);
    oc_spill_writer *writers[N];
    arrow_maker maker = {.seed = 3, .length = 2000};
    for (int i = 0; i < N; i++) {
        writers[i] = make_spill_writer(manager, columns, N_COLUMNS, NULL);
    }
    for (int part = 0; part < 10; part++) {
        for (int i = 0; i < N; i++) {
            maker.first_row = 2000 * part;
            append_spilled(writers[i], columns, N_COLUMNS, &maker);
        }
    }
    assert_true(spill_metrics_of(manager).memory_peak <= 16 * MIB);
    maker = (arrow_maker){.seed = 3, .length = 20000};
    for (int i = 0; i < N; i++) {
        oc_spill_file *file;
        assert_int_equal(oc_spill_writer_finish(writers[i], &file, NULL), OC_OK);
        oc_spill_writer_destroy(writers[i]);
        if (i % 10 == 0) {
            check_spilled(file, columns, N_COLUMNS, &maker);
        }
        oc_spill_file_release(file);
    }
    end_spilling(manager);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_manager_needs_no_options),
        cmocka_unit_test(wrong_options_are_named),
        cmocka_unit_test(every_type_comes_back),
        cmocka_unit_test(every_setting_gives_the_same_rows),
        cmocka_unit_test(batches_of_any_size_give_the_same_rows),
        cmocka_unit_test(batches_are_kept_when_asked_for),
        cmocka_unit_test(nothing_appended_is_an_empty_stream),
        cmocka_unit_test(large_batches_come_back_in_blocks),
        cmocka_unit_test(nullability_may_differ_between_batches),
        cmocka_unit_test(a_reader_refuses_another_schema_and_names_the_column),
        cmocka_unit_test(a_batch_of_other_columns_is_refused),
        cmocka_unit_test(a_file_can_be_read_often_and_at_once),
        cmocka_unit_test(streams_and_arrays_outlive_everything),
        cmocka_unit_test(consuming_gives_disk_space_back),
        cmocka_unit_test(a_named_file_appears_when_it_is_complete),
        cmocka_unit_test(an_encrypted_file_is_read_through_its_handle),
        cmocka_unit_test(counters_are_exact_after_every_append),
        cmocka_unit_test(a_quota_is_kept_and_named),
        cmocka_unit_test(many_writers_share_the_limit),
        cmocka_unit_test(writers_that_wait_hold_next_to_nothing),
    };
    return cmocka_run_group_tests(tests, make_spill_folder, remove_spill_folder);
}
