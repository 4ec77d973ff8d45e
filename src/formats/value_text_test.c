/* parse_value.h and format_value.h against each other and against known texts. */
#include "formats/format_value.h"

#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats/calendar.h"
#include "formats/parse_value.h"

#define TEXT(s) (const uint8_t *)(s), (int64_t)strlen(s)

static uint64_t next_random(uint64_t *x)
{
    *x += 0x9E3779B97F4A7C15U;
    uint64_t z = *x;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
}

static void integers_are_read_up_to_their_limits(void **state)
{
    (void)state;
    int64_t value;
    uint64_t unsigned_value;
    static const struct {
        const char *text;
        oci_parse_result result;
        int64_t value;
    } cases[] = {
        {"0", OCI_PARSE_OK, 0},
        {"-0", OCI_PARSE_OK, 0},
        {"+17", OCI_PARSE_OK, 17},
        {"9223372036854775807", OCI_PARSE_OK, INT64_MAX},
        {"-9223372036854775808", OCI_PARSE_OK, INT64_MIN},
        {"9223372036854775808", OCI_PARSE_RANGE, 0},
        {"-9223372036854775809", OCI_PARSE_RANGE, 0},
        {"99999999999999999999999", OCI_PARSE_RANGE, 0},
        {"000000000000000000000000000000012", OCI_PARSE_OK, 12},
        {"", OCI_PARSE_SYNTAX, 0},
        {"-", OCI_PARSE_SYNTAX, 0},
        {"1 ", OCI_PARSE_SYNTAX, 0},
        {"1.0", OCI_PARSE_SYNTAX, 0},
        {"0x10", OCI_PARSE_SYNTAX, 0},
        {"9999999999999999999999x", OCI_PARSE_SYNTAX, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        oci_parse_result result = oci_parse_int64(TEXT(cases[i].text), &value);
        assert_int_equal(result, cases[i].result);
        if (result == OCI_PARSE_OK) {
            assert_int_equal(value, cases[i].value);
        }
    }
    assert_int_equal(oci_parse_uint64(TEXT("18446744073709551615"), &unsigned_value), OCI_PARSE_OK);
    assert_true(unsigned_value == UINT64_MAX);
    assert_int_equal(oci_parse_uint64(TEXT("18446744073709551616"), &unsigned_value),
                     OCI_PARSE_RANGE);
    assert_int_equal(oci_parse_uint64(TEXT("-1"), &unsigned_value), OCI_PARSE_RANGE);
    assert_int_equal(oci_parse_int64_strict(TEXT("007"), &value), OCI_PARSE_SPELLING);
    assert_int_equal(oci_parse_int64_strict(TEXT("-0"), &value), OCI_PARSE_SPELLING);
    assert_int_equal(oci_parse_int64_strict(TEXT("+1"), &value), OCI_PARSE_SPELLING);
    assert_int_equal(oci_parse_int64_strict(TEXT("0"), &value), OCI_PARSE_OK);
    assert_int_equal(oci_parse_int64_strict(TEXT("-10"), &value), OCI_PARSE_OK);
}

static void integers_of_every_length_round_trip(void **state)
{
    (void)state;
    uint64_t x = 1;
    for (int i = 0; i < 20000; i++) {
        int64_t value = (int64_t)next_random(&x) >> (i % 64);
        char text[32];
        char want[32];
        char *end = oci_format_int64(value, text);
        snprintf(want, sizeof want, "%lld", (long long)value);
        assert_int_equal(end - text, strlen(want));
        assert_memory_equal(text, want, strlen(want));
        int64_t back;
        assert_int_equal(oci_parse_int64((const uint8_t *)text, end - text, &back), OCI_PARSE_OK);
        assert_int_equal(back, value);
    }
}

static void check_double(double value)
{
    char text[40];
    char *end = oci_format_float64(value, text);
    double back = 0;
    assert_true(end - text <= 32);
    assert_int_equal(oci_parse_float64((const uint8_t *)text, end - text, &back), OCI_PARSE_OK);
    if (memcmp(&back, &value, sizeof back) != 0) {
        fail_msg("%.17g was written as %.*s", value, (int)(end - text), text);
    }
}

static void doubles_round_trip_bit_for_bit(void **state)
{
    (void)state;
    uint64_t x = 2;
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = next_random(&x);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (!isnan(value)) {
            check_double(value);
        }
        check_double((double)(int64_t)(bits >> 20) / 100);
        check_double((double)(int64_t)(bits >> 34) * 1e-7);
        check_double(ldexp(1.0, (int)(bits % 2098) - 1074));
    }
}

