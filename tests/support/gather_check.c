#include "support/gather_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/bits.h"

/* The next buffer must lie at *at; moves it behind the buffer and its padding, which must be zero.
 */
static void check_buffer(const uint8_t *buffer, int64_t size, const uint8_t **at)
{
    assert_ptr_equal(buffer, *at);
    *at += oci_round_up(size, 8);
    for (const uint8_t *pad = buffer + size; pad < *at; pad++) {
        assert_int_equal(*pad, 0);
    }
}

static void check_null_slot_is_zero(const oci_column *column, int64_t row)
{
    int64_t width = column->field->byte_width;
    int64_t start = 0;
    int64_t length = 0;
    switch (oci_field_layout(column->field)) {
    case OCI_LAYOUT_BITS: assert_false(oci_bit_get(column->values, row)); break;
    case OCI_LAYOUT_FIXED:
    case OCI_LAYOUT_DICTIONARY:
        for (int64_t i = 0; i < width; i++) {
            assert_int_equal(column->values[row * width + i], 0);
        }
        break;
    case OCI_LAYOUT_STRUCT:
    case OCI_LAYOUT_FIXED_LIST: break; /* children stay as they are */
    case OCI_LAYOUT_LIST32:
    case OCI_LAYOUT_LIST64:
        oci_column_list_at(column, row, &start, &length);
        assert_int_equal(length, 0);
        break;
    default: (void)oci_column_bytes_at(column, row, &length); assert_int_equal(length, 0);
    }
}

static void check_nulls(const oci_column *column, const uint8_t **at)
{
    int64_t nulls = 0;
    if (column->validity == NULL) {
        assert_int_equal(column->null_count, 0);
        return;
    }
    int64_t bytes = oci_bytes_for_bits(column->length);
    check_buffer(column->validity, bytes, at);
    for (int64_t i = 0; i < column->length; i++) {
        if (!oci_bit_get(column->validity, i)) {
            nulls++;
            check_null_slot_is_zero(column, i);
        }
    }
    for (int64_t i = column->length; i < bytes * 8; i++) {
        assert_false(oci_bit_get(column->validity, i));
    }
    assert_true(nulls > 0);
    assert_int_equal(column->null_count, nulls);
}

static void check_offsets(const oci_column *column, int64_t width, const uint8_t **at)
{
    int64_t length = 0;
    int64_t total = 0;
    check_buffer(column->values, (column->length + 1) * width, at);
    for (int64_t i = 0; i < column->length; i++) {
        assert_ptr_equal(oci_column_bytes_at(column, i, &length), column->bytes + total);
        total += length;
    }
    check_buffer(column->bytes, total, at);
}

static void check_list_offsets(const oci_column *column, int64_t width, const uint8_t **at)
{
    int64_t start = 0;
    int64_t length = 0;
    int64_t total = 0;
    check_buffer(column->values, (column->length + 1) * width, at);
    for (int64_t i = 0; i < column->length; i++) {
        oci_column_list_at(column, i, &start, &length);
        assert_int_equal(start, total);
        total += length;
    }
    assert_int_equal(column->children[0].length, total);
}

/* Rows of each child count up, and none is left over. */
static void check_child_offsets(const oci_column *column, const uint8_t **at)
{
    int64_t counts[128] = {0};
    check_buffer(column->values, column->length, at);
    check_buffer(column->child_offsets, column->length * 4, at);
    for (int64_t i = 0; i < column->length; i++) {
        int64_t row = -1;
        int32_t child = oci_column_union_at(column, i, &row);
        assert_int_equal(row, counts[child]++);
    }
    for (int32_t c = 0; c < column->field->n_children; c++) {
        assert_int_equal(column->children[c].length, counts[c]);
    }
}

