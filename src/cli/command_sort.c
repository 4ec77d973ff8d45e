/* outcore sort: files -> sorted file.
 *
 *     --by 'b, c desc' --select 'a, b'
 *
 *     read a, b, c  ->  sort by b, c desc  ->  select a, b  ->  write
 *
 * The order is that of SQL: keys need not be among the columns written, and a key given by its
 * position means the position in --select, or without --select in the input. Only columns that are
 * needed are read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/job.h"

/* What to read, sort by and write. */
typedef struct sort_plan {
    oc_sort_key *parsed; /* owns the names of keys */
    size_t n_keys;
    char **select; /* NULL = all columns, as they are */
    size_t n_select;
    /* The rest is there only with --select. */
    oc_sort_key *keys; /* all by name */
    const char **read; /* distinct columns: those of select, then the other keys */
    size_t n_read;
    bool reads_as_selected; /* read is select: nothing to do after the sort */
} sort_plan;

static int fail_for_memory(void)
{
    fputs("outcore: out of memory\n", stderr);
    return OCI_CLI_EXIT_SYSTEM;
}

/* The texts of all --by, put together. NULL when out of memory. */
static char *join_texts(const oci_cli_list *texts)
{
    size_t size = 1;
    for (size_t i = 0; i < texts->n; i++) {
        size += strlen(texts->items[i]) + 2;
    }
    char *joined = malloc(size);
    if (joined == NULL) {
        return NULL;
    }
    char *end = joined;
    *end = '\0';
    for (size_t i = 0; i < texts->n; i++) {
        end += snprintf(end, size - (size_t)(end - joined), "%s%s", i > 0 ? ", " : "",
                        texts->items[i]);
    }
    return joined;
}

static int parse_keys(const oci_cli_options *options, sort_plan *plan)
{
    if (options->by.n == 0) {
        return oci_cli_usage_error(options,
                                   "no sort keys; name columns with --by, as in --by 'a, b desc'");
    }
    char *text = join_texts(&options->by);
    if (text == NULL) {
        return fail_for_memory();
    }
    oc_error error;
    oc_sort_key *keys;
    size_t n_keys;
    oc_status status = oc_parse_sort_keys(text, &keys, &n_keys, &error);
    free(text);
    if (status != OC_OK) {
        return oci_cli_usage_error(options, "%s", error.message);
    }
    plan->parsed = keys;
    plan->n_keys = n_keys;
    return OCI_CLI_EXIT_OK;
}

static int parse_select(const oci_cli_options *options, sort_plan *plan)
{
    oc_error error;
    char **names;
    size_t n_names;
    if (options->select == NULL) {
        return OCI_CLI_EXIT_OK;
    }
    if (oc_parse_names(options->select, &names, &n_names, &error) != OC_OK) {
        return oci_cli_usage_error(options, "%s", error.message);
    }
    plan->select = names;
    plan->n_select = n_names;
    return OCI_CLI_EXIT_OK;
}

/* Adds a column to those that are read, unless it is there. */
static void read_column(sort_plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->n_read; i++) {
        if (strcmp(plan->read[i], name) == 0) {
            return;
        }
    }
    plan->read[plan->n_read++] = name;
}

/* Fills keys and read for a plan with --select. */
static int plan_columns(const oci_cli_options *options, sort_plan *plan)
{
    plan->keys = calloc(plan->n_keys + 1, sizeof *plan->keys);
    plan->read = calloc(plan->n_select + plan->n_keys + 1, sizeof *plan->read);
    if (plan->keys == NULL || plan->read == NULL) {
        return fail_for_memory();
    }
    for (size_t i = 0; i < plan->n_select; i++) {
        read_column(plan, plan->select[i]);
    }
    for (size_t i = 0; i < plan->n_keys; i++) {
        oc_sort_key *key = &plan->keys[i];
        *key = plan->parsed[i];
        if (key->column == NULL) {
            if (key->column_index < 0 || (size_t)key->column_index >= plan->n_select) {
                return oci_cli_usage_error(options,
                                           "sort key %zu is column %d of --select, which has %zu",
                                           i + 1, key->column_index + 1, plan->n_select);
            }
            key->column = plan->select[key->column_index];
        }
        read_column(plan, key->column);
    }
    plan->reads_as_selected = plan->n_read == plan->n_select &&
                              memcmp(plan->read, plan->select, plan->n_read * sizeof *plan->read) ==
                                  0;
    return OCI_CLI_EXIT_OK;
}

