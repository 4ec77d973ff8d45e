/* Planning and writing pages, see int_page.h.
 *
 * The plan needs the smallest and the largest value; these give a base and a width that all values
 * fit. Whether exceptions would make the page smaller depends on how many values need how many bits
 * above a base. Counting all of them costs more than packing them, so about 60 are counted first, and
 * only when these promise something about 200. What the rest is like shows when exceptions are looked
 * for: with too many of them the page is written without.
 *
 * The base is either the smallest value or, where a few are far below the others, a low one of the
 * others. Each of 16 parts of the page has its own minimum; when k parts have one of the few, the
 * next in order is the smallest of many others. The smallest four times doubled are tried. */
#include <assert.h>

#include "encoding/int_page.h"

enum {
    PARTS = 16,
    FEW = 4 * PARTS, /* values that no part is made of */
    FIRST_PROBES = 60,
    SECOND_PROBES = 256,
    GROUP = 8,
    EXCEPTION_HEADER = 4, /* besides the base of the high parts */
};

/* ---- planning -------------------------------------------------------------------------------- */

typedef struct value_range {
    int64_t min;
    int64_t max;
    int64_t bases[5]; /* to try: min and above, for when few values are below */
    int n_bases;
} value_range;

/* Of n values, n a multiple of 4: four minima and maxima that take turns, so that no comparison waits
 * for the one before. */
static void find_part_ranges(const uint64_t *values, int64_t n, int64_t min[4], int64_t max[4])
{
    int64_t low[4], high[4]; /* registers, which min and max may not be */
    for (int k = 0; k < 4; k++) {
        low[k] = high[k] = (int64_t)values[k];
    }
    for (int64_t i = 4; i < n; i += 4) {
        for (int k = 0; k < 4; k++) {
            int64_t value = (int64_t)values[i + k];
            low[k] = value < low[k] ? value : low[k];
            high[k] = value > high[k] ? value : high[k];
        }
    }
    memcpy(min, low, sizeof low);
    memcpy(max, high, sizeof high);
}

static void sort_minima(int64_t min[PARTS])
{
    for (int i = 1; i < PARTS; i++) {
        int64_t value = min[i];
        int at = i;
        for (; at > 0 && min[at - 1] > value; at--) {
            min[at] = min[at - 1];
        }
        min[at] = value;
    }
}

