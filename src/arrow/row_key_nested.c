/* Row keys: lists and structs, element by element and field by field, at any depth.
 *
 *     [3, null] of int8         01 (01 83) (02 00) 00
 *     {"a": [], "b": "xy"}      01 (01 00) (01 x y 00 00)
 *     null                      02, or 00 under NULLS FIRST
 *
 * The first byte is that of every key. What follows is written in ascending order, and all of it is
 * inverted for DESC. Inside, each element of a list and each field of a struct has a byte in front:
 * 0x01 valid, 0x02 null. A null of a type of fixed width is followed by zeros, so that such
 * elements lie at one stride and are encoded by the loops for whole columns; a null of another type
 * is this byte alone. A list ends with 0x00, which is less than what another element would begin
 * with, so that a prefix is smaller; lists of fixed size need no end. As no value's string is a
 * prefix of another's, fields and elements can follow each other.
 *
 * Sizes and writing walk down the types by ranges of rows: the elements of neighbouring lists are
 * neighbours themselves, so the size of a million lists of numbers is one product, and only strings
 * and what is looked up (dictionaries, runs, list views) is visited value by value. Taking sizes
 * checks every offset, index and run end on the way; writing goes the same way and trusts them.
 * Recursion is as deep as the type, at most OCI_NESTING_MAX, with small frames: nothing is
 * allocated. */
#include "arrow/row_key_internal.h"

