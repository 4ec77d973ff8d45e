/* Between the files that write string vectors. */
#ifndef OUTCORE_ENCODING_STRING_ENCODE_INTERNAL_H
#define OUTCORE_ENCODING_STRING_ENCODE_INTERNAL_H

#include "base/bits.h"
#include "encoding/string_format.h"
#include "encoding/string_source.h"
#include "encoding/string_vector.h"

/* Bytes behind the bound of the bytes that may be written to. */
#define OCI_STRING_ROOM 16

/* What saying where a shared string lies takes at most, most often. */
#define OCI_STRING_PLACE_BYTES 4

/* Buffers of a column of views whose used parts are kept apart. */
#define OCI_STRING_PARTS 256

/* The part of each view buffer between the first and the last byte that a view shows. */
typedef struct oci_string_parts {
    int64_t n; /* buffers; 0 when there are too many, or the column has no views */
    uint32_t from[OCI_STRING_PARTS];
    uint32_t to[OCI_STRING_PARTS];
    int64_t size;        /* of all parts together */
    int64_t short_bytes; /* of the strings that lie in their views */
} oci_string_parts;

/* What a vector of these strings may take, and what it must be made of to stay within that. */
typedef struct oci_string_bound {
    int64_t packed;
    int64_t bytes;
    int64_t value_bytes; /* of all strings, at most: more than `bytes` when they must be shared */
    int length_width;    /* bytes of the integers that hold every length */
    bool allowed[OCI_STRINGS_KINDS];
} oci_string_bound;

/* One vector being written. */
typedef struct oci_string_job {
    oci_string_source source;
    oci_string_parts parts;
    oci_string_bound bound;
    oci_string_plan *plan;
    oci_string_scratch *scratch; /* NULL when there is none for so many rows */
    oci_pack_out *out;
} oci_string_job;

typedef struct oci_string_header {
    oci_string_kind kind;
    int64_t value_bytes;
    int64_t bytes_size;
    int64_t extra;
} oci_string_header;

/* What was chosen for the numbers of another kind says nothing about these. */
static inline void oci_string_put_header(oci_string_job *job, const oci_string_header *header)
{
    if (job->plan->kind != header->kind) {
        *job->plan =
            (oci_string_plan){.kind = (uint8_t)header->kind, .blocks_left = job->plan->blocks_left};
    }
    uint8_t *to = job->out->packed + job->out->packed_at;
    oci_store_le64(to + OCI_STRINGS_AT_KIND, header->kind);
    oci_store_le64(to + OCI_STRINGS_AT_VALUE_BYTES, (uint64_t)header->value_bytes);
    oci_store_le64(to + OCI_STRINGS_AT_BYTES_SIZE, (uint64_t)header->bytes_size);
    oci_store_le64(to + OCI_STRINGS_AT_EXTRA, (uint64_t)header->extra);
    job->out->packed_at += OCI_STRINGS_HEADER_BYTES;
    job->out->bytes_at += header->bytes_size;
}

/* The i-th integer vector of a string vector. */
static inline void oci_string_put_numbers(oci_string_job *job, int i, oci_int_source numbers,
                                          int width)
{
    oci_pack_out *out = job->out;
    out->packed_at += oci_int_vector_encode(&numbers, width, &job->plan->numbers[i],
                                            out->packed + out->packed_at);
}

static inline oci_int_source oci_string_lengths_of(const oci_string_job *job)
{
    return (oci_int_source){
        .page = oci_string_source_lengths, .arg = &job->source, .n = job->source.n};
}

/* Writes the whole vector, or nothing and is false when that would take more than `worth` bytes. */
bool oci_strings_encode_dictionary(oci_string_job *job, int64_t worth);
/* The same, false when strings are too long. */
bool oci_strings_encode_front(oci_string_job *job);
/* Writes the whole vector, or nothing of use and is false when a string is none of those. */
bool oci_strings_encode_numbered(oci_string_job *job);
/* Whether strings [start, start + n), n <= OCI_STRING_STAGE, look as if all were. */
bool oci_strings_are_numbered(const oci_string_source *source, int64_t start, int64_t n);
/* For views whose parts were found. */
void oci_strings_encode_shared(oci_string_job *job);

/* What a sample says: about how many bytes each kind would take, INT64_MAX = not to be tried. For
 * dictionaries and numbered strings only whether a try is worth its time: 0, or INT64_MAX. */
typedef struct oci_string_costs {
    int64_t of[OCI_STRINGS_KINDS];
} oci_string_costs;
void oci_strings_estimate(oci_string_job *job, oci_string_costs *out);

void oci_string_parts_find(const oci_string_source *source, oci_string_parts *parts);

#endif /* OUTCORE_ENCODING_STRING_ENCODE_INTERNAL_H */
