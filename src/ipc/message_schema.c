/* Reading schemas: from the flatbuffer to an oci_schema. (Writing: message_schema_build.c.)
 *
 * Names, time zones and custom metadata are copied out of the flatbuffer. Flatbuffers may share
 * objects, so that few bytes can stand for a great many columns with long names: what is copied is
 * held to a small multiple of the bytes that were given, and there are no more fields than bytes
 * for them. Fields are read depth first, by a recursion that ends at OCI_NESTING_MAX before it
 * looks at a child.
 *
 * A dictionary field is stored as its values: type and children of the flatbuffer's field are
 * theirs, name, nullability and custom metadata are the column's.
 *
 * What is read here comes from malloc, as schemas do. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "ipc/message_internal.h"

/* A field takes this much flatbuffer at the very least, with everything shared that can be: an
 * offset and a table of three fields. */
#define FIELD_BYTES_MIN 16
#define LABEL_BYTES     224
#define IDS_FIRST       16

typedef struct schema_reader {
    oci_fb *fb;
    int64_t copied;      /* bytes of names and metadata so far */
    int64_t copied_max;  /* what copying them once each could come to, and some more */
    int64_t fields_left; /* that the bytes have room for */
    oci_dictionary_ids ids;
    int32_t ids_max;
    const char *column;      /* name of the column at hand, NULL when it has none ... */
    int64_t number;          /* ... and its number */
    char label[LABEL_BYTES]; /* the field at hand, for messages */
} schema_reader;

/* ---- reading: strings and metadata ----------------------------------------------------------- */

static oc_status fail_memory(oc_error *err)
{
    OC_FAIL(err, OC_ENOMEM, "out of memory while reading a schema");
}

/* Asks for `bytes` of copies. */
static oc_status count_copy(schema_reader *r, int64_t bytes, oc_error *err)
{
    r->copied += bytes;
    if (r->copied > r->copied_max) {
        OC_FAIL(err, OC_EDATA,
                "schema of %" PRId64 " bytes stands for more than %" PRId64
                " bytes of names and metadata; it is damaged",
                r->fb->size, r->copied_max);
    }
    return OC_OK;
}

/* "" when absent. */
static oc_status read_text(schema_reader *r, const oci_fb_table *table, int field, char **out,
                           oc_error *err)
{
    oci_fb_vector text = oci_fb_get_vector(r->fb, table, field, 1);
    OC_TRY(count_copy(r, text.n, err));
    *out = malloc((size_t)text.n + 1);
    if (*out == NULL) {
        return fail_memory(err);
    }
    if (text.n > 0) {
        memcpy(*out, text.data, (size_t)text.n);
    }
    (*out)[text.n] = 0;
    return OC_OK;
}

/* Length-prefixed text as the C data interface has it (native byte order). NULL `to` only
 * counts. */
static int64_t put_metadata_text(char *to, const oci_fb_vector *text)
{
    if (to != NULL) {
        int32_t size = (int32_t)text->n;
        memcpy(to, &size, sizeof size);
        if (text->n > 0) {
            memcpy(to + sizeof size, text->data, (size_t)text->n);
        }
    }
    return 4 + text->n;
}

static int64_t put_metadata_pairs(oci_fb *fb, const oci_fb_vector *pairs, char *to)
{
    int32_t n_pairs = (int32_t)pairs->n;
    if (to != NULL) {
        memcpy(to, &n_pairs, sizeof n_pairs);
    }
    int64_t bytes = sizeof n_pairs;
    for (int64_t i = 0; i < pairs->n && fb->problem == NULL; i++) {
        oci_fb_table pair = oci_fb_element(fb, pairs, i);
        oci_fb_vector key = oci_fb_get_vector(fb, &pair, KEY_VALUE_KEY, 1);
        oci_fb_vector value = oci_fb_get_vector(fb, &pair, KEY_VALUE_VALUE, 1);
        bytes += put_metadata_text(to == NULL ? NULL : to + bytes, &key);
        bytes += put_metadata_text(to == NULL ? NULL : to + bytes, &value);
    }
    return bytes;
}

