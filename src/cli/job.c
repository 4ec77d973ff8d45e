/* See job.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/job.h"
#include "cli/signals.h"
#include "cli/stats.h"

static bool is_dash(const char *path)
{
    return strcmp(path, "-") == 0;
}

double oci_cli_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- output ---------------------------------------------------------------------------------- */

static const char *extension_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash != NULL ? slash : path, '.');
    return dot != NULL ? dot + 1 : "";
}

oc_format oci_cli_format_of_name(const char *path)
{
    oc_format format = OC_FORMAT_AUTO;
    bool known = oc_format_parse(extension_of(path), &format);
    return known && format != OC_FORMAT_TABLE && format != OC_FORMAT_NULL ? format : OC_FORMAT_AUTO;
}

static bool is_arrow(oc_format format)
{
    return format == OC_FORMAT_ARROW || format == OC_FORMAT_ARROWS;
}

static oc_format choose_format(const oci_cli_options *options, const oci_cli_output *output)
{
    if (options->format != OC_FORMAT_AUTO) {
        return (oc_format)options->format;
    }
    if (output->is_stdout) {
        return output->on_terminal ? OC_FORMAT_TABLE : OC_FORMAT_CSV;
    }
    return oci_cli_format_of_name(output->path);
}

static void fill_write_options(const oci_cli_options *options, oci_cli_output *output,
                               oc_format format)
{
    /* As with cut(1), CSV comes out with the delimiter that it came in with, unless told otherwise.
     * A delimiter for the input does not turn TSV output into something else. */
    bool csv = format == OC_FORMAT_CSV || format == OC_FORMAT_AUTO;
    char delimiter = options->output_delimiter;
    if (delimiter == 0 && csv) {
        delimiter = options->delimiter;
    }
    int header = options->output_header;
    if (header == OCI_CLI_HEADER_AUTO) {
        header = options->header;
    }
    output->write = (oc_write_options)OC_WRITE_OPTIONS_INIT;
    output->write.format = format;
    output->write.codec = (oc_codec)options->compression;
    output->write.delimiter = delimiter;
    output->write.header = header;
    output->write.null_text = options->output_null != NULL ? options->output_null
                                                           : options->null_text;
    output->write.table_width = oci_cli_terminal_width(STDOUT_FILENO);
    output->write.max_rows = options->max_rows;
}

int oci_cli_resolve_output(const oci_cli_options *options, const char *path, oci_cli_output *output)
{
    *output = (oci_cli_output){.path = path != NULL ? path : "-"};
    output->is_stdout = is_dash(output->path);
    output->on_terminal = output->is_stdout && isatty(STDOUT_FILENO) == 1;
    if (output->path[0] == '\0') {
        return oci_cli_usage_error(options, "the name of the output file is empty");
    }
    oc_format format = choose_format(options, output);
    bool is_binary = is_arrow(format) || format == OC_FORMAT_PARQUET;
    if (is_binary && output->on_terminal && path == NULL) {
        return oci_cli_usage_error(options, "will not write binary data to a terminal; give a file "
                                            "with -o, or -o - if that is what you want");
    }
    if (options->compression != OC_CODEC_AUTO && !is_binary && format != OC_FORMAT_AUTO) {
        return oci_cli_usage_error(options,
                                   "--compression is for Arrow and Parquet output only; the output "
                                   "of this command is of another format");
    }
    fill_write_options(options, output, format);
    return OCI_CLI_EXIT_OK;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static int refuse_input(const char *path, const char *reason)
{
    fprintf(stderr, "outcore: could not open file \"%s\": %s\n", path, reason);
    return OCI_CLI_EXIT_QUERY;
}

static int check_input(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0 || faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) != 0) {
        return refuse_input(path, strerror(errno));
    }
    return S_ISDIR(info.st_mode) ? refuse_input(path, "it is a folder") : OCI_CLI_EXIT_OK;
}

int oci_cli_check_inputs(const oci_cli_options *options, const char *const *paths, size_t n_paths)
{
    size_t dashes = 0;
    for (size_t i = 0; i < n_paths; i++) {
        if (is_dash(paths[i]) && ++dashes > 1) {
            return oci_cli_usage_error(options, "standard input (\"-\") can be read only once");
        }
    }
    int code = OCI_CLI_EXIT_OK;
    for (size_t i = 0; i < n_paths && code == OCI_CLI_EXIT_OK; i++) {
        code = is_dash(paths[i]) ? OCI_CLI_EXIT_OK : check_input(paths[i]);
    }
    return code;
}

oc_read_options oci_cli_read_options(const oci_cli_options *options)
{
    oc_read_options read = OC_READ_OPTIONS_INIT;
    read.format = (oc_format)options->input_format;
    read.delimiter = options->delimiter;
    read.header = options->header;
    read.columns = options->columns;
    read.null_text = options->null_text;
    read.physical = options->physical;
    return read;
}

/* ---- the life of a job ----------------------------------------------------------------------- */

