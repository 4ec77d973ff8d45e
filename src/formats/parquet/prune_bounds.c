/* See prune_bounds.h. Statistics are values in PLAIN encoding, texts without their length. They become values of
 * predicates, and these are compared in one place. */
#include "formats/parquet/prune_bounds.h"

#include <math.h>
#include <string.h>

#include "base/bits.h"

oci_parquet_class oci_parquet_class_of(const oci_parquet_element *element, const oci_field *field)
{
    bool is_integer = element->type == OCI_PARQUET_INT32 || element->type == OCI_PARQUET_INT64;
    switch (field->type) {
    case OCI_TYPE_BOOL: return OCI_PARQUET_CLASS_BOOL;
    case OCI_TYPE_INT8:
    case OCI_TYPE_INT16:
    case OCI_TYPE_INT32:
    case OCI_TYPE_INT64:
    case OCI_TYPE_DATE32:
    case OCI_TYPE_TIME32:
    case OCI_TYPE_TIME64:
    case OCI_TYPE_TIMESTAMP: /* INT96 has no order */
    case OCI_TYPE_DURATION: return is_integer ? OCI_PARQUET_CLASS_SIGNED : OCI_PARQUET_CLASS_NONE;
    case OCI_TYPE_UINT8:
    case OCI_TYPE_UINT16:
    case OCI_TYPE_UINT32:
    case OCI_TYPE_UINT64: return OCI_PARQUET_CLASS_UNSIGNED;
    case OCI_TYPE_FLOAT16:
    case OCI_TYPE_FLOAT32:
    case OCI_TYPE_FLOAT64: return OCI_PARQUET_CLASS_FLOAT;
    case OCI_TYPE_DECIMAL32:
    case OCI_TYPE_DECIMAL64:
    case OCI_TYPE_DECIMAL128:
    case OCI_TYPE_DECIMAL256:
        return is_integer ? OCI_PARQUET_CLASS_SIGNED : OCI_PARQUET_CLASS_DECIMAL;
    case OCI_TYPE_UTF8:
    case OCI_TYPE_LARGE_UTF8:
    case OCI_TYPE_UTF8_VIEW:
    case OCI_TYPE_BINARY:
    case OCI_TYPE_LARGE_BINARY:
    case OCI_TYPE_BINARY_VIEW:
    case OCI_TYPE_DICTIONARY: return OCI_PARQUET_CLASS_BYTES;
    case OCI_TYPE_FIXED_BINARY:
        return element->converted == OCI_PARQUET_CONVERTED_INTERVAL ? OCI_PARQUET_CLASS_NONE
                                                                    : OCI_PARQUET_CLASS_BYTES;
    default: return OCI_PARQUET_CLASS_NONE;
    }
}

/* ---- decoding -------------------------------------------------------------------------------- */

static double half_to_double(uint16_t half)
{
    int exponent = half >> 10 & 31;
    double fraction = half & 1023;
    double value = exponent == 31  ? (fraction == 0 ? (double)INFINITY : (double)NAN)
                   : exponent == 0 ? ldexp(fraction, -24)
                                   : ldexp(fraction + 1024, exponent - 25);
    return half >> 15 != 0 ? -value : value;
}

static bool decode_float(const oci_parquet_element *e, const uint8_t *data,
                         oci_predicate_value *out)
{
    out->type = OCI_PREDICATE_FLOAT;
    if (e->type == OCI_PARQUET_FLOAT) {
        uint32_t bits = oci_load_le32(data);
        float number;
        memcpy(&number, &bits, sizeof number);
        out->number = (double)number;
    } else if (e->type == OCI_PARQUET_DOUBLE) {
        uint64_t bits = oci_load_le64(data);
        memcpy(&out->number, &bits, sizeof bits);
    } else {
        out->number = half_to_double(oci_load_le16(data));
    }
    return !isnan(out->number);
}

/* Big-endian two's complement of up to 32 bytes; longer ones are sign beyond that. */
static bool decode_decimal(const oci_parquet_bytes *bytes, oci_predicate_value *out)
{
    if (bytes->size == 0) {
        return false;
    }
    uint8_t sign = (bytes->data[0] & 0x80) != 0 ? 0xFF : 0;
    out->type = OCI_PREDICATE_INTEGER;
    memset(out->wide, sign, sizeof out->wide);
    for (int64_t i = 0; i < bytes->size; i++) {
        int64_t place = bytes->size - 1 - i; /* from the lowest */
        if (place >= 32) {
            if (bytes->data[i] != sign) {
                return false;
            }
            continue;
        }
        int shift = (int)(place % 8 * 8);
        uint64_t *word = &out->wide[place / 8];
        *word = (*word & ~(UINT64_C(0xFF) << shift)) | (uint64_t)bytes->data[i] << shift;
    }
    return true;
}

