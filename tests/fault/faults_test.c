/* Every call that the library makes of others fails in turn: see loop.h for how, seams.h for which.
 * The bodies here go through the public calls: texts, contexts, sorts of every path, columns
 * selected, files of every format read, written and described.
 *
 * The last case prints how many call sites were the failing one, of how many there are, and fails
 * when one was left out. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "fault/loop.h"
#include "fault/spill_bodies.h"
#include "support/arrow_maker.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char *const mixed[] = {"k=i", "s=u", "d=c>u", "p=d:15,2", "v=vz", "b=b", "f=g"};
static const char *const plain[] = {"k=l", "s=u", "f=g"};
static const char *const wide[] = {"k=i", "s=u", "id=l"};
static const char *const nested[] = {"k=+l(i)",       "n=+s(a=i; b=+l(u))", "v=+vl(vu)",
                                     "f=+w:3(d:9,2)", "m=+m(u; c>u)",       "r=+r(i; u)",
                                     "x=+L(c>u)"};
static const char *const dictionaries[] = {"k=i", "d=c>u", "e=i>u", "v=vu"};

static char *input_path(const char *name)
{
    static char paths[8][160];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/inputs/%s", fault_folder, name);
    return path;
}

static char *output_path(const fault_run *run, const char *name)
{
    static _Thread_local char path[160];
    snprintf(path, sizeof path, "%s/%s", run->outputs, name);
    return path;
}

/* ---- texts and contexts ------------------------------------------------------------------------ */

static oc_status parse_texts(fault_run *run)
{
    oc_sort_key *keys = NULL;
    size_t n = 0;
    OC_TRY(oc_parse_sort_keys("a, b desc nulls last, \"c \"\"d\" asc, 4, e, f, g, h, i, j, k",
                              &keys, &n, &run->error));
    fault_add(run, keys[1].column, strlen(keys[1].column) + 1);
    oc_free_sort_keys(keys, n);
    char **names = NULL;
    OC_TRY(oc_parse_names("a, \"b c\", d, e, f, g, h, i, j, k", &names, &n, &run->error));
    fault_add(run, names[n - 1], 2);
    oc_free_names(names, n);
    return OC_OK;
}

static oc_status only_context(fault_run *run)
{
    oc_metrics m;
    oc_context_metrics(run->context, &m);
    fault_add(run, &m.memory_limit, sizeof m.memory_limit);
    return OC_OK;
}

/* ---- sorts ------------------------------------------------------------------------------------- */

typedef struct sort_case {
    const char *const *columns;
    int32_t n_columns;
    oc_sort_key keys[2];
    size_t n_keys;
    int64_t n_batches;
    int64_t batch_rows;
    int32_t string_max;
    int64_t limit; /* 0: all rows */
    uint64_t seed;
} sort_case;

static oc_status sort_stream(fault_run *run, const sort_case *c)
{
    arrow_stream_maker maker = {
        .columns = c->columns,
        .n_columns = c->n_columns,
        .maker = {.seed = 11 + c->seed,
                  .length = c->batch_rows,
                  .null_percent = 10,
                  .distinct = 900,
                  .string_max = c->string_max},
        .n_batches = c->n_batches,
    };
    struct ArrowArrayStream input;
    struct ArrowArrayStream sorted;
    fault_make_stream(&maker, &input);
    oc_sort_options options = OC_SORT_OPTIONS_INIT;
    options.has_limit = c->limit > 0;
    options.limit = c->limit;
    OC_TRY(oc_sort(run->context, &input, c->keys, c->n_keys, &options, &sorted, &run->error));
    return fault_drain(run, &sorted);
}

static oc_status sort(fault_run *run)
{
    return sort_stream(run, run->arg);
}

static const sort_case sort_small = {
    mixed, 7, {{.column = "s"}, {.column = "k", .descending = true}}, 2, 3, 60, 0, 0, 0};
static const sort_case sort_no_keys = {plain, 3, {{.column = NULL}}, 0, 3, 60, 0, 0, 0};
static const sort_case sort_spilled = {
    mixed, 7, {{.column = "d"}, {.column = "s", .descending = true}}, 2, 16, 500, 300, 0, 0};
