/* Row keys: values of one width, each as a null byte and `width` bytes whose memcmp order is the
 * order of values.
 *
 * One loop per type: load, turn into an unsigned number of the same order, flip for DESC, store
 * big-endian. The loops encode null slots too (they hold some bytes, no matter which) and a second
 * pass over the bitmap puts the nulls in; that is cheaper than a test per row. Plain columns are
 * encoded where they lie. Values behind a dictionary or run ends, and bools, are first laid side by
 * side in a block. */
#include "arrow/row_key_internal.h"

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

#define SIGN8  0x80u
#define SIGN16 0x8000u
#define SIGN32 0x80000000u
#define SIGN64 (UINT64_C(1) << 63)

#define NANOS_PER_DAY  INT64_C(86400000000000)
#define MILLIS_PER_DAY INT64_C(86400000)
#define DAYS_PER_MONTH 30

/* Widest value that goes through a block; wider ones (fixed binary) are encoded one by one where
 * they lie. */
#define STAGED_WIDTH 32

int64_t oci_key_width(const oci_field *type)
{
    switch (oci_field_layout(type)) {
    case OCI_LAYOUT_NULL: return 0;
    case OCI_LAYOUT_BITS: return 1;
    case OCI_LAYOUT_FIXED: return type->byte_width;
    case OCI_LAYOUT_DICTIONARY: return oci_key_width(type->dictionary);
    case OCI_LAYOUT_RUN_ENDS: return oci_key_width(&type->children[1]);
    default: return -1;
    }
}

/* ---- one value ------------------------------------------------------------------------------- */

static inline void store_be16(uint8_t *to, uint32_t value)
{
    oci_store_le16(to, __builtin_bswap16((uint16_t)value));
}

static inline void store_be32(uint8_t *to, uint32_t value)
{
    oci_store_le32(to, __builtin_bswap32(value));
}

static inline void encode_uint8(const uint8_t *from, uint8_t *to, uint64_t flip)
{
    *to = (uint8_t)(*from ^ flip);
}

static inline void encode_int8(const uint8_t *from, uint8_t *to, uint64_t flip)
{
    *to = (uint8_t)(*from ^ SIGN8 ^ flip);
}

static inline void encode_uint16(const uint8_t *from, uint8_t *to, uint64_t flip)
{
    store_be16(to, oci_load_le16(from) ^ (uint32_t)flip);
}

static inline void encode_int16(const uint8_t *from, uint8_t *to, uint64_t flip)
{
    store_be16(to, oci_load_le16(from) ^ SIGN16 ^ (uint32_t)flip);
}

static inline void encode_uint32(const uint8_t *from, uint8_t *to, uint64_t flip)
{
    store_be32(to, oci_load_le32(from) ^ (uint32_t)flip);
}

static inline void encode_int32(const uint8_t *from, uint8_t *to, uint64_t flip)
{
    store_be32(to, oci_load_le32(from) ^ SIGN32 ^ (uint32_t)flip);
}

static inline void encode_uint64(const uint8_t *from, uint8_t *to, uint64_t flip)
{
    oci_store_be64(to, oci_load_le64(from) ^ flip);
}

static inline void encode_int64(const uint8_t *from, uint8_t *to, uint64_t flip)
{
    oci_store_be64(to, oci_load_le64(from) ^ SIGN64 ^ flip);
}

static inline void encode_int128(const uint8_t *from, uint8_t *to, uint64_t flip)
{
    oci_store_be64(to, oci_load_le64(from + 8) ^ SIGN64 ^ flip);
    oci_store_be64(to + 8, oci_load_le64(from) ^ flip);
}

static inline void encode_int256(const uint8_t *from, uint8_t *to, uint64_t flip)
{
    oci_store_be64(to, oci_load_le64(from + 24) ^ SIGN64 ^ flip);
    oci_store_be64(to + 8, oci_load_le64(from + 16) ^ flip);
    oci_store_be64(to + 16, oci_load_le64(from + 8) ^ flip);
    oci_store_be64(to + 24, oci_load_le64(from) ^ flip);
}

/* Floats as numbers of the same order: zeros and NaNs become one each, then negative values are
 * inverted and the others get the sign bit. `bits` and constants are those of the width, in the low
 * end. */
static inline uint64_t order_float(uint64_t bits, uint64_t sign, uint64_t infinity)
{
    uint64_t magnitude = bits & (sign - 1);
    bits = magnitude == 0 ? 0 : bits;
    bits = magnitude > infinity ? sign - 1 : bits; /* above +infinity; no number has these bits */
    return (bits & sign) != 0 ? ~bits : bits | sign;
}

