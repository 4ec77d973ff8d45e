/* See bench_figures.h. */
#include "support/bench_figures.h"

#include <stdio.h>
#include <string.h>

static const double MIB = 1048576.0;

/* ---- results --------------------------------------------------------------------------------- */

static const char *guard_name(bench_guard guard)
{
    switch (guard) {
    case BENCH_GUARD_NONE: return ", no checksums";
    case BENCH_GUARD_SEAL: return ", encrypted";
    case BENCH_GUARD_CHECKSUMS:
    default: return "";
    }
}

static void print_row(const bench_result *r)
{
    char encoding[64];
    snprintf(encoding, sizeof encoding, "%s%s", r->encoding, guard_name(r->guard));
    printf("| %s | %s | %s | %.2f | %.3f | %.1f | %.0f | %.0f | %.1f (%.1f-%.1f) | %.2f |\n",
           r->set, r->codec, encoding, (double)r->memory_bytes / MIB, (double)r->disk_bytes / MIB,
           (double)r->memory_bytes / (double)r->disk_bytes,
           (double)r->memory_bytes / 1e6 / bench_samples_median(&r->write),
           (double)r->memory_bytes / 1e6 / bench_samples_median(&r->read),
           1e3 * bench_samples_median(&r->both), 1e3 * bench_samples_min(&r->both),
           1e3 * bench_samples_max(&r->both), (double)r->writes / (double)r->batches);
}

void bench_print_results(const bench_result *results, int n, const bench_samples *copy_speed)
{
    printf("memcpy %.0f MB/s (%.0f-%.0f)\n\n", bench_samples_median(copy_speed) / 1e6,
           bench_samples_min(copy_speed) / 1e6, bench_samples_max(copy_speed) / 1e6);
    printf("| set | codec | encoding | memory MiB | disk MiB | ratio | write MB/s | read MB/s | "
           "write + read ms (min-max) | writes per batch |\n"
           "|---|---|---|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < n; i++) {
        print_row(&results[i]);
    }
}

/* ---- figures --------------------------------------------------------------------------------- */

static const bench_result *find(const bench_result *results, int n, const char *set,
                                const char *codec, const char *encoding, bench_guard guard)
{
    for (int i = 0; i < n; i++) {
        const bench_result *r = &results[i];
        if (strcmp(r->set, set) == 0 && strcmp(r->codec, codec) == 0 &&
            strcmp(r->encoding, encoding) == 0 && r->guard == guard) {
            return r;
        }
    }
    return NULL;
}

/* A figure is reached when value <= limit (or >= limit when `at_least`). */
static void print_figure(const char *what, double value, bool at_least, double limit)
{
    bool reached = at_least ? value >= limit : value <= limit;
    printf("| %s | %.3f | %s %.3f | %s |\n", what, value, at_least ? ">=" : "<=", limit,
           reached ? "reached" : "not reached");
}

typedef struct size_figure {
    const char *set;
    const char *codec;
    const char *encoding;
    double mib; /* at most */
} size_figure;

/* Sizes of lengths and plain: what others reach, and 3% on top. */
static const size_figure size_figures[] = {
    {"q16", "zstd", "lengths", 2.6 * 1.03},
    {"q16", "lz4_frame", "lengths", 5.2 * 1.03},
    {"wide", "zstd", "lengths", 8.2 * 1.03},
    {"wide", "lz4_frame", "lengths", 14.6 * 1.03},
    {"q16", "zstd", "plain", 4.4 * 1.03},
    {"q16", "lz4_frame", "plain", 7.8 * 1.03},
    {"wide", "zstd", "plain", 11.6 * 1.03},
    {"wide", "lz4_frame", "plain", 19.9 * 1.03},
    {"q2", "zstd", "auto", 0.92},
    {"q16", "zstd", "auto", 1.40},
    {"q20", "zstd", "auto", 1.68},
    {"wide", "zstd", "auto", 5.3},
    {"q2", "lz4_frame", "auto", 0.95},
    {"q16", "lz4_frame", "auto", 1.50},
    {"q20", "lz4_frame", "auto", 1.72},
    {"wide", "lz4_frame", "auto", 5.5},
};

static void print_size_figures(const bench_result *results, int n)
{
    for (size_t i = 0; i < sizeof size_figures / sizeof size_figures[0]; i++) {
        const size_figure *f = &size_figures[i];
        const bench_result *r =
            find(results, n, f->set, f->codec, f->encoding, BENCH_GUARD_CHECKSUMS);
        char what[128];
        if (r != NULL) {
            snprintf(what, sizeof what, "MiB on disk: %s, %s, %s", f->set, f->codec, f->encoding);
            print_figure(what, (double)r->disk_bytes / MIB, false, f->mib);
        }
    }
}

