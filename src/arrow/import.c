/* Arrays in: an ArrowArray becomes a batch without a copy.
 *
 *   struct array [offset P, length L]                    column i: offset C + P, length L
 *     └ child i  [offset C, length >= P + L]   ──────>   buffers as they are
 *          ├ dictionary [offset D]                       dictionary column: offset D, whole
 *          └ child [offset E]                            child column: offset E, from its first row
 *                                                        to the last that its parent refers to
 *
 * Two walks. The first checks the shape of every array (counts, lengths, presence) and adds up
 * the little memory that columns need besides the array itself: columns of dictionaries and
 * children, and the tables of view buffers, which lie in one `extra` block. The second fills the
 * columns. Both recurse as deep as the schema, which has a limit. The array is moved into the batch
 * and released with it. The extra block, the columns and the batch come from malloc: some 150 bytes
 * a column and 16 for each view buffer, whatever the number of rows.
 *
 * Below a column without rows nothing is read at all: its children become empty as well.
 *
 * What is trusted: that a pointer points to as many bytes as lengths and formats say; nobody
 * could check that. What is not: everything else. Declared null counts are not used but counted
 * anew, since producers that slice tend to leave them stale, and 64 thousand bits count in a few
 * microseconds. Values are checked by oci_batch_validate. */
#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/batch.h"
#include "arrow/c_data.h"
#include "base/bits.h"

/* ---- first walk: shape ----------------------------------------------------------------------- */

/* Lengths and offsets that fit int64 together, with room for the one offset more that strings have
 * and for the widest value. */
static oc_status check_range(const struct ArrowArray *array, const oci_field *field, int64_t start,
                             int64_t length, oc_error *err)
{
    if (array->length < 0 || array->offset < 0 || array->null_count < -1 ||
        array->null_count > array->length) {
        OC_FAIL(err, OC_EDATA,
                "column \"%.80s\" has a damaged array: length %" PRId64 ", offset %" PRId64
                ", null count %" PRId64,
                field->name, array->length, array->offset, array->null_count);
    }
    if (array->length - start < length) {
        OC_FAIL(err, OC_EDATA,
                "column \"%.80s\" is too short: it has %" PRId64 " rows, the batch needs %" PRId64
                " from row %" PRId64 " on",
                field->name, array->length, length, start);
    }
    int64_t end, bytes, width = oci_max64(field->byte_width, 16);
    if (!oci_add64(array->offset, array->length, &end) || !oci_add64(end, 1, &end) ||
        !oci_mul64(end, width, &bytes)) {
        OC_FAIL(err, OC_EDATA,
                "column \"%.80s\" has an impossible array: offset %" PRId64 " and length %" PRId64
                " pass what memory can hold",
                field->name, array->offset, array->length);
    }
    return OC_OK;
}

/* How many buffers the array of a layout has. Early versions of Arrow gave a validity buffer also to
 * null arrays and to unions: one more at the front. */
static void buffer_counts(oci_layout layout, int64_t *fewest, int64_t *most)
{
    switch (layout) {
    case OCI_LAYOUT_NULL:
        *fewest = 0;
        *most = 1;
        return;
    case OCI_LAYOUT_SPARSE_UNION:
        *fewest = 1;
        *most = 2;
        return;
    case OCI_LAYOUT_DENSE_UNION:
        *fewest = 2;
        *most = 3;
        return;
    case OCI_LAYOUT_VIEWS:
        *fewest = 3; /* validity, views, sizes; the byte buffers lie in between */
        *most = INT32_MAX;
        return;
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64:
    case OCI_LAYOUT_LIST_VIEW32:
    case OCI_LAYOUT_LIST_VIEW64: *fewest = *most = 3; return;
    case OCI_LAYOUT_FIXED_LIST:
    case OCI_LAYOUT_STRUCT: *fewest = *most = 1; return;
    case OCI_LAYOUT_RUN_ENDS: *fewest = *most = 0; return;
    default: *fewest = *most = 2; return;
    }
}

