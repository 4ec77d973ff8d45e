/* Appending to a dictionary: both halves are walked as one tree, twice. The first walk only counts
 * the bytes of the slab, the second one has it and copies.
 *
 * Batches that were handed out before keep the old values; that is why the new ones are not written
 * behind the old in place. Children are cut to the rows that are referred to (column_range.h), so
 * the second half of a child begins where the first one ends.
 *
 * The slab comes from the account; the columns and the list of view buffers come from malloc. */
#include "ipc/dictionaries.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/column_range.h"
#include "base/bits.h"
#include "ipc/layout_walk.h"

typedef struct concat_job {
    const char *name; /* of the column, for messages */
    uint8_t *slab;    /* NULL in the first walk */
    int64_t slab_bytes;
    int64_t n_view_buffers;
    oci_column *children; /* room for those of the result, taken from the front like the next two */
    const uint8_t **view_buffers;
    int64_t *view_sizes;
} concat_job;

/* Room for a buffer; NULL in the first walk. The last word is zeroed for the padding. */
static uint8_t *take(concat_job *job, int64_t bytes)
{
    uint8_t *at = job->slab != NULL ? job->slab + job->slab_bytes : NULL;
    int64_t padded = oci_round_up(bytes, 8);
    if (at != NULL && padded > 0) {
        memset(at + padded - 8, 0, 8);
    }
    job->slab_bytes += padded;
    return at;
}

static void copy_bytes(uint8_t *to, const uint8_t *from, int64_t size)
{
    if (size > 0) {
        memcpy(to, from, (size_t)size);
    }
}

static oc_status fail_too_many(const concat_job *job, const char *what, oc_error *err)
{
    OC_FAIL(err, OC_EUNSUPPORTED,
            "dictionary of column \"%.80s\" grows to more values than its %s can reach", job->name,
            what);
}

/* ---- buffers --------------------------------------------------------------------------------- */

static void join_validity(concat_job *job, const oci_column parts[2], oci_column *out)
{
    if (parts[0].validity == NULL && parts[1].validity == NULL) {
        return;
    }
    uint8_t *to = take(job, oci_bytes_for_bits(out->length));
    out->validity = to;
    int64_t at = 0;
    for (int i = 0; i < 2 && to != NULL; i++) {
        if (parts[i].validity == NULL) {
            oci_bits_fill(to, at, parts[i].length, true);
        } else {
            oci_bits_copy(to, at, parts[i].validity, parts[i].offset, parts[i].length);
        }
        at += parts[i].length;
    }
}

static void join_bits(concat_job *job, const oci_column parts[2], oci_column *out)
{
    uint8_t *to = take(job, oci_bytes_for_bits(out->length));
    out->values = to;
    if (to != NULL) {
        oci_bits_copy(to, 0, parts[0].values, parts[0].offset, parts[0].length);
        oci_bits_copy(to, parts[0].length, parts[1].values, parts[1].offset, parts[1].length);
    }
}

static void join_fixed(concat_job *job, const oci_column parts[2], int64_t width, oci_column *out)
{
    uint8_t *to = take(job, out->length * width);
    out->values = to;
    for (int i = 0; i < 2 && to != NULL; i++) {
        copy_bytes(to, parts[i].values + parts[i].offset * width, parts[i].length * width);
        to += parts[i].length * width;
    }
}

/* Strings and lists have the same offsets; those of the second half begin where the first ends. */
static oc_status join_offsets(concat_job *job, const oci_column parts[2],
                              const oci_row_range ranges[2], int width, oci_column *out,
                              oc_error *err)
{
    if (width == 4 && ranges[0].length + ranges[1].length > INT32_MAX) {
        return fail_too_many(job, "32-bit offsets", err);
    }
    uint8_t *to = take(job, (out->length + 1) * width);
    out->values = to;
    if (to != NULL) {
        oci_write_list_offsets(&parts[0], ranges[0], 0, to);
        oci_write_list_offsets(&parts[1], ranges[1], ranges[0].length,
                               to + parts[0].length * width);
    }
    return OC_OK;
}

static oc_status join_strings(concat_job *job, const oci_column parts[2], int width,
                              oci_column *out, oc_error *err)
{
    oci_row_range spans[2];
    for (int i = 0; i < 2; i++) {
        spans[i] = oci_column_bytes_range(&parts[i]);
    }
    OC_TRY(join_offsets(job, parts, spans, width, out, err));
    uint8_t *to = take(job, spans[0].length + spans[1].length);
    out->bytes = to;
    if (to != NULL) {
        copy_bytes(to, parts[0].bytes + spans[0].start, spans[0].length);
        copy_bytes(to + spans[0].length, parts[1].bytes + spans[1].start, spans[1].length);
    }
    return OC_OK;
}

