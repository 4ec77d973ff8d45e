/* Grouping of rows in the order of their keys: expand, sort, stream. See docs/group.md, "Sorted".
 *
 *   input -> copies of the columns to order by -> each row once per class -> sort by (keys, class, order)  -> stream
 *
 * A class is a set of aggregates that want the rows of a group in the same order: those that want none, in the order of
 * the input, and one for each DISTINCT and ORDER BY; quantiles have one more in front, in which values are counted. With
 * a single class rows are not multiplied, and input that is ordered by the keys is not sorted when no order is wanted
 * inside. Columns that a class does not read are null in its rows.
 *
 * The stream numbers the groups of the slice at hand from 0. When it is done, all but the last are complete, are given
 * out, and the last becomes number 0. So memory does not depend on the size of groups, except for values that an
 * aggregate makes of a whole group.
 *
 * Lists come from malloc: they grow with the number of columns and aggregates. */
#include <stdlib.h>
#include <string.h>

#include "arrow/row_key_decode.h"
#include "base/bits.h"
#include "base/text.h"
#include "ops/group/group.h"
#include "ops/group/group_collect.h"
#include "ops/relational/relational.h"
#include "ops/share.h"
#include "ops/sort/sort.h"

#define SLICE_ROWS  1024
#define COLUMNS_MAX 63

/* ---- classes --------------------------------------------------------------------------------- */

typedef struct group_class {
    const oci_aggregate *like; /* the first of its aggregates; NULL: no order */
    bool counts;               /* values of quantiles are counted */
    uint64_t columns;          /* that it reads */
    int32_t first_order;       /* among the copied columns */
    int32_t n_order;
} group_class;

typedef struct class_list {
    group_class *items;
    int32_t n;
    int32_t *of;       /* class of each aggregate */
    int32_t *counting; /* class in which its values are counted, -1 */
    oci_sort_key
        *order; /* columns (of the input) that classes order by, copied behind the others */
    int32_t n_order;
} class_list;

static void free_classes(class_list *list)
{
    free(list->items);
    free(list->of);
    free(list->counting);
    free(list->order);
}

static bool is_quantile(const oci_aggregate *a)
{
    return a->kind == OCI_AGG_QUANTILE_CONT || a->kind == OCI_AGG_QUANTILE_DISC;
}

static bool wants_order(const oci_aggregate *a)
{
    return !oci_aggregate_is_mergeable(a) &&
           (a->distinct || is_quantile(a) || a->kind == OCI_AGG_MODE ||
            (a->n_order > 0 && a->kind > OCI_AGG_MERGEABLE_END));
}

static bool same_order(const oci_aggregate *a, const oci_aggregate *b)
{
    bool by_value_a = a->distinct || is_quantile(a) || a->kind == OCI_AGG_MODE;
    bool by_value_b = b->distinct || is_quantile(b) || b->kind == OCI_AGG_MODE;
    if (by_value_a != by_value_b || a->n_order != b->n_order) {
        return false;
    }
    for (int32_t i = 0; by_value_a && i < 2; i++) {
        if (a->n_args != b->n_args || (i < a->n_args && a->args[i] != b->args[i])) {
            return false;
        }
    }
    return a->n_order == 0 ||
           memcmp(a->order, b->order, (size_t)a->n_order * sizeof *a->order) == 0;
}

static uint64_t columns_of(const oci_aggregate *a)
{
    uint64_t columns = a->filter >= 0 ? UINT64_C(1) << (a->filter & 63) : 0;
    for (int32_t i = 0; i < a->n_args; i++) {
        columns |= UINT64_C(1) << (a->args[i] & 63);
    }
    return columns;
}

static int32_t add_class(class_list *list, const oci_aggregate *like, bool counts)
{
    for (int32_t i = 0; i < list->n; i++) {
        const group_class *c = &list->items[i];
        bool same = like == NULL
                        ? c->like == NULL && !c->counts
                        : c->like != NULL && c->counts == counts && same_order(c->like, like);
        if (same) {
            return i;
        }
    }
    list->items[list->n] = (group_class){.like = like, .counts = counts};
    return list->n++;
}

