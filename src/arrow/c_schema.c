/* Schemas in and out of the Arrow C data interface.
 *
 *   ArrowSchema "+s" ──> check every node ──> oci_field tree per column ──> oci_schema  (import)
 *   oci_schema ──> one private node per ArrowSchema, its texts owned by the node        (export)
 *
 * What comes in was made by somebody else: names may be NULL, counts negative, children missing or
 * released, format strings nonsense. Nothing of it is believed before it is checked, as far as
 * a pointer can be checked at all. A damaged schema may be its own child: depth and the number of
 * fields are limited before anything recurses. Import only reads and copies; the caller still
 * releases.
 *
 * On export every node owns what it points to, so that a consumer may move children out of their
 * parent and release them on their own, as the interface allows.
 *
 * All of it comes from malloc and is bounded by the number of fields, never by rows. */
#include "arrow/schema.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More columns, and fields of all levels, than anybody has; a larger count comes from a damaged
 * struct. */
#define COLUMNS_MAX 1000000

#define LABEL_BYTES 160

/* Type ids are 0..127. */
#define UNION_CHILDREN_MAX 128

typedef struct format_row {
    const char *format;
    oci_type type;
    oci_time_unit unit;
} format_row;

/* Formats without free parameters. */
static const format_row format_table[] = {
    {"n", OCI_TYPE_NULL, 0},
    {"b", OCI_TYPE_BOOL, 0},
    {"c", OCI_TYPE_INT8, 0},
    {"C", OCI_TYPE_UINT8, 0},
    {"s", OCI_TYPE_INT16, 0},
    {"S", OCI_TYPE_UINT16, 0},
    {"i", OCI_TYPE_INT32, 0},
    {"I", OCI_TYPE_UINT32, 0},
    {"l", OCI_TYPE_INT64, 0},
    {"L", OCI_TYPE_UINT64, 0},
    {"e", OCI_TYPE_FLOAT16, 0},
    {"f", OCI_TYPE_FLOAT32, 0},
    {"g", OCI_TYPE_FLOAT64, 0},
    {"z", OCI_TYPE_BINARY, 0},
    {"Z", OCI_TYPE_LARGE_BINARY, 0},
    {"vz", OCI_TYPE_BINARY_VIEW, 0},
    {"u", OCI_TYPE_UTF8, 0},
    {"U", OCI_TYPE_LARGE_UTF8, 0},
    {"vu", OCI_TYPE_UTF8_VIEW, 0},
    {"tdD", OCI_TYPE_DATE32, 0},
    {"tdm", OCI_TYPE_DATE64, 0},
    {"tts", OCI_TYPE_TIME32, OCI_SECOND},
    {"ttm", OCI_TYPE_TIME32, OCI_MILLI},
    {"ttu", OCI_TYPE_TIME64, OCI_MICRO},
    {"ttn", OCI_TYPE_TIME64, OCI_NANO},
    {"tDs", OCI_TYPE_DURATION, OCI_SECOND},
    {"tDm", OCI_TYPE_DURATION, OCI_MILLI},
    {"tDu", OCI_TYPE_DURATION, OCI_MICRO},
    {"tDn", OCI_TYPE_DURATION, OCI_NANO},
    {"tiM", OCI_TYPE_INTERVAL_MONTHS, 0},
    {"tiD", OCI_TYPE_INTERVAL_DAY_TIME, 0},
    {"tin", OCI_TYPE_INTERVAL_MONTH_DAY_NANO, 0},
    {"+l", OCI_TYPE_LIST, 0},
    {"+L", OCI_TYPE_LARGE_LIST, 0},
    {"+vl", OCI_TYPE_LIST_VIEW, 0},
    {"+vL", OCI_TYPE_LARGE_LIST_VIEW, 0},
    {"+s", OCI_TYPE_STRUCT, 0},
    {"+m", OCI_TYPE_MAP, 0},
    {"+r", OCI_TYPE_RUN_END_ENCODED, 0},
};

static const char unit_letters[] = "smun";

