/* See sql.h. A statement's way:
 *
 *     oc_session_execute -> rows -> tap (keeps the error, wipes the progress line)
 *                                -> peek (shell: enough rows for the pager to be worth it?)
 *                                -> oc_write_file, or lines of a plan
 *
 * Queries run while they are written, so most errors come at the end of that way. */
#include "cli/sql.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/excerpt.h"
#include "cli/pager.h"
#include "cli/peek.h"
#include "cli/signals.h"
#include "cli/stats.h"
#include "cli/text_rows.h"

/* ---- the session ----------------------------------------------------------------------------- */

static void cancel_session(void *session)
{
    oc_session_cancel(session);
}

static bool reads_standard_input(const oci_cli_options *options)
{
    for (size_t i = 0; i + 1 < options->sources.n; i += 2) {
        if (strcmp(options->sources.items[i], OCI_CLI_SCRIPT) == 0 &&
            strcmp(options->sources.items[i + 1], "-") == 0) {
            return true;
        }
    }
    return options->sources.n == 0;
}

int oci_cli_open_sql(oci_cli_sql *sql, const oci_cli_options *options, bool is_shell)
{
    *sql = (oci_cli_sql){.options = options,
                         .is_shell = is_shell,
                         .format = options->format,
                         .max_rows = options->max_rows,
                         .header = options->output_header,
                         .timer = options->timer,
                         .use_pager = is_shell,
                         .output_fd = -1,
                         .began = oci_cli_seconds()};
    if (options->output_null != NULL) {
        snprintf(sql->null_text, sizeof sql->null_text, "%s", options->output_null);
        sql->has_null_text = true;
    }
    oci_cli_init_progress(&sql->progress, options);
    oc_options settings = oci_cli_settings(options, &sql->progress);
    oc_error error;
    oc_status status = oc_session_create(&settings, &sql->session, &error);
    if (status == OC_EINVAL) {
        return oci_cli_usage_error(options, "%s", error.message);
    }
    if (status != OC_OK) {
        fprintf(stderr, "outcore: %s\n", error.message);
        return oci_cli_exit_code(status);
    }
    if (is_shell) {
        oci_cli_watch_shell_signals(cancel_session, sql->session);
    } else {
        oci_cli_watch_signals(cancel_session, sql->session, reads_standard_input(options), true);
    }
    return OCI_CLI_EXIT_OK;
}

void oci_cli_close_sql(oci_cli_sql *sql)
{
    oci_cli_stop_progress(&sql->progress);
    oci_cli_forget_work();
    oc_session_destroy(sql->session);
    free(sql->next_file);
    free(sql->output);
    if (sql->output_fd >= 0) {
        close(sql->output_fd);
    }
}

void oci_cli_report_sql(const oci_cli_sql *sql)
{
    oc_metrics metrics;
    oc_context_metrics(oc_session_context(sql->session), &metrics);
    oci_cli_print_stats(&metrics, sql->rows, oci_cli_seconds() - sql->began);
}

/* ---- errors ---------------------------------------------------------------------------------- */

void oci_cli_tell_error(const oci_cli_place *place, const char *message)
{
    if (place->name != NULL) {
        fprintf(stderr, "outcore: %s:%" PRId64 ": %s\n", place->name, place->line, message);
    } else {
        fprintf(stderr, "outcore: %s\n", message);
    }
}

/* An error of a statement. Nothing is said when a signal ends the program: that is what is told. */
static int tell_failure(const oci_cli_place *place, const char *message, int code, const char *text,
                        size_t size, int64_t position)
{
    char excerpt[OCI_CLI_EXCERPT_BYTES];
    if (oci_cli_must_leave()) {
        return code;
    }
    oci_cli_place exact = *place;
    exact.line += oci_cli_format_excerpt(text, size, position, excerpt) - 1;
    oci_cli_tell_error(&exact, message);
    fputs(excerpt, stderr);
    return code;
}

/* ---- output ---------------------------------------------------------------------------------- */

