/* See kernel.h. */
#include "expr/kernel.h"

static bool takes_letter(char letter, oci_field *arg, bool is_literal)
{
    bool is_open = is_literal || arg->type == OCI_TYPE_NULL;
    switch (letter) {
    case 't':
        if (is_open) {
            *arg = oci_expr_type(OCI_TYPE_UTF8);
        }
        return oci_type_is_text(arg->type);
    case 'y': {
        bool is_bytes = arg->type == OCI_TYPE_BINARY || arg->type == OCI_TYPE_LARGE_BINARY ||
                        arg->type == OCI_TYPE_BINARY_VIEW;
        if (is_open || arg->type == OCI_TYPE_FIXED_BINARY) {
            *arg = oci_expr_type(OCI_TYPE_BINARY);
            return true;
        }
        return is_bytes;
    }
    case 'i': *arg = oci_expr_type(OCI_TYPE_INT64); return true;
    case 'd': *arg = oci_expr_type(OCI_TYPE_FLOAT64); return true;
    case 'l': *arg = oci_expr_type(OCI_TYPE_BOOL); return true;
    case 'D': *arg = oci_expr_type(OCI_TYPE_DATE32); return true;
    case 'T':
        if (arg->type != OCI_TYPE_TIMESTAMP) {
            *arg = oci_expr_type(OCI_TYPE_TIMESTAMP);
        }
        return true;
    case 'I': *arg = oci_expr_type(OCI_TYPE_INTERVAL_MONTH_DAY_NANO); return true;
    default: return true;
    }
}

bool oci_bind_shape(oci_signature *s, const char *shape, oci_type result)
{
    const char *letter = shape;
    for (int32_t i = 0; i < s->n_args; i++) {
        if (!takes_letter(*letter, &s->args[i], s->is_literal[i])) {
            return false;
        }
        letter += letter[0] != '\0' && letter[1] != '\0';
    }
    s->result = oci_expr_type(result);
    return true;
}

bool oci_constant_text(const oci_signature *s, int32_t arg, const uint8_t **text, int64_t *length)
{
    const oci_column *column = arg < s->n_args ? s->constants[arg] : NULL;
    if (column == NULL || !oci_type_is_text(column->field->type) || oci_column_is_null(column, 0)) {
        return false;
    }
    *text = oci_column_bytes_at(column, 0, length);
    return true;
}

const uint8_t *oci_find(oci_span text, oci_span needle)
{
    if (needle.length == 0) {
        return text.at;
    }
    if (needle.length > text.length) {
        return NULL;
    }
    if (needle.length == 1) {
        return memchr(text.at, needle.at[0], (size_t)text.length);
    }
    return memmem(text.at, (size_t)text.length, needle.at, (size_t)needle.length);
}

oc_status oci_each_text(const oci_call *call, oci_text_row *row, bool all, oci_vector *out,
                        oc_error *err)
{
    oci_text_builder builder;
    OC_TRY(oci_text_builder_init(&builder, call->result, call->n, call->mem, err));
    for (int64_t i = 0; i < call->n; i++) {
        oc_status status = all || oci_args_valid(call, i)
                               ? row(call, i, &builder, err)
                               : oci_text_builder_append(&builder, NULL, 0, err);
        if (status != OC_OK) {
            oci_text_builder_deinit(&builder);
            return status;
        }
    }
    return oci_text_builder_finish(&builder, out, err);
}

oc_status oci_growing_put(oci_growing_text *text, const uint8_t *bytes, int64_t length,
                          oc_error *err)
{
    if (length == 0) {
        return OC_OK;
    }
    if (text->room - text->used < length) {
        int64_t needed = text->used + length;
        int64_t room = oci_max64(2 * text->room, needed + 64);
        room = room > INT32_MAX - text->builder->bytes_used ? needed : room;
        OC_TRY(oci_text_builder_room(text->builder, room, &text->start, err));
        text->room = room;
    }
    memcpy(text->start + text->used, bytes, (size_t)length);
    text->used += length;
    return OC_OK;
}

oc_status oci_each_bool(const oci_call *call, oci_bool_row *row, oci_vector *out, oc_error *err)
{
    uint8_t *values;
    OC_TRY(oci_vector_make(call->result, call->n, false, call->mem, out, &values, NULL, err));
    for (int64_t i = 0; i < call->n; i++) {
        bool value = false;
        oc_status status = oci_args_valid(call, i) ? row(call, i, &value, err) : OC_OK;
        if (status != OC_OK) {
            oci_vector_deinit(out);
            return status;
        }
        values[i >> 3] |= (uint8_t)((unsigned)value << (i & 7));
    }
    return OC_OK;
}

oc_status oci_each_int(const oci_call *call, oci_int_row *row, oci_vector *out, oc_error *err)
{
    uint8_t *values;
    bool is_short = call->result->byte_width == 4;
    OC_TRY(oci_vector_make(call->result, call->n, false, call->mem, out, &values, NULL, err));
    for (int64_t i = 0; i < call->n; i++) {
        int64_t value = 0;
        oc_status status = oci_args_valid(call, i) ? row(call, i, &value, err) : OC_OK;
        if (status == OC_OK && is_short && value != (int32_t)value) {
            status =
                OC_SET(err, OC_EINVAL, "%" PRId64 " is out of range for a 32-bit integer", value);
        }
        if (status != OC_OK) {
            oci_vector_deinit(out);
            return status;
        }
        if (is_short) {
            oci_store_le32(values + i * 4, (uint32_t)(int32_t)value);
        } else {
            oci_store_le64(values + i * 8, (uint64_t)value);
        }
    }
    return OC_OK;
}

oc_status oci_each_double(const oci_call *call, oci_double_row *row, oci_vector *out, oc_error *err)
{
    uint8_t *values;
    OC_TRY(oci_vector_make(call->result, call->n, false, call->mem, out, &values, NULL, err));
    for (int64_t i = 0; i < call->n; i++) {
        double value = 0;
        oc_status status = oci_args_valid(call, i) ? row(call, i, &value, err) : OC_OK;
        if (status != OC_OK) {
            oci_vector_deinit(out);
            return status;
        }
        memcpy(values + i * 8, &value, sizeof value);
    }
    return OC_OK;
}
