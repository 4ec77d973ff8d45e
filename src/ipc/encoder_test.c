/* Encoding: what comes out decodes to the same values, whatever the layout of the batch, and takes
 * no more than was announced. */
#include "ipc/ipc_test_support.h"

#include "arrow/gather.h"
#include "base/bits.h"

static const oci_codec_id all_codecs[] = {OCI_CODEC_NONE, OCI_CODEC_LZ4_FRAME, OCI_CODEC_ZSTD};

enum { LIMIT = 64 << 20 };

/* All flat or all nested formats. */
static oci_batch *make_full_batch(bool nested, const arrow_maker *maker)
{
    return nested ? make_batch(arrow_maker_nested_formats, arrow_maker_n_nested_formats, maker)
                  : make_batch(arrow_maker_formats, arrow_maker_n_formats, maker);
}

/* The messages of what was encoded last lie one behind the other, with slots or without. */
static void check_extents(const oci_ipc_encoder *encoder, const uint8_t *data, int64_t size,
                          bool with_checksum)
{
    const oci_ipc_extent *extents = NULL;
    int32_t n = oci_ipc_encoder_extents(encoder, &extents);
    int64_t at = 0;
    for (int32_t i = 0; i < n; i++) {
        oci_message message;
        assert_int_equal(extents[i].offset, at);
        assert_int_equal(oci_message_parse(data + at + OCI_IPC_PREFIX_BYTES,
                                           extents[i].metadata_bytes - OCI_IPC_PREFIX_BYTES,
                                           &message, NULL),
                         OC_OK);
        assert_int_equal(message.body_bytes, extents[i].body_bytes);
        assert_int_equal(message.kind == OCI_MESSAGE_DICTIONARY, extents[i].dictionary);
        assert_int_equal(message.checksum != NULL, with_checksum);
        at += extents[i].metadata_bytes + extents[i].body_bytes;
    }
    assert_int_equal(at, size);
}

/* Encodes, decodes, compares; checks the bound on the way. */
static void check_round_trip(const ipc_fixture *f, oci_ipc_encoder *encoder,
                             oci_ipc_decoder *decoder, const oci_batch *batch)
{
    uint8_t *data = NULL;
    int64_t size = 0;
    oc_error err = {0};
    int64_t bound = oci_ipc_encoder_bound(encoder, batch);
    if (oci_ipc_encode_batch(encoder, batch, NULL, &data, &size, &err) != OC_OK) {
        fail_msg("could not encode: %s", err.message);
    }
    if (bound > 0) {
        assert_true(size <= bound);
    }
    assert_int_equal(size % 8, 0);
    oci_batch *back = decode(f, decoder, data, size);
    assert_batch_equal(batch, back);
    oci_batch_release(back);
}

static void check_layout(const ipc_fixture *f, bool nested, const arrow_maker *maker)
{
    oci_batch *batch = make_full_batch(nested, maker);
    for (size_t c = 0; c < 3; c++) {
        for (int trusted = 0; trusted < 2; trusted++) {
            oci_ipc_encoder *encoder = make_encoder(f, batch->schema, all_codecs[c]);
            oci_ipc_decoder *decoder = make_decoder(f, batch->schema, trusted != 0);
            check_round_trip(f, encoder, decoder, batch);
            oci_ipc_encoder_destroy(encoder);
            oci_ipc_decoder_destroy(decoder);
        }
    }
    oci_batch_release(batch);
}

static void check_layouts(bool nested, const int64_t *lengths, size_t n)
{
    ipc_fixture f = open_fixture(LIMIT, NULL);
    for (size_t i = 0; i < n; i++) {
        for (int bits = 0; bits < 32; bits++) {
            arrow_maker maker = {.seed = (uint64_t)bits,
                                 .length = lengths[i],
                                 .null_percent = bits & 1 ? 30 : 0,
                                 .distinct = 50,
                                 .string_max = 40,
                                 .offset = bits & 2 ? 13 : 0,
                                 .garbage = bits & 4,
                                 .unaligned = bits & 8,
                                 .hide_null_count = bits & 16,
                                 .always_validity = bits & 16};
            check_layout(&f, nested, &maker);
        }
    }
    arrow_maker all_null = {.length = 100, .null_percent = 100, .garbage = true};
    check_layout(&f, nested, &all_null);
    close_fixture(&f);
}

