/* See null_column.h. Every buffer is the same block of zeros: no value is valid, and offsets of 0 are those of empty
 * lists. The block and the children are malloc'ed: they grow with the type. */
#include "expr/null_column.h"

#include <stdlib.h>

#include "base/bits.h"

#define ZEROS_MAX ((int64_t)1 << 20)

static bool is_supported(oci_layout layout)
{
    return layout <= OCI_LAYOUT_VIEWS || layout == OCI_LAYOUT_LIST32 ||
           layout == OCI_LAYOUT_LIST64 || layout == OCI_LAYOUT_STRUCT ||
           layout == OCI_LAYOUT_FIXED_LIST;
}

/* Rows of the children for so many rows of the parent. */
static int64_t child_rows(const oci_field *type, int64_t rows)
{
    switch (oci_field_layout(type)) {
    case OCI_LAYOUT_STRUCT: return rows;
    case OCI_LAYOUT_FIXED_LIST: return rows * type->list_size;
    default: return 0;
    }
}

/* Bytes of the largest buffer; more than ZEROS_MAX: too many, or not supported. */
static int64_t largest_buffer(const oci_field *type, int64_t rows)
{
    if (!is_supported(oci_field_layout(type)) || rows > ZEROS_MAX) {
        return ZEROS_MAX + 1;
    }
    int64_t bytes = oci_max64(16, type->byte_width) * (rows + 1); /* views and offsets too */
    for (int32_t i = 0; i < type->n_children; i++) {
        bytes = oci_max64(bytes, largest_buffer(&type->children[i], child_rows(type, rows)));
    }
    return bytes;
}

static bool fill(const oci_field *type, int64_t rows, const uint8_t *zeros, oci_column *out)
{
    bool has_buffers = oci_field_layout(type) != OCI_LAYOUT_NULL;
    *out = (oci_column){.field = type,
                        .length = rows,
                        .null_count = rows,
                        .validity = has_buffers ? zeros : NULL,
                        .values = zeros,
                        .bytes = zeros};
    if (type->n_children == 0) {
        return true;
    }
    oci_column *children = calloc((size_t)type->n_children, sizeof *children);
    out->children = children;
    bool good = children != NULL;
    for (int32_t i = 0; good && i < type->n_children; i++) {
        good = fill(&type->children[i], child_rows(type, rows), zeros, &children[i]);
    }
    return good;
}

static void free_children(const oci_column *column)
{
    for (int32_t i = 0; column->children != NULL && i < column->field->n_children; i++) {
        free_children(&column->children[i]);
    }
    free((void *)(uintptr_t)column->children);
}

oc_status oci_null_column_init(oci_null_column *null, const oci_field *type, oc_error *err)
{
    *null = (oci_null_column){.zeros = NULL};
    int64_t bytes = largest_buffer(type, 1);
    if (bytes > ZEROS_MAX) {
        OC_FAIL(err, OC_EUNSUPPORTED, "a null of type %s cannot be made",
                oci_type_name(type->type));
    }
    null->zeros = calloc(1, (size_t)bytes);
    if (null->zeros == NULL || !fill(type, 1, null->zeros, &null->column)) {
        OC_FAIL(err, OC_ENOMEM, "could not make a null: out of memory");
    }
    return OC_OK;
}

void oci_null_column_deinit(oci_null_column *null)
{
    free_children(&null->column);
    free(null->zeros);
    *null = (oci_null_column){.zeros = NULL};
}
