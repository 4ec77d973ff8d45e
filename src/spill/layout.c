/* Layouts: batches to their physical form and back. See layout.h.
 *
 *   batch -> measure -> one slab -> column by column -> physical batch            (encode)
 *   physical batch -> measure -> one slab -> column by column -> batch            (decode)
 *
 * What a single column becomes is the story of layout_lengths.c, layout_packed.c and layout_plain.c.
 * Lists with an entry per column come from malloc: they grow with the schema. */
#include "spill/layout.h"

#include <assert.h>
#include <stdlib.h>

#include "base/bits.h"
#include "spill/layout_internal.h"

static oc_status fail_memory(oc_error *err)
{
    OC_FAIL(err, OC_ENOMEM, "out of memory while laying out a spilled batch");
}

/* ---- to physical batches --------------------------------------------------------------------- */

bool oci_spill_layout_can_hold(const oci_spill_layout *layout, const oci_packer *packer,
                               const oci_batch *batch)
{
    bool can_hold = layout->is_plain || batch->length <= INT32_MAX;
    for (int32_t i = 0; can_hold && i < layout->logical->n_fields; i++) {
        if (layout->choices[i] == OCI_COLUMN_PACKED) {
            oci_packed_bound bound;
            oci_packer_bound(packer, i, &batch->columns[i], &bound);
            can_hold = bound.packed <= INT32_MAX && bound.bytes <= INT32_MAX;
        }
    }
    return can_hold;
}

oci_layout_bound oci_spill_layout_bound(const oci_spill_layout *layout, const oci_packer *packer,
                                        int64_t slab_bytes, int64_t rows)
{
    oci_layout_bound bound = {0};
    bool has_packed = false;
    for (int32_t i = 0; i < layout->logical->n_fields; i++) {
        if (layout->choices[i] != OCI_COLUMN_PLAIN) {
            /* Run end, two offsets twice, and padding of five buffers. */
            bound.slab_bytes += 10 * OCI_LAYOUT_ALIGN;
        }
        has_packed = has_packed || layout->choices[i] == OCI_COLUMN_PACKED;
    }
    if (has_packed) {
        oci_packed_bound packed;
        oci_packer_bound_bytes(packer, slab_bytes, rows, &packed);
        bound.slab_bytes += packed.both;
        bound.scratch = packed.scratch;
    } else if (!layout->is_plain) {
        bound.slab_bytes += slab_bytes; /* lengths and bitmaps are not longer than offsets */
    }
    return bound;
}

static oc_status measure_physical(const oci_spill_layout *layout, const oci_packer *packer,
                                  const oci_batch *batch, int64_t *bytes, oc_error *err)
{
    *bytes = 0;
    for (int32_t i = 0; i < layout->logical->n_fields; i++) {
        const oci_column *column = &batch->columns[i];
        if (layout->choices[i] == OCI_COLUMN_LENGTHS) {
            int64_t size;
            OC_TRY(oci_lengths_measure(column, &size, err));
            *bytes += size;
        } else if (layout->choices[i] == OCI_COLUMN_PACKED) {
            oci_packed_bound bound;
            oci_packer_bound(packer, i, column, &bound);
            *bytes += oci_packed_slab_bound(&bound);
        }
    }
    return OC_OK;
}

static oc_status fill_physical(const oci_spill_layout *layout, oci_packer *packer,
                               const oci_batch *batch, oci_reservation *from, oci_layout_out *out,
                               oci_column *columns, oc_error *err)
{
    for (int32_t i = 0; i < layout->logical->n_fields; i++) {
        const oci_column *column = &batch->columns[i];
        const oci_field *field = &layout->physical->fields[i];
        switch (layout->choices[i]) {
        case OCI_COLUMN_PLAIN: columns[i] = *column; break;
        case OCI_COLUMN_LENGTHS: oci_lengths_encode(column, field, out, &columns[i]); break;
        case OCI_COLUMN_PACKED:
            OC_TRY(oci_packed_encode(packer, i, column, field, from, out, &columns[i], err));
            break;
        }
    }
    return OC_OK;
}