static void doubles_are_written_as_short_as_can_be(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {1, "1.0"},
        {-2.5, "-2.5"},
        {0.1, "0.1"},
        {0.3, "0.3"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.0 / 3, "0.3333333333333333"},
        {100, "100.0"},
        {123456789012345678.0, "1.2345678901234568e+17"},
        {1e15, "1000000000000000.0"},
        {1e16, "1e+16"},
        {1e300, "1e+300"},
        {5e-324, "5e-324"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {0.00001, "0.00001"},
        {0.000001, "1e-6"},
        {9007199254740993.0, "9007199254740992.0"},
        {1.5e-10, "1.5e-10"},
        {12345.678, "12345.678"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[40];
        *oci_format_float64(cases[i].value, text) = '\0';
        assert_string_equal(text, cases[i].text);
    }
    char text[40];
    *oci_format_float64((double)NAN, text) = '\0';
    assert_string_equal(text, "NaN");
    *oci_format_float64(-(double)INFINITY, text) = '\0';
    assert_string_equal(text, "-inf");
    *oci_format_float32(0.1F, text) = '\0';
    assert_string_equal(text, "0.1");
    *oci_format_float32(16777216.0F, text) = '\0';
    assert_string_equal(text, "16777216.0");
    *oci_format_float32(3.4028235e38F, text) = '\0';
    assert_string_equal(text, "3.4028235e+38");
    *oci_format_float16(0x3C00, text) = '\0';
    assert_string_equal(text, "1.0");
    *oci_format_float16(0x7BFF, text) = '\0';
    assert_string_equal(text, "65500.0"); /* which reads back as 65504, the nearest half */
}

static void floats_and_halves_round_trip_bit_for_bit(void **state)
{
    (void)state;
    uint64_t x = 3;
    for (int i = 0; i < 20000; i++) {
        uint32_t bits = (uint32_t)next_random(&x);
        float value;
        float back = 0;
        memcpy(&value, &bits, sizeof value);
        char text[40];
        char *end = oci_format_float32(value, text);
        assert_int_equal(oci_parse_float32((const uint8_t *)text, end - text, &back), OCI_PARSE_OK);
        assert_true(isnan(value) ? isnan(back) : memcmp(&back, &value, sizeof back) == 0);
    }
    for (uint32_t bits = 0; bits < 65536; bits++) {
        char text[40];
        uint16_t back = 0;
        char *end = oci_format_float16((uint16_t)bits, text);
        assert_int_equal(oci_parse_float16((const uint8_t *)text, end - text, &back), OCI_PARSE_OK);
        bool is_nan = (bits & 0x7C00) == 0x7C00 && (bits & 0x3FF) != 0;
        assert_true(is_nan ? back == 0x7E00 : back == bits);
    }
}

static void floats_are_read_as_strtod_reads_them(void **state)
{
    (void)state;
    uint64_t x = 4;
    for (int i = 0; i < 20000; i++) {
        char text[80];
        uint64_t r = next_random(&x);
        snprintf(text, sizeof text, "%s%llu.%llue%d", r & 1 ? "-" : "",
                 (unsigned long long)(r >> (r % 60)), (unsigned long long)next_random(&x),
                 (int)(r % 620) - 310);
        double value = 0;
        double want = strtod(text, NULL);
        oci_parse_result result = oci_parse_float64(TEXT(text), &value);
        assert_int_equal(result, isinf(want) ? OCI_PARSE_RANGE : OCI_PARSE_OK);
        assert_true(isinf(want) || memcmp(&value, &want, sizeof value) == 0);
    }
    static const char *const wrong[] = {"",      "-",    ".",  "e5", "1e",  "1e+",    "1.2.3",
                                        "0x1p3", "nano", "1 ", " 1", "+-1", "infinit"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        double value;
        assert_int_equal(oci_parse_float64(TEXT(wrong[i]), &value), OCI_PARSE_SYNTAX);
    }
    double value;
    assert_int_equal(oci_parse_float64(TEXT("1e999"), &value), OCI_PARSE_RANGE);
    assert_int_equal(oci_parse_float64(TEXT("1e-999"), &value), OCI_PARSE_OK);
    assert_true(value == 0);
    assert_int_equal(oci_parse_float64(TEXT("-Infinity"), &value), OCI_PARSE_OK);
    assert_true(isinf(value) && value < 0);
    assert_int_equal(oci_parse_float64(TEXT("1e99999999999999999999"), &value), OCI_PARSE_RANGE);
}

static void very_long_numbers_are_rounded_rightly(void **state)
{
    (void)state;
    /* Half-way between 1 and the next double; one more digit, very far behind, decides. */
    char text[3000];
    double value;
    strcpy(text, "1.00000000000000011102230246251565404236316680908203125");
    assert_int_equal(oci_parse_float64(TEXT(text), &value), OCI_PARSE_OK);
    assert_true(value == 1.0);
    size_t n = strlen(text);
    memset(text + n, '0', 2000);
    strcpy(text + n + 2000, "1");
    assert_int_equal(oci_parse_float64(TEXT(text), &value), OCI_PARSE_OK);
    assert_true(value == 1.0000000000000002);
    memset(text, '9', 2500);
    text[2500] = '\0';
    assert_int_equal(oci_parse_float64(TEXT(text), &value), OCI_PARSE_RANGE);
    text[300] = '\0';
    assert_int_equal(oci_parse_float64(TEXT(text), &value), OCI_PARSE_OK);
    assert_true(value == 1e300);
}

static void floats_do_not_follow_the_locale(void **state)
{
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "C.UTF-8"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (setlocale(LC_NUMERIC, names[i]) != NULL) {
            check_double(0.1 + 0.2);
            check_double(1e-300 / 3);
        }
    }
    setlocale(LC_NUMERIC, "C");
}