/* ---- import: format strings ------------------------------------------------------------------ */

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* An int32 in decimal, sign allowed, that must be followed by `end`. Moves *text behind it. */
static bool parse_int(const char **text, char end, int32_t *out)
{
    const char *p = *text;
    bool negative = *p == '-';
    int64_t value = 0;
    p += negative;
    if (*p < '0' || *p > '9') {
        return false;
    }
    for (; *p >= '0' && *p <= '9'; p++) {
        value = value * 10 + (*p - '0');
        if (value > INT32_MAX) {
            return false;
        }
    }
    if (*p != end) {
        return false;
    }
    *out = (int32_t)(negative ? -value : value);
    *text = end == 0 ? p : p + 1;
    return true;
}

static oc_status fail_format(const char *label, const char *format, oc_error *err)
{
    OC_FAIL(err, OC_EDATA, "%s has format \"%.100s\", which is not an Arrow type", label, format);
}

/* "d:precision,scale" or "d:precision,scale,bits"; 128 bits when they are not given. */
static oc_status parse_decimal(oci_field *field, const char *label, const char *format,
                               oc_error *err)
{
    const char *p = format + 2;
    int32_t bits = 128;
    if (!parse_int(&p, ',', &field->precision)) {
        return fail_format(label, format, err);
    }
    bool has_bits = strchr(p, ',') != NULL;
    if (!parse_int(&p, has_bits ? ',' : 0, &field->scale) ||
        (has_bits && !parse_int(&p, 0, &bits))) {
        return fail_format(label, format, err);
    }
    int32_t digits_max = 0;
    if (!oci_decimal_of_bits(bits, &field->type, &digits_max)) {
        OC_FAIL(err, OC_EDATA, "%s is a decimal of %" PRId32 " bits; Arrow has 32, 64, 128 and 256",
                label, bits);
    }
    if (field->precision < 1 || field->precision > digits_max) {
        OC_FAIL(err, OC_EDATA,
                "%s is a decimal of %" PRId32 " bits with precision %" PRId32
                "; it must be between 1 and %" PRId32,
                label, bits, field->precision, digits_max);
    }
    if (field->scale < -digits_max || field->scale > digits_max) {
        OC_FAIL(err, OC_EDATA,
                "%s is a decimal of %" PRId32 " bits with scale %" PRId32
                "; it must be between %" PRId32 " and %" PRId32,
                label, bits, field->scale, -digits_max, digits_max);
    }
    return OC_OK;
}

/* "tsu:UTC": unit, colon, timezone (may be empty). */
static oc_status parse_timestamp(oci_field *field, const char *label, const char *format,
                                 oc_error *err)
{
    const char *unit = format[2] != 0 ? strchr(unit_letters, format[2]) : NULL;
    if (unit == NULL || format[3] != ':') {
        return fail_format(label, format, err);
    }
    field->type = OCI_TYPE_TIMESTAMP;
    field->unit = (oci_time_unit)(unit - unit_letters);
    if (format[4] != 0) {
        field->timezone = strdup(format + 4);
        if (field->timezone == NULL) {
            OC_FAIL(err, OC_ENOMEM, "out of memory while reading a schema");
        }
    }
    return OC_OK;
}

/* "+ud:0,5": type ids, none at all for a union without children. */
static oc_status parse_union(oci_field *field, const char *label, const char *format, oc_error *err)
{
    const char *p = format + 4;
    int8_t ids[UNION_CHILDREN_MAX];
    int32_t n = 0;
    field->type = format[2] == 'd' ? OCI_TYPE_DENSE_UNION : OCI_TYPE_SPARSE_UNION;
    for (bool more = *p != 0; more; n++) {
        int32_t id;
        more = strchr(p, ',') != NULL;
        if (n == UNION_CHILDREN_MAX || !parse_int(&p, more ? ',' : 0, &id) || id < 0 || id > 127) {
            return fail_format(label, format, err);
        }
        ids[n] = (int8_t)id;
    }
    oc_status status = oci_field_set_union_ids(field, ids, n, err);
    if (status != OC_OK) {
        oci_error_prefix(err, "%s has format \"%.100s\"", label, format);
        return status;
    }
    return OC_OK;
}