oc_status oci_spill_layout_encode(const oci_spill_layout *layout, oci_packer *packer,
                                  oci_batch *batch, oci_reservation *from, oci_batch **out,
                                  oc_error *err)
{
    *out = NULL;
    int64_t bytes;
    void *slab = NULL;
    int32_t n = layout->logical->n_fields;
    OC_TRY(measure_physical(layout, packer, batch, &bytes, err));
    OC_TRY(oci_mem_alloc_reserved(from, bytes, &slab, err));
    int64_t below_bytes = n * (int64_t)(OCI_LAYOUT_BELOW * sizeof(oci_column));
    oci_column *columns = calloc((size_t)n + 1, sizeof *columns);
    oci_column *below = calloc((size_t)n * OCI_LAYOUT_BELOW + 1, sizeof *below);
    oc_status status = columns == NULL || below == NULL ? fail_memory(err) : OC_OK;
    oci_layout_out made = {.slab = slab, .size = bytes, .below = below};
    if (status == OC_OK) {
        status = fill_physical(layout, packer, batch, from, &made, columns, err);
    }
    if (status != OC_OK) {
        free(columns);
        free(below);
        oci_mem_free_reserved(from, slab, bytes);
        return status;
    }
    return oci_batch_adopt(layout->physical, batch->length, columns, from->mem, slab, bytes, below,
                           below_bytes, out, err);
}

void oci_spill_layout_give_back(oci_batch *physical, oci_reservation *from)
{
    if (physical == NULL) {
        return;
    }
    void *slab = physical->slab;
    int64_t bytes = physical->slab_bytes;
    physical->slab = NULL;
    oci_batch_release(physical);
    oci_mem_free_reserved(from, slab, bytes);
}

/* ---- and back -------------------------------------------------------------------------------- */

/* What decoding needs of each column. */
typedef struct decode_job {
    const oci_spill_layout *layout;
    const oci_batch *physical;
    oci_pack_in *packed; /* of PACKED columns; malloc'ed, one per column */
    int64_t slab_bytes;
    int64_t extra_bytes;
} decode_job;

static oc_status measure_column(decode_job *job, int32_t i, oc_error *err)
{
    const oci_column *column = &job->physical->columns[i];
    int64_t bytes = 0;
    switch (job->layout->choices[i]) {
    case OCI_COLUMN_PLAIN: oci_plain_measure(column, &bytes, &job->extra_bytes); break;
    case OCI_COLUMN_LENGTHS: OC_TRY(oci_lengths_unmeasure(column, &bytes, err)); break;
    case OCI_COLUMN_PACKED:
        OC_TRY(oci_packed_open(column, &job->packed[i], err));
        OC_TRY(oci_unpack_measure(&job->layout->logical->fields[i], column->length, &job->packed[i],
                                  &bytes, err));
        break;
    }
    if (!oci_add64(job->slab_bytes, bytes, &job->slab_bytes)) {
        OC_FAIL(err, OC_EDATA, "it is larger than memory can be");
    }
    return OC_OK;
}

static oc_status unpack_column(const oci_field *field, int64_t rows, oci_pack_in *in,
                               oci_unpack_out *out, oci_column *column, oc_error *err)
{
    OC_TRY(oci_unpack_column(field, rows, in, out, column, err));
    if (in->packed_at != in->packed_size || in->bytes_at != in->bytes_size) {
        OC_FAIL(err, OC_EDATA, "packed values are followed by something else");
    }
    return OC_OK;
}

static oc_status decode_column(decode_job *job, int32_t i, oci_unpack_out *out, oci_column *column,
                               oc_error *err)
{
    const oci_column *from = &job->physical->columns[i];
    const oci_field *field = &job->layout->logical->fields[i];
    switch (job->layout->choices[i]) {
    case OCI_COLUMN_PLAIN: oci_plain_copy(from, field, out, column); return OC_OK;
    case OCI_COLUMN_LENGTHS: return oci_lengths_decode(from, field, out, column, err);
    case OCI_COLUMN_PACKED: break;
    }
    return unpack_column(field, from->length, &job->packed[i], out, column, err);
}

static oc_status name_column(const decode_job *job, int32_t i, oc_status status, oc_error *err)
{
    if (status == OC_EDATA) {
        oci_error_prefix(err, "column \"%.80s\"", job->layout->logical->fields[i].name);
    }
    return status;
}

static oc_status fill_columns(decode_job *job, oci_unpack_out *out, oci_column *columns,
                              oc_error *err)
{
    for (int32_t i = 0; i < job->layout->logical->n_fields; i++) {
        OC_TRY(name_column(job, i, decode_column(job, i, out, &columns[i], err), err));
        assert(out->at <= out->size && out->extra_at <= out->extra_size);
    }
    return OC_OK;
}

