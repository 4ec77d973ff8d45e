/* bool_and, bool_or, bit_and, bit_or, bit_xor: one word of bits per group. A state column has the value so far, null
 * where there was none. The struct comes from malloc. */
#include <stdlib.h>
#include <string.h>

#include "ops/aggregate/aggregate_internal.h"

typedef struct bits_state {
    uint64_t bits;
    uint64_t has_value;
} bits_state;

typedef struct bits_aggregator {
    oci_aggregator base; /* must be first */
    oci_aggregate_kind kind;
    oci_state_store states;
} bits_aggregator;

static oc_status bits_reserve(oci_aggregator *self, int64_t n_groups, const oci_column *const *args,
                              const oci_column *state, int64_t n, oc_error *err)
{
    (void)args, (void)state, (void)n, (void)err;
    return oci_state_store_reserve(&((bits_aggregator *)self)->states, n_groups);
}

static void add_bits(oci_aggregate_kind kind, bits_state *state, uint64_t bits)
{
    if (!state->has_value) {
        *state = (bits_state){bits, 1};
        return;
    }
    switch (kind) {
    case OCI_AGG_BOOL_AND:
    case OCI_AGG_BIT_AND: state->bits &= bits; break;
    case OCI_AGG_BIT_XOR: state->bits ^= bits; break;
    default: state->bits |= bits; break;
    }
}

static void add_column(bits_aggregator *self, const oci_column *column, const uint32_t *groups,
                       int64_t n)
{
    bool is_plain = oci_agg_is_plain(column);
    for (int64_t i = 0; i < n; i++) {
        const oci_column *leaf = column;
        int64_t at = groups[i] == OCI_GROUP_NONE ? -1
                                                 : oci_agg_value_at(column, is_plain, i, &leaf);
        if (at >= 0 && leaf->field->type != OCI_TYPE_NULL) {
            add_bits(self->kind, oci_state_at(&self->states, groups[i]),
                     (uint64_t)oci_agg_load_int(leaf->field, leaf->values, at));
        }
    }
}

static oc_status bits_update(oci_aggregator *self, const oci_column *const *args,
                             const uint32_t *groups, int64_t n, oc_error *err)
{
    (void)err;
    add_column((bits_aggregator *)self, args[0], groups, n);
    return OC_OK;
}

static oc_status bits_merge(oci_aggregator *self, const oci_column *state, const uint32_t *groups,
                            int64_t n, oc_error *err)
{
    (void)err;
    add_column((bits_aggregator *)self, state, groups, n);
    return OC_OK;
}

static int64_t bits_bytes(const oci_aggregator *self, const uint32_t *groups, int64_t n)
{
    (void)groups;
    return oci_agg_column_bytes(&self->result->fields[0], n, 0);
}

static oc_status write_bits(oci_aggregator *base, oci_schema *schema, const uint32_t *groups,
                            int64_t n, oci_batch **out, oc_error *err)
{
    bits_aggregator *self = (bits_aggregator *)base;
    oci_agg_writer writer;
    uint8_t *values;
    int64_t width = schema->fields[0].byte_width;
    OC_TRY(oci_agg_writer_open(&writer, schema, base->mem, n, bits_bytes(base, groups, n), err));
    oci_column *column = oci_agg_writer_column(&writer, 0, &values, NULL);
    for (int64_t i = 0; i < n; i++) {
        const bits_state *state = oci_state_at(&self->states, groups[i]);
        if (!state->has_value) {
            oci_agg_set_null(column, i);
        } else if (schema->fields[0].type == OCI_TYPE_BOOL) {
            oci_bit_put(values, i, (state->bits & 1) != 0);
        }
        for (int64_t k = 0; k < width; k++) {
            values[i * width + k] = (uint8_t)(state->bits >> (8 * k));
        }
    }
    return oci_agg_writer_finish(&writer, out, err);
}

static oc_status bits_partial(oci_aggregator *self, const uint32_t *groups, int64_t n,
                              oci_batch **out, oc_error *err)
{
    return write_bits(self, self->states, groups, n, out, err);
}

static oc_status bits_finish(oci_aggregator *self, const uint32_t *groups, int64_t n,
                             oci_batch **out, oc_error *err)
{
    return write_bits(self, self->result, groups, n, out, err);
}

static void bits_keep(oci_aggregator *self, const uint32_t *kept, int64_t n)
{
    oci_state_store_keep(&((bits_aggregator *)self)->states, kept, n);
}

static void bits_clear(oci_aggregator *self)
{
    oci_state_store_clear(&((bits_aggregator *)self)->states);
}

static void bits_destroy(oci_aggregator *self)
{
    bits_clear(self);
    oci_agg_deinit(self);
    free(self);
}

static const oci_aggregator_ops bits_ops = {
    .reserve = bits_reserve,
    .update = bits_update,
    .merge = bits_merge,
    .partial_bytes = bits_bytes,
    .partial = bits_partial,
    .finish_bytes = bits_bytes,
    .finish = bits_finish,
    .keep = bits_keep,
    .clear = bits_clear,
    .destroy = bits_destroy,
};

oc_status oci_agg_create_bits(const oci_aggregate *aggregate, const oci_schema *input, oci_mem *mem,
                              oci_aggregator **out, oc_error *err)
{
    bits_aggregator *self = calloc(1, sizeof *self);
    if (self == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up an aggregate: out of memory");
    }
    self->kind = aggregate->kind;
    oci_state_store_init(&self->states, sizeof(bits_state), mem);
    const oci_field *arg = oci_agg_value_field(&input->fields[aggregate->args[0]]);
    bool is_bool = aggregate->kind == OCI_AGG_BOOL_AND || aggregate->kind == OCI_AGG_BOOL_OR;
    oci_field state = oci_agg_field(is_bool ? OCI_TYPE_BOOL : arg->type, 0, 0);
    oc_status status = oci_agg_init(&self->base, aggregate, input, &bits_ops, mem, &state, 1, err);
    if (status != OC_OK) {
        bits_destroy(&self->base);
        return status;
    }
    *out = &self->base;
    return OC_OK;
}
