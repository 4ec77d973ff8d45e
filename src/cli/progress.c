/* See progress.h. */
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/progress.h"

#define FIRST_LINE_SECONDS 2.0
#define FILE_LINE_SECONDS  1.0
#define LINE_BYTES         256
#define NUMBER_BYTES       32
/* Too little done for the time left to be more than a guess. */
#define ETA_FRACTION_MIN 0.01

/* ---- text ------------------------------------------------------------------------------------ */

typedef struct line {
    char text[LINE_BYTES];
    size_t length;
} line;

__attribute__((format(printf, 2, 3))) static void add_to_line(line *out, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    size_t room = sizeof out->text - out->length;
    int n = vsnprintf(out->text + out->length, room, format, values);
    va_end(values);
    if (n > 0) {
        out->length += (size_t)n < room ? (size_t)n : room - 1;
    }
}

static const char *format_bytes(int64_t bytes, char out[NUMBER_BYTES])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit < 4) {
        value /= 1024;
        unit++;
    }
    snprintf(out, NUMBER_BYTES, unit == 0 || value >= 100 ? "%.0f %s" : "%.1f %s", value,
             units[unit]);
    return out;
}

static const char *format_rows(int64_t rows, char out[NUMBER_BYTES])
{
    if (rows < 1000000) {
        snprintf(out, NUMBER_BYTES, "%" PRId64, rows);
    } else if (rows < 1000000000) {
        snprintf(out, NUMBER_BYTES, "%.1fM", (double)rows / 1e6);
    } else {
        snprintf(out, NUMBER_BYTES, "%.2fG", (double)rows / 1e9);
    }
    return out;
}

/* The rows that will come out, by what is known now. */
static int64_t rows_to_come(const oc_progress *now, int64_t row_limit)
{
    return row_limit >= 0 && row_limit < now->input_rows ? row_limit : now->input_rows;
}

/* How much of the phase is done, 0 to 1; -1 where nobody knows, as in a merge pass that only makes
 * longer runs: all is read, and nothing is given out yet. */
static double done_fraction(const oc_progress *now, int64_t row_limit)
{
    double done = -1;
    int64_t rows = rows_to_come(now, row_limit);
    if (now->output_rows > 0 && rows > 0) {
        done = (double)now->output_rows / (double)rows;
    } else if (now->merge_pass == 0 && now->input_bytes_total > 0) {
        done = (double)now->input_bytes / (double)now->input_bytes_total;
    }
    return done > 1 ? 1 : done;
}

static void add_bytes_read(line *out, const oc_progress *now, double done)
{
    char one[NUMBER_BYTES];
    char two[NUMBER_BYTES];
    if (done >= 0) {
        add_to_line(out, ", %.0f%% (%s of %s)", 100 * done, format_bytes(now->input_bytes, one),
                    format_bytes(now->input_bytes_total, two));
    } else if (now->merge_pass == 0 && now->input_bytes > 0) {
        add_to_line(out, ", %s", format_bytes(now->input_bytes, one));
    }
}

static void add_work_done(line *out, const oc_progress *now, int64_t row_limit, double done)
{
    char one[NUMBER_BYTES];
    char two[NUMBER_BYTES];
    if (now->output_rows > 0) {
        add_to_line(out, ", %.0f%% (%s of %s rows)", done < 0 ? 0 : 100 * done,
                    format_rows(now->output_rows, one),
                    format_rows(rows_to_come(now, row_limit), two));
        return;
    }
    add_bytes_read(out, now, done);
    if (now->input_rows > 0) {
        add_to_line(out, ", %s rows", format_rows(now->input_rows, one));
    }
}

static void build_line(line *out, const oc_progress *now, int64_t row_limit, double phase_seconds)
{
    char number[NUMBER_BYTES];
    double done = done_fraction(now, row_limit);
    add_to_line(out, "%s", now->phase != NULL ? now->phase : "working");
    if (now->merge_pass > 0 && now->merge_passes > 1) {
        add_to_line(out, " pass %" PRId32 " of %" PRId32, now->merge_pass, now->merge_passes);
    }
    add_work_done(out, now, row_limit, done);
    if (now->spilled_bytes > 0) {
        add_to_line(out, ", %s spilled", format_bytes(now->spilled_bytes, number));
    }
    if (done >= ETA_FRACTION_MIN && phase_seconds > 0) {
        double left = phase_seconds * (1 - done) / done;
        if (left < 360000) {
            add_to_line(out, ", %d:%02d left", (int)left / 60, (int)left % 60);
        }
    }
}

