/* spill_io: writes a table to a spill file and reads it back, for data sets x codecs x encodings.
 *
 *     spill_io [--set q2,wide] [--codec zstd,auto] [--encoding auto] [--guard checksums,none,seal]
 *              [--level N] [--runs N] [--feed collector|batches] [--dir DIR] [--throttle MB/s]
 *              [--csv FILE] [--sizes] [--keep DIR] [--dump DIR]
 *
 * Sets q2, q16, q20 and wide are 50 batches of 8192 rows, written and read back; read_100 is one batch
 * written 100 times, of which only the reading is timed. The jobs of a set take turns, so that noise
 * of the machine meets all of them; a first turn is not counted. Shown are
 * medians, with the fastest and the slowest turn. Throughput is in bytes of memory, not of disk.
 * memcpy of the machine is measured in between.
 *
 *   --feed     collector: blocks of about 1 MiB, as the spill API makes them; batches: one block per
 *              batch, as an operator hands them over that has cut its blocks itself
 *   --throttle every read and write takes as long as on a disk of so many MB/s
 *   --csv      writes set,codec,encoding,memory_bytes,disk_bytes,write_seconds,read_seconds,writes
 *   --sizes    one turn that checks every value, and set,codec,encoding,memory_bytes,disk_bytes alone
 *   --keep     leaves each spill file in DIR as SET-CODEC-ENCODING.spill
 *   --dump     writes the tables to DIR as Arrow files, for peers
 *
 * Behind the tables: what checksums and encryption cost, and the figures to reach. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/bench_figures.h"
#include "support/bench_measure.h"
#include "support/bench_spill.h"

enum {
    BATCH_ROWS = 8192,
    BATCHES = 50,
    READ_TIMES = 100,
    JOBS_MAX = 32,
};

static const char *const set_names[] = {"q2", "q16", "q20", "wide", "read_100"};
static const char *const codec_names[] = {"uncompressed", "lz4_frame", "zstd", "auto"};
static const char *const encoding_names[] = {"auto", "plain", "lengths"};
static const char *const guard_names[] = {"checksums", "none", "seal"};
enum { SETS = 5, CODECS = 4, ENCODINGS = 3, GUARDS = 3 };

typedef struct options {
    const char *sets; /* comma-separated, NULL = all */
    const char *codecs;
    const char *encodings;
    const char *guards;
    const char *folder;
    const char *csv;
    const char *keep;
    const char *dump;
    bool is_sizes;
    bench_feed feed;
    int level;
    int runs;
    double throttle; /* MB/s, 0 = not */
} options;

/* Is `name` one of the comma-separated names? */
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

/* ---- jobs ------------------------------------------------------------------------------------ */

static void add_job(bench_result *results, int *n, const char *set, int codec, int encoding,
                    bench_guard guard)
{
    results[(*n)++] = (bench_result){.set = set,
                                     .codec = codec_names[codec],
                                     .encoding = encoding_names[encoding],
                                     .guard = guard};
}

/* What is measured with one set. read_100 is about reading, so without a codec. Checksums are left
 * out, or messages sealed, without a codec too, where that costs most. */
static int list_jobs(const options *o, const char *set, bench_result *results)
{
    int n = 0;
    bool reading = strcmp(set, "read_100") == 0;
    int n_codecs = reading ? 1 : CODECS;
    n_codecs -= o->is_sizes && !reading; /* what auto does depends on speeds */
    for (bench_guard g = 0; g < (o->is_sizes ? 1 : GUARDS); g++) {
        for (int c = 0; c < (g == BENCH_GUARD_CHECKSUMS ? n_codecs : 1); c++) {
            for (int e = 0; e < (g == BENCH_GUARD_CHECKSUMS ? ENCODINGS : 2); e++) {
                if (is_chosen(o->codecs, codec_names[c]) &&
                    is_chosen(o->encodings, encoding_names[e]) &&
                    is_chosen(o->guards, guard_names[g]) &&
                    (g != BENCH_GUARD_SEAL || oci_seal_is_available())) {
                    add_job(results, &n, set, c, e, g);
                }
            }
        }
    }
    return n;
}

