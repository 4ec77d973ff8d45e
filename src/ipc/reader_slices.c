/* Cutting a large record batch into slices while it lies in a file.
 *
 *      file:  | validity | offsets .[a..b]. | bytes ..[o(a)..o(b)].. | validity | values .[a..b]. |
 *      slab:  | validity a..b, from bit 0 | offsets a..b, from 0 | bytes | validity | values |
 *
 * Every slice goes three steps.
 *   1. How many rows? Fixed widths give a first number by arithmetic. For strings the offsets at
 *      both ends of the rows are read (two small reads; the first is known from the slice before),
 *      and the number is corrected until the slice fits the block well. Views have to be read
 *      themselves, because the bytes they mean can be anywhere.
 *   2. One slab of exactly that size is asked from the budget, and each buffer range is read into
 *      its place.
 *   3. The slab is given to the decoder as what it is, a small uncompressed message, and so gets
 *      the checks of every message from outside: offsets, views, indices. What is checked here is
 *      only what steers our own reads: lengths, the two offsets, and the ranges of views.
 *
 * A row that is larger than the block makes a slice of its own; only then the memory is more
 * than a block (plus 32 bytes a row while views are sorted out). Offsets between the two ends
 * may be wrong without harm to this file: they move by the same distance and are found wrong by
 * the decoder. */
#include "ipc/reader_slices.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"

/* Disk space is given back in pieces of this size: each costs a system call per buffer. */
#define DISCARD_BYTES (1024 * 1024)

/* How often the number of rows is guessed by proportion before it is halved instead. */
#define GUESSES_MAX 5

/* Bytes of a view that lies in its buffer (longer than that, it is only referred to). */
#define VIEW_INLINE_BYTES 12

typedef struct slice_column {
    const oci_field *field;
    oci_layout layout;
    int64_t first_buffer; /* index of the validity */
    int64_t n_variadic;   /* VIEWS: buffers behind the views */
    bool has_validity;
    int64_t nulls;       /* in the slices so far */
    int64_t bytes_start; /* OFFSETS: offset of the next row ... */
    int64_t bytes_end;   /* ... and of the row behind the slice that is being planned */
    uint8_t *views;      /* VIEWS: views and validity of the planned rows, in slices->scratch */
    uint8_t *view_bits;
} slice_column;

/* Bytes that a view refers to. */
typedef struct view_range {
    int32_t buffer;
    int32_t offset;
    int32_t length;
    int32_t row; /* which view it is of */
} view_range;

struct oci_slices {
    const oci_env *env;
    oci_mem *mem;
    oci_schema *schema;
    oci_ipc_decoder *decoder;
    oci_parts parts;
    oci_body body;
    bool discard;
    int64_t rows;
    int64_t next_row;
    int64_t bytes_target;
    int64_t rows_hint; /* rows of the last slice, where the search begins */
    int64_t row_bits;  /* of one row, without strings and what views refer to */
    int32_t n_view_columns;
    bool is_finished;
    /* one block: per column state, and the message of a slice */
    void *block;
    int64_t block_bytes;
    slice_column *columns;
    oci_ipc_node *nodes;
    oci_ipc_buffer *buffers; /* up to three a column */
    int64_t *variadic;
    int64_t *discarded; /* per buffer of parts: bytes given back */
    /* views, validity and ranges of the rows being planned */
    uint8_t *scratch;
    int64_t scratch_bytes;
    /* the slab being filled */
    uint8_t *slab;
    int64_t slab_bytes;
    int64_t slab_end;
};

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Bytes that the bitmap of n rows takes in the slab. One more than it needs: a range that begins
 * inside a byte is read whole and then shifted. */
static int64_t bitmap_room(int64_t n)
{
    return oci_round_up(oci_bytes_for_bits(n) + 1, 8);
}

static int64_t offset_width(const slice_column *column)
{
    return column->layout == OCI_LAYOUT_OFFSETS64 ? 8 : 4;
}

/* Bits that a row takes at least. */
static int64_t fixed_bits(const slice_column *column)
{
    int64_t bits = column->has_validity ? 1 : 0;
    switch (column->layout) {
    case OCI_LAYOUT_BITS: return bits + 1;
    case OCI_LAYOUT_FIXED:
    case OCI_LAYOUT_DICTIONARY: return bits + 8 * (int64_t)column->field->byte_width;
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64: return bits + 8 * offset_width(column);
    case OCI_LAYOUT_VIEWS: return bits + 8 * (int64_t)sizeof(oci_view);
    case OCI_LAYOUT_NULL:
    default: break;
    }
    return 0;
}