static void every_type_and_layout_survives_a_round_trip(void **state)
{
    (void)state;
    static const int64_t lengths[] = {0, 1, 7, 8, 65, 300};
    check_layouts(false, lengths, sizeof lengths / sizeof lengths[0]);
}

static void every_nested_type_and_layout_survives_a_round_trip(void **state)
{
    (void)state;
    static const int64_t lengths[] = {0, 1, 8, 77};
    check_layouts(true, lengths, sizeof lengths / sizeof lengths[0]);
}

static void any_nesting_survives_a_round_trip(void **state)
{
    (void)state;
    ipc_fixture f = open_fixture(LIMIT, NULL);
    for (uint64_t seed = 0; seed < 200; seed++) {
        char text[4000];
        arrow_make_column_text(seed, 1 + (int32_t)(seed % 4), text, sizeof text);
        const char *columns[] = {text};
        oci_batch *batch = make_batch(columns, 1,
                                      &(arrow_maker){.seed = seed,
                                                     .length = 40,
                                                     .null_percent = 15,
                                                     .offset = seed % 3 == 0 ? 5 : 0,
                                                     .garbage = seed % 2 == 0});
        oci_codec_id codec = all_codecs[seed % 3];
        oci_ipc_encoder *encoder = make_encoder(&f, batch->schema, codec);
        oci_ipc_decoder *decoder = make_decoder(&f, batch->schema, false);
        for (int64_t start = 0; start < 40; start += 13) {
            oci_batch *slice = NULL;
            assert_int_equal(oci_batch_slice(batch, start, 40 - start, &slice, NULL), OC_OK);
            check_round_trip(&f, encoder, decoder, slice);
            oci_batch_release(slice);
        }
        oci_ipc_encoder_destroy(encoder);
        oci_ipc_decoder_destroy(decoder);
        oci_batch_release(batch);
    }
    close_fixture(&f);
}

static void check_slices(bool nested, int64_t n, int64_t step)
{
    ipc_fixture f = open_fixture(LIMIT, NULL);
    oci_batch *batch = make_full_batch(nested, &(arrow_maker){.seed = 5,
                                                              .length = n,
                                                              .null_percent = 20,
                                                              .offset = 3,
                                                              .string_max = 50,
                                                              .garbage = nested});
    for (size_t c = 0; c < 3; c++) {
        oci_ipc_encoder *encoder = make_encoder(&f, batch->schema, all_codecs[c]);
        oci_ipc_decoder *decoder = make_decoder(&f, batch->schema, false);
        for (int64_t start = 0; start <= n; start += step) {
            for (int64_t length = 0; length <= n - start; length = 3 * length + 1) {
                oci_batch *slice = NULL;
                assert_int_equal(oci_batch_slice(batch, start, length, &slice, NULL), OC_OK);
                check_round_trip(&f, encoder, decoder, slice);
                oci_batch_release(slice);
            }
        }
        oci_ipc_encoder_destroy(encoder);
        oci_ipc_decoder_destroy(decoder);
    }
    oci_batch_release(batch);
    close_fixture(&f);
}

static void slices_are_rebased(void **state)
{
    (void)state;
    check_slices(false, 200, 5);
}

static void slices_are_rebased_at_every_depth(void **state)
{
    (void)state;
    check_slices(true, 60, 7);
}

static void batch_without_columns_keeps_its_rows(void **state)
{
    (void)state;
    ipc_fixture f = open_fixture(LIMIT, NULL);
    oci_batch *batch = make_batch(NULL, 0, &(arrow_maker){.length = 100});
    oci_ipc_encoder *encoder = make_encoder(&f, batch->schema, OCI_CODEC_NONE);
    oci_ipc_decoder *decoder = make_decoder(&f, batch->schema, false);
    check_round_trip(&f, encoder, decoder, batch);
    oci_ipc_encoder_destroy(encoder);
    oci_ipc_decoder_destroy(decoder);
    oci_batch_release(batch);
    close_fixture(&f);
}

