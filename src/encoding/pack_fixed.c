/* Packed columns: values of fixed width.
 *
 * Integers of up to 8 bytes are one integer vector. Wide ones (decimals) are looked at as a whole
 * first: how many of their 64-bit words do more than repeat the sign? Mostly one, and then a 16-byte
 * decimal is an int64 from here on. What is left, floating point and wide values that are really
 * wide, is tried on a sample in each form: words (few distinct values, runs), byte planes (signs,
 * exponents and high digits repeat; the low bytes do not and stay together), and floating point as
 * decimals (pack_scaled.c). The winner is kept for some blocks. What comes out larger than plain after
 * all is stored plain, which is all bytes being low ones.
 *
 * Of columns with nulls only the values of valid rows take part, whatever lies under the others. */
#include <assert.h>
#include <string.h>

#include "base/bits.h"
#include "encoding/pack_internal.h"

enum {
    SAMPLE_VALUES = 4 * OCI_PAGE_VALUES,
    BLOCKS_PER_LOOK = 16,
    LEAST_GAIN = 32 /* a form must save more than one part in so many of the one before */
};

/* The values of a column, from the first one that counts. */
typedef struct fixed_values {
    oci_fixed_source all; /* load and values still to be set */
    int width;
    bool is_float;
    oci_fixed_form plain; /* all bytes are low ones */
    int64_t n;
    int64_t room;
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

/* The low `bytes` of the values in some rows. Stores eight at a time, the last ones into the room that
 * is there for what follows. */
static void copy_low_bytes(const fixed_values *values, const int64_t *rows, int64_t n, int bytes,
                           uint8_t *to)
{
    const uint8_t *from = values->all.values;
    int64_t width = values->width;
    for (int64_t i = 0; i < n; i++) {
        const uint8_t *value = from + rows[i] * width;
        if (bytes > 8 || bytes == width || width < 4) {
            memcpy(to + i * bytes, value, (size_t)bytes);
        } else {
            uint64_t word = width >= 8 ? oci_load_le64(value) : oci_load_le32(value);
            oci_store_le64(to + i * bytes, word);
        }
    }
}

/* The low `bytes` bytes of each value, one value behind the other. */
static int64_t write_low_bytes(const fixed_values *values, int64_t first, int64_t n, int bytes,
                               uint8_t *out)
{
    const oci_fixed_source *all = &values->all;
    int64_t rows[OCI_PAGE_VALUES], size = n * bytes;
    if (bytes == values->width && all->validity == NULL) {
        memcpy(out, all->values + first * bytes, (size_t)size);
    } else if (bytes > 0) {
        for (int64_t start = 0; start < n; start += OCI_PAGE_VALUES) {
            int64_t count = oci_min64(OCI_PAGE_VALUES, n - start);
            oci_fixed_rows(all, first + start, count, rows);
            copy_low_bytes(values, rows, count, bytes, out + start * bytes);
        }
    }
    memset(out + size, 0, (size_t)(oci_round_up(size, OCI_PACK_ALIGN) - size));
    return oci_round_up(size, OCI_PACK_ALIGN);
}

static int64_t write_plane(const fixed_values *values, int64_t first, int64_t n, int plane,
                           oci_int_plan *plan, uint8_t *out)
{
    oci_fixed_source source = values->all;
    source.values += plane;
    source.load = 1;
    source.is_signed = false;
    source.first = first;
    oci_int_source ints = oci_fixed_ints(&source, n);
    return oci_int_vector_encode(&ints, 1, plan, out);
}

static int64_t write_planes(const fixed_values *values, int64_t first, int64_t n, int low_bytes,
                            oci_int_plan *plans, uint8_t *out)
{
    int64_t size = write_low_bytes(values, first, n, low_bytes, out);
    for (int plane = low_bytes; plane < values->width; plane++) {
        int number = plane - low_bytes;
        bool planned = plans != NULL && number < OCI_PLAN_NUMBERS;
        size += write_plane(values, first, n, plane, planned ? &plans[number] : NULL, out + size);
    }
    return size;
}

static int64_t write_scaled(const fixed_values *values, int64_t first, int64_t n, int exponent,
                            oci_int_plan *plan, uint8_t *out)
{
    oci_fixed_source source = values->all;
    source.first = first;
    oci_int_source bits = oci_fixed_ints(&source, n);
    return oci_write_scaled(&bits, exponent, values->width == 4, values->room, plan, out);
}

static int64_t write_form(const fixed_values *values, int64_t first, int64_t n, oci_fixed_form form,
                          oci_int_plan *plans, uint8_t *out)
{
    switch (form.kind) {
    case OCI_FIXED_WORDS: return write_words(values, first, n, form.part, plans, out);
    case OCI_FIXED_PLANES: return write_planes(values, first, n, form.part, plans, out);
    default: return write_scaled(values, first, n, form.part, plans, out);
    }
}

/* ---- choice ---------------------------------------------------------------------------------- */

/* Planes from the lowest on that are not worth a vector of their own. */
static int count_low_bytes(const fixed_values *values, int64_t first, int64_t n, uint8_t *out)
{
    int bytes = 0;
    while (bytes < values->width &&
           write_plane(values, first, n, bytes, NULL, out) > n - n / LEAST_GAIN) {
        bytes++;
    }
    return bytes;
}

/* `out` has room for the whole column in any form, so for a sample too. */
static oci_fixed_form find_form(const fixed_values *values, int words, uint8_t *out)
{
    int64_t n = oci_min64(values->n, SAMPLE_VALUES);
    int64_t first = oci_round_down((values->n - n) / 2, OCI_PAGE_VALUES);
    oci_fixed_form forms[] = {
        {.kind = OCI_FIXED_WORDS, .part = (uint8_t)words},
        {.kind = OCI_FIXED_PLANES, .part = (uint8_t)count_low_bytes(values, first, n, out)},
        {.kind = OCI_FIXED_SCALED}};
    int n_forms = 2;
    if (values->is_float && values->width > 2) {
        oci_fixed_source source = values->all;
        oci_int_source bits = oci_fixed_ints(&source, values->n);
        int exponent = oci_scaled_exponent(&bits, values->width == 4);
        forms[2].part = (uint8_t)exponent;
        n_forms += exponent >= 0;
    }
    oci_fixed_form best = values->plain;
    int64_t least = n * values->width;
    for (int i = 0; i < n_forms; i++) {
        int64_t size = write_form(values, first, n, forms[i], NULL, out);
        if (size < least - least / LEAST_GAIN) {
            best = forms[i];
            least = size;
        }
    }
    return best;
}

static oci_fixed_form choose_form(const fixed_values *values, oci_pack_plan *plan, int words,
                                  uint8_t *out)
{
    if (!values->is_float && (values->width <= 8 || words == 1)) {
        return (oci_fixed_form){.kind = OCI_FIXED_WORDS, .part = (uint8_t)words};
    }
    if (plan->blocks_left == 0) {
        oci_fixed_form form = find_form(values, words, out);
        if (form.kind != plan->form.kind) { /* the plans were of other numbers */
            memset(plan->numbers, 0, sizeof plan->numbers);
        }
        plan->form = form;
        plan->blocks_left = BLOCKS_PER_LOOK;
    }
    plan->blocks_left--;
    oci_fixed_form form = plan->form;
    if (form.kind == OCI_FIXED_WORDS) {
        form.part = (uint8_t)words; /* those that this block needs */
    }
    return form;
}

static fixed_values values_of(const oci_column *column, int64_t n_valid)
{
    const oci_field *field = column->field;
    int width = field->byte_width;
    fixed_values values = {.width = width,
                           .is_float = oci_field_is_float(field),
                           .plain = {.kind = OCI_FIXED_PLANES, .part = (uint8_t)width},
                           .n = n_valid,
                           .room = oci_pack_fixed_bound(field, n_valid)};
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
    oci_fixed_form form = choose_form(&values, plan, words, out);
    int64_t size = write_form(&values, 0, n_valid, form, plan->numbers, out);
    if (size > oci_round_up(n_valid * values.width, OCI_PACK_ALIGN)) {
        form = values.plain;
        size = write_form(&values, 0, n_valid, form, NULL, out);
        plan->blocks_left = 0;
    }
    header[1] = form.kind;
    header[2] = form.part;
    job->out->packed_at += size;
}