/* ORDER BY of the call, then the values themselves where equal ones are to be neighbours. */
static void add_order(class_list *list, group_class *c)
{
    const oci_aggregate *a = c->like;
    c->first_order = list->n_order;
    if (a == NULL || c->counts) {
        return;
    }
    for (int32_t i = 0; i < a->n_order; i++) {
        list->order[list->n_order++] = a->order[i];
    }
    for (int32_t i = 0; (a->distinct || is_quantile(a) || a->kind == OCI_AGG_MODE) && i < a->n_args;
         i++) {
        list->order[list->n_order++] = (oci_sort_key){.column = a->args[i]};
    }
    c->n_order = list->n_order - c->first_order;
}

static oc_status make_classes(const oci_group_plan *plan, class_list *list, oc_error *err)
{
    size_t n = (size_t)plan->n_aggregates;
    size_t n_order = 1;
    for (size_t i = 0; i < n; i++) {
        n_order += (size_t)plan->aggregates[i].n_order + 2;
    }
    *list = (class_list){.items = calloc(2 * n + 1, sizeof *list->items),
                         .of = calloc(n + 1, sizeof *list->of),
                         .counting = calloc(n + 1, sizeof *list->counting),
                         .order = calloc(n_order, sizeof *list->order)};
    if (list->items == NULL || list->of == NULL || list->counting == NULL || list->order == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up a grouping: out of memory");
    }
    for (size_t i = 0; i < n; i++) { /* counting comes before what needs the counts */
        const oci_aggregate *a = &plan->aggregates[i];
        list->counting[i] = is_quantile(a) ? add_class(list, a, true) : -1;
    }
    for (size_t i = 0; i < n; i++) {
        const oci_aggregate *a = &plan->aggregates[i];
        list->of[i] = add_class(list, wants_order(a) ? a : NULL, false);
        list->items[list->of[i]].columns |= columns_of(a);
        if (list->counting[i] >= 0) {
            list->items[list->counting[i]].columns |= columns_of(a);
        }
    }
    if (list->n == 0) {
        (void)add_class(list, NULL, false);
    }
    for (int32_t i = 0; i < list->n; i++) {
        add_order(list, &list->items[i]);
    }
    return OC_OK;
}

/* ---- the stream's state ---------------------------------------------------------------------- */

typedef struct member {
    oci_aggregator *aggregator; /* one of these two */
    oci_collector *collector;
    int32_t n_args;
    int32_t args[2];
    int32_t filter;
    int32_t class_number;
    int32_t counting; /* class, -1 */
    bool distinct;
    bool keeps_nulls; /* array_agg(DISTINCT x) */
    uint8_t *last;    /* DISTINCT: the last value, and of which group */
    int64_t last_size;
    int64_t last_room;
    bool has_last;
} member;

typedef struct sorted_stream {
    oci_stream base; /* must be first */
    const oci_env *env;
    oci_mem *mem;
    oci_stream *rows; /* in order */
    oci_sort_key *keys;
    int32_t n_keys;
    oci_schema *key_schema;
    int32_t class_column; /* -1: one class */
    member *members;
    int32_t n_members;
    /* Keys of the groups of the window. */
    uint8_t *key_bytes;
    int64_t key_used;
    int64_t key_room;
    int64_t *key_ends;
    int64_t n_groups;
    int64_t room_groups;
    uint32_t *groups;   /* per row of the slice */
    uint32_t *selected; /* ... of the rows that a member takes */
    oci_batch *batch;   /* at hand */
    int64_t at;
    bool is_ended;
    bool is_single; /* no keys */
    oci_relational common;
    oc_status status; /* sticky */
    oc_error error;
} sorted_stream;