static oc_status read_metadata(schema_reader *r, const oci_fb_table *table, int field, char **out,
                               int64_t *out_bytes, oc_error *err)
{
    oci_fb_vector pairs = oci_fb_get_vector(r->fb, table, field, 4);
    if (pairs.n == 0) {
        return OC_OK;
    }
    int64_t bytes = put_metadata_pairs(r->fb, &pairs, NULL);
    OC_TRY(oci_fb_check(r->fb, err));
    OC_TRY(count_copy(r, bytes, err));
    *out = malloc((size_t)bytes);
    if (*out == NULL) {
        return fail_memory(err);
    }
    put_metadata_pairs(r->fb, &pairs, *out);
    *out_bytes = bytes;
    return OC_OK;
}

/* ---- reading: types -------------------------------------------------------------------------- */

/* Takes one of a table's choices, or says what is wrong. */
static oc_status fail_parameter(const schema_reader *r, const char *what, int64_t value,
                                oc_error *err)
{
    OC_FAIL(err, OC_EDATA, "%s has a damaged type: %s %" PRId64 " does not exist", r->label, what,
            value);
}

static oc_status read_int(schema_reader *r, const oci_fb_table *table, oci_type *out, oc_error *err)
{
    int64_t bits = oci_fb_integer(r->fb, table, INT_BIT_WIDTH, 4, 0);
    bool is_signed = oci_fb_integer(r->fb, table, INT_IS_SIGNED, 1, 0) != 0;
    switch (bits) {
    case 8: *out = is_signed ? OCI_TYPE_INT8 : OCI_TYPE_UINT8; return OC_OK;
    case 16: *out = is_signed ? OCI_TYPE_INT16 : OCI_TYPE_UINT16; return OC_OK;
    case 32: *out = is_signed ? OCI_TYPE_INT32 : OCI_TYPE_UINT32; return OC_OK;
    case 64: *out = is_signed ? OCI_TYPE_INT64 : OCI_TYPE_UINT64; return OC_OK;
    default: return fail_parameter(r, "integer width", bits, err);
    }
}

static oc_status read_float(schema_reader *r, const oci_fb_table *table, oci_field *field,
                            oc_error *err)
{
    static const oci_type types[] = {OCI_TYPE_FLOAT16, OCI_TYPE_FLOAT32, OCI_TYPE_FLOAT64};
    int64_t precision = oci_fb_integer(r->fb, table, FLOATING_POINT_PRECISION, 2, 0);
    if (precision < 0 || precision > 2) {
        return fail_parameter(r, "floating point precision", precision, err);
    }
    field->type = types[precision];
    return OC_OK;
}

static oc_status read_decimal(schema_reader *r, const oci_fb_table *table, oci_field *field,
                              oc_error *err)
{
    int32_t digits_max = 0;
    int64_t bits = oci_fb_integer(r->fb, table, DECIMAL_BIT_WIDTH, 4, 128);
    if (!oci_decimal_of_bits(bits, &field->type, &digits_max)) {
        return fail_parameter(r, "decimal width", bits, err);
    }
    field->precision = (int32_t)oci_fb_integer(r->fb, table, DECIMAL_PRECISION, 4, 0);
    field->scale = (int32_t)oci_fb_integer(r->fb, table, DECIMAL_SCALE, 4, 0);
    if (field->precision < 1 || field->precision > digits_max) {
        return fail_parameter(r, "decimal precision", field->precision, err);
    }
    if (field->scale < -digits_max || field->scale > digits_max) {
        return fail_parameter(r, "decimal scale", field->scale, err);
    }
    return OC_OK;
}

