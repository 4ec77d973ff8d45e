/* Schemas: from the flatbuffer to an oci_schema and back.
 *
 * Reading copies names, time zones and custom metadata out of the flatbuffer. Flatbuffers may share
 * objects, so that few bytes can stand for a great many columns with long names: what is copied is
 * held to a small multiple of the bytes that were given. Nested types are refused before their
 * children are looked at, so there is no recursion here.
 *
 * What is read and written here comes from malloc, as schemas do. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "ipc/message_internal.h"

/* A field takes this much flatbuffer at the very least, with everything shared that can be: an
 * offset and a table of three fields. */
#define FIELD_BYTES_MIN 16
#define LABEL_BYTES     128

typedef struct schema_reader {
    oci_fb *fb;
    int64_t copied;          /* bytes of names and metadata so far */
    int64_t copied_max;      /* what copying them once each could come to, and some more */
    char label[LABEL_BYTES]; /* the column at hand, for messages */
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

/* The types without parameters, the nested ones included: those need only their name.
 * OCI_TYPE_COUNT = none of them. */
static oci_type plain_type(int64_t kind)
{
    switch (kind) {
    case FB_TYPE_NULL: return OCI_TYPE_NULL;
    case FB_TYPE_BINARY: return OCI_TYPE_BINARY;
    case FB_TYPE_UTF8: return OCI_TYPE_UTF8;
    case FB_TYPE_BOOL: return OCI_TYPE_BOOL;
    case FB_TYPE_LIST: return OCI_TYPE_LIST;
    case FB_TYPE_STRUCT: return OCI_TYPE_STRUCT;
    case FB_TYPE_FIXED_SIZE_LIST: return OCI_TYPE_FIXED_LIST;
    case FB_TYPE_MAP: return OCI_TYPE_MAP;
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
                           oci_field *field, oc_error *err)
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
    case FB_TYPE_UNION:
        field->type = oci_fb_integer(r->fb, table, UNION_MODE, 2, 0) == 0 ? OCI_TYPE_SPARSE_UNION
                                                                          : OCI_TYPE_DENSE_UNION;
        return OC_OK;
    default: field->type = plain_type(kind);
    }
    if (field->type == OCI_TYPE_COUNT) {
        OC_FAIL(err, OC_EUNSUPPORTED, "%s has a type that is not known (number %" PRId64 ")",
                r->label, kind & 0xFF);
    }
    return OC_OK;
}

/* ---- reading: fields ------------------------------------------------------------------------- */

/* What was read as the column's type is that of the values; the encoding says what the indices
 * are. */
static oc_status read_encoding(schema_reader *r, const oci_fb_table *encoding, oci_field *field,
                               int64_t *id, oc_error *err)
{
    int64_t kind = oci_fb_integer(r->fb, encoding, ENCODING_KIND, 2, 0);
    if (kind != 0) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "%s has a dictionary of a kind that is not known (number %" PRId64 ")", r->label,
                kind);
    }
    field->dictionary = calloc(1, sizeof *field->dictionary);
    if (field->dictionary == NULL) {
        return fail_memory(err);
    }
    oci_field *values = field->dictionary;
    values->name = calloc(1, 1);
    values->type = field->type;
    values->nullable = true;
    values->byte_width = field->byte_width;
    values->precision = field->precision;
    values->scale = field->scale;
    values->unit = field->unit;
    values->timezone = field->timezone;
    field->timezone = NULL;
    field->byte_width = field->precision = field->scale = 0;
    field->unit = OCI_SECOND;
    field->type = OCI_TYPE_DICTIONARY;
    if (values->name == NULL) {
        return fail_memory(err);
    }
    oci_field_set_width(values);
    field->dictionary_ordered = oci_fb_integer(r->fb, encoding, ENCODING_IS_ORDERED, 1, 0) != 0;
    field->index_type = OCI_TYPE_INT32;
    oci_fb_table index = oci_fb_child(r->fb, encoding, ENCODING_INDEX_TYPE);
    if (index.position != 0) {
        OC_TRY(read_int(r, &index, &field->index_type, err));
    }
    *id = oci_fb_integer(r->fb, encoding, ENCODING_ID, 8, 0);
    return OC_OK;
}

