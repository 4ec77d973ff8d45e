/* Packed columns: what both directions know about how a node lies, see docs/spill-format.md.
 *
 *   node = header (8 bytes): validity u8, kind u8, part u8, zeros
 *          validity BITS: null count u64, bitmap
 *          values, by the layout of the field
 *          children
 *
 * Bitmaps are integer vectors of 64-bit words, so runs of nulls and constants cost nothing. */
#ifndef OUTCORE_ENCODING_PACK_FORMAT_H
#define OUTCORE_ENCODING_PACK_FORMAT_H

#include "arrow/schema.h"
#include "encoding/streams.h"

#define OCI_NODE_BYTES 8

typedef enum oci_node_validity {
    OCI_NODE_ALL_VALID,
    OCI_NODE_ALL_NULL, /* there are no values */
    OCI_NODE_BITMAP    /* fixed-width values: only those that are not null are there */
} oci_node_validity;

/* Values of fixed width. What `part` is, depends. */
typedef enum oci_fixed_kind {
    OCI_FIXED_WORDS, /* `part` integer vectors of 64-bit words, low one first; the rest is sign */
    OCI_FIXED_PLANES, /* the low `part` bytes of each value together; of each higher byte a vector. With
                         all bytes low ones: plain */
    OCI_FIXED_SCALED /* floating point as whole numbers over 10 to the `part` */
} oci_fixed_kind;

#define OCI_SCALE_MAX 15 /* digits that a double is sure to hold */

/* Offsets of list views and dense unions. */
typedef enum oci_offsets_kind {
    OCI_OFFSETS_STORED,
    OCI_OFFSETS_IN_ORDER /* each row begins where the one before (of its child) ended */
} oci_offsets_kind;

/* FIXED_BINARY goes the way of strings. */
static inline bool oci_field_is_strings(const oci_field *field)
{
    switch (oci_field_layout(field)) {
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64:
    case OCI_LAYOUT_VIEWS: return true;
    default: return field->type == OCI_TYPE_FIXED_BINARY;
    }
}

/* All values are of no bytes: there is nothing to store. */
static inline bool oci_field_is_empty(const oci_field *field)
{
    return oci_field_layout(field) == OCI_LAYOUT_FIXED && field->byte_width == 0;
}

static inline bool oci_field_is_float(const oci_field *field)
{
    return field->type == OCI_TYPE_FLOAT16 || field->type == OCI_TYPE_FLOAT32 ||
           field->type == OCI_TYPE_FLOAT64;
}

static inline bool oci_field_is_unsigned(const oci_field *field)
{
    switch (field->type) {
    case OCI_TYPE_UINT8:
    case OCI_TYPE_UINT16:
    case OCI_TYPE_UINT32: return true;
    default: return oci_field_is_float(field);
    }
}

/* 10 to the power. */
static inline double oci_scale_of(int exponent)
{
    double scale = 1;
    for (int i = 0; i < exponent; i++) {
        scale *= 10; /* exact up to 10^22 */
    }
    return scale;
}

/* The bits of whole / scale, a float64 or float32. */
static inline uint64_t oci_scaled_bits(int64_t whole, double scale, bool is_narrow)
{
    double value = (double)whole / scale;
    uint64_t bits;
    if (is_narrow) {
        float narrow = (float)value;
        uint32_t low;
        memcpy(&low, &narrow, sizeof low);
        return low;
    }
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Bytes of the offsets, sizes or indices that a field has besides its values. */
static inline int oci_field_offset_width(const oci_field *field)
{
    switch (oci_field_layout(field)) {
    case OCI_LAYOUT_OFFSETS64:
    case OCI_LAYOUT_LIST64:
    case OCI_LAYOUT_LIST_VIEW64: return 8;
    case OCI_LAYOUT_DICTIONARY: return field->byte_width;
    default: return 4;
    }
}

#endif /* OUTCORE_ENCODING_PACK_FORMAT_H */
