/* See group_collect.h. The struct and its schemas come from malloc, one per aggregate. */
#include "ops/group/group_collect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/row_key_decode.h"
#include "base/bits.h"
#include "ops/aggregate/aggregate_internal.h"

static const oci_sort_key only_key = {.column = 0};

/* What is known of a group. */
typedef struct group_state {
    int64_t values;     /* kept of it */
    int64_t first_byte; /* string_agg: where its text begins ... */
    int64_t end_byte;   /* ... and ends */
    int64_t count;      /* of rows that are not null: quantiles */
    int64_t seen;       /* quantiles: rows passed; mode: rows of the best value */
    int64_t run;        /* mode: rows of the value at hand */
    double low;         /* percentile_cont: values around the place */
    double high;
} group_state;

struct oci_collector {
    oci_aggregate_kind kind;
    double fraction;
    uint8_t *separator;
    int64_t separator_length;
    oci_schema *result;  /* one column */
    oci_schema *decoded; /* the argument as keys give it */
    oci_field arg;       /* simple type of the values, for numbers */
    oci_mem *mem;
    uint8_t *bytes; /* values of all groups of the window, one behind the other */
    int64_t used;
    int64_t room;
    int64_t *ends; /* of each value */
    int64_t n_values;
    int64_t room_values;
    group_state *groups;
    int64_t n_groups;
    int64_t room_groups;
    uint8_t *run_key; /* mode: the value at hand */
    int64_t run_size;
    int64_t run_room;
};

/* ---- life ------------------------------------------------------------------------------------ */

static oc_status init(oci_collector *self, const oci_aggregate *aggregate, const oci_schema *input,
                      oc_error *err)
{
    oci_field *field = calloc(1, sizeof *field);
    oci_sort_key key = {.column = aggregate->args[0]};
    if (field == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up an aggregate: out of memory");
    }
    oc_status status = oci_aggregate_result(aggregate, input, field, err);
    if (status != OC_OK) {
        free(field);
        return status;
    }
    OC_TRY(oci_schema_create(field, 1, NULL, 0, &self->result, err));
    OC_TRY(oci_row_key_check(input, &key, 1, err));
    OC_TRY(oci_row_keys_schema(input, &key, 1, &self->decoded, err));
    const oci_field *arg = oci_agg_value_field(&input->fields[aggregate->args[0]]);
    self->arg = oci_agg_field(arg->type, arg->precision, arg->scale);
    self->separator_length = aggregate->separator_length;
    self->separator = malloc((size_t)aggregate->separator_length + 1);
    if (self->separator == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up an aggregate: out of memory");
    }
    if (aggregate->separator_length > 0) {
        memcpy(self->separator, aggregate->separator, (size_t)aggregate->separator_length);
    }
    return OC_OK;
}

oc_status oci_collector_create(const oci_aggregate *aggregate, const oci_schema *input,
                               oci_mem *mem, oci_collector **out, oc_error *err)
{
    oci_collector *self = calloc(1, sizeof *self);
    if (self == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up an aggregate: out of memory");
    }
    self->kind = aggregate->kind;
    self->fraction = aggregate->fraction;
    self->mem = mem;
    oc_status status = init(self, aggregate, input, err);
    if (status != OC_OK) {
        oci_collector_destroy(self);
        return status;
    }
    *out = self;
    return OC_OK;
}

void oci_collector_destroy(oci_collector *self)
{
    if (self == NULL) {
        return;
    }
    oci_mem_free(self->mem, self->bytes, self->room);
    oci_mem_free(self->mem, self->ends, self->room_values * (int64_t)sizeof *self->ends);
    oci_mem_free(self->mem, self->groups, self->room_groups * (int64_t)sizeof *self->groups);
    oci_mem_free(self->mem, self->run_key, self->run_room);
    oci_schema_release(self->result);
    oci_schema_release(self->decoded);
    free(self->separator);
    free(self);
}

/* ---- room ------------------------------------------------------------------------------------ */

static oc_status grow(oci_mem *mem, void *list, int64_t *room, int64_t wanted, int64_t each,
                      oc_error *err)
{
    void **at = list;
    if (wanted <= *room) {
        return OC_OK;
    }
    int64_t more = oci_max64(wanted, *room + *room / 2 + 64);
    void *longer;
    oc_status status = oci_mem_realloc(mem, *at, *room * each, more * each, &longer, err);
    if (status == OC_EBUDGET && more > wanted) {
        more = wanted;
        status = oci_mem_realloc(mem, *at, *room * each, more * each, &longer, err);
    }
    OC_TRY(status);
    *at = longer;
    *room = more;
    return OC_OK;
}

