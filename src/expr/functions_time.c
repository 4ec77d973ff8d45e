/* extract, date_part, date_trunc, date_bin, and what the time is. See moment.h for time zones.
 *
 * extract() gives bigint where PostgreSQL gives a numeric without digits behind the point, and a
 * decimal for seconds, milliseconds and epoch; date_part() a double, as there. */
#include <stdlib.h>

#include "expr/cast.h"
#include "expr/function_table.h"
#include "expr/kernel.h"
#include "expr/moment.h"
#include "expr/number.h"

static bool is_date(oci_type type)
{
    return type == OCI_TYPE_DATE32 || type == OCI_TYPE_DATE64;
}

static bool is_time(oci_type type)
{
    return type == OCI_TYPE_TIME32 || type == OCI_TYPE_TIME64;
}

static bool is_interval(oci_type type)
{
    return type >= OCI_TYPE_INTERVAL_MONTHS && type <= OCI_TYPE_INTERVAL_MONTH_DAY_NANO;
}

/* ---- binding --------------------------------------------------------------------------------- */

/* The field lives in a table: nothing to free. */
static const oci_time_field fields[OCI_FIELD_COUNT] = {
    OCI_FIELD_NANOSECOND, OCI_FIELD_MICROSECOND, OCI_FIELD_MILLISECOND, OCI_FIELD_SECOND,
    OCI_FIELD_MINUTE,     OCI_FIELD_HOUR,        OCI_FIELD_DAY,         OCI_FIELD_WEEK,
    OCI_FIELD_MONTH,      OCI_FIELD_QUARTER,     OCI_FIELD_YEAR,        OCI_FIELD_DECADE,
    OCI_FIELD_CENTURY,    OCI_FIELD_MILLENNIUM,  OCI_FIELD_EPOCH,       OCI_FIELD_DOW,
    OCI_FIELD_ISODOW,     OCI_FIELD_DOY,         OCI_FIELD_ISOYEAR,     OCI_FIELD_JULIAN,
    OCI_FIELD_TIMEZONE,
};

static void set_field(oci_signature *s, oci_time_field field)
{
    s->data = (void *)(uintptr_t)&fields[field];
}

static oci_time_field field_of(const oci_call *call)
{
    return *(const oci_time_field *)call->data;
}

/* What a field is taken from becomes a date, timestamp, time or interval of one form. */
static bool settle_source(oci_field *arg, bool is_literal)
{
    if (is_literal || arg->type == OCI_TYPE_NULL) {
        *arg = oci_expr_type(OCI_TYPE_TIMESTAMP);
    } else if (is_interval(arg->type)) {
        *arg = oci_expr_type(OCI_TYPE_INTERVAL_MONTH_DAY_NANO);
    } else if (arg->type == OCI_TYPE_DATE64) {
        *arg = oci_expr_type(OCI_TYPE_DATE32);
    }
    return is_date(arg->type) || arg->type == OCI_TYPE_TIMESTAMP || is_time(arg->type) ||
           is_interval(arg->type);
}

static bool parse_field(oci_signature *s, const char *function, oci_time_field *out, bool *failed,
                        oc_error *err)
{
    const uint8_t *text;
    int64_t length;
    if (!oci_constant_text(s, 0, &text, &length)) {
        OC_SET(err, OC_EINVAL, "%s: the field must be a constant text such as 'year'", function);
        *failed = true;
        return false;
    }
    if (!oci_time_field_parse(text, length, out)) {
        OC_SET(err, OC_EINVAL,
               "%s: there is no field \"%.*s\"; there are year, month, day, hour, "
               "minute, second, quarter, week, epoch, dow, doy and others",
               function, (int)oci_min64(length, 40), (const char *)text);
        *failed = true;
        return false;
    }
    s->args[0] = oci_expr_type(OCI_TYPE_UTF8);
    return true;
}

static bool has_field(oci_type type, oci_time_field field)
{
    bool below_day = field <= OCI_FIELD_HOUR;
    if (type == OCI_TYPE_DATE32) {
        return !below_day && field != OCI_FIELD_TIMEZONE;
    }
    if (is_time(type)) {
        return below_day || field == OCI_FIELD_EPOCH;
    }
    return !is_interval(type) || field <= OCI_FIELD_EPOCH;
}

