/* Batches on their way out: from the working form to the types that were announced.
 *
 *   working                announced              what is made
 *   utf8, binary           utf8 / binary view     views, 16 bytes a row, into the bytes there are
 *   list, large list       list views             sizes; the offsets are there already
 *   T                      run-end encoded T      run ends, and the first value of every run
 *
 * at any depth, in dictionaries too. What lies beside and around them is shared: the new batch
 * keeps the old one alive and has columns of its own, with the labels of the announced schema.
 *
 * Two walks over the trees of the columns, as in gather: the first measures what is to be made, the
 * second writes it into one slab. Both are the same code: in the first walk take() gives no memory
 * and nothing is written. Runs are found, and their values gathered, in the first walk; the second
 * comes by them in the same order.
 *
 * Ranges. A slice of a list shares the whole child of the list, so what is made of a child is made
 * only of the rows that the parent's rows refer to; offsets are then written anew, counted from the
 * first of them. Otherwise the slices of one large batch would each turn all of it. Dictionaries
 * are turned as a whole.
 *
 * Where rows begin. Columns for which something is made begin at offset 0: buffers are shared from
 * their first row on, and a bitmap is copied when that row is not the first of a byte.
 *
 * Run ends count rows, and int16 counts to 32,767 only. A batch, or the child of a list in it, that
 * is longer cannot be handed out as one: oci_batch_output_rows says how many rows can.
 *
 * Memory is charged to `mem`: the slab, and the gathered values of runs, which are batches that the
 * result keeps; while it is made also 4 to 8 bytes a run. The structs of the columns are
 * malloc'ed, as many as the schema has fields. Frames are small, since the walks recurse once per
 * level of the type. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/batch.h"
#include "arrow/c_data.h"
#include "arrow/output_runs.h"
#include "base/bits.h"

typedef struct output_job {
    oci_mem *mem;
    bool is_filling;
    uint8_t *slab;
    int64_t at;          /* bytes taken so far */
    oci_column *columns; /* next free one */
    const uint8_t **buffers;
    int64_t *sizes;    /* of these buffers */
    oci_run_set *runs; /* one per run-end encoded column */
    int64_t n_runs;    /* of these met in this walk */
} output_job;

static oc_status build(output_job *job, const oci_column *have, const oci_field *want,
                       oci_column *out, oc_error *err);

/* ---- types ----------------------------------------------------------------------------------- */

/* Whether two fields are of one type when what is below them is left out. */
static bool same_node(const oci_field *a, const oci_field *b)
{
    oci_field bare_a = *a, bare_b = *b;
    if (a->type != b->type || a->n_children != b->n_children) {
        return false;
    }
    if (a->type == OCI_TYPE_DICTIONARY) {
        return a->index_type == b->index_type && a->dictionary_ordered == b->dictionary_ordered;
    }
    bare_a.n_children = bare_b.n_children = 0;
    return oci_field_same_type(&bare_a, &bare_b);
}

static bool is_working_node_of(oci_type have, oci_type want)
{
    return (have == OCI_TYPE_UTF8 && want == OCI_TYPE_UTF8_VIEW) ||
           (have == OCI_TYPE_BINARY && want == OCI_TYPE_BINARY_VIEW) ||
           (have == OCI_TYPE_LIST && want == OCI_TYPE_LIST_VIEW) ||
           (have == OCI_TYPE_LARGE_LIST && want == OCI_TYPE_LARGE_LIST_VIEW);
}

/* Whether `want` can be made of `have`. */
static bool can_become(const oci_field *have, const oci_field *want)
{
    while (want->type == OCI_TYPE_RUN_END_ENCODED && have->type != OCI_TYPE_RUN_END_ENCODED) {
        want = &want->children[1];
    }
    if (want->type == OCI_TYPE_RUN_END_ENCODED) {
        return oci_field_same_type(have, want);
    }
    if (!same_node(have, want) && !is_working_node_of(have->type, want->type)) {
        return false;
    }
    for (int32_t i = 0; i < want->n_children; i++) {
        if (!can_become(&have->children[i], &want->children[i])) {
            return false;
        }
    }
    return want->dictionary == NULL || can_become(have->dictionary, want->dictionary);
}

