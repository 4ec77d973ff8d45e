/* Packed columns back: values of fixed width, and the indices of dictionaries.
 *
 * Values are decoded straight to where they stay. Those of a column with nulls come one behind the
 * other to the front of that place, and are then spread from the last one on, which never overwrites
 * one that is still to be moved. */
#include <assert.h>
#include <string.h>

#include "base/bits.h"
#include "encoding/unpack_internal.h"

/* ---- nulls between values -------------------------------------------------------------------- */

/* Without a branch per row: the value that a null row loads is masked away. */
#define DEFINE_SPREAD(name, type, words)                                                         \
    static void name(const uint8_t *validity, int64_t n, int64_t n_valid, uint8_t *values)       \
    {                                                                                            \
        const int64_t width = (words) * (int64_t)sizeof(type);                                   \
        int64_t from = n_valid;                                                                  \
        for (int64_t i = n - 1; i >= from; i--) {                                                \
            bool is_valid = oci_bit_get(validity, i);                                            \
            type mask = (type)(is_valid ? ~(type)0 : 0);                                         \
            from -= is_valid;                                                                    \
            for (int64_t word = 0; word < (words); word++) {                                     \
                type value;                                                                      \
                memcpy(&value, values + from * width + word * (int64_t)sizeof value,             \
                       sizeof value);                                                            \
                value &= mask;                                                                   \
                memcpy(values + i * width + word * (int64_t)sizeof value, &value, sizeof value); \
            }                                                                                    \
        }                                                                                        \
    }
DEFINE_SPREAD(spread1, uint8_t, 1)
DEFINE_SPREAD(spread2, uint16_t, 1)
DEFINE_SPREAD(spread4, uint32_t, 1)
DEFINE_SPREAD(spread8, uint64_t, 1)
DEFINE_SPREAD(spread16, uint64_t, 2)
DEFINE_SPREAD(spread32, uint64_t, 4)

void oci_unpack_spread(const oci_column *column, int width, int64_t n_valid, uint8_t *values)
{
    const uint8_t *validity = column->validity;
    int64_t n = column->length;
    switch (n_valid == n ? 0 : width) {
    case 0: break;
    case 1: spread1(validity, n, n_valid, values); break;
    case 2: spread2(validity, n, n_valid, values); break;
    case 4: spread4(validity, n, n_valid, values); break;
    case 8: spread8(validity, n, n_valid, values); break;
    case 16: spread16(validity, n, n_valid, values); break;
    default:
        assert(width == 32);
        spread32(validity, n, n_valid, values);
        break;
    }
}

/* ---- forms ----------------------------------------------------------------------------------- */

/* Word `word` of each value. */
static oc_status unpack_word(oci_unpack_job *job, int64_t n, int width, int word, uint8_t *values,
                             oc_error *err)
{
    uint64_t page[OCI_PAGE_VALUES];
    oci_int_reader reader;
    OC_TRY(oci_unpack_open(job, n, &reader, err));
    for (int64_t start = 0; values != NULL && start < n; start += OCI_PAGE_VALUES) {
        int64_t count = oci_min64(OCI_PAGE_VALUES, n - start);
        uint8_t *to = values + start * width + word * 8;
        OC_TRY(oci_int_reader_next(&reader, page, count, err));
        for (int64_t i = 0; i < count; i++) {
            oci_store_le64(to + i * width, page[i]);
        }
    }
    return OC_OK;
}

/* Repeats the sign of the last word that is there. */
static void extend_sign(int64_t n, int width, int words, uint8_t *values)
{
    for (int word = words; word < width / 8; word++) {
        uint8_t *to = values + word * 8;
        for (int64_t i = 0; i < n; i++) {
            int64_t below = (int64_t)oci_load_le64(to + i * width - 8);
            oci_store_le64(to + i * width, (uint64_t)(below >> 63));
        }
    }
}

static oc_status unpack_words(oci_unpack_job *job, int64_t n, int width, int words, uint8_t *values,
                              oc_error *err)
{
    if (words < 1 || words > (width + 7) / 8) {
        OC_FAIL(err, OC_EDATA, "values of %d bytes have %d words", width, words);
    }
    if (width <= 8) {
        return oci_unpack_ints(job, n, width, values, err);
    }
    for (int word = 0; word < words; word++) {
        OC_TRY(unpack_word(job, n, width, word, values, err));
    }
    if (values != NULL) {
        extend_sign(n, width, words, values);
    }
    return OC_OK;
}

/* The low bytes of each value, from a block of them. Moved as words of 8 or 4 bytes where so many are
 * there: what comes along is overwritten by the planes. */
