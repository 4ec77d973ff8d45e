#include "formats/csv_scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The field ranges that the slow scan finds, for comparison. */
typedef struct {
    uint32_t positions[4096];
    int64_t count;
    int64_t start;
} collected;

static void collect(void *arg, int64_t from, int64_t to, bool quoted)
{
    collected *c = arg;
    if (c->count == 0) {
        c->positions[c->count++] = (uint32_t)(from - 1);
    }
    c->positions[c->count++] = (uint32_t)to | (quoted ? OCI_CSV_QUOTED : 0);
}

/* Text of records of `n_fields` fields made of characters that matter; always well formed. */
static int64_t make_records(char *out, uint32_t *random, int n_records, int n_fields, bool trailing)
{
    static const char *const pieces[] = {"",
                                         "a",
                                         "12345",
                                         "\"\"",
                                         "\"x,y\"",
                                         "\"two\nlines\"",
                                         "\"q\"\"q\"",
                                         "5\" pipe",
                                         "a\rb",
                                         "\"\"\"\"",
                                         "long text that passes a block of 64 bytes, almost",
                                         "\"\r\n\""};
    int64_t at = 0;
    for (int r = 0; r < n_records; r++) {
        for (int f = 0; f < n_fields; f++) {
            *random = *random * 1664525 + 1013904223;
            const char *piece = pieces[(*random >> 20) % 12];
            if (strchr(piece, ',') != NULL && piece[0] != '"') {
                piece = "longish text that makes fields cross the blocks of 64";
            }
            size_t n = strlen(piece);
            memcpy(out + at, piece, n);
            at += (int64_t)n;
            if (f + 1 < n_fields || trailing) {
                out[at++] = ',';
            }
        }
        if (*random >> 31) {
            out[at++] = '\r';
        }
        out[at++] = '\n';
    }
    return at;
}

static void both_scans_agree(int n_fields, bool trailing, uint32_t seed)
{
    static char text[65536 + OCI_CSV_SCAN_PAD];
    static uint32_t positions[64 * 20];
    uint32_t random = seed;
    int64_t size = 16 + make_records(text + 16, &random, 40, n_fields, trailing);
    oci_csv_dialect dialect = {.delimiter = ',',
                               .quote = '"',
                               .has_quote = true,
                               .trailing_delimiter = trailing,
                               .skip_blank = n_fields > 1 || trailing};
    oci_csv_scan scan = {.data = (const uint8_t *)text,
                         .size = size,
                         .dialect = dialect,
                         .n_fields = n_fields,
                         .records_max = 64,
                         .positions = positions,
                         .start = 16};
    oci_csv_stop stop = oci_csv_scan_records(&scan);
    assert_int_equal(stop, OCI_CSV_STOP_MORE);
    assert_int_equal(scan.n_records, 40);
    assert_int_equal(scan.start, size);
    int64_t start = 16;
    for (int64_t r = 0; r < 40; r++) {
        collected slow = {.count = 0};
        int64_t n = 0;
        start = oci_csv_scan_one((const uint8_t *)text, size, start, &dialect, collect, &slow, &n,
                                 NULL);
        if (n == 0) { /* one empty field looks like a blank line */
            assert_int_equal(n_fields, 1);
            continue;
        }
        assert_int_equal(n, n_fields + trailing);
        assert_memory_equal(slow.positions, positions + r * (n_fields + 1),
                            (size_t)(n_fields + 1) * 4);
    }
}

static void fast_scan_finds_what_the_slow_one_finds(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 300; seed++) {
        for (int n_fields = 1; n_fields <= 17; n_fields += 1 + n_fields / 3) {
            both_scans_agree(n_fields, false, seed);
            both_scans_agree(n_fields, true, seed);
        }
    }
}

/* Scans any text with a window that ends at each byte; the outcome must be what a whole window
 * gives. */
static void every_cut_gives_a_prefix_of_the_records(void **state)
{
    (void)state;
    static char text[8192 + OCI_CSV_SCAN_PAD];
    static uint32_t whole[64 * 4];
    static uint32_t part[64 * 4];
    uint32_t random = 7;
    int64_t size = 16 + make_records(text + 16, &random, 12, 3, false);
    oci_csv_scan scan = {
        .data = (const uint8_t *)text,
        .size = size,
        .dialect = {.delimiter = ',', .quote = '"', .has_quote = true, .skip_blank = true},
        .n_fields = 3,
        .records_max = 64,
        .positions = whole,
        .start = 16};
    oci_csv_scan full = scan;
    assert_int_equal(oci_csv_scan_records(&full), OCI_CSV_STOP_MORE);
    for (int64_t cut = 16; cut <= size; cut++) {
        oci_csv_scan cut_scan = scan;
        cut_scan.size = cut;
        cut_scan.positions = part;
        assert_int_equal(oci_csv_scan_records(&cut_scan), OCI_CSV_STOP_MORE);
        assert_true(cut_scan.n_records <= full.n_records);
        assert_true(cut_scan.start <= cut);
        if (cut_scan.n_records > 0) { /* cmocka compares no zero bytes */
            assert_memory_equal(part, whole, (size_t)cut_scan.n_records * 16);
        }
        /* The rest from where it stopped. */
        oci_csv_scan rest = scan;
        rest.start = cut_scan.start;
        rest.positions = part;
        assert_int_equal(oci_csv_scan_records(&rest), OCI_CSV_STOP_MORE);
        assert_int_equal(cut_scan.n_records + rest.n_records, full.n_records);
    }
}

