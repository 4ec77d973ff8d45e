#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arrow/gather.h"
#include "base/fault.h"
#include "base/tiny.h"
#include "support/batch_maker.h"

enum { LIMIT = 64 << 20 };

static oci_budget *budget;
static oci_mem *mem;

static int open_budget(void **state)
{
    (void)state;
    assert_int_equal(oci_budget_create(LIMIT, NULL, &budget, NULL), OC_OK);
    assert_int_equal(oci_mem_open(budget, "test", &mem, NULL), OC_OK);
    return 0;
}

/* Everything was given back. */
static int close_budget(void **state)
{
    (void)state;
    assert_int_equal(oci_mem_held(mem), 0);
    assert_int_equal(arrow_maker_live(), 0);
    oci_mem_close(mem);
    oci_budget_destroy(budget);
    return 0;
}

/* ---- types and columns made by hand ---------------------------------------------------------- */

static oci_field field_of(oci_type type)
{
    oci_field field;
    assert_int_equal(oci_field_init(&field, "x", type, true, NULL), OC_OK);
    return field;
}

static oci_field nested(oci_type type, int32_t n, const oci_field *children)
{
    oci_field field = field_of(type);
    field.n_children = n;
    field.children = malloc((size_t)n * sizeof *children);
    memcpy(field.children, children, (size_t)n * sizeof *children);
    return field;
}

static oci_field list_of(oci_type type, oci_field item)
{
    return nested(type, 1, &item);
}

static oci_field runs_of(oci_type ends, oci_field values)
{
    oci_field children[2] = {field_of(ends), values};
    return nested(OCI_TYPE_RUN_END_ENCODED, 2, children);
}

static oci_field dictionary_of(oci_type index, oci_field values)
{
    oci_field field = field_of(OCI_TYPE_DICTIONARY);
    field.index_type = index;
    field.dictionary = malloc(sizeof values);
    *field.dictionary = values;
    oci_field_set_width(&field);
    return field;
}

static oci_schema *schema_of(oci_field field)
{
    oci_schema *schema;
    oci_field *fields = malloc(sizeof field);
    *fields = field;
    assert_int_equal(oci_schema_create(fields, 1, NULL, 0, &schema, NULL), OC_OK);
    return schema;
}

/* A batch of one column whose buffers and children are the test's; takes the schema. */
static oci_batch *batch_of(oci_schema *schema, oci_column column)
{
    oci_column *columns = malloc(sizeof column);
    oci_batch *batch;
    *columns = column;
    columns->field = &schema->fields[0];
    assert_int_equal(
        oci_batch_adopt(schema, column.length, columns, NULL, NULL, 0, NULL, 0, &batch, NULL),
        OC_OK);
    oci_schema_release(schema);
    return batch;
}

static oci_batch *slice_of(oci_batch *batch, int64_t start, int64_t length)
{
    oci_batch *slice;
    assert_int_equal(oci_batch_slice(batch, start, length, &slice, NULL), OC_OK);
    return slice;
}

/* Consumes the reference to the batch, as export does. */
static oci_batch *output(oci_batch *batch, oci_schema *schema)
{
    oci_batch *out;
    oc_error err = {0};
    if (oci_batch_output(batch, schema, mem, &out, &err) != OC_OK) {
        fail_msg("%s", err.message);
    }
    oci_batch_release(batch);
    return out;
}

static void assert_same_values(const oci_batch *a, int64_t start, const oci_batch *b)
{
    assert_true(start + b->length <= a->length);
    for (int32_t c = 0; c < b->schema->n_fields; c++) {
        for (int64_t row = 0; row < b->length; row++) {
            assert_true(oci_value_equal(&a->columns[c], start + row, &b->columns[c], row));
        }
    }
}

/* Run ends ascend to the length, and neighbours differ. */
static void assert_runs_are_right(const oci_column *column)
{
    const oci_column *ends = &column->children[0], *values = &column->children[1];
    int64_t before = 0;
    assert_int_equal(ends->length, values->length);
    assert_int_equal(column->offset, 0);
    for (int64_t i = 0; i < ends->length; i++) {
        int64_t end = oci_column_run_end(ends, i);
        assert_true(end > before);
        assert_true(i == 0 || !oci_value_equal(values, i - 1, values, i));
        before = end;
    }
    assert_int_equal(before, column->length);
}

/* ---- views ----------------------------------------------------------------------------------- */

