/* Unit tests of summaries of spill files: they say what was written, and take no harm from damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ipc/message.h"
#include "spill/run.h"
#include "spill/run_summary.h"
#include "support/batch_maker.h"
#include "support/byte_file.h"

#define MIB       ((int64_t)1 << 20)
#define N_BLOCKS  3
#define ROWS      300
#define N_COLUMNS 5

static const char *const columns[N_COLUMNS] = {"k=l", "s=u", "v=vu", "d=c>u", "n=+l(i)"};

typedef struct fixture {
    oci_budget *budget;
    oci_mem *mem;
    uint8_t *bytes; /* of a spill file */
    int64_t size;
} fixture;

/* Writes a run and takes its bytes. */
static void set_up(fixture *f, const oci_spill_settings *given)
{
    const char *folder = "/tmp";
    oci_spill_settings settings = *given;
    oci_spill_manager *manager;
    oci_spill_file *file;
    oci_run_writer *writer;
    oci_run_extent extent;
    settings.folders = &folder;
    settings.n_folders = 1;
    assert_int_equal(oci_budget_create(64 * MIB, NULL, &f->budget, NULL), OC_OK);
    assert_int_equal(oci_mem_open(f->budget, "test", &f->mem, NULL), OC_OK);
    assert_int_equal(oci_spill_manager_create(oci_posix_io(), &settings, &manager, NULL), OC_OK);
    assert_int_equal(oci_spill_file_open(manager, &file, NULL), OC_OK);
    oci_schema *schema = make_schema(columns, N_COLUMNS);
    assert_int_equal(oci_run_writer_create(file, schema, f->mem, NULL, &writer, NULL), OC_OK);
    assert_int_equal(oci_run_writer_begin(writer, NULL), OC_OK);
    for (int64_t i = 0; i < N_BLOCKS; i++) {
        arrow_maker maker = {.seed = 1, .first_row = i * ROWS, .length = ROWS, .null_percent = 10};
        assert_int_equal(oci_run_writer_add(writer, make_batch(columns, N_COLUMNS, &maker), NULL),
                         OC_OK);
    }
    assert_int_equal(oci_run_writer_finish(writer, &extent, NULL), OC_OK);
    f->size = extent.bytes;
    f->bytes = malloc((size_t)f->size);
    assert_non_null(f->bytes);
    assert_int_equal(oci_spill_read(file, f->bytes, f->size, extent.offset, NULL), OC_OK);
    oci_run_writer_destroy(writer);
    oci_schema_release(schema);
    oci_spill_file_close(file);
    oci_spill_manager_release(manager);
}

static void tear_down(fixture *f)
{
    free(f->bytes);
    assert_int_equal(oci_mem_held(f->mem), 0);
    oci_mem_close(f->mem);
    oci_budget_destroy(f->budget);
}

static oc_status summarize(const fixture *f, const uint8_t *bytes, int64_t size,
                           oci_run_summary *out)
{
    oci_file *file = byte_file_open(bytes, size, 0);
    oc_status status = oci_run_summarize(file, f->mem, out, NULL);
    oci_close(file, NULL);
    return status;
}

static void check_summary(const oci_spill_settings *settings, oci_column_layout text,
                          oci_column_layout other)
{
    fixture f;
    oci_run_summary s;
    set_up(&f, settings);
    assert_int_equal(summarize(&f, f.bytes, f.size, &s), OC_OK);
    assert_int_equal(s.rows, N_BLOCKS * ROWS);
    assert_int_equal(s.blocks, N_BLOCKS);
    assert_int_equal(s.blocks_of[settings->codec], N_BLOCKS);
    assert_int_equal(s.rows_max, ROWS);
    assert_int_equal(s.streams, 1);
    assert_int_equal(s.has_checksums, !settings->no_checksums);
    assert_int_equal(s.schema->n_fields, N_COLUMNS);
    int64_t bytes = 0;
    for (int32_t i = 0; i < N_COLUMNS; i++) {
        assert_int_equal(s.columns[i].streams[i == 1 ? text : other], 1);
        assert_true(s.columns[i].bytes > 0);
        bytes += s.columns[i].bytes;
    }
    assert_in_range(bytes, s.body_bytes * 9 / 10, s.body_bytes);
    /* Headers, bodies, and the end markers of two streams. */
    assert_int_equal(s.metadata_bytes + s.body_bytes + 2 * OCI_IPC_PREFIX_BYTES, f.size);
    oci_run_summary_deinit(&s);
    tear_down(&f);
}

static void a_summary_says_what_was_written(void **state)
{
    (void)state;
    oci_spill_settings settings = {.codec = OCI_CODEC_ZSTD};
    check_summary(&settings, OCI_COLUMN_PACKED, OCI_COLUMN_PACKED);
    settings = (oci_spill_settings){
        .codec = OCI_CODEC_LZ4_FRAME, .encoding = OCI_SPILL_ENCODING_LENGTHS, .no_checksums = true};
    check_summary(&settings, OCI_COLUMN_LENGTHS, OCI_COLUMN_PLAIN);
    settings = (oci_spill_settings){.codec = OCI_CODEC_NONE, .encoding = OCI_SPILL_ENCODING_PLAIN};
    check_summary(&settings, OCI_COLUMN_PLAIN, OCI_COLUMN_PLAIN);
}

/* A cut between messages is one that only who holds the counts notices. */
static void a_cut_inside_a_message_is_noticed(void **state)
{
    (void)state;
    fixture f;
    oci_run_summary s;
    oci_spill_settings settings = {.codec = OCI_CODEC_ZSTD};
    set_up(&f, &settings);
    int64_t whole = 0;
    for (int64_t cut = 0; cut < f.size; cut++) {
        if (summarize(&f, f.bytes, cut, &s) == OC_OK) {
            whole++;
            oci_run_summary_deinit(&s);
        }
    }
    /* Behind the schema, each block, the end marker, and the closing schema. */
    assert_int_equal(whole, 1 + N_BLOCKS + 2);
    tear_down(&f);
}

static void flipped_bits_do_no_harm(void **state)
{
    (void)state;
    fixture f;
    oci_run_summary s;
    oci_spill_settings settings = {.codec = OCI_CODEC_LZ4_FRAME};
    set_up(&f, &settings);
    for (int64_t i = 0; i < f.size; i++) {
        f.bytes[i] ^= (uint8_t)(1 << i % 8);
        if (summarize(&f, f.bytes, f.size, &s) == OC_OK) {
            oci_run_summary_deinit(&s);
        }
        assert_int_equal(oci_mem_held(f.mem), 0);
        f.bytes[i] ^= (uint8_t)(1 << i % 8);
    }
    tear_down(&f);
}

static void what_is_no_spill_file_is_refused(void **state)
{
    (void)state;
    fixture f;
    oci_run_summary s;
    oci_spill_settings settings = {.codec = OCI_CODEC_NONE};
    set_up(&f, &settings);
    assert_int_equal(summarize(&f, (const uint8_t *)"a,b\n1,2\n3,4\n5,6\n", 16, &s), OC_EDATA);
    assert_int_equal(summarize(&f, f.bytes, 0, &s), OC_EDATA);
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_summary_says_what_was_written),
        cmocka_unit_test(a_cut_inside_a_message_is_noticed),
        cmocka_unit_test(flipped_bits_do_no_harm),
        cmocka_unit_test(what_is_no_spill_file_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
