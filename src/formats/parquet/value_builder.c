/* See value_builder.h. */
#include "formats/parquet/value_builder.h"

#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "formats/parquet/value_convert.h"

/* Decoders of byte arrays copy in pieces of so many bytes. */
#define SPARE_BYTES 32

/* ---- blocks ---------------------------------------------------------------------------------- */

void oci_parquet_block_free(oci_mem *mem, oci_parquet_block *block)
{
    oci_mem_free(mem, block->data, block->bytes);
    *block = (oci_parquet_block){.data = NULL};
}

oc_status oci_parquet_block_grow(oci_mem *mem, oci_parquet_block *block, int64_t used,
                                 int64_t bytes, oc_error *err)
{
    void *larger;
    if (bytes <= block->bytes && block->data != NULL) {
        return OC_OK;
    }
    bytes = oci_max64(bytes, block->bytes + block->bytes / 2);
    OC_TRY(oci_mem_alloc(mem, bytes, &larger, err));
    if (block->data != NULL) {
        memcpy(larger, block->data, (size_t)used);
    }
    oci_mem_free(mem, block->data, block->bytes);
    *block = (oci_parquet_block){.data = larger, .bytes = bytes};
    return OC_OK;
}

oc_status oci_parquet_keep_block(oci_batch *batch, oci_mem *mem, oci_parquet_block *block,
                                 oc_error *err)
{
    if (block->data == NULL) {
        return OC_OK;
    }
    oci_parquet_block taken = *block;
    oci_batch *owner;
    *block = (oci_parquet_block){.data = NULL};
    OC_TRY(oci_batch_without_columns(0, mem, taken.data, taken.bytes, &owner, err));
    return oci_batch_keep(batch, owner, err);
}

/* ---- forms ----------------------------------------------------------------------------------- */

static bool is_decimal(const oci_field *field)
{
    return field->type >= OCI_TYPE_DECIMAL32 && field->type <= OCI_TYPE_DECIMAL256;
}

static bool is_byte_array(const oci_field *field)
{
    oci_layout layout = oci_field_layout(field);
    return layout == OCI_LAYOUT_OFFSETS32 || layout == OCI_LAYOUT_OFFSETS64;
}

static bool find_form(const oci_parquet_element *element, const oci_field *field,
                      oci_parquet_form *out)
{
    int32_t from = oci_parquet_type_width(element->type, element->type_length);
    bool is_fixed = oci_field_layout(field) == OCI_LAYOUT_FIXED;
    if (field->type == OCI_TYPE_NULL) {
        *out = OCI_PARQUET_FORM_NULL;
    } else if (element->type == OCI_PARQUET_BOOLEAN) {
        *out = OCI_PARQUET_FORM_BITS;
        return field->type == OCI_TYPE_BOOL;
    } else if (element->type == OCI_PARQUET_BYTE_ARRAY) {
        *out = field->type == OCI_TYPE_DICTIONARY ? OCI_PARQUET_FORM_DICTIONARY
               : is_decimal(field)                ? OCI_PARQUET_FORM_REVERSE_BYTES
                                                  : OCI_PARQUET_FORM_BYTES;
        return is_decimal(field) ||
               is_byte_array(field->type == OCI_TYPE_DICTIONARY ? field->dictionary : field);
    } else if (element->type == OCI_PARQUET_INT96) {
        *out = OCI_PARQUET_FORM_INT96;
        return is_fixed && field->byte_width == 8;
    } else if (element->type == OCI_PARQUET_FIXED && is_decimal(field)) {
        *out = OCI_PARQUET_FORM_REVERSE;
    } else if (is_fixed && field->byte_width == from) {
        *out = OCI_PARQUET_FORM_SAME;
    } else if (element->type == OCI_PARQUET_INT32 && is_fixed && field->byte_width < from) {
        *out = OCI_PARQUET_FORM_NARROW;
    } else {
        *out = OCI_PARQUET_FORM_WIDEN;
        return is_decimal(field) && from <= 8 && field->byte_width > from;
    }
    return true;
}

