#include "ops/sort/copy_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/batch_maker.h"

enum { ROWS = 3000 };

/* Less and less memory: fewer and fewer rows, then a refusal that names the budget. */
static void fewer_rows_are_copied_when_memory_is_short(void **state)
{
    (void)state;
    const arrow_maker maker = {.seed = 7, .length = ROWS, .null_percent = 10};
    oci_batch *batch = make_column_batch("+l(i>u)", &maker);
    const oci_batch *sources[] = {batch};
    oci_row_ref *rows = calloc(ROWS, sizeof *rows);
    for (uint32_t i = 0; i < ROWS; i++) {
        rows[i] = (oci_row_ref){0, (i * 7) % ROWS};
    }
    int64_t before = ROWS, n_cut = 0, n_refused = 0;
    for (int64_t limit = 1 << 20; limit > 1000; limit -= limit / 10) {
        oci_budget *budget;
        oci_mem *mem;
        oci_batch *out = NULL;
        oc_error err = {0};
        int64_t n = 0;
        assert_int_equal(oci_budget_create(limit, NULL, &budget, NULL), OC_OK);
        assert_int_equal(oci_mem_open(budget, "copy test", &mem, NULL), OC_OK);
        oc_status status =
            oci_copy_rows(batch->schema, sources, rows, ROWS, 1 << 20, 64, mem, &n, &out, &err);
        if (status == OC_OK) {
            assert_int_equal(err.status, OC_OK); /* nothing is left of refusals on the way */
            assert_int_equal(out->length, n);
            assert_in_range(n, 1, before);
            for (int64_t i = 0; i < n; i++) {
                assert_true(oci_value_equal(&out->columns[0], i, &batch->columns[0], rows[i].row));
            }
            n_cut += n < ROWS;
            before = n;
        } else {
            assert_int_equal(status, OC_EBUDGET);
            assert_true(err.message[0] != 0);
            assert_null(out);
            n_refused++;
        }
        oci_batch_release(out);
        assert_int_equal(oci_mem_held(mem), 0);
        oci_mem_close(mem);
        oci_budget_destroy(budget);
    }
    assert_true(n_cut > 0 && n_refused > 0);
    free(rows);
    oci_batch_release(batch);
}

static void rows_are_cut_to_the_bytes_wanted(void **state)
{
    (void)state;
    const arrow_maker maker = {.seed = 7, .length = ROWS};
    oci_batch *batch = make_column_batch("+l(l)", &maker), *out;
    const oci_batch *sources[] = {batch};
    oci_row_ref *rows = calloc(ROWS, sizeof *rows);
    oci_budget *budget;
    oci_mem *mem;
    int64_t n = 0;
    assert_int_equal(oci_budget_create(1 << 24, NULL, &budget, NULL), OC_OK);
    assert_int_equal(oci_mem_open(budget, "copy test", &mem, NULL), OC_OK);
    assert_int_equal(
        oci_copy_rows(batch->schema, sources, rows, ROWS, 4096, 0, mem, &n, &out, NULL), OC_OK);
    assert_in_range(n, 1, ROWS - 1);
    assert_true(out->slab_bytes <= 4096);
    oci_batch_release(out);
    oci_mem_close(mem);
    oci_budget_destroy(budget);
    free(rows);
    oci_batch_release(batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fewer_rows_are_copied_when_memory_is_short),
        cmocka_unit_test(rows_are_cut_to_the_bytes_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