static oci_spill_settings settings_of(const options *o, const bench_result *job)
{
    oci_spill_settings settings = {.level = o->level,
                                   .no_checksums = job->guard == BENCH_GUARD_NONE,
                                   .is_sealed = job->guard == BENCH_GUARD_SEAL};
    for (int c = 0; c < CODECS; c++) {
        if (job->codec == codec_names[c]) {
            settings.is_codec_auto = c == CODECS - 1;
            settings.codec = settings.is_codec_auto ? OCI_CODEC_NONE : (oci_codec_id)c;
        }
    }
    for (int e = 0; e < ENCODINGS; e++) {
        if (job->encoding == encoding_names[e]) {
            settings.encoding = (oci_spill_encoding)e;
        }
    }
    return settings;
}

/* One turn of a job. The first is there for sizes and warm memory, the others are timed. */
static void run_job(const options *o, bench_engine *engine, const bench_input *input,
                    bench_result *job, int turn)
{
    oci_spill_settings settings = settings_of(o, job);
    bool reading = strcmp(job->set, "read_100") == 0;
    int64_t times = reading ? READ_TIMES : 1;
    bench_spill spill;
    bench_spill_write(engine, input, times, &settings, &spill);
    if (turn == 0 && o->keep != NULL && job->guard == BENCH_GUARD_CHECKSUMS) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s-%s-%s.spill", o->keep, job->set, job->codec,
                 job->encoding);
        bench_spill_copy(&spill, path);
    }
    bench_spill_read(engine, &spill, o->is_sizes ? input : NULL, reading);
    job->memory_bytes = input->bytes * times;
    job->batches = input->n_batches * times;
    if (turn == 0) {
        job->disk_bytes = spill.extent.bytes;
        job->writes = spill.writes;
    } else {
        bench_samples_add(&job->write, spill.write_seconds);
        bench_samples_add(&job->read, spill.read_seconds);
        bench_samples_add(&job->both, spill.write_seconds + spill.read_seconds);
        if (strcmp(job->codec, "auto") == 0) {
            /* Chosen by measured speeds, so each turn its own. */
            job->disk_bytes = spill.extent.bytes;
            job->writes = spill.writes;
        }
    }
    bench_spill_close(&spill);
}

/* ---- sets ------------------------------------------------------------------------------------ */

/* What memcpy would have taken for the bytes of each job, in the turn at hand. */
static void note_copy_speed(bench_result *results, int n, bench_samples *copy_speed)
{
    double speed = bench_copy_speed();
    bench_samples_add(copy_speed, speed);
    for (int j = 0; j < n; j++) {
        bench_samples_add(&results[j].copy, (double)results[j].memory_bytes / speed);
    }
}

static int run_set(const options *o, bench_engine *engine, const char *name, bench_result *results,
                   bench_samples *copy_speed)
{
    bench_table table;
    bench_input input;
    bool reading = strcmp(name, "read_100") == 0;
    bench_table_make(bench_set_find(name), reading ? BATCH_ROWS : BATCHES * BATCH_ROWS, BATCH_ROWS,
                     &table);
    if (o->dump != NULL) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s.arrow", o->dump, name);
        bench_table_write(&table, path);
        bench_table_free(&table);
        return 0;
    }
    bench_input_open(engine, &table, &input);
    int n = list_jobs(o, name, results);
    for (int turn = 0; turn <= (o->is_sizes ? 0 : o->runs); turn++) {
        for (int j = 0; j < n; j++) {
            run_job(o, engine, &input, &results[j], turn);
        }
        if (turn > 0) {
            note_copy_speed(results, n, copy_speed);
        }
    }
    bench_input_close(&input);
    bench_table_free(&table);
    return n;
}

/* ---- output ---------------------------------------------------------------------------------- */

static void print_sizes(FILE *out, const bench_result *results, int n)
{
    fprintf(out, "set,codec,encoding,memory_bytes,disk_bytes\n");
    for (int i = 0; i < n; i++) {
        const bench_result *r = &results[i];
        fprintf(out, "%s,%s,%s,%" PRId64 ",%" PRId64 "\n", r->set, r->codec, r->encoding,
                r->memory_bytes, r->disk_bytes);
    }
}