oc_status oci_parquet_values_init(oci_parquet_values *v, const oci_parquet_leaf *leaf,
                                  const oci_field *field, oci_mem *mem, oc_error *err)
{
    const oci_parquet_element *element = leaf->element;
    *v = (oci_parquet_values){
        .field = field,
        .from_width = oci_parquet_type_width(element->type, element->type_length),
        .width = field->byte_width,
        .mem = mem};
    if (!find_form(element, field, &v->form)) {
        char text[128];
        oci_field_type_text(field, text, sizeof text);
        OC_FAIL(err, OC_EUNSUPPORTED, "column \"%s\": %s cannot be read as %s", leaf->path,
                oci_parquet_type_name(element->type), text);
    }
    return OC_OK;
}

static void drop_buffers(oci_parquet_values *v)
{
    oci_parquet_block_free(v->mem, &v->fixed);
    oci_parquet_block_free(v->mem, &v->lengths);
    oci_parquet_block_free(v->mem, &v->bytes);
    v->n = v->n_bytes = 0;
    v->takes_indices = false;
}

void oci_parquet_values_new_chunk(oci_parquet_values *v)
{
    oci_batch_release(v->dictionary_batch);
    v->dictionary_batch = NULL;
}

void oci_parquet_values_deinit(oci_parquet_values *v)
{
    if (v->mem != NULL) {
        drop_buffers(v);
        oci_parquet_block_free(v->mem, &v->scratch);
        oci_parquet_values_new_chunk(v);
    }
}

int64_t oci_parquet_values_bytes(const oci_parquet_values *v)
{
    return v->n * v->width + v->n_bytes;
}

/* ---- room ------------------------------------------------------------------------------------ */

static bool has_lengths(const oci_parquet_values *v)
{
    return v->form == OCI_PARQUET_FORM_BYTES || v->form == OCI_PARQUET_FORM_DICTIONARY;
}

static oc_status make_room(oci_parquet_values *v, int64_t n, oc_error *err)
{
    int64_t total = v->n + n;
    if (v->form == OCI_PARQUET_FORM_BITS) {
        return oci_parquet_block_grow(v->mem, &v->fixed, oci_bytes_for_bits(v->n),
                                      oci_bytes_for_bits(total) + SPARE_BYTES, err);
    }
    if (has_lengths(v)) {
        return oci_parquet_block_grow(v->mem, &v->lengths, v->n * 4, total * 4 + SPARE_BYTES, err);
    }
    return oci_parquet_block_grow(v->mem, &v->fixed, v->n * v->width,
                                  total * v->width + SPARE_BYTES, err);
}

oc_status oci_parquet_values_begin(oci_parquet_values *v, int64_t n, oc_error *err)
{
    v->n = v->n_bytes = 0;
    v->takes_indices = v->form == OCI_PARQUET_FORM_DICTIONARY;
    if (v->form == OCI_PARQUET_FORM_NULL) {
        return OC_OK;
    }
    OC_TRY(make_room(v, n, err));
    if (has_lengths(v) && !v->takes_indices) {
        /* As much as values had so far, and a little. */
        int64_t guess = (int64_t)(v->bytes_per_value * 1.1 * (double)n) + 64;
        return oci_parquet_block_grow(v->mem, &v->bytes, 0, guess + SPARE_BYTES, err);
    }
    return OC_OK;
}

/* ---- taking ---------------------------------------------------------------------------------- */

static oc_status take_bytes(oci_parquet_values *v, oci_parquet_leaf_reader *r, int64_t n,
                            oc_error *err)
{
    int32_t *lengths = (int32_t *)(void *)v->lengths.data + v->n;
    int64_t bytes;
    OC_TRY(oci_parquet_decode_refs(&r->values, n, lengths, &bytes, err));
    if (v->n_bytes > INT32_MAX - bytes) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "column \"%s\": one row, or the texts of one batch, pass 2 GiB", r->leaf->path);
    }
    OC_TRY(oci_parquet_block_grow(v->mem, &v->bytes, v->n_bytes, v->n_bytes + bytes + SPARE_BYTES,
                                  err));
    uint8_t *to = v->bytes.data + v->n_bytes;
    OC_TRY(oci_parquet_decode_bytes(&r->values, n, lengths, to, v->bytes.bytes - v->n_bytes, err));
    if (r->is_text && !r->is_dictionary_page) {
        OC_TRY(oci_parquet_check_text(r, to, lengths, n, err));
    }
    v->n_bytes += bytes;
    return OC_OK;
}