static int64_t width_of(const oci_parquet_element *e)
{
    switch (e->type) {
    case OCI_PARQUET_BOOLEAN: return 1;
    case OCI_PARQUET_INT32:
    case OCI_PARQUET_FLOAT: return 4;
    case OCI_PARQUET_INT64:
    case OCI_PARQUET_DOUBLE: return 8;
    case OCI_PARQUET_FIXED: return e->type_length;
    default: return -1;
    }
}

/* False when the bytes are absent, no value of the type, or NaN. */
static bool decode(oci_parquet_class of, const oci_parquet_element *e,
                   const oci_parquet_bytes *bytes, oci_predicate_value *out)
{
    int64_t width = width_of(e);
    bool is_cut_text = of == OCI_PARQUET_CLASS_BYTES && bytes->size < width;
    if (bytes->data == NULL || (width >= 0 && bytes->size != width && !is_cut_text)) {
        return false;
    }
    switch (of) {
    case OCI_PARQUET_CLASS_BOOL: *out = oci_predicate_integer(bytes->data[0] & 1); return true;
    case OCI_PARQUET_CLASS_SIGNED:
        *out = oci_predicate_integer(width == 4 ? (int32_t)oci_load_le32(bytes->data)
                                                : (int64_t)oci_load_le64(bytes->data));
        return true;
    case OCI_PARQUET_CLASS_UNSIGNED:
        out->type = OCI_PREDICATE_UNSIGNED;
        out->unsigned_integer = width == 4 ? oci_load_le32(bytes->data)
                                           : oci_load_le64(bytes->data);
        return true;
    case OCI_PARQUET_CLASS_FLOAT: return decode_float(e, bytes->data, out);
    case OCI_PARQUET_CLASS_DECIMAL: return decode_decimal(bytes, out);
    case OCI_PARQUET_CLASS_BYTES:
        out->type = OCI_PREDICATE_BYTES;
        out->bytes.data = bytes->data;
        out->bytes.size = bytes->size;
        return true;
    default: return false;
    }
}

/* ---- comparing ------------------------------------------------------------------------------- */

static int compare_wide(const uint64_t a[4], const uint64_t b[4])
{
    if (a[3] != b[3]) {
        return (int64_t)a[3] < (int64_t)b[3] ? -1 : 1;
    }
    for (int i = 2; i >= 0; i--) {
        if (a[i] != b[i]) {
            return a[i] < b[i] ? -1 : 1;
        }
    }
    return 0;
}

static int compare_bytes(const oci_predicate_value *a, const oci_predicate_value *b)
{
    int64_t shared = oci_min64(a->bytes.size, b->bytes.size);
    int order = shared == 0 ? 0 : memcmp(a->bytes.data, b->bytes.data, (size_t)shared);
    return order != 0 ? order : (a->bytes.size > b->bytes.size) - (a->bytes.size < b->bytes.size);
}

int oci_parquet_compare(oci_parquet_class of, const oci_predicate_value *a,
                        const oci_predicate_value *b)
{
    switch (of) {
    case OCI_PARQUET_CLASS_UNSIGNED:
        return (a->unsigned_integer > b->unsigned_integer) -
               (a->unsigned_integer < b->unsigned_integer);
    case OCI_PARQUET_CLASS_FLOAT: return (a->number > b->number) - (a->number < b->number);
    case OCI_PARQUET_CLASS_BYTES: return compare_bytes(a, b);
    default: return compare_wide(a->wide, b->wide);
    }
}

void oci_parquet_bounds_set(oci_parquet_bounds *bounds, oci_parquet_class of,
                            const oci_parquet_element *element, const oci_parquet_bytes *min,
                            const oci_parquet_bytes *max)
{
    bounds->has_min = decode(of, element, min, &bounds->min);
    bounds->has_max = decode(of, element, max, &bounds->max);
    /* Whoever wrote NaN, or a min above its max, did not know the order. */
    bool is_lost = of == OCI_PARQUET_CLASS_FLOAT && bounds->has_min != bounds->has_max;
    if (is_lost || (bounds->has_min && bounds->has_max &&
                    oci_parquet_compare(of, &bounds->min, &bounds->max) > 0)) {
        bounds->has_min = false;
        bounds->has_max = false;
    }
}