static const sort_case sort_narrow = {wide, 3, {{.column = "k"}}, 1, 20, 500, 500, 0, 0};
static const sort_case sort_top_k = {
    wide, 3, {{.column = "s", .descending = true}}, 1, 12, 500, 500, 20, 0};
static const sort_case sort_top_many = {wide, 3, {{.column = "k"}}, 1, 20, 500, 500, 6000, 0};
static const sort_case sort_dictionaries = {
    dictionaries, 4, {{.column = "e"}, {.column = "v"}}, 2, 24, 2000, 60, 0, 0};
static const sort_case sort_nested = {
    nested, 7, {{.column = "k"}, {.column = "n", .descending = true}}, 2, 3, 60, 0, 0, 0};
static const sort_case spill_nested = {
    nested, 7, {{.column = "n"}, {.column = "x"}}, 2, 24, 250, 60, 0, 0};
static const sort_case sort_passes = {wide, 3, {{.column = "k"}}, 1, 170, 40, 20000, 0, 0};

/* Two sorts at once in one context: they take memory from each other. */
typedef struct sort_thread {
    fault_run run;
    sort_case c;
    oc_status status;
} sort_thread;

static void *run_sort_thread(void *arg)
{
    sort_thread *t = arg;
    t->status = sort_stream(&t->run, &t->c);
    return NULL;
}

static oc_status sort_in_threads(fault_run *run)
{
    sort_thread threads[2];
    pthread_t handles[2];
    for (uint64_t i = 0; i < 2; i++) {
        threads[i] = (sort_thread){.run = *run, .c = *(const sort_case *)run->arg};
        threads[i].c.seed = i;
        threads[i].run.digest = 1;
        fault_suspend();
        assert_int_equal(pthread_create(&handles[i], NULL, run_sort_thread, &threads[i]), 0);
        fault_resume();
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(handles[i], NULL);
        fault_add(run, &threads[i].run.digest, sizeof run->digest);
    }
    for (int i = 0; i < 2; i++) {
        if (threads[i].status != OC_OK) {
            run->error = threads[i].run.error;
            return threads[i].status;
        }
    }
    return OC_OK;
}

/* A consumer that goes away after one batch. */
static oc_status sort_and_drop(fault_run *run)
{
    const sort_case *c = run->arg;
    arrow_stream_maker maker = {
        .columns = c->columns,
        .n_columns = c->n_columns,
        .maker = {.seed = 11, .length = c->batch_rows, .string_max = c->string_max},
        .n_batches = c->n_batches,
    };
    struct ArrowArrayStream input;
    struct ArrowArrayStream sorted;
    struct ArrowArray array = {0};
    fault_make_stream(&maker, &input);
    OC_TRY(oc_sort(run->context, &input, c->keys, c->n_keys, NULL, &sorted, &run->error));
    int code = sorted.get_next(&sorted, &array);
    const char *text = code == 0 ? NULL : sorted.get_last_error(&sorted);
    snprintf(run->error.message, sizeof run->error.message, "%s", text == NULL ? "" : text);
    sorted.release(&sorted);
    if (code == 0) {
        fault_add(run, array.children[2]->buffers[1], 8); /* still there */
        array.release(&array);
        return OC_OK;
    }
    return code == ENOMEM      ? OC_ENOMEM
           : code == ENOSPC    ? OC_ENOSPC
           : code == ECANCELED ? OC_ECANCELED
                               : OC_EIO;
}

/* ---- select ------------------------------------------------------------------------------------ */

static oc_status select_columns(fault_run *run)
{
    arrow_stream_maker maker = {
        .columns = mixed,
        .n_columns = 7,
        .maker = {.seed = 5, .length = 70, .null_percent = 20, .string_max = 40},
        .n_batches = 4,
        .vary = true,
    };
    static const char *const names[] = {"v", "d", "b"};
    struct ArrowArrayStream input;
    struct ArrowArrayStream selected;
    fault_make_stream(&maker, &input);
    OC_TRY(oc_select(run->context, &input, names, 3, &selected, &run->error));
    return fault_drain(run, &selected);
}

/* ---- reading ----------------------------------------------------------------------------------- */

typedef struct read_case {
    const char *name;   /* in inputs */
    const char *second; /* another file behind it, or NULL */
    oc_read_options options;
    bool through_pipe;
} read_case;

typedef struct feeder {
    const char *from;
    const char *to;
    atomic_bool stop;
    atomic_bool is_open;
    pthread_t thread;
} feeder;