static inline void encode_float16(const uint8_t *from, uint8_t *to, uint64_t flip)
{
    store_be16(to, (uint32_t)(order_float(oci_load_le16(from), SIGN16, 0x7C00) ^ flip));
}

static inline void encode_float32(const uint8_t *from, uint8_t *to, uint64_t flip)
{
    store_be32(to, (uint32_t)(order_float(oci_load_le32(from), SIGN32, 0x7F800000) ^ flip));
}

static inline void encode_float64(const uint8_t *from, uint8_t *to, uint64_t flip)
{
    oci_store_be64(to,
                   order_float(oci_load_le64(from), SIGN64, UINT64_C(0x7FF0000000000000)) ^ flip);
}

static inline void encode_day_time(const uint8_t *from, uint8_t *to, uint64_t flip)
{
    int64_t days = (int32_t)oci_load_le32(from);
    int64_t millis = (int32_t)oci_load_le32(from + 4);
    oci_store_be64(to, (uint64_t)(days * MILLIS_PER_DAY + millis) ^ SIGN64 ^ flip);
}

static inline void encode_month_day_nano(const uint8_t *from, uint8_t *to, uint64_t flip)
{
    int64_t months = (int32_t)oci_load_le32(from);
    int64_t days = (int32_t)oci_load_le32(from + 4);
    int64_t nanos = (int64_t)oci_load_le64(from + 8);
    uint128 length = (uint128)((int128)(months * DAYS_PER_MONTH + days) * NANOS_PER_DAY + nanos);
    oci_store_be64(to, (uint64_t)(length >> 64) ^ SIGN64 ^ flip);
    oci_store_be64(to + 8, (uint64_t)length ^ flip);
}

/* ---- all values ------------------------------------------------------------------------------ */

/* Two loops, so that the one over a fixed stride does no lookups. */
#define ENCODE_ALL(encode, width)                                    \
    if (target->cursors == NULL) {                                   \
        for (int64_t i = 0; i < n; i++) {                            \
            to[i * stride] = OCI_KEY_VALID;                          \
            encode(values + i * (width), to + i * stride + 1, flip); \
        }                                                            \
    } else {                                                         \
        for (int64_t i = 0; i < n; i++) {                            \
            to[cursors[i]] = OCI_KEY_VALID;                          \
            encode(values + i * (width), to + cursors[i] + 1, flip); \
        }                                                            \
    }                                                                \
    break

static void encode_fixed_binary(const uint8_t *values, int64_t width, int64_t n, uint8_t flip,
                                const oci_key_target *target)
{
    for (int64_t i = 0; i < n; i++) {
        uint8_t *to = oci_key_target_at(target, i);
        *to++ = OCI_KEY_VALID;
        for (int64_t k = 0; k < width; k++) {
            to[k] = values[i * width + k] ^ flip;
        }
    }
}

void oci_key_encode_values(const oci_field *type, uint8_t flip_byte, const uint8_t *values,
                           int64_t n, const oci_key_target *target)
{
    uint8_t *to = target->bytes;
    const uint32_t *cursors = target->cursors;
    int64_t stride = target->stride;
    uint64_t flip = flip_byte == 0 ? 0 : ~UINT64_C(0);
    switch (type->type) {
    case OCI_TYPE_BOOL:
    case OCI_TYPE_UINT8: ENCODE_ALL(encode_uint8, 1);
    case OCI_TYPE_INT8: ENCODE_ALL(encode_int8, 1);
    case OCI_TYPE_UINT16: ENCODE_ALL(encode_uint16, 2);
    case OCI_TYPE_INT16: ENCODE_ALL(encode_int16, 2);
    case OCI_TYPE_FLOAT16: ENCODE_ALL(encode_float16, 2);
    case OCI_TYPE_UINT32: ENCODE_ALL(encode_uint32, 4);
    case OCI_TYPE_INT32:
    case OCI_TYPE_DECIMAL32:
    case OCI_TYPE_DATE32:
    case OCI_TYPE_TIME32:
    case OCI_TYPE_INTERVAL_MONTHS: ENCODE_ALL(encode_int32, 4);
    case OCI_TYPE_FLOAT32: ENCODE_ALL(encode_float32, 4);
    case OCI_TYPE_UINT64: ENCODE_ALL(encode_uint64, 8);
    case OCI_TYPE_INT64:
    case OCI_TYPE_DECIMAL64:
    case OCI_TYPE_DATE64:
    case OCI_TYPE_TIME64:
    case OCI_TYPE_TIMESTAMP:
    case OCI_TYPE_DURATION: ENCODE_ALL(encode_int64, 8);
    case OCI_TYPE_FLOAT64: ENCODE_ALL(encode_float64, 8);
    case OCI_TYPE_INTERVAL_DAY_TIME: ENCODE_ALL(encode_day_time, 8);
    case OCI_TYPE_DECIMAL128: ENCODE_ALL(encode_int128, 16);
    case OCI_TYPE_INTERVAL_MONTH_DAY_NANO: ENCODE_ALL(encode_month_day_nano, 16);
    case OCI_TYPE_DECIMAL256: ENCODE_ALL(encode_int256, 32);
    default: encode_fixed_binary(values, type->byte_width, n, flip_byte, target); break;
    }
}