static void sorted_close(oci_stream *stream)
{
    sorted_stream *self = (sorted_stream *)stream;
    oci_batch_release(self->batch);
    oci_stream_close(self->rows);
    for (int32_t i = 0; i < self->n_members; i++) {
        oci_aggregator_destroy(self->members[i].aggregator);
        oci_collector_destroy(self->members[i].collector);
        if (self->mem != NULL) {
            oci_mem_free(self->mem, self->members[i].last, self->members[i].last_room);
        }
    }
    if (self->mem != NULL) {
        oci_mem_free(self->mem, self->key_bytes, self->key_room);
        oci_mem_free(self->mem, self->key_ends,
                     self->room_groups * (int64_t)sizeof *self->key_ends);
        oci_mem_free(self->mem, self->groups, 2 * SLICE_ROWS * (int64_t)sizeof *self->groups);
    }
    oci_mem_close(self->mem);
    oci_schema_release(self->base.schema);
    oci_schema_release(self->key_schema);
    free(self->keys);
    free(self->members);
    free(self);
}

/* ---- groups of a slice ----------------------------------------------------------------------- */

static oc_status grow(oci_mem *mem, void *list, int64_t *room, int64_t wanted, int64_t each,
                      oc_error *err)
{
    void **at = list;
    if (wanted <= *room) {
        return OC_OK;
    }
    int64_t more = oci_max64(wanted, 2 * *room + 64);
    void *longer;
    OC_TRY(oci_mem_realloc(mem, *at, *room * each, more * each, &longer, err));
    *at = longer;
    *room = more;
    return OC_OK;
}

static oc_status begin_group(sorted_stream *self, const uint8_t *key, int64_t size, oc_error *err)
{
    OC_TRY(grow(self->mem, &self->key_ends, &self->room_groups, self->n_groups + 1,
                (int64_t)sizeof *self->key_ends, err));
    OC_TRY(grow(self->mem, &self->key_bytes, &self->key_room, oci_max64(1, self->key_used + size),
                1, err));
    if (size > 0) {
        memcpy(self->key_bytes + self->key_used, key, (size_t)size);
    }
    self->key_used += size;
    self->key_ends[self->n_groups++] = self->key_used;
    return OC_OK;
}

static bool is_last_key(const sorted_stream *self, const uint8_t *key, int64_t size)
{
    if (self->n_groups == 0) {
        return false;
    }
    int64_t start = self->n_groups > 1 ? self->key_ends[self->n_groups - 2] : 0;
    return self->key_used - start == size &&
           (size == 0 || memcmp(self->key_bytes + start, key, (size_t)size) == 0);
}

static oc_status number_groups(sorted_stream *self, const oci_batch *rows, oc_error *err)
{
    oci_row_keys keys;
    OC_TRY(oci_row_keys_encode(rows, self->keys, self->n_keys, self->mem, NULL, &keys, err));
    oc_status status = OC_OK;
    for (int64_t i = 0; status == OC_OK && i < rows->length; i++) {
        int64_t size;
        const uint8_t *key = oci_row_key_at(&keys, i, &size);
        if (!is_last_key(self, key, size)) {
            status = begin_group(self, key, size, err);
        }
        self->groups[i] = (uint32_t)(self->n_groups - 1);
    }
    oci_row_keys_deinit(&keys);
    return status;
}

/* ---- rows to members ------------------------------------------------------------------------- */

static bool is_true(const oci_column *column, int64_t row)
{
    return !oci_column_is_null(column, row) && oci_bit_get(column->values, column->offset + row);
}

/* Groups of the rows of one class that FILTER lets through. */
static void select_rows(sorted_stream *self, const member *m, int32_t class_number,
                        const oci_batch *rows)
{
    const oci_column *classes = self->class_column >= 0 ? &rows->columns[self->class_column] : NULL;
    const oci_column *filter = m->filter >= 0 ? &rows->columns[m->filter] : NULL;
    for (int64_t i = 0; i < rows->length; i++) {
        bool belongs = classes == NULL ||
                       (int32_t)oci_load_le32(classes->values + (classes->offset + i) * 4) ==
                           class_number;
        belongs = belongs && (filter == NULL || is_true(filter, i));
        self->selected[i] = belongs ? self->groups[i] : OCI_GROUP_NONE;
    }
}

static oc_status encode_args(sorted_stream *self, const member *m, const oci_batch *rows,
                             oci_row_keys *keys, oc_error *err)
{
    oci_sort_key by[2] = {{.column = m->args[0]}, {.column = m->args[1]}};
    return oci_row_keys_encode(rows, by, m->n_args, self->mem, NULL, keys, err);
}