static void check_decimal(const char *text, int32_t width, int32_t precision, int32_t scale,
                          oci_parse_result result, const char *want)
{
    uint8_t value[32];
    char out[OCI_VALUE_TEXT_MAX];
    assert_int_equal(oci_parse_decimal(TEXT(text), width, precision, scale, value), result);
    if (result != OCI_PARSE_OK) {
        return;
    }
    static const oci_type types[] = {[4] = OCI_TYPE_DECIMAL32,
                                     [8] = OCI_TYPE_DECIMAL64,
                                     [16] = OCI_TYPE_DECIMAL128,
                                     [32] = OCI_TYPE_DECIMAL256};
    oci_field field = {.name = (char *)(uintptr_t) "d",
                       .type = types[width],
                       .precision = precision,
                       .scale = scale};
    oci_field_set_width(&field);
    oci_formatter formatter;
    assert_int_equal(oci_formatter_init(&formatter, &field, NULL, NULL), OC_OK);
    *formatter.format(&formatter, value, out) = '\0';
    assert_string_equal(out, want);
}

static void decimals_keep_their_scale_and_precision(void **state)
{
    (void)state;
    for (int32_t width = 4; width <= 32; width *= 2) {
        check_decimal("1.5", width, 9, 2, OCI_PARSE_OK, "1.50");
        check_decimal("-1.50", width, 9, 2, OCI_PARSE_OK, "-1.50");
        check_decimal("0", width, 9, 2, OCI_PARSE_OK, "0.00");
        check_decimal("-0.01", width, 9, 2, OCI_PARSE_OK, "-0.01");
        check_decimal(".5", width, 9, 2, OCI_PARSE_OK, "0.50");
        check_decimal("5.", width, 9, 2, OCI_PARSE_OK, "5.00");
        check_decimal("+7", width, 9, 0, OCI_PARSE_OK, "7");
        check_decimal("1.2300", width, 9, 2, OCI_PARSE_OK, "1.23");
        check_decimal("1.234", width, 9, 2, OCI_PARSE_DIGITS, NULL);
        check_decimal("1234567.89", width, 9, 2, OCI_PARSE_OK, "1234567.89");
        check_decimal("12345678.90", width, 9, 2, OCI_PARSE_RANGE, NULL);
        check_decimal("12e3", width, 9, 2, OCI_PARSE_OK, "12000.00");
        check_decimal("1.2e-1", width, 9, 2, OCI_PARSE_OK, "0.12");
        check_decimal("1200", width, 9, -2, OCI_PARSE_OK, "1200");
        check_decimal("1250", width, 9, -2, OCI_PARSE_DIGITS, NULL);
        check_decimal("0", width, 9, -2, OCI_PARSE_OK, "0");
        check_decimal("0.00012", width, 3, 5, OCI_PARSE_OK, "0.00012");
        check_decimal("00000000000000000000000000000000000000000001.50", width, 9, 2, OCI_PARSE_OK,
                      "1.50");
        check_decimal("", width, 9, 2, OCI_PARSE_SYNTAX, NULL);
        check_decimal("1,5", width, 9, 2, OCI_PARSE_SYNTAX, NULL);
        check_decimal("nan", width, 9, 2, OCI_PARSE_SYNTAX, NULL);
        check_decimal("1e400", width, 9, 2, OCI_PARSE_RANGE, NULL);
    }
    check_decimal("99999999999999999999999999999999999999", 16, 38, 0, OCI_PARSE_OK,
                  "99999999999999999999999999999999999999");
    check_decimal("-9999999999999999999999999999999999999.9", 16, 38, 1, OCI_PARSE_OK,
                  "-9999999999999999999999999999999999999.9");
    check_decimal("-9999999999999999999999999999999999999999999999999999999999999999999999999999",
                  32, 76, 0, OCI_PARSE_OK,
                  "-9999999999999999999999999999999999999999999999999999999999999999999999999999");
    check_decimal("1234567890123456789.01", 16, 38, 2, OCI_PARSE_OK, "1234567890123456789.01");
    check_decimal("-18446744073709551616", 16, 38, 0, OCI_PARSE_OK, "-18446744073709551616");
    check_decimal("1e-150", 16, 10, 150, OCI_PARSE_OK, "1e-150");
    check_decimal("12e148", 16, 10, -148, OCI_PARSE_OK, "12e148");
}

