#include "arrow/batch.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/batch_maker.h"

static oci_budget *open_budget(oci_mem **mem)
{
    oci_budget *budget;
    assert_int_equal(oci_budget_create(1 << 20, NULL, &budget, NULL), OC_OK);
    assert_int_equal(oci_mem_open(budget, "test", mem, NULL), OC_OK);
    return budget;
}

/* A batch of one int64 column without nulls, on a slab. */
static oci_batch *adopt_numbers(oci_mem *mem, int64_t length)
{
    const char *columns[] = {"a=l"};
    oci_schema *schema = make_schema(columns, 1);
    oci_column *column = calloc(1, sizeof *column);
    oci_batch *batch;
    void *slab;
    assert_int_equal(oci_mem_alloc(mem, length * 8, &slab, NULL), OC_OK);
    for (int64_t i = 0; i < length; i++) {
        memcpy((char *)slab + i * 8, &i, 8);
    }
    *column = (oci_column){.field = &schema->fields[0], .length = length, .values = slab};
    assert_int_equal(
        oci_batch_adopt(schema, length, column, mem, slab, length * 8, NULL, 0, &batch, NULL),
        OC_OK);
    oci_schema_release(schema);
    return batch;
}

static void an_adopted_slab_goes_back_with_the_last_reference(void **state)
{
    (void)state;
    oci_mem *mem;
    oci_budget *budget = open_budget(&mem);
    oci_batch *batch = adopt_numbers(mem, 100), *slice;
    assert_int_equal(batch->bytes, oci_mem_held(mem));
    assert_true(batch->bytes >= 800);
    assert_int_equal(oci_batch_slice(batch, 10, 20, &slice, NULL), OC_OK);
    oci_batch_release(batch);
    assert_true(oci_mem_held(mem) >= 800); /* the slice keeps it */
    assert_int_equal(slice->bytes, 0);
    assert_int_equal(slice->body_bytes, -1);
    int64_t value;
    memcpy(&value, slice->columns[0].values + (slice->columns[0].offset + 19) * 8, 8);
    assert_int_equal(value, 29);
    oci_batch_release(slice);
    assert_int_equal(oci_mem_held(mem), 0);
    oci_mem_close(mem);
    oci_budget_destroy(budget);
}

static void a_batch_may_outlive_account_and_budget(void **state)
{
    (void)state;
    oci_mem *mem;
    oci_budget *budget = open_budget(&mem);
    oci_batch *batch = adopt_numbers(mem, 10000); /* large enough for the arena */
    oci_mem_close(mem);
    oci_budget_destroy(budget);
    int64_t value;
    memcpy(&value, batch->columns[0].values + 9999 * 8, 8);
    assert_int_equal(value, 9999);
    oci_batch_release(batch);
}

static void a_batch_without_memory_can_be_adopted(void **state)
{
    (void)state;
    const char *columns[] = {"a=n"};
    oci_schema *schema = make_schema(columns, 1);
    oci_column *column = calloc(1, sizeof *column);
    oci_batch *batch;
    *column = (oci_column){.field = &schema->fields[0], .length = 5, .null_count = 5};
    assert_int_equal(oci_batch_adopt(schema, 5, column, NULL, NULL, 0, NULL, 0, &batch, NULL),
                     OC_OK);
    assert_int_equal(batch->bytes, 0);
    oci_schema_release(schema);
    oci_batch_release(batch);
    oci_batch_release(NULL);
}

/* Whether the bitmap tells all nulls of a column. */
static bool has_own_nulls(const oci_column *column)
{
    return column->dictionary == NULL && column->field->union_ids == NULL &&
           column->field->type != OCI_TYPE_RUN_END_ENCODED;
}

/* A slice has the values and nulls of the rows it stands for, slices of slices too. */
static void check_slices(oci_batch *whole)
{
    for (int64_t start = 0; start <= 17; start++) {
        oci_batch *slice, *inner;
        assert_int_equal(oci_batch_slice(whole, start, 40, &slice, NULL), OC_OK);
        assert_int_equal(oci_batch_slice(slice, 3, 11, &inner, NULL), OC_OK);
        oci_batch_release(slice);
        assert_int_equal(inner->length, 11);
        assert_ptr_equal(inner->parent, whole); /* chains do not grow */
        assert_int_equal(oci_batch_validate(inner, NULL), OC_OK);
        for (int32_t c = 0; c < whole->schema->n_fields; c++) {
            const oci_column *column = &inner->columns[c];
            int64_t nulls = 0;
            assert_int_equal(column->length, 11);
            for (int64_t row = 0; row < 11; row++) {
                assert_true(oci_value_equal(column, row, &whole->columns[c], start + 3 + row));
                assert_int_equal(oci_column_is_null(column, row),
                                 oci_column_is_null(&whole->columns[c], start + 3 + row));
                nulls += oci_column_is_null(column, row);
            }
            if (has_own_nulls(column)) {
                assert_int_equal(oci_column_null_count(column), nulls);
            }
        }
        oci_batch_release(inner);
    }
}

