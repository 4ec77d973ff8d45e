/* Unit tests of damaged runs: cut, changed, with messages lost, repeated, swapped or of another run.
 * With checksums or a seal all of it is noticed; without them it does no harm. */
#include "spill/run_test_support.h"

#include "base/bits.h"
#include "ipc/message.h"

static const char *const mixed[] = {"k=i", "s=u", "d=c>u", "b=b"};

/* A run as bytes, and where its messages begin. */
#define MESSAGES_MAX 32

typedef struct raw_run {
    uint8_t *bytes; /* malloc'ed */
    int64_t size;
    int64_t starts[MESSAGES_MAX + 1];
    int32_t n; /* messages, end markers included; starts[n] = size */
    oci_run_extent extent;
} raw_run;

static int64_t message_bytes(const uint8_t *at, bool is_sealed)
{
    if (is_sealed) {
        return (int64_t)oci_load_le64(at + 8) + OCI_SEAL_EXTRA;
    }
    int64_t metadata_bytes = (int32_t)oci_load_le32(at + 4);
    oci_message message = {0};
    if (metadata_bytes > 0) {
        assert_int_equal(
            oci_message_parse(at + OCI_IPC_PREFIX_BYTES, metadata_bytes, &message, NULL), OC_OK);
    }
    return OCI_IPC_PREFIX_BYTES + metadata_bytes + message.body_bytes;
}

static raw_run take_run(const fixture *f, const blocks *b)
{
    oci_run_writer *writer = make_writer(f, b->schema);
    raw_run run = {.extent = write_run(writer, b)};
    oci_run_writer_destroy(writer);
    run.size = run.extent.bytes;
    run.bytes = malloc((size_t)run.size);
    assert_non_null(run.bytes);
    assert_int_equal(oci_spill_read(f->file, run.bytes, run.size, run.extent.offset, NULL), OC_OK);
    bool is_sealed = f->manager->seal != NULL;
    for (int64_t at = 0; at < run.size; at += message_bytes(run.bytes + at, is_sealed)) {
        assert_true(run.n < MESSAGES_MAX);
        run.starts[run.n++] = at;
    }
    run.starts[run.n] = run.size;
    return run;
}

/* Puts the messages order[0..n) of a run behind each other as a run of their own and reads it. */
static oc_status read_messages(const fixture *f, const raw_run *run, const int32_t *order,
                               int32_t n, oci_schema *schema, int64_t *rows, oc_error *err)
{
    oci_run_extent extent = {.offset = oci_spill_file_end(f->file)};
    memcpy(extent.run_id, run->extent.run_id, sizeof extent.run_id);
    for (int32_t i = 0; i < n; i++) {
        int64_t start = run->starts[order[i]];
        int64_t size = run->starts[order[i] + 1] - start;
        int64_t offset;
        assert_int_equal(oci_spill_append(f->file, run->bytes + start, size, &offset, NULL), OC_OK);
        extent.bytes += size;
    }
    return read_all(f, &extent, schema, rows, err);
}

static bool is_damage(oc_status status)
{
    return status == OC_EDATA || status == OC_EUNSUPPORTED;
}

static void every_cut_is_noticed(void **state)
{
    (void)state;
    for (int w = 0; w < N_WAYS; w++) {
        fixture f;
        blocks b;
        oci_spill_settings settings = way(w);
        set_up_with(&f, &settings, false);
        make_blocks(&f, mixed, 4, 130, 0, &b);
        raw_run run = take_run(&f, &b);
        for (int64_t end = 0; end < run.size; end += end < 1500 || end > run.size - 700 ? 1 : 61) {
            int64_t rows;
            oc_error err = {0};
            spy.file_end = end;
            assert_int_equal(read_all(&f, &run.extent, b.schema, &rows, &err), OC_EDATA);
            assert_non_null(strstr(err.message, " of spill file in /tmp: "));
            spy.file_end = -1;
            oci_run_extent cut = run.extent;
            cut.bytes = end;
            assert_int_equal(read_all(&f, &cut, b.schema, &rows, NULL), OC_EDATA);
            /* Also when nobody knows how many rows there were. */
            cut.rows = cut.blocks = 0;
            assert_int_equal(read_all(&f, &cut, b.schema, &rows, &err), OC_EDATA);
            assert_non_null(strstr(err.message, "could not read message "));
            assert_non_null(strstr(err.message, " at byte "));
        }
        free(run.bytes);
        release_blocks(&b);
        tear_down(&f);
    }
}

