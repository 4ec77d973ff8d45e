/* Dates, timestamps and intervals made out of parts, their differences, time zones: make_date, age,
 * date_diff, justify_*, timezone and the like.
 *
 * AT TIME ZONE knows UTC and fixed offsets, which count as in ISO 8601: +02:00 is ahead of UTC.
 * What a call carries (a field, an offset) is malloc'ed with the statement. */
#include <math.h>
#include <stdlib.h>
#include <strings.h>

#include "expr/cast.h"
#include "expr/function_table.h"
#include "expr/kernel.h"
#include "expr/moment.h"
#include "formats/calendar.h"
#include "formats/parse_value.h"

static oc_status out_of_range(const char *function, oc_error *err)
{
    OC_FAIL(err, OC_EINVAL, "%s: the result, or a part of it, is out of range", function);
}

static const oci_field *type_of(const oci_call *call, int32_t arg)
{
    return call->args[arg].column.field;
}

static oci_moment moment_at(const oci_call *call, int32_t arg, int64_t i)
{
    const oci_field *type = type_of(call, arg);
    return oci_moment_load(type, oci_arg_at(call, arg, i, type->byte_width), 0);
}

/* ---- making ---------------------------------------------------------------------------------- */

OCI_BIND(bind_make_date, "iii", OCI_TYPE_DATE32)
OCI_BIND(bind_make_timestamp, "iiiiid", OCI_TYPE_TIMESTAMP)

/* The day of a date; false when there is none. Negative years are BC. */
static bool day_of(int64_t year, int64_t month, int64_t day, int64_t *out)
{
    year += year < 0;
    if (year < -5000000 || year > 5000000 || month < 1 || month > 12 || day < 1 ||
        day > oci_days_of_month(year, (int32_t)month)) {
        return false;
    }
    *out = oci_days_of_date((oci_date){year, (int32_t)month, (int32_t)day});
    return true;
}

static oc_status make_date_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    int64_t year = oci_arg_int64(call, 0, i);
    if (year == 0 || !day_of(year, oci_arg_int64(call, 1, i), oci_arg_int64(call, 2, i), out)) {
        OC_FAIL(err, OC_EINVAL, "make_date: there is no date %" PRId64 "-%" PRId64 "-%" PRId64,
                year, oci_arg_int64(call, 1, i), oci_arg_int64(call, 2, i));
    }
    return OC_OK;
}

static oc_status make_date(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_int(call, make_date_row, out, err);
}

static oc_status make_timestamp_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    oci_moment moment = {0};
    int64_t hour = oci_arg_int64(call, 3, i);
    int64_t minute = oci_arg_int64(call, 4, i);
    double second = oci_arg_double(call, 5, i);
    bool good = oci_arg_int64(call, 0, i) != 0 &&
                day_of(oci_arg_int64(call, 0, i), oci_arg_int64(call, 1, i),
                       oci_arg_int64(call, 2, i), &moment.day) &&
                hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 && second < 60;
    if (good) {
        moment.nanos = (hour * 3600 + minute * 60) * OCI_NANOS_PER_SECOND +
                       (int64_t)llround(second * 1e6) * 1000;
        good = oci_moment_store(call->result, moment, out);
    }
    if (!good) {
        OC_FAIL(err, OC_EINVAL, "make_timestamp: there is no such date and time");
    }
    return OC_OK;
}

static oc_status make_timestamp(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_int(call, make_timestamp_row, out, err);
}

static bool bind_epoch(oci_signature *s, bool *failed, oc_error *err)
{
    static char utc[] = "UTC";
    (void)failed, (void)err;
    if (!oci_type_is_number(s->args[0].type) && s->args[0].type != OCI_TYPE_NULL) {
        return false;
    }
    (void)oci_bind_shape(s, "d", OCI_TYPE_TIMESTAMP);
    s->result.timezone = utc;
    return true;
}

static oc_status epoch_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    double seconds = oci_arg_double(call, 0, i);
    if (!(fabs(seconds) < 9.2e12)) {
        return out_of_range("to_timestamp", err);
    }
    *out = (int64_t)llround(seconds * 1e6);
    return OC_OK;
}

static oc_status to_timestamp(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_int(call, epoch_row, out, err);
}

/* The last day of the month. */
OCI_BIND(bind_last_day, "D", OCI_TYPE_DATE32)

static bool bind_last_day_of(oci_signature *s, bool *failed, oc_error *err)
{
    bool is_timestamp = s->args[0].type == OCI_TYPE_TIMESTAMP;
    oci_field given = s->args[0];
    (void)bind_last_day(s, failed, err);
    if (is_timestamp) {
        s->args[0] = given;
    }
    return true;
}

