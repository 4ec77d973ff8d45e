/* Checking that every value of a batch can be reached inside its buffers.
 *
 * Batches that come from outside are checked once, here; after that the loops of gather, key
 * encoding and merging trust what they read. What is checked: offsets never step back (even
 * across null slots: slices and range copies rely on it), views stay inside their buffers,
 * dictionary indices stay inside their dictionary, and what refers to rows of a child (list
 * offsets, list views, type ids, offsets of unions, run ends) stays inside that child. Slots that
 * are null may hold any view or index; list views must be sound under nulls as well, as the format
 * demands.
 *
 * How much of a child is looked at. Children that come from a file are checked as a whole. An array
 * from the C data interface is often a thin slice of a large one, handed in slice by slice with the
 * whole child each time: there, children of lists, structs and sparse unions are checked only where
 * rows of the slice refer to them, or a long table in short slices would take quadratic time.
 *
 * The loops only gather evidence, without a branch per row, so that the compiler can turn them
 * into vector code; a second, slow walk finds the row for the message once something is known to
 * be wrong. The true sizes of buffers are not part of the C data interface: where nobody can tell
 * them (`bytes_size` -1), only the order is checked. Recurses once per level of the type. */
#include <assert.h>
#include <string.h>

#include "arrow/batch.h"
#include "arrow/c_data.h"
#include "base/bits.h"

