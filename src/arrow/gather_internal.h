/* What the files of gather share; nobody else includes this.
 *
 * A gather is a `job`: the rows that are wanted and one `oci_gather_column` per column of the
 * output tree (children and dictionary values included), which first learns how large its buffers
 * become (scan), then where they lie in the slab (place), then fills them (fill).
 *
 *   gather.c             copying: scan, place, allocate, fill, adopt
 *   gather_fit.c         how many rows fit a byte target
 *   gather_plan.c        a job's life; scan and place
 *   gather_sources.c     unpacking the sources of a column into inputs
 *   gather_cursor.c      the rows of children, derived block by block from those of their parent
 *   gather_fixed.c       bits and values of one width
 *   gather_bytes.c       strings: offsets and views in, offsets out
 *   gather_nested.c      offsets of lists, rows of dense unions
 *   gather_spans.c       values and strings that follow each other in their source: those of a list,
 *                        and rows that were asked for in order
 *   gather_dictionary.c  codes of many dictionaries become codes of one
 *
 * The row loops see sources only as `oci_gather_input`: everything that a row needs of its source
 * for one column, with the column's offset already added in, in one cache line. It is rebuilt per
 * column in one scratch array, so that scratch grows with the number of sources and not with
 * sources x columns.
 *
 * Which rows of a column are copied is told by `oci_gather_rows`: an array of references, a range
 * of the only source, or references derived by a cursor. Struct and sparse union children have the
 * rows of their parent, and where the parent's own offset moves them is added to their inputs. So
 * flat columns and structs of flat columns go through the same loops over the same references. */
#ifndef OUTCORE_ARROW_GATHER_INTERNAL_H
#define OUTCORE_ARROW_GATHER_INTERNAL_H

#include <assert.h>

#include "arrow/gather.h"
#include "base/bits.h"

/* Blind copies of values may write this many bytes past what they copy; the slab ends with as many
 * spare ones. */
#define OCI_GATHER_SLACK 32

/* A value of more bytes than that is not in memory: its offsets are wrong. Bounds the sum of a scan
 * far below overflow. */
#define OCI_GATHER_VALUE_BITS  40
#define OCI_GATHER_COLUMN_BITS 50

/* Rows ahead for which source lines are fetched. A miss is about 150 ns and a row 2 ns of work, and
 * what was fetched too early is still in the cache. 64 measured best of 0, 8, 16, 24, 32, 64. */
#define OCI_GATHER_AHEAD 64

/* Rows per block of the ranges that are copied row by row; a multiple of 64 so that bitmaps are cut
 * at words. */
#define OCI_GATHER_BLOCK 1024

/* Rows that follow each other in one source are copied together where they are at least so many on
 * average. 8-byte values: a row costs 1.3 ns, a span about 8. */
#define OCI_GATHER_SPAN_ROWS 16

/* Sources that need no scratch memory. Their inputs, 8 KiB, lie on the stack. */
#define OCI_GATHER_INPUTS_INLINE 128

typedef struct oci_gather_input {
    const uint8_t *values; /* row 0, except BITS: bit `bit_offset` is row 0 */
    const uint8_t *bytes;  /* OFFSETS: what offsets count from; list views: sizes; dense unions:
                                 rows of the children */
    union {
        const uint8_t *bytes_end; /* OFFSETS: end of the last value; VIEWS: end of the views. Blind
                                     reads stop here */
        int64_t child_rows;       /* lists: rows that the child has */
    };
    const uint8_t *validity; /* without nulls: a byte of ones */
    int64_t validity_mask;   /* and-ed to the byte index: -1, or 0 for the byte of ones */
    int64_t bit_offset;
    const oci_column *column; /* NULL: no row refers to this source */
    uint32_t dictionary; /* the first of the sources before that have the same dictionary values */
    bool views;          /* views or list views, while the output has offsets */
} oci_gather_input;

static_assert(sizeof(oci_gather_input) == 64, "one cache line per source");