/* ---- checks at the start --------------------------------------------------------------------- */

static const oci_ipc_buffer *buffer_of(const oci_slices *slices, const slice_column *column,
                                       int which)
{
    return &slices->parts.buffers[column->first_buffer + which];
}

/* Are there `count` values of `bits` bits in the buffer? */
static oc_status check_room(const oci_slices *slices, const slice_column *column, int which,
                            int64_t count, int64_t bits, const char *what, oc_error *err)
{
    int64_t length = buffer_of(slices, column, which)->length;
    int64_t room = length > INT64_MAX / 8 ? INT64_MAX : length * 8;
    if (bits > 0 && count > room / bits) {
        OC_FAIL(err, OC_EDATA,
                "column \"%.80s\": %s buffer of %" PRId64 " bytes is too short for %" PRId64
                " rows",
                column->field->name, what, length, slices->rows);
    }
    return OC_OK;
}

static oc_status check_column(oci_slices *slices, slice_column *column, const oci_ipc_node *node,
                              oc_error *err)
{
    int64_t rows = slices->rows;
    if (node->length != rows) {
        OC_FAIL(err, OC_EDATA, "column \"%.80s\" has %" PRId64 " rows, the batch has %" PRId64,
                column->field->name, node->length, rows);
    }
    if (node->null_count < 0 || node->null_count > rows) {
        OC_FAIL(err, OC_EDATA, "column \"%.80s\" announces %" PRId64 " nulls in %" PRId64 " rows",
                column->field->name, node->null_count, rows);
    }
    if (column->layout == OCI_LAYOUT_NULL) {
        return OC_OK;
    }
    column->has_validity = node->null_count > 0;
    if (column->has_validity) {
        OC_TRY(check_room(slices, column, 0, rows, 1, "validity", err));
    }
    switch (column->layout) {
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64:
        /* rows + 1 may not overflow, and a batch without rows may do without offsets. */
        return rows == 0 ? OC_OK
                         : check_room(slices, column, 1, rows < INT64_MAX ? rows + 1 : rows,
                                      8 * offset_width(column), "offsets", err);
    case OCI_LAYOUT_VIEWS:
        return check_room(slices, column, 1, rows, 8 * (int64_t)sizeof(oci_view), "views", err);
    case OCI_LAYOUT_BITS: return check_room(slices, column, 1, rows, 1, "values", err);
    default:
        return check_room(slices, column, 1, rows, 8 * (int64_t)column->field->byte_width, "values",
                          err);
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads bytes [offset, offset + size) of a buffer; they are known to be inside it. */
static oc_status read_range(oci_slices *slices, const oci_ipc_buffer *buffer, int64_t offset,
                            void *to, int64_t size, oc_error *err)
{
    assert(offset >= 0 && size >= 0 && offset + size <= buffer->length);
    if (size == 0) {
        return OC_OK;
    }
    int64_t from = slices->body.offset + buffer->offset + offset;
    if (slices->body.memory != NULL) {
        memcpy(to, slices->body.memory + from, (size_t)size);
        return OC_OK;
    }
    return oci_pread_exact(slices->body.file, to, size, from, err);
}

/* Reads bits [start, start + n) to bit 0 and the following of `to`, which has bitmap_room(n)
 * bytes; the bits behind them become 0. */
static oc_status read_bits(oci_slices *slices, const oci_ipc_buffer *buffer, int64_t start,
                           int64_t n, uint8_t *to, oc_error *err)
{
    int shift = (int)(start & 7);
    int64_t size = oci_bytes_for_bits(shift + n);
    memset(to, 0, (size_t)bitmap_room(n));
    OC_TRY(read_range(slices, buffer, start / 8, to, size, err));
    if (shift > 0) {
        for (int64_t i = 0; i + 1 < size; i++) {
            to[i] = (uint8_t)(to[i] >> shift | to[i + 1] << (8 - shift));
        }
        to[size - 1] = (uint8_t)(to[size - 1] >> shift);
    }
    oci_bits_fill(to, n, bitmap_room(n) * 8 - n, false);
    return OC_OK;
}

/* The offset of a row of a string column. */
static oc_status read_offset(oci_slices *slices, const slice_column *column, int64_t row,
                             int64_t *out, oc_error *err)
{
    uint8_t bytes[8] = {0};
    int64_t width = offset_width(column);
    OC_TRY(read_range(slices, buffer_of(slices, column, 1), row * width, bytes, width, err));
    *out = width == 8 ? (int64_t)oci_load_le64(bytes) : (int32_t)oci_load_le32(bytes);
    return OC_OK;
}

/* ---- step 1: how many rows ------------------------------------------------------------------- */

/* Reads views and validity of the next n rows of all view columns into the scratch block. */
static oc_status read_views(oci_slices *slices, int64_t n, oc_error *err)
{
    int64_t column_bytes = n * (int64_t)sizeof(oci_view) + bitmap_room(n);
    int64_t needed = slices->n_view_columns * column_bytes + n * (int64_t)sizeof(view_range);
    if (needed > slices->scratch_bytes) {
        oci_mem_free(slices->mem, slices->scratch, slices->scratch_bytes);
        slices->scratch = NULL;
        slices->scratch_bytes = 0;
        void *block = NULL;
        OC_TRY(oci_mem_alloc(slices->mem, needed, &block, err));
        slices->scratch = block;
        slices->scratch_bytes = needed;
    }
    /* Ranges first: they are used by one column after the other. */
    uint8_t *at = slices->scratch + n * (int64_t)sizeof(view_range);
    for (int32_t i = 0; i < slices->schema->n_fields; i++) {
        slice_column *column = &slices->columns[i];
        if (column->layout != OCI_LAYOUT_VIEWS) {
            continue;
        }
        column->views = at;
        column->view_bits = at + n * (int64_t)sizeof(oci_view);
        at += column_bytes;
        OC_TRY(read_range(slices, buffer_of(slices, column, 1),
                          slices->next_row * (int64_t)sizeof(oci_view), column->views,
                          n * (int64_t)sizeof(oci_view), err));
        if (column->has_validity) {
            OC_TRY(read_bits(slices, buffer_of(slices, column, 0), slices->next_row, n,
                             column->view_bits, err));
        }
    }
    return OC_OK;
}

static oci_view view_at(const slice_column *column, int64_t row)
{
    oci_view view;
    memcpy(&view, column->views + row * (int64_t)sizeof view, sizeof view);
    return view;
}

static bool is_null_view(const slice_column *column, int64_t row)
{
    return column->has_validity && !oci_bit_get(column->view_bits, row);
}

/* Bytes that the first n views refer to, counting what is referred to twice twice: an upper
 * bound. */
static int64_t view_bytes(const slice_column *column, int64_t n)
{
    int64_t total = 0;
    for (int64_t row = 0; row < n; row++) {
        int32_t length = view_at(column, row).length;
        if (length > VIEW_INLINE_BYTES && !is_null_view(column, row)) {
            total += length;
        }
    }
    return oci_round_up(total, 8);
}

/* The end of the bytes of n rows of a string column, and how many bytes these are. */
static oc_status measure_strings(oci_slices *slices, slice_column *column, int64_t n,
                                 int64_t *bytes, oc_error *err)
{
    OC_TRY(read_offset(slices, column, slices->next_row + n, &column->bytes_end, err));
    int64_t limit = buffer_of(slices, column, 2)->length;
    if (column->bytes_start < 0 || column->bytes_start > column->bytes_end ||
        column->bytes_end > limit) {
        OC_FAIL(err, OC_EDATA,
                "column \"%.80s\": offsets %" PRId64 " and %" PRId64 " of rows %" PRId64
                " and %" PRId64 " do not fit %" PRId64 " bytes",
                column->field->name, column->bytes_start, column->bytes_end, slices->next_row,
                slices->next_row + n, limit);
    }
    *bytes = oci_round_up(column->bytes_end - column->bytes_start, 8);
    return OC_OK;
}

/* Bytes of the slab of the next n rows. */
static oc_status measure(oci_slices *slices, int64_t n, int64_t *out, oc_error *err)
{
    int64_t total = 0;
    for (int32_t i = 0; i < slices->schema->n_fields; i++) {
        slice_column *column = &slices->columns[i];
        int64_t bytes = 0;
        total += column->has_validity ? bitmap_room(n) : 0;
        switch (column->layout) {
        case OCI_LAYOUT_BITS: bytes = bitmap_room(n); break;
        case OCI_LAYOUT_FIXED:
        case OCI_LAYOUT_DICTIONARY: bytes = oci_round_up(n * column->field->byte_width, 8); break;
        case OCI_LAYOUT_OFFSETS32:
        case OCI_LAYOUT_OFFSETS64:
            OC_TRY(measure_strings(slices, column, n, &bytes, err));
            total += oci_round_up((n + 1) * offset_width(column), 8);
            break;
        case OCI_LAYOUT_VIEWS: bytes = n * (int64_t)sizeof(oci_view) + view_bytes(column, n); break;
        case OCI_LAYOUT_NULL:
        default: break;
        }
        if (!oci_add64(total, bytes, &total)) {
            OC_FAIL(err, OC_EDATA, "column \"%.80s\": row %" PRId64 " is too long",
                    column->field->name, slices->next_row);
        }
    }
    *out = total;
    return OC_OK;
}

/* The next number of rows to try, between `fits` (0 = none yet) and `over`, after `n` rows took
 * `bytes`. */
static int64_t next_guess(const oci_slices *slices, int64_t fits, int64_t over, int64_t n,
                          int64_t bytes, int guesses)
{
    int64_t guess = fits + (over - fits) / 2;
    if (guesses < GUESSES_MAX && bytes > 0) {
        guess = (int64_t)((double)n * (double)slices->bytes_target / (double)bytes);
    }
    return oci_max64(fits + 1, oci_min64(guess, over - 1));
}

/* Finds how many of at most `most` rows go into a slice: the bytes fit the target and fill three
 * quarters of it, or one more row would be too many. Leaves the columns measured for that
 * number. */
static oc_status choose_rows(oci_slices *slices, int64_t most, int64_t *rows, int64_t *bytes,
                             oc_error *err)
{
    int64_t fits = 0;
    int64_t over = most + 1;
    int64_t n = oci_min64(most, slices->rows_hint);
    for (int guesses = 0;; guesses++) {
        OC_TRY(measure(slices, n, bytes, err));
        if (*bytes <= slices->bytes_target || n == 1) {
            fits = n;
            if (*bytes >= slices->bytes_target / 4 * 3 || n + 1 >= over) {
                break;
            }
        } else {
            over = n;
            if (fits > 0 && fits + 1 >= over) {
                n = fits;
                OC_TRY(measure(slices, n, bytes, err));
                break;
            }
        }
        n = next_guess(slices, fits, over, n, *bytes, guesses);
    }
    *rows = n;
    return OC_OK;
}

/* ---- step 2: filling the slab ---------------------------------------------------------------- */

/* The next place in the slab: `size` bytes, of which the last few are padding set to 0. */
static uint8_t *place(oci_slices *slices, oci_ipc_buffer *buffer, int64_t length, int64_t room)
{
    assert(length <= room && slices->slab_end + room <= slices->slab_bytes);
    uint8_t *at = slices->slab + slices->slab_end;
    *buffer = (oci_ipc_buffer){.offset = slices->slab_end, .length = length};
    memset(at + length, 0, (size_t)(room - length));
    slices->slab_end += room;
    return at;
}

/* Validity of the slice. Where all its rows are valid, it has none. */
static oc_status fill_validity(oci_slices *slices, slice_column *column, int64_t n,
                               oci_ipc_node *node, oci_ipc_buffer *buffer, oc_error *err)
{
    *buffer = (oci_ipc_buffer){.offset = slices->slab_end};
    if (!column->has_validity) {
        return OC_OK;
    }
    uint8_t *bits = place(slices, buffer, oci_bytes_for_bits(n), bitmap_room(n));
    OC_TRY(read_bits(slices, buffer_of(slices, column, 0), slices->next_row, n, bits, err));
    node->null_count = n - oci_bits_count(bits, 0, n);
    column->nulls += node->null_count;
    if (node->null_count == 0) {
        buffer->length = 0;
    }
    return OC_OK;
}

/* Moves offsets so that the first is 0. Modulo 2^32 or 2^64, so that one outside [first, last]
 * stays outside. */
static void rebase(uint8_t *offsets, int64_t n, bool wide)
{
    if (wide) {
        uint64_t first = oci_load_le64(offsets);
        for (int64_t i = 0; i < n; i++) {
            oci_store_le64(offsets + 8 * i, oci_load_le64(offsets + 8 * i) - first);
        }
    } else {
        uint32_t first = oci_load_le32(offsets);
        for (int64_t i = 0; i < n; i++) {
            oci_store_le32(offsets + 4 * i, oci_load_le32(offsets + 4 * i) - first);
        }
    }
}

static oc_status fill_strings(oci_slices *slices, const slice_column *column, int64_t n,
                              oci_ipc_buffer *buffers, oc_error *err)
{
    int64_t width = offset_width(column);
    int64_t size = (n + 1) * width;
    uint8_t *offsets = place(slices, &buffers[0], size, oci_round_up(size, 8));
    OC_TRY(read_range(slices, buffer_of(slices, column, 1), slices->next_row * width, offsets, size,
                      err));
    rebase(offsets, n + 1, width == 8);
    size = column->bytes_end - column->bytes_start;
    uint8_t *bytes = place(slices, &buffers[1], size, oci_round_up(size, 8));
    return read_range(slices, buffer_of(slices, column, 2), column->bytes_start, bytes, size, err);
}

static oc_status fill_fixed(oci_slices *slices, const slice_column *column, int64_t n,
                            oci_ipc_buffer *buffer, oc_error *err)
{
    int64_t width = column->field->byte_width;
    uint8_t *values = place(slices, buffer, n * width, oci_round_up(n * width, 8));
    return read_range(slices, buffer_of(slices, column, 1), slices->next_row * width, values,
                      n * width, err);
}

/* ---- views ----------------------------------------------------------------------------------- */

static bool range_is_before(const view_range *a, const view_range *b)
{
    return a->buffer != b->buffer ? a->buffer < b->buffer : a->offset < b->offset;
}

static void sift_down(view_range *ranges, int64_t root, int64_t n)
{
    for (int64_t child = 2 * root + 1; child < n; child = 2 * root + 1) {
        if (child + 1 < n && range_is_before(&ranges[child], &ranges[child + 1])) {
            child++;
        }
        if (!range_is_before(&ranges[root], &ranges[child])) {
            return;
        }
        view_range swap = ranges[root];
        ranges[root] = ranges[child];
        ranges[child] = swap;
        root = child;
    }
}

/* Sorts by place. A heap sort, because qsort() may allocate; mostly the ranges are in order
 * already. */
static void sort_ranges(view_range *ranges, int64_t n)
{
    int64_t sorted = 1;
    while (sorted < n && !range_is_before(&ranges[sorted], &ranges[sorted - 1])) {
        sorted++;
    }
    if (sorted >= n) {
        return;
    }
    for (int64_t i = n / 2 - 1; i >= 0; i--) {
        sift_down(ranges, i, n);
    }
    for (int64_t end = n - 1; end > 0; end--) {
        view_range swap = ranges[0];
        ranges[0] = ranges[end];
        ranges[end] = swap;
        sift_down(ranges, 0, end);
    }
}

/* Lists what the views refer to, checked against the buffers they name, and zeroes the views of
 * nulls. */
static oc_status collect_ranges(oci_slices *slices, slice_column *column, int64_t n,
                                view_range *ranges, int64_t *n_ranges, oc_error *err)
{
    *n_ranges = 0;
    for (int64_t row = 0; row < n; row++) {
        if (is_null_view(column, row)) {
            memset(column->views + row * (int64_t)sizeof(oci_view), 0, sizeof(oci_view));
            continue;
        }
        oci_view view = view_at(column, row);
        if (view.length >= 0 && view.length <= VIEW_INLINE_BYTES) {
            continue;
        }
        bool is_inside = view.length > 0 && view.ref.buffer >= 0 &&
                         view.ref.buffer < column->n_variadic && view.ref.offset >= 0;
        if (is_inside) {
            int64_t size = buffer_of(slices, column, 2 + view.ref.buffer)->length;
            is_inside = (int64_t)view.ref.offset + view.length <= size;
        }
        if (!is_inside) {
            OC_FAIL(err, OC_EDATA,
                    "column \"%.80s\", row %" PRId64 ": view of %" PRId32 " bytes at %" PRId32
                    " of buffer %" PRId32 " is outside of its buffer",
                    column->field->name, slices->next_row + row, view.length, view.ref.offset,
                    view.ref.buffer);
        }
        ranges[(*n_ranges)++] =
            (view_range){view.ref.buffer, view.ref.offset, view.length, (int32_t)row};
    }
    return OC_OK;
}

/* Points the views of the ranges [0, n), which are merged in the file bytes from `start` on, to
 * `at` in the new buffer. */
static void point_views(slice_column *column, const view_range *ranges, int64_t n, int64_t start,
                        int64_t at)
{
    for (int64_t i = 0; i < n; i++) {
        uint8_t *view = column->views + ranges[i].row * (int64_t)sizeof(oci_view);
        oci_store_le32(view + offsetof(oci_view, ref.buffer), 0);
        oci_store_le32(view + offsetof(oci_view, ref.offset),
                       (uint32_t)(at + ranges[i].offset - start));
    }
}

/* Reads what the sorted ranges cover, joining those that touch or overlap, one behind the other
 * to `to`. */
static oc_status read_ranges(oci_slices *slices, slice_column *column, const view_range *ranges,
                             int64_t n, uint8_t *to, int64_t *size, oc_error *err)
{
    int64_t at = 0;
    for (int64_t i = 0; i < n;) {
        int64_t start = ranges[i].offset;
        int64_t end = start + ranges[i].length;
        int64_t next = i + 1;
        while (next < n && ranges[next].buffer == ranges[i].buffer && ranges[next].offset <= end) {
            end = oci_max64(end, (int64_t)ranges[next].offset + ranges[next].length);
            next++;
        }
        OC_TRY(read_range(slices, buffer_of(slices, column, 2 + ranges[i].buffer), start, to + at,
                          end - start, err));
        point_views(column, ranges + i, next - i, start, at);
        at += end - start;
        i = next;
    }
    *size = at;
    return OC_OK;
}

static oc_status fill_views(oci_slices *slices, slice_column *column, int64_t n,
                            oci_ipc_buffer *buffers, int64_t *n_variadic, oc_error *err)
{
    int64_t size = n * (int64_t)sizeof(oci_view);
    int64_t room = view_bytes(column, n);
    uint8_t *views = place(slices, &buffers[0], size, size);
    uint8_t *bytes = place(slices, &buffers[1], 0, room);
    view_range *ranges = (view_range *)slices->scratch;
    int64_t n_ranges = 0;
    OC_TRY(collect_ranges(slices, column, n, ranges, &n_ranges, err));
    /* Several rows fit the block, and a single view begins at 0: offsets in the new buffer fit
     * 31 bits. */
    assert(n == 1 || room <= INT32_MAX);
    sort_ranges(ranges, n_ranges);
    OC_TRY(read_ranges(slices, column, ranges, n_ranges, bytes, &buffers[1].length, err));
    memcpy(views, column->views, (size_t)size);
    *n_variadic = n_ranges > 0 ? 1 : 0;
    return OC_OK;
}

/* ---- a slice --------------------------------------------------------------------------------- */

/* Fills one column; *n_buffers and *n_variadic count what it added to the message. */
static oc_status fill_column(oci_slices *slices, slice_column *column, int64_t n,
                             oci_ipc_node *node, oci_ipc_buffer *buffers, int64_t *n_buffers,
                             int64_t *n_variadic, oc_error *err)
{
    *node = (oci_ipc_node){.length = n};
    *n_buffers = 2;
    if (column->layout == OCI_LAYOUT_NULL) {
        node->null_count = n;
        *n_buffers = 0;
        return OC_OK;
    }
    OC_TRY(fill_validity(slices, column, n, node, &buffers[0], err));
    switch (column->layout) {
    case OCI_LAYOUT_BITS: {
        uint8_t *bits = place(slices, &buffers[1], oci_bytes_for_bits(n), bitmap_room(n));
        return read_bits(slices, buffer_of(slices, column, 1), slices->next_row, n, bits, err);
    }
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64:
        *n_buffers = 3;
        return fill_strings(slices, column, n, &buffers[1], err);
    case OCI_LAYOUT_VIEWS:
        OC_TRY(fill_views(slices, column, n, &buffers[1], n_variadic, err));
        *n_buffers += *n_variadic;
        return OC_OK;
    default: return fill_fixed(slices, column, n, &buffers[1], err);
    }
}

/* At the end of the batch: were there as many nulls as the message says? */
static oc_status check_nulls(const oci_slices *slices, oc_error *err)
{
    for (int32_t i = 0; i < slices->schema->n_fields; i++) {
        const slice_column *column = &slices->columns[i];
        int64_t announced = slices->parts.nodes[i].null_count;
        if (column->has_validity && column->nulls != announced) {
            OC_FAIL(err, OC_EDATA,
                    "column \"%.80s\" has %" PRId64 " nulls where the message says %" PRId64,
                    column->field->name, column->nulls, announced);
        }
    }
    return OC_OK;
}

/* Fills the slab and describes it as a message. */
static oc_status fill(oci_slices *slices, int64_t n, oci_message *message, oc_error *err)
{
    int64_t buffer = 0;
    int64_t variadic = 0;
    slices->slab_end = 0;
    for (int32_t i = 0; i < slices->schema->n_fields; i++) {
        slice_column *column = &slices->columns[i];
        int64_t n_buffers = 0;
        int64_t n_variadic = 0;
        OC_TRY(fill_column(slices, column, n, &slices->nodes[i], &slices->buffers[buffer],
                           &n_buffers, &n_variadic, err));
        buffer += n_buffers;
        if (column->layout == OCI_LAYOUT_VIEWS) {
            slices->variadic[variadic++] = n_variadic;
        }
    }
    if (slices->next_row + n == slices->rows) {
        OC_TRY(check_nulls(slices, err));
    }
    *message = (oci_message){
        .kind = OCI_MESSAGE_BATCH,
        .body_bytes = slices->slab_end,
        .length = n,
        .n_nodes = slices->schema->n_fields,
        .nodes = (const uint8_t *)slices->nodes,
        .n_buffers = buffer,
        .buffers = (const uint8_t *)slices->buffers,
        .n_variadic = variadic,
        .variadic = (const uint8_t *)slices->variadic,
        .codec = OCI_CODEC_NONE,
    };
    return OC_OK;
}

/* Gives back the disk space of the first `bytes` of a buffer, when it has become worth a system
 * call. */
static void discard_buffer(oci_slices *slices, int64_t buffer, int64_t bytes)
{
    int64_t *done = &slices->discarded[buffer];
    if (bytes - *done >= DISCARD_BYTES) {
        oci_discard(slices->body.file,
                    slices->body.offset + slices->parts.buffers[buffer].offset + *done,
                    bytes - *done);
        *done = bytes;
    }
}

/* Moves on to `row`: what lies before it is not read again. The buffers of views may be referred
 * to from anywhere, and stay. */
static void advance(oci_slices *slices, int64_t row)
{
    slices->next_row = row;
    for (int32_t i = 0; i < slices->schema->n_fields; i++) {
        slice_column *column = &slices->columns[i];
        column->bytes_start = column->bytes_end;
        if (!slices->discard || column->layout == OCI_LAYOUT_NULL) {
            continue;
        }
        if (column->has_validity) {
            discard_buffer(slices, column->first_buffer, row / 8);
        }
        bool is_string = column->layout == OCI_LAYOUT_OFFSETS32 ||
                         column->layout == OCI_LAYOUT_OFFSETS64;
        int64_t bits = fixed_bits(column) - (column->has_validity ? 1 : 0);
        discard_buffer(slices, column->first_buffer + 1, row * bits / 8);
        if (is_string) {
            discard_buffer(slices, column->first_buffer + 2, column->bytes_start);
        }
    }
}

/* The most rows that the next slice may have, from what is known without reading. */
static int64_t most_rows(const oci_slices *slices)
{
    int64_t n = oci_min64(slices->rows - slices->next_row, slices->env->batch_rows);
    if (slices->row_bits > 0) {
        n = oci_min64(n, oci_max64(1, slices->bytes_target * 8 / slices->row_bits));
    }
    return n;
}

/* The only slice of a batch without rows. String columns have one offset then, which may be
 * missing in the file. */
static oc_status make_empty(oci_slices *slices, oci_batch **out, oc_error *err)
{
    int64_t n_buffers = 0;
    int64_t n_variadic = 0;
    for (int32_t i = 0; i < slices->schema->n_fields; i++) {
        oci_layout layout = slices->columns[i].layout;
        bool is_string = layout == OCI_LAYOUT_OFFSETS32 || layout == OCI_LAYOUT_OFFSETS64;
        slices->nodes[i] = (oci_ipc_node){0};
        n_buffers += layout == OCI_LAYOUT_NULL ? 0 : is_string ? 3 : 2;
        if (layout == OCI_LAYOUT_VIEWS) {
            slices->variadic[n_variadic++] = 0;
        }
    }
    memset(slices->buffers, 0, (size_t)n_buffers * sizeof(oci_ipc_buffer));
    oci_message message = {.kind = OCI_MESSAGE_BATCH,
                           .n_nodes = slices->schema->n_fields,
                           .nodes = (const uint8_t *)slices->nodes,
                           .n_buffers = n_buffers,
                           .buffers = (const uint8_t *)slices->buffers,
                           .n_variadic = n_variadic,
                           .variadic = (const uint8_t *)slices->variadic};
    return oci_ipc_decode(slices->decoder, &message, NULL, 0, 0, NULL, out, err);
}

/* Plans, reads and decodes the next rows. The slab is the decoder's from the call of
 * oci_ipc_decode() on. */
static oc_status make_slice(oci_slices *slices, oci_batch **out, oc_error *err)
{
    int64_t most = most_rows(slices);
    int64_t n = 0;
    if (slices->n_view_columns > 0) {
        OC_TRY(read_views(slices, most, err));
    }
    OC_TRY(choose_rows(slices, most, &n, &slices->slab_bytes, err));
    void *slab = NULL;
    OC_TRY(oci_mem_alloc(slices->mem, slices->slab_bytes, &slab, err));
    slices->slab = slab;
    oci_message message;
    oc_status status = fill(slices, n, &message, err);
    if (status != OC_OK) {
        oci_mem_free(slices->mem, slab, slices->slab_bytes);
        return status;
    }
    OC_TRY(oci_ipc_decode(slices->decoder, &message, slab, slices->slab_bytes, 0, NULL, out, err));
    slices->rows_hint = n;
    advance(slices, slices->next_row + n);
    return OC_OK;
}

oc_status oci_slices_next(oci_slices *slices, oci_batch **out, oc_error *err)
{
    *out = NULL;
    if (slices->is_finished) {
        return OC_OK;
    }
    OC_TRY(oci_env_check_cancel(slices->env, err));
    OC_TRY(slices->rows == 0 ? make_empty(slices, out, err) : make_slice(slices, out, err));
    slices->is_finished = slices->next_row >= slices->rows;
    return OC_OK;
}

int64_t oci_slices_done(const oci_slices *slices)
{
    return slices->next_row;
}

int64_t oci_slices_rows(const oci_slices *slices)
{
    return slices->rows;
}

/* ---- making ---------------------------------------------------------------------------------- */

static oc_status allocate(oci_slices *slices, oc_error *err)
{
    int64_t n = slices->schema->n_fields;
    int64_t columns = n * (int64_t)sizeof(slice_column);
    int64_t nodes = n * (int64_t)sizeof(oci_ipc_node);
    int64_t buffers = 3 * n * (int64_t)sizeof(oci_ipc_buffer);
    int64_t variadic = n * (int64_t)sizeof(int64_t);
    int64_t discarded = slices->parts.message.n_buffers * (int64_t)sizeof(int64_t);
    slices->block_bytes = columns + nodes + buffers + variadic + discarded;
    OC_TRY(oci_mem_alloc(slices->mem, slices->block_bytes, &slices->block, err));
    memset(slices->block, 0, (size_t)slices->block_bytes);
    slices->columns = slices->block;
    slices->nodes = (oci_ipc_node *)(slices->columns + n);
    slices->buffers = (oci_ipc_buffer *)(slices->nodes + n);
    slices->variadic = (int64_t *)(slices->buffers + 3 * n);
    slices->discarded = slices->variadic + n;
    return OC_OK;
}

/* Checks the columns and finds where the first rows begin. */
static oc_status prepare_columns(oci_slices *slices, oc_error *err)
{
    int64_t variadic = 0;
    for (int32_t i = 0; i < slices->schema->n_fields; i++) {
        slice_column *column = &slices->columns[i];
        column->field = &slices->schema->fields[i];
        column->layout = oci_field_layout(column->field);
        column->first_buffer = slices->parts.first_buffer[i];
        if (column->layout == OCI_LAYOUT_VIEWS) {
            column->n_variadic = slices->parts.variadic[variadic++];
            slices->n_view_columns++;
        }
        OC_TRY(check_column(slices, column, &slices->parts.nodes[i], err));
        slices->row_bits += fixed_bits(column);
        bool is_string = column->layout == OCI_LAYOUT_OFFSETS32 ||
                         column->layout == OCI_LAYOUT_OFFSETS64;
        if (is_string && slices->rows > 0) {
            OC_TRY(read_offset(slices, column, 0, &column->bytes_start, err));
        }
    }
    return OC_OK;
}

oc_status oci_slices_create(const oci_env *env, oci_schema *schema, oci_ipc_decoder *decoder,
                            oci_parts *parts, const oci_body *body, bool discard, oci_mem *mem,
                            oci_slices **out, oc_error *err)
{
    assert((body->file != NULL || body->memory != NULL) && parts->message.codec == OCI_CODEC_NONE);
    void *made = NULL;
    oc_status status = oci_mem_alloc(mem, (int64_t)sizeof(oci_slices), &made, err);
    if (status != OC_OK) {
        oci_parts_deinit(parts);
        return status;
    }
    oci_slices *slices = made;
    *slices = (oci_slices){.env = env,
                           .mem = mem,
                           .schema = schema,
                           .decoder = decoder,
                           .parts = *parts,
                           .body = *body,
                           .discard = discard,
                           .rows = parts->message.length,
                           .bytes_target = oci_env_block_bytes(env),
                           .rows_hint = INT64_MAX};
    *parts = (oci_parts){0};
    status = allocate(slices, err);
    if (status == OC_OK) {
        status = prepare_columns(slices, err);
    }
    if (status != OC_OK) {
        oci_slices_destroy(slices);
        return status;
    }
    *out = slices;
    return OC_OK;
}

void oci_slices_destroy(oci_slices *slices)
{
    if (slices == NULL) {
        return;
    }
    oci_mem *mem = slices->mem;
    oci_parts_deinit(&slices->parts);
    oci_mem_free(mem, slices->scratch, slices->scratch_bytes);
    oci_mem_free(mem, slices->block, slices->block_bytes);
    oci_mem_free(mem, slices, (int64_t)sizeof *slices);
}