/* All view buffers of both halves; the views of the second one get their buffer number moved. */
static oc_status join_views(concat_job *job, const oci_column parts[2], oci_column *out,
                            oc_error *err)
{
    int64_t n = (int64_t)parts[0].n_view_buffers + parts[1].n_view_buffers;
    if (n > INT32_MAX) {
        return fail_too_many(job, "views", err);
    }
    join_fixed(job, parts, 16, out);
    uint8_t *views = (uint8_t *)out->values;
    for (int64_t row = parts[0].length; views != NULL && row < out->length; row++) {
        if ((int32_t)oci_load_le32(views + 16 * row) > 12) {
            uint8_t *buffer = views + 16 * row + 8;
            oci_store_le32(buffer, oci_load_le32(buffer) + (uint32_t)parts[0].n_view_buffers);
        }
    }
    out->view_buffers = job->view_buffers;
    out->view_sizes = job->view_sizes;
    out->n_view_buffers = (int32_t)n;
    job->n_view_buffers += n;
    for (int i = 0; i < 2; i++) {
        for (int32_t k = 0; k < parts[i].n_view_buffers; k++) {
            uint8_t *to = take(job, parts[i].view_sizes[k]);
            if (to != NULL) {
                copy_bytes(to, parts[i].view_buffers[k], parts[i].view_sizes[k]);
                *job->view_buffers++ = to;
                *job->view_sizes++ = parts[i].view_sizes[k];
            }
        }
    }
    return OC_OK;
}

/* ---- nested columns -------------------------------------------------------------------------- */

static oc_status join_columns(concat_job *job, const oci_column parts[2], oci_column *out,
                              oc_error *err);

/* Child `i` of both halves, cut to the rows that count. */
static oc_status join_child(concat_job *job, const oci_column parts[2], int32_t i,
                            const oci_row_range ranges[2], const oci_column *out, oc_error *err)
{
    oci_column children[2] = {oci_column_child_view(&parts[0], i, ranges[0]),
                              oci_column_child_view(&parts[1], i, ranges[1])};
    oci_column unused;
    oci_column *child = job->slab != NULL ? (oci_column *)&out->children[i] : &unused;
    return join_columns(job, children, child, err);
}

static oc_status join_children(concat_job *job, const oci_column parts[2], const oci_column *out,
                               oc_error *err)
{
    for (int32_t i = 0; i < out->field->n_children; i++) {
        oci_row_range ranges[2] = {oci_column_child_range(&parts[0], i),
                                   oci_column_child_range(&parts[1], i)};
        OC_TRY(join_child(job, parts, i, ranges, out, err));
    }
    return OC_OK;
}

static oc_status join_lists(concat_job *job, const oci_column parts[2], int width, oci_column *out,
                            oc_error *err)
{
    oci_row_range ranges[2] = {oci_column_child_range(&parts[0], 0),
                               oci_column_child_range(&parts[1], 0)};
    OC_TRY(join_offsets(job, parts, ranges, width, out, err));
    return join_child(job, parts, 0, ranges, out, err);
}

static oc_status join_list_views(concat_job *job, const oci_column parts[2], int width,
                                 oci_column *out, oc_error *err)
{
    oci_row_range ranges[2] = {oci_column_child_range(&parts[0], 0),
                               oci_column_child_range(&parts[1], 0)};
    if (width == 4 && ranges[0].length + ranges[1].length > INT32_MAX) {
        return fail_too_many(job, "32-bit offsets", err);
    }
    uint8_t *offsets = take(job, out->length * width);
    uint8_t *sizes = take(job, out->length * width);
    out->values = offsets;
    out->sizes = sizes;
    if (offsets != NULL) {
        oci_write_list_view_offsets(&parts[0], ranges[0], 0, offsets);
        oci_write_list_view_offsets(&parts[1], ranges[1], ranges[0].length,
                                    offsets + parts[0].length * width);
        oci_write_list_view_sizes(&parts[0], sizes);
        oci_write_list_view_sizes(&parts[1], sizes + parts[0].length * width);
    }
    return join_child(job, parts, 0, ranges, out, err);
}

static oc_status join_dense_unions(concat_job *job, const oci_column parts[2], oci_column *out,
                                   oc_error *err)
{
    join_fixed(job, parts, 1, out);
    uint8_t *offsets = take(job, 4 * out->length);
    out->child_offsets = offsets;
    for (int32_t i = 0; i < out->field->n_children; i++) {
        oci_row_range ranges[2] = {oci_column_child_range(&parts[0], i),
                                   oci_column_child_range(&parts[1], i)};
        if (ranges[0].length + ranges[1].length > INT32_MAX) {
            return fail_too_many(job, "32-bit offsets", err);
        }
        if (offsets != NULL) {
            oci_write_union_offsets(&parts[0], i, ranges[0], 0, offsets);
            oci_write_union_offsets(&parts[1], i, ranges[1], ranges[0].length,
                                    offsets + 4 * parts[0].length);
        }
        OC_TRY(join_child(job, parts, i, ranges, out, err));
    }
    return OC_OK;
}

