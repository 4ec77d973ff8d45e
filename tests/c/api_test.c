/* The public calls as a user makes them: wrong arguments, missing files, orders of releasing, what
 * the metrics say afterwards. Only outcore.h is used, beside a maker of input. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "outcore/outcore.h"
#include "support/arrow_maker.h"

#define MIB ((int64_t)1 << 20)

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/oc_api_XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder); /* fails when a test left a file */
}

static const char *path_of(const char *name)
{
    static char paths[4][128];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static char *read_text(const char *path)
{
    static char text[4096];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof text - 1, file);
    text[n] = '\0';
    fclose(file);
    return text;
}

static oc_context *make_context(int64_t limit)
{
    oc_options options = OC_OPTIONS_INIT;
    oc_context *context = NULL;
    oc_error error = {0};
    options.memory_limit = limit;
    options.threads = 2;
    if (oc_context_create(&options, &context, &error) != OC_OK) {
        fail_msg("%s", error.message);
    }
    return context;
}

static const char *const columns[] = {"k=i", "s=u", "id=l"};

static void make_input(int64_t n_batches, struct ArrowArrayStream *out)
{
    arrow_stream_maker maker = {
        .columns = columns,
        .n_columns = 3,
        .maker = {.seed = 3, .length = 1000, .null_percent = 10},
        .n_batches = n_batches,
    };
    arrow_make_stream(&maker, out);
}

/* Reads a stream to its end and releases it. */
static int64_t drain(struct ArrowArrayStream *stream)
{
    int64_t rows = 0;
    struct ArrowArray array;
    for (;;) {
        int code = stream->get_next(stream, &array);
        if (code != 0) {
            fail_msg("%d: %s", code, stream->get_last_error(stream));
        }
        if (array.release == NULL) {
            break;
        }
        rows += array.length;
        array.release(&array);
    }
    stream->release(stream);
    return rows;
}

static void check_released(oc_context *context)
{
    oc_metrics m;
    oc_context_metrics(context, &m);
    assert_int_equal(m.memory_used, 0);
    assert_int_equal(m.disk_now, 0);
    oc_context_destroy(context);
    assert_int_equal(arrow_maker_live(), 0);
}

/* ---- contexts -------------------------------------------------------------------------------- */

static void a_context_needs_no_options(void **state)
{
    (void)state;
    oc_context *context = NULL;
    assert_int_equal(oc_context_create(NULL, &context, NULL), OC_OK);
    oc_metrics m;
    oc_context_metrics(context, &m);
    assert_true(m.memory_limit >= MIB);
    assert_true(m.threads >= 1);
    assert_string_equal(m.codec, "auto");
    assert_int_equal(m.memory_used, 0);
    oc_context_destroy(context);
    oc_context_destroy(NULL);
    assert_string_equal(oc_version(), "0.1.0");
}

static void check_refused(const oc_options *options, oc_status status, const char *words)
{
    oc_context *context = NULL;
    oc_error error = {0};
    assert_int_equal(oc_context_create(options, &context, &error), status);
    assert_int_equal(error.status, status);
    if (strstr(error.message, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.message, words);
    }
    assert_null(context);
    assert_int_equal(oc_context_create(options, &context, NULL), status);
}

