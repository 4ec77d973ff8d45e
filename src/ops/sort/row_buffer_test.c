/* Unit tests of the row buffer: its order against plain memcmp of whole keys, over keys with deep
 * common prefixes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ops/sort/row_buffer.h"
#include "support/arrow_maker.h"

#define MIB ((int64_t)1 << 20)

typedef struct fixture {
    oci_budget *budget;
    oci_mem *mem;
    oci_row_buffer *buffer;
    oci_sort_key keys[2];
} fixture;

static void set_up(fixture *f, int64_t limit, int32_t n_keys)
{
    memset(f, 0, sizeof *f);
    assert_int_equal(oci_budget_create(limit, NULL, &f->budget, NULL), OC_OK);
    assert_int_equal(oci_mem_open(f->budget, "test", &f->mem, NULL), OC_OK);
    f->keys[1] = (oci_sort_key){.column = 1, .descending = true};
    assert_int_equal(oci_row_buffer_create(f->keys, n_keys, f->mem, &f->buffer, NULL), OC_OK);
}

static void tear_down(fixture *f)
{
    oci_row_buffer_destroy(f->buffer);
    assert_int_equal(oci_budget_used(f->budget), 0);
    oci_mem_close(f->mem);
    oci_budget_destroy(f->budget);
}

/* A batch with one utf8 column, made in memory of the fixture. */
static oci_batch *make_strings(fixture *f, char **strings, int64_t n)
{
    oci_field *field = calloc(1, sizeof *field);
    oci_schema *schema;
    assert_int_equal(oci_field_init(field, "s", OCI_TYPE_UTF8, true, NULL), OC_OK);
    assert_int_equal(oci_schema_create(field, 1, NULL, 0, &schema, NULL), OC_OK);
    int64_t bytes = (n + 1) * 4;
    for (int64_t i = 0; i < n; i++) {
        bytes += (int64_t)strlen(strings[i]);
    }
    void *slab;
    assert_int_equal(oci_mem_try_alloc(f->mem, bytes, &slab, NULL), OC_OK);
    int32_t *offsets = slab;
    uint8_t *text = (uint8_t *)slab + (n + 1) * 4;
    offsets[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        size_t length = strlen(strings[i]);
        memcpy(text + offsets[i], strings[i], length);
        offsets[i + 1] = offsets[i] + (int32_t)length;
    }
    oci_column *column = calloc(1, sizeof *column);
    *column = (oci_column){.field = &schema->fields[0], .length = n, .values = slab, .bytes = text};
    oci_batch *batch;
    assert_int_equal(oci_batch_adopt(schema, n, column, f->mem, slab, bytes, NULL, 0, &batch, NULL),
                     OC_OK);
    oci_schema_release(schema);
    return batch;
}

/* Rows are in key order, equal keys by ordinal, and every row is there once. */
static void check_order(const fixture *f)
{
    int64_t rows = oci_row_buffer_rows(f->buffer);
    oci_row_ref *refs = calloc((size_t)rows + 1, sizeof *refs);
    oci_row_buffer_refs(f->buffer, 0, rows, refs);
    for (int64_t i = 1; i < rows; i++) {
        int64_t a_size;
        int64_t b_size;
        const uint8_t *a = oci_row_buffer_key(f->buffer, i - 1, &a_size);
        const uint8_t *b = oci_row_buffer_key(f->buffer, i, &b_size);
        int order = memcmp(a, b, (size_t)(a_size < b_size ? a_size : b_size));
        order = order != 0 ? order : (a_size > b_size) - (a_size < b_size);
        bool in_input_order =
            refs[i - 1].source < refs[i].source ||
            (refs[i - 1].source == refs[i].source && refs[i - 1].row < refs[i].row);
        assert_true(order < 0 || (order == 0 && in_input_order));
    }
    free(refs);
}

static void sort_strings(char **strings, int64_t n, int64_t chunk_rows)
{
    fixture f;
    set_up(&f, 64 * MIB, 1);
    for (int64_t start = 0; start < n; start += chunk_rows) {
        int64_t length = n - start < chunk_rows ? n - start : chunk_rows;
        assert_int_equal(
            oci_row_buffer_add(f.buffer, make_strings(&f, strings + start, length), NULL), OC_OK);
    }
    assert_int_equal(oci_row_buffer_rows(f.buffer), n);
    assert_int_equal(oci_row_buffer_sort(f.buffer, NULL), OC_OK);
    check_order(&f);
    tear_down(&f);
}

/* Strings that share a prefix of `prefix` bytes and then differ in one of a few ways. */
static char **make_prefixed(int64_t n, size_t prefix)
{
    char **strings = calloc((size_t)n, sizeof *strings);
    uint64_t random = 12345;
    for (int64_t i = 0; i < n; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        strings[i] = calloc(1, prefix + 32);
        memset(strings[i], 'p', prefix);
        unsigned pick = (unsigned)(random >> 40);
        snprintf(strings[i] + prefix, 32, "%.*s%u", (int)(pick % 14), "qqqqqqqqqqqqqq", pick % 50);
    }
    return strings;
}