static oci_field type_of_field(oci_type source, oci_time_field field)
{
    bool is_whole = source == OCI_TYPE_DATE32;
    switch (field) {
    case OCI_FIELD_SECOND: return oci_expr_decimal(8, 6);
    case OCI_FIELD_MILLISECOND: return oci_expr_decimal(11, 3);
    case OCI_FIELD_EPOCH: return is_whole ? oci_expr_type(OCI_TYPE_INT64) : oci_expr_decimal(26, 6);
    default: return oci_expr_type(OCI_TYPE_INT64);
    }
}

static bool bind_field(oci_signature *s, int32_t source, oci_time_field field, bool *failed,
                       oc_error *err)
{
    oci_field *arg = &s->args[source];
    if (!settle_source(arg, s->is_literal[source])) {
        return false;
    }
    if (!has_field(arg->type, field)) {
        char type[64];
        oci_type_sql_name(arg, type, sizeof type);
        OC_SET(err, OC_EINVAL, "extract: a value of type %s has no field %s", type,
               oci_time_field_name(field));
        *failed = true;
        return false;
    }
    set_field(s, field);
    s->result = type_of_field(arg->type, field);
    return true;
}

static bool bind_extract(oci_signature *s, bool *failed, oc_error *err)
{
    oci_time_field field;
    return parse_field(s, "extract", &field, failed, err) && bind_field(s, 1, field, failed, err);
}

static bool bind_date_part(oci_signature *s, bool *failed, oc_error *err)
{
    if (!bind_extract(s, failed, err)) {
        return false;
    }
    s->result = oci_expr_type(OCI_TYPE_FLOAT64);
    return true;
}

#define BIND_PART(name, field)                                      \
    static bool name(oci_signature *s, bool *failed, oc_error *err) \
    {                                                               \
        return bind_field(s, 0, (field), failed, err);              \
    }

BIND_PART(bind_year, OCI_FIELD_YEAR)
BIND_PART(bind_quarter, OCI_FIELD_QUARTER)
BIND_PART(bind_month, OCI_FIELD_MONTH)
BIND_PART(bind_week, OCI_FIELD_WEEK)
BIND_PART(bind_day, OCI_FIELD_DAY)
BIND_PART(bind_dow, OCI_FIELD_DOW)
BIND_PART(bind_doy, OCI_FIELD_DOY)
BIND_PART(bind_hour, OCI_FIELD_HOUR)
BIND_PART(bind_minute, OCI_FIELD_MINUTE)
BIND_PART(bind_epoch, OCI_FIELD_EPOCH)

/* ---- extract --------------------------------------------------------------------------------- */

/* A field times its scale: 6 digits of seconds and epoch, 3 of milliseconds, else none. */
static oci_int128 scaled_field(const oci_call *call, int32_t source, oci_time_field field,
                               int64_t i, int64_t *scale)
{
    const oci_field *type = call->args[source].column.field;
    int64_t whole = 0;
    oci_time_field finer = field == OCI_FIELD_SECOND        ? OCI_FIELD_MICROSECOND
                           : field == OCI_FIELD_MILLISECOND ? OCI_FIELD_MICROSECOND
                                                            : field;
    *scale = field == OCI_FIELD_SECOND || field == OCI_FIELD_EPOCH ? 1000000
             : field == OCI_FIELD_MILLISECOND                      ? 1000
                                                                   : 1;
    int64_t nanos;
    if (is_interval(type->type)) {
        oci_interval interval;
        oci_interval_load(type, oci_arg_at(call, source, i, 16), 0, &interval);
        (void)oci_interval_field(&interval, finer, &whole);
        nanos = interval.nanos;
    } else {
        oci_moment moment = oci_moment_load(type, oci_arg_at(call, source, i, type->byte_width), 0);
        if (field == OCI_FIELD_TIMEZONE) {
            return type->timezone == NULL ? 0 : oci_zone_seconds(type->timezone);
        }
        whole = oci_moment_field(moment, finer);
        nanos = moment.nanos;
        if (field == OCI_FIELD_EPOCH && type->timezone != NULL) {
            whole -= oci_zone_seconds(type->timezone);
        }
    }
    if (field == OCI_FIELD_EPOCH) {
        if (type->type == OCI_TYPE_DATE32) {
            *scale = 1;
            return whole;
        }
        int64_t parts = nanos % OCI_NANOS_PER_SECOND / 1000;
        return (oci_int128)whole * 1000000 + parts; /* seconds may fill 64 bits alone */
    }
    return whole;
}