/* The chunk's dictionary as a column, which batches share. */
static oc_status make_dictionary_batch(oci_parquet_values *v, const oci_parquet_dictionary *from,
                                       oc_error *err)
{
    const oci_field *type = v->field->dictionary;
    int32_t width = oci_field_layout(type) == OCI_LAYOUT_OFFSETS64 ? 8 : 4;
    int64_t n_bytes = from->offsets[from->n];
    int64_t offsets = oci_round_up(((int64_t)from->n + 1) * width, 8);
    void *slab;
    OC_TRY(oci_mem_alloc(v->mem, offsets + n_bytes + 8, &slab, err));
    uint8_t *at = slab;
    for (int32_t i = 0; i <= from->n; i++) {
        if (width == 4) {
            oci_store_le32(at + 4 * (int64_t)i, (uint32_t)from->offsets[i]);
        } else {
            oci_store_le64(at + 8 * (int64_t)i, (uint64_t)from->offsets[i]);
        }
    }
    memcpy(at + offsets, from->values, (size_t)n_bytes);
    OC_TRY(oci_batch_without_columns(from->n, v->mem, slab, offsets + n_bytes + 8,
                                     &v->dictionary_batch, err));
    return OC_OK;
}

static oc_status take_indices(oci_parquet_values *v, oci_parquet_leaf_reader *r, int64_t n,
                              oc_error *err)
{
    if (v->dictionary_batch == NULL) {
        OC_TRY(make_dictionary_batch(v, r->dictionary, err));
    }
    return oci_parquet_decode_indices(&r->values, n, (int32_t *)(void *)v->lengths.data + v->n,
                                      err);
}

/* A page without the dictionary: indices so far become the values that they name. */
static oc_status indices_to_bytes(oci_parquet_values *v, const oci_parquet_dictionary *d,
                                  oc_error *err)
{
    int32_t *refs = (int32_t *)(void *)v->lengths.data;
    int64_t bytes = 0;
    for (int64_t i = 0; i < v->n; i++) {
        bytes += d->offsets[refs[i] + 1] - d->offsets[refs[i]];
    }
    OC_TRY(oci_parquet_block_grow(v->mem, &v->bytes, 0, bytes + SPARE_BYTES, err));
    for (int64_t i = 0; i < v->n; i++) {
        int32_t start = d->offsets[refs[i]];
        int32_t length = d->offsets[refs[i] + 1] - start;
        memcpy(v->bytes.data + v->n_bytes, d->values + start, (size_t)length);
        refs[i] = length;
        v->n_bytes += length;
    }
    v->takes_indices = false;
    return OC_OK;
}

static oc_status take_dictionary(oci_parquet_values *v, oci_parquet_leaf_reader *r, int64_t n,
                                 oc_error *err)
{
    if (v->takes_indices && r->is_dictionary_page) {
        return take_indices(v, r, n, err);
    }
    if (v->takes_indices && v->n > 0) {
        OC_TRY(indices_to_bytes(v, r->dictionary, err));
    }
    v->takes_indices = false;
    return take_bytes(v, r, n, err);
}

static oc_status not_in_width(const oci_parquet_leaf_reader *r, oc_error *err)
{
    OC_SET(err, OC_EDATA, "a decimal has more digits than its column");
    return oci_parquet_leaf_reader_blame(r, OC_EDATA, err);
}

/* Big-endian numbers of any length each. */
static oc_status take_reversed_bytes(oci_parquet_values *v, oci_parquet_leaf_reader *r, int64_t n,
                                     oc_error *err)
{
    int64_t bytes;
    int64_t head = oci_round_up(n * 4, 64);
    OC_TRY(oci_parquet_block_grow(v->mem, &v->scratch, 0, head + SPARE_BYTES, err));
    int32_t *lengths = (int32_t *)(void *)v->scratch.data;
    OC_TRY(oci_parquet_decode_refs(&r->values, n, lengths, &bytes, err));
    OC_TRY(oci_parquet_block_grow(v->mem, &v->scratch, head, head + bytes + SPARE_BYTES, err));
    lengths = (int32_t *)(void *)v->scratch.data;
    uint8_t *at = v->scratch.data + head;
    OC_TRY(oci_parquet_decode_bytes(&r->values, n, lengths, at, v->scratch.bytes - head, err));
    for (int64_t i = 0; i < n; i++) {
        if (!oci_parquet_reverse(at, lengths[i], v->width, v->fixed.data + (v->n + i) * v->width)) {
            return not_in_width(r, err);
        }
        at += lengths[i];
    }
    return OC_OK;
}

