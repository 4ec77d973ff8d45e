/* Unit tests of runs: every type comes back as it went, whatever the encoding, the codec and the
 * seal; what is counted is exact; every failure gives everything back. (Damage: run_damage_test.c.) */
#include "spill/run_test_support.h"

/* ---- what comes back ------------------------------------------------------------------------- */

static void check_format(const char *format, int32_t i, int64_t rows)
{
    char column[256];
    snprintf(column, sizeof column, "a=%s", format);
    const char *columns[] = {column, "s=u", "id=l"};
    for (int w = 0; w < N_WAYS; w++) {
        fixture f;
        blocks b;
        oci_spill_settings settings = way(w);
        set_up_with(&f, &settings, i % 2 == 1);
        make_blocks(&f, columns, 3, rows, 0, &b);
        oci_run_writer *writer = make_writer(&f, b.schema);
        oci_run_extent extent = write_run(writer, &b);
        check_run(&f, &extent, &b);
        oci_run_writer_destroy(writer);
        release_blocks(&b);
        tear_down(&f);
    }
}

static void every_type_comes_back_in_every_way(void **state)
{
    (void)state;
    for (int32_t i = 0; i < arrow_maker_n_formats; i++) {
        check_format(arrow_maker_formats[i], i, 10);
        check_format(arrow_maker_formats[i], i, 200);
    }
}