/* The source is the last argument. */
static oc_status extract(const oci_call *call, oci_vector *out, oc_error *err)
{
    uint8_t *values;
    int32_t source = call->n_args - 1;
    int32_t width = call->result->byte_width;
    OC_TRY(oci_vector_make(call->result, call->n, false, call->mem, out, &values, NULL, err));
    for (int64_t i = 0; i < call->n; i++) {
        int64_t scale = 1;
        oci_int128 value =
            oci_args_valid(call, i) ? scaled_field(call, source, field_of(call), i, &scale) : 0;
        if (call->result->type == OCI_TYPE_FLOAT64) {
            double real = (double)value / (double)scale;
            memcpy(values + i * 8, &real, sizeof real);
        } else if (width == 16) {
            oci_store_int128(values + i * 16, value);
        } else {
            oci_store_le64(values + i * 8, (uint64_t)value);
        }
    }
    return OC_OK;
}

/* ---- date_trunc, date_bin -------------------------------------------------------------------- */

static bool bind_trunc(oci_signature *s, bool *failed, oc_error *err)
{
    oci_time_field field;
    if (!parse_field(s, "date_trunc", &field, failed, err)) {
        return false;
    }
    if (!settle_source(&s->args[1], s->is_literal[1]) || is_time(s->args[1].type)) {
        return false;
    }
    if (is_date(s->args[1].type)) {
        s->args[1] = oci_expr_type(OCI_TYPE_TIMESTAMP);
    }
    oci_moment moment = {0};
    oci_interval interval = {0};
    if (is_interval(s->args[1].type) ? !oci_interval_truncate(&interval, field)
                                     : !oci_moment_truncate(&moment, field)) {
        OC_SET(err, OC_EINVAL, "date_trunc: cannot cut to %s", oci_time_field_name(field));
        *failed = true;
        return false;
    }
    set_field(s, field);
    s->result = s->args[1];
    return true;
}

static oc_status trunc_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    oci_moment moment = oci_moment_load(call->result, oci_arg_at(call, 1, i, 8), 0);
    (void)oci_moment_truncate(&moment, field_of(call));
    if (!oci_moment_store(call->result, moment, out)) {
        OC_FAIL(err, OC_EINVAL, "date_trunc: timestamp out of range");
    }
    return OC_OK;
}

static oc_status trunc_intervals(const oci_call *call, oci_vector *out, oc_error *err)
{
    uint8_t *values;
    OC_TRY(oci_vector_make(call->result, call->n, false, call->mem, out, &values, NULL, err));
    for (int64_t i = 0; i < call->n; i++) {
        oci_interval interval;
        oci_interval_load(call->result, oci_arg_at(call, 1, i, 16), 0, &interval);
        (void)oci_interval_truncate(&interval, field_of(call));
        (void)oci_interval_store(&interval, values, i);
    }
    return OC_OK;
}

static oc_status date_trunc(const oci_call *call, oci_vector *out, oc_error *err)
{
    return is_interval(call->result->type) ? trunc_intervals(call, out, err)
                                           : oci_each_int(call, trunc_row, out, err);
}

/* date_bin(stride, source [, origin]) */
static bool bind_bin(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    (void)oci_bind_shape(s, "ITT", OCI_TYPE_TIMESTAMP);
    s->result = s->args[1];
    if (s->n_args == 3) {
        s->args[2] = s->args[1];
    }
    return true;
}

