/* Record batches and columns.
 *
 * An `oci_column` is a view: it points at buffers that something else keeps alive, and may start
 * at any `offset` (in values; bits for validity and bool). An `oci_batch` owns a set of columns
 * and keeps their memory alive: either one slab from the budget (batches we make) or an imported
 * ArrowArray (batches handed in). Batches are immutable once made and reference-counted, so that
 * they can be sliced, shared between operators and exported without copying.
 *
 * Null slots may hold any bytes, including offsets that are valid but not empty; nothing may
 * depend on them.
 *
 * Nested columns. `offset` moves where a column begins in its own buffers, and for struct, sparse
 * union and fixed-size list also in the rows of its children; a slice changes only the outermost
 * offset and length. With r' = offset + r, row r is
 *
 *   struct, sparse union   row r' of each child
 *   fixed-size list        rows [r' * list_size, (r' + 1) * list_size) of the child
 *   list, map              rows [offsets[r'], offsets[r' + 1]) of the child
 *   list view              rows [offsets[r'], offsets[r'] + sizes[r']) of the child
 *   dense union            row child_offsets[r'] of the child named by type id r'
 *   run-end encoded        row i of the values, i = the first with run_ends[i] > r'
 *
 * where "row x of a child" counts from the child's own offset. A child may have more rows than are
 * referred to. Unions and run-end encoded columns have no validity of their own: a null is a null
 * of the value that the row refers to.
 *
 * Slab layout. The buffers of a batch made by us lie in one block in the order and with the
 * 8-byte padding of an Arrow IPC message body (per column: validity, then offsets / views /
 * values, then bytes; absent validity = nothing), behind `head_bytes` free bytes in which the
 * spill writer can put the message header: an uncompressed spill block goes to disk as it lies,
 * in one write. A nested column is followed by its children, depth first. Dictionary values are a
 * second batch-like part behind the columns and are not part of that body. */
#ifndef OUTCORE_ARROW_BATCH_H
#define OUTCORE_ARROW_BATCH_H

#include "arrow/schema.h"

/* A 16-byte string view as Arrow lays it out. */
typedef struct oci_view {
    int32_t length;
    union {
        uint8_t inlined[12];
        struct {
            uint8_t prefix[4];
            int32_t buffer;
            int32_t offset;
        } ref;
    };
} oci_view;

typedef struct oci_column {
    const oci_field *field; /* owned by the batch's schema */
    int64_t length;
    int64_t offset;                     /* first value, in values, into every buffer below */
    int64_t null_count;                 /* -1 = not counted yet */
    const uint8_t *validity;            /* bitmap, or NULL = all valid (NULL layout: all null) */
    const uint8_t *values;              /* bits, fixed values, offsets, views, indices, type ids */
    const uint8_t *bytes;               /* OFFSETS32/64 only */
    const uint8_t *sizes;               /* LIST_VIEW32/64 only */
    const uint8_t *child_offsets;       /* DENSE_UNION only: int32 */
    const uint8_t *const *view_buffers; /* VIEWS only */
    const int64_t *view_sizes;          /* VIEWS only: size of each */
    int32_t n_view_buffers;
    const struct oci_column *dictionary; /* DICTIONARY only: the values */
    const struct oci_column *children;   /* nested layouts: field->n_children */
} oci_column;

typedef struct oci_batch {
    oci_schema *schema; /* retained */
    int64_t length;
    oci_column *columns; /* schema->n_fields */
    int64_t bytes; /* what this batch itself is charged; 0 for imports and for what shares memory */
    /* Set by makers whose slab has the IPC shape (gather without dictionaries, the IPC decoder);
     * 0 / -1 by default and in slices: free bytes at the start of the slab, and size of the
     * message body that follows them. */
    int64_t head_bytes;
    int64_t body_bytes;
    /* private */
    _Atomic int32_t references;
    oci_mem *mem; /* who is charged, NULL for imports */
    void *slab;
    int64_t slab_bytes;
    /* Released and free()d with the batch; may stand beside a slab (IPC: keeps dictionaries). */
    struct ArrowArray *import;
    struct oci_batch *parent; /* slices keep their parent alive */
    struct oci_batch **kept;  /* more batches whose memory the columns use; malloc'ed */
    int32_t n_kept;
    void *extra; /* a malloc'ed block freed with the batch, or NULL */
    int64_t extra_bytes;
} oci_batch;

