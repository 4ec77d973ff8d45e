/* Exact sums of doubles: the same bits whatever the order of the values and however they were split.
 *
 * A sum is a whole number of units of 2^-1074, the smallest double, kept in digits of 32 bits. All sums of one set
 * have the same digits, a window that is as wide as the values so far ask for: data of ordinary range needs four or
 * five. Digits are 64 bits wide, so that additions need no carry; they are normalised before 2^30 additions have
 * come together. The idea of a long accumulator is Kulisch's; carry-save digits as in R. M. Neal, "Fast exact
 * summation using small and large superaccumulators", 2015.
 *
 * The set knows nothing of memory: who holds the digits asks for a window, makes room for it, and moves what it
 * has. */
#ifndef OUTCORE_OPS_AGGREGATE_EXACT_SUM_H
#define OUTCORE_OPS_AGGREGATE_EXACT_SUM_H

#include <stdbool.h>
#include <stdint.h>

#define OCI_EXACT_DIGIT_BITS 32
/* Digits that doubles reach (66), and some for sums of 2^60 of them and the sign. */
#define OCI_EXACT_DIGITS_MAX 72

/* Digits [first, first + n). n = 0: none. */
typedef struct oci_exact_window {
    int32_t first;
    int32_t n;
} oci_exact_window;

/* The window that has all of `window` and the digits of `value` (finite, or ignored), and room for sums of
 * 2^60 such. */
oci_exact_window oci_exact_widen(oci_exact_window window, double value);
oci_exact_window oci_exact_union(oci_exact_window a, oci_exact_window b);
static inline bool oci_exact_contains(oci_exact_window outer, oci_exact_window inner)
{
    return inner.n == 0 ||
           (inner.first >= outer.first && inner.first + inner.n <= outer.first + outer.n);
}

/* Adds a finite value whose digits are in the window. */
void oci_exact_add(oci_exact_window window, int64_t *digits, double value);
/* Carries, so that all digits but the highest are in [0, 2^32) and 2^30 more additions fit. */
void oci_exact_normalise(oci_exact_window window, int64_t *digits);
/* From one window to another that contains it. `to` is zero before. */
void oci_exact_move(oci_exact_window from, const int64_t *digits, oci_exact_window to,
                    int64_t *to_digits);

/* The nearest double of a normalised sum; infinite when it passes the largest. */
double oci_exact_round(oci_exact_window window, const int64_t *digits);
/* As precisely as `long double` or better arithmetic allows: see OCI_EXACT_REAL. */
#if defined(__SIZEOF_FLOAT128__)
__extension__ typedef __float128 oci_exact_real;
#else
typedef long double oci_exact_real;
#endif
oci_exact_real oci_exact_value(oci_exact_window window, const int64_t *digits);

/* A normalised sum as bytes, the same for equal sums in any window: at most OCI_EXACT_BYTES_MAX. */
#define OCI_EXACT_BYTES_MAX (1 + 4 * (OCI_EXACT_DIGITS_MAX + 1))
int64_t oci_exact_store(oci_exact_window window, const int64_t *digits, uint8_t *to);
/* Window of stored bytes, n = 0 for a sum of zero; false when these are no stored sum. */
bool oci_exact_stored_window(const uint8_t *bytes, int64_t size, oci_exact_window *window);
/* Adds a stored sum whose digits are in the window. */
void oci_exact_add_stored(oci_exact_window window, int64_t *digits, const uint8_t *bytes,
                          int64_t size);

#endif /* OUTCORE_OPS_AGGREGATE_EXACT_SUM_H */