static void put_null(const oci_key_part *part, const oci_key_target *target, int64_t row)
{
    uint8_t *to = oci_key_target_at(target, row);
    *to = part->null_byte;
    memset(to + 1, 0, (size_t)part->width);
}

/* ---- plain columns --------------------------------------------------------------------------- */

static void encode_plain(const oci_key_part *part, const oci_key_target *target)
{
    const oci_column *column = part->column;
    int64_t n = column->length;
    if (n == 0) {
        return;
    }
    oci_key_encode_values(part->type, part->flip,
                          part->width == 0 ? NULL : column->values + column->offset * part->width,
                          n, target);
    if (column->validity == NULL || column->null_count == 0) {
        return;
    }
    for (int64_t i = 0; i < n; i += 64) {
        int count = (int)oci_min64(64, n - i);
        uint64_t nulls = ~oci_bits_load(column->validity, column->offset + i, count) &
                         oci_low_mask(count);
        for (; nulls != 0; nulls &= nulls - 1) {
            put_null(part, target, i + __builtin_ctzll(nulls));
        }
    }
}

/* ---- bools, what is looked up, nulls --------------------------------------------------------- */

static void stage_values(const oci_key_part *part, const int64_t *rows, int64_t n, uint8_t *staged)
{
    const oci_column *leaf = part->leaf;
    int64_t width = part->width;
    bool is_bits = oci_field_layout(part->type) == OCI_LAYOUT_BITS;
    for (int64_t k = 0; k < n; k++) {
        if (rows[k] < 0) {
            memset(staged + k * width, 0, (size_t)width);
        } else if (is_bits) {
            staged[k] = oci_bit_get(leaf->values, leaf->offset + rows[k]);
        } else {
            memcpy(staged + k * width, leaf->values + (leaf->offset + rows[k]) * width,
                   (size_t)width);
        }
    }
}

static void encode_block(const oci_key_part *part, const int64_t *rows, int64_t n,
                         const oci_key_target *target)
{
    uint8_t staged[OCI_KEY_BLOCK * STAGED_WIDTH];
    if (part->width <= STAGED_WIDTH) {
        stage_values(part, rows, n, staged);
        oci_key_encode_values(part->type, part->flip, staged, n, target);
    }
    for (int64_t k = 0; k < n; k++) {
        if (rows[k] < 0) {
            put_null(part, target, k);
        } else if (part->width > STAGED_WIDTH) {
            oci_key_target one = {.bytes = oci_key_target_at(target, k)};
            oci_key_encode_values(part->type, part->flip,
                                  part->leaf->values + (part->leaf->offset + rows[k]) * part->width,
                                  1, &one);
        }
    }
}

static oc_status encode_looked_up(const oci_key_part *part, const oci_key_target *target,
                                  oc_error *err)
{
    int64_t rows[OCI_KEY_BLOCK];
    for (int64_t i = 0; i < part->column->length; i += OCI_KEY_BLOCK) {
        int64_t n = oci_min64(OCI_KEY_BLOCK, part->column->length - i);
        oci_key_target here = *target;
        if (target->cursors != NULL) {
            here.cursors += i;
        } else {
            here.bytes += i * target->stride;
        }
        OC_TRY(oci_key_leaf_rows(part, i, n, rows, err));
        encode_block(part, rows, n, &here);
    }
    return OC_OK;
}

oc_status oci_key_encode_fixed(const oci_key_part *part, const oci_key_target *target,
                               oc_error *err)
{
    if (part->type->type == OCI_TYPE_NULL) {
        for (int64_t i = 0; i < part->column->length; i++) {
            put_null(part, target, i);
        }
        return OC_OK;
    }
    if (part->leaf == part->column && part->type->type != OCI_TYPE_BOOL) {
        encode_plain(part, target);
        return OC_OK;
    }
    return encode_looked_up(part, target, err);
}