oci_batch *oci_batch_retain(oci_batch *batch);
void oci_batch_release(oci_batch *batch); /* NULL is fine */

/* ---- in and out ------------------------------------------------------------------------------ */

/* Takes over `array` (a struct array of `schema`): moves it, leaves array->release NULL, also on
 * failure. Checks the shape (children, buffer counts, lengths, offsets and their overflow, missing
 * buffers, where strings start and end); the values in between are oci_batch_validate's. Buffers
 * that are not aligned for their type are fine: values are always read with unaligned loads. Null
 * counts are counted anew, and a bitmap without nulls is dropped. Rows that are null as a whole are
 * refused with OC_EUNSUPPORTED.
 *
 * A batch that was exported by us and comes back untouched is recognised: it is given as itself
 * (with `schema` when names or metadata differ), so it may be shared and already charged. */
OC_NODISCARD oc_status oci_batch_import(struct ArrowArray *array, oci_schema *schema,
                                        oci_batch **out, oc_error *err);

/* From working form to what was announced: `schema` has the types of the batch but for views, list
 * views and run-end encoding, which are built here at every depth (charged to `mem`; what does not
 * change is shared). A run goes on as long as values are equal bit for bit. A batch that already
 * has these types is given as itself, with the labels of `schema`. OC_EINVAL when the types are no
 * working form of those of `schema`. OC_EUNSUPPORTED when run ends cannot count the rows, at any
 * depth: see below. */
OC_NODISCARD oc_status oci_batch_output(oci_batch *batch, oci_schema *schema, oci_mem *mem,
                                        oci_batch **out, oc_error *err);
/* How many of the rows [start, start + n) can be handed out as one batch of `schema`, at least 1
 * when n > 0: run ends of int16 count to 32,767 only, and the rows of a list may hold many more of
 * its child. Fewer rows always help but with dictionaries whose values are run-end encoded. */
int64_t oci_batch_output_rows(const oci_batch *batch, const oci_schema *schema, int64_t start,
                              int64_t n);
/* Rows that the maker of batches to be handed out with `schema` should not pass, so that trimmed
 * dictionaries can be counted too (unless they lie below a list). */
int64_t oci_schema_output_rows(const oci_schema *schema);

/* Hands the batch out as a struct array, through oci_batch_output; consumes the caller's reference,
 * also on failure. What we made is aligned to 8 bytes; buffers that were imported unaligned and not
 * copied by anything in between go out as they came. Exported memory stays charged until the consumer releases it, and may outlive
 * stream, account and budget, which linger until then (base/memory.h). */
OC_NODISCARD oc_status oci_batch_export(oci_batch *batch, oci_schema *schema, oci_mem *mem,
                                        struct ArrowArray *out, oc_error *err);

/* Checks that every value can be reached inside its buffers as far as sizes are known: offsets
 * ascending from >= 0, across null slots as well (and within `bytes_size` unless that is -1, or the
 * rows of the child); views of valid slots inside their buffers; dictionary indices of valid slots
 * in range; list views, fixed-size lists, structs and unions inside their children; type ids known;
 * run ends ascending, > 0, and enough of them. Children and dictionaries are checked as a whole.
 * O(rows + rows of children). */
OC_NODISCARD oc_status oci_batch_validate(const oci_batch *batch, oc_error *err);
OC_NODISCARD oc_status oci_column_validate(const oci_column *column, int64_t bytes_size,
                                           oc_error *err);
/* The same for arrays that are handed in one thin slice after the other, with all rows of their
 * children each time: children of lists, maps, fixed-size lists, structs and sparse unions are
 * checked only where the batch's rows refer to them. Nothing else of these may be read then. */
OC_NODISCARD oc_status oci_batch_validate_rows(const oci_batch *batch, oc_error *err);

