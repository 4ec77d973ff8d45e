/* Types, fields and schemas: the table of types, lifetimes, selection, look-up by name.
 *
 * The table below is the only place that knows how a type lies in memory; the rest of the library
 * asks for the layout. Schemas are small and live as long as the batches that refer to them, so
 * they come from malloc and are not charged to a budget. The way in from and out to the C data
 * interface is c_schema.c. */
#include "arrow/schema.h"

#include <assert.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct type_info {
    const char *name;
    oci_layout layout;
    int32_t byte_width; /* 0 where it comes from a parameter or has no meaning */
} type_info;

static const type_info type_table[OCI_TYPE_COUNT] = {
    [OCI_TYPE_NULL] = {"null", OCI_LAYOUT_NULL, 0},
    [OCI_TYPE_BOOL] = {"bool", OCI_LAYOUT_BITS, 0},
    [OCI_TYPE_INT8] = {"int8", OCI_LAYOUT_FIXED, 1},
    [OCI_TYPE_INT16] = {"int16", OCI_LAYOUT_FIXED, 2},
    [OCI_TYPE_INT32] = {"int32", OCI_LAYOUT_FIXED, 4},
    [OCI_TYPE_INT64] = {"int64", OCI_LAYOUT_FIXED, 8},
    [OCI_TYPE_UINT8] = {"uint8", OCI_LAYOUT_FIXED, 1},
    [OCI_TYPE_UINT16] = {"uint16", OCI_LAYOUT_FIXED, 2},
    [OCI_TYPE_UINT32] = {"uint32", OCI_LAYOUT_FIXED, 4},
    [OCI_TYPE_UINT64] = {"uint64", OCI_LAYOUT_FIXED, 8},
    [OCI_TYPE_FLOAT16] = {"float16", OCI_LAYOUT_FIXED, 2},
    [OCI_TYPE_FLOAT32] = {"float32", OCI_LAYOUT_FIXED, 4},
    [OCI_TYPE_FLOAT64] = {"float64", OCI_LAYOUT_FIXED, 8},
    [OCI_TYPE_DECIMAL32] = {"decimal32", OCI_LAYOUT_FIXED, 4},
    [OCI_TYPE_DECIMAL64] = {"decimal64", OCI_LAYOUT_FIXED, 8},
    [OCI_TYPE_DECIMAL128] = {"decimal128", OCI_LAYOUT_FIXED, 16},
    [OCI_TYPE_DECIMAL256] = {"decimal256", OCI_LAYOUT_FIXED, 32},
    [OCI_TYPE_DATE32] = {"date32", OCI_LAYOUT_FIXED, 4},
    [OCI_TYPE_DATE64] = {"date64", OCI_LAYOUT_FIXED, 8},
    [OCI_TYPE_TIME32] = {"time32", OCI_LAYOUT_FIXED, 4},
    [OCI_TYPE_TIME64] = {"time64", OCI_LAYOUT_FIXED, 8},
    [OCI_TYPE_TIMESTAMP] = {"timestamp", OCI_LAYOUT_FIXED, 8},
    [OCI_TYPE_DURATION] = {"duration", OCI_LAYOUT_FIXED, 8},
    [OCI_TYPE_INTERVAL_MONTHS] = {"interval_months", OCI_LAYOUT_FIXED, 4},
    [OCI_TYPE_INTERVAL_DAY_TIME] = {"interval_day_time", OCI_LAYOUT_FIXED, 8},
    [OCI_TYPE_INTERVAL_MONTH_DAY_NANO] = {"interval_month_day_nano", OCI_LAYOUT_FIXED, 16},
    [OCI_TYPE_FIXED_BINARY] = {"fixed_size_binary", OCI_LAYOUT_FIXED, 0},
    [OCI_TYPE_UTF8] = {"utf8", OCI_LAYOUT_OFFSETS32, 0},
    [OCI_TYPE_LARGE_UTF8] = {"large_utf8", OCI_LAYOUT_OFFSETS64, 0},
    [OCI_TYPE_UTF8_VIEW] = {"utf8_view", OCI_LAYOUT_VIEWS, 0},
    [OCI_TYPE_BINARY] = {"binary", OCI_LAYOUT_OFFSETS32, 0},
    [OCI_TYPE_LARGE_BINARY] = {"large_binary", OCI_LAYOUT_OFFSETS64, 0},
    [OCI_TYPE_BINARY_VIEW] = {"binary_view", OCI_LAYOUT_VIEWS, 0},
    [OCI_TYPE_DICTIONARY] = {"dictionary", OCI_LAYOUT_DICTIONARY, 0},
    [OCI_TYPE_LIST] = {"list", OCI_LAYOUT_LIST32, 0},
    [OCI_TYPE_LARGE_LIST] = {"large_list", OCI_LAYOUT_LIST64, 0},
    [OCI_TYPE_LIST_VIEW] = {"list_view", OCI_LAYOUT_LIST_VIEW32, 0},
    [OCI_TYPE_LARGE_LIST_VIEW] = {"large_list_view", OCI_LAYOUT_LIST_VIEW64, 0},
    [OCI_TYPE_FIXED_LIST] = {"fixed_size_list", OCI_LAYOUT_FIXED_LIST, 0},
    [OCI_TYPE_STRUCT] = {"struct", OCI_LAYOUT_STRUCT, 0},
    [OCI_TYPE_MAP] = {"map", OCI_LAYOUT_LIST32, 0},
    [OCI_TYPE_DENSE_UNION] = {"dense_union", OCI_LAYOUT_DENSE_UNION, 0},
    [OCI_TYPE_SPARSE_UNION] = {"sparse_union", OCI_LAYOUT_SPARSE_UNION, 0},
    [OCI_TYPE_RUN_END_ENCODED] = {"run_end_encoded", OCI_LAYOUT_RUN_ENDS, 0},
};