static int32_t load_i32(const uint8_t *p)
{
    int32_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

static int64_t load_i64(const uint8_t *p)
{
    int64_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

static bool slot_is_valid(const oci_column *column, int64_t row)
{
    return column->validity == NULL || oci_bit_get(column->validity, column->offset + row);
}

/* How much of the children is checked. */
typedef enum child_extent { WHOLE_CHILDREN, REFERRED_ROWS } child_extent;

static oc_status validate_column(const oci_column *column, int64_t bytes_size, child_extent extent,
                                 oc_error *err);

/* Checks the rows [start, start + length) of a child, or all of it; the caller has seen that they
 * are there. */
static oc_status validate_child(const oci_column *parent, const oci_column *child, int64_t start,
                                int64_t length, child_extent extent, oc_error *err)
{
    oci_column part = *child;
    if (extent == REFERRED_ROWS) {
        part.offset += start;
        part.length = length;
    }
    return oci_in_child_of(parent->field, validate_column(&part, -1, extent, err), err);
}

/* ---- offsets --------------------------------------------------------------------------------- */

static bool has_narrow_offsets(const oci_column *column)
{
    oci_layout layout = oci_field_layout(column->field);
    return layout == OCI_LAYOUT_OFFSETS32 || layout == OCI_LAYOUT_LIST32 ||
           layout == OCI_LAYOUT_LIST_VIEW32;
}

static int64_t offset_at(const oci_column *column, int64_t row)
{
    const uint8_t *values = column->values;
    return has_narrow_offsets(column) ? load_i32(values + (column->offset + row) * 4)
                                      : load_i64(values + (column->offset + row) * 8);
}

static bool offsets32_ascend(const uint8_t *offsets, int64_t n)
{
    uint32_t bad = 0;
    for (int64_t i = 0; i < n; i++) {
        bad |= load_i32(offsets + (i + 1) * 4) < load_i32(offsets + i * 4);
    }
    return bad == 0;
}

static bool offsets64_ascend(const uint8_t *offsets, int64_t n)
{
    uint64_t bad = 0;
    for (int64_t i = 0; i < n; i++) {
        bad |= load_i64(offsets + (i + 1) * 8) < load_i64(offsets + i * 8);
    }
    return bad == 0;
}

/* What offsets count, for messages. */
static const char *unit_of(const oci_column *column)
{
    return column->children != NULL ? "row" : "byte";
}

static oc_status fail_descending(const oci_column *column, oc_error *err)
{
    int64_t row = 0;
    while (offset_at(column, row) <= offset_at(column, row + 1)) {
        row++;
    }
    OC_FAIL(err, OC_EDATA,
            "column \"%.80s\" has damaged offsets: row %" PRId64 " starts at %s %" PRId64
            " and ends at %s %" PRId64,
            column->field->name, row, unit_of(column), offset_at(column, row), unit_of(column),
            offset_at(column, row + 1));
}

/* `size` is what they may count up to: bytes, or rows of the child; -1 when nobody knows. */
static oc_status validate_offsets(const oci_column *column, int64_t size, oc_error *err)
{
    if (column->length == 0) {
        return OC_OK;
    }
    bool ascend = has_narrow_offsets(column)
                      ? offsets32_ascend(column->values + column->offset * 4, column->length)
                      : offsets64_ascend(column->values + column->offset * 8, column->length);
    if (!ascend) {
        return fail_descending(column, err);
    }
    int64_t first = offset_at(column, 0);
    int64_t last = offset_at(column, column->length);
    if (first < 0) {
        OC_FAIL(err, OC_EDATA,
                "column \"%.80s\" has damaged offsets: the first one, %" PRId64 ", is negative",
                column->field->name, first);
    }
    if (size >= 0 && last > size) {
        OC_FAIL(err, OC_EDATA,
                "column \"%.80s\" has damaged offsets: the last one is %" PRId64
                ", but there are only %" PRId64 " %ss",
                column->field->name, last, size, unit_of(column));
    }
    return OC_OK;
}

static oc_status validate_list(const oci_column *column, child_extent extent, oc_error *err)
{
    const oci_column *child = column->children;
    OC_TRY(validate_offsets(column, child->length, err));
    int64_t first = column->length > 0 ? offset_at(column, 0) : 0;
    int64_t last = column->length > 0 ? offset_at(column, column->length) : 0;
    return validate_child(column, child, first, last - first, extent, err);
}

/* ---- views ----------------------------------------------------------------------------------- */

static bool view_is_sound(const oci_column *column, int64_t row)
{
    const uint8_t *view = column->values + (column->offset + row) * 16;
    int32_t length = load_i32(view);
    if (length <= 12) {
        return length >= 0;
    }
    int32_t buffer = load_i32(view + 8);
    int32_t start = load_i32(view + 12);
    return buffer >= 0 && buffer < column->n_view_buffers && start >= 0 &&
           (int64_t)start + length <= column->view_sizes[buffer];
}

static oc_status validate_views(const oci_column *column, oc_error *err)
{
    for (int32_t i = 0; i < column->n_view_buffers; i++) {
        if (column->view_sizes[i] < 0) {
            OC_FAIL(err, OC_EDATA,
                    "column \"%.80s\" has a damaged view buffer: number %" PRId32
                    " has a size of %" PRId64 " bytes",
                    column->field->name, i, column->view_sizes[i]);
        }
    }
    for (int64_t row = 0; row < column->length; row++) {
        if (!view_is_sound(column, row) && slot_is_valid(column, row)) {
            const uint8_t *view = column->values + (column->offset + row) * 16;
            OC_FAIL(err, OC_EDATA,
                    "column \"%.80s\" has a damaged view in row %" PRId64 ": %" PRId32
                    " bytes at byte %" PRId32 " of buffer %" PRId32 " of %" PRId32,
                    column->field->name, row, load_i32(view), load_i32(view + 12),
                    load_i32(view + 8), column->n_view_buffers);
        }
    }
    return OC_OK;
}

/* ---- dictionary indices ---------------------------------------------------------------------- */

/* Unsigned comparison catches negative indices as well: they become huge. One loop per width. */
#define DEFINE_INDICES_FIT(width)                                                       \
    static bool indices##width##_fit(const uint8_t *indices, int64_t n, uint64_t limit) \
    {                                                                                   \
        uint##width##_t largest = 0;                                                    \
        for (int64_t i = 0; i < n; i++) {                                               \
            uint##width##_t index;                                                      \
            memcpy(&index, indices + i * (int64_t)sizeof index, sizeof index);          \
            largest = index > largest ? index : largest;                                \
        }                                                                               \
        return n == 0 || largest < limit;                                               \
    }
DEFINE_INDICES_FIT(8)
DEFINE_INDICES_FIT(16)
DEFINE_INDICES_FIT(32)
DEFINE_INDICES_FIT(64)

/* True when every slot, null ones included, holds an index inside the dictionary. */
static bool all_indices_fit(const oci_column *column)
{
    const oci_field *field = column->field;
    const uint8_t *indices = column->values + column->offset * field->byte_width;
    uint64_t limit = (uint64_t)column->dictionary->length;
    switch (field->byte_width) {
    case 1: {
        /* A signed index is negative from half the range on. */
        uint64_t range = field->index_type == OCI_TYPE_INT8 ? 1u << 7 : 1u << 8;
        return indices8_fit(indices, column->length, limit < range ? limit : range);
    }
    case 2: {
        uint64_t range = field->index_type == OCI_TYPE_INT16 ? 1u << 15 : 1u << 16;
        return indices16_fit(indices, column->length, limit < range ? limit : range);
    }
    case 4: {
        uint64_t range = field->index_type == OCI_TYPE_INT32 ? UINT64_C(1) << 31
                                                             : UINT64_C(1) << 32;
        return indices32_fit(indices, column->length, limit < range ? limit : range);
    }
    default: return indices64_fit(indices, column->length, limit);
    }
}

static oc_status validate_dictionary(const oci_column *column, child_extent extent, oc_error *err)
{
    oc_status status = validate_column(column->dictionary, -1, extent, err);
    if (status != OC_OK) {
        oci_error_prefix(err, "dictionary of column \"%.80s\"", column->field->name);
        return status;
    }
    if (column->length == 0 || all_indices_fit(column)) {
        return OC_OK;
    }
    for (int64_t row = 0; row < column->length; row++) {
        int64_t index = oci_column_index_at(column, row);
        bool fits = index >= 0 && index < column->dictionary->length;
        if (!fits && slot_is_valid(column, row)) {
            OC_FAIL(err, OC_EDATA,
                    "column \"%.80s\" has a damaged dictionary index in row %" PRId64 ": %" PRId64
                    ", but the dictionary has %" PRId64 " values",
                    column->field->name, row, index, column->dictionary->length);
        }
    }
    return OC_OK;
}

/* ---- list views ------------------------------------------------------------------------------ */

/* Unsigned comparison catches what is negative as well. */
#define DEFINE_RANGES_FIT(width)                                                             \
    static bool ranges##width##_fit(const uint8_t *offsets, const uint8_t *sizes, int64_t n, \
                                    uint64_t limit)                                          \
    {                                                                                        \
        uint64_t bad = 0;                                                                    \
        for (int64_t i = 0; i < n; i++) {                                                    \
            int##width##_t offset, size;                                                     \
            memcpy(&offset, offsets + i * (int64_t)sizeof offset, sizeof offset);            \
            memcpy(&size, sizes + i * (int64_t)sizeof size, sizeof size);                    \
            uint64_t from = (uint64_t)offset, many = (uint64_t)size;                         \
            bad |= (uint64_t)(from > limit) | (uint64_t)(many > limit - from);               \
        }                                                                                    \
        return bad == 0;                                                                     \
    }
DEFINE_RANGES_FIT(32)
DEFINE_RANGES_FIT(64)

static int64_t size_at(const oci_column *column, int64_t row)
{
    const uint8_t *sizes = column->sizes;
    return has_narrow_offsets(column) ? load_i32(sizes + (column->offset + row) * 4)
                                      : load_i64(sizes + (column->offset + row) * 8);
}

static oc_status fail_range(const oci_column *column, oc_error *err)
{
    int64_t row = 0, limit = column->children->length;
    while (offset_at(column, row) >= 0 && offset_at(column, row) <= limit &&
           size_at(column, row) >= 0 && size_at(column, row) <= limit - offset_at(column, row)) {
        row++;
    }
    OC_FAIL(err, OC_EDATA,
            "column \"%.80s\" has a damaged list view in row %" PRId64 ": %" PRId64
            " rows from row %" PRId64 " on, but its child has %" PRId64,
            column->field->name, row, size_at(column, row), offset_at(column, row), limit);
}

/* Ranges lie anywhere: the child is checked as a whole. */
static oc_status validate_list_view(const oci_column *column, child_extent extent, oc_error *err)
{
    uint64_t limit = (uint64_t)column->children->length;
    int64_t width = has_narrow_offsets(column) ? 4 : 8, n = column->length;
    const uint8_t *offsets = column->values + column->offset * width;
    const uint8_t *sizes = column->sizes + column->offset * width;
    if (n > 0 && !(width == 4 ? ranges32_fit(offsets, sizes, n, limit)
                              : ranges64_fit(offsets, sizes, n, limit))) {
        return fail_range(column, err);
    }
    return validate_child(column, column->children, 0, column->children->length, extent, err);
}

/* ---- structs, fixed-size lists, sparse unions ------------------------------------------------ */

/* Each child must have the rows [start, end), with `end` -1 for more than anybody can have. */
static oc_status validate_parallel(const oci_column *column, int64_t start, int64_t end,
                                   child_extent extent, oc_error *err)
{
    for (int32_t i = 0; i < column->field->n_children; i++) {
        const oci_column *child = &column->children[i];
        if (column->length > 0 && (end < 0 || child->length < end)) {
            OC_FAIL(err, OC_EDATA,
                    "child \"%.80s\" of column \"%.80s\" is too short: it has %" PRId64
                    " rows, its parent refers to %" PRId64,
                    child->field->name, column->field->name, child->length,
                    end < 0 ? INT64_MAX : end);
        }
        int64_t length = column->length > 0 ? end - start : 0;
        OC_TRY(validate_child(column, child, length > 0 ? start : 0, length, extent, err));
    }
    return OC_OK;
}

static oc_status validate_fixed_list(const oci_column *column, child_extent extent, oc_error *err)
{
    int64_t size = column->field->list_size, end;
    if (!oci_mul64(column->offset + column->length, size, &end)) {
        return validate_parallel(column, 0, -1, extent, err);
    }
    return validate_parallel(column, column->offset * size, end, extent, err);
}

/* ---- unions ---------------------------------------------------------------------------------- */

static oc_status fail_type_id(const oci_column *column, oc_error *err)
{
    const uint8_t *ids = column->values + column->offset;
    int64_t row = 0;
    while (ids[row] < 128 && column->field->union_ids->child_of[ids[row]] >= 0) {
        row++;
    }
    OC_FAIL(err, OC_EDATA,
            "column \"%.80s\" has a damaged type id in row %" PRId64
            ": %d, which is none of its children's",
            column->field->name, row, (int)(int8_t)ids[row]);
}

static bool all_type_ids_known(const oci_column *column)
{
    const uint8_t *ids = column->values + column->offset;
    uint8_t unknown[256], bad = 0;
    memset(unknown, 1, sizeof unknown);
    for (int32_t i = 0; i < column->field->n_children; i++) {
        unknown[column->field->union_ids->of_child[i]] = 0;
    }
    for (int64_t row = 0; row < column->length; row++) {
        bad |= unknown[ids[row]];
    }
    return bad == 0;
}

static oc_status validate_sparse_union(const oci_column *column, child_extent extent, oc_error *err)
{
    if (!all_type_ids_known(column)) {
        return fail_type_id(column, err);
    }
    return validate_parallel(column, column->offset, column->offset + column->length, extent, err);
}

static oc_status fail_child_offset(const oci_column *column, oc_error *err)
{
    const uint8_t *ids = column->values + column->offset;
    const uint8_t *offsets = column->child_offsets + column->offset * 4;
    for (int64_t row = 0;; row++) {
        const oci_column *child = &column->children[column->field->union_ids->child_of[ids[row]]];
        int64_t offset = load_i32(offsets + row * 4);
        if (offset < 0 || offset >= child->length) {
            OC_FAIL(err, OC_EDATA,
                    "column \"%.80s\" has a damaged offset in row %" PRId64 ": row %" PRId64
                    " of child \"%.80s\", which has %" PRId64,
                    column->field->name, row, offset, child->field->name, child->length);
        }
    }
}

/* Producers are asked to let the rows of a child ascend; nothing here depends on it, and children
 * are checked as a whole. */
static oc_status validate_dense_union(const oci_column *column, child_extent extent, oc_error *err)
{
    const uint8_t *ids = column->values + column->offset;
    const uint8_t *offsets = column->child_offsets + column->offset * 4;
    uint32_t limits[256] = {0}, bad = 0;
    if (!all_type_ids_known(column)) {
        return fail_type_id(column, err);
    }
    for (int32_t i = 0; i < column->field->n_children; i++) {
        int64_t limit = oci_min64(column->children[i].length, INT64_C(1) << 31);
        limits[column->field->union_ids->of_child[i]] = (uint32_t)limit;
    }
    for (int64_t row = 0; row < column->length; row++) {
        bad |= (uint32_t)load_i32(offsets + row * 4) >= limits[ids[row]];
    }
    if (bad != 0) {
        return fail_child_offset(column, err);
    }
    for (int32_t i = 0; i < column->field->n_children; i++) {
        const oci_column *child = &column->children[i];
        OC_TRY(validate_child(column, child, 0, child->length, extent, err));
    }
    return OC_OK;
}

/* ---- runs ------------------------------------------------------------------------------------ */

#define DEFINE_ENDS_ASCEND(width)                                                    \
    static bool ends##width##_ascend(const uint8_t *ends, int64_t n)                 \
    {                                                                                \
        uint##width##_t bad = 0;                                                     \
        int##width##_t first;                                                        \
        memcpy(&first, ends, sizeof first);                                          \
        for (int64_t i = 1; i < n; i++) {                                            \
            int##width##_t before, end;                                              \
            memcpy(&before, ends + (i - 1) * (int64_t)sizeof before, sizeof before); \
            memcpy(&end, ends + i * (int64_t)sizeof end, sizeof end);                \
            bad |= end <= before;                                                    \
        }                                                                            \
        return bad == 0 && first > 0;                                                \
    }
DEFINE_ENDS_ASCEND(16)
DEFINE_ENDS_ASCEND(32)
DEFINE_ENDS_ASCEND(64)

static bool all_ends_ascend(const oci_column *ends)
{
    const uint8_t *first = ends->values + ends->offset * ends->field->byte_width;
    switch (ends->field->byte_width) {
    case 2: return ends16_ascend(first, ends->length);
    case 4: return ends32_ascend(first, ends->length);
    default: return ends64_ascend(first, ends->length);
    }
}

static oc_status fail_run_end(const oci_column *column, oc_error *err)
{
    const oci_column *ends = &column->children[0];
    int64_t run = 0, before = 0, end = oci_column_run_end(ends, 0);
    while (end > before) {
        run++;
        before = end;
        end = oci_column_run_end(ends, run);
    }
    OC_FAIL(err, OC_EDATA,
            "column \"%.80s\" has a damaged run end: run %" PRId64 " ends at row %" PRId64
            ", the one before at %" PRId64,
            column->field->name, run, end, before);
}

/* All run ends are checked, also those of other rows, since they are searched by halving. */
static oc_status validate_runs(const oci_column *column, child_extent extent, oc_error *err)
{
    const oci_column *ends = &column->children[0], *values = &column->children[1];
    int64_t wanted = column->length > 0 ? column->offset + column->length : 0;
    if (oci_column_null_count(ends) > 0) {
        OC_FAIL(err, OC_EDATA, "column \"%.80s\" has %" PRId64 " run ends that are null",
                column->field->name, oci_column_null_count(ends));
    }
    if (values->length < ends->length) {
        OC_FAIL(err, OC_EDATA, "column \"%.80s\" has %" PRId64 " runs and %" PRId64 " values",
                column->field->name, ends->length, values->length);
    }
    if (ends->length > 0 && !all_ends_ascend(ends)) {
        return fail_run_end(column, err);
    }
    int64_t last = ends->length > 0 ? oci_column_run_end(ends, ends->length - 1) : 0;
    if (last < wanted) {
        OC_FAIL(err, OC_EDATA,
                "column \"%.80s\" is too short: its runs end at row %" PRId64 ", it needs %" PRId64
                " rows",
                column->field->name, last, wanted);
    }
    return validate_child(column, values, 0, values->length, extent, err);
}

/* ---- all together ---------------------------------------------------------------------------- */

static oc_status validate_column(const oci_column *column, int64_t bytes_size, child_extent extent,
                                 oc_error *err)
{
    switch (oci_field_layout(column->field)) {
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64: return validate_offsets(column, bytes_size, err);
    case OCI_LAYOUT_VIEWS: return validate_views(column, err);
    case OCI_LAYOUT_DICTIONARY: return validate_dictionary(column, extent, err);
    case OCI_LAYOUT_LIST32:
    case OCI_LAYOUT_LIST64: return validate_list(column, extent, err);
    case OCI_LAYOUT_LIST_VIEW32:
    case OCI_LAYOUT_LIST_VIEW64: return validate_list_view(column, extent, err);
    case OCI_LAYOUT_FIXED_LIST: return validate_fixed_list(column, extent, err);
    case OCI_LAYOUT_STRUCT:
        return validate_parallel(column, column->offset, column->offset + column->length, extent,
                                 err);
    case OCI_LAYOUT_SPARSE_UNION: return validate_sparse_union(column, extent, err);
    case OCI_LAYOUT_DENSE_UNION: return validate_dense_union(column, extent, err);
    case OCI_LAYOUT_RUN_ENDS: return validate_runs(column, extent, err);
    default: return OC_OK; /* every bit pattern is a value */
    }
}

oc_status oci_column_validate(const oci_column *column, int64_t bytes_size, oc_error *err)
{
    return validate_column(column, bytes_size, WHOLE_CHILDREN, err);
}

oc_status oci_batch_validate(const oci_batch *batch, oc_error *err)
{
    for (int32_t i = 0; i < batch->schema->n_fields; i++) {
        OC_TRY(validate_column(&batch->columns[i], -1, WHOLE_CHILDREN, err));
    }
    return OC_OK;
}

oc_status oci_batch_validate_rows(const oci_batch *batch, oc_error *err)
{
    for (int32_t i = 0; i < batch->schema->n_fields; i++) {
        OC_TRY(validate_column(&batch->columns[i], -1, REFERRED_ROWS, err));
    }
    return OC_OK;
}
