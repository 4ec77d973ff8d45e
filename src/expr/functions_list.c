/* Lists and structs: fields, elements, lengths, ARRAY[...], to and from texts.
 *
 * A vector whose column has children keeps them in a batch. Element types of lists that are made
 * here are simple; the fields that describe them come from malloc with the statement. */
#include <stdlib.h>
#include <strings.h>

#include "arrow/gather.h"
#include "expr/cast.h"
#include "expr/eval.h"
#include "expr/function_table.h"
#include "expr/kernel.h"

static bool is_list(oci_type type)
{
    return type == OCI_TYPE_LIST || type == OCI_TYPE_LARGE_LIST || type == OCI_TYPE_LIST_VIEW ||
           type == OCI_TYPE_LARGE_LIST_VIEW || type == OCI_TYPE_FIXED_LIST;
}

/* The type that values of a child have once dictionaries and runs are resolved, and views too. */
static oci_field value_type(const oci_field *child)
{
    oci_field type = *oci_value_type(child);
    type.byte_width =
        type.type == OCI_TYPE_UTF8_VIEW || type.type == OCI_TYPE_BINARY_VIEW ? 0 : type.byte_width;
    type.type = type.type == OCI_TYPE_UTF8_VIEW     ? OCI_TYPE_UTF8
                : type.type == OCI_TYPE_BINARY_VIEW ? OCI_TYPE_BINARY
                                                    : type.type;
    type.nullable = true;
    return type;
}

/* ---- vectors of columns ---------------------------------------------------------------------- */

static oc_status schema_of(const oci_field *type, oci_schema **out, oc_error *err)
{
    static char no_name[] = "";
    oci_field named = *type;
    named.name = no_name;
    oci_field *field = calloc(1, sizeof *field);
    if (field == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not evaluate an expression: out of memory");
    }
    oc_status status = oci_field_copy(&named, field, err);
    if (status != OC_OK) {
        free(field);
        return status;
    }
    return oci_schema_create(field, 1, NULL, 0, out, err);
}

/* A column that may have a dictionary, runs or views as a flat vector, which may borrow from it. */
static oc_status flatten(const oci_call *call, const oci_column *column, oci_vector *out,
                         oc_error *err)
{
    oci_eval_context context = {.mem = call->mem, .now_us = call->now_us};
    oci_expr expr = {.kind = OCI_EXPR_COLUMN, .type = *column->field};
    oci_column copy = *column;
    oci_batch batch = {.length = column->length, .columns = &copy};
    return oci_expr_eval(&context, &expr, &batch, out, err);
}

/* Rows of a column as a new one; `rows` < 0 are null. */
static oc_status pick(const oci_call *call, const oci_column *column, const int64_t *rows,
                      oci_vector *out, oc_error *err)
{
    oci_schema *schema;
    int64_t n = call->n;
    int64_t bytes = oci_max64(8, n * (int64_t)sizeof(oci_row_ref));
    int64_t bitmap_bytes = oci_round_up(oci_bytes_for_bits(n), 8) + 8;
    void *block;
    void *bitmap;
    if (n > OCI_GATHER_ROWS_MAX || column->length > UINT32_MAX) {
        OC_FAIL(err, OC_EUNSUPPORTED, "a list with more than 2^32 elements in a batch");
    }
    OC_TRY(schema_of(column->field, &schema, err));
    oc_status status = oci_mem_alloc(call->mem, bytes, &block, err);
    if (status != OC_OK) {
        oci_schema_release(schema);
        return status;
    }
    oci_row_ref *refs = block;
    for (int64_t i = 0; i < n; i++) {
        refs[i] = (oci_row_ref){0, (uint32_t)(rows[i] < 0 ? 0 : rows[i])};
    }
    oci_column copy = *column;
    copy.field = &schema->fields[0];
    oci_batch source = {.schema = schema, .length = column->length, .columns = &copy};
    const oci_batch *sources[1] = {&source};
    oci_batch *made = NULL;
    status = oci_gather(schema, sources, refs, n, 0, call->mem, NULL, &made, err);
    oci_mem_free(call->mem, block, bytes);
    oci_schema_release(schema);
    OC_TRY(status);
    status = oci_mem_alloc(call->mem, bitmap_bytes, &bitmap, err);
    if (status != OC_OK) {
        oci_batch_release(made);
        return status;
    }
    memset(bitmap, 0, (size_t)bitmap_bytes);
    for (int64_t i = 0; i < n; i++) {
        oci_bit_put(bitmap, i, rows[i] >= 0 && !oci_column_is_null(&made->columns[0], i));
    }
    *out = (oci_vector){.column = made->columns[0],
                        .mem = call->mem,
                        .block = bitmap,
                        .block_bytes = bitmap_bytes,
                        .keeps = made};
    out->column.validity = bitmap;
    out->column.null_count = -1;
    return OC_OK;
}