static oc_status last_day_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    (void)err;
    oci_date date = oci_date_of_days(moment_at(call, 0, i).day);
    date.day = oci_days_of_month(date.year, date.month);
    *out = oci_days_of_date(date);
    return OC_OK;
}

static oc_status last_day(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_int(call, last_day_row, out, err);
}

/* ---- age, date_diff -------------------------------------------------------------------------- */

OCI_BIND(bind_age, "TT", OCI_TYPE_INTERVAL_MONTH_DAY_NANO)

static bool is_before(oci_moment a, oci_moment b)
{
    return a.day < b.day || (a.day == b.day && a.nanos < b.nanos);
}

/* Years, months, days and time between two moments, as people count them. */
static oci_interval age_between(oci_moment from, oci_moment to)
{
    oci_date a = oci_date_of_days(from.day);
    oci_date b = oci_date_of_days(to.day);
    oci_interval age = {
        .months = (b.year - a.year) * 12 + b.month - a.month,
        .days = b.day - a.day,
        .nanos = to.nanos - from.nanos,
    };
    if (age.nanos < 0) {
        age.nanos += OCI_NANOS_PER_DAY;
        age.days--;
    }
    if (age.days < 0) {
        age.days += oci_days_of_month(a.year, a.month);
        age.months--;
    }
    return age;
}

static oc_status age(const oci_call *call, oci_vector *out, oc_error *err)
{
    uint8_t *values;
    OC_TRY(oci_vector_make(call->result, call->n, false, call->mem, out, &values, NULL, err));
    for (int64_t i = 0; i < call->n; i++) {
        oci_interval interval = {0};
        if (oci_args_valid(call, i)) {
            oci_moment from = moment_at(call, call->n_args - 1, i);
            oci_moment to = {
                .day = oci_floor_divide(call->now_us, INT64_C(86400000000), &to.nanos)};
            to.nanos = 0;
            to = call->n_args == 2 ? moment_at(call, 0, i) : to;
            bool negative = is_before(to, from);
            interval = negative ? age_between(to, from) : age_between(from, to);
            if (negative) {
                interval = (oci_interval){-interval.months, -interval.days, -interval.nanos};
            }
        }
        if (!oci_interval_store(&interval, values, i)) {
            oci_vector_deinit(out);
            return out_of_range("age", err);
        }
    }
    return OC_OK;
}

/* date_diff(field, from, to): how many borders of the field lie between. */
static bool bind_diff(oci_signature *s, bool *failed, oc_error *err)
{
    const uint8_t *text;
    int64_t length;
    oci_time_field field;
    oci_moment moment = {0};
    if (!oci_constant_text(s, 0, &text, &length)) {
        return false;
    }
    if (!oci_time_field_parse(text, length, &field) || !oci_moment_truncate(&moment, field)) {
        OC_SET(err, OC_EINVAL,
               "date_diff: cannot count in \"%.*s\"; there are year, quarter, month, "
               "week, day, hour, minute, second and others",
               (int)oci_min64(length, 40), (const char *)text);
        *failed = true;
        return false;
    }
    oci_time_field *data = malloc(sizeof *data);
    if (data == NULL) {
        OC_SET(err, OC_ENOMEM, "could not make an expression: out of memory");
        *failed = true;
        return false;
    }
    *data = field;
    s->data = data;
    s->free_data = free;
    (void)oci_bind_shape(s, "tTT", OCI_TYPE_INT64);
    return true;
}

/* What is counted in, as a running number. */
static bool number_of(oci_moment moment, oci_time_field field, int64_t *out)
{
    (void)oci_moment_truncate(&moment, field);
    oci_date date = oci_date_of_days(moment.day);
    int64_t rest;
    int64_t years = field == OCI_FIELD_DECADE       ? 10
                    : field == OCI_FIELD_CENTURY    ? 100
                    : field == OCI_FIELD_MILLENNIUM ? 1000
                                                    : 1;
    switch (field) {
    case OCI_FIELD_YEAR:
    case OCI_FIELD_ISOYEAR:
    case OCI_FIELD_DECADE:
    case OCI_FIELD_CENTURY:
    case OCI_FIELD_MILLENNIUM:
        /* An ISO year may begin in the last days of the year before. */
        date = field == OCI_FIELD_ISOYEAR ? oci_date_of_days(moment.day + 3) : date;
        *out = oci_floor_divide(date.year, years, &rest);
        return true;
    case OCI_FIELD_QUARTER: *out = date.year * 4 + (date.month - 1) / 3; return true;
    case OCI_FIELD_MONTH: *out = date.year * 12 + date.month - 1; return true;
    case OCI_FIELD_WEEK: *out = oci_floor_divide(moment.day + 3, 7, &rest); return true;
    case OCI_FIELD_DAY: *out = moment.day; return true;
    default: break;
    }
    int64_t nanos = field == OCI_FIELD_HOUR          ? 3600 * OCI_NANOS_PER_SECOND
                    : field == OCI_FIELD_MINUTE      ? 60 * OCI_NANOS_PER_SECOND
                    : field == OCI_FIELD_SECOND      ? OCI_NANOS_PER_SECOND
                    : field == OCI_FIELD_MILLISECOND ? 1000000
                    : field == OCI_FIELD_MICROSECOND ? 1000
                                                     : 1;
    return oci_mul64(moment.day, OCI_NANOS_PER_DAY / nanos, out) &&
           oci_add64(*out, moment.nanos / nanos, out);
}

