/* The smallest and largest value of a page, as statistics and column indexes have them.
 *
 * NaN are no bounds; a smallest value of zero is written as -0.0 and a largest one as +0.0, since readers may not tell
 * zeros apart. Strings are cut to 64 bytes: the smallest by leaving out what is behind them, the largest by making the
 * last character (or byte) of what is left one larger. A text stays a text. */
#include <math.h>

#include "base/bits.h"
#include "formats/parquet/write_column.h"
#include "formats/utf8.h"

oci_parquet_order oci_parquet_order_of(const oci_parquet_element *element)
{
    bool is_unsigned = element->logical == OCI_PARQUET_LOGICAL_INTEGER && !element->is_signed;
    bool is_decimal = element->logical == OCI_PARQUET_LOGICAL_DECIMAL;
    switch (element->type) {
    case OCI_PARQUET_BOOLEAN: return OCI_PARQUET_COMPARE_BYTES;
    case OCI_PARQUET_INT32:
        return is_unsigned ? OCI_PARQUET_COMPARE_UINT32 : OCI_PARQUET_COMPARE_INT32;
    case OCI_PARQUET_INT64:
        return is_unsigned ? OCI_PARQUET_COMPARE_UINT64 : OCI_PARQUET_COMPARE_INT64;
    case OCI_PARQUET_FLOAT: return OCI_PARQUET_COMPARE_FLOAT;
    case OCI_PARQUET_DOUBLE: return OCI_PARQUET_COMPARE_DOUBLE;
    case OCI_PARQUET_BYTE_ARRAY:
        return element->logical == OCI_PARQUET_LOGICAL_STRING ? OCI_PARQUET_COMPARE_TEXT
                                                              : OCI_PARQUET_COMPARE_BYTES;
    case OCI_PARQUET_FIXED:
        return is_decimal                                        ? OCI_PARQUET_COMPARE_DECIMAL
               : element->logical == OCI_PARQUET_LOGICAL_FLOAT16 ? OCI_PARQUET_COMPARE_HALF
                                                                 : OCI_PARQUET_COMPARE_BYTES;
    default: return OCI_PARQUET_COMPARE_NONE;
    }
}

/* ---- comparing ------------------------------------------------------------------------------- */

static int compare_bytes(const uint8_t *a, int64_t a_length, const uint8_t *b, int64_t b_length)
{
    int64_t shared = oci_min64(a_length, b_length);
    int order = shared == 0 ? 0 : memcmp(a, b, (size_t)shared);
    return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
}

static float load_float(const uint8_t *from)
{
    float value;
    memcpy(&value, from, sizeof value);
    return value;
}

static double load_double(const uint8_t *from)
{
    double value;
    memcpy(&value, from, sizeof value);
    return value;
}

/* A half float as a number of the same order; -0 and +0 are the same. */
static int half_rank(const uint8_t *from)
{
    int bits = oci_load_le16(from);
    return bits & 0x8000 ? -(bits & 0x7FFF) : bits;
}

#define COMPARE(x, y) (((x) > (y)) - ((x) < (y)))

static int compare_fixed(oci_parquet_order order, const uint8_t *a, const uint8_t *b, int32_t width)
{
    switch (order) {
    case OCI_PARQUET_COMPARE_INT32:
        return COMPARE((int32_t)oci_load_le32(a), (int32_t)oci_load_le32(b));
    case OCI_PARQUET_COMPARE_INT64:
        return COMPARE((int64_t)oci_load_le64(a), (int64_t)oci_load_le64(b));
    case OCI_PARQUET_COMPARE_UINT32: return COMPARE(oci_load_le32(a), oci_load_le32(b));
    case OCI_PARQUET_COMPARE_UINT64: return COMPARE(oci_load_le64(a), oci_load_le64(b));
    case OCI_PARQUET_COMPARE_HALF: return COMPARE(half_rank(a), half_rank(b));
    case OCI_PARQUET_COMPARE_FLOAT: return COMPARE(load_float(a), load_float(b));
    case OCI_PARQUET_COMPARE_DOUBLE: return COMPARE(load_double(a), load_double(b));
    case OCI_PARQUET_COMPARE_DECIMAL:
        if ((a[0] ^ b[0]) & 0x80) {
            return (a[0] & 0x80) != 0 ? -1 : 1;
        }
        return memcmp(a, b, (size_t)width);
    default: return memcmp(a, b, (size_t)width);
    }
}

int oci_parquet_bound_compare(oci_parquet_order order, const oci_parquet_bound *a,
                              const oci_parquet_bound *b)
{
    if (order == OCI_PARQUET_COMPARE_BYTES || order == OCI_PARQUET_COMPARE_TEXT) {
        return compare_bytes(a->bytes, a->length, b->bytes, b->length);
    }
    return compare_fixed(order, a->bytes, b->bytes, a->length);
}