static oci_csv_stop scan_text(const char *text, int32_t n_fields, bool trailing, oci_csv_scan *scan)
{
    static uint8_t data[512];
    static uint32_t positions[512];
    memset(data, 'x', sizeof data);
    memcpy(data + 16, text, strlen(text));
    *scan = (oci_csv_scan){.data = data,
                           .size = 16 + (int64_t)strlen(text),
                           .dialect = {.delimiter = ',',
                                       .quote = '"',
                                       .has_quote = true,
                                       .skip_blank = n_fields > 1,
                                       .trailing_delimiter = trailing},
                           .n_fields = n_fields,
                           .records_max = 100,
                           .positions = positions,
                           .start = 16};
    return oci_csv_scan_records(scan);
}

static void bad_records_stop_the_scan_behind_the_good_ones(void **state)
{
    (void)state;
    oci_csv_scan scan;
    assert_int_equal(scan_text("a,b\nc\n", 2, false, &scan), OCI_CSV_STOP_FEW);
    assert_int_equal(scan.n_records, 1);
    assert_int_equal(scan.start, 20);
    assert_int_equal(scan_text("a,b\n\n\r\nc,d,e\n", 2, false, &scan), OCI_CSV_STOP_MANY);
    assert_int_equal(scan.n_records, 1);
    assert_int_equal(scan.start, 23);
    assert_int_equal(scan_text("a,\"b\"c\n", 2, false, &scan), OCI_CSV_STOP_AFTER_QUOTE);
    assert_int_equal(scan.problem_at, 21);
    assert_int_equal(scan_text("a,b,\na,b\n", 2, true, &scan), OCI_CSV_STOP_FEW);
    assert_int_equal(scan_text("a,b,\na,b,c\n", 2, true, &scan), OCI_CSV_STOP_MANY);
    assert_int_equal(scan_text("a,b,\na,b,\"\"\n", 2, true, &scan), OCI_CSV_STOP_MANY);
}

static void the_scan_stops_when_enough_records_are_there(void **state)
{
    (void)state;
    oci_csv_scan scan;
    (void)scan_text("", 1, false, &scan);
    assert_int_equal(scan_text("a\n\nb\n", 1, false, &scan), OCI_CSV_STOP_MORE);
    assert_int_equal(scan.n_records, 3); /* a blank line is a record of one field */
    scan.start = 16;
    scan.records_max = 2;
    assert_int_equal(oci_csv_scan_records(&scan), OCI_CSV_STOP_FULL);
    assert_int_equal(scan.n_records, 2);
    assert_int_equal(scan.start, 19);
}

static void measuring_finds_the_end_of_a_record_in_pieces(void **state)
{
    (void)state;
    static const char text[] = "a,\"b\n\"\"\n\",c\"\"d\nnext";
    const int64_t want =
        (int64_t)(strchr(strchr(strchr(text, '\n') + 1, '\n') + 1, '\n') + 1 - text);
    oci_csv_dialect dialect = {.delimiter = ',', .quote = '"', .has_quote = true};
    for (int64_t piece = 1; piece < (int64_t)sizeof text; piece++) {
        oci_csv_measure measure = {0};
        int64_t at = 0;
        bool done = false;
        while (!done && at < (int64_t)sizeof text - 1) {
            int64_t n = (int64_t)sizeof text - 1 - at < piece ? (int64_t)sizeof text - 1 - at
                                                              : piece;
            done = oci_csv_measure_feed(&measure, &dialect, (const uint8_t *)text + at, n);
            at += n;
        }
        assert_true(done);
        assert_int_equal(measure.length, want);
    }
    oci_csv_measure open = {0};
    assert_false(oci_csv_measure_feed(&open, &dialect, (const uint8_t *)"a,\"b\n", 5));
    assert_true(oci_csv_measure_is_open(&open));
    assert_int_equal(open.length, 5);
}

static void counting_bytes_counts_at_every_length(void **state)
{
    (void)state;
    uint8_t data[300];
    for (int i = 0; i < 300; i++) {
        data[i] = i % 3 == 0 ? '\n' : (uint8_t)i;
    }
    for (int64_t size = 0; size <= 300; size++) {
        int64_t want = 0;
        for (int64_t i = 0; i < size; i++) {
            want += data[i] == '\n';
        }
        assert_int_equal(oci_csv_count_byte(data, size, '\n'), want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fast_scan_finds_what_the_slow_one_finds),
        cmocka_unit_test(every_cut_gives_a_prefix_of_the_records),
        cmocka_unit_test(bad_records_stop_the_scan_behind_the_good_ones),
        cmocka_unit_test(the_scan_stops_when_enough_records_are_there),
        cmocka_unit_test(measuring_finds_the_end_of_a_record_in_pieces),
        cmocka_unit_test(counting_bytes_counts_at_every_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
