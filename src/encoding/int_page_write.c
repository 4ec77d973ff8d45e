/* Planning and writing pages, see int_page.h.
 *
 * The plan needs the smallest and the largest value; these give a base and a width that all values
 * fit. Whether exceptions would make the page smaller depends on how many values need how many bits
 * above a base, a histogram of 65 counts. Counting all values costs more than packing them, so 64
 * of them are counted first, and only when these promise something the rest is.
 *
 * The base is either the smallest value or, where a few are far below the others, a low one of the
 * others. Each of 16 lanes has its own minimum; when k lanes have one of the few, the next in order
 * is the smallest of many others. The smallest four times doubled are tried. */
#include <assert.h>

#include "encoding/int_page.h"

enum {
    LANES = 16,
    PROBES = 64,
    EXCEPTION_HEADER = 4 /* besides the base of the high parts */
};

/* ---- planning -------------------------------------------------------------------------------- */

typedef struct value_range {
    int64_t min;
    int64_t max;
    int64_t bases[5]; /* to try: min and above, for when few values are below */
    int n_bases;
} value_range;

static void find_range(const uint64_t *values, int64_t n, value_range *range)
{
    int64_t min[LANES], max[LANES];
    for (int lane = 0; lane < LANES; lane++) {
        min[lane] = max[lane] = (int64_t)values[lane < n ? lane : 0];
    }
    int64_t i = LANES;
    for (; i + LANES <= n; i += LANES) {
        for (int lane = 0; lane < LANES; lane++) {
            int64_t value = (int64_t)values[i + lane];
            min[lane] = value < min[lane] ? value : min[lane];
            max[lane] = value > max[lane] ? value : max[lane];
        }
    }
    for (; i < n; i++) {
        int64_t value = (int64_t)values[i];
        min[0] = value < min[0] ? value : min[0];
        max[0] = value > max[0] ? value : max[0];
    }
    for (int lane = 1; lane < LANES; lane++) { /* sorts the minima by insertion */
        int64_t value = min[lane];
        int at = lane;
        for (; at > 0 && min[at - 1] > value; at--) {
            min[at] = min[at - 1];
        }
        min[at] = value;
        max[0] = oci_max64(max[0], max[lane]);
    }
    *range = (value_range){.min = min[0], .max = max[0], .bases = {min[0]}, .n_bases = 1};
    for (int lane = 1; lane < LANES; lane = 2 * lane + 1) {
        if (min[lane] != range->bases[range->n_bases - 1]) {
            range->bases[range->n_bases++] = min[lane];
        }
    }
}

/* Adds to counts[w] the values that need w bits above the base, of every `step`th value. */
static void count_widths(const uint64_t *values, int64_t n, int64_t step, uint64_t base,
                         int32_t counts[65])
{
    for (int64_t i = 0; i < n; i += step) {
        counts[oci_bit_width(values[i] - base)]++;
    }
}

/* Bits of a page of n values of this width, of which n_exceptions do not fit. */
static int64_t estimate_bits(int64_t n, int width, int64_t n_exceptions, uint64_t base,
                             const value_range *range)
{
    if (n_exceptions == 0) {
        return n * width;
    }
    /* Gaps are as wide as the largest, about four times the average. */
    int gap_width = oci_bit_width((uint64_t)(n / n_exceptions)) + 2;
    int64_t low = (int64_t)((uint64_t)range->min - base) >> width;
    int64_t high = (int64_t)((uint64_t)range->max - base) >> width;
    int high_width = oci_bit_width((uint64_t)high - (uint64_t)low);
    return n * width + n_exceptions * ((gap_width < 10 ? gap_width : 10) + high_width) +
           8 * (EXCEPTION_HEADER + 1);
}

/* The best width below `width` with this base, by the counts of one in `step` values; takes it when
 * that beats *best_bits. */
static void try_exceptions(int64_t n, int64_t step, uint64_t base, const int32_t counts[65],
                           const value_range *range, int64_t *best_bits, oci_int_page_plan *plan)
{
    int64_t wider = 0;
    for (int width = 63; width >= 0; width--) {
        wider += counts[width + 1] * step;
        if (wider > OCI_INT_EXCEPTIONS_MAX) {
            break;
        }
        int64_t bits = width < plan->min_width ? estimate_bits(n, width, wider, base, range)
                                               : INT64_MAX;
        if (bits < *best_bits) {
            *best_bits = bits;
            plan->base = base;
            plan->width = width;
            plan->n_exceptions = (int)wider;
        }
    }
}

