/* See int_transform.h. */
#include "encoding/int_transform.h"

#include <assert.h>
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

/* 0 belongs to slot 0 and 1 does not. */
static uint64_t slot_of(uint64_t value)
{
    static_assert(OCI_INT_SLOTS == 1 << 10, "slots have as many bits as are left of the product");
    return (value * UINT64_C(0x9E3779B97F4A7C15)) >> 54;
}

void oci_int_dictionary_init(oci_int_dictionary *dictionary)
{
    dictionary->n = 0;
    memset(dictionary->slots, 0, sizeof dictionary->slots);
    memset(dictionary->codes, 0, sizeof dictionary->codes);
    dictionary->slots[0] = 1;
}

/* Adds the value unless it is there, further on than in its first slot; its code, or -1 when there
 * is no room. */
static int64_t find_or_add(oci_int_dictionary *dictionary, uint64_t value)
{
    uint64_t slot = slot_of(value);
    while (dictionary->codes[slot] != 0 && dictionary->slots[slot] != value) {
        slot = (slot + 1) % OCI_INT_SLOTS;
    }
    if (dictionary->codes[slot] == 0) {
        if (dictionary->n == OCI_INT_DICTIONARY_MAX) {
            return -1;
        }
        dictionary->values[dictionary->n++] = value;
        dictionary->slots[slot] = value;
        dictionary->codes[slot] = (uint16_t)dictionary->n;
    }
    return dictionary->codes[slot] - 1;
}

bool oci_int_dictionary_codes(oci_int_dictionary *dictionary, const uint64_t *values, int64_t n,
                              uint64_t *codes)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t value = values[i], slot = slot_of(value);
        if (dictionary->slots[slot] == value) {
            codes[i] = (uint64_t)dictionary->codes[slot] - 1;
            continue;
        }
        int64_t code = find_or_add(dictionary, value);
        if (code < 0) {
            return false;
        }
        codes[i] = (uint64_t)code;
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
