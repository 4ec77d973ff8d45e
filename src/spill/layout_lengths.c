/* LENGTHS: strings as struct<lengths, bytes>. See layout.h.
 *
 *     logical    validity   offsets 0 3 3 8    bytes abcdefgh
 *     physical   validity   lengths 3 0 5      bytes: one run of one value, abcdefgh
 *
 * Lengths compress well where offsets, which never repeat, do not. Null slots have length 0: where
 * they hold bytes, the others are copied together; else the bytes stay where they are. On the way
 * back offsets are summed up and held against the bytes, so that no length can lead outside. */
#include <string.h>

#include "base/bits.h"
#include "spill/layout_internal.h"

bool oci_lengths_is_for(oci_type type)
{
    return type == OCI_TYPE_UTF8 || type == OCI_TYPE_LARGE_UTF8 || type == OCI_TYPE_BINARY ||
           type == OCI_TYPE_LARGE_BINARY;
}

static int offset_width(const oci_field *field)
{
    return oci_field_layout(field) == OCI_LAYOUT_OFFSETS64 ? 8 : 4;
}

static int64_t offset_at(const oci_column *column, int width, int64_t row)
{
    const uint8_t *at = column->values + (column->offset + row) * width;
    return width == 8 ? (int64_t)oci_load_le64(at) : (int32_t)oci_load_le32(at);
}

/* ---- to lengths ------------------------------------------------------------------------------ */

/* Bytes of the values that are not null, and whether null slots have any. */
static oc_status sum_lengths(const oci_column *column, int64_t *sum, bool *has_gaps, oc_error *err)
{
    int width = offset_width(column->field);
    int64_t all = 0;
    int64_t valid = 0;
    bool is_sound = true;
    for (int64_t row = 0; row < column->length; row++) {
        int64_t length = offset_at(column, width, row + 1) - offset_at(column, width, row);
        bool is_valid = column->validity == NULL ||
                        oci_bit_get(column->validity, column->offset + row);
        is_sound = is_sound && length >= 0;
        all += length;
        valid += is_valid ? length : 0;
    }
    if (!is_sound) {
        OC_FAIL(err, OC_EDATA, "column \"%.80s\" has offsets that do not ascend",
                column->field->name);
    }
    *sum = valid;
    *has_gaps = valid != all;
    return OC_OK;
}

oc_status oci_lengths_measure(const oci_column *column, int64_t *bytes, oc_error *err)
{
    int64_t sum;
    bool has_gaps;
    OC_TRY(sum_lengths(column, &sum, &has_gaps, err));
    int width = offset_width(column->field);
    int64_t bitmap = column->validity == NULL ? 0 : oci_bytes_for_bits(column->length);
    *bytes = oci_round_up(bitmap, OCI_LAYOUT_ALIGN) +
             oci_round_up(column->length * width, OCI_LAYOUT_ALIGN) +
             (has_gaps ? oci_round_up(sum, OCI_LAYOUT_ALIGN) : 0) +
             /* run end, two offsets */
             OCI_LAYOUT_ALIGN + 2 * (int64_t)width;
    return OC_OK;
}

static const uint8_t *copy_validity(const oci_column *column, oci_layout_out *out)
{
    if (column->validity == NULL) {
        return NULL;
    }
    int64_t size = oci_round_up(oci_bytes_for_bits(column->length), OCI_LAYOUT_ALIGN);
    uint8_t *bits = oci_layout_take(out, size);
    memset(bits, 0, (size_t)size);
    oci_bits_copy(bits, 0, column->validity, column->offset, column->length);
    return bits;
}

/* Writes the lengths; returns their sum. */
static int64_t put_lengths(const oci_column *column, int width, uint8_t *lengths)
{
    int64_t sum = 0;
    for (int64_t row = 0; row < column->length; row++) {
        bool is_valid = column->validity == NULL ||
                        oci_bit_get(column->validity, column->offset + row);
        int64_t length = offset_at(column, width, row + 1) - offset_at(column, width, row);
        length = is_valid ? length : 0;
        sum += length;
        if (width == 8) {
            oci_store_le64(lengths + 8 * row, (uint64_t)length);
        } else {
            oci_store_le32(lengths + 4 * row, (uint32_t)length);
        }
    }
    return sum;
}

/* The bytes of the valid values, one behind the other: `sum` of them. */
static const uint8_t *close_gaps(const oci_column *column, int width, int64_t sum,
                                 oci_layout_out *out)
{
    uint8_t *bytes = oci_layout_take(out, sum);
    uint8_t *to = bytes;
    for (int64_t row = 0; row < column->length; row++) {
        if (column->validity == NULL || oci_bit_get(column->validity, column->offset + row)) {
            int64_t from = offset_at(column, width, row);
            int64_t length = offset_at(column, width, row + 1) - from;
            memcpy(to, column->bytes + from, (size_t)length);
            to += length;
        }
    }
    return bytes;
}