static oc_status check_buffer_count(const struct ArrowArray *array, const oci_field *field,
                                    int64_t length, oc_error *err)
{
    int64_t fewest, most;
    buffer_counts(oci_field_layout(field), &fewest, &most);
    if (array->n_buffers < fewest || array->n_buffers > most) {
        OC_FAIL(err, OC_EDATA,
                "column \"%.80s\" of type %s has %" PRId64 " buffers; it must have %s%" PRId64,
                field->name, oci_type_name(field->type), array->n_buffers,
                fewest < most ? "at least " : "", fewest);
    }
    if (array->n_buffers > 0 && array->buffers == NULL && length > 0) {
        OC_FAIL(err, OC_EDATA, "column \"%.80s\" claims %" PRId64 " buffers and has none",
                field->name, array->n_buffers);
    }
    return OC_OK;
}

static oc_status check_column(const struct ArrowArray *array, const oci_field *field, int64_t start,
                              int64_t length, int64_t *extra_bytes, oc_error *err);

/* Deep down the cause matters more than the way there: a message that is longer gets no more names
 * in front. */
#define PREFIXED_BYTES_MAX 400

oc_status oci_in_child_of(const oci_field *parent, oc_status status, oc_error *err)
{
    if (status != OC_OK && err != NULL && strlen(err->message) < PREFIXED_BYTES_MAX) {
        oci_error_prefix(err, "child of column \"%.80s\"", parent->name);
    }
    return status;
}

/* Each child on its own; how many rows of it are needed is seen in the second walk. */
static oc_status check_children(const struct ArrowArray *array, const oci_field *field,
                                int64_t *extra_bytes, oc_error *err)
{
    if (array->n_children != field->n_children) {
        OC_FAIL(err, OC_EDATA, "column \"%.80s\" of type %s has %" PRId64 " children, not %" PRId32,
                field->name, oci_type_name(field->type), array->n_children, field->n_children);
    }
    if (field->n_children > 0 && array->children == NULL) {
        OC_FAIL(err, OC_EDATA, "column \"%.80s\" claims %" PRId64 " children and has none",
                field->name, array->n_children);
    }
    *extra_bytes += field->n_children * (int64_t)sizeof(oci_column);
    for (int32_t i = 0; i < field->n_children; i++) {
        const struct ArrowArray *child = array->children[i];
        OC_TRY(oci_in_child_of(field,
                               check_column(child, &field->children[i], 0,
                                            child != NULL ? child->length : 0, extra_bytes, err),
                               err));
    }
    return OC_OK;
}

/* Checks one column and adds what it needs of the extra block. */
static oc_status check_column(const struct ArrowArray *array, const oci_field *field, int64_t start,
                              int64_t length, int64_t *extra_bytes, oc_error *err)
{
    if (array == NULL || array->release == NULL) {
        OC_FAIL(err, OC_EDATA, "column \"%.80s\" is missing or has been released", field->name);
    }
    OC_TRY(check_range(array, field, start, length, err));
    OC_TRY(check_buffer_count(array, field, length, err));
    OC_TRY(check_children(array, field, extra_bytes, err));
    if ((array->dictionary != NULL) != (field->dictionary != NULL)) {
        OC_FAIL(err, OC_EDATA, "column \"%.80s\" of type %s %s", field->name,
                oci_type_name(field->type),
                field->dictionary != NULL ? "has no dictionary" : "has a dictionary");
    }
    if (oci_field_layout(field) == OCI_LAYOUT_VIEWS) {
        *extra_bytes += (array->n_buffers - 3) * (int64_t)(sizeof(void *) + sizeof(int64_t));
    }
    if (field->dictionary == NULL) {
        return OC_OK;
    }
    *extra_bytes += (int64_t)sizeof(oci_column);
    oc_status status = check_column(array->dictionary, field->dictionary, 0,
                                    array->dictionary->length, extra_bytes, err);
    if (status != OC_OK) {
        oci_error_prefix(err, "dictionary of column \"%.80s\"", field->name);
    }
    return status;
}

static oc_status check_no_struct_nulls(const struct ArrowArray *array, oc_error *err)
{
    const uint8_t *validity = array->buffers != NULL ? array->buffers[0] : NULL;
    int64_t nulls = validity == NULL
                        ? (array->null_count > 0 ? array->null_count : 0)
                        : array->length - oci_bits_count(validity, array->offset, array->length);
    if (nulls > 0) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "the batch has %" PRId64 " rows that are null as a whole; only the columns of "
                "a record batch may have nulls",
                nulls);
    }
    return OC_OK;
}

