/* What the tests of runs share: a budget, a manager and a file to work in; blocks as operators make
 * them; runs written and read back. Files are watched, and can be spoilt. */
#ifndef OUTCORE_SPILL_RUN_TEST_SUPPORT_H
#define OUTCORE_SPILL_RUN_TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arrow/gather.h"
#include "base/fault.h"
#include "spill/run.h"
#include "support/batch_maker.h"

#define MIB      ((int64_t)1 << 20)
#define N_BLOCKS 3

static const oci_codec_id codecs[] = {OCI_CODEC_NONE, OCI_CODEC_LZ4_FRAME, OCI_CODEC_ZSTD};
static const char *const folder = "/tmp";

/* ---- a file system that watches and spoils --------------------------------------------------- */

static struct spy {
    const oci_file_ops *real;
    oci_file_ops ops;
    const uint8_t *last_data; /* of the last write */
    int64_t file_end;         /* reads behind it find nothing; -1 = as it is */
    int64_t flip_at;          /* this byte is read changed; -1 = none */
    uint8_t flip;
} spy;

static inline oc_status spy_pwrite(oci_file *f, const void *buf, int64_t size, int64_t offset,
                                   oc_error *err)
{
    spy.last_data = buf;
    return spy.real->pwrite(f, buf, size, offset, err);
}

static inline oc_status spy_pread(oci_file *f, void *buf, int64_t size, int64_t offset,
                                  int64_t *n_read, oc_error *err)
{
    if (spy.file_end >= 0 && offset + size > spy.file_end) {
        size = offset < spy.file_end ? spy.file_end - offset : 0;
    }
    OC_TRY(spy.real->pread(f, buf, size, offset, n_read, err));
    if (spy.flip_at >= offset && spy.flip_at < offset + *n_read) {
        ((uint8_t *)buf)[spy.flip_at - offset] ^= spy.flip;
    }
    return OC_OK;
}

static inline oc_status spy_open(const oci_io *io, const char *path, oci_open_mode mode,
                                 oci_file **out, oc_error *err)
{
    (void)io;
    OC_TRY(oci_open(oci_posix_io(), path, mode, out, err));
    spy.real = (*out)->ops;
    spy.ops = *spy.real;
    spy.ops.pwrite = spy_pwrite;
    spy.ops.pread = spy_pread;
    (*out)->ops = &spy.ops;
    return OC_OK;
}

/* ---- fixture --------------------------------------------------------------------------------- */

typedef struct fixture {
    oci_io io;
    oci_budget *budget;
    oci_mem *mem;
    oci_worker *worker; /* may be NULL */
    oci_spill_manager *manager;
    oci_spill_file *file;
} fixture;

/* Folders are filled in. */
static inline void set_up_with(fixture *f, const oci_spill_settings *settings, bool with_worker)
{
    *f = (fixture){.io = *oci_posix_io()};
    f->io.open = spy_open;
    spy = (struct spy){.file_end = -1, .flip_at = -1};
    assert_int_equal(oci_budget_create(64 * MIB, NULL, &f->budget, NULL), OC_OK);
    assert_int_equal(oci_mem_open(f->budget, "test", &f->mem, NULL), OC_OK);
    if (with_worker) {
        assert_int_equal(oci_worker_create(oci_system_threads(), &f->worker, NULL), OC_OK);
    }
    oci_spill_settings here = *settings;
    here.folders = &folder;
    here.n_folders = 1;
    assert_int_equal(oci_spill_manager_create(&f->io, &here, &f->manager, NULL), OC_OK);
    assert_int_equal(oci_spill_file_open(f->manager, &f->file, NULL), OC_OK);
}

static inline void set_up(fixture *f, oci_codec_id codec, bool with_worker, int64_t disk_limit)
{
    oci_spill_settings settings = {.disk_limit = disk_limit, .codec = codec};
    set_up_with(f, &settings, with_worker);
}

static inline void tear_down(fixture *f)
{
    oci_spill_file_close(f->file);
    assert_int_equal(atomic_load(&f->manager->counters.disk_now), 0);
    oci_spill_manager_release(f->manager);
    oci_worker_destroy(f->worker);
    assert_int_equal(oci_mem_held(f->mem), 0);
    oci_mem_close(f->mem);
    oci_budget_destroy(f->budget);
}

/* Every way in which files are written: encodings, codecs, checksums or seals. */
#define N_WAYS 18

static inline oci_spill_settings way(int i)
{
    return (oci_spill_settings){.encoding = (oci_spill_encoding)(i % 3),
                                .codec = codecs[i / 3 % 3],
                                .is_sealed = i / 9 == 1 && oci_seal_is_available()};
}

/* ---- data ------------------------------------------------------------------------------------ */

/* Blocks of the working form, as an operator makes them. */
typedef struct blocks {
    oci_schema *schema;
    oci_batch *batches[N_BLOCKS];
    int64_t rows;
} blocks;