static oc_status read_unit(schema_reader *r, const oci_fb_table *table, int place, int64_t absent,
                           oci_field *field, oc_error *err)
{
    int64_t unit = oci_fb_integer(r->fb, table, place, 2, absent);
    if (unit < 0 || unit > 3) {
        return fail_parameter(r, "time unit", unit, err);
    }
    field->unit = (oci_time_unit)unit;
    return OC_OK;
}

static oc_status read_time(schema_reader *r, const oci_fb_table *table, oci_field *field,
                           oc_error *err)
{
    OC_TRY(read_unit(r, table, TIME_UNIT, OCI_MILLI, field, err));
    int64_t bits = oci_fb_integer(r->fb, table, TIME_BIT_WIDTH, 4, 32);
    bool is_short = field->unit <= OCI_MILLI;
    if (bits != (is_short ? 32 : 64)) {
        return fail_parameter(r, "time of this unit with width", bits, err);
    }
    field->type = is_short ? OCI_TYPE_TIME32 : OCI_TYPE_TIME64;
    return OC_OK;
}

static oc_status read_timestamp(schema_reader *r, const oci_fb_table *table, oci_field *field,
                                oc_error *err)
{
    field->type = OCI_TYPE_TIMESTAMP;
    OC_TRY(read_unit(r, table, TIMESTAMP_UNIT, OCI_SECOND, field, err));
    if (oci_fb_get_vector(r->fb, table, TIMESTAMP_TIMEZONE, 1).n > 0) {
        OC_TRY(read_text(r, table, TIMESTAMP_TIMEZONE, &field->timezone, err));
    }
    return OC_OK;
}

static oc_status read_interval(schema_reader *r, const oci_fb_table *table, oci_field *field,
                               oc_error *err)
{
    static const oci_type types[] = {OCI_TYPE_INTERVAL_MONTHS, OCI_TYPE_INTERVAL_DAY_TIME,
                                     OCI_TYPE_INTERVAL_MONTH_DAY_NANO};
    int64_t unit = oci_fb_integer(r->fb, table, INTERVAL_UNIT, 2, 0);
    if (unit < 0 || unit > 2) {
        return fail_parameter(r, "interval unit", unit, err);
    }
    field->type = types[unit];
    return OC_OK;
}

static oc_status read_date(schema_reader *r, const oci_fb_table *table, oci_field *field,
                           oc_error *err)
{
    int64_t unit = oci_fb_integer(r->fb, table, DATE_UNIT, 2, 1);
    if (unit != 0 && unit != 1) {
        return fail_parameter(r, "date unit", unit, err);
    }
    field->type = unit == 0 ? OCI_TYPE_DATE32 : OCI_TYPE_DATE64;
    return OC_OK;
}

static oc_status read_fixed_binary(schema_reader *r, const oci_fb_table *table, oci_field *field,
                                   oc_error *err)
{
    field->type = OCI_TYPE_FIXED_BINARY;
    field->byte_width = (int32_t)oci_fb_integer(r->fb, table, FIXED_SIZE_BINARY_BYTE_WIDTH, 4, 0);
    return field->byte_width < 0 ? fail_parameter(r, "binary width", field->byte_width, err)
                                 : OC_OK;
}

static oc_status read_fixed_list(schema_reader *r, const oci_fb_table *table, oci_field *field,
                                 oc_error *err)
{
    field->type = OCI_TYPE_FIXED_LIST;
    field->list_size = (int32_t)oci_fb_integer(r->fb, table, FIXED_SIZE_LIST_LIST_SIZE, 4, 0);
    return field->list_size < 0 ? fail_parameter(r, "list size", field->list_size, err) : OC_OK;
}