static void spread_low_bytes(const uint8_t *data, int64_t n, int width, int bytes, uint8_t *values)
{
    int64_t word = width >= 8 ? 8 : 4;
    bool has_words = bytes <= word && width >= 4;
    int64_t whole = has_words ? oci_max64(0, n - (word + bytes - 1) / bytes) : 0;
    if (word == 8) {
        for (int64_t i = 0; i < whole; i++) {
            oci_store_le64(values + i * width, oci_load_le64(data + i * bytes));
        }
    } else {
        for (int64_t i = 0; i < whole; i++) {
            oci_store_le32(values + i * width, oci_load_le32(data + i * bytes));
        }
    }
    for (int64_t i = whole; i < n; i++) {
        memcpy(values + i * width, data + i * bytes, (size_t)bytes);
    }
}

static oc_status unpack_low_bytes(oci_unpack_job *job, int64_t n, int width, int bytes,
                                  uint8_t *values, oc_error *err)
{
    const uint8_t *data = NULL;
    int64_t size = 0;
    OC_TRY(oci_unpack_product(n, bytes, &size, err));
    OC_TRY(oci_unpack_take(job, size, &data, err));
    if (values == NULL || bytes == 0) {
        return OC_OK;
    }
    if (bytes == width) {
        memcpy(values, data, (size_t)size);
    } else {
        spread_low_bytes(data, n, width, bytes, values);
    }
    return OC_OK;
}

static oc_status unpack_planes(oci_unpack_job *job, int64_t n, int width, int low_bytes,
                               uint8_t *values, oc_error *err)
{
    uint64_t page[OCI_PAGE_VALUES];
    if (low_bytes > width) {
        OC_FAIL(err, OC_EDATA, "values of %d bytes have %d low ones", width, low_bytes);
    }
    OC_TRY(unpack_low_bytes(job, n, width, low_bytes, values, err));
    for (int plane = low_bytes; plane < width; plane++) {
        oci_int_reader reader;
        OC_TRY(oci_unpack_open(job, n, &reader, err));
        for (int64_t start = 0; values != NULL && start < n; start += OCI_PAGE_VALUES) {
            int64_t count = oci_min64(OCI_PAGE_VALUES, n - start);
            uint8_t *to = values + start * width + plane;
            OC_TRY(oci_int_reader_next(&reader, page, count, err));
            for (int64_t i = 0; i < count; i++) {
                to[i * width] = (uint8_t)page[i];
            }
        }
    }
    return OC_OK;
}

/* ---- floating point as decimals -------------------------------------------------------------- */

static void store_bits(uint8_t *values, int64_t i, int width, uint64_t bits)
{
    if (width == 4) {
        oci_store_le32(values + i * 4, (uint32_t)bits);
    } else {
        oci_store_le64(values + i * 8, bits);
    }
}

/* Values that are no quotients, to their places. */
static oc_status unpack_odd(oci_unpack_job *job, int64_t n_odd, int64_t n, int width,
                            uint8_t *values, oc_error *err)
{
    uint64_t places[OCI_PAGE_VALUES], bits[OCI_PAGE_VALUES];
    oci_int_reader reader;
    OC_TRY(oci_unpack_open(job, n_odd, &reader, err));
    if (values != NULL) {
        OC_TRY(oci_int_reader_next(&reader, places, n_odd, err));
    }
    OC_TRY(oci_unpack_open(job, n_odd, &reader, err));
    if (values == NULL) {
        return OC_OK;
    }
    OC_TRY(oci_int_reader_next(&reader, bits, n_odd, err));
    for (int64_t i = 0; i < n_odd; i++) {
        if (places[i] >= (uint64_t)n) {
            OC_FAIL(err, OC_EDATA, "value %" PRIu64 " is beyond %" PRId64, places[i], n);
        }
        store_bits(values, (int64_t)places[i], width, bits[i]);
    }
    return OC_OK;
}

static oc_status unpack_scaled(oci_unpack_job *job, int64_t n, const oci_field *field, int exponent,
                               uint8_t *values, oc_error *err)
{
    uint64_t page[OCI_PAGE_VALUES];
    int64_t n_odd = 0;
    int width = field->byte_width;
    oci_int_reader reader;
    if (!oci_field_is_float(field) || width == 2 || exponent > OCI_SCALE_MAX) {
        OC_FAIL(err, OC_EDATA, "%s values have an exponent of %d", oci_type_name(field->type),
                exponent);
    }
    OC_TRY(oci_unpack_count(job, &n_odd, err));
    if (n_odd > OCI_PAGE_VALUES) {
        OC_FAIL(err, OC_EDATA, "%" PRId64 " values are no decimals", n_odd);
    }
    OC_TRY(oci_unpack_open(job, n, &reader, err));
    double scale = oci_scale_of(exponent);
    for (int64_t start = 0; values != NULL && start < n; start += OCI_PAGE_VALUES) {
        int64_t count = oci_min64(OCI_PAGE_VALUES, n - start);
        OC_TRY(oci_int_reader_next(&reader, page, count, err));
        for (int64_t i = 0; i < count; i++) {
            store_bits(values, start + i, width,
                       oci_scaled_bits((int64_t)page[i], scale, width == 4));
        }
    }
    return n_odd > 0 ? unpack_odd(job, n_odd, n, width, values, err) : OC_OK;
}

