#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arrow/batch.h"
#include "support/batch_maker.h"

static void assert_message_has(const oc_error *err, const char *part)
{
    if (strstr(err->message, part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, err->message);
    }
}

static void assert_nothing_live(void)
{
    assert_int_equal(arrow_maker_live(), 0);
}

/* ---- what is taken --------------------------------------------------------------------------- */

/* Whatever the layout, the values are those of the plain array with the same seed. */
static void check_layouts_of(const char *format, int64_t offset, int64_t struct_offset)
{
    arrow_maker plain = {.seed = 7, .length = 41, .null_percent = 20};
    arrow_maker other = plain;
    other.offset = offset;
    other.struct_offset = struct_offset;
    oci_batch *want = make_column_batch(format, &plain);
    for (int options = 0; options < 8; options++) {
        other.garbage = options & 1;
        other.unaligned = options & 2;
        other.hide_null_count = options & 4;
        oci_batch *got = make_column_batch(format, &other);
        if (!oci_batch_equal(want, got)) {
            fail_msg("format %s differs with offset %d + %d and options %d", format, (int)offset,
                     (int)struct_offset, options);
        }
        assert_int_equal(oci_column_null_count(&want->columns[0]),
                         oci_column_null_count(&got->columns[0]));
        oci_batch_release(got);
    }
    oci_batch_release(want);
}

static void every_type_is_taken_at_every_offset(void **state)
{
    (void)state;
    for (int32_t i = 0; i < arrow_maker_n_formats; i++) {
        for (int64_t offset = 0; offset <= 17; offset++) {
            check_layouts_of(arrow_maker_formats[i], offset, 0);
            check_layouts_of(arrow_maker_formats[i], offset, 3);
        }
    }
    assert_nothing_live();
}

/* Offsets of all levels run through the bits of a byte: a child's is 3 more than its parent's. */
static void every_nested_type_is_taken_at_every_offset(void **state)
{
    (void)state;
    for (int32_t i = 0; i < arrow_maker_n_nested_formats; i++) {
        for (int64_t offset = 0; offset <= 8; offset++) {
            check_layouts_of(arrow_maker_nested_formats[i], offset, 0);
            check_layouts_of(arrow_maker_nested_formats[i], offset, 3);
        }
    }
    assert_nothing_live();
}

static void random_trees_are_taken_in_every_layout(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 150; seed++) {
        char text[4000];
        arrow_make_column_text(seed, 3, text, sizeof text);
        check_layouts_of(text, (int64_t)(seed % 18), (int64_t)(seed % 4));
    }
    assert_nothing_live();
}

static void all_types_at_once_are_taken(void **state)
{
    (void)state;
    const arrow_maker plain = {.seed = 3, .length = 100, .null_percent = 10, .distinct = 5};
    const arrow_maker other = {.seed = 3,
                               .length = 100,
                               .null_percent = 10,
                               .distinct = 5,
                               .offset = 13,
                               .struct_offset = 9,
                               .garbage = true,
                               .unaligned = true};
    oci_batch *want = make_batch(arrow_maker_formats, arrow_maker_n_formats, &plain);
    oci_batch *got = make_batch(arrow_maker_formats, arrow_maker_n_formats, &other);
    assert_true(oci_batch_equal(want, got));
    oci_batch_release(want);
    oci_batch_release(got);
    assert_nothing_live();
}

static void empty_arrays_are_taken_with_and_without_buffers(void **state)
{
    (void)state;
    for (int32_t i = 0; i < arrow_maker_n_formats + arrow_maker_n_nested_formats; i++) {
        int32_t nested = i - arrow_maker_n_formats;
        for (int options = 0; options < 4; options++) {
            arrow_maker maker = {.seed = 1, .null_percent = 50, .garbage = options & 1};
            maker.offset = options & 2 ? 5 : 0;
            oci_batch *batch = make_column_batch(
                nested < 0 ? arrow_maker_formats[i] : arrow_maker_nested_formats[nested], &maker);
            assert_int_equal(batch->length, 0);
            assert_int_equal(oci_column_null_count(&batch->columns[0]), 0);
            oci_batch_release(batch);
        }
    }
    assert_nothing_live();
}

