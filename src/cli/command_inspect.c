/* outcore inspect: what is in a file, for people. */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/job.h"

/* A failed write is kept by stdio; main() looks at the end. */
static void print_text(const char *text, size_t size, void *arg)
{
    (void)fwrite(text, 1, size, arg);
}

int oci_cli_inspect(const oci_cli_options *options)
{
    if (options->words.n != 1) {
        return oci_cli_usage_error(options, "it takes one file, not %zu", options->words.n);
    }
    const char *const *path = options->words.items;
    oci_cli_job job;
    int code = oci_cli_check_inputs(options, path, 1);
    if (code == OCI_CLI_EXIT_OK) {
        code = oci_cli_begin_job(&job, options, path, 1, NULL);
    }
    if (code != OCI_CLI_EXIT_OK) {
        return code;
    }
    oc_read_options read = oci_cli_read_options(options);
    return oci_cli_end_job(&job,
                           oc_inspect(job.context, *path, &read, print_text, stdout, &job.error));
}
