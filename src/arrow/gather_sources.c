/* Gather, sources: what every source has in the place of a column of the output.
 *
 * The output is in working form, a source need not be: it may hold views, list views and run-end
 * encoded columns at any depth. Its column is found by following the path of the output's column
 * from the top: child by child, through dictionaries, and through run-end encoded columns to their
 * values wherever the output has just values.
 *
 *   output   a: list<struct<x, y>>                path of y:  a, child 0, child 1
 *   source   a: list_view<ree<struct<x, ree<y>>>>             + values of runs on the way, twice
 *
 * Parents are unpacked before their children, so that all that a path relies on (same layouts, as
 * many children, children long enough) is checked by the time it is followed further. */
#include "arrow/gather_internal.h"

/* Stands in for the validity of sources without nulls, and for buffers that are absent since they
 * are empty. */
static const uint8_t all_ones[OCI_GATHER_SLACK] = {0xFF, 0xFF};

/* ---- paths ----------------------------------------------------------------------------------- */

static inline const oci_column *top_column(const oci_gather_job *job,
                                           const oci_gather_column *column, int64_t source)
{
    const oci_batch *batch = job->sources[source];
    return batch == NULL || column->index >= batch->schema->n_fields
               ? NULL
               : &batch->columns[column->index];
}

const oci_column *oci_gather_encoded(const oci_gather_job *job, const oci_gather_column *column,
                                     int64_t source, int64_t *first)
{
    *first = column->first;
    if (column->step == OCI_GATHER_TOP) {
        return top_column(job, column, source);
    }
    int64_t parent_first;
    const oci_column *parent = oci_gather_source(job, column->parent, source, &parent_first);
    if (parent == NULL) {
        return NULL;
    }
    if (column->step == OCI_GATHER_VALUES) {
        return parent->dictionary;
    }
    if (oci_gather_same_rows(column)) {
        *first = parent_first + parent->offset;
    }
    return &parent->children[column->index];
}