/* The formats that go out of a slab, in working form: all but dictionaries. */
static int32_t list_slab_formats(const char **formats)
{
    int32_t n = 0;
    for (int32_t i = 0; i < arrow_maker_n_formats + arrow_maker_n_nested_formats; i++) {
        const char *format = i < arrow_maker_n_formats
                                 ? arrow_maker_formats[i]
                                 : arrow_maker_nested_formats[i - arrow_maker_n_formats];
        if (strchr(format, '>') == NULL) {
            formats[n++] = format;
        }
    }
    return n;
}

static void gathered_batch_goes_out_of_its_slab(void **state)
{
    (void)state;
    ipc_fixture f = open_fixture(LIMIT, NULL);
    const char *formats[256];
    int32_t n_formats = list_slab_formats(formats);
    static const int64_t lengths[] = {1, 9, 100};
    for (size_t i = 0; i < 3; i++) {
        for (int32_t null_percent = 0; null_percent <= 50; null_percent += 50) {
            int64_t n = lengths[i];
            oci_batch *source = make_batch(
                formats, n_formats,
                &(arrow_maker){.length = n + 20, .null_percent = null_percent, .garbage = true});
            oci_schema *working = NULL;
            assert_int_equal(oci_schema_working(source->schema, &working, NULL), OC_OK);
            oci_ipc_encoder *encoder = make_encoder(&f, working, OCI_CODEC_NONE);
            oci_ipc_decoder *decoder = make_decoder(&f, working, false);
            int64_t head = oci_ipc_encoder_head_bytes(encoder);
            assert_int_equal(head % 64, 0);
            oci_batch *batch = NULL;
            assert_int_equal(
                oci_gather_range(working, source, 5, n, head, f.mem, NULL, &batch, NULL), OC_OK);
            assert_int_equal(oci_ipc_encoder_bound(encoder, batch), 0);
            int64_t held = oci_mem_held(f.mem);
            uint8_t *data = NULL;
            int64_t size = 0;
            assert_int_equal(oci_ipc_encode_batch(encoder, batch, NULL, &data, &size, NULL), OC_OK);
            assert_int_equal(oci_mem_held(f.mem), held);
            const uint8_t *slab = batch->slab;
            assert_true(data >= slab && data + size <= slab + batch->slab_bytes);
            const oci_ipc_extent *extents = NULL;
            assert_int_equal(oci_ipc_encoder_extents(encoder, &extents), 1);
            assert_int_equal(extents[0].metadata_bytes, head);
            assert_int_equal(extents[0].metadata_bytes + extents[0].body_bytes, size);
            oci_batch *back = decode(&f, decoder, data, size);
            assert_batch_equal(batch, back);
            oci_batch_release(back);
            oci_batch_release(batch);
            oci_schema_release(working);
            oci_batch_release(source);
            oci_ipc_encoder_destroy(encoder);
            oci_ipc_decoder_destroy(decoder);
        }
    }
    close_fixture(&f);
}

static void check_slab_bounds(bool nested, bool codec_changes)
{
    ipc_fixture f = open_fixture(LIMIT, NULL);
    oci_schema *working = NULL;
    oci_batch *source = make_full_batch(
        nested,
        &(arrow_maker){
            .seed = 9, .length = 900, .null_percent = 10, .distinct = 120, .string_max = 60});
    assert_int_equal(oci_schema_working(source->schema, &working, NULL), OC_OK);
    for (size_t c = 0; c < 3; c++) {
        oci_ipc_encoder *encoder = make_encoder(&f, working, all_codecs[c]);
        oci_ipc_decoder *decoder = make_decoder(&f, working, true);
        if (codec_changes) {
            assert_int_equal(oci_ipc_encoder_for_spill(encoder, true, true, NULL), OC_OK);
        }
        int64_t head = oci_ipc_encoder_head_bytes(encoder);
        for (int64_t n = 0; n <= 900; n = 2 * n + 1) {
            oci_batch *batch = NULL;
            assert_int_equal(
                oci_gather_range(working, source, 0, n, head, f.mem, NULL, &batch, NULL), OC_OK);
            int64_t bound = oci_ipc_encoder_bound(encoder, batch);
            assert_true(bound <= oci_ipc_encoder_bound_bytes(encoder, batch->slab_bytes));
            check_round_trip(&f, encoder, decoder, batch);
            oci_batch_release(batch);
        }
        oci_ipc_encoder_destroy(encoder);
        oci_ipc_decoder_destroy(decoder);
    }
    oci_schema_release(working);
    oci_batch_release(source);
    close_fixture(&f);
}

