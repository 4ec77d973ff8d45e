/* Sorts a CSV file within 64 MiB and writes the result, with the library's own readers and writers.
 *
 *     sort_csv INPUT.csv 'price desc, city' OUTPUT.csv
 *
 * Any other producer or consumer of Arrow C streams can take the place of oc_read_files() and
 * oc_write_file(). */
#include <stdio.h>

#include <outcore/outcore.h>

static int fail(const oc_error *error)
{
    fprintf(stderr, "sort_csv: %s\n", error->message);
    return 1;
}

static oc_status sort_file(oc_context *context, const char *from, const oc_sort_key *keys,
                           size_t n_keys, const char *to, oc_error *error)
{
    struct ArrowArrayStream rows;
    struct ArrowArrayStream sorted;
    oc_status status = oc_read_files(context, &from, 1, NULL, &rows, error);
    if (status == OC_OK) {
        status = oc_sort(context, &rows, keys, n_keys, NULL, &sorted, error);
    }
    if (status == OC_OK) {
        int64_t n_rows;
        status = oc_write_file(context, &sorted, to, NULL, &n_rows, error);
    }
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: sort_csv INPUT.csv 'COLUMN [desc], ...' OUTPUT.csv\n");
        return 2;
    }
    oc_error error;
    oc_sort_key *keys;
    size_t n_keys;
    if (oc_parse_sort_keys(argv[2], &keys, &n_keys, &error) != OC_OK) {
        return fail(&error);
    }
    oc_options options = OC_OPTIONS_INIT;
    options.memory_limit = 64 << 20;
    oc_context *context;
    if (oc_context_create(&options, &context, &error) != OC_OK) {
        oc_free_sort_keys(keys, n_keys);
        return fail(&error);
    }
    oc_status status = sort_file(context, argv[1], keys, n_keys, argv[3], &error);
    if (status == OC_OK) {
        oc_metrics metrics;
        oc_context_metrics(context, &metrics);
        fprintf(stderr, "%lld rows, %lld bytes spilled\n", (long long)metrics.rows_out,
                (long long)metrics.spilled_bytes);
    }
    oc_context_destroy(context);
    oc_free_sort_keys(keys, n_keys);
    return status == OC_OK ? 0 : fail(&error);
}