static void options_out_of_range_are_refused(void **state)
{
    (void)state;
    oc_options o = OC_OPTIONS_INIT;
    o.struct_size = 0;
    check_refused(&o, OC_EINVAL, "struct_size");
    o = (oc_options)OC_OPTIONS_INIT;
    o.memory_limit = MIB - 1;
    check_refused(&o, OC_EBUDGET, "1 MiB");
    o.memory_limit = -1;
    check_refused(&o, OC_EBUDGET, "1 MiB");
    o = (oc_options)OC_OPTIONS_INIT;
    o.disk_limit = -1;
    check_refused(&o, OC_EINVAL, "disk limit");
    o = (oc_options)OC_OPTIONS_INIT;
    o.threads = -1;
    check_refused(&o, OC_EINVAL, "threads");
    o.threads = 1025;
    check_refused(&o, OC_EINVAL, "threads");
    o = (oc_options)OC_OPTIONS_INIT;
    o.batch_rows = -1;
    check_refused(&o, OC_EINVAL, "batch");
    o = (oc_options)OC_OPTIONS_INIT;
    o.spill_codec = (oc_codec)77;
    check_refused(&o, OC_EINVAL, "codec");
    o = (oc_options)OC_OPTIONS_INIT;
    o.spill_codec = OC_CODEC_ZSTD;
    o.spill_level = 10;
    check_refused(&o, OC_EINVAL, "level");
    o.spill_level = -11;
    check_refused(&o, OC_EINVAL, "level");
}

static void a_folder_that_cannot_be_used_is_named(void **state)
{
    (void)state;
    const char *folders[] = {folder, "/nowhere/at/all"};
    oc_options o = OC_OPTIONS_INIT;
    o.temp_dirs = folders;
    o.n_temp_dirs = 2;
    check_refused(&o, OC_EIO, "/nowhere/at/all");
}

static void options_of_an_older_version_are_taken(void **state)
{
    (void)state;
    oc_options o = OC_OPTIONS_INIT;
    o.struct_size = offsetof(oc_options, threads);
    o.memory_limit = 2 * MIB;
    o.threads = -5; /* behind what the caller knows */
    oc_context *context = NULL;
    assert_int_equal(oc_context_create(&o, &context, NULL), OC_OK);
    oc_metrics m;
    oc_context_metrics(context, &m);
    assert_int_equal(m.memory_limit, 2 * MIB);
    oc_context_destroy(context);
}

/* ---- sorting --------------------------------------------------------------------------------- */

static void check_sort_refused(const oc_sort_key *keys, size_t n, const oc_sort_options *options,
                               const char *words)
{
    oc_context *context = make_context(2 * MIB);
    for (int with_error = 0; with_error < 2; with_error++) {
        struct ArrowArrayStream input;
        struct ArrowArrayStream output;
        oc_error error = {0};
        make_input(1, &input);
        assert_int_equal(
            oc_sort(context, &input, keys, n, options, &output, with_error ? &error : NULL),
            OC_EINVAL);
        assert_null(input.release);
        assert_null(output.release);
        if (with_error && strstr(error.message, words) == NULL) {
            fail_msg("\"%s\" does not say \"%s\"", error.message, words);
        }
    }
    check_released(context);
}

static void bad_sorts_are_refused_and_take_the_input(void **state)
{
    (void)state;
    oc_sort_key key = {.column = "nope"};
    check_sort_refused(&key, 1, NULL, "nope");
    key = (oc_sort_key){.column_index = 3};
    check_sort_refused(&key, 1, NULL, "column 4");
    key = (oc_sort_key){.column_index = -1};
    check_sort_refused(&key, 1, NULL, "column 0");
    key = (oc_sort_key){.column = "k", .nulls = (oc_nulls)9};
    check_sort_refused(&key, 1, NULL, "nulls");
    key = (oc_sort_key){.column = "k"};
    oc_sort_options options = OC_SORT_OPTIONS_INIT;
    options.struct_size = 0;
    check_sort_refused(&key, 1, &options, "struct_size");
    options = (oc_sort_options)OC_SORT_OPTIONS_INIT;
    options.has_limit = true;
    options.limit = -1;
    check_sort_refused(&key, 1, &options, "limit");
}