static const char *const unit_names[] = {"s", "ms", "us", "ns"};

oci_layout oci_type_layout(oci_type type)
{
    return (unsigned)type < OCI_TYPE_COUNT ? type_table[type].layout : OCI_LAYOUT_UNKNOWN;
}

bool oci_decimal_of_bits(int64_t bits, oci_type *type, int32_t *digits_max)
{
    static const struct {
        int32_t bits;
        oci_type type;
        int32_t digits_max;
    } decimals[] = {
        {32, OCI_TYPE_DECIMAL32, 9},
        {64, OCI_TYPE_DECIMAL64, 18},
        {128, OCI_TYPE_DECIMAL128, 38},
        {256, OCI_TYPE_DECIMAL256, 76},
    };
    for (size_t i = 0; i < sizeof decimals / sizeof decimals[0]; i++) {
        if (decimals[i].bits == bits) {
            *type = decimals[i].type;
            *digits_max = decimals[i].digits_max;
            return true;
        }
    }
    return false;
}

const char *oci_type_name(oci_type type)
{
    return (unsigned)type < OCI_TYPE_COUNT ? type_table[type].name : "unknown";
}

/* snprintf behind `at`; text that does not fit is cut. */
static __attribute__((format(printf, 4, 5))) void append_text(char *buf, size_t size, size_t *at,
                                                              const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(buf + *at, size - *at, format, args);
    va_end(args);
    if (n > 0) {
        *at = (size_t)n < size - *at ? *at + (size_t)n : size - 1;
    }
}

static void append_children(const oci_field *field, char *buf, size_t size, size_t *at)
{
    bool named = field->type == OCI_TYPE_STRUCT || field->union_ids != NULL;
    append_text(buf, size, at, "<");
    for (int32_t i = 0; i < field->n_children; i++) {
        const oci_field *child = &field->children[i];
        append_text(buf, size, at, "%s%s%s", i > 0 ? ", " : "", named ? child->name : "",
                    named ? ": " : "");
        oci_field_type_text(child, buf + *at, size - *at);
        *at += strlen(buf + *at);
    }
    if (field->type == OCI_TYPE_FIXED_LIST) {
        append_text(buf, size, at, ", %" PRId32, field->list_size);
    }
    append_text(buf, size, at, ">");
}

