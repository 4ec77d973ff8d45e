/* Lists and structs: fields, elements, lengths, searching. functions_list_make.c makes lists.
 *
 * What a call carries, the number of a field, is malloc'ed with the statement. */
#include <stdlib.h>
#include <strings.h>

#include "arrow/gather.h"
#include "expr/function_table.h"
#include "expr/list_kernel.h"
#include "expr/null_column.h"

/* ---- vectors of columns ---------------------------------------------------------------------- */

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
    OC_TRY(oci_schema_of_type(column->field, &schema, err));
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

/* All rows null: `rows` are all < 0. */
static oc_status all_null(const oci_call *call, const int64_t *rows, oci_vector *out, oc_error *err)
{
    oci_null_column null;
    oc_status status = oci_null_column_init(&null, call->result, err);
    if (status == OC_OK) {
        status = pick(call, &null.column, rows, out, err);
    }
    oci_null_column_deinit(&null);
    return status;
}

/* Picks rows of a child, flattened first. */
static oc_status pick_flat(const oci_call *call, const oci_column *child, const int64_t *rows,
                           oci_vector *out, oc_error *err)
{
    oci_vector flat;
    if (child->length == 0) {
        return all_null(call, rows, out, err);
    }
    OC_TRY(oci_flatten(call, child, &flat, err));
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
    s->result = oci_child_type(&s->args[0].children[child]);
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
        OC_TRY(oci_flatten(call, &child, out, err));
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
    if (!oci_type_is_list(s->args[0].type)) {
        return false;
    }
    s->args[1] = oci_expr_type(OCI_TYPE_INT64);
    s->result = oci_child_type(&s->args[0].children[0]);
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

/* map[key]: the value of the key, null when it is not there. */
static bool bind_map_element(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    if (s->args[0].type != OCI_TYPE_MAP) {
        return false;
    }
    const oci_field *entries = s->args[0].children;
    s->result = oci_child_type(&entries->children[1]);
    s->args[1] = oci_child_type(&entries->children[0]);
    s->args[1].name = NULL;
    return true;
}

static oc_status map_element(const oci_call *call, oci_vector *out, oc_error *err)
{
    const oci_column *column = &call->args[0].column;
    const oci_column *entries = &column->children[0];
    oci_column values = entries->children[1];
    int64_t *rows;
    OC_TRY(make_rows(call, &rows, err));
    for (int64_t i = 0; i < call->n; i++) {
        int64_t start = 0;
        int64_t length = 0;
        rows[i] = -1;
        if (oci_args_valid(call, i)) {
            oci_column_list_at(column, oci_vector_row(&call->args[0], i), &start, &length);
        }
        for (int64_t k = start; k < start + length && rows[i] < 0; k++) {
            if (oci_value_equal(&entries->children[0], entries->offset + k, &call->args[1].column,
                                oci_vector_row(&call->args[1], i))) {
                rows[i] = k;
            }
        }
    }
    values.offset += entries->offset;
    values.length = entries->length;
    oc_status status = pick_flat(call, &values, rows, out, err);
    free_rows(call, rows);
    return status;
}

/* ---- lengths --------------------------------------------------------------------------------- */

static bool bind_length(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    if (!oci_type_is_list(s->args[0].type) && s->args[0].type != OCI_TYPE_MAP) {
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
    if (!oci_type_is_list(s->args[0].type)) {
        return false;
    }
    s->args[1] = oci_child_type(&s->args[0].children[0]);
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

#define OPEN(name_, n, bind_, kernel_, help_)                                                    \
    {                                                                                            \
        .name = (name_), .args_min = (n), .args_max = (n), .bind = (bind_), .kernel = (kernel_), \
        .help = (help_)                                                                          \
    }

const oci_function oci_functions_list[] = {
    OPEN("struct field", 2, bind_struct_field, struct_field, "(struct).field"),
    OPEN("struct_extract", 2, bind_struct_field, struct_field, "struct_extract(struct, 'field')"),
    OPEN("list element", 2, bind_element, list_element, "list[number]"),
    OPEN("list element", 2, bind_map_element, map_element, "map[key]"),
    OPEN("map_extract_value", 2, bind_map_element, map_element, "map_extract_value(map, key)"),
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
    {.name = NULL},
};
