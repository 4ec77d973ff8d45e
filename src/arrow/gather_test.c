/* Gather against a copy row by row through the accessors of batch.h, for every type and every way
 * in which a source may lie in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arrow/gather.h"
#include "base/fault.h"
#include "support/batch_maker.h"
#include "support/gather_check.h"

#define SOURCES_MAX 300

typedef struct fixture {
    oci_budget *budget;
    oci_mem *mem;
} fixture;

static fixture open_fixture(const oci_allocator *allocator)
{
    fixture f = {0};
    assert_int_equal(oci_budget_create(INT64_C(1) << 30, allocator, &f.budget, NULL), OC_OK);
    assert_int_equal(oci_mem_open(f.budget, "gather test", &f.mem, NULL), OC_OK);
    return f;
}

static void close_fixture(fixture *f)
{
    assert_int_equal(oci_mem_held(f->mem), 0);
    assert_int_equal(oci_budget_used(f->budget), 0);
    oci_mem_close(f->mem);
    oci_budget_destroy(f->budget);
    assert_int_equal(arrow_maker_live(), 0);
}

/* ---- every type ------------------------------------------------------------------------------ */

static void check_format_once(fixture *f, const char *format, uint64_t seed)
{
    static const int64_t lengths[] = {0, 1, 7, 8, 9, 63, 64, 65, 130, 700};
    uint64_t state = seed;
    oci_batch *sources[5] = {NULL};
    oci_row_ref rows[700];
    for (int s = 0; s < 5; s++) {
        arrow_maker maker = random_maker(&state, s == 1 ? 0 : 1 + random_below(&state, 200));
        sources[s] = s == 3 ? NULL : make_column_batch(format, &maker);
    }
    oci_schema *schema = working_schema(sources[0]);
    for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
        const oci_batch *const *from = (const oci_batch *const *)sources;
        int64_t n =
            pick_random_rows(&state, from, random_below(&state, 2) ? 5 : 1, lengths[k], rows);
        oci_batch_release(gather_and_check(f->mem, schema, from, rows, n, (int64_t)k * 20));
    }
    oci_schema_release(schema);
    for (int s = 0; s < 5; s++) {
        oci_batch_release(sources[s]);
    }
}

static void gather_equals_copy_by_rows_for_every_type(void **unused)
{
    (void)unused;
    fixture f = open_fixture(NULL);
    for (int32_t k = 0; k < arrow_maker_n_formats; k++) {
        for (uint64_t seed = 0; seed < 25; seed++) {
            check_format_once(&f, arrow_maker_formats[k], seed * 1000 + (uint64_t)k);
        }
    }
    close_fixture(&f);
}

/* Stretches of rows that follow each other, long ones or short ones, some of them empty-handed at
 * the end of their source. */
static int64_t pick_stretches(uint64_t *state, const oci_batch *const *sources, int64_t n_sources,
                              int64_t longest, oci_row_ref *rows, int64_t max)
{
    int64_t n = 0;
    for (int stretch = 0; stretch < 20; stretch++) {
        int64_t source = random_below(state, n_sources);
        int64_t start = random_below(state, sources[source]->length);
        int64_t end = start + random_below(state, longest);
        for (int64_t row = start; row < end && row < sources[source]->length && n < max; row++) {
            rows[n++] = (oci_row_ref){.source = (uint32_t)source, .row = (uint32_t)row};
        }
    }
    return n;
}

static void gather_of_rows_in_order_equals_copy_by_rows_for_every_type(void **unused)
{
    (void)unused;
    fixture f = open_fixture(NULL);
    for (int32_t k = 0; k < arrow_maker_n_formats; k++) {
        for (uint64_t seed = 0; seed < 10; seed++) {
            uint64_t state = seed * 1000 + (uint64_t)k;
            oci_batch *sources[4];
            oci_row_ref rows[2000];
            for (int s = 0; s < 4; s++) {
                arrow_maker maker = random_maker(&state, 1 + random_below(&state, 400));
                sources[s] = make_column_batch(arrow_maker_formats[k], &maker);
            }
            oci_schema *schema = working_schema(sources[0]);
            const oci_batch *const *from = (const oci_batch *const *)sources;
            int64_t n = pick_stretches(&state, from, 4, seed % 2 == 0 ? 200 : 40, rows, 2000);
            oci_batch_release(gather_and_check(f.mem, schema, from, rows, n, 64));
            oci_schema_release(schema);
            for (int s = 0; s < 4; s++) {
                oci_batch_release(sources[s]);
            }
        }
    }
    close_fixture(&f);
}

