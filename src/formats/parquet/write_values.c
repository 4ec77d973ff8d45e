/* Arrow values as those of a physical type. See write_column.h; schema.h says which type becomes which. */
#include "base/bits.h"
#include "formats/parquet/write_column.h"

static const int64_t ms_per_day = 86400000, ms_per_second = 1000;

static oci_parquet_conversion conversion_of(const oci_field *field)
{
    switch (field->type) {
    case OCI_TYPE_NULL: return OCI_PARQUET_CONVERT_NOTHING;
    case OCI_TYPE_BOOL: return OCI_PARQUET_CONVERT_BOOL;
    case OCI_TYPE_INT8: return OCI_PARQUET_CONVERT_INT8;
    case OCI_TYPE_INT16: return OCI_PARQUET_CONVERT_INT16;
    case OCI_TYPE_UINT8: return OCI_PARQUET_CONVERT_UINT8;
    case OCI_TYPE_UINT16: return OCI_PARQUET_CONVERT_UINT16;
    case OCI_TYPE_DATE64: return OCI_PARQUET_CONVERT_DAYS;
    case OCI_TYPE_TIME32:
        return field->unit == OCI_SECOND ? OCI_PARQUET_CONVERT_MILLIS32 : OCI_PARQUET_CONVERT_COPY;
    case OCI_TYPE_TIMESTAMP:
        return field->unit == OCI_SECOND ? OCI_PARQUET_CONVERT_MILLIS64 : OCI_PARQUET_CONVERT_COPY;
    case OCI_TYPE_UTF8:
    case OCI_TYPE_BINARY: return OCI_PARQUET_CONVERT_BYTES32;
    case OCI_TYPE_LARGE_UTF8:
    case OCI_TYPE_LARGE_BINARY: return OCI_PARQUET_CONVERT_BYTES64;
    default: return OCI_PARQUET_CONVERT_COPY;
    }
}

static int32_t width_of(const oci_parquet_element *element)
{
    switch (element->type) {
    case OCI_PARQUET_BOOLEAN: return 1;
    case OCI_PARQUET_INT32:
    case OCI_PARQUET_FLOAT: return 4;
    case OCI_PARQUET_INT64:
    case OCI_PARQUET_DOUBLE: return 8;
    case OCI_PARQUET_FIXED: return element->type_length;
    default: return 0;
    }
}

void oci_parquet_choose_conversion(oci_parquet_column_writer *c)
{
    c->width = width_of(c->element);
    c->order = oci_parquet_order_of(c->element);
    c->conversion = conversion_of(c->field);
    if (c->element->logical == OCI_PARQUET_LOGICAL_DECIMAL) {
        c->conversion = c->element->type == OCI_PARQUET_FIXED ? OCI_PARQUET_CONVERT_BIG_ENDIAN
                                                              : OCI_PARQUET_CONVERT_NARROW;
    }
}

/* ---- numbers --------------------------------------------------------------------------------- */

static oc_status fail_range(const oci_parquet_column_writer *c, const char *what, oc_error *err)
{
    OC_FAIL(err, OC_EDATA, "could not write column \"%s\" as Parquet: %s", c->field->name, what);
}

static int32_t widened(oci_parquet_conversion conversion, const uint8_t *from, int64_t i)
{
    switch (conversion) {
    case OCI_PARQUET_CONVERT_INT8: return (int8_t)from[i];
    case OCI_PARQUET_CONVERT_UINT8: return from[i];
    case OCI_PARQUET_CONVERT_INT16: return (int16_t)oci_load_le16(from + 2 * i);
    default: return oci_load_le16(from + 2 * i);
    }
}

static void widen(oci_parquet_conversion conversion, const uint8_t *from, int64_t n, uint8_t *to)
{
    for (int64_t i = 0; i < n; i++) {
        oci_store_le32(to + 4 * i, (uint32_t)widened(conversion, from, i));
    }
}

static int64_t floor_days(int64_t milliseconds)
{
    int64_t days = milliseconds / ms_per_day;
    return days * ms_per_day > milliseconds ? days - 1 : days;
}

static oc_status convert_times(oci_parquet_column_writer *c, const uint8_t *from, int64_t n,
                               uint8_t *to, oc_error *err)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t value;
        bool fits = true;
        switch (c->conversion) {
        case OCI_PARQUET_CONVERT_DAYS:
            value = floor_days((int64_t)oci_load_le64(from + 8 * i));
            break;
        case OCI_PARQUET_CONVERT_MILLIS32:
            value = (int32_t)oci_load_le32(from + 4 * i) * ms_per_second;
            break;
        default:
            fits = oci_mul64((int64_t)oci_load_le64(from + 8 * i), ms_per_second, &value);
            break;
        }
        if (!fits || (c->width == 4 && value != (int32_t)value)) {
            return fail_range(c, "a time in seconds or a date does not fit the format's type", err);
        }
        if (c->width == 4) {
            oci_store_le32(to + 4 * i, (uint32_t)value);
        } else {
            oci_store_le64(to + 8 * i, (uint64_t)value);
        }
    }
    return OC_OK;
}

/* ---- decimals -------------------------------------------------------------------------------- */

