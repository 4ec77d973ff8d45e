/* Functions on dates, times and intervals: values as PostgreSQL documents them. */
#include "expr/function_test_support.h"

static oci_expr *stamp(const char *value)
{
    return typed("timestamp", value);
}

static oci_expr *date(const char *value)
{
    return typed("date", value);
}

static oci_expr *interval(const char *value)
{
    return typed("interval", value);
}

static void extract(const char *field, oci_expr *from, const char *expected)
{
    check(call("extract", 2, text(field), from), expected);
}

static void fields_of_timestamps(void **state)
{
    (void)state;
    const char *at = "2001-02-16 20:38:40.12";
    extract("century", stamp("2000-12-16 12:21:13"), "20");
    extract("century", stamp(at), "21");
    extract("day", stamp(at), "16");
    extract("decade", stamp(at), "200");
    extract("dow", stamp(at), "5");
    extract("doy", stamp(at), "47");
    extract("epoch", stamp(at), "982355920.120000");
    extract("hour", stamp(at), "20");
    extract("isodow", stamp("2001-02-18 20:38:40"), "7");
    extract("microseconds", stamp("2001-01-01 17:12:28.5"), "28500000");
    extract("millennium", stamp(at), "3");
    extract("milliseconds", stamp("2001-01-01 17:12:28.5"), "28500.000");
    extract("MINUTE", stamp(at), "38");
    extract("month", stamp(at), "2");
    extract("quarter", stamp(at), "1");
    extract("second", stamp(at), "40.120000");
    extract("year", stamp(at), "2001");
    extract("second", typed("time", "17:12:28.5"), "28.500000");
    extract("epoch", typed("timestamp_s", "+292277026596-12-04 15:30:07"),
            "9223372036854775807.000000");
    extract("year", null(), "null");
    check(call("date_part", 2, text("second"), stamp(at)), "40.12");
    check_fails("no field \"fortnight\"", "extract", 2, text("fortnight"), stamp(at));
}

static void iso_weeks_cross_years(void **state)
{
    (void)state;
    extract("isoyear", date("2006-01-01"), "2005");
    extract("isoyear", date("2006-01-02"), "2006");
    extract("week", date("2005-01-01"), "53");
    extract("week", date("2006-01-01"), "52");
    extract("week", date("2012-12-31"), "1");
    extract("week", date("2001-02-16"), "7");
    extract("dow", date("1969-12-31"), "3");
    extract("epoch", date("1969-12-31"), "-86400");
    extract("julian", date("2006-01-01"), "2453737");
}

static void fields_of_dates_and_intervals(void **state)
{
    (void)state;
    check(call("year", 1, date("1998-12-01")), "1998");
    check(call("month", 1, date("1998-12-01")), "12");
    check_fails("has no field hour", "extract", 2, text("hour"), date("1998-12-01"));
    extract("month", interval("2 years 13 months"), "1");
    extract("year", interval("2 years 13 months"), "3");
    extract("epoch", interval("5 days 3 hours"), "442800.000000");
    extract("day", interval("40 days 1 minute"), "40");
}

static void date_trunc(const char *field, const char *value, const char *expected)
{
    check(call("date_trunc", 2, text(field), stamp(value)), expected);
}

static void timestamps_are_cut(void **state)
{
    (void)state;
    date_trunc("hour", "2001-02-16 20:38:40", "2001-02-16 20:00:00");
    date_trunc("year", "2001-02-16 20:38:40", "2001-01-01 00:00:00");
    date_trunc("quarter", "2001-08-16 20:38:40", "2001-07-01 00:00:00");
    date_trunc("week", "2001-02-16 20:38:40", "2001-02-12 00:00:00");
    date_trunc("second", "1969-12-31 23:59:59.9", "1969-12-31 23:59:59");
    date_trunc("century", "2001-02-16 20:38:40", "2001-01-01 00:00:00");
    date_trunc("decade", "2001-02-16 20:38:40", "2000-01-01 00:00:00");
    check(call("date_trunc", 2, text("month"), date("2001-02-16")), "2001-02-01 00:00:00");
    check(call("date_trunc", 2, text("hour"), interval("3 days 02:47:33")), "3 days 02:00:00");
    check_fails("cannot cut", "date_trunc", 2, text("epoch"), stamp("2001-02-16"));
}

