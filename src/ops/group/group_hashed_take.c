/* Hashed grouping: taking rows of the input, or groups that come back from disk. See group_hashed.c.
 *
 * A slice is tried until it fits. What is refused first asks other operators when we have less than our share, then
 * spills our own groups; with an empty table the slice is cut in halves; and at last we wait for others. */
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/text.h"
#include "ops/group/group_hashed_internal.h"

/* Of the limit, for the strings of a slice. */
#define SLICE_SHARE 64

uint64_t oci_group_hash_masks[OCI_GROUP_HASHES] = {UINT64_MAX, UINT64_MAX};

static void note_held(oci_group_hashed *self)
{
    atomic_store(&self->held, oci_mem_held(self->mem) - self->workspace.bytes);
}

int32_t oci_group_first_state(const oci_group_hashed *self, int32_t i)
{
    int32_t column = self->n_keys;
    for (int32_t k = 0; k < i; k++) {
        column += self->aggregators[k]->states->n_fields;
    }
    return column;
}

/* The column where the states of aggregate i begin, when these are merged; else -1. */
static int32_t state_column(const oci_group_hashed *self, int32_t i, bool is_spilled)
{
    return is_spilled ? oci_group_first_state(self, i) : self->arguments[i].state;
}

static void point_to_args(const oci_group_hashed *self, int32_t i, const oci_batch *rows,
                          const oci_column *args[2])
{
    const oci_group_argument *argument = &self->arguments[i];
    args[0] = argument->n > 0 ? &rows->columns[argument->columns[0]] : NULL;
    args[1] = argument->n > 1 ? &rows->columns[argument->columns[1]] : NULL;
}

static oc_status reserve_states(oci_group_hashed *self, const oci_batch *rows, bool is_spilled,
                                oc_error *err)
{
    int64_t n_groups = oci_group_table_size(self->table) + rows->length;
    for (int32_t i = 0; i < self->n_aggregates; i++) {
        oci_aggregator *aggregator = self->aggregators[i];
        int32_t state = state_column(self, i, is_spilled);
        if (state >= 0) {
            OC_TRY(aggregator->ops->reserve(aggregator, n_groups, NULL, &rows->columns[state],
                                            rows->length, err));
            continue;
        }
        const oci_column *args[2];
        point_to_args(self, i, rows, args);
        OC_TRY(aggregator->ops->reserve(aggregator, n_groups, args, NULL, rows->length, err));
    }
    return OC_OK;
}

/* Groups of the rows that an aggregate's FILTER lets through. */
static const uint32_t *filter_groups(oci_group_hashed *self, const oci_batch *rows, int32_t filter)
{
    if (filter < 0) {
        return self->groups;
    }
    const oci_column *column = &rows->columns[filter];
    for (int64_t i = 0; i < rows->length; i++) {
        bool passes = !oci_column_is_null(column, i) &&
                      oci_bit_get(column->values, column->offset + i);
        self->filtered[i] = passes ? self->groups[i] : OCI_GROUP_NONE;
    }
    return self->filtered;
}

static oc_status update_states(oci_group_hashed *self, const oci_batch *rows, bool is_spilled,
                               oc_error *err)
{
    for (int32_t i = 0; i < self->n_aggregates; i++) {
        oci_aggregator *aggregator = self->aggregators[i];
        int32_t state = state_column(self, i, is_spilled);
        if (state >= 0) {
            OC_TRY(aggregator->ops->merge(aggregator, &rows->columns[state], self->groups,
                                          rows->length, err));
            continue;
        }
        const oci_column *args[2];
        point_to_args(self, i, rows, args);
        const uint32_t *groups = filter_groups(self, rows, self->arguments[i].filter);
        OC_TRY(aggregator->ops->update(aggregator, args, groups, rows->length, err));
    }
    return OC_OK;
}

static void hash_keys(oci_group_hashed *self, const oci_row_keys *keys)
{
    int32_t which = oci_group_which(self);
    for (int64_t i = 0; i < keys->length; i++) {
        int64_t size;
        const uint8_t *key = oci_row_key_at(keys, i, &size);
        self->hashes[i] = oci_group_hash(key, size, which);
    }
}

static void find_groups(oci_group_hashed *self, const oci_row_keys *keys)
{
    int64_t before = oci_group_table_size(self->table);
    if (self->n_keys == 0) {
        oci_group_table_find(self->table, keys, self->hashes, 0, 1, self->groups);
        for (int64_t i = 1; i < keys->length; i++) {
            self->groups[i] = self->groups[0];
        }
    } else {
        oci_group_table_find(self->table, keys, self->hashes, 0, keys->length, self->groups);
    }
    for (int64_t g = before; g < oci_group_table_size(self->table); g++) {
        self->counts[oci_group_partition(self, oci_group_table_hash(self->table, g))]++;
    }
}

