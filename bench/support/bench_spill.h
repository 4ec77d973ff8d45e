/* One timed round trip of a table through a spill file, against the calls that operators use. */
#ifndef OUTCORE_BENCH_SPILL_H
#define OUTCORE_BENCH_SPILL_H

#include "spill/run.h"
#include "support/bench_table.h"

typedef enum bench_feed {
    BENCH_FEED_COLLECTOR, /* batches are collected into blocks of about 1 MiB */
    BENCH_FEED_BATCHES,   /* one block per batch, made ready before the clock starts */
} bench_feed;

/* What all round trips of the program share. */
typedef struct bench_engine {
    oci_budget *budget; /* large; its memory stays warm from one round trip to the next */
    oci_mem *mem;
    oci_worker *worker; /* encodes and writes, as for an operator with one thread */
    const oci_io *io;
    const char *folder;
    bench_feed feed;
} bench_engine;

/* `throttle`: bytes a second that the disk shall make, 0 = as it is. */
void bench_engine_open(bench_engine *engine, const char *folder, bench_feed feed, int64_t throttle);
void bench_engine_close(bench_engine *engine);

/* Batches ready to be spilled. */
typedef struct bench_input {
    oci_schema *schema;
    oci_batch **batches;
    int64_t n_batches;
    int64_t rows;
    int64_t bytes; /* in memory */
} bench_input;

/* Copies of the table, or views of it: whatever the feed of the engine wants. */
void bench_input_open(bench_engine *engine, bench_table *table, bench_input *out);
void bench_input_close(bench_input *input);

typedef struct bench_spill {
    oci_spill_manager *manager;
    oci_spill_file *file;
    oci_run_extent extent;
    int64_t writes;
    double write_seconds; /* opening the file, writing, finishing */
    double read_seconds;
} bench_spill;

/* Writes all batches, `times` times over, as one run of a new file. `settings` without folders. */
void bench_spill_write(bench_engine *engine, const bench_input *input, int64_t times,
                       const oci_spill_settings *settings, bench_spill *out);
/* Reads them back. `expected` (may be NULL): the program ends when a value differs. `keep`: the
 * file can be read again; else what was read is given back to the disk, as merging does. */
void bench_spill_read(bench_engine *engine, bench_spill *spill, const bench_input *expected,
                      bool keep);
/* Copies the file as it lies on disk. */
void bench_spill_copy(bench_spill *spill, const char *path);
void bench_spill_close(bench_spill *spill);

#endif /* OUTCORE_BENCH_SPILL_H */
