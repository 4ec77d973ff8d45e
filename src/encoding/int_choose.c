/* See int_choose.h.
 *
 * The sample is up to two whole pages, so that what each kind takes for it is known to the byte: it
 * is planned as if it were to be written. Two pages of a block of 8192 values are a quarter of it;
 * the choice is kept for the blocks that follow (int_encode.c). Frame of reference, which is fastest
 * both ways, wins unless another kind is worth its time. */
#include "encoding/int_choose.h"

#include "encoding/int_transform.h"

enum {
    SAMPLE_PAGES = 2,
    SMALL = 16 /* values that nothing but a frame of reference is tried for */
};

/* Sizes of the sample in every kind. */
typedef struct kind_sizes {
    int64_t bytes[OCI_INT_KINDS];
    int64_t n; /* values seen */
    oci_int_dictionary values;
    oci_int_dictionary differences;
    bool values_full;
    bool differences_full;
} kind_sizes;

static int64_t page_size(const uint64_t *values, int64_t n)
{
    oci_int_page_plan plan;
    oci_int_page_plan_make(values, n, &plan);
    return plan.size;
}

static void add_page(kind_sizes *sizes, const uint64_t *values, int64_t n, uint64_t before)
{
    uint64_t a[OCI_PAGE_VALUES], b[OCI_PAGE_VALUES];
    if (!sizes->values_full) {
        sizes->values_full = !oci_int_dictionary_codes(&sizes->values, values, n, a);
    }
    sizes->n += n;
    sizes->bytes[OCI_INT_PAGES] += page_size(values, n);
    oci_int_differences(values, n, before, a);
    sizes->bytes[OCI_INT_DIFFERENCES] += page_size(a, n);
    if (!sizes->differences_full) {
        sizes->differences_full = !oci_int_dictionary_codes(&sizes->differences, a, n, b);
    }
    int64_t n_runs = oci_int_find_runs(values, n, a, b);
    sizes->bytes[OCI_INT_RUNS] += 2 + page_size(a, n_runs) + page_size(b, n_runs);
}

/* Bytes of a vector of n values of this kind, by the sample. */
static int64_t estimate(const kind_sizes *sizes, oci_int_kind kind, int64_t n)
{
    int64_t n_pages = (n + OCI_PAGE_VALUES - 1) / OCI_PAGE_VALUES;
    if (!oci_int_has_dictionary(kind)) {
        return (int64_t)((double)sizes->bytes[kind] * ((double)n / (double)sizes->n));
    }
    const oci_int_dictionary *dictionary = kind == OCI_INT_STEPS ? &sizes->differences
                                                                 : &sizes->values;
    int width = oci_bit_width((uint64_t)dictionary->n - 1);
    return oci_bit_packed_bytes(OCI_PAGE_VALUES, width) * n_pages + 2 * n_pages +
           page_size(dictionary->values, dictionary->n);
}

static bool is_worth(int64_t bytes, int64_t other, int64_t n)
{
    return 8 * (bytes - other) > oci_int_worth(n, 8 * bytes);
}

/* The smallest kind and its size. */
static oci_int_kind smallest_kind(const kind_sizes *sizes, int64_t n,
                                  const oci_int_excluded *excluded, int64_t *bytes)
{
    oci_int_kind best = OCI_INT_PAGES;
    *bytes = estimate(sizes, best, n);
    for (oci_int_kind kind = OCI_INT_DIFFERENCES; kind < OCI_INT_KINDS; kind++) {
        if (excluded->kinds[kind] || (kind == OCI_INT_DICTIONARY && sizes->values_full) ||
            (kind == OCI_INT_STEPS && sizes->differences_full)) {
            continue;
        }
        int64_t other = estimate(sizes, kind, n);
        if (is_worth(*bytes, other, n)) {
            best = kind;
            *bytes = other;
        }
    }
    return best;
}

/* The sample: whole pages, the value before each, and what all of it has in common. */
typedef struct sample {
    int n_pages;
    int64_t n[SAMPLE_PAGES];
    uint64_t before[SAMPLE_PAGES];
    uint64_t values[SAMPLE_PAGES][OCI_PAGE_VALUES];
} sample;

static void take_sample(const oci_int_source *source, sample *out)
{
    const int64_t n_pages = (source->n + OCI_PAGE_VALUES - 1) / OCI_PAGE_VALUES;
    out->n_pages = n_pages < SAMPLE_PAGES ? 1 : SAMPLE_PAGES;
    for (int i = 0; i < out->n_pages; i++) {
        int64_t page = n_pages <= SAMPLE_PAGES ? i : n_pages * (2 * i + 1) / (2 * SAMPLE_PAGES);
        int64_t start = page * OCI_PAGE_VALUES;
        out->n[i] = oci_min64(source->n - start, OCI_PAGE_VALUES);
        source->page(source->arg, start, out->n[i], out->values[i]);
        if (start > 0) {
            source->page(source->arg, start - 1, 1, &out->before[i]);
        } else { /* as the encoder does */
            out->before[i] = out->values[i][0];
            out->before[i] -= out->n[i] > 1 ? out->values[i][1] - out->values[i][0] : 0;
        }
    }
}

static oci_int_kind measure(const sample *from, int64_t n, const oci_int_excluded *excluded,
                            int64_t *bytes)
{
    kind_sizes sizes = {.n = 0};
    oci_int_dictionary_init(&sizes.values);
    oci_int_dictionary_init(&sizes.differences);
    for (int i = 0; i < from->n_pages; i++) {
        add_page(&sizes, from->values[i], from->n[i], from->before[i]);
    }
    return smallest_kind(&sizes, n, excluded, bytes);
}

/* Divides the sample by what all of it is a multiple of; returns that, 0 when there is nothing. */
static uint64_t divide_sample(sample *values)
{
    uint64_t offset = values->values[0][0];
    uint64_t factor = 0;
    for (int i = 0; i < values->n_pages; i++) {
        factor = oci_int_common_factor(values->values[i], values->n[i], offset, factor);
        factor = oci_int_common_factor(&values->before[i], 1, offset, factor);
    }
    if (factor < 2) {
        return 0;
    }
    for (int i = 0; i < values->n_pages; i++) {
        oci_int_divide(values->values[i], values->n[i], offset, factor);
        oci_int_divide(&values->before[i], 1, offset, factor);
    }
    return factor;
}

oci_int_choice oci_int_choose(const oci_int_source *source, const oci_int_excluded *excluded)
{
    oci_int_choice choice = {.kind = OCI_INT_PAGES};
    if (source->n < SMALL) {
        return choice;
    }
    sample values;
    int64_t bytes, scaled_bytes;
    take_sample(source, &values);
    choice.kind = measure(&values, source->n, excluded, &bytes);
    uint64_t scale = excluded->scale ? 0 : divide_sample(&values);
    if (scale != 0) {
        oci_int_kind kind = measure(&values, source->n, excluded, &scaled_bytes);
        scaled_bytes += 2 * 8; /* factor and offset */
        if (!oci_int_has_dictionary(kind) && is_worth(bytes, scaled_bytes, source->n)) {
            choice = (oci_int_choice){.kind = kind, .scale = scale};
        }
    }
    return choice;
}
