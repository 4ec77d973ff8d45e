/* count, and sums and averages of integers, decimals and durations.
 *
 * Sums are kept in 128 bits for integers, which 2^64 values of 64 bits cannot pass, and in 256 bits for decimals,
 * of which 2^128 of 38 digits would have to come; so nothing overflows before the end, where the sum must fit its
 * type. State columns: the sum as decimal128(38, 0) or decimal256(76, scale), and for averages the count. The struct comes from malloc. */
#include <stdlib.h>
#include <string.h>

#include "ops/aggregate/aggregate_internal.h"

/* ---- count ----------------------------------------------------------------------------------- */

typedef struct count_aggregator {
    oci_aggregator base;    /* must be first */
    oci_state_store states; /* int64 */
} count_aggregator;

static oc_status count_reserve(oci_aggregator *self, int64_t n_groups,
                               const oci_column *const *args, const oci_column *state, int64_t n,
                               oc_error *err)
{
    (void)args, (void)state, (void)n, (void)err;
    return oci_state_store_reserve(&((count_aggregator *)self)->states, n_groups);
}

static oc_status count_update(oci_aggregator *self, const oci_column *const *args,
                              const uint32_t *groups, int64_t n, oc_error *err)
{
    (void)err;
    oci_state_store *states = &((count_aggregator *)self)->states;
    const oci_column *column = args[0];
    if (column == NULL || (oci_agg_is_plain(column) && oci_column_null_count(column) == 0 &&
                           oci_field_layout(column->field) != OCI_LAYOUT_SPARSE_UNION &&
                           oci_field_layout(column->field) != OCI_LAYOUT_DENSE_UNION)) {
        for (int64_t i = 0; i < n; i++) {
            if (groups[i] != OCI_GROUP_NONE) {
                ++*(int64_t *)oci_state_at(states, groups[i]);
            }
        }
        return OC_OK;
    }
    for (int64_t i = 0; i < n; i++) {
        if (groups[i] != OCI_GROUP_NONE && !oci_column_is_null(column, i)) {
            ++*(int64_t *)oci_state_at(states, groups[i]);
        }
    }
    return OC_OK;
}

static oc_status count_merge(oci_aggregator *self, const oci_column *state, const uint32_t *groups,
                             int64_t n, oc_error *err)
{
    (void)err;
    oci_state_store *states = &((count_aggregator *)self)->states;
    for (int64_t i = 0; i < n; i++) {
        *(int64_t *)oci_state_at(states, groups[i]) +=
            (int64_t)oci_load_le64(state->values + (state->offset + i) * 8);
    }
    return OC_OK;
}

static int64_t count_bytes(const oci_aggregator *self, const uint32_t *groups, int64_t n)
{
    (void)groups;
    return oci_agg_column_bytes(&self->result->fields[0], n, 0);
}

static oc_status write_counts(oci_aggregator *self, oci_schema *schema, const uint32_t *groups,
                              int64_t n, oci_batch **out, oc_error *err)
{
    oci_agg_writer writer;
    uint8_t *values;
    OC_TRY(oci_agg_writer_open(&writer, schema, self->mem, n, count_bytes(self, groups, n), err));
    (void)oci_agg_writer_column(&writer, 0, &values, NULL);
    for (int64_t i = 0; i < n; i++) {
        int64_t *count = oci_state_at(&((count_aggregator *)self)->states, groups[i]);
        oci_store_le64(values + i * 8, (uint64_t)*count);
    }
    return oci_agg_writer_finish(&writer, out, err);
}

static oc_status count_partial(oci_aggregator *self, const uint32_t *groups, int64_t n,
                               oci_batch **out, oc_error *err)
{
    return write_counts(self, self->states, groups, n, out, err);
}

static oc_status count_finish(oci_aggregator *self, const uint32_t *groups, int64_t n,
                              oci_batch **out, oc_error *err)
{
    return write_counts(self, self->result, groups, n, out, err);
}

static void count_keep(oci_aggregator *self, const uint32_t *kept, int64_t n)
{
    oci_state_store_keep(&((count_aggregator *)self)->states, kept, n);
}

static void count_clear(oci_aggregator *self)
{
    oci_state_store_clear(&((count_aggregator *)self)->states);
}

static void count_destroy(oci_aggregator *self)
{
    count_clear(self);
    oci_agg_deinit(self);
    free(self);
}

