/* Values of Parquet pages: from any encoding into plain arrays, any number at a time.
 *
 * A decoder stands in the values of one data page (behind the levels) and gives the next n of them; the
 * caller knows from the levels how many are there (nulls are not), so asking for more than the page holds is
 * its damage: OC_EDATA. Pages are larger than batches and a page may be left at any value; nothing is held
 * back but a place in the bytes, which stay the caller's and must outlive the decoder. All bytes are
 * checked before they are used; no count of the page is believed before its values are there.
 *
 *   oci_parquet_decoder_init        page -> decoder
 *   oci_parquet_decode_fixed        numbers, fixed binary: n * width bytes
 *   oci_parquet_decode_bits         booleans: n bits
 *   oci_parquet_decode_refs         byte arrays, first pass: what the next n values are and how long; checks
 *   oci_parquet_refs_fit              how many of those fit a number of bytes
 *   oci_parquet_decode_bytes          second pass: their bytes, one behind the other
 *   oci_parquet_decode_indices      dictionaries that stay dictionaries
 *   oci_parquet_decode_skip         values nobody wants
 *
 * Memory: a decoder is a plain struct without any, but with DELTA_BYTE_ARRAY, where it keeps the last value,
 * charged. A dictionary holds its values, charged.
 *
 * What the types are: the physical type says how wide a value is. INT96 gives 12 bytes, FIXED its length. All
 * values are little-endian, as they lie in the file. */
#ifndef OUTCORE_FORMATS_PARQUET_DECODE_H
#define OUTCORE_FORMATS_PARQUET_DECODE_H

#include "formats/parquet/delta_decode.h"
#include "formats/parquet/hybrid_decode.h"
#include "formats/parquet/metadata.h"

/* Bytes of a value: 0 for BOOLEAN (a bit) and BYTE_ARRAY (any). */
int32_t oci_parquet_type_width(oci_parquet_type type, int32_t type_length);

/* ---- dictionary ------------------------------------------------------------------------------ */

/* The values of a dictionary page, ready to be picked. Immutable once made. */
typedef struct oci_parquet_dictionary {
    int32_t n;
    int32_t width;    /* of a value; 0 = byte arrays */
    uint8_t *values;  /* fixed: n * width bytes; byte arrays: their bytes, one behind the other */
    int32_t *offsets; /* byte arrays: n + 1, into values; else NULL */
    /* private */
    oci_mem *mem;
    void *block;
    int64_t block_bytes;
} oci_parquet_dictionary;

/* `data`: the page as unpacked, PLAIN, of `n` values; it is copied, charged to `mem`. BOOLEAN has no dictionaries:
 * OC_EDATA. 32 readable bytes follow behind the values. */
OC_NODISCARD oc_status oci_parquet_dictionary_create(oci_parquet_type type, int32_t type_length,
                                                     const uint8_t *data, int64_t size, int32_t n,
                                                     oci_mem *mem, oci_parquet_dictionary **out,
                                                     oc_error *err);
void oci_parquet_dictionary_destroy(oci_parquet_dictionary *dictionary); /* NULL is fine */

/* ---- values of a page ------------------------------------------------------------------------ */

typedef struct oci_parquet_decoder oci_parquet_decoder;
struct oci_parquet_decoder {
    oci_parquet_encoding encoding;
    oci_parquet_type type;
    int32_t width;
    const oci_parquet_dictionary *dictionary; /* RLE_DICTIONARY only */
    /* private */
    const uint8_t *at; /* PLAIN, and the bytes of DELTA_LENGTH and DELTA_BYTE_ARRAY */
    const uint8_t *end;
    int64_t index;              /* PLAIN booleans, BYTE_STREAM_SPLIT: values given so far */
    int64_t n_values;           /* BYTE_STREAM_SPLIT: values of the page */
    oci_parquet_hybrid hybrid;  /* dictionary indices, RLE booleans */
    oci_parquet_delta lengths;  /* DELTA_*: the numbers, or lengths of (the rest of) the values */
    oci_parquet_delta prefixes; /* DELTA_BYTE_ARRAY: bytes shared with the value before */
    oci_mem *mem;
    uint8_t *last; /* DELTA_BYTE_ARRAY: the value before */
    int64_t last_length;
    int64_t last_capacity;
};

/* Begins with the values at `data`. PLAIN_DICTIONARY counts as RLE_DICTIONARY. `dictionary` (borrowed; needed by
 * dictionary encodings only). OC_EDATA: damaged, no dictionary. OC_EUNSUPPORTED: an encoding that the format does
 * not have for this type. Zeroed or used before, `out` may be either (deinit frees what it kept). */
OC_NODISCARD oc_status oci_parquet_decoder_init(oci_parquet_decoder *out,
                                                oci_parquet_encoding encoding,
                                                oci_parquet_type type, int32_t type_length,
                                                const uint8_t *data, int64_t size,
                                                const oci_parquet_dictionary *dictionary,
                                                oci_mem *mem, oc_error *err);
void oci_parquet_decoder_deinit(oci_parquet_decoder *d);

/* The next n values of a type with a width > 0: exactly n * width bytes at `out`, any alignment. */
OC_NODISCARD oc_status oci_parquet_decode_fixed(oci_parquet_decoder *d, int64_t n, void *out,
                                                oc_error *err);
/* The next n booleans, from bit `offset` of `bits` on; bits around them stay. */
OC_NODISCARD oc_status oci_parquet_decode_bits(oci_parquet_decoder *d, int64_t n, uint8_t *bits,
                                               int64_t offset, oc_error *err);
/* The next n indices into the dictionary, checked against it. */
OC_NODISCARD oc_status oci_parquet_decode_indices(oci_parquet_decoder *d, int64_t n, int32_t *out,
                                                  oc_error *err);
/* Passes over n values. */
OC_NODISCARD oc_status oci_parquet_decode_skip(oci_parquet_decoder *d, int64_t n, oc_error *err);

/* Byte arrays. refs() looks at the next n values and does not pass them: refs[i] is then the length of value i, or
 * its index in a dictionary; *bytes (may be NULL) the length of all. */
OC_NODISCARD oc_status oci_parquet_decode_refs(const oci_parquet_decoder *d, int64_t n,
                                               int32_t *refs, int64_t *bytes, oc_error *err);
/* How many of refs[0..n) have at most `max_bytes` together; *bytes how many bytes these have. */
int64_t oci_parquet_refs_fit(const oci_parquet_decoder *d, const int32_t *refs, int64_t n,
                             int64_t max_bytes, int64_t *bytes);
/* Passes the next n values, which refs() has just seen (it may have seen more): their bytes go to `out`, of which
 * `capacity` (at least what they take) may be overwritten: with 32 bytes to spare it is faster. refs[i] becomes the
 * length of value i. */
OC_NODISCARD oc_status oci_parquet_decode_bytes(oci_parquet_decoder *d, int64_t n, int32_t *refs,
                                                uint8_t *out, int64_t capacity, oc_error *err);

#endif /* OUTCORE_FORMATS_PARQUET_DECODE_H */