static void views_point_into_the_bytes_there_are(void **state)
{
    (void)state;
    const arrow_maker maker = {
        .seed = 3, .length = 300, .null_percent = 20, .offset = 3, .garbage = true};
    for (int i = 0; i < 2; i++) {
        oci_batch *strings = make_column_batch(i == 0 ? "u" : "z", &maker);
        oci_schema *schema =
            schema_of(field_of(i == 0 ? OCI_TYPE_UTF8_VIEW : OCI_TYPE_BINARY_VIEW));
        for (int64_t start = 0; start < 20; start++) {
            oci_batch *views = output(slice_of(strings, start, 200), schema);
            const oci_column *column = &views->columns[0];
            assert_int_equal(column->n_view_buffers, 1);
            assert_ptr_equal(column->view_buffers[0], strings->columns[0].bytes);
            assert_same_values(strings, start, views);
            assert_int_equal(oci_batch_validate(views, NULL), OC_OK);
            assert_true(oci_mem_held(mem) <= 200 * 16 + 32 + 64);
            assert_int_equal(views->bytes, oci_mem_held(mem));
            oci_batch_release(views);
        }
        oci_schema_release(schema);
        oci_batch_release(strings);
    }
}

static void nulls_make_empty_views(void **state)
{
    (void)state;
    const arrow_maker maker = {.seed = 3, .length = 100, .null_percent = 50, .garbage = true};
    oci_schema *schema = schema_of(field_of(OCI_TYPE_UTF8_VIEW));
    oci_batch *views = output(make_column_batch("u", &maker), schema);
    const uint8_t zeros[16] = {0};
    for (int64_t row = 0; row < 100; row++) {
        if (oci_column_is_null(&views->columns[0], row)) {
            assert_memory_equal(views->columns[0].values + row * 16, zeros, 16);
        }
    }
    oci_batch_release(views);
    oci_schema_release(schema);
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* Rows [7, 8], null, [], [9, 10, 11], [12] behind two hidden ones; the child has an offset. */
static const int32_t list_numbers[] = {0, 5, 6, 7, 8, 9, 10, 11, 12, 13};
static const int32_t list_offsets32[] = {0, 1, 2, 4, 5, 5, 8, 9};
static const int64_t list_offsets64[] = {0, 1, 2, 4, 5, 5, 8, 9};
static const uint8_t list_validity[] = {0xF7};

static oci_batch *make_lists(oci_type type, const oci_column *child)
{
    return batch_of(schema_of(list_of(type, field_of(child->field->type))),
                    (oci_column){.length = 5,
                                 .offset = 2,
                                 .null_count = -1,
                                 .validity = list_validity,
                                 .values = type == OCI_TYPE_LIST ? (const uint8_t *)list_offsets32
                                                                 : (const uint8_t *)list_offsets64,
                                 .children = child});
}

static void list_views_share_offsets_and_child(void **state)
{
    (void)state;
    oci_field item = field_of(OCI_TYPE_INT32);
    const oci_column child = {
        .field = &item, .length = 9, .offset = 1, .values = (const uint8_t *)list_numbers};
    for (int wide = 0; wide < 2; wide++) {
        oci_batch *lists = make_lists(wide ? OCI_TYPE_LARGE_LIST : OCI_TYPE_LIST, &child);
        oci_schema *schema = schema_of(list_of(wide ? OCI_TYPE_LARGE_LIST_VIEW : OCI_TYPE_LIST_VIEW,
                                               field_of(OCI_TYPE_INT32)));
        for (int64_t start = 0; start <= 5; start++) {
            for (int64_t length = 0; length <= 5 - start; length++) {
                oci_batch *views = output(slice_of(lists, start, length), schema);
                assert_same_values(lists, start, views);
                assert_int_equal(views->columns[0].field->type, schema->fields[0].type);
                assert_ptr_equal(views->columns[0].children[0].values, list_numbers);
                assert_int_equal(oci_column_null_count(&views->columns[0]),
                                 start <= 1 && start + length > 1);
                oci_batch_release(views);
            }
        }
        oci_schema_release(schema);
        oci_batch_release(lists);
    }
    oci_field_deinit(&item);
}

/* What is made of a child is made of the rows that are referred to, whatever the slice. */
static void slices_of_lists_make_only_their_part_of_the_child(void **state)
{
    (void)state;
    const arrow_maker maker = {.seed = 3, .length = 9, .null_percent = 20, .offset = 2};
    oci_batch *strings = make_column_batch("u", &maker);
    const oci_type types[2][2] = {{OCI_TYPE_LIST, OCI_TYPE_LIST_VIEW},
                                  {OCI_TYPE_LARGE_LIST, OCI_TYPE_LARGE_LIST}};
    for (int t = 0; t < 2; t++) {
        oci_batch *lists = make_lists(types[t][0], &strings->columns[0]);
        oci_schema *schema = schema_of(list_of(types[t][1], field_of(OCI_TYPE_UTF8_VIEW)));
        for (int64_t start = 0; start <= 5; start++) {
            for (int64_t length = 0; length <= 5 - start; length++) {
                oci_batch *views = output(slice_of(lists, start, length), schema);
                assert_same_values(lists, start, views);
                assert_int_equal(views->columns[0].children[0].length,
                                 length == 0 ? 0
                                             : list_offsets32[2 + start + length] -
                                                   list_offsets32[2 + start]);
                oci_batch_release(views);
            }
        }
        oci_schema_release(schema);
        oci_batch_release(lists);
    }
    oci_batch_release(strings);
}

/* ---- unions, structs ------------------------------------------------------------------------- */

static void children_of_unions_and_structs_follow_the_slice(void **state)
{
    (void)state;
    const arrow_maker maker = {.seed = 4, .length = 40, .null_percent = 20, .offset = 1};
    const char *columns[] = {"u", "i"};
    oci_batch *values = make_batch(columns, 2, &maker);
    uint8_t ids[40];
    int32_t rows[40];
    const uint8_t validity[] = {0xEF, 0xFF, 0x7F, 0xFE, 0xFF};
    for (int32_t i = 0; i < 40; i++) {
        ids[i] = (uint8_t)(i * 7 % 3 == 0);
        rows[i] = (i * 11 + 5) % 40; /* any order */
    }
    const oci_type types[] = {OCI_TYPE_STRUCT, OCI_TYPE_SPARSE_UNION, OCI_TYPE_DENSE_UNION};
    for (int t = 0; t < 3; t++) {
        oci_field have_children[2] = {field_of(OCI_TYPE_UTF8), field_of(OCI_TYPE_INT32)};
        oci_field want_children[2] = {field_of(OCI_TYPE_UTF8_VIEW), field_of(OCI_TYPE_INT32)};
        oci_field have = nested(types[t], 2, have_children),
                  want = nested(types[t], 2, want_children);
        if (t > 0) {
            assert_int_equal(oci_field_set_union_ids(&have, NULL, 2, NULL), OC_OK);
            assert_int_equal(oci_field_set_union_ids(&want, NULL, 2, NULL), OC_OK);
        }
        oci_schema *schema = schema_of(want);
        oci_batch *batch =
            batch_of(schema_of(have), (oci_column){.length = 40,
                                                   .null_count = t == 0 ? -1 : 0,
                                                   .validity = t == 0 ? validity : NULL,
                                                   .values = t > 0 ? ids : NULL,
                                                   .child_offsets = t == 2 ? (uint8_t *)rows : NULL,
                                                   .children = values->columns});
        for (int64_t start = 0; start < 20; start++) {
            oci_batch *out = output(slice_of(batch, start, 20 - start % 3), schema);
            assert_same_values(batch, start, out);
            assert_true(out->columns[0].children[0].length <= 40);
            assert_true(t == 2 || out->columns[0].children[0].length == out->length);
            oci_batch_release(out);
        }
        oci_schema_release(schema);
        oci_batch_release(batch);
    }
    oci_batch_release(values);
}

static void fixed_size_lists_follow_the_slice(void **state)
{
    (void)state;
    const arrow_maker maker = {.seed = 4, .length = 60, .null_percent = 20, .offset = 1};
    const uint8_t validity[] = {0xEF, 0xFF, 0x7F};
    oci_batch *values = make_column_batch("u", &maker);
    oci_field have = list_of(OCI_TYPE_FIXED_LIST, field_of(OCI_TYPE_UTF8));
    oci_field want = list_of(OCI_TYPE_FIXED_LIST, field_of(OCI_TYPE_UTF8_VIEW));
    have.list_size = want.list_size = 3;
    oci_schema *schema = schema_of(want);
    oci_batch *batch = batch_of(schema_of(have), (oci_column){.length = 20,
                                                              .null_count = -1,
                                                              .validity = validity,
                                                              .children = values->columns});
    for (int64_t start = 0; start <= 20; start++) {
        oci_batch *out = output(slice_of(batch, start, 20 - start), schema);
        assert_same_values(batch, start, out);
        assert_int_equal(out->columns[0].children[0].length, 3 * out->length);
        oci_batch_release(out);
    }
    oci_schema_release(schema);
    oci_batch_release(batch);
    oci_batch_release(values);
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void runs_are_as_long_as_values_repeat(void **state)
{
    (void)state;
    const oci_type ends[] = {OCI_TYPE_INT16, OCI_TYPE_INT32, OCI_TYPE_INT64};
    arrow_maker maker = {
        .seed = 9, .null_percent = 30, .distinct = 3, .offset = 3, .garbage = true};
    const char *formats[] = {"c",   "s", "i", "l", "d:30,2", "d:50,2,256", "w:5",
                             "w:0", "b", "u", "Z", "n",      "g",          "c>u"};
    const int64_t lengths[] = {0, 1, 2, 3000};
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
        for (int l = 0; l < 4; l++) {
            maker.length = lengths[l];
            oci_batch *plain = make_column_batch(formats[f], &maker);
            oci_field values;
            assert_int_equal(oci_field_copy(&plain->schema->fields[0], &values, NULL), OC_OK);
            oci_schema *schema = schema_of(runs_of(ends[f % 3], values));
            oci_batch *runs = output(oci_batch_retain(plain), schema);
            assert_same_values(plain, 0, runs);
            assert_runs_are_right(&runs->columns[0]);
            oci_batch_release(runs);
            oci_batch_release(plain);
            oci_schema_release(schema);
        }
    }
}

static void values_that_do_not_repeat_are_not_copied(void **state)
{
    (void)state;
    int64_t numbers[100];
    for (int64_t i = 0; i < 100; i++) {
        numbers[i] = i;
    }
    oci_batch *plain = batch_of(schema_of(field_of(OCI_TYPE_INT64)),
                                (oci_column){.length = 100, .values = (uint8_t *)numbers});
    oci_schema *schema = schema_of(runs_of(OCI_TYPE_INT16, field_of(OCI_TYPE_INT64)));
    oci_batch *runs = output(slice_of(plain, 10, 80), schema);
    assert_ptr_equal(runs->columns[0].children[1].values, numbers);
    assert_runs_are_right(&runs->columns[0]);
    assert_same_values(plain, 10, runs);
    assert_true(oci_mem_held(mem) <= 80 * 2 + 32);
    oci_batch_release(runs);
    oci_schema_release(schema);
    oci_batch_release(plain);
}

static void floats_that_compare_equal_are_different_runs(void **state)
{
    (void)state;
    const double numbers[] = {0.0, -0.0, -0.0, 0.0};
    oci_schema *schema = schema_of(runs_of(OCI_TYPE_INT32, field_of(OCI_TYPE_FLOAT64)));
    oci_batch *runs = output(batch_of(schema_of(field_of(OCI_TYPE_FLOAT64)),
                                      (oci_column){.length = 4, .values = (uint8_t *)numbers}),
                             schema);
    assert_int_equal(runs->columns[0].children[0].length, 3);
    oci_batch_release(runs);
    oci_schema_release(schema);
}

/* Views of the values of runs, runs in dictionaries, runs whose values are runs. */
static void layouts_are_built_inside_each_other(void **state)
{
    (void)state;
    const arrow_maker maker = {.seed = 9, .length = 400, .null_percent = 30, .distinct = 2};
    oci_batch *plain = make_column_batch("u", &maker);
    oci_batch *codes = make_column_batch("c>u", &maker);
    oci_schema *schemas[] = {
        schema_of(runs_of(OCI_TYPE_INT32, field_of(OCI_TYPE_UTF8_VIEW))),
        schema_of(runs_of(OCI_TYPE_INT16, runs_of(OCI_TYPE_INT64, field_of(OCI_TYPE_UTF8_VIEW)))),
        schema_of(
            dictionary_of(OCI_TYPE_INT8, runs_of(OCI_TYPE_INT32, field_of(OCI_TYPE_UTF8_VIEW)))),
        schema_of(
            runs_of(OCI_TYPE_INT32, dictionary_of(OCI_TYPE_INT8, field_of(OCI_TYPE_UTF8_VIEW)))),
    };
    for (int i = 0; i < 4; i++) {
        oci_batch *out = output(oci_batch_retain(i < 2 ? plain : codes), schemas[i]);
        assert_same_values(plain, 0, out);
        assert_true(oci_field_same_type(out->columns[0].field, &schemas[i]->fields[0]));
        oci_batch_release(out);
        oci_schema_release(schemas[i]);
    }
    oci_batch_release(plain);
    oci_batch_release(codes);
}

/* Every value twice, far more than gather takes rows at once. */
static void any_number_of_runs_is_found(void **state)
{
    (void)state;
    enum { N = 300000 };
    int32_t *numbers = malloc(N * sizeof *numbers), *offsets = malloc((N + 1) * sizeof *offsets);
    uint8_t *bytes = malloc(N);
    for (int32_t i = 0; i < N; i++) {
        numbers[i] = i / 2;
        offsets[i] = i;
        bytes[i] = (uint8_t)(i / 2 % 251);
    }
    offsets[N] = N;
    oci_column columns[2] = {{.length = N, .values = (uint8_t *)numbers},
                             {.length = N, .values = (uint8_t *)offsets, .bytes = bytes}};
    const oci_type types[2] = {OCI_TYPE_INT32, OCI_TYPE_BINARY};
    for (int i = 0; i < 2; i++) {
        oci_batch *plain = batch_of(schema_of(field_of(types[i])), columns[i]);
        oci_schema *schema = schema_of(runs_of(OCI_TYPE_INT64, field_of(types[i])));
        oci_batch *out = output(oci_batch_retain(plain), schema);
        assert_int_equal(out->columns[0].children[0].length, N / 2);
        assert_same_values(plain, 0, out);
        assert_runs_are_right(&out->columns[0]);
        oci_batch_release(out);
        oci_batch_release(plain);
        oci_schema_release(schema);
    }
    free(numbers);
    free(offsets);
    free(bytes);
}

/* ---- what run ends can count ----------------------------------------------------------------- */

static void rows_that_run_ends_cannot_count_are_refused(void **state)
{
    (void)state;
    enum { N = 70000 };
    uint8_t *numbers = calloc(N, 1);
    oci_batch *plain =
        batch_of(schema_of(field_of(OCI_TYPE_INT8)), (oci_column){.length = N, .values = numbers});
    oci_schema *narrow = schema_of(runs_of(OCI_TYPE_INT16, field_of(OCI_TYPE_INT8)));
    oci_schema *wide = schema_of(runs_of(OCI_TYPE_INT32, field_of(OCI_TYPE_INT8)));
    oci_batch *out = NULL;
    oc_error err = {0};
    assert_int_equal(oci_batch_output(plain, narrow, mem, &out, &err), OC_EUNSUPPORTED);
    assert_null(out);
    assert_string_equal(err.message,
                        "column \"x\" has 70000 values in one batch, but its run ends of type "
                        "int16 count to 32767 only; ask for smaller batches");
    assert_int_equal(oci_batch_output_rows(plain, wide, 0, N), N);
    int64_t at = 0, pieces = 0;
    for (; at < N; pieces++) {
        int64_t n = oci_batch_output_rows(plain, narrow, at, N - at);
        assert_in_range(n, 1, INT16_MAX);
        out = output(slice_of(plain, at, n), narrow);
        assert_int_equal(out->columns[0].children[0].length, 1);
        oci_batch_release(out);
        at += n;
    }
    assert_in_range(pieces, 3, 5);
    oci_batch_release(plain);
    oci_schema_release(narrow);
    oci_schema_release(wide);
    free(numbers);
}

/* The rows of lists hold more than there are rows: 100 lists of 1,000. */
static void rows_of_lists_are_cut_by_what_they_hold(void **state)
{
    (void)state;
    enum { LISTS = 100, ITEMS = 1000 };
    uint8_t *numbers = calloc(LISTS * ITEMS, 1);
    int32_t offsets[LISTS + 1];
    for (int32_t i = 0; i <= LISTS; i++) {
        offsets[i] = i * ITEMS;
    }
    oci_field item = field_of(OCI_TYPE_INT8);
    const oci_column child = {.field = &item, .length = LISTS * ITEMS, .values = numbers};
    oci_batch *lists =
        batch_of(schema_of(list_of(OCI_TYPE_LIST, field_of(OCI_TYPE_INT8))),
                 (oci_column){.length = LISTS, .values = (uint8_t *)offsets, .children = &child});
    oci_schema *schema =
        schema_of(list_of(OCI_TYPE_LIST_VIEW, runs_of(OCI_TYPE_INT16, field_of(OCI_TYPE_INT8))));
    oci_batch *out = NULL;
    assert_int_equal(oci_batch_output(lists, schema, mem, &out, NULL), OC_EUNSUPPORTED);
    for (int64_t at = 0, n; at < LISTS; at += n) {
        n = oci_batch_output_rows(lists, schema, at, LISTS - at);
        assert_in_range(n, 1, INT16_MAX / ITEMS);
        out = output(slice_of(lists, at, n), schema);
        assert_same_values(lists, at, out);
        assert_runs_are_right(&out->columns[0].children[0]);
        oci_batch_release(out);
    }
    oci_schema_release(schema);
    oci_batch_release(lists);
    oci_field_deinit(&item);
    free(numbers);
}

/* ---- types and labels ------------------------------------------------------------------------ */

static void a_batch_of_these_types_is_given_as_itself(void **state)
{
    (void)state;
    const arrow_maker maker = {.seed = 9, .length = 10};
    const char *columns[] = {"a=l", "b=c>u"}, *names[] = {"x=l", "y=c>u"};
    oci_batch *batch = make_batch(columns, 2, &maker);
    oci_schema *other = make_schema(names, 2);
    oci_batch *same = output(oci_batch_retain(batch), batch->schema);
    assert_ptr_equal(same, batch);
    oci_batch_release(same);
    oci_batch *renamed = output(batch, other);
    assert_ptr_equal(renamed->schema, other);
    assert_string_equal(renamed->columns[1].field->name, "y");
    assert_ptr_equal(renamed->columns[1].dictionary->field, other->fields[1].dictionary);
    assert_int_equal(renamed->bytes, 0);
    oci_schema_release(other);
    oci_batch_release(renamed);
}

static void other_types_are_refused(void **state)
{
    (void)state;
    const arrow_maker maker = {.seed = 9, .length = 10};
    const char *columns[] = {"a=u"};
    const oci_field wanted[] = {
        field_of(OCI_TYPE_BINARY_VIEW),
        field_of(OCI_TYPE_LARGE_UTF8),
        runs_of(OCI_TYPE_INT32, field_of(OCI_TYPE_BINARY)),
        list_of(OCI_TYPE_LIST_VIEW, field_of(OCI_TYPE_UTF8)),
        dictionary_of(OCI_TYPE_INT8, field_of(OCI_TYPE_UTF8)),
    };
    oci_batch *batch = make_batch(columns, 1, &maker), *out;
    oc_error err = {0};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        oci_schema *schema = schema_of(wanted[i]);
        assert_int_equal(oci_batch_output(batch, schema, mem, &out, &err), OC_EINVAL);
        assert_null(out);
        oci_schema_release(schema);
    }
    assert_string_equal(err.message, "column \"x\" of type utf8 cannot be handed out as "
                                     "dictionary<int8, utf8>");
    oci_schema *none = make_schema(NULL, 0);
    assert_int_equal(oci_batch_output(batch, none, mem, &out, &err), OC_EINVAL);
    oci_schema_release(none);
    oci_batch_release(batch);
}