/* Whether bytes [width, from_width) of a little-endian number only repeat its sign. */
static bool fits_width(const uint8_t *from, int from_width, int width)
{
    if (from_width <= width) {
        return true;
    }
    uint8_t sign = (from[width - 1] & 0x80) != 0 ? 0xFF : 0;
    for (int i = width; i < from_width; i++) {
        if (from[i] != sign) {
            return false;
        }
    }
    return true;
}

static oc_status convert_decimals(oci_parquet_column_writer *c, const uint8_t *from, int64_t n,
                                  uint8_t *to, oc_error *err)
{
    int from_width = c->field->byte_width;
    bool is_big = c->conversion == OCI_PARQUET_CONVERT_BIG_ENDIAN;
    for (int64_t i = 0; i < n; i++, from += from_width, to += c->width) {
        uint8_t sign = (from[from_width - 1] & 0x80) != 0 ? 0xFF : 0;
        if (!fits_width(from, from_width, c->width)) {
            return fail_range(c, "a decimal has more digits than its type", err);
        }
        for (int k = 0; k < c->width; k++) {
            to[is_big ? c->width - 1 - k : k] = k < from_width ? from[k] : sign;
        }
    }
    return OC_OK;
}

/* ---- strings --------------------------------------------------------------------------------- */

static int64_t offset_at(const oci_parquet_column_writer *c, const oci_column *column, int64_t row)
{
    const uint8_t *offsets = column->values;
    return c->conversion == OCI_PARQUET_CONVERT_BYTES32
               ? (int32_t)oci_load_le32(offsets + (column->offset + row) * 4)
               : (int64_t)oci_load_le64(offsets + (column->offset + row) * 8);
}

static oc_status write_strings(oci_parquet_column_writer *c, const oci_column *column, int64_t row,
                               int64_t n, oc_error *err)
{
    int64_t start = offset_at(c, column, row);
    int64_t end = offset_at(c, column, row + n);
    if (end - start > INT32_MAX - c->values.length) {
        return fail_range(c, "a page would have more than 2 GiB", err);
    }
    OC_TRY(oci_parquet_buffer_append(&c->values, column->bytes + start, end - start, err));
    OC_TRY(oci_parquet_buffer_reserve(&c->lengths, n * (int64_t)sizeof(int32_t), err));
    uint8_t *to = c->lengths.data + c->lengths.length;
    for (int64_t i = 0; i < n; i++) {
        int64_t next = offset_at(c, column, row + i + 1);
        oci_store_le32(to + 4 * i, (uint32_t)(next - start));
        start = next;
    }
    c->lengths.length += n * (int64_t)sizeof(int32_t);
    c->n_values += n;
    return OC_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

static oc_status convert(oci_parquet_column_writer *c, const oci_column *column, int64_t row,
                         int64_t n, uint8_t *to, oc_error *err)
{
    const uint8_t *from = column->values + (column->offset + row) * column->field->byte_width;
    switch (c->conversion) {
    case OCI_PARQUET_CONVERT_BOOL:
        for (int64_t i = 0; i < n; i++) {
            to[i] = oci_bit_get(column->values, column->offset + row + i);
        }
        return OC_OK;
    case OCI_PARQUET_CONVERT_INT8:
    case OCI_PARQUET_CONVERT_UINT8:
    case OCI_PARQUET_CONVERT_INT16:
    case OCI_PARQUET_CONVERT_UINT16: widen(c->conversion, from, n, to); return OC_OK;
    case OCI_PARQUET_CONVERT_DAYS:
    case OCI_PARQUET_CONVERT_MILLIS32:
    case OCI_PARQUET_CONVERT_MILLIS64: return convert_times(c, from, n, to, err);
    case OCI_PARQUET_CONVERT_NARROW:
    case OCI_PARQUET_CONVERT_BIG_ENDIAN: return convert_decimals(c, from, n, to, err);
    default: memcpy(to, from, (size_t)(n * c->width)); return OC_OK;
    }
}

oc_status oci_parquet_write_values(oci_parquet_column_writer *c, const oci_column *column,
                                   int64_t row, int64_t n, oc_error *err)
{
    if (n == 0 || c->conversion == OCI_PARQUET_CONVERT_NOTHING) {
        return OC_OK;
    }
    if (c->width == 0) {
        return write_strings(c, column, row, n, err);
    }
    OC_TRY(oci_parquet_buffer_reserve(&c->values, n * c->width, err));
    OC_TRY(convert(c, column, row, n, c->values.data + c->values.length, err));
    c->values.length += n * c->width;
    c->n_values += n;
    return OC_OK;
}

oc_status oci_parquet_write_indices(oci_parquet_column_writer *c, bool *is_full, oc_error *err)
{
    int64_t n = c->n_values - c->n_indexed;
    *is_full = false;
    OC_TRY(oci_parquet_buffer_reserve(&c->indices, n * (int64_t)sizeof(uint32_t), err));
    for (; c->n_indexed < c->n_values; c->n_indexed++) {
        int64_t length = c->width > 0 ? c->width
                                      : (int32_t)oci_load_le32(c->lengths.data + 4 * c->n_indexed);
        uint32_t index;
        OC_TRY(oci_parquet_table_find(&c->table, c->values.data + c->indexed_bytes, length, &index,
                                      err));
        oci_store_le32(c->indices.data + c->indices.length, index);
        c->indices.length += (int64_t)sizeof(uint32_t);
        c->indexed_bytes += length;
    }
    *is_full = c->table.values.length + 4 * c->table.n > c->table_bytes_max;
    return OC_OK;
}
