/* What statistics say about the values of a column in some rows, and what a comparison makes of it. */
#ifndef OUTCORE_FORMATS_PARQUET_PRUNE_BOUNDS_H
#define OUTCORE_FORMATS_PARQUET_PRUNE_BOUNDS_H

#include "formats/parquet/schema.h"
#include "formats/predicate.h"

/* How values of a column compare. */
typedef enum oci_parquet_class {
    OCI_PARQUET_CLASS_NONE, /* not, or in no known way */
    OCI_PARQUET_CLASS_BOOL,
    OCI_PARQUET_CLASS_SIGNED, /* INT32 and INT64; decimals among them */
    OCI_PARQUET_CLASS_UNSIGNED,
    OCI_PARQUET_CLASS_FLOAT,
    OCI_PARQUET_CLASS_DECIMAL, /* of bytes: two's complement, big-endian */
    OCI_PARQUET_CLASS_BYTES
} oci_parquet_class;

oci_parquet_class oci_parquet_class_of(const oci_parquet_element *element, const oci_field *field);

/* A leaf whose statistics are asked for. */
typedef struct oci_parquet_compared {
    const oci_parquet_element *element;
    oci_parquet_class of;
    bool is_optional;
    bool has_order; /* min and max compare as the format says */
} oci_parquet_compared;

oci_parquet_compared oci_parquet_compare_leaf(const oci_parquet_metadata *metadata,
                                              const oci_parquet_schema *schema, int32_t leaf);

/* Every "may" is true unless it is known to be false. */
typedef struct oci_parquet_bounds {
    bool may_be_null;
    bool may_be_value; /* not null; NaN is one */
    bool may_be_nan;
    bool has_min;
    bool has_max;
    oci_predicate_value min; /* of what is not NaN; bytes point to where they were */
    oci_predicate_value max;
} oci_parquet_bounds;

/* Puts min and max into `bounds`, as far as they can be relied on. */
void oci_parquet_bounds_set(oci_parquet_bounds *bounds, oci_parquet_class of,
                            const oci_parquet_element *element, const oci_parquet_bytes *min,
                            const oci_parquet_bytes *max);

/* What the statistics of a chunk say. */
oci_parquet_bounds oci_parquet_bounds_of_chunk(const oci_parquet_compared *leaf,
                                               const oci_parquet_column_chunk *chunk);

/* Of values of one class, none of them NaN: below, equal to, above 0. */
int oci_parquet_compare(oci_parquet_class of, const oci_predicate_value *a,
                        const oci_predicate_value *b);

/* Whether a value or null within `bounds` can satisfy a predicate that is no AND, OR or TRUE. */
bool oci_parquet_bounds_may_match(const oci_parquet_bounds *bounds, oci_parquet_class of,
                                  const oci_predicate *predicate);

/* A value as PLAIN encodes it, for Bloom filters: *size bytes at `out` (or, BYTES, at *bytes); false when it has
 * several forms or none. Values of predicates have the type of `of` or are refused too. */
enum { OCI_PARQUET_PLAIN_BYTES_MAX = 32 };
bool oci_parquet_plain_value(const oci_predicate_value *value, oci_parquet_class of,
                             const oci_parquet_element *element,
                             uint8_t out[OCI_PARQUET_PLAIN_BYTES_MAX], const uint8_t **bytes,
                             int64_t *size);

#endif /* OUTCORE_FORMATS_PARQUET_PRUNE_BOUNDS_H */
