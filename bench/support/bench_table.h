/* Tables for the benchmarks: named data sets from one seeded generator, as Arrow C data.
 *
 * A table lies in malloc'ed memory of the program, outside of any budget, as the batches of a
 * producer do; each batch has buffers of its own. The same set, batch count and batch size give the
 * same values everywhere.
 *
 *   q2, q16, q20, wide   results and intermediates of TPC-H queries: many distinct numbers, few
 *                        distinct strings
 *   read_100             numbers in a row, strings that are all different, nulls
 *   small_batches        a key out of order and six short strings of few values
 *
 * Failures end the program: there is nothing to measure then. */
#ifndef OUTCORE_BENCH_TABLE_H
#define OUTCORE_BENCH_TABLE_H

#include "outcore/arrow_abi.h"

typedef struct bench_set bench_set;

/* NULL when there is no such set. */
const bench_set *bench_set_find(const char *name);
const char *bench_set_name(const bench_set *set);

typedef struct bench_table {
    struct ArrowSchema schema; /* borrowed: release is a no-op */
    struct ArrowArray *batches;
    int64_t n_batches;
    int64_t rows;
    int64_t bytes; /* of all buffers, exactly as long as values need */
} bench_table;

/* Batches of `batch_rows` rows; the last one has what is left. */
void bench_table_make(const bench_set *set, int64_t rows, int64_t batch_rows, bench_table *out);
void bench_table_free(bench_table *table);

/* Hands batch i out; its buffers stay the table's. A batch may be handed out again when the
 * consumer has released it. */
void bench_table_batch(bench_table *table, int64_t i, struct ArrowArray *out);
/* All batches in order, as a stream. */
void bench_table_stream(bench_table *table, struct ArrowArrayStream *out);
/* Writes it as an Arrow file, for peers. */
void bench_table_write(bench_table *table, const char *path);

#endif /* OUTCORE_BENCH_TABLE_H */