static void gather_equals_copy_by_rows_for_all_small_picks(void **unused)
{
    (void)unused;
    static const char *const formats[] = {"b", "c", "l", "w:3", "u", "U", "vu", "c>u", "i>n"};
    fixture f = open_fixture(NULL);
    for (size_t k = 0; k < sizeof formats / sizeof formats[0]; k++) {
        oci_batch *sources[2];
        for (uint64_t s = 0; s < 2; s++) {
            arrow_maker maker = {
                .seed = s, .length = 2, .null_percent = 40, .distinct = 2, .offset = 3};
            sources[s] = make_column_batch(formats[k], &maker);
        }
        oci_schema *schema = working_schema(sources[0]);
        /* All sequences of up to 4 of the 4 rows, as numbers of base 4. */
        for (int n = 0, picks = 1; n <= 4; n++, picks *= 4) {
            for (int pick = 0; pick < picks; pick++) {
                oci_row_ref rows[4];
                for (int i = 0, rest = pick; i < n; i++, rest /= 4) {
                    rows[i] =
                        (oci_row_ref){.source = (uint32_t)rest % 4 / 2, .row = (uint32_t)rest % 2};
                }
                oci_batch_release(
                    gather_and_check(f.mem, schema, (const oci_batch *const *)sources, rows, n, 0));
            }
        }
        oci_schema_release(schema);
        oci_batch_release(sources[0]);
        oci_batch_release(sources[1]);
    }
    close_fixture(&f);
}

static void gather_copies_all_columns_of_many_sources(void **unused)
{
    (void)unused;
    uint64_t state = 7;
    fixture f = open_fixture(NULL);
    oci_batch *sources[SOURCES_MAX] = {NULL};
    oci_row_ref *rows = calloc(OCI_GATHER_ROWS_MAX, sizeof *rows);
    for (int s = 0; s < SOURCES_MAX; s++) {
        arrow_maker maker = random_maker(&state, 200);
        sources[s] = s % 7 == 3 ? NULL
                                : make_batch(arrow_maker_formats, arrow_maker_n_formats, &maker);
    }
    oci_schema *schema = working_schema(sources[0]);
    const oci_batch *const *from = (const oci_batch *const *)sources;
    static const int64_t lengths[] = {1, 3000, OCI_GATHER_ROWS_MAX};
    for (int k = 0; k < 3; k++) {
        pick_random_rows(&state, from, SOURCES_MAX, lengths[k], rows);
        int64_t n = lengths[k];
        assert_int_equal(oci_gather_fit(schema, from, rows, n, INT64_MAX, f.mem, &n, NULL, NULL),
                         OC_OK);
        oci_batch_release(gather_and_check(f.mem, schema, from, rows, n, 100));
    }
    oci_schema_release(schema);
    for (int s = 0; s < SOURCES_MAX; s++) {
        oci_batch_release(sources[s]);
    }
    free(rows);
    close_fixture(&f);
}

static void gather_takes_views_and_offsets_side_by_side(void **unused)
{
    (void)unused;
    static const char *const pairs[][2] = {{"vu", "u"}, {"vz", "z"}, {"C>vu", "C>u"}};
    fixture f = open_fixture(NULL);
    for (uint64_t seed = 0; seed < 40; seed++) {
        uint64_t state = seed;
        oci_batch *sources[4];
        oci_row_ref rows[500];
        const char *const *pair = pairs[seed % 3];
        for (int s = 0; s < 4; s++) {
            arrow_maker maker = random_maker(&state, 100);
            sources[s] = make_column_batch(pair[s % 2], &maker);
        }
        oci_schema *schema = working_schema(sources[0]);
        const oci_batch *const *from = (const oci_batch *const *)sources;
        pick_random_rows(&state, from, 4, 500, rows);
        oci_batch_release(gather_and_check(f.mem, schema, from, rows, 500, 0));
        oci_schema_release(schema);
        for (int s = 0; s < 4; s++) {
            oci_batch_release(sources[s]);
        }
    }
    close_fixture(&f);
}

static void gather_without_columns_keeps_the_number_of_rows(void **unused)
{
    (void)unused;
    fixture f = open_fixture(NULL);
    oci_batch *source = make_batch(NULL, 0, &(arrow_maker){.length = 5});
    const oci_batch *const sources[] = {source};
    oci_row_ref rows[3] = {{0, 4}, {0, 0}, {0, 4}};
    oci_batch *out = gather_and_check(f.mem, source->schema, sources, rows, 3, 0);
    assert_int_equal(out->length, 3);
    oci_batch_release(out);
    oci_batch_release(source);
    close_fixture(&f);
}