int oci_cli_redirect_output(int fd)
{
    fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    if (saved >= 0 && dup2(fd, STDOUT_FILENO) < 0) {
        close(saved);
        return -1;
    }
    return saved;
}

void oci_cli_restore_output(int saved)
{
    fflush(stdout);
    dup2(saved, STDOUT_FILENO);
    close(saved);
}

/* The output options as dot commands have changed them. */
static oci_cli_options shown_options(const oci_cli_sql *sql)
{
    oci_cli_options shown = *sql->options;
    shown.format = sql->format;
    shown.max_rows = sql->max_rows;
    shown.output_header = sql->header;
    shown.output_null = sql->has_null_text ? sql->null_text : NULL;
    if (shown.format == OC_FORMAT_AUTO && sql->output != NULL && sql->next_file == NULL) {
        shown.format = (int)oci_cli_format_of_name(sql->output);
    }
    return shown;
}

static bool is_one_result_only(const oci_cli_output *output)
{
    return !output->is_stdout || output->write.format == OC_FORMAT_ARROW ||
           output->write.format == OC_FORMAT_ARROWS;
}

/* Where the answer of this statement goes. The result is an exit code. */
static int choose_output(oci_cli_sql *sql, oci_cli_output *output)
{
    oci_cli_options shown = shown_options(sql);
    const char *path = sql->next_file != NULL ? sql->next_file
                       : sql->output != NULL  ? NULL
                                              : sql->options->output;
    int code = oci_cli_resolve_output(&shown, path, output);
    if (code == OCI_CLI_EXIT_OK && sql->next_file == NULL && sql->n_results > 0 &&
        is_one_result_only(output)) {
        return oci_cli_usage_error(sql->options,
                                   "%s takes the rows of one query, and this is the second; use "
                                   "COPY (SELECT ...) TO 'FILE' for each",
                                   output->is_stdout ? "Arrow output" : "-o");
    }
    return code;
}

static void stop_progress_of_sql(void *arg)
{
    oci_cli_sql *sql = arg;
    oci_cli_stop_progress(&sql->progress);
}

/* Lines of a terminal that a table may take besides its rows: frame, headings, count, prompt. */
#define TABLE_LINES 6

/* Starts the pager when the answer is longer than the screen. */
static bool page_long_answer(oci_cli_sql *sql, const oci_cli_output *output, oci_cli_peek *peek,
                             struct ArrowArrayStream *rows, oci_cli_pager *pager)
{
    int screen = oci_cli_terminal_height(STDOUT_FILENO);
    if (!sql->use_pager || !output->on_terminal || output->write.format != OC_FORMAT_TABLE ||
        screen <= TABLE_LINES) {
        return false;
    }
    int64_t fits = screen - TABLE_LINES;
    int64_t shown = sql->max_rows == 0 ? OCI_CLI_MAX_ROWS_DEFAULT : sql->max_rows;
    bool is_long = (shown < 0 || shown > fits) && oci_cli_peek_rows(peek, rows, fits);
    return is_long && oci_cli_start_pager(pager);
}

/* Takes `rows`. */
static oc_status write_rows(oci_cli_sql *sql, const oci_cli_output *output, bool is_plan,
                            struct ArrowArrayStream *rows, int64_t *n_rows, oc_error *error)
{
    oci_cli_pager pager;
    oci_cli_peek peek = {.n_batches = 0};
    if (sql->last_was_table && output->is_stdout && output->write.format == OC_FORMAT_TABLE) {
        putchar('\n');
        fflush(stdout);
    }
    if (is_plan && output->is_stdout &&
        (output->write.format == OC_FORMAT_TABLE || sql->format == OC_FORMAT_AUTO)) {
        return oci_cli_print_text_rows(rows, stdout, n_rows, error);
    }
    bool paged = page_long_answer(sql, output, &peek, rows, &pager);
    oc_status status = oc_write_file(oc_session_context(sql->session), rows, output->path,
                                     &output->write, n_rows, error);
    if (paged) {
        oci_cli_end_pager(&pager);
        status = status == OC_EIO ? OC_OK : status; /* the user had seen enough */
    }
    oci_cli_free_peek(&peek);
    return status;
}