static void no_columns_may_have_rows(void **state)
{
    (void)state;
    oci_batch *batch = make_batch(NULL, 0, &(arrow_maker){.length = 100});
    assert_int_equal(batch->length, 100);
    assert_int_equal(batch->schema->n_fields, 0);
    oci_batch_release(batch);
    assert_nothing_live();
}

static void buffers_are_shared_not_copied(void **state)
{
    (void)state;
    const char *columns[] = {"l", "u", "vu"};
    const arrow_maker maker = {.seed = 1, .length = 50, .null_percent = 10, .offset = 3};
    struct ArrowArray array;
    oci_schema *schema = make_schema(columns, 3);
    oci_batch *batch;
    arrow_make_array(columns, 3, &maker, &array);
    const void *values = array.children[0]->buffers[1];
    const void *bytes = array.children[1]->buffers[2];
    const void *view_buffer = array.children[2]->buffers[3];
    assert_int_equal(oci_batch_import(&array, schema, &batch, NULL), OC_OK);
    assert_null(array.release);
    assert_ptr_equal(batch->columns[0].values, values);
    assert_ptr_equal(batch->columns[1].bytes, bytes);
    assert_ptr_equal(batch->columns[2].view_buffers[1], view_buffer);
    assert_int_equal(batch->columns[0].offset, 3);
    assert_int_equal(batch->bytes, 0); /* not charged: it is somebody else's memory */
    oci_batch_release(batch);
    oci_schema_release(schema);
    assert_nothing_live();
}

static void a_bitmap_without_nulls_is_dropped(void **state)
{
    (void)state;
    const arrow_maker maker = {
        .seed = 1, .length = 50, .always_validity = true, .hide_null_count = true};
    oci_batch *batch = make_column_batch("l", &maker);
    assert_null(batch->columns[0].validity);
    assert_int_equal(batch->columns[0].null_count, 0);
    oci_batch_release(batch);
}

static void a_stale_null_count_does_no_harm(void **state)
{
    (void)state;
    const char *columns[] = {"l"};
    const arrow_maker maker = {.seed = 1, .length = 50, .null_percent = 30};
    oci_schema *schema = make_schema(columns, 1);
    for (int64_t told = -1; told <= 50; told += 17) {
        struct ArrowArray array;
        oci_batch *batch;
        arrow_make_array(columns, 1, &maker, &array);
        int64_t nulls = array.children[0]->null_count;
        array.children[0]->null_count = told;
        assert_int_equal(oci_batch_import(&array, schema, &batch, NULL), OC_OK);
        assert_int_equal(oci_column_null_count(&batch->columns[0]), nulls);
        oci_batch_release(batch);
    }
    oci_schema_release(schema);
}

static void fixed_binary_of_no_bytes_needs_no_buffer(void **state)
{
    (void)state;
    const char *columns[] = {"w:0"};
    oci_schema *schema = make_schema(columns, 1);
    struct ArrowArray array;
    oci_batch *batch;
    arrow_make_array(columns, 1, &(arrow_maker){.length = 9}, &array);
    array.children[0]->buffers[1] = NULL;
    assert_int_equal(oci_batch_import(&array, schema, &batch, NULL), OC_OK);
    assert_true(oci_value_equal(&batch->columns[0], 0, &batch->columns[0], 8));
    oci_batch_release(batch);
    oci_schema_release(schema);
}

static void strings_of_no_bytes_need_no_buffer(void **state)
{
    (void)state;
    const char *columns[] = {"u", "Z"};
    oci_schema *schema = make_schema(columns, 2);
    struct ArrowArray array;
    oci_batch *batch;
    int64_t size = -1;
    static const int64_t zeros[10] = {0};
    arrow_make_array(columns, 2, &(arrow_maker){.length = 9}, &array);
    for (int i = 0; i < 2; i++) {
        array.children[i]->buffers[1] = zeros;
        array.children[i]->buffers[2] = NULL;
    }
    assert_int_equal(oci_batch_import(&array, schema, &batch, NULL), OC_OK);
    assert_non_null(oci_column_bytes_at(&batch->columns[1], 8, &size));
    assert_int_equal(size, 0);
    oci_batch_release(batch);
    oci_schema_release(schema);
}