static bool has_runs(const oci_field *field)
{
    if (field->type == OCI_TYPE_RUN_END_ENCODED) {
        return true;
    }
    for (int32_t i = 0; i < field->n_children; i++) {
        if (has_runs(&field->children[i])) {
            return true;
        }
    }
    return field->dictionary != NULL && has_runs(field->dictionary);
}

/* What a tree of fields takes besides its buffers. */
typedef struct tree_size {
    int64_t columns; /* below the outermost */
    int64_t views;
    int64_t runs;
} tree_size;

static void count_tree(const oci_field *field, tree_size *size)
{
    size->views += oci_field_layout(field) == OCI_LAYOUT_VIEWS;
    size->runs += field->type == OCI_TYPE_RUN_END_ENCODED;
    size->columns += field->n_children + (field->dictionary != NULL);
    for (int32_t i = 0; i < field->n_children; i++) {
        count_tree(&field->children[i], size);
    }
    if (field->dictionary != NULL) {
        count_tree(field->dictionary, size);
    }
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Rows [first, first + n) of a column. */
static oci_column part_of(const oci_column *column, int64_t first, int64_t n)
{
    oci_column part = *column;
    part.length = n;
    if (column->field->type == OCI_TYPE_NULL) {
        part.null_count = n;
        return part;
    }
    part.offset += first;
    if (n != column->length) {
        part.null_count = column->validity == NULL || column->null_count == 0 ? 0 : -1;
    }
    return part;
}

/* Memory of the slab, 8-byte aligned and padded with zeros; NULL while measuring. */
static uint8_t *take(output_job *job, int64_t bytes)
{
    uint8_t *memory = job->is_filling ? job->slab + job->at : NULL;
    int64_t padded = oci_round_up(bytes, 8);
    if (memory != NULL) {
        memset(memory + bytes, 0, (size_t)(padded - bytes));
    }
    job->at += padded;
    return memory;
}

static oci_column *take_columns(output_job *job, int32_t n)
{
    oci_column *columns = job->columns;
    job->columns += n;
    return columns;
}

/* Lets `out` begin at offset 0. */
static void begin_at_zero(output_job *job, const oci_column *have, oci_column *out)
{
    out->offset = 0;
    if (have->validity == NULL || have->length == 0) {
        out->validity = NULL;
        out->null_count = 0;
    } else if (have->offset % 8 == 0) {
        out->validity = have->validity + have->offset / 8;
    } else {
        int64_t bytes = oci_bytes_for_bits(have->length);
        uint8_t *validity = take(job, bytes);
        if (validity != NULL) {
            validity[bytes - 1] = 0; /* bits behind the last row */
            oci_bits_copy(validity, 0, have->validity, have->offset, have->length);
        }
        out->validity = validity;
    }
}

static int64_t list_offset(const oci_column *column, int64_t slot)
{
    return oci_field_layout(column->field) == OCI_LAYOUT_LIST32
               ? (int32_t)oci_load_le32(column->values + slot * 4)
               : (int64_t)oci_load_le64(column->values + slot * 8);
}

/* The rows of the child that the rows of a list column refer to. */
static void list_range(const oci_column *column, int64_t *first, int64_t *end)
{
    *first = *end = 0;
    if (column->length > 0) {
        *first = list_offset(column, column->offset);
        *end = list_offset(column, column->offset + column->length);
    }
}

/* The same for child i of a dense union, whose rows refer to it in any order. */
static void union_range(const oci_column *column, int32_t child, int64_t *first, int64_t *end)
{
    *first = INT64_MAX;
    *end = 0;
    for (int64_t row = 0; row < column->length; row++) {
        int64_t child_row;
        if (oci_column_union_at(column, row, &child_row) == child) {
            *first = oci_min64(*first, child_row);
            *end = oci_max64(*end, child_row + 1);
        }
    }
    *first = oci_min64(*first, *end);
}

/* ---- views ----------------------------------------------------------------------------------- */

/* Writes the view of bytes[start, end). */
static void write_view(uint8_t *view, const uint8_t *bytes, int32_t start, int32_t end)
{
    int32_t length = end - start;
    memset(view, 0, 16);
    memcpy(view, &length, 4);
    if (length <= 12) {
        memcpy(view + 4, bytes + start, (size_t)length);
    } else {
        memcpy(view + 4, bytes + start, 4); /* prefix */
        memcpy(view + 12, &start, 4);       /* of buffer 0 */
    }
}

static void write_views(const oci_column *column, uint8_t *views)
{
    const uint8_t *offsets = column->values + column->offset * 4;
    int32_t start, end;
    memcpy(&start, offsets, 4);
    for (int64_t row = 0; row < column->length; row++, start = end) {
        memcpy(&end, offsets + (row + 1) * 4, 4);
        if (column->validity != NULL && !oci_bit_get(column->validity, column->offset + row)) {
            memset(views + row * 16, 0, 16);
        } else {
            write_view(views + row * 16, column->bytes, start, end);
        }
    }
}

static void build_views(output_job *job, const oci_column *have, oci_column *out)
{
    begin_at_zero(job, have, out);
    uint8_t *views = take(job, have->length * 16);
    int32_t end = 0;
    if (have->length > 0) {
        memcpy(&end, have->values + (have->offset + have->length) * 4, 4);
    }
    if (views != NULL && have->length > 0) {
        write_views(have, views);
    }
    *job->buffers = have->bytes != NULL ? have->bytes : oci_zeros;
    *job->sizes = end;
    out->values = have->length > 0 ? views : oci_zeros;
    out->bytes = NULL;
    out->view_buffers = job->buffers++;
    out->view_sizes = job->sizes++;
    out->n_view_buffers = 1;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void store_offset(uint8_t *offsets, int64_t i, int64_t width, int64_t value)
{
    if (width == 4) {
        oci_store_le32(offsets + i * 4, (uint32_t)value);
    } else {
        oci_store_le64(offsets + i * 8, (uint64_t)value);
    }
}

/* Offsets counted from `first`, one more than rows. */
static void write_offsets(const oci_column *have, int64_t first, int64_t width, uint8_t *offsets)
{
    for (int64_t row = 0; row <= have->length; row++) {
        store_offset(offsets, row, width, list_offset(have, have->offset + row) - first);
    }
}

static void write_sizes(const oci_column *have, int64_t width, uint8_t *sizes)
{
    for (int64_t row = 0; row < have->length; row++) {
        int64_t slot = have->offset + row;
        store_offset(sizes, row, width, list_offset(have, slot + 1) - list_offset(have, slot));
    }
}

/* Lists and list views: sizes when they are announced, offsets when they count from elsewhere. */
static oc_status build_list(output_job *job, const oci_column *have, const oci_field *want,
                            oci_column *out, oc_error *err)
{
    int64_t width = oci_field_layout(have->field) == OCI_LAYOUT_LIST32 ? 4 : 8;
    int64_t n = have->length, first, end;
    bool shares_child = oci_field_same_type(have->children[0].field, &want->children[0]);
    begin_at_zero(job, have, out);
    list_range(have, &first, &end);
    if (n == 0) {
        out->values = oci_zeros;
    } else if (shares_child || first == 0) {
        out->values = have->values + have->offset * width;
    } else {
        uint8_t *offsets = take(job, (n + 1) * width);
        if (offsets != NULL) {
            write_offsets(have, first, width, offsets);
        }
        out->values = offsets;
    }
    if (want->type != have->field->type) {
        uint8_t *sizes = take(job, n * width);
        if (sizes != NULL && n > 0) {
            write_sizes(have, width, sizes);
        }
        out->sizes = n > 0 ? sizes : oci_zeros;
    }
    oci_column child = shares_child ? have->children[0]
                                    : part_of(&have->children[0], first, end - first);
    oci_column *children = take_columns(job, 1);
    out->children = children;
    return build(job, &child, &want->children[0], children, err);
}

/* ---- structs, sparse unions, fixed-size lists ------------------------------------------------ */

/* Columns whose row i is rows [i * factor, (i + 1) * factor) of every child. */
static oc_status build_parallel(output_job *job, const oci_column *have, const oci_field *want,
                                int64_t factor, oci_column *out, oc_error *err)
{
    begin_at_zero(job, have, out);
    oci_column *children = take_columns(job, want->n_children);
    out->children = children;
    if (have->values != NULL) {
        out->values = have->values + have->offset; /* type ids */
    }
    for (int32_t i = 0; i < want->n_children; i++) {
        oci_column child =
            part_of(&have->children[i], have->offset * factor, have->length * factor);
        OC_TRY(build(job, &child, &want->children[i], &children[i], err));
    }
    return OC_OK;
}

/* ---- dense unions ---------------------------------------------------------------------------- */

/* Makes the rows of one child count from `first`. */
static void move_rows(const oci_column *have, int32_t child, int64_t first, uint8_t *child_offsets)
{
    for (int64_t row = 0; row < have->length; row++) {
        int64_t child_row;
        if (oci_column_union_at(have, row, &child_row) == child) {
            oci_store_le32(child_offsets + row * 4, (uint32_t)(child_row - first));
        }
    }
}

static oc_status build_dense_union(output_job *job, const oci_column *have, const oci_field *want,
                                   oci_column *out, oc_error *err)
{
    int64_t n = have->length;
    uint8_t *child_offsets = take(job, n * 4);
    oci_column *children = take_columns(job, want->n_children);
    out->offset = 0;
    out->values = n > 0 ? have->values + have->offset : oci_zeros;
    out->child_offsets = n > 0 ? child_offsets : oci_zeros;
    out->children = children;
    if (child_offsets != NULL && n > 0) {
        memcpy(child_offsets, have->child_offsets + have->offset * 4, (size_t)n * 4);
    }
    for (int32_t i = 0; i < want->n_children; i++) {
        int64_t first = 0, end = have->children[i].length;
        if (!oci_field_same_type(have->children[i].field, &want->children[i])) {
            union_range(have, i, &first, &end);
        }
        if (child_offsets != NULL && first > 0) {
            move_rows(have, i, first, child_offsets);
        }
        oci_column child = part_of(&have->children[i], first, end - first);
        OC_TRY(build(job, &child, &want->children[i], &children[i], err));
    }
    return OC_OK;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static int64_t run_end_max(const oci_field *want)
{
    return want->children[0].type == OCI_TYPE_INT16 ? INT16_MAX : OCI_RUN_ROWS_MAX;
}

static oc_status fail_too_long(const oci_column *have, const oci_field *want, oc_error *err)
{
    OC_FAIL(err, OC_EUNSUPPORTED,
            "column \"%.80s\" has %" PRId64 " values in one batch, but its run ends of type %s "
            "count to %" PRId64 " only; ask for smaller batches",
            want->name, have->length, oci_type_name(want->children[0].type), run_end_max(want));
}

/* A run ends where the next one starts. */
static void write_run_ends(const oci_run_set *runs, int64_t length, int64_t width, uint8_t *ends)
{
    for (int64_t i = 0; i < runs->n; i++) {
        int64_t end = i + 1 < runs->n ? runs->starts[i + 1] : length;
        if (width == 2) {
            oci_store_le16(ends + i * 2, (uint16_t)end);
        } else {
            store_offset(ends, i, width, end);
        }
    }
}

static oc_status build_runs(output_job *job, const oci_column *have, const oci_field *want,
                            oci_column *out, oc_error *err)
{
    if (have->length > run_end_max(want)) {
        return fail_too_long(have, want, err);
    }
    oci_run_set *runs = &job->runs[job->n_runs++];
    if (!job->is_filling) {
        OC_TRY(oci_run_set_find(runs, have, job->mem, err));
    }
    int64_t width = want->children[0].byte_width;
    uint8_t *ends = take(job, runs->n * width);
    if (ends != NULL) {
        write_run_ends(runs, have->length, width, ends);
    }
    oci_column *children = take_columns(job, 2);
    children[0] = (oci_column){
        .field = &want->children[0], .length = runs->n, .values = runs->n > 0 ? ends : oci_zeros};
    *out = (oci_column){.field = want, .length = have->length, .children = children};
    return build(job, &runs->picked, &want->children[1], &children[1], err);
}

/* ---- all together ---------------------------------------------------------------------------- */

/* Makes `out` of a column (a part of it, often), of a type that has been found to fit. */
static oc_status build(output_job *job, const oci_column *have, const oci_field *want,
                       oci_column *out, oc_error *err)
{
    if (oci_field_same_type(have->field, want)) {
        oci_column_share(have, want, out, &job->columns);
        return OC_OK;
    }
    *out = *have;
    out->field = want;
    switch (oci_field_layout(want)) {
    case OCI_LAYOUT_VIEWS: build_views(job, have, out); return OC_OK;
    case OCI_LAYOUT_LIST32:
    case OCI_LAYOUT_LIST64:
    case OCI_LAYOUT_LIST_VIEW32:
    case OCI_LAYOUT_LIST_VIEW64: return build_list(job, have, want, out, err);
    case OCI_LAYOUT_FIXED_LIST: return build_parallel(job, have, want, want->list_size, out, err);
    case OCI_LAYOUT_STRUCT:
    case OCI_LAYOUT_SPARSE_UNION: return build_parallel(job, have, want, 1, out, err);
    case OCI_LAYOUT_DENSE_UNION: return build_dense_union(job, have, want, out, err);
    case OCI_LAYOUT_RUN_ENDS: return build_runs(job, have, want, out, err);
    default: break;
    }
    assert(want->type == OCI_TYPE_DICTIONARY);
    oci_column *values = take_columns(job, 1);
    out->dictionary = values;
    return build(job, have->dictionary, want->dictionary, values, err);
}

/* One walk over all columns. `extra` is what the tree takes: columns, buffers, sizes. */
static oc_status walk(output_job *job, const oci_batch *batch, const oci_schema *schema,
                      const tree_size *size, void *extra, oci_column *columns, oc_error *err)
{
    job->at = 0;
    job->n_runs = 0;
    job->columns = extra;
    job->buffers = (const uint8_t **)(void *)(job->columns + size->columns);
    job->sizes = (int64_t *)(void *)(job->buffers + size->views);
    for (int32_t i = 0; i < schema->n_fields; i++) {
        OC_TRY(build(job, &batch->columns[i], &schema->fields[i], &columns[i], err));
    }
    return OC_OK;
}

static void deinit_job(output_job *job, const tree_size *size)
{
    for (int64_t i = 0; job->runs != NULL && i < size->runs; i++) {
        oci_run_set_deinit(&job->runs[i], job->mem);
    }
    free(job->runs);
}

/* Lets the batch keep the values of its runs. */
static oc_status keep_values(output_job *job, oci_batch *batch, oc_error *err)
{
    for (int64_t i = 0; i < job->n_runs; i++) {
        oci_batch *values = job->runs[i].values;
        job->runs[i].values = NULL;
        if (values != NULL) {
            OC_TRY(oci_batch_keep(batch, values, err));
        }
    }
    return OC_OK;
}

static oc_status convert(oci_batch *batch, oci_schema *schema, oci_mem *mem, oci_batch **out,
                         oc_error *err)
{
    oc_status status = OC_OK;
    tree_size size = {0};
    for (int32_t i = 0; i < schema->n_fields; i++) {
        count_tree(&schema->fields[i], &size);
    }
    int64_t extra_bytes = size.columns * (int64_t)sizeof(oci_column) +
                          size.views * (int64_t)(sizeof(uint8_t *) + sizeof(int64_t));
    /* One more of each: malloc of nothing may give NULL. */
    oci_column *columns = calloc((size_t)schema->n_fields + 1, sizeof *columns);
    void *extra = calloc(1, (size_t)extra_bytes + 1);
    output_job job = {.mem = mem, .runs = calloc((size_t)size.runs + 1, sizeof *job.runs)};
    void *slab = NULL;
    if (columns == NULL || extra == NULL || job.runs == NULL) {
        status = OC_SET(err, OC_ENOMEM, "out of memory while handing out a batch");
        goto done;
    }
    OC_GOTO(walk(&job, batch, schema, &size, extra, columns, err));
    int64_t slab_bytes = job.at;
    if (slab_bytes > 0) {
        OC_GOTO(oci_mem_alloc(mem, slab_bytes, &slab, err));
        job.slab = slab;
        job.is_filling = true;
        oc_status again = walk(&job, batch, schema, &size, extra, columns, NULL);
        assert(again == OC_OK && job.at == slab_bytes);
        (void)again;
    }
    status = oci_batch_adopt(schema, batch->length, columns, mem, slab, slab_bytes, extra,
                             extra_bytes, out, err);
    columns = NULL; /* adopt has taken all three, whatever it says */
    extra = NULL;
    if (status == OC_OK) {
        (*out)->parent = oci_batch_retain(batch);
        status = keep_values(&job, *out, err);
    }
done:
    if (status != OC_OK) {
        oci_batch_release(*out);
        *out = NULL;
    }
    deinit_job(&job, &size);
    free(columns);
    free(extra);
    return status;
}

static oc_status check_types(const oci_batch *batch, const oci_schema *schema, bool *is_same,
                             oc_error *err)
{
    if (batch->schema->n_fields != schema->n_fields) {
        OC_FAIL(err, OC_EINVAL,
                "a batch of %" PRId32 " columns cannot be handed out with a schema of %" PRId32,
                batch->schema->n_fields, schema->n_fields);
    }
    *is_same = true;
    for (int32_t i = 0; i < schema->n_fields; i++) {
        const oci_field *have = &batch->schema->fields[i], *want = &schema->fields[i];
        *is_same = *is_same && oci_field_same_type(have, want);
        if (!can_become(have, want)) {
            char have_text[128], want_text[128];
            oci_field_type_text(have, have_text, sizeof have_text);
            oci_field_type_text(want, want_text, sizeof want_text);
            OC_FAIL(err, OC_EINVAL, "column \"%.80s\" of type %s cannot be handed out as %s",
                    want->name, have_text, want_text);
        }
    }
    return OC_OK;
}

oc_status oci_batch_output(oci_batch *batch, oci_schema *schema, oci_mem *mem, oci_batch **out,
                           oc_error *err)
{
    bool is_same = batch->schema == schema;
    *out = NULL;
    if (!is_same) {
        OC_TRY(check_types(batch, schema, &is_same, err));
    }
    if (batch->schema == schema) {
        *out = oci_batch_retain(batch);
        return OC_OK;
    }
    return is_same ? oci_batch_share(batch, schema, NULL, out, err)
                   : convert(batch, schema, mem, out, err);
}

/* ---- how many rows --------------------------------------------------------------------------- */

static bool runs_fit(const oci_column *have, const oci_field *want);

/* Whether the rows of child i that are referred to fit. */
static bool child_fits(const oci_column *have, const oci_field *want, int32_t i)
{
    int64_t factor = want->type == OCI_TYPE_FIXED_LIST ? want->list_size : 1;
    int64_t first = have->offset * factor, end = (have->offset + have->length) * factor;
    oci_layout layout = oci_field_layout(have->field);
    if (layout == OCI_LAYOUT_LIST32 || layout == OCI_LAYOUT_LIST64) {
        list_range(have, &first, &end);
    } else if (layout == OCI_LAYOUT_DENSE_UNION) {
        union_range(have, i, &first, &end);
    }
    oci_column child = part_of(&have->children[i], first, end - first);
    return runs_fit(&child, &want->children[i]);
}

/* Whether no run-end encoded column in this part of a column gets longer than its ends can count.
 * Values of runs are taken for as many as there are rows. */
static bool runs_fit(const oci_column *have, const oci_field *want)
{
    while (want->type == OCI_TYPE_RUN_END_ENCODED) {
        if (have->length > run_end_max(want)) {
            return false;
        }
        want = &want->children[1];
    }
    for (int32_t i = 0; i < want->n_children; i++) {
        if (has_runs(&want->children[i]) && !child_fits(have, want, i)) {
            return false;
        }
    }
    return want->dictionary == NULL || !has_runs(want->dictionary) ||
           runs_fit(have->dictionary, want->dictionary);
}

int64_t oci_batch_output_rows(const oci_batch *batch, const oci_schema *schema, int64_t start,
                              int64_t n)
{
    for (int32_t i = 0; i < schema->n_fields; i++) {
        const oci_column *column = &batch->columns[i];
        while (n > 1 && has_runs(&schema->fields[i]) && !has_runs(column->field)) {
            oci_column part = part_of(column, start, n);
            if (runs_fit(&part, &schema->fields[i])) {
                break;
            }
            n = (n + 1) / 2;
        }
    }
    return n;
}

/* The fewest rows that run ends of a field or what is below it can count. */
static int64_t least_run_end_max(const oci_field *field)
{
    int64_t rows = field->type == OCI_TYPE_RUN_END_ENCODED ? run_end_max(field) : INT64_MAX;
    for (int32_t i = 0; i < field->n_children; i++) {
        rows = oci_min64(rows, least_run_end_max(&field->children[i]));
    }
    return field->dictionary == NULL ? rows : oci_min64(rows, least_run_end_max(field->dictionary));
}

int64_t oci_schema_output_rows(const oci_schema *schema)
{
    int64_t rows = INT64_MAX;
    for (int32_t i = 0; i < schema->n_fields; i++) {
        rows = oci_min64(rows, least_run_end_max(&schema->fields[i]));
    }
    return rows;
}