static void bound_of_a_slab_holds_for_gathered_batches(void **state)
{
    (void)state;
    check_slab_bounds(false, false);
    check_slab_bounds(true, false);
    check_slab_bounds(true, true);
}

/* The buffer of the second encoder holds what another batch left in it. */
static void check_bytes(bool nested)
{
    ipc_fixture f = open_fixture(LIMIT, NULL);
    oci_batch *large =
        make_full_batch(nested, &(arrow_maker){.seed = 1, .length = 500, .null_percent = 10});
    oci_batch *small = make_full_batch(
        nested, &(arrow_maker){
                    .seed = 2, .length = 77, .null_percent = 10, .offset = 3, .unaligned = true});
    for (size_t c = 0; c < 3; c++) {
        oci_ipc_encoder *fresh = make_encoder(&f, small->schema, all_codecs[c]);
        oci_ipc_encoder *used = make_encoder(&f, small->schema, all_codecs[c]);
        uint8_t *a = NULL;
        uint8_t *b = NULL;
        int64_t a_size = 0;
        int64_t b_size = 0;
        assert_int_equal(oci_ipc_encode_batch(used, large, NULL, &b, &b_size, NULL), OC_OK);
        oci_ipc_encoder_restart(used);
        assert_int_equal(oci_ipc_encode_batch(used, small, NULL, &b, &b_size, NULL), OC_OK);
        assert_int_equal(oci_ipc_encode_batch(fresh, small, NULL, &a, &a_size, NULL), OC_OK);
        assert_int_equal(a_size, b_size);
        assert_memory_equal(a, b, (size_t)a_size);
        oci_ipc_encoder_destroy(fresh);
        oci_ipc_encoder_destroy(used);
    }
    oci_batch_release(large);
    oci_batch_release(small);
    close_fixture(&f);
}

static void bytes_depend_on_the_batch_alone(void **state)
{
    (void)state;
    check_bytes(false);
    check_bytes(true);
}

static int32_t encode_and_count(oci_ipc_encoder *encoder, const oci_batch *batch)
{
    uint8_t *data = NULL;
    int64_t size = 0;
    const oci_ipc_extent *extents = NULL;
    assert_int_equal(oci_ipc_encode_batch(encoder, batch, NULL, &data, &size, NULL), OC_OK);
    int32_t n = oci_ipc_encoder_extents(encoder, &extents);
    int64_t at = 0;
    for (int32_t i = 0; i < n; i++) {
        assert_int_equal(extents[i].offset, at);
        assert_int_equal(extents[i].dictionary, i < n - 1);
        at += extents[i].metadata_bytes + extents[i].body_bytes;
    }
    assert_int_equal(at, size);
    return n;
}

static void dictionaries_are_sent_when_they_change(void **state)
{
    (void)state;
    ipc_fixture f = open_fixture(LIMIT, NULL);
    const char *columns[] = {"a=c>u", "b=l", "c=i>l"};
    arrow_maker maker = {.seed = 1, .length = 50, .distinct = 9};
    oci_batch *first = make_batch(columns, 3, &maker);
    oci_batch *same = make_batch(columns, 3, &maker);
    maker.seed = 2;
    oci_batch *other = make_batch(columns, 3, &maker);
    oci_ipc_encoder *encoder = make_encoder(&f, first->schema, OCI_CODEC_NONE);
    assert_int_equal(encode_and_count(encoder, first), 3);
    assert_int_equal(encode_and_count(encoder, first), 1);
    assert_int_equal(encode_and_count(encoder, same), 1);
    assert_int_equal(encode_and_count(encoder, other), 3);
    assert_int_equal(encode_and_count(encoder, first), 3);
    oci_ipc_encoder_restart(encoder);
    assert_int_equal(encode_and_count(encoder, first), 3);
    oci_ipc_encoder_destroy(encoder);
    oci_batch_release(first);
    oci_batch_release(same);
    oci_batch_release(other);
    close_fixture(&f);
}