/* Copies a file into a named pipe; ends when there is no reader any more. */
static void *feed(void *arg)
{
    feeder *f = arg;
    fault_suspend();
    FILE *from = fopen(f->from, "rb");
    FILE *to = fopen(f->to, "wb");
    char buffer[4096];
    atomic_store(&f->is_open, true);
    for (size_t n;
         to != NULL && !atomic_load(&f->stop) && (n = fread(buffer, 1, sizeof buffer, from)) > 0;) {
        if (fwrite(buffer, 1, n, to) < n) {
            break;
        }
    }
    fclose(from);
    if (to != NULL) {
        fclose(to);
    }
    return NULL;
}

static void start_feeding(feeder *f, const char *from)
{
    fault_suspend();
    *f = (feeder){0};
    f->from = from;
    f->to = input_path("pipe");
    unlink(f->to);
    assert_int_equal(mkfifo(f->to, 0600), 0);
    assert_int_equal(pthread_create(&f->thread, NULL, feed, f), 0);
    fault_resume();
}

/* Opening the pipe lets a feeder that still waits for a reader go on; closing it ends its writes. */
static void stop_feeding(feeder *f)
{
    fault_suspend();
    atomic_store(&f->stop, true);
    int fd = open(f->to, O_RDONLY | O_NONBLOCK);
    while (!atomic_load(&f->is_open)) {
        usleep(50);
    }
    close(fd);
    pthread_join(f->thread, NULL);
    unlink(f->to);
    fault_resume();
}

static oc_status read_paths(fault_run *run, const char *const *paths, size_t n_paths,
                            const oc_read_options *options)
{
    struct ArrowArrayStream stream;
    OC_TRY(oc_read_files(run->context, paths, n_paths, options, &stream, &run->error));
    return fault_drain(run, &stream);
}

static oc_status read_files(fault_run *run)
{
    const read_case *c = run->arg;
    const char *paths[2] = {input_path(c->name)};
    size_t n_paths = 1;
    if (c->second != NULL) {
        paths[n_paths++] = input_path(c->second);
    }
    oc_read_options options = c->options;
    options.struct_size = sizeof options;
    if (!c->through_pipe) {
        return read_paths(run, paths, n_paths, &options);
    }
    feeder f;
    start_feeding(&f, paths[0]);
    const char *pipe = f.to;
    oc_status status = read_paths(run, &pipe, 1, &options);
    stop_feeding(&f);
    return status;
}

static const char *const two_columns[] = {"s", "k"};

static const char *const nested_columns[] = {"r", "n"};

static const read_case reads[] = {
    {.name = "mixed.csv"},
    {.name = "mixed.csv", .options = {.select = two_columns, .n_select = 2, .null_text = "-"}},
    {.name = "quoted.csv", .options = {.columns = "a int64, b decimal(9,2), c utf8", .header = 1}},
    {.name = "quoted.csv", .second = "quoted.csv", .options = {.delimiter = ','}},
    {.name = "plain.tsv", .through_pipe = true},
    {.name = "plain.arrows"},
    {.name = "plain.arrow", .options = {.select = two_columns, .n_select = 2}},
    {.name = "mixed_lz4.arrows"},
    {.name = "mixed_zstd.arrow"},
    {.name = "dictionaries.arrows", .second = "dictionaries.arrows"},
    {.name = "dictionaries.arrow"},
    {.name = "nested.arrows"},
    {.name = "nested_zstd.arrow", .options = {.select = nested_columns, .n_select = 2}},
    {.name = "nested_zstd.arrow", .through_pipe = true},
    {.name = "big_nested.arrow"},
    {.name = "big.arrow"},
    {.name = "big_lz4.arrows"},
    {.name = "big.arrows", .through_pipe = true},
    {.name = "big_lz4.arrows", .through_pipe = true},
    {.name = "dictionaries.arrow", .through_pipe = true},
    {.name = "dictionaries.arrows", .through_pipe = true},
    {.name = "rows.spill"},
    {.name = "mixed.parquet"},
    {.name = "mixed.parquet", .options = {.select = two_columns, .n_select = 2}},
    {.name = "mixed.parquet", .second = "mixed.parquet"},
    {.name = "dictionaries.parquet"},
    {.name = "nested.parquet"},
};
static const read_case read_parquet_by_threads = {.name = "nested.parquet"};