static oc_status diff_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    oci_time_field field = *(const oci_time_field *)call->data;
    int64_t from;
    int64_t to;
    if (!number_of(moment_at(call, 1, i), field, &from) ||
        !number_of(moment_at(call, 2, i), field, &to) || !oci_sub64(to, from, out)) {
        return out_of_range("date_diff", err);
    }
    return OC_OK;
}

static oc_status date_diff(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_int(call, diff_row, out, err);
}

/* ---- intervals ------------------------------------------------------------------------------- */

OCI_BIND(bind_interval, "I", OCI_TYPE_INTERVAL_MONTH_DAY_NANO)

/* Moves whole units up, and makes signs agree: 35 days are 1 month 5 days, 27 hours 1 day 3 hours. */
static void carry(int64_t *from, int64_t unit, int64_t *to)
{
    *to += *from / unit;
    *from %= unit;
}

/* Small units of the other sign than the large ones; `rest` tells the sign when there are none. */
static void agree(int64_t *small, int64_t rest, int64_t unit, int64_t *large)
{
    int64_t sign = *small != 0 ? *small : rest;
    if (*large > 0 && sign < 0) {
        *small += unit;
        --*large;
    } else if (*large < 0 && sign > 0) {
        *small -= unit;
        ++*large;
    }
}

static oc_status justify(const oci_call *call, bool hours, bool days, oci_vector *out,
                         oc_error *err)
{
    uint8_t *values;
    OC_TRY(oci_vector_make(call->result, call->n, false, call->mem, out, &values, NULL, err));
    for (int64_t i = 0; i < call->n; i++) {
        oci_interval interval;
        oci_interval_load(type_of(call, 0), oci_arg_at(call, 0, i, 16), 0, &interval);
        if (hours) {
            carry(&interval.nanos, OCI_NANOS_PER_DAY, &interval.days);
        }
        if (days) {
            carry(&interval.days, 30, &interval.months);
            agree(&interval.days, hours ? interval.nanos : 0, 30, &interval.months);
        }
        if (hours) {
            agree(&interval.nanos, 0, OCI_NANOS_PER_DAY, &interval.days);
        }
        if (!oci_interval_store(&interval, values, i) && oci_args_valid(call, i)) {
            oci_vector_deinit(out);
            return out_of_range("justify_interval", err);
        }
    }
    return OC_OK;
}

static oc_status justify_hours(const oci_call *call, oci_vector *out, oc_error *err)
{
    return justify(call, true, false, out, err);
}

static oc_status justify_days(const oci_call *call, oci_vector *out, oc_error *err)
{
    return justify(call, false, true, out, err);
}

static oc_status justify_interval(const oci_call *call, oci_vector *out, oc_error *err)
{
    return justify(call, true, true, out, err);
}

/* ---- time zones ------------------------------------------------------------------------------ */

static bool zone_offset(const uint8_t *text, int64_t length, int32_t *seconds)
{
    char name[40];
    if (length >= (int64_t)sizeof name) {
        return false;
    }
    memcpy(name, text, (size_t)length);
    name[length] = '\0';
    bool is_utc = strcasecmp(name, "utc") == 0 || strcasecmp(name, "gmt") == 0 ||
                  strcasecmp(name, "z") == 0 || strcasecmp(name, "etc/utc") == 0;
    oci_zone zone = oci_zone_of(is_utc ? "UTC" : name);
    *seconds = zone.offset_seconds;
    return zone.kind == OCI_ZONE_FIXED;
}

/* timezone(zone, timestamp): of a timestamp without zone the moment that it is there, of one with a
 * zone the local time there. */
static bool bind_zone(oci_signature *s, bool *failed, oc_error *err)
{
    static char utc[] = "UTC";
    const uint8_t *text;
    int64_t length;
    int32_t seconds;
    if (!oci_constant_text(s, 0, &text, &length) || !oci_bind_shape(s, "tT", OCI_TYPE_TIMESTAMP)) {
        return false;
    }
    int32_t *data = malloc(sizeof *data);
    if (data == NULL || !zone_offset(text, length, &seconds)) {
        free(data);
        *failed = true;
        OC_SET(err, data == NULL ? OC_ENOMEM : OC_EUNSUPPORTED,
               "time zone \"%.*s\": only UTC and fixed offsets such as '+02:00' are known here",
               (int)oci_min64(length, 40), (const char *)text);
        return false;
    }
    s->result = s->args[1];
    s->result.timezone = s->args[1].timezone == NULL ? utc : NULL;
    *data = seconds;
    s->data = data;
    s->free_data = free;
    return true;
}