/* Fills `field`, which is zero at first and stays fit for deinit whatever happens. */
static oc_status read_field(schema_reader *r, const oci_fb_table *table, int64_t number,
                            oci_field *field, int64_t *id, oc_error *err)
{
    OC_TRY(read_text(r, table, FIELD_NAME, &field->name, err));
    if (field->name[0] != 0) {
        snprintf(r->label, sizeof r->label, "column \"%.80s\"", field->name);
    } else {
        snprintf(r->label, sizeof r->label, "column %" PRId64, number);
    }
    field->nullable = oci_fb_integer(r->fb, table, FIELD_NULLABLE, 1, 0) != 0;
    int64_t kind = oci_fb_integer(r->fb, table, FIELD_TYPE_TYPE, 1, 0);
    oci_fb_table type = oci_fb_child(r->fb, table, FIELD_TYPE);
    OC_TRY(oci_fb_check(r->fb, err));
    if (kind == 0 || type.position == 0) {
        OC_FAIL(err, OC_EDATA, "%s has no type; the schema is damaged", r->label);
    }
    OC_TRY(read_type(r, kind, &type, field, err));
    if (oci_field_layout(field) == OCI_LAYOUT_UNKNOWN) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "%s has type %s, which is not supported; leave the column out or flatten it first",
                r->label, oci_type_name(field->type));
    }
    if (oci_fb_get_vector(r->fb, table, FIELD_CHILDREN, 4).n != 0) {
        OC_FAIL(err, OC_EDATA, "%s has type %s and children; it must have none", r->label,
                oci_type_name(field->type));
    }
    oci_fb_table encoding = oci_fb_child(r->fb, table, FIELD_DICTIONARY);
    if (encoding.position != 0) {
        OC_TRY(read_encoding(r, &encoding, field, id, err));
    }
    OC_TRY(read_metadata(r, table, FIELD_METADATA, &field->metadata, &field->metadata_bytes, err));
    oci_field_set_width(field);
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
                             int32_t *n_done, oci_dictionary_ids *ids, oc_error *err)
{
    for (int64_t i = 0; i < vector->n; i++) {
        oci_fb_table table = oci_fb_element(r->fb, vector, i);
        OC_TRY(oci_fb_check(r->fb, err));
        int64_t id = 0;
        (*n_done)++;
        OC_TRY(read_field(r, &table, i, &fields[i], &id, err));
        if (ids != NULL && fields[i].type == OCI_TYPE_DICTIONARY) {
            ids->ids[ids->n++] = id;
        }
    }
    return OC_OK;
}

