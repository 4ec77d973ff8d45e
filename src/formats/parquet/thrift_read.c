/* Reading Thrift's compact protocol: see thrift_compact.h. */
#include "formats/parquet/thrift_compact.h"

void oci_thrift_fail(oci_thrift_reader *r, const char *problem)
{
    if (r->problem == NULL) {
        r->problem = problem;
    }
}

static void fail_short(oci_thrift_reader *r)
{
    if (r->problem == NULL) {
        r->problem = "it ends in the middle";
        r->is_short = true;
    }
}

static uint8_t take_byte(oci_thrift_reader *r)
{
    if (r->problem != NULL || r->at >= r->size) {
        fail_short(r);
        return 0;
    }
    return r->data[r->at++];
}

static uint64_t take_varint(oci_thrift_reader *r)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        uint8_t byte = take_byte(r);
        if (shift == 63 && byte > 1) {
            break;
        }
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            return r->problem == NULL ? value : 0;
        }
    }
    oci_thrift_fail(r, "a number has more than 64 bits");
    return 0;
}

static int64_t take_zigzag(oci_thrift_reader *r)
{
    uint64_t value = take_varint(r);
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static const uint8_t *take_bytes(oci_thrift_reader *r, int64_t size)
{
    if (r->problem == NULL && size > r->size - r->at) {
        fail_short(r);
    }
    if (r->problem != NULL) {
        return NULL;
    }
    const uint8_t *bytes = r->data + r->at;
    r->at += size;
    return bytes;
}

/* A length or count that the bytes left can hold. */
static int64_t take_count(oci_thrift_reader *r)
{
    uint64_t count = take_varint(r);
    if (count > INT32_MAX) {
        oci_thrift_fail(r, "a length is over 2 GiB");
    } else if ((int64_t)count > r->size - r->at) {
        fail_short(r);
    }
    return r->problem == NULL ? (int64_t)count : 0;
}

bool oci_thrift_next(oci_thrift_reader *r, oci_thrift_field *field)
{
    uint8_t byte = take_byte(r);
    if (r->problem != NULL || byte == OCI_THRIFT_STOP) {
        return false;
    }
    int64_t id = byte >> 4 != 0 ? field->id + (byte >> 4) : take_zigzag(r);
    if (id < 0 || id > INT16_MAX) {
        oci_thrift_fail(r, "the number of a field is out of range");
    }
    field->id = (int16_t)id;
    field->type = byte & 0x0F;
    return r->problem == NULL;
}

/* ---- skipping -------------------------------------------------------------------------------- */

static void skip_value(oci_thrift_reader *r, int type, bool is_element, int depth);

static void skip_list(oci_thrift_reader *r, int depth)
{
    uint8_t byte = take_byte(r);
    int64_t n = byte >> 4 == 15 ? take_count(r) : byte >> 4;
    for (int64_t i = 0; i < n && r->problem == NULL; i++) {
        skip_value(r, byte & 0x0F, true, depth);
    }
}

static void skip_map(oci_thrift_reader *r, int depth)
{
    int64_t n = take_count(r);
    uint8_t types = n > 0 ? take_byte(r) : 0;
    for (int64_t i = 0; i < n && r->problem == NULL; i++) {
        skip_value(r, types >> 4, true, depth);
        skip_value(r, types & 0x0F, true, depth);
    }
}

/* A bool takes a byte as an element, and none as a field. */
static void skip_value(oci_thrift_reader *r, int type, bool is_element, int depth)
{
    oci_thrift_field field = {0};
    if (depth > OCI_THRIFT_DEPTH_MAX) {
        oci_thrift_fail(r, "it is nested too deep");
        return;
    }
    switch (type) {
    case OCI_THRIFT_TRUE:
    case OCI_THRIFT_FALSE: (void)take_bytes(r, is_element); break;
    case OCI_THRIFT_I8: (void)take_byte(r); break;
    case OCI_THRIFT_I16:
    case OCI_THRIFT_I32:
    case OCI_THRIFT_I64: (void)take_varint(r); break;
    case OCI_THRIFT_DOUBLE: (void)take_bytes(r, 8); break;
    case OCI_THRIFT_UUID: (void)take_bytes(r, 16); break;
    case OCI_THRIFT_BINARY: (void)take_bytes(r, take_count(r)); break;
    case OCI_THRIFT_LIST:
    case OCI_THRIFT_SET: skip_list(r, depth + 1); break;
    case OCI_THRIFT_MAP: skip_map(r, depth + 1); break;
    case OCI_THRIFT_STRUCT:
        while (oci_thrift_next(r, &field)) {
            skip_value(r, field.type, false, depth + 1);
        }
        break;
    default: oci_thrift_fail(r, "a field has no known type");
    }
}

void oci_thrift_skip(oci_thrift_reader *r, const oci_thrift_field *field)
{
    skip_value(r, field->type, false, 0);
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool is_type(oci_thrift_reader *r, bool matches)
{
    if (!matches) {
        oci_thrift_fail(r, "a field has another type than the format says");
    }
    return r->problem == NULL;
}

bool oci_thrift_bool(oci_thrift_reader *r, const oci_thrift_field *field)
{
    (void)is_type(r, field->type == OCI_THRIFT_TRUE || field->type == OCI_THRIFT_FALSE);
    return field->type == OCI_THRIFT_TRUE;
}

int64_t oci_thrift_int(oci_thrift_reader *r, const oci_thrift_field *field)
{
    if (!is_type(r, field->type >= OCI_THRIFT_I8 && field->type <= OCI_THRIFT_I64)) {
        return 0;
    }
    return field->type == OCI_THRIFT_I8 ? (int8_t)take_byte(r) : take_zigzag(r);
}

int32_t oci_thrift_int32(oci_thrift_reader *r, const oci_thrift_field *field)
{
    int64_t value = oci_thrift_int(r, field);
    if (value < INT32_MIN || value > INT32_MAX) {
        oci_thrift_fail(r, "a number has more than 32 bits");
        return 0;
    }
    return (int32_t)value;
}

const uint8_t *oci_thrift_element_bytes(oci_thrift_reader *r, int64_t *size)
{
    *size = take_count(r);
    return take_bytes(r, *size);
}

const uint8_t *oci_thrift_bytes(oci_thrift_reader *r, const oci_thrift_field *field, int64_t *size)
{
    *size = 0;
    return is_type(r, field->type == OCI_THRIFT_BINARY) ? oci_thrift_element_bytes(r, size) : NULL;
}

bool oci_thrift_struct(oci_thrift_reader *r, const oci_thrift_field *field)
{
    return is_type(r, field->type == OCI_THRIFT_STRUCT);
}

int64_t oci_thrift_list(oci_thrift_reader *r, const oci_thrift_field *field, oci_thrift_type type)
{
    if (!is_type(r, field->type == OCI_THRIFT_LIST)) {
        return 0;
    }
    uint8_t byte = take_byte(r);
    int64_t n = byte >> 4 == 15 ? take_count(r) : byte >> 4;
    int found = byte & 0x0F;
    bool matches = found == (int)type || (type == OCI_THRIFT_TRUE && found == OCI_THRIFT_FALSE);
    /* Some writers give an empty list no type of its own. */
    if (r->problem != NULL || (n > 0 && !is_type(r, matches))) {
        return 0;
    }
    if (n > r->size - r->at) {
        fail_short(r);
        return 0;
    }
    return n;
}

bool oci_thrift_element_bool(oci_thrift_reader *r)
{
    return take_byte(r) == OCI_THRIFT_TRUE;
}

int64_t oci_thrift_element_int(oci_thrift_reader *r)
{
    return take_zigzag(r);
}