static void write_csv(const char *path, const bench_result *results, int n)
{
    FILE *out = fopen(path, "w");
    if (out == NULL) {
        perror(path);
        exit(1);
    }
    fprintf(out, "set,codec,encoding,memory_bytes,disk_bytes,write_seconds,read_seconds,writes\n");
    for (int i = 0; i < n; i++) {
        const bench_result *r = &results[i];
        if (r->guard == BENCH_GUARD_CHECKSUMS) {
            fprintf(out, "%s,%s,%s,%" PRId64 ",%" PRId64 ",%.6f,%.6f,%" PRId64 "\n", r->set,
                    r->codec, r->encoding, r->memory_bytes, r->disk_bytes,
                    bench_samples_median(&r->write), bench_samples_median(&r->read), r->writes);
        }
    }
    if (fclose(out) != 0) {
        perror(path);
        exit(1);
    }
}

/* ---- options --------------------------------------------------------------------------------- */

static void fail_usage(const char *what)
{
    fprintf(stderr, "spill_io: %s; the opening comment of bench/spill_io.c lists the options\n",
            what);
    exit(2);
}

static void read_option(options *o, const char *name, const char *value)
{
    struct {
        const char *name;
        const char **target;
    } texts[] = {
        {"--set", &o->sets},     {"--codec", &o->codecs}, {"--encoding", &o->encodings},
        {"--guard", &o->guards}, {"--dir", &o->folder},   {"--csv", &o->csv},
        {"--keep", &o->keep},    {"--dump", &o->dump},
    };
    if (value == NULL) {
        fail_usage("an option lacks its value");
        return;
    }
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (strcmp(name, texts[i].name) == 0) {
            *texts[i].target = value;
            return;
        }
    }
    if (strcmp(name, "--level") == 0) {
        o->level = (int)strtol(value, NULL, 10);
    } else if (strcmp(name, "--runs") == 0) {
        o->runs = (int)strtol(value, NULL, 10);
    } else if (strcmp(name, "--throttle") == 0) {
        o->throttle = strtod(value, NULL);
    } else if (strcmp(name, "--feed") == 0 && strcmp(value, "batches") == 0) {
        o->feed = BENCH_FEED_BATCHES;
    } else if (strcmp(name, "--feed") != 0 || strcmp(value, "collector") != 0) {
        fail_usage("unknown option");
    }
}

int main(int argc, char **argv)
{
    options o = {.folder = getenv("TMPDIR"), .runs = 5, .feed = BENCH_FEED_COLLECTOR};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--sizes") == 0) {
            o.is_sizes = true;
        } else {
            read_option(&o, argv[i], i + 1 < argc ? argv[i + 1] : NULL);
            i++;
        }
    }
    o.folder = o.folder != NULL ? o.folder : "/tmp";

    static bench_result results[SETS * JOBS_MAX];
    static bench_samples copy_speed;
    bench_engine engine;
    int n = 0;
    bench_engine_open(&engine, o.folder, o.feed, (int64_t)(o.throttle * 1e6));
    for (int s = 0; s < SETS; s++) {
        if (is_chosen(o.sets, set_names[s])) {
            n += run_set(&o, &engine, set_names[s], results + n, &copy_speed);
        }
    }
    bench_engine_close(&engine);
    if (o.is_sizes) {
        print_sizes(stdout, results, n);
    } else if (o.dump == NULL) {
        printf("blocks: %s; folder %s; %d turns",
               o.feed == BENCH_FEED_COLLECTOR ? "collected, about 1 MiB" : "one per batch",
               o.folder, o.runs);
        printf(o.throttle > 0 ? "; disk slowed down to %.0f MB/s\n" : "\n", o.throttle);
        bench_print_results(results, n, &copy_speed);
        bench_print_figures(results, n);
    }
    if (o.csv != NULL) {
        write_csv(o.csv, results, n);
    }
    return 0;
}
