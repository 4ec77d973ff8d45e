/* What the tests of the reader share: a budget to work in, batches written to memory and read
 * again. */
#ifndef OUTCORE_IPC_READER_TEST_SUPPORT_H
#define OUTCORE_IPC_READER_TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bits.h"
#include "base/fault.h"
#include "ipc/reader.h"
#include "ipc/writer.h"
#include "support/batch_maker.h"
#include "support/byte_file.h"

#define MIB         (INT64_C(1) << 20)
#define BATCHES_MAX 4096

/* Everything that a pass needs. */
typedef struct fixture {
    oci_budget *budget;
    oci_mem *mem;
    atomic_bool cancel;
    oci_env env;
} fixture;

static inline oc_status try_open_fixture(fixture *f, int64_t limit, oci_fault_plan *plan,
                                         oc_error *err)
{
    *f = (fixture){0};
    OC_TRY(
        oci_budget_create(limit, plan != NULL ? oci_fault_allocator(plan) : NULL, &f->budget, err));
    oc_status status = oci_mem_open(f->budget, "reader test", &f->mem, err);
    f->env = (oci_env){.budget = f->budget,
                       .io = plan != NULL ? oci_fault_io(plan) : oci_posix_io(),
                       .threads = oci_system_threads(),
                       .clock = oci_system_clock(),
                       .cancel = &f->cancel,
                       .n_threads = 1,
                       .batch_rows = 1000};
    return status;
}

static inline void open_fixture(fixture *f, int64_t limit)
{
    assert_int_equal(try_open_fixture(f, limit, NULL, NULL), OC_OK);
}

static inline void close_fixture(fixture *f)
{
    if (f->mem != NULL) {
        assert_int_equal(oci_mem_held(f->mem), 0);
    }
    if (f->budget != NULL) {
        assert_int_equal(oci_budget_used(f->budget), 0);
    }
    oci_mem_close(f->mem);
    oci_budget_destroy(f->budget);
}

static inline uint64_t next_random(uint64_t *state)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    return z ^ (z >> 31);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Writes batches of one schema; the caller frees out->data. */
static inline void write_batches(oci_batch *const *batches, int32_t n, bool is_file,
                                 oci_codec_id codec, byte_sink *out)
{
    fixture f;
    oc_error err = {0};
    open_fixture(&f, 256 * MIB);
    *out = (byte_sink){0};
    oci_file *file = byte_file_create(out);
    oci_ipc_writer *writer = NULL;
    oc_status status = oci_ipc_writer_open(&f.env, file, batches[0]->schema, is_file, codec, 0,
                                           f.mem, &writer, &err);
    for (int32_t i = 0; i < n && status == OC_OK; i++) {
        status = oci_ipc_writer_add(writer, batches[i], &err);
    }
    if (status == OC_OK) {
        status = oci_ipc_writer_finish(writer, &err);
    }
    if (status != OC_OK) {
        fail_msg("could not write: %s", err.message);
    }
    oci_ipc_writer_destroy(writer);
    assert_int_equal(oci_close(file, NULL), OC_OK);
    close_fixture(&f);
}

static inline void write_one(oci_batch *batch, bool is_file, oci_codec_id codec, byte_sink *out)
{
    write_batches(&batch, 1, is_file, codec, out);
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct read_result {
    oc_status status;
    oc_error err;
    oci_batch *batches[BATCHES_MAX];
    int32_t n;
    int64_t rows;
} read_result;

static inline void release_result(read_result *r)
{
    for (int32_t i = 0; i < r->n; i++) {
        oci_batch_release(r->batches[i]);
    }
    r->n = 0;
}

/* Reads to the end or the first error. `keep` collects the batches, else they are only looked
 * at. */
static inline void read_all(fixture *f, oci_file *file, const oci_ipc_read_options *options,
                            bool keep, read_result *r)
{
    oci_stream *stream = NULL;
    r->n = 0;
    r->rows = 0;
    r->err = (oc_error){0};
    r->status = oci_ipc_reader_open(&f->env, file, options, f->mem, &stream, &r->err);
    while (r->status == OC_OK) {
        oci_batch *batch = NULL;
        r->status = oci_stream_next(stream, &batch, &r->err);
        if (batch == NULL) {
            break;
        }
        r->rows += batch->length;
        uint64_t hash = 0;
        for (int32_t i = 0; i < batch->schema->n_fields; i++) {
            for (int64_t row = 0; row < batch->length; row++) {
                hash = oci_value_hash(&batch->columns[i], row, hash);
            }
        }
        if (keep && r->n < BATCHES_MAX) {
            r->batches[r->n++] = batch;
        } else {
            oci_batch_release(batch);
        }
    }
    if (stream != NULL && r->status != OC_OK) {
        /* The error comes again. */
        oc_error again = {0};
        oci_batch *none = NULL;
        assert_int_equal(oci_stream_next(stream, &none, &again), r->status);
        assert_null(none);
        assert_string_equal(again.message, r->err.message);
    }
    oci_stream_close(stream);
}

static inline void read_bytes(fixture *f, const byte_sink *bytes, int64_t piece, bool keep,
                              read_result *r)
{
    read_all(f, byte_file_open(bytes->data, bytes->size, piece), NULL, keep, r);
}

/* The batches read, one after the other, have the rows of `expected`. */
static inline void check_rows(const read_result *r, const oci_batch *expected)
{
    assert_int_equal(r->rows, expected->length);
    int64_t at = 0;
    for (int32_t k = 0; k < r->n; k++) {
        const oci_batch *batch = r->batches[k];
        assert_int_equal(oci_batch_validate(batch, NULL), OC_OK);
        for (int32_t i = 0; i < batch->schema->n_fields; i++) {
            for (int64_t row = 0; row < batch->length; row++) {
                if (!oci_value_equal(&batch->columns[i], row, &expected->columns[i], at + row)) {
                    fail_msg("column %d differs in row %lld", (int)i, (long long)(at + row));
                }
            }
        }
        at += batch->length;
    }
}

static inline void check_ok(const read_result *r)
{
    if (r->status != OC_OK) {
        fail_msg("could not read: %s", r->err.message);
    }
}

/* How much a pipe gives at a time; 0 = a file. */
static const int64_t pieces[] = {0, 1, 7, 100000};
static const oci_codec_id codecs[] = {OCI_CODEC_NONE, OCI_CODEC_LZ4_FRAME, OCI_CODEC_ZSTD};

#endif /* OUTCORE_IPC_READER_TEST_SUPPORT_H */