static bool is_nan(oci_parquet_order order, const uint8_t *value)
{
    switch (order) {
    case OCI_PARQUET_COMPARE_HALF: return (oci_load_le16(value) & 0x7FFF) > 0x7C00;
    case OCI_PARQUET_COMPARE_FLOAT: return isnan(load_float(value));
    case OCI_PARQUET_COMPARE_DOUBLE: return isnan(load_double(value));
    default: return false;
    }
}

/* ---- cutting --------------------------------------------------------------------------------- */

static bool is_continuation(uint8_t byte)
{
    return (byte & 0xC0) == 0x80;
}

static void set_min(oci_parquet_order order, const uint8_t *value, int64_t length,
                    oci_parquet_bound *out)
{
    int64_t kept = oci_min64(length, OCI_PARQUET_BOUND_BYTES);
    if (order == OCI_PARQUET_COMPARE_TEXT && kept < length) {
        while (kept > 0 && is_continuation(value[kept])) {
            kept--;
        }
    }
    out->length = (int32_t)kept;
    out->is_exact = kept == length;
    if (kept > 0) {
        memcpy(out->bytes, value, (size_t)kept);
    }
}

/* Writes a character, 1 to 4 bytes. */
static int32_t put_utf8(uint32_t code, uint8_t out[4])
{
    if (code < 0x80) {
        out[0] = (uint8_t)code;
        return 1;
    }
    int32_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (int32_t i = n - 1; i > 0; i--) {
        out[i] = (uint8_t)(0x80 | (code & 0x3F));
        code >>= 6;
    }
    out[0] = (uint8_t)(0xF0 << (4 - n) | code);
    return n;
}

/* Takes the last character off and puts the next one in its place, when there is one and it fits. */
static bool raise_character(oci_parquet_bound *bound)
{
    int32_t start = bound->length - 1;
    while (start > 0 && is_continuation(bound->bytes[start])) {
        start--;
    }
    uint32_t code = 0;
    uint8_t next[4];
    int n = oci_utf8_decode(bound->bytes + start, bound->length - start, &code);
    bool is_last = code == 0x10FFFF || n != bound->length - start;
    bound->length = start;
    if (n == 0 || is_last) {
        return false;
    }
    n = put_utf8(code == 0xD7FF ? 0xE000 : code + 1, next);
    if (start + n > OCI_PARQUET_BOUND_BYTES) {
        return false;
    }
    memcpy(bound->bytes + start, next, (size_t)n);
    bound->length += n;
    return true;
}

static bool raise_byte(oci_parquet_bound *bound)
{
    uint8_t *byte = &bound->bytes[bound->length - 1];
    if (*byte == 0xFF) {
        bound->length--;
        return false;
    }
    *byte = (uint8_t)(*byte + 1);
    return true;
}

/* Makes what was kept larger than everything that begins with it; false when it cannot be. */
static bool raise_bound(oci_parquet_order order, oci_parquet_bound *bound)
{
    bool raised = false;
    while (!raised && bound->length > 0) {
        raised = order == OCI_PARQUET_COMPARE_TEXT ? raise_character(bound) : raise_byte(bound);
    }
    return raised;
}