/* ---- when and where -------------------------------------------------------------------------- */

int oci_cli_terminal_width(int fd)
{
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col;
    }
    const char *columns = getenv("COLUMNS");
    long width = columns != NULL ? strtol(columns, NULL, 10) : 0;
    return width > 0 && width <= INT32_MAX ? (int)width : 0;
}

void oci_cli_init_progress(oci_cli_progress *progress, const oci_cli_options *options)
{
    const char *kind = getenv("TERM");
    bool terminal = isatty(STDERR_FILENO) == 1;
    bool capable = kind == NULL || strcmp(kind, "dumb") != 0;
    *progress = (oci_cli_progress){.in_place = terminal && capable,
                                   .busy = ATOMIC_FLAG_INIT,
                                   .row_limit = options->limit,
                                   .next_time = FIRST_LINE_SECONDS,
                                   .statement_began = -1};
    progress->enabled =
        options->progress == OCI_CLI_PROGRESS_ON ||
        (options->progress == OCI_CLI_PROGRESS_AUTO && progress->in_place && !options->quiet);
}

static void print_line(oci_cli_progress *progress, line *out)
{
    if (!progress->in_place) {
        fprintf(stderr, "%s\n", out->text);
        return;
    }
    /* The last column stays free: writing there makes some terminals go to the next line. */
    int width = oci_cli_terminal_width(STDERR_FILENO);
    if (width > 0 && out->length >= (size_t)width) {
        out->text[width - 1] = '\0';
    }
    fprintf(stderr, "\r%s\033[K", out->text);
    fflush(stderr);
    progress->shown = true;
}

static double monotonic_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* What the statement did, out of what the session did. Counters that are smaller than before are those
 * of another context, which has just begun. */
static oc_progress since_statement(oci_cli_progress *progress, const oc_progress *told)
{
    oc_progress now = *told;
    const oc_progress *base = &progress->base;
    bool same = told->input_rows >= progress->last.input_rows &&
                told->seconds >= progress->last.seconds;
    if (!same) {
        progress->base = (oc_progress){0};
    }
    if (progress->statement_began >= 0) {
        progress->shift = told->seconds - (monotonic_seconds() - progress->statement_began);
        progress->statement_began = -1;
    }
    progress->last = *told;
    now.input_bytes -= base->input_bytes;
    if (now.input_bytes_total >= 0 && base->input_bytes_total > 0) {
        now.input_bytes_total -= base->input_bytes_total;
    }
    now.input_rows -= base->input_rows;
    now.output_rows -= base->output_rows;
    now.spilled_bytes -= base->spilled_bytes;
    now.seconds -= progress->shift;
    return now;
}

static void show_line(oci_cli_progress *progress, const oc_progress *now)
{
    /* The time left is by the pace of one phase: reading bytes, or giving out rows. */
    const char *phase = now->output_rows > 0 ? "output" : "input";
    if (progress->phase != phase) {
        progress->phase = phase;
        progress->phase_began = phase[0] == 'i' ? 0 : now->seconds;
    }
    if (!progress->stopped && now->seconds >= progress->next_time) {
        line out = {.length = 0};
        build_line(&out, now, progress->row_limit, now->seconds - progress->phase_began);
        print_line(progress, &out);
        progress->next_time = progress->in_place ? now->seconds : now->seconds + FILE_LINE_SECONDS;
    }
}

void oci_cli_show_progress(const oc_progress *told, void *arg)
{
    oci_cli_progress *progress = arg;
    if (atomic_flag_test_and_set(&progress->busy)) {
        return; /* somebody else is at it */
    }
    oc_progress now = since_statement(progress, told);
    show_line(progress, &now);
    atomic_flag_clear(&progress->busy);
}

void oci_cli_restart_progress(oci_cli_progress *progress)
{
    progress->stopped = false;
    progress->phase = NULL;
    progress->next_time = FIRST_LINE_SECONDS;
    progress->statement_began = monotonic_seconds();
    progress->base = progress->last;
}

void oci_cli_stop_progress(oci_cli_progress *progress)
{
    while (atomic_flag_test_and_set(&progress->busy)) {
        sched_yield();
    }
    progress->stopped = true;
    if (progress->shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
        progress->shown = false;
    }
    atomic_flag_clear(&progress->busy);
}