/* ---- making ---------------------------------------------------------------------------------- */

/* A batch over columns whose memory is one slab from `mem` (may be NULL with 0 bytes). Takes slab
 * and `columns` (malloc'ed array of n_fields, may hold pointers into `extra`, a malloc'ed block
 * or NULL), also on failure. Retains schema. */
OC_NODISCARD oc_status oci_batch_adopt(oci_schema *schema, int64_t length, oci_column *columns,
                                       oci_mem *mem, void *slab, int64_t slab_bytes, void *extra,
                                       int64_t extra_bytes, oci_batch **out, oc_error *err);

/* Rows without columns; and an owner of a slab (taken, also on failure), for oci_batch_keep. */
OC_NODISCARD oc_status oci_batch_without_columns(int64_t length, oci_mem *mem, void *slab,
                                                 int64_t slab_bytes, oci_batch **out,
                                                 oc_error *err);

/* Keeps `kept` alive as long as `batch`: takes the reference, also on failure. */
OC_NODISCARD oc_status oci_batch_keep(oci_batch *batch, oci_batch *kept, oc_error *err);

/* What a batch keeps from being freed: its own bytes, those of its parent and of all that it keeps, but for
 * parents and kept batches that `before` (may be NULL) keeps in the same places. Imports count nothing. */
int64_t oci_batch_held_bytes(const oci_batch *batch, const oci_batch *before);

/* Rows [start, start + length) as a new batch that shares the memory (keeps `batch` alive). */
OC_NODISCARD oc_status oci_batch_slice(oci_batch *batch, int64_t start, int64_t length,
                                       oci_batch **out, oc_error *err);
/* Some columns of it, sharing memory. `schema` from oci_schema_select with the same indices. */
OC_NODISCARD oc_status oci_batch_select(oci_batch *batch, oci_schema *schema,
                                        const int32_t *indices, oci_batch **out, oc_error *err);

/* ---- looking at values ----------------------------------------------------------------------- */

/* A dictionary value, a union's value or a run's value that is null counts too. */
bool oci_column_is_null(const oci_column *column, int64_t row);
/* Nulls by the column's own bitmap (of a dictionary: null indices only; 0 for unions and run-end
 * encoded columns); counts its bits when null_count is -1. */
int64_t oci_column_null_count(const oci_column *column);
/* The bytes of a value of a var-length column (OFFSETS32/64, VIEWS), whatever its validity. */
const uint8_t *oci_column_bytes_at(const oci_column *column, int64_t row, int64_t *length);
/* Index of a dictionary column, row valid; -1 when it does not fit int64. */
int64_t oci_column_index_at(const oci_column *column, int64_t row);

/* Where the value of a row lies, for nested columns, whatever its validity. Only for validated
 * columns.
 * The rows of the only child that a row of a list, map, list view or fixed-size list holds. */
void oci_column_list_at(const oci_column *column, int64_t row, int64_t *start, int64_t *length);
/* The child (its number) and the row in it of a row of a union. */
int32_t oci_column_union_at(const oci_column *column, int64_t row, int64_t *child_row);
/* The row of the values (child 1) of a row of a run-end encoded column: binary search. */
int64_t oci_column_run_at(const oci_column *column, int64_t row);
/* Run ends of any width. */
int64_t oci_column_run_end(const oci_column *run_ends, int64_t i);

/* Logical equality of two values of the same type, bit for bit (-0.0 differs from 0.0, NaNs by
 * their bits); nulls equal each other, at every depth. Encoding does not count (view = offsets =
 * dictionary of the same values, list = list view, runs = values; two unions are equal when the
 * child and its value are). */
bool oci_value_equal(const oci_column *a, int64_t row_a, const oci_column *b, int64_t row_b);
/* Agrees with equality. */
uint64_t oci_value_hash(const oci_column *column, int64_t row, uint64_t seed);
/* Same schema types, length and values. */
bool oci_batch_equal(const oci_batch *a, const oci_batch *b);

#endif /* OUTCORE_ARROW_BATCH_H */
