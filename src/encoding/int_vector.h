/* Vectors of integers, stored as whatever is smallest of: one constant, frame of reference with bit
 * packing and exceptions, the same over differences, a dictionary of few values or differences, or runs,
 * all after division by a common factor where that helps. Byte layout: docs/spill-format.md, "Integer vectors".
 *
 * Values are 64-bit two's complement words whatever their type; a vector remembers no width or sign:
 * who reads it knows. All arithmetic wraps, so every value of every type comes back bit for bit. A
 * vector says how many bytes it takes; it begins at a multiple of OCI_PACK_ALIGN and its size is one.
 *
 * The encoder looks at a sample to choose, then writes page by page from a source, so that narrowing
 * decimals or taking differences of offsets needs no memory. It allocates nothing and cannot fail.
 * The reader checks everything against the bytes it was given. */
#ifndef OUTCORE_ENCODING_INT_VECTOR_H
#define OUTCORE_ENCODING_INT_VECTOR_H

#include "encoding/bit_pack.h"
#include "encoding/streams.h"

/* Distinct values that a vector has a dictionary for, at most. */
enum { OCI_INT_DICTIONARY_MAX = 256 };

/* Where values come from. page() writes values [start, start + n) to out; start is any multiple of
 * OCI_PAGE_VALUES (or any value while a sample is taken), n <= OCI_PAGE_VALUES. May be called
 * several times for the same values, and must give the same ones then. */
typedef struct oci_int_source {
    void (*page)(const void *arg, int64_t start, int64_t n, uint64_t *out);
    const void *arg;
    int64_t n;
} oci_int_source;

/* Fixed-width integers that lie in memory at any alignment. */
typedef struct oci_int_array {
    const uint8_t *values;
    int width; /* bytes: 1, 2, 4, 8 */
    bool is_signed;
} oci_int_array;
oci_int_source oci_int_array_source(const oci_int_array *array, int64_t n);

/* What was chosen for a vector, kept from block to block by its owner so that the choice need not be
 * made anew each time. Zero-initialise. */
typedef struct oci_int_plan {
    uint8_t kind;
    uint8_t blocks_left; /* until the next look at all kinds */
    uint16_t bits;       /* that 16 values took when it was made */
    uint64_t scale;      /* what all values are multiples of, 0 = nothing that helps */
} oci_int_plan;

/* Upper bound of oci_int_vector_encode()'s result when every value fits `width` bytes (1..8), signed
 * or unsigned: n * width and a little more for headers. */
int64_t oci_int_vector_bound(int64_t n, int width);

/* Writes the vector at `out` (aligned to 8 bytes, room for the bound); returns its size. Never larger
 * than the bound. plan may be NULL. */
int64_t oci_int_vector_encode(const oci_int_source *source, int width, oci_int_plan *plan,
                              uint8_t *out);

/* Reads a vector front to back. Plain struct on the caller's stack; nothing to release; `data` must
 * stay. */
typedef struct oci_int_reader {
    const uint8_t *data;
    int64_t size; /* bytes of the whole vector */
    int64_t n;
    int64_t at; /* values given so far */
    /* private to int_reader.c: */
    uint8_t kind;
    int64_t offset; /* of the next page */
    uint64_t base;
    uint64_t before; /* the value before the next, for differences */
    uint64_t scale;
    uint64_t scale_offset;
    int64_t n_distinct;
    uint64_t distinct[OCI_INT_DICTIONARY_MAX];
} oci_int_reader;

/* `data` is the rest of the packed stream (`size` bytes). The vector must have exactly n values.
 * reader->size then says where the next section begins. OC_EDATA: damaged. O(1) but for header
 * checks. */
OC_NODISCARD oc_status oci_int_reader_open(oci_int_reader *reader, const uint8_t *data,
                                           int64_t size, int64_t n, oc_error *err);
/* The next `n` values: OCI_PAGE_VALUES, or what is left when that is less. */
OC_NODISCARD oc_status oci_int_reader_next(oci_int_reader *reader, uint64_t *out, int64_t n,
                                           oc_error *err);

/* Opens, reads all, and writes the low `width` bytes (1, 2, 4, 8) of each value to `out` (any
 * alignment). *taken gets the bytes of the vector. */
OC_NODISCARD oc_status oci_int_vector_decode(const uint8_t *data, int64_t size, int64_t n,
                                             int width, uint8_t *out, int64_t *taken,
                                             oc_error *err);

#endif /* OUTCORE_ENCODING_INT_VECTOR_H */
