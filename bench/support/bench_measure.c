/* See bench_measure.h. */
#include "support/bench_measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void bench_samples_add(bench_samples *samples, double value)
{
    if (samples->n < BENCH_SAMPLES_MAX) {
        samples->values[samples->n++] = value;
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value that `rank` of n - 1 samples lie below; between two for half ranks. */
static double at_rank(const bench_samples *samples, double rank)
{
    if (samples->n == 0) {
        return 0;
    }
    bench_samples sorted = *samples;
    qsort(sorted.values, (size_t)sorted.n, sizeof(double), compare);
    int low = (int)rank;
    int high = (double)low < rank ? low + 1 : low;
    return (sorted.values[low] + sorted.values[high]) / 2;
}

double bench_samples_median(const bench_samples *samples)
{
    return at_rank(samples, (samples->n - 1) / 2.0);
}

double bench_samples_min(const bench_samples *samples)
{
    return at_rank(samples, 0);
}

double bench_samples_max(const bench_samples *samples)
{
    return at_rank(samples, samples->n - 1);
}

double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double bench_copy_speed(void)
{
    static uint8_t *blocks[2];
    const size_t size = (size_t)64 << 20;
    for (int i = 0; i < 2; i++) {
        if (blocks[i] == NULL && (blocks[i] = malloc(size)) == NULL) {
            fputs("could not measure memory: out of memory\n", stderr);
            exit(1);
        }
        memset(blocks[i], i + 1, size);
    }
    double began = bench_now();
    memcpy(blocks[1], blocks[0], size);
    /* The compiler must believe that somebody reads the copy. */
    __asm__ volatile("" : : "r"(blocks[1]) : "memory");
    return (double)size / (bench_now() - began);
}

void bench_check(oc_status status, const oc_error *err)
{
    if (status != OC_OK) {
        fprintf(stderr, "%s: %s\n", oc_status_name(status), err->message);
        exit(1);
    }
}