/* Values of the outer dictionary are lists of the inner one's. */
static void dictionary_is_sent_again_when_one_inside_changes(void **state)
{
    (void)state;
    ipc_fixture f = open_fixture(LIMIT, NULL);
    const char *columns[] = {"a=+l(c>+l(s>u))", "b=c>l"};
    arrow_maker maker = {.seed = 1, .length = 50, .distinct = 9};
    oci_batch *first = make_batch(columns, 2, &maker);
    oci_batch *same = make_batch(columns, 2, &maker);
    maker.seed = 2;
    oci_batch *other = make_batch(columns, 2, &maker);
    oci_ipc_encoder *encoder = make_encoder(&f, first->schema, OCI_CODEC_ZSTD);
    oci_ipc_decoder *decoder = make_decoder(&f, first->schema, false);
    assert_int_equal(encode_and_count(encoder, first), 4);
    assert_int_equal(encode_and_count(encoder, same), 1);
    assert_int_equal(encode_and_count(encoder, other), 4);
    oci_ipc_encoder_restart(encoder);
    check_round_trip(&f, encoder, decoder, first);
    check_round_trip(&f, encoder, decoder, other);
    check_round_trip(&f, encoder, decoder, same);
    /* A batch that differs from the last one in the innermost strings only. */
    oci_column strings = *same->columns[0].children[0].dictionary->children[0].dictionary;
    oci_column *items = (oci_column *)same->columns[0].children[0].dictionary->children;
    const oci_column *before = items->dictionary;
    uint8_t *bytes = malloc(4096);
    memset(bytes, 'x', 4096);
    strings.bytes = bytes;
    items->dictionary = &strings;
    check_round_trip(&f, encoder, decoder, same);
    const oci_ipc_extent *extents = NULL;
    assert_int_equal(oci_ipc_encoder_extents(encoder, &extents), 3);
    items->dictionary = before;
    free(bytes);
    oci_ipc_encoder_destroy(encoder);
    oci_ipc_decoder_destroy(decoder);
    oci_batch_release(first);
    oci_batch_release(same);
    oci_batch_release(other);
    close_fixture(&f);
}

static void slice_of_views_does_not_take_all_buffers_along(void **state)
{
    (void)state;
    ipc_fixture f = open_fixture(LIMIT, NULL);
    oci_batch *batch = make_column_batch("vu", &(arrow_maker){.length = 5000, .string_max = 200});
    oci_batch *slice = NULL;
    assert_int_equal(oci_batch_slice(batch, 1000, 3, &slice, NULL), OC_OK);
    oci_ipc_encoder *encoder = make_encoder(&f, batch->schema, OCI_CODEC_NONE);
    oci_ipc_decoder *decoder = make_decoder(&f, batch->schema, false);
    uint8_t *data = NULL;
    int64_t size = 0;
    assert_int_equal(oci_ipc_encode_batch(encoder, slice, NULL, &data, &size, NULL), OC_OK);
    assert_true(size < 2000);
    check_round_trip(&f, encoder, decoder, slice);
    check_round_trip(&f, encoder, decoder, batch);
    oci_ipc_encoder_destroy(encoder);
    oci_ipc_decoder_destroy(decoder);
    oci_batch_release(slice);
    oci_batch_release(batch);
    close_fixture(&f);
}

static void compression_makes_equal_values_small_and_noise_no_larger(void **state)
{
    (void)state;
    ipc_fixture f = open_fixture(LIMIT, NULL);
    for (size_t c = 1; c < 3; c++) {
        for (int32_t distinct = 1; distinct >= 0; distinct--) { /* 0: as many as come */
            oci_batch *batch =
                make_column_batch("g", &(arrow_maker){.length = 2000, .distinct = distinct});
            oci_ipc_encoder *encoder = make_encoder(&f, batch->schema, all_codecs[c]);
            uint8_t *data = NULL;
            int64_t size = 0;
            assert_int_equal(oci_ipc_encode_batch(encoder, batch, NULL, &data, &size, NULL), OC_OK);
            assert_true(size - oci_ipc_encoder_head_bytes(encoder) <=
                        (distinct == 1 ? 400 : 16000 + 8));
            oci_ipc_encoder_destroy(encoder);
            oci_batch_release(batch);
        }
    }
    close_fixture(&f);
}