oc_status oci_unpack_fixed(oci_unpack_job *job, const oci_node_header *header, oci_column *column,
                           oc_error *err)
{
    int width = column->field->byte_width;
    int64_t n = header->n_valid, bytes = 0;
    uint8_t *values = NULL;
    OC_TRY(oci_unpack_product(column->length, width, &bytes, err));
    OC_TRY(oci_unpack_room(job, bytes, &values, err));
    column->values = values;
    if (n == 0) {
        if (values != NULL) {
            memset(values, 0, (size_t)bytes);
        }
        return OC_OK;
    }
    switch (header->kind) {
    case OCI_FIXED_WORDS: OC_TRY(unpack_words(job, n, width, header->part, values, err)); break;
    case OCI_FIXED_PLANES: OC_TRY(unpack_planes(job, n, width, header->part, values, err)); break;
    case OCI_FIXED_SCALED:
        OC_TRY(unpack_scaled(job, n, column->field, header->part, values, err));
        break;
    default: OC_FAIL(err, OC_EDATA, "values have the unknown kind %d", header->kind);
    }
    if (values != NULL) {
        oci_unpack_spread(column, width, n, values);
    }
    return OC_OK;
}

/* ---- dictionaries ---------------------------------------------------------------------------- */

static int64_t index_values_max(oci_type index_type)
{
    switch (index_type) {
    case OCI_TYPE_INT8: return INT64_C(1) << 7;
    case OCI_TYPE_UINT8: return INT64_C(1) << 8;
    case OCI_TYPE_INT16: return INT64_C(1) << 15;
    case OCI_TYPE_UINT16: return INT64_C(1) << 16;
    case OCI_TYPE_INT32: return INT64_C(1) << 31;
    case OCI_TYPE_UINT32: return INT64_C(1) << 32;
    default: return INT64_MAX;
    }
}

static uint64_t largest(const uint64_t *page, int64_t n)
{
    uint64_t most = 0;
    for (int64_t i = 0; i < n; i++) {
        most = page[i] > most ? page[i] : most;
    }
    return most;
}

static void store_page(const uint64_t *page, int64_t n, int width, uint8_t *to)
{
    switch (width) {
    case 1:
        for (int64_t i = 0; i < n; i++) {
            to[i] = (uint8_t)page[i];
        }
        break;
    case 2:
        for (int64_t i = 0; i < n; i++) {
            oci_store_le16(to + i * 2, (uint16_t)page[i]);
        }
        break;
    case 4:
        for (int64_t i = 0; i < n; i++) {
            oci_store_le32(to + i * 4, (uint32_t)page[i]);
        }
        break;
    default:
        for (int64_t i = 0; i < n; i++) {
            oci_store_le64(to + i * 8, page[i]);
        }
        break;
    }
}

/* Every index that is there must name a value. */
static oc_status unpack_indices(oci_unpack_job *job, int64_t n, int width, int64_t n_values,
                                uint8_t *indices, oc_error *err)
{
    uint64_t page[OCI_PAGE_VALUES];
    oci_int_reader reader;
    OC_TRY(oci_unpack_open(job, n, &reader, err));
    for (int64_t start = 0; indices != NULL && start < n; start += OCI_PAGE_VALUES) {
        int64_t count = oci_min64(OCI_PAGE_VALUES, n - start);
        OC_TRY(oci_int_reader_next(&reader, page, count, err));
        if (largest(page, count) >= (uint64_t)n_values) {
            OC_FAIL(err, OC_EDATA,
                    "index %" PRIu64 " leads out of a dictionary of %" PRId64 " values",
                    largest(page, count), n_values);
        }
        store_page(page, count, width, indices + start * width);
    }
    return OC_OK;
}

oc_status oci_unpack_dictionary(oci_unpack_job *job, const oci_node_header *header,
                                oci_column *column, oc_error *err)
{
    const oci_field *field = column->field;
    int64_t n_values = 0, bytes = 0;
    uint8_t *indices = NULL;
    oci_column ignored, *values = oci_unpack_extra(job, sizeof *values);
    OC_TRY(oci_unpack_count(job, &n_values, err));
    if (n_values > index_values_max(field->index_type)) {
        OC_FAIL(err, OC_EDATA, "a dictionary has %" PRId64 " values, too many for %s", n_values,
                oci_type_name(field->index_type));
    }
    OC_TRY(oci_unpack_product(column->length, field->byte_width, &bytes, err));
    OC_TRY(oci_unpack_room(job, bytes, &indices, err));
    column->values = indices;
    column->dictionary = values;
    if (header->n_valid > 0) {
        OC_TRY(unpack_indices(job, header->n_valid, field->byte_width, n_values, indices, err));
        if (indices != NULL) {
            oci_unpack_spread(column, field->byte_width, header->n_valid, indices);
        }
    } else if (indices != NULL) {
        memset(indices, 0, (size_t)bytes);
    }
    return oci_unpack_node(job, field->dictionary, n_values, values != NULL ? values : &ignored,
                           err);
}