static void nested_type_text(const oci_field *field, char *buf, size_t size)
{
    size_t at = 0;
    append_text(buf, size, &at, "%s", oci_type_name(field->type));
    if (field->type == OCI_TYPE_MAP && field->n_children == 1) {
        append_children(&field->children[0], buf, size, &at);
    } else {
        append_children(field, buf, size, &at);
    }
}

static void dictionary_type_text(const oci_field *field, char *buf, size_t size)
{
    size_t at = 0;
    append_text(buf, size, &at, "%s<%s, ", oci_type_name(OCI_TYPE_DICTIONARY),
                oci_type_name(field->index_type));
    if (field->dictionary != NULL) {
        oci_field_type_text(field->dictionary, buf + at, size - at);
        at += strlen(buf + at);
    }
    append_text(buf, size, &at, "%s>", field->dictionary != NULL ? "" : "?");
}

void oci_field_type_text(const oci_field *field, char *buf, size_t size)
{
    const char *name = oci_type_name(field->type);
    if (size == 0) {
        return;
    }
    switch (field->type) {
    case OCI_TYPE_DECIMAL32:
    case OCI_TYPE_DECIMAL64:
    case OCI_TYPE_DECIMAL128:
    case OCI_TYPE_DECIMAL256:
        snprintf(buf, size, "%s(%" PRId32 ", %" PRId32 ")", name, field->precision, field->scale);
        break;
    case OCI_TYPE_FIXED_BINARY:
        snprintf(buf, size, "%s(%" PRId32 ")", name, field->byte_width);
        break;
    case OCI_TYPE_TIME32:
    case OCI_TYPE_TIME64:
    case OCI_TYPE_DURATION: snprintf(buf, size, "%s[%s]", name, unit_names[field->unit]); break;
    case OCI_TYPE_TIMESTAMP:
        snprintf(buf, size, "%s[%s%s%s]", name, unit_names[field->unit],
                 field->timezone != NULL ? ", " : "",
                 field->timezone != NULL ? field->timezone : "");
        break;
    case OCI_TYPE_DICTIONARY: dictionary_type_text(field, buf, size); break;
    default:
        if (field->n_children > 0) {
            nested_type_text(field, buf, size);
        } else {
            snprintf(buf, size, "%s", name);
        }
        break;
    }
}

/* ---- fields ---------------------------------------------------------------------------------- */

static oc_status copy_bytes(const char *in, int64_t size, char **out, oc_error *err)
{
    *out = malloc((size_t)size + 1);
    if (*out == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while building a schema");
    }
    memcpy(*out, in, (size_t)size);
    (*out)[size] = 0;
    return OC_OK;
}

static oc_status copy_text(const char *in, char **out, oc_error *err)
{
    return copy_bytes(in, (int64_t)strlen(in), out, err);
}

void oci_field_set_width(oci_field *field)
{
    if (field->type == OCI_TYPE_FIXED_BINARY) {
        return; /* the width is its parameter */
    }
    oci_type stored = field->type == OCI_TYPE_DICTIONARY ? field->index_type : field->type;
    field->byte_width = (unsigned)stored < OCI_TYPE_COUNT ? type_table[stored].byte_width : 0;
}

oc_status oci_field_init(oci_field *field, const char *name, oci_type type, bool nullable,
                         oc_error *err)
{
    *field = (oci_field){.type = type, .nullable = nullable};
    oci_field_set_width(field);
    return copy_text(name, &field->name, err);
}

void oci_field_deinit(oci_field *field)
{
    free(field->name);
    free(field->timezone);
    free(field->metadata);
    free(field->union_ids);
    if (field->dictionary != NULL) {
        oci_field_deinit(field->dictionary);
        free(field->dictionary);
    }
    for (int32_t i = 0; i < field->n_children; i++) {
        oci_field_deinit(&field->children[i]);
    }
    free(field->children);
    *field = (oci_field){0};
}

/* Copies what `in` points to. `out` is a plain copy without pointers and stays fit for deinit at
 * every step, so that a failure half-way leaks nothing. */