static void free_strings(char **strings, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        free(strings[i]);
    }
    free(strings);
}

static void ties_beyond_the_entry_are_ordered_by_the_whole_key(void **state)
{
    (void)state;
    static const size_t prefixes[] = {0, 1, 10, 11, 12, 13, 24, 100, 1000};
    for (size_t p = 0; p < sizeof prefixes / sizeof prefixes[0]; p++) {
        char **strings = make_prefixed(1500, prefixes[p]);
        sort_strings(strings, 1500, 1500);
        sort_strings(strings, 1500, 7);
        free_strings(strings, 1500);
    }
}

/* a, aa, aaa, ...: every level of refinement splits off a few rows only. */
static void keys_that_grow_by_one_byte_do_not_need_a_deep_stack(void **state)
{
    (void)state;
    int64_t n = 3000;
    char **strings = calloc((size_t)n, sizeof *strings);
    for (int64_t i = 0; i < n; i++) {
        size_t length = (size_t)((i * 7) % n);
        strings[i] = calloc(1, length + 1);
        memset(strings[i], 'a', length);
    }
    sort_strings(strings, n, 500);
    free_strings(strings, n);
}

static void equal_keys_keep_input_order(void **state)
{
    (void)state;
    char *same[600];
    for (int i = 0; i < 600; i++) {
        same[i] = (char *)"always the same and longer than an entry";
    }
    sort_strings(same, 600, 100);
}

static void fixed_keys_of_several_widths_are_ordered(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"a=i", "b=l"}, {"a=l", "b=l"}, {"a=d:15,2", "b=c"}, {"a=b", "b=g"}, {"a=w:20", "b=s"},
    };
    for (size_t p = 0; p < sizeof pairs / sizeof pairs[0]; p++) {
        fixture f;
        set_up(&f, 64 * MIB, 2);
        arrow_stream_maker maker = {
            .columns = pairs[p],
            .n_columns = 2,
            .maker = {.seed = p, .length = 300, .null_percent = 20, .distinct = 40},
            .n_batches = 10,
        };
        struct ArrowArrayStream c_stream;
        struct ArrowSchema c_schema;
        arrow_make_stream(&maker, &c_stream);
        assert_int_equal(c_stream.get_schema(&c_stream, &c_schema), 0);
        oci_schema *schema;
        assert_int_equal(oci_schema_import(&c_schema, &schema, NULL), OC_OK);
        c_schema.release(&c_schema);
        struct ArrowArray array;
        while (c_stream.get_next(&c_stream, &array) == 0 && array.release != NULL) {
            oci_batch *batch;
            assert_int_equal(oci_batch_import(&array, schema, &batch, NULL), OC_OK);
            assert_int_equal(oci_row_buffer_add(f.buffer, batch, NULL), OC_OK);
        }
        c_stream.release(&c_stream);
        assert_int_equal(oci_row_buffer_sort(f.buffer, NULL), OC_OK);
        assert_int_equal(oci_row_buffer_rows(f.buffer), 3000);
        check_order(&f);
        tear_down(&f);
        oci_schema_release(schema);
    }
}

/* Feeds the same batches to both buffers. */
static void add_to_both(fixture *a, fixture *b, const arrow_stream_maker *maker)
{
    struct ArrowArrayStream c_stream;
    struct ArrowSchema c_schema;
    oci_schema *schema;
    arrow_make_stream(maker, &c_stream);
    assert_int_equal(c_stream.get_schema(&c_stream, &c_schema), 0);
    assert_int_equal(oci_schema_import(&c_schema, &schema, NULL), OC_OK);
    c_schema.release(&c_schema);
    struct ArrowArray array;
    while (c_stream.get_next(&c_stream, &array) == 0 && array.release != NULL) {
        oci_batch *batch;
        oci_batch *copies[2];
        assert_int_equal(oci_batch_import(&array, schema, &batch, NULL), OC_OK);
        fixture *fixtures[] = {a, b};
        for (int i = 0; i < 2; i++) {
            /* Copies, since folding goes by what batches are charged. */
            assert_int_equal(oci_gather_range(schema, batch, 0, batch->length, 0, fixtures[i]->mem,
                                              NULL, &copies[i], NULL),
                             OC_OK);
            assert_int_equal(oci_row_buffer_add(fixtures[i]->buffer, copies[i], NULL), OC_OK);
        }
        oci_batch_release(batch);
    }
    c_stream.release(&c_stream);
    oci_schema_release(schema);
}

