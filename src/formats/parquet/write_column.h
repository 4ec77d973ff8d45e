/* One column (leaf) of the writer: what its files share.
 *
 *   rows of a batch    write_levels.c     levels of each entry; which rows of the leaf have a value
 *     -> values        write_values.c     as the physical type has them, one behind the other
 *     -> indices       write_table.c      while the column has a dictionary
 *   page is full       write_page.c       encoded, compressed, kept until the row group ends
 *     -> bounds        write_bounds.c     min and max of it
 *   row group ends     parquet_writer.c   written, with its metadata */
#ifndef OUTCORE_FORMATS_PARQUET_WRITE_COLUMN_H
#define OUTCORE_FORMATS_PARQUET_WRITE_COLUMN_H

#include "arrow/batch.h"
#include "codec/codec.h"
#include "formats/parquet/encode.h"
#include "formats/parquet/metadata.h"

/* ---- the way from a top field to a leaf ------------------------------------------------------- */

typedef enum oci_parquet_step_kind {
    OCI_PARQUET_STEP_STRUCT,
    OCI_PARQUET_STEP_LIST,
    OCI_PARQUET_STEP_LEAF
} oci_parquet_step_kind;

typedef struct oci_parquet_step {
    oci_parquet_step_kind kind;
    bool is_optional;
    uint8_t definition; /* of what is around it; a row that is null has it */
    uint8_t present;    /* of a row that is there; an empty list has it */
    uint8_t repetition; /* LIST: of its elements but the first */
    int32_t child;      /* STRUCT, LIST: which child the way goes to */
    const oci_field *field;
} oci_parquet_step;

/* How values of an Arrow type become those of the physical type. */
typedef enum oci_parquet_conversion {
    OCI_PARQUET_CONVERT_COPY, /* as they lie */
    OCI_PARQUET_CONVERT_BOOL, /* a byte each */
    OCI_PARQUET_CONVERT_INT8, /* to 32 bits */
    OCI_PARQUET_CONVERT_INT16,
    OCI_PARQUET_CONVERT_UINT8,
    OCI_PARQUET_CONVERT_UINT16,
    OCI_PARQUET_CONVERT_DAYS,       /* of milliseconds */
    OCI_PARQUET_CONVERT_MILLIS32,   /* of seconds */
    OCI_PARQUET_CONVERT_MILLIS64,   /* of seconds */
    OCI_PARQUET_CONVERT_NARROW,     /* decimals to 4 or 8 bytes */
    OCI_PARQUET_CONVERT_BIG_ENDIAN, /* decimals to fixed bytes, the highest first */
    OCI_PARQUET_CONVERT_BYTES32,    /* strings with 32-bit offsets */
    OCI_PARQUET_CONVERT_BYTES64,
    OCI_PARQUET_CONVERT_NOTHING /* null: there are no values */
} oci_parquet_conversion;

/* ---- dictionary ------------------------------------------------------------------------------ */

/* Different values in the order of their first use. {.values.mem = mem, .ends.mem = mem, .width = w} is an empty one. */
typedef struct oci_parquet_table {
    int32_t width; /* 0 = byte arrays */
    int64_t n;
    oci_parquet_buffer values;
    oci_parquet_buffer ends; /* byte arrays: int64, where value i ends in values */
    uint32_t *slots;         /* index + 1, 0 = free */
    int64_t n_slots;         /* a power of two, at least 2 n */
} oci_parquet_table;

/* The index of a value, which is added when it is new. */
OC_NODISCARD oc_status oci_parquet_table_find(oci_parquet_table *table, const uint8_t *value,
                                              int64_t length, uint32_t *index, oc_error *err);
void oci_parquet_table_clear(oci_parquet_table *table); /* keeps the memory */
void oci_parquet_table_free(oci_parquet_table *table);
/* As a dictionary page has it. */
OC_NODISCARD oc_status oci_parquet_table_encode(const oci_parquet_table *table,
                                                oci_parquet_buffer *out, oc_error *err);

/* ---- bounds ---------------------------------------------------------------------------------- */

typedef enum oci_parquet_order {
    OCI_PARQUET_COMPARE_NONE,
    OCI_PARQUET_COMPARE_INT32,
    OCI_PARQUET_COMPARE_INT64,
    OCI_PARQUET_COMPARE_UINT32,
    OCI_PARQUET_COMPARE_UINT64,
    OCI_PARQUET_COMPARE_HALF,
    OCI_PARQUET_COMPARE_FLOAT,
    OCI_PARQUET_COMPARE_DOUBLE,
    OCI_PARQUET_COMPARE_BYTES,
    OCI_PARQUET_COMPARE_TEXT,   /* bytes that are cut between characters */
    OCI_PARQUET_COMPARE_DECIMAL /* highest byte first, signed */
} oci_parquet_order;

enum { OCI_PARQUET_BOUND_BYTES = 64 };

typedef struct oci_parquet_bound {
    int32_t length;
    bool is_exact;
    uint8_t bytes[OCI_PARQUET_BOUND_BYTES];
} oci_parquet_bound;

/* Of a page or a chunk. Unknown when there are no values, or only NaN, or one that cannot be cut. */
typedef struct oci_parquet_bounds {
    bool is_known;
    oci_parquet_bound min;
    oci_parquet_bound max;
} oci_parquet_bounds;