static oc_status parse_format(oci_field *field, const char *label, const char *format,
                              oc_error *err)
{
    for (size_t i = 0; i < sizeof format_table / sizeof format_table[0]; i++) {
        if (strcmp(format, format_table[i].format) == 0) {
            field->type = format_table[i].type;
            field->unit = format_table[i].unit;
            return OC_OK;
        }
    }
    if (starts_with(format, "d:")) {
        return parse_decimal(field, label, format, err);
    }
    if (starts_with(format, "ts")) {
        return parse_timestamp(field, label, format, err);
    }
    if (starts_with(format, "w:")) {
        const char *p = format + 2;
        field->type = OCI_TYPE_FIXED_BINARY;
        if (!parse_int(&p, 0, &field->byte_width) || field->byte_width < 0) {
            return fail_format(label, format, err);
        }
        return OC_OK;
    }
    if (starts_with(format, "+w:")) {
        const char *p = format + 3;
        field->type = OCI_TYPE_FIXED_LIST;
        if (!parse_int(&p, 0, &field->list_size) || field->list_size < 0) {
            return fail_format(label, format, err);
        }
        return OC_OK;
    }
    if (starts_with(format, "+ud:") || starts_with(format, "+us:")) {
        return parse_union(field, label, format, err);
    }
    return fail_format(label, format, err);
}

/* ---- import: metadata, fields, schema -------------------------------------------------------- */

static bool read_metadata_int(const char *metadata, int64_t at, int32_t *out)
{
    memcpy(out, metadata + at, sizeof *out);
    return *out >= 0;
}

/* Metadata has no length of its own: int32 count, then per pair int32 size + key, int32 size +
 * value. Walks it to find the end; 2 GiB is the most that is believed. */
static oc_status copy_metadata(const char *in, const char *label, char **out, int64_t *out_bytes,
                               oc_error *err)
{
    if (in == NULL) {
        return OC_OK;
    }
    int32_t n_pairs = 0, size = 0;
    int64_t bytes = 4;
    bool sane = read_metadata_int(in, 0, &n_pairs);
    for (int64_t i = 0; sane && i < 2 * (int64_t)n_pairs; i++) {
        sane = read_metadata_int(in, bytes, &size);
        bytes += 4 + (int64_t)size;
        sane = sane && bytes <= INT32_MAX;
    }
    if (!sane) {
        OC_FAIL(err, OC_EDATA, "%s has damaged metadata: a negative or impossible size", label);
    }
    *out = malloc((size_t)bytes);
    if (*out == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while reading a schema");
    }
    memcpy(*out, in, (size_t)bytes);
    *out_bytes = bytes;
    return OC_OK;
}

static bool is_integer(oci_type type)
{
    return type >= OCI_TYPE_INT8 && type <= OCI_TYPE_UINT64;
}

/* Where the walk is. */
typedef struct field_place {
    const char *label; /* for messages: column "a", child "b" */
    int32_t depth;     /* nested types above */
    int64_t *n_fields; /* of the whole schema so far */
} field_place;

static oc_status import_field(const struct ArrowSchema *in, field_place place, oci_field *field,
                              oc_error *err);

/* Before going down from a field at `place`: how deep is it already? */
static oc_status check_depth(const field_place *place, oc_error *err)
{
    if (place->depth >= OCI_NESTING_MAX) {
        OC_FAIL(err, OC_EUNSUPPORTED, "%s is nested deeper than %d levels", place->label,
                OCI_NESTING_MAX);
    }
    return OC_OK;
}

