/* Checking that every value of a batch can be reached inside its buffers.
 *
 * Batches that come from outside are checked once, here; after that the loops of gather, key
 * encoding and merging trust what they read. What is checked: offsets never step back (even
 * across null slots: slices and range copies rely on it), views stay inside their buffers,
 * dictionary indices stay inside their dictionary. Slots that are null may hold any view or
 * index.
 *
 * The loops only gather evidence, without a branch per row, so that the compiler can turn them
 * into vector code; a second, slow walk finds the row for the message once something is known to
 * be wrong. The true sizes of buffers are not part of the C data interface: where nobody can tell
 * them (`bytes_size` -1), only the order is checked. */
#include <assert.h>
#include <string.h>

#include "arrow/batch.h"
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

/* ---- offsets --------------------------------------------------------------------------------- */

static int64_t offset_at(const oci_column *column, int64_t row)
{
    bool narrow = oci_field_layout(column->field) == OCI_LAYOUT_OFFSETS32;
    const uint8_t *values = column->values;
    return narrow ? load_i32(values + (column->offset + row) * 4)
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

static oc_status fail_descending(const oci_column *column, oc_error *err)
{
    int64_t row = 0;
    while (offset_at(column, row) <= offset_at(column, row + 1)) {
        row++;
    }
    OC_FAIL(err, OC_EDATA,
            "column \"%.80s\" has damaged offsets: row %" PRId64 " starts at byte %" PRId64
            " and ends at byte %" PRId64,
            column->field->name, row, offset_at(column, row), offset_at(column, row + 1));
}

static oc_status validate_offsets(const oci_column *column, int64_t bytes_size, oc_error *err)
{
    if (column->length == 0) {
        return OC_OK;
    }
    bool narrow = oci_field_layout(column->field) == OCI_LAYOUT_OFFSETS32;
    bool ascend = narrow ? offsets32_ascend(column->values + column->offset * 4, column->length)
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
    if (bytes_size >= 0 && last > bytes_size) {
        OC_FAIL(err, OC_EDATA,
                "column \"%.80s\" has damaged offsets: the last one is %" PRId64
                ", but there are only %" PRId64 " bytes",
                column->field->name, last, bytes_size);
    }
    return OC_OK;
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

static oc_status validate_dictionary(const oci_column *column, oc_error *err)
{
    oc_status status = oci_column_validate(column->dictionary, -1, err);
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

/* ---- all together ---------------------------------------------------------------------------- */

oc_status oci_column_validate(const oci_column *column, int64_t bytes_size, oc_error *err)
{
    switch (oci_field_layout(column->field)) {
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64: return validate_offsets(column, bytes_size, err);
    case OCI_LAYOUT_VIEWS: return validate_views(column, err);
    case OCI_LAYOUT_DICTIONARY: return validate_dictionary(column, err);
    default: return OC_OK; /* every bit pattern is a value */
    }
}

oc_status oci_batch_validate(const oci_batch *batch, oc_error *err)
{
    for (int32_t i = 0; i < batch->schema->n_fields; i++) {
        OC_TRY(oci_column_validate(&batch->columns[i], -1, err));
    }
    return OC_OK;
}