/* A slice of what was built keeps what was built. */
static void slices_of_the_result_outlive_it(void **state)
{
    (void)state;
    const arrow_maker maker = {.seed = 9, .length = 400, .null_percent = 30, .distinct = 2};
    oci_batch *plain = make_column_batch("u", &maker);
    oci_schema *schema = schema_of(runs_of(OCI_TYPE_INT32, field_of(OCI_TYPE_UTF8_VIEW)));
    oci_batch *out = output(oci_batch_retain(plain), schema);
    oci_batch *slice = slice_of(out, 100, 200);
    oci_batch *inner = slice_of(slice, 10, 50);
    oci_batch_release(out);
    oci_batch_release(slice);
    oci_schema_release(schema);
    assert_same_values(plain, 110, inner);
    oci_batch_release(plain);
    oci_batch_release(inner);
}

/* ---- every type ------------------------------------------------------------------------------ */

/* What a sort does: gather into working form, hand out slices. */
static void check_way_there_and_back(const char *format, const arrow_maker *maker)
{
    oci_batch *made = make_column_batch(format, maker), *gathered;
    oci_schema *working;
    assert_int_equal(oci_schema_working(made->schema, &working, NULL), OC_OK);
    assert_int_equal(
        oci_gather_range(working, made, 0, made->length, 0, mem, NULL, &gathered, NULL), OC_OK);
    for (int64_t start = 0; start < 12; start++) {
        oci_batch *out = output(slice_of(gathered, start, made->length - 2 * start), made->schema);
        oc_error err = {0};
        if (oci_batch_validate(out, &err) != OC_OK) {
            fail_msg("%s: %s", format, err.message);
        }
        assert_ptr_equal(out->schema, made->schema);
        assert_same_values(made, start, out);
        assert_ptr_equal(out->columns[0].field, &made->schema->fields[0]);
        oci_batch_release(out);
    }
    oci_batch_release(gathered);
    oci_batch_release(made);
    oci_schema_release(working);
}