/* ---- writing ----------------------------------------------------------------------------------- */

typedef struct write_case {
    const char *name; /* of the output */
    oc_write_options options;
    const char *const *columns;
    int32_t n_columns;
    oc_format read_as; /* how the result is looked at: AUTO = byte by byte */
    bool replaces;     /* there is a file of that name */
    bool through_link; /* the name is a link to a file */
} write_case;

static const char old_text[] = "what was there before";

static void add_bytes_of(fault_run *run, const char *path)
{
    char buffer[4096];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, file)) > 0;) {
        fault_add(run, buffer, n);
    }
    fclose(file);
}

static void put_old_file(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(old_text, file);
    fclose(file);
}

/* After a failure the old file is as it was; it is removed, so that nothing is left. */
static void check_old_file(const char *path)
{
    char text[64] = {0};
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    assert_string_equal(text, old_text);
    unlink(path);
}

static void prepare_output(const fault_run *run, const write_case *c, char *path, char *target)
{
    fault_suspend();
    snprintf(path, 160, "%s", output_path(run, c->name));
    snprintf(target, 160, "%s", output_path(run, c->through_link ? "target" : c->name));
    unlink(path);
    unlink(target);
    if (c->through_link) {
        assert_int_equal(symlink(target, path), 0);
    }
    if (c->replaces) {
        put_old_file(target);
    }
    fault_resume();
}

static void look_at_output(fault_run *run, const write_case *c, const char *path,
                           const char *target, oc_status status)
{
    struct stat info;
    fault_suspend();
    if (status == OC_OK && c->read_as != OC_FORMAT_AUTO) {
        run->digest = fault_digest_of_file(target, c->read_as);
    } else if (status == OC_OK) {
        add_bytes_of(run, target);
    } else if (c->replaces) {
        check_old_file(target);
    }
    if (c->through_link) {
        assert_true(lstat(path, &info) == 0 && S_ISLNK(info.st_mode));
        unlink(path);
    }
    fault_resume();
}

static oc_status write_file(fault_run *run)
{
    const write_case *c = run->arg;
    arrow_stream_maker maker = {
        .columns = c->columns,
        .n_columns = c->n_columns,
        .maker = {.seed = 8, .length = 90, .null_percent = 10, .distinct = 40, .string_max = 50},
        .n_batches = 4,
    };
    char path[160];
    char target[160];
    prepare_output(run, c, path, target);
    struct ArrowArrayStream input;
    fault_make_stream(&maker, &input);
    oc_write_options options = c->options;
    options.struct_size = sizeof options;
    int64_t rows = 0;
    oc_status status = oc_write_file(run->context, &input, path, &options, &rows, &run->error);
    look_at_output(run, c, path, target, status);
    return status;
}

static const write_case writes[] = {
    {.name = "a.csv", .columns = mixed, .n_columns = 7},
    {.name = "a.csv", .columns = plain, .n_columns = 3, .replaces = true},
    {.name = "a.csv", .columns = plain, .n_columns = 3, .replaces = true, .through_link = true},
    {.name = "a.json", .columns = mixed, .n_columns = 7},
    {.name = "a.ndjson", .columns = mixed, .n_columns = 7},
    {.name = "a.txt", .options = {.format = OC_FORMAT_TABLE}, .columns = mixed, .n_columns = 7},
    {.name = "a.arrows", .columns = mixed, .n_columns = 7, .read_as = OC_FORMAT_ARROWS},
    {.name = "a.arrow",
     .options = {.codec = OC_CODEC_LZ4},
     .columns = mixed,
     .n_columns = 7,
     .read_as = OC_FORMAT_ARROW},
    {.name = "a.arrow",
     .options = {.codec = OC_CODEC_ZSTD},
     .columns = dictionaries,
     .n_columns = 4,
     .read_as = OC_FORMAT_ARROW},
    {.name = "a.arrow", .columns = nested, .n_columns = 7, .read_as = OC_FORMAT_ARROW},
    {.name = "a.arrows",
     .options = {.codec = OC_CODEC_LZ4},
     .columns = nested,
     .n_columns = 7,
     .read_as = OC_FORMAT_ARROWS},
    {.name = "a.arrows",
     .options = {.codec = OC_CODEC_ZSTD},
     .columns = dictionaries,
     .n_columns = 4,
     .read_as = OC_FORMAT_ARROWS,
     .replaces = true},
    {.name = "a.parquet",
     .options = {.row_group_rows = 200},
     .columns = mixed,
     .n_columns = 7,
     .read_as = OC_FORMAT_PARQUET},
    {.name = "a.parquet",
     .options = {.codec = OC_CODEC_BROTLI},
     .columns = nested,
     .n_columns = 7,
     .read_as = OC_FORMAT_PARQUET},
    {.name = "a.parquet",
     .options = {.codec = OC_CODEC_GZIP},
     .columns = dictionaries,
     .n_columns = 4,
     .read_as = OC_FORMAT_PARQUET,
     .replaces = true},
};