static oc_status copy_pointees(const oci_field *in, oci_field *out, oc_error *err)
{
    OC_TRY(copy_text(in->name, &out->name, err));
    if (in->timezone != NULL) {
        OC_TRY(copy_text(in->timezone, &out->timezone, err));
    }
    if (in->metadata != NULL) {
        OC_TRY(copy_bytes(in->metadata, in->metadata_bytes, &out->metadata, err));
        out->metadata_bytes = in->metadata_bytes;
    }
    if (in->dictionary != NULL) {
        out->dictionary = calloc(1, sizeof *out->dictionary);
        if (out->dictionary == NULL) {
            OC_FAIL(err, OC_ENOMEM, "out of memory while building a schema");
        }
        OC_TRY(oci_field_copy(in->dictionary, out->dictionary, err));
    }
    if (in->union_ids != NULL) {
        out->union_ids = malloc(sizeof *out->union_ids);
        if (out->union_ids == NULL) {
            OC_FAIL(err, OC_ENOMEM, "out of memory while building a schema");
        }
        *out->union_ids = *in->union_ids;
    }
    if (in->n_children > 0) {
        out->children = calloc((size_t)in->n_children, sizeof *out->children);
        if (out->children == NULL) {
            OC_FAIL(err, OC_ENOMEM, "out of memory while building a schema");
        }
        for (int32_t i = 0; i < in->n_children; i++) {
            OC_TRY(oci_field_copy(&in->children[i], &out->children[i], err));
            out->n_children++;
        }
    }
    return OC_OK;
}

oc_status oci_field_copy(const oci_field *in, oci_field *out, oc_error *err)
{
    *out = *in;
    out->name = NULL;
    out->timezone = NULL;
    out->metadata = NULL;
    out->metadata_bytes = 0;
    out->dictionary = NULL;
    out->union_ids = NULL;
    out->children = NULL;
    out->n_children = 0;
    oc_status status = copy_pointees(in, out, err);
    if (status != OC_OK) {
        oci_field_deinit(out);
    }
    return status;
}

oc_status oci_field_set_union_ids(oci_field *field, const int8_t *ids, int32_t n, oc_error *err)
{
    if (n > 128) {
        OC_FAIL(err, OC_EDATA, "union \"%.80s\" has %" PRId32 " children, more than 128",
                field->name, n);
    }
    free(field->union_ids);
    field->union_ids = malloc(sizeof *field->union_ids);
    if (field->union_ids == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while building a schema");
    }
    memset(field->union_ids, -1, sizeof *field->union_ids);
    for (int32_t i = 0; i < n; i++) {
        int8_t id = ids == NULL ? (int8_t)i : ids[i];
        if (id < 0 || field->union_ids->child_of[id] >= 0) {
            OC_FAIL(err, OC_EDATA, "union \"%.80s\" has type id %d%s", field->name, id,
                    id < 0 ? ", which is negative" : " twice");
        }
        field->union_ids->child_of[id] = (int8_t)i;
        field->union_ids->of_child[i] = id;
    }
    return OC_OK;
}