static oc_status check_struct(const struct ArrowArray *array, const oci_schema *schema,
                              oc_error *err)
{
    int64_t end;
    if (array->length < 0 || array->offset < 0 || array->null_count < -1 ||
        array->null_count > array->length || !oci_add64(array->offset, array->length, &end)) {
        OC_FAIL(err, OC_EDATA,
                "the batch is damaged: length %" PRId64 ", offset %" PRId64 ", null count %" PRId64,
                array->length, array->offset, array->null_count);
    }
    if (array->n_children != schema->n_fields || (schema->n_fields > 0 && !array->children)) {
        OC_FAIL(err, OC_EDATA, "the batch has %" PRId64 " columns; its schema has %" PRId32,
                array->children != NULL ? array->n_children : 0, schema->n_fields);
    }
    bool has_buffers = array->buffers != NULL || array->length == 0;
    if (array->n_buffers != 1 || !has_buffers || array->dictionary != NULL) {
        OC_FAIL(err, OC_EDATA,
                "the batch is damaged: a struct array has 1 buffer and no dictionary, this one "
                "has %" PRId64 " buffers%s",
                has_buffers ? array->n_buffers : 0,
                array->dictionary != NULL ? " and a dictionary" : "");
    }
    return check_no_struct_nulls(array, err);
}

/* ---- second walk: columns -------------------------------------------------------------------- */

/* The first and the last offset of a column with rows. */
static oc_status offsets_at_ends(const oci_column *column, int64_t *first, int64_t *last,
                                 oc_error *err)
{
    oci_layout layout = oci_field_layout(column->field);
    if (layout == OCI_LAYOUT_OFFSETS32 || layout == OCI_LAYOUT_LIST32) {
        const uint8_t *at = column->values + column->offset * 4;
        int32_t ends[2];
        memcpy(&ends[0], at, 4);
        memcpy(&ends[1], at + column->length * 4, 4);
        *first = ends[0];
        *last = ends[1];
    } else {
        const uint8_t *at = column->values + column->offset * 8;
        memcpy(first, at, 8);
        memcpy(last, at + column->length * 8, 8);
    }
    if (*first < 0 || *last < *first) {
        OC_FAIL(err, OC_EDATA,
                "column \"%.80s\" has damaged offsets: the first is %" PRId64
                " and the last %" PRId64,
                column->field->name, *first, *last);
    }
    return OC_OK;
}

/* The offsets at both ends tell whether there must be bytes; those between are validate's. */
static oc_status take_bytes(const struct ArrowArray *array, oci_column *out, oc_error *err)
{
    int64_t first, last;
    OC_TRY(offsets_at_ends(out, &first, &last, err));
    if (array->buffers[2] == NULL && last > first) {
        OC_FAIL(err, OC_EDATA, "column \"%.80s\" has %" PRId64 " bytes of values and no buffer",
                out->field->name, last - first);
    }
    out->bytes = array->buffers[2] != NULL ? array->buffers[2] : oci_zeros;
    return OC_OK;
}

/* Copies the tables of buffers and sizes: the producer's need not be aligned. */
static oc_status take_view_buffers(const struct ArrowArray *array, oci_column *out, uint8_t **extra,
                                   oc_error *err)
{
    int32_t n = (int32_t)(array->n_buffers - 3);
    const uint8_t **buffers = (const uint8_t **)(void *)*extra;
    int64_t *sizes = (int64_t *)(void *)(*extra + (size_t)n * sizeof *buffers);
    *extra += (size_t)n * (sizeof *buffers + sizeof *sizes);
    if (n > 0 && array->buffers[n + 2] == NULL) {
        OC_FAIL(err, OC_EDATA, "column \"%.80s\" has %" PRId32 " view buffers without their sizes",
                out->field->name, n);
    }
    if (n > 0) {
        memcpy(sizes, array->buffers[n + 2], (size_t)n * sizeof *sizes);
    }
    for (int32_t i = 0; i < n; i++) {
        buffers[i] = array->buffers[i + 2];
        if (buffers[i] == NULL && sizes[i] > 0) {
            OC_FAIL(err, OC_EDATA,
                    "column \"%.80s\" lacks view buffer %" PRId32 " of %" PRId64 " bytes",
                    out->field->name, i, sizes[i]);
        }
    }
    out->view_buffers = buffers;
    out->view_sizes = sizes;
    out->n_view_buffers = n;
    return OC_OK;
}