static void folding_does_not_change_the_result(void **state)
{
    (void)state;
    static const char *const columns[] = {"k=u", "x=l", "id=l", "d=d:15,2", "b=b"};
    static const int64_t fold_bytes[] = {150000, 400000, 1000000};
    for (size_t i = 0; i < 3; i++) {
        fixture plain;
        fixture folded;
        set_up(&plain, 64 * MIB, 1);
        set_up(&folded, 64 * MIB, 1);
        oci_row_buffer_set_fold(folded.buffer, fold_bytes[i]);
        arrow_stream_maker maker = {
            .columns = columns,
            .n_columns = 5,
            /* Few distinct keys, so that the order of equal ones shows; x and id tell rows apart.
             */
            .maker = {.seed = 3, .length = 4500, .null_percent = 10, .distinct = 300},
            .n_batches = 9,
        };
        add_to_both(&plain, &folded, &maker);
        assert_int_equal(oci_row_buffer_sort(plain.buffer, NULL), OC_OK);
        assert_int_equal(oci_row_buffer_sort(folded.buffer, NULL), OC_OK);
        int64_t rows = oci_row_buffer_rows(plain.buffer);
        assert_int_equal(oci_row_buffer_rows(folded.buffer), rows);
        int32_t n;
        const oci_batch *const *a = oci_row_buffer_sources(plain.buffer, &n);
        const oci_batch *const *b = oci_row_buffer_sources(folded.buffer, &n);
        int64_t moved = 0;
        for (int64_t row = 0; row < rows; row++) {
            oci_row_ref x;
            oci_row_ref y;
            oci_row_buffer_refs(plain.buffer, row, 1, &x);
            oci_row_buffer_refs(folded.buffer, row, 1, &y);
            moved += x.source != y.source || x.row != y.row;
            for (int32_t c = 0; c < 5; c++) {
                assert_true(oci_value_equal(&a[x.source]->columns[c], x.row,
                                            &b[y.source]->columns[c], y.row));
            }
        }
        assert_true(moved > 0); /* it did fold */
        tear_down(&plain);
        tear_down(&folded);
    }
}

static void folding_goes_without_where_memory_is_short(void **state)
{
    (void)state;
    static const char *const columns[] = {"k=u", "x=l", "id=l", "d=d:15,2", "b=b"};
    /* From too little for the copy to just enough. */
    for (int64_t limit = 3 * MIB; limit < 8 * MIB; limit += MIB / 2) {
        fixture plain;
        fixture folded;
        set_up(&plain, 64 * MIB, 1);
        set_up(&folded, limit, 1);
        oci_row_buffer_set_fold(folded.buffer, 400000);
        arrow_stream_maker maker = {
            .columns = columns,
            .n_columns = 5,
            .maker = {.seed = 4, .length = 5000, .distinct = 300},
            .n_batches = 5,
        };
        add_to_both(&plain, &folded, &maker);
        assert_int_equal(oci_row_buffer_sort(folded.buffer, NULL), OC_OK);
        check_order(&folded);
        tear_down(&plain);
        tear_down(&folded);
    }
}

static void a_refused_batch_changes_nothing(void **state)
{
    (void)state;
    fixture f;
    set_up(&f, 256 * 1024, 1);
    char **strings = make_prefixed(500, 40);
    int64_t added = 0;
    oc_status status = OC_OK;
    while (status == OC_OK) {
        int64_t left = oci_budget_free(f.budget);
        if (left < 128 * 1024) {
            break;
        }
        oci_batch *batch = make_strings(&f, strings, 500);
        status = oci_row_buffer_add(f.buffer, batch, NULL);
        if (status != OC_OK) {
            oci_batch_release(batch);
        } else {
            added += 500;
        }
    }
    /* Fill what is left, so that the next one must be refused. */
    oci_reservation rest = {0};
    assert_int_equal(oci_mem_try_reserve(f.mem, &rest, oci_budget_free(f.budget) - 30 * 1024, NULL),
                     OC_OK);
    oci_batch *batch = make_strings(&f, strings, 500);
    int64_t used = oci_budget_used(f.budget);
    assert_int_equal(oci_row_buffer_add(f.buffer, batch, NULL), OC_EBUDGET);
    assert_int_equal(oci_budget_used(f.budget), used);
    assert_int_equal(oci_row_buffer_rows(f.buffer), added);
    oci_batch_release(batch);
    /* Sorting needs no new grant. */
    assert_int_equal(
        oci_mem_try_reserve(f.mem, &rest, rest.bytes + oci_budget_free(f.budget), NULL), OC_OK);
    assert_int_equal(oci_row_buffer_sort(f.buffer, NULL), OC_OK);
    check_order(&f);
    oci_reservation_release(&rest);
    free_strings(strings, 500);
    tear_down(&f);
}

static void an_empty_buffer_can_be_sorted_and_cleared(void **state)
{
    (void)state;
    fixture f;
    set_up(&f, MIB, 1);
    assert_int_equal(oci_row_buffer_sort(f.buffer, NULL), OC_OK);
    oci_row_buffer_clear(f.buffer);
    oci_row_buffer_clear(f.buffer);
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ties_beyond_the_entry_are_ordered_by_the_whole_key),
        cmocka_unit_test(keys_that_grow_by_one_byte_do_not_need_a_deep_stack),
        cmocka_unit_test(equal_keys_keep_input_order),
        cmocka_unit_test(fixed_keys_of_several_widths_are_ordered),
        cmocka_unit_test(folding_does_not_change_the_result),
        cmocka_unit_test(folding_goes_without_where_memory_is_short),
        cmocka_unit_test(a_refused_batch_changes_nothing),
        cmocka_unit_test(an_empty_buffer_can_be_sorted_and_cleared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
