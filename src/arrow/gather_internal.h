/* What the files of gather share; nobody else includes this.
 *
 * A gather is a `job`: the rows that are wanted and one `oci_gather_column` per column of the
 * output, which first learns how large its buffers become (scan), then where they lie in the slab
 * (place), then fills them (fill).
 *
 *   gather.c             copying: scan, place, allocate, fill, adopt
 *   gather_fit.c         how many rows fit a byte target
 *   gather_plan.c        a job's life; unpacking sources into inputs; scan and place
 *   gather_fixed.c       bits and values of one width
 *   gather_bytes.c       strings: offsets and views in, offsets out
 *   gather_dictionary.c  codes of many dictionaries become codes of one
 *
 * The row loops see sources only as `oci_gather_input`: everything that a row needs of its source
 * for one column, with the column's offset already added in, in one cache line. It is rebuilt per
 * column in one scratch array, so that scratch grows with the number of sources and not with
 * sources x columns. */
#ifndef OUTCORE_ARROW_GATHER_INTERNAL_H
#define OUTCORE_ARROW_GATHER_INTERNAL_H

#include <assert.h>

#include "arrow/gather.h"
#include "base/bits.h"

/* Blind copies of values may write this many bytes past what they copy; the slab ends with as many
 * spare ones. */
#define OCI_GATHER_SLACK 32

/* Rows ahead for which source lines are fetched. A miss is about 150 ns and a row 2 ns of work, and
 * what was fetched too early is still in the cache. 64 measured best of 0, 8, 16, 24, 32, 64. */
#define OCI_GATHER_AHEAD 64

/* Rows per block of the ranges that are copied row by row; a multiple of 64 so that bitmaps are cut
 * at words. */
#define OCI_GATHER_BLOCK 1024

/* Sources that need no scratch memory. Their inputs, 8 KiB, lie on the stack. */
#define OCI_GATHER_INPUTS_INLINE 128

typedef struct oci_gather_input {
    const uint8_t *values;    /* row 0, except BITS: bit `bit_offset` is row 0 */
    const uint8_t *bytes;     /* OFFSETS: what offsets count from */
    const uint8_t *bytes_end; /* OFFSETS: end of the last value; VIEWS: end of the views. Blind
                                 reads stop here */
    const uint8_t *validity;  /* without nulls: a byte of ones */
    int64_t validity_mask;    /* and-ed to the byte index: -1, or 0 for the byte of ones */
    int64_t bit_offset;
    const oci_column *column; /* NULL: no row refers to this source */
    uint32_t dictionary; /* the first of the sources before that have the same dictionary values */
    bool views;          /* VIEWS, while the output has offsets */
} oci_gather_input;

static_assert(sizeof(oci_gather_input) == 64, "one cache line per source");

typedef struct oci_gather_dictionary oci_gather_dictionary;

/* One column of the output, or the values of a dictionary. */
typedef struct oci_gather_column {
    const oci_field *field;
    oci_layout layout;
    int32_t index; /* column of the batches */
    int32_t depth; /* how many times ->dictionary is followed from there */
    /* scan: */
    bool never_null; /* no source has a validity bitmap, so nothing is to be looked at */
    bool has_nulls;
    int64_t n_bytes; /* OFFSETS: bytes of all values */
    bool saved_has_nulls;
    int64_t saved_n_bytes;
    oci_gather_dictionary *dictionary; /* DICTIONARY, else NULL */
    /* place: from the start of the slab; -1 = no such buffer */
    int64_t validity_at;
    int64_t values_at;
    int64_t bytes_at;
    /* fill: */
    int64_t null_count;
    int64_t n_bytes_filled;
} oci_gather_column;

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

typedef struct oci_gather_job {
    oci_schema *schema;
    const oci_batch *const *sources;
    int64_t n_sources; /* up to the last one that a row refers to */
    oci_mem *mem;
    const oci_row_ref *rows; /* NULL: the range from `start` of sources[0] */
    int64_t start;
    oci_gather_column *columns;  /* schema->n_fields */
    oci_gather_input *inputs;    /* n_sources, of the column and depth in work */
    bool may_be_null;            /* of the column in work: some source has a validity bitmap */
    bool has_views, has_offsets; /* of the column in work: how sources hold strings */
    uint8_t *slab;               /* fill */
    oci_gather_input inline_inputs[OCI_GATHER_INPUTS_INLINE];
    oci_row_ref identity[OCI_GATHER_BLOCK]; /* ranges: rows 0, 1, 2 ... of source 0 */
} oci_gather_job;

/* ---- gather_plan.c: jobs --------------------------------------------------------------------- */

/* rows NULL: a range of sources[0]. deinit also after a failed init. */
OC_NODISCARD oc_status oci_gather_job_init(oci_gather_job *job, oci_schema *schema,
                                           const oci_batch *const *sources, const oci_row_ref *rows,
                                           int64_t n, int64_t start, oci_mem *mem, oc_error *err);
void oci_gather_job_deinit(oci_gather_job *job);

/* Unpacks the sources of a column; row `first` becomes row 0 (ranges). */
OC_NODISCARD oc_status oci_gather_prepare(oci_gather_job *job, const oci_gather_column *column,
                                          int64_t first, oc_error *err);

/* Adds rows [at, at + n) of the job to what the columns know of their sizes. */
OC_NODISCARD oc_status oci_gather_scan(oci_gather_job *job, int64_t at, int64_t n, oc_error *err);
/* Gives the buffers of `n` scanned rows their places behind `head_bytes`; returns the bytes of the
 * slab. */
int64_t oci_gather_place(oci_gather_job *job, int64_t n, int64_t head_bytes);

/* Counts of one column for `rows` (after prepare). */
OC_NODISCARD oc_status oci_gather_scan_column(oci_gather_job *job, oci_gather_column *column,
                                              const oci_row_ref *rows, int64_t n, oc_error *err);
void oci_gather_save_column(oci_gather_column *column);
void oci_gather_restore_column(oci_gather_column *column);

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
/* Ranges of offsets columns: bytes of the values from first to last, null ones included; -1 when
 * offsets descend. */
int64_t oci_gather_range_span(const oci_gather_job *job, const oci_gather_column *column,
                              int64_t n);
/* Copies such a range as a whole; only right when its null slots are empty. */
void oci_gather_range_bytes(oci_gather_job *job, oci_gather_column *column, int64_t n);

/* ---- gather_dictionary.c --------------------------------------------------------------------- */

OC_NODISCARD oc_status oci_gather_dictionary_create(const oci_gather_column *column,
                                                    oci_gather_dictionary **out, oc_error *err);
void oci_gather_dictionary_destroy(oci_gather_dictionary *dictionary,
                                   oci_mem *mem); /* NULL is fine */
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

/* Zeroes the padding behind a buffer of `size` bytes. */
static inline void oci_gather_pad(uint8_t *buffer, int64_t size)
{
    memset(buffer + size, 0, (size_t)(oci_round_up(size, 8) - size));
}

#endif /* OUTCORE_ARROW_GATHER_INTERNAL_H */