static void nothing_below_an_empty_array_is_read(void **state)
{
    (void)state;
    for (int32_t i = 0; i < arrow_maker_n_nested_formats; i++) {
        const char *columns[] = {arrow_maker_nested_formats[i]};
        oci_schema *schema = make_schema(columns, 1);
        struct ArrowArray array;
        oci_batch *batch;
        oc_error err = {0};
        arrow_make_array(columns, 1, &(arrow_maker){.length = 9}, &array);
        array.length = 0;
        struct ArrowArray *column = array.children[0];
        for (int64_t b = 0; b < column->n_buffers; b++) {
            column->buffers[b] = NULL;
        }
        for (int64_t c = 0; c < column->n_children; c++) {
            for (int64_t b = 0; b < column->children[c]->n_buffers; b++) {
                column->children[c]->buffers[b] = NULL;
            }
        }
        if (column->dictionary == NULL) {
            column->buffers = NULL;
        }
        if (oci_batch_import(&array, schema, &batch, &err) != OC_OK) {
            fail_msg("%s: %s", columns[0], err.message);
        }
        assert_int_equal(oci_batch_validate(batch, NULL), OC_OK);
        oci_batch_release(batch);
        oci_schema_release(schema);
    }
    assert_nothing_live();
}

/* Shifts the buffers of a union by one, so that there is a validity buffer at the front. */
static void put_validity_in_front(struct ArrowArray *column, const uint8_t *validity)
{
    for (int64_t b = column->n_buffers; b > 0; b--) {
        column->buffers[b] = column->buffers[b - 1];
    }
    column->buffers[0] = validity;
    column->n_buffers++;
}

static void unions_of_old_times_are_taken_when_nothing_is_null(void **state)
{
    (void)state;
    const uint8_t no_nulls[] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF},
                  one_null[] = {0xFF, 0x7F, 0xFF, 0xFF};
    const uint8_t *bitmaps[] = {NULL, no_nulls, one_null};
    const char *formats[] = {"+ud:0,1(i; u)", "+us:0,1(i; u)"};
    for (int i = 0; i < 6; i++) {
        oci_schema *schema = make_schema(&formats[i % 2], 1);
        const arrow_maker maker = {.seed = 1, .length = 30, .null_percent = 20};
        struct ArrowArray array;
        oci_batch *batch;
        oc_error err = {0};
        arrow_make_array(&formats[i % 2], 1, &maker, &array);
        put_validity_in_front(array.children[0], bitmaps[i / 2]);
        oc_status status = oci_batch_import(&array, schema, &batch, &err);
        if (i / 2 == 2) {
            assert_int_equal(status, OC_EDATA);
            assert_message_has(&err, "\"c0\" is a union with 1 nulls of its own");
        } else {
            assert_int_equal(status, OC_OK);
            oci_batch *want = make_batch(&formats[i % 2], 1, &maker);
            assert_true(oci_batch_equal(batch, want));
            oci_batch_release(want);
            oci_batch_release(batch);
        }
        oci_schema_release(schema);
    }
    assert_nothing_live();
}

static void children_end_where_nobody_refers_to_them(void **state)
{
    (void)state;
    const char *columns[] = {"+l(i)", "+s(a=i)", "+w:3(b)", "+us:0(c)"};
    const arrow_maker maker = {.seed = 1, .length = 20, .offset = 3, .garbage = true};
    oci_batch *batch = make_batch(columns, 4, &maker);
    int64_t start, length;
    oci_column_list_at(&batch->columns[0], 19, &start, &length);
    assert_int_equal(batch->columns[0].children[0].length, start + length);
    assert_int_equal(batch->columns[1].children[0].length, 23);
    assert_int_equal(batch->columns[2].children[0].length, 69);
    assert_int_equal(batch->columns[3].children[0].length, 23);
    oci_batch_release(batch);
    assert_nothing_live();
}

/* ---- what is refused ------------------------------------------------------------------------- */

typedef void (*bend)(struct ArrowArray *array);

