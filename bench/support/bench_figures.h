/* The tables that spill_io prints, and the figures to reach. */
#ifndef OUTCORE_BENCH_FIGURES_H
#define OUTCORE_BENCH_FIGURES_H

#include "support/bench_measure.h"

typedef enum bench_guard {
    BENCH_GUARD_CHECKSUMS, /* as spill files are by default */
    BENCH_GUARD_NONE,
    BENCH_GUARD_SEAL, /* encrypted */
} bench_guard;

typedef struct bench_result {
    const char *set;
    const char *codec; /* "uncompressed", "lz4_frame", "zstd", "auto" */
    const char *encoding;
    bench_guard guard;
    int64_t batches;
    int64_t memory_bytes;
    int64_t disk_bytes;
    int64_t writes;      /* calls */
    bench_samples write; /* seconds */
    bench_samples read;
    bench_samples both;
    bench_samples copy; /* memcpy of memory_bytes */
} bench_result;

/* `copy_speed`: samples of bench_copy_speed(). */
void bench_print_results(const bench_result *results, int n, const bench_samples *copy_speed);
void bench_print_figures(const bench_result *results, int n);

#endif /* OUTCORE_BENCH_FIGURES_H */
