/* What the benchmarks measure with: time, medians of samples, and what the machine can do at best. */
#ifndef OUTCORE_BENCH_MEASURE_H
#define OUTCORE_BENCH_MEASURE_H

#include "base/error.h"

#define BENCH_SAMPLES_MAX 64

typedef struct bench_samples {
    double values[BENCH_SAMPLES_MAX];
    int n; /* what goes beyond the maximum is dropped */
} bench_samples;

void bench_samples_add(bench_samples *samples, double value);
/* Of none: 0. */
double bench_samples_median(const bench_samples *samples);
double bench_samples_min(const bench_samples *samples);
double bench_samples_max(const bench_samples *samples);

/* Monotonic seconds. */
double bench_now(void);

/* Bytes a second that memcpy moves between two blocks of 64 MiB that were touched before: one sample
 * a call. */
double bench_copy_speed(void);

/* Ends the program with the message of the error when a call failed. */
void bench_check(oc_status status, const oc_error *err);

#endif /* OUTCORE_BENCH_MEASURE_H */