static void gather_can_read_what_it_made(void **unused)
{
    (void)unused;
    fixture f = open_fixture(NULL);
    uint64_t state = 3;
    oci_row_ref rows[64];
    arrow_maker maker = {.length = 64, .null_percent = 20, .garbage = true};
    oci_batch *batch = make_batch(arrow_maker_formats, arrow_maker_n_formats, &maker);
    oci_schema *schema = working_schema(batch);
    for (int round = 0; round < 3; round++) {
        const oci_batch *const sources[] = {batch};
        pick_random_rows(&state, sources, 1, 64, rows);
        oci_batch *next = gather_and_check(f.mem, schema, sources, rows, 64, 0);
        oci_batch_release(batch);
        batch = next;
    }
    oci_batch_release(batch);
    oci_schema_release(schema);
    close_fixture(&f);
}

/* ---- ranges ---------------------------------------------------------------------------------- */

static void range_has_the_bytes_of_a_gather_of_the_same_rows(void **unused)
{
    (void)unused;
    fixture f = open_fixture(NULL);
    for (int32_t k = 0; k < arrow_maker_n_formats; k++) {
        for (uint64_t seed = 0; seed < 6; seed++) {
            uint64_t state = seed * 77 + (uint64_t)k;
            arrow_maker maker = random_maker(&state, 19);
            oci_batch *source = make_column_batch(arrow_maker_formats[k], &maker);
            oci_schema *schema = working_schema(source);
            for (int64_t start = 0; start <= 19; start++) {
                for (int64_t n = 0; start + n <= 19; n++) {
                    check_range(f.mem, schema, source, start, n);
                }
            }
            oci_schema_release(schema);
            oci_batch_release(source);
        }
    }
    close_fixture(&f);
}

static void range_has_the_bytes_of_a_gather_when_it_takes_several_blocks(void **unused)
{
    (void)unused;
    fixture f = open_fixture(NULL);
    for (uint64_t seed = 0; seed < 12; seed++) {
        uint64_t state = seed;
        arrow_maker maker = random_maker(&state, 3000);
        oci_batch *source = make_batch(arrow_maker_formats, arrow_maker_n_formats, &maker);
        oci_schema *schema = working_schema(source);
        int64_t start = random_below(&state, 500);
        check_range(f.mem, schema, source, start, 1 + random_below(&state, 3000 - start));
        check_range(f.mem, schema, source, start, 2048);
        oci_schema_release(schema);
        oci_batch_release(source);
    }
    close_fixture(&f);
}

