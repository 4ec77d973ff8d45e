/* See list_kernel.h. Fields and schemas come from malloc: they grow with the statement. */
#include "expr/list_kernel.h"

#include <stdlib.h>

#include "expr/cast.h"
#include "expr/eval.h"

bool oci_type_is_list(oci_type type)
{
    return type == OCI_TYPE_LIST || type == OCI_TYPE_LARGE_LIST || type == OCI_TYPE_LIST_VIEW ||
           type == OCI_TYPE_LARGE_LIST_VIEW || type == OCI_TYPE_FIXED_LIST;
}

oci_field oci_child_type(const oci_field *child)
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

oc_status oci_schema_of_type(const oci_field *type, oci_schema **out, oc_error *err)
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

oc_status oci_flatten(const oci_call *call, const oci_column *column, oci_vector *out,
                      oc_error *err)
{
    oci_eval_context context = {.mem = call->mem, .now_us = call->now_us};
    oci_expr expr = {.kind = OCI_EXPR_COLUMN, .type = *column->field};
    oci_column copy = *column;
    oci_batch batch = {.length = column->length, .columns = &copy};
    return oci_expr_eval(&context, &expr, &batch, out, err);
}