/* Numbers that are converted, through the scratch block. */
static oc_status take_converted(oci_parquet_values *v, oci_parquet_leaf_reader *r, int64_t n,
                                oc_error *err)
{
    uint8_t *to = v->fixed.data + v->n * v->width;
    OC_TRY(oci_parquet_block_grow(v->mem, &v->scratch, 0, n * v->from_width + SPARE_BYTES, err));
    const uint8_t *from = v->scratch.data;
    OC_TRY(oci_parquet_decode_fixed(&r->values, n, v->scratch.data, err));
    if (v->form == OCI_PARQUET_FORM_NARROW) {
        oci_parquet_narrow(from, n, v->width, to);
    } else if (v->form == OCI_PARQUET_FORM_WIDEN) {
        oci_parquet_widen(from, v->from_width, n, v->width, to);
    } else if (v->form == OCI_PARQUET_FORM_INT96) {
        if (!oci_parquet_int96(from, n, to)) {
            OC_FAIL(
                err, OC_EUNSUPPORTED,
                "%s: column \"%s\": a timestamp of type INT96 is not between the years 1677 and "
                "2262, which nanoseconds can count",
                r->pages.file->name, r->leaf->path);
        }
    } else if (!oci_parquet_reverse_all(from, n, v->from_width, v->width, to)) {
        return not_in_width(r, err);
    }
    return OC_OK;
}

static oc_status take_null(const oci_parquet_leaf_reader *r, int64_t n, oc_error *err)
{
    if (n == 0) {
        return OC_OK;
    }
    OC_SET(err, OC_EDATA, "a column of nulls has a value");
    return oci_parquet_leaf_reader_blame(r, OC_EDATA, err);
}

static oc_status take(oci_parquet_values *v, oci_parquet_leaf_reader *r, int64_t n, oc_error *err)
{
    switch (v->form) {
    case OCI_PARQUET_FORM_NULL: return take_null(r, n, err);
    case OCI_PARQUET_FORM_BITS:
        return oci_parquet_decode_bits(&r->values, n, v->fixed.data, v->n, err);
    case OCI_PARQUET_FORM_SAME:
        return oci_parquet_decode_fixed(&r->values, n, v->fixed.data + v->n * v->width, err);
    case OCI_PARQUET_FORM_BYTES: return take_bytes(v, r, n, err);
    case OCI_PARQUET_FORM_DICTIONARY: return take_dictionary(v, r, n, err);
    case OCI_PARQUET_FORM_REVERSE_BYTES: return take_reversed_bytes(v, r, n, err);
    default: return take_converted(v, r, n, err);
    }
}

oc_status oci_parquet_values_take(oci_parquet_values *v, oci_parquet_leaf_reader *r, int64_t n,
                                  oc_error *err)
{
    if (n == 0) {
        return OC_OK;
    }
    if (v->form != OCI_PARQUET_FORM_NULL) {
        OC_TRY(make_room(v, n, err));
    }
    OC_TRY(oci_parquet_leaf_reader_blame(r, take(v, r, n, err), err));
    v->n += n;
    return OC_OK;
}

/* ---- columns --------------------------------------------------------------------------------- */

static oc_status finish_bits(oci_parquet_values *v, const uint8_t *validity, int64_t rows,
                             oci_column *out, oci_batch *batch, oc_error *err)
{
    if (validity != NULL) {
        oci_parquet_block spread = {.data = NULL};
        OC_TRY(oci_parquet_block_grow(v->mem, &spread, 0, oci_bytes_for_bits(rows) + 8, err));
        oci_parquet_spread_bits(v->fixed.data, validity, rows, spread.data);
        oci_parquet_block_free(v->mem, &v->fixed);
        v->fixed = spread;
    }
    out->values = v->fixed.data;
    return oci_parquet_keep_block(batch, v->mem, &v->fixed, err);
}

static oc_status finish_fixed(oci_parquet_values *v, const uint8_t *validity, int64_t rows,
                              oci_column *out, oci_batch *batch, oc_error *err)
{
    if (validity != NULL) {
        OC_TRY(
            oci_parquet_block_grow(v->mem, &v->fixed, v->n * v->width, rows * v->width + 8, err));
        oci_parquet_spread(v->fixed.data, v->width, validity, rows, v->n);
    }
    out->values = v->fixed.data;
    return oci_parquet_keep_block(batch, v->mem, &v->fixed, err);
}