static void check_buffers(const oci_column *column, const uint8_t **at)
{
    int64_t width = column->field->byte_width;
    int64_t child_length = column->length;
    switch (oci_field_layout(column->field)) {
    case OCI_LAYOUT_BITS:
        check_buffer(column->values, oci_bytes_for_bits(column->length), at);
        break;
    case OCI_LAYOUT_FIXED:
    case OCI_LAYOUT_DICTIONARY: check_buffer(column->values, column->length * width, at); break;
    case OCI_LAYOUT_OFFSETS32: check_offsets(column, 4, at); break;
    case OCI_LAYOUT_OFFSETS64: check_offsets(column, 8, at); break;
    case OCI_LAYOUT_LIST32: check_list_offsets(column, 4, at); return;
    case OCI_LAYOUT_LIST64: check_list_offsets(column, 8, at); return;
    case OCI_LAYOUT_DENSE_UNION: check_child_offsets(column, at); return;
    case OCI_LAYOUT_SPARSE_UNION: check_buffer(column->values, column->length, at); break;
    case OCI_LAYOUT_FIXED_LIST: child_length *= column->field->list_size; break;
    case OCI_LAYOUT_STRUCT: break;
    default: fail_msg("not a working layout");
    }
    for (int32_t c = 0; c < column->field->n_children; c++) {
        assert_int_equal(column->children[c].length, child_length);
    }
}

/* A column and its children, depth first. */
static void check_column(const oci_column *column, const uint8_t **at)
{
    assert_int_equal(column->offset, 0);
    if (column->field->type == OCI_TYPE_NULL) {
        assert_int_equal(column->null_count, column->length);
        assert_null(column->validity);
        return;
    }
    check_nulls(column, at);
    check_buffers(column, at);
    for (int32_t c = 0; c < column->field->n_children; c++) {
        assert_ptr_equal(column->children[c].field, &column->field->children[c]);
        check_column(&column->children[c], at);
    }
}

/* All values used, in order of first use, distinct and none null. */
static void check_dictionary(const oci_column *column)
{
    const oci_column *values = column->dictionary;
    int64_t used = 0;
    for (int64_t i = 0; i < column->length; i++) {
        bool is_null = column->validity != NULL && !oci_bit_get(column->validity, i);
        if (!is_null) {
            int64_t index = oci_column_index_at(column, i);
            assert_true(index <= used);
            used += index == used;
        }
    }
    assert_int_equal(values->length, used);
    for (int64_t i = 0; i < used; i++) {
        assert_false(values->field->union_ids == NULL && oci_column_is_null(values, i));
        for (int64_t j = 0; j < i && used <= 300; j++) {
            assert_false(oci_value_equal(values, i, values, j));
        }
    }
}

/* The dictionaries of a column and of all below it, behind all columns. */
static bool check_dictionaries(const oci_column *column, const uint8_t **at)
{
    bool any = column->dictionary != NULL;
    if (any) {
        assert_ptr_equal(column->dictionary->field, column->field->dictionary);
        check_column(column->dictionary, at);
        check_dictionary(column);
        check_dictionaries(column->dictionary, at);
    }
    for (int32_t c = 0; c < column->field->n_children; c++) {
        any |= check_dictionaries(&column->children[c], at);
    }
    return any;
}

void check_gathered_form(const oci_batch *batch, int64_t head_bytes)
{
    const uint8_t *body = (const uint8_t *)batch->slab + oci_round_up(head_bytes, 64);
    const uint8_t *at = body;
    bool any_dictionary = false;
    for (int32_t c = 0; c < batch->schema->n_fields; c++) {
        assert_int_equal(batch->columns[c].length, batch->length);
        assert_ptr_equal(batch->columns[c].field, &batch->schema->fields[c]);
        check_column(&batch->columns[c], &at);
    }
    int64_t body_bytes = at - body;
    for (int32_t c = 0; c < batch->schema->n_fields; c++) {
        any_dictionary |= check_dictionaries(&batch->columns[c], &at);
    }
    assert_int_equal(batch->body_bytes, any_dictionary ? -1 : body_bytes);
    assert_int_equal(batch->head_bytes, any_dictionary ? 0 : oci_round_up(head_bytes, 64));
    const uint8_t *end = (const uint8_t *)batch->slab + batch->slab_bytes;
    assert_true(at <= end && end - at <= 64);
    for (; at < end; at++) {
        assert_int_equal(*at, 0);
    }
    assert_int_equal(oci_batch_validate(batch, NULL), OC_OK);
}

void check_gathered_values(const oci_batch *batch, const oci_batch *const *sources,
                           const oci_row_ref *rows, int64_t n)
{
    assert_int_equal(batch->length, n);
    for (int32_t c = 0; c < batch->schema->n_fields; c++) {
        for (int64_t i = 0; i < n; i++) {
            const oci_column *from = &sources[rows[i].source]->columns[c];
            if (!oci_value_equal(&batch->columns[c], i, from, rows[i].row)) {
                fail_msg("column %d (type %s), row %lld: not row %u of source %u", c,
                         oci_type_name(from->field->type), (long long)i, rows[i].row,
                         rows[i].source);
            }
        }
    }
}

