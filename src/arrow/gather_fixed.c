/* Gather: validity, bits and values of one width.
 *
 * A value costs one load of its row reference, one of its source's base and one of itself; only the
 * last one misses the caches, since rows in sorted order lie anywhere. The loops are therefore
 * written so that many such misses are in flight: nothing in one step depends on the step before,
 * there is no branch, and lines are fetched ahead.
 *
 * Null slots become zero in a second pass over the finished bitmap, 64 rows a look, instead of a
 * test per row. */
#include "arrow/gather_internal.h"

/* ---- validity -------------------------------------------------------------------------------- */

bool oci_gather_any_null(const oci_gather_job *job, const oci_row_ref *rows, int64_t n)
{
    const oci_gather_input *inputs = job->inputs;
    for (int64_t start = 0; start < n; start += 64) {
        int64_t end = oci_min64(start + 64, n);
        bool all = true;
        for (int64_t i = start; i < end; i++) {
            all &= oci_gather_is_valid(&inputs[rows[i].source], rows[i].row);
        }
        if (!all) {
            return true;
        }
    }
    return false;
}

/* Bits of up to 64 rows, row 0 in the lowest. Each new bit enters at the top, so that no shift
 * depends on the row. */
static uint64_t gather_validity_word(const oci_gather_input *inputs, const oci_row_ref *rows,
                                     int count)
{
    uint64_t word = 0;
    for (int i = 0; i < count; i++) {
        uint64_t bit = oci_gather_is_valid(&inputs[rows[i].source], rows[i].row);
        word = (word >> 1) | (bit << 63);
    }
    return word >> (64 - count);
}

static uint64_t gather_bits_word(const oci_gather_input *inputs, const oci_row_ref *rows, int count)
{
    uint64_t word = 0;
    for (int i = 0; i < count; i++) {
        const oci_gather_input *in = &inputs[rows[i].source];
        uint64_t bit = oci_bit_get(in->values, in->bit_offset + rows[i].row);
        word = (word >> 1) | (bit << 63);
    }
    return word >> (64 - count);
}

/* Writes whole bytes: bits behind the last row become 0. */
static void store_word(uint8_t *to, uint64_t word, int count)
{
    for (int k = 0; k < count; k += 8) {
        to[k >> 3] = (uint8_t)(word >> k);
    }
}

void oci_gather_fill_validity(oci_gather_job *job, oci_gather_column *column,
                              const oci_row_ref *rows, int64_t n, int64_t at)
{
    uint8_t *validity = job->slab + column->validity_at;
    int64_t n_valid = 0;
    for (int64_t i = 0; i < n; i += 64) {
        int count = (int)oci_min64(64, n - i);
        uint64_t word = gather_validity_word(job->inputs, rows + i, count);
        n_valid += __builtin_popcountll(word);
        store_word(validity + ((at + i) >> 3), word, count);
    }
    column->null_count += n - n_valid;
    oci_gather_pad(validity, oci_bytes_for_bits(at + n));
}

/* ---- bits ------------------------------------------------------------------------------------ */

void oci_gather_fill_bits(oci_gather_job *job, oci_gather_column *column, const oci_row_ref *rows,
                          int64_t n, int64_t at)
{
    uint8_t *bits = job->slab + column->values_at;
    for (int64_t i = 0; i < n; i += 64) {
        int count = (int)oci_min64(64, n - i);
        uint64_t word = gather_bits_word(job->inputs, rows + i, count);
        if (column->has_nulls) {
            word &= oci_bits_load(job->slab + column->validity_at, at + i, count);
        }
        store_word(bits + ((at + i) >> 3), word, count);
    }
    oci_gather_pad(bits, oci_bytes_for_bits(at + n));
}

/* ---- values of one width --------------------------------------------------------------------- */

/* Values of fewer bytes are so many to a line that fetching ahead costs more than it saves. */
#define NARROW 8