static void a_limit_counts_only_with_has_limit(void **state)
{
    (void)state;
    static const struct {
        bool has_limit;
        int64_t limit;
        int64_t rows;
    } cases[] = {{true, 0, 0},   {false, 0, 3000},   {false, -7, 3000},
                 {true, 10, 10}, {true, 3000, 3000}, {true, INT64_MAX, 3000}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        oc_context *context = make_context(2 * MIB);
        struct ArrowArrayStream input;
        struct ArrowArrayStream output;
        oc_sort_key key = {.column = "k"};
        oc_sort_options options = OC_SORT_OPTIONS_INIT;
        options.has_limit = cases[i].has_limit;
        options.limit = cases[i].limit;
        make_input(3, &input);
        assert_int_equal(oc_sort(context, &input, &key, 1, &options, &output, NULL), OC_OK);
        assert_int_equal(drain(&output), cases[i].rows);
        check_released(context);
    }
}

static void the_schema_can_be_asked_for_at_any_time(void **state)
{
    (void)state;
    oc_context *context = make_context(2 * MIB);
    struct ArrowArrayStream input;
    struct ArrowArrayStream output;
    oc_sort_key key = {.column = "s", .descending = true};
    make_input(2, &input);
    assert_int_equal(oc_sort(context, &input, &key, 1, NULL, &output, NULL), OC_OK);
    int64_t rows = 0;
    for (bool more = true; more;) {
        struct ArrowSchema schema;
        struct ArrowArray array;
        assert_int_equal(output.get_schema(&output, &schema), 0);
        assert_int_equal(schema.n_children, 3);
        assert_string_equal(schema.children[1]->name, "s");
        assert_string_equal(schema.children[1]->format, "u");
        schema.release(&schema);
        assert_int_equal(output.get_next(&output, &array), 0);
        more = array.release != NULL;
        if (more) {
            rows += array.length;
            array.release(&array);
        }
    }
    assert_int_equal(rows, 2000);
    output.release(&output);
    check_released(context);
}

static void errors_of_the_input_come_through_the_stream(void **state)
{
    (void)state;
    oc_context *context = make_context(2 * MIB);
    arrow_stream_maker maker = {.columns = columns,
                                .n_columns = 3,
                                .maker = {.length = 100},
                                .n_batches = 3,
                                .fail_code = EIO,
                                .fail_at = 1,
                                .fail_message = "the cable is cut"};
    struct ArrowArrayStream input;
    struct ArrowArrayStream output;
    struct ArrowArray array;
    oc_sort_key key = {.column = "k"};
    arrow_make_stream(&maker, &input);
    assert_int_equal(oc_sort(context, &input, &key, 1, NULL, &output, NULL), OC_OK);
    for (int again = 0; again < 2; again++) {
        assert_int_not_equal(output.get_next(&output, &array), 0);
        assert_non_null(strstr(output.get_last_error(&output), "the cable is cut"));
    }
    output.release(&output);
    maker.fail_at = -1;
    arrow_make_stream(&maker, &input);
    oc_error error = {0};
    assert_int_equal(oc_sort(context, &input, &key, 1, NULL, &output, &error), OC_ESTREAM);
    assert_null(input.release);
    assert_null(output.release);
    check_released(context);
}

/* ---- releasing ------------------------------------------------------------------------------- */

/* A sort that spills, with two arrays out; released in the order given: s(tream), c(ontext),
 * a(rrays). */
static void release_in_order(const char *order)
{
    oc_context *context = make_context(MIB);
    struct ArrowArrayStream input;
    struct ArrowArrayStream output;
    struct ArrowArray arrays[2];
    oc_sort_key key = {.column = "s"};
    make_input(60, &input);
    assert_int_equal(oc_sort(context, &input, &key, 1, NULL, &output, NULL), OC_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(output.get_next(&output, &arrays[i]), 0);
        assert_non_null(arrays[i].release);
    }
    for (const char *what = order; *what != '\0'; what++) {
        if (*what == 's') {
            output.release(&output);
            assert_null(output.release);
        } else if (*what == 'c') {
            oc_context_destroy(context);
        } else {
            for (int i = 0; i < 2; i++) {
                /* Still readable, whatever went before. */
                const int64_t *ids = arrays[i].children[2]->buffers[1];
                volatile int64_t sum = 0;
                for (int64_t row = 0; row < arrays[i].length; row++) {
                    sum += ids[arrays[i].children[2]->offset + row] & 1;
                }
                arrays[i].release(&arrays[i]);
            }
        }
    }
    assert_int_equal(arrow_maker_live(), 0);
}