static oc_status fill_column(const struct ArrowArray *array, const oci_field *field, int64_t start,
                             int64_t length, uint8_t **extra, oci_column *out, oc_error *err);

static oc_status take_dictionary(const struct ArrowArray *array, oci_column *out, uint8_t **extra,
                                 oc_error *err)
{
    oci_column *values = (oci_column *)(void *)*extra;
    *extra += sizeof *values;
    out->dictionary = values;
    oc_status status = fill_column(array->dictionary, out->field->dictionary, 0,
                                   array->dictionary->length, extra, values, err);
    if (status != OC_OK) {
        oci_error_prefix(err, "dictionary of column \"%.80s\"", out->field->name);
    }
    return status;
}

static oc_status take_validity(const struct ArrowArray *array, oci_column *out, oc_error *err)
{
    int64_t length = out->length;
    out->validity = array->buffers[0];
    if (out->validity == NULL && array->null_count > 0) {
        OC_FAIL(err, OC_EDATA, "column \"%.80s\" has %" PRId64 " nulls and no validity buffer",
                out->field->name, array->null_count);
    }
    if (out->validity != NULL) {
        out->null_count = length - oci_bits_count(out->validity, out->offset, length);
        if (out->null_count == 0) {
            out->validity = NULL;
        }
    }
    return OC_OK;
}

static oc_status take_values(const struct ArrowArray *array, oci_column *out, oc_error *err)
{
    out->values = array->buffers[1];
    bool empty_values = oci_field_layout(out->field) == OCI_LAYOUT_FIXED &&
                        out->field->byte_width == 0;
    if (out->values == NULL && empty_values) {
        out->values = oci_zeros;
    }
    if (out->values == NULL) {
        OC_FAIL(err, OC_EDATA, "column \"%.80s\" has %" PRId64 " rows and no buffer of values",
                out->field->name, out->length);
    }
    return OC_OK;
}

/* Type ids and rows of children; in front of them there may be a validity buffer of old times, in
 * which nothing may be null. */
static oc_status take_union_buffers(const struct ArrowArray *array, oci_column *out, oc_error *err)
{
    bool dense = oci_field_layout(out->field) == OCI_LAYOUT_DENSE_UNION;
    int64_t at = array->n_buffers - (dense ? 2 : 1);
    const uint8_t *validity = at > 0 ? array->buffers[0] : NULL;
    int64_t nulls = validity != NULL
                        ? out->length - oci_bits_count(validity, out->offset, out->length)
                        : oci_max64(array->null_count, 0);
    if (nulls > 0) {
        OC_FAIL(err, OC_EDATA,
                "column \"%.80s\" is a union with %" PRId64
                " nulls of its own; only its children may have nulls",
                out->field->name, nulls);
    }
    out->values = array->buffers[at];
    out->child_offsets = dense ? array->buffers[at + 1] : NULL;
    if (out->values == NULL || (dense && out->child_offsets == NULL)) {
        OC_FAIL(err, OC_EDATA, "column \"%.80s\" has %" PRId64 " rows and no buffer of %s",
                out->field->name, out->length, out->values == NULL ? "type ids" : "offsets");
    }
    return OC_OK;
}

/* What an array with rows has in its own buffers. */
static oc_status take_buffers(const struct ArrowArray *array, uint8_t **extra, oci_column *out,
                              oc_error *err)
{
    oci_layout layout = oci_field_layout(out->field);
    switch (layout) {
    case OCI_LAYOUT_RUN_ENDS: return OC_OK;
    case OCI_LAYOUT_SPARSE_UNION:
    case OCI_LAYOUT_DENSE_UNION: return take_union_buffers(array, out, err);
    default: break;
    }
    OC_TRY(take_validity(array, out, err));
    if (layout == OCI_LAYOUT_STRUCT || layout == OCI_LAYOUT_FIXED_LIST) {
        return OC_OK;
    }
    OC_TRY(take_values(array, out, err));
    switch (layout) {
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64: return take_bytes(array, out, err);
    case OCI_LAYOUT_VIEWS: return take_view_buffers(array, out, extra, err);
    case OCI_LAYOUT_LIST_VIEW32:
    case OCI_LAYOUT_LIST_VIEW64:
        out->sizes = array->buffers[2];
        if (out->sizes == NULL) {
            OC_FAIL(err, OC_EDATA, "column \"%.80s\" has %" PRId64 " rows and no buffer of sizes",
                    out->field->name, out->length);
        }
        return OC_OK;
    default: return OC_OK;
    }
}