/* Offsets from lengths; the bytes are there. */
static oc_status finish_bytes(oci_parquet_values *v, const oci_field *type, const uint8_t *validity,
                              int64_t rows, oci_column *out, oci_batch *batch, oc_error *err)
{
    int32_t width = oci_field_layout(type) == OCI_LAYOUT_OFFSETS64 ? 8 : 4;
    oci_parquet_block offsets = {.data = NULL};
    if (v->n > 0) {
        v->bytes_per_value = (double)v->n_bytes / (double)v->n;
    }
    OC_TRY(oci_parquet_block_grow(v->mem, &v->bytes, v->n_bytes, 8, err));
    OC_TRY(oci_parquet_block_grow(v->mem, &offsets, 0, (rows + 1) * width, err));
    oci_parquet_offsets((const int32_t *)(const void *)v->lengths.data, validity, rows, width,
                        offsets.data);
    oci_parquet_block_free(v->mem, &v->lengths);
    out->values = offsets.data;
    out->bytes = v->bytes.data;
    oc_status status = oci_parquet_keep_block(batch, v->mem, &offsets, err);
    return status == OC_OK ? oci_parquet_keep_block(batch, v->mem, &v->bytes, err) : status;
}

/* Indices at the start of `lengths` go to the valid rows. */
static oc_status spread_indices(oci_parquet_values *v, const uint8_t *validity, int64_t rows,
                                oci_column *out, oci_batch *batch, oc_error *err)
{
    OC_TRY(oci_parquet_block_grow(v->mem, &v->lengths, v->n * 4, rows * 4 + 8, err));
    if (validity != NULL) {
        oci_parquet_spread(v->lengths.data, 4, validity, rows, v->n);
    }
    out->values = v->lengths.data;
    return oci_parquet_keep_block(batch, v->mem, &v->lengths, err);
}

static oc_status finish_dictionary(oci_parquet_values *v, const uint8_t *validity, int64_t rows,
                                   oci_column *out, oci_column *space, oci_batch *batch,
                                   oc_error *err)
{
    const oci_field *type = v->field->dictionary;
    *space = (oci_column){.field = type, .null_count = 0};
    out->dictionary = space;
    if (v->takes_indices && v->dictionary_batch != NULL) {
        const oci_batch *shared = v->dictionary_batch;
        int32_t width = oci_field_layout(type) == OCI_LAYOUT_OFFSETS64 ? 8 : 4;
        space->length = shared->length;
        space->values = shared->slab;
        space->bytes = space->values + oci_round_up((shared->length + 1) * width, 8);
        OC_TRY(spread_indices(v, validity, rows, out, batch, err));
        return oci_batch_keep(batch, oci_batch_retain(v->dictionary_batch), err);
    }
    int64_t n = v->takes_indices ? 0 : v->n; /* no page at all: nothing but nulls */
    space->length = n;
    OC_TRY(finish_bytes(v, type, NULL, n, space, batch, err));
    v->n = n;
    OC_TRY(oci_parquet_block_grow(v->mem, &v->lengths, 0, rows * 4 + 8, err));
    int32_t *indices = (int32_t *)(void *)v->lengths.data;
    for (int64_t i = 0; i < n; i++) {
        indices[i] = (int32_t)i;
    }
    return spread_indices(v, validity, rows, out, batch, err);
}

oc_status oci_parquet_values_finish(oci_parquet_values *v, const uint8_t *validity, int64_t rows,
                                    oci_column *out, oci_column *space, oci_batch *batch,
                                    oc_error *err)
{
    oc_status status = OC_OK;
    *out = (oci_column){.field = v->field,
                        .length = rows,
                        .validity = validity,
                        .null_count = validity != NULL ? rows - v->n : 0};
    switch (v->form) {
    case OCI_PARQUET_FORM_NULL: out->validity = NULL; break;
    case OCI_PARQUET_FORM_BITS: status = finish_bits(v, validity, rows, out, batch, err); break;
    case OCI_PARQUET_FORM_BYTES:
        status = finish_bytes(v, v->field, validity, rows, out, batch, err);
        break;
    case OCI_PARQUET_FORM_DICTIONARY:
        status = finish_dictionary(v, validity, rows, out, space, batch, err);
        break;
    default: status = finish_fixed(v, validity, rows, out, batch, err); break;
    }
    drop_buffers(v);
    return status;
}