static oc_status zone_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    int64_t sign = call->result->timezone == NULL ? 1 : -1;
    int64_t by = sign * *(const int32_t *)call->data * oci_units_per_second(call->result->unit);
    if (!oci_add64(oci_arg_int64(call, 1, i), by, out)) {
        return out_of_range("timezone", err);
    }
    return OC_OK;
}

static oc_status timezone_of(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_int(call, zone_row, out, err);
}

/* ---- other names of operators ---------------------------------------------------------------- */

static bool bind_operator(oci_signature *s, const char *name, bool *failed, oc_error *err)
{
    for (const oci_function *f = oci_functions_arithmetic; f->name != NULL; f++) {
        if (strcmp(f->name, name) == 0 && f->args_min == 2 && f->bind(s, failed, err)) {
            s->data = (void *)(uintptr_t)f;
            return true;
        }
    }
    return false;
}

static bool is_moment(oci_type type)
{
    return type == OCI_TYPE_DATE32 || type == OCI_TYPE_DATE64 || type == OCI_TYPE_TIMESTAMP;
}

static bool bind_date_add(oci_signature *s, bool *failed, oc_error *err)
{
    return is_moment(s->args[0].type) && bind_operator(s, "+", failed, err);
}

static bool bind_date_sub(oci_signature *s, bool *failed, oc_error *err)
{
    return is_moment(s->args[0].type) && bind_operator(s, "-", failed, err);
}

static oc_status by_operator(const oci_call *call, oci_vector *out, oc_error *err)
{
    const oci_function *entry = call->data;
    return entry->kernel(call, out, err);
}

/* Dates and timestamps have no infinities here. */
static bool bind_finite(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    s->result = oci_expr_type(OCI_TYPE_BOOL);
    return is_moment(s->args[0].type) || s->args[0].type == OCI_TYPE_INTERVAL_MONTH_DAY_NANO;
}

static oc_status finite_row(const oci_call *call, int64_t i, bool *out, oc_error *err)
{
    (void)call, (void)i, (void)err;
    *out = true;
    return OC_OK;
}

static oc_status is_finite(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_bool(call, finite_row, out, err);
}

#define DIFF_HELP "date_diff(field, from, to) -> bigint, borders of the field in between"

const oci_function oci_functions_calendar[] = {
    OCI_STRICT("make_date", 3, 3, bind_make_date, make_date, "make_date(year, month, day) -> date"),
    OCI_STRICT("make_timestamp", 6, 6, bind_make_timestamp, make_timestamp,
               "make_timestamp(year, month, day, hour, minute, second) -> timestamp"),
    OCI_STRICT("to_timestamp", 1, 1, bind_epoch, to_timestamp,
               "to_timestamp(seconds since 1970) -> timestamp with time zone"),
    OCI_STRICT("last_day", 1, 1, bind_last_day_of, last_day,
               "last_day(date) -> date, of the month"),
    OCI_STRICT("age", 2, 2, bind_age, age, "age(timestamp, timestamp) -> interval"),
    {.name = "age",
     .args_min = 1,
     .args_max = 1,
     .strict = true,
     .is_stable = true,
     .bind = bind_age,
     .kernel = age,
     .help = "age(timestamp) -> interval, up to today"},
    OCI_STRICT("date_diff", 3, 3, bind_diff, date_diff, DIFF_HELP),
    OCI_STRICT("datediff", 3, 3, bind_diff, date_diff, DIFF_HELP),
    OCI_STRICT("justify_hours", 1, 1, bind_interval, justify_hours, "justify_hours(interval)"),
    OCI_STRICT("justify_days", 1, 1, bind_interval, justify_days, "justify_days(interval)"),
    OCI_STRICT("justify_interval", 1, 1, bind_interval, justify_interval,
               "justify_interval(interval)"),
    OCI_STRICT("timezone", 2, 2, bind_zone, timezone_of, "timezone(zone, timestamp)"),
    OCI_STRICT("date_add", 2, 2, bind_date_add, by_operator, "date_add(timestamp, interval)"),
    OCI_STRICT("date_sub", 2, 2, bind_date_sub, by_operator, "date_sub(timestamp, interval)"),
    OCI_STRICT("isfinite", 1, 1, bind_finite, is_finite, "isfinite(date or timestamp) -> boolean"),
    {.name = NULL},
};