typedef struct oci_gather_dictionary oci_gather_dictionary;

/* How a column is reached. */
typedef enum oci_gather_step {
    OCI_GATHER_TOP,   /* column `index` of the batches */
    OCI_GATHER_CHILD, /* child `index` of the parent */
    OCI_GATHER_VALUES /* the dictionary values of the parent */
} oci_gather_step;

/* One column of the output tree. */
typedef struct oci_gather_column {
    const oci_field *field;
    oci_layout layout;
    oci_gather_step step;
    int32_t index;
    int32_t width;                    /* bytes of a fixed value, an index or a type id */
    struct oci_gather_column *parent; /* NULL: top */
    struct oci_gather_column *children;
    int32_t n_children;
    /* scan: */
    bool never_null; /* no source has a validity bitmap, so nothing is to be looked at */
    bool has_nulls;
    bool has_runs;      /* some source is run-end encoded here */
    int64_t first;      /* its rows are a range that begins here, see oci_gather_rows; else 0 */
    int64_t n_rows;     /* children: all rows so far */
    int64_t n_rows_new; /* children: rows of this step */
    int64_t n_bytes;    /* OFFSETS: bytes of all values */
    bool saved_has_nulls;
    int64_t saved_n_rows;
    int64_t saved_n_bytes;
    oci_gather_dictionary *dictionary; /* DICTIONARY, else NULL */
    /* place: from the start of the slab; -1 = no such buffer */
    int64_t validity_at;
    int64_t values_at;
    int64_t bytes_at; /* dense unions: rows of the children */
    /* fill: */
    int64_t null_count;
    int64_t n_bytes_filled;
    int64_t n_rows_filled; /* children of lists and dense unions: rows given out */
} oci_gather_column;

/* A column whose rows are those of its parent. */
static inline bool oci_gather_same_rows(const oci_gather_column *column)
{
    return column->step == OCI_GATHER_CHILD && (column->parent->layout == OCI_LAYOUT_STRUCT ||
                                                column->parent->layout == OCI_LAYOUT_SPARSE_UNION);
}

static inline bool oci_gather_is_union(const oci_gather_column *column)
{
    return column->layout == OCI_LAYOUT_SPARSE_UNION || column->layout == OCI_LAYOUT_DENSE_UNION;
}

static inline bool oci_gather_is_list(const oci_gather_column *column)
{
    return column->layout == OCI_LAYOUT_LIST32 || column->layout == OCI_LAYOUT_LIST64;
}

/* (source, code) seen so far, and the id of its value in the output. */
typedef struct oci_gather_code {
    uint32_t source;
    uint32_t code;
    uint32_t id; /* OCI_GATHER_NULL_ID: the value is null */
} oci_gather_code;

#define OCI_GATHER_NULL_ID UINT32_MAX

/* An array that grows by doubling, paid by a budget account. */
typedef struct oci_gather_list {
    void *items;
    int64_t capacity;
} oci_gather_list;

/* Codes and values are kept in order of arrival, each with a hash table of their positions + 1 (0 =
 * free; power of two, at most a quarter full, so that the first probe mostly decides; linear
 * probing). Entries are only ever taken back last first, and a table is rebuilt in order of
 * arrival, so that a removed entry cannot be on the probe path of one that stays. */
struct oci_gather_dictionary {
    oci_gather_column column; /* the values; its rows are `values` */
    int64_t values_max;       /* what the index type can tell apart */
    int64_t n_codes;
    int64_t n_values;
    int64_t saved_n_codes;
    int64_t saved_n_values;
    int64_t n_values_scanned;    /* so many are counted in `column` */
    oci_gather_list codes;       /* oci_gather_code */
    oci_gather_list code_slots;  /* uint32_t */
    oci_gather_list values;      /* oci_row_ref: source and row of its dictionary */
    oci_gather_list hashes;      /* uint64_t per value */
    oci_gather_list value_slots; /* uint32_t */
};