/* Median of the ratios turn by turn: both jobs of a turn met the same noise. */
static double ratio(const bench_samples *a, const bench_samples *b)
{
    bench_samples ratios = {.n = 0};
    for (int i = 0; i < a->n && i < b->n; i++) {
        bench_samples_add(&ratios, a->values[i] / b->values[i]);
    }
    return bench_samples_median(&ratios);
}

/* Speed as a part of memcpy's. */
static void print_speed_figure(const char *what, const bench_result *r,
                               const bench_samples *seconds, double limit)
{
    char text[128];
    snprintf(text, sizeof text, "%s, %s, uncompressed, %s: x memcpy", what, r->set, r->encoding);
    print_figure(text, ratio(&r->copy, seconds), true, limit);
}

static void print_speed_figures(const bench_result *results, int n)
{
    static const char *const encodings[] = {"auto", "plain"};
    for (int e = 0; e < 2; e++) {
        const bench_result *wide =
            find(results, n, "wide", "uncompressed", encodings[e], BENCH_GUARD_CHECKSUMS);
        const bench_result *read =
            find(results, n, "read_100", "uncompressed", encodings[e], BENCH_GUARD_CHECKSUMS);
        if (wide != NULL) {
            print_speed_figure("write + read", wide, &wide->both, 0.4);
        }
        if (read != NULL) {
            print_speed_figure("read", read, &read->read, 0.5);
        }
    }
}

/* What checksums (5% at most) and encryption (shown only) cost. */
static void print_guard_figures(const bench_result *results, int n)
{
    for (int i = 0; i < n; i++) {
        const bench_result *r = &results[i];
        const bench_result *none =
            find(results, n, r->set, r->codec, r->encoding, BENCH_GUARD_NONE);
        if (none == NULL || r->guard == BENCH_GUARD_NONE) {
            continue;
        }
        bool reading = strcmp(r->set, "read_100") == 0;
        double cost = reading ? ratio(&r->read, &none->read) : ratio(&r->both, &none->both);
        char what[128];
        snprintf(what, sizeof what, "%s: %s, %s, %s: %s",
                 r->guard == BENCH_GUARD_SEAL ? "encryption" : "checksums", r->set, r->codec,
                 r->encoding, reading ? "x read without" : "x write + read without");
        if (r->guard == BENCH_GUARD_SEAL) {
            printf("| %s | %.3f | | |\n", what, cost);
        } else {
            print_figure(what, cost, false, 1.05);
        }
    }
}

/* codec = auto against the best fixed codec. */
static void print_auto_figure(const bench_result *results, int n, const char *set,
                              const char *encoding)
{
    static const char *const fixed[] = {"uncompressed", "lz4_frame", "zstd"};
    const bench_result *chosen = find(results, n, set, "auto", encoding, BENCH_GUARD_CHECKSUMS);
    const bench_result *best = NULL;
    for (int c = 0; c < 3; c++) {
        const bench_result *r = find(results, n, set, fixed[c], encoding, BENCH_GUARD_CHECKSUMS);
        if (r != NULL &&
            (best == NULL || bench_samples_median(&r->both) < bench_samples_median(&best->both))) {
            best = r;
        }
    }
    if (chosen != NULL && best != NULL) {
        char what[128];
        snprintf(what, sizeof what, "codec auto, %s, %s: x best fixed codec (%s)", set, encoding,
                 best->codec);
        print_figure(what, ratio(&chosen->both, &best->both), false, 1.1);
    }
}

/* zstd packed against plain zstd. */
static void print_zstd_figure(const bench_result *results, int n, const char *set)
{
    const bench_result *packed = find(results, n, set, "zstd", "auto", BENCH_GUARD_CHECKSUMS);
    const bench_result *plain = find(results, n, set, "zstd", "plain", BENCH_GUARD_CHECKSUMS);
    if (packed != NULL && plain != NULL) {
        char what[128];
        snprintf(what, sizeof what, "zstd, %s: x write + read of plain zstd", set);
        print_figure(what, ratio(&packed->both, &plain->both), false, 1.0);
    }
}

static void print_choice_figures(const bench_result *results, int n)
{
    static const char *const sets[] = {"q2", "q16", "q20", "wide"};
    static const char *const encodings[] = {"auto", "plain", "lengths"};
    for (int s = 0; s < 4; s++) {
        for (int e = 0; e < 3; e++) {
            print_auto_figure(results, n, sets[s], encodings[e]);
        }
        print_zstd_figure(results, n, sets[s]);
    }
}

void bench_print_figures(const bench_result *results, int n)
{
    printf("\n| figure | measured | to reach | |\n|---|---|---|---|\n");
    print_size_figures(results, n);
    print_speed_figures(results, n);
    print_guard_figures(results, n);
    print_choice_figures(results, n);
}
