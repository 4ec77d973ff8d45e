/* Packed columns back: the node of a column, and what every layout begins with.
 *
 * The same walk measures and decodes. Measuring passes over vectors, whose headers say how long they
 * are, and adds up buffers; it is done before any memory that depends on what was read is asked for.
 * Decoding then takes the same buffers from the slab. So no loop over rows runs before their memory
 * was granted, and recursion is as deep as the schema. */
#include <assert.h>
#include <string.h>

#include "base/bits.h"
#include "encoding/string_vector.h"
#include "encoding/unpack_internal.h"

#define ROWS_MAX (INT64_C(1) << 56)

/* Stands for empty buffers. */
static const uint8_t nothing[64] __attribute__((aligned(64)));

/* ---- pieces ---------------------------------------------------------------------------------- */

oc_status oci_unpack_product(int64_t n, int64_t width, int64_t *bytes, oc_error *err)
{
    if (!oci_mul64(n, width, bytes)) {
        OC_FAIL(err, OC_EDATA,
                "%" PRId64 " values of %" PRId64 " bytes are more than memory can be", n, width);
    }
    return OC_OK;
}

oc_status oci_unpack_check_rows(int64_t rows, oc_error *err)
{
    if (rows < 0 || rows > ROWS_MAX) {
        OC_FAIL(err, OC_EDATA, "%" PRIu64 " rows are more than memory can hold", (uint64_t)rows);
    }
    return OC_OK;
}

oc_status oci_unpack_room(oci_unpack_job *job, int64_t bytes, uint8_t **to, oc_error *err)
{
    int64_t end = 0;
    *to = NULL;
    if (!oci_add64(job->slab_bytes, bytes, &end) || end > INT64_MAX - 8) {
        OC_FAIL(err, OC_EDATA,
                "buffers of %" PRId64 " and %" PRId64 " bytes are more than memory can be",
                job->slab_bytes, bytes);
    }
    int64_t padded = oci_round_up(bytes, 8);
    job->slab_bytes = oci_round_up(end, 8);
    if (job->out == NULL) {
        return OC_OK;
    }
    if (padded > job->out->size - job->out->at) {
        OC_FAIL(err, OC_EINTERNAL, "a column needs more room than was measured");
    }
    if (padded == 0) {
        *to = (uint8_t *)nothing; /* nobody writes to no bytes */
        return OC_OK;
    }
    *to = job->out->slab + job->out->at;
    memset(*to + padded - 8, 0, 8);
    job->out->at += padded;
    return OC_OK;
}

void *oci_unpack_extra(oci_unpack_job *job, int64_t bytes)
{
    oci_unpack_out *out = job->out;
    if (out == NULL) {
        return NULL;
    }
    assert(bytes <= out->extra_size - out->extra_at);
    void *at = out->extra + out->extra_at;
    out->extra_at += bytes;
    return at;
}

oc_status oci_unpack_take(oci_unpack_job *job, int64_t size, const uint8_t **data, oc_error *err)
{
    oci_pack_in *in = job->in;
    int64_t left = in->packed_size - in->packed_at;
    if (size > left || oci_round_up(size, OCI_PACK_ALIGN) > left) {
        OC_FAIL(err, OC_EDATA, "it ends at byte %" PRId64 ", %" PRId64 " more were to come",
                in->packed_size, size - left);
    }
    *data = in->packed + in->packed_at;
    in->packed_at += oci_round_up(size, OCI_PACK_ALIGN);
    return OC_OK;
}

oc_status oci_unpack_count(oci_unpack_job *job, int64_t *count, oc_error *err)
{
    const uint8_t *data = NULL;
    OC_TRY(oci_unpack_take(job, 8, &data, err));
    *count = (int64_t)oci_load_le64(data);
    return oci_unpack_check_rows(*count, err);
}

oc_status oci_unpack_open(oci_unpack_job *job, int64_t n, oci_int_reader *reader, oc_error *err)
{
    oci_pack_in *in = job->in;
    int64_t left = in->packed_size - in->packed_at;
    OC_TRY(oci_int_reader_open(reader, in->packed + in->packed_at, left, n, err));
    assert(reader->size >= 0 && reader->size <= left);
    in->packed_at += reader->size;
    return OC_OK;
}

oc_status oci_unpack_ints(oci_unpack_job *job, int64_t n, int width, uint8_t *to, oc_error *err)
{
    oci_pack_in *in = job->in;
    int64_t taken = 0;
    if (to == NULL) {
        oci_int_reader reader;
        return oci_unpack_open(job, n, &reader, err);
    }
    OC_TRY(oci_int_vector_decode(in->packed + in->packed_at, in->packed_size - in->packed_at, n,
                                 width, to, &taken, err));
    in->packed_at += taken;
    return OC_OK;
}