static void every_type_is_the_same_after_a_way_through_working_form(void **state)
{
    (void)state;
    arrow_maker maker = {
        .seed = 11, .length = 100, .null_percent = 20, .distinct = 3, .offset = 5, .garbage = true};
    for (int distinct = 0; distinct < 4; distinct += 3) {
        maker.distinct = distinct;
        for (int32_t i = 0; i < arrow_maker_n_formats; i++) {
            check_way_there_and_back(arrow_maker_formats[i], &maker);
        }
        for (int32_t i = 0; i < arrow_maker_n_nested_formats; i++) {
            check_way_there_and_back(arrow_maker_nested_formats[i], &maker);
        }
    }
}

static void random_types_are_the_same_after_it(void **state)
{
    (void)state;
    char text[2000];
    for (uint64_t seed = 1; seed <= OCI_TINY(60, 300); seed++) {
        const arrow_maker maker = {.seed = seed,
                                   .length = 50 + (int64_t)(seed % 30),
                                   .null_percent = (int32_t)(seed % 4 * 20),
                                   .distinct = (int32_t)(seed % 3 * 2),
                                   .offset = (int64_t)(seed % 9),
                                   .garbage = seed % 2 == 0,
                                   .unaligned = seed % 5 == 0};
        arrow_make_column_text(seed, 3, text, sizeof text);
        check_way_there_and_back(text, &maker);
    }
}