/* The format that was read is that of the indices; what `in->dictionary` says are the values. */
static oc_status import_dictionary(const struct ArrowSchema *in, field_place place,
                                   oci_field *field, oc_error *err)
{
    if (!is_integer(field->type)) {
        OC_FAIL(err, OC_EDATA, "%s is a dictionary whose indices are %s; they must be integers",
                place.label, oci_type_name(field->type));
    }
    if (in->dictionary->dictionary != NULL) {
        /* No Arrow file could hold it, so neither could a spill file. */
        OC_FAIL(err, OC_EUNSUPPORTED,
                "%s is a dictionary of dictionaries, which is not supported; decode it first",
                place.label);
    }
    OC_TRY(check_depth(&place, err));
    field->index_type = field->type;
    field->type = OCI_TYPE_DICTIONARY;
    field->dictionary_ordered = (in->flags & ARROW_FLAG_DICTIONARY_ORDERED) != 0;
    field->dictionary = calloc(1, sizeof *field->dictionary);
    if (field->dictionary == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while reading a schema");
    }
    place.depth++;
    OC_TRY(import_field(in->dictionary, place, field->dictionary, err));
    /* The name of the values says nothing; an empty one makes equal schemas compare equal. */
    field->dictionary->name[0] = 0;
    return OC_OK;
}

static oc_status check_child_count(const struct ArrowSchema *in, const char *label,
                                   const oci_field *field, oc_error *err)
{
    int32_t wanted = oci_field_child_count(field);
    if (in->n_children < 0 || in->n_children > COLUMNS_MAX ||
        (wanted >= 0 && in->n_children != wanted)) {
        char count[24] = "0 or more";
        if (wanted >= 0) {
            snprintf(count, sizeof count, "%" PRId32, wanted);
        }
        OC_FAIL(err, OC_EDATA, "%s has type %s and %" PRId64 " children; it must have %s", label,
                oci_type_name(field->type), in->n_children, count);
    }
    if (in->n_children > 0 && in->children == NULL) {
        OC_FAIL(err, OC_EDATA, "%s claims %" PRId64 " children and has none", label,
                in->n_children);
    }
    return OC_OK;
}

/* What the children of some types must be. Whether keys and run ends say that they may be null is
 * not looked at: producers are careless there, and it changes nothing. */
static oc_status check_child_types(const char *label, const oci_field *field, oc_error *err)
{
    if (field->n_children == 0) {
        return OC_OK;
    }
    const oci_field *first = &field->children[0];
    if (field->type == OCI_TYPE_MAP && (first->type != OCI_TYPE_STRUCT || first->n_children != 2)) {
        char text[100];
        oci_field_type_text(first, text, sizeof text);
        OC_FAIL(err, OC_EDATA,
                "%s is a map of %s; a map must be made of structs of two fields, key and value",
                label, text);
    }
    if (field->type == OCI_TYPE_RUN_END_ENCODED && first->type != OCI_TYPE_INT16 &&
        first->type != OCI_TYPE_INT32 && first->type != OCI_TYPE_INT64) {
        OC_FAIL(err, OC_EDATA,
                "%s is run-end encoded with run ends of type %s; they must be int16, int32 or "
                "int64",
                label, oci_type_name(first->type));
    }
    return OC_OK;
}

static oc_status import_child(const struct ArrowSchema *in, int32_t index, field_place parent,
                              oci_field *field, oc_error *err)
{
    char label[LABEL_BYTES];
    if (in != NULL && in->release != NULL && in->name != NULL && in->name[0] != 0) {
        snprintf(label, sizeof label, "%.100s, child \"%.40s\"", parent.label, in->name);
    } else {
        snprintf(label, sizeof label, "%.100s, child %" PRId32, parent.label, index);
    }
    if (in == NULL) {
        OC_FAIL(err, OC_EDATA, "the schema of %s is missing", label);
    }
    field_place place = {.label = label, .depth = parent.depth + 1, .n_fields = parent.n_fields};
    return import_field(in, place, field, err);
}

