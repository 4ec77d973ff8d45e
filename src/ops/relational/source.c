/* Operators without input: values and series. Structs come from malloc, one per operator. */
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "expr/interval.h"
#include "ops/relational/relational.h"

/* ---- values ---------------------------------------------------------------------------------- */

typedef struct values_stream {
    oci_stream base; /* must be first */
    oci_relational common;
    oci_expr **exprs;
    int64_t n_rows;
    int64_t at;
} values_stream;

static oc_status values_next(oci_stream *stream, oci_batch **out, oc_error *err)
{
    values_stream *self = (values_stream *)stream;
    int32_t n_columns = self->base.schema->n_fields;
    *out = NULL;
    if (self->at == self->n_rows) {
        return OC_OK;
    }
    OC_TRY(oci_env_tick(self->common.env, err));
    oci_eval_context context = {
        .mem = self->common.mem, .now_us = self->common.now_us, .cancel = self->common.env->cancel};
    oci_batch *row;
    OC_TRY(oci_batch_without_columns(1, NULL, NULL, 0, &row, err));
    oc_status status = oci_expr_project(&context, self->exprs + self->at * n_columns,
                                        self->base.schema, row, out, err);
    oci_batch_release(row);
    self->at++;
    return status;
}

static void values_close(oci_stream *stream)
{
    values_stream *self = (values_stream *)stream;
    for (int64_t i = 0; i < self->n_rows * self->base.schema->n_fields; i++) {
        oci_expr_release(self->exprs[i]);
    }
    oci_schema_release(self->base.schema);
    free(self->exprs);
    free(self);
}

oc_status oci_values_open(const oci_relational *common, oci_expr *const *exprs, int64_t n_rows,
                          oci_schema *schema, oci_stream **out, oc_error *err)
{
    int64_t n = n_rows * schema->n_fields;
    values_stream *self = calloc(1, sizeof *self);
    oci_expr **list = calloc((size_t)n + 1, sizeof(oci_expr *));
    if (self == NULL || list == NULL) {
        free(self);
        free(list);
        OC_FAIL(err, OC_ENOMEM, "could not set up an operator: out of memory");
    }
    for (int64_t i = 0; i < n; i++) {
        list[i] = oci_expr_retain(exprs[i]);
    }
    self->base = (oci_stream){
        .schema = oci_schema_retain(schema), .next = values_next, .close = values_close};
    self->common = *common;
    self->exprs = list;
    self->n_rows = n_rows;
    *out = &self->base;
    return OC_OK;
}

/* ---- series ---------------------------------------------------------------------------------- */

typedef struct series_stream {
    oci_stream base; /* must be first */
    oci_relational common;
    int64_t start;
    int64_t stop;
    int64_t step;
    oci_interval by; /* of timestamps */
    bool is_moments;
    bool is_up;
    bool is_ended;
    int64_t
        at; /* the next value; by multiples of the interval from the start, so that months do not drift */
    int64_t count;
} series_stream;

#define MICROS_PER_DAY INT64_C(86400000000)

/* start + count * by, in microseconds. */
static bool moment_at(const series_stream *self, int64_t count, int64_t *out)
{
    int64_t months;
    int64_t days;
    int64_t nanos;
    if (!oci_mul64(self->by.months, count, &months) || !oci_mul64(self->by.days, count, &days) ||
        !oci_mul64(self->by.nanos, count, &nanos) || months > 1200000 || months < -1200000) {
        return false;
    }
    int64_t day = self->start / MICROS_PER_DAY - (self->start % MICROS_PER_DAY < 0);
    int64_t rest = self->start - day * MICROS_PER_DAY;
    day = months != 0 ? oci_add_months(day, months) : day;
    return oci_add64(day, days, &day) && oci_mul64(day, MICROS_PER_DAY, out) &&
           oci_add64(*out, rest, out) && oci_add64(*out, nanos / 1000, out);
}