static void flip_everything(const fixture *f, const raw_run *run, const blocks *b,
                            bool must_be_noticed)
{
    static const uint8_t flips[] = {0x01, 0x20, 0x80};
    for (int64_t at = 0; at < run->size; at++) {
        spy.flip_at = run->extent.offset + at;
        spy.flip = flips[at % 3];
        int64_t rows;
        oc_error err = {0};
        oc_status status = read_all(f, &run->extent, b->schema, &rows, &err);
        if (must_be_noticed ? !is_damage(status)
                            : status != OC_OK && status != OC_EBUDGET && !is_damage(status)) {
            fail_msg("byte %d: %s: %s", (int)at, oc_status_name(status), err.message);
        }
    }
    spy.flip_at = -1;
    check_run(f, &run->extent, b);
}

static void every_changed_byte_is_noticed(void **state)
{
    (void)state;
    for (int w = 0; w < N_WAYS; w++) {
        fixture f;
        blocks b;
        oci_spill_settings settings = way(w);
        set_up_with(&f, &settings, false);
        make_blocks(&f, mixed, 4, 130, 0, &b);
        raw_run run = take_run(&f, &b);
        flip_everything(&f, &run, &b, true);
        free(run.bytes);
        release_blocks(&b);
        tear_down(&f);
    }
}

static void changed_bytes_do_no_harm_without_checksums(void **state)
{
    (void)state;
    static const char *const columns[] = {"k=i", "s=u", "d=c>u", "f=g", "l=+l(u)"};
    for (int w = 0; w < 9; w++) {
        fixture f;
        blocks b;
        oci_spill_settings settings = way(w);
        settings.no_checksums = true;
        set_up_with(&f, &settings, false);
        make_blocks(&f, columns, 5, 130, 0, &b);
        raw_run run = take_run(&f, &b);
        flip_everything(&f, &run, &b, false);
        free(run.bytes);
        release_blocks(&b);
        tear_down(&f);
    }
}

/* Messages are: schema, block, block, block, end, closing schema, end; and with dictionaries one more
 * in front of each block. */
static void lost_repeated_and_swapped_messages_are_noticed(void **state)
{
    (void)state;
    static const char *const columns[] = {"k=i", "s=u"};
    for (int w = 0; w < N_WAYS; w++) {
        fixture f;
        blocks b;
        oci_spill_settings settings = way(w);
        set_up_with(&f, &settings, false);
        make_blocks(&f, columns, 2, 130, 0, &b);
        raw_run run = take_run(&f, &b);
        assert_int_equal(run.n, 7);
        static const int32_t orders[][8] = {
            {0, 1, 2, 4, 5, 6, -1},                              /* the last block is lost */
            {0, 2, 3, 4, 5, 6, -1},                              /* the first */
            {1, 2, 3, 4, 5, 6, -1},                              /* the schema */
            {0, 1, 2, 3, 5, 6, -1},                              /* an end marker */
            {0, 1, 2, 3, 4, 6, -1},                              /* the counts */
            {0, 1, 2, 3, 4, 5, -1},                              /* the last end marker */
            {0, 1, 2, 3, 4, -1},                                 /* the closing stream */
            {0, 1, 1, 2, 3, 4, 5, 6},                            /* a block twice */
            {0, 1, 3, 2, 4, 5, 6, -1},                           /* blocks in another order */
            {0, 1, 2, 3, 4, 5, 6, 6},                            /* something behind the end */
            {0, 1, 2, 3, 4, 5, 6, 0},  {0, 0, 1, 2, 3, 4, 5, 6}, /* the schema twice */
            {4, 0, 1, 2, 3, 4, 5, 6},                            /* an end marker in front */
            {0, 4, 5, 6, -1},                                    /* all blocks */
        };
        for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
            int32_t n = 0;
            while (n < 8 && orders[i][n] >= 0) {
                n++;
            }
            int64_t rows;
            oc_error err = {0};
            oc_status status = read_messages(&f, &run, orders[i], n, b.schema, &rows, &err);
            if (!is_damage(status)) {
                fail_msg("way %d, order %d: %s", w, (int)i, oc_status_name(status));
            }
        }
        static const int32_t whole[] = {0, 1, 2, 3, 4, 5, 6};
        int64_t rows;
        assert_int_equal(read_messages(&f, &run, whole, 7, b.schema, &rows, NULL), OC_OK);
        assert_int_equal(rows, b.rows);
        free(run.bytes);
        release_blocks(&b);
        tear_down(&f);
    }
}

