/* min and max of every type that has an order, by normalised keys (arrow/row_key.h): one byte string per value whose
 * memcmp order is that of the values, so one piece of code serves numbers, strings, lists and structs, however they
 * are laid out.
 *
 * reserve() encodes the keys of the batch; update() compares and copies. Keys of up to INLINE_BYTES lie in the state,
 * longer ones in a byte store. State column: the value. The struct comes from malloc. */
#include <stdlib.h>
#include <string.h>

#include "ops/aggregate/aggregate_internal.h"
#include "ops/aggregate/byte_store.h"

#define INLINE_BYTES 20

typedef struct extreme_state {
    uint32_t size; /* 0 = no value yet: every key has a byte at least */
    union {
        uint8_t inlined[INLINE_BYTES];
        oci_byte_ref far; /* in the store */
    };
} extreme_state;

typedef struct extreme {
    oci_aggregator base; /* must be first */
    bool is_max;
    oci_schema *arg_schema;     /* the argument, alone */
    oci_schema *decoded_schema; /* the value */
    oci_state_store states;
    oci_row_keys keys; /* of the rows that update() will get; length 0 = none */
    oci_byte_store bytes;
} extreme;

static const oci_sort_key only_key = {.column = 0};

/* ---- the store of long keys ------------------------------------------------------------------ */

static bool is_far(const extreme_state *state)
{
    return state->size > INLINE_BYTES;
}

static const uint8_t *key_of(const extreme *self, const extreme_state *state)
{
    return is_far(state) ? oci_byte_store_at(&self->bytes, state->far) : state->inlined;
}

static void far_moved(void *owner, uint32_t group, oci_byte_ref ref)
{
    extreme *self = owner;
    extreme_state *state = oci_state_at(&self->states, group);
    state->far = ref;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void drop_keys(extreme *self)
{
    oci_row_keys_deinit(&self->keys);
}

static oc_status encode_keys(extreme *self, oci_schema *schema, const oci_column *column,
                             oc_error *err)
{
    oci_column copy = *column;
    copy.field = &schema->fields[0];
    oci_batch batch = {.schema = schema, .length = column->length, .columns = &copy};
    return oci_row_keys_encode(&batch, &only_key, 1, self->base.mem, NULL, &self->keys, err);
}

/* Room for the long ones of the keys. */
static oc_status reserve_bytes(extreme *self)
{
    int64_t bytes = 0;
    int64_t n = 0;
    for (int64_t i = 0; i < self->keys.length; i++) {
        int64_t size;
        (void)oci_row_key_at(&self->keys, i, &size);
        bytes += size > INLINE_BYTES ? size : 0;
        n += size > INLINE_BYTES;
    }
    return oci_byte_store_reserve(&self->bytes, n, bytes, far_moved, self);
}

static oc_status extreme_reserve(oci_aggregator *base, int64_t n_groups,
                                 const oci_column *const *args, const oci_column *state, int64_t n,
                                 oc_error *err)
{
    extreme *self = (extreme *)base;
    drop_keys(self);
    OC_TRY(oci_state_store_reserve(&self->states, n_groups));
    if (n == 0) {
        return OC_OK;
    }
    OC_TRY(encode_keys(self, state != NULL ? self->decoded_schema : self->arg_schema,
                       state != NULL ? state : args[0], err));
    oc_status status = reserve_bytes(self);
    if (status != OC_OK) {
        drop_keys(self);
    }
    return status;
}

static int compare(const uint8_t *a, int64_t a_size, const uint8_t *b, int64_t b_size)
{
    int64_t common = a_size < b_size ? a_size : b_size;
    int order = memcmp(a, b, (size_t)common);
    return order != 0 ? order : (a_size > b_size) - (a_size < b_size);
}

static void take_key(extreme *self, extreme_state *state, uint32_t group, const uint8_t *key,
                     int64_t size)
{
    if (is_far(state)) {
        oci_byte_store_drop(&self->bytes, state->far);
    }
    if (size <= INLINE_BYTES) {
        memcpy(state->inlined, key, (size_t)size);
    } else {
        state->far = oci_byte_store_add(&self->bytes, group, key, size);
    }
    state->size = (uint32_t)size;
}

static void add_keys(extreme *self, const uint32_t *groups, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t size;
        const uint8_t *key = oci_row_key_at(&self->keys, i, &size);
        if (groups[i] == OCI_GROUP_NONE || key[0] != 0x01) {
            continue; /* a null: 0x01 is the first byte of every value */
        }
        extreme_state *state = oci_state_at(&self->states, groups[i]);
        int order = state->size == 0 ? 1 : compare(key, size, key_of(self, state), state->size);
        if (state->size == 0 || (self->is_max ? order > 0 : order < 0)) {
            take_key(self, state, groups[i], key, size);
        }
    }
    drop_keys(self);
}

static oc_status extreme_update(oci_aggregator *base, const oci_column *const *args,
                                const uint32_t *groups, int64_t n, oc_error *err)
{
    (void)args, (void)err;
    add_keys((extreme *)base, groups, n);
    return OC_OK;
}

