/* The Arrow type of a leaf: the table of schema.h. Logical types count before converted ones, and these are
 * told as logical types first, so that there is one table. */
#include "formats/parquet/schema_internal.h"

static const char wrong_pair[] = "its logical type does not fit its physical type";

typedef enum leaf_kind {
    LEAF_PLAIN, /* nothing but the physical type */
    LEAF_NULL,
    LEAF_TEXT,
    LEAF_BINARY, /* BSON */
    LEAF_DECIMAL,
    LEAF_DATE,
    LEAF_TIME,
    LEAF_TIMESTAMP,
    LEAF_INTEGER,
    LEAF_UUID,
    LEAF_FLOAT16,
    LEAF_INTERVAL
} leaf_kind;

typedef struct leaf_meaning {
    leaf_kind kind;
    int8_t unit;      /* 1 ms, 2 us, 3 ns */
    int8_t bit_width; /* integers */
    bool is_signed;
    bool is_utc;
} leaf_meaning;

static leaf_meaning meaning_of_logical(const oci_parquet_element *e)
{
    switch (e->logical) {
    case OCI_PARQUET_LOGICAL_STRING:
    case OCI_PARQUET_LOGICAL_ENUM:
    case OCI_PARQUET_LOGICAL_JSON: return (leaf_meaning){.kind = LEAF_TEXT};
    case OCI_PARQUET_LOGICAL_BSON: return (leaf_meaning){.kind = LEAF_BINARY};
    case OCI_PARQUET_LOGICAL_DECIMAL: return (leaf_meaning){.kind = LEAF_DECIMAL};
    case OCI_PARQUET_LOGICAL_DATE: return (leaf_meaning){.kind = LEAF_DATE};
    case OCI_PARQUET_LOGICAL_TIME: return (leaf_meaning){.kind = LEAF_TIME, .unit = e->unit};
    case OCI_PARQUET_LOGICAL_TIMESTAMP:
        return (leaf_meaning){.kind = LEAF_TIMESTAMP, .unit = e->unit, .is_utc = e->is_utc};
    case OCI_PARQUET_LOGICAL_INTEGER:
        return (leaf_meaning){
            .kind = LEAF_INTEGER, .bit_width = e->bit_width, .is_signed = e->is_signed};
    case OCI_PARQUET_LOGICAL_UNKNOWN: return (leaf_meaning){.kind = LEAF_NULL};
    case OCI_PARQUET_LOGICAL_UUID: return (leaf_meaning){.kind = LEAF_UUID};
    case OCI_PARQUET_LOGICAL_FLOAT16: return (leaf_meaning){.kind = LEAF_FLOAT16};
    default: return (leaf_meaning){.kind = LEAF_PLAIN};
    }
}

/* Timestamps of converted types are of no time zone that is known, as pyarrow takes them. */
static leaf_meaning meaning_of_converted(const oci_parquet_element *e)
{
    int converted = (int)e->converted;
    switch (e->converted) {
    case OCI_PARQUET_CONVERTED_UTF8:
    case OCI_PARQUET_CONVERTED_ENUM:
    case OCI_PARQUET_CONVERTED_JSON: return (leaf_meaning){.kind = LEAF_TEXT};
    case OCI_PARQUET_CONVERTED_BSON: return (leaf_meaning){.kind = LEAF_BINARY};
    case OCI_PARQUET_CONVERTED_DECIMAL: return (leaf_meaning){.kind = LEAF_DECIMAL};
    case OCI_PARQUET_CONVERTED_DATE: return (leaf_meaning){.kind = LEAF_DATE};
    case OCI_PARQUET_CONVERTED_TIME_MILLIS: return (leaf_meaning){.kind = LEAF_TIME, .unit = 1};
    case OCI_PARQUET_CONVERTED_TIME_MICROS: return (leaf_meaning){.kind = LEAF_TIME, .unit = 2};
    case OCI_PARQUET_CONVERTED_TIMESTAMP_MILLIS:
        return (leaf_meaning){.kind = LEAF_TIMESTAMP, .unit = 1};
    case OCI_PARQUET_CONVERTED_TIMESTAMP_MICROS:
        return (leaf_meaning){.kind = LEAF_TIMESTAMP, .unit = 2};
    case OCI_PARQUET_CONVERTED_UINT8:
    case OCI_PARQUET_CONVERTED_UINT16:
    case OCI_PARQUET_CONVERTED_UINT32:
    case OCI_PARQUET_CONVERTED_UINT64:
        return (leaf_meaning){
            .kind = LEAF_INTEGER,
            .bit_width = (int8_t)(8 << (converted - OCI_PARQUET_CONVERTED_UINT8))};
    case OCI_PARQUET_CONVERTED_INT8:
    case OCI_PARQUET_CONVERTED_INT16:
    case OCI_PARQUET_CONVERTED_INT32:
    case OCI_PARQUET_CONVERTED_INT64:
        return (leaf_meaning){.kind = LEAF_INTEGER,
                              .bit_width = (int8_t)(8 << (converted - OCI_PARQUET_CONVERTED_INT8)),
                              .is_signed = true};
    case OCI_PARQUET_CONVERTED_INTERVAL: return (leaf_meaning){.kind = LEAF_INTERVAL};
    default: return (leaf_meaning){.kind = LEAF_PLAIN};
    }
}

static void set_type(oci_field *field, oci_type type)
{
    field->type = type;
    oci_field_set_width(field);
}