static void timestamps_go_into_bins(void **state)
{
    (void)state;
    check(call("date_bin", 3, interval("15 minutes"), stamp("2020-02-11 15:44:17"),
               stamp("2001-01-01")),
          "2020-02-11 15:30:00");
    check(call("date_bin", 3, interval("15 minutes"), stamp("2020-02-11 15:44:17"),
               stamp("2001-01-01 00:02:30")),
          "2020-02-11 15:32:30");
    check(call("date_bin", 2, interval("1 day"), stamp("1969-12-31 12:00:00")),
          "1969-12-31 00:00:00");
    check_fails("months", "date_bin", 2, interval("1 month"), stamp("2020-02-11"));
    check_fails("positive", "date_bin", 2, interval("0 days"), stamp("2020-02-11"));
}

static void moments_are_made_of_parts(void **state)
{
    (void)state;
    check(call("make_date", 3, number("2013"), number("7"), number("15")), "2013-07-15");
    check_fails("there is no date", "make_date", 3, number("2013"), number("2"), number("29"));
    check(call("make_timestamp", 6, number("2013"), number("7"), number("15"), number("8"),
               number("15"), number("23.5")),
          "2013-07-15 08:15:23.500000");
    check(call("extract", 2, text("epoch"), call("to_timestamp", 1, number("1284352323.5"))),
          "1284352323.500000");
    check(call("last_day", 1, date("2024-02-03")), "2024-02-29");
}

static void ages_are_counted_as_people_do(void **state)
{
    (void)state;
    check(call("age", 2, stamp("2001-04-10"), stamp("1957-06-13")), "43 years 9 mons 27 days");
    check(call("age", 2, stamp("1957-06-13"), stamp("2001-04-10")), "-43 years -9 mons -27 days");
    check(call("age", 2, stamp("2024-03-01"), stamp("2024-02-29 12:00:00")), "12:00:00");
}

static void differences_count_borders(void **state)
{
    (void)state;
    check(call("date_diff", 3, text("year"), date("2023-12-31"), date("2024-01-01")), "1");
    check(call("date_diff", 3, text("month"), date("2024-03-01"), date("2024-01-31")), "-2");
    check(call("date_diff", 3, text("hour"), stamp("2024-01-01 01:59:59"),
               stamp("2024-01-01 03:00:00")),
          "2");
    check(call("date_diff", 3, text("week"), date("1969-12-28"), date("1969-12-29")), "1");
    check(call("date_add", 2, date("2024-01-31"), interval("1 month")), "2024-02-29 00:00:00");
    check(call("date_sub", 2, date("2024-03-31"), interval("1 month")), "2024-02-29 00:00:00");
}

static void intervals_are_justified(void **state)
{
    (void)state;
    check(call("justify_days", 1, interval("1 year 65 days")), "1 year 2 mons 5 days");
    check(call("justify_hours", 1, interval("50 hours 10 minutes")), "2 days 02:10:00");
    check(call("justify_interval", 1, interval("1 mon -1 hour")), "29 days 23:00:00");
}

static void zones_with_fixed_offsets(void **state)
{
    (void)state;
    check(call("extract", 2, text("epoch"),
               call("timezone", 2, text("+02:00"), stamp("1970-01-01 02:00:00"))),
          "0.000000");
    check(call("timezone", 2, text("+01:00"), call("to_timestamp", 1, number("0"))),
          "1970-01-01 01:00:00");
    check(call("timezone", 2, text("utc"), call("to_timestamp", 1, number("0"))),
          "1970-01-01 00:00:00");
    check_fails("Europe/Berlin", "timezone", 2, text("Europe/Berlin"), stamp("1970-01-01"));
}

static void the_time_is_that_of_the_statement(void **state)
{
    (void)state;
    check(call("current_date", 0), "2023-11-14");
    check(call("localtimestamp", 0), "2023-11-14 22:13:20.123456");
    check(call("extract", 2, text("epoch"), call("now", 0)), "1700000000.123456");
    check(call("age", 1, stamp("2023-11-01")), "13 days");
}

static void columns_with_nulls(void **state)
{
    (void)state;
    const char *values[] = {"1995-03-15", NULL, "2000-02-29"};
    const char *years[] = {"1995", NULL, "2000"};
    const char *months[] = {"1995-03-01 00:00:00", NULL, "2000-02-01 00:00:00"};
    oc_error err;
    oci_field type = oci_expr_type(OCI_TYPE_DATE32);
    oci_expr *column = NULL;
    assert_int_equal(oci_expr_cast(column_t(), &type, false, -1, &column, &err), OC_OK);
    check_rows(call("extract", 2, text("year"), oci_expr_retain(column)), values, 3, years);
    check_rows(call("date_trunc", 2, text("month"), column), values, 3, months);
}

