/* Gather: what nested columns have themselves, beside validity and type ids, which are bits and
 * values like any other: offsets of lists, and the rows of dense unions' children. Sources hold
 * lists as offsets or as views, the output always as offsets.
 *
 * The scan counts the rows of the children, and is where lists and rows that come from outside are
 * checked: all that is derived later (gather_cursor.c) relies on it. Null slots count as empty
 * lists, whatever they hold. */
#include "arrow/gather_internal.h"

/* Longer lists are not in memory: bounds sums far below overflow. */
#define LIST_ROWS_BITS  50
#define CHILD_ROWS_BITS 60

/* ---- lists ----------------------------------------------------------------------------------- */

typedef struct scan_result {
    int64_t n_rows;
    bool has_nulls;
    bool is_sane;
} scan_result;

static inline __attribute__((always_inline)) scan_result scan_lists(const oci_gather_input *inputs,
                                                                    const oci_row_ref *rows,
                                                                    int64_t n, bool wide)
{
    int64_t n_rows = 0;
    int64_t excess = 0; /* not 0 when a start or a length is negative or too large */
    int64_t room = 0;   /* negative when a list goes beyond its child */
    int64_t all_valid = 1;
    for (int64_t i = 0; i < n; i++) {
        oci_row_ref ahead = rows[i + OCI_GATHER_AHEAD < n ? i + OCI_GATHER_AHEAD : i];
        __builtin_prefetch(inputs[ahead.source].values + (int64_t)ahead.row * (wide ? 8 : 4));
        const oci_gather_input *in = &inputs[rows[i].source];
        int64_t valid = oci_gather_is_valid(in, rows[i].row);
        int64_t start;
        int64_t length;
        oci_gather_load_list(in, rows[i].row, wide, &start, &length);
        start &= -valid;
        length &= -valid;
        all_valid &= valid;
        excess |= (start | length) >> LIST_ROWS_BITS;
        room |= (int64_t)((uint64_t)in->child_rows - (uint64_t)start - (uint64_t)length);
        n_rows = (int64_t)((uint64_t)n_rows + (uint64_t)length);
    }
    return (scan_result){
        .n_rows = n_rows, .has_nulls = all_valid == 0, .is_sane = excess == 0 && room >= 0};
}

oc_status oci_gather_scan_lists(oci_gather_job *job, oci_gather_column *column,
                                const oci_row_ref *rows, int64_t n, oc_error *err)
{
    scan_result result = column->layout == OCI_LAYOUT_LIST64
                             ? scan_lists(job->inputs, rows, n, true)
                             : scan_lists(job->inputs, rows, n, false);
    oci_gather_column *child = &column->children[0];
    if (!result.is_sane || (child->n_rows + result.n_rows) >> CHILD_ROWS_BITS != 0) {
        OC_FAIL(err, OC_EDATA,
                "could not gather column \"%.80s\": the offsets of a list are out of bounds",
                column->field->name);
    }
    child->n_rows += result.n_rows;
    child->n_rows_new += result.n_rows;
    column->has_nulls |= result.has_nulls;
    return OC_OK;
}

void oci_gather_fill_lists(oci_gather_job *job, oci_gather_column *column, const oci_row_ref *rows,
                           int64_t n, int64_t at)
{
    bool wide = column->layout == OCI_LAYOUT_LIST64;
    int64_t width = wide ? 8 : 4;
    uint8_t *offsets = job->slab + column->values_at;
    int64_t end = column->children[0].n_rows_filled;
    if (at == 0) {
        memset(offsets, 0, (size_t)width);
    }
    for (int64_t i = 0; i < n; i++) {
        oci_row_ref ahead = rows[i + OCI_GATHER_AHEAD < n ? i + OCI_GATHER_AHEAD : i];
        __builtin_prefetch(job->inputs[ahead.source].values + (int64_t)ahead.row * width);
        const oci_gather_input *in = &job->inputs[rows[i].source];
        int64_t valid = oci_gather_is_valid(in, rows[i].row);
        int64_t start;
        int64_t length;
        oci_gather_load_list(in, rows[i].row, wide, &start, &length);
        end += length & -valid;
        if (wide) {
            oci_store_le64(offsets + (at + i + 1) * 8, (uint64_t)end);
        } else {
            oci_store_le32(offsets + (at + i + 1) * 4, (uint32_t)end);
        }
    }
    column->children[0].n_rows_filled = end;
    oci_gather_pad(offsets, (at + n + 1) * width);
}

int64_t oci_gather_list_span(const oci_column *from, int64_t first, int64_t n, int64_t *start)
{
    oci_layout layout = oci_field_layout(from->field);
    int64_t slot = from->offset + first;
    int64_t end;
    if (layout == OCI_LAYOUT_LIST32) {
        *start = (int32_t)oci_load_le32(from->values + slot * 4);
        end = (int32_t)oci_load_le32(from->values + (slot + n) * 4);
    } else if (layout == OCI_LAYOUT_LIST64) {
        *start = (int64_t)oci_load_le64(from->values + slot * 8);
        end = (int64_t)oci_load_le64(from->values + (slot + n) * 8);
    } else {
        return -1;
    }
    return *start < 0 || end < *start || end > from->children[0].length ? -1 : end - *start;
}

/* ---- dense unions ---------------------------------------------------------------------------- */

oc_status oci_gather_scan_dense(oci_gather_job *job, oci_gather_column *column,
                                const oci_row_ref *rows, int64_t n, oc_error *err)
{
    const oci_union_ids *ids = column->field->union_ids;
    int64_t counts[128] = {0};
    for (int64_t i = 0; i < n; i++) {
        oci_row_ref ahead = rows[i + OCI_GATHER_AHEAD < n ? i + OCI_GATHER_AHEAD : i];
        __builtin_prefetch(job->inputs[ahead.source].values + ahead.row);
        __builtin_prefetch(job->inputs[ahead.source].bytes + (int64_t)ahead.row * 4);
        const oci_gather_input *in = &job->inputs[rows[i].source];
        int8_t id = (int8_t)in->values[rows[i].row];
        int32_t row = (int32_t)oci_load_le32(in->bytes + (int64_t)rows[i].row * 4);
        int32_t child = id < 0 ? -1 : ids->child_of[id];
        if (child < 0 || row < 0 || row >= in->column->children[child].length) {
            OC_FAIL(err, OC_EDATA,
                    "could not gather column \"%.80s\": type id %d, row %" PRId32
                    " of its child, is out of bounds",
                    column->field->name, id, row);
        }
        counts[child]++;
    }
    for (int32_t c = 0; c < column->n_children; c++) {
        column->children[c].n_rows += counts[c];
        column->children[c].n_rows_new += counts[c];
    }
    return OC_OK;
}

void oci_gather_fill_dense(oci_gather_job *job, oci_gather_column *column, int64_t n, int64_t at)
{
    const oci_union_ids *ids = column->field->union_ids;
    const uint8_t *type_ids = job->slab + column->values_at;
    uint8_t *child_rows = job->slab + column->bytes_at;
    for (int64_t i = at; i < at + n; i++) {
        oci_gather_column *child = &column->children[ids->child_of[type_ids[i]]];
        oci_store_le32(child_rows + i * 4, (uint32_t)child->n_rows_filled++);
    }
    oci_gather_pad(child_rows, (at + n) * 4);
}