/* Makes a good batch of one column, bends it and expects a refusal that releases everything. */
static void assert_refused(const char *format, bend bend_it, oc_status status, const char *part)
{
    const char *columns[] = {format};
    const arrow_maker maker = {.seed = 2, .length = 30, .null_percent = 20, .struct_offset = 2};
    oci_schema *schema = make_schema(columns, 1);
    for (int with_error = 0; with_error < 2; with_error++) {
        struct ArrowArray array;
        oci_batch *batch = (oci_batch *)1;
        oc_error err = {0};
        arrow_make_array(columns, 1, &maker, &array);
        bend_it(&array);
        assert_int_equal(oci_batch_import(&array, schema, &batch, with_error ? &err : NULL),
                         status);
        assert_null(batch);
        assert_null(array.release);
        if (with_error) {
            assert_message_has(&err, part);
        }
    }
    oci_schema_release(schema);
    assert_nothing_live();
}

static void length_negative(struct ArrowArray *a)
{
    a->length = -1;
}
static void offset_negative(struct ArrowArray *a)
{
    a->offset = -1;
}
static void offset_huge(struct ArrowArray *a)
{
    a->offset = INT64_MAX - 5;
}
static void null_count_wild(struct ArrowArray *a)
{
    a->null_count = -2;
}
static void null_count_over(struct ArrowArray *a)
{
    a->null_count = 31;
}
static void children_few(struct ArrowArray *a)
{
    a->children[0]->release(a->children[0]);
    a->n_children = 0;
}
static void buffers_none(struct ArrowArray *a)
{
    a->n_buffers = 0;
}
static void buffers_null(struct ArrowArray *a)
{
    a->buffers = NULL;
}
static void dictionary_on_top(struct ArrowArray *a)
{
    a->dictionary = a->children[0];
}

static void damaged_structs_are_refused(void **state)
{
    (void)state;
    assert_refused("l", length_negative, OC_EDATA, "the batch is damaged: length -1");
    assert_refused("l", offset_negative, OC_EDATA, "offset -1");
    assert_refused("l", offset_huge, OC_EDATA, "the batch is damaged");
    assert_refused("l", null_count_wild, OC_EDATA, "null count -2");
    assert_refused("l", null_count_over, OC_EDATA, "null count 31");
    assert_refused("l", children_few, OC_EDATA, "has 0 columns; its schema has 1");
    assert_refused("l", buffers_none, OC_EDATA, "this one has 0 buffers");
    assert_refused("l", buffers_null, OC_EDATA, "this one has 0 buffers");
    assert_refused("l", dictionary_on_top, OC_EDATA, "and a dictionary");
}

/* Rows 5 of the struct and one outside it. */
static const uint8_t struct_nulls[] = {0xFE, 0xEF, 0xFF, 0xFF, 0xFF};
static const uint8_t struct_without_nulls[] = {0xFC, 0xFF, 0xFF, 0xFF, 0xFF};
static void struct_nulls_unknown(struct ArrowArray *a)
{
    a->null_count = -1;
    a->buffers[0] = struct_nulls;
}
static void struct_nulls_told(struct ArrowArray *a)
{
    a->null_count = 4;
}

static void rows_that_are_null_as_a_whole_are_refused(void **state)
{
    (void)state;
    assert_refused("l", struct_nulls_unknown, OC_EUNSUPPORTED,
                   "the batch has 1 rows that are null as a whole");
    assert_refused("l", struct_nulls_told, OC_EUNSUPPORTED, "has 4 rows that are null");

    const char *columns[] = {"l"};
    oci_schema *schema = make_schema(columns, 1);
    struct ArrowArray array;
    oci_batch *batch;
    arrow_make_array(columns, 1, &(arrow_maker){.length = 30, .struct_offset = 2}, &array);
    array.null_count = -1;
    array.buffers[0] = struct_without_nulls; /* the two nulls lie in front of the batch */
    assert_int_equal(oci_batch_import(&array, schema, &batch, NULL), OC_OK);
    oci_batch_release(batch);
    oci_schema_release(schema);
}

