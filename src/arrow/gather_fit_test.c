/* oci_gather_fit against its definition: the most rows whose slab, as oci_gather makes it, stays
 * within the bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arrow/gather.h"
#include "base/bits.h"
#include "support/batch_maker.h"
#include "support/gather_check.h"

#define ROWS 40

static oci_budget *budget;
static oci_mem *mem;

static int set_up(void **unused)
{
    (void)unused;
    assert_int_equal(oci_budget_create(INT64_C(1) << 30, NULL, &budget, NULL), OC_OK);
    assert_int_equal(oci_mem_open(budget, "fit test", &mem, NULL), OC_OK);
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    assert_int_equal(oci_mem_held(mem), 0);
    oci_mem_close(mem);
    oci_budget_destroy(budget);
    assert_int_equal(arrow_maker_live(), 0);
    return 0;
}

static int64_t slab_bytes(oci_schema *schema, const oci_batch *const *sources,
                          const oci_row_ref *rows, int64_t n)
{
    oci_batch *out = NULL;
    assert_int_equal(oci_gather(schema, sources, rows, n, 0, mem, NULL, &out, NULL), OC_OK);
    int64_t bytes = out->slab_bytes;
    oci_batch_release(out);
    return bytes;
}

/* Rows in a scattered order that does not repeat. */
static void scatter_rows(oci_row_ref *rows, int64_t n, uint32_t n_sources)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t k = i * 7919 % n;
        rows[i] = (oci_row_ref){.source = (uint32_t)k % n_sources, .row = (uint32_t)k / n_sources};
    }
}

static void check_fit(oci_schema *schema, const oci_batch *const *sources, const oci_row_ref *rows,
                      int64_t n, int64_t max_bytes, int64_t expected, int64_t expected_bytes)
{
    int64_t n_fit = -1;
    int64_t bytes = -1;
    assert_int_equal(oci_gather_fit(schema, sources, rows, n, max_bytes, mem, &n_fit, &bytes, NULL),
                     OC_OK);
    assert_int_equal(n_fit, expected);
    assert_int_equal(bytes, expected_bytes);
}

static void fit_is_the_most_rows_for_every_limit_and_type(void **unused)
{
    (void)unused;
    for (int32_t k = 0; k < arrow_maker_n_formats; k++) {
        oci_batch *sources[2];
        oci_row_ref rows[ROWS];
        int64_t sizes[ROWS + 1];
        for (uint64_t s = 0; s < 2; s++) {
            arrow_maker maker = {
                .seed = s, .length = ROWS / 2, .null_percent = s ? 10 : 0, .garbage = true};
            sources[s] = make_column_batch(arrow_maker_formats[k], &maker);
        }
        const oci_batch *const *from = (const oci_batch *const *)sources;
        oci_schema *schema = working_schema(sources[0]);
        scatter_rows(rows, ROWS, 2);
        for (int64_t n = 0; n <= ROWS; n++) {
            sizes[n] = slab_bytes(schema, from, rows, n);
        }
        check_fit(schema, from, rows, 0, 1000, 0, sizes[0]);
        int64_t expected = 1;
        for (int64_t limit = 0; limit <= sizes[ROWS] + 1; limit++) {
            while (expected < ROWS && sizes[expected + 1] <= limit) {
                expected++;
            }
            check_fit(schema, from, rows, ROWS, limit, expected, sizes[expected]);
        }
        oci_schema_release(schema);
        oci_batch_release(sources[0]);
        oci_batch_release(sources[1]);
    }
}