/* The longest string of a column, and all of them. */
static int64_t measure_strings(const oci_column *column, int64_t *total)
{
    oci_layout layout = oci_field_layout(column->field);
    int64_t longest = 0;
    if (layout != OCI_LAYOUT_OFFSETS32 && layout != OCI_LAYOUT_OFFSETS64 &&
        layout != OCI_LAYOUT_VIEWS) {
        return 0;
    }
    for (int64_t i = 0; i < column->length; i++) {
        int64_t length = 0;
        if (!oci_column_is_null(column, i)) {
            (void)oci_column_bytes_at(column, i, &length);
        }
        longest = oci_max64(longest, length);
        *total += length;
    }
    return longest;
}

/* What keys and values of the rows take together, and, roughly, the most that one row does: a block of spilled groups
 * may have to be as large. */
static void measure_rows(oci_group_hashed *self, const oci_batch *rows, bool is_spilled,
                         const oci_row_keys *keys)
{
    int64_t total = keys->stride > 0 ? keys->length * keys->stride
                                     : (int64_t)keys->offsets[keys->length];
    int64_t widest = keys->stride;
    for (int64_t i = 0; keys->stride == 0 && i < keys->length; i++) {
        widest = oci_max64(widest, (int64_t)keys->offsets[i + 1] - (int64_t)keys->offsets[i]);
    }
    for (int32_t i = 0; i < self->n_aggregates; i++) {
        int32_t state = state_column(self, i, is_spilled);
        int32_t n = state >= 0 ? self->aggregators[i]->states->n_fields : self->arguments[i].n;
        for (int32_t c = 0; c < n; c++) {
            int32_t column = state >= 0 ? state + c : self->arguments[i].columns[c];
            widest += measure_strings(&rows->columns[column], &total);
        }
    }
    self->wide_bytes = oci_max64(self->wide_bytes, widest);
    self->slice_bytes = total;
}

/* Everything that may be refused, then everything that may not. */
static oc_status add_rows(oci_group_hashed *self, const oci_batch *rows, bool is_spilled,
                          const oci_row_keys *keys, oc_error *err)
{
    int64_t key_bytes = keys->stride > 0 ? keys->length * keys->stride
                                         : (int64_t)keys->offsets[keys->length];
    measure_rows(self, rows, is_spilled, keys);
    /* First what spilling takes, so that it is there when the rest is refused. */
    OC_TRY(oci_group_set_aside(self, rows->length, err));
    OC_TRY(oci_group_table_reserve(self->table, rows->length, key_bytes, err));
    OC_TRY(reserve_states(self, rows, is_spilled, err));
    hash_keys(self, keys);
    find_groups(self, keys);
    OC_TRY(update_states(self, rows, is_spilled, err));
    note_held(self);
    return OC_OK;
}

static oc_status try_rows(oci_group_hashed *self, const oci_batch *rows, bool is_spilled,
                          oc_error *err)
{
    oci_row_keys keys;
    const oci_sort_key *by = is_spilled ? self->spill_keys : self->input_keys;
    oc_status status = oci_row_keys_encode(rows, by, self->n_keys, self->mem, NULL, &keys, err);
    if (status == OC_EBUDGET) {
        OC_TRY(oci_row_keys_size(rows, by, self->n_keys, &self->slice_bytes, err));
    }
    OC_TRY(status);
    status = add_rows(self, rows, is_spilled, &keys, err);
    oci_row_keys_deinit(&keys);
    return status;
}

/* A limit that is enough for the largest row or group so far, and for a request that was refused: more of its size
 * follow it. */
static int64_t enough_for(const oci_group_hashed *self, int64_t request)
{
    return oci_max64(2 * oci_budget_limit(self->env->budget),
                     16 * oci_max64(self->wide_bytes, request) + ((int64_t)1 << 20));
}

static oc_status too_large(const oci_group_hashed *self, oc_error *err)
{
    char text[OCI_BYTES_TEXT];
    OC_SET(err, OC_EBUDGET,
           "could not group: one group or one row is too large for the memory limit of %s",
           oci_format_bytes(oci_budget_limit(self->env->budget), text));
    return OC_EBUDGET;
}

void oci_group_name_limit(const oci_group_hashed *self, oc_error *err)
{
    int64_t request = oci_max64(0, err->needed_bytes - oci_budget_used(self->env->budget));
    int64_t enough = enough_for(self, request);
    char text[OCI_BYTES_TEXT];
    char *advice = strstr(err->message, "; raise the memory limit");
    if (advice == NULL && (advice = strstr(err->message, "; use a limit of at least")) != NULL) {
        /* A reader counted what a row takes while it is read; grouping takes about as much again. */
        enough = oci_max64(enough, 2 * err->needed_bytes);
    }
    size_t used = advice != NULL ? (size_t)(advice - err->message) : strlen(err->message);
    if (strstr(err->message, "is enough") == NULL) {
        snprintf(err->message + used, sizeof err->message - used, "; a limit of %s is enough",
                 oci_format_bytes_up(enough, text));
        err->needed_bytes = enough;
    }
}