/* A sort between two files, as the program does it. */
static oc_status sort_file_to_file(fault_run *run)
{
    static const oc_sort_key key = {.column = "s"};
    const char *path = input_path("big_lz4.arrows");
    char out[160];
    snprintf(out, sizeof out, "%s", output_path(run, "sorted.arrows"));
    oc_write_options options = OC_WRITE_OPTIONS_INIT;
    options.format = OC_FORMAT_ARROWS;
    struct ArrowArrayStream input;
    struct ArrowArrayStream sorted;
    OC_TRY(oc_read_files(run->context, &path, 1, NULL, &input, &run->error));
    OC_TRY(oc_sort(run->context, &input, &key, 1, NULL, &sorted, &run->error));
    OC_TRY(oc_write_file(run->context, &sorted, out, &options, NULL, &run->error));
    run->digest = fault_digest_of_file(out, OC_FORMAT_ARROWS);
    return OC_OK;
}

/* ---- inspecting -------------------------------------------------------------------------------- */

static void add_text(const char *text, size_t size, void *arg)
{
    fault_add(arg, text, size);
}

/* What is printed counts when all of it was. */
static oc_status inspect(fault_run *run)
{
    return oc_inspect(run->context, input_path(run->arg), NULL, add_text, run, &run->error);
}

/* ---- inputs ------------------------------------------------------------------------------------ */

static void make_input(const char *name, oc_codec codec, const char *const *columns,
                       int32_t n_columns, int64_t batch_rows, int64_t n_batches)
{
    arrow_stream_maker maker = {
        .columns = columns,
        .n_columns = n_columns,
        .maker = {.seed = 21,
                  .length = batch_rows,
                  .null_percent = 10,
                  .distinct = 60,
                  .string_max = 60},
        .n_batches = n_batches,
    };
    oc_context *context;
    oc_error error = {0};
    struct ArrowArrayStream stream;
    oc_write_options options = OC_WRITE_OPTIONS_INIT;
    options.codec = codec;
    options.row_group_rows = 150;
    arrow_make_stream(&maker, &stream);
    if (oc_context_create(NULL, &context, &error) != OC_OK ||
        oc_write_file(context, &stream, input_path(name), &options, NULL, &error) != OC_OK) {
        fail_msg("%s: %s", name, error.message);
    }
    oc_context_destroy(context);
}

static void make_quoted(void)
{
    FILE *file = fopen(input_path("quoted.csv"), "w");
    assert_non_null(file);
    fputs("a,b,c\n", file);
    for (int i = 0; i < 300; i++) {
        fprintf(file, "%d,%d.%02d,\"text, with \"\"quotes\"\"\nand %*s lines\"\n", i, i * 7,
                i % 100, i % 90, "");
    }
    fclose(file);
}