static void fit_is_the_most_rows_at_every_size_of_nested_types(void **unused)
{
    (void)unused;
    for (int32_t k = 0; k < arrow_maker_n_nested_formats; k++) {
        oci_batch *sources[2];
        oci_row_ref rows[ROWS];
        for (uint64_t s = 0; s < 2; s++) {
            arrow_maker maker = {
                .seed = s, .length = ROWS / 2, .null_percent = s ? 10 : 0, .garbage = true};
            sources[s] = make_batch(&arrow_maker_nested_formats[k], 1, &maker);
        }
        const oci_batch *const *from = (const oci_batch *const *)sources;
        oci_schema *schema = working_schema(sources[0]);
        scatter_rows(rows, ROWS, 2);
        int64_t sizes[ROWS + 2] = {0};
        for (int64_t n = 0; n <= ROWS; n++) {
            sizes[n] = slab_bytes(schema, from, rows, n);
        }
        sizes[ROWS + 1] = INT64_MAX;
        for (int64_t n = 1; n <= ROWS; n++) {
            if (sizes[n] < sizes[n + 1]) {
                check_fit(schema, from, rows, ROWS, sizes[n], n, sizes[n]);
                check_fit(schema, from, rows, ROWS, sizes[n + 1] - 1, n, sizes[n]);
            }
        }
        oci_schema_release(schema);
        oci_batch_release(sources[0]);
        oci_batch_release(sources[1]);
    }
}

/* The step of the search is passed several times, with all types side by side. */
static void check_fit_of_several_steps(const char *const *formats, int32_t n_formats)
{
    oci_batch *sources[3];
    oci_row_ref *rows = calloc(9000, sizeof *rows);
    for (uint64_t s = 0; s < 3; s++) {
        arrow_maker maker = {.seed = s, .length = 3000, .null_percent = 5};
        sources[s] = make_batch(formats, n_formats, &maker);
    }
    const oci_batch *const *from = (const oci_batch *const *)sources;
    oci_schema *schema = working_schema(sources[0]);
    scatter_rows(rows, 9000, 3);
    static const int64_t counts[] = {1, 2, 1023, 1024, 1025, 2047, 2048, 3333, 5000};
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        int64_t n = 0;
        int64_t most = 0;
        assert_int_equal(
            oci_gather_fit(schema, from, rows, counts[k], INT64_MAX, mem, &most, NULL, NULL),
            OC_OK);
        int64_t bytes = slab_bytes(schema, from, rows, most);
        assert_int_equal(oci_gather_fit(schema, from, rows, 9000, bytes, mem, &n, NULL, NULL),
                         OC_OK);
        assert_int_equal(n, most);
        assert_int_equal(oci_gather_fit(schema, from, rows, 9000, bytes - 1, mem, &n, NULL, NULL),
                         OC_OK);
        assert_int_equal(n, most == 1 ? 1 : most - 1);
    }
    oci_schema_release(schema);
    for (int s = 0; s < 3; s++) {
        oci_batch_release(sources[s]);
    }
    free(rows);
}

static void fit_is_the_most_rows_when_rows_take_several_steps(void **unused)
{
    (void)unused;
    check_fit_of_several_steps(arrow_maker_formats, arrow_maker_n_formats);
    check_fit_of_several_steps(arrow_maker_nested_formats, arrow_maker_n_nested_formats);
}

static void check_range_fit(const char *const *formats, int32_t n_formats)
{
    arrow_maker maker = {.length = 5000, .null_percent = 3, .hide_null_count = true, .offset = 9};
    oci_batch *source = make_batch(formats, n_formats, &maker);
    const oci_batch *const from[] = {source};
    oci_schema *schema = working_schema(source);
    oci_row_ref *rows = calloc(5000, sizeof *rows);
    for (int64_t start = 0; start < 5000; start += 700) {
        for (int64_t i = start; i < 5000; i++) {
            rows[i] = (oci_row_ref){.source = 0, .row = (uint32_t)i};
        }
        for (int64_t limit = 500; limit < 4000000; limit += limit / 2) {
            int64_t n[2] = {0, 0};
            int64_t bytes[2] = {0, 0};
            int64_t left = 5000 - start;
            assert_int_equal(oci_gather_fit(schema, from, rows + start, left, limit, mem, &n[0],
                                            &bytes[0], NULL),
                             OC_OK);
            assert_int_equal(oci_gather_range_fit(schema, source, start, left, limit, mem, &n[1],
                                                  &bytes[1], NULL),
                             OC_OK);
            assert_int_equal(n[0], n[1]);
            assert_int_equal(bytes[0], bytes[1]);
        }
    }
    free(rows);
    oci_schema_release(schema);
    oci_batch_release(source);
}