/* What the sources of a column have in common. */
typedef struct oci_gather_traits {
    bool may_be_null; /* some source has a validity bitmap */
    bool has_views;   /* how sources hold strings and lists */
    bool has_offsets;
    bool has_runs; /* some source is run-end encoded: rows have to be those of its values */
} oci_gather_traits;

typedef struct oci_gather_cursor oci_gather_cursor;

typedef struct oci_gather_job {
    oci_schema *schema;
    const oci_batch *const *sources;
    int64_t n_sources; /* up to the last one that a row refers to */
    oci_mem *mem;
    const oci_row_ref *rows; /* NULL: the range from `start` of sources[0] */
    bool in_spans;           /* most of them follow each other in their source */
    int64_t start;
    oci_gather_column *columns; /* schema->n_fields */
    oci_gather_input *inputs;   /* n_sources, of the column in work */
    oci_gather_traits traits;   /* of the column in work */
    oci_gather_cursor *cursors; /* all that were needed so far; used again */
    int64_t bytes_max;          /* no slab can be larger */
    bool stopped;               /* scan: ended early, as one column alone is larger than that */
    uint8_t *slab;              /* fill */
    oci_gather_input inline_inputs[OCI_GATHER_INPUTS_INLINE];
    oci_row_ref identity[OCI_GATHER_BLOCK]; /* ranges: rows 0, 1, 2 ... of source 0 */
} oci_gather_job;

/* How rows are derived from others. */
typedef enum oci_gather_derive {
    OCI_GATHER_ELEMENTS, /* rows of `column`, the child of a list or fixed-size list */
    OCI_GATHER_CHOSEN,   /* rows of `column`, a child of a dense union */
    OCI_GATHER_RUNS      /* rows of the values, where sources of `column` are run-end encoded */
} oci_gather_derive;

/* The `n` rows of a column in one scan or fill. One of three:
 *
 *   refs          these; in_spans when it pays to look for those that follow each other
 *   is_range      rows 0, 1, 2 ... of source 0, counted from `first` of the column (or of the one
 *                 that it has its rows from)
 *   parent        derived from other rows by `derive`, in blocks, each time they are asked for
 *
 * Lives on the stack of a walk through the tree; holds a cursor of the job from the first time its
 * derived rows are asked for until close. */
typedef struct oci_gather_rows {
    const oci_row_ref *refs;
    bool in_spans;
    bool is_range;
    int64_t n;
    int64_t at; /* refs in spans: given so far */
    oci_gather_derive derive;
    const oci_gather_column *column;
    struct oci_gather_rows *parent;
    oci_gather_cursor *cursor;
} oci_gather_rows;

/* Rows that follow each other in one source. */
typedef struct oci_gather_span {
    uint32_t source;
    uint32_t row;
    int64_t n;
} oci_gather_span;

/* ---- gather_plan.c: jobs --------------------------------------------------------------------- */

/* rows NULL: a range of sources[0]. deinit also after a failed init. */
OC_NODISCARD oc_status oci_gather_job_init(oci_gather_job *job, oci_schema *schema,
                                           const oci_batch *const *sources, const oci_row_ref *rows,
                                           int64_t n, int64_t start, oci_mem *mem, oc_error *err);
void oci_gather_job_deinit(oci_gather_job *job);

/* Of a column whose step, index and parent are set; zeroed otherwise. deinit also after a failed
 * init. */
OC_NODISCARD oc_status oci_gather_column_init(oci_gather_column *column, const oci_field *field,
                                              oc_error *err);
void oci_gather_column_deinit(oci_gather_column *column, oci_mem *mem);

/* Adds rows [at, at + n) of the job to what the columns know of their sizes. Ends early, with
 * job->stopped, when they are larger than any slab. */
OC_NODISCARD oc_status oci_gather_scan(oci_gather_job *job, int64_t at, int64_t n, oc_error *err);
/* Gives the buffers of `n` scanned rows their places behind `head_bytes`; returns the bytes of the
 * slab. */