/* The rows of a query, from the stream to where they go. Takes `rows`. */
static int answer(oci_cli_sql *sql, struct ArrowArrayStream *rows, bool is_plan, const char *text,
                  size_t size, const oci_cli_place *place)
{
    oci_cli_output output;
    oci_cli_tap tap;
    oc_error error;
    int64_t n_rows = 0;
    int code = choose_output(sql, &output);
    if (code != OCI_CLI_EXIT_OK) {
        rows->release(rows);
        return code;
    }
    sql->wrote_stdout |= output.is_stdout;
    bool wipe_line = output.on_terminal && sql->progress.enabled;
    oci_cli_insert_tap(&tap, rows, -1, wipe_line ? stop_progress_of_sql : NULL, sql);
    fflush(stdout);
    int saved = output.is_stdout && sql->output != NULL ? oci_cli_redirect_output(sql->output_fd)
                                                        : -1;
    oc_status status = write_rows(sql, &output, is_plan, rows, &n_rows, &error);
    if (saved >= 0) {
        oci_cli_restore_output(saved);
    }
    oci_cli_stop_progress(&sql->progress);
    if (status != OC_OK) {
        bool below = tap.failed != 0;
        code = below ? oci_cli_exit_code_of_errno(tap.failed) : oci_cli_exit_code(status);
        return tell_failure(place, below ? tap.message : error.message, code, text, size, -1);
    }
    sql->rows += n_rows;
    if (sql->next_file != NULL) {
        free(sql->next_file);
        sql->next_file = NULL;
    } else {
        sql->n_results++;
        sql->last_was_table = output.is_stdout && output.write.format == OC_FORMAT_TABLE;
    }
    return OCI_CLI_EXIT_OK;
}

/* ---- statements ------------------------------------------------------------------------------ */

static int execute(oci_cli_sql *sql, const char *text, size_t size, const oci_cli_place *place)
{
    struct ArrowArrayStream rows = {.release = NULL};
    oc_statement_info info = OC_STATEMENT_INFO_INIT;
    oc_error error;
    info.error_position = -1;
    oc_status status = oc_session_execute(sql->session, text, (int64_t)size, &rows, &info, &error);
    if (status != OC_OK) {
        oci_cli_stop_progress(&sql->progress);
        return tell_failure(place, error.message, oci_cli_exit_code(status), text, size,
                            info.error_position);
    }
    if (info.notice[0] != '\0' && !sql->options->quiet) {
        fprintf(stderr, "notice: %s\n", info.notice);
    }
    if (info.kind == OC_STATEMENT_QUERY) {
        return answer(sql, &rows, info.is_plan, text, size, place);
    }
    if (rows.release != NULL) {
        rows.release(&rows);
    }
    oci_cli_stop_progress(&sql->progress);
    if (sql->is_shell && info.tag[0] != '\0' && !sql->options->quiet) {
        fprintf(stderr, "%s\n", info.tag);
    }
    return OCI_CLI_EXIT_OK;
}

int oci_cli_run_statement(oci_cli_sql *sql, const char *text, size_t size,
                          const oci_cli_place *place)
{
    double began = oci_cli_seconds();
    oci_cli_restart_progress(&sql->progress);
    if (sql->is_shell) {
        oc_session_reset_cancel(sql->session);
        oci_cli_set_running(true);
    }
    int code = execute(sql, text, size, place);
    if (sql->is_shell) {
        oci_cli_set_running(false);
    }
    if (code == OCI_CLI_EXIT_OK && sql->timer) {
        fprintf(stderr, "time: %.3f s\n", oci_cli_seconds() - began);
    }
    if (code == OCI_CLI_EXIT_OK && sql->stats) {
        oci_cli_report_sql(sql);
    }
    return code;
}
