/* Packed columns: values of fixed width.
 *
 * Integers of up to 8 bytes are one integer vector. Wide ones (decimals) are looked at as a whole
 * first: how many of their 64-bit words do more than repeat the sign? Mostly one, and then a 16-byte
 * decimal is an int64 from here on. What is left, floating point and wide values that are really
 * wide, is tried on a sample in each form: words (few distinct values, runs), byte planes (signs,
 * exponents and high digits repeat, the low bytes do not), plain. The winner is kept for some blocks.
 * A form that comes out larger than plain after all is replaced by plain.
 *
 * Of columns with nulls only the values of valid rows take part, whatever lies under the others. */
#include <assert.h>
#include <string.h>

#include "base/bits.h"
#include "encoding/pack_internal.h"

enum { SAMPLE_VALUES = 4 * OCI_PAGE_VALUES, BLOCKS_PER_LOOK = 16 };

/* The values of a column, from the first one that counts. */
typedef struct fixed_values {
    oci_fixed_source all; /* load and values still to be set */
    int width;
    bool is_float;
    int64_t n;
    int64_t cursor[2];
} fixed_values;

/* ---- wide values ----------------------------------------------------------------------------- */

/* Has bits of word `word` set that are no repetition of the sign of the word below. */
static uint64_t excess(const uint8_t *value, int word)
{
    uint64_t below = oci_load_le64(value + 8 * (word - 1));
    return oci_load_le64(value + 8 * word) + (below >> 63);
}

static void add_excess(const uint8_t *values, int64_t n, int width, uint64_t *sums)
{
    uint64_t one = 0, two = 0, three = 0;
    if (width == 16) {
        for (int64_t i = 0; i < n; i++) {
            one |= excess(values + i * 16, 1);
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            one |= excess(values + i * 32, 1);
            two |= excess(values + i * 32, 2);
            three |= excess(values + i * 32, 3);
        }
    }
    sums[1] |= one;
    sums[2] |= two;
    sums[3] |= three;
}

/* How many of its words a value needs at most, the others being all sign bits. */
static int words_needed(const fixed_values *values)
{
    const oci_fixed_source *all = &values->all;
    uint64_t sums[4] = {0};
    if (all->validity == NULL) {
        add_excess(all->values, values->n, values->width, sums);
    } else {
        int64_t rows[OCI_PAGE_VALUES];
        for (int64_t start = 0; start < values->n; start += OCI_PAGE_VALUES) {
            int64_t n = oci_min64(OCI_PAGE_VALUES, values->n - start);
            oci_fixed_rows(all, start, n, rows);
            for (int64_t i = 0; i < n; i++) {
                add_excess(all->values + rows[i] * values->width, 1, values->width, sums);
            }
        }
    }
    int words = values->width / 8;
    while (words > 1 && sums[words - 1] == 0) {
        words--;
    }
    return words;
}

/* ---- forms: each writes n values from number `first` on to `out` and tells the size ----------- */

static int64_t write_words(const fixed_values *values, int64_t first, int64_t n, int words,
                           oci_int_plan *plans, uint8_t *out)
{
    int64_t size = 0;
    for (int word = 0; word < words; word++) {
        oci_fixed_source source = values->all;
        source.values += 8 * word;
        source.first = first;
        oci_int_source ints = oci_fixed_ints(&source, n);
        size += oci_int_vector_encode(&ints, source.load, plans == NULL ? NULL : &plans[word],
                                      out + size);
    }
    return size;
}

static int64_t write_planes(const fixed_values *values, int64_t first, int64_t n,
                            oci_int_plan *plans, uint8_t *out)
{
    int64_t size = 0;
    for (int plane = 0; plane < values->width; plane++) {
        oci_fixed_source source = values->all;
        source.values += plane;
        source.load = 1;
        source.is_signed = false;
        source.first = first;
        oci_int_source ints = oci_fixed_ints(&source, n);
        bool planned = plans != NULL && plane < OCI_PLAN_NUMBERS;
        size += oci_int_vector_encode(&ints, 1, planned ? &plans[plane] : NULL, out + size);
    }
    return size;
}

