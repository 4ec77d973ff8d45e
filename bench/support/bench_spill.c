/* See bench_spill.h.
 *
 * Writing is timed from opening the file to the end of the run, reading from the first block to the
 * last. Everything else (making batches, creating the manager, closing the file) is outside. */
#include "support/bench_spill.h"

#include <stdio.h>
#include <stdlib.h>

#include "arrow/gather.h"
#include "arrow/stream.h"
#include "base/throttle.h"
#include "spill/batch_collector.h"
#include "support/bench_measure.h"

#define BUDGET_BYTES (INT64_C(4) << 30)

void bench_engine_open(bench_engine *engine, const char *folder, bench_feed feed, int64_t throttle)
{
    oc_error err;
    *engine = (bench_engine){.io = oci_posix_io(), .folder = folder, .feed = feed};
    if (throttle > 0 && (engine->io = oci_throttled_io(oci_posix_io(), throttle)) == NULL) {
        fputs("could not slow the disk down: out of memory\n", stderr);
        exit(1);
    }
    bench_check(oci_budget_create(BUDGET_BYTES, NULL, &engine->budget, &err), &err);
    bench_check(oci_mem_open(engine->budget, "bench", &engine->mem, &err), &err);
    bench_check(oci_worker_create(oci_system_threads(), &engine->worker, &err), &err);
}

void bench_engine_close(bench_engine *engine)
{
    oci_worker_destroy(engine->worker);
    oci_mem_close(engine->mem);
    oci_budget_destroy(engine->budget);
    if (engine->io != oci_posix_io()) {
        oci_throttled_io_destroy(engine->io);
    }
}

/* ---- input ----------------------------------------------------------------------------------- */

/* A compact batch with room for a header, as gathering makes them: it is written as it lies. */
static oci_batch *make_compact(bench_engine *engine, oci_batch *batch)
{
    oc_error err;
    oci_batch *out = NULL;
    int64_t head_bytes = 8192;
    bench_check(oci_gather_range(batch->schema, batch, 0, batch->length, head_bytes, engine->mem,
                                 NULL, &out, &err),
                &err);
    oci_batch_release(batch);
    return out;
}

void bench_input_open(bench_engine *engine, bench_table *table, bench_input *out)
{
    oc_error err;
    oci_stream *stream = NULL;
    struct ArrowArrayStream c_stream;
    bench_table_stream(table, &c_stream);
    bench_check(oci_stream_import(&c_stream, &stream, &err), &err);
    *out = (bench_input){.schema = oci_schema_retain(stream->schema),
                         .n_batches = table->n_batches,
                         .rows = table->rows,
                         .bytes = table->bytes};
    out->batches = calloc((size_t)table->n_batches, sizeof(oci_batch *));
    for (int64_t b = 0; b < table->n_batches; b++) {
        bench_check(oci_stream_next(stream, &out->batches[b], &err), &err);
        if (engine->feed == BENCH_FEED_BATCHES) {
            out->batches[b] = make_compact(engine, out->batches[b]);
        }
    }
    oci_stream_close(stream);
}

void bench_input_close(bench_input *input)
{
    for (int64_t b = 0; b < input->n_batches; b++) {
        oci_batch_release(input->batches[b]);
    }
    free(input->batches);
    oci_schema_release(input->schema);
}

/* ---- writing --------------------------------------------------------------------------------- */

#define BLOCK_BYTES (INT64_C(1) << 20)

/* Each input batch is a block. */
static void feed_batches(const bench_input *input, int64_t times, oci_run_writer *writer)
{
    oc_error err;
    for (int64_t b = 0; b < times * input->n_batches; b++) {
        oci_batch *batch = input->batches[b % input->n_batches];
        bench_check(oci_run_writer_add(writer, oci_batch_retain(batch), &err), &err);
    }
}

static void drain_collector(oci_batch_collector *collector, bool all, oci_run_writer *writer)
{
    oc_error err;
    for (;;) {
        oci_batch *block = NULL;
        bench_check(oci_batch_collector_next(collector, all, &block, &err), &err);
        if (block == NULL) {
            return;
        }
        bench_check(oci_run_writer_add(writer, block, &err), &err);
    }
}