/* All rows null: from a column of one null row of a simple type. */
static oc_status all_null(const oci_call *call, oci_vector *out, oc_error *err)
{
    uint8_t *values;
    uint8_t *validity;
    const oci_field *type = call->result;
    if (oci_field_layout(type) == OCI_LAYOUT_BITS || oci_field_layout(type) == OCI_LAYOUT_FIXED) {
        OC_TRY(oci_vector_make(type, call->n, true, call->mem, out, &values, &validity, err));
        memset(values, 0,
               (size_t)(type->byte_width > 0 ? call->n * type->byte_width
                                             : oci_bytes_for_bits(call->n)));
        memset(validity, 0, (size_t)oci_bytes_for_bits(call->n));
        return OC_OK;
    }
    if (type->type != OCI_TYPE_UTF8 && type->type != OCI_TYPE_BINARY) {
        OC_FAIL(err, OC_EUNSUPPORTED, "a null of type %s cannot be made",
                oci_type_name(type->type));
    }
    oci_text_builder builder;
    OC_TRY(oci_text_builder_init(&builder, type, call->n, call->mem, err));
    for (int64_t i = 0; i < call->n; i++) {
        oc_status status = oci_text_builder_append_null(&builder, err);
        if (status != OC_OK) {
            oci_text_builder_deinit(&builder);
            return status;
        }
    }
    return oci_text_builder_finish(&builder, out, err);
}

/* Picks rows of a child, flattened first. */
static oc_status pick_flat(const oci_call *call, const oci_column *child, const int64_t *rows,
                           oci_vector *out, oc_error *err)
{
    oci_vector flat;
    if (child->length == 0) {
        return all_null(call, out, err);
    }
    OC_TRY(flatten(call, child, &flat, err));
    oc_status status = pick(call, &flat.column, rows, out, err);
    oci_vector_deinit(&flat);
    return status;
}

static oc_status make_rows(const oci_call *call, int64_t **out, oc_error *err)
{
    void *block;
    OC_TRY(oci_mem_alloc(call->mem, oci_max64(8, call->n * 8), &block, err));
    *out = block;
    return OC_OK;
}

static void free_rows(const oci_call *call, int64_t *rows)
{
    oci_mem_free(call->mem, rows, oci_max64(8, call->n * 8));
}

/* ---- fields of structs ----------------------------------------------------------------------- */

static int32_t find_child(const oci_field *type, oci_span name)
{
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t i = 0; i < type->n_children; i++) {
            const char *child = type->children[i].name;
            bool same_length = (int64_t)strlen(child) == name.length;
            if (same_length &&
                (pass == 0 ? memcmp(child, name.at, (size_t)name.length)
                           : strncasecmp(child, (const char *)name.at, (size_t)name.length)) == 0) {
                return i;
            }
        }
    }
    return -1;
}