static void range_fit_is_fit_of_the_same_rows(void **unused)
{
    (void)unused;
    check_range_fit(arrow_maker_formats, arrow_maker_n_formats);
    check_range_fit(arrow_maker_nested_formats, arrow_maker_n_nested_formats);
}

static void fit_cuts_at_the_most_rows_of_a_call(void **unused)
{
    (void)unused;
    oci_batch *source = make_column_batch("c", &(arrow_maker){.length = 3});
    const oci_batch *const sources[] = {source};
    int64_t n = 2 * OCI_GATHER_ROWS_MAX;
    oci_row_ref *rows = calloc((size_t)n, sizeof *rows);
    assert_int_equal(
        oci_gather_fit(source->schema, sources, rows, n, INT64_MAX, mem, &n, NULL, NULL), OC_OK);
    assert_int_equal(n, OCI_GATHER_ROWS_MAX);
    free(rows);
    oci_batch_release(source);
}

static void fit_ends_before_32_bit_offsets_run_out(void **unused)
{
    (void)unused;
    static const char *const formats[] = {"u", "vz"};
    for (int k = 0; k < 2; k++) {
        arrow_maker maker = {.length = 100, .string_max = 50};
        oci_batch *source = make_column_batch(formats[k], &maker);
        const oci_batch *const sources[] = {source};
        oci_schema *schema = working_schema(source);
        oci_row_ref rows[100];
        scatter_rows(rows, 100, 1);
        for (int64_t max = 0; max < 500; max++) {
            int64_t bytes = 0;
            int64_t expected = 0;
            int64_t n = 0;
            for (int64_t length; expected < 100; expected++) {
                (void)oci_column_bytes_at(&source->columns[0], rows[expected].row, &length);
                bytes += length;
                if (bytes > max) {
                    break;
                }
            }
            oci_gather_offset_max = max;
            assert_int_equal(
                oci_gather_fit(schema, sources, rows, 100, INT64_MAX, mem, &n, NULL, NULL), OC_OK);
            assert_int_equal(n, expected == 0 ? 1 : expected);
            assert_int_equal(
                oci_gather_range_fit(schema, source, 0, 100, INT64_MAX, mem, &n, NULL, NULL),
                OC_OK);
            oci_gather_offset_max = INT32_MAX;
            assert_true(n >= 1 && slab_bytes(schema, sources, rows, n) > 0);
        }
        oci_schema_release(schema);
        oci_batch_release(source);
    }
}

/* The largest number that a 32-bit offset has to hold, at any depth. */
static int64_t largest_offset(const oci_column *column)
{
    int64_t largest = 0;
    oci_layout layout = oci_field_layout(column->field);
    if (layout == OCI_LAYOUT_OFFSETS32) {
        largest = (int64_t)(uint32_t)oci_load_le32(column->values + column->length * 4);
    }
    for (int32_t i = 0; i < column->field->n_children; i++) {
        int64_t below = largest_offset(&column->children[i]);
        if (layout == OCI_LAYOUT_LIST32 || layout == OCI_LAYOUT_DENSE_UNION) {
            below = oci_max64(below, column->children[i].length);
        }
        largest = oci_max64(largest, below);
    }
    return column->dictionary == NULL ? largest
                                      : oci_max64(largest, largest_offset(column->dictionary));
}

