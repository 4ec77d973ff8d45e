/* See schema_merge.h. Lists come from malloc: they grow with the number of columns. */
#include "api/schema_merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "ops/relational/relational.h"

/* ---- types ----------------------------------------------------------------------------------- */

static bool is_signed(oci_type type)
{
    return type >= OCI_TYPE_INT8 && type <= OCI_TYPE_INT64;
}

static bool is_unsigned(oci_type type)
{
    return type >= OCI_TYPE_UINT8 && type <= OCI_TYPE_UINT64;
}

static bool is_float(oci_type type)
{
    return type >= OCI_TYPE_FLOAT16 && type <= OCI_TYPE_FLOAT64;
}

static bool is_decimal(oci_type type)
{
    return type >= OCI_TYPE_DECIMAL32 && type <= OCI_TYPE_DECIMAL256;
}

static oci_type wider(oci_type a, oci_type b)
{
    return a > b ? a : b;
}

/* Of two types that are no decimals; OCI_TYPE_COUNT: there is none. */
static oci_type wider_type(oci_type a, oci_type b)
{
    if ((is_signed(a) && is_signed(b)) || (is_unsigned(a) && is_unsigned(b)) ||
        (is_float(a) && is_float(b))) {
        return wider(a, b);
    }
    if (is_signed(b) || is_float(a) || b == OCI_TYPE_UTF8 || b == OCI_TYPE_BINARY) {
        oci_type swap = a;
        a = b;
        b = swap;
    }
    if (is_signed(a) && is_unsigned(b) && b != OCI_TYPE_UINT64) {
        /* The next wider signed one holds it. */
        return wider(a, (oci_type)(OCI_TYPE_INT8 + (b - OCI_TYPE_UINT8) + 1));
    }
    if (is_float(b) && (is_signed(a) || is_unsigned(a)) && a != OCI_TYPE_INT64 &&
        a != OCI_TYPE_UINT64) {
        return OCI_TYPE_FLOAT64;
    }
    bool is_text = a == OCI_TYPE_UTF8 && b == OCI_TYPE_LARGE_UTF8;
    bool is_binary = a == OCI_TYPE_BINARY && b == OCI_TYPE_LARGE_BINARY;
    return is_text || is_binary ? b : OCI_TYPE_COUNT;
}

/* Sets type and parameters of `a` to what holds values of both; false: they clash. */
static bool widen(oci_field *a, const oci_field *b)
{
    if (oci_field_same_type(a, b)) {
        return true;
    }
    if (is_decimal(a->type) && is_decimal(b->type) && a->scale == b->scale) {
        a->type = wider(a->type, b->type);
        a->precision = a->precision > b->precision ? a->precision : b->precision;
    } else {
        oci_type type = wider_type(a->type, b->type);
        if (type == OCI_TYPE_COUNT) {
            return false;
        }
        a->type = type;
    }
    oci_field_set_width(a);
    return true;
}

/* ---- schemas --------------------------------------------------------------------------------- */

