/* Row keys: strings and binary, as null byte, bytes with 0x00 written as 0x00 0xFF, and 0x00 0x00
 * at the end.
 *
 * Why the escape: keys of several columns follow each other, so a string must end in something that
 * sorts before every byte that could go on ("a" before "ab", whatever follows in the next column),
 * and that cannot occur inside.
 *
 * Most text has no 0x00 at all. One memchr over all bytes of a column finds that out at memory
 * speed; then sizes are plain arithmetic and values plain copies. Otherwise zeros are looked for 8
 * bytes at a time.
 *
 * Values are looked up block by block (address and length, -1 = null), whatever their layout, so
 * there is one loop each for sizes and for writing. Keys lie close together and are written column
 * by column, so copies must not write past their end: they use overlapping words. Only
 * where the string is the one key of its row may copies be blind. */
#include "arrow/row_key_internal.h"

#define KEY_BYTES_AROUND 3 /* null byte and terminator */

typedef struct staged_keys {
    const uint8_t *from[OCI_KEY_BLOCK];
    int64_t length[OCI_KEY_BLOCK]; /* -1: null */
} staged_keys;

/* ---- looking values up ----------------------------------------------------------------------- */

/* False when the offsets of a value descend. Null slots are marked later. */
static inline __attribute__((always_inline)) bool stage_offsets(const oci_column *column,
                                                                int64_t start, int64_t n, bool wide,
                                                                staged_keys *staged)
{
    int64_t wrong = 0;
    int64_t at = oci_key_offset(column, start, wide);
    for (int64_t k = 0; k < n; k++) {
        int64_t end = oci_key_offset(column, start + k + 1, wide);
        staged->from[k] = column->bytes + at;
        staged->length[k] = (int64_t)((uint64_t)end - (uint64_t)at);
        wrong |= at | staged->length[k];
        at = end;
    }
    return wrong >= 0;
}

static bool find_view(const oci_column *column, int64_t row, const uint8_t **from, int64_t *length)
{
    const uint8_t *at = column->values + (column->offset + row) * (int64_t)sizeof(oci_view);
    oci_view view;
    memcpy(&view, at, sizeof view);
    *length = view.length;
    if (view.length <= (int32_t)sizeof view.inlined) {
        *from = at + offsetof(oci_view, inlined);
        return view.length >= 0;
    }
    if (view.ref.buffer < 0 || view.ref.buffer >= column->n_view_buffers || view.ref.offset < 0 ||
        (int64_t)view.ref.offset + view.length > column->view_sizes[view.ref.buffer]) {
        return false;
    }
    *from = column->view_buffers[view.ref.buffer] + view.ref.offset;
    return true;
}

/* Where a string lies; false when that makes no sense. */
static inline bool find_string(const oci_column *column, oci_layout layout, int64_t row,
                               const uint8_t **from, int64_t *length)
{
    if (layout == OCI_LAYOUT_VIEWS) {
        return find_view(column, row, from, length);
    }
    bool wide = layout == OCI_LAYOUT_OFFSETS64;
    int64_t start = oci_key_offset(column, row, wide);
    int64_t end = oci_key_offset(column, row + 1, wide);
    *from = column->bytes + start;
    *length = (int64_t)((uint64_t)end - (uint64_t)start);
    return start >= 0 && end >= start;
}

/* Any layout, row by row; rows -1 are null. */
static bool stage_rows(const oci_column *leaf, const int64_t *rows, int64_t n, staged_keys *staged)
{
    oci_layout layout = leaf == NULL ? OCI_LAYOUT_NULL : oci_field_layout(leaf->field);
    bool is_sane = true;
    for (int64_t k = 0; k < n; k++) {
        if (rows[k] < 0 || leaf == NULL) {
            staged->from[k] = NULL;
            staged->length[k] = -1;
        } else {
            is_sane &= find_string(leaf, layout, rows[k], &staged->from[k], &staged->length[k]);
        }
    }
    return is_sane;
}

static void mark_nulls(const oci_column *column, int64_t start, int64_t n, staged_keys *staged)
{
    if (column->validity == NULL || column->null_count == 0) {
        return;
    }
    for (int64_t i = 0; i < n; i += 64) {
        int count = (int)oci_min64(64, n - i);
        uint64_t nulls = ~oci_bits_load(column->validity, column->offset + start + i, count) &
                         oci_low_mask(count);
        for (; nulls != 0; nulls &= nulls - 1) {
            staged->length[i + __builtin_ctzll(nulls)] = -1;
        }
    }
}