static oc_status extreme_merge(oci_aggregator *base, const oci_column *state,
                               const uint32_t *groups, int64_t n, oc_error *err)
{
    (void)state, (void)err;
    add_keys((extreme *)base, groups, n);
    return OC_OK;
}

/* ---- columns --------------------------------------------------------------------------------- */

static int64_t extreme_bytes(const oci_aggregator *base, const uint32_t *groups, int64_t n)
{
    const extreme *self = (const extreme *)base;
    int64_t bytes = 64;
    for (int64_t i = 0; i < n; i++) {
        const extreme_state *state = oci_state_at(&self->states, groups[i]);
        bytes += state->size + 8;
    }
    return bytes;
}

/* The values: keys decoded into a batch of one column. */
static oc_status write_values(extreme *self, oci_schema *schema, const uint32_t *groups, int64_t n,
                              oci_batch **out, oc_error *err)
{
    int64_t stride = oci_row_key_stride(self->arg_schema, &only_key, 1);
    int64_t null_size = stride > 0 ? stride : 1;
    int64_t bytes = n * (int64_t)sizeof(oci_key_ref) + null_size;
    void *block;
    OC_TRY(oci_mem_alloc(self->base.mem, bytes, &block, err));
    oci_key_ref *refs = block;
    uint8_t *null_key = (uint8_t *)(refs + n);
    memset(null_key, 0, (size_t)null_size);
    null_key[0] = 0x02;
    for (int64_t i = 0; i < n; i++) {
        const extreme_state *state = oci_state_at(&self->states, groups[i]);
        refs[i] = state->size == 0 ? (oci_key_ref){null_key, null_size}
                                   : (oci_key_ref){key_of(self, state), state->size};
    }
    oc_status status =
        oci_row_keys_decode(schema, &only_key, refs, n, self->base.mem, NULL, out, err);
    oci_mem_free(self->base.mem, block, bytes);
    return status;
}

static oc_status extreme_partial(oci_aggregator *base, const uint32_t *groups, int64_t n,
                                 oci_batch **out, oc_error *err)
{
    return write_values((extreme *)base, base->states, groups, n, out, err);
}

static oc_status extreme_finish(oci_aggregator *base, const uint32_t *groups, int64_t n,
                                oci_batch **out, oc_error *err)
{
    return write_values((extreme *)base, base->result, groups, n, out, err);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void extreme_keep(oci_aggregator *base, const uint32_t *kept, int64_t n)
{
    extreme *self = (extreme *)base;
    oci_state_store_keep(&self->states, kept, n);
    oci_byte_store_disown(&self->bytes);
    for (int64_t g = 0; g < n; g++) {
        const extreme_state *state = oci_state_at(&self->states, g);
        if (is_far(state)) {
            oci_byte_store_claim(&self->bytes, state->far, (uint32_t)g);
        }
    }
    oci_byte_store_pack(&self->bytes, far_moved, self);
}

static void extreme_clear(oci_aggregator *base)
{
    extreme *self = (extreme *)base;
    drop_keys(self);
    oci_state_store_clear(&self->states);
    oci_byte_store_clear(&self->bytes);
}

static void extreme_destroy(oci_aggregator *base)
{
    extreme *self = (extreme *)base;
    extreme_clear(base);
    oci_schema_release(self->arg_schema);
    oci_schema_release(self->decoded_schema);
    oci_agg_deinit(base);
    free(self);
}

static const oci_aggregator_ops extreme_ops = {
    .reserve = extreme_reserve,
    .update = extreme_update,
    .merge = extreme_merge,
    .partial_bytes = extreme_bytes,
    .partial = extreme_partial,
    .finish_bytes = extreme_bytes,
    .finish = extreme_finish,
    .keep = extreme_keep,
    .clear = extreme_clear,
    .destroy = extreme_destroy,
};

static oc_status init_extreme(extreme *self, const oci_aggregate *aggregate,
                              const oci_schema *input, oci_mem *mem, oc_error *err)
{
    oci_sort_key key = {.column = aggregate->args[0]};
    OC_TRY(oci_schema_select(input, aggregate->args, 1, &self->arg_schema, err));
    OC_TRY(oci_row_keys_schema(input, &key, 1, &self->decoded_schema, err));
    oci_field state = self->decoded_schema->fields[0];
    state.nullable = true;
    return oci_agg_init(&self->base, aggregate, input, &extreme_ops, mem, &state, 1, err);
}

oc_status oci_agg_create_extreme(const oci_aggregate *aggregate, const oci_schema *input,
                                 oci_mem *mem, oci_aggregator **out, oc_error *err)
{
    extreme *self = calloc(1, sizeof *self);
    if (self == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up an aggregate: out of memory");
    }
    self->base.mem = mem;
    self->is_max = aggregate->kind == OCI_AGG_MAX;
    oci_state_store_init(&self->states, sizeof(extreme_state), mem);
    oci_byte_store_init(&self->bytes, mem);
    oc_status status = init_extreme(self, aggregate, input, mem, err);
    if (status != OC_OK) {
        extreme_destroy(&self->base);
        return status;
    }
    *out = &self->base;
    return OC_OK;
}