void oci_int_page_plan_make(const uint64_t *values, int64_t n, oci_int_page_plan *plan)
{
    assert(n >= 1 && n <= OCI_PAGE_VALUES);
    value_range range;
    find_range(values, n, &range);
    plan->min = plan->base = (uint64_t)range.min;
    plan->max = (uint64_t)range.max;
    plan->min_width = plan->width = oci_bit_width((uint64_t)range.max - (uint64_t)range.min);
    plan->n_exceptions = 0;
    const int64_t plain_bits = n * plan->width;
    int64_t best_bits = plain_bits - plain_bits / 32; /* must be worth the trouble */
    oci_int_page_plan guess = *plan;
    for (int i = 0; i < range.n_bases && plan->width > 0; i++) {
        int32_t counts[65] = {0};
        uint64_t base = (uint64_t)range.bases[i];
        count_widths(values, n, n / PROBES + 1, base, counts);
        try_exceptions(n, n / PROBES + 1, base, counts, &range, &best_bits, &guess);
    }
    if (guess.width != plan->width) {
        int32_t counts[65] = {0};
        best_bits = plain_bits - plain_bits / 32;
        count_widths(values, n, 1, guess.base, counts);
        try_exceptions(n, 1, guess.base, counts, &range, &best_bits, plan);
    }
    plan->size = 2 + (plan->width == plan->min_width ? plain_bits : best_bits) / 8;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* What is left of values that do not fit the width. */
typedef struct exceptions {
    int64_t n;
    uint64_t gaps[OCI_INT_EXCEPTIONS_MAX + 1]; /* one more, so that writing needs no branch */
    uint64_t highs[OCI_INT_EXCEPTIONS_MAX + 1];
    int gap_width;
    int high_width;
    uint64_t high_base;
    int64_t size;
} exceptions;

static void find_exceptions(const uint64_t *values, int64_t n, const oci_int_page_plan *plan,
                            exceptions *out)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t above = values[i] - plan->base;
        out->gaps[count] = (uint64_t)i;
        out->highs[count] = (uint64_t)((int64_t)above >> plan->width);
        count += above >> plan->width != 0;
    }
    assert(count == plan->n_exceptions);
    uint64_t gap_bits = 0;
    int64_t min = INT64_MAX, max = INT64_MIN;
    for (int64_t i = count - 1; i >= 0; i--) {
        out->gaps[i] -= i == 0 ? 0 : out->gaps[i - 1] + 1;
        gap_bits |= out->gaps[i];
        min = oci_min64(min, (int64_t)out->highs[i]);
        max = oci_max64(max, (int64_t)out->highs[i]);
    }
    uint8_t number[8];
    out->n = count;
    out->gap_width = oci_bit_width(gap_bits);
    out->high_base = (uint64_t)min;
    out->high_width = oci_bit_width((uint64_t)max - (uint64_t)min);
    out->size = EXCEPTION_HEADER + oci_int_put(number, out->high_base) +
                oci_bit_packed_bytes(count, out->gap_width) +
                oci_bit_packed_bytes(count, out->high_width);
}

/* The base that all values fit above: the vector's, which takes no bytes, where it does as well. */
static uint64_t choose_base(const oci_int_page_plan *plan, uint64_t origin)
{
    return oci_bit_width((plan->min - origin) | (plan->max - origin)) <= plan->min_width
               ? origin
               : plan->min;
}

int64_t oci_int_page_write(const uint64_t *values, int64_t n, const oci_int_page_plan *plan,
                           uint64_t origin, uint8_t *out)
{
    exceptions found;
    bool patched = plan->n_exceptions > 0;
    if (patched) {
        find_exceptions(values, n, plan, &found);
        patched = oci_bit_packed_bytes(n, plan->width) + found.size <
                  oci_bit_packed_bytes(n, plan->min_width);
    }
    int width = patched ? plan->width : plan->min_width;
    uint64_t base = patched ? plan->base : choose_base(plan, origin);
    uint8_t *at = out + 2;
    out[0] = (uint8_t)(width | (patched ? OCI_INT_PAGE_HAS_EXCEPTIONS : 0));
    out[1] = (uint8_t)oci_int_put(at, base - origin);
    at += out[1];
    if (patched) {
        at[0] = (uint8_t)(found.n - 1);
        at[1] = (uint8_t)found.gap_width;
        at[2] = (uint8_t)found.high_width;
        at[3] = (uint8_t)oci_int_put(at + EXCEPTION_HEADER, found.high_base);
        at += EXCEPTION_HEADER + at[3];
    }
    oci_bit_pack(values, n, base, width, at);
    at += oci_bit_packed_bytes(n, width);
    if (patched) {
        oci_bit_pack(found.gaps, found.n, 0, found.gap_width, at);
        at += oci_bit_packed_bytes(found.n, found.gap_width);
        oci_bit_pack(found.highs, found.n, found.high_base, found.high_width, at);
        at += oci_bit_packed_bytes(found.n, found.high_width);
    }
    return at - out;
}