static void reservation_pays_for_the_buffer(void **state)
{
    (void)state;
    ipc_fixture f = open_fixture(1 << 20, NULL);
    oci_batch *batch = make_full_batch(false, &(arrow_maker){.seed = 3, .length = 100});
    oci_ipc_encoder *encoder = make_encoder(&f, batch->schema, OCI_CODEC_ZSTD);
    oci_reservation space = {0};
    int64_t need = oci_mem_charge_of(oci_ipc_encoder_bound(encoder, batch));
    assert_int_equal(oci_mem_reserve(f.mem, &space, need, NULL), OC_OK);
    /* Nothing else is left of the budget. */
    oci_reservation rest = {0};
    assert_int_equal(oci_mem_reserve(f.mem, &rest, oci_budget_free(f.budget), NULL), OC_OK);
    uint8_t *data = NULL;
    int64_t size = 0;
    oc_error err = {0};
    assert_int_equal(oci_ipc_encode_batch(encoder, batch, &space, &data, &size, &err), OC_OK);
    oci_ipc_encoder_trim(encoder, &space);
    assert_int_equal(space.bytes, need);
    assert_int_equal(oci_ipc_encode_batch(encoder, batch, &space, &data, &size, &err), OC_OK);
    oci_reservation_release(&rest);
    oci_reservation_release(&space);
    oci_ipc_encoder_destroy(encoder);
    oci_batch_release(batch);
    close_fixture(&f);
}

static void check_spill_mode(const ipc_fixture *f, const oci_batch *batch, bool with_checksum)
{
    static const oci_codec_id codecs[] = {OCI_CODEC_ZSTD, OCI_CODEC_NONE, OCI_CODEC_LZ4_FRAME,
                                          OCI_CODEC_ZSTD, OCI_CODEC_LZ4_FRAME};
    oci_ipc_encoder *encoder = make_encoder(f, batch->schema, OCI_CODEC_NONE);
    oci_ipc_decoder *decoder = make_decoder(f, batch->schema, true);
    assert_int_equal(oci_ipc_encoder_for_spill(encoder, with_checksum, true, NULL), OC_OK);
    int64_t head = oci_ipc_encoder_head_bytes(encoder);
    uint8_t *data = NULL;
    int64_t size = 0;
    assert_int_equal(oci_ipc_encode_schema(encoder, &data, &size, NULL), OC_OK);
    check_extents(encoder, data, size, with_checksum);
    int64_t bound = oci_ipc_encoder_bound(encoder, batch);
    for (int round = 0; round < 15; round++) {
        assert_int_equal(oci_ipc_encoder_set_codec(encoder, codecs[round % 5], round % 7, NULL),
                         OC_OK);
        if (round % 2 == 0) {
            oci_ipc_encoder_restart(encoder);
        }
        oci_ipc_encoder_trim(encoder, NULL);
        int64_t held = oci_mem_held(f->mem);
        assert_int_equal(oci_ipc_encode_batch(encoder, batch, NULL, &data, &size, NULL), OC_OK);
        assert_true(oci_mem_held(f->mem) - held <= oci_mem_charge_of(bound));
        check_extents(encoder, data, size, with_checksum);
        oci_batch *back = decode(f, decoder, data, size);
        assert_batch_equal(batch, back);
        oci_batch_release(back);
    }
    assert_int_equal(oci_ipc_encoder_head_bytes(encoder), head);
    oci_ipc_encoder_destroy(encoder);
    oci_ipc_decoder_destroy(decoder);
}

static void codec_changes_from_batch_to_batch_and_messages_have_slots(void **state)
{
    (void)state;
    static const int64_t lengths[] = {0, 9, 300};
    ipc_fixture f = open_fixture(LIMIT, NULL);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        for (int nested = 0; nested < 2; nested++) {
            oci_batch *batch = make_full_batch(
                nested != 0, &(arrow_maker){.seed = i, .length = lengths[i], .null_percent = 10});
            check_spill_mode(&f, batch, true);
            check_spill_mode(&f, batch, false);
            oci_batch_release(batch);
        }
    }
    close_fixture(&f);
}