static void column_short(struct ArrowArray *a)
{
    a->children[0]->length = 31;
}
static void column_length_negative(struct ArrowArray *a)
{
    a->children[0]->length = -1;
}
static void column_offset_negative(struct ArrowArray *a)
{
    a->children[0]->offset = -1;
}
static void column_offset_huge(struct ArrowArray *a)
{
    a->children[0]->offset = INT64_MAX - 3;
}
static void column_length_huge(struct ArrowArray *a)
{
    a->children[0]->length = INT64_MAX / 8;
    a->children[0]->offset = INT64_MAX / 16;
}
static void column_null_count_wild(struct ArrowArray *a)
{
    a->children[0]->null_count = -2;
}
static void column_missing(struct ArrowArray *a)
{
    a->children[0]->release(a->children[0]);
    a->n_children = 1;
}
static void column_has_child(struct ArrowArray *a)
{
    a->children[0]->n_children = -1;
}
static void column_few_buffers(struct ArrowArray *a)
{
    a->children[0]->n_buffers--;
}
static void column_many_buffers(struct ArrowArray *a)
{
    a->children[0]->n_buffers++;
}
static void column_negative_buffers(struct ArrowArray *a)
{
    a->children[0]->n_buffers = -1;
}
static void column_two_buffers(struct ArrowArray *a)
{
    a->children[0]->n_buffers = 2;
}
static void column_no_buffers(struct ArrowArray *a)
{
    a->children[0]->buffers = NULL;
}
static void column_no_values(struct ArrowArray *a)
{
    a->children[0]->buffers[1] = NULL;
}
static void column_no_bytes(struct ArrowArray *a)
{
    a->children[0]->buffers[2] = NULL;
}
static void column_no_validity(struct ArrowArray *a)
{
    a->children[0]->buffers[0] = NULL;
}
static void column_no_sizes(struct ArrowArray *a)
{
    a->children[0]->buffers[5] = NULL;
}

static void damaged_columns_are_refused(void **state)
{
    (void)state;
    assert_refused("l", column_short, OC_EDATA,
                   "column \"c0\" is too short: it has 31 rows, the batch needs 30 from row 2 on");
    assert_refused("l", column_length_negative, OC_EDATA, "damaged array: length -1");
    assert_refused("l", column_offset_negative, OC_EDATA, "offset -1");
    assert_refused("l", column_offset_huge, OC_EDATA, "an impossible array");
    assert_refused("w:33", column_length_huge, OC_EDATA, "an impossible array");
    assert_refused("l", column_null_count_wild, OC_EDATA, "null count -2");
    assert_refused("l", column_missing, OC_EDATA, "is missing or has been released");
    assert_refused("l", column_few_buffers, OC_EDATA, "has 1 buffers; it must have 2");
    assert_refused("l", column_many_buffers, OC_EDATA, "has 3 buffers; it must have 2");
    assert_refused("l", column_negative_buffers, OC_EDATA, "has -1 buffers");
    assert_refused("u", column_two_buffers, OC_EDATA, "utf8 has 2 buffers; it must have 3");
    assert_refused("vu", column_two_buffers, OC_EDATA, "has 2 buffers; it must have at least 3");
    assert_refused("l", column_no_buffers, OC_EDATA, "claims 2 buffers and has none");
    assert_refused("l", column_no_values, OC_EDATA, "has 30 rows and no buffer of values");
    assert_refused("b", column_no_values, OC_EDATA, "no buffer of values");
    assert_refused("u", column_no_values, OC_EDATA, "no buffer of values");
    assert_refused("vu", column_no_values, OC_EDATA, "no buffer of values");
    assert_refused("c>u", column_no_values, OC_EDATA, "no buffer of values");
    assert_refused("u", column_no_bytes, OC_EDATA, "bytes of values and no buffer");
    assert_refused("Z", column_no_bytes, OC_EDATA, "bytes of values and no buffer");
    assert_refused("vu", column_no_bytes, OC_EDATA, "lacks view buffer 0");
    assert_refused("vu", column_no_sizes, OC_EDATA, "3 view buffers without their sizes");
    assert_refused("l", column_no_validity, OC_EDATA, "nulls and no validity buffer");
}

static void a_column_with_children_is_refused(void **state)
{
    (void)state;
    const char *columns[] = {"l"};
    oci_schema *schema = make_schema(columns, 1);
    struct ArrowArray array;
    oci_batch *batch;
    oc_error err = {0};
    arrow_make_array(columns, 1, &(arrow_maker){.length = 3}, &array);
    column_has_child(&array);
    assert_int_equal(oci_batch_import(&array, schema, &batch, &err), OC_EDATA);
    assert_message_has(&err, "has -1 children, not 0");
    oci_schema_release(schema);
    assert_nothing_live();
}