/* ---- second walk: children ------------------------------------------------------------------- */

/* How many rows a child must have for what its parent refers to; all that it has where only
 * oci_batch_validate can tell. */
static oc_status needed_rows(const oci_column *column, const struct ArrowArray *child,
                             int64_t *needed, oc_error *err)
{
    int64_t first;
    *needed = column->length == 0 ? 0 : child->length;
    if (column->length == 0) {
        return OC_OK;
    }
    switch (oci_field_layout(column->field)) {
    case OCI_LAYOUT_LIST32:
    case OCI_LAYOUT_LIST64: return offsets_at_ends(column, &first, needed, err);
    case OCI_LAYOUT_STRUCT:
    case OCI_LAYOUT_SPARSE_UNION: *needed = column->offset + column->length; return OC_OK;
    case OCI_LAYOUT_FIXED_LIST:
        if (!oci_mul64(column->offset + column->length, column->field->list_size, needed)) {
            *needed = INT64_MAX;
        }
        return OC_OK;
    default: return OC_OK;
    }
}

/* The last end tells whether there are enough runs; that they ascend is validate's to see. */
static oc_status check_runs(const oci_column *column, oc_error *err)
{
    const oci_column *ends = &column->children[0];
    int64_t wanted = column->offset + column->length;
    if (column->length == 0) {
        return OC_OK;
    }
    if (oci_column_null_count(ends) > 0) {
        OC_FAIL(err, OC_EDATA, "column \"%.80s\" has %" PRId64 " run ends that are null",
                column->field->name, oci_column_null_count(ends));
    }
    if (column->children[1].length < ends->length) {
        OC_FAIL(err, OC_EDATA, "column \"%.80s\" has %" PRId64 " runs and %" PRId64 " values",
                column->field->name, ends->length, column->children[1].length);
    }
    int64_t last = ends->length > 0 ? oci_column_run_end(ends, ends->length - 1) : 0;
    if (last < wanted) {
        OC_FAIL(err, OC_EDATA,
                "column \"%.80s\" is too short: its runs end at row %" PRId64 ", it needs %" PRId64
                " rows",
                column->field->name, last, wanted);
    }
    return OC_OK;
}

static oc_status take_child(const struct ArrowArray *child, const oci_field *field,
                            const oci_column *parent, uint8_t **extra, oci_column *out,
                            oc_error *err)
{
    int64_t needed;
    OC_TRY(needed_rows(parent, child, &needed, err));
    if (needed > child->length) {
        OC_FAIL(err, OC_EDATA,
                "child \"%.80s\" of column \"%.80s\" is too short: it has %" PRId64
                " rows, its parent refers to %" PRId64,
                field->name, parent->field->name, child->length, needed);
    }
    return oci_in_child_of(parent->field, fill_column(child, field, 0, needed, extra, out, err),
                           err);
}

static oc_status take_children(const struct ArrowArray *array, uint8_t **extra, oci_column *out,
                               oc_error *err)
{
    const oci_field *field = out->field;
    oci_column *children = (oci_column *)(void *)*extra;
    *extra += (size_t)field->n_children * sizeof *children;
    for (int32_t i = 0; i < field->n_children; i++) {
        OC_TRY(take_child(array->children[i], &field->children[i], out, extra, &children[i], err));
    }
    out->children = children;
    return field->type == OCI_TYPE_RUN_END_ENCODED ? check_runs(out, err) : OC_OK;
}

static oc_status fill_column(const struct ArrowArray *array, const oci_field *field, int64_t start,
                             int64_t length, uint8_t **extra, oci_column *out, oc_error *err)
{
    *out = (oci_column){.field = field, .length = length, .offset = array->offset + start};
    if (oci_field_layout(field) == OCI_LAYOUT_NULL) {
        out->offset = 0;
        out->null_count = length;
    } else if (length == 0) {
        /* Nothing of what an empty array points to may be read: not even its one offset. */
        out->offset = 0;
        out->values = oci_zeros;
        out->bytes = oci_zeros;
        out->sizes = oci_zeros;
        out->child_offsets = oci_zeros;
    } else {
        OC_TRY(take_buffers(array, extra, out, err));
    }
    if (field->n_children > 0) {
        OC_TRY(take_children(array, extra, out, err));
    }
    return field->dictionary != NULL ? take_dictionary(array, out, extra, err) : OC_OK;
}

