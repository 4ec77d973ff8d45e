/* Sums and averages of floats, and what is made of sums of values and of their products: variance, standard
 * deviation, covariance, correlation. All sums are exact (exact_sum.h), a product as the two doubles that make it up
 * exactly (fma; T. J. Dekker's two-product), so results do not depend on the order of rows.
 *
 * A state is a count, flags for NaN and infinities, and one sum after the other. Their windows are common to all
 * groups: when values ask for a wider one, states are laid out anew by reserve(). State columns: count, flags, and
 * each sum as bytes. The struct comes from malloc. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/aggregate/aggregate_internal.h"
#include "ops/aggregate/exact_sum.h"

enum {
    SUMS_MAX = 5,
    SUM_X = 0,  /* of every kind */
    SUM_XX = 1, /* VAR, STDDEV */
    SUM_Y = 1,  /* COVAR, CORR */
    SUM_XY = 2,
    CORR_XX = 3,
    CORR_YY = 4,
    FLAG_NAN = 1,
    FLAG_PLUS = 2, /* an infinity was added */
    FLAG_MINUS = 4,
    NORMALISE_EVERY = 1 << 28
};

typedef struct head {
    int64_t count;
    int64_t flags;
} head;

typedef struct moments {
    oci_aggregator base; /* must be first */
    oci_aggregate_kind kind;
    int32_t n_args;
    int32_t n_sums;
    oci_field args[2]; /* simple types of the values; nothing owned */
    double scales[2];  /* a decimal is divided by this */
    oci_exact_window windows[SUMS_MAX];
    oci_state_store states;
} moments;

static int32_t sums_of(oci_aggregate_kind kind)
{
    switch (kind) {
    case OCI_AGG_SUM:
    case OCI_AGG_AVG: return 1;
    case OCI_AGG_COVAR_SAMP:
    case OCI_AGG_COVAR_POP: return 3;
    case OCI_AGG_CORR: return 5;
    default: return 2;
    }
}

static int64_t state_bytes(const oci_exact_window *windows, int32_t n)
{
    int64_t digits = 0;
    for (int32_t i = 0; i < n; i++) {
        digits += windows[i].n;
    }
    return (int64_t)sizeof(head) + digits * (int64_t)sizeof(int64_t);
}

static int64_t *digits_of(const oci_exact_window *windows, void *state, int32_t sum)
{
    int64_t *digits = (int64_t *)((head *)state + 1);
    for (int32_t i = 0; i < sum; i++) {
        digits += windows[i].n;
    }
    return digits;
}

/* ---- what a row adds ------------------------------------------------------------------------- */

/* Up to two doubles for each sum. */
typedef struct addends {
    double of[SUMS_MAX][2];
    int64_t flags;
} addends;

static int64_t flags_of(double value)
{
    return isnan(value) ? FLAG_NAN : !isinf(value) ? 0 : value > 0 ? FLAG_PLUS : FLAG_MINUS;
}

static void multiply(addends *a, int32_t sum, double x, double y)
{
    double product = x * y;
    a->flags |= flags_of(product);
    a->of[sum][0] = product;
    a->of[sum][1] = isfinite(product) ? fma(x, y, -product) : 0;
}

static void make_addends(const moments *self, double x, double y, addends *a)
{
    a->flags = flags_of(x) | flags_of(y);
    a->of[SUM_X][0] = x;
    a->of[SUM_X][1] = 0;
    if (self->n_sums == 2) {
        multiply(a, SUM_XX, x, x);
    } else if (self->n_sums > 2) {
        a->of[SUM_Y][0] = y;
        a->of[SUM_Y][1] = 0;
        multiply(a, SUM_XY, x, y);
    }
    if (self->n_sums == 5) {
        multiply(a, CORR_XX, x, x);
        multiply(a, CORR_YY, y, y);
    }
}

static double decimal_to_double(const oci_field *field, const uint8_t *values, int64_t at)
{
    int64_t width = field->byte_width;
    const uint8_t *from = values + at * width;
    double value = (double)(int32_t)oci_load_le32(from + width - 4);
    for (int64_t i = width - 8; i >= 0; i -= 4) {
        value = value * 4294967296.0 + (double)oci_load_le32(from + i);
    }
    return value;
}