static int make_plan(const oci_cli_options *options, sort_plan *plan)
{
    *plan = (sort_plan){.reads_as_selected = true};
    int code = parse_keys(options, plan);
    if (code == OCI_CLI_EXIT_OK) {
        code = parse_select(options, plan);
    }
    if (code == OCI_CLI_EXIT_OK && plan->select != NULL) {
        code = plan_columns(options, plan);
    }
    return code;
}

static void free_plan(sort_plan *plan)
{
    free(plan->read);
    free(plan->keys);
    if (plan->select != NULL) {
        oc_free_names(plan->select, plan->n_select);
    }
    if (plan->parsed != NULL) {
        oc_free_sort_keys(plan->parsed, plan->n_keys);
    }
}

/* The library calls. Streams that a failing call was given are gone, so there is nothing to
 * release. */
static oc_status sort_files(oci_cli_job *job, const sort_plan *plan, const oci_cli_list *inputs,
                            const oci_cli_output *output)
{
    struct ArrowArrayStream rows;
    struct ArrowArrayStream sorted;
    struct ArrowArrayStream selected;
    oc_sort_options sort = OC_SORT_OPTIONS_INIT;
    sort.has_limit = job->options->limit >= 0;
    sort.limit = sort.has_limit ? job->options->limit : 0;

    oc_status status =
        oci_cli_open_inputs(job, inputs->items, inputs->n, plan->read, plan->n_read, &rows);
    if (status == OC_OK) {
        const oc_sort_key *keys = plan->keys != NULL ? plan->keys : plan->parsed;
        status = oc_sort(job->context, &rows, keys, plan->n_keys, &sort, &sorted, &job->error);
    }
    if (status == OC_OK && plan->reads_as_selected) {
        return oci_cli_write_output(job, &sorted, -1, output);
    }
    if (status == OC_OK) {
        status = oc_select(job->context, &sorted, (const char *const *)plan->select, plan->n_select,
                           &selected, &job->error);
    }
    return status == OC_OK ? oci_cli_write_output(job, &selected, -1, output) : status;
}

static int sort_with_plan(const oci_cli_options *options, const sort_plan *plan)
{
    static const char *standard_input[] = {"-"};
    oci_cli_list inputs = options->words;
    oci_cli_output output;
    oci_cli_job job;
    if (inputs.n == 0) {
        if (isatty(STDIN_FILENO) == 1) {
            return oci_cli_usage_error(options, "no input; name files, or - to type it in");
        }
        inputs = (oci_cli_list){.items = standard_input, .n = 1};
    }
    int code = oci_cli_resolve_output(options, options->output, &output);
    if (code == OCI_CLI_EXIT_OK) {
        code = oci_cli_check_inputs(options, inputs.items, inputs.n);
    }
    if (code == OCI_CLI_EXIT_OK) {
        code = oci_cli_begin_job(&job, options, inputs.items, inputs.n, &output);
    }
    return code == OCI_CLI_EXIT_OK ? oci_cli_end_job(&job, sort_files(&job, plan, &inputs, &output))
                                   : code;
}

int oci_cli_sort(const oci_cli_options *options)
{
    sort_plan plan;
    int code = make_plan(options, &plan);
    if (code == OCI_CLI_EXIT_OK) {
        code = sort_with_plan(options, &plan);
    }
    free_plan(&plan);
    return code;
}
