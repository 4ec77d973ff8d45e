/* From an Arrow schema to the elements of a Parquet file: see schema.h.
 *
 * Counted first, so that elements lie in one array of the arena; then written depth first. Names follow the
 * format's documents ("list", "element", "key_value"), as all readers expect them. */
#include <stdlib.h>
#include <string.h>

#include "formats/parquet/schema_internal.h"
#include "ipc/base64.h"

typedef struct element_writer {
    oci_parquet_metadata *metadata;
    oc_error *err;
} element_writer;

static oci_parquet_bytes bytes_of(const char *text)
{
    return (oci_parquet_bytes){(const uint8_t *)text, (int64_t)strlen(text)};
}

static oci_parquet_element *add_element(element_writer *w, const char *name,
                                        oci_parquet_repetition repetition)
{
    oci_parquet_element *e = &w->metadata->elements[w->metadata->n_elements++];
    *e = (oci_parquet_element){.type = OCI_PARQUET_GROUP,
                               .name = bytes_of(name),
                               .repetition = repetition,
                               .converted = OCI_PARQUET_CONVERTED_NONE};
    return e;
}

static bool is_list(const oci_field *field)
{
    oci_layout layout = oci_field_layout(field);
    return (layout == OCI_LAYOUT_LIST32 && field->type != OCI_TYPE_MAP) ||
           layout == OCI_LAYOUT_LIST64 || layout == OCI_LAYOUT_FIXED_LIST;
}

static int64_t count_elements(const oci_field *field)
{
    int64_t n = is_list(field) || field->type == OCI_TYPE_MAP ? 2 : 1;
    const oci_field *holder = field->type == OCI_TYPE_MAP ? &field->children[0] : field;
    for (int32_t i = 0; i < holder->n_children; i++) {
        n += count_elements(&holder->children[i]);
    }
    return n;
}

/* ---- leaves ---------------------------------------------------------------------------------- */

static void write_integer(oci_parquet_element *e, int8_t bits, bool is_signed, bool is_named)
{
    e->type = bits == 64 ? OCI_PARQUET_INT64 : OCI_PARQUET_INT32;
    if (is_named) {
        int place = __builtin_ctz((unsigned)bits) - 3;
        e->logical = OCI_PARQUET_LOGICAL_INTEGER;
        e->bit_width = bits;
        e->is_signed = is_signed;
        e->converted = (oci_parquet_converted)((is_signed ? OCI_PARQUET_CONVERTED_INT8
                                                          : OCI_PARQUET_CONVERTED_UINT8) +
                                               place);
    }
}

/* Bytes that hold all numbers of so many digits in two's complement. */
static int32_t decimal_bytes(int32_t precision)
{
    /* 10^p needs p * log2(10) bits; 3.3219281 is a little more. */
    return (int32_t)(((int64_t)precision * 33219281 / 10000000 + 1) / 8 + 1);
}

static void write_decimal(oci_parquet_element *e, const oci_field *field)
{
    e->type = field->precision <= 9    ? OCI_PARQUET_INT32
              : field->precision <= 18 ? OCI_PARQUET_INT64
                                       : OCI_PARQUET_FIXED;
    e->type_length = e->type == OCI_PARQUET_FIXED ? decimal_bytes(field->precision) : 0;
    e->logical = OCI_PARQUET_LOGICAL_DECIMAL;
    e->converted = OCI_PARQUET_CONVERTED_DECIMAL;
    e->precision = field->precision;
    e->scale = field->scale;
}

static void write_time(oci_parquet_element *e, const oci_field *field)
{
    bool is_stamp = field->type == OCI_TYPE_TIMESTAMP;
    e->unit = field->unit == OCI_NANO ? 3 : field->unit == OCI_MICRO ? 2 : 1;
    e->type = is_stamp || e->unit > 1 ? OCI_PARQUET_INT64 : OCI_PARQUET_INT32;
    e->logical = is_stamp ? OCI_PARQUET_LOGICAL_TIMESTAMP : OCI_PARQUET_LOGICAL_TIME;
    e->is_utc = !is_stamp || field->timezone != NULL;
    /* The converted types mean UTC, and know no nanoseconds. */
    if (e->is_utc && e->unit < 3) {
        int converted = is_stamp ? OCI_PARQUET_CONVERTED_TIMESTAMP_MILLIS
                                 : OCI_PARQUET_CONVERTED_TIME_MILLIS;
        e->converted = (oci_parquet_converted)(converted + e->unit - 1);
    }
}

static void write_plain(oci_parquet_element *e, oci_parquet_type type, int32_t length,
                        oci_parquet_logical logical, oci_parquet_converted converted)
{
    e->type = type;
    e->type_length = length;
    e->logical = logical;
    e->converted = converted;
}