static void find_range(const uint64_t *values, int64_t n, value_range *range)
{
    int64_t min[PARTS], max[PARTS];
    const int64_t part = n < FEW ? 0 : n / PARTS * 4;
    range->min = range->max = (int64_t)values[0];
    for (int64_t i = 4 * part; i < n; i++) {
        range->min = oci_min64(range->min, (int64_t)values[i]);
        range->max = oci_max64(range->max, (int64_t)values[i]);
    }
    for (int i = 0; i < 4 && part > 0; i++) {
        find_part_ranges(values + i * part, part, min + 4 * i, max + 4 * i);
    }
    for (int i = 0; i < PARTS && part > 0; i++) {
        range->min = oci_min64(range->min, min[i]);
        range->max = oci_max64(range->max, max[i]);
    }
    range->bases[0] = range->min;
    range->n_bases = 1;
    if (part > 0) {
        sort_minima(min);
        for (int i = 1; i < PARTS; i = 2 * i + 1) {
            if (min[i] != range->bases[range->n_bases - 1]) {
                range->bases[range->n_bases++] = min[i];
            }
        }
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

/* The best width with this base, by what every `step`th value needs; takes it when that beats
 * *best_bits. */
static void try_base(const uint64_t *values, int64_t n, int64_t step, uint64_t base,
                     const value_range *range, int64_t *best_bits, oci_int_page_plan *plan)
{
    int32_t counts[65] = {0};
    int64_t exceptions = 0;
    for (int64_t i = 0; i < n; i += step) {
        counts[oci_bit_width(values[i] - base)]++;
    }
    for (int width = 64; width >= 0 && exceptions <= OCI_INT_EXCEPTIONS_MAX; width--) {
        if (width < plan->min_width && (counts[width] > 0 || width == 0)) {
            int64_t bits = estimate_bits(n, width, exceptions, base, range);
            if (bits < *best_bits) {
                *best_bits = bits;
                plan->base = base;
                plan->width = width;
            }
        }
        exceptions += counts[width] * step;
    }
}

static void plan_within(const uint64_t *values, int64_t n, const value_range *range,
                        oci_int_page_plan *plan)
{
    plan->min = plan->base = (uint64_t)range->min;
    plan->max = (uint64_t)range->max;
    plan->min_width = plan->width = oci_bit_width(plan->max - plan->min);
    int64_t bits = n * plan->width, limit = bits - oci_int_worth(n, bits), best_bits = limit;
    oci_int_page_plan guess = *plan;
    for (int i = 0; i < range->n_bases && plan->width > 0; i++) {
        /* A base that is higher by less than this saves no bit. */
        uint64_t gain = (uint64_t)range->bases[i] - plan->min;
        if (i == 0 || gain > oci_low_mask(guess.width) / 4) {
            try_base(values, n, n / FIRST_PROBES + 1, (uint64_t)range->bases[i], range, &best_bits,
                     &guess);
        }
    }
    if (guess.width < plan->width) {
        best_bits = limit;
        try_base(values, n, n / SECOND_PROBES + 1, guess.base, range, &best_bits, plan);
        bits = plan->width < plan->min_width ? best_bits : bits;
    }
    plan->size = 2 + bits / 8;
}

void oci_int_page_plan_make(const uint64_t *values, int64_t n, oci_int_page_plan *plan)
{
    value_range range;
    assert(n >= 1 && n <= OCI_PAGE_VALUES);
    find_range(values, n, &range);
    plan_within(values, n, &range, plan);
}

void oci_int_page_plan_codes(const uint64_t *codes, int64_t n, int64_t n_codes,
                             oci_int_page_plan *plan)
{
    const value_range range = {.max = n_codes - 1, .n_bases = 1};
    plan_within(codes, n, &range, plan);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* What is left of values that do not fit the width. */
typedef struct exceptions {
    int64_t n;
    uint64_t gaps[OCI_INT_EXCEPTIONS_MAX + GROUP + 1]; /* too many are noticed after a group */
    uint64_t highs[OCI_INT_EXCEPTIONS_MAX];
    int gap_width;
    int high_width;
    uint64_t high_base;
    int64_t size;
} exceptions;

/* Positions of exceptions; false when there are too many, or none. Most groups have none; those that
 * do are listed without a branch, since what follows what has no pattern. */
static bool list_exceptions(const uint64_t *values, int64_t n, const oci_int_page_plan *plan,
                            exceptions *out)
{
    const uint64_t base = plan->base;
    const int width = plan->width;
    uint64_t *at = out->gaps, *end = at + OCI_INT_EXCEPTIONS_MAX;
    for (int64_t start = 0; start < n && at <= end; start += GROUP) {
        const uint64_t *group = values + start;
        int64_t count = oci_min64(GROUP, n - start);
        uint64_t any = 0;
        for (int64_t i = 0; i < count; i++) {
            any |= group[i] - base;
        }
        for (int64_t i = 0; i < count && any >> width != 0; i++) {
            *at = (uint64_t)(start + i);
            at += (group[i] - base) >> width != 0;
        }
    }
    out->n = at - out->gaps;
    return out->n > 0 && at <= end;
}

/* False when the page is not smaller with exceptions. */
static bool find_exceptions(const uint64_t *values, int64_t n, const oci_int_page_plan *plan,
                            exceptions *out)
{
    if (plan->width == plan->min_width || !list_exceptions(values, n, plan, out)) {
        return false;
    }
    uint64_t gap_bits = 0;
    int64_t min = INT64_MAX, max = INT64_MIN;
    for (int64_t i = out->n - 1; i >= 0; i--) {
        out->highs[i] = (uint64_t)((int64_t)(values[out->gaps[i]] - plan->base) >> plan->width);
        out->gaps[i] -= i == 0 ? 0 : out->gaps[i - 1] + 1;
        gap_bits |= out->gaps[i];
        min = oci_min64(min, (int64_t)out->highs[i]);
        max = oci_max64(max, (int64_t)out->highs[i]);
    }
    uint8_t number[8];
    out->gap_width = oci_bit_width(gap_bits);
    out->high_base = (uint64_t)min;
    out->high_width = oci_bit_width((uint64_t)max - (uint64_t)min);
    out->size = EXCEPTION_HEADER + oci_int_put(number, out->high_base) +
                oci_bit_packed_bytes(out->n, out->gap_width) +
                oci_bit_packed_bytes(out->n, out->high_width);
    return oci_bit_packed_bytes(n, plan->width) + out->size <
           oci_bit_packed_bytes(n, plan->min_width);
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
    bool patched = find_exceptions(values, n, plan, &found);
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
