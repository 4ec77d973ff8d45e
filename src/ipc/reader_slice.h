/* What the files behind reader_slices.h share: the columns of a batch as a list of readers, one for
 * each node of the tree, and the two things that each can do.
 *
 *   plan   told which of its rows a slice has, it finds the rows of its children and adds up the
 *          bytes that all of them take
 *   fill   reads what was planned into the slab, and describes it as part of a message
 *
 * The columns lie depth first, as nodes do in a message, so column i has node i. */
#ifndef OUTCORE_IPC_READER_SLICE_H
#define OUTCORE_IPC_READER_SLICE_H

#include "base/bits.h"
#include "ipc/reader_slices.h"

/* So many rows are looked at together while planning. */
#define OCI_SLICE_CHUNK_ROWS 512

/* Bytes of a view that lies in its buffer (longer than that, it is only referred to). */
#define OCI_VIEW_INLINE_BYTES 12

typedef struct oci_slice_column {
    const oci_field *field;
    oci_layout layout;
    oci_node_shape shape;
    const int32_t *children; /* indices of the columns */
    int64_t rows;            /* in the message */
    int64_t null_count;      /* as announced */
    int64_t first_buffer;    /* in the message */
    int64_t n_variadic;      /* VIEWS: buffers behind the views */
    bool has_validity;
    bool is_forward; /* ranges only go forward: neither a list view nor a dense union is above */
    /* The slice that is planned: rows [start, start + count) ... */
    int64_t start;
    int64_t count;
    /* ... and what they refer to, [low, high): bytes of strings, rows of the child of lists, runs.
     * Of the children of a dense union, their rows. */
    int64_t low;
    int64_t high;
    int64_t view_bytes; /* VIEWS: bytes that the views refer to, at most */
    /* Behind the slice before: its last row + 1, and what `high` was, -1 = not known. */
    int64_t next_row;
    int64_t next_value;
    /* Nulls in rows [0, counted_rows), -1 once a range did not begin where the last ended. */
    int64_t nulls;
    int64_t counted_rows;
} oci_slice_column;

struct oci_slices {
    const oci_env *env;
    oci_mem *mem;
    oci_schema *schema;
    oci_ipc_decoder *decoder;
    oci_parts parts;
    oci_body body;
    bool discard;
    bool swap; /* the body is big-endian */
    int64_t rows;
    int64_t next_row;
    int64_t bytes_target;
    int64_t rows_hint; /* rows of the last slice, where the search begins */
    int64_t row_bits;  /* of one row at least */
    bool is_finished;
    /* one block: the columns, and the message of a slice */
    void *block;
    int64_t block_bytes;
    int32_t n_columns;
    oci_slice_column *columns;
    oci_ipc_node *nodes;
    oci_ipc_buffer *buffers; /* up to three a column */
    int64_t *variadic;
    int64_t *discarded; /* per buffer of parts: bytes given back */
    int32_t *children;  /* indices of columns: first those of the schema, then of each column */
    /* Of the next slice: rows that are being planned and bytes so far. */
    int64_t planned_rows;
    int64_t planned_bytes;
    /* the slab being filled */
    uint8_t *slab;
    int64_t slab_bytes;
    int64_t slab_end;
    int64_t n_buffers; /* filled, and counts of view buffers */
    int64_t n_variadic;
    /* rows looked at while planning: two buffers of theirs, and validity */
    uint8_t chunk[OCI_SLICE_CHUNK_ROWS * sizeof(oci_view)];
    uint8_t chunk_more[OCI_SLICE_CHUNK_ROWS * sizeof(int64_t)];
    uint8_t chunk_bits[OCI_SLICE_CHUNK_ROWS / 8 + 8];
};

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Bytes that the bitmap of n rows takes in the slab. One more than it needs: a range that begins
 * inside a byte is read whole and then shifted. */
static inline int64_t oci_slice_bitmap_room(int64_t n)
{
    return oci_round_up(oci_bytes_for_bits(n) + 1, 8);
}

/* Bits of a value in a buffer of this kind, 0 for bytes of strings. */
int64_t oci_slice_value_bits(const oci_slice_column *column, oci_buffer_kind kind);

/* The width of the offsets of strings, lists and list views. */
static inline int64_t oci_slice_offset_width(const oci_slice_column *column)
{
    return column->shape.buffers[1] == OCI_BUFFER_INT64 ? 8 : 4;
}

static inline oci_slice_column *oci_slice_child(const oci_slices *slices,
                                                const oci_slice_column *column, int32_t k)
{
    return &slices->columns[column->children[k]];
}

/* ---- reading --------------------------------------------------------------------------------- */

static inline const oci_ipc_buffer *oci_slice_buffer(const oci_slices *slices,
                                                     const oci_slice_column *column, int64_t which)
{
    return &slices->parts.buffers[column->first_buffer + which];
}

/* Bytes [offset, offset + size) of a buffer; they are known to be inside it. */
OC_NODISCARD oc_status oci_slice_read_bytes(oci_slices *slices, const oci_ipc_buffer *buffer,
                                            int64_t offset, void *to, int64_t size, oc_error *err);
/* Values [row, row + n) of buffer `which` of a column, in the byte order of this machine. */
OC_NODISCARD oc_status oci_slice_read_values(oci_slices *slices, const oci_slice_column *column,
                                             int which, int64_t row, int64_t n, void *to,
                                             oc_error *err);
/* Bits [row, row + n) to bit 0 and the following of `to`, which has oci_slice_bitmap_room(n) bytes;
 * the bits behind them become 0. */
OC_NODISCARD oc_status oci_slice_read_bits(oci_slices *slices, const oci_slice_column *column,
                                           int which, int64_t row, int64_t n, uint8_t *to,
                                           oc_error *err);
/* One value of a buffer of int16, int32 or int64. */
OC_NODISCARD oc_status oci_slice_read_integer(oci_slices *slices, const oci_slice_column *column,
                                              int which, int64_t row, int64_t *out, oc_error *err);

/* The same from memory. */
static inline int64_t oci_slice_integer_at(const uint8_t *values, int64_t width, int64_t i)
{
    switch (width) {
    case 2: return (int16_t)oci_load_le16(values + 2 * i);
    case 4: return (int32_t)oci_load_le32(values + 4 * i);
    default: return (int64_t)oci_load_le64(values + 8 * i);
    }
}

/* ---- steps of a slice ------------------------------------------------------------------------ */

/* Plans the next n rows of all columns; slices->planned_bytes tells what they take. When that is
 * far beyond the target and n > 1, planning may end early: too many rows, that is sure. */
OC_NODISCARD oc_status oci_slice_plan(oci_slices *slices, int64_t n, oc_error *err);

/* Fills the slab with what was planned last, completely; nodes, buffers, n_buffers, variadic and
 * n_variadic describe it. */
OC_NODISCARD oc_status oci_slice_fill(oci_slices *slices, oc_error *err);

/* The next place in the slab: `length` bytes, and zeros up to `room`. */
uint8_t *oci_slice_place(oci_slices *slices, oci_ipc_buffer *buffer, int64_t length, int64_t room);

/* Views, and behind them, in one buffer, the bytes that they refer to; `bits` is the validity of the
 * rows or NULL. *buffers gets one or two, and *n_variadic how many of them are view buffers. */
OC_NODISCARD oc_status oci_slice_fill_views(oci_slices *slices, const oci_slice_column *column,
                                            const uint8_t *bits, oci_ipc_buffer *buffers,
                                            int64_t *n_variadic, oc_error *err);

#endif /* OUTCORE_IPC_READER_SLICE_H */
