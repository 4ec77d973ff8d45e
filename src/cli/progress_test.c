/* Unit tests of the progress line: standard error is put into a pipe, so lines come whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/progress.h"

/* Shows one moment with a fresh progress and returns the line that came out, "" for none. */
static const char *show(int64_t row_limit, const oc_progress *now)
{
    static char text[512];
    oci_cli_options options = {.progress = OCI_CLI_PROGRESS_ON, .limit = row_limit};
    oci_cli_progress progress;
    int ends[2];
    int saved = dup(STDERR_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
    close(ends[1]);
    oci_cli_init_progress(&progress, &options);
    oci_cli_show_progress(now, &progress);
    oci_cli_show_progress(now, &progress); /* too soon for a second line */
    oci_cli_stop_progress(&progress);
    oci_cli_show_progress(now, &progress); /* too late */
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    close(saved);
    ssize_t size = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    text[size > 0 ? size : 0] = '\0';
    return text;
}

static void nothing_is_shown_in_the_first_two_seconds(void **state)
{
    (void)state;
    oc_progress now = {.phase = "reading", .input_bytes_total = -1, .seconds = 1.9};
    assert_string_equal(show(-1, &now), "");
}

static void reading_tells_bytes_and_the_time_left(void **state)
{
    (void)state;
    oc_progress now = {.phase = "reading",
                       .input_bytes = 256 << 20,
                       .input_bytes_total = INT64_C(1) << 30,
                       .input_rows = 1234567,
                       .spilled_bytes = 1536,
                       .seconds = 30};
    assert_string_equal(show(-1, &now), "reading, 25% (256 MiB of 1.0 GiB), 1.2M rows, "
                                        "1.5 KiB spilled, 1:30 left\n");
    now.input_bytes_total = -1;
    now.spilled_bytes = 0;
    assert_string_equal(show(-1, &now), "reading, 256 MiB, 1.2M rows\n");
}

static void a_pass_that_writes_runs_has_no_share(void **state)
{
    (void)state;
    oc_progress now = {.phase = "merging",
                       .input_bytes = 1000,
                       .input_bytes_total = 1000,
                       .input_rows = 500,
                       .merge_pass = 1,
                       .merge_passes = 2,
                       .spilled_bytes = 100,
                       .seconds = 5};
    assert_string_equal(show(-1, &now), "merging pass 1 of 2, 500 rows, 100 B spilled\n");
}

static void the_last_pass_tells_the_rows_that_came_out(void **state)
{
    (void)state;
    oc_progress now = {.phase = "merging",
                       .input_bytes_total = -1,
                       .input_rows = 4000000,
                       .output_rows = 1000000,
                       .merge_pass = 1,
                       .merge_passes = 1,
                       .seconds = 5};
    assert_string_equal(show(-1, &now), "merging, 25% (1.0M of 4.0M rows)\n");
    assert_string_equal(show(2000000, &now), "merging, 50% (1.0M of 2.0M rows)\n");
    assert_string_equal(show(9000000, &now), "merging, 25% (1.0M of 4.0M rows)\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_shown_in_the_first_two_seconds),
        cmocka_unit_test(reading_tells_bytes_and_the_time_left),
        cmocka_unit_test(a_pass_that_writes_runs_has_no_share),
        cmocka_unit_test(the_last_pass_tells_the_rows_that_came_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
