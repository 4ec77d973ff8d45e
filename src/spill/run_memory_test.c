/* Unit tests of the memory of runs: writing a block needs no more than was set aside for it, reading
 * one no more than the extent says, whatever the type, layout, codec and whether it is sealed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arrow/gather.h"
#include "spill/run.h"
#include "support/batch_maker.h"

#define MIB ((int64_t)1 << 20)

typedef struct fixture {
    oci_budget *budget;
    oci_mem *mem;
    oci_spill_manager *manager;
    oci_spill_file *file;
    char what[256]; /* for messages */
} fixture;

static void set_up(fixture *f, const oci_spill_settings *settings, const char *columns)
{
    *f = (fixture){0};
    assert_int_equal(oci_budget_create(64 * MIB, NULL, &f->budget, NULL), OC_OK);
    assert_int_equal(oci_mem_open(f->budget, "writer", &f->mem, NULL), OC_OK);
    assert_int_equal(oci_spill_manager_create(oci_posix_io(), settings, &f->manager, NULL), OC_OK);
    assert_int_equal(oci_spill_file_open(f->manager, &f->file, NULL), OC_OK);
    snprintf(f->what, sizeof f->what, "%.150s, encoding %d, codec %d%s", columns,
             (int)settings->encoding, settings->is_codec_auto ? -1 : (int)settings->codec,
             settings->is_sealed ? ", sealed" : "");
}

static void tear_down(fixture *f)
{
    oci_spill_file_close(f->file);
    oci_spill_manager_release(f->manager);
    assert_int_equal(oci_mem_held(f->mem), 0);
    oci_mem_close(f->mem);
    oci_budget_destroy(f->budget);
}

static oci_batch *make_block(const fixture *f, oci_schema *working, const oci_batch *batch,
                             int64_t head_bytes)
{
    oci_batch *block = NULL;
    oc_error err = {0};
    if (oci_gather_range(working, batch, 0, batch->length, head_bytes, f->mem, NULL, &block,
                         &err) != OC_OK) {
        fail_msg("%s: %s", f->what, err.message);
    }
    return block;
}

/* Writes two runs of one block each with what is set aside for it and nothing else. */
static void write_with_reserve(const fixture *f, oci_schema *working, const oci_batch *batch,
                               oci_run_extent *extent)
{
    oci_run_writer *writer = NULL;
    oc_error err = {0};
    oci_reservation rest = {.mem = f->mem};
    assert_int_equal(oci_run_writer_create(f->file, working, f->mem, NULL, &writer, NULL), OC_OK);
    for (int run = 0; run < 2; run++) {
        oci_batch *block = make_block(f, working, batch, oci_run_writer_head_bytes(writer));
        int64_t space = oci_run_writer_space_for(writer, block->slab_bytes, block->length);
        assert_int_equal(oci_run_writer_reserve(writer, space, NULL), OC_OK);
        assert_int_equal(oci_mem_reserve(f->mem, &rest, oci_budget_free(f->budget), NULL), OC_OK);
        if (oci_run_writer_begin(writer, &err) != OC_OK ||
            oci_run_writer_add(writer, block, &err) != OC_OK ||
            oci_run_writer_finish(writer, extent, &err) != OC_OK) {
            fail_msg("%s: %s", f->what, err.message);
        }
        oci_reservation_release(&rest);
        oci_run_writer_unreserve(writer);
    }
    oci_run_writer_destroy(writer);
}