/* What the words of the stream have behind the last bit is cleared. */
oc_status oci_unpack_bits(oci_unpack_job *job, int64_t n, uint8_t *to, oc_error *err)
{
    int64_t words = n / 64 + (n % 64 != 0);
    OC_TRY(oci_unpack_ints(job, words, 8, to, err));
    if (to != NULL && n % 64 != 0) {
        uint64_t last = oci_load_le64(to + 8 * (words - 1)) & oci_low_mask((int)(n % 64));
        oci_store_le64(to + 8 * (words - 1), last);
    }
    return OC_OK;
}

/* ---- header and validity --------------------------------------------------------------------- */

static oc_status read_header(oci_unpack_job *job, int64_t rows, oci_node_header *header,
                             oc_error *err)
{
    const uint8_t *data = NULL;
    int64_t nulls = 0;
    OC_TRY(oci_unpack_take(job, OCI_NODE_BYTES, &data, err));
    *header = (oci_node_header){.validity = data[0], .kind = data[1], .part = data[2]};
    if (header->validity > OCI_NODE_BITMAP || data[3] != 0 || oci_load_le32(data + 4) != 0) {
        OC_FAIL(err, OC_EDATA, "at byte %" PRId64 " is no header of a column",
                job->in->packed_at - OCI_NODE_BYTES);
    }
    if (header->validity == OCI_NODE_ALL_NULL) {
        nulls = rows;
    } else if (header->validity == OCI_NODE_BITMAP) {
        OC_TRY(oci_unpack_count(job, &nulls, err));
    }
    if (nulls > rows) {
        OC_FAIL(err, OC_EDATA, "it counts %" PRId64 " nulls in %" PRId64 " rows", nulls, rows);
    }
    header->n_valid = rows - nulls;
    return OC_OK;
}

/* Layouts without a validity of their own. */
static bool has_validity(const oci_field *field)
{
    switch (oci_field_layout(field)) {
    case OCI_LAYOUT_NULL:
    case OCI_LAYOUT_SPARSE_UNION:
    case OCI_LAYOUT_DENSE_UNION:
    case OCI_LAYOUT_RUN_ENDS: return false;
    default: return true;
    }
}

static oc_status unpack_validity(oci_unpack_job *job, const oci_node_header *header,
                                 oci_column *column, oc_error *err)
{
    int64_t n = column->length;
    uint8_t *bits = NULL;
    column->null_count = n - header->n_valid;
    if (!has_validity(column->field)) {
        bool fits = oci_field_layout(column->field) == OCI_LAYOUT_NULL
                        ? header->n_valid == 0
                        : header->validity == OCI_NODE_ALL_VALID;
        if (!fits) {
            OC_FAIL(err, OC_EDATA, "a %s has nulls of its own", oci_type_name(column->field->type));
        }
        return OC_OK;
    }
    if (header->validity == OCI_NODE_ALL_VALID) {
        return OC_OK;
    }
    OC_TRY(oci_unpack_room(job, oci_bytes_for_bits(n), &bits, err));
    if (header->validity == OCI_NODE_BITMAP) {
        OC_TRY(oci_unpack_bits(job, n, bits, err));
        if (bits != NULL && oci_bits_count(bits, 0, n) != header->n_valid) {
            OC_FAIL(err, OC_EDATA, "%" PRId64 " of %" PRId64 " rows are valid, not %" PRId64,
                    oci_bits_count(bits, 0, n), n, header->n_valid);
        }
    } else if (bits != NULL) {
        memset(bits, 0, (size_t)oci_bytes_for_bits(n));
    }
    column->validity = column->null_count == 0 ? NULL : bits;
    return OC_OK;
}

/* ---- leaves ---------------------------------------------------------------------------------- */

static oc_status unpack_booleans(oci_unpack_job *job, const oci_node_header *header,
                                 oci_column *column, oc_error *err)
{
    uint8_t *values = NULL;
    int64_t n = column->length;
    OC_TRY(oci_unpack_room(job, oci_bytes_for_bits(n), &values, err));
    column->values = values;
    if (header->n_valid > 0) {
        return oci_unpack_bits(job, n, values, err);
    }
    if (values != NULL) {
        memset(values, 0, (size_t)oci_bytes_for_bits(n));
    }
    return OC_OK;
}