static void streams_arrays_and_context_go_in_any_order(void **state)
{
    (void)state;
    static const char *const orders[] = {"sca", "sac", "csa", "cas", "asc", "acs"};
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        release_in_order(orders[i]);
    }
}

static void a_stream_goes_on_without_its_context(void **state)
{
    (void)state;
    oc_context *context = make_context(MIB);
    struct ArrowArrayStream input;
    struct ArrowArrayStream output;
    oc_sort_key key = {.column = "s"};
    make_input(30, &input);
    assert_int_equal(oc_sort(context, &input, &key, 1, NULL, &output, NULL), OC_OK);
    oc_context_destroy(context);
    assert_int_equal(drain(&output), 30000);
    assert_int_equal(arrow_maker_live(), 0);
}

static void metrics_add_up(void **state)
{
    (void)state;
    oc_context *context = make_context(MIB);
    for (int64_t time = 1; time <= 2; time++) {
        struct ArrowArrayStream input;
        struct ArrowArrayStream output;
        oc_sort_key key = {.column = "s"};
        make_input(60, &input);
        assert_int_equal(oc_sort(context, &input, &key, 1, NULL, &output, NULL), OC_OK);
        assert_int_equal(drain(&output), 60000);
        oc_metrics m;
        oc_context_metrics(context, &m);
        assert_int_equal(m.rows_in, 60000 * time);
        assert_int_equal(m.rows_out, 60000 * time);
        assert_true(m.spill_count >= 2 * time);
        assert_true(m.runs >= 2 * time);
        assert_true(m.merge_passes >= 1);
        assert_true(m.spilled_rows > 0 && m.spilled_bytes > 0);
        assert_int_equal(m.read_back_bytes, m.spilled_bytes);
        assert_true(m.disk_peak > 0 && m.disk_peak <= m.spilled_bytes);
        assert_true(m.memory_peak > 0 && m.memory_peak <= MIB);
    }
    check_released(context);
}

static void a_quota_that_is_too_small_is_an_error_of_the_stream(void **state)
{
    (void)state;
    oc_options o = OC_OPTIONS_INIT;
    o.memory_limit = MIB;
    o.disk_limit = 100000;
    oc_context *context = NULL;
    assert_int_equal(oc_context_create(&o, &context, NULL), OC_OK);
    struct ArrowArrayStream input;
    struct ArrowArrayStream output;
    struct ArrowArray array;
    oc_sort_key key = {.column = "s"};
    make_input(60, &input);
    assert_int_equal(oc_sort(context, &input, &key, 1, NULL, &output, NULL), OC_OK);
    assert_int_equal(output.get_next(&output, &array), ENOSPC);
    assert_non_null(strstr(output.get_last_error(&output), "--disk-limit"));
    output.release(&output);
    check_released(context);
}

/* ---- selecting and files --------------------------------------------------------------------- */

static void select_takes_columns_in_the_order_given(void **state)
{
    (void)state;
    oc_context *context = make_context(2 * MIB);
    struct ArrowArrayStream input;
    struct ArrowArrayStream output;
    struct ArrowSchema schema;
    const char *wanted[] = {"id", "k"};
    make_input(2, &input);
    assert_int_equal(oc_select(context, &input, wanted, 2, &output, NULL), OC_OK);
    assert_int_equal(output.get_schema(&output, &schema), 0);
    assert_int_equal(schema.n_children, 2);
    assert_string_equal(schema.children[0]->name, "id");
    schema.release(&schema);
    assert_int_equal(drain(&output), 2000);
    const char *unknown[] = {"k", "nope"};
    oc_error error = {0};
    make_input(2, &input);
    assert_int_equal(oc_select(context, &input, unknown, 2, &output, &error), OC_EINVAL);
    assert_non_null(strstr(error.message, "nope"));
    assert_null(input.release);
    assert_null(output.release);
    check_released(context);
}

