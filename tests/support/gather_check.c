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
    int64_t length = 0;
    switch (oci_field_layout(column->field)) {
    case OCI_LAYOUT_BITS: assert_false(oci_bit_get(column->values, row)); break;
    case OCI_LAYOUT_FIXED:
    case OCI_LAYOUT_DICTIONARY:
        for (int64_t i = 0; i < width; i++) {
            assert_int_equal(column->values[row * width + i], 0);
        }
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

static void check_column(const oci_column *column, const uint8_t **at)
{
    assert_int_equal(column->offset, 0);
    if (column->field->type == OCI_TYPE_NULL) {
        assert_int_equal(column->null_count, column->length);
        assert_null(column->validity);
        return;
    }
    check_nulls(column, at);
    switch (oci_field_layout(column->field)) {
    case OCI_LAYOUT_BITS:
        check_buffer(column->values, oci_bytes_for_bits(column->length), at);
        break;
    case OCI_LAYOUT_FIXED:
    case OCI_LAYOUT_DICTIONARY:
        check_buffer(column->values, column->length * column->field->byte_width, at);
        break;
    case OCI_LAYOUT_OFFSETS32: check_offsets(column, 4, at); break;
    case OCI_LAYOUT_OFFSETS64: check_offsets(column, 8, at); break;
    default: fail_msg("not a working layout");
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
        assert_false(oci_column_is_null(values, i));
        for (int64_t j = 0; j < i && used <= 300; j++) {
            assert_false(oci_value_equal(values, i, values, j));
        }
    }
}

void check_gathered_form(const oci_batch *batch, int64_t head_bytes)
{
    const uint8_t *at = (const uint8_t *)batch->slab + oci_round_up(head_bytes, 64);
    for (int32_t c = 0; c < batch->schema->n_fields; c++) {
        assert_int_equal(batch->columns[c].length, batch->length);
        assert_ptr_equal(batch->columns[c].field, &batch->schema->fields[c]);
        check_column(&batch->columns[c], &at);
    }
    for (int32_t c = 0; c < batch->schema->n_fields; c++) {
        const oci_column *column = &batch->columns[c];
        for (; column->field->type == OCI_TYPE_DICTIONARY; column = column->dictionary) {
            assert_ptr_equal(column->dictionary->field, column->field->dictionary);
            check_column(column->dictionary, &at);
            check_dictionary(column);
        }
    }
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
