/* Unit tests of how blocks are laid out: which layout is chosen when, and what another one costs. */
#include "spill/run_test_support.h"

#include "base/bits.h"
#include "spill/block_encoder.h"
#include "spill/stream_metadata.h"

/* ---- data ------------------------------------------------------------------------------------ */

/* Rows of one int64 column; all bits used and no two values near each other, or small ones. */
static oci_batch *make_numbers(oci_schema *schema, oci_mem *mem, int64_t rows, bool is_random)
{
    static uint64_t state = 88172645463325252u;
    void *slab;
    assert_int_equal(oci_mem_alloc(mem, rows * 8 + 8, &slab, NULL), OC_OK);
    for (int64_t i = 0; i < rows; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        oci_store_le64((uint8_t *)slab + 8 * i, is_random ? state : state % 100);
    }
    oci_column *column = calloc(1, sizeof *column);
    assert_non_null(column);
    *column = (oci_column){.field = &schema->fields[0], .length = rows, .values = slab};
    oci_batch *batch;
    assert_int_equal(
        oci_batch_adopt(schema, rows, column, mem, slab, rows * 8 + 8, NULL, 0, &batch, NULL),
        OC_OK);
    return batch;
}

typedef struct job {
    fixture f;
    oci_schema *schema;
    oci_block_encoder *encoder;
    oci_reservation from;
    int64_t room;
} job;

static void open_job(job *j, const oci_spill_settings *settings, const char *column)
{
    set_up_with(&j->f, settings, false);
    j->schema = make_schema(&column, 1);
    j->from = (oci_reservation){.mem = j->f.mem};
    j->room = INT64_MAX;
    assert_int_equal(oci_block_encoder_create(j->f.manager, j->schema, j->f.mem, &j->encoder, NULL),
                     OC_OK);
}

static void close_job(job *j)
{
    oci_block_encoder_destroy(j->encoder);
    oci_reservation_release(&j->from);
    oci_schema_release(j->schema);
    tear_down(&j->f);
}

static void begin(job *j)
{
    uint8_t run_id[OCI_SEAL_RUN_ID_BYTES];
    assert_int_equal(oci_block_encoder_begin(j->encoder, run_id, NULL), OC_OK);
}

/* The letters of the schema message in the opening of a block; "" when there is none. */
static const char *letters_of(const oci_block *block)
{
    static char letters[16];
    letters[0] = '\0';
    if (block->opening_bytes == 0) {
        return letters;
    }
    const uint8_t *at = block->opening;
    at += oci_load_le32(at + 4) == 0 ? OCI_IPC_PREFIX_BYTES : 0;
    oci_schema *schema;
    const char *text;
    int64_t size;
    assert_int_equal(oci_message_parse_schema(at + OCI_IPC_PREFIX_BYTES,
                                              (int64_t)oci_load_le32(at + 4), &schema, NULL, NULL,
                                              NULL),
                     OC_OK);
    assert_true(oci_metadata_find(schema->metadata, schema->metadata_bytes, OCI_SPILL_LAYOUT_KEY,
                                  &text, &size));
    assert_true(size < (int64_t)sizeof letters);
    memcpy(letters, text, (size_t)size);
    letters[size] = '\0';
    oci_schema_release(schema);
    return letters;
}

/* Encodes and releases a batch; returns the layout of the stream that begins with it, or "". */
static const char *encode(job *j, oci_batch *batch)
{
    oci_block block;
    oc_error err = {0};
    if (oci_block_encoder_encode(j->encoder, batch, j->room, &j->from, &block, &err) != OC_OK) {
        fail_msg("%s", err.message);
    }
    const char *letters = letters_of(&block);
    oci_block_encoder_trim(j->encoder, &j->from);
    oci_batch_release(batch);
    return letters;
}

static const char *encode_numbers(job *j, int64_t rows, bool is_random)
{
    return encode(j, make_numbers(j->schema, j->f.mem, rows, is_random));
}

static const char *encode_strings(job *j, int64_t rows)
{
    arrow_maker maker = {.seed = 5, .length = rows, .null_percent = 10};
    return encode(j, make_column_batch("u", &maker));
}

/* ---- lengths --------------------------------------------------------------------------------- */

static void lengths_begin_with_128_rows(void **state)
{
    (void)state;
    for (size_t c = 1; c < 3; c++) {
        job j;
        oci_spill_settings settings = {.encoding = OCI_SPILL_ENCODING_LENGTHS, .codec = codecs[c]};
        open_job(&j, &settings, "a=u");
        begin(&j);
        assert_string_equal(encode_strings(&j, 127), "p");
        /* The first batch of the run decides. */
        assert_string_equal(encode_strings(&j, 5000), "");
        begin(&j);
        assert_string_equal(encode_strings(&j, 128), "l");
        assert_string_equal(encode_strings(&j, 1), "");
        close_job(&j);
    }
}