static void files_are_sorted_and_written(void **state)
{
    (void)state;
    oc_context *context = make_context(2 * MIB);
    const char *paths[] = {path_of("a.csv"), path_of("b.csv")};
    write_text(paths[0], "n,t\n3,c\n1,a\n");
    write_text(paths[1], "n,t\n2,b\n");
    struct ArrowArrayStream input;
    struct ArrowArrayStream sorted;
    oc_sort_key key = {.column = "N"}; /* case does not matter where it is not needed */
    assert_int_equal(oc_read_files(context, paths, 2, NULL, &input, NULL), OC_OK);
    assert_int_equal(oc_sort(context, &input, &key, 1, NULL, &sorted, NULL), OC_OK);
    const char *out = path_of("out.csv");
    int64_t rows = -1;
    assert_int_equal(oc_write_file(context, &sorted, out, NULL, &rows, NULL), OC_OK);
    assert_int_equal(rows, 3);
    assert_string_equal(read_text(out), "n,t\n1,a\n2,b\n3,c\n");
    unlink(paths[0]);
    unlink(paths[1]);
    unlink(out);
    check_released(context);
}

static void reading_refuses_what_is_not_there(void **state)
{
    (void)state;
    oc_context *context = make_context(2 * MIB);
    struct ArrowArrayStream stream;
    oc_error error = {0};
    const char *missing[] = {path_of("missing.csv")};
    assert_int_equal(oc_read_files(context, missing, 1, NULL, &stream, &error), OC_EIO);
    assert_int_equal(error.sys_errno, ENOENT);
    assert_non_null(strstr(error.message, "missing.csv"));
    assert_null(stream.release);
    assert_int_equal(oc_read_files(context, missing, 1, NULL, &stream, NULL), OC_EIO);
    assert_int_equal(oc_read_files(context, missing, 0, NULL, &stream, NULL), OC_EINVAL);
    oc_read_options options = OC_READ_OPTIONS_INIT;
    options.struct_size = 0;
    assert_int_equal(oc_read_files(context, missing, 1, &options, &stream, &error), OC_EINVAL);
    assert_int_equal(oc_inspect(context, missing[0], &options, NULL, NULL, &error), OC_EINVAL);
    assert_int_equal(oc_inspect(context, missing[0], NULL, NULL, NULL, NULL), OC_EIO);
    options = (oc_read_options)OC_READ_OPTIONS_INIT;
    const char *path = path_of("a.csv");
    write_text(path, "n,t\n3,c\n");
    options.format = OC_FORMAT_JSON;
    assert_int_equal(oc_read_files(context, &path, 1, &options, &stream, &error), OC_EUNSUPPORTED);
    options = (oc_read_options)OC_READ_OPTIONS_INIT;
    const char *select[] = {"t", "nope"};
    options.select = select;
    options.n_select = 2;
    assert_int_equal(oc_read_files(context, &path, 1, &options, &stream, &error), OC_EINVAL);
    assert_non_null(strstr(error.message, "nope"));
    assert_null(stream.release);
    unlink(path);
    check_released(context);
}

/* The writer of a named pipe is done before the stream is handed out. */
static void a_named_pipe_can_be_read(void **state)
{
    (void)state;
    oc_context *context = make_context(2 * MIB);
    const char *path = path_of("pipe");
    assert_int_equal(mkfifo(path, 0600), 0);
    pid_t child = fork();
    if (child == 0) {
        FILE *file = fopen(path, "w");
        fputs("n,t\n3,c\n", file);
        fclose(file);
        _exit(0);
    }
    struct ArrowArrayStream stream;
    assert_int_equal(oc_read_files(context, &path, 1, NULL, &stream, NULL), OC_OK);
    assert_int_equal(drain(&stream), 1);
    unlink(path);
    check_released(context);
}