static void dates_agree_with_counting_days(void **state)
{
    (void)state;
    oci_date date = {.year = -400, .month = 1, .day = 1};
    int64_t days = oci_days_of_date(date);
    for (; date.year < 2500; days++) {
        assert_int_equal(oci_days_of_date(date), days);
        oci_date back = oci_date_of_days(days);
        assert_true(back.year == date.year && back.month == date.month && back.day == date.day);
        if (++date.day > oci_days_of_month(date.year, date.month)) {
            date.day = 1;
            if (++date.month > 12) {
                date.month = 1;
                date.year++;
            }
        }
    }
    int64_t value;
    assert_int_equal(oci_parse_date(TEXT("1970-01-01"), &value), OCI_PARSE_OK);
    assert_int_equal(value, 0);
    assert_int_equal(oci_parse_date(TEXT("1998-12-01"), &value), OCI_PARSE_OK);
    assert_int_equal(value, 10561);
    assert_int_equal(oci_parse_date(TEXT("2000-02-29"), &value), OCI_PARSE_OK);
    assert_int_equal(oci_parse_date(TEXT("1900-02-29"), &value), OCI_PARSE_RANGE);
    assert_int_equal(oci_parse_date(TEXT("2001-13-01"), &value), OCI_PARSE_RANGE);
    assert_int_equal(oci_parse_date(TEXT("2001-00-01"), &value), OCI_PARSE_RANGE);
    assert_int_equal(oci_parse_date(TEXT("2001-1-1"), &value), OCI_PARSE_SYNTAX);
    assert_int_equal(oci_parse_date(TEXT("20010101"), &value), OCI_PARSE_SYNTAX);
    assert_int_equal(oci_parse_date(TEXT("2001-01-01x"), &value), OCI_PARSE_SYNTAX);
    assert_int_equal(oci_parse_date(TEXT("+12345-01-01"), &value), OCI_PARSE_OK);
    assert_int_equal(oci_parse_date(TEXT("12345-01-01"), &value), OCI_PARSE_SYNTAX);
}