/* Takes away rows whose value is that of the row before in the group, and nulls. */
static oc_status drop_repeats(sorted_stream *self, member *m, const oci_row_keys *keys,
                              oc_error *err)
{
    uint32_t before =
        m->has_last ? 0 : OCI_GROUP_NONE; /* the open group is number 0 when a slice begins */
    for (int64_t i = 0; i < keys->length; i++) {
        int64_t size;
        const uint8_t *key = oci_row_key_at(keys, i, &size);
        if (self->selected[i] == OCI_GROUP_NONE) {
            continue;
        }
        bool is_null = key[0] != 0x01; /* the first byte of every value */
        bool repeats = before == self->selected[i] && size == m->last_size &&
                       memcmp(key, m->last, (size_t)size) == 0;
        if (repeats || (is_null && !m->keeps_nulls)) {
            self->selected[i] = OCI_GROUP_NONE;
            continue;
        }
        OC_TRY(grow(self->mem, &m->last, &m->last_room, size, 1, err));
        memcpy(m->last, key, (size_t)size);
        m->last_size = size;
        before = self->selected[i];
    }
    /* The next slice goes on with the last group; values of those before it are no repeats there. */
    m->has_last = before != OCI_GROUP_NONE && before == (uint32_t)(self->n_groups - 1);
    return OC_OK;
}

/* After a refusal: what is below gives memory back when it is asked for some, and then for all. */
static bool ask_others(sorted_stream *self, int64_t *wanted, oci_share_patience *patience)
{
    oci_reservation room = {.mem = self->mem};
    while (*wanted < oci_budget_limit(self->env->budget)) {
        oc_status status = oci_mem_reserve(self->mem, &room, *wanted, NULL);
        oci_reservation_release(&room);
        *wanted *= 4;
        if (status == OC_OK) {
            return true;
        }
    }
    return oci_share_beg(self->env, self->mem, patience);
}

static oc_status reserve_rows(sorted_stream *self, oci_aggregator *aggregator,
                              const oci_column *const *args, int64_t n, oc_error *err)
{
    oc_status status;
    oci_share_patience patience = {0};
    int64_t wanted = oci_env_block_bytes(self->env) * 4;
    do {
        status = aggregator->ops->reserve(aggregator, self->n_groups, args, NULL, n, NULL);
    } while (status == OC_EBUDGET && ask_others(self, &wanted, &patience));
    if (status != OC_OK) {
        OC_SET(err, status, "could not group: out of memory for states");
    }
    return status;
}

static oc_status give_rows(sorted_stream *self, member *m, const oci_batch *rows,
                           const oci_row_keys *keys, oc_error *err)
{
    const oci_column *args[2] = {NULL, NULL};
    for (int32_t a = 0; a < m->n_args; a++) {
        args[a] = &rows->columns[m->args[a]];
    }
    if (m->collector != NULL) {
        return oci_collector_add(m->collector, args[0], keys, self->selected, rows->length,
                                 self->n_groups, err);
    }
    oci_aggregator *aggregator = m->aggregator;
    OC_TRY(reserve_rows(self, aggregator, args, rows->length, err));
    return aggregator->ops->update(aggregator, args, self->selected, rows->length, err);
}

static oc_status feed_member(sorted_stream *self, member *m, const oci_batch *rows, oc_error *err)
{
    if (m->counting >= 0) {
        select_rows(self, m, m->counting, rows);
        OC_TRY(oci_collector_count(m->collector, &rows->columns[m->args[0]], self->selected,
                                   rows->length, self->n_groups, err));
    }
    select_rows(self, m, m->class_number, rows);
    oci_row_keys keys = {0};
    bool needs_keys = m->distinct || m->collector != NULL;
    if (needs_keys) {
        OC_TRY(encode_args(self, m, rows, &keys, err));
    }
    oc_status status = m->distinct ? drop_repeats(self, m, &keys, err) : OC_OK;
    if (status == OC_OK) {
        status = give_rows(self, m, rows, &keys, err);
    }
    oci_row_keys_deinit(&keys);
    return status;
}

/* ---- results --------------------------------------------------------------------------------- */

