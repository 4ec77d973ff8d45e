/* Lists made: ARRAY[...], string_to_array; and array_to_string.
 *
 * A vector whose column has children keeps them in a batch. Elements are of simple types; the fields
 * that describe them come from malloc with the statement. */
#include <stdlib.h>

#include "expr/cast.h"
#include "expr/function_table.h"
#include "expr/list_kernel.h"

/* ---- making lists ---------------------------------------------------------------------------- */

static void free_item(void *data)
{
    oci_field_deinit(data);
    free(data);
}

/* list<item>; the field of the item lives with the call. */
static bool set_list_result(oci_signature *s, const oci_field *item, bool *failed, oc_error *err)
{
    static char name[] = "item";
    oci_field named = *item;
    named.name = name;
    oci_field *copy = calloc(1, sizeof *copy);
    if (copy == NULL || oci_field_copy(&named, copy, err) != OC_OK) {
        free(copy);
        *failed = true;
        OC_SET(err, OC_ENOMEM, "could not make an expression: out of memory");
        return false;
    }
    s->data = copy;
    s->free_data = free_item;
    s->result = oci_expr_type(OCI_TYPE_LIST);
    s->result.n_children = 1;
    s->result.children = copy;
    return true;
}

static bool bind_array(oci_signature *s, bool *failed, oc_error *err)
{
    oci_field common = oci_expr_type(OCI_TYPE_NULL);
    for (int32_t i = 0; i < s->n_args; i++) {
        if (!s->is_literal[i] && oci_common_type(&common, &s->args[i], &common, NULL) != OC_OK) {
            return false;
        }
    }
    bool is_text = common.type == OCI_TYPE_NULL || oci_type_is_text(common.type);
    common = is_text ? oci_expr_type(OCI_TYPE_UTF8) : common;
    oci_layout layout = oci_field_layout(&common);
    if (layout != OCI_LAYOUT_BITS && layout != OCI_LAYOUT_FIXED && layout != OCI_LAYOUT_OFFSETS32) {
        OC_SET(err, OC_EUNSUPPORTED, "ARRAY[...] of values of type %s is not supported",
               oci_type_name(common.type));
        *failed = true;
        return false;
    }
    for (int32_t i = 0; i < s->n_args; i++) {
        s->args[i] = common;
        s->args[i].name = NULL;
    }
    return set_list_result(s, &common, failed, err);
}

/* A list vector out of its offsets (taken), a bitmap behind them or NULL, and the vector of its
 * items (taken). */
static oc_status own_list(const oci_call *call, void *offsets, int64_t offsets_bytes,
                          const uint8_t *validity, oci_vector *items, oci_vector *out,
                          oc_error *err)
{
    oci_schema *schema;
    oci_batch *batch;
    oci_column *columns = calloc(1, sizeof *columns);
    oc_status status = columns == NULL
                           ? OC_SET(err, OC_ENOMEM, "could not make a list: out of memory")
                           : oci_schema_of_type(&call->result->children[0], &schema, err);
    if (status == OC_OK) {
        columns[0] = items->column;
        columns[0].field = &schema->fields[0];
        status = oci_batch_adopt(schema, items->column.length, columns, items->mem, items->block,
                                 items->block_bytes, NULL, 0, &batch, err);
        oci_schema_release(schema);
    } else {
        free(columns);
        oci_vector_deinit(items);
    }
    if (status != OC_OK) {
        oci_mem_free(call->mem, offsets, offsets_bytes);
        return status;
    }
    *out = (oci_vector){.column = {.field = call->result,
                                   .length = call->n,
                                   .null_count = validity == NULL ? 0 : -1,
                                   .validity = validity,
                                   .values = offsets,
                                   .children = batch->columns},
                        .mem = call->mem,
                        .block = offsets,
                        .block_bytes = offsets_bytes,
                        .keeps = batch};
    return OC_OK;
}

static oc_status fixed_items(const oci_call *call, const oci_field *item, oci_vector *out,
                             oc_error *err)
{
    uint8_t *values;
    uint8_t *validity;
    int64_t width = item->byte_width;
    OC_TRY(oci_vector_make(item, call->n * call->n_args, true, call->mem, out, &values, &validity,
                           err));
    for (int64_t i = 0, at = 0; i < call->n; i++) {
        for (int32_t a = 0; a < call->n_args; a++, at++) {
            bool is_null = oci_arg_is_null(call, a, i);
            oci_bit_put(validity, at, !is_null);
            if (width == 0) {
                oci_bit_put(values, at, !is_null && oci_arg_bool(call, a, i));
            } else if (is_null) {
                memset(values + at * width, 0, (size_t)width);
            } else {
                memcpy(values + at * width, oci_arg_at(call, a, i, width), (size_t)width);
            }
        }
    }
    return OC_OK;
}