bool oci_key_nested_is_zero_free(const oci_column *column, int64_t rows)
{
    switch (oci_field_layout(column->field)) {
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64:
        /* No strings at all have none with a 0x00. */
        return column->length == 0 || oci_key_is_zero_free(column, rows);
    case OCI_LAYOUT_VIEWS: return false;
    case OCI_LAYOUT_DICTIONARY:
        return column->dictionary == NULL || oci_key_nested_is_zero_free(column->dictionary, rows);
    default: break;
    }
    for (int32_t i = 0; i < column->field->n_children; i++) {
        if (!oci_key_nested_is_zero_free(&column->children[i], rows)) {
            return false;
        }
    }
    return true;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

typedef struct size_walk {
    const oci_key_part *part;
    int64_t bytes; /* so far; values behind OCI_KEY_BYTES_MAX are not looked at */
    oc_error *err;
} size_walk;

static oc_status add_rows(size_walk *walk, const oci_column *column, int64_t start, int64_t n);

static void add_bytes(size_walk *walk, int64_t n, int64_t bytes_each)
{
    int64_t bytes;
    if (!oci_mul64(n, bytes_each, &bytes) || bytes > OCI_KEY_BYTES_MAX) {
        bytes = OCI_KEY_BYTES_MAX + 1;
    }
    walk->bytes += bytes;
}

static oc_status fail_damaged(size_walk *walk, const char *what)
{
    OC_FAIL(walk->err, OC_EDATA, "could not make sort keys of column \"%s\": %s",
            walk->part->column->field->name, what);
}

static oc_status add_strings(size_walk *walk, const oci_column *column, int64_t start, int64_t n)
{
    if (!oci_key_add_string_sizes(column, start, n, walk->part->is_zero_free, &walk->bytes)) {
        return fail_damaged(walk, "the offsets of a value are out of bounds");
    }
    return OC_OK;
}

/* Bytes of a null inside a nested value. */
static int64_t null_bytes(const oci_field *type)
{
    return 1 + oci_max64(oci_key_width(type), 0);
}

static oc_status add_indices(size_walk *walk, const oci_column *column, int64_t start, int64_t n)
{
    for (int64_t row = start; row < start + n; row++) {
        if (oci_key_slot_is_null(column, row)) {
            add_bytes(walk, 1, null_bytes(column->field));
            continue;
        }
        int64_t index = oci_column_index_at(column, row);
        if (column->dictionary == NULL || index < 0 || index >= column->dictionary->length) {
            return fail_damaged(walk, "an index is outside its dictionary");
        }
        OC_TRY(add_rows(walk, column->dictionary, index, 1));
    }
    return OC_OK;
}

static oc_status add_runs(size_walk *walk, const oci_column *column, int64_t start, int64_t n)
{
    oci_key_run run = {0};
    for (int64_t row = start; row < start + n;) {
        if (!oci_key_find_run(column, row, &run)) {
            return fail_damaged(walk, "a row is outside its run ends");
        }
        int64_t count = oci_min64(run.end - column->offset, start + n) - row;
        size_walk one = {.part = walk->part, .err = walk->err};
        OC_TRY(add_rows(&one, &column->children[1], run.index, 1));
        add_bytes(walk, count, one.bytes);
        row += count;
    }
    return OC_OK;
}

/* `n` valid lists with 32-bit or 64-bit offsets: their elements are neighbours. */
static oc_status add_lists(size_walk *walk, const oci_column *column, int64_t start, int64_t n,
                           bool wide)
{
    int64_t first;
    int64_t end;
    if (!oci_key_span(column, start, n, wide, &first, &end)) {
        return fail_damaged(walk, "the offsets of a list descend");
    }
    add_bytes(walk, n, 1);
    return add_rows(walk, &column->children[0], first, end - first);
}

static oc_status add_list_views(size_walk *walk, const oci_column *column, int64_t start, int64_t n)
{
    for (int64_t row = start; row < start + n; row++) {
        int64_t first;
        int64_t length;
        oci_column_list_at(column, row, &first, &length);
        add_bytes(walk, 1, 1);
        OC_TRY(add_rows(walk, &column->children[0], first, length));
    }
    return OC_OK;
}

static oc_status add_fixed_lists(size_walk *walk, const oci_column *column, int64_t start,
                                 int64_t n)
{
    int64_t size = column->field->list_size;
    return add_rows(walk, &column->children[0], (column->offset + start) * size, n * size);
}

static oc_status add_structs(size_walk *walk, const oci_column *column, int64_t start, int64_t n)
{
    for (int32_t i = 0; i < column->field->n_children; i++) {
        OC_TRY(add_rows(walk, &column->children[i], column->offset + start, n));
    }
    return OC_OK;
}

/* What `n` valid lists or structs hold. */
static oc_status add_held(size_walk *walk, const oci_column *column, int64_t start, int64_t n)
{
    switch (oci_field_layout(column->field)) {
    case OCI_LAYOUT_LIST32: return add_lists(walk, column, start, n, false);
    case OCI_LAYOUT_LIST64: return add_lists(walk, column, start, n, true);
    case OCI_LAYOUT_FIXED_LIST: return add_fixed_lists(walk, column, start, n);
    case OCI_LAYOUT_STRUCT: return add_structs(walk, column, start, n);
    default: return add_list_views(walk, column, start, n);
    }
}

/* The next rows of [row, end) that are valid, or null. */
static int64_t count_alike(const oci_column *column, int64_t row, int64_t end, bool null)
{
    if (column->validity == NULL || column->null_count == 0) {
        return null ? 0 : end - row;
    }
    int64_t start = row;
    while (row < end && oci_key_slot_is_null(column, row) == null) {
        row++;
    }
    return row - start;
}

static oc_status add_holders(size_walk *walk, const oci_column *column, int64_t start, int64_t n)
{
    add_bytes(walk, n, 1);
    for (int64_t row = start; row < start + n;) {
        row += count_alike(column, row, start + n, true);
        int64_t valid = count_alike(column, row, start + n, false);
        if (valid > 0) {
            OC_TRY(add_held(walk, column, row, valid));
        }
        row += valid;
    }
    return OC_OK;
}

/* Adds what rows [start, start + n) of any column take, with the byte in front of each. */
static oc_status add_rows(size_walk *walk, const oci_column *column, int64_t start, int64_t n)
{
    if (start < 0 || n < 0 || start > column->length - n) {
        return fail_damaged(walk, "a nested value is outside of what its column holds");
    }
    if (walk->bytes > OCI_KEY_BYTES_MAX) {
        return OC_OK;
    }
    switch (oci_field_layout(column->field)) {
    case OCI_LAYOUT_NULL:
    case OCI_LAYOUT_BITS:
    case OCI_LAYOUT_FIXED: add_bytes(walk, n, 1 + oci_key_width(column->field)); return OC_OK;
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64:
    case OCI_LAYOUT_VIEWS: return add_strings(walk, column, start, n);
    case OCI_LAYOUT_DICTIONARY: return add_indices(walk, column, start, n);
    case OCI_LAYOUT_RUN_ENDS: return add_runs(walk, column, start, n);
    default: return add_holders(walk, column, start, n);
    }
}

oc_status oci_key_nested_total(const oci_key_part *part, int64_t *total, oc_error *err)
{
    size_walk walk = {.part = part, .err = err};
    OC_TRY(add_rows(&walk, part->column, 0, part->column->length));
    *total = walk.bytes;
    return OC_OK;
}

oc_status oci_key_nested_sizes(const oci_key_part *part, uint32_t *sizes, oc_error *err)
{
    int64_t rows[OCI_KEY_BLOCK];
    for (int64_t i = 0; i < part->column->length; i += OCI_KEY_BLOCK) {
        int64_t n = oci_min64(OCI_KEY_BLOCK, part->column->length - i);
        OC_TRY(oci_key_leaf_rows(part, i, n, rows, err));
        for (int64_t k = 0; k < n; k++) {
            size_walk walk = {.part = part, .bytes = rows[k] < 0, .err = err};
            if (rows[k] >= 0) {
                OC_TRY(add_rows(&walk, part->leaf, rows[k], 1));
            }
            sizes[i + k] += (uint32_t)walk.bytes;
        }
    }
    return OC_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

static uint8_t *write_rows(const oci_key_part *part, const oci_column *column, int64_t start,
                           int64_t n, uint8_t *to);

static uint8_t *write_null(const oci_field *type, uint8_t *to)
{
    int64_t bytes = null_bytes(type);
    *to = OCI_KEY_NULL_INSIDE;
    memset(to + 1, 0, (size_t)bytes - 1);
    return to + bytes;
}

static uint8_t *write_bits(const oci_column *column, int64_t start, int64_t n, uint8_t *to)
{
    for (int64_t row = start; row < start + n; row++) {
        bool is_null = oci_key_slot_is_null(column, row);
        *to++ = is_null ? OCI_KEY_NULL_INSIDE : OCI_KEY_VALID;
        *to++ = !is_null && oci_bit_get(column->values, column->offset + row);
    }
    return to;
}

/* All as if they were valid, then the nulls, as in whole columns. */
static uint8_t *write_fixed(const oci_column *column, int64_t start, int64_t n, uint8_t *to)
{
    int64_t width = column->field->byte_width;
    oci_key_target target = {.bytes = to, .stride = 1 + width};
    oci_key_encode_values(column->field, 0,
                          width == 0 ? NULL : column->values + (column->offset + start) * width, n,
                          &target);
    for (int64_t k = 0; column->validity != NULL && column->null_count != 0 && k < n; k++) {
        if (oci_key_slot_is_null(column, start + k)) {
            (void)write_null(column->field, to + k * target.stride);
        }
    }
    return to + n * target.stride;
}

static uint8_t *write_indices(const oci_key_part *part, const oci_column *column, int64_t start,
                              int64_t n, uint8_t *to)
{
    for (int64_t row = start; row < start + n; row++) {
        to = oci_key_slot_is_null(column, row)
                 ? write_null(column->field, to)
                 : write_rows(part, column->dictionary, oci_column_index_at(column, row), 1, to);
    }
    return to;
}

static uint8_t *write_runs(const oci_key_part *part, const oci_column *column, int64_t start,
                           int64_t n, uint8_t *to)
{
    oci_key_run run = {0};
    for (int64_t row = start; row < start + n; row++) {
        (void)oci_key_find_run(column, row, &run);
        to = write_rows(part, &column->children[1], run.index, 1, to);
    }
    return to;
}

static uint8_t *write_structs(const oci_key_part *part, const oci_column *column, int64_t start,
                              int64_t n, uint8_t *to)
{
    for (int64_t row = start; row < start + n; row++) {
        bool is_null = oci_key_slot_is_null(column, row);
        *to++ = is_null ? OCI_KEY_NULL_INSIDE : OCI_KEY_VALID;
        for (int32_t i = 0; i < column->field->n_children && !is_null; i++) {
            to = write_rows(part, &column->children[i], column->offset + row, 1, to);
        }
    }
    return to;
}

static uint8_t *write_lists(const oci_key_part *part, const oci_column *column, int64_t start,
                            int64_t n, uint8_t *to)
{
    bool is_fixed = column->field->type == OCI_TYPE_FIXED_LIST;
    for (int64_t row = start; row < start + n; row++) {
        int64_t first;
        int64_t length;
        if (oci_key_slot_is_null(column, row)) {
            *to++ = OCI_KEY_NULL_INSIDE;
            continue;
        }
        *to++ = OCI_KEY_VALID;
        oci_column_list_at(column, row, &first, &length);
        to = write_rows(part, &column->children[0], first, length, to);
        if (!is_fixed) {
            *to++ = OCI_KEY_LIST_END;
        }
    }
    return to;
}

/* Rows [start, start + n) of any column; returns the end. */
static uint8_t *write_rows(const oci_key_part *part, const oci_column *column, int64_t start,
                           int64_t n, uint8_t *to)
{
    if (n == 0) {
        return to;
    }
    switch (oci_field_layout(column->field)) {
    case OCI_LAYOUT_NULL: memset(to, OCI_KEY_NULL_INSIDE, (size_t)n); return to + n;
    case OCI_LAYOUT_BITS: return write_bits(column, start, n, to);
    case OCI_LAYOUT_FIXED: return write_fixed(column, start, n, to);
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64:
    case OCI_LAYOUT_VIEWS: return oci_key_write_strings(column, start, n, part->is_zero_free, to);
    case OCI_LAYOUT_DICTIONARY: return write_indices(part, column, start, n, to);
    case OCI_LAYOUT_RUN_ENDS: return write_runs(part, column, start, n, to);
    case OCI_LAYOUT_STRUCT: return write_structs(part, column, start, n, to);
    default: return write_lists(part, column, start, n, to);
    }
}

static uint8_t *write_key(const oci_key_part *part, int64_t row, uint8_t *to)
{
    if (row < 0) {
        *to = part->null_byte;
        return to + 1;
    }
    uint8_t *end = write_rows(part, part->leaf, row, 1, to);
    for (to++; part->flip != 0 && to < end; to++) {
        *to ^= part->flip;
    }
    return end;
}

oc_status oci_key_encode_nested(const oci_key_part *part, const oci_key_target *target,
                                oc_error *err)
{
    int64_t rows[OCI_KEY_BLOCK];
    for (int64_t i = 0; i < part->column->length; i += OCI_KEY_BLOCK) {
        int64_t n = oci_min64(OCI_KEY_BLOCK, part->column->length - i);
        OC_TRY(oci_key_leaf_rows(part, i, n, rows, err));
        for (int64_t k = 0; k < n; k++) {
            uint8_t *end = write_key(part, rows[k], oci_key_target_at(target, i + k));
            target->cursors[i + k] = (uint32_t)(end - target->bytes);
        }
    }
    return OC_OK;
}