oci_parquet_order oci_parquet_order_of(const oci_parquet_element *element);
/* Fixed values of `width` bytes, or byte arrays. */
void oci_parquet_bounds_fixed(oci_parquet_order order, const uint8_t *values, int64_t n,
                              int32_t width, oci_parquet_bounds *out);
void oci_parquet_bounds_bytes(oci_parquet_order order, const oci_parquet_strings *strings,
                              oci_parquet_bounds *out);
/* Widens `all` (when not `is_first`) by `more`. */
void oci_parquet_bounds_join(oci_parquet_order order, const oci_parquet_bounds *more, bool is_first,
                             oci_parquet_bounds *all);
int oci_parquet_bound_compare(oci_parquet_order order, const oci_parquet_bound *a,
                              const oci_parquet_bound *b);

/* ---- column ---------------------------------------------------------------------------------- */

/* A page that is ready: header and body. */
typedef struct oci_parquet_ready_page {
    void *block; /* of the column's account */
    int64_t bytes;
    int64_t plain_bytes; /* with what is compressed as it was before */
    int64_t n_rows;
    int64_t n_entries;
    int64_t n_nulls;
    oci_parquet_bounds bounds;
} oci_parquet_ready_page;

typedef struct oci_parquet_column_writer {
    oci_mem *mem;
    const oci_parquet_element *element;
    const oci_field *field; /* of the values: that of a dictionary's values */
    bool is_dictionary;     /* the leaf is a dictionary in Arrow */
    oci_parquet_step *steps;
    int32_t n_steps;
    int32_t top; /* field of the schema */
    int max_definition;
    int max_repetition;
    int32_t width; /* of a physical value; booleans: 1; 0 = byte arrays */
    oci_parquet_conversion conversion;
    oci_parquet_order order;

    /* the page that is being filled */
    oci_parquet_buffer definitions; /* a byte an entry, when max_definition > 0 */
    oci_parquet_buffer repetitions; /* a byte an entry, when max_repetition > 0 */
    oci_parquet_buffer values;      /* of fixed width, or the bytes of byte arrays */
    oci_parquet_buffer lengths;     /* int32, of byte arrays */
    oci_parquet_buffer indices;     /* uint32, while there is a dictionary */
    int64_t n_entries;
    int64_t n_values; /* entries that are no nulls */
    int64_t n_rows;
    int64_t n_indexed; /* values that have an index */
    int64_t indexed_bytes;

    /* the chunk */
    oci_parquet_table table;
    int64_t table_bytes_max;
    int64_t n_early;           /* values of the first page when it was not yet half full */
    int64_t n_different_early; /* how many different ones these were */
    bool has_table;            /* values get an index */
    bool is_chosen;            /* has_table and encoding are settled */
    oci_parquet_encoding encoding;
    uint32_t encodings; /* used by pages of the chunk, bit 1 << encoding */
    oci_parquet_ready_page *pages;
    int64_t n_pages;
    int64_t pages_capacity;
    int64_t ready_bytes; /* of pages */
} oci_parquet_column_writer;

/* What all columns of a writer use one after the other. */
typedef struct oci_parquet_press {
    oci_codec *codec; /* NULL = none */
    oci_codec_id codec_id;
    oci_parquet_buffer levels;
    oci_parquet_buffer encoded;
    oci_parquet_buffer other; /* a second candidate */
    oci_parquet_buffer packed;
    oci_text header;
} oci_parquet_press;

/* Rows [row, row + n) of a top column. */
OC_NODISCARD oc_status oci_parquet_write_rows(oci_parquet_column_writer *c,
                                              const oci_column *column, int64_t row, int64_t n,
                                              oc_error *err);
/* Sets conversion, width and order from the element and the field. */
void oci_parquet_choose_conversion(oci_parquet_column_writer *c);
/* Values of rows [row, row + n), none of which is null. */
OC_NODISCARD oc_status oci_parquet_write_values(oci_parquet_column_writer *c,
                                                const oci_column *column, int64_t row, int64_t n,
                                                oc_error *err);
/* Gives an index to the values that have none yet. *is_full: the dictionary has outgrown its share. */
OC_NODISCARD oc_status oci_parquet_write_indices(oci_parquet_column_writer *c, bool *is_full,
                                                 oc_error *err);
/* Bytes of the page that is being filled. */
int64_t oci_parquet_page_weight(const oci_parquet_column_writer *c);
/* Ends the page that is being filled; nothing when it is empty. */
OC_NODISCARD oc_status oci_parquet_write_page(oci_parquet_column_writer *c,
                                              oci_parquet_press *press, oc_error *err);
/* The dictionary page, header and body, into press->other. */
OC_NODISCARD oc_status oci_parquet_write_dictionary(oci_parquet_column_writer *c,
                                                    oci_parquet_press *press, int64_t *plain_bytes,
                                                    oc_error *err);
/* Begins a chunk: no pages, no dictionary. */
void oci_parquet_column_clear(oci_parquet_column_writer *c);
void oci_parquet_column_free(oci_parquet_column_writer *c);

#endif /* OUTCORE_FORMATS_PARQUET_WRITE_COLUMN_H */