static int64_t encoded_size(oci_ipc_encoder *encoder, const oci_batch *batch)
{
    uint8_t *data = NULL;
    int64_t size = 0;
    assert_int_equal(oci_ipc_encode_batch(encoder, batch, NULL, &data, &size, NULL), OC_OK);
    return size - oci_ipc_encoder_head_bytes(encoder);
}

/* That a buffer was not tried shows when it is one that compresses well. */
static void buffer_that_does_not_compress_is_left_alone_for_a_while(void **state)
{
    (void)state;
    enum { RAW = 8 + 16000 };
    ipc_fixture f = open_fixture(LIMIT, NULL);
    oci_batch *noise = make_column_batch("g", &(arrow_maker){.length = 2000});
    uint64_t *values = (uint64_t *)noise->columns[0].values;
    uint64_t random = 1;
    for (int64_t i = 0; i < 2000; i++) {
        values[i] = random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        values[i] ^= random >> 32;
    }
    oci_batch *equal = make_column_batch("g", &(arrow_maker){.length = 2000, .distinct = 1});
    oci_ipc_encoder *encoder = make_encoder(&f, noise->schema, OCI_CODEC_LZ4_FRAME);
    assert_int_equal(oci_ipc_encoder_for_spill(encoder, true, true, NULL), OC_OK);
    for (int round = 0; round < 3; round++) {
        assert_true(encoded_size(encoder, equal) < 400);
        assert_int_equal(encoded_size(encoder, noise), RAW);
        for (int i = 0; i < 7; i++) {
            assert_int_equal(encoded_size(encoder, equal), RAW);
        }
    }
    /* What only looks for repeats says nothing about what weighs symbols. */
    assert_int_equal(encoded_size(encoder, noise), RAW);
    assert_int_equal(oci_ipc_encoder_set_codec(encoder, OCI_CODEC_ZSTD, 1, NULL), OC_OK);
    assert_true(encoded_size(encoder, equal) < 400);
    assert_int_equal(oci_ipc_encoder_set_codec(encoder, OCI_CODEC_ZSTD, -3, NULL), OC_OK);
    assert_int_equal(encoded_size(encoder, equal), RAW);
    oci_ipc_encoder_destroy(encoder);
    oci_batch_release(noise);
    oci_batch_release(equal);
    close_fixture(&f);
}

static void tiny_buffers_are_stored_as_they_are_in_spill_files(void **state)
{
    (void)state;
    ipc_fixture f = open_fixture(LIMIT, NULL);
    oci_batch *batch = make_column_batch("l", &(arrow_maker){.length = 7, .distinct = 1});
    oci_ipc_encoder *encoder = make_encoder(&f, batch->schema, OCI_CODEC_ZSTD);
    assert_int_equal(oci_ipc_encoder_for_spill(encoder, false, false, NULL), OC_OK);
    assert_int_equal(encoded_size(encoder, batch), 8 + 56);
    oci_ipc_encoder_destroy(encoder);
    oci_batch_release(batch);
    close_fixture(&f);
}

/* The header of a batch in its slab has the slot too. */
static void slab_that_goes_out_as_it_lies_has_a_slot(void **state)
{
    (void)state;
    ipc_fixture f = open_fixture(LIMIT, NULL);
    const char *columns[] = {"a=l", "b=u", "c=b"};
    oci_batch *source = make_batch(columns, 3, &(arrow_maker){.length = 90, .null_percent = 20});
    oci_ipc_encoder *encoder = make_encoder(&f, source->schema, OCI_CODEC_NONE);
    assert_int_equal(oci_ipc_encoder_for_spill(encoder, true, false, NULL), OC_OK);
    oci_batch *batch = NULL;
    assert_int_equal(oci_gather_range(source->schema, source, 5, 70,
                                      oci_ipc_encoder_head_bytes(encoder), f.mem, NULL, &batch,
                                      NULL),
                     OC_OK);
    assert_int_equal(oci_ipc_encoder_bound(encoder, batch), 0);
    uint8_t *data = NULL;
    int64_t size = 0;
    assert_int_equal(oci_ipc_encode_batch(encoder, batch, NULL, &data, &size, NULL), OC_OK);
    assert_ptr_equal(data, batch->slab);
    check_extents(encoder, data, size, true);
    oci_batch_release(batch);
    oci_batch_release(source);
    oci_ipc_encoder_destroy(encoder);
    close_fixture(&f);
}