static inline oci_batch *gather_all(oci_schema *schema, const oci_batch *batch, int64_t head_bytes,
                                    oci_mem *mem)
{
    oci_batch *compact = NULL;
    oc_error err = {0};
    if (oci_gather_range(schema, batch, 0, batch->length, head_bytes, mem, NULL, &compact, &err) !=
        OC_OK) {
        fail_msg("%s", err.message);
    }
    return compact;
}

/* `rows` in the first and the last, one in the second. */
static inline void make_blocks(const fixture *f, const char *const *columns, int32_t n_columns,
                               int64_t rows, int64_t head_bytes, blocks *out)
{
    *out = (blocks){0};
    for (int32_t i = 0; i < N_BLOCKS; i++) {
        arrow_maker maker = {.seed = 7,
                             .first_row = i * 1000,
                             .length = i == 1 ? 1 : rows,
                             .null_percent = 20,
                             .string_max = 40};
        oci_batch *batch = make_batch(columns, n_columns, &maker);
        if (i == 0) {
            assert_int_equal(oci_schema_working(batch->schema, &out->schema, NULL), OC_OK);
        }
        out->batches[i] = gather_all(out->schema, batch, head_bytes, f->mem);
        out->rows += batch->length;
        oci_batch_release(batch);
    }
}

static inline void release_blocks(blocks *b)
{
    for (int32_t i = 0; i < N_BLOCKS; i++) {
        oci_batch_release(b->batches[i]);
    }
    oci_schema_release(b->schema);
}

/* ---- writing and reading --------------------------------------------------------------------- */

static inline oci_run_writer *make_writer(const fixture *f, oci_schema *schema)
{
    oci_run_writer *writer = NULL;
    oc_error err = {0};
    if (oci_run_writer_create(f->file, schema, f->mem, f->worker, &writer, &err) != OC_OK) {
        fail_msg("%s", err.message);
    }
    return writer;
}

static inline oc_status try_write_run(oci_run_writer *writer, const blocks *b,
                                      oci_run_extent *extent, oc_error *err)
{
    OC_TRY(oci_run_writer_begin(writer, err));
    for (int32_t i = 0; i < N_BLOCKS; i++) {
        OC_TRY(oci_run_writer_add(writer, oci_batch_retain(b->batches[i]), err));
    }
    return oci_run_writer_finish(writer, extent, err);
}

static inline oci_run_extent write_run(oci_run_writer *writer, const blocks *b)
{
    oci_run_extent extent = {0};
    oc_error err = {0};
    if (try_write_run(writer, b, &extent, &err) != OC_OK) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(extent.rows, b->rows);
    assert_int_equal(extent.blocks, N_BLOCKS);
    return extent;
}

/* A cursor that leaves the run on disk. */
static inline oci_run_cursor cursor_of(const fixture *f, const oci_run_extent *extent)
{
    oci_run_cursor cursor;
    oci_run_cursor_start(&cursor, f->file, extent);
    cursor.is_kept = true;
    return cursor;
}

static inline oci_run_decoder *make_decoder(const fixture *f, oci_schema *schema)
{
    oci_run_decoder *decoder = NULL;
    assert_int_equal(oci_run_decoder_create(f->manager, schema, true, f->mem, &decoder, NULL),
                     OC_OK);
    return decoder;
}

static inline void check_next(oci_run_cursor *cursor, oci_run_decoder *decoder,
                              const oci_batch *expected)
{
    oci_batch *batch;
    oc_error err = {0};
    if (oci_run_cursor_next(cursor, decoder, &batch, &err) != OC_OK) {
        fail_msg("%s", err.message);
    }
    if (expected == NULL) {
        assert_null(batch);
        return;
    }
    assert_non_null(batch);
    assert_true(oci_batch_equal(batch, expected));
    oci_batch_release(batch);
}

static inline void check_run(const fixture *f, const oci_run_extent *extent, const blocks *b)
{
    oci_run_decoder *decoder = make_decoder(f, b->schema);
    oci_run_cursor cursor = cursor_of(f, extent);
    for (int32_t i = 0; i < N_BLOCKS; i++) {
        check_next(&cursor, decoder, b->batches[i]);
    }
    check_next(&cursor, decoder, NULL);
    check_next(&cursor, decoder, NULL);
    oci_run_cursor_finish(&cursor);
    oci_run_decoder_destroy(decoder);
}

/* Reads all there is; *rows says how many came. `schema` NULL takes what the file has. */
static inline oc_status read_all(const fixture *f, const oci_run_extent *extent, oci_schema *schema,
                                 int64_t *rows, oc_error *err)
{
    oci_run_decoder *decoder = make_decoder(f, schema);
    oci_run_cursor cursor = cursor_of(f, extent);
    oc_status status;
    oci_batch *batch;
    *rows = 0;
    while ((status = oci_run_cursor_next(&cursor, decoder, &batch, err)) == OC_OK &&
           batch != NULL) {
        *rows += batch->length;
        oci_batch_release(batch);
    }
    oci_run_cursor_finish(&cursor);
    oci_run_decoder_destroy(decoder);
    return status;
}

#endif /* OUTCORE_SPILL_RUN_TEST_SUPPORT_H */