/* The number of the child, with the statement. */
static bool bind_struct_field(oci_signature *s, bool *failed, oc_error *err)
{
    oci_span name;
    if (s->args[0].type != OCI_TYPE_STRUCT || !oci_constant_text(s, 1, &name.at, &name.length)) {
        return false;
    }
    int32_t child = find_child(&s->args[0], name);
    int32_t *data = child < 0 ? NULL : malloc(sizeof *data);
    if (data == NULL) {
        *failed = true;
        if (child >= 0) {
            OC_SET(err, OC_ENOMEM, "could not make an expression: out of memory");
        } else {
            OC_SET(err, OC_EINVAL, "a struct has no field \"%.*s\"",
                   (int)oci_min64(name.length, 80), (const char *)name.at);
        }
        return false;
    }
    *data = child;
    s->data = data;
    s->free_data = free;
    s->args[1] = oci_expr_type(OCI_TYPE_UTF8);
    s->result = value_type(&s->args[0].children[child]);
    return true;
}

static oc_status struct_field(const oci_call *call, oci_vector *out, oc_error *err)
{
    const oci_column *column = &call->args[0].column;
    oci_column child = column->children[*(const int32_t *)call->data];
    child.offset += column->offset;
    child.length = column->length;
    child.null_count = -1;
    if (oci_column_null_count(column) == 0) {
        OC_TRY(flatten(call, &child, out, err));
        out->is_constant = call->args[0].is_constant;
        return OC_OK;
    }
    int64_t *rows;
    OC_TRY(make_rows(call, &rows, err));
    for (int64_t i = 0; i < call->n; i++) {
        rows[i] = oci_arg_is_null(call, 0, i) ? -1 : oci_vector_row(&call->args[0], i);
    }
    oc_status status = pick_flat(call, &child, rows, out, err);
    free_rows(call, rows);
    return status;
}

/* ---- elements -------------------------------------------------------------------------------- */

static bool bind_element(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    if (!is_list(s->args[0].type)) {
        return false;
    }
    s->args[1] = oci_expr_type(OCI_TYPE_INT64);
    s->result = value_type(&s->args[0].children[0]);
    return true;
}

/* list[i], from 1, from the end with negative numbers; null outside. */
static oc_status list_element(const oci_call *call, oci_vector *out, oc_error *err)
{
    const oci_column *column = &call->args[0].column;
    int64_t *rows;
    OC_TRY(make_rows(call, &rows, err));
    for (int64_t i = 0; i < call->n; i++) {
        rows[i] = -1;
        if (!oci_args_valid(call, i)) {
            continue;
        }
        int64_t start;
        int64_t length;
        int64_t index = oci_arg_int64(call, 1, i);
        oci_column_list_at(column, oci_vector_row(&call->args[0], i), &start, &length);
        index = index < 0 && index >= -length ? length + index : index - 1;
        rows[i] = index >= 0 && index < length ? start + index : -1;
    }
    oc_status status = pick_flat(call, &column->children[0], rows, out, err);
    free_rows(call, rows);
    return status;
}

/* ---- lengths --------------------------------------------------------------------------------- */

static bool bind_length(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    if (!is_list(s->args[0].type) && s->args[0].type != OCI_TYPE_MAP) {
        return false;
    }
    if (s->n_args == 2) {
        s->args[1] = oci_expr_type(OCI_TYPE_INT64);
    }
    s->result = oci_expr_type(OCI_TYPE_INT32);
    return true;
}

static oc_status length_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    (void)err;
    int64_t start;
    oci_column_list_at(&call->args[0].column, oci_vector_row(&call->args[0], i), &start, out);
    return OC_OK;
}

static oc_status list_length(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_int(call, length_row, out, err);
}

/* array_length(list [, dimension]): null for empty lists, and dimensions that lists do not have. */
static oc_status array_length(const oci_call *call, oci_vector *out, oc_error *err)
{
    uint8_t *values;
    uint8_t *validity;
    OC_TRY(oci_vector_make(call->result, call->n, true, call->mem, out, &values, &validity, err));
    for (int64_t i = 0; i < call->n; i++) {
        int64_t length = 0;
        if (oci_args_valid(call, i) && (call->n_args == 1 || oci_arg_int64(call, 1, i) == 1)) {
            (void)length_row(call, i, &length, err);
        }
        oci_store_le32(values + i * 4, (uint32_t)length);
        oci_bit_put(validity, i, length > 0);
    }
    return OC_OK;
}

/* ---- searching ------------------------------------------------------------------------------- */

