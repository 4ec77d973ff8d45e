/* Gather of nested columns: every layout over every other, as sources may hold them, against a
 * copy row by row through the accessors of batch.h. */
#include <pthread.h>
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

#define SOURCES_MAX 200

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

/* Picks of rows of five sources, one of them empty and one absent. */
static void check_format(oci_mem *mem, const char *format, uint64_t seed)
{
    static const int64_t lengths[] = {0, 1, 7, 8, 9, 63, 64, 65, 130, 700};
    uint64_t state = seed;
    oci_batch *sources[5] = {NULL};
    oci_row_ref rows[700];
    for (int s = 0; s < 5; s++) {
        arrow_maker maker = random_maker(&state, s == 1 ? 0 : 1 + random_below(&state, 200));
        sources[s] = s == 3 ? NULL : make_batch(&format, 1, &maker);
    }
    oci_schema *schema = working_schema(sources[0]);
    for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
        const oci_batch *const *from = (const oci_batch *const *)sources;
        int64_t n =
            pick_random_rows(&state, from, random_below(&state, 2) ? 5 : 1, lengths[k], rows);
        oci_batch_release(gather_and_check(mem, schema, from, rows, n, (int64_t)k * 20));
    }
    oci_schema_release(schema);
    for (int s = 0; s < 5; s++) {
        oci_batch_release(sources[s]);
    }
}

static void gather_equals_copy_by_rows_for_every_nested_type(void **unused)
{
    (void)unused;
    fixture f = open_fixture(NULL);
    for (int32_t k = 0; k < arrow_maker_n_nested_formats; k++) {
        for (uint64_t seed = 0; seed < 10; seed++) {
            check_format(f.mem, arrow_maker_nested_formats[k], seed * 1000 + (uint64_t)k);
        }
    }
    close_fixture(&f);
}

static void gather_equals_copy_by_rows_for_random_trees(void **unused)
{
    (void)unused;
    fixture f = open_fixture(NULL);
    for (uint64_t seed = 0; seed < 150; seed++) {
        char text[4000];
        arrow_make_column_text(seed, 1 + (int32_t)(seed % 4), text, sizeof text);
        check_format(f.mem, text, seed);
    }
    close_fixture(&f);
}