static oc_status bin_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    oci_interval stride;
    int64_t units = oci_units_per_second(call->result->unit);
    int64_t size;
    int64_t source = oci_arg_int64(call, 1, i);
    int64_t origin = call->n_args == 3 ? oci_arg_int64(call, 2, i) : 0;
    oci_interval_load(call->args[0].column.field, oci_arg_at(call, 0, i, 16), 0, &stride);
    if (stride.months != 0) {
        OC_FAIL(err, OC_EINVAL, "date_bin: a stride cannot have months or years; use date_trunc");
    }
    if (!oci_mul64(stride.days, OCI_NANOS_PER_DAY, &size) ||
        !oci_add64(size, stride.nanos, &size) || size / (OCI_NANOS_PER_SECOND / units) <= 0) {
        OC_FAIL(err, OC_EINVAL, "date_bin: a stride must be positive, and not too long");
    }
    size /= OCI_NANOS_PER_SECOND / units;
    int64_t distance;
    if (!oci_sub64(source, origin, &distance)) {
        OC_FAIL(err, OC_EINVAL, "date_bin: timestamp out of range");
    }
    int64_t rest = distance % size;
    *out = source - (rest < 0 ? rest + size : rest);
    return OC_OK;
}

static oc_status date_bin(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_int(call, bin_row, out, err);
}

/* ---- now ------------------------------------------------------------------------------------- */

static bool bind_now(oci_signature *s, bool *failed, oc_error *err)
{
    static char utc[] = "UTC";
    (void)failed, (void)err;
    s->result = oci_expr_type(OCI_TYPE_TIMESTAMP);
    s->result.timezone = utc;
    return true;
}

OCI_BIND(bind_local_now, "", OCI_TYPE_TIMESTAMP)
OCI_BIND(bind_today, "", OCI_TYPE_DATE32)

static oc_status now_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    (void)i, (void)err;
    *out = call->now_us;
    return OC_OK;
}

static oc_status today_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    (void)i, (void)err;
    oci_field micros = oci_expr_type(OCI_TYPE_TIMESTAMP);
    uint8_t value[8];
    oci_store_le64(value, (uint64_t)call->now_us);
    *out = oci_moment_load(&micros, value, 0).day;
    return OC_OK;
}

static oc_status now(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_int(call, now_row, out, err);
}

static oc_status today(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_int(call, today_row, out, err);
}

#define NOW(name_, bind_, kernel_, help_)                                                         \
    {                                                                                             \
        .name = (name_), .strict = true, .is_stable = true, .bind = (bind_), .kernel = (kernel_), \
        .help = (help_)                                                                           \
    }
#define PART(name_, bind_) \
    OCI_STRICT(name_, 1, 1, bind_, extract, name_ "(date, timestamp or interval) -> bigint")

const oci_function oci_functions_time[] = {
    OCI_STRICT("extract", 2, 2, bind_extract, extract, "extract(field from value) -> number"),
    OCI_STRICT("date_part", 2, 2, bind_date_part, extract, "date_part(field, value) -> double"),
    OCI_STRICT("datepart", 2, 2, bind_date_part, extract, "datepart(field, value) -> double"),
    PART("year", bind_year),
    PART("quarter", bind_quarter),
    PART("month", bind_month),
    PART("week", bind_week),
    PART("day", bind_day),
    PART("dayofmonth", bind_day),
    PART("dayofweek", bind_dow),
    PART("dayofyear", bind_doy),
    PART("hour", bind_hour),
    PART("minute", bind_minute),
    PART("epoch", bind_epoch),
    OCI_STRICT("date_trunc", 2, 2, bind_trunc, date_trunc, "date_trunc(field, timestamp)"),
    OCI_STRICT("datetrunc", 2, 2, bind_trunc, date_trunc, "datetrunc(field, timestamp)"),
    OCI_STRICT("date_bin", 2, 3, bind_bin, date_bin, "date_bin(stride, timestamp [, origin])"),
    OCI_STRICT("time_bucket", 2, 3, bind_bin, date_bin,
               "time_bucket(stride, timestamp [, origin])"),
    NOW("now", bind_now, now, "now() -> timestamp with time zone, of the start of the statement"),
    NOW("current_timestamp", bind_now, now, "current_timestamp -> timestamp with time zone"),
    NOW("localtimestamp", bind_local_now, now, "localtimestamp -> timestamp, in UTC"),
    NOW("current_date", bind_today, today, "current_date -> date, in UTC"),
    NOW("today", bind_today, today, "today() -> date, in UTC"),
    {.name = NULL},
};