void oci_lengths_encode(const oci_column *column, const oci_field *field, oci_layout_out *out,
                        oci_column *physical)
{
    int width = offset_width(column->field);
    int64_t rows = column->length;
    oci_column *children = out->below;
    out->below += 2;
    *physical = (oci_column){.field = field,
                             .length = rows,
                             .null_count = column->validity == NULL ? 0 : column->null_count,
                             .validity = copy_validity(column, out),
                             .children = children};
    uint8_t *lengths = oci_layout_take(out, rows * width);
    int64_t sum = put_lengths(column, width, lengths);
    children[0] = (oci_column){.field = &field->children[0], .length = rows, .values = lengths};
    static const uint8_t nothing[1];
    const uint8_t *bytes = nothing;
    if (sum > 0) {
        int64_t first = offset_at(column, width, 0);
        bool has_gaps = offset_at(column, width, rows) - first != sum;
        bytes = has_gaps ? close_gaps(column, width, sum, out) : column->bytes + first;
    }
    const oci_field *run = &field->children[1];
    oci_column value = oci_layout_binary(&run->children[1], rows, bytes, sum, out);
    oci_layout_make_run(run, rows, &value, out, &children[1]);
}

/* ---- and back -------------------------------------------------------------------------------- */

static oc_status open_bytes(const oci_column *physical, const uint8_t **bytes, int64_t *size,
                            oc_error *err)
{
    const oci_column *values;
    if (physical->children[0].length < physical->length ||
        physical->children[1].length < physical->length) {
        OC_FAIL(err, OC_EDATA, "fewer lengths than rows");
    }
    OC_TRY(oci_layout_open_run(&physical->children[1], &values, err));
    return oci_layout_open_binary(values, bytes, size, err);
}

oc_status oci_lengths_unmeasure(const oci_column *physical, int64_t *bytes, oc_error *err)
{
    const uint8_t *data;
    int64_t size;
    OC_TRY(open_bytes(physical, &data, &size, err));
    int64_t bitmap = physical->validity == NULL ? 0 : oci_bytes_for_bits(physical->length);
    int64_t width = physical->children[0].field->byte_width;
    *bytes = oci_round_up(bitmap, OCI_LAYOUT_ALIGN) +
             oci_round_up((physical->length + 1) * width, OCI_LAYOUT_ALIGN) +
             oci_round_up(size, OCI_LAYOUT_ALIGN);
    return OC_OK;
}

/* Sums int32 lengths up; false when one is negative or they are not `size` together. */
static bool make_offsets32(const uint8_t *lengths, int64_t rows, int64_t size, uint8_t *offsets)
{
    uint64_t at = 0;
    uint32_t signs = 0;
    oci_store_le32(offsets, 0);
    for (int64_t row = 0; row < rows; row++) {
        uint32_t length = oci_load_le32(lengths + 4 * row);
        signs |= length;
        at += length; /* at most 2^31 times 2^32 */
        oci_store_le32(offsets + 4 * (row + 1), (uint32_t)at);
    }
    return (int32_t)signs >= 0 && at == (uint64_t)size;
}

static bool make_offsets64(const uint8_t *lengths, int64_t rows, int64_t size, uint8_t *offsets)
{
    int64_t at = 0;
    oci_store_le64(offsets, 0);
    for (int64_t row = 0; row < rows; row++) {
        int64_t length = (int64_t)oci_load_le64(lengths + 8 * row);
        if (length < 0 || length > size - at) {
            return false;
        }
        at += length;
        oci_store_le64(offsets + 8 * (row + 1), (uint64_t)at);
    }
    return at == size;
}

/* Takes `bytes` of the slab, which was measured. */
static uint8_t *take(oci_unpack_out *out, int64_t bytes)
{
    uint8_t *at = out->slab + out->at;
    out->at += oci_round_up(bytes, OCI_LAYOUT_ALIGN);
    return at;
}

oc_status oci_lengths_decode(const oci_column *physical, const oci_field *field,
                             oci_unpack_out *out, oci_column *column, oc_error *err)
{
    int64_t rows = physical->length;
    const uint8_t *data;
    int64_t size;
    OC_TRY(open_bytes(physical, &data, &size, err));
    *column = (oci_column){.field = field, .length = rows, .null_count = physical->null_count};
    if (physical->validity != NULL) {
        int64_t bitmap = oci_bytes_for_bits(rows);
        uint8_t *bits = take(out, bitmap);
        memcpy(bits, physical->validity, (size_t)bitmap);
        column->validity = bits;
    }
    int width = offset_width(field);
    uint8_t *offsets = take(out, (rows + 1) * width);
    column->values = offsets;
    const uint8_t *lengths = physical->children[0].values;
    bool is_sound = width == 8 ? make_offsets64(lengths, rows, size, offsets)
                               : make_offsets32(lengths, rows, size, offsets);
    if (!is_sound) {
        OC_FAIL(err, OC_EDATA, "lengths that are negative or not %" PRId64 " bytes together", size);
    }
    uint8_t *bytes = take(out, size);
    memcpy(bytes, data, (size_t)size);
    column->bytes = bytes;
    return OC_OK;
}