static void offsets_are_kept_without_a_codec(void **state)
{
    (void)state;
    job j;
    oci_spill_settings settings = {.encoding = OCI_SPILL_ENCODING_LENGTHS};
    open_job(&j, &settings, "a=u");
    begin(&j);
    assert_string_equal(encode_strings(&j, 5000), "p");
    close_job(&j);
}

static void only_strings_get_lengths(void **state)
{
    (void)state;
    job j;
    oci_spill_settings settings = {.encoding = OCI_SPILL_ENCODING_LENGTHS, .codec = OCI_CODEC_ZSTD};
    open_job(&j, &settings, "a=l");
    begin(&j);
    assert_string_equal(encode_numbers(&j, 5000, false), "p");
    close_job(&j);
}

/* ---- auto ------------------------------------------------------------------------------------ */

static void columns_are_packed_where_that_makes_them_smaller(void **state)
{
    (void)state;
    for (size_t c = 0; c < 3; c++) {
        job j;
        oci_spill_settings settings = {.codec = codecs[c]};
        open_job(&j, &settings, "a=l");
        begin(&j);
        assert_string_equal(encode_numbers(&j, 1000, false), "k");
        assert_string_equal(encode_numbers(&j, 1000, false), "");
        begin(&j);
        assert_string_equal(encode_numbers(&j, 1000, false), "k");
        close_job(&j);
    }
}

static void what_cannot_be_made_smaller_stays_plain_and_is_tried_again(void **state)
{
    (void)state;
    job j;
    oci_spill_settings settings = {0};
    open_job(&j, &settings, "a=l");
    begin(&j);
    assert_string_equal(encode_numbers(&j, 1000, true), "p");
    for (int i = 1; i < 64; i++) {
        assert_string_equal(encode_numbers(&j, 1000, false), ""); /* not looked at */
    }
    assert_string_equal(encode_numbers(&j, 1000, false), "k");
    close_job(&j);
}

static void what_one_run_learnt_serves_the_next(void **state)
{
    (void)state;
    job j;
    oci_spill_settings settings = {0};
    open_job(&j, &settings, "a=l");
    begin(&j);
    assert_string_equal(encode_numbers(&j, 1000, true), "p");
    begin(&j);
    assert_string_equal(encode_numbers(&j, 1000, false), "p");
    close_job(&j);
}

static void packing_ends_where_it_costs_more_than_another_stream(void **state)
{
    (void)state;
    job j;
    oci_spill_settings settings = {0};
    open_job(&j, &settings, "a=l");
    begin(&j);
    assert_string_equal(encode_numbers(&j, 1000, false), "k");
    /* As large either way: the stream goes on. */
    assert_string_equal(encode_numbers(&j, 1000, true), "");
    assert_string_equal(encode_numbers(&j, 1, false), "");
    assert_string_equal(encode_numbers(&j, 1000, false), "");
    close_job(&j);
}

static void runs_of_few_rows_are_plain_until_more_come(void **state)
{
    (void)state;
    job j;
    oci_spill_settings settings = {0};
    open_job(&j, &settings, "a=l");
    begin(&j);
    assert_string_equal(encode_numbers(&j, 31, false), "p");
    assert_string_equal(encode_numbers(&j, 31, false), "");
    assert_string_equal(encode_numbers(&j, 20000, false), "k");
    begin(&j);
    assert_string_equal(encode_numbers(&j, 100, false), "k");
    close_job(&j);
}

static void plain_is_plain(void **state)
{
    (void)state;
    job j;
    oci_spill_settings settings = {.encoding = OCI_SPILL_ENCODING_PLAIN, .codec = OCI_CODEC_ZSTD};
    open_job(&j, &settings, "a=l");
    begin(&j);
    assert_string_equal(encode_numbers(&j, 1000, false), "p");
    assert_string_equal(encode_numbers(&j, 1000, false), "");
    close_job(&j);
}

static void blocks_without_room_to_pack_are_plain(void **state)
{
    (void)state;
    job j;
    oci_spill_settings settings = {0};
    open_job(&j, &settings, "a=l");
    begin(&j);
    j.room = oci_block_encoder_space_for(j.encoder, 8000, 1000) - 1;
    assert_string_equal(encode_numbers(&j, 1000, false), "p");
    j.room++;
    assert_string_equal(encode_numbers(&j, 1000, false), "k");
    close_job(&j);
}

/* ---- in runs --------------------------------------------------------------------------------- */