static int32_t find(const oci_field *fields, int32_t n, const char *name)
{
    for (int32_t i = 0; i < n; i++) {
        if (strcmp(fields[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

static oc_status clash(const oci_field *a, const char *a_path, const oci_field *b,
                       const char *b_path, oc_error *err)
{
    char a_type[128];
    char b_type[128];
    oci_field_type_text(a, a_type, sizeof a_type);
    oci_field_type_text(b, b_type, sizeof b_type);
    OC_FAIL(err, OC_EDATA,
            "column \"%s\" is %s in file \"%s\", but %s in \"%s\"; files read together must have "
            "types that widen to each other",
            a->name, a_type, a_path, b_type, b_path);
}

/* The field of `a` widened by that of `b`, or one that only one of them has; NULL: not there. */
static oc_status merge_field(const oci_field *a, const char *a_path, const oci_field *b,
                             const char *b_path, oci_field *out, oc_error *err)
{
    const oci_field *from = a == NULL || (b != NULL && a->type == OCI_TYPE_NULL) ? b : a;
    OC_TRY(oci_field_copy(from, out, err));
    out->nullable = a == NULL || b == NULL || a->nullable || b->nullable;
    if (a == NULL || b == NULL || a->type == OCI_TYPE_NULL || b->type == OCI_TYPE_NULL ||
        widen(out, b)) {
        return OC_OK;
    }
    oci_field_deinit(out);
    return clash(a, a_path, b, b_path, err);
}

static oc_status merge_fields(const oci_schema *a, const char *a_path, const oci_schema *b,
                              const char *b_path, oci_field *fields, int32_t *n, oc_error *err)
{
    for (int32_t i = 0; i < a->n_fields; i++) {
        int32_t k = find(b->fields, b->n_fields, a->fields[i].name);
        OC_TRY(merge_field(&a->fields[i], a_path, k >= 0 ? &b->fields[k] : NULL, b_path,
                           &fields[*n], err));
        ++*n;
    }
    for (int32_t i = 0; i < b->n_fields; i++) {
        if (find(a->fields, a->n_fields, b->fields[i].name) < 0) {
            OC_TRY(merge_field(NULL, a_path, &b->fields[i], b_path, &fields[*n], err));
            ++*n;
        }
    }
    return OC_OK;
}

bool oci_schema_has_same_types(const oci_schema *a, const oci_schema *b)
{
    bool same = a->n_fields == b->n_fields;
    for (int32_t i = 0; same && i < a->n_fields; i++) {
        same = strcmp(a->fields[i].name, b->fields[i].name) == 0 &&
               oci_field_same_type(&a->fields[i], &b->fields[i]);
    }
    return same;
}

oc_status oci_schema_merge(oci_schema *a, const char *a_path, const oci_schema *b,
                           const char *b_path, oci_schema **out, oc_error *err)
{
    bool same = oci_schema_has_same_types(a, b);
    for (int32_t i = 0; same && i < a->n_fields; i++) {
        same = a->fields[i].nullable || !b->fields[i].nullable;
    }
    if (same) {
        *out = oci_schema_retain(a);
        return OC_OK;
    }
    int32_t n = 0;
    oci_field *fields = calloc((size_t)a->n_fields + (size_t)b->n_fields + 1, sizeof *fields);
    if (fields == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not open files: out of memory");
    }
    oc_status status = merge_fields(a, a_path, b, b_path, fields, &n, err);
    if (status != OC_OK) {
        for (int32_t i = 0; i < n; i++) {
            oci_field_deinit(&fields[i]);
        }
        free(fields);
        return status;
    }
    return oci_schema_create(fields, n, NULL, 0, out, err);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static oc_status adapt_column(const oci_schema *from, const oci_field *field, oci_expr **out,
                              oc_error *err)
{
    int32_t i = find(from->fields, from->n_fields, field->name);
    if (i < 0) {
        OC_TRY(oci_expr_null(-1, out, err));
        return oci_expr_cast(*out, field, false, -1, out, err);
    }
    OC_TRY(oci_expr_column(from, i, -1, out, err));
    return oci_field_same_type(&from->fields[i], field)
               ? OC_OK
               : oci_expr_cast(*out, field, false, -1, out, err);
}

oc_status oci_schema_adapt(oc_context *context, oci_stream *stream, oci_schema *schema,
                           oci_stream **out, oc_error *err)
{
    if (oci_schema_has_same_types(stream->schema, schema)) {
        *out = stream;
        return OC_OK;
    }
    oci_relational common = {.env = &context->env, .mem = context->scan};
    oci_expr **exprs = calloc((size_t)schema->n_fields + 1, sizeof(oci_expr *));
    oc_status status = exprs == NULL ? OC_SET(err, OC_ENOMEM, "could not open files: out of memory")
                                     : OC_OK;
    for (int32_t i = 0; status == OC_OK && i < schema->n_fields; i++) {
        status = adapt_column(stream->schema, &schema->fields[i], &exprs[i], err);
        if (status != OC_OK) {
            exprs[i] = NULL;
        }
    }
    if (status == OC_OK) {
        status = oci_project_open(&common, stream, exprs, schema, out, err);
    } else {
        oci_stream_close(stream);
    }
    for (int32_t i = 0; exprs != NULL && i < schema->n_fields; i++) {
        oci_expr_release(exprs[i]);
    }
    free(exprs);
    return status;
}
