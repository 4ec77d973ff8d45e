/* libFuzzer target: a schema and an array as a producer could hand them in through the C data
 * interface, sound or damaged (tests/support/fuzz_array.h).
 *
 * What is refused has to be let go of. What is taken is copied into the working form, turned back,
 * handed out and taken in again: the values must stay the same all the way. Keys are made where
 * every column has an order. Nothing may be held in the end. The first byte chooses how rows are
 * checked and copied. */
#include <stdbool.h>
#include <stdlib.h>

#include "arrow/gather.h"
#include "arrow/row_key.h"
#include "support/fuzz_array.h"

#define LIMIT (INT64_C(16) << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

typedef oc_status (*check)(const oci_batch *batch, oc_error *err);

/* Half of the batches are checked only as far as their rows go: nothing else may be read then. */
static check check_of(uint8_t choice)
{
    return choice >= 128 ? oci_batch_validate_rows : oci_batch_validate;
}

/* Rows [start, start + n) in working form, by ranges or row by row. */
static oci_batch *copy_rows(oci_schema *working, const oci_batch *batch, int64_t start, int64_t n,
                            bool by_rows, oci_mem *mem)
{
    oci_batch *out = NULL;
    if (!by_rows) {
        require(oci_gather_range(working, batch, start, n, 0, mem, NULL, &out, NULL) == OC_OK);
        return out;
    }
    oci_row_ref rows[64];
    for (int64_t i = 0; i < n; i++) {
        rows[i] = (oci_row_ref){.source = 0, .row = (uint32_t)(start + i)};
    }
    require(oci_gather(working, &batch, rows, n, 0, mem, NULL, &out, NULL) == OC_OK);
    return out;
}

static void check_round_trip(oci_batch *batch, oci_batch *slice, oci_batch *copy, check check_it,
                             oci_mem *mem)
{
    oci_batch *output = NULL;
    oci_batch *again = NULL;
    struct ArrowArray array = {.release = NULL};
    require(oci_batch_output(copy, batch->schema, mem, &output, NULL) == OC_OK);
    require(check_it(output, NULL) == OC_OK);
    require(oci_batch_equal(output, slice));
    require(oci_batch_export(output, batch->schema, mem, &array, NULL) == OC_OK);
    require(oci_batch_import(&array, batch->schema, &again, NULL) == OC_OK);
    require(oci_batch_equal(again, slice));
    oci_batch_release(again);
}

static void make_keys(const oci_batch *batch, oci_mem *mem)
{
    oci_row_keys keys = {.length = 0};
    for (int32_t i = 0; i < batch->schema->n_fields; i++) {
        oci_sort_key key = {.column = i, .descending = i % 2 == 1, .nulls_first = i % 3 == 1};
        int64_t bytes = 0;
        if (oci_row_key_check(batch->schema, &key, 1, NULL) == OC_OK) {
            require(oci_row_keys_size(batch, &key, 1, &bytes, NULL) == OC_OK);
            require(oci_row_keys_encode(batch, &key, 1, mem, NULL, &keys, NULL) == OC_OK);
            oci_row_keys_deinit(&keys);
        }
    }
}

static void use_batch(oci_batch *batch, uint8_t choice, oci_mem *mem)
{
    oci_schema *working = NULL;
    oci_batch *slice = NULL;
    int64_t start = batch->length > 0 ? choice / 2 % batch->length : 0;
    int64_t n = batch->length - start;
    int64_t fit = 0;
    require(oci_schema_working(batch->schema, &working, NULL) == OC_OK);
    require(oci_batch_slice(batch, start, n, &slice, NULL) == OC_OK);
    require(oci_gather_range_fit(working, batch, start, n, 1 << 10, mem, &fit, NULL, NULL) ==
            OC_OK);
    require(n == 0 || (fit > 0 && fit <= n));
    oci_batch *copy = copy_rows(working, batch, start, n, choice % 2 == 1, mem);
    check_round_trip(batch, slice, copy, check_of(choice), mem);
    make_keys(slice, mem);
    make_keys(copy, mem);
    oci_batch_release(copy);
    oci_batch_release(slice);
    oci_schema_release(working);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_bytes bytes = {.data = data, .size = size};
    uint8_t choice = fuzz_byte(&bytes);
    struct ArrowSchema c_schema;
    struct ArrowArray array;
    oci_budget *budget = NULL;
    oci_mem *mem = NULL;
    oci_schema *schema = NULL;
    oci_batch *batch = NULL;
    fuzz_make_batch(&bytes, &c_schema, &array);
    require(oci_budget_create(LIMIT, NULL, &budget, NULL) == OC_OK);
    require(oci_mem_open(budget, "fuzz", &mem, NULL) == OC_OK);
    if (oci_schema_import(&c_schema, &schema, NULL) == OC_OK) {
        if (oci_batch_import(&array, schema, &batch, NULL) == OC_OK &&
            check_of(choice)(batch, NULL) == OC_OK) {
            use_batch(batch, choice, mem);
        }
        oci_batch_release(batch);
        require(array.release == NULL);
    } else {
        array.release(&array);
    }
    c_schema.release(&c_schema);
    oci_schema_release(schema);
    require(oci_budget_used(budget) == 0);
    oci_mem_close(mem);
    oci_budget_destroy(budget);
    return 0;
}
