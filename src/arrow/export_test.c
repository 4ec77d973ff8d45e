#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arrow/batch.h"
#include "base/fault.h"
#include "support/batch_maker.h"

static void assert_message_has(const oc_error *err, const char *part)
{
    if (strstr(err->message, part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, err->message);
    }
}

static void release_disguised(struct ArrowArray *array)
{
    struct ArrowArray *inner = array->private_data;
    inner->release(inner);
    free(inner);
    array->release = NULL;
}

/* Makes an exported array look like somebody else's, so that importing it does not just find the
 * batch. */
static void disguise(struct ArrowArray *array)
{
    struct ArrowArray *inner = malloc(sizeof *inner);
    *inner = *array;
    array->private_data = inner;
    array->release = release_disguised;
}

/* A budget with one account in it. */
typedef struct account {
    oci_budget *budget;
    oci_mem *mem;
} account;

static account open_account(int64_t limit, const oci_allocator *allocator)
{
    account a;
    assert_int_equal(oci_budget_create(limit, allocator, &a.budget, NULL), OC_OK);
    assert_int_equal(oci_mem_open(a.budget, "test", &a.mem, NULL), OC_OK);
    return a;
}

static void close_account(account a)
{
    assert_int_equal(oci_mem_held(a.mem), 0);
    oci_mem_close(a.mem);
    oci_budget_destroy(a.budget);
}

/* Exports a slice as `schema`, takes it in again as foreign data. */
static oci_batch *round_trip(oci_batch *batch, int64_t start, int64_t length, oci_schema *schema,
                             oci_mem *mem)
{
    struct ArrowArray array;
    oci_batch *slice, *back;
    oc_error err = {0};
    assert_int_equal(oci_batch_slice(batch, start, length, &slice, NULL), OC_OK);
    assert_int_equal(oci_batch_export(slice, schema, mem, &array, NULL), OC_OK);
    disguise(&array);
    if (oci_batch_import(&array, schema, &back, &err) != OC_OK ||
        oci_batch_validate(back, &err) != OC_OK) {
        fail_msg("%s", err.message);
    }
    return back;
}

static void every_type_comes_back_from_every_offset(void **state)
{
    (void)state;
    for (int with_nulls = 0; with_nulls < 2; with_nulls++) {
        const arrow_maker maker = {.seed = 11,
                                   .length = 60,
                                   .null_percent = with_nulls ? 30 : 0,
                                   .offset = 1,
                                   .garbage = true,
                                   .unaligned = true};
        oci_batch *batch = make_batch(arrow_maker_formats, arrow_maker_n_formats, &maker);
        for (int64_t start = 0; start <= 17; start++) {
            oci_batch *slice, *back = round_trip(batch, start, 43 - start, batch->schema, NULL);
            assert_int_equal(oci_batch_slice(batch, start, 43 - start, &slice, NULL), OC_OK);
            assert_true(oci_batch_equal(slice, back));
            oci_batch_release(slice);
            oci_batch_release(back);
        }
        oci_batch_release(batch);
    }
    assert_int_equal(arrow_maker_live(), 0);
}

/* Rows of every layout, sliced before they go out and again by the reader's eyes. */
static void check_nested_round_trip(const char *format, uint64_t seed)
{
    const arrow_maker maker = {.seed = seed,
                               .length = 40,
                               .null_percent = 25,
                               .offset = (int64_t)(seed % 9),
                               .garbage = seed & 1,
                               .unaligned = seed & 2};
    oci_batch *batch = make_column_batch(format, &maker);
    for (int64_t start = 0; start <= 10; start += 5) {
        oci_batch *slice, *back = round_trip(batch, start, 31 - start, batch->schema, NULL);
        assert_int_equal(oci_batch_slice(batch, start, 31 - start, &slice, NULL), OC_OK);
        if (!oci_batch_equal(slice, back)) {
            fail_msg("format %s differs from row %d on", format, (int)start);
        }
        oci_batch *again = round_trip(back, 0, back->length, back->schema, NULL);
        assert_true(oci_batch_equal(slice, again));
        oci_batch_release(again);
        oci_batch_release(slice);
        oci_batch_release(back);
    }
    oci_batch *empty = round_trip(batch, 7, 0, batch->schema, NULL);
    assert_int_equal(empty->length, 0);
    oci_batch_release(empty);
    oci_batch_release(batch);
}