/* ---- failure --------------------------------------------------------------------------------- */

/* Turns a batch with the Nth allocation failing, N = 1, 2, ... until none does. */
static void check_refused_allocations(oci_batch *batch, oci_schema *schema)
{
    oci_fault_plan *plan = oci_fault_plan_create();
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        int64_t injected = 1;
        for (int64_t n = 1; injected > 0; n++) {
            oci_budget *faulty;
            oci_mem *account;
            oci_batch *out = NULL;
            oc_error err = {0};
            assert_int_equal(oci_budget_create(LIMIT, oci_fault_allocator(plan), &faulty, NULL),
                             OC_OK);
            assert_int_equal(oci_mem_open(faulty, "test", &account, NULL), OC_OK);
            oci_fault_arm(plan, OCI_FAULT_ALLOC, n, for_ever == 1);
            oc_status status = oci_batch_output(batch, schema, account, &out, &err);
            injected = oci_fault_injected(plan);
            oci_fault_arm(plan, OCI_FAULT_ALLOC, 0, false);
            if (status == OC_OK) {
                assert_same_values(batch, 0, out);
                oci_batch_release(out);
            } else {
                assert_true(status == OC_ENOMEM || status == OC_EBUDGET);
                assert_true(err.message[0] != 0);
                assert_null(out);
            }
            assert_int_equal(oci_mem_held(account), 0);
            oci_mem_close(account);
            oci_budget_destroy(faulty);
            assert_int_equal(oci_fault_live_bytes(plan), 0);
            assert_true(injected > 0 || n > 3);
        }
    }
    oci_fault_plan_destroy(plan);
}