/* Type ids are int32 in the schema and int8 in the data. Without any they are 0, 1, 2, ... */
static oc_status read_union(schema_reader *r, const oci_fb_table *table, int64_t n_children,
                            oci_field *field, oc_error *err)
{
    int64_t mode = oci_fb_integer(r->fb, table, UNION_MODE, 2, 0);
    oci_fb_vector vector = oci_fb_get_vector(r->fb, table, UNION_TYPE_IDS, 4);
    OC_TRY(oci_fb_check(r->fb, err));
    if (mode != 0 && mode != 1) {
        return fail_parameter(r, "union mode", mode, err);
    }
    field->type = mode == 0 ? OCI_TYPE_SPARSE_UNION : OCI_TYPE_DENSE_UNION;
    int8_t ids[128];
    if (n_children > 128 || (vector.data != NULL && vector.n != n_children)) {
        OC_FAIL(err, OC_EDATA,
                "%s is a union of %" PRId64 " children and %" PRId64
                " type ids; there must be as many, and 128 at most",
                r->label, n_children, vector.n);
    }
    for (int64_t i = 0; vector.data != NULL && i < vector.n; i++) {
        int32_t id = (int32_t)oci_load_le32(vector.data + 4 * i);
        if (id < 0 || id > INT8_MAX) {
            return fail_parameter(r, "type id", id, err);
        }
        ids[i] = (int8_t)id;
    }
    return oci_field_set_union_ids(field, vector.data != NULL ? ids : NULL, (int32_t)n_children,
                                   err);
}

/* The types without parameters. OCI_TYPE_COUNT = none of them. */
static oci_type plain_type(int64_t kind)
{
    switch (kind) {
    case FB_TYPE_NULL: return OCI_TYPE_NULL;
    case FB_TYPE_BINARY: return OCI_TYPE_BINARY;
    case FB_TYPE_UTF8: return OCI_TYPE_UTF8;
    case FB_TYPE_BOOL: return OCI_TYPE_BOOL;
    case FB_TYPE_LIST: return OCI_TYPE_LIST;
    case FB_TYPE_STRUCT: return OCI_TYPE_STRUCT;
    case FB_TYPE_LARGE_BINARY: return OCI_TYPE_LARGE_BINARY;
    case FB_TYPE_LARGE_UTF8: return OCI_TYPE_LARGE_UTF8;
    case FB_TYPE_LARGE_LIST: return OCI_TYPE_LARGE_LIST;
    case FB_TYPE_RUN_END_ENCODED: return OCI_TYPE_RUN_END_ENCODED;
    case FB_TYPE_BINARY_VIEW: return OCI_TYPE_BINARY_VIEW;
    case FB_TYPE_UTF8_VIEW: return OCI_TYPE_UTF8_VIEW;
    case FB_TYPE_LIST_VIEW: return OCI_TYPE_LIST_VIEW;
    case FB_TYPE_LARGE_LIST_VIEW: return OCI_TYPE_LARGE_LIST_VIEW;
    default: return OCI_TYPE_COUNT;
    }
}

static oc_status read_type(schema_reader *r, int64_t kind, const oci_fb_table *table,
                           int64_t n_children, oci_field *field, oc_error *err)
{
    switch (kind) {
    case FB_TYPE_INT: return read_int(r, table, &field->type, err);
    case FB_TYPE_FLOATING_POINT: return read_float(r, table, field, err);
    case FB_TYPE_DECIMAL: return read_decimal(r, table, field, err);
    case FB_TYPE_DATE: return read_date(r, table, field, err);
    case FB_TYPE_TIME: return read_time(r, table, field, err);
    case FB_TYPE_TIMESTAMP: return read_timestamp(r, table, field, err);
    case FB_TYPE_INTERVAL: return read_interval(r, table, field, err);
    case FB_TYPE_FIXED_SIZE_BINARY: return read_fixed_binary(r, table, field, err);
    case FB_TYPE_DURATION:
        field->type = OCI_TYPE_DURATION;
        return read_unit(r, table, DURATION_UNIT, OCI_MILLI, field, err);
    case FB_TYPE_FIXED_SIZE_LIST: return read_fixed_list(r, table, field, err);
    case FB_TYPE_MAP:
        field->type = OCI_TYPE_MAP;
        field->keys_sorted = oci_fb_integer(r->fb, table, MAP_KEYS_SORTED, 1, 0) != 0;
        return OC_OK;
    case FB_TYPE_UNION: return read_union(r, table, n_children, field, err);
    default: field->type = plain_type(kind);
    }
    if (field->type == OCI_TYPE_COUNT) {
        OC_FAIL(err, OC_EUNSUPPORTED, "%s has a type that is not known (number %" PRId64 ")",
                r->label, kind & 0xFF);
    }
    return OC_OK;
}

