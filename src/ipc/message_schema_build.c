/* Writing schemas: from an oci_schema to the flatbuffer. (Reading: message_schema.c.)
 *
 * Objects are made before those that refer to them, so a field makes its children first; its
 * dictionary id is taken before that, since ids count depth first from the outside in. All comes
 * from malloc, as schemas do. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "ipc/message_internal.h"

/* ---- custom metadata ------------------------------------------------------------------------- */

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

/* ---- types ----------------------------------------------------------------------------------- */

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

static oci_fb_ref write_union(oci_fb_builder *b, const oci_field *field)
{
    uint8_t ids[4 * 128];
    assert(field->n_children <= 128 && field->union_ids != NULL);
    for (int32_t i = 0; i < field->n_children; i++) {
        oci_store_le32(ids + 4 * i, (uint32_t)field->union_ids->of_child[i]);
    }
    oci_fb_ref vector = oci_fb_put_vector(b, ids, field->n_children, 4, 4);
    oci_fb_begin_table(b);
    oci_fb_add_ref(b, UNION_TYPE_IDS, vector);
    oci_fb_add_integer(b, UNION_MODE, 2, field->type == OCI_TYPE_DENSE_UNION);
    return oci_fb_end_table(b);
}

/* The number in the union of types, for those whose table is empty. */
static int plain_kind(oci_type type)
{
    switch (type) {
    case OCI_TYPE_NULL: return FB_TYPE_NULL;
    case OCI_TYPE_BOOL: return FB_TYPE_BOOL;
    case OCI_TYPE_UTF8: return FB_TYPE_UTF8;
    case OCI_TYPE_LARGE_UTF8: return FB_TYPE_LARGE_UTF8;
    case OCI_TYPE_UTF8_VIEW: return FB_TYPE_UTF8_VIEW;
    case OCI_TYPE_BINARY: return FB_TYPE_BINARY;
    case OCI_TYPE_LARGE_BINARY: return FB_TYPE_LARGE_BINARY;
    case OCI_TYPE_BINARY_VIEW: return FB_TYPE_BINARY_VIEW;
    case OCI_TYPE_LIST: return FB_TYPE_LIST;
    case OCI_TYPE_LARGE_LIST: return FB_TYPE_LARGE_LIST;
    case OCI_TYPE_LIST_VIEW: return FB_TYPE_LIST_VIEW;
    case OCI_TYPE_LARGE_LIST_VIEW: return FB_TYPE_LARGE_LIST_VIEW;
    case OCI_TYPE_STRUCT: return FB_TYPE_STRUCT;
    default: assert(type == OCI_TYPE_RUN_END_ENCODED); return FB_TYPE_RUN_END_ENCODED;
    }
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
    case OCI_TYPE_FIXED_LIST:
        *kind = FB_TYPE_FIXED_SIZE_LIST;
        return write_simple(b, 4, field->list_size);
    case OCI_TYPE_MAP: *kind = FB_TYPE_MAP; return write_simple(b, 1, field->keys_sorted);
    case OCI_TYPE_DENSE_UNION:
    case OCI_TYPE_SPARSE_UNION: *kind = FB_TYPE_UNION; return write_union(b, field);
    default: *kind = plain_kind(field->type); return write_simple(b, 0, 0);
    }
}

/* ---- fields ---------------------------------------------------------------------------------- */

static oc_status write_field(oci_fb_builder *b, const oci_field *field, int64_t *next_id,
                             oci_fb_ref *out, oc_error *err);

static oc_status write_children(oci_fb_builder *b, const oci_field *field, int64_t *next_id,
                                oci_fb_ref *out, oc_error *err)
{
    oci_fb_ref *children = calloc((size_t)field->n_children + 1, sizeof *children);
    if (children == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while building a schema");
    }
    oc_status status = OC_OK;
    for (int32_t i = 0; i < field->n_children && status == OC_OK; i++) {
        status = write_field(b, &field->children[i], next_id, &children[i], err);
    }
    *out = oci_fb_put_refs(b, children, field->n_children);
    free(children);
    return status;
}

static oci_fb_ref write_encoding(oci_fb_builder *b, const oci_field *field, int64_t id)
{
    oci_fb_ref index = write_int(b, field->index_type);
    oci_fb_begin_table(b);
    oci_fb_add_integer(b, ENCODING_ID, 8, id);
    oci_fb_add_ref(b, ENCODING_INDEX_TYPE, index);
    oci_fb_add_integer(b, ENCODING_IS_ORDERED, 1, field->dictionary_ordered);
    return oci_fb_end_table(b);
}

static oc_status write_field(oci_fb_builder *b, const oci_field *field, int64_t *next_id,
                             oci_fb_ref *out, oc_error *err)
{
    oci_fb_ref metadata = 0;
    oci_fb_ref encoding = 0;
    oci_fb_ref children = 0;
    OC_TRY(write_metadata(b, field->metadata, field->metadata_bytes, &metadata, err));
    const oci_field *stored = field;
    if (field->type == OCI_TYPE_DICTIONARY) {
        stored = field->dictionary;
        encoding = write_encoding(b, field, (*next_id)++);
    }
    if (stored->type == OCI_TYPE_DICTIONARY) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "could not write column \"%.80s\": Arrow IPC has no dictionaries whose values are "
                "a dictionary",
                field->name);
    }
    OC_TRY(write_children(b, stored, next_id, &children, err));
    int kind = 0;
    oci_fb_ref type = write_type(b, stored, &kind);
    oci_fb_ref name = oci_fb_put_string(b, field->name, (int64_t)strlen(field->name));
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