static bool is_over(const series_stream *self)
{
    return self->is_ended || (self->is_up ? self->at > self->stop : self->at < self->stop);
}

static void advance(series_stream *self)
{
    self->count++;
    bool goes_on = self->is_moments ? moment_at(self, self->count, &self->at)
                                    : oci_add64(self->at, self->step, &self->at);
    self->is_ended = !goes_on;
}

static oc_status series_next(oci_stream *stream, oci_batch **out, oc_error *err)
{
    series_stream *self = (series_stream *)stream;
    *out = NULL;
    if (is_over(self)) {
        return OC_OK;
    }
    OC_TRY(oci_env_tick(self->common.env, err));
    int64_t most =
        oci_min64(self->common.env->batch_rows, oci_env_block_bytes(self->common.env) / 8);
    void *block;
    OC_TRY(oci_mem_alloc(self->common.mem, most * 8, &block, err));
    int64_t n = 0;
    for (; n < most && !is_over(self); n++) {
        oci_store_le64((uint8_t *)block + n * 8, (uint64_t)self->at);
        advance(self);
    }
    oci_column *column = calloc(1, sizeof *column);
    if (column == NULL) {
        oci_mem_free(self->common.mem, block, most * 8);
        OC_FAIL(err, OC_ENOMEM, "could not make a series: out of memory");
    }
    *column = (oci_column){.field = &self->base.schema->fields[0], .length = n, .values = block};
    return oci_batch_adopt(self->base.schema, n, column, self->common.mem, block, most * 8, NULL, 0,
                           out, err);
}

static void series_close(oci_stream *stream)
{
    series_stream *self = (series_stream *)stream;
    oci_schema_release(self->base.schema);
    free(self);
}

/* Bound number i as bytes; false when it is NULL. */
static bool load_bound(oci_expr *const *bounds, int32_t i, void *to, size_t size)
{
    const oci_column *column = &bounds[i]->constant->columns[0];
    if (oci_column_is_null(column, 0)) {
        return false;
    }
    memcpy(to, column->values, size);
    return true;
}

static oc_status set_bounds(series_stream *self, oci_expr *const *bounds, int32_t n, oc_error *err)
{
    uint8_t interval[16];
    self->step = 1;
    bool has_all = load_bound(bounds, 0, &self->start, 8) && load_bound(bounds, 1, &self->stop, 8);
    if (n == 3) {
        has_all = has_all && (self->is_moments ? load_bound(bounds, 2, interval, 16)
                                               : load_bound(bounds, 2, &self->step, 8));
    }
    self->at = self->start;
    self->is_ended = !has_all;
    if (!has_all) {
        return OC_OK;
    }
    self->is_up = self->step > 0;
    bool is_zero = self->step == 0;
    if (self->is_moments) {
        int64_t next = 0;
        oci_interval_load(&bounds[2]->type, interval, 0, &self->by);
        self->is_ended = !moment_at(self, 1, &next);
        is_zero = !self->is_ended && next == self->start;
        self->is_up = next > self->start;
    }
    if (is_zero) {
        OC_FAIL(err, OC_EINVAL, "the step of a series must not be zero");
    }
    return OC_OK;
}

oc_status oci_series_open(const oci_relational *common, oci_expr *const *bounds, int32_t n_bounds,
                          oci_schema *schema, oci_stream **out, oc_error *err)
{
    series_stream *self = calloc(1, sizeof *self);
    if (self == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up an operator: out of memory");
    }
    self->base = (oci_stream){
        .schema = oci_schema_retain(schema), .next = series_next, .close = series_close};
    self->common = *common;
    self->is_moments = schema->fields[0].type == OCI_TYPE_TIMESTAMP;
    oc_status status = set_bounds(self, bounds, n_bounds, err);
    if (status != OC_OK) {
        series_close(&self->base);
        return status;
    }
    *out = &self->base;
    return OC_OK;
}
