/* Arrays in: an ArrowArray becomes a batch without a copy.
 *
 *   struct array [offset P, length L]                    column i: offset C + P, length L
 *     └ child i  [offset C, length >= P + L]   ──────>   buffers as they are
 *          └ dictionary [offset D]                       dictionary column: offset D, whole
 *
 * Two walks. The first checks the shape of every array (counts, lengths, presence) and adds up
 * the little memory that columns need besides the array itself: dictionary columns and the tables
 * of view buffers, which lie in one `extra` block. The second fills the columns. The array is
 * moved into the batch and released with it. The extra block, the columns and the batch come from
 * malloc: some 100 bytes a column and 16 for each view buffer, whatever the number of rows.
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

static oc_status check_buffer_count(const struct ArrowArray *array, const oci_field *field,
                                    oc_error *err)
{
    int64_t fewest = 2, most = 2;
    switch (oci_field_layout(field)) {
    case OCI_LAYOUT_NULL:
        fewest = 0;
        most = 1; /* early versions of Arrow gave null arrays a validity buffer */
        break;
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64: fewest = most = 3; break;
    case OCI_LAYOUT_VIEWS:
        fewest = 3; /* validity, views, sizes; the byte buffers lie in between */
        most = INT32_MAX;
        break;
    default: break;
    }
    if (array->n_buffers < fewest || array->n_buffers > most) {
        OC_FAIL(err, OC_EDATA,
                "column \"%.80s\" of type %s has %" PRId64 " buffers; it must have %s%" PRId64,
                field->name, oci_type_name(field->type), array->n_buffers,
                fewest < most ? "at least " : "", fewest);
    }
    if (array->n_buffers > 0 && array->buffers == NULL) {
        OC_FAIL(err, OC_EDATA, "column \"%.80s\" claims %" PRId64 " buffers and has none",
                field->name, array->n_buffers);
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
    OC_TRY(check_buffer_count(array, field, err));
    if (array->n_children != 0) {
        OC_FAIL(err, OC_EDATA, "column \"%.80s\" of type %s has %" PRId64 " children, not 0",
                field->name, oci_type_name(field->type), array->n_children);
    }
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
    if (array->n_buffers != 1 || array->buffers == NULL || array->dictionary != NULL) {
        OC_FAIL(err, OC_EDATA,
                "the batch is damaged: a struct array has 1 buffer and no dictionary, this one "
                "has %" PRId64 " buffers%s",
                array->buffers != NULL ? array->n_buffers : 0,
                array->dictionary != NULL ? " and a dictionary" : "");
    }
    return check_no_struct_nulls(array, err);
}

/* ---- second walk: columns -------------------------------------------------------------------- */

/* The offsets at both ends tell whether there must be bytes; those between are validate's. */
static oc_status take_bytes(const struct ArrowArray *array, oci_column *out, oc_error *err)
{
    int64_t width = oci_field_layout(out->field) == OCI_LAYOUT_OFFSETS32 ? 4 : 8;
    int64_t first = 0, last = 0;
    const uint8_t *at = out->values + out->offset * width;
    if (width == 4) {
        int32_t ends[2];
        memcpy(&ends[0], at, 4);
        memcpy(&ends[1], at + out->length * 4, 4);
        first = ends[0];
        last = ends[1];
    } else {
        memcpy(&first, at, 8);
        memcpy(&last, at + out->length * 8, 8);
    }
    if (first < 0 || last < first) {
        OC_FAIL(err, OC_EDATA,
                "column \"%.80s\" has damaged offsets: the first is %" PRId64
                " and the last %" PRId64,
                out->field->name, first, last);
    }
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

static oc_status take_buffers(const struct ArrowArray *array, oci_column *out, oc_error *err)
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

static oc_status fill_column(const struct ArrowArray *array, const oci_field *field, int64_t start,
                             int64_t length, uint8_t **extra, oci_column *out, oc_error *err)
{
    oci_layout layout = oci_field_layout(field);
    *out = (oci_column){.field = field, .length = length, .offset = array->offset + start};
    if (layout == OCI_LAYOUT_NULL) {
        out->offset = 0;
        out->null_count = length;
    } else if (length == 0) {
        /* Nothing of what an empty array points to may be read: not even its one offset. */
        out->offset = 0;
        out->values = oci_zeros;
        out->bytes = oci_zeros;
    } else {
        OC_TRY(take_buffers(array, out, err));
        if (layout == OCI_LAYOUT_OFFSETS32 || layout == OCI_LAYOUT_OFFSETS64) {
            OC_TRY(take_bytes(array, out, err));
        } else if (layout == OCI_LAYOUT_VIEWS) {
            OC_TRY(take_view_buffers(array, out, extra, err));
        }
    }
    return layout == OCI_LAYOUT_DICTIONARY ? take_dictionary(array, out, extra, err) : OC_OK;
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

static bool same_types(const oci_schema *a, const oci_schema *b)
{
    bool same = a->n_fields == b->n_fields;
    for (int32_t i = 0; same && i < a->n_fields; i++) {
        same = oci_field_same_type(&a->fields[i], &b->fields[i]);
    }
    return same;
}

/* Same types given: is everything else the same too? */
static bool same_labels(const oci_schema *a, const oci_schema *b)
{
    bool same = same_bytes(a->metadata, a->metadata_bytes, b->metadata, b->metadata_bytes);
    for (int32_t i = 0; same && i < a->n_fields; i++) {
        const oci_field *x = &a->fields[i], *y = &b->fields[i];
        same = strcmp(x->name, y->name) == 0 && x->nullable == y->nullable &&
               same_bytes(x->metadata, x->metadata_bytes, y->metadata, y->metadata_bytes);
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
    if (ours != NULL && same_types(ours->schema, schema)) {
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