static void every_refused_allocation_leaves_nothing_behind(void **state)
{
    (void)state;
    const arrow_maker maker = {.seed = 9, .length = 3000, .null_percent = 30, .distinct = 3};
    const char *columns[] = {"a=u", "b=c>u", "c=u"};
    oci_batch *plain = make_batch(columns, 3, &maker);
    oci_field *fields = malloc(3 * sizeof *fields);
    fields[0] = runs_of(OCI_TYPE_INT32, runs_of(OCI_TYPE_INT16, field_of(OCI_TYPE_UTF8_VIEW)));
    fields[1] = dictionary_of(OCI_TYPE_INT8, runs_of(OCI_TYPE_INT32, field_of(OCI_TYPE_UTF8)));
    fields[2] = field_of(OCI_TYPE_UTF8_VIEW);
    oci_schema *schema;
    assert_int_equal(oci_schema_create(fields, 3, NULL, 0, &schema, NULL), OC_OK);
    check_refused_allocations(plain, schema);
    oci_schema_release(schema);
    oci_batch_release(plain);
}

static void the_same_for_nested_columns(void **state)
{
    (void)state;
    const arrow_maker maker = {.seed = 9, .length = 400, .null_percent = 30, .distinct = 3};
    const char *columns[] = {"+vl(+r(i; vu))", "+r(i; +l(c>u))", "c>+vl(+r(i; u))",
                             "+s(a=+ud:0,1(vu; +vl(i)); b=+r(l; +s(c=vz)))"};
    oci_batch *made = make_batch(columns, 4, &maker), *gathered, *slice;
    oci_schema *working;
    assert_int_equal(oci_schema_working(made->schema, &working, NULL), OC_OK);
    assert_int_equal(oci_gather_range(working, made, 0, 400, 0, mem, NULL, &gathered, NULL), OC_OK);
    slice = slice_of(gathered, 33, 300);
    check_refused_allocations(slice, made->schema);
    oci_batch_release(slice);
    oci_batch_release(gathered);
    oci_batch_release(made);
    oci_schema_release(working);
}