int64_t oci_gather_place(oci_gather_job *job, int64_t n, int64_t head_bytes);
/* False when 32-bit offsets or an index type do not reach, at any depth. */
bool oci_gather_column_fits(const oci_gather_column *column, int64_t offset_max);

void oci_gather_save_column(oci_gather_column *column);
void oci_gather_restore_column(oci_gather_column *column);

/* ---- gather_sources.c ------------------------------------------------------------------------ */

/* Unpacks the sources of a column for job->inputs; row `skip` of a range becomes row 0. */
OC_NODISCARD oc_status oci_gather_prepare(oci_gather_job *job, const oci_gather_column *column,
                                          int64_t skip, oc_error *err);
/* The same for any array of job->n_sources inputs. */
OC_NODISCARD oc_status oci_gather_prepare_inputs(const oci_gather_job *job,
                                                 const oci_gather_column *column, int64_t skip,
                                                 oci_gather_input *inputs,
                                                 oci_gather_traits *traits, oc_error *err);
/* What a source has in the place of `column`, NULL when no row refers to the source; row r of the
 * gather is its row *first + r. `encoded`: run-end encoded where it is; else its values, of which
 * the rows have to be derived (OCI_GATHER_RUNS). */
const oci_column *oci_gather_encoded(const oci_gather_job *job, const oci_gather_column *column,
                                     int64_t source, int64_t *first);
const oci_column *oci_gather_source(const oci_gather_job *job, const oci_gather_column *column,
                                    int64_t source, int64_t *first);

/* ---- gather_cursor.c ------------------------------------------------------------------------- */

/* The rows of a child, given those of its parent (after run-end encoding): `rows` itself, or
 * `derived`. Sets child->first. */
oci_gather_rows *oci_gather_child_rows(const oci_gather_job *job, oci_gather_column *child,
                                       oci_gather_rows *rows, int64_t n, oci_gather_rows *derived);
/* The rows of the values of `column`: `rows` itself where no source is run-end encoded. */
oci_gather_rows *oci_gather_run_rows(const oci_gather_column *column, oci_gather_rows *rows,
                                     oci_gather_rows *derived);
/* Derived rows, and refs in spans: back to the first, then blocks of OCI_GATHER_BLOCK until a shorter one (0 to
 * OCI_GATHER_BLOCK - 1). *refs is valid until the next call. */
OC_NODISCARD oc_status oci_gather_rows_begin(oci_gather_job *job, oci_gather_rows *rows,
                                             oc_error *err);
OC_NODISCARD oc_status oci_gather_rows_next(oci_gather_job *job, oci_gather_rows *rows,
                                            const oci_row_ref **refs, int64_t *n, oc_error *err);
/* The same rows as spans: refs in spans, and derived rows that have them (derive
 * OCI_GATHER_ELEMENTS), after begin and instead of next. *n is below `max` at the end only; no span is empty. */
OC_NODISCARD oc_status oci_gather_spans_next(oci_gather_job *job, oci_gather_rows *rows,
                                             oci_gather_span *spans, int64_t max, int64_t *n,
                                             oc_error *err);
/* Gives the cursor back to the job; any rows. */
void oci_gather_rows_close(oci_gather_rows *rows);
void oci_gather_free_cursors(oci_gather_job *job);

/* ---- gather_fixed.c -------------------------------------------------------------------------- */

/* All fills write output rows [at, at + n), at a multiple of 8, after prepare and in ascending
 * order. */

bool oci_gather_any_null(const oci_gather_job *job, const oci_row_ref *rows, int64_t n);
/* Builds the bitmap and counts its nulls. */
void oci_gather_fill_validity(oci_gather_job *job, oci_gather_column *column,
                              const oci_row_ref *rows, int64_t n, int64_t at);
/* Values of null slots become 0 where `column` has nulls. */
void oci_gather_fill_bits(oci_gather_job *job, oci_gather_column *column, const oci_row_ref *rows,
                          int64_t n, int64_t at);
