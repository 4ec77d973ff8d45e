/* Packed columns: the public calls, and how much room a column needs.
 *
 *   column -- pack_node.c: validity -- pack_fixed.c       integers, decimals, floating point
 *                                   |  string_vector.h    strings
 *                                   |  pack_dictionary.c  indices and used values
 *                                   '- pack_nested.c      lengths, type ids, runs; then children
 *
 * and back through unpack_*.c. A packer holds the plans of all nodes, depth first: malloc'ed, as they
 * grow with the schema. Memory that grows with rows is scratch of strings and of dictionaries, one
 * node's at a time. */
#include "encoding/packed_column.h"

#include <stdlib.h>

#include "encoding/pack_internal.h"
#include "encoding/unpack_internal.h"

struct oci_packer {
    oci_schema *schema;
    int64_t *first_plan; /* of each field */
    oci_pack_plan *plans;
    int64_t n_plans;
};

static int64_t count_nodes(const oci_field *field)
{
    int64_t n = 1;
    if (field->dictionary != NULL) {
        n += count_nodes(field->dictionary);
    }
    for (int32_t i = 0; i < field->n_children; i++) {
        n += count_nodes(&field->children[i]);
    }
    return n;
}

oc_status oci_packer_create(oci_schema *schema, oci_packer **out, oc_error *err)
{
    oci_packer *packer = calloc(1, sizeof *packer);
    *out = NULL;
    if (packer == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while making a packer of columns");
    }
    packer->schema = oci_schema_retain(schema);
    packer->first_plan = calloc((size_t)schema->n_fields + 1, sizeof *packer->first_plan);
    if (packer->first_plan != NULL) {
        for (int32_t i = 0; i < schema->n_fields; i++) {
            packer->first_plan[i] = packer->n_plans;
            packer->n_plans += count_nodes(&schema->fields[i]);
        }
        packer->plans = calloc((size_t)packer->n_plans + 1, sizeof *packer->plans);
    }
    if (packer->plans == NULL) {
        oci_packer_destroy(packer);
        OC_FAIL(err, OC_ENOMEM, "out of memory while making a packer of columns");
    }
    *out = packer;
    return OC_OK;
}

void oci_packer_destroy(oci_packer *packer)
{
    if (packer == NULL) {
        return;
    }
    oci_schema_release(packer->schema);
    free(packer->first_plan);
    free(packer->plans);
    free(packer);
}

const oci_schema *oci_packer_schema(const oci_packer *packer)
{
    return packer->schema;
}

oc_status oci_pack_column(oci_packer *packer, int32_t i, const oci_column *column,
                          oci_reservation *from, oci_pack_out *out, oc_error *err)
{
    oci_pack_job job = {.out = out, .plan = packer->plans + packer->first_plan[i], .from = from};
    oc_status status = oci_pack_node(&job, column, err);
    if (status != OC_OK) {
        oci_error_prefix(err, "could not pack column \"%.80s\"", packer->schema->fields[i].name);
    }
    return status;
}

/* ---- back ------------------------------------------------------------------------------------ */

static int64_t extra_bytes(const oci_field *field)
{
    int64_t bytes = 0;
    if (oci_field_layout(field) == OCI_LAYOUT_VIEWS) {
        bytes += (int64_t)(sizeof(uint8_t *) + sizeof(int64_t));
    }
    if (field->dictionary != NULL) {
        bytes += (int64_t)sizeof(oci_column) + extra_bytes(field->dictionary);
    }
    for (int32_t i = 0; i < field->n_children; i++) {
        bytes += (int64_t)sizeof(oci_column) + extra_bytes(&field->children[i]);
    }
    return bytes;
}

int64_t oci_unpack_extra_bytes(const oci_schema *schema)
{
    int64_t bytes = 0;
    for (int32_t i = 0; i < schema->n_fields; i++) {
        bytes += extra_bytes(&schema->fields[i]);
    }
    return bytes;
}

static oc_status unpack(oci_unpack_job *job, const oci_field *field, int64_t rows,
                        oci_column *column, oc_error *err)
{
    oc_status status = oci_unpack_check_rows(rows, err);
    if (status == OC_OK) {
        status = oci_unpack_node(job, field, rows, column, err);
    }
    if (status != OC_OK) {
        oci_error_prefix(err, "packed column \"%.80s\" is damaged", field->name);
    }
    return status;
}

oc_status oci_unpack_measure(const oci_field *field, int64_t rows, const oci_pack_in *in,
                             int64_t *slab_bytes, oc_error *err)
{
    oci_pack_in copy = *in;
    oci_unpack_job job = {.in = &copy};
    oci_column ignored = {0};
    OC_TRY(unpack(&job, field, rows, &ignored, err));
    *slab_bytes = job.slab_bytes;
    return OC_OK;
}

oc_status oci_unpack_column(const oci_field *field, int64_t rows, oci_pack_in *in,
                            oci_unpack_out *out, oci_column *column, oc_error *err)
{
    oci_unpack_job job = {.in = in, .out = out};
    OC_TRY(unpack(&job, field, rows, column, err));
    if (in->packed_at != in->packed_size || in->bytes_at != in->bytes_size) {
        OC_FAIL(err, OC_EDATA,
                "packed column \"%.80s\" is damaged: %" PRId64 " bytes lie behind its end",
                field->name, in->packed_size - in->packed_at + in->bytes_size - in->bytes_at);
    }
    return OC_OK;
}