static bool is_signed(oci_parquet_class of)
{
    return of == OCI_PARQUET_CLASS_SIGNED || of == OCI_PARQUET_CLASS_FLOAT ||
           of == OCI_PARQUET_CLASS_BOOL;
}

oci_parquet_compared oci_parquet_compare_leaf(const oci_parquet_metadata *metadata,
                                              const oci_parquet_schema *schema, int32_t leaf)
{
    const oci_parquet_leaf *l = &schema->leaves[leaf];
    oci_parquet_compared made = {.element = l->element,
                                 .of = oci_parquet_class_of(l->element, l->field),
                                 .is_optional = l->max_definition > 0};
    /* Signed numbers have one order that makes sense, whether the writer named it or not. */
    made.has_order = is_signed(made.of) ||
                     (metadata->column_orders != NULL &&
                      metadata->column_orders[leaf] == OCI_PARQUET_ORDER_TYPE);
    return made;
}

oci_parquet_bounds oci_parquet_bounds_of_chunk(const oci_parquet_compared *leaf,
                                               const oci_parquet_column_chunk *chunk)
{
    const oci_parquet_statistics *s = &chunk->statistics;
    bool is_old = s->min.data == NULL && s->max.data == NULL;
    oci_parquet_bounds bounds = {
        .may_be_null = leaf->is_optional && s->null_count != 0,
        .may_be_value = s->null_count < chunk->n_values || chunk->n_values == 0,
        .may_be_nan = leaf->of == OCI_PARQUET_CLASS_FLOAT && s->nan_count != 0};
    if (!is_old && leaf->has_order) {
        oci_parquet_bounds_set(&bounds, leaf->of, leaf->element, &s->min, &s->max);
    } else if (is_old && is_signed(leaf->of)) {
        oci_parquet_bounds_set(&bounds, leaf->of, leaf->element, &s->min_deprecated,
                               &s->max_deprecated);
    }
    return bounds;
}

/* Whether the value of a predicate can be compared with those of the class at all. */
static bool is_comparable(oci_parquet_class of, oci_predicate_type type)
{
    switch (of) {
    case OCI_PARQUET_CLASS_BOOL: return type == OCI_PREDICATE_BOOL || type == OCI_PREDICATE_INTEGER;
    case OCI_PARQUET_CLASS_SIGNED:
    case OCI_PARQUET_CLASS_DECIMAL: return type == OCI_PREDICATE_INTEGER;
    case OCI_PARQUET_CLASS_UNSIGNED: return type == OCI_PREDICATE_UNSIGNED;
    case OCI_PARQUET_CLASS_FLOAT: return type == OCI_PREDICATE_FLOAT;
    case OCI_PARQUET_CLASS_BYTES: return type == OCI_PREDICATE_BYTES;
    default: return false;
    }
}

/* Comparisons with NaN, which is above all others and equal to itself. */
static bool may_match_nan(const oci_parquet_bounds *b, oci_predicate_kind kind)
{
    switch (kind) {
    case OCI_PREDICATE_EQUAL:
    case OCI_PREDICATE_IN:
    case OCI_PREDICATE_GREATER_EQUAL: return b->may_be_nan;
    case OCI_PREDICATE_GREATER: return false;
    default: return true;
    }
}

static bool may_compare(const oci_parquet_bounds *b, oci_parquet_class of, oci_predicate_kind kind,
                        const oci_predicate_value *value)
{
    if (!is_comparable(of, value->type)) {
        return true;
    }
    if (of == OCI_PARQUET_CLASS_FLOAT && isnan(value->number)) {
        return may_match_nan(b, kind);
    }
    /* Where the value lies; 0 when that is not known. */
    int to_min = b->has_min ? oci_parquet_compare(of, value, &b->min) : 0;
    int to_max = b->has_max ? oci_parquet_compare(of, value, &b->max) : 0;
    switch (kind) {
    case OCI_PREDICATE_EQUAL:
    case OCI_PREDICATE_IN: return to_min >= 0 && to_max <= 0;
    case OCI_PREDICATE_NOT_EQUAL:
        return !b->has_min || !b->has_max || to_min != 0 || to_max != 0 || b->may_be_nan;
    case OCI_PREDICATE_LESS: return !b->has_min || to_min > 0;
    case OCI_PREDICATE_LESS_EQUAL: return to_min >= 0;
    case OCI_PREDICATE_GREATER: return !b->has_max || to_max < 0 || b->may_be_nan;
    case OCI_PREDICATE_GREATER_EQUAL: return to_max <= 0 || b->may_be_nan;
    default: return true;
    }
}