static void first_offset_negative(struct ArrowArray *a)
{
    int32_t offset = -1; /* of the batch's first row: the struct starts at 2 */
    memcpy((char *)(uintptr_t)a->children[0]->buffers[1] + 8, &offset, 4);
}
static void last_offset_low(struct ArrowArray *a)
{
    int64_t offset = 0;
    memcpy((char *)(uintptr_t)a->children[0]->buffers[1] + 32 * 8, &offset, 8);
}

static void offsets_with_impossible_ends_are_refused(void **state)
{
    (void)state;
    assert_refused("u", first_offset_negative, OC_EDATA, "damaged offsets: the first is -1");
    assert_refused("U", last_offset_low, OC_EDATA, "and the last 0");
}

/* The first of the columns is bent, or what lies below it. */
static struct ArrowArray *below(struct ArrowArray *a, int64_t child)
{
    return a->children[0]->children[child];
}
static void *writable(const void *buffer)
{
    return (void *)(uintptr_t)buffer;
}

static void child_count_low(struct ArrowArray *a)
{
    struct ArrowArray *column = a->children[0];
    column->n_children--;
    column->children[column->n_children]->release(column->children[column->n_children]);
}
static void child_released(struct ArrowArray *a)
{
    below(a, 0)->release(below(a, 0));
}
static void child_short(struct ArrowArray *a)
{
    below(a, 0)->length = 3;
    below(a, 0)->null_count = -1;
}
static void child_length_negative(struct ArrowArray *a)
{
    below(a, 0)->length = -1;
}
static void child_offset_huge(struct ArrowArray *a)
{
    below(a, 0)->offset = INT64_MAX - 50;
}
static void child_no_values(struct ArrowArray *a)
{
    below(a, 0)->buffers[1] = NULL;
}
static void child_few_buffers(struct ArrowArray *a)
{
    below(a, 0)->n_buffers = 0;
}
static void column_no_type_ids(struct ArrowArray *a)
{
    a->children[0]->buffers[0] = NULL;
}
static void column_no_list_sizes(struct ArrowArray *a)
{
    a->children[0]->buffers[2] = NULL;
}
static void union_nulls_told(struct ArrowArray *a)
{
    a->children[0]->null_count = 2;
}
static void column_far_out(struct ArrowArray *a)
{
    a->children[0]->offset = INT64_MAX / 64;
    a->children[0]->null_count = 0;
    a->children[0]->buffers[0] = NULL;
}
static void list_past_its_child(struct ArrowArray *a)
{
    int32_t far = 10000;
    memcpy((char *)writable(a->children[0]->buffers[1]) + 32 * 4, &far, 4);
}
static void list_past_everything(struct ArrowArray *a)
{
    int64_t far = INT64_MAX;
    memcpy((char *)writable(a->children[0]->buffers[1]) + 32 * 8, &far, 8);
}
static void list_before_its_child(struct ArrowArray *a)
{
    int32_t offset = -4;
    memcpy((char *)writable(a->children[0]->buffers[1]) + 8, &offset, 4);
}
static void runs_too_few(struct ArrowArray *a)
{
    below(a, 0)->length = 2;
}
static void runs_none(struct ArrowArray *a)
{
    below(a, 0)->length = 0;
}
static void values_too_few(struct ArrowArray *a)
{
    below(a, 1)->length = 1;
}
static const uint8_t no_bits[64];
static void run_ends_null(struct ArrowArray *a)
{
    below(a, 0)->null_count = -1;
    below(a, 0)->buffers[0] = no_bits;
}