/* A run of blocks that are packed, plain, and packed again. */
static void a_layout_may_change_inside_a_run(void **state)
{
    (void)state;
    enum { N = 70 };
    for (int w = 0; w < N_WAYS; w += 3) {
        fixture f;
        oci_spill_settings settings = way(w);
        assert_int_equal(settings.encoding, OCI_SPILL_ENCODING_AUTO);
        set_up_with(&f, &settings, w % 2 == 0);
        const char *columns[] = {"a=l"};
        oci_schema *schema = make_schema(columns, 1);
        oci_batch *batches[N];
        for (int i = 0; i < N; i++) {
            batches[i] = make_numbers(schema, f.mem, 1000, i < 64);
        }
        oci_run_writer *writer = make_writer(&f, schema);
        oci_run_extent extent;
        assert_int_equal(oci_run_writer_begin(writer, NULL), OC_OK);
        for (int i = 0; i < N; i++) {
            assert_int_equal(oci_run_writer_add(writer, oci_batch_retain(batches[i]), NULL), OC_OK);
        }
        assert_int_equal(oci_run_writer_finish(writer, &extent, NULL), OC_OK);
        /* One write more than blocks, schema and end: that of the second schema. */
        assert_int_equal(atomic_load(&f.manager->counters.writes), N + 3);
        oci_run_decoder *decoder = make_decoder(&f, schema);
        oci_run_cursor cursor = cursor_of(&f, &extent);
        for (int i = 0; i < N; i++) {
            check_next(&cursor, decoder, batches[i]);
            oci_batch_release(batches[i]);
        }
        check_next(&cursor, decoder, NULL);
        oci_run_cursor_finish(&cursor);
        oci_run_decoder_destroy(decoder);
        oci_run_writer_destroy(writer);
        oci_schema_release(schema);
        tear_down(&f);
    }
}

/* "a similar string, number 7" and so on. */
static oci_batch *make_similar_strings(oci_schema *schema, oci_mem *mem, int64_t rows)
{
    void *slab;
    int64_t size = rows * 40 + 8;
    assert_int_equal(oci_mem_alloc(mem, size, &slab, NULL), OC_OK);
    uint8_t *offsets = slab;
    char *bytes = (char *)slab + oci_round_up(rows * 4 + 4, 8);
    int32_t at = 0;
    for (int64_t i = 0; i < rows; i++) {
        oci_store_le32(offsets + 4 * i, (uint32_t)at);
        at += snprintf(bytes + at, 36, "a similar string, number %d", (int)(i * i % 1000));
    }
    oci_store_le32(offsets + 4 * rows, (uint32_t)at);
    oci_column *column = calloc(1, sizeof *column);
    assert_non_null(column);
    *column = (oci_column){.field = &schema->fields[0],
                           .length = rows,
                           .values = offsets,
                           .bytes = (const uint8_t *)bytes};
    oci_batch *batch;
    assert_int_equal(oci_batch_adopt(schema, rows, column, mem, slab, size, NULL, 0, &batch, NULL),
                     OC_OK);
    return batch;
}

static void lengths_of_similar_strings_compress_to_a_quarter(void **state)
{
    (void)state;
    int64_t bytes[2];
    for (int i = 0; i < 2; i++) {
        fixture f;
        blocks b = {0};
        oci_spill_settings settings = {.encoding = i == 0 ? OCI_SPILL_ENCODING_PLAIN
                                                          : OCI_SPILL_ENCODING_LENGTHS,
                                       .codec = OCI_CODEC_ZSTD};
        set_up_with(&f, &settings, false);
        const char *columns[] = {"a=u"};
        b.schema = make_schema(columns, 1);
        for (int k = 0; k < N_BLOCKS; k++) {
            b.batches[k] = make_similar_strings(b.schema, f.mem, 8192);
            b.rows += 8192;
        }
        oci_run_writer *writer = make_writer(&f, b.schema);
        oci_run_extent extent = write_run(writer, &b);
        bytes[i] = extent.bytes;
        oci_run_writer_destroy(writer);
        release_blocks(&b);
        tear_down(&f);
    }
    assert_true(bytes[1] < bytes[0] / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_begin_with_128_rows),
        cmocka_unit_test(offsets_are_kept_without_a_codec),
        cmocka_unit_test(only_strings_get_lengths),
        cmocka_unit_test(columns_are_packed_where_that_makes_them_smaller),
        cmocka_unit_test(what_cannot_be_made_smaller_stays_plain_and_is_tried_again),
        cmocka_unit_test(what_one_run_learnt_serves_the_next),
        cmocka_unit_test(packing_ends_where_it_costs_more_than_another_stream),
        cmocka_unit_test(runs_of_few_rows_are_plain_until_more_come),
        cmocka_unit_test(plain_is_plain),
        cmocka_unit_test(blocks_without_room_to_pack_are_plain),
        cmocka_unit_test(a_layout_may_change_inside_a_run),
        cmocka_unit_test(lengths_of_similar_strings_compress_to_a_quarter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