/* Tables and states do not say it themselves. */
static oc_status out_of_memory(int64_t rows, oc_error *err)
{
    OC_FAIL(err, OC_ENOMEM, "could not group %" PRId64 " rows: out of memory", rows);
}

static bool ask_others(oci_group_hashed *self, oci_share_patience *patience)
{
    int64_t least = 4 * (self->block_bytes + self->wide_bytes);
    return oci_share_ask(self->env, self->manager, self->mem, least, patience);
}

oc_status oci_group_make_room(oci_group_hashed *self, oci_share_patience *patience, oc_error *err)
{
    if (ask_others(self, patience)) {
        return OC_OK;
    }
    if (oci_group_table_size(self->table) > 0) {
        oc_status status = self->phase == OCI_GROUP_ABSORB ? oci_group_evict(self, err)
                                                           : oci_group_shed(self, err);
        if (status != OC_EBUDGET) {
            return status;
        }
    } else {
        oci_reservation_release(&self->workspace);
    }
    if (oci_share_beg(self->env, self->mem, patience)) {
        return OC_OK;
    }
    oc_status status =
        oci_share_wait(self->env, self->manager, &self->activity_seen, &patience->steps, err);
    patience->asked = 0;
    patience->has_begged = false;
    return status == OC_EBUDGET ? too_large(self, err) : status;
}

static oc_status take_rows(oci_group_hashed *self, oci_batch *batch, int64_t start, int64_t n,
                           bool is_spilled, oc_error *err);

static oc_status take_halves(oci_group_hashed *self, oci_batch *batch, int64_t start, int64_t n,
                             bool is_spilled, oc_error *err)
{
    OC_TRY(take_rows(self, batch, start, n / 2, is_spilled, err));
    return take_rows(self, batch, start + n / 2, n - n / 2, is_spilled, err);
}

/* Rows [start, start + n) of a batch, n <= slice_rows. */
static oc_status take_rows(oci_group_hashed *self, oci_batch *batch, int64_t start, int64_t n,
                           bool is_spilled, oc_error *err)
{
    oci_batch *rows;
    OC_TRY(oci_batch_slice(batch, start, n, &rows, err));
    oc_status status;
    oci_share_patience patience = {0};
    bool halves = false;
    while ((status = try_rows(self, rows, is_spilled, err)) == OC_EBUDGET) {
        /* Not everything goes to disk for a slice that is large for the limit. */
        bool is_large = self->slice_bytes > oci_budget_limit(self->env->budget) / SLICE_SHARE;
        bool is_empty = oci_group_table_size(self->table) == 0;
        if (n > 1 && (is_large || (is_empty && !ask_others(self, &patience)))) {
            halves = true;
            break;
        }
        if (n == 1 || !is_empty) {
            status = oci_group_make_room(self, &patience, err);
            if (status != OC_OK) {
                break;
            }
        }
    }
    oci_batch_release(rows);
    if (status == OC_ENOMEM) {
        return out_of_memory(n, err);
    }
    return halves ? take_halves(self, batch, start, n, is_spilled, err) : status;
}

oc_status oci_group_take_batch(oci_group_hashed *self, oci_batch *batch, bool is_spilled,
                               oc_error *err)
{
    oc_status status = OC_OK;
    for (int64_t at = 0; status == OC_OK && at < batch->length;) {
        int64_t n = oci_min64(self->slice_rows, batch->length - at);
        status = take_rows(self, batch, at, n, is_spilled, err);
        at += n;
    }
    oci_batch_release(batch);
    if (status == OC_OK) {
        status = oci_env_tick(self->env, err);
    }
    if (status == OC_OK && oci_group_table_size(self->table) > 0 &&
        oci_share_is_passed(self->env, self->manager, oci_mem_held(self->mem))) {
        status = oci_group_evict(self, err);
        status = status == OC_EBUDGET ? OC_OK : status;
    }
    return status;
}

static oc_status reserve_single(oci_group_hashed *self, oc_error *err)
{
    OC_TRY(oci_group_table_reserve(self->table, 1, 0, err));
    for (int32_t i = 0; i < self->n_aggregates; i++) {
        oci_aggregator *aggregator = self->aggregators[i];
        OC_TRY(aggregator->ops->reserve(aggregator, 1, NULL, NULL, 0, err));
    }
    return OC_OK;
}

oc_status oci_group_add_single(oci_group_hashed *self, oc_error *err)
{
    oci_share_patience patience = {0};
    oc_status status;
    while ((status = reserve_single(self, err)) == OC_EBUDGET) {
        OC_TRY(oci_group_make_room(self, &patience, err));
    }
    if (status != OC_OK) {
        return out_of_memory(0, err);
    }
    uint32_t offsets[2] = {0, 0};
    oci_row_keys keys = {.length = 1, .offsets = offsets, .bytes = (const uint8_t *)""};
    hash_keys(self, &keys);
    find_groups(self, &keys);
    return OC_OK;
}
