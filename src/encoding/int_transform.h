/* What is done to a page of integers before it is packed: differences, runs, codes into a dictionary,
 * division by a common factor. Used by the encoder, and by the choice among them. Arithmetic
 * wraps. */
#ifndef OUTCORE_ENCODING_INT_TRANSFORM_H
#define OUTCORE_ENCODING_INT_TRANSFORM_H

#include "encoding/int_vector.h"

/* out[i] = values[i] - values[i - 1], where `before` is values[-1]. */
void oci_int_differences(const uint64_t *values, int64_t n, uint64_t before, uint64_t *out);

/* Values without repetition, and how often each is repeated after its first time. Returns how many
 * runs there are. Both have room for n. */
int64_t oci_int_find_runs(const uint64_t *values, int64_t n, uint64_t *run_values,
                          uint64_t *repeats);

/* ---- dictionaries ---------------------------------------------------------------------------- */

/* Distinct values in the order of their coming. Initialise with oci_int_dictionary_init(). */
enum { OCI_INT_SLOTS = 4 * OCI_INT_DICTIONARY_MAX };
typedef struct oci_int_dictionary {
    int32_t n;
    uint64_t values[OCI_INT_DICTIONARY_MAX];
    /* Hashed: a value, and its code + 1, 0 where the slot is free. A free slot holds a value that
     * belongs to another one, so that looking there once needs no look at the code. */
    uint64_t slots[OCI_INT_SLOTS];
    uint16_t codes[OCI_INT_SLOTS];
} oci_int_dictionary;

void oci_int_dictionary_init(oci_int_dictionary *dictionary);
/* Writes codes of values, adding what is new. False when there is no room for a value. `codes` may
 * be `values`. */
bool oci_int_dictionary_codes(oci_int_dictionary *dictionary, const uint64_t *values, int64_t n,
                              uint64_t *codes);

/* ---- common factors -------------------------------------------------------------------------- */

/* The largest number that divides every values[i] - offset, 0 when all are offset. Compared as
 * signed. */
uint64_t oci_int_common_factor(const uint64_t *values, int64_t n, uint64_t offset, uint64_t factor);

/* values[i] = (values[i] - offset) / factor, all exact. False, and values spoilt, when one is
 * not. factor >= 2. */
bool oci_int_divide(uint64_t *values, int64_t n, uint64_t offset, uint64_t factor);

#endif /* OUTCORE_ENCODING_INT_TRANSFORM_H */