static void to_char(oci_expr *value, const char *format, const char *expected)
{
    check(call("to_char", 2, value, text(format)), expected);
}

static void times_are_formatted(void **state)
{
    (void)state;
    const char *at = "2002-04-05 17:31:12.066";
    to_char(stamp(at), "YYYY-MM-DD HH24:MI:SS", "2002-04-05 17:31:12");
    to_char(stamp(at), "HH12:MI:SS", "05:31:12");
    to_char(stamp(at), "Day, DD  HH12:MI:SS", "Friday   , 05  05:31:12");
    to_char(stamp(at), "FMDay, FMDD  HH12:MI:SS", "Friday, 5  05:31:12");
    to_char(stamp(at), "FMMonth DDth, YYYY", "April 05th, 2002");
    to_char(stamp(at), "Mon MON mon Dy", "Apr APR apr Fri");
    to_char(stamp(at), "HH12:MI AM p.m.", "05:31 PM p.m.");
    to_char(stamp(at), "MS US Q IYYY-IW DDD J", "066 066000 2 2002-14 095 2452370");
    to_char(stamp(at), "\"Year\" YYYY", "Year 2002");
    to_char(date("2002-04-01"), "FMDDTH", "1ST");
    check(call("monthname", 1, date("2002-04-01")), "April");
    check(call("dayname", 1, date("2002-04-01")), "Monday");
}

static void times_are_read_by_formats(void **state)
{
    (void)state;
    check(call("to_date", 2, text("05 Dec 2000"), text("DD Mon YYYY")), "2000-12-05");
    check(call("to_date", 2, text("20240229"), text("YYYYMMDD")), "2024-02-29");
    check(call("to_date", 2, text("1999/060"), text("YYYY/DDD")), "1999-03-01");
    check(call("extract", 2, text("epoch"),
               call("to_timestamp", 2, text("1970-01-01 01:00:00.25 PM"),
                    text("YYYY-MM-DD HH12:MI:SS.MS AM"))),
          "46800.250000");
    check_fails("does not fit", "to_date", 2, text("2023-02-29"), text("YYYY-MM-DD"));
    check_fails("does not fit", "to_date", 2, text("x"), text("YYYY"));
}

static void numbers_are_formatted(void **state)
{
    (void)state;
    to_char(number("485"), "999", " 485");
    to_char(call("-", 1, number("485")), "999", "-485");
    to_char(number("1485"), "9,999", " 1,485");
    to_char(number("485"), "9,999", "   485");
    to_char(number("148.5"), "999.999", " 148.500");
    to_char(number("148.5"), "FM999.999", "148.5");
    to_char(number("148.5"), "FM999.990", "148.500");
    to_char(number("485"), "09999", " 00485");
    to_char(number("12"), "FM0000", "0012");
    to_char(call("-", 1, number("0.1")), "99.99", "  -.10");
    to_char(number("0.1"), "0.9", " 0.1");
    to_char(number("12345"), "999", " ###");
    to_char(number("485"), "999S", "485+");
    to_char(call("-", 1, number("485")), "999MI", "485-");
    to_char(number("1234567.891e0"), "FM9,999,999.99", "1,234,567.89");
    check_fails("no format of numbers", "to_char", 2, number("1"), text("abc"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_of_timestamps),
        cmocka_unit_test(iso_weeks_cross_years),
        cmocka_unit_test(fields_of_dates_and_intervals),
        cmocka_unit_test(timestamps_are_cut),
        cmocka_unit_test(timestamps_go_into_bins),
        cmocka_unit_test(moments_are_made_of_parts),
        cmocka_unit_test(ages_are_counted_as_people_do),
        cmocka_unit_test(differences_count_borders),
        cmocka_unit_test(intervals_are_justified),
        cmocka_unit_test(zones_with_fixed_offsets),
        cmocka_unit_test(the_time_is_that_of_the_statement),
        cmocka_unit_test(times_are_formatted),
        cmocka_unit_test(times_are_read_by_formats),
        cmocka_unit_test(numbers_are_formatted),
        cmocka_unit_test(columns_with_nulls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
