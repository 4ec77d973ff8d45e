/* Unit tests of runs: every type comes back as it went, whatever the codec; what is damaged or cut
 * is noticed; every failure gives everything back. */
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

/* ---- a file system that watches and spoils --------------------------------------------------- */

static struct spy {
    const oci_file_ops *real;
    oci_file_ops ops;
    const uint8_t *last_data; /* of the last write */
    int64_t file_end;         /* reads behind it find nothing; -1 = as it is */
    int64_t flip_at;          /* this byte is read changed; -1 = none */
    uint8_t flip;
} spy;

static oc_status spy_pwrite(oci_file *f, const void *buf, int64_t size, int64_t offset,
                            oc_error *err)
{
    spy.last_data = buf;
    return spy.real->pwrite(f, buf, size, offset, err);
}

static oc_status spy_pread(oci_file *f, void *buf, int64_t size, int64_t offset, int64_t *n_read,
                           oc_error *err)
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

static oc_status spy_open(const oci_io *io, const char *path, oci_open_mode mode, oci_file **out,
                          oc_error *err)
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

static void set_up_with(fixture *f, const oci_spill_settings *settings, bool with_worker)
{
    *f = (fixture){.io = *oci_posix_io()};
    f->io.open = spy_open;
    spy = (struct spy){.file_end = -1, .flip_at = -1};
    assert_int_equal(oci_budget_create(64 * MIB, NULL, &f->budget, NULL), OC_OK);
    assert_int_equal(oci_mem_open(f->budget, "test", &f->mem, NULL), OC_OK);
    if (with_worker) {
        assert_int_equal(oci_worker_create(oci_system_threads(), &f->worker, NULL), OC_OK);
    }
    assert_int_equal(oci_spill_manager_create(&f->io, settings, &f->manager, NULL), OC_OK);
    assert_int_equal(oci_spill_file_open(f->manager, &f->file, NULL), OC_OK);
}

static const char *const folder = "/tmp";

static void set_up(fixture *f, oci_codec_id codec, bool with_worker, int64_t disk_limit)
{
    oci_spill_settings settings = {
        .folders = &folder, .n_folders = 1, .disk_limit = disk_limit, .codec = codec};
    set_up_with(f, &settings, with_worker);
}

static void tear_down(fixture *f)
{
    oci_spill_file_close(f->file);
    assert_int_equal(atomic_load(&f->manager->counters.disk_now), 0);
    oci_spill_manager_release(f->manager);
    oci_worker_destroy(f->worker);
    assert_int_equal(oci_mem_held(f->mem), 0);
    oci_mem_close(f->mem);
    oci_budget_destroy(f->budget);
}

/* ---- data ------------------------------------------------------------------------------------ */

/* Blocks of the working form, as an operator makes them. */
typedef struct blocks {
    oci_schema *schema;
    oci_batch *batches[N_BLOCKS];
    int64_t rows;
} blocks;

