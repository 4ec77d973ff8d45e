/* Writing Thrift's compact protocol: see thrift_compact.h. */
#include <assert.h>
#include <string.h>

#include "formats/parquet/thrift_compact.h"

static void put(oci_thrift_writer *w, const void *bytes, int64_t size)
{
    if (w->status == OC_OK && size > 0) {
        w->status = oci_text_append(w->out, bytes, size, w->err);
    }
}

static void put_byte(oci_thrift_writer *w, uint8_t byte)
{
    put(w, &byte, 1);
}

static void put_varint(oci_thrift_writer *w, uint64_t value)
{
    uint8_t bytes[10];
    int n = 0;
    for (; value >= 0x80; value >>= 7) {
        bytes[n++] = (uint8_t)(value | 0x80);
    }
    bytes[n++] = (uint8_t)value;
    put(w, bytes, n);
}

static void put_zigzag(oci_thrift_writer *w, int64_t value)
{
    put_varint(w, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

static void put_field(oci_thrift_writer *w, int16_t id, oci_thrift_type type)
{
    int16_t *last = &w->last_ids[w->depth];
    int step = id - *last;
    if (step > 0 && step < 16) {
        put_byte(w, (uint8_t)(step << 4 | (int)type));
    } else {
        put_byte(w, (uint8_t)type);
        put_zigzag(w, id);
    }
    *last = id;
}

void oci_thrift_write_bool(oci_thrift_writer *w, int16_t id, bool value)
{
    put_field(w, id, value ? OCI_THRIFT_TRUE : OCI_THRIFT_FALSE);
}

void oci_thrift_write_i8(oci_thrift_writer *w, int16_t id, int8_t value)
{
    put_field(w, id, OCI_THRIFT_I8);
    put_byte(w, (uint8_t)value);
}

void oci_thrift_write_i32(oci_thrift_writer *w, int16_t id, int32_t value)
{
    put_field(w, id, OCI_THRIFT_I32);
    put_zigzag(w, value);
}

void oci_thrift_write_i64(oci_thrift_writer *w, int16_t id, int64_t value)
{
    put_field(w, id, OCI_THRIFT_I64);
    put_zigzag(w, value);
}

void oci_thrift_write_bytes(oci_thrift_writer *w, int16_t id, const void *data, int64_t size)
{
    put_field(w, id, OCI_THRIFT_BINARY);
    oci_thrift_write_element_bytes(w, data, size);
}

void oci_thrift_write_struct(oci_thrift_writer *w, int16_t id)
{
    put_field(w, id, OCI_THRIFT_STRUCT);
    oci_thrift_write_element_struct(w);
}

void oci_thrift_write_end(oci_thrift_writer *w)
{
    put_byte(w, OCI_THRIFT_STOP);
    if (w->depth > 0) {
        w->depth--;
    }
}

void oci_thrift_write_list(oci_thrift_writer *w, int16_t id, oci_thrift_type type, int64_t n)
{
    put_field(w, id, OCI_THRIFT_LIST);
    put_byte(w, (uint8_t)((n < 15 ? n : 15) << 4 | (int)type));
    if (n >= 15) {
        put_varint(w, (uint64_t)n);
    }
}

void oci_thrift_write_element_bool(oci_thrift_writer *w, bool value)
{
    put_byte(w, value ? OCI_THRIFT_TRUE : OCI_THRIFT_FALSE);
}

void oci_thrift_write_element_int(oci_thrift_writer *w, int64_t value)
{
    put_zigzag(w, value);
}

void oci_thrift_write_element_bytes(oci_thrift_writer *w, const void *data, int64_t size)
{
    put_varint(w, (uint64_t)size);
    put(w, data, size);
}

void oci_thrift_write_element_struct(oci_thrift_writer *w)
{
    assert(w->depth + 1 < (int)(sizeof w->last_ids / sizeof w->last_ids[0]));
    w->last_ids[++w->depth] = 0;
}