static bool bind_search(oci_signature *s, oci_type result)
{
    if (!is_list(s->args[0].type)) {
        return false;
    }
    s->args[1] = value_type(&s->args[0].children[0]);
    s->args[1].name = NULL;
    s->result = oci_expr_type(result);
    return true;
}

static bool bind_contains(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    return bind_search(s, OCI_TYPE_BOOL);
}

static bool bind_position(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    return bind_search(s, OCI_TYPE_INT32);
}

/* The place of a value in a list from 1, 0 = it is not there. */
static int64_t place_of(const oci_call *call, int64_t i)
{
    const oci_column *column = &call->args[0].column;
    int64_t start;
    int64_t length;
    oci_column_list_at(column, oci_vector_row(&call->args[0], i), &start, &length);
    for (int64_t k = 0; k < length; k++) {
        if (oci_value_equal(&column->children[0], start + k, &call->args[1].column,
                            oci_vector_row(&call->args[1], i))) {
            return k + 1;
        }
    }
    return 0;
}

static oc_status contains_row(const oci_call *call, int64_t i, bool *out, oc_error *err)
{
    (void)err;
    *out = place_of(call, i) > 0;
    return OC_OK;
}

static oc_status list_contains(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_bool(call, contains_row, out, err);
}

static oc_status list_position(const oci_call *call, oci_vector *out, oc_error *err)
{
    uint8_t *values;
    uint8_t *validity;
    OC_TRY(oci_vector_make(call->result, call->n, true, call->mem, out, &values, &validity, err));
    for (int64_t i = 0; i < call->n; i++) {
        int64_t place = oci_args_valid(call, i) ? place_of(call, i) : 0;
        oci_store_le32(values + i * 4, (uint32_t)place);
        oci_bit_put(validity, i, place > 0);
    }
    return OC_OK;
}

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
                           : schema_of(&call->result->children[0], &schema, err);
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
    if (!is_list(s->args[0].type)) {
        return false;
    }
    oci_field item = value_type(&s->args[0].children[0]);
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
    OC_TRY(flatten(call, child, &flat, err));
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

#define OPEN(name_, n, bind_, kernel_, help_)                                                    \
    {                                                                                            \
        .name = (name_), .args_min = (n), .args_max = (n), .bind = (bind_), .kernel = (kernel_), \
        .help = (help_)                                                                          \
    }

const oci_function oci_functions_list[] = {
    OPEN("struct field", 2, bind_struct_field, struct_field, "(struct).field"),
    OPEN("struct_extract", 2, bind_struct_field, struct_field, "struct_extract(struct, 'field')"),
    OPEN("list element", 2, bind_element, list_element, "list[number]"),
    OPEN("list_extract", 2, bind_element, list_element, "list_extract(list, number)"),
    OPEN("array_extract", 2, bind_element, list_element, "array_extract(list, number)"),
    OCI_STRICT("array_length", 1, 2, bind_length, array_length, "array_length(list) -> integer"),
    OCI_STRICT("cardinality", 1, 1, bind_length, list_length, "cardinality(list) -> integer"),
    OCI_STRICT("list_length", 1, 1, bind_length, list_length, "list_length(list) -> integer"),
    OCI_STRICT("len", 1, 1, bind_length, list_length, "len(list) -> integer"),
    OCI_STRICT("array_contains", 2, 2, bind_contains, list_contains,
               "array_contains(list, value) -> boolean"),
    OCI_STRICT("list_contains", 2, 2, bind_contains, list_contains,
               "list_contains(list, value) -> boolean"),
    OPEN("array_position", 2, bind_position, list_position,
         "array_position(list, value) -> integer"),
    {.name = "array",
     .args_max = OCI_FUNCTION_ARGS_MAX,
     .bind = bind_array,
     .kernel = array,
     .help = "ARRAY[value, ...] -> list"},
    OPEN("string_to_array", 2, bind_split, string_to_array,
         "string_to_array(text, delimiter) -> list of texts"),
    OCI_STRICT("array_to_string", 2, 3, bind_join, array_to_string,
               "array_to_string(list, separator [, null]) -> text"),
    {.name = NULL},
};
