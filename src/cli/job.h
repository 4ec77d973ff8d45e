/* What the commands that work on data share: inputs, output, a context, the report at the end.
 *
 *     resolve_output, check_inputs      is the command line right?  (no work has begun)
 *     begin_job                         context, signals, progress
 *     ... library calls ...             open_inputs -> oc_sort etc. -> write_output
 *     end_job                           releases, reports, gives the exit code
 *
 * Streams travel by move as in the library: open_inputs makes one, write_output ends it. */
#ifndef OUTCORE_CLI_JOB_H
#define OUTCORE_CLI_JOB_H

#include "cli/options.h"
#include "cli/progress.h"
#include "cli/tap.h"

/* Where the result goes. Texts are borrowed from the options. */
typedef struct oci_cli_output {
    const char *path;
    bool is_stdout;
    bool on_terminal; /* rows are printed where the progress line stands */
    oc_write_options write;
} oci_cli_output;

typedef struct oci_cli_job {
    const oci_cli_options *options;
    oc_context *context;
    oci_cli_progress progress;
    oci_cli_tap tap; /* tap.failed != 0: what really went wrong */
    oc_error error;  /* of the library call that failed */
    int64_t rows;    /* written */
    bool writes_stdout;
    double began; /* seconds of the monotonic clock */
} oci_cli_job;

/* Finds out path and format of the output; `path` NULL = standard output. The result is an exit
 * code: that of wrong usage after having said what does not fit together. */
int oci_cli_resolve_output(const oci_cli_options *options, const char *path,
                           oci_cli_output *output);

/* The format that the library will find in a name; OC_FORMAT_AUTO when the name does not say. */
oc_format oci_cli_format_of_name(const char *path);

/* Checks that the inputs can be read, before anything is made. The result is an exit code. */
int oci_cli_check_inputs(const oci_cli_options *options, const char *const *paths, size_t n_paths);

/* Makes the context and watches signals. The result is an exit code; when it is not
 * OCI_CLI_EXIT_OK, there is no job to end. `output` may be NULL. */
int oci_cli_begin_job(oci_cli_job *job, const oci_cli_options *options, const char *const *paths,
                      size_t n_paths, const oci_cli_output *output);

/* One stream over all inputs, with these columns (`select` NULL = all). Errors go to job->error. */
oc_status oci_cli_open_inputs(oci_cli_job *job, const char *const *paths, size_t n_paths,
                              const char *const *select, size_t n_select,
                              struct ArrowArrayStream *stream);

/* The read options that the command line asks for. */
oc_read_options oci_cli_read_options(const oci_cli_options *options);

/* The settings of a context or a session that the command line asks for. */
oc_options oci_cli_settings(const oci_cli_options *options, oci_cli_progress *progress);

/* The exit code for a failed call, and for an errno value of a stream. */
int oci_cli_exit_code(oc_status status);
int oci_cli_exit_code_of_errno(int code);

/* Seconds of the monotonic clock. */
double oci_cli_seconds(void);

/* Writes the first `row_limit` rows of the stream (-1 = all). Takes it over, also on failure. */
oc_status oci_cli_write_output(oci_cli_job *job, struct ArrowArrayStream *stream, int64_t row_limit,
                               const oci_cli_output *output);

/* Releases everything and reports: the error of `status`, or time and statistics. Does not return
 * when a signal has ended the work; one that came when the output file was complete, came too late.
 * The result is an exit code. */
int oci_cli_end_job(oci_cli_job *job, oc_status status);

#endif /* OUTCORE_CLI_JOB_H */