static void schemas_say_how_many_rows_can_be_counted(void **state)
{
    (void)state;
    const char *texts[] = {"x=u", "x=+r(i; u)", "x=+l(+s(a=+r(s; u)))", "x=c>+r(s; u)"};
    const int64_t rows[] = {INT64_MAX, INT32_MAX, INT16_MAX, INT16_MAX};
    for (int i = 0; i < 4; i++) {
        oci_schema *schema = make_schema(&texts[i], 1);
        assert_int_equal(oci_schema_output_rows(schema), rows[i]);
        oci_schema_release(schema);
    }
}

static void a_small_limit_is_respected(void **state)
{
    (void)state;
    const arrow_maker maker = {.seed = 9, .length = 3000, .distinct = 3};
    oci_budget *small;
    oci_mem *account;
    assert_int_equal(oci_budget_create(8000, NULL, &small, NULL), OC_OK);
    assert_int_equal(oci_mem_open(small, "test", &account, NULL), OC_OK);
    oci_batch *plain = make_column_batch("u", &maker), *out;
    oci_schema *schema = schema_of(runs_of(OCI_TYPE_INT32, field_of(OCI_TYPE_UTF8_VIEW)));
    assert_int_equal(oci_batch_output(plain, schema, account, &out, NULL), OC_EBUDGET);
    assert_int_equal(oci_mem_held(account), 0);
    oci_schema_release(schema);
    oci_batch_release(plain);
    oci_mem_close(account);
    oci_budget_destroy(small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(views_point_into_the_bytes_there_are, open_budget,
                                        close_budget),
        cmocka_unit_test_setup_teardown(nulls_make_empty_views, open_budget, close_budget),
        cmocka_unit_test_setup_teardown(list_views_share_offsets_and_child, open_budget,
                                        close_budget),
        cmocka_unit_test_setup_teardown(slices_of_lists_make_only_their_part_of_the_child,
                                        open_budget, close_budget),
        cmocka_unit_test_setup_teardown(children_of_unions_and_structs_follow_the_slice,
                                        open_budget, close_budget),
        cmocka_unit_test_setup_teardown(fixed_size_lists_follow_the_slice, open_budget,
                                        close_budget),
        cmocka_unit_test_setup_teardown(runs_are_as_long_as_values_repeat, open_budget,
                                        close_budget),
        cmocka_unit_test_setup_teardown(values_that_do_not_repeat_are_not_copied, open_budget,
                                        close_budget),
        cmocka_unit_test_setup_teardown(floats_that_compare_equal_are_different_runs, open_budget,
                                        close_budget),
        cmocka_unit_test_setup_teardown(layouts_are_built_inside_each_other, open_budget,
                                        close_budget),
        cmocka_unit_test_setup_teardown(any_number_of_runs_is_found, open_budget, close_budget),
        cmocka_unit_test_setup_teardown(rows_that_run_ends_cannot_count_are_refused, open_budget,
                                        close_budget),
        cmocka_unit_test_setup_teardown(rows_of_lists_are_cut_by_what_they_hold, open_budget,
                                        close_budget),
        cmocka_unit_test_setup_teardown(a_batch_of_these_types_is_given_as_itself, open_budget,
                                        close_budget),
        cmocka_unit_test_setup_teardown(other_types_are_refused, open_budget, close_budget),
        cmocka_unit_test_setup_teardown(slices_of_the_result_outlive_it, open_budget, close_budget),
        cmocka_unit_test_setup_teardown(every_type_is_the_same_after_a_way_through_working_form,
                                        open_budget, close_budget),
        cmocka_unit_test_setup_teardown(random_types_are_the_same_after_it, open_budget,
                                        close_budget),
        cmocka_unit_test_setup_teardown(every_refused_allocation_leaves_nothing_behind, open_budget,
                                        close_budget),
        cmocka_unit_test_setup_teardown(the_same_for_nested_columns, open_budget, close_budget),
        cmocka_unit_test_setup_teardown(schemas_say_how_many_rows_can_be_counted, open_budget,
                                        close_budget),
        cmocka_unit_test_setup_teardown(a_small_limit_is_respected, open_budget, close_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