static oc_status put_columns(oci_batch *batch, int32_t at, oci_batch *from, oc_error *err)
{
    for (int32_t i = 0; i < from->schema->n_fields; i++) {
        batch->columns[at + i] = from->columns[i];
        batch->columns[at + i].field = &batch->schema->fields[at + i];
    }
    return oci_batch_keep(batch, from, err);
}

static oc_status decode_keys(sorted_stream *self, int64_t n, oci_batch **out, oc_error *err)
{
    void *block;
    int64_t bytes = oci_max64(8, n * (int64_t)sizeof(oci_key_ref));
    oci_sort_key *by = calloc((size_t)self->n_keys + 1, sizeof *by);
    if (by == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not make groups: out of memory");
    }
    oc_status status = oci_mem_alloc(self->mem, bytes, &block, err);
    if (status == OC_OK) {
        oci_key_ref *refs = block;
        for (int64_t i = 0; i < n; i++) {
            int64_t start = i > 0 ? self->key_ends[i - 1] : 0;
            refs[i] = (oci_key_ref){self->key_bytes + start, self->key_ends[i] - start};
        }
        status = oci_row_keys_decode(self->key_schema, by, refs, n, self->mem, NULL, out, err);
        oci_mem_free(self->mem, block, bytes);
    }
    free(by);
    return status;
}

static oc_status fill_batch(sorted_stream *self, int64_t n, oci_batch *batch, oc_error *err)
{
    oci_batch *made;
    OC_TRY(decode_keys(self, n, &made, err));
    OC_TRY(put_columns(batch, 0, made, err));
    for (int64_t i = 0; i < n; i++) {
        self->groups[i] = (uint32_t)i;
    }
    for (int32_t i = 0; i < self->n_members; i++) {
        member *m = &self->members[i];
        if (m->collector != NULL) {
            OC_TRY(oci_collector_finish(m->collector, n, &made, err));
        } else {
            OC_TRY(m->aggregator->ops->finish(m->aggregator, self->groups, n, &made, err));
        }
        OC_TRY(put_columns(batch, self->n_keys + i, made, err));
    }
    return OC_OK;
}

/* Groups 0..n-1 are given out; group n becomes 0. */
static void shift_window(sorted_stream *self, int64_t n)
{
    int64_t gone = self->key_ends[n - 1];
    uint32_t last = (uint32_t)n;
    bool has_open = n < self->n_groups;
    memmove(self->key_bytes, self->key_bytes + gone, (size_t)(self->key_used - gone));
    for (int64_t i = n; i < self->n_groups; i++) {
        self->key_ends[i - n] = self->key_ends[i] - gone;
    }
    self->key_used -= gone;
    self->n_groups -= n;
    for (int32_t i = 0; i < self->n_members; i++) {
        member *m = &self->members[i];
        m->has_last = m->has_last && has_open;
        if (m->collector != NULL) {
            oci_collector_shift(m->collector, n);
        } else if (has_open) {
            m->aggregator->ops->keep(m->aggregator, &last, 1);
        } else {
            m->aggregator->ops->clear(m->aggregator);
        }
    }
}

static oc_status give_groups(sorted_stream *self, int64_t n, oci_batch **out, oc_error *err)
{
    oci_column *columns = calloc((size_t)self->base.schema->n_fields + 1, sizeof *columns);
    oci_batch *batch;
    if (columns == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not make groups: out of memory");
    }
    OC_TRY(oci_batch_adopt(self->base.schema, n, columns, NULL, NULL, 0, NULL, 0, &batch, err));
    oc_status status = fill_batch(self, n, batch, err);
    if (status != OC_OK) {
        oci_batch_release(batch);
        return status;
    }
    shift_window(self, n);
    *out = batch;
    return OC_OK;
}

/* ---- the stream ------------------------------------------------------------------------------ */

/* Makes sure that aggregators know of all groups, also of those none of whose rows they took. */
static oc_status reserve_all(sorted_stream *self, oc_error *err)
{
    for (int32_t i = 0; i < self->n_members; i++) {
        oci_aggregator *aggregator = self->members[i].aggregator;
        if (aggregator != NULL) {
            OC_TRY(reserve_rows(self, aggregator, NULL, 0, err));
        }
    }
    return OC_OK;
}

