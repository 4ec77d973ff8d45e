/* Vectors of byte strings, stored as lengths and bytes, as codes into a dictionary of this block's
 * distinct strings, front-coded (length shared with the string before, rest), or as places in bytes
 * that many views show. Byte layout: docs/spill-format.md, "String vectors".
 *
 * Numbers (lengths, codes, shared lengths, places) are integer vectors in the packed stream; what is
 * left of the strings goes to the bytes stream. Input is a validated column of any layout with byte
 * strings: 32- and 64-bit offsets, views, fixed-size binary. Null slots count as empty strings
 * whatever they hold. Views that show much of the same bytes store them once; a slice takes only what
 * it shows.
 *
 * The encoder chooses by a sample, and falls back when a dictionary outgrows its table. */
#ifndef OUTCORE_ENCODING_STRING_VECTOR_H
#define OUTCORE_ENCODING_STRING_VECTOR_H

#include "arrow/batch.h"
#include "encoding/int_vector.h"

/* Tables for dictionaries while strings are encoded; one serves all columns of a writer. */
typedef struct oci_string_scratch oci_string_scratch;

/* Memory that scratch for blocks of up to `rows` rows of strings takes, as charged: 2 bytes per row
 * and a part that grows with rows up to 256 KiB. Longer blocks are encoded without it. */
int64_t oci_string_scratch_bytes(int64_t rows);
/* Takes it from the reservation. */
OC_NODISCARD oc_status oci_string_scratch_create(int64_t rows, oci_reservation *from,
                                                 oci_string_scratch **out, oc_error *err);
/* Gives it back to the reservation it came from. NULL is fine. */
void oci_string_scratch_destroy(oci_string_scratch *scratch, oci_reservation *to);

/* What was chosen, from block to block. Zero-initialise. */
typedef struct oci_string_plan {
    uint8_t kind;
    uint8_t blocks_left;
    uint8_t reserved[6];
    oci_int_plan numbers[2];
} oci_string_plan;

/* Bounds of both streams for a column, or any of its rows; with offsets, O(1); for views O(rows). */
void oci_strings_bound(const oci_column *column, int64_t *packed, int64_t *bytes);

/* Writes column->length strings to both streams. `scratch` may be NULL: plain strings then. */
void oci_strings_encode(const oci_column *column, oci_string_plan *plan,
                        oci_string_scratch *scratch, oci_pack_out *out);

/* Reading, in two steps, so that memory can be asked for in between. */
typedef struct oci_strings_in {
    int64_t n;
    int64_t value_bytes;  /* of all n strings together: what a column with offsets needs */
    int64_t stored_bytes; /* of distinct strings: what a column of views needs at most */
    /* private */
    uint8_t kind;
    int64_t extra;
    const uint8_t *packed; /* sections behind the header */
    int64_t packed_size;
    const uint8_t *bytes; /* this vector's part of the bytes stream */
    int64_t bytes_size;
} oci_strings_in;

/* Checks the header, moves `in` behind the vector in both streams. The sums it promises are checked
 * by the second step. */
OC_NODISCARD oc_status oci_strings_open(oci_pack_in *in, int64_t n, oci_strings_in *out,
                                        oc_error *err);
/* Writes n + 1 offsets of `width` (4 or 8) and value_bytes bytes. OC_EDATA unless lengths are sane
 * and add up to what the header said. `bytes` has OCI_STRING_SLACK bytes of room behind value_bytes
 * that may be written to: short strings are copied 16 bytes at a time. */
#define OCI_STRING_SLACK 16
OC_NODISCARD oc_status oci_strings_decode(const oci_strings_in *in, int width, uint8_t *offsets,
                                          uint8_t *bytes, oc_error *err);
/* Writes n views and their bytes into one buffer (number 0) of stored_bytes (+ slack); *used says
 * how many of them are needed (strings of up to 12 bytes live in the view). */
OC_NODISCARD oc_status oci_strings_decode_views(const oci_strings_in *in, uint8_t *views,
                                                uint8_t *bytes, int64_t *used, oc_error *err);
/* n strings that must all have `width` bytes (fixed-size binary), 0 bytes where `validity` (bitmap
 * from bit 0; NULL = no nulls) says null. */
OC_NODISCARD oc_status oci_strings_decode_fixed(const oci_strings_in *in, int32_t width,
                                                const uint8_t *validity, uint8_t *values,
                                                oc_error *err);

#endif /* OUTCORE_ENCODING_STRING_VECTOR_H */