static void nested_types_come_back_from_every_layout(void **state)
{
    (void)state;
    for (int32_t i = 0; i < arrow_maker_n_nested_formats; i++) {
        for (uint64_t seed = 0; seed < 4; seed++) {
            check_nested_round_trip(arrow_maker_nested_formats[i], seed);
        }
    }
    assert_int_equal(arrow_maker_live(), 0);
}

static void random_trees_come_back(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 120; seed++) {
        char text[4000];
        arrow_make_column_text(seed + 1000, 3, text, sizeof text);
        check_nested_round_trip(text, seed);
    }
    assert_int_equal(arrow_maker_live(), 0);
}

/* Consumers refuse unions with any other null count than 0, and runs have no bitmap either. */
static void unions_and_runs_say_that_nothing_is_null(void **state)
{
    (void)state;
    const char *columns[] = {"+ud:0,1(i; u)", "+us:0,1(i; u)", "+r(i; u)"};
    const int64_t n_buffers[] = {2, 1, 0};
    const arrow_maker maker = {.seed = 5, .length = 40, .null_percent = 50};
    oci_batch *batch = make_batch(columns, 3, &maker), *slice;
    struct ArrowArray array;
    assert_int_equal(oci_batch_slice(batch, 3, 30, &slice, NULL), OC_OK);
    assert_int_equal(oci_batch_export(slice, batch->schema, NULL, &array, NULL), OC_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(array.children[i]->null_count, 0);
        assert_int_equal(array.children[i]->offset, 3);
        assert_int_equal(array.children[i]->n_buffers, n_buffers[i]);
        assert_int_equal(array.children[i]->n_children, 2);
    }
    array.release(&array);
    oci_batch_release(batch);
}

static void empty_slices_have_buffers(void **state)
{
    (void)state;
    const arrow_maker maker = {.seed = 11, .length = 9, .null_percent = 30};
    oci_batch *batch = make_batch(arrow_maker_formats, arrow_maker_n_formats, &maker), *slice;
    for (int64_t start = 0; start <= 9; start += 9) {
        struct ArrowArray array;
        assert_int_equal(oci_batch_slice(batch, start, 0, &slice, NULL), OC_OK);
        assert_int_equal(oci_batch_export(slice, batch->schema, NULL, &array, NULL), OC_OK);
        assert_int_equal(array.length, 0);
        for (int64_t i = 0; i < array.n_children; i++) {
            const struct ArrowArray *child = array.children[i];
            assert_int_equal(child->offset, 0);
            for (int64_t b = 1; b < child->n_buffers; b++) {
                assert_non_null(child->buffers[b]);
            }
            if (child->n_buffers == 3) {
                int64_t offset; /* the one offset that an empty string array has */
                memcpy(&offset, child->buffers[1], sizeof offset);
                assert_int_equal(offset, 0);
            }
        }
        array.release(&array);
    }
    oci_batch_release(batch);
}

static void rows_without_columns_come_back(void **state)
{
    (void)state;
    oci_batch *batch = make_batch(NULL, 0, &(arrow_maker){.length = 77});
    oci_batch *back = round_trip(batch, 7, 70, batch->schema, NULL);
    assert_int_equal(back->length, 70);
    oci_batch_release(back);
    oci_batch_release(batch);
}

static void null_counts_are_exact_or_unknown(void **state)
{
    (void)state;
    const arrow_maker maker = {.seed = 11, .length = 100, .null_percent = 30};
    oci_batch *batch = make_column_batch("l", &maker), *slice;
    struct ArrowArray array;
    int64_t nulls = oci_column_null_count(&batch->columns[0]);
    assert_int_equal(oci_batch_slice(batch, 0, 50, &slice, NULL), OC_OK);
    assert_int_equal(oci_batch_export(slice, batch->schema, NULL, &array, NULL), OC_OK);
    assert_int_equal(array.children[0]->null_count, -1);
    array.release(&array);
    oci_schema *schema = oci_schema_retain(batch->schema);
    assert_int_equal(oci_batch_export(batch, schema, NULL, &array, NULL), OC_OK);
    assert_int_equal(array.children[0]->null_count, nulls);
    assert_int_equal(array.null_count, 0);
    array.release(&array);
    oci_schema_release(schema);
}