static oc_status import_children(const struct ArrowSchema *in, field_place place, oci_field *field,
                                 oc_error *err)
{
    OC_TRY(check_child_count(in, place.label, field, err));
    if (in->n_children == 0) {
        return OC_OK;
    }
    OC_TRY(check_depth(&place, err));
    field->children = calloc((size_t)in->n_children, sizeof *field->children);
    if (field->children == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while reading a schema");
    }
    for (int32_t i = 0; i < (int32_t)in->n_children; i++) {
        field->n_children++;
        OC_TRY(import_child(in->children[i], i, place, &field->children[i], err));
    }
    return check_child_types(place.label, field, err);
}

/* Fills `field`, which is zero at first and stays fit for deinit whatever happens. */
static oc_status import_field(const struct ArrowSchema *in, field_place place, oci_field *field,
                              oc_error *err)
{
    const char *label = place.label;
    if (in->release == NULL) {
        OC_FAIL(err, OC_EDATA, "the schema of %s has been released", label);
    }
    if (in->format == NULL) {
        OC_FAIL(err, OC_EDATA, "the schema of %s has no format string", label);
    }
    if (++*place.n_fields > COLUMNS_MAX) {
        OC_FAIL(err, OC_EDATA, "the schema of the input has more than %d fields", COLUMNS_MAX);
    }
    field->name = strdup(in->name != NULL ? in->name : "");
    if (field->name == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while reading a schema");
    }
    field->nullable = (in->flags & ARROW_FLAG_NULLABLE) != 0;
    OC_TRY(parse_format(field, label, in->format, err));
    field->keys_sorted = field->type == OCI_TYPE_MAP &&
                         (in->flags & ARROW_FLAG_MAP_KEYS_SORTED) != 0;
    OC_TRY(copy_metadata(in->metadata, label, &field->metadata, &field->metadata_bytes, err));
    OC_TRY(import_children(in, place, field, err));
    if (in->dictionary != NULL) {
        OC_TRY(import_dictionary(in, place, field, err));
    }
    oci_field_set_width(field);
    return OC_OK;
}

static oc_status check_top(const struct ArrowSchema *in, oc_error *err)
{
    if (in == NULL || in->release == NULL) {
        OC_FAIL(err, OC_EINVAL, "the schema of the input has been released");
    }
    if (in->format == NULL) {
        OC_FAIL(err, OC_EDATA, "the schema of the input has no format string");
    }
    if (strcmp(in->format, "+s") != 0 || in->dictionary != NULL) {
        OC_FAIL(err, OC_EINVAL,
                "the schema of the input has format \"%.100s\", not a plain struct (\"+s\"): "
                "only record batches can be read",
                in->format);
    }
    if (in->n_children < 0 || in->n_children > COLUMNS_MAX) {
        OC_FAIL(err, OC_EDATA,
                "the schema of the input claims %" PRId64 " columns; 0 to %d are possible",
                in->n_children, COLUMNS_MAX);
    }
    if (in->n_children > 0 && in->children == NULL) {
        OC_FAIL(err, OC_EDATA, "the schema of the input claims %" PRId64 " columns and has none",
                in->n_children);
    }
    return OC_OK;
}

static oc_status import_column_field(const struct ArrowSchema *in, int32_t index, int64_t *n_fields,
                                     oci_field *field, oc_error *err)
{
    char label[LABEL_BYTES];
    if (in != NULL && in->release != NULL && in->name != NULL && in->name[0] != 0) {
        snprintf(label, sizeof label, "column \"%.80s\"", in->name);
    } else {
        snprintf(label, sizeof label, "column %" PRId32, index);
    }
    if (in == NULL) {
        OC_FAIL(err, OC_EDATA, "the schema of %s is missing", label);
    }
    return import_field(in, (field_place){.label = label, .n_fields = n_fields}, field, err);
}