static void damaged_nested_columns_are_refused(void **state)
{
    (void)state;
    assert_refused("+s(a=i; b=u)", child_count_low, OC_EDATA,
                   "column \"c0\" of type struct has 1 children, not 2");
    assert_refused("+l(i)", child_count_low, OC_EDATA, "of type list has 0 children, not 1");
    assert_refused("+m(u; i)", child_count_low, OC_EDATA, "of type map has 0 children, not 1");
    assert_refused("+r(i; u)", child_count_low, OC_EDATA, "has 1 children, not 2");
    assert_refused("+l(i)", child_released, OC_EDATA,
                   "child of column \"c0\": column \"item\" is missing or has been released");
    assert_refused(
        "+l(+s(a=u))", child_short, OC_EDATA,
        "child \"item\" of column \"c0\" is too short: it has 3 rows, its parent refers");
    assert_refused("+L(i)", child_short, OC_EDATA, "is too short: it has 3 rows");
    assert_refused("+m(u; i)", child_short, OC_EDATA, "child \"entries\" of column \"c0\" is too");
    assert_refused("+s(a=i)", child_short, OC_EDATA, "it has 3 rows, its parent refers to 32");
    assert_refused("+us:0,1(i; u)", child_short, OC_EDATA, "its parent refers to 32");
    assert_refused("+w:3(i)", child_short, OC_EDATA, "its parent refers to 96");
    assert_refused("+l(i)", child_length_negative, OC_EDATA, "damaged array: length -1");
    assert_refused("+vl(i)", child_offset_huge, OC_EDATA, "an impossible array");
    assert_refused("+l(i)", child_no_values, OC_EDATA,
                   "child of column \"c0\": column \"item\" has ");
    assert_refused("+s(a=u)", child_few_buffers, OC_EDATA, "utf8 has 0 buffers; it must have 3");
    assert_refused("+l(i)", column_no_values, OC_EDATA, "no buffer of values");
    assert_refused("+vl(i)", column_no_list_sizes, OC_EDATA, "30 rows and no buffer of sizes");
    assert_refused("+vL(i)", column_few_buffers, OC_EDATA, "has 2 buffers; it must have 3");
    assert_refused("+w:3(i)", column_many_buffers, OC_EDATA, "has 2 buffers; it must have 1");
    assert_refused("+s(a=i)", column_few_buffers, OC_EDATA, "has 0 buffers; it must have 1");
    assert_refused("+r(i; u)", column_many_buffers, OC_EDATA, "has 1 buffers; it must have 0");
    assert_refused("+ud:0(i)", column_few_buffers, OC_EDATA,
                   "has 1 buffers; it must have at least");
    assert_refused("+ud:0(i)", column_no_type_ids, OC_EDATA, "no buffer of type ids");
    assert_refused("+ud:0(i)", column_no_values, OC_EDATA, "no buffer of offsets");
    assert_refused("+us:0(i)", union_nulls_told, OC_EDATA, "is a union with 2 nulls of its own");
    assert_refused("+s(a=i)", column_no_validity, OC_EDATA, "nulls and no validity buffer");
    assert_refused("+w:1000(n)", column_far_out, OC_EDATA,
                   "its parent refers to 9223372036854775807");
}

static void innermost_length_negative(struct ArrowArray *a)
{
    struct ArrowArray *column = a->children[0];
    while (column->n_children > 0) {
        column = column->children[0];
    }
    column->length = -5;
}

static void the_cause_is_told_at_any_depth(void **state)
{
    (void)state;
    char text[OCI_NESTING_MAX * 4 + 8] = "";
    for (int i = 0; i < OCI_NESTING_MAX; i++) {
        strcat(text, "+s(");
    }
    strcat(text, "u");
    for (int i = 0; i < OCI_NESTING_MAX; i++) {
        strcat(text, ")");
    }
    assert_refused(text, innermost_length_negative, OC_EDATA, "has a damaged array: length -5");
    assert_refused("+s(a=+s(b=i))", innermost_length_negative, OC_EDATA,
                   "child of column \"c0\": child of column \"a\": column \"b\" has a damaged");
}

static void offsets_that_leave_their_child_are_refused(void **state)
{
    (void)state;
    assert_refused("+l(i)", list_past_its_child, OC_EDATA, "its parent refers to 10000");
    assert_refused("+m(u; i)", list_past_its_child, OC_EDATA, "its parent refers to 10000");
    assert_refused("+L(i)", list_past_everything, OC_EDATA, "refers to 9223372036854775807");
    assert_refused("+l(i)", list_before_its_child, OC_EDATA, "damaged offsets: the first is -4");
}