/* Views refer to one buffer. */
static oc_status unpack_views(oci_unpack_job *job, const oci_strings_in *strings,
                              oci_column *column, oc_error *err)
{
    uint8_t *views = NULL, *bytes = NULL;
    int64_t views_bytes = 0, used = 0;
    OC_TRY(oci_unpack_product(column->length, 16, &views_bytes, err));
    OC_TRY(oci_unpack_room(job, views_bytes, &views, err));
    OC_TRY(oci_unpack_room(job, strings->stored_bytes + OCI_STRING_SLACK, &bytes, err));
    const uint8_t **buffers = oci_unpack_extra(job, sizeof *buffers);
    int64_t *sizes = oci_unpack_extra(job, sizeof *sizes);
    if (views == NULL) {
        return OC_OK;
    }
    column->values = views;
    if (strings->n > 0) {
        OC_TRY(oci_strings_decode_views(strings, views, bytes, &used, err));
    } else {
        memset(views, 0, (size_t)views_bytes);
    }
    buffers[0] = bytes;
    sizes[0] = used;
    column->view_buffers = buffers;
    column->view_sizes = sizes;
    column->n_view_buffers = used > 0 ? 1 : 0;
    return OC_OK;
}

static oc_status unpack_offsets(oci_unpack_job *job, const oci_strings_in *strings,
                                oci_column *column, oc_error *err)
{
    uint8_t *offsets = NULL, *bytes = NULL;
    int width = oci_field_offset_width(column->field);
    int64_t offsets_bytes = 0;
    OC_TRY(oci_unpack_product(column->length + 1, width, &offsets_bytes, err));
    OC_TRY(oci_unpack_room(job, offsets_bytes, &offsets, err));
    OC_TRY(oci_unpack_room(job, strings->value_bytes + OCI_STRING_SLACK, &bytes, err));
    column->values = offsets;
    column->bytes = bytes;
    if (offsets == NULL) {
        return OC_OK;
    }
    if (strings->n == 0) {
        memset(offsets, 0, (size_t)offsets_bytes);
        return OC_OK;
    }
    return oci_strings_decode(strings, width, offsets, bytes, err);
}

static oc_status unpack_fixed_binary(oci_unpack_job *job, const oci_strings_in *strings,
                                     oci_column *column, oc_error *err)
{
    uint8_t *values = NULL;
    int32_t width = column->field->byte_width;
    int64_t bytes = 0;
    OC_TRY(oci_unpack_product(column->length, width, &bytes, err));
    OC_TRY(oci_unpack_room(job, bytes, &values, err));
    column->values = values;
    if (values == NULL) {
        return OC_OK;
    }
    if (strings->n == 0) {
        memset(values, 0, (size_t)bytes);
        return OC_OK;
    }
    return oci_strings_decode_fixed(strings, width, column->validity, values, err);
}

/* Without any value there is no vector. */
static oc_status unpack_strings(oci_unpack_job *job, const oci_node_header *header,
                                oci_column *column, oc_error *err)
{
    oci_strings_in strings = {0};
    if (header->n_valid > 0 && !oci_field_is_empty(column->field)) {
        OC_TRY(oci_strings_open(job->in, column->length, &strings, err));
    }
    switch (oci_field_layout(column->field)) {
    case OCI_LAYOUT_VIEWS: return unpack_views(job, &strings, column, err);
    case OCI_LAYOUT_FIXED: return unpack_fixed_binary(job, &strings, column, err);
    default: return unpack_offsets(job, &strings, column, err);
    }
}

oc_status oci_unpack_node(oci_unpack_job *job, const oci_field *field, int64_t rows,
                          oci_column *column, oc_error *err)
{
    oci_node_header header = {0};
    *column = (oci_column){.field = field, .length = rows};
    OC_TRY(read_header(job, rows, &header, err));
    OC_TRY(unpack_validity(job, &header, column, err));
    switch (oci_field_layout(field)) {
    case OCI_LAYOUT_NULL: return OC_OK;
    case OCI_LAYOUT_BITS: return unpack_booleans(job, &header, column, err);
    case OCI_LAYOUT_DICTIONARY: return oci_unpack_dictionary(job, &header, column, err);
    case OCI_LAYOUT_FIXED:
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64:
    case OCI_LAYOUT_VIEWS:
        return oci_field_is_strings(field) ? unpack_strings(job, &header, column, err)
                                           : oci_unpack_fixed(job, &header, column, err);
    default: return oci_unpack_nested(job, &header, column, err);
    }
}