oc_status oci_schema_import(const struct ArrowSchema *in, oci_schema **out, oc_error *err)
{
    *out = NULL;
    OC_TRY(check_top(in, err));
    int32_t n_fields = (int32_t)in->n_children;
    char *metadata = NULL;
    int64_t metadata_bytes = 0, n_all = 0;
    oc_status status = OC_OK;
    oci_field *fields = calloc((size_t)n_fields + 1, sizeof *fields);
    if (fields == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while reading a schema");
    }
    for (int32_t i = 0; i < n_fields; i++) {
        OC_GOTO(import_column_field(in->children[i], i, &n_all, &fields[i], err));
    }
    OC_GOTO(copy_metadata(in->metadata, "the input", &metadata, &metadata_bytes, err));
    return oci_schema_create(fields, n_fields, metadata, metadata_bytes, out, err);
done:
    for (int32_t i = 0; i < n_fields; i++) {
        oci_field_deinit(&fields[i]);
    }
    free(fields);
    free(metadata);
    return status;
}

/* ---- export ---------------------------------------------------------------------------------- */

/* What an exported ArrowSchema owns. The structs of the children lie here too; a consumer that
 * moves a child out takes what that child's own node owns. */
typedef struct schema_node {
    char *format;
    char *name;
    char *metadata;
    struct ArrowSchema *children;
    struct ArrowSchema **child_pointers;
    struct ArrowSchema dictionary;
} schema_node;

static void free_node(schema_node *node)
{
    if (node != NULL) {
        free(node->format);
        free(node->name);
        free(node->metadata);
        free(node->children);
        free(node->child_pointers);
        free(node);
    }
}

static void release_schema(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (schema->children[i]->release != NULL) {
            schema->children[i]->release(schema->children[i]);
        }
    }
    if (schema->dictionary != NULL && schema->dictionary->release != NULL) {
        schema->dictionary->release(schema->dictionary);
    }
    free_node(schema->private_data);
    schema->private_data = NULL;
    schema->release = NULL;
}

/* Makes `out` a schema without children yet; it can be released from here on. */
static oc_status make_schema(struct ArrowSchema *out, const char *format, const char *name,
                             const char *metadata, int64_t metadata_bytes, int32_t n_children,
                             oc_error *err)
{
    *out = (struct ArrowSchema){0};
    schema_node *node = calloc(1, sizeof *node);
    if (node == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while handing out a schema");
    }
    node->format = strdup(format);
    node->name = strdup(name);
    node->metadata = metadata != NULL ? malloc((size_t)metadata_bytes) : NULL;
    node->children = calloc((size_t)n_children + 1, sizeof *node->children);
    node->child_pointers = calloc((size_t)n_children + 1, sizeof *node->child_pointers);
    if (node->format == NULL || node->name == NULL || (metadata != NULL && !node->metadata) ||
        node->children == NULL || node->child_pointers == NULL) {
        free_node(node);
        OC_FAIL(err, OC_ENOMEM, "out of memory while handing out a schema");
    }
    if (metadata != NULL) {
        memcpy(node->metadata, metadata, (size_t)metadata_bytes);
    }
    for (int32_t i = 0; i < n_children; i++) {
        node->child_pointers[i] = &node->children[i];
    }
    out->format = node->format;
    out->name = node->name;
    out->metadata = node->metadata;
    out->n_children = n_children;
    out->children = n_children > 0 ? node->child_pointers : NULL;
    out->private_data = node;
    out->release = release_schema;
    return OC_OK;
}

/* "+ud:" and the type ids of all children. */
static void write_union_format(const oci_field *field, char *buf, size_t size)
{
    int at = snprintf(buf, size, "+u%c:", field->type == OCI_TYPE_DENSE_UNION ? 'd' : 's');
    for (int32_t i = 0; i < field->n_children; i++) {
        at += snprintf(buf + at, size - (size_t)at, "%s%d", i > 0 ? "," : "",
                       field->union_ids->of_child[i]);
    }
}

/* Bytes that write_format needs at most: only timezones and type ids are of free length. */
static size_t format_bytes(const oci_field *field)
{
    return 64 + (field->timezone != NULL ? strlen(field->timezone) : 0) +
           (field->union_ids != NULL ? (size_t)field->n_children * sizeof "127," : 0);
}

/* The format of a type; a dictionary's is that of its indices. Left empty for a type that has none
 * here. */