static double load_value(const moments *self, int32_t arg, const oci_column *leaf, int64_t at)
{
    const oci_field *field = &self->args[arg];
    if (field->type >= OCI_TYPE_DECIMAL32 && field->type <= OCI_TYPE_DECIMAL256) {
        return decimal_to_double(field, leaf->values, at) / self->scales[arg];
    }
    return oci_agg_load_double(field, leaf->values, at);
}

/* The values of a row; false when one is null. */
static inline bool load_row(const moments *self, const oci_column *const *args, int64_t i,
                            double *x, double *y)
{
    const oci_column *leaf = args[0];
    int64_t at = oci_agg_value_at(args[0], oci_agg_is_plain(args[0]), i, &leaf);
    if (at < 0) {
        return false;
    }
    *x = load_value(self, 0, leaf, at);
    if (self->n_args == 1) {
        *y = 0;
        return true;
    }
    leaf = args[1];
    at = oci_agg_value_at(args[1], oci_agg_is_plain(args[1]), i, &leaf);
    if (at >= 0) {
        *y = load_value(self, 1, leaf, at);
    }
    return at >= 0;
}

/* ---- room ------------------------------------------------------------------------------------ */

static void widen_by_rows(const moments *self, const oci_column *const *args, int64_t n,
                          oci_exact_window *windows)
{
    addends a = {0};
    double x;
    double y;
    for (int64_t i = 0; i < n; i++) {
        if (!load_row(self, args, i, &x, &y)) {
            continue;
        }
        make_addends(self, x, y, &a);
        for (int32_t s = 0; s < self->n_sums; s++) {
            windows[s] = oci_exact_widen(oci_exact_widen(windows[s], a.of[s][0]), a.of[s][1]);
        }
    }
}

static const uint8_t *stored_sum(const oci_column *state, int32_t sum, int64_t i, int64_t *size)
{
    return oci_column_bytes_at(&state[2 + sum], i, size);
}

static oc_status widen_by_states(const moments *self, const oci_column *state, int64_t n,
                                 oci_exact_window *windows, oc_error *err)
{
    for (int32_t s = 0; s < self->n_sums; s++) {
        for (int64_t i = 0; i < n; i++) {
            int64_t size;
            const uint8_t *bytes = stored_sum(state, s, i, &size);
            oci_exact_window window;
            if (!oci_exact_stored_window(bytes, size, &window)) {
                OC_FAIL(err, OC_EDATA, "a spilled sum is damaged");
            }
            window.n += window.n > 0 ? 2 : 0; /* for sums of sums */
            windows[s] = oci_exact_union(windows[s], window);
        }
    }
    return OC_OK;
}

/* Lays the states out for wider windows. */
static oc_status move_states(moments *self, const oci_exact_window *windows, int64_t n_groups)
{
    oci_state_store wider;
    oci_state_store_init(&wider, state_bytes(windows, self->n_sums), self->base.mem);
    int64_t n = self->states.n_segments << self->states.shift;
    oc_status status = oci_state_store_reserve(&wider, n > n_groups ? n : n_groups);
    if (status != OC_OK) {
        oci_state_store_clear(&wider);
        return status;
    }
    for (int64_t g = 0; g < n; g++) {
        void *from = oci_state_at(&self->states, g);
        void *to = oci_state_at(&wider, g);
        *(head *)to = *(head *)from;
        for (int32_t s = 0; s < self->n_sums; s++) {
            oci_exact_move(self->windows[s], digits_of(self->windows, from, s), windows[s],
                           digits_of(windows, to, s));
        }
    }
    oci_state_store_clear(&self->states);
    self->states = wider;
    memcpy(self->windows, windows, sizeof self->windows);
    return OC_OK;
}