int32_t oci_field_child_count(const oci_field *field)
{
    switch (oci_field_layout(field)) {
    case OCI_LAYOUT_LIST32:
    case OCI_LAYOUT_LIST64:
    case OCI_LAYOUT_LIST_VIEW32:
    case OCI_LAYOUT_LIST_VIEW64:
    case OCI_LAYOUT_FIXED_LIST: return 1;
    case OCI_LAYOUT_RUN_ENDS: return 2;
    case OCI_LAYOUT_STRUCT: return -1;
    case OCI_LAYOUT_SPARSE_UNION:
    case OCI_LAYOUT_DENSE_UNION: {
        const int8_t *child_of = field->union_ids->child_of;
        int32_t n = 0;
        for (size_t id = 0; id < sizeof field->union_ids->child_of; id++) {
            n += child_of[id] >= 0;
        }
        return n;
    }
    default: return 0;
    }
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

bool oci_field_same_type(const oci_field *a, const oci_field *b)
{
    if (a->type != b->type || a->n_children != b->n_children) {
        return false;
    }
    for (int32_t i = 0; i < a->n_children; i++) {
        if (!oci_field_same_type(&a->children[i], &b->children[i])) {
            return false;
        }
    }
    switch (a->type) {
    case OCI_TYPE_DECIMAL32:
    case OCI_TYPE_DECIMAL64:
    case OCI_TYPE_DECIMAL128:
    case OCI_TYPE_DECIMAL256: return a->precision == b->precision && a->scale == b->scale;
    case OCI_TYPE_FIXED_BINARY: return a->byte_width == b->byte_width;
    case OCI_TYPE_TIME32:
    case OCI_TYPE_TIME64:
    case OCI_TYPE_DURATION: return a->unit == b->unit;
    case OCI_TYPE_TIMESTAMP: return a->unit == b->unit && same_text(a->timezone, b->timezone);
    case OCI_TYPE_DICTIONARY:
        return a->index_type == b->index_type && a->dictionary_ordered == b->dictionary_ordered &&
               oci_field_same_type(a->dictionary, b->dictionary);
    case OCI_TYPE_FIXED_LIST: return a->list_size == b->list_size;
    case OCI_TYPE_MAP: return a->keys_sorted == b->keys_sorted;
    case OCI_TYPE_DENSE_UNION:
    case OCI_TYPE_SPARSE_UNION:
        return memcmp(a->union_ids, b->union_ids, sizeof *a->union_ids) == 0;
    default: return true;
    }
}

/* ---- schemas --------------------------------------------------------------------------------- */

static void free_fields(oci_field *fields, int32_t n_fields)
{
    for (int32_t i = 0; i < n_fields; i++) {
        oci_field_deinit(&fields[i]);
    }
    free(fields);
}

oc_status oci_schema_create(oci_field *fields, int32_t n_fields, char *metadata,
                            int64_t metadata_bytes, oci_schema **out, oc_error *err)
{
    *out = NULL;
    oci_schema *schema = calloc(1, sizeof *schema);
    if (schema == NULL) {
        free_fields(fields, n_fields);
        free(metadata);
        OC_FAIL(err, OC_ENOMEM, "out of memory while building a schema");
    }
    schema->n_fields = n_fields;
    schema->fields = fields;
    schema->metadata = metadata;
    schema->metadata_bytes = metadata_bytes;
    atomic_init(&schema->references, 1);
    *out = schema;
    return OC_OK;
}

oci_schema *oci_schema_retain(oci_schema *schema)
{
    atomic_fetch_add_explicit(&schema->references, 1, memory_order_relaxed);
    return schema;
}

void oci_schema_release(oci_schema *schema)
{
    if (schema == NULL) {
        return;
    }
    int32_t before = atomic_fetch_sub_explicit(&schema->references, 1, memory_order_acq_rel);
    assert(before > 0);
    if (before == 1) {
        free_fields(schema->fields, schema->n_fields);
        free(schema->metadata);
        free(schema);
    }
}

oc_status oci_schema_select(const oci_schema *schema, const int32_t *indices, int32_t n,
                            oci_schema **out, oc_error *err)
{
    *out = NULL;
    /* One more than needed: calloc of nothing may give NULL. */
    oci_field *fields = calloc((size_t)n + 1, sizeof *fields);
    char *metadata = NULL;
    int32_t n_copied = 0;
    oc_status status = OC_OK;
    if (fields == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while building a schema");
    }
    for (; n_copied < n; n_copied++) {
        int32_t index = indices[n_copied];
        if (index < 0 || index >= schema->n_fields) {
            status = OC_SET(err, OC_EINVAL,
                            "column index %" PRId32 " is out of range: there are %" PRId32
                            " columns",
                            index, schema->n_fields);
            goto failed;
        }
        status = oci_field_copy(&schema->fields[index], &fields[n_copied], err);
        if (status != OC_OK) {
            goto failed;
        }
    }
    if (schema->metadata != NULL) {
        status = copy_bytes(schema->metadata, schema->metadata_bytes, &metadata, err);
        if (status != OC_OK) {
            goto failed;
        }
    }
    return oci_schema_create(fields, n, metadata, schema->metadata_bytes, out, err);
failed:
    free_fields(fields, n_copied);
    return status;
}

static int32_t count_dictionaries(const oci_field *field)
{
    int32_t n = 0;
    if (field->dictionary != NULL) {
        n += 1 + count_dictionaries(field->dictionary);
    }
    for (int32_t i = 0; i < field->n_children; i++) {
        n += count_dictionaries(&field->children[i]);
    }
    return n;
}

int32_t oci_schema_dictionaries(const oci_schema *schema)
{
    int32_t n = 0;
    for (int32_t i = 0; i < schema->n_fields; i++) {
        n += count_dictionaries(&schema->fields[i]);
    }
    return n;
}

/* ---- working form ---------------------------------------------------------------------------- */

static bool is_working(const oci_field *field)
{
    switch (oci_field_layout(field)) {
    case OCI_LAYOUT_VIEWS:
    case OCI_LAYOUT_LIST_VIEW32:
    case OCI_LAYOUT_LIST_VIEW64:
    case OCI_LAYOUT_RUN_ENDS: return false;
    default: break;
    }
    for (int32_t i = 0; i < field->n_children; i++) {
        if (!is_working(&field->children[i])) {
            return false;
        }
    }
    return field->dictionary == NULL || is_working(field->dictionary);
}

/* A run-end encoded field becomes the field of its values; its own labels stay. */
static void take_place_of_runs(oci_field *field)
{
    oci_field *children = field->children;
    oci_field values = children[1];
    free(values.name);
    free(values.metadata);
    values.name = field->name;
    values.metadata = field->metadata;
    values.metadata_bytes = field->metadata_bytes;
    values.nullable = field->nullable;
    oci_field_deinit(&children[0]);
    free(children);
    *field = values;
}

static void make_working(oci_field *field)
{
    if (field->type == OCI_TYPE_RUN_END_ENCODED) {
        make_working(&field->children[1]);
        take_place_of_runs(field);
        return;
    }
    switch (field->type) {
    case OCI_TYPE_UTF8_VIEW: field->type = OCI_TYPE_UTF8; break;
    case OCI_TYPE_BINARY_VIEW: field->type = OCI_TYPE_BINARY; break;
    case OCI_TYPE_LIST_VIEW: field->type = OCI_TYPE_LIST; break;
    case OCI_TYPE_LARGE_LIST_VIEW: field->type = OCI_TYPE_LARGE_LIST; break;
    default: break;
    }
    for (int32_t i = 0; i < field->n_children; i++) {
        make_working(&field->children[i]);
    }
    if (field->dictionary != NULL) {
        make_working(field->dictionary);
    }
}

oc_status oci_schema_working(oci_schema *schema, oci_schema **out, oc_error *err)
{
    bool working = true;
    for (int32_t i = 0; i < schema->n_fields; i++) {
        working = working && is_working(&schema->fields[i]);
    }
    if (working) {
        *out = oci_schema_retain(schema);
        return OC_OK;
    }
    *out = NULL;
    int32_t *all = malloc((size_t)schema->n_fields * sizeof *all);
    if (all == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while building a schema");
    }
    for (int32_t i = 0; i < schema->n_fields; i++) {
        all[i] = i;
    }
    oc_status status = oci_schema_select(schema, all, schema->n_fields, out, err);
    free(all);
    if (status == OC_OK) {
        /* Still ours alone, so changing it is not seen by anybody. */
        for (int32_t i = 0; i < schema->n_fields; i++) {
            make_working(&(*out)->fields[i]);
        }
    }
    return status;
}

/* ---- look-up by name ------------------------------------------------------------------------- */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same_name_any_case(const char *a, const char *b)
{
    while (*a != 0 && lower(*a) == lower(*b)) {
        a++;
        b++;
    }
    return lower(*a) == lower(*b);
}

static bool contains_any_case(const char *text, const char *part)
{
    for (; *text != 0; text++) {
        size_t i = 0;
        while (part[i] != 0 && lower(text[i]) == lower(part[i])) {
            i++;
        }
        if (part[i] == 0) {
            return true;
        }
    }
    return false;
}

/* Names are compared as far as this when looking for near ones. */
#define NEAR_BYTES_MAX 64

/* How many letters must be put in, taken out or changed to make `b` of `a`, whatever their case. */
static int edit_distance(const char *a, const char *b)
{
    int a_length = (int)strnlen(a, NEAR_BYTES_MAX);
    int b_length = (int)strnlen(b, NEAR_BYTES_MAX);
    int row[NEAR_BYTES_MAX + 1];
    for (int j = 0; j <= b_length; j++) {
        row[j] = j;
    }
    for (int i = 1; i <= a_length; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= b_length; j++) {
            int change = diagonal + (lower(a[i - 1]) != lower(b[j - 1]));
            int shorter = row[j] < row[j - 1] ? row[j] : row[j - 1];
            diagonal = row[j];
            row[j] = change < shorter + 1 ? change : shorter + 1;
        }
    }
    return row[b_length];
}