static int set_up(void **state)
{
    (void)state;
    fault_suspend(); /* this thread, but for what the bodies do */
    fault_set_up_folders();
    make_input("mixed.csv", OC_CODEC_NONE, mixed, 7, 100, 4);
    make_input("plain.tsv", OC_CODEC_NONE, plain, 3, 100, 4);
    make_input("plain.arrows", OC_CODEC_NONE, plain, 3, 100, 4);
    make_input("plain.arrow", OC_CODEC_NONE, plain, 3, 100, 4);
    make_input("mixed_lz4.arrows", OC_CODEC_LZ4, mixed, 7, 100, 4);
    make_input("mixed_zstd.arrow", OC_CODEC_ZSTD, mixed, 7, 100, 4);
    make_input("dictionaries.arrows", OC_CODEC_NONE, dictionaries, 4, 100, 4);
    make_input("dictionaries.arrow", OC_CODEC_LZ4, dictionaries, 4, 100, 4);
    make_input("big.arrow", OC_CODEC_NONE, mixed, 7, 5000, 1);
    make_input("big.arrows", OC_CODEC_NONE, mixed, 7, 5000, 1);
    make_input("big_lz4.arrows", OC_CODEC_LZ4, mixed, 7, 5000, 1);
    make_input("nested.arrows", OC_CODEC_NONE, nested, 7, 60, 4);
    make_input("nested_zstd.arrow", OC_CODEC_ZSTD, nested, 7, 60, 4);
    make_input("big_nested.arrow", OC_CODEC_NONE, nested, 7, 2000, 1);
    make_input("mixed.parquet", OC_CODEC_SNAPPY, mixed, 7, 100, 4);
    make_input("dictionaries.parquet", OC_CODEC_NONE, dictionaries, 4, 100, 4);
    make_input("nested.parquet", OC_CODEC_ZSTD, nested, 7, 60, 4);
    make_quoted();
    fault_make_spill_file(input_path("rows.spill"));
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    fault_remove_folders();
    return 0;
}

/* ---- cases ------------------------------------------------------------------------------------- */

static const fault_body small_bodies[] = {
    {.name = "parse texts", .run = parse_texts},
    {.name = "make a context", .run = only_context},
    {.name = "make a context without O_TMPFILE", .run = only_context, .no_tmpfile = true},
    {.name = "make a context for zstd", .run = only_context, .codec = OC_CODEC_ZSTD},
    {.name = "select columns", .run = select_columns},
    {.name = "inspect a stream", .run = inspect, .arg = "mixed_lz4.arrows"},
    {.name = "inspect a file", .run = inspect, .arg = "dictionaries.arrow"},
    {.name = "inspect text", .run = inspect, .arg = "quoted.csv"},
    {.name = "inspect a spill file", .run = inspect, .arg = "rows.spill"},
    {.name = "inspect a Parquet file", .run = inspect, .arg = "nested.parquet"},
};

static const fault_body sort_bodies[] = {
    {.name = "sort in memory", .run = sort, .arg = &sort_small},
    {.name = "sort in memory with threads", .run = sort, .arg = &sort_small, .threads = 4},
    {.name = "sort by no keys", .run = sort, .arg = &sort_no_keys},
    {.name = "spill plain",
     .run = sort,
     .arg = &sort_narrow,
     .codec = OC_CODEC_NONE,
     .must_spill = true},
    {.name = "spill with lz4",
     .run = sort,
     .arg = &sort_spilled,
     .codec = OC_CODEC_LZ4,
     .must_spill = true},
    {.name = "spill with zstd, no O_TMPFILE",
     .run = sort,
     .arg = &sort_narrow,
     .codec = OC_CODEC_ZSTD,
     .no_tmpfile = true,
     .must_spill = true},
    {.name = "spill as Arrow lays it out, unchecked",
     .run = sort,
     .arg = &sort_spilled,
     .codec = OC_CODEC_NONE,
     .encoding = OC_SPILL_ENCODING_PLAIN,
     .no_checksums = true,
     .must_spill = true},
    {.name = "spill strings as lengths and bytes",
     .run = sort,
     .arg = &sort_narrow,
     .codec = OC_CODEC_ZSTD,
     .encoding = OC_SPILL_ENCODING_LENGTHS,
     .must_spill = true},
    {.name = "spill sealed",
     .run = sort,
     .arg = &sort_narrow,
     .codec = OC_CODEC_LZ4,
     .encrypt = true,
     .must_spill = true},
    {.name = "spill sealed dictionaries as Arrow lays them out",
     .run = sort,
     .arg = &sort_dictionaries,
     .codec = OC_CODEC_NONE,
     .encoding = OC_SPILL_ENCODING_PLAIN,
     .encrypt = true,
     .must_spill = true},
    {.name = "top k in memory", .run = sort, .arg = &sort_top_k},
    {.name = "top k spilled", .run = sort, .arg = &sort_top_many, .must_spill = true},
    {.name = "spill dictionaries", .run = sort, .arg = &sort_dictionaries, .must_spill = true},
    {.name = "several passes",
     .run = sort,
     .arg = &sort_passes,
     .codec = OC_CODEC_NONE,
     .must_spill = true,
     .is_heavy = true,
     .merge_passes = 2},
    {.name = "sort nested columns", .run = sort, .arg = &sort_nested},
    {.name = "spill nested columns", .run = sort, .arg = &spill_nested, .must_spill = true},
    {.name = "drop the result", .run = sort_and_drop, .arg = &sort_narrow, .must_spill = true},
    {.name = "sort a file into a file", .run = sort_file_to_file},
};