static void every_nested_type_comes_back_in_every_way(void **state)
{
    (void)state;
    for (int32_t i = 0; i < arrow_maker_n_nested_formats; i++) {
        check_format(arrow_maker_nested_formats[i], i, 150);
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
    for (int w = 0; w < N_WAYS; w++) {
        fixture f;
        blocks b;
        const char *columns[] = {"s=u"};
        oci_spill_settings settings = way(w);
        set_up_with(&f, &settings, false);
        make_blocks(&f, columns, 1, 150, 0, &b);
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

static void a_run_of_nothing_has_a_schema(void **state)
{
    (void)state;
    for (int w = 0; w < N_WAYS; w++) {
        fixture f;
        oci_spill_settings settings = way(w);
        set_up_with(&f, &settings, false);
        oci_schema *schema = make_schema(mixed, 4);
        oci_run_writer *writer = make_writer(&f, schema);
        oci_run_extent extent;
        assert_int_equal(oci_run_writer_begin(writer, NULL), OC_OK);
        assert_int_equal(oci_run_writer_finish(writer, &extent, NULL), OC_OK);
        assert_int_equal(extent.blocks, 0);
        oci_run_decoder *decoder = make_decoder(&f, NULL);
        oci_run_cursor cursor = cursor_of(&f, &extent);
        check_next(&cursor, decoder, NULL);
        oci_schema *read = oci_run_decoder_schema(decoder);
        assert_non_null(read);
        assert_int_equal(read->n_fields, 4);
        assert_string_equal(read->fields[2].name, "d");
        assert_true(oci_field_same_type(&read->fields[2], &schema->fields[2]));
        oci_run_decoder_destroy(decoder);
        oci_run_writer_destroy(writer);
        oci_schema_release(schema);
        tear_down(&f);
    }
}

/* The declared schema counts, not what a batch happens to have. */
static void names_nullability_and_metadata_are_those_of_the_declared_schema(void **state)
{
    (void)state;
    for (int w = 0; w < N_WAYS; w++) {
        fixture f;
        blocks b;
        oci_spill_settings settings = way(w);
        set_up_with(&f, &settings, false);
        const char *columns[] = {"x=l@my.type", "y=+l(u)"};
        make_blocks(&f, columns, 2, 200, 0, &b);
        oci_run_writer *writer = make_writer(&f, b.schema);
        oci_run_extent extent = write_run(writer, &b);
        oci_run_decoder *decoder = make_decoder(&f, NULL);
        oci_run_cursor cursor = cursor_of(&f, &extent);
        check_next(&cursor, decoder, b.batches[0]);
        const oci_field *x = &oci_run_decoder_schema(decoder)->fields[0];
        assert_string_equal(x->name, "x");
        assert_int_equal(x->nullable, b.schema->fields[0].nullable);
        assert_int_equal(x->metadata_bytes, b.schema->fields[0].metadata_bytes);
        oci_run_cursor_finish(&cursor);
        oci_run_decoder_destroy(decoder);
        oci_run_writer_destroy(writer);
        release_blocks(&b);
        tear_down(&f);
    }
}

static void another_schema_than_was_written_is_refused_by_column(void **state)
{
    (void)state;
    for (int w = 0; w < 9; w++) {
        fixture f;
        blocks b;
        oci_spill_settings settings = way(w);
        set_up_with(&f, &settings, false);
        make_blocks(&f, mixed, 4, 200, 0, &b);
        oci_run_writer *writer = make_writer(&f, b.schema);
        oci_run_extent extent = write_run(writer, &b);
        static const char *const others[][4] = {{"k=i", "s=U", "d=c>u", "b=b"},
                                                {"k=i", "t=u", "d=c>u", "b=b"},
                                                {"k=i", "s=u", "d=c>z", "b=b"}};
        static const char *const said[] = {"\"s\" of utf8 where \"s\" of large_utf8",
                                           "\"s\" of utf8 where \"t\" of utf8",
                                           "\"d\" of dictionary<int8, utf8>"};
        for (int i = 0; i < 3; i++) {
            oci_schema *schema = make_schema(others[i], 4);
            oc_error err = {0};
            int64_t rows;
            assert_int_equal(read_all(&f, &extent, schema, &rows, &err), OC_EDATA);
            assert_non_null(strstr(err.message, said[i]));
            oci_schema_release(schema);
        }
        oci_schema *schema = make_schema(mixed, 3);
        oc_error err = {0};
        int64_t rows;
        assert_int_equal(read_all(&f, &extent, schema, &rows, &err), OC_EDATA);
        assert_non_null(strstr(err.message, "4 columns where 3 are expected"));
        oci_schema_release(schema);
        oci_run_writer_destroy(writer);
        release_blocks(&b);
        tear_down(&f);
    }
}

/* ---- counters, writes, memory ---------------------------------------------------------------- */

static int64_t ticks;

static int64_t tick(void *self)
{
    (void)self;
    return ++ticks;
}

static const oci_clock ticking = {.now_ns = tick};

static void counters_are_exact(void **state)
{
    (void)state;
    for (int w = 0; w < N_WAYS; w++) {
        fixture f;
        blocks b;
        oci_spill_settings settings = way(w);
        settings.clock = &ticking;
        set_up_with(&f, &settings, true);
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
            assert_int_equal(atomic_load(&n->writes), i * (N_BLOCKS + 2));
            /* Two looks at the clock around each write. */
            assert_int_equal(atomic_load(&n->write_ns), i * (N_BLOCKS + 2));
            assert_true(atomic_load(&n->encode_ns) >= i * N_BLOCKS);
        }
        assert_int_equal(oci_spill_file_end(f.file), extent.offset + extent.bytes);
        check_run(&f, &extent, &b);
        assert_int_equal(atomic_load(&n->read_back_bytes), extent.bytes);
        assert_true(atomic_load(&n->read_ns) > N_BLOCKS);
        assert_true(atomic_load(&n->decode_ns) >= N_BLOCKS);
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

static void counters_are_exact_after_every_batch(void **state)
{
    (void)state;
    for (int w = 0; w < N_WAYS; w++) {
        fixture f;
        blocks b;
        const char *columns[] = {"k=l", "s=u"};
        oci_spill_settings settings = way(w);
        set_up_with(&f, &settings, false);
        make_blocks(&f, columns, 2, 300, 0, &b);
        oci_spill_counters *n = &f.manager->counters;
        oci_run_writer *writer = make_writer(&f, b.schema);
        assert_int_equal(oci_run_writer_begin(writer, NULL), OC_OK);
        int64_t rows = 0;
        int64_t memory = 0;
        for (int32_t i = 0; i < N_BLOCKS; i++) {
            oci_batch *batch = b.batches[i];
            rows += batch->length;
            memory += batch->body_bytes;
            assert_int_equal(oci_run_writer_add(writer, oci_batch_retain(batch), NULL), OC_OK);
            assert_int_equal(atomic_load(&n->spilled_rows), rows);
            assert_int_equal(atomic_load(&n->memory_bytes), memory);
            assert_int_equal(atomic_load(&n->spilled_bytes), oci_spill_file_end(f.file));
            assert_int_equal(atomic_load(&n->writes), 2 + i);
        }
        oci_run_writer_destroy(writer);
        release_blocks(&b);
        tear_down(&f);
    }
}

static void a_batch_read_back_takes_no_more_than_it_took_before(void **state)
{
    (void)state;
    for (int w = 0; w < N_WAYS; w++) {
        fixture f;
        blocks b;
        const char *columns[] = {"k=l", "s=u", "b=b", "p=d:15,2", "l=+l(s)", "z=Z"};
        oci_spill_settings settings = way(w);
        set_up_with(&f, &settings, false);
        make_blocks(&f, columns, 6, 3000, 0, &b);
        oci_run_writer *writer = make_writer(&f, b.schema);
        oci_run_extent extent = write_run(writer, &b);
        oci_run_decoder *decoder = make_decoder(&f, b.schema);
        oci_run_cursor cursor = cursor_of(&f, &extent);
        for (int32_t i = 0; i < N_BLOCKS; i++) {
            int64_t held = oci_mem_held(f.mem);
            oci_batch *batch;
            assert_int_equal(oci_run_cursor_next(&cursor, decoder, &batch, NULL), OC_OK);
            int64_t taken = oci_mem_held(f.mem) - held;
            assert_true(taken <= b.batches[i]->bytes + 4096);
            assert_true(taken <= extent.slab_bytes_max);
            oci_batch_release(batch);
        }
        oci_run_cursor_finish(&cursor);
        oci_run_decoder_destroy(decoder);
        oci_run_writer_destroy(writer);
        release_blocks(&b);
        tear_down(&f);
    }
}

/* What the extent says is what a merge sets aside. */
static void reading_takes_what_the_extent_says(void **state)
{
    (void)state;
    for (int w = 0; w < N_WAYS; w++) {
        fixture f;
        blocks b;
        const char *columns[] = {"k=l", "s=u", "b=b", "p=d:15,2", "l=+l(s)"};
        oci_spill_settings settings = way(w);
        set_up_with(&f, &settings, false);
        make_blocks(&f, columns, 5, 20000, 0, &b);
        oci_run_writer *writer = make_writer(&f, b.schema);
        oci_run_extent extent = write_run(writer, &b);
        oci_run_writer_unreserve(writer);
        oci_run_decoder *decoder = make_decoder(&f, b.schema);
        oci_run_cursor cursor = cursor_of(&f, &extent);
        oci_reservation rest = {.mem = f.mem};
        int64_t free = oci_budget_free(f.budget) - extent.slab_bytes_max - extent.read_bytes_max;
        assert_int_equal(oci_mem_try_reserve(f.mem, &rest, free, NULL), OC_OK);
        for (int32_t i = 0; i < N_BLOCKS; i++) {
            check_next(&cursor, decoder, b.batches[i]);
        }
        oci_reservation_release(&rest);
        oci_run_cursor_finish(&cursor);
        oci_run_decoder_destroy(decoder);
        oci_run_writer_destroy(writer);
        release_blocks(&b);
        tear_down(&f);
    }
}

static void uncompressed_slabs_are_written_where_they_lie(void **state)
{
    (void)state;
    const char *columns[] = {"k=l", "s=u", "p=d:15,2"};
    fixture f;
    blocks b;
    oci_spill_settings settings = {.encoding = OCI_SPILL_ENCODING_PLAIN};
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
    for (int w = 0; w < N_WAYS; w++) {
        fixture f;
        blocks b;
        oci_spill_settings settings = way(w);
        set_up_with(&f, &settings, false);
        make_blocks(&f, mixed, 4, 2000, 0, &b);
        oci_run_writer *writer = make_writer(&f, b.schema);
        int64_t slab = b.batches[0]->slab_bytes;
        slab = slab > b.batches[2]->slab_bytes ? slab : b.batches[2]->slab_bytes;
        int64_t space = oci_run_writer_space_for(writer, slab, b.batches[0]->length);
        assert_int_equal(oci_run_writer_reserve(writer, space, NULL), OC_OK);
        /* Nothing else is left. */
        oci_reservation rest = {.mem = f.mem};
        assert_int_equal(oci_mem_try_reserve(f.mem, &rest, oci_budget_free(f.budget), NULL), OC_OK);
        oci_run_extent extent = write_run(writer, &b);
        assert_int_equal(oci_budget_free(f.budget), 0);
        oci_run_writer_unreserve(writer);
        assert_int_equal(oci_budget_free(f.budget), space);
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

/* ---- failures -------------------------------------------------------------------------------- */

/* Writes two runs and reads them back; everything is given back on every way out. */
static oc_status round_trip(oci_fault_plan *plan, int w, bool with_worker,
                            const char *const *columns, int32_t n_columns)
{
    fixture f;
    blocks b;
    oci_spill_settings settings = way(w);
    set_up_with(&f, &settings, with_worker);
    make_blocks(&f, columns, n_columns, 150, 0, &b);
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
        for (int variant = 0; variant < N_WAYS; variant++) {
            oci_fault_plan *plan = oci_fault_plan_create();
            bool injected = true;
            for (int64_t n = 1; injected; n++) {
                oci_fault_arm(plan, kinds[k], n, variant % 2 == 1);
                oc_status status =
                    round_trip(plan, variant, variant % 4 >= 2, mixed, variant % 3 < 2 ? 4 : 2);
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
        cmocka_unit_test(every_type_comes_back_in_every_way),
        cmocka_unit_test(every_nested_type_comes_back_in_every_way),
        cmocka_unit_test(runs_lie_one_behind_the_other_in_one_file),
        cmocka_unit_test(bytes_that_are_no_utf8_come_back_as_they_are),
        cmocka_unit_test(a_run_of_nothing_has_a_schema),
        cmocka_unit_test(names_nullability_and_metadata_are_those_of_the_declared_schema),
        cmocka_unit_test(another_schema_than_was_written_is_refused_by_column),
        cmocka_unit_test(counters_are_exact),
        cmocka_unit_test(counters_are_exact_after_every_batch),
        cmocka_unit_test(a_batch_read_back_takes_no_more_than_it_took_before),
        cmocka_unit_test(reading_takes_what_the_extent_says),
        cmocka_unit_test(uncompressed_slabs_are_written_where_they_lie),
        cmocka_unit_test(what_was_reserved_is_enough_for_blocks_of_that_size),
        cmocka_unit_test(an_error_stays_until_the_next_run),
        cmocka_unit_test(an_abandoned_run_gives_its_bytes_back),
        cmocka_unit_test(every_failing_operation_gives_everything_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