static void a_failed_write_leaves_no_file_and_takes_the_input(void **state)
{
    (void)state;
    oc_context *context = make_context(2 * MIB);
    struct ArrowArrayStream input;
    oc_error error = {0};
    int64_t rows = -1;
    make_input(2, &input);
    assert_int_equal(oc_write_file(context, &input, "/nowhere/at/all.csv", NULL, &rows, &error),
                     OC_EIO);
    assert_null(input.release);
    assert_int_equal(rows, 0);
    oc_write_options options = OC_WRITE_OPTIONS_INIT;
    options.struct_size = 0;
    make_input(2, &input);
    assert_int_equal(oc_write_file(context, &input, path_of("x.csv"), &options, NULL, NULL),
                     OC_EINVAL);
    assert_null(input.release);
    options = (oc_write_options)OC_WRITE_OPTIONS_INIT;
    options.format = OC_FORMAT_TBL;
    make_input(2, &input);
    assert_int_equal(oc_write_file(context, &input, path_of("x.tbl"), &options, NULL, NULL),
                     OC_EUNSUPPORTED);
    arrow_stream_maker maker = {.columns = columns,
                                .n_columns = 3,
                                .maker = {.length = 100},
                                .n_batches = 3,
                                .fail_code = EIO,
                                .fail_at = 2};
    arrow_make_stream(&maker, &input);
    assert_int_equal(oc_write_file(context, &input, path_of("x.arrow"), NULL, &rows, &error),
                     OC_ESTREAM);
    assert_int_equal(rows, 200);
    check_released(context); /* and the folder is empty: see remove_folder() */
}

static void note_text(const char *text, size_t size, void *arg)
{
    char *all = arg;
    strncat(all, text, size);
}

static void inspect_tells_what_is_in_a_file(void **state)
{
    (void)state;
    oc_context *context = make_context(2 * MIB);
    const char *path = path_of("a.arrow");
    struct ArrowArrayStream input;
    make_input(3, &input);
    assert_int_equal(oc_write_file(context, &input, path, NULL, NULL, NULL), OC_OK);
    static char text[8192];
    assert_int_equal(oc_inspect(context, path, NULL, note_text, text, NULL), OC_OK);
    assert_non_null(strstr(text, "rows: 3000"));
    assert_non_null(strstr(text, "columns: 3"));
    unlink(path);
    path = path_of("a.csv");
    write_text(path, "n,t\n3,c\n4,d\n");
    text[0] = '\0';
    assert_int_equal(oc_inspect(context, path, NULL, note_text, text, NULL), OC_OK);
    assert_non_null(strstr(text, "rows: 2"));
    unlink(path);
    check_released(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_context_needs_no_options),
        cmocka_unit_test(options_out_of_range_are_refused),
        cmocka_unit_test(a_folder_that_cannot_be_used_is_named),
        cmocka_unit_test(options_of_an_older_version_are_taken),
        cmocka_unit_test(bad_sorts_are_refused_and_take_the_input),
        cmocka_unit_test(a_limit_counts_only_with_has_limit),
        cmocka_unit_test(the_schema_can_be_asked_for_at_any_time),
        cmocka_unit_test(errors_of_the_input_come_through_the_stream),
        cmocka_unit_test(streams_arrays_and_context_go_in_any_order),
        cmocka_unit_test(a_stream_goes_on_without_its_context),
        cmocka_unit_test(metrics_add_up),
        cmocka_unit_test(a_quota_that_is_too_small_is_an_error_of_the_stream),
        cmocka_unit_test(select_takes_columns_in_the_order_given),
        cmocka_unit_test(files_are_sorted_and_written),
        cmocka_unit_test(reading_refuses_what_is_not_there),
        cmocka_unit_test(a_named_pipe_can_be_read),
        cmocka_unit_test(a_failed_write_leaves_no_file_and_takes_the_input),
        cmocka_unit_test(inspect_tells_what_is_in_a_file),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
