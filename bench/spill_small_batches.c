/* spill_small_batches: does a sort spill as little and as fast when its input comes in tiny batches?
 *
 *     spill_small_batches [--rows N] [--batch 64,8192] [--codec lz4,zstd] [--encoding auto]
 *                         [--runs N] [--memory MIB] [--dir DIR] [--csv FILE] [--dump FILE]
 *
 * 1,600,000 rows with a key out of order and six short strings of few values, sorted in 100 MiB, the
 * result drained; batches of input and output have the same number of rows at most. Only the public
 * API is used, with one context per codec and encoding that is kept from run to run. Jobs take
 * turns; a first turn is not counted. The table shows medians and what each job takes beside the
 * largest batches. --csv writes batch_rows,codec,encoding,spilled_bytes,spilled_rows,seconds;
 * --dump only writes the rows to an Arrow file, for peers. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "outcore/outcore.h"
#include "support/bench_measure.h"
#include "support/bench_table.h"

enum { BATCH_SIZES = 4, CODECS = 3, ENCODINGS = 2, JOBS_MAX = BATCH_SIZES * CODECS * ENCODINGS };

static const int64_t batch_sizes[BATCH_SIZES] = {64, 128, 256, 8192};
static const struct {
    const char *name;
    oc_codec codec;
} codecs[CODECS] = {{"none", OC_CODEC_NONE}, {"lz4", OC_CODEC_LZ4}, {"zstd", OC_CODEC_ZSTD}};
static const char *const encodings[ENCODINGS] = {"lengths", "auto"};

typedef struct options {
    const char *batches; /* comma-separated, NULL = all */
    const char *codecs;
    const char *encodings;
    const char *folder;
    const char *csv;
    const char *dump;
    int64_t rows;
    int64_t memory_mib;
    int runs;
} options;

typedef struct job {
    int64_t batch_rows;
    bench_table *table;
    int codec;
    int encoding;
    oc_context *context;
    int64_t spilled_bytes;
    int64_t spilled_rows;
    bench_samples seconds;
} sort_job;

static bool is_chosen(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0')) {
            return true;
        }
    }
    return list == NULL;
}

/* ---- one sort -------------------------------------------------------------------------------- */