/* Small when `name` is probably a misspelt `candidate`; a part of a longer name counts as near
 * ("price" for "l_extendedprice"). INT32_MAX when they have nothing to do with each other. */
static int32_t name_distance(const char *name, const char *candidate)
{
    int32_t bound = (int32_t)(strnlen(name, NEAR_BYTES_MAX) / 3);
    int32_t distance = edit_distance(name, candidate);
    bound = bound < 1 ? 1 : bound;
    if (distance <= bound) {
        return distance;
    }
    return strlen(name) >= 3 && contains_any_case(candidate, name) ? bound + 1 : INT32_MAX;
}

static void append_name(char *text, size_t size, const char *name)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s\"%.80s\"", used > 0 ? ", " : "", name);
}

/* The nearest names first, at most three; false when none is near. */
static bool list_near_names(const oci_schema *schema, const char *name, char *text, size_t size)
{
    int32_t best[3] = {-1, -1, -1};
    int32_t distances[3] = {INT32_MAX, INT32_MAX, INT32_MAX};
    for (int32_t i = 0; i < schema->n_fields; i++) {
        int32_t distance = name_distance(name, schema->fields[i].name);
        int32_t at = 3;
        while (at > 0 && distance < distances[at - 1]) {
            at--;
        }
        for (int32_t k = 2; k > at; k--) {
            best[k] = best[k - 1];
            distances[k] = distances[k - 1];
        }
        if (at < 3) {
            best[at] = i;
            distances[at] = distance;
        }
    }
    text[0] = 0;
    for (int k = 0; k < 3 && best[k] >= 0; k++) {
        append_name(text, size, schema->fields[best[k]].name);
    }
    return best[0] >= 0;
}

