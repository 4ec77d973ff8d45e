/* See int_transform.h. */
#include "encoding/int_transform.h"

#include <string.h>

void oci_int_differences(const uint64_t *values, int64_t n, uint64_t before, uint64_t *out)
{
    out[0] = values[0] - before;
    for (int64_t i = 1; i < n; i++) {
        out[i] = values[i] - values[i - 1];
    }
}

int64_t oci_int_find_runs(const uint64_t *values, int64_t n, uint64_t *run_values,
                          uint64_t *repeats)
{
    int64_t n_runs = 0, start = 0;
    for (int64_t i = 1; i <= n; i++) {
        if (i == n || values[i] != values[start]) {
            run_values[n_runs] = values[start];
            repeats[n_runs] = (uint64_t)(i - start - 1);
            n_runs++;
            start = i;
        }
    }
    return n_runs;
}

/* ---- dictionaries ---------------------------------------------------------------------------- */

void oci_int_dictionary_init(oci_int_dictionary *dictionary)
{
    dictionary->n = 0;
    memset(dictionary->slots, 0, sizeof dictionary->slots);
}

bool oci_int_dictionary_codes(oci_int_dictionary *dictionary, const uint64_t *values, int64_t n,
                              uint64_t *codes)
{
    enum { SLOTS = sizeof dictionary->slots / sizeof *dictionary->slots };
    _Static_assert(SLOTS == 1024, "the hash has as many bits");
    for (int64_t i = 0; i < n; i++) {
        uint64_t value = values[i];
        uint64_t slot = (value * UINT64_C(0x9E3779B97F4A7C15)) >> 54;
        while (dictionary->slots[slot] != 0 &&
               dictionary->values[dictionary->slots[slot] - 1] != value) {
            slot = (slot + 1) % SLOTS;
        }
        if (dictionary->slots[slot] == 0) {
            if (dictionary->n == OCI_INT_DICTIONARY_MAX) {
                return false;
            }
            dictionary->values[dictionary->n++] = value;
            dictionary->slots[slot] = (uint16_t)dictionary->n;
        }
        codes[i] = (uint64_t)dictionary->slots[slot] - 1;
    }
    return true;
}

/* ---- common factors -------------------------------------------------------------------------- */

static uint64_t magnitude(uint64_t difference)
{
    return (int64_t)difference < 0 ? 0 - difference : difference;
}

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

uint64_t oci_int_common_factor(const uint64_t *values, int64_t n, uint64_t offset, uint64_t factor)
{
    for (int64_t i = 0; i < n && factor != 1; i++) {
        factor = greatest_common_divisor(magnitude(values[i] - offset), factor);
    }
    return factor;
}

/* The number whose product with an odd number is 1. Each step doubles the low bits that are right,
 * beginning with 3. */
static uint64_t inverse(uint64_t odd)
{
    uint64_t x = odd;
    for (int i = 0; i < 5; i++) {
        x *= 2 - odd * x;
    }
    return x;
}

bool oci_int_divide(uint64_t *values, int64_t n, uint64_t offset, uint64_t factor)
{
    const int twos = __builtin_ctzll(factor);
    const uint64_t by = inverse(factor >> twos);
    uint64_t wrong = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t above = values[i] - offset;
        uint64_t quotient = (uint64_t)((int64_t)above >> twos) * by;
        wrong |= quotient * factor ^ above;
        values[i] = quotient;
    }
    return wrong == 0;
}