static void lost_blocks_are_noticed_without_checksums_too(void **state)
{
    (void)state;
    static const char *const columns[] = {"k=i", "s=u"};
    for (int w = 0; w < 9; w++) {
        fixture f;
        blocks b;
        oci_spill_settings settings = way(w);
        settings.no_checksums = true;
        set_up_with(&f, &settings, false);
        make_blocks(&f, columns, 2, 130, 0, &b);
        raw_run run = take_run(&f, &b);
        static const int32_t lost[][6] = {{0, 1, 2, 4, 5, 6}, {0, 2, 3, 4, 5, 6}};
        for (int i = 0; i < 2; i++) {
            int64_t rows;
            oc_error err = {0};
            assert_int_equal(read_messages(&f, &run, lost[i], 6, b.schema, &rows, &err), OC_EDATA);
            assert_non_null(strstr(err.message, "3 batches of 261 rows were written, 2 of 131"));
        }
        free(run.bytes);
        release_blocks(&b);
        tear_down(&f);
    }
}

static void what_the_writer_counted_is_held_against_the_run(void **state)
{
    (void)state;
    fixture f;
    blocks b;
    set_up(&f, OCI_CODEC_NONE, false, 0);
    make_blocks(&f, mixed, 4, 10, 0, &b);
    raw_run run = take_run(&f, &b);
    oci_run_extent other = run.extent;
    other.rows++;
    int64_t rows;
    oc_error err = {0};
    assert_int_equal(read_all(&f, &other, b.schema, &rows, &err), OC_EDATA);
    assert_non_null(strstr(err.message, "3 batches of 22 rows were written, 3 of 21 came back"));
    other = run.extent;
    other.blocks++;
    assert_int_equal(read_all(&f, &other, b.schema, &rows, &err), OC_EDATA);
    free(run.bytes);
    release_blocks(&b);
    tear_down(&f);
}

/* The same data, sealed once more: another run. */
static void messages_of_another_sealed_run_are_noticed(void **state)
{
    (void)state;
    if (!oci_seal_is_available()) {
        skip();
    }
    fixture f;
    blocks b;
    oci_spill_settings settings = {.is_sealed = true};
    set_up_with(&f, &settings, false);
    make_blocks(&f, mixed, 4, 10, 0, &b);
    raw_run first = take_run(&f, &b);
    raw_run second = take_run(&f, &b);
    assert_memory_not_equal(first.extent.run_id, second.extent.run_id, sizeof first.extent.run_id);
    memcpy(second.extent.run_id, first.extent.run_id, sizeof first.extent.run_id);
    int64_t rows;
    oc_error err = {0};
    assert_int_equal(read_all(&f, &second.extent, b.schema, &rows, &err), OC_EDATA);
    assert_non_null(strstr(err.message, "message 0"));
    free(first.bytes);
    free(second.bytes);
    release_blocks(&b);
    tear_down(&f);
}

/* Readers that do not know who wrote a file go by its first message. */
static void runs_without_checksums_are_read_where_that_may_be(void **state)
{
    (void)state;
    fixture f;
    blocks b;
    oci_spill_settings settings = {.no_checksums = true};
    set_up_with(&f, &settings, false);
    make_blocks(&f, mixed, 4, 10, 0, &b);
    raw_run run = take_run(&f, &b);
    f.manager->settings.no_checksums = false;
    int64_t rows;
    oc_error err = {0};
    assert_int_equal(read_all(&f, &run.extent, b.schema, &rows, &err), OC_EDATA);
    assert_non_null(strstr(err.message, "it has no checksum"));
    oci_run_decoder *decoder = NULL;
    assert_int_equal(oci_run_decoder_create(f.manager, NULL, false, f.mem, &decoder, NULL), OC_OK);
    oci_run_cursor cursor = cursor_of(&f, &run.extent);
    for (int i = 0; i < N_BLOCKS; i++) {
        check_next(&cursor, decoder, b.batches[i]);
    }
    check_next(&cursor, decoder, NULL);
    oci_run_cursor_finish(&cursor);
    oci_run_decoder_destroy(decoder);
    free(run.bytes);
    release_blocks(&b);
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cut_is_noticed),
        cmocka_unit_test(every_changed_byte_is_noticed),
        cmocka_unit_test(changed_bytes_do_no_harm_without_checksums),
        cmocka_unit_test(lost_repeated_and_swapped_messages_are_noticed),
        cmocka_unit_test(lost_blocks_are_noticed_without_checksums_too),
        cmocka_unit_test(what_the_writer_counted_is_held_against_the_run),
        cmocka_unit_test(messages_of_another_sealed_run_are_noticed),
        cmocka_unit_test(runs_without_checksums_are_read_where_that_may_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
