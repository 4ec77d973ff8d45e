/* Appending to a dictionary: sizes first, one slab, then both halves copied buffer by buffer.
 *
 * Batches that were handed out before keep the old values; that is why the new ones are not written
 * behind the old in place. Columns here come from the decoder: they start at offset 0, and their
 * offsets need not begin with 0.
 *
 * The slab comes from the account, the column and the list of view buffers from malloc. */
#include "ipc/dictionaries.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

/* Where the buffers of the result lie in its slab. */
typedef struct concat_plan {
    const oci_field *field;
    const oci_column *parts[2];
    int64_t lengths[2];
    int64_t length;
    int64_t spans[2]; /* OFFSETS: bytes of the values */
    int64_t values_at;
    int64_t bytes_at;
    int64_t slab_bytes;
    bool has_validity;
} concat_plan;

static int64_t offset_at(const oci_column *column, int64_t i)
{
    return oci_field_layout(column->field) == OCI_LAYOUT_OFFSETS32
               ? (int32_t)oci_load_le32(column->values + 4 * i)
               : (int64_t)oci_load_le64(column->values + 8 * i);
}

/* Bytes of `n` values or offsets. */
static int64_t values_size(const oci_field *field, int64_t n)
{
    switch (oci_field_layout(field)) {
    case OCI_LAYOUT_BITS: return oci_bytes_for_bits(n);
    case OCI_LAYOUT_FIXED: return n * field->byte_width;
    case OCI_LAYOUT_OFFSETS32: return 4 * (n + 1);
    case OCI_LAYOUT_OFFSETS64: return 8 * (n + 1);
    case OCI_LAYOUT_VIEWS: return 16 * n;
    default: return 0;
    }
}

static oc_status plan_concat(concat_plan *plan, const oci_batch *a, const oci_batch *b,
                             oc_error *err)
{
    const oci_batch *batches[2] = {a, b};
    oci_layout layout = oci_field_layout(plan->field);
    for (int i = 0; i < 2; i++) {
        plan->parts[i] = &batches[i]->columns[0];
        assert(plan->parts[i]->offset == 0);
        plan->lengths[i] = batches[i]->length;
        plan->length += batches[i]->length;
        plan->has_validity = plan->has_validity || plan->parts[i]->validity != NULL;
        if (layout == OCI_LAYOUT_OFFSETS32 || layout == OCI_LAYOUT_OFFSETS64) {
            plan->spans[i] = offset_at(plan->parts[i], plan->lengths[i]) -
                             offset_at(plan->parts[i], 0);
        }
    }
    int64_t bytes = plan->spans[0] + plan->spans[1];
    if (layout == OCI_LAYOUT_OFFSETS32 && bytes > INT32_MAX) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "dictionary of column \"%.80s\" grows to %" PRId64
                " bytes, more than 32-bit offsets can reach",
                plan->field->name, bytes);
    }
    if (plan->has_validity && layout != OCI_LAYOUT_NULL) {
        plan->values_at = oci_round_up(oci_bytes_for_bits(plan->length), 8);
    }
    plan->bytes_at = plan->values_at + oci_round_up(values_size(plan->field, plan->length), 8);
    if (layout == OCI_LAYOUT_VIEWS) { /* the view buffers of both, each on its own */
        for (int i = 0; i < 2; i++) {
            for (int32_t k = 0; k < plan->parts[i]->n_view_buffers; k++) {
                bytes += oci_round_up(plan->parts[i]->view_sizes[k], 8);
            }
        }
    }
    plan->slab_bytes = plan->bytes_at + oci_round_up(bytes, 8);
    return OC_OK;
}

static void copy_bytes(uint8_t *to, const uint8_t *from, int64_t size)
{
    if (size > 0) {
        memcpy(to, from, (size_t)size);
    }
}

static void concat_validity(const concat_plan *plan, uint8_t *slab)
{
    int64_t at = 0;
    for (int i = 0; i < 2; i++) {
        const oci_column *part = plan->parts[i];
        if (part->validity == NULL) {
            oci_bits_fill(slab, at, plan->lengths[i], true);
        } else {
            oci_bits_copy(slab, at, part->validity, 0, plan->lengths[i]);
        }
        at += plan->lengths[i];
    }
}

static void concat_offsets(const concat_plan *plan, uint8_t *slab)
{
    bool narrow = oci_field_layout(plan->field) == OCI_LAYOUT_OFFSETS32;
    uint8_t *offsets = slab + plan->values_at;
    uint8_t *bytes = slab + plan->bytes_at;
    int64_t row = 0;
    int64_t base = 0;
    for (int i = 0; i < 2; i++) {
        int64_t first = offset_at(plan->parts[i], 0);
        for (int64_t k = i; k <= plan->lengths[i];
             k++) { /* the second half shares the offset between them */
            int64_t offset = base + offset_at(plan->parts[i], k) - first;
            if (narrow) {
                oci_store_le32(offsets + 4 * row++, (uint32_t)offset);
            } else {
                oci_store_le64(offsets + 8 * row++, (uint64_t)offset);
            }
        }
        copy_bytes(bytes + base, plan->parts[i]->bytes + first, plan->spans[i]);
        base += plan->spans[i];
    }
}