/* One attempt to encode and decode under an armed plan. */
static oc_status attempt(const ipc_fixture *f, const oci_batch *batch, oci_codec_id codec)
{
    oci_ipc_encoder *encoder = make_encoder(f, batch->schema, codec);
    oci_ipc_decoder *decoder = make_decoder(f, batch->schema, false);
    uint8_t *data = NULL;
    int64_t size = 0;
    oci_batch *back = NULL;
    oc_status status = oci_ipc_encode_batch(encoder, batch, NULL, &data, &size, NULL);
    if (status == OC_OK) {
        status = try_decode(f, decoder, data, size, 0, &back, NULL);
    }
    assert_true(status != OC_OK || back != NULL);
    if (back != NULL) {
        assert_batch_equal(batch, back);
    }
    oci_batch_release(back);
    oci_ipc_encoder_destroy(encoder);
    oci_ipc_decoder_destroy(decoder);
    assert_int_equal(oci_mem_held(f->mem), 0);
    return status;
}

static void check_failing_allocations(bool nested)
{
    oci_fault_plan *plan = oci_fault_plan_create();
    ipc_fixture f = open_fixture(LIMIT, oci_fault_allocator(plan));
    oci_batch *batch =
        make_full_batch(nested, &(arrow_maker){.seed = 4, .length = 60, .null_percent = 20});
    for (size_t c = 0; c < 3; c++) {
        for (int for_ever = 0; for_ever < 2; for_ever++) {
            bool injected = true;
            for (int64_t nth = 1; injected; nth++) {
                oci_fault_arm(plan, OCI_FAULT_ALLOC, nth, for_ever != 0);
                oc_status status = attempt(&f, batch, all_codecs[c]);
                injected = oci_fault_injected(plan) > 0;
                assert_true(status == OC_OK || (injected && status == OC_ENOMEM));
                oci_fault_arm(plan, OCI_FAULT_ALLOC, 0, false);
            }
            assert_int_equal(attempt(&f, batch, all_codecs[c]), OC_OK);
        }
    }
    oci_batch_release(batch);
    close_fixture(&f);
    assert_int_equal(oci_fault_live_bytes(plan), 0);
    oci_fault_plan_destroy(plan);
}

static void failing_allocations_are_reported_and_leave_nothing(void **state)
{
    (void)state;
    check_failing_allocations(false);
    check_failing_allocations(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_and_layout_survives_a_round_trip),
        cmocka_unit_test(every_nested_type_and_layout_survives_a_round_trip),
        cmocka_unit_test(any_nesting_survives_a_round_trip),
        cmocka_unit_test(slices_are_rebased),
        cmocka_unit_test(slices_are_rebased_at_every_depth),
        cmocka_unit_test(batch_without_columns_keeps_its_rows),
        cmocka_unit_test(gathered_batch_goes_out_of_its_slab),
        cmocka_unit_test(bound_of_a_slab_holds_for_gathered_batches),
        cmocka_unit_test(bytes_depend_on_the_batch_alone),
        cmocka_unit_test(dictionaries_are_sent_when_they_change),
        cmocka_unit_test(dictionary_is_sent_again_when_one_inside_changes),
        cmocka_unit_test(slice_of_views_does_not_take_all_buffers_along),
        cmocka_unit_test(compression_makes_equal_values_small_and_noise_no_larger),
        cmocka_unit_test(reservation_pays_for_the_buffer),
        cmocka_unit_test(codec_changes_from_batch_to_batch_and_messages_have_slots),
        cmocka_unit_test(buffer_that_does_not_compress_is_left_alone_for_a_while),
        cmocka_unit_test(tiny_buffers_are_stored_as_they_are_in_spill_files),
        cmocka_unit_test(slab_that_goes_out_as_it_lies_has_a_slot),
        cmocka_unit_test(failing_allocations_are_reported_and_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