static void gather_equals_copy_by_rows_for_all_small_picks(void **unused)
{
    (void)unused;
    static const char *const formats[] = {"+l(u)",    "+vl(i)",        "+w:2(i)", "+s(a=b; b=u)",
                                          "+r(s; u)", "+ud:0,1(i; u)", "+l(c>u)", "c>+l(i)"};
    fixture f = open_fixture(NULL);
    for (size_t k = 0; k < sizeof formats / sizeof formats[0]; k++) {
        oci_batch *sources[2];
        for (uint64_t s = 0; s < 2; s++) {
            arrow_maker maker = {
                .seed = s, .length = 2, .null_percent = 40, .distinct = 2, .offset = 3};
            sources[s] = make_batch(&formats[k], 1, &maker);
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

/* Children of many blocks, of more sources than lie on the stack. */
static void gather_copies_all_nested_columns_of_many_sources(void **unused)
{
    (void)unused;
    uint64_t state = 7;
    fixture f = open_fixture(NULL);
    oci_batch *sources[SOURCES_MAX] = {NULL};
    oci_row_ref *rows = calloc(6000, sizeof *rows);
    for (int s = 0; s < SOURCES_MAX; s++) {
        arrow_maker maker = random_maker(&state, 50);
        sources[s] = s % 7 == 3 ? NULL
                                : make_batch(arrow_maker_nested_formats,
                                             arrow_maker_n_nested_formats, &maker);
    }
    oci_schema *schema = working_schema(sources[0]);
    const oci_batch *const *from = (const oci_batch *const *)sources;
    static const int64_t lengths[] = {1, 6000};
    for (int k = 0; k < 2; k++) {
        int64_t n = pick_random_rows(&state, from, SOURCES_MAX, lengths[k], rows);
        assert_int_equal(oci_gather_fit(schema, from, rows, n, INT64_MAX, f.mem, &n, NULL, NULL),
                         OC_OK);
        assert_true(n > 100 || lengths[k] == 1);
        oci_batch_release(gather_and_check(f.mem, schema, from, rows, n, 100));
    }
    oci_schema_release(schema);
    for (int s = 0; s < SOURCES_MAX; s++) {
        oci_batch_release(sources[s]);
    }
    free(rows);
    close_fixture(&f);
}

/* Sources in original and in working form feed one output. */
static void gather_takes_all_encodings_of_a_column_side_by_side(void **unused)
{
    (void)unused;
    static const char *const groups[][3] = {
        {"a=+vl(i)", "a=+l(i)", "a=+r(i; +vl(i))"},
        {"a=+L(vu)", "a=+vL(u)", "a=+L(+r(l; u))"},
        {"a=+r(i; u)", "a=vu", "a=+r(s; +r(i; vu))"},
        {"a=b", "a=+r(i; b)", "a=+r(l; +r(i; +r(s; b)))"},
        {"a=+s(x=+r(i; i); y=u)", "a=+s(x=i; y=vu)", "a=+r(i; +s(x=+r(i; i); y=u))"},
        {"a=+l(+s(x=vu))", "a=+vl(+r(i; +s(x=+r(s; u))))", "a=+r(i; +l(+s(x=u)))"},
        {"a=+w:3(+r(i; i))", "a=+w:3(i)", "a=+r(i; +w:3(i))"},
        {"a=+ud:0,1(+r(i; i); u)", "a=+r(i; +ud:0,1(i; vu))", "a=+ud:0,1(i; +r(i; vu))"},
        {"a=+us:3,1(+r(i; i); u)", "a=+r(i; +us:3,1(i; vu))", "a=+us:3,1(i; +r(i; vu))"},
        {"a=i>+vl(vu)", "a=i>+l(u)", "a=+r(i; i>+l(+r(i; u)))"},
        {"a=C>+r(i; u)", "a=C>vu", "a=+r(i; C>+r(s; u))"},
    };
    fixture f = open_fixture(NULL);
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++) {
        for (uint64_t seed = 0; seed < 12; seed++) {
            uint64_t state = seed * 100 + g;
            oci_batch *sources[6];
            oci_row_ref rows[2500];
            for (int s = 0; s < 6; s++) {
                arrow_maker maker = random_maker(&state, 100);
                sources[s] = make_batch(&groups[g][s % 3], 1, &maker);
            }
            oci_schema *schema = working_schema(sources[seed % 3]);
            const oci_batch *const *from = (const oci_batch *const *)sources;
            pick_random_rows(&state, from, 6, 2500, rows);
            oci_batch_release(gather_and_check(f.mem, schema, from, rows, 2500, 0));
            oci_schema_release(schema);
            for (int s = 0; s < 6; s++) {
                oci_batch_release(sources[s]);
            }
        }
    }
    close_fixture(&f);
}

static void gather_can_read_what_it_made(void **unused)
{
    (void)unused;
    fixture f = open_fixture(NULL);
    uint64_t state = 3;
    oci_row_ref rows[64];
    arrow_maker maker = {.length = 64, .null_percent = 20, .garbage = true};
    oci_batch *batch = make_batch(arrow_maker_nested_formats, arrow_maker_n_nested_formats, &maker);
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
    for (int32_t k = 0; k < arrow_maker_n_nested_formats; k++) {
        for (uint64_t seed = 0; seed < 6; seed++) {
            uint64_t state = seed * 77 + (uint64_t)k;
            arrow_maker maker = random_maker(&state, 11);
            oci_batch *source = make_batch(&arrow_maker_nested_formats[k], 1, &maker);
            oci_schema *schema = working_schema(source);
            for (int64_t start = 0; start <= 11; start++) {
                for (int64_t n = 0; start + n <= 11; n++) {
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
    for (uint64_t seed = 0; seed < 8; seed++) {
        uint64_t state = seed;
        arrow_maker maker = random_maker(&state, 3000);
        oci_batch *source =
            make_batch(arrow_maker_nested_formats, arrow_maker_n_nested_formats, &maker);
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
    oci_batch *source =
        make_batch(arrow_maker_nested_formats, arrow_maker_n_nested_formats, &maker);
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

/* The Nth allocation fails, once or for ever: an error and nothing held, or the right batch. */
static void gather_gives_everything_back_when_memory_fails(void **unused)
{
    (void)unused;
    oci_fault_plan *plan = oci_fault_plan_create();
    fixture f = open_fixture(oci_fault_allocator(plan));
    uint64_t state = 5;
    oci_batch *sources[SOURCES_MAX] = {NULL};
    oci_row_ref rows[200];
    for (int s = 0; s < SOURCES_MAX; s += 50) {
        arrow_maker maker = {.seed = (uint64_t)s, .length = 50, .null_percent = 10};
        sources[s] = make_batch(arrow_maker_nested_formats, arrow_maker_n_nested_formats, &maker);
    }
    oci_schema *schema = working_schema(sources[0]);
    const oci_batch *const *from = (const oci_batch *const *)sources;
    pick_random_rows(&state, from, SOURCES_MAX, 200, rows);
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        bool injected = true;
        for (int64_t nth = 1; injected; nth++) {
            oci_batch *out = NULL;
            int64_t n = 200;
            oc_error err = {0};
            oci_fault_arm(plan, OCI_FAULT_ALLOC, nth, for_ever);
            oc_status status =
                oci_gather_fit(schema, from, rows, 200, INT64_MAX, f.mem, &n, NULL, &err);
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

/* One list of 5 million elements: beside the slab only cursors are held. */
static void gather_holds_nothing_that_grows_with_the_rows_of_children(void **unused)
{
    (void)unused;
    fixture f = open_fixture(NULL);
    int64_t n = 5000000;
    oci_batch *source = make_column_batch("+l(c)", &(arrow_maker){.length = 3});
    oci_schema *schema = working_schema(source);
    int8_t *values = calloc((size_t)n, 1);
    int32_t offsets[] = {0, (int32_t)n - 1, (int32_t)n, (int32_t)n};
    oci_column child = source->columns[0].children[0];
    child.length = n;
    child.offset = 0;
    child.validity = NULL;
    child.values = (const uint8_t *)values;
    oci_column saved = source->columns[0];
    source->columns[0] = (oci_column){
        .field = saved.field, .length = 3, .values = (const uint8_t *)offsets, .children = &child};
    const oci_batch *const sources[] = {source};
    const oci_row_ref rows[] = {{0, 1}, {0, 0}};
    oci_batch *out = NULL;
    assert_int_equal(oci_gather(schema, sources, rows, 2, 0, f.mem, NULL, &out, NULL), OC_OK);
    assert_int_equal(out->columns[0].children[0].length, n);
    assert_true(oci_budget_peak(f.budget) < n + 100000);
    oci_batch_release(out);
    source->columns[0] = saved;
    free(values);
    oci_schema_release(schema);
    oci_batch_release(source);
    close_fixture(&f);
}

/* 48 bytes of list views that stand for 10^18 values. */
static void gather_refuses_list_views_of_more_than_memory_at_once(void **unused)
{
    (void)unused;
    static const int32_t offsets[1000];
    int32_t sizes[1000];
    fixture f = open_fixture(NULL);
    oci_column level[6];
    oci_batch *source =
        make_column_batch("+vl(+vl(+vl(+vl(+vl(c)))))", &(arrow_maker){.length = 1000});
    oci_schema *schema = working_schema(source);
    oci_column saved = source->columns[0];
    const oci_field *field = saved.field;
    for (int i = 0; i < 1000; i++) {
        sizes[i] = 1000;
    }
    for (int i = 0; i < 6; i++, field = &field->children[0]) {
        level[i] = (oci_column){.field = field,
                                .length = 1000,
                                .values = (const uint8_t *)offsets,
                                .sizes = (const uint8_t *)sizes,
                                .children = i < 5 ? &level[i + 1] : NULL};
    }
    source->columns[0] = level[0];
    const oci_batch *const sources[] = {source};
    const oci_row_ref rows[] = {{0, 1}, {0, 0}};
    oci_batch *out = NULL;
    int64_t n = 0;
    int64_t bytes = 0;
    assert_int_equal(oci_gather_fit(schema, sources, rows, 2, INT64_MAX, f.mem, &n, &bytes, NULL),
                     OC_OK);
    assert_int_equal(n, 1);
    assert_true(bytes > INT64_C(1) << 30);
    assert_int_equal(oci_gather(schema, sources, rows, 1, 0, f.mem, NULL, &out, NULL), OC_EBUDGET);
    assert_int_equal(oci_gather_range(schema, source, 0, 500, 0, f.mem, NULL, &out, NULL),
                     OC_EBUDGET);
    source->columns[0] = saved;
    oci_schema_release(schema);
    oci_batch_release(source);
    close_fixture(&f);
}

static void *gather_deep_tree(void *unused)
{
    (void)unused;
    static const char *const wraps[] = {"+vl(", "+s(x=", "+r(i; ", "+w:1("};
    char text[2000] = "";
    int depth = OCI_NESTING_MAX - 1;
    for (int i = 0; i < depth; i++) {
        strcat(text, wraps[i % 4]);
    }
    strcat(text, "u");
    for (int i = 0; i < depth; i++) {
        strcat(text, ")");
    }
    fixture f = open_fixture(NULL);
    const char *columns[] = {text};
    oci_batch *source = make_batch(columns, 1, &(arrow_maker){.length = 20, .distinct = 5});
    oci_schema *schema = working_schema(source);
    const oci_batch *const sources[] = {source};
    const oci_row_ref rows[] = {{0, 7}, {0, 0}, {0, 19}};
    oci_batch_release(gather_and_check(f.mem, schema, sources, rows, 3, 0));
    check_range(f.mem, schema, source, 3, 15);
    oci_schema_release(schema);
    oci_batch_release(source);
    close_fixture(&f);
    return unused;
}

static void gather_takes_the_deepest_trees_on_a_small_stack(void **unused)
{
    (void)unused;
    pthread_t thread;
    pthread_attr_t attributes;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, 256 * 1024), 0);
    assert_int_equal(pthread_create(&thread, &attributes, gather_deep_tree, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
}

/* ---- wrong input ----------------------------------------------------------------------------- */

/* Gathers the three rows of a one-column batch that `spoil` has changed, in both ways. */
static oc_status gather_spoilt(const char *format, void (*spoil)(oci_column *column), oc_error *err)
{
    fixture f = open_fixture(NULL);
    oci_batch *source = make_batch(&format, 1, &(arrow_maker){.length = 3});
    oci_schema *schema = working_schema(source);
    const oci_batch *const sources[] = {source};
    const oci_row_ref rows[3] = {{0, 2}, {0, 1}, {0, 0}};
    oci_column saved = source->columns[0];
    oci_batch *out = NULL;
    spoil(&source->columns[0]);
    oc_status status = oci_gather(schema, sources, rows, 3, 0, f.mem, NULL, &out, err);
    assert_int_equal(oci_gather_range(schema, source, 0, 3, 0, f.mem, NULL, &out, NULL), status);
    assert_null(out);
    source->columns[0] = saved;
    oci_schema_release(schema);
    oci_batch_release(source);
    close_fixture(&f);
    return status;
}

static void spoil_list(oci_column *column)
{
    static const int32_t offsets[] = {0, 0, 0, 1000000};
    column->values = (const uint8_t *)offsets;
}

static void spoil_list_view(oci_column *column)
{
    static const int32_t offsets[] = {0, INT32_MAX, 0};
    static const int32_t sizes[] = {0, INT32_MAX, 0};
    column->values = (const uint8_t *)offsets;
    column->sizes = (const uint8_t *)sizes;
}

static void spoil_large_list_view(oci_column *column)
{
    static const int64_t offsets[] = {INT64_MAX, 1, 0};
    static const int64_t sizes[] = {INT64_MAX, INT64_MIN, 0};
    column->values = (const uint8_t *)offsets;
    column->sizes = (const uint8_t *)sizes;
}

static void spoil_type_id(oci_column *column)
{
    static const int8_t ids[] = {0, -1, 1};
    column->values = (const uint8_t *)ids;
}

static void spoil_unknown_type_id(oci_column *column)
{
    static const int8_t ids[] = {0, 7, 1};
    column->values = (const uint8_t *)ids;
}

static void spoil_union_row(oci_column *column)
{
    static const int32_t child_rows[] = {0, 1000, 1};
    column->child_offsets = (const uint8_t *)child_rows;
}

static oci_column spoilt_children[2];

static void shorten_first_child(oci_column *column)
{
    memcpy(spoilt_children, column->children,
           (size_t)column->field->n_children * sizeof *column->children);
    spoilt_children[0].length = 0;
    column->children = spoilt_children;
}

static void shorten_second_child(oci_column *column)
{
    memcpy(spoilt_children, column->children, 2 * sizeof *column->children);
    spoilt_children[1].length = 0;
    column->children = spoilt_children;
}

static void gather_refuses_lists_outside_their_child(void **unused)
{
    (void)unused;
    assert_int_equal(gather_spoilt("a=+l(i)", spoil_list, NULL), OC_EDATA);
    assert_int_equal(gather_spoilt("a=+vl(i)", spoil_list_view, NULL), OC_EDATA);
    assert_int_equal(gather_spoilt("a=+vL(i)", spoil_large_list_view, NULL), OC_EDATA);
    oc_error err = {0};
    assert_int_equal(gather_spoilt("a=+l(i)", spoil_list, &err), OC_EDATA);
    assert_string_equal(err.message,
                        "could not gather column \"a\": the offsets of a list are out of bounds");
}

static void gather_refuses_unions_outside_their_children(void **unused)
{
    (void)unused;
    assert_int_equal(gather_spoilt("a=+ud:0,1(i; u)", spoil_type_id, NULL), OC_EDATA);
    assert_int_equal(gather_spoilt("a=+ud:0,1(i; u)", spoil_unknown_type_id, NULL), OC_EDATA);
    assert_int_equal(gather_spoilt("a=+ud:0,1(i; u)", spoil_union_row, NULL), OC_EDATA);
}

static void gather_refuses_children_that_are_too_short(void **unused)
{
    (void)unused;
    assert_int_equal(gather_spoilt("a=+s(a=i; b=u)", shorten_second_child, NULL), OC_EDATA);
    assert_int_equal(gather_spoilt("a=+us:0,1(i; u)", shorten_first_child, NULL), OC_EDATA);
    assert_int_equal(gather_spoilt("a=+w:2(i)", shorten_first_child, NULL), OC_EDATA);
    assert_int_equal(gather_spoilt("a=+r(i; u)", shorten_first_child, NULL), OC_EDATA);
    assert_int_equal(gather_spoilt("a=+r(i; u)", shorten_second_child, NULL), OC_EDATA);
}

static void lengthen_child(oci_column *column)
{
    static const int64_t offsets[] = {INT64_C(1) << 32, INT64_C(1) << 33, 0};
    static const int64_t sizes[] = {1, 1, 0};
    memcpy(spoilt_children, column->children, sizeof *column->children);
    spoilt_children[0].length = INT64_C(1) << 40;
    column->children = spoilt_children;
    column->values = (const uint8_t *)offsets;
    column->sizes = (const uint8_t *)sizes;
}

static void gather_refuses_children_of_more_than_32_bits_of_rows_by_name(void **unused)
{
    (void)unused;
    oc_error err = {0};
    assert_int_equal(gather_spoilt("a=+vL(l)", lengthen_child, &err), OC_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "could not gather column \"a\": lists with elements"));
}

static void gather_refuses_sources_of_another_shape(void **unused)
{
    (void)unused;
    static const char *const pairs[][2] = {
        {"a=+l(i)", "a=+L(i)"},        {"a=+L(i)", "a=+vl(i)"},   {"a=+s(a=i)", "a=+s(a=i; b=i)"},
        {"a=+w:2(i)", "a=+w:3(i)"},    {"a=+l(i)", "a=+l(l)"},    {"a=+s(a=i)", "a=i"},
        {"a=+l(u)", "a=+r(i; +l(U))"}, {"a=c>+l(i)", "a=c>+l(l)"}};
    fixture f = open_fixture(NULL);
    for (size_t k = 0; k < sizeof pairs / sizeof pairs[0]; k++) {
        oci_schema *schema = make_schema(&pairs[k][0], 1);
        oci_batch *source = make_batch(&pairs[k][1], 1, &(arrow_maker){.length = 40});
        oci_batch *out = NULL;
        assert_int_equal(oci_gather_range(schema, source, 0, 40, 0, f.mem, NULL, &out, NULL),
                         OC_EINTERNAL);
        oci_batch_release(source);
        oci_schema_release(schema);
    }
    close_fixture(&f);
}

static void gather_refuses_an_output_that_is_not_in_working_form(void **unused)
{
    (void)unused;
    static const char *const formats[] = {"a=+vl(i)", "a=+l(vu)", "a=+s(x=+r(i; i))", "a=i>+vL(i)"};
    fixture f = open_fixture(NULL);
    for (size_t k = 0; k < sizeof formats / sizeof formats[0]; k++) {
        oci_batch *source = make_batch(&formats[k], 1, &(arrow_maker){.length = 3});
        oci_batch *out = NULL;
        assert_int_equal(oci_gather_range(source->schema, source, 0, 3, 0, f.mem, NULL, &out, NULL),
                         OC_EINTERNAL);
        oci_batch_release(source);
    }
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gather_equals_copy_by_rows_for_every_nested_type),
        cmocka_unit_test(gather_equals_copy_by_rows_for_random_trees),
        cmocka_unit_test(gather_equals_copy_by_rows_for_all_small_picks),
        cmocka_unit_test(gather_copies_all_nested_columns_of_many_sources),
        cmocka_unit_test(gather_takes_all_encodings_of_a_column_side_by_side),
        cmocka_unit_test(gather_can_read_what_it_made),
        cmocka_unit_test(range_has_the_bytes_of_a_gather_of_the_same_rows),
        cmocka_unit_test(range_has_the_bytes_of_a_gather_when_it_takes_several_blocks),
        cmocka_unit_test(range_of_a_slice_is_the_range_of_its_parent),
        cmocka_unit_test(gather_gives_everything_back_when_memory_fails),
        cmocka_unit_test(gather_holds_nothing_that_grows_with_the_rows_of_children),
        cmocka_unit_test(gather_refuses_list_views_of_more_than_memory_at_once),
        cmocka_unit_test(gather_takes_the_deepest_trees_on_a_small_stack),
        cmocka_unit_test(gather_refuses_lists_outside_their_child),
        cmocka_unit_test(gather_refuses_unions_outside_their_children),
        cmocka_unit_test(gather_refuses_children_that_are_too_short),
        cmocka_unit_test(gather_refuses_children_of_more_than_32_bits_of_rows_by_name),
        cmocka_unit_test(gather_refuses_sources_of_another_shape),
        cmocka_unit_test(gather_refuses_an_output_that_is_not_in_working_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