static void held_bytes_are_those_of_all_that_is_kept(void **state)
{
    (void)state;
    oci_mem *mem;
    oci_budget *budget = open_budget(&mem);
    oci_batch *whole = adopt_numbers(mem, 100);
    oci_batch *owner = adopt_numbers(mem, 500);
    oci_batch *first, *second, *batch;
    assert_int_equal(oci_batch_slice(whole, 0, 10, &first, NULL), OC_OK);
    assert_int_equal(oci_batch_slice(whole, 10, 10, &second, NULL), OC_OK);
    assert_int_equal(oci_batch_held_bytes(first, NULL), whole->bytes);
    assert_int_equal(oci_batch_held_bytes(second, first), 0); /* both keep the same */

    assert_int_equal(oci_batch_without_columns(3, NULL, NULL, 0, &batch, NULL), OC_OK);
    assert_int_equal(oci_batch_keep(batch, oci_batch_retain(first), NULL), OC_OK);
    assert_int_equal(oci_batch_keep(batch, oci_batch_retain(owner), NULL), OC_OK);
    assert_int_equal(oci_batch_held_bytes(batch, NULL), whole->bytes + owner->bytes);
    assert_int_equal(oci_batch_held_bytes(batch, second), whole->bytes + owner->bytes);
    oci_batch_release(batch);
    oci_batch_release(first);
    oci_batch_release(second);
    oci_batch_release(whole);
    oci_batch_release(owner);
    assert_int_equal(oci_mem_held(mem), 0);
    oci_mem_close(mem);
    oci_budget_destroy(budget);
}

static void slices_show_the_rows_asked_for(void **state)
{
    (void)state;
    const arrow_maker maker = {
        .seed = 5, .length = 60, .null_percent = 25, .offset = 5, .garbage = true};
    oci_batch *flat = make_batch(arrow_maker_formats, arrow_maker_n_formats, &maker);
    oci_batch *nested =
        make_batch(arrow_maker_nested_formats, arrow_maker_n_nested_formats, &maker);
    check_slices(flat);
    check_slices(nested);
    oci_batch_release(flat);
    oci_batch_release(nested);
    assert_int_equal(arrow_maker_live(), 0);
}

static void slices_may_be_empty_or_whole(void **state)
{
    (void)state;
    const arrow_maker maker = {.seed = 5, .length = 10, .null_percent = 25};
    oci_batch *whole = make_column_batch("u", &maker), *slice;
    assert_int_equal(oci_batch_slice(whole, 10, 0, &slice, NULL), OC_OK);
    assert_int_equal(slice->length, 0);
    assert_int_equal(oci_column_null_count(&slice->columns[0]), 0);
    oci_batch_release(slice);
    assert_int_equal(oci_batch_slice(whole, 0, 10, &slice, NULL), OC_OK);
    assert_true(oci_batch_equal(whole, slice));
    oci_batch_release(slice);
    oci_batch_release(whole);
}

static void selected_columns_share_memory(void **state)
{
    (void)state;
    const char *columns[] = {"a=l", "b=vu", "c=c>u"};
    const arrow_maker maker = {.seed = 5, .length = 10, .null_percent = 25};
    oci_batch *whole = make_batch(columns, 3, &maker), *part;
    oci_schema *schema;
    const int32_t indices[] = {2, 1, 2};
    assert_int_equal(oci_schema_select(whole->schema, indices, 3, &schema, NULL), OC_OK);
    assert_int_equal(oci_batch_select(whole, schema, indices, &part, NULL), OC_OK);
    oci_schema_release(schema);
    assert_ptr_equal(part->columns[1].values, whole->columns[1].values);
    assert_string_equal(part->columns[0].field->name, "c");
    oci_batch_release(whole);
    assert_true(oci_value_equal(&part->columns[0], 7, &part->columns[2], 7));
    oci_batch_release(part);
    assert_int_equal(arrow_maker_live(), 0);
}

static void selecting_nothing_keeps_the_row_count(void **state)
{
    (void)state;
    const arrow_maker maker = {.seed = 5, .length = 10};
    oci_batch *whole = make_column_batch("l", &maker), *part;
    oci_schema *schema;
    assert_int_equal(oci_schema_select(whole->schema, NULL, 0, &schema, NULL), OC_OK);
    assert_int_equal(oci_batch_select(whole, schema, NULL, &part, NULL), OC_OK);
    assert_int_equal(part->length, 10);
    oci_schema_release(schema);
    oci_batch_release(part);
    oci_batch_release(whole);
}

