/* The stored Arrow schema (ARROW:schema): see schema.h. It is a hint by whoever wrote the file, and the file may
 * have been changed since, so each field is refined only as far as the same values come out, and what cannot be
 * read says nothing. Comes from malloc, as all schemas. */
#include <stdlib.h>
#include <string.h>

#include "formats/parquet/schema_internal.h"
#include "ipc/base64.h"

static oc_status refine(const oci_field *stored, oci_field *field, oc_error *err);

/* `type` or one of its wider or other forms, when `wanted` is one; else `type`. */
static oci_type other_form(oci_type type, oci_type wanted)
{
    static const oci_type forms[][5] = {
        {OCI_TYPE_UTF8, OCI_TYPE_LARGE_UTF8, OCI_TYPE_UTF8_VIEW},
        {OCI_TYPE_BINARY, OCI_TYPE_LARGE_BINARY, OCI_TYPE_BINARY_VIEW},
        {OCI_TYPE_LIST, OCI_TYPE_LARGE_LIST, OCI_TYPE_LIST_VIEW, OCI_TYPE_LARGE_LIST_VIEW,
         OCI_TYPE_FIXED_LIST},
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        for (int k = 0; forms[i][0] == type && k < 5; k++) {
            if (forms[i][k] == wanted) {
                return wanted;
            }
        }
    }
    return type;
}

static bool is_text(oci_type type)
{
    return type == OCI_TYPE_UTF8 || type == OCI_TYPE_BINARY;
}

static int32_t decimal_digits_max(oci_type type)
{
    switch (type) {
    case OCI_TYPE_DECIMAL32: return 9;
    case OCI_TYPE_DECIMAL64: return 18;
    case OCI_TYPE_DECIMAL128: return 38;
    case OCI_TYPE_DECIMAL256: return 76;
    default: return 0;
    }
}

/* Texts as a dictionary of themselves. */
static oc_status make_dictionary(const oci_field *stored, oci_field *field, oc_error *err)
{
    oci_type type = other_form(field->type, stored->dictionary->type);
    oci_field *values = calloc(1, sizeof *values);
    if (values == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while building a schema");
    }
    oc_status status = oci_field_init(values, "", type, true, err);
    if (status != OC_OK) {
        free(values);
        return status;
    }
    field->type = OCI_TYPE_DICTIONARY;
    field->index_type = OCI_TYPE_INT32;
    field->dictionary_ordered = stored->dictionary_ordered;
    field->dictionary = values;
    oci_field_set_width(field);
    return OC_OK;
}

static oc_status refine_leaf(const oci_field *stored, oci_field *field, oc_error *err)
{
    if (stored->type == OCI_TYPE_DICTIONARY && stored->dictionary != NULL && is_text(field->type)) {
        return make_dictionary(stored, field, err);
    }
    if (stored->type == OCI_TYPE_TIMESTAMP && field->timezone != NULL && stored->timezone != NULL) {
        char *timezone = strdup(stored->timezone);
        if (timezone == NULL) {
            OC_FAIL(err, OC_ENOMEM, "out of memory while building a schema");
        }
        free(field->timezone);
        field->timezone = timezone;
    } else if (stored->type == OCI_TYPE_DURATION && field->type == OCI_TYPE_INT64) {
        field->type = OCI_TYPE_DURATION;
        field->unit = stored->unit;
    } else if (decimal_digits_max(field->type) > 0 && stored->scale == field->scale &&
               stored->precision == field->precision &&
               decimal_digits_max(stored->type) >= field->precision) {
        field->type = stored->type;
    } else {
        field->type = other_form(field->type, stored->type);
    }
    oci_field_set_width(field);
    return OC_OK;
}

static oc_status refine_children(const oci_field *stored, oci_field *field, oc_error *err)
{
    bool by_name = field->type == OCI_TYPE_STRUCT;
    if (stored->n_children != field->n_children) {
        return OC_OK;
    }
    for (int32_t i = 0; i < field->n_children; i++) {
        if (!by_name || strcmp(stored->children[i].name, field->children[i].name) == 0) {
            OC_TRY(refine(&stored->children[i], &field->children[i], err));
        }
    }
    return OC_OK;
}

/* Metadata of a field; those of an extension type only where it has the storage that it is for. */
static oc_status refine_metadata(const oci_field *stored, oci_field *field, oc_error *err)
{
    static const char extension[] = "ARROW:extension:name";
    if (stored->metadata == NULL || field->metadata != NULL ||
        (memmem(stored->metadata, (size_t)stored->metadata_bytes, extension,
                sizeof extension - 1) != NULL &&
         !oci_field_same_type(stored, field))) {
        return OC_OK;
    }
    field->metadata = malloc((size_t)stored->metadata_bytes + 1);
    if (field->metadata == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while building a schema");
    }
    memcpy(field->metadata, stored->metadata, (size_t)stored->metadata_bytes);
    field->metadata_bytes = stored->metadata_bytes;
    return OC_OK;
}

static oc_status refine(const oci_field *stored, oci_field *field, oc_error *err)
{
    switch (field->type) {
    case OCI_TYPE_LIST:
        field->type = other_form(OCI_TYPE_LIST, stored->type);
        field->list_size = field->type == OCI_TYPE_FIXED_LIST ? stored->list_size : 0;
        if (field->type == stored->type) {
            OC_TRY(refine_children(stored, field, err));
        }
        break;
    case OCI_TYPE_MAP:
    case OCI_TYPE_STRUCT:
        if (stored->type == field->type) {
            field->keys_sorted = stored->keys_sorted;
            OC_TRY(refine_children(stored, field, err));
        }
        break;
    default: OC_TRY(refine_leaf(stored, field, err));
    }
    return refine_metadata(stored, field, err);
}

/* *out NULL: it cannot be read. */
static oc_status parse_stored(oci_parquet_bytes stored, oci_schema **out, oc_error *err)
{
    oci_bytes message = {0};
    int64_t metadata_bytes = 0;
    int prefix_bytes = 0;
    *out = NULL;
    oc_status status = oci_base64_decode((const char *)stored.data, stored.size, &message, err);
    if (status == OC_OK && message.size < OCI_IPC_PREFIX_BYTES) {
        status = OC_EDATA;
    }
    if (status == OC_OK) {
        status = oci_frame_parse(message.data, &metadata_bytes, &prefix_bytes, err);
    }
    if (status == OC_OK && metadata_bytes <= message.size - prefix_bytes) {
        bool big_endian;
        status = oci_message_parse_schema(message.data + prefix_bytes, metadata_bytes, out, NULL,
                                          &big_endian, err);
    }
    free(message.data);
    if (status == OC_ENOMEM) {
        return status;
    }
    oci_error_clear(err);
    return OC_OK;
}

oc_status oci_parquet_apply_stored(oci_parquet_bytes stored, oci_field *fields, int32_t n,
                                   oc_error *err)
{
    oci_schema *schema;
    if (stored.size == 0) {
        return OC_OK;
    }
    OC_TRY(parse_stored(stored, &schema, err));
    oc_status status = OC_OK;
    for (int32_t i = 0; schema != NULL && i < n && i < schema->n_fields && status == OC_OK; i++) {
        if (strcmp(schema->fields[i].name, fields[i].name) == 0) {
            status = refine(&schema->fields[i], &fields[i], err);
        }
    }
    oci_schema_release(schema);
    return status;
}