static oci_batch *gather_all(oci_schema *schema, const oci_batch *batch, int64_t head_bytes,
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

static void make_blocks(const fixture *f, const char *const *columns, int32_t n_columns,
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

static void release_blocks(blocks *b)
{
    for (int32_t i = 0; i < N_BLOCKS; i++) {
        oci_batch_release(b->batches[i]);
    }
    oci_schema_release(b->schema);
}

static oci_run_writer *make_writer(const fixture *f, oci_schema *schema)
{
    oci_run_writer *writer = NULL;
    oc_error err = {0};
    if (oci_run_writer_create(f->file, schema, f->mem, f->worker, &writer, &err) != OC_OK) {
        fail_msg("%s", err.message);
    }
    return writer;
}

static oc_status try_write_run(oci_run_writer *writer, const blocks *b, oci_run_extent *extent,
                               oc_error *err)
{
    OC_TRY(oci_run_writer_begin(writer, err));
    for (int32_t i = 0; i < N_BLOCKS; i++) {
        OC_TRY(oci_run_writer_add(writer, oci_batch_retain(b->batches[i]), err));
    }
    return oci_run_writer_finish(writer, extent, err);
}

static oci_run_extent write_run(oci_run_writer *writer, const blocks *b)
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

static oci_run_cursor cursor_of(const fixture *f, const oci_run_extent *extent)
{
    oci_run_cursor cursor;
    oci_run_cursor_start(&cursor, f->file, extent);
    cursor.is_kept = true;
    return cursor;
}

static oci_run_decoder *make_decoder(const fixture *f, oci_schema *schema)
{
    oci_run_decoder *decoder = NULL;
    assert_int_equal(oci_run_decoder_create(f->manager, schema, true, f->mem, &decoder, NULL),
                     OC_OK);
    return decoder;
}

static void check_run(const fixture *f, const oci_run_extent *extent, const blocks *b)
{
    oci_run_decoder *decoder = make_decoder(f, b->schema);
    oci_run_cursor cursor = cursor_of(f, extent);
    oc_error err = {0};
    oci_batch *batch;
    for (int32_t i = 0; i < N_BLOCKS; i++) {
        if (oci_run_cursor_next(&cursor, decoder, &batch, &err) != OC_OK) {
            fail_msg("%s", err.message);
        }
        assert_non_null(batch);
        assert_true(oci_batch_equal(batch, b->batches[i]));
        assert_true(oci_mem_charge_of(batch->slab_bytes) <= extent->slab_bytes_max);
        oci_batch_release(batch);
    }
    for (int again = 0; again < 2; again++) {
        assert_int_equal(oci_run_cursor_next(&cursor, decoder, &batch, NULL), OC_OK);
        assert_null(batch);
    }
    oci_run_decoder_destroy(decoder);
}

/* ---- what comes back ------------------------------------------------------------------------- */

static void check_format(const char *format, int32_t i)
{
    char column[256];
    snprintf(column, sizeof column, "a=%s", format);
    const char *columns[] = {column, "id=l"};
    for (size_t c = 0; c < 3; c++) {
        fixture f;
        blocks b;
        set_up(&f, codecs[c], i % 2 == 1, 0);
        make_blocks(&f, columns, 2, 100, 0, &b);
        oci_run_writer *writer = make_writer(&f, b.schema);
        oci_run_extent extent = write_run(writer, &b);
        check_run(&f, &extent, &b);
        oci_run_writer_destroy(writer);
        release_blocks(&b);
        tear_down(&f);
    }
}

static void every_type_comes_back_with_every_codec(void **state)
{
    (void)state;
    for (int32_t i = 0; i < arrow_maker_n_formats; i++) {
        check_format(arrow_maker_formats[i], i);
    }
}

static void every_nested_type_comes_back_with_every_codec(void **state)
{
    (void)state;
    for (int32_t i = 0; i < arrow_maker_n_nested_formats; i++) {
        check_format(arrow_maker_nested_formats[i], i);
    }
}

static const char *const mixed[] = {"k=i", "s=u", "d=c>u", "b=b"};

static void runs_lie_one_behind_the_other_in_one_file(void **state)
{
    (void)state;
    fixture f;
    blocks small;
    blocks large;
    set_up(&f, OCI_CODEC_LZ4_FRAME, true, 0);
    make_blocks(&f, mixed, 4, 10, 0, &small);
    make_blocks(&f, mixed, 4, 2000, 0, &large);
    oci_run_writer *writer = make_writer(&f, small.schema);
    oci_run_extent extents[6];
    for (int i = 0; i < 6; i++) {
        extents[i] = write_run(writer, i % 2 == 0 ? &small : &large);
        int64_t expected = i == 0 ? 0 : extents[i - 1].offset + extents[i - 1].bytes;
        assert_int_equal(extents[i].offset, expected);
    }
    for (int i = 5; i >= 0; i--) {
        check_run(&f, &extents[i], i % 2 == 0 ? &small : &large);
    }
    /* Read as one extent they are one run, which is what sorted input makes. */
    oci_run_extent all = {.bytes = extents[5].offset + extents[5].bytes,
                          .rows = 3 * small.rows + 3 * large.rows,
                          .blocks = 6 * N_BLOCKS};
    oci_run_cursor cursor = cursor_of(&f, &all);
    oci_run_decoder *decoder = make_decoder(&f, small.schema);
    oci_batch *batch;
    int64_t rows = 0;
    while (oci_run_cursor_next(&cursor, decoder, &batch, NULL) == OC_OK && batch != NULL) {
        rows += batch->length;
        oci_batch_release(batch);
    }
    assert_int_equal(rows, 3 * small.rows + 3 * large.rows);
    oci_run_decoder_destroy(decoder);
    oci_run_writer_destroy(writer);
    release_blocks(&small);
    release_blocks(&large);
    tear_down(&f);
}

static void bytes_that_are_no_utf8_come_back_as_they_are(void **state)
{
    (void)state;
    for (size_t c = 0; c < 3; c++) {
        fixture f;
        blocks b;
        const char *columns[] = {"s=u"};
        set_up(&f, codecs[c], false, 0);
        make_blocks(&f, columns, 1, 50, 0, &b);
        for (int32_t i = 0; i < N_BLOCKS; i++) {
            oci_column *column = &b.batches[i]->columns[0];
            for (int64_t row = 0; row < column->length; row++) {
                int64_t size;
                const uint8_t *bytes = oci_column_bytes_at(column, row, &size);
                if (bytes != NULL && size > 0) {
                    memset((uint8_t *)(uintptr_t)bytes, 0xff - (int)(row % 3), (size_t)size);
                }
            }
        }
        oci_run_writer *writer = make_writer(&f, b.schema);
        oci_run_extent extent = write_run(writer, &b);
        check_run(&f, &extent, &b);
        oci_run_writer_destroy(writer);
        release_blocks(&b);
        tear_down(&f);
    }
}

/* ---- counters and writes --------------------------------------------------------------------- */

static void counters_are_exact(void **state)
{
    (void)state;
    for (size_t c = 0; c < 3; c++) {
        fixture f;
        blocks b;
        set_up(&f, codecs[c], true, 0);
        make_blocks(&f, mixed, 4, 300, 0, &b);
        oci_spill_counters *n = &f.manager->counters;
        oci_run_writer *writer = make_writer(&f, b.schema);
        oci_run_extent extent = {0};
        for (int i = 1; i <= 3; i++) {
            extent = write_run(writer, &b);
            assert_int_equal(atomic_load(&n->spill_count), i);
            assert_int_equal(atomic_load(&n->spilled_rows), i * b.rows);
            assert_int_equal(atomic_load(&n->spilled_bytes), extent.offset + extent.bytes);
            assert_int_equal(atomic_load(&n->disk_now), extent.offset + extent.bytes);
        }
        assert_int_equal(oci_spill_file_end(f.file), extent.offset + extent.bytes);
        check_run(&f, &extent, &b);
        assert_int_equal(atomic_load(&n->read_back_bytes), extent.bytes);
        oci_run_cursor cursor = cursor_of(&f, &extent);
        cursor.is_kept = false;
        oci_run_cursor_finish(&cursor);
        oci_run_cursor_finish(&cursor);
        assert_int_equal(atomic_load(&n->disk_now), extent.offset);
        assert_int_equal(atomic_load(&n->disk_peak), extent.offset + extent.bytes);
        oci_run_writer_destroy(writer);
        release_blocks(&b);
        tear_down(&f);
    }
}

static void a_block_takes_one_write(void **state)
{
    (void)state;
    for (size_t c = 0; c < 3; c++) {
        oci_fault_plan *plan = oci_fault_plan_create();
        fixture f;
        blocks b;
        set_up(&f, codecs[c], false, 0);
        oci_spill_file_close(f.file);
        f.io = *oci_fault_io(plan);
        assert_int_equal(oci_spill_file_open(f.manager, &f.file, NULL), OC_OK);
        make_blocks(&f, mixed, 4, 300, 0, &b);
        oci_run_writer *writer = make_writer(&f, b.schema);
        oci_fault_arm(plan, OCI_FAULT_WRITE, 0, false);
        (void)write_run(writer, &b);
        /* One for the schema, one for the end marker. */
        assert_int_equal(oci_fault_count(plan, OCI_FAULT_WRITE), N_BLOCKS + 2);
        oci_run_writer_destroy(writer);
        release_blocks(&b);
        tear_down(&f);
        oci_fault_plan_destroy(plan);
    }
}

static void uncompressed_slabs_are_written_where_they_lie(void **state)
{
    (void)state;
    const char *columns[] = {"k=l", "s=u", "p=d:15,2"};
    fixture f;
    blocks b;
    oci_spill_settings settings = {
        .folders = &folder, .n_folders = 1, .encoding = OCI_SPILL_ENCODING_PLAIN};
    set_up_with(&f, &settings, false);
    make_blocks(&f, columns, 3, 1, 0, &b);
    oci_run_writer *writer = make_writer(&f, b.schema);
    int64_t head = oci_run_writer_head_bytes(writer);
    release_blocks(&b);
    make_blocks(&f, columns, 3, 500, head, &b);
    assert_int_equal(oci_run_writer_begin(writer, NULL), OC_OK);
    for (int32_t i = 0; i < N_BLOCKS; i++) {
        const oci_batch *block = b.batches[i];
        int64_t held = oci_mem_held(f.mem);
        assert_int_equal(oci_run_writer_add(writer, oci_batch_retain(b.batches[i]), NULL), OC_OK);
        const uint8_t *slab = block->slab;
        assert_true(spy.last_data >= slab && spy.last_data <= slab + head);
        assert_int_equal(oci_mem_held(f.mem), held);
    }
    oci_run_extent extent;
    assert_int_equal(oci_run_writer_finish(writer, &extent, NULL), OC_OK);
    check_run(&f, &extent, &b);
    oci_run_writer_destroy(writer);
    release_blocks(&b);
    tear_down(&f);
}

static void what_was_reserved_is_enough_for_blocks_of_that_size(void **state)
{
    (void)state;
    for (size_t c = 0; c < 3; c++) {
        fixture f;
        blocks b;
        set_up(&f, codecs[c], false, 0);
        make_blocks(&f, mixed, 4, 2000, 0, &b);
        oci_run_writer *writer = make_writer(&f, b.schema);
        int64_t space =
            oci_run_writer_space_for(writer, b.batches[0]->slab_bytes, b.batches[0]->length);
        assert_int_equal(oci_run_writer_reserve(writer, space, NULL), OC_OK);
        /* Nothing else is left but what the schema message takes. */
        oci_reservation rest = {.mem = f.mem};
        assert_int_equal(oci_mem_try_reserve(f.mem, &rest, oci_budget_free(f.budget) - 8192, NULL),
                         OC_OK);
        oci_run_extent extent = write_run(writer, &b);
        oci_reservation_release(&rest);
        check_run(&f, &extent, &b);
        oci_run_writer_destroy(writer);
        release_blocks(&b);
        tear_down(&f);
    }
}

/* ---- errors of the writer -------------------------------------------------------------------- */

static void an_error_stays_until_the_next_run(void **state)
{
    (void)state;
    for (int with_worker = 0; with_worker < 2; with_worker++) {
        fixture f;
        blocks b;
        set_up(&f, OCI_CODEC_NONE, with_worker == 1, 6000);
        make_blocks(&f, mixed, 4, 10, 0, &b);
        blocks large;
        make_blocks(&f, mixed, 4, 2000, 0, &large);
        oci_run_writer *writer = make_writer(&f, b.schema);
        oc_error err = {0};
        oci_run_extent extent;
        assert_int_equal(oci_run_writer_begin(writer, NULL), OC_OK);
        (void)!oci_run_writer_add(writer, oci_batch_retain(large.batches[0]), NULL);
        assert_int_equal(oci_run_writer_add(writer, oci_batch_retain(b.batches[1]), &err),
                         OC_ENOSPC);
        assert_non_null(strstr(err.message, "--disk-limit"));
        assert_int_equal(oci_run_writer_add(writer, oci_batch_retain(b.batches[1]), NULL),
                         OC_ENOSPC);
        assert_int_equal(oci_run_writer_finish(writer, &extent, &err), OC_ENOSPC);
        oci_run_writer_abandon(writer);
        assert_int_equal(atomic_load(&f.manager->counters.disk_now), 0);
        assert_int_equal(atomic_load(&f.manager->counters.spill_count), 0);
        extent = write_run(writer, &b);
        check_run(&f, &extent, &b);
        oci_run_writer_destroy(writer);
        release_blocks(&b);
        release_blocks(&large);
        tear_down(&f);
    }
}

static void an_abandoned_run_gives_its_bytes_back(void **state)
{
    (void)state;
    fixture f;
    blocks b;
    set_up(&f, OCI_CODEC_ZSTD, true, 0);
    make_blocks(&f, mixed, 4, 500, 0, &b);
    oci_run_writer *writer = make_writer(&f, b.schema);
    oci_run_extent kept = write_run(writer, &b);
    assert_int_equal(oci_run_writer_begin(writer, NULL), OC_OK);
    assert_int_equal(oci_run_writer_add(writer, oci_batch_retain(b.batches[0]), NULL), OC_OK);
    oci_run_writer_abandon(writer);
    assert_int_equal(atomic_load(&f.manager->counters.disk_now), kept.bytes);
    /* Destroying in the middle of a run does the same. */
    assert_int_equal(oci_run_writer_begin(writer, NULL), OC_OK);
    assert_int_equal(oci_run_writer_add(writer, oci_batch_retain(b.batches[0]), NULL), OC_OK);
    oci_run_writer_destroy(writer);
    assert_int_equal(atomic_load(&f.manager->counters.disk_now), kept.bytes);
    check_run(&f, &kept, &b);
    release_blocks(&b);
    tear_down(&f);
}

/* ---- damage ---------------------------------------------------------------------------------- */

static oc_status read_all(const fixture *f, const oci_run_extent *extent, oci_schema *schema,
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

static void a_cut_at_any_byte_is_noticed(void **state)
{
    (void)state;
    for (size_t c = 0; c < 3; c++) {
        fixture f;
        blocks b;
        set_up(&f, codecs[c], false, 0);
        make_blocks(&f, mixed, 4, 5, 0, &b);
        oci_run_writer *writer = make_writer(&f, b.schema);
        oci_run_extent extent = write_run(writer, &b);
        for (int64_t end = 0; end < extent.bytes; end++) {
            int64_t rows;
            oc_error err = {0};
            spy.file_end = end;
            assert_int_equal(read_all(&f, &extent, b.schema, &rows, &err), OC_EDATA);
            assert_true(err.message[0] != '\0');
        }
        spy.file_end = -1;
        /* So is an extent that is cut. */
        for (int64_t bytes = 0; bytes < extent.bytes; bytes++) {
            int64_t rows;
            oci_run_extent cut = {.bytes = bytes};
            assert_int_equal(read_all(&f, &cut, b.schema, &rows, NULL), OC_EDATA);
        }
        oci_run_writer_destroy(writer);
        release_blocks(&b);
        tear_down(&f);
    }
}

static void a_flipped_byte_is_noticed(void **state)
{
    (void)state;
    for (size_t c = 0; c < 3; c++) {
        fixture f;
        blocks b;
        set_up(&f, codecs[c], false, 0);
        make_blocks(&f, mixed, 4, 5, 0, &b);
        oci_run_writer *writer = make_writer(&f, b.schema);
        oci_run_extent extent = write_run(writer, &b);
        static const uint8_t flips[] = {0x01, 0x80, 0xff};
        for (int64_t at = 0; at < extent.bytes; at++) {
            for (size_t i = 0; i < sizeof flips; i++) {
                spy.flip_at = at;
                spy.flip = flips[i];
                int64_t rows;
                oc_error err = {0};
                oc_status status = read_all(&f, &extent, b.schema, &rows, &err);
                if (status != OC_EDATA && status != OC_EUNSUPPORTED) {
                    fail_msg("byte %d: %s: %s", (int)at, oc_status_name(status), err.message);
                }
            }
        }
        spy.flip_at = -1;
        check_run(&f, &extent, &b);
        oci_run_writer_destroy(writer);
        release_blocks(&b);
        tear_down(&f);
    }
}

/* ---- failures -------------------------------------------------------------------------------- */

/* Writes two runs and reads them back; everything is given back on every way out. */
static oc_status round_trip(oci_fault_plan *plan, oci_codec_id codec, bool with_worker,
                            const char *const *columns, int32_t n_columns)
{
    fixture f;
    blocks b;
    set_up(&f, codec, with_worker, 0);
    make_blocks(&f, columns, n_columns, 100, 0, &b);
    oci_spill_file_close(f.file);
    f.file = NULL;
    f.io = *oci_fault_io(plan);
    oci_budget *budget = NULL;
    oci_mem *mem = NULL;
    oci_run_writer *writer = NULL;
    oci_run_decoder *decoder = NULL;
    oci_run_extent extents[2] = {{0}};
    oci_run_cursor cursor = {0};
    oc_error err = {0};
    oc_status status = OC_OK;
    OC_GOTO(oci_budget_create(8 * MIB, oci_fault_allocator(plan), &budget, &err));
    OC_GOTO(oci_mem_open(budget, "faulty", &mem, &err));
    OC_GOTO(oci_spill_file_open(f.manager, &f.file, &err));
    OC_GOTO(oci_run_writer_create(f.file, b.schema, mem, f.worker, &writer, &err));
    OC_GOTO(oci_run_decoder_create(f.manager, b.schema, true, mem, &decoder, &err));
    for (int i = 0; i < 2; i++) {
        OC_GOTO(try_write_run(writer, &b, &extents[i], &err));
    }
    for (int i = 0; i < 2; i++) {
        cursor = cursor_of(&f, &extents[i]);
        cursor.is_kept = false;
        oci_batch *batch = NULL;
        for (int block = 0; block < N_BLOCKS; block++) {
            OC_GOTO(oci_run_cursor_next(&cursor, decoder, &batch, &err));
            assert_true(oci_batch_equal(batch, b.batches[block]));
            oci_batch_release(batch);
        }
        OC_GOTO(oci_run_cursor_next(&cursor, decoder, &batch, &err));
        assert_null(batch);
        oci_run_cursor_finish(&cursor);
    }
done:
    assert_true(status == OC_OK || err.message[0] != '\0');
    oci_run_cursor_finish(&cursor);
    oci_run_writer_destroy(writer);
    oci_run_decoder_destroy(decoder);
    if (mem != NULL) {
        assert_int_equal(oci_mem_held(mem), 0);
    }
    oci_mem_close(mem);
    oci_budget_destroy(budget);
    assert_int_equal(oci_fault_live_bytes(plan), 0);
    release_blocks(&b);
    if (f.file == NULL) {
        f.io = *oci_posix_io(); /* tear_down() wants a file */
        assert_int_equal(oci_spill_file_open(f.manager, &f.file, NULL), OC_OK);
    }
    tear_down(&f);
    return status;
}

static void every_failing_operation_gives_everything_back(void **state)
{
    (void)state;
    static const oci_fault_kind kinds[] = {OCI_FAULT_ALLOC, OCI_FAULT_OPEN, OCI_FAULT_READ,
                                           OCI_FAULT_WRITE};
    static const oc_status expected[] = {OC_ENOMEM, OC_ENOSPC, OC_EIO, OC_ENOSPC};
    for (size_t k = 0; k < 4; k++) {
        for (int variant = 0; variant < 4; variant++) {
            oci_fault_plan *plan = oci_fault_plan_create();
            bool injected = true;
            for (int64_t n = 1; injected; n++) {
                oci_fault_arm(plan, kinds[k], n, variant % 2 == 1);
                oc_status status =
                    round_trip(plan, codecs[variant % 3], variant >= 2, mixed, variant < 2 ? 4 : 2);
                injected = oci_fault_injected(plan) > 0;
                if (status != OC_OK && (!injected || status != expected[k])) {
                    fail_msg("kind %d, operation %d: %s", (int)kinds[k], (int)n,
                             oc_status_name(status));
                }
                assert_true(!injected || status != OC_OK || kinds[k] == OCI_FAULT_ALLOC);
            }
            oci_fault_plan_destroy(plan);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_comes_back_with_every_codec),
        cmocka_unit_test(every_nested_type_comes_back_with_every_codec),
        cmocka_unit_test(runs_lie_one_behind_the_other_in_one_file),
        cmocka_unit_test(bytes_that_are_no_utf8_come_back_as_they_are),
        cmocka_unit_test(counters_are_exact),
        cmocka_unit_test(a_block_takes_one_write),
        cmocka_unit_test(uncompressed_slabs_are_written_where_they_lie),
        cmocka_unit_test(what_was_reserved_is_enough_for_blocks_of_that_size),
        cmocka_unit_test(an_error_stays_until_the_next_run),
        cmocka_unit_test(an_abandoned_run_gives_its_bytes_back),
        cmocka_unit_test(a_cut_at_any_byte_is_noticed),
        cmocka_unit_test(a_flipped_byte_is_noticed),
        cmocka_unit_test(every_failing_operation_gives_everything_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