bool oci_parquet_bounds_may_match(const oci_parquet_bounds *bounds, oci_parquet_class of,
                                  const oci_predicate *predicate)
{
    if (predicate->kind == OCI_PREDICATE_IS_NULL) {
        return bounds->may_be_null;
    }
    if (!bounds->may_be_value || predicate->kind == OCI_PREDICATE_IS_NOT_NULL) {
        return bounds->may_be_value;
    }
    for (int32_t i = 0; i < predicate->n_values; i++) {
        if (may_compare(bounds, of, predicate->kind, &predicate->values[i])) {
            return true;
        }
    }
    return false;
}

/* ---- encoding -------------------------------------------------------------------------------- */

static bool plain_integer(const oci_predicate_value *value, oci_parquet_class of,
                          const oci_parquet_element *e, uint8_t *out, int64_t *size)
{
    uint64_t low = of == OCI_PARQUET_CLASS_UNSIGNED ? value->unsigned_integer : value->wide[0];
    *size = width_of(e);
    if (of == OCI_PARQUET_CLASS_SIGNED) {
        const oci_predicate_value narrow =
            oci_predicate_integer(*size == 4 ? (int32_t)low : (int64_t)low);
        if (compare_wide(narrow.wide, value->wide) != 0) {
            return false;
        }
    } else if (*size == 4 && low > UINT32_MAX) {
        return false;
    }
    oci_store_le64(out, low);
    return true;
}

/* Zero has two forms, NaN many, and numbers that the column cannot hold none. */
static bool plain_float(const oci_predicate_value *value, const oci_parquet_element *e,
                        uint8_t *out, int64_t *size)
{
    float narrow = (float)value->number;
    *size = width_of(e);
    if (value->number == 0 || isnan(value->number) || e->type == OCI_PARQUET_FIXED ||
        (e->type == OCI_PARQUET_FLOAT && (double)narrow != value->number)) {
        return false;
    }
    uint64_t bits = 0;
    if (e->type == OCI_PARQUET_FLOAT) {
        uint32_t bits32;
        memcpy(&bits32, &narrow, sizeof bits32);
        bits = bits32;
    } else {
        memcpy(&bits, &value->number, sizeof bits);
    }
    oci_store_le64(out, bits);
    return true;
}

static bool plain_decimal(const oci_predicate_value *value, const oci_parquet_element *e,
                          uint8_t *out, int64_t *size)
{
    *size = e->type_length;
    if (e->type != OCI_PARQUET_FIXED || *size > OCI_PARQUET_PLAIN_BYTES_MAX) {
        return false;
    }
    for (int64_t i = 0; i < *size; i++) {
        int64_t place = *size - 1 - i;
        out[i] = (uint8_t)(value->wide[place / 8] >> (place % 8 * 8));
    }
    /* It fits when it is read back as what it was. */
    oci_predicate_value back;
    const oci_parquet_bytes bytes = {out, *size};
    return decode_decimal(&bytes, &back) && compare_wide(back.wide, value->wide) == 0;
}

bool oci_parquet_plain_value(const oci_predicate_value *value, oci_parquet_class of,
                             const oci_parquet_element *element,
                             uint8_t out[OCI_PARQUET_PLAIN_BYTES_MAX], const uint8_t **bytes,
                             int64_t *size)
{
    *bytes = out;
    if (!is_comparable(of, value->type)) {
        return false;
    }
    switch (of) {
    case OCI_PARQUET_CLASS_SIGNED:
    case OCI_PARQUET_CLASS_UNSIGNED: return plain_integer(value, of, element, out, size);
    case OCI_PARQUET_CLASS_FLOAT: return plain_float(value, element, out, size);
    case OCI_PARQUET_CLASS_DECIMAL: return plain_decimal(value, element, out, size);
    case OCI_PARQUET_CLASS_BYTES:
        *bytes = value->bytes.data;
        *size = value->bytes.size;
        return true;
    default: return false;
    }
}