static oc_status stage(const oci_key_part *part, int64_t start, int64_t n, staged_keys *staged,
                       oc_error *err)
{
    const oci_column *column = part->column;
    oci_layout layout = oci_field_layout(column->field);
    int64_t rows[OCI_KEY_BLOCK];
    bool is_sane;
    if (layout == OCI_LAYOUT_OFFSETS32) {
        is_sane = stage_offsets(column, start, n, false, staged);
        mark_nulls(column, start, n, staged);
    } else if (layout == OCI_LAYOUT_OFFSETS64) {
        is_sane = stage_offsets(column, start, n, true, staged);
        mark_nulls(column, start, n, staged);
    } else {
        OC_TRY(oci_key_leaf_rows(part, start, n, rows, err));
        is_sane = stage_rows(part->leaf, rows, n, staged);
    }
    if (!is_sane) {
        OC_FAIL(
            err, OC_EDATA,
            "could not make sort keys of column \"%s\": the offsets of a value are out of bounds",
            column->field->name);
    }
    return OC_OK;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* First bytes, last bytes of a column with offsets; false for another layout, no rows, or offsets
 * that make no sense. */
static bool column_span(const oci_column *column, const uint8_t **from, int64_t *size)
{
    oci_layout layout = column == NULL ? OCI_LAYOUT_NULL : oci_field_layout(column->field);
    bool wide = layout == OCI_LAYOUT_OFFSETS64;
    if ((!wide && layout != OCI_LAYOUT_OFFSETS32) || column->length == 0) {
        return false;
    }
    int64_t start = oci_key_offset(column, 0, wide);
    int64_t end = oci_key_offset(column, column->length, wide);
    *from = column->bytes + start;
    *size = end - start;
    return start >= 0 && end >= start;
}

bool oci_key_is_zero_free(const oci_column *column, int64_t rows)
{
    const uint8_t *from;
    int64_t size;
    if (!column_span(column, &from, &size)) {
        return false;
    }
    /* A dictionary, or the child of a list, may be far larger than what the batch uses of it: 64
     * bytes a row are looked through at most, unless the strings are the rows. */
    if (column->length != rows && size / 64 > rows) {
        return false;
    }
    return size == 0 || memchr(from, 0, (size_t)size) == NULL;
}

/* 0x80 in every byte of `word` that is 0, else 0; exact, unlike the well-known test for "any". */
static inline uint64_t zero_bytes(uint64_t word)
{
    const uint64_t low7 = UINT64_C(0x7F7F7F7F7F7F7F7F);
    return ~(((word & low7) + low7) | word | low7);
}

/* How many of 8 bytes are 0: the marks are moved to the lowest bits and added up by a
 * multiplication. */
static inline int64_t count_zero_bytes(uint64_t word)
{
    return (int64_t)(((zero_bytes(word) >> 7) * UINT64_C(0x0101010101010101)) >> 56);
}

/* The last `length` < 8 bytes of a value as a word, filled up with bytes that are not 0. */
static inline uint64_t load_tail(const uint8_t *from, int64_t length)
{
    uint64_t word = UINT64_C(0x0101010101010101);
    for (int64_t i = 0; i < length; i++) {
        word = (word << 8) | from[i];
    }
    return word;
}

static inline int64_t count_zeros(const uint8_t *from, int64_t length)
{
    int64_t zeros = 0;
    int64_t i = 0;
    for (; i + 8 <= length; i += 8) {
        zeros += count_zero_bytes(oci_load_le64(from + i));
    }
    if (i == length) {
        return zeros;
    }
    if (length < 8) {
        return count_zero_bytes(load_tail(from, length));
    }
    /* The last 8 bytes again, without those that were counted. */
    uint64_t counted = oci_low_mask((int)(8 - (length - i)) * 8);
    return zeros + count_zero_bytes(oci_load_le64(from + length - 8) | counted);
}

static inline int64_t key_size(const oci_key_part *part, const staged_keys *staged, int64_t k)
{
    if (staged->length[k] < 0) {
        return 1;
    }
    int64_t zeros = part->is_zero_free ? 0 : count_zeros(staged->from[k], staged->length[k]);
    return staged->length[k] + zeros + KEY_BYTES_AROUND;
}

bool oci_key_span(const oci_column *column, int64_t start, int64_t n, bool wide, int64_t *first,
                  int64_t *end)
{
    int64_t at = oci_key_offset(column, start, wide);
    int64_t wrong = at;
    *first = at;
    for (int64_t row = start + 1; row <= start + n; row++) {
        int64_t next = oci_key_offset(column, row, wide);
        wrong |= next | (int64_t)((uint64_t)next - (uint64_t)at);
        at = next;
    }
    *end = at;
    return wrong >= 0;
}

bool oci_key_add_string_sizes(const oci_column *column, int64_t start, int64_t n, bool is_zero_free,
                              int64_t *bytes)
{
    oci_layout layout = oci_field_layout(column->field);
    bool has_nulls = column->validity != NULL && column->null_count != 0;
    const uint8_t *from;
    int64_t length;
    if (is_zero_free && !has_nulls) { /* not views, of which nobody knows that */
        int64_t first;
        int64_t end;
        bool is_sane = oci_key_span(column, start, n, layout == OCI_LAYOUT_OFFSETS64, &first, &end);
        *bytes += end - first + n * KEY_BYTES_AROUND;
        return is_sane;
    }
    for (int64_t row = start; row < start + n; row++) {
        if (oci_key_slot_is_null(column, row)) {
            *bytes += 1;
            continue;
        }
        if (!find_string(column, layout, row, &from, &length)) {
            return false;
        }
        *bytes += length + (is_zero_free ? 0 : count_zeros(from, length)) + KEY_BYTES_AROUND;
    }
    return true;
}

oc_status oci_key_bytes_total(const oci_key_part *part, int64_t *total, oc_error *err)
{
    const oci_column *column = part->column;
    const uint8_t *from;
    bool has_nulls = column->validity != NULL && column->null_count != 0;
    if (part->leaf == column && part->is_zero_free && !has_nulls &&
        column_span(column, &from, total)) {
        *total += column->length * KEY_BYTES_AROUND;
        return OC_OK;
    }
    staged_keys staged;
    *total = 0;
    for (int64_t i = 0; i < column->length; i += OCI_KEY_BLOCK) {
        int64_t n = oci_min64(OCI_KEY_BLOCK, column->length - i);
        OC_TRY(stage(part, i, n, &staged, err));
        for (int64_t k = 0; k < n; k++) {
            *total += key_size(part, &staged, k);
        }
    }
    return OC_OK;
}

oc_status oci_key_bytes_sizes(const oci_key_part *part, uint32_t *sizes, oc_error *err)
{
    staged_keys staged;
    for (int64_t i = 0; i < part->column->length; i += OCI_KEY_BLOCK) {
        int64_t n = oci_min64(OCI_KEY_BLOCK, part->column->length - i);
        OC_TRY(stage(part, i, n, &staged, err));
        for (int64_t k = 0; k < n; k++) {
            sizes[i + k] += (uint32_t)key_size(part, &staged, k);
        }
    }
    return OC_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

static inline void copy8(uint8_t *to, const uint8_t *from, uint64_t flip)
{
    oci_store_le64(to, oci_load_le64(from) ^ flip);
}

static inline void copy4(uint8_t *to, const uint8_t *from, uint64_t flip)
{
    oci_store_le32(to, oci_load_le32(from) ^ (uint32_t)flip);
}

/* Exactly `length` bytes, in words; the last one overlaps the one before. */
static inline void copy_flipped(uint8_t *to, const uint8_t *from, int64_t length, uint64_t flip)
{
    if (length >= 16) {
        for (int64_t i = 0; i + 16 < length; i += 16) {
            copy8(to + i, from + i, flip);
            copy8(to + i + 8, from + i + 8, flip);
        }
        copy8(to + length - 16, from + length - 16, flip);
        copy8(to + length - 8, from + length - 8, flip);
    } else if (length >= 8) {
        copy8(to, from, flip);
        copy8(to + length - 8, from + length - 8, flip);
    } else if (length >= 4) {
        copy4(to, from, flip);
        copy4(to + length - 4, from + length - 4, flip);
    } else {
        for (int64_t i = 0; i < length; i++) {
            to[i] = from[i] ^ (uint8_t)flip;
        }
    }
}

/* With escapes; returns the end. */
static uint8_t *copy_escaped(uint8_t *to, const uint8_t *from, int64_t length, uint64_t flip)
{
    int64_t i = 0;
    while (i < length) {
        if (i + 8 <= length && zero_bytes(oci_load_le64(from + i)) == 0) {
            copy8(to, from + i, flip);
            to += 8;
            i += 8;
            continue;
        }
        for (int64_t end = oci_min64(i + 8, length); i < end; i++) {
            *to++ = from[i] ^ (uint8_t)flip;
            if (from[i] == 0) {
                *to++ = (uint8_t)(0xFF ^ flip);
            }
        }
    }
    return to;
}

/* A key alone in its row, of plain bytes: what is written past its end is written again by the next
 * row, or is slack behind the last. What is read past the value exists. Up to 64 bytes there is no
 * branch on the length. */
static inline uint8_t *write_lone_key(const oci_key_part *part, const uint8_t *from, int64_t length,
                                      uint8_t *to)
{
    uint64_t flip = part->flip == 0 ? 0 : ~UINT64_C(0);
    int64_t rest = length > 32 ? length - 32 : 0;
    *to++ = OCI_KEY_VALID;
    for (int i = 0; i < 32; i += 8) {
        copy8(to + i, from + i, flip);
    }
    for (int i = 0; i < 32; i += 8) {
        copy8(to + rest + i, from + rest + i, flip);
    }
    oci_store_le16(to + length, (uint16_t)flip);
    return to + length + 2;
}

static inline uint8_t *write_key(const oci_key_part *part, const uint8_t *from, int64_t length,
                                 uint8_t *to)
{
    uint64_t flip = part->flip == 0 ? 0 : ~UINT64_C(0);
    if (length < 0) {
        *to = part->null_byte;
        return to + 1;
    }
    *to++ = OCI_KEY_VALID;
    if (part->is_zero_free || count_zeros(from, length) == 0) {
        copy_flipped(to, from, length, flip);
        to += length;
    } else {
        to = copy_escaped(to, from, length, flip);
    }
    oci_store_le16(to, (uint16_t)flip);
    return to + 2;
}

static void write_block(const oci_key_part *part, const staged_keys *staged, int64_t n,
                        uint8_t *bytes, uint32_t *cursors, const uint8_t *lone_end)
{
    for (int64_t k = 0; k < n; k++) {
        const uint8_t *from = staged->from[k];
        int64_t length = staged->length[k];
        uint8_t *to = bytes + cursors[k];
        bool lone = lone_end != NULL && (uint64_t)length <= 64 && lone_end - from >= 32;
        uint8_t *end = lone ? write_lone_key(part, from, length, to)
                            : write_key(part, from, length, to);
        cursors[k] = (uint32_t)(end - bytes);
    }
}

oc_status oci_key_encode_bytes(const oci_key_part *part, const oci_key_target *target,
                               oc_error *err)
{
    staged_keys staged;
    const uint8_t *lone_end = NULL;
    const uint8_t *from;
    int64_t size;
    if (target->is_lone && part->is_zero_free && part->leaf == part->column &&
        column_span(part->column, &from, &size)) {
        lone_end = from + size;
    }
    for (int64_t i = 0; i < part->column->length; i += OCI_KEY_BLOCK) {
        int64_t n = oci_min64(OCI_KEY_BLOCK, part->column->length - i);
        OC_TRY(stage(part, i, n, &staged, err));
        write_block(part, &staged, n, target->bytes, target->cursors + i, lone_end);
    }
    return OC_OK;
}

uint8_t *oci_key_write_strings(const oci_column *column, int64_t start, int64_t n,
                               bool is_zero_free, uint8_t *to)
{
    const oci_key_part part = {.null_byte = OCI_KEY_NULL_INSIDE, .is_zero_free = is_zero_free};
    oci_layout layout = oci_field_layout(column->field);
    for (int64_t row = start; row < start + n; row++) {
        const uint8_t *from = NULL;
        int64_t length = -1;
        bool is_found = !oci_key_slot_is_null(column, row) &&
                        find_string(column, layout, row, &from, &length);
        to = write_key(&part, from, is_found ? length : -1, to);
    }
    return to;
}