static oc_status moments_reserve(oci_aggregator *base, int64_t n_groups,
                                 const oci_column *const *args, const oci_column *state, int64_t n,
                                 oc_error *err)
{
    moments *self = (moments *)base;
    oci_exact_window windows[SUMS_MAX];
    memcpy(windows, self->windows, sizeof windows);
    if (state != NULL) {
        OC_TRY(widen_by_states(self, state, n, windows, err));
    } else if (args != NULL) {
        widen_by_rows(self, args, n, windows);
    }
    return memcmp(windows, self->windows, sizeof windows) == 0
               ? oci_state_store_reserve(&self->states, n_groups)
               : move_states(self, windows, n_groups);
}

/* ---- adding ---------------------------------------------------------------------------------- */

static void normalise(const moments *self, void *state)
{
    for (int32_t s = 0; s < self->n_sums; s++) {
        oci_exact_normalise(self->windows[s], digits_of(self->windows, state, s));
    }
}

static void add_row(const moments *self, head *state, double x, double y)
{
    addends a = {0};
    make_addends(self, x, y, &a);
    state->flags |= a.flags;
    int64_t *digits = (int64_t *)(state + 1);
    for (int32_t s = 0; s < self->n_sums; s++) {
        oci_exact_add(self->windows[s], digits, a.of[s][0]);
        oci_exact_add(self->windows[s], digits, a.of[s][1]);
        digits += self->windows[s].n;
    }
    if (++state->count % NORMALISE_EVERY == 0) {
        normalise(self, state);
    }
}

static oc_status moments_update(oci_aggregator *base, const oci_column *const *args,
                                const uint32_t *groups, int64_t n, oc_error *err)
{
    (void)err;
    moments *self = (moments *)base;
    double x;
    double y;
    for (int64_t i = 0; i < n; i++) {
        if (groups[i] != OCI_GROUP_NONE && load_row(self, args, i, &x, &y)) {
            add_row(self, oci_state_at(&self->states, groups[i]), x, y);
        }
    }
    return OC_OK;
}

static oc_status moments_merge(oci_aggregator *base, const oci_column *state,
                               const uint32_t *groups, int64_t n, oc_error *err)
{
    (void)err;
    moments *self = (moments *)base;
    for (int64_t i = 0; i < n; i++) {
        head *to = oci_state_at(&self->states, groups[i]);
        normalise(self, to);
        to->count += (int64_t)oci_load_le64(state[0].values + (state[0].offset + i) * 8);
        to->flags |= (int32_t)oci_load_le32(state[1].values + (state[1].offset + i) * 4);
        for (int32_t s = 0; s < self->n_sums; s++) {
            int64_t size;
            const uint8_t *bytes = stored_sum(state, s, i, &size);
            oci_exact_add_stored(self->windows[s], digits_of(self->windows, to, s), bytes, size);
        }
    }
    return OC_OK;
}

/* ---- states as columns ----------------------------------------------------------------------- */

static int64_t sum_bytes_max(const moments *self, int32_t sum)
{
    return 1 + 4 * ((int64_t)self->windows[sum].n + 1);
}

static int64_t moments_partial_bytes(const oci_aggregator *base, const uint32_t *groups, int64_t n)
{
    (void)groups;
    const moments *self = (const moments *)base;
    int64_t bytes = oci_agg_column_bytes(&base->states->fields[0], n, 0) +
                    oci_agg_column_bytes(&base->states->fields[1], n, 0);
    for (int32_t s = 0; s < self->n_sums; s++) {
        bytes += oci_agg_column_bytes(&base->states->fields[2 + s], n, n * sum_bytes_max(self, s));
    }
    return bytes;
}

static void write_sums(moments *self, int32_t sum, const uint32_t *groups, int64_t n,
                       oci_agg_writer *writer)
{
    uint8_t *offsets;
    uint8_t *text;
    int32_t at = 0;
    (void)oci_agg_writer_column(writer, n * sum_bytes_max(self, sum), &offsets, &text);
    for (int64_t i = 0; i < n; i++) {
        void *state = oci_state_at(&self->states, groups[i]);
        at += (int32_t)oci_exact_store(self->windows[sum], digits_of(self->windows, state, sum),
                                       text + at);
        oci_store_le32(offsets + (i + 1) * 4, (uint32_t)at);
    }
}