static void fit_ends_before_32_bit_offsets_run_out_at_any_depth(void **unused)
{
    (void)unused;
    static const char *const formats[] = {
        "+l(c)",         "+vl(b)",      "+l(+l(i))",        "+m(u; i)",
        "+ud:0,1(i; u)", "+w:2(+l(i))", "+s(a=i; b=+l(c))", "+r(i; +l(i))",
        "i>+l(l)",       "+L(+l(i))",   "+L(+ud:1,0(i; l))"};
    for (size_t k = 0; k < sizeof formats / sizeof formats[0]; k++) {
        arrow_maker maker = {.length = 60, .null_percent = 5, .distinct = 40};
        oci_batch *source = make_batch(&formats[k], 1, &maker);
        const oci_batch *const sources[] = {source};
        oci_schema *schema = working_schema(source);
        oci_row_ref rows[60];
        int64_t largest[62] = {0};
        scatter_rows(rows, 60, 1);
        for (int64_t n = 1; n <= 60; n++) {
            oci_batch *out = NULL;
            assert_int_equal(oci_gather(schema, sources, rows, n, 0, mem, NULL, &out, NULL), OC_OK);
            largest[n] = largest_offset(&out->columns[0]);
            oci_batch_release(out);
        }
        assert_true(largest[60] > 20);
        for (int64_t max = 0; max <= largest[60]; max++) {
            int64_t expected = 1;
            int64_t n = 0;
            while (expected < 60 && largest[expected + 1] <= max) {
                expected++;
            }
            oci_gather_offset_max = max;
            assert_int_equal(
                oci_gather_fit(schema, sources, rows, 60, INT64_MAX, mem, &n, NULL, NULL), OC_OK);
            oci_gather_offset_max = INT32_MAX;
            assert_int_equal(n, expected);
        }
        oci_schema_release(schema);
        oci_batch_release(source);
    }
}

static const oci_column *find_dictionary(const oci_column *column)
{
    while (column->dictionary == NULL) {
        column = &column->children[0];
    }
    return column->dictionary;
}

/* Rows that use more distinct values than an index of 8 bits can tell apart. */
static void fit_ends_before_dictionary_indices_run_out(void **unused)
{
    (void)unused;
    static const struct {
        const char *format;
        int64_t values_max;
    } cases[] = {{"c>u", 128},     {"C>vz", 256},          {"C>l", 256},
                 {"+l(c>u)", 128}, {"+s(a=C>+l(i))", 256}, {"+w:2(c>u)", 128}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        oci_batch *sources[8];
        oci_row_ref rows[1600];
        for (uint64_t s = 0; s < 8; s++) {
            arrow_maker maker = {.seed = s, .length = 200, .null_percent = 20, .distinct = 100};
            sources[s] = make_batch(&cases[k].format, 1, &maker);
        }
        const oci_batch *const *from = (const oci_batch *const *)sources;
        oci_schema *schema = working_schema(sources[0]);
        scatter_rows(rows, 1600, 8);
        int64_t at = 0;
        int64_t n_batches = 0;
        for (int64_t n = 0; at < 1600; at += n, n_batches++) {
            oci_batch *out = NULL;
            assert_int_equal(
                oci_gather_fit(schema, from, rows + at, 1600 - at, INT64_MAX, mem, &n, NULL, NULL),
                OC_OK);
            assert_true(n >= 1);
            assert_int_equal(oci_gather(schema, from, rows + at, n, 0, mem, NULL, &out, NULL),
                             OC_OK);
            check_gathered_values(out, from, rows + at, n);
            assert_true(find_dictionary(&out->columns[0])->length <= cases[k].values_max);
            oci_batch_release(out);
            if (at + n < 1600) { /* one row more would not do */
                assert_int_equal(
                    oci_gather(schema, from, rows + at, n + 1, 0, mem, NULL, &out, NULL),
                    OC_EUNSUPPORTED);
            }
        }
        if (n_batches == 1) {
            fail_msg("one batch holds all of %s", cases[k].format);
        }
        oci_schema_release(schema);
        for (int s = 0; s < 8; s++) {
            oci_batch_release(sources[s]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fit_is_the_most_rows_for_every_limit_and_type),
        cmocka_unit_test(fit_is_the_most_rows_at_every_size_of_nested_types),
        cmocka_unit_test(fit_is_the_most_rows_when_rows_take_several_steps),
        cmocka_unit_test(range_fit_is_fit_of_the_same_rows),
        cmocka_unit_test(fit_cuts_at_the_most_rows_of_a_call),
        cmocka_unit_test(fit_ends_before_32_bit_offsets_run_out),
        cmocka_unit_test(fit_ends_before_32_bit_offsets_run_out_at_any_depth),
        cmocka_unit_test(fit_ends_before_dictionary_indices_run_out),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