static oc_status join_runs(concat_job *job, const oci_column parts[2], oci_column *out,
                           oc_error *err)
{
    oci_row_range ranges[2] = {oci_column_child_range(&parts[0], 0),
                               oci_column_child_range(&parts[1], 0)};
    const oci_field *field = &out->field->children[0];
    int width = field->byte_width;
    if (width < 8 && out->length > (width == 2 ? INT16_MAX : INT32_MAX)) {
        return fail_too_many(job, "run ends", err);
    }
    int64_t n = ranges[0].length + ranges[1].length;
    uint8_t *run_ends = take(job, n * width);
    if (run_ends != NULL) {
        oci_write_run_ends(&parts[0], ranges[0], 0, run_ends);
        oci_write_run_ends(&parts[1], ranges[1], parts[0].length,
                           run_ends + ranges[0].length * width);
        *(oci_column *)&out->children[0] =
            (oci_column){.field = field, .length = n, .values = run_ends};
    }
    return join_child(job, parts, 1, ranges, out, err);
}

/* ---- columns --------------------------------------------------------------------------------- */

static oc_status join_values(concat_job *job, const oci_column parts[2], oci_column *out,
                             oc_error *err)
{
    switch (oci_field_layout(out->field)) {
    case OCI_LAYOUT_BITS: join_bits(job, parts, out); return OC_OK;
    case OCI_LAYOUT_FIXED:
    case OCI_LAYOUT_DICTIONARY: join_fixed(job, parts, out->field->byte_width, out); return OC_OK;
    case OCI_LAYOUT_OFFSETS32: return join_strings(job, parts, 4, out, err);
    case OCI_LAYOUT_OFFSETS64: return join_strings(job, parts, 8, out, err);
    case OCI_LAYOUT_VIEWS: return join_views(job, parts, out, err);
    case OCI_LAYOUT_LIST32: return join_lists(job, parts, 4, out, err);
    case OCI_LAYOUT_LIST64: return join_lists(job, parts, 8, out, err);
    case OCI_LAYOUT_LIST_VIEW32: return join_list_views(job, parts, 4, out, err);
    case OCI_LAYOUT_LIST_VIEW64: return join_list_views(job, parts, 8, out, err);
    case OCI_LAYOUT_DENSE_UNION: return join_dense_unions(job, parts, out, err);
    case OCI_LAYOUT_RUN_ENDS: return join_runs(job, parts, out, err);
    case OCI_LAYOUT_SPARSE_UNION: join_fixed(job, parts, 1, out); break;
    default: break;
    }
    return join_children(job, parts, out, err);
}

/* The rows of both parts as one column. In the first walk only lengths in *out mean something. */
static oc_status join_columns(concat_job *job, const oci_column parts[2], oci_column *out,
                              oc_error *err)
{
    const oci_field *field = parts[0].field;
    *out =
        (oci_column){.field = field, .length = parts[0].length + parts[1].length, .null_count = -1};
    if (job->slab != NULL) {
        out->children = job->children;
        job->children += field->n_children;
    }
    if (oci_field_layout(field) == OCI_LAYOUT_NULL) {
        out->null_count = out->length;
        return OC_OK;
    }
    join_validity(job, parts, out);
    OC_TRY(join_values(job, parts, out, err));
    if (job->slab != NULL) {
        out->null_count = oci_column_null_count(out);
    }
    return OC_OK;
}

oc_status oci_dictionary_concat(oci_schema *schema, const oci_batch *a, const oci_batch *b,
                                oci_mem *mem, oci_batch **out, oc_error *err)
{
    assert(schema->n_fields == 1);
    oci_column parts[2] = {a->columns[0], b->columns[0]};
    oci_column *column = malloc(sizeof *column);
    if (column == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while appending to a dictionary");
    }
    concat_job count = {.name = schema->fields[0].name};
    void *extra = NULL;
    void *slab = NULL;
    oc_status status = OC_OK;
    OC_GOTO(join_columns(&count, parts, column, err));
    OC_GOTO(oci_mem_alloc(mem, oci_max64(count.slab_bytes, 8), &slab, err));
    int64_t n_children = oci_schema_shape(schema, OCI_IPC_V5).n_nodes - 1;
    int64_t extra_bytes = (int64_t)sizeof(oci_column) * n_children + 16 * count.n_view_buffers;
    extra = malloc((size_t)extra_bytes + 1);
    if (extra == NULL) {
        oci_mem_free(mem, slab, oci_max64(count.slab_bytes, 8));
        status = OC_SET(err, OC_ENOMEM, "out of memory while appending to a dictionary");
        goto done;
    }
    concat_job job = {.name = count.name, .slab = slab, .children = extra};
    job.view_buffers = (const uint8_t **)(job.children + n_children);
    job.view_sizes = (int64_t *)(job.view_buffers + count.n_view_buffers);
    oc_status again = join_columns(&job, parts, column, err);
    assert(again == OC_OK && job.slab_bytes == count.slab_bytes);
    (void)again;
    column->field = &schema->fields[0];
    return oci_batch_adopt(schema, a->length + b->length, column, mem, slab,
                           oci_max64(count.slab_bytes, 8), extra, extra_bytes, out, err);
done:
    free(column);
    return status;
}