static oc_status moments_partial(oci_aggregator *base, const uint32_t *groups, int64_t n,
                                 oci_batch **out, oc_error *err)
{
    moments *self = (moments *)base;
    oci_agg_writer writer;
    uint8_t *counts;
    uint8_t *flags;
    OC_TRY(oci_agg_writer_open(&writer, base->states, base->mem, n,
                               moments_partial_bytes(base, groups, n), err));
    (void)oci_agg_writer_column(&writer, 0, &counts, NULL);
    (void)oci_agg_writer_column(&writer, 0, &flags, NULL);
    for (int64_t i = 0; i < n; i++) {
        head *state = oci_state_at(&self->states, groups[i]);
        normalise(self, state);
        oci_store_le64(counts + i * 8, (uint64_t)state->count);
        oci_store_le32(flags + i * 4, (uint32_t)state->flags);
    }
    for (int32_t s = 0; s < self->n_sums; s++) {
        write_sums(self, s, groups, n, &writer);
    }
    return oci_agg_writer_finish(&writer, out, err);
}

/* ---- results --------------------------------------------------------------------------------- */

static double special(int64_t flags)
{
    bool is_nan = (flags & FLAG_NAN) != 0 || (flags & FLAG_PLUS && flags & FLAG_MINUS);
    return is_nan ? (double)NAN : flags & FLAG_PLUS ? (double)INFINITY : -(double)INFINITY;
}

static oci_exact_real value_of(const moments *self, void *state, int32_t sum)
{
    return oci_exact_value(self->windows[sum], digits_of(self->windows, state, sum));
}

/* The sum of products about the means: Sxy - Sx Sy / n. */
static oci_exact_real about_mean(const moments *self, void *state, int32_t x, int32_t y, int32_t xy)
{
    oci_exact_real n = (oci_exact_real)((head *)state)->count;
    oci_exact_real sum = value_of(self, state, xy) -
                         value_of(self, state, x) * value_of(self, state, y) / n;
    return x == y && sum < 0 ? 0 : sum;
}

/* false: NULL. */
static bool correlation(const moments *self, void *state, double *out)
{
    oci_exact_real xy = about_mean(self, state, SUM_X, SUM_Y, SUM_XY);
    double xx = (double)about_mean(self, state, SUM_X, SUM_X, CORR_XX);
    double yy = (double)about_mean(self, state, SUM_Y, SUM_Y, CORR_YY);
    if (xx <= 0 || yy <= 0) {
        return false;
    }
    double r = (double)xy / (sqrt(xx) * sqrt(yy));
    *out = r > 1 ? 1 : r < -1 ? -1 : r;
    return true;
}

static bool spread(const moments *self, void *state, double *out)
{
    int64_t n = ((head *)state)->count;
    bool is_pair = self->n_args == 2;
    bool is_sample = self->kind == OCI_AGG_VAR_SAMP || self->kind == OCI_AGG_STDDEV_SAMP ||
                     self->kind == OCI_AGG_COVAR_SAMP;
    bool is_deviation = self->kind == OCI_AGG_STDDEV_SAMP || self->kind == OCI_AGG_STDDEV_POP;
    if (is_sample && n < 2) {
        return false;
    }
    oci_exact_real sum = is_pair ? about_mean(self, state, SUM_X, SUM_Y, SUM_XY)
                                 : about_mean(self, state, SUM_X, SUM_X, SUM_XX);
    double variance = (double)(sum / (oci_exact_real)(is_sample ? n - 1 : n));
    *out = is_deviation ? sqrt(variance) : variance;
    return true;
}

static bool finish_one(const moments *self, head *state, double *out)
{
    if (state->count == 0) {
        return false;
    }
    bool is_sum = self->kind == OCI_AGG_SUM || self->kind == OCI_AGG_AVG;
    if (state->flags != 0) {
        *out = is_sum ? special(state->flags) : (double)NAN;
        return true;
    }
    normalise(self, state);
    if (is_sum) {
        *out = oci_exact_round(self->windows[0], digits_of(self->windows, state, 0));
        *out = self->kind == OCI_AGG_AVG ? *out / (double)state->count : *out;
        return true;
    }
    return self->kind == OCI_AGG_CORR ? correlation(self, state, out) : spread(self, state, out);
}

