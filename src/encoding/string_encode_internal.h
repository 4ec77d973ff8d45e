/* Between the files that write string vectors. */
#ifndef OUTCORE_ENCODING_STRING_ENCODE_INTERNAL_H
#define OUTCORE_ENCODING_STRING_ENCODE_INTERNAL_H

#include "base/bits.h"
#include "encoding/string_format.h"
#include "encoding/string_source.h"
#include "encoding/string_vector.h"

/* Room for the numbers of any kind, and the bytes that any kind may take. */
typedef struct oci_string_bound {
    int64_t packed;
    int64_t bytes;
    int length_width; /* bytes of the integers that hold every length */
} oci_string_bound;

typedef struct oci_string_header {
    oci_string_kind kind;
    int64_t value_bytes;
    int64_t bytes_size;
    int64_t extra;
} oci_string_header;

/* Bytes behind the bound of the bytes that may be written to. */
#define OCI_STRING_ROOM 16

/* Takes the place of the header in the packed stream; it is filled in when the sums are known. */
static inline uint8_t *oci_string_header_begin(oci_pack_out *out)
{
    uint8_t *header = out->packed + out->packed_at;
    out->packed_at += OCI_STRINGS_HEADER_BYTES;
    return header;
}

static inline void oci_string_header_store(uint8_t *to, const oci_string_header *header)
{
    oci_store_le64(to + OCI_STRINGS_AT_KIND, header->kind);
    oci_store_le64(to + OCI_STRINGS_AT_VALUE_BYTES, (uint64_t)header->value_bytes);
    oci_store_le64(to + OCI_STRINGS_AT_BYTES_SIZE, (uint64_t)header->bytes_size);
    oci_store_le64(to + OCI_STRINGS_AT_EXTRA, (uint64_t)header->extra);
}

static inline void oci_string_put_numbers(const oci_int_source *numbers, int width,
                                          oci_int_plan *plan, oci_pack_out *out)
{
    out->packed_at += oci_int_vector_encode(numbers, width, plan, out->packed + out->packed_at);
}

#endif /* OUTCORE_ENCODING_STRING_ENCODE_INTERNAL_H */