/* Fields below a column are those of its schema, also when only names differ. */
static void shared_columns_have_the_labels_of_their_schema(void **state)
{
    (void)state;
    const char *columns[] = {"a=l", "s=+s(x=i; y=+l(c>u))"};
    const arrow_maker maker = {.seed = 5, .length = 30, .null_percent = 25};
    oci_batch *whole = make_batch(columns, 2, &maker), *part, *slice;
    oci_schema *schema;
    const int32_t indices[] = {1};
    assert_int_equal(oci_schema_select(whole->schema, indices, 1, &schema, NULL), OC_OK);
    assert_int_equal(oci_batch_select(whole, schema, indices, &part, NULL), OC_OK);
    assert_int_equal(oci_batch_slice(part, 10, 15, &slice, NULL), OC_OK);
    oci_batch_release(part); /* the slice keeps the structs of what lies below */
    const oci_column *lists = &slice->columns[0].children[1];
    assert_ptr_equal(lists->field, &schema->fields[0].children[1]);
    assert_ptr_equal(lists->children[0].dictionary->field,
                     schema->fields[0].children[1].children[0].dictionary);
    for (int64_t row = 0; row < 15; row++) {
        assert_true(oci_value_equal(&slice->columns[0], row, &whole->columns[1], 10 + row));
    }
    oci_schema_release(schema);
    oci_batch_release(whole);
    oci_batch_release(slice);
    assert_int_equal(arrow_maker_live(), 0);
}

static void nested_batches_are_equal_by_values(void **state)
{
    (void)state;
    arrow_maker plain = {.seed = 5, .length = 50, .null_percent = 20};
    arrow_maker wild = {.seed = 5,
                        .length = 50,
                        .null_percent = 20,
                        .offset = 3,
                        .struct_offset = 2,
                        .garbage = true,
                        .unaligned = true};
    arrow_maker other = {.seed = 6, .length = 50, .null_percent = 20};
    for (int32_t i = 0; i < arrow_maker_n_nested_formats; i++) {
        oci_batch *a = make_column_batch(arrow_maker_nested_formats[i], &plain);
        oci_batch *b = make_column_batch(arrow_maker_nested_formats[i], &wild);
        oci_batch *c = make_column_batch(arrow_maker_nested_formats[i], &other);
        assert_true(oci_batch_equal(a, b));
        bool has_one_value = oci_batch_equal(a, c); /* no columns, only nulls, no elements */
        for (int64_t row = 0; row < 50; row++) {
            uint64_t hash = oci_value_hash(&a->columns[0], row, 3);
            assert_int_equal(hash, oci_value_hash(&b->columns[0], row, 3));
            assert_int_equal(oci_value_equal(&a->columns[0], row, &c->columns[0], row),
                             hash == oci_value_hash(&c->columns[0], row, 3));
        }
        assert_true(!has_one_value ||
                    strstr("+s() +w:0(i) +r(i; n)", arrow_maker_nested_formats[i]) != NULL);
        oci_batch_release(a);
        oci_batch_release(b);
        oci_batch_release(c);
    }
}

static void batches_are_equal_by_type_length_and_values(void **state)
{
    (void)state;
    arrow_maker maker = {.seed = 5, .length = 20, .null_percent = 10};
    oci_batch *a = make_column_batch("l", &maker), *b = make_column_batch("L", &maker);
    oci_batch *longer, *other;
    maker.length = 21;
    longer = make_column_batch("l", &maker);
    maker.length = 20;
    maker.seed = 6;
    other = make_column_batch("l", &maker);
    assert_true(oci_batch_equal(a, a));
    assert_false(oci_batch_equal(a, b));
    assert_false(oci_batch_equal(a, longer));
    assert_false(oci_batch_equal(a, other));
    oci_batch_release(a);
    oci_batch_release(b);
    oci_batch_release(longer);
    oci_batch_release(other);
}

static void *retain_and_release(void *arg)
{
    for (int i = 0; i < 20000; i++) {
        oci_batch *slice;
        if (oci_batch_slice(arg, 1, 2, &slice, NULL) == OC_OK) {
            oci_batch_release(slice);
        }
    }
    oci_batch_release(arg);
    return NULL;
}

static void references_are_counted_across_threads(void **state)
{
    (void)state;
    const arrow_maker maker = {.seed = 5, .length = 10};
    oci_batch *batch = make_column_batch("l", &maker);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        oci_batch *mine = oci_batch_retain(batch);
        assert_int_equal(pthread_create(&threads[i], NULL, retain_and_release, mine), 0);
    }
    oci_batch_release(batch);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(arrow_maker_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_adopted_slab_goes_back_with_the_last_reference),
        cmocka_unit_test(a_batch_may_outlive_account_and_budget),
        cmocka_unit_test(a_batch_without_memory_can_be_adopted),
        cmocka_unit_test(held_bytes_are_those_of_all_that_is_kept),
        cmocka_unit_test(slices_show_the_rows_asked_for),
        cmocka_unit_test(slices_may_be_empty_or_whole),
        cmocka_unit_test(selected_columns_share_memory),
        cmocka_unit_test(selecting_nothing_keeps_the_row_count),
        cmocka_unit_test(shared_columns_have_the_labels_of_their_schema),
        cmocka_unit_test(nested_batches_are_equal_by_values),
        cmocka_unit_test(batches_are_equal_by_type_length_and_values),
        cmocka_unit_test(references_are_counted_across_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
