/* Packed columns: the node of a column and what every layout begins with.
 *
 * Nodes are written depth first. Each takes the next plan of the job, so plans and nodes go through
 * the type tree in the same order, whatever the data. */
#include <assert.h>
#include <string.h>

#include "base/bits.h"
#include "encoding/pack_internal.h"

void oci_pack_word(oci_pack_job *job, int64_t value)
{
    oci_store_le64(job->out->packed + job->out->packed_at, (uint64_t)value);
    job->out->packed_at += 8;
}

void oci_pack_ints(oci_pack_job *job, const oci_int_source *source, int width, oci_int_plan *plan)
{
    uint8_t *to = job->out->packed + job->out->packed_at;
    job->out->packed_at += oci_int_vector_encode(source, width, plan, to);
}

/* ---- bitmaps --------------------------------------------------------------------------------- */

typedef struct bit_source {
    const uint8_t *bits;
    int64_t offset;
    int64_t n;
} bit_source;

/* The last word is filled up with zeros. */
static void bit_page(const void *arg, int64_t start, int64_t n, uint64_t *out)
{
    const bit_source *source = arg;
    for (int64_t i = 0; i < n; i++) {
        int64_t bit = (start + i) * 64;
        int count = (int)oci_min64(64, source->n - bit);
        out[i] = oci_bits_load(source->bits, source->offset + bit, count);
    }
}

void oci_pack_bits(oci_pack_job *job, const uint8_t *bits, int64_t offset, int64_t n,
                   oci_int_plan *plan)
{
    bit_source source = {.bits = bits, .offset = offset, .n = n};
    oci_int_source words = {.page = bit_page, .arg = &source, .n = (n + 63) / 64};
    oci_pack_ints(job, &words, 8, plan);
}

uint8_t *oci_pack_validity(oci_pack_job *job, oci_pack_plan *plan, const oci_column *column,
                           int64_t *n_valid)
{
    uint8_t *header = job->out->packed + job->out->packed_at;
    int64_t nulls = oci_column_null_count(column);
    memset(header, 0, OCI_NODE_BYTES);
    job->out->packed_at += OCI_NODE_BYTES;
    if (nulls == 0) {
        header[0] = OCI_NODE_ALL_VALID;
    } else if (nulls == column->length) {
        header[0] = OCI_NODE_ALL_NULL;
    } else {
        header[0] = OCI_NODE_BITMAP;
        oci_pack_word(job, nulls);
        oci_pack_bits(job, column->validity, column->offset, column->length, &plan->bitmap);
    }
    *n_valid = column->length - nulls;
    return header;
}

/* ---- leaves ---------------------------------------------------------------------------------- */

static oc_status pack_strings(oci_pack_job *job, oci_pack_plan *plan, const oci_column *column,
                              oc_error *err)
{
    oci_string_scratch *scratch = NULL;
    OC_TRY(oci_string_scratch_create(column->length, job->from, &scratch, err));
    oci_strings_encode(column, &plan->strings, scratch, job->out);
    oci_string_scratch_destroy(scratch, job->from);
    return OC_OK;
}

oc_status oci_pack_node(oci_pack_job *job, const oci_column *column, oc_error *err)
{
    oci_pack_plan *plan = job->plan++;
    const oci_field *field = column->field;
    int64_t n_valid = 0;
    uint8_t *header = oci_pack_validity(job, plan, column, &n_valid);
    assert(job->out->packed_at % OCI_PACK_ALIGN == 0);
    switch (oci_field_layout(field)) {
    case OCI_LAYOUT_NULL: return OC_OK;
    case OCI_LAYOUT_BITS:
        if (n_valid > 0) {
            oci_pack_bits(job, column->values, column->offset, column->length, &plan->numbers[0]);
        }
        return OC_OK;
    case OCI_LAYOUT_DICTIONARY: return oci_pack_dictionary(job, plan, column, n_valid, err);
    case OCI_LAYOUT_FIXED:
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64:
    case OCI_LAYOUT_VIEWS:
        if (n_valid == 0 || oci_field_is_empty(field)) {
            return OC_OK;
        }
        if (oci_field_is_strings(field)) {
            return pack_strings(job, plan, column, err);
        }
        oci_pack_fixed(job, plan, column, n_valid, header);
        return OC_OK;
    default: return oci_pack_nested(job, plan, column, header, err);
    }
}
