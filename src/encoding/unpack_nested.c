/* Packed columns back: nested layouts.
 *
 * Lengths become offsets by adding up. They are checked on the way: none is negative, and together
 * they come to the rows that the count in front of them said the child has. */
#include <string.h>

#include "base/bits.h"
#include "encoding/unpack_internal.h"

static void store(uint8_t *to, int64_t i, int width, int64_t value)
{
    switch (width) {
    case 2: oci_store_le16(to + i * 2, (uint16_t)value); break;
    case 4: oci_store_le32(to + i * 4, (uint32_t)value); break;
    default: oci_store_le64(to + i * 8, (uint64_t)value); break;
    }
}

static int64_t largest_of(int width)
{
    return width == 2 ? INT16_MAX : width == 4 ? INT32_MAX : INT64_MAX;
}

/* How far offsets may count, given the rows there are. */
static oc_status check_limit(int64_t rows, int width, oc_error *err)
{
    if (rows > largest_of(width)) {
        OC_FAIL(err, OC_EDATA, "%" PRId64 " rows are more than %d-bit numbers count", rows,
                8 * width);
    }
    return OC_OK;
}

static oc_status fail_sum(int64_t total, oc_error *err)
{
    OC_FAIL(err, OC_EDATA, "lengths of rows do not add up to %" PRId64, total);
}

/* Where lengths and their sums go, as numbers of `width` bytes; what is NULL is not wanted. */
typedef struct lengths_out {
    int width;
    uint8_t *starts;
    uint8_t *ends;
    uint8_t *lengths;
} lengths_out;

/* n lengths, each at least `least`, that come to `total`. out NULL: only passes over them. */
static oc_status unpack_lengths(oci_unpack_job *job, int64_t n, int64_t total, uint64_t least,
                                const lengths_out *out, oc_error *err)
{
    uint64_t page[OCI_PAGE_VALUES];
    oci_int_reader reader;
    int64_t sum = 0;
    OC_TRY(oci_unpack_open(job, n, &reader, err));
    if (out == NULL) {
        return OC_OK;
    }
    for (int64_t start = 0; start < n; start += OCI_PAGE_VALUES) {
        int64_t count = oci_min64(OCI_PAGE_VALUES, n - start);
        OC_TRY(oci_int_reader_next(&reader, page, count, err));
        for (int64_t i = 0; i < count; i++) {
            if (page[i] < least || page[i] > (uint64_t)(total - sum)) {
                return fail_sum(total, err);
            }
            if (out->starts != NULL) {
                store(out->starts, start + i, out->width, sum);
                store(out->lengths, start + i, out->width, (int64_t)page[i]);
            }
            sum += (int64_t)page[i];
            if (out->ends != NULL) {
                store(out->ends, start + i, out->width, sum);
            }
        }
    }
    return sum == total ? OC_OK : fail_sum(total, err);
}

/* Structs for the children. */
static oci_column *make_children(oci_unpack_job *job, oci_column *column)
{
    int64_t n = column->field->n_children;
    oci_column *children = oci_unpack_extra(job, n * (int64_t)sizeof *children);
    column->children = children;
    return children;
}