static void range_of_a_slice_is_the_range_of_its_parent(void **unused)
{
    (void)unused;
    fixture f = open_fixture(NULL);
    arrow_maker maker = {.length = 200, .null_percent = 30, .garbage = true, .offset = 5};
    oci_batch *source = make_batch(arrow_maker_formats, arrow_maker_n_formats, &maker);
    oci_schema *schema = working_schema(source);
    for (int64_t start = 0; start < 200; start += 13) {
        oci_batch *slice = NULL;
        oci_batch *a = NULL;
        oci_batch *b = NULL;
        assert_int_equal(oci_batch_slice(source, start, 200 - start, &slice, NULL), OC_OK);
        int64_t n = (200 - start) / 2;
        assert_int_equal(oci_gather_range(schema, slice, n / 2, n, 0, f.mem, NULL, &a, NULL),
                         OC_OK);
        assert_int_equal(
            oci_gather_range(schema, source, start + n / 2, n, 0, f.mem, NULL, &b, NULL), OC_OK);
        check_same_slabs(a, 0, b, 0);
        oci_batch_release(a);
        oci_batch_release(b);
        oci_batch_release(slice);
    }
    oci_schema_release(schema);
    oci_batch_release(source);
    close_fixture(&f);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void gather_pays_the_slab_from_a_reservation(void **unused)
{
    (void)unused;
    fixture f = open_fixture(NULL);
    oci_batch *source = make_column_batch("l", &(arrow_maker){.length = 9000});
    const oci_batch *const sources[] = {source};
    oci_reservation reservation = {0};
    oci_batch *out = NULL;
    int64_t n = 0;
    int64_t bytes = 0;
    assert_int_equal(
        oci_gather_range_fit(source->schema, source, 0, 9000, INT64_MAX, f.mem, &n, &bytes, NULL),
        OC_OK);
    int64_t charge = oci_mem_charge_of(bytes);
    assert_int_equal(oci_mem_reserve(f.mem, &reservation, charge, NULL), OC_OK);
    assert_int_equal(
        oci_gather_range(source->schema, sources[0], 0, n, 0, f.mem, &reservation, &out, NULL),
        OC_OK);
    assert_int_equal(reservation.bytes, 0);
    assert_int_equal(oci_budget_used(f.budget), charge);
    oci_batch_release(out);
    assert_int_equal(oci_budget_used(f.budget), 0);
    oci_reservation_release(&reservation);
    oci_batch_release(source);
    close_fixture(&f);
}

static void gather_leaves_the_head_free_and_the_body_aligned(void **unused)
{
    (void)unused;
    fixture f = open_fixture(NULL);
    oci_batch *source = make_column_batch("l", &(arrow_maker){.length = 10});
    for (int64_t head = 0; head < 200; head++) {
        oci_batch *out = NULL;
        assert_int_equal(
            oci_gather_range(source->schema, source, 0, 10, head, f.mem, NULL, &out, NULL), OC_OK);
        int64_t at = out->columns[0].values - (const uint8_t *)out->slab;
        assert_true(at >= head && at < head + 64 && at % 64 == 0);
        oci_batch_release(out);
    }
    oci_batch_release(source);
    close_fixture(&f);
}

/* The Nth allocation fails, once or for ever: an error and nothing held, or the right batch. */
static void gather_gives_everything_back_when_memory_fails(void **unused)
{
    (void)unused;
    oci_fault_plan *plan = oci_fault_plan_create();
    fixture f = open_fixture(oci_fault_allocator(plan));
    uint64_t state = 5;
    oci_batch *sources[SOURCES_MAX] = {NULL};
    oci_row_ref rows[400];
    for (int s = 0; s < SOURCES_MAX; s += 50) {
        arrow_maker maker = {.seed = (uint64_t)s, .length = 100, .null_percent = 10};
        sources[s] = make_batch(arrow_maker_formats, arrow_maker_n_formats, &maker);
    }
    oci_schema *schema = working_schema(sources[0]);
    const oci_batch *const *from = (const oci_batch *const *)sources;
    pick_random_rows(&state, from, SOURCES_MAX, 400, rows);
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        bool injected = true;
        for (int64_t nth = 1; injected; nth++) {
            oci_batch *out = NULL;
            int64_t n = 400;
            oc_error err = {0};
            oci_fault_arm(plan, OCI_FAULT_ALLOC, nth, for_ever);
            oc_status status =
                oci_gather_fit(schema, from, rows, 400, INT64_MAX, f.mem, &n, NULL, &err);
            if (status == OC_OK) {
                status = oci_gather(schema, from, rows, n, 0, f.mem, NULL, &out, &err);
            }
            injected = oci_fault_injected(plan) > 0;
            oci_fault_arm(plan, OCI_FAULT_ALLOC, 0, false);
            assert_true(injected ? status == OC_ENOMEM : status == OC_OK);
            if (status == OC_OK) {
                check_gathered_values(out, from, rows, n);
                oci_batch_release(out);
            }
            assert_int_equal(oci_mem_held(f.mem), 0);
        }
    }
    oci_schema_release(schema);
    for (int s = 0; s < SOURCES_MAX; s++) {
        oci_batch_release(sources[s]);
    }
    close_fixture(&f);
    assert_int_equal(oci_fault_live_bytes(plan), 0);
    oci_fault_plan_destroy(plan);
}

/* ---- wrong input ----------------------------------------------------------------------------- */

/* Gathers row 0 of a one-column batch that `spoil` has changed. */
static oc_status gather_spoilt(const char *format, void (*spoil)(oci_column *column), oc_error *err)
{
    fixture f = open_fixture(NULL);
    oci_batch *source = make_column_batch(format, &(arrow_maker){.length = 3, .string_max = 40});
    oci_schema *schema = working_schema(source);
    const oci_batch *const sources[] = {source};
    const oci_row_ref rows[3] = {{0, 0}, {0, 1}, {0, 2}};
    oci_column saved = source->columns[0];
    oci_batch *out = NULL;
    int64_t n = 0;
    spoil(&source->columns[0]);
    oc_status status = oci_gather(schema, sources, rows, 3, 0, f.mem, NULL, &out, err);
    assert_int_equal(oci_gather_range(schema, source, 0, 3, 0, f.mem, NULL, &out, NULL), status);
    assert_int_equal(oci_gather_fit(schema, sources, rows, 3, 1000, f.mem, &n, NULL, NULL), status);
    assert_int_equal(oci_gather_range_fit(schema, source, 0, 3, 1000, f.mem, &n, NULL, NULL),
                     status);
    assert_null(out);
    source->columns[0] = saved;
    oci_schema_release(schema);
    oci_batch_release(source);
    close_fixture(&f);
    return status;
}

