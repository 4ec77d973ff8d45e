/* The entries of one leaf, page after page: where levels and values of any number of them come from.
 *
 * An entry is a pair of levels, with a value when its definition level is the leaf's maximum. A reader stands
 * between two entries. It has at most one page at hand and the dictionary of its chunk. */
#ifndef OUTCORE_FORMATS_PARQUET_LEAF_READER_H
#define OUTCORE_FORMATS_PARQUET_LEAF_READER_H

#include "formats/parquet/decode.h"
#include "formats/parquet/level_decode.h"
#include "formats/parquet/page_reader.h"
#include "formats/parquet/schema.h"

typedef struct oci_parquet_leaf_reader {
    const oci_parquet_leaf *leaf;
    oci_parquet_page_reader pages;
    oci_parquet_dictionary *dictionary; /* of the chunk, NULL before its page */
    int64_t dictionary_longest;         /* of its byte arrays */
    /* The page at hand. */
    oci_parquet_levels repetition;
    oci_parquet_levels definition;
    oci_parquet_decoder values;
    bool is_dictionary_page; /* its values are indices */
    bool is_text;            /* byte arrays must be UTF-8 */
    int64_t page_left;       /* entries of the page that were not taken */
    int64_t chunk_left;      /* entries of the chunk that were not, those of the page included */
    oci_mem *mem;
} oci_parquet_leaf_reader;

/* `file`, `leaf` borrowed. Call start() next. */
OC_NODISCARD oc_status oci_parquet_leaf_reader_init(oci_parquet_leaf_reader *r, oci_file *file,
                                                    const oci_parquet_leaf *leaf, bool is_text,
                                                    int64_t window_wish,
                                                    _Atomic int64_t *bytes_read, oci_mem *mem,
                                                    oc_error *err);
/* Stands in front of the first entry of a chunk. */
OC_NODISCARD oc_status oci_parquet_leaf_reader_start(oci_parquet_leaf_reader *r,
                                                     const oci_parquet_column_chunk *chunk,
                                                     oc_error *err);
void oci_parquet_leaf_reader_deinit(oci_parquet_leaf_reader *r);

/* What it holds: window, page, dictionary. */
int64_t oci_parquet_leaf_reader_bytes(const oci_parquet_leaf_reader *r);

/* Sees to it that entries are at hand (page_left > 0), unless the chunk is at its end (page_left == 0). Its counts are
 * checked there. */
OC_NODISCARD oc_status oci_parquet_leaf_reader_fill(oci_parquet_leaf_reader *r, oc_error *err);
/* Says that n entries of the page at hand were taken. */
static inline void oci_parquet_leaf_reader_took(oci_parquet_leaf_reader *r, int64_t n)
{
    r->page_left -= n;
    r->chunk_left -= n;
}

/* Passes over `n` rows of a leaf that is not repeated (an entry is a row); pages without a row that is wanted are not
 * unpacked. OC_EDATA: there are fewer. */
OC_NODISCARD oc_status oci_parquet_leaf_reader_skip_flat(oci_parquet_leaf_reader *r, int64_t n,
                                                         oc_error *err);

/* Names file, column and page in an OC_EDATA, and gives it back. */
OC_NODISCARD oc_status oci_parquet_leaf_reader_blame(const oci_parquet_leaf_reader *r,
                                                     oc_status status, oc_error *err);
/* Whether byte arrays that lie one behind the other are UTF-8 each; lengths[n] are theirs. */
OC_NODISCARD oc_status oci_parquet_check_text(const oci_parquet_leaf_reader *r,
                                              const uint8_t *bytes, const int32_t *lengths,
                                              int64_t n, oc_error *err);

#endif /* OUTCORE_FORMATS_PARQUET_LEAF_READER_H */
