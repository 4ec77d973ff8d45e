/* What a scan is told about the rows that are wanted, so that a format can leave out what cannot match.
 *
 * A hint, never the filter itself: whoever gives it still filters the rows. So what a format cannot decide counts
 * as "may match", and a condition that has no form here is left out of an AND (and makes an OR say nothing).
 * Formats see nothing of expressions; the planner translates.
 *
 * Comparison as in SQL: a null never matches. Floats order -0.0 as 0.0 and NaN above all others and equal to
 * itself, as `src/expr` does. Texts and binary compare bytes. */
#ifndef OUTCORE_FORMATS_PREDICATE_H
#define OUTCORE_FORMATS_PREDICATE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum oci_predicate_kind {
    OCI_PREDICATE_TRUE, /* may match anything */
    OCI_PREDICATE_EQUAL,
    OCI_PREDICATE_NOT_EQUAL,
    OCI_PREDICATE_LESS,
    OCI_PREDICATE_LESS_EQUAL,
    OCI_PREDICATE_GREATER,
    OCI_PREDICATE_GREATER_EQUAL,
    OCI_PREDICATE_IN, /* equal to one of `values` */
    OCI_PREDICATE_IS_NULL,
    OCI_PREDICATE_IS_NOT_NULL,
    OCI_PREDICATE_AND, /* of all children */
    OCI_PREDICATE_OR   /* of one child at least */
} oci_predicate_kind;

/* How a value is given; it has the type of the column it is compared with. */
typedef enum oci_predicate_type {
    OCI_PREDICATE_BOOL, /* integer 0 or 1 */
    OCI_PREDICATE_INTEGER, /* signed integers, dates, times, timestamps, durations in the column's unit; decimals
                              as the digits at the column's scale: 256 bits, see `wide` */
    OCI_PREDICATE_UNSIGNED,
    OCI_PREDICATE_FLOAT, /* float16, 32 and 64, as a double */
    OCI_PREDICATE_BYTES  /* text, binary, fixed binary */
} oci_predicate_type;

typedef struct oci_predicate_value {
    oci_predicate_type type;
    union {
        uint64_t unsigned_integer;
        double number;
        uint64_t wide[4]; /* INTEGER and BOOL: two's complement, the lowest 64 bits first */
        struct {
            const uint8_t *data;
            int64_t size;
        } bytes;
    };
} oci_predicate_value;

typedef struct oci_predicate {
    oci_predicate_kind kind;
    int32_t column; /* of the file's schema; not for AND, OR, TRUE */
    int32_t n_values;
    const oci_predicate_value *values; /* comparisons: one; IN: any number */
    int32_t n_children;
    const struct oci_predicate *children; /* AND, OR */
} oci_predicate;

/* Fills an INTEGER or BOOL. */
static inline oci_predicate_value oci_predicate_integer(int64_t value)
{
    uint64_t sign = value < 0 ? UINT64_MAX : 0;
    return (oci_predicate_value){.type = OCI_PREDICATE_INTEGER,
                                 .wide = {(uint64_t)value, sign, sign, sign}};
}

#endif /* OUTCORE_FORMATS_PREDICATE_H */