static int64_t write_plain(const fixed_values *values, uint8_t *out)
{
    const oci_fixed_source *all = &values->all;
    int64_t width = values->width, size = values->n * width;
    if (all->validity == NULL) {
        memcpy(out, all->values, (size_t)size);
    } else {
        int64_t rows[OCI_PAGE_VALUES];
        for (int64_t start = 0; start < values->n; start += OCI_PAGE_VALUES) {
            int64_t n = oci_min64(OCI_PAGE_VALUES, values->n - start);
            oci_fixed_rows(all, start, n, rows);
            for (int64_t i = 0; i < n; i++) {
                memcpy(out + (start + i) * width, all->values + rows[i] * width, (size_t)width);
            }
        }
    }
    memset(out + size, 0, (size_t)(oci_round_up(size, OCI_PACK_ALIGN) - size));
    return oci_round_up(size, OCI_PACK_ALIGN);
}

/* ---- choice ---------------------------------------------------------------------------------- */

/* `out` has room for the whole column in any form, so for a sample too. */
static uint8_t find_kind(const fixed_values *values, int words, uint8_t *out)
{
    int64_t n = oci_min64(values->n, SAMPLE_VALUES);
    int64_t first = oci_round_down((values->n - n) / 2, OCI_PAGE_VALUES);
    int64_t plain = n * values->width;
    int64_t as_words = write_words(values, first, n, words, NULL, out);
    int64_t as_planes = write_planes(values, first, n, NULL, out);
    int64_t best = oci_min64(as_words, as_planes);
    if (best > plain - plain / 32) {
        return OCI_FIXED_PLAIN;
    }
    return as_words <= as_planes ? OCI_FIXED_WORDS : OCI_FIXED_PLANES;
}

static uint8_t choose_kind(const fixed_values *values, oci_pack_plan *plan, int words, uint8_t *out)
{
    bool is_integer = !values->is_float && (values->width <= 8 || words == 1);
    if (is_integer) {
        return OCI_FIXED_WORDS;
    }
    if (plan->blocks_left == 0) {
        uint8_t kind = find_kind(values, words, out);
        if (kind != plan->fixed_kind) { /* the plans were of other numbers */
            memset(plan->numbers, 0, sizeof plan->numbers);
        }
        plan->fixed_kind = kind;
        plan->blocks_left = BLOCKS_PER_LOOK;
    }
    plan->blocks_left--;
    return plan->fixed_kind;
}

static fixed_values values_of(const oci_column *column, int64_t n_valid)
{
    const oci_field *field = column->field;
    int width = field->byte_width;
    fixed_values values = {.width = width, .n = n_valid, .is_float = oci_field_is_float(field)};
    values.all = (oci_fixed_source){.values = column->values + column->offset * width,
                                    .stride = width,
                                    .load = width < 8 ? width : 8,
                                    .is_signed = !oci_field_is_unsigned(field),
                                    .n_rows = column->length};
    if (n_valid < column->length) {
        values.all.validity = column->validity;
        values.all.offset = column->offset;
    }
    return values;
}

void oci_pack_fixed(oci_pack_job *job, oci_pack_plan *plan, const oci_column *column,
                    int64_t n_valid, uint8_t *header)
{
    uint8_t *out = job->out->packed + job->out->packed_at;
    fixed_values values = values_of(column, n_valid);
    values.all.cursor = values.cursor;
    int words = values.width > 8 ? words_needed(&values) : 1;
    uint8_t kind = choose_kind(&values, plan, words, out);
    int64_t size = kind == OCI_FIXED_WORDS
                       ? write_words(&values, 0, values.n, words, plan->numbers, out)
                   : kind == OCI_FIXED_PLANES
                       ? write_planes(&values, 0, values.n, plan->numbers, out)
                       : INT64_MAX;
    if (size > oci_round_up(values.n * values.width, OCI_PACK_ALIGN)) {
        kind = OCI_FIXED_PLAIN;
        size = write_plain(&values, out);
    }
    header[1] = kind;
    header[2] = kind == OCI_FIXED_WORDS ? (uint8_t)words : 0;
    job->out->packed_at += size;
}