static void check_timestamp(const char *text, oci_time_unit unit, oci_zone zone,
                            oci_parse_result result, int64_t want)
{
    int64_t value = 0;
    assert_int_equal(oci_parse_timestamp(TEXT(text), unit, zone, &value, NULL), result);
    if (result == OCI_PARSE_OK) {
        assert_int_equal(value, want);
    }
}

static void timestamps_are_read_with_and_without_offsets(void **state)
{
    (void)state;
    const oci_zone none = oci_zone_of(NULL);
    const oci_zone utc = oci_zone_of("UTC");
    const oci_zone plus_two = oci_zone_of("+02:00");
    const oci_zone berlin = oci_zone_of("Europe/Berlin");
    assert_int_equal(plus_two.offset_seconds, 7200);
    assert_int_equal(berlin.kind, OCI_ZONE_NAMED);
    check_timestamp("1970-01-02T00:00:01.5", OCI_MILLI, none, OCI_PARSE_OK, 86401500);
    check_timestamp("1970-01-02 00:00:01.5", OCI_MILLI, none, OCI_PARSE_OK, 86401500);
    check_timestamp("1970-01-02", OCI_SECOND, none, OCI_PARSE_OK, 86400);
    check_timestamp("1970-01-01 10:30", OCI_SECOND, none, OCI_PARSE_OK, 37800);
    check_timestamp("1969-12-31T23:59:59.999999999", OCI_NANO, none, OCI_PARSE_OK, -1);
    check_timestamp("1970-01-01T00:00:00.1234567", OCI_MICRO, none, OCI_PARSE_DIGITS, 0);
    check_timestamp("1970-01-01T00:00:00.1234560", OCI_MICRO, none, OCI_PARSE_OK, 123456);
    check_timestamp("1970-01-01T02:00:00+02:00", OCI_SECOND, utc, OCI_PARSE_OK, 0);
    check_timestamp("1970-01-01T02:00:00+02", OCI_SECOND, utc, OCI_PARSE_OK, 0);
    check_timestamp("1970-01-01T02:00:00 +0200", OCI_SECOND, berlin, OCI_PARSE_OK, 0);
    check_timestamp("1970-01-01T00:00:00Z", OCI_SECOND, utc, OCI_PARSE_OK, 0);
    check_timestamp("1970-01-01T00:00:00", OCI_SECOND, utc, OCI_PARSE_OK, 0);
    check_timestamp("1970-01-01T02:00:00", OCI_SECOND, plus_two, OCI_PARSE_OK, 0);
    check_timestamp("1970-01-01T00:00:00", OCI_SECOND, berlin, OCI_PARSE_NO_ZONE, 0);
    check_timestamp("1970-01-01T00:00:00Z", OCI_SECOND, none, OCI_PARSE_ZONE, 0);
    check_timestamp("1970-01-01T24:00:00", OCI_SECOND, none, OCI_PARSE_OK, 86400);
    check_timestamp("1970-01-01T24:00:01", OCI_SECOND, none, OCI_PARSE_RANGE, 0);
    check_timestamp("1970-01-01T00:60:00", OCI_SECOND, none, OCI_PARSE_RANGE, 0);
    check_timestamp("1970-01-01T", OCI_SECOND, none, OCI_PARSE_SYNTAX, 0);
    check_timestamp("1970-01-01T00:00:00.", OCI_SECOND, none, OCI_PARSE_SYNTAX, 0);
    check_timestamp("1970-01-01T00:00:00x", OCI_SECOND, utc, OCI_PARSE_SYNTAX, 0);
    check_timestamp("9999-12-31T00:00:00", OCI_NANO, none, OCI_PARSE_RANGE, 0);
    check_timestamp("2262-04-11T23:47:16.854775807", OCI_NANO, none, OCI_PARSE_OK, INT64_MAX);
    check_timestamp("1677-09-21T00:12:43.145224192", OCI_NANO, none, OCI_PARSE_OK, INT64_MIN);
    int64_t value;
    assert_int_equal(oci_parse_time(TEXT("23:59:59.123"), OCI_MILLI, &value), OCI_PARSE_OK);
    assert_int_equal(value, 86399123);
    assert_int_equal(oci_parse_time(TEXT("7:00"), OCI_MILLI, &value), OCI_PARSE_SYNTAX);
    assert_int_equal(oci_parse_time(TEXT("25:00:00"), OCI_MILLI, &value), OCI_PARSE_RANGE);
}