static oc_status refuse_type(element_writer *w, const oci_field *field)
{
    char type[128];
    oci_field_type_text(field, type, sizeof type);
    OC_FAIL(w->err, OC_EUNSUPPORTED,
            "could not write column \"%s\" as Parquet: the format has no type for %s; cast it or "
            "leave it out",
            field->name, type);
}

static oc_status write_leaf(element_writer *w, oci_parquet_element *e, const oci_field *field)
{
    const oci_parquet_converted none = OCI_PARQUET_CONVERTED_NONE;
    switch (field->type) {
    case OCI_TYPE_NULL:
        write_plain(e, OCI_PARQUET_INT32, 0, OCI_PARQUET_LOGICAL_UNKNOWN, none);
        break;
    case OCI_TYPE_BOOL:
        write_plain(e, OCI_PARQUET_BOOLEAN, 0, OCI_PARQUET_LOGICAL_NONE, none);
        break;
    case OCI_TYPE_INT8: write_integer(e, 8, true, true); break;
    case OCI_TYPE_INT16: write_integer(e, 16, true, true); break;
    case OCI_TYPE_INT32: write_integer(e, 32, true, false); break;
    case OCI_TYPE_INT64:
    case OCI_TYPE_DURATION: write_integer(e, 64, true, false); break;
    case OCI_TYPE_UINT8: write_integer(e, 8, false, true); break;
    case OCI_TYPE_UINT16: write_integer(e, 16, false, true); break;
    case OCI_TYPE_UINT32: write_integer(e, 32, false, true); break;
    case OCI_TYPE_UINT64: write_integer(e, 64, false, true); break;
    case OCI_TYPE_FLOAT16:
        write_plain(e, OCI_PARQUET_FIXED, 2, OCI_PARQUET_LOGICAL_FLOAT16, none);
        break;
    case OCI_TYPE_FLOAT32:
        write_plain(e, OCI_PARQUET_FLOAT, 0, OCI_PARQUET_LOGICAL_NONE, none);
        break;
    case OCI_TYPE_FLOAT64:
        write_plain(e, OCI_PARQUET_DOUBLE, 0, OCI_PARQUET_LOGICAL_NONE, none);
        break;
    case OCI_TYPE_DECIMAL32:
    case OCI_TYPE_DECIMAL64:
    case OCI_TYPE_DECIMAL128:
    case OCI_TYPE_DECIMAL256:
        if (field->scale < 0 || field->scale > field->precision) {
            OC_FAIL(
                w->err, OC_EUNSUPPORTED,
                "could not write column \"%s\" as Parquet: a decimal of %d digits has a scale of "
                "%d, and the format knows none outside of 0 to the digits; cast it",
                field->name, field->precision, field->scale);
        }
        write_decimal(e, field);
        break;
    case OCI_TYPE_DATE32:
    case OCI_TYPE_DATE64:
        write_plain(e, OCI_PARQUET_INT32, 0, OCI_PARQUET_LOGICAL_DATE, OCI_PARQUET_CONVERTED_DATE);
        break;
    case OCI_TYPE_TIME32:
    case OCI_TYPE_TIME64:
    case OCI_TYPE_TIMESTAMP: write_time(e, field); break;
    case OCI_TYPE_UTF8:
    case OCI_TYPE_LARGE_UTF8:
        write_plain(e, OCI_PARQUET_BYTE_ARRAY, 0, OCI_PARQUET_LOGICAL_STRING,
                    OCI_PARQUET_CONVERTED_UTF8);
        break;
    case OCI_TYPE_BINARY:
    case OCI_TYPE_LARGE_BINARY:
        write_plain(e, OCI_PARQUET_BYTE_ARRAY, 0, OCI_PARQUET_LOGICAL_NONE, none);
        break;
    case OCI_TYPE_FIXED_BINARY:
        if (field->byte_width == 0) {
            return refuse_type(w, field);
        }
        write_plain(e, OCI_PARQUET_FIXED, field->byte_width, OCI_PARQUET_LOGICAL_NONE, none);
        break;
    default: return refuse_type(w, field);
    }
    w->metadata->leaves[w->metadata->n_leaves++] = e;
    return OC_OK;
}

/* ---- nested ---------------------------------------------------------------------------------- */

static oc_status write_field(element_writer *w, const char *name, const oci_field *field,
                             bool is_nullable);

static oc_status write_list(element_writer *w, oci_parquet_element *e, const oci_field *field)
{
    e->n_children = 1;
    e->logical = OCI_PARQUET_LOGICAL_LIST;
    e->converted = OCI_PARQUET_CONVERTED_LIST;
    add_element(w, "list", OCI_PARQUET_REPEATED)->n_children = 1;
    return write_field(w, "element", &field->children[0], field->children[0].nullable);
}

static oc_status write_map(element_writer *w, oci_parquet_element *e, const oci_field *field)
{
    const oci_field *entries = &field->children[0];
    e->n_children = 1;
    e->logical = OCI_PARQUET_LOGICAL_MAP;
    e->converted = OCI_PARQUET_CONVERTED_MAP;
    add_element(w, "key_value", OCI_PARQUET_REPEATED)->n_children = 2;
    OC_TRY(write_field(w, "key", &entries->children[0], false));
    return write_field(w, "value", &entries->children[1], entries->children[1].nullable);
}

