/* libFuzzer target: the order of encoded keys against the plain comparison of values.
 *
 * The bytes choose sort keys, types and two batches of these types (tests/support/column_maker.h).
 * memcmp of two keys has to say what tests/support/order_reference.h says of the rows, within a
 * batch and across the two, as in a merge; keys of equal rows have to be the same, and no other key
 * may be a prefix of one. The size that is told has to be the one that is used. */
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "support/column_maker.h"
#include "support/order_reference.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { COLUMNS_MAX = 3, KEYS_MAX = 3, ROWS_MAX = 10, DEPTH_MAX = 4 };

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

static oci_mem *open_account(void)
{
    static oci_mem *mem = NULL;
    if (mem == NULL) {
        oci_budget *budget = NULL;
        require(oci_budget_create(INT64_C(64) << 20, NULL, &budget, NULL) == OC_OK);
        require(oci_mem_open(budget, "fuzz", &mem, NULL) == OC_OK);
    }
    return mem;
}

static oci_row_keys encode(const oci_batch *batch, const oci_sort_key *keys, int32_t n_keys)
{
    oci_mem *mem = open_account();
    oci_row_keys out = {.length = 0};
    int64_t bytes = 0;
    int64_t before = oci_mem_held(mem);
    require(oci_row_keys_size(batch, keys, n_keys, &bytes, NULL) == OC_OK);
    require(oci_row_keys_encode(batch, keys, n_keys, mem, NULL, &out, NULL) == OC_OK);
    require(oci_mem_held(mem) - before == oci_mem_charge_of(bytes));
    return out;
}

static int sign_of(int value)
{
    return (value > 0) - (value < 0);
}

static void check_order(const oci_batch *a, const oci_row_keys *a_keys, const oci_batch *b,
                        const oci_row_keys *b_keys, const oci_sort_key *keys, int32_t n_keys)
{
    for (int64_t i = 0; i < a->length; i++) {
        for (int64_t j = 0; j < b->length; j++) {
            int64_t a_size, b_size;
            const uint8_t *a_key = oci_row_key_at(a_keys, i, &a_size);
            const uint8_t *b_key = oci_row_key_at(b_keys, j, &b_size);
            int order = memcmp(a_key, b_key, (size_t)oci_min64(a_size, b_size));
            require(order != 0 || a_size == b_size);
            require(sign_of(order) == sign_of(order_of_rows(a, i, b, j, keys, n_keys)));
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    made_choices choices = {.bytes = data, .size = (int64_t)size};
    oci_sort_key keys[KEYS_MAX];
    int32_t n_columns = 1 + choose(&choices, COLUMNS_MAX);
    int32_t n_keys = 1 + choose(&choices, KEYS_MAX);
    int32_t depth = choose(&choices, DEPTH_MAX + 1);
    for (int32_t k = 0; k < n_keys; k++) {
        int32_t bits = choose(&choices, 4);
        keys[k] = (oci_sort_key){.column = choose(&choices, n_columns),
                                 .descending = (bits & 1) != 0,
                                 .nulls_first = (bits & 2) != 0};
    }
    int32_t lengths[2] = {choose(&choices, ROWS_MAX + 1), choose(&choices, ROWS_MAX + 1)};
    oci_batch *a = choose_typed_batch(&choices, n_columns, depth, lengths[0]);
    oci_batch *b = choose_batch(&choices, a->schema, lengths[1]);
    require(oci_row_key_check(a->schema, keys, n_keys, NULL) == OC_OK);
    oci_row_keys a_keys = encode(a, keys, n_keys);
    oci_row_keys b_keys = encode(b, keys, n_keys);
    check_order(a, &a_keys, a, &a_keys, keys, n_keys);
    check_order(a, &a_keys, b, &b_keys, keys, n_keys);
    oci_row_keys_deinit(&a_keys);
    oci_row_keys_deinit(&b_keys);
    oci_batch_release(a);
    oci_batch_release(b);
    require(oci_mem_held(open_account()) == 0);
    return 0;
}