static void every_timestamp_round_trips(void **state)
{
    (void)state;
    uint64_t x = 5;
    for (int i = 0; i < 20000; i++) {
        int64_t value = (int64_t)next_random(&x) >> (i % 60);
        if (i == 0 || i == 1) {
            value = i == 0 ? INT64_MIN : INT64_MAX;
        }
        for (int unit = OCI_SECOND; unit <= OCI_NANO; unit++) {
            oci_field field = {.name = (char *)(uintptr_t) "t",
                               .type = OCI_TYPE_TIMESTAMP,
                               .unit = (oci_time_unit)unit};
            oci_field_set_width(&field);
            oci_formatter formatter;
            assert_int_equal(oci_formatter_init(&formatter, &field, NULL, NULL), OC_OK);
            char text[OCI_VALUE_TEXT_MAX];
            char *end = formatter.format(&formatter, (const uint8_t *)&value, text);
            int64_t back = 0;
            assert_int_equal(oci_parse_timestamp((const uint8_t *)text, end - text, field.unit,
                                                 oci_zone_of(NULL), &back, NULL),
                             OCI_PARSE_OK);
            assert_int_equal(back, value);
        }
    }
}

static void booleans_are_read_in_usual_spellings(void **state)
{
    (void)state;
    bool value;
    assert_int_equal(oci_parse_bool(TEXT("TRUE"), &value), OCI_PARSE_OK);
    assert_true(value);
    assert_int_equal(oci_parse_bool(TEXT("n"), &value), OCI_PARSE_OK);
    assert_false(value);
    assert_int_equal(oci_parse_bool(TEXT("truely"), &value), OCI_PARSE_SYNTAX);
    assert_int_equal(oci_parse_bool(TEXT(""), &value), OCI_PARSE_SYNTAX);
    assert_int_equal(oci_parse_bool_strict(TEXT("1"), &value), OCI_PARSE_SYNTAX);
    assert_int_equal(oci_parse_bool_strict(TEXT("False"), &value), OCI_PARSE_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_read_up_to_their_limits),
        cmocka_unit_test(integers_of_every_length_round_trip),
        cmocka_unit_test(doubles_round_trip_bit_for_bit),
        cmocka_unit_test(doubles_are_written_as_short_as_can_be),
        cmocka_unit_test(floats_and_halves_round_trip_bit_for_bit),
        cmocka_unit_test(floats_are_read_as_strtod_reads_them),
        cmocka_unit_test(very_long_numbers_are_rounded_rightly),
        cmocka_unit_test(floats_do_not_follow_the_locale),
        cmocka_unit_test(decimals_keep_their_scale_and_precision),
        cmocka_unit_test(dates_agree_with_counting_days),
        cmocka_unit_test(timestamps_are_read_with_and_without_offsets),
        cmocka_unit_test(every_timestamp_round_trips),
        cmocka_unit_test(booleans_are_read_in_usual_spellings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