static void columns_may_be_moved_out(void **state)
{
    (void)state;
    const char *columns[] = {"a=l", "b=c>u"};
    const arrow_maker maker = {.seed = 11, .length = 20};
    oci_batch *batch = make_batch(columns, 2, &maker);
    oci_schema *schema = oci_schema_retain(batch->schema);
    struct ArrowArray array;
    assert_int_equal(oci_batch_export(batch, schema, NULL, &array, NULL), OC_OK);
    struct ArrowArray child = *array.children[1];
    array.children[1]->release = NULL;
    array.release(&array);
    assert_null(array.release);
    assert_int_not_equal(arrow_maker_live(), 0); /* the child keeps all of the import alive */
    struct ArrowArray values = *child.dictionary;
    child.dictionary->release = NULL;
    child.release(&child);
    assert_int_equal(values.length, 10);
    values.release(&values);
    oci_schema_release(schema);
    assert_int_equal(arrow_maker_live(), 0);
}

static void children_of_children_may_be_moved_out(void **state)
{
    (void)state;
    const char *columns[] = {"a=+l(+s(x=u; y=c>+l(i)))"};
    const arrow_maker maker = {.seed = 11, .length = 20};
    oci_batch *batch = make_batch(columns, 1, &maker);
    oci_schema *schema = oci_schema_retain(batch->schema);
    struct ArrowArray array;
    assert_int_equal(oci_batch_export(batch, schema, NULL, &array, NULL), OC_OK);
    struct ArrowArray *point = array.children[0]->children[0];
    struct ArrowArray y = *point->children[1];
    point->children[1]->release = NULL;
    array.release(&array);
    struct ArrowArray list = *y.dictionary;
    y.dictionary->release = NULL;
    y.release(&y);
    struct ArrowArray items = *list.children[0];
    list.children[0]->release = NULL;
    list.release(&list);
    assert_int_not_equal(arrow_maker_live(), 0);
    assert_true(items.length > 0);
    items.release(&items);
    oci_schema_release(schema);
    assert_int_equal(arrow_maker_live(), 0);
}

/* ---- views ----------------------------------------------------------------------------------- */

static void working_strings_become_the_views_announced(void **state)
{
    (void)state;
    const char *working[] = {"a=u", "b=z", "c=i>u", "d=l"};
    const char *announced[] = {"a=vu", "b=vz", "c=i>vu", "d=l"};
    oci_schema *schema = make_schema(announced, 4);
    for (int32_t null_percent = 0; null_percent <= 30; null_percent += 30) {
        account a = open_account(1 << 20, NULL);
        arrow_maker maker = {.seed = 12, .length = 50, .null_percent = null_percent};
        oci_batch *want = make_batch(announced, 4, &maker);
        maker.garbage = true;
        maker.unaligned = true;
        oci_batch *have = make_batch(working, 4, &maker);
        for (int64_t start = 0; start <= 17; start++) {
            oci_batch *slice, *back = round_trip(have, start, 50 - start, schema, a.mem);
            assert_true(oci_mem_held(a.mem) > 0);
            assert_int_equal(oci_batch_slice(want, start, 50 - start, &slice, NULL), OC_OK);
            assert_true(oci_batch_equal(slice, back));
            oci_batch_release(slice);
            oci_batch_release(back);
            assert_int_equal(oci_mem_held(a.mem), 0);
        }
        oci_batch *back = round_trip(have, 20, 0, schema, a.mem); /* no rows, no views */
        assert_int_equal(back->length, 0);
        oci_batch_release(back);
        oci_batch_release(have);
        oci_batch_release(want);
        close_account(a);
    }
    oci_schema_release(schema);
}