static oc_status take_slice(sorted_stream *self, oc_error *err)
{
    oci_batch *rows;
    int64_t most = oci_min64(SLICE_ROWS, self->env->batch_rows);
    int64_t n = oci_min64(most, self->batch->length - self->at);
    OC_TRY(oci_batch_slice(self->batch, self->at, n, &rows, err));
    oc_status status = number_groups(self, rows, err);
    for (int32_t i = 0; status == OC_OK && i < self->n_members; i++) {
        status = feed_member(self, &self->members[i], rows, err);
    }
    oci_batch_release(rows);
    OC_TRY(status);
    self->at += n;
    if (self->at == self->batch->length) {
        oci_batch_release(self->batch);
        self->batch = NULL;
    }
    return OC_OK;
}

static oc_status end_rows(sorted_stream *self, oci_batch **out, oc_error *err)
{
    self->is_ended = true;
    if (self->is_single && self->n_groups == 0) {
        OC_TRY(begin_group(self, NULL, 0, err));
    }
    if (self->n_groups == 0) {
        return OC_OK;
    }
    OC_TRY(reserve_all(self, err));
    return give_groups(self, self->n_groups, out, err);
}

static oc_status next_groups(sorted_stream *self, oci_batch **out, oc_error *err)
{
    while (*out == NULL && !self->is_ended) {
        OC_TRY(oci_env_tick(self->env, err));
        if (self->batch == NULL) {
            OC_TRY(oci_stream_next(self->rows, &self->batch, err));
            self->at = 0;
            if (self->batch == NULL) {
                return end_rows(self, out, err);
            }
        }
        OC_TRY(take_slice(self, err));
        if (self->n_groups > 1) {
            OC_TRY(reserve_all(self, err));
            OC_TRY(give_groups(self, self->n_groups - 1, out, err));
        }
    }
    return OC_OK;
}

static void name_limit(const sorted_stream *self, oc_error *err)
{
    char limit_text[OCI_BYTES_TEXT];
    char enough_text[OCI_BYTES_TEXT];
    int64_t limit = oci_budget_limit(self->env->budget);
    int64_t request = oci_max64(0, err->needed_bytes - oci_budget_used(self->env->budget));
    int64_t enough = oci_max64(2 * limit, 16 * request + ((int64_t)1 << 20));
    OC_SET(
        err, OC_EBUDGET,
        "could not group: the values of one group do not fit the memory limit of %s; a limit of %s "
        "is enough",
        oci_format_bytes(limit, limit_text), oci_format_bytes_up(enough, enough_text));
    err->needed_bytes = enough;
}