/* ---- reading: fields ------------------------------------------------------------------------- */

/* How messages call the field. The name of a column itself is `name` at depth 0. */
static void set_label(schema_reader *r, const char *name, int depth)
{
    char column[112];
    if (depth == 0) {
        r->column = name[0] != 0 ? name : NULL;
    }
    if (r->column != NULL) {
        snprintf(column, sizeof column, "column \"%.80s\"", r->column);
    } else {
        snprintf(column, sizeof column, "column %" PRId64, r->number);
    }
    if (depth == 0) {
        snprintf(r->label, sizeof r->label, "%s", column);
    } else {
        snprintf(r->label, sizeof r->label, "field \"%.80s\" of %s", name, column);
    }
}

static oc_status add_id(schema_reader *r, int64_t id, oc_error *err)
{
    if (r->ids.n == r->ids_max) {
        int32_t more = r->ids_max > 0 ? 2 * r->ids_max : IDS_FIRST;
        int64_t *grown = malloc((size_t)more * sizeof *grown);
        if (grown == NULL) {
            return fail_memory(err);
        }
        if (r->ids.n > 0) {
            memcpy(grown, r->ids.ids, (size_t)r->ids.n * sizeof *grown);
        }
        free(r->ids.ids);
        r->ids.ids = grown;
        r->ids_max = more;
    }
    r->ids.ids[r->ids.n++] = id;
    return OC_OK;
}

/* Makes the field a dictionary, its values still without a type. */
static oc_status read_encoding(schema_reader *r, const oci_fb_table *encoding, oci_field *field,
                               oc_error *err)
{
    int64_t kind = oci_fb_integer(r->fb, encoding, ENCODING_KIND, 2, 0);
    if (kind != 0) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "%s has a dictionary of a kind that is not known (number %" PRId64 ")", r->label,
                kind);
    }
    field->type = OCI_TYPE_DICTIONARY;
    field->dictionary = calloc(1, sizeof *field->dictionary);
    if (field->dictionary == NULL) {
        return fail_memory(err);
    }
    field->dictionary->nullable = true;
    field->dictionary->name = calloc(1, 1);
    if (field->dictionary->name == NULL) {
        return fail_memory(err);
    }
    field->dictionary_ordered = oci_fb_integer(r->fb, encoding, ENCODING_IS_ORDERED, 1, 0) != 0;
    field->index_type = OCI_TYPE_INT32;
    oci_fb_table index = oci_fb_child(r->fb, encoding, ENCODING_INDEX_TYPE);
    if (index.position != 0) {
        OC_TRY(read_int(r, &index, &field->index_type, err));
    }
    return add_id(r, oci_fb_integer(r->fb, encoding, ENCODING_ID, 8, 0), err);
}

/* What children have to be, now that they are known. */
static oc_status check_children(const schema_reader *r, const oci_field *field, oc_error *err)
{
    const oci_field *first = field->children;
    if (field->type == OCI_TYPE_MAP && (first->type != OCI_TYPE_STRUCT || first->n_children != 2)) {
        OC_FAIL(err, OC_EDATA, "%s is a map, but its entries are no struct of key and value",
                r->label);
    }
    if (field->type == OCI_TYPE_RUN_END_ENCODED && first->type != OCI_TYPE_INT16 &&
        first->type != OCI_TYPE_INT32 && first->type != OCI_TYPE_INT64) {
        OC_FAIL(err, OC_EDATA,
                "%s is run-end encoded with run ends of type %s; they must be int16, int32 or "
                "int64",
                r->label, oci_type_name(first->type));
    }
    return OC_OK;
}