static void runs_that_do_not_reach_the_end_are_refused(void **state)
{
    (void)state;
    assert_refused("+r(i; u)", runs_too_few, OC_EDATA,
                   "column \"c0\" is too short: its runs end at");
    assert_refused("+r(s; u)", runs_none, OC_EDATA, "its runs end at row 0, it needs 32 rows");
    assert_refused("+r(l; u)", values_too_few, OC_EDATA, "runs and 1 values");
    assert_refused("+r(i; b)", run_ends_null, OC_EDATA, "run ends that are null");
}

static void dictionary_missing(struct ArrowArray *a)
{
    a->children[0]->dictionary->release(a->children[0]->dictionary);
    a->children[0]->dictionary = NULL;
}
static void dictionary_released(struct ArrowArray *a)
{
    a->children[0]->dictionary->release(a->children[0]->dictionary);
}
static void dictionary_negative(struct ArrowArray *a)
{
    a->children[0]->dictionary->length = -1;
}
static void dictionary_no_values(struct ArrowArray *a)
{
    a->children[0]->dictionary->buffers[1] = NULL;
}

static void damaged_dictionaries_are_refused(void **state)
{
    (void)state;
    assert_refused("c>u", dictionary_missing, OC_EDATA, "has no dictionary");
    assert_refused("c>u", dictionary_released, OC_EDATA,
                   "dictionary of column \"c0\": column \"\" is missing or has been released");
    assert_refused("c>u", dictionary_negative, OC_EDATA, "length -1");
    assert_refused("c>u", dictionary_no_values, OC_EDATA,
                   "dictionary of column \"c0\": column \"\" has 10 rows and no buffer");

    const char *made[] = {"a=c>u"}, *wanted[] = {"a=c"};
    oci_schema *schema = make_schema(wanted, 1);
    struct ArrowArray array;
    oci_batch *batch;
    oc_error err = {0};
    arrow_make_array(made, 1, &(arrow_maker){.length = 3}, &array);
    assert_int_equal(oci_batch_import(&array, schema, &batch, &err), OC_EDATA);
    assert_message_has(&err, "of type int8 has a dictionary");
    oci_schema_release(schema);
    assert_nothing_live();
}

static void a_released_array_is_refused(void **state)
{
    (void)state;
    oci_schema *schema = make_schema(NULL, 0);
    struct ArrowArray array = {0};
    oci_batch *batch = (oci_batch *)1;
    oc_error err = {0};
    assert_int_equal(oci_batch_import(&array, schema, &batch, &err), OC_EINVAL);
    assert_null(batch);
    oci_schema_release(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_taken_at_every_offset),
        cmocka_unit_test(every_nested_type_is_taken_at_every_offset),
        cmocka_unit_test(random_trees_are_taken_in_every_layout),
        cmocka_unit_test(all_types_at_once_are_taken),
        cmocka_unit_test(empty_arrays_are_taken_with_and_without_buffers),
        cmocka_unit_test(no_columns_may_have_rows),
        cmocka_unit_test(buffers_are_shared_not_copied),
        cmocka_unit_test(a_bitmap_without_nulls_is_dropped),
        cmocka_unit_test(a_stale_null_count_does_no_harm),
        cmocka_unit_test(fixed_binary_of_no_bytes_needs_no_buffer),
        cmocka_unit_test(strings_of_no_bytes_need_no_buffer),
        cmocka_unit_test(nothing_below_an_empty_array_is_read),
        cmocka_unit_test(unions_of_old_times_are_taken_when_nothing_is_null),
        cmocka_unit_test(children_end_where_nobody_refers_to_them),
        cmocka_unit_test(damaged_structs_are_refused),
        cmocka_unit_test(rows_that_are_null_as_a_whole_are_refused),
        cmocka_unit_test(damaged_columns_are_refused),
        cmocka_unit_test(a_column_with_children_is_refused),
        cmocka_unit_test(offsets_with_impossible_ends_are_refused),
        cmocka_unit_test(damaged_nested_columns_are_refused),
        cmocka_unit_test(the_cause_is_told_at_any_depth),
        cmocka_unit_test(offsets_that_leave_their_child_are_refused),
        cmocka_unit_test(runs_that_do_not_reach_the_end_are_refused),
        cmocka_unit_test(damaged_dictionaries_are_refused),
        cmocka_unit_test(a_released_array_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