static oc_status sorted_next(oci_stream *stream, oci_batch **out, oc_error *err)
{
    sorted_stream *self = (sorted_stream *)stream;
    *out = NULL;
    if (self->status == OC_OK) {
        self->status = next_groups(self, out, &self->error);
        if (self->status == OC_EBUDGET && strstr(self->error.message, "is enough") == NULL) {
            name_limit(self, &self->error);
        }
    }
    if (self->status != OC_OK && err != NULL) {
        *err = self->error;
    }
    return self->status;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* The input's columns and copies of those that classes order by. */
static oc_status add_copies(const oci_relational *common, const class_list *classes,
                            oci_stream *input, oci_stream **out, oc_error *err)
{
    int32_t n = input->schema->n_fields + classes->n_order;
    oci_expr **exprs = calloc((size_t)n + 1, sizeof(oci_expr *));
    int32_t *indices = calloc((size_t)n + 1, sizeof *indices);
    oci_schema *schema = NULL;
    oc_status status = exprs == NULL || indices == NULL
                           ? OC_SET(err, OC_ENOMEM, "could not set up a grouping: out of memory")
                           : OC_OK;
    for (int32_t i = 0; status == OC_OK && i < n; i++) {
        indices[i] =
            i < input->schema->n_fields ? i : classes->order[i - input->schema->n_fields].column;
        status = oci_expr_column(input->schema, indices[i], -1, &exprs[i], err);
    }
    if (status == OC_OK) {
        status = oci_schema_select(input->schema, indices, n, &schema, err);
    }
    if (status == OC_OK) {
        status = oci_project_open(common, input, exprs, schema, out, err);
    } else {
        oci_stream_close(input);
    }
    for (int32_t i = 0; exprs != NULL && i < n; i++) {
        oci_expr_release(exprs[i]);
    }
    free(exprs);
    free(indices);
    oci_schema_release(schema);
    return status;
}

static oc_status sets_schema(const oci_schema *rows, oci_schema **out, oc_error *err)
{
    oci_field *fields = calloc((size_t)rows->n_fields + 2, sizeof *fields);
    oc_status status = fields == NULL
                           ? OC_SET(err, OC_ENOMEM, "could not set up a grouping: out of memory")
                           : OC_OK;
    int32_t n = 0;
    for (; status == OC_OK && n < rows->n_fields; n++) {
        status = oci_field_copy(&rows->fields[n], &fields[n], err);
        fields[n].nullable = true;
    }
    if (status == OC_OK) {
        status = oci_field_init(&fields[n++], "class", OCI_TYPE_INT32, false, err);
    }
    if (status != OC_OK) {
        for (int32_t i = 0; fields != NULL && i + 1 < n; i++) {
            oci_field_deinit(&fields[i]);
        }
        free(fields);
        return status;
    }
    return oci_schema_create(fields, n, NULL, 0, out, err);
}

/* Each row once per class. */
static oc_status multiply_rows(const oci_relational *common, const oci_group_plan *plan,
                               const class_list *classes, int32_t n_input, oci_stream *input,
                               oci_stream **out, oc_error *err)
{
    int32_t n = input->schema->n_fields;
    if (n > COLUMNS_MAX) {
        oci_stream_close(input);
        OC_FAIL(err, OC_EUNSUPPORTED,
                "aggregates that want their rows in different orders are supported for up to %d "
                "columns, not %d",
                COLUMNS_MAX, n);
    }
    uint64_t keys = 0;
    for (int32_t k = 0; k < plan->n_keys; k++) {
        keys |= UINT64_C(1) << plan->keys[k];
    }
    uint64_t *sets = calloc((size_t)classes->n + 1, sizeof *sets);
    oci_schema *schema = NULL;
    oc_status status = sets == NULL
                           ? OC_SET(err, OC_ENOMEM, "could not set up a grouping: out of memory")
                           : sets_schema(input->schema, &schema, err);
    for (int32_t i = 0; status == OC_OK && i < classes->n; i++) {
        const group_class *c = &classes->items[i];
        sets[i] = keys | c->columns;
        for (int32_t k = 0; k < c->n_order; k++) {
            sets[i] |= UINT64_C(1) << (n_input + c->first_order + k);
        }
    }
    if (status == OC_OK) {
        status = oci_sets_open(common, input, sets, classes->n, n, schema, out, err);
    } else {
        oci_stream_close(input);
    }
    free(sets);
    oci_schema_release(schema);
    return status;
}

static oc_status sort_rows(const oci_env *env, oci_spill_manager *manager,
                           const oci_group_plan *plan, const class_list *classes, int32_t n_input,
                           oci_stream *input, oci_stream **out, oc_error *err)
{
    bool several = classes->n > 1;
    int32_t n = 0;
    oci_sort_key *keys = calloc((size_t)plan->n_keys + (size_t)classes->n_order + 2, sizeof *keys);
    if (keys == NULL) {
        oci_stream_close(input);
        OC_FAIL(err, OC_ENOMEM, "could not set up a grouping: out of memory");
    }
    for (int32_t k = 0; k < plan->n_keys; k++) {
        keys[n++] = (oci_sort_key){.column = plan->keys[k]};
    }
    if (several) {
        keys[n++] = (oci_sort_key){.column = input->schema->n_fields - 1};
    }
    for (int32_t i = 0; i < classes->n_order; i++) {
        keys[n] = classes->order[i];
        keys[n++].column = n_input + i;
    }
    oc_status status = oci_sort_open(env, manager, input, keys, n, -1, out, err);
    free(keys);
    return status;
}

static oc_status make_members(sorted_stream *self, const oci_group_plan *plan,
                              const class_list *classes, const oci_schema *input, oc_error *err)
{
    self->members = calloc((size_t)plan->n_aggregates + 1, sizeof *self->members);
    if (self->members == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up a grouping: out of memory");
    }
    for (int32_t i = 0; i < plan->n_aggregates; i++) {
        oci_aggregate a = plan->aggregates[i];
        member *m = &self->members[i];
        *m = (member){.n_args = a.n_args,
                      .args = {a.args[0], a.args[1]},
                      .filter = a.filter,
                      .class_number = classes->of[i],
                      .counting = classes->counting[i],
                      .distinct = a.distinct && !oci_aggregate_is_mergeable(&a),
                      .keeps_nulls = a.kind == OCI_AGG_ARRAY_AGG};
        self->n_members = i + 1;
        if (a.kind > OCI_AGG_MERGEABLE_END) {
            OC_TRY(oci_collector_create(&a, input, self->mem, &m->collector, err));
        } else {
            a.distinct = false;
            a.n_order = 0;
            OC_TRY(oci_aggregator_create(&a, input, self->mem, &m->aggregator, err));
        }
    }
    return OC_OK;
}

static oc_status open_rows(sorted_stream *self, oci_spill_manager *manager, oci_stream *input,
                           const oci_group_plan *plan, const class_list *classes, oc_error *err)
{
    int32_t n_input = input->schema->n_fields;
    bool several = classes->n > 1;
    if (classes->n_order > 0) {
        OC_TRY(add_copies(&self->common, classes, input, &input, err));
    }
    if (several) {
        OC_TRY(multiply_rows(&self->common, plan, classes, n_input, input, &input, err));
        self->class_column = input->schema->n_fields - 1;
    }
    if (several || classes->n_order > 0 || (plan->n_keys > 0 && !plan->is_ordered)) {
        OC_TRY(sort_rows(self->env, manager, plan, classes, n_input, input, &input, err));
    }
    self->rows = input;
    return OC_OK;
}

static oc_status init(sorted_stream *self, const oci_schema *input, const oci_group_plan *plan,
                      const class_list *classes, oc_error *err)
{
    OC_TRY(oci_group_schema(input, plan, &self->base.schema, err));
    OC_TRY(oci_mem_open(self->env->budget, "group", &self->mem, err));
    self->common = (oci_relational){.env = self->env, .mem = self->mem};
    self->n_keys = plan->n_keys;
    self->is_single = plan->n_keys == 0;
    self->class_column = -1;
    self->keys = calloc((size_t)plan->n_keys + 1, sizeof *self->keys);
    if (self->keys == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up a grouping: out of memory");
    }
    for (int32_t k = 0; k < plan->n_keys; k++) {
        self->keys[k].column = plan->keys[k];
    }
    OC_TRY(oci_row_keys_schema(input, self->keys, self->n_keys, &self->key_schema, err));
    OC_TRY(make_members(self, plan, classes, input, err));
    void *block;
    OC_TRY(oci_mem_alloc(self->mem, 2 * SLICE_ROWS * (int64_t)sizeof *self->groups, &block, err));
    self->groups = block;
    self->selected = self->groups + SLICE_ROWS;
    return OC_OK;
}

oc_status oci_group_sorted_open(const oci_env *env, oci_spill_manager *manager, oci_stream *input,
                                const oci_group_plan *plan, oci_stream **out, oc_error *err)
{
    class_list classes = {0};
    sorted_stream *self = calloc(1, sizeof *self);
    oc_status status = self == NULL
                           ? OC_SET(err, OC_ENOMEM, "could not set up a grouping: out of memory")
                           : make_classes(plan, &classes, err);
    if (status == OC_OK) {
        self->base.next = sorted_next;
        self->base.close = sorted_close;
        self->env = env;
        status = init(self, input->schema, plan, &classes, err);
    }
    if (status == OC_OK) {
        status = open_rows(self, manager, input, plan, &classes, err);
    } else {
        oci_stream_close(input);
    }
    free_classes(&classes);
    if (status != OC_OK) {
        if (self != NULL) {
            sorted_close(&self->base);
        }
        return status;
    }
    *out = &self->base;
    return OC_OK;
}