static const char *plain_type(const oci_parquet_element *e, oci_field *field)
{
    switch (e->type) {
    case OCI_PARQUET_BOOLEAN: set_type(field, OCI_TYPE_BOOL); break;
    case OCI_PARQUET_INT32: set_type(field, OCI_TYPE_INT32); break;
    case OCI_PARQUET_INT64: set_type(field, OCI_TYPE_INT64); break;
    case OCI_PARQUET_FLOAT: set_type(field, OCI_TYPE_FLOAT32); break;
    case OCI_PARQUET_DOUBLE: set_type(field, OCI_TYPE_FLOAT64); break;
    case OCI_PARQUET_BYTE_ARRAY: set_type(field, OCI_TYPE_BINARY); break;
    case OCI_PARQUET_INT96:
        set_type(field, OCI_TYPE_TIMESTAMP);
        field->unit = OCI_NANO;
        break;
    default: /* OCI_PARQUET_FIXED */
        if (e->type_length == 0) {
            return "its values have a fixed length of 0";
        }
        set_type(field, OCI_TYPE_FIXED_BINARY);
        field->byte_width = e->type_length;
    }
    return NULL;
}

static const char *decimal_type(const oci_parquet_element *e, oci_field *field)
{
    int32_t digits_max = e->type == OCI_PARQUET_INT32 ? 9 : e->type == OCI_PARQUET_INT64 ? 18 : 76;
    if (e->type != OCI_PARQUET_INT32 && e->type != OCI_PARQUET_INT64 &&
        e->type != OCI_PARQUET_BYTE_ARRAY &&
        (e->type != OCI_PARQUET_FIXED || e->type_length == 0)) {
        return wrong_pair;
    }
    if (e->precision < 1 || e->precision > digits_max) {
        return "its decimals have a precision that does not fit their type";
    }
    if (e->scale < 0 || e->scale > e->precision) {
        return "its decimals have a scale outside of their precision";
    }
    set_type(field, e->precision > 38 ? OCI_TYPE_DECIMAL256 : OCI_TYPE_DECIMAL128);
    field->precision = e->precision;
    field->scale = e->scale;
    return NULL;
}

static const char *time_type(const oci_parquet_element *e, const leaf_meaning *m, oci_field *field)
{
    bool is_time = m->kind == LEAF_TIME;
    bool is_milli = m->unit == 1;
    if (m->unit == 0) {
        return "its logical type has an unknown unit";
    }
    if (e->type != (is_time && is_milli ? OCI_PARQUET_INT32 : OCI_PARQUET_INT64)) {
        return wrong_pair;
    }
    set_type(field, !is_time ? OCI_TYPE_TIMESTAMP : is_milli ? OCI_TYPE_TIME32 : OCI_TYPE_TIME64);
    field->unit = is_milli ? OCI_MILLI : m->unit == 2 ? OCI_MICRO : OCI_NANO;
    return NULL;
}

static const char *integer_type(const oci_parquet_element *e, const leaf_meaning *m,
                                oci_field *field)
{
    static const oci_type types[2][4] = {
        {OCI_TYPE_UINT8, OCI_TYPE_UINT16, OCI_TYPE_UINT32, OCI_TYPE_UINT64},
        {OCI_TYPE_INT8, OCI_TYPE_INT16, OCI_TYPE_INT32, OCI_TYPE_INT64}};
    if (m->bit_width == 0 ||
        e->type != (m->bit_width == 64 ? OCI_PARQUET_INT64 : OCI_PARQUET_INT32)) {
        return wrong_pair;
    }
    set_type(field, types[m->is_signed][__builtin_ctz((unsigned)m->bit_width) - 3]);
    return NULL;
}

/* For meanings that have one physical type and one Arrow type. */
static const char *only_type(const oci_parquet_element *e, oci_parquet_type physical,
                             int32_t length, oci_type type, oci_field *field)
{
    if (e->type != physical || (physical == OCI_PARQUET_FIXED && e->type_length != length)) {
        return wrong_pair;
    }
    set_type(field, type);
    if (type == OCI_TYPE_FIXED_BINARY) {
        field->byte_width = length;
    }
    return NULL;
}

const char *oci_parquet_leaf_type(const oci_parquet_element *e, oci_field *field)
{
    leaf_meaning m = e->logical != OCI_PARQUET_LOGICAL_NONE ? meaning_of_logical(e)
                                                            : meaning_of_converted(e);
    switch (m.kind) {
    case LEAF_NULL: set_type(field, OCI_TYPE_NULL); return NULL;
    case LEAF_TEXT: return only_type(e, OCI_PARQUET_BYTE_ARRAY, 0, OCI_TYPE_UTF8, field);
    case LEAF_BINARY: return only_type(e, OCI_PARQUET_BYTE_ARRAY, 0, OCI_TYPE_BINARY, field);
    case LEAF_DECIMAL: return decimal_type(e, field);
    case LEAF_DATE: return only_type(e, OCI_PARQUET_INT32, 0, OCI_TYPE_DATE32, field);
    case LEAF_TIME:
    case LEAF_TIMESTAMP: return time_type(e, &m, field);
    case LEAF_INTEGER: return integer_type(e, &m, field);
    case LEAF_UUID: return only_type(e, OCI_PARQUET_FIXED, 16, OCI_TYPE_FIXED_BINARY, field);
    case LEAF_FLOAT16: return only_type(e, OCI_PARQUET_FIXED, 2, OCI_TYPE_FLOAT16, field);
    case LEAF_INTERVAL: return only_type(e, OCI_PARQUET_FIXED, 12, OCI_TYPE_FIXED_BINARY, field);
    default: return plain_type(e, field);
    }
}
