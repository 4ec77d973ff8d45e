/* Packed columns: floating point that was decimal.
 *
 * Prices, rates and measurements in a float64 are mostly decimals that somebody typed or a program
 * rounded: whole numbers divided by a power of ten. Their bits look like noise, the whole numbers do
 * not. Division rounds correctly and powers of ten up to 10^22 are exact, so d / 10^e is the very
 * double that reading the decimal made; every value is checked bit for bit all the same, and the few
 * that are something else (NaN, -0.0, results of sums) are stored besides. A block with more than
 * OCI_PAGE_VALUES of those is not worth it.
 *
 * The whole numbers are made page by page, as often as the integer vector asks for them; nothing here
 * takes memory. (The idea: Afroozeh, Kuffo and Boncz, "ALP: Adaptive Lossless floating-Point
 * Compression", SIGMOD 2024, which multiplies where this divides.) */
#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "encoding/pack_internal.h"

/* Adding it to |x| <= 2^51 leaves the whole number nearest to x in the low bits. */
#define ROUNDING       0x1.8p52
#define LARGEST        0x1p51
#define LARGEST_NARROW 0x1p30 /* fits the 4 bytes of a float32; more digits it has not */

enum { SCALE_SAMPLE = 64, SCALE_HITS_MIN = 60 };

static double value_of(uint64_t bits, bool is_narrow)
{
    if (is_narrow) {
        uint32_t low = (uint32_t)bits;
        float narrow;
        memcpy(&narrow, &low, sizeof narrow);
        return (double)narrow;
    }
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* False when the value is no such quotient; *whole is garbage then. */
static bool scale_up(uint64_t bits, double scale, bool is_narrow, int64_t *whole)
{
    double shifted = value_of(bits, is_narrow) * scale + ROUNDING, rounding = ROUNDING;
    double rounded = shifted - ROUNDING;
    uint64_t from = 0, to = 0;
    memcpy(&from, &rounding, sizeof from);
    memcpy(&to, &shifted, sizeof to);
    *whole = (int64_t)(to - from);
    return fabs(rounded) <= (is_narrow ? LARGEST_NARROW : LARGEST) &&
           oci_scaled_bits(*whole, scale, is_narrow) == bits;
}

/* ---- choosing -------------------------------------------------------------------------------- */

int oci_scaled_exponent(const oci_int_source *bits, bool is_narrow)
{
    uint64_t sample[SCALE_SAMPLE];
    int64_t n = oci_min64(bits->n, SCALE_SAMPLE);
    int64_t step = bits->n / oci_max64(n, 1);
    for (int64_t i = 0; i < n; i++) {
        bits->page(bits->arg, i * step, 1, &sample[i]);
    }
    for (int exponent = 0; exponent <= OCI_SCALE_MAX; exponent++) {
        double scale = oci_scale_of(exponent);
        int64_t hits = 0, whole;
        for (int64_t i = 0; i < n; i++) {
            hits += scale_up(sample[i], scale, is_narrow, &whole);
        }
        if (hits * SCALE_SAMPLE >= n * SCALE_HITS_MIN) {
            return exponent;
        }
    }
    return -1;
}

/* ---- whole numbers --------------------------------------------------------------------------- */

typedef struct whole_source {
    const oci_int_source *bits;
    double scale;
    bool is_narrow;
    int64_t instead; /* of values that are no quotients */
} whole_source;

static void whole_page(const void *arg, int64_t start, int64_t n, uint64_t *out)
{
    const whole_source *source = arg;
    source->bits->page(source->bits->arg, start, n, out);
    for (int64_t i = 0; i < n; i++) {
        int64_t whole;
        bool is_whole = scale_up(out[i], source->scale, source->is_narrow, &whole);
        out[i] = (uint64_t)(is_whole ? whole : source->instead);
    }
}

/* Values that are no quotients. */
typedef struct odd_values {
    int64_t n;
    uint64_t places[OCI_PAGE_VALUES];
    uint64_t bits[OCI_PAGE_VALUES];
} odd_values;

/* False when there are too many. Also finds a number to put in their places. */
static bool find_odd(whole_source *source, odd_values *odd)
{
    uint64_t page[OCI_PAGE_VALUES];
    odd->n = 0;
    for (int64_t start = 0; start < source->bits->n; start += OCI_PAGE_VALUES) {
        int64_t n = oci_min64(OCI_PAGE_VALUES, source->bits->n - start);
        source->bits->page(source->bits->arg, start, n, page);
        for (int64_t i = 0; i < n; i++) {
            int64_t whole;
            if (scale_up(page[i], source->scale, source->is_narrow, &whole)) {
                source->instead = whole;
            } else if (odd->n < OCI_PAGE_VALUES) {
                odd->places[odd->n] = (uint64_t)(start + i);
                odd->bits[odd->n++] = page[i];
            } else {
                return false;
            }
        }
    }
    return true;
}

static int64_t write_array(const uint64_t *values, int64_t n, uint8_t *out)
{
    oci_int_array array = {.values = (const uint8_t *)values, .width = 8};
    oci_int_source source = oci_int_array_source(&array, n);
    return oci_int_vector_encode(&source, 8, NULL, out);
}

int64_t oci_write_scaled(const oci_int_source *bits, int exponent, bool is_narrow, int64_t room,
                         oci_int_plan *plan, uint8_t *out)
{
    whole_source source = {.bits = bits, .scale = oci_scale_of(exponent), .is_narrow = is_narrow};
    odd_values odd;
    if (!find_odd(&source, &odd)) {
        return INT64_MAX;
    }
    oci_int_source whole = {.page = whole_page, .arg = &source, .n = bits->n};
    oci_store_le64(out, (uint64_t)odd.n);
    int64_t size = 8 + oci_int_vector_encode(&whole, is_narrow ? 4 : 8, plan, out + 8);
    if (odd.n > 0) {
        if (size + 2 * oci_int_vector_bound(odd.n, 8) > room) {
            return INT64_MAX;
        }
        size += write_array(odd.places, odd.n, out + size);
        size += write_array(odd.bits, odd.n, out + size);
    }
    return size;
}