void oci_gather_fill_fixed(oci_gather_job *job, oci_gather_column *column, const oci_row_ref *rows,
                           int64_t n, int64_t at);
/* The same for a range: rows 0.. of the only input. */
void oci_gather_range_validity(oci_gather_job *job, oci_gather_column *column, int64_t n);
void oci_gather_range_bits(oci_gather_job *job, oci_gather_column *column, int64_t n);
void oci_gather_range_fixed(oci_gather_job *job, oci_gather_column *column, int64_t n);

/* ---- gather_bytes.c -------------------------------------------------------------------------- */

OC_NODISCARD oc_status oci_gather_scan_bytes(oci_gather_job *job, oci_gather_column *column,
                                             const oci_row_ref *rows, int64_t n, oc_error *err);
void oci_gather_fill_bytes(oci_gather_job *job, oci_gather_column *column, const oci_row_ref *rows,
                           int64_t n, int64_t at);
/* Offsets of a range, moved so that they begin with 0, and their padding. */
void oci_gather_range_offsets(oci_gather_job *job, oci_gather_column *column, int64_t n, bool wide);
/* Ranges of offsets columns: bytes of the values from first to last, null ones included; -1 when
 * offsets descend. */
int64_t oci_gather_range_span(const oci_gather_job *job, const oci_gather_column *column,
                              int64_t n);
/* Copies such a range as a whole; only right when its null slots are empty. */
void oci_gather_range_bytes(oci_gather_job *job, oci_gather_column *column, int64_t n);

/* ---- gather_nested.c ------------------------------------------------------------------------- */

/* Adds to the rows of the children. */
OC_NODISCARD oc_status oci_gather_scan_lists(oci_gather_job *job, oci_gather_column *column,
                                             const oci_row_ref *rows, int64_t n, oc_error *err);
OC_NODISCARD oc_status oci_gather_scan_dense(oci_gather_job *job, oci_gather_column *column,
                                             const oci_row_ref *rows, int64_t n, oc_error *err);
void oci_gather_fill_lists(oci_gather_job *job, oci_gather_column *column, const oci_row_ref *rows,
                           int64_t n, int64_t at);
/* The rows of the children, after the type ids. */
void oci_gather_fill_dense(oci_gather_job *job, oci_gather_column *column, int64_t n, int64_t at);
/* The rows from start, of `n` > 0 lists of `from`, in a row from its row `first`: how many elements
 * they span, null ones included; -1 when they are no such span (views, descending offsets). */
int64_t oci_gather_list_span(const oci_column *from, int64_t first, int64_t n, int64_t *start);

/* ---- gather_spans.c -------------------------------------------------------------------------- */

/* After prepare: whether rows that follow each other, such as those of a list, can be copied as a
 * whole. */
bool oci_gather_has_spans(const oci_gather_job *job, const oci_gather_column *column,
                          const oci_gather_rows *rows);
OC_NODISCARD oc_status oci_gather_scan_spans(oci_gather_job *job, oci_gather_column *column,
                                             oci_gather_rows *rows, oc_error *err);
OC_NODISCARD oc_status oci_gather_fill_spans(oci_gather_job *job, oci_gather_column *column,
                                             oci_gather_rows *rows, oc_error *err);

/* ---- gather_dictionary.c --------------------------------------------------------------------- */

/* Of a column that is of this layout; sets column->dictionary. */
OC_NODISCARD oc_status oci_gather_dictionary_create(oci_gather_column *column, oc_error *err);
void oci_gather_dictionary_destroy(oci_gather_dictionary *dictionary,
                                   oci_mem *mem); /* NULL is fine */
/* Learns new codes and values; the values themselves are the caller's to scan. */
OC_NODISCARD oc_status oci_gather_scan_dictionary(oci_gather_job *job, oci_gather_column *column,
                                                  const oci_row_ref *rows, int64_t n,
                                                  oc_error *err);
/* Indices, and the validity bitmap where the column has nulls. */
void oci_gather_fill_dictionary(oci_gather_job *job, oci_gather_column *column,
                                const oci_row_ref *rows, int64_t n, int64_t at);