/* Makes the batch out of a slab (taken, also on failure) of the size that was measured. */
static oc_status fill_batch(decode_job *job, oci_mem *mem, void *slab, oci_batch **out,
                            oc_error *err)
{
    oci_schema *schema = job->layout->logical;
    oci_column *columns = calloc((size_t)schema->n_fields + 1, sizeof *columns);
    uint8_t *extra = calloc(1, (size_t)job->extra_bytes + 1);
    oc_status status = columns == NULL || extra == NULL ? fail_memory(err) : OC_OK;
    oci_unpack_out made = {
        .slab = slab, .size = job->slab_bytes, .extra = extra, .extra_size = job->extra_bytes};
    if (status == OC_OK) {
        status = fill_columns(job, &made, columns, err);
    }
    if (status != OC_OK) {
        free(columns);
        free(extra);
        oci_mem_free(mem, slab, job->slab_bytes);
        return status;
    }
    return oci_batch_adopt(schema, job->physical->length, columns, mem, slab, job->slab_bytes,
                           extra, job->extra_bytes, out, err);
}

/* Dictionaries of plain columns are memory of their own. */
static oc_status keep_dictionaries(oci_batch *batch, const oci_batch *physical, oc_error *err)
{
    for (int32_t i = 0; i < physical->n_kept; i++) {
        OC_TRY(oci_batch_keep(batch, oci_batch_retain(physical->kept[i]), err));
    }
    return OC_OK;
}

/* A column of no rows; what lies below it takes its structs from `space`. */
static void make_empty(const oci_field *field, oci_column *column, oci_column **space)
{
    static const uint8_t nothing[16]; /* the one offset that a reader may look at */
    *column = (oci_column){.field = field,
                           .values = nothing,
                           .bytes = nothing,
                           .sizes = nothing,
                           .child_offsets = nothing};
    if (field->dictionary != NULL) {
        oci_column *values = (*space)++;
        column->dictionary = values;
        make_empty(field->dictionary, values, space);
    }
    oci_column *children = *space;
    *space += field->n_children;
    column->children = children;
    for (int32_t i = 0; i < field->n_children; i++) {
        make_empty(&field->children[i], &children[i], space);
    }
}

static oc_status decode_empty(const oci_spill_layout *layout, oci_batch **out, oc_error *err)
{
    oci_schema *schema = layout->logical;
    int64_t below_bytes = oci_unpack_extra_bytes(schema);
    oci_column *columns = calloc((size_t)schema->n_fields + 1, sizeof *columns);
    oci_column *below = calloc(1, (size_t)below_bytes + 1);
    if (columns == NULL || below == NULL) {
        free(columns);
        free(below);
        return fail_memory(err);
    }
    oci_column *space = below;
    for (int32_t i = 0; i < schema->n_fields; i++) {
        make_empty(&schema->fields[i], &columns[i], &space);
    }
    return oci_batch_adopt(schema, 0, columns, NULL, NULL, 0, below, below_bytes, out, err);
}

static oc_status decode_rows(const oci_spill_layout *layout, const oci_batch *physical,
                             oci_mem *mem, oci_batch **out, oc_error *err)
{
    decode_job job = {.layout = layout,
                      .physical = physical,
                      .extra_bytes = oci_unpack_extra_bytes(layout->logical)};
    int32_t n = layout->logical->n_fields;
    job.packed = calloc((size_t)n + 1, sizeof *job.packed);
    oc_status status = job.packed == NULL ? fail_memory(err) : OC_OK;
    for (int32_t i = 0; i < n && status == OC_OK; i++) {
        status = name_column(&job, i, measure_column(&job, i, err), err);
    }
    void *slab = NULL;
    if (status == OC_OK) {
        status = oci_mem_alloc(mem, job.slab_bytes, &slab, err);
    }
    if (status == OC_OK) {
        status = fill_batch(&job, mem, slab, out, err);
    }
    if (status == OC_OK) {
        status = keep_dictionaries(*out, physical, err);
        if (status != OC_OK) {
            oci_batch_release(*out);
            *out = NULL;
        }
    }
    free(job.packed);
    return status;
}

oc_status oci_spill_layout_decode(const oci_spill_layout *layout, oci_batch *physical, oci_mem *mem,
                                  oci_batch **out, oc_error *err)
{
    if (layout->is_plain) {
        *out = physical;
        return OC_OK;
    }
    *out = NULL;
    oc_status status = physical->length == 0 ? decode_empty(layout, out, err)
                                             : decode_rows(layout, physical, mem, out, err);
    oci_batch_release(physical);
    return status;
}