static inline __attribute__((always_inline)) void gather_width(const oci_gather_input *inputs,
                                                               const oci_row_ref *rows, int64_t n,
                                                               uint8_t *out, int64_t width)
{
    for (int64_t i = 0; i < n; i++) {
        oci_row_ref row = rows[i];
        if (width >= NARROW) {
            oci_row_ref ahead = rows[i + OCI_GATHER_AHEAD < n ? i + OCI_GATHER_AHEAD : i];
            __builtin_prefetch(inputs[ahead.source].values + (int64_t)ahead.row * width);
        }
        memcpy(out + i * width, inputs[row.source].values + (int64_t)row.row * width,
               (size_t)width);
    }
}

static void gather_values(const oci_gather_input *inputs, const oci_row_ref *rows, int64_t n,
                          uint8_t *out, int64_t width)
{
    switch (width) {
    case 0: break;
    case 1: gather_width(inputs, rows, n, out, 1); break;
    case 2: gather_width(inputs, rows, n, out, 2); break;
    case 4: gather_width(inputs, rows, n, out, 4); break;
    case 8: gather_width(inputs, rows, n, out, 8); break;
    case 16: gather_width(inputs, rows, n, out, 16); break;
    case 32: gather_width(inputs, rows, n, out, 32); break;
    default: gather_width(inputs, rows, n, out, width); break;
    }
}

/* `values` are those of output rows [at, at + n). */
static void zero_null_values(const uint8_t *validity, int64_t at, int64_t n, uint8_t *values,
                             int64_t width)
{
    for (int64_t i = 0; i < n; i += 64) {
        int count = (int)oci_min64(64, n - i);
        uint64_t nulls = ~oci_bits_load(validity, at + i, count) & oci_low_mask(count);
        for (; nulls != 0; nulls &= nulls - 1) {
            uint8_t *value = values + (i + __builtin_ctzll(nulls)) * width;
            if (width == 8) {
                memset(value, 0, 8);
            } else {
                memset(value, 0, (size_t)width);
            }
        }
    }
}

void oci_gather_fill_fixed(oci_gather_job *job, oci_gather_column *column, const oci_row_ref *rows,
                           int64_t n, int64_t at)
{
    int64_t width = column->width;
    uint8_t *values = job->slab + column->values_at;
    gather_values(job->inputs, rows, n, values + at * width, width);
    if (column->has_nulls) {
        zero_null_values(job->slab + column->validity_at, at, n, values + at * width, width);
    }
    oci_gather_pad(values, (at + n) * width);
}

/* ---- ranges ---------------------------------------------------------------------------------- */

/* Bits [offset, offset + n) to the start of a buffer, zeros up to its end. */
static void copy_bits(uint8_t *to, const uint8_t *from, int64_t offset, int64_t n)
{
    int64_t bytes = oci_bytes_for_bits(n);
    if (n > 0) {
        to[bytes - 1] = 0;
        oci_bits_copy(to, 0, from, offset, n);
    }
    oci_gather_pad(to, bytes);
}

void oci_gather_range_validity(oci_gather_job *job, oci_gather_column *column, int64_t n)
{
    uint8_t *validity = job->slab + column->validity_at;
    copy_bits(validity, job->inputs[0].validity, job->inputs[0].bit_offset, n);
    column->null_count = n - oci_bits_count(validity, 0, n);
}

void oci_gather_range_bits(oci_gather_job *job, oci_gather_column *column, int64_t n)
{
    uint8_t *bits = job->slab + column->values_at;
    copy_bits(bits, job->inputs[0].values, job->inputs[0].bit_offset, n);
    for (int64_t i = 0; column->has_nulls && i < oci_bytes_for_bits(n); i++) {
        bits[i] &= (job->slab + column->validity_at)[i];
    }
}

void oci_gather_range_fixed(oci_gather_job *job, oci_gather_column *column, int64_t n)
{
    int64_t width = column->width;
    uint8_t *values = job->slab + column->values_at;
    if (n > 0 && width > 0) {
        memcpy(values, job->inputs[0].values, (size_t)(n * width));
    }
    if (column->has_nulls) {
        zero_null_values(job->slab + column->validity_at, 0, n, values, width);
    }
    oci_gather_pad(values, n * width);
}