static oc_status text_items(const oci_call *call, const oci_field *item, oci_vector *out,
                            oc_error *err)
{
    oci_text_builder builder;
    OC_TRY(oci_text_builder_init(&builder, item, call->n * call->n_args, call->mem, err));
    oc_status status = OC_OK;
    for (int64_t i = 0; status == OC_OK && i < call->n; i++) {
        for (int32_t a = 0; status == OC_OK && a < call->n_args; a++) {
            if (oci_arg_is_null(call, a, i)) {
                status = oci_text_builder_append_null(&builder, err);
            } else {
                oci_span text = oci_arg_text(call, a, i);
                status = oci_text_builder_append(&builder, text.at, text.length, err);
            }
        }
    }
    if (status != OC_OK) {
        oci_text_builder_deinit(&builder);
        return status;
    }
    return oci_text_builder_finish(&builder, out, err);
}

/* Offsets and a bitmap behind them, all zero. */
static oc_status make_offsets(const oci_call *call, int32_t **out, uint8_t **validity,
                              int64_t *bytes, oc_error *err)
{
    void *block;
    int64_t bitmap = oci_round_up((call->n + 1) * 4, 8);
    *bytes = bitmap + oci_bytes_for_bits(call->n);
    OC_TRY(oci_mem_alloc(call->mem, *bytes, &block, err));
    *out = block;
    *validity = (uint8_t *)block + bitmap;
    memset(block, 0, (size_t)*bytes);
    return OC_OK;
}

static oc_status array(const oci_call *call, oci_vector *out, oc_error *err)
{
    int32_t *offsets;
    uint8_t *validity;
    int64_t bytes;
    oci_vector items;
    const oci_field *item = &call->result->children[0];
    if (call->n * call->n_args > INT32_MAX) {
        OC_FAIL(err, OC_EINVAL, "ARRAY[...]: too many values in one batch");
    }
    OC_TRY(make_offsets(call, &offsets, &validity, &bytes, err));
    for (int64_t i = 0; i <= call->n; i++) {
        offsets[i] = (int32_t)(i * call->n_args);
    }
    oc_status status = oci_field_layout(item) == OCI_LAYOUT_OFFSETS32
                           ? text_items(call, item, &items, err)
                           : fixed_items(call, item, &items, err);
    if (status != OC_OK) {
        oci_mem_free(call->mem, offsets, bytes);
        return status;
    }
    return own_list(call, offsets, bytes, NULL, &items, out, err);
}

/* ---- to and from texts ----------------------------------------------------------------------- */

static bool bind_split(oci_signature *s, bool *failed, oc_error *err)
{
    oci_field text = oci_expr_type(OCI_TYPE_UTF8);
    return oci_bind_shape(s, "tt", OCI_TYPE_UTF8) && set_list_result(s, &text, failed, err);
}

/* The next part of a text, which is cut off; false behind the last. */
static bool next_part(oci_span *rest, oci_span delimiter, oci_span *part)
{
    if (rest->at == NULL) {
        return false;
    }
    const uint8_t *end = rest->at + rest->length;
    const uint8_t *found = delimiter.length == 0 ? NULL : oci_find(*rest, delimiter);
    *part = *rest;
    if (found == NULL) {
        rest->at = NULL;
        return true;
    }
    part->length = found - part->at;
    rest->at = found + delimiter.length;
    rest->length = end - rest->at;
    return true;
}

static int64_t count_items(const oci_call *call)
{
    int64_t n = 0;
    for (int64_t i = 0; i < call->n; i++) {
        oci_span part;
        if (oci_args_valid(call, i) && oci_arg_text(call, 0, i).length > 0) {
            for (oci_span rest = oci_arg_text(call, 0, i);
                 next_part(&rest, oci_arg_text(call, 1, i), &part);) {
                n++;
            }
        }
    }
    return n;
}

static oc_status split_rows(const oci_call *call, int32_t *offsets, uint8_t *validity,
                            oci_text_builder *builder, oc_error *err)
{
    for (int64_t i = 0; i < call->n; i++) {
        oci_span part;
        if (oci_args_valid(call, i) && oci_arg_text(call, 0, i).length > 0) {
            for (oci_span rest = oci_arg_text(call, 0, i);
                 next_part(&rest, oci_arg_text(call, 1, i), &part);) {
                OC_TRY(oci_text_builder_append(builder, part.at, part.length, err));
            }
        }
        oci_bit_put(validity, i, oci_args_valid(call, i));
        offsets[i + 1] = (int32_t)builder->n;
    }
    return OC_OK;
}