static void spoil_offsets(oci_column *column)
{
    static const int32_t offsets[] = {5, 9, 9, 2};
    column->values = (const uint8_t *)offsets;
}

static void spoil_large_offsets(oci_column *column)
{
    static const int64_t offsets[] = {0, INT64_MAX, -5, -7};
    column->values = (const uint8_t *)offsets;
}

static void spoil_views(oci_column *column)
{
    static const oci_view views[3] = {{.length = 20, .ref = {.buffer = 99}}};
    column->values = (const uint8_t *)views;
}

static void spoil_index(oci_column *column)
{
    static const int8_t indices[3] = {0, -1, 0};
    column->values = (const uint8_t *)indices;
}

static void gather_refuses_offsets_that_descend(void **unused)
{
    (void)unused;
    oc_error err = {0};
    assert_int_equal(gather_spoilt("u", spoil_offsets, &err), OC_EDATA);
    assert_string_equal(err.message,
                        "could not gather column \"a\": the offsets of a value are out of bounds");
    assert_int_equal(gather_spoilt("U", spoil_large_offsets, NULL), OC_EDATA);
}

static void gather_refuses_views_outside_their_buffers(void **unused)
{
    (void)unused;
    assert_int_equal(gather_spoilt("vu", spoil_views, NULL), OC_EDATA);
}

static void gather_refuses_indices_outside_their_dictionary(void **unused)
{
    (void)unused;
    oc_error err = {0};
    assert_int_equal(gather_spoilt("c>u", spoil_index, &err), OC_EDATA);
    assert_non_null(strstr(err.message, "index -1 is outside its dictionary"));
}

static void gather_refuses_a_source_of_another_type(void **unused)
{
    (void)unused;
    fixture f = open_fixture(NULL);
    oci_batch *source = make_column_batch("l", &(arrow_maker){.length = 3});
    oci_batch *other = make_column_batch("i", &(arrow_maker){.length = 3});
    oci_batch *out = NULL;
    assert_int_equal(oci_gather_range(other->schema, source, 0, 3, 0, f.mem, NULL, &out, NULL),
                     OC_EINTERNAL);
    oci_batch_release(source);
    oci_batch_release(other);
    source = make_column_batch("vu", &(arrow_maker){.length = 3});
    assert_int_equal(oci_gather_range(source->schema, source, 0, 3, 0, f.mem, NULL, &out, NULL),
                     OC_EINTERNAL);
    oci_batch_release(source);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gather_equals_copy_by_rows_for_every_type),
        cmocka_unit_test(gather_of_rows_in_order_equals_copy_by_rows_for_every_type),
        cmocka_unit_test(gather_equals_copy_by_rows_for_all_small_picks),
        cmocka_unit_test(gather_copies_all_columns_of_many_sources),
        cmocka_unit_test(gather_takes_views_and_offsets_side_by_side),
        cmocka_unit_test(gather_without_columns_keeps_the_number_of_rows),
        cmocka_unit_test(gather_can_read_what_it_made),
        cmocka_unit_test(range_has_the_bytes_of_a_gather_of_the_same_rows),
        cmocka_unit_test(range_has_the_bytes_of_a_gather_when_it_takes_several_blocks),
        cmocka_unit_test(range_of_a_slice_is_the_range_of_its_parent),
        cmocka_unit_test(gather_pays_the_slab_from_a_reservation),
        cmocka_unit_test(gather_leaves_the_head_free_and_the_body_aligned),
        cmocka_unit_test(gather_gives_everything_back_when_memory_fails),
        cmocka_unit_test(gather_refuses_offsets_that_descend),
        cmocka_unit_test(gather_refuses_views_outside_their_buffers),
        cmocka_unit_test(gather_refuses_indices_outside_their_dictionary),
        cmocka_unit_test(gather_refuses_a_source_of_another_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