void oci_gather_save_dictionary(oci_gather_dictionary *dictionary);
void oci_gather_restore_dictionary(oci_gather_dictionary *dictionary);

/* ---- inline ---------------------------------------------------------------------------------- */

static inline bool oci_gather_is_valid(const oci_gather_input *input, uint32_t row)
{
    int64_t bit = input->bit_offset + row;
    return (input->validity[(bit >> 3) & input->validity_mask] >> (bit & 7)) & 1;
}

/* Where a string begins and ends. */
static inline void oci_gather_load_offsets(const oci_gather_input *in, int64_t row, bool wide,
                                           int64_t *start, int64_t *end)
{
    if (wide) {
        *start = (int64_t)oci_load_le64(in->values + row * 8);
        *end = (int64_t)oci_load_le64(in->values + row * 8 + 8);
    } else {
        uint64_t pair = oci_load_le64(in->values + row * 4);
        *start = (int32_t)(uint32_t)pair;
        *end = (int32_t)(uint32_t)(pair >> 32);
    }
}

/* length > 32: steps of 32, the last one overlapping, so nothing is read past the value. */
static inline void oci_gather_copy_long(uint8_t *to, const uint8_t *from, int64_t length)
{
    if (length > 512) {
        memcpy(to, from, (size_t)length);
        return;
    }
    for (int64_t i = 0; i + 32 < length; i += 32) {
        memcpy(to + i, from + i, 32);
    }
    memcpy(to + length - 32, from + length - 32, 32);
}

/* length <= 32 near the end of what may be read. */
static inline void oci_gather_copy_exact(uint8_t *to, const uint8_t *from, int64_t length)
{
    for (int64_t i = 0; i < length; i++) {
        to[i] = from[i];
    }
}

/* A value of up to 32 bytes is copied as 32 bytes whatever its length, up to 64 as twice 32: no
 * call, no loop, no branch on the length. What is written too much is overwritten by the next value
 * (see gather.c on the order of buffers). What is read too much must exist: near the end of a
 * source's bytes a value is copied exactly. */
static inline void oci_gather_copy_value(uint8_t *to, const uint8_t *from, int64_t length,
                                         int64_t readable)
{
    if (__builtin_expect(length <= 64 && readable >= 32, 1)) {
        int64_t rest = length > 32 ? length - 32 : 0;
        memcpy(to, from, 32);
        memcpy(to + rest, from + rest, 32);
    } else if (length > 32) {
        oci_gather_copy_long(to, from, length);
    } else {
        oci_gather_copy_exact(to, from, length);
    }
}

/* The rows of the child that a list holds, whatever its validity; of a source in either form. */
static inline void oci_gather_load_list(const oci_gather_input *in, uint32_t row, bool wide,
                                        int64_t *start, int64_t *length)
{
    int64_t at = (int64_t)row * (wide ? 8 : 4);
    if (in->views && wide) {
        *start = (int64_t)oci_load_le64(in->values + at);
        *length = (int64_t)oci_load_le64(in->bytes + at);
    } else if (in->views) {
        *start = (int32_t)oci_load_le32(in->values + at);
        *length = (int32_t)oci_load_le32(in->bytes + at);
    } else if (wide) {
        uint64_t end = oci_load_le64(in->values + at + 8);
        *start = (int64_t)oci_load_le64(in->values + at);
        *length = (int64_t)(end - (uint64_t)*start);
    } else {
        *start = (int32_t)oci_load_le32(in->values + at);
        *length = (int64_t)(int32_t)oci_load_le32(in->values + at + 4) - *start;
    }
}

/* Zeroes the padding behind a buffer of `size` bytes. */
static inline void oci_gather_pad(uint8_t *buffer, int64_t size)
{
    memset(buffer + size, 0, (size_t)(oci_round_up(size, 8) - size));
}

#endif /* OUTCORE_ARROW_GATHER_INTERNAL_H */