int oci_cli_exit_code(oc_status status)
{
    switch (status) {
    case OC_OK: return OCI_CLI_EXIT_OK;
    case OC_EBUDGET: return OCI_CLI_EXIT_MEMORY;
    case OC_ENOMEM:
    case OC_ENOSPC:
    case OC_EIO: return OCI_CLI_EXIT_SYSTEM;
    case OC_EINVAL:
    case OC_EDATA:
    case OC_EUNSUPPORTED:
    case OC_ESTREAM:
    case OC_ECANCELED:
    case OC_EINTERNAL: break;
    }
    return OCI_CLI_EXIT_QUERY;
}

/* The same for the errno values that streams give. ENOMEM is nearly always the limit. */
int oci_cli_exit_code_of_errno(int code)
{
    switch (code) {
    case ENOMEM: return OCI_CLI_EXIT_MEMORY;
    case EIO:
    case ENOSPC: return OCI_CLI_EXIT_SYSTEM;
    default: return OCI_CLI_EXIT_QUERY;
    }
}

static bool has_dash(const char *const *paths, size_t n_paths)
{
    for (size_t i = 0; i < n_paths; i++) {
        if (is_dash(paths[i])) {
            return true;
        }
    }
    return false;
}

oc_options oci_cli_settings(const oci_cli_options *options, oci_cli_progress *progress)
{
    oc_options settings = OC_OPTIONS_INIT;
    settings.memory_limit = options->memory_limit;
    settings.disk_limit = options->disk_limit;
    settings.temp_dirs = options->temp_dirs.items;
    settings.n_temp_dirs = options->temp_dirs.n;
    settings.threads = (int32_t)options->threads;
    settings.batch_rows = options->batch_rows;
    settings.spill_codec = options->spill.codec;
    settings.spill_level = options->spill.level;
    settings.spill_encoding = (oc_spill_encoding)options->spill_encoding;
    settings.spill_without_checksums = options->no_spill_checksums;
    settings.spill_encrypt = options->encrypt_spill;
    if (progress->enabled) {
        settings.progress = oci_cli_show_progress;
        settings.progress_arg = progress;
    }
    return settings;
}

static void cancel_context(void *context)
{
    oc_context_cancel(context);
}

int oci_cli_begin_job(oci_cli_job *job, const oci_cli_options *options, const char *const *paths,
                      size_t n_paths, const oci_cli_output *output)
{
    *job = (oci_cli_job){.options = options, .began = oci_cli_seconds()};
    job->writes_stdout = output != NULL && output->is_stdout;
    oci_cli_init_progress(&job->progress, options);

    oc_options settings = oci_cli_settings(options, &job->progress);
    oc_status status = oc_context_create(&settings, &job->context, &job->error);
    if (status == OC_EINVAL) {
        return oci_cli_usage_error(options, "%s", job->error.message);
    }
    if (status != OC_OK) {
        fprintf(stderr, "outcore: %s\n", job->error.message);
        return oci_cli_exit_code(status);
    }
    oci_cli_watch_signals(cancel_context, job->context, has_dash(paths, n_paths),
                          job->writes_stdout);
    return OCI_CLI_EXIT_OK;
}

oc_status oci_cli_open_inputs(oci_cli_job *job, const char *const *paths, size_t n_paths,
                              const char *const *select, size_t n_select,
                              struct ArrowArrayStream *stream)
{
    oc_read_options read = oci_cli_read_options(job->options);
    read.select = select;
    read.n_select = n_select;
    return oc_read_files(job->context, paths, n_paths, &read, stream, &job->error);
}

static void stop_progress_of_job(void *arg)
{
    oci_cli_job *job = arg;
    oci_cli_stop_progress(&job->progress);
}

oc_status oci_cli_write_output(oci_cli_job *job, struct ArrowArrayStream *stream, int64_t row_limit,
                               const oci_cli_output *output)
{
    /* On a terminal the progress line must be gone before the first row is printed. */
    bool wipe_line = output->on_terminal && job->progress.enabled;
    if (wipe_line || row_limit >= 0) {
        oci_cli_insert_tap(&job->tap, stream, row_limit, wipe_line ? stop_progress_of_job : NULL,
                           job);
    }
    return oc_write_file(job->context, stream, output->path, &output->write, &job->rows,
                         &job->error);
}

static void report_success(const oci_cli_job *job)
{
    double seconds = oci_cli_seconds() - job->began;
    if (job->options->timer) {
        fprintf(stderr, "time: %.3f s\n", seconds);
    }
    if (job->options->stats) {
        oc_metrics metrics;
        oc_context_metrics(job->context, &metrics);
        oci_cli_print_stats(&metrics, job->rows, seconds);
    }
}

int oci_cli_end_job(oci_cli_job *job, oc_status status)
{
    oci_cli_stop_progress(&job->progress);
    if (status == OC_OK) {
        report_success(job);
    }
    oci_cli_forget_work();
    oc_context_destroy(job->context);
    /* What was written to standard output after a signal went nowhere; a file is complete. */
    if (status != OC_OK || job->writes_stdout) {
        oci_cli_raise_again();
    }
    if (status == OC_OK) {
        return OCI_CLI_EXIT_OK;
    }
    bool below = job->tap.failed != 0;
    fprintf(stderr, "outcore: %s\n", below ? job->tap.message : job->error.message);
    return below ? oci_cli_exit_code_of_errno(job->tap.failed) : oci_cli_exit_code(status);
}