static oc_status write_struct(element_writer *w, oci_parquet_element *e, const oci_field *field)
{
    if (field->n_children == 0) {
        OC_FAIL(
            w->err, OC_EUNSUPPORTED,
            "could not write column \"%s\" as Parquet: the format has no structs without fields",
            field->name);
    }
    e->n_children = field->n_children;
    for (int32_t i = 0; i < field->n_children; i++) {
        const oci_field *child = &field->children[i];
        OC_TRY(write_field(w, child->name, child, child->nullable));
    }
    return OC_OK;
}

static oc_status write_field(element_writer *w, const char *name, const oci_field *field,
                             bool is_nullable)
{
    /* Nulls only need no value that is not one. */
    bool is_optional = is_nullable || field->type == OCI_TYPE_NULL;
    oci_parquet_element *e =
        add_element(w, name, is_optional ? OCI_PARQUET_OPTIONAL : OCI_PARQUET_REQUIRED);
    if (is_list(field)) {
        return write_list(w, e, field);
    }
    switch (field->type) {
    case OCI_TYPE_MAP: return write_map(w, e, field);
    case OCI_TYPE_STRUCT: return write_struct(w, e, field);
    case OCI_TYPE_DICTIONARY: return write_leaf(w, e, field->dictionary);
    default: return write_leaf(w, e, field);
    }
}

/* ---- metadata -------------------------------------------------------------------------------- */

/* The pairs of a schema as they lie in the C data encoding, then the stored schema. */
static oc_status write_key_values(const oci_schema *schema, oci_parquet_metadata *metadata,
                                  oc_error *err)
{
    int32_t n = 0;
    void *made;
    const uint8_t *at = (const uint8_t *)schema->metadata;
    if (at != NULL) {
        memcpy(&n, at, sizeof n);
        at += sizeof n;
    }
    OC_TRY(
        oci_parquet_arena_alloc(&metadata->arena, n + 1, sizeof *metadata->key_values, &made, err));
    metadata->key_values = made;
    for (int32_t i = 0; i < n; i++) {
        oci_parquet_bytes *const parts[2] = {&metadata->key_values[i].key,
                                             &metadata->key_values[i].value};
        for (int k = 0; k < 2; k++) {
            int32_t size;
            memcpy(&size, at, sizeof size);
            void *copy;
            OC_TRY(oci_parquet_arena_alloc(&metadata->arena, size, 1, &copy, err));
            memcpy(copy, at + sizeof size, (size_t)size);
            *parts[k] = (oci_parquet_bytes){copy, size};
            at += sizeof size + (size_t)size;
        }
    }
    metadata->n_key_values = n;
    return OC_OK;
}

static oc_status write_stored(const oci_schema *schema, oci_parquet_metadata *metadata,
                              oc_error *err)
{
    oci_bytes message = {0};
    oci_bytes text = {0};
    void *copy;
    oc_status status = oci_message_build_schema(schema, false, &message, err);
    if (status == OC_OK) {
        status = oci_base64_encode(message.data, message.size, &text, err);
    }
    if (status == OC_OK) {
        status = oci_parquet_arena_alloc(&metadata->arena, text.size, 1, &copy, err);
    }
    if (status == OC_OK) {
        memcpy(copy, text.data, (size_t)text.size);
        metadata->key_values[metadata->n_key_values++] =
            (oci_parquet_key_value){bytes_of(OCI_PARQUET_STORED_SCHEMA), {copy, text.size}};
    }
    free(message.data);
    free(text.data);
    return status;
}

oc_status oci_parquet_schema_write(const oci_schema *working, const oci_schema *announced,
                                   oci_parquet_metadata *metadata, oc_error *err)
{
    element_writer w = {.metadata = metadata, .err = err};
    const oci_schema *stored = announced != NULL ? announced : working;
    int64_t n = 1;
    void *made;
    for (int32_t i = 0; i < working->n_fields; i++) {
        n += count_elements(&working->fields[i]);
    }
    OC_TRY(oci_parquet_arena_alloc(&metadata->arena, n, sizeof *metadata->elements, &made, err));
    metadata->elements = made;
    OC_TRY(oci_parquet_arena_alloc(&metadata->arena, n, sizeof *metadata->leaves, &made, err));
    metadata->leaves = made;
    add_element(&w, "schema", OCI_PARQUET_REQUIRED)->n_children = working->n_fields;
    for (int32_t i = 0; i < working->n_fields; i++) {
        const oci_field *field = &working->fields[i];
        OC_TRY(write_field(&w, field->name, field, field->nullable));
    }
    OC_TRY(write_key_values(stored, metadata, err));
    return write_stored(stored, metadata, err);
}
