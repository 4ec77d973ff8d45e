/* outcore convert: files -> a file of another format, rows in their order.
 *
 * The last word is the output, as with cp; with -o all words are inputs. */
#include "cli/commands.h"
#include "cli/job.h"

/* Splits the words into inputs and output; NULL = standard output. */
static int split_words(const oci_cli_options *options, oci_cli_list *inputs, const char **output)
{
    *inputs = options->words;
    *output = options->output;
    if (inputs->n == 0) {
        return oci_cli_usage_error(options, "no input; name a file, or - for standard input");
    }
    if (options->output == NULL && inputs->n == 2) {
        *output = inputs->items[1];
        inputs->n = 1;
    } else if (options->output == NULL && inputs->n > 2) {
        return oci_cli_usage_error(options, "with more than one input, name the output with -o");
    }
    return OCI_CLI_EXIT_OK;
}

static oc_status convert_files(oci_cli_job *job, const oci_cli_list *inputs, char **select,
                               size_t n_select, const oci_cli_output *output)
{
    struct ArrowArrayStream rows;
    oc_status status = oci_cli_open_inputs(job, inputs->items, inputs->n,
                                           (const char *const *)select, n_select, &rows);
    return status == OC_OK ? oci_cli_write_output(job, &rows, job->options->limit, output) : status;
}

static int convert_columns(const oci_cli_options *options, char **select, size_t n_select)
{
    oci_cli_list inputs;
    const char *path;
    oci_cli_output output;
    oci_cli_job job;
    int code = split_words(options, &inputs, &path);
    if (code == OCI_CLI_EXIT_OK) {
        code = oci_cli_resolve_output(options, path, &output);
    }
    if (code == OCI_CLI_EXIT_OK) {
        code = oci_cli_check_inputs(options, inputs.items, inputs.n);
    }
    if (code == OCI_CLI_EXIT_OK) {
        code = oci_cli_begin_job(&job, options, inputs.items, inputs.n, &output);
    }
    if (code != OCI_CLI_EXIT_OK) {
        return code;
    }
    return oci_cli_end_job(&job, convert_files(&job, &inputs, select, n_select, &output));
}

int oci_cli_convert(const oci_cli_options *options)
{
    char **select = NULL;
    size_t n_select = 0;
    oc_error error;
    if (options->select != NULL &&
        oc_parse_names(options->select, &select, &n_select, &error) != OC_OK) {
        return oci_cli_usage_error(options, "%s", error.message);
    }
    int code = convert_columns(options, select, n_select);
    if (select != NULL) {
        oc_free_names(select, n_select);
    }
    return code;
}