static void views_are_padded_with_zeros(void **state)
{
    (void)state;
    const char *announced[] = {"a=vu"};
    const arrow_maker maker = {.seed = 12, .length = 80, .null_percent = 30, .garbage = true};
    oci_schema *schema = make_schema(announced, 1);
    oci_batch *batch = make_column_batch("u", &maker);
    account a = open_account(1 << 20, NULL);
    struct ArrowArray array;
    oci_column column = batch->columns[0];
    oci_batch_retain(batch);
    assert_int_equal(oci_batch_export(batch, schema, a.mem, &array, NULL), OC_OK);
    assert_int_equal(array.children[0]->n_buffers, 4);
    for (int64_t row = 0; row < 80; row++) {
        oci_view view, want = {.length = 0};
        memcpy(&view, (const char *)array.children[0]->buffers[1] + row * 16, 16);
        int64_t length = 0;
        if (!oci_column_is_null(&column, row)) {
            const uint8_t *bytes = oci_column_bytes_at(&column, row, &length);
            want.length = (int32_t)length;
            memcpy(want.inlined, bytes, (size_t)(length <= 12 ? length : 4));
            want.ref.offset = length <= 12 ? want.ref.offset : (int32_t)(bytes - column.bytes);
        }
        assert_memory_equal(&view, &want, 16);
    }
    array.release(&array);
    oci_batch_release(batch);
    oci_schema_release(schema);
    close_account(a);
}

static void views_outlive_account_and_budget(void **state)
{
    (void)state;
    const char *announced[] = {"a=vu"};
    const arrow_maker maker = {.seed = 12, .length = 5000}; /* large enough for the arena */
    oci_schema *schema = make_schema(announced, 1);
    oci_batch *want = make_column_batch("vu", &maker), *got;
    account a = open_account(1 << 20, NULL);
    struct ArrowArray array;
    assert_int_equal(oci_batch_export(make_column_batch("u", &maker), schema, a.mem, &array, NULL),
                     OC_OK);
    oci_mem_close(a.mem);
    oci_budget_destroy(a.budget);
    assert_int_equal(oci_batch_import(&array, schema, &got, NULL), OC_OK);
    assert_true(oci_batch_equal(want, got));
    oci_batch_release(got);
    oci_batch_release(want);
    oci_schema_release(schema);
}

static void views_that_the_budget_refuses_leave_nothing_behind(void **state)
{
    (void)state;
    const char *announced[] = {"a=l", "b=i>vu", "c=vu"}, *working[] = {"a=l", "b=i>u", "c=u"};
    const arrow_maker maker = {.seed = 12, .length = 5000};
    oci_schema *schema = make_schema(announced, 3);
    account a = open_account(64 * 1024, NULL);
    struct ArrowArray array;
    oc_error err = {0};
    assert_int_equal(oci_batch_export(make_batch(working, 3, &maker), schema, a.mem, &array, &err),
                     OC_EBUDGET);
    assert_null(array.release);
    assert_int_equal(arrow_maker_live(), 0); /* the batch went with it */
    oci_schema_release(schema);
    close_account(a);
}

static void every_failing_allocation_is_survived(void **state)
{
    (void)state;
    const char *announced[] = {"a=vu", "b=i>vz", "c=+vl(vz)", "d=+s(e=+r(i; vu))"};
    const char *working[] = {"a=u", "b=i>z", "c=+l(z)", "d=+s(e=u)"};
    const arrow_maker maker = {.seed = 12, .length = 3000, .null_percent = 10};
    oci_schema *schema = make_schema(announced, 4);
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        int n_failed = 0;
        for (int64_t nth = 1;; nth++) {
            oci_fault_plan *plan = oci_fault_plan_create();
            account a = open_account(1 << 20, oci_fault_allocator(plan));
            struct ArrowArray array;
            oci_batch *batch = make_batch(working, 4, &maker);
            oci_fault_arm(plan, OCI_FAULT_ALLOC, nth, for_ever);
            oc_status status = oci_batch_export(batch, schema, a.mem, &array, NULL);
            bool injected = oci_fault_injected(plan) > 0;
            oci_fault_arm(plan, OCI_FAULT_ALLOC, 0, false);
            assert_int_equal(status, injected ? OC_ENOMEM : OC_OK);
            if (status == OC_OK) {
                array.release(&array);
            }
            assert_null(array.release);
            assert_int_equal(arrow_maker_live(), 0);
            close_account(a);
            assert_int_equal(oci_fault_live_bytes(plan), 0);
            oci_fault_plan_destroy(plan);
            if (!injected) {
                break;
            }
            n_failed++;
        }
        assert_true(n_failed >= 2); /* what is made, and the values of runs */
    }
    oci_schema_release(schema);
}

/* ---- our own batches coming back ------------------------------------------------------------- */