void check_same_slabs(const oci_batch *a, int64_t head_a, const oci_batch *b, int64_t head_b)
{
    int64_t size = a->slab_bytes - oci_round_up(head_a, 64);
    assert_int_equal(size, b->slab_bytes - oci_round_up(head_b, 64));
    assert_memory_equal((const uint8_t *)a->slab + oci_round_up(head_a, 64),
                        (const uint8_t *)b->slab + oci_round_up(head_b, 64), (size_t)size);
}

/* ---- random cases ---------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

int64_t random_below(uint64_t *state, int64_t n)
{
    return (int64_t)(next_random(state) % (uint64_t)n);
}

arrow_maker random_maker(uint64_t *state, int64_t length)
{
    static const int32_t null_percents[] = {0, 1, 30, 100};
    uint64_t bits = next_random(state);
    return (arrow_maker){
        .seed = next_random(state) % 3,
        .first_row = random_below(state, 1000),
        .length = length,
        .null_percent = null_percents[random_below(state, 4)],
        .distinct = bits & 1 ? 0 : 5,
        .string_max = bits & 2 ? 0 : 90,
        .offset = bits & 4 ? random_below(state, 70) : 0,
        .struct_offset = bits & 8 ? random_below(state, 70) : 0,
        .garbage = bits & 16,
        .unaligned = bits & 32,
        .hide_null_count = bits & 64,
        .always_validity = bits & 128,
    };
}

int64_t pick_random_rows(uint64_t *state, const oci_batch *const *sources, int64_t n_sources,
                         int64_t n, oci_row_ref *rows)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t s = random_below(state, n_sources);
        while (sources[s] == NULL || sources[s]->length == 0) {
            s = (s + 1) % n_sources;
        }
        rows[i] = (oci_row_ref){.source = (uint32_t)s,
                                .row = (uint32_t)random_below(state, sources[s]->length)};
    }
    return n;
}

oci_schema *working_schema(const oci_batch *batch)
{
    oci_schema *working = NULL;
    assert_int_equal(oci_schema_working(batch->schema, &working, NULL), OC_OK);
    return working;
}

oci_batch *gather_and_check(oci_mem *mem, oci_schema *schema, const oci_batch *const *sources,
                            const oci_row_ref *rows, int64_t n, int64_t head_bytes)
{
    oc_error err = {0};
    oci_batch *out = NULL;
    int64_t n_fit = -1;
    int64_t bytes = -1;
    if (oci_gather_fit(schema, sources, rows, n, INT64_MAX, mem, &n_fit, &bytes, &err) != OC_OK ||
        oci_gather(schema, sources, rows, n, head_bytes, mem, NULL, &out, &err) != OC_OK) {
        fail_msg("gather failed: %s", err.message);
    }
    check_gathered_values(out, sources, rows, n);
    check_gathered_form(out, head_bytes);
    assert_int_equal(n_fit, n);
    assert_int_equal(out->slab_bytes, bytes + oci_round_up(head_bytes, 64));
    return out;
}

void check_range(oci_mem *mem, oci_schema *schema, const oci_batch *source, int64_t start,
                 int64_t n)
{
    oci_row_ref rows[3000];
    oci_batch *range = NULL;
    int64_t n_fit = -1;
    int64_t bytes = -1;
    for (int64_t i = 0; i < n; i++) {
        rows[i] = (oci_row_ref){.source = 0, .row = (uint32_t)(start + i)};
    }
    oci_batch *picked = gather_and_check(mem, schema, &source, rows, n, 0);
    assert_int_equal(oci_gather_range(schema, source, start, n, 70, mem, NULL, &range, NULL),
                     OC_OK);
    check_gathered_form(range, 70);
    check_same_slabs(picked, 0, range, 70);
    assert_int_equal(
        oci_gather_range_fit(schema, source, start, n, INT64_MAX, mem, &n_fit, &bytes, NULL),
        OC_OK);
    assert_int_equal(n_fit, n);
    assert_int_equal(bytes, picked->slab_bytes);
    oci_batch_release(range);
    oci_batch_release(picked);
}