static const oci_aggregator_ops count_ops = {
    .reserve = count_reserve,
    .update = count_update,
    .merge = count_merge,
    .partial_bytes = count_bytes,
    .partial = count_partial,
    .finish_bytes = count_bytes,
    .finish = count_finish,
    .keep = count_keep,
    .clear = count_clear,
    .destroy = count_destroy,
};

oc_status oci_agg_create_count(const oci_aggregate *aggregate, const oci_schema *input,
                               oci_mem *mem, oci_aggregator **out, oc_error *err)
{
    count_aggregator *self = calloc(1, sizeof *self);
    if (self == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up an aggregate: out of memory");
    }
    oci_state_store_init(&self->states, sizeof(int64_t), mem);
    oci_field state = oci_agg_field(OCI_TYPE_INT64, 0, 0);
    oc_status status = oci_agg_init(&self->base, aggregate, input, &count_ops, mem, &state, 1, err);
    if (status != OC_OK) {
        count_destroy(&self->base);
        return status;
    }
    *out = &self->base;
    return OC_OK;
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* 256 bits, two's complement, lowest limb first. */
typedef struct wide {
    uint64_t limb[4];
} wide;

typedef struct sum_state {
    oci_int128 sum;
    int64_t count;
} sum_state;

typedef struct wide_state {
    wide sum;
    int64_t count;
} wide_state;

typedef struct sum_aggregator {
    oci_aggregator base; /* must be first */
    oci_state_store states;
    bool is_wide; /* wide_state */
    bool is_avg;
    int32_t scale; /* of the argument */
    oci_field arg; /* simple type of the values; nothing owned */
} sum_aggregator;

static wide wide_of(oci_int128 value)
{
    uint64_t sign = value < 0 ? UINT64_MAX : 0;
    return (wide){{(uint64_t)value, (uint64_t)((oci_uint128)value >> 64), sign, sign}};
}

static wide load_wide(const uint8_t *from)
{
    wide value;
    for (int k = 0; k < 4; k++) {
        value.limb[k] = oci_load_le64(from + 8 * k);
    }
    return value;
}

static void wide_add(wide *to, wide value)
{
    oci_uint128 carry = 0;
    for (int k = 0; k < 4; k++) {
        carry += (oci_uint128)to->limb[k] + value.limb[k];
        to->limb[k] = (uint64_t)carry;
        carry >>= 64;
    }
}

static bool wide_is_negative(const wide *value)
{
    return (value->limb[3] >> 63) != 0;
}

static wide wide_negated(wide value)
{
    wide one = {{1, 0, 0, 0}};
    for (int k = 0; k < 4; k++) {
        value.limb[k] = ~value.limb[k];
    }
    wide_add(&value, one);
    return value;
}

/* value *= factor; false when that passes 2^255. `value` is not negative. */
static bool wide_multiply(wide *value, uint64_t factor)
{
    oci_uint128 carry = 0;
    for (int k = 0; k < 4; k++) {
        carry += (oci_uint128)value->limb[k] * factor;
        value->limb[k] = (uint64_t)carry;
        carry >>= 64;
    }
    return carry == 0 && !wide_is_negative(value);
}

/* value /= divisor, which is not 0; the remainder. `value` is not negative. */
static uint64_t wide_divide(wide *value, uint64_t divisor)
{
    oci_uint128 rest = 0;
    for (int k = 3; k >= 0; k--) {
        rest = rest << 64 | value->limb[k];
        value->limb[k] = (uint64_t)(rest / divisor);
        rest %= divisor;
    }
    return (uint64_t)rest;
}

static wide power_of_ten(int32_t digits)
{
    wide value = {{1, 0, 0, 0}};
    for (int32_t i = 0; i < digits; i++) {
        (void)wide_multiply(&value, 10);
    }
    return value;
}

/* Whether a magnitude has at most so many digits. */
static bool wide_fits(const wide *magnitude, int32_t digits)
{
    wide limit = power_of_ten(digits);
    for (int k = 3; k >= 0; k--) {
        if (magnitude->limb[k] != limit.limb[k]) {
            return magnitude->limb[k] < limit.limb[k];
        }
    }
    return false;
}

static oci_int128 load_int128(const uint8_t *from)
{
    return (oci_int128)((oci_uint128)oci_load_le64(from + 8) << 64 | oci_load_le64(from));
}

static void store_int128(uint8_t *to, oci_int128 value)
{
    oci_store_le64(to, (uint64_t)value);
    oci_store_le64(to + 8, (uint64_t)((oci_uint128)value >> 64));
}

/* Value `at` of the argument as 256 bits. */
static wide load_decimal(const oci_field *field, const uint8_t *values, int64_t at)
{
    switch (field->type) {
    case OCI_TYPE_DECIMAL32: return wide_of((int32_t)oci_load_le32(values + at * 4));
    case OCI_TYPE_DECIMAL64: return wide_of((int64_t)oci_load_le64(values + at * 8));
    case OCI_TYPE_DECIMAL128: return wide_of(load_int128(values + at * 16));
    default: return load_wide(values + at * 32);
    }
}

static oc_status sum_reserve(oci_aggregator *self, int64_t n_groups, const oci_column *const *args,
                             const oci_column *state, int64_t n, oc_error *err)
{
    (void)args, (void)state, (void)n, (void)err;
    return oci_state_store_reserve(&((sum_aggregator *)self)->states, n_groups);
}

#define SUM_LOOP(ctype)                                                                          \
    for (int64_t i = 0; i < n; i++) {                                                            \
        const oci_column *leaf = column;                                                         \
        int64_t at = groups[i] == OCI_GROUP_NONE ? -1                                            \
                                                 : oci_agg_value_at(column, is_plain, i, &leaf); \
        if (at >= 0) {                                                                           \
            ctype value;                                                                         \
            memcpy(&value, leaf->values + at * (int64_t)sizeof value, sizeof value);             \
            sum_state *sum = oci_state_at(states, groups[i]);                                    \
            sum->sum += value;                                                                   \
            sum->count++;                                                                        \
        }                                                                                        \
    }                                                                                            \
    break

static void update_ints(sum_aggregator *self, const oci_column *column, const uint32_t *groups,
                        int64_t n)
{
    oci_state_store *states = &self->states;
    bool is_plain = oci_agg_is_plain(column);
    switch (self->arg.type) {
    case OCI_TYPE_INT8: SUM_LOOP(int8_t);
    case OCI_TYPE_INT16: SUM_LOOP(int16_t);
    case OCI_TYPE_INT32: SUM_LOOP(int32_t);
    case OCI_TYPE_UINT8: SUM_LOOP(uint8_t);
    case OCI_TYPE_UINT16: SUM_LOOP(uint16_t);
    case OCI_TYPE_UINT32: SUM_LOOP(uint32_t);
    case OCI_TYPE_UINT64: SUM_LOOP(uint64_t);
    case OCI_TYPE_NULL: break;
    default: SUM_LOOP(int64_t);
    }
}

static void update_decimals(sum_aggregator *self, const oci_column *column, const uint32_t *groups,
                            int64_t n)
{
    bool is_plain = oci_agg_is_plain(column);
    for (int64_t i = 0; i < n; i++) {
        const oci_column *leaf = column;
        int64_t at = groups[i] == OCI_GROUP_NONE ? -1
                                                 : oci_agg_value_at(column, is_plain, i, &leaf);
        if (at >= 0) {
            wide_state *state = oci_state_at(&self->states, groups[i]);
            wide_add(&state->sum, load_decimal(&self->arg, leaf->values, at));
            state->count++;
        }
    }
}

static oc_status sum_update(oci_aggregator *base, const oci_column *const *args,
                            const uint32_t *groups, int64_t n, oc_error *err)
{
    (void)err;
    sum_aggregator *self = (sum_aggregator *)base;
    if (self->is_wide) {
        update_decimals(self, args[0], groups, n);
    } else {
        update_ints(self, args[0], groups, n);
    }
    return OC_OK;
}

/* A state's count is kept for averages; a sum needs only to know whether there was a value. */
static oc_status sum_merge(oci_aggregator *base, const oci_column *state, const uint32_t *groups,
                           int64_t n, oc_error *err)
{
    (void)err;
    sum_aggregator *self = (sum_aggregator *)base;
    for (int64_t i = 0; i < n; i++) {
        if (oci_column_is_null(&state[0], i)) {
            continue;
        }
        int64_t count = 1;
        if (self->is_avg) {
            count = (int64_t)oci_load_le64(state[1].values + (state[1].offset + i) * 8);
        }
        int64_t at = state[0].offset + i;
        if (self->is_wide) {
            wide_state *sum = oci_state_at(&self->states, groups[i]);
            wide_add(&sum->sum, load_wide(state[0].values + at * 32));
            sum->count += count;
        } else {
            sum_state *sum = oci_state_at(&self->states, groups[i]);
            sum->sum += load_int128(state[0].values + at * 16);
            sum->count += count;
        }
    }
    return OC_OK;
}

static int64_t count_of(const sum_aggregator *self, uint32_t group)
{
    const void *state = oci_state_at(&self->states, group);
    return self->is_wide ? ((const wide_state *)state)->count : ((const sum_state *)state)->count;
}

static int64_t sum_partial_bytes(const oci_aggregator *self, const uint32_t *groups, int64_t n)
{
    (void)groups;
    int64_t bytes = 0;
    for (int32_t i = 0; i < self->states->n_fields; i++) {
        bytes += oci_agg_column_bytes(&self->states->fields[i], n, 0);
    }
    return bytes;
}

static oc_status sum_partial(oci_aggregator *base, const uint32_t *groups, int64_t n,
                             oci_batch **out, oc_error *err)
{
    sum_aggregator *self = (sum_aggregator *)base;
    oci_agg_writer writer;
    uint8_t *sums;
    uint8_t *counts = NULL;
    OC_TRY(oci_agg_writer_open(&writer, base->states, base->mem, n,
                               sum_partial_bytes(base, groups, n), err));
    oci_column *column = oci_agg_writer_column(&writer, 0, &sums, NULL);
    if (self->is_avg) {
        (void)oci_agg_writer_column(&writer, 0, &counts, NULL);
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t count = count_of(self, groups[i]);
        if (count == 0) {
            oci_agg_set_null(column, i);
        } else if (self->is_wide) {
            const wide_state *state = oci_state_at(&self->states, groups[i]);
            for (int k = 0; k < 4; k++) {
                oci_store_le64(sums + i * 32 + 8 * k, state->sum.limb[k]);
            }
        } else {
            store_int128(sums + i * 16, ((sum_state *)oci_state_at(&self->states, groups[i]))->sum);
        }
        if (counts != NULL) {
            oci_store_le64(counts + i * 8, (uint64_t)count);
        }
    }
    return oci_agg_writer_finish(&writer, out, err);
}

static int64_t sum_finish_bytes(const oci_aggregator *self, const uint32_t *groups, int64_t n)
{
    (void)groups;
    return oci_agg_column_bytes(&self->result->fields[0], n, 0);
}

static oc_status overflow(const sum_aggregator *self, oc_error *err)
{
    char type[64];
    oci_field_type_text(&self->base.result->fields[0], type, sizeof type);
    OC_FAIL(err, OC_EINVAL, "%s is out of range: it does not fit %s",
            self->is_avg ? "an average" : "a sum", type);
}

/* Divides by the count, at the scale of the result, rounding half away from zero. */
static bool average(const sum_aggregator *self, wide *magnitude, int64_t count)
{
    for (int32_t i = self->scale; i < self->base.result->fields[0].scale; i++) {
        if (!wide_multiply(magnitude, 10)) {
            return false;
        }
    }
    uint64_t divisor = (uint64_t)count;
    uint64_t rest = wide_divide(magnitude, divisor);
    if (rest >= divisor - rest) {
        wide one = {{1, 0, 0, 0}};
        wide_add(magnitude, one);
    }
    return true;
}

static oc_status finish_decimal(const sum_aggregator *self, wide sum, int64_t count, uint8_t *to,
                                oc_error *err)
{
    bool negative = wide_is_negative(&sum);
    wide magnitude = negative ? wide_negated(sum) : sum;
    if (self->is_avg && !average(self, &magnitude, count)) {
        return overflow(self, err);
    }
    if (!wide_fits(&magnitude, self->base.result->fields[0].precision)) {
        return overflow(self, err);
    }
    wide value = negative ? wide_negated(magnitude) : magnitude;
    for (int32_t k = 0; k < self->base.result->fields[0].byte_width / 8; k++) {
        oci_store_le64(to + 8 * k, value.limb[k]);
    }
    return OC_OK;
}

/* The quotient as the nearest double: the whole part has at most 64 bits, as the sum of n numbers of 64 bits. */
static double exact_quotient(oci_int128 sum, int64_t count)
{
    oci_int128 whole = sum / count;
    double rest = (double)(int64_t)(sum % count) / (double)count;
    return (double)whole + rest;
}

static oc_status finish_int(const sum_aggregator *self, const sum_state *state, uint8_t *to,
                            oc_error *err)
{
    switch (self->base.result->fields[0].type) {
    case OCI_TYPE_FLOAT64: {
        double value = exact_quotient(state->sum, state->count);
        memcpy(to, &value, sizeof value);
        return OC_OK;
    }
    case OCI_TYPE_DECIMAL128: {
        wide sum = wide_of(state->sum);
        return finish_decimal(self, sum, state->count, to, err);
    }
    default: break;
    }
    oci_int128 value = self->is_avg ? state->sum / state->count : state->sum;
    if (value > INT64_MAX || value < INT64_MIN) {
        return overflow(self, err);
    }
    oci_store_le64(to, (uint64_t)(int64_t)value);
    return OC_OK;
}

static oc_status finish_values(const sum_aggregator *self, const uint32_t *groups, int64_t n,
                               oci_column *out, uint8_t *values, oc_error *err)
{
    int64_t width = self->base.result->fields[0].byte_width;
    for (int64_t i = 0; i < n; i++) {
        int64_t count = count_of(self, groups[i]);
        const void *state = oci_state_at(&self->states, groups[i]);
        if (count == 0) {
            oci_agg_set_null(out, i);
        } else if (self->is_wide) {
            OC_TRY(finish_decimal(self, ((const wide_state *)state)->sum, count, values + i * width,
                                  err));
        } else {
            OC_TRY(finish_int(self, state, values + i * width, err));
        }
    }
    return OC_OK;
}

static oc_status sum_finish(oci_aggregator *base, const uint32_t *groups, int64_t n,
                            oci_batch **out, oc_error *err)
{
    oci_agg_writer writer;
    uint8_t *values;
    OC_TRY(oci_agg_writer_open(&writer, base->result, base->mem, n,
                               sum_finish_bytes(base, groups, n), err));
    oci_column *column = oci_agg_writer_column(&writer, 0, &values, NULL);
    oc_status status = finish_values((sum_aggregator *)base, groups, n, column, values, err);
    if (status != OC_OK) {
        oci_agg_writer_abandon(&writer);
        return status;
    }
    return oci_agg_writer_finish(&writer, out, err);
}

static void sum_keep(oci_aggregator *self, const uint32_t *kept, int64_t n)
{
    oci_state_store_keep(&((sum_aggregator *)self)->states, kept, n);
}

static void sum_clear(oci_aggregator *self)
{
    oci_state_store_clear(&((sum_aggregator *)self)->states);
}

static void sum_destroy(oci_aggregator *self)
{
    sum_clear(self);
    oci_agg_deinit(self);
    free(self);
}

static const oci_aggregator_ops sum_ops = {
    .reserve = sum_reserve,
    .update = sum_update,
    .merge = sum_merge,
    .partial_bytes = sum_partial_bytes,
    .partial = sum_partial,
    .finish_bytes = sum_finish_bytes,
    .finish = sum_finish,
    .keep = sum_keep,
    .clear = sum_clear,
    .destroy = sum_destroy,
};

oc_status oci_agg_create_sum(const oci_aggregate *aggregate, const oci_schema *input, oci_mem *mem,
                             oci_aggregator **out, oc_error *err)
{
    sum_aggregator *self = calloc(1, sizeof *self);
    if (self == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up an aggregate: out of memory");
    }
    const oci_field *arg = oci_agg_value_field(&input->fields[aggregate->args[0]]);
    self->arg = oci_agg_field(arg->type, arg->precision, arg->scale);
    self->is_wide = arg->type >= OCI_TYPE_DECIMAL32 && arg->type <= OCI_TYPE_DECIMAL256;
    self->is_avg = aggregate->kind == OCI_AGG_AVG;
    self->scale = arg->scale;
    oci_state_store_init(&self->states,
                         self->is_wide ? (int64_t)sizeof(wide_state) : (int64_t)sizeof(sum_state),
                         mem);
    oci_field states[2] = {self->is_wide ? oci_agg_field(OCI_TYPE_DECIMAL256, 76, arg->scale)
                                         : oci_agg_field(OCI_TYPE_DECIMAL128, 38, 0),
                           oci_agg_field(OCI_TYPE_INT64, 0, 0)};
    oc_status status = oci_agg_init(&self->base, aggregate, input, &sum_ops, mem, states,
                                    self->is_avg ? 2 : 1, err);
    if (status != OC_OK) {
        sum_destroy(&self->base);
        return status;
    }
    *out = &self->base;
    return OC_OK;
}