static void our_own_batch_comes_back_as_itself(void **state)
{
    (void)state;
    const arrow_maker maker = {.seed = 13, .length = 20, .null_percent = 20, .offset = 3};
    const char *const *const formats[] = {arrow_maker_formats, arrow_maker_nested_formats};
    const int32_t counts[] = {arrow_maker_n_formats, arrow_maker_n_nested_formats};
    for (int i = 0; i < 2; i++) {
        oci_batch *batch = make_batch(formats[i], counts[i], &maker), *back;
        struct ArrowArray array, moved;
        oci_schema *same = make_schema(formats[i], counts[i]);
        assert_int_equal(oci_batch_export(oci_batch_retain(batch), same, NULL, &array, NULL),
                         OC_OK);
        moved = array; /* arrays are moved by copying the struct */
        array.release = NULL;
        assert_int_equal(oci_batch_import(&moved, same, &back, NULL), OC_OK);
        assert_null(moved.release);
        assert_ptr_equal(back, batch);
        oci_batch_release(back);
        oci_batch_release(batch);
        oci_schema_release(same);
    }
    assert_int_equal(arrow_maker_live(), 0);
}

static void our_own_batch_takes_the_names_asked_for(void **state)
{
    (void)state;
    const char *before[] = {"a=l", "b=c>u", "c=+s(d=+l(i))"};
    const char *after[] = {"x=l", "y=c>u", "c=+s(z=+l(i))"};
    const arrow_maker maker = {.seed = 13, .length = 20};
    oci_batch *batch = make_batch(before, 3, &maker), *back;
    struct ArrowArray array;
    oci_schema *schema = make_schema(after, 3);
    assert_int_equal(oci_batch_export(oci_batch_retain(batch), batch->schema, NULL, &array, NULL),
                     OC_OK);
    assert_int_equal(oci_batch_import(&array, schema, &back, NULL), OC_OK);
    assert_ptr_equal(back->parent, batch);
    assert_ptr_equal(back->schema, schema);
    assert_string_equal(back->columns[1].field->name, "y");
    assert_string_equal(back->columns[2].children[0].field->name, "z");
    assert_true(oci_batch_equal(back, batch));
    oci_batch_release(batch);
    oci_batch_release(back);
    oci_schema_release(schema);
    assert_int_equal(arrow_maker_live(), 0);
}

static void shorten(struct ArrowArray *array)
{
    array->length -= 2;
}
static void shift(struct ArrowArray *array)
{
    array->length -= 2;
    array->offset += 2;
}
static void shift_child(struct ArrowArray *array)
{
    array->length -= 2;
    array->children[0]->length -= 2;
    array->children[0]->offset += 2;
}
static void swap_children(struct ArrowArray *array)
{
    struct ArrowArray first = *array->children[0];
    *array->children[0] = *array->children[1];
    *array->children[1] = first;
}
static void shorten_dictionary(struct ArrowArray *array)
{
    array->children[2]->dictionary->length = 10; /* of 12 */
}
static void swap_grandchildren(struct ArrowArray *array)
{
    swap_children(array->children[3]);
}
static void shift_elements(struct ArrowArray *array)
{
    array->children[4]->children[0]->offset++;
    array->children[4]->children[0]->length -= 2;
}

/* Consumers may change an array within what it owns; then it is taken for what it now says. */
static void our_own_batch_is_not_recognised_once_changed(void **state)
{
    (void)state;
    void (*changes[])(struct ArrowArray *) = {
        shorten,       shift, shift_child, swap_children, shorten_dictionary, swap_grandchildren,
        shift_elements};
    const char *columns[] = {"a=l", "b=l", "c=c>u", "d=+s(e=i; f=i)", "g=+vl(i)"};
    arrow_maker maker = {.seed = 13, .length = 20, .distinct = 12, .garbage = true};
    for (int i = 0; i < 7; i++) {
        oci_batch *batch = make_batch(columns, 5, &maker), *back;
        oci_schema *schema = oci_schema_retain(batch->schema);
        struct ArrowArray array;
        assert_int_equal(oci_batch_export(oci_batch_retain(batch), schema, NULL, &array, NULL),
                         OC_OK);
        changes[i](&array);
        assert_int_equal(oci_batch_import(&array, schema, &back, NULL), OC_OK);
        assert_ptr_not_equal(back, batch);
        assert_non_null(back->import);
        int64_t shift_by = i == 1 || i == 2 ? 2 : 0;
        int from = i == 3 ? 1 : 0;
        assert_int_equal(back->length, i < 3 ? 18 : 20);
        for (int64_t row = 0; row < back->length; row++) {
            assert_true(
                oci_value_equal(&back->columns[0], row, &batch->columns[from], row + shift_by));
        }
        oci_batch_release(back);
        oci_batch_release(batch);
        oci_schema_release(schema);
    }
    assert_int_equal(arrow_maker_live(), 0);
}