static void write_format(const oci_field *field, char *buf, size_t size)
{
    oci_type type = field->type == OCI_TYPE_DICTIONARY ? field->index_type : field->type;
    switch (type) {
    case OCI_TYPE_DECIMAL128:
        snprintf(buf, size, "d:%" PRId32 ",%" PRId32, field->precision, field->scale);
        return;
    case OCI_TYPE_DECIMAL32:
    case OCI_TYPE_DECIMAL64:
    case OCI_TYPE_DECIMAL256:
        snprintf(buf, size, "d:%" PRId32 ",%" PRId32 ",%" PRId32, field->precision, field->scale,
                 field->byte_width * 8);
        return;
    case OCI_TYPE_FIXED_BINARY: snprintf(buf, size, "w:%" PRId32, field->byte_width); return;
    case OCI_TYPE_FIXED_LIST: snprintf(buf, size, "+w:%" PRId32, field->list_size); return;
    case OCI_TYPE_DENSE_UNION:
    case OCI_TYPE_SPARSE_UNION: write_union_format(field, buf, size); return;
    case OCI_TYPE_TIMESTAMP:
        snprintf(buf, size, "ts%c:%s", unit_letters[field->unit],
                 field->timezone != NULL ? field->timezone : "");
        return;
    default: break;
    }
    bool has_unit = type == OCI_TYPE_TIME32 || type == OCI_TYPE_TIME64 || type == OCI_TYPE_DURATION;
    buf[0] = 0;
    for (size_t i = 0; i < sizeof format_table / sizeof format_table[0]; i++) {
        if (format_table[i].type == type && (!has_unit || format_table[i].unit == field->unit)) {
            snprintf(buf, size, "%s", format_table[i].format);
            return;
        }
    }
}

static oc_status export_field(const oci_field *field, struct ArrowSchema *out, oc_error *err);

/* Children and dictionary of a schema that has everything else. */
static oc_status export_below(const oci_field *field, struct ArrowSchema *out, oc_error *err)
{
    for (int32_t i = 0; i < field->n_children; i++) {
        OC_TRY(export_field(&field->children[i], out->children[i], err));
    }
    if (field->dictionary != NULL) {
        struct ArrowSchema *values = &((schema_node *)out->private_data)->dictionary;
        OC_TRY(export_field(field->dictionary, values, err));
        out->dictionary = values;
    }
    return OC_OK;
}

static oc_status export_field(const oci_field *field, struct ArrowSchema *out, oc_error *err)
{
    size_t size = format_bytes(field);
    char *format = malloc(size);
    if (format == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while handing out a schema");
    }
    write_format(field, format, size);
    if (format[0] == 0) {
        free(format);
        OC_FAIL(err, OC_EUNSUPPORTED, "column \"%.80s\" of type %s cannot be handed out",
                field->name, oci_type_name(field->type));
    }
    oc_status status = make_schema(out, format, field->name, field->metadata, field->metadata_bytes,
                                   field->n_children, err);
    free(format);
    if (status != OC_OK) {
        return status;
    }
    out->flags = (field->nullable ? ARROW_FLAG_NULLABLE : 0) |
                 (field->dictionary_ordered ? ARROW_FLAG_DICTIONARY_ORDERED : 0) |
                 (field->keys_sorted ? ARROW_FLAG_MAP_KEYS_SORTED : 0);
    status = export_below(field, out, err);
    if (status != OC_OK) {
        out->release(out);
    }
    return status;
}

oc_status oci_schema_export(const oci_schema *schema, struct ArrowSchema *out, oc_error *err)
{
    OC_TRY(make_schema(out, "+s", "", schema->metadata, schema->metadata_bytes, schema->n_fields,
                       err));
    for (int32_t i = 0; i < schema->n_fields; i++) {
        oc_status status = export_field(&schema->fields[i], out->children[i], err);
        if (status != OC_OK) {
            out->release(out);
            return status;
        }
    }
    return OC_OK;
}
