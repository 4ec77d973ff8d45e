/* A small flatbuffer layer: checked reading and back-to-front building, no generated code.
 *
 * Reading. Nothing is verified up front; every accessor checks what it touches against the bytes
 * that were given, and the first thing found wrong is kept in `problem`. After that all accessors
 * answer "absent", so a parser reads straight on and asks once at the end. Positions never go
 * backwards but from a table to its vtable, and the callers name each field that they follow, so
 * that a chain of tables is as deep as their code and no deeper: damaged input cannot make it loop.
 * Values need no alignment.
 *
 * Building. Objects are written from the end of the buffer to its start, children first, as the
 * format wants it; an object is named by its distance from the end. Running out of memory is kept
 * in `failed` and asked for once.
 *
 * What a flatbuffer looks like: a table starts with an int32 that leads back to its vtable (uint16
 * vtable size, table size, then the place of each field in the table, 0 = absent); strings, vectors
 * and tables are reached by a uint32 distance forward; vectors start with a uint32 count. All
 * little-endian. */
#ifndef OUTCORE_IPC_FLATBUF_H
#define OUTCORE_IPC_FLATBUF_H

#include "base/error.h"

/* -- reading ---------------------------------------------------------------------------------- */

typedef struct oci_fb {
    const uint8_t *data;
    int64_t size;
    const char *problem; /* static text of the first thing found wrong, or NULL */
} oci_fb;

typedef struct oci_fb_table {
    int64_t position; /* 0 = absent (position 0 is the root offset, never a table) */
    int64_t vtable;
    int32_t vtable_bytes;
    int32_t table_bytes;
} oci_fb_table;

/* Elements lie one behind the other at `data`, within the buffer. */
typedef struct oci_fb_vector {
    const uint8_t *data;
    int64_t n;
} oci_fb_vector;

oci_fb_table oci_fb_root(oci_fb *fb);
/* A signed integer of `width` 1, 2, 4 or 8 bytes; `absent` when the table does not have it. */
int64_t oci_fb_integer(oci_fb *fb, const oci_fb_table *table, int field, int width, int64_t absent);
oci_fb_table oci_fb_child(oci_fb *fb, const oci_fb_table *table, int field);
/* data NULL, n 0 when absent. A string is a vector of bytes (without its NUL). */
oci_fb_vector oci_fb_get_vector(oci_fb *fb, const oci_fb_table *table, int field,
                                int64_t element_bytes);
/* Element i of a vector of tables (which was read with element_bytes 4). */
oci_fb_table oci_fb_element(oci_fb *fb, const oci_fb_vector *vector, int64_t i);

/* -- building --------------------------------------------------------------------------------- */

#define OCI_FB_FIELDS_MAX 8

typedef uint32_t oci_fb_ref; /* distance of an object from the end; 0 = none */

typedef struct oci_fb_builder {
    uint8_t *data; /* malloc'ed; the last `used` bytes of it are written */
    int64_t capacity;
    int64_t used;
    bool failed;
    int64_t table_end;
    int64_t slots[OCI_FB_FIELDS_MAX];
} oci_fb_builder; /* zero-initialise */

oci_fb_ref oci_fb_put_string(oci_fb_builder *b, const void *text, int64_t length);
/* `elements` lie as they are to be written; they are aligned to `align` (4 or 8). */
oci_fb_ref oci_fb_put_vector(oci_fb_builder *b, const void *elements, int64_t n,
                             int64_t element_bytes, int64_t align);
oci_fb_ref oci_fb_put_refs(oci_fb_builder *b, const oci_fb_ref *refs, int64_t n);

/* A table: begin, then its fields in any order, then end. Children are made before begin. */
void oci_fb_begin_table(oci_fb_builder *b);
void oci_fb_add_integer(oci_fb_builder *b, int field, int width, int64_t value);
void oci_fb_add_ref(oci_fb_builder *b, int field, oci_fb_ref ref); /* 0: field stays absent */
oci_fb_ref oci_fb_end_table(oci_fb_builder *b);

/* Puts the root offset in front. The flatbuffer is then oci_fb_bytes(), a multiple of 8 bytes
 * long. */
OC_NODISCARD oc_status oci_fb_finish(oci_fb_builder *b, oci_fb_ref root, oc_error *err);
const uint8_t *oci_fb_bytes(const oci_fb_builder *b);
void oci_fb_deinit(oci_fb_builder *b);

#endif /* OUTCORE_IPC_FLATBUF_H */