/* The second half's views get their buffer number moved. `column` has room for both sets of view
 * buffers. */
static void concat_views(const concat_plan *plan, uint8_t *slab, const uint8_t **buffers,
                         int64_t *sizes)
{
    uint8_t *views = slab + plan->values_at;
    uint8_t *to = slab + plan->bytes_at;
    int32_t n_buffers = 0;
    for (int i = 0; i < 2; i++) {
        const oci_column *part = plan->parts[i];
        copy_bytes(views, part->values, 16 * plan->lengths[i]);
        for (int64_t row = 0; row < plan->lengths[i]; row++, views += 16) {
            if ((int32_t)oci_load_le32(views) > 12) {
                oci_store_le32(views + 8, oci_load_le32(views + 8) + (uint32_t)n_buffers);
            }
        }
        for (int32_t k = 0; k < part->n_view_buffers; k++) {
            copy_bytes(to, part->view_buffers[k], part->view_sizes[k]);
            buffers[n_buffers] = to;
            sizes[n_buffers++] = part->view_sizes[k];
            to += oci_round_up(part->view_sizes[k], 8);
        }
    }
}

static void concat_values(const concat_plan *plan, uint8_t *slab)
{
    uint8_t *values = slab + plan->values_at;
    if (oci_field_layout(plan->field) == OCI_LAYOUT_BITS) {
        oci_bits_copy(values, 0, plan->parts[0]->values, 0, plan->lengths[0]);
        oci_bits_copy(values, plan->lengths[0], plan->parts[1]->values, 0, plan->lengths[1]);
        return;
    }
    int64_t first = values_size(plan->field, plan->lengths[0]);
    copy_bytes(values, plan->parts[0]->values, first);
    copy_bytes(values + first, plan->parts[1]->values, values_size(plan->field, plan->lengths[1]));
}

/* `extra` holds the view buffers' addresses, then their sizes. */
static void fill_concat(const concat_plan *plan, uint8_t *slab, void *extra, oci_column *column)
{
    oci_layout layout = oci_field_layout(plan->field);
    memset(slab, 0, (size_t)plan->slab_bytes);
    *column = (oci_column){.field = plan->field, .length = plan->length, .null_count = -1};
    if (layout == OCI_LAYOUT_NULL) {
        column->null_count = plan->length;
        return;
    }
    column->values = slab + plan->values_at;
    column->bytes = slab + plan->bytes_at;
    if (plan->has_validity) {
        concat_validity(plan, slab);
        column->validity = slab;
    }
    column->null_count = oci_column_null_count(column);
    if (layout == OCI_LAYOUT_VIEWS) {
        int32_t n = plan->parts[0]->n_view_buffers + plan->parts[1]->n_view_buffers;
        const uint8_t **buffers = extra;
        int64_t *sizes = (int64_t *)(buffers + n);
        concat_views(plan, slab, buffers, sizes);
        column->view_buffers = buffers;
        column->view_sizes = sizes;
        column->n_view_buffers = n;
    } else if (layout == OCI_LAYOUT_OFFSETS32 || layout == OCI_LAYOUT_OFFSETS64) {
        concat_offsets(plan, slab);
    } else {
        concat_values(plan, slab);
    }
}

oc_status oci_dictionary_concat(oci_schema *schema, const oci_batch *a, const oci_batch *b,
                                oci_mem *mem, oci_batch **out, oc_error *err)
{
    assert(schema->n_fields == 1);
    concat_plan plan = {.field = &schema->fields[0]};
    OC_TRY(plan_concat(&plan, a, b, err));
    void *slab = NULL;
    OC_TRY(oci_mem_alloc(mem, plan.slab_bytes, &slab, err));
    int64_t n_views = (int64_t)plan.parts[0]->n_view_buffers + plan.parts[1]->n_view_buffers;
    int64_t extra_bytes = 16 * n_views;
    void *extra = malloc((size_t)extra_bytes + 1);
    oci_column *column = calloc(1, sizeof *column);
    if (extra == NULL || column == NULL) {
        free(extra);
        free(column);
        oci_mem_free(mem, slab, plan.slab_bytes);
        OC_FAIL(err, OC_ENOMEM, "out of memory while appending to a dictionary");
    }
    fill_concat(&plan, slab, extra, column);
    return oci_batch_adopt(schema, plan.length, column, mem, slab, plan.slab_bytes, extra,
                           extra_bytes, out, err);
}