/* Reads a run of one block in a budget of its own, to the end while the block is held. */
static void read_within_extent(const fixture *f, oci_schema *working, const oci_run_extent *extent)
{
    oci_budget *budget = NULL;
    oci_mem *mem = NULL;
    oci_run_decoder *decoder = NULL;
    oci_run_cursor cursor;
    oci_batch *batch = NULL;
    oc_error err = {0};
    assert_int_equal(oci_budget_create(64 * MIB, NULL, &budget, NULL), OC_OK);
    assert_int_equal(oci_mem_open(budget, "reader", &mem, NULL), OC_OK);
    assert_int_equal(oci_run_decoder_create(f->manager, working, true, mem, &decoder, NULL), OC_OK);
    oci_run_cursor_start(&cursor, f->file, extent);
    if (oci_run_cursor_next(&cursor, decoder, &batch, &err) != OC_OK) {
        fail_msg("%s: %s", f->what, err.message);
    }
    assert_non_null(batch);
    oci_batch *next = NULL;
    if (oci_run_cursor_next(&cursor, decoder, &next, &err) != OC_OK) {
        fail_msg("%s: %s", f->what, err.message);
    }
    assert_null(next);
    if (oci_mem_held(mem) > extent->slab_bytes_max) {
        fail_msg("%s: a batch of %d bytes takes %d where %d were foreseen", f->what,
                 (int)batch->slab_bytes, (int)oci_mem_held(mem), (int)extent->slab_bytes_max);
    }
    if (oci_budget_peak(budget) > extent->slab_bytes_max + extent->read_bytes_max) {
        fail_msg("%s: reading took %d bytes where %d + %d were foreseen", f->what,
                 (int)oci_budget_peak(budget), (int)extent->slab_bytes_max,
                 (int)extent->read_bytes_max);
    }
    oci_batch_release(batch);
    assert_int_equal(oci_mem_held(mem), 0);
    oci_run_cursor_finish(&cursor);
    oci_run_decoder_destroy(decoder);
    oci_mem_close(mem);
    oci_budget_destroy(budget);
}

static void check_settings(const char *const *columns, int32_t n_columns, int64_t rows,
                           const oci_spill_settings *settings)
{
    fixture f;
    oci_run_extent extent = {0};
    oci_schema *working = NULL;
    arrow_maker maker = {.seed = 5, .length = rows, .null_percent = 20, .string_max = 40};
    oci_batch *batch = make_batch(columns, n_columns, &maker);
    set_up(&f, settings, columns[0]);
    assert_int_equal(oci_schema_working(batch->schema, &working, NULL), OC_OK);
    write_with_reserve(&f, working, batch, &extent);
    read_within_extent(&f, working, &extent);
    oci_schema_release(working);
    oci_batch_release(batch);
    tear_down(&f);
}

/* With every layout; without codec, with one (zstd is like LZ4 here), and with what is measured; sealed
 * and not. */
static void check_columns(const char *const *columns, int32_t n_columns, int64_t rows)
{
    static const char *const folder = "/tmp";
    for (int i = 0; i < 3 * 3 * 2; i++) {
        oci_spill_settings settings = {.folders = &folder,
                                       .n_folders = 1,
                                       .encoding = (oci_spill_encoding)(i % 3),
                                       .is_codec_auto = i / 3 % 3 == 2,
                                       .codec = i / 3 % 3 == 0 ? OCI_CODEC_NONE
                                                               : OCI_CODEC_LZ4_FRAME,
                                       .is_sealed = i / 9 == 1};
        if (!settings.is_sealed || oci_seal_is_available()) {
            check_settings(columns, n_columns, rows, &settings);
        }
    }
}

static void check_format(const char *format)
{
    char column[256];
    snprintf(column, sizeof column, "a=%s", format);
    const char *columns[] = {column, "id=l"};
    static const int64_t rows[] = {1, 2000};
    for (size_t i = 0; i < 2; i++) {
        check_columns(columns, 2, rows[i]);
    }
}

static void flat_types_take_what_was_foreseen(void **state)
{
    (void)state;
    for (int32_t i = 0; i < arrow_maker_n_formats; i++) {
        check_format(arrow_maker_formats[i]);
    }
}

static void nested_types_take_what_was_foreseen(void **state)
{
    (void)state;
    for (int32_t i = 0; i < arrow_maker_n_nested_formats; i++) {
        check_format(arrow_maker_nested_formats[i]);
    }
}

/* Headers of messages are memory too. */
static void wide_tables_take_what_was_foreseen(void **state)
{
    (void)state;
    static const char *const kinds[] = {"l", "u", "vu", "c>u", "+s(i; u)"};
    enum { N = 300 };
    static char texts[N][32];
    const char *columns[N];
    for (int i = 0; i < N; i++) {
        snprintf(texts[i], sizeof texts[i], "c%d=%s", i, kinds[i % 5]);
        columns[i] = texts[i];
    }
    check_columns(columns, N, 3);
    check_columns(columns, N, 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flat_types_take_what_was_foreseen),
        cmocka_unit_test(nested_types_take_what_was_foreseen),
        cmocka_unit_test(wide_tables_take_what_was_foreseen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