const oci_column *oci_gather_source(const oci_gather_job *job, const oci_gather_column *column,
                                    int64_t source, int64_t *first)
{
    const oci_column *from = oci_gather_encoded(job, column, source, first);
    while (from != NULL && from->field->type == OCI_TYPE_RUN_END_ENCODED) {
        from = &from->children[1];
        *first = 0;
    }
    return from;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static bool holds_views(oci_layout from, oci_layout to)
{
    return (from == OCI_LAYOUT_VIEWS && to == OCI_LAYOUT_OFFSETS32) ||
           (from == OCI_LAYOUT_LIST_VIEW32 && to == OCI_LAYOUT_LIST32) ||
           (from == OCI_LAYOUT_LIST_VIEW64 && to == OCI_LAYOUT_LIST64);
}

static bool same_shape(const oci_field *from, const oci_field *to)
{
    return oci_field_layout(from) == oci_field_layout(to) && from->byte_width == to->byte_width &&
           from->list_size == to->list_size && from->n_children == to->n_children;
}

/* The rows that children have to have for every row of `from` to have its values. */
static bool children_are_long_enough(const oci_column *from)
{
    oci_layout layout = oci_field_layout(from->field);
    int64_t need = from->offset + from->length;
    if (layout == OCI_LAYOUT_FIXED_LIST && !oci_mul64(need, from->field->list_size, &need)) {
        return false;
    }
    if (layout != OCI_LAYOUT_FIXED_LIST && layout != OCI_LAYOUT_STRUCT &&
        layout != OCI_LAYOUT_SPARSE_UNION) {
        return true;
    }
    for (int32_t i = 0; i < from->field->n_children; i++) {
        if (from->length > 0 && from->children[i].length < need) {
            return false;
        }
    }
    return true;
}

static oc_status check_source(const oci_gather_column *column, const oci_column *from, bool views,
                              oc_error *err)
{
    if (!views && from->field != column->field && !same_shape(from->field, column->field)) {
        OC_FAIL(err, OC_EINTERNAL,
                "could not gather column \"%.80s\": a source holds %s where the output has %s",
                column->field->name, oci_type_name(from->field->type),
                oci_type_name(column->field->type));
    }
    if (column->n_children > 0 && !children_are_long_enough(from)) {
        OC_FAIL(err, OC_EDATA,
                "could not gather column \"%.80s\": a child has fewer rows than the column",
                column->field->name);
    }
    return OC_OK;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

/* Values, offsets or type ids of rows from slot `offset` on. */
static void prepare_values(const oci_gather_column *column, const oci_column *from, int64_t offset,
                           oci_gather_input *in)
{
    const uint8_t *values = from->values == NULL ? all_ones : from->values;
    int64_t end = from->offset + from->length;
    in->values = values;
    in->bytes = from->bytes == NULL ? all_ones : from->bytes;
    in->bytes_end = in->bytes;
    if (from->length == 0 || column->layout == OCI_LAYOUT_BITS) {
        return;
    }
    if (in->views) {
        in->values = values + offset * (int64_t)sizeof(oci_view);
        in->bytes_end = values + end * (int64_t)sizeof(oci_view);
    } else if (column->layout == OCI_LAYOUT_OFFSETS32) {
        in->values = values + offset * 4;
        in->bytes_end = in->bytes + (int32_t)oci_load_le32(values + end * 4);
    } else if (column->layout == OCI_LAYOUT_OFFSETS64) {
        in->values = values + offset * 8;
        in->bytes_end = in->bytes + (int64_t)oci_load_le64(values + end * 8);
    } else {
        in->values = values + offset * column->width;
    }
    if (column->layout == OCI_LAYOUT_DENSE_UNION) {
        in->bytes = from->child_offsets + offset * 4;
    }
}

static void prepare_lists(const oci_gather_column *column, const oci_column *from, int64_t offset,
                          oci_gather_input *in)
{
    int64_t width = column->layout == OCI_LAYOUT_LIST64 ? 8 : 4;
    in->values = all_ones;
    in->bytes = all_ones;
    in->child_rows = from->children[0].length;
    if (from->length > 0) {
        in->values = from->values + offset * width;
        in->bytes = in->views ? from->sizes + offset * width : all_ones;
    }
}

static bool same_values(const oci_column *a, const oci_column *b)
{
    if (a == b) {
        return true;
    }
    if (a == NULL || b == NULL || a->values != b->values || a->bytes != b->bytes ||
        a->validity != b->validity || a->view_buffers != b->view_buffers || a->sizes != b->sizes ||
        a->child_offsets != b->child_offsets || a->offset != b->offset || a->length != b->length ||
        a->dictionary != b->dictionary || a->field->type != b->field->type) {
        return false;
    }
    for (int32_t i = 0; i < a->field->n_children && a->children != b->children; i++) {
        if (!same_values(&a->children[i], &b->children[i])) {
            return false;
        }
    }
    return true;
}

static oc_status prepare_input(const oci_gather_column *column, const oci_column *from,
                               int64_t first, oci_gather_input *in, oci_gather_traits *traits,
                               oc_error *err)
{
    in->column = from;
    in->views = from->field != column->field &&
                holds_views(oci_field_layout(from->field), column->layout);
    OC_TRY(check_source(column, from, in->views, err));
    in->bit_offset = from->offset + first;
    in->validity = all_ones;
    in->validity_mask = 0;
    if (from->validity != NULL && from->null_count != 0 && !oci_gather_is_union(column)) {
        in->validity = from->validity;
        in->validity_mask = -1;
        traits->may_be_null = true;
    }
    if (oci_gather_is_list(column)) {
        prepare_lists(column, from, from->offset + first, in);
    } else {
        prepare_values(column, from, from->offset + first, in);
    }
    traits->has_views |= in->views;
    traits->has_offsets |= !in->views;
    return OC_OK;
}

oc_status oci_gather_prepare_inputs(const oci_gather_job *job, const oci_gather_column *column,
                                    int64_t skip, oci_gather_input *inputs,
                                    oci_gather_traits *traits, oc_error *err)
{
    const oci_gather_input *before = NULL;
    *traits = (oci_gather_traits){0};
    for (int64_t s = 0; s < job->n_sources; s++) {
        oci_gather_input *in = &inputs[s];
        int64_t first = column->first;
        const oci_column *from = column->step == OCI_GATHER_TOP
                                     ? top_column(job, column, s)
                                     : oci_gather_encoded(job, column, s, &first);
        in->column = NULL;
        if (from == NULL) {
            continue;
        }
        first += skip;
        while (from->field->type == OCI_TYPE_RUN_END_ENCODED) {
            traits->has_runs = true;
            from = &from->children[1];
            first = 0;
        }
        OC_TRY(prepare_input(column, from, first, in, traits, err));
        in->dictionary = (uint32_t)s;
        /* Batches of one stream or run mostly share their dictionary; neighbours are enough to see
         * that. */
        if (before != NULL && column->dictionary != NULL &&
            same_values(before->column->dictionary, from->dictionary)) {
            in->dictionary = before->dictionary;
        }
        before = in;
    }
    return OC_OK;
}

oc_status oci_gather_prepare(oci_gather_job *job, const oci_gather_column *column, int64_t skip,
                             oc_error *err)
{
    return oci_gather_prepare_inputs(job, column, skip, job->inputs, &job->traits, err);
}