static int64_t drain(struct ArrowArrayStream *stream)
{
    int64_t rows = 0;
    for (;;) {
        struct ArrowArray array;
        if (stream->get_next(stream, &array) != 0) {
            fprintf(stderr, "%s\n", stream->get_last_error(stream));
            exit(1);
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

static void run_job(sort_job *job, bool is_counted)
{
    oc_error err;
    oc_metrics before;
    oc_metrics after;
    struct ArrowArrayStream input;
    struct ArrowArrayStream sorted;
    oc_sort_key key = {.column = "k"};
    bench_table_stream(job->table, &input);
    oc_context_metrics(job->context, &before);
    double began = bench_now();
    bench_check(oc_sort(job->context, &input, &key, 1, NULL, &sorted, &err), &err);
    int64_t rows = drain(&sorted);
    double seconds = bench_now() - began;
    oc_context_metrics(job->context, &after);
    if (rows != job->table->rows) {
        fprintf(stderr, "%lld rows came out\n", (long long)rows);
        exit(1);
    }
    job->spilled_bytes = after.spilled_bytes - before.spilled_bytes;
    job->spilled_rows = after.spilled_rows - before.spilled_rows;
    if (is_counted) {
        bench_samples_add(&job->seconds, seconds);
    }
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static oc_context *make_context(const options *o, const sort_job *job)
{
    oc_error err;
    oc_context *context = NULL;
    oc_options settings = OC_OPTIONS_INIT;
    settings.memory_limit = o->memory_mib << 20;
    settings.threads = 1;
    settings.batch_rows = job->batch_rows;
    settings.spill_codec = codecs[job->codec].codec;
    settings.spill_encoding = job->encoding == 0 ? OC_SPILL_ENCODING_LENGTHS
                                                 : OC_SPILL_ENCODING_AUTO;
    if (o->folder != NULL) {
        settings.temp_dirs = &o->folder;
        settings.n_temp_dirs = 1;
    }
    bench_check(oc_context_create(&settings, &context, &err), &err);
    return context;
}

static int list_jobs(const options *o, bench_table *tables, sort_job *jobs)
{
    int n = 0;
    for (int b = 0; b < BATCH_SIZES; b++) {
        char text[24];
        snprintf(text, sizeof text, "%lld", (long long)batch_sizes[b]);
        if (!is_chosen(o->batches, text)) {
            continue;
        }
        bench_table_make(bench_set_find("small_batches"), o->rows, batch_sizes[b], &tables[b]);
        for (int c = 0; c < CODECS; c++) {
            for (int e = 0; e < ENCODINGS; e++) {
                if (is_chosen(o->codecs, codecs[c].name) && is_chosen(o->encodings, encodings[e])) {
                    jobs[n] = (sort_job){.batch_rows = batch_sizes[b],
                                         .table = &tables[b],
                                         .codec = c,
                                         .encoding = e};
                    jobs[n].context = make_context(o, &jobs[n]);
                    n++;
                }
            }
        }
    }
    return n;
}

/* ---- output ---------------------------------------------------------------------------------- */

static const sort_job *find(const sort_job *jobs, int n, int64_t batch_rows, int codec,
                            int encoding)
{
    for (int j = 0; j < n; j++) {
        if (jobs[j].batch_rows == batch_rows && jobs[j].codec == codec &&
            jobs[j].encoding == encoding) {
            return &jobs[j];
        }
    }
    return NULL;
}

static void print_jobs(const sort_job *jobs, int n)
{
    printf("| rows per batch | codec | encoding | spilled MiB | s (min-max) | x bytes of 8192 | "
           "x time of 8192 |\n|---|---|---|---|---|---|---|\n");
    for (int j = 0; j < n; j++) {
        const sort_job *at = &jobs[j];
        const sort_job *large = find(jobs, n, 8192, at->codec, at->encoding);
        double median = bench_samples_median(&at->seconds);
        printf("| %lld | %s | %s | %.2f | %.3f (%.3f-%.3f) |", (long long)at->batch_rows,
               codecs[at->codec].name, encodings[at->encoding], (double)at->spilled_bytes / 1048576,
               median, bench_samples_min(&at->seconds), bench_samples_max(&at->seconds));
        if (large != NULL && large->spilled_bytes > 0) {
            printf(" %.2f | %.2f |\n", (double)at->spilled_bytes / (double)large->spilled_bytes,
                   median / bench_samples_median(&large->seconds));
        } else {
            printf(" | |\n");
        }
    }
}

static void print_figure(const char *what, const char *codec, double value, double limit)
{
    printf("| %s, %s | %.3f | <= %.3f | %s |\n", what, codec, value, limit,
           value <= limit ? "reached" : "not reached");
}

static void print_figures(const sort_job *jobs, int n)
{
    printf("\n| figure | measured | to reach | |\n|---|---|---|---|\n");
    for (int c = 1; c < CODECS; c++) {
        const sort_job *lengths = find(jobs, n, 8192, c, 0);
        const sort_job *packed = find(jobs, n, 8192, c, 1);
        const sort_job *small = find(jobs, n, 64, c, 1);
        if (lengths != NULL && packed != NULL) {
            print_figure("8192 rows: auto, x bytes of lengths", codecs[c].name,
                         (double)packed->spilled_bytes / (double)lengths->spilled_bytes, 0.6);
        }
        if (small != NULL && packed != NULL) {
            print_figure("64 rows: x bytes of 8192", codecs[c].name,
                         (double)small->spilled_bytes / (double)packed->spilled_bytes, 1.3);
            print_figure(
                "64 rows: x time of 8192", codecs[c].name,
                bench_samples_median(&small->seconds) / bench_samples_median(&packed->seconds), 2);
        }
    }
}

static void write_csv(const char *path, const sort_job *jobs, int n)
{
    FILE *out = fopen(path, "w");
    if (out == NULL) {
        perror(path);
        exit(1);
    }
    fprintf(out, "batch_rows,codec,encoding,spilled_bytes,spilled_rows,seconds\n");
    for (int j = 0; j < n; j++) {
        fprintf(out, "%lld,%s,%s,%lld,%lld,%.4f\n", (long long)jobs[j].batch_rows,
                codecs[jobs[j].codec].name, encodings[jobs[j].encoding],
                (long long)jobs[j].spilled_bytes, (long long)jobs[j].spilled_rows,
                bench_samples_median(&jobs[j].seconds));
    }
    if (fclose(out) != 0) {
        perror(path);
        exit(1);
    }
}

/* ---- options --------------------------------------------------------------------------------- */

static bool read_option(options *o, const char *name, const char *value)
{
    if (strcmp(name, "--batch") == 0) {
        o->batches = value;
    } else if (strcmp(name, "--codec") == 0) {
        o->codecs = value;
    } else if (strcmp(name, "--encoding") == 0) {
        o->encodings = value;
    } else if (strcmp(name, "--dir") == 0) {
        o->folder = value;
    } else if (strcmp(name, "--csv") == 0) {
        o->csv = value;
    } else if (strcmp(name, "--dump") == 0) {
        o->dump = value;
    } else if (strcmp(name, "--rows") == 0) {
        o->rows = strtoll(value, NULL, 10);
    } else if (strcmp(name, "--memory") == 0) {
        o->memory_mib = strtoll(value, NULL, 10);
    } else if (strcmp(name, "--runs") == 0) {
        o->runs = (int)strtol(value, NULL, 10);
    } else {
        return false;
    }
    return true;
}

static int dump_rows(const options *o)
{
    bench_table table;
    bench_table_make(bench_set_find("small_batches"), o->rows, 8192, &table);
    bench_table_write(&table, o->dump);
    bench_table_free(&table);
    return 0;
}

int main(int argc, char **argv)
{
    options o = {.rows = 1600000, .memory_mib = 100, .runs = 5};
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 >= argc || !read_option(&o, argv[i], argv[i + 1])) {
            fputs("spill_small_batches: the opening comment of its source lists the options\n",
                  stderr);
            return 2;
        }
    }
    if (o.dump != NULL) {
        return dump_rows(&o);
    }
    static sort_job jobs[JOBS_MAX];
    static bench_table tables[BATCH_SIZES];
    int n = list_jobs(&o, tables, jobs);
    for (int turn = 0; turn <= o.runs; turn++) {
        for (int j = 0; j < n; j++) {
            run_job(&jobs[j], turn > 0);
        }
    }
    printf("%lld rows in %lld MiB, %d turns\n\n", (long long)o.rows, (long long)o.memory_mib,
           o.runs);
    print_jobs(jobs, n);
    print_figures(jobs, n);
    if (o.csv != NULL) {
        write_csv(o.csv, jobs, n);
    }
    for (int j = 0; j < n; j++) {
        oc_context_destroy(jobs[j].context);
    }
    for (int b = 0; b < BATCH_SIZES; b++) {
        bench_table_free(&tables[b]);
    }
    return 0;
}
