/* Packed columns: values of a column as a source for integer vectors.
 *
 * Without nulls a page is a strided copy. With nulls the rows of a page are found first: a cursor
 * stands at a word of the bitmap and knows how many valid rows lie before it, so that pages one
 * behind the other cost one look at each word; a page in front of the cursor (a sample, or the next
 * reading of the same values) begins from the start again, 64 rows a step. So nothing needs memory
 * that grows with the rows. */
#include <assert.h>

#include "base/bits.h"
#include "encoding/pack_internal.h"

/* ---- rows that are not null ------------------------------------------------------------------ */

static uint64_t validity_word(const oci_fixed_source *source, int64_t row)
{
    int count = (int)oci_min64(64, source->n_rows - row);
    return oci_bits_load(source->validity, source->offset + row, count);
}

void oci_fixed_rows(const oci_fixed_source *source, int64_t start, int64_t n, int64_t *rows)
{
    if (source->validity == NULL) {
        for (int64_t i = 0; i < n; i++) {
            rows[i] = start + i;
        }
        return;
    }
    int64_t row = source->cursor[0], before = source->cursor[1], found = 0;
    if (before > start) {
        row = before = 0;
    }
    while (found < n) {
        uint64_t word = validity_word(source, row);
        int64_t valid = __builtin_popcountll(word);
        if (before + valid > start + found) {
            source->cursor[0] = row;
            source->cursor[1] = before;
            for (int64_t skip = start + found - before; skip > 0; skip--) {
                word &= word - 1;
            }
            for (; word != 0 && found < n; word &= word - 1) {
                rows[found++] = row + __builtin_ctzll(word);
            }
        }
        before += valid;
        row += 64;
    }
}

/* ---- loads ----------------------------------------------------------------------------------- */

static uint64_t extended16(uint16_t value, bool is_signed)
{
    return is_signed ? (uint64_t)(int64_t)(int16_t)value : value;
}

static uint64_t extended32(uint32_t value, bool is_signed)
{
    return is_signed ? (uint64_t)(int64_t)(int32_t)value : value;
}

static void load_rows(const oci_fixed_source *source, const int64_t *rows, int64_t n, uint64_t *out)
{
    const uint8_t *values = source->values;
    int64_t stride = source->stride;
    bool is_signed = source->is_signed;
    switch (source->load) {
    case 1:
        for (int64_t i = 0; i < n; i++) {
            uint8_t value = values[rows[i] * stride];
            out[i] = is_signed ? (uint64_t)(int64_t)(int8_t)value : value;
        }
        break;
    case 2:
        for (int64_t i = 0; i < n; i++) {
            out[i] = extended16(oci_load_le16(values + rows[i] * stride), is_signed);
        }
        break;
    case 4:
        for (int64_t i = 0; i < n; i++) {
            out[i] = extended32(oci_load_le32(values + rows[i] * stride), is_signed);
        }
        break;
    default:
        for (int64_t i = 0; i < n; i++) {
            out[i] = oci_load_le64(values + rows[i] * stride);
        }
        break;
    }
}

static void valid_page(const void *arg, int64_t start, int64_t n, uint64_t *out)
{
    const oci_fixed_source *source = arg;
    int64_t rows[OCI_PAGE_VALUES];
    oci_fixed_rows(source, source->first + start, n, rows);
    load_rows(source, rows, n, out);
}

static void word_page(const void *arg, int64_t start, int64_t n, uint64_t *out)
{
    const oci_fixed_source *source = arg;
    const uint8_t *from = source->values + (source->first + start) * source->stride;
    if (source->stride == 16) { /* the usual one gets a stride that the compiler knows */
        for (int64_t i = 0; i < n; i++) {
            out[i] = oci_load_le64(from + i * 16);
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        out[i] = oci_load_le64(from + i * source->stride);
    }
}

static void byte_page(const void *arg, int64_t start, int64_t n, uint64_t *out)
{
    const oci_fixed_source *source = arg;
    const uint8_t *from = source->values + (source->first + start) * source->stride;
    if (source->stride == 8) {
        for (int64_t i = 0; i < n; i++) {
            out[i] = from[i * 8];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        out[i] = from[i * source->stride];
    }
}

oci_int_source oci_fixed_ints(oci_fixed_source *source, int64_t n)
{
    if (source->validity != NULL) {
        return (oci_int_source){.page = valid_page, .arg = source, .n = n};
    }
    if (source->stride == source->load) {
        source->array = (oci_int_array){.values = source->values + source->first * source->stride,
                                        .width = source->load,
                                        .is_signed = source->is_signed};
        return oci_int_array_source(&source->array, n);
    }
    assert(source->load == 8 || source->load == 1);
    return (oci_int_source){
        .page = source->load == 8 ? word_page : byte_page, .arg = source, .n = n};
}