/* string_to_array(text, delimiter): an empty text has no parts. */
static oc_status string_to_array(const oci_call *call, oci_vector *out, oc_error *err)
{
    int32_t *offsets;
    uint8_t *validity;
    int64_t bytes;
    oci_vector items;
    oci_text_builder builder;
    OC_TRY(make_offsets(call, &offsets, &validity, &bytes, err));
    oc_status status = oci_text_builder_init(&builder, &call->result->children[0],
                                             count_items(call), call->mem, err);
    if (status == OC_OK) {
        status = split_rows(call, offsets, validity, &builder, err);
        if (status == OC_OK) {
            status = oci_text_builder_finish(&builder, &items, err);
        } else {
            oci_text_builder_deinit(&builder);
        }
    }
    if (status != OC_OK) {
        oci_mem_free(call->mem, offsets, bytes);
        return status;
    }
    return own_list(call, offsets, bytes, validity, &items, out, err);
}

static bool bind_join(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    if (!oci_type_is_list(s->args[0].type)) {
        return false;
    }
    oci_field item = oci_child_type(&s->args[0].children[0]);
    oci_field text = oci_expr_type(OCI_TYPE_UTF8);
    if (!oci_type_is_text(item.type) && !oci_cast_exists(&item, &text)) {
        return false;
    }
    for (int32_t i = 1; i < s->n_args; i++) {
        s->args[i] = text;
    }
    s->result = text;
    return true;
}

static oc_status join_row(const oci_call *call, const oci_vector *items, int64_t i,
                          oci_text_builder *builder, oc_error *err)
{
    int64_t start;
    int64_t length;
    oci_growing_text g = {.builder = builder};
    oci_span separator = oci_arg_text(call, 1, i);
    bool any = false;
    oci_column_list_at(&call->args[0].column, oci_vector_row(&call->args[0], i), &start, &length);
    for (int64_t k = start; k < start + length; k++) {
        bool is_null = oci_column_is_null(&items->column, k);
        if (is_null && call->n_args < 3) {
            continue;
        }
        oci_span text = is_null ? oci_arg_text(call, 2, i) : oci_text_at(items, k);
        OC_TRY(oci_growing_put(&g, separator.at, any ? separator.length : 0, err));
        OC_TRY(oci_growing_put(&g, text.at, text.length, err));
        any = true;
    }
    oci_text_builder_commit(builder, g.used);
    return OC_OK;
}

static oc_status join_rows(const oci_call *call, const oci_vector *items, oci_vector *out,
                           oc_error *err)
{
    oci_text_builder builder;
    OC_TRY(oci_text_builder_init(&builder, call->result, call->n, call->mem, err));
    oc_status status = OC_OK;
    for (int64_t i = 0; status == OC_OK && i < call->n; i++) {
        status = oci_args_valid(call, i) ? join_row(call, items, i, &builder, err)
                                         : oci_text_builder_append(&builder, NULL, 0, err);
    }
    if (status != OC_OK) {
        oci_text_builder_deinit(&builder);
        return status;
    }
    return oci_text_builder_finish(&builder, out, err);
}

/* array_to_string(list, separator [, text for nulls]) */
static oc_status array_to_string(const oci_call *call, oci_vector *out, oc_error *err)
{
    oci_vector flat;
    oci_vector texts = {0};
    const oci_column *child = &call->args[0].column.children[0];
    OC_TRY(oci_flatten(call, child, &flat, err));
    oc_status status = OC_OK;
    bool is_text = oci_type_is_text(flat.column.field->type);
    if (!is_text) {
        status =
            oci_cast_vector(&flat, flat.column.length, call->result, false, call->mem, &texts, err);
    }
    if (status == OC_OK) {
        status = join_rows(call, is_text ? &flat : &texts, out, err);
    }
    oci_vector_deinit(&texts);
    oci_vector_deinit(&flat);
    return status;
}

const oci_function oci_functions_list_make[] = {
    {.name = "array",
     .args_max = OCI_FUNCTION_ARGS_MAX,
     .bind = bind_array,
     .kernel = array,
     .help = "ARRAY[value, ...] -> list"},
    {.name = "string_to_array",
     .args_min = 2,
     .args_max = 2,
     .bind = bind_split,
     .kernel = string_to_array,
     .help = "string_to_array(text, delimiter) -> list of texts"},
    OCI_STRICT("array_to_string", 2, 3, bind_join, array_to_string,
               "array_to_string(list, separator [, null]) -> text"),
    {.name = NULL},
};
