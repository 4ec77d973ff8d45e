/* Thrift's compact protocol: what all metadata of a Parquet file is written in. No generated code.
 *
 * Reading. Every call checks what it touches against the bytes that are left; the first thing found wrong
 * is kept in `problem`, after which structs end, lists are empty and numbers 0, so that a parser reads
 * straight on and asks once at the end. Recursion is as deep as the parser's code, and in what is skipped
 * OCI_THRIFT_DEPTH_MAX. No count is believed that the bytes left could not hold, a byte an element.
 *
 * Writing appends to a text; the first failure is kept in `status`, and calls after it do nothing.
 *
 * The protocol: a struct is its fields and a 0 byte. A field is a byte (difference of its id to the last
 * one's << 4 | type), with difference 0 the id behind it as a zigzag varint; then its value: bools lie in
 * the type, integers are zigzag varints, binary has its length as a varint in front. A list is a byte
 * (count << 4 | type), with count 15 the count behind it as a varint; then its elements. */
#ifndef OUTCORE_FORMATS_PARQUET_THRIFT_COMPACT_H
#define OUTCORE_FORMATS_PARQUET_THRIFT_COMPACT_H

#include "base/text.h"

typedef enum oci_thrift_type {
    OCI_THRIFT_STOP = 0,
    OCI_THRIFT_TRUE = 1, /* also the type of bools in lists */
    OCI_THRIFT_FALSE = 2,
    OCI_THRIFT_I8 = 3,
    OCI_THRIFT_I16 = 4,
    OCI_THRIFT_I32 = 5,
    OCI_THRIFT_I64 = 6,
    OCI_THRIFT_DOUBLE = 7,
    OCI_THRIFT_BINARY = 8,
    OCI_THRIFT_LIST = 9,
    OCI_THRIFT_SET = 10,
    OCI_THRIFT_MAP = 11,
    OCI_THRIFT_STRUCT = 12,
    OCI_THRIFT_UUID = 13
} oci_thrift_type;

enum { OCI_THRIFT_DEPTH_MAX = 32 };

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct oci_thrift_reader {
    const uint8_t *data;
    int64_t size;
    int64_t at;
    const char *problem; /* static text of the first thing found wrong, or NULL */
    bool is_short;       /* the problem is that the bytes end */
} oci_thrift_reader;

typedef struct oci_thrift_field {
    int16_t id; /* of the last field of the struct, so 0 in front of the first */
    uint8_t type;
} oci_thrift_field; /* {0} before the first field of a struct */

/* Goes to the next field of a struct, whose value was read or skipped; false behind the last. */
bool oci_thrift_next(oci_thrift_reader *r, oci_thrift_field *field);
void oci_thrift_skip(oci_thrift_reader *r, const oci_thrift_field *field);

/* Values of a field; one of another type is a problem. */
bool oci_thrift_bool(oci_thrift_reader *r, const oci_thrift_field *field);
int64_t oci_thrift_int(oci_thrift_reader *r, const oci_thrift_field *field); /* of any width */
int32_t oci_thrift_int32(oci_thrift_reader *r, const oci_thrift_field *field);
/* *size 0 and a pointer that is not NULL for an empty one; NULL after a problem. */
const uint8_t *oci_thrift_bytes(oci_thrift_reader *r, const oci_thrift_field *field, int64_t *size);
/* true: a struct begins, whose fields follow. */
bool oci_thrift_struct(oci_thrift_reader *r, const oci_thrift_field *field);
/* The count of a list of elements of `type` (TRUE for bools), whose elements follow. */
int64_t oci_thrift_list(oci_thrift_reader *r, const oci_thrift_field *field, oci_thrift_type type);

/* Elements of a list: its structs begin without more ado. */
bool oci_thrift_element_bool(oci_thrift_reader *r);
int64_t oci_thrift_element_int(oci_thrift_reader *r);
const uint8_t *oci_thrift_element_bytes(oci_thrift_reader *r, int64_t *size);

/* Notes a problem (static text) that the caller found. */
void oci_thrift_fail(oci_thrift_reader *r, const char *problem);

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct oci_thrift_writer {
    oci_text *out;
    oc_error *err;
    oc_status status;
    int depth;
    int16_t last_ids[8]; /* of the structs that are open */
} oci_thrift_writer; /* zero but for out and err; stands in a struct whose fields are to be written */

void oci_thrift_write_bool(oci_thrift_writer *w, int16_t id, bool value);
void oci_thrift_write_i8(oci_thrift_writer *w, int16_t id, int8_t value);
void oci_thrift_write_i32(oci_thrift_writer *w, int16_t id, int32_t value);
void oci_thrift_write_i64(oci_thrift_writer *w, int16_t id, int64_t value);
void oci_thrift_write_bytes(oci_thrift_writer *w, int16_t id, const void *data, int64_t size);
void oci_thrift_write_struct(oci_thrift_writer *w, int16_t id); /* its fields follow, and an end */
void oci_thrift_write_end(oci_thrift_writer *w);                /* of a struct, the outermost too */
void oci_thrift_write_list(oci_thrift_writer *w, int16_t id, oci_thrift_type type, int64_t n);
/* Elements of a list; a struct is followed by its fields and an end. */
void oci_thrift_write_element_bool(oci_thrift_writer *w, bool value);
void oci_thrift_write_element_int(oci_thrift_writer *w, int64_t value);
void oci_thrift_write_element_bytes(oci_thrift_writer *w, const void *data, int64_t size);
void oci_thrift_write_element_struct(oci_thrift_writer *w);

#endif /* OUTCORE_FORMATS_PARQUET_THRIFT_COMPACT_H */