static int64_t moments_finish_bytes(const oci_aggregator *base, const uint32_t *groups, int64_t n)
{
    (void)groups;
    return oci_agg_column_bytes(&base->result->fields[0], n, 0);
}

static oc_status moments_finish(oci_aggregator *base, const uint32_t *groups, int64_t n,
                                oci_batch **out, oc_error *err)
{
    moments *self = (moments *)base;
    oci_agg_writer writer;
    uint8_t *values;
    OC_TRY(oci_agg_writer_open(&writer, base->result, base->mem, n,
                               moments_finish_bytes(base, groups, n), err));
    oci_column *column = oci_agg_writer_column(&writer, 0, &values, NULL);
    for (int64_t i = 0; i < n; i++) {
        head *state = oci_state_at(&self->states, groups[i]);
        double value = 0;
        if (!finish_one(self, state, &value)) {
            oci_agg_set_null(column, i);
        } else if (isinf(value) && state->flags == 0) {
            oci_agg_writer_abandon(&writer);
            OC_FAIL(err, OC_EINVAL, "%s is out of range: it does not fit double precision",
                    self->kind == OCI_AGG_SUM ? "a sum" : "an average or a variance");
        }
        memcpy(values + i * 8, &value, sizeof value);
    }
    return oci_agg_writer_finish(&writer, out, err);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void moments_keep(oci_aggregator *base, const uint32_t *kept, int64_t n)
{
    oci_state_store_keep(&((moments *)base)->states, kept, n);
}

static void moments_clear(oci_aggregator *base)
{
    oci_state_store_clear(&((moments *)base)->states);
}

static void moments_destroy(oci_aggregator *base)
{
    moments_clear(base);
    oci_agg_deinit(base);
    free(base);
}

static const oci_aggregator_ops moments_ops = {
    .reserve = moments_reserve,
    .update = moments_update,
    .merge = moments_merge,
    .partial_bytes = moments_partial_bytes,
    .partial = moments_partial,
    .finish_bytes = moments_finish_bytes,
    .finish = moments_finish,
    .keep = moments_keep,
    .clear = moments_clear,
    .destroy = moments_destroy,
};

oc_status oci_agg_create_moments(const oci_aggregate *aggregate, const oci_schema *input,
                                 oci_mem *mem, oci_aggregator **out, oc_error *err)
{
    moments *self = calloc(1, sizeof *self);
    if (self == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up an aggregate: out of memory");
    }
    self->kind = aggregate->kind;
    self->n_args = aggregate->n_args;
    self->n_sums = sums_of(aggregate->kind);
    for (int32_t a = 0; a < aggregate->n_args && a < 2; a++) {
        const oci_field *arg = oci_agg_value_field(&input->fields[aggregate->args[a]]);
        self->args[a] = oci_agg_field(arg->type, arg->precision, arg->scale);
        self->scales[a] = 1;
        for (int32_t i = 0; i < arg->scale; i++) {
            self->scales[a] *= 10;
        }
    }
    oci_state_store_init(&self->states, (int64_t)sizeof(head), mem);
    oci_field states[2 + SUMS_MAX] = {oci_agg_field(OCI_TYPE_INT64, 0, 0),
                                      oci_agg_field(OCI_TYPE_INT32, 0, 0)};
    for (int32_t s = 0; s < self->n_sums; s++) {
        states[2 + s] = oci_agg_field(OCI_TYPE_BINARY, 0, 0);
    }
    oc_status status = oci_agg_init(&self->base, aggregate, input, &moments_ops, mem, states,
                                    2 + self->n_sums, err);
    if (status != OC_OK) {
        moments_destroy(&self->base);
        return status;
    }
    *out = &self->base;
    return OC_OK;
}
