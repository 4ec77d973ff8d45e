/* Reading arguments and writing states and results, for all kinds of aggregators. Lists of columns come from malloc. */
#include <stdlib.h>
#include <string.h>

#include "ops/aggregate/aggregate_internal.h"

/* ---- reading --------------------------------------------------------------------------------- */

const oci_field *oci_agg_value_field(const oci_field *field)
{
    for (;;) {
        if (field->type == OCI_TYPE_DICTIONARY) {
            field = field->dictionary;
        } else if (field->type == OCI_TYPE_RUN_END_ENCODED) {
            field = &field->children[1];
        } else {
            return field;
        }
    }
}

int64_t oci_agg_find_value(const oci_column *column, int64_t i, const oci_column **leaf)
{
    for (;;) {
        if (column->field->type == OCI_TYPE_RUN_END_ENCODED) {
            i = oci_column_run_at(column, i);
            column = &column->children[1];
            continue;
        }
        if (column->validity != NULL && !oci_bit_get(column->validity, column->offset + i)) {
            return -1;
        }
        if (column->field->type != OCI_TYPE_DICTIONARY) {
            *leaf = column;
            return column->field->type == OCI_TYPE_NULL ? -1 : column->offset + i;
        }
        i = oci_column_index_at(column, i);
        column = column->dictionary;
        if (column == NULL || i < 0 || i >= column->length) {
            return -1;
        }
    }
}

static double half_to_double(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    double magnitude = bits & 0x3FF;
    if (exponent == 31) {
        magnitude = magnitude == 0 ? (double)__builtin_inff() : (double)__builtin_nanf("");
    } else if (exponent == 0) {
        magnitude *= 0x1p-24;
    } else {
        magnitude = (magnitude + 1024) * (double)(UINT64_C(1) << exponent) * 0x1p-25;
    }
    return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

int64_t oci_agg_load_int(const oci_field *field, const uint8_t *values, int64_t at)
{
    switch (field->type) {
    case OCI_TYPE_BOOL: return oci_bit_get(values, at);
    case OCI_TYPE_INT8: return (int8_t)values[at];
    case OCI_TYPE_UINT8: return values[at];
    case OCI_TYPE_INT16: return (int16_t)oci_load_le16(values + at * 2);
    case OCI_TYPE_UINT16: return oci_load_le16(values + at * 2);
    case OCI_TYPE_UINT32: return oci_load_le32(values + at * 4);
    default: break;
    }
    return field->byte_width == 4 ? (int32_t)oci_load_le32(values + at * 4)
                                  : (int64_t)oci_load_le64(values + at * 8);
}

double oci_agg_load_double(const oci_field *field, const uint8_t *values, int64_t at)
{
    double wide;
    float narrow;
    switch (field->type) {
    case OCI_TYPE_FLOAT64: memcpy(&wide, values + at * 8, sizeof wide); return wide;
    case OCI_TYPE_FLOAT32: memcpy(&narrow, values + at * 4, sizeof narrow); return (double)narrow;
    case OCI_TYPE_FLOAT16: return half_to_double(oci_load_le16(values + at * 2));
    case OCI_TYPE_UINT64: return (double)oci_load_le64(values + at * 8);
    default: return (double)oci_agg_load_int(field, values, at);
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

static int64_t values_bytes(const oci_field *field, int64_t n)
{
    switch (oci_field_layout(field)) {
    case OCI_LAYOUT_BITS: return (n + 7) / 8;
    case OCI_LAYOUT_OFFSETS32: return (n + 1) * 4;
    case OCI_LAYOUT_OFFSETS64: return (n + 1) * 8;
    default: return n * field->byte_width;
    }
}

int64_t oci_agg_column_bytes(const oci_field *field, int64_t n, int64_t text_bytes)
{
    return oci_round_up((n + 7) / 8, 8) + oci_round_up(values_bytes(field, n), 8) +
           oci_round_up(text_bytes, 8);
}

oc_status oci_agg_writer_open(oci_agg_writer *writer, oci_schema *schema, oci_mem *mem, int64_t n,
                              int64_t bytes, oc_error *err)
{
    void *block;
    bytes = oci_max64(bytes, 8);
    oci_column *columns = calloc((size_t)schema->n_fields + 1, sizeof *columns);
    if (columns == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not make columns of states: out of memory");
    }
    oc_status status = oci_mem_alloc(mem, bytes, &block, err);
    if (status != OC_OK) {
        free(columns);
        return status;
    }
    *writer = (oci_agg_writer){.schema = schema,
                               .mem = mem,
                               .columns = columns,
                               .block = block,
                               .at = block,
                               .bytes = bytes,
                               .n = n};
    return OC_OK;
}

oci_column *oci_agg_writer_column(oci_agg_writer *writer, int64_t text_bytes, uint8_t **values,
                                  uint8_t **text)
{
    const oci_field *field = &writer->schema->fields[writer->n_columns];
    oci_column *column = &writer->columns[writer->n_columns++];
    int64_t n = writer->n;
    uint8_t *validity = writer->at;
    uint8_t *at = validity + oci_round_up((n + 7) / 8, 8);
    int64_t bytes = oci_round_up(values_bytes(field, n), 8);
    memset(validity, 0xFF, (size_t)(at - validity));
    memset(at, 0, (size_t)bytes);
    *column = (oci_column){.field = field, .length = n, .validity = validity, .values = at};
    *values = at;
    at += bytes;
    if (text != NULL) {
        *text = at;
        column->bytes = at;
        at += oci_round_up(text_bytes, 8);
    }
    writer->at = at;
    return column;
}

oc_status oci_agg_writer_finish(oci_agg_writer *writer, oci_batch **out, oc_error *err)
{
    return oci_batch_adopt(writer->schema, writer->n, writer->columns, writer->mem, writer->block,
                           writer->bytes, NULL, 0, out, err);
}

void oci_agg_writer_abandon(oci_agg_writer *writer)
{
    oci_mem_free(writer->mem, writer->block, writer->bytes);
    free(writer->columns);
}

void oci_agg_set_null(oci_column *column, int64_t row)
{
    oci_bit_clear((uint8_t *)(uintptr_t)column->validity, row);
    column->null_count++;
}