static bool set_max(oci_parquet_order order, const uint8_t *value, int64_t length,
                    oci_parquet_bound *out)
{
    set_min(order, value, length, out);
    return out->is_exact || raise_bound(order, out);
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* Signed zeros: see above. */
static void widen_zeros(oci_parquet_order order, oci_parquet_bounds *bounds)
{
    static const uint8_t zeros[8] = {0};
    bool is_float = order == OCI_PARQUET_COMPARE_HALF || order == OCI_PARQUET_COMPARE_FLOAT ||
                    order == OCI_PARQUET_COMPARE_DOUBLE;
    int32_t width = bounds->min.length;
    if (!is_float) {
        return;
    }
    if (compare_fixed(order, bounds->min.bytes, zeros, width) == 0) {
        memset(bounds->min.bytes, 0, (size_t)width);
        bounds->min.bytes[width - 1] = 0x80;
    }
    if (compare_fixed(order, bounds->max.bytes, zeros, width) == 0) {
        memset(bounds->max.bytes, 0, (size_t)width);
    }
}

/* Loops of their own for the numbers that most columns are. */
#define DEFINE_BOUNDS(name, type, load)                                                  \
    static void name(const uint8_t *values, int64_t n, int64_t *min_at, int64_t *max_at) \
    {                                                                                    \
        type min = (type)load(values);                                                   \
        type max = min;                                                                  \
        for (int64_t i = 1; i < n; i++) {                                                \
            type value = (type)load(values + i * (int64_t)sizeof(type));                 \
            min = value < min ? value : min;                                             \
            max = value > max ? value : max;                                             \
        }                                                                                \
        *min_at = *max_at = 0;                                                           \
        while ((type)load(values + *min_at * (int64_t)sizeof(type)) != min) {            \
            ++*min_at;                                                                   \
        }                                                                                \
        while ((type)load(values + *max_at * (int64_t)sizeof(type)) != max) {            \
            ++*max_at;                                                                   \
        }                                                                                \
    }

DEFINE_BOUNDS(bounds_int32, int32_t, oci_load_le32)
DEFINE_BOUNDS(bounds_int64, int64_t, oci_load_le64)

/* Values number *min_at and *max_at; false when there are only NaN. */
static bool find_fixed(oci_parquet_order order, const uint8_t *values, int64_t n, int32_t width,
                       int64_t *min_at, int64_t *max_at)
{
    int64_t first = 0;
    while (first < n && is_nan(order, values + first * width)) {
        first++;
    }
    *min_at = *max_at = first;
    for (int64_t i = first + 1; i < n; i++) {
        const uint8_t *value = values + i * width;
        if (is_nan(order, value)) {
            continue;
        }
        if (compare_fixed(order, value, values + *min_at * width, width) < 0) {
            *min_at = i;
        } else if (compare_fixed(order, value, values + *max_at * width, width) > 0) {
            *max_at = i;
        }
    }
    return first < n;
}

void oci_parquet_bounds_fixed(oci_parquet_order order, const uint8_t *values, int64_t n,
                              int32_t width, oci_parquet_bounds *out)
{
    int64_t min_at = 0;
    int64_t max_at = 0;
    out->is_known = n > 0 && order != OCI_PARQUET_COMPARE_NONE;
    if (!out->is_known) {
        return;
    }
    if (order == OCI_PARQUET_COMPARE_INT32) {
        bounds_int32(values, n, &min_at, &max_at);
    } else if (order == OCI_PARQUET_COMPARE_INT64) {
        bounds_int64(values, n, &min_at, &max_at);
    } else {
        out->is_known = find_fixed(order, values, n, width, &min_at, &max_at);
    }
    if (out->is_known) {
        set_min(order, values + min_at * width, width, &out->min);
        out->is_known = set_max(order, values + max_at * width, width, &out->max);
        widen_zeros(order, out);
    }
}

/* The first 8 bytes as a number of the same order, which decides most comparisons. */
static uint64_t prefix_of(const uint8_t *value, int64_t length)
{
    if (length >= 8) {
        return oci_load_be64(value);
    }
    uint64_t prefix = 0;
    for (int64_t i = 0; i < length; i++) {
        prefix |= (uint64_t)value[i] << (56 - 8 * i);
    }
    return prefix;
}

typedef struct text_bound {
    const uint8_t *value;
    int64_t length;
    uint64_t prefix;
} text_bound;

void oci_parquet_bounds_bytes(oci_parquet_order order, const oci_parquet_strings *strings,
                              oci_parquet_bounds *out)
{
    out->is_known = strings->n > 0;
    if (!out->is_known) {
        return;
    }
    const uint8_t *at = strings->bytes;
    text_bound min = {at, strings->lengths[0], prefix_of(at, strings->lengths[0])};
    text_bound max = min;
    for (int64_t i = 0; i < strings->n; i++) {
        text_bound one = {at, strings->lengths[i], prefix_of(at, strings->lengths[i])};
        at += one.length;
        if (one.prefix < min.prefix ||
            (one.prefix == min.prefix &&
             compare_bytes(one.value, one.length, min.value, min.length) < 0)) {
            min = one;
        }
        if (one.prefix > max.prefix ||
            (one.prefix == max.prefix &&
             compare_bytes(one.value, one.length, max.value, max.length) > 0)) {
            max = one;
        }
    }
    set_min(order, min.value, min.length, &out->min);
    out->is_known = set_max(order, max.value, max.length, &out->max);
}

void oci_parquet_bounds_join(oci_parquet_order order, const oci_parquet_bounds *more, bool is_first,
                             oci_parquet_bounds *all)
{
    if (is_first) {
        *all = *more;
        return;
    }
    all->is_known = all->is_known && more->is_known;
    if (!all->is_known) {
        return;
    }
    if (oci_parquet_bound_compare(order, &more->min, &all->min) < 0) {
        all->min = more->min;
    }
    if (oci_parquet_bound_compare(order, &more->max, &all->max) > 0) {
        all->max = more->max;
    }
}
