/* PACKED: columns as one run of the byte streams they are packed into, and what LENGTHS shares with
 * them. See layout.h. */
#include <assert.h>
#include <string.h>

#include "base/bits.h"
#include "spill/layout_internal.h"

/* ---- runs of one value ----------------------------------------------------------------------- */

uint8_t *oci_layout_take(oci_layout_out *out, int64_t bytes)
{
    uint8_t *at = out->slab + out->at;
    out->at += oci_round_up(bytes, OCI_LAYOUT_ALIGN);
    assert(out->at <= out->size);
    return at;
}

void oci_layout_make_run(const oci_field *field, int64_t rows, const oci_column *value,
                         oci_layout_out *out, oci_column *run)
{
    assert(rows <= INT32_MAX);
    oci_column *children = out->below;
    out->below += 2;
    uint8_t *end = oci_layout_take(out, OCI_LAYOUT_ALIGN);
    memset(end, 0, OCI_LAYOUT_ALIGN);
    oci_store_le32(end, (uint32_t)rows);
    children[0] =
        (oci_column){.field = &field->children[0], .length = rows > 0 ? 1 : 0, .values = end};
    children[1] = *value;
    *run = (oci_column){.field = field, .length = rows, .children = children};
}

oci_column oci_layout_binary(const oci_field *field, int64_t rows, const uint8_t *bytes,
                             int64_t size, oci_layout_out *out)
{
    bool is_large = oci_field_layout(field) == OCI_LAYOUT_OFFSETS64;
    assert(is_large || size <= INT32_MAX);
    uint8_t *offsets = oci_layout_take(out, is_large ? 16 : 8);
    if (is_large) {
        oci_store_le64(offsets, 0);
        oci_store_le64(offsets + 8, (uint64_t)size);
    } else {
        oci_store_le32(offsets, 0);
        oci_store_le32(offsets + 4, (uint32_t)size);
    }
    return (oci_column){
        .field = field, .length = rows > 0 ? 1 : 0, .values = offsets, .bytes = bytes};
}

oc_status oci_layout_open_run(const oci_column *run, const oci_column **values, oc_error *err)
{
    const oci_column *ends = &run->children[0];
    *values = &run->children[1];
    if (ends->length != 1 || (*values)->length < 1 ||
        (int32_t)oci_load_le32(ends->values) < run->length) {
        OC_FAIL(err, OC_EDATA, "not one run over all rows");
    }
    return OC_OK;
}

oc_status oci_layout_open_binary(const oci_column *column, const uint8_t **bytes, int64_t *size,
                                 oc_error *err)
{
    if (column->length != 1 || oci_column_is_null(column, 0)) {
        OC_FAIL(err, OC_EDATA, "not one value");
    }
    *bytes = oci_column_bytes_at(column, 0, size);
    return OC_OK;
}

/* ---- packing --------------------------------------------------------------------------------- */

bool oci_packed_has_bytes(const oci_field *logical)
{
    switch (oci_field_layout(logical)) {
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64:
    case OCI_LAYOUT_VIEWS: return true;
    default: break;
    }
    bool has_bytes = logical->type == OCI_TYPE_FIXED_BINARY ||
                     (logical->dictionary != NULL && oci_packed_has_bytes(logical->dictionary));
    for (int32_t i = 0; i < logical->n_children && !has_bytes; i++) {
        has_bytes = oci_packed_has_bytes(&logical->children[i]);
    }
    return has_bytes;
}

int64_t oci_packed_slab_bound(const oci_packed_bound *bound)
{
    /* Both streams, the run end, and two offsets of each stream. */
    return oci_round_up(bound->packed, OCI_LAYOUT_ALIGN) +
           oci_round_up(bound->bytes, OCI_LAYOUT_ALIGN) + 3 * OCI_LAYOUT_ALIGN;
}

oc_status oci_packed_encode(oci_packer *packer, int32_t i, const oci_column *column,
                            const oci_field *field, oci_reservation *from, oci_layout_out *out,
                            oci_column *physical, oc_error *err)
{
    oci_packed_bound bound;
    oci_packer_bound(packer, i, column, &bound);
    oci_pack_out streams = {.packed = oci_layout_take(out, bound.packed),
                            .bytes = oci_layout_take(out, bound.bytes)};
    if (column->length > 0) {
        OC_TRY(oci_pack_column(packer, i, column, from, &streams, err));
    }
    assert(streams.packed_at <= bound.packed && streams.bytes_at <= bound.bytes);
    const oci_field *value_field = &field->children[1];
    oci_column value;
    if (value_field->type == OCI_TYPE_STRUCT) {
        oci_column *both = out->below;
        out->below += 2;
        both[0] = oci_layout_binary(&value_field->children[0], column->length, streams.packed,
                                    streams.packed_at, out);
        both[1] = oci_layout_binary(&value_field->children[1], column->length, streams.bytes,
                                    streams.bytes_at, out);
        value = (oci_column){.field = value_field, .length = both[0].length, .children = both};
    } else {
        assert(streams.bytes_at == 0);
        value =
            oci_layout_binary(value_field, column->length, streams.packed, streams.packed_at, out);
    }
    oci_layout_make_run(field, column->length, &value, out, physical);
    return OC_OK;
}

oc_status oci_packed_open(const oci_column *physical, oci_pack_in *in, oc_error *err)
{
    const oci_column *value;
    *in = (oci_pack_in){0};
    OC_TRY(oci_layout_open_run(physical, &value, err));
    if (value->field->type != OCI_TYPE_STRUCT) {
        return oci_layout_open_binary(value, &in->packed, &in->packed_size, err);
    }
    OC_TRY(oci_layout_open_binary(&value->children[0], &in->packed, &in->packed_size, err));
    return oci_layout_open_binary(&value->children[1], &in->bytes, &in->bytes_size, err);
}