static void our_own_batch_of_other_types_is_checked_like_any(void **state)
{
    (void)state;
    const char *made[] = {"a=l"}, *wanted[] = {"a=u"};
    const arrow_maker maker = {.seed = 13, .length = 20};
    oci_batch *batch = make_batch(made, 1, &maker), *back;
    oci_schema *schema = make_schema(wanted, 1);
    struct ArrowArray array;
    oc_error err = {0};
    assert_int_equal(oci_batch_export(oci_batch_retain(batch), batch->schema, NULL, &array, NULL),
                     OC_OK);
    assert_int_equal(oci_batch_import(&array, schema, &back, &err), OC_EDATA);
    assert_message_has(&err, "has 2 buffers; it must have 3");
    oci_batch_release(batch);
    oci_schema_release(schema);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void types_that_do_not_fit_the_announcement_are_refused(void **state)
{
    (void)state;
    struct {
        const char *have, *want, *part;
    } cases[] = {
        {"l", "i", "column \"a\" of type int64 cannot be handed out as int32"},
        {"vu", "u", "of type utf8_view cannot be handed out as utf8"},
        {"c>u", "s>u", "of type dictionary<int8, utf8> cannot be handed out as dictionary<int16"},
        {"c>u", "c>U",
         "dictionary<int8, utf8> cannot be handed out as dictionary<int8, large_utf8>"},
        {"u", "vz", "cannot be handed out as binary_view"},
        {"+l(i)", "+L(i)", "of type list<int32> cannot be handed out as large_list<int32>"},
        {"+s(a=i)", "+s(a=l)", "of type struct<a: int32> cannot be handed out as struct<a: int64>"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char want[32];
        const char *columns[] = {want};
        snprintf(want, sizeof want, "a=%s", cases[i].want);
        oci_schema *schema = make_schema(columns, 1);
        oci_batch *batch = make_column_batch(cases[i].have, &(arrow_maker){.length = 3});
        struct ArrowArray array;
        oc_error err = {0};
        assert_int_equal(oci_batch_export(batch, schema, NULL, &array, &err), OC_EINVAL);
        assert_null(array.release);
        assert_message_has(&err, cases[i].part);
        oci_schema_release(schema);
    }
    oci_schema *none = make_schema(NULL, 0);
    struct ArrowArray array;
    oc_error err = {0};
    assert_int_equal(oci_batch_export(make_column_batch("l", &(arrow_maker){.length = 3}), none,
                                      NULL, &array, &err),
                     OC_EINVAL);
    assert_message_has(&err, "a batch of 1 columns cannot be handed out with a schema of 0");
    oci_schema_release(none);
    assert_int_equal(arrow_maker_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_comes_back_from_every_offset),
        cmocka_unit_test(nested_types_come_back_from_every_layout),
        cmocka_unit_test(random_trees_come_back),
        cmocka_unit_test(unions_and_runs_say_that_nothing_is_null),
        cmocka_unit_test(empty_slices_have_buffers),
        cmocka_unit_test(rows_without_columns_come_back),
        cmocka_unit_test(null_counts_are_exact_or_unknown),
        cmocka_unit_test(columns_may_be_moved_out),
        cmocka_unit_test(children_of_children_may_be_moved_out),
        cmocka_unit_test(working_strings_become_the_views_announced),
        cmocka_unit_test(views_are_padded_with_zeros),
        cmocka_unit_test(views_outlive_account_and_budget),
        cmocka_unit_test(views_that_the_budget_refuses_leave_nothing_behind),
        cmocka_unit_test(every_failing_allocation_is_survived),
        cmocka_unit_test(our_own_batch_comes_back_as_itself),
        cmocka_unit_test(our_own_batch_takes_the_names_asked_for),
        cmocka_unit_test(our_own_batch_is_not_recognised_once_changed),
        cmocka_unit_test(our_own_batch_of_other_types_is_checked_like_any),
        cmocka_unit_test(types_that_do_not_fit_the_announcement_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
