/* approx_count_distinct: HyperLogLog (Flajolet, Fusy, Gandouet, Meunier, "HyperLogLog: the analysis of a near-optimal
 * cardinality estimation algorithm", 2007) over 2^12 registers: a standard error of 1.6%, with linear counting for
 * small numbers. Registers take the maximum, so order and merging do not matter. Values are told apart as grouping
 * tells them apart. State column: the registers, empty when no value came. The struct comes from malloc. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "ops/aggregate/aggregate_internal.h"

enum { REGISTER_BITS = 12, REGISTERS = 1 << REGISTER_BITS };

typedef struct approx {
    oci_aggregator base; /* must be first */
    oci_schema *arg_schema;
    oci_state_store states; /* registers */
    oci_row_keys keys;      /* of the rows that update() will get */
} approx;

static const oci_sort_key only_key = {.column = 0};

static oc_status approx_reserve(oci_aggregator *base, int64_t n_groups,
                                const oci_column *const *args, const oci_column *state, int64_t n,
                                oc_error *err)
{
    approx *self = (approx *)base;
    oci_row_keys_deinit(&self->keys);
    OC_TRY(oci_state_store_reserve(&self->states, n_groups));
    if (n == 0 || state != NULL) {
        return OC_OK;
    }
    oci_column copy = *args[0];
    copy.field = &self->arg_schema->fields[0];
    oci_batch batch = {.schema = self->arg_schema, .length = n, .columns = &copy};
    return oci_row_keys_encode(&batch, &only_key, 1, base->mem, NULL, &self->keys, err);
}

static oc_status approx_update(oci_aggregator *base, const oci_column *const *args,
                               const uint32_t *groups, int64_t n, oc_error *err)
{
    (void)args, (void)err;
    approx *self = (approx *)base;
    for (int64_t i = 0; i < n; i++) {
        int64_t size;
        const uint8_t *key = oci_row_key_at(&self->keys, i, &size);
        if (groups[i] == OCI_GROUP_NONE || key[0] != 0x01) {
            continue; /* 0x01 is the first byte of every value */
        }
        uint64_t hash = oci_hash64(key, size, 0);
        uint8_t *registers = oci_state_at(&self->states, groups[i]);
        uint64_t rest = hash << REGISTER_BITS | UINT64_C(1) << (REGISTER_BITS - 1);
        uint8_t rank = (uint8_t)(1 + __builtin_clzll(rest));
        uint8_t *at = &registers[hash >> (64 - REGISTER_BITS)];
        *at = rank > *at ? rank : *at;
    }
    oci_row_keys_deinit(&self->keys);
    return OC_OK;
}

static oc_status approx_merge(oci_aggregator *base, const oci_column *state, const uint32_t *groups,
                              int64_t n, oc_error *err)
{
    approx *self = (approx *)base;
    for (int64_t i = 0; i < n; i++) {
        int64_t size;
        const uint8_t *from = oci_column_bytes_at(state, i, &size);
        if (size != 0 && size != REGISTERS) {
            OC_FAIL(err, OC_EDATA, "a spilled estimate is damaged");
        }
        uint8_t *registers = oci_state_at(&self->states, groups[i]);
        for (int64_t k = 0; k < size; k++) {
            registers[k] = from[k] > registers[k] ? from[k] : registers[k];
        }
    }
    return OC_OK;
}

static int64_t approx_partial_bytes(const oci_aggregator *self, const uint32_t *groups, int64_t n)
{
    (void)groups;
    return oci_agg_column_bytes(&self->states->fields[0], n, n * REGISTERS);
}