static oc_status read_field(schema_reader *r, const oci_fb_table *table, int depth,
                            oci_field *field, oc_error *err);

static oc_status read_children(schema_reader *r, const oci_fb_vector *vector, int depth,
                               oci_field *field, oc_error *err)
{
    if (vector->n > r->fields_left) {
        OC_FAIL(err, OC_EDATA, "schema of %" PRId64 " bytes claims more fields than it can hold",
                r->fb->size);
    }
    r->fields_left -= vector->n;
    /* One more than needed: calloc of nothing may give NULL. */
    field->children = calloc((size_t)vector->n + 1, sizeof *field->children);
    if (field->children == NULL) {
        return fail_memory(err);
    }
    for (int64_t i = 0; i < vector->n; i++) {
        oci_fb_table table = oci_fb_element(r->fb, vector, i);
        OC_TRY(oci_fb_check(r->fb, err));
        field->n_children++;
        OC_TRY(read_field(r, &table, depth + 1, &field->children[i], err));
    }
    return OC_OK;
}

/* Type and children of the flatbuffer's field, which are those of `field` or of its values. */
static oc_status read_stored(schema_reader *r, const oci_fb_table *table, int depth,
                             oci_field *field, oc_error *err)
{
    if (depth >= OCI_NESTING_MAX) {
        OC_FAIL(err, OC_EUNSUPPORTED, "%s is nested deeper than the %d levels that are supported",
                r->label, OCI_NESTING_MAX);
    }
    int64_t kind = oci_fb_integer(r->fb, table, FIELD_TYPE_TYPE, 1, 0);
    oci_fb_table type = oci_fb_child(r->fb, table, FIELD_TYPE);
    oci_fb_vector children = oci_fb_get_vector(r->fb, table, FIELD_CHILDREN, 4);
    OC_TRY(oci_fb_check(r->fb, err));
    if (kind == 0 || type.position == 0) {
        OC_FAIL(err, OC_EDATA, "%s has no type; the schema is damaged", r->label);
    }
    OC_TRY(read_type(r, kind, &type, children.n, field, err));
    oci_field_set_width(field);
    int32_t n = oci_field_child_count(field);
    if (n >= 0 && children.n != n) {
        OC_FAIL(err, OC_EDATA, "%s has type %s and %" PRId64 " children; it must have %" PRId32,
                r->label, oci_type_name(field->type), children.n, n);
    }
    return children.n > 0 ? read_children(r, &children, depth, field, err) : OC_OK;
}

/* Fills `field`, which is zero at first and stays fit for deinit whatever happens. */
static oc_status read_field(schema_reader *r, const oci_fb_table *table, int depth,
                            oci_field *field, oc_error *err)
{
    OC_TRY(read_text(r, table, FIELD_NAME, &field->name, err));
    set_label(r, field->name, depth);
    field->nullable = oci_fb_integer(r->fb, table, FIELD_NULLABLE, 1, 0) != 0;
    oci_fb_table encoding = oci_fb_child(r->fb, table, FIELD_DICTIONARY);
    OC_TRY(oci_fb_check(r->fb, err));
    oci_field *stored = field;
    int stored_depth = depth;
    if (encoding.position != 0) {
        OC_TRY(read_encoding(r, &encoding, field, err));
        oci_field_set_width(field);
        stored = field->dictionary;
        stored_depth++;
    }
    OC_TRY(read_stored(r, table, stored_depth, stored, err));
    set_label(r, field->name, depth); /* it was the last child's */
    OC_TRY(check_children(r, stored, err));
    OC_TRY(read_metadata(r, table, FIELD_METADATA, &field->metadata, &field->metadata_bytes, err));
    return oci_fb_check(r->fb, err);
}