static oc_status fill_columns(const struct ArrowArray *array, const oci_schema *schema, void *extra,
                              oci_column *columns, oc_error *err)
{
    uint8_t *extra_at = extra;
    for (int32_t i = 0; i < schema->n_fields; i++) {
        OC_TRY(fill_column(array->children[i], &schema->fields[i], array->offset, array->length,
                           &extra_at, &columns[i], err));
    }
    return OC_OK;
}

/* ---- whole batches --------------------------------------------------------------------------- */

static oc_status import_moved(struct ArrowArray *array, oci_schema *schema, oci_batch **out,
                              oc_error *err)
{
    OC_TRY(check_struct(array, schema, err));
    int64_t extra_bytes = 0;
    for (int32_t i = 0; i < schema->n_fields; i++) {
        OC_TRY(check_column(array->children[i], &schema->fields[i], array->offset, array->length,
                            &extra_bytes, err));
    }
    /* One more than needed: calloc of nothing may give NULL. */
    oci_column *columns = calloc((size_t)schema->n_fields + 1, sizeof *columns);
    void *extra = calloc(1, (size_t)extra_bytes + 1);
    struct ArrowArray *kept = malloc(sizeof *kept);
    oc_status status = OC_OK;
    if (columns == NULL || extra == NULL || kept == NULL) {
        status = OC_SET(err, OC_ENOMEM, "out of memory while taking in a batch");
        goto failed;
    }
    status = fill_columns(array, schema, extra, columns, err);
    if (status != OC_OK) {
        goto failed;
    }
    status = oci_batch_adopt(schema, array->length, columns, NULL, NULL, 0, extra, extra_bytes, out,
                             err);
    if (status != OC_OK) {
        free(kept);
        return status;
    }
    *kept = *array;
    array->release = NULL;
    (*out)->import = kept;
    return OC_OK;
failed:
    free(columns);
    free(extra);
    free(kept);
    return status;
}

static bool same_bytes(const char *a, int64_t a_bytes, const char *b, int64_t b_bytes)
{
    return a_bytes == b_bytes && (a_bytes == 0 || memcmp(a, b, (size_t)a_bytes) == 0);
}

bool oci_schema_same_types(const oci_schema *a, const oci_schema *b)
{
    bool same = a->n_fields == b->n_fields;
    for (int32_t i = 0; same && i < a->n_fields; i++) {
        same = oci_field_same_type(&a->fields[i], &b->fields[i]);
    }
    return same;
}

/* Same types given: is everything else the same too? */
static bool same_field_labels(const oci_field *a, const oci_field *b)
{
    bool same = strcmp(a->name, b->name) == 0 && a->nullable == b->nullable &&
                same_bytes(a->metadata, a->metadata_bytes, b->metadata, b->metadata_bytes);
    for (int32_t i = 0; same && i < a->n_children; i++) {
        same = same_field_labels(&a->children[i], &b->children[i]);
    }
    return same && (a->dictionary == NULL || same_field_labels(a->dictionary, b->dictionary));
}

static bool same_labels(const oci_schema *a, const oci_schema *b)
{
    bool same = same_bytes(a->metadata, a->metadata_bytes, b->metadata, b->metadata_bytes);
    for (int32_t i = 0; same && i < a->n_fields; i++) {
        same = same_field_labels(&a->fields[i], &b->fields[i]);
    }
    return same;
}

oc_status oci_batch_import(struct ArrowArray *array, oci_schema *schema, oci_batch **out,
                           oc_error *err)
{
    *out = NULL;
    if (array->release == NULL) {
        OC_FAIL(err, OC_EINVAL, "the batch has been released");
    }
    oc_status status = OC_OK;
    oci_batch *ours = oci_batch_behind(array);
    if (ours != NULL && oci_schema_same_types(ours->schema, schema)) {
        if (ours->schema == schema || same_labels(ours->schema, schema)) {
            *out = oci_batch_retain(ours);
        } else {
            status = oci_batch_share(ours, schema, NULL, out, err);
        }
    } else {
        status = import_moved(array, schema, out, err);
    }
    if (array->release != NULL) {
        array->release(array);
        array->release = NULL;
    }
    return status;
}