static oc_status approx_partial(oci_aggregator *base, const uint32_t *groups, int64_t n,
                                oci_batch **out, oc_error *err)
{
    approx *self = (approx *)base;
    oci_agg_writer writer;
    uint8_t *offsets;
    uint8_t *text;
    OC_TRY(oci_agg_writer_open(&writer, base->states, base->mem, n,
                               approx_partial_bytes(base, groups, n), err));
    (void)oci_agg_writer_column(&writer, n * REGISTERS, &offsets, &text);
    for (int64_t i = 0; i < n; i++) {
        memcpy(text + i * REGISTERS, oci_state_at(&self->states, groups[i]), REGISTERS);
        oci_store_le32(offsets + (i + 1) * 4, (uint32_t)((i + 1) * REGISTERS));
    }
    return oci_agg_writer_finish(&writer, out, err);
}

static int64_t estimate(const uint8_t *registers)
{
    double sum = 0;
    int64_t zeros = 0;
    for (int i = 0; i < REGISTERS; i++) {
        sum += ldexp(1, -registers[i]);
        zeros += registers[i] == 0;
    }
    double m = REGISTERS;
    double raw = 0.7213 / (1 + 1.079 / m) * m * m / sum;
    if (raw <= 2.5 * m && zeros > 0) {
        raw = m * log(m / (double)zeros);
    }
    return llround(raw);
}

static int64_t approx_finish_bytes(const oci_aggregator *self, const uint32_t *groups, int64_t n)
{
    (void)groups;
    return oci_agg_column_bytes(&self->result->fields[0], n, 0);
}

static oc_status approx_finish(oci_aggregator *base, const uint32_t *groups, int64_t n,
                               oci_batch **out, oc_error *err)
{
    approx *self = (approx *)base;
    oci_agg_writer writer;
    uint8_t *values;
    OC_TRY(oci_agg_writer_open(&writer, base->result, base->mem, n,
                               approx_finish_bytes(base, groups, n), err));
    (void)oci_agg_writer_column(&writer, 0, &values, NULL);
    for (int64_t i = 0; i < n; i++) {
        oci_store_le64(values + i * 8, (uint64_t)estimate(oci_state_at(&self->states, groups[i])));
    }
    return oci_agg_writer_finish(&writer, out, err);
}

static void approx_keep(oci_aggregator *self, const uint32_t *kept, int64_t n)
{
    oci_state_store_keep(&((approx *)self)->states, kept, n);
}

static void approx_clear(oci_aggregator *self)
{
    oci_row_keys_deinit(&((approx *)self)->keys);
    oci_state_store_clear(&((approx *)self)->states);
}

static void approx_destroy(oci_aggregator *self)
{
    approx_clear(self);
    oci_schema_release(((approx *)self)->arg_schema);
    oci_agg_deinit(self);
    free(self);
}

static const oci_aggregator_ops approx_ops = {
    .reserve = approx_reserve,
    .update = approx_update,
    .merge = approx_merge,
    .partial_bytes = approx_partial_bytes,
    .partial = approx_partial,
    .finish_bytes = approx_finish_bytes,
    .finish = approx_finish,
    .keep = approx_keep,
    .clear = approx_clear,
    .destroy = approx_destroy,
};

oc_status oci_agg_create_approx(const oci_aggregate *aggregate, const oci_schema *input,
                                oci_mem *mem, oci_aggregator **out, oc_error *err)
{
    approx *self = calloc(1, sizeof *self);
    if (self == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up an aggregate: out of memory");
    }
    oci_state_store_init(&self->states, REGISTERS, mem);
    oci_field state = oci_agg_field(OCI_TYPE_BINARY, 0, 0);
    oc_status status = oci_schema_select(input, aggregate->args, 1, &self->arg_schema, err);
    if (status == OC_OK) {
        status = oci_row_key_check(self->arg_schema, &only_key, 1, err);
    }
    if (status == OC_OK) {
        status = oci_agg_init(&self->base, aggregate, input, &approx_ops, mem, &state, 1, err);
    }
    if (status != OC_OK) {
        approx_destroy(&self->base);
        return status;
    }
    *out = &self->base;
    return OC_OK;
}