/* ---- reading: schemas ------------------------------------------------------------------------ */

static oc_status check_features(oci_fb *fb, const oci_fb_table *table, bool *big_endian,
                                oc_error *err)
{
    int64_t endianness = oci_fb_integer(fb, table, SCHEMA_ENDIANNESS, 2, 0);
    if (endianness != 0 && endianness != 1) {
        OC_FAIL(err, OC_EDATA, "Arrow metadata is damaged: byte order %" PRId64 " does not exist",
                endianness);
    }
    if (endianness == 1 && big_endian == NULL) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "the data is big-endian, which is not supported here; write it little-endian");
    }
    if (big_endian != NULL) {
        *big_endian = endianness == 1;
    }
    oci_fb_vector features = oci_fb_get_vector(fb, table, SCHEMA_FEATURES, 8);
    for (int64_t i = 0; i < features.n; i++) {
        int64_t feature = (int64_t)oci_load_le64(features.data + 8 * i);
        if (feature < 0 ||
            feature > 2) { /* 1: dictionaries are replaced, 2: bodies are compressed */
            OC_FAIL(err, OC_EUNSUPPORTED,
                    "the data needs feature number %" PRId64 ", which is not known", feature);
        }
    }
    return oci_fb_check(fb, err);
}

static oc_status read_fields(schema_reader *r, const oci_fb_vector *vector, oci_field *fields,
                             int32_t *n_done, oc_error *err)
{
    for (int64_t i = 0; i < vector->n; i++) {
        oci_fb_table table = oci_fb_element(r->fb, vector, i);
        OC_TRY(oci_fb_check(r->fb, err));
        (*n_done)++;
        r->number = i;
        OC_TRY(read_field(r, &table, 0, &fields[i], err));
    }
    return OC_OK;
}

/* What the columns are, and what is said about the whole. */
static oc_status read_schema(schema_reader *r, const oci_fb_table *table, oci_schema **out,
                             oc_error *err)
{
    oci_fb_vector vector = oci_fb_get_vector(r->fb, table, SCHEMA_FIELDS, 4);
    if (vector.n > r->fields_left) {
        OC_FAIL(err, OC_EDATA,
                "schema of %" PRId64 " bytes claims %" PRId64 " columns; it is damaged",
                r->fb->size, vector.n);
    }
    r->fields_left -= vector.n;
    oci_field *fields = calloc((size_t)vector.n + 1, sizeof *fields);
    if (fields == NULL) {
        return fail_memory(err);
    }
    int32_t n_fields = 0;
    char *metadata = NULL;
    int64_t metadata_bytes = 0;
    oc_status status = OC_OK;
    OC_GOTO(read_fields(r, &vector, fields, &n_fields, err));
    OC_GOTO(read_metadata(r, table, SCHEMA_METADATA, &metadata, &metadata_bytes, err));
    OC_GOTO(oci_fb_check(r->fb, err));
    return oci_schema_create(fields, n_fields, metadata, metadata_bytes, out, err);
done:
    for (int32_t i = 0; i < n_fields; i++) {
        oci_field_deinit(&fields[i]);
    }
    free(fields);
    free(metadata);
    return status;
}

oc_status oci_schema_read(oci_fb *fb, const oci_fb_table *table, oci_schema **out,
                          oci_dictionary_ids *ids, bool *big_endian, oc_error *err)
{
    *out = NULL;
    if (ids != NULL) {
        *ids = (oci_dictionary_ids){0};
    }
    OC_TRY(check_features(fb, table, big_endian, err));
    schema_reader reader = {
        .fb = fb, .copied_max = 4 * fb->size + 4096, .fields_left = fb->size / FIELD_BYTES_MIN};
    oc_status status = read_schema(&reader, table, out, err);
    if (status == OC_OK && ids != NULL) {
        *ids = reader.ids;
    } else {
        free(reader.ids.ids);
    }
    return status;
}