oc_status oci_schema_read(oci_fb *fb, const oci_fb_table *table, oci_schema **out,
                          oci_dictionary_ids *ids, bool *big_endian, oc_error *err)
{
    *out = NULL;
    OC_TRY(check_features(fb, table, big_endian, err));
    schema_reader reader = {.fb = fb, .copied_max = 4 * fb->size + 4096};
    oci_fb_vector vector = oci_fb_get_vector(fb, table, SCHEMA_FIELDS, 4);
    if (vector.n > fb->size / FIELD_BYTES_MIN) {
        OC_FAIL(err, OC_EDATA,
                "schema of %" PRId64 " bytes claims %" PRId64 " columns; it is damaged", fb->size,
                vector.n);
    }
    /* One more than needed: calloc of nothing may give NULL. */
    oci_field *fields = calloc((size_t)vector.n + 1, sizeof *fields);
    if (fields == NULL) {
        return fail_memory(err);
    }
    int32_t n_fields = 0;
    char *metadata = NULL;
    int64_t metadata_bytes = 0;
    oc_status status = OC_OK;
    if (ids != NULL) {
        *ids = (oci_dictionary_ids){.ids = calloc((size_t)vector.n + 1, sizeof *ids->ids)};
        if (ids->ids == NULL) {
            status = fail_memory(err);
            goto failed;
        }
    }
    status = read_fields(&reader, &vector, fields, &n_fields, ids, err);
    if (status == OC_OK) {
        status = read_metadata(&reader, table, SCHEMA_METADATA, &metadata, &metadata_bytes, err);
    }
    if (status == OC_OK) {
        status = oci_fb_check(fb, err);
    }
    if (status == OC_OK) {
        status = oci_schema_create(fields, n_fields, metadata, metadata_bytes, out, err);
        fields = NULL; /* taken, whatever came of it */
        n_fields = 0;
        metadata = NULL;
    }
failed:
    for (int32_t i = 0; i < n_fields; i++) {
        oci_field_deinit(&fields[i]);
    }
    free(fields);
    free(metadata);
    if (status != OC_OK && ids != NULL) {
        free(ids->ids);
        *ids = (oci_dictionary_ids){0};
    }
    return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* One int32 of metadata in the C data encoding; false when it does not lie inside or is
 * negative. */
static bool take_metadata_size(const char *metadata, int64_t bytes, int64_t *at, int32_t *out)
{
    if (*at > bytes - 4) {
        return false;
    }
    memcpy(out, metadata + *at, sizeof *out);
    *at += 4;
    return *out >= 0;
}

static bool take_metadata_text(oci_fb_builder *b, const char *metadata, int64_t bytes, int64_t *at,
                               oci_fb_ref *out)
{
    int32_t size = 0;
    if (!take_metadata_size(metadata, bytes, at, &size) || size > bytes - *at) {
        return false;
    }
    *out = oci_fb_put_string(b, metadata + *at, size);
    *at += size;
    return true;
}

static oc_status write_metadata(oci_fb_builder *b, const char *metadata, int64_t bytes,
                                oci_fb_ref *out, oc_error *err)
{
    *out = 0;
    int64_t at = 0;
    int32_t n_pairs = 0;
    if (metadata == NULL) {
        return OC_OK;
    }
    bool sound = take_metadata_size(metadata, bytes, &at, &n_pairs) && n_pairs <= bytes / 8;
    oci_fb_ref *pairs = sound ? malloc(((size_t)n_pairs + 1) * sizeof *pairs) : NULL;
    if (sound && pairs == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while building a schema");
    }
    for (int32_t i = 0; i < n_pairs && sound; i++) {
        oci_fb_ref key = 0;
        oci_fb_ref value = 0;
        sound = take_metadata_text(b, metadata, bytes, &at, &key) &&
                take_metadata_text(b, metadata, bytes, &at, &value);
        oci_fb_begin_table(b);
        oci_fb_add_ref(b, KEY_VALUE_KEY, key);
        oci_fb_add_ref(b, KEY_VALUE_VALUE, value);
        pairs[i] = oci_fb_end_table(b);
    }
    if (sound) {
        *out = oci_fb_put_refs(b, pairs, n_pairs);
    }
    free(pairs);
    if (!sound) {
        OC_FAIL(err, OC_EDATA, "could not write a schema: its custom metadata is damaged");
    }
    return OC_OK;
}

static oci_fb_ref write_int(oci_fb_builder *b, oci_type type)
{
    bool is_signed = type <= OCI_TYPE_INT64;
    int step = (int)type - (is_signed ? OCI_TYPE_INT8 : OCI_TYPE_UINT8);
    oci_fb_begin_table(b);
    oci_fb_add_integer(b, INT_BIT_WIDTH, 4, INT64_C(8) << step);
    oci_fb_add_integer(b, INT_IS_SIGNED, 1, is_signed);
    return oci_fb_end_table(b);
}

static oci_fb_ref write_timestamp(oci_fb_builder *b, const oci_field *field)
{
    oci_fb_ref timezone = 0;
    if (field->timezone != NULL) {
        timezone = oci_fb_put_string(b, field->timezone, (int64_t)strlen(field->timezone));
    }
    oci_fb_begin_table(b);
    oci_fb_add_integer(b, TIMESTAMP_UNIT, 2, field->unit);
    oci_fb_add_ref(b, TIMESTAMP_TIMEZONE, timezone);
    return oci_fb_end_table(b);
}

static oci_fb_ref write_decimal(oci_fb_builder *b, const oci_field *field)
{
    oci_fb_begin_table(b);
    oci_fb_add_integer(b, DECIMAL_PRECISION, 4, field->precision);
    oci_fb_add_integer(b, DECIMAL_SCALE, 4, field->scale);
    oci_fb_add_integer(b, DECIMAL_BIT_WIDTH, 4, 8 * (int64_t)field->byte_width);
    return oci_fb_end_table(b);
}

/* A type table with no or one field, of `width` bytes (0 = none) at place 0. */
static oci_fb_ref write_simple(oci_fb_builder *b, int width, int64_t value)
{
    oci_fb_begin_table(b);
    if (width > 0) {
        oci_fb_add_integer(b, 0, width, value);
    }
    return oci_fb_end_table(b);
}

static oci_fb_ref write_time(oci_fb_builder *b, const oci_field *field)
{
    oci_fb_begin_table(b);
    oci_fb_add_integer(b, TIME_UNIT, 2, field->unit);
    oci_fb_add_integer(b, TIME_BIT_WIDTH, 4, 8 * (int64_t)field->byte_width);
    return oci_fb_end_table(b);
}

/* The type table of a field that is no dictionary; *kind is its number in the union. */
static oci_fb_ref write_type(oci_fb_builder *b, const oci_field *field, int *kind)
{
    switch (field->type) {
    case OCI_TYPE_INT8:
    case OCI_TYPE_INT16:
    case OCI_TYPE_INT32:
    case OCI_TYPE_INT64:
    case OCI_TYPE_UINT8:
    case OCI_TYPE_UINT16:
    case OCI_TYPE_UINT32:
    case OCI_TYPE_UINT64: *kind = FB_TYPE_INT; return write_int(b, field->type);
    case OCI_TYPE_FLOAT16:
    case OCI_TYPE_FLOAT32:
    case OCI_TYPE_FLOAT64:
        *kind = FB_TYPE_FLOATING_POINT;
        return write_simple(b, 2, field->type - OCI_TYPE_FLOAT16);
    case OCI_TYPE_DECIMAL32:
    case OCI_TYPE_DECIMAL64:
    case OCI_TYPE_DECIMAL128:
    case OCI_TYPE_DECIMAL256: *kind = FB_TYPE_DECIMAL; return write_decimal(b, field);
    case OCI_TYPE_DATE32:
    case OCI_TYPE_DATE64:
        *kind = FB_TYPE_DATE;
        return write_simple(b, 2, field->type == OCI_TYPE_DATE64);
    case OCI_TYPE_TIME32:
    case OCI_TYPE_TIME64: *kind = FB_TYPE_TIME; return write_time(b, field);
    case OCI_TYPE_TIMESTAMP: *kind = FB_TYPE_TIMESTAMP; return write_timestamp(b, field);
    case OCI_TYPE_DURATION: *kind = FB_TYPE_DURATION; return write_simple(b, 2, field->unit);
    case OCI_TYPE_INTERVAL_MONTHS:
    case OCI_TYPE_INTERVAL_DAY_TIME:
    case OCI_TYPE_INTERVAL_MONTH_DAY_NANO:
        *kind = FB_TYPE_INTERVAL;
        return write_simple(b, 2, field->type - OCI_TYPE_INTERVAL_MONTHS);
    case OCI_TYPE_FIXED_BINARY:
        *kind = FB_TYPE_FIXED_SIZE_BINARY;
        return write_simple(b, 4, field->byte_width);
    case OCI_TYPE_NULL: *kind = FB_TYPE_NULL; break;
    case OCI_TYPE_BOOL: *kind = FB_TYPE_BOOL; break;
    case OCI_TYPE_UTF8: *kind = FB_TYPE_UTF8; break;
    case OCI_TYPE_LARGE_UTF8: *kind = FB_TYPE_LARGE_UTF8; break;
    case OCI_TYPE_UTF8_VIEW: *kind = FB_TYPE_UTF8_VIEW; break;
    case OCI_TYPE_BINARY: *kind = FB_TYPE_BINARY; break;
    case OCI_TYPE_LARGE_BINARY: *kind = FB_TYPE_LARGE_BINARY; break;
    case OCI_TYPE_BINARY_VIEW: *kind = FB_TYPE_BINARY_VIEW; break;
    default: assert(!"unsupported types are refused with the schema"); *kind = FB_TYPE_NULL;
    }
    return write_simple(b, 0, 0);
}

static oc_status write_field(oci_fb_builder *b, const oci_field *field, int64_t *next_id,
                             oci_fb_ref *out, oc_error *err)
{
    oci_fb_ref metadata = 0;
    oci_fb_ref encoding = 0;
    OC_TRY(write_metadata(b, field->metadata, field->metadata_bytes, &metadata, err));
    const oci_field *stored = field;
    if (field->type == OCI_TYPE_DICTIONARY) {
        stored = field->dictionary;
        oci_fb_ref index = write_int(b, field->index_type);
        oci_fb_begin_table(b);
        oci_fb_add_integer(b, ENCODING_ID, 8, (*next_id)++);
        oci_fb_add_ref(b, ENCODING_INDEX_TYPE, index);
        oci_fb_add_integer(b, ENCODING_IS_ORDERED, 1, field->dictionary_ordered);
        encoding = oci_fb_end_table(b);
    }
    int kind = 0;
    oci_fb_ref type = write_type(b, stored, &kind);
    oci_fb_ref name = oci_fb_put_string(b, field->name, (int64_t)strlen(field->name));
    oci_fb_ref children = oci_fb_put_refs(b, NULL, 0);
    oci_fb_begin_table(b);
    oci_fb_add_ref(b, FIELD_NAME, name);
    oci_fb_add_ref(b, FIELD_TYPE, type);
    oci_fb_add_ref(b, FIELD_DICTIONARY, encoding);
    oci_fb_add_ref(b, FIELD_CHILDREN, children);
    oci_fb_add_ref(b, FIELD_METADATA, metadata);
    oci_fb_add_integer(b, FIELD_NULLABLE, 1, field->nullable);
    oci_fb_add_integer(b, FIELD_TYPE_TYPE, 1, kind);
    *out = oci_fb_end_table(b);
    return OC_OK;
}

oc_status oci_schema_write(oci_fb_builder *b, const oci_schema *schema, oci_fb_ref *out,
                           oc_error *err)
{
    oci_fb_ref *fields = calloc((size_t)schema->n_fields + 1, sizeof *fields);
    if (fields == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while building a schema");
    }
    oc_status status = OC_OK;
    int64_t next_id = 0;
    oci_fb_ref metadata = 0;
    for (int32_t i = 0; i < schema->n_fields; i++) {
        OC_GOTO(write_field(b, &schema->fields[i], &next_id, &fields[i], err));
    }
    OC_GOTO(write_metadata(b, schema->metadata, schema->metadata_bytes, &metadata, err));
    oci_fb_ref vector = oci_fb_put_refs(b, fields, schema->n_fields);
    oci_fb_begin_table(b);
    oci_fb_add_ref(b, SCHEMA_FIELDS, vector);
    oci_fb_add_ref(b, SCHEMA_METADATA, metadata);
    oci_fb_add_integer(b, SCHEMA_ENDIANNESS, 2, 0);
    *out = oci_fb_end_table(b);
done:
    free(fields);
    return status;
}