static oc_status unpack_child(oci_unpack_job *job, const oci_field *field, oci_column *children,
                              int32_t i, int64_t rows, oc_error *err)
{
    oci_column ignored = {0};
    return oci_unpack_node(job, &field->children[i], rows,
                           children != NULL ? &children[i] : &ignored, err);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static oc_status unpack_list(oci_unpack_job *job, oci_column *column, oc_error *err)
{
    int width = oci_field_offset_width(column->field);
    int64_t rows = 0, bytes = 0;
    uint8_t *offsets = NULL;
    oci_column *children = make_children(job, column);
    OC_TRY(oci_unpack_count(job, &rows, err));
    OC_TRY(check_limit(rows, width, err));
    OC_TRY(oci_unpack_product(column->length + 1, width, &bytes, err));
    OC_TRY(oci_unpack_room(job, bytes, &offsets, err));
    column->values = offsets;
    if (offsets == NULL) {
        OC_TRY(unpack_lengths(job, column->length, rows, 0, NULL, err));
    } else {
        lengths_out out = {.width = width, .ends = offsets + width};
        memset(offsets, 0, (size_t)width);
        OC_TRY(unpack_lengths(job, column->length, rows, 0, &out, err));
    }
    return unpack_child(job, column->field, children, 0, rows, err);
}

/* Numbers that say where in `limit` rows the `sizes` rows of each begin. */
static oc_status unpack_offsets(oci_unpack_job *job, int64_t n, int width, int64_t limit,
                                const uint8_t *sizes, uint8_t *offsets, oc_error *err)
{
    uint64_t page[OCI_PAGE_VALUES];
    oci_int_reader reader;
    OC_TRY(oci_unpack_open(job, n, &reader, err));
    for (int64_t start = 0; offsets != NULL && start < n; start += OCI_PAGE_VALUES) {
        int64_t count = oci_min64(OCI_PAGE_VALUES, n - start);
        OC_TRY(oci_int_reader_next(&reader, page, count, err));
        for (int64_t i = 0; i < count; i++) {
            int64_t row = start + i;
            uint64_t size = width == 4 ? oci_load_le32(sizes + row * 4)
                                       : oci_load_le64(sizes + row * 8);
            if (page[i] > (uint64_t)limit || size > (uint64_t)limit - page[i]) {
                OC_FAIL(err, OC_EDATA,
                        "row %" PRId64 " has %" PRIu64 " of %" PRId64 " rows from row %" PRIu64
                        " on",
                        row, size, limit, page[i]);
            }
            store(offsets, row, width, (int64_t)page[i]);
        }
    }
    return OC_OK;
}

static oc_status check_kind(const oci_node_header *header, oc_error *err)
{
    if (header->kind != OCI_OFFSETS_STORED && header->kind != OCI_OFFSETS_IN_ORDER) {
        OC_FAIL(err, OC_EDATA, "offsets have the unknown kind %d", header->kind);
    }
    return OC_OK;
}

static oc_status unpack_list_view(oci_unpack_job *job, const oci_node_header *header,
                                  oci_column *column, oc_error *err)
{
    int width = oci_field_offset_width(column->field);
    int64_t n = column->length, rows = 0, bytes = 0;
    uint8_t *offsets = NULL, *sizes = NULL;
    oci_column *children = make_children(job, column);
    OC_TRY(check_kind(header, err));
    OC_TRY(oci_unpack_count(job, &rows, err));
    OC_TRY(check_limit(rows, width, err));
    OC_TRY(oci_unpack_product(n, width, &bytes, err));
    OC_TRY(oci_unpack_room(job, bytes, &offsets, err));
    OC_TRY(oci_unpack_room(job, bytes, &sizes, err));
    column->values = offsets;
    column->sizes = sizes;
    if (header->kind == OCI_OFFSETS_IN_ORDER) {
        lengths_out out = {.width = width, .starts = offsets, .lengths = sizes};
        OC_TRY(unpack_lengths(job, n, rows, 0, offsets != NULL ? &out : NULL, err));
    } else {
        OC_TRY(oci_unpack_ints(job, n, width, sizes, err));
        OC_TRY(unpack_offsets(job, n, width, rows, sizes, offsets, err));
    }
    return unpack_child(job, column->field, children, 0, rows, err);
}

/* ---- structs, fixed-size lists --------------------------------------------------------------- */

static oc_status unpack_parallel(oci_unpack_job *job, oci_column *column, int64_t rows,
                                 oc_error *err)
{
    oci_column *children = make_children(job, column);
    for (int32_t i = 0; i < column->field->n_children; i++) {
        OC_TRY(unpack_child(job, column->field, children, i, rows, err));
    }
    return OC_OK;
}

static oc_status unpack_fixed_list(oci_unpack_job *job, oci_column *column, oc_error *err)
{
    int64_t rows = 0;
    OC_TRY(oci_unpack_product(column->length, column->field->list_size, &rows, err));
    OC_TRY(oci_unpack_check_rows(rows, err));
    return unpack_parallel(job, column, rows, err);
}

/* ---- unions ---------------------------------------------------------------------------------- */

static oc_status unpack_type_ids(oci_unpack_job *job, oci_column *column, oc_error *err)
{
    uint64_t page[OCI_PAGE_VALUES];
    int64_t n = column->length;
    oci_int_reader reader;
    uint8_t *ids = NULL;
    OC_TRY(oci_unpack_room(job, n, &ids, err));
    OC_TRY(oci_unpack_open(job, n, &reader, err));
    column->values = ids;
    for (int64_t start = 0; ids != NULL && start < n; start += OCI_PAGE_VALUES) {
        int64_t count = oci_min64(OCI_PAGE_VALUES, n - start);
        OC_TRY(oci_int_reader_next(&reader, page, count, err));
        for (int64_t i = 0; i < count; i++) {
            if (page[i] > 127 || column->field->union_ids->child_of[page[i]] < 0) {
                OC_FAIL(err, OC_EDATA,
                        "row %" PRId64 " has the type id %" PRIu64
                        ", which is none of its children's",
                        start + i, page[i]);
            }
            ids[start + i] = (uint8_t)page[i];
        }
    }
    return OC_OK;
}

/* Each row refers to the next row of its child; `rows` is how many each child has. */
static oc_status count_offsets(const oci_column *column, const int64_t *rows, uint8_t *offsets,
                               oc_error *err)
{
    int64_t next[128] = {0};
    for (int64_t row = 0; row < column->length; row++) {
        uint8_t id = column->values[row];
        if (next[id] >= rows[id]) {
            OC_FAIL(err, OC_EDATA, "type id %d has more than %" PRId64 " rows", id, rows[id]);
        }
        oci_store_le32(offsets + row * 4, (uint32_t)next[id]++);
    }
    return OC_OK;
}

static oc_status check_offsets(const oci_column *column, const int64_t *rows,
                               const uint8_t *offsets, oc_error *err)
{
    for (int64_t row = 0; row < column->length; row++) {
        uint8_t id = column->values[row];
        if (oci_load_le32(offsets + row * 4) >= (uint64_t)rows[id]) {
            OC_FAIL(err, OC_EDATA,
                    "row %" PRId64 " refers to row %" PRIu32 " of %" PRId64 " of a child", row,
                    oci_load_le32(offsets + row * 4), rows[id]);
        }
    }
    return OC_OK;
}

static oc_status unpack_dense_union(oci_unpack_job *job, const oci_node_header *header,
                                    oci_column *column, oc_error *err)
{
    const oci_field *field = column->field;
    oci_column *children = make_children(job, column);
    int64_t rows[128] = {0}, bytes = 0; /* by type id */
    uint8_t *offsets = NULL;
    OC_TRY(check_kind(header, err));
    for (int32_t i = 0; i < field->n_children; i++) {
        int64_t *count = &rows[field->union_ids->of_child[i]];
        OC_TRY(oci_unpack_count(job, count, err));
        OC_TRY(check_limit(*count, 4, err));
    }
    OC_TRY(unpack_type_ids(job, column, err));
    OC_TRY(oci_unpack_product(column->length, 4, &bytes, err));
    OC_TRY(oci_unpack_room(job, bytes, &offsets, err));
    column->child_offsets = offsets;
    if (header->kind == OCI_OFFSETS_STORED) {
        OC_TRY(oci_unpack_ints(job, column->length, 4, offsets, err));
    }
    if (offsets != NULL) {
        OC_TRY((header->kind == OCI_OFFSETS_STORED ? check_offsets(column, rows, offsets, err)
                                                   : count_offsets(column, rows, offsets, err)));
    }
    for (int32_t i = 0; i < field->n_children; i++) {
        int64_t count = rows[field->union_ids->of_child[i]];
        OC_TRY(unpack_child(job, field, children, i, count, err));
    }
    return OC_OK;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static oc_status unpack_runs(oci_unpack_job *job, oci_column *column, oc_error *err)
{
    const oci_field *field = column->field;
    int width = field->children[0].byte_width;
    int64_t n = 0, bytes = 0;
    uint8_t *ends = NULL;
    oci_column *children = make_children(job, column);
    OC_TRY(oci_unpack_count(job, &n, err));
    OC_TRY(check_limit(column->length, width, err));
    OC_TRY(oci_unpack_product(n, width, &bytes, err));
    OC_TRY(oci_unpack_room(job, bytes, &ends, err));
    lengths_out out = {.width = width, .ends = ends};
    OC_TRY(unpack_lengths(job, n, column->length, 1, ends != NULL ? &out : NULL, err));
    if (children != NULL) {
        children[0] = (oci_column){.field = &field->children[0], .length = n, .values = ends};
    }
    return unpack_child(job, field, children, 1, n, err);
}

oc_status oci_unpack_nested(oci_unpack_job *job, const oci_node_header *header, oci_column *column,
                            oc_error *err)
{
    switch (oci_field_layout(column->field)) {
    case OCI_LAYOUT_LIST32:
    case OCI_LAYOUT_LIST64: return unpack_list(job, column, err);
    case OCI_LAYOUT_LIST_VIEW32:
    case OCI_LAYOUT_LIST_VIEW64: return unpack_list_view(job, header, column, err);
    case OCI_LAYOUT_FIXED_LIST: return unpack_fixed_list(job, column, err);
    case OCI_LAYOUT_DENSE_UNION: return unpack_dense_union(job, header, column, err);
    case OCI_LAYOUT_RUN_ENDS: return unpack_runs(job, column, err);
    case OCI_LAYOUT_SPARSE_UNION: OC_TRY(unpack_type_ids(job, column, err)); break;
    default: break;
    }
    return unpack_parallel(job, column, column->length, err);
}