static const fault_body two_threads = {.name = "two threads in one context",
                                       .run = sort_in_threads,
                                       .arg = &sort_narrow,
                                       .threads = 2,
                                       .own_threads = true,
                                       .must_spill = true};

static void loop_all(const fault_body *bodies, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fault_loop(&bodies[i]);
    }
}

static void texts_and_contexts_survive_every_failure(void **state)
{
    (void)state;
    loop_all(small_bodies, COUNT(small_bodies));
    fault_check_none_wrong();
}

static void reading_survives_every_failure(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(reads); i++) {
        char name[96];
        snprintf(name, sizeof name, "read %s%s", reads[i].name,
                 reads[i].through_pipe ? " through a pipe" : "");
        fault_loop(&(fault_body){.name = name, .run = read_files, .arg = &reads[i]});
    }
    fault_loop(&(fault_body){.name = "read columns of Parquet in threads",
                             .run = read_files,
                             .arg = &read_parquet_by_threads,
                             .threads = 4,
                             .own_threads = true});
    fault_check_none_wrong();
}

static void writing_survives_every_failure(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(writes); i++) {
        char name[96];
        snprintf(name, sizeof name, "write %s (%d)", writes[i].name, (int)i);
        fault_body body = {.name = name, .run = write_file, .arg = &writes[i]};
        fault_loop(&body);
        if (i < 2 || i == COUNT(writes) - 1) {
            body.no_tmpfile = true;
            fault_loop(&body);
        }
    }
    fault_check_none_wrong();
}

static void sorting_survives_every_failure(void **state)
{
    (void)state;
    loop_all(sort_bodies, COUNT(sort_bodies));
    fault_check_none_wrong();
}

static void spilling_alone_survives_every_failure(void **state)
{
    (void)state;
    loop_all(fault_spill_bodies, (size_t)fault_n_spill_bodies);
    fault_check_none_wrong();
}

static void sorts_on_two_threads_survive_every_failure(void **state)
{
    (void)state;
    loop_all(&two_threads, 1);
    fault_check_none_wrong();
}

static void work_can_be_canceled_at_every_step(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(sort_bodies); i += fault_is_slow() ? 1 : 3) {
        fault_cancel_loop(&sort_bodies[i]);
    }
    fault_cancel_loop(&two_threads);
    for (size_t i = 0; i < COUNT(reads); i += fault_is_slow() ? 1 : 3) {
        fault_cancel_loop(
            &(fault_body){.name = reads[i].name, .run = read_files, .arg = &reads[i]});
    }
    for (size_t i = 0; i < COUNT(writes); i += fault_is_slow() ? 1 : 3) {
        fault_cancel_loop(
            &(fault_body){.name = writes[i].name, .run = write_file, .arg = &writes[i]});
    }
    fault_check_none_wrong();
}

static void every_call_site_was_the_failing_one(void **state)
{
    (void)state;
    int64_t seen = 0;
    int64_t missed = fault_report(stdout, &seen);
    printf("call sites made to fail: %d of %d\n", (int)(seen - missed), (int)seen);
    assert_true(missed * 100 <= seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_and_contexts_survive_every_failure),
        cmocka_unit_test(reading_survives_every_failure),
        cmocka_unit_test(writing_survives_every_failure),
        cmocka_unit_test(sorting_survives_every_failure),
        cmocka_unit_test(spilling_alone_survives_every_failure),
        cmocka_unit_test(sorts_on_two_threads_survive_every_failure),
        cmocka_unit_test(work_can_be_canceled_at_every_step),
        cmocka_unit_test(every_call_site_was_the_failing_one),
    };
    signal(SIGPIPE, SIG_IGN); /* feeders of pipes outlive their readers */
    return cmocka_run_group_tests(tests, set_up, clean_up);
}