static oc_status fail_not_found(const oci_schema *schema, const char *name, oc_error *err)
{
    char names[800];
    if (list_near_names(schema, name, names, sizeof names)) {
        OC_FAIL(err, OC_EINVAL, "there is no column \"%.80s\"; near names: %s", name, names);
    }
    if (schema->n_fields == 0) {
        OC_FAIL(err, OC_EINVAL, "there is no column \"%.80s\": the input has no columns", name);
    }
    int32_t n_listed = schema->n_fields < 8 ? schema->n_fields : 8;
    names[0] = 0;
    for (int32_t i = 0; i < n_listed; i++) {
        append_name(names, sizeof names, schema->fields[i].name);
    }
    OC_FAIL(err, OC_EINVAL, "there is no column \"%.80s\"; the columns are %s%s", name, names,
            n_listed < schema->n_fields ? ", ..." : "");
}

oc_status oci_schema_find(const oci_schema *schema, const char *name, int32_t *out, oc_error *err)
{
    int32_t n_exact = 0, n_similar = 0, exact = -1, similar = -1;
    for (int32_t i = 0; i < schema->n_fields; i++) {
        if (strcmp(schema->fields[i].name, name) == 0) {
            n_exact++;
            exact = i;
        } else if (same_name_any_case(schema->fields[i].name, name)) {
            n_similar++;
            similar = i;
        }
    }
    if (n_exact > 1) {
        OC_FAIL(err, OC_EINVAL, "column \"%.80s\" is ambiguous: %" PRId32 " columns have this name",
                name, n_exact);
    }
    if (n_exact == 0 && n_similar > 1) {
        OC_FAIL(err, OC_EINVAL,
                "column \"%.80s\" is ambiguous: %" PRId32
                " columns have this name in other case; write it exactly",
                name, n_similar);
    }
    if (n_exact == 0 && n_similar == 0) {
        return fail_not_found(schema, name, err);
    }
    *out = n_exact == 1 ? exact : similar;
    return OC_OK;
}