static void feed_collector(bench_engine *engine, const bench_input *input, int64_t times,
                           oci_run_writer *writer)
{
    oc_error err;
    oci_batch_collector *collector = NULL;
    bench_check(oci_batch_collector_create(input->schema, oci_run_writer_head_bytes(writer),
                                           engine->mem, &collector, &err),
                &err);
    for (int64_t b = 0; b < times * input->n_batches; b++) {
        oci_batch *batch = input->batches[b % input->n_batches];
        bench_check(oci_batch_collector_add(collector, oci_batch_retain(batch), BLOCK_BYTES, &err),
                    &err);
        drain_collector(collector, false, writer);
    }
    drain_collector(collector, true, writer);
    oci_batch_collector_destroy(collector);
}

void bench_spill_write(bench_engine *engine, const bench_input *input, int64_t times,
                       const oci_spill_settings *settings, bench_spill *out)
{
    oc_error err;
    oci_spill_settings all = *settings;
    oci_run_writer *writer = NULL;
    *out = (bench_spill){.write_seconds = 0};
    all.folders = &engine->folder;
    all.n_folders = 1;
    bench_check(oci_spill_manager_create(engine->io, &all, &out->manager, &err), &err);

    double began = bench_now();
    bench_check(oci_spill_file_open(out->manager, &out->file, &err), &err);
    bench_check(
        oci_run_writer_create(out->file, input->schema, engine->mem, engine->worker, &writer, &err),
        &err);
    /* Memory of the blocks comes from the budget as they come: it is large, and warm. */
    bench_check(oci_run_writer_begin(writer, &err), &err);
    if (engine->feed == BENCH_FEED_COLLECTOR) {
        feed_collector(engine, input, times, writer);
    } else {
        feed_batches(input, times, writer);
    }
    bench_check(oci_run_writer_finish(writer, &out->extent, &err), &err);
    out->write_seconds = bench_now() - began;

    out->writes = atomic_load(&out->manager->counters.writes);
    oci_run_writer_destroy(writer);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The rows of `batch` are rows [start, ...) of the input, which may have been written repeatedly. */
static void compare(const bench_input *input, int64_t start, const oci_batch *batch)
{
    int64_t batch_rows = input->batches[0]->length;
    for (int64_t row = 0; row < batch->length; row++) {
        int64_t at = (start + row) % input->rows;
        const oci_batch *expected = input->batches[at / batch_rows];
        for (int32_t c = 0; c < batch->schema->n_fields; c++) {
            if (!oci_value_equal(&expected->columns[c], at % batch_rows, &batch->columns[c], row)) {
                fprintf(stderr, "row %lld of column %d came back changed\n", (long long)start + row,
                        c);
                exit(1);
            }
        }
    }
}

void bench_spill_read(bench_engine *engine, bench_spill *spill, const bench_input *expected,
                      bool keep)
{
    oc_error err;
    oci_run_decoder *decoder = NULL;
    oci_run_cursor cursor = {.file = NULL};
    int64_t rows = 0;
    double began = bench_now();
    bench_check(oci_run_decoder_create(spill->manager, NULL, true, engine->mem, &decoder, &err),
                &err);
    oci_run_cursor_start(&cursor, spill->file, &spill->extent);
    cursor.is_kept = keep;
    for (;;) {
        oci_batch *batch = NULL;
        bench_check(oci_run_cursor_next(&cursor, decoder, &batch, &err), &err);
        if (batch == NULL) {
            break;
        }
        if (expected != NULL) {
            compare(expected, rows, batch);
        }
        rows += batch->length;
        oci_batch_release(batch);
    }
    oci_run_cursor_finish(&cursor);
    spill->read_seconds = bench_now() - began;
    oci_run_decoder_destroy(decoder);
    if (rows != spill->extent.rows) {
        fprintf(stderr, "%lld rows came back of %lld\n", (long long)rows,
                (long long)spill->extent.rows);
        exit(1);
    }
}

void bench_spill_copy(bench_spill *spill, const char *path)
{
    oc_error err;
    void *bytes = malloc((size_t)spill->extent.bytes);
    FILE *out = fopen(path, "wb");
    if (bytes == NULL || out == NULL) {
        perror(path);
        exit(1);
    }
    bench_check(oci_spill_read(spill->file, bytes, spill->extent.bytes, spill->extent.offset, &err),
                &err);
    bool written = fwrite(bytes, 1, (size_t)spill->extent.bytes, out) ==
                   (size_t)spill->extent.bytes;
    if (fclose(out) != 0 || !written) {
        perror(path);
        exit(1);
    }
    free(bytes);
}

void bench_spill_close(bench_spill *spill)
{
    oci_spill_file_close(spill->file);
    oci_spill_manager_release(spill->manager);
}