static oc_status ensure_groups(oci_collector *self, int64_t n, oc_error *err)
{
    OC_TRY(
        grow(self->mem, &self->groups, &self->room_groups, n, (int64_t)sizeof *self->groups, err));
    for (; self->n_groups < n; self->n_groups++) {
        self->groups[self->n_groups] = (group_state){0};
    }
    return OC_OK;
}

static oc_status append_bytes(oci_collector *self, const uint8_t *bytes, int64_t size,
                              oc_error *err)
{
    OC_TRY(grow(self->mem, &self->bytes, &self->room, self->used + size, 1, err));
    if (size > 0) {
        memcpy(self->bytes + self->used, bytes, (size_t)size);
        self->used += size;
    }
    return OC_OK;
}

static oc_status append_value(oci_collector *self, group_state *group, const uint8_t *bytes,
                              int64_t size, oc_error *err)
{
    OC_TRY(grow(self->mem, &self->ends, &self->room_values, self->n_values + 1,
                (int64_t)sizeof *self->ends, err));
    OC_TRY(append_bytes(self, bytes, size, err));
    self->ends[self->n_values++] = self->used;
    group->values++;
    return OC_OK;
}

/* The only value of a group, which is the last one there is. */
static oc_status put_value(oci_collector *self, group_state *group, const uint8_t *bytes,
                           int64_t size, oc_error *err)
{
    if (group->values > 0) {
        self->n_values--;
        self->used = self->n_values > 0 ? self->ends[self->n_values - 1] : 0;
        group->values = 0;
    }
    return append_value(self, group, bytes, size, err);
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool is_null_key(const uint8_t *key)
{
    return key[0] != 0x01; /* the first byte of every value */
}

static double number_at(const oci_collector *self, const oci_column *arg, int64_t row)
{
    const oci_column *leaf = arg;
    int64_t at = oci_agg_value_at(arg, oci_agg_is_plain(arg), row, &leaf);
    if (self->arg.type < OCI_TYPE_DECIMAL32 || self->arg.type > OCI_TYPE_DECIMAL256) {
        return oci_agg_load_double(&self->arg, leaf->values, at);
    }
    const uint8_t *from = leaf->values + at * self->arg.byte_width;
    double value = (double)(int32_t)oci_load_le32(from + self->arg.byte_width - 4);
    for (int32_t i = self->arg.byte_width - 8; i >= 0; i -= 4) {
        value = value * 4294967296.0 + (double)oci_load_le32(from + i);
    }
    return value / pow(10, self->arg.scale);
}

static oc_status add_text(oci_collector *self, group_state *group, const oci_column *arg,
                          int64_t row, oc_error *err)
{
    const oci_column *leaf = arg;
    int64_t at = oci_agg_value_at(arg, oci_agg_is_plain(arg), row, &leaf);
    if (at < 0) {
        return OC_OK;
    }
    int64_t size;
    const uint8_t *text = oci_column_bytes_at(leaf, at - leaf->offset, &size);
    if (group->values > 0) {
        OC_TRY(append_bytes(self, self->separator, self->separator_length, err));
    }
    OC_TRY(append_bytes(self, text, size, err));
    group->end_byte = self->used;
    group->values++;
    return OC_OK;
}

/* Values come in order: positions lie around fraction * (count - 1), or at ceil(fraction * count). */
static oc_status pass_quantile(oci_collector *self, group_state *group, const oci_column *arg,
                               int64_t row, const uint8_t *key, int64_t size, oc_error *err)
{
    int64_t place = group->seen++;
    if (self->kind == OCI_AGG_QUANTILE_DISC) {
        int64_t wanted = oci_max64(0, (int64_t)ceil(self->fraction * (double)group->count) - 1);
        return place == wanted ? put_value(self, group, key, size, err) : OC_OK;
    }
    double position = self->fraction * (double)(group->count - 1);
    if (place == (int64_t)floor(position)) {
        group->low = number_at(self, arg, row);
        group->values = 1;
    }
    if (place == (int64_t)ceil(position)) {
        group->high = number_at(self, arg, row);
    }
    return OC_OK;
}

/* Equal values are neighbours; the first of those that come most often. */
static oc_status pass_mode(oci_collector *self, group_state *group, const uint8_t *key,
                           int64_t size, oc_error *err)
{
    bool same = group->run > 0 && size == self->run_size &&
                memcmp(key, self->run_key, (size_t)size) == 0;
    if (!same) {
        OC_TRY(grow(self->mem, &self->run_key, &self->run_room, size, 1, err));
        memcpy(self->run_key, key, (size_t)size);
        self->run_size = size;
        group->run = 0;
    }
    if (++group->run > group->seen) {
        group->seen = group->run;
        return put_value(self, group, key, size, err);
    }
    return OC_OK;
}

static oc_status add_one(oci_collector *self, group_state *group, const oci_column *arg,
                         int64_t row, const uint8_t *key, int64_t size, oc_error *err)
{
    bool is_null = is_null_key(key);
    switch (self->kind) {
    case OCI_AGG_ARRAY_AGG: return append_value(self, group, key, size, err);
    case OCI_AGG_FIRST: return group->values == 0 ? put_value(self, group, key, size, err) : OC_OK;
    case OCI_AGG_LAST: return put_value(self, group, key, size, err);
    case OCI_AGG_ANY_VALUE:
        return group->values == 0 && !is_null ? put_value(self, group, key, size, err) : OC_OK;
    case OCI_AGG_STRING_AGG: return add_text(self, group, arg, row, err);
    case OCI_AGG_MODE: return is_null ? OC_OK : pass_mode(self, group, key, size, err);
    default: return is_null ? OC_OK : pass_quantile(self, group, arg, row, key, size, err);
    }
}

oc_status oci_collector_count(oci_collector *self, const oci_column *arg, const uint32_t *groups,
                              int64_t n, int64_t n_groups, oc_error *err)
{
    OC_TRY(ensure_groups(self, n_groups, err));
    for (int64_t i = 0; i < n; i++) {
        if (groups[i] != OCI_GROUP_NONE && !oci_column_is_null(arg, i)) {
            self->groups[groups[i]].count++;
        }
    }
    return OC_OK;
}

oc_status oci_collector_add(oci_collector *self, const oci_column *arg, const oci_row_keys *keys,
                            const uint32_t *groups, int64_t n, int64_t n_groups, oc_error *err)
{
    OC_TRY(ensure_groups(self, n_groups, err));
    uint32_t last = OCI_GROUP_NONE;
    for (int64_t i = 0; i < n; i++) {
        if (groups[i] == OCI_GROUP_NONE) {
            continue;
        }
        group_state *group = &self->groups[groups[i]];
        if (groups[i] != last && group->values == 0) {
            group->first_byte = self->used;
        }
        last = groups[i];
        int64_t size;
        const uint8_t *key = oci_row_key_at(keys, i, &size);
        OC_TRY(add_one(self, group, arg, i, key, size, err));
    }
    return OC_OK;
}

/* ---- results --------------------------------------------------------------------------------- */

/* Values of groups 0..n-1, one each, null where there is none; or all of their values. */
static oc_status decode_values(oci_collector *self, oci_schema *schema, int64_t n_groups, bool all,
                               oci_batch **out, oc_error *err)
{
    int64_t stride = oci_row_key_stride(self->decoded, &only_key, 1);
    int64_t null_size = stride > 0 ? stride : 1;
    int64_t n = all ? 0 : n_groups;
    for (int64_t g = 0; all && g < n_groups; g++) {
        n += self->groups[g].values;
    }
    int64_t bytes = n * (int64_t)sizeof(oci_key_ref) + null_size + 8;
    void *block;
    OC_TRY(oci_mem_alloc(self->mem, bytes, &block, err));
    oci_key_ref *refs = block;
    uint8_t *null_key = (uint8_t *)(refs + n);
    memset(null_key, 0, (size_t)null_size);
    null_key[0] = 0x02;
    int64_t value = 0;
    for (int64_t i = 0; i < n; i++) {
        bool has_value = all || self->groups[i].values > 0;
        int64_t start = value > 0 ? self->ends[value - 1] : 0;
        refs[i] = has_value ? (oci_key_ref){self->bytes + start, self->ends[value] - start}
                            : (oci_key_ref){null_key, null_size};
        value += has_value;
    }
    oc_status status = oci_row_keys_decode(schema, &only_key, refs, n, self->mem, NULL, out, err);
    oci_mem_free(self->mem, block, bytes);
    return status;
}

/* A list column over decoded values. */
static oc_status finish_list(oci_collector *self, int64_t n, oci_batch **out, oc_error *err)
{
    oci_batch *values;
    oci_column *column = calloc(1, sizeof *column);
    oci_column *child = calloc(1, sizeof *child);
    int64_t bitmap = oci_round_up(oci_bytes_for_bits(n), 8);
    int64_t bytes = bitmap + (n + 1) * 4 + 8;
    void *block = NULL;
    oc_status status = column == NULL || child == NULL
                           ? OC_SET(err, OC_ENOMEM, "could not make lists: out of memory")
                           : decode_values(self, self->decoded, n, true, &values, err);
    if (status == OC_OK) {
        status = oci_mem_alloc(self->mem, bytes, &block, err);
        if (status != OC_OK) {
            oci_batch_release(values);
        }
    }
    if (status != OC_OK) {
        free(column);
        free(child);
        return status;
    }
    uint8_t *offsets = (uint8_t *)block + bitmap;
    memset(block, 0xFF, (size_t)bitmap);
    int64_t at = 0;
    int64_t nulls = 0;
    oci_store_le32(offsets, 0);
    for (int64_t g = 0; g < n; g++) {
        at += self->groups[g].values;
        oci_store_le32(offsets + (g + 1) * 4, (uint32_t)at);
        if (self->groups[g].values == 0) {
            oci_bit_clear(block, g);
            nulls++;
        }
    }
    const oci_field *field = &self->result->fields[0];
    *child = values->columns[0];
    child->field = &field->children[0];
    *column = (oci_column){.field = field,
                           .length = n,
                           .null_count = nulls,
                           .validity = block,
                           .values = offsets,
                           .children = child};
    status = oci_batch_adopt(self->result, n, column, self->mem, block, bytes, child,
                             (int64_t)sizeof *child, out, err);
    if (status != OC_OK) {
        oci_batch_release(values);
        return status;
    }
    return oci_batch_keep(*out, values, err);
}

static int64_t text_bytes(const group_state *group)
{
    return group->values > 0 ? group->end_byte - group->first_byte : 0;
}

static oc_status finish_text(oci_collector *self, int64_t n, oci_batch **out, oc_error *err)
{
    oci_agg_writer writer;
    uint8_t *offsets;
    uint8_t *text;
    int64_t total = 0;
    for (int64_t g = 0; g < n; g++) {
        total += text_bytes(&self->groups[g]);
    }
    if (total > INT32_MAX) {
        OC_FAIL(err, OC_EINVAL,
                "the texts of one batch pass 2 GiB together; use a smaller batch size");
    }
    OC_TRY(oci_agg_writer_open(&writer, self->result, self->mem, n,
                               oci_agg_column_bytes(&self->result->fields[0], n, total), err));
    oci_column *column = oci_agg_writer_column(&writer, total, &offsets, &text);
    int64_t at = 0;
    for (int64_t g = 0; g < n; g++) {
        const group_state *group = &self->groups[g];
        int64_t size = text_bytes(group);
        if (size > 0) {
            memcpy(text + at, self->bytes + group->first_byte, (size_t)size);
        }
        at += size;
        oci_store_le32(offsets + (g + 1) * 4, (uint32_t)at);
        if (group->values == 0) {
            oci_agg_set_null(column, g);
        }
    }
    return oci_agg_writer_finish(&writer, out, err);
}

static oc_status finish_real(oci_collector *self, int64_t n, oci_batch **out, oc_error *err)
{
    oci_agg_writer writer;
    uint8_t *values;
    OC_TRY(oci_agg_writer_open(&writer, self->result, self->mem, n,
                               oci_agg_column_bytes(&self->result->fields[0], n, 0), err));
    oci_column *column = oci_agg_writer_column(&writer, 0, &values, NULL);
    for (int64_t g = 0; g < n; g++) {
        const group_state *group = &self->groups[g];
        double position = self->fraction * (double)(group->count - 1);
        double part = position - floor(position);
        double value = group->low == group->high ? group->low
                                                 : group->low + (group->high - group->low) * part;
        if (group->values == 0) {
            oci_agg_set_null(column, g);
            value = 0;
        }
        memcpy(values + g * 8, &value, sizeof value);
    }
    return oci_agg_writer_finish(&writer, out, err);
}

oc_status oci_collector_finish(oci_collector *self, int64_t n, oci_batch **out, oc_error *err)
{
    OC_TRY(ensure_groups(self, n, err));
    switch (self->kind) {
    case OCI_AGG_ARRAY_AGG: return finish_list(self, n, out, err);
    case OCI_AGG_STRING_AGG: return finish_text(self, n, out, err);
    case OCI_AGG_QUANTILE_CONT: return finish_real(self, n, out, err);
    default: return decode_values(self, self->result, n, false, out, err);
    }
}

void oci_collector_shift(oci_collector *self, int64_t n)
{
    n = oci_min64(n, self->n_groups);
    int64_t values = 0;
    for (int64_t g = 0;
         g < n && self->kind != OCI_AGG_STRING_AGG && self->kind != OCI_AGG_QUANTILE_CONT; g++) {
        values += self->groups[g].values;
    }
    int64_t gone = values > 0 ? self->ends[values - 1] : 0;
    if (self->kind == OCI_AGG_STRING_AGG) {
        gone = self->used;
        for (int64_t g = self->n_groups - 1; g >= n; g--) {
            gone = self->groups[g].values > 0 ? self->groups[g].first_byte : gone;
        }
    }
    if (gone > 0) {
        memmove(self->bytes, self->bytes + gone, (size_t)(self->used - gone));
    }
    for (int64_t i = values; i < self->n_values; i++) {
        self->ends[i - values] = self->ends[i] - gone;
    }
    for (int64_t g = n; g < self->n_groups; g++) {
        self->groups[g - n] = self->groups[g];
        self->groups[g - n].first_byte -= gone;
        self->groups[g - n].end_byte -= gone;
    }
    self->used -= gone;
    self->n_values -= values;
    self->n_groups -= n;
}
